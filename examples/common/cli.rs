//! The command line: options that every example has, and a table of the scene's own.

use core::ops::RangeInclusive;
use std::{ffi::OsString, path::PathBuf};

use bevy::prelude::*;
use bevy_pliant::interact::InspectorTab;

use super::{Example, panel, views};

/// Frames of a run that nobody watches, unless told otherwise.
const DEFAULT_FRAMES: u32 = 600;
/// Most frames that can be asked for.
const MAX_FRAMES: u32 = 100_000_000;
/// Bounds of each side of a picture (px).
const SIDES: RangeInclusive<u32> = 16..=4096;

/// An option of a scene: `--name VALUE`, or `--name` alone for a flag.
pub struct Opt {
    name: &'static str,
    help: &'static str,
    kind: Kind,
}

enum Kind {
    Flag,
    Count(u32, RangeInclusive<u32>),
    Real(f32, RangeInclusive<f32>),
    Choice(&'static str, &'static [&'static str]),
    Text(&'static str),
    File,
}

impl Opt {
    /// A switch, off unless named. Read with [`Args::flag`].
    pub const fn flag(name: &'static str, help: &'static str) -> Self {
        let kind = Kind::Flag;
        Self { name, help, kind }
    }

    /// A whole number. Read with [`Args::count`].
    pub const fn count(
        name: &'static str,
        default: u32,
        range: RangeInclusive<u32>,
        help: &'static str,
    ) -> Self {
        let kind = Kind::Count(default, range);
        Self { name, help, kind }
    }

    /// A finite number. Read with [`Args::real`].
    pub const fn real(
        name: &'static str,
        default: f32,
        range: RangeInclusive<f32>,
        help: &'static str,
    ) -> Self {
        let kind = Kind::Real(default, range);
        Self { name, help, kind }
    }

    /// One of a few words. Read with [`Args::text`].
    pub const fn choice(
        name: &'static str,
        default: &'static str,
        of: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        let kind = Kind::Choice(default, of);
        Self { name, help, kind }
    }

    /// Any text, such as a path. Read with [`Args::text`].
    pub const fn text(name: &'static str, default: &'static str, help: &'static str) -> Self {
        let kind = Kind::Text(default);
        Self { name, help, kind }
    }

    /// The path of a file, empty unless given; `--name` may be left out before it. Read with
    /// [`Args::text`].
    pub const fn file(name: &'static str, help: &'static str) -> Self {
        let kind = Kind::File;
        Self { name, help, kind }
    }

    fn default_value(&self) -> Value {
        match &self.kind {
            Kind::File => Value::Text(String::new()),
            Kind::Flag => Value::Flag(false),
            Kind::Count(default, _) => Value::Count(*default),
            Kind::Real(default, _) => Value::Real(*default),
            Kind::Choice(default, _) | Kind::Text(default) => Value::Text((*default).to_owned()),
        }
    }

    fn parse(&self, text: &str) -> Result<Value, String> {
        match &self.kind {
            Kind::Flag => Err(format!("--{} takes no value", self.name)),
            Kind::Count(_, range) => whole(self.name, text, range).map(Value::Count),
            Kind::Real(_, range) => match text.parse::<f32>() {
                // NaN lies in no range.
                Ok(x) if range.contains(&x) => Ok(Value::Real(x)),
                _ => Err(format!(
                    "--{} {text}: expected a number from {} to {}",
                    self.name,
                    range.start(),
                    range.end()
                )),
            },
            Kind::Choice(_, of) if !of.contains(&text) => {
                Err(format!("--{} {text}: expected one of {}", self.name, of.join(", ")))
            }
            Kind::Choice(..) | Kind::Text(_) | Kind::File => Ok(Value::Text(text.to_owned())),
        }
    }

    fn usage(&self) -> (String, String) {
        let Self { name, help, kind } = self;
        match kind {
            Kind::Flag => (format!("--{name}"), (*help).to_owned()),
            Kind::Count(d, r) => (
                format!("--{name} N"),
                format!("{help} ({} to {}; default {d})", r.start(), r.end()),
            ),
            Kind::Real(d, r) => (
                format!("--{name} X"),
                format!("{help} ({} to {}; default {d})", r.start(), r.end()),
            ),
            Kind::Choice(d, of) => {
                (format!("--{name} WORD"), format!("{help} ({}; default {d})", of.join(", ")))
            }
            Kind::File => (format!("[--{name}] PATH"), (*help).to_owned()),
            Kind::Text("") => (format!("--{name} TEXT"), (*help).to_owned()),
            Kind::Text(d) => (format!("--{name} TEXT"), format!("{help} (default {d})")),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Flag(bool),
    Count(u32),
    Real(f32),
    Text(String),
}

/// The command line, as a resource.
#[derive(Resource, Clone, Debug, PartialEq)]
pub struct Args {
    /// Frames to run before exiting; `None` runs until the window is closed.
    pub frames: Option<u32>,
    /// Whether the app runs without a window.
    pub headless: bool,
    /// Where to save a picture of the last frame.
    pub screenshot: Option<PathBuf>,
    /// Where to write the report; `-` is the standard output stream.
    pub report: Option<PathBuf>,
    /// Whether the scene may show its panel.
    pub panel: bool,
    /// The tab of the panel that is shown first. Default: the scene's own.
    pub tab: Option<InspectorTab>,
    /// Which of [`VIEWS`](bevy_pliant::interact::VIEWS) are shown from the start, by place.
    pub views: Vec<usize>,
    /// Size of the window or picture (px). Default: 1280 × 720.
    pub size: UVec2,
    /// Pixels of a picture for each point of a panel or text, headless. Default: 1.
    pub scale: f32,
    scene: Vec<(&'static str, Value)>,
}

impl Args {
    /// The value of an [`Opt::flag`].
    pub fn flag(&self, name: &str) -> bool {
        match self.value(name) {
            Value::Flag(on) => *on,
            other => mistyped(name, other),
        }
    }

    /// The value of an [`Opt::count`].
    pub fn count(&self, name: &str) -> u32 {
        match self.value(name) {
            Value::Count(n) => *n,
            other => mistyped(name, other),
        }
    }

    /// The value of an [`Opt::real`].
    pub fn real(&self, name: &str) -> f32 {
        match self.value(name) {
            Value::Real(x) => *x,
            other => mistyped(name, other),
        }
    }

    /// The value of an [`Opt::choice`] or [`Opt::text`].
    pub fn text(&self, name: &str) -> &str {
        match self.value(name) {
            Value::Text(text) => text,
            other => mistyped(name, other),
        }
    }

    /// The number of frames after which a run that nobody watches ends.
    pub fn frame_limit(&self) -> Option<u32> {
        let unwatched = self.headless || self.screenshot.is_some();
        self.frames.or(unwatched.then_some(DEFAULT_FRAMES))
    }

    fn value(&self, name: &str) -> &Value {
        let found = self.scene.iter().find(|(n, _)| *n == name);
        &found.unwrap_or_else(|| panic!("the example declares no option --{name}")).1
    }
}

fn mistyped(name: &str, value: &Value) -> ! {
    panic!("the example declares --{name} with another type: {value:?}")
}

/// What a command line asks for.
#[derive(Debug, PartialEq)]
pub enum Parsed {
    /// Run so.
    Run(Args),
    /// Print this and leave.
    Help(String),
}

/// Reads the command line (without the program's name).
///
/// `--name VALUE` and `--name=VALUE` both do; the last of several wins. The error is one line that
/// says what was expected.
pub fn parse(
    example: &Example,
    command_line: impl IntoIterator<Item = OsString>,
) -> Result<Parsed, String> {
    let mut args = Args {
        frames: None,
        headless: false,
        screenshot: None,
        report: None,
        panel: true,
        tab: None,
        views: Vec::new(),
        size: UVec2::new(1280, 720),
        scale: 1.0,
        scene: example.options.iter().map(|option| (option.name, option.default_value())).collect(),
    };
    let mut words = Vec::new();
    for word in command_line {
        let word = word.into_string();
        words.push(word.map_err(|w| format!("{}: not UTF-8", w.display()))?);
    }
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--") else {
            let file = example.options.iter().position(|o| matches!(o.kind, Kind::File));
            match file.map(|i| &mut args.scene[i].1) {
                Some(file) if *file == Value::Text(String::new()) => *file = Value::Text(word),
                _ => return Err(format!("{word}: expected an option that begins with --")),
            }
            continue;
        };
        let (name, inline) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        let scene = example.options.iter().position(|o| o.name == name);
        let is_flag = match scene {
            Some(i) => matches!(example.options[i].kind, Kind::Flag),
            None => matches!(name, "help" | "headless" | "no-panel"),
        };
        if is_flag {
            match (inline, scene, name) {
                (Some(_), ..) => return Err(format!("--{name} takes no value")),
                (_, Some(i), _) => args.scene[i].1 = Value::Flag(true),
                (_, _, "help") => return Ok(Parsed::Help(help(example))),
                (_, _, "headless") => args.headless = true,
                _ => args.panel = false,
            }
            continue;
        }
        let known =
            matches!(name, "frames" | "screenshot" | "report" | "size" | "scale" | "tab" | "view");
        if scene.is_none() && !known {
            return Err(format!("--{name}: no such option"));
        }
        let value = inline
            .or_else(|| words.next_if(|word| !word.starts_with("--")))
            .filter(|value| !value.is_empty())
            .ok_or_else(|| format!("--{name}: expected a value after it"))?;
        match (scene, name) {
            (Some(i), _) => args.scene[i].1 = example.options[i].parse(&value)?,
            (_, "frames") => args.frames = Some(whole(name, &value, &(1..=MAX_FRAMES))?),
            (_, "screenshot") => args.screenshot = Some(picture(&value)?),
            (_, "report") => args.report = Some(value.into()),
            (_, "scale") => args.scale = scale(&value)?,
            (_, "tab") => args.tab = Some(panel::tab(&value)?),
            (_, "view") => args.views = views::parse(&value)?,
            _ => args.size = size(&value)?,
        }
    }
    Ok(Parsed::Run(args))
}

fn whole(name: &str, text: &str, range: &RangeInclusive<u32>) -> Result<u32, String> {
    match text.parse() {
        Ok(n) if range.contains(&n) => Ok(n),
        _ => Err(format!(
            "--{name} {text}: expected a whole number from {} to {}",
            range.start(),
            range.end()
        )),
    }
}

fn picture(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension() {
        Some(extension) if extension.eq_ignore_ascii_case("png") => Ok(path),
        _ => Err(format!("--screenshot {text}: expected a path ending in .png")),
    }
}

fn size(text: &str) -> Result<UVec2, String> {
    let side = |side: &str| side.parse().ok().filter(|n| SIDES.contains(n));
    text.split_once('x')
        .and_then(|(width, height)| Some(UVec2::new(side(width)?, side(height)?)))
        .ok_or_else(|| {
            format!(
                "--size {text}: expected WIDTHxHEIGHT, each from {} to {}",
                SIDES.start(),
                SIDES.end()
            )
        })
}

fn scale(text: &str) -> Result<f32, String> {
    let scale = text.parse().ok().filter(|scale| (0.5..=4.0).contains(scale));
    scale.ok_or_else(|| format!("--scale {text}: expected a number from 0.5 to 4"))
}

fn help(example: &Example) -> String {
    let common = [
        ("--frames N", "exit after N frames (headless: 600)"),
        ("--headless", "no window; one tick a frame"),
        ("--screenshot PATH.png", "save the last frame"),
        ("--report PATH.json", "write the run's numbers at exit; - prints them"),
        ("--size WxH", "size of window or picture in pixels (1280x720)"),
        ("--scale S", "pixels a point of panel and text, headless (1)"),
        ("--view NAME,NAME", "what is shown from the start: surface, lines, dots, strain ..."),
        ("--tab NAME", "the panel's first tab: simulation, bodies, view"),
        ("--no-panel", "hide the panel"),
        ("--help", "show this"),
    ];
    let own = example.options.iter().map(Opt::usage);
    let common = common.iter().map(|(a, b)| ((*a).into(), (*b).into()));
    let mut text =
        format!("{}\n\nUsage: cargo run --example {} -- [OPTIONS]\n", example.about, example.name);
    for (option, meaning) in own.chain(common) {
        text.push_str(&format!("\n  {option:<23} {meaning}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: Example = Example {
        name: "probe",
        about: "Tests the command line.",
        options: &[
            Opt::count("columns", 40, 2..=400, "particles along the top"),
            Opt::real("wind", 3.0, 0.0..=30.0, "wind speed, m/s"),
            Opt::choice("pins", "corners", &["corners", "edge"], "what is held"),
            Opt::text("model", "", "path of a model"),
            Opt::flag("torn", "tear it first"),
        ],
        measure: |_| super::super::Measures::default(),
    };

    fn run(words: &[&str]) -> Result<Args, String> {
        match parse(&EXAMPLE, words.iter().map(OsString::from))? {
            Parsed::Run(args) => Ok(args),
            Parsed::Help(text) => Err(text),
        }
    }

    #[test]
    fn options_read_back_as_given_or_by_default() {
        let args = run(&[]).unwrap();
        assert_eq!((args.count("columns"), args.real("wind")), (40, 3.0));
        assert_eq!((args.text("pins"), args.flag("torn")), ("corners", false));
        let args = run(&["--columns", "5", "--wind=0", "--torn", "--size", "64x32"]).unwrap();
        assert_eq!((args.count("columns"), args.real("wind")), (5, 0.0));
        assert!(args.flag("torn") && args.panel && !args.headless);
        assert_eq!(args.size, UVec2::new(64, 32));
        assert_eq!(args.views, [0usize; 0]);
        assert_eq!(run(&["--view", "surface,graph-colours"]).unwrap().views, [0, 8]);
    }

    #[test]
    fn a_file_may_be_named_without_its_option_once() {
        const WITH_FILE: Example = Example {
            options: &[Opt::file("file", "what to show"), Opt::flag("torn", "tear it first")],
            ..EXAMPLE
        };
        let read = |words: &[&str]| match parse(&WITH_FILE, words.iter().map(OsString::from)) {
            Ok(Parsed::Run(args)) => Ok(args.text("file").to_owned()),
            other => Err(format!("{other:?}")),
        };
        assert_eq!(read(&[]).unwrap(), "");
        for words in [&["a.glb", "--torn"][..], &["--torn", "a.glb"], &["--file", "a.glb"]] {
            assert_eq!(read(words).unwrap(), "a.glb");
        }
        assert!(read(&["a.glb", "b.glb"]).is_err());
    }

    #[test]
    fn unwatched_runs_end() {
        assert_eq!(run(&[]).unwrap().frame_limit(), None);
        assert_eq!(run(&["--headless"]).unwrap().frame_limit(), Some(600));
        let args = run(&["--headless", "--frames", "7"]).unwrap();
        assert_eq!(args.frame_limit(), Some(7));
    }

    #[test]
    fn bad_input_is_an_error_that_names_the_option() {
        for words in [
            &["--frames", "0"][..],
            &["--frames", "-3"],
            &["--frames", "NaN"],
            &["--frames", "2.5"],
            &["--frames", "99999999999999999999"],
            &["--frames"],
            &["--frames", "--headless"],
            &["--frames="],
            &["--headless=1"],
            &["--torn=1"],
            &["--wind", "nan"],
            &["--wind", "inf"],
            &["--wind", "-1"],
            &["--wind", ""],
            &["--columns", "1"],
            &["--columns", "401"],
            &["--pins", "none"],
            &["--screenshot", "picture.gif"],
            &["--screenshot", "picture"],
            &["--size", "1280"],
            &["--size", "0x0"],
            &["--view", "sprain"],
            &["--view", "strain,"],
            &["--size", "9999999x3"],
            &["--sail", "3"],
            &["--"],
        ] {
            let error = run(words).unwrap_err();
            let name = words[0].split('=').next().unwrap();
            assert!(error.starts_with(name), "{words:?}: {error}");
        }
        assert!(run(&["loose"]).is_err());
        assert!(run(&["-h"]).is_err());
    }

    #[test]
    fn help_lists_every_option() {
        let text = run(&["--help"]).unwrap_err();
        for option in ["--columns", "--wind", "--pins", "--torn", "--frames", "--report"] {
            assert!(text.contains(option), "{option} is missing in {text}");
        }
    }
}
