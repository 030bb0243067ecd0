//! Velocities: the end of a substep. v += (x − x*)/h, then restored momentum, damping, contacts.
//!
//! x* is the predicted position: since x − x_old = (x − x*) + h v, this is the textbook update, but it
//! never differences world positions, which in f32 would lose gravity itself at small steps.

use super::{
    contact::{contact_velocities, note_approach},
    diagnostics::{SolverDiagnostics, Stage},
    mirror::{IslandView, Mirror},
    settings::{SolverSettings, StepTime},
    soft_contact,
    tasks::for_each_island,
};
use bevy::{math::Mat3, prelude::*};

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
    if let Some(momentum) = momentum
        && !view.island.touched
    {
        momentum.restore(view);
    }
    if kept_relative != 1.0 {
        damp_relative(view, kept_relative);
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

/// Linear and angular momentum of an island about its centre of mass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Momentum {
    /// Linear (kg m/s).
    linear: Vec3,
    /// Angular (kg m²/s).
    angular: Vec3,
}

/// Mass (kg), centre of mass (m) and inertia about it (kg m²).
struct Inertia {
    mass: f32,
    centre: Vec3,
    tensor: Mat3,
}

fn free(view: &IslandView<'_>) -> impl Iterator<Item = usize> + use<> {
    let held: Vec<bool> = view.inverse_mass.iter().map(|w| *w == 0.0).collect();
    (0..view.len()).filter(move |i| !held[*i])
}

fn inertia(view: &IslandView<'_>) -> Inertia {
    let (mut mass, mut weighted) = (0.0, Vec3::ZERO);
    for i in free(view) {
        mass += view.mass[i];
        weighted += view.mass[i] * view.position[i].truncate();
    }
    let centre = if mass > 0.0 { weighted / mass } else { Vec3::ZERO };
    let mut tensor = Mat3::ZERO;
    for i in free(view) {
        let r = view.position[i].truncate() - centre;
        let outer = Mat3::from_cols(r * r.x, r * r.y, r * r.z);
        tensor += (Mat3::from_diagonal(Vec3::splat(r.length_squared())) - outer) * view.mass[i];
    }
    let first = view.island.slots.start;
    for oriented in view.oriented.iter() {
        if view.inverse_mass[oriented.slot as usize - first] > 0.0 {
            let axes = Mat3::from_quat(oriented.rotation);
            tensor += axes * Mat3::from_diagonal(oriented.inertia) * axes.transpose();
        }
    }
    Inertia { mass, centre, tensor }
}

impl Momentum {
    /// Of the island as it is now.
    pub fn of(view: &IslandView<'_>) -> Self {
        let Inertia { centre, .. } = inertia(view);
        Self::about(view, centre)
    }

    fn about(view: &IslandView<'_>, centre: Vec3) -> Self {
        let (mut linear, mut angular) = (Vec3::ZERO, Vec3::ZERO);
        for i in free(view) {
            let p = view.mass[i] * (view.velocity[i] + view.velocity_change[i]).truncate();
            linear += p;
            angular += (view.position[i].truncate() - centre).cross(p);
        }
        let first = view.island.slots.start;
        for oriented in view.oriented.iter() {
            if view.inverse_mass[oriented.slot as usize - first] > 0.0 {
                let local = oriented.rotation.inverse() * oriented.angular_velocity;
                angular += oriented.rotation * (oriented.inertia * local);
            }
        }
        Self { linear, angular }
    }

    /// Gives back, as a rigid motion, what the island lost since `self`.
    fn restore(self, view: &mut IslandView<'_>) {
        let Inertia { mass, centre, tensor } = inertia(view);
        if mass <= 0.0 {
            return;
        }
        let now = Self::about(view, centre);
        let push = (self.linear - now.linear) / mass;
        let spin = solve(tensor, self.angular - now.angular);
        if !(push.is_finite() && spin.is_finite()) {
            return;
        }
        for i in free(view) {
            let r = view.position[i].truncate() - centre;
            view.velocity_change[i] += (push + spin.cross(r)).extend(0.0);
        }
        let first = view.island.slots.start;
        for oriented in view.oriented.iter_mut() {
            if view.inverse_mass[oriented.slot as usize - first] > 0.0 {
                oriented.angular_velocity += spin;
            }
        }
    }
}

/// Keeps a part of the velocity relative to the island's rigid motion: linear and angular momentum stay.
fn damp_relative(view: &mut IslandView<'_>, kept: f32) {
    let Inertia { mass, centre, tensor } = inertia(view);
    if mass <= 0.0 {
        return;
    }
    let Momentum { linear, angular } = Momentum::about(view, centre);
    let (velocity, spin) = (linear / mass, solve(tensor, angular));
    for i in free(view) {
        let r = view.position[i].truncate() - centre;
        let own = (view.velocity[i] + view.velocity_change[i]).truncate();
        let relative = own - velocity - spin.cross(r);
        view.velocity_change[i] += ((kept - 1.0) * relative).extend(0.0);
    }
    for oriented in view.oriented.iter_mut().filter(|o| !o.held) {
        oriented.angular_velocity += (kept - 1.0) * (oriented.angular_velocity - spin);
    }
}

/// `tensor`⁻¹ `v`, regularised where the tensor has no inverse (particles on a line, say).
fn solve(tensor: Mat3, v: Vec3) -> Vec3 {
    let trace = tensor.x_axis.x + tensor.y_axis.y + tensor.z_axis.z;
    if trace <= 0.0 {
        return Vec3::ZERO;
    }
    let regular = tensor + Mat3::from_diagonal(Vec3::splat(1e-6 * trace));
    let solution = regular.inverse() * v;
    if solution.is_finite() { solution } else { Vec3::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_particles_spins_about_other_axes_only() {
        let rod = Mat3::from_diagonal(Vec3::new(0.0, 2.0, 2.0));
        let spin = solve(rod, Vec3::new(0.0, 2.0, 4.0));
        assert!(spin.distance(Vec3::new(0.0, 1.0, 2.0)) < 1e-4);
        assert_eq!(solve(Mat3::ZERO, Vec3::ONE), Vec3::ZERO);
    }
}
