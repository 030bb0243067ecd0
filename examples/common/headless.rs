//! A windowed app or a headless one: what the machine allows and the command line asks for.
//!
//! Headless, cameras draw to the [`Offscreen`] image and sleep until a picture is wanted: a frame in
//! software takes most of a second. Where there is no graphics adapter the app simulates alone.

use core::time::Duration;
use std::panic;

use bevy::{
    anti_alias::fxaa::Fxaa,
    app::ScheduleRunnerPlugin,
    asset::UnapprovedPathMode,
    camera::{ImageRenderTarget, RenderTarget},
    log::LogPlugin,
    prelude::*,
    render::{
        RenderPlugin,
        pipelined_rendering::PipelinedRenderingPlugin,
        render_resource::TextureFormat,
        renderer::{RenderAdapterInfo, initialize_renderer},
        settings::{RenderCreation, RenderResources, WgpuSettings},
    },
    tasks::block_on,
    window::{ExitCondition, WindowResolution},
    winit::WinitPlugin,
};

use super::{Args, say};

/// Set to `1`, it makes a missing graphics adapter an error: for CI that means to draw.
const REQUIRE_GPU: &str = "PLIANT_REQUIRE_GPU";

/// The image that cameras of a headless app draw to.
#[derive(Resource, Clone)]
pub struct Offscreen(pub Handle<Image>);

/// A camera of a headless app that the scene means to be active; it wakes for the picture.
#[derive(Component)]
pub struct AsleepCamera;

/// An app with Bevy's default plugins. Sets `args.headless` where only that is possible.
///
/// Ends the process with status 1 where there is no graphics adapter and `PLIANT_REQUIRE_GPU` is 1.
pub fn app(name: &str, args: &mut Args) -> App {
    if !args.headless && !has_display() {
        say(&format!("{name}: no display, so running headless"));
        args.headless = true;
    }
    let adapter = find_adapter();
    if adapter.is_none() {
        if std::env::var_os(REQUIRE_GPU).is_some_and(|value| value == "1") {
            say(&format!("{name}: no graphics adapter, but {REQUIRE_GPU} is 1"));
            std::process::exit(1);
        }
        say(&format!("{name}: no graphics adapter, so simulating without pictures"));
        args.headless = true;
    }
    if args.headless {
        return headless(args, adapter);
    }
    let mut app = windowed(name, args);
    if adapter.is_some_and(|resources| draws_in_software(&resources.2)) {
        app.add_observer(cheapen_camera);
    }
    app
}

/// Assets may lie outside the folder of assets: a user names them on the command line.
fn assets() -> AssetPlugin {
    AssetPlugin { unapproved_path_mode: UnapprovedPathMode::Allow, ..default() }
}

fn windowed(name: &str, args: &Args) -> App {
    let mut resolution = WindowResolution::new(args.size.x, args.size.y);
    if args.screenshot.is_some() {
        // The picture shall have the size asked for, whatever the screen's density.
        resolution.set_scale_factor_override(Some(1.0));
    }
    let mut app = App::new();
    app.add_plugins(
        DefaultPlugins
            .set(assets())
            .set(WindowPlugin {
                primary_window: Some(Window {
                    title: format!("bevy_pliant: {name}"),
                    resolution,
                    ..default()
                }),
                ..default()
            })
            .set(RenderPlugin {
                synchronous_pipeline_compilation: args.screenshot.is_some(),
                ..default()
            }),
    );
    app
}

fn headless(args: &Args, adapter: Option<RenderResources>) -> App {
    let mut log = LogPlugin::default();
    let render_creation = match adapter {
        Some(resources) => RenderCreation::Manual(resources),
        None => {
            // What these would complain about has been said, in fewer words.
            log.filter += "bevy_render=off,bevy_gizmos_render=off,bevy_gltf=off,";
            WgpuSettings { backends: None, ..default() }.into()
        }
    };
    let mut app = App::new();
    app.add_plugins((
        DefaultPlugins
            .set(log)
            .set(assets())
            .set(WindowPlugin {
                primary_window: None,
                exit_condition: ExitCondition::DontExit,
                ..default()
            })
            .set(RenderPlugin {
                render_creation,
                synchronous_pipeline_compilation: true,
                ..default()
            })
            .disable::<WinitPlugin>()
            .disable::<PipelinedRenderingPlugin>(),
        ScheduleRunnerPlugin::run_loop(Duration::ZERO),
    ));
    let target =
        Image::new_target_texture(args.size.x, args.size.y, TextureFormat::Rgba8UnormSrgb, None);
    let target = app.world_mut().resource_mut::<Assets<Image>>().add(target);
    app.insert_resource(Offscreen(target))
        .add_observer(cheapen_camera)
        .add_observer(redirect_camera);
    app
}

/// Spares a software renderer the multisampling; edges of 3D scenes are smoothed afterwards instead.
fn cheapen_camera(
    added: On<Add, Camera>,
    solid: Query<(), With<Camera3d>>,
    mut commands: Commands,
) {
    let mut camera = commands.entity(added.entity);
    camera.insert(Msaa::Off);
    if solid.contains(added.entity) {
        camera.insert(Fxaa::default());
    }
}

/// Turns each camera that would draw to a window to the offscreen image and lays it to sleep.
fn redirect_camera(
    added: On<Add, Camera>,
    mut cameras: Query<(&mut Camera, &RenderTarget)>,
    offscreen: Res<Offscreen>,
    args: Res<Args>,
    mut commands: Commands,
) {
    let Ok((mut camera, RenderTarget::Window(_))) = cameras.get_mut(added.entity) else {
        return;
    };
    let mut entity = commands.entity(added.entity);
    entity.insert(RenderTarget::Image(ImageRenderTarget {
        handle: offscreen.0.clone(),
        scale_factor: args.scale,
    }));
    if camera.is_active {
        camera.is_active = false;
        entity.insert(AsleepCamera);
    }
}

/// Whether a window can be opened. Bevy panics where one cannot.
#[cfg(target_os = "linux")]
fn has_display() -> bool {
    // Bevy's `x11` feature is on here and `wayland` is not, so an X server is what it takes.
    x11rb::connect(None).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn has_display() -> bool {
    true
}

/// Whether an adapter is a processor that stands in for one.
pub fn draws_in_software(adapter: &RenderAdapterInfo) -> bool {
    // Bevy does not export wgpu's `DeviceType`.
    format!("{:?}", adapter.device_type) == "Cpu"
}

/// Opens the graphics adapter that Bevy would take, if there is one. Bevy panics where there is none.
fn find_adapter() -> Option<RenderResources> {
    let settings = WgpuSettings::default();
    let backends = settings.backends?;
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let resources =
        panic::catch_unwind(|| block_on(initialize_renderer(backends, None, &settings))).ok();
    panic::set_hook(hook);
    resources
}
