//! How an ellipsoid meets triangles of a mesh.
//!
//! ```text
//!    ____          In units in which the ellipsoid is the unit ball, a triangle is a triangle still, and
//!  ／ ·x  ＼        its nearest point to the centre is where the ellipsoid, grown or shrunk, touches.
//! (───┼────)
//! ──●─┴──●────     A planar body meets the segment that its plane cuts out of the triangle.
//! ```

use super::{blocks::Patch, growth::Touch, narrow::Listed, near::NearPiece};
use crate::{math::ellipsoid::Ellipsoid, obstacle::Near};
use bevy::math::Vec3A;

/// A triangle overlaps where its growth is less than 1 by more than rounding.
const TOUCHING: f32 = 1.0 - 1e-5;

impl Patch {
    /// The triangle that a path from `start` to `x` crosses first.
    #[cold]
    pub(super) fn crossed(
        &self,
        place: usize,
        near: &NearPiece,
        start: Vec3A,
        x: Vec3A,
    ) -> Option<(Near, u32)> {
        let (triangles, list) = self.listed(place);
        // Both as seen by the mesh where it is now.
        let ends = [start, x].map(|x| self.local(near, x, true));
        let (found, number) = Listed { triangles, list }.crossed(ends[0], ends[1])?;
        Some((Near { normal: self.outward(near, found.normal), ..found }, number))
    }

    /// The surface that the ellipsoid at `x` overlaps most, but for that of the triangle `except`.
    pub(super) fn met(
        &self,
        place: usize,
        near: &NearPiece,
        shape: &Ellipsoid,
        x: Vec3A,
        level: Option<f32>,
        except: u32,
    ) -> Option<(Touch, u32)> {
        let (triangles, list) = self.listed(place);
        let mut best: Option<(Met, u32)> = None;
        for &number in list {
            if number == except {
                continue;
            }
            let corners = triangles[number as usize].corners().map(|c| self.placed(near, c) - x);
            let solid = triangles[number as usize].is_solid();
            let met = match level {
                None => meet(shape, corners, solid),
                Some(_) => cut(corners).and_then(|ends| meet_segment(shape, ends, corners, solid)),
            };
            if let Some(met) = met
                && met.growth.abs() < TOUCHING
                && best.is_none_or(|(best, _)| met.nearer(&best))
            {
                best = Some((met, number));
            }
        }
        best.map(|(met, number)| (met.touch(shape), number))
    }
}

/// A surface that an ellipsoid touches when grown.
#[derive(Clone, Copy, Debug)]
struct Met {
    /// By how much it must grow; negative behind a solid triangle.
    growth: f32,
    normal: Vec3A,
    /// How far the ellipsoid reaches against the normal (m).
    support: f32,
}

impl Met {
    /// Where it touches the point at `unit`, in units of the ellipsoid; `face` is the normal of a face
    /// on which the point may lie, toward the centre.
    fn at(shape: &Ellipsoid, unit: Vec3A, face: Vec3A) -> Self {
        let growth = unit.length();
        let normal = if growth > 1e-6 { -shape.gradient(unit) } else { face };
        let normal = normal.normalize_or(face);
        Self { growth, normal, support: shape.support(normal) }
    }

    /// Of two as near, the one in front.
    fn nearer(&self, other: &Self) -> bool {
        let (a, b) = (self.growth.abs(), other.growth.abs());
        a < b || (a == b && self.growth > other.growth)
    }

    fn touch(&self, shape: &Ellipsoid) -> Touch {
        Touch {
            gap: self.support * (self.growth - 1.0),
            normal: self.normal,
            offset: shape.contact_offset(self.normal),
        }
    }
}

/// The triangle with these corners, as seen from the centre (m).
fn meet(shape: &Ellipsoid, corners: [Vec3A; 3], solid: bool) -> Option<Met> {
    let [a, b, c] = corners;
    let across = (b - a).cross(c - a);
    let face = across.normalize_or_zero();
    let height = -face.dot(a);
    if face == Vec3A::ZERO {
        return None;
    }
    let side = if height < 0.0 && !solid { -1.0 } else { 1.0 };
    let (face, height) = (side * face, side * height);
    let unit_face = shape.covector(face);
    let support = unit_face.length();
    if height >= support || height <= -support {
        return None;
    }
    // Over its inside the ellipsoid touches the face itself.
    let growth = height / support;
    let foot = shape.offset(unit_face) * (-growth / support);
    if inside(corners, across, foot) {
        return Some(Met { growth, normal: face, support });
    }
    // Behind a solid triangle's border others are nearer.
    if height < 0.0 {
        return None;
    }
    let units = corners.map(|corner| shape.unit(corner));
    Some(Met::at(shape, nearest_on_border(units), face))
}

/// Whether a point of its plane lies within a triangle with normal `across`.
fn inside([a, b, c]: [Vec3A; 3], across: Vec3A, point: Vec3A) -> bool {
    let within = |p: Vec3A, q: Vec3A| across.dot((q - p).cross(point - p)) >= 0.0;
    within(a, b) && within(b, c) && within(c, a)
}

