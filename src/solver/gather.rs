//! Gather: from ECS to mirror, at the start of each tick.

use super::{
    air::{WindZone, gather_air},
    batch::IslandMasses,
    contact::{Found, wake_beside},
    diagnostics::{SolverDiagnostics, Stage},
    mirror::{Activity, BodyInputs, Kinematic, KinematicPath, Mirror, Pin, exact_position},
    project::time_types,
    settings::{AppliedForce, BodySettings, SolverSettings, StepTime},
    sleep::{SleepRule, join_wake_groups},
    soft_contact,
    target::Targets,
    types::ConstraintTypes,
};
use crate::{
    math::{
        ellipsoid,
        rotation::{about_z, unit},
    },
    obstacle::Obstacle,
    particle::{BuildOrder, OrientedParticle, Particle, Pinned, PinnedTo, SolverState},
    solver::events::Faulty,
};
use bevy::{
    ecs::{entity_disabling::Disabled, query::Allow},
    math::ops,
    prelude::*,
};

type PinQuery = (Entity, &'static Particle, Has<Pinned>, Option<&'static PinnedTo>);

/// The queries that gathering needs.
pub(super) struct Queries {
    particles: QueryState<(&'static Particle, &'static SolverState)>,
    pins: QueryState<PinQuery>,
    oriented: QueryState<(&'static OrientedParticle, &'static Particle)>,
    obstacles: QueryState<(Entity, Ref<'static, Obstacle>, Option<&'static BuildOrder>)>,
    zones: QueryState<(Entity, Ref<'static, WindZone>, Option<&'static BuildOrder>)>,
    pushed: QueryState<(&'static Particle, Ref<'static, AppliedForce>)>,
    pushed_entities: QueryState<Entity, (With<Particle>, With<AppliedForce>)>,
    faulty: QueryState<Entity, (With<Faulty>, Allow<Disabled>)>,
}

impl Queries {
    fn new(world: &mut World) -> Self {
        Self {
            particles: world.query(),
            pins: world.query(),
            oriented: world.query(),
            obstacles: world.query(),
            zones: world.query(),
            pushed: world.query(),
            pushed_entities: world.query_filtered(),
            faulty: world.query_filtered(),
        }
    }
}

/// Fills the mirror from the ECS.
pub(super) fn gather(world: &mut World, mut queries: Local<Option<Queries>>) {
    let started = SolverDiagnostics::start();
    let queries = queries.get_or_insert_with(|| Queries::new(world));
    let time = *world.resource::<StepTime>();
    let settings = world.resource::<SolverSettings>().clone();
    let mut doomed = Vec::new();
    world.resource_scope(|world, mut mirror: Mut<Mirror>| {
        let mirror = &mut *mirror;
        origins(world, mirror, queries);
        particles(world, mirror, queries);
        let mut changed = core::mem::take(&mut mirror.weights_changed);
        if changed {
            weights(world, mirror, queries);
        }
        changed |= oriented(world, mirror, queries);
        if changed {
            weigh(mirror);
        }
        states(world, mirror, queries);
        body_settings(world, mirror, &settings, &time);
        applied_forces(world, mirror, queries);
        kinematics(world, mirror, queries, 1e-3 * settings.length_unit());
        obstacles(world, mirror, queries);
        gather_air(world, mirror, &mut queries.zones);
        dynamics(world, mirror, &time, &mut doomed);
        soft_contact::gather(world, mirror, &time);
        let rule = SleepRule::new(&settings, time.tick);
        join_wake_groups(mirror, &rule);
        for (island, contacts) in mirror.islands.iter().zip(&mut mirror.contacts) {
            contacts.begin_tick(island, &mirror.bodies, &mirror.obstacles);
        }
        mirror.fresh = false;
        mirror.added.clear();
        time_types(mirror, world.resource::<SolverDiagnostics>().detailed);
    });
    // Only now, since observers of it may want what was taken out of the world.
    for entity in doomed {
        if let Ok(entity) = world.get_entity_mut(entity) {
            entity.despawn();
        }
    }
    world.resource_mut::<SolverDiagnostics>().stop(Stage::Gather, started);
}

/// Lets each island's origin follow its first particle.
fn origins(world: &World, mirror: &mut Mirror, queries: &mut Queries) {
    queries.particles.update_archetypes(world);
    for island in &mut mirror.islands {
        let first = mirror.entities[island.slots.start];
        if let Ok((particle, _)) = queries.particles.get_manual(world, first) {
            let origin = particle.position.as_dvec3().round();
            if origin.is_finite() {
                island.origin = origin;
            }
        }
    }
}

