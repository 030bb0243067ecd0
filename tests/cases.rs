//! Faults and requests that users of such software reported; numbered as in the list of cases (see
//! `README.md` beside this file).

mod common;

use bevy::{ecs::entity_disabling::Disabled, prelude::*, time::TimeUpdateStrategy};
use bevy_pliant::{
    particle::SolverState,
    prelude::*,
    solver::{DrawnPose, Faulty, SolverClock, state_hash},
};
use common::{
    all_finite, app, app_with, exact_positions, max_stretch, particle, particles, positions, tick,
    undamped,
};
use core::time::Duration;

/// Events seen.
#[derive(Resource, Default)]
struct Seen {
    built: Vec<Entity>,
    failed: Vec<(Entity, BuildError)>,
    faults: Vec<BodyFault>,
}

fn watch(app: &mut App) {
    app.init_resource::<Seen>()
        .add_observer(|e: On<BodyBuilt>, mut seen: ResMut<Seen>| seen.built.push(e.entity))
        .add_observer(|e: On<BodyFailed>, mut seen: ResMut<Seen>| {
            seen.failed.push((e.entity, e.error.clone()));
        })
        .add_observer(|e: On<BodyFault>, mut seen: ResMut<Seen>| seen.faults.push(e.clone()));
}

fn spawn_cloth(app: &mut App, at: Transform) -> Entity {
    let cloth = Cloth::grid(UVec2::new(12, 9), 0.1).pinned(ClothPins::TopCorners);
    app.world_mut().spawn((cloth, at)).id()
}

fn spawn_rope(app: &mut App, at: Transform) -> Entity {
    let rope = Rope::new(1.0, 11).pinned(RopePins::Start);
    app.world_mut().spawn((rope, at)).id()
}

/// A cloth and a rope.
fn spawn_both(app: &mut App, at: Transform) -> [Entity; 2] {
    [spawn_cloth(app, at), spawn_rope(app, at)]
}

/// How far below `top` the lowest particle hangs (m).
fn sag(app: &App, body: Entity, top: f32) -> f32 {
    positions(app, body).iter().map(|p| top - p.y).fold(0.0, f32::max)
}

fn rms_speed(app: &App, body: Entity) -> f32 {
    let members = particles(app, body);
    let sum: f32 = members.iter().map(|e| particle(app, *e).velocity.length_squared()).sum();
    (sum / members.len() as f32).sqrt()
}

fn max_speed(app: &App, body: Entity) -> f32 {
    particles(app, body).iter().map(|e| particle(app, *e).velocity.length()).fold(0.0, f32::max)
}

fn transform_mut(app: &mut App, entity: Entity) -> Mut<'_, Transform> {
    app.world_mut().get_mut::<Transform>(entity).unwrap()
}

#[test]
fn case_01_the_sag_does_not_depend_on_the_frame_rate() {
    let sags = |fps: u64, app: &mut App| {
        let bodies = spawn_both(app, Transform::IDENTITY);
        app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_secs_f64(
            1.0 / fps as f64,
        )));
        for _ in 0..12 * fps {
            app.update();
        }
        bodies.map(|body| sag(app, body, 0.0))
    };
    let settings = SolverSettings { damping: 1.0, ..default() };
    let fixed = |fps| sags(fps, &mut app_with(settings.clone()));
    // A tick as long as a frame: there, nothing but the solver can make up for the frame rate.
    let varying = |fps| {
        let mut app = common::bare_app();
        let plugins = PliantPlugins::default().with_settings(settings.clone());
        app.add_plugins(plugins.in_schedule(Update));
        sags(fps, &mut app)
    };
    let expected = fixed(60);
    assert!(expected[0] > 0.7 && expected[1] > 0.95, "{expected:?}");
    for (what, got) in [
        ("fixed 30", fixed(30)),
        ("fixed 144", fixed(144)),
        ("varying 30", varying(30)),
        ("varying 60", varying(60)),
        ("varying 144", varying(144)),
    ] {
        for (got, expected) in got.into_iter().zip(expected) {
            assert!((got / expected - 1.0).abs() < 0.01, "{what}: {got} m, {expected} m");
        }
    }
}

#[test]
fn case_02_a_long_frame_is_not_caught_up_without_bound() {
    let mut app = app();
    let bodies = spawn_both(&mut app, Transform::IDENTITY);
    tick(&mut app, 10);
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_secs(5)));
    app.world_mut().resource_mut::<Time<Virtual>>().set_max_delta(Duration::from_secs(60));
    let before = app.world().resource::<SolverClock>().ticks;
    app.update();
    let ticks = app.world().resource::<SolverClock>().ticks - before;
    assert_eq!(ticks, 8, "capped");
    // The game's own clock is not touched.
    assert!(app.world().resource::<Time<Fixed>>().elapsed() > Duration::from_secs(5));
    assert!(all_finite(&mut app));
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_millis(16)));
    (0..60).for_each(|_| app.update());
    assert!(all_finite(&mut app));
    assert!(bodies.iter().all(|body| max_speed(&app, *body) < 10.0));

    // Outside the fixed loop too.
    let mut app = common::bare_app();
    app.add_plugins(PliantPlugins::default().in_schedule(Update));
    let bodies = spawn_both(&mut app, Transform::IDENTITY);
    for millis in [16, 16, 5000, 5000, 16, 16] {
        app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_millis(millis)));
        app.update();
    }
    assert!(all_finite(&mut app));
    assert!(bodies.iter().all(|body| max_speed(&app, *body) < 20.0));
}

