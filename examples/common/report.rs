//! The numbers of a run, as JSON.

use std::{fs, io, path::Path};

use bevy::{prelude::*, render::renderer::RenderAdapterInfo};
use serde_json::{Value, json};

use super::Args;

/// What an example measures in its world at exit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measures {
    /// Ticks that the solver has run.
    pub ticks: u64,
    /// Particles in the world.
    pub particles: usize,
    /// Constraints in the world.
    pub constraints: usize,
    /// Islands that the solver found.
    pub islands: usize,
    /// Mean time of a tick (ms).
    pub ms_per_tick: f64,
    /// The largest ratio of a constraint's length to its rest length; of a joint, 1 + the gap between its
    /// anchors over the distance of its bones' centres at rest.
    pub max_stretch: f64,
    /// Kinetic energy (J).
    pub kinetic_energy_j: f64,
    /// Hash of all particle states.
    pub hash: u64,
    /// Whether every particle state is finite.
    pub finite: bool,
}

/// The report of a run: its [`Measures`] and what was run where.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Name of the example.
    pub example: &'static str,
    /// Frames counted since the scene was ready.
    pub frames: u32,
    /// What the example measured.
    pub measures: Measures,
    /// Name of the graphics adapter, if there is one.
    pub adapter: Option<String>,
}

impl Report {
    /// The report as indented JSON, keys in the order of the fields. Numbers that are not finite
    /// become `null`.
    pub fn to_json(&self) -> String {
        let m = &self.measures;
        let fields: [(&str, Value); 12] = [
            ("example", json!(self.example)),
            ("frames", json!(self.frames)),
            ("ticks", json!(m.ticks)),
            ("particles", json!(m.particles)),
            ("constraints", json!(m.constraints)),
            ("islands", json!(m.islands)),
            ("ms_per_tick", json!(m.ms_per_tick)),
            ("max_stretch", json!(m.max_stretch)),
            ("kinetic_energy_j", json!(m.kinetic_energy_j)),
            ("hash", json!(format!("{:016x}", m.hash))),
            ("adapter", json!(self.adapter)),
            ("finite", json!(m.finite)),
        ];
        // A map of `serde_json` would sort the keys.
        let lines = fields.map(|(key, value)| format!("  \"{key}\": {value}"));
        format!("{{\n{}\n}}", lines.join(",\n"))
    }
}

/// Makes the report of this run, once.
#[derive(Resource, Clone)]
pub struct Reporter {
    example: &'static str,
    measure: fn(&mut World) -> Measures,
    reported: bool,
}

impl Reporter {
    /// A reporter for the example of this name, with its way to measure its world.
    pub const fn new(example: &'static str, measure: fn(&mut World) -> Measures) -> Self {
        Self { example, measure, reported: false }
    }

    /// Writes the report to where the command line wants it, if it has not been written yet.
    ///
    /// A headless run also prints it. The error is one line for the user.
    pub fn report(world: &mut World, frames: u32) -> Result<(), String> {
        let mut reporter = world.resource_mut::<Self>();
        if reporter.reported {
            return Ok(());
        }
        reporter.reported = true;
        let Self { example, measure, .. } = *reporter;
        let args = world.resource::<Args>().clone();
        if args.report.is_none() && !args.headless {
            return Ok(());
        }
        let report = Report {
            example,
            frames,
            measures: measure(world),
            adapter: world.get_resource::<RenderAdapterInfo>().map(|adapter| adapter.name.clone()),
        };
        let text = report.to_json();
        let path = args.report.filter(|path| path.as_os_str() != "-");
        if args.headless || path.is_none() {
            super::print(&text);
        }
        let Some(path) = path else { return Ok(()) };
        make_parent(&path)
            .and_then(|()| fs::write(&path, text + "\n"))
            .map_err(|error| format!("{}: cannot write the report: {error}", path.display()))
    }
}

/// Makes the folder that a file is to be written to.
pub fn make_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) => fs::create_dir_all(folder),
        None => Ok(()),
    }
}
