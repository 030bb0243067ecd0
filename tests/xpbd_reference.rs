//! XPBD against independent references: springs, chains, pendulum, tether, friction, free fall.
//!
//! Data and tolerances: `golden/xpbd_reference.json`, `golden/xpbd_cloth_upstream.json` and the README
//! that came with them.

mod common;

use bevy::{math::DVec3, prelude::*};
use bevy_pliant::{particle::SolverState, prelude::*};
use common::{
    app_with, exact_positions, golden, numbers, particle, positions, set_tick, tick, undamped,
};
use serde_json::Value;

const G: f64 = 9.81;

fn number(block: &Value, key: &str) -> f64 {
    block[key].as_f64().unwrap_or_else(|| panic!("{key} is a number in {block}"))
}

fn blocks(name: &str) -> Vec<Value> {
    golden("xpbd_reference.json")[name].as_array().expect("a list").clone()
}

/// Sequential order, no damping, no sleep; substeps and iterations of the block (1 where absent).
fn app_for(block: &Value) -> App {
    let count = |key: &str| block[key].as_u64().unwrap_or(1) as u32;
    let mut app = app_with(SolverSettings {
        substeps: count("substeps"),
        iterations: count("iterations"),
        order: ProjectionOrder::Sequential,
        ..undamped()
    });
    set_tick(&mut app, number(block, "dt"));
    app
}

/// The exact position: what f32 world coordinates hold, and the remainder.
fn exact(app: &App, entity: Entity) -> DVec3 {
    let state = app.world().get::<SolverState>(entity).expect("has a state");
    particle(app, entity).position.as_dvec3() + state.remainder.as_dvec3()
}

/// A chain of `links` links along `direction`, pinned at the origin; its particles from the pin on.
fn chain(
    app: &mut App,
    links: usize,
    rest: f32,
    mass: f32,
    compliance: f32,
    direction: Vec3,
) -> Vec<Entity> {
    let world = app.world_mut();
    let particles: Vec<Entity> = (0..=links)
        .map(|i| world.spawn(Particle::at(direction * (rest * i as f32)).with_mass(mass)).id())
        .collect();
    world.entity_mut(particles[0]).insert(Pinned);
    for pair in particles.windows(2) {
        let link = DistanceConstraint::new([pair[0], pair[1]], rest).with_compliance(compliance);
        world.spawn(link);
    }
    particles
}

fn lengths(app: &App, chain: &[Entity]) -> Vec<f64> {
    chain.windows(2).map(|pair| exact(app, pair[0]).distance(exact(app, pair[1]))).collect()
}

/// Extensions of a damped hanging chain after a minute (m), from the pin down.
fn settled_extensions(
    app: &mut App,
    links: usize,
    rest: f32,
    mass: f32,
    compliance: f32,
    dt: f64,
) -> Vec<f64> {
    app.world_mut().resource_mut::<SolverSettings>().damping = 1.0;
    let particles = chain(app, links, rest, mass, compliance, Vec3::NEG_Y);
    tick(app, (60.0 / dt).round() as u64);
    lengths(app, &particles).iter().map(|length| length - f64::from(rest)).collect()
}

/// Kinetic and potential energy of unit-gravity-field particles, Σ½mv² + mgy (J).
fn energy(app: &App, particles: &[Entity]) -> f64 {
    particles
        .iter()
        .map(|e| {
            let p = particle(app, *e);
            let mass = f64::from(p.mass);
            0.5 * mass * f64::from(p.velocity.length_squared()) + mass * G * exact(app, *e).y
        })
        .sum()
}

/// Implicit Euler for m ẍ = m g − x/α − β ẋ.
fn implicit_euler(block: &Value, ticks: u64) -> f64 {
    let substeps = number(block, "substeps");
    let (m, alpha, beta, h) = (
        number(block, "mass"),
        number(block, "compliance"),
        number(block, "beta"),
        number(block, "dt") / substeps,
    );
    let (mut y, mut v) = (0.0, 0.0);
    for _ in 0..ticks * substeps as u64 {
        v = (v + h * G - h * y / (alpha * m)) / (1.0 + h * h / (alpha * m) + h * beta / m);
        y += h * v;
    }
    y
}

