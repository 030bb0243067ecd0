//! Picking: what is under a pointer, for `bevy_picking`.

use crate::constraint::SurfacePart;
use bevy::prelude::*;

/// Tells `bevy_picking` which bodies and particles are under pointers.
#[derive(Clone, Copy, Debug, Default)]
pub struct PickingPlugin;

impl Plugin for PickingPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<PickSettings>().register_type::<PickSettings>();
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
    /// The particle nearest to the point that was hit, among those that move it.
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
