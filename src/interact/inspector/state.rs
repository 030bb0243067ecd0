//! What the panel shows: set by its user, or by the app.

use bevy::prelude::*;

/// What the panel shows. An app may set it at any time.
#[derive(Resource, Reflect, Clone, Debug, PartialEq)]
#[reflect(Resource, Default, Debug, PartialEq, Clone)]
pub struct Inspector {
    /// Whether the window is open. Default: true.
    pub open: bool,
    /// Whether of the window only its head is shown. Default: false.
    pub folded: bool,
    /// The tab that is shown. Default: the simulation.
    pub tab: InspectorTab,
    /// The body whose fields are shown.
    pub selected: Option<Entity>,
    /// At which side of the screen the window begins. Default: at the right one.
    pub side: InspectorSide,
}

impl Default for Inspector {
    fn default() -> Self {
        Self {
            open: true,
            folded: false,
            tab: InspectorTab::Simulation,
            selected: None,
            side: InspectorSide::Right,
        }
    }
}

/// A tab of the panel.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub enum InspectorTab {
    /// The solver's settings, and where the time goes.
    #[default]
    Simulation,
    /// What is alive, and the fields of one body.
    Bodies,
    /// What is drawn.
    View,
}

/// A side of the screen.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub enum InspectorSide {
    /// The left one.
    Left,
    /// The right one.
    #[default]
    Right,
}
