//! The plugin of the panel: its window, its key, and what it hears of bodies.

use super::{Inspector, InspectorSide, InspectorTab, Panel, mark, window};
use crate::{
    particle::{ParticleOf, Particles},
    recipe::{BodyBuilt, BodyFailed},
    solver::{BodyFault, SolverDiagnostics, Teleport},
};
use bevy::{
    ecs::entity::EntityHashMap,
    picking::{
        events::{Click, Pointer},
        pointer::PointerButton,
    },
    prelude::*,
    render::{RenderApp, renderer::RenderDevice},
    window::CursorMoved,
};
use bevy_egui::{EguiPlugin, EguiPrimaryContextPass};

/// Adds the panel: its window, a key that hides it, and selection by clicking a body in the scene.
///
/// ```no_run
/// # use bevy::prelude::*;
/// # use bevy_pliant::{interact::InspectorPlugin, prelude::*};
/// App::new()
///     .add_plugins((DefaultPlugins, PliantPlugins::default(), InspectorPlugin::default()))
///     .run();
/// ```
///
/// The window is in the app's primary egui context, at the right until it is moved, folds and closes; `F1` hides
/// and shows it. The resource [`Inspector`] tells what it shows, and may be set. For a layout of your own see
/// [`inspector_ui`](super::inspector_ui).
///
/// `PliantPlugins` do not contain it: an app that wants the panel adds it. It adds `EguiPlugin` where the app
/// has none when it starts, so that the order of the two does not matter; add it after `DefaultPlugins`.
///
/// Its systems: `toggle` and, with Bevy's `GizmoPlugin`, `mark` in `Update`, `show_window` in
/// `EguiPrimaryContextPass`, `time_in_detail` in `Last`.
#[derive(Clone, Debug)]
pub struct InspectorPlugin {
    window: bool,
    key: Option<KeyCode>,
    start: Inspector,
}

impl Default for InspectorPlugin {
    fn default() -> Self {
        Self { window: true, key: Some(KeyCode::F1), start: Inspector::default() }
    }
}

impl InspectorPlugin {
    /// Without a window: for [`inspector_ui`](super::inspector_ui) in a layout of your own.
    pub fn embedded() -> Self {
        Self { window: false, key: None, ..default() }
    }

    /// With this key to hide and show the window, or none. Default: `F1`.
    pub const fn with_key(mut self, key: Option<KeyCode>) -> Self {
        self.key = key;
        self
    }

    /// With a window that is closed until the key is pressed, or [`Inspector::open`] set.
    pub const fn closed(mut self) -> Self {
        self.start.open = false;
        self
    }

    /// With this tab in front.
    pub const fn with_tab(mut self, tab: InspectorTab) -> Self {
        self.start.tab = tab;
        self
    }

    /// With the window at this side of the screen.
    pub const fn at(mut self, side: InspectorSide) -> Self {
        self.start.side = side;
        self
    }
}

impl Plugin for InspectorPlugin {
    fn build(&self, app: &mut App) {
        if !app.world().contains_resource::<Inspector>() {
            app.insert_resource(self.start.clone());
        }
        app.register_type::<Inspector>()
            .init_resource::<Panel>()
            .init_resource::<Troubles>()
            .add_observer(select_clicked)
            .add_observer(note_failure)
            .add_observer(note_fault)
            .add_observer(forget_after_building)
            .add_observer(forget_after_teleport)
            .add_systems(Last, time_in_detail);
        if self.window {
            app.add_systems(EguiPrimaryContextPass, window::show_window);
        }
        if let Some(key) = self.key {
            let toggle = move |keys: Option<Res<ButtonInput<KeyCode>>>,
                               inspector: Option<ResMut<Inspector>>| {
                if let (Some(keys), Some(mut inspector)) = (keys, inspector)
                    && keys.just_pressed(key)
                {
                    inspector.open = !inspector.open;
                }
            };
            app.add_systems(Update, toggle);
        }
    }

    /// The app's own `EguiPlugin`, if there is one, has been added by now.
    fn finish(&self, app: &mut App) {
        if app.is_plugin_added::<bevy::gizmos::GizmoPlugin>() {
            mark::add_marks(app);
        }
        if app.is_plugin_added::<EguiPlugin>() {
            return;
        }
        if !can_show_egui(app) {
            if self.window {
                warn!("the inspector has no window: add InspectorPlugin after DefaultPlugins");
            }
            return;
        }
        app.add_plugins(EguiPlugin::default());
        // It came too late to be asked by the app.
        EguiPlugin::default().finish(app);
    }
}

/// Whether the app has what egui reads, and where it draws at all, what it draws with.
fn can_show_egui(app: &App) -> bool {
    let world = app.world();
    world.contains_resource::<Messages<CursorMoved>>()
        && world.contains_resource::<ButtonInput<KeyCode>>()
        && world.contains_resource::<Assets<Image>>()
        && world.contains_resource::<Assets<Shader>>()
        && app
            .get_sub_app(RenderApp)
            .is_none_or(|render| render.world().contains_resource::<RenderDevice>())
}

/// Why bodies are not well: what their recipe said, or that they are frozen.
#[derive(Resource, Debug, Default)]
pub(super) struct Troubles(pub EntityHashMap<String>);

fn note_failure(failed: On<BodyFailed>, mut troubles: ResMut<Troubles>) {
    troubles.0.insert(failed.entity, failed.error.to_string());
}

fn note_fault(fault: On<BodyFault>, mut troubles: ResMut<Troubles>) {
    let what = match fault.particles.len() {
        1 => "The state of a particle".to_owned(),
        count => format!("The state of {count} particles"),
    };
    let told = format!("{what} stopped being finite, so it is frozen. Restart or teleport it.");
    troubles.0.insert(fault.entity, told);
}

fn forget_after_building(built: On<BodyBuilt>, mut troubles: ResMut<Troubles>) {
    troubles.0.remove(&built.entity);
}

/// It revives what is frozen; what cannot be built stays so.
fn forget_after_teleport(
    teleport: On<Teleport>,
    built: Query<(), With<Particles>>,
    mut troubles: ResMut<Troubles>,
) {
    if built.contains(teleport.entity) {
        troubles.0.remove(&teleport.entity);
    }
}

/// A click on a body, on a particle of it, or on a mesh below it, selects it.
fn select_clicked(
    click: On<Pointer<Click>>,
    bodies: Query<(), With<Particles>>,
    particles: Query<&ParticleOf>,
    inspector: Option<ResMut<Inspector>>,
) {
    let Some(mut inspector) = inspector.filter(|_| click.button == PointerButton::Primary) else {
        return;
    };
    let hit = click.entity;
    let body = particles.get(hit).map_or(hit, |of| of.0);
    if bodies.contains(body) && inspector.selected != Some(body) {
        inspector.selected = Some(body);
    }
}

/// Projection is timed by type while somebody looks at it.
fn time_in_detail(mut panel: ResMut<Panel>, diagnostics: Option<ResMut<SolverDiagnostics>>) {
    let Some(mut diagnostics) = diagnostics else { return };
    let looks = core::mem::take(&mut panel.looks_at_times);
    match (looks, panel.detailed_before) {
        (true, None) => {
            panel.detailed_before = Some(diagnostics.detailed);
            diagnostics.detailed = true;
        }
        (false, Some(before)) => {
            panel.detailed_before = None;
            diagnostics.detailed = before;
        }
        _ => {}
    }
}
