//! Coulomb friction.
//!
//! In the velocity pass, with d the normal correction of the substep (m) and vₜ the tangential velocity
//! relative to the surface (m/s):
//!
//! ```text
//! h|vₜ| ≤ μ_s d   sticks: vₜ = 0
//! otherwise       slides: vₜ −= (μ_k d/h) vₜ/|vₜ|
//! ```
//!
//! Against obstacles x changes by h Δvₜ too: the substep then moved as far as its new velocity says, a
//! stuck body does not creep, and a sliding one goes as far as Coulomb says at one substep too.

use bevy::{math::Vec3A, prelude::*};

/// Coefficients of Coulomb friction. Not a number and negative values count as 0.
#[derive(Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub struct Friction {
    /// Static coefficient μ_s. Default: 0.5.
    pub fixed: f32,
    /// Dynamic coefficient μ_k. Default: 0.5.
    pub sliding: f32,
}

impl Default for Friction {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Friction {
    /// 0.5 for both.
    pub const DEFAULT: Self = Self::new(0.5);

    /// No friction.
    pub const NONE: Self = Self::new(0.0);

    /// The same coefficient at rest and sliding.
    pub const fn new(coefficient: f32) -> Self {
        Self { fixed: coefficient, sliding: coefficient }
    }

    /// Friction between two materials: the geometric mean, so that ice is slippery for everyone.
    pub fn combine(self, other: Self) -> Self {
        let mean = |a: f32, b: f32| {
            let product = a.max(0.0) * b.max(0.0);
            if product.is_nan() { 0.0 } else { product.min(1e12).sqrt() }
        };
        Self { fixed: mean(self.fixed, other.fixed), sliding: mean(self.sliding, other.sliding) }
    }

    /// The tangential velocity after friction, and how far the particle is put back (m).
    ///
    /// `tangential` is the velocity relative to the surface (m/s), `pushed` the normal correction of the
    /// substep per time, d/h (m/s), `h` the substep (s).
    pub(crate) fn apply(self, tangential: Vec3A, pushed: f32, h: f32) -> (Vec3A, Vec3A) {
        let squared = tangential.length_squared();
        let held = self.fixed * pushed;
        if squared <= held * held {
            return (Vec3A::ZERO, -h * tangential);
        }
        let speed = squared.sqrt();
        let slowed = (speed - self.sliding * pushed).max(0.0);
        let slowed = tangential * (slowed / speed);
        (slowed, h * (slowed - tangential))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_sticks_and_fast_slides() {
        let friction = Friction { fixed: 0.5, sliding: 0.4 };
        let (v, back) = friction.apply(Vec3A::X, 2.0, 0.01);
        assert_eq!((v, back), (Vec3A::ZERO, Vec3A::X * -0.01));
        let (v, back) = friction.apply(Vec3A::X, 1.0, 0.01);
        assert!(v.distance(Vec3A::X * 0.6) < 1e-6);
        assert!(back.distance(Vec3A::X * -0.004) < 1e-6);
    }

    #[test]
    fn friction_never_reverses_motion() {
        let (v, _) = Friction { fixed: 0.0, sliding: 9.0 }.apply(Vec3A::X, 100.0, 0.01);
        assert_eq!(v, Vec3A::ZERO);
    }

    #[test]
    fn combining_with_ice_gives_ice_and_nonsense_none() {
        assert_eq!(Friction::new(1.0).combine(Friction::NONE), Friction::NONE);
        assert_eq!(Friction::new(f32::NAN).combine(Friction::new(1.0)), Friction::NONE);
        assert_eq!(Friction::new(-1.0).combine(Friction::new(1.0)), Friction::NONE);
    }
}
