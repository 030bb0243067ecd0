//! How an ellipsoid meets something convex: by how much it must grow, or shrink, to touch.
//!
//! ```text
//!    ____            In units in which the ellipsoid is the unit ball, the point of the solid that is
//!  ／ ·x  ＼          nearest to the centre x lies at σ from it; the ellipsoid, grown by σ, touches there.
//! (───┼────)─┐       Overlap where σ < 1; normal and gap h(n)(σ − 1) are those of the touching plane.
//!  ＼_│__／ ▒▒│       Exact for a plane; beside an edge the normal turns with the ellipsoid, without jumps.
//!     σ ▒▒▒▒▒│
//! ```
//!
//! The nearest point is found between planes that all of the solid lies behind: each question how far
//! the surface is from the last point found gives the next plane. The corners of a box are found exactly,
//! curved surfaces as near as it matters.

use crate::{math::ellipsoid::Ellipsoid, obstacle::Near};
use bevy::math::Vec3A;

/// Most planes that are asked for.
const PLANES: usize = 12;
/// The gap is found to this part of how far the ellipsoid reaches.
const TOLERANCE: f32 = 1e-4;

/// Where an ellipsoid touches something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch {
    /// Negative where the two overlap (m).
    pub gap: f32,
    /// Outward unit normal of what it touches.
    pub normal: Vec3A,
    /// From the centre to the point of the ellipsoid that touches (m).
    pub offset: Vec3A,
}

impl Touch {
    /// On a surface with unit normal `normal`, `distance` (m) from the centre.
    pub fn on(shape: &Ellipsoid, Near { distance, normal }: Near) -> Self {
        let unit = shape.covector(normal);
        let support = unit.length();
        Self { gap: distance - support, normal, offset: shape.offset(unit) * -support.recip() }
    }
}

/// A plane that all of the solid lies behind.
#[derive(Clone, Copy, Debug, Default)]
struct Plane {
    normal: Vec3A,
    /// The normal in units of the ellipsoid.
    unit: Vec3A,
    /// Its level as seen from the centre (m); negative in front.
    level: f32,
}

/// The nearest point, in units of the ellipsoid, behind up to three planes.
#[derive(Clone, Copy, Debug)]
struct Nearest {
    planes: [Plane; 3],
    len: usize,
    point: Vec3A,
    /// What each plane adds to the normal.
    weights: [f32; 3],
}

impl Nearest {
    fn new(plane: Plane) -> Option<Self> {
        let planes = [plane, Plane::default(), Plane::default()];
        let (point, weights) = solve(&[plane])?;
        Some(Self { planes, len: 1, point, weights })
    }

    /// The nearest point that is behind `plane` too; `None` where rounding hides it.
    fn behind(&self, plane: Plane) -> Option<Self> {
        let old = &self.planes[..self.len];
        // The new plane is one of those that hold the point; with as few others as will do.
        let alone = core::iter::once((None, None));
        let one = (0..self.len).map(|i| (Some(i), None));
        let two = (0..self.len).flat_map(|i| (0..i).map(move |j| (Some(i), Some(j))));
        for (i, j) in alone.chain(one).chain(two) {
            let mut planes = [plane; 3];
            let mut len = 1;
            for other in [i, j].into_iter().flatten() {
                planes[len] = old[other];
                len += 1;
            }
            let Some((point, weights)) = solve(&planes[..len]) else { continue };
            let behind = |p: &Plane| p.unit.dot(point) - p.level <= 1e-5 * p.unit.length();
            if old.iter().all(behind) {
                return Some(Self { planes, len, point, weights });
            }
        }
        None
    }

    /// The plane in which the ellipsoid, grown, touches.
    fn touching(&self, shape: &Ellipsoid) -> Option<Touch> {
        let pairs = self.planes[..self.len].iter().zip(&self.weights);
        let normal = pairs.fold(Vec3A::ZERO, |sum, (plane, weight)| sum + *weight * plane.normal);
        let length = normal.length();
        let growth = self.point.length();
        let reach = growth / length;
        (length > 0.0 && reach.is_finite()).then(|| Touch {
            gap: reach * (growth - 1.0),
            normal: normal / length,
            offset: shape.offset(self.point / growth),
        })
    }
}

