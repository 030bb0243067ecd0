//! The schedules of a tick, and what runs them.

use super::{
    diagnostics::SolverDiagnostics,
    settings::{SolverControl, SolverSettings, StepTime},
};
use bevy::{
    app::{FixedFirst, FixedLast, FixedPreUpdate},
    ecs::schedule::{InternedScheduleLabel, LogLevel, ScheduleBuildSettings, ScheduleLabel},
    prelude::*,
    time::TimeUpdateStrategy,
};

/// One tick. Run by this crate in the schedule that the user names.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
pub struct PliantSchedule;

/// One substep; run `SolverSettings::substeps` times a tick.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
pub struct SubstepSchedule;

/// One iteration; run `SolverSettings::iterations` times a substep.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProjectionSchedule;

/// Stages of [`PliantSchedule`], in order; and what runs outside of it, once a frame.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PliantSystems {
    /// Recipes become particles and constraints. Runs while paused too.
    Build,
    /// What changed in structure is compiled into islands, colours and lanes; bodies settle. Runs while
    /// paused too.
    Compile,
    /// Poses of anchors and obstacles are taken.
    SampleTargets,
    /// ECS to mirror.
    Gather,
    /// [`SubstepSchedule`], many times.
    Substeps,
    /// Faults are frozen; what lies still falls asleep.
    Sleep,
    /// Mirror to ECS.
    WriteBack,
    /// Before the fixed loop: poses that games write once a frame are sampled.
    SampleFrame,
    /// After the fixed loop: the drawn pose is blended.
    Interpolate,
    /// In `PostUpdate`, before transform propagation: pins are drawn where their anchors are.
    PlacePins,
    /// In `PostUpdate`, after transform propagation: what draws the bodies is updated.
    Skin,
}

/// Stages of [`SubstepSchedule`], in order.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubstepSystems {
    /// v += h a, x* = x + h v.
    Predict,
    /// [`ProjectionSchedule`], many times.
    Iterate,
    /// v += (x − x*)/h, then restitution, friction, damping.
    UpdateVelocities,
}

/// Stages of [`ProjectionSchedule`], in order.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProjectionSystems {
    /// Constraints are projected.
    ProjectConstraints,
    /// Particles are pushed out of obstacles.
    Contacts,
}

/// Where the tick runs.
#[derive(Resource, Clone, Copy, Debug)]
pub(crate) struct RunIn {
    pub fixed: bool,
}

impl RunIn {
    pub fn new(label: InternedScheduleLabel) -> Self {
        let fixed = [
            FixedFirst.intern(),
            FixedPreUpdate.intern(),
            FixedUpdate.intern(),
            FixedPostUpdate.intern(),
            FixedLast.intern(),
        ];
        Self { fixed: fixed.contains(&label) }
    }
}

/// What became of the ticks of this frame.
#[derive(Resource, Clone, Copy, Debug, Default)]
pub(crate) struct TicksThisFrame {
    /// How many ran.
    pub ran: u32,
    /// Whether the last one was skipped, in this frame or before.
    pub skipped: bool,
}

/// Longest tick that is simulated outside fixed schedules (s); a longer frame loses the rest.
const MAX_VARIABLE_TICK: f32 = 0.1;

/// Adds a schedule of ours: one thread, ambiguities are errors.
pub(crate) fn add_schedule(app: &mut App, label: impl ScheduleLabel) {
    let mut schedule = Schedule::new(label);
    schedule.set_executor(bevy::ecs::schedule::SingleThreadedExecutor::new());
    schedule.set_build_settings(ScheduleBuildSettings {
        ambiguity_detection: LogLevel::Error,
        ..default()
    });
    app.add_schedule(schedule);
}

pub(super) fn reset_ticks(mut ticks: ResMut<TicksThisFrame>) {
    ticks.ran = 0;
}

/// Whether a tick runs: not at dt = 0, not while paused unless stepped, not beyond the frame's cap.
fn tick_length(world: &mut World) -> Option<f32> {
    let mut dt = world.resource::<Time>().delta_secs();
    let exact = matches!(world.get_resource(), Some(TimeUpdateStrategy::FixedTimesteps(_)));
    if !world.resource::<RunIn>().fixed {
        dt = dt.min(MAX_VARIABLE_TICK);
    }
    if !(dt > 0.0 && dt.is_finite()) {
        return None;
    }
    let cap = world.resource::<SolverSettings>().max_ticks_per_frame;
    let ticks = world.resource::<TicksThisFrame>();
    if ticks.ran >= cap && !exact {
        return None;
    }
    let mut control = world.resource_mut::<SolverControl>();
    if control.paused {
        control.steps = control.steps.checked_sub(1)?;
    }
    world.resource_mut::<TicksThisFrame>().ran += 1;
    Some(dt)
}

/// Runs [`PliantSchedule`] once.
pub(crate) fn run_tick(world: &mut World) {
    let started = SolverDiagnostics::start();
    let length = tick_length(world);
    world.resource_mut::<TicksThisFrame>().skipped = length.is_none();
    let substeps = world.resource::<SolverSettings>().substeps();
    let tick = length.unwrap_or(0.0);
    *world.resource_mut::<StepTime>() =
        StepTime { tick, h: tick / substeps as f32, substeps, substep: 0, iteration: 0 };
    world.resource_mut::<SolverDiagnostics>().begin_tick();
    world.run_schedule(PliantSchedule);
    if length.is_some() {
        world.resource_mut::<SolverDiagnostics>().end_tick(started);
    }
}

/// Run condition of the stages that a skipped tick leaves out.
pub(super) fn is_ticking(time: Res<StepTime>) -> bool {
    time.tick > 0.0
}

/// Runs [`SubstepSchedule`] for each substep, for what was not carried.
pub(crate) fn run_substeps(world: &mut World) {
    if !super::carry::carry(world) {
        return;
    }
    let substeps = world.resource::<StepTime>().substeps;
    world.schedule_scope(SubstepSchedule, |world, schedule| {
        for substep in 0..substeps {
            world.resource_mut::<StepTime>().substep = substep;
            schedule.run(world);
        }
    });
}

/// Runs [`ProjectionSchedule`] for each iteration.
pub(super) fn run_iterations(world: &mut World) {
    let iterations = world.resource::<SolverSettings>().iterations();
    world.schedule_scope(ProjectionSchedule, |world, schedule| {
        for iteration in 0..iterations {
            world.resource_mut::<StepTime>().iteration = iteration;
            schedule.run(world);
        }
    });
}
