//! Round solids: everything within a radius of a point or a segment, and the ellipsoid.

use super::solid::{Distance, Frame, Near};
use bevy::{
    math::{Mat3A, Vec3A},
    prelude::*,
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Ball {
    pub centre: Vec3A,
    pub radius: f32,
}

impl Distance for Ball {
    #[inline]
    fn near(&self, x: Vec3A, reach: f32) -> Option<Near> {
        let away = x - self.centre;
        let squared = away.length_squared();
        let limit = self.radius + reach;
        (squared <= limit * limit).then(|| Near::along(away, squared.sqrt(), self.radius, Vec3A::Y))
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Capsule {
    middle: Vec3A,
    axis: Vec3A,
    half_length: f32,
    radius: f32,
    /// A direction across, for points on the axis.
    aside: Vec3A,
}

impl Capsule {
    pub fn new(start: Vec3A, end: Vec3A, radius: f32) -> Self {
        let along = end - start;
        let axis = along.normalize_or(Vec3A::Y);
        Self {
            middle: 0.5 * (start + end),
            axis,
            aside: Vec3::from(axis).any_orthonormal_vector().into(),
            half_length: 0.5 * along.length(),
            radius,
        }
    }
}

impl Distance for Capsule {
    #[inline]
    fn near(&self, x: Vec3A, reach: f32) -> Option<Near> {
        let offset = x - self.middle;
        let along = self.axis.dot(offset).max(-self.half_length).min(self.half_length);
        let away = offset - along * self.axis;
        let squared = away.length_squared();
        let limit = self.radius + reach;
        (squared <= limit * limit)
            .then(|| Near::along(away, squared.sqrt(), self.radius, self.aside))
    }
}

/// A sphere of which the axes are scaled differently.
///
/// Its distance is that of the first-order approximation k₀(k₀ − 1)/k₁ with k₀ = |p/r| and k₁ = |p/r²|:
/// exact on the surface and to first order beside it, and never beyond twice the true one near it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ellipsoid {
    centre: Vec3A,
    axes: Mat3A,
    inverse_radii: Vec3A,
    least: f32,
}

impl Ellipsoid {
    pub fn new(frame: &Frame, radii: Vec3) -> Self {
        let radii = radii.max(Vec3::splat(1e-6));
        Self {
            centre: frame.centre,
            axes: Mat3A::from_quat(frame.rotation),
            inverse_radii: radii.recip().into(),
            least: radii.min_element(),
        }
    }
}

impl Distance for Ellipsoid {
    #[inline]
    fn near(&self, x: Vec3A, reach: f32) -> Option<Near> {
        let p = self.axes.transpose() * (x - self.centre);
        let scaled = p * self.inverse_radii;
        let gradient = scaled * self.inverse_radii;
        let (k0, k1) = (scaled.length(), gradient.length());
        let distance = if k1 > 0.0 { k0 * (k0 - 1.0) / k1 } else { -self.least };
        let normal = (self.axes * gradient).normalize_or(self.axes.y_axis);
        (distance <= reach).then_some(Near { distance, normal })
    }

    /// The nearest point q of the surface is r² p/(r² + t), with |r p/(r² + t)| = 1: convex in t, so that
    /// Newton's steps from below never overshoot \[Eberly, Distance from a Point to an Ellipsoid\].
    fn plane(&self, x: Vec3A, reach: f32) -> Option<Near> {
        let p = self.axes.transpose() * (x - self.centre);
        let radii = self.inverse_radii.recip();
        let squares = radii * radii;
        if (p * self.inverse_radii).length_squared() <= 1.0 {
            return self.near(x, reach);
        }
        let mut t = (radii * p.abs() - squares).max_element().max(0.0);
        for _ in 0..NEWTON {
            let scaled = radii * p / (squares + t);
            let over = scaled.length_squared() - 1.0;
            let slope = 2.0 * (scaled * scaled / (squares + t)).element_sum();
            t += over / slope.max(f32::MIN_POSITIVE);
            if over.abs() <= 1e-6 {
                break;
            }
        }
        let normal = p / (squares + t);
        let length = normal.length();
        let distance = t * length;
        let usable = length > 0.0 && distance <= reach;
        usable.then(|| Near { distance, normal: self.axes * (normal / length) })
    }
}

/// Most steps toward the nearest point of an ellipsoid.
const NEWTON: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ball_and_a_capsule_are_round() {
        let ball = Ball { centre: Vec3A::X, radius: 0.5 };
        let near = ball.near(Vec3A::new(1.0, 2.0, 0.0), 2.0).unwrap();
        assert_eq!((near.distance, near.normal), (1.5, Vec3A::Y));
        assert!(ball.near(Vec3A::new(1.0, 2.0, 0.0), 1.0).is_none());
        assert!(ball.near(Vec3A::X, 0.0).unwrap().normal.is_normalized());
        let capsule = Capsule::new(Vec3A::ZERO, Vec3A::X * 2.0, 0.1);
        assert!(
            (capsule.near(Vec3A::new(1.0, 0.0, 0.3), 1.0).unwrap().distance - 0.2).abs() < 1e-6
        );
        assert!(
            (capsule.near(Vec3A::new(2.5, 0.0, 0.0), 1.0).unwrap().distance - 0.4).abs() < 1e-6
        );
        assert!(capsule.near(Vec3A::X, 0.0).unwrap().normal.is_normalized());
    }

    #[test]
    fn an_ellipsoid_is_zero_on_its_surface() {
        let frame =
            Frame { centre: Vec3A::ZERO, rotation: Quat::from_rotation_y(0.7), scale: Vec3::ONE };
        let radii = Vec3::new(2.0, 1.0, 0.5);
        let ellipsoid = Ellipsoid::new(&frame, radii);
        for i in 0..100 {
            let unit = Vec3::new((i as f32).sin(), (i as f32 * 1.3).cos(), (i as f32 * 0.7).sin());
            let on = frame.rotation * (radii * unit.normalize());
            assert!(ellipsoid.near(on.into(), 1.0).unwrap().distance.abs() < 1e-5);
        }
        assert!(ellipsoid.near(Vec3A::ZERO, 0.0).unwrap().distance < 0.0);
    }

    #[test]
    fn an_ellipsoid_lies_behind_its_planes() {
        let frame =
            Frame { centre: Vec3A::ZERO, rotation: Quat::from_rotation_y(0.7), scale: Vec3::ONE };
        let radii = Vec3::new(2.0, 1.0, 0.5);
        let ellipsoid = Ellipsoid::new(&frame, radii);
        for i in 0..100 {
            let unit = Vec3::new((i as f32).sin(), (i as f32 * 1.3).cos(), (i as f32 * 0.7).sin());
            let unit = unit.normalize();
            let on = frame.rotation * (radii * unit);
            let normal = (frame.rotation * (unit / radii)).normalize();
            for away in [1e-4, 0.1, 3.0] {
                let near = ellipsoid.plane((on + normal * away).into(), 10.0).unwrap();
                assert!(
                    (near.distance - away).abs() < 1e-4 * (1.0 + away),
                    "{} {away}",
                    near.distance
                );
                assert!(near.normal.distance(normal.into()) < 1e-3, "{} {normal}", near.normal);
            }
        }
    }
}
