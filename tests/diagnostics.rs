//! What the solver tells of itself: times and counts, in Bevy's store too; who is awake, islands, colours,
//! contacts.

mod common;

use bevy::{
    diagnostic::{DiagnosticPath, DiagnosticsStore},
    ecs::{entity_disabling::Disabled, system::SystemState},
    prelude::*,
};
use bevy_pliant::{
    prelude::*,
    solver::{ContactPoint, PliantDiagnosticsPlugin},
};
use common::{app, app_with, particle, particles, tick, undamped};
use std::collections::{HashMap, HashSet};

/// Reads something from the solver's view.
fn view<T>(app: &mut App, read: impl FnOnce(SolverView) -> T) -> T {
    let mut state = SystemState::<SolverView>::new(app.world_mut());
    read(state.get(app.world()).expect("the solver's resources are there"))
}

fn activity(app: &mut App, body: Entity) -> Option<Activity> {
    view(app, |view| view.bodies().find(|(entity, _)| *entity == body).map(|(_, a)| a))
}

fn rope(app: &mut App, x: f32) -> Entity {
    let rope = Rope::new(1.0, 11).pinned(RopePins::Start);
    app.world_mut().spawn((rope, Transform::from_xyz(x, 3.0, 0.0))).id()
}

fn value(app: &App, path: &DiagnosticPath) -> Option<f64> {
    app.world().resource::<DiagnosticsStore>().get(path)?.value()
}

#[test]
fn bodies_are_awake_asleep_disabled_or_faulty() {
    let mut app = app();
    let [hangs, swings, stopped, bad] = [0.0, 2.0, 4.0, 6.0].map(|x| rope(&mut app, x));
    tick(&mut app, 2);
    app.world_mut().entity_mut(stopped).insert(Disabled);
    let first = particles(&app, bad)[5];
    app.world_mut().get_mut::<Particle>(first).expect("a particle").velocity.x = f32::NAN;
    // One that is kept moving by a wind of its own.
    for _ in 0..100 {
        let end = particles(&app, swings)[10];
        app.world_mut().get_mut::<Particle>(end).expect("a particle").velocity.z += 0.2;
        tick(&mut app, 1);
    }
    assert_eq!(activity(&mut app, hangs), Some(Activity::Asleep));
    assert_eq!(activity(&mut app, swings), Some(Activity::Awake));
    assert_eq!(activity(&mut app, stopped), Some(Activity::Disabled));
    assert_eq!(activity(&mut app, bad), Some(Activity::Faulty));
    let diagnostics = app.world().resource::<SolverDiagnostics>();
    assert_eq!((diagnostics.bodies, diagnostics.awake_bodies), (4, 1));
    let end = particles(&app, swings)[10];
    assert_eq!(view(&mut app, |view| view.activity(end)), Some(Activity::Awake));
    assert_eq!(view(&mut app, |view| view.activity(hangs)), None, "a body is no particle");
}

#[test]
fn islands_are_what_constraints_join() {
    let mut app = app();
    let [a, b] = [0.0, 2.0].map(|x| rope(&mut app, x));
    tick(&mut app, 1);
    let island = |app: &mut App, body: Entity| {
        let members = particles(app, body);
        let numbers: HashSet<u32> = view(app, |view| {
            members.iter().map(|p| view.island_of(*p).expect("a particle")).collect()
        });
        assert_eq!(numbers.len(), 1, "one rope, one island");
        numbers.into_iter().next()
    };
    assert_ne!(island(&mut app, a), island(&mut app, b));
    let ends = [a, b].map(|body| particles(&app, body)[10]);
    app.world_mut().spawn(DistanceConstraint::new(ends, 2.0));
    tick(&mut app, 1);
    assert_eq!(island(&mut app, a), island(&mut app, b));
}

#[test]
fn constraints_of_one_colour_share_no_particle() {
    let mut app = app();
    // Few enough for one block of colours.
    let cloth = Cloth::grid(UVec2::new(20, 15), 0.1).pinned(ClothPins::TopCorners);
    app.world_mut().spawn(cloth);
    tick(&mut app, 1);
    let mut query = app.world_mut().query::<(Entity, &DistanceConstraint)>();
    let all: Vec<(Entity, [Entity; 2])> =
        query.iter(app.world()).map(|(e, c)| (e, c.particles)).collect();
    let colors: Vec<Option<u32>> =
        view(&mut app, |view| all.iter().map(|(e, _)| view.color_of(*e)).collect());
    let mut used: HashMap<u32, HashSet<Entity>> = HashMap::new();
    for ((_, ends), color) in all.iter().zip(&colors) {
        let taken = used.entry(color.expect("a colour")).or_default();
        assert!(ends.iter().all(|end| taken.insert(*end)), "{color:?} is used twice at a particle");
    }
    // The inner particles have eight neighbours each.
    assert!((8..=16).contains(&used.len()), "{} colours", used.len());
    app.world_mut().resource_mut::<SolverSettings>().order = ProjectionOrder::Sequential;
    tick(&mut app, 2);
    assert!(view(&mut app, |view| all.iter().all(|(e, _)| view.color_of(*e).is_none())));
    assert_eq!(view(&mut app, |view| view.color_of(Entity::PLACEHOLDER)), None);
}

