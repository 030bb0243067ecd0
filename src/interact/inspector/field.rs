//! Rows of the panel: a label at the left, at the right a widget that edits one value.
//!
//! A widget says whether the user changed its value; the caller writes it back only then. Each has its label as
//! accessible name, and the range that it accepts; what is not a finite number is never accepted, whether
//! dragged, typed or sent by an assistive technology.

use super::{number, theme};
use bevy::math::Vec3;
use bevy_egui::egui::{
    self, Align, Align2, DragValue, Layout, Rect, Response, RichText, Sense, Stroke, StrokeKind,
    TextWrapMode, Ui, UiBuilder, WidgetInfo, WidgetType, collapsing_header::CollapsingState, pos2,
    vec2,
};
use core::ops::RangeInclusive;

/// Gives a widget its accessible name.
pub(super) fn name(ui: &Ui, response: &Response, name: &str) {
    ui.ctx().accesskit_node_builder(response.id, |node| node.set_label(name));
}

/// A group of rows under a heading that folds, and stays as it was left.
pub(super) fn section(ui: &mut Ui, title: &str, open: bool, rows: impl FnOnce(&mut Ui)) {
    // Of all bodies: what is open stays open when another one is selected.
    let id = egui::Id::new(("bevy_pliant section", title));
    let mut state = CollapsingState::load_with_default_open(ui.ctx(), id, open);
    ui.add_space(2.0);
    let size = vec2(ui.available_width(), 24.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    response.widget_info(|| {
        let kind = WidgetType::CollapsingHeader;
        WidgetInfo::selected(kind, ui.is_enabled(), state.is_open(), title)
    });
    let fill = if response.hovered() { theme::FIELD } else { theme::SECTION };
    ui.painter().rect_filled(rect, 4.0, fill);
    chevron(ui, rect.left_center() + vec2(11.0, 0.0), state.openness(ui.ctx()));
    let at = rect.left_center() + vec2(22.0, 0.0);
    ui.painter().text(at, Align2::LEFT_CENTER, title, theme::font(13.0), theme::STRONG);
    focus_ring(ui, &response);
    if response.clicked() {
        state.toggle(ui);
    }
    state.show_body_unindented(ui, |ui| {
        ui.add_space(1.0);
        rows(ui);
        ui.add_space(3.0);
    });
}

/// Points right where something is shut, down where it is open.
pub(super) fn chevron(ui: &Ui, centre: egui::Pos2, openness: f32) {
    let turn = egui::emath::Rot2::from_angle(openness * core::f32::consts::FRAC_PI_2);
    let corners = [vec2(-2.0, -4.0), vec2(2.5, 0.0), vec2(-2.0, 4.0)];
    let points = corners.map(|corner| centre + turn * corner).to_vec();
    ui.painter().add(egui::Shape::line(points, Stroke::new(1.5, theme::WEAK)));
}

/// Shows where the keyboard is.
pub(super) fn focus_ring(ui: &Ui, response: &Response) {
    if response.has_focus() {
        let stroke = Stroke::new(1.0, theme::ACCENT);
        ui.painter().rect_stroke(response.rect, 4.0, stroke, StrokeKind::Inside);
    }
}

/// One quiet line.
pub(super) fn note(ui: &mut Ui, text: impl Into<String>) {
    ui.label(RichText::new(text).color(theme::WEAK).size(12.0));
}

/// A heading within a section: what the rows below it are of, and how many there are.
pub(super) fn heading(ui: &mut Ui, text: &str, count: &str) {
    ui.add_space(2.0);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 18.0), Sense::hover());
    response
        .widget_info(|| WidgetInfo::labeled(WidgetType::Label, true, format!("{text}, {count}")));
    let painter = ui.painter();
    let (left, right) = (rect.left_center(), rect.right_center());
    painter.text(left, Align2::LEFT_CENTER, text, theme::font(12.5), theme::TEXT);
    painter.text(right, Align2::RIGHT_CENTER, count, theme::font(12.0), theme::WEAK);
}

