//! The panel's window: at an edge of the screen until it is moved, as tall as what it shows, and never taller
//! than the screen.

use super::{Inspector, InspectorSide, Panel, field, inspector_ui, theme};
use bevy::prelude::*;
use bevy_egui::{
    EguiContext, PrimaryEguiContext,
    egui::{self, Align2, Rect, Sense, Stroke, Ui, WidgetInfo, WidgetType, pos2, vec2},
};

/// Distance from the edges of the screen (points).
const MARGIN: f32 = 10.0;

/// The id of the window.
const WINDOW: &str = "bevy_pliant inspector";

/// Where the window was put.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Placed {
    screen: Rect,
    corner: egui::Pos2,
}

pub(super) fn show_window(
    world: &mut World,
    contexts: &mut QueryState<&mut EguiContext, With<PrimaryEguiContext>>,
) {
    if !world.get_resource::<Inspector>().is_some_and(|inspector| inspector.open) {
        return;
    }
    let Ok(mut context) = contexts.single_mut(world) else { return };
    let context = context.get_mut().clone();
    // Until egui knows its camera, the screen is endless.
    let whole = context.content_rect();
    if !(whole.width() > 2.0 * MARGIN && whole.width() < 1e4 && whole.height() > 2.0 * MARGIN) {
        return;
    }
    let screen = whole.shrink(MARGIN);
    let Inspector { side, folded, .. } = *world.resource::<Inspector>();
    let style = world.resource::<Panel>().style.clone();
    let frame = theme::window_frame(&style);
    let margins = frame.total_margin().sum();
    let width = theme::WIDTH.min(screen.width() - margins.x);
    let (pivot, corner) = match side {
        InspectorSide::Left => (Align2::LEFT_TOP, screen.left_top()),
        InspectorSide::Right => (Align2::RIGHT_TOP, screen.right_top()),
    };
    let mut window = egui::Window::new("bevy_pliant")
        .id(egui::Id::new(WINDOW))
        .title_bar(false)
        .frame(frame)
        .pivot(pivot)
        .default_pos(corner)
        .default_size(vec2(width, screen.height()))
        .resizable(false)
        .constrain_to(screen);
    // When the screen gets another size, what stands at its edge stays there.
    let placed = Placed { screen, corner };
    let before = world.resource::<Panel>().placed;
    if before != Some(placed) {
        let moved = before.is_some_and(|before| {
            let area = egui::AreaState::load(&context, egui::Id::new(WINDOW));
            area.and_then(|area| area.pivot_pos).is_some_and(|at| at.distance(before.corner) > 1.0)
        });
        if !moved {
            window = window.current_pos(corner);
        }
        world.resource_mut::<Panel>().placed = Some(placed);
    }
    window.show(&context, |ui| {
        ui.set_style(style);
        ui.set_width(width);
        ui.set_max_height(screen.height() - margins.y);
        head(ui, world, folded);
        if !folded {
            ui.add_space(2.0);
            inspector_ui(ui, world);
        }
    });
}

/// Name, and what folds and closes the window.
fn head(ui: &mut Ui, world: &mut World, folded: bool) {
    let size = vec2(ui.available_width() - theme::GUTTER, 20.0);
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let button = |at: f32, name: &str, tooltip: &str| {
        let place = Rect::from_center_size(pos2(at, rect.center().y), vec2(20.0, 20.0));
        let response = ui.interact(place, ui.id().with(at.to_bits()), Sense::click());
        response.widget_info(|| WidgetInfo::labeled(WidgetType::Button, true, name));
        if response.hovered() {
            ui.painter().rect_filled(place, 4.0, theme::FIELD);
        }
        field::focus_ring(ui, &response);
        field::hint(response, name, tooltip).clicked()
    };
    let at = rect.left() + 8.0;
    let name = if folded { "Unfold panel" } else { "Fold panel" };
    if button(at, name, "Shows only this line, or all") {
        world.resource_mut::<Inspector>().folded = !folded;
    }
    field::chevron(ui, pos2(at, rect.center().y), if folded { 0.0 } else { 1.0 });
    let title = pos2(rect.left() + 22.0, rect.center().y);
    ui.painter().text(title, Align2::LEFT_CENTER, "Pliant", theme::font(14.0), theme::STRONG);
    let at = rect.right() - 8.0;
    if button(at, "Close panel", "Closes the panel; its key shows it again") {
        world.resource_mut::<Inspector>().open = false;
    }
    let centre = pos2(at, rect.center().y);
    for flip in [-1.0, 1.0] {
        let arm = vec2(4.0, 4.0 * flip);
        let stroke = Stroke::new(1.5, theme::WEAK);
        ui.painter().line_segment([centre - arm, centre + arm], stroke);
    }
}
