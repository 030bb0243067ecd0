//! Reading a mesh: positions and triangles, whatever way it stores them.

use super::error::BuildError;
use bevy::{
    asset::RenderAssetUsages,
    mesh::{Indices, MeshAccessError, PrimitiveTopology, VertexAttributeValues},
    prelude::*,
};

/// Positions and triangles of a mesh, in the mesh's own frame.
#[derive(Clone, Debug, Default)]
pub(super) struct RawMesh {
    /// One a vertex.
    pub positions: Vec<Vec3>,
    /// Triangles by vertex; every index has a position.
    pub faces: Vec<[u32; 3]>,
    /// Faces left out, as one of their indices has no position.
    pub out_of_range: u32,
}

fn gone(_: MeshAccessError) -> BuildError {
    BuildError::RenderWorldMesh
}

/// The positions of a mesh, which must be of three floats.
pub(super) fn positions(mesh: &Mesh) -> Result<&[[f32; 3]], BuildError> {
    // What is kept for the render world only is refused at once, not just after it has gone there.
    if !mesh.asset_usage.contains(RenderAssetUsages::MAIN_WORLD) {
        return Err(BuildError::RenderWorldMesh);
    }
    match mesh.try_attribute_option(Mesh::ATTRIBUTE_POSITION).map_err(gone)? {
        Some(VertexAttributeValues::Float32x3(positions)) => Ok(positions),
        Some(other) => Err(BuildError::PositionFormat(format!("{:?}", VertexFormatOf(other)))),
        None => Err(BuildError::NoPositions),
    }
}

/// Reads a mesh. Its topology must be of triangles, its positions of three floats.
pub(super) fn read(mesh: &Mesh) -> Result<RawMesh, BuildError> {
    let positions: Vec<Vec3> = positions(mesh)?.iter().map(|p| Vec3::from(*p)).collect();
    let count = u32::try_from(positions.len()).unwrap_or(u32::MAX);
    let mut raw = RawMesh { positions, ..default() };
    let mut face = |face: [u32; 3]| {
        if face.iter().all(|i| *i < count) {
            raw.faces.push(face);
        } else {
            raw.out_of_range += 1;
        }
    };
    let topology = mesh.primitive_topology();
    let indices = mesh.try_indices_option().map_err(gone)?;
    // What is not indexed takes its vertices in order.
    let (list, restart) = match indices {
        Some(Indices::U16(list)) => {
            (list.iter().map(|i| u32::from(*i)).collect(), Some(u32::from(u16::MAX)))
        }
        Some(Indices::U32(list)) => (list.clone(), Some(u32::MAX)),
        None => ((0..count).collect::<Vec<u32>>(), None),
    };
    match topology {
        PrimitiveTopology::TriangleList => {
            let (whole, _) = list.as_chunks::<3>();
            whole.iter().copied().for_each(&mut face);
        }
        PrimitiveTopology::TriangleStrip => {
            for strip in list.split(|i| Some(*i) == restart) {
                for (i, corners) in strip.windows(3).enumerate() {
                    let [a, b, c] = [corners[0], corners[1], corners[2]];
                    face(if i % 2 == 0 { [a, b, c] } else { [b, a, c] });
                }
            }
        }
        other => return Err(BuildError::NotTriangles(format!("{other:?}"))),
    }
    Ok(raw)
}

/// Shows the format of an attribute.
struct VertexFormatOf<'a>(&'a VertexAttributeValues);

impl core::fmt::Debug for VertexFormatOf<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Debug::fmt(&bevy::mesh::VertexFormat::from(self.0), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(topology: PrimitiveTopology) -> Mesh {
        let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0f32]];
        Mesh::new(topology, RenderAssetUsages::default())
            .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, corners.to_vec())
    }

    #[test]
    fn lists_and_strips_with_any_indices_give_the_same_faces() {
        let list = square(PrimitiveTopology::TriangleList);
        let expected = [[0, 1, 2], [2, 1, 3]];
        for indices in
            [Indices::U16(vec![0, 1, 2, 2, 1, 3]), Indices::U32(vec![0, 1, 2, 2, 1, 3, 7])]
        {
            let mesh = list.clone().with_inserted_indices(indices);
            assert_eq!(read(&mesh).unwrap().faces, expected);
        }
        let strip = square(PrimitiveTopology::TriangleStrip);
        assert_eq!(read(&strip).unwrap().faces, expected);
        let indexed = strip.with_inserted_indices(Indices::U16(vec![0, 1, 2, 3]));
        assert_eq!(read(&indexed).unwrap().faces, expected);
    }

    #[test]
    fn a_strip_begins_anew_after_the_restart_index() {
        let strip = square(PrimitiveTopology::TriangleStrip);
        let mesh = strip.with_inserted_indices(Indices::U16(vec![0, 1, 2, u16::MAX, 2, 1, 3]));
        assert_eq!(read(&mesh).unwrap().faces, [[0, 1, 2], [2, 1, 3]]);
    }

    #[test]
    fn faces_out_of_range_are_counted_and_left_out() {
        let mesh = square(PrimitiveTopology::TriangleList)
            .with_inserted_indices(Indices::U32(vec![0, 1, 2, 0, 1, 4, 9, 9, 9]));
        let raw = read(&mesh).unwrap();
        assert_eq!((raw.faces.len(), raw.out_of_range), (1, 2));
    }

    #[test]
    fn what_cannot_be_cloth_is_an_error_that_says_so() {
        let lines = square(PrimitiveTopology::LineList);
        assert!(read(&lines).unwrap_err().to_string().contains("LineList"));
        let mut empty = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default());
        assert_eq!(read(&empty).unwrap_err(), BuildError::NoPositions);
        empty.asset_usage = RenderAssetUsages::RENDER_WORLD;
        assert_eq!(read(&empty).unwrap_err(), BuildError::RenderWorldMesh);
        let mut extracted = square(PrimitiveTopology::TriangleList);
        extracted.take_gpu_data().unwrap();
        assert_eq!(read(&extracted).unwrap_err(), BuildError::RenderWorldMesh);
    }
}
