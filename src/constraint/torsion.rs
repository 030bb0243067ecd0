//! Torsion: turns two oriented particles back toward their orientation relative to each other.
//!
//! ```text
//!    ⬭───⬯          C = θ, the rotation vector of (q₁⁻¹ q₂) q̄⁻¹, q̄ what it is at rest
//!    q₁   q₂         Δθ₁ = −I₁⁻¹ Δλ,  Δθ₂ = I₂⁻¹ Δλ
//! ```
//!
//! \[MC11\] section 5.3, as an energy of compliance α instead of a slerp. It compares turns since rest, so
//! ellipsoids that were fitted with other axes do not fight. Positions are not moved.

use super::{
    Constraint, LaneConstraint, LaneForm, LaneParticles, Oriented, Soft, clamp_compliance,
    joint::turn_apart,
};
use crate::math::rotation::{unit, vector_from_rotation};
use bevy::{math::Mat3, prelude::*};

/// Keeps the relative orientation of two oriented particles: what stiffens an edge of a shape-matched
/// body against twist, or a chain of joints.
#[derive(Component, Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Component, Debug, PartialEq, Clone)]
#[component(on_add = super::note_added, on_remove = super::note_removed)]
pub struct TorsionConstraint {
    /// The two particles.
    #[entities]
    pub particles: [Entity; 2],
    /// Orientation of the second relative to the first at rest, q₁⁻¹ q₂.
    pub rest_rotation: Quat,
    /// Compliance α (rad²/J); 0 is rigid, infinite is none. Default: 0.
    pub compliance: f32,
    /// Damping of the relative spin (1/s). Default: 0.
    pub damping: f32,
}

impl TorsionConstraint {
    /// A rigid one.
    pub const fn new(particles: [Entity; 2], rest_rotation: Quat) -> Self {
        Self { particles, rest_rotation, compliance: 0.0, damping: 0.0 }
    }

    /// With this compliance (rad²/J).
    pub const fn with_compliance(mut self, compliance: f32) -> Self {
        self.compliance = compliance;
        self
    }

    /// With this damping of the relative spin (1/s).
    pub const fn with_damping(mut self, damping: f32) -> Self {
        self.damping = damping;
        self
    }
}

/// What turns a pair by its relative turn: a spring toward rest and a damper, each with its λ of this
/// substep (N m s², world axes).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spring {
    /// 1/α (J/rad²), 0 for none; infinite is rigid.
    stiffness: f32,
    /// Damping of the relative spin (1/s).
    damping: f32,
    spring_multiplier: Vec3,
    damper_multiplier: Vec3,
}

impl Spring {
    pub fn new(compliance: f32, damping: f32) -> Self {
        let compliance = if compliance.is_nan() { f32::INFINITY } else { compliance.max(0.0) };
        let stiffness = compliance.recip();
        Self { stiffness, damping: clamp_compliance(damping), ..Self::default() }
    }

    /// Forgets the last substep.
    pub fn begin_substep(&mut self) {
        (self.spring_multiplier, self.damper_multiplier) = (Vec3::ZERO, Vec3::ZERO);
    }

    /// Whether it does nothing.
    pub fn is_idle(&self) -> bool {
        self.stiffness == 0.0 && self.damping == 0.0
    }

    /// Whether it turns toward rest.
    pub fn is_stiff(&self) -> bool {
        self.stiffness > 0.0
    }

    /// h²k, for a pair whose summed inverse inertia is `ease`.
    fn spring(&self, ease: f32, h: f32) -> f32 {
        // Stiffer than this is rigid: the turn is off by a millionth.
        (h * h * self.stiffness).min(1e6 / ease)
    }

    /// hβ, likewise.
    fn damper(&self, ease: f32, h: f32) -> f32 {
        h * self.damping / ease
    }

    /// Turns the pair toward `rest`.
    pub fn turn(&mut self, pair: &mut [Oriented; 2], rest: Quat, h: f32) {
        if self.is_stiff() {
            let angle = pair[0].rotation() * vector_from_rotation(relative_turn(pair, rest));
            let spring = *self;
            let coefficient = |ease: f32| spring.spring(ease, h);
            push_back(pair, angle, coefficient, &mut self.spring_multiplier, h);
        }
    }

