//! Picking: tells `bevy_picking` which bodies and particles are under pointers.
//!
//! A body is met where its surface is drawn now (`surface`): cloth, ropes and meshes by their derived
//! meshes, characters that the GPU draws by the same binding, not at the bind pose that their mesh
//! holds. The entity that is hit is the one that has the mesh, so events reach a body's mesh children
//! first and bubble to the body. [`SurfaceHit`] says more about the hit.
//!
//! A particle that has [`Pickable`] is met within some pixels around it; of several the nearest. It does
//! not hide its own body: both are hovered.
//!
//! Bevy's own mesh picking may be in the same app. It would report bodies a second time, and characters in
//! their bind pose: what other backends say of our bodies is left out (`keep_own_hits`), and where
//! the mesh is the bind pose, `MeshRayCast` gets an empty `SimplifiedMesh` in its place
//! (`hide_bind_pose`), unless the user has given the entity one.
//!
//! Cameras are asked directly, so picking works with images as render targets and without a window.

mod backend;
mod shown;
mod sight;
mod surface;
mod triangles;

pub(super) use backend::drawn_by;
pub(super) use shown::Shown;
pub(super) use sight::{Cameras, Sight};
pub(super) use surface::{IsDrawn, Surfaces};

use crate::constraint::SurfacePart;
use backend::{hide_bind_pose, keep_own_hits, pick, share_with_body};
use bevy::{
    picking::{
        PickingSystems,
        backend::PointerHits,
        hover::{HoverMap, generate_hovermap, update_interactions},
    },
    prelude::*,
};

/// Tells `bevy_picking` which bodies and particles are under pointers.
///
/// Systems in run order, in `PreUpdate`: `hide_bind_pose`; `pick` in [`PickingSystems::Backend`];
/// `keep_own_hits` after that; `share_with_body` in [`PickingSystems::Hover`]. In apps without Bevy's
/// picking plugins nothing comes of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PickingPlugin;

impl Plugin for PickingPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<PickSettings>()
            .register_type::<PickSettings>()
            .init_resource::<backend::Shared>()
            .add_message::<PointerHits>()
            .add_systems(
                PreUpdate,
                (
                    hide_bind_pose.before(PickingSystems::Backend),
                    pick.in_set(PickingSystems::Backend),
                    keep_own_hits.after(PickingSystems::Backend).before(PickingSystems::Hover),
                    share_with_body
                        .in_set(PickingSystems::Hover)
                        .after(generate_hovermap)
                        .before(update_interactions)
                        .run_if(resource_exists::<HoverMap>),
                ),
            );
    }
}

/// How pointers find bodies and particles.
#[derive(Resource, Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Resource, Default, Debug, PartialEq, Clone)]
pub struct PickSettings {
    /// Whether bodies and particles are found at all. Default: true.
    pub enabled: bool,
    /// How near to a particle that has `Pickable` a pointer must be (logical pixels). Default: 10.
    pub reach: f32,
}

impl Default for PickSettings {
    fn default() -> Self {
        Self { enabled: true, reach: 10.0 }
    }
}

/// Where a pointer hit the surface of a body: extra data of its `HitData`, read by
/// `hit.extra_as::<SurfaceHit>()`.
#[derive(Clone, Debug, PartialEq)]
pub struct SurfaceHit {
    /// The particle nearest to the point that was hit, among those that move it; of a character the bone
    /// that moves it most.
    pub particle: Entity,
    /// The triangle, by its place in the list of those that are drawn.
    pub triangle: u32,
    /// Where on the triangle: weights of its three corners, of sum 1.
    pub barycentric: Vec3,
    /// Texture coordinates there, if the mesh has any.
    pub uv: Option<Vec2>,
    /// The particles that move this point of the surface, with weights of sum 1. With these a
    /// [`SurfaceAttachment`](crate::constraint::SurfaceAttachment) holds exactly this point.
    pub parts: Vec<SurfacePart>,
}
