//! Contact of ellipsoids with one another and with particles: exact distances, momentum, friction that
//! spins, heaps, exclusions, the same bits.

mod common;

use bevy::{
    ecs::entity::EntityHashMap,
    prelude::*,
    tasks::{ComputeTaskPool, TaskPoolBuilder},
    world_serialization::{DynamicWorldBuilder, WorldSerializationPlugin},
};
use bevy_pliant::{
    constraint::JointConstraint,
    math::ellipsoid_pair::{EllipseMatrix, EllipsoidMatrix, Meeting, meet},
    obstacle::ContactLayers,
    particle::{BuildOrder, ParticleOf, Pinned, Planar, RestPose},
    prelude::*,
    solver::state_hash,
};
use common::{all_finite, all_particles, app_with, particle, tick, undamped};
use core::f32::consts::{FRAC_PI_2, TAU};
use serde_json::Value;

// Exact distances

fn numbers<const N: usize>(value: &Value) -> [f32; N] {
    let list: Vec<f32> = common::numbers(value).into_iter().map(|v| v as f32).collect();
    list.try_into().expect("so many numbers")
}

fn rotation(value: &Value) -> Quat {
    let rows: Vec<[f32; 3]> = value.as_array().expect("rows").iter().map(numbers).collect();
    let [a, b, c] = [rows[0], rows[1], rows[2]].map(Vec3::from_array);
    Quat::from_mat3(&Mat3::from_cols(a, b, c).transpose())
}

#[test]
fn ellipsoids_touch_at_the_golden_distance() {
    let golden = common::golden("oriented_particles.json");
    let cases = golden["ellipsoid_pairs"]["cases"].as_array().expect("cases");
    assert!(cases.len() >= 12);
    for case in cases {
        let shape = |n: u32| {
            let radii = Vec3::from_array(numbers(&case[format!("radii{n}")]));
            EllipsoidMatrix::new(radii, rotation(&case[format!("R{n}")]))
        };
        let pair = [&shape(1), &shape(2)];
        let n = Vec3::from_array(numbers(&case["n"]));
        let distance = case["touch_distance"].as_f64().expect("a number") as f32;
        let mut share = 0.5;
        let met = meet(pair, distance * n, &mut share, 0.1).expect("they touch");
        assert!(met.gap.abs() < 2e-5, "{met:?}");
        let normal = Vec3::from_array(numbers(&case["contact_normal"]));
        let point = Vec3::from_array(numbers(&case["contact_point_rel_c1"]));
        assert!(met.normal.distance(normal) < 2e-3, "{} {normal}", met.normal);
        assert!(met.arms[0].distance(point) < 2e-3, "{} {point}", met.arms[0]);
        assert!((share - case["lambda_star"].as_f64().expect("a number") as f32).abs() < 2e-3);
        assert!(meet(pair, 1.001 * distance * n, &mut share, 0.0).is_none());
        assert!(meet(pair, 0.999 * distance * n, &mut share, 0.0).is_some());
    }
}

#[test]
fn ellipses_touch_at_the_golden_distance() {
    let golden = common::golden("oriented_particles.json");
    let cases = golden["ellipse_pairs_2d"].as_array().expect("cases");
    assert!(cases.len() >= 8);
    for case in cases {
        let shape = |n: u32| {
            let [a, b] = numbers(&case[format!("radii{n}")]);
            let angle = case[format!("angle{n}")].as_f64().expect("a number") as f32;
            EllipseMatrix::new(Vec3::new(a, b, a), Quat::from_rotation_z(angle))
        };
        let pair = [&shape(1), &shape(2)];
        let n = Vec2::from_array(numbers(&case["n"]));
        let distance = case["touch_distance"].as_f64().expect("a number") as f32;
        let mut share = 0.5;
        let met = meet(pair, distance * n, &mut share, 0.1).expect("they touch");
        assert!(met.gap.abs() < 2e-5, "{met:?}");
        let normal = Vec2::from_array(numbers(&case["contact_normal"]));
        let point = Vec2::from_array(numbers(&case["contact_point_rel_c1"]));
        assert!(met.normal.distance(normal) < 2e-3, "{} {normal}", met.normal);
        assert!(met.arms[0].distance(point) < 2e-3, "{} {point}", met.arms[0]);
    }
}

