//! A convex polygon of the xy plane, solid through all z: the prism that a planar body meets.

use super::solid::{Distance, Frame, Near};
use bevy::{
    math::{Vec2, Vec3A},
    prelude::*,
};

#[derive(Clone, Debug)]
pub(crate) struct Prism {
    centre: Vec3A,
    x: Vec3A,
    y: Vec3A,
    /// Corners, counter-clockwise, and the outward unit normal of the edge that each begins.
    edges: Vec<(Vec2, Vec2)>,
}

impl Prism {
    /// `None` where fewer than three corners are left.
    pub fn new(frame: &Frame, corners: &[Vec2]) -> Option<Self> {
        let mut corners: Vec<Vec2> = corners.iter().map(|c| *c * frame.scale.truncate()).collect();
        corners.dedup();
        if area(&corners) < 0.0 {
            corners.reverse();
        }
        let edges: Vec<(Vec2, Vec2)> = (0..corners.len())
            .filter_map(|i| {
                let along = corners[(i + 1) % corners.len()] - corners[i];
                Some((corners[i], -along.perp().try_normalize()?))
            })
            .collect();
        (edges.len() >= 3).then(|| Self {
            centre: frame.centre,
            x: frame.axis(Vec3::X),
            y: frame.axis(Vec3::Y),
            edges,
        })
    }
}

/// Twice the area; negative for clockwise corners.
pub(super) fn area(corners: &[Vec2]) -> f32 {
    (0..corners.len()).map(|i| corners[i].perp_dot(corners[(i + 1) % corners.len()])).sum()
}

impl Distance for Prism {
    #[inline]
    fn near(&self, x: Vec3A, reach: f32) -> Option<Near> {
        let offset = x - self.centre;
        let p = Vec2::new(self.x.dot(offset), self.y.dot(offset));
        let (mut distance, mut gradient) = (f32::NEG_INFINITY, Vec2::Y);
        for (corner, normal) in &self.edges {
            let outside = normal.dot(p - *corner);
            if outside > distance {
                (distance, gradient) = (outside, *normal);
            }
        }
        if distance > reach {
            return None;
        }
        if distance > 0.0 {
            // Outside: the nearest point of the border.
            let mut best = f32::INFINITY;
            for (i, (corner, _)) in self.edges.iter().enumerate() {
                let along = self.edges[(i + 1) % self.edges.len()].0 - *corner;
                let part = (p - *corner).dot(along) / along.length_squared().max(1e-24);
                let away = p - *corner - along * part.clamp(0.0, 1.0);
                if away.length_squared() < best {
                    best = away.length_squared();
                    gradient = away.normalize_or(gradient);
                }
            }
            distance = best.sqrt();
        }
        let normal = gradient.x * self.x + gradient.y * self.y;
        (distance <= reach).then_some(Near { distance, normal })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triangle_is_a_prism_whichever_way_it_is_wound() {
        let frame = Frame {
            centre: Vec3A::new(0.0, 0.0, 9.0),
            rotation: Quat::IDENTITY,
            scale: Vec3::splat(2.0),
        };
        let corners = [Vec2::ZERO, Vec2::X, Vec2::Y];
        let mut clockwise = corners;
        clockwise.reverse();
        for corners in [corners, clockwise] {
            let prism = Prism::new(&frame, &corners).unwrap();
            let at = |x: f32, y: f32| prism.near(Vec3A::new(x, y, 0.0), 5.0).unwrap();
            assert!((at(1.0, -0.5).distance - 0.5).abs() < 1e-6);
            assert!(at(1.0, -0.5).normal.distance(Vec3A::NEG_Y) < 1e-6);
            assert!((at(-0.3, -0.4).distance - 0.5).abs() < 1e-6);
            assert!(at(0.5, 0.5).distance < 0.0);
        }
        assert!(Prism::new(&frame, &[Vec2::ZERO, Vec2::ZERO, Vec2::X]).is_none());
    }
}
