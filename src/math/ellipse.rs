//! How far a point is from an ellipse.

use bevy::math::Vec2;

/// Distance of `point` from an ellipse about the origin with these semi-axes along x and y; 0 inside.
/// Semi-axes that are no positive numbers count as very small.
pub fn distance(point: Vec2, radii: Vec2) -> f32 {
    // By symmetry the nearest point is in the first quadrant if this one is.
    let point = point.abs();
    let least = 1e-6 * (point.max_element() + radii.abs().max_element());
    let radii = radii.map(|r| if r > least { r } else { least });
    if !(point.is_finite() && radii.is_finite()) || least == 0.0 {
        return if point.is_finite() { point.length() } else { f32::INFINITY };
    }
    if (point / radii).length_squared() <= 1.0 {
        return 0.0;
    }
    point.distance(nearest(point, radii))
}

/// The point of the ellipse nearest to one outside, both in the first quadrant.
///
/// It is r²p/(t + r²) by component, for the one t > 0 that puts it on the ellipse; the function whose root
/// t is falls and is convex there, so Newton's steps from the left never pass the root.
fn nearest(point: Vec2, radii: Vec2) -> Vec2 {
    let scale = radii.max_element();
    let (p, r) = (point / scale, radii / scale);
    let square = r * r;
    // At t = r(p − r) of an axis that axis alone says 1 already: the root is no nearer than that.
    let mut t = (r * (p - r)).max_element().max(0.0);
    for _ in 0..32 {
        let q = r * p / (Vec2::splat(t) + square);
        let excess = q.length_squared() - 1.0;
        let slope = 2.0 * (q * q / (Vec2::splat(t) + square)).element_sum();
        if excess.abs() < 1e-6 || slope <= 0.0 {
            break;
        }
        let next = (t + excess / slope).max(0.0);
        if next == t {
            break;
        }
        t = next;
    }
    scale * square * p / (Vec2::splat(t) + square)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By trying the ellipse's points.
    fn tried(point: Vec2, radii: Vec2) -> f32 {
        (0..40_000)
            .map(|i| Vec2::from_angle(i as f32 / 40_000.0 * core::f32::consts::TAU) * radii)
            .map(|on| on.distance(point))
            .fold(f32::INFINITY, f32::min)
    }

    #[test]
    fn distances_are_those_found_by_trying_all_points() {
        for radii in [Vec2::ONE, Vec2::new(2.0, 0.5), Vec2::new(0.1, 3.0), Vec2::new(1.0, 0.02)] {
            for i in 0..60 {
                let angle = i as f32 * 0.37;
                let point = Vec2::from_angle(angle) * radii * (1.001 + 0.09 * i as f32);
                let (own, expected) = (distance(point, radii), tried(point, radii));
                let tolerance = 1e-3 * expected + 2e-4;
                assert!((own - expected).abs() < tolerance, "{point} {radii}: {own} {expected}");
            }
        }
    }

    #[test]
    fn points_inside_and_on_the_axes_are_where_they_must_be() {
        assert_eq!(distance(Vec2::new(1.9, 0.0), Vec2::new(2.0, 0.5)), 0.0);
        assert!((distance(Vec2::new(3.0, 0.0), Vec2::new(2.0, 0.5)) - 1.0).abs() < 1e-5);
        assert!((distance(Vec2::new(0.0, -3.0), Vec2::new(2.0, 0.5)) - 2.5).abs() < 1e-5);
    }

    #[test]
    fn degenerate_ellipses_are_points_and_segments() {
        assert!((distance(Vec2::new(3.0, 4.0), Vec2::ZERO) - 5.0).abs() < 1e-3);
        assert!((distance(Vec2::new(0.5, 2.0), Vec2::new(1.0, 0.0)) - 2.0).abs() < 1e-3);
        assert_eq!(distance(Vec2::ZERO, Vec2::ZERO), 0.0);
        for nonsense in [f32::NAN, f32::INFINITY, -1.0] {
            for radii in [Vec2::new(nonsense, 1.0), Vec2::splat(nonsense)] {
                assert!(!distance(Vec2::ONE, radii).is_nan());
            }
            assert!(!distance(Vec2::new(nonsense, 0.0), Vec2::ONE).is_nan());
        }
    }
}
