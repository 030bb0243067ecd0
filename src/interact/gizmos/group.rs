//! Shape-matching groups and joints.

use bevy::prelude::*;

/// Shape-matching groups as lines from their centre to their members, and joints: from the centres of both
/// particles to the joint's point, with its axis and limits where it has any.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct GroupGizmos {
    /// Colour of a group's lines. Default: teal.
    pub group_color: Color,
    /// Colour of joints. Default: yellow.
    pub joint_color: Color,
    /// Colour of axes and limits. Default: orange, half opaque.
    pub limit_color: Color,
    /// Radius of a joint's point (m). Default: 0.008.
    pub radius: f32,
    /// Radius of the arcs and cones that show limits (m). Default: 0.06.
    pub limit_radius: f32,
}

impl Default for GroupGizmos {
    fn default() -> Self {
        Self {
            group_color: Color::srgb(0.05, 0.55, 0.60),
            joint_color: Color::srgb(1.0, 0.8, 0.1),
            limit_color: Color::srgba(1.0, 0.5, 0.1, 0.5),
            radius: 0.008,
            limit_radius: 0.06,
        }
    }
}
