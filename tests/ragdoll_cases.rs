//! Faults and requests that users of such software reported, on ragdolls; numbered as in the list of cases
//! (see `README.md` beside this file). And a thousand throws.
#![cfg(feature = "render")]

mod common;

use bevy::{prelude::*, time::TimeUpdateStrategy};
use bevy_pliant::{
    prelude::*,
    solver::{Faulty, SolverClock, state_hash},
};
use common::{
    all_finite, exact_positions, figure, particle, particles, positions,
    ragdoll::{
        Random, Seen, bent, bone, centre, drawn_figure, figure, gap, joints, momenta, oriented,
        ragdoll_app, spawn, throw, top_speed, worst_gap,
    },
    tick,
};
use core::time::Duration;

/// A figure that hangs by its head, pinned.
fn hang(app: &mut App, ragdoll: SpriteRagdoll, at: Transform) -> Entity {
    let body = spawn(app, ragdoll, at);
    tick(app, 1);
    let head = bone(app, body, "head");
    app.world_mut().entity_mut(head).insert(Pinned);
    body
}

fn weightless() -> SolverSettings {
    SolverSettings { gravity: Vec3::ZERO, sleeping: false, ..default() }
}

#[test]
fn case_01_a_hanging_figure_does_not_depend_on_the_frame_rate() {
    let hands = |fps: u64, mut app: App| {
        let body = spawn(&mut app, figure(), Transform::IDENTITY);
        app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_secs_f64(
            1.0 / fps as f64,
        )));
        while app.world().get::<Particles>(body).is_none() {
            app.update();
        }
        let head = bone(&app, body, "head");
        app.world_mut().entity_mut(head).insert(Pinned);
        (0..10 * fps).for_each(|_| app.update());
        ["hand l", "hand r", "foot l"].map(|name| {
            particle(&app, head).position.y - particle(&app, bone(&app, body, name)).position.y
        })
    };
    let fixed = |fps| hands(fps, ragdoll_app(default()));
    // A tick as long as a frame: there, nothing but the solver can make up for the frame rate.
    let varying = |fps| {
        let mut app = common::bare_app();
        app.init_asset::<Image>().add_plugins(PliantPlugins::default().in_schedule(Update));
        hands(fps, app)
    };
    let expected = fixed(60);
    assert!(expected[0] > 0.3 && expected[2] > 0.8, "{expected:?}");
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
    let mut app = ragdoll_app(default());
    let body = spawn(&mut app, figure(), Transform::from_xyz(0.0, 2.0, 0.0));
    app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::default()));
    tick(&mut app, 10);
    throw(&mut app, body, Vec3::new(15.0, 5.0, 0.0), 15.0);
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_secs(5)));
    app.world_mut().resource_mut::<Time<Virtual>>().set_max_delta(Duration::from_secs(60));
    let before = app.world().resource::<SolverClock>().ticks;
    app.update();
    assert_eq!(app.world().resource::<SolverClock>().ticks - before, 8, "capped");
    (0..5).for_each(|_| app.update());
    assert!(all_finite(&mut app) && worst_gap(&app, body) < 0.1, "{}", worst_gap(&app, body));
}

#[test]
fn case_03_a_step_of_no_length_is_a_no_op() {
    let mut app = ragdoll_app(default());
    let body = spawn(&mut app, figure(), Transform::from_xyz(0.0, 2.0, 0.0));
    tick(&mut app, 20);
    throw(&mut app, body, Vec3::X, 3.0);
    tick(&mut app, 5);
    let hash = state_hash(app.world_mut());
    app.world_mut().resource_mut::<Time<Virtual>>().pause();
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::ZERO));
    (0..5).for_each(|_| app.update());
    assert_eq!(state_hash(app.world_mut()), hash);
    app.world_mut().resource_mut::<Time<Virtual>>().unpause();
    app.insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
    tick(&mut app, 5);
    assert_ne!(state_hash(app.world_mut()), hash, "goes on");
}

/// Two bones, one above the other, the upper one pinned, the lower one of 0.5 kg.
fn weight(app: &mut App, compliance: f32) -> Entity {
    let bones = vec![
        Bone::new(Vec2::new(0.0, 0.2), Vec2::splat(0.1)).named("hook"),
        Bone::new(Vec2::new(0.0, -0.01), Vec2::splat(0.1)).named("weight"),
    ];
    let ragdoll = SpriteRagdoll { compliance, ..SpriteRagdoll::of_bones(bones) };
    let body = spawn(app, ragdoll, Transform::IDENTITY);
    tick(app, 1);
    let hook = bone(app, body, "hook");
    app.world_mut().entity_mut(hook).insert(Pinned);
    body
}

