//! The inspector panel in an example: a window at the right, unless `--no-panel` is given.
//!
//! A camera of its own draws it over what the others drew, untouched by their tonemapping.

use bevy::{
    camera::{ClearColorConfig, visibility::RenderLayers},
    prelude::*,
};
use bevy_egui::{EguiGlobalSettings, PrimaryEguiContext};
use bevy_pliant::interact::{InspectorPlugin, InspectorTab};

use super::Args;

/// The tabs that `--tab` can name.
const TABS: [(&str, InspectorTab); 3] = [
    ("simulation", InspectorTab::Simulation),
    ("bodies", InspectorTab::Bodies),
    ("view", InspectorTab::View),
];

/// The tab of this name.
pub fn tab(text: &str) -> Result<InspectorTab, String> {
    let found = TABS.iter().find(|(name, _)| *name == text);
    let tab = found.map(|(_, tab)| *tab);
    tab.ok_or_else(|| format!("--tab {text}: expected simulation, bodies or view"))
}

/// Adds the panel, if the command line does not hide it.
pub struct PanelPlugin;

impl Plugin for PanelPlugin {
    fn build(&self, app: &mut App) {
        if !app.world().resource::<Args>().panel {
            return;
        }
        let tab = app.world().resource::<Args>().tab;
        // Otherwise egui takes the first camera that there is.
        app.insert_resource(EguiGlobalSettings { auto_create_primary_context: false, ..default() })
            .add_plugins(InspectorPlugin::default().with_tab(tab))
            .add_systems(Startup, spawn_camera);
    }
}

fn spawn_camera(mut commands: Commands) {
    commands.spawn((
        Name::new("panel"),
        PrimaryEguiContext,
        Camera2d,
        Camera { order: 100, clear_color: ClearColorConfig::None, ..default() },
        RenderLayers::none(),
    ));
}
