//! Velocities: the end of a substep. v += (x − x*)/h, then restored momentum, damping, contacts.
//!
//! x* is the predicted position: since x − x_old = (x − x*) + h v, this is the textbook update, but it
//! never differences world positions, which in f32 would lose gravity itself at small steps.

use super::{
    contact::{contact_velocities, note_approach},
    diagnostics::{SolverDiagnostics, Stage},
    mirror::{IslandView, Mirror},
    momentum::{Momentum, restore_and_damp},
    settings::{SolverSettings, StepTime},
    soft_contact,
    tasks::for_each_island,
};
use bevy::prelude::*;

/// Updates velocities from what projection moved.
pub(super) fn update_velocities(
    mut mirror: ResMut<Mirror>,
    settings: Res<SolverSettings>,
    time: Res<StepTime>,
    mut diagnostics: ResMut<SolverDiagnostics>,
) {
    let started = SolverDiagnostics::start();
    for_each_island(&mut mirror.awake(), settings.max_tasks, |view| {
        update_island(view, &time);
        soft_contact::velocities_within(view, &time);
    });
    soft_contact::velocities_across(&mut mirror, &time);
    diagnostics.stop(Stage::Velocities, started);
}

/// Updates the velocities of one island.
pub(super) fn update_island(view: &mut IslandView<'_>, time: &StepTime) {
    let per_second = time.h.recip();
    if view.island.any_planar {
        flatten(view);
    }
    for oriented in view.oriented.iter_mut().filter(|o| !o.held) {
        oriented.angular_velocity += per_second * oriented.turn;
    }
    let momentum = view.contacts.momentum.take();
    let kept_relative = view.island.relative_damping;
    if view.contacts.touching() {
        note_approach(view, time);
    }
    if momentum.is_none() && kept_relative == 1.0 {
        update_and_damp(view, per_second);
    } else {
        update_turning(view, per_second, momentum, kept_relative);
    }
    if view.contacts.touching() {
        contact_velocities(view, time);
    }
}

/// Velocities of an island that keeps its momentum, or is damped relative to its rigid motion.
fn update_turning(
    view: &mut IslandView<'_>,
    per_second: f32,
    momentum: Option<Momentum>,
    kept_relative: f32,
) {
    for i in 0..view.len() {
        view.velocity_change[i] += per_second * (view.position[i] - view.predicted[i]);
    }
    let lost = momentum.filter(|_| !view.island.touched);
    if lost.is_some() || kept_relative != 1.0 {
        restore_and_damp(view, lost, kept_relative);
    }
    for i in 0..view.len() {
        let v = view.velocity[i] + view.velocity_change[i];
        view.velocity_change[i] += (view.damping[i] - 1.0) * v;
    }
}

/// The common case, in one pass over memory.
fn update_and_damp(view: &mut IslandView<'_>, per_second: f32) {
    let IslandView { position, predicted, velocity, velocity_change, damping, .. } = view;
    let arrays = position
        .iter()
        .zip(predicted.iter())
        .zip(velocity.iter().zip(velocity_change.iter_mut()))
        .zip(damping.iter());
    for (((x, predicted), (v, change)), kept) in arrays {
        let updated = *change + per_second * (*x - *predicted);
        *change = updated + (*kept - 1.0) * (*v + updated);
    }
}

/// Keeps particles of planar bodies at their z.
fn flatten(view: &mut IslandView<'_>) {
    for i in 0..view.len() {
        if view.shared.bodies[view.body[i] as usize].planar {
            let v = view.velocity[i].z + view.velocity_change[i].z;
            view.velocity_change[i].z -= v;
            if view.inverse_mass[i] > 0.0 {
                view.position[i].z = view.predicted[i].z;
            }
        }
    }
    for oriented in view.oriented.iter_mut().filter(|o| o.planar) {
        oriented.turn = Vec3::Z * oriented.turn.z;
        oriented.angular_velocity = Vec3::Z * oriented.angular_velocity.z;
    }
}
