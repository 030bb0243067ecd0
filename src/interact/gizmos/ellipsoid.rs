//! Oriented particles as ellipsoids.

use bevy::prelude::*;

/// Oriented particles as the ellipsoids that they are: three rings each, or one ellipse in the plane.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct EllipsoidGizmos {
    /// Colour of the rings. Default: red.
    pub color: Color,
    /// Lines that a ring is made of, 3 to 256. Default: 40.
    pub resolution: u32,
}

impl Default for EllipsoidGizmos {
    fn default() -> Self {
        Self { color: Color::srgb(0.85, 0.1, 0.15), resolution: 40 }
    }
}