/// A row: the label, and what `add` puts beside it.
pub(super) fn row<R>(ui: &mut Ui, label: &str, tooltip: &str, add: impl FnOnce(&mut Ui) -> R) -> R {
    let size = vec2(ui.available_width(), ui.spacing().interact_size.y);
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let split = rect.left() + theme::LABEL.min(0.5 * rect.width());
    let left = Rect::from_min_max(rect.min, pos2(split - 4.0, rect.bottom()));
    let color = if ui.is_enabled() { theme::LABELS } else { theme::LABELS.gamma_multiply(0.5) };
    ui.painter().with_clip_rect(left.intersect(ui.clip_rect())).text(
        left.left_center() + vec2(4.0, 0.0),
        Align2::LEFT_CENTER,
        label,
        theme::font(13.0),
        color,
    );
    if !tooltip.is_empty() {
        let id = ui.id().with(("label", label));
        ui.interact(left, id, Sense::hover()).on_hover_ui(|ui| explain(ui, label, tooltip, ""));
    }
    let right = Rect::from_min_max(pos2(split, rect.top()), rect.max);
    let layout = Layout::left_to_right(Align::Center);
    let mut child = ui.new_child(UiBuilder::new().id_salt(label).max_rect(right).layout(layout));
    add(&mut child)
}

/// A row that only tells.
pub(super) fn told(ui: &mut Ui, label: &str, tooltip: &str, value: &str) {
    row(ui, label, tooltip, |ui| {
        let rect = ui.available_rect_before_wrap();
        let response = ui.interact(rect, ui.id().with("told"), Sense::hover());
        response.widget_info(|| {
            WidgetInfo::labeled(WidgetType::Label, true, format!("{label}: {value}"))
        });
        let at = rect.right_center() - vec2(6.0, 0.0);
        ui.painter().text(at, Align2::RIGHT_CENTER, value, theme::font(13.0), theme::TEXT);
    });
}

/// What a tooltip says, in colours that can be read on the app's own tooltips.
pub(super) fn explain(ui: &mut Ui, title: &str, text: &str, range: &str) {
    ui.set_max_width(260.0);
    let dark = ui.visuals().dark_mode;
    let own = |color, theirs| if dark { color } else { theirs };
    let visuals = ui.visuals();
    let strong = own(theme::STRONG, visuals.strong_text_color());
    let plain = own(theme::TEXT, visuals.text_color());
    let weak = own(theme::LABELS, visuals.weak_text_color());
    for (line, color, size) in [(title, strong, 13.0), (text, plain, 12.5), (range, weak, 11.5)] {
        if !line.is_empty() {
            ui.label(RichText::new(line).color(color).size(size));
        }
    }
}

/// A tooltip.
pub(super) fn hint(response: Response, title: &str, text: &str) -> Response {
    response.on_hover_ui(|ui| explain(ui, title, text, ""))
}

/// A number with its unit and range.
#[derive(Clone, Debug)]
pub(super) struct Number {
    unit: &'static str,
    range: RangeInclusive<f64>,
    /// Change by a point of dragging; `Err`: in proportion to the value, at least this.
    speed: Result<f64, f64>,
    whole: bool,
}

impl Number {
    /// A number that is dragged in even steps.
    pub const fn new(unit: &'static str, range: RangeInclusive<f64>, speed: f64) -> Self {
        Self { unit, range, speed: Ok(speed), whole: false }
    }

    /// A number over many orders of magnitude, that is dragged by parts of itself; from 0 on by `least`.
    pub const fn wide(unit: &'static str, range: RangeInclusive<f64>, least: f64) -> Self {
        Self { unit, range, speed: Err(least), whole: false }
    }

    /// A whole number.
    pub const fn whole(unit: &'static str, range: RangeInclusive<f64>) -> Self {
        Self { unit, range, speed: Ok(0.15), whole: true }
    }

