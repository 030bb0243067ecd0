//! Islands: what constraints hold together, and the solver works on as one.

use super::{
    dots::Cameras,
    links::Links,
    pen::{self, Pen},
    plugin::ViewGroup,
    points::Points,
};
use crate::solver::SolverView;
use bevy::prelude::*;

/// What joins particles, and particles alone, a colour for each island.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct IslandGizmos {
    /// Radius of the dot of a particle that nothing joins to others (m); 0 draws none. Default: 0.025.
    pub radius: f32,
}

impl Default for IslandGizmos {
    fn default() -> Self {
        Self { radius: 0.025 }
    }
}

impl ViewGroup for IslandGizmos {
    const DEPTH_BIAS: f32 = -0.0015;
    const WIDTH: f32 = 1.25;

    fn scale_lengths(&mut self, unit: f32) {
        self.radius *= unit;
    }
}

/// Draws what is in an island.
pub(super) fn draw_islands(
    view: SolverView,
    points: Res<Points>,
    links: Links,
    cameras: Cameras,
    palette: Local<Palette>,
    mut gizmos: Gizmos<IslandGizmos>,
) {
    let color = |particle| view.island_of(particle).map(|island| palette.color(island));
    let colors: Vec<_> = points.iter().map(|point| point.entity).map(color).collect();
    let dots = cameras.dots(gizmos.config);
    let radius = gizmos.config_ext.radius;
    links.draw(&points, &colors, &dots, radius, &mut Pen::new(&mut gizmos));
}

/// Colours by number; there are as many as anyone tells apart.
#[derive(Debug)]
pub(super) struct Palette(Vec<LinearRgba>);

impl Default for Palette {
    fn default() -> Self {
        Self((0..256).map(pen::dispersed).collect())
    }
}

impl Palette {
    /// The colour of a number.
    #[inline]
    pub fn color(&self, number: u32) -> LinearRgba {
        self.0[number as usize % self.0.len()]
    }
}