// Scenes

/// What touches itself and others.
fn touching() -> BodySettings {
    BodySettings { self_contact: true, soft_contact: true, ..default() }
}

fn weightless() -> SolverSettings {
    SolverSettings { gravity: Vec3::ZERO, ..undamped() }
}

/// An ellipsoid as a body of its own.
#[derive(Clone, Copy)]
struct Body {
    radii: Vec3,
    place: Vec3,
    rotation: Quat,
    velocity: Vec3,
    spin: Vec3,
    mass: f32,
    planar: bool,
}

impl Default for Body {
    fn default() -> Self {
        Self {
            radii: Vec3::splat(0.1),
            place: Vec3::ZERO,
            rotation: Quat::IDENTITY,
            velocity: Vec3::ZERO,
            spin: Vec3::ZERO,
            mass: 1.0,
            planar: false,
        }
    }
}

impl Body {
    fn spawn(self, app: &mut App, settings: BodySettings) -> Entity {
        let world = app.world_mut();
        let body = world.spawn((settings, Transform::default(), Visibility::default())).id();
        if self.planar {
            world.entity_mut(body).insert(Planar);
        }
        self.spawn_in(app, body)
    }

    fn spawn_in(self, app: &mut App, body: Entity) -> Entity {
        let Body { radii, place, rotation, velocity, spin, mass, .. } = self;
        let particle = Particle::at(place).with_velocity(velocity).with_mass(mass);
        let turning = OrientedParticle { rotation, angular_velocity: spin, radii };
        app.world_mut().spawn((particle, turning, ParticleOf(body))).id()
    }
}

fn oriented(app: &App, entity: Entity) -> OrientedParticle {
    *app.world().get::<OrientedParticle>(entity).expect("turns")
}

/// Inertia along the axes of a particle (kg m²); about z alone if it is planar.
fn inertia(app: &App, entity: Entity) -> Vec3 {
    let (mass, turning) = (particle(app, entity).mass, oriented(app, entity));
    let body = app.world().get::<ParticleOf>(entity).expect("has a body").0;
    if app.world().get::<Planar>(body).is_some() {
        let Vec3 { x, y, .. } = turning.radii;
        Vec3::splat(mass / 4.0 * (x * x + y * y))
    } else {
        turning.inertia(mass)
    }
}

/// Linear momentum, angular momentum about the origin, kinetic energy.
fn motion(app: &App, bodies: &[Entity]) -> (Vec3, Vec3, f32) {
    let (mut linear, mut angular, mut energy) = (Vec3::ZERO, Vec3::ZERO, 0.0);
    for &entity in bodies {
        let (particle, turning) = (particle(app, entity), oriented(app, entity));
        let p = particle.mass * particle.velocity;
        let local = turning.rotation.inverse() * turning.angular_velocity;
        let spin = turning.rotation * (inertia(app, entity) * local);
        linear += p;
        angular += particle.position.cross(p) + spin;
        energy += 0.5 * (p.dot(particle.velocity) + spin.dot(turning.angular_velocity));
    }
    (linear, angular, energy)
}

/// How two particles of the plane are placed.
fn met_flat(app: &App, [a, b]: [Entity; 2]) -> Option<Meeting<Vec2>> {
    let shape = |entity: Entity| {
        let turning = oriented(app, entity);
        EllipseMatrix::new(turning.radii, turning.rotation)
    };
    let r = particle(app, b).position - particle(app, a).position;
    meet([&shape(a), &shape(b)], r.truncate(), &mut 0.5, 0.0)
}

fn met(app: &App, [a, b]: [Entity; 2]) -> Option<Meeting<Vec3>> {
    let shape = |entity: Entity| {
        let turning = oriented(app, entity);
        EllipsoidMatrix::new(turning.radii, turning.rotation)
    };
    let r = particle(app, b).position - particle(app, a).position;
    meet([&shape(a), &shape(b)], r, &mut 0.5, 0.0)
}

