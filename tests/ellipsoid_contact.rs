//! Contacts of particles that turn with obstacles: closed forms of rocking and rolling, rest on every
//! shape, speed, energy, slopes, planes, motion.

mod common;

use bevy::prelude::*;
use bevy_pliant::{
    constraint::ConstraintOf,
    obstacle::{ObstacleShape, Part, TriangleMesh},
    particle::ParticleOf,
    prelude::*,
};
use common::{app_with, golden, particle, tick, undamped};
use core::f32::consts::{FRAC_PI_2, PI};

const G: f32 = 9.81;

/// Settings of a closed form: no damping of any kind, no sleep.
fn exact() -> SolverSettings {
    SolverSettings { relative_damping: 0.0, ..undamped() }
}

/// A body of one particle that turns.
fn lone(
    app: &mut App,
    planar: bool,
    settings: BodySettings,
    state: (Particle, OrientedParticle),
) -> Entity {
    let mut body = app.world_mut().spawn(settings);
    if planar {
        body.insert(Planar);
    }
    let body = body.id();
    app.world_mut().spawn((state, ParticleOf(body))).id()
}

fn oriented(app: &App, entity: Entity) -> OrientedParticle {
    *app.world().get::<OrientedParticle>(entity).expect("turns")
}

/// The angle of a planar particle (rad).
fn angle(app: &App, entity: Entity) -> f32 {
    let q = oriented(app, entity).rotation;
    2.0 * q.z.atan2(q.w)
}

fn at(x: f32, y: f32) -> Particle {
    Particle::at(Vec3::new(x, y, 0.0))
}

fn ellipse(a: f32, b: f32, angle: f32) -> OrientedParticle {
    OrientedParticle {
        rotation: Quat::from_rotation_z(angle),
        ..OrientedParticle::with_radii(Vec3::new(a, b, b))
    }
}

fn friction(mu: f32) -> BodySettings {
    BodySettings { friction: Friction::new(mu), ..default() }
}

/// How far an ellipse reaches down (m).
fn reach(a: f32, b: f32, angle: f32) -> f32 {
    (a * angle.sin()).hypot(b * angle.cos())
}

/// The mean angular frequency (rad/s) of a quantity that swings about 0, from its upward crossings.
fn frequency(values: &[f32], tick: f32) -> f32 {
    let crossings: Vec<f32> = values
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| pair[0] < 0.0 && pair[1] >= 0.0)
        .map(|(i, pair)| i as f32 + pair[0] / (pair[0] - pair[1]))
        .collect();
    let periods = (crossings.len() - 1) as f32;
    2.0 * PI * periods / (tick * (crossings[crossings.len() - 1] - crossings[0]))
}

#[test]
fn ellipses_rock_at_the_frequency_of_the_closed_form() {
    let reference = golden("ellipse_contact_reference.json");
    let mut known = 0;
    for case in reference["rocking"].as_array().expect("cases") {
        let number = |key: &str| case[key].as_f64().expect("a number") as f32;
        let (a, b, mu) = (number("a"), number("b"), number("mu"));
        let inertia = (a * a + b * b) / 4.0 + if mu > 0.0 { b * b } else { 0.0 };
        let expected = (G * (a * a - b * b) / b / inertia).sqrt();
        assert!((expected / number("omega_theory") - 1.0).abs() < 1e-4, "the closed form");
        if case["substeps"].as_u64() != Some(4) {
            continue;
        }
        known += 1;
        let mut app = app_with(exact());
        let mu = if mu > 0.0 { 2.0 } else { 0.0 };
        app.world_mut().spawn(Obstacle::HALF_SPACE.with_friction(Friction::new(mu)));
        let start = (at(0.0, reach(a, b, 0.03)), ellipse(a, b, 0.03));
        let rocker = lone(&mut app, true, friction(mu), start);
        let mut angles = Vec::new();
        for _ in 0..640 {
            tick(&mut app, 1);
            angles.push(angle(&app, rocker));
        }
        let found = frequency(&angles, 1.0 / 64.0);
        let late = angles[512..].iter().fold(0.0f32, |most, angle| most.max(angle.abs()));
        assert!((found / expected - 1.0).abs() < 7e-3, "{a} {b} {mu}: {found} of {expected} rad/s");
        // A substep is an implicit step, which damps by ω²h/2.
        let damped = 0.03 * (-expected * expected / 1024.0 / 2.0 * 8.0).exp();
        assert!((late / damped - 1.0).abs() < 0.1, "{a} {b} {mu}: {late} rad, {damped} expected");
    }
    assert!(known >= 4, "{known}");
}

