//! Joint: holds a point of one oriented particle at a point of another.
//!
//! ```text
//!      ⬭─r₁─•─r₂─⬭          C = x₂ + r₂ − x₁ − r₁           (one vector, one block)
//!                           K = (w₁ + w₂) 1 − [r₁] I₁⁻¹ [r₁] − [r₂] I₂⁻¹ [r₂]
//!                           λ = −(K + α̃)⁻¹ (C + α̃ λ)        Δx₂ = w₂ λ,  Δθ₂ = I₂⁻¹ (r₂ × λ)
//! ```
//!
//! and −λ at r₁: momenta are exchanged at one point where C = 0, so both are kept. (Before it is 0 the
//! two arms end |C| apart, and the angular momentum is off by C × λ = 0, since λ ∥ C where K is round.)
//!
//! *Torsion* acts on the turn θ of the second relative to the first since rest, as a spring k = 1/α, and
//! *spin damping* on θ's movement δ in this substep, as a damper β = c/(I₁⁻¹ + I₂⁻¹). Written so that none
//! (k = 0) is allowed, with k̃ = h²k and β̃ = hβ:
//!
//! ```text
//! Δλ = (−k̃ θ − λ)/(k̃ (I₁⁻¹ + I₂⁻¹) + 1)          Δλ' = (−β̃ δ − λ')/(β̃ (I₁⁻¹ + I₂⁻¹) + 1)
//! ```
//!
//! *Limits* are rigid and one-sided. What torsion, damping and limits turn is at most 100 rad/s · h a
//! particle, or limits whose angle wraps at ±π would throw it about; at 20 rad/s they lose against a crowd.

mod plane;
mod space;

pub(super) use space::{lever, turn_apart};

use super::{
    Constraint, LaneConstraint, LaneForm, LaneParticles, Soft, clamp_compliance, torsion::Spring,
};
use crate::math::rotation::unit;
use bevy::prelude::*;

/// Holds two oriented particles together at a point, as a ball joint, a hinge or a pin in the plane does.
///
/// A particle that does not turn is held at its centre, whatever its anchor.
#[derive(Component, Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Component, Debug, PartialEq, Clone)]
#[component(on_add = super::note_added, on_remove = super::note_removed)]
pub struct JointConstraint {
    /// The two particles.
    #[entities]
    pub particles: [Entity; 2],
    /// The joint's point in each particle's frame (m).
    pub anchors: [Vec3; 2],
    /// Orientation of the second relative to the first at rest, q₁⁻¹ q₂. Default: none.
    pub rest_rotation: Quat,
    /// Compliance of the point (m/N); 0 is rigid. Default: 0.
    pub compliance: f32,
    /// Compliance α of the turn toward rest (rad²/J); infinite is none. Default: infinite.
    pub torsion_compliance: f32,
    /// Damping of the relative spin (1/s). Default: 0.
    pub spin_damping: f32,
    /// How far the second may turn relative to the first. Default: free.
    pub limits: JointLimits,
}

/// How far the second particle of a joint may turn relative to the first; angles count from rest.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub enum JointLimits {
    /// As far as it likes.
    #[default]
    Free,
    /// About one axis only, and from `min` to `max` (rad). In the plane the axis is z, with the sign of its z.
    Hinge {
        /// The axis, in the first particle's frame.
        axis: Vec3,
        /// Least angle (rad), −π to 0.
        min: f32,
        /// Greatest angle (rad), 0 to π.
        max: f32,
    },
    /// Away from an axis by `cone` at most, and about it by `twist` at most, to either side (rad). In the
    /// plane `cone` holds alone.
    ConeTwist {
        /// The axis, in the first particle's frame.
        axis: Vec3,
        /// Greatest angle between where the axis was and is (rad), 0 to π.
        cone: f32,
        /// Greatest turn about it (rad), 0 to π.
        twist: f32,
    },
}

impl JointLimits {
    /// A hinge about z, from `min` to `max` (rad): the limits of a joint in the plane.
    pub const fn planar(min: f32, max: f32) -> Self {
        Self::Hinge { axis: Vec3::Z, min, max }
    }

    /// Least and greatest angle about z (rad).
    fn in_plane(&self) -> [f32; 2] {
        match *self {
            Self::Free => [f32::NEG_INFINITY, f32::INFINITY],
            Self::Hinge { axis, min, max } if axis.z < 0.0 => [-max, -min],
            Self::Hinge { min, max, .. } => [min, max],
            Self::ConeTwist { cone, .. } => [-cone, cone],
        }
    }

    fn is_valid(&self) -> bool {
        let axis_is = |axis: Vec3| axis.is_finite() && axis.length_squared() > 0.0;
        match *self {
            Self::Free => true,
            Self::Hinge { axis, min, max } => axis_is(axis) && min <= max,
            Self::ConeTwist { axis, cone, twist } => axis_is(axis) && cone >= 0.0 && twist >= 0.0,
        }
    }
}

