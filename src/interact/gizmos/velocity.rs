//! Velocities as arrows.

use super::{
    dots::Cameras,
    pen::{Pen, positive},
    plugin::ViewGroup,
    points::Points,
};
use crate::particle::Particle;
use bevy::prelude::*;

/// Velocities as arrows: as long as the particle moves in some time.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct VelocityGizmos {
    /// The arrow is where the particle goes in this time (s). Default: 0.1.
    pub time: f32,
    /// Arrows shorter than this are left out (m). Default: 0.005.
    pub least_length: f32,
    /// Colour of the arrows, which fade towards their start. Default: green.
    pub color: Color,
}

impl Default for VelocityGizmos {
    fn default() -> Self {
        Self { time: 0.1, least_length: 0.005, color: Color::srgb(0.0, 0.75, 0.3) }
    }
}

impl ViewGroup for VelocityGizmos {
    const DEPTH_BIAS: f32 = -0.002;

    fn scale_lengths(&mut self, unit: f32) {
        self.least_length *= unit;
    }
}

/// Opacity of an arrow's start, of its tip's.
const FADED: f32 = 0.4;
/// Length and half the width of an arrow's head, of its own length.
const HEAD: Vec2 = Vec2::new(0.25, 0.09);

/// Draws arrows: a shaft, then the two lines of the head.
pub(super) fn draw_velocities(
    particles: Query<(Entity, &Particle)>,
    points: Res<Points>,
    cameras: Cameras,
    mut gizmos: Gizmos<VelocityGizmos>,
) {
    let VelocityGizmos { time, least_length, color } = *gizmos.config_ext;
    let Some(time) = positive(time) else { return };
    let least = positive(least_length).unwrap_or(f32::MIN_POSITIVE);
    let color = color.to_linear();
    let faded = color.with_alpha(FADED * color.alpha);
    // Heads lie flat for the viewer.
    let view = cameras.axis(gizmos.config);
    let mut pen = Pen::new(&mut gizmos);
    for (entity, particle) in &particles {
        let Some(from) = points.get(entity) else { continue };
        let arrow = particle.velocity * time;
        let to = from + arrow;
        let length = arrow.length();
        if !(length >= least && length.is_finite() && to.is_finite()) {
            continue;
        }
        let along = arrow / length;
        let side = along.cross(view).try_normalize();
        let side = length * side.unwrap_or_else(|| along.any_orthonormal_vector());
        pen.gradient(from, to, faded, color);
        for side in [side, -side] {
            pen.line(to, to - HEAD.x * arrow + HEAD.y * side, color);
        }
    }
}
