//! Rotations by small vectors: the exponential map, and the free motion of a rigid particle.

use bevy::math::{Mat3A, Quat, Vec3, Vec3A, ops};

/// The rotation by the vector `angle` (rad, world axes): exp(`angle`/2).
#[inline]
pub fn rotation_from_vector(angle: Vec3) -> Quat {
    let half = 0.5 * angle;
    let squared = half.length_squared();
    let (sinc, cos) = small_sinc_cos(squared).unwrap_or_else(|| {
        let half_angle = squared.sqrt();
        let (sin, cos) = ops::sin_cos(half_angle);
        (sin / half_angle, cos)
    });
    let v = half * sinc;
    Quat::from_xyzw(v.x, v.y, v.z, cos)
}

/// sin(x)/x and cos(x) of a small x by their series in x², exact to f32: without root, table or division.
#[inline(always)]
fn small_sinc_cos(squared: f32) -> Option<(f32, f32)> {
    const SINC: [f32; 3] = [-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0];
    const COS: [f32; 3] = [-0.5, 1.0 / 24.0, -1.0 / 720.0];
    if squared < 1e-4 {
        // What constraints turn in a substep is mostly this small.
        return Some((1.0 + squared * SINC[0], 1.0 + squared * COS[0]));
    }
    let series = |c: [f32; 3]| 1.0 + squared * (c[0] + squared * (c[1] + squared * c[2]));
    (squared < 0.01).then(|| (series(SINC), series(COS)))
}

/// The shortest rotation vector (rad) of `rotation`, at most π long.
pub fn vector_from_rotation(rotation: Quat) -> Vec3 {
    let v = rotation.xyz();
    let sin = v.length();
    if sin < 1e-4 {
        return 2.0 * v * if rotation.w < 0.0 { -1.0 } else { 1.0 };
    }
    // Of q and −q the one with the positive w turns less.
    let angle = 2.0 * ops::atan2(sin, rotation.w.abs());
    v * (angle / sin) * if rotation.w < 0.0 { -1.0 } else { 1.0 }
}

/// `rotation` turned by the vector `angle` (rad, world axes), kept at unit length.
#[inline]
pub fn turned(rotation: Quat, angle: Vec3) -> Quat {
    unit_or(rotation_from_vector(angle) * rotation, rotation)
}

/// `rotation` at unit length; `None` where it is none: not finite, or without length.
pub fn unit(rotation: Quat) -> Option<Quat> {
    let length_squared = rotation.length_squared();
    let usable = length_squared.is_finite() && length_squared > 1e-6;
    usable.then(|| if rotation.is_normalized() { rotation } else { rotation.normalize() })
}

/// The part of `rotation` that turns about z; none where it turns half round about another axis.
pub fn about_z(rotation: Quat) -> Quat {
    let part = Quat::from_xyzw(0.0, 0.0, rotation.z, rotation.w);
    let length = part.length();
    if length > 1e-6 && length.is_finite() { part / length } else { Quat::IDENTITY }
}

/// The angle (rad, −π to π) of `rotation`, a turn about z.
#[inline]
pub fn planar_angle(rotation: Quat) -> f32 {
    let (z, w) =
        if rotation.w < 0.0 { (-rotation.z, -rotation.w) } else { (rotation.z, rotation.w) };
    let s = z * z;
    if s < 0.09 {
        // The series of 2 arcsin z, exact to f32: without table.
        let series = 35.0 / 1152.0 + s * (63.0 / 2816.0);
        return 2.0
            * z
            * (1.0 + s * (1.0 / 6.0 + s * (3.0 / 40.0 + s * (5.0 / 112.0 + s * series))));
    }
    2.0 * ops::atan2(z, w)
}

/// `rotation`, a turn about z, turned by `angle` (rad) about z, kept at unit length.
#[inline(always)]
pub fn turned_in_plane(rotation: Quat, angle: f32) -> Quat {
    let half = 0.5 * angle;
    let (sin, cos) = match small_sinc_cos(half * half) {
        Some((sinc, cos)) => (half * sinc, cos),
        None => ops::sin_cos(half),
    };
    let (z, w) = (rotation.z * cos + rotation.w * sin, rotation.w * cos - rotation.z * sin);
    unit_or(Quat::from_xyzw(0.0, 0.0, z, w), rotation)
}

/// `q` at unit length, or `other` where it has none.
#[inline]
fn unit_or(q: Quat, other: Quat) -> Quat {
    // The inverse root near 1, where a unit quaternion stays: without root or division.
    let length = q.length_squared();
    let near = (length - 1.0).abs() < 1e-2;
    let scale = if near { 1.5 - 0.5 * length } else { length.sqrt().recip() };
    if scale.is_finite() { q * scale } else { other }
}

/// Angular acceleration (rad/s²) of a free body that turns by `spin` (rad/s), both along its principal axes
/// of inertia `inertia` (kg m²): I⁻¹(Iω × ω).
#[inline]
fn gyroscopic_acceleration(spin: Vec3A, inertia: Vec3A) -> Vec3A {
    let acceleration = (inertia * spin).cross(spin) / inertia;
    Vec3A::select(inertia.cmpgt(Vec3A::ZERO), acceleration, Vec3A::ZERO)
}

