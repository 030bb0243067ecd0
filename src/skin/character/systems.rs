//! Binding characters and drawing them.

use super::{
    CharacterMaterial, CharacterSkin, Gpu, Palette, SharedSkins, SkinBinding, Way, palette,
    shared::SharedSkin,
};
use crate::{
    particle::{BuiltScale, RestPose},
    recipe::{BuiltFrom, DerivedMesh, RagdollBones, SkinSource, SpriteRagdoll},
    skin::{
        enclose, restore,
        surface::{put_vec3, take_vec3},
    },
    solver::DrawnPose,
};
use alloc::sync::Arc;
use bevy::{
    asset::AssetMut,
    camera::{primitives::Aabb, visibility::NoAutoAabb},
    math::Affine3A,
    mesh::MeshTag,
    prelude::*,
};

type Body = (
    Entity,
    Ref<'static, BuiltFrom<SpriteRagdoll>>,
    Ref<'static, RagdollBones>,
    Option<&'static CharacterSkin>,
    Option<&'static Mesh2d>,
    Option<&'static Mesh3d>,
    Option<&'static DerivedMesh>,
    Has<MeshMaterial2d<CharacterMaterial>>,
);

/// What skins are made of and drawn with.
#[derive(bevy::ecs::system::SystemParam)]
pub(in crate::skin) struct Workshop<'w> {
    skins: ResMut<'w, SharedSkins>,
    palette: ResMut<'w, Palette>,
    images: ResMut<'w, Assets<Image>>,
    meshes: ResMut<'w, Assets<Mesh>>,
    materials: Option<ResMut<'w, Assets<CharacterMaterial>>>,
}

/// Binds ragdolls that were built, or built anew, or whose picture came, or changed.
pub(in crate::skin) fn bind_characters(
    bodies: Query<Body>,
    mut changes: MessageReader<AssetEvent<Image>>,
    mut workshop: Workshop,
    mut commands: Commands,
) {
    for change in changes.read() {
        if let AssetEvent::Modified { id } = change {
            workshop.forget(*id);
        }
    }
    for (body, built, bones, skin, flat, solid, derived, is_ours) in &bodies {
        let ragdoll = &built.0;
        if let Some(skin) = skin
            && (!skin.is_as_wanted(flat, solid, derived, is_ours)
                || ragdoll.texture == Handle::default())
        {
            // What the user wants in its place is bound in the next frame.
            unbind(&mut commands, body, skin, flat);
            continue;
        }
        let is_fresh = |skin: &CharacterSkin| {
            !(built.is_changed() || bones.is_changed() || skin.shared.is_stale())
        };
        if skin.is_some_and(is_fresh) || ragdoll.texture == Handle::default() {
            continue;
        }
        let Some(image) = workshop.images.get(&ragdoll.texture) else { continue };
        let Some(shared) = workshop.skins.get(ragdoll, &bones, image) else {
            warn_once!("{body} is not drawn: its part of the picture has no area");
            continue;
        };
        if skin.is_some_and(|skin| Arc::ptr_eq(&skin.shared, &shared)) {
            continue;
        }
        let mut body = commands.entity(body);
        match (flat, solid) {
            (_, Some(solid)) => workshop.bind_mesh(&mut body, shared, &solid.0, false, derived),
            // A mesh with our material is what a saved world had left of ours.
            (Some(flat), None) if !is_ours => {
                workshop.bind_mesh(&mut body, shared, &flat.0, true, derived);
            }
            _ => workshop.bind_gpu(&mut body, shared),
        }
    }
}

