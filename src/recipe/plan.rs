//! A plan: what a recipe will spawn, as plain data.

use super::error::{BuildError, positive};
use crate::{
    constraint::{BendingConstraint, JointLimits},
    obstacle::Friction,
};
use bevy::{
    platform::{collections::HashMap, hash::FixedHasher},
    prelude::*,
};

/// More particles than this in one body are refused.
pub(super) const MAX_PARTICLES: u64 = 4_000_000;

/// Particles by index, and the constraints between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyPlan {
    /// Rest positions (m, in the body's frame, before its scale).
    pub rest: Vec<Vec3>,
    /// Orientations and sizes, if the particles turn.
    pub turns: Vec<PlannedTurn>,
    /// Names, if there are any.
    pub names: Vec<Option<String>>,
    /// Masses (kg).
    pub mass: Vec<f32>,
    /// Particles and rest length (m, scaled).
    pub distances: Vec<([u32; 2], f32)>,
    /// Particles and rest angle (rad).
    pub bendings: Vec<([u32; 4], f32)>,
    /// Particle, pin, greatest distance (m, scaled).
    pub tethers: Vec<([u32; 2], f32)>,
    /// Joints between particles that turn.
    pub joints: Vec<PlannedJoint>,
    /// Implicit groups that keep their rest shape, the centre first.
    pub groups: Vec<Vec<u32>>,
    /// Compliance of each group (m/N).
    pub group_compliance: f32,
    /// Particles pinned to the body.
    pub pins: Vec<u32>,
    /// The surface, if it has one.
    pub triangles: Vec<[u32; 3]>,
    /// What meets the air as a line, if anything does.
    pub segments: Vec<[u32; 2]>,
    /// Particles that no constraint joins though the surface does, and how far apart they are along it
    /// (m, scaled): for geodesic distances.
    pub shortcuts: Vec<([u32; 2], f32)>,
}

/// How a particle that turns is built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedTurn {
    /// In the body's frame, after its scale.
    pub rotation: Quat,
    /// Semi-axes (m, scaled).
    pub radii: Vec3,
}

/// A joint of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedJoint {
    pub particles: [u32; 2],
    /// Where it is (m, in the body's frame, scaled).
    pub point: Vec3,
    pub limits: JointLimits,
    /// Of the point (m/N).
    pub compliance: f32,
    /// Toward the rest angle (rad²/J).
    pub torsion_compliance: f32,
    /// Of the relative spin (1/s).
    pub spin_damping: f32,
}

/// What a live body can change without being built anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Material {
    pub compliance: f32,
    pub bending_compliance: f32,
    pub damping: Option<f32>,
    pub friction: Friction,
    pub radius: Option<f32>,
    pub self_contact: bool,
    pub soft_contact: bool,
}

impl Default for Material {
    fn default() -> Self {
        Self {
            compliance: 0.0,
            bending_compliance: BendingConstraint::DEFAULT_COMPLIANCE,
            damping: None,
            friction: Friction::DEFAULT,
            radius: None,
            self_contact: false,
            soft_contact: false,
        }
    }
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
    /// Where a particle is built in the body's frame (m, scaled), and its orientation.
    pub fn built_pose(&self, particle: u32, scale: Vec3) -> (Vec3, Quat) {
        let index = particle as usize;
        let rotation = self.turns.get(index).map_or(Quat::IDENTITY, |turn| turn.rotation);
        (scale * self.rest[index], rotation)
    }

    /// Adds a distance constraint at the scaled rest length.
    pub fn link(&mut self, a: u32, b: u32, scale: Vec3) {
        let length = (scale * (self.rest[a as usize] - self.rest[b as usize])).length();
        self.distances.push(([a, b], length));
    }

    /// Adds a distance constraint along each edge of the triangles, and a bending constraint across each
    /// edge that two of them share, in order of the triangles. Of an edge with more triangles each is
    /// joined to one other at most.
    pub fn link_and_bend(&mut self, triangles: &[[u32; 3]], scale: Vec3) {
        let (edges, hinges) = edges_and_hinges(triangles);
        edges.into_iter().for_each(|[p, q]| self.link(p, q, scale));
        self.bend_across(hinges, scale);
    }

    /// Adds the bending constraints alone.
    pub fn bend(&mut self, triangles: &[[u32; 3]], scale: Vec3) {
        self.bend_across(edges_and_hinges(triangles).1, scale);
    }

    fn bend_across(&mut self, hinges: Vec<[u32; 4]>, scale: Vec3) {
        let angle = |particles: [u32; 4]| {
            BendingConstraint::angle(particles.map(|i| scale * self.rest[i as usize]))
        };
        self.bendings.extend(hinges.into_iter().map(|particles| (particles, angle(particles))));
    }

