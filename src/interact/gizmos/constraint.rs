//! Constraints as lines.

use super::{pen::Pen, plugin::ViewGroup, points::Points};
use crate::constraint::{BendingConstraint, DistanceConstraint, TetherConstraint};
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

impl ViewGroup for ConstraintGizmos {
    const DEPTH_BIAS: f32 = -0.001;
}

/// Draws distance constraints, and what else is asked for.
pub(super) fn draw_constraints(
    distances: Query<&DistanceConstraint>,
    tethers: Query<&TetherConstraint>,
    bendings: Query<&BendingConstraint>,
    points: Res<Points>,
    mut gizmos: Gizmos<ConstraintGizmos>,
) {
    let settings = gizmos.config_ext;
    let mut pen = Pen::new(&mut gizmos);
    let mut draw = |particles: [Entity; 2], color: LinearRgba| {
        if let Some([a, b]) = points.pair(particles) {
            pen.line(a, b, color);
        }
    };
    if settings.tethers {
        let color = settings.tether_color.to_linear();
        tethers.iter().for_each(|tether| draw(tether.particles, color));
    }
    if settings.bending {
        let color = settings.bending_color.to_linear();
        bendings.iter().for_each(|bending| draw(wings(bending), color));
    }
    let color = settings.color.to_linear();
    distances.iter().for_each(|distance| draw(distance.particles, color));
}

/// The particles that a bending constraint turns about its edge.
pub(super) fn wings(bending: &BendingConstraint) -> [Entity; 2] {
    let [_, _, a, b] = bending.particles;
    [a, b]
}
