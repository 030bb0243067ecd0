//! Cloth from meshes: the user's own vertices, each where its particle is.
//!
//! Texture coordinates, colours and other attributes are the user's; vertices that a texture seam or
//! a hard edge splits stay split. Normals are smooth where they were smooth: vertices of a particle
//! whose normals agreed in the user's mesh (within 2.5°) share the mean of the triangles around all of
//! them, weighted by area, and those whose normals differed keep to their own triangles, so hard edges
//! stay hard. Tangents turn with the surface: those of the user's mesh, or, where it has none, those
//! that follow from its texture coordinates.
//!
//! Vertices that belong to no usable triangle stay where they were. Joint attributes and morph
//! targets are left out, and `SkinnedMesh` and `MeshMorphWeights` are taken off the entity, as the cloth
//! moves the vertices now; [`ReplacedRig`] remembers them.

use super::surface;
use crate::{
    recipe::{
        ClothMesh, DerivedMesh, MeshPart, MeshPartOf, NO_PARTICLE, ReplacedRig, SkinSource,
        WeldedPart,
    },
    solver::DrawnPose,
};
use bevy::{
    asset::RenderAssetUsages,
    camera::{primitives::Aabb, visibility::NoAutoAabb},
    ecs::{entity_disabling::Disabled, query::Allow, reflect::ReflectComponent},
    math::{Affine3A, Vec3A},
    mesh::{
        Indices, PrimitiveTopology, VertexAttributeValues, VertexFormat, skinning::SkinnedMesh,
    },
    prelude::*,
};

/// Vertices of a particle whose normals' cosine is at least this are smooth with one another.
const SMOOTH: f32 = 0.999;

/// Draws one mesh of a cloth. On the entity that has the mesh: the body, or one below it.
#[derive(Component, Clone, Debug)]
pub struct MeshSkin {
    body: Entity,
    part: WeldedPart,
    /// For each vertex the group that shares its normal; none for a vertex without particle.
    group_of: Vec<u32>,
    groups: usize,
    /// For each vertex, if tangents are drawn.
    tangents: Vec<TurningTangent>,
}

/// A tangent as a sum of two edges of a triangle, with which it turns.
#[derive(Clone, Copy, Debug, Default)]
struct TurningTangent {
    /// Vertices of the triangle.
    corners: [u32; 3],
    /// Parts of the edges from the first corner to the second and third.
    along: Vec2,
    /// 1 or −1.
    handedness: f32,
}

/// The type of the weights, which exists only in apps with Bevy's feature `morph`.
const MORPH_WEIGHTS: &str = "bevy_mesh::morph::MeshMorphWeights";

impl MeshSkin {
    /// The body whose particles move it.
    #[cfg(feature = "picking")]
    pub(crate) fn body(&self) -> Entity {
        self.body
    }

    /// The index of the particle that a vertex follows.
    #[cfg(feature = "picking")]
    pub(crate) fn particle_of(&self, vertex: u32) -> Option<u32> {
        let particle = *self.part.particle_of.get(vertex as usize)?;
        (particle != NO_PARTICLE).then_some(particle)
    }