// Collisions

/// Lets two collide and checks what must be kept; the greatest overlap on the way (m).
fn collide(bodies: [Body; 2], friction: f32) -> f32 {
    let mut app = app_with(weightless());
    let settings = BodySettings { friction: Friction::new(friction), ..touching() };
    let pair = bodies.map(|body| body.spawn(&mut app, settings.clone()));
    let before = motion(&app, &pair);
    let speeds: f32 = bodies.iter().map(|b| b.velocity.length()).sum();
    // What goes in, whatever its direction (kg m/s).
    let scale: f32 = bodies.iter().map(|b| b.mass * b.velocity.length()).sum();
    let (mut energy, mut touched, mut deepest) = (before.2, false, 0.0f32);
    for _ in 0..64 {
        tick(&mut app, 1);
        let now = motion(&app, &pair);
        assert!(now.0.distance(before.0) < 1e-4 * scale, "{} {}", before.0, now.0);
        assert!(now.1.distance(before.1) < 1e-4, "{} {}", before.1, now.1);
        assert!(now.2 < energy * (1.0 + 1e-4), "{energy} {}", now.2);
        touched |= now.2 < 0.99 * energy;
        energy = now.2;
        let gap = if bodies[0].planar {
            met_flat(&app, pair).map(|met| met.gap)
        } else {
            met(&app, pair).map(|met| met.gap)
        };
        deepest = deepest.max(-gap.unwrap_or(0.0));
        if bodies[0].planar {
            assert!(pair.iter().all(|e| particle(&app, *e).position.z == 0.0));
            assert!(
                pair.iter().all(|e| oriented(&app, *e).angular_velocity.truncate() == Vec2::ZERO)
            );
        }
    }
    let apart =
        |app: &App| particle(app, pair[0]).velocity.distance(particle(app, pair[1]).velocity);
    assert!(touched && apart(&app) < speeds, "they meet");
    deepest
}

fn two(planar: bool) -> [Body; 2] {
    let first = Body {
        radii: Vec3::new(0.2, 0.1, 0.08),
        place: Vec3::new(-0.4, 0.03, 0.0),
        rotation: Quat::from_rotation_z(0.5),
        velocity: Vec3::X * 1.5,
        planar,
        ..default()
    };
    let second = Body {
        radii: Vec3::new(0.12, 0.16, 0.2),
        place: Vec3::new(0.4, 0.0, 0.0),
        rotation: Quat::from_rotation_z(-0.3),
        velocity: Vec3::X * -1.0,
        spin: Vec3::Z * 2.0,
        mass: 0.7,
        planar,
    };
    [first, second]
}

#[test]
fn ellipses_that_collide_keep_their_momentum() {
    for friction in [0.0, 0.5] {
        let deepest = collide(two(true), friction);
        assert!(deepest < 2e-3, "{deepest}");
    }
}

#[test]
fn ellipsoids_that_collide_keep_their_momentum() {
    for friction in [0.0, 0.5] {
        let [mut a, mut b] = two(false);
        a.place.z = 0.02;
        a.rotation *= Quat::from_rotation_x(0.7);
        b.rotation *= Quat::from_rotation_y(0.4);
        b.spin = Vec3::new(1.0, -0.5, 2.0);
        let deepest = collide([a, b], friction);
        assert!(deepest < 2e-3, "{deepest}");
    }
}

#[test]
fn a_head_on_blow_without_friction_leaves_the_common_velocity() {
    let mut app = app_with(weightless());
    let ball = |x: f32, v: f32, mass: f32| Body {
        place: Vec3::X * x,
        velocity: Vec3::X * v,
        mass,
        ..default()
    };
    let pair = [ball(-0.3, 2.0, 1.0), ball(0.3, -1.0, 3.0)];
    let pair = pair.map(|body| body.spawn(&mut app, touching()));
    tick(&mut app, 64);
    for entity in pair {
        let velocity = particle(&app, entity).velocity;
        assert!(velocity.distance(Vec3::X * -0.25) < 1e-3, "{velocity}");
    }
}

