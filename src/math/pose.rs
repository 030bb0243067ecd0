//! Where something stands, and how it moves over a tick.

use super::rotation::unit;
use bevy::{
    math::{DVec3, Quat, Vec3},
    prelude::{Reflect, Transform},
};

/// A finite placement: scale, then rotation, then translation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Reflect)]
pub struct Pose {
    /// Translation (m, world).
    pub translation: Vec3,
    /// Rotation (world).
    pub rotation: Quat,
    /// Scale along the axes of its own frame.
    pub scale: Vec3,
}

impl Pose {
    /// The pose of `transform`, or `None` where a component is not finite or the rotation has no length.
    pub fn new(transform: Transform) -> Option<Self> {
        let Transform { translation, rotation, scale } = transform;
        let finite = translation.is_finite() && scale.is_finite();
        let rotation = unit(rotation).filter(|_| finite)?;
        Some(Self { translation, rotation, scale })
    }

    /// A point of the pose's frame, in the world (f64, so that nothing is lost far from the origin).
    pub fn transform_point(&self, point: Vec3) -> DVec3 {
        self.translation.as_dvec3() + (self.rotation * (self.scale * point)).as_dvec3()
    }

    /// The point of the pose's frame that lies at `world`; an axis of scale 0 gives 0.
    pub fn inverse_transform_point(&self, world: DVec3) -> Vec3 {
        let local = self.rotation.inverse() * (world - self.translation.as_dvec3()).as_vec3();
        let divide = |v: f32, s: f32| if s == 0.0 { 0.0 } else { v / s };
        Vec3::new(
            divide(local.x, self.scale.x),
            divide(local.y, self.scale.y),
            divide(local.z, self.scale.z),
        )
    }

    /// The pose a fraction `t` (0 to 1) of the way to `end`.
    pub fn interpolate(&self, end: &Self, t: f32) -> Self {
        if self == end || t >= 1.0 {
            return *end;
        }
        Self {
            translation: self.translation.lerp(end.translation, t),
            rotation: self.rotation.slerp(end.rotation, t),
            scale: self.scale.lerp(end.scale, t),
        }
    }
}

/// The motion of a pose over one tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TargetMotion {
    /// Where the last tick left it.
    pub start: Pose,
    /// Where this tick leaves it.
    pub end: Pose,
}

impl TargetMotion {
    /// The pose at fraction `t` (0 to 1) of the tick.
    pub fn at(&self, t: f32) -> Pose {
        self.start.interpolate(&self.end, t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::f32::consts::FRAC_PI_2;

    #[test]
    fn points_go_out_and_back() {
        let pose = Pose::new(
            Transform::from_xyz(10_000.0, 2.0, -3.0)
                .with_rotation(Quat::from_rotation_y(1.0))
                .with_scale(Vec3::new(2.0, 0.5, 1.0)),
        )
        .unwrap();
        let point = Vec3::new(0.1, -0.7, 0.3);
        let back = pose.inverse_transform_point(pose.transform_point(point));
        assert!(back.distance(point) < 1e-6);
    }

    #[test]
    fn half_way_is_half_the_turn() {
        let start = Pose::new(Transform::IDENTITY).unwrap();
        let end = Pose::new(Transform::from_rotation(Quat::from_rotation_z(FRAC_PI_2))).unwrap();
        let middle = TargetMotion { start, end }.at(0.5);
        assert!(middle.rotation.angle_between(Quat::from_rotation_z(FRAC_PI_2 / 2.0)) < 1e-3);
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in [
            Transform::from_xyz(f32::NAN, 0.0, 0.0),
            Transform::from_scale(Vec3::splat(f32::INFINITY)),
            Transform::from_rotation(Quat::from_xyzw(0.0, 0.0, 0.0, 0.0)),
        ] {
            assert_eq!(Pose::new(bad), None);
        }
    }
}
