//! Obstacles: closed forms of contact and friction, shapes, motion, layers, sensors, events.

mod common;

use bevy::prelude::*;
use bevy_pliant::{
    constraint::ConstraintOf,
    obstacle::{Obstacle, ObstacleShape, Part, TriangleMesh},
    particle::ParticleOf,
    prelude::*,
    solver::SolverDiagnostics,
};
use common::{app, app_with, particle, positions, tick, undamped};
use core::f32::consts::{PI, TAU};

const G: f32 = 9.81;
/// Radius of particles by default (m).
const RADIUS: f32 = 0.01;

/// A particle of its own body.
fn lone(app: &mut App, particle: Particle, settings: BodySettings) -> Entity {
    let body = app.world_mut().spawn(settings).id();
    app.world_mut().spawn((particle, ParticleOf(body))).id()
}

/// A cube of eight particles joined rigidly, `size` m wide, its lower face centred at `place` in the frame
/// of `rotation`.
fn block(app: &mut App, size: f32, place: Vec3, rotation: Quat, friction: Friction) -> Vec<Entity> {
    let world = app.world_mut();
    let body = world.spawn(BodySettings { friction, ..default() }).id();
    let corner = |i: u32| {
        let unit = Vec3::new((i & 1) as f32 - 0.5, (i >> 1 & 1) as f32, (i >> 2) as f32 - 0.5);
        place + rotation * (unit * size)
    };
    let particles: Vec<Entity> =
        (0..8).map(|i| world.spawn((Particle::at(corner(i)), ParticleOf(body))).id()).collect();
    for a in 0..8u32 {
        for b in a + 1..8 {
            let length = corner(a).distance(corner(b));
            let ends = [particles[a as usize], particles[b as usize]];
            world.spawn((DistanceConstraint::new(ends, length), ConstraintOf(body)));
        }
    }
    particles
}

fn centre(app: &App, particles: &[Entity]) -> Vec3 {
    particles.iter().map(|p| particle(app, *p).position).sum::<Vec3>() / particles.len() as f32
}

/// Obstacles whose upper face is the plane y = 0 of their frame.
fn floors() -> Vec<(&'static str, Obstacle, Transform)> {
    let side = 60.0;
    let corners = [
        Vec3::new(-side, 0.0, -side),
        Vec3::new(side, 0.0, -side),
        Vec3::new(side, 0.0, side),
        Vec3::new(-side, 0.0, side),
    ];
    let mesh = TriangleMesh::new(&corners, &[[0, 2, 1], [0, 3, 2]]).unwrap();
    vec![
        ("half-space", Obstacle::HALF_SPACE, Transform::IDENTITY),
        (
            "cuboid",
            Obstacle::cuboid(Vec3::new(2.0 * side, 1.0, 2.0 * side)),
            Transform::from_xyz(0.0, -0.5, 0.0),
        ),
        ("mesh", Obstacle::mesh(mesh.clone()), Transform::IDENTITY),
        ("solid mesh", Obstacle::mesh(mesh.solid()), Transform::IDENTITY),
        ("cylinder", Obstacle::cylinder(side, 2.0), Transform::from_xyz(0.0, -1.0, 0.0)),
    ]
}

#[test]
fn a_block_rests_on_a_slope_below_the_angle_of_friction_and_slides_above() {
    let mu: f32 = 0.5;
    for (name, obstacle, place) in floors() {
        for (part, slides) in [(0.95, false), (1.05, true)] {
            let rotation = Quat::from_rotation_z(-(part * mu).atan());
            let mut app = app_with(SolverSettings { sleeping: false, ..undamped() });
            let friction = Friction::new(mu);
            app.world_mut().spawn((
                obstacle.clone().with_friction(friction),
                Transform::from_rotation(rotation) * place,
            ));
            let feet = rotation * Vec3::new(-20.0, RADIUS, 0.0);
            let particles = block(&mut app, 0.2, feet, rotation, friction);
            tick(&mut app, 32);
            let start = centre(&app, &particles);
            tick(&mut app, 640);
            let moved = centre(&app, &particles).distance(start);
            if slides {
                // a = g (sin − μ cos), for 10 s and a half before.
                let slope = (part * mu).atan();
                let a = G * (slope.sin() - mu * slope.cos());
                let expected = 0.5 * a * (10.5f32.powi(2) - 0.5f32.powi(2));
                assert!((moved / expected - 1.0).abs() < 0.05, "{name}: {moved} of {expected} m");
            } else {
                assert!(moved < 1e-3, "{name}: creeps {moved} m in 10 s");
            }
        }
    }
}