#[test]
fn what_is_fast_does_not_pass_through() {
    for (planar, speed) in [(true, 40.0), (true, 150.0), (false, 40.0), (false, 150.0)] {
        let mut app = app_with(weightless());
        let small = |x: f32, v: f32| Body {
            radii: Vec3::new(0.02, 0.05, 0.05),
            place: Vec3::new(x, 0.0, 0.0),
            velocity: Vec3::X * v,
            planar,
            ..default()
        };
        let pair = [small(-1.013, speed), small(1.0, -speed)];
        let pair = pair.map(|body| body.spawn(&mut app, touching()));
        tick(&mut app, 16);
        let [a, b] = pair.map(|e| particle(&app, e));
        assert!(a.position.x < b.position.x, "{speed}: {} {}", a.position, b.position);
        assert!((a.velocity - b.velocity).length() < 0.1 * speed);
    }
}

#[test]
fn discs_that_rub_spin_up_like_gears() {
    let mut app = app_with(weightless());
    let disc = |x: f32, spin: f32| Body {
        place: Vec3::X * x,
        velocity: Vec3::X * -0.2 * x.signum(),
        spin: Vec3::Z * spin,
        planar: true,
        ..default()
    };
    let pair = [disc(-0.11, 10.0), disc(0.11, 0.0)].map(|body| body.spawn(&mut app, touching()));
    tick(&mut app, 64);
    let [a, b] = pair.map(|entity| oriented(&app, entity).angular_velocity.z);
    // One turns on, slower; the other one the other way round.
    assert!(a < 9.9 && a > 3.0, "{a} {b}");
    assert!(b < -0.1, "{a} {b}");
    let [va, vb] = pair.map(|entity| particle(&app, entity).velocity);
    assert!(va.y < 0.0 && vb.y > 0.0, "the first rolls down the second: {va} {vb}");
}

#[test]
fn two_at_one_place_part_without_haste() {
    for planar in [true, false] {
        let mut app = app_with(weightless());
        let body = Body { radii: Vec3::new(0.1, 0.05, 0.07), planar, ..default() };
        let pair = [body, body].map(|body| body.spawn(&mut app, touching()));
        let mut fastest = 0.0f32;
        for _ in 0..64 {
            tick(&mut app, 1);
            for entity in pair {
                fastest = fastest.max(particle(&app, entity).velocity.length());
            }
        }
        assert!(all_finite(&mut app));
        assert!(fastest < 1.0, "{fastest}");
        let gap = if planar {
            met_flat(&app, pair).map(|met| met.gap)
        } else {
            met(&app, pair).map(|met| met.gap)
        };
        assert!(gap.unwrap_or(0.0) > -1e-3, "{gap:?}");
    }
}

#[test]
fn a_hundred_at_one_place_stay_finite() {
    let mut app = app_with(weightless());
    let world = app.world_mut();
    let body = world.spawn((touching(), Planar, Transform::default(), Visibility::default())).id();
    for i in 0..100 {
        let radii = Vec3::new(0.05, 0.02 + 0.0003 * i as f32, 0.05);
        Body { radii, rotation: Quat::from_rotation_z(i as f32), ..default() }
            .spawn_in(&mut app, body);
    }
    for _ in 0..32 {
        tick(&mut app, 1);
        assert!(all_finite(&mut app));
        let fastest =
            all_particles(&mut app).iter().map(|(_, p)| p.velocity.length()).fold(0.0, f32::max);
        assert!(fastest < 20.0, "{fastest}");
    }
}

// Who touches whom

/// Whether two such overlapping ellipses are parted.
fn part(settings: [BodySettings; 2]) -> bool {
    let mut app = app_with(weightless());
    let mut settings = settings.into_iter();
    let pair = [0.0, 0.1].map(|x| {
        let body = Body { place: Vec3::X * x, planar: true, ..default() };
        body.spawn(&mut app, settings.next().expect("two"))
    });
    tick(&mut app, 32);
    met_flat(&app, pair).is_none_or(|met| met.gap > -1e-3)
}