#[test]
fn case_03_a_step_of_no_length_is_a_no_op() {
    for label_is_update in [false, true] {
        let mut app = common::bare_app();
        let plugins = PliantPlugins::default();
        if label_is_update {
            app.add_plugins(plugins.in_schedule(Update));
        } else {
            app.add_plugins(plugins);
        }
        spawn_both(&mut app, Transform::IDENTITY);
        for _ in 0..20 {
            app.update();
        }
        let (hash, ticks) =
            (state_hash(app.world_mut()), app.world().resource::<SolverClock>().ticks);
        assert!(ticks > 10);
        app.world_mut().resource_mut::<Time<Virtual>>().pause();
        (0..5).for_each(|_| app.update());
        app.world_mut().resource_mut::<Time<Virtual>>().unpause();
        app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO));
        (0..5).for_each(|_| app.update());
        assert_eq!(state_hash(app.world_mut()), hash);
        assert_eq!(app.world().resource::<SolverClock>().ticks, ticks);
        app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_millis(16)));
        (0..5).for_each(|_| app.update());
        assert_ne!(state_hash(app.world_mut()), hash, "it goes on after the pause");
        assert!(all_finite(&mut app));
    }
}

#[test]
fn case_04_the_converged_stretch_matches_the_compliance() {
    const ALPHA: f32 = 1e-3;
    for iterations in [1, 4, 16] {
        let settings = SolverSettings { iterations, damping: 2.0, sleeping: false, ..default() };
        let mut app = app_with(settings);
        let rope = Rope::new(1.0, 11).pinned(RopePins::Start);
        let rope = rope.with_mass_per_length(1.0).with_compliance(ALPHA).without_tethers();
        let rope = app.world_mut().spawn(rope).id();
        // Two columns of a cloth: each carries half of it, the diagonals and rows hardly anything.
        let cloth = Cloth::grid(UVec2::new(2, 6), 0.2).pinned(ClothPins::TopEdge);
        let cloth = cloth.with_mass(ClothMass::PerParticle(0.1)).with_compliance(ALPHA);
        let cloth = app.world_mut().spawn(cloth.without_tethers()).id();
        tick(&mut app, 64 * 20);
        // Each link bears what hangs below it: Σ α g m.
        let members = particles(&app, rope);
        let masses: Vec<f32> = members.iter().map(|e| particle(&app, *e).mass).collect();
        assert!((masses.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        let expected: f32 =
            (1..masses.len()).map(|i| ALPHA * 9.81 * masses[i..].iter().sum::<f32>()).sum();
        let extension = sag(&app, rope, 0.0) - 1.0;
        assert!(
            (extension / expected - 1.0).abs() < 0.02,
            "{iterations} it: {extension} {expected}"
        );
        // The cloth cannot stretch more than its columns alone would, nor less than a third of it:
        // each column has a diagonal on each side.
        let alone: f32 = (1..6).map(|i| ALPHA * 9.81 * 0.1 * (6 - i) as f32).sum();
        let extension = sag(&app, cloth, 0.0) - 1.0;
        assert!((alone / 3.0..alone).contains(&extension), "{iterations} it: {extension} {alone}");
    }
}

#[test]
fn case_04_the_sag_of_a_cloth_does_not_depend_on_the_iterations() {
    let sag_at = |iterations| {
        let settings = SolverSettings { iterations, damping: 2.0, ..default() };
        let mut app = app_with(settings);
        let cloth = Cloth::grid(UVec2::new(12, 9), 0.1).pinned(ClothPins::TopCorners);
        let cloth = app.world_mut().spawn(cloth.with_compliance(1e-3).without_tethers()).id();
        tick(&mut app, 64 * 12);
        sag(&app, cloth, 0.0)
    };
    let one = sag_at(1);
    for iterations in [2, 8] {
        let more = sag_at(iterations);
        assert!((more / one - 1.0).abs() < 0.01, "{one} {more}");
    }
}

#[test]
fn case_05_changing_the_compliance_makes_no_jerk() {
    for (new, at_rest) in [(1e-1, false), (1e-3, false), (0.0, true)] {
        let mut app = app_with(SolverSettings { sleeping: false, ..default() });
        let world = app.world_mut();
        let pin = world.spawn((Particle::default(), Pinned)).id();
        let bob = world.spawn(Particle::at(Vec3::NEG_Y * 0.2).with_mass(0.1)).id();
        let spring = DistanceConstraint::new([pin, bob], 0.2).with_compliance(1e-2);
        let spring = world.spawn(spring.with_damping(1.0)).id();
        let rope = Rope::new(0.5, 6).pinned(RopePins::Start).without_tethers();
        let rope = world.spawn(rope.with_compliance(1e-2).with_damping(2.0)).id();
        let cloth = Cloth::grid(UVec2::new(6, 6), 0.1).pinned(ClothPins::TopEdge);
        let cloth = cloth.with_compliance(1e-2).with_damping(2.0).without_tethers();
        let cloth = world.spawn(cloth).id();
        tick(&mut app, 64 * 10);
        let world = app.world_mut();
        world.get_mut::<DistanceConstraint>(spring).unwrap().compliance = new;
        world.get_mut::<Rope>(rope).unwrap().compliance = new;
        world.get_mut::<Cloth>(cloth).unwrap().compliance = new;
        let before = [sag(&app, rope, 0.0), sag(&app, cloth, 0.0)];
        let mut fastest = 0.0;
        for _ in 0..64 * 5 {
            tick(&mut app, 1);
            assert!(all_finite(&mut app));
            fastest = [max_speed(&app, rope), max_speed(&app, cloth)]
                .into_iter()
                .fold(f32::max(fastest, particle(&app, bob).velocity.length()), f32::max);
        }
        let after = [sag(&app, rope, 0.0), sag(&app, cloth, 0.0)];
        assert_ne!(before, after, "the change does nothing");
        if at_rest {
            let bob_speed = particle(&app, bob).velocity.length();
            let speeds = [bob_speed, max_speed(&app, rope), max_speed(&app, cloth)];
            assert!(speeds.iter().all(|v| *v < 0.1), "still moves: {speeds:?}");
            assert!((particle(&app, bob).position.y + 0.2).abs() < 1e-3);
        } else {
            assert!(fastest < 2.0, "compliance {new}: {fastest} m/s");
        }
    }
}

#[test]
fn case_14_a_garment_holds_at_the_default_settings() {
    let mut app = app();
    let world = app.world_mut();
    let size = UVec2::new(40, 30);
    let curtain = Cloth::grid(size, 0.05).pinned(ClothPins::TopEdge);
    world.spawn((curtain, Transform::from_xyz(0.0, 0.0, -3.0)));
    let flag = Cloth::grid(size, 0.05).pinned(ClothPins::TopCorners);
    world.spawn(flag.clone());
    world.spawn((flag.with_bending(1e4), Transform::from_xyz(0.0, 0.0, 3.0)));
    world.spawn((Rope::new(3.0, 61).pinned(RopePins::Start), Transform::from_xyz(5.0, 0.0, 0.0)));
    let mut worst: f32 = 0.0;
    for _ in 0..10 {
        tick(&mut app, 64);
        worst = worst.max(max_stretch(&mut app));
    }
    assert!(all_finite(&mut app));
    assert!(worst < 1.25, "a thread is stretched by {worst}");
}

#[test]
fn case_18_pins_keep_their_offsets_when_the_body_gets_a_parent() {
    let mut app = app();
    let at = Transform::from_xyz(3.3, 2.0, -2.1).with_rotation(Quat::from_rotation_y(0.4));
    let bodies = spawn_both(&mut app, at);
    let free = app.world_mut().spawn(Particle::at(Vec3::new(3.0, 5.0, 0.0))).id();
    let hook = app.world_mut().spawn(Transform::from_xyz(3.0, 5.5, 0.0)).id();
    let hold = app.world_mut().spawn(Attachment::new(free, hook)).id();
    tick(&mut app, 30);
    let pins = |app: &App| -> Vec<Vec3> {
        bodies
            .iter()
            .flat_map(|body| particles(app, *body))
            .filter(|e| app.world().get::<PinnedTo>(*e).is_some())
            .map(|e| particle(app, e).position)
            .collect()
    };
    let (before, held) = (pins(&app), particle(&app, free).position);
    assert_eq!(before.len(), 3);
    let parent = Transform::from_xyz(-7.0, 1.0, 2.0)
        .with_rotation(Quat::from_rotation_x(0.7))
        .with_scale(Vec3::splat(2.0));
    let parent = app.world_mut().spawn(parent).id();
    for entity in [bodies[0], bodies[1], hook] {
        let global = GlobalTransform::from(*app.world().get::<Transform>(entity).unwrap());
        let on = GlobalTransform::from(*app.world().get::<Transform>(parent).unwrap());
        app.world_mut().entity_mut(entity).insert((global.reparented_to(&on), ChildOf(parent)));
    }
    let offset = app.world().get::<Attachment>(hold).unwrap().offset;
    tick(&mut app, 10);
    for (now, then) in pins(&app).iter().zip(&before) {
        assert!(now.distance(*then) < 1e-4, "a pin went from {then} to {now}");
    }
    assert!(particle(&app, free).position.distance(held) < 1e-3);
    assert_eq!(app.world().get::<Attachment>(hold).unwrap().offset, offset);
    // The parent carries them all.
    transform_mut(&mut app, parent).translation.x += 0.5;
    tick(&mut app, 4);
    for (now, then) in pins(&app).iter().zip(&before) {
        assert!(now.distance(*then + Vec3::X * 0.5) < 1e-3, "{then} {now}");
    }
    assert!(particle(&app, free).position.distance(held + Vec3::X * 0.5) < 0.01);
}

#[test]
fn case_19_pausing_scaling_and_moving_keep_the_state() {
    let mut app = app();
    watch(&mut app);
    let bodies = spawn_both(&mut app, Transform::IDENTITY);
    tick(&mut app, 20);
    let hash = state_hash(app.world_mut());
    app.world_mut().resource_mut::<SolverControl>().paused = true;
    (0..10).for_each(|_| app.update());
    assert_eq!(state_hash(app.world_mut()), hash);
    app.world_mut().resource_mut::<SolverControl>().paused = false;
    let state = |app: &App| -> Vec<Particle> {
        let members = bodies.iter().flat_map(|body| particles(app, *body));
        members
            .filter(|e| app.world().get::<PinnedTo>(*e).is_none())
            .map(|e| particle(app, e))
            .collect()
    };
    for change in [
        Transform::from_xyz(0.01, 0.0, 0.0),
        Transform::from_xyz(0.01, 0.0, 0.0).with_scale(Vec3::splat(1.02)),
    ] {
        let before = state(&app);
        bodies.iter().for_each(|body| *transform_mut(&mut app, *body) = change);
        tick(&mut app, 1);
        for (now, then) in state(&app).iter().zip(&before) {
            // One tick of motion, not a jump to the rest pose.
            let moved = now.position.distance(then.position);
            let expected = then.velocity.length() / 64.0;
            assert!(moved < 2.0 * expected + 0.05, "{moved} {expected}");
            assert!(now.velocity.distance(then.velocity) < 3.0);
        }
    }
    assert!(rms_speed(&app, bodies[0]) > 0.05, "it was reset");
    assert_eq!(app.world().resource::<Seen>().built.len(), 2, "it was built again");
}

#[test]
fn case_20_the_scale_is_baked_when_the_body_is_built() {
    let mut app = app_with(SolverSettings { damping: 1.0, ..default() });
    watch(&mut app);
    let plain = spawn_both(&mut app, Transform::IDENTITY);
    let doubled = spawn_both(&mut app, Transform::from_scale(Vec3::splat(2.0)));
    let odd = Transform::from_scale(Vec3::new(-1.0, 2.0, 0.5));
    let odd = spawn_both(&mut app, odd);
    tick(&mut app, 1);
    let mass = |app: &App, body| -> f32 {
        particles(app, body).iter().map(|e| particle(app, *e).mass).sum()
    };
    assert!((mass(&app, doubled[0]) / mass(&app, plain[0]) - 4.0).abs() < 1e-3, "an area");
    assert!((mass(&app, doubled[1]) / mass(&app, plain[1]) - 2.0).abs() < 1e-3, "a length");
    assert!(max_stretch(&mut app) < 1.01, "built under tension");
    tick(&mut app, 64 * 10);
    assert!(all_finite(&mut app));
    for i in 0..2 {
        let ratio = sag(&app, doubled[i], 0.0) / sag(&app, plain[i], 0.0);
        assert!((ratio - 2.0).abs() < 0.06, "{ratio}");
        assert!(rms_speed(&app, odd[i]) < 0.2);
    }
    assert!((sag(&app, odd[1], 0.0) - 2.0).abs() < 0.05, "a rope twice as long");
    // Moving the scaled body carries its pins at their scaled offsets.
    for scale in [Vec3::ZERO, Vec3::new(1.0, 0.0, 1.0), Vec3::splat(1e-30)] {
        for body in spawn_both(&mut app, Transform::from_scale(scale)) {
            tick(&mut app, 2);
            let seen = app.world().resource::<Seen>();
            let error = &seen.failed.iter().rfind(|(e, _)| *e == body).expect("an error").1;
            assert!(matches!(error, BuildError::FlatScale(s) if *s == scale), "{error}");
            assert!(app.world().get::<Particles>(body).is_none());
        }
    }
}

#[test]
fn case_21_a_body_enabled_late_starts_at_its_transform() {
    let mut app = app();
    watch(&mut app);
    let bodies = spawn_both(&mut app, Transform::IDENTITY);
    for body in bodies {
        app.world_mut().entity_mut(body).insert(Disabled);
    }
    tick(&mut app, 20);
    assert!(app.world().resource::<Seen>().built.is_empty(), "built while disabled");
    let at = Vec3::new(5.0, 300.0, -4.0);
    for body in bodies {
        transform_mut(&mut app, body).translation = at;
        app.world_mut().entity_mut(body).remove::<Disabled>();
    }
    tick(&mut app, 1);
    assert_eq!(app.world().resource::<Seen>().built.len(), 2, "not built when enabled");
    for body in bodies {
        assert!(positions(&app, body)[0].distance(at) < 1.0);
        assert!(max_speed(&app, body) < 0.5, "it flies there");
    }
}

#[test]
fn case_22_disabling_and_swapping_the_recipe_are_safe() {
    let mut app = app();
    watch(&mut app);
    let [cloth, rope] = spawn_both(&mut app, Transform::IDENTITY);
    tick(&mut app, 20);
    for body in [cloth, rope] {
        app.world_mut().entity_mut(body).insert(Disabled);
    }
    let hash = state_hash(app.world_mut());
    tick(&mut app, 20);
    assert_eq!(state_hash(app.world_mut()), hash, "a disabled body moves");
    // A change of shape while disabled is followed when enabled again.
    common::resize(&mut app, cloth, UVec2::new(5, 7));
    tick(&mut app, 2);
    for body in [cloth, rope] {
        app.world_mut().entity_mut(body).remove::<Disabled>();
    }
    tick(&mut app, 2);
    assert_ne!(state_hash(app.world_mut()), hash);
    assert_eq!(positions(&app, cloth).len(), 35);
    // Swapped back and forth in motion, also within one tick.
    for size in [UVec2::new(20, 20), UVec2::new(2, 2), UVec2::new(9, 3)] {
        common::resize(&mut app, cloth, size);
        app.world_mut().get_mut::<Rope>(rope).unwrap().particles = size.x;
        tick(&mut app, 3);
        assert_eq!(positions(&app, cloth).len(), (size.x * size.y) as usize);
        assert_eq!(positions(&app, rope).len(), size.x as usize);
    }
    // Another recipe on the same entity.
    app.world_mut().entity_mut(cloth).remove::<Cloth>().insert(Rope::new(1.0, 6));
    tick(&mut app, 10);
    assert!(all_finite(&mut app));
    assert_eq!(positions(&app, cloth).len(), 6);
    assert!(app.world().resource::<Seen>().failed.is_empty());
}

#[test]
fn case_23_a_pin_is_drawn_where_its_moving_anchor_is() {
    for fps in [30.0, 60.0, 144.0] {
        let mut app = app();
        let bodies = spawn_both(&mut app, Transform::IDENTITY);
        tick(&mut app, 4);
        app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_secs_f32(1.0 / fps)));
        let body_pins = bodies.map(|body| -> Vec<(usize, Vec3)> {
            particles(&app, body)
                .into_iter()
                .enumerate()
                .filter_map(|(i, e)| Some((i, app.world().get::<PinnedTo>(e)?.offset)))
                .collect()
        });
        assert_eq!(body_pins.each_ref().map(Vec::len), [2, 1]);
        for frame in 0..60 {
            let t = frame as f32 / fps;
            let pole = Transform::from_xyz(10.0 * t, (9.0 * t).sin(), 0.0)
                .with_rotation(Quat::from_rotation_y(3.0 * t));
            for body in bodies {
                *transform_mut(&mut app, body) = pole;
            }
            app.update();
            for (body, pins) in bodies.iter().zip(&body_pins) {
                let drawn = app.world().get::<DrawnPose>(*body).unwrap();
                for (index, offset) in pins {
                    let error = drawn.positions[*index].distance(pole.transform_point(*offset));
                    assert!(error < 1e-4, "frame {frame} at {fps} fps: {error} m behind");
                }
            }
        }
        assert!(all_finite(&mut app));
    }
}

