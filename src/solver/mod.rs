//! The solver: extended position-based dynamics by small steps, as ordered systems.
//!
//! # A tick
//!
//! The game's schedule (by default `FixedPostUpdate`) runs [`PliantSchedule`], which runs
//! [`SubstepSchedule`] `substeps` times, which runs [`ProjectionSchedule`] `iterations` times. All
//! three are this crate's own, on one thread and free of ambiguities; threads live inside systems,
//! where islands are spread over tasks.
//!
//! ```text
//! Build ─ Compile ─ SampleTargets ─ Gather ─ Substeps ─ Sleep ─ WriteBack
//!                                              │ n ×
//!                          Predict ─ Iterate ─ UpdateVelocities
//!                                       │ m ×
//!                          ProjectConstraints ─ Contacts
//! ```
//!
//! Per substep h \[MSL+19\]:
//!
//! ```text
//! v  += wind's impulses            Predict             (the private module `air`)
//! v  += h a
//! x*  = x + h v;  x = x*;  λ = 0
//! project every constraint         ProjectConstraints    (crate::constraint)
//! push out of obstacles            Contacts              (crate::obstacle)
//! v  += (x − x*)/h                 UpdateVelocities
//! restitution, friction, damping
//! ```
//!
//! # Data
//!
//! Particles and constraints are entities. Each tick they are gathered into the *mirror*, dense arrays
//! ordered by island; the constraints themselves are *compiled* only when their structure changes:
//! union-find joins particles into islands, first-fit colouring finds constraints that share no
//! particle, and those are packed four at a time. Islands go to tasks; the bits of the result do not
//! depend on how many.
//!
//! # Finite numbers
//!
//! f32 throughout, and yet a cloth 10 km from the origin hangs as at the origin: positions are relative
//! to an origin per island, velocities are updated from differences of predicted positions, and what
//! world coordinates cannot hold is kept beside them (the private module `mirror` tells how).

mod air;
mod batch;
mod carry;
mod colour;
mod compile;
mod contact;
mod diagnostics;
mod dynamic_set;
mod events;
mod force;
mod gather;
mod hash;
mod interpolate;
mod mirror;
mod momentum;
mod predict;
mod project;
mod schedule;
mod settings;
mod settle;
mod sleep;
mod soft_contact;
mod spatial;
mod target;
mod tasks;
mod types;
mod velocity;
mod view;
mod write_back;

pub use air::{Air, Turbulence, WindShape, WindZone};
pub use contact::{ContactBegan, ContactEnded};
pub use diagnostics::{PliantDiagnosticsPlugin, SolverDiagnostics, Stage};
pub use events::{BodyFault, Faulty, Teleport};
pub use force::{ApplyAngularImpulse, ApplyImpulse, ApplyRadialImpulse};
pub use hash::state_hash;
pub use interpolate::{Blend, DrawnPose};
pub use schedule::{
    PliantSchedule, PliantSystems, ProjectionSchedule, ProjectionSystems, SubstepSchedule,
    SubstepSystems,
};
pub use settings::{
    AppliedForce, BodySettings, EllipsoidContact, ProjectionOrder, SolverClock, SolverControl,
    SolverSettings, StepTime,
};
pub use settle::Settle;
pub use spatial::{FoundParticle, ParticleFinder};
pub use target::TargetPose;
pub use types::{AddConstraint, Register};
pub use view::{Activity, ContactPoint, SolverView};

pub(crate) use target::current_pose;

use crate::{
    constraint::{
        Attachment, BendingConstraint, ConstraintOf, Constraints, DistanceConstraint,
        JointConstraint, ShapeMatchingConstraint, SurfaceAttachment, TetherConstraint,
        TorsionConstraint,
    },
    obstacle::Obstacle,
    particle::{
        BodyLine, BodySurface, BuildOrder, OrientedParticle, Particle, ParticleIndex, ParticleOf,
        Particles, Pinned, PinnedTo, Planar, RestPose, SolverState, TopologyChanges,
    },
};
use bevy::{
    app::{RunFixedMainLoop, RunFixedMainLoopSystems},
    ecs::{
        entity_disabling::Disabled,
        query::Allow,
        schedule::{InternedScheduleLabel, ScheduleLabel},
    },
    prelude::*,
};
use schedule::{RunIn, TicksThisFrame};

