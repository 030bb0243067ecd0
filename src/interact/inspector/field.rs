//! Rows of the panel: a label at the left, at the right a widget that edits one value.
//!
//! Each widget has its label as accessible name, and the range that it accepts; what is not a number is never
//! accepted, whether dragged, typed or sent by an assistive technology.

use bevy_egui::egui::{self, Response, RichText, Ui, UiBuilder};
use core::ops::RangeInclusive;

/// Part of a row that its label takes.
const LABEL: f32 = 0.42;

/// Colours of the panel.
pub(super) const ACCENT: egui::Color32 = egui::Color32::from_rgb(0x2f, 0x7f, 0x8f);
pub(super) const GOOD: egui::Color32 = egui::Color32::from_rgb(0x6c, 0xc0, 0x7a);
pub(super) const IDLE: egui::Color32 = egui::Color32::from_rgb(0x7d, 0x8b, 0x99);
pub(super) const WARNING: egui::Color32 = egui::Color32::from_rgb(0xe0, 0xa5, 0x4a);
pub(super) const BAD: egui::Color32 = egui::Color32::from_rgb(0xe5, 0x60, 0x5a);

/// The panel's own spacing and accent, within the user's theme.
pub(super) fn set_style(ui: &mut Ui) {
    let style = ui.style_mut();
    style.spacing.item_spacing = egui::vec2(6.0, 4.0);
    style.spacing.interact_size.y = 20.0;
    style.spacing.scroll = egui::style::ScrollStyle::thin();
    style.visuals.selection.bg_fill = ACCENT;
    style.visuals.selection.stroke.color = egui::Color32::WHITE;
    style.visuals.collapsing_header_frame = false;
}

/// A group of rows under a heading that folds.
pub(super) fn section(ui: &mut Ui, title: &str, open: bool, rows: impl FnOnce(&mut Ui)) {
    let heading = RichText::new(title).strong();
    egui::CollapsingHeader::new(heading).id_salt(title).default_open(open).show_unindented(
        ui,
        |ui| {
            ui.add_space(1.0);
            rows(ui);
            ui.add_space(4.0);
        },
    );
}

/// One quiet line.
pub(super) fn note(ui: &mut Ui, text: impl Into<String>) {
    ui.label(RichText::new(text).weak());
}

/// Gives a widget its accessible name.
pub(super) fn name(ui: &Ui, response: &Response, name: &str) {
    ui.ctx().accesskit_node_builder(response.id, |node| node.set_label(name));
}

/// A row: the label, and what `add` puts beside it.
pub(super) fn row<R>(ui: &mut Ui, label: &str, tooltip: &str, add: impl FnOnce(&mut Ui) -> R) -> R {
    ui.horizontal(|ui| {
        let height = ui.spacing().interact_size.y;
        let width = LABEL * ui.available_width();
        let (rect, hovered) =
            ui.allocate_exact_size(egui::vec2(width, height), egui::Sense::hover());
        let inner = UiBuilder::new()
            .max_rect(rect)
            .layout(egui::Layout::left_to_right(egui::Align::Center));
        // A child of its own, so that what follows begins where the label's column ends.
        let text = RichText::new(label).color(ui.visuals().text_color());
        ui.new_child(inner).add(egui::Label::new(text).truncate().selectable(false));
        if !tooltip.is_empty() {
            hovered.on_hover_text(tooltip);
        }
        add(ui)
    })
    .inner
}

/// A number with its unit and range.
#[derive(Clone, Debug)]
pub(super) struct Number {
    unit: &'static str,
    range: RangeInclusive<f64>,
    /// Change by a point of dragging; `None`: in proportion to the value, at least this.
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

    /// The widget, as wide as there is room; the new value, if it is another.
    fn add(&self, ui: &mut Ui, label: &str, tooltip: &str, value: f64, width: f32) -> Option<f64> {
        let mut edited = value;
        let speed = match self.speed {
            Ok(speed) => speed,
            Err(least) => (0.01 * value.abs()).max(least),
        };
        let widget = egui::DragValue::new(&mut edited)
            .range(self.range.clone())
            .clamp_existing_to_range(false)
            .speed(speed)
            .max_decimals_opt((self.whole).then_some(0))
            .custom_formatter(move |value, _| format(value))
            .custom_parser(parse);
        let widget =
            if self.unit.is_empty() { widget } else { widget.suffix(format!(" {}", self.unit)) };
        let response = ui.add_sized([width, ui.spacing().interact_size.y], widget);
        name(ui, &response, label);
        let text = self.explain(tooltip);
        response.on_hover_text(text);
        let edited = edited.clamp(*self.range.start(), *self.range.end());
        (edited.is_finite() && edited != value).then_some(edited)
    }

    fn explain(&self, tooltip: &str) -> String {
        let range = format!("{} … {}", format(*self.range.start()), format(*self.range.end()));
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        if tooltip.is_empty() {
            format!("{range}{unit}")
        } else {
            format!("{tooltip}\n{range}{unit}")
        }
    }

    /// A row that edits a number; whether it was changed.
    pub fn row(&self, ui: &mut Ui, label: &str, tooltip: &str, value: &mut f32) -> bool {
        row(ui, label, tooltip, |ui| {
            let width = ui.available_width();
            let new = self.add(ui, label, tooltip, exact(*value), width);
            new.map(|new| *value = new as f32).is_some()
        })
    }