#[test]
fn a_hanging_spring_is_implicit_euler_with_and_without_damping() {
    const REST: f32 = 0.2;
    for block in blocks("hanging_spring") {
        let mut app = app_for(&block);
        let world = app.world_mut();
        let pin = world.spawn((Particle::default(), Pinned)).id();
        let mass = number(&block, "mass") as f32;
        let bob = world.spawn(Particle::at(Vec3::NEG_Y * REST).with_mass(mass)).id();
        world.spawn(
            DistanceConstraint::new([pin, bob], REST)
                .with_compliance(number(&block, "compliance") as f32)
                .with_damping(number(&block, "beta") as f32),
        );
        let mut done = 0;
        for ticks in [1, 2, 10, 100, 2400] {
            tick(&mut app, ticks - done);
            done = ticks;
            let y = -f64::from(REST) - exact(&app, bob).y;
            let golden = number(&block["y_after"], &ticks.to_string());
            assert!((y - golden).abs() < 1e-4, "after {ticks} ticks {y}, golden {golden}: {block}");
            if number(&block, "compliance") > 0.0 {
                let euler = implicit_euler(&block, ticks);
                assert!(
                    (y - euler).abs() < 1e-4,
                    "after {ticks} ticks {y}, Euler {euler}: {block}"
                );
            }
        }
    }
}

#[test]
fn hanging_chains_extend_link_by_link_as_the_reference() {
    for block in blocks("hanging_chain") {
        let mut app = app_for(&block);
        let got = settled_extensions(
            &mut app,
            number(&block, "N") as usize,
            number(&block, "rest") as f32,
            number(&block, "mass") as f32,
            number(&block, "compliance") as f32,
            number(&block, "dt"),
        );
        let expected = numbers(&block["extension"]);
        assert_eq!(got.len(), expected.len());
        for (got, expected) in got.iter().zip(&expected) {
            assert!((got - expected).abs() < 4e-5, "{got} {expected}: {block}");
        }
    }
}

/// The chain of `stiffness_dependence`: 20 links with m α = 5·10⁻⁵ kg m/N, which alone sets the result.
fn stiffness_chain(app: &mut App, dt: f64) -> f64 {
    settled_extensions(app, 20, 0.2, 0.1, 5e-4, dt).iter().sum()
}

#[test]
fn the_extension_of_a_chain_follows_its_compliance_and_not_the_step() {
    let rows: Vec<Value> = blocks("stiffness_dependence");
    let mut tested = 0;
    for row in rows.iter().filter(|row| row.get("xpbd_total_extension").is_some()) {
        let total = stiffness_chain(&mut app_for(row), number(row, "dt"));
        let expected = number(row, "xpbd_total_extension");
        assert!((total - expected).abs() < 3e-4, "{total} {expected}: {row}");
        let theory = number(row, "theory");
        assert!((total / theory - 1.0).abs() < 0.02, "{total} {theory}: {row}");
        tested += 1;
    }
    assert_eq!(tested, 3);
    // Where PBD with k = 0.5 varies fourfold (the other rows), XPBD stays within a percent.
    for row in rows.iter().filter(|row| row.get("pbd_k_0_5_total_extension").is_some()) {
        let mut app = app_for(row);
        app.world_mut().resource_mut::<SolverSettings>().substeps = 10;
        let total = stiffness_chain(&mut app, number(row, "dt"));
        assert!((total / 0.103005 - 1.0).abs() < 0.01, "{total}: {row}");
    }
}

#[test]
fn small_steps_stretch_and_lose_less_as_the_reference_says() {
    for block in blocks("small_steps") {
        let mut block = block.clone();
        block["dt"] = (1.0 / 60.0).into();
        let mut app = app_for(&block);
        let particles = chain(&mut app, 30, 0.1, 0.1, 0.0, Vec3::X);
        assert!(energy(&app, &particles).abs() < 1e-9);
        let (mut most, mut sum) = (0.0, 0.0);
        for _ in 0..120 {
            tick(&mut app, 1);
            let worst = lengths(&app, &particles).into_iter().fold(0.0, f64::max) / 0.1;
            most = f64::max(most, worst);
            sum += worst;
        }
        let expected = number(&block, "max_stretch_ratio");
        assert!((most - expected).abs() < 5e-5, "stretch {most} {expected}: {block}");
        let (mean, expected) = (sum / 120.0, number(&block, "mean_of_max"));
        assert!((mean - expected).abs() < 5e-5, "mean {mean} {expected}: {block}");
        let (left, expected) = (energy(&app, &particles), number(&block, "energy_after_2s"));
        assert!((left - expected).abs() < 5e-3, "energy {left} {expected}: {block}");
    }
}

