//! The inspector panel in an example: a window at the right, unless `--no-panel` is given.
//!
//! A camera of its own draws it over what the others drew, untouched by their tonemapping.

use bevy::{
    camera::{ClearColorConfig, visibility::RenderLayers},
    prelude::*,
};
use bevy_egui::{EguiGlobalSettings, PrimaryEguiContext};
use bevy_pliant::interact::InspectorPlugin;

use super::Args;

/// Adds the panel, if the command line does not hide it.
pub struct PanelPlugin;

impl Plugin for PanelPlugin {
    fn build(&self, app: &mut App) {
        if !app.world().resource::<Args>().panel {
            return;
        }
        app.add_plugins(InspectorPlugin::default());
        // Otherwise egui takes the first camera that there is.
        app.world_mut().resource_mut::<EguiGlobalSettings>().auto_create_primary_context = false;
        app.add_systems(Startup, spawn_camera);
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
