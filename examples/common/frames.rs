//! The course of a run: hold the clock until the scene is ready, count frames, take the picture, exit.
//!
//! Headless, a frame is exactly one tick, and while the clock is held no tick runs: the same command
//! always ends in the same state, however long its assets took to load.

use core::time::Duration;
use std::time::Instant;

use bevy::{
    app::AppExit,
    asset::{UntypedAssetId, VisitAssetDependencies},
    camera::{ImageRenderTarget, RenderTarget},
    ecs::{message::Messages, schedule::ScheduleLabel, system::SystemParam},
    prelude::*,
    render::{
        RenderApp,
        view::screenshot::{Screenshot, ScreenshotCaptured},
    },
    time::{TimeSystems, TimeUpdateStrategy},
};

use super::{
    Args, headless::AsleepCamera, headless::Offscreen, report::Reporter, say,
    texture::PendingMipmaps,
};

/// Frames drawn before the one that is saved, for what arrives late: bind groups; a panel that finds its
/// size.
const WARM_UP_FRAMES: u32 = 3;
/// The longest wait for a scene to become ready or for a picture to be saved.
const PATIENCE: Duration = Duration::from_secs(180);

/// Whether every body of the scene is built. The scene sets it; frames count from then on.
#[derive(Resource, Default, Debug)]
pub struct Ready(pub bool);

/// Runs once a frame while a headless run waits for [`Ready`], with a delta of zero.
///
/// Ticks do not run meanwhile. What usually happens in a tick and must happen to become ready (such
/// as building bodies) belongs in this schedule too.
#[derive(ScheduleLabel, Debug, Clone, PartialEq, Eq, Hash)]
pub struct Held;

/// Counts frames and ends the run.
///
/// * `First`, before time passes: `advance` moves the run along and sets the clock.
/// * `PreUpdate`: [`Held`], while a headless run waits.
/// * `Last`: `report_at_exit`, whatever ended the run.
pub struct FramesPlugin;

impl Plugin for FramesPlugin {
    fn build(&self, app: &mut App) {
        let args = app.world().resource::<Args>();
        let (headless, limit) = (args.headless, args.frame_limit());
        if headless {
            app.insert_resource(TimeUpdateStrategy::FixedTimesteps(0));
        }
        app.init_resource::<Ready>()
            .init_schedule(Held)
            .insert_resource(Course::new(limit))
            .add_systems(First, advance.before(TimeSystems))
            .add_systems(
                PreUpdate,
                run_held.run_if(move |course: Res<Course>| {
                    headless && matches!(course.stage, Stage::Settling { .. })
                }),
            )
            .add_systems(Last, report_at_exit);
    }

    fn finish(&self, app: &mut App) {
        let draws = app.get_sub_app(RenderApp).is_some();
        let args = app.world().resource::<Args>();
        if let Some(path) = args.screenshot.as_ref().filter(|_| !draws) {
            say(&format!("{}: not written, nothing can draw", path.display()));
        }
        app.world_mut().resource_mut::<Course>().draws = draws;
    }
}

/// Where a run stands.
#[derive(Resource)]
struct Course {
    stage: Stage,
    limit: Option<u32>,
    frames: u32,
    draws: bool,
}

enum Stage {
    /// Waiting for the scene and its assets.
    Settling { since: Instant },
    /// Counting.
    Running,
    /// The clock stands and cameras draw.
    Posing { drawn: u32 },
    /// Waiting for the picture to be on disk.
    Saving { since: Instant },
    /// The exit has been asked for.
    Done,
}

impl Course {
    fn new(limit: Option<u32>) -> Self {
        let since = Instant::now();
        Self { stage: Stage::Settling { since }, limit, frames: 0, draws: false }
    }
}

