//! Particles: the ECS data that everything else works on.
//!
//! A particle is an entity with its whole state in one component. It belongs to a *body* by the
//! relationship [`ParticleOf`]; what the body's recipe built, in order, is told by
//! [`ParticleIndex`] and [`RestPose`].
//!
//! Hooks note every structural change in [`TopologyChanges`]; the solver reads it at its next tick,
//! whatever schedule the change came from.

use bevy::{
    ecs::{lifecycle::HookContext, world::DeferredWorld},
    prelude::*,
};

use crate::math::ellipsoid;

/// A point mass: the smallest thing that moves.
///
/// Written by the solver at the end of each tick, and by anyone between ticks: setting `position`
/// moves the particle, setting `velocity` throws it. A mass that is not a positive number holds the
/// particle in place as [`Pinned`] does; a position or velocity that is not finite freezes the body
/// and triggers a fault.
#[derive(Component, Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
#[require(SolverState)]
#[component(on_add = note_particle, on_remove = note_recompile)]
pub struct Particle {
    /// Position (m, world).
    pub position: Vec3,
    /// Velocity (m/s, world).
    pub velocity: Vec3,
    /// Mass (kg). Default: 1.
    pub mass: f32,
}

impl Default for Particle {
    fn default() -> Self {
        Self { position: Vec3::ZERO, velocity: Vec3::ZERO, mass: 1.0 }
    }
}

impl Particle {
    /// A particle of 1 kg at rest at `position` (m, world).
    pub const fn at(position: Vec3) -> Self {
        Self { position, velocity: Vec3::ZERO, mass: 1.0 }
    }

    /// With this mass (kg).
    pub const fn with_mass(mut self, mass: f32) -> Self {
        self.mass = mass;
        self
    }

    /// With this velocity (m/s, world).
    pub const fn with_velocity(mut self, velocity: Vec3) -> Self {
        self.velocity = velocity;
        self
    }

    /// 1/mass (1/kg), and 0 for a mass that is not a positive number.
    pub fn inverse_mass(&self) -> f32 {
        let inverse = self.mass.recip();
        if self.mass > 0.0 && inverse.is_finite() { inverse } else { 0.0 }
    }
}

/// A particle that also turns: a solid ellipsoid.
///
/// It is a bone: its `Transform` (output only, never read by the solver) follows its drawn pose, so
/// that meshes can be skinned to it and entities can be its children.
#[derive(Component, Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
#[require(Particle, Transform)]
#[cfg_attr(feature = "render", require(Visibility))]
#[component(on_add = note_recompile, on_remove = note_recompile)]
pub struct OrientedParticle {
    /// Orientation (world).
    pub rotation: Quat,
    /// Angular velocity (rad/s, world).
    pub angular_velocity: Vec3,
    /// Semi-axes of the ellipsoid (m). Default: 1 cm each.
    pub radii: Vec3,
}

impl Default for OrientedParticle {
    fn default() -> Self {
        Self {
            rotation: Quat::IDENTITY,
            angular_velocity: Vec3::ZERO,
            radii: Vec3::splat(DEFAULT_RADIUS),
        }
    }
}

impl OrientedParticle {
    /// An ellipsoid of these semi-axes (m), at rest.
    pub const fn with_radii(radii: Vec3) -> Self {
        Self { rotation: Quat::IDENTITY, angular_velocity: Vec3::ZERO, radii }
    }

    /// Principal moments of inertia (kg m²) at `mass` kg; semi-axes that are not positive count as 0.
    pub fn inertia(&self, mass: f32) -> Vec3 {
        ellipsoid::inertia(mass, self.radii.map(|r| if r.is_finite() { r.max(0.0) } else { 0.0 }))
    }
}

/// Radius of a particle where nothing else is said (m).
pub const DEFAULT_RADIUS: f32 = 0.01;

/// Where the recipe put the particle, in the body's frame.
#[derive(Component, Reflect, Clone, Copy, Debug, Default, PartialEq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
pub struct RestPose {
    /// Position (m).
    pub position: Vec3,
    /// Orientation.
    pub rotation: Quat,
}