#[test]
fn settings_and_layers_say_who_touches_whom() {
    let layers = |memberships: u32, filters: u32| BodySettings {
        layers: ContactLayers::new(memberships, filters),
        ..touching()
    };
    assert!(part([touching(), touching()]));
    assert!(!part([touching(), BodySettings { soft_contact: false, ..touching() }]));
    assert!(!part([layers(1, 1), layers(2, 2)]));
    assert!(part([layers(1, 3), layers(2, 3)]));
}

/// A row of `count` discs of one body, each overlapping the next few, joined in a chain.
fn chain(app: &mut App, count: u32, settings: BodySettings) -> Vec<Entity> {
    let body =
        app.world_mut().spawn((settings, Planar, Transform::default(), Visibility::default())).id();
    let bones: Vec<Entity> = (0..count)
        .map(|i| {
            let place = Vec3::X * (0.08 * i as f32);
            Body { place, ..default() }.spawn_in(app, body)
        })
        .collect();
    for pair in bones.windows(2) {
        let poses = [pair[0], pair[1]].map(|e| (particle(app, e).position, Quat::IDENTITY));
        let middle = 0.5 * (poses[0].0 + poses[1].0);
        app.world_mut().spawn(JointConstraint::at([pair[0], pair[1]], poses, middle));
    }
    bones
}

fn fastest(app: &mut App) -> f32 {
    all_particles(app).iter().map(|(_, p)| p.velocity.length()).fold(0.0, f32::max)
}

#[test]
fn bones_that_share_a_joint_or_a_neighbour_do_not_touch() {
    // Three: the ends overlap by 4 cm and share a neighbour.
    let mut app = app_with(weightless());
    chain(&mut app, 3, touching());
    tick(&mut app, 16);
    assert!(fastest(&mut app) < 1e-5);
    // Folded on itself, the fifth does not lie on the first.
    let apart = |settings: BodySettings| {
        let mut app = app_with(weightless());
        let bones = chain(&mut app, 5, settings);
        let corners = [(0.0, 0.0), (0.08, 0.0), (0.08, 0.08), (0.0, 0.08), (0.0, 0.0)];
        for (bone, (x, y)) in bones.iter().zip(corners) {
            app.world_mut().get_mut::<Particle>(*bone).expect("a bone").position =
                Vec3::new(x, y, 0.0);
        }
        tick(&mut app, 64);
        assert!(all_finite(&mut app));
        particle(&app, bones[0]).position.distance(particle(&app, bones[4]).position)
    };
    assert!(apart(touching()) > 0.19, "{}", apart(touching()));
    let without = apart(BodySettings { self_contact: false, ..touching() });
    assert!(without < 0.19, "{without}");
}

#[test]
fn case_39_bones_that_overlap_at_rest_stay_where_they_are() {
    for settings in [touching(), BodySettings { self_contact: true, ..default() }] {
        let mut app = app_with(weightless());
        let bones = chain(&mut app, 6, settings);
        // The fourth after each is further than two joints away, and overlaps it as built.
        for bone in &bones {
            let place = particle(&app, *bone).position;
            let wide = Vec3::splat(0.15);
            app.world_mut().get_mut::<OrientedParticle>(*bone).expect("turns").radii = wide;
            let rest = RestPose { position: place, rotation: Quat::IDENTITY };
            app.world_mut().entity_mut(*bone).insert(rest);
        }
        tick(&mut app, 64);
        assert!(fastest(&mut app) < 1e-4, "{}", fastest(&mut app));
        // Deeper than that they do not go.
        let held = bones[0];
        app.world_mut().entity_mut(held).insert(Pinned);
        let push = AppliedForce { force: Vec3::new(-20.0, 5.0, 0.0), ..default() };
        app.world_mut().entity_mut(bones[3]).insert(push);
        tick(&mut app, 64);
        let gap = met_flat(&app, [bones[0], bones[3]]).map_or(0.0, |met| met.gap);
        assert!(gap > -0.061 - 2e-3, "{gap}");
    }
}

// Spin, stacks and heaps

