//! Where two ellipsoids touch, by Perram and Wertheim; likewise two ellipses of a plane, or one and a ball.
//!
//! ```text
//!     ___         P = R diag(a², b², c²) Rᵀ,   r = c₂ − c₁
//!    ╱ 1 ╲___     S = max over λ of  λ(1−λ) rᵀ G,   G = [(1−λ)P₁ + λP₂]⁻¹ r       apart iff S > 1
//!    ╲___×   ╲    λ ← √A/(√A + √B),   A = GᵀP₁G,   B = GᵀP₂G                       dS/dλ = 0 there
//!        ╲_2_╱    n = G/|G|,   gap = n·r − √A/|G| − √B/|G|
//! ```
//!
//! At that λ the gap is `(√S − 1)√S/(λ(1−λ)|G|)`; written as above it is the extent of the two along n
//! taken off their distance along n, so that a positive one proves them apart whatever λ is. The arms
//! `(1−λ)P₁G` and `−λP₂G` lead from both centres to the same point ×, for their sum is r: what acts there
//! on both, in opposite senses, keeps linear and angular momentum.
//!
//! λ changes little from one moment to the next: a caller keeps it, and one or two steps do. The gap of
//! bodies that touch is exact; of those that overlap by 1, 5 and 10 % of their distance it is within 0.5, 2
//! and 6 % of the true depth for semi-axes of 1 : 2, where the gap along the line of centres is up to half
//! as much again.

use bevy::math::{Mat3, Quat, Vec2, Vec3};

/// No semi-axis counts as less than this part of the longest.
const THINNEST: f32 = 0.02;

/// λ stays this far from 0 and 1.
const LEAST_SHARE: f32 = 1e-3;

/// Steps of λ from a cold start.
const MOST_STEPS: usize = 8;

/// A step of λ below this is the last.
const SETTLED: f32 = 1e-3;

/// A matrix P with its ellipsoid, in a space of vectors `V`.
pub trait Shape: Copy {
    /// Vectors.
    type V: Copy;
    /// `P n`.
    fn times(&self, n: Self::V) -> Self::V;
    /// `[(1−λ)P₁ + λP₂]⁻¹ r`.
    fn solve(pair: [&Self; 2], lambda: f32, r: Self::V) -> Self::V;
    /// Scalar product.
    fn dot(a: Self::V, b: Self::V) -> f32;
    /// `k v`.
    fn scaled(v: Self::V, k: f32) -> Self::V;
}

/// Semi-axes that are finite, not negative and none much shorter than another.
fn usable<const N: usize>(radii: [f32; N]) -> [f32; N] {
    let radii = radii.map(|r| if r.is_finite() { r.max(0.0) } else { 0.0 });
    let longest = radii.iter().fold(0.0, |longest: f32, r| longest.max(*r));
    radii.map(|r| r.max(THINNEST * longest))
}

/// An ellipse of the xy plane: its symmetric matrix P.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EllipseMatrix {
    xx: f32,
    xy: f32,
    yy: f32,
}

impl EllipseMatrix {
    /// Of semi-axes `radii.x`, `radii.y` (m), turned by `rotation` about z.
    #[inline]
    pub fn new(radii: Vec3, rotation: Quat) -> Self {
        let [a, b] = usable([radii.x, radii.y]);
        if a == b {
            return Self::disc(a);
        }
        let (w, z) = (rotation.w, rotation.z);
        let (mut cos, mut sin) = (w * w - z * z, 2.0 * w * z);
        // What is turned about z alone needs no division.
        if rotation.x != 0.0 || rotation.y != 0.0 {
            let length = w * w + z * z;
            (cos, sin) = if length > 0.0 { (cos / length, sin / length) } else { (1.0, 0.0) };
        }
        let (aa, bb) = (a * a, b * b);
        Self {
            xx: aa * cos * cos + bb * sin * sin,
            xy: (aa - bb) * cos * sin,
            yy: aa * sin * sin + bb * cos * cos,
        }
    }

    /// A disc of this radius (m).
    #[inline]
    pub fn disc(radius: f32) -> Self {
        Self { xx: radius * radius, xy: 0.0, yy: radius * radius }
    }
}

impl Shape for EllipseMatrix {
    type V = Vec2;

    #[inline(always)]
    fn times(&self, n: Vec2) -> Vec2 {
        Vec2::new(self.xx * n.x + self.xy * n.y, self.xy * n.x + self.yy * n.y)
    }

