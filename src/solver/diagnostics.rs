//! What the solver did, and how long each stage of the last tick took.

use bevy::{
    platform::{collections::HashMap, time::Instant},
    prelude::*,
};
use core::time::Duration;

/// A stage of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Recipes to particles and constraints.
    Build,
    /// Islands, colours, lanes.
    Compile,
    /// Poses of anchors and obstacles.
    SampleTargets,
    /// ECS to mirror.
    Gather,
    /// Prediction, over all substeps.
    Predict,
    /// Projection of constraints, over all iterations.
    Project,
    /// Contacts, over all iterations.
    Contacts,
    /// Velocities, over all substeps.
    Velocities,
    /// Wake groups, sleep and faults.
    Sleep,
    /// Mirror to ECS.
    WriteBack,
}

impl Stage {
    /// All stages, in the order of a tick.
    pub const ALL: [Self; 10] = [
        Self::Build,
        Self::Compile,
        Self::SampleTargets,
        Self::Gather,
        Self::Predict,
        Self::Project,
        Self::Contacts,
        Self::Velocities,
        Self::Sleep,
        Self::WriteBack,
    ];
}

/// Counts and times of the last tick.
#[derive(Resource, Clone, Debug, Default)]
pub struct SolverDiagnostics {
    /// Particles in the mirror.
    pub particles: usize,
    /// Live constraints, dynamic ones included.
    pub constraints: usize,
    /// Live constraints by type.
    pub constraints_by_type: HashMap<&'static str, usize>,
    /// Particle–obstacle contacts in the last substep.
    pub contacts: usize,
    /// Particle–particle contacts in the last substep.
    pub soft_contacts: usize,
    /// How often the structure has been compiled.
    pub compilations: u64,
    /// Islands.
    pub islands: usize,
    /// Islands that were simulated.
    pub awake_islands: usize,
    /// Time of the whole tick.
    pub tick: Duration,
    /// Time of the whole tick, smoothed over about half a second (ms).
    pub smooth_tick_ms: f32,
    stages: [Duration; Stage::ALL.len()],
}

impl SolverDiagnostics {
    /// Time that a stage took in the last tick, over all threads.
    pub fn stage(&self, stage: Stage) -> Duration {
        self.stages[stage as usize]
    }

    pub(crate) fn begin_tick(&mut self) {
        self.stages = Default::default();
    }

    pub(crate) fn start() -> Instant {
        Instant::now()
    }

    pub(crate) fn stop(&mut self, stage: Stage, started: Instant) {
        self.stages[stage as usize] += started.elapsed();
    }

    pub(crate) fn add(&mut self, stage: Stage, time: Duration) {
        self.stages[stage as usize] += time;
    }

    pub(crate) fn end_tick(&mut self, started: Instant) {
        self.tick = started.elapsed();
        let ms = self.tick.as_secs_f32() * 1e3;
        self.smooth_tick_ms =
            if self.smooth_tick_ms == 0.0 { ms } else { 0.97 * self.smooth_tick_ms + 0.03 * ms };
    }
}