/// Positions, velocities, masses; notices what someone else wrote.
fn particles(world: &World, mirror: &mut Mirror, queries: &mut Queries) {
    let fresh = mirror.fresh;
    mirror.velocity_change.fill(Vec4::ZERO);
    let query = queries.particles.query_manual(world);
    let Ok(tables) = query.contiguous_iter() else { return };
    for (particles, states) in tables {
        for (particle, state) in particles.iter().zip(states) {
            let Some(slot) = (state.slot_plus_one as usize).checked_sub(1) else { continue };
            let Some(&island) = mirror.island_of.get(slot) else { continue };
            let island = &mut mirror.islands[island as usize];
            // Someone else moved it, whatever the solver did meanwhile.
            island.wake |= state.written.is_some_and(|written| written != particle.position);
            let exact = exact_position(particle.position, state.remainder);
            let local = (exact - island.origin).as_vec3().extend(0.0);
            let velocity = particle.velocity.extend(0.0);
            if !(local.is_finite() && velocity.is_finite()) {
                // Kept as they were; the body is frozen.
                island.bad_input = true;
                continue;
            }
            if fresh {
                mirror.still[slot] = (state.still_position, state.still_ticks);
                island.wake |= particle.velocity != Vec3::ZERO;
            } else if island.activity == Activity::Asleep {
                island.wake |= particle.velocity != Vec3::ZERO;
            }
            if mirror.mass[slot].to_bits() != particle.mass.to_bits() {
                mirror.mass[slot] = particle.mass;
                mirror.weights_changed = true;
            }
            mirror.position[slot] = local;
            mirror.velocity[slot] = velocity;
            mirror.previous[slot] = particle.position;
        }
    }
}

/// Inverse masses, and who is held by what.
fn weights(world: &mut World, mirror: &mut Mirror, queries: &mut Queries) {
    mirror.pins.clear();
    for (entity, particle, pinned, pinned_to) in queries.pins.iter(world) {
        let Some(slot) = mirror.slots.get(entity) else { continue };
        let index = slot as usize;
        let mut inverse_mass = particle.inverse_mass();
        if inverse_mass == 0.0 {
            warn_once!(
                "{entity} has mass {}, not a positive number: it is held in place",
                particle.mass
            );
        }
        if pinned || pinned_to.is_some() {
            inverse_mass = 0.0;
        }
        if inverse_mass == 0.0 {
            let to = pinned_to.filter(|p| p.offset.is_finite()).map(|p| (p.anchor, p.offset));
            mirror.pins.push(Pin { slot, to });
        }
        if mirror.inverse_mass[index] != inverse_mass {
            mirror.inverse_mass[index] = inverse_mass;
            let same = mirror.fresh
                && mirror.old_weights.get(entity).is_none_or(|old| old == inverse_mass);
            mirror.islands[mirror.island_of[index] as usize].wake |= !same;
        }
    }
    mirror.pins.sort_unstable_by_key(|p| p.slot);
}

/// Tells the constraints what their particles weigh.
fn weigh(mirror: &mut Mirror) {
    for island in &mut mirror.islands {
        let slots = island.slots.clone();
        let masses = IslandMasses {
            mass: &mirror.mass[slots.clone()],
            inverse_mass: &mirror.inverse_mass[slots.clone()],
            oriented: &mirror.oriented[island.oriented.clone()],
            places: &mirror.oriented_of[slots],
            planar: island.all_planar,
        };
        island.batches.iter_mut().flatten().for_each(|b| b.refresh_weights(&masses));
    }
    mirror.soft.stale = true;
}

/// Orientations, spins and extents of the particles that turn; whether any extent changed.
fn oriented(world: &World, mirror: &mut Mirror, queries: &mut Queries) -> bool {
    let mut changed = false;
    queries.oriented.update_archetypes(world);
    for oriented in &mut mirror.oriented {
        let Ok((state, particle)) = queries.oriented.get_manual(world, oriented.entity) else {
            continue;
        };
        let slot = oriented.slot as usize;
        let island = &mut mirror.islands[mirror.island_of[slot] as usize];
        let Some(rotation) = unit(state.rotation).filter(|_| state.angular_velocity.is_finite())
        else {
            island.bad_input = true;
            continue;
        };
        if state.angular_velocity != oriented.angular_velocity {
            island.wake = true;
        }
        let tilted = oriented.planar && (rotation.x, rotation.y) != (0.0, 0.0);
        let rotation = if tilted { about_z(rotation) } else { rotation };
        // Someone else turned it.
        island.wake |= !mirror.fresh && rotation != oriented.rotation;
        oriented.rotation = rotation;
        oriented.previous_rotation = oriented.rotation;
        oriented.angular_velocity = state.angular_velocity;
        let held = mirror.inverse_mass[slot] == 0.0;
        let mass =
            if particle.mass > 0.0 && particle.mass.is_finite() { particle.mass } else { 0.0 };
        let radii = state.radii.map(|r| if r.is_finite() { r.max(0.0) } else { 0.0 });
        let inertia = if oriented.planar {
            Vec3::splat(ellipsoid::planar_inertia(mass, radii))
        } else {
            ellipsoid::inertia(mass, radii)
        };
        // Too large to be calculated with: it does not turn.
        let inertia = if inertia.is_finite() { inertia } else { Vec3::ZERO };
        if radii != oriented.radii || inertia != oriented.inertia || held != oriented.held {
            changed = true;
            island.wake |= !mirror.fresh;
        }
        (oriented.radii, oriented.inertia, oriented.held) = (radii, inertia, held);
        oriented.isotropic = inertia.x == inertia.y && inertia.y == inertia.z;
        let invert = |i: f32| if i.is_normal() && !held { i.recip() } else { 0.0 };
        oriented.inverse_inertia = inertia.map(invert);
    }
    changed
}

