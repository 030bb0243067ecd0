//! What the solver did, and how long each stage of the last tick took; as a resource, and as entries of
//! Bevy's `DiagnosticsStore`.

use super::{settings::SolverClock, view::SolverView};
use bevy::{
    diagnostic::{Diagnostic, DiagnosticPath, Diagnostics, DiagnosticsStore, RegisterDiagnostic},
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
    /// Blending the drawn pose; once a frame.
    Interpolate,
    /// What draws the bodies; once a frame, whatever else runs meanwhile.
    Skin,
}

impl Stage {
    /// All stages, in the order of a tick.
    pub const ALL: [Self; 12] = [
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
        Self::Interpolate,
        Self::Skin,
    ];

    /// Its name, as in the path of its diagnostic.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Compile => "compile",
            Self::SampleTargets => "sample_targets",
            Self::Gather => "gather",
            Self::Predict => "predict",
            Self::Project => "project",
            Self::Contacts => "contacts",
            Self::Velocities => "velocities",
            Self::Sleep => "sleep",
            Self::WriteBack => "write_back",
            Self::Interpolate => "interpolate",
            Self::Skin => "skin",
        }
    }

    /// Whether it runs once a frame rather than in each tick.
    const fn of_frames(self) -> bool {
        matches!(self, Self::Interpolate | Self::Skin)
    }
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
    /// Bodies.
    pub bodies: usize,
    /// Bodies of which an island was simulated.
    pub awake_bodies: usize,
    /// Time of the whole tick.
    pub tick: Duration,
    /// Time of the whole tick, smoothed over about half a second (ms).
    pub smooth_tick_ms: f32,
    /// Whether projection is timed by type of constraint. It costs a reading of the clock per type, island
    /// and iteration. Default: false.
    pub detailed: bool,
    pub(crate) project_times: Vec<(&'static str, Duration)>,
    stages: [Duration; Stage::ALL.len()],
}

impl SolverDiagnostics {
    /// Time that a stage took in the last tick, over all threads.
    pub fn stage(&self, stage: Stage) -> Duration {
        self.stages[stage as usize]
    }

