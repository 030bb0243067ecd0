//! A mouse and fingers on whole apps: Bevy's default plugins without a display, windows of several scales
//! and viewports, panels of egui, nodes of a user interface. What comes in are the window's own events, as
//! winit sends them, one a frame.
#![cfg(feature = "inspector")]

mod common;

use bevy::{
    camera::{Viewport, visibility::RenderLayers},
    input::{ButtonState, touch::TouchPhase},
    picking::{
        PickingSystems,
        backend::{HitData, PointerHits},
        events::{Click, Over, Pointer},
        hover::HoverMap,
        mesh_picking::ray_cast::{
            MeshRayCast, MeshRayCastSettings, RayCastBackfaces, RayCastVisibility,
        },
        pointer::{PointerId, PointerLocation},
    },
    prelude::*,
    time::TimeUpdateStrategy,
};
use bevy_egui::{
    EguiContexts, EguiGlobalSettings, EguiPlugin, EguiPrimaryContextPass, PrimaryEguiContext, egui,
};
use bevy_pliant::{
    interact::{PointerPinned, PointerUnpinned, SurfaceHit},
    prelude::*,
};
use common::{
    desk::{Desk, SIZE, Told, cloth, inner},
    particle, particles,
};

/// A rope that hangs beside the cloth: what moves freely.
fn rope() -> impl Bundle {
    let rope = Rope { thickness: Some(0.08), ..Rope::new(1.2, 13).pinned(RopePins::Start) };
    (rope, Transform::from_xyz(-1.2, 0.0, 0.0))
}

/// Presses three pixels from a particle of the cloth, drags and waits.
fn drag(desk: &mut Desk, body: Entity, what: &str) {
    let grabbed = inner(&desk.app, body);
    let start = desk.on_screen(grabbed);
    let mut cursor = start + Vec2::new(3.0, 0.0);
    desk.move_to(cursor);
    desk.press();
    assert_eq!(desk.app.world().resource::<Told>().grabbed, [grabbed], "{what}");
    let start = desk.on_screen(grabbed);
    for _ in 0..20 {
        cursor += Vec2::new(1.0, -1.5);
        desk.move_to(cursor);
    }
    desk.run(200);
    let moved = desk.on_screen(grabbed) - start;
    let wrong = moved.distance(Vec2::new(20.0, -30.0));
    assert!(wrong < 2.0, "{what}: the particle went {moved} px");
    desk.release();
    assert_eq!(desk.app.world().resource::<Told>().released, [grabbed], "{what}");
}

/// Takes a rope by the surface of its end, moves it steadily, and lets go.
fn throw(desk: &mut Desk, rope: Entity, what: &str) {
    let end = particles(&desk.app, rope)[12];
    let mut cursor = desk.on_screen(end);
    desk.move_to(cursor);
    desk.press();
    assert_eq!(desk.app.world().resource::<Told>().grabbed.last(), Some(&end), "{what}");
    let step = Vec2::new(1.2, -2.0);
    let (mut before, mut travelled) = (particle(&desk.app, end).position, 0.0);
    for _ in 0..40 {
        cursor += step;
        desk.move_to(cursor);
        let now = particle(&desk.app, end).position;
        (travelled, before) = (now.distance(before), now);
    }
    // The pointer's own velocity, in metres a second at this distance.
    let pointer = Vec3::new(step.x, -step.y, 0.0).normalize() * 64.0 * travelled;
    desk.release();
    assert_eq!(desk.app.world().resource::<Told>().released.last(), Some(&end), "{what}");
    // A tick of gravity and of the slack rope's weight later.
    let velocity = particle(&desk.app, end).velocity;
    assert!(pointer.length() > 0.3, "{what}: {pointer}");
    let wrong = velocity.distance(pointer);
    assert!(wrong < 0.35 * pointer.length(), "{what}: {velocity} m/s, not {pointer}");
}