/// Gravity, damping, radius and friction of each body, spread over its particles.
fn body_settings(world: &World, mirror: &mut Mirror, settings: &SolverSettings, time: &StepTime) {
    let finite = |v: Vec3| if v.is_finite() { v } else { Vec3::ZERO };
    let positive = |v: f32| if v.is_finite() { v.max(0.0) } else { 0.0 };
    let Mirror { bodies, islands, island_of, acceleration, damping, mass, inverse_mass, .. } =
        mirror;
    for body in bodies.iter_mut() {
        let chosen = body.entity.and_then(|e| world.get::<BodySettings>(e));
        let force = body.entity.and_then(|e| world.get::<AppliedForce>(e));
        body.radius = positive(chosen.and_then(|s| s.radius).unwrap_or(settings.particle_radius));
        body.friction = chosen.map_or(default(), |s| s.friction);
        body.layers = chosen.map_or(default(), |s| s.layers);
        body.ellipsoid_contact = chosen.map_or(default(), |s| s.ellipsoid_contact);
        body.self_contact = chosen.is_some_and(|s| s.self_contact);
        body.soft_contact = chosen.is_some_and(|s| s.soft_contact);
        body.drag = positive(chosen.map_or(0.0, |s| s.drag));
        body.lift = positive(chosen.map_or(0.0, |s| s.lift));
        let own = chosen.and_then(|s| s.damping);
        let kept = |usual: f32| ops::exp(-positive(own.unwrap_or(usual)) * time.h);
        let (kept, kept_relative) = (kept(settings.damping), kept(settings.relative_damping));
        let mut total = finite(chosen.and_then(|s| s.gravity).unwrap_or(settings.gravity));
        if let Some(force) = force {
            let free: f32 = body
                .slots
                .iter()
                .filter(|s| inverse_mass[**s as usize] > 0.0)
                .map(|s| mass[*s as usize])
                .sum();
            let shared = if free > 0.0 { finite(force.force) / free } else { Vec3::ZERO };
            total += finite(force.acceleration) + finite(shared);
        }
        if body.planar {
            total.z = 0.0;
        }
        let inputs = BodyInputs {
            acceleration: total,
            radius: body.radius,
            friction: body.friction,
            layers: body.layers,
            touches: [body.self_contact, body.soft_contact],
        };
        let changed = body.inputs.replace(inputs).is_some_and(|old| old != inputs);
        for &slot in &body.slots {
            let slot = slot as usize;
            let free = inverse_mass[slot] > 0.0;
            acceleration[slot] = if free { total.extend(0.0) } else { Vec4::ZERO };
            let island = &mut islands[island_of[slot] as usize];
            island.wake |= changed;
            if island.turning() {
                island.relative_damping = kept_relative;
                damping[slot] = 1.0;
            } else {
                damping[slot] = kept;
            }
        }
    }
}

/// Which islands are disabled, and which failed before and were not revived.
fn states(world: &mut World, mirror: &mut Mirror, queries: &mut Queries) {
    let disabled = |e: Entity| world.get::<Disabled>(e).is_some();
    for island in &mut mirror.islands {
        let entities = island.bodies.iter().map(|b| mirror.bodies[*b as usize].entity);
        let entities: Vec<Option<Entity>> = entities.collect();
        let own = |e: &Option<Entity>| world.get::<BodySettings>((*e)?)?.restore_momentum;
        island.restore_momentum = entities.iter().any(|e| own(e).unwrap_or(island.turning()));
        island.disabled = entities.into_iter().flatten().any(disabled);
        if island.activity == Activity::Faulty {
            island.activity = Activity::Awake;
        }
        island.touched = false;
        island.joined = false;
        island.carried = false;
    }
    for entity in queries.faulty.iter(world) {
        let body = mirror.bodies.iter().find(|b| b.entity == Some(entity));
        let slot = mirror.slots.get(entity);
        for slot in body.map_or(&[][..], |b| &b.slots).iter().copied().chain(slot) {
            let island = &mut mirror.islands[mirror.island_of[slot as usize] as usize];
            island.activity = Activity::Faulty;
        }
    }
}