    /// A mesh to write into, and how to; `None` where the source cannot be read any more.
    fn new(body: Entity, part: &WeldedPart, source: &Mesh) -> Option<(Self, Mesh)> {
        let count = part.particle_of.len();
        let rest: Vec<Vec3A> = match source.try_attribute(Mesh::ATTRIBUTE_POSITION).ok()? {
            VertexAttributeValues::Float32x3(p) => p.iter().map(|p| Vec3A::from(*p)).collect(),
            _ => return None,
        };
        if rest.len() != count {
            return None;
        }
        let mut mesh = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default());
        mesh.enable_raytracing = source.enable_raytracing;
        for (attribute, values) in source.try_attributes().ok()? {
            let is_rig = attribute.id == Mesh::ATTRIBUTE_JOINT_INDEX.id
                || attribute.id == Mesh::ATTRIBUTE_JOINT_WEIGHT.id;
            // What does not fit would cut all others short, or panic.
            let fits = values.len() == count && VertexFormat::from(values) == attribute.format;
            if fits && !is_rig {
                mesh.insert_attribute(*attribute, values.clone());
            }
        }
        let finite = |p: &Vec3A| if p.is_finite() { p.to_array() } else { [0.0; 3] };
        let positions: Vec<[f32; 3]> = rest.iter().map(finite).collect();
        mesh.insert_attribute(Mesh::ATTRIBUTE_POSITION, positions);
        let normals = match mesh.attribute(Mesh::ATTRIBUTE_NORMAL) {
            Some(VertexAttributeValues::Float32x3(normals)) => Some(normals.clone()),
            _ => None,
        };
        let (group_of, groups) = smooth_groups(&part.particle_of, normals.as_deref());
        if normals.is_none() {
            mesh.insert_attribute(Mesh::ATTRIBUTE_NORMAL, vec![[0.0, 0.0, 1.0f32]; count]);
        }
        let rest_tangents =
            match (mesh.attribute(Mesh::ATTRIBUTE_TANGENT), mesh.attribute(Mesh::ATTRIBUTE_UV_0)) {
                (Some(VertexAttributeValues::Float32x4(tangents)), _) => {
                    Some(tangents.iter().map(|t| Vec4::from(*t)).collect())
                }
                (None, Some(VertexAttributeValues::Float32x2(uvs))) => {
                    Some(surface::tangents_of_uvs(&rest, uvs, &part.faces))
                }
                _ => None,
            };
        let tangents =
            rest_tangents.map_or_else(Vec::new, |t| turning_tangents(&rest, &t, &part.faces));
        if !tangents.is_empty() {
            mesh.insert_attribute(Mesh::ATTRIBUTE_TANGENT, vec![[1.0, 0.0, 0.0, 1.0f32]; count]);
        }
        mesh.insert_indices(Indices::U32(part.faces.as_flattened().to_vec()));
        Some((Self { body, part: part.clone(), group_of, groups, tangents }, mesh))
    }

    /// Writes the drawn pose into the mesh, in the frame of its entity; the box that encloses what is
    /// drawn.
    fn write(&self, pose: &DrawnPose, to_entity: &Affine3A, mesh: &mut Mesh) -> Option<Aabb> {
        let mut positions = surface::take_vec3(mesh, Mesh::ATTRIBUTE_POSITION.id)?;
        let mut normals = surface::take_vec3(mesh, Mesh::ATTRIBUTE_NORMAL.id)?;
        let (mut low, mut high) = (Vec3A::INFINITY, Vec3A::NEG_INFINITY);
        for (position, particle) in positions.iter_mut().zip(&self.part.particle_of) {
            let Some(at) = pose.positions.get(*particle as usize) else { continue };
            let at = to_entity.transform_point3a(Vec3A::from(*at));
            if pose.present.get(*particle as usize).copied().unwrap_or(false) {
                (low, high) = (low.min(at), high.max(at));
            }
            *position = at.to_array();
        }
        self.write_normals(&positions, &mut normals);
        if !self.tangents.is_empty()
            && let Some(VertexAttributeValues::Float32x4(tangents)) =
                surface::attribute(mesh, Mesh::ATTRIBUTE_TANGENT.id)
        {
            for ((out, tangent), normal) in tangents.iter_mut().zip(&self.tangents).zip(&normals) {
                *out = tangent.turned(&positions, Vec3A::from(*normal));
            }
        }
        surface::put_vec3(mesh, Mesh::ATTRIBUTE_POSITION.id, positions);
        surface::put_vec3(mesh, Mesh::ATTRIBUTE_NORMAL.id, normals);
        let particle = |v: u32| self.part.particle_of[v as usize] as usize;
        let there = |t: &[u32; 3]| {
            t.iter().all(|v| pose.present.get(particle(*v)).copied().unwrap_or(false))
        };
        let whole = pose.present.iter().all(|present| *present);
        surface::leave_out(mesh, &self.part.faces, whole, there);
        (low.is_finite() && high.is_finite()).then(|| Aabb::from_min_max(low.into(), high.into()))
    }

    fn write_normals(&self, positions: &[[f32; 3]], normals: &mut [[f32; 3]]) {
        let mut sums = vec![Vec3A::ZERO; self.groups];
        for face in &self.part.faces {
            let [a, b, c] = face.map(|v| Vec3A::from(positions[v as usize]));
            // Twice the area times the normal: large triangles count more.
            let normal = (b - a).cross(c - a);
            for vertex in face {
                if let Some(sum) = sums.get_mut(self.group_of[*vertex as usize] as usize) {
                    *sum += normal;
                }
            }
        }
        for (normal, group) in normals.iter_mut().zip(&self.group_of) {
            if let Some(sum) = sums.get(*group as usize) {
                *normal = sum.normalize_or(Vec3A::Z).to_array();
            }
        }
    }
}

