//! The inspector: a panel that shows and tunes what is simulated.
//!
//! Add [`InspectorPlugin`] and there is a window in the app's primary egui context, which `F1` hides and
//! shows:
//!
//! ```no_run
//! # use bevy::prelude::*;
//! # use bevy_pliant::{interact::InspectorPlugin, prelude::*};
//! App::new()
//!     .add_plugins((DefaultPlugins, PliantPlugins::default(), InspectorPlugin::default()))
//!     .run();
//! ```
//!
//! Or put it into a layout of your own, in any egui context:
//!
//! ```no_run
//! # use bevy::prelude::*;
//! # use bevy_pliant::interact::{InspectorPlugin, inspector_ui};
//! use bevy_egui::{EguiContext, EguiPrimaryContextPass, PrimaryEguiContext, egui};
//!
//! fn tools(world: &mut World) {
//!     let mut contexts = world.query_filtered::<&mut EguiContext, With<PrimaryEguiContext>>();
//!     let Ok(mut context) = contexts.single_mut(world) else { return };
//!     let context = context.get_mut().clone();
//!     egui::Window::new("Tools").show(&context, |ui| inspector_ui(ui, world));
//! }
//!
//! # let mut app = App::new();
//! app.add_plugins(InspectorPlugin::embedded()).add_systems(EguiPrimaryContextPass, tools);
//! ```
//!
//! What it edits are resources and components; it writes them only when a value changed, so that other code
//! sees edits by change detection. What it shows are diagnostics, components and
//! [`SolverView`](crate::solver::SolverView).

mod bodies;
mod body_settings;
mod constraints;
mod field;
mod pins;
mod recipe;
mod simulation;
mod timing;
mod view;

use crate::{
    particle::Particles,
    recipe::{BodyBuilt, BodyFailed},
    solver::{BodyFault, SolverDiagnostics, Teleport},
};
use bevy::{
    picking::events::{Click, Pointer},
    platform::collections::HashMap,
    prelude::*,
};
use bevy_egui::{EguiContext, EguiPlugin, EguiPrimaryContextPass, PrimaryEguiContext, egui};

/// Adds the panel: its window, a key that hides it, and selection by clicking a body in the scene.
///
/// Adds `EguiPlugin` where the app has none. Its systems: `toggle` in `Update`, `show_window` in
/// `EguiPrimaryContextPass`, `time_in_detail` in `Last`.
#[derive(Clone, Debug)]
pub struct InspectorPlugin {
    window: bool,
    key: Option<KeyCode>,
}

impl Default for InspectorPlugin {
    fn default() -> Self {
        Self { window: true, key: Some(KeyCode::F1) }
    }
}

impl InspectorPlugin {
    /// Without a window: for [`inspector_ui`] in a layout of your own.
    pub const fn embedded() -> Self {
        Self { window: false, key: None }
    }

    /// With this key to hide and show the window, or none. Default: `F1`.
    pub const fn with_key(mut self, key: Option<KeyCode>) -> Self {
        self.key = key;
        self
    }
}

impl Plugin for InspectorPlugin {
    fn build(&self, app: &mut App) {
        if !app.is_plugin_added::<EguiPlugin>() {
            app.add_plugins(EguiPlugin::default());
        }
        app.init_resource::<Inspector>()
            .init_resource::<timing::Timing>()
            .init_resource::<Troubles>()
            .add_observer(select_clicked)
            .add_observer(note_failure)
            .add_observer(note_fault)
            .add_observer(forget_after_building)
            .add_observer(forget_after_teleport)
            .add_systems(Last, time_in_detail);
        if self.window {
            app.add_systems(EguiPrimaryContextPass, show_window);
        }
        if let Some(key) = self.key {
            let toggle = move |keys: Option<Res<ButtonInput<KeyCode>>>,
                               mut inspector: ResMut<Inspector>| {
                if keys.is_some_and(|keys| keys.just_pressed(key)) {
                    inspector.open = !inspector.open;
                }
            };
            app.add_systems(Update, toggle);
        }
    }
}

/// What the panel shows.
#[derive(Resource, Clone, Debug, PartialEq)]
pub struct Inspector {
    /// Whether the window is open. Default: true.
    pub open: bool,
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
            tab: InspectorTab::Simulation,
            selected: None,
            side: InspectorSide::Right,
        }
    }
}

/// A tab of the panel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum InspectorTab {
    /// Time, the solver's settings, where the time goes.
    #[default]
    Simulation,
    /// What is alive, and the fields of one body.
    Bodies,
    /// What is drawn.
    View,
}

/// A side of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum InspectorSide {
    /// The left one.
    Left,
    /// The right one.
    #[default]
    Right,
}

/// Why bodies are not well: what their recipe said, or that they are frozen.
#[derive(Resource, Default)]
struct Troubles(HashMap<Entity, String>);

fn note_failure(failed: On<BodyFailed>, mut troubles: ResMut<Troubles>) {
    troubles.0.insert(failed.entity, failed.error.to_string());
}

