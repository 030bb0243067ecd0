//! Carry: islands that nothing joins to others go through a whole tick in one scope.
//!
//! Opening a scope three times a substep costs more than a small island's work. An island on which no
//! dynamic constraint acts depends on nothing but itself between gathering and write-back, so it may
//! run through all substeps on its own, with the same steps in the same order, and the same bits. Not
//! where a user has added systems to the inner schedules: those want to see every substep.

use super::{
    contact::{allowance, push_out},
    diagnostics::{SolverDiagnostics, Stage},
    mirror::{IslandView, Mirror},
    predict::predict_island,
    project::project_island,
    schedule::{ProjectionSchedule, SubstepSchedule},
    settings::{SolverSettings, StepTime},
    soft_contact,
    tasks::for_each_island,
    velocity::update_island,
};
use bevy::{platform::time::Instant, prelude::*};
use core::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Systems of this crate in [`SubstepSchedule`] and [`ProjectionSchedule`].
const OWN_SYSTEMS: [usize; 2] = [3, 2];

/// Nanoseconds that the carried islands took, by stage, over all threads.
#[derive(Default)]
struct Times([AtomicU64; 4]);

/// The stages of a substep, as [`Times`] counts them.
const STAGES: [Stage; 4] = [Stage::Predict, Stage::Project, Stage::Contacts, Stage::Velocities];

/// Carries through this tick what can be; whether anything is left for the schedules.
pub(super) fn carry(world: &mut World) -> bool {
    let only_ours = world.resource_scope(|_, schedules: Mut<Schedules>| {
        let systems = |schedule: Option<&Schedule>| schedule.map_or(0, Schedule::systems_len);
        [systems(schedules.get(SubstepSchedule)), systems(schedules.get(ProjectionSchedule))]
            == OWN_SYSTEMS
    });
    if !only_ours {
        return true;
    }
    let settings = world.resource::<SolverSettings>().clone();
    let time = *world.resource::<StepTime>();
    let times = Times::default();
    let mut mirror = world.resource_mut::<Mirror>();
    let mut views = mirror.awake();
    let all = views.len();
    views.retain(|view| !view.island.joined);
    let carried = views.len();
    for_each_island(&mut views, settings.max_tasks, |view| {
        carry_island(view, &settings, time, &times);
        view.island.carried = true;
    });
    let mut diagnostics = world.resource_mut::<SolverDiagnostics>();
    for (stage, time) in STAGES.into_iter().zip(times.0) {
        diagnostics.add(stage, Duration::from_nanos(time.into_inner()));
    }
    carried < all
}

fn carry_island(
    view: &mut IslandView<'_>,
    settings: &SolverSettings,
    mut time: StepTime,
    times: &Times,
) {
    let allowance = allowance(settings, &time);
    let mut spent = [Duration::ZERO; 4];
    let mut last = Instant::now();
    let mut stop = |stage: usize| {
        let now = Instant::now();
        spent[stage] += now - last;
        last = now;
    };
    for substep in 0..time.substeps {
        time.substep = substep;
        predict_island(view, &time);
        stop(0);
        for iteration in 0..settings.iterations() {
            time.iteration = iteration;
            project_island(view, time.h);
            stop(1);
            soft_contact::project_within(view, &time, allowance);
            push_out(view, &time, allowance);
            stop(2);
        }
        update_island(view, &time);
        soft_contact::velocities_within(view, &time);
        stop(3);
    }
    for (total, spent) in times.0.iter().zip(spent) {
        total.fetch_add(spent.as_nanos() as u64, Ordering::Relaxed);
    }
}