#[test]
fn a_tilted_ellipse_falls_flat_and_sleeps() {
    for mu in [0.0, 0.5] {
        let mut app = app_with(SolverSettings::default());
        app.world_mut().spawn(Obstacle::HALF_SPACE.with_friction(Friction::new(mu)));
        let start = (at(0.0, reach(0.1, 0.05, 1.0)), ellipse(0.1, 0.05, 1.0));
        let fallen = lone(&mut app, true, friction(mu), start);
        tick(&mut app, 64 * 30);
        assert!(angle(&app, fallen).abs() < 0.1, "{} rad", angle(&app, fallen));
        let height = particle(&app, fallen).position.y;
        assert!((height - 0.05).abs() < 1e-3, "{height} m");
        assert_eq!(app.world().resource::<SolverDiagnostics>().awake_islands, 0, "it sleeps");
    }
}

#[test]
fn one_pushed_at_its_centre_alone_stands() {
    let mut app = app_with(exact());
    app.world_mut().spawn(Obstacle::HALF_SPACE);
    let settings =
        BodySettings { ellipsoid_contact: EllipsoidContact::CentreOnly, ..friction(0.5) };
    let start = (at(0.0, reach(0.1, 0.05, 1.0)), ellipse(0.1, 0.05, 1.0));
    let standing = lone(&mut app, true, settings, start);
    tick(&mut app, 640);
    assert!((angle(&app, standing) - 1.0).abs() < 1e-6);
    let height = particle(&app, standing).position.y;
    assert!((height - reach(0.1, 0.05, 1.0)).abs() < 1e-4, "{height}");
}

#[test]
fn what_slides_ends_rolling_at_two_thirds_or_five_sevenths() {
    for (planar, part) in [(true, 2.0 / 3.0), (false, 5.0 / 7.0)] {
        let (r, mu, v0) = (0.1, 0.3, 3.0);
        let mut app = app_with(exact());
        app.world_mut().spawn(Obstacle::HALF_SPACE.with_friction(Friction::new(mu)));
        let start = at(0.0, r).with_velocity(Vec3::X * v0);
        let roller = lone(
            &mut app,
            planar,
            friction(mu),
            (start, OrientedParticle::with_radii(Vec3::splat(r))),
        );
        // It slides for v0 (1 − part)/(μ g): under half a second.
        tick(&mut app, 64);
        let speed = particle(&app, roller).velocity.x;
        assert!((speed / (part * v0) - 1.0).abs() < 2e-3, "{speed} of {} m/s", part * v0);
        let spin = oriented(&app, roller).angular_velocity.z;
        assert!((spin * r / -speed - 1.0).abs() < 1e-3, "{spin} rad/s at {speed} m/s");
        // And goes on.
        tick(&mut app, 640);
        let later = particle(&app, roller).velocity.x;
        assert!((later / speed - 1.0).abs() < 1e-3, "{later} of {speed} m/s after 10 s");
    }
}

#[test]
fn a_ball_rolls_down_a_slope_as_fast_as_a_rolling_ball() {
    for (planar, factor) in [(true, 2.0 / 3.0), (false, 5.0 / 7.0)] {
        let slope = 0.3f32;
        let mut app = app_with(exact());
        app.world_mut().spawn((
            Obstacle::HALF_SPACE.with_friction(Friction::new(1.0)),
            Transform::from_rotation(Quat::from_rotation_z(-slope)),
        ));
        let start = Quat::from_rotation_z(-slope) * Vec3::Y * 0.1;
        let ball = OrientedParticle::with_radii(Vec3::splat(0.1));
        let roller = lone(&mut app, planar, friction(1.0), (Particle::at(start), ball));
        tick(&mut app, 128);
        let speed = particle(&app, roller).velocity.length();
        let expected = factor * G * slope.sin() * 2.0;
        assert!((speed / expected - 1.0).abs() < 5e-3, "{speed} of {expected} m/s");
    }
}

