//! What meets the air, island by island; and who must wake because the air changed.

use super::{
    Air, WindZone,
    field::{AirField, ZoneMotion},
};
use crate::{
    math::{
        bounds::Bounds,
        lane::Vec3x4,
        pose::{Pose, TargetMotion},
    },
    particle::{BodyLine, BodySurface, BuildOrder, ParticleIndex},
    solver::{
        mirror::{Activity, Mirror, MirrorBody},
        settings::{SolverClock, SolverSettings},
        target::Targets,
    },
};
use bevy::{
    ecs::change_detection::Tick,
    math::{DVec3, Vec4},
    prelude::*,
};

/// Gusts that push by less than this part of the length unit (m/s²) may be slept through.
const NOTICEABLE: f32 = 0.1;

/// Four triangles: slots relative to their island, padded with its null slot.
#[derive(Clone, Debug)]
pub(crate) struct FacePack {
    pub slots: [[u32; 4]; 3],
    /// The body of all four.
    pub body: u32,
    /// Whether it is planar.
    pub planar: bool,
    /// Wind at their centres in this tick (m/s).
    pub wind: Vec3x4,
    /// `h ρ C_D/(4 M)`: times |2A n·u| it is the part of u that drag takes in a substep.
    pub drag: Vec4,
    /// `h ρ C_L/(4 M)`, likewise.
    pub lift: Vec4,
    /// M/3 (kg).
    pub share: Vec4,
}

/// A segment of a line of particles: slots relative to their island.
#[derive(Clone, Debug)]
pub(crate) struct LineSegment {
    pub slots: [u32; 2],
    pub body: u32,
    /// Wind at its centre in this tick (m/s).
    pub wind: Vec3,
    /// `h ½ ρ C_D d/M`: times L|u⊥| it is the part of u⊥ that drag takes in a substep.
    pub drag: f32,
    /// M/2 (kg).
    pub share: f32,
}

/// What of an island meets the air.
#[derive(Clone, Debug, Default)]
pub(crate) struct IslandAir {
    pub faces: Vec<FacePack>,
    pub lines: Vec<LineSegment>,
    /// Whether it meets air in this tick.
    pub active: bool,
    /// Whether gusts push it so that it must not sleep.
    pub restless: bool,
    /// Its particles in this substep, by slot.
    pub corners: Vec<Corner>,
}

/// What is read and written of a particle in a substep, side by side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Corner {
    pub position: Vec4,
    pub velocity: Vec4,
    /// Impulse of the air (kg m/s).
    pub impulse: Vec4,
}

impl IslandAir {
    /// Whether nothing of it meets the air.
    pub fn is_empty(&self) -> bool {
        self.faces.is_empty() && self.lines.is_empty()
    }
}

/// The air, and what meets it.
#[derive(Default)]
pub(crate) struct MirrorAir {
    /// One an island.
    pub islands: Vec<IslandAir>,
    /// The air of this tick.
    pub field: AirField,
    /// Whether the slots are others than when `islands` was filled.
    stale: bool,
    /// Whether there was a tick before, with which the air can be compared.
    known: bool,
    /// What `islands` has of each body of the mirror.
    seen: Vec<Seen>,
}

/// When the surface and the line of a body were last changed, and its drag and lift.
type Seen = ([Option<Tick>; 2], [f32; 2]);

impl MirrorAir {
    /// Forgets the islands; the compiler adds one for each of the new ones.
    pub fn clear(&mut self) {
        self.islands.clear();
        self.stale = true;
    }
}

/// Reads the air, follows what meets it, and wakes who feels a change.
pub(in crate::solver) fn gather_air(
    world: &mut World,
    mirror: &mut Mirror,
    zones: &mut QueryState<(Entity, Ref<'static, WindZone>, Option<&'static BuildOrder>)>,
) {
    let settings = world.resource::<SolverSettings>();
    let (time, unit) = (world.resource::<SolverClock>().elapsed, settings.length_unit());
    let (zones, loaded) = zone_motions(world, mirror, zones);
    let field = AirField {
        world: world.get_resource::<Air>().and_then(Air::usable),
        zones,
        zone_density: Air::STILL.density / unit,
        time,
        noticeable: NOTICEABLE * unit,
    };
    let known = core::mem::replace(&mut mirror.air.known, true);
    let before = core::mem::replace(&mut mirror.air.field, field);
    if mirror.air.field.is_empty() && before.is_empty() {
        return;
    }
    follow_surfaces(world, mirror);
    if known && !mirror.air.field.is_same_as(&before, &loaded) {
        wake_who_feels(mirror, before.at_rest(&mirror.air.field, &loaded));
    }
    let gusty = mirror.air.field.is_turbulent();
    for (island, air) in mirror.islands.iter_mut().zip(&mut mirror.air.islands) {
        air.restless &= gusty;
        island.wake |= air.restless;
    }
}

/// Whether a pose gives a zone a volume.
fn has_volume(pose: &Pose) -> bool {
    pose.scale.abs().min_element() > 0.0
}

