//! Where the time of a tick goes: a plot of the last ten seconds by stage, and the numbers beside it.
//!
//! The measurements are those of [`PliantDiagnosticsPlugin`] in Bevy's store. They are sorted into bins a few
//! times a second rather than in each frame.

use super::{field, simulation::grouped};
use crate::solver::{PliantDiagnosticsPlugin, SolverDiagnostics, Stage};
use bevy::{
    diagnostic::{DiagnosticPath, DiagnosticsStore},
    platform::time::Instant,
    prelude::*,
};
use bevy_egui::egui::{self, Color32, RichText, Ui};
use core::time::Duration;
use egui_plot::{FilledArea, Plot};

/// What is shown (s).
const SPAN: f64 = 10.0;
/// Bins of the plot.
const BINS: usize = 100;
/// How often they are filled anew.
const EVERY: Duration = Duration::from_millis(200);
/// Over how long the numbers are averaged (bins).
const RECENT: usize = 10;

/// The plot's data.
#[derive(Resource, Default)]
pub(super) struct Timing {
    series: Vec<Series>,
    filled: Option<Instant>,
}

struct Series {
    title: String,
    tooltip: &'static str,
    color: Color32,
    /// By bin, the newest last (ms).
    values: [f64; BINS],
}

impl Series {
    /// Mean of the newest bins (ms).
    fn recent(&self) -> f64 {
        self.values[BINS - RECENT..].iter().sum::<f64>() / RECENT as f64
    }
}

/// A type of constraint as a person calls it: `DistanceConstraint` is `Distance`.
pub(super) fn title(name: &str) -> String {
    let short = name.strip_suffix("Constraint").unwrap_or(name);
    let mut words = String::with_capacity(short.len() + 2);
    for (i, letter) in short.chars().enumerate() {
        if i > 0 && letter.is_uppercase() {
            words.push(' ');
            words.extend(letter.to_lowercase());
        } else {
            words.push(letter);
        }
    }
    words
}

/// Blues and greens for the types of constraints.
const TYPES: [Color32; 6] = [
    Color32::from_rgb(0x3d, 0x8f, 0xd6),
    Color32::from_rgb(0x2c, 0xb5, 0xc4),
    Color32::from_rgb(0x74, 0xb8, 0xf2),
    Color32::from_rgb(0x2a, 0x64, 0xb0),
    Color32::from_rgb(0x8f, 0xd3, 0xdd),
    Color32::from_rgb(0x56, 0x79, 0xd8),
];

/// The stages that have a colour of their own, and what each does; projection is shown by type.
const STAGES: [(Stage, &str, &str, Color32); 6] = [
    (Stage::Predict, "Predict", "Forces move the particles", Color32::from_rgb(0x9a, 0x7b, 0xd1)),
    (
        Stage::Contacts,
        "Contacts",
        "Particles are pushed out of obstacles and of one another",
        Color32::from_rgb(0xe0, 0x8a, 0x3c),
    ),
    (
        Stage::Velocities,
        "Velocities",
        "Velocities follow from what was moved",
        Color32::from_rgb(0xd8, 0xc2, 0x4a),
    ),
    (Stage::Gather, "Gather", "From components to the solver", Color32::from_rgb(0x7f, 0x9b, 0x6a)),
    (
        Stage::WriteBack,
        "Write back",
        "From the solver to components",
        Color32::from_rgb(0xa9, 0xc4, 0x8c),
    ),
    (Stage::Skin, "Skin", "Drawn meshes follow, once a frame", Color32::from_rgb(0xd4, 0x6a, 0x9c)),
];

/// The rest, as one.
const OTHERS: [Stage; 5] =
    [Stage::Build, Stage::Compile, Stage::SampleTargets, Stage::Sleep, Stage::Interpolate];

/// Adds up what was measured at `path` into bins, a mean each; a bin without measurements keeps the one
/// before.
fn fill(values: &mut [f64; BINS], store: &DiagnosticsStore, path: &DiagnosticPath, now: Instant) {
    let Some(diagnostic) = store.get(path) else { return };
    let (mut sums, mut counts) = ([0.0; BINS], [0u32; BINS]);
    for measured in diagnostic.measurements() {
        let age = now.saturating_duration_since(measured.time).as_secs_f64();
        let bin = ((1.0 - age / SPAN) * BINS as f64).floor();
        if bin >= 0.0 && measured.value.is_finite() {
            let bin = (bin as usize).min(BINS - 1);
            sums[bin] += measured.value;
            counts[bin] += 1;
        }
    }
    let mut last = 0.0;
    for ((value, sum), count) in values.iter_mut().zip(sums).zip(counts) {
        if count > 0 {
            last = sum / f64::from(count);
        }
        *value += last;
    }
}

