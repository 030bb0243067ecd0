//! Particles as dots.

use super::{
    dots::Cameras,
    pen::{Pen, positive},
    plugin::ViewGroup,
    points::Drawn,
};
use crate::constraint::{Attachment, SurfaceAttachment};
use bevy::prelude::*;

/// Particles as dots.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct ParticleGizmos {
    /// Radius of a dot (m). Default: 0.025.
    pub radius: f32,
    /// Colour of a dot. Default: blue.
    pub color: Color,
    /// Colour of particles, and of points of surfaces, that an attachment holds, drawn three times as large.
    /// Default: red.
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

impl ViewGroup for ParticleGizmos {
    const DEPTH_BIAS: f32 = -0.002;

    fn scale_lengths(&mut self, unit: f32) {
        self.radius *= unit;
    }
}

/// Draws dots: all that are not held, then the points that are.
pub(super) fn draw_particles(
    drawn: Drawn,
    attachments: Query<&Attachment>,
    surfaces: Query<&SurfaceAttachment>,
    cameras: Cameras,
    mut gizmos: Gizmos<ParticleGizmos>,
) {
    let Some(radius) = positive(gizmos.config_ext.radius) else { return };
    let color = gizmos.config_ext.color.to_linear();
    let held_color = gizmos.config_ext.held_color.to_linear();
    let dots = cameras.dots(gizmos.config);
    let mut pen = Pen::new(&mut gizmos);
    let mut held: Vec<Entity> = attachments.iter().map(|a| a.particle).collect();
    held.sort_unstable();
    for point in drawn.points.iter() {
        if held.binary_search(&point.entity).is_err() {
            dots.draw(&mut pen, point.position, radius, color);
        }
    }
    let of_particles = attachments.iter().map(|held| drawn.point(held.particle, held.point));
    for at in of_particles.chain(surfaces.iter().map(|held| surface_point(held, &drawn))).flatten()
    {
        dots.draw(&mut pen, at, 3.0 * radius, held_color);
    }
}

/// Where the point of a surface that is held is drawn (m, world).
fn surface_point(held: &SurfaceAttachment, drawn: &Drawn) -> Option<Vec3> {
    let (mut sum, mut weights) = (Vec3::ZERO, 0.0);
    for part in &held.parts {
        let arm = drawn.rotation(part.particle).map_or(part.point, |turn| turn * part.point);
        sum += part.weight * (drawn.points.get(part.particle)? + arm);
        weights += part.weight;
    }
    let at = sum / weights;
    at.is_finite().then_some(at)
}
