//! Dihedral bending: keeps the angle between two triangles that share an edge.
//!
//! ```text
//!          p2                 e  = p1 − p0
//!         /  \                n1 = (p2 − p0) × (p2 − p1)     u1 = n1/|n1|²
//!        / n1 \               n2 = (p3 − p1) × (p3 − p0)     u2 = n2/|n2|²
//!      p0──e──►p1             θ  = atan2((n1 × n2)·e/|e|, n1·n2)
//!        \ n2 /               C  = θ − θ₀, wrapped to ±π
//!         \  /
//!          p3
//!
//! ∇p2 = −|e| u1        ∇p0 = −[((p2 − p1)·e) u1 + ((p3 − p1)·e) u2]/|e|
//! ∇p3 = −|e| u2        ∇p1 = +[((p2 − p0)·e) u1 + ((p3 − p0)·e) u2]/|e|
//! ```
//!
//! \[BMF03\], \[BMM17\] section 5.2 with atan2 for the arc cosine: no singularity when flat. A triangle
//! without area has no normal: the constraint rests.

use super::{Constraint, Evaluation, LaneConstraint, LaneForm, LaneSettings};
use crate::math::lane::{Vec3x4, divide_or_zero, sqrt};
use bevy::{math::ops, prelude::*};
use core::f32::consts::{PI, TAU};

/// Keeps the dihedral angle of two triangles.
#[derive(Component, Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Component, Debug, PartialEq, Clone)]
#[component(on_add = super::note_added, on_remove = super::note_removed)]
pub struct BendingConstraint {
    /// The two ends of the shared edge, then the two wings.
    #[entities]
    pub particles: [Entity; 4],
    /// Rest angle θ₀ (rad), 0 when flat.
    pub rest_angle: f32,
    /// Compliance α (rad²/J); 0 is rigid. Default: 10⁴, a little stiffer than denim.
    pub compliance: f32,
    /// Rayleigh damping β (J s/rad²); it acts only where the compliance is above 0. Default: 0.
    pub damping: f32,
}

impl BendingConstraint {
    /// Compliance of the default cloth (rad²/J).
    pub const DEFAULT_COMPLIANCE: f32 = 1e4;

    /// Keeps the angle `rest_angle` (rad) of the triangles (p0, p1, p2) and (p1, p0, p3).
    pub const fn new(particles: [Entity; 4], rest_angle: f32) -> Self {
        Self { particles, rest_angle, compliance: Self::DEFAULT_COMPLIANCE, damping: 0.0 }
    }

    /// With this compliance (rad²/J).
    pub const fn with_compliance(mut self, compliance: f32) -> Self {
        self.compliance = compliance;
        self
    }

    /// The angle (rad) of the two triangles with corners `x`, 0 when flat or without area.
    pub fn angle(x: [Vec3; 4]) -> f32 {
        dihedral(&x.map(|p| Vec3x4::new([p; 4]))).0.x
    }
}

impl Constraint for BendingConstraint {
    type Form = LaneForm<4>;
}

/// The angle and its gradients.
fn dihedral(x: &[Vec3x4; 4]) -> (Vec4, [Vec3x4; 4]) {
    let [p0, p1, p2, p3] = *x;
    let e = p1 - p0;
    let n1 = (p2 - p0).cross(p2 - p1);
    let n2 = (p3 - p1).cross(p3 - p0);
    let length = sqrt(e.length_squared());
    let inverse_length = divide_or_zero(Vec4::ONE, length);
    let inverse_1 = divide_or_zero(Vec4::ONE, n1.length_squared());
    let inverse_2 = divide_or_zero(Vec4::ONE, n2.length_squared());
    let defined = inverse_1.cmpgt(Vec4::ZERO) & inverse_2.cmpgt(Vec4::ZERO);
    let sine = (n1.cross(n2).dot(e) * inverse_length).to_array();
    let cosine = n1.dot(n2).to_array();
    let angle = Vec4::from_array(core::array::from_fn(|i| ops::atan2(sine[i], cosine[i])));
    let zero = Vec4::ZERO;
    let u1 = n1 * Vec4::select(defined, inverse_1, zero);
    let u2 = n2 * Vec4::select(defined, inverse_2, zero);
    let g0 = -(u1 * ((p2 - p1).dot(e) * inverse_length) + u2 * ((p3 - p1).dot(e) * inverse_length));
    let g1 = u1 * ((p2 - p0).dot(e) * inverse_length) + u2 * ((p3 - p0).dot(e) * inverse_length);
    (Vec4::select(defined, angle, zero), [g0, g1, -(u1 * length), -(u2 * length)])
}

