//! Islands.

use bevy::prelude::*;

/// Particles and what joins them, a colour for each island.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct IslandGizmos {
    /// Radius of a particle's dot (m); 0 draws none. Default: 0.01.
    pub radius: f32,
}

impl Default for IslandGizmos {
    fn default() -> Self {
        Self { radius: 0.01 }
    }
}
