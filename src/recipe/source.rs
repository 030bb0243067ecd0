//! The meshes that a cloth is made from: finding them, waiting for them, and noticing others in their
//! place.

use super::{
    build::{AwaitsAssets, MustRebuild},
    cloth::{Cloth, ClothShape},
    error::BuildError,
    ingest::{self, RawMesh},
    pins::{ClothPins, PinMask},
    weld::{self, NO_PARTICLE, WeldInput, Welded, WeldedPart},
};
use crate::solver::BodySettings;
use alloc::sync::Arc;
use bevy::{
    asset::LoadState,
    ecs::{entity_disabling::Disabled, query::Allow},
    math::Affine3A,
    mesh::{
        VertexAttributeValues,
        skinning::{SkinnedMesh, SkinnedMeshInverseBindposes},
    },
    prelude::*,
};

/// The mesh that an entity had before one of ours took its place; `None` if it had none.
#[derive(Component, Clone, Debug, Default)]
pub struct SkinSource(pub Option<Handle<Mesh>>);

/// The mesh of ours that draws an entity.
#[derive(Component, Clone, Debug)]
pub struct DerivedMesh(pub Handle<Mesh>);

/// What an entity had that moves vertices, before a cloth moved them.
#[derive(Component, Debug, Default)]
pub struct ReplacedRig {
    /// Its joints.
    pub skinned: Option<SkinnedMesh>,
    /// Its `MeshMorphWeights`.
    pub morph_weights: Option<Box<dyn PartialReflect>>,
}

/// How a cloth hangs together with the meshes that it was made from. On the body; derived from them,
/// never saved.
#[derive(Component, Clone, Debug)]
pub struct ClothMesh {
    pub(crate) welded: Arc<Welded>,
    pub(crate) parts: Arc<[MeshPart]>,
}

/// One of the meshes of a cloth.
#[derive(Clone, Debug)]
pub(crate) struct MeshPart {
    /// The entity that has it.
    pub entity: Entity,
    /// Whether it is a `Mesh2d`.
    pub flat: bool,
    /// The user's mesh.
    pub mesh: Handle<Mesh>,
    /// From the mesh's vertices to particles.
    pub welded: WeldedPart,
}

/// Marks an entity whose mesh is part of a cloth.
#[derive(Component, Clone, Copy, Debug)]
pub(crate) struct MeshPartOf(pub Entity);

/// What a cloth is made from beside its recipe.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClothInput {
    mesh: Option<ClothMesh>,
    /// The particles that colours or a mask pin, where the recipe pins so.
    marked: Option<Vec<u32>>,
}

impl ClothInput {
    /// Rest positions and triangles.
    pub fn welded(&self) -> Option<(&[Vec3], &[[u32; 3]])> {
        self.mesh.as_ref().map(|m| (&*m.welded.rest, &*m.welded.triangles))
    }

    /// The particles that colours or a mask pin.
    pub fn marked(&self) -> Option<&[u32]> {
        self.marked.as_deref()
    }
}

/// Everything that `recipe` needs for `body`; `None` while something is not there yet.
pub(super) fn input(
    recipe: &Cloth,
    world: &World,
    body: Entity,
) -> Result<Option<ClothInput>, BuildError> {
    let mask = match &recipe.pins {
        ClothPins::Mask(mask) => match Mask::new(world, mask)? {
            Some(mask) => Some(mask),
            None => return Ok(None),
        },
        _ => None,
    };
    match recipe.shape {
        ClothShape::Grid { size, .. } => {
            let marked = mask.map(|mask| mask.on_grid(size)).transpose()?;
            Ok(Some(ClothInput { mesh: None, marked }))
        }
        ClothShape::Mesh { weld } => {
            let Some(found) = find(world, body)? else { return Ok(None) };
            let mesh = join(body, &found, weld)?;
            let meshes = || found.iter().zip(&*mesh.parts).map(|(f, part)| (f.mesh, &part.welded));
            let marked = match (&recipe.pins, mask) {
                (ClothPins::VertexColor(red), _) => Some(by_colour(meshes(), *red)?),
                (_, Some(mask)) => Some(mask.on_meshes(meshes())?),
                _ => None,
            };
            Ok(Some(ClothInput { mesh: Some(mesh), marked }))
        }
    }
}

