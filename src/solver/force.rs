//! Impulses: pushes that act at once. For steady ones see [`AppliedForce`](super::AppliedForce).

use crate::{
    math::ellipsoid,
    particle::{OrientedParticle, Particle, ParticleOf, Particles, Pinned, PinnedTo, Planar},
};
use bevy::{ecs::system::SystemParam, prelude::*};

/// Changes the momentum of a body, shared among its free particles by mass, or of one particle.
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_pliant::prelude::*;
/// fn kick(mut commands: Commands, cloth: Single<Entity, With<Cloth>>) {
///     commands.trigger(ApplyImpulse { entity: *cloth, impulse: Vec3::Z * 2.0 });
/// }
/// ```
#[derive(EntityEvent, Clone, Copy, Debug, PartialEq)]
pub struct ApplyImpulse {
    /// A body or a particle.
    pub entity: Entity,
    /// The impulse on the whole (N s, world); its effect does not depend on the number of particles.
    pub impulse: Vec3,
}

/// Pushes all free particles near a point away from it: an explosion.
///
/// The magnitudes of the pushes sum up to `impulse`, however many particles share it; a particle's part
/// is its mass times (1 − distance/radius).
#[derive(Event, Clone, Copy, Debug, PartialEq)]
pub struct ApplyRadialImpulse {
    /// The centre (m, world).
    pub centre: Vec3,
    /// Beyond this distance nothing is pushed (m).
    pub radius: f32,
    /// Sum of the magnitudes (N s); negative pulls inward.
    pub impulse: f32,
}

/// The particles that can be pushed.
#[derive(SystemParam)]
pub(super) struct FreeParticles<'w, 's> {
    particles: Query<'w, 's, (Entity, &'static mut Particle, Has<Pinned>, Has<PinnedTo>)>,
    bodies: Query<'w, 's, &'static Particles>,
}

fn is_free(particle: &Particle, pinned: bool, pinned_to: bool) -> bool {
    !pinned && !pinned_to && particle.inverse_mass() > 0.0
}

/// Adds to a velocity, unless that would leave the numbers.
fn push(particle: &mut Particle, change: Vec3) {
    let velocity = particle.velocity + change;
    if velocity.is_finite() {
        particle.velocity = velocity;
    } else {
        warn_once!("an impulse is too large for the mass that it meets: it is ignored");
    }
}

/// Carries out [`ApplyImpulse`].
pub(super) fn on_impulse(event: On<ApplyImpulse>, mut free: FreeParticles) {
    let ApplyImpulse { entity, impulse } = *event;
    if !impulse.is_finite() {
        warn!("ApplyImpulse on {entity}: {impulse} is not finite, so nothing is pushed");
        return;
    }
    let members: Vec<Entity> =
        free.bodies.get(entity).map_or_else(|_| vec![entity], |members| members.to_vec());
    let mass: f32 = members
        .iter()
        .filter_map(|member| free.particles.get(*member).ok())
        .filter(|(_, p, pinned, to)| is_free(p, *pinned, *to))
        .map(|(_, p, ..)| p.mass)
        .sum();
    if mass <= 0.0 {
        return;
    }
    for member in members {
        if let Ok((_, mut particle, pinned, to)) = free.particles.get_mut(member)
            && is_free(&particle, pinned, to)
        {
            push(&mut particle, impulse / mass);
        }
    }
}

/// Carries out [`ApplyRadialImpulse`].
pub(super) fn on_radial_impulse(event: On<ApplyRadialImpulse>, mut free: FreeParticles) {
    let ApplyRadialImpulse { centre, radius, impulse } = *event;
    if !(centre.is_finite() && radius > 0.0 && radius.is_finite() && impulse.is_finite()) {
        warn!(
            "ApplyRadialImpulse: centre, radius and impulse must be finite and the radius above 0"
        );
        return;
    }
    let share = |particle: &Particle| {
        let distance = particle.position.distance(centre);
        (distance < radius).then(|| particle.mass * (1.0 - distance / radius))
    };
    let total: f32 = free
        .particles
        .iter()
        .filter(|(_, p, pinned, to)| is_free(p, *pinned, *to))
        .filter_map(|(_, p, ..)| share(p))
        .sum();
    if total <= 0.0 {
        return;
    }
    for (_, mut particle, pinned, to) in &mut free.particles {
        if !is_free(&particle, pinned, to) {
            continue;
        }
        let Some(share) = share(&particle) else { continue };
        let away = (particle.position - centre).normalize_or(Vec3::Y);
        let change = away * (impulse * share / total / particle.mass);
        push(&mut particle, change);
    }
}

/// An angular impulse on one oriented particle.
#[derive(EntityEvent, Clone, Copy, Debug, PartialEq)]
pub struct ApplyAngularImpulse {
    /// An oriented particle.
    pub entity: Entity,
    /// The impulse (N m s, world).
    pub impulse: Vec3,
}

/// Carries out [`ApplyAngularImpulse`].
pub(super) fn on_angular_impulse(
    event: On<ApplyAngularImpulse>,
    mut particles: Query<(&mut OrientedParticle, &Particle, Option<&ParticleOf>)>,
    planar: Query<(), With<Planar>>,
) {
    let ApplyAngularImpulse { entity, impulse } = *event;
    let Ok((mut oriented, particle, body)) = particles.get_mut(entity) else {
        warn!("ApplyAngularImpulse: {entity} is no oriented particle");
        return;
    };
    let is_planar = body.is_some_and(|body| planar.contains(body.0));
    let (inertia, impulse) = if is_planar {
        let j = ellipsoid::planar_inertia(particle.mass, oriented.radii);
        (Vec3::splat(j), Vec3::Z * impulse.z)
    } else {
        (oriented.inertia(particle.mass), impulse)
    };
    let local = oriented.rotation.inverse() * impulse;
    let change = Vec3::from_array(core::array::from_fn(|i| {
        if inertia[i] > 0.0 { local[i] / inertia[i] } else { 0.0 }
    }));
    let change = oriented.rotation * change;
    if change.is_finite() {
        oriented.angular_velocity += change;
    } else {
        warn!("ApplyAngularImpulse on {entity}: {impulse} is not finite, so nothing is pushed");
    }
}