/// The solver.
///
/// Systems in run order: `sample_frame` once a frame; then in each tick `compile`, `settle`,
/// `sample_targets`, `gather`, the substeps (`predict`; `project_constraints`, `contacts`;
/// `update_velocities`), `sleep`, `write_back`; then once a frame `index_particles`, `interpolate`, and in
/// `PostUpdate` `place_pins`.
#[derive(Clone, Debug)]
pub struct SolverPlugin {
    schedule: InternedScheduleLabel,
    settings: SolverSettings,
}

impl Default for SolverPlugin {
    fn default() -> Self {
        Self { schedule: FixedPostUpdate.intern(), settings: SolverSettings::default() }
    }
}

impl SolverPlugin {
    /// Ticks in this schedule of the app. Outside the fixed loop a tick is as long as a frame.
    pub fn in_schedule(mut self, label: impl ScheduleLabel) -> Self {
        self.schedule = label.intern();
        self
    }

    /// Starts with these settings.
    pub fn with_settings(mut self, settings: SolverSettings) -> Self {
        self.settings = settings;
        self
    }
}

impl Plugin for SolverPlugin {
    fn build(&self, app: &mut App) {
        register_types(app);
        app.insert_resource(self.settings.clone())
            .init_resource::<SolverControl>()
            .init_resource::<SolverClock>()
            .init_resource::<SolverDiagnostics>()
            .init_resource::<StepTime>()
            .init_resource::<TopologyChanges>()
            .init_resource::<TicksThisFrame>()
            .init_resource::<Blend>()
            .init_resource::<target::Targets>()
            .insert_resource(RunIn::new(self.schedule));
        // Ours note their changes by hooks, so they need no observers.
        let world = app.world_mut();
        types::register::<DistanceConstraint>(world);
        types::register::<BendingConstraint>(world);
        types::register::<TetherConstraint>(world);
        types::register::<ShapeMatchingConstraint>(world);
        types::register::<TorsionConstraint>(world);
        types::register::<JointConstraint>(world);
        types::register::<Attachment>(world);
        types::register::<SurfaceAttachment>(world);
        app.add_observer(note_disabled)
            .add_observer(note_enabled)
            .add_observer(events::on_teleport)
            .add_observer(force::on_impulse)
            .add_observer(force::on_radial_impulse)
            .add_observer(force::on_angular_impulse);
        add_tick(app);
        app.add_systems(self.schedule, schedule::run_tick)
            .add_systems(First, schedule::reset_ticks)
            .add_systems(RunFixedMainLoop, target::sample_frame.in_set(PliantSystems::SampleFrame));
    }
}

/// A disabled particle or constraint leaves the simulation; a disabled body only stops.
fn note_disabled(
    disabled: On<Add, Disabled>,
    ordered: Query<(), (With<BuildOrder>, Allow<Disabled>)>,
    mut changes: ResMut<TopologyChanges>,
) {
    changes.recompile |= ordered.contains(disabled.entity);
}

/// And comes back.
fn note_enabled(
    enabled: On<Remove, Disabled>,
    ordered: Query<(), (With<BuildOrder>, Allow<Disabled>)>,
    mut changes: ResMut<TopologyChanges>,
) {
    changes.recompile |= ordered.contains(enabled.entity);
}

