//! What is awake and what sleeps.

use super::{dots::Cameras, links::Links, pen::Pen, plugin::ViewGroup, points::Points};
use crate::solver::{Activity, SolverView};
use bevy::prelude::*;

/// What joins particles, and particles alone, by what the solver does with them.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct SleepGizmos {
    /// Colour of what is awake. Default: orange.
    pub awake: Color,
    /// Colour of what is asleep. Default: blue-grey.
    pub asleep: Color,
    /// Colour of what is frozen because its state was not finite. Default: magenta.
    pub faulty: Color,
    /// Colour of what waits: for its first tick, for another body to settle, or joined to a body that is
    /// disabled. Default: light grey.
    pub waiting: Color,
    /// Radius of the dot of a particle that nothing joins to others (m); 0 draws none. Default: 0.025.
    pub radius: f32,
}

impl Default for SleepGizmos {
    fn default() -> Self {
        Self {
            awake: Color::srgb(0.95, 0.55, 0.10),
            asleep: Color::srgb(0.30, 0.42, 0.60),
            faulty: Color::srgb(0.85, 0.0, 0.75),
            waiting: Color::srgb(0.75, 0.75, 0.75),
            radius: 0.025,
        }
    }
}

impl ViewGroup for SleepGizmos {
    const DEPTH_BIAS: f32 = -0.0015;
    const WIDTH: f32 = 1.25;

    fn scale_lengths(&mut self, unit: f32) {
        self.radius *= unit;
    }
}

impl SleepGizmos {
    /// The colour of what does this; nothing yet, `None`.
    pub fn color(&self, activity: Option<Activity>) -> LinearRgba {
        let color = match activity {
            Some(Activity::Awake) => self.awake,
            Some(Activity::Asleep) => self.asleep,
            Some(Activity::Faulty) => self.faulty,
            Some(Activity::Disabled | Activity::Waiting) | None => self.waiting,
        };
        color.to_linear()
    }
}

/// Draws who sleeps.
pub(super) fn draw_sleep(
    view: SolverView,
    points: Res<Points>,
    links: Links,
    cameras: Cameras,
    mut gizmos: Gizmos<SleepGizmos>,
) {
    let settings = gizmos.config_ext;
    let color = |particle| Some(settings.color(view.activity(particle)));
    let colors: Vec<_> = points.iter().map(|point| point.entity).map(color).collect();
    let dots = cameras.dots(gizmos.config);
    let radius = settings.radius;
    links.draw(&points, &colors, &dots, radius, &mut Pen::new(&mut gizmos));
}