#[test]
fn a_particle_follows_the_mouse_at_any_scale_and_in_any_viewport() {
    for scale in [1.0, 2.0] {
        for offset in [None, Some(UVec2::new(160, 120))] {
            let (mut desk, body) = Desk::with_cloth(scale);
            let rope = desk.app.world_mut().spawn(rope()).id();
            desk.run(20);
            if let Some(offset) = offset {
                let physical_size = (SIZE * scale).as_uvec2() - offset;
                let mut cameras = desk.app.world_mut().query::<&mut Camera>();
                let mut camera = cameras.single_mut(desk.app.world_mut()).expect("one camera");
                camera.viewport =
                    Some(Viewport { physical_position: offset, physical_size, ..default() });
                desk.run(2);
            }
            let what = format!("scale {scale}, viewport {offset:?}");
            drag(&mut desk, body, &what);
            throw(&mut desk, rope, &what);
        }
    }
}

#[test]
fn in_the_plane_too() {
    let mut desk = Desk::new(1.0);
    let projection =
        OrthographicProjection { scale: 0.005, ..OrthographicProjection::default_2d() };
    let at = Transform::from_xyz(0.1, -0.6, 0.0);
    desk.app.world_mut().spawn((Camera2d, Projection::Orthographic(projection), at));
    let cloth = Cloth::grid(UVec2::new(13, 9), 0.15).pinned(ClothPins::TopCorners);
    let body = desk.app.world_mut().spawn((cloth, Planar, Mesh2d::default())).id();
    let rope = desk.app.world_mut().spawn((rope(), Planar, Mesh2d::default())).id();
    desk.start();
    desk.run(40);
    drag(&mut desk, body, "in the plane");
    throw(&mut desk, rope, "in the plane");
}

/// What is drawn by egui in a test.
#[derive(Resource, Clone, Copy, PartialEq, Debug)]
enum Panel {
    Window,
    /// In a layout of the user's own, as `bevy_egui` has it.
    Layout,
    /// In the old way.
    Side,
}

fn show(panel: Res<Panel>, mut contexts: EguiContexts) -> Result {
    let context = contexts.ctx_mut()?;
    match *panel {
        Panel::Window => {
            egui::Window::new("panel").fixed_pos([420.0, 40.0]).fixed_size([300.0, 500.0]).show(
                context,
                |ui| {
                    ui.label("a label");
                    ui.allocate_space(ui.available_size());
                },
            );
        }
        Panel::Layout => {
            let screen = egui::UiBuilder::new().layer_id(egui::LayerId::background());
            let screen = screen.max_rect(context.viewport_rect());
            let mut layout = egui::Ui::new(context.clone(), "layout".into(), screen);
            egui::Panel::top("bar").exact_size(24.0).show_inside(&mut layout, |ui| {
                ui.label("a bar");
            });
            egui::Panel::right("panel").exact_size(380.0).show_inside(&mut layout, |ui| {
                ui.label("a label");
            });
        }
        #[expect(deprecated, reason = "users have such panels still")]
        Panel::Side => {
            egui::SidePanel::right("panel").exact_width(380.0).show(context, |ui| {
                ui.label("a label");
            });
        }
    }
    Ok(())
}

#[test]
fn case_44_panels_of_any_kind_keep_clicks_from_the_scene() {
    for panel in [Panel::Window, Panel::Layout, Panel::Side] {
        for own_camera in [false, true] {
            let mut desk = Desk::new(1.0);
            desk.app
                .add_plugins(EguiPlugin::default())
                .insert_resource(panel)
                .add_systems(EguiPrimaryContextPass, show);
            desk.app.world_mut().resource_mut::<EguiGlobalSettings>().auto_create_primary_context =
                false;
            let at = Transform::from_xyz(0.0, -0.6, 4.5);
            let scene = desk.app.world_mut().spawn((Camera3d::default(), at)).id();
            if own_camera {
                // As examples have it: one that draws nothing but egui, over all others.
                let above = Camera { order: 100, ..default() };
                let nothing = RenderLayers::none();
                desk.app.world_mut().spawn((Camera2d, above, nothing, PrimaryEguiContext));
            } else {
                desk.app.world_mut().entity_mut(scene).insert(PrimaryEguiContext);
            }
            let body = desk.app.world_mut().spawn(cloth()).id();
            desk.start();
            desk.run(60);
            let what = format!("{panel:?}, own camera: {own_camera}");
            let covered = particles(&desk.app, body)[13 * 6 + 9];
            let at = desk.on_screen(covered);
            assert!(at.x > 440.0 && at.x < 700.0 && at.y > 60.0 && at.y < 500.0, "{at}");
            desk.move_to(at);
            desk.run(1);
            assert_eq!(desk.busy().over_ui, [PointerId::Mouse], "{what}");
            desk.press();
            desk.move_to(at + Vec2::new(0.0, 20.0));
            desk.release();
            desk.button(MouseButton::Right, ButtonState::Pressed);
            desk.button(MouseButton::Right, ButtonState::Released);
            assert_eq!(desk.told(), (0, 0), "{what}");
            assert!(desk.app.world().get::<Pinned>(covered).is_none(), "{what}");
            // Neither does a finger, whose first event is that it is down.
            desk.touch(7, TouchPhase::Started, at);
            desk.touch(7, TouchPhase::Ended, at);
            assert_eq!(desk.told(), (0, 0), "{what}: a finger");
            desk.run(2);

            let beside = particles(&desk.app, body)[13 * 6 + 3];
            let at = desk.on_screen(beside);
            assert!(at.x < 400.0, "{at}");
            desk.move_to(at);
            desk.run(1);
            assert!(desk.busy().over_ui.is_empty(), "{what}");
            desk.press();
            assert_eq!(desk.told(), (1, 0), "{what}: beside the panel");
            assert_eq!(desk.busy().holding, [PointerId::Mouse], "{what}");
            // What is held goes on over the panel.
            desk.move_to(Vec2::new(600.0, 200.0));
            desk.run(2);
            assert_eq!(desk.told(), (1, 0), "{what}");
            desk.release();
            assert_eq!(desk.told(), (1, 1), "{what}");
        }
    }
}

