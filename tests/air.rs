//! Wind on whole bodies: against the law of `solver/air`, closed forms, and what users expect of zones.

mod common;

use bevy::{
    ecs::{entity::EntityHashMap, entity_disabling::Disabled},
    prelude::*,
    tasks::{ComputeTaskPool, TaskPoolBuilder},
    world_serialization::DynamicWorldBuilder,
};
use bevy_pliant::{
    particle::BuildOrder,
    prelude::*,
    solver::{Faulty, state_hash},
};
use common::{app_with, particle, particles, positions, tick, undamped};

/// No gravity, no damping, no sleep.
fn weightless() -> App {
    app_with(SolverSettings { gravity: Vec3::ZERO, ..undamped() })
}

/// A square plate of 4 m², `cells` along a side, of `mass` kg; it faces +z before it is turned. Soft, so
/// that rounded rest lengths do not shake what is heavy; where all of it is pushed alike it stays flat.
fn plate(app: &mut App, cells: u32, mass: f32, transform: Transform) -> Entity {
    let cloth = Cloth::grid(UVec2::splat(cells + 1), 2.0 / cells as f32)
        .with_mass(ClothMass::Total(mass))
        .with_compliance(1.0)
        .without_tethers();
    app.world_mut().spawn((cloth, transform)).id()
}

const AREA: f32 = 4.0;
const TICK: f32 = 1.0 / 64.0;

fn momentum(app: &App, body: Entity) -> Vec3 {
    particles(app, body).into_iter().map(|e| particle(app, e)).map(|p| p.mass * p.velocity).sum()
}

fn set_coefficients(app: &mut App, body: Entity, drag: f32, lift: f32) {
    let mut settings = app.world_mut().get_mut::<BodySettings>(body).expect("a recipe brings it");
    (settings.drag, settings.lift) = (drag, lift);
}

/// The force (N) on a plate too heavy to give way, measured over its first tick.
fn force_on_plate(cells: u32, turn: Quat, wind: Vec3, coefficients: [f32; 2]) -> Vec3 {
    let mut app = weightless();
    app.insert_resource(Air::wind(wind));
    let body = plate(&mut app, cells, 1e5, Transform::from_rotation(turn));
    set_coefficients(&mut app, body, coefficients[0], coefficients[1]);
    tick(&mut app, 1);
    momentum(&app, body) / TICK
}

/// The law, in f64.
fn law(normal: Vec3, wind: Vec3, [drag, lift]: [f32; 2]) -> Vec3 {
    let (mut n, u) = (normal.as_dvec3().normalize(), wind.as_dvec3());
    if n.dot(u) < 0.0 {
        n = -n;
    }
    let c = n.dot(u.normalize());
    let pressure = 0.5 * 1.2 * f64::from(AREA) * u.length_squared() * c;
    let along = f64::from(drag) * u.normalize() + f64::from(lift) * (n - c * u.normalize());
    (pressure * along).as_vec3()
}

// The law

#[test]
fn a_plate_across_the_wind_feels_the_pressure_of_drag() {
    for speed in [0.5, 6.0, 30.0] {
        let force = force_on_plate(8, Quat::IDENTITY, Vec3::Z * speed, [1.2, 0.6]);
        let expected = 0.5 * 1.2 * 1.2 * AREA * speed * speed;
        assert!((force.z / expected - 1.0).abs() < 2e-3, "{speed} m/s: {force} {expected}");
        assert!(force.truncate().length() < 1e-3 * expected, "{force}");
    }
}

#[test]
fn a_plate_at_an_angle_feels_the_law() {
    for degrees in [10.0f32, 30.0, 60.0, 80.0, 135.0] {
        let turn = Quat::from_rotation_y(degrees.to_radians()) * Quat::from_rotation_x(0.2);
        for coefficients in [[1.2, 0.6], [1.0, 0.0], [0.3, 2.0]] {
            let wind = Vec3::new(-1.0, 0.5, 9.0);
            let force = force_on_plate(6, turn, wind, coefficients);
            let expected = law(turn * Vec3::Z, wind, coefficients);
            assert!(
                force.distance(expected) < 5e-3 * expected.length(),
                "{degrees} {coefficients:?}: {force} {expected}"
            );
        }
    }
}

#[test]
fn a_plate_edge_on_feels_nothing() {
    for wind in [Vec3::X * 20.0, Vec3::Y * -20.0, Vec3::new(12.0, 5.0, 0.0)] {
        let force = force_on_plate(8, Quat::IDENTITY, wind, [1.2, 0.6]);
        assert!(force.length() < 1e-3, "{wind}: {force}");
    }
}

