//! What contacts cost: whole ticks of a 100×100 cloth that lies on something, beside the same in air.
//!
//! Elements are particles × substeps; what a scene takes more than `air` is what its contacts add.

mod common;

use bevy::{math::Isometry3d, prelude::*};
use bevy_pliant::{
    constraint::JointConstraint,
    math::ellipsoid_pair::{EllipseMatrix, EllipsoidMatrix, meet},
    obstacle::TriangleMesh,
    particle::{ParticleOf, Planar},
    prelude::*,
};
use common::{SPACING, SUBSTEPS, WARM_UP, app, seed_cloth, ticks};
use core::f32::consts::FRAC_PI_2;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const SIZE: UVec2 = UVec2::new(100, 100);
/// Side of the cloth (m).
const SIDE: f32 = SPACING * 99.0;

/// A cloth that lies level, its middle at `height` m.
fn lying(height: f32) -> (Cloth, Transform) {
    let place =
        Isometry3d::new(Vec3::new(0.0, height, 0.5 * SIDE), Quat::from_rotation_x(FRAC_PI_2));
    (Cloth::grid(SIZE, SPACING), Transform::from_isometry(place))
}

/// Hills of `cells`² × 2 triangles under the whole cloth, their tops at y = 0.
fn level(cells: i32) -> Obstacle {
    let side = 2.0 * SIDE;
    let at = |i: i32| side * (i as f32 / cells as f32 - 0.5);
    let height = |x: f32, z: f32| 0.1 * ((0.7 * x).sin() * (0.9 * z).cos() - 1.0);
    let vertices: Vec<Vec3> = (0..=cells)
        .flat_map(|z| (0..=cells).map(move |x| (at(x), at(z))))
        .map(|(x, z)| Vec3::new(x, height(x, z), z))
        .collect();
    let row = cells as u32 + 1;
    let triangles: Vec<[u32; 3]> = (0..cells as u32)
        .flat_map(|z| (0..cells as u32).map(move |x| z * row + x))
        .flat_map(|a| [[a, a + row, a + 1], [a + 1, a + row, a + row + 1]])
        .collect();
    let mesh = TriangleMesh::new(&vertices, &triangles).expect("a mesh with triangles");
    Obstacle::mesh(mesh)
}

/// An app with one 100×100 cloth in self-contact, warmed up: hanging from two corners, or lying on a
/// floor in as many layers as `folds` says.
fn touching_cloth(folds: Option<u32>) -> App {
    let mut app = app(1);
    let settings = BodySettings { self_contact: true, ..default() };
    let Some(folds) = folds else {
        app.world_mut().spawn((seed_cloth(SIZE), settings));
        (0..WARM_UP).for_each(|_| app.update());
        return app;
    };
    app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::from_xyz(0.0, -SPACING, 0.0)));
    let cloth = seed_cloth(SIZE).pinned(ClothPins::None);
    let body = app.world_mut().spawn((cloth, settings)).id();
    app.update();
    let members: Vec<Entity> = app.world().get::<Particles>(body).unwrap().iter().collect();
    let rows = SIZE.y / folds;
    for (i, member) in members.into_iter().enumerate() {
        let (row, column) = (i as u32 / SIZE.x, i as u32 % SIZE.x);
        let (layer, place) = (row / rows, row % rows);
        let along = if layer % 2 == 0 { place } else { rows - 1 - place };
        let at = Vec3::new(column as f32, 1.0 + layer as f32, along as f32) * SPACING;
        app.world_mut().get_mut::<Particle>(member).unwrap().position = at;
    }
    // Until it lies still.
    (0..200).for_each(|_| app.update());
    let diagnostics = app.world().resource::<SolverDiagnostics>();
    assert!(diagnostics.soft_contacts as u32 > SIZE.x * SIZE.y / 2, "the layers do not touch");
    app
}