#[test]
fn a_pendulum_loses_the_energy_that_the_reference_loses() {
    for block in blocks("pendulum") {
        let mut block = block.clone();
        block["dt"] = (1.0 / 60.0).into();
        let mut app = app_for(&block);
        let particles = chain(&mut app, 1, 1.0, 1.0, 0.0, Vec3::X);
        tick(&mut app, 600);
        let (left, expected) = (energy(&app, &particles), number(&block, "energy_after_10s"));
        let tolerance = if number(&block, "substeps") > 16.0 { 0.05 } else { 5e-3 };
        assert!((left - expected).abs() < tolerance, "{left} {expected}: {block}");
    }
}

#[test]
fn a_tether_lets_fall_freely_up_to_its_limit_and_no_further() {
    let block = golden("xpbd_reference.json")["tether"].clone();
    let (start, limit) = (number(&block, "start") as f32, number(&block, "limit") as f32);
    let mut app = app_with(undamped());
    let world = app.world_mut();
    let pin = world.spawn((Particle::default(), Pinned)).id();
    let bob = world.spawn(Particle::at(Vec3::NEG_Y * start)).id();
    world.spawn(TetherConstraint::new(bob, pin, limit));
    // 0.5 m take 0.319 s.
    let mut ticks = 0;
    while ticks < 640 {
        tick(&mut app, 1);
        ticks += 1;
        let p = particle(&app, bob);
        let t = f64::from(ticks) / 64.0;
        if t < 0.3 {
            assert!((f64::from(p.velocity.y) + G * t).abs() < 1e-3, "not free at {t} s: {p:?}");
        }
        assert!(p.position.length() < limit + 1e-3, "beyond the limit at {t} s: {p:?}");
    }
    let p = particle(&app, bob);
    let end = number(&block, "final") as f32;
    assert!((p.position.length() - end).abs() < 1e-3 && p.velocity.length() < 0.01, "{p:?}");
}

#[test]
fn a_particle_slides_and_sticks_on_a_slope_as_coulomb_says() {
    for block in blocks("friction") {
        let mut app = app_for(&block);
        let friction = Friction::new(number(&block, "mu") as f32);
        let slope = number(&block, "slope_rad") as f32;
        // Turned about z by −slope, the surface goes down along +x.
        let rotation = Quat::from_rotation_z(-slope);
        let (along, normal) = (rotation * Vec3::X, rotation * Vec3::Y);
        let world = app.world_mut();
        world.spawn((
            Obstacle::HALF_SPACE.with_friction(friction),
            Transform::from_rotation(rotation),
        ));
        let body = world.spawn(BodySettings { friction, radius: Some(0.0), ..default() }).id();
        let start = Particle::at(Vec3::ZERO).with_velocity(along * number(&block, "v0") as f32);
        let slider = world.spawn((start, ParticleOf(body))).id();
        let mut stopped = None;
        for ticks in 1..=180 {
            tick(&mut app, 1);
            let p = particle(&app, slider);
            assert!(p.position.dot(normal).abs() < 1e-4, "leaves the slope: {p:?} {block}");
            if stopped.is_none() && p.velocity.length() < 1e-5 {
                stopped = Some(f64::from(ticks) / 60.0);
            }
        }
        let p = particle(&app, slider);
        let (x, v) = (f64::from(p.position.dot(along)), f64::from(p.velocity.dot(along)));
        assert!((x - number(&block, "x")).abs() < 2e-3, "x = {x}: {block}");
        assert!((v - number(&block, "v")).abs() < 2e-3, "v = {v}: {block}");
        match block["stop"].as_array() {
            None => assert_eq!(stopped, None, "{block}"),
            // We see the end of ticks only.
            Some(stop) => {
                let late = stopped.expect("stops") - stop[0].as_f64().unwrap();
                assert!((-2e-3..1.0 / 60.0 + 2e-3).contains(&late), "stops {late} s late: {block}");
            }
        }
    }
}