fn add_tick(app: &mut App) {
    use PliantSystems::{Build, Compile, Gather, SampleTargets, Sleep, Substeps, WriteBack};
    schedule::add_schedule(app, PliantSchedule);
    schedule::add_schedule(app, SubstepSchedule);
    schedule::add_schedule(app, ProjectionSchedule);
    app.configure_sets(
        PliantSchedule,
        (Build, Compile, SampleTargets, Gather, Substeps, Sleep, WriteBack).chain(),
    )
    .configure_sets(
        PliantSchedule,
        (SampleTargets, Gather, Substeps, Sleep, WriteBack).run_if(schedule::is_ticking),
    )
    .configure_sets(
        SubstepSchedule,
        (SubstepSystems::Predict, SubstepSystems::Iterate, SubstepSystems::UpdateVelocities)
            .chain(),
    )
    .configure_sets(
        ProjectionSchedule,
        (ProjectionSystems::ProjectConstraints, ProjectionSystems::Contacts).chain(),
    )
    .add_systems(
        PliantSchedule,
        (
            (compile::compile, settle::settle).chain().in_set(Compile),
            target::sample_targets.in_set(SampleTargets),
            gather::gather.in_set(Gather),
            schedule::run_substeps.in_set(Substeps),
            sleep::sleep.in_set(Sleep),
            write_back::write_back.in_set(WriteBack),
        ),
    )
    .add_systems(
        SubstepSchedule,
        (
            predict::predict.in_set(SubstepSystems::Predict),
            schedule::run_iterations.in_set(SubstepSystems::Iterate),
            velocity::update_velocities.in_set(SubstepSystems::UpdateVelocities),
        ),
    )
    .add_systems(
        ProjectionSchedule,
        (
            project::project_constraints.in_set(ProjectionSystems::ProjectConstraints),
            contact::contacts.in_set(ProjectionSystems::Contacts),
        ),
    )
    .add_systems(
        RunFixedMainLoop,
        (interpolate::index_particles, interpolate::interpolate)
            .chain()
            .in_set(PliantSystems::Interpolate),
    )
    .configure_sets(
        RunFixedMainLoop,
        (
            PliantSystems::SampleFrame.in_set(RunFixedMainLoopSystems::BeforeFixedMainLoop),
            PliantSystems::Interpolate.in_set(RunFixedMainLoopSystems::AfterFixedMainLoop),
        ),
    )
    .configure_sets(
        PostUpdate,
        (
            PliantSystems::PlacePins.before(TransformSystems::Propagate),
            PliantSystems::Skin.after(TransformSystems::Propagate),
        ),
    )
    .add_systems(PostUpdate, interpolate::place_pins.in_set(PliantSystems::PlacePins));
}

fn register_types(app: &mut App) {
    app.register_type::<Particle>()
        .register_type::<OrientedParticle>()
        .register_type::<RestPose>()
        .register_type::<Pinned>()
        .register_type::<PinnedTo>()
        .register_type::<Planar>()
        .register_type::<ParticleOf>()
        .register_type::<Particles>()
        .register_type::<ParticleIndex>()
        .register_type::<BodySurface>()
        .register_type::<BodyLine>()
        .register_type::<BuildOrder>()
        .register_type::<SolverState>()
        .register_type::<ConstraintOf>()
        .register_type::<Constraints>()
        .register_type::<DistanceConstraint>()
        .register_type::<BendingConstraint>()
        .register_type::<TetherConstraint>()
        .register_type::<ShapeMatchingConstraint>()
        .register_type::<TorsionConstraint>()
        .register_type::<JointConstraint>()
        .register_type::<Attachment>()
        .register_type::<SurfaceAttachment>()
        .register_type::<Obstacle>()
        .register_type::<TargetPose>()
        .register_type::<Air>()
        .register_type::<WindZone>()
        .register_type::<Faulty>()
        .register_type::<Settle>()
        .register_type::<BodySettings>()
        .register_type::<AppliedForce>()
        .register_type::<SolverSettings>()
        .register_type::<SolverControl>()
        .register_type::<SolverClock>();
}
