//! A hash of all particle states, for comparing runs bit by bit.

use crate::{
    math::hash::StateHasher,
    particle::{BuildOrder, OrientedParticle, Particle, SolverState},
};
use bevy::prelude::*;

/// Hash of the state of all particles, in order of creation: equal for equal bits.
pub fn state_hash(world: &mut World) -> u64 {
    let mut query =
        world.query::<(&BuildOrder, &Particle, &SolverState, Option<&OrientedParticle>)>();
    let mut states: Vec<_> = query.iter(world).collect();
    states.sort_unstable_by_key(|(order, ..)| **order);
    let mut hasher = StateHasher::default();
    for (_, particle, state, oriented) in states {
        hasher.write_vec3(particle.position);
        hasher.write_vec3(state.remainder);
        hasher.write_vec3(particle.velocity);
        if let Some(oriented) = oriented {
            hasher.write_quat(oriented.rotation);
            hasher.write_vec3(oriented.angular_velocity);
        }
    }
    hasher.finish()
}