#[test]
fn a_block_stops_after_v_squared_over_two_mu_g() {
    for (name, obstacle, place) in floors() {
        let mut app = app_with(undamped());
        let friction = Friction::new(0.3);
        app.world_mut().spawn((obstacle.with_friction(friction), place));
        let particles = block(&mut app, 0.2, Vec3::Y * RADIUS, Quat::IDENTITY, friction);
        for entity in &particles {
            app.world_mut().get_mut::<Particle>(*entity).unwrap().velocity = Vec3::X * 2.0;
        }
        let start = centre(&app, &particles).x;
        tick(&mut app, 96);
        let distance = centre(&app, &particles).x - start;
        let expected = 4.0 / (2.0 * 0.3 * G);
        assert!((distance / expected - 1.0).abs() < 0.02, "{name}: {distance} of {expected} m");
    }
}

/// The greatest tension (N) that a rope of `weight` N/m holds down the far side of a cylinder of radius r, by
/// Euler and Eytelwein: from 1 N at θ = 0, T' = μ (T + w r sin θ) + w r cos θ; e^{μπ} N without weight.
fn greatest_tension(mu: f32, weight: f32, r: f32) -> f32 {
    let steps = 10_000;
    (0..steps).fold(1.0, |tension: f32, i| {
        let (sin, cos) = (PI * i as f32 / steps as f32).sin_cos();
        tension + PI / steps as f32 * (mu * (tension + weight * r * sin) + weight * r * cos)
    })
}

/// How fast a rope over a cylinder runs (m/s), with 1 N on one side and `part` of the greatest
/// weight that friction holds on the other.
fn capstan_speed(part: f32) -> f32 {
    let density = 0.1;
    let (mu, radius, spacing) = (0.3f32, 0.3f32, 0.05f32);
    let mut app = app_with(SolverSettings { sleeping: false, ..undamped() });
    let friction = Friction::new(mu);
    app.world_mut().spawn((
        Obstacle::cylinder(radius, 2.0).with_friction(friction),
        Transform::from_rotation(Quat::from_rotation_x(0.5 * PI)),
    ));
    let body = app.world_mut().spawn(BodySettings { friction, ..default() }).id();
    let r = radius + RADIUS;
    // Half a turn, and a few links down each side.
    let arc = (PI * r / spacing).round() as i32;
    let (hanging, step) = (4, PI / arc as f32);
    let place = |i: i32| {
        if i < 0 {
            Vec3::new(-r, spacing * i as f32, 0.0)
        } else if i > arc {
            Vec3::new(r, -spacing * (i - arc) as f32, 0.0)
        } else {
            let angle = PI - step * i as f32;
            Vec3::new(r * angle.cos(), r * angle.sin(), 0.0)
        }
    };
    // The weight of the rope on each side is taken off the weights.
    let rope = density * spacing;
    let greatest = greatest_tension(mu, density * G, r);
    let tip = |newtons: f32| newtons / G - rope * (hanging - 1) as f32;
    let last = arc + hanging;
    let particles: Vec<Entity> = (-hanging..=last)
        .map(|i| {
            let mass = match i {
                i if i == -hanging => tip(1.0),
                i if i == last => tip(1.0),
                _ => rope,
            };
            app.world_mut().spawn((Particle::at(place(i)).with_mass(mass), ParticleOf(body))).id()
        })
        .collect();
    for (i, pair) in particles.windows(2).enumerate() {
        let i = i as i32 - hanging;
        let link = DistanceConstraint::new([pair[0], pair[1]], place(i).distance(place(i + 1)));
        app.world_mut().spawn((link, ConstraintOf(body)));
    }
    let heavy = *particles.last().unwrap();
    // The weight is laid on gently.
    for i in 0..=64 {
        let newtons = 1.0.lerp(part * greatest, i as f32 / 64.0);
        app.world_mut().get_mut::<Particle>(heavy).unwrap().mass = tip(newtons);
        tick(&mut app, 1);
    }
    tick(&mut app, 64);
    -particle(&app, heavy).velocity.y
}