/// One midpoint step of torque-free motion: the change of `angular_velocity` (rad/s), and the turn
/// (rad, world axes), over `h` seconds.
///
/// Increments, so that a caller sums small numbers only. Holds |L| to 5e-5 over 5 s at 1024 Hz. Worked out
/// in the body's axes, where turning them by half a step about ω leaves ω as it is.
pub fn free_motion(rotation: Quat, angular_velocity: Vec3, inertia: Vec3, h: f32) -> (Vec3, Vec3) {
    let axes = Mat3A::from_quat(rotation);
    let inertia = Vec3A::from(inertia);
    let spin = axes.transpose() * Vec3A::from(angular_velocity);
    let start = gyroscopic_acceleration(spin, inertia);
    let half = 0.5 * h;
    let middle_spin = spin + half * (start - half * spin.cross(start));
    let middle = gyroscopic_acceleration(middle_spin, inertia);
    let change = h * (axes * (middle + half * spin.cross(middle)));
    let turn = h * (Vec3A::from(angular_velocity) + half * (axes * start));
    (change.into(), turn.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_turns_by_its_length() {
        let q = rotation_from_vector(Vec3::Z * core::f32::consts::FRAC_PI_2);
        assert!((q * Vec3::X).distance(Vec3::Y) < 1e-6);
        assert_eq!(rotation_from_vector(Vec3::ZERO), Quat::IDENTITY);
    }

    #[test]
    fn vector_and_rotation_are_inverse() {
        for angle in [1e-6f32, 1e-3, 0.19, 0.21, 1.0, 3.1] {
            let v = Vec3::new(0.6, -0.48, 0.64) * angle;
            let q = rotation_from_vector(v);
            assert!((q.length() - 1.0).abs() < 2e-7, "{angle}");
            for q in [q, -q] {
                assert!(vector_from_rotation(q).distance(v) < 2e-6 * angle.max(0.1), "{angle}");
            }
        }
        assert_eq!(vector_from_rotation(Quat::IDENTITY), Vec3::ZERO);
    }

    #[test]
    fn what_is_no_rotation_has_no_unit() {
        let q = Quat::from_rotation_x(0.4);
        assert_eq!(unit(q), Some(q));
        assert!(unit(q * 3.0).expect("has a length").angle_between(q) < 1e-3);
        for bad in [Quat::NAN, q * 0.0, Quat::from_xyzw(f32::INFINITY, 0.0, 0.0, 1.0), q * 1e30] {
            assert_eq!(unit(bad), None);
        }
    }

    #[test]
    fn what_turns_about_z_is_kept_alone() {
        let flat = Quat::from_rotation_z(0.7);
        assert!(about_z(flat).angle_between(flat) < 1e-3);
        let tilted = about_z(flat * Quat::from_rotation_x(0.4));
        assert!((tilted.x, tilted.y) == (0.0, 0.0) && tilted.is_normalized());
        for lost in [Quat::from_rotation_y(core::f32::consts::PI), Quat::NAN] {
            assert!(about_z(lost).is_normalized() && about_z(lost).x == 0.0);
        }
    }

    #[test]
    fn the_angle_of_a_turn_about_z_comes_back() {
        for i in -310..=310 {
            let angle = 0.01 * i as f32;
            let q = Quat::from_rotation_z(angle);
            assert!((planar_angle(q) - angle).abs() < 4e-7, "{angle} {}", planar_angle(q));
            assert!((planar_angle(-q) - angle).abs() < 4e-7, "{angle}");
        }
    }

    #[test]
    fn in_the_plane_a_turn_is_that_of_space() {
        let mut flat = Quat::from_rotation_z(0.3);
        for angle in [1e-5f32, 0.02, -0.19, 0.3, -2.0, 3.0] {
            let solid = turned(flat, Vec3::Z * angle);
            flat = turned_in_plane(flat, angle);
            assert!(flat.angle_between(solid) < 1e-3 && (flat.length() - 1.0).abs() < 1e-6);
            assert!((flat.z - solid.z).abs() < 1e-6);
        }
    }

    #[test]
    fn tiny_turns_are_not_lost() {
        let q = rotation_from_vector(Vec3::X * 1e-6);
        assert!((q.x - 0.5e-6).abs() < 1e-12);
    }

    #[test]
    fn angular_momentum_of_an_ellipsoid_is_kept() {
        let inertia = Vec3::new(0.05, 0.2, 0.13);
        let mut rotation = Quat::from_euler(bevy::math::EulerRot::XYZ, 0.3, -0.2, 0.5);
        let mut omega = Vec3::new(1.0, 3.0, 0.5);
        let momentum = |q: Quat, w: Vec3| q * (inertia * (q.inverse() * w));
        let before = momentum(rotation, omega);
        for _ in 0..5 * 1024 {
            let (change, turn) = free_motion(rotation, omega, inertia, 1.0 / 1024.0);
            omega += change;
            rotation = turned(rotation, turn);
        }
        let after = momentum(rotation, omega);
        assert!(after.distance(before) < 3e-3 * before.length(), "{before} {after}");
        assert!((after.length() - before.length()).abs() < 5e-5 * before.length());
    }
}