/// Forces on single particles.
fn applied_forces(world: &mut World, mirror: &mut Mirror, queries: &mut Queries) {
    let pushed: Vec<Entity> = queries.pushed_entities.iter(world).collect();
    for entity in pushed {
        let Some(slot) = mirror.slots.get(entity).map(|s| s as usize) else { continue };
        let Ok((particle, force)) = queries.pushed.get(world, entity) else { continue };
        let total = force.acceleration + force.force * particle.inverse_mass();
        let changed = force.is_changed();
        if total.is_finite() && mirror.inverse_mass[slot] > 0.0 {
            let planar = mirror.bodies[mirror.body[slot] as usize].planar;
            mirror.acceleration[slot] += if planar { total.with_z(0.0) } else { total }.extend(0.0);
            let island = &mut mirror.islands[mirror.island_of[slot] as usize];
            island.touched = true;
            // It was awake when the force began to act; a steady one may lie still.
            island.wake |= changed;
        } else {
            warn_once!("the force on {entity} is not finite: it is ignored");
        }
    }
}

/// How held particles move over this tick.
///
/// A pin further than `near` from its anchor's point wakes its island.
fn kinematics(world: &World, mirror: &mut Mirror, queries: &mut Queries, near: f32) {
    queries.particles.update_archetypes(world);
    let targets = &world.resource::<Targets>().0;
    mirror.kinematic.clear();
    for pin in &mirror.pins {
        let slot = pin.slot as usize;
        let island = &mut mirror.islands[mirror.island_of[slot] as usize];
        island.touched = true;
        let here = mirror.position[slot].truncate();
        let target = pin.to.and_then(|(anchor, offset)| Some((targets.get(anchor)?, offset)));
        let path = if let Some((target, offset)) = target {
            let motion = &mirror.targets[target as usize];
            let end = (motion.end.transform_point(offset) - island.origin).as_vec3();
            island.wake |= motion.start != motion.end || (end - here).abs().max_element() > near;
            KinematicPath::Anchor { target, offset }
        } else {
            let state = queries.particles.get_manual(world, mirror.entities[slot]);
            let written = state.ok().and_then(|(particle, state)| {
                state.written.filter(|written| *written != particle.position)
            });
            let start = written.map_or(here, |w| (w.as_dvec3() - island.origin).as_vec3());
            island.wake |= start != here;
            KinematicPath::Line { start, end: here }
        };
        mirror.velocity[slot] = Vec4::ZERO;
        mirror.kinematic.push(Kinematic { slot: pin.slot, path });
    }
}

/// Where obstacles are; wakes what lies beside those that changed.
fn obstacles(world: &World, mirror: &mut Mirror, queries: &mut Queries) {
    let targets = &world.resource::<Targets>().0;
    let mut found: Vec<(Option<BuildOrder>, Found<'_>)> = queries
        .obstacles
        .iter(world)
        .filter_map(|(entity, obstacle, order)| {
            let motion = mirror.targets[targets.get(entity)? as usize];
            // What was loaded counts as added, but is not new.
            let loaded = obstacle.is_added() && !mirror.added.contains(&entity);
            Some((
                order.copied(),
                Found { entity, obstacle: obstacle.into_inner(), motion, loaded },
            ))
        })
        .collect();
    found.sort_unstable_by_key(|(order, found)| (*order, found.entity));
    let found: Vec<Found<'_>> = found.into_iter().map(|(_, found)| found).collect();
    let disturbed = mirror.obstacles.replace(&found);
    wake_beside(mirror, &disturbed);
}

fn dynamics(world: &mut World, mirror: &mut Mirror, time: &StepTime, doomed: &mut Vec<Entity>) {
    world.resource_scope(|world, mut types: Mut<ConstraintTypes>| {
        let targets = core::mem::take(&mut world.resource_mut::<Targets>().0);
        for (index, kind) in types.dynamic.iter_mut().enumerate() {
            kind.gather(world, mirror, &targets, time, index, doomed);
        }
        world.resource_mut::<Targets>().0 = targets;
    });
    let Mirror { dynamics, islands, island_of, targets, .. } = mirror;
    for (slots, target) in dynamics.iter().flat_map(|set| set.participants()) {
        let moving = target.is_some_and(|t| targets[t as usize].start != targets[t as usize].end);
        for slot in slots.iter().flatten() {
            let island = &mut islands[island_of[*slot as usize] as usize];
            island.touched = true;
            island.joined = true;
            island.wake |= moving;
        }
    }
}
