//! What pointers do to pins and bodies beyond a plain drag: whole apps, the window's own events.
#![cfg(feature = "inspector")]

mod common;

use bevy::{camera::ScalingMode, input::keyboard::KeyboardInput, prelude::*};
use bevy_pliant::{
    interact::{
        GrabSettings, Inspector, InspectorPlugin, ParticleGizmos, PointerPinned, PointerUnpinned,
        pointer_is_free,
    },
    prelude::*,
};
use common::{
    desk::{Desk, cloth, inner},
    particle, particles,
};

/// Drags what is under the pointer by so many steps.
fn drag(desk: &mut Desk, from: Vec2, step: Vec2, steps: u32) -> Vec2 {
    let mut cursor = from;
    for _ in 0..steps {
        cursor += step;
        desk.move_to(cursor);
    }
    cursor
}

#[test]
fn a_pin_of_the_recipe_goes_where_it_is_dragged_and_stays_with_its_body() {
    let (mut desk, body) = Desk::with_cloth(1.0);
    desk.app.world_mut().resource_mut::<SolverSettings>().sleeping = true;
    desk.app.world_mut().resource_mut::<SolverSettings>().damping = 3.0;
    desk.run(400);
    let all = particles(&desk.app, body);
    let (pin, beside) = (all[12], all[11]);
    let asleep = |desk: &Desk| desk.app.world().resource::<SolverDiagnostics>().awake_islands == 0;
    assert!(asleep(&desk), "it sleeps before");
    let before = particle(&desk.app, beside).position;
    let start = desk.on_screen(pin);
    desk.move_to(start);
    desk.press();
    assert_eq!(desk.told(), (1, 0));
    let cursor = drag(&mut desk, start, Vec2::new(-1.0, 0.5), 30);
    desk.run(3);
    assert!(desk.on_screen(pin).distance(cursor) < 2.0, "{}", desk.on_screen(pin));
    desk.release();
    desk.run(60);
    assert!(desk.on_screen(pin).distance(cursor) < 2.0, "it stays where it was put");
    assert!(particle(&desk.app, beside).position.distance(before) > 0.05, "the cloth follows");
    assert_eq!(desk.app.world().get::<PinnedTo>(pin).map(|pin| pin.anchor), Some(body));
    // And goes with its body.
    let at = particle(&desk.app, pin).position;
    desk.app.world_mut().get_mut::<Transform>(body).expect("a body").translation.y += 0.25;
    desk.run(5);
    let moved = particle(&desk.app, pin).position - at;
    assert!(moved.distance(Vec3::Y * 0.25) < 1e-3, "{moved}");
}

#[derive(Resource, Default)]
struct Pins(Vec<bool>);

#[test]
fn the_key_pins_what_is_held_and_frees_it_again() {
    let (mut desk, body) = Desk::with_cloth(1.0);
    desk.app
        .init_resource::<Pins>()
        .add_observer(|_: On<PointerPinned>, mut pins: ResMut<Pins>| pins.0.push(true))
        .add_observer(|_: On<PointerUnpinned>, mut pins: ResMut<Pins>| pins.0.push(false));
    let held = inner(&desk.app, body);
    let start = desk.on_screen(held);
    desk.move_to(start);
    desk.press();
    let cursor = drag(&mut desk, start, Vec2::new(2.0, -2.0), 15);
    let key = |desk: &mut Desk| {
        for state in [bevy::input::ButtonState::Pressed, bevy::input::ButtonState::Released] {
            let window = desk.window;
            desk.send(KeyboardInput {
                key_code: KeyCode::KeyP,
                logical_key: bevy::input::keyboard::Key::Character("p".into()),
                state,
                text: None,
                repeat: false,
                window,
            });
        }
    };
    key(&mut desk);
    assert!(desk.app.world().get::<Pinned>(held).is_some());
    desk.release();
    desk.run(30);
    assert!(desk.on_screen(held).distance(cursor) < 6.0, "it stays when it is let go");
    desk.press();
    key(&mut desk);
    assert!(desk.app.world().get::<Pinned>(held).is_none());
    assert_eq!(desk.app.world().resource::<Pins>().0, [true, false]);
    desk.release();
    desk.run(60);
    assert!(desk.on_screen(held).distance(cursor) > 10.0, "it falls back");
}

