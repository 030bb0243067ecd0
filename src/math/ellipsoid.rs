//! The ellipsoid of an oriented particle: inertia, and support.
//!
//! ```text
//!          ______
//!       ／   ·x   ＼      n  outward normal of what it touches
//!      (     │ r    )     r  = −P n/h(n), from the centre to the point that touches
//!       ＼___↓____／      h  = √(nᵀP n), how far the ellipsoid reaches against n
//!   ─────────┴──────      P  = R diag(a², b², c²) Rᵀ
//! ```

use bevy::math::{Mat3A, Quat, Vec2, Vec3, Vec3A};

/// Principal moments of inertia (kg m²) of a solid ellipsoid of `mass` kg and semi-axes `radii` m.
pub fn inertia(mass: f32, radii: Vec3) -> Vec3 {
    let r2 = radii * radii;
    mass / 5.0 * Vec3::new(r2.y + r2.z, r2.z + r2.x, r2.x + r2.y)
}

/// Moment of inertia (kg m²) about z of a flat ellipse of `mass` kg and semi-axes `radii.x`, `radii.y` m.
pub fn planar_inertia(mass: f32, radii: Vec3) -> f32 {
    mass / 4.0 * (radii.x * radii.x + radii.y * radii.y)
}

/// Radii are no less than this part of the greatest, so that lengths in units of each are numbers.
const LEAST_PART: f32 = 1e-3;
/// Least and greatest radius (m) of which squares are calculated with.
const RADII: [f32; 2] = [1e-9, 1e9];

/// An ellipsoid about its centre, turned; in a planar body, the ellipse of its plane.
#[derive(Clone, Copy, Debug)]
pub struct Ellipsoid {
    /// Unit vectors along its semi-axes, as columns.
    axes: Mat3A,
    /// Semi-axes (m).
    radii: Vec3A,
    /// Greatest semi-axis (m).
    greatest: f32,
}

impl Ellipsoid {
    /// An ellipsoid of these semi-axes (m). Those that are no positive number, or much less than the
    /// greatest, count as a thousandth of that.
    #[inline]
    pub fn new(rotation: Quat, radii: Vec3) -> Self {
        Self::of_axes(Mat3A::from_quat(rotation), usable(radii.into()))
    }

    /// The ellipse with semi-axes `radii.x` and `radii.y` (m) in the plane of x and y; what else
    /// `rotation` does than turn about z is left out.
    #[inline]
    pub fn flat(rotation: Quat, radii: Vec3) -> Self {
        let [x, y, z, w] = rotation.to_array();
        // Where its x axis points.
        let mut along = Vec2::new(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z));
        if (x, y) != (0.0, 0.0) {
            along = along.normalize_or(Vec2::X);
        }
        let axes = Mat3A::from_cols(
            Vec3A::new(along.x, along.y, 0.0),
            Vec3A::new(-along.y, along.x, 0.0),
            Vec3A::Z,
        );
        let across = Vec3A::new(1.0, 1.0, 0.0);
        Self::of_axes(axes, usable(across * Vec3A::from(radii)) * across)
    }

    /// A ball of `radius` m.
    pub fn ball(radius: f32) -> Self {
        Self::of_axes(Mat3A::IDENTITY, usable(Vec3A::splat(radius)))
    }

    #[inline]
    fn of_axes(axes: Mat3A, radii: Vec3A) -> Self {
        Self { axes, radii, greatest: radii.max_element() }
    }

    /// Greatest semi-axis (m): nothing of it is further from its centre.
    #[inline]
    pub fn greatest(&self) -> f32 {
        self.greatest
    }

    /// A direction in units in which it is the unit ball: diag(a, b, c) Rᵀ n. As long as h(n).
    #[inline]
    pub fn covector(&self, n: Vec3A) -> Vec3A {
        let Mat3A { x_axis, y_axis, z_axis } = self.axes;
        self.radii * Vec3A::new(x_axis.dot(n), y_axis.dot(n), z_axis.dot(n))
    }

    /// The offset (m) of a point given in units in which it is the unit ball.
    #[inline]
    pub fn offset(&self, unit: Vec3A) -> Vec3A {
        self.axes * (self.radii * unit)
    }

    /// An offset (m) in units in which it is the unit ball. A flat ellipse has no extent along z.
    #[inline]
    pub fn unit(&self, offset: Vec3A) -> Vec3A {
        let Mat3A { x_axis, y_axis, z_axis } = self.axes;
        let own = Vec3A::new(x_axis.dot(offset), y_axis.dot(offset), z_axis.dot(offset));
        own / Vec3A::select(self.radii.cmpgt(Vec3A::ZERO), self.radii, Vec3A::INFINITY)
    }

    /// The direction (not of unit length) of the normal where it, grown, passes through a point, given
    /// in units in which it is the unit ball.
    #[inline]
    pub fn gradient(&self, unit: Vec3A) -> Vec3A {
        self.axes
            * (unit / Vec3A::select(self.radii.cmpgt(Vec3A::ZERO), self.radii, Vec3A::INFINITY))
    }

    /// How far it reaches along the unit vector `n`, h(n) = √(nᵀP n) (m).
    #[inline]
    pub fn support(&self, n: Vec3A) -> f32 {
        self.covector(n).length()
    }

    /// From the centre to the point that touches a plane with unit normal `n` first, −P n/h(n) (m).
    #[inline]
    pub fn contact_offset(&self, n: Vec3A) -> Vec3A {
        let unit = self.covector(n);
        self.offset(unit) * -unit.length_recip()
    }
}

