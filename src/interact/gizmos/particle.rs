//! Particles as dots.

use bevy::prelude::*;

/// Particles as dots.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct ParticleGizmos {
    /// Radius of a dot (m). Default: 0.025.
    pub radius: f32,
    /// Colour of a dot. Default: blue.
    pub color: Color,
    /// Colour of particles that an attachment holds, drawn three times as large. Default: red.
    pub held_color: Color,
}

impl Default for ParticleGizmos {
    fn default() -> Self {
        Self {
            radius: 0.025,
            color: Color::srgb(0.0, 0.0, 1.0),
            held_color: Color::srgb(1.0, 0.0, 0.0),
        }
    }
}
