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
//! *Torsion* acts on the turn θ of the second relative to the first since rest, as a spring k = 1/α_θ, and
//! *spin damping* on θ's movement δ in this substep, as a damper β = c/(I₁⁻¹ + I₂⁻¹). Written so that none
//! (k = 0) is allowed, with k̃ = h²k and β̃ = hβ:
//!
//! ```text
//! Δλ = (−k̃ θ − λ)/(k̃ (I₁⁻¹ + I₂⁻¹) + 1)          Δλ' = (−β̃ δ − λ')/(β̃ (I₁⁻¹ + I₂⁻¹) + 1)
//! ```
//!
//! *Limits* are rigid and one-sided. What torsion, damping and limits turn is at most 20 rad/s · h a
//! particle, or limits whose angle wraps at ±π would throw it about.

use super::{
    Constraint, LaneConstraint, LaneForm, LaneParticles, LaneSettings, Oriented, Soft,
    clamp_compliance,
    torsion::{Spring, relative_turn},
};
use crate::math::rotation::vector_from_rotation;
use bevy::{
    math::{Mat3, ops},
    prelude::*,
};

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

    /// The softness of a joint is its kernel's own matter.
    fn settings(&self) -> LaneSettings {
        LaneSettings::default()
    }

    fn is_valid(&self) -> bool {
        self.anchors.iter().all(|a| a.is_finite())
            && self.rest_rotation.is_finite()
            && self.rest_rotation.length_squared() > 1e-6
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
            joint.project(lane, particles);
        }
    }
}

impl Joint {
    fn project(&mut self, lane: usize, particles: &mut LaneParticles<'_, 2>) {
        let weights = [particles.weight(0)[lane], particles.weight(1)[lane]];
        if weights[0] + weights[1] <= 0.0 {
            return;
        }
        let h = particles.h();
        let mut pair = [0, 1].map(|i| particles.oriented(i, lane).copied());
        if let [Some(first), Some(second)] = pair {
            let mut both = [first, second];
            self.spring.turn(&mut both, self.rest_rotation, h);
            limit(&self.limits, &mut both, self.rest_rotation, h);
            pair = both.map(Some);
        }
        let positions = [0, 1].map(|i| particles.rows(i)[lane].truncate());
        let planar = pair.iter().flatten().all(Oriented::is_planar);
        let moves = if planar {
            self.pull_in_plane(positions, weights, &mut pair, h)
        } else {
            self.pull(positions, weights, &mut pair, h)
        };
        if let [Some(first), Some(second)] = pair {
            let mut both = [first, second];
            self.spring.damp(&mut both, h);
            pair = both.map(Some);
        }
        for (i, (moved, turned)) in moves.into_iter().zip(pair).enumerate() {
            particles.shift(i, lane, moved.extend(0.0));
            if let Some(turned) = turned {
                particles.put_turned(i, lane, turned);
            }
        }
    }

    /// Pulls the two points together; returns how far each particle moves (m), and turns them.
    fn pull(
        &mut self,
        positions: [Vec3; 2],
        weights: [f32; 2],
        pair: &mut [Option<Oriented>; 2],
        h: f32,
    ) -> [Vec3; 2] {
        let mut arms = [Vec3::ZERO; 2];
        let alpha = (self.compliance / (h * h)).min(1e30);
        let mut block = Mat3::from_diagonal(Vec3::splat(weights[0] + weights[1] + alpha));
        for i in 0..2 {
            let Some(oriented) = &pair[i] else { continue };
            arms[i] = oriented.rotation() * self.anchors[i];
            block += lever(arms[i], &oriented.inverse_inertia_tensor());
        }
        let gap = positions[1] + arms[1] - positions[0] - arms[0];
        let step = -(block.inverse() * (gap + alpha * self.multiplier));
        self.push(step, weights, arms, pair)
    }

