//! Triangle surfaces: normals, tangents, and writing them into a mesh.

use bevy::{
    camera::primitives::Aabb,
    math::{Affine3A, Vec3A},
    mesh::{Indices, MeshVertexAttributeId, VertexAttributeValues},
    prelude::*,
};

/// Which vertices make triangles, and which lie next to each along the texture's u direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Surface {
    /// Triangles by vertex, counter-clockwise from the front.
    pub triangles: Vec<[u32; 3]>,
    /// For each vertex, the vertices before and after it along u.
    pub along_u: Vec<[u32; 2]>,
}

/// Where vertices are, and how they are turned.
#[derive(Debug)]
pub(super) struct SurfaceBuffers<'a> {
    /// Positions (m).
    pub positions: &'a mut [[f32; 3]],
    /// Unit normals, smooth across triangles.
    pub normals: &'a mut [[f32; 3]],
    /// Unit tangents along u, at right angles to the normals; the fourth component is 1, as Bevy has it
    /// where v runs down and the picture is not mirrored.
    pub tangents: &'a mut [[f32; 4]],
}

impl Surface {
    /// Fills the buffers from vertices at `points` (m, world), each through `to_body`; the box that
    /// encloses the vertices for which `present` is true. A vertex without area keeps normal +z.
    pub fn fill(
        &self,
        points: &[Vec3],
        present: &[bool],
        to_body: &Affine3A,
        buffers: SurfaceBuffers<'_>,
    ) -> Option<Aabb> {
        let SurfaceBuffers { positions, normals, tangents } = buffers;
        let count = positions.len().min(points.len()).min(normals.len()).min(tangents.len());
        let (mut low, mut high) = (Vec3A::INFINITY, Vec3A::NEG_INFINITY);
        let mut local = Vec::with_capacity(count);
        for (i, point) in points.iter().enumerate().take(count) {
            let p = to_body.transform_point3a(Vec3A::from(*point));
            if present.get(i).copied().unwrap_or(true) {
                (low, high) = (low.min(p), high.max(p));
            }
            local.push(p);
            positions[i] = p.to_array();
        }
        let mut sums = vec![Vec3A::ZERO; count];
        for triangle in &self.triangles {
            let [a, b, c] = triangle.map(|i| i as usize);
            if a.max(b).max(c) >= count {
                continue;
            }
            // Twice the area times the normal: large triangles count more.
            let normal = (local[b] - local[a]).cross(local[c] - local[a]);
            sums[a] += normal;
            sums[b] += normal;
            sums[c] += normal;
        }
        for (i, sum) in sums.iter().enumerate() {
            let normal = sum.normalize_or(Vec3A::Z);
            normals[i] = normal.to_array();
            let [before, after] = self.along_u[i].map(|j| (j as usize).min(count - 1));
            let along = local[after] - local[before];
            let tangent = (along - normal * along.dot(normal))
                .try_normalize()
                .unwrap_or_else(|| normal.any_orthonormal_vector());
            tangents[i] = tangent.extend(1.0).to_array();
        }
        (low.is_finite() && high.is_finite()).then(|| Aabb::from_min_max(low.into(), high.into()))
    }
}

/// The unit tangents along u that follow from texture coordinates, and their handedness as Bevy has it
/// (1 where the picture is not mirrored). Zero where the coordinates do not say.
pub(super) fn tangents_of_uvs(
    positions: &[Vec3A],
    uvs: &[[f32; 2]],
    faces: &[[u32; 3]],
) -> Vec<Vec4> {
    let mut sums = vec![Vec4::ZERO; positions.len()];
    for face in faces {
        let [a, b, c] = face.map(|v| positions[v as usize]);
        let [u, v, w] = face.map(|v| Vec2::from(uvs[v as usize]));
        let (e1, e2, d1, d2) = (b - a, c - a, v - u, w - u);
        // Positive where u, v and the normal are right-handed; v runs down in a picture.
        let turn = d1.perp_dot(d2);
        let along = ((e1 * d2.y - e2 * d1.y) * turn.signum()).normalize_or_zero();
        if turn == 0.0 || !along.is_finite() {
            continue;
        }
        let area = e1.cross(e2).length();
        for vertex in face {
            sums[*vertex as usize] += (along * area).extend(-turn.signum() * area);
        }
    }
    let unit =
        |sum: Vec4| sum.truncate().normalize_or_zero().extend(if sum.w < 0.0 { -1.0 } else { 1.0 });
    sums.into_iter().map(unit).collect()
}

/// An attribute; `None` also where the mesh lives in the render world only.
pub(super) fn attribute(
    mesh: &mut Mesh,
    id: MeshVertexAttributeId,
) -> Option<&mut VertexAttributeValues> {
    mesh.try_attribute_mut_option(id).ok().flatten()
}

/// Takes an attribute of three floats out of a mesh, to be put back.
pub(super) fn take_vec3(mesh: &mut Mesh, id: MeshVertexAttributeId) -> Option<Vec<[f32; 3]>> {
    match attribute(mesh, id)? {
        VertexAttributeValues::Float32x3(values) => Some(core::mem::take(values)),
        _ => None,
    }
}

