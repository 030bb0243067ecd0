//! The inspector: an egui panel that shows and tunes what is simulated.
//!
//! ```text
//!  plugin, window     what an app adds; where the panel stands
//!  mod                the tabs:  simulation (timing), bodies (body), view
//!  body               the fields of one body:  recipe, pins, body_settings, constraints
//!  field, number      rows: a label, a widget, an accessible name; numbers as text
//!  theme, mark        how it looks; a box around the body that is meant
//! ```
//!
//! What it edits are resources and components; it writes them only when a value changed, so that other code
//! sees edits by change detection. What it shows are diagnostics, components and
//! [`SolverView`](crate::solver::SolverView). What would take long to find, such as the constraints of a body by
//! type, is kept between frames.

mod bodies;
mod body;
mod body_settings;
mod constraints;
mod field;
mod mark;
mod number;
mod pins;
mod plugin;
mod recipe;
mod simulation;
mod state;
mod theme;
mod timing;
mod view;
mod window;

pub use plugin::InspectorPlugin;
pub use state::{Inspector, InspectorSide, InspectorTab};

use crate::solver::{SolverClock, SolverControl, SolverDiagnostics, SolverSettings};
use alloc::sync::Arc;
use bevy::prelude::*;
use bevy_egui::egui;
use plugin::Troubles;

/// What the panel keeps between frames.
#[derive(Resource)]
struct Panel {
    style: Arc<egui::Style>,
    placed: Option<window::Placed>,
    /// Whether the times were shown in this frame.
    looks_at_times: bool,
    /// While projection is timed by type for the panel: whether it was before.
    detailed_before: Option<bool>,
    /// The body whose row the pointer is on.
    marked: Option<Entity>,
    bodies: bodies::Known,
    constraints: constraints::Known,
    pins: pins::Known,
    timing: timing::Timing,
}

impl Default for Panel {
    fn default() -> Self {
        Self {
            style: Arc::new(theme::style()),
            placed: None,
            looks_at_times: false,
            detailed_before: None,
            marked: None,
            bodies: default(),
            constraints: default(),
            pins: default(),
            timing: default(),
        }
    }
}

/// The panel, for a layout of your own, in any egui context: it takes the width that it is given (260 points at
/// least look well), and scrolls where it is given less height than it needs.
///
/// ```no_run
/// # use bevy::prelude::*;
/// # use bevy_pliant::interact::{InspectorPlugin, inspector_ui};
/// use bevy_egui::{EguiContext, EguiPrimaryContextPass, PrimaryEguiContext, egui};
///
/// fn tools(world: &mut World) {
///     let mut contexts = world.query_filtered::<&mut EguiContext, With<PrimaryEguiContext>>();
///     let Ok(mut context) = contexts.single_mut(world) else { return };
///     let context = context.get_mut().clone();
///     egui::Window::new("Tools").show(&context, |ui| inspector_ui(ui, world));
/// }
///
/// # let mut app = App::new();
/// app.add_plugins(InspectorPlugin::embedded()).add_systems(EguiPrimaryContextPass, tools);
/// ```
///
/// With [`InspectorPlugin`] in the app, [embedded](InspectorPlugin::embedded) if there shall be no window, it
/// also knows why bodies fail, times projection by type of constraint, and selects bodies that are clicked.
/// Without the solver it says so.
pub fn inspector_ui(ui: &mut egui::Ui, world: &mut World) {
    world.init_resource::<Inspector>();
    world.init_resource::<Troubles>();
    world.init_resource::<Panel>();
    world.resource_scope(|world, mut panel: Mut<Panel>| {
        ui.scope(|ui| {
            ui.set_style(panel.style.clone());
            let has_solver = world.contains_resource::<SolverDiagnostics>()
                && world.contains_resource::<SolverSettings>()
                && world.contains_resource::<SolverControl>()
                && world.contains_resource::<SolverClock>();
            if has_solver {
                tabs(ui, world, &mut panel);
            } else {
                field::note(ui, "There is no solver in this app: add PliantPlugins.");
            }
        });
    });
}

fn tabs(ui: &mut egui::Ui, world: &mut World, panel: &mut Panel) {
    let width = (ui.available_width() - theme::GUTTER).max(1.0);
    ui.scope(|ui| {
        ui.set_max_width(width);
        simulation::transport(ui, world);
        ui.add_space(2.0);
        choose_tab(ui, world);
        ui.add_space(2.0);
        if world.resource::<Inspector>().tab == InspectorTab::Bodies {
            // The list scrolls by itself, above the fields.
            bodies::list(ui, world, panel);
        }
    });
    let tab = world.resource::<Inspector>().tab;
    egui::ScrollArea::vertical()
        .id_salt(("pliant", tab))
        .auto_shrink([false, true])
        .max_height(ui.available_height())
        .show(ui, |ui| {
            ui.set_max_width(width);
            match tab {
                InspectorTab::Simulation => simulation::show(ui, world, panel),
                InspectorTab::Bodies => body::show(ui, world, panel),
                InspectorTab::View => view::show(ui, world),
            }
        });
}

const TABS: [InspectorTab; 3] =
    [InspectorTab::Simulation, InspectorTab::Bodies, InspectorTab::View];

/// The tabs: words with a line below the one in front.
fn choose_tab(ui: &mut egui::Ui, world: &mut World) {
    let current = world.resource::<Inspector>().tab;
    let names = [
        ("Simulation", "The solver's settings, and where the time goes"),
        ("Bodies", "What is alive, and the fields of one body"),
        ("View", "What is drawn: lines, strain, contacts and more"),
    ];
    let size = egui::vec2(ui.available_width(), 28.0);
    let (rect, _) = ui.allocate_exact_size(size, egui::Sense::hover());
    let width = rect.width() / TABS.len() as f32;
    ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, egui::Stroke::new(1.0, theme::LINE));
    for (i, (tab, (name, tooltip))) in TABS.into_iter().zip(names).enumerate() {
        let min = rect.min + egui::vec2(i as f32 * width, 0.0);
        let place = egui::Rect::from_min_size(min, egui::vec2(width, rect.height()));
        let response = ui.interact(place, ui.id().with(name), egui::Sense::click());
        let front = tab == current;
        response.widget_info(|| {
            egui::WidgetInfo::selected(egui::WidgetType::SelectableLabel, true, front, name)
        });
        let color = if front || response.hovered() { theme::STRONG } else { theme::WEAK };
        let font = theme::font(13.5);
        ui.painter().text(place.center(), egui::Align2::CENTER_CENTER, name, font, color);
        if front {
            let line = egui::Stroke::new(2.0, theme::ACCENT);
            ui.painter().hline(
                place.shrink2(egui::vec2(8.0, 0.0)).x_range(),
                rect.bottom() - 1.0,
                line,
            );
        }
        field::focus_ring(ui, &response);
        if response.clicked() && !front {
            world.resource_mut::<Inspector>().tab = tab;
        }
        field::hint(response, name, tooltip);
    }
}
