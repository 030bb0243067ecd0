//! The rotation that fits a moment matrix best: the R that maximises tr(RᵀA), among rotations only, so
//! that nothing is ever mirrored.
//!
//! In the plane it is the argument of one complex sum. In space it is found by Newton's method on the
//! rotations, started from the last one; where that is too far away, Horn's quaternion \[H87\] is the
//! answer from anywhere.

use super::rotation::rotation_from_vector;
use bevy::math::{DVec4, Mat3, Mat3A, Quat, Vec2, Vec3, Vec3A};

/// Newton's method stops when a step is below this (rad).
const FINE: f32 = 1e-3;
/// Above this step (rad) Newton's method is not trusted.
const COARSE: f32 = 0.5;
const MOST_STEPS: usize = 5;

/// The moment matrix (kg m²) of a solid ellipsoid of `mass` kg and semi-axes `radii` m that turned from
/// `rest` to `rotation`: m/5 R diag(a², b², c²) R̄ᵀ.
pub fn ellipsoid_moment(mass: f32, radii: Vec3, rotation: Quat, rest: Quat) -> Mat3 {
    Mat3::from_quat(rotation) * resting_moment(mass, radii, rest)
}

/// The part of [`ellipsoid_moment`] that does not change: m/5 diag(a², b², c²) R̄ᵀ.
pub fn resting_moment(mass: f32, radii: Vec3, rest: Quat) -> Mat3 {
    Mat3::from_diagonal(0.2 * mass * radii * radii) * Mat3::from_quat(rest).transpose()
}

/// cos and sin of the angle of `q`, a rotation about z.
#[inline]
pub fn planar_rotation(q: Quat) -> Vec2 {
    // A quaternion of unit length is a rotation by twice its angle.
    Vec2::new(q.w * q.w - q.z * q.z, 2.0 * q.w * q.z)
}

/// `z`/|z|, or `old` where `z` has no direction.
#[inline]
pub fn fit_planar(z: Vec2, old: Vec2) -> Vec2 {
    let squared = z.length_squared();
    if squared > f32::MIN_POSITIVE && squared.is_finite() { z / squared.sqrt() } else { old }
}

/// The axial vector of M − Mᵀ.
#[inline]
fn axial(m: &Mat3A) -> Vec3A {
    Vec3A::new(m.y_axis.z - m.z_axis.y, m.z_axis.x - m.x_axis.z, m.x_axis.y - m.y_axis.x)
}

/// The axial vector of R Aᵀ: the torque that turns what has the moment matrix `a` toward `rotation`.
#[inline]
pub fn torque(rotation: &Mat3A, a: &Mat3A) -> Vec3A {
    a.x_axis.cross(rotation.x_axis)
        + a.y_axis.cross(rotation.y_axis)
        + a.z_axis.cross(rotation.z_axis)
}

/// The rotation that fits `a` best, started from `start`; that itself where `a` says nothing.
pub fn fit_rotation(a: &Mat3A, start: Quat) -> Quat {
    let size = a.x_axis.abs().max(a.y_axis.abs()).max(a.z_axis.abs()).max_element();
    if !(size > f32::MIN_POSITIVE && size.is_finite()) {
        return start;
    }
    let mut rotation = start;
    for _ in 0..MOST_STEPS {
        match newton_step(a, rotation) {
            Some(step) if step.length_squared() <= COARSE * COARSE => {
                rotation = (rotation * rotation_from_vector(step)).normalize();
                if step.length_squared() <= FINE * FINE {
                    return rotation;
                }
            }
            _ => return horn(a, start),
        }
    }
    horn(a, start)
}

