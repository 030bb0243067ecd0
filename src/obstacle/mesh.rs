//! Triangle meshes as obstacles: levels, terrain, hulls.
//!
//! ```text
//!    both sides          solid
//!      ●  ↑                ●  ↑        a particle stays on its side of a face of a level,
//!    ──────────          ──────────    and in front of a face of something solid
//!      ●  ↓                ●  ↑
//! ```

use super::{shape::ShapeError, triangle::Triangle};
use crate::math::bounds::{Bounds, BoundsTree};
use alloc::sync::Arc;
use bevy::{
    math::Vec3A,
    prelude::*,
    reflect::{ReflectDeserialize, ReflectSerialize},
};
use serde::{Deserialize, Serialize};

/// The triangles of an obstacle, in its own frame; cheap to clone.
#[derive(Reflect, Clone, Debug, Default, Serialize, Deserialize)]
#[reflect(opaque)]
#[reflect(Default, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "SavedMesh", into = "SavedMesh")]
pub struct TriangleMesh {
    triangles: Arc<Triangles>,
    solid: bool,
}

#[derive(Debug, Default)]
struct Triangles {
    corners: Vec<[Vec3A; 3]>,
    tree: BoundsTree,
    bounds: Option<Bounds>,
}

/// A mesh as it is saved with a world.
#[derive(Serialize, Deserialize)]
struct SavedMesh {
    triangles: Vec<[[f32; 3]; 3]>,
    solid: bool,
}

impl From<TriangleMesh> for SavedMesh {
    fn from(mesh: TriangleMesh) -> Self {
        let triangles =
            mesh.triangles.corners.iter().map(|corners| corners.map(|c| c.to_array())).collect();
        Self { triangles, solid: mesh.solid }
    }
}

impl From<SavedMesh> for TriangleMesh {
    fn from(saved: SavedMesh) -> Self {
        let vertices: Vec<Vec3> =
            saved.triangles.as_flattened().iter().copied().map(Vec3::from_array).collect();
        let triangles: Vec<[u32; 3]> =
            (0..saved.triangles.len() as u32).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
        // Of nothing usable it is the empty mesh, which is ignored with a warning.
        let mesh = Self::new(&vertices, &triangles).unwrap_or_default();
        Self { solid: saved.solid, ..mesh }
    }
}

impl PartialEq for TriangleMesh {
    /// Whether it is the same mesh: content is not compared.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.triangles, &other.triangles) && self.solid == other.solid
    }
}

impl TriangleMesh {
    /// A mesh of `vertices` (m) and `triangles`. Triangles that name a missing vertex, have a vertex that
    /// is not finite or have no area are left out.
    ///
    /// # Errors
    ///
    /// Where no triangle is left.
    pub fn new(vertices: &[Vec3], triangles: &[[u32; 3]]) -> Result<Self, ShapeError> {
        let usable = |triangle: &[u32; 3]| -> Option<[Vec3A; 3]> {
            let [a, b, c] = triangle.map(|i| vertices.get(i as usize).copied());
            let corners = [a?, b?, c?].map(Vec3A::from);
            let [a, b, c] = corners;
            let area = (b - a).cross(c - a).length_squared();
            (corners.iter().all(|v| v.is_finite()) && area > 0.0 && area.is_finite())
                .then_some(corners)
        };
        let corners: Vec<[Vec3A; 3]> = triangles.iter().filter_map(usable).collect();
        if corners.is_empty() {
            return Err(ShapeError::NoTriangles { given: triangles.len() });
        }
        let boxes: Vec<Bounds> = corners
            .iter()
            .map(|corners| corners.iter().fold(Bounds::EMPTY, |b, corner| b.with(*corner)))
            .collect();
        let bounds = boxes.iter().fold(Bounds::EMPTY, |all, one| all.union(*one));
        let tree = BoundsTree::new(&boxes);
        let triangles = Arc::new(Triangles { corners, tree, bounds: Some(bounds) });
        Ok(Self { triangles, solid: false })
    }

    /// Solid: a particle just behind a triangle is pushed to its front, the side from which the triangle
    /// runs counter-clockwise. For convex hulls and other closed meshes; a mesh that is not said to be
    /// solid is met from both sides.
    pub fn solid(mut self) -> Self {
        self.solid = true;
        self
    }

    /// The convex hull of `points` (m), solid.
    ///
    /// # Errors
    ///
    /// Where the points are not finite, or lie in a plane.
    #[cfg(feature = "parry")]
    pub fn convex_hull(points: &[Vec3]) -> Result<Self, ShapeError> {
        super::parry::convex_hull(points)
    }

    /// Number of triangles.
    pub fn len(&self) -> usize {
        self.triangles.corners.len()
    }

    /// Whether there is none: only in the default value.
    pub fn is_empty(&self) -> bool {
        self.triangles.corners.is_empty()
    }

    pub(super) fn bounds(&self) -> Bounds {
        self.triangles.bounds.unwrap_or(Bounds { min: Vec3A::ZERO, max: Vec3A::ZERO })
    }

    /// Adds the triangles that may meet `bounds` (own frame, not scaled) to `found`, each corner through
    /// `place`, which may mirror them.
    pub(crate) fn within(
        &self,
        bounds: &Bounds,
        mirrored: bool,
        place: impl Fn(Vec3A) -> Vec3A,
        found: &mut Vec<Triangle>,
    ) {
        self.triangles.tree.query(bounds, |item| {
            let corners = self.triangles.corners[item as usize];
            let around = corners.iter().fold(Bounds::EMPTY, |b, corner| b.with(*corner));
            if around.overlaps(bounds) {
                let [a, b, c] = corners.map(&place);
                let corners = if mirrored { [a, c, b] } else { [a, b, c] };
                found.push(Triangle::new(corners, self.solid));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_a_triangle_is_left_out() {
        let vertices = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::NAN, Vec3::X * 2.0];
        let bad = [[0, 1, 9], [0, 1, 3], [0, 1, 4], [2, 2, 2]];
        assert_eq!(TriangleMesh::new(&vertices, &bad), Err(ShapeError::NoTriangles { given: 4 }));
        let good = TriangleMesh::new(&vertices, &[[0, 1, 2], [0, 1, 9]]).unwrap();
        assert_eq!(good.len(), 1);
        let mut found = Vec::new();
        good.within(&Bounds::ALL, false, |corner| corner, &mut found);
        assert_eq!(found.len(), 1);
    }
}