/// How far the weight is below its place at rest (m).
fn stretch(app: &App, body: Entity) -> f32 {
    let [hook, weight] = ["hook", "weight"].map(|name| particle(app, bone(app, body, name)));
    hook.position.y - weight.position.y - 0.21
}

#[test]
fn case_04_a_joint_stretches_by_its_compliance_at_any_number_of_iterations() {
    for (iterations, substeps) in [(1, 16), (10, 16), (1, 4), (1, 50)] {
        let settings = SolverSettings { iterations, substeps, sleeping: false, ..default() };
        let mut app = ragdoll_app(settings);
        let body = weight(&mut app, 0.01);
        tick(&mut app, 64 * 10);
        // m g α of half a kilogram; a body's rigid motion is not damped, so the mean of a swing is taken.
        let mut mean = 0.0;
        for _ in 0..256 {
            tick(&mut app, 1);
            mean += stretch(&app, body) / 256.0;
        }
        let expected = 0.5 * 9.81 * 0.01;
        assert!((mean / expected - 1.0).abs() < 0.03, "{iterations}: {mean} m, {expected} m");
    }
}

#[test]
fn case_05_changing_the_compliance_makes_no_jerk() {
    for factor in [0.1, 10.0] {
        let mut app = ragdoll_app(SolverSettings { relative_damping: 4.0, ..default() });
        let body = weight(&mut app, 0.002);
        tick(&mut app, 64 * 10);
        assert!(top_speed(&app, body) < 0.05, "{}", top_speed(&app, body));
        app.world_mut().get_mut::<SpriteRagdoll>(body).unwrap().compliance *= factor;
        let mut top = 0.0f32;
        for _ in 0..128 {
            tick(&mut app, 1);
            top = top.max(top_speed(&app, body));
        }
        assert!(top < 2.0, "{top} m/s at a change by {factor}");
        assert!((stretch(&app, body) / (0.5 * 9.81 * 0.002 * factor) - 1.0).abs() < 0.5);
        app.world_mut().get_mut::<SpriteRagdoll>(body).unwrap().compliance = 0.0;
        tick(&mut app, 64 * 5);
        assert!(top_speed(&app, body) < 0.05 && stretch(&app, body).abs() < 1e-3);
    }
}

#[test]
fn case_05_arms_that_become_rigid_may_snap_but_come_to_rest() {
    let mut app = ragdoll_app(default());
    let body = hang(&mut app, figure(), Transform::from_xyz(0.0, 3.0, 0.0));
    tick(&mut app, 64 * 6);
    assert!(top_speed(&app, body) < 0.05);
    app.world_mut().get_mut::<SpriteRagdoll>(body).unwrap().torsion_compliance = Some(0.0);
    tick(&mut app, 64 * 5);
    assert!(all_finite(&mut app) && top_speed(&app, body) < 0.05, "{}", top_speed(&app, body));
    let [chest, hand] = ["chest", "hand l"].map(|name| particle(&app, bone(&app, body, name)));
    assert!((hand.position.y - chest.position.y - 0.04).abs() < 0.01, "out again");
}

#[test]
fn case_25_a_blown_up_figure_is_told_frozen_and_can_be_revived() {
    for revive_by_rebuild in [true, false] {
        let mut app = ragdoll_app(default());
        let body = spawn(&mut app, figure(), Transform::from_xyz(0.0, 3.0, 0.0));
        let other = spawn(&mut app, figure(), Transform::from_xyz(9.0, 3.0, 0.0));
        tick(&mut app, 5);
        let victim = bone(&app, body, "foot r");
        app.world_mut().get_mut::<OrientedParticle>(victim).unwrap().angular_velocity =
            Vec3::splat(f32::NAN);
        tick(&mut app, 3);
        let faults = &app.world().resource::<Seen>().faults;
        assert_eq!(faults.iter().map(|f| f.entity).collect::<Vec<_>>(), [body]);
        assert!(all_finite(&mut app) && app.world().get::<Faulty>(body).is_some());
        let before = [positions(&app, body), positions(&app, other)];
        tick(&mut app, 5);
        assert_eq!(before[0], positions(&app, body), "frozen");
        assert_ne!(before[1], positions(&app, other), "the others go on");
        let to = Transform::from_xyz(0.0, 8.0, 0.0);
        if revive_by_rebuild {
            *app.world_mut().get_mut::<Transform>(body).unwrap() = to;
            app.world_mut().trigger(Rebuild { entity: body });
        } else {
            app.world_mut().trigger(Teleport { entity: body, to });
        }
        tick(&mut app, 10);
        assert!(app.world().get::<Faulty>(body).is_none());
        let all = particles(&app, body);
        assert!(all.iter().all(|e| oriented(&app, *e).rotation.is_normalized()));
        assert!(centre(&app, body).distance(to.translation) < 1.0);
        assert!(top_speed(&app, body) > 0.1 && worst_gap(&app, body) < 0.1);
    }
}

