//! Drift: how far particles have moved apart since a list of candidates was made.
//!
//! ```text
//!   list made              now                δ = x − x_ref − w t
//!    i o   o j      i o       o j             |x_i − x_j| ≥ |ref_i − ref_j| (1 − s t) − |δ_i − δ_j|
//! ```
//!
//! δ is measured against a *flow* `w = b + A (x_ref − c)`, the affine motion that fits the velocities
//! best. A rigid motion is in it, so a swinging cloth does not use up its margin; s is the norm of the
//! symmetric part of A, which alone brings particles nearer to one another. No `|δ_i − δ_j|` is
//! more than the diagonal of the box that holds all δ: one pass, and no pair need be looked at.

use bevy::math::{Mat3, Vec3, Vec4};

/// The affine motion that fits the velocities of some particles best.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    centre: Vec3,
    velocity: Vec3,
    gradient: Mat3,
    /// Greatest rate at which it brings two particles nearer, per distance (1/s).
    pub squeeze: f32,
}

/// A flow brings particles nearer by at most this part of their distance before a list is made anew.
const MOST_SQUEEZE: f32 = 0.3;

fn outer(a: Vec3, b: Vec3) -> Mat3 {
    Mat3::from_cols(a * b.x, a * b.y, a * b.z)
}

fn norm(m: Mat3) -> f32 {
    let sum = m.x_axis.length_squared() + m.y_axis.length_squared() + m.z_axis.length_squared();
    sum.sqrt()
}

impl Flow {
    /// Nothing moves.
    const STILL: Self =
        Self { centre: Vec3::ZERO, velocity: Vec3::ZERO, gradient: Mat3::ZERO, squeeze: 0.0 };

    /// Fits positions (m) and velocities (m/s) for the next `horizon` seconds.
    pub fn fit(
        moving: impl Iterator<Item = (Vec4, Vec4)> + Clone,
        count: usize,
        horizon: f32,
    ) -> Self {
        let per_particle = (count.max(1) as f32).recip();
        let (mut centre, mut velocity) = (Vec4::ZERO, Vec4::ZERO);
        for (x, v) in moving.clone() {
            centre += x;
            velocity += v;
        }
        let centre = (per_particle * centre).truncate();
        let velocity = (per_particle * velocity).truncate();
        let (mut spread, mut turned) = (Mat3::ZERO, Mat3::ZERO);
        for (x, v) in moving {
            let r = x.truncate() - centre;
            spread += outer(r, r);
            turned += outer(v.truncate() - velocity, r);
        }
        let trace = spread.x_axis.x + spread.y_axis.y + spread.z_axis.z;
        // Regular for particles in a plane or on a line too.
        let regular = spread + Mat3::from_diagonal(Vec3::splat(1e-3 * trace));
        let gradient = turned * regular.inverse();
        let mut flow = Self { centre, velocity, gradient, squeeze: 0.0 };
        flow.squeeze = norm(0.5 * (gradient + gradient.transpose()));
        let squeezed = flow.squeeze * horizon;
        if squeezed > MOST_SQUEEZE {
            let part = MOST_SQUEEZE / squeezed;
            flow.gradient *= part;
            flow.squeeze *= part;
        }
        let usable = trace > 0.0
            && flow.squeeze.is_finite()
            && norm(flow.gradient).is_finite()
            && (centre + velocity).is_finite();
        if usable { flow } else { Self::STILL }
    }

    /// Its velocity at `x` (m/s).
    #[inline(always)]
    pub fn at(&self, x: Vec4) -> Vec4 {
        (self.velocity + self.gradient * (x.truncate() - self.centre)).extend(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::bounds::Bounds;

    fn sheet() -> Vec<Vec4> {
        (0..100).map(|i| Vec4::new((i % 10) as f32, (i / 10) as f32, 0.2, 0.0)).collect()
    }

    #[test]
    fn a_turning_sheet_is_all_flow_and_is_not_squeezed() {
        let spin = Vec3::new(1.0, 2.0, -0.5);
        let moving: Vec<(Vec4, Vec4)> = sheet()
            .into_iter()
            .map(|x| (x, (spin.cross(x.truncate()) + Vec3::X * 30.0).extend(0.0)))
            .collect();
        let flow = Flow::fit(moving.iter().copied(), moving.len(), 1.0 / 64.0);
        let rest = Bounds::around(moving.iter().map(|(x, v)| (*v - flow.at(*x)).truncate()));
        // The part across the sheet cannot be told from a shear, which squeezes.
        assert!(rest.diagonal() < 0.1, "{}", rest.diagonal());
        assert!(flow.squeeze / 64.0 < 0.05, "{}", flow.squeeze);
    }

    #[test]
    fn nothing_and_nonsense_have_a_still_flow() {
        for x in [Vec4::ZERO, Vec4::NAN, Vec4::INFINITY, Vec4::splat(1e30)] {
            let flow = Flow::fit([(x, x); 3].into_iter(), 3, 1.0);
            assert_eq!(flow.at(Vec4::ONE), Vec4::ZERO, "{x}");
        }
        assert_eq!(Flow::fit(core::iter::empty(), 0, 1.0).squeeze, 0.0);
    }
}
