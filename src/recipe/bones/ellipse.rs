//! Ellipses in the plane: how far one is from another, and where.

use super::Bone;
use bevy::math::{DVec2, Vec2, ops};

/// An ellipse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ellipse {
    pub center: Vec2,
    /// Semi-axes.
    pub radii: Vec2,
    /// Angle of the first (rad, counter-clockwise).
    pub angle: f32,
}

/// Steps of the search for the nearest points of two ellipses; it ends before when they stand still.
const STEPS: usize = 200;

/// Ellipses with a longer axis of less than this times the shorter count as round.
const ROUND: f32 = 1.25;

impl Ellipse {
    pub fn of(bone: &Bone) -> Self {
        Self { center: bone.center, radii: bone.radii, angle: bone.angle }
    }

    /// The first semi-axis' direction.
    fn axis(&self) -> Vec2 {
        let (sin, cos) = ops::sin_cos(self.angle);
        Vec2::new(cos, sin)
    }

    /// The ellipse's matrix R diag(a², b²) Rᵀ as (xx, xy, yy).
    fn matrix(&self) -> [f32; 3] {
        let u = self.axis();
        let square = self.radii * self.radii;
        [
            u.x * u.x * square.x + u.y * u.y * square.y,
            u.x * u.y * (square.x - square.y),
            u.y * u.y * square.x + u.x * u.x * square.y,
        ]
    }

    /// The ellipse that a scale along x and y makes of it. Its first axis stays the first where the scale
    /// is the same along both, and is the longer one otherwise.
    pub fn scaled(&self, scale: Vec2) -> Self {
        let center = self.center * scale;
        let size = scale.abs();
        if size.x == size.y {
            let angle = if (scale.x < 0.0) == (scale.y < 0.0) { self.angle } else { -self.angle };
            return Self { center, radii: self.radii * size.x, angle };
        }
        let [xx, xy, yy] = self.matrix();
        let [xx, xy, yy] = [xx * scale.x * scale.x, xy * scale.x * scale.y, yy * scale.y * scale.y];
        let (mean, half) = (0.5 * (xx + yy), 0.5 * (xx - yy));
        let swing = half.hypot(xy);
        let angle = 0.5 * ops::atan2(2.0 * xy, xx - yy);
        // λ₋ as determinant over λ₊, so that a thin ellipse keeps its width.
        let long = mean + swing;
        let area = self.radii.x * self.radii.y * size.x * size.y;
        let a = long.max(0.0).sqrt();
        Self { center, radii: Vec2::new(a, if a > 0.0 { area / a } else { 0.0 }), angle }
    }

    /// From the centre to the surface along a unit vector.
    pub fn reach(&self, direction: Vec2) -> f32 {
        let u = self.axis();
        let across = Vec2::new(direction.dot(u), u.perp_dot(direction));
        let inverse = (across / self.radii).length();
        if inverse > 0.0 && inverse.is_finite() { inverse.recip() } else { 0.0 }
    }

    /// How far a point is from the centre, the surface counting as 1.
    pub fn norm(&self, point: Vec2) -> f32 {
        let (u, from) = (self.axis(), point - self.center);
        (Vec2::new(from.dot(u), u.perp_dot(from)) / self.radii).length()
    }

    /// The point of the ellipse (with its inside) nearest to `point`.
    pub fn nearest(&self, point: DVec2) -> DVec2 {
        let (u, radii) = (self.axis().as_dvec2(), self.radii.as_dvec2());
        let from = point - self.center.as_dvec2();
        let p = DVec2::new(from.dot(u), u.perp_dot(from));
        if (p / radii).length_squared() <= 1.0 {
            return point;
        }
        // The nearest point q of the surface has p − q = t·(normal there): q = p·r²/(t + r²), and
        // f(t) = |q/r|² − 1 falls and is convex for t > 0: Newton's method climbs to its root from 0.
        let square = radii * radii;
        let mut t = 0.0f64;
        for _ in 0..60 {
            let over = square + t;
            let q = radii * p / over;
            let f = q.length_squared() - 1.0;
            let slope = -2.0 * (q * q / over).element_sum();
            let step = -f / slope;
            if !(step.is_finite() && step > 1e-12 * t) {
                break;
            }
            t += step;
        }
        let q = square * p / (square + t);
        self.center.as_dvec2() + q.x * u + q.y * u.perp()
    }

    /// How far it is from another one, 0 if they touch, and the nearest points of both.
    pub fn gap(&self, other: &Self) -> (f32, [Vec2; 2]) {
        // Projections on two convex sets in turn end at their nearest points.
        let mut p = self.nearest(other.center.as_dvec2());
        let mut q = other.nearest(p);
        for _ in 0..STEPS {
            let next = self.nearest(q);
            let moved = next.distance_squared(p);
            p = next;
            q = other.nearest(p);
            let apart = p.distance_squared(q);
            if apart == 0.0 || moved <= 1e-14 * apart {
                break;
            }
        }
        (p.distance(q) as f32, [p.as_vec2(), q.as_vec2()])
    }