impl Workshop<'_> {
    /// Lets skins of a picture be made anew, and drawn with it as it is now.
    fn forget(&mut self, texture: AssetId<Image>) {
        if !self.skins.forget(texture) {
            return;
        }
        if let Some(materials) = &mut self.materials {
            let is_of_it =
                |(_, material): &(_, &CharacterMaterial)| material.texture.id() == texture;
            let ids: Vec<_> = materials.iter().filter(is_of_it).map(|(id, _)| id).collect();
            for id in ids {
                // Where a texture changes its size, a material that is not written goes on reading the old.
                materials.get_mut(id).map(AssetMut::into_inner);
            }
        }
    }

    /// Gives a body the mesh and the material that it shares with its like.
    fn bind_gpu(&mut self, body: &mut EntityCommands, shared: Arc<SharedSkin>) {
        let Some((gpu, material)) = self.gpu(&shared) else {
            body.try_insert(CharacterSkin::new(shared, Way::Gpu(None)));
            return;
        };
        let drawn = (Mesh2d(gpu.mesh.clone()), MeshMaterial2d(material), MeshTag(gpu.tag()));
        body.try_insert((CharacterSkin::new(shared, Way::Gpu(Some(gpu))), drawn, NoAutoAabb));
    }

    /// `None` where there is nothing to draw, or nothing to draw it with.
    fn gpu(&mut self, shared: &SharedSkin) -> Option<(Gpu, Handle<CharacterMaterial>)> {
        let binding = &shared.binding;
        let materials = self.materials.as_mut().filter(|_| !binding.triangles.is_empty())?;
        let Some(lease) = self.palette.lend(binding.bone_count()) else {
            warn_once!("there are too many characters: not all are drawn");
            return None;
        };
        if self.palette.fit(&mut self.images) {
            for (_, material) in materials.iter_mut() {
                material.palette = self.palette.image.clone();
            }
        }
        let (mesh, material) = shared.drawn.get_or_init(|| {
            let material = CharacterMaterial {
                texture: shared.texture.clone(),
                palette: self.palette.image.clone(),
            };
            (self.meshes.add(binding.mesh()), materials.add(material))
        });
        Some((Gpu { lease, mesh: mesh.clone(), height: None }, material.clone()))
    }

    /// Puts a derived mesh in the place of the user's.
    fn bind_mesh(
        &mut self,
        body: &mut EntityCommands,
        shared: Arc<SharedSkin>,
        source: &Handle<Mesh>,
        flat: bool,
        derived: Option<&DerivedMesh>,
    ) {
        let mesh = shared.binding.plain_mesh();
        body.try_insert(CharacterSkin::new(shared, Way::Mesh { flat }));
        // A body that is bound again keeps its mesh asset.
        if let Some(DerivedMesh(handle)) = derived
            && self.meshes.contains(handle)
        {
            let _ = self.meshes.insert(handle, mesh);
            return;
        }
        let handle = self.meshes.add(mesh);
        let source = SkinSource(Some(source.clone()));
        body.try_insert((DerivedMesh(handle.clone()), source, NoAutoAabb));
        if flat {
            body.try_insert(Mesh2d(handle));
        } else {
            body.try_insert(Mesh3d(handle));
        }
    }
}

/// Takes off a body what draws it.
fn unbind(commands: &mut Commands, body: Entity, skin: &CharacterSkin, flat: Option<&Mesh2d>) {
    let mut entity = commands.entity(body);
    entity.try_remove::<CharacterSkin>();
    match &skin.way {
        Way::Gpu(gpu) => {
            let ours = gpu.as_ref().map(|gpu| &gpu.mesh);
            if ours.is_some() {
                entity.try_remove::<(MeshMaterial2d<CharacterMaterial>, MeshTag)>();
                entity.try_remove::<(Aabb, NoAutoAabb)>();
            }
            if ours.is_some() && ours == flat.map(|flat| &flat.0) {
                entity.try_remove::<Mesh2d>();
            }
        }
        Way::Mesh { flat } => restore(commands, body, *flat),
    }
}

impl CharacterSkin {
    /// Whether the body still has what it is drawn with, and the user has not given it a mesh.
    fn is_as_wanted(
        &self,
        flat: Option<&Mesh2d>,
        solid: Option<&Mesh3d>,
        derived: Option<&DerivedMesh>,
        is_ours: bool,
    ) -> bool {
        let is_derived = |mesh: &Handle<Mesh>| derived.is_some_and(|derived| derived.0 == *mesh);
        match &self.way {
            Way::Gpu(Some(gpu)) => solid.is_none() && flat.is_some_and(|flat| flat.0 == gpu.mesh),
            Way::Gpu(None) => solid.is_none() && (flat.is_none() || is_ours),
            Way::Mesh { flat: true } => {
                solid.is_none() && flat.is_some_and(|flat| is_derived(&flat.0))
            }
            Way::Mesh { flat: false } => solid.is_some_and(|solid| is_derived(&solid.0)),
        }
    }

    /// Takes out of the mesh what hangs on bones that are gone; the new binding, if it is another.
    fn refit(&mut self, present: &[bool]) -> Option<Arc<SkinBinding>> {
        if self.pose.present == present {
            return None;
        }
        self.binding = if self.pose.present.iter().all(|present| *present) {
            self.shared.binding.clone()
        } else {
            Arc::new(self.shared.binding.without(|bone| self.pose.present.get(bone) == Some(&true)))
        };
        Some(self.binding.clone())
    }
}

