//! Batches: the constraints of one type in one island, compiled.

use super::{
    colour::{Pack, pack_constraints},
    mirror::IslandView,
    settings::ProjectionOrder,
};
use crate::constraint::{
    DistanceConstraint, GroupConstraint, GroupMasses, GroupParticles, LaneConstraint,
    LaneParticles, LaneSettings, OldPositions, Oriented, Sides, Soft, Turning, clamp_compliance,
};
use bevy::{math::Vec4, prelude::*};
use core::any::Any;

/// Constraints of one type in one island.
pub(crate) trait Batch: Any + Send + Sync {
    /// Forgets the multipliers of the last substep, and prepares for substeps of `h` seconds.
    fn begin_substep(&mut self, h: f32);
    /// Takes the masses of the island's particles anew.
    fn refresh_weights(&mut self, masses: &IslandMasses<'_>);
    /// Projects every constraint once.
    fn project(&mut self, view: &mut IslandView<'_>, h: f32);
    /// The colour of the constraint at `place`, if it has one.
    fn color(&self, _place: u32) -> Option<u32> {
        None
    }
    /// Number of live constraints.
    fn len(&self) -> usize;
    /// Number of despawned constraints still in place.
    fn dead(&self) -> usize;
    /// Calls `visit` with the particles (of the island) of each constraint that joins just two, and
    /// with their rest length (m) if it is a distance.
    fn joined(&self, _visit: &mut dyn FnMut([u32; 2], Option<f32>)) {}
    /// Calls `visit` with the particles (of the island) of each group.
    fn grouped(&self, _visit: &mut dyn FnMut(&[u32])) {}
    /// For those who know the type.
    fn as_any(&mut self) -> &mut dyn Any;
}

/// What the particles of an island weigh, by slot.
#[derive(Clone, Copy)]
pub(crate) struct IslandMasses<'a> {
    pub mass: &'a [f32],
    pub inverse_mass: &'a [f32],
    pub oriented: &'a [Oriented],
    /// Place in `oriented` of each slot.
    pub places: &'a [u32],
    /// Whether all bodies of the island are planar.
    pub planar: bool,
}

/// Four lane constraints.
struct Lanes<C: LaneConstraint<N>, const N: usize> {
    indices: [[u32; 4]; N],
    weights: [Vec4; N],
    parameters: C::Lanes,
}

/// Four lane constraints as the user set them, for packing anew when one changes.
struct Source<C> {
    constraints: [Option<C>; 4],
    settings: [LaneSettings; 4],
}

/// Lane constraints, packed four at a time.
pub(crate) struct LaneBatch<C: LaneConstraint<N>, const N: usize> {
    lanes: Vec<Lanes<C, N>>,
    /// The colour of each pack; `None` where it was packed in sequence.
    colors: Vec<Option<u8>>,
    soft: Vec<Soft>,
    sources: Vec<Source<C>>,
    /// Whether any constraint is soft, damped or one-sided.
    any_soft: bool,
    null: u32,
    live: usize,
    dead: usize,
    prepared_h: f32,
}

/// A constraint on its way into a batch.
pub(crate) struct Compiled<C, const N: usize> {
    pub constraint: C,
    /// Slots relative to the island.
    pub indices: [u32; N],
}

impl<C: LaneConstraint<N>, const N: usize> LaneBatch<C, N> {
    /// Packs `constraints`, in order of creation, of an island with `particles` particles. Returns the
    /// batch and, for each constraint, its place (pack × 4 + lane).
    pub fn new(
        constraints: Vec<Compiled<C, N>>,
        particles: usize,
        order: ProjectionOrder,
    ) -> (Self, Vec<u32>) {
        let indices: Vec<[u32; N]> = constraints.iter().map(|c| c.indices).collect();
        let packs = pack_constraints(&indices, C::MOVED, particles, order);
        let null = particles as u32;
        let mut places = vec![0; constraints.len()];
        let mut constraints: Vec<Option<C>> =
            constraints.into_iter().map(|c| Some(c.constraint)).collect();
        let live = constraints.len();
        let mut batch = Self {
            lanes: Vec::with_capacity(packs.len()),
            colors: packs.iter().map(|pack| pack.color).collect(),
            soft: Vec::new(),
            sources: Vec::with_capacity(packs.len()),
            any_soft: false,
            null,
            live,
            dead: 0,
            prepared_h: 0.0,
        };
        for (number, pack) in packs.into_iter().enumerate() {
            let mut lane_indices = [[null; 4]; N];
            let mut sources = [const { None }; 4];
            for (lane, member) in pack_members(&pack) {
                places[member] = (number * 4 + lane) as u32;
                for (i, index) in indices[member].iter().enumerate() {
                    lane_indices[i][lane] = *index;
                }
                sources[lane] = constraints[member].take();
            }
            batch.push(lane_indices, sources);
        }
        batch.note_soft();
        (batch, places)
    }

