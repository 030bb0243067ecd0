//! What every example shares: command line, window or headless app, report, cameras and stage.
//!
//! An example says who it is, adds its plugins and scene, and runs:
//!
//! ```ignore
//! mod common;
//! use common::{Args, Example, Measures, Opt, Ready};
//!
//! const OPTIONS: &[Opt] = &[
//!     Opt::count("columns", 40, 2..=400, "particles along the top edge"),
//!     Opt::real("wind", 3.0, 0.0..=30.0, "wind speed, m/s"),
//! ];
//!
//! fn main() -> AppExit {
//!     Example {
//!         name: "cloth",
//!         about: "A linen cloth hangs from its upper corners.",
//!         options: OPTIONS,
//!         measure: |world| Measures { /* particles, hash … */ ..default() },
//!     }
//!     .app()
//!     .add_plugins((PliantPlugins::default(), common::stage::StagePlugin::default()))
//!     .add_systems(Startup, scene) // reads `Res<Args>`: `args.count("columns")`
//!     .add_systems(Update, say_when_built) // sets `ResMut<Ready>` once every body is built
//!     .run()
//! }
//! ```
//!
//! * [`cli`]: the options that all examples have, and each scene's own.
//! * [`headless`]: a windowed app or, without display or on `--headless`, an offscreen one.
//! * [`frames`]: holds the clock until [`Ready`], counts frames, takes the picture, exits.
//! * [`panel`]: the inspector, unless `--no-panel`.
//! * [`pointer`]: what a pointer does, line by line, for scripts that move a real one.
//! * [`report`]: the numbers of a run as JSON.
//! * [`camera`]: an orbit camera and a flat one.
//! * [`characters`]: ragdolls in the plane: views of them, a toss, a silhouette.
//! * [`stage2d`]: a flat scene in metres, with walls at the edges of the picture.
//! * [`stage`]: floor, backdrop and lights for pictures of cloth.
//! * [`texture`]: tiled textures with mip levels.
//! * [`views`]: what `--view` shows from the start.
#![allow(
    clippy::allow_attributes,
    dead_code,
    unused_imports,
    reason = "no example uses all of this module"
)]

pub mod bodies;
pub mod camera;
pub mod characters;
pub mod cli;
pub mod frames;
pub mod headless;
pub mod panel;
pub mod pointer;
pub mod report;
pub mod stage;
pub mod stage2d;
pub mod texture;
pub mod views;

pub use camera::{FlatCamera, OrbitCamera};
pub use cli::{Args, Opt};
pub use frames::{Held, Ready};
pub use headless::Offscreen;
pub use report::Measures;

use bevy::prelude::*;

/// An example's identity: what its help and its report say, and how to measure its world.
pub struct Example {
    /// The name of the example, as after `cargo run --example`.
    pub name: &'static str,
    /// One sentence for `--help`.
    pub about: &'static str,
    /// The scene's own options.
    pub options: &'static [Opt],
    /// Reads the report's numbers off the world; called once, at exit.
    pub measure: fn(&mut World) -> Measures,
}

impl Example {
    /// An app with Bevy's default plugins and all of this module, windowed or headless as the
    /// command line and the machine have it.
    ///
    /// Ends the process with status 0 after `--help`, and with 2 where the command line is wrong.
    pub fn app(self) -> App {
        let mut args = match cli::parse(&self, std::env::args_os().skip(1)) {
            Ok(cli::Parsed::Run(args)) => args,
            Ok(cli::Parsed::Help(text)) => {
                print(&text);
                std::process::exit(0);
            }
            Err(error) => {
                say(&format!("{}: {error} (--help lists the options)", self.name));
                std::process::exit(2);
            }
        };
        let mut app = headless::app(self.name, &mut args);
        app.insert_resource(args)
            .insert_resource(report::Reporter::new(self.name, self.measure))
            .add_plugins((
                frames::FramesPlugin,
                panel::PanelPlugin,
                camera::CameraControlPlugin,
                texture::MipmapPlugin,
                views::ViewsPlugin,
            ));
        app
    }
}

/// Writes a line to the standard error stream, where an example speaks to its user.
#[expect(clippy::print_stderr, reason = "examples are programs with users")]
pub fn say(line: &str) {
    eprintln!("{line}");
}

/// Writes a line to the standard output stream, which is for results alone.
#[expect(clippy::print_stdout, reason = "the report and the help text are output")]
pub fn print(line: &str) {
    println!("{line}");
}
