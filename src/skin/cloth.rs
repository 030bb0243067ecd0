//! Cloth from a grid: one vertex a particle.

use super::{
    Skin,
    surface::{self, Surface, SurfaceBuffers, attribute, put_vec3, take_vec3},
};
use crate::{
    recipe::{Cloth, ClothShape, grid_triangles},
    solver::DrawnPose,
};
use bevy::{
    asset::RenderAssetUsages,
    camera::primitives::Aabb,
    math::Affine3A,
    mesh::{Indices, PrimitiveTopology, VertexAttributeValues},
    prelude::*,
};

/// Draws a cloth from a grid: texture coordinates run from 0 to 1 along x and down y.
#[derive(Component, Clone, Debug)]
pub struct ClothSkin {
    size: UVec2,
    spacing: f32,
    surface: Surface,
}

impl Skin for ClothSkin {
    type Recipe = Cloth;

    fn bind(recipe: &Cloth, _radius: f32) -> Option<Self> {
        let ClothShape::Grid { size, spacing, .. } = recipe.shape else { return None };
        let along_u = (0..size.x * size.y)
            .map(|i| {
                let column = i % size.x;
                [i - u32::from(column > 0), i + u32::from(column + 1 < size.x)]
            })
            .collect();
        let surface = Surface { triangles: grid_triangles(size), along_u };
        Some(Self { size, spacing, surface })
    }

    fn mesh(&self) -> Mesh {
        let size = self.size;
        let last = (size.saturating_sub(UVec2::ONE)).max(UVec2::ONE).as_vec2();
        let places: Vec<Vec2> = (0..size.y)
            .flat_map(|row| (0..size.x).map(move |column| UVec2::new(column, row).as_vec2()))
            .collect();
        let position = |p: &Vec2| [(p.x - 0.5 * last.x) * self.spacing, -p.y * self.spacing, 0.0];
        let positions: Vec<[f32; 3]> = places.iter().map(position).collect();
        let uvs: Vec<[f32; 2]> = places.iter().map(|p| (*p / last).to_array()).collect();
        let count = positions.len();
        Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default())
            .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, positions)
            .with_inserted_attribute(Mesh::ATTRIBUTE_NORMAL, vec![[0.0, 0.0, 1.0]; count])
            .with_inserted_attribute(Mesh::ATTRIBUTE_TANGENT, vec![[1.0, 0.0, 0.0, 1.0]; count])
            .with_inserted_attribute(Mesh::ATTRIBUTE_UV_0, uvs)
            .with_inserted_indices(Indices::U32(self.surface.triangles.as_flattened().to_vec()))
    }

    fn write(&self, pose: &DrawnPose, to_body: &Affine3A, mesh: &mut Mesh) -> Option<Aabb> {
        let mut positions = take_vec3(mesh, Mesh::ATTRIBUTE_POSITION.id)?;
        let mut normals = take_vec3(mesh, Mesh::ATTRIBUTE_NORMAL.id)?;
        let mut tangents = match attribute(mesh, Mesh::ATTRIBUTE_TANGENT.id)? {
            VertexAttributeValues::Float32x4(values) => core::mem::take(values),
            _ => return None,
        };
        let buffers = SurfaceBuffers {
            positions: &mut positions,
            normals: &mut normals,
            tangents: &mut tangents,
        };
        let bounds = self.surface.fill(&pose.positions, &pose.present, to_body, buffers);
        put_vec3(mesh, Mesh::ATTRIBUTE_POSITION.id, positions);
        put_vec3(mesh, Mesh::ATTRIBUTE_NORMAL.id, normals);
        if let Some(VertexAttributeValues::Float32x4(values)) =
            attribute(mesh, Mesh::ATTRIBUTE_TANGENT.id)
        {
            *values = tangents;
        }
        let whole = pose.present.iter().all(|present| *present);
        let there = |t: &[u32; 3]| {
            t.iter().all(|i| pose.present.get(*i as usize).copied().unwrap_or(false))
        };
        surface::leave_out(mesh, &self.surface.triangles, whole, there);
        bounds
    }
}