    /// The widget; the new value, if the user gave it another. `axis` is that of one of three numbers.
    pub fn add(
        &self,
        ui: &mut Ui,
        label: &str,
        tooltip: &str,
        value: f64,
        width: f32,
        axis: Option<usize>,
    ) -> Option<f64> {
        let (min, max) = (*self.range.start(), *self.range.end());
        let (whole, narrow) = (self.whole, axis.is_some());
        let show = move |number: f64| number::format(number, whole, narrow);
        let mut edited = value;
        let edit = |asked: Option<f64>| {
            if let Some(asked) = asked.filter(|asked| asked.is_finite()) {
                let asked = if whole { asked.round() } else { asked }.clamp(min, max);
                // A field that is entered and left again holds what it showed, which is rounded.
                if show(asked) != show(value) {
                    edited = asked;
                }
            }
            edited
        };
        let speed = match self.speed {
            Err(least) if value.is_finite() => (0.01 * value.abs()).max(least),
            Ok(speed) | Err(speed) => speed,
        };
        let mut widget = DragValue::from_get_set(edit)
            .range(self.range.clone())
            .clamp_existing_to_range(false)
            // Half a number is not meant: typing 40 does not pass through 4.
            .update_while_editing(false)
            .speed(speed)
            .custom_formatter(move |number, _| show(number))
            .custom_parser(number::parse);
        if !self.unit.is_empty() && !narrow {
            widget = widget.suffix(RichText::new(format!(" {}", self.unit)).color(theme::WEAK));
        }
        // To ask for a size costs less than a style of its own.
        let response = ui.add_sized([width, ui.spacing().interact_size.y], widget);
        name(ui, &response, label);
        if let Some(axis) = axis {
            let edge = Rect::from_min_size(response.rect.min, vec2(3.0, response.rect.height()));
            let color = theme::AXES[axis.min(2)];
            ui.painter().rect_filled(edge.shrink2(vec2(0.5, 4.0)), 1.0, color);
        }
        response.on_hover_ui(|ui| explain(ui, label, tooltip, &self.limits()));
        (edited.to_bits() != value.to_bits()).then_some(edited)
    }

    fn limits(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        let end = |end: &f64| number::format(*end, self.whole, false);
        format!(
            "{} to {}{unit}. Drag, or click and type.",
            end(self.range.start()),
            end(self.range.end())
        )
    }

    /// A row that edits a number; whether it was changed.
    pub fn row(&self, ui: &mut Ui, label: &str, tooltip: &str, value: &mut f32) -> bool {
        self.row_named(ui, label, label, tooltip, value)
    }

    /// The same, where the label alone would be ambiguous: by another accessible name.
    pub fn row_named(
        &self,
        ui: &mut Ui,
        label: &str,
        name: &str,
        tooltip: &str,
        value: &mut f32,
    ) -> bool {
        row(ui, label, tooltip, |ui| {
            let width = ui.available_width();
            let new = self.add(ui, name, tooltip, number::exact(*value), width, None);
            new.map(|new| *value = new as f32).is_some()
        })
    }

    /// A row that edits a whole number; whether it was changed.
    pub fn row_u32(&self, ui: &mut Ui, label: &str, tooltip: &str, value: &mut u32) -> bool {
        row(ui, label, tooltip, |ui| {
            let width = ui.available_width();
            let new = self.add(ui, label, tooltip, f64::from(*value), width, None);
            new.map(|new| *value = new as u32).is_some()
        })
    }

    /// A row that edits a number which may be left to somebody else: a box, and beside it the number or what
    /// it is otherwise; whether it was changed. `start` is what it begins with.
    pub fn optional_row(
        &self,
        ui: &mut Ui,
        label: &str,
        tooltip: &str,
        value: &mut Option<f32>,
        start: f32,
        otherwise: &str,
    ) -> bool {
        row(ui, label, tooltip, |ui| {
            let mut own = value.is_some();
            let asked = format!("Own {}", label.to_lowercase());
            let tip = format!("Whether it has a value of its own; {otherwise} if not.");
            let mut changed = tick_box(ui, &asked, &tip, &mut own);
            if changed {
                *value = own.then_some(start);
            }
            match value {
                Some(value) => {
                    let width = ui.available_width();
                    let new = self.add(ui, label, tooltip, number::exact(*value), width, None);
                    if let Some(new) = new {
                        *value = new as f32;
                        changed = true;
                    }
                }
                None => note(ui, otherwise),
            }
            changed
        })
    }

