//! The inspector panel in an example: a window at the right, unless `--no-panel` is given.
//!
//! A camera of its own draws it over what the others drew, untouched by their tonemapping. What the scene is
//! about moves to the middle of what the panel leaves free: [`OrbitCamera`]s and [`FlatCamera`]s look aside,
//! and a [room](super::stage2d) is drawn smaller. The simulation does not know of it.

use bevy::{
    camera::{CameraUpdateSystems, ClearColorConfig, SubCameraView, visibility::RenderLayers},
    prelude::*,
    window::PrimaryWindow,
};
use bevy_egui::{EguiGlobalSettings, PrimaryEguiContext, input::EguiWantsInput};
use bevy_pliant::interact::{Inspector, InspectorPlugin, InspectorTab};

use super::{Args, FlatCamera, OrbitCamera};

/// Width of the panel with its margins (points).
const WIDTH: f32 = 342.0;
/// The greatest part of a picture's width that it takes from a scene.
const GREATEST_SHARE: f32 = 0.4;
/// Size of the line that lists the keys (points).
const HELP: f32 = 13.0;

/// Adds the panel, if the command line does not hide it.
///
/// Systems: `update_share` and `look_aside` before Bevy's cameras in `PostUpdate`.
pub struct PanelPlugin;

impl Plugin for PanelPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<PanelShare>();
        let args = app.world().resource::<Args>();
        if !args.panel {
            return;
        }
        let share = PanelShare::of(args.size.x as f32 / args.scale);
        let tab = args.tab.unwrap_or_default();
        app.insert_resource(share)
            // Otherwise egui takes the first camera that there is.
            .insert_resource(EguiGlobalSettings { auto_create_primary_context: false, ..default() })
            .add_plugins(InspectorPlugin::default().with_tab(tab));
        // After the scene, so that its entities come in the same order with and without a panel: it is the
        // order of contacts, and of their rounding.
        app.add_systems(PostStartup, spawn_camera).add_systems(
            PostUpdate,
            (update_share, look_aside).chain().before(CameraUpdateSystems),
        );
    }
}

/// A run condition: whether keys are the scene's, not typed into the panel.
pub fn keys_are_free(egui: Option<Res<EguiWantsInput>>) -> bool {
    egui.is_none_or(|egui| !egui.wants_any_keyboard_input())
}

/// Which part of the picture's width the panel takes, at its right; 0 while it is hidden.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct PanelShare(pub f32);

impl PanelShare {
    /// For a picture of this width (points).
    fn of(width: f32) -> Self {
        Self((WIDTH / width.max(1.0)).min(GREATEST_SHARE))
    }
}

fn update_share(
    inspector: Res<Inspector>,
    args: Res<Args>,
    windows: Query<&Window, With<PrimaryWindow>>,
    mut share: ResMut<PanelShare>,
) {
    let width = windows.single().map_or(args.size.x as f32 / args.scale, Window::width);
    let now = if inspector.open { PanelShare::of(width) } else { PanelShare(0.0) };
    share.set_if_neq(now);
}

/// Moves the middle of the picture to the middle of what is free.
fn look_aside(
    share: Res<PanelShare>,
    mut cameras: Query<&mut Camera, Or<(With<OrbitCamera>, With<FlatCamera>)>>,
) {
    for mut camera in &mut cameras {
        let Some(size) = camera.physical_target_size().filter(|size| size.min_element() > 0) else {
            continue;
        };
        let offset = Vec2::new(0.5 * share.0 * size.x as f32, 0.0);
        let view = (share.0 > 0.0).then_some(SubCameraView { full_size: size, offset, size });
        if camera.sub_camera_view != view {
            camera.sub_camera_view = view;
        }
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

/// Opens the panel on the fields of this body, unless the command line names another tab.
pub fn select(inspector: Option<ResMut<Inspector>>, args: &Args, body: Entity) {
    if let Some(mut inspector) = inspector {
        inspector.tab = args.tab.unwrap_or(InspectorTab::Bodies);
        inspector.selected = Some(body);
    }
}

/// Lists keys at the lower left; with the panel also the key that hides it. For `PostStartup`, where it does not
/// change the order of the scene's entities.
pub fn spawn_help(commands: &mut Commands, args: &Args, keys: &str, color: Color) {
    let panel = if args.panel { "   F1 panel" } else { "" };
    // Legible over what the scene may put there.
    let behind = if color.luminance() > 0.5 { Color::BLACK } else { Color::WHITE };
    let behind = behind.with_alpha(if args.panel { 0.3 } else { 0.0 });
    commands.spawn((
        Text::new(format!("{keys}{panel}")),
        TextColor(color),
        TextFont { font_size: FontSize::Px(HELP), ..default() },
        Node {
            position_type: PositionType::Absolute,
            left: Val::Px(8.0),
            bottom: Val::Px(4.0),
            padding: UiRect::axes(Val::Px(6.0), Val::Px(2.0)),
            border_radius: BorderRadius::all(Val::Px(4.0)),
            ..default()
        },
        BackgroundColor(behind),
        Pickable::IGNORE,
    ));
}
