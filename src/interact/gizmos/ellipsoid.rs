//! Oriented particles as ellipsoids.
//!
//! ```text
//!     ___          ___
//!   ╱     ╲      ╱ ╷ ╲       in the plane one ellipse; in space one in each plane of two semi-axes
//!  (       )    (──┼──)
//!   ╲ ___ ╱      ╲ ╵ ╱
//! ```

use super::{
    pen::{Circle, Pen},
    plugin::ViewGroup,
    points::Points,
};
use crate::particle::{OrientedParticle, ParticleOf, Planar};
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

impl ViewGroup for EllipsoidGizmos {
    // Bones are inside of what they move.
    const DEPTH_BIAS: f32 = -1.0;
    const WIDTH: f32 = 1.5;
}

type Ellipsoid =
    (Entity, &'static OrientedParticle, &'static Transform, Option<&'static ParticleOf>);

/// Draws ellipsoids.
pub(super) fn draw_ellipsoids(
    particles: Query<Ellipsoid>,
    planar: Query<(), With<Planar>>,
    points: Res<Points>,
    mut gizmos: Gizmos<EllipsoidGizmos>,
) {
    let color = gizmos.config_ext.color.to_linear();
    let circle = Circle::new(gizmos.config_ext.resolution);
    let mut pen = Pen::new(&mut gizmos);
    for (entity, oriented, transform, body) in &particles {
        let Some(at) = points.get(entity) else { continue };
        let radii = oriented.radii.map(|r| if r.is_finite() { r.max(0.0) } else { 0.0 });
        if !transform.rotation.is_finite() {
            continue;
        }
        let [x, y, z] = [Vec3::X, Vec3::Y, Vec3::Z].map(|axis| transform.rotation * (radii * axis));
        pen.ring(at, [x, y], &circle, color);
        if !body.is_some_and(|body| planar.contains(body.0)) {
            pen.ring(at, [y, z], &circle, color);
            pen.ring(at, [z, x], &circle, color);
        }
    }
}
