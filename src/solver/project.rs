//! Project: one sweep over all constraints. Compiled ones island by island, type by type; then the
//! dynamic ones, in order of creation.

use super::{
    diagnostics::{SolverDiagnostics, Stage},
    mirror::{IslandView, Mirror},
    settings::{SolverSettings, StepTime},
    tasks::for_each_island,
};
use bevy::prelude::*;

/// Projects the compiled constraints of one island once.
pub(super) fn project_island(view: &mut IslandView<'_>, h: f32) {
    let mut batches = core::mem::take(&mut view.island.batches);
    batches.iter_mut().flatten().for_each(|batch| batch.project(view, h));
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
    sets.iter_mut().for_each(|set| set.project(&mut mirror, &time));
    mirror.dynamics = sets;
    diagnostics.stop(Stage::Project, started);
}