    /// Time that each type of constraint took in the last tick, over all threads, in the order in which they
    /// are projected; empty unless [`detailed`](Self::detailed).
    pub fn project_times(&self) -> &[(&'static str, Duration)] {
        &self.project_times
    }

    pub(crate) fn begin_tick(&mut self) {
        for stage in Stage::ALL.into_iter().filter(|stage| !stage.of_frames()) {
            self.stages[stage as usize] = Duration::ZERO;
        }
    }

    /// Sets the time of a stage that runs once a frame.
    pub(crate) fn set(&mut self, stage: Stage, time: Duration) {
        self.stages[stage as usize] = time;
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

/// Tells Bevy's `DiagnosticsStore` what the solver did, once in each frame in which a tick ran: for
/// `LogDiagnosticsPlugin`, overlays and plots. Its one system, `measure`, runs in `Last`.
///
/// | path | unit |
/// |---|---|
/// | `pliant/tick` | ms |
/// | `pliant/<stage>`, see [`Stage::name`] | ms |
/// | `pliant/project/<type of constraint>`, while [`SolverDiagnostics::detailed`] | ms |
/// | `pliant/particles`, `pliant/constraints`, `pliant/contact_count`, `pliant/islands`, `pliant/awake_bodies` | |
/// | `pliant/worst_stretch` | length over rest length |
#[derive(Clone, Copy, Debug, Default)]
pub struct PliantDiagnosticsPlugin;

impl PliantDiagnosticsPlugin {
    /// Time of a whole tick (ms).
    pub const TICK: DiagnosticPath = DiagnosticPath::const_new("pliant/tick");
    /// Particles.
    pub const PARTICLES: DiagnosticPath = DiagnosticPath::const_new("pliant/particles");
    /// Constraints.
    pub const CONSTRAINTS: DiagnosticPath = DiagnosticPath::const_new("pliant/constraints");
    /// Contacts in the last substep, with obstacles and between particles.
    pub const CONTACTS: DiagnosticPath = DiagnosticPath::const_new("pliant/contact_count");
    /// Islands.
    pub const ISLANDS: DiagnosticPath = DiagnosticPath::const_new("pliant/islands");
    /// Bodies that are simulated.
    pub const AWAKE_BODIES: DiagnosticPath = DiagnosticPath::const_new("pliant/awake_bodies");
    /// The largest length of a distance constraint over its rest length.
    pub const WORST_STRETCH: DiagnosticPath = DiagnosticPath::const_new("pliant/worst_stretch");

    /// Frames that are remembered.
    pub const HISTORY: usize = 1024;

    /// Time of a stage (ms).
    pub fn stage(stage: Stage) -> DiagnosticPath {
        DiagnosticPath::new(format!("pliant/{}", stage.name()))
    }

    /// Time of the projection of one type of constraint (ms); there is an entry for it once it was measured.
    pub fn project(constraint: &str) -> DiagnosticPath {
        DiagnosticPath::new(format!("pliant/project/{constraint}"))
    }
}

/// The paths of the stages, made once.
#[derive(Resource)]
struct StagePaths([DiagnosticPath; Stage::ALL.len()]);

impl Plugin for PliantDiagnosticsPlugin {
    fn build(&self, app: &mut App) {
        let stages = Stage::ALL.map(Self::stage);
        let entry = |path: &DiagnosticPath| {
            Diagnostic::new(path.clone()).with_max_history_length(Self::HISTORY)
        };
        for path in stages.iter().chain([&Self::TICK]) {
            app.register_diagnostic(entry(path).with_suffix("ms"));
        }
        for path in [
            Self::PARTICLES,
            Self::CONSTRAINTS,
            Self::CONTACTS,
            Self::ISLANDS,
            Self::AWAKE_BODIES,
            Self::WORST_STRETCH,
        ] {
            app.register_diagnostic(entry(&path));
        }
        app.insert_resource(StagePaths(stages))
            .add_systems(Last, (register_types_of_constraints, measure).chain());
    }
}

fn ms(time: Duration) -> f64 {
    1e3 * time.as_secs_f64()
}

/// Makes entries for types of constraints that are timed for the first time.
fn register_types_of_constraints(
    diagnostics: Res<SolverDiagnostics>,
    store: Option<ResMut<DiagnosticsStore>>,
) {
    let Some(mut store) = store else { return };
    for (name, _) in diagnostics.project_times() {
        let path = PliantDiagnosticsPlugin::project(name);
        if store.get(&path).is_none() {
            let history = PliantDiagnosticsPlugin::HISTORY;
            store.add(Diagnostic::new(path).with_suffix("ms").with_max_history_length(history));
        }
    }
}

/// Adds the measurements of this frame, if a tick ran in it.
fn measure(
    diagnostics: Res<SolverDiagnostics>,
    clock: Res<SolverClock>,
    paths: Res<StagePaths>,
    view: SolverView,
    mut store: Diagnostics,
    mut last: Local<u64>,
) {
    if core::mem::replace(&mut *last, clock.ticks) == clock.ticks {
        return;
    }
    type Own = PliantDiagnosticsPlugin;
    let d = &*diagnostics;
    store.add_measurement(&Own::TICK, || ms(d.tick));
    for (stage, path) in Stage::ALL.into_iter().zip(&paths.0) {
        store.add_measurement(path, || ms(d.stage(stage)));
    }
    for (name, time) in d.project_times() {
        store.add_measurement(&Own::project(name), || ms(*time));
    }
    store.add_measurement(&Own::PARTICLES, || d.particles as f64);
    store.add_measurement(&Own::CONSTRAINTS, || d.constraints as f64);
    store.add_measurement(&Own::CONTACTS, || (d.contacts + d.soft_contacts) as f64);
    store.add_measurement(&Own::ISLANDS, || d.islands as f64);
    store.add_measurement(&Own::AWAKE_BODIES, || d.awake_bodies as f64);
    store.add_measurement(&Own::WORST_STRETCH, || f64::from(view.worst_stretch()));
}
