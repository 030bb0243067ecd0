//! Project: one sweep over all constraints. Compiled ones island by island, type by type; then the
//! dynamic ones, in order of creation.

use super::{
    diagnostics::{SolverDiagnostics, Stage},
    mirror::Mirror,
    settings::{SolverSettings, StepTime},
    tasks::for_each_island,
};
use bevy::prelude::*;

/// Projects every constraint once.
pub(super) fn project_constraints(
    mut mirror: ResMut<Mirror>,
    settings: Res<SolverSettings>,
    time: Res<StepTime>,
    mut diagnostics: ResMut<SolverDiagnostics>,
) {
    let started = SolverDiagnostics::start();
    for_each_island(&mut mirror.awake(), settings.max_tasks, |view| {
        let mut batches = core::mem::take(&mut view.island.batches);
        batches.iter_mut().flatten().for_each(|batch| batch.project(view, time.h));
        view.island.batches = batches;
    });
    let mut sets = core::mem::take(&mut mirror.dynamics);
    sets.iter_mut().for_each(|set| set.project(&mut mirror, &time));
    mirror.dynamics = sets;
    diagnostics.stop(Stage::Project, started);
}