    /// Slows the relative spin of the pair. After all else that turns it, or it would hold back what others
    /// will take back.
    pub fn damp(&mut self, pair: &mut [Oriented; 2], h: f32) {
        if self.damping > 0.0 {
            let drift = pair[1].turned_so_far(h) - pair[0].turned_so_far(h);
            let spring = *self;
            let coefficient = |ease: f32| spring.damper(ease, h);
            push_back(pair, drift, coefficient, &mut self.damper_multiplier, h);
        }
    }

    /// What it needs in the plane for a pair whose summed inverse inertia is `ease`.
    pub fn in_plane(&self, ease: f32, h: f32) -> [FlatGain; 2] {
        [FlatGain::new(self.spring(ease, h), ease), FlatGain::new(self.damper(ease, h), ease)]
    }

    /// How far the second particle must turn in the plane relative to the first toward rest, from which it
    /// is `angle` away (rad).
    #[inline]
    pub fn turn_in_plane(&mut self, angle: f32, gain: &FlatGain) -> f32 {
        gain.advance(&mut self.spring_multiplier.z, angle)
    }

    /// How far to slow its relative spin, by which it has turned by `drift` in this substep (rad).
    #[inline]
    pub fn damp_in_plane(&mut self, drift: f32, gain: &FlatGain) -> f32 {
        gain.advance(&mut self.damper_multiplier.z, drift)
    }
}

/// What a spring or a damper k does in the plane, prepared.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlatGain {
    k: f32,
    /// 1/(k J⁻¹ + 1).
    share: f32,
    /// J⁻¹, summed over the pair.
    ease: f32,
}

impl FlatGain {
    fn new(k: f32, ease: f32) -> Self {
        let share = 1.0 / (k * ease + 1.0);
        if k.is_finite() && share.is_finite() { Self { k, share, ease } } else { Self::default() }
    }

    /// One step of λ against the turn `angle`; returns the turn that it makes (rad).
    #[inline]
    fn advance(&self, multiplier: &mut f32, angle: f32) -> f32 {
        let step = -(self.k * angle + *multiplier) * self.share;
        *multiplier += step;
        step * self.ease
    }
}

/// Turns the pair back from the relative turn `angle` (rad, world axes) by a force that grows with it as
/// `coefficient` of the pair's summed inverse inertia says.
fn push_back(
    pair: &mut [Oriented; 2],
    angle: Vec3,
    coefficient: impl Fn(f32) -> f32,
    multiplier: &mut Vec3,
    h: f32,
) {
    let tensor = pair[0].inverse_inertia_tensor() + pair[1].inverse_inertia_tensor();
    let along = angle.normalize_or(Vec3::Z);
    let ease = along.dot(tensor * along);
    if ease <= 0.0 {
        return;
    }
    let k = coefficient(ease);
    let step = -((tensor * k + Mat3::IDENTITY).inverse() * (k * angle + *multiplier));
    let (about, size) = step.normalize_and_length();
    if size > 0.0 {
        let ease = about.dot(tensor * about);
        *multiplier += about * turn_within(pair, about, size, ease, h);
    }
}

/// Applies an angular impulse along `about`, as far as particles may turn; returns what was applied.
fn turn_within(pair: &mut [Oriented; 2], about: Vec3, impulse: f32, ease: f32, h: f32) -> f32 {
    if !(impulse.is_finite() && ease > 0.0) {
        return 0.0;
    }
    turn_apart(pair, about, impulse * ease, h) / ease
}

/// The turn of the second particle relative to the first since rest, in the first's frame.
pub(super) fn relative_turn(pair: &[Oriented; 2], rest: Quat) -> Quat {
    pair[0].rotation().conjugate() * pair[1].rotation() * rest.conjugate()
}

/// Four torsions.
#[derive(Clone, Copy, Debug)]
pub struct TorsionLanes([(Quat, Spring); 4]);

impl Constraint for TorsionConstraint {
    type Form = LaneForm<2>;
}

impl LaneConstraint<2> for TorsionConstraint {
    type Lanes = TorsionLanes;

    const REMEMBERS: bool = true;

