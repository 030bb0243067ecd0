//! Tether (long-range attachment): keeps a particle within reach of a held one.
//!
//! ```text
//!   a ▪·········o x            C = |x − a| − L ≤ 0
//!     └── L ──┘                ∇x C = (x − a)/|x − a|,  a does not move
//! ```
//!
//! \[KCM12\]. L is the geodesic distance at rest, times what slack the recipe allows. Only `x` moves, and
//! only when it is too far; a tether whose anchor particle is not held rests.

use super::{Constraint, Evaluation, LaneConstraint, LaneForm, LaneSettings, Sides};
use crate::math::lane::{Vec3x4, divide_or_zero, sqrt};
use bevy::prelude::*;

/// Keeps a particle within a distance of a held particle.
#[derive(Component, Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Component, Debug, PartialEq, Clone)]
#[component(on_add = super::note_added, on_remove = super::note_removed)]
pub struct TetherConstraint {
    /// The particle that is kept near, then the held one.
    #[entities]
    pub particles: [Entity; 2],
    /// Greatest distance L (m), 0 or more.
    pub length: f32,
    /// Compliance α (m/N); 0 is rigid. Default: 0.
    pub compliance: f32,
}

impl TetherConstraint {
    /// A rigid tether of this length (m) from `particle` to the held `anchor`.
    pub const fn new(particle: Entity, anchor: Entity, length: f32) -> Self {
        Self { particles: [particle, anchor], length, compliance: 0.0 }
    }
}

impl Constraint for TetherConstraint {
    type Form = LaneForm<2>;
}

impl LaneConstraint<2> for TetherConstraint {
    /// Lengths.
    type Lanes = Vec4;
    const MOVED: usize = 1;
    const RESTS_UNLESS_ANCHORED: bool = true;

    fn particles(&self) -> [Entity; 2] {
        self.particles
    }

    fn settings(&self) -> LaneSettings {
        LaneSettings { compliance: self.compliance, damping: 0.0, sides: Sides::AtMost }
    }

    fn is_valid(&self) -> bool {
        self.length.is_finite() && self.length >= 0.0
    }

    fn pack(four: [Option<&Self>; 4]) -> Vec4 {
        Vec4::from_array(four.map(|c| c.map_or(0.0, |c| c.length)))
    }

    #[inline(always)]
    fn evaluate(length: &Vec4, x: &[Vec3x4; 2]) -> Evaluation<2> {
        let difference = x[0] - x[1];
        let distance = sqrt(difference.length_squared());
        let normal = difference * divide_or_zero(Vec4::ONE, distance);
        Evaluation { value: distance - *length, gradients: [normal, Vec3x4::ZERO] }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::lane::testing::{project_one, soft},
        *,
    };

    #[test]
    fn only_the_far_particle_moves_and_only_when_too_far() {
        let tether = TetherConstraint::new(Entity::PLACEHOLDER, Entity::PLACEHOLDER, 1.0);
        let mut settings = soft(0.0);
        settings.max = Vec4::ZERO;
        let near = [Vec3::X * 0.9, Vec3::ZERO];
        assert_eq!(project_one(&tether, near, [1.0, 0.0], Some(&mut settings)), near);
        let far = [Vec3::new(0.0, -3.0, 0.0), Vec3::ZERO];
        let [x, a] = project_one(&tether, far, [1.0, 0.0], Some(&mut settings));
        assert!(x.distance(Vec3::NEG_Y) < 1e-6);
        assert_eq!(a, Vec3::ZERO);
    }
}
