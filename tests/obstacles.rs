//! Obstacles: closed forms of contact and friction, shapes, motion, layers, sensors, events.

mod common;

use bevy::prelude::*;
use bevy_pliant::{
    constraint::ConstraintOf,
    obstacle::{Obstacle, ObstacleShape, Part, TriangleMesh},
    particle::ParticleOf,
    prelude::*,
    solver::SolverDiagnostics,
};
use common::{app, app_with, particle, positions, tick, undamped};
use core::f32::consts::{PI, TAU};

const G: f32 = 9.81;
/// Radius of particles by default (m).
const RADIUS: f32 = 0.01;

/// A particle of its own body.
fn lone(app: &mut App, particle: Particle, settings: BodySettings) -> Entity {
    let body = app.world_mut().spawn(settings).id();
    app.world_mut().spawn((particle, ParticleOf(body))).id()
}

/// A cube of eight particles joined rigidly, `size` m wide, its lower face centred at `place` in the frame
/// of `rotation`.
fn block(app: &mut App, size: f32, place: Vec3, rotation: Quat, friction: Friction) -> Vec<Entity> {
    let world = app.world_mut();
    let body = world.spawn(BodySettings { friction, ..default() }).id();
    let corner = |i: u32| {
        let unit = Vec3::new((i & 1) as f32 - 0.5, (i >> 1 & 1) as f32, (i >> 2) as f32 - 0.5);
        place + rotation * (unit * size)
    };
    let particles: Vec<Entity> =
        (0..8).map(|i| world.spawn((Particle::at(corner(i)), ParticleOf(body))).id()).collect();
    for a in 0..8u32 {
        for b in a + 1..8 {
            let length = corner(a).distance(corner(b));
            let ends = [particles[a as usize], particles[b as usize]];
            world.spawn((DistanceConstraint::new(ends, length), ConstraintOf(body)));
        }
    }
    particles
}

fn centre(app: &App, particles: &[Entity]) -> Vec3 {
    particles.iter().map(|p| particle(app, *p).position).sum::<Vec3>() / particles.len() as f32
}

/// Obstacles whose upper face is the plane y = 0 of their frame.
fn floors() -> Vec<(&'static str, Obstacle, Transform)> {
    let side = 60.0;
    let corners = [
        Vec3::new(-side, 0.0, -side),
        Vec3::new(side, 0.0, -side),
        Vec3::new(side, 0.0, side),
        Vec3::new(-side, 0.0, side),
    ];
    let mesh = TriangleMesh::new(&corners, &[[0, 2, 1], [0, 3, 2]]).unwrap();
    vec![
        ("half-space", Obstacle::HALF_SPACE, Transform::IDENTITY),
        (
            "cuboid",
            Obstacle::cuboid(Vec3::new(2.0 * side, 1.0, 2.0 * side)),
            Transform::from_xyz(0.0, -0.5, 0.0),
        ),
        ("mesh", Obstacle::mesh(mesh.clone()), Transform::IDENTITY),
        ("solid mesh", Obstacle::mesh(mesh.solid()), Transform::IDENTITY),
        ("cylinder", Obstacle::cylinder(side, 2.0), Transform::from_xyz(0.0, -1.0, 0.0)),
    ]
}

#[test]
fn a_block_rests_on_a_slope_below_the_angle_of_friction_and_slides_above() {
    let mu: f32 = 0.5;
    for (name, obstacle, place) in floors() {
        for (part, slides) in [(0.95, false), (1.05, true)] {
            let rotation = Quat::from_rotation_z(-(part * mu).atan());
            let mut app = app_with(SolverSettings { sleeping: false, ..undamped() });
            let friction = Friction::new(mu);
            app.world_mut().spawn((
                obstacle.clone().with_friction(friction),
                Transform::from_rotation(rotation) * place,
            ));
            let feet = rotation * Vec3::new(-20.0, RADIUS, 0.0);
            let particles = block(&mut app, 0.2, feet, rotation, friction);
            tick(&mut app, 32);
            let start = centre(&app, &particles);
            tick(&mut app, 640);
            let moved = centre(&app, &particles).distance(start);
            if slides {
                // a = g (sin − μ cos), for 10 s and a half before.
                let slope = (part * mu).atan();
                let a = G * (slope.sin() - mu * slope.cos());
                let expected = 0.5 * a * (10.5f32.powi(2) - 0.5f32.powi(2));
                assert!((moved / expected - 1.0).abs() < 0.05, "{name}: {moved} of {expected} m");
            } else {
                assert!(moved < 1e-3, "{name}: creeps {moved} m in 10 s");
            }
        }
    }
}

#[test]
fn a_block_stops_after_v_squared_over_two_mu_g() {
    for (name, obstacle, place) in floors() {
        let mut app = app_with(undamped());
        let friction = Friction::new(0.3);
        app.world_mut().spawn((obstacle.with_friction(friction), place));
        let particles = block(&mut app, 0.2, Vec3::Y * RADIUS, Quat::IDENTITY, friction);
        for entity in &particles {
            app.world_mut().get_mut::<Particle>(*entity).unwrap().velocity = Vec3::X * 2.0;
        }
        let start = centre(&app, &particles).x;
        tick(&mut app, 96);
        let distance = centre(&app, &particles).x - start;
        let expected = 4.0 / (2.0 * 0.3 * G);
        assert!((distance / expected - 1.0).abs() < 0.02, "{name}: {distance} of {expected} m");
    }
}

/// The greatest tension (N) that a rope of `weight` N/m holds down the far side of a cylinder of radius r, by
/// Euler and Eytelwein: from 1 N at θ = 0, T' = μ (T + w r sin θ) + w r cos θ; e^{μπ} N without weight.
fn greatest_tension(mu: f32, weight: f32, r: f32) -> f32 {
    let steps = 10_000;
    (0..steps).fold(1.0, |tension: f32, i| {
        let (sin, cos) = (PI * i as f32 / steps as f32).sin_cos();
        tension + PI / steps as f32 * (mu * (tension + weight * r * sin) + weight * r * cos)
    })
}

/// How fast a rope over a cylinder runs (m/s), with 1 N on one side and `part` of the greatest
/// weight that friction holds on the other.
fn capstan_speed(part: f32) -> f32 {
    let density = 0.1;
    let (mu, radius, spacing) = (0.3f32, 0.3f32, 0.05f32);
    let mut app = app_with(SolverSettings { sleeping: false, ..undamped() });
    let friction = Friction::new(mu);
    app.world_mut().spawn((
        Obstacle::cylinder(radius, 2.0).with_friction(friction),
        Transform::from_rotation(Quat::from_rotation_x(0.5 * PI)),
    ));
    let body = app.world_mut().spawn(BodySettings { friction, ..default() }).id();
    let r = radius + RADIUS;
    // Half a turn, and a few links down each side.
    let arc = (PI * r / spacing).round() as i32;
    let (hanging, step) = (4, PI / arc as f32);
    let place = |i: i32| {
        if i < 0 {
            Vec3::new(-r, spacing * i as f32, 0.0)
        } else if i > arc {
            Vec3::new(r, -spacing * (i - arc) as f32, 0.0)
        } else {
            let angle = PI - step * i as f32;
            Vec3::new(r * angle.cos(), r * angle.sin(), 0.0)
        }
    };
    // The weight of the rope on each side is taken off the weights.
    let rope = density * spacing;
    let greatest = greatest_tension(mu, density * G, r);
    let tip = |newtons: f32| newtons / G - rope * (hanging - 1) as f32;
    let last = arc + hanging;
    let particles: Vec<Entity> = (-hanging..=last)
        .map(|i| {
            let mass = match i {
                i if i == -hanging => tip(1.0),
                i if i == last => tip(1.0),
                _ => rope,
            };
            app.world_mut().spawn((Particle::at(place(i)).with_mass(mass), ParticleOf(body))).id()
        })
        .collect();
    for (i, pair) in particles.windows(2).enumerate() {
        let i = i as i32 - hanging;
        let link = DistanceConstraint::new([pair[0], pair[1]], place(i).distance(place(i + 1)));
        app.world_mut().spawn((link, ConstraintOf(body)));
    }
    let heavy = *particles.last().unwrap();
    // The weight is laid on gently.
    for i in 0..=64 {
        let newtons = 1.0.lerp(part * greatest, i as f32 / 64.0);
        app.world_mut().get_mut::<Particle>(heavy).unwrap().mass = tip(newtons);
        tick(&mut app, 1);
    }
    tick(&mut app, 64);
    -particle(&app, heavy).velocity.y
}