/// What is known of a live body.
pub(super) fn live_input(recipe: &Cloth, world: &World, body: Entity) -> Option<ClothInput> {
    match recipe.shape {
        ClothShape::Grid { .. } => Some(ClothInput::default()),
        ClothShape::Mesh { .. } => {
            let mesh = world.get::<ClothMesh>(body)?.clone();
            Some(ClothInput { mesh: Some(mesh), marked: None })
        }
    }
}

/// Remembers on `body` which meshes it was made from, and on their entities that they are part of it.
pub(super) fn attach(world: &mut World, body: Entity, input: ClothInput) {
    if let Some(old) = world.get::<ClothMesh>(body).cloned() {
        for part in &*old.parts {
            if world.get::<MeshPartOf>(part.entity).is_some_and(|p| p.0 == body) {
                world.entity_mut(part.entity).remove::<MeshPartOf>();
            }
        }
    }
    match input.mesh {
        Some(mesh) => {
            for part in &*mesh.parts {
                if let Ok(mut entity) = world.get_entity_mut(part.entity) {
                    entity.insert(MeshPartOf(body));
                }
            }
            if let Ok(mut body) = world.get_entity_mut(body) {
                body.insert(mesh);
            }
        }
        None => {
            if let Ok(mut body) = world.get_entity_mut(body) {
                body.remove::<ClothMesh>();
            }
        }
    }
}

/// A mesh of the body or below it.
struct Found<'w> {
    entity: Entity,
    flat: bool,
    handle: Handle<Mesh>,
    mesh: &'w Mesh,
    to_body: Affine3A,
}

/// The meshes of a body, all loaded; `None` if there is none, or one is still on its way.
fn find(world: &World, body: Entity) -> Result<Option<Vec<Found<'_>>>, BuildError> {
    let mut found = Vec::new();
    if let Some((flat, handle)) = users_mesh(world, body) {
        found.push((body, flat, handle, Affine3A::IDENTITY));
    } else {
        let mut left: Vec<(Entity, Affine3A)> = vec![(body, Affine3A::IDENTITY)];
        while let Some((entity, to_body)) = left.pop() {
            if entity != body
                && let Some((flat, handle)) = users_mesh(world, entity)
            {
                found.push((entity, flat, handle, to_body));
            }
            let children = world.get::<Children>(entity).map_or(&[][..], |c| &**c);
            // From behind, so that the first child comes first.
            for &child in children.iter().rev() {
                let is_body = world.get::<BodySettings>(child).is_some();
                if is_body || world.get::<Disabled>(child).is_some() {
                    continue;
                }
                let transform = world.get::<Transform>(child).copied().unwrap_or_default();
                let to_body = to_body * transform.compute_affine();
                if !to_body.is_finite() {
                    return Err(BuildError::BadPartTransform);
                }
                left.push((child, to_body));
            }
        }
    }
    if found.is_empty() {
        return Ok(None);
    }
    let mut all = Vec::with_capacity(found.len());
    for (entity, flat, handle, to_body) in found {
        let Some(mesh) = loaded(world, &handle, "mesh")? else { return Ok(None) };
        let to_body = bind_pose(world, body, entity).unwrap_or(to_body);
        all.push(Found { entity, flat, handle, mesh, to_body });
    }
    Ok(Some(all))
}

/// Where a skinned mesh stands: its joints place it, not its own transform. In the bind pose each of
/// them says the same, so the first is asked. `None` if it has no joints below the body.
fn bind_pose(world: &World, body: Entity, entity: Entity) -> Option<Affine3A> {
    let replaced = || world.get::<ReplacedRig>(entity)?.skinned.as_ref();
    let rig = world.get::<SkinnedMesh>(entity).or_else(replaced)?;
    let inverses = world.get_resource::<Assets<SkinnedMeshInverseBindposes>>()?;
    let inverse = Affine3A::from_mat4(*inverses.get(&rig.inverse_bindposes)?.first()?);
    let mut joint = *rig.joints.first()?;
    let mut to_body = Affine3A::IDENTITY;
    while joint != body {
        let transform = world.get::<Transform>(joint).copied().unwrap_or_default();
        to_body = transform.compute_affine() * to_body;
        joint = world.get::<ChildOf>(joint)?.parent();
    }
    Some(to_body * inverse).filter(Affine3A::is_finite)
}

