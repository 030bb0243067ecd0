//! Write-back: from mirror to ECS, at the end of each tick.

use super::{
    contact::report_contacts,
    diagnostics::{SolverDiagnostics, Stage},
    mirror::{Activity, KinematicPath, Mirror, split_position},
    project::times_by_type,
    settings::{SolverClock, StepTime},
    types::ConstraintTypes,
};
use crate::particle::{OrientedParticle, Particle, SolverState};
use bevy::{ecs::world::CommandQueue, prelude::*};

type ParticleQuery = (&'static mut Particle, &'static mut SolverState);

/// Writes positions, velocities and rotations of what was simulated.
pub(super) fn write_back(
    world: &mut World,
    mut queries: Local<
        Option<(QueryState<ParticleQuery>, QueryState<&'static mut OrientedParticle>)>,
    >,
) {
    let started = SolverDiagnostics::start();
    let time = *world.resource::<StepTime>();
    let mut broken = CommandQueue::default();
    let (particles, oriented) = queries.get_or_insert_with(|| (world.query(), world.query()));
    world.resource_scope(|world, mut mirror: Mut<Mirror>| {
        let mirror = &mut *mirror;
        write_particles(world, mirror, particles);
        write_held(world, mirror, particles, &time);
        for state in &mirror.oriented {
            let Ok(mut oriented) = oriented.get_mut(world, state.entity) else { continue };
            if simulated(mirror, state.slot) {
                oriented.rotation = state.rotation;
                oriented.angular_velocity = state.angular_velocity;
            } else if !(oriented.rotation.is_finite() && oriented.angular_velocity.is_finite()) {
                // The body is frozen at its last finite pose.
                oriented.rotation = state.previous_rotation;
                oriented.angular_velocity = Vec3::ZERO;
            }
        }
        world.resource_scope(|world, mut types: Mut<ConstraintTypes>| {
            for (index, kind) in types.compiled.iter_mut().enumerate() {
                kind.store(world, mirror, index);
            }
            for (index, kind) in types.dynamic.iter_mut().enumerate() {
                kind.finish(world, mirror, index, &mut broken);
            }
            let times = times_by_type(mirror, &types);
            world.resource_mut::<SolverDiagnostics>().project_times = times;
        });
        let mut clock = world.resource_mut::<SolverClock>();
        clock.ticks += 1;
        clock.elapsed += f64::from(time.tick);
        count(world, mirror);
    });
    let mut contacts = CommandQueue::default();
    world.resource_scope(|world, mut mirror: Mut<Mirror>| {
        report_contacts(&mut mirror, &mut Commands::new(&mut contacts, world));
    });
    // Only now, since observers of it may want what was taken out of the world.
    broken.apply(world);
    contacts.apply(world);
    world.resource_mut::<SolverDiagnostics>().stop(Stage::WriteBack, started);
}

fn simulated(mirror: &Mirror, slot: u32) -> bool {
    mirror.islands[mirror.island_of[slot as usize] as usize].activity == Activity::Awake
}

fn write_particles(world: &mut World, mirror: &mut Mirror, query: &mut QueryState<ParticleQuery>) {
    let Mirror { position, velocity, velocity_change, islands, island_of, still, previous, .. } =
        mirror;
    let mut query = query.query_mut(world);
    let Ok(tables) = query.contiguous_iter_mut() else { return };
    for (mut particles, mut states) in tables {
        let particles = particles.bypass_change_detection().iter_mut();
        for (particle, state) in particles.zip(states.bypass_change_detection()) {
            let Some(slot) = (state.slot_plus_one as usize).checked_sub(1) else { continue };
            let Some(&island) = island_of.get(slot) else { continue };
            let island = &islands[island as usize];
            match island.activity {
                Activity::Awake => {
                    let local = position[slot].truncate();
                    (particle.position, state.remainder) = split_position(local, island.origin);
                    particle.velocity = (velocity[slot] + velocity_change[slot]).truncate();
                    (state.still_position, state.still_ticks) = still[slot];
                    state.written = Some(particle.position);
                }
                Activity::Faulty => {
                    if !particle.position.is_finite() {
                        particle.position = previous[slot];
                        state.remainder = Vec3::ZERO;
                    }
                    particle.velocity = Vec3::ZERO;
                    state.written = Some(particle.position);
                }
                Activity::Asleep | Activity::Disabled | Activity::Waiting => {}
            }
        }
    }
}

/// The velocity of held particles is that of what holds them.
fn write_held(
    world: &mut World,
    mirror: &Mirror,
    query: &mut QueryState<ParticleQuery>,
    time: &StepTime,
) {
    for held in mirror.kinematic.iter().filter(|k| simulated(mirror, k.slot)) {
        let moved = match held.path {
            KinematicPath::Line { start, end } => end - start,
            KinematicPath::Anchor { target, offset } => {
                let motion = &mirror.targets[target as usize];
                (motion.end.transform_point(offset) - motion.start.transform_point(offset))
                    .as_vec3()
            }
        };
        let velocity = Some(moved / time.tick).filter(|v| v.is_finite()).unwrap_or_default();
        if let Ok((mut particle, _)) = query.get_mut(world, mirror.entities[held.slot as usize]) {
            particle.bypass_change_detection().velocity = velocity;
        }
    }
}

fn count(world: &mut World, mirror: &Mirror) {
    let mut diagnostics = world.resource_mut::<SolverDiagnostics>();
    let dynamic: usize = mirror.dynamics.iter().map(|set| set.len()).sum();
    diagnostics.particles = mirror.particle_count();
    diagnostics.constraints = mirror.constraints + dynamic;
    diagnostics.islands = mirror.islands.len();
    diagnostics.awake_islands =
        mirror.islands.iter().filter(|i| i.activity == Activity::Awake).count();
    let mut awake = vec![false; mirror.bodies.len()];
    for island in mirror.islands.iter().filter(|i| i.activity == Activity::Awake) {
        island.bodies.iter().for_each(|body| awake[*body as usize] = true);
    }
    let real = || mirror.bodies.iter().zip(&awake).filter(|(body, _)| body.entity.is_some());
    diagnostics.bodies = real().count();
    diagnostics.awake_bodies = real().filter(|(_, awake)| **awake).count();
    diagnostics.soft_contacts = super::soft_contact::touching(mirror);
    diagnostics.contacts = mirror.contacts.iter().map(|c| c.count).sum();
    diagnostics.constraints_by_type.clone_from(&mirror.constraint_counts);
}