fn note_fault(fault: On<BodyFault>, mut troubles: ResMut<Troubles>) {
    let what = match fault.particles.len() {
        1 => "The state of a particle".to_owned(),
        count => format!("The state of {count} particles"),
    };
    let told = format!("{what} stopped being finite; it is frozen at its last finite pose.");
    troubles.0.insert(fault.entity, told);
}

fn forget_after_building(built: On<BodyBuilt>, mut troubles: ResMut<Troubles>) {
    troubles.0.remove(&built.entity);
}

fn forget_after_teleport(teleport: On<Teleport>, mut troubles: ResMut<Troubles>) {
    troubles.0.remove(&teleport.entity);
}

/// A click on a body, or on a mesh below it, selects it.
fn select_clicked(
    click: On<Pointer<Click>>,
    bodies: Query<(), With<Particles>>,
    mut inspector: ResMut<Inspector>,
) {
    let body = click.entity;
    if bodies.contains(body) && inspector.selected != Some(body) {
        inspector.selected = Some(body);
    }
}

/// Projection is timed by type while somebody may look at it.
fn time_in_detail(inspector: Res<Inspector>, mut diagnostics: ResMut<SolverDiagnostics>) {
    let wanted = inspector.open && inspector.tab == InspectorTab::Simulation;
    if diagnostics.detailed != wanted {
        diagnostics.detailed = wanted;
    }
}

/// Width of the window (points).
const WIDTH: f32 = 292.0;
/// Its distance from the edges of the screen (points).
const MARGIN: f32 = 10.0;

fn show_window(
    world: &mut World,
    contexts: &mut QueryState<&mut EguiContext, With<PrimaryEguiContext>>,
) {
    if !world.resource::<Inspector>().open {
        return;
    }
    let Ok(mut context) = contexts.single_mut(world) else { return };
    let context = context.get_mut().clone();
    let screen = context.content_rect().shrink(MARGIN);
    let (pivot, corner) = match world.resource::<Inspector>().side {
        InspectorSide::Left => (egui::Align2::LEFT_TOP, screen.left_top()),
        InspectorSide::Right => (egui::Align2::RIGHT_TOP, screen.right_top()),
    };
    let frame = egui::Frame::window(&context.style_of(context.theme())).inner_margin(10.0);
    let title = egui::RichText::new("bevy_pliant").size(14.0);
    egui::Window::new(title)
        .id(egui::Id::new("bevy_pliant inspector"))
        .frame(frame)
        .pivot(pivot)
        .default_pos(corner)
        .default_width(WIDTH)
        .min_width(240.0)
        .max_width(480.0)
        .default_height(screen.height())
        .max_height(screen.height() - 48.0)
        .resizable([true, false])
        .constrain_to(screen)
        .show(&context, |ui| inspector_ui(ui, world));
}

/// The panel, for a layout of your own: it takes the width that it is given (240 points at least look well),
/// and scrolls where it is given less height than it needs.
///
/// It needs [`InspectorPlugin`] in the app, [embedded](InspectorPlugin::embedded) if there shall be no window;
/// without it, or without the solver, it says so.
pub fn inspector_ui(ui: &mut egui::Ui, world: &mut World) {
    if !(world.contains_resource::<Inspector>() && world.contains_resource::<SolverDiagnostics>()) {
        ui.label("The panel needs PliantPlugins and InspectorPlugin in the app.");
        return;
    }
    ui.scope(|ui| {
        field::set_style(ui);
        simulation::transport(ui, world);
        ui.add_space(4.0);
        tabs(ui, world);
        ui.separator();
        let tab = world.resource::<Inspector>().tab;
        if tab == InspectorTab::Bodies {
            // Its list scrolls by itself, above the fields.
            bodies::list(ui, world);
        }
        egui::ScrollArea::vertical().id_salt(("pliant", tab)).show(ui, |ui| match tab {
            InspectorTab::Simulation => simulation::show(ui, world),
            InspectorTab::Bodies => bodies::show(ui, world),
            InspectorTab::View => view::show(ui, world),
        });
    });
}

fn tabs(ui: &mut egui::Ui, world: &mut World) {
    let current = world.resource::<Inspector>().tab;
    let mut chosen = current;
    ui.columns(3, |columns| {
        let tabs = [
            (InspectorTab::Simulation, "Simulation", "Time, the solver, where the time goes"),
            (InspectorTab::Bodies, "Bodies", "What is alive, and its fields"),
            (InspectorTab::View, "View", "What is drawn"),
        ];
        for (ui, (tab, name, tooltip)) in columns.iter_mut().zip(tabs) {
            ui.vertical_centered_justified(|ui| {
                let button = egui::Button::selectable(tab == chosen, name);
                if ui.add(button).on_hover_text(tooltip).clicked() {
                    chosen = tab;
                }
            });
        }
    });
    if chosen != current {
        world.resource_mut::<Inspector>().tab = chosen;
    }
}