/// A tetrahedral heap: four triangles that rise to a tip.
fn pyramid() -> TriangleMesh {
    let corners = [
        Vec3::new(-2.0, -1.0, -2.0),
        Vec3::new(2.0, -1.0, -2.0),
        Vec3::new(2.0, -1.0, 2.0),
        Vec3::new(-2.0, -1.0, 2.0),
        Vec3::Y * 0.2,
    ];
    TriangleMesh::new(&corners, &[[0, 4, 1], [1, 4, 2], [2, 4, 3], [3, 4, 0]]).expect("a mesh")
}

fn floor_mesh() -> TriangleMesh {
    let side = 2.0;
    let corners = [
        Vec3::new(-side, 0.0, -side),
        Vec3::new(side, 0.0, -side),
        Vec3::new(side, 0.0, side),
        Vec3::new(-side, 0.0, side),
    ];
    TriangleMesh::new(&corners, &[[0, 2, 1], [0, 3, 2]]).expect("a mesh")
}

/// Obstacles of which the top is at the origin; those on which nothing lies still unless it is held on top
/// are round.
fn shapes() -> Vec<(&'static str, Obstacle, Transform, bool)> {
    let lying = Quat::from_rotation_z(FRAC_PI_2);
    let square = vec![
        Vec2::new(-1.0, -1.0),
        Vec2::new(1.0, -1.0),
        Vec2::new(1.0, 0.0),
        Vec2::new(-1.0, 0.0),
    ];
    let parts = vec![
        Part {
            shape: ObstacleShape::Cuboid { half_size: Vec3::new(1.0, 0.5, 1.0) },
            place: Transform::from_xyz(0.0, -0.5, 0.0),
        },
        Part {
            shape: ObstacleShape::Sphere { radius: 0.3 },
            place: Transform::from_xyz(0.9, 0.0, 0.0),
        },
    ];
    let down = |y: f32| Transform::from_xyz(0.0, -y, 0.0);
    vec![
        ("half-space", Obstacle::HALF_SPACE, down(0.0), false),
        ("cuboid", Obstacle::cuboid(Vec3::splat(2.0)), down(1.0), false),
        ("cylinder", Obstacle::cylinder(1.0, 1.0), down(0.5), false),
        (
            "cone on its tip",
            Obstacle::cone(1.0, 1.0),
            down(0.5).with_rotation(Quat::from_rotation_x(PI)),
            false,
        ),
        ("polygon", Obstacle::polygon(square), down(0.0), false),
        ("mesh", Obstacle::mesh(floor_mesh()), down(0.0), false),
        ("solid mesh", Obstacle::mesh(floor_mesh().solid()), down(0.0), false),
        ("compound", Obstacle::new(ObstacleShape::Compound(parts)), down(0.0), false),
        ("sphere", Obstacle::sphere(1.0), down(1.0), true),
        (
            "scaled sphere",
            Obstacle::sphere(1.0),
            down(1.0).with_scale(Vec3::new(3.0, 1.0, 2.0)),
            true,
        ),
        ("lying capsule", Obstacle::capsule(0.5, 2.0), down(0.5).with_rotation(lying), true),
        ("lying cylinder", Obstacle::cylinder(0.5, 2.0), down(0.5).with_rotation(lying), true),
    ]
}

#[test]
fn an_ellipsoid_rests_on_every_shape_at_its_height() {
    let radii = Vec3::new(0.12, 0.05, 0.08);
    for (name, obstacle, place, round) in shapes() {
        for planar in [false, true] {
            // Flat, and turned about the vertical (or, planar, upside down).
            let turned =
                if planar { Quat::from_rotation_z(PI) } else { Quat::from_rotation_y(0.8) };
            for rotation in [Quat::IDENTITY, turned] {
                let mut app = app_with(SolverSettings::default());
                app.world_mut().spawn((obstacle.clone(), place));
                // On what is round it lies in balance only at the top, and then the flat side down.
                let tilt = if round { Quat::IDENTITY } else { Quat::from_rotation_z(0.3) };
                let state = OrientedParticle {
                    rotation: tilt * rotation,
                    ..OrientedParticle::with_radii(radii)
                };
                let height = if round { 0.05 } else { 0.1 };
                let lying = lone(&mut app, planar, friction(0.5), (at(0.0, height), state));
                let mut least = f32::INFINITY;
                for _ in 0..64 * 20 {
                    tick(&mut app, 1);
                    least = least.min(particle(&app, lying).position.y);
                    if app.world().resource::<SolverDiagnostics>().awake_islands == 0 {
                        break;
                    }
                }
                let position = particle(&app, lying).position;
                let told = format!(
                    "{name}, planar {planar}, {rotation}: {position}, {:?}",
                    oriented(&app, lying)
                );
                assert!((position.y - 0.05).abs() < 0.02 * 0.05, "{told}");
                assert!(least > 0.049, "{told}: as low as {least}");
                assert!(position.with_y(0.0).length() < 0.2, "{told}");
                let up = (oriented(&app, lying).rotation * Vec3::Y).y.abs();
                assert!(up > 0.99, "{told}");
                assert_eq!(
                    app.world().resource::<SolverDiagnostics>().awake_islands,
                    0,
                    "{told}: awake"
                );
            }
        }
    }
}

