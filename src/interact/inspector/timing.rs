//! Where the time of a tick goes: a number, a plot of the last seconds, and a list by stage.
//!
//! Measurements come from Bevy's `DiagnosticsStore`; ten times a second they are sorted into bins of a tenth
//! of a second, so that the plot does not shimmer, the numbers can be read, and a frame costs little. While
//! the simulation is paused the plot stands still.

use super::{field, number, theme};
use crate::solver::{PliantDiagnosticsPlugin, SolverDiagnostics, Stage};
use bevy::{
    diagnostic::{Diagnostic, DiagnosticPath, DiagnosticsStore},
    platform::time::Instant,
    prelude::*,
};
use bevy_egui::egui::{
    self, Align2, Color32, Pos2, Rect, Sense, Ui, WidgetInfo, WidgetType, pos2, vec2,
};
use egui_plot::{FilledArea, GridMark, Plot, PlotBounds};

/// Bins of the plot, and how long each is (s): ten seconds in all.
const BINS: usize = 100;
const BIN: f64 = 0.1;
/// A gap between measurements that is no longer than this is bridged (bins): frames may be slow.
const BRIDGED: usize = 30;

/// One layer of the plot.
#[derive(Debug)]
struct Series {
    name: String,
    tip: &'static str,
    color: Color32,
    /// Mean time of a tick in each bin (ms), oldest first.
    bins: Vec<f64>,
    /// Mean of the last second (ms).
    now: f64,
}

/// The plot as it was drawn last.
#[derive(Debug, Default)]
pub(super) struct Timing {
    series: Vec<Series>,
    /// When it was read, in bins since the first reading.
    read: Option<i64>,
    start: Option<Instant>,
    /// The top of the plot (ms).
    top: f64,
    /// Mean time of a tick in the last second, and the longest of the last ten (ms).
    mean: f64,
    worst: f64,
}

/// Stages that have layers of their own, from below.
const STAGES: [(Stage, &str, &str, Color32); 6] = [
    (
        Stage::Gather,
        "Gather",
        "Reading components into the solver's arrays.",
        color(0x6b, 0x7f, 0xd7),
    ),
    (
        Stage::Predict,
        "Predict",
        "Forces, air, and where particles would fly freely.",
        color(0x4f, 0xb3, 0xd9),
    ),
    (
        Stage::Contacts,
        "Contacts",
        "Obstacles, self contact and contact between bodies.",
        color(0xe5, 0x6b, 0x6f),
    ),
    (
        Stage::Velocities,
        "Velocities",
        "Velocities from positions; friction, restitution, damping.",
        color(0xb5, 0x83, 0xd6),
    ),
    (
        Stage::WriteBack,
        "Write back",
        "Writing the solver's arrays back into components.",
        color(0x7d, 0x8b, 0xa0),
    ),
    (Stage::Skin, "Skin", "Updating what is drawn; once a frame.", color(0x5f, 0xc9, 0x9a)),
];

/// Colours of the types of constraints, which stand between `Predict` and `Contacts`.
const TYPES: [Color32; 5] = [
    color(0xf2, 0xb1, 0x34),
    color(0xf6, 0xd3, 0x65),
    color(0xe8, 0x8d, 0x3a),
    color(0xcf, 0xc0, 0x4c),
    color(0xd9, 0x9c, 0x6c),
];

const OTHERS: [Stage; 5] =
    [Stage::Build, Stage::Compile, Stage::SampleTargets, Stage::Sleep, Stage::Interpolate];

const fn color(r: u8, g: u8, b: u8) -> Color32 {
    Color32::from_rgb(r, g, b)
}

impl Timing {
    /// Shows them.
    pub(super) fn show(&mut self, ui: &mut Ui, world: &World, budget: Option<f64>) {
        let Some(store) = world.get_resource::<DiagnosticsStore>() else {
            return field::note(
                ui,
                "This app has no DiagnosticsStore: add Bevy's DiagnosticsPlugin.",
            );
        };
        if store.get(&PliantDiagnosticsPlugin::TICK).is_none() {
            return field::note(ui, "Nothing is measured: PliantDiagnosticsPlugin is missing.");
        }
        let types =
            world.get_resource::<SolverDiagnostics>().map_or(&[][..], |d| d.project_times());
        self.read(store, types.iter().map(|(name, _)| *name));
        self.headline(ui, budget);
        self.plot(ui);
        self.list(ui);
    }

