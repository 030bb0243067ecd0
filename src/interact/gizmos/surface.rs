//! Surfaces: the wireframe of what is drawn.
//!
//! With the feature `render`, of the meshes that follow bodies, as they are in this frame; the picture of a
//! ragdoll, which the GPU bends, is bent again on the CPU. A body that nothing draws shows the triangles and
//! lines between its particles.

use super::{pen::Pen, plugin::ViewGroup};
use crate::{
    particle::{BodyLine, BodySurface},
    solver::DrawnPose,
};
use bevy::{ecs::entity::EntityHashMap, prelude::*};

/// The triangles of what is drawn, as a wireframe.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct SurfaceGizmos {
    /// Colour of the lines. Default: dark blue, a third opaque.
    pub color: Color,
}

impl Default for SurfaceGizmos {
    fn default() -> Self {
        Self { color: Color::srgba(0.05, 0.12, 0.25, 0.35) }
    }
}

impl ViewGroup for SurfaceGizmos {
    const DEPTH_BIAS: f32 = -0.0005;
    const WIDTH: f32 = 1.5;
}

/// The edges of triangles, each once.
#[derive(Debug, Default)]
pub(super) struct Edges {
    /// The triangles, by corner.
    corners: Vec<u32>,
    edges: Vec<[u32; 2]>,
    seen: bool,
}

impl Edges {
    /// The edges of these triangles.
    fn of(&mut self, corners: &[u32]) -> &[[u32; 2]] {
        self.seen = true;
        if self.corners != corners {
            self.corners.clear();
            self.corners.extend_from_slice(corners);
            self.edges.clear();
            for [a, b, c] in self.corners.as_chunks::<3>().0 {
                for [from, to] in [[a, b], [b, c], [c, a]] {
                    self.edges.push([*from.min(to), *from.max(to)]);
                }
            }
            self.edges.sort_unstable();
            self.edges.dedup();
        }
        &self.edges
    }
}

/// What a body without skin is drawn as.
type Bare = (Entity, &'static DrawnPose, Option<&'static BodySurface>, Option<&'static BodyLine>);

/// Draws surfaces.
pub(super) fn draw_surfaces(
    #[cfg(feature = "render")] skins: drawn::Skins,
    #[cfg(feature = "render")] bare: Query<Bare, drawn::Bare>,
    #[cfg(not(feature = "render"))] bare: Query<Bare>,
    mut known: Local<EntityHashMap<Edges>>,
    mut gizmos: Gizmos<SurfaceGizmos>,
) {
    let color = gizmos.config_ext.color.to_linear();
    let mut pen = Pen::new(&mut gizmos);
    #[cfg(feature = "render")]
    skins.draw(&mut known, color, &mut pen);
    for (body, pose, surface, line) in &bare {
        let at = |index: u32| {
            let there = *pose.present.get(index as usize)?;
            pose.positions.get(index as usize).copied().filter(|at| there && at.is_finite())
        };
        let triangles = surface.map_or(&[][..], |surface| &surface.triangles);
        let edges = known.entry(body).or_default().of(triangles.as_flattened());
        let segments = line.map_or(&[][..], |line| &line.segments);
        for [a, b] in edges.iter().chain(segments) {
            if let (Some(a), Some(b)) = (at(*a), at(*b)) {
                pen.line(a, b, color);
            }
        }
    }
    known.retain(|_, edges| core::mem::take(&mut edges.seen));
}

#[cfg(feature = "render")]
mod drawn {
    use super::{Edges, Pen};
    use crate::recipe::ClothMesh;
    use crate::skin::{CharacterSkin, DerivedMesh};
    use alloc::borrow::Cow;
    use bevy::{
        ecs::{entity::EntityHashMap, system::SystemParam},
        mesh::{Indices, VertexAttributeValues},
        prelude::*,
    };

    /// Bodies that nothing draws.
    pub type Bare = (Without<DerivedMesh>, Without<CharacterSkin>, Without<ClothMesh>);

    /// What follows bodies.
    #[derive(SystemParam)]
    pub struct Skins<'w, 's> {
        meshes: Option<Res<'w, Assets<Mesh>>>,
        derived: Query<'w, 's, (Entity, &'static DerivedMesh, &'static GlobalTransform)>,
        characters: Query<
            'w,
            's,
            (Entity, &'static CharacterSkin, &'static GlobalTransform),
            Without<DerivedMesh>,
        >,
    }

    impl Skins<'_, '_> {
        /// Draws the wireframe of all.
        pub fn draw(&self, known: &mut EntityHashMap<Edges>, color: LinearRgba, pen: &mut Pen) {
            let mut points = Vec::new();
            for (entity, derived, frame) in &self.derived {
                let mesh = self.meshes.as_ref().and_then(|meshes| meshes.get(&derived.0));
                let Some((positions, corners)) = mesh.and_then(read) else { continue };
                let frame = frame.affine();
                points.clear();
                points.extend(positions.iter().map(|p| frame.transform_point3(Vec3::from(*p))));
                let edges = known.entry(entity).or_default().of(&corners);
                draw_edges(edges, &points, color, pen);
            }
            for (entity, skin, frame) in &self.characters {
                let height = frame.translation().z;
                points.clear();
                points.extend(skin.deform().map(|at| at.extend(height)));
                let corners = skin.binding().triangles.as_flattened();
                let edges = known.entry(entity).or_default().of(corners);
                draw_edges(edges, &points, color, pen);
            }
        }
    }

    /// Positions and corners of a mesh of triangles.
    fn read(mesh: &Mesh) -> Option<(&[[f32; 3]], Cow<'_, [u32]>)> {
        let VertexAttributeValues::Float32x3(positions) =
            mesh.try_attribute(Mesh::ATTRIBUTE_POSITION).ok()?
        else {
            return None;
        };
        let corners = match mesh.try_indices().ok()? {
            Indices::U32(corners) => Cow::Borrowed(&corners[..]),
            Indices::U16(corners) => corners.iter().map(|corner| u32::from(*corner)).collect(),
        };
        Some((positions, corners))
    }

    fn draw_edges(edges: &[[u32; 2]], points: &[Vec3], color: LinearRgba, pen: &mut Pen) {
        pen.reserve_lines(edges.len());
        for edge in edges {
            let [Some(a), Some(b)] = edge.map(|vertex| points.get(vertex as usize)) else {
                continue;
            };
            // The two ends of a rope's ring are one point.
            if a != b && a.is_finite() && b.is_finite() {
                pen.line(*a, *b, color);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_edge_is_there_once_and_again_when_the_triangles_change() {
        let mut edges = Edges::default();
        let square = [0, 1, 2, 2, 1, 3];
        let outline = [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]];
        assert_eq!(edges.of(&square), outline);
        assert_eq!(edges.of(&square), outline);
        assert_eq!(edges.of(&[3, 1, 2]), [[1, 2], [1, 3], [2, 3]]);
        assert_eq!(edges.of(&[]), [[0u32; 2]; 0]);
    }
}
