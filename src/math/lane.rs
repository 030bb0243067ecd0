//! Four vectors side by side, one component per register (SoA), for kernels that project four
//! independent constraints at once.
//!
//! ```text
//!  four particles          Vec3x4
//!  x0 y0 z0 .              x: x0 x1 x2 x3
//!  x1 y1 z1 .   transpose  y: y0 y1 y2 y3
//!  x2 y2 z2 .  ─────────►  z: z0 z1 z2 z3
//!  x3 y3 z3 .
//! ```

use bevy::math::{Mat4, Vec3, Vec4};
use core::ops::{Add, AddAssign, Mul, Neg, Sub};

/// Four 3D vectors; lane `i` of each component belongs to vector `i`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vec3x4 {
    /// The four x components.
    pub x: Vec4,
    /// The four y components.
    pub y: Vec4,
    /// The four z components.
    pub z: Vec4,
}

impl Vec3x4 {
    /// Four zero vectors.
    pub const ZERO: Self = Self { x: Vec4::ZERO, y: Vec4::ZERO, z: Vec4::ZERO };

    /// Packs four vectors, one a lane.
    pub fn new(vectors: [Vec3; 4]) -> Self {
        Self::from_rows(vectors.map(|v| v.extend(0.0)))
    }

    /// Transposes four vectors stored as rows; the fourth component of each is dropped.
    #[inline(always)]
    pub fn from_rows(rows: [Vec4; 4]) -> Self {
        let t = Mat4::from_cols(rows[0], rows[1], rows[2], rows[3]).transpose();
        Self { x: t.x_axis, y: t.y_axis, z: t.z_axis }
    }

    /// The four vectors as rows whose fourth component is 0.
    #[inline(always)]
    pub fn to_rows(self) -> [Vec4; 4] {
        let t = Mat4::from_cols(self.x, self.y, self.z, Vec4::ZERO).transpose();
        [t.x_axis, t.y_axis, t.z_axis, t.w_axis]
    }

    /// Vector `lane` (0 to 3).
    pub fn lane(self, lane: usize) -> Vec3 {
        Vec3::new(self.x[lane], self.y[lane], self.z[lane])
    }

    /// Four dot products.
    #[inline(always)]
    pub fn dot(self, other: Self) -> Vec4 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// Four cross products.
    #[inline(always)]
    pub fn cross(self, other: Self) -> Self {
        Self {
            x: self.y * other.z - self.z * other.y,
            y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x,
        }
    }

    /// Four squared lengths.
    #[inline(always)]
    pub fn length_squared(self) -> Vec4 {
        self.dot(self)
    }
}

impl Add for Vec3x4 {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self { x: self.x + other.x, y: self.y + other.y, z: self.z + other.z }
    }
}

impl AddAssign for Vec3x4 {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Vec3x4 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self { x: self.x - other.x, y: self.y - other.y, z: self.z - other.z }
    }
}

impl Neg for Vec3x4 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self { x: -self.x, y: -self.y, z: -self.z }
    }
}

impl Mul<Vec4> for Vec3x4 {
    type Output = Self;
    /// Scales vector `i` by lane `i`.
    #[inline(always)]
    fn mul(self, scale: Vec4) -> Self {
        Self { x: self.x * scale, y: self.y * scale, z: self.z * scale }
    }
}

/// Four square roots.
#[inline(always)]
pub fn sqrt(v: Vec4) -> Vec4 {
    Vec4::from_array(wide::f32x4::new(v.to_array()).sqrt().to_array())
}

/// `numerator / denominator` in each lane, and 0 where the denominator is not above `f32::MIN_POSITIVE`.
#[inline(always)]
pub fn divide_or_zero(numerator: Vec4, denominator: Vec4) -> Vec4 {
    Vec4::select(
        denominator.cmpgt(Vec4::splat(f32::MIN_POSITIVE)),
        numerator / denominator,
        Vec4::ZERO,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_the_round_trip() {
        let vectors = [0.0, 3.0, 6.0, 9.0].map(|i| Vec3::new(i, i + 1.0, i + 2.0));
        let packed = Vec3x4::new(vectors);
        for (lane, vector) in vectors.into_iter().enumerate() {
            assert_eq!(packed.lane(lane), vector);
            assert_eq!(packed.to_rows()[lane], vector.extend(0.0));
        }
    }

    #[test]
    fn products_agree_with_the_scalar_ones() {
        let a = [Vec3::X, Vec3::new(1.0, 2.0, 3.0), Vec3::NEG_Y, Vec3::splat(0.5)];
        let b = [Vec3::Y, Vec3::new(-3.0, 0.5, 2.0), Vec3::Z, Vec3::new(0.0, 1.0, -1.0)];
        let (pa, pb) = (Vec3x4::new(a), Vec3x4::new(b));
        for lane in 0..4 {
            assert_eq!(pa.cross(pb).lane(lane), a[lane].cross(b[lane]));
            assert_eq!(pa.dot(pb)[lane], a[lane].dot(b[lane]));
        }
    }

    #[test]
    fn a_zero_denominator_gives_zero() {
        let q = divide_or_zero(Vec4::ONE, Vec4::new(0.0, 2.0, -1.0, f32::NAN));
        assert_eq!(q, Vec4::new(0.0, 0.5, 0.0, 0.0));
    }
}
