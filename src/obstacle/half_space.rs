//! The half-space: solid below a plane of any direction.
//!
//! ```text
//!        ↑ n = R·Y
//!  ──────┴──────   n·x = n·t         C = n·x − n·t − r ≥ 0
//!  ▒▒▒▒▒▒▒▒▒▒▒▒▒
//! ```

use super::Surface;
use crate::math::pose::Pose;
use bevy::{math::DVec3, prelude::*};

/// The plane of a half-space at `pose`; a negative scale along y turns it over.
pub(super) fn surface(pose: &Pose, origin: DVec3) -> Option<Surface> {
    let up = if pose.scale.y < 0.0 { Vec3::NEG_Y } else { Vec3::Y };
    let normal = (pose.rotation * up).try_normalize()?;
    let level = normal.as_dvec3().dot(pose.translation.as_dvec3() - origin) as f32;
    Some(Surface { normal, level })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_faces_where_its_transform_says() {
        let pose = Pose::new(
            Transform::from_xyz(0.0, 2.0, 0.0)
                .with_rotation(Quat::from_rotation_z(core::f32::consts::FRAC_PI_2)),
        )
        .unwrap();
        let surface = surface(&pose, DVec3::new(1.0, 0.0, 0.0)).unwrap();
        assert!(surface.normal.distance(Vec3::NEG_X) < 1e-6);
        assert!((surface.level - 1.0).abs() < 1e-6);
    }
}
