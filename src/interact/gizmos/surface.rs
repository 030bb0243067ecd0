//! Surfaces: the wireframe of what is drawn.

use bevy::prelude::*;

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
