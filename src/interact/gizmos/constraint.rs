//! Constraints as lines.

use bevy::prelude::*;

/// Distance constraints as lines; on demand tethers and bending constraints too.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct ConstraintGizmos {
    /// Colour of distance constraints. Default: dark grey.
    pub color: Color,
    /// Whether tethers are drawn. Default: false.
    pub tethers: bool,
    /// Colour of tethers. Default: green, half opaque.
    pub tether_color: Color,
    /// Whether bending constraints are drawn, as lines between their wings. Default: false.
    pub bending: bool,
    /// Colour of bending constraints. Default: violet, half opaque.
    pub bending_color: Color,
}

impl Default for ConstraintGizmos {
    fn default() -> Self {
        Self {
            color: Color::srgb_u8(0x66, 0x66, 0x66),
            tethers: false,
            tether_color: Color::srgba(0.10, 0.60, 0.35, 0.5),
            bending: false,
            bending_color: Color::srgba(0.55, 0.25, 0.75, 0.5),
        }
    }
}
