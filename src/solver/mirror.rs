//! The mirror: the dense arrays that the solver works on.
//!
//! One *slot* a particle, in the order island, then creation, so that an island is a range of slots
//! and islands can be worked on at once. Each island ends in a *null* slot: what pads a pack of lanes.
//!
//! ```text
//!  slot      0   1   2   3   ∅   5   6   ∅
//!            └── island 0 ───┘   └ isl 1 ┘
//! ```
//!
//! * `position`: x, relative to the island's origin, being projected;
//! * `predicted`: x*, as predicted from the start of the substep;
//! * `velocity` + `velocity_change`: v at the start of the tick, and what the tick added. Kept apart
//!   because a substep's gravity is lost on a fast particle's velocity in f32: at 443 m/s, a 10 km
//!   fall, each g·h would be rounded by 0.03 % the same way.
//!
//! Origins follow each island's first particle (rounded to 1 m) from tick to tick. What f32 world
//! coordinates cannot hold of a position goes to `SolverState::remainder`, so that gathering and
//! writing back lose nothing that matters, 10 km from the origin too.

pub(crate) use crate::constraint::{NOT_ORIENTED, Oriented};

use super::{
    air::{AirField, IslandAir, MirrorAir},
    batch::Batch,
    contact::{IslandContacts, Obstacles, Touching},
    dynamic_set::DynamicSet,
    settings::EllipsoidContact,
};
use crate::{
    constraint::OldPositions,
    math::pose::TargetMotion,
    obstacle::{ContactLayers, Friction},
};
use bevy::{
    ecs::entity::EntityHashSet,
    math::{DVec3, Vec4},
    platform::collections::HashMap,
    prelude::*,
};
use core::{ops::Range, time::Duration};

/// A table by entity, dense in the entity's index.
#[derive(Debug)]
pub(crate) struct EntityTable<T>(Vec<Option<(Entity, T)>>);

impl<T> Default for EntityTable<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> EntityTable<T> {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn insert(&mut self, entity: Entity, value: T) {
        // The null slots' entity has the greatest index that there is.
        if entity == Entity::PLACEHOLDER {
            return;
        }
        let index = entity.index_u32() as usize;
        if index >= self.0.len() {
            self.0.resize(index + 1, None);
        }
        self.0[index] = Some((entity, value));
    }

    pub fn get(&self, entity: Entity) -> Option<T> {
        match self.0.get(entity.index_u32() as usize) {
            Some(Some((found, value))) if *found == entity => Some(*value),
            _ => None,
        }
    }
}

/// Why an island is or is not simulated; the more there is to tell of, the greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activity {
    /// Another body is being [settled](super::Settle).
    Waiting,
    /// It lies still.
    Asleep,
    /// A body of it is `Disabled`.
    Disabled,
    /// It is simulated.
    #[default]
    Awake,
    /// Its state stopped being finite; see [`BodyFault`](super::BodyFault).
    Faulty,
}

/// Particles joined by constraints, and those constraints.
#[derive(Default)]
pub(crate) struct Island {
    /// Slots, the null slot last.
    pub slots: Range<usize>,
    /// Where relative positions start (m, world).
    pub origin: DVec3,
    /// Constraints, by type in order of registration; `None` where the island has none of a type.
    pub batches: Vec<Option<Box<dyn Batch>>>,
    /// The bodies that own its particles, as places in [`Mirror::bodies`].
    pub bodies: Vec<u32>,
    pub activity: Activity,
    /// Wake group: islands of the same number sleep, wake and fail together.
    pub group: u32,
    /// Whether momentum that projection takes is given back.
    pub restore_momentum: bool,
    /// Its particles that turn, in [`Mirror::oriented`].
    pub oriented: Range<usize>,
    /// Whether all its bodies are planar, and whether any is.
    pub all_planar: bool,
    pub any_planar: bool,
    /// Part of the velocity relative to its rigid motion that it keeps in a substep.
    pub relative_damping: f32,
    /// Whether a body of it is disabled.
    pub disabled: bool,
    /// Whether something that was not finite was read in this tick.
    pub bad_input: bool,
    /// Whether something outside the island touched it in this tick.
    pub touched: bool,
    /// Whether a dynamic constraint acts on it.
    pub joined: bool,
    /// Whether it has been carried through this tick already.
    pub carried: bool,
    /// Whether anything must wake it at the next chance.
    pub wake: bool,
    /// Time that its constraints took in this tick, by type; empty unless that is wanted.
    pub times: Vec<Duration>,
    /// Contact of its particles with one another and with others, where a body of it wants any.
    pub soft: Option<Box<super::soft_contact::SoftIsland>>,
}

