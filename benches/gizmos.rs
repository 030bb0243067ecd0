//! What views cost on the CPU, until their lines are handed to Bevy: what a frame takes with the view on,
//! against `off`.

mod common;

use bevy::{
    ecs::schedule::{ScheduleLabel, SingleThreadedExecutor},
    mesh::skinning::SkinnedMeshInverseBindposes,
    prelude::*,
    time::TimeUpdateStrategy,
};
use bevy_pliant::{
    interact::{VIEWS, View},
    prelude::*,
};
use common::{SPACING, SUBSTEPS, WARM_UP, constraint_count, name, seed_cloth};
use core::time::Duration;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::time::Instant;

/// An app with the seed's cloth, whose lower rows lie on a floor, that draws on one thread.
fn app_with_views(size: UVec2) -> App {
    let settings = SolverSettings { substeps: SUBSTEPS, sleeping: false, ..default() };
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, TransformPlugin, AssetPlugin::default()))
        .insert_resource(TimeUpdateStrategy::FixedTimesteps(1))
        .init_asset::<Mesh>()
        .init_asset::<SkinnedMeshInverseBindposes>()
        .add_plugins(bevy::gizmos::GizmoPlugin)
        .add_plugins(PliantPlugins::default().with_settings(settings));
    app.finish();
    app.cleanup();
    app.update();
    let height = SPACING * (size.y - 3) as f32;
    app.world_mut().spawn((seed_cloth(size), Transform::from_xyz(0.0, height, 0.0)));
    app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::default()));
    for _ in 0..WARM_UP {
        app.update();
    }
    let constraints = app.world().resource::<SolverDiagnostics>().constraints as u64;
    assert_eq!(constraints, constraint_count(size));
    for label in [First.intern(), PostUpdate.intern(), Last.intern()] {
        app.edit_schedule(label, |schedule| {
            schedule.set_executor(SingleThreadedExecutor::new());
        });
    }
    app
}

/// Time that so many frames take to draw, without the solver.
fn frames(app: &mut App, count: u64) -> Duration {
    let mut sum = Duration::ZERO;
    for _ in 0..count {
        // Forgets the last frame's messages.
        app.world_mut().run_schedule(First);
        let started = Instant::now();
        app.world_mut().run_schedule(PostUpdate);
        app.world_mut().run_schedule(Last);
        sum += started.elapsed();
    }
    sum
}

/// Elements: distance constraints.
fn views(c: &mut Criterion) {
    let size = UVec2::splat(100);
    let mut app = app_with_views(size);
    let mut group = c.benchmark_group(format!("views_{}", name(size)));
    group.throughput(Throughput::Elements(constraint_count(size)));
    group.bench_function("off", |b| b.iter_custom(|count| frames(&mut app, count)));
    let set = |app: &mut App, view: &View, on| {
        view.set(&mut app.world_mut().resource_mut::<GizmoConfigStore>(), on);
    };
    for view in VIEWS {
        set(&mut app, view, true);
        group.bench_function(view.name, |b| b.iter_custom(|count| frames(&mut app, count)));
        set(&mut app, view, false);
    }
    group.finish();
}

criterion_group!(benches, views);
criterion_main!(benches);
