//! Questions of game code: which particle is nearest, which one does a ray hit.

use super::settings::{BodySettings, SolverSettings};
use crate::particle::{OrientedParticle, Particle, ParticleOf};
use bevy::{ecs::system::SystemParam, math::Ray3d, prelude::*};

/// Asks for particles by place. Each question looks at every particle.
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_pliant::prelude::*;
/// fn what_is_here(particles: ParticleFinder) {
///     if let Some(found) = particles.nearest(Vec3::ZERO, 0.5) {
///         info!("{} is {} m away", found.particle, found.distance);
///     }
/// }
/// ```
#[derive(SystemParam)]
pub struct ParticleFinder<'w, 's> {
    particles: Query<
        'w,
        's,
        (Entity, &'static Particle, Option<&'static OrientedParticle>, Option<&'static ParticleOf>),
    >,
    bodies: Query<'w, 's, &'static BodySettings>,
    settings: Option<Res<'w, SolverSettings>>,
}

/// A particle that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundParticle {
    /// The particle.
    pub particle: Entity,
    /// Its body.
    pub body: Option<Entity>,
    /// From the asked point to its centre, or along the ray to its surface (m).
    pub distance: f32,
    /// Its centre, or where the ray meets it (m, world).
    pub point: Vec3,
}

impl ParticleFinder<'_, '_> {
    /// The particle whose centre is nearest to `point` (m, world) and within `reach` m.
    pub fn nearest(&self, point: Vec3, reach: f32) -> Option<FoundParticle> {
        self.particles
            .iter()
            .map(|(particle, p, _, body)| FoundParticle {
                particle,
                body: body.map(|b| b.0),
                distance: p.position.distance(point),
                point: p.position,
            })
            .filter(|found| found.distance <= reach)
            .min_by(|a, b| a.distance.total_cmp(&b.distance).then(a.particle.cmp(&b.particle)))
    }

    /// The first particle that `ray` meets within `reach` m, each a ball of its radius (the greatest
    /// semi-axis of an oriented particle), and of `margin` m more.
    pub fn cast_ray(&self, ray: Ray3d, reach: f32, margin: f32) -> Option<FoundParticle> {
        self.particles
            .iter()
            .filter_map(|(particle, p, oriented, body)| {
                let radius = self.radius(oriented, body) + margin;
                let to_centre = p.position - ray.origin;
                let along = to_centre.dot(*ray.direction);
                let beside = to_centre.length_squared() - along * along;
                let half_chord = (radius * radius - beside).max(0.0).sqrt();
                let hits = beside <= radius * radius && along + half_chord >= 0.0;
                let distance = (along - half_chord).max(0.0);
                (hits && distance <= reach).then(|| FoundParticle {
                    particle,
                    body: body.map(|b| b.0),
                    distance,
                    point: ray.get_point(distance),
                })
            })
            .min_by(|a, b| a.distance.total_cmp(&b.distance).then(a.particle.cmp(&b.particle)))
    }

    fn radius(&self, oriented: Option<&OrientedParticle>, body: Option<&ParticleOf>) -> f32 {
        let world = self.settings.as_ref().map_or(0.0, |s| s.particle_radius);
        match oriented {
            Some(oriented) => oriented.radii.max_element(),
            None => body.and_then(|b| self.bodies.get(b.0).ok()?.radius).unwrap_or(world),
        }
    }
}