#[test]
fn an_ellipsoid_lies_still_across_a_groove_and_over_an_edge() {
    // Two walls of a groove; an edge and a corner of a cuboid below the middle; the tips of a cone and a mesh
    // hold nothing, and let it slide off unharmed.
    let groove = |side: f32| {
        let place = Vec3::new(side * 0.2, 0.0, 0.0);
        (
            Obstacle::cuboid(Vec3::new(2.0, 0.1, 2.0)),
            Transform::from_translation(place).with_rotation(Quat::from_rotation_z(side * 0.6)),
        )
    };
    for planar in [false, true] {
        let mut app = app_with(SolverSettings::default());
        app.world_mut().spawn(groove(1.0));
        app.world_mut().spawn(groove(-1.0));
        let state = OrientedParticle::with_radii(Vec3::new(0.2, 0.05, 0.08));
        let lying = lone(&mut app, planar, friction(0.5), (at(0.05, 0.4), state));
        tick(&mut app, 64 * 12);
        let resting = particle(&app, lying);
        assert!(resting.position.is_finite() && resting.position.y > 0.0, "{resting:?}");
        assert_eq!(
            app.world().resource::<SolverDiagnostics>().awake_islands,
            0,
            "planar {planar}: awake, {resting:?} {:?}",
            oriented(&app, lying)
        );
    }
    for (name, obstacle, place) in [
        ("cone", Obstacle::cone(1.0, 1.0), Transform::from_xyz(0.0, -0.3, 0.0)),
        ("pyramid", Obstacle::mesh(pyramid()), Transform::IDENTITY),
        ("solid pyramid", Obstacle::mesh(pyramid().solid()), Transform::IDENTITY),
        (
            "edge of a cuboid",
            Obstacle::cuboid(Vec3::splat(1.0)),
            Transform::from_xyz(0.45, -0.3, 0.0),
        ),
        (
            "thread",
            Obstacle::segment(Vec2::new(-1.0, 0.2), Vec2::new(1.0, 0.1)),
            Transform::IDENTITY,
        ),
    ] {
        for planar in [false, true] {
            let mut app = app_with(SolverSettings::default());
            app.world_mut().spawn((obstacle.clone(), place));
            app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::from_xyz(0.0, -1.0, 0.0)));
            let state = ellipse(0.2, 0.06, 0.2);
            let falling = lone(&mut app, planar, friction(0.3), (at(0.02, 0.4), state));
            for _ in 0..64 * 6 {
                tick(&mut app, 1);
                let now = particle(&app, falling);
                let spin = oriented(&app, falling).angular_velocity;
                let energy = 0.5 * now.velocity.length_squared() + G * (now.position.y - 0.4);
                assert!(now.position.is_finite() && energy < 0.02, "{name}: {now:?}");
                assert!(spin.length() < 60.0, "{name}: {spin}");
            }
            assert!(particle(&app, falling).position.y > -0.96, "{name}");
        }
    }
}

/// Kinetic and potential energy of a particle of 1 kg (J).
fn energy(app: &App, entity: Entity, planar: bool) -> f32 {
    let (p, o) = (particle(app, entity), oriented(app, entity));
    let local = o.rotation.inverse() * o.angular_velocity;
    let inertia = if planar {
        Vec3::splat((o.radii.x.powi(2) + o.radii.y.powi(2)) / 4.0)
    } else {
        o.inertia(1.0)
    };
    0.5 * p.velocity.length_squared() + 0.5 * local.dot(inertia * local) + G * p.position.y
}