#[test]
fn the_total_force_does_not_depend_on_the_number_of_triangles() {
    let turn = Quat::from_rotation_x(0.7);
    let wind = Vec3::new(2.0, 1.0, 8.0);
    let coarse = force_on_plate(1, turn, wind, [1.2, 0.6]);
    for cells in [2, 5, 12, 40] {
        let fine = force_on_plate(cells, turn, wind, [1.2, 0.6]);
        assert!(fine.distance(coarse) < 2e-3 * coarse.length(), "{cells}: {fine} {coarse}");
    }
}

#[test]
fn the_winding_of_the_triangles_does_not_matter() {
    let force = |flip: bool| {
        let mut app = weightless();
        app.insert_resource(Air::STILL);
        let body = plate(&mut app, 6, 1e5, Transform::from_rotation(Quat::from_rotation_y(0.5)));
        tick(&mut app, 1);
        if flip {
            let mut surface = app.world_mut().get_mut::<BodySurface>(body).expect("a cloth has it");
            for (i, triangle) in surface.triangles.iter_mut().enumerate() {
                match i % 3 {
                    0 => triangle.swap(0, 1),
                    1 => triangle.rotate_left(1),
                    _ => triangle.swap(1, 2),
                }
            }
        }
        app.world_mut().resource_mut::<Air>().wind = Vec3::new(3.0, 2.0, 7.0);
        tick(&mut app, 1);
        momentum(&app, body) / TICK
    };
    let (one, other) = (force(false), force(true));
    assert!(one.length() > 100.0 && one.distance(other) < 1e-4 * one.length(), "{one} {other}");
}

#[test]
fn a_torn_triangle_feels_nothing() {
    let mut app = weightless();
    let body = plate(&mut app, 8, 1e5, Transform::default());
    tick(&mut app, 1);
    // The middle particle and the 4 or 8 triangles about it, each of 1/128 of the area.
    let middle = particles(&app, body)[40];
    app.world_mut().despawn(middle);
    app.insert_resource(Air::wind(Vec3::Z * 10.0));
    tick(&mut app, 1);
    let whole = 0.5 * 1.2 * 1.2 * AREA * 100.0;
    let missing = 1.0 - momentum(&app, body).z / TICK / whole;
    let triangles = (missing * 128.0).round();
    assert!((missing * 128.0 - triangles).abs() < 0.3, "{missing}");
    assert!(triangles == 4.0 || triangles == 8.0, "{triangles}");
}

#[test]
fn a_falling_sheet_reaches_its_terminal_velocity() {
    for (density, drag) in [(0.2f32, 1.2f32), (0.05, 2.0)] {
        let mut app = app_with(undamped());
        app.insert_resource(Air::STILL);
        let turn = Quat::from_rotation_x(-core::f32::consts::FRAC_PI_2);
        let body = plate(&mut app, 8, density * AREA, Transform::from_rotation(turn));
        set_coefficients(&mut app, body, drag, 0.6);
        tick(&mut app, 96);
        let speed = -momentum(&app, body).y / (density * AREA);
        // m g = ½ ρ C_D A v².
        let expected = (2.0 * density * 9.81 / (1.2 * drag)).sqrt();
        assert!((speed / expected - 1.0).abs() < 0.01, "{speed} {expected}");
    }
}

#[test]
fn a_plate_falls_short_of_free_fall_as_the_closed_form_says() {
    // v = v∞ tanh(g t/v∞), before it is anywhere near terminal.
    let mut app = app_with(undamped());
    app.insert_resource(Air::STILL);
    let turn = Quat::from_rotation_x(core::f32::consts::FRAC_PI_2);
    let body = plate(&mut app, 5, AREA, Transform::from_rotation(turn));
    tick(&mut app, 16);
    let terminal = (2.0 * 9.81 / (1.2 * 1.2f32)).sqrt();
    let expected = terminal * (9.81 * 0.25 / terminal).tanh();
    let speed = -momentum(&app, body).y / AREA;
    assert!((speed / expected - 1.0).abs() < 5e-3, "{speed} {expected}");
    assert!(speed < 0.95 * 9.81 * 0.25);
}