    /// The same in the plane: a block of two rows.
    fn pull_in_plane(
        &mut self,
        positions: [Vec3; 2],
        weights: [f32; 2],
        pair: &mut [Option<Oriented>; 2],
        h: f32,
    ) -> [Vec3; 2] {
        let mut arms = [Vec3::ZERO; 2];
        let alpha = (self.compliance / (h * h)).min(1e30);
        let diagonal = weights[0] + weights[1] + alpha;
        let (mut xx, mut xy, mut yy) = (diagonal, 0.0, diagonal);
        for i in 0..2 {
            let Some(oriented) = &pair[i] else { continue };
            let turn = crate::math::shape_matching::planar_rotation(oriented.rotation);
            let arm = turn.rotate(self.anchors[i].truncate());
            let inverse = oriented.inverse_inertia.z;
            xx += inverse * arm.y * arm.y;
            xy -= inverse * arm.x * arm.y;
            yy += inverse * arm.x * arm.x;
            arms[i] = arm.extend(0.0);
        }
        let gap = positions[1] + arms[1] - positions[0] - arms[0];
        let c = gap + alpha * self.multiplier;
        // Positive: the least eigenvalue is at least the sum of the weights.
        let scale = -1.0 / (xx * yy - xy * xy);
        let step = scale * Vec3::new(yy * c.x - xy * c.y, xx * c.y - xy * c.x, 0.0);
        self.push(step, weights, arms, pair)
    }

    fn push(
        &mut self,
        step: Vec3,
        weights: [f32; 2],
        arms: [Vec3; 2],
        pair: &mut [Option<Oriented>; 2],
    ) -> [Vec3; 2] {
        if !step.is_finite() {
            return [Vec3::ZERO; 2];
        }
        self.multiplier += step;
        for (i, sign) in [-1.0, 1.0].into_iter().enumerate() {
            if let Some(oriented) = &mut pair[i] {
                oriented.turn_by(oriented.inverse_inertia_times(arms[i].cross(sign * step)));
            }
        }
        [-weights[0] * step, weights[1] * step]
    }
}

/// −[r] I⁻¹ [r]: how far the end of the arm `r` moves by a unit impulse there, through the turn alone.
pub(super) fn lever(r: Vec3, inverse_inertia: &Mat3) -> Mat3 {
    let cross = Mat3::from_cols(
        Vec3::new(0.0, r.z, -r.y),
        Vec3::new(-r.z, 0.0, r.x),
        Vec3::new(r.y, -r.x, 0.0),
    );
    -(cross * *inverse_inertia * cross)
}

/// Turns the pair back within `limits`.
fn limit(limits: &JointLimits, pair: &mut [Oriented; 2], rest: Quat, h: f32) {
    let planar = pair.iter().all(Oriented::is_planar);
    match *limits {
        JointLimits::Free => {}
        JointLimits::Hinge { axis, min, max } if planar => {
            let (min, max) = if axis.z < 0.0 { (-max, -min) } else { (min, max) };
            let angle = vector_from_rotation(relative_turn(pair, rest)).z;
            turn_apart(pair, Vec3::Z, angle.clamp(min, max) - angle, h);
        }
        JointLimits::ConeTwist { cone, .. } if planar => {
            let angle = vector_from_rotation(relative_turn(pair, rest)).z;
            turn_apart(pair, Vec3::Z, angle.clamp(-cone, cone) - angle, h);
        }
        JointLimits::Hinge { axis, min, max } => {
            align(pair, axis, rest, 0.0, h);
            twist(pair, axis, rest, min, max, h);
        }
        JointLimits::ConeTwist { axis, cone, twist: most } => {
            align(pair, axis, rest, cone, h);
            twist(pair, axis, rest, -most, most, h);
        }
    }
}

/// Turns the second particle's axis to within `cone` (rad) of the first's.
fn align(pair: &mut [Oriented; 2], axis: Vec3, rest: Quat, cone: f32, h: f32) {
    let wanted = pair[0].rotation() * axis;
    let now = pair[1].rotation() * (rest.conjugate() * axis);
    let across = now.cross(wanted);
    let (sin, cos) = (across.length(), now.dot(wanted));
    let angle = ops::atan2(sin, cos) - cone;
    if angle > 0.0 {
        let about = if sin > 0.0 { across / sin } else { wanted.any_orthonormal_vector() };
        turn_apart(pair, about, angle, h);
    }
}