/// The mesh that the user gave an entity, and whether it is a `Mesh2d`.
fn users_mesh(world: &World, entity: Entity) -> Option<(bool, Handle<Mesh>)> {
    let (flat, handle) = match (world.get::<Mesh2d>(entity), world.get::<Mesh3d>(entity)) {
        (Some(mesh), _) => (true, &mesh.0),
        (None, Some(mesh)) => (false, &mesh.0),
        (None, None) => return None,
    };
    let is_ours = world.get::<DerivedMesh>(entity).is_some_and(|derived| derived.0 == *handle);
    if !is_ours {
        return Some((flat, handle.clone()));
    }
    let source = world.get::<SkinSource>(entity)?.0.clone()?;
    Some((flat, source))
}

/// An asset, if it is there; an error if it never will be.
pub(super) fn loaded<'w, A: Asset>(
    world: &'w World,
    handle: &Handle<A>,
    what: &'static str,
) -> Result<Option<&'w A>, BuildError> {
    if let Some(asset) = world.get_resource::<Assets<A>>().and_then(|assets| assets.get(handle)) {
        return Ok(Some(asset));
    }
    let server = world.get_resource::<AssetServer>();
    match server.and_then(|server| server.get_load_state(handle)) {
        Some(LoadState::Failed(error)) => {
            // The lines after the first are a backtrace.
            let reason = error.to_string().lines().next().unwrap_or_default().to_owned();
            Err(BuildError::LoadFailed { what, reason })
        }
        _ => Ok(None),
    }
}

/// Welds the meshes into one.
fn join(body: Entity, found: &[Found<'_>], tolerance: f32) -> Result<ClothMesh, BuildError> {
    let mut raw =
        found.iter().map(|f| ingest::read(f.mesh)).collect::<Result<Vec<RawMesh>, _>>()?;
    for (raw, found) in raw.iter_mut().zip(found) {
        if found.to_body != Affine3A::IDENTITY {
            raw.positions.iter_mut().for_each(|p| *p = found.to_body.transform_point3(*p));
        }
    }
    let inputs: Vec<WeldInput<'_>> =
        raw.iter().map(|r| WeldInput { positions: &r.positions, faces: &r.faces }).collect();
    let (welded, parts, mut skipped) = weld::weld(&inputs, tolerance);
    skipped.out_of_range = raw.iter().map(|r| r.out_of_range).sum();
    let faces = skipped.out_of_range + skipped.not_finite + skipped.degenerate;
    if welded.triangles.is_empty() {
        return Err(BuildError::NoTriangles { faces });
    }
    if faces + skipped.unreferenced > 0 {
        warn!(
            "parts of the mesh of {body} are left out of the cloth: {} vertices of no usable face, \
             {} faces without area, {} with a vertex that is not finite, {} with a missing vertex",
            skipped.unreferenced, skipped.degenerate, skipped.not_finite, skipped.out_of_range,
        );
    }
    let parts = found.iter().zip(parts).map(|(found, welded)| MeshPart {
        entity: found.entity,
        flat: found.flat,
        mesh: found.handle.clone(),
        welded,
    });
    Ok(ClothMesh { welded: Arc::new(welded), parts: parts.collect() })
}

/// The particles of the vertices of which `holds` is true.
fn particles_of(part: &WeldedPart, holds: impl Fn(usize) -> bool, into: &mut Vec<u32>) {
    let vertices = part.particle_of.iter().enumerate();
    into.extend(vertices.filter(|(v, p)| **p != NO_PARTICLE && holds(*v)).map(|(_, p)| *p));
}

/// The particles of which a vertex has more red than this.
fn by_colour<'a>(
    meshes: impl Iterator<Item = (&'a Mesh, &'a WeldedPart)>,
    least: f32,
) -> Result<Vec<u32>, BuildError> {
    let mut marked = Vec::new();
    let mut coloured = false;
    for (mesh, part) in meshes {
        let red: Vec<f32> = match mesh.try_attribute_option(Mesh::ATTRIBUTE_COLOR) {
            Ok(Some(VertexAttributeValues::Float32x4(c))) => c.iter().map(|c| c[0]).collect(),
            Ok(Some(VertexAttributeValues::Unorm8x4(c))) => {
                c.iter().map(|c| f32::from(c[0]) / 255.0).collect()
            }
            Ok(Some(_)) => return Err(BuildError::NoColors("the mesh has them in another format")),
            _ => continue,
        };
        coloured = true;
        particles_of(part, |v| red.get(v).is_some_and(|red| *red > least), &mut marked);
    }
    if coloured { Ok(marked) } else { Err(BuildError::NoColors("the mesh has none")) }
}