/// A user interface in front of everything, for a picking backend as Bevy's own for nodes is.
#[derive(Component)]
struct Overlay;

fn pick_overlay(
    overlays: Query<Entity, With<Overlay>>,
    cameras: Query<(Entity, &Camera)>,
    pointers: Query<(&PointerId, &PointerLocation)>,
    mut hits: MessageWriter<PointerHits>,
) {
    let Ok(overlay) = overlays.single() else { return };
    for (camera, sight) in &cameras {
        for (pointer, _) in pointers.iter().filter(|(_, at)| at.location.is_some()) {
            let hit = HitData::new(camera, 0.0, Some(Vec3::ZERO), None);
            hits.write(PointerHits::new(*pointer, vec![(overlay, hit)], sight.order as f32 + 0.5));
        }
    }
}

#[test]
fn case_44_a_user_interface_keeps_clicks_from_the_scene_unless_it_lets_them_through() {
    for blocks in [true, false] {
        let (mut desk, body) = Desk::with_cloth(1.0);
        desk.app.add_systems(PreUpdate, pick_overlay.in_set(PickingSystems::Backend));
        let overlay = desk.app.world_mut().spawn(Overlay).id();
        if !blocks {
            desk.app.world_mut().entity_mut(overlay).insert(Pickable::IGNORE);
        }
        let wanted = inner(&desk.app, body);
        let at = desk.on_screen(wanted);
        desk.move_to(at);
        desk.press();
        assert_eq!(desk.told().0, usize::from(!blocks), "blocks: {blocks}");
        assert_eq!(desk.busy().over_ui.is_empty(), !blocks, "blocks: {blocks}");
    }
}

#[test]
fn fingers_hold_what_they_are_put_on() {
    let (mut desk, body) = Desk::with_cloth(1.0);
    let [left, right] = [2, 10].map(|column| particles(&desk.app, body)[13 * 7 + column]);
    let [mut a, mut b] = [left, right].map(|particle| desk.on_screen(particle));
    desk.touch(1, TouchPhase::Started, a);
    let b_now = desk.on_screen(right);
    b = b.lerp(b_now, 1.0);
    desk.touch(2, TouchPhase::Started, b);
    assert_eq!(desk.app.world().resource::<Told>().grabbed, [left, right]);
    for _ in 0..20 {
        a += Vec2::new(1.0, -1.0);
        b += Vec2::new(-1.0, -1.0);
        desk.touch(1, TouchPhase::Moved, a);
        desk.touch(2, TouchPhase::Moved, b);
    }
    desk.run(100);
    for (particle, finger) in [(left, a), (right, b)] {
        let apart = desk.on_screen(particle).distance(finger);
        assert!(apart < 3.0, "{apart} px");
    }
    desk.touch(1, TouchPhase::Ended, a);
    assert_eq!((desk.holds(), desk.told()), (1, (2, 1)));
    desk.touch(2, TouchPhase::Canceled, b);
    desk.run(2);
    assert_eq!((desk.holds(), desk.told()), (0, (2, 2)));
}