fn advance(
    mut course: ResMut<Course>,
    args: Res<Args>,
    offscreen: Option<Res<Offscreen>>,
    scene: SceneState,
    mut clock: Clock,
    mut asleep: Query<&mut Camera, With<AsleepCamera>>,
    mut commands: Commands,
) {
    let course = &mut *course;
    match &mut course.stage {
        Stage::Settling { since } => {
            if !scene.is_ready() {
                if args.headless && since.elapsed() > PATIENCE {
                    say("the scene was not ready in time (is `Ready` ever set?)");
                    commands.write_message(AppExit::from_code(1));
                    course.stage = Stage::Done;
                }
                return;
            }
            course.stage = Stage::Running;
            clock.run(args.headless);
            course.frames = 1;
        }
        Stage::Running if course.limit == Some(course.frames) => {
            clock.hold(args.headless);
            if args.screenshot.is_some() && course.draws {
                wake(&mut asleep, true);
                course.stage = Stage::Posing { drawn: 0 };
            } else {
                commands.write_message(AppExit::Success);
                course.stage = Stage::Done;
            }
        }
        Stage::Running => course.frames = course.frames.saturating_add(1),
        Stage::Posing { drawn } if *drawn < WARM_UP_FRAMES => *drawn += 1,
        Stage::Posing { .. } => {
            let shot = match offscreen {
                // The target of the cameras, to the letter: of another scale it would be another one.
                Some(image) => Screenshot(RenderTarget::Image(ImageRenderTarget {
                    handle: image.0.clone(),
                    scale_factor: args.scale,
                })),
                None => Screenshot::primary_window(),
            };
            commands.spawn(shot).observe(save);
            let since = Instant::now();
            course.stage = Stage::Saving { since };
        }
        Stage::Saving { since } => {
            // The frame is drawn; only its way to memory is still ahead.
            wake(&mut asleep, false);
            if since.elapsed() > PATIENCE {
                say("the picture was not drawn in time (is the window hidden?)");
                commands.write_message(AppExit::from_code(1));
                course.stage = Stage::Done;
            }
        }
        Stage::Done => {}
    }
}

fn wake(cameras: &mut Query<&mut Camera, With<AsleepCamera>>, awake: bool) {
    for mut camera in cameras {
        camera.is_active = awake;
    }
}

/// Saves the picture and ends the run. Alpha is dropped: it is no part of what a screen shows.
fn save(
    captured: On<ScreenshotCaptured>,
    args: Res<Args>,
    mut course: ResMut<Course>,
    mut exit: MessageWriter<AppExit>,
) {
    let path = args.screenshot.clone().unwrap_or_default();
    let saved =
        super::report::make_parent(&path).map_err(|error| error.to_string()).and_then(|()| {
            let image = captured.image.clone().try_into_dynamic();
            let image = image.map_err(|error| error.to_string())?;
            image.to_rgb8().save(&path).map_err(|e| e.to_string())
        });
    course.stage = Stage::Done;
    exit.write(match saved {
        Ok(()) => AppExit::Success,
        Err(error) => {
            say(&format!("{}: cannot write the picture: {error}", path.display()));
            AppExit::from_code(1)
        }
    });
}

fn run_held(world: &mut World) {
    world.run_schedule(Held);
}

/// Writes the report when the app is about to exit, be it at the last frame or by a closed window.
fn report_at_exit(world: &mut World) {
    if world.resource::<Messages<AppExit>>().is_empty() {
        return;
    }
    let frames = world.resource::<Course>().frames;
    if let Err(error) = Reporter::report(world, frames) {
        say(&error);
        world.write_message(AppExit::from_code(1));
    }
}

/// Starts and stops the clock: by whole ticks if headless, else the virtual one.
#[derive(SystemParam)]
struct Clock<'w> {
    strategy: ResMut<'w, TimeUpdateStrategy>,
    time: ResMut<'w, Time<Virtual>>,
}

impl Clock<'_> {
    fn run(&mut self, headless: bool) {
        if headless {
            *self.strategy = TimeUpdateStrategy::FixedTimesteps(1);
        }
    }

    fn hold(&mut self, headless: bool) {
        if headless {
            *self.strategy = TimeUpdateStrategy::FixedTimesteps(0);
        } else {
            self.time.pause();
        }
    }
}

/// Whether the scene is built and the textures of its materials are here.
#[derive(SystemParam)]
struct SceneState<'w, 's> {
    sprites: Query<'w, 's, &'static Sprite>,
    ready: Res<'w, Ready>,
    mipmaps: Res<'w, PendingMipmaps>,
    server: Res<'w, AssetServer>,
    solid: Res<'w, Assets<StandardMaterial>>,
    flat: Res<'w, Assets<ColorMaterial>>,
}

impl SceneState<'_, '_> {
    fn is_ready(&self) -> bool {
        self.ready.0
            && self.mipmaps.is_empty()
            && self.solid.iter().all(|(_, m)| self.has_arrived(m))
            && self.flat.iter().all(|(_, m)| self.has_arrived(m))
            && self.sprites.iter().all(|sprite| self.is_here(sprite.image.id().untyped()))
    }

    /// A texture that failed to load has been logged; waiting would not bring it.
    fn has_arrived(&self, material: &impl VisitAssetDependencies) -> bool {
        let mut arrived = true;
        material.visit_dependencies(&mut |id: UntypedAssetId| {
            arrived &= self.is_here(id);
        });
        arrived
    }

    fn is_here(&self, id: UntypedAssetId) -> bool {
        !self.server.get_load_state(id).is_some_and(|state| state.is_loading())
    }
}
