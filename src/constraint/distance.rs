//! Distance: keeps two particles at their rest length.
//!
//! ```text
//!   x1 o────────────o x2          C = |x1 − x2| − d
//!         d                       ∇1C = n,  ∇2C = −n,  n = (x1 − x2)/|x1 − x2|
//! ```
//!
//! \[MHHR06\] section 3.3, \[BMM17\] section 5.1. At length 0 there is no direction: the constraint rests.
//! Tension-only keeps C ≤ 0 and lets the particles come nearer, as a thread does.

use super::{
    Constraint, Evaluation, LaneConstraint, LaneForm, LaneParticles, LaneSettings, Sides, Soft,
};
use crate::math::lane::{Vec3x4, divide_or_zero, sqrt};
use bevy::{math::Mat4, prelude::*};

/// Keeps two particles at a distance.
#[derive(Component, Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Component, Debug, PartialEq, Clone)]
#[component(on_add = super::note_added, on_remove = super::note_removed)]
pub struct DistanceConstraint {
    /// The two particles.
    #[entities]
    pub particles: [Entity; 2],
    /// Rest length d (m), 0 or more.
    pub rest_length: f32,
    /// Compliance α (m/N); 0 is rigid. Default: 0.
    pub compliance: f32,
    /// Rayleigh damping β (N s/m); it acts only where the compliance is above 0. Default: 0.
    pub damping: f32,
    /// Whether only stretch is corrected. Default: false.
    pub tension_only: bool,
}

impl DistanceConstraint {
    /// A rigid, two-sided constraint of this rest length (m).
    pub const fn new(particles: [Entity; 2], rest_length: f32) -> Self {
        Self { particles, rest_length, compliance: 0.0, damping: 0.0, tension_only: false }
    }

    /// With this compliance (m/N).
    pub const fn with_compliance(mut self, compliance: f32) -> Self {
        self.compliance = compliance;
        self
    }

    /// With this Rayleigh damping (N s/m).
    pub const fn with_damping(mut self, damping: f32) -> Self {
        self.damping = damping;
        self
    }

    /// Corrects stretch only.
    pub const fn tension_only(mut self) -> Self {
        self.tension_only = true;
        self
    }
}

impl Constraint for DistanceConstraint {
    type Form = LaneForm<2>;
}

impl LaneConstraint<2> for DistanceConstraint {
    /// Rest lengths.
    type Lanes = Vec4;

    fn particles(&self) -> [Entity; 2] {
        self.particles
    }

    fn settings(&self) -> LaneSettings {
        LaneSettings {
            compliance: self.compliance,
            damping: self.damping,
            sides: if self.tension_only { Sides::AtMost } else { Sides::Both },
        }
    }

    fn is_valid(&self) -> bool {
        self.rest_length.is_finite() && self.rest_length >= 0.0
    }

    fn pack(four: [Option<&Self>; 4]) -> Vec4 {
        Vec4::from_array(four.map(|c| c.map_or(0.0, |c| c.rest_length)))
    }

    fn evaluate(rest_length: &Vec4, x: &[Vec3x4; 2]) -> Evaluation<2> {
        let difference = x[0] - x[1];
        let length = sqrt(difference.length_squared());
        let normal = difference * divide_or_zero(Vec4::ONE, length);
        Evaluation { value: length - *rest_length, gradients: [normal, -normal] }
    }

