//! One triangle of a mesh: its nearest point, and where a path crosses it.
//!
//! A triangle that is not solid is met from both sides: the normal of a contact points to the side that the
//! particle is on.

use super::solid::Near;
use crate::math::bounds::Bounds;
use bevy::math::Vec3A;

/// What most questions need comes first, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Triangle {
    a: Vec3A,
    /// Unit normal, or zero for a triangle without area.
    normal: Vec3A,
    /// The barycentric coordinates of x are its offset from `a` times these.
    to_b: Vec3A,
    to_c: Vec3A,
    ab: Vec3A,
    ac: Vec3A,
    /// Whether what is behind it is inside.
    solid: bool,
}

impl Triangle {
    pub fn new([a, b, c]: [Vec3A; 3], solid: bool) -> Self {
        let (ab, ac) = (b - a, c - a);
        let across = ab.cross(ac);
        let per_area = across.length_squared().recip();
        let per_area = if per_area.is_finite() { per_area } else { 0.0 };
        Self {
            a,
            ab,
            ac,
            normal: across.normalize_or_zero(),
            to_b: ac.cross(across) * per_area,
            to_c: across.cross(ab) * per_area,
            solid,
        }
    }

    /// Its corners.
    pub fn corners(&self) -> [Vec3A; 3] {
        [self.a, self.a + self.ab, self.a + self.ac]
    }

    /// The box around it.
    pub fn bounds(&self) -> Bounds {
        Bounds::EMPTY.with(self.a).with(self.a + self.ab).with(self.a + self.ac)
    }

    /// The nearest point to `x`, as an offset from `a` \[Ericson, Real-Time Collision Detection, 5.1.5\].
    fn nearest(&self, x: Vec3A) -> Vec3A {
        let (ab, ac) = (self.ab, self.ac);
        let ax = x - self.a;
        let (d1, d2) = (ab.dot(ax), ac.dot(ax));
        if d1 <= 0.0 && d2 <= 0.0 {
            return Vec3A::ZERO;
        }
        let bx = ax - ab;
        let (d3, d4) = (ab.dot(bx), ac.dot(bx));
        if d3 >= 0.0 && d4 <= d3 {
            return ab;
        }
        let vc = d1 * d4 - d3 * d2;
        if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
            return ab * ratio(d1, d1 - d3);
        }
        let cx = ax - ac;
        let (d5, d6) = (ab.dot(cx), ac.dot(cx));
        if d6 >= 0.0 && d5 <= d6 {
            return ac;
        }
        let vb = d5 * d2 - d1 * d6;
        if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
            return ac * ratio(d2, d2 - d6);
        }
        let va = d3 * d6 - d5 * d4;
        if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
            return ab + (ac - ab) * ratio(d4 - d3, (d4 - d3) + (d5 - d6));
        }
        let sum = va + vb + vc;
        if sum == 0.0 {
            return Vec3A::ZERO;
        }
        ab * (vb / sum) + ac * (vc / sum)
    }

    /// How far `x` is over the triangle (m), negative behind it; `None` where it is not above its inside.
    #[inline]
    pub fn over(&self, x: Vec3A) -> Option<f32> {
        let ax = x - self.a;
        let (b, c) = (self.to_b.dot(ax), self.to_c.dot(ax));
        (b >= 0.0 && c >= 0.0 && b + c <= 1.0).then(|| self.normal.dot(ax))
    }

    /// Whether what is behind it is inside.
    pub fn is_solid(&self) -> bool {
        self.solid
    }

    /// Whether no corner of `other` rises over this triangle's plane, on the side of `x`, by more than
    /// rounding.
    pub fn overlooks(&self, other: &Self, x: Vec3A) -> bool {
        let side = if self.normal.dot(x - self.a) < 0.0 && !self.solid { -1.0 } else { 1.0 };
        let size = self.ab.abs().max_element().max(self.ac.abs().max_element());
        [Vec3A::ZERO, other.ab, other.ac]
            .into_iter()
            .all(|corner| side * self.normal.dot(other.a + corner - self.a) <= 1e-5 * size)
    }

    /// The surface from `above` (m) over its plane.
    #[inline]
    pub fn facing(&self, above: f32) -> Near {
        if above >= 0.0 || self.solid {
            Near { distance: above, normal: self.normal }
        } else {
            Near { distance: -above, normal: -self.normal }
        }
    }

    /// The surface near `x`, where it is nearer than `reach` (m).
    #[inline]
    pub fn near(&self, x: Vec3A, reach: f32) -> Option<Near> {
        let ax = x - self.a;
        let above = self.normal.dot(ax);
        if above.abs() > reach {
            return None;
        }
        if self.over(x).is_some() && self.normal != Vec3A::ZERO {
            return Some(self.facing(above));
        }
        let away = ax - self.nearest(x);
        let squared = away.length_squared();
        if squared > reach * reach {
            return None;
        }
        let distance = squared.sqrt();
        let on_border = distance <= 1e-9 || (distance - above.abs()) <= 1e-5 * distance;
        if !on_border {
            // Beside it the normal points away from the border.
            return Some(Near { distance, normal: away / distance });
        }
        (self.normal != Vec3A::ZERO).then(|| self.facing(above))
    }

    /// Whether the path from `start` to `end` crosses the triangle; then how far `end` lies behind its
    /// plane, as a negative distance, with the normal on the side of `start`, and where along the path (0 to
    /// 1) that is.
    pub fn crossed(&self, start: Vec3A, end: Vec3A) -> Option<(Near, f32)> {
        let (before, after) = (self.normal.dot(start - self.a), self.normal.dot(end - self.a));
        if before * after > 0.0 || before == after || (self.solid && after > before) {
            return None;
        }
        let along = ratio(before, before - after);
        let point = start + (end - start) * along;
        let aside = point - self.a - self.nearest(point);
        let size = self.ab.length_squared().max(self.ac.length_squared());
        // A little beyond the border, so that no path slips between two triangles.
        if aside.length_squared() > 1e-8 * size {
            return None;
        }
        let sign = if before < 0.0 || (before == 0.0 && after > 0.0) { -1.0 } else { 1.0 };
        Some((Near { distance: sign * after, normal: sign * self.normal }, along))
    }
}

