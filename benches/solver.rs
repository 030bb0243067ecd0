//! Whole ticks of the seed's cloth, and what it costs to build one.
//!
//! A tick is the solver's whole tick, from compiling to write-back, 10 substeps of 1 iteration;
//! `cloth_update` is one `App::update` of a headless app, with Bevy's own frame and the drawn pose.

mod common;

use bevy::prelude::*;
use common::{
    WARM_UP, app, app_with_cloths, constraint_count, name, projections, seed_cloth, ticks,
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

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

/// Spawning a cloth and its first tick; despawning it is not measured.
fn cloth_build(c: &mut Criterion) {
    let mut group = c.benchmark_group("cloth_build");
    group.sample_size(20).throughput(Throughput::Elements(constraint_count(MEDIUM)));
    let mut app = app(1);
    let mut last: Option<Entity> = None;
    group.bench_function(name(MEDIUM), |b| {
        b.iter_custom(|rounds| {
            (0..rounds)
                .map(|_| {
                    if let Some(cloth) = last.take() {
                        app.world_mut().despawn(cloth);
                        app.update();
                    }
                    let started = std::time::Instant::now();
                    last = Some(app.world_mut().spawn(seed_cloth(MEDIUM)).id());
                    app.update();
                    started.elapsed()
                })
                .sum()
        });
    });
    group.finish();
}

/// A 100×100 cloth in self-contact beside the same in air, on one thread: hanging flat, and lying in five
/// layers on a floor. Elements: particles × substeps, so the difference of the times per element is what
/// contact costs a particle and substep.
fn contact(c: &mut Criterion) {
    let mut group = c.benchmark_group("contact");
    group.sample_size(30);
    let particles = u64::from(MEDIUM.x * MEDIUM.y);
    group.throughput(Throughput::Elements(particles * u64::from(common::SUBSTEPS)));
    let mut air = app_with_cloths(MEDIUM, 1, 1);
    group.bench_function("air", |b| b.iter_custom(|n| ticks(&mut air, n)));
    let mut flat = common::touching_cloth(None);
    group.bench_function("self_flat", |b| b.iter_custom(|n| ticks(&mut flat, n)));
    let mut folded = common::touching_cloth(Some(5));
    group.bench_function("self_folded", |b| b.iter_custom(|n| ticks(&mut folded, n)));
    group.finish();
}

criterion_group!(benches, cloth_tick, cloth_update, cloth_tasks, cloth_build, contact);
criterion_main!(benches);
