//! Which triangle of a mesh a ray meets first.
//!
//! ```text
//!        c                vertices are projected along the ray into the plane at right angles to it,
//!       ╱ ╲               relative to the ray; the ray meets a triangle where the origin of that plane
//!      ╱ ∙ ╲  ∙ = ray     lies on one side of all three edges
//!     a─────b
//! ```
//!
//! A byte for each vertex tells on which sides of the two axes it lies; nearly all triangles are
//! turned down by the bytes of their corners alone.

use bevy::{
    math::Affine3A,
    mesh::{Indices, PrimitiveTopology, VertexAttributeValues},
    prelude::*,
};

/// Where a ray meets a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Met {
    /// The triangle's place in the list.
    pub triangle: u32,
    /// Its vertices.
    pub corners: [u32; 3],
    /// Weights of the corners, of sum 1.
    pub weights: Vec3,
    /// How many directions of the ray it is from the ray's origin.
    pub distance: f32,
}

/// A ray and two axes at right angles to it.
#[derive(Clone, Copy, Debug)]
pub struct FlatRay {
    origin: Vec3,
    direction: Vec3,
    /// The direction over its length squared.
    along: Vec3,
    axes: [Vec3; 2],
}

impl FlatRay {
    /// A ray whose direction need not be of length 1; `None` if it is 0 or not finite.
    pub fn new(origin: Vec3, direction: Vec3) -> Option<Self> {
        let (unit, length) = (direction.try_normalize()?, direction.length());
        let along = unit / length;
        if !(origin.is_finite() && along.is_finite()) {
            return None;
        }
        let (x, y) = unit.any_orthonormal_pair();
        Some(Self { origin, direction, along, axes: [x, y] })
    }

    /// The ray in another frame; `None` where that cannot be told.
    pub fn within(ray: Ray3d, to_frame: &Affine3A) -> Option<Self> {
        let origin = to_frame.transform_point3(ray.origin);
        Self::new(origin, to_frame.transform_vector3(*ray.direction))
    }

    fn flat(&self, point: [f32; 3]) -> Vec2 {
        let from = Vec3::from(point) - self.origin;
        Vec2::new(from.dot(self.axes[0]), from.dot(self.axes[1]))
    }

    fn distance(&self, point: [f32; 3]) -> f32 {
        (Vec3::from(point) - self.origin).dot(self.along)
    }

    /// Whether it comes through the box around `center`; false for what is not a number.
    pub fn meets_box(&self, center: Vec3, half: Vec3) -> bool {
        // A flat box has no inside: let it have a little.
        let half = half + 1e-4 * half.max_element() + 1e-6 * center.abs().max_element();
        let (low, high) = (center - half - self.origin, center + half - self.origin);
        let (mut from, mut to) = (0.0f32, f32::INFINITY);
        for axis in 0..3 {
            let direction = self.direction[axis];
            if direction == 0.0 {
                if !(low[axis] <= 0.0 && high[axis] >= 0.0) {
                    return false;
                }
                continue;
            }
            let (a, b) = (low[axis] / direction, high[axis] / direction);
            from = from.max(a.min(b));
            to = to.min(a.max(b));
        }
        (low + high).is_finite() && from <= to
    }

    /// The triangle that the ray meets first; of several at one place the last, which is drawn over the
    /// others. `sides` is memory to work in.
    pub fn nearest<T: Copy + Into<u32>>(
        &self,
        positions: &[[f32; 3]],
        triangles: &[[T; 3]],
        sides: &mut Vec<u8>,
    ) -> Option<Met> {
        sides.clear();
        sides.extend(positions.iter().map(|position| sides_of(self.flat(*position))));
        let mut best: Option<Met> = None;
        for (triangle, corners) in triangles.iter().enumerate() {
            let corners = corners.map(Into::into);
            let [Some(a), Some(b), Some(c)] = corners.map(|v: u32| sides.get(v as usize)) else {
                continue;
            };
            if a & b & c != 0 {
                continue;
            }
            let Some((weights, distance)) = self.meets(corners.map(|v| positions[v as usize]))
            else {
                continue;
            };
            let behind = |best: &Met| distance > best.distance + 1e-6 * best.distance.abs();
            if !best.as_ref().is_some_and(behind) {
                best = Some(Met { triangle: triangle as u32, corners, weights, distance });
            }
        }
        best
    }

    fn meets(&self, corners: [[f32; 3]; 3]) -> Option<(Vec3, f32)> {
        let [a, b, c] = corners.map(|corner| self.flat(corner));
        let edges = Vec3::new(b.perp_dot(c), c.perp_dot(a), a.perp_dot(b));
        let area = edges.element_sum();
        let inside = edges.cmpge(Vec3::ZERO).all() || edges.cmple(Vec3::ZERO).all();
        let weights = edges / area;
        if !inside || area == 0.0 || !weights.is_finite() {
            return None;
        }
        let distance = Vec3::from(corners.map(|corner| self.distance(corner))).dot(weights);
        (distance >= 0.0).then_some((weights, distance))
    }

    /// The same with a mesh asset; `None` also for one that holds no triangles, or not in main memory.
    pub fn nearest_of_mesh(&self, mesh: &Mesh, sides: &mut Vec<u8>) -> Option<Met> {
        if mesh.primitive_topology() != PrimitiveTopology::TriangleList {
            return None;
        }
        let positions = positions(mesh)?;
        match mesh.try_indices().ok()? {
            Indices::U16(indices) => self.nearest(positions, indices.as_chunks().0, sides),
            Indices::U32(indices) => self.nearest(positions, indices.as_chunks().0, sides),
        }
    }
}

