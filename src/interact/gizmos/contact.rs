//! Contacts.

use bevy::prelude::*;

/// Where particles touch obstacles and one another: a cross, and the normal.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct ContactGizmos {
    /// Colour of the points. Default: orange.
    pub color: Color,
    /// Colour of the normals. Default: yellow.
    pub normal_color: Color,
    /// Half the width of a cross (m). Default: 0.01.
    pub radius: f32,
    /// Length of a normal (m). Default: 0.1.
    pub length: f32,
}

impl Default for ContactGizmos {
    fn default() -> Self {
        Self {
            color: Color::srgb(1.0, 0.45, 0.0),
            normal_color: Color::srgb(1.0, 0.85, 0.1),
            radius: 0.01,
            length: 0.1,
        }
    }
}