/// The point nearest to the origin on all of one to three planes, and what each plane adds to its
/// direction; `None` where one pulls the wrong way, or they are parallel.
fn solve(planes: &[Plane]) -> Option<(Vec3A, [f32; 3])> {
    let (point, weights) = match planes {
        [a] => {
            let weight = -a.level / a.unit.length_squared();
            (-weight * a.unit, [weight, 0.0, 0.0])
        }
        [a, b] => {
            let (aa, bb, ab) =
                (a.unit.length_squared(), b.unit.length_squared(), a.unit.dot(b.unit));
            let det = aa * bb - ab * ab;
            if det <= 1e-7 * aa * bb {
                return None;
            }
            let weights =
                [(ab * b.level - bb * a.level) / det, (ab * a.level - aa * b.level) / det, 0.0];
            (-weights[0] * a.unit - weights[1] * b.unit, weights)
        }
        [a, b, c] => {
            let (bc, ca, ab) = (b.unit.cross(c.unit), c.unit.cross(a.unit), a.unit.cross(b.unit));
            let det = a.unit.dot(bc);
            let scale = a.unit.length() * b.unit.length() * c.unit.length();
            if det.abs() <= 1e-5 * scale {
                return None;
            }
            let point = (a.level * bc + b.level * ca + c.level * ab) / det;
            (point, [bc, ca, ab].map(|across| -point.dot(across) / det))
        }
        _ => return None,
    };
    let usable = point.is_finite() && weights.iter().all(|weight| *weight >= 0.0);
    usable.then_some((point, weights))
}

/// Where an ellipsoid at `x` overlaps a convex `surface`; `None` where there is a gap, or may well be: that
/// is one. `surface` is asked with a point and a reach, as [`Distance::plane`](crate::obstacle::Distance::plane).
#[inline]
pub(super) fn meet(
    shape: &Ellipsoid,
    x: Vec3A,
    one_plane: bool,
    surface: impl Fn(Vec3A, f32) -> Option<Near>,
) -> Option<Touch> {
    let first = surface(x, shape.greatest())?;
    let unit = shape.covector(first.normal);
    let support = unit.length();
    let gap = first.distance - support;
    if gap >= 0.0 {
        return None;
    }
    let touch =
        || Touch { gap, normal: first.normal, offset: shape.offset(unit) * -support.recip() };
    // From inside the nearest face is the way out.
    if one_plane || first.distance <= 0.0 {
        return Some(touch());
    }
    // Where it touches the plane, is the plane the surface?
    let y = shape.offset(unit * (-first.distance / (support * support)));
    let rounding = 1e-6 * x.abs().max_element() + 1e-2 * TOLERANCE * support;
    match surface(x + y, f32::INFINITY) {
        Some(there) if there.distance > rounding => {
            let plane = Plane { normal: first.normal, unit, level: -first.distance };
            meet_between(shape, x, plane, rounding, surface)
        }
        _ => Some(touch()),
    }
}

