//! What drawing costs on the CPU.

mod common;

use bevy::{ecs::schedule::SingleThreadedExecutor, prelude::*};
use bevy_pliant::{prelude::*, skin::DerivedMesh, solver::DrawnPose};
use common::{app_with_cloths, name};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// One run of `PostUpdate` after a tick: positions, normals, tangents and bounds of the cloth's mesh.
/// Elements: vertices.
fn cloth_mesh(c: &mut Criterion) {
    let size = UVec2::splat(100);
    let mut app = app_with_cloths(size, 1, 1);
    let mut bodies = app.world_mut().query_filtered::<Entity, (With<Cloth>, With<DerivedMesh>)>();
    let body = bodies.single(app.world()).expect("the cloth is bound");
    app.edit_schedule(PostUpdate, |schedule| {
        schedule.set_executor(SingleThreadedExecutor::new());
    });
    let mut group = c.benchmark_group("cloth_mesh");
    group.throughput(Throughput::Elements(u64::from(size.element_product())));
    group.bench_function(name(size), |b| {
        b.iter(|| {
            if let Some(mut pose) = app.world_mut().get_mut::<DrawnPose>(body) {
                pose.set_changed();
            }
            app.world_mut().run_schedule(PostUpdate);
        });
    });
    group.finish();
}

criterion_group!(benches, cloth_mesh);
criterion_main!(benches);