    /// A row of three numbers; whether any was changed.
    pub fn row_vec3(&self, ui: &mut Ui, label: &str, tooltip: &str, value: &mut Vec3) -> bool {
        row(ui, label, tooltip, |ui| {
            let width = (ui.available_width() - 2.0 * ui.spacing().item_spacing.x) / 3.0;
            let mut changed = false;
            for (axis, letter) in ["x", "y", "z"].into_iter().enumerate() {
                let label = format!("{label} {letter}");
                let before = number::exact(value[axis]);
                if let Some(new) = self.add(ui, &label, tooltip, before, width, Some(axis)) {
                    value[axis] = new as f32;
                    changed = true;
                }
            }
            changed
        })
    }
}

/// A switch.
pub(super) fn tick_box(ui: &mut Ui, label: &str, tooltip: &str, value: &mut bool) -> bool {
    let size = vec2(30.0, ui.spacing().interact_size.y);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    response
        .widget_info(|| WidgetInfo::selected(WidgetType::Checkbox, ui.is_enabled(), *value, label));
    draw_switch(ui, rect, &response, *value);
    let clicked = response.clicked();
    if clicked {
        *value = !*value;
    }
    if !tooltip.is_empty() {
        response.on_hover_ui(|ui| explain(ui, label, tooltip, ""));
    }
    clicked
}

/// A switch that is a whole row, its label included; whether it was thrown.
pub(super) fn toggle(ui: &mut Ui, label: &str, tooltip: &str, value: &mut bool) -> bool {
    let size = vec2(ui.available_width(), ui.spacing().interact_size.y);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    response
        .widget_info(|| WidgetInfo::selected(WidgetType::Checkbox, ui.is_enabled(), *value, label));
    if response.hovered() {
        ui.painter().rect_filled(rect, 4.0, theme::SECTION);
    }
    let color = if *value { theme::STRONG } else { theme::LABELS };
    let at = rect.left_center() + vec2(4.0, 0.0);
    ui.painter().text(at, Align2::LEFT_CENTER, label, theme::font(13.0), color);
    let right = Rect::from_min_max(pos2(rect.right() - 34.0, rect.top()), rect.max);
    draw_switch(ui, right, &response, *value);
    let clicked = response.clicked();
    if clicked {
        *value = !*value;
    }
    response.on_hover_ui(|ui| explain(ui, label, tooltip, ""));
    clicked
}

fn draw_switch(ui: &Ui, rect: Rect, response: &Response, on: bool) {
    let how = ui.ctx().animate_bool_responsive(response.id, on);
    let track = Rect::from_center_size(rect.center(), vec2(28.0, 15.0));
    let off = if response.hovered() { theme::HOVERED } else { theme::FIELD };
    let fill = off.lerp_to_gamma(theme::ACCENT, 0.75 * how);
    ui.painter().rect_filled(track, 7.5, fill);
    let ends = track.left() + 7.5..=track.right() - 7.5;
    let knob = pos2(egui::lerp(ends, how), track.center().y);
    ui.painter().circle_filled(knob, 5.0, theme::LABELS.lerp_to_gamma(theme::STRONG, how));
    focus_ring(ui, response);
}

/// A row with a switch; whether it was thrown.
pub(super) fn tick(ui: &mut Ui, label: &str, tooltip: &str, value: &mut bool) -> bool {
    row(ui, label, tooltip, |ui| tick_box(ui, label, tooltip, value))
}

/// A row that chooses among `choices`, side by side where they are short, else in a menu; whether it was
/// changed. What is none of them is shown as `other`.
pub(super) fn choose<T: Clone + PartialEq>(
    ui: &mut Ui,
    label: &str,
    tooltip: &str,
    value: &mut T,
    choices: &[(T, &str)],
    other: &str,
) -> bool {
    let known = choices.iter().position(|(choice, _)| choice == value);
    let letters: usize = choices.iter().map(|(_, name)| name.len()).sum();
    let names: Vec<&str> = choices.iter().map(|(_, name)| *name).collect();
    let side_by_side = known.is_some() && choices.len() <= 3 && letters <= 22;
    let chosen = row(ui, label, tooltip, |ui| {
        if side_by_side {
            segments(ui, label, tooltip, known, &names)
        } else {
            menu(ui, label, tooltip, known, &names, other)
        }
    });
    if let Some(chosen) = chosen.filter(|chosen| Some(*chosen) != known) {
        *value = choices[chosen].0.clone();
        return true;
    }
    false
}