#[test]
fn what_goes_away_while_it_is_held_ends_the_hold_without_a_panic() {
    for gone in ["body", "particle", "camera", "window", "mesh", "everything"] {
        let (mut desk, body) = Desk::with_cloth(1.0);
        let held = inner(&desk.app, body);
        let at = desk.on_screen(held);
        desk.move_to(at);
        desk.press();
        desk.move_to(at + Vec2::new(5.0, 5.0));
        assert_eq!(desk.holds(), 1, "{gone}");
        let mut cameras = desk.app.world_mut().query_filtered::<Entity, With<Camera3d>>();
        let camera = cameras.single(desk.app.world()).expect("one camera");
        let window = desk.window;
        let lost: &[Entity] = match gone {
            "body" => &[body],
            "particle" => &[held],
            "camera" => &[camera],
            "window" => &[window],
            "everything" => &[body, camera, window],
            _ => &[],
        };
        for entity in lost {
            desk.app.world_mut().despawn(*entity);
        }
        if gone == "mesh" {
            let mesh = desk.app.world().get::<Mesh3d>(body).expect("is drawn").0.clone();
            desk.app.world_mut().resource_mut::<Assets<Mesh>>().remove(&mesh);
        }
        desk.run(3);
        // What is still to come from a window that closes.
        desk.move_to(at);
        desk.release();
        desk.press();
        desk.release();
        desk.run(3);
        assert_eq!(desk.holds(), 0, "{gone}");
        let told = desk.app.world().resource::<Told>();
        let exists = !matches!(gone, "body" | "particle" | "everything");
        assert_eq!(told.released.contains(&held), exists, "{gone}");
        assert!(common::all_finite(&mut desk.app), "{gone}");
    }
}

/// What the mouse hovers, with what is told of the surface.
fn hovered(app: &App) -> Vec<(Entity, Option<SurfaceHit>, f32, Vec3)> {
    let hovered = app.world().resource::<HoverMap>().get(&PointerId::Mouse);
    let told = |(entity, hit): (&Entity, &HitData)| {
        let at = hit.position.unwrap_or(Vec3::NAN);
        (*entity, hit.extra_as::<SurfaceHit>().cloned(), hit.depth, at)
    };
    hovered.map_or_else(Vec::new, |hits| hits.iter().map(told).collect())
}

