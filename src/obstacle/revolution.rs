//! Solids of revolution about their y axis: cylinder and cone.
//!
//! ```text
//!   y│___          y│╲        a point's distance is taken in the half-plane of its height y and
//!    │   │          │ ╲       its distance ρ from the axis
//!    │───┴── ρ      │──╲── ρ
//! ```

use super::solid::{Distance, Frame, Near};
use bevy::{
    math::{Vec2, Vec3A},
    prelude::*,
};

/// A point as height and distance from an axis.
struct Turned {
    /// (ρ, y).
    point: Vec2,
    /// Unit vector away from the axis.
    outward: Vec3A,
}

fn turned(x: Vec3A, centre: Vec3A, axis: Vec3A) -> Turned {
    let offset = x - centre;
    let height = axis.dot(offset);
    let aside = offset - height * axis;
    let distance = aside.length();
    let outward = if distance > 1e-12 {
        aside / distance
    } else {
        Vec3::from(axis).any_orthonormal_vector().into()
    };
    Turned { point: Vec2::new(distance, height), outward }
}

impl Turned {
    /// A gradient of the half-plane as a vector of space.
    fn normal(&self, axis: Vec3A, gradient: Vec2) -> Vec3A {
        gradient.x * self.outward + gradient.y * axis
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cylinder {
    centre: Vec3A,
    axis: Vec3A,
    radius: f32,
    half_height: f32,
}

impl Cylinder {
    pub fn new(frame: &Frame, radius: f32, half_height: f32) -> Self {
        Self { centre: frame.centre, axis: frame.axis(Vec3::Y), radius, half_height }
    }
}

impl Distance for Cylinder {
    #[inline]
    fn near(&self, x: Vec3A, reach: f32) -> Option<Near> {
        let turned = turned(x, self.centre, self.axis);
        let sign = if turned.point.y < 0.0 { -1.0 } else { 1.0 };
        let outside =
            Vec2::new(turned.point.x - self.radius, sign * turned.point.y - self.half_height);
        if outside.max_element() > reach {
            return None;
        }
        let out = outside.max(Vec2::ZERO);
        let length = out.length();
        let (distance, gradient) = if length > 0.0 {
            (length, out / length)
        } else if outside.x >= outside.y {
            (outside.x, Vec2::X)
        } else {
            (outside.y, Vec2::Y)
        };
        let normal = turned.normal(self.axis, gradient * Vec2::new(1.0, sign));
        (distance <= reach).then_some(Near { distance, normal })
    }
}

/// Its base is half its height below its centre, its tip as far above.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cone {
    centre: Vec3A,
    axis: Vec3A,
    radius: f32,
    half_height: f32,
    /// Outward unit normal of the slope, in the half-plane.
    slope: Vec2,
}

impl Cone {
    /// A negative height turns the tip down.
    pub fn new(frame: &Frame, radius: f32, height: f32) -> Self {
        let axis = if height < 0.0 { Vec3::NEG_Y } else { Vec3::Y };
        Self {
            centre: frame.centre,
            axis: frame.axis(axis),
            radius,
            half_height: 0.5 * height.abs(),
            slope: Vec2::new(height.abs(), radius).normalize_or(Vec2::X),
        }
    }
}

impl Distance for Cone {
    #[inline]
    fn near(&self, x: Vec3A, reach: f32) -> Option<Near> {
        let turned = turned(x, self.centre, self.axis);
        let (tip, rim) =
            (Vec2::new(0.0, self.half_height), Vec2::new(self.radius, -self.half_height));
        let (above_slope, below_base) =
            (self.slope.dot(turned.point - tip), -self.half_height - turned.point.y);
        if above_slope.max(below_base) > reach {
            return None;
        }
        let (distance, gradient) = if above_slope <= 0.0 && below_base <= 0.0 {
            if above_slope >= below_base {
                (above_slope, self.slope)
            } else {
                (below_base, Vec2::NEG_Y)
            }
        } else {
            // The nearest point of the slope or of the base.
            let along = rim - tip;
            let part = (turned.point - tip).dot(along) / along.length_squared().max(1e-24);
            let on_slope = tip + along * part.clamp(0.0, 1.0);
            let on_base = Vec2::new(turned.point.x.min(self.radius), -self.half_height);
            let (a, b) = (turned.point - on_slope, turned.point - on_base);
            let away = if a.length_squared() <= b.length_squared() { a } else { b };
            let length = away.length();
            (length, if length > 1e-12 { away / length } else { self.slope })
        };
        let normal = turned.normal(self.axis, gradient);
        (distance <= reach).then_some(Near { distance, normal })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame { centre: Vec3A::ZERO, rotation: Quat::IDENTITY, scale: Vec3::ONE };

    fn distance(solid: &impl Distance, x: f32, y: f32) -> f32 {
        solid.near(Vec3A::new(0.6 * x, y, 0.8 * x), 10.0).unwrap().distance
    }

    #[test]
    fn a_cylinder_has_a_side_and_two_ends() {
        let cylinder = Cylinder::new(&FRAME, 1.0, 2.0);
        assert!((distance(&cylinder, 1.5, 0.0) - 0.5).abs() < 1e-6);
        assert!((distance(&cylinder, 0.0, -2.5) - 0.5).abs() < 1e-6);
        assert!((distance(&cylinder, 0.9, 0.0) + 0.1).abs() < 1e-6);
        assert!((distance(&cylinder, 1.3, 2.4) - 0.5).abs() < 1e-6);
        let below = cylinder.near(Vec3A::new(0.1, -2.1, 0.0), 1.0).unwrap();
        assert!(below.normal.distance(Vec3A::NEG_Y) < 1e-6);
    }

    #[test]
    fn a_cone_has_a_slope_a_base_and_a_tip() {
        let cone = Cone::new(&FRAME, 1.0, 2.0);
        assert!((distance(&cone, 0.0, 1.5) - 0.5).abs() < 1e-6);
        assert!((distance(&cone, 0.3, -1.25) - 0.25).abs() < 1e-6);
        // The slope's middle (0.5, 0), 0.1 along its normal.
        let out = Vec2::new(0.5, 0.0) + 0.1 * Vec2::new(2.0, 1.0).normalize();
        assert!((distance(&cone, out.x, out.y) - 0.1).abs() < 1e-6);
        assert!(distance(&cone, 0.0, -0.9) < 0.0);
        let upside_down = Cone::new(&FRAME, 1.0, -2.0);
        assert!((distance(&upside_down, 0.0, -1.5) - 0.5).abs() < 1e-6);
    }
}
