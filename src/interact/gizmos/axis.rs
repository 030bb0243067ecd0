//! The world's axes.

use bevy::prelude::*;

/// The world's x axis in red, y in green and z in blue.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct AxisGizmos {
    /// Length of each axis (m). Default: 1.
    pub length: f32,
}

impl Default for AxisGizmos {
    fn default() -> Self {
        Self { length: 1.0 }
    }
}