impl Island {
    /// Whether any of its particles turns.
    pub fn turning(&self) -> bool {
        !self.oriented.is_empty()
    }

    /// Its particles' slots, without the null slot.
    pub fn particles(&self) -> Range<usize> {
        self.slots.start..self.slots.end - 1
    }
}

/// What the mirror knows of a body.
#[derive(Clone, Debug)]
pub(crate) struct MirrorBody {
    /// The body, or `None` for particles without one.
    pub entity: Option<Entity>,
    /// Slots of its particles.
    pub slots: Vec<u32>,
    pub planar: bool,
    pub radius: f32,
    pub friction: Friction,
    pub layers: ContactLayers,
    pub ellipsoid_contact: EllipsoidContact,
    pub self_contact: bool,
    pub soft_contact: bool,
    /// Mean length of its edges (m), where its particles touch others; 0 without.
    pub edge: f32,
    /// Radius for contact with particles (m), and roots of the coefficients of friction.
    pub contact_radius: f32,
    pub root_friction: Friction,
    /// Drag and lift coefficients.
    pub drag: f32,
    pub lift: f32,
    /// Those of the last tick; `None` before the first.
    pub inputs: Option<BodyInputs>,
}

/// What wakes a body when it changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BodyInputs {
    pub acceleration: Vec3,
    pub radius: f32,
    pub friction: Friction,
    pub layers: ContactLayers,
    pub touches: [bool; 2],
}

impl MirrorBody {
    pub fn new(entity: Option<Entity>, radius: f32) -> Self {
        Self {
            entity,
            slots: Vec::new(),
            planar: false,
            radius,
            friction: Friction::DEFAULT,
            layers: ContactLayers::ALL,
            ellipsoid_contact: EllipsoidContact::LeverArm,
            self_contact: false,
            soft_contact: false,
            edge: 0.0,
            contact_radius: radius,
            root_friction: Friction::NONE,
            drag: 0.0,
            lift: 0.0,
            inputs: None,
        }
    }
}

/// What holds a particle in place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pin {
    pub slot: u32,
    /// The anchor and the point on it, or `None` where the user writes the position.
    pub to: Option<(Entity, Vec3)>,
}

/// A held particle that follows something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kinematic {
    pub slot: u32,
    pub path: KinematicPath,
}

/// How a held particle moves over the tick.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KinematicPath {
    /// Straight, relative to the island's origin.
    Line { start: Vec3, end: Vec3 },
    /// At a point of an anchor, by its place in [`Mirror::targets`].
    Anchor { target: u32, offset: Vec3 },
}

/// The dense arrays, and what the solver knows of the world's structure.
#[derive(Resource, Default)]
pub(crate) struct Mirror {
    pub entities: Vec<Entity>,
    pub position: Vec<Vec4>,
    pub predicted: Vec<Vec4>,
    pub velocity: Vec<Vec4>,
    pub velocity_change: Vec<Vec4>,
    /// Acceleration by gravity and applied forces (m/s²).
    pub acceleration: Vec<Vec4>,
    pub mass: Vec<f32>,
    pub inverse_mass: Vec<f32>,
    /// e^(−ch) of each particle.
    pub damping: Vec<f32>,
    /// Body of each particle, as a place in `bodies`.
    pub body: Vec<u32>,
    /// World positions at the start of the tick, for drawing.
    pub previous: Vec<Vec3>,
    /// Where each particle last moved (m, world), and how many ticks ago.
    pub still: Vec<(Vec3, u32)>,
    pub slots: EntityTable<u32>,
    pub islands: Vec<Island>,
    pub island_of: Vec<u32>,
    pub bodies: Vec<MirrorBody>,
    pub pins: Vec<Pin>,
    pub kinematic: Vec<Kinematic>,
    pub targets: Vec<TargetMotion>,
    /// The particles that turn, by slot.
    pub oriented: Vec<Oriented>,
    /// Place of each slot among its island's oriented particles, or [`NOT_ORIENTED`].
    pub oriented_of: Vec<u32>,
    pub obstacles: Obstacles,
    pub contacts: Vec<IslandContacts>,
    /// Bodies and obstacles that touched in the last tick, in order.
    pub touching: Vec<Touching>,
    pub air: MirrorAir,
    pub dynamics: Vec<Box<dyn DynamicSet>>,
    /// Time that they took in this tick, by type; empty unless that is wanted.
    pub dynamic_times: Vec<Duration>,
    pub soft: super::soft_contact::SoftContacts,
    /// Constraints that were added since the last tick, not loaded.
    pub added: EntityHashSet,
    /// Whether lanes must take the inverse masses anew.
    pub weights_changed: bool,
    /// Inverse masses before the last compilation, to notice that they changed in the same tick.
    pub old_weights: EntityTable<f32>,
    /// Whether the arrays have no valid state yet, so that nothing is compared with it.
    pub fresh: bool,
    pub constraints: usize,
    pub constraint_counts: HashMap<&'static str, usize>,
}

