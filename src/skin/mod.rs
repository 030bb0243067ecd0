//! Skin: what draws a body. *Bind* makes a derived mesh once the body is built; then the mesh follows
//! the drawn pose each frame.
//!
//! The derived mesh takes the place of the body's `Mesh3d` (or `Mesh2d`, where the body has that), or,
//! for a cloth made from the meshes below the body, of the `Mesh3d` of each of them; the user's own
//! handle is remembered in [`SkinSource`] and its asset never written. Materials are the user's,
//! untouched. Without an `Assets<Mesh>` in the app nothing is drawn.
//!
//! A ragdoll without a mesh of the user's is drawn by the GPU, with a [`CharacterMaterial`].

mod character;
mod cloth;
mod mesh;
mod rope;
mod surface;

pub use crate::recipe::{DerivedMesh, ReplacedRig, SkinSource};
pub use character::{
    ATTRIBUTE_BONE_WEIGHTS, ATTRIBUTE_BONES, CharacterMaterial, CharacterSkin, SkinBinding,
};
pub use cloth::ClothSkin;
pub use mesh::MeshSkin;
pub use rope::RopeSkin;

use crate::{
    recipe::{Cloth, Rope},
    solver::{DrawnPose, PliantSystems, SolverDiagnostics, SolverSettings, Stage},
};
use bevy::{
    asset::AssetEventSystems,
    camera::{
        primitives::Aabb,
        visibility::{NoAutoAabb, VisibilitySystems},
    },
    math::Affine3A,
    platform::time::Instant,
    prelude::*,
};

/// Draws bodies. Systems in run order, in [`PliantSystems::Skin`]: `unbind_meshes`; `bind` of each kind
/// of skin, `bind_meshes`; `draw` of each kind, `draw_meshes`; for characters, in apps that have images,
/// `bind_characters`, `draw_characters`, `write_palette`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SkinPlugin;

impl Plugin for SkinPlugin {
    fn build(&self, app: &mut App) {
        app.configure_sets(
            PostUpdate,
            PliantSystems::Skin
                .before(AssetEventSystems)
                .before(VisibilitySystems::CalculateBounds)
                .before(VisibilitySystems::CheckVisibility),
        )
        .add_systems(
            PostUpdate,
            (
                mesh::unbind_meshes,
                (bind::<ClothSkin, Cloth>, bind::<RopeSkin, Rope>, mesh::bind_meshes).chain(),
                (draw::<ClothSkin>, draw::<RopeSkin>, mesh::draw_meshes).chain(),
            )
                .chain()
                .in_set(PliantSystems::Skin)
                .run_if(resource_exists::<Assets<Mesh>>),
        )
        .add_observer(mesh::hide_parts)
        .add_observer(mesh::show_parts)
        .init_resource::<character::SharedSkins>()
        .init_resource::<character::Palette>()
        .add_systems(
            PostUpdate,
            (character::bind_characters, character::draw_characters, character::write_palette)
                .chain()
                .in_set(PliantSystems::Skin)
                .run_if(resource_exists::<Assets<Mesh>>)
                .run_if(resource_exists::<Assets<Image>>)
                .run_if(resource_exists::<Messages<AssetEvent<Image>>>),
        );
        app.init_resource::<SkinClock>().add_systems(
            PostUpdate,
            (
                (|mut clock: ResMut<SkinClock>| clock.0 = Some(Instant::now()))
                    .before(PliantSystems::Skin)
                    .after(TransformSystems::Propagate),
                stop_clock.after(PliantSystems::Skin),
            ),
        );
        character::add_material(app);
    }

    fn finish(&self, app: &mut App) {
        // What draws may have been added after this.
        character::add_material(app);
    }
}

/// When drawing began in this frame.
#[derive(Resource, Default)]
struct SkinClock(Option<Instant>);

fn stop_clock(mut clock: ResMut<SkinClock>, mut diagnostics: ResMut<SolverDiagnostics>) {
    if let Some(started) = clock.0.take() {
        diagnostics.set(Stage::Skin, started.elapsed());
    }
}

