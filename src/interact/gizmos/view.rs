//! The table of views: what a panel or a key needs to list them and to turn them on and off.

use super::{
    AxisGizmos, ColorGizmos, ConstraintGizmos, ContactGizmos, EllipsoidGizmos, GroupGizmos,
    IslandGizmos, ParticleGizmos, SleepGizmos, StrainGizmos, SurfaceGizmos, VelocityGizmos,
};
use bevy::prelude::*;
use core::any::TypeId;

/// A view: one gizmo configuration group, by name.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// What it is called on a button.
    pub name: &'static str,
    /// What it shows, in a sentence.
    pub tooltip: &'static str,
    group: fn() -> TypeId,
}

impl View {
    const fn of<G: GizmoConfigGroup>(name: &'static str, tooltip: &'static str) -> Self {
        Self { name, tooltip, group: TypeId::of::<G> }
    }

    /// The type of its configuration group.
    pub fn group(&self) -> TypeId {
        (self.group)()
    }

    /// Whether it is drawn; false in an app without this crate's `GizmoPlugin`.
    pub fn is_on(&self, store: &GizmoConfigStore) -> bool {
        store.get_config_dyn(&self.group()).is_some_and(|(config, _)| config.enabled)
    }

    /// Turns it on or off. Does nothing in an app without this crate's `GizmoPlugin`.
    pub fn set(&self, store: &mut GizmoConfigStore, on: bool) {
        if let Some((config, _)) = store.get_config_mut_dyn(&self.group()) {
            config.enabled = on;
        }
    }
}

/// All views, in the order in which a panel shows them.
pub const VIEWS: &[View] = &[
    View::of::<SurfaceGizmos>("Surface", "The triangles of what is drawn, as a wireframe."),
    View::of::<ConstraintGizmos>("Lines", "Distance constraints as lines between their particles."),
    View::of::<ParticleGizmos>("Dots", "Particles as dots; held ones red and larger."),
    View::of::<EllipsoidGizmos>("Ellipsoids", "Particles that turn, as ellipsoids."),
    View::of::<GroupGizmos>(
        "Groups and joints",
        "Shape-matching groups as lines from their centre to their members; joints with their limits.",
    ),
    View::of::<StrainGizmos>(
        "Strain",
        "Constraints by strain: blue is compressed, grey at rest, red stretched.",
    ),
    View::of::<ContactGizmos>("Contacts", "Where particles touch, with the normals."),
    View::of::<IslandGizmos>(
        "Islands",
        "A colour for each island: what constraints hold together.",
    ),
    View::of::<ColorGizmos>(
        "Graph colours",
        "Constraints by their colour in the graph: those of one are solved side by side.",
    ),
    View::of::<VelocityGizmos>(
        "Velocities",
        "Arrows as long as particles move in a tenth of a second.",
    ),
    View::of::<SleepGizmos>("Sleep", "What is awake, asleep or faulty, by colour."),
    View::of::<AxisGizmos>("Axes", "The world's axes: x red, y green, z blue."),
];