    /// A row that edits a whole number; whether it was changed.
    pub fn row_u32(&self, ui: &mut Ui, label: &str, tooltip: &str, value: &mut u32) -> bool {
        row(ui, label, tooltip, |ui| {
            let width = ui.available_width();
            let new = self.add(ui, label, tooltip, f64::from(*value), width);
            new.map(|new| *value = new.round() as u32).is_some()
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
            let switch = ui.checkbox(&mut own, "");
            name(ui, &switch, &format!("Own {}", label.to_lowercase()));
            switch.on_hover_text(format!("Whether it has a value of its own ({otherwise} if not)"));
            let mut changed = own != value.is_some();
            if changed {
                *value = own.then_some(start);
            }
            match value {
                Some(value) => {
                    let width = ui.available_width();
                    if let Some(new) = self.add(ui, label, tooltip, exact(*value), width) {
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
    pub fn row_vec3(
        &self,
        ui: &mut Ui,
        label: &str,
        tooltip: &str,
        value: &mut bevy::math::Vec3,
    ) -> bool {
        row(ui, label, tooltip, |ui| {
            let spacing = ui.spacing().item_spacing.x;
            let width = (ui.available_width() - 2.0 * spacing) / 3.0;
            // The unit is in the tooltip; there is no room for three of them.
            let bare = Self { unit: "", ..self.clone() };
            let mut changed = false;
            for (axis, letter) in ["x", "y", "z"].into_iter().enumerate() {
                let text = format!("{tooltip} Along {letter}, {}.", self.unit);
                let label = format!("{label} {letter}");
                if let Some(new) = bare.add(ui, &label, &text, exact(value[axis]), width) {
                    value[axis] = new as f32;
                    changed = true;
                }
            }
            changed
        })
    }
}

/// The f64 that is written as this f32 is: 0.1 rather than 0.100000001.
fn exact(value: f32) -> f64 {
    format!("{value}").parse().unwrap_or(f64::from(value))
}

/// At most four significant digits; powers of ten where a number is very small or large.
pub(super) fn format(value: f64) -> String {
    let size = value.abs();
    if value.is_infinite() {
        return if value > 0.0 { "∞".to_owned() } else { "−∞".to_owned() };
    }
    if size == 0.0 || value.is_nan() {
        return if value.is_nan() { "?".to_owned() } else { "0".to_owned() };
    }
    if !(1e-3..1e5).contains(&size) {
        let text = format!("{value:.2e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", trimmed(digits));
    }
    let before = size.log10().floor() as i32 + 1;
    let decimals = (4 - before).clamp(0, 5) as usize;
    trimmed(&format!("{value:.decimals$}"))
}

fn trimmed(text: &str) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text.to_owned()
    }
}

/// What was typed, with or without a unit behind it; never what is not a number.
fn parse(text: &str) -> Option<f64> {
    let text = text.trim().replace('−', "-").replace(',', ".");
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
    let end = text.find(|c: char| !is_number(c)).unwrap_or(text.len());
    text[..end].parse().ok().filter(|value: &f64| value.is_finite())
}

/// A row with a box to tick; whether it was changed.
pub(super) fn tick(ui: &mut Ui, label: &str, tooltip: &str, value: &mut bool) -> bool {
    row(ui, label, tooltip, |ui| {
        let response = ui.checkbox(value, "");
        name(ui, &response, label);
        response.on_hover_text(tooltip).changed()
    })
}

/// A row that chooses among `choices`; whether it was changed. What is none of them is shown as `other`.
pub(super) fn choose<T: Clone + PartialEq>(
    ui: &mut Ui,
    label: &str,
    tooltip: &str,
    value: &mut T,
    choices: &[(T, &str)],
    other: &str,
) -> bool {
    let shown = choices.iter().find(|(choice, _)| choice == value).map_or(other, |(_, name)| name);
    let mut changed = false;
    row(ui, label, tooltip, |ui| {
        let combo = egui::ComboBox::from_id_salt(label)
            .width(ui.available_width())
            .selected_text(shown)
            .show_ui(ui, |ui| {
                for (choice, name) in choices {
                    if ui.selectable_label(choice == value, *name).clicked() && choice != value {
                        *value = choice.clone();
                        changed = true;
                    }
                }
            });
        name(ui, &combo.response, label);
        combo.response.on_hover_text(tooltip);
    });
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_read_back() {
        for (value, text) in [
            (0.0, "0"),
            (9.81, "9.81"),
            (-9.81, "-9.81"),
            (0.2, "0.2"),
            (1234.5678, "1235"),
            (1e-5, "1e-5"),
            (2.5e7, "2.5e7"),
            (f64::INFINITY, "∞"),
        ] {
            assert_eq!(format(value), text);
            if value.is_finite() {
                let read = parse(text).expect("a number");
                assert!((read - value).abs() <= 1e-3 * value.abs());
            }
        }
    }

    #[test]
    fn nothing_but_finite_numbers_is_read() {
        for text in ["NaN", "nan", "inf", "-inf", "∞", "1e999", "", "x", "--1"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(" 2,5 m/s "), Some(2.5));
        assert_eq!(parse("−3"), Some(-3.0));
    }

    #[test]
    fn an_f32_is_shown_as_it_was_written() {
        assert_eq!(exact(0.1), 0.1);
        assert_eq!(exact(1e-5), 1e-5);
    }
}