impl JointConstraint {
    /// A rigid, otherwise free joint of these points (m, in each particle's frame), at rest when both have
    /// the same orientation.
    pub const fn new(particles: [Entity; 2], anchors: [Vec3; 2]) -> Self {
        Self {
            particles,
            anchors,
            rest_rotation: Quat::IDENTITY,
            compliance: 0.0,
            torsion_compliance: f32::INFINITY,
            spin_damping: 0.0,
            limits: JointLimits::Free,
        }
    }

    /// A joint at `point`, for particles whose position (m) and orientation at rest are `poses`, all in one
    /// frame.
    pub fn at(particles: [Entity; 2], poses: [(Vec3, Quat); 2], point: Vec3) -> Self {
        let anchors = poses.map(|(position, rotation)| rotation.inverse() * (point - position));
        let mut joint = Self::new(particles, anchors);
        joint.rest_rotation = poses[0].1.inverse() * poses[1].1;
        joint
    }

    /// With a point of this compliance (m/N).
    pub const fn with_compliance(mut self, compliance: f32) -> Self {
        self.compliance = compliance;
        self
    }

    /// With a torsion of this compliance (rad²/J).
    pub const fn with_torsion(mut self, compliance: f32) -> Self {
        self.torsion_compliance = compliance;
        self
    }

    /// With this damping of the relative spin (1/s).
    pub const fn with_spin_damping(mut self, damping: f32) -> Self {
        self.spin_damping = damping;
        self
    }

    /// With these limits.
    pub const fn with_limits(mut self, limits: JointLimits) -> Self {
        self.limits = limits;
        self
    }
}

/// One joint as the kernel has it.
#[derive(Clone, Copy, Debug)]
struct Joint {
    anchors: [Vec3; 2],
    rest_rotation: Quat,
    compliance: f32,
    spring: Spring,
    limits: JointLimits,
    /// Least and greatest angle in the plane (rad).
    flat_limits: [f32; 2],
    gains: plane::Gains,
    /// λ of the point (N s²).
    multiplier: Vec3,
    used: bool,
}

/// Four joints.
#[derive(Clone, Copy, Debug)]
pub struct JointLanes([Joint; 4]);

impl Constraint for JointConstraint {
    type Form = LaneForm<2>;
}

impl LaneConstraint<2> for JointConstraint {
    type Lanes = JointLanes;

    const REMEMBERS: bool = true;

    fn particles(&self) -> [Entity; 2] {
        self.particles
    }

    fn is_valid(&self) -> bool {
        self.anchors.iter().all(|a| a.is_finite())
            && unit(self.rest_rotation).is_some()
            && self.limits.is_valid()
    }

    fn pack(four: [Option<&Self>; 4]) -> JointLanes {
        JointLanes(four.map(|joint| {
            let used = joint.is_some();
            let joint =
                joint.copied().unwrap_or(Self::new([Entity::PLACEHOLDER; 2], [Vec3::ZERO; 2]));
            Joint {
                anchors: joint.anchors,
                rest_rotation: joint.rest_rotation.normalize(),
                compliance: clamp_compliance(joint.compliance),
                spring: Spring::new(joint.torsion_compliance, joint.spin_damping),
                flat_limits: joint.limits.in_plane(),
                gains: plane::Gains::default(),
                limits: match joint.limits {
                    JointLimits::Hinge { axis, min, max } => {
                        JointLimits::Hinge { axis: axis.normalize_or(Vec3::Z), min, max }
                    }
                    JointLimits::ConeTwist { axis, cone, twist } => {
                        JointLimits::ConeTwist { axis: axis.normalize_or(Vec3::Z), cone, twist }
                    }
                    JointLimits::Free => JointLimits::Free,
                },
                multiplier: Vec3::ZERO,
                used,
            }
        }))
    }

    fn begin_substep(lanes: &mut JointLanes) {
        for joint in &mut lanes.0 {
            joint.multiplier = Vec3::ZERO;
            joint.spring.begin_substep();
        }
    }

    fn project(
        lanes: &mut JointLanes,
        _soft: Option<&mut Soft>,
        particles: &mut LaneParticles<'_, 2>,
    ) {
        for (lane, joint) in lanes.0.iter_mut().enumerate().filter(|(_, joint)| joint.used) {
            let weights = [0, 1].map(|i| particles.weight(i)[lane]);
            if weights[0] + weights[1] <= 0.0 {
                continue;
            }
            match [0, 1].map(|i| particles.oriented(i, lane)) {
                [Some(first), Some(second)] if first.is_planar() && second.is_planar() => {
                    joint.project_in_plane(lane, weights, particles);
                }
                _ => joint.project_in_space(lane, weights, particles),
            }
        }
    }
}

/// Greatest turn that limits, torsion and damping make in a second (rad/s).
const MAX_TURN_SPEED: f32 = 100.0;