/// How a kind of body is drawn.
pub(crate) trait Skin: Component + Sized {
    /// The recipe that it draws.
    type Recipe: Component + Clone + PartialEq + Default + Reflect + TypePath;
    /// Prepares drawing of a body built from `recipe`, where particles have `radius` m unless it says so;
    /// `None` if it is not this that draws it.
    fn bind(recipe: &Self::Recipe, radius: f32) -> Option<Self>;
    /// A mesh in the rest pose.
    fn mesh(&self) -> Mesh;
    /// Writes the drawn pose into the mesh, in the body's frame; the box that encloses it.
    fn write(&self, pose: &DrawnPose, to_body: &Affine3A, mesh: &mut Mesh) -> Option<Aabb>;
}

/// Binds bodies that were built, or built anew.
fn bind<S: Skin<Recipe = R>, R: Component + Clone + PartialEq + Default + Reflect + TypePath>(
    bodies: Query<
        (
            Entity,
            &crate::recipe::BuiltFrom<R>,
            Option<&DerivedMesh>,
            Option<&Mesh2d>,
            Option<&Mesh3d>,
            Has<S>,
        ),
        Or<(Changed<crate::recipe::BuiltFrom<R>>, Without<DerivedMesh>)>,
    >,
    settings: Res<SolverSettings>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut commands: Commands,
) {
    for (body, built, derived, flat, solid, bound) in &bodies {
        let Some(skin) = S::bind(&built.0, settings.particle_radius) else {
            if bound {
                commands.entity(body).try_remove::<S>();
                restore(&mut commands, body, flat.is_some());
            }
            continue;
        };
        let mesh = skin.mesh();
        let mut entity = commands.entity(body);
        // A body that is bound again keeps its mesh asset.
        if let Some(derived) = derived
            && meshes.insert(&derived.0, mesh.clone()).is_ok()
        {
            entity.try_insert(skin);
            continue;
        }
        let handle = meshes.add(mesh);
        let source = flat.map(|m| m.0.clone()).or_else(|| solid.map(|m| m.0.clone()));
        entity.try_insert((skin, DerivedMesh(handle.clone()), SkinSource(source), NoAutoAabb));
        if flat.is_some() {
            entity.try_insert(Mesh2d(handle));
        } else {
            entity.try_insert(Mesh3d(handle));
        }
    }
}

/// Gives an entity back the mesh that it had before one of ours took its place.
fn restore(commands: &mut Commands, entity: Entity, flat: bool) {
    commands.queue(move |world: &mut World| {
        let Ok(mut entity) = world.get_entity_mut(entity) else { return };
        let (Some(SkinSource(source)), Some(derived)) =
            (entity.take::<SkinSource>(), entity.take::<DerivedMesh>())
        else {
            return;
        };
        entity.remove::<(NoAutoAabb, Aabb)>();
        let now = entity.get::<Mesh2d>().map(|m| &m.0).or(entity.get::<Mesh3d>().map(|m| &m.0));
        if now != Some(&derived.0) {
            // The user has given it another meanwhile.
            return;
        }
        match (source, flat) {
            (Some(source), true) => drop(entity.insert(Mesh2d(source))),
            (Some(source), false) => drop(entity.insert(Mesh3d(source))),
            (None, true) => drop(entity.remove::<Mesh2d>()),
            (None, false) => drop(entity.remove::<Mesh3d>()),
        }
    });
}

/// Lets meshes follow the drawn poses.
fn draw<S: Skin>(
    mut bodies: Query<
        (&S, &DerivedMesh, Ref<DrawnPose>, Ref<GlobalTransform>, Option<&mut Aabb>, Entity),
        Or<(Changed<DrawnPose>, Changed<GlobalTransform>, Changed<S>)>,
    >,
    mut meshes: ResMut<Assets<Mesh>>,
    mut commands: Commands,
) {
    for (skin, derived, pose, transform, aabb, entity) in &mut bodies {
        let to_body = transform.affine().inverse();
        if !to_body.is_finite() {
            warn_once!("{entity} has a transform without inverse: it is not drawn anew");
            continue;
        }
        let Some(mut mesh) = meshes.get_mut(&derived.0) else { continue };
        let Some(bounds) = skin.write(&pose, &to_body, &mut mesh) else { continue };
        enclose(entity, aabb, bounds, &mut commands);
    }
}

/// Gives an entity the box around what it draws.
fn enclose(entity: Entity, aabb: Option<Mut<Aabb>>, bounds: Aabb, commands: &mut Commands) {
    match aabb {
        Some(mut aabb) => *aabb = bounds,
        None => {
            commands.entity(entity).try_insert(bounds);
        }
    }
}