    fn push(&mut self, indices: [[u32; 4]; N], constraints: [Option<C>; 4]) {
        let (parameters, settings) = pack_sources::<C, N>(&constraints);
        self.lanes.push(Lanes { indices, weights: [Vec4::ZERO; N], parameters });
        self.sources.push(Source { constraints, settings });
    }

    fn note_soft(&mut self) {
        let rigid = LaneSettings::default();
        self.any_soft = self.sources.iter().any(|s| s.settings.iter().any(|l| *l != rigid));
        self.prepared_h = 0.0;
    }

    /// The particles (island-relative) of the constraint at `place`.
    pub fn indices(&self, place: u32) -> [u32; N] {
        let lanes = &self.lanes[place as usize / 4];
        core::array::from_fn(|i| lanes.indices[i][place as usize % 4])
    }

    /// Takes the parameters of the constraint at `place` anew.
    pub fn refresh(&mut self, place: u32, constraint: &C) {
        let (pack, lane) = (place as usize / 4, place as usize % 4);
        let source = &mut self.sources[pack];
        if source.constraints[lane].is_none() {
            return;
        }
        source.constraints[lane] = Some(constraint.clone());
        let (parameters, settings) = pack_sources::<C, N>(&source.constraints);
        source.settings = settings;
        self.lanes[pack].parameters = parameters;
    }

    /// Ends a run of [`refresh`](Self::refresh).
    pub fn end_refresh(&mut self) {
        self.note_soft();
    }

    /// Makes the constraint at `place` do nothing.
    pub fn kill(&mut self, place: u32) {
        let (pack, lane) = (place as usize / 4, place as usize % 4);
        if self.sources[pack].constraints[lane].take().is_some() {
            let lanes = &mut self.lanes[pack];
            lanes.indices.iter_mut().for_each(|indices| indices[lane] = self.null);
            lanes.weights.iter_mut().for_each(|weights| weights[lane] = 0.0);
            self.live -= 1;
            self.dead += 1;
        }
    }

    fn prepare(&mut self, h: f32) {
        self.prepared_h = h;
        self.soft.clear();
        if !self.any_soft {
            return;
        }
        self.soft.extend(self.sources.iter().map(|source| {
            let alpha = |i: usize| clamp_compliance(source.settings[i].compliance);
            let lane = |f: &dyn Fn(usize) -> f32| Vec4::new(f(0), f(1), f(2), f(3));
            let sides = |i: usize| source.settings[i].sides;
            Soft {
                compliance: lane(&|i| (alpha(i) / (h * h)).min(1e30)),
                damping: lane(&|i| {
                    (alpha(i) * clamp_compliance(source.settings[i].damping) / h).min(1e30)
                }),
                min: lane(&|i| if sides(i) == Sides::AtLeast { 0.0 } else { f32::NEG_INFINITY }),
                max: lane(&|i| if sides(i) == Sides::AtMost { 0.0 } else { f32::INFINITY }),
                multiplier: Vec4::ZERO,
            }
        }));
    }
}

/// The lanes of a pack that hold a constraint.
fn pack_members(pack: &Pack) -> impl Iterator<Item = (usize, usize)> + '_ {
    pack.members.iter().enumerate().filter_map(|(lane, member)| member.map(|m| (lane, m as usize)))
}

/// Parameters and settings of four constraints; those that make no sense are left out.
fn pack_sources<C: LaneConstraint<N>, const N: usize>(
    constraints: &[Option<C>; 4],
) -> (C::Lanes, [LaneSettings; 4]) {
    let valid = constraints.each_ref().map(|c| c.as_ref().filter(|c| c.is_valid()));
    (C::pack(valid), valid.map(|c| c.map_or(LaneSettings::default(), C::settings)))
}

impl<C: LaneConstraint<N>, const N: usize> Batch for LaneBatch<C, N> {
    fn begin_substep(&mut self, h: f32) {
        if C::REMEMBERS {
            self.lanes.iter_mut().for_each(|lanes| C::begin_substep(&mut lanes.parameters));
        }
        if self.prepared_h != h {
            self.prepare(h);
        } else {
            for soft in &mut self.soft {
                soft.multiplier = Vec4::ZERO;
            }
        }
    }

    fn refresh_weights(&mut self, masses: &IslandMasses<'_>) {
        for (lanes, source) in self.lanes.iter_mut().zip(&self.sources) {
            for lane in 0..4 {
                let weight = |i: usize| masses.inverse_mass[lanes.indices[i][lane] as usize];
                let valid = source.constraints[lane].as_ref().is_some_and(C::is_valid);
                let rests =
                    !valid || (C::RESTS_UNLESS_ANCHORED && (C::MOVED..N).any(|i| weight(i) > 0.0));
                for i in 0..N {
                    let w = if rests { 0.0 } else { weight(i) };
                    lanes.weights[i][lane] = w;
                }
            }
        }
    }