#[test]
fn a_bouncing_ellipse_gains_no_energy() {
    for planar in [false, true] {
        for e in [0.0, 0.5, 0.8] {
            for mu in [0.0, 0.5, 2.0] {
                for (draw, aspect) in
                    [0.3f32, 1.2, 2.0, 2.7, 4.1].into_iter().zip([1.5, 2.0, 3.0, 6.0, 9.0])
                {
                    let mut app = app_with(exact());
                    let obstacle = Obstacle::HALF_SPACE.with_restitution(e);
                    app.world_mut().spawn(obstacle.with_friction(Friction::new(mu)));
                    let state = OrientedParticle {
                        rotation: Quat::from_rotation_x(if planar { 0.0 } else { draw })
                            * Quat::from_rotation_z(draw),
                        angular_velocity: Vec3::Z * (draw - 2.0) * 4.0,
                        ..OrientedParticle::with_radii(Vec3::new(0.3, 0.3 / aspect, 0.2))
                    };
                    let start = at(0.0, 1.0).with_velocity(Vec3::X * draw);
                    let bouncing = lone(&mut app, planar, friction(mu), (start, state));
                    let first = energy(&app, bouncing, planar);
                    let mut last = first;
                    for i in 0..64 * 8 {
                        tick(&mut app, 1);
                        let now = energy(&app, bouncing, planar);
                        assert!(
                            now < last + 2e-3 * first,
                            "planar {planar}, e {e}, μ {mu}, draw {draw}, tick {i}: {last} to {now} J"
                        );
                        last = now;
                        let height = particle(&app, bouncing).position.y;
                        assert!(height > 0.3 / aspect * 0.95, "{height}");
                    }
                    assert!(
                        last < first * 1.001,
                        "planar {planar}, e {e}, μ {mu}, draw {draw}: {first} to {last} J"
                    );
                }
            }
        }
    }
}

#[test]
fn fast_ellipsoids_do_not_pass_thin_plates() {
    let floor = floor_mesh();
    let plates = [
        ("plate", Obstacle::cuboid(Vec3::new(4.0, 0.002, 4.0)), Transform::IDENTITY),
        ("mesh", Obstacle::mesh(floor.clone()), Transform::IDENTITY),
        ("solid mesh", Obstacle::mesh(floor.solid()), Transform::IDENTITY),
        (
            "wall of a plane",
            Obstacle::segment(Vec2::NEG_X * 2.0, Vec2::X * 2.0),
            Transform::IDENTITY,
        ),
    ];
    for (name, obstacle, place) in plates {
        for planar in [false, true] {
            if name == "wall of a plane" && !planar {
                continue;
            }
            for speed in [1.0, 5.0, 20.0, 40.0, 60.0] {
                for draw in 0..6u32 {
                    let mut app = app_with(SolverSettings::default());
                    app.world_mut().spawn((obstacle.clone(), place));
                    let turn = draw as f32 * 0.7;
                    let state = OrientedParticle {
                        rotation: Quat::from_rotation_x(if planar { 0.0 } else { turn })
                            * Quat::from_rotation_z(turn),
                        angular_velocity: Vec3::Z * (draw as f32 * 8.0 - 20.0),
                        ..OrientedParticle::with_radii(Vec3::new(0.08, 0.02, 0.04))
                    };
                    let start = at(0.1, 0.3 + 0.013 * draw as f32).with_velocity(Vec3::new(
                        0.2 * speed,
                        -speed,
                        0.0,
                    ));
                    let thrown = lone(&mut app, planar, friction(0.5), (start, state));
                    let mut lowest = f32::INFINITY;
                    for _ in 0..24 {
                        tick(&mut app, 1);
                        let x = particle(&app, thrown).position;
                        if x.x.abs() < 1.9 && x.z.abs() < 1.9 {
                            lowest = lowest.min(x.y);
                        }
                    }
                    assert!(
                        lowest > 0.0,
                        "{name}, planar {planar}, {speed} m/s, {draw}: {lowest} m"
                    );
                }
            }
        }
    }
}