#[test]
fn case_42_picking_hits_the_deformed_surface_as_bevys_ray_cast_hits_its_mesh() {
    let mut desk = Desk::new(1.0);
    desk.app.add_plugins(MeshPickingPlugin);
    let eye = Transform::from_xyz(1.0, 1.5, 3.0).looking_at(Vec3::new(0.0, 0.4, 0.0), Vec3::Y);
    desk.app.world_mut().spawn((Camera3d::default(), eye));
    let lie = Transform::from_xyz(0.0, 0.8, -0.7).with_rotation(Quat::from_rotation_x(-1.5));
    let cloth = Cloth::grid(UVec2::new(30, 30), 0.05);
    let body = desk.app.world_mut().spawn((cloth, lie, RayCastBackfaces)).id();
    let ball = (Obstacle::sphere(0.4), Transform::from_xyz(0.0, 0.3, 0.0));
    desk.app.world_mut().spawn(ball);
    desk.start();
    desk.run(70);
    let mut hits = 0;
    for i in 0..400u32 {
        let at =
            Vec2::new((i * 7919 % 400 + 200) as f32 + 0.3, (i * 104_729 % 300 + 170) as f32 + 0.7);
        desk.move_to(at);
        // The tick of that frame came after picking: the mesh and what was hit are of the same frame
        // once time stands.
        desk.app.insert_resource(TimeUpdateStrategy::FixedTimesteps(0));
        desk.run(2);
        let ours: Vec<_> = hovered(&desk.app).into_iter().filter(|hit| hit.0 == body).collect();
        let expected = desk
            .app
            .world_mut()
            .run_system_cached_with(
                |In(at): In<Vec2>,
                 cameras: Query<(&Camera, &GlobalTransform), With<Camera3d>>,
                 mut ray_cast: MeshRayCast| {
                    let (camera, view) = cameras.single().expect("one camera");
                    let ray = camera.viewport_to_world(view, at).expect("in view");
                    let any =
                        MeshRayCastSettings::default().with_visibility(RayCastVisibility::Any);
                    ray_cast.cast_ray(ray, &any).first().map(|(_, hit)| {
                        (
                            hit.point,
                            hit.distance,
                            hit.triangle_index,
                            hit.barycentric_coords,
                            hit.uv,
                        )
                    })
                },
                at,
            )
            .expect("it runs");
        assert_eq!(ours.len(), usize::from(expected.is_some()), "{at}: {ours:?} {expected:?}");
        let (Some(expected), Some((_, told, depth, point))) = (expected, ours.first()) else {
            continue;
        };
        hits += 1;
        let told = told.as_ref().expect("the hit that is kept is ours");
        assert!(point.distance(expected.0) < 1e-4, "{at}: {point} {}", expected.0);
        assert!((depth - expected.1).abs() < 1e-4, "{at}: {depth} {}", expected.1);
        if Some(told.triangle as usize) == expected.2 {
            assert!(told.barycentric.distance(expected.3) < 1e-2, "{at}");
            let uv = told.uv.expect("it has texture coordinates");
            assert!(uv.distance(expected.4.expect("as has the mesh")) < 1e-3, "{at}: {uv}");
        }
        // What moves the point puts it there.
        let mean: Vec3 = told
            .parts
            .iter()
            .map(|part| part.weight * (particle(&desk.app, part.particle).position + part.point))
            .sum();
        assert!(mean.distance(*point) < 1e-4, "{at}: {mean} {point}");
        let nearest = |p: &Entity| particle(&desk.app, *p).position.distance(*point);
        let all = particles(&desk.app, body);
        let best = all.iter().map(nearest).fold(f32::INFINITY, f32::min);
        assert!(nearest(&told.particle) < best + 0.02, "{at}");
    }
    assert!(hits > 60, "{hits} of 400");
}

