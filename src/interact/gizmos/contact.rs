//! Contacts: where particles touched in the last substep.

use super::{
    pen::{Pen, positive},
    plugin::ViewGroup,
    points::Points,
};
use crate::solver::SolverView;
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

impl ViewGroup for ContactGizmos {
    // They are under what touches.
    const DEPTH_BIAS: f32 = -1.0;

    fn scale_lengths(&mut self, unit: f32) {
        self.radius *= unit;
        self.length *= unit;
    }
}

/// Draws contacts: the normal, then the three lines of the cross.
pub(super) fn draw_contacts(
    view: SolverView,
    points: Res<Points>,
    mut gizmos: Gizmos<ContactGizmos>,
) {
    let settings = gizmos.config_ext;
    let (color, normal_color) = (settings.color.to_linear(), settings.normal_color.to_linear());
    let (radius, length) = (positive(settings.radius), positive(settings.length));
    let mut pen = Pen::new(&mut gizmos);
    for contact in view.contacts() {
        let at = contact.position;
        let finite = at.is_finite() && contact.normal.is_finite();
        if !finite || points.place(contact.particle).is_none() {
            continue;
        }
        if let Some(length) = length {
            let faded = normal_color.with_alpha(0.3 * normal_color.alpha);
            pen.gradient(at, at + length * contact.normal, normal_color, faded);
        }
        if let Some(radius) = radius {
            for axis in [Vec3::X, Vec3::Y, Vec3::Z] {
                pen.line(at - radius * axis, at + radius * axis, color);
            }
        }
    }
}