#[test]
fn a_flat_ellipse_holds_on_a_slope_below_the_angle_of_friction_and_slides_above() {
    let (a, b, mu) = (0.3f32, 0.1f32, 0.5f32);
    for planar in [true, false] {
        for (part, slides) in [(0.95, false), (1.05, true)] {
            let slope = (part * mu).atan();
            let mut app = app_with(exact());
            app.world_mut().spawn((
                Obstacle::HALF_SPACE.with_friction(Friction::new(mu)),
                Transform::from_rotation(Quat::from_rotation_z(-slope)),
            ));
            // In balance the point that touches is below the centre: r = −P n/h is along g.
            let lean = |angle: f32| {
                let n = Vec2::from_angle(-angle).rotate(Vec2::from_angle(-slope).rotate(Vec2::Y));
                Vec2::from_angle(angle).rotate(Vec2::new(a * a, b * b) * n)
            };
            let (mut low, mut high) = (-1.5 * slope, 0.0);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if lean(middle).x > 0.0 { high = middle } else { low = middle }
            }
            let angle_of_rest = 0.5 * (low + high);
            let r = lean(angle_of_rest);
            assert!(r.x.abs() < 1e-5 * r.y, "in balance: {r}");
            let n = Quat::from_rotation_z(-slope) * Vec3::Y;
            let h = r.dot(n.truncate()).sqrt();
            let state = OrientedParticle {
                rotation: Quat::from_rotation_z(angle_of_rest),
                ..OrientedParticle::with_radii(Vec3::new(a, b, 0.25))
            };
            let flat = lone(&mut app, planar, friction(mu), (Particle::at(n * h), state));
            tick(&mut app, 32);
            let start = particle(&app, flat).position;
            tick(&mut app, 640);
            let moved = particle(&app, flat).position.distance(start);
            if slides {
                let a = G * (slope.sin() - mu * slope.cos());
                let expected = 0.5 * a * (10.5f32.powi(2) - 0.5f32.powi(2));
                assert!((moved / expected - 1.0).abs() < 0.02, "{moved} of {expected} m");
            } else {
                assert!(moved < 1e-3, "planar {planar}: creeps {moved} m in 10 s");
            }
        }
    }
}

#[test]
fn planar_particles_meet_shapes_whatever_their_z() {
    for (name, obstacle, place, _) in shapes() {
        let mut heights = Vec::new();
        for z in [0.0, 7.5] {
            let mut app = app_with(SolverSettings::default());
            app.world_mut().spawn((obstacle.clone(), place.with_translation(place.translation)));
            let start = Particle::at(Vec3::new(0.0, 0.06, z));
            let lying = lone(&mut app, true, friction(0.5), (start, ellipse(0.12, 0.05, 0.0)));
            tick(&mut app, 192);
            let x = particle(&app, lying).position;
            assert_eq!(x.z, z, "{name}");
            heights.push(x.y);
        }
        let met = if name.contains("mesh") { heights[0] } else { heights[1] };
        assert!((met - 0.05).abs() < 1e-3, "{name}: {heights:?}");
    }
}

#[test]
fn a_pinned_particle_stays_and_turns_nowhere() {
    let mut app = app_with(SolverSettings::default());
    app.world_mut().spawn(Obstacle::HALF_SPACE);
    let pinned = lone(&mut app, true, friction(0.5), (at(0.0, 0.01), ellipse(0.1, 0.05, 0.7)));
    app.world_mut().entity_mut(pinned).insert(Pinned);
    tick(&mut app, 64);
    assert_eq!(particle(&app, pinned).position, Vec3::Y * 0.01);
    assert!((angle(&app, pinned) - 0.7).abs() < 1e-6);
}

#[test]
fn nonsense_radii_meet_obstacles_as_small_balls() {
    let odd = [
        Vec3::ZERO,
        Vec3::NAN,
        Vec3::NEG_ONE,
        Vec3::INFINITY,
        Vec3::new(0.1, 0.0, f32::NAN),
        Vec3::new(1e-30, 1e-30, 1e-30),
        Vec3::new(1e12, 1.0, 1.0),
        Vec3::splat(f32::MAX),
    ];
    for (name, obstacle, place, _) in shapes() {
        for planar in [false, true] {
            for radii in odd {
                let mut app = app_with(SolverSettings::default());
                app.world_mut().spawn((obstacle.clone(), place));
                let state = OrientedParticle {
                    angular_velocity: Vec3::ONE,
                    ..OrientedParticle::with_radii(radii)
                };
                let small = lone(&mut app, planar, friction(0.5), (at(0.01, 0.05), state));
                tick(&mut app, 32);
                let now = particle(&app, small);
                let sane = now.position.is_finite() && now.velocity.is_finite();
                assert!(
                    sane && oriented(&app, small).rotation.is_finite(),
                    "{name} {radii}: {now:?}"
                );
                if radii == Vec3::ZERO || radii.is_nan() && radii.x.is_nan() {
                    assert!(now.position.y > 0.0, "{name} {radii}: {now:?}");
                }
            }
        }
    }
}

