//! Pointers grab particles: real pointer messages into a whole app, without a window.
#![cfg(feature = "picking")]

mod common;

use bevy::{
    camera::{ComputedCameraValues, RenderTarget, RenderTargetInfo},
    picking::pointer::{Location, PointerAction, PointerButton, PointerId, PointerInput},
    prelude::*,
    window::{PrimaryWindow, WindowRef},
};
use bevy_pliant::{
    interact::{GrabSettings, Grabbed, HeldBy, Released},
    prelude::*,
};
use common::{app_with, particle, particles, tick, undamped};

const SIZE: UVec2 = UVec2::new(1280, 720);

#[derive(Resource, Default)]
struct Told {
    grabbed: Vec<Entity>,
    released: Vec<Entity>,
}

#[derive(Resource)]
struct TheRope(Entity);

/// An app with a window that nothing draws to, a camera, and a cloth on two pins.
fn scene(solid: bool) -> (App, Entity) {
    let mut app = app_with(undamped());
    app.init_resource::<Told>()
        .add_observer(|e: On<Grabbed>, mut told: ResMut<Told>| told.grabbed.push(e.particle))
        .add_observer(|e: On<Released>, mut told: ResMut<Told>| told.released.push(e.particle));
    app.world_mut().spawn((Window::default(), PrimaryWindow));
    let aspect = SIZE.x as f32 / SIZE.y as f32;
    let clip_from_view = if solid {
        Mat4::perspective_infinite_reverse_rh(0.8, aspect, 0.1)
    } else {
        let half = Vec2::new(aspect, 1.0) * 3.0;
        Mat4::orthographic_rh(-half.x, half.x, -half.y, half.y, 1000.0, -1000.0)
    };
    app.world_mut().spawn((
        Camera {
            computed: ComputedCameraValues {
                clip_from_view,
                target_info: Some(RenderTargetInfo { physical_size: SIZE, scale_factor: 1.0 }),
                ..default()
            },
            ..default()
        },
        RenderTarget::Window(WindowRef::Primary),
        Transform::from_xyz(0.3, -0.5, if solid { 6.0 } else { 500.0 }),
    ));
    // A rope hangs beside it, for what must move freely.
    let cloth = Cloth::grid(UVec2::new(9, 7), 0.25).pinned(ClothPins::TopCorners);
    let rope = Rope::new(1.5, 16).pinned(RopePins::Start);
    let beside = Transform::from_xyz(-1.6, 0.3, 0.0);
    let body = app.world_mut().spawn(cloth).id();
    let rope = app.world_mut().spawn((rope, beside)).id();
    if !solid {
        app.world_mut().entity_mut(body).insert(Planar);
        app.world_mut().entity_mut(rope).insert(Planar);
    }
    app.insert_resource(TheRope(rope));
    tick(&mut app, 30);
    (app, body)
}

/// Where a particle is on screen (px).
fn on_screen(app: &mut App, entity: Entity) -> Vec2 {
    let point = particle(app, entity).position;
    let mut cameras = app.world_mut().query::<(&Camera, &GlobalTransform)>();
    let (camera, view) = cameras.single(app.world()).expect("one camera");
    camera.world_to_viewport(view, point).expect("in view")
}

fn send(app: &mut App, pointer: PointerId, position: Vec2, action: PointerAction) {
    let mut windows = app.world_mut().query_filtered::<Entity, With<PrimaryWindow>>();
    let window = windows.single(app.world()).expect("one window");
    let target =
        RenderTarget::Window(WindowRef::Primary).normalize(Some(window)).expect("a target");
    let location = Location { target, position };
    app.world_mut().write_message(PointerInput::new(pointer, location, action));
    app.update();
}

fn press(app: &mut App, at: Vec2) {
    send(app, PointerId::Mouse, at, PointerAction::Press(PointerButton::Primary));
}

fn release(app: &mut App, at: Vec2) {
    send(app, PointerId::Mouse, at, PointerAction::Release(PointerButton::Primary));
}

fn drag(app: &mut App, to: Vec2) {
    send(app, PointerId::Mouse, to, PointerAction::Move { delta: Vec2::ONE });
}

fn holds(app: &mut App) -> usize {
    app.world_mut().query::<&HeldBy>().iter(app.world()).count()
}

#[test]
fn a_dragged_particle_stays_under_the_pointer_and_keeps_its_speed_on_release() {
    for solid in [false, true] {
        let (mut app, _) = scene(solid);
        let rope = app.world().resource::<TheRope>().0;
        let end = particles(&app, rope)[15];
        let start = on_screen(&mut app, end);
        let offset = Vec2::new(4.0, -3.0);
        press(&mut app, start + offset);
        assert_eq!(app.world().resource::<Told>().grabbed, [end], "solid: {solid}");
        // Upwards and to the right, where the rope stays slack.
        let mut cursor = start;
        for _ in 0..40 {
            cursor += Vec2::new(1.5, -2.5);
            drag(&mut app, cursor + offset);
        }
        let apart = on_screen(&mut app, end).distance(cursor);
        assert!(apart < 6.0, "solid: {solid}: {apart} px from the pointer while moving");
        let before = particle(&app, end).velocity;
        assert!(before.y > 0.7 && before.x > 0.4, "{before}");
        release(&mut app, cursor + offset);
        // One tick of gravity and of a slack rope's weight.
        let after = particle(&app, end).velocity;
        assert!(after.distance(before) < 0.35 * before.length(), "{before} {after}");
        assert_eq!(app.world().resource::<Told>().released, [end]);
        assert_eq!(holds(&mut app), 0);
    }
}