type Drawn = (
    Entity,
    &'static mut CharacterSkin,
    &'static DrawnPose,
    Ref<'static, GlobalTransform>,
    &'static BuiltFrom<SpriteRagdoll>,
    Option<&'static SpriteRagdoll>,
    Option<&'static BuiltScale>,
    Option<&'static DerivedMesh>,
    Option<&'static mut MeshMaterial2d<CharacterMaterial>>,
    Option<&'static mut Aabb>,
);

/// Lets characters follow the drawn poses: derived meshes, and the boxes around all.
pub(in crate::skin) fn draw_characters(
    mut characters: Query<Drawn>,
    bones: Query<(&Transform, &RestPose)>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut commands: Commands,
) {
    for (entity, mut skin, pose, frame, built, recipe, scale, derived, material, aabb) in
        &mut characters
    {
        let skin = &mut *skin;
        skin.tint = tint(recipe.unwrap_or(&built.0));
        let present = skin.pose.present.clone();
        let scale = scale.map_or(Vec2::ONE, |scale| scale.0.truncate());
        let moved = skin.pose.read(pose, scale, &bones) || core::mem::take(&mut skin.fresh);
        if let Some(binding) = skin.refit(&present) {
            match (&mut skin.way, derived) {
                (Way::Gpu(Some(gpu)), _) => {
                    let whole = Arc::ptr_eq(&binding, &skin.shared.binding);
                    let shared = skin.shared.drawn.get().filter(|_| whole);
                    gpu.mesh =
                        shared.map_or_else(|| meshes.add(binding.mesh()), |(mesh, _)| mesh.clone());
                    commands.entity(entity).try_insert(Mesh2d(gpu.mesh.clone()));
                }
                (Way::Mesh { .. }, Some(derived)) => {
                    let _ = meshes.insert(&derived.0, binding.plain_mesh());
                }
                _ => {}
            }
        }
        let frame_height = frame.translation().z;
        if let (Way::Gpu(Some(gpu)), Some(mut material)) = (&mut skin.way, material)
            && gpu.height.replace(frame_height).is_some_and(|height| height != frame_height)
        {
            // Bevy asks for the order of drawing only when a material is given.
            material.set_changed();
        }
        if !(moved || frame.is_changed()) {
            continue;
        }
        let to_body = frame.affine().inverse();
        if !to_body.is_finite() {
            warn_once!("{entity} has a transform without inverse: it is not drawn anew");
            continue;
        }
        let height = match skin.way {
            Way::Mesh { flat: false } => skin.pose.origin.z,
            _ => frame_height,
        };
        if let (Way::Mesh { .. }, Some(derived)) = (&skin.way, derived)
            && let Some(mut mesh) = meshes.get_mut(&derived.0)
        {
            skin.write(height, &to_body, &mut mesh);
        }
        if let Some(bounds) = skin.bounds(height, &to_body) {
            enclose(entity, aabb, bounds, &mut commands);
        }
    }
}

fn tint(ragdoll: &SpriteRagdoll) -> LinearRgba {
    let tint = ragdoll.color.to_linear();
    if tint.to_vec4().is_finite() { tint } else { LinearRgba::WHITE }
}

impl CharacterSkin {
    /// Writes the drawn pose into a derived mesh.
    fn write(&self, height: f32, to_body: &Affine3A, mesh: &mut Mesh) {
        let Some(mut positions) = take_vec3(mesh, Mesh::ATTRIBUTE_POSITION.id) else { return };
        for (position, at) in positions.iter_mut().zip(self.deform()) {
            *position = to_body.transform_point3(at.extend(height)).to_array();
        }
        put_vec3(mesh, Mesh::ATTRIBUTE_POSITION.id, positions);
    }
}

/// Writes tints and poses for the GPU, where they are others than before.
pub(in crate::skin) fn write_palette(
    characters: Query<&CharacterSkin>,
    palette: Res<Palette>,
    mut images: ResMut<Assets<Image>>,
) {
    let Some(bytes) = images.get(&palette.image).and_then(|image| image.data.as_deref()) else {
        return;
    };
    let changed: Vec<(palette::Run, &CharacterSkin)> = characters
        .iter()
        .filter_map(|skin| match &skin.way {
            Way::Gpu(Some(gpu)) => Some((gpu.lease.run, skin)),
            _ => None,
        })
        .filter(|(run, skin)| palette::differs(bytes, *run, skin.entry()))
        .collect();
    if changed.is_empty() {
        return;
    }
    // Only now, as this has the texture written anew.
    let Some(mut image) = images.get_mut(&palette.image) else { return };
    if let Some(bytes) = image.data.as_deref_mut() {
        changed.iter().for_each(|(run, skin)| palette::write(bytes, *run, skin.entry()));
    }
}