/// For each vertex its group, and how many groups there are: vertices of one particle with like normals.
fn smooth_groups(particle_of: &[u32], normals: Option<&[[f32; 3]]>) -> (Vec<u32>, usize) {
    let mut order: Vec<u32> = (0..particle_of.len() as u32).collect();
    order.retain(|v| particle_of[*v as usize] != NO_PARTICLE);
    order.sort_by_key(|v| particle_of[*v as usize]);
    let normal = |v: u32| match normals {
        Some(normals) => Vec3::from(normals[v as usize]).normalize_or_zero(),
        None => Vec3::ZERO,
    };
    // A vertex without normal goes with any.
    let alike = |a: Vec3, b: Vec3| a == Vec3::ZERO || b == Vec3::ZERO || a.dot(b) >= SMOOTH;
    let mut group_of = vec![NO_PARTICLE; particle_of.len()];
    let mut groups: u32 = 0;
    for run in order.chunk_by(|a, b| particle_of[*a as usize] == particle_of[*b as usize]) {
        let first = groups;
        let mut leaders: Vec<Vec3> = Vec::new();
        for &vertex in run {
            let own = normal(vertex);
            let place = leaders.iter().position(|leader| alike(*leader, own));
            let place = place.unwrap_or_else(|| {
                leaders.push(own);
                leaders.len() - 1
            });
            group_of[vertex as usize] = first + place as u32;
        }
        groups += leaders.len() as u32;
    }
    (group_of, groups as usize)
}

/// Ties each vertex's tangent to the largest of its triangles.
fn turning_tangents(rest: &[Vec3A], tangents: &[Vec4], faces: &[[u32; 3]]) -> Vec<TurningTangent> {
    let mut largest = vec![0.0f32; rest.len()];
    let mut turning = vec![TurningTangent { handedness: 1.0, ..default() }; rest.len()];
    for face in faces {
        let [a, b, c] = face.map(|v| rest[v as usize]);
        let (e1, e2) = (b - a, c - a);
        let area = e1.cross(e2).length();
        for vertex in face.map(|v| v as usize) {
            if area <= largest[vertex] {
                continue;
            }
            largest[vertex] = area;
            let tangent = Vec3A::from_vec4(tangents[vertex]);
            // Least squares: the edges' Gram matrix, whose determinant is the area squared.
            let gram = Mat2::from_cols_array(&[e1.dot(e1), e1.dot(e2), e1.dot(e2), e2.dot(e2)]);
            let along = gram.inverse() * Vec2::new(e1.dot(tangent), e2.dot(tangent));
            turning[vertex] = TurningTangent {
                corners: *face,
                along: if along.is_finite() { along } else { Vec2::ZERO },
                handedness: if tangents[vertex].w < 0.0 { -1.0 } else { 1.0 },
            };
        }
    }
    turning
}

impl TurningTangent {
    /// The tangent on the surface as it is now, a unit vector at right angles to `normal`.
    fn turned(&self, positions: &[[f32; 3]], normal: Vec3A) -> [f32; 4] {
        let [a, b, c] = self.corners.map(|v| Vec3A::from(positions[v as usize]));
        let along = self.along.x * (b - a) + self.along.y * (c - a);
        (along - normal * along.dot(normal))
            .try_normalize()
            .unwrap_or_else(|| normal.try_normalize().unwrap_or(Vec3A::Z).any_orthonormal_vector())
            .extend(self.handedness)
            .to_array()
    }
}

/// Gives entities that are no part of a cloth any more what they had before.
pub(super) fn unbind_meshes(
    parts: Query<(Entity, &MeshSkin, Option<&MeshPartOf>, Has<Mesh2d>), Allow<Disabled>>,
    mut commands: Commands,
) {
    for (entity, skin, part_of, flat) in &parts {
        if part_of.is_some_and(|part| part.0 == skin.body) {
            continue;
        }
        commands.entity(entity).try_remove::<MeshSkin>();
        super::restore(&mut commands, entity, flat);
        commands.queue(move |world: &mut World| give_back_rig(world, entity));
    }
}

/// Binds the meshes of cloths that were built, or built anew.
pub(super) fn bind_meshes(
    bodies: Query<(Entity, &ClothMesh), Changed<ClothMesh>>,
    derived: Query<&DerivedMesh, Allow<Disabled>>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut commands: Commands,
) {
    for (body, cloth) in &bodies {
        for MeshPart { entity, flat, mesh, welded } in &*cloth.parts {
            let source = meshes.get(mesh).and_then(|source| MeshSkin::new(body, welded, source));
            let Some((skin, new)) = source else {
                warn!(
                    "{entity} is not drawn as cloth: its mesh has changed since {body} was built"
                );
                continue;
            };
            // What is bound again keeps its mesh asset.
            let old = derived.get(*entity).ok().map(|derived| derived.0.clone());
            let handle = match old {
                Some(old) if meshes.contains(&old) => {
                    let _ = meshes.insert(&old, new);
                    old
                }
                _ => meshes.add(new),
            };
            let Ok(mut entity_commands) = commands.get_entity(*entity) else { continue };
            let source = SkinSource(Some(mesh.clone()));
            entity_commands.try_insert((skin, DerivedMesh(handle.clone()), source, NoAutoAabb));
            if *flat {
                entity_commands.try_insert(Mesh2d(handle));
            } else {
                entity_commands.try_insert(Mesh3d(handle));
            }
            let entity = *entity;
            commands.queue(move |world: &mut World| take_rig(world, entity));
        }
    }
}