/// An island with its parts of the mirror's arrays; indices are relative to the island's first slot.
pub(crate) struct IslandView<'a> {
    pub island: &'a mut Island,
    pub contacts: &'a mut IslandContacts,
    pub air: &'a mut IslandAir,
    pub position: &'a mut [Vec4],
    pub predicted: &'a mut [Vec4],
    pub velocity: &'a mut [Vec4],
    pub velocity_change: &'a mut [Vec4],
    pub acceleration: &'a [Vec4],
    pub mass: &'a [f32],
    pub inverse_mass: &'a [f32],
    pub damping: &'a [f32],
    pub body: &'a [u32],
    pub oriented: &'a mut [Oriented],
    /// Place in `oriented` of each slot, or [`NOT_ORIENTED`]; empty where nothing turns.
    pub oriented_of: &'a [u32],
    /// Its held particles; their slots count from the mirror's first.
    pub kinematic: &'a [Kinematic],
    pub shared: Shared<'a>,
}

/// What all islands read.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a> {
    pub bodies: &'a [MirrorBody],
    pub obstacles: &'a Obstacles,
    pub targets: &'a [TargetMotion],
    pub air: &'a AirField,
}

impl IslandView<'_> {
    /// Particles of the island, without the null slot.
    pub fn len(&self) -> usize {
        self.position.len() - 1
    }

    /// The particle at `slot` (of the island), if it turns.
    pub fn oriented_at(&self, slot: usize) -> Option<&Oriented> {
        self.oriented.get(*self.oriented_of.get(slot)? as usize)
    }

    /// Positions at the start of the substep.
    pub fn old(&self, h: f32) -> OldPositions<'_> {
        OldPositions {
            predicted: self.predicted,
            velocity: self.velocity,
            velocity_change: self.velocity_change,
            h,
        }
    }
}

fn take<'a, T>(rest: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    let (head, tail) = core::mem::take(rest).split_at_mut(len);
    *rest = tail;
    head
}

impl Mirror {
    /// Number of particles, without null slots.
    pub fn particle_count(&self) -> usize {
        self.entities.len() - self.islands.len()
    }