#[test]
fn a_rope_over_a_cylinder_holds_as_eytelwein_says() {
    let held = capstan_speed(0.95);
    assert!(held.abs() < 0.03, "runs at {held} m/s");
    let free = capstan_speed(1.05);
    assert!(free > 0.06 && free > 4.0 * held.abs(), "hardly runs: {free} m/s");
}

#[test]
fn restitution_gives_the_height_back_by_its_square() {
    for (name, obstacle, place) in floors() {
        let mut app = app_with(undamped());
        app.world_mut().spawn((obstacle.with_restitution(0.7), place));
        let ball = lone(&mut app, Particle::at(Vec3::Y * (1.0 + RADIUS)), BodySettings::default());
        let fall = (2.0 / G).sqrt();
        let up = (fall * 1.7 * 64.0).round() as u64;
        tick(&mut app, up);
        let height = particle(&app, ball).position.y - RADIUS;
        assert!((height - 0.49).abs() < 0.01, "{name}: {height} m");
    }
}

#[test]
fn nothing_passes_through_however_fast_or_thin() {
    // 10 m/s a centimetre of radius are checked at the end of a substep, beyond that the path is swept.
    let thin = Vec3::new(4.0, 0.001, 4.0);
    let square =
        [[-2.0, -2.0], [2.0, -2.0], [2.0, 2.0], [-2.0, 2.0]].map(|[x, z]| Vec3::new(x, 0.0, z));
    let mesh = TriangleMesh::new(&square, &[[0, 1, 2], [0, 2, 3]]).unwrap();
    let shapes = [
        Obstacle::cuboid(thin),
        Obstacle::mesh(mesh),
        Obstacle::sphere(0.5),
        Obstacle::capsule(0.2, 1.0),
        Obstacle::cylinder(1.0, 0.002),
        Obstacle::cone(1.0, 0.5),
    ];
    for obstacle in shapes {
        for speed in [1.0, 8.0, 15.0, 60.0, 300.0, 3000.0] {
            for (from, aside) in [(1.0, 0.0), (-1.0, 0.3), (1.0, 0.2)] {
                for radius in [0.0, 0.01, 0.03] {
                    let mut app = app_with(undamped());
                    app.world_mut().spawn(obstacle.clone());
                    let start = Vec3::new(0.04, 2.0 * from, 0.03);
                    let velocity = Vec3::new(aside * speed * 0.2, -from * speed, 0.0);
                    let settings = BodySettings {
                        radius: Some(radius),
                        gravity: Some(Vec3::ZERO),
                        friction: Friction::NONE,
                        ..default()
                    };
                    let p = lone(&mut app, Particle::at(start).with_velocity(velocity), settings);
                    for _ in 0..(3.0 / speed * 64.0) as u64 + 2 {
                        tick(&mut app, 1);
                        let now = particle(&app, p).position;
                        // It may slide off the side of a small shape, but never through its middle.
                        let over = now.x.hypot(now.z) < 0.15;
                        assert!(
                            !over || now.y * from > -1e-3,
                            "{:?} lets {speed} m/s, radius {radius} m through: {now}",
                            obstacle.shape
                        );
                    }
                }
            }
        }
    }
}

#[derive(Resource, Default)]
struct Failed(Vec<(Entity, String)>);

/// An app that notes what could not be an obstacle.
#[cfg(feature = "render")]
fn mesh_app() -> App {
    let mut app = app();
    app.init_resource::<Failed>().add_observer(|e: On<BodyFailed>, mut failed: ResMut<Failed>| {
        failed.0.push((e.entity, e.error.to_string()));
    });
    app
}

/// A mesh that is put in later.
#[cfg(feature = "render")]
fn reserve(app: &App) -> Handle<Mesh> {
    app.world().resource::<Assets<Mesh>>().reserve_handle()
}

#[cfg(feature = "render")]
fn put(app: &mut App, handle: &Handle<Mesh>, mesh: impl Into<Mesh>) {
    app.world_mut().resource_mut::<Assets<Mesh>>().insert(handle, mesh.into()).unwrap();
}

#[cfg(feature = "render")]
fn shape_of(app: &App, entity: Entity) -> Option<&TriangleMesh> {
    app.world().get::<Obstacle>(entity).map(|obstacle| match &obstacle.shape {
        ObstacleShape::Mesh(mesh) => mesh,
        other => panic!("{other:?} is no mesh"),
    })
}

/// Where a particle comes to rest that starts at `place` (m).
#[cfg(feature = "render")]
fn rest_of(app: &mut App, place: Vec3) -> Vec3 {
    let p = lone(app, Particle::at(place), BodySettings { friction: Friction::NONE, ..default() });
    tick(app, 96);
    particle(app, p).position
}

#[cfg(feature = "render")]
#[test]
fn meshes_below_an_entity_become_obstacles_once_they_are_there() {
    let mut app = mesh_app();
    let (cube, later) = (reserve(&app), reserve(&app));
    let like = Obstacle::default().with_friction(Friction::new(0.9)).with_restitution(0.1);
    let root = app
        .world_mut()
        .spawn((MeshObstacle::default().like(like), Transform::from_xyz(5.0, 1.0, 0.0)))
        .id();
    let raised = Transform::from_xyz(0.0, 2.0, 0.0).with_scale(Vec3::new(1.0, 2.0, 1.0));
    let aside = Transform::from_xyz(3.0, 0.0, 0.0)
        .with_rotation(Quat::from_rotation_z(0.25 * PI))
        .with_scale(Vec3::splat(2.0));
    let child = app.world_mut().spawn((Mesh3d(cube.clone()), raised, ChildOf(root))).id();
    let between = app.world_mut().spawn((Transform::IDENTITY, ChildOf(child))).id();
    app.world_mut().entity_mut(between).insert(ChildOf(root));
    let grandchild = app.world_mut().spawn((Mesh3d(cube.clone()), aside, ChildOf(between))).id();
    tick(&mut app, 3);
    assert!(shape_of(&app, child).is_none(), "there is no mesh yet");
    put(&mut app, &cube, Cuboid::from_length(1.0));
    tick(&mut app, 2);
    for entity in [child, grandchild] {
        assert_eq!(shape_of(&app, entity).map(TriangleMesh::len), Some(12));
        let obstacle = app.world().get::<Obstacle>(entity).unwrap();
        assert_eq!((obstacle.friction, obstacle.restitution), (Friction::new(0.9), 0.1));
    }
    assert!(app.world().get::<Obstacle>(root).is_none());
    assert!(app.world().get::<Obstacle>(between).is_none());
    let top = rest_of(&mut app, Vec3::new(5.1, 4.5, 0.1)).y;
    assert!((top - 4.0 - RADIUS).abs() < 2e-3, "{top}");
    // The edge of a cube that stands on its edge is at 1 + √2 m; what comes down beside it slides off.
    let slid = rest_of(&mut app, Vec3::new(8.3, 3.0, 0.1));
    assert!(slid.y < 1.0 && slid.x > 9.0, "{slid}");
    // Whatever comes later is followed too.
    let late =
        app.world_mut().spawn((Mesh3d(later.clone()), Transform::IDENTITY, ChildOf(root))).id();
    put(&mut app, &later, Sphere::new(0.5));
    tick(&mut app, 2);
    assert!(shape_of(&app, late).is_some_and(|mesh| mesh.len() > 12));
    app.world_mut().entity_mut(late).insert(Mesh3d(cube));
    tick(&mut app, 2);
    assert_eq!(shape_of(&app, late).map(TriangleMesh::len), Some(12));
    assert!(app.world().resource::<Failed>().0.is_empty());
}

