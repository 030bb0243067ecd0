//! Recipes: components that say how to build a body.
//!
//! Spawn a recipe ([`Cloth`], [`Rope`]) with a `Transform`; at the next tick, or as soon as the assets
//! that it needs are loaded, it is built into particle and constraint entities and [`BodyBuilt`] is
//! triggered, or [`BodyFailed`] with a [`BuildError`] that says what is wrong. Change a field of the
//! recipe later: what is only material (compliance, mass, damping, friction, thickness) is applied to the
//! live body, and only where the recipe's own value still stands; a change of shape builds the body anew,
//! and so does [`Rebuild`].

mod bones;
mod build;
mod cloth;
mod error;
mod geodesic;
#[cfg(feature = "render")]
mod ingest;
mod live;
#[cfg(feature = "render")]
mod mesh_obstacle;
mod pins;
mod plan;
mod presets;
mod ragdoll_input;
mod ragdoll_plan;
mod rope;
#[cfg(feature = "render")]
mod source;
mod sprite_ragdoll;
#[cfg(feature = "render")]
mod weld;

pub use crate::particle::BuiltScale;
pub use bones::{Bone, BoneJoint, BoneSet, BoneSource, BonesError, MaskKind, MaskSettings};
pub use build::{BodyBuilt, BodyFailed, BuiltFrom, Rebuild, RecipeMade};
pub use cloth::{Cloth, ClothMass, ClothShape, ClothTopology, grid_triangles};
pub use error::BuildError;
#[cfg(feature = "render")]
pub use mesh_obstacle::{MeshKind, MeshObstacle};
#[cfg(feature = "render")]
pub use pins::PinMask;
pub use pins::{ClothPins, PinPredicate};
pub use presets::{Fabric, SoftMaterial};
pub use rope::{Rope, RopePins};
#[cfg(feature = "render")]
pub use source::{ClothMesh, DerivedMesh, ReplacedRig, SkinSource};
pub use sprite_ragdoll::{BoneFinder, RagdollBones, RagdollStyle, SpriteRagdoll};

#[cfg(feature = "render")]
pub(crate) use {
    source::{MeshPart, MeshPartOf},
    weld::{NO_PARTICLE, WeldedPart},
};

use crate::solver::PliantSystems;
use bevy::prelude::*;

/// Builds bodies. Systems in run order, in [`PliantSystems::Build`]: `notice_other_meshes`,
/// `make_mesh_obstacles` (feature `render`), `build::<Cloth>`, `build::<Rope>`, `build::<SpriteRagdoll>`; in
/// `PreUpdate`: `forget_changed` (feature `render`).
///
/// It adds the asset [`BoneSet`] and its loader to an app that has an `AssetPlugin` by then.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecipePlugin;

impl Plugin for RecipePlugin {
    fn build(&self, app: &mut App) {
        app.register_type::<Cloth>()
            .register_type::<BuiltFrom<Cloth>>()
            .register_type::<Rope>()
            .register_type::<BuiltFrom<Rope>>()
            .register_type::<SpriteRagdoll>()
            .register_type::<BuiltFrom<SpriteRagdoll>>()
            .register_type::<BuiltScale>()
            .register_type::<RecipeMade>()
            .add_observer(build::on_rebuild)
            .add_systems(
                crate::solver::PliantSchedule,
                (build::build::<Cloth>, build::build::<Rope>, build::build::<SpriteRagdoll>)
                    .chain()
                    .in_set(PliantSystems::Build),
            );
        #[cfg(feature = "render")]
        app.register_type::<MeshObstacle>().add_systems(
            crate::solver::PliantSchedule,
            (source::notice_other_meshes, mesh_obstacle::make_mesh_obstacles)
                .chain()
                .before(build::build::<Cloth>)
                .in_set(PliantSystems::Build),
        );
        #[cfg(feature = "render")]
        add_bones(app);
    }

    /// Where the asset server came after this plugin.
    #[cfg(feature = "render")]
    fn finish(&self, app: &mut App) {
        add_bone_sets(app);
    }
}

/// The asset of files of bones, where there is an asset server.
#[cfg(feature = "render")]
fn add_bone_sets(app: &mut App) {
    let known = app.world().contains_resource::<Assets<BoneSet>>();
    if !known && app.world().contains_resource::<AssetServer>() {
        app.init_asset::<BoneSet>().init_asset_loader::<bones::BoneSetLoader>();
    }
}

/// What reads bones from pictures and files.
#[cfg(feature = "render")]
fn add_bones(app: &mut App) {
    use bevy::ecs::message::Messages;
    add_bone_sets(app);
    app.init_resource::<ragdoll_input::KnownPictures>().add_systems(
        PreUpdate,
        (
            ragdoll_input::forget_changed::<Image>
                .run_if(resource_exists::<Messages<AssetEvent<Image>>>),
            ragdoll_input::forget_changed::<BoneSet>
                .run_if(resource_exists::<Messages<AssetEvent<BoneSet>>>),
        )
            .chain(),
    );
}

/// What other rooms' tests need of this one.
#[cfg(all(test, feature = "render"))]
pub(crate) mod testing {
    use super::{ingest, weld};
    use bevy::prelude::*;

    /// The rest positions of a mesh's particles, and how the mesh hangs on them.
    pub(crate) fn welded(mesh: &Mesh) -> (Vec<Vec3>, weld::WeldedPart) {
        let raw = ingest::read(mesh).expect("a mesh of triangles");
        let input = weld::WeldInput { positions: &raw.positions, faces: &raw.faces };
        let (welded, mut parts, _) = weld::weld(&[input], 1e-5);
        (welded.rest, parts.remove(0))
    }
}