#[test]
fn events_reach_the_body_of_a_mesh_below_it() {
    #[derive(Resource, Default)]
    struct Heard(Vec<&'static str>);
    let mut desk = Desk::new(1.0);
    desk.app.init_resource::<Heard>();
    let at = Transform::from_xyz(0.0, 0.0, 4.0);
    desk.app.world_mut().spawn((Camera3d::default(), at));
    let grid = Plane3d::new(Vec3::Z, Vec2::splat(0.8)).mesh().subdivisions(6).build();
    let grid = desk.app.world_mut().resource_mut::<Assets<Mesh>>().add(grid);
    let body = desk
        .app
        .world_mut()
        .spawn((Cloth::mesh(), BodySettings { gravity: Some(Vec3::ZERO), ..default() }))
        .with_child(Mesh3d(grid))
        .observe(|_: On<Pointer<Over>>, mut heard: ResMut<Heard>| heard.0.push("over"))
        .observe(|_: On<Pointer<Click>>, mut heard: ResMut<Heard>| heard.0.push("click"))
        .id();
    desk.start();
    desk.run(10);
    let child = desk.app.world().get::<Children>(body).expect("a mesh")[0];
    desk.move_to(SIZE * 0.5 + Vec2::new(20.0, 11.0));
    let hit = hovered(&desk.app);
    assert!(hit.iter().any(|(entity, told, ..)| *entity == child && told.is_some()), "{hit:?}");
    desk.press();
    desk.release();
    assert_eq!(desk.app.world().resource::<Heard>().0, ["over", "click"]);
    assert_eq!(desk.told(), (1, 1), "it was held meanwhile");
}

#[test]
fn what_is_hidden_or_on_another_layer_is_neither_hovered_nor_grabbed() {
    for what in ["hidden", "layer", "ignored", "disabled"] {
        let (mut desk, body) = Desk::with_cloth(1.0);
        let wanted = inner(&desk.app, body);
        let at = desk.on_screen(wanted);
        desk.move_to(at);
        assert!(hovered(&desk.app).iter().any(|hit| hit.0 == body && hit.1.is_some()), "{what}");
        let mut entity = desk.app.world_mut().entity_mut(body);
        match what {
            "hidden" => drop(entity.insert(Visibility::Hidden)),
            "layer" => drop(entity.insert(RenderLayers::layer(3))),
            "ignored" => drop(entity.insert(Pickable::IGNORE)),
            _ => drop(entity.insert(bevy::ecs::entity_disabling::Disabled)),
        }
        desk.run(2);
        desk.move_to(at + Vec2::X);
        assert!(hovered(&desk.app).iter().all(|hit| hit.0 != body), "{what}");
        desk.press();
        assert_eq!(desk.told(), (0, 0), "{what}");
    }
}

#[test]
fn the_nearer_of_two_cloths_is_taken_and_the_one_that_lets_through_is_not_in_the_way() {
    let (mut desk, behind) = Desk::with_cloth(1.0);
    let near = Transform::from_xyz(0.0, 0.0, 0.5);
    let before = desk.app.world_mut().spawn((cloth(), near)).id();
    desk.run(40);
    let wanted = inner(&desk.app, behind);
    let at = desk.on_screen(wanted);
    desk.move_to(at);
    let hit = hovered(&desk.app);
    assert!(hit.iter().any(|hit| hit.0 == before) && hit.iter().all(|hit| hit.0 != behind));
    desk.press();
    desk.release();
    let grabbed = desk.app.world().resource::<Told>().grabbed[0];
    assert!(particles(&desk.app, before).contains(&grabbed));
    let lets_through = Pickable { should_block_lower: false, is_hoverable: false };
    desk.app.world_mut().entity_mut(before).insert(lets_through);
    desk.run(2);
    desk.move_to(at + Vec2::X);
    assert!(hovered(&desk.app).iter().any(|hit| hit.0 == behind));
    desk.press();
    let grabbed = desk.app.world().resource::<Told>().grabbed[1];
    assert!(particles(&desk.app, behind).contains(&grabbed));
}

#[test]
fn a_particle_that_is_a_target_is_hovered_together_with_its_body() {
    let (mut desk, body) = Desk::with_cloth(1.0);
    let target = inner(&desk.app, body);
    desk.app.world_mut().entity_mut(target).insert(Pickable::default());
    desk.run(2);
    for (aside, near) in [(2.0, true), (7.0, true), (14.0, false)] {
        let at = desk.on_screen(target) + Vec2::new(aside, 0.0);
        desk.move_to(at);
        let hit: Vec<Entity> = hovered(&desk.app).iter().map(|hit| hit.0).collect();
        assert!(hit.contains(&body), "{aside} px: {hit:?}");
        assert_eq!(hit.contains(&target), near, "{aside} px: {hit:?}");
    }
}

#[test]
fn what_is_dragged_during_a_pause_comes_to_the_pointer_afterwards_without_a_blow() {
    for virtual_time in [false, true] {
        let (mut desk, body) = Desk::with_cloth(1.0);
        let rope = desk.app.world_mut().spawn(rope()).id();
        desk.run(60);
        let end = particles(&desk.app, rope)[12];
        let at = desk.on_screen(end);
        desk.move_to(at);
        desk.press();
        assert_eq!(desk.app.world().resource::<Told>().grabbed, [end]);
        let pause = |desk: &mut Desk, paused: bool| {
            if virtual_time {
                let mut time = desk.app.world_mut().resource_mut::<Time<Virtual>>();
                if paused { time.pause() } else { time.unpause() }
            } else {
                desk.app.world_mut().resource_mut::<SolverControl>().paused = paused;
            }
        };
        pause(&mut desk, true);
        desk.run(2);
        let before = particle(&desk.app, end).position;
        let to = at + Vec2::new(60.0, -110.0);
        for i in 1..=10 {
            desk.move_to(at.lerp(to, i as f32 / 10.0));
        }
        assert_eq!(particle(&desk.app, end).position, before, "virtual: {virtual_time}");
        pause(&mut desk, false);
        let mut fastest: f32 = 0.0;
        for _ in 0..90 {
            desk.run(1);
            for member in [particles(&desk.app, rope), particles(&desk.app, body)].concat() {
                fastest = fastest.max(particle(&desk.app, member).velocity.length());
            }
        }
        let apart = desk.on_screen(end).distance(to);
        assert!(apart < 3.0, "virtual: {virtual_time}: {apart} px from the pointer");
        // 0.8 m in a quarter of a second.
        assert!(fastest < 8.0, "virtual: {virtual_time}: {fastest} m/s");
    }
}

#[derive(Resource, Default)]
struct Pins(Vec<(&'static str, Entity)>);

#[test]
fn a_right_click_pins_a_particle_and_another_frees_it_and_a_pin_goes_where_it_is_dragged() {
    let (mut desk, body) = Desk::with_cloth(1.0);
    desk.app
        .init_resource::<Pins>()
        .add_observer(|e: On<PointerPinned>, mut p: ResMut<Pins>| p.0.push(("pin", e.particle)))
        .add_observer(|e: On<PointerUnpinned>, mut p: ResMut<Pins>| p.0.push(("free", e.particle)));
    let pin = inner(&desk.app, body);
    let at = desk.on_screen(pin);
    let click = |desk: &mut Desk| {
        desk.button(MouseButton::Right, ButtonState::Pressed);
        desk.button(MouseButton::Right, ButtonState::Released);
        desk.run(1);
    };
    desk.move_to(at);
    click(&mut desk);
    assert_eq!(desk.app.world().resource::<Pins>().0, [("pin", pin)]);
    assert!(desk.app.world().get::<Pinned>(pin).is_some());
    // Free it and it would follow the rest; pinned it stays.
    let before = particle(&desk.app, pin).position;
    desk.run(20);
    assert_eq!(particle(&desk.app, pin).position, before);
    desk.press();
    let mut cursor = at;
    for _ in 0..20 {
        cursor += Vec2::new(1.0, -1.0);
        desk.move_to(cursor);
    }
    desk.run(3);
    let apart = desk.on_screen(pin).distance(cursor);
    assert!(apart < 2.0, "{apart} px");
    desk.release();
    desk.run(20);
    assert!(desk.on_screen(pin).distance(cursor) < 2.0, "it stays where it was put");
    click(&mut desk);
    assert_eq!(desk.app.world().resource::<Pins>().0, [("pin", pin), ("free", pin)]);
    assert!(desk.app.world().get::<Pinned>(pin).is_none());
    assert!(common::all_finite(&mut desk.app));
}

#[test]
fn a_ragdoll_is_dragged_by_its_arm() {
    // By its picture on a mesh, and by its bones where nothing is drawn.
    for drawn in [true, false] {
        let mut desk = Desk::new(1.0);
        let projection =
            OrthographicProjection { scale: 0.004, ..OrthographicProjection::default_2d() };
        desk.app.world_mut().spawn((Camera2d, Projection::Orthographic(projection)));
        let server = desk.app.world().resource::<AssetServer>().clone();
        let ragdoll = SpriteRagdoll::new(
            server.load("characters/postman.png"),
            server.load("characters/postman_bones.png"),
        );
        let calm = BodySettings { gravity: Some(Vec3::ZERO), ..default() };
        let body = desk.app.world_mut().spawn((ragdoll, calm)).id();
        if drawn {
            desk.app.world_mut().entity_mut(body).insert(Mesh2d::default());
        }
        desk.start();
        for _ in 0..2000 {
            desk.run(1);
            std::thread::sleep(core::time::Duration::from_millis(2));
            if desk.app.world().get::<Particles>(body).is_some_and(|p| p.len() > 5) {
                break;
            }
        }
        desk.run(5);
        // The hand: the bone farthest to the left.
        let x = |p: &Entity| particle(&desk.app, *p).position.x;
        let all = particles(&desk.app, body);
        let hand = *all.iter().min_by(|a, b| x(a).total_cmp(&x(b))).expect("bones");
        let mut cursor = desk.on_screen(hand);
        desk.move_to(cursor);
        let hit = hovered(&desk.app);
        assert_eq!(hit.iter().any(|hit| hit.0 == body && hit.1.is_some()), drawn, "{hit:?}");
        desk.press();
        assert_eq!(desk.told().0, 1, "drawn: {drawn}");
        let (start, from) = (desk.on_screen(hand), cursor);
        for _ in 0..40 {
            cursor += Vec2::new(-2.0, -2.0);
            desk.move_to(cursor);
        }
        desk.run(200);
        let moved = desk.on_screen(hand) - start;
        let wrong = moved.distance(cursor - from);
        assert!(wrong < 8.0, "drawn: {drawn}: the hand went {moved} px");
        desk.release();
        assert_eq!(desk.told(), (1, 1));
        assert!(common::all_finite(&mut desk.app));
    }
}