/// A hundred cloths of 32×32 particles that fall among this many spheres. An element is still one of the
/// particles of a 100×100 cloth in one substep: there are ten times as many.
fn crowd(obstacles: u32) -> App {
    let mut app = app(1);
    app.world_mut().resource_mut::<SolverSettings>().sleeping = false;
    let gravity = if obstacles == 0 { Some(Vec3::ZERO) } else { None };
    for i in 0..100 {
        let place = Vec3::new((i % 10) as f32 * 4.0, 1.0, (i / 10) as f32 * 4.0);
        let turned =
            Transform::from_translation(place).with_rotation(Quat::from_rotation_x(FRAC_PI_2));
        let settings = BodySettings { gravity, ..default() };
        app.world_mut().spawn((Cloth::grid(UVec2::splat(32), SPACING), settings, turned));
    }
    for i in 0..obstacles {
        let (x, z) = ((i % 64) as f32 * 0.64 - 2.0, (i / 64) as f32 * 0.64 - 4.0);
        app.world_mut().spawn((Obstacle::sphere(0.3), Transform::from_xyz(x, 0.0, z)));
    }
    ticks(&mut app, 64);
    app
}

/// Measures whole ticks of what `spawn` makes, once it has settled.
fn scene(c: &mut Criterion, name: &str, spawn: impl Fn(&mut World)) {
    measure(c, name, || {
        let mut app = app(1);
        app.world_mut().resource_mut::<SolverSettings>().sleeping = false;
        spawn(app.world_mut());
        ticks(&mut app, 128);
        app
    });
}

fn measure(c: &mut Criterion, name: &str, make: impl Fn() -> App) {
    let mut group = c.benchmark_group("contact");
    let particles = u64::from(SIZE.x * SIZE.y);
    group.sample_size(50).throughput(Throughput::Elements(particles * u64::from(SUBSTEPS)));
    // Made only if it is asked for.
    let mut app = None;
    group.bench_function(name, |b| {
        let app = app.get_or_insert_with(&make);
        b.iter_custom(|n| ticks(app, n));
    });
    group.finish();
}

fn contact(c: &mut Criterion) {
    scene(c, "air", |world| {
        world.spawn(lying(0.0)).insert(BodySettings { gravity: Some(Vec3::ZERO), ..default() });
    });
    scene(c, "sphere", |world| {
        world.spawn(lying(0.1));
        world.spawn((Obstacle::sphere(3.0), Transform::from_xyz(0.0, -3.0, 0.0)));
    });
    scene(c, "capsules", |world| {
        world.spawn(lying(0.1));
        for i in 0..20 {
            let x = SIDE * ((i as f32 + 0.5) / 20.0 - 0.5);
            let along = Quat::from_rotation_x(FRAC_PI_2);
            let place = Transform::from_xyz(x, -0.2, 0.0).with_rotation(along);
            world.spawn((Obstacle::capsule(0.2, SIDE), place));
        }
    });
    scene(c, "level", |world| {
        world.spawn(lying(0.05));
        world.spawn(level(71));
    });
    scene(c, "level_out_of_reach", |world| {
        world.spawn(lying(0.0)).insert(BodySettings { gravity: Some(Vec3::ZERO), ..default() });
        world.spawn((level(71), Transform::from_xyz(0.0, -5.0, 0.0)));
    });
    for (name, obstacles) in [("crowd_air", 0), ("crowd", 4000)] {
        measure(c, name, || crowd(obstacles));
    }
    measure(c, "self_flat", || touching_cloth(None));
    measure(c, "self_folded", || touching_cloth(Some(5)));
}

/// So many planar ellipses, each a body of its own, that lie in a heap between two walls.
fn heap(count: u32) -> App {
    let mut app = app(1);
    app.world_mut().resource_mut::<SolverSettings>().sleeping = false;
    app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::default()));
    for side in [-1.0, 1.0] {
        let wall = Transform::from_xyz(2.0 * side, 0.0, 0.0)
            .with_rotation(Quat::from_rotation_z(side * FRAC_PI_2));
        app.world_mut().spawn((Obstacle::HALF_SPACE, wall));
    }
    let settings = BodySettings { soft_contact: true, ..default() };
    for i in 0..count {
        let (column, row) = ((i % 18) as f32, (i / 18) as f32);
        let radii = Vec3::new(0.07 + 0.001 * column, 0.05 + 0.001 * row, 0.05);
        let turning = OrientedParticle {
            rotation: Quat::from_rotation_z(1.3 * i as f32),
            ..OrientedParticle::with_radii(radii)
        };
        let place = Vec3::new(0.2 * (column - 8.5) + 0.005 * row, 0.15 + 0.2 * row, 0.0);
        let body = app.world_mut().spawn((settings.clone(), Planar, Transform::default())).id();
        app.world_mut().spawn((Particle::at(place), turning, ParticleOf(body)));
    }
    ticks(&mut app, 320);
    app
}