#[test]
fn a_rope_feels_the_wind_across_it_like_a_cylinder() {
    for (links, wind) in [(1, Vec3::X * 8.0), (20, Vec3::X * 8.0), (20, Vec3::new(6.0, -9.0, 2.0))]
    {
        let mut app = weightless();
        app.insert_resource(Air::wind(wind));
        let rope = Rope::new(2.0, links + 1).with_mass_per_length(1e3).with_thickness(0.04);
        let body = app.world_mut().spawn((rope, Transform::default())).id();
        tick(&mut app, 1);
        let force = momentum(&app, body) / TICK;
        // It hangs along y.
        let across = wind.with_y(0.0);
        let expected = 0.5 * 1.2 * 1.2 * 0.04 * 2.0 * across.length() * across;
        assert!(force.distance(expected) < 2e-3 * expected.length(), "{force} {expected}");
    }
}

#[test]
fn a_planar_body_feels_the_wind_in_its_plane_by_its_whole_area() {
    let mut app = weightless();
    app.insert_resource(Air::wind(Vec3::new(3.0, -4.0, 50.0)));
    let body = plate(&mut app, 6, 1e5, Transform::default());
    app.world_mut().entity_mut(body).insert(Planar);
    tick(&mut app, 1);
    let force = momentum(&app, body) / TICK;
    let expected = 0.5 * 1.2 * 1.2 * AREA * 5.0 * Vec3::new(3.0, -4.0, 0.0);
    assert!(force.distance(expected) < 3e-3 * expected.length(), "{force} {expected}");
}

#[test]
fn wind_stays_with_a_body_whose_momentum_is_restored() {
    let mut app = weightless();
    app.insert_resource(Air::wind(Vec3::Z * 10.0));
    let body = plate(&mut app, 6, 10.0, Transform::default());
    app.world_mut().get_mut::<BodySettings>(body).unwrap().restore_momentum = Some(true);
    tick(&mut app, 32);
    let speed = momentum(&app, body).z / 10.0;
    // dv/dt = k (w − v)², k = ½ ρ C_D A/m: w − v = w/(1 + k w t).
    let k = 0.5 * 1.2 * 1.2 * AREA / 10.0;
    let expected = 10.0 - 10.0 / (1.0 + k * 10.0 * 0.5);
    assert!((speed / expected - 1.0).abs() < 0.01, "{speed} {expected}");
}

#[test]
fn still_air_damps_a_swinging_cloth() {
    let energy = |air: Option<Air>| {
        let mut app = app_with(undamped());
        if let Some(air) = air {
            app.insert_resource(air);
        }
        let cloth = Cloth::grid(UVec2::splat(11), 0.1).pinned(ClothPins::TopEdge);
        let turn = Quat::from_rotation_x(-1.0);
        app.world_mut().spawn((cloth, Transform::from_rotation(turn)));
        let mut most = 0.0f64;
        tick(&mut app, 256);
        for _ in 0..64 {
            tick(&mut app, 1);
            most = most.max(common::kinetic_energy(&mut app));
        }
        most
    };
    let (vacuum, still) = (energy(None), energy(Some(Air::STILL)));
    assert!(vacuum > 0.02, "{vacuum}");
    assert!(still < 0.15 * vacuum, "{still} {vacuum}");
}

// Vacuum

#[test]
fn without_air_or_coefficients_the_bits_are_those_of_a_vacuum() {
    let run = |air: Option<Air>, coefficients: Option<[f32; 2]>| {
        let mut app = app_with(SolverSettings::default());
        if let Some(air) = air {
            app.insert_resource(air);
        }
        let cloth = Cloth::grid(UVec2::new(12, 9), 0.1).pinned(ClothPins::TopCorners);
        let cloth = app.world_mut().spawn(cloth).id();
        app.world_mut().get_mut::<Transform>(cloth).unwrap().rotate_x(0.5);
        let rope = Rope::new(1.0, 12).pinned(RopePins::Start);
        let aslant = Transform::from_xyz(3.0, 0.0, 0.0).with_rotation(Quat::from_rotation_z(0.5));
        let rope = app.world_mut().spawn((rope, aslant)).id();
        tick(&mut app, 1);
        if let Some([drag, lift]) = coefficients {
            set_coefficients(&mut app, cloth, drag, lift);
            set_coefficients(&mut app, rope, drag, lift);
        }
        tick(&mut app, 60);
        state_hash(app.world_mut())
    };
    let vacuum = run(None, None);
    assert_eq!(vacuum, run(None, Some([0.0, 0.0])));
    assert_eq!(vacuum, run(Some(Air::wind(Vec3::Z * 9.0).with_density(0.0)), None));
    let wind = Some(Air::wind(Vec3::Z * 9.0));
    assert_ne!(vacuum, run(wind, None));
    assert_ne!(vacuum, run(Some(Air::STILL), None));
}