/// Runs until everything sleeps.
fn fall_asleep(app: &mut App, seconds: u32) {
    for _ in 0..64 * seconds {
        tick(app, 1);
        if app.world().resource::<SolverDiagnostics>().awake_islands == 0 {
            return;
        }
    }
    panic!("never falls asleep");
}

#[test]
fn case_26_a_sleeping_figure_wakes_when_its_support_goes() {
    let mut app = ragdoll_app(default());
    let floor = app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::default())).id();
    let body = spawn(&mut app, figure(), Transform::from_xyz(0.0, 1.0, 0.0));
    fall_asleep(&mut app, 30);
    let before = centre(&app, body);
    assert!((0.0..0.5).contains(&before.y), "lies on the floor: {before}");
    app.world_mut().despawn(floor);
    tick(&mut app, 32);
    assert!(centre(&app, body).y < before.y - 0.5, "hangs in the air");
}

#[test]
fn case_27_a_figure_hangs_at_ten_kilometres_as_at_the_origin() {
    let hang_at = |origin: Vec3| {
        let mut app = ragdoll_app(SolverSettings { sleeping: false, ..default() });
        let body = hang(&mut app, figure(), Transform::from_translation(origin));
        tick(&mut app, 64 * 12);
        let speeds: Vec<f32> =
            particles(&app, body).iter().map(|e| particle(&app, *e).velocity.length()).collect();
        let rms = (speeds.iter().map(|v| v * v).sum::<f32>() / speeds.len() as f32).sqrt();
        assert!(rms < 0.05, "{rms} m/s at {origin}");
        let all = exact_positions(&app, body);
        all.into_iter().map(|p| p - origin.as_dvec3()).collect::<Vec<_>>()
    };
    let near = hang_at(Vec3::ZERO);
    for origin in [Vec3::new(1e4, 0.0, 0.0), Vec3::new(-7e3, 7e3, 0.0)] {
        for (a, b) in hang_at(origin).into_iter().zip(&near) {
            assert!((a.y - b.y).abs() < 1e-3, "{} m at {origin}", a.distance(*b));
        }
    }
}

#[test]
fn case_28_a_teleport_is_neither_swept_nor_blended() {
    let mut app = ragdoll_app(default());
    let body = spawn(&mut app, figure(), Transform::from_xyz(1.0, 2.0, 0.0));
    tick(&mut app, 30);
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_millis(5)));
    (0..10).for_each(|_| app.update());
    let speed = top_speed(&app, body);
    let to = Transform::from_xyz(500.0, 40.0, 0.0).with_rotation(Quat::from_rotation_z(1.0));
    app.world_mut().trigger(Teleport { entity: body, to });
    for _ in 0..10 {
        app.update();
        assert!(top_speed(&app, body) < speed + 1.0, "{} m/s", top_speed(&app, body));
        assert!(worst_gap(&app, body) < 0.02);
        for bone in particles(&app, body) {
            let drawn = app.world().get::<Transform>(bone).unwrap().translation;
            assert!(drawn.distance(to.translation) < 3.0, "drawn on the way, at {drawn}");
        }
    }
}

