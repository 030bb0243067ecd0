//! Joints in the plane: angles, and blocks of two rows.

use super::{Joint, MAX_TURN_SPEED};
use crate::{
    constraint::{
        LaneParticles,
        torsion::{FlatGain, Spring},
    },
    math::{rotation::planar_angle, shape_matching::planar_rotation},
};
use bevy::prelude::*;

/// What a joint does in the plane, prepared for substeps of `h` seconds and particles as easy to turn as
/// `ease` says (1/(kg m²)).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gains {
    h: f32,
    ease: [f32; 2],
    /// Parts of a relative turn that each particle takes.
    share: [f32; 2],
    /// Greatest relative turn (rad).
    most: f32,
    spring: FlatGain,
    damper: FlatGain,
}

impl Gains {
    fn new(spring: &Spring, ease: [f32; 2], h: f32) -> Self {
        let sum = ease[0] + ease[1];
        // Not above 0 includes what is not a number.
        let turns = sum > 0.0;
        if !turns {
            return Self { h, ease, ..default() };
        }
        let share = ease.map(|ease| ease / sum);
        let most = MAX_TURN_SPEED * h / share[0].max(share[1]);
        let [spring, damper] = spring.in_plane(sum, h);
        Self { h, ease, share, most, spring, damper }
    }
}

/// A particle of a joint.
#[derive(Clone, Copy)]
struct End {
    /// As it was before this.
    rotation: Quat,
    /// 1/J (1/(kg m²)).
    ease: f32,
    /// How far it has turned since the start of the substep, before this (rad).
    before: f32,
    /// How far this turns it (rad).
    turned: f32,
}

impl End {
    /// Where `anchor` of its frame is by now, from its centre (m).
    #[inline]
    fn arm(&self, anchor: Vec3) -> Vec2 {
        let arm = planar_rotation(self.rotation).rotate(anchor.truncate());
        // What torsion and limits turn in a substep is a tenth at most.
        let turn = self.turned;
        arm * (1.0 - 0.5 * turn * turn) + turn * arm.perp()
    }
}

impl Joint {
    pub(super) fn project_in_plane(
        &mut self,
        lane: usize,
        weights: [f32; 2],
        particles: &mut LaneParticles<'_, 2>,
    ) {
        let h = particles.h();
        let mut ends = [0, 1].map(|i| {
            let end = |o: &crate::constraint::Oriented| End {
                rotation: o.rotation,
                ease: o.inverse_inertia.z,
                before: o.turned_so_far(h).z,
                turned: 0.0,
            };
            particles
                .oriented(i, lane)
                .map_or(End { rotation: Quat::IDENTITY, ease: 0.0, before: 0.0, turned: 0.0 }, end)
        });
        self.turn_back(&mut ends, h);
        let at = [0, 1].map(|i| particles.position(i, lane).truncate().truncate());
        let push = self.pull_together(&mut ends, at, weights, h);
        let drift = ends[1].before + ends[1].turned - ends[0].before - ends[0].turned;
        let angle = self.spring.damp_in_plane(drift, &self.gains.damper);
        self.gains.turn_apart(&mut ends, angle);
        for (i, end) in ends.into_iter().enumerate() {
            let sign = if i == 0 { -weights[0] } else { weights[1] };
            particles.shift(i, lane, (sign * push).extend(0.0).extend(0.0));
            particles.turn_in_plane(i, lane, end.turned);
        }
    }

    /// Torsion and limits.
    fn turn_back(&mut self, ends: &mut [End; 2], h: f32) {
        let ease = ends.map(|end| end.ease);
        if (self.gains.h, self.gains.ease) != (h, ease) {
            self.gains = Gains::new(&self.spring, ease, h);
        }
        let [min, max] = self.flat_limits;
        let limited = min > f32::NEG_INFINITY || max < f32::INFINITY;
        if !(limited || self.spring.is_stiff()) {
            return;
        }
        let turn = ends[0].rotation.conjugate() * ends[1].rotation * self.rest_rotation.conjugate();
        let mut angle = planar_angle(turn);
        let back = self.spring.turn_in_plane(angle, &self.gains.spring);
        angle += self.gains.turn_apart(ends, back);
        // Not clamped, so that limits the wrong way round are no panic.
        self.gains.turn_apart(ends, angle.max(min).min(max) - angle);
    }