/// A floor of the plane or of space: what lies there.
fn floor(app: &mut App) {
    app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::default()));
}

fn awake(app: &App) -> usize {
    app.world().resource::<SolverDiagnostics>().awake_islands
}

#[test]
fn a_stack_of_flat_ellipses_rests_and_sleeps() {
    for planar in [true, false] {
        let mut app = app_with(default());
        floor(&mut app);
        let radii = Vec3::new(0.3, 0.08, if planar { 0.08 } else { 0.3 });
        let stack: Vec<Entity> = (0..3)
            .map(|i| {
                let place = Vec3::Y * (0.081 + 0.161 * i as f32);
                Body { radii, place, planar, ..default() }.spawn(&mut app, touching())
            })
            .collect();
        tick(&mut app, 64 * 4);
        for (i, entity) in stack.iter().enumerate() {
            let Particle { position, .. } = particle(&app, *entity);
            let wanted = Vec3::Y * (0.08 + 0.16 * i as f32);
            assert!(position.distance(wanted) < 4e-3, "{planar} {i}: {position}");
        }
        assert_eq!(awake(&app), 0, "the stack does not sleep");
    }
}

#[test]
fn a_stack_on_a_held_ellipse_rests_and_sleeps() {
    for planar in [true, false] {
        let mut app = app_with(default());
        let deep = |r: f32| if planar { 0.08 } else { r };
        let base = Body {
            radii: Vec3::new(2.0, 0.5, deep(2.0)),
            place: Vec3::Y * -0.5,
            planar,
            ..default()
        };
        let base = base.spawn(&mut app, touching());
        app.world_mut().entity_mut(base).insert(Pinned);
        let stack: Vec<Entity> = (0..3)
            .map(|i| {
                let place = Vec3::Y * (0.081 + 0.161 * i as f32);
                let radii = Vec3::new(0.3, 0.08, deep(0.3));
                Body { radii, place, planar, ..default() }.spawn(&mut app, touching())
            })
            .collect();
        tick(&mut app, 64 * 4);
        for (i, entity) in stack.iter().enumerate() {
            let Particle { position, .. } = particle(&app, *entity);
            let wanted = Vec3::Y * (0.08 + 0.16 * i as f32);
            assert!(position.distance(wanted) < 4e-3, "{planar} {i}: {position}");
        }
        assert_eq!(awake(&app), 0, "the stack does not sleep");
    }
}

/// Thirty ellipses between walls.
fn heap(max_tasks: usize) -> (App, Vec<Entity>) {
    let mut app = saved_app(max_tasks);
    floor(&mut app);
    for side in [-1.0, 1.0] {
        let wall = Transform::from_xyz(0.6 * side, 0.0, 0.0)
            .with_rotation(Quat::from_rotation_z(side * FRAC_PI_2));
        app.world_mut().spawn((Obstacle::HALF_SPACE, wall));
    }
    let bodies = (0..30)
        .map(|i| {
            let (column, row) = ((i % 5) as f32, (i / 5) as f32);
            let place = Vec3::new(0.22 * (column - 2.0) + 0.01 * row, 0.15 + 0.25 * row, 0.0);
            let radii = Vec3::new(0.07 + 0.005 * column, 0.05 + 0.004 * row, 0.05);
            let rotation = Quat::from_rotation_z(1.3 * i as f32);
            Body { radii, place, rotation, planar: true, ..default() }.spawn(&mut app, touching())
        })
        .collect();
    (app, bodies)
}

#[test]
fn a_heap_of_ellipses_does_not_overlap_and_sleeps() {
    let (mut app, bodies) = heap(1);
    tick(&mut app, 64 * 5);
    assert!(all_finite(&mut app));
    let mut touching = 0;
    for (n, a) in bodies.iter().enumerate() {
        for b in &bodies[n + 1..] {
            if let Some(met) = met_flat(&app, [*a, *b]) {
                let least = [a, b].map(|e| oriented(&app, *e).radii.truncate().min_element());
                let least = least[0].min(least[1]);
                assert!(-met.gap < 0.05 * least, "{} of {least}", -met.gap);
                touching += 1;
            }
        }
    }
    assert!(touching > 15, "{touching}");
    let highest = bodies.iter().map(|e| particle(&app, *e).position.y).fold(0.0, f32::max);
    assert!(highest > 0.3 && highest < 1.2, "it is a heap: {highest} m");
    tick(&mut app, 64 * 10);
    assert_eq!(awake(&app), 0, "the heap does not sleep");
}

