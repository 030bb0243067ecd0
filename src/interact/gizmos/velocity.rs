//! Velocities as arrows.

use bevy::prelude::*;

/// Velocities as arrows: as long as the particle moves in some time.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct VelocityGizmos {
    /// The arrow is where the particle goes in this time (s). Default: 0.1.
    pub time: f32,
    /// Arrows shorter than this are left out (m). Default: 0.005.
    pub least_length: f32,
    /// Colour of the arrows. Default: green.
    pub color: Color,
}

impl Default for VelocityGizmos {
    fn default() -> Self {
        Self { time: 0.1, least_length: 0.005, color: Color::srgb(0.1, 0.7, 0.3) }
    }
}