#[test]
fn a_held_particle_comes_to_rest_under_a_still_pointer() {
    let (mut app, body) = scene(true);
    let corner = particles(&app, body)[9 * 6];
    let start = on_screen(&mut app, corner);
    press(&mut app, start);
    let to = start + Vec2::new(60.0, -80.0);
    drag(&mut app, to);
    tick(&mut app, 120);
    let apart = on_screen(&mut app, corner).distance(to);
    assert!(apart < 2.0, "{apart} px");
    assert!(particle(&app, corner).velocity.length() < 0.2);
}

#[test]
fn beyond_ten_pixels_nothing_is_grabbed_nor_when_it_is_switched_off() {
    let (mut app, body) = scene(true);
    let corner = particles(&app, body)[9 * 6];
    let start = on_screen(&mut app, corner);
    press(&mut app, start + Vec2::new(-11.0, 0.0));
    assert_eq!(holds(&mut app), 0);
    release(&mut app, start);
    app.world_mut().resource_mut::<GrabSettings>().enabled = false;
    press(&mut app, start);
    assert_eq!(holds(&mut app), 0);
    app.world_mut().resource_mut::<GrabSettings>().enabled = true;
    let start = on_screen(&mut app, corner);
    press(&mut app, start);
    assert_eq!(holds(&mut app), 1);
    app.world_mut().resource_mut::<GrabSettings>().enabled = false;
    app.update();
    app.update();
    assert_eq!(holds(&mut app), 0, "switching it off lets go");
}

#[test]
fn two_fingers_hold_two_particles() {
    let (mut app, body) = scene(true);
    let all = particles(&app, body);
    for (id, index) in [(1, 9 * 6), (2, 9 * 6 + 8)] {
        let at = on_screen(&mut app, all[index]);
        send(&mut app, PointerId::Touch(id), at, PointerAction::Press(PointerButton::Primary));
    }
    assert_eq!(holds(&mut app), 2);
    send(&mut app, PointerId::Touch(1), Vec2::ZERO, PointerAction::Cancel);
    assert_eq!(holds(&mut app), 1);
}

#[test]
fn despawning_what_is_held_lets_go_of_it() {
    let (mut app, body) = scene(true);
    let corner = particles(&app, body)[9 * 6];
    let start = on_screen(&mut app, corner);
    press(&mut app, start);
    app.world_mut().despawn(body);
    for _ in 0..3 {
        drag(&mut app, start);
    }
    release(&mut app, start);
    assert_eq!(holds(&mut app), 0);
}

#[test]
fn nonsense_from_a_pointer_is_harmless() {
    let (mut app, body) = scene(true);
    let corner = particles(&app, body)[9 * 6];
    let start = on_screen(&mut app, corner);
    *app.world_mut().resource_mut::<GrabSettings>() = GrabSettings {
        compliance: f32::NAN,
        damping_ratio: f32::INFINITY,
        max_force: -1.0,
        ..default()
    };
    press(&mut app, start);
    for position in [Vec2::NAN, Vec2::INFINITY, Vec2::splat(-1e30)] {
        drag(&mut app, position);
    }
    tick(&mut app, 30);
    assert!(common::all_finite(&mut app));
}

#[test]
fn a_tap_within_one_frame_holds_nothing() {
    let (mut app, body) = scene(true);
    let corner = particles(&app, body)[9 * 6];
    let at = on_screen(&mut app, corner);
    let mut windows = app.world_mut().query_filtered::<Entity, With<PrimaryWindow>>();
    let window = windows.single(app.world()).expect("one window");
    let target =
        RenderTarget::Window(WindowRef::Primary).normalize(Some(window)).expect("a target");
    for action in [
        PointerAction::Press(PointerButton::Primary),
        PointerAction::Release(PointerButton::Primary),
    ] {
        let location = Location { target: target.clone(), position: at };
        app.world_mut().write_message(PointerInput::new(PointerId::Mouse, location, action));
    }
    app.update();
    assert_eq!(holds(&mut app), 0);
    let told = app.world().resource::<Told>();
    assert_eq!((told.grabbed.len(), told.released.len()), (1, 1));
}

#[test]
fn a_particle_that_turns_is_held_where_the_pointer_took_it() {
    let (mut app, _) = scene(false);
    let body = app
        .world_mut()
        .spawn((Planar, BodySettings { gravity: Some(Vec3::ZERO), ..default() }))
        .id();
    let oriented = OrientedParticle::with_radii(Vec3::new(0.6, 0.15, 0.15));
    let start = Particle::at(Vec3::new(2.0, 0.5, 0.0)).with_mass(0.5);
    let bone = app.world_mut().spawn((start, oriented, ParticleOf(body))).id();
    tick(&mut app, 2);
    let middle = on_screen(&mut app, bone);
    // 120 px a metre: near its right end, and as far again above its middle.
    press(&mut app, middle + Vec2::new(0.0, -60.0));
    assert_eq!(holds(&mut app), 0, "nothing is there");
    let taken = middle + Vec2::new(60.0, 0.0);
    press(&mut app, taken);
    assert_eq!(app.world().resource::<Told>().grabbed, [bone]);
    let mut cursor = taken;
    for _ in 0..30 {
        cursor += Vec2::new(0.0, -2.0);
        drag(&mut app, cursor);
    }
    tick(&mut app, 4);
    let state = particle(&app, bone);
    let turned = app.world().get::<OrientedParticle>(bone).expect("turns").rotation;
    let point = state.position + turned * Vec3::X * 0.5;
    let under = start.position + Vec3::new(0.5, 0.5, 0.0);
    assert!(point.distance(under) < 0.03, "{point} is not at {under}");
    assert!(turned.to_scaled_axis().z > 0.3, "it turns with the pull: {turned}");
    release(&mut app, cursor);
    assert_eq!(holds(&mut app), 0);
}
