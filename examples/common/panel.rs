//! The inspector panel in an example: a window at the right, unless `--no-panel` is given.
//!
//! A camera of its own draws it over what the others drew, untouched by their tonemapping. Those look a
//! little aside meanwhile, so that the panel covers nothing of what they look at.

use bevy::{
    camera::{ClearColorConfig, SubCameraView, visibility::RenderLayers},
    prelude::*,
};
use bevy_egui::{EguiGlobalSettings, PrimaryEguiContext};
use bevy_pliant::interact::{Inspector, InspectorPlugin, InspectorTab};

use super::{Args, OrbitCamera};

/// Width of the panel with its margins (points).
pub const WIDTH: f32 = 330.0;

/// Adds the panel, if the command line does not hide it.
pub struct PanelPlugin;

impl Plugin for PanelPlugin {
    fn build(&self, app: &mut App) {
        let args = app.world().resource::<Args>();
        if !args.panel {
            return;
        }
        let tab = args.tab;
        app.add_plugins(InspectorPlugin::default());
        app.world_mut().resource_mut::<Inspector>().tab = tab;
        // Otherwise egui takes the first camera that there is.
        app.world_mut().resource_mut::<EguiGlobalSettings>().auto_create_primary_context = false;
        app.add_systems(Startup, spawn_camera).add_systems(Update, look_aside);
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

/// Reads the name of a tab.
pub fn tab(text: &str) -> Result<InspectorTab, String> {
    match text {
        "simulation" => Ok(InspectorTab::Simulation),
        "bodies" => Ok(InspectorTab::Bodies),
        "view" => Ok(InspectorTab::View),
        _ => Err(format!("--tab {text}: expected simulation, bodies or view")),
    }
}

/// Shifts what orbiting cameras see to the left of the panel, while that is open: they show the right part
/// of a wider view.
fn look_aside(inspector: Res<Inspector>, mut cameras: Query<&mut Camera, With<OrbitCamera>>) {
    for mut camera in &mut cameras {
        let (Some(size), Some(scale)) =
            (camera.physical_viewport_size(), camera.target_scaling_factor())
        else {
            continue;
        };
        let beside = (WIDTH * scale).min(0.5 * size.x as f32).round();
        let view = inspector.open.then(|| SubCameraView {
            full_size: size + UVec2::new(beside as u32, 0),
            offset: Vec2::new(beside, 0.0),
            size,
        });
        if camera.sub_camera_view != view {
            camera.sub_camera_view = view;
        }
    }
}