    /// Pulls the two points together; returns λ, the push on the second (N s²).
    fn pull_together(
        &mut self,
        ends: &mut [End; 2],
        at: [Vec2; 2],
        weights: [f32; 2],
        h: f32,
    ) -> Vec2 {
        let alpha = (self.compliance / (h * h)).min(1e30);
        let diagonal = weights[0] + weights[1] + alpha;
        let (mut xx, mut xy, mut yy) = (diagonal, 0.0, diagonal);
        let mut arms = [Vec2::ZERO; 2];
        for (i, end) in ends.iter().enumerate() {
            let arm = end.arm(self.anchors[i]);
            xx += end.ease * arm.y * arm.y;
            xy -= end.ease * arm.x * arm.y;
            yy += end.ease * arm.x * arm.x;
            arms[i] = arm;
        }
        let gap = at[1] + arms[1] - at[0] - arms[0];
        let c = gap + alpha * self.multiplier.truncate();
        // Positive: the least eigenvalue is at least the sum of the weights.
        let scale = -1.0 / (xx * yy - xy * xy);
        let push = scale * Vec2::new(yy * c.x - xy * c.y, xx * c.y - xy * c.x);
        if !push.is_finite() {
            return Vec2::ZERO;
        }
        self.multiplier += push.extend(0.0);
        for (end, (arm, push)) in ends.iter_mut().zip(arms.into_iter().zip([-push, push])) {
            end.turned += end.ease * arm.perp_dot(push);
        }
        push
    }
}

impl Gains {
    /// Turns the second relative to the first by `angle` (rad), or as far as it may; returns how far.
    #[inline]
    fn turn_apart(&self, ends: &mut [End; 2], angle: f32) -> f32 {
        let angle = angle.max(-self.most).min(self.most);
        ends[0].turned -= self.share[0] * angle;
        ends[1].turned += self.share[1] * angle;
        angle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraint::{JointConstraint, JointLimits, LaneConstraint, Oriented};

    fn joint(joint: &JointConstraint) -> Joint {
        JointConstraint::pack([Some(joint), None, None, None]).0[0]
    }

    fn end(angle: f32, ease: f32) -> End {
        End { rotation: Quat::from_rotation_z(angle), ease, before: 0.0, turned: 0.0 }
    }

    #[test]
    fn the_plane_gives_what_space_gives() {
        let mut flat = [end(0.4, 6.0), end(-0.14, 4.0)];
        let mut solid = flat.map(|end| {
            let mut oriented = Oriented::new(0, Entity::PLACEHOLDER, true);
            oriented.rotation = end.rotation;
            oriented.inverse_inertia = Vec3::splat(end.ease);
            Some(oriented)
        });
        let anchors = [Vec3::new(0.3, 0.1, 0.0), Vec3::new(-0.2, 0.05, 0.0)];
        let description = JointConstraint::new([Entity::PLACEHOLDER; 2], anchors)
            .with_compliance(0.01)
            .with_torsion(0.3)
            .with_spin_damping(4.0)
            .with_limits(JointLimits::planar(-0.5, 2.0));
        let (mut a, mut b) = (joint(&description), joint(&description));
        let (at, h) = ([Vec2::ZERO, Vec2::new(0.4, 0.1)], 0.01);
        a.turn_back(&mut flat, h);
        let push = a.pull_together(&mut flat, at, [1.0, 2.0], h);
        b.turn_back_in_space(&mut solid, h);
        let moves = b.pull(at.map(|x| x.extend(0.0)), [1.0, 2.0], &mut solid, h);
        assert!((moves[1].truncate() - 2.0 * push).length() < 1e-6, "{moves:?} {push}");
        for (end, oriented) in flat.iter().zip(solid) {
            let oriented = oriented.expect("turns");
            assert!(
                (oriented.turn.z - end.turned).abs() < 1e-5,
                "{} {}",
                oriented.turn,
                end.turned
            );
        }
    }

    #[test]
    fn a_limit_turns_no_faster_than_it_may() {
        let mut ends = [end(0.0, 1.0), end(3.0, 1.0)];
        let limits = JointLimits::planar(-1.0, 1.0);
        let description =
            JointConstraint::new([Entity::PLACEHOLDER; 2], [Vec3::ZERO; 2]).with_limits(limits);
        let h = 1.0 / 1024.0;
        joint(&description).turn_back(&mut ends, h);
        for end in ends {
            assert!(end.turned.abs() <= MAX_TURN_SPEED * h * 1.001, "{}", end.turned);
            assert!(end.turned.abs() > 0.99 * MAX_TURN_SPEED * h);
        }
    }
}