#[test]
fn a_rope_over_a_cylinder_holds_as_eytelwein_says() {
    let held = capstan_speed(0.95);
    assert!(held.abs() < 0.03, "runs at {held} m/s");
    let free = capstan_speed(1.05);
    assert!(free > 0.06 && free > 4.0 * held.abs(), "hardly runs: {free} m/s");
}

#[test]
fn restitution_gives_the_height_back_by_its_square() {
    for (name, obstacle, place) in floors() {
        let mut app = app_with(undamped());
        app.world_mut().spawn((obstacle.with_restitution(0.7), place));
        let ball = lone(&mut app, Particle::at(Vec3::Y * (1.0 + RADIUS)), BodySettings::default());
        let fall = (2.0 / G).sqrt();
        let up = (fall * 1.7 * 64.0).round() as u64;
        tick(&mut app, up);
        let height = particle(&app, ball).position.y - RADIUS;
        assert!((height - 0.49).abs() < 0.01, "{name}: {height} m");
    }
}

#[test]
fn nothing_passes_through_however_fast_or_thin() {
    // 10 m/s a centimetre of radius are checked at the end of a substep, beyond that the path is swept.
    let thin = Vec3::new(4.0, 0.001, 4.0);
    let square =
        [[-2.0, -2.0], [2.0, -2.0], [2.0, 2.0], [-2.0, 2.0]].map(|[x, z]| Vec3::new(x, 0.0, z));
    let mesh = TriangleMesh::new(&square, &[[0, 1, 2], [0, 2, 3]]).unwrap();
    let shapes = [
        Obstacle::cuboid(thin),
        Obstacle::mesh(mesh),
        Obstacle::sphere(0.5),
        Obstacle::capsule(0.2, 1.0),
        Obstacle::cylinder(1.0, 0.002),
        Obstacle::cone(1.0, 0.5),
    ];
    for obstacle in shapes {
        for speed in [1.0, 8.0, 15.0, 60.0, 300.0, 3000.0] {
            for (from, aside) in [(1.0, 0.0), (-1.0, 0.3), (1.0, 0.2)] {
                for radius in [0.0, 0.01, 0.03] {
                    let mut app = app_with(undamped());
                    app.world_mut().spawn(obstacle.clone());
                    let start = Vec3::new(0.04, 2.0 * from, 0.03);
                    let velocity = Vec3::new(aside * speed * 0.2, -from * speed, 0.0);
                    let settings = BodySettings {
                        radius: Some(radius),
                        gravity: Some(Vec3::ZERO),
                        friction: Friction::NONE,
                        ..default()
                    };
                    let p = lone(&mut app, Particle::at(start).with_velocity(velocity), settings);
                    for _ in 0..(3.0 / speed * 64.0) as u64 + 2 {
                        tick(&mut app, 1);
                        let now = particle(&app, p).position;
                        // It may slide off the side of a small shape, but never through its middle.
                        let over = now.x.hypot(now.z) < 0.15;
                        assert!(
                            !over || now.y * from > -1e-3,
                            "{:?} lets {speed} m/s, radius {radius} m through: {now}",
                            obstacle.shape
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn case_35_a_fast_cloth_does_not_fall_through_a_thin_floor_or_a_mesh() {
    let side = 3.0;
    let heights = |x: i32, z: i32| 0.1 * ((x * 7 + z * 5) % 3) as f32;
    let n = 12;
    let mut vertices = Vec::new();
    for z in 0..=n {
        for x in 0..=n {
            let at = |i: i32| side * (2.0 * i as f32 / n as f32 - 1.0);
            vertices.push(Vec3::new(at(x), heights(x, z), at(z)));
        }
    }
    let mut triangles = Vec::new();
    for z in 0..n {
        for x in 0..n {
            let a = (z * (n + 1) + x) as u32;
            let (b, c) = (a + 1, a + n as u32 + 1);
            triangles.extend([[a, c, b], [b, c, c + 1]]);
        }
    }
    let terrain = TriangleMesh::new(&vertices, &triangles).unwrap();
    let floor = Obstacle::cuboid(Vec3::new(2.0 * side, 0.002, 2.0 * side));
    for (name, obstacle, lowest) in
        [("floor", floor, 0.0), ("terrain", Obstacle::mesh(terrain), 0.0)]
    {
        for speed in [0.0, 12.0, 40.0] {
            let mut app = app();
            app.world_mut().spawn(obstacle.clone());
            let turned = Transform::from_xyz(0.0, 1.5, -0.7)
                .with_rotation(Quat::from_rotation_x(1.2) * Quat::from_rotation_z(0.3));
            let body = app.world_mut().spawn((Cloth::grid(UVec2::new(20, 20), 0.07), turned)).id();
            tick(&mut app, 1);
            for entity in common::particles(&app, body) {
                app.world_mut().get_mut::<Particle>(entity).unwrap().velocity = Vec3::NEG_Y * speed;
            }
            for _ in 0..40 {
                tick(&mut app, 4);
                for p in positions(&app, body) {
                    let inside = p.x.abs() < side - 0.2 && p.z.abs() < side - 0.2;
                    assert!(!inside || p.y > lowest - 0.02, "{name} at {speed} m/s: {p}");
                }
            }
        }
    }
}

#[test]
fn a_lift_carries_what_lies_on_it_and_a_turntable_turns_it() {
    for (name, obstacle, place) in floors() {
        let mut app = app_with(undamped());
        let friction = Friction::new(1.0);
        let table = app.world_mut().spawn((obstacle.with_friction(friction), place)).id();
        let settings = BodySettings { friction, ..default() };
        let p = lone(&mut app, Particle::at(Vec3::new(0.5, RADIUS, 0.0)), settings);
        tick(&mut app, 16);
        // Up at 0.5 m/s, turning at 1 rad/s.
        let seconds = 2.0;
        for i in 1..=(seconds * 64.0) as u32 {
            let t = i as f32 / 64.0;
            let motion =
                Transform::from_xyz(0.0, 0.5 * t, 0.0).with_rotation(Quat::from_rotation_y(t));
            *app.world_mut().get_mut::<Transform>(table).unwrap() = motion * place;
            tick(&mut app, 1);
        }
        let expected =
            Quat::from_rotation_y(seconds) * Vec3::new(0.5, 0.0, 0.0) + Vec3::Y * (RADIUS + 1.0);
        let state = particle(&app, p);
        // The pose of this frame is reached one frame later.
        assert!(state.position.distance(expected) < 0.02, "{name}: {} {expected}", state.position);
        let spin = Vec3::Y.cross(expected.with_y(0.0)) + Vec3::Y * 0.5;
        assert!(state.velocity.distance(spin) < 0.03, "{name}: {} {spin}", state.velocity);
    }
}

#[test]
fn a_growing_ball_pushes_and_a_shrinking_one_lets_go() {
    let mut app = app_with(SolverSettings { gravity: Vec3::ZERO, ..undamped() });
    let ball = app.world_mut().spawn(Obstacle::sphere(0.5)).id();
    let p = lone(&mut app, Particle::at(Vec3::X * 0.6), BodySettings::default());
    for i in 1..=64 {
        let scale = Vec3::splat(1.0 + i as f32 / 64.0);
        app.world_mut().get_mut::<Transform>(ball).unwrap().scale = scale;
        tick(&mut app, 1);
    }
    tick(&mut app, 1);
    let x = particle(&app, p).position.x;
    assert!((x - 1.01).abs() < 0.02, "{x}");
    app.world_mut().get_mut::<Transform>(ball).unwrap().scale = Vec3::splat(0.1);
    tick(&mut app, 2);
    assert!(particle(&app, p).position.x > 1.0);
}

#[test]
fn shapes_hold_particles_at_their_surface() {
    let sphere = Obstacle::sphere(0.5);
    let shapes = [
        (sphere.clone(), Transform::IDENTITY, 0.5),
        (sphere.clone(), Transform::from_scale(Vec3::new(1.0, 3.0, 1.0)), 1.5),
        (Obstacle::capsule(0.2, 1.0), Transform::IDENTITY, 0.7),
        (
            Obstacle::capsule(0.2, 1.0),
            Transform::from_rotation(Quat::from_rotation_z(0.5 * PI)),
            0.2,
        ),
        (Obstacle::cuboid(Vec3::new(1.0, 0.6, 1.0)), Transform::IDENTITY, 0.3),
        (Obstacle::cylinder(0.5, 0.8), Transform::IDENTITY, 0.4),
        (
            Obstacle::cylinder(0.5, 0.8),
            Transform::from_rotation(Quat::from_rotation_x(0.5 * PI)),
            0.5,
        ),
        (Obstacle::cone(0.5, 1.0), Transform::from_rotation(Quat::from_rotation_x(PI)), 0.5),
        (
            Obstacle::new(ObstacleShape::Compound(vec![
                Part { shape: sphere.shape, place: Transform::from_xyz(0.0, 0.4, 0.0) },
                Part {
                    shape: ObstacleShape::Cuboid { half_size: Vec3::splat(0.2) },
                    place: Transform::IDENTITY,
                },
            ])),
            Transform::IDENTITY,
            0.9,
        ),
    ];
    for (obstacle, place, top) in shapes {
        let mut app = app_with(SolverSettings { sleeping: false, ..default() });
        app.world_mut().spawn((obstacle.clone(), place));
        // A ring of particles that hangs over the shape would slide; a pair of walls keeps one on top.
        let p = lone(&mut app, Particle::at(Vec3::Y * 2.0), BodySettings::default());
        tick(&mut app, 128);
        let y = particle(&app, p).position.y;
        assert!((y - top - RADIUS).abs() < 2e-3, "{:?}: {y}, not {top}", obstacle.shape);
    }
}

#[test]
fn planar_bodies_meet_planar_shapes_whatever_their_z() {
    let corners = vec![Vec2::new(-1.0, 0.0), Vec2::new(1.0, 0.0), Vec2::new(0.0, 0.5)];
    let shapes = [
        (Obstacle::circle(0.5), 0.5),
        (Obstacle::rectangle(Vec2::new(2.0, 0.4)), 0.2),
        (Obstacle::segment(Vec2::new(-1.0, 0.1), Vec2::new(1.0, 0.1)), 0.1),
        (Obstacle::polygon(corners), 0.5),
        (Obstacle::HALF_SPACE, 0.0),
    ];
    for (obstacle, top) in shapes {
        let mut app = app();
        app.world_mut().spawn((obstacle.clone(), Transform::from_xyz(0.0, 0.0, 7.0)));
        let body = app.world_mut().spawn((BodySettings::default(), Planar)).id();
        let start = Particle::at(Vec3::new(0.0, 1.0, -2.0));
        let p = app.world_mut().spawn((start, ParticleOf(body))).id();
        tick(&mut app, 100);
        let now = particle(&app, p).position;
        assert!((now.y - top - RADIUS).abs() < 2e-3, "{:?}: {now}, not {top}", obstacle.shape);
        assert_eq!(now.z, -2.0);
    }
}

#[test]
fn layers_that_do_not_meet_pass() {
    let (level, water) = (1 << 0, 1 << 1);
    let mut app = app();
    let floor = Obstacle::HALF_SPACE.with_layers(ContactLayers::new(level, !0));
    app.world_mut().spawn(floor);
    let settings = |filters| BodySettings { layers: ContactLayers::new(1, filters), ..default() };
    let start = Particle::at(Vec3::Y * 0.2);
    let held = lone(&mut app, start, settings(level));
    let passes = lone(&mut app, start, settings(water));
    tick(&mut app, 64);
    assert!((particle(&app, held).position.y - RADIUS).abs() < 1e-3);
    assert!(particle(&app, passes).position.y < -1.0);
}

#[derive(Resource, Default)]
struct Log(Vec<(Entity, Entity, Option<f32>)>);

fn log_contacts(app: &mut App) {
    app.init_resource::<Log>()
        .add_observer(|began: On<ContactBegan>, mut log: ResMut<Log>| {
            log.0.push((began.entity, began.other, Some(began.impulse)));
        })
        .add_observer(|ended: On<ContactEnded>, mut log: ResMut<Log>| {
            log.0.push((ended.entity, ended.other, None));
        });
}

fn take_log(app: &mut App) -> Vec<(Entity, Entity, Option<f32>)> {
    core::mem::take(&mut app.world_mut().resource_mut::<Log>().0)
}

#[test]
fn case_36_sensors_report_and_do_not_deform() {
    let mut app = app();
    log_contacts(&mut app);
    let sensor = app.world_mut().spawn(Obstacle::sphere(0.5).as_sensor()).id();
    let cloth = Cloth::grid(UVec2::new(8, 8), 0.1);
    let fall = |app: &mut App, x: f32| {
        app.world_mut().spawn((cloth.clone(), Transform::from_xyz(x, 1.5, 0.0))).id()
    };
    let (through, beside) = (fall(&mut app, 0.0), fall(&mut app, 20.0));
    tick(&mut app, 96);
    let log = take_log(&mut app);
    let expected = [
        (through, sensor, Some(0.0)),
        (sensor, through, Some(0.0)),
        (through, sensor, None),
        (sensor, through, None),
    ];
    assert_eq!(log, expected);
    for (a, b) in positions(&app, through).iter().zip(positions(&app, beside)) {
        assert!((*a - b + Vec3::X * 20.0).length() < 1e-4, "the sensor pushed");
    }
}

#[test]
fn contacts_tell_when_they_begin_and_end_and_how_hard() {
    let mut app = app_with(undamped());
    log_contacts(&mut app);
    let floor = app.world_mut().spawn(Obstacle::HALF_SPACE).id();
    let body = app.world_mut().spawn(BodySettings::default()).id();
    let start = Particle::at(Vec3::Y * (0.5 + RADIUS)).with_mass(2.0);
    let p = app.world_mut().spawn((start, ParticleOf(body))).id();
    tick(&mut app, 40);
    let log = take_log(&mut app);
    assert_eq!(log.len(), 2, "{log:?}");
    // m v, and the weight for at most a tick.
    let impulse = log[0].2.unwrap();
    let fall = 2.0 * (2.0 * G * 0.5f32).sqrt();
    assert!((log[0].0, log[0].1) == (body, floor) && (log[1].0, log[1].1) == (floor, body));
    assert!(impulse > 0.98 * fall && impulse < fall + 2.0 * G / 64.0 + 0.1, "{impulse} {fall}");
    tick(&mut app, 64);
    assert!(take_log(&mut app).is_empty(), "resting contact begins once");
    app.world_mut().get_mut::<Particle>(p).unwrap().velocity = Vec3::Y * 2.0;
    tick(&mut app, 4);
    assert_eq!(take_log(&mut app).len(), 2);
    tick(&mut app, 64);
    take_log(&mut app);
    // An obstacle that goes away ends its contacts.
    app.world_mut().despawn(floor);
    tick(&mut app, 1);
    assert_eq!(take_log(&mut app), [(body, floor, None)]);
}

#[test]
fn case_29_obstacles_may_be_despawned_at_any_time() {
    let mut app = app();
    let cloth = Cloth::grid(UVec2::new(10, 10), 0.1);
    app.world_mut().spawn((cloth, Transform::from_xyz(0.0, 1.0, 0.0)));
    let mut obstacles = Vec::new();
    for i in 0..60u32 {
        let place = Transform::from_xyz((i % 7) as f32 * 0.1 - 0.3, 0.0, (i % 3) as f32 * 0.1);
        let shape = match i % 4 {
            0 => Obstacle::sphere(0.2),
            1 => Obstacle::cuboid(Vec3::splat(0.3)),
            2 => Obstacle::HALF_SPACE,
            _ => Obstacle::capsule(0.1, 0.3).as_sensor(),
        };
        obstacles.push(app.world_mut().spawn((shape, place)).id());
        if i % 2 == 1 {
            let gone = obstacles.remove((i as usize * 5) % obstacles.len());
            app.world_mut().despawn(gone);
        }
        if i % 5 == 0
            && let Some(last) = obstacles.last()
        {
            app.world_mut().entity_mut(*last).remove::<Transform>();
        }
        tick(&mut app, 1);
    }
    assert!(common::all_finite(&mut app));
}

#[test]
fn a_block_at_rest_never_gains_energy() {
    for (name, obstacle, place) in floors() {
        let mut app = app_with(SolverSettings { sleeping: false, ..undamped() });
        app.world_mut().spawn((obstacle, place));
        let particles = block(&mut app, 0.2, Vec3::Y * RADIUS, Quat::IDENTITY, Friction::default());
        tick(&mut app, 16);
        let energy = |app: &App| -> f32 {
            let of = |p: Particle| 0.5 * p.velocity.length_squared() + G * p.position.y;
            particles.iter().map(|e| of(particle(app, *e))).sum()
        };
        let start = energy(&app);
        for _ in 0..100 {
            tick(&mut app, 8);
            let now = energy(&app);
            assert!(now <= start + 1e-3, "{name}: {start} J became {now} J");
        }
    }
}

#[test]
fn a_draped_cloth_comes_to_rest_and_sleeps_within_twenty_seconds() {
    let sphere = Obstacle::sphere(0.5);
    let scenes = [
        (sphere.clone(), None),
        (sphere, Some(Air::STILL)),
        (Obstacle::capsule(0.4, 0.3), Some(Air::STILL)),
    ];
    for (obstacle, air) in scenes {
        let mut app = app();
        // What hangs free of an edge swings on for long without air.
        if let Some(air) = air {
            app.insert_resource(air);
        }
        app.world_mut().spawn((obstacle.clone(), Transform::from_xyz(0.0, 0.5, 0.0)));
        app.world_mut().spawn(Obstacle::HALF_SPACE);
        let flat =
            Transform::from_xyz(0.02, 1.2, 0.65).with_rotation(Quat::from_rotation_x(0.5 * PI));
        app.world_mut().spawn((Cloth::grid(UVec2::new(27, 27), 0.05), flat));
        let mut asleep = None;
        for second in 1..=20 {
            tick(&mut app, 64);
            if app.world().resource::<SolverDiagnostics>().awake_islands == 0 {
                asleep = Some(second);
                break;
            }
        }
        assert!(asleep.is_some(), "{:?}: still awake after 20 s", obstacle.shape);
    }
}

#[test]
fn a_moving_obstacle_wakes_what_is_beside_it_only() {
    let mut app = app();
    app.world_mut().spawn(Obstacle::HALF_SPACE);
    let ball =
        app.world_mut().spawn((Obstacle::sphere(0.2), Transform::from_xyz(0.5, 0.2, 0.0))).id();
    for x in [0.0, 30.0] {
        lone(&mut app, Particle::at(Vec3::new(x, RADIUS, 0.0)), BodySettings::default());
    }
    tick(&mut app, 96);
    let awake = |app: &App| app.world().resource::<SolverDiagnostics>().awake_islands;
    assert_eq!(awake(&app), 0);
    for i in 0..64 {
        let x = 0.5 - 0.01 * i as f32;
        app.world_mut().get_mut::<Transform>(ball).unwrap().translation.x = x;
        tick(&mut app, 1);
        assert!(awake(&app) <= 1);
    }
    assert_eq!(awake(&app), 1);
}

#[test]
fn of_thousands_of_obstacles_only_those_in_reach_matter() {
    let run = |crowd: bool| {
        let mut app = app();
        let mut spawn = |x: f32, y: f32, z: f32| {
            app.world_mut().spawn((Obstacle::sphere(0.3), Transform::from_xyz(x, y, z)));
        };
        (0..4).for_each(|i| spawn(i as f32 * 0.5 - 0.75, 0.0, 0.0));
        if crowd {
            (0..4000).for_each(|i| {
                let (a, ring) = (i as f32 * 0.61, 6.0 + (i % 50) as f32);
                spawn(ring * a.cos(), (i % 13) as f32 - 6.0, ring * a.sin());
            });
        }
        let flat =
            Transform::from_xyz(0.0, 0.6, 0.5).with_rotation(Quat::from_rotation_x(0.5 * PI));
        let body = app.world_mut().spawn((Cloth::grid(UVec2::new(24, 16), 0.07), flat)).id();
        tick(&mut app, 64);
        positions(&app, body)
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn a_cloth_on_a_spinning_ball_turns_with_it() {
    let mut app = app();
    let friction = Friction::new(2.0);
    let ball = app
        .world_mut()
        .spawn((Obstacle::sphere(0.5).with_friction(friction), Transform::default()))
        .id();
    let flat = Transform::from_xyz(0.0, 0.6, 0.45).with_rotation(Quat::from_rotation_x(0.5 * PI));
    let cloth = Cloth::grid(UVec2::new(19, 19), 0.05).with_friction(friction);
    let body = app.world_mut().spawn((cloth, flat)).id();
    tick(&mut app, 128);
    let top = *common::particles(&app, body)
        .iter()
        .min_by(|a, b| {
            let aside =
                |e: Entity| (particle(&app, e).position * Vec3::new(1.0, 0.0, 1.0)).length();
            (aside(**a) - 0.2).abs().total_cmp(&(aside(**b) - 0.2).abs())
        })
        .unwrap();
    let angle = |p: Vec3| p.x.atan2(p.z);
    let before = angle(particle(&app, top).position);
    for i in 1..=64 {
        let turn = Quat::from_rotation_y(TAU / 8.0 * i as f32 / 64.0);
        app.world_mut().get_mut::<Transform>(ball).unwrap().rotation = turn;
        tick(&mut app, 1);
    }
    let turned = (angle(particle(&app, top).position) - before).rem_euclid(TAU);
    assert!((turned - TAU / 8.0).abs() < 0.12, "turned by {turned} rad");
}

#[cfg(feature = "parry")]
#[test]
fn shapes_of_parry_hold_a_cloth() {
    use parry3d::{shape::SharedShape, utils::Array2};
    let cube: Vec<Vec3> = (0..8)
        .map(|i| Vec3::new((i & 1) as f32, (i >> 1 & 1) as f32, (i >> 2) as f32) - 0.5)
        .collect();
    let shapes = [
        (SharedShape::ball(0.5), 0.5),
        (SharedShape::convex_hull(&cube).unwrap(), 0.5),
        (SharedShape::round_cuboid(0.4, 0.4, 0.4, 0.1), 0.5),
        (
            SharedShape::heightfield(Array2::new(9, 9, vec![0.25; 81]), Vec3::new(2.0, 1.0, 2.0)),
            0.25,
        ),
        (SharedShape::trimesh(cube.clone(), vec![[2, 3, 6], [3, 7, 6]]).unwrap(), 0.5),
    ];
    for (shape, top) in shapes {
        let mut app = app();
        app.world_mut().spawn(Obstacle::parry(&shape).unwrap());
        let flat =
            Transform::from_xyz(0.0, 0.8, 0.2).with_rotation(Quat::from_rotation_x(0.5 * PI));
        let body = app.world_mut().spawn((Cloth::grid(UVec2::new(9, 9), 0.05), flat)).id();
        tick(&mut app, 96);
        let highest = positions(&app, body).iter().fold(f32::MIN, |most, p| most.max(p.y));
        assert!((highest - top - RADIUS).abs() < 5e-3, "{:?}: {highest}", shape.shape_type());
    }
}