    /// Midway between the surfaces of two ellipses on the line of their centres.
    pub fn midway(&self, other: &Self) -> Vec2 {
        let line = other.center - self.center;
        let length = line.length();
        let Some(direction) = line.try_normalize() else { return self.center };
        let middle = 0.5 * (self.reach(direction) + length - other.reach(direction));
        self.center + direction * middle.clamp(0.0, length)
    }

    /// How near to one of its ends a point lies, 0 amidst its side to 1 at an end. A round ellipse has
    /// ends everywhere.
    pub fn at_end(&self, point: Vec2) -> f32 {
        let (long, short) = (self.radii.max_element(), self.radii.min_element());
        if long < ROUND * short {
            return 1.0;
        }
        let u = if self.radii.x >= self.radii.y { self.axis() } else { self.axis().perp() };
        ((point - self.center).dot(u).abs() / long).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::f32::consts::{FRAC_PI_2, PI, TAU};

    fn ellipse(x: f32, y: f32, a: f32, b: f32, angle: f32) -> Ellipse {
        Ellipse { center: Vec2::new(x, y), radii: Vec2::new(a, b), angle }
    }

    /// Points of the surface.
    fn surface(e: &Ellipse) -> impl Iterator<Item = Vec2> {
        let e = *e;
        (0..4000).map(move |i| {
            let t = TAU * i as f32 / 4000.0;
            let local = Vec2::new(ops::cos(t), ops::sin(t)) * e.radii;
            e.center + e.axis() * local.x + e.axis().perp() * local.y
        })
    }

    #[test]
    fn the_nearest_points_are_those_that_a_search_finds() {
        let pairs = [
            (ellipse(0.0, 0.0, 2.0, 1.0, 0.3), ellipse(5.0, 1.0, 1.5, 0.4, -0.8)),
            (ellipse(0.0, 0.0, 3.0, 0.1, 1.0), ellipse(0.5, 4.0, 0.1, 2.0, 0.2)),
            (ellipse(1.0, 1.0, 1.0, 1.0, 0.0), ellipse(-4.0, 1.0, 2.0, 2.0, 0.0)),
        ];
        for (a, b) in pairs {
            let (gap, [p, q]) = a.gap(&b);
            let from_b: Vec<Vec2> = surface(&b).collect();
            let searched = surface(&a)
                .flat_map(|p| from_b.iter().map(move |q| p.distance(*q)))
                .fold(f32::INFINITY, f32::min);
            assert!((gap - searched).abs() < 2e-4, "{gap} {searched}");
            assert!((a.norm(p) - 1.0).abs() < 1e-4 && (b.norm(q) - 1.0).abs() < 1e-4);
        }
    }

    #[test]
    fn ellipses_that_overlap_or_touch_have_no_gap() {
        let a = ellipse(0.0, 0.0, 2.0, 1.0, 0.0);
        assert_eq!(a.gap(&ellipse(2.5, 0.0, 1.0, 0.2, 0.0)).0, 0.0);
        assert_eq!(a.gap(&ellipse(0.1, 0.0, 0.2, 0.2, 0.0)).0, 0.0);
        assert_eq!(a.gap(&a).0, 0.0);
        assert!(a.gap(&ellipse(3.0, 0.0, 1.0, 1.0, 0.0)).0 < 1e-3);
    }

    #[test]
    fn midway_is_between_the_surfaces_on_the_centre_line() {
        let a = ellipse(0.0, 0.0, 2.0, 1.0, 0.0);
        let b = ellipse(5.0, 0.0, 1.0, 1.0, 0.0);
        assert!(a.midway(&b).distance(Vec2::X * 3.0) < 1e-6);
        assert!(a.midway(&a) == Vec2::ZERO);
        let turned = ellipse(0.0, 0.0, 2.0, 1.0, FRAC_PI_2);
        assert!((turned.reach(Vec2::X) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn a_scaled_ellipse_has_the_scaled_surface() {
        let e = ellipse(0.3, -0.2, 2.0, 0.5, 0.7);
        for scale in
            [Vec2::new(2.0, 2.0), Vec2::new(-2.0, 2.0), Vec2::new(3.0, 0.5), Vec2::new(-1.0, -4.0)]
        {
            let scaled = e.scaled(scale);
            for point in surface(&e).step_by(97) {
                assert!((scaled.norm(point * scale) - 1.0).abs() < 1e-4, "{scale}");
            }
            let area = scale.x.abs() * scale.y.abs() * 1.0;
            assert!((PI * scaled.radii.x * scaled.radii.y - PI * area).abs() < 1e-3);
        }
    }
}