    /// Adds a shortcut from wing to wing across each edge that bends: as far as they are apart when both
    /// triangles lie flat. Along the edges alone a way over the surface would zigzag.
    pub fn shorten(&mut self, scale: Vec3) {
        for &(particles, _) in &self.bendings {
            let points = particles.map(|i| scale * self.rest[i as usize]);
            if let Some(length) = unfolded(points) {
                self.shortcuts.push(([particles[2], particles[3]], length));
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
            let area = area(triangle.map(|i| scale * self.rest[i as usize]));
            triangle.iter().for_each(|i| share[*i as usize] += area / 3.0);
        }
        let sum: f64 = share.iter().sum();
        positive("the body's area", sum as f32)?;
        // A particle among slivers would weigh nothing, and be thrown about by its neighbours.
        let least = LEAST_SHARE * sum / share.len() as f64;
        share.iter_mut().for_each(|s| *s = s.max(least));
        let sum: f64 = share.iter().sum();
        self.mass = share.into_iter().map(|s| (s / sum * f64::from(total)) as f32).collect();
        if let Some(bad) = self.mass.iter().find(|m| m.recip().is_infinite() || **m <= 0.0) {
            return Err(BuildError::NotPositive { field: "the mass of a particle", value: *bad });
        }
        Ok(())
    }
}

/// The least part of the mean mass that a particle weighs.
pub(super) const LEAST_SHARE: f64 = 1e-3;

/// The area of a triangle (m²).
pub(super) fn area([a, b, c]: [Vec3; 3]) -> f64 {
    f64::from(0.5 * (b - a).cross(c - a).length())
}

/// The edges of the triangles, each once; and of those that two of them share the ends, then the wings,
/// as a bending constraint takes them. Both in order of the triangles.
fn edges_and_hinges(triangles: &[[u32; 3]]) -> (Vec<[u32; 2]>, Vec<[u32; 4]>) {
    /// Of an edge whose triangles so far are joined two and two.
    const NO_WING: u32 = u32::MAX;
    let count = triangles.len() * 3 / 2;
    // For each edge the wing of a triangle that waits for another.
    let mut open = HashMap::<u64, u32>::with_capacity_and_hasher(count, FixedHasher);
    let (mut edges, mut hinges) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for &[a, b, c] in triangles {
        for [p, q, wing] in [[a, b, c], [b, c, a], [c, a, b]] {
            let edge = u64::from(p.min(q)) << 32 | u64::from(p.max(q));
            let waiting = open.entry(edge).or_insert_with(|| {
                edges.push([p, q]);
                NO_WING
            });
            // (p0, p1, p2) is the triangle that runs p → q, so the other runs q → p.
            if *waiting != NO_WING && *waiting != wing {
                hinges.push([p, q, wing, *waiting]);
                *waiting = NO_WING;
            } else {
                *waiting = wing;
            }
        }
    }
    (edges, hinges)
}

/// How far the wings of a hinge are apart when its triangles lie flat (m), if the line between them
/// crosses the edge.
fn unfolded([p0, p1, p2, p3]: [Vec3; 4]) -> Option<f32> {
    let e = p1 - p0;
    let along = e.try_normalize()?;
    // Each wing's place along the edge, and its distance from it.
    let place = |p: Vec3| {
        let from = p - p0;
        let x = from.dot(along);
        (x, (from - along * x).length())
    };
    let ((x2, y2), (x3, y3)) = (place(p2), place(p3));
    let crossing = x2 + (x3 - x2) * y2 / (y2 + y3);
    let length = (x3 - x2).hypot(y2 + y3);
    ((0.0..=e.length()).contains(&crossing) && length.is_finite()).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wings_of_a_folded_square_are_a_diagonal_apart_along_it() {
        for angle in [0.0f32, 0.7, 2.0] {
            let folded = Vec3::new(angle.cos(), 0.0, angle.sin());
            let points = [Vec3::ZERO, Vec3::Y, Vec3::new(-1.0, 1.0, 0.0), folded];
            assert!((unfolded(points).unwrap() - 5f32.sqrt()).abs() < 1e-5);
        }
        // The straight line would leave the triangles.
        assert_eq!(
            unfolded([
                Vec3::ZERO,
                Vec3::Y,
                Vec3::new(-1.0, 3.0, 0.0),
                Vec3::X * 1.0 + Vec3::Y * 3.0
            ]),
            None
        );
    }

    #[test]
    fn edges_of_many_triangles_and_of_a_doubled_one_are_safe() {
        let mut plan = BodyPlan {
            rest: vec![Vec3::ZERO, Vec3::Y, Vec3::X, Vec3::NEG_X, Vec3::Z],
            ..default()
        };
        let fan = [[0, 1, 2], [1, 0, 3], [0, 1, 4], [2, 1, 0]];
        plan.link_and_bend(&fan, Vec3::ONE);
        assert_eq!(plan.distances.len(), 7);
        assert!(plan.bendings.iter().all(|(p, angle)| p[2] != p[3] && angle.is_finite()));
    }

    #[test]
    fn a_particle_of_slivers_still_weighs_something() {
        let mut plan = BodyPlan {
            rest: vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::new(0.5, -1e-6, 0.0)],
            ..default()
        };
        plan.mass_by_area(&[[0, 1, 2], [0, 3, 1]], Vec3::ONE, 1.0).unwrap();
        assert!((plan.mass.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!(plan.mass[3] > 2e-4, "{}", plan.mass[3]);
    }

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
