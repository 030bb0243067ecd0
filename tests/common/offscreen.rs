//! An app that draws to an image, with whatever graphics adapter there is: software Vulkan will do.
#![allow(dead_code, reason = "each test file uses a part of it")]

use bevy::{
    app::PluginGroupBuilder,
    camera::{RenderTarget, ScalingMode},
    prelude::*,
    render::{
        RenderPlugin,
        pipelined_rendering::PipelinedRenderingPlugin,
        render_resource::TextureFormat,
        renderer::initialize_renderer,
        settings::{RenderCreation, WgpuLimits, WgpuSettings, WgpuSettingsPriority},
        view::screenshot::{Screenshot, ScreenshotCaptured},
    },
    tasks::block_on,
    time::TimeUpdateStrategy,
    window::ExitCondition,
    winit::WinitPlugin,
};
use bevy_pliant::prelude::*;
use std::{
    panic,
    sync::{Mutex, OnceLock},
};

/// Width and height of the pictures.
pub const SIZE: UVec2 = UVec2::new(320, 240);

/// Apps that draw at the same time would only slow one another down.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// An app with a camera that draws `height` metres about the origin, one tick an update.
pub struct Stage {
    pub app: App,
    pub camera: Entity,
    target: Handle<Image>,
    _turn: std::sync::MutexGuard<'static, ()>,
}

/// A drawn picture: red, green, blue, row by row from the top.
#[derive(Clone, PartialEq)]
pub struct Picture(pub Vec<[u8; 3]>);

#[derive(Resource, Default)]
struct Captured(Option<Picture>);

/// What limits the renderer keeps to.
#[derive(Clone, Copy, PartialEq)]
pub enum Limits {
    OfAdapter,
    WebGl2,
}

impl Limits {
    fn settings(self) -> WgpuSettings {
        match self {
            Self::OfAdapter => WgpuSettings::default(),
            Self::WebGl2 => WgpuSettings {
                priority: WgpuSettingsPriority::WebGL2,
                limits: WgpuLimits::downlevel_webgl2_defaults(),
                ..default()
            },
        }
    }
}

impl Stage {
    /// `None` where there is no graphics adapter; a panic, if `PLIANT_REQUIRE_GPU` is 1.
    pub fn new(height: f32, settings: SolverSettings) -> Option<Self> {
        Self::within(Limits::OfAdapter, height, settings)
    }

    /// The same within these limits.
    pub fn within(limits: Limits, height: f32, settings: SolverSettings) -> Option<Self> {
        if !has_adapter() {
            let required = std::env::var_os("PLIANT_REQUIRE_GPU").is_some_and(|value| value == "1");
            assert!(!required, "no graphics adapter, but PLIANT_REQUIRE_GPU is 1");
            #[expect(clippy::print_stderr, reason = "says why nothing is tested")]
            {
                eprintln!("skipped: no graphics adapter");
            }
            return None;
        }
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut app = App::new();
        app.add_plugins(plugins(limits))
            .add_plugins(PliantPlugins::default().with_settings(settings))
            .insert_resource(TimeUpdateStrategy::FixedTimesteps(1))
            .insert_resource(ClearColor(Color::srgb(0.3, 0.5, 0.6)))
            .init_resource::<Captured>();
        app.finish();
        app.cleanup();
        let target = Image::new_target_texture(SIZE.x, SIZE.y, TextureFormat::Rgba8UnormSrgb, None);
        let target = app.world_mut().resource_mut::<Assets<Image>>().add(target);
        let projection = OrthographicProjection {
            scaling_mode: ScalingMode::FixedVertical { viewport_height: height },
            ..OrthographicProjection::default_2d()
        };
        let camera = app
            .world_mut()
            .spawn((
                Camera2d,
                Msaa::Off,
                Projection::Orthographic(projection),
                RenderTarget::Image(target.clone().into()),
            ))
            .id();
        app.update();
        Some(Self { app, camera, target, _turn: turn })
    }

    /// Adds an image.
    pub fn image(&mut self, image: Image) -> Handle<Image> {
        self.app.world_mut().resource_mut::<Assets<Image>>().add(image)
    }