/// Semi-axes that can be calculated with; NaN counts as 0.
#[inline]
fn usable(radii: Vec3A) -> Vec3A {
    let [least, most] = RADII;
    // The greater of two leaves out what is no number.
    let radii = radii.max(Vec3A::ZERO).min(Vec3A::splat(most));
    radii.max(Vec3A::splat((LEAST_PART * radii.max_element()).max(least)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_point_lies_further_along_the_normal() {
        let radii = Vec3::new(0.5, 0.2, 0.9);
        let rotation = Quat::from_euler(bevy::math::EulerRot::XYZ, 0.3, -1.2, 0.5);
        let shape = Ellipsoid::new(rotation, radii);
        for i in 0..50 {
            let unit = |i: i32, k: f32| {
                let at = |k: f32| (i as f32 * k).sin();
                Vec3::new(at(1.3 * k), at(0.7 * k), at(2.9 * k) + 1e-3).normalize()
            };
            let n = unit(i, 1.0);
            let touching = Vec3::from(shape.contact_offset(n.into()));
            let h = shape.support(n.into());
            assert!((n.dot(touching) + h).abs() < 1e-6, "the point lies on the plane");
            let own = rotation.inverse() * touching / radii;
            assert!((own.length() - 1.0).abs() < 1e-5, "and on the ellipsoid");
            for j in 0..200 {
                let other = rotation * (radii * unit(j, 1.7));
                assert!(n.dot(other) <= h + 1e-6);
            }
        }
    }

    #[test]
    fn ellipses_reach_as_far_as_the_golden_ones() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/oriented_particles.json");
        let text = std::fs::read_to_string(path).expect("golden data exists");
        let data: serde_json::Value = serde_json::from_str(&text).expect("golden data is JSON");
        let cases = data["support"].as_array().expect("cases");
        assert!(cases.len() > 20);
        for case in cases {
            let number = |key: &str| case[key].as_f64().expect("a number") as f32;
            let pair = |key: &str| {
                let part = |i: usize| case[key][i].as_f64().expect("a number") as f32;
                Vec3A::new(part(0), part(1), 0.0)
            };
            let radii = Vec3::new(number("a"), number("b"), 0.3);
            let rotation = Quat::from_rotation_z(number("phi"));
            for shape in [Ellipsoid::flat(rotation, radii), Ellipsoid::new(rotation, radii)] {
                let n = pair("n");
                assert!((shape.support(n) - number("support")).abs() < 1e-6, "{case}");
                let offset = shape.contact_offset(n);
                assert!(offset.distance(pair("contact_offset")) < 2e-6, "{case}: {offset}");
            }
        }
    }

    #[test]
    fn nonsense_is_a_small_ball() {
        for radii in
            [Vec3::NAN, Vec3::ZERO, Vec3::NEG_ONE, Vec3::INFINITY, Vec3::new(1.0, 0.0, f32::NAN)]
        {
            for shape in
                [Ellipsoid::new(Quat::IDENTITY, radii), Ellipsoid::flat(Quat::IDENTITY, radii)]
            {
                let n = Vec3A::new(0.6, 0.8, 0.0);
                assert!(shape.support(n) > 0.0 && shape.support(n).is_finite(), "{radii}");
                assert!(shape.contact_offset(n).is_finite(), "{radii}");
            }
        }
    }

    #[test]
    fn units_go_out_and_back() {
        let rotation = Quat::from_rotation_z(0.4);
        let offset = Vec3A::new(0.3, -0.2, 0.0);
        for shape in [
            Ellipsoid::new(rotation, Vec3::new(0.5, 0.2, 0.9)),
            Ellipsoid::flat(rotation, Vec3::new(0.5, 0.2, 0.9)),
        ] {
            assert!(shape.offset(shape.unit(offset)).distance(offset) < 1e-6);
        }
    }

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