/// A picture that says where to pin.
struct Mask<'w> {
    /// `None` for the mask of a loaded world, which has no picture.
    image: Option<&'w Image>,
    threshold: f32,
}

impl<'w> Mask<'w> {
    /// The mask, if its picture is there.
    fn new(world: &'w World, mask: &PinMask) -> Result<Option<Self>, BuildError> {
        let threshold = mask.threshold;
        if mask.image == Handle::default() {
            return Ok(Some(Self { image: None, threshold }));
        }
        let image = loaded(world, &mask.image, "mask of the pins")?;
        Ok(image.map(|image| Self { image: Some(image), threshold }))
    }

    /// Whether the picture is bright at these texture coordinates; it repeats beyond 0 to 1.
    fn is_bright(&self, uv: Vec2) -> Result<bool, BuildError> {
        let Some(image) = self.image.filter(|_| uv.is_finite()) else { return Ok(false) };
        let texel = |at: f32, size: u32| {
            let at = if (0.0..=1.0).contains(&at) { at } else { at.rem_euclid(1.0) };
            ((at * size as f32) as u32).min(size.saturating_sub(1))
        };
        let color = image
            .get_color_at(texel(uv.x, image.width()), texel(uv.y, image.height()))
            .map_err(|error| BuildError::BadMask(error.to_string()))?
            .to_srgba();
        let luma = 0.2126 * color.red + 0.7152 * color.green + 0.0722 * color.blue;
        Ok(luma * color.alpha > self.threshold)
    }

    /// The particles of a grid that it pins; the picture is spread over the whole of it.
    fn on_grid(&self, size: UVec2) -> Result<Vec<u32>, BuildError> {
        let last = size.saturating_sub(UVec2::ONE).max(UVec2::ONE).as_vec2();
        let mut marked = Vec::new();
        for row in 0..size.y {
            for column in 0..size.x {
                if self.is_bright(UVec2::new(column, row).as_vec2() / last)? {
                    marked.push(row * size.x + column);
                }
            }
        }
        Ok(marked)
    }

    /// The particles of meshes that it pins.
    fn on_meshes<'a>(
        &self,
        meshes: impl Iterator<Item = (&'a Mesh, &'a WeldedPart)>,
    ) -> Result<Vec<u32>, BuildError> {
        let mut marked = Vec::new();
        let mut mapped = false;
        for (mesh, part) in meshes {
            let Ok(Some(VertexAttributeValues::Float32x2(uvs))) =
                mesh.try_attribute_option(Mesh::ATTRIBUTE_UV_0)
            else {
                continue;
            };
            mapped = true;
            let bright: Vec<bool> =
                uvs.iter().map(|uv| self.is_bright(Vec2::from(*uv))).collect::<Result<_, _>>()?;
            particles_of(part, |v| bright.get(v).copied().unwrap_or(false), &mut marked);
        }
        if mapped { Ok(marked) } else { Err(BuildError::NoUvs) }
    }
}

/// Notices meshes that the user put in place of those that a cloth was made from: it is built anew. A
/// cloth that waits, or could not be built, is looked at again.
pub(super) fn notice_other_meshes(
    changed: Query<
        (
            Entity,
            Option<&Cloth>,
            Option<&MeshPartOf>,
            Option<&Mesh3d>,
            Option<&Mesh2d>,
            Option<&DerivedMesh>,
        ),
        (
            Or<(Changed<Mesh3d>, Changed<Mesh2d>)>,
            Or<(With<Cloth>, With<MeshPartOf>)>,
            Allow<Disabled>,
        ),
    >,
    bodies: Query<&ClothMesh, Allow<Disabled>>,
    mut commands: Commands,
) {
    for (entity, cloth, part_of, solid, flat, derived) in &changed {
        let body = part_of.map_or(entity, |part| part.0);
        let Ok(cloth_mesh) = bodies.get(body) else {
            if cloth.is_some_and(|c| matches!(c.shape, ClothShape::Mesh { .. })) {
                commands.entity(body).insert_if_new(AwaitsAssets::default());
            }
            continue;
        };
        let now = flat.map(|m| &m.0).or(solid.map(|m| &m.0));
        let source = cloth_mesh.parts.iter().find(|p| p.entity == entity).map(|p| &p.mesh);
        let expected = derived.map(|d| &d.0).or(source);
        if now.is_some() && now != expected {
            commands.entity(body).insert(MustRebuild);
        }
    }
}