#[test]
fn a_weak_hold_slips_and_a_soft_one_lags_behind() {
    let lag = |settings: GrabSettings| {
        let (mut desk, body) = Desk::with_cloth(1.0);
        desk.app.insert_resource(settings);
        let held = inner(&desk.app, body);
        let start = desk.on_screen(held);
        desk.move_to(start);
        desk.press();
        let cursor = drag(&mut desk, start, Vec2::new(1.0, -2.0), 20);
        desk.run(300);
        desk.on_screen(held).distance(cursor)
    };
    let firm = lag(GrabSettings::default());
    assert!(firm < 2.0, "{firm} px");
    let weak = lag(GrabSettings { max_force: 1e-3, ..default() });
    assert!(weak > 20.0, "a millinewton holds no cloth: {weak} px");
    let soft = lag(GrabSettings { compliance: 0.5, ..default() });
    assert!(soft > 5.0, "half a metre a newton: {soft} px");
}

#[derive(Resource, Default)]
struct Turned(u32);

#[test]
fn a_camera_controller_rests_while_something_is_held() {
    let (mut desk, body) = Desk::with_cloth(1.0);
    desk.app
        .init_resource::<Turned>()
        .add_systems(Update, (|mut turned: ResMut<Turned>| turned.0 += 1).run_if(pointer_is_free));
    let held = inner(&desk.app, body);
    let at = desk.on_screen(held);
    desk.move_to(at);
    desk.run(1);
    assert!(desk.app.world().resource::<Turned>().0 > 0);
    desk.press();
    let before = desk.app.world().resource::<Turned>().0;
    drag(&mut desk, at, Vec2::ONE, 5);
    assert_eq!(desk.app.world().resource::<Turned>().0, before, "it rests");
    desk.release();
    desk.run(2);
    assert!(desk.app.world().resource::<Turned>().0 > before, "and goes on");
}

#[test]
fn a_hidden_body_is_held_by_the_dots_that_a_view_shows() {
    let (mut desk, body) = Desk::with_cloth(1.0);
    desk.app.world_mut().entity_mut(body).insert(Visibility::Hidden);
    desk.run(2);
    let dot = inner(&desk.app, body);
    let at = desk.on_screen(dot);
    desk.move_to(at);
    desk.press();
    desk.release();
    assert_eq!(desk.told(), (0, 0), "nobody sees it");
    let mut store = desk.app.world_mut().resource_mut::<GizmoConfigStore>();
    store.config_mut::<ParticleGizmos>().0.enabled = true;
    desk.run(1);
    desk.press();
    assert_eq!(desk.told(), (1, 0));
    desk.release();
}

#[test]
fn an_orthographic_camera_in_space_drags_as_well() {
    let mut desk = Desk::new(1.5);
    let view = OrthographicProjection {
        scaling_mode: ScalingMode::FixedVertical { viewport_height: 3.0 },
        ..OrthographicProjection::default_3d()
    };
    let at = Transform::from_xyz(1.0, 0.5, 4.0).looking_at(Vec3::new(0.0, -0.6, 0.0), Vec3::Y);
    desk.app.world_mut().spawn((Camera3d::default(), Projection::Orthographic(view), at));
    let body = desk.app.world_mut().spawn(cloth()).id();
    desk.start();
    desk.run(40);
    let held = inner(&desk.app, body);
    let start = desk.on_screen(held);
    desk.move_to(start + Vec2::new(3.0, 0.0));
    desk.press();
    assert_eq!(desk.told(), (1, 0));
    let from = desk.on_screen(held);
    let cursor = drag(&mut desk, start + Vec2::new(3.0, 0.0), Vec2::new(1.0, -1.5), 20);
    desk.run(200);
    let moved = desk.on_screen(held) - from;
    let wanted = cursor - start - Vec2::new(3.0, 0.0);
    assert!(moved.distance(wanted) < 2.0, "{moved} {wanted}");
}

#[test]
fn a_click_on_a_body_in_the_scene_selects_it_in_the_panel() {
    let mut desk = Desk::new(1.0);
    desk.app.add_plugins(InspectorPlugin::embedded());
    let at = Transform::from_xyz(0.0, -0.6, 4.5).looking_to(Vec3::NEG_Z, Vec3::Y);
    desk.app.world_mut().spawn((Camera3d::default(), at));
    let body = desk.app.world_mut().spawn(cloth()).id();
    desk.start();
    desk.run(40);
    let selected = |desk: &Desk| desk.app.world().resource::<Inspector>().selected;
    assert_eq!(selected(&desk), None);
    let held = inner(&desk.app, body);
    let cursor = desk.on_screen(held);
    desk.move_to(cursor);
    desk.press();
    desk.release();
    desk.run(2);
    assert_eq!(selected(&desk), Some(body));
}