/// Turns the second particle about the axis until it is between `min` and `max` (rad) from rest.
fn twist(pair: &mut [Oriented; 2], axis: Vec3, rest: Quat, min: f32, max: f32, h: f32) {
    let turn = relative_turn(pair, rest);
    let (sin, cos) = (turn.xyz().dot(axis), turn.w);
    let (sin, cos) = if cos < 0.0 { (-sin, -cos) } else { (sin, cos) };
    let angle = 2.0 * ops::atan2(sin, cos);
    turn_apart(pair, pair[0].rotation() * axis, angle.clamp(min, max) - angle, h);
}

/// Greatest turn that limits, torsion and damping make in a second (rad/s).
const MAX_TURN_SPEED: f32 = 20.0;

/// Turns the second relative to the first by `angle` (rad) about the unit vector `about` (world), or as
/// far as it may; returns how far.
pub(super) fn turn_apart(pair: &mut [Oriented; 2], about: Vec3, angle: f32, h: f32) -> f32 {
    let turns = pair.each_ref().map(|oriented| oriented.inverse_inertia_times(about));
    let ease = turns.map(|turn| turn.dot(about));
    let sum = ease[0] + ease[1];
    // Not above 0 includes what is not a number.
    let usable = angle != 0.0 && sum > 0.0;
    if !usable {
        return 0.0;
    }
    let most = MAX_TURN_SPEED * h;
    let share = ease[0].max(ease[1]) / sum;
    let angle = angle.clamp(-most / share, most / share);
    for (oriented, turn, sign) in
        pair.iter_mut().zip(turns).zip([-1.0, 1.0]).map(|((o, t), s)| (o, t, s))
    {
        oriented.turn_by(sign * angle / sum * turn);
    }
    angle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(joint: &JointConstraint) -> Joint {
        JointConstraint::pack([Some(joint), None, None, None]).0[0]
    }

    fn ellipsoid(rotation: Quat, inverse_inertia: Vec3) -> Oriented {
        let mut oriented = Oriented::new(0, Entity::PLACEHOLDER, false);
        oriented.rotation = rotation;
        oriented.inverse_inertia = inverse_inertia;
        oriented.inertia = inverse_inertia.recip();
        oriented.isotropic = false;
        oriented
    }

    fn spins(pair: &[Oriented], start: &[Oriented]) -> Vec3 {
        pair.iter()
            .zip(start)
            .map(|(o, s)| s.rotation * (s.inertia * (s.rotation.conjugate() * o.turn)))
            .sum()
    }

    #[test]
    fn one_projection_closes_the_gap_to_first_order_and_keeps_both_momenta() {
        let q = [Quat::from_rotation_x(0.4), Quat::from_rotation_y(-0.8)];
        let start =
            [ellipsoid(q[0], Vec3::new(3.0, 5.0, 9.0)), ellipsoid(q[1], Vec3::new(8.0, 2.0, 4.0))];
        let (weights, gap) = ([2.0, 0.5], Vec3::new(3e-3, -2e-3, 1e-3));
        let anchors = [Vec3::new(0.3, 0.1, 0.0), Vec3::new(-0.2, 0.0, 0.25)];
        let x0 = Vec3::new(0.1, 0.2, 0.3);
        let positions = [x0, x0 + q[0] * anchors[0] - q[1] * anchors[1] + gap];
        let mut joint = lanes(&JointConstraint::new([Entity::PLACEHOLDER; 2], anchors));
        let mut pair = start.map(Some);
        let moves = joint.pull(positions, weights, &mut pair, 1.0);
        let pair = pair.map(|o| o.expect("turns"));
        let point = |i: usize| positions[i] + moves[i] + pair[i].rotation * anchors[i];
        assert!(point(0).distance(point(1)) < 3e-5, "{}", point(0).distance(point(1)));
        let linear = moves[0] / weights[0] + moves[1] / weights[1];
        assert!(linear.length() < 1e-8, "{linear}");
        let orbital: Vec3 = (0..2).map(|i| positions[i].cross(moves[i] / weights[i])).sum();
        let angular = orbital + spins(&pair, &start);
        // The arms end a gap apart: what is off is the gap times λ, of second order.
        assert!(angular.length() < 2.0 * gap.length_squared(), "{angular}");
    }

    #[test]
    fn the_plane_gives_what_space_gives() {
        let mut flat = [Quat::from_rotation_z(0.4), Quat::from_rotation_z(-1.8)].map(|q| {
            let mut o = ellipsoid(q, Vec3::splat(6.0));
            o.planar = true;
            Some(o)
        });
        let mut solid = flat.map(|o| {
            o.map(|mut o| {
                o.planar = false;
                o
            })
        });
        let anchors = [Vec3::new(0.3, 0.1, 0.0), Vec3::new(-0.2, 0.05, 0.0)];
        let joint = JointConstraint::new([Entity::PLACEHOLDER; 2], anchors).with_compliance(0.01);
        let positions = [Vec3::ZERO, Vec3::new(0.4, 0.1, 0.0)];
        let (mut a, mut b) = (lanes(&joint), lanes(&joint));
        let moves = [
            a.pull_in_plane(positions, [1.0, 2.0], &mut flat, 0.1),
            b.pull(positions, [1.0, 2.0], &mut solid, 0.1),
        ];
        for i in 0..2 {
            assert!(moves[0][i].distance(moves[1][i]) < 1e-6);
            let turns = [flat[i].unwrap().turn, solid[i].unwrap().turn];
            assert!(turns[0].distance(turns[1]) < 1e-5, "{turns:?}");
        }
    }

    #[test]
    fn limits_bring_the_turn_back_and_take_no_angular_momentum() {
        let limits = [
            (JointLimits::Hinge { axis: Vec3::Z, min: -0.2, max: 0.3 }, Vec3::new(0.2, 0.1, 0.9)),
            (
                JointLimits::ConeTwist { axis: Vec3::Z, cone: 0.3, twist: 0.2 },
                Vec3::new(0.5, 0.5, 0.7),
            ),
        ];
        for (limits, turn) in limits {
            let rest = Quat::from_rotation_y(0.5);
            let q = Quat::from_rotation_x(0.3);
            let start = [
                ellipsoid(q, Vec3::new(3.0, 5.0, 9.0)),
                ellipsoid(q * Quat::from_scaled_axis(turn) * rest, Vec3::splat(4.0)),
            ];
            let mut pair = start;
            for _ in 0..20 {
                let before = pair;
                pair.iter_mut().for_each(|o| o.turn = Vec3::ZERO);
                limit(&limits, &mut pair, rest, 1.0);
                let spin = spins(&pair, &before);
                assert!(spin.length() < 0.05 * pair[0].turn.length().max(1e-3), "{spin}");
            }
            let left = relative_turn(&pair, rest);
            let axis = left * Vec3::Z;
            match limits {
                JointLimits::Hinge { max, .. } => {
                    assert!(axis.distance(Vec3::Z) < 1e-3, "{axis}");
                    assert!(vector_from_rotation(left).z < max + 1e-3, "{left}");
                }
                JointLimits::ConeTwist { cone, twist, .. } => {
                    assert!(ops::atan2(axis.truncate().length(), axis.z) < cone + 1e-3, "{axis}");
                    assert!(2.0 * ops::atan2(left.z, left.w) < twist + 1e-3, "{left}");
                }
                JointLimits::Free => unreachable!(),
            }
        }
    }

    #[test]
    fn a_limit_turns_no_faster_than_it_may() {
        let mut pair =
            [0.0f32, 3.0].map(|angle| ellipsoid(Quat::from_rotation_z(angle), Vec3::ONE));
        pair.iter_mut().for_each(|o| o.planar = true);
        let h = 1.0 / 1024.0;
        limit(&JointLimits::planar(-1.0, 1.0), &mut pair, Quat::IDENTITY, h);
        for o in pair {
            assert!(o.turn.length() <= 20.0 * h * 1.001, "{}", o.turn);
            assert!(o.turn.length() > 19.0 * h);
        }
    }
}
