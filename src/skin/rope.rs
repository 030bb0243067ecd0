//! Rope: a tube on parallel-transport frames.
//!
//! ```text
//!      _____________
//!    ╱│╲          ╱│╲    SIDES vertices a ring, one ring a particle, plus one so that the texture
//!   ( │ )────────( │ )   closes, and a flat cap at each end
//!    ╲│╱          ╲│╱
//! ```

use super::{
    Skin,
    surface::{put_vec3, take_vec3},
};
use crate::{recipe::Rope, solver::DrawnPose};
use bevy::{
    asset::RenderAssetUsages,
    camera::primitives::Aabb,
    math::{Affine3A, ops},
    mesh::{Indices, PrimitiveTopology},
    prelude::*,
};
use core::f32::consts::TAU;

/// Faces around the tube.
const SIDES: u32 = 10;
/// Vertices of a ring.
const RING: u32 = SIDES + 1;

/// Draws a rope: texture coordinates run around it in u, and along it in v, once every circumference.
#[derive(Component, Clone, Debug)]
pub struct RopeSkin {
    particles: u32,
    length: f32,
    radius: f32,
}

impl RopeSkin {
    /// The index of the particle that a vertex goes around.
    #[cfg(feature = "picking")]
    pub(crate) fn particle_of(&self, vertex: u32) -> u32 {
        (vertex / RING).saturating_sub(1).min(self.particles.saturating_sub(1))
    }
}

impl Skin for RopeSkin {
    type Recipe = Rope;

    fn bind(recipe: &Rope, radius: f32) -> Option<Self> {
        let radius = recipe.thickness.map_or(radius, |thickness| 0.5 * thickness);
        Some(Self { particles: recipe.particles, length: recipe.length, radius })
    }

    fn mesh(&self) -> Mesh {
        let rings = self.particles + 2;
        let count = (rings * RING) as usize;
        let turns = self.length / (TAU * self.radius).max(1e-6);
        let along = |ring: u32| {
            let link = ring.saturating_sub(1).min(self.particles - 1);
            turns * link as f32 / (self.particles - 1).max(1) as f32
        };
        let uvs: Vec<[f32; 2]> = (0..rings)
            .flat_map(|ring| (0..RING).map(move |side| (ring, side)))
            .map(|(ring, side)| [side as f32 / SIDES as f32, along(ring)])
            .collect();
        let mut indices = Vec::new();
        for ring in 0..rings - 1 {
            for side in 0..SIDES {
                let a = ring * RING + side;
                let b = a + RING;
                indices.extend([a, a + 1, b, b, a + 1, b + 1]);
            }
        }
        Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default())
            .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, vec![[0.0; 3]; count])
            .with_inserted_attribute(Mesh::ATTRIBUTE_NORMAL, vec![[0.0, 0.0, 1.0]; count])
            .with_inserted_attribute(Mesh::ATTRIBUTE_UV_0, uvs)
            .with_inserted_indices(Indices::U32(indices))
    }

    fn write(&self, pose: &DrawnPose, to_body: &Affine3A, mesh: &mut Mesh) -> Option<Aabb> {
        let mut points: Vec<Vec3> =
            pose.positions.iter().map(|p| to_body.transform_point3(*p)).collect();
        points.resize(self.particles as usize, points.last().copied()?);
        let mut positions = take_vec3(mesh, Mesh::ATTRIBUTE_POSITION.id)?;
        let mut normals = take_vec3(mesh, Mesh::ATTRIBUTE_NORMAL.id)?;
        // The radius in the body's frame, so that its scale does not thicken the rope.
        let radius = self.radius * to_body.transform_vector3(Vec3::X).length();
        tube(&points, radius, &mut positions, &mut normals);
        put_vec3(mesh, Mesh::ATTRIBUTE_POSITION.id, positions);
        put_vec3(mesh, Mesh::ATTRIBUTE_NORMAL.id, normals);
        let low = points.iter().fold(Vec3::INFINITY, |low, p| low.min(*p)) - radius;
        let high = points.iter().fold(Vec3::NEG_INFINITY, |high, p| high.max(*p)) + radius;
        (low.is_finite() && high.is_finite()).then(|| Aabb::from_min_max(low, high))
    }
}

/// Rings around `points`, with a ring of no radius at each end to close the tube.
fn tube(points: &[Vec3], radius: f32, positions: &mut [[f32; 3]], normals: &mut [[f32; 3]]) {
    let last = points.len() - 1;
    let mut tangent = Vec3::Y;
    let mut side = Vec3::X;
    let mut write =
        |ring: usize, centre: Vec3, radius: f32, tangent: Vec3, side: Vec3, cap: Option<Vec3>| {
            let other = tangent.cross(side);
            for corner in 0..RING as usize {
                let (sin, cos) = ops::sin_cos(TAU * corner as f32 / SIDES as f32);
                let out = cos * side + sin * other;
                let vertex = ring * RING as usize + corner;
                if let (Some(p), Some(n)) = (positions.get_mut(vertex), normals.get_mut(vertex)) {
                    *p = (centre + radius * out).to_array();
                    *n = cap.unwrap_or(out).to_array();
                }
            }
        };
    for (i, point) in points.iter().enumerate() {
        let along = points[(i + 1).min(last)] - points[i.saturating_sub(1)];
        let next = along.try_normalize().unwrap_or(tangent);
        // Turn the frame by the least rotation that carries the old tangent into the new.
        side = if i == 0 {
            next.any_orthonormal_vector()
        } else {
            let carried = Quat::from_rotation_arc(tangent, next) * side;
            (carried - next * carried.dot(next)).normalize_or(next.any_orthonormal_vector())
        };
        tangent = next;
        if i == 0 {
            write(0, *point, 0.0, tangent, side, Some(-tangent));
        }
        write(i + 1, *point, radius, tangent, side, None);
        if i == last {
            write(i + 2, *point, 0.0, tangent, side, Some(tangent));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tube_is_round_finite_and_points_outward() {
        let points: Vec<Vec3> =
            (0..6).map(|i| Vec3::new((i as f32).sin(), -(i as f32), 0.3 * i as f32)).collect();
        let count = (points.len() + 2) * RING as usize;
        let (mut p, mut n) = (vec![[0.0; 3]; count], vec![[0.0; 3]; count]);
        tube(&points, 0.1, &mut p, &mut n);
        for (i, point) in points.iter().enumerate() {
            for corner in 0..RING as usize {
                let vertex = (i + 1) * RING as usize + corner;
                let out = Vec3::from(p[vertex]) - *point;
                assert!((out.length() - 0.1).abs() < 1e-5);
                assert!(out.normalize().dot(Vec3::from(n[vertex])) > 0.999);
            }
        }
    }

    #[test]
    fn coincident_points_give_finite_vertices() {
        let count = 5 * RING as usize;
        let (mut p, mut n) = (vec![[0.0; 3]; count], vec![[0.0; 3]; count]);
        tube(&[Vec3::ONE; 3], 0.1, &mut p, &mut n);
        assert!(p.iter().chain(&n).flatten().all(|v| v.is_finite()));
    }
}
