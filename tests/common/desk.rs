//! A desk: an app with Bevy's default plugins and a window that nothing draws to, a mouse and fingers. What
//! comes in are the window's own events, as winit sends them, one a frame.

use super::{particles, undamped};
use bevy::{
    ecs::message::Message,
    input::{
        ButtonState,
        mouse::MouseButtonInput,
        touch::{TouchInput, TouchPhase},
    },
    log::LogPlugin,
    prelude::*,
    render::{
        RenderPlugin, pipelined_rendering::PipelinedRenderingPlugin, settings::WgpuSettings,
        sync_world::SyncWorldPlugin,
    },
    time::TimeUpdateStrategy,
    window::{CursorMoved, ExitCondition, PrimaryWindow, WindowEvent, WindowResolution},
    winit::WinitPlugin,
};
use bevy_pliant::{
    interact::{BusyPointers, Grabbed, HeldBy, Released},
    prelude::*,
};

/// Width and height of the window (logical pixels).
pub const SIZE: Vec2 = Vec2::new(800.0, 600.0);

/// What the game was told.
#[derive(Resource, Default, Debug, PartialEq)]
pub struct Told {
    pub grabbed: Vec<Entity>,
    pub released: Vec<Entity>,
}

/// An app and its window.
pub struct Desk {
    pub app: App,
    pub window: Entity,
}

impl Desk {
    /// A window of `SIZE` at this scale.
    pub fn new(scale: f32) -> Self {
        let physical = (SIZE * scale).as_uvec2();
        let resolution = WindowResolution::new(physical.x, physical.y);
        let window =
            Window { resolution: resolution.with_scale_factor_override(scale), ..default() };
        let nothing_draws = WgpuSettings { backends: None, ..default() };
        let mut app = App::new();
        app.add_plugins(
            DefaultPlugins
                .set(WindowPlugin {
                    primary_window: Some(window),
                    exit_condition: ExitCondition::DontExit,
                    ..default()
                })
                .set(RenderPlugin { render_creation: nothing_draws.into(), ..default() })
                .disable::<LogPlugin>()
                .disable::<WinitPlugin>()
                .disable::<PipelinedRenderingPlugin>(),
        )
        // Without a renderer Bevy misses this when a camera is despawned.
        .add_plugins((SyncWorldPlugin, PliantPlugins::default().with_settings(undamped())))
        .insert_resource(TimeUpdateStrategy::FixedTimesteps(1))
        .init_resource::<Told>()
        .add_observer(|e: On<Grabbed>, mut told: ResMut<Told>| told.grabbed.push(e.particle))
        .add_observer(|e: On<Released>, mut told: ResMut<Told>| told.released.push(e.particle));
        let mut windows = app.world_mut().query_filtered::<Entity, With<PrimaryWindow>>();
        let window = windows.single(app.world()).expect("one window");
        Self { app, window }
    }

    /// With a cloth in space that hangs by its upper corners, and a camera before it.
    pub fn with_cloth(scale: f32) -> (Self, Entity) {
        let mut desk = Self::new(scale);
        let at = Transform::from_xyz(0.0, -0.6, 4.5).looking_to(Vec3::NEG_Z, Vec3::Y);
        desk.app.world_mut().spawn((Camera3d::default(), at));
        let body = desk.app.world_mut().spawn(cloth()).id();
        desk.start();
        desk.run(40);
        (desk, body)
    }

    /// All plugins are there.
    pub fn start(&mut self) {
        self.app.finish();
        self.app.cleanup();
    }

    pub fn run(&mut self, frames: u32) {
        (0..frames).for_each(|_| self.app.update());
    }

    /// As winit tells it: an event of its kind, and in the stream of all.
    pub fn send<E: Message + Clone + Into<WindowEvent>>(&mut self, event: E) {
        self.app.world_mut().write_message(event.clone().into());
        self.app.world_mut().write_message(event);
        self.app.update();
    }

    pub fn move_to(&mut self, position: Vec2) {
        let window = self.window;
        self.send(CursorMoved { window, position, delta: None });
    }

    pub fn button(&mut self, button: MouseButton, state: ButtonState) {
        let window = self.window;
        self.send(MouseButtonInput { button, state, window });
    }

    pub fn press(&mut self) {
        self.button(MouseButton::Left, ButtonState::Pressed);
    }

    pub fn release(&mut self) {
        self.button(MouseButton::Left, ButtonState::Released);
    }

    pub fn touch(&mut self, id: u64, phase: TouchPhase, position: Vec2) {
        let window = self.window;
        self.send(TouchInput { phase, position, window, force: None, id });
    }

    /// Where a particle is in the window (logical pixels).
    pub fn on_screen(&mut self, particle: Entity) -> Vec2 {
        let at = self.app.world().get::<Particle>(particle).expect("a particle").position;
        let mut cameras = self.app.world_mut().query::<(&Camera, &GlobalTransform)>();
        let mut cameras: Vec<_> = cameras.iter(self.app.world()).collect();
        cameras.sort_by_key(|(camera, _)| camera.order);
        cameras[0].0.world_to_viewport(cameras[0].1, at).expect("in view")
    }

    pub fn told(&self) -> (usize, usize) {
        let told = self.app.world().resource::<Told>();
        (told.grabbed.len(), told.released.len())
    }

    pub fn holds(&mut self) -> usize {
        self.app.world_mut().query::<&HeldBy>().iter(self.app.world()).count()
    }

    pub fn busy(&self) -> &BusyPointers {
        self.app.world().resource()
    }
}

/// A cloth on its upper corners.
pub fn cloth() -> impl Bundle {
    Cloth::grid(UVec2::new(13, 9), 0.15).pinned(ClothPins::TopCorners)
}

/// The particle in the middle of the last row but one.
pub fn inner(app: &App, body: Entity) -> Entity {
    particles(app, body)[13 * 7 + 6]
}