#[test]
fn case_29_despawning_anything_at_any_time_is_safe() {
    let mut random = Random(12345);
    for round in 0..20 {
        let mut app = ragdoll_app(default());
        let world = app.world_mut();
        let floor = Transform::from_xyz(0.0, -0.6, 0.0);
        let mut things = vec![world.spawn((Obstacle::HALF_SPACE, floor)).id()];
        let drawn = drawn_figure(&mut app);
        for (i, ragdoll) in
            [figure(), drawn, figure().with_style(RagdollStyle::Elastic)].into_iter().enumerate()
        {
            let at = Transform::from_xyz(0.3 * i as f32, 0.0, 0.0);
            things.push(spawn(&mut app, ragdoll, at));
        }
        let bodies = things[1..].to_vec();
        tick(&mut app, 1 + random.below(3) as u64);
        for body in bodies {
            things.extend(particles(&app, body));
            things.extend(app.world().get::<Constraints>(body).unwrap().iter());
        }
        for _ in 0..10 {
            let thing = things[random.below(things.len())];
            if let Ok(thing) = app.world_mut().get_entity_mut(thing) {
                thing.despawn();
            }
            tick(&mut app, random.below(4) as u64);
            // What is left can be changed and built anew.
            let body = things[1 + random.below(3)];
            if random.below(3) == 0 && app.world().get_entity(body).is_ok() {
                app.world_mut().trigger(Rebuild { entity: body });
            } else if let Some(mut ragdoll) = app.world_mut().get_mut::<SpriteRagdoll>(body) {
                ragdoll.mass *= 1.5;
                ragdoll.spin_damping += 1.0;
            }
        }
        tick(&mut app, 30);
        assert!(all_finite(&mut app), "round {round}");
    }
}

#[test]
fn case_30_a_bad_transform_is_refused_when_building() {
    let bad = [
        Transform::from_xyz(f32::NAN, 0.0, 0.0),
        Transform::from_scale(Vec3::new(1.0, 0.0, 1.0)),
        Transform::from_scale(Vec3::splat(f32::INFINITY)),
        Transform::from_rotation(Quat::from_rotation_x(0.5)),
        Transform::from_rotation(Quat::from_rotation_y(3.0)),
    ];
    let mut app = ragdoll_app(default());
    for (i, at) in bad.into_iter().enumerate() {
        let body = spawn(&mut app, figure(), at);
        tick(&mut app, 3);
        let seen = app.world().resource::<Seen>();
        assert_eq!(seen.failed.len(), i + 1, "{at:?}");
        assert_eq!(seen.failed[i].0, body);
        assert!(app.world().get::<Particles>(body).is_none());
        // A good one revives it.
        *app.world_mut().get_mut::<Transform>(body).unwrap() = Transform::from_xyz(0.0, 9.0, 0.0);
        app.world_mut().trigger(Rebuild { entity: body });
        tick(&mut app, 1);
        assert_eq!(particles(&app, body).len(), 16);
        app.world_mut().despawn(body);
    }
    // A transform that turns bad later moves nothing.
    let body = spawn(&mut app, figure(), Transform::from_xyz(0.0, 9.0, 0.0));
    tick(&mut app, 5);
    *app.world_mut().get_mut::<Transform>(body).unwrap() = Transform::from_xyz(f32::NAN, 0.0, 0.0);
    tick(&mut app, 20);
    assert!(all_finite(&mut app) && centre(&app, body).distance(Vec3::Y * 9.0) < 1.5);
}

#[test]
fn case_31_a_light_figure_is_as_stable_as_a_heavy_one() {
    for mass in [1e-3, 1.0, 1e3] {
        let mut app = ragdoll_app(default());
        let body = spawn(&mut app, figure().with_mass(mass), Transform::from_xyz(0.0, 20.0, 0.0));
        tick(&mut app, 1);
        throw(&mut app, body, Vec3::new(10.0, 0.0, 0.0), 10.0);
        let mut worst = 0.0f32;
        for _ in 0..128 {
            tick(&mut app, 1);
            worst = worst.max(worst_gap(&app, body));
        }
        assert!(worst < 0.05, "{worst} at {mass} kg");
        assert!(top_speed(&app, body) < 40.0);
    }
}

#[test]
fn case_32_a_heavy_hand_does_not_tear_the_arm() {
    let mut app = ragdoll_app(default());
    let body = hang(&mut app, figure(), Transform::from_xyz(0.0, 5.0, 0.0));
    let foot = bone(&app, body, "foot l");
    // Fifty times all the rest.
    app.world_mut().get_mut::<Particle>(foot).unwrap().mass = 50.0;
    let mut worst = 0.0f32;
    for i in 0..64 * 10 {
        tick(&mut app, 1);
        if i > 64 * 5 {
            worst = worst.max(worst_gap(&app, body));
        }
    }
    assert!(all_finite(&mut app) && worst < 0.25, "{worst}");
}

