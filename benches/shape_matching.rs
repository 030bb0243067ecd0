//! What shape matching costs: whole ticks of rings of oriented particles, one implicit group of five each.
//!
//! Elements are groups × iterations.

mod common;

use bevy::prelude::*;
use bevy_pliant::prelude::*;
use common::{SUBSTEPS, app, ticks};
use core::{f32::consts::TAU, time::Duration};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Particles of a ring, and so its groups.
const RING: usize = 200;
const RINGS: usize = 10;

/// Rings that tumble and ring freely; ellipsoids in space, ellipses in the plane.
fn rings(planar: bool) -> App {
    let mut app = app(1);
    app.world_mut().resource_mut::<SolverSettings>().gravity = Vec3::ZERO;
    for number in 0..RINGS {
        let settings = BodySettings { damping: Some(0.0), ..default() };
        let body = app.world_mut().spawn(settings).id();
        if planar {
            app.world_mut().entity_mut(body).insert(Planar);
        }
        ring(app.world_mut(), body, Vec3::Z * number as f32, planar);
    }
    ticks(&mut app, 20);
    let diagnostics = app.world().resource::<SolverDiagnostics>();
    assert_eq!(diagnostics.constraints, RING * RINGS);
    assert_eq!(diagnostics.awake_islands, RINGS);
    app
}

fn ring(world: &mut World, body: Entity, at: Vec3, planar: bool) {
    let angle = |i: usize| TAU * i as f32 / RING as f32;
    let rest = |i: usize| Vec3::new(2.0 * angle(i).cos(), 2.0 * angle(i).sin(), 0.0);
    let radii = Vec3::new(0.05, 0.03, if planar { 0.03 } else { 0.02 });
    let turn = |i: usize| Quat::from_rotation_z(angle(i));
    let wobble = |i: usize| {
        let out = 0.3 * (3.0 * angle(i)).sin() * rest(i).normalize();
        if planar { out } else { out + Vec3::Z * 0.5 * (2.0 * angle(i)).cos() }
    };
    let particles: Vec<Entity> = (0..RING)
        .map(|i| {
            let particle = Particle::at(at + rest(i)).with_mass(0.01).with_velocity(wobble(i));
            let oriented =
                OrientedParticle { rotation: turn(i), ..OrientedParticle::with_radii(radii) };
            world.spawn((particle, oriented, ParticleOf(body))).id()
        })
        .collect();
    for i in 0..RING {
        let neighbours = [0, 1, 2, RING - 1, RING - 2].map(|step| (i + step) % RING);
        let members = neighbours.map(|j| GroupMember {
            particle: particles[j],
            position: rest(j),
            rotation: turn(j),
        });
        let group = ShapeMatchingConstraint::new(members.into()).with_compliance(1e-6);
        world.spawn((group, ConstraintOf(body)));
    }
}

fn measure(c: &mut Criterion, name: &str, planar: bool) {
    let mut group = c.benchmark_group("shape_matching");
    let groups = (RING * RINGS) as u64;
    group.sample_size(50).throughput(Throughput::Elements(groups * u64::from(SUBSTEPS)));
    let mut app = None;
    group.bench_function(name, |b| {
        let app = app.get_or_insert_with(|| rings(planar));
        b.iter_custom(|n| -> Duration { ticks(app, n) });
    });
    group.finish();
}

fn shape_matching(c: &mut Criterion) {
    measure(c, "plane", true);
    measure(c, "space", false);
}

criterion_group!(benches, shape_matching);
criterion_main!(benches);