/// The zones of this tick in order of creation, and which of them were loaded rather than spawned.
fn zone_motions(
    world: &World,
    mirror: &Mirror,
    zones: &mut QueryState<(Entity, Ref<'static, WindZone>, Option<&'static BuildOrder>)>,
) -> (Vec<ZoneMotion>, Vec<Entity>) {
    let targets = &world.resource::<Targets>().0;
    let mut found: Vec<(Option<BuildOrder>, ZoneMotion)> = Vec::new();
    let mut loaded = Vec::new();
    for (entity, zone, order) in zones.iter(world) {
        let Some(target) = targets.get(entity) else { continue };
        let motion = mirror.targets[target as usize];
        let Some(usable) = zone.usable() else { continue };
        if !(has_volume(&motion.start) && has_volume(&motion.end)) {
            warn_once!("wind zone {entity} is scaled flat: it is ignored");
            continue;
        }
        // What was loaded counts as added, but is not new.
        if zone.is_added() && !mirror.added.contains(&entity) {
            loaded.push(entity);
        }
        found.push((order.copied(), ZoneMotion { entity, zone: usable, motion }));
    }
    found.sort_unstable_by_key(|(order, zone)| (*order, zone.entity));
    (found.into_iter().map(|(_, zone)| zone).collect(), loaded)
}

impl AirField {
    /// Whether nothing but time has changed since `before`.
    fn is_same_as(&self, before: &Self, loaded: &[Entity]) -> bool {
        let still = |z: &ZoneMotion| z.motion.start == z.motion.end;
        let was = |z: &ZoneMotion| before.zones.iter().find(|b| b.entity == z.entity);
        self.world == before.world
            && self.zone_density == before.zone_density
            && self.zones.iter().all(|z| {
                still(z)
                    && was(z).map_or(loaded.contains(&z.entity), |b| {
                        b.zone == z.zone && b.motion.end == z.motion.start
                    })
            })
            && before.zones.iter().all(|b| self.zones.iter().any(|z| z.entity == b.entity))
    }

    /// This field as its tick left it, in the order of `now`, at the time of `now`.
    fn at_rest(self, now: &Self, loaded: &[Entity]) -> Self {
        let rest = |zone: &ZoneMotion, pose: Pose| ZoneMotion {
            motion: TargetMotion { start: pose, end: pose },
            ..*zone
        };
        let was = |z: &ZoneMotion| match self.zones.iter().find(|b| b.entity == z.entity) {
            Some(before) => Some(rest(before, before.motion.end)),
            None => loaded.contains(&z.entity).then(|| rest(z, z.motion.start)),
        };
        let mut zones: Vec<ZoneMotion> = now.zones.iter().filter_map(was).collect();
        let gone = |b: &&ZoneMotion| now.zones.iter().all(|z| z.entity != b.entity);
        zones.extend(self.zones.iter().filter(gone).map(|b| rest(b, b.motion.end)));
        Self { zones, time: now.time, ..self }
    }
}

/// Wakes sleeping islands that feel another wind now than they did in `before`.
fn wake_who_feels(mirror: &mut Mirror, before: AirField) {
    let Mirror { islands, position, air, fresh, .. } = mirror;
    for (island, meets) in islands.iter_mut().zip(&air.islands) {
        // After compiling it is not known who sleeps.
        let may_sleep = island.activity == Activity::Asleep || *fresh;
        if !may_sleep || meets.is_empty() {
            continue;
        }
        let position = &position[island.slots.clone()];
        let [low, high] = bounds(&position[..position.len() - 1], island.origin);
        let mut now = air.field.near(low, high);
        let mut then = before.near(low, high);
        let mut feels = |place: Vec4| {
            let place = place.truncate().as_dvec3() + island.origin;
            now.at(place) != then.at(place)
        };
        let centre = |slots: [u32; 3]| {
            let [a, b, c] = slots.map(|i| position[i as usize]);
            (a + b + c) / 3.0
        };
        let corners = |pack: &FacePack, lane: usize| pack.slots.map(|slots| slots[lane]);
        let null = position.len() as u32 - 1;
        island.wake |= meets
            .faces
            .iter()
            .flat_map(|pack| (0..4).map(|lane| corners(pack, lane)))
            .any(|slots| slots[0] != null && feels(centre(slots)))
            || meets.lines.iter().any(|l| {
                feels(0.5 * (position[l.slots[0] as usize] + position[l.slots[1] as usize]))
            });
    }
}

/// The box around some particles (m, world).
pub(super) fn bounds(position: &[Vec4], origin: DVec3) -> [DVec3; 2] {
    let bounds = Bounds::around(position.iter().map(|x| x.truncate()));
    [bounds.min, bounds.max].map(|corner| corner.as_dvec3() + origin)
}