#[test]
fn case_33_a_figure_in_free_flight_keeps_its_momentum() {
    for style in [RagdollStyle::Jointed, RagdollStyle::Elastic] {
        let settings = SolverSettings { damping: 0.0, relative_damping: 0.0, ..weightless() };
        let mut app = ragdoll_app(settings);
        let body = spawn(&mut app, figure().with_style(style), Transform::IDENTITY);
        tick(&mut app, 1);
        throw(&mut app, body, Vec3::new(0.6, -0.8, 0.0), 3.0);
        let before = momenta(&app, body);
        let about = |app: &App, (linear, angular): (bevy::math::DVec2, f64)| {
            angular - centre(app, body).as_dvec3().truncate().perp_dot(linear)
        };
        let spin = about(&app, before);
        tick(&mut app, 640);
        let after = momenta(&app, body);
        // A kilogram: momentum is velocity.
        let lost = after.0.distance(before.0);
        assert!(lost < 1e-4, "{style:?}: {lost} m/s");
        let turned = (about(&app, after) / spin - 1.0).abs();
        assert!(turned < 1e-3, "{style:?}: {turned} of the angular momentum {spin}");
    }
}

/// How deep the deepest bone centre of one body is in a bone of another, as a part of that bone: 0 at its
/// surface, 1 at its centre.
fn depth(app: &App, bodies: [Entity; 2]) -> f32 {
    let mut deepest = 0.0f32;
    for (one, other) in [(bodies[0], bodies[1]), (bodies[1], bodies[0])] {
        for a in particles(app, one) {
            for b in particles(app, other) {
                let o = oriented(app, b);
                let apart = particle(app, a).position - particle(app, b).position;
                let local = (o.rotation.inverse() * apart) / o.radii;
                deepest = deepest.max(1.0 - local.truncate().length());
            }
        }
    }
    deepest
}

#[test]
fn case_34_figures_lie_on_one_another_and_pass_where_they_should() {
    let drop = |soft_contact: bool| {
        let mut app = ragdoll_app(default());
        app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::default()));
        let mut pile = |y: f32| {
            let flat = Transform::from_xyz(0.0, y, 0.0)
                .with_rotation(Quat::from_rotation_z(core::f32::consts::FRAC_PI_2));
            spawn(&mut app, SpriteRagdoll { soft_contact, ..figure() }, flat)
        };
        let bodies = [pile(0.6), pile(1.8)];
        tick(&mut app, 64 * 8);
        assert!(all_finite(&mut app));
        depth(&app, bodies)
    };
    let (apart, through) = (drop(true), drop(false));
    assert!(apart < 0.3, "one is in the other: {apart}");
    assert!(through > 0.5, "they do not pass: {through}");
}

#[test]
fn case_34_an_arm_lies_on_its_own_trunk_unless_told_otherwise() {
    // A flap at the upper end of a trunk, pushed into it.
    let trunk = Bone::new(Vec2::ZERO, Vec2::new(0.1, 0.35)).named("trunk");
    let knob = Bone::new(Vec2::new(0.0, 0.42), Vec2::new(0.06, 0.06)).named("knob");
    let link = Bone::new(Vec2::new(0.12, 0.42), Vec2::new(0.06, 0.03)).named("link");
    let arm = Bone::new(Vec2::new(0.3, 0.42), Vec2::new(0.13, 0.03)).named("arm");
    let lean = |self_contact: bool| {
        let settings = SolverSettings { gravity: Vec3::ZERO, sleeping: false, ..default() };
        let mut app = ragdoll_app(settings);
        let bones = vec![trunk.clone(), knob.clone(), link.clone(), arm.clone()];
        let limp = Some(f32::INFINITY);
        let ragdoll = SpriteRagdoll {
            self_contact,
            bend: 3.0,
            torsion_compliance: limp,
            ..SpriteRagdoll::of_bones(bones)
        };
        let body = spawn(&mut app, ragdoll, Transform::IDENTITY);
        tick(&mut app, 1);
        for name in ["trunk", "knob"] {
            let held = bone(&app, body, name);
            app.world_mut().entity_mut(held).insert(Pinned);
        }
        let arm = bone(&app, body, "arm");
        app.world_mut()
            .entity_mut(arm)
            .insert(AppliedForce { force: Vec3::new(-0.15, -0.5, 0.0), ..default() });
        // The nearest that it swings to the trunk's centre, as a part of the trunk.
        let trunk = bone(&app, body, "trunk");
        let radii = oriented(&app, trunk).radii;
        let mut nearest = f32::INFINITY;
        for _ in 0..64 * 6 {
            tick(&mut app, 1);
            let apart = particle(&app, arm).position - particle(&app, trunk).position;
            nearest = nearest.min((apart / radii).truncate().length());
        }
        nearest
    };
    let (on, through) = (lean(true), lean(false));
    assert!(on > 1.05, "the arm is in the trunk: {on}");
    assert!(through < 0.95, "the force does not push it in: {through}");
}