#[test]
fn a_turning_and_moving_obstacle_carries_ellipsoids() {
    for planar in [false, true] {
        let mut app = app_with(SolverSettings { sleeping: false, ..default() });
        let table = app
            .world_mut()
            .spawn((
                Obstacle::cuboid(Vec3::new(4.0, 0.2, 4.0)),
                Transform::from_xyz(0.0, -0.1, 0.0),
            ))
            .id();
        // Round about no axis along the table, or it would roll.
        let flat = OrientedParticle::with_radii(Vec3::new(0.12, 0.05, 0.11));
        let lying = lone(&mut app, planar, friction(1.0), (at(0.3, 0.05), flat));
        tick(&mut app, 32);
        for i in 0..64 {
            // To and fro within a second, at up to 0.3 m/s.
            let x = 0.05 * (1.0 - (2.0 * PI * (i + 1) as f32 / 64.0).cos());
            let mut place = app.world_mut().get_mut::<Transform>(table).expect("a table");
            place.translation.x = x;
            tick(&mut app, 1);
        }
        let back = particle(&app, lying).position;
        assert!((back.y - 0.05).abs() < 5e-3 && (back.x - 0.3).abs() < 0.3, "{back}");
        // Lifted at 1 m/s.
        for i in 0..64 {
            let mut place = app.world_mut().get_mut::<Transform>(table).expect("a table");
            place.translation.y = -0.1 + (i + 1) as f32 / 64.0;
            tick(&mut app, 1);
        }
        let lifted = particle(&app, lying);
        assert!((lifted.position.y - 1.05).abs() < 0.03, "{lifted:?}");
        if planar {
            continue;
        }
        // A slowly turning table turns what lies on it.
        let before = particle(&app, lying).position;
        for i in 0..128 {
            let mut place = app.world_mut().get_mut::<Transform>(table).expect("a table");
            place.rotation = Quat::from_rotation_y((i + 1) as f32 / 128.0);
            tick(&mut app, 1);
        }
        let after = particle(&app, lying).position;
        let centre = Vec3::new(
            app.world().get::<Transform>(table).expect("a table").translation.x,
            0.0,
            0.0,
        );
        let expected = centre + Quat::from_rotation_y(1.0) * (before - centre);
        assert!(after.distance(expected) < 0.1, "{before} to {after}, not {expected}");
    }
}

