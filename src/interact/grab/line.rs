//! A line from what waits to where its pointer will pull it.

use super::{HeldBy, hold::By};
use crate::{
    constraint::SurfaceAttachment,
    particle::{OrientedParticle, Particle},
};
use bevy::{color::palettes::tailwind, prelude::*};

/// A line from what a pointer holds to where it pulls, while the solver rests and until what is held has
/// caught up. On by default.
#[derive(Default, Reflect, GizmoConfigGroup, Clone, Copy, Debug)]
pub struct GrabGizmos;

/// Marks apps that draw it.
#[derive(Resource)]
struct Drawing;

/// Draws it in apps that have Bevy's `GizmoPlugin`.
pub fn add(app: &mut App) {
    let can_draw = app.is_plugin_added::<bevy::gizmos::GizmoPlugin>();
    if !can_draw || app.world().contains_resource::<Drawing>() {
        return;
    }
    // Before what is in front of it.
    let config = GizmoConfig { depth_bias: -1.0, ..default() };
    app.insert_resource(Drawing)
        .register_type::<GrabGizmos>()
        .insert_gizmo_config(GrabGizmos, config)
        .add_systems(PostUpdate, show_pull);
}

fn show_pull(
    holds: Query<&HeldBy>,
    attachments: Query<&SurfaceAttachment>,
    particles: Query<(&Particle, Option<&OrientedParticle>)>,
    mut gizmos: Gizmos<GrabGizmos>,
) {
    for held in holds.iter().filter(|held| held.is_late()) {
        let from = match held.by {
            By::Pin => particles.get(held.particle).ok().map(|(particle, _)| particle.position),
            By::Attachment(attachment) => attachments.get(attachment).ok().and_then(|held| {
                let parts = held.parts.iter().map(|part| {
                    let (particle, turning) = particles.get(part.particle).ok()?;
                    let turn = turning.map_or(Quat::IDENTITY, |turning| turning.rotation);
                    Some(part.weight * (particle.position + turn * part.point))
                });
                parts.sum::<Option<Vec3>>()
            }),
        };
        if let Some(from) = from.filter(|from| from.is_finite() && held.target().is_finite()) {
            gizmos.line(from, held.target(), tailwind::AMBER_400);
        }
    }
}