/// Buttons side by side of which one is down; the one that was clicked.
pub(super) fn segments(
    ui: &mut Ui,
    label: &str,
    tooltip: &str,
    down: Option<usize>,
    names: &[&str],
) -> Option<usize> {
    let gap = 2.0;
    let all = ui.available_rect_before_wrap();
    let count = names.len().max(1) as f32;
    let width = ((all.width() - gap * (count - 1.0)) / count).max(1.0);
    let mut clicked = None;
    for (i, text) in names.iter().enumerate() {
        let selected = down == Some(i);
        let left = all.left() + i as f32 * (width + gap);
        let rect = Rect::from_min_size(pos2(left, all.top()), vec2(width, all.height()));
        let response = ui.interact(rect, ui.id().with(i), Sense::click());
        response.widget_info(|| {
            let name =
                if label.is_empty() { (*text).to_owned() } else { format!("{label}: {text}") };
            WidgetInfo::selected(WidgetType::SelectableLabel, ui.is_enabled(), selected, name)
        });
        let visuals = ui.style().interact(&response);
        let (fill, color) = if selected {
            (theme::ACCENT_FILL, theme::STRONG)
        } else {
            (visuals.bg_fill, visuals.text_color())
        };
        ui.painter().rect_filled(rect, 4.0, fill);
        ui.painter().text(rect.center(), Align2::CENTER_CENTER, text, theme::font(13.0), color);
        focus_ring(ui, &response);
        if response.clicked() {
            clicked = Some(i);
        }
        if !tooltip.is_empty() {
            response.on_hover_ui(|ui| explain(ui, text, tooltip, ""));
        }
    }
    clicked
}

/// A menu that shows what is chosen; what was clicked in it.
pub(super) fn menu(
    ui: &mut Ui,
    label: &str,
    tooltip: &str,
    known: Option<usize>,
    names: &[&str],
    other: &str,
) -> Option<usize> {
    let shown = known.and_then(|known| names.get(known)).copied().unwrap_or(other);
    let combo = egui::ComboBox::from_id_salt(label)
        .width(ui.available_width())
        .selected_text(shown)
        .wrap_mode(TextWrapMode::Truncate)
        .popup_style(egui::style::StyleModifier::new(|style| *style = theme::menu_style()))
        .show_ui(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 1.0;
            let mut clicked = None;
            for (i, name) in names.iter().enumerate() {
                if ui.selectable_label(known == Some(i), *name).clicked() {
                    clicked = Some(i);
                }
            }
            clicked
        });
    name(ui, &combo.response, label);
    combo.response.on_hover_ui(|ui| explain(ui, label, tooltip, ""));
    combo.inner.flatten()
}

/// Buttons that share the width of the panel; the one that was clicked. Each is its text, its accessible name
/// and its tooltip.
pub(super) fn buttons(ui: &mut Ui, all: &[(RichText, &str, &str, bool)]) -> Option<usize> {
    let mut clicked = None;
    ui.horizontal(|ui| {
        let gap = ui.spacing().item_spacing.x;
        let count = all.len().max(1) as f32;
        let width = (ui.available_width() - gap * (count - 1.0)) / count;
        for (i, (text, label, tooltip, enabled)) in all.iter().enumerate() {
            let size = vec2(width, ui.spacing().interact_size.y);
            let button = egui::Button::new(text.clone()).min_size(size).truncate();
            let response = ui.add_enabled_ui(*enabled, |ui| ui.add_sized(size, button)).inner;
            name(ui, &response, label);
            if response.clicked() {
                clicked = Some(i);
            }
            response
                .on_hover_ui(|ui| explain(ui, label, tooltip, ""))
                .on_disabled_hover_ui(|ui| explain(ui, label, tooltip, ""));
        }
    });
    clicked
}