    /// Draws the world as it is, without a tick.
    pub fn draw(&mut self) -> Picture {
        self.app.insert_resource(TimeUpdateStrategy::FixedTimesteps(0));
        // What arrives a frame late: meshes, bind groups.
        for _ in 0..3 {
            self.app.update();
        }
        let shot = Screenshot::image(self.target.clone());
        self.app.world_mut().spawn(shot).observe(capture);
        for _ in 0..200 {
            self.app.update();
            if let Some(picture) = self.app.world_mut().resource_mut::<Captured>().0.take() {
                self.app.insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
                return picture;
            }
        }
        panic!("the picture was not drawn");
    }
}

fn capture(captured: On<ScreenshotCaptured>, mut into: ResMut<Captured>) {
    let image = captured.image.clone().try_into_dynamic().expect("is an image").to_rgb8();
    into.0 = Some(Picture(image.pixels().map(|pixel| pixel.0).collect()));
}

fn plugins(limits: Limits) -> PluginGroupBuilder {
    DefaultPlugins
        .set(WindowPlugin {
            primary_window: None,
            exit_condition: ExitCondition::DontExit,
            ..default()
        })
        .set(RenderPlugin {
            render_creation: RenderCreation::Automatic(Box::new(limits.settings())),
            synchronous_pipeline_compilation: true,
            ..default()
        })
        .disable::<WinitPlugin>()
        .disable::<PipelinedRenderingPlugin>()
}

/// Whether there is an adapter. Bevy panics where there is none.
fn has_adapter() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let settings = WgpuSettings::default();
        let Some(backends) = settings.backends else { return false };
        let hook = panic::take_hook();
        panic::set_hook(Box::new(|_| ()));
        let found = panic::catch_unwind(|| {
            block_on(initialize_renderer(backends, None, &settings));
        });
        panic::set_hook(hook);
        found.is_ok()
    })
}

impl Picture {
    /// Saves it where `PLIANT_TEST_PICTURES` says, if it does: to be looked at.
    pub fn save(&self, name: &str) {
        let Some(folder) = std::env::var_os("PLIANT_TEST_PICTURES") else { return };
        let pixels = self.0.as_flattened().to_vec();
        let image = image::RgbImage::from_raw(SIZE.x, SIZE.y, pixels).expect("is of that size");
        std::fs::create_dir_all(&folder).expect("can be written");
        image.save(std::path::Path::new(&folder).join(name)).expect("can be written");
    }

    fn at(&self, x: u32, y: u32) -> [u8; 3] {
        self.0[(y * SIZE.x + x) as usize]
    }

    /// The greatest difference of a colour anywhere, of 255.
    pub fn difference(&self, other: &Self) -> u8 {
        let pairs = self.0.as_flattened().iter().zip(other.0.as_flattened());
        pairs.map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0)
    }

    /// How many pixels differ by more than this in a colour.
    pub fn differing(&self, other: &Self, by: u8) -> usize {
        let differs = |(a, b): (&[u8; 3], &[u8; 3])| (0..3).any(|i| a[i].abs_diff(b[i]) > by);
        self.0.iter().zip(&other.0).filter(|pair| differs(*pair)).count()
    }

    /// Whether what is drawn is off by a pixel at most.
    pub fn is_within_a_pixel_of(&self, other: &Self) -> bool {
        self.is_near(other, 2)
    }

    /// Whether each of its pixels has colours between those around it in the other picture, give or take so
    /// much.
    pub fn is_near(&self, other: &Self, tolerance: u8) -> bool {
        let fits = |x: u32, y: u32| {
            let near = (y.saturating_sub(1)..(y + 2).min(SIZE.y))
                .flat_map(|y| (x.saturating_sub(1)..(x + 2).min(SIZE.x)).map(move |x| (x, y)));
            let (mut low, mut high) = ([255; 3], [0; 3]);
            for (x, y) in near {
                let colour = other.at(x, y);
                for i in 0..3 {
                    (low[i], high[i]) = (colour[i].min(low[i]), colour[i].max(high[i]));
                }
            }
            let colour = self.at(x, y);
            (0..3).all(|i| {
                colour[i] >= low[i].saturating_sub(tolerance)
                    && colour[i] <= high[i].saturating_add(tolerance)
            })
        };
        (0..SIZE.y).all(|y| (0..SIZE.x).all(|x| fits(x, y)))
    }

    /// How many pixels are not the background.
    pub fn drawn(&self) -> usize {
        let background = self.0[0];
        self.0.iter().filter(|pixel| **pixel != background).count()
    }
}