/// One step of Newton's method (rad, in the frame of `rotation`), or `None` where tr(RᵀA) is not concave.
#[inline]
fn newton_step(a: &Mat3A, rotation: Quat) -> Option<Vec3> {
    let b = Mat3A::from_quat(rotation).transpose() * *a;
    let (xx, yy, zz) = (b.x_axis.x, b.y_axis.y, b.z_axis.z);
    let trace = xx + yy + zz;
    // A line of points leaves the turn about itself open: a little is added so that none is made.
    let open = 1e-5 * trace;
    let (hx, hy, hz) = (trace - xx + open, trace - yy + open, trace - zz + open);
    let xy = -0.5 * (b.y_axis.x + b.x_axis.y);
    let xz = -0.5 * (b.z_axis.x + b.x_axis.z);
    let yz = -0.5 * (b.z_axis.y + b.y_axis.z);
    // Inverse of the symmetric matrix by its cofactors.
    let cx = hy * hz - yz * yz;
    let cxy = xz * yz - xy * hz;
    let cxz = xy * yz - xz * hy;
    let determinant = hx * cx + xy * cxy + xz * cxz;
    let minor = hx * hy - xy * xy;
    if !(hx > 0.0 && minor > 0.0 && determinant > 0.0) {
        return None;
    }
    let g = axial(&b);
    let cy = hx * hz - xz * xz;
    let cyz = xy * xz - hx * yz;
    let step = Vec3::new(
        cx * g.x + cxy * g.y + cxz * g.z,
        cxy * g.x + cy * g.y + cyz * g.z,
        cxz * g.x + cyz * g.y + minor * g.z,
    ) / determinant;
    step.is_finite().then_some(step)
}

/// The rotation that fits `a` best, wherever it is: the eigenvector of the greatest eigenvalue of Horn's
/// matrix \[H87\]; of several, the one nearest to `start`.
pub fn horn(a: &Mat3A, start: Quat) -> Quat {
    let a = Mat3::from(*a).as_dmat3();
    let (xx, xy, xz) = (a.x_axis.x, a.y_axis.x, a.z_axis.x);
    let (yx, yy, yz) = (a.x_axis.y, a.y_axis.y, a.z_axis.y);
    let (zx, zy, zz) = (a.x_axis.z, a.y_axis.z, a.z_axis.z);
    // Rows in the order x, y, z, w, as the quaternion's.
    let mut n = [
        [xx - yy - zz, xy + yx, xz + zx, zy - yz],
        [xy + yx, yy - xx - zz, yz + zy, xz - zx],
        [xz + zx, yz + zy, zz - xx - yy, yx - xy],
        [zy - yz, xz - zx, yx - xy, xx + yy + zz],
    ];
    let size = n.iter().flatten().fold(0.0f64, |size, v| size.max(v.abs()));
    if !(size > 0.0 && size.is_finite()) {
        return start;
    }
    n.iter_mut().flatten().for_each(|v| *v /= size);
    let vectors = diagonalise(&mut n);
    let greatest = (0..4).map(|i| n[i][i]).fold(f64::NEG_INFINITY, f64::max);
    let old = DVec4::new(start.x.into(), start.y.into(), start.z.into(), start.w.into());
    let (mut nearest, mut any) = (DVec4::ZERO, DVec4::ZERO);
    for i in (0..4).filter(|i| n[*i][*i] > greatest - 1e-6) {
        let v = DVec4::from_array(core::array::from_fn(|row| vectors[row][i]));
        nearest += v * v.dot(old);
        any = v;
    }
    let best = if nearest.length_squared() > 1e-6 { nearest } else { any }.as_vec4();
    let best = Quat::from_vec4(best.normalize_or(bevy::math::Vec4::W));
    if best.is_finite() { best } else { start }
}