    /// As the general kernel does, but transposes only the squared differences.
    #[inline(always)]
    fn project(
        rest_length: &mut Vec4,
        soft: Option<&mut Soft>,
        particles: &mut LaneParticles<'_, 2>,
    ) {
        let (a, b) = (particles.rows(0), particles.rows(1));
        let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]];
        let squares =
            Mat4::from_cols(d[0] * d[0], d[1] * d[1], d[2] * d[2], d[3] * d[3]).transpose();
        let squared = squares.x_axis + squares.y_axis + squares.z_axis;
        let length = sqrt(squared);
        let (wa, wb) = (particles.weight(0), particles.weight(1));
        // Δλ/length: what a difference is multiplied with, before the inverse mass. The division does
        // not wait for the root.
        let scale = match soft {
            None => {
                (*rest_length - length) * length * divide_or_zero(Vec4::ONE, (wa + wb) * squared)
            }
            Some(soft) => {
                let inverse = divide_or_zero(Vec4::ONE, length);
                let drift = if soft.damping == Vec4::ZERO {
                    Vec4::ZERO
                } else {
                    let moved = particles.movement(0) - particles.movement(1);
                    Vec3x4::from_rows(d).dot(moved) * inverse
                };
                let weight = Vec4::select(length.cmpgt(Vec4::ZERO), wa + wb, Vec4::ZERO);
                soft.advance(length - *rest_length, weight, drift) * inverse
            }
        };
        let (sa, sb) = ((wa * scale).to_array(), (wb * scale).to_array());
        for lane in 0..4 {
            particles.put(0, lane, a[lane] + d[lane] * sa[lane]);
            particles.put(1, lane, b[lane] - d[lane] * sb[lane]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::lane::testing::{evaluate_one, project_one, soft},
        *,
    };

    fn rigid(d: f32) -> DistanceConstraint {
        DistanceConstraint::new([Entity::PLACEHOLDER; 2], d)
    }

    #[test]
    fn one_projection_restores_the_length_and_keeps_the_centre_of_mass() {
        let (a, b) = (Vec3::new(0.3, 0.0, -1.0), Vec3::new(1.0, 2.0, 0.5));
        let (wa, wb) = (2.0, 0.5);
        let [c, d] = project_one(&rigid(1.5), [a, b], [wa, wb], None);
        assert!((c.distance(d) - 1.5).abs() < 1e-6);
        let centre = |p: Vec3, q: Vec3| (p / wa + q / wb) / (1.0 / wa + 1.0 / wb);
        assert!(centre(c, d).distance(centre(a, b)) < 1e-6);
    }

    #[test]
    fn rest_is_a_fixed_point_and_coincident_particles_rest() {
        let points = [Vec3::ZERO, Vec3::X * 2.0];
        assert_eq!(project_one(&rigid(2.0), points, [1.0, 1.0], None), points);
        let same = [Vec3::ONE; 2];
        assert_eq!(project_one(&rigid(2.0), same, [1.0, 1.0], None), same);
        assert_eq!(project_one(&rigid(2.0), same, [1.0, 1.0], Some(&mut soft(0.1))), same);
    }

    #[test]
    fn a_held_pair_rests() {
        let points = [Vec3::ZERO, Vec3::X];
        assert_eq!(project_one(&rigid(2.0), points, [0.0, 0.0], None), points);
    }

    #[test]
    fn tension_only_lets_particles_come_nearer() {
        let thread = rigid(1.0).tension_only();
        let mut settings = soft(0.0);
        settings.max = Vec4::ZERO;
        let near = [Vec3::ZERO, Vec3::X * 0.5];
        assert_eq!(project_one(&thread, near, [1.0, 1.0], Some(&mut settings)), near);
        let [a, b] =
            project_one(&thread, [Vec3::ZERO, Vec3::X * 3.0], [1.0, 1.0], Some(&mut settings));
        assert!((a.distance(b) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_soft_projection_balances_elastic_and_inertial_force() {
        // Δλ = −C/(w + α̃): C = 1, w = 2, α̃ = 3 gives −1/5, so each end moves by 1/5.
        let mut settings = soft(3.0);
        let [a, b] =
            project_one(&rigid(1.0), [Vec3::ZERO, Vec3::X * 2.0], [1.0, 1.0], Some(&mut settings));
        assert!((a.x - 0.2).abs() < 1e-6 && (b.x - 1.8).abs() < 1e-6);
        assert!((settings.multiplier.x + 0.2).abs() < 1e-6);
    }

    #[test]
    fn the_fast_kernel_does_what_the_general_one_does() {
        let points = [Vec3::new(0.1, 0.2, 0.3), Vec3::new(-1.0, 0.4, 2.0)];
        let (value, gradients) = evaluate_one(&rigid(0.7), points);
        let expected =
            [points[0] - gradients[0] * value / 3.0, points[1] - 2.0 * gradients[1] * value / 3.0];
        let got = project_one(&rigid(0.7), points, [1.0, 2.0], None);
        for i in 0..2 {
            assert!(got[i].distance(expected[i]) < 1e-6);
        }
    }
}