// Zones

/// How fast a plate of 1 kg in the origin moves after some ticks of `change`.
fn blown(zone: impl Bundle, ticks: u64, mut change: impl FnMut(&mut World, Entity, u64)) -> Vec3 {
    let mut app = weightless();
    let body = plate(&mut app, 4, 1.0, Transform::from_xyz(0.0, 1.0, 0.0));
    let zone = app.world_mut().spawn(zone).id();
    for i in 0..ticks {
        tick(&mut app, 1);
        change(app.world_mut(), zone, i);
    }
    momentum(&app, body)
}

fn big(wind: Vec3) -> WindZone {
    WindZone::cuboid(Vec3::splat(20.0), wind).with_falloff(0.0)
}

/// Wind's direction ignores its rotation → read every tick.
#[test]
fn case_37_turning_a_zone_turns_its_wind_at_once() {
    use core::f32::consts::{FRAC_PI_2, PI};
    let wind = big(Vec3::X * 4.0);
    // Spawned turned: x becomes −z.
    let turned = Transform::from_rotation(Quat::from_rotation_y(FRAC_PI_2));
    let push = blown((wind, turned), 1, |_, _, _| {});
    assert!(push.z < -0.1 && push.x.abs() < 1e-3, "{push}");
    // Turned later: from the very next tick on.
    let mut before = None;
    let push = blown((wind, turned), 3, |world, zone, i| match i {
        0 => world.get_mut::<Transform>(zone).unwrap().rotation = Quat::from_rotation_y(-FRAC_PI_2),
        1 => {
            let mut plates = world.query::<&Particle>();
            before = Some(plates.iter(world).map(|p| p.mass * p.velocity).sum::<Vec3>());
        }
        _ => {}
    });
    let (before, first) = (before.unwrap(), blown((wind, turned), 1, |_, _, _| {}));
    assert!(before.z > first.z, "the tick after: {first} {before}");
    assert!(push.z > before.z, "{before} {push}");
    // And with its parents.
    let mut app = weightless();
    let body = plate(&mut app, 4, 1.0, Transform::from_xyz(0.0, 1.0, 0.0));
    let parent = Transform::from_rotation(Quat::from_rotation_y(FRAC_PI_2));
    let parent = app.world_mut().spawn(parent).id();
    let child = Transform::from_xyz(0.5, 0.0, 0.0).with_rotation(Quat::from_rotation_z(PI));
    app.world_mut().spawn((wind, child, ChildOf(parent)));
    tick(&mut app, 1);
    assert!(momentum(&app, body).z > 0.1, "{}", momentum(&app, body));
}

#[test]
fn zones_act_inside_only() {
    let shapes = [
        WindShape::Cuboid { half_extents: Vec3::new(1.6, 3.0, 2.0) },
        WindShape::Sphere { radius: 1.9 },
    ];
    for shape in shapes {
        let mut app = weightless();
        let at = |x: f32| Transform::from_xyz(x, 1.0, 0.0);
        let inside = plate(&mut app, 4, 1.0, at(0.0));
        let outside = plate(&mut app, 4, 1.0, at(3.1));
        app.world_mut().spawn(WindZone::new(shape, Vec3::Z * 5.0));
        tick(&mut app, 5);
        assert!(momentum(&app, inside).z > 0.1, "{shape:?}");
        assert_eq!(momentum(&app, outside), Vec3::ZERO, "{shape:?}");
        for p in particles(&app, outside) {
            assert_eq!(particle(&app, p).velocity, Vec3::ZERO);
        }
    }
}

#[test]
fn falloff_weakens_the_wind_toward_the_border() {
    // The plate stands half way between centre and border: t = ½ rises to ½, or to all of it.
    let push = |falloff: f32| {
        let mut app = weightless();
        app.insert_resource(Air::STILL);
        let body = plate(&mut app, 1, 1e5, Transform::from_xyz(0.0, 1.0, 5.0));
        let zone = WindZone::cuboid(Vec3::new(1e4, 1e4, 10.0), Vec3::Z * 8.0);
        app.world_mut().spawn(zone.with_falloff(falloff));
        tick(&mut app, 1);
        momentum(&app, body).z
    };
    let full = push(0.0);
    assert_eq!(push(0.5), full);
    // Half the speed is a quarter of the force; at 1/0.75 of the way up, s(2/3) = 20/27.
    assert!((push(1.0) / full - 0.25).abs() < 1e-3, "{}", push(1.0) / full);
    assert!((push(0.75) / full - (20.0f32 / 27.0).powi(2)).abs() < 2e-3);
}