/// Diagonalises a symmetric matrix by Jacobi's rotations; the eigenvectors are the columns returned.
fn diagonalise(n: &mut [[f64; 4]; 4]) -> [[f64; 4]; 4] {
    let mut vectors = [[0.0; 4]; 4];
    (0..4).for_each(|i| vectors[i][i] = 1.0);
    for _ in 0..12 {
        let rest: f64 =
            (0..4).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| n[i][j].abs()).sum();
        if rest < 1e-14 {
            break;
        }
        for p in 0..3 {
            for q in p + 1..4 {
                if n[p][q].abs() < 1e-18 {
                    continue;
                }
                let theta = (n[q][q] - n[p][p]) / (2.0 * n[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for row in n.iter_mut() {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                let (above, below) = (n[p], n[q]);
                n[p] = core::array::from_fn(|k| c * above[k] - s * below[k]);
                n[q] = core::array::from_fn(|k| s * above[k] + c * below[k]);
                for row in &mut vectors {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
            }
        }
    }
    vectors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: &mut u32) -> f32 {
        *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (*seed >> 8) as f32 / (1u32 << 23) as f32 - 1.0
    }

    fn random_quat(seed: &mut u32) -> Quat {
        let v = bevy::math::Vec4::from_array(core::array::from_fn(|_| random(seed)));
        Quat::from_vec4(v.normalize())
    }

    #[test]
    fn a_rotated_moment_gives_the_rotation_from_anywhere() {
        let mut seed = 1;
        for _ in 0..500 {
            let (q, start) = (random_quat(&mut seed), random_quat(&mut seed));
            let spread = Vec3::new(1.0, 0.3, 0.02);
            let basis = Mat3::from_quat(random_quat(&mut seed));
            let a = Mat3::from_quat(q) * basis * Mat3::from_diagonal(spread) * basis.transpose();
            let a = Mat3A::from(a);
            let fit = fit_rotation(&a, start);
            assert!(fit.angle_between(q) < 2e-3, "{fit} {q}");
            assert!(horn(&a, start).dot(q).abs() > 1.0 - 1e-6);
        }
    }

    #[test]
    fn the_fit_is_a_maximum_for_any_matrix_and_never_a_mirror() {
        let mut seed = 7;
        for _ in 0..500 {
            let a = Mat3A::from_cols_array(&core::array::from_fn(|_| random(&mut seed)));
            let start = random_quat(&mut seed);
            let fit = fit_rotation(&a, start);
            let value = |q: Quat| (Mat3A::from_quat(q).transpose() * a).to_cols_array_2d();
            let trace = |q: Quat| (0..3).map(|i| value(q)[i][i]).sum::<f32>();
            assert!(fit.is_normalized());
            for _ in 0..200 {
                assert!(trace(fit) >= trace(random_quat(&mut seed)) - 1e-4);
            }
        }
    }

    #[test]
    fn two_points_turn_no_more_than_they_must() {
        // A of two plain points is of rank one: the turn about their line is open, and stays as it was.
        let (rest, now) = (Vec3::X, Vec3::new(0.8, 0.6, 0.0));
        let a =
            Mat3A::from_cols((now * rest.x).into(), (now * rest.y).into(), (now * rest.z).into());
        let fit = fit_rotation(&a, Quat::IDENTITY);
        assert!((fit * rest).distance(now) < 1e-4);
        assert!(fit.xyz().normalize().distance(Vec3::Z) < 1e-4, "{fit}");
        let back = fit_rotation(&-a, Quat::IDENTITY);
        assert!((back * rest).distance(-now) < 1e-4);
    }

    #[test]
    fn a_matrix_that_says_nothing_leaves_the_rotation() {
        let q = Quat::from_rotation_x(0.3);
        for a in
            [Mat3A::ZERO, Mat3A::from_diagonal(Vec3::NAN), Mat3A::from_diagonal(Vec3::INFINITY)]
        {
            assert_eq!(fit_rotation(&a, q), q);
            assert_eq!(horn(&a, q), q);
        }
        assert_eq!(fit_planar(Vec2::ZERO, Vec2::Y), Vec2::Y);
        assert_eq!(fit_planar(Vec2::NAN, Vec2::Y), Vec2::Y);
    }
}