impl LaneConstraint<4> for BendingConstraint {
    /// Rest angles.
    type Lanes = Vec4;

    fn particles(&self) -> [Entity; 4] {
        self.particles
    }

    fn settings(&self) -> LaneSettings {
        LaneSettings { compliance: self.compliance, damping: self.damping, ..Default::default() }
    }

    fn is_valid(&self) -> bool {
        self.rest_angle.is_finite() && self.rest_angle.abs() <= TAU
    }

    fn pack(four: [Option<&Self>; 4]) -> Vec4 {
        Vec4::from_array(four.map(|c| c.map_or(0.0, |c| c.rest_angle)))
    }

    #[inline(always)]
    fn evaluate(rest_angle: &Vec4, x: &[Vec3x4; 4]) -> Evaluation<4> {
        let (angle, gradients) = dihedral(x);
        let deviation = angle - *rest_angle;
        let turns = ((deviation + Vec4::splat(PI)) * Vec4::splat(TAU.recip())).floor();
        Evaluation { value: deviation - turns * Vec4::splat(TAU), gradients }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::lane::testing::{evaluate_one, project_one, soft},
        *,
    };

    fn hinge(rest_angle: f32) -> BendingConstraint {
        BendingConstraint::new([Entity::PLACEHOLDER; 4], rest_angle)
    }

    fn book(angle: f32) -> [Vec3; 4] {
        let (s, c) = (angle.sin(), angle.cos());
        [Vec3::ZERO, Vec3::Y, Vec3::new(-1.0, 0.5, 0.0), Vec3::new(c, 0.5, s)]
    }

    #[test]
    fn the_angle_of_a_book_is_its_opening() {
        for angle in [0.0, 1e-4, 0.3, 1.5, 3.0] {
            assert!((BendingConstraint::angle(book(angle)).abs() - angle).abs() < 1e-6, "{angle}");
        }
    }

    #[test]
    fn gradients_are_central_differences_and_sum_to_zero() {
        let points = [
            Vec3::new(0.1, -0.2, 0.0),
            Vec3::new(0.0, 1.1, 0.3),
            Vec3::new(-0.9, 0.4, 0.2),
            Vec3::new(0.8, 0.6, -0.4),
        ];
        let (_, gradients) = evaluate_one(&hinge(0.0), points);
        assert!(gradients.iter().sum::<Vec3>().length() < 1e-5);
        let step = 1e-3;
        for i in 0..4 {
            for axis in 0..3 {
                let moved = |by: f32| {
                    let mut p = points;
                    p[i][axis] += by;
                    BendingConstraint::angle(p)
                };
                let slope = (moved(step) - moved(-step)) / (2.0 * step);
                assert!(
                    (slope - gradients[i][axis]).abs() < 2e-3,
                    "{slope} {}",
                    gradients[i][axis]
                );
            }
        }
    }

    #[test]
    fn projection_reaches_the_rest_angle_and_keeps_momentum() {
        let mut points = book(0.8);
        let centre: Vec3 = points.iter().sum();
        for _ in 0..8 {
            points = project_one(&hinge(0.0), points, [1.0; 4], None);
        }
        assert!(BendingConstraint::angle(points).abs() < 1e-4);
        assert!((points.iter().sum::<Vec3>() - centre).length() < 1e-5);
    }

    #[test]
    fn degenerate_triangles_rest() {
        let flat_wing = [Vec3::ZERO, Vec3::Y, Vec3::Y * 2.0, Vec3::X];
        assert_eq!(project_one(&hinge(0.5), flat_wing, [1.0; 4], None), flat_wing);
        let all_same = [Vec3::ONE; 4];
        assert_eq!(project_one(&hinge(0.5), all_same, [1.0; 4], Some(&mut soft(1.0))), all_same);
    }
}