    /// The islands that are yet to be simulated in this tick, each with its parts of the arrays.
    pub fn awake(&mut self) -> Vec<IslandView<'_>> {
        let Self {
            position,
            predicted,
            velocity,
            velocity_change,
            acceleration,
            mass,
            inverse_mass,
            damping,
            body,
            oriented,
            oriented_of,
            contacts,
            islands,
            bodies,
            obstacles,
            kinematic,
            targets,
            air,
            ..
        } = self;
        let (mut position, mut predicted) = (&mut position[..], &mut predicted[..]);
        let (mut velocity, mut velocity_change) = (&mut velocity[..], &mut velocity_change[..]);
        let mut oriented = &mut oriented[..];
        let mut kinematic = &kinematic[..];
        let shared = Shared { bodies, obstacles, targets, air: &air.field };
        let mut views = Vec::with_capacity(islands.len());
        for ((island, contacts), air) in islands.iter_mut().zip(contacts).zip(&mut air.islands) {
            let slots = island.slots.clone();
            let len = slots.len();
            let (x, p) = (take(&mut position, len), take(&mut predicted, len));
            let (v, dv) = (take(&mut velocity, len), take(&mut velocity_change, len));
            let turns = island.oriented.len();
            let oriented = take(&mut oriented, turns);
            let places = if turns > 0 { &oriented_of[slots.clone()] } else { &[] };
            let here = kinematic.partition_point(|k| (k.slot as usize) < slots.end);
            let (held, others) = kinematic.split_at(here);
            kinematic = others;
            if island.activity != Activity::Awake || island.carried {
                continue;
            }
            views.push(IslandView {
                island,
                contacts,
                air,
                position: x,
                predicted: p,
                velocity: v,
                velocity_change: dv,
                acceleration: &acceleration[slots.clone()],
                mass: &mass[slots.clone()],
                inverse_mass: &inverse_mass[slots.clone()],
                damping: &damping[slots.clone()],
                body: &body[slots],
                oriented,
                oriented_of: places,
                kinematic: held,
                shared,
            });
        }
        views
    }

    /// Place in `oriented` of the particle at `slot`, if it turns.
    pub fn oriented_place(&self, slot: u32) -> Option<u32> {
        let place = self.oriented_of[slot as usize];
        let first = self.islands[self.island_of[slot as usize] as usize].oriented.start as u32;
        (place != NOT_ORIENTED).then(|| first + place)
    }

    /// Wakes the island of a particle.
    pub fn wake(&mut self, particle: Entity) {
        if let Some(slot) = self.slots.get(particle) {
            self.islands[self.island_of[slot as usize] as usize].wake = true;
        }
    }

    /// Forgets where a particle was before it was put at `position` (m, world), so turned.
    pub fn teleport(&mut self, slot: u32, position: Vec3, rotation: Quat) {
        if let Ok(oriented) = self.oriented.binary_search_by_key(&slot, |o| o.slot) {
            self.oriented[oriented].previous_rotation = rotation;
        }
        let slot = slot as usize;
        let island = &mut self.islands[self.island_of[slot] as usize];
        self.position[slot] = (position.as_dvec3() - island.origin).as_vec3().extend(0.0);
        self.previous[slot] = position;
        self.still[slot].1 = 0;
        island.wake = true;
    }
}

/// A position relative to `origin` as an f32 world position and what that cannot hold.
pub(crate) fn split_position(local: Vec3, origin: DVec3) -> (Vec3, Vec3) {
    let exact = local.as_dvec3() + origin;
    let world = exact.as_vec3();
    (world, (exact - world.as_dvec3()).as_vec3())
}

/// The exact position of a particle (m, world). A remainder that is no rounding remainder of the
/// position, because someone moved the particle, is dropped.
pub(crate) fn exact_position(position: Vec3, remainder: Vec3) -> DVec3 {
    let exact = position.as_dvec3() + remainder.as_dvec3();
    if exact.as_vec3() == position { exact } else { position.as_dvec3() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_survive_the_world_and_back_to_what_f64_holds() {
        for origin in [0.0, 4.0, -300.0, 10_000.0] {
            let origin = DVec3::splat(origin);
            for i in 0..1000u32 {
                let local = Vec3::new(
                    (i as f32 * 0.7311).sin() * 9.0,
                    (i as f32 * 1.93).cos() * 0.01,
                    i as f32 * 1e-6,
                );
                let (world, remainder) = split_position(local, origin);
                let back = (exact_position(world, remainder) - origin).as_vec3();
                assert!((back - local).abs().max_element() <= 4e-12, "{back} {local}");
            }
        }
    }

    #[test]
    fn a_moved_particle_loses_its_old_remainder() {
        let remainder = Vec3::splat(4e-4);
        assert_eq!(
            exact_position(Vec3::splat(1e4), remainder),
            DVec3::splat(1e4) + remainder.as_dvec3()
        );
        assert_eq!(exact_position(Vec3::ONE, remainder), DVec3::ONE);
    }

    #[test]
    fn a_reused_entity_index_is_not_found() {
        let mut world = World::new();
        let old = world.spawn_empty().id();
        let mut table = EntityTable::default();
        table.insert(old, 7);
        world.despawn(old);
        let new = world.spawn_empty().id();
        assert_eq!(table.get(old), Some(7));
        assert_eq!(table.get(new), None);
    }
}
