//! Skin: what draws a body. *Bind* makes a derived mesh once the body is built; then the mesh follows
//! the drawn pose each frame.
//!
//! The derived mesh takes the place of the body's `Mesh3d` (or `Mesh2d`, where the body has that);
//! the user's own handle is remembered in [`SkinSource`] and its asset never written. Materials are the
//! user's, untouched. Without an `Assets<Mesh>` in the app nothing is drawn.

mod cloth;
mod rope;
mod surface;

pub use cloth::ClothSkin;
pub use rope::RopeSkin;

use crate::{
    recipe::{Cloth, Rope},
    solver::{DrawnPose, PliantSystems, SolverSettings},
};
use bevy::{
    asset::AssetEventSystems,
    camera::{
        primitives::Aabb,
        visibility::{NoAutoAabb, VisibilitySystems},
    },
    math::Affine3A,
    prelude::*,
};

/// Draws bodies. Systems in run order, in [`PliantSystems::Skin`]: `bind` and `draw` of each kind of
/// skin.
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
            (bind::<ClothSkin, Cloth>, bind::<RopeSkin, Rope>, draw::<ClothSkin>, draw::<RopeSkin>)
                .chain()
                .in_set(PliantSystems::Skin)
                .run_if(resource_exists::<Assets<Mesh>>),
        );
    }
}

/// The mesh that the body had before it was bound.
#[derive(Component, Clone, Debug, Default)]
pub struct SkinSource(pub Option<Handle<Mesh>>);

/// The derived mesh of a body.
#[derive(Component, Clone, Debug)]
pub struct DerivedMesh(pub Handle<Mesh>);

/// How a kind of body is drawn.
pub(crate) trait Skin: Component + Sized {
    /// The recipe that it draws.
    type Recipe: Component + Clone + PartialEq + Default + Reflect + TypePath;
    /// Prepares drawing of a body built from `recipe`, where particles have `radius` m unless it says so.
    fn bind(recipe: &Self::Recipe, radius: f32) -> Self;
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
        ),
        Or<(Changed<crate::recipe::BuiltFrom<R>>, Without<DerivedMesh>)>,
    >,
    settings: Res<SolverSettings>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut commands: Commands,
) {
    for (body, built, derived, flat, solid) in &bodies {
        let skin = S::bind(&built.0, settings.particle_radius);
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
        match aabb {
            Some(mut aabb) => *aabb = bounds,
            None => {
                commands.entity(entity).try_insert(bounds);
            }
        }
    }
}
