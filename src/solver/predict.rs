//! Predict: the start of a substep. The air's impulses, v += h a, x* = x + h v; held particles go where
//! they are held.

use super::{
    air::blow,
    diagnostics::{SolverDiagnostics, Stage},
    mirror::{IslandView, KinematicPath, Mirror},
    momentum::Momentum,
    settings::{SolverSettings, StepTime},
    soft_contact,
    tasks::for_each_island,
};
use crate::math::rotation::{about_z, free_motion, turned, turned_in_plane, vector_from_rotation};
use bevy::prelude::*;

/// Predicts positions and rotations from velocities.
pub(super) fn predict(
    mut mirror: ResMut<Mirror>,
    settings: Res<SolverSettings>,
    time: Res<StepTime>,
    mut diagnostics: ResMut<SolverDiagnostics>,
) {
    let started = SolverDiagnostics::start();
    for_each_island(&mut mirror.awake(), settings.max_tasks, |view| predict_island(view, &time));
    mirror.dynamics.iter_mut().for_each(|set| set.begin_substep());
    soft_contact::begin_substep_across(&mut mirror, &time);
    diagnostics.stop(Stage::Predict, started);
}

/// Predicts one island.
pub(super) fn predict_island(view: &mut IslandView<'_>, time: &StepTime) {
    let h = time.h;
    blow(view, time);
    keep_planes(view);
    let IslandView { position, predicted, velocity, velocity_change, acceleration, .. } = view;
    let arrays = position
        .iter_mut()
        .zip(predicted.iter_mut())
        .zip(velocity.iter().zip(velocity_change.iter_mut()))
        .zip(acceleration.iter());
    for (((x, predicted), (v, dv)), a) in arrays {
        *dv += h * *a;
        *x += h * (*v + *dv);
        *predicted = *x;
    }
    for oriented in view.oriented.iter_mut() {
        oriented.turn = Vec3::ZERO;
        if oriented.held {
            oriented.angular_velocity = Vec3::ZERO;
            continue;
        }
        if oriented.planar {
            let spin = oriented.angular_velocity.z;
            oriented.angular_velocity = Vec3::Z * spin;
            oriented.rotation = turned_in_plane(oriented.rotation, h * spin);
            continue;
        }
        let mut turn = h * oriented.angular_velocity;
        if !oriented.isotropic {
            let change;
            (change, turn) =
                free_motion(oriented.rotation, oriented.angular_velocity, oriented.inertia, h);
            oriented.angular_velocity += change;
        }
        oriented.rotation = turned(oriented.rotation, turn);
    }
    hold(view, time);
    let island = &mut *view.island;
    island.batches.iter_mut().flatten().for_each(|batch| batch.begin_substep(h));
    soft_contact::begin_substep_within(view, time);
    view.contacts.begin_substep();
    let restore = view.island.restore_momentum && !view.island.touched;
    view.contacts.momentum = restore.then(|| Momentum::of(view));
}

/// Particles of planar bodies have no speed out of their plane, whoever gave it to them.
fn keep_planes(view: &mut IslandView<'_>) {
    if !view.island.any_planar {
        return;
    }
    for i in 0..view.len() {
        if view.shared.bodies[view.body[i] as usize].planar {
            view.velocity_change[i].z = -view.velocity[i].z;
        }
    }
}

/// Puts held particles where they are in this substep; one that is held by an anchor turns with it. Where
/// others may touch them, they have the velocity that brings them there.
fn hold(view: &mut IslandView<'_>, time: &StepTime) {
    let [before, now] = time.sweep();
    let moving = view.island.soft.is_some() && time.h > 0.0;
    for held in view.kinematic {
        let place = |sweep: f32| match held.path {
            KinematicPath::Line { start, end } => {
                if start == end {
                    end
                } else {
                    start.lerp(end, sweep)
                }
            }
            KinematicPath::Anchor { target, offset } => {
                let pose = view.shared.targets[target as usize].at(sweep);
                (pose.transform_point(offset) - view.island.origin).as_vec3()
            }
        };
        let slot = held.slot as usize - view.island.slots.start;
        if let KinematicPath::Anchor { target, .. } = held.path
            && let Some(place) = view.oriented_of.get(slot)
            && let Some(oriented) = view.oriented.get_mut(*place as usize)
        {
            let motion = &view.shared.targets[target as usize];
            let turn = motion.at(now).rotation * motion.start.rotation.conjugate();
            oriented.rotation = (turn * oriented.previous_rotation).normalize();
            if oriented.planar {
                oriented.rotation = about_z(oriented.rotation);
            }
            let whole = motion.end.rotation * motion.start.rotation.conjugate();
            let spin = vector_from_rotation(whole) / time.tick;
            let spin = if spin.is_finite() { spin } else { Vec3::ZERO };
            oriented.angular_velocity = if oriented.planar { Vec3::Z * spin.z } else { spin };
        }
        view.position[slot] = place(now).extend(0.0);
        view.predicted[slot] = view.position[slot];
        if moving {
            let way = view.position[slot] - place(before).extend(0.0);
            view.velocity_change[slot] = way / time.h - view.velocity[slot];
        }
    }
}