#[cfg(feature = "render")]
#[test]
fn a_surface_holds_both_sides_and_a_solid_pushes_out() {
    for (kind, from, expected) in [
        (MeshKind::Surface, 0.8, 0.5 + RADIUS),
        (MeshKind::Solid, 0.8, 0.5 + RADIUS),
        // Just below the upper face.
        (MeshKind::Surface, 0.495, -0.5 + RADIUS),
        (MeshKind::Solid, 0.495, 0.5 + RADIUS),
    ] {
        let mut app = mesh_app();
        let mesh = reserve(&app);
        put(&mut app, &mesh, Cuboid::from_length(1.0));
        app.world_mut().spawn((MeshObstacle::new(kind), Mesh3d(mesh)));
        tick(&mut app, 2);
        let y = rest_of(&mut app, Vec3::new(0.12, from, 0.07)).y;
        assert!((y - expected).abs() < 2e-3, "{kind:?} from {from}: {y}, not {expected}");
    }
}

#[cfg(all(feature = "render", feature = "parry"))]
#[test]
fn a_hull_closes_the_hole_of_a_ring() {
    for kind in [MeshKind::Surface, MeshKind::Hull] {
        let mut app = mesh_app();
        let mesh = reserve(&app);
        let ring = app.world_mut().spawn((MeshObstacle::new(kind), Mesh3d(mesh.clone()))).id();
        tick(&mut app, 1);
        put(&mut app, &mesh, Torus { minor_radius: 0.2, major_radius: 1.0 });
        tick(&mut app, 2);
        assert!(shape_of(&app, ring).is_some());
        let y = rest_of(&mut app, Vec3::new(0.05, 1.0, 0.03)).y;
        if kind == MeshKind::Hull {
            assert!((y - 0.2 - RADIUS).abs() < 5e-3, "{y}");
        } else {
            assert!(y < -1.0, "{y}: there is no hole");
        }
        // A change is followed.
        app.world_mut().entity_mut(ring).insert(MeshObstacle::new(MeshKind::Solid));
        tick(&mut app, 2);
        assert!(rest_of(&mut app, Vec3::new(0.05, 1.0, 0.03)).y < -1.0);
    }
}

#[cfg(feature = "render")]
#[test]
fn a_mesh_that_cannot_be_an_obstacle_is_told_of_once() {
    use bevy::{asset::RenderAssetUsages, mesh::PrimitiveTopology};
    let empty = || Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default());
    let nowhere =
        || empty().with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, vec![[f32::NAN; 3]; 3]);
    let flat = || Mesh::from(Segment3d::new(Vec3::ZERO, Vec3::X));
    let mut kinds = vec![MeshKind::Surface, MeshKind::Solid];
    if cfg!(feature = "parry") {
        kinds.push(MeshKind::Hull);
    }
    for kind in kinds {
        for broken in [empty(), nowhere(), flat()] {
            let mut app = mesh_app();
            let (mesh, good) = (reserve(&app), reserve(&app));
            put(&mut app, &good, Cuboid::from_length(1.0));
            let root = app.world_mut().spawn(MeshObstacle::new(kind)).id();
            let child = app.world_mut().spawn((Mesh3d(mesh.clone()), ChildOf(root))).id();
            let beside = app.world_mut().spawn((Mesh3d(good.clone()), ChildOf(root))).id();
            tick(&mut app, 2);
            put(&mut app, &mesh, broken);
            tick(&mut app, 5);
            let failed = &app.world().resource::<Failed>().0;
            assert_eq!(failed.len(), 1, "{kind:?}: {failed:?}");
            assert!(failed[0].0 == root && failed[0].1.len() > 20, "{failed:?}");
            assert!(shape_of(&app, child).is_none());
            assert!(shape_of(&app, beside).is_some(), "one broken mesh spoils the others");
            app.world_mut().entity_mut(child).insert(Mesh3d(good));
            tick(&mut app, 2);
            assert!(shape_of(&app, child).is_some());
            assert_eq!(app.world().resource::<Failed>().0.len(), 1);
        }
    }
}

#[cfg(feature = "render")]
#[test]
fn a_cloth_below_a_mesh_obstacle_is_none() {
    let mut app = mesh_app();
    let (level, sheet) = (reserve(&app), reserve(&app));
    put(&mut app, &level, Plane3d::default().mesh().size(8.0, 8.0));
    put(&mut app, &sheet, Plane3d::default().mesh().size(1.0, 1.0).subdivisions(6));
    let root = app.world_mut().spawn((MeshObstacle::default(), Mesh3d(level))).id();
    let high = |x: f32| Transform::from_xyz(x, 1.0, 0.0);
    let from_mesh = app
        .world_mut()
        .spawn((Cloth::mesh(), Mesh3d(sheet.clone()), high(-2.0), ChildOf(root)))
        .id();
    let grid = Cloth::grid(UVec2::splat(6), 0.1);
    let grid = app.world_mut().spawn((grid, Mesh3d::default(), high(2.0), ChildOf(root))).id();
    // A cloth from the meshes below it.
    let parent = app.world_mut().spawn((Cloth::mesh(), high(0.0), ChildOf(root))).id();
    let part = app.world_mut().spawn((Mesh3d(sheet), ChildOf(parent))).id();
    for _ in 0..8 {
        tick(&mut app, 1);
        for entity in [from_mesh, grid, parent, part] {
            assert!(app.world().get::<Obstacle>(entity).is_none(), "the cloth is an obstacle");
        }
    }
    assert!(app.world().get::<Obstacle>(root).is_some());
    tick(&mut app, 96);
    for body in [from_mesh, grid, parent] {
        let lowest = positions(&app, body).iter().fold(f32::MAX, |least, p| least.min(p.y));
        assert!((0.0..0.1).contains(&lowest), "not on the level: {lowest}");
    }
}

const SPEEDS: [f32; 6] = [1.0, 8.0, 15.0, 60.0, 300.0, 3000.0];
const RADII: [f32; 3] = [0.0, 0.01, 0.03];
/// Of particles that may lie on a sheet: a point that does is on neither side of it.
const THICK: [f32; 3] = [0.005, 0.01, 0.03];

/// A particle that is shot at `aim` from 2 m away.
#[derive(Clone, Copy, Debug)]
struct Shot {
    aim: Vec3,
    /// Unit vector.
    direction: Vec3,
    speed: f32,
    radius: f32,
}

