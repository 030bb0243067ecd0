//! Colours of the constraint graph.

use bevy::prelude::*;

/// Constraints by their colour in the graph: those of one colour share no particle, so they are solved side
/// by side. Distances, joints and torsions; on demand also bending constraints and tethers.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug, Default)]
#[reflect(Default)]
pub struct ColorGizmos {
    /// Whether bending constraints are drawn, as lines between their wings. Default: false.
    pub bending: bool,
    /// Whether tethers are drawn. Default: false.
    pub tethers: bool,
}