/// The point of a triangle's border nearest to the origin.
fn nearest_on_border([a, b, c]: [Vec3A; 3]) -> Vec3A {
    let points = [[a, b], [b, c], [c, a]].map(nearest_on_segment);
    let nearer = |p: Vec3A, q: Vec3A| if q.length_squared() < p.length_squared() { q } else { p };
    nearer(nearer(points[0], points[1]), points[2])
}

fn nearest_on_segment([a, b]: [Vec3A; 2]) -> Vec3A {
    let along = b - a;
    let squared = along.length_squared();
    if squared > 0.0 { a + along * (-a.dot(along) / squared).clamp(0.0, 1.0) } else { a }
}

/// The segment that the plane z = 0 cuts out of a triangle.
fn cut(corners: [Vec3A; 3]) -> Option<[Vec3A; 2]> {
    let mut ends = [Vec3A::ZERO; 2];
    let mut found = 0;
    for i in 0..3 {
        let (p, q) = (corners[i], corners[(i + 1) % 3]);
        // A corner in the plane belongs to what is above.
        if (p.z < 0.0) != (q.z < 0.0) && found < 2 {
            ends[found] = (p + (q - p) * (p.z / (p.z - q.z))).with_z(0.0);
            found += 1;
        }
    }
    (found == 2).then_some(ends)
}

/// The segment between `ends`, cut out of the triangle with these corners, as seen from the centre (m).
fn meet_segment(
    shape: &Ellipsoid,
    ends: [Vec3A; 2],
    [a, b, c]: [Vec3A; 3],
    solid: bool,
) -> Option<Met> {
    let face = (b - a).cross(c - a).with_z(0.0).normalize_or_zero();
    if face == Vec3A::ZERO {
        return None;
    }
    let height = -face.dot(ends[0]);
    let side = if height < 0.0 && !solid { -1.0 } else { 1.0 };
    let (face, height) = (side * face, side * height);
    let unit = nearest_on_segment(ends.map(|end| shape.unit(end)));
    if height >= 0.0 {
        let units = ends.map(|end| shape.unit(end));
        let at_end = unit == units[0] || unit == units[1];
        if at_end {
            return Some(Met::at(shape, unit, face));
        }
        let support = shape.support(face);
        return Some(Met { growth: height / support, normal: face, support });
    }
    // Behind it, where its inside is nearest.
    let support = shape.support(face);
    let within = ends.into_iter().map(|end| shape.unit(end)).all(|end| end != unit);
    within.then_some(Met { growth: height / support, normal: face, support })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy::math::{Quat, Vec3};

    #[test]
    fn triangles_are_met_as_by_a_fine_search() {
        let corners = [Vec3A::new(0.3, -1.0, 0.2), Vec3A::new(2.0, 0.1, -0.4), Vec3A::Y];
        let mut met = 0;
        for i in 0..300 {
            let at = |k: f32| (i as f32 * k).sin();
            let rotation = Quat::from_euler(bevy::math::EulerRot::XYZ, at(1.1), at(2.3), at(0.9));
            let shape = Ellipsoid::new(rotation, Vec3::new(0.9, 0.3, 0.5));
            let x = Vec3A::new(0.8, 0.0, 0.0) + 1.2 * Vec3A::new(at(1.3), at(2.1), at(0.7));
            let seen = corners.map(|corner| corner - x);
            let mut best = f32::INFINITY;
            for u in 0..=100 {
                for v in 0..=100 - u {
                    let (u, v) = (u as f32 / 100.0, v as f32 / 100.0);
                    let on = seen[0] * (1.0 - u - v) + seen[1] * u + seen[2] * v;
                    best = best.min(shape.unit(on).length());
                }
            }
            let Some(found) = meet(&shape, seen, false) else {
                assert!(best > 0.98, "{i}: missed at {best}");
                continue;
            };
            met += usize::from(found.growth < 1.0);
            assert!((found.growth - best).abs() < 0.05 && found.growth <= best + 1e-4);
            assert!((found.support - shape.support(found.normal)).abs() < 1e-5);
        }
        assert!(met > 30, "only {met} draws overlap");
    }

    #[test]
    fn a_planar_ellipse_meets_what_its_plane_cuts_out() {
        let wall =
            [Vec3A::new(0.1, -1.0, -1.0), Vec3A::new(0.1, 1.0, -1.0), Vec3A::new(0.1, 0.0, 3.0)];
        let shape = Ellipsoid::flat(Quat::IDENTITY, Vec3::new(0.3, 0.1, 0.0));
        let met = meet_segment(&shape, cut(wall).unwrap(), wall, false).unwrap();
        assert!(met.normal.distance(Vec3A::NEG_X) < 1e-6, "{met:?}");
        assert!((met.touch(&shape).gap + 0.2).abs() < 1e-6, "{met:?}");
        let beside = wall.map(|corner| corner + Vec3A::Z * 4.0);
        assert!(cut(beside).is_none());
    }
}
