//! The ellipsoid of an oriented particle.

use bevy::math::Vec3;

/// Principal moments of inertia (kg m²) of a solid ellipsoid of `mass` kg and semi-axes `radii` m.
pub fn inertia(mass: f32, radii: Vec3) -> Vec3 {
    let r2 = radii * radii;
    mass / 5.0 * Vec3::new(r2.y + r2.z, r2.z + r2.x, r2.x + r2.y)
}

/// Moment of inertia (kg m²) about z of a flat ellipse of `mass` kg and semi-axes `radii.x`, `radii.y` m.
pub fn planar_inertia(mass: f32, radii: Vec3) -> f32 {
    mass / 4.0 * (radii.x * radii.x + radii.y * radii.y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ball_has_two_fifths_m_r_squared() {
        let i = inertia(3.0, Vec3::splat(0.5));
        assert!((i - Vec3::splat(0.4 * 3.0 * 0.25)).length() < 1e-6);
    }

    #[test]
    fn a_disc_has_half_m_r_squared() {
        assert!((planar_inertia(2.0, Vec3::splat(0.3)) - 0.5 * 2.0 * 0.09).abs() < 1e-7);
    }
}