    #[inline(always)]
    fn solve([a, b]: [&Self; 2], lambda: f32, r: Vec2) -> Vec2 {
        let mixed = |a: f32, b: f32| a + lambda * (b - a);
        let (xx, xy, yy) = (mixed(a.xx, b.xx), mixed(a.xy, b.xy), mixed(a.yy, b.yy));
        let inverse = (xx * yy - xy * xy).recip();
        Vec2::new(yy * r.x - xy * r.y, xx * r.y - xy * r.x) * inverse
    }

    #[inline(always)]
    fn dot(a: Vec2, b: Vec2) -> f32 {
        a.dot(b)
    }

    #[inline(always)]
    fn scaled(v: Vec2, k: f32) -> Vec2 {
        k * v
    }
}

/// An ellipsoid: its symmetric matrix P.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EllipsoidMatrix(Mat3);

impl EllipsoidMatrix {
    /// Of semi-axes `radii` (m), turned by `rotation`.
    #[inline]
    pub fn new(radii: Vec3, rotation: Quat) -> Self {
        let radii = Vec3::from_array(usable(radii.to_array()));
        if radii.x == radii.y && radii.y == radii.z {
            return Self::ball(radii.x);
        }
        let axes = Mat3::from_quat(rotation);
        let half =
            Mat3::from_cols(axes.x_axis * radii.x, axes.y_axis * radii.y, axes.z_axis * radii.z);
        Self(half * half.transpose())
    }

    /// A ball of this radius (m).
    #[inline]
    pub fn ball(radius: f32) -> Self {
        Self(Mat3::from_diagonal(Vec3::splat(radius * radius)))
    }
}

impl Shape for EllipsoidMatrix {
    type V = Vec3;

    #[inline(always)]
    fn times(&self, n: Vec3) -> Vec3 {
        self.0 * n
    }

    #[inline(always)]
    fn solve([a, b]: [&Self; 2], lambda: f32, r: Vec3) -> Vec3 {
        let column = |a: Vec3, b: Vec3| a + lambda * (b - a);
        let x = column(a.0.x_axis, b.0.x_axis);
        let y = column(a.0.y_axis, b.0.y_axis);
        let z = column(a.0.z_axis, b.0.z_axis);
        // The adjugate of a symmetric matrix.
        let (yz, zx, xy) = (y.cross(z), z.cross(x), x.cross(y));
        let inverse = x.dot(yz).recip();
        Vec3::new(yz.dot(r), zx.dot(r), xy.dot(r)) * inverse
    }

    #[inline(always)]
    fn dot(a: Vec3, b: Vec3) -> f32 {
        a.dot(b)
    }

    #[inline(always)]
    fn scaled(v: Vec3, k: f32) -> Vec3 {
        k * v
    }
}

/// How two ellipsoids are placed to one another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Meeting<V> {
    /// Distance of their surfaces (m); below 0 where they overlap.
    pub gap: f32,
    /// Unit normal, from the first to the second.
    pub normal: V,
    /// From each centre to the one point where they touch (m).
    pub arms: [V; 2],
}

/// A first λ for two ellipsoids of these mean radii (m): that of two balls.
#[inline]
pub fn first_share([a, b]: [f32; 2]) -> f32 {
    let share = a / (a + b);
    // Nor what is not a number.
    if share > LEAST_SHARE { share.min(1.0 - LEAST_SHARE) } else { LEAST_SHARE }
}

/// The extent of an ellipsoid along the unit vector `n`, from its centre (m).
#[inline]
pub fn support<S: Shape>(shape: &S, n: S::V) -> f32 {
    S::dot(n, shape.times(n)).max(0.0).sqrt()
}