/// Lets the meshes follow the drawn poses.
pub(super) fn draw_meshes(
    mut parts: Query<(
        Entity,
        Ref<MeshSkin>,
        &DerivedMesh,
        Ref<GlobalTransform>,
        Option<&mut Aabb>,
    )>,
    bodies: Query<Ref<DrawnPose>>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut commands: Commands,
) {
    for (entity, skin, derived, transform, aabb) in &mut parts {
        let Ok(pose) = bodies.get(skin.body) else { continue };
        if !(pose.is_changed() || transform.is_changed() || skin.is_changed()) {
            continue;
        }
        let to_entity = transform.affine().inverse();
        if !to_entity.is_finite() {
            warn_once!("{entity} has a transform without inverse: it is not drawn anew");
            continue;
        }
        let Some(mut mesh) = meshes.get_mut(&derived.0) else { continue };
        let Some(bounds) = skin.write(&pose, &to_entity, &mut mesh) else { continue };
        super::enclose(entity, aabb, bounds, &mut commands);
    }
}

/// Hides the meshes below a body that is disabled.
pub(super) fn hide_parts(
    disabled: On<Add, Disabled>,
    bodies: Query<&ClothMesh, Allow<Disabled>>,
    mut commands: Commands,
) {
    let Ok(cloth) = bodies.get(disabled.entity) else { return };
    for part in cloth.parts.iter().filter(|part| part.entity != disabled.entity) {
        if let Ok(mut part) = commands.get_entity(part.entity) {
            part.try_insert(Disabled);
        }
    }
}

/// And shows them again.
pub(super) fn show_parts(
    enabled: On<Remove, Disabled>,
    bodies: Query<&ClothMesh, Allow<Disabled>>,
    mut commands: Commands,
) {
    let Ok(cloth) = bodies.get(enabled.entity) else { return };
    for part in cloth.parts.iter().filter(|part| part.entity != enabled.entity) {
        if let Ok(mut part) = commands.get_entity(part.entity) {
            part.try_remove::<Disabled>();
        }
    }
}

/// Takes what moves vertices off an entity.
fn take_rig(world: &mut World, entity: Entity) {
    let registry = world.get_resource::<AppTypeRegistry>().cloned();
    let Ok(mut entity) = world.get_entity_mut(entity) else { return };
    let skinned = entity.take::<SkinnedMesh>();
    let morph_weights = registry.and_then(|registry| {
        let registry = registry.read();
        let weights = registry.get_with_type_path(MORPH_WEIGHTS)?.data::<ReflectComponent>()?;
        weights.reflect(&entity)?;
        Some(weights.take(&mut entity)?.into_partial_reflect())
    });
    if skinned.is_some() || morph_weights.is_some() {
        entity.insert(ReplacedRig { skinned, morph_weights });
    }
}