    fn project(&mut self, view: &mut IslandView<'_>, h: f32) {
        let old = OldPositions {
            predicted: view.predicted,
            velocity: view.velocity,
            velocity_change: view.velocity_change,
            h,
        };
        let position = &mut *view.position;
        if self.any_soft {
            for (lanes, soft) in self.lanes.iter_mut().zip(&mut self.soft) {
                let mut particles = LaneParticles {
                    position,
                    old,
                    indices: lanes.indices,
                    weights: &lanes.weights,
                    turning: Turning { oriented: view.oriented, places: view.oriented_of },
                };
                C::project(&mut lanes.parameters, Some(soft), &mut particles);
            }
        } else {
            for lanes in &mut self.lanes {
                let mut particles = LaneParticles {
                    position,
                    old,
                    indices: lanes.indices,
                    weights: &lanes.weights,
                    turning: Turning { oriented: view.oriented, places: view.oriented_of },
                };
                C::project(&mut lanes.parameters, None, &mut particles);
            }
        }
    }

    fn color(&self, place: u32) -> Option<u32> {
        self.colors.get(place as usize / 4).copied().flatten().map(u32::from)
    }

    fn joined(&self, visit: &mut dyn FnMut([u32; 2], Option<f32>)) {
        if N != 2 || C::MOVED != N {
            return;
        }
        for (lanes, source) in self.lanes.iter().zip(&self.sources) {
            for (lane, constraint) in source.constraints.iter().enumerate() {
                let Some(constraint) = constraint else { continue };
                let distance = (constraint as &dyn Any).downcast_ref::<DistanceConstraint>();
                let particles = [0, N - 1].map(|end| lanes.indices[end][lane]);
                visit(particles, distance.map(|distance| distance.rest_length));
            }
        }
    }

    fn len(&self) -> usize {
        self.live
    }

    fn dead(&self) -> usize {
        self.dead
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// One group constraint.
struct Group<C: GroupConstraint> {
    entity: Entity,
    slots: Vec<u32>,
    compiled: Option<C::Compiled>,
}

/// Group constraints, in order of creation.
pub(crate) struct GroupBatch<C: GroupConstraint> {
    groups: Vec<Group<C>>,
    dead: usize,
}

impl<C: GroupConstraint> GroupBatch<C> {
    pub fn new() -> Self {
        Self { groups: Vec::new(), dead: 0 }
    }

    pub fn push(&mut self, entity: Entity, slots: Vec<u32>, constraint: &C) -> u32 {
        let compiled = constraint.is_valid().then(|| constraint.compile());
        self.groups.push(Group { entity, slots, compiled });
        self.groups.len() as u32 - 1
    }

    /// The slots (island-relative) of the group at `place`.
    pub fn slots(&self, place: u32) -> &[u32] {
        &self.groups[place as usize].slots
    }

    pub fn refresh(&mut self, place: u32, constraint: &C) {
        self.groups[place as usize].compiled = constraint.is_valid().then(|| constraint.compile());
    }

    /// Lets the groups know of one another.
    fn link(&mut self) {
        let groups = self.groups.iter_mut();
        let mut linked: Vec<(&[u32], &mut C::Compiled)> =
            groups.filter_map(|g| Some((&g.slots[..], g.compiled.as_mut()?))).collect();
        C::link(&mut linked);
    }

    pub fn kill(&mut self, place: u32) {
        let group = &mut self.groups[place as usize];
        if !group.slots.is_empty() {
            group.slots.clear();
            group.compiled = None;
            self.dead += 1;
        }
    }

    /// What each live group keeps, to be stored in its component.
    pub fn compiled(&self) -> impl Iterator<Item = (Entity, &C::Compiled)> {
        self.groups.iter().filter_map(|g| g.compiled.as_ref().map(|c| (g.entity, c)))
    }
}

impl<C: GroupConstraint> Batch for GroupBatch<C> {
    fn begin_substep(&mut self, _h: f32) {}

    fn refresh_weights(&mut self, masses: &IslandMasses<'_>) {
        let IslandMasses { mass, inverse_mass, oriented, places, planar } = *masses;
        self.link();
        for group in &mut self.groups {
            let slots = &group.slots;
            let masses = GroupMasses { mass, inverse_mass, oriented, places, planar, slots };
            if let Some(compiled) = &mut group.compiled {
                C::weigh(compiled, &masses);
            }
        }
    }

    fn project(&mut self, view: &mut IslandView<'_>, h: f32) {
        let old = OldPositions {
            predicted: view.predicted,
            velocity: view.velocity,
            velocity_change: view.velocity_change,
            h,
        };
        for group in &mut self.groups {
            if let Some(compiled) = &mut group.compiled {
                let mut particles = GroupParticles {
                    position: view.position,
                    inverse_mass: view.inverse_mass,
                    old,
                    turning: Turning { oriented: view.oriented, places: view.oriented_of },
                    slots: &group.slots,
                };
                C::project(compiled, &mut particles);
            }
        }
    }

    fn grouped(&self, visit: &mut dyn FnMut(&[u32])) {
        self.groups.iter().filter(|g| g.compiled.is_some()).for_each(|g| visit(&g.slots));
    }

    fn len(&self) -> usize {
        self.groups.len() - self.dead
    }

    fn dead(&self) -> usize {
        self.dead
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