#[test]
fn case_38_a_force_on_a_body_does_not_depend_on_its_number_of_bones() {
    let one = SpriteRagdoll::of_bones(vec![Bone::new(Vec2::ZERO, Vec2::splat(0.3))]);
    let moved = [figure(), one].map(|ragdoll| {
        let mut app = ragdoll_app(weightless());
        let body = spawn(&mut app, ragdoll, Transform::IDENTITY);
        tick(&mut app, 1);
        let before = centre(&app, body);
        let push = AppliedForce { force: Vec3::new(2.0, 1.0, 0.0), ..default() };
        app.world_mut().entity_mut(body).insert(push);
        tick(&mut app, 64);
        centre(&app, body) - before
    });
    // ½ F/m t², but for the damping of one that does not turn.
    assert!(moved[0].distance(Vec3::new(1.0, 0.5, 0.0)) < 0.03, "{moved:?}");
    assert!(moved[1].distance(moved[0]) < 0.01, "{moved:?}");
}

#[test]
fn case_39_a_figure_does_not_explode_on_spawn() {
    for style in [RagdollStyle::Jointed, RagdollStyle::Elastic] {
        // Its belly overlaps chest and pelvis.
        let mut app = ragdoll_app(weightless());
        let ragdoll = figure().with_style(style);
        let body = spawn(&mut app, ragdoll.clone(), Transform::IDENTITY);
        let drawn = drawn_figure(&mut app).with_style(style);
        let other = spawn(&mut app, drawn, Transform::from_xyz(3.0, 0.0, 0.0));
        let mut top = 0.0f32;
        for _ in 0..128 {
            tick(&mut app, 1);
            top = top.max(top_speed(&app, body)).max(top_speed(&app, other));
        }
        assert!(top < 1e-3, "{style:?}: {top} m/s");

        let mut app = ragdoll_app(default());
        app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::default()));
        let body = spawn(&mut app, ragdoll, Transform::from_xyz(0.0, 0.48, 0.0));
        let mut worst = 0.0f32;
        for _ in 0..64 * 12 {
            tick(&mut app, 1);
            worst = worst.max(top_speed(&app, body));
        }
        assert!(worst < 8.0 && top_speed(&app, body) < 0.05, "{style:?}: {worst} m/s");
        assert!((0.0..0.6).contains(&centre(&app, body).y), "{style:?}");
    }
}

#[test]
fn case_40_spawning_twice_leaks_nothing() {
    let mut app = ragdoll_app(default());
    let count = |app: &mut App| {
        let mut all = app.world_mut().query::<Entity>();
        all.iter(app.world()).count()
    };
    let body = spawn(&mut app, figure(), Transform::IDENTITY);
    tick(&mut app, 2);
    let (bones, all) = (particles(&app, body), count(&mut app));
    for round in 0..6 {
        // The same again, twice in one frame, changed and back, built anew twice.
        match round {
            0 => {
                app.world_mut().entity_mut(body).insert(figure());
            }
            1 => {
                app.world_mut().entity_mut(body).insert(figure()).insert(figure());
            }
            2 => {
                app.world_mut().entity_mut(body).insert(figure().with_height(2.0));
                tick(&mut app, 1);
                app.world_mut().entity_mut(body).insert(figure());
            }
            3 => {
                app.world_mut().trigger(Rebuild { entity: body });
                app.world_mut().trigger(Rebuild { entity: body });
            }
            4 => {
                app.world_mut().entity_mut(body).remove::<SpriteRagdoll>();
                tick(&mut app, 1);
                app.world_mut().entity_mut(body).insert(figure());
            }
            _ => {
                app.world_mut()
                    .entity_mut(body)
                    .insert(SpriteRagdoll::of_bones(figure::bones().into_iter().take(3).collect()));
                tick(&mut app, 1);
                assert_eq!(particles(&app, body), bones[..3]);
                app.world_mut().entity_mut(body).insert(figure());
            }
        }
        tick(&mut app, 2);
        assert_eq!(count(&mut app), all, "round {round}");
        if round < 5 {
            assert_eq!(particles(&app, body), bones, "round {round}");
        }
    }
    app.world_mut().despawn(body);
    tick(&mut app, 1);
    assert_eq!(app.world().resource::<SolverDiagnostics>().particles, 0);
}