    /// Reads the store anew if a bin has passed since the last measurement that was read.
    fn read<'a>(&mut self, store: &DiagnosticsStore, types: impl Iterator<Item = &'a str>) {
        let ticks = store.get(&PliantDiagnosticsPlugin::TICK);
        let Some(last) = ticks.and_then(Diagnostic::measurement) else { return };
        let start = *self.start.get_or_insert(last.time);
        let bins_since = |at: Instant| {
            let since = match at.checked_duration_since(start) {
                Some(after) => after.as_secs_f64(),
                None => -start.saturating_duration_since(at).as_secs_f64(),
            };
            (since / BIN).floor() as i64
        };
        let bin = bins_since(last.time);
        if self.read == Some(bin) {
            return;
        }
        self.read = Some(bin);
        // The current bin is not full yet.
        let bin_of = |at: Instant| BINS as i64 - (bin - bins_since(at));
        let reader = Reader { store, bin_of: &bin_of };
        self.series.clear();
        let tick = reader.bins(&PliantDiagnosticsPlugin::TICK);
        let ran: Vec<bool> = tick.iter().map(|time| *time > 0.0).collect();
        let mut rest = reader.bins(&PliantDiagnosticsPlugin::stage(Stage::Project));
        let mut typed = Vec::new();
        for (i, name) in types.enumerate() {
            let bins = reader.bins(&PliantDiagnosticsPlugin::project(name));
            rest.iter_mut().zip(&bins).for_each(|(rest, part)| *rest = (*rest - part).max(0.0));
            typed.push(Series::new(
                number::title(name),
                "Projecting the constraints of this type.",
                TYPES[i % TYPES.len()],
                bins,
                &ran,
            ));
        }
        typed.retain(|series| series.bins.iter().any(|time| *time > 1e-4));
        for (stage, name, tip, color) in STAGES {
            if stage == Stage::Contacts {
                if typed.is_empty() {
                    let tip = "Projecting constraints.";
                    let rest = core::mem::replace(&mut rest, vec![0.0; BINS]);
                    self.series.push(Series::new("Constraints".into(), tip, TYPES[0], rest, &ran));
                }
                self.series.append(&mut typed);
            }
            let bins = reader.bins(&PliantDiagnosticsPlugin::stage(stage));
            self.series.push(Series::new(name.into(), tip, color, bins, &ran));
        }
        // What projection takes beside its constraints is small: it is among the others.
        let mut others = rest;
        for stage in OTHERS {
            let bins = reader.bins(&PliantDiagnosticsPlugin::stage(stage));
            others.iter_mut().zip(bins).for_each(|(sum, part)| *sum += part);
        }
        let tip = "Building, compiling, sampling anchors and obstacles, sleep, blending.";
        self.series.push(Series::new("Others".into(), tip, color(0x56, 0x5f, 0x6e), others, &ran));
        self.mean = recent(&tick, &ran);
        self.worst = reader.worst(&PliantDiagnosticsPlugin::TICK);
        let sum = |i: usize| self.series.iter().map(|series| series.bins[i]).sum::<f64>();
        let peak = (0..BINS).map(sum).fold(0.0, f64::max);
        self.top = nice(1.08 * peak);
    }

    /// The number that is looked for first.
    fn headline(&self, ui: &mut Ui, budget: Option<f64>) {
        let size = vec2(ui.available_width(), 34.0);
        let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
        let text = format!("{} ms a tick", ms(self.mean));
        response.widget_info(|| WidgetInfo::labeled(WidgetType::Other, true, &text));
        let painter = ui.painter();
        let big = painter.text(
            rect.left_top() + vec2(0.0, -2.0),
            Align2::LEFT_TOP,
            ms(self.mean),
            theme::font(24.0),
            theme::STRONG,
        );
        let beside = |y: f32, text: String| {
            let at = pos2(big.right() + 6.0, rect.top() + y);
            painter.text(at, Align2::LEFT_CENTER, text, theme::font(11.5), theme::WEAK);
        };
        beside(7.0, "ms a tick".into());
        beside(21.0, format!("longest {} ms", ms(self.worst)));
        let Some(budget) = budget.filter(|budget| *budget > 0.0) else { return };
        let part = (self.mean / budget).clamp(0.0, 1.0) as f32;
        let right = rect.right_top();
        let share = format!(
            "{:.0} % of {} ms",
            1e2 * self.mean / budget,
            number::format(budget, false, true)
        );
        painter.text(
            right + vec2(0.0, 7.0),
            Align2::RIGHT_CENTER,
            share,
            theme::font(11.5),
            theme::WEAK,
        );
        let bar = Rect::from_min_size(right + vec2(-110.0, 18.0), vec2(110.0, 5.0));
        let full = if part < 0.7 { theme::ACCENT } else { theme::DANGER };
        painter.rect_filled(bar, 2.5, theme::FIELD);
        painter.rect_filled(Rect::from_min_size(bar.min, vec2(110.0 * part, 5.0)), 2.5, full);
        let text = "Time that the solver takes for a tick, mean of the last second; the longest tick of the last \
             ten seconds; and the share of the time between two ticks. At 100 % the game cannot keep up.";
        field::hint(response, "Time of a tick", text);
    }

    fn plot(&self, ui: &mut Ui) {
        let top = self.top;
        let shown = Plot::new("pliant times")
            .height(104.0)
            .show_axes(false)
            .show_x(false)
            .show_y(false)
            .allow_drag(false)
            .allow_zoom(false)
            .allow_scroll(false)
            .allow_boxed_zoom(false)
            .allow_axis_zoom_drag(false)
            .allow_double_click_reset(false)
            .sense(Sense::hover())
            .set_margin_fraction(egui::Vec2::ZERO)
            .grid_color(theme::LINE)
            .grid_fade(0.0)
            .x_grid_spacer(|_| grid(BINS as f64, 20.0))
            .y_grid_spacer(move |_| grid(top, 0.5 * top))
            .show(ui, |plot| {
                plot.set_plot_bounds(PlotBounds::from_min_max(
                    [0.0, 0.0],
                    [BINS as f64 - 1.0, top],
                ));
                let xs: Vec<f64> = (0..BINS).map(|i| i as f64).collect();
                let mut below = vec![0.0; BINS];
                for series in &self.series {
                    let above: Vec<f64> =
                        below.iter().zip(&series.bins).map(|(low, part)| low + part).collect();
                    plot.add(
                        FilledArea::new(&series.name, &xs, &below, &above)
                            .fill_color(series.color)
                            .allow_hover(false),
                    );
                    below = above;
                }
            });
        let response = shown.response;
        response.widget_info(|| {
            WidgetInfo::labeled(WidgetType::Image, true, "Plot of the time of a tick by stage")
        });
        let rect = response.rect.shrink(5.0);
        let small = |at: Pos2, align: Align2, text: &str| {
            let painter = ui.painter();
            let galley = painter.layout_no_wrap(text.into(), theme::font(10.5), theme::TEXT);
            let place = align.anchor_size(at, galley.size());
            painter.rect_filled(
                place.expand2(vec2(3.0, 1.0)),
                3.0,
                theme::WELL.gamma_multiply(0.75),
            );
            painter.galley(place.min, galley, theme::TEXT);
        };
        small(
            rect.left_top(),
            Align2::LEFT_TOP,
            &format!("{} ms", number::format(top, false, true)),
        );
        small(rect.left_bottom(), Align2::LEFT_BOTTOM, "10 s ago");
        small(rect.right_bottom(), Align2::RIGHT_BOTTOM, "now");
        let text = "Over the last ten seconds, by stage, one upon the other. Work of several threads is \
                    added up, so that with many islands the stages may take more than the tick.";
        field::hint(response, "Time of a tick", text);
    }

    /// What the colours mean, with times.
    fn list(&self, ui: &mut Ui) {
        let half = self.series.len().div_ceil(2);
        let width = 0.5 * (ui.available_width() - 14.0);
        let height = 17.0;
        let size = vec2(ui.available_width(), half as f32 * height);
        let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
        for (i, series) in self.series.iter().enumerate() {
            let (column, row) = ((i / half.max(1)) as f32, (i % half.max(1)) as f32);
            let min = rect.min + vec2(column * (width + 14.0), row * height);
            let place = Rect::from_min_size(min, vec2(width, height));
            series.entry(ui, place, i);
        }
    }
}