/// Shoots from everywhere, with all speeds and radii, without gravity or friction; `wrong` tells where no
/// such particle may be at the end of a tick.
fn volley(
    obstacle: &Obstacle,
    at: Transform,
    radii: &[f32],
    shots: &[(Vec3, Vec3)],
    wrong: impl Fn(Shot, Vec3) -> bool,
) {
    let mut all = 0;
    let mut passed = Vec::new();
    for speed in SPEEDS {
        let mut app = app_with(SolverSettings { gravity: Vec3::ZERO, ..undamped() });
        app.world_mut().spawn((obstacle.clone(), at));
        let mut flying: Vec<(Entity, Shot)> = Vec::new();
        for &(aim, direction) in shots {
            for &radius in radii {
                let particle = Particle::at(aim - 2.0 * direction);
                let settings =
                    BodySettings { radius: Some(radius), friction: Friction::NONE, ..default() };
                let particle = particle.with_velocity(speed * direction);
                let shot = Shot { aim, direction, speed, radius };
                flying.push((lone(&mut app, particle, settings), shot));
            }
        }
        all += flying.len();
        for _ in 0..(3.0 / speed * 64.0) as u64 + 2 {
            tick(&mut app, 1);
            flying.retain(|&(entity, shot)| {
                let now = particle(&app, entity).position;
                let bad = !now.is_finite() || wrong(shot, now);
                if bad {
                    passed.push((shot, now));
                }
                !bad
            });
        }
    }
    let points = passed.iter().filter(|(shot, _)| shot.radius == 0.0).count();
    let slowest = passed.iter().fold(f32::MAX, |least, (shot, _)| least.min(shot.speed));
    assert!(
        passed.is_empty(),
        "{} of {all} passed through, {points} of them points, from {slowest} m/s on, as {:?}",
        passed.len(),
        passed[passed.len() / 2]
    );
}

/// Ways down onto a plane, as flat as 3 degrees, or up onto it.
fn onto_a_plane(side: f32) -> Vec<(Vec3, Vec3)> {
    let mut shots = Vec::new();
    for steepness in [3.0f32, 8.0, 25.0, 60.0, 90.0] {
        for azimuth in [0.0f32, 45.0, 77.0, 200.0, 270.0] {
            let (sin, cos) = steepness.to_radians().sin_cos();
            let (z, x) = azimuth.to_radians().sin_cos();
            let aim = Vec3::new(0.04 + 0.1 * z, 0.0, 0.03 - 0.1 * x);
            shots.push((aim, Vec3::new(x * cos, -side * sin, z * cos)));
        }
    }
    shots
}

/// Ways to the origin from all around.
fn from_all_around() -> Vec<(Vec3, Vec3)> {
    let count = 40;
    (0..count)
        .map(|i| {
            let y = (2.0 * i as f32 + 1.0) / count as f32 - 1.0;
            let (sin, cos) = (2.4 * i as f32).sin_cos();
            let aside = (1.0 - y * y).sqrt();
            let aim = Vec3::new(0.03 * sin, 0.02, 0.03 * cos);
            (aim, Vec3::new(aside * cos, y, aside * sin))
        })
        .collect()
}

/// A volley on a plate of this thickness about y = 0, larger than the way of a shot beside it.
fn volley_on_plate(obstacle: &Obstacle, thickness: f32) {
    for side in [1.0, -1.0] {
        volley(obstacle, Transform::IDENTITY, &RADII, &onto_a_plane(side), |_, now| {
            // Nothing but the plate turns it round, so it stays on its side, wherever it slides.
            now.y * side < 0.5 * thickness - 2e-3
        });
    }
}

/// A volley from all around on a convex solid, at most `middle` m of which no way round is as near to the
/// line of a shot.
fn volley_on_solid(obstacle: &Obstacle, at: Transform, middle: f32, inside: impl Fn(Vec3) -> bool) {
    volley(obstacle, at, &RADII, &from_all_around(), |shot, now| {
        let way = now - shot.aim;
        let beyond = way.dot(shot.direction);
        let aside = (way - beyond * shot.direction).length();
        inside(now) || (beyond > 0.0 && aside < middle)
    });
}