/// What came of throwing figures about.
#[derive(Debug, Default)]
struct Throws {
    /// The worst gap of a joint, as a part of the distance of its bones.
    worst: f32,
    /// How many joints gaped by more than a tenth for longer than half a second.
    torn: usize,
    /// How many figures were awake at the end.
    awake: usize,
    mirrored: usize,
    /// How many joints were bent past their limits at the end.
    bent: usize,
    faults: usize,
}

/// Throws figures about a room for 12 s. They do not meet one another.
fn throw_about(number: usize, seed: u32) -> Throws {
    let mut app = ragdoll_app(default());
    let world = app.world_mut();
    let wall = |x: f32, turn: f32| {
        Transform::from_xyz(x, 0.0, 0.0).with_rotation(Quat::from_rotation_z(turn))
    };
    let quarter = core::f32::consts::FRAC_PI_2;
    world.spawn((Obstacle::HALF_SPACE, Transform::default()));
    world.spawn((Obstacle::HALF_SPACE, wall(-30.0, -quarter)));
    world.spawn((Obstacle::HALF_SPACE, wall(30.0, quarter)));
    let mut random = Random(seed);
    let bodies: Vec<Entity> = (0..number)
        .map(|_| {
            let at = Transform::from_xyz(20.0 * random.signed(), 1.5 + 3.0 * random.unit(), 0.0)
                .with_rotation(Quat::from_rotation_z(3.1 * random.signed()));
            spawn(&mut app, SpriteRagdoll { soft_contact: false, ..figure() }, at)
        })
        .collect();
    tick(&mut app, 1);
    for &body in &bodies {
        let speed = 20.0 * random.unit();
        let (sin, cos) = (core::f32::consts::PI * random.signed()).sin_cos();
        throw(&mut app, body, Vec3::new(speed * cos, speed * sin, 0.0), 20.0 * random.signed());
    }
    let mut found = Throws::default();
    let joints: Vec<JointConstraint> = bodies.iter().flat_map(|b| joints(&app, *b)).collect();
    let mut gaping = vec![0u32; joints.len()];
    for _ in 0..64 * 12 {
        tick(&mut app, 1);
        for (joint, gaping) in joints.iter().zip(&mut gaping) {
            let gap = gap(&app, joint);
            found.worst = found.worst.max(gap);
            *gaping = if gap > 0.1 { *gaping + 1 } else { 0 };
            found.torn += usize::from(*gaping == 33);
        }
    }
    let diagnostics = app.world().resource::<SolverDiagnostics>();
    assert_eq!(diagnostics.islands, number, "each is an island");
    found.awake = diagnostics.awake_islands;
    found.faults = app.world().resource::<Seen>().faults.len();
    assert!(all_finite(&mut app));
    for &body in &bodies {
        let in_plane = particles(&app, body).iter().all(|e| {
            let (p, o) = (particle(&app, *e), oriented(&app, *e));
            p.position.z == 0.0
                && o.rotation.xyz().truncate() == Vec2::ZERO
                && o.rotation.is_normalized()
        });
        found.mirrored += usize::from(!in_plane);
    }
    found.bent = joints.iter().filter(|joint| bent(&app, joint).abs() > 1.2 + 0.1).count();
    found
}

#[test]
fn a_thousand_throws_end_whole_and_at_rest() {
    let (mut worst, mut awake, mut bent) = (0.0f32, 0, 0);
    for round in 0..5 {
        let found = throw_about(200, 1 + round);
        assert_eq!((found.faults, found.mirrored), (0, 0), "{found:?}");
        bent += found.bent;
        assert_eq!(found.torn, 0, "{found:?}");
        worst = worst.max(found.worst);
        awake += found.awake;
    }
    // A limb that its own body wedges, by self-contact, can be held past a limit.
    assert!(bent <= 30, "{bent} of 15000 joints are bent past their limits");
    assert!(awake <= 10, "{awake} of 1000 are awake after 12 s; worst gap {worst}");
}
