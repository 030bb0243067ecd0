//! What oriented particles cost: whole ticks of rings of them, one implicit group of five each (elements are
//! groups × iterations), and of thrown ragdolls of twenty bones (elements are ragdolls).

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

/// A bone from `a` to `b`, `width` wide in its middle (picture heights).
fn bone(a: Vec2, b: Vec2, width: f32) -> Bone {
    let along = b - a;
    let radii = Vec2::new(0.5 * along.length(), 0.5 * width);
    Bone::new(a.midpoint(b), radii).turned(along.to_angle())
}

/// A figure of twenty bones that touch end to end: a trunk with a head, a hat and a scarf, arms and legs.
fn figure() -> Vec<Bone> {
    let line = |points: &[(f32, f32)], width: f32| -> Vec<Bone> {
        let points = points.iter().map(|(x, y)| Vec2::new(*x, *y));
        let points: Vec<Vec2> = points.collect();
        points.windows(2).map(|p| bone(p[0], p[1], width)).collect()
    };
    let mut bones = line(&[(0.0, -0.06), (0.0, 0.06), (0.0, 0.15), (0.0, 0.25)], 0.16);
    bones.extend(line(&[(0.0, 0.25), (0.0, 0.29), (0.0, 0.44), (0.0, 0.5)], 0.1));
    bones.extend(line(&[(0.02, 0.27), (0.14, 0.31), (0.24, 0.32)], 0.04));
    for side in [-1.0, 1.0] {
        let arm = [(0.08, 0.22), (0.2, 0.14), (0.31, 0.05), (0.37, 0.01)];
        let leg = [(0.05, -0.07), (0.08, -0.24), (0.1, -0.42), (0.18, -0.46)];
        bones.extend(line(&arm.map(|(x, y)| (side * x, y)), 0.06));
        bones.extend(line(&leg.map(|(x, y)| (side * x, y)), 0.08));
    }
    bones
}

/// So many ragdolls, thrown into a box of obstacles, each on a plane of its own.
fn thrown(count: usize) -> App {
    let mut app = app(1);
    app.world_mut().resource_mut::<SolverSettings>().substeps = 16;
    for (normal, at) in
        [(Vec3::Y, Vec3::ZERO), (Vec3::X, Vec3::NEG_X * 4.0), (Vec3::NEG_X, Vec3::X * 4.0)]
    {
        let turn = Quat::from_rotation_arc(Vec3::Y, normal);
        app.world_mut()
            .spawn((Obstacle::HALF_SPACE, Transform::from_translation(at).with_rotation(turn)));
    }
    let bodies: Vec<Entity> = (0..count)
        .map(|i| {
            let ragdoll =
                SpriteRagdoll { soft_contact: false, ..SpriteRagdoll::of_bones(figure()) };
            let turn = Quat::from_rotation_z(i as f32);
            let at = Transform::from_xyz(0.0, 1.5, i as f32).with_rotation(turn);
            app.world_mut().spawn((ragdoll, at)).id()
        })
        .collect();
    app.update();
    for (i, body) in bodies.into_iter().enumerate() {
        let bones: Vec<Entity> = app.world().get::<Particles>(body).expect("built").to_vec();
        assert_eq!(bones.len(), 20);
        for bone in bones {
            let at = app.world().get::<Particle>(bone).expect("lives").position;
            let arm = at - Vec3::new(0.0, 1.5, i as f32);
            let mut entity = app.world_mut().entity_mut(bone);
            let throw = Vec3::new(5.0 * (i as f32).cos(), 6.0, 0.0);
            entity.get_mut::<Particle>().expect("lives").velocity =
                throw + 8.0 * Vec3::Z.cross(arm);
            entity.get_mut::<OrientedParticle>().expect("turns").angular_velocity = 8.0 * Vec3::Z;
        }
    }
    app
}

/// The first three seconds of a throw; the time is that of one tick.
fn ragdolls(c: &mut Criterion) {
    const TICKS: u64 = 192;
    let mut group = c.benchmark_group("ragdolls");
    group.sample_size(10);
    for count in [10, 100, 1000] {
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(count.to_string(), |b| {
            b.iter_custom(|n| {
                let throws = n.div_ceil(TICKS);
                let mut spent = Duration::ZERO;
                for _ in 0..throws {
                    let mut app = thrown(count);
                    let started = app.world().resource::<SolverDiagnostics>().islands;
                    assert_eq!(started, count, "each hangs together");
                    spent += ticks(&mut app, TICKS);
                }
                spent.mul_f64(n as f64 / (throws * TICKS) as f64)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, shape_matching, ragdolls);
criterion_main!(benches);