/// How two ellipsoids whose centres are `r` apart (m, from the first to the second) are placed;
/// `None` where their gap is more than `most` (m, not below 0), where the centres are at one place, or where
/// something is not a number. `share` is λ: where to start, and then where it ended.
#[inline]
pub fn meet<S: Shape>(pair: [&S; 2], r: S::V, share: &mut f32, most: f32) -> Option<Meeting<S::V>> {
    let [first, second] = pair;
    let mut lambda = share.clamp(LEAST_SHARE, 1.0 - LEAST_SHARE);
    let mut found = None;
    for _ in 0..MOST_STEPS {
        let g = S::solve(pair, lambda, r);
        let (toward_first, toward_second) = (first.times(g), second.times(g));
        let a = S::dot(g, toward_first).max(0.0).sqrt();
        let b = S::dot(g, toward_second).max(0.0).sqrt();
        // gap |G|
        let scaled_gap = S::dot(g, r) - a - b;
        let apart = if most > 0.0 { scaled_gap - most * S::dot(g, g).sqrt() } else { scaled_gap };
        let next = (a / (a + b)).clamp(LEAST_SHARE, 1.0 - LEAST_SHARE);
        // Not below 0 includes what is not a number.
        if !(apart < 0.0 && next > 0.0) {
            if next > 0.0 {
                *share = next;
            }
            return None;
        }
        let step = (next - lambda).abs();
        found = Some((lambda, g, toward_first, toward_second, scaled_gap));
        *share = next;
        if step < SETTLED {
            break;
        }
        lambda = next;
    }
    let (lambda, g, toward_first, toward_second, scaled_gap) = found?;
    let per_length = S::dot(g, g).sqrt().recip();
    let gap = per_length * scaled_gap;
    if !(gap.is_finite() && per_length.is_finite()) {
        return None;
    }
    Some(Meeting {
        gap,
        normal: S::scaled(g, per_length),
        arms: [S::scaled(toward_first, 1.0 - lambda), S::scaled(toward_second, -lambda)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy::math::ops;

    /// Numbers between 0 and 1 that repeat themselves.
    struct Draws(u32);

    impl Draws {
        fn next(&mut self) -> f32 {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (self.0 >> 8) as f32 / 16_777_216.0
        }

        fn direction(&mut self) -> Vec3 {
            loop {
                let v = Vec3::new(self.next(), self.next(), self.next()) * 2.0 - 1.0;
                if v.length_squared() > 0.01 && v.length_squared() < 1.0 {
                    return v.normalize();
                }
            }
        }

        fn rotation(&mut self) -> Quat {
            let v = self.direction();
            Quat::from_axis_angle(v, 6.0 * self.next())
        }

        fn radii(&mut self) -> Vec3 {
            0.5 + 0.5 * Vec3::new(self.next(), self.next(), self.next())
        }
    }

    /// The distance at which two ellipsoids touch along `direction` (m).
    fn touching_distance<S: Shape>(pair: [&S; 2], direction: S::V) -> f32 {
        let mut share = 0.5;
        let at = |distance: f32, share: &mut f32| {
            meet(pair, S::scaled(direction, distance), share, 1e9).expect("meets").gap
        };
        let mut distance = 1.0;
        for _ in 0..40 {
            distance -= at(distance, &mut share);
        }
        distance
    }

    /// The greatest of `n·r − h₁(n) − h₂(n)` over all n of the plane.
    fn depth_by_search(pair: [&EllipseMatrix; 2], r: Vec2) -> f32 {
        (0..20_000)
            .map(|i| {
                let (sin, cos) = ops::sin_cos(i as f32 * core::f32::consts::TAU / 20_000.0);
                let n = Vec2::new(cos, sin);
                n.dot(r) - support(pair[0], n) - support(pair[1], n)
            })
            .fold(f32::NEG_INFINITY, f32::max)
    }

    #[test]
    fn balls_touch_at_the_sum_of_their_radii() {
        let (a, b) = (EllipsoidMatrix::ball(0.3), EllipsoidMatrix::ball(0.1));
        let r = Vec3::new(0.2, 0.1, -0.2);
        let mut share = first_share([0.3, 0.1]);
        let meeting = meet([&a, &b], r, &mut share, 0.0).expect("they overlap");
        assert!((meeting.gap - (0.3 - 0.4)).abs() < 1e-6, "{meeting:?}");
        assert!(meeting.normal.distance(r / 0.3) < 1e-6);
        assert!((share - 0.75).abs() < 1e-6);
        assert!((meeting.arms[0] - meeting.arms[1]).distance(r) < 1e-6);
        assert_eq!(meet([&a, &b], 1.4 * r, &mut share, 0.0), None);
        let near = meet([&a, &b], 1.4 * r, &mut share, 0.1).expect("is near enough");
        assert!((near.gap - 0.02).abs() < 1e-6);
    }

    #[test]
    fn an_ellipsoid_touches_a_ball_at_its_tips() {
        let radii = Vec3::new(0.5, 0.2, 0.1);
        let a = EllipsoidMatrix::new(radii, Quat::from_rotation_z(core::f32::consts::FRAC_PI_2));
        let b = EllipsoidMatrix::ball(0.05);
        for (direction, radius) in [(Vec3::Y, 0.5), (Vec3::X, 0.2), (Vec3::Z, 0.1)] {
            let distance = touching_distance([&a, &b], direction);
            assert!((distance - radius - 0.05).abs() < 1e-5, "{direction}: {distance}");
        }
    }

    #[test]
    fn both_arms_lead_to_the_same_point() {
        let mut draws = Draws(7);
        for _ in 0..200 {
            let [a, b] = [(); 2].map(|()| EllipsoidMatrix::new(draws.radii(), draws.rotation()));
            let r = draws.direction() * 0.9;
            let mut share = 0.5;
            let Some(meeting) = meet([&a, &b], r, &mut share, 0.0) else { continue };
            assert!((meeting.arms[0] - meeting.arms[1]).distance(r) < 2e-6);
            assert!((meeting.normal.length() - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn the_gap_of_an_overlap_is_near_its_depth() {
        let mut draws = Draws(1);
        for (overlap, tolerance) in [(0.01, 0.005), (0.05, 0.02), (0.1, 0.06)] {
            for _ in 0..60 {
                let turn = |draws: &mut Draws| Quat::from_rotation_z(6.3 * draws.next());
                let [a, b] = [(); 2].map(|()| EllipseMatrix::new(draws.radii(), turn(&mut draws)));
                let (sin, cos) = ops::sin_cos(6.3 * draws.next());
                let direction = Vec2::new(cos, sin);
                let r = (1.0 - overlap) * touching_distance([&a, &b], direction) * direction;
                let depth = -depth_by_search([&a, &b], r);
                let mut share = 0.5;
                let found = -meet([&a, &b], r, &mut share, 0.0).expect("they overlap").gap;
                assert!((found / depth - 1.0).abs() < tolerance, "{overlap}: {found} {depth}");
                // Along the line of centres it would be more.
                assert!(found < 1.01 * overlap / (1.0 - overlap) * r.length());
            }
        }
    }

    #[test]
    fn thin_ones_meet_too() {
        let mut draws = Draws(3);
        for _ in 0..300 {
            let thin = |draws: &mut Draws| {
                EllipseMatrix::new(
                    Vec3::new(1.0, 0.05, 1.0),
                    Quat::from_rotation_z(6.3 * draws.next()),
                )
            };
            let [a, b] = [(); 2].map(|()| thin(&mut draws));
            let (sin, cos) = ops::sin_cos(6.3 * draws.next());
            let r = Vec2::new(cos, sin) * (0.1 + 1.5 * draws.next());
            let depth = depth_by_search([&a, &b], r);
            let mut share = 0.5;
            // Kept from one call to the next.
            let last = (0..8).map(|_| meet([&a, &b], r, &mut share, 0.0)).last().flatten();
            assert_eq!(last.is_some(), depth < 0.0, "{depth} {last:?}");
        }
    }

    #[test]
    fn nonsense_meets_nothing_and_points_are_harmless() {
        let bad = [0.0, -1.0, f32::NAN, f32::INFINITY, f32::MAX, 1e-30, 1e20];
        let ball = EllipsoidMatrix::ball(0.1);
        let disc = EllipseMatrix::disc(0.1);
        for a in bad {
            for b in bad {
                let radii = Vec3::new(a, b, a);
                let odd = EllipsoidMatrix::new(radii, Quat::from_rotation_x(0.3));
                let flat = EllipseMatrix::new(radii, Quat::from_rotation_z(0.3));
                for r in [0.0, 1e-30, 0.05, 1e30, f32::NAN, f32::INFINITY] {
                    for start in [0.5, 0.0, 1.0, f32::NAN] {
                        let mut share = if start.is_nan() { first_share([a, b]) } else { start };
                        let met = meet([&odd, &ball], Vec3::X * r, &mut share, 0.0);
                        assert!(met.is_none_or(|m| m.gap.is_finite() && m.normal.is_finite()));
                        let met = meet([&disc, &flat], Vec2::Y * r, &mut share, 0.0);
                        assert!(met.is_none_or(|m| m.gap.is_finite() && m.normal.is_finite()));
                        assert!(share.is_finite());
                    }
                }
            }
        }
        assert_eq!(meet([&disc, &disc], Vec2::ZERO, &mut 0.5, 0.0), None);
    }
}
