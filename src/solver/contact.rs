//! Contacts between particles and obstacles: C = n·x − level − r ≥ 0, with Coulomb friction.
//!
//! A substep corrects the approach of that substep in full, and overlap that was there before at most
//! at 3 m/s: so a particle that starts inside is pushed out, not shot out. In the velocity pass a
//! contact's normal speed becomes −e times the approach speed, or no more than it was, and friction
//! acts on the tangential velocity relative to the surface.

use super::{
    diagnostics::{SolverDiagnostics, Stage},
    mirror::{IslandView, Mirror, MirrorObstacle},
    settings::{SolverSettings, StepTime},
    soft_contact,
    tasks::for_each_island,
    velocity::Momentum,
};
use crate::obstacle::Surface;
use bevy::{
    math::{DVec3, Vec4},
    prelude::*,
};

/// Greatest speed at which overlap that was there before a substep is corrected (m/s).
const MAX_DEPENETRATION_SPEED: f32 = 3.0;

/// What an island's particles touched in this substep.
#[derive(Default)]
pub(crate) struct IslandContacts {
    /// Normal correction (m) by obstacle, then particle.
    corrections: Vec<f32>,
    /// Whether any correction is above 0.
    pub touching: bool,
    /// Contacts of the last substep.
    pub count: usize,
    /// Momentum after prediction, where it is to be given back.
    pub momentum: Option<Momentum>,
}

impl IslandContacts {
    pub fn begin_substep(&mut self, obstacles: usize, slots: usize) {
        if self.touching || self.corrections.len() != obstacles * slots {
            self.corrections.clear();
            self.corrections.resize(obstacles * slots, 0.0);
        }
        self.touching = false;
        self.count = 0;
    }
}

/// An obstacle's surface at the start and at the end of a substep.
struct SweptSurface {
    before: Surface,
    now: Surface,
}

fn swept(obstacle: &MirrorObstacle, sweep: [f32; 2], origin: DVec3) -> Option<SweptSurface> {
    let [before, now] =
        sweep.map(|t| obstacle.obstacle.shape.surface(&obstacle.motion.at(t), origin));
    Some(SweptSurface { before: before?, now: now? })
}

/// Pushes particles out of obstacles.
pub(super) fn contacts(
    mut mirror: ResMut<Mirror>,
    settings: Res<SolverSettings>,
    time: Res<StepTime>,
    mut diagnostics: ResMut<SolverDiagnostics>,
) {
    let started = SolverDiagnostics::start();
    let allowance = allowance(&settings, &time);
    soft_contact::project(&mut mirror, settings.max_tasks, &time, allowance);
    if !mirror.obstacles.is_empty() {
        for_each_island(&mut mirror.awake(), settings.max_tasks, |view| {
            push_out(view, &time, allowance);
        });
    }
    diagnostics.stop(Stage::Contacts, started);
}

/// How much of the overlap that was there before a substep is undone in it (m).
pub(super) fn allowance(settings: &SolverSettings, time: &StepTime) -> f32 {
    MAX_DEPENETRATION_SPEED * settings.length_unit() * time.h
}

/// Pushes the particles of one island out of obstacles; `allowance` is how much of the overlap that was there before is undone (m).
pub(super) fn push_out(view: &mut IslandView<'_>, time: &StepTime, allowance: f32) {
    for (number, obstacle) in view.shared.obstacles.iter().enumerate() {
        let Some(surface) = swept(obstacle, time.sweep(), view.island.origin) else { continue };
        let normal = surface.now.normal.extend(0.0);
        let first = number * view.position.len();
        for i in 0..view.len() {
            let radius = view.shared.bodies[view.body[i] as usize].radius;
            let gap = normal.dot(view.position[i]) - surface.now.level - radius;
            if gap >= 0.0 || view.inverse_mass[i] == 0.0 {
                continue;
            }
            let old = view.old(time.h).get(i);
            let gap_before =
                surface.before.normal.extend(0.0).dot(old) - surface.before.level - radius;
            let least = (gap_before + allowance).min(0.0);
            let correction = least - gap;
            if correction > 0.0 {
                view.position[i] += correction * normal;
                view.contacts.corrections[first + i] += correction;
                view.contacts.touching = true;
                view.island.touched = true;
            }
        }
    }
}

/// Restitution and friction of the contacts of this substep, after velocities are updated.
///
/// `before` holds the velocities that positions were predicted with.
pub(super) fn contact_velocities(view: &mut IslandView<'_>, time: &StepTime, before: &[Vec4]) {
    if !view.contacts.touching {
        return;
    }
    for (number, obstacle) in view.shared.obstacles.iter().enumerate() {
        let Some(surface) = swept(obstacle, time.sweep(), view.island.origin) else { continue };
        let normal = surface.now.normal;
        let restitution = obstacle.obstacle.restitution;
        let restitution = if restitution.is_nan() { 0.0 } else { restitution.clamp(0.0, 1.0) };
        let first = number * view.position.len();
        for (i, before) in before.iter().enumerate().take(view.len()) {
            let correction = view.contacts.corrections[first + i];
            if correction <= 0.0 {
                continue;
            }
            view.contacts.count += 1;
            let moving = surface_velocity(obstacle, time, view.island.origin, view.position[i]);
            let relative = (view.velocity[i] + view.velocity_change[i]).truncate() - moving;
            let speed = relative.dot(normal);
            let speed_before = (before.truncate() - moving).dot(normal);
            let wanted = if speed_before < 0.0 {
                // A resting contact must not bounce off the gravity of one substep.
                let threshold = 2.0 * time.h * view.acceleration[i].truncate().length();
                if -speed_before > threshold { -restitution * speed_before } else { 0.0 }
            } else {
                speed.min(speed_before)
            };
            let tangential = relative - speed * normal;
            let friction = obstacle
                .obstacle
                .friction
                .combine(view.shared.bodies[view.body[i] as usize].friction);
            let (slowed, put_back) = friction.apply(tangential, correction, time.h);
            let change = (wanted - speed) * normal + slowed - tangential;
            view.velocity_change[i] += change.extend(0.0);
            view.position[i] += put_back.extend(0.0);
        }
    }
}

/// Velocity (m/s) of an obstacle's surface where a particle touches it.
fn surface_velocity(obstacle: &MirrorObstacle, time: &StepTime, origin: DVec3, x: Vec4) -> Vec3 {
    let motion = &obstacle.motion;
    if motion.start == motion.end || time.h <= 0.0 {
        return Vec3::ZERO;
    }
    let [then, now] = time.sweep().map(|t| motion.at(t));
    let world = origin + x.truncate().as_dvec3();
    let on_it = now.inverse_transform_point(world);
    ((now.transform_point(on_it) - then.transform_point(on_it)) / f64::from(time.h)).as_vec3()
}
