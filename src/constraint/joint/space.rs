//! Joints in space: blocks of three rows, limits by swing and twist.

use super::{Joint, JointLimits, MAX_TURN_SPEED};
use crate::constraint::{LaneParticles, Oriented, torsion::relative_turn};
use bevy::{
    math::{Mat3, ops},
    prelude::*,
};

impl Joint {
    pub(super) fn project_in_space(
        &mut self,
        lane: usize,
        weights: [f32; 2],
        particles: &mut LaneParticles<'_, 2>,
    ) {
        let h = particles.h();
        let mut pair = [0, 1].map(|i| particles.oriented(i, lane).copied());
        self.turn_back_in_space(&mut pair, h);
        let positions = [0, 1].map(|i| particles.position(i, lane).truncate());
        let moves = self.pull(positions, weights, &mut pair, h);
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

    /// Torsion and limits.
    pub(super) fn turn_back_in_space(&mut self, pair: &mut [Option<Oriented>; 2], h: f32) {
        if let [Some(first), Some(second)] = *pair {
            let mut both = [first, second];
            self.spring.turn(&mut both, self.rest_rotation, h);
            limit(&self.limits, &mut both, self.rest_rotation, h);
            *pair = both.map(Some);
        }
    }

    /// Pulls the two points together; returns how far each particle moves (m), and turns them.
    pub(super) fn pull(
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
pub(in crate::constraint) fn lever(r: Vec3, inverse_inertia: &Mat3) -> Mat3 {
    let cross = Mat3::from_cols(
        Vec3::new(0.0, r.z, -r.y),
        Vec3::new(-r.z, 0.0, r.x),
        Vec3::new(r.y, -r.x, 0.0),
    );
    -(cross * *inverse_inertia * cross)
}

/// Turns the pair back within `limits`.
fn limit(limits: &JointLimits, pair: &mut [Oriented; 2], rest: Quat, h: f32) {
    match *limits {
        JointLimits::Free => {}
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
    turn_apart(pair, pair[0].rotation() * axis, angle.max(min).min(max) - angle, h);
}

/// Turns the second relative to the first by `angle` (rad) about the unit vector `about` (world), or as
/// far as it may; returns how far.
pub(in crate::constraint) fn turn_apart(
    pair: &mut [Oriented; 2],
    about: Vec3,
    angle: f32,
    h: f32,
) -> f32 {
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
    use crate::{
        constraint::{JointConstraint, LaneConstraint},
        math::rotation::vector_from_rotation,
    };

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
}
