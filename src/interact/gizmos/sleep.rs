//! What is awake and what sleeps.

use bevy::prelude::*;

/// Particles and what joins them by what the solver does with them.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct SleepGizmos {
    /// Colour of what is awake. Default: orange.
    pub awake: Color,
    /// Colour of what is asleep. Default: blue-grey.
    pub asleep: Color,
    /// Colour of what is frozen because its state was not finite. Default: magenta.
    pub faulty: Color,
    /// Colour of what waits for its first tick. Default: light grey.
    pub waiting: Color,
    /// Radius of a particle's dot (m); 0 draws none. Default: 0.01.
    pub radius: f32,
}

impl Default for SleepGizmos {
    fn default() -> Self {
        Self {
            awake: Color::srgb(0.95, 0.55, 0.10),
            asleep: Color::srgb(0.30, 0.42, 0.60),
            faulty: Color::srgb(0.85, 0.0, 0.75),
            waiting: Color::srgb(0.75, 0.75, 0.75),
            radius: 0.01,
        }
    }
}
