//! The cuboid: between three pairs of parallel planes.
//!
//! Each face has a level of its own, so that a point near a face of a very large cuboid (a floor) is
//! measured from that face and not from the far centre.

use super::solid::{Distance, Frame, Near};
use bevy::{
    math::{Mat3A, Vec3A},
    prelude::*,
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cuboid {
    /// Axes as columns.
    axes: Mat3A,
    /// Levels of the faces along the axes.
    high: Vec3A,
    low: Vec3A,
}

impl Cuboid {
    pub fn new(frame: &Frame, half_size: Vec3) -> Self {
        let axes = Mat3A::from_quat(frame.rotation);
        let centre = Vec3::from(frame.centre).as_dvec3();
        let level = |axis: Vec3A| Vec3::from(axis).as_dvec3().dot(centre);
        let middle = [axes.x_axis, axes.y_axis, axes.z_axis].map(level);
        let side = |sign: f64| {
            Vec3A::from_array(core::array::from_fn(|i| {
                (middle[i] + sign * f64::from(half_size[i])) as f32
            }))
        };
        Self { axes, high: side(1.0), low: side(-1.0) }
    }
}

impl Distance for Cuboid {
    #[inline]
    fn near(&self, x: Vec3A, reach: f32) -> Option<Near> {
        let along = self.axes.transpose() * x;
        let (above, below) = (along - self.high, self.low - along);
        let outside = above.max(below);
        if outside.max_element() > reach {
            return None;
        }
        let signs = Vec3A::select(above.cmpge(below), Vec3A::ONE, Vec3A::NEG_ONE);
        let out = outside.max(Vec3A::ZERO);
        let squared = out.length_squared();
        if squared > 0.0 {
            let length = squared.sqrt();
            let normal = self.axes * (out * signs / length);
            return (length <= reach).then_some(Near { distance: length, normal });
        }
        let distance = outside.max_element();
        let axis = if outside.x == distance {
            Vec3A::X
        } else if outside.y == distance {
            Vec3A::Y
        } else {
            Vec3A::Z
        };
        Some(Near { distance, normal: self.axes * (axis * signs) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_edges_and_corners_are_where_they_are() {
        let frame = Frame {
            centre: Vec3A::new(0.0, -500.0, 0.0),
            rotation: Quat::IDENTITY,
            scale: Vec3::ONE,
        };
        let floor = Cuboid::new(&frame, Vec3::splat(500.0));
        let near = floor.near(Vec3A::new(3.0, 1e-5, 2.0), 1.0).unwrap();
        assert_eq!((near.distance, near.normal), (1e-5, Vec3A::Y));
        assert_eq!(floor.near(Vec3A::new(3.0, -0.25, 2.0), 1.0).unwrap().distance, -0.25);
        let edge = floor.near(Vec3A::new(500.3, 0.4, 0.0), 1.0).unwrap();
        assert!((edge.distance - 0.5).abs() < 1e-4);
        assert!(floor.near(Vec3A::new(500.3, 0.4, 0.0), 0.45).is_none());
    }
}
