//! The seed's cloth here and elsewhere, in one run.
//!
//! * `bevy_pliant`: the solver's whole tick in a headless app, from compiling to write-back; `update` is
//!   that with the rest of a frame of Bevy.
//! * `scalar_aos`: a textbook loop over an array of structs, without any engine.
//! * `rapier3d`: rapier's soft body with the same particles and edges, and nothing to collide with:
//!   a whole step, with as many solver iterations (its substeps) of one sweep each as we have substeps.
//!   What it would do beside (stabilisation, extra sweeps, extra substeps, tangle recovery) is off.
//! * `rapier3d_defaults`: the same soft body with rapier's own settings: 4 substeps of 5 sweeps each;
//!   its elements count constraints × substeps × sweeps.
//!
//! All on one thread, at 64 Hz.

#[path = "../common/mod.rs"]
mod common;

use bevy::prelude::UVec2;
use common::{
    MASS, SUBSTEPS, WARM_UP, constraint_count, edges, hangs, name, positions, projections, ticks,
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rapier3d::prelude::{PhysicsWorld, SoftBodyBuilder, SpringCoefficients, Vector};

const SIZES: [UVec2; 2] = [UVec2::new(40, 30), UVec2::new(100, 100)];
const TICK: f32 = 1.0 / 64.0;

fn ours(c: &mut Criterion) {
    let mut group = c.benchmark_group("bevy_pliant");
    for size in SIZES {
        group.throughput(Throughput::Elements(projections(size)));
        let mut app = common::app_with_cloths(size, 1, 1);
        group.bench_function(BenchmarkId::from_parameter(name(size)), |b| {
            b.iter_custom(|n| ticks(&mut app, n));
        });
        group.bench_function(BenchmarkId::new("update", name(size)), |b| b.iter(|| app.update()));
    }
}

fn scalar(c: &mut Criterion) {
    let mut group = c.benchmark_group("scalar_aos");
    for size in SIZES {
        group.throughput(Throughput::Elements(projections(size)));
        let mut cloth = common::scalar_aos::ScalarCloth::new(size);
        assert_eq!(cloth.constraint_count(), constraint_count(size));
        (0..WARM_UP).for_each(|_| cloth.tick(TICK));
        group.bench_function(BenchmarkId::from_parameter(name(size)), |b| {
            b.iter(|| cloth.tick(TICK));
        });
        assert!(hangs(cloth.heights(), size), "the scalar cloth has come apart");
    }
}

fn rapier_cloth(size: UVec2) -> SoftBodyBuilder {
    let positions = positions(size).into_iter().map(Vector::from_array).collect();
    SoftBodyBuilder::new(positions)
        .edges(edges(size))
        .pinned_particles([0, size.x - 1])
        .particle_mass(MASS)
        .linear_damping(0.1)
        .no_surface_collider()
        .can_sleep(false)
}

fn rapier(c: &mut Criterion) {
    let mut group = c.benchmark_group("rapier3d");
    group.sample_size(20);
    for size in SIZES {
        group.throughput(Throughput::Elements(projections(size)));
        let mut world = PhysicsWorld::new();
        let settings = &mut world.integration_parameters;
        settings.dt = TICK;
        settings.num_solver_iterations = SUBSTEPS as usize;
        settings.num_internal_pgs_iterations = 1;
        settings.num_internal_stabilization_iterations = 0;
        settings.soft_bodies.max_extra_substeps = 0;
        settings.soft_bodies.resweep_strain = f32::MAX;
        let cloth = rapier_cloth(size)
            .softness(SpringCoefficients::joint_defaults())
            .additional_pgs_iterations(0);
        let handle = world.insert_soft_body(cloth);
        (0..WARM_UP).for_each(|_| world.step());
        group.bench_function(BenchmarkId::from_parameter(name(size)), |b| {
            b.iter(|| world.step());
        });
        let particles = world.soft_bodies[handle].particles().iter();
        assert!(hangs(particles.map(|p| p.position().y), size), "rapier's cloth has come apart");
    }
}

fn rapier_defaults(c: &mut Criterion) {
    let mut group = c.benchmark_group("rapier3d_defaults");
    group.sample_size(20);
    for size in SIZES {
        let mut world = PhysicsWorld::new();
        world.integration_parameters.dt = TICK;
        let settings = world.integration_parameters;
        let cloth = rapier_cloth(size);
        let sweeps = settings.num_internal_pgs_iterations
            + cloth.particle_settings.additional_pgs_iterations
            + settings.num_internal_stabilization_iterations;
        let projections = constraint_count(size) * (settings.num_solver_iterations * sweeps) as u64;
        group.throughput(Throughput::Elements(projections));
        world.insert_soft_body(cloth);
        (0..WARM_UP).for_each(|_| world.step());
        group.bench_function(BenchmarkId::from_parameter(name(size)), |b| {
            b.iter(|| world.step());
        });
    }
}

criterion_group!(benches, ours, scalar, rapier, rapier_defaults);
criterion_main!(benches);
