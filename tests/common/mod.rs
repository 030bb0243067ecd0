//! A headless app for tests: exact ticks, no window, no GPU.
#![allow(dead_code, reason = "each test file uses a part of it")]

#[cfg(feature = "picking")]
pub mod desk;
#[cfg(feature = "render")]
pub mod figure;
#[cfg(feature = "render")]
pub mod ragdoll;

use bevy::{prelude::*, time::TimeUpdateStrategy};
use bevy_pliant::{
    particle::{BuildOrder, Particle, ParticleIndex, Particles},
    prelude::*,
    solver::{SolverClock, state_hash},
};
use core::time::Duration;
use proptest::test_runner::{Config, RngSeed};

/// An app with all plugins that runs exactly one tick an update, after one update of length 0.
pub fn app() -> App {
    app_with(SolverSettings::default())
}

/// The same, with these settings.
pub fn app_with(settings: SolverSettings) -> App {
    let mut app = bare_app();
    app.add_plugins(PliantPlugins::default().with_settings(settings));
    app
}

/// An app with what ours need, and exact ticks.
pub fn bare_app() -> App {
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, TransformPlugin))
        .insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
    #[cfg(feature = "render")]
    app.add_plugins(AssetPlugin::default()).init_asset::<Mesh>();
    app
}

/// Settings that hold nothing back: no damping, no sleep.
pub fn undamped() -> SolverSettings {
    SolverSettings { damping: 0.0, sleeping: false, ..default() }
}

/// Settings of classic PBD: no damping, 1 substep, sequential.
pub fn classic(iterations: u32) -> SolverSettings {
    SolverSettings { substeps: 1, iterations, order: ProjectionOrder::Sequential, ..undamped() }
}

/// Sets the length of a tick (s).
pub fn set_tick(app: &mut App, seconds: f64) {
    app.insert_resource(Time::<Fixed>::from_duration(Duration::from_secs_f64(seconds)));
}

/// Runs until the solver has done `ticks` more ticks.
pub fn tick(app: &mut App, ticks: u64) {
    let target = app.world().resource::<SolverClock>().ticks + ticks;
    for _ in 0..ticks + 4 {
        if app.world().resource::<SolverClock>().ticks >= target {
            return;
        }
        app.update();
    }
    assert_eq!(app.world().resource::<SolverClock>().ticks, target, "the solver does not tick");
}

/// The particles of a body by index.
pub fn particles(app: &App, body: Entity) -> Vec<Entity> {
    let members = app.world().get::<Particles>(body).expect("the body is built");
    let mut particles: Vec<(u32, Entity)> = members
        .iter()
        .map(|e| (app.world().get::<ParticleIndex>(e).expect("has an index").0, e))
        .collect();
    particles.sort_unstable();
    particles.into_iter().map(|(_, e)| e).collect()
}

/// The positions of a body's particles by index (m).
pub fn positions(app: &App, body: Entity) -> Vec<Vec3> {
    particles(app, body).into_iter().map(|e| particle(app, e).position).collect()
}

/// A particle's state.
pub fn particle(app: &App, entity: Entity) -> Particle {
    *app.world().get::<Particle>(entity).expect("is a particle")
}

/// All particles in order of creation.
pub fn all_particles(app: &mut App) -> Vec<(Entity, Particle)> {
    let mut query = app.world_mut().query::<(Entity, &BuildOrder, &Particle)>();
    let mut all: Vec<_> = query.iter(app.world()).map(|(e, o, p)| (*o, e, *p)).collect();
    all.sort_unstable_by_key(|(order, ..)| *order);
    all.into_iter().map(|(_, e, p)| (e, p)).collect()
}

/// Whether all particles are finite.
pub fn all_finite(app: &mut App) -> bool {
    all_particles(app).iter().all(|(_, p)| p.position.is_finite() && p.velocity.is_finite())
}

/// Kinetic energy (J).
pub fn kinetic_energy(app: &mut App) -> f64 {
    all_particles(app)
        .iter()
        .map(|(_, p)| 0.5 * f64::from(p.mass) * f64::from(p.velocity.length_squared()))
        .sum()
}

/// Greatest |x₁ − x₂|/d over all distance constraints.
pub fn max_stretch(app: &mut App) -> f32 {
    let mut query = app.world_mut().query::<&DistanceConstraint>();
    let world = app.world();
    query
        .iter(world)
        .filter_map(|c| {
            let [a, b] = c.particles.map(|e| world.get::<Particle>(e).map(|p| p.position));
            Some(a?.distance(b?) / c.rest_length)
        })
        .fold(0.0, f32::max)
}

/// Parses a file of golden data.
pub fn golden(name: &str) -> serde_json::Value {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("golden data exists");
    serde_json::from_str(&text).expect("golden data is JSON")
}

/// A list of numbers.
pub fn numbers(value: &serde_json::Value) -> Vec<f64> {
    value.as_array().expect("is a list").iter().map(|v| v.as_f64().expect("is a number")).collect()
}

/// The exact positions of a body's particles by index (m): what f32 holds, plus the remainder.
pub fn exact_positions(app: &App, body: Entity) -> Vec<bevy::math::DVec3> {
    particles(app, body)
        .into_iter()
        .map(|e| {
            let state =
                app.world().get::<bevy_pliant::particle::SolverState>(e).expect("has a state");
            particle(app, e).position.as_dvec3() + state.remainder.as_dvec3()
        })
        .collect()
}

/// Gives a cloth from a grid another size.
pub fn resize(app: &mut App, cloth: Entity, to: UVec2) {
    let mut cloth = app.world_mut().get_mut::<Cloth>(cloth).expect("a cloth");
    match &mut cloth.shape {
        ClothShape::Grid { size, .. } => *size = to,
        ClothShape::Mesh { .. } => panic!("a mesh has no size"),
    }
}

/// The same draws each run, so that nobody's change fails by chance; more and others by
/// `PROPTEST_CASES=2000 PROPTEST_RNG_SEED=7`.
pub fn draws(cases: u32) -> Config {
    let default = Config::default();
    let asked = |name: &str| std::env::var_os(name).is_some();
    Config {
        cases: if asked("PROPTEST_CASES") { default.cases } else { cases },
        rng_seed: if asked("PROPTEST_RNG_SEED") { default.rng_seed } else { RngSeed::Fixed(1) },
        max_shrink_iters: 300,
        failure_persistence: None,
        ..default
    }
}

/// Two worlds must have the same bits after each of these ticks; `what` says which they are.
pub fn assert_same_bits(original: &mut App, loaded: &mut App, ticks: u32, what: &str) {
    for later in 1..=ticks {
        let hashes = [&mut *original, &mut *loaded].map(|app| {
            tick(app, 1);
            state_hash(app.world_mut())
        });
        assert_eq!(hashes[0], hashes[1], "{what}: {later} ticks later");
    }
}
