//! Colours of the constraint graph.

use super::{constraint::wings, island::Palette, pen::Pen, plugin::ViewGroup, points::Points};
use crate::{
    constraint::{
        BendingConstraint, DistanceConstraint, JointConstraint, TetherConstraint, TorsionConstraint,
    },
    solver::{SolverDiagnostics, SolverView},
};
use bevy::prelude::*;

/// Constraints by their colour in the graph: those of one colour share no particle, so they are solved side
/// by side. Distances, joints and torsions; on demand also bending constraints and tethers.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct ColorGizmos {
    /// Whether bending constraints are drawn, as lines between their wings. Default: false.
    pub bending: bool,
    /// Whether tethers are drawn. Default: false.
    pub tethers: bool,
    /// Colour of constraints without one, as all are in sequential order. Default: grey.
    pub none: Color,
}

impl Default for ColorGizmos {
    fn default() -> Self {
        Self { bending: false, tethers: false, none: Color::srgb(0.6, 0.6, 0.6) }
    }
}

impl ViewGroup for ColorGizmos {
    const DEPTH_BIAS: f32 = -0.0015;
    const WIDTH: f32 = 1.25;
}

/// Colours of constraints by the index of their entity, as long as nothing is compiled anew.
#[derive(Debug, Default)]
pub(super) struct KnownColors {
    compilation: u64,
    colors: Vec<(Entity, LinearRgba)>,
    palette: Palette,
}

impl KnownColors {
    /// Forgets what is not so any more.
    fn follow(&mut self, diagnostics: &SolverDiagnostics) {
        if self.compilation != diagnostics.compilations {
            self.compilation = diagnostics.compilations;
            self.colors.clear();
        }
    }

    /// The colour of a constraint; one without a number has `none`.
    fn get(&mut self, constraint: Entity, view: &SolverView, none: LinearRgba) -> LinearRgba {
        let index = constraint.index_u32() as usize;
        if index >= self.colors.len() {
            self.colors.resize(index + 1, (Entity::PLACEHOLDER, none));
        }
        let known = &mut self.colors[index];
        if known.0 != constraint {
            let Some(number) = view.color_of(constraint) else { return none };
            *known = (constraint, self.palette.color(number));
        }
        known.1
    }
}

/// Draws constraints by colour.
pub(super) fn draw_colors(
    view: SolverView,
    diagnostics: Res<SolverDiagnostics>,
    distances: Query<(Entity, &DistanceConstraint)>,
    joints: Query<(Entity, &JointConstraint)>,
    torsions: Query<(Entity, &TorsionConstraint)>,
    bendings: Query<(Entity, &BendingConstraint)>,
    tethers: Query<(Entity, &TetherConstraint)>,
    points: Res<Points>,
    mut known: Local<KnownColors>,
    mut gizmos: Gizmos<ColorGizmos>,
) {
    let settings = gizmos.config_ext;
    let none = settings.none.to_linear();
    known.follow(&diagnostics);
    let mut pen = Pen::new(&mut gizmos);
    let mut draw = |constraint: Entity, particles: [Entity; 2]| {
        if let Some([a, b]) = points.pair(particles) {
            pen.line(a, b, known.get(constraint, &view, none));
        }
    };
    distances.iter().for_each(|(entity, distance)| draw(entity, distance.particles));
    joints.iter().for_each(|(entity, joint)| draw(entity, joint.particles));
    torsions.iter().for_each(|(entity, torsion)| draw(entity, torsion.particles));
    if settings.bending {
        bendings.iter().for_each(|(entity, bending)| draw(entity, wings(bending)));
    }
    if settings.tethers {
        tethers.iter().for_each(|(entity, tether)| draw(entity, tether.particles));
    }
}