#[test]
fn an_ellipsoid_dropped_on_a_cloth_rests_in_it() {
    let mut app = app_with(default());
    let n = 20u32;
    let edge = (0..n * n).filter(|i| {
        let (x, y) = (i % n, i / n);
        x == 0 || y == 0 || x == n - 1 || y == n - 1
    });
    let cloth = Cloth::grid(UVec2::splat(n), 0.05).pinned(ClothPins::Indices(edge.collect()));
    let place =
        Transform::from_xyz(0.0, 0.0, 0.475).with_rotation(Quat::from_rotation_x(FRAC_PI_2));
    let damped = BodySettings { damping: Some(3.0), ..touching() };
    let body = app.world_mut().spawn((cloth, damped, place)).id();
    let dropped = Body {
        radii: Vec3::new(0.15, 0.1, 0.12),
        place: Vec3::new(0.02, 0.4, 0.01),
        rotation: Quat::from_rotation_z(0.6),
        mass: 0.5,
        ..default()
    };
    let dropped = dropped.spawn(&mut app, touching());
    tick(&mut app, 1);
    let middle = common::positions(&app, body).iter().sum::<Vec3>() / (n * n) as f32;
    assert!(middle.with_y(0.0).length() < 0.1, "the cloth lies below: {middle}");
    tick(&mut app, 64 * 5);
    let Particle { position, velocity, .. } = particle(&app, dropped);
    assert!(position.with_y(0.0).length() < 0.25 && position.y < 0.2, "{position}");
    assert!(velocity.length() < 0.05, "{velocity}");
    // Everything of the cloth is outside.
    let turning = oriented(&app, dropped);
    let inside =
        |p: &Vec3| ((turning.rotation.inverse() * (*p - position)) / turning.radii).length() < 0.99;
    let positions = common::positions(&app, body);
    assert_eq!(positions.iter().filter(|p| inside(p)).count(), 0);
    let below = positions.iter().filter(|p| p.with_y(0.0).distance(position.with_y(0.0)) < 0.1);
    assert!(below.clone().count() > 3);
    assert!(below.fold(-1.0f32, |top, p| top.max(p.y)) < position.y, "it lies on the cloth");
}

#[test]
fn a_rope_falls_over_an_ellipsoid() {
    let mut app = app_with(default());
    let rope = Rope::new(1.0, 51).with_thickness(0.02);
    let along = Transform::from_xyz(-0.5, 0.3, 0.0).with_rotation(Quat::from_rotation_z(FRAC_PI_2));
    let rope = app.world_mut().spawn((rope, touching(), along)).id();
    let post = Body { radii: Vec3::new(0.1, 0.06, 0.1), ..default() };
    let post = post.spawn(&mut app, touching());
    app.world_mut().entity_mut(post).insert(Pinned);
    tick(&mut app, 1);
    let line = common::positions(&app, rope);
    let (first, last) = (line[0], line[line.len() - 1]);
    assert!((first.x * last.x) < 0.0 || first.distance(last) > 0.9, "{first} {last}");
    let mut deepest = 0.0f32;
    for _ in 0..40 {
        tick(&mut app, 1);
        let deep = |p: Vec3| {
            meet(
                [
                    &EllipsoidMatrix::new(Vec3::new(0.1, 0.06, 0.1), Quat::IDENTITY),
                    &EllipsoidMatrix::ball(0.01),
                ],
                p,
                &mut 0.9,
                0.0,
            )
            .map_or(0.0, |met| -met.gap)
        };
        let deep = common::positions(&app, rope).into_iter().map(deep).fold(0.0, f32::max);
        deepest = deepest.max(deep);
    }
    assert!(deepest < 3e-3, "{deepest}");
    assert!(app.world().resource::<SolverDiagnostics>().soft_contacts > 0, "it lies on the post");
}