/// Lists what meets the air anew, where slots, surfaces or lines are others than before; wakes bodies
/// that meet it in another way now.
fn follow_surfaces(world: &World, mirror: &mut Mirror) {
    let see = |body: &MirrorBody| -> Seen {
        let entity = body.entity.and_then(|e| world.get_entity(e).ok());
        let surface = entity.and_then(|e| Some(e.get_ref::<BodySurface>()?.last_changed()));
        let line = entity.and_then(|e| Some(e.get_ref::<BodyLine>()?.last_changed()));
        ([surface, line], [body.drag, body.lift])
    };
    let seen: Vec<Seen> = mirror.bodies.iter().map(see).collect();
    let stale = core::mem::replace(&mut mirror.air.stale, false);
    if !stale && seen == mirror.air.seen {
        return;
    }
    let before = core::mem::replace(&mut mirror.air.seen, seen);
    let changed = |body: &u32| {
        let body = *body as usize;
        before.get(body) != mirror.air.seen.get(body)
    };
    let mut surfaces_changed = stale;
    if !stale {
        for island in &mut mirror.islands {
            island.wake |= island.bodies.iter().any(changed);
        }
        surfaces_changed = before.iter().zip(&mirror.air.seen).any(|(a, b)| a.0 != b.0);
    }
    if surfaces_changed {
        mirror.air.islands.iter_mut().for_each(|air| *air = IslandAir::default());
        for number in 0..mirror.bodies.len() {
            list_body(world, mirror, number as u32);
        }
    }
}

/// Finds a body's particles by their index.
struct ByIndex(Vec<(u32, u32)>);

impl ByIndex {
    fn new(world: &World, mirror: &Mirror, slots: &[u32]) -> Self {
        let index = |slot: &u32| {
            let index = world.get::<ParticleIndex>(mirror.entities[*slot as usize])?;
            Some((index.0, *slot))
        };
        let mut found: Vec<(u32, u32)> = slots.iter().filter_map(index).collect();
        found.sort_unstable();
        Self(found)
    }

    fn slot(&self, index: u32) -> Option<u32> {
        // Where no particle is missing, it is in its place.
        if let Some(&(found, slot)) = self.0.get(index as usize)
            && found == index
        {
            return Some(slot);
        }
        let place = self.0.binary_search_by_key(&index, |(i, _)| *i).ok()?;
        Some(self.0[place].1)
    }

    /// The slots of these particles, relative to the island that all of them belong to.
    fn part<const N: usize>(&self, mirror: &Mirror, indices: [u32; N]) -> Option<(u32, [u32; N])> {
        let mut slots = [0; N];
        for (slot, index) in slots.iter_mut().zip(indices) {
            *slot = self.slot(index)?;
        }
        let island = mirror.island_of[slots[0] as usize];
        let first = mirror.islands[island as usize].slots.start as u32;
        let whole = slots.iter().all(|slot| mirror.island_of[*slot as usize] == island);
        let distinct = (1..N).all(|i| !slots[..i].contains(&slots[i]));
        (whole && distinct).then(|| (island, slots.map(|slot| slot - first)))
    }
}

/// Adds a body's triangles and segments to its islands.
fn list_body(world: &World, mirror: &mut Mirror, number: u32) {
    let body = &mirror.bodies[number as usize];
    let Some(entity) = body.entity else { return };
    let surface = world.get::<BodySurface>(entity).map_or(&[][..], |s| &s.triangles);
    let line = world.get::<BodyLine>(entity).map_or(&[][..], |l| &l.segments);
    if surface.is_empty() && line.is_empty() {
        return;
    }
    let planar = body.planar;
    let by_index = ByIndex::new(world, mirror, &body.slots);
    let mut triangles: Vec<(u32, [u32; 3])> =
        surface.iter().filter_map(|triangle| by_index.part(mirror, *triangle)).collect();
    triangles.sort_by_key(|(island, _)| *island);
    for triangles in triangles.chunk_by(|a, b| a.0 == b.0) {
        let island = triangles[0].0 as usize;
        let null = mirror.islands[island].particles().len() as u32;
        let faces = &mut mirror.air.islands[island].faces;
        let (first, packs) = (faces.len(), triangles.len().div_ceil(4));
        faces.resize(first + packs, FacePack::empty(null, number, planar));
        // Neighbours go to the same lane of different packs, so that the triangles of one seldom write
        // to the same particle and wait for one another.
        for (i, (_, slots)) in triangles.iter().enumerate() {
            let pack = &mut faces[first + i % packs];
            pack.slots.iter_mut().zip(slots).for_each(|(corner, slot)| corner[i / packs] = *slot);
        }
    }
    for segment in line {
        let Some((island, slots)) = by_index.part(mirror, *segment) else { continue };
        mirror.air.islands[island as usize].lines.push(LineSegment {
            slots,
            body: number,
            wind: Vec3::ZERO,
            drag: 0.0,
            share: 0.0,
        });
    }
}

impl FacePack {
    fn empty(null: u32, body: u32, planar: bool) -> Self {
        Self {
            slots: [[null; 4]; 3],
            body,
            planar,
            wind: Vec3x4::ZERO,
            drag: Vec4::ZERO,
            lift: Vec4::ZERO,
            share: Vec4::ZERO,
        }
    }

    /// Lets nothing blow at it.
    pub fn calm(&mut self) {
        self.wind = Vec3x4::ZERO;
        (self.drag, self.lift, self.share) = (Vec4::ZERO, Vec4::ZERO, Vec4::ZERO);
    }
}