#[derive(Resource, Default)]
struct Seen(Vec<&'static str>, f32);

#[test]
fn contacts_of_ellipsoids_are_told() {
    let mut app = app_with(SolverSettings::default());
    app.init_resource::<Seen>();
    app.world_mut()
        .spawn(Obstacle::HALF_SPACE)
        .observe(|contact: On<ContactBegan>, mut seen: ResMut<Seen>| {
            seen.0.push("began");
            seen.1 = contact.impulse;
        })
        .observe(|_: On<ContactEnded>, mut seen: ResMut<Seen>| seen.0.push("ended"));
    let thrown = lone(&mut app, true, friction(0.5), (at(0.0, 0.3), ellipse(0.12, 0.05, 0.0)));
    tick(&mut app, 64);
    assert_eq!(app.world().resource::<Seen>().0, ["began"]);
    // It fell 0.25 m: m √(2 g s), and what a part of a tick of gravity gives.
    let impulse = app.world().resource::<Seen>().1;
    assert!((impulse - (2.0 * G * 0.25f32).sqrt()).abs() < G / 64.0 + 1e-3, "{impulse} N s");
    app.world_mut().get_mut::<Particle>(thrown).expect("a particle").velocity = Vec3::Y * 2.0;
    tick(&mut app, 4);
    assert_eq!(app.world().resource::<Seen>().0, ["began", "ended"]);
}

#[test]
fn a_chain_of_bones_falls_and_sleeps() {
    let slab = Obstacle::cuboid(Vec3::new(1.0, 0.4, 4.0));
    for planar in [true, false] {
        let mut app = app_with(SolverSettings::default());
        app.world_mut().spawn(Obstacle::HALF_SPACE);
        app.world_mut().spawn((slab.clone(), Transform::from_xyz(0.1, 0.2, 0.0)));
        let mut body = app.world_mut().spawn(BodySettings::default());
        if planar {
            body.insert(Planar);
        }
        let body = body.id();
        let radii = Vec3::new(0.12, 0.05, 0.06);
        let place = |i: usize| Vec3::new(i as f32 * 0.22 - 1.0, 1.2 + 0.1 * i as f32, 0.0);
        let bones: Vec<Entity> = (0..10)
            .map(|i| {
                let state = OrientedParticle::with_radii(radii);
                app.world_mut()
                    .spawn((Particle::at(place(i)).with_mass(0.1), state, ParticleOf(body)))
                    .id()
            })
            .collect();
        for (i, pair) in bones.windows(2).enumerate() {
            let poses = [i, i + 1].map(|i| (place(i), Quat::IDENTITY));
            let middle = 0.5 * (poses[0].0 + poses[1].0);
            let joint = JointConstraint::at([pair[0], pair[1]], poses, middle);
            let joint = JointConstraint { spin_damping: 20.0, ..joint };
            app.world_mut().spawn((joint, ConstraintOf(body)));
        }
        let mut asleep = None;
        for i in 0..64 * 12 {
            tick(&mut app, 1);
            for bone in &bones {
                let x = particle(&app, *bone).position;
                assert!(x.is_finite() && x.y > 0.049, "planar {planar}: a bone at {x}");
            }
            if app.world().resource::<SolverDiagnostics>().awake_islands == 0 {
                asleep = Some(i);
                break;
            }
        }
        assert!(asleep.is_some(), "planar {planar}: awake after 12 s");
    }
}

#[test]
fn those_that_turn_and_those_that_do_not_rest_side_by_side() {
    for (name, obstacle) in
        [("half-space", Obstacle::HALF_SPACE), ("mesh", Obstacle::mesh(floor_mesh()))]
    {
        let mut app = app_with(SolverSettings::default());
        app.world_mut().spawn(obstacle);
        let body = app.world_mut().spawn(BodySettings { radius: Some(0.02), ..default() }).id();
        let members: Vec<Entity> = (0..40)
            .map(|i| {
                let x = 0.3 * (i % 7) as f32 - 1.0;
                let particle = Particle::at(Vec3::new(x, 0.15, 0.3 * (i / 7) as f32 - 1.0));
                let mut member = app.world_mut().spawn((particle, ParticleOf(body)));
                if i % 3 == 0 {
                    member.insert(OrientedParticle::with_radii(Vec3::new(0.1, 0.05, 0.1)));
                }
                member.id()
            })
            .collect();
        // One island.
        for pair in members.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|e| particle(&app, e).position);
            let link = DistanceConstraint::new([pair[0], pair[1]], a.distance(b));
            app.world_mut().spawn((link.with_compliance(0.1), ConstraintOf(body)));
        }
        tick(&mut app, 64 * 4);
        for (i, member) in members.iter().enumerate() {
            let height = particle(&app, *member).position.y;
            let expected = if i % 3 == 0 { 0.05 } else { 0.02 };
            assert!((height - expected).abs() < 0.02 * expected, "{name}, {i}: {height} m");
        }
    }
}

#[test]
fn plain_planar_particles_meet_meshes_whatever_their_z() {
    let mut app = app_with(SolverSettings::default());
    app.world_mut().spawn(Obstacle::mesh(floor_mesh()));
    let body = app.world_mut().spawn((BodySettings::default(), Planar)).id();
    let start = Particle::at(Vec3::new(0.1, 0.1, 7.5));
    let lying = app.world_mut().spawn((start, ParticleOf(body))).id();
    tick(&mut app, 64);
    let x = particle(&app, lying).position;
    assert!((x.y - 0.01).abs() < 1e-4, "{x}");
}