/// Greatest excess of a tether over its geodesic length, as a part of it.
fn tether_excess(app: &mut App) -> f32 {
    let mut query = app.world_mut().query::<&TetherConstraint>();
    let world = app.world();
    query
        .iter(world)
        .map(|tether| {
            let [x, a] = tether.particles.map(|e| world.get::<Particle>(e).unwrap().position);
            x.distance(a) / (tether.length / 1.02) - 1.0
        })
        .fold(f32::MIN, f32::max)
}

#[test]
fn case_24_tethers_keep_the_stretch_below_five_percent_at_speed() {
    let mut app = app();
    let world = app.world_mut();
    let cloth = Cloth::grid(UVec2::new(30, 20), 0.05).pinned(ClothPins::TopEdge);
    let cloth = world.spawn(cloth).id();
    let rope = world.spawn(Rope::new(2.0, 41).pinned(RopePins::Start)).id();
    let mut worst = f32::MIN;
    for frame in 0..256 {
        // Up to 20 m/s, and back.
        let t = frame as f32 / 64.0;
        let at = Vec3::new(10.0 * (2.0 * t).sin(), 0.0, 2.0 * (3.0 * t).sin());
        for body in [cloth, rope] {
            transform_mut(&mut app, body).translation = at;
        }
        tick(&mut app, 1);
        worst = worst.max(tether_excess(&mut app));
    }
    assert!(worst > -0.5, "there are tethers");
    assert!(worst < 0.05, "stretched by {worst}");
    let members = particles(&app, rope);
    assert_eq!(app.world().get::<Constraints>(rope).unwrap().len(), 40 + 40);
    assert_eq!(members.len(), 41);
}