#[test]
fn a_zone_that_comes_goes_or_rests_is_followed() {
    let wind = big(Vec3::Z * 5.0);
    let away = Transform::from_xyz(0.0, 0.0, 500.0);
    let none = blown((wind, away), 8, |_, _, _| {});
    assert_eq!(none, Vec3::ZERO);
    let comes = blown((wind, away), 8, |world, zone, i| {
        if i == 3 {
            world.get_mut::<Transform>(zone).unwrap().translation.z = 0.0;
        }
    });
    let stays = blown((wind, Transform::default()), 8, |_, _, _| {});
    assert!(comes.z > 0.1 && comes.z < stays.z, "{comes} {stays}");
    let after = |ticks: u64| blown((wind, Transform::default()), ticks, |_, _, _| {});
    let gone = blown((wind, Transform::default()), 8, |world, zone, i| {
        if i == 3 {
            world.despawn(zone);
        }
    });
    assert!(gone.distance(after(4)) < 1e-5, "{gone} {}", after(4));
    let disabled = blown((wind, Transform::default()), 8, |world, zone, i| {
        if i == 3 {
            world.entity_mut(zone).insert(Disabled);
        }
    });
    assert_eq!(disabled, gone);
    let removed = blown((wind, Transform::default()), 8, |world, zone, i| {
        if i == 3 {
            world.entity_mut(zone).remove::<WindZone>();
        }
    });
    assert_eq!(removed, gone);
}

#[test]
fn a_fast_zone_does_not_leap_over_a_cloth() {
    // 2 m thick, 6 m a tick.
    let zone = WindZone::cuboid(Vec3::new(9.0, 9.0, 1.0), Vec3::Z * 5.0).with_falloff(0.0);
    let push = blown((zone, Transform::from_xyz(0.0, 0.0, -9.0)), 4, |world, zone, _| {
        world.get_mut::<Transform>(zone).unwrap().translation.z += 6.0;
    });
    assert!(push.z > 0.01, "{push}");
}

#[test]
fn winds_add_up() {
    let push = |world: bool, zones: u32| {
        let mut app = weightless();
        app.insert_resource(Air::wind(if world { Vec3::Z * 2.0 } else { Vec3::ZERO }));
        let body = plate(&mut app, 2, 1e5, Transform::default());
        (0..zones).for_each(|_| {
            app.world_mut().spawn(big(Vec3::Z * 2.0));
        });
        tick(&mut app, 1);
        momentum(&app, body).z
    };
    let one = push(true, 0);
    assert!((push(false, 1) / one - 1.0).abs() < 1e-4);
    assert!((push(true, 1) / one - 4.0).abs() < 1e-3);
    assert!((push(true, 2) / one - 9.0).abs() < 1e-2);
}

// Turbulence

fn gusty(seed: u32) -> Air {
    Air::wind(Vec3::Z * 3.0).with_turbulence(Turbulence::new(3.0, 0.7, 2.0).with_seed(seed))
}

/// An app with a pool of four threads, of which `max_tasks` are used, and flags in gusts.
fn flags(max_tasks: usize, air: Air) -> App {
    ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(4).build());
    let mut app = app_with(SolverSettings { max_tasks, ..default() });
    app.insert_resource(air);
    let zone = WindZone::sphere(4.0, Vec3::NEG_Z * 4.0)
        .with_turbulence(Turbulence::new(2.0, 0.5, 1.0).with_seed(5));
    app.world_mut().spawn((zone, Transform::from_xyz(5.0, 300.0, 0.0)));
    app.world_mut().spawn((big(Vec3::X), Transform::from_xyz(9.0, 300.0, 0.0)));
    for i in 0..8 {
        let cloth = Cloth::grid(UVec2::new(24, 16), 0.1).pinned(ClothPins::TopCorners);
        app.world_mut().spawn((cloth, Transform::from_xyz(3.0 * i as f32, 301.0, 0.0)));
    }
    let rope = Rope::new(2.0, 20).pinned(RopePins::Start);
    app.world_mut().spawn((rope, Transform::from_xyz(4.0, 301.0, 2.0)));
    tick(&mut app, 1);
    app
}

