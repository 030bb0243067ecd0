//! What a user sets: for the world, and for one body.

use crate::{
    obstacle::{ContactLayers, Friction},
    particle::DEFAULT_RADIUS,
};
use bevy::prelude::*;

/// Settings of the whole simulation. Values that make no sense are clamped as each field says.
#[derive(Resource, Reflect, Clone, Debug, PartialEq)]
#[reflect(Resource, Default, Debug, PartialEq, Clone)]
pub struct SolverSettings {
    /// Substeps a tick, 1 to 1,000. Default: 16.
    pub substeps: u32,
    /// Iterations a substep, 1 to 1,000. Default: 1.
    pub iterations: u32,
    /// Gravity (m/s²); 0 where it is not finite. Default: 9.81 down.
    pub gravity: Vec3,
    /// Velocity damping c (1/s): v decays as e^(−ct). Not below 0. Default: 0.1.
    pub damping: f32,
    /// Velocity damping of bodies whose particles turn (1/s), in place of `damping`: relative to the
    /// body's rigid motion, so that it keeps its momentum. Not below 0. Default: 1.
    pub relative_damping: f32,
    /// In which order constraints are projected. Default: [`ProjectionOrder::Colored`].
    pub order: ProjectionOrder,
    /// Most tasks that islands are spread over; 0 counts as 1. The result does not depend on it.
    /// Default: as many as the compute task pool has threads.
    pub max_tasks: usize,
    /// Ticks beyond this number in one frame are skipped (0 skips all), so that a slow frame is not
    /// followed by slower ones; the game's own clocks go on. Default: 8.
    pub max_ticks_per_frame: u32,
    /// Whether what lies still is put to sleep. Default: true.
    pub sleeping: bool,
    /// Radius of particles whose body says nothing else (m). Default: 1 cm.
    pub particle_radius: f32,
    /// How long a metre is in this world: the solver's own thresholds are scaled by it (the speed at which
    /// overlap is undone, what counts as lying still). Default: 1. A value that is no positive number
    /// counts as 1.
    pub length_unit: f32,
}

impl Default for SolverSettings {
    fn default() -> Self {
        Self {
            substeps: 16,
            iterations: 1,
            gravity: Vec3::NEG_Y * 9.81,
            damping: 0.1,
            relative_damping: 1.0,
            order: ProjectionOrder::Colored,
            max_tasks: usize::MAX,
            max_ticks_per_frame: 8,
            sleeping: true,
            particle_radius: DEFAULT_RADIUS,
            length_unit: 1.0,
        }
    }
}

impl SolverSettings {
    /// The defaults for a world in which a metre is `unit` long (pixels, say). A unit that is not a
    /// positive number, or too great for gravity to be one, counts as 1.
    pub fn with_length_unit(unit: f32) -> Self {
        let metres = Self::default();
        let usable = unit > 0.0 && (metres.gravity * unit).is_finite();
        let unit = if usable { unit } else { 1.0 };
        Self {
            gravity: metres.gravity * unit,
            length_unit: unit,
            particle_radius: metres.particle_radius * unit,
            ..metres
        }
    }

    /// The length of a metre as the solver uses it.
    pub(crate) fn length_unit(&self) -> f32 {
        usable_unit(self.length_unit)
    }

    /// Substeps as the solver uses them.
    pub(crate) fn substeps(&self) -> u32 {
        self.substeps.clamp(1, 1_000)
    }

    /// Iterations as the solver uses them.
    pub(crate) fn iterations(&self) -> u32 {
        self.iterations.clamp(1, 1_000)
    }
}

fn usable_unit(unit: f32) -> f32 {
    if unit > 0.0 && unit.is_finite() { unit } else { 1.0 }
}

/// In which order the constraints of an island are projected.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub enum ProjectionOrder {
    /// By colours of the constraint graph: four at a time; groups in an order without direction.
    #[default]
    Colored,
    /// In the order of creation, type by type, as a textbook Gauss–Seidel sweep. Slower.
    Sequential,
}