#[test]
fn case_25_a_blown_up_body_is_told_frozen_and_can_be_revived() {
    for revive_by_rebuild in [true, false] {
        let mut app = app();
        watch(&mut app);
        let bodies = spawn_both(&mut app, Transform::IDENTITY);
        let other = spawn_cloth(&mut app, Transform::from_xyz(9.0, 0.0, 0.0));
        tick(&mut app, 5);
        for body in bodies {
            let victim = particles(&app, body)[7];
            app.world_mut().get_mut::<Particle>(victim).unwrap().velocity = Vec3::splat(f32::NAN);
        }
        tick(&mut app, 3);
        let seen = app.world().resource::<Seen>();
        let mut faulty: Vec<Entity> = seen.faults.iter().map(|f| f.entity).collect();
        faulty.sort_unstable();
        let mut expected = bodies.to_vec();
        expected.sort_unstable();
        assert_eq!(faulty, expected, "each body is told once");
        assert!(seen.faults.iter().all(|f| f.particles.len() >= 11));
        assert!(all_finite(&mut app), "frozen at the last finite pose");
        let hash: Vec<Vec3> = bodies.iter().flat_map(|b| positions(&app, *b)).collect();
        let moving = positions(&app, other);
        tick(&mut app, 5);
        assert_eq!(hash, bodies.iter().flat_map(|b| positions(&app, *b)).collect::<Vec<_>>());
        assert_ne!(moving, positions(&app, other), "the others go on");
        for body in bodies {
            assert!(app.world().get::<Faulty>(body).is_some());
            let at = Transform::from_xyz(0.0, 5.0, 0.0);
            if revive_by_rebuild {
                *transform_mut(&mut app, body) = at;
                app.world_mut().trigger(Rebuild { entity: body });
            } else {
                app.world_mut().trigger(Teleport { entity: body, to: at });
            }
        }
        tick(&mut app, 10);
        assert!(all_finite(&mut app));
        for body in bodies {
            assert!(app.world().get::<Faulty>(body).is_none());
            app.world_mut().trigger(ApplyImpulse { entity: body, impulse: Vec3::Z * 0.1 });
        }
        tick(&mut app, 20);
        for body in bodies {
            assert!(max_speed(&app, body) > 0.1, "does not move again");
            assert!(positions(&app, body)[0].distance(Vec3::Y * 5.0) < 1.0);
        }
        assert_eq!(app.world().resource::<Seen>().faults.len(), 2);
    }
}