#[test]
fn gusts_give_the_same_bits_for_every_number_of_tasks_and_differ_by_seed() {
    let run = |tasks: usize, seed: u32| {
        let mut app = flags(tasks, gusty(seed));
        tick(&mut app, 60);
        assert!(common::all_finite(&mut app));
        state_hash(app.world_mut())
    };
    let one = run(1, 1);
    assert_eq!(one, run(1, 1));
    assert_eq!(one, run(2, 1));
    assert_eq!(one, run(4, 1));
    assert_ne!(one, run(1, 2));
}

#[test]
fn gusts_push_to_all_sides_alike() {
    // Light plates far apart follow the wind; without a mean wind they drift nowhere together.
    let mut app = weightless();
    app.insert_resource(Air::STILL.with_turbulence(Turbulence::new(4.0, 1.0, 4.0)));
    let plates: Vec<Entity> = (0..60)
        .map(|i| plate(&mut app, 1, 0.5, Transform::from_xyz(50.0 * i as f32, 0.3, 0.0)))
        .collect();
    let (mut mean, mut square) = (Vec3::ZERO, 0.0);
    let mut count = 0.0;
    for _ in 0..40 {
        tick(&mut app, 16);
        for p in plates.iter().map(|body| momentum(&app, *body) / 0.5) {
            mean += p;
            square += p.length_squared();
            count += 1.0;
        }
    }
    let (mean, rms) = (mean / count, (square / count).sqrt());
    assert!(rms > 0.5, "{rms}");
    assert!(mean.length() < 0.3 * rms, "{mean} of {rms}");
}

#[test]
fn a_world_saved_in_gusts_goes_on_with_the_same_bits() {
    let mut original = flags(2, gusty(3));
    tick(&mut original, 40);
    let mut query =
        original.world_mut().query_filtered::<Entity, Or<(With<BuildOrder>, With<Transform>)>>();
    let entities: Vec<Entity> = query.iter(original.world()).collect();
    let registry = original.world().resource::<AppTypeRegistry>().clone();
    let saved = DynamicWorldBuilder::from_world(original.world(), &registry.read())
        .allow_all_components()
        .deny_component::<Mesh3d>()
        .allow_resource::<Air>()
        .allow_resource::<SolverClock>()
        .extract_entities(entities.into_iter())
        .extract_resources()
        .build();
    let text = saved.serialize(&registry.read()).expect("can be written");
    assert!(text.contains("WindZone") && text.contains("solver::air::Air"), "not saved");
    let mut loaded = app_with(SolverSettings { max_tasks: 4, ..default() });
    loaded.world_mut().spawn_batch((0..77).map(|i| Name::new(format!("other {i}"))));
    loaded.update();
    saved.write_to_world(loaded.world_mut(), &mut EntityHashMap::default()).expect("loads");
    common::assert_same_bits(&mut original, &mut loaded, 40, "as saved");
}

// Robustness

#[test]
fn a_very_light_cloth_in_a_storm_stays_finite_and_below_the_winds_speed() {
    for pins in [ClothPins::None, ClothPins::TopEdge, ClothPins::TopLeft] {
        let mut app = app_with(undamped());
        let wind = Vec3::new(60.0, 0.0, 80.0);
        app.insert_resource(Air::wind(wind));
        let cloth = Cloth::grid(UVec2::splat(20), 0.05)
            .with_mass(ClothMass::PerArea(1e-3))
            .pinned(pins.clone());
        let body = app.world_mut().spawn(cloth).id();
        for i in 0..120 {
            tick(&mut app, 1);
            let speeds = particles(&app, body).into_iter().map(|e| particle(&app, e).velocity);
            let most = speeds.map(Vec3::length).fold(0.0, f32::max);
            // What flails on its pins may crack like a whip.
            let bound = if pins == ClothPins::None { 1.01 } else { 2.0 };
            assert!(most < bound * wind.length(), "{pins:?}: {most} m/s in tick {i}");
            let count = particles(&app, body).len() as f32;
            let mean = particles(&app, body).into_iter().map(|e| particle(&app, e).velocity);
            let along = mean.sum::<Vec3>().dot(wind.normalize()) / count;
            assert!(along < 1.001 * wind.length(), "{pins:?}: {along} m/s on average in tick {i}");
        }
        assert!(common::all_finite(&mut app));
        assert!(app.world().get::<Faulty>(body).is_none());
        if pins == ClothPins::None {
            let speed = momentum(&app, body) / (1e-3 * 0.95 * 0.95);
            assert!(speed.length() < 100.5 && speed.dot(wind) > 9_500.0, "{speed}");
        }
    }
}

