//! The half-space: solid below a plane of any direction.
//!
//! ```text
//!        ↑ n = R·Y
//!  ──────┴──────   n·x = level
//!  ▒▒▒▒▒▒▒▒▒▒▒▒▒
//! ```

use super::solid::{Distance, Frame, Near};
use crate::math::bounds::Bounds;
use bevy::{math::Vec3A, prelude::*};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    normal: Vec3A,
    level: f32,
}

impl Plane {
    /// The plane of a half-space; a negative scale along y turns it over.
    pub fn new(frame: &Frame) -> Option<Self> {
        let up = if frame.scale.y < 0.0 { Vec3::NEG_Y } else { Vec3::Y };
        let normal = frame.axis(up).try_normalize()?;
        // In f64: the frame's centre may be far away on a large plane.
        let level = Vec3::from(normal).as_dvec3().dot(Vec3::from(frame.centre).as_dvec3()) as f32;
        Some(Self { normal, level })
    }

    /// Everything below, where the plane is level; else everything.
    pub fn bounds(&self) -> Bounds {
        let mut bounds = Bounds::ALL;
        if self.normal == Vec3A::Y {
            bounds.max.y = self.level;
        } else if self.normal == Vec3A::NEG_Y {
            bounds.min.y = -self.level;
        }
        bounds
    }
}

impl Distance for Plane {
    const PASSABLE: bool = false;

    #[inline]
    fn near(&self, x: Vec3A, reach: f32) -> Option<Near> {
        let distance = self.normal.dot(x) - self.level;
        (distance <= reach).then_some(Near { distance, normal: self.normal })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_faces_where_its_transform_says() {
        let frame = Frame {
            centre: Vec3A::new(-1.0, 2.0, 0.0),
            rotation: Quat::from_rotation_z(core::f32::consts::FRAC_PI_2),
            scale: Vec3::ONE,
        };
        let near = Plane::new(&frame).unwrap().near(Vec3A::ZERO, 0.0).unwrap();
        assert!(near.normal.distance(Vec3A::NEG_X) < 1e-6);
        assert!((near.distance + 1.0).abs() < 1e-6);
        let over = Frame { rotation: Quat::IDENTITY, scale: Vec3::new(1.0, -1.0, 1.0), ..frame };
        assert_eq!(Plane::new(&over).unwrap().near(Vec3A::ZERO, 9.0).unwrap().distance, 2.0);
    }
}