/// Runs until everything sleeps.
fn fall_asleep(app: &mut App) {
    for _ in 0..64 * 60 {
        tick(app, 1);
        if app.world().resource::<SolverDiagnostics>().awake_islands == 0 {
            return;
        }
    }
    panic!("never falls asleep");
}

#[test]
fn case_26_a_sleeping_body_wakes_when_its_support_moves() {
    let mut app = app_with(SolverSettings { damping: 2.0, ..default() });
    let floor = app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::default())).id();
    let lying = app.world_mut().spawn((
        Rope::new(1.0, 11),
        Transform::from_xyz(0.0, 0.05, 0.0).with_rotation(Quat::from_rotation_z(1.57)),
    ));
    let lying = lying.id();
    let cloth = Cloth::grid(UVec2::new(6, 6), 0.1);
    let flat = Transform::from_xyz(3.0, 0.05, 0.0).with_rotation(Quat::from_rotation_x(-1.57));
    let flat = app.world_mut().spawn((cloth, flat)).id();
    let [hanging, rope] = spawn_both(&mut app, Transform::from_xyz(0.0, 5.0, 4.0));
    fall_asleep(&mut app);
    let asleep = positions(&app, lying);
    assert!(asleep.iter().all(|p| (p.y - 0.01).abs() < 5e-3), "rests at its radius: {asleep:?}");
    // The floor is lowered: what lay on it falls.
    transform_mut(&mut app, floor).translation.y = -2.0;
    tick(&mut app, 32);
    for body in [lying, flat] {
        assert!(positions(&app, body).iter().all(|p| p.y < -0.5), "it hangs in the air");
    }
    fall_asleep(&mut app);
    // The floor is taken away.
    app.world_mut().despawn(floor);
    tick(&mut app, 32);
    assert!(positions(&app, lying).iter().all(|p| p.y < -2.5), "it hangs in the air");
    // The pins move.
    let before = [hanging, rope].map(|b| *positions(&app, b).last().unwrap());
    for _ in 0..64 {
        for body in [hanging, rope] {
            transform_mut(&mut app, body).translation.y += 1.0 / 64.0;
        }
        tick(&mut app, 1);
    }
    tick(&mut app, 128);
    for (body, before) in [hanging, rope].into_iter().zip(before) {
        let now = *positions(&app, body).last().unwrap();
        assert!((now.y - before.y - 1.0).abs() < 0.1, "it did not follow: {before} {now}");
    }
}

