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
        app.insert_gizmo_config(ConstraintGizmos::default(), off())
            .insert_gizmo_config(ParticleGizmos::default(), off())
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

/// Distance constraints as lines.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct ConstraintGizmos {
    /// Colour of the lines. Default: dark grey.
    pub color: Color,
}

impl Default for ConstraintGizmos {
    fn default() -> Self {
        Self { color: Color::srgb_u8(0x66, 0x66, 0x66) }
    }
}

/// Particles as dots.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct ParticleGizmos {
    /// Radius of a dot (m). Default: 0.025.
    pub radius: f32,
    /// Colour of a dot. Default: blue.
    pub color: Color,
    /// Colour of particles that an attachment holds, drawn three times as large. Default: red.
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

/// The world's x axis in red, y in green and z in blue, a metre long.
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