/// Settings of one body; a field that is `None` takes the world's value.
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
pub struct BodySettings {
    /// Gravity (m/s²).
    pub gravity: Option<Vec3>,
    /// Velocity damping (1/s): for a body whose particles turn, relative to its rigid motion.
    pub damping: Option<f32>,
    /// Radius of its particles (m).
    pub radius: Option<f32>,
    /// Friction with obstacles and with other bodies. Default: 0.5.
    pub friction: Friction,
    /// Whether the momentum that projection takes from a body that touches nothing is given back.
    /// Default (`None`): only to bodies with particles that turn.
    pub restore_momentum: Option<bool>,
    /// What it meets: obstacles, and bodies where both have `soft_contact`.
    pub layers: ContactLayers,
    /// How its oriented particles meet obstacles and others. Default: with lever arms.
    pub ellipsoid_contact: EllipsoidContact,
    /// Whether its particles touch one another: at twice the radius, or at the mean length of its edges
    /// (distance constraints) where that is more, so that no edge fits between particles. Those that a
    /// constraint joins do not touch. Default: false.
    pub self_contact: bool,
    /// Whether its particles touch those of other bodies that have this too, where their layers meet:
    /// at the sum of both radii, each raised to half the mean edge as above. Default: false.
    pub soft_contact: bool,
    /// Drag coefficient `C_D` of its surface or line in the [`Air`](super::Air): 1.2 is a plate or a
    /// cylinder across the wind. One that is not a positive number counts as 0. Default: 1.2.
    pub drag: f32,
    /// Lift coefficient `C_L` of its surface in the air, likewise. Default: 0.6.
    pub lift: f32,
}

impl Default for BodySettings {
    fn default() -> Self {
        Self {
            gravity: None,
            damping: None,
            radius: None,
            friction: Friction::DEFAULT,
            restore_momentum: None,
            layers: ContactLayers::ALL,
            ellipsoid_contact: EllipsoidContact::LeverArm,
            self_contact: false,
            soft_contact: false,
            drag: 1.2,
            lift: 0.6,
        }
    }
}

/// What a contact does to an oriented particle.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub enum EllipsoidContact {
    /// Pushes it at the point that touches, so that it also turns: a tilted ellipsoid falls flat.
    #[default]
    LeverArm,
    /// Pushes its centre alone, as in the paper of oriented particles \[MC11\].
    CentreOnly,
}

/// A steady push on a body (shared among its particles by mass) or on one particle, until changed.
#[derive(Component, Reflect, Clone, Copy, Debug, Default, PartialEq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
pub struct AppliedForce {
    /// Force on the whole (N, world); its effect does not depend on the number of particles.
    pub force: Vec3,
    /// Acceleration (m/s², world).
    pub acceleration: Vec3,
}

/// Pauses and steps the simulation.
#[derive(Resource, Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[reflect(Resource, Default, Debug, PartialEq, Clone)]
pub struct SolverControl {
    /// Whether ticks are skipped. Bodies are still built.
    pub paused: bool,
    /// How many ticks to run although paused; counts down.
    pub steps: u32,
}

impl SolverControl {
    /// Pauses, and runs one tick.
    pub fn step(&mut self) {
        self.paused = true;
        self.steps = self.steps.saturating_add(1);
    }
}

/// What the solver has simulated.
#[derive(Resource, Reflect, Clone, Copy, Debug, Default, PartialEq)]
#[reflect(Resource, Default, Debug, PartialEq, Clone)]
pub struct SolverClock {
    /// Ticks since the start.
    pub ticks: u64,
    /// Simulated time (s).
    pub elapsed: f64,
}

/// The step that the solver is in; valid while [`PliantSchedule`](super::PliantSchedule) runs.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct StepTime {
    /// Length of the tick (s).
    pub tick: f32,
    /// Length of a substep (s).
    pub h: f32,
    /// Number of substeps.
    pub substeps: u32,
    /// Number of this substep, from 0.
    pub substep: u32,
    /// Number of this iteration, from 0.
    pub iteration: u32,
}

impl StepTime {
    /// Fractions of the tick at the start and at the end of this substep.
    pub fn sweep(&self) -> [f32; 2] {
        let n = self.substeps.max(1) as f32;
        [self.substep as f32 / n, (self.substep + 1) as f32 / n]
    }
}
