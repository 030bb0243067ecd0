//! Predict: the start of a substep. v += h a, x* = x + h v; held particles go where they are held.

use super::{
    diagnostics::{SolverDiagnostics, Stage},
    mirror::{Activity, IslandView, KinematicPath, Mirror},
    settings::{SolverSettings, StepTime},
    tasks::for_each_island,
    velocity::Momentum,
};
use crate::math::rotation::{free_motion, turned};
use bevy::prelude::*;

/// Predicts positions and rotations from velocities.
pub(super) fn predict(
    mut mirror: ResMut<Mirror>,
    settings: Res<SolverSettings>,
    time: Res<StepTime>,
    mut diagnostics: ResMut<SolverDiagnostics>,
) {
    let started = SolverDiagnostics::start();
    let h = time.h;
    for_each_island(&mut mirror.awake(), settings.max_tasks, |view| predict_island(view, h));
    hold(&mut mirror, time.sweep());
    mirror.dynamics.iter_mut().for_each(|set| set.begin_substep());
    diagnostics.stop(Stage::Predict, started);
}

fn predict_island(view: &mut IslandView<'_>, h: f32) {
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
            oriented.angular_velocity = Vec3::Z * oriented.angular_velocity.z;
        }
        let (change, turn) =
            free_motion(oriented.rotation, oriented.angular_velocity, oriented.inertia, h);
        oriented.angular_velocity += change;
        oriented.rotation = turned(oriented.rotation, turn);
    }
    let island = &mut *view.island;
    island.batches.iter_mut().flatten().for_each(|batch| batch.begin_substep(h));
    view.contacts.begin_substep(view.shared.obstacles.len(), view.position.len());
    let restore = view.island.restore_momentum && !view.island.touched;
    view.contacts.momentum = restore.then(|| Momentum::of(view));
}

/// Puts held particles where they are in this substep.
fn hold(mirror: &mut Mirror, sweep: [f32; 2]) {
    let Mirror { kinematic, targets, position, predicted, islands, island_of, .. } = mirror;
    for held in kinematic.iter() {
        let slot = held.slot as usize;
        let island = &islands[island_of[slot] as usize];
        if island.activity != Activity::Awake {
            continue;
        }
        let place = match held.path {
            KinematicPath::Line { start, end } => {
                if start == end {
                    end
                } else {
                    start.lerp(end, sweep[1])
                }
            }
            KinematicPath::Anchor { target, offset } => {
                let pose = targets[target as usize].at(sweep[1]);
                (pose.transform_point(offset) - island.origin).as_vec3()
            }
        };
        position[slot] = place.extend(0.0);
        predicted[slot] = position[slot];
    }
}