impl Series {
    fn new(name: String, tip: &'static str, color: Color32, bins: Vec<f64>, ran: &[bool]) -> Self {
        let now = recent(&bins, ran);
        Self { name, tip, color, bins, now }
    }

    fn entry(&self, ui: &Ui, place: Rect, index: usize) {
        let response = ui.interact(place, ui.id().with(("series", index)), Sense::hover());
        let time = ms(self.now);
        response.widget_info(|| {
            WidgetInfo::labeled(WidgetType::Other, true, format!("{}: {time} ms", self.name))
        });
        let dot = Rect::from_center_size(place.left_center() + vec2(4.0, 0.0), vec2(8.0, 8.0));
        let painter = ui.painter();
        painter.rect_filled(dot, 2.0, self.color);
        let number = painter.text(
            place.right_center(),
            Align2::RIGHT_CENTER,
            time,
            theme::font(11.5),
            theme::TEXT,
        );
        let room = Rect::from_min_max(place.min, pos2(number.left() - 4.0, place.bottom()));
        painter.with_clip_rect(room.intersect(ui.clip_rect())).text(
            place.left_center() + vec2(14.0, 0.0),
            Align2::LEFT_CENTER,
            &self.name,
            theme::font(11.5),
            theme::WEAK,
        );
        field::hint(response, &self.name, self.tip);
    }
}

/// Reads measurements into bins.
struct Reader<'a> {
    store: &'a DiagnosticsStore,
    bin_of: &'a dyn Fn(Instant) -> i64,
}

