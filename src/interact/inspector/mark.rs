//! A box in the scene around the body that the pointer is on in the list.

use super::{Panel, theme};
use crate::{
    particle::{OrientedParticle, Particle, ParticleIndex, Particles},
    solver::DrawnPose,
};
use bevy::prelude::*;

/// The lines of that box.
#[derive(GizmoConfigGroup, Reflect, Clone, Copy, Debug, Default)]
#[reflect(Default)]
pub(super) struct MarkGizmos;

/// Makes the group of the box, and draws it.
pub(super) fn add_marks(app: &mut App) {
    let config = GizmoConfig { depth_bias: -1.0, ..default() };
    app.insert_gizmo_config(MarkGizmos, config).add_systems(Update, mark);
}

/// Draws the box, once for each frame in which the pointer was there.
fn mark(
    mut panel: ResMut<Panel>,
    bodies: Query<(&Particles, Option<&DrawnPose>)>,
    particles: Query<(&Particle, Option<&ParticleIndex>, Option<&OrientedParticle>)>,
    mut gizmos: Gizmos<MarkGizmos>,
) {
    if panel.marked.is_none() {
        return;
    }
    let Some((members, pose)) = panel.marked.take().and_then(|body| bodies.get(body).ok()) else {
        return;
    };
    let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for (particle, index, oriented) in particles.iter_many(members.iter()) {
        // In a plane the largest radius is all that there is to see.
        let reach =
            oriented.map_or(Vec3::ZERO, |o| o.radii.max_element() * Vec3::new(1.0, 1.0, 0.0));
        let drawn = pose.zip(index).and_then(|(p, i)| p.positions.get(i.0 as usize).copied());
        let at = drawn.unwrap_or(particle.position);
        if at.is_finite() && reach.is_finite() {
            low = low.min(at - reach);
            high = high.max(at + reach);
        }
    }
    if !(low.is_finite() && high.is_finite()) {
        return;
    }
    let [r, g, b, _] = theme::ACCENT.to_array();
    let color = Color::srgb_u8(r, g, b);
    let corner = |i: usize| {
        let pick = |bit: usize| if i >> bit & 1 == 1 { high[bit] } else { low[bit] };
        Vec3::new(pick(0), pick(1), pick(2))
    };
    for from in 0..8 {
        for bit in 0..3 {
            let to = from | 1 << bit;
            // Of flat bodies one side is enough.
            if to != from && corner(from) != corner(to) {
                gizmos.line(corner(from), corner(to), color);
            }
        }
    }
}