/// Puts an attribute back.
pub(super) fn put_vec3(mesh: &mut Mesh, id: MeshVertexAttributeId, new: Vec<[f32; 3]>) {
    if let Some(VertexAttributeValues::Float32x3(values)) = attribute(mesh, id) {
        *values = new;
    }
}

/// Draws only the triangles that are there; `whole` says that all are.
pub(super) fn leave_out(
    mesh: &mut Mesh,
    triangles: &[[u32; 3]],
    whole: bool,
    there: impl Fn(&[u32; 3]) -> bool,
) {
    let drawn = match mesh.try_indices_mut_option() {
        Ok(Some(indices)) => indices.len(),
        _ => return,
    };
    if whole && drawn == triangles.len() * 3 {
        return;
    }
    let kept: Vec<u32> = triangles.iter().filter(|t| there(t)).flatten().copied().collect();
    if kept.len() != drawn {
        let _ = mesh.try_insert_indices(Indices::U32(kept));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_sheet_faces_forward_with_its_tangent_along_u() {
        let surface = Surface {
            triangles: vec![[0, 2, 1], [1, 2, 3]],
            along_u: vec![[0, 1], [0, 1], [2, 3], [2, 3]],
        };
        let points = [Vec3::ZERO, Vec3::X, Vec3::NEG_Y, Vec3::new(1.0, -1.0, 0.0)];
        let (mut p, mut n, mut t) = ([[0.0; 3]; 4], [[0.0; 3]; 4], [[0.0; 4]; 4]);
        let buffers = SurfaceBuffers { positions: &mut p, normals: &mut n, tangents: &mut t };
        let bounds = surface.fill(&points, &[true; 4], &Affine3A::IDENTITY, buffers).unwrap();
        assert!(n.iter().all(|n| *n == [0.0, 0.0, 1.0]));
        assert!(t.iter().all(|t| *t == [1.0, 0.0, 0.0, 1.0]));
        assert_eq!(bounds.center, Vec3A::new(0.5, -0.5, 0.0));
    }

    #[test]
    fn tangents_of_texture_coordinates_are_those_that_bevy_generates() {
        let mirrored = |mesh: Mesh| {
            let Some(VertexAttributeValues::Float32x2(uvs)) = mesh.attribute(Mesh::ATTRIBUTE_UV_0)
            else {
                panic!("texture coordinates");
            };
            let uvs: Vec<[f32; 2]> = uvs.iter().map(|[u, v]| [1.0 - u, *v]).collect();
            mesh.with_inserted_attribute(Mesh::ATTRIBUTE_UV_0, uvs)
        };
        let sphere = || Sphere::new(1.0).mesh().uv(32, 18);
        for mesh in [
            Mesh::from(Rectangle::default()),
            mirrored(Rectangle::default().into()),
            Cuboid::default().into(),
            sphere(),
            mirrored(sphere()),
        ] {
            let expected = mesh.clone().with_generated_tangents().unwrap();
            let (Some(VertexAttributeValues::Float32x4(expected)), Some(positions)) = (
                expected.attribute(Mesh::ATTRIBUTE_TANGENT),
                mesh.attribute(Mesh::ATTRIBUTE_POSITION).and_then(|p| p.as_float3()),
            ) else {
                panic!("tangents and positions");
            };
            let positions: Vec<Vec3A> = positions.iter().map(|p| Vec3A::from(*p)).collect();
            let Some(VertexAttributeValues::Float32x2(uvs)) = mesh.attribute(Mesh::ATTRIBUTE_UV_0)
            else {
                panic!("texture coordinates");
            };
            let indices: Vec<u32> = mesh.indices().unwrap().iter().map(|i| i as u32).collect();
            let own = tangents_of_uvs(&positions, uvs, indices.as_chunks::<3>().0);
            for ((own, expected), at) in own.iter().zip(expected).zip(&positions) {
                let expected = Vec4::from(*expected);
                // At a pole it is anyone's guess.
                if at.y.abs() < 0.99 && own.truncate() != Vec3::ZERO {
                    assert!(own.truncate().dot(expected.truncate()) > 0.9, "{own} {expected}");
                    assert_eq!(own.w, expected.w, "{at}");
                }
            }
        }
    }

    #[test]
    fn coincident_vertices_have_finite_normals() {
        let surface = Surface { triangles: vec![[0, 1, 2]], along_u: vec![[0, 1]; 3] };
        let (mut p, mut n, mut t) = ([[0.0; 3]; 3], [[0.0; 3]; 3], [[0.0; 4]; 3]);
        let buffers = SurfaceBuffers { positions: &mut p, normals: &mut n, tangents: &mut t };
        surface.fill(&[Vec3::ONE; 3], &[true; 3], &Affine3A::IDENTITY, buffers);
        assert!(n.iter().flatten().chain(t.iter().flatten()).all(|v| v.is_finite()));
    }
}
