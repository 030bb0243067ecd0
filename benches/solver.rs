//! Whole ticks of the seed's cloth, and what it costs to build one.
//!
//! A tick is the solver's whole tick, from compiling to write-back, 10 substeps of 1 iteration;
//! `cloth_update` is one `App::update` of a headless app, with Bevy's own frame and the drawn pose.

mod common;

use bevy::prelude::*;
use bevy_pliant::prelude::*;
use common::{
    SUBSTEPS, WARM_UP, app, app_with_cloths, constraint_count, name, projections, seed_cloth, ticks,
};
use core::time::Duration;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::time::Instant;

const SMALL: UVec2 = UVec2::new(40, 30);
const MEDIUM: UVec2 = UVec2::new(100, 100);
const LARGE: UVec2 = UVec2::new(316, 316);

/// One cloth on one thread. Elements: constraints × iterations.
fn cloth_tick(c: &mut Criterion) {
    let mut group = c.benchmark_group("cloth_tick");
    group.sample_size(50);
    for size in [SMALL, MEDIUM, LARGE] {
        group.throughput(Throughput::Elements(projections(size)));
        let mut app = app_with_cloths(size, 1, 1);
        group.bench_function(name(size), |b| b.iter_custom(|n| ticks(&mut app, n)));
    }
    group.throughput(Throughput::Elements(projections(MEDIUM)));
    let mut scalar = common::scalar_aos::ScalarCloth::new(MEDIUM);
    (0..WARM_UP).for_each(|_| scalar.tick(1.0 / 64.0));
    group.bench_function(BenchmarkId::new("scalar_aos", name(MEDIUM)), |b| {
        b.iter(|| scalar.tick(1.0 / 64.0));
    });
    group.finish();
}

/// The same with all that a frame does beside.
fn cloth_update(c: &mut Criterion) {
    let mut group = c.benchmark_group("cloth_update");
    group.sample_size(50);
    for size in [SMALL, MEDIUM] {
        group.throughput(Throughput::Elements(projections(size)));
        let mut app = app_with_cloths(size, 1, 1);
        group.bench_function(name(size), |b| b.iter(|| app.update()));
    }
    group.finish();
}

/// One cloth on one thread in a vacuum, in still air and in gusts. Elements: triangles × substeps.
fn cloth_air(c: &mut Criterion) {
    let mut group = c.benchmark_group("cloth_air");
    let triangles = 2 * u64::from((MEDIUM.x - 1) * (MEDIUM.y - 1));
    group.sample_size(50).throughput(Throughput::Elements(triangles * u64::from(SUBSTEPS)));
    let gusts = Turbulence::new(2.0, 1.0, 1.0);
    let gusty = Air::wind(Vec3::Z * 4.0).with_turbulence(gusts);
    for (name, air) in [("vacuum", None), ("still", Some(Air::STILL)), ("gusts", Some(gusty))] {
        let mut app = app_with_cloths(MEDIUM, 1, 1);
        if let Some(air) = air {
            app.insert_resource(air);
        }
        group.bench_function(name, |b| b.iter_custom(|n| ticks(&mut app, n)));
    }
    group.finish();
}

/// Thirty cloths on one task and on two.
fn cloth_tasks(c: &mut Criterion) {
    const CLOTHS: u32 = 30;
    let mut group = c.benchmark_group("cloth_tasks");
    group.sample_size(50).throughput(Throughput::Elements(projections(SMALL) * u64::from(CLOTHS)));
    for tasks in [1, 2] {
        let mut app = app_with_cloths(SMALL, CLOTHS, tasks);
        group.bench_function(tasks.to_string(), |b| b.iter_custom(|n| ticks(&mut app, n)));
    }
    group.finish();
}

/// Spawning a cloth and its first tick, in which it is built; despawning it is not measured.
fn cloth_build(c: &mut Criterion) {
    let mut group = c.benchmark_group("cloth_build");
    group.sample_size(20).throughput(Throughput::Elements(constraint_count(MEDIUM)));
    let mut app = app(1);
    group.bench_function(name(MEDIUM), |b| {
        b.iter_custom(|rounds| build(&mut app, rounds, || seed_cloth(MEDIUM)));
    });
    #[cfg(feature = "render")]
    {
        group.throughput(Throughput::Elements(20_301));
        let sphere = Sphere::new(1.0).mesh().uv(200, 100);
        let mesh = Mesh3d(app.world_mut().resource_mut::<Assets<Mesh>>().add(sphere));
        let cloth = Cloth::mesh().pinned(ClothPins::Top(0.05));
        group.bench_function("mesh_20k_vertices", |b| {
            b.iter_custom(|rounds| build(&mut app, rounds, || (cloth.clone(), mesh.clone())));
        });
    }
    group.finish();
}

/// Time to spawn a cloth and run its first tick, `rounds` times.
fn build<B: Bundle>(app: &mut App, rounds: u64, cloth: impl Fn() -> B) -> Duration {
    let round = |_| {
        let started = Instant::now();
        let cloth = app.world_mut().spawn(cloth()).id();
        app.update();
        let took = started.elapsed();
        app.world_mut().despawn(cloth);
        app.update();
        took
    };
    (0..rounds).map(round).sum()
}

criterion_group!(benches, cloth_tick, cloth_update, cloth_air, cloth_tasks, cloth_build);
criterion_main!(benches);