impl Timing {
    fn refill(&mut self, store: &DiagnosticsStore, diagnostics: &SolverDiagnostics, now: Instant) {
        self.filled = Some(now);
        self.series.clear();
        let mut add = |title: String, tooltip, color, paths: &[DiagnosticPath]| {
            let mut series = Series { title, tooltip, color, values: [0.0; BINS] };
            paths.iter().for_each(|path| fill(&mut series.values, store, path, now));
            self.series.push(series);
        };
        let [predict, others @ ..] = &STAGES;
        let own = PliantDiagnosticsPlugin::stage;
        let (stage, title_of_it, tooltip, color) = predict;
        add((*title_of_it).to_owned(), tooltip, *color, &[own(*stage)]);
        let types = diagnostics.project_times();
        if types.is_empty() {
            add("Project".to_owned(), "Constraints", TYPES[0], &[own(Stage::Project)]);
        }
        let mut colors = TYPES.iter().cycle();
        for (name, _) in types {
            let has_any = diagnostics.constraints_by_type.get(name).copied() != Some(0);
            let color = *colors.next().unwrap_or(&TYPES[0]);
            if has_any {
                let path = PliantDiagnosticsPlugin::project(name);
                add(title(name), "Projection of these constraints", color, &[path]);
            }
        }
        for (stage, title, tooltip, color) in others {
            add((*title).to_owned(), tooltip, *color, &[own(*stage)]);
        }
        let tooltip = "Building, compiling, targets, sleep, blending";
        add("Other".to_owned(), tooltip, field::IDLE, &OTHERS.map(own));
    }
}

pub(super) fn show(ui: &mut Ui, world: &mut World) {
    if !world.contains_resource::<DiagnosticsStore>() {
        field::note(ui, "No DiagnosticsStore in the app.");
        return;
    }
    world.resource_scope(|world, mut timing: Mut<Timing>| {
        let now = Instant::now();
        if timing.filled.is_none_or(|at| now.saturating_duration_since(at) >= EVERY) {
            let diagnostics = world.resource::<SolverDiagnostics>();
            timing.refill(world.resource::<DiagnosticsStore>(), diagnostics, now);
        }
        plot(ui, &timing.series);
        ui.add_space(4.0);
        numbers(ui, &timing.series, world.resource::<SolverDiagnostics>());
    });
}

fn plot(ui: &mut Ui, series: &[Series]) {
    let step = SPAN / BINS as f64;
    let ages: [f64; BINS] = core::array::from_fn(|bin| (bin + 1) as f64 * step - SPAN);
    let mut below = [0.0; BINS];
    let mut areas = Vec::with_capacity(series.len());
    for one in series {
        let above: [f64; BINS] = core::array::from_fn(|bin| below[bin] + one.values[bin]);
        let area = FilledArea::new(one.title.clone(), &ages, &below, &above)
            .fill_color(one.color)
            .allow_hover(false);
        areas.push(area);
        below = above;
    }
    let most = below.into_iter().fold(0.05, f64::max);
    let response = Plot::new("time of a tick")
        .height(110.0)
        .show_x(false)
        .show_y(false)
        .allow_drag(false)
        .allow_zoom(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .allow_double_click_reset(false)
        .show_grid([false, true])
        .set_margin_fraction(egui::vec2(0.0, 0.06))
        .default_x_bounds(-SPAN, 0.0)
        .include_y(0.0)
        .include_y(most)
        .x_axis_formatter(|mark, _| format!("{} s", mark.value))
        .y_axis_formatter(|mark, _| field::format(mark.value))
        .y_axis_label("ms")
        .show(ui, |plot| {
            for area in areas {
                plot.add(area);
            }
        })
        .response;
    field::name(ui, &response, "Time of a tick over the last 10 seconds, by stage");
}

/// The legend: a colour, a name and milliseconds for each stage, in two columns.
fn numbers(ui: &mut Ui, series: &[Series], diagnostics: &SolverDiagnostics) {
    ui.columns(2, |columns| {
        let half = series.len().div_ceil(2);
        for (i, one) in series.iter().enumerate() {
            let ui = &mut columns[usize::from(i >= half)];
            let shown = ui.horizontal(|ui| {
                let (rect, _) = ui.allocate_exact_size(egui::vec2(9.0, 9.0), egui::Sense::hover());
                ui.painter().rect_filled(rect, 2.0, one.color);
                ui.add(egui::Label::new(RichText::new(&one.title).small()).selectable(false));
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    let ms = RichText::new(format!("{:.2}", one.recent())).small().monospace();
                    ui.label(ms);
                });
            });
            shown.response.on_hover_text(format!("{}: ms a tick, mean of a second", one.tooltip));
        }
    });
    let total: f64 = series.iter().map(Series::recent).sum();
    let text = format!(
        "{total:.2} ms, {} particles, {} constraints",
        grouped(diagnostics.particles),
        grouped(diagnostics.constraints)
    );
    field::note(ui, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_names_that_people_say() {
        assert_eq!(title("DistanceConstraint"), "Distance");
        assert_eq!(title("ShapeMatchingConstraint"), "Shape matching");
        assert_eq!(title("Attachment"), "Attachment");
    }
}
