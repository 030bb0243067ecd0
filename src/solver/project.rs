//! Project: one sweep over all constraints. Compiled ones island by island, type by type; then the
//! dynamic ones, in order of creation.

use super::{
    diagnostics::{SolverDiagnostics, Stage},
    mirror::{IslandView, Mirror},
    settings::{SolverSettings, StepTime},
    tasks::for_each_island,
    types::ConstraintTypes,
};
use bevy::prelude::*;
use core::time::Duration;

/// Projects the compiled constraints of one island once.
pub(super) fn project_island(view: &mut IslandView<'_>, h: f32) {
    let mut batches = core::mem::take(&mut view.island.batches);
    if view.island.times.is_empty() {
        batches.iter_mut().flatten().for_each(|batch| batch.project(view, h));
    } else {
        for (index, batch) in batches.iter_mut().enumerate() {
            let Some(batch) = batch else { continue };
            let started = SolverDiagnostics::start();
            batch.project(view, h);
            view.island.times[index] += started.elapsed();
        }
    }
    view.island.batches = batches;
}

/// Projects every constraint once.
pub(super) fn project_constraints(
    mut mirror: ResMut<Mirror>,
    settings: Res<SolverSettings>,
    time: Res<StepTime>,
    mut diagnostics: ResMut<SolverDiagnostics>,
) {
    let started = SolverDiagnostics::start();
    for_each_island(&mut mirror.awake(), settings.max_tasks, |view| project_island(view, time.h));
    let mut sets = core::mem::take(&mut mirror.dynamics);
    for (index, set) in sets.iter_mut().enumerate() {
        let started = SolverDiagnostics::start();
        set.project(&mut mirror, &time);
        if let Some(total) = mirror.dynamic_times.get_mut(index) {
            *total += started.elapsed();
        }
    }
    mirror.dynamics = sets;
    diagnostics.stop(Stage::Project, started);
}

/// Starts or stops timing by type of constraint, for this tick.
pub(super) fn time_types(mirror: &mut Mirror, wanted: bool) {
    let Mirror { islands, dynamics, dynamic_times, .. } = mirror;
    let reset = |times: &mut Vec<Duration>, len: usize| {
        times.clear();
        times.resize(if wanted { len } else { 0 }, Duration::ZERO);
    };
    for island in islands {
        reset(&mut island.times, island.batches.len());
    }
    reset(dynamic_times, dynamics.len());
}

/// The time that each type took in this tick; empty where that was not wanted.
pub(super) fn times_by_type(
    mirror: &Mirror,
    types: &ConstraintTypes,
) -> Vec<(&'static str, Duration)> {
    if mirror.dynamic_times.is_empty() && mirror.islands.iter().all(|i| i.times.is_empty()) {
        return Vec::new();
    }
    let compiled = types.compiled.iter().enumerate().map(|(index, kind)| {
        (kind.name(), mirror.islands.iter().filter_map(|i| i.times.get(index)).sum())
    });
    let dynamic = types.dynamic.iter().zip(&mirror.dynamic_times);
    compiled.chain(dynamic.map(|(kind, time)| (kind.name(), *time))).collect()
}