impl Reader<'_> {
    fn measured(&self, path: &DiagnosticPath) -> impl Iterator<Item = (usize, f64)> {
        let measurements = self.store.get(path).into_iter().flat_map(Diagnostic::measurements);
        measurements.filter_map(|measured| {
            let bin = usize::try_from((self.bin_of)(measured.time)).ok()?;
            (bin < BINS && measured.value.is_finite()).then_some((bin, measured.value.max(0.0)))
        })
    }

    /// The mean in each bin; short gaps hold the value before them.
    fn bins(&self, path: &DiagnosticPath) -> Vec<f64> {
        let (mut sums, mut counts) = (vec![0.0; BINS], vec![0u32; BINS]);
        for (bin, value) in self.measured(path) {
            sums[bin] += value;
            counts[bin] += 1;
        }
        let mut last: Option<usize> = None;
        for bin in 0..BINS {
            if counts[bin] == 0 {
                continue;
            }
            sums[bin] /= f64::from(counts[bin]);
            if let Some(last) = last.filter(|last| bin - last <= BRIDGED) {
                let held = sums[last];
                sums[last + 1..bin].fill(held);
            }
            last = Some(bin);
        }
        if let Some(last) = last.filter(|last| BINS - last <= 3) {
            let held = sums[last];
            sums[last + 1..].fill(held);
        }
        sums
    }

    fn worst(&self, path: &DiagnosticPath) -> f64 {
        self.measured(path).fold(0.0, |worst, (_, value)| worst.max(value))
    }
}

/// The mean of the last second in which ticks ran.
fn recent(bins: &[f64], ran: &[bool]) -> f64 {
    let measured = bins.iter().zip(ran).filter(|(_, ran)| **ran).map(|(bin, _)| *bin);
    let (mut sum, mut count) = (0.0, 0u32);
    for bin in measured.rev().take(10) {
        sum += bin;
        count += 1;
    }
    sum / f64::from(count.max(1))
}

/// A time in milliseconds, with as many digits as tell something.
fn ms(time: f64) -> String {
    if time < 10.0 { format!("{time:.2}") } else { format!("{time:.1}") }
}

/// The next round number that is no less.
fn nice(value: f64) -> f64 {
    if !(value > 1e-3 && value < 1e9) {
        return if value >= 1e9 { 1e9 } else { 1e-3 };
    }
    let power = 10f64.powf(value.log10().floor());
    [1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0]
        .into_iter()
        .map(|part| part * power)
        .find(|n| *n >= value)
        .unwrap_or(value)
}

/// Lines of a grid up to `end`.
fn grid(end: f64, step: f64) -> Vec<GridMark> {
    let count = if step > 0.0 { (end / step).min(20.0) as usize } else { 0 };
    (1..=count).map(|i| GridMark { value: i as f64 * step, step_size: end }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy::diagnostic::DiagnosticMeasurement;
    use core::time::Duration;

    #[test]
    fn measurements_fall_into_bins_and_short_gaps_are_bridged() {
        let path = DiagnosticPath::const_new("test");
        let now = Instant::now();
        let mut diagnostic = Diagnostic::new(path.clone()).with_max_history_length(64);
        // The last after a pause.
        for (at, value) in [(50, 1.0), (60, 3.0), (350, 4.0), (5000, 8.0)] {
            let time = now + Duration::from_millis(at);
            diagnostic.add_measurement(DiagnosticMeasurement { time, value });
        }
        let mut store = DiagnosticsStore::default();
        store.add(diagnostic);
        let bin_of = |at: Instant| (at.duration_since(now).as_secs_f64() / BIN) as i64;
        let reader = Reader { store: &store, bin_of: &bin_of };
        let bins = reader.bins(&path);
        assert_eq!(bins[..5], [2.0, 2.0, 2.0, 4.0, 0.0]);
        assert_eq!(bins[50], 8.0);
        assert_eq!(bins.iter().filter(|bin| **bin > 0.0).count(), 5);
        assert_eq!(reader.worst(&path), 8.0);
        // Where no tick ran there is nothing to average.
        let ran: Vec<bool> = bins.iter().map(|time| *time > 0.0).collect();
        assert_eq!(recent(&bins, &ran), (2.0 + 2.0 + 2.0 + 4.0 + 8.0) / 5.0);
        assert_eq!(recent(&bins, &[false; BINS]), 0.0);
    }

    #[test]
    fn the_scale_is_a_round_number() {
        for (value, top) in [(0.7, 0.8), (1.0, 1.0), (1.01, 1.5), (3.0, 3.0), (70.0, 80.0)] {
            assert!((nice(value) - top).abs() < 1e-9, "{value}");
        }
        for odd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(nice(odd) > 0.0 && nice(odd).is_finite());
        }
    }
}
