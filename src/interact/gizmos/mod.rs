//! Lines and dots: the particles and constraints as the solver sees them.
//!
//! Each view is a gizmo configuration group, off until it is turned on:
//!
//! ```
//! # use bevy::prelude::*;
//! # use bevy_pliant::interact::ConstraintGizmos;
//! fn show_lines(mut store: ResMut<GizmoConfigStore>) {
//!     store.config_mut::<ConstraintGizmos>().0.enabled = true;
//! }
//! ```

mod axis;
mod color;
mod constraint;
mod contact;
mod ellipsoid;
mod group;
mod island;
mod particle;
mod sleep;
mod strain;
mod surface;
mod velocity;
mod view;

pub use axis::AxisGizmos;
pub use color::ColorGizmos;
pub use constraint::ConstraintGizmos;
pub use contact::ContactGizmos;
pub use ellipsoid::EllipsoidGizmos;
pub use group::GroupGizmos;
pub use island::IslandGizmos;
pub use particle::ParticleGizmos;
pub use sleep::SleepGizmos;
pub use strain::StrainGizmos;
pub use surface::SurfaceGizmos;
pub use velocity::VelocityGizmos;
pub use view::{VIEWS, View};

use crate::{
    constraint::{Attachment, DistanceConstraint},
    particle::{Particle, ParticleIndex, ParticleOf},
    solver::{DrawnPose, PliantSystems},
};
use bevy::{ecs::system::SystemParam, prelude::*};

/// Draws the views. Systems in run order, in `PostUpdate`: `draw_constraints`, `draw_particles`,
/// `draw_axes`.
#[derive(Clone, Copy, Debug, Default)]
pub struct GizmoPlugin;

impl Plugin for GizmoPlugin {
    fn build(&self, app: &mut App) {
        // Without Bevy's GizmoPlugin there is nothing to draw with.
        if !app.is_plugin_added::<bevy::gizmos::GizmoPlugin>() {
            return;
        }
        let off = || GizmoConfig { enabled: false, ..default() };
        app.insert_gizmo_config(SurfaceGizmos::default(), off())
            .insert_gizmo_config(ConstraintGizmos::default(), off())
            .insert_gizmo_config(ParticleGizmos::default(), off())
            .insert_gizmo_config(EllipsoidGizmos::default(), off())
            .insert_gizmo_config(GroupGizmos::default(), off())
            .insert_gizmo_config(StrainGizmos::default(), off())
            .insert_gizmo_config(ContactGizmos::default(), off())
            .insert_gizmo_config(IslandGizmos::default(), off())
            .insert_gizmo_config(ColorGizmos::default(), off())
            .insert_gizmo_config(VelocityGizmos::default(), off())
            .insert_gizmo_config(SleepGizmos::default(), off())
            .insert_gizmo_config(AxisGizmos::default(), off())
            .add_systems(
                PostUpdate,
                (
                    draw_constraints.run_if(is_on::<ConstraintGizmos>),
                    draw_particles.run_if(is_on::<ParticleGizmos>),
                    draw_axes.run_if(is_on::<AxisGizmos>),
                )
                    .chain()
                    .after(PliantSystems::PlacePins)
                    .after(TransformSystems::Propagate),
            );
    }
}

fn is_on<G: GizmoConfigGroup>(store: Res<GizmoConfigStore>) -> bool {
    store.config::<G>().0.enabled
}

/// Where particles are drawn.
#[derive(SystemParam)]
struct DrawnParticles<'w, 's> {
    particles: Query<
        'w,
        's,
        (Entity, &'static Particle, Option<&'static ParticleOf>, Option<&'static ParticleIndex>),
    >,
    bodies: Query<'w, 's, &'static DrawnPose>,
}

impl DrawnParticles<'_, '_> {
    fn position(&self, entity: Entity) -> Option<Vec3> {
        let (_, particle, body, index) = self.particles.get(entity).ok()?;
        let drawn = body.zip(index).and_then(|(body, index)| {
            self.bodies.get(body.0).ok()?.positions.get(index.0 as usize).copied()
        });
        Some(drawn.unwrap_or(particle.position))
    }
}

fn draw_constraints(
    constraints: Query<&DistanceConstraint>,
    particles: DrawnParticles,
    mut gizmos: Gizmos<ConstraintGizmos>,
) {
    let color = gizmos.config_ext.color;
    for constraint in &constraints {
        if let [Some(a), Some(b)] = constraint.particles.map(|p| particles.position(p)) {
            gizmos.line(a, b, color);
        }
    }
}

fn draw_particles(
    particles: DrawnParticles,
    attachments: Query<&Attachment>,
    cameras: Query<(&Camera, &GlobalTransform)>,
    mut gizmos: Gizmos<ParticleGizmos>,
) {
    let ParticleGizmos { radius, color, held_color } = gizmos.config_ext.clone();
    let facing = cameras
        .iter()
        .find(|(camera, _)| camera.is_active)
        .map_or(Quat::IDENTITY, |(_, view)| view.rotation());
    let held: Vec<Entity> = attachments.iter().map(|a| a.particle).collect();
    let mut dot = |position: Vec3, radius: f32, color: Color| {
        // Two rings a line apart look filled.
        for part in [1.0, 0.5] {
            let isometry = Isometry3d::new(position, facing);
            gizmos.circle(isometry, part * radius, color).resolution(8);
        }
    };
    for (entity, ..) in &particles.particles {
        let Some(position) = particles.position(entity) else { continue };
        if !held.contains(&entity) {
            dot(position, radius, color);
        }
    }
    for position in held.into_iter().filter_map(|entity| particles.position(entity)) {
        dot(position, 3.0 * radius, held_color);
    }
}

fn draw_axes(mut gizmos: Gizmos<AxisGizmos>) {
    let length = gizmos.config_ext.length;
    gizmos.line(Vec3::ZERO, Vec3::X * length, Color::srgb(1.0, 0.0, 0.0));
    gizmos.line(Vec3::ZERO, Vec3::Y * length, Color::srgb(0.0, 1.0, 0.0));
    gizmos.line(Vec3::ZERO, Vec3::Z * length, Color::srgb(0.0, 0.0, 1.0));
}
