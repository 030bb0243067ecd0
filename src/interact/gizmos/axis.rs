//! The world's axes.

use super::{
    pen::{Pen, positive},
    plugin::ViewGroup,
};
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

impl ViewGroup for AxisGizmos {
    fn scale_lengths(&mut self, unit: f32) {
        self.length *= unit;
    }
}

/// Draws the axes.
pub(super) fn draw_axes(mut gizmos: Gizmos<AxisGizmos>) {
    let Some(length) = positive(gizmos.config_ext.length) else { return };
    let mut pen = Pen::new(&mut gizmos);
    pen.line(Vec3::ZERO, Vec3::X * length, LinearRgba::rgb(1.0, 0.0, 0.0));
    pen.line(Vec3::ZERO, Vec3::Y * length, LinearRgba::rgb(0.0, 1.0, 0.0));
    pen.line(Vec3::ZERO, Vec3::Z * length, LinearRgba::rgb(0.0, 0.0, 1.0));
}