/// The 12 triangles of a box, counter-clockwise from outside.
fn box_mesh(size: Vec3) -> TriangleMesh {
    let corner = |i: u32| Vec3::new((i & 1) as f32, (i >> 1 & 1) as f32, (i >> 2) as f32) - 0.5;
    let corners: Vec<Vec3> = (0..8).map(|i| corner(i) * size).collect();
    let quads =
        [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    let halves = |[a, b, c, d]: [u32; 4]| [[a, b, c], [a, c, d]];
    let triangles: Vec<[u32; 3]> = quads.into_iter().flat_map(halves).collect();
    TriangleMesh::new(&corners, &triangles).unwrap()
}

fn in_box(p: Vec3, size: Vec3) -> bool {
    (p.abs() - 0.5 * size).max_element() < -2e-3
}

#[test]
fn nothing_grazes_through_a_thin_cuboid() {
    for thickness in [0.001, 0.01, 0.02] {
        volley_on_plate(&Obstacle::cuboid(Vec3::new(6.0, thickness, 6.0)), thickness);
    }
}

#[test]
fn nothing_grazes_through_a_mesh_of_one_sheet() {
    let square =
        [[-3.0, -3.0], [3.0, -3.0], [3.0, 3.0], [-3.0, 3.0]].map(|[x, z]| Vec3::new(x, 0.0, z));
    let mesh = TriangleMesh::new(&square, &[[0, 1, 2], [0, 2, 3]]).unwrap();
    volley_on_plate(&Obstacle::mesh(mesh), 0.0);
}

#[test]
fn nothing_passes_through_a_solid_mesh_plate_of_1_mm() {
    volley_on_plate(&Obstacle::mesh(box_mesh(Vec3::new(6.0, 0.001, 6.0)).solid()), 0.001);
}

#[test]
fn nothing_passes_through_a_solid_mesh_plate_of_1_cm() {
    volley_on_plate(&Obstacle::mesh(box_mesh(Vec3::new(6.0, 0.01, 6.0)).solid()), 0.01);
}

#[test]
fn nothing_passes_through_a_solid_mesh_plate_of_2_cm() {
    volley_on_plate(&Obstacle::mesh(box_mesh(Vec3::new(6.0, 0.02, 6.0)).solid()), 0.02);
}

#[test]
fn nothing_passes_through_a_solid_mesh_box() {
    let size = Vec3::new(1.0, 0.6, 0.8);
    let mesh = Obstacle::mesh(box_mesh(size).solid());
    volley_on_solid(&mesh, Transform::IDENTITY, 0.2, |p| in_box(p, size));
}

#[test]
fn nothing_passes_through_a_mirrored_solid_mesh() {
    let size = Vec3::new(1.0, 0.6, 0.8);
    let mesh = Obstacle::mesh(box_mesh(size).solid());
    let mirrored = Transform::from_scale(Vec3::new(-1.0, 1.0, 1.0));
    volley_on_solid(&mesh, mirrored, 0.2, |p| in_box(p, size));
}

#[test]
fn a_particle_rests_on_a_mirrored_solid_mesh() {
    for scale in [Vec3::ONE, Vec3::new(-1.0, 1.0, 1.0), Vec3::new(1.0, -2.0, 1.0), -Vec3::ONE] {
        let mut app = app();
        let mesh = Obstacle::mesh(box_mesh(Vec3::ONE).solid());
        app.world_mut().spawn((mesh, Transform::from_scale(scale)));
        let top = 0.5 * scale.y.abs();
        let p = lone(&mut app, Particle::at(Vec3::new(0.1, 0.3 + top, 0.2)), default());
        tick(&mut app, 64);
        let y = particle(&app, p).position.y;
        assert!((y - top - RADIUS).abs() < 2e-3, "{scale}: {y}, not {top}");
    }
}

#[cfg(feature = "parry")]
#[test]
fn nothing_passes_through_a_convex_hull() {
    // An octahedron: |x| + |y| + |z| ≤ 0.6.
    let points: Vec<Vec3> =
        [Vec3::X, Vec3::Y, Vec3::Z].into_iter().flat_map(|v| [0.6 * v, -0.6 * v]).collect();
    let hull = Obstacle::mesh(TriangleMesh::convex_hull(&points).unwrap());
    volley_on_solid(&hull, Transform::IDENTITY, 0.15, |p| p.abs().element_sum() < 0.6 - 4e-3);
}

#[test]
fn nothing_passes_through_an_ellipsoid() {
    let axes = Vec3::new(0.5, 0.2, 0.8);
    let at = Transform::from_scale(axes / 0.5);
    volley_on_solid(&Obstacle::sphere(0.5), at, 0.1, |p| (p / axes).length() < 0.98);
}

#[test]
fn nothing_passes_through_a_prism() {
    let corners = [[-0.5, -0.3], [0.5, -0.3], [0.0, 0.6]].map(Vec2::from);
    let outside = |p: Vec2| {
        (0..3)
            .map(|i| {
                let edge = corners[(i + 1) % 3] - corners[i];
                -edge.perp_dot(p - corners[i]) / edge.length()
            })
            .fold(f32::MIN, f32::max)
    };
    // It has no end along z.
    let shots: Vec<(Vec3, Vec3)> =
        from_all_around().into_iter().filter(|(_, way)| way.z.abs() < 0.8).collect();
    volley(&Obstacle::polygon(corners), Transform::IDENTITY, &RADII, &shots, |shot, now| {
        let way = now - shot.aim;
        let beyond = way.dot(shot.direction);
        let aside = (way - beyond * shot.direction).length();
        outside(now.truncate()) < -2e-3 || (beyond > 0.0 && aside < 0.1)
    });
}

#[test]
fn nothing_passes_through_a_compound() {
    let parts = [
        (ObstacleShape::Sphere { radius: 0.4 }, Vec3::ZERO),
        (ObstacleShape::Cuboid { half_size: Vec3::new(0.6, 0.1, 0.1) }, Vec3::ZERO),
        (ObstacleShape::Cone { radius: 0.3, height: 0.6 }, Vec3::Y * 0.5),
    ];
    let part = |(shape, at)| Part { shape, place: Transform::from_translation(at) };
    let compound = Obstacle::new(ObstacleShape::Compound(parts.map(part).to_vec()));
    volley_on_solid(&compound, Transform::IDENTITY, 0.15, |p| {
        p.length() < 0.4 - 2e-3 || in_box(p, Vec3::new(1.2, 0.2, 0.2))
    });
}

/// Quads that bound x ≥ 0, y ≥ 0 and, if there are three, z ≥ 0, seen from within.
fn corner_of(faces: usize) -> TriangleMesh {
    let (far, back) = (5.0, if faces == 3 { 0.0 } else { -5.0 });
    let quads = [
        [[0.0, back], [0.0, far], [far, far], [far, back]].map(|[x, z]| Vec3::new(x, 0.0, z)),
        [[0.0, back], [far, back], [far, far], [0.0, far]].map(|[y, z]| Vec3::new(0.0, y, z)),
        [[0.0, 0.0], [far, 0.0], [far, far], [0.0, far]].map(|[x, y]| Vec3::new(x, y, 0.0)),
    ];
    let vertices: Vec<Vec3> = quads[..faces].iter().flatten().copied().collect();
    let triangles: Vec<[u32; 3]> = (0..faces as u32)
        .flat_map(|face| [[0, 1, 2], [0, 2, 3]].map(|t| t.map(|i: u32| 4 * face + i)))
        .collect();
    TriangleMesh::new(&vertices, &triangles).unwrap()
}

fn volley_into_corner(faces: usize, mesh: TriangleMesh) {
    let mut shots = Vec::new();
    for aim in [Vec3::ZERO, Vec3::new(0.02, 0.03, 0.0), Vec3::new(0.0, 0.01, 0.3)] {
        for way in [
            Vec3::new(-1.0, -1.0, -1.0),
            Vec3::new(-1.0, -1.0, -0.05),
            Vec3::new(-1.0, -0.05, -0.05),
            Vec3::new(-0.05, -1.0, -0.3),
            Vec3::new(-0.05, -0.06, -1.0),
            Vec3::new(-0.3, -0.7, -0.9),
        ] {
            shots.push((aim, way.normalize()));
        }
    }
    volley(&Obstacle::mesh(mesh), Transform::IDENTITY, &THICK, &shots, |_, now| {
        let coordinates = now.to_array();
        coordinates[..faces].iter().any(|c| *c < -2e-3)
    });
}

#[test]
fn nothing_leaves_through_the_edge_of_two_faces() {
    volley_into_corner(2, corner_of(2));
}

#[test]
fn nothing_leaves_through_the_corner_of_three_faces() {
    volley_into_corner(3, corner_of(3));
}

#[test]
fn nothing_leaves_through_the_edge_of_two_solid_faces() {
    volley_into_corner(2, corner_of(2).solid());
}

#[test]
fn nothing_leaves_through_the_corner_of_three_solid_faces() {
    volley_into_corner(3, corner_of(3).solid());
}

/// Sweeps a plate, whose front is its frame's +X, through particles at rest; `motion` gives its pose by time
/// (s). No particle may get behind it.
fn sweep(
    obstacle: &Obstacle,
    radii: &[f32],
    seconds: f32,
    resting: &[Vec3],
    motion: impl Fn(f32) -> Transform,
) -> Result<(), String> {
    let mut app = app_with(SolverSettings { gravity: Vec3::ZERO, ..undamped() });
    let plate = app.world_mut().spawn((obstacle.clone(), motion(0.0))).id();
    let mut particles = Vec::new();
    for place in resting {
        for &radius in radii {
            let settings =
                BodySettings { radius: Some(radius), friction: Friction::NONE, ..default() };
            particles.push((radius, lone(&mut app, Particle::at(*place), settings)));
        }
    }
    tick(&mut app, 2);
    for i in 1..=(seconds * 64.0).ceil() as u32 {
        // The pose of this frame is reached one frame later.
        let reached = motion((i - 1) as f32 / 64.0);
        *app.world_mut().get_mut::<Transform>(plate).unwrap() = motion(i as f32 / 64.0);
        tick(&mut app, 1);
        let front = |p: Vec3| (reached.rotation * Vec3::X).dot(p - reached.translation);
        let mut behind = particles.iter().filter_map(|(radius, entity)| {
            let p = particle(&app, *entity).position;
            let gap = front(p);
            (gap < -5e-3).then(|| format!("{gap} m behind, radius {radius}, {p}, tick {i}"))
        });
        let all = particles.len();
        if let Some(first) = behind.next() {
            return Err(format!("{} of {all}: {first}", behind.count() + 1));
        }
    }
    Ok(())
}

fn sweeps(obstacle: &Obstacle, radii: &[f32]) {
    let mut resting = Vec::new();
    for x in [0.05, 0.31, 0.77] {
        for y in [-0.3, 0.02, 0.4] {
            resting.push(Vec3::new(x, y, 0.1 - y));
        }
    }
    let mut failed = Vec::new();
    for speed in [1.0, 5.0, 12.0, 25.0, 50.0] {
        // Along its front, along and turning about it, and like a door.
        let straight = sweep(obstacle, radii, 3.0 / speed, &resting, |t| {
            Transform::from_xyz(speed * t, 0.0, 0.0)
        });
        let turning = sweep(obstacle, radii, 3.0 / speed, &resting, |t| {
            Transform::from_xyz(speed * t - 0.5, 0.0, 0.0)
                .with_rotation(Quat::from_rotation_x(3.0 * t) * Quat::from_rotation_z(0.3))
        });
        // At 1.5 m from the hinge it has this speed.
        let turn = speed / 1.5;
        let around: Vec<Vec3> = [0.3, 0.7, 1.5]
            .into_iter()
            .flat_map(|r| {
                [0.25, 0.5, 0.9].map(|angle: f32| {
                    Quat::from_rotation_y(angle) * Vec3::new(0.0, 0.1 - 0.1 * r, -r)
                })
            })
            .collect();
        // The front of a door that turns to the left looks at what it comes to.
        let door = sweep(obstacle, radii, 1.6 / turn, &around, |t| {
            Transform::from_rotation(Quat::from_rotation_y(turn * t + PI))
        });
        for (name, result) in [("straight", straight), ("turning", turning), ("door", door)] {
            if let Err(what) = result {
                failed.push(format!("{name} at {speed} m/s: {what}"));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn a_thin_cuboid_that_moves_and_turns_sweeps_what_is_in_its_way() {
    sweeps(&Obstacle::cuboid(Vec3::new(0.001, 12.0, 12.0)), &RADII);
}

fn upright() -> TriangleMesh {
    let square =
        [[-6.0, -6.0], [6.0, -6.0], [6.0, 6.0], [-6.0, 6.0]].map(|[y, z]| Vec3::new(0.0, y, z));
    TriangleMesh::new(&square, &[[0, 1, 2], [0, 2, 3]]).unwrap()
}

#[test]
fn a_mesh_that_moves_and_turns_sweeps_what_is_in_its_way() {
    sweeps(&Obstacle::mesh(upright()), &THICK);
}

#[test]
fn a_solid_mesh_that_moves_and_turns_sweeps_what_is_in_its_way() {
    sweeps(&Obstacle::mesh(box_mesh(Vec3::new(0.002, 12.0, 12.0)).solid()), &THICK);
}

#[test]
fn case_35_a_fast_cloth_does_not_fall_through_a_thin_floor_or_a_mesh() {
    let side = 3.0;
    let heights = |x: i32, z: i32| 0.1 * ((x * 7 + z * 5) % 3) as f32;
    let n = 12;
    let mut vertices = Vec::new();
    for z in 0..=n {
        for x in 0..=n {
            let at = |i: i32| side * (2.0 * i as f32 / n as f32 - 1.0);
            vertices.push(Vec3::new(at(x), heights(x, z), at(z)));
        }
    }
    let mut triangles = Vec::new();
    for z in 0..n {
        for x in 0..n {
            let a = (z * (n + 1) + x) as u32;
            let (b, c) = (a + 1, a + n as u32 + 1);
            triangles.extend([[a, c, b], [b, c, c + 1]]);
        }
    }
    let terrain = TriangleMesh::new(&vertices, &triangles).unwrap();
    let floor = Obstacle::cuboid(Vec3::new(2.0 * side, 0.002, 2.0 * side));
    for (name, obstacle, lowest) in
        [("floor", floor, 0.0), ("terrain", Obstacle::mesh(terrain), 0.0)]
    {
        for speed in [0.0, 12.0, 40.0] {
            let mut app = app();
            app.world_mut().spawn(obstacle.clone());
            let turned = Transform::from_xyz(0.0, 1.5, -0.7)
                .with_rotation(Quat::from_rotation_x(1.2) * Quat::from_rotation_z(0.3));
            let body = app.world_mut().spawn((Cloth::grid(UVec2::new(20, 20), 0.07), turned)).id();
            tick(&mut app, 1);
            for entity in common::particles(&app, body) {
                app.world_mut().get_mut::<Particle>(entity).unwrap().velocity = Vec3::NEG_Y * speed;
            }
            for _ in 0..40 {
                tick(&mut app, 4);
                for p in positions(&app, body) {
                    let inside = p.x.abs() < side - 0.2 && p.z.abs() < side - 0.2;
                    assert!(!inside || p.y > lowest - 0.02, "{name} at {speed} m/s: {p}");
                }
            }
        }
    }
}

#[test]
fn a_lift_carries_what_lies_on_it_and_a_turntable_turns_it() {
    for (name, obstacle, place) in floors() {
        let mut app = app_with(undamped());
        let friction = Friction::new(1.0);
        let table = app.world_mut().spawn((obstacle.with_friction(friction), place)).id();
        let settings = BodySettings { friction, ..default() };
        let p = lone(&mut app, Particle::at(Vec3::new(0.5, RADIUS, 0.0)), settings);
        tick(&mut app, 16);
        // Up at 0.5 m/s, turning at 1 rad/s.
        let seconds = 2.0;
        for i in 1..=(seconds * 64.0) as u32 {
            let t = i as f32 / 64.0;
            let motion =
                Transform::from_xyz(0.0, 0.5 * t, 0.0).with_rotation(Quat::from_rotation_y(t));
            *app.world_mut().get_mut::<Transform>(table).unwrap() = motion * place;
            tick(&mut app, 1);
        }
        let expected =
            Quat::from_rotation_y(seconds) * Vec3::new(0.5, 0.0, 0.0) + Vec3::Y * (RADIUS + 1.0);
        let state = particle(&app, p);
        // The pose of this frame is reached one frame later.
        assert!(state.position.distance(expected) < 0.02, "{name}: {} {expected}", state.position);
        let spin = Vec3::Y.cross(expected.with_y(0.0)) + Vec3::Y * 0.5;
        assert!(state.velocity.distance(spin) < 0.03, "{name}: {} {spin}", state.velocity);
    }
}

#[test]
fn a_growing_ball_pushes_and_a_shrinking_one_lets_go() {
    let mut app = app_with(SolverSettings { gravity: Vec3::ZERO, ..undamped() });
    let ball = app.world_mut().spawn(Obstacle::sphere(0.5)).id();
    let p = lone(&mut app, Particle::at(Vec3::X * 0.6), BodySettings::default());
    for i in 1..=64 {
        let scale = Vec3::splat(1.0 + i as f32 / 64.0);
        app.world_mut().get_mut::<Transform>(ball).unwrap().scale = scale;
        tick(&mut app, 1);
    }
    tick(&mut app, 1);
    let x = particle(&app, p).position.x;
    assert!((x - 1.01).abs() < 0.02, "{x}");
    app.world_mut().get_mut::<Transform>(ball).unwrap().scale = Vec3::splat(0.1);
    tick(&mut app, 2);
    assert!(particle(&app, p).position.x > 1.0);
}

#[test]
fn shapes_hold_particles_at_their_surface() {
    let sphere = Obstacle::sphere(0.5);
    let shapes = [
        (sphere.clone(), Transform::IDENTITY, 0.5),
        (sphere.clone(), Transform::from_scale(Vec3::new(1.0, 3.0, 1.0)), 1.5),
        (Obstacle::capsule(0.2, 1.0), Transform::IDENTITY, 0.7),
        (
            Obstacle::capsule(0.2, 1.0),
            Transform::from_rotation(Quat::from_rotation_z(0.5 * PI)),
            0.2,
        ),
        (Obstacle::cuboid(Vec3::new(1.0, 0.6, 1.0)), Transform::IDENTITY, 0.3),
        (Obstacle::cylinder(0.5, 0.8), Transform::IDENTITY, 0.4),
        (
            Obstacle::cylinder(0.5, 0.8),
            Transform::from_rotation(Quat::from_rotation_x(0.5 * PI)),
            0.5,
        ),
        (Obstacle::cone(0.5, 1.0), Transform::from_rotation(Quat::from_rotation_x(PI)), 0.5),
        (
            Obstacle::new(ObstacleShape::Compound(vec![
                Part { shape: sphere.shape, place: Transform::from_xyz(0.0, 0.4, 0.0) },
                Part {
                    shape: ObstacleShape::Cuboid { half_size: Vec3::splat(0.2) },
                    place: Transform::IDENTITY,
                },
            ])),
            Transform::IDENTITY,
            0.9,
        ),
    ];
    for (obstacle, place, top) in shapes {
        let mut app = app_with(SolverSettings { sleeping: false, ..default() });
        app.world_mut().spawn((obstacle.clone(), place));
        // A ring of particles that hangs over the shape would slide; a pair of walls keeps one on top.
        let p = lone(&mut app, Particle::at(Vec3::Y * 2.0), BodySettings::default());
        tick(&mut app, 128);
        let y = particle(&app, p).position.y;
        assert!((y - top - RADIUS).abs() < 2e-3, "{:?}: {y}, not {top}", obstacle.shape);
    }
}

#[test]
fn planar_bodies_meet_planar_shapes_whatever_their_z() {
    let corners = vec![Vec2::new(-1.0, 0.0), Vec2::new(1.0, 0.0), Vec2::new(0.0, 0.5)];
    let shapes = [
        (Obstacle::circle(0.5), 0.5),
        (Obstacle::rectangle(Vec2::new(2.0, 0.4)), 0.2),
        (Obstacle::segment(Vec2::new(-1.0, 0.1), Vec2::new(1.0, 0.1)), 0.1),
        (Obstacle::polygon(corners), 0.5),
        (Obstacle::HALF_SPACE, 0.0),
    ];
    for (obstacle, top) in shapes {
        let mut app = app();
        app.world_mut().spawn((obstacle.clone(), Transform::from_xyz(0.0, 0.0, 7.0)));
        let body = app.world_mut().spawn((BodySettings::default(), Planar)).id();
        let start = Particle::at(Vec3::new(0.0, 1.0, -2.0));
        let p = app.world_mut().spawn((start, ParticleOf(body))).id();
        tick(&mut app, 100);
        let now = particle(&app, p).position;
        assert!((now.y - top - RADIUS).abs() < 2e-3, "{:?}: {now}, not {top}", obstacle.shape);
        assert_eq!(now.z, -2.0);
    }
}

#[test]
fn layers_that_do_not_meet_pass() {
    let (level, water) = (1 << 0, 1 << 1);
    let mut app = app();
    let floor = Obstacle::HALF_SPACE.with_layers(ContactLayers::new(level, !0));
    app.world_mut().spawn(floor);
    let settings = |filters| BodySettings { layers: ContactLayers::new(1, filters), ..default() };
    let start = Particle::at(Vec3::Y * 0.2);
    let held = lone(&mut app, start, settings(level));
    let passes = lone(&mut app, start, settings(water));
    tick(&mut app, 64);
    assert!((particle(&app, held).position.y - RADIUS).abs() < 1e-3);
    assert!(particle(&app, passes).position.y < -1.0);
}

#[derive(Resource, Default)]
struct Log(Vec<(Entity, Entity, Option<f32>)>);

fn log_contacts(app: &mut App) {
    app.init_resource::<Log>()
        .add_observer(|began: On<ContactBegan>, mut log: ResMut<Log>| {
            log.0.push((began.entity, began.other, Some(began.impulse)));
        })
        .add_observer(|ended: On<ContactEnded>, mut log: ResMut<Log>| {
            log.0.push((ended.entity, ended.other, None));
        });
}

fn take_log(app: &mut App) -> Vec<(Entity, Entity, Option<f32>)> {
    core::mem::take(&mut app.world_mut().resource_mut::<Log>().0)
}

#[test]
fn case_36_sensors_report_and_do_not_deform() {
    let mut app = app();
    log_contacts(&mut app);
    let sensor = app.world_mut().spawn(Obstacle::sphere(0.5).as_sensor()).id();
    let cloth = Cloth::grid(UVec2::new(8, 8), 0.1);
    let fall = |app: &mut App, x: f32| {
        app.world_mut().spawn((cloth.clone(), Transform::from_xyz(x, 1.5, 0.0))).id()
    };
    let (through, beside) = (fall(&mut app, 0.0), fall(&mut app, 20.0));
    tick(&mut app, 96);
    let log = take_log(&mut app);
    let expected = [
        (through, sensor, Some(0.0)),
        (sensor, through, Some(0.0)),
        (through, sensor, None),
        (sensor, through, None),
    ];
    assert_eq!(log, expected);
    for (a, b) in positions(&app, through).iter().zip(positions(&app, beside)) {
        assert!((*a - b + Vec3::X * 20.0).length() < 1e-4, "the sensor pushed");
    }
}

#[test]
fn contacts_tell_when_they_begin_and_end_and_how_hard() {
    let mut app = app_with(undamped());
    log_contacts(&mut app);
    let floor = app.world_mut().spawn(Obstacle::HALF_SPACE).id();
    let body = app.world_mut().spawn(BodySettings::default()).id();
    let start = Particle::at(Vec3::Y * (0.5 + RADIUS)).with_mass(2.0);
    let p = app.world_mut().spawn((start, ParticleOf(body))).id();
    tick(&mut app, 40);
    let log = take_log(&mut app);
    assert_eq!(log.len(), 2, "{log:?}");
    // m v, and the weight for at most a tick.
    let impulse = log[0].2.unwrap();
    let fall = 2.0 * (2.0 * G * 0.5f32).sqrt();
    assert!((log[0].0, log[0].1) == (body, floor) && (log[1].0, log[1].1) == (floor, body));
    assert!(impulse > 0.98 * fall && impulse < fall + 2.0 * G / 64.0 + 0.1, "{impulse} {fall}");
    tick(&mut app, 64);
    assert!(take_log(&mut app).is_empty(), "resting contact begins once");
    app.world_mut().get_mut::<Particle>(p).unwrap().velocity = Vec3::Y * 2.0;
    tick(&mut app, 4);
    assert_eq!(take_log(&mut app).len(), 2);
    tick(&mut app, 64);
    take_log(&mut app);
    // An obstacle that goes away ends its contacts.
    app.world_mut().despawn(floor);
    tick(&mut app, 1);
    assert_eq!(take_log(&mut app), [(body, floor, None)]);
}

#[test]
fn case_29_obstacles_may_be_despawned_at_any_time() {
    let mut app = app();
    let cloth = Cloth::grid(UVec2::new(10, 10), 0.1);
    app.world_mut().spawn((cloth, Transform::from_xyz(0.0, 1.0, 0.0)));
    let mut obstacles = Vec::new();
    for i in 0..60u32 {
        let place = Transform::from_xyz((i % 7) as f32 * 0.1 - 0.3, 0.0, (i % 3) as f32 * 0.1);
        let shape = match i % 4 {
            0 => Obstacle::sphere(0.2),
            1 => Obstacle::cuboid(Vec3::splat(0.3)),
            2 => Obstacle::HALF_SPACE,
            _ => Obstacle::capsule(0.1, 0.3).as_sensor(),
        };
        obstacles.push(app.world_mut().spawn((shape, place)).id());
        if i % 2 == 1 {
            let gone = obstacles.remove((i as usize * 5) % obstacles.len());
            app.world_mut().despawn(gone);
        }
        if i % 5 == 0
            && let Some(last) = obstacles.last()
        {
            app.world_mut().entity_mut(*last).remove::<Transform>();
        }
        tick(&mut app, 1);
    }
    assert!(common::all_finite(&mut app));
}

#[test]
fn a_block_at_rest_never_gains_energy() {
    for (name, obstacle, place) in floors() {
        let mut app = app_with(SolverSettings { sleeping: false, ..undamped() });
        app.world_mut().spawn((obstacle, place));
        let particles = block(&mut app, 0.2, Vec3::Y * RADIUS, Quat::IDENTITY, Friction::default());
        tick(&mut app, 16);
        let energy = |app: &App| -> f32 {
            let of = |p: Particle| 0.5 * p.velocity.length_squared() + G * p.position.y;
            particles.iter().map(|e| of(particle(app, *e))).sum()
        };
        let start = energy(&app);
        for _ in 0..100 {
            tick(&mut app, 8);
            let now = energy(&app);
            assert!(now <= start + 1e-3, "{name}: {start} J became {now} J");
        }
    }
}

#[test]
fn a_draped_cloth_comes_to_rest_and_sleeps_within_twenty_seconds() {
    let sphere = Obstacle::sphere(0.5);
    let scenes = [
        (sphere.clone(), None),
        (sphere, Some(Air::STILL)),
        (Obstacle::capsule(0.4, 0.3), Some(Air::STILL)),
    ];
    for (obstacle, air) in scenes {
        let mut app = app();
        // What hangs free of an edge swings on for long without air.
        if let Some(air) = air {
            app.insert_resource(air);
        }
        app.world_mut().spawn((obstacle.clone(), Transform::from_xyz(0.0, 0.5, 0.0)));
        app.world_mut().spawn(Obstacle::HALF_SPACE);
        let flat =
            Transform::from_xyz(0.02, 1.2, 0.65).with_rotation(Quat::from_rotation_x(0.5 * PI));
        app.world_mut().spawn((Cloth::grid(UVec2::new(27, 27), 0.05), flat));
        let mut asleep = None;
        for second in 1..=20 {
            tick(&mut app, 64);
            if app.world().resource::<SolverDiagnostics>().awake_islands == 0 {
                asleep = Some(second);
                break;
            }
        }
        assert!(asleep.is_some(), "{:?}: still awake after 20 s", obstacle.shape);
    }
}

#[test]
fn a_moving_obstacle_wakes_what_is_beside_it_only() {
    let mut app = app();
    app.world_mut().spawn(Obstacle::HALF_SPACE);
    let ball =
        app.world_mut().spawn((Obstacle::sphere(0.2), Transform::from_xyz(0.5, 0.2, 0.0))).id();
    for x in [0.0, 30.0] {
        lone(&mut app, Particle::at(Vec3::new(x, RADIUS, 0.0)), BodySettings::default());
    }
    tick(&mut app, 96);
    let awake = |app: &App| app.world().resource::<SolverDiagnostics>().awake_islands;
    assert_eq!(awake(&app), 0);
    for i in 0..64 {
        let x = 0.5 - 0.01 * i as f32;
        app.world_mut().get_mut::<Transform>(ball).unwrap().translation.x = x;
        tick(&mut app, 1);
        assert!(awake(&app) <= 1);
    }
    assert_eq!(awake(&app), 1);
}

#[test]
fn of_thousands_of_obstacles_only_those_in_reach_matter() {
    let run = |crowd: bool| {
        let mut app = app();
        let mut spawn = |x: f32, y: f32, z: f32| {
            app.world_mut().spawn((Obstacle::sphere(0.3), Transform::from_xyz(x, y, z)));
        };
        (0..4).for_each(|i| spawn(i as f32 * 0.5 - 0.75, 0.0, 0.0));
        if crowd {
            (0..4000).for_each(|i| {
                let (a, ring) = (i as f32 * 0.61, 6.0 + (i % 50) as f32);
                spawn(ring * a.cos(), (i % 13) as f32 - 6.0, ring * a.sin());
            });
        }
        let flat =
            Transform::from_xyz(0.0, 0.6, 0.5).with_rotation(Quat::from_rotation_x(0.5 * PI));
        let body = app.world_mut().spawn((Cloth::grid(UVec2::new(24, 16), 0.07), flat)).id();
        tick(&mut app, 64);
        positions(&app, body)
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn a_cloth_on_a_spinning_ball_turns_with_it() {
    let mut app = app();
    let friction = Friction::new(2.0);
    let ball = app
        .world_mut()
        .spawn((Obstacle::sphere(0.5).with_friction(friction), Transform::default()))
        .id();
    let flat = Transform::from_xyz(0.0, 0.6, 0.45).with_rotation(Quat::from_rotation_x(0.5 * PI));
    let cloth = Cloth::grid(UVec2::new(19, 19), 0.05).with_friction(friction);
    let body = app.world_mut().spawn((cloth, flat)).id();
    tick(&mut app, 128);
    let top = *common::particles(&app, body)
        .iter()
        .min_by(|a, b| {
            let aside =
                |e: Entity| (particle(&app, e).position * Vec3::new(1.0, 0.0, 1.0)).length();
            (aside(**a) - 0.2).abs().total_cmp(&(aside(**b) - 0.2).abs())
        })
        .unwrap();
    let angle = |p: Vec3| p.x.atan2(p.z);
    let before = angle(particle(&app, top).position);
    for i in 1..=64 {
        let turn = Quat::from_rotation_y(TAU / 8.0 * i as f32 / 64.0);
        app.world_mut().get_mut::<Transform>(ball).unwrap().rotation = turn;
        tick(&mut app, 1);
    }
    let turned = (angle(particle(&app, top).position) - before).rem_euclid(TAU);
    assert!((turned - TAU / 8.0).abs() < 0.12, "turned by {turned} rad");
}

#[cfg(feature = "parry")]
#[test]
fn shapes_of_parry_hold_a_cloth() {
    use parry3d::{shape::SharedShape, utils::Array2};
    let cube: Vec<Vec3> = (0..8)
        .map(|i| Vec3::new((i & 1) as f32, (i >> 1 & 1) as f32, (i >> 2) as f32) - 0.5)
        .collect();
    let shapes = [
        (SharedShape::ball(0.5), 0.5),
        (SharedShape::convex_hull(&cube).unwrap(), 0.5),
        (SharedShape::round_cuboid(0.4, 0.4, 0.4, 0.1), 0.5),
        (
            SharedShape::heightfield(Array2::new(9, 9, vec![0.25; 81]), Vec3::new(2.0, 1.0, 2.0)),
            0.25,
        ),
        (SharedShape::trimesh(cube.clone(), vec![[2, 3, 6], [3, 7, 6]]).unwrap(), 0.5),
    ];
    for (shape, top) in shapes {
        let mut app = app();
        app.world_mut().spawn(Obstacle::parry(&shape).unwrap());
        let flat =
            Transform::from_xyz(0.0, 0.8, 0.2).with_rotation(Quat::from_rotation_x(0.5 * PI));
        let body = app.world_mut().spawn((Cloth::grid(UVec2::new(9, 9), 0.05), flat)).id();
        tick(&mut app, 96);
        let highest = positions(&app, body).iter().fold(f32::MIN, |most, p| most.max(p.y));
        assert!((highest - top - RADIUS).abs() < 5e-3, "{:?}: {highest}", shape.shape_type());
    }
}
