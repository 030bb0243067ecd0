//! A plan: what a recipe will spawn, as plain data.

use super::error::{BuildError, positive};
use crate::{constraint::BendingConstraint, obstacle::Friction};
use bevy::{platform::collections::HashMap, prelude::*};

/// More particles than this in one body are refused.
pub(super) const MAX_PARTICLES: u64 = 4_000_000;

/// Particles by index, and the constraints between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyPlan {
    /// Rest positions (m, in the body's frame, before its scale).
    pub rest: Vec<Vec3>,
    /// Masses (kg).
    pub mass: Vec<f32>,
    /// Particles and rest length (m, scaled).
    pub distances: Vec<([u32; 2], f32)>,
    /// Particles and rest angle (rad).
    pub bendings: Vec<([u32; 4], f32)>,
    /// Particle, pin, greatest distance (m, scaled).
    pub tethers: Vec<([u32; 2], f32)>,
    /// Particles pinned to the body.
    pub pins: Vec<u32>,
    /// The surface, if it has one.
    pub triangles: Vec<[u32; 3]>,
    /// What meets the air as a line, if anything does.
    pub segments: Vec<[u32; 2]>,
}

/// What a live body can change without being built anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Material {
    pub compliance: f32,
    pub bending_compliance: f32,
    pub damping: Option<f32>,
    pub friction: Friction,
    pub radius: Option<f32>,
}

/// Checks a number of particles.
pub(super) fn check_count(what: &'static str, count: u64, least: u64) -> Result<(), BuildError> {
    if count < least {
        return Err(BuildError::TooSmall { what, count, least });
    }
    if count > MAX_PARTICLES {
        return Err(BuildError::TooLarge { what, count, most: MAX_PARTICLES });
    }
    Ok(())
}

/// Checks pins against the number of particles, and drops repetitions.
pub(super) fn check_pins(mut pins: Vec<u32>, count: u64) -> Result<Vec<u32>, BuildError> {
    if let Some(&index) = pins.iter().find(|p| u64::from(**p) >= count) {
        return Err(BuildError::NoSuchPin { index, count });
    }
    pins.sort_unstable();
    pins.dedup();
    Ok(pins)
}

impl BodyPlan {
    /// Adds a distance constraint at the scaled rest length.
    pub fn link(&mut self, a: u32, b: u32, scale: Vec3) {
        let length = (scale * (self.rest[a as usize] - self.rest[b as usize])).length();
        self.distances.push(([a, b], length));
    }

    /// Adds a bending constraint across each edge that two of the triangles share, in order of the
    /// triangles.
    pub fn bend(&mut self, triangles: &[[u32; 3]], scale: Vec3) {
        let mut open: HashMap<[u32; 2], u32> = HashMap::default();
        for &[a, b, c] in triangles {
            for [p, q, wing] in [[a, b, c], [b, c, a], [c, a, b]] {
                let edge = [p.min(q), p.max(q)];
                let Some(other) = open.remove(&edge) else {
                    open.insert(edge, wing);
                    continue;
                };
                // (p0, p1, p2) is the triangle that runs p → q, so the other runs q → p.
                let particles = [p, q, wing, other];
                let points = particles.map(|i| scale * self.rest[i as usize]);
                self.bendings.push((particles, BendingConstraint::angle(points)));
            }
        }
    }

    /// Spreads `total` kg by the area of the triangles around each particle.
    pub fn mass_by_area(
        &mut self,
        triangles: &[[u32; 3]],
        scale: Vec3,
        total: f32,
    ) -> Result<(), BuildError> {
        let mut share = vec![0.0f64; self.rest.len()];
        for triangle in triangles {
            let [a, b, c] = triangle.map(|i| scale * self.rest[i as usize]);
            let area = f64::from(0.5 * (b - a).cross(c - a).length());
            triangle.iter().for_each(|i| share[*i as usize] += area / 3.0);
        }
        let sum: f64 = share.iter().sum();
        positive("the body's area", sum as f32)?;
        self.mass = share.into_iter().map(|s| (s / sum * f64::from(total)) as f32).collect();
        if let Some(bad) = self.mass.iter().find(|m| m.recip().is_infinite() || **m <= 0.0) {
            return Err(BuildError::NotPositive { field: "the mass of a particle", value: *bad });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_square_of_two_triangles_bends_at_its_diagonal() {
        let mut plan = BodyPlan {
            rest: vec![Vec3::ZERO, Vec3::X, Vec3::NEG_Y, Vec3::new(1.0, -1.0, 0.0)],
            ..default()
        };
        plan.bend(&[[0, 2, 1], [1, 2, 3]], Vec3::ONE);
        assert_eq!(plan.bendings.len(), 1);
        let (particles, angle) = plan.bendings[0];
        assert!(angle.abs() < 1e-6);
        assert_eq!([particles[0].min(particles[1]), particles[0].max(particles[1])], [1, 2]);
    }

    #[test]
    fn masses_sum_up_and_corners_weigh_less() {
        let mut plan = BodyPlan {
            rest: vec![Vec3::ZERO, Vec3::X, Vec3::NEG_Y, Vec3::new(1.0, -1.0, 0.0)],
            ..default()
        };
        plan.mass_by_area(&[[0, 2, 1], [1, 2, 3]], Vec3::ONE, 3.0).unwrap();
        assert!((plan.mass.iter().sum::<f32>() - 3.0).abs() < 1e-6);
        assert!((plan.mass[1] - 2.0 * plan.mass[0]).abs() < 1e-6);
    }
}