#[test]
fn contacts_are_where_particles_touch() {
    let mut app = app();
    let floor = app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::default())).id();
    let mut dropped: Vec<Entity> = (0..3)
        .map(|i| app.world_mut().spawn(Particle::at(Vec3::new(i as f32, 0.05, 0.0))).id())
        .collect();
    let turns = OrientedParticle::with_radii(Vec3::new(0.2, 0.1, 0.2));
    let start = Particle::at(Vec3::new(5.0, 0.1, 0.0));
    dropped.push(app.world_mut().spawn((start, turns)).id());
    tick(&mut app, 30);
    let found: Vec<ContactPoint> = view(&mut app, |view| view.contacts().collect());
    assert_eq!(found.len(), app.world().resource::<SolverDiagnostics>().contacts);
    assert_eq!(
        found.iter().map(|c| c.particle).collect::<HashSet<_>>(),
        dropped.iter().copied().collect()
    );
    for contact in found {
        assert_eq!(contact.other, Some(floor));
        assert!(contact.normal.distance(Vec3::Y) < 1e-4);
        assert!(contact.position.y.abs() < 2e-3, "on the floor: {}", contact.position);
        let above = particle(&app, contact.particle).position;
        assert!((above - contact.position).reject_from(Vec3::Y).length() < 1e-3);
    }
}

#[test]
fn contacts_between_particles_point_at_the_first() {
    let mut app = app_with(SolverSettings { gravity: Vec3::ZERO, ..undamped() });
    let ends = [-1.0f32, 1.0].map(|side| {
        // Drawn together, so that they keep touching.
        let gravity = Some(Vec3::X * -5.0 * side);
        let body = BodySettings { gravity, soft_contact: true, radius: Some(0.1), ..default() };
        let body = app.world_mut().spawn((body, Transform::default())).id();
        let start = Particle::at(Vec3::X * 0.12 * side);
        app.world_mut().spawn((start, ParticleOf(body))).id()
    });
    let mut touched = false;
    for _ in 0..30 {
        tick(&mut app, 1);
        for contact in view(&mut app, |view| view.contacts().collect::<Vec<_>>()) {
            touched = true;
            assert!(ends.contains(&contact.particle) && contact.other.is_some());
            assert_ne!(contact.other, Some(contact.particle));
            let from = particle(&app, contact.other.expect("another")).position;
            let to = particle(&app, contact.particle).position;
            assert!(contact.normal.distance((to - from).normalize()) < 1e-4);
            assert!(contact.position.length() < 0.02, "midway: {}", contact.position);
        }
    }
    assert!(touched);
}

#[test]
fn the_store_holds_what_the_solver_measured_once_a_frame() {
    type Paths = PliantDiagnosticsPlugin;
    let mut app = app();
    app.world_mut().resource_mut::<SolverDiagnostics>().detailed = true;
    app.world_mut().spawn(Cloth::grid(UVec2::new(20, 15), 0.1).pinned(ClothPins::TopCorners));
    app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::from_xyz(0.0, -1.0, 0.0)));
    tick(&mut app, 50);
    let d = app.world().resource::<SolverDiagnostics>().clone();
    let close = |path: &DiagnosticPath, expected: f64| {
        let value = value(&app, path).expect("measured");
        assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{path}: {value} {expected}");
    };
    close(&Paths::TICK, 1e3 * d.tick.as_secs_f64());
    for stage in Stage::ALL {
        close(&Paths::stage(stage), 1e3 * d.stage(stage).as_secs_f64());
    }
    close(&Paths::PARTICLES, 300.0);
    close(&Paths::CONSTRAINTS, d.constraints as f64);
    close(&Paths::CONTACTS, (d.contacts + d.soft_contacts) as f64);
    close(&Paths::ISLANDS, 1.0);
    close(&Paths::AWAKE_BODIES, 1.0);
    // By type: no more than the stage in all, and of the types that are there.
    let by_type = d.project_times();
    let sum: f64 = by_type.iter().map(|(_, time)| time.as_secs_f64()).sum();
    assert!(sum > 0.0 && sum <= d.stage(Stage::Project).as_secs_f64());
    let distance = by_type.iter().find(|(name, _)| *name == "DistanceConstraint").expect("timed");
    close(&Paths::project(distance.0), 1e3 * distance.1.as_secs_f64());

    let stretch = value(&app, &Paths::WORST_STRETCH).expect("measured");
    let expected = f64::from(common::max_stretch(&mut app));
    assert!((stretch - expected).abs() < 1e-5, "{stretch} {expected}");
    assert!(stretch > 1.0);

    // Paused, nothing is added.
    let count = |app: &App| {
        let store = app.world().resource::<DiagnosticsStore>();
        store.get(&Paths::TICK).expect("registered").history_len()
    };
    let before = count(&app);
    app.world_mut().resource_mut::<SolverControl>().paused = true;
    (0..5).for_each(|_| app.update());
    assert_eq!(count(&app), before);
    app.world_mut().resource_mut::<SolverControl>().paused = false;
    app.world_mut().resource_mut::<SolverDiagnostics>().detailed = false;
    tick(&mut app, 3);
    assert_eq!(count(&app), before + 3);
    assert!(app.world().resource::<SolverDiagnostics>().project_times().is_empty());
}

#[test]
fn timing_by_type_changes_no_bits() {
    let run = |detailed: bool| {
        let mut app = app();
        app.world_mut().resource_mut::<SolverDiagnostics>().detailed = detailed;
        app.world_mut().spawn(Cloth::grid(UVec2::new(12, 9), 0.1).pinned(ClothPins::TopCorners));
        tick(&mut app, 60);
        bevy_pliant::solver::state_hash(app.world_mut())
    };
    assert_eq!(run(true), run(false));
}