#[test]
fn case_27_a_cloth_hangs_at_ten_kilometres_as_at_the_origin() {
    let hang = |at: Vec3| {
        let mut app = app_with(SolverSettings { sleeping: false, ..default() });
        let bodies = spawn_both(&mut app, Transform::from_translation(at));
        tick(&mut app, 64 * 40);
        let mut speeds = [0.0f32; 2];
        for _ in 0..64 {
            tick(&mut app, 1);
            for (speed, body) in speeds.iter_mut().zip(bodies) {
                *speed = speed.max(rms_speed(&app, body));
            }
        }
        let sags = bodies.map(|body| {
            let below = |p: &bevy::math::DVec3| f64::from(at.y) - p.y;
            exact_positions(&app, body).iter().map(below).fold(0.0, f64::max)
        });
        (sags, speeds)
    };
    let (near, _) = hang(Vec3::ZERO);
    for at in [Vec3::Y * 1e4, Vec3::splat(1e4), Vec3::new(-1e4, 3.3, 1e4)] {
        let (far, speeds) = hang(at);
        for i in 0..2 {
            assert!((far[i] - near[i]).abs() < 1e-3, "{at}: sags {} m, {} m", far[i], near[i]);
            assert!(speeds[i] < 0.05, "{at}: jitters at {} m/s", speeds[i]);
        }
    }
}