fn ratio(a: f32, b: f32) -> f32 {
    if b == 0.0 { 0.0 } else { a / b }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIANGLE: [Vec3A; 3] = [Vec3A::ZERO, Vec3A::X, Vec3A::Y];

    #[test]
    fn distances_to_face_edges_and_corners() {
        let triangle = Triangle::new(TRIANGLE, false);
        let at = |x: f32, y: f32, z: f32| triangle.near(Vec3A::new(x, y, z), 5.0).unwrap();
        assert_eq!(at(0.2, 0.2, 0.5), Near { distance: 0.5, normal: Vec3A::Z });
        assert_eq!(at(0.2, 0.2, -0.5), Near { distance: 0.5, normal: Vec3A::NEG_Z });
        assert!((at(0.5, -0.3, 0.4).distance - 0.5).abs() < 1e-6);
        assert!((at(-0.3, -0.4, 0.0).distance - 0.5).abs() < 1e-6);
        assert!((at(1.0, 1.0, 0.0).distance - 0.5f32.sqrt()).abs() < 1e-6);
        assert!(triangle.near(Vec3A::new(0.2, 0.2, 0.5), 0.4).is_none());
    }

    #[test]
    fn behind_a_solid_triangle_is_inside() {
        let triangle = Triangle::new(TRIANGLE, true);
        let behind = Vec3A::new(0.2, 0.2, -0.5);
        assert_eq!(triangle.near(behind, 1.0), Some(Near { distance: -0.5, normal: Vec3A::Z }));
        assert!(triangle.crossed(behind, -behind).is_none());
    }

    #[test]
    fn nearest_points_agree_with_a_fine_search() {
        let corners = [Vec3A::new(0.3, -1.0, 0.2), Vec3A::new(2.0, 0.1, -0.4), Vec3A::Y];
        let triangle = Triangle::new(corners, false);
        for i in 0..60 {
            let s = |k: f32| (i as f32 * k).sin() * 2.0;
            let x = Vec3A::new(s(1.3), s(2.1), s(0.7));
            let mut best = f32::INFINITY;
            for u in 0..=100 {
                for v in 0..=100 - u {
                    let (u, v) = (u as f32 / 100.0, v as f32 / 100.0);
                    let on = corners[0] * (1.0 - u - v) + corners[1] * u + corners[2] * v;
                    best = best.min(on.distance(x));
                }
            }
            let distance = triangle.near(x, 10.0).unwrap().distance;
            assert!((distance - best).abs() < 0.02 && distance <= best + 1e-5, "{distance} {best}");
        }
    }

    #[test]
    fn a_path_crosses_inside_only() {
        let triangle = Triangle::new(TRIANGLE, false);
        let (above, below) = (Vec3A::new(0.2, 0.2, 1.0), Vec3A::new(0.2, 0.2, -3.0));
        let down = triangle.crossed(above, below).unwrap();
        assert_eq!(down, (Near { distance: -3.0, normal: Vec3A::Z }, 0.25));
        let up = triangle.crossed(below, above).unwrap();
        assert_eq!(up, (Near { distance: -1.0, normal: Vec3A::NEG_Z }, 0.75));
        assert!(triangle.crossed(above + Vec3A::X, below + Vec3A::X).is_none());
        assert!(triangle.crossed(above, above * 2.0).is_none());
        let flat = Triangle::new([Vec3A::ZERO, Vec3A::X, Vec3A::X * 2.0], false);
        assert!(
            flat.crossed(above, below).is_none()
                && flat.near(above, 9.0).is_some_and(|n| n.normal.is_finite())
        );
    }
}
