//! How the panel looks: dark and quiet, with one accent colour.

use bevy_egui::egui::{
    self, Color32, CornerRadius, FontFamily, FontId, Margin, Shadow, Stroke, Style, TextStyle,
    Visuals,
};

/// What is selected, on, or to be looked at.
pub(super) const ACCENT: Color32 = Color32::from_rgb(92, 176, 255);
/// The accent as a surface under light text.
pub(super) const ACCENT_FILL: Color32 = Color32::from_rgb(38, 88, 140);
/// Text.
pub(super) const TEXT: Color32 = Color32::from_rgb(222, 226, 232);
/// Text that must be seen first.
pub(super) const STRONG: Color32 = Color32::from_rgb(248, 250, 252);
/// Labels of fields.
pub(super) const LABELS: Color32 = Color32::from_rgb(186, 193, 204);
/// Units, and what explains.
pub(super) const WEAK: Color32 = Color32::from_rgb(154, 163, 176);
/// The panel itself: a little of the scene shows through.
pub(super) const BACKGROUND: Color32 = Color32::from_rgba_premultiplied(26, 29, 34, 247);
/// The head of a section.
pub(super) const SECTION: Color32 = Color32::from_rgb(40, 45, 53);
/// Menus.
const MENU: Color32 = Color32::from_rgb(32, 36, 43);
/// Fields that take values.
pub(super) const FIELD: Color32 = Color32::from_rgb(50, 56, 66);
/// The same below the pointer.
pub(super) const HOVERED: Color32 = Color32::from_rgb(62, 70, 83);
/// Wells: lists and plots.
pub(super) const WELL: Color32 = Color32::from_rgb(18, 20, 24);
/// Lines.
pub(super) const LINE: Color32 = Color32::from_rgb(58, 64, 74);
/// What is wrong.
pub(super) const DANGER: Color32 = Color32::from_rgb(255, 120, 112);
/// What is well.
pub(super) const GOOD: Color32 = Color32::from_rgb(112, 208, 142);
/// What waits.
pub(super) const WARNING: Color32 = Color32::from_rgb(236, 186, 92);
/// What rests.
pub(super) const IDLE: Color32 = Color32::from_rgb(120, 134, 156);

/// Colours of the three axes.
pub(super) const AXES: [Color32; 3] = [
    Color32::from_rgb(255, 128, 128),
    Color32::from_rgb(128, 220, 140),
    Color32::from_rgb(120, 172, 255),
];

/// Height of a row (points).
pub(super) const ROW: f32 = 22.0;
/// Width of the column of labels (points).
pub(super) const LABEL: f32 = 112.0;
/// Width of the window's contents (points).
pub(super) const WIDTH: f32 = 300.0 + GUTTER;
/// What is left free at their right, for what scrolls (points).
pub(super) const GUTTER: f32 = 6.0;

pub(super) fn font(size: f32) -> FontId {
    FontId::new(size, FontFamily::Proportional)
}

/// The style of all that the panel shows.
pub(super) fn style() -> Style {
    let mut style = Style { visuals: Visuals::dark(), animation_time: 0.08, ..Style::default() };
    style.text_styles = [
        (TextStyle::Heading, font(16.0)),
        (TextStyle::Body, font(13.0)),
        (TextStyle::Button, font(13.0)),
        (TextStyle::Monospace, FontId::new(12.0, FontFamily::Monospace)),
        (TextStyle::Small, font(11.0)),
    ]
    .into();
    style.drag_value_text_style = TextStyle::Body;
    style.explanation_tooltips = false;
    let spacing = &mut style.spacing;
    spacing.item_spacing = egui::vec2(4.0, 4.0);
    spacing.button_padding = egui::vec2(7.0, 2.0);
    spacing.interact_size = egui::vec2(36.0, ROW);
    spacing.icon_width = 15.0;
    spacing.icon_width_inner = 9.0;
    spacing.combo_height = 260.0;
    spacing.tooltip_width = 260.0;
    spacing.scroll.floating = true;
    spacing.scroll.bar_width = GUTTER;
    spacing.scroll.floating_width = 3.0;
    spacing.scroll.bar_inner_margin = 0.0;
    style.interaction.selectable_labels = false;
    style.interaction.tooltip_delay = 0.35;
    paint(&mut style.visuals);
    style
}

fn paint(visuals: &mut Visuals) {
    let radius = CornerRadius::same(4);
    let line = |color| Stroke::new(1.0, color);
    visuals.weak_text_color = Some(WEAK);
    visuals.window_fill = BACKGROUND;
    visuals.window_stroke = line(LINE);
    visuals.window_corner_radius = CornerRadius::same(8);
    visuals.menu_corner_radius = CornerRadius::same(6);
    visuals.window_shadow =
        Shadow { offset: [0, 6], blur: 18, spread: 0, color: Color32::from_black_alpha(110) };
    visuals.panel_fill = BACKGROUND;
    visuals.extreme_bg_color = WELL;
    visuals.selection.bg_fill = ACCENT_FILL;
    visuals.selection.stroke = line(STRONG);
    visuals.hyperlink_color = ACCENT;
    visuals.disabled_alpha = 0.45;
    let widgets = &mut visuals.widgets;
    let states = [
        (&mut widgets.noninteractive, BACKGROUND, LINE, TEXT),
        (&mut widgets.inactive, FIELD, FIELD, TEXT),
        (&mut widgets.hovered, HOVERED, Color32::from_rgb(86, 97, 114), STRONG),
        (&mut widgets.active, ACCENT_FILL, ACCENT, STRONG),
        (&mut widgets.open, HOVERED, LINE, STRONG),
    ];
    for (widget, fill, edge, text) in states {
        widget.bg_fill = fill;
        widget.weak_bg_fill = fill;
        widget.bg_stroke = line(edge);
        widget.fg_stroke = line(text);
        widget.corner_radius = radius;
        widget.expansion = 0.0;
    }
}

/// The style of menus: nothing shows through.
pub(super) fn menu_style() -> Style {
    let mut style = style();
    style.visuals.window_fill = MENU;
    style
}

/// The frame of the window.
pub(super) fn window_frame(style: &Style) -> egui::Frame {
    egui::Frame::window(style).inner_margin(Margin { left: 12, right: 6, top: 8, bottom: 12 })
}