#[test]
fn nonsense_in_any_field_is_ignored() {
    let bad = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, -1.0, 0.0, 1e-44];
    type Spoil = fn(&mut Air, &mut WindZone, &mut BodySettings, &mut Transform, f32);
    let spoils: [Spoil; 15] = [
        |air, _, _, _, v| air.density = v,
        |air, _, _, _, v| air.wind.x = v,
        |air, _, _, _, v| air.turbulence.strength = v,
        |air, _, _, _, v| air.turbulence = Turbulence::new(1.0, v, 1.0),
        |air, _, _, _, v| air.turbulence = Turbulence::new(1.0, 1.0, v),
        |_, zone, _, _, v| zone.wind.y = v,
        |_, zone, _, _, v| zone.falloff = v,
        |_, zone, _, _, v| zone.shape = WindShape::Sphere { radius: v },
        |_, zone, _, _, v| {
            zone.shape = WindShape::Cuboid { half_extents: Vec3::new(1.0, v, 1.0) };
        },
        |_, zone, _, _, v| zone.turbulence = Turbulence::new(v, v, v),
        |_, zone, _, _, v| zone.turbulence = Turbulence::new(1.0, v, 1.0),
        |_, _, settings, _, v| settings.drag = v,
        |_, _, settings, _, v| settings.lift = v,
        |_, _, _, transform, v| transform.scale.x = v,
        |_, _, _, transform, v| transform.translation.x = v,
    ];
    for (number, spoil) in spoils.into_iter().enumerate() {
        for value in bad {
            let mut app = app_with(SolverSettings::default());
            let (mut air, mut zone) = (Air::wind(Vec3::X), big(Vec3::Z));
            let (mut settings, mut transform) = (BodySettings::default(), Transform::default());
            spoil(&mut air, &mut zone, &mut settings, &mut transform, value);
            app.insert_resource(air);
            app.world_mut().spawn((zone, transform));
            let cloth = Cloth::grid(UVec2::splat(4), 0.1).pinned(ClothPins::TopEdge);
            let cloth = app.world_mut().spawn((cloth, settings.clone())).id();
            let rope = Rope::new(0.5, 5).pinned(RopePins::Start);
            let rope = app.world_mut().spawn((rope, settings)).id();
            tick(&mut app, 4);
            assert!(common::all_finite(&mut app), "spoil {number} with {value}");
            for body in [cloth, rope] {
                assert!(app.world().get::<Faulty>(body).is_none(), "{number} with {value}");
                let far = positions(&app, body).into_iter().map(Vec3::length).fold(0.0, f32::max);
                assert!(far < 1.0, "spoil {number} with {value}: {far} m away");
            }
        }
    }
}

#[test]
fn ignored_numbers_leave_the_rest_of_the_wind() {
    let mut app = weightless();
    let mut air = Air::wind(Vec3::Z * 4.0);
    air.turbulence = Turbulence::new(f32::NAN, 1.0, 1.0);
    app.insert_resource(air);
    app.world_mut().spawn(big(Vec3::NAN));
    app.world_mut().spawn(WindZone::sphere(-1.0, Vec3::X * 90.0));
    app.world_mut().spawn((big(Vec3::X * 90.0), Transform::from_scale(Vec3::new(1.0, 0.0, 1.0))));
    let body = plate(&mut app, 2, 1e5, Transform::default());
    tick(&mut app, 1);
    let expected = 0.5 * 1.2 * 1.2 * AREA * 16.0;
    let force = momentum(&app, body) / TICK;
    assert!(force.distance(Vec3::Z * expected) < 1e-2 * expected, "{force}");
}

// Sleep

fn awake(app: &App) -> usize {
    app.world().resource::<SolverDiagnostics>().awake_islands
}