/// So many chains of 20 planar bones each that fall on a floor beside one another.
fn chains(count: u32, touching: bool) -> App {
    let mut app = app(1);
    app.world_mut().resource_mut::<SolverSettings>().sleeping = false;
    app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::default()));
    let settings = BodySettings { self_contact: touching, soft_contact: touching, ..default() };
    for i in 0..count {
        let (column, row) = ((i % 10) as f32, (i / 10) as f32);
        let body = app.world_mut().spawn((settings.clone(), Planar, Transform::default())).id();
        let mut last = None;
        for k in 0..20u32 {
            let angle = k as f32 * 0.7;
            let r = 0.12 + 0.012 * k as f32;
            let (sin, cos) = angle.sin_cos();
            let place = Vec3::new(0.9 * column + r * cos, 0.6 + 0.9 * row + r * sin, 0.0);
            let rotation = Quat::from_rotation_z(angle + FRAC_PI_2);
            let turning = OrientedParticle {
                rotation,
                ..OrientedParticle::with_radii(Vec3::new(0.07, 0.03, 0.03))
            };
            let particle = Particle::at(place).with_mass(0.05);
            let bone = app.world_mut().spawn((particle, turning, ParticleOf(body))).id();
            if let Some((before, at, turned)) = last.replace((bone, place, rotation)) {
                let joint = JointConstraint::at(
                    [before, bone],
                    [(at, turned), (place, rotation)],
                    0.5 * (at + place),
                );
                app.world_mut().spawn(joint);
            }
        }
    }
    ticks(&mut app, 96);
    app
}

/// What contact of ellipses costs: whole ticks of a heap of 400 (elements: touching pairs × substeps), and
/// where two meet (elements: pairs).
fn ellipses(c: &mut Criterion) {
    let mut group = c.benchmark_group("ellipses");
    group.sample_size(20);
    let mut app = heap(400);
    let touching = app.world().resource::<SolverDiagnostics>().soft_contacts as u64;
    assert!(touching > 400, "a heap touches in many places: {touching}");
    group.throughput(Throughput::Elements(touching * u64::from(SUBSTEPS)));
    group.bench_function("heap", |b| b.iter_custom(|n| ticks(&mut app, n)));

    for (name, touching) in [("chains", true), ("chains_that_do_not_touch", false)] {
        let mut app = chains(100, touching);
        group.throughput(Throughput::Elements(2_000 * u64::from(SUBSTEPS)));
        group.bench_function(name, |b| b.iter_custom(|n| ticks(&mut app, n)));
    }

    let turned = |i: u32, r: f32| {
        let rotation = Quat::from_rotation_z(0.7 * i as f32);
        let radii = Vec3::new(0.07, 0.04, 0.05);
        let (sin, cos) = (0.3 * i as f32).sin_cos();
        (rotation, radii, Vec2::new(cos, sin) * r)
    };
    group.throughput(Throughput::Elements(64));
    for (name, r) in [("touching", 0.1), ("apart", 0.13)] {
        let pairs: Vec<_> = (0..64).map(|i| (turned(i, r), turned(i + 3, r))).collect();
        let mut shares = vec![0.5; 64];
        group.bench_function(format!("meet_{name}"), |b| {
            b.iter(|| {
                let mut met = 0;
                for ((a, b), share) in pairs.iter().zip(&mut shares) {
                    let shapes = [&EllipseMatrix::new(a.1, a.0), &EllipseMatrix::new(b.1, b.0)];
                    met += usize::from(meet(shapes, a.2, share, 0.0).is_some());
                }
                met
            });
        });
        group.bench_function(format!("meet_in_space_{name}"), |b| {
            b.iter(|| {
                let mut met = 0;
                for ((a, b), share) in pairs.iter().zip(&mut shares) {
                    let shapes = [&EllipsoidMatrix::new(a.1, a.0), &EllipsoidMatrix::new(b.1, b.0)];
                    met += usize::from(meet(shapes, a.2.extend(0.01), share, 0.0).is_some());
                }
                met
            });
        });
    }
    group.finish();
}

criterion_group!(benches, contact, ellipses);
criterion_main!(benches);
