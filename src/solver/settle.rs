//! Settling: lets a body drape before anyone sees it.

use super::{
    gather::gather,
    mirror::{Activity, Mirror, split_position},
    schedule::run_substeps,
    settings::{SolverSettings, StepTime},
    soft_contact::find_neighbours,
    target::{TargetPose, sample_targets},
};
use crate::particle::{Particle, Particles, SolverState};
use bevy::{
    ecs::entity::EntityHashSet,
    math::{Vec4, ops},
    prelude::*,
};

/// Lets the solver run this many ticks on a body, strongly damped and at once, before it shows. Put it
/// beside the recipe; it is removed when done.
///
/// The frame that builds the body pays for those ticks. Nothing else moves meanwhile.
#[derive(Component, Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
pub struct Settle(pub u32);

/// Damping while a body settles (1/s).
const SETTLE_DAMPING: f32 = 8.0;

/// More ticks than any body needs; what is above counts as this.
const MAX_SETTLE_TICKS: u32 = 10_000;

/// Settles the bodies that were built and ask for it.
pub(super) fn settle(
    world: &mut World,
    mut query: Local<Option<QueryState<(Entity, &'static Settle), With<Particles>>>>,
) {
    let query = query.get_or_insert_with(|| world.query_filtered());
    let bodies: Vec<(Entity, u32)> = query.iter(world).map(|(e, s)| (e, s.0)).collect();
    if bodies.is_empty() {
        return;
    }
    let ticks = bodies.iter().map(|(_, ticks)| *ticks).max().unwrap_or(0).min(MAX_SETTLE_TICKS);
    let now = *world.resource::<StepTime>();
    let tick = if now.tick > 0.0 {
        now.tick
    } else {
        world.get_resource::<Time<Fixed>>().map_or(1.0 / 64.0, |t| t.timestep().as_secs_f32())
    };
    let substeps = world.resource::<SolverSettings>().substeps();
    *world.resource_mut::<StepTime>() =
        StepTime { tick, h: tick / substeps as f32, substeps, substep: 0, iteration: 0 };
    let before = Before::of(world);
    let gathered = world.run_system_cached(sample_targets).and(world.run_system_cached(gather));
    if gathered.is_ok() {
        for done in 0..ticks {
            let unsettled =
                |body: Entity| bodies.iter().any(|(b, ticks)| *b == body && *ticks > done);
            prepare(&mut world.resource_mut::<Mirror>(), tick / substeps as f32, unsettled);
            let time = *world.resource::<StepTime>();
            find_neighbours(&mut world.resource_mut::<Mirror>(), &time);
            run_substeps(world);
            end_tick(&mut world.resource_mut::<Mirror>());
        }
        let settled = |body: Entity| bodies.iter().any(|(b, _)| *b == body);
        write_back(world, settled);
    }
    before.restore(world);
    for (body, _) in bodies {
        if let Ok(mut body) = world.get_entity_mut(body) {
            body.remove::<Settle>();
        }
    }
    *world.resource_mut::<StepTime>() = now;
}

/// What the tick that is to come must find as it was.
struct Before {
    targets: Vec<(Entity, TargetPose)>,
    wake: Vec<bool>,
    added: EntityHashSet,
}

impl Before {
    fn of(world: &mut World) -> Self {
        let targets = world.query::<(Entity, &TargetPose)>();
        let targets = { targets }.iter(world).map(|(e, t)| (e, *t)).collect();
        let mirror = world.resource::<Mirror>();
        let wake = mirror.islands.iter().map(|island| island.wake).collect();
        Self { targets, wake, added: mirror.added.clone() }
    }

    fn restore(self, world: &mut World) {
        for (entity, target) in self.targets {
            if let Some(mut now) = world.get_mut::<TargetPose>(entity) {
                *now = target;
            }
        }
        let mut mirror = world.resource_mut::<Mirror>();
        mirror.added = self.added;
        for (island, wake) in mirror.islands.iter_mut().zip(self.wake) {
            island.wake |= wake;
        }
    }
}

/// Lets only the islands of unsettled bodies move, and damps them.
fn prepare(mirror: &mut Mirror, h: f32, unsettled: impl Fn(Entity) -> bool) {
    let factor = ops::exp(-SETTLE_DAMPING * h);
    let Mirror { islands, bodies, damping, .. } = mirror;
    for island in islands {
        island.carried = false;
        let mut entities = island.bodies.iter().filter_map(|b| bodies[*b as usize].entity);
        if entities.any(&unsettled) && matches!(island.activity, Activity::Awake | Activity::Asleep)
        {
            island.activity = Activity::Awake;
            damping[island.slots.clone()].fill(factor);
        } else if island.activity != Activity::Faulty {
            island.activity = Activity::Waiting;
        }
    }
}

/// Folds the tick's change into the velocity.
fn end_tick(mirror: &mut Mirror) {
    let Mirror { velocity, velocity_change, .. } = mirror;
    for (velocity, change) in velocity.iter_mut().zip(velocity_change) {
        *velocity += core::mem::take(change);
    }
}

/// Stores where the settled bodies came to rest.
fn write_back(world: &mut World, settled: impl Fn(Entity) -> bool) {
    world.resource_scope(|world, mut mirror: Mut<Mirror>| {
        let mirror = &mut *mirror;
        for body in &mirror.bodies {
            if !body.entity.is_some_and(&settled) {
                continue;
            }
            for &slot in &body.slots {
                let slot = slot as usize;
                let island = &mirror.islands[mirror.island_of[slot] as usize];
                let local = mirror.position[slot].truncate();
                if !local.is_finite() {
                    continue;
                }
                let Ok(mut entity) = world.get_entity_mut(mirror.entities[slot]) else { continue };
                let (position, remainder) = split_position(local, island.origin);
                if let Some(mut particle) = entity.get_mut::<Particle>() {
                    particle.position = position;
                    particle.velocity = Vec3::ZERO;
                }
                if let Some(mut state) = entity.get_mut::<SolverState>() {
                    state.remainder = remainder;
                    state.still_ticks = 0;
                    state.written = Some(position);
                }
                mirror.previous[slot] = position;
            }
        }
        mirror.velocity.fill(Vec4::ZERO);
        mirror.fresh = true;
    });
}