/// The scale of the body's transform when it was built: baked into its lengths and masses. On the body;
/// a rest pose is to be multiplied with it.
#[derive(Component, Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Component, Debug, PartialEq, Clone)]
pub struct BuiltScale(pub Vec3);

/// Holds a particle in place, as infinite mass would; the user writes its `position`.
///
/// A position written between two ticks is swept over the next tick's substeps, so that neighbours
/// are carried rather than jerked.
#[derive(Component, Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
#[component(on_add = note_weights, on_remove = note_weights)]
pub struct Pinned;

/// Holds a particle at a point of another entity, as infinite mass would.
///
/// The anchor's transform is swept over each tick's substeps. When the anchor is despawned or loses
/// its `Transform`, the particle stays where it is.
#[derive(Component, Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Component, Debug, PartialEq, Clone)]
#[component(on_insert = note_weights, on_remove = note_weights)]
pub struct PinnedTo {
    /// The entity that carries the particle.
    #[entities]
    pub anchor: Entity,
    /// Where on the anchor (in its frame, before its scale).
    pub offset: Vec3,
}

/// Marks a body whose particles keep their z and turn about z only.
#[derive(Component, Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
#[component(on_add = note_recompile, on_remove = note_recompile)]
pub struct Planar;

/// The body that a particle belongs to. Despawning the body despawns the particle.
#[derive(Component, Reflect, Clone, Copy, Debug, PartialEq, Eq)]
#[reflect(Component, Debug, PartialEq, Clone)]
#[relationship(relationship_target = Particles)]
#[component(on_add = note_recompile, on_remove = note_recompile)]
pub struct ParticleOf(#[entities] pub Entity);

/// The particles of a body, in the order in which they were added.
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq, Eq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
#[relationship_target(relationship = ParticleOf, linked_spawn)]
pub struct Particles(Vec<Entity>);

impl core::ops::Deref for Particles {
    type Target = [Entity];

    fn deref(&self) -> &[Entity] {
        &self.0
    }
}

/// The place of a particle in its body as the recipe built it: row-major for a grid, along the line
/// for a rope. It stays the same when other particles are despawned.
#[derive(Component, Reflect, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
pub struct ParticleIndex(pub u32);

/// The triangles between a body's particles, by [`ParticleIndex`], counter-clockwise from the front:
/// what the air acts on. On the body; written by its recipe. A triangle that names a missing particle
/// is left out.
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq, Eq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
pub struct BodySurface {
    /// Three particles each.
    pub triangles: Vec<[u32; 3]>,
}

/// The lines of a body's particles that meet the air as cylinders, by [`ParticleIndex`]: what a rope has
/// in place of a [`BodySurface`]. On the body; written by its recipe. A segment that names a missing
/// particle is left out.
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq, Eq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
pub struct BodyLine {
    /// Two particles each.
    pub segments: Vec<[u32; 2]>,
}

/// The order in which particles and constraints were created. The solver works in this order, so
/// that the same world gives the same bits. Given by the solver where it is missing.
#[derive(Component, Reflect, Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
#[component(on_insert = raise_next_build_order)]
pub struct BuildOrder(pub u64);

/// What the solver remembers of a particle from one tick to the next, beside [`Particle`] itself.
///
/// Saved with the particle, so that a loaded world goes on with the same bits.
#[derive(Component, Reflect, Clone, Copy, Debug, Default, PartialEq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
#[component(on_insert = note_recompile)]
pub struct SolverState {
    /// The part of the position that the world's f32 coordinates cannot hold (m): the exact
    /// position is `Particle::position` plus this.
    pub remainder: Vec3,
    /// Where the particle was when it last moved (m, world); see `still_ticks`.
    pub still_position: Vec3,
    /// For how many ticks it has stayed near `still_position`.
    pub still_ticks: u32,
    /// The position that the solver wrote last (m, world); `None` before it did. Tells whether someone
    /// else moved the particle since, and from where a pin is swept.
    pub written: Option<Vec3>,
    /// One more than the particle's slot in the mirror; 0 before it has one.
    #[reflect(ignore)]
    pub(crate) slot_plus_one: u32,
}

/// What changed in the structure of the world since the solver last looked: the one queue that all
/// hooks and observers write to.
#[derive(Resource, Clone, Debug, Default)]
pub struct TopologyChanges {
    pub(crate) recompile: bool,
    pub(crate) weights: bool,
    pub(crate) unordered: Vec<Entity>,
    pub(crate) removed_constraints: Vec<Entity>,
    next_build_order: u64,
}

impl TopologyChanges {
    /// Notes an entity that may still lack its [`BuildOrder`], and that the solver must recompile.
    pub fn note_added(&mut self, entity: Entity) {
        self.recompile = true;
        self.unordered.push(entity);
    }

    /// Notes an entity that may still lack its [`BuildOrder`], and that is never compiled.
    pub fn note_dynamic_added(&mut self, entity: Entity) {
        self.unordered.push(entity);
    }

    /// Notes that a constraint is gone.
    pub fn note_constraint_removed(&mut self, entity: Entity) {
        self.removed_constraints.push(entity);
    }

    /// Takes the next `count` build orders, and returns the first of them.
    pub fn take_build_orders(&mut self, count: u64) -> u64 {
        let first = self.next_build_order;
        self.next_build_order = first.saturating_add(count);
        first
    }
}

fn with_changes(world: &mut DeferredWorld, note: impl FnOnce(&mut TopologyChanges)) {
    if let Some(mut changes) = world.get_resource_mut::<TopologyChanges>() {
        note(&mut changes);
    }
}

fn note_particle(mut world: DeferredWorld, context: HookContext) {
    with_changes(&mut world, |changes| changes.note_added(context.entity));
}

fn note_recompile(mut world: DeferredWorld, _: HookContext) {
    with_changes(&mut world, |changes| changes.recompile = true);
}

fn note_weights(mut world: DeferredWorld, _: HookContext) {
    with_changes(&mut world, |changes| changes.weights = true);
}

fn raise_next_build_order(mut world: DeferredWorld, context: HookContext) {
    let Some(&BuildOrder(order)) = world.get::<BuildOrder>(context.entity) else { return };
    with_changes(&mut world, |changes| {
        // Numbers that no counter reaches are left out, so that the counter cannot overflow.
        let next = order.min(u64::MAX >> 1) + 1;
        changes.next_build_order = changes.next_build_order.max(next);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> World {
        let mut world = World::new();
        world.init_resource::<TopologyChanges>();
        world
    }

    #[test]
    fn a_particle_brings_what_the_solver_needs_and_is_noted() {
        let mut world = world();
        let entity = world.spawn(OrientedParticle::default()).id();
        assert!(world.get::<Particle>(entity).is_some());
        assert!(world.get::<Transform>(entity).is_some());
        assert!(world.get::<SolverState>(entity).is_some());
        let changes = world.resource::<TopologyChanges>();
        assert!(changes.recompile);
        assert_eq!(changes.unordered, [entity]);
    }

    #[test]
    fn despawning_a_body_despawns_its_particles() {
        let mut world = world();
        let body = world.spawn_empty().id();
        let particle = world.spawn((Particle::default(), ParticleOf(body))).id();
        assert_eq!(&**world.get::<Particles>(body).unwrap(), [particle]);
        world.despawn(body);
        assert!(world.get_entity(particle).is_err());
    }

    #[test]
    fn a_loaded_build_order_raises_the_counter() {
        let mut world = world();
        world.spawn(BuildOrder(41));
        assert_eq!(world.resource_mut::<TopologyChanges>().take_build_orders(1), 42);
    }

    #[test]
    fn a_mass_that_is_no_positive_number_holds_the_particle() {
        for mass in [0.0, -1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-45] {
            assert_eq!(Particle::default().with_mass(mass).inverse_mass(), 0.0, "{mass}");
        }
        assert_eq!(Particle::default().with_mass(0.25).inverse_mass(), 4.0);
    }
}