#[test]
fn case_28_a_teleport_is_neither_swept_nor_blended() {
    for fps in [40.0, 64.0, 200.0] {
        let mut app = app();
        let at = Transform::from_xyz(1.0, 2.0, 0.0);
        let bodies = spawn_both(&mut app, at);
        tick(&mut app, 40);
        app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_secs_f32(1.0 / fps)));
        (0..10).for_each(|_| app.update());
        let shape = |app: &App, body| -> Vec<Vec3> {
            let all = positions(app, body);
            all.iter().map(|p| *p - all[0]).collect()
        };
        let before = bodies.map(|body| (shape(&app, body), max_speed(&app, body)));
        let to = Transform::from_xyz(500.0, 40.0, -70.0);
        for body in bodies {
            app.world_mut().trigger(Teleport { entity: body, to });
        }
        for frame in 0..10 {
            app.update();
            for (body, (shape_before, speed)) in bodies.iter().zip(&before) {
                let now = max_speed(&app, *body);
                assert!(now < speed + 1.0, "frame {frame} at {fps} fps: {now} m/s");
                let drawn = app.world().get::<DrawnPose>(*body).unwrap();
                for p in &drawn.positions {
                    assert!(p.distance(to.translation) < 3.0, "drawn on the way, at {p}");
                }
                if frame == 0 {
                    for (a, b) in shape(&app, *body).iter().zip(shape_before) {
                        assert!(a.distance(*b) < 0.1, "the shape changed");
                    }
                }
            }
        }
    }
}

#[test]
fn case_28_a_teleported_anchor_gives_its_pins_no_velocity() {
    let mut app = app();
    let anchor = app.world_mut().spawn(Transform::default()).id();
    let pinned =
        app.world_mut().spawn((Particle::default(), PinnedTo { anchor, offset: Vec3::ZERO })).id();
    tick(&mut app, 5);
    app.world_mut().trigger(Teleport { entity: anchor, to: Transform::from_xyz(100.0, 0.0, 0.0) });
    for _ in 0..5 {
        tick(&mut app, 1);
        let p = particle(&app, pinned);
        assert!(p.velocity.length() < 1e-3, "{p:?}");
        assert!(p.position.distance(Vec3::X * 100.0) < 1e-3);
    }
}

#[test]
fn case_29_despawning_anything_at_any_time_is_safe() {
    // A small generator is enough: which of everything goes when.
    let mut state = 12345u32;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    for _ in 0..30 {
        let mut app = app();
        let world = app.world_mut();
        let floor = Transform::from_xyz(0.0, -1.2, 0.0);
        let mut things = vec![world.spawn((Obstacle::HALF_SPACE, floor)).id()];
        things.extend(spawn_both(&mut app, Transform::IDENTITY));
        let hook = app.world_mut().spawn(Transform::from_xyz(0.0, 1.0, 0.0)).id();
        things.push(hook);
        tick(&mut app, 1 + random(3) as u64);
        let mut query = app.world_mut().query::<(Entity, &DistanceConstraint)>();
        things.extend(query.iter(app.world()).map(|(e, _)| e));
        let mut query = app.world_mut().query::<(Entity, &Particle)>();
        let members: Vec<Entity> = query.iter(app.world()).map(|(e, _)| e).collect();
        let world = app.world_mut();
        for _ in 0..4 {
            let [a, b] = [0; 2].map(|_| members[random(members.len())]);
            things.push(world.spawn(Attachment::new(a, hook)).id());
            things.push(world.spawn(Attachment::new(a, b)).id());
            things.push(world.spawn(DistanceConstraint::new([a, b], 0.3)).id());
            things.push(world.spawn(TetherConstraint::new(a, b, 0.3)).id());
        }
        things.extend(members);
        for _ in 0..12 {
            for _ in 0..random(6) {
                let victim = things[random(things.len())];
                if let Ok(entity) = app.world_mut().get_entity_mut(victim) {
                    entity.despawn();
                }
            }
            tick(&mut app, 1);
            assert!(all_finite(&mut app));
        }
        while let Some(victim) = things.pop() {
            if let Ok(entity) = app.world_mut().get_entity_mut(victim) {
                entity.despawn();
            }
        }
        tick(&mut app, 2);
        let diagnostics = app.world().resource::<SolverDiagnostics>();
        assert_eq!((diagnostics.particles, diagnostics.constraints), (0, 0));
    }
}

#[test]
fn case_30_a_bad_transform_is_refused_when_building() {
    let nan = f32::NAN;
    for bad in [
        Transform::from_xyz(nan, 0.0, 0.0),
        Transform::from_xyz(0.0, f32::INFINITY, 0.0),
        Transform::from_rotation(Quat::from_xyzw(nan, 0.0, 0.0, 1.0)),
        Transform::from_scale(Vec3::splat(nan)),
        Transform::from_scale(Vec3::ZERO),
    ] {
        let mut app = app();
        watch(&mut app);
        let bodies = spawn_both(&mut app, bad);
        tick(&mut app, 3);
        let failed = &app.world().resource::<Seen>().failed;
        assert_eq!(failed.len(), 2, "told once each: {bad:?}");
        assert!(bodies.iter().all(|b| failed.iter().any(|(e, _)| e == b)));
        // A good transform and a rebuild make it a body after all.
        for body in bodies {
            *transform_mut(&mut app, body) = Transform::from_xyz(1.0, 0.0, 0.0);
            app.world_mut().trigger(Rebuild { entity: body });
        }
        tick(&mut app, 3);
        assert_eq!(app.world().resource::<Seen>().built.len(), 2);
        assert!(all_finite(&mut app));
    }
}