/// A cloth that hangs asleep in still air, and a small zone without wind far away.
fn asleep() -> (App, Entity, Entity) {
    let mut app = app_with(SolverSettings { damping: 2.0, ..default() });
    app.insert_resource(Air::STILL);
    let cloth = Cloth::grid(UVec2::splat(8), 0.1).pinned(ClothPins::TopCorners);
    let body = app.world_mut().spawn(cloth).id();
    let zone = WindZone::sphere(2.0, Vec3::X * 3.0);
    let zone = app.world_mut().spawn((zone, Transform::from_xyz(30.0, 0.0, 0.0))).id();
    for _ in 0..64 * 30 {
        tick(&mut app, 1);
        if awake(&app) == 0 {
            return (app, body, zone);
        }
    }
    panic!("never falls asleep in still air");
}

#[test]
fn a_sleeping_cloth_wakes_when_it_feels_another_wind() {
    type Change = fn(&mut World, Entity, Entity);
    let wakes: [(&str, Change); 9] = [
        ("wind rises", |w, _, _| w.resource_mut::<Air>().wind = Vec3::Z * 2.0),
        ("wind creeps up", |w, _, _| w.resource_mut::<Air>().wind.z += 1e-4),
        ("turbulence", |w, _, _| {
            w.resource_mut::<Air>().turbulence = Turbulence::new(2.0, 1.0, 1.0);
        }),
        ("the air goes", |w, _, _| {
            w.remove_resource::<Air>();
        }),
        ("a zone comes", |w, _, zone| {
            w.get_mut::<Transform>(zone).unwrap().translation = Vec3::ZERO;
        }),
        ("a zone appears", |w, _, _| {
            w.spawn(WindZone::sphere(3.0, Vec3::Z));
        }),
        ("a zone appears while the world is compiled", |w, _, _| {
            w.spawn(WindZone::sphere(3.0, Vec3::Z));
            w.spawn(Particle::at(Vec3::Y * 50.0));
        }),
        ("a zone grows", |w, _, zone| {
            w.get_mut::<WindZone>(zone).unwrap().shape = WindShape::Sphere { radius: 60.0 };
        }),
        ("less drag", |w, body, _| w.get_mut::<BodySettings>(body).unwrap().drag = 0.5),
    ];
    let mut silent = Vec::new();
    for (name, change) in wakes {
        let (mut app, body, zone) = asleep();
        let others = usize::from(name.contains("compiled"));
        tick(&mut app, 3);
        assert_eq!(awake(&app), 0, "wakes by itself");
        change(app.world_mut(), body, zone);
        let mut woke = false;
        for _ in 0..2 {
            tick(&mut app, 1);
            woke |= awake(&app) > others;
        }
        if !woke {
            silent.push(name);
        }
    }
    assert!(silent.is_empty(), "sleeps on: {silent:?}");
}

#[test]
fn a_sleeping_cloth_sleeps_on_when_nothing_near_it_changes() {
    let (mut app, _, zone) = asleep();
    app.world_mut().get_mut::<Transform>(zone).unwrap().rotation = Quat::from_rotation_y(1.0);
    tick(&mut app, 1);
    app.world_mut().get_mut::<WindZone>(zone).unwrap().wind = Vec3::Z * 30.0;
    tick(&mut app, 1);
    app.world_mut().spawn((WindZone::sphere(1.0, Vec3::Z), Transform::from_xyz(0.0, 9.0, 0.0)));
    tick(&mut app, 2);
    app.world_mut().despawn(zone);
    tick(&mut app, 2);
    assert_eq!(awake(&app), 0);
}

#[test]
fn a_turning_zone_wakes_what_it_blows_at() {
    let mut app = app_with(SolverSettings { damping: 2.0, ..default() });
    let cloth = Cloth::grid(UVec2::splat(8), 0.1).pinned(ClothPins::TopEdge);
    app.world_mut().spawn(cloth);
    // Along the cloth: it feels next to nothing.
    let zone = app.world_mut().spawn(big(Vec3::NEG_Y * 0.5)).id();
    for _ in 0..64 * 30 {
        tick(&mut app, 1);
        if awake(&app) == 0 {
            break;
        }
    }
    assert_eq!(awake(&app), 0, "never falls asleep in a steady wind");
    app.world_mut().get_mut::<Transform>(zone).unwrap().rotation = Quat::from_rotation_x(0.3);
    tick(&mut app, 2);
    assert_eq!(awake(&app), 1);
}

#[test]
fn a_cloth_in_gusts_does_not_sleep() {
    let (mut app, _, _) = asleep();
    app.world_mut().resource_mut::<Air>().turbulence = Turbulence::new(1.0, 1.0, 0.2);
    for _ in 0..64 * 5 {
        tick(&mut app, 1);
        assert_eq!(awake(&app), 1);
    }
}