/// On which sides of both axes; none for what is not a number.
fn sides_of(at: Vec2) -> u8 {
    u8::from(at.x > 0.0)
        | u8::from(at.x < 0.0) << 1
        | u8::from(at.y > 0.0) << 2
        | u8::from(at.y < 0.0) << 3
}

/// The positions of a mesh's vertices.
pub fn positions(mesh: &Mesh) -> Option<&[[f32; 3]]> {
    mesh.try_attribute(Mesh::ATTRIBUTE_POSITION).ok()?.as_float3()
}

/// Texture coordinates where a triangle was met.
pub fn uv(mesh: &Mesh, met: &Met) -> Option<Vec2> {
    match mesh.try_attribute(Mesh::ATTRIBUTE_UV_0).ok()? {
        VertexAttributeValues::Float32x2(uvs) => {
            blend(met, |vertex| Some(Vec2::from(*uvs.get(vertex as usize)?)))
        }
        _ => None,
    }
}

/// The mean of what the corners have, by their weights.
pub fn blend<V>(met: &Met, of: impl Fn(u32) -> Option<V>) -> Option<V>
where
    V: core::ops::Mul<f32, Output = V> + core::ops::Add<Output = V>,
{
    let [a, b, c] = met.corners;
    Some(of(a)? * met.weights.x + of(b)? * met.weights.y + of(c)? * met.weights.z)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQUARE: [[f32; 3]; 4] =
        [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 2.0, 0.0], [0.0, 2.0, 0.0]];

    fn nearest(origin: Vec3, direction: Vec3, positions: &[[f32; 3]]) -> Option<Met> {
        let triangles = [[0u32, 1, 2], [0, 2, 3]];
        FlatRay::new(origin, direction)?.nearest(positions, &triangles, &mut Vec::new())
    }

    #[test]
    fn both_sides_are_met_with_weights_that_give_the_point() {
        for (z, down) in [(3.0, -1.0), (-3.0, 1.0)] {
            let met = nearest(Vec3::new(1.5, 0.5, z), Vec3::Z * down * 2.0, &SQUARE).unwrap();
            assert_eq!((met.triangle, met.distance), (0, 1.5), "in directions of length 2");
            let at = blend(&met, |v| Some(Vec3::from(SQUARE[v as usize]))).unwrap();
            assert!(at.distance(Vec3::new(1.5, 0.5, 0.0)) < 1e-6, "{at}");
        }
    }

    #[test]
    fn an_edge_that_two_triangles_share_has_no_gap_and_beside_them_is_nothing() {
        // Not at the corners, which are borders too.
        for i in 1..200 {
            let at = Vec3::new(0.01, 0.01, 0.0) * i as f32;
            let slanted = Vec3::new(0.3, -0.2, -1.0);
            assert!(nearest(at - slanted * 4.0, slanted, &SQUARE).is_some(), "{at}");
        }
        assert_eq!(nearest(Vec3::new(2.01, 1.0, 1.0), -Vec3::Z, &SQUARE), None);
        assert_eq!(nearest(Vec3::new(1.0, 1.0, 1.0), Vec3::Z, &SQUARE), None, "behind");
        assert_eq!(nearest(Vec3::new(1.0, 1.0, 1.0), Vec3::X, &SQUARE), None, "alongside");
    }

    #[test]
    fn of_layers_the_nearest_is_met_and_of_coincident_ones_the_last() {
        let ray = FlatRay::new(Vec3::new(0.5, 0.25, 5.0), -Vec3::Z).unwrap();
        let layers = [SQUARE, SQUARE.map(|[x, y, _]| [x, y, 1.0])].concat();
        let triangles = [[0u16, 1, 2], [4, 5, 6], [4, 5, 6], [0, 1, 2]];
        let met = ray.nearest(&layers, &triangles, &mut Vec::new()).unwrap();
        assert_eq!((met.triangle, met.distance), (2, 4.0));
    }

    #[test]
    fn nonsense_meets_nothing() {
        let ray = FlatRay::new(Vec3::new(0.5, 0.25, 5.0), -Vec3::Z).unwrap();
        let mut sides = Vec::new();
        assert_eq!(ray.nearest(&[[f32::NAN; 3]; 3], &[[0u32, 1, 2]], &mut sides), None);
        assert_eq!(ray.nearest(&[[f32::INFINITY; 3]; 3], &[[0u32, 1, 2]], &mut sides), None);
        assert_eq!(ray.nearest(&SQUARE, &[[0u32, 1, 9]], &mut sides), None);
        assert_eq!(ray.nearest(&SQUARE, &[[0u32, 1, 1]], &mut sides), None);
        assert_eq!(ray.nearest::<u32>(&[], &[], &mut sides), None);
        assert!(FlatRay::new(Vec3::ZERO, Vec3::ZERO).is_none());
        assert!(FlatRay::new(Vec3::NAN, Vec3::X).is_none());
        assert!(!ray.meets_box(Vec3::NAN, Vec3::ONE) && !ray.meets_box(Vec3::ZERO, Vec3::NAN));
    }

    #[test]
    fn boxes_are_met_even_flat_ones() {
        let ray = FlatRay::new(Vec3::new(0.5, 0.25, 5.0), -Vec3::Z).unwrap();
        assert!(ray.meets_box(Vec3::ZERO, Vec3::new(1.0, 1.0, 0.0)));
        assert!(!ray.meets_box(Vec3::ZERO, Vec3::new(0.4, 1.0, 1.0)));
        assert!(!ray.meets_box(Vec3::Z * 9.0, Vec3::ONE), "behind");
        let slanted = FlatRay::new(Vec3::splat(5.0), Vec3::splat(-1.0)).unwrap();
        assert!(slanted.meets_box(Vec3::splat(1.0), Vec3::new(0.0, 2.0, 2.0)));
    }
}