// The same bits

/// All tests of this file that ask for it share one pool, of so many threads that tasks split.
fn saved_app(max_tasks: usize) -> App {
    let pool = ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(4).build());
    assert!(pool.thread_num() >= 4, "tasks would not split");
    let mut app = common::bare_app();
    let settings = SolverSettings { max_tasks, ..default() };
    app.add_plugins(WorldSerializationPlugin)
        .add_plugins(PliantPlugins::default().with_settings(settings));
    app.update();
    app
}

/// Chains of bones that fall on a cloth and on one another.
fn crowd(max_tasks: usize) -> App {
    let mut app = saved_app(max_tasks);
    floor(&mut app);
    let lying = Transform::from_xyz(0.3, 0.1, 0.0).with_rotation(Quat::from_rotation_x(-FRAC_PI_2));
    app.world_mut().spawn((Cloth::grid(UVec2::splat(16), 0.05), touching(), lying));
    for row in 0..4 {
        let body =
            app.world_mut().spawn((touching(), Transform::default(), Visibility::default())).id();
        let bones: Vec<Entity> = (0..6)
            .map(|i| {
                let angle = i as f32 * TAU / 7.0 + row as f32;
                let place = Vec3::new(0.1 * angle.cos(), 0.3 + 0.2 * row as f32, 0.1 * angle.sin());
                let radii = Vec3::new(0.05, 0.03, 0.04);
                let rotation = Quat::from_rotation_y(-angle);
                Body { place, radii, rotation, ..default() }.spawn_in(&mut app, body)
            })
            .collect();
        for pair in bones.windows(2) {
            let poses = [pair[0], pair[1]]
                .map(|e| (particle(&app, e).position, oriented(&app, e).rotation));
            let middle = 0.5 * (poses[0].0 + poses[1].0);
            app.world_mut().spawn(JointConstraint::at([pair[0], pair[1]], poses, middle));
        }
    }
    app
}

fn soft_contacts(app: &App) -> usize {
    app.world().resource::<SolverDiagnostics>().soft_contacts
}

#[test]
fn ellipsoids_in_contact_give_the_same_bits_for_every_number_of_tasks() {
    let run = |make: &dyn Fn(usize) -> App, tasks: usize| {
        let mut app = make(tasks);
        let run: Vec<(u64, usize)> = (0..4)
            .map(|_| {
                tick(&mut app, 20);
                (state_hash(app.world_mut()), soft_contacts(&app))
            })
            .collect();
        assert!(run.iter().any(|(_, contacts)| *contacts > 10), "{run:?}");
        run
    };
    for make in [&crowd as &dyn Fn(usize) -> App, &|tasks| heap(tasks).0] {
        let one = run(make, 1);
        for tasks in [1, 2, 4] {
            assert_eq!(one, run(make, tasks));
        }
    }
}

#[test]
fn ellipsoids_in_contact_that_are_saved_go_on_with_the_same_bits() {
    let mut original = crowd(2);
    tick(&mut original, 45);
    let mut query =
        original.world_mut().query_filtered::<Entity, Or<(With<BuildOrder>, With<Transform>)>>();
    let entities: Vec<Entity> = query.iter(original.world()).collect();
    let registry = original.world().resource::<AppTypeRegistry>().clone();
    let saved = {
        let registry = registry.read();
        DynamicWorldBuilder::from_world(original.world(), &registry)
            .allow_all_components()
            .deny_component::<Mesh3d>()
            .extract_entities(entities.into_iter())
            .build()
    };
    let mut loaded = saved_app(4);
    loaded.world_mut().spawn_batch((0..33).map(|i| Name::new(format!("other {i}"))));
    saved.write_to_world(loaded.world_mut(), &mut EntityHashMap::default()).expect("loads");
    common::assert_same_bits(&mut original, &mut loaded, 40, "as saved");
    assert!(soft_contacts(&original) > 10);
}