/// The same, where the surface falls back behind `plane`, the first.
#[inline(never)]
fn meet_between(
    shape: &Ellipsoid,
    x: Vec3A,
    plane: Plane,
    rounding: f32,
    surface: impl Fn(Vec3A, f32) -> Option<Near>,
) -> Option<Touch> {
    let mut nearest = Nearest::new(plane)?;
    for _ in 1..PLANES {
        let y = shape.offset(nearest.point);
        let Some(there) = surface(x + y, f32::INFINITY) else { break };
        if there.distance <= rounding {
            break;
        }
        let normal = there.normal;
        let level = normal.dot(y) - there.distance;
        let plane = Plane { normal, unit: shape.covector(normal), level };
        let Some(next) = nearest.behind(plane) else { break };
        nearest = next;
        if nearest.point.length_squared() >= 1.0 {
            return None;
        }
        if there.distance <= rounding.max(TOLERANCE * shape.support(normal)) {
            break;
        }
    }
    nearest.touching(shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy::math::{Quat, Vec3};

    /// Least of a quadratic form over points of a surface, by brute force: σ.
    fn growth(shape: &Ellipsoid, x: Vec3A, points: impl Iterator<Item = Vec3A>) -> f32 {
        points.map(|y| shape.unit(y - x).length()).fold(f32::INFINITY, f32::min)
    }

    fn cube(half: Vec3A) -> impl Fn(Vec3A, f32) -> Option<Near> {
        move |x, _| {
            let outside = x.abs() - half;
            let out = outside.max(Vec3A::ZERO);
            let signs = x.signum();
            let length = out.length();
            Some(if length > 0.0 {
                Near { distance: length, normal: out * signs / length }
            } else {
                let axis = if outside.x == outside.max_element() { Vec3A::X } else { Vec3A::Y };
                Near { distance: outside.max_element(), normal: axis * signs }
            })
        }
    }

    fn grid(half: Vec3A) -> impl Iterator<Item = Vec3A> {
        (0..3).flat_map(move |axis| {
            (0..=80).flat_map(move |i| {
                (0..=80).flat_map(move |j| {
                    [-1.0f32, 1.0].into_iter().map(move |side| {
                        let (u, v) = (i as f32 / 40.0 - 1.0, j as f32 / 40.0 - 1.0);
                        let mut p = [u, v, side];
                        p.rotate_right(axis);
                        Vec3A::from_array(p) * half
                    })
                })
            })
        })
    }

    #[test]
    fn faces_edges_and_corners_are_met_as_by_a_fine_search() {
        let half = Vec3A::new(1.0, 0.5, 0.8);
        let mut edges = 0;
        for i in 0..200 {
            let at = |k: f32| (i as f32 * k).sin();
            let rotation = Quat::from_euler(bevy::math::EulerRot::XYZ, at(1.1), at(2.3), at(0.9));
            let shape = Ellipsoid::new(rotation, Vec3::new(0.6, 0.2, 0.35));
            let away = Vec3A::new(at(1.7), at(3.1), at(2.7)).normalize_or(Vec3A::X);
            let outside = away * half / (away.abs().max_element()) + 0.3 * away;
            let expected = growth(&shape, outside, grid(half));
            let Some(near) = meet(&shape, outside, false, cube(half)) else {
                assert!(expected > 0.99, "{i}: missed at {expected}");
                continue;
            };
            let found = near.gap / shape.support(near.normal) + 1.0;
            assert!(
                (found - expected).abs() < 0.02 && found <= expected + 1e-3,
                "{i}: {found} {expected}"
            );
            edges += usize::from(near.normal.abs().max_element() < 0.999);
        }
        assert!(edges > 20, "only {edges} draws met an edge or a corner");
    }

    #[test]
    fn a_ball_is_met_as_by_a_fine_search() {
        let surface = |x: Vec3A, _: f32| {
            Some(Near { distance: x.length() - 0.5, normal: x.normalize_or(Vec3A::Y) })
        };
        let mut met = 0;
        for i in 0..200 {
            let at = |k: f32| (i as f32 * k).sin();
            let rotation = Quat::from_euler(bevy::math::EulerRot::XYZ, at(1.1), at(2.3), at(0.9));
            let shape = Ellipsoid::new(rotation, Vec3::new(0.6, 0.2, 0.35));
            let x = Vec3A::new(at(1.7), at(3.1), at(2.7)).normalize_or(Vec3A::X) * 0.8;
            let points = (0..20_000).map(|j| {
                let z = 1.0 - (j as f32 + 0.5) / 10_000.0;
                let (sin, cos) = (j as f32 * 2.399_963).sin_cos();
                let side = (1.0 - z * z).max(0.0).sqrt();
                0.5 * Vec3A::new(side * cos, side * sin, z)
            });
            let expected = growth(&shape, x, points);
            let Some(near) = meet(&shape, x, false, surface) else {
                assert!(expected > 0.99, "{i}: missed at {expected}");
                continue;
            };
            met += 1;
            let found = near.gap / shape.support(near.normal) + 1.0;
            assert!((found - expected).abs() < 0.01, "{i}: {found} {expected}");
        }
        assert!(met > 50, "only {met} draws met the ball");
    }
}