#[test]
fn the_cloth_with_compliance_is_met() {
    let data = golden("xpbd_cloth_upstream.json");
    for case in data["cases"].as_array().expect("a list") {
        let mut settings = common::classic(number(case, "iters") as u32);
        settings.gravity = Vec3::Y * number(case, "g") as f32;
        let mut app = app_with(settings);
        set_tick(&mut app, number(case, "dt"));
        let (width, height) = (number(case, "width") as u32, number(case, "height") as u32);
        let k = number(case, "k") as f32;
        let cloth = Cloth::grid(UVec2::new(width, height), 0.2)
            .pinned(ClothPins::TopCorners)
            .with_mass(ClothMass::PerParticle(number(case, "mass") as f32))
            .with_compliance(if k > 0.0 { k.recip() } else { 0.0 })
            .without_tethers();
        let left = 0.1 * (width - 1) as f32;
        let body = app.world_mut().spawn((cloth, Planar, Transform::from_xyz(left, 0.0, 0.0))).id();
        let mut done = 0;
        for ticks in [1, 10, 100, 1000] {
            let Some(expected) = case["positions"][ticks.to_string()].as_array() else { continue };
            tick(&mut app, ticks - done);
            done = ticks;
            let got = exact_positions(&app, body);
            assert_eq!(got.len(), expected.len());
            let worst = got
                .iter()
                .zip(expected)
                .map(|(p, e)| (p.x - e[0].as_f64().unwrap()).hypot(p.y - e[1].as_f64().unwrap()))
                .fold(0.0, f64::max);
            assert!(
                worst < 1e-4,
                "{width}x{height}, k = {k}, {} it, after {ticks} ticks: {worst}",
                case["iters"]
            );
        }
    }
}

#[test]
fn free_fall_from_up_to_ten_kilometres_keeps_its_speed() {
    for height in [10.0f32, 300.0, 10_000.0] {
        let mut app = app_with(undamped());
        let lone = app.world_mut().spawn(Particle::at(Vec3::Y * height)).id();
        let at = Transform::from_xyz(3.3, height, -2.1);
        let cloth = app.world_mut().spawn((Cloth::grid(UVec2::new(6, 5), 0.1), at)).id();
        let rope = app.world_mut().spawn((Rope::new(1.0, 11), at)).id();
        let ticks = (64.0 * (2.0 * f64::from(height - 2.0) / G).sqrt()) as u64;
        tick(&mut app, ticks);
        let expected = (G * ticks as f64 / 64.0) as f32;
        let mut falling = vec![lone];
        falling.extend(common::particles(&app, cloth));
        falling.extend(common::particles(&app, rope));
        for entity in falling {
            let v = particle(&app, entity).velocity;
            assert!(
                v.distance(Vec3::NEG_Y * expected) < 1e-4 * expected,
                "from {height} m: {v}, expected {expected} down"
            );
        }
    }
}

#[test]
fn colours_and_creation_order_end_in_the_same_drape() {
    for size in [UVec2::new(8, 6), UVec2::new(40, 30)] {
        let drape = |order| {
            let mut app = app_with(SolverSettings { substeps: 20, order, ..undamped() });
            set_tick(&mut app, 0.01);
            let cloth = Cloth::grid(size, 0.2)
                .pinned(ClothPins::TopCorners)
                .with_mass(ClothMass::PerParticle(0.5))
                .without_tethers();
            let body = app.world_mut().spawn(cloth).id();
            tick(&mut app, 1000);
            positions(&app, body)
        };
        let (colored, sequential) =
            (drape(ProjectionOrder::Colored), drape(ProjectionOrder::Sequential));
        let worst =
            colored.iter().zip(&sequential).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
        let width = 0.2 * (size.x - 1) as f32;
        assert!(worst < 1e-3 * width, "{size}: {worst} m of {width} m");
    }
}