#[test]
fn case_30_a_transform_that_turns_bad_moves_nothing() {
    for bad in [
        Transform::from_xyz(f32::NAN, 0.0, 0.0),
        Transform::from_scale(Vec3::splat(f32::INFINITY)),
        Transform::from_rotation(Quat::from_xyzw(0.0, 0.0, 0.0, 0.0)),
        Transform::from_scale(Vec3::ZERO),
    ] {
        let mut app = app();
        watch(&mut app);
        let bodies = spawn_both(&mut app, Transform::IDENTITY);
        let floor = Transform::from_xyz(0.0, -0.5, 0.0);
        let floor = app.world_mut().spawn((Obstacle::HALF_SPACE, floor)).id();
        tick(&mut app, 3);
        for entity in [bodies[0], bodies[1], floor] {
            *transform_mut(&mut app, entity) = bad;
        }
        tick(&mut app, 10);
        for body in bodies {
            app.world_mut().trigger(Teleport { entity: body, to: bad });
        }
        tick(&mut app, 10);
        assert!(all_finite(&mut app), "{bad:?}");
        for entity in [bodies[0], bodies[1], floor] {
            *transform_mut(&mut app, entity) = Transform::IDENTITY;
        }
        tick(&mut app, 10);
        assert!(all_finite(&mut app), "{bad:?}");
        for body in bodies {
            assert!(positions(&app, body)[0].distance(Vec3::ZERO) < 1.0);
        }
    }
}

#[test]
fn case_31_a_light_cloth_is_stable() {
    let mut app = app();
    let cloth = Cloth::grid(UVec2::new(50, 50), 0.04).pinned(ClothPins::TopCorners);
    let cloth = cloth.with_mass(ClothMass::Total(1.0));
    let cloth = app.world_mut().spawn(cloth).id();
    let rope = Rope::new(1.0, 51).pinned(RopePins::Start).with_mass_per_length(1e-6);
    let rope = app.world_mut().spawn((rope, Transform::from_xyz(4.0, 0.0, 0.0))).id();
    tick(&mut app, 64 * 10);
    assert!(all_finite(&mut app));
    let mass: f32 = particles(&app, cloth).iter().map(|e| particle(&app, *e).mass).sum();
    assert!((mass - 1.0).abs() < 1e-4);
    assert!(max_stretch(&mut app) < 1.25, "{}", max_stretch(&mut app));
    assert!(sag(&app, cloth, 0.0) < 2.4 && sag(&app, cloth, 0.0) > 1.8);
    assert!(rms_speed(&app, cloth) < 0.5, "{}", rms_speed(&app, cloth));
    assert!(rms_speed(&app, rope) < 0.5, "{}", rms_speed(&app, rope));
}

#[test]
fn case_32_light_links_carry_a_heavy_tip() {
    let stretch = |tethers: bool| {
        let mut app = app();
        let mut rope = Rope::new(2.0, 21).pinned(RopePins::Start).with_mass_per_length(0.01);
        rope.tethers = tethers;
        let rope = app.world_mut().spawn(rope).id();
        tick(&mut app, 1);
        let members = particles(&app, rope);
        assert!((particle(&app, members[5]).mass - 1e-3).abs() < 1e-6);
        app.world_mut().get_mut::<Particle>(members[20]).unwrap().mass = 1.0;
        let mut worst: f32 = 0.0;
        for _ in 0..64 * 10 {
            tick(&mut app, 1);
            let all = positions(&app, rope);
            let length: f32 = all.windows(2).map(|w| w[0].distance(w[1])).sum();
            worst = worst.max(length / 2.0 - 1.0);
        }
        assert!(all_finite(&mut app));
        worst
    };
    let (bare, tethered) = (stretch(false), stretch(true));
    assert!(bare < 0.25, "without tethers {bare}");
    assert!(tethered < 0.05, "with tethers {tethered}");
}

#[test]
fn case_38_a_force_on_a_body_does_not_depend_on_its_number_of_particles() {
    let speeds = |side: u32, count: u32| {
        let mut app = app_with(SolverSettings { gravity: Vec3::ZERO, ..undamped() });
        let cloth = Cloth::grid(UVec2::splat(side), 1.0 / (side - 1) as f32);
        let cloth = cloth.with_mass(ClothMass::Total(2.0));
        let rope = Rope::new(1.0, count).with_mass_per_length(2.0);
        let force = AppliedForce { force: Vec3::new(3.0, 0.0, 4.0), ..default() };
        let bodies =
            [app.world_mut().spawn((cloth, force)).id(), app.world_mut().spawn((rope, force)).id()];
        tick(&mut app, 64);
        bodies.map(|body| {
            let members = particles(&app, body);
            let all = members.iter().map(|e| particle(&app, *e));
            let (p, m) =
                all.fold((Vec3::ZERO, 0.0), |(p, m), q| (p + q.mass * q.velocity, m + q.mass));
            p / m
        })
    };
    for (side, count) in [(2, 2), (5, 9), (31, 201)] {
        for velocity in speeds(side, count) {
            // a = F/m for one second.
            assert!(velocity.distance(Vec3::new(1.5, 0.0, 2.0)) < 1e-3, "{side}: {velocity}");
        }
    }
}

#[test]
fn the_remainder_of_a_position_is_below_its_last_place() {
    let mut app = app();
    let body = spawn_cloth(&mut app, Transform::from_xyz(1e4, 1e4, 1e4));
    tick(&mut app, 20);
    for e in particles(&app, body) {
        let state = app.world().get::<SolverState>(e).unwrap();
        assert!(state.remainder.abs().max_element() < 6e-4);
    }
}