/// Puts it back.
fn give_back_rig(world: &mut World, entity: Entity) {
    let registry = world.get_resource::<AppTypeRegistry>().cloned();
    let Ok(mut entity) = world.get_entity_mut(entity) else { return };
    let Some(rig) = entity.take::<ReplacedRig>() else { return };
    if let Some(skinned) = rig.skinned {
        entity.insert(skinned);
    }
    if let (Some(morph), Some(registry)) = (rig.morph_weights, registry) {
        let registry = registry.read();
        let weights = registry.get_with_type_path(MORPH_WEIGHTS);
        if let Some(weights) = weights.and_then(|t| t.data::<ReflectComponent>()) {
            weights.insert(&mut entity, &*morph, &registry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::testing::welded;

    fn pose(rest: &[Vec3]) -> DrawnPose {
        DrawnPose { positions: rest.to_vec(), present: vec![true; rest.len()], ..default() }
    }

    fn vec3(mesh: &Mesh, attribute: bevy::mesh::MeshVertexAttribute) -> Vec<Vec3> {
        match mesh.attribute(attribute) {
            Some(VertexAttributeValues::Float32x3(v)) => v.iter().map(|v| Vec3::from(*v)).collect(),
            other => panic!("{other:?}"),
        }
    }

    /// The mesh drawn at rest.
    fn at_rest(source: &Mesh) -> Mesh {
        let (rest, part) = welded(source);
        let (skin, mut mesh) = MeshSkin::new(Entity::PLACEHOLDER, &part, source).unwrap();
        skin.write(&pose(&rest), &Affine3A::IDENTITY, &mut mesh).unwrap();
        mesh
    }

    #[test]
    fn a_cuboid_at_rest_keeps_its_flat_faces_and_a_sphere_its_smooth_seam() {
        let cuboid = Mesh::from(Cuboid::new(1.0, 2.0, 3.0));
        let drawn = at_rest(&cuboid);
        for (own, drawn) in vec3(&cuboid, Mesh::ATTRIBUTE_NORMAL)
            .into_iter()
            .zip(vec3(&drawn, Mesh::ATTRIBUTE_NORMAL))
        {
            assert!(own.dot(drawn) > 0.9999, "{own} {drawn}");
        }
        let sphere = Sphere::new(1.0).mesh().uv(24, 16);
        let (positions, normals) = (
            vec3(&sphere, Mesh::ATTRIBUTE_POSITION),
            vec3(&at_rest(&sphere), Mesh::ATTRIBUTE_NORMAL),
        );
        for (position, normal) in positions.into_iter().zip(normals) {
            assert!(position.normalize().dot(normal) > 0.99, "{position} {normal}");
        }
    }

    #[test]
    fn tangents_turn_with_the_surface() {
        let source = Mesh::from(Rectangle::new(1.0, 1.0));
        let (rest, part) = welded(&source);
        let (skin, mut mesh) = MeshSkin::new(Entity::PLACEHOLDER, &part, &source).unwrap();
        let turn = Quat::from_rotation_y(0.7) * Quat::from_rotation_z(1.1);
        let turned: Vec<Vec3> = rest.iter().map(|p| turn * *p).collect();
        skin.write(&pose(&turned), &Affine3A::IDENTITY, &mut mesh).unwrap();
        let Some(VertexAttributeValues::Float32x4(tangents)) =
            mesh.attribute(Mesh::ATTRIBUTE_TANGENT)
        else {
            panic!("no tangents");
        };
        for t in tangents {
            let t = Vec4::from(*t);
            assert!(t.truncate().distance(turn * Vec3::X) < 1e-5, "{t}");
            // As Bevy has it: the bitangent runs against v, up in the picture.
            assert_eq!(t.w, 1.0);
        }
        for n in vec3(&mesh, Mesh::ATTRIBUTE_NORMAL) {
            assert!(n.distance(turn * Vec3::Z) < 1e-5);
        }
    }

    #[test]
    fn attributes_that_do_not_fit_and_joints_are_left_out() {
        let mut source = Mesh::from(Rectangle::new(1.0, 1.0));
        source.insert_attribute(Mesh::ATTRIBUTE_UV_1, vec![[0.0, 1.0f32]; 3]);
        source.insert_attribute(
            Mesh::ATTRIBUTE_JOINT_INDEX,
            VertexAttributeValues::Uint16x4(vec![[0; 4]; 4]),
        );
        source.insert_attribute(Mesh::ATTRIBUTE_COLOR, vec![[0.1, 0.2, 0.3, 1.0f32]; 4]);
        let drawn = at_rest(&source);
        assert!(!drawn.contains_attribute(Mesh::ATTRIBUTE_UV_1));
        assert!(!drawn.contains_attribute(Mesh::ATTRIBUTE_JOINT_INDEX));
        for kept in [Mesh::ATTRIBUTE_COLOR, Mesh::ATTRIBUTE_UV_0] {
            assert_eq!(drawn.attribute(kept), source.attribute(kept));
        }
    }

    #[test]
    fn a_crumpled_mesh_has_finite_normals_and_tangents() {
        let source = Sphere::new(1.0).mesh().uv(8, 6);
        let (rest, part) = welded(&source);
        let (skin, mut mesh) = MeshSkin::new(Entity::PLACEHOLDER, &part, &source).unwrap();
        let flat = vec![Vec3::ONE; rest.len()];
        skin.write(&pose(&flat), &Affine3A::IDENTITY, &mut mesh).unwrap();
        assert!(vec3(&mesh, Mesh::ATTRIBUTE_NORMAL).iter().all(|n| n.is_normalized()));
        match mesh.attribute(Mesh::ATTRIBUTE_TANGENT) {
            Some(VertexAttributeValues::Float32x4(t)) => {
                assert!(t.iter().flatten().all(|v| v.is_finite()));
            }
            other => panic!("{other:?}"),
        }
    }
}