    fn particles(&self) -> [Entity; 2] {
        self.particles
    }

    fn is_valid(&self) -> bool {
        unit(self.rest_rotation).is_some()
    }

    fn pack(four: [Option<&Self>; 4]) -> TorsionLanes {
        TorsionLanes(four.map(|torsion| match torsion {
            Some(torsion) => (
                torsion.rest_rotation.normalize(),
                Spring::new(torsion.compliance, torsion.damping),
            ),
            None => (Quat::IDENTITY, Spring::default()),
        }))
    }

    fn begin_substep(lanes: &mut TorsionLanes) {
        lanes.0.iter_mut().for_each(|(_, spring)| spring.begin_substep());
    }

    fn project(
        lanes: &mut TorsionLanes,
        _soft: Option<&mut Soft>,
        particles: &mut LaneParticles<'_, 2>,
    ) {
        let h = particles.h();
        for (lane, (rest, spring)) in lanes.0.iter_mut().enumerate() {
            let both = (particles.oriented(0, lane), particles.oriented(1, lane));
            if spring.is_idle() {
                continue;
            }
            if let (Some(first), Some(second)) = both {
                let mut pair = [*first, *second];
                spring.turn(&mut pair, *rest, h);
                spring.damp(&mut pair, h);
                for (i, turned) in pair.into_iter().enumerate() {
                    particles.put_turned(i, lane, turned);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ball(angle: Vec3, inverse_inertia: f32, planar: bool) -> Oriented {
        let mut oriented = Oriented::new(0, Entity::PLACEHOLDER, planar);
        oriented.rotation = Quat::from_scaled_axis(angle);
        oriented.inverse_inertia = Vec3::splat(inverse_inertia);
        oriented
    }

    fn angle(pair: &[Oriented; 2], rest: Quat) -> f32 {
        vector_from_rotation(relative_turn(pair, rest)).length()
    }

    #[test]
    fn a_rigid_torsion_turns_back_at_once_and_shares_by_inertia() {
        for planar in [true, false] {
            let rest = Quat::from_rotation_z(0.4);
            let mut pair = [ball(Vec3::Z * 0.1, 2.0, planar), ball(Vec3::Z * 0.51, 6.0, planar)];
            Spring::new(0.0, 0.0).turn(&mut pair, rest, 1.0);
            assert!(angle(&pair, rest) < 1e-6);
            assert!((pair[1].turn + 3.0 * pair[0].turn).length() < 1e-6, "{pair:?}");
        }
    }

    #[test]
    fn a_soft_torsion_converges_to_implicit_euler_for_any_number_of_iterations() {
        let (alpha, h, w) = (0.02f32, 0.1, [2.0, 6.0]);
        for damping in [0.0f32, 3.0] {
            for planar in [true, false] {
                let mut pair = [ball(Vec3::ZERO, w[0], planar), ball(Vec3::Z * 0.01, w[1], planar)];
                // It moved by that in this substep.
                pair[1].turn = Vec3::Z * 0.01;
                let mut spring = Spring::new(alpha, damping);
                for _ in 0..12 {
                    spring.turn(&mut pair, Quat::IDENTITY, h);
                    spring.damp(&mut pair, h);
                }
                let sum = w[0] + w[1];
                let (k, d) = (h * h / alpha, h * damping / sum);
                let expected = 0.01 / (1.0 + (k + d) * sum);
                assert!((angle(&pair, Quat::IDENTITY) - expected).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn damping_alone_slows_the_relative_spin_whatever_the_angle() {
        let (h, c) = (0.01f32, 5.0);
        let mut pair = [ball(Vec3::ZERO, 1.0, true), ball(Vec3::Z * 2.0, 1.0, true)];
        pair[1].angular_velocity = Vec3::Z * 2.0;
        Spring::new(f32::INFINITY, c).damp(&mut pair, h);
        let spin = |o: &Oriented| o.angular_velocity.z + o.turn.z / h;
        let relative = spin(&pair[1]) - spin(&pair[0]);
        assert!((relative - 2.0 / (1.0 + c * h)).abs() < 1e-5, "{relative}");
        assert!((spin(&pair[0]) + spin(&pair[1]) - 2.0).abs() < 1e-5);
    }
}
