//! Contact of soft bodies with themselves and with one another: folds, layers, friction, momentum, sleep.
//! Case 34 is here.

mod common;

use bevy::{
    ecs::entity::EntityHashMap,
    math::DVec3,
    prelude::*,
    tasks::{ComputeTaskPool, TaskPoolBuilder},
    world_serialization::{DynamicWorldBuilder, WorldSerializationPlugin},
};
use bevy_pliant::{
    constraint::ConstraintOf,
    particle::{BodySurface, BuildOrder, ParticleOf, RestPose},
    prelude::*,
    solver::state_hash,
};
use common::{all_finite, kinetic_energy, particles, positions, tick, undamped};
use std::collections::HashMap;

const SPACING: f32 = 0.02;

/// All tests of this file share one pool, of so many threads that tasks split.
fn pool() {
    let pool = ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(4).build());
    assert!(pool.thread_num() >= 4, "tasks would not split");
}

fn app_with(settings: SolverSettings) -> App {
    pool();
    common::app_with(settings)
}

fn app() -> App {
    app_with(SolverSettings::default())
}

/// What touches itself and others.
fn touching() -> BodySettings {
    BodySettings { self_contact: true, soft_contact: true, ..default() }
}

fn lying(place: Vec3) -> Transform {
    Transform::from_translation(place)
        .with_rotation(Quat::from_rotation_x(-core::f32::consts::FRAC_PI_2))
}

// What is measured

/// Points by cell, to find what is near.
struct Cells {
    edge: f32,
    cells: HashMap<[i32; 3], Vec<u32>>,
}

impl Cells {
    fn new(edge: f32) -> Self {
        Self { edge, cells: HashMap::new() }
    }

    fn cell(&self, p: Vec3) -> [i32; 3] {
        (p / self.edge).floor().to_array().map(|v| v as i32)
    }

    /// Puts `item` into all cells that the box touches.
    fn put(&mut self, item: u32, [min, max]: [Vec3; 2]) {
        let (min, max) = (self.cell(min), self.cell(max));
        for x in min[0]..=max[0] {
            for y in min[1]..=max[1] {
                for z in min[2]..=max[2] {
                    self.cells.entry([x, y, z]).or_default().push(item);
                }
            }
        }
    }

    /// Items in the cells that the box touches; some more than once.
    fn near(&self, [min, max]: [Vec3; 2]) -> Vec<u32> {
        let (min, max) = (self.cell(min), self.cell(max));
        let mut found = Vec::new();
        for x in min[0]..=max[0] {
            for y in min[1]..=max[1] {
                for z in min[2]..=max[2] {
                    found.extend(self.cells.get(&[x, y, z]).into_iter().flatten());
                }
            }
        }
        found
    }
}

fn bounds(points: &[Vec3]) -> [Vec3; 2] {
    points
        .iter()
        .fold([Vec3::INFINITY, Vec3::NEG_INFINITY], |[min, max], p| [min.min(*p), max.max(*p)])
}

/// The least distance of two particles that `joined` does not name (m).
fn nearest(x: &[Vec3], joined: impl Fn(u32, u32) -> bool) -> f32 {
    let mut cells = Cells::new(0.03);
    x.iter().enumerate().for_each(|(i, p)| cells.put(i as u32, [*p, *p]));
    let mut least = f32::INFINITY;
    for (i, p) in x.iter().enumerate() {
        for j in cells.near([*p - 0.03, *p + 0.03]) {
            if (i as u32) < j && !joined(i as u32, j) {
                least = least.min(p.distance(x[j as usize]));
            }
        }
    }
    least
}

/// Whether two particles of a grid are neighbours along a row, a column or a diagonal.
fn grid_neighbours(width: u32) -> impl Fn(u32, u32) -> bool {
    move |i, j| {
        let [a, b] = [i, j].map(|k| [(k % width) as i32, (k / width) as i32]);
        (a[0] - b[0]).abs() <= 1 && (a[1] - b[1]).abs() <= 1
    }
}

/// Whether the segment p–q passes through the triangle: signs of the volumes of five tetrahedra.
fn crosses([p, q]: [Vec3; 2], triangle: [Vec3; 3]) -> bool {
    let [p, q, a, b, c] = [p, q, triangle[0], triangle[1], triangle[2]].map(Vec3::as_dvec3);
    let volume = |u: DVec3, v: DVec3, w: DVec3, o: DVec3| (u - o).cross(v - o).dot(w - o);
    let (above, below) = (volume(a, b, c, p), volume(a, b, c, q));
    if above * below >= 0.0 {
        return false;
    }
    let sides = [volume(a, b, q, p), volume(b, c, q, p), volume(c, a, q, p)];
    sides.iter().all(|s| *s > 0.0) || sides.iter().all(|s| *s < 0.0)
}

/// How many edges of the triangles pass through triangles that they share no corner with.
fn crossings(x: &[Vec3], triangles: &[[u32; 3]]) -> usize {
    let corners = |t: &[u32; 3]| t.map(|i| x[i as usize]);
    let mut cells = Cells::new(0.03);
    for (number, triangle) in triangles.iter().enumerate() {
        cells.put(number as u32, bounds(&corners(triangle)));
    }
    let mut edges: Vec<[u32; 2]> = triangles
        .iter()
        .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]])
        .map(|[a, b]| [a.min(b), a.max(b)])
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let mut count = 0;
    for edge in edges {
        let ends = edge.map(|i| x[i as usize]);
        let mut near = cells.near(bounds(&ends));
        near.sort_unstable();
        near.dedup();
        count += near
            .into_iter()
            .map(|number| &triangles[number as usize])
            .filter(|t| !t.contains(&edge[0]) && !t.contains(&edge[1]))
            .filter(|t| crosses(ends, corners(t)))
            .count();
    }
    count
}

fn triangles(app: &App, body: Entity) -> Vec<[u32; 3]> {
    app.world().get::<BodySurface>(body).expect("has a surface").triangles.clone()
}

/// Positions and triangles of several bodies in one.
fn together(app: &App, bodies: &[Entity]) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let (mut x, mut all) = (Vec::new(), Vec::new());
    for body in bodies {
        let first = x.len() as u32;
        x.extend(positions(app, *body));
        if let Some(surface) = app.world().get::<BodySurface>(*body) {
            all.extend(surface.triangles.iter().map(|t| t.map(|i| i + first)));
        }
    }
    (x, all)
}

#[test]
fn the_check_of_crossings_sees_a_crossing_and_nothing_else() {
    let triangle = [[0, 1, 2], [3, 4, 5]];
    let flat = [Vec3::ZERO, Vec3::X, Vec3::Y].map(|v| 0.02 * v);
    let through = |shift: Vec3| {
        let other = [Vec3::new(0.3, 0.3, -1.0), Vec3::new(0.3, 0.3, 1.0), Vec3::new(3.0, 3.0, 0.5)];
        let other = other.map(|v| 0.02 * (v + shift));
        crossings(&[&flat[..], &other[..]].concat(), &triangle)
    };
    // Its long side goes in, and the flat one's hypotenuse lies in it.
    assert_eq!(through(Vec3::ZERO), 2);
    assert_eq!(through(Vec3::Z * 1.5), 0);
    assert_eq!(through(Vec3::X * 1.5), 0);
}

// Folds

/// A cloth of 60×60, 2 cm apart and thick, that stands on end and falls from `height`.
fn drop_in_folds(height: f32, cloth: Cloth, settings: BodySettings) -> (App, Entity) {
    let mut app = app();
    let world = app.world_mut();
    world.spawn((Obstacle::HALF_SPACE, Transform::default()));
    let place = Transform::from_xyz(0.1, height + 59.0 * SPACING, -0.2)
        .with_rotation(Quat::from_euler(EulerRot::YXZ, 0.3, 0.12, 0.05));
    let body = world.spawn((cloth, settings, place)).id();
    (app, body)
}

fn assert_folded(height: f32, cloth: Cloth) {
    let (mut app, body) = drop_in_folds(height, cloth, touching());
    tick(&mut app, 64 * 8);
    let x = positions(&app, body);
    let least = nearest(&x, grid_neighbours(60));
    let through = crossings(&x, &triangles(&app, body));
    let top = x.iter().map(|p| p.y).fold(0.0, f32::max);
    assert!(top > 0.03 && top < 0.5, "it lies in folds: {top} m high");
    assert!(least > 0.8 * SPACING, "{least}");
    assert_eq!(through, 0);
}

fn cloth() -> Cloth {
    Cloth::grid(UVec2::splat(60), SPACING).with_thickness(SPACING)
}

#[test]
fn a_cloth_dropped_in_folds_from_a_hand_does_not_pass_through_itself() {
    assert_folded(0.1, cloth());
}

#[test]
fn a_cloth_dropped_in_folds_from_a_table_does_not_pass_through_itself() {
    assert_folded(1.5, cloth());
}

#[test]
fn a_cloth_with_bending_does_not_either() {
    assert_folded(0.4, cloth().with_bending(1e4));
}

#[test]
fn without_self_contact_it_does() {
    let (mut app, body) = drop_in_folds(0.1, cloth(), BodySettings::default());
    tick(&mut app, 64 * 4);
    let x = positions(&app, body);
    assert!(crossings(&x, &triangles(&app, body)) > 100);
    assert!(nearest(&x, grid_neighbours(60)) < 0.3 * SPACING);
}

#[test]
fn a_thin_cloth_touches_at_its_spacing() {
    let (mut app, body) = drop_in_folds(0.1, cloth().with_thickness(1e-3), touching());
    tick(&mut app, 64 * 8);
    let x = positions(&app, body);
    assert!(nearest(&x, grid_neighbours(60)) > 0.8 * SPACING);
    assert_eq!(crossings(&x, &triangles(&app, body)), 0);
}

#[test]
fn the_energy_of_a_heap_does_not_grow() {
    let (mut app, body) = drop_in_folds(0.1, cloth(), touching());
    let energy = |app: &mut App| {
        let height: f64 = common::all_particles(app)
            .iter()
            .map(|(_, p)| f64::from(p.mass) * 9.81 * f64::from(p.position.y))
            .sum();
        height + kinetic_energy(app)
    };
    tick(&mut app, 1);
    let mut least = energy(&mut app);
    let first = least;
    for _ in 0..64 * 6 {
        tick(&mut app, 1);
        let now = energy(&mut app);
        assert!(now < least + 0.003 * first, "{now} J after {least} J of {first} J");
        least = least.min(now);
    }
    assert!(kinetic_energy(&mut app) < 0.002 * first);
    assert!(positions(&app, body).iter().all(|p| p.is_finite()));
}

// Bodies on bodies

/// Mean height (m).
fn height(app: &App, body: Entity) -> f32 {
    let x = positions(app, body);
    x.iter().map(|p| p.y).sum::<f32>() / x.len() as f32
}

/// Two cloths of 20×20 above a floor, one over the other, after three seconds.
fn one_on_the_other(lower: BodySettings, upper: BodySettings) -> (App, [Entity; 2]) {
    let mut app = app();
    let world = app.world_mut();
    world.spawn((Obstacle::HALF_SPACE, Transform::default()));
    let cloth = Cloth::grid(UVec2::splat(20), SPACING).with_thickness(SPACING);
    let low = world.spawn((cloth.clone(), lower, lying(Vec3::new(0.3, 0.02, 0.1)))).id();
    let place =
        lying(Vec3::new(0.304, 0.25, 0.107)) * Transform::from_rotation(Quat::from_rotation_z(0.2));
    let high = world.spawn((cloth, upper, place)).id();
    tick(&mut app, 64 * 3);
    (app, [low, high])
}

#[test]
fn case_34_soft_bodies_touch_one_another_where_both_want_it() {
    let alone = BodySettings::default();
    let soft = BodySettings { soft_contact: true, ..default() };
    let (app, both) = one_on_the_other(soft.clone(), soft.clone());
    let [low, high] = both.map(|body| height(&app, body));
    assert!(low < 0.014, "on the floor: {low}");
    assert!(high > low + 0.6 * SPACING, "on the other: {high}");
    let (x, triangles) = together(&app, &both);
    assert_eq!(crossings(&x, &triangles), 0);
    for (lower, upper) in
        [(alone.clone(), soft.clone()), (soft.clone(), alone.clone()), (alone.clone(), alone)]
    {
        let (app, both) = one_on_the_other(lower, upper);
        let [low, high] = both.map(|body| height(&app, body));
        assert!((high - low).abs() < 0.1 * SPACING, "through it: {low} {high}");
    }
}

#[test]
fn case_34_a_body_touches_itself_where_it_wants_it() {
    // A rope that falls in a heap, and one that falls into itself.
    let fall = |settings: BodySettings| {
        let mut app = app();
        let world = app.world_mut();
        world.spawn((Obstacle::HALF_SPACE, Transform::default()));
        let rope = Rope::new(1.0, 51).with_thickness(SPACING);
        let place = Transform::from_xyz(0.0, 1.2, 0.0).with_rotation(Quat::from_euler(
            EulerRot::XYZ,
            0.1,
            0.0,
            0.15,
        ));
        let body = world.spawn((rope, settings, place)).id();
        tick(&mut app, 64 * 5);
        nearest(&positions(&app, body), |i, j| i.abs_diff(j) <= 1)
    };
    let apart = fall(BodySettings { self_contact: true, ..default() });
    assert!(apart > 0.8 * SPACING, "{apart}");
    let through = fall(BodySettings::default());
    assert!(through < 0.8 * SPACING, "{through}");
}

#[test]
fn layers_that_do_not_meet_pass() {
    let in_layer = |layer: u32, filters: u32| BodySettings {
        soft_contact: true,
        layers: ContactLayers::new(layer | 1 << 31, filters | 1 << 31),
        ..default()
    };
    let apart = |lower: BodySettings, upper: BodySettings| {
        let lower = BodySettings {
            layers: ContactLayers::new(
                lower.layers.memberships & !(1 << 31),
                lower.layers.filters & !(1 << 31),
            ),
            ..lower
        };
        let (app, both) = one_on_the_other(lower, upper);
        let [low, high] = both.map(|body| height(&app, body));
        high - low
    };
    assert!(apart(in_layer(1, 2), in_layer(2, 1)) > 0.6 * SPACING);
    assert!(apart(in_layer(1, 2), in_layer(2, 4)) < 0.1 * SPACING);
    assert!(apart(in_layer(1, 1), in_layer(2, 1)) < 0.1 * SPACING);
}

#[test]
fn a_cloth_hangs_over_a_rope() {
    let mut app = app();
    let world = app.world_mut();
    let along = Quat::from_rotation_z(core::f32::consts::FRAC_PI_2);
    let rope = Rope::new(1.0, 51).pinned(RopePins::Ends).with_thickness(SPACING);
    let place = Transform::from_xyz(-0.5, 1.0, 0.0).with_rotation(along);
    let rope = world.spawn((rope, touching(), place)).id();
    let cloth = Cloth::grid(UVec2::splat(25), SPACING).with_thickness(SPACING);
    let cloth = world.spawn((cloth, touching(), lying(Vec3::new(0.0, 1.1, -0.24)))).id();
    tick(&mut app, 64 * 3);
    let top = positions(&app, cloth).iter().map(|p| p.y).fold(f32::MIN, f32::max);
    let rope_low = positions(&app, rope).iter().map(|p| p.y).fold(f32::MAX, f32::min);
    assert!(top > rope_low && height(&app, cloth) > 0.3, "{top} {}", height(&app, cloth));
    let (x, all) = together(&app, &[cloth, rope]);
    // The rope's links are no edges of the cloth.
    let links: Vec<[u32; 3]> = (625..675).map(|i| [i, i + 1, i]).collect();
    assert_eq!(crossings(&x, &[all, links].concat()), 0);
    assert!(app.world().resource::<SolverDiagnostics>().soft_contacts > 5);
}

/// How far a small cloth slides down a fine slope of slope `slope` in two seconds (m).
fn slide(slope: f32, friction: Friction) -> f32 {
    let mut app = app();
    let world = app.world_mut();
    let turn = Quat::from_rotation_z(-slope.atan());
    let fine = Cloth::grid(UVec2::new(160, 40), 0.005)
        .with_thickness(0.04)
        .pinned(ClothPins::Indices((0..6400).collect()))
        .with_friction(friction);
    let settings = BodySettings { soft_contact: true, ..default() };
    let flat = lying(Vec3::new(0.0, 0.0, -0.0975));
    world.spawn((fine, settings.clone(), Transform::from_rotation(turn) * flat));
    let small =
        Cloth::grid(UVec2::splat(4), SPACING).with_thickness(SPACING).with_friction(friction);
    let place = Transform::from_rotation(turn) * lying(Vec3::new(-0.3, 0.0301, -0.03));
    let small = world.spawn((small, settings, place)).id();
    let along = |app: &App| {
        let x = positions(app, small);
        (turn.inverse() * (x.iter().sum::<Vec3>() / x.len() as f32)).x
    };
    tick(&mut app, 4);
    let start = along(&app);
    tick(&mut app, 40);
    along(&app) - start
}

#[test]
fn friction_holds_a_cloth_on_a_tilted_one_up_to_its_coefficient() {
    let friction = Friction::new(0.5);
    let [holds, slides, slips] =
        [slide(0.4, friction), slide(0.7, friction), slide(0.4, Friction::NONE)];
    assert!(holds.abs() < 0.004, "{holds}");
    assert!(slides > 0.08, "{slides}");
    assert!(slips > 0.3, "{slips}");
}

#[test]
fn a_held_cloth_that_moves_carries_what_lies_on_it() {
    let mut app = app();
    let world = app.world_mut();
    let settings = BodySettings { soft_contact: true, ..default() };
    let held = Cloth::grid(UVec2::new(20, 20), SPACING)
        .with_thickness(SPACING)
        .pinned(ClothPins::Indices((0..400).collect()));
    let held = world.spawn((held, settings.clone(), lying(Vec3::new(0.0, 0.0, -0.19)))).id();
    let small = Cloth::grid(UVec2::splat(6), SPACING).with_thickness(SPACING);
    let small = world.spawn((small, settings, lying(Vec3::new(0.0, 0.025, -0.05)))).id();
    tick(&mut app, 64);
    let middle = |app: &App| {
        let x = positions(app, small);
        x.iter().sum::<Vec3>() / x.len() as f32
    };
    let start = middle(&app);
    for _ in 0..64 {
        app.world_mut().get_mut::<Transform>(held).unwrap().translation.x += 0.5 / 64.0;
        tick(&mut app, 1);
    }
    let moved = middle(&app) - start;
    assert!((moved.x - 0.5).abs() < 0.05 && moved.y.abs() < 0.01, "{moved}");
}

fn weightless() -> App {
    app_with(SolverSettings { gravity: Vec3::ZERO, ..undamped() })
}

/// Throws a body: gives all its particles a velocity (m/s).
fn throw(app: &mut App, body: Entity, velocity: Vec3) {
    for particle in particles(app, body) {
        app.world_mut().get_mut::<Particle>(particle).unwrap().velocity = velocity;
    }
}

/// Two cloths that fly at each other at `speed`, after they met.
fn meet(speed: f32, lag: f32) -> (App, [Entity; 2]) {
    let mut app = weightless();
    let world = app.world_mut();
    let cloth = Cloth::grid(UVec2::splat(24), SPACING).with_thickness(SPACING);
    let first = world.spawn((cloth.clone(), touching(), Transform::from_xyz(0.0, 0.0, 0.15))).id();
    let tilted = Transform::from_xyz(lag, 0.007, -0.15).with_rotation(Quat::from_rotation_y(0.2));
    let second = world.spawn((cloth, touching(), tilted)).id();
    tick(&mut app, 1);
    throw(&mut app, first, Vec3::NEG_Z * 0.5 * speed);
    throw(&mut app, second, Vec3::Z * 0.5 * speed);
    (app, [first, second])
}

fn momentum(app: &mut App) -> DVec3 {
    common::all_particles(app).iter().map(|(_, p)| (p.mass * p.velocity).as_dvec3()).sum()
}

#[test]
fn momentum_is_kept_between_bodies_in_free_flight() {
    let (mut app, [first, _]) = meet(3.0, 0.05);
    throw(&mut app, first, Vec3::new(0.3, -0.2, -2.0));
    let before = momentum(&mut app);
    let mut contacts = 0;
    for _ in 0..40 {
        tick(&mut app, 1);
        contacts += app.world().resource::<SolverDiagnostics>().soft_contacts;
    }
    assert!(contacts > 200, "{contacts}");
    let after = momentum(&mut app);
    let scale: f64 = common::all_particles(&mut app).iter().map(|(_, p)| f64::from(p.mass)).sum();
    assert!((after - before).length() < 2e-5 * scale * 2.0, "{before} {after}");
}

#[test]
fn fast_cloths_do_not_pass_through_one_another() {
    // At 20.5 m/s a particle crosses the thickness in one substep.
    for speed in [5.0, 20.0, 60.0] {
        let (mut app, both) = meet(speed, 0.011);
        let mut contacts = 0;
        for _ in 0..10 {
            tick(&mut app, 1);
            let (x, triangles) = together(&app, &both);
            assert_eq!(crossings(&x, &triangles), 0, "at {speed} m/s");
            contacts += app.world().resource::<SolverDiagnostics>().soft_contacts;
        }
        assert!(contacts > 30, "they meet");
        let [first, second] =
            both.map(|body| positions(&app, body).iter().map(|p| p.z).sum::<f32>() / 576.0);
        assert!(first > second, "at {speed} m/s they passed");
        assert!(all_finite(&mut app));
    }
}

// Planes

/// Two cloths in the planes z = 0 and z = `second` that fly at each other along x, after a second.
fn meet_in_plane(planar: [bool; 2], second: f32, speed: f32) -> (App, [Entity; 2], u32) {
    let mut app = weightless();
    let cloth = Cloth::grid(UVec2::splat(8), SPACING).with_thickness(SPACING);
    let both = [(-0.2, 0.0, planar[0]), (0.2, second, planar[1])].map(|(x, z, planar)| {
        let place = Transform::from_xyz(x, 0.3 * x, z);
        let body = app.world_mut().spawn((cloth.clone(), touching(), place)).id();
        if planar {
            app.world_mut().entity_mut(body).insert(Planar);
        }
        body
    });
    tick(&mut app, 1);
    throw(&mut app, both[0], Vec3::X * 0.5 * speed);
    throw(&mut app, both[1], Vec3::NEG_X * 0.5 * speed);
    let mut contacts = 0;
    for _ in 0..64 {
        tick(&mut app, 1);
        contacts += app.world().resource::<SolverDiagnostics>().soft_contacts as u32;
    }
    (app, both, contacts)
}

#[test]
fn planar_bodies_touch_whatever_their_z() {
    let (mut app, both, contacts) = meet_in_plane([true, true], 5.0, 0.6);
    assert!(contacts > 0, "they do not meet");
    let [left, right] = both.map(|body| positions(&app, body));
    let x = |of: &[Vec3]| of.iter().map(|p| p.x).sum::<f32>() / of.len() as f32;
    assert!(x(&left) < x(&right), "they passed");
    let apart = left.iter().flat_map(|a| right.iter().map(move |b| a.xy().distance(b.xy())));
    let nearest = apart.fold(f32::MAX, f32::min);
    assert!(nearest > 0.8 * SPACING, "they overlap: {nearest}");
    assert!(momentum(&mut app).length() < 1e-4);
}

#[test]
fn planar_bodies_at_different_z_move_as_those_in_one_plane() {
    for speed in [0.6, 10.0, 60.0] {
        let places = |second: f32| {
            let (app, both, contacts) = meet_in_plane([true, true], second, speed);
            assert!(contacts > 0, "at {speed} m/s they do not meet");
            let [left, right] = both.map(|body| positions(&app, body));
            assert!(left.iter().all(|p| p.z == 0.0) && right.iter().all(|p| p.z == second));
            let all = left.into_iter().chain(right);
            all.map(Vec3Swizzles::xy).collect::<Vec<Vec2>>()
        };
        let together = places(0.0);
        assert_eq!(places(5.0), together, "at {speed} m/s");
        assert_eq!(places(-0.015), together, "at {speed} m/s");
    }
}

#[test]
fn bodies_in_space_touch_only_where_they_are() {
    for planar in [[false, false], [true, false], [false, true]] {
        let (app, both, contacts) = meet_in_plane(planar, 5.0, 1.0);
        assert_eq!(contacts, 0, "{planar:?}");
        let [left, right] = both.map(|body| positions(&app, body)[0].x);
        assert!(left > right, "{planar:?} did not pass");
    }
}

#[test]
fn planar_bodies_that_hang_together_touch_whatever_their_z() {
    let mut app = weightless();
    let world = app.world_mut();
    let settings = BodySettings { radius: Some(0.5 * SPACING), ..touching() };
    // Two pairs that a long tether joins, so that they are one island.
    let ends = [(-0.1f32, 0.0), (0.1, 5.0)].map(|(x, z)| {
        let body = world.spawn((settings.clone(), Planar)).id();
        let pair = [x, x + SPACING * x.signum()].map(|x| {
            let velocity = Vec3::X * -x.signum();
            let particle = Particle::at(Vec3::new(x, 0.0, z)).with_velocity(velocity);
            world.spawn((particle, ParticleOf(body))).id()
        });
        world.spawn((DistanceConstraint::new(pair, SPACING), ConstraintOf(body)));
        pair
    });
    world.spawn(TetherConstraint::new(ends[0][1], ends[1][1], 50.0));
    let mut nearest = f32::MAX;
    for _ in 0..32 {
        tick(&mut app, 1);
        let [left, right] = ends.map(|pair| common::particle(&app, pair[0]).position);
        assert!(right.x - left.x > 0.9 * SPACING, "they pass: {left} {right}");
        assert_eq!([left.z, right.z], [0.0, 5.0]);
        nearest = nearest.min(right.x - left.x);
    }
    assert!(nearest < 1.5 * SPACING, "they do not meet: {nearest} m");
}

// Sleep

#[test]
fn a_cloth_on_another_sleeps_and_wakes_with_it() {
    let (mut app, [low, high]) = one_on_the_other(touching(), touching());
    let awake = |app: &App| app.world().resource::<SolverDiagnostics>().awake_islands;
    let mut ticks = 0;
    while awake(&app) > 0 && ticks < 64 * 20 {
        tick(&mut app, 1);
        ticks += 1;
    }
    assert_eq!(awake(&app), 0, "they do not sleep");
    let particle = particles(&app, low)[0];
    app.world_mut().get_mut::<Particle>(particle).unwrap().velocity.y = 0.1;
    tick(&mut app, 1);
    assert_eq!(awake(&app), 2, "they wake together");
    let _ = high;
}

#[test]
fn what_falls_on_a_sleeping_cloth_wakes_it_and_what_passes_by_does_not() {
    let mut app = app();
    let world = app.world_mut();
    world.spawn((Obstacle::HALF_SPACE, Transform::default()));
    let cloth = Cloth::grid(UVec2::splat(10), SPACING).with_thickness(SPACING);
    world.spawn((cloth.clone(), touching(), lying(Vec3::new(0.0, 0.01, 0.0))));
    let awake = |app: &App| app.world().resource::<SolverDiagnostics>().awake_islands;
    tick(&mut app, 64 * 4);
    assert_eq!(awake(&app), 0);
    // Beside it, then above.
    app.world_mut().spawn((cloth.clone(), touching(), lying(Vec3::new(1.0, 0.3, 0.0))));
    tick(&mut app, 12);
    assert_eq!(awake(&app), 1, "what passes by wakes it");
    tick(&mut app, 64 * 3);
    assert_eq!(awake(&app), 0);
    let falling = app.world_mut().spawn((cloth, touching(), lying(Vec3::new(0.0, 0.5, 0.0)))).id();
    tick(&mut app, 4);
    assert_eq!(awake(&app), 1, "it sleeps on until the other is near");
    tick(&mut app, 18);
    assert_eq!(awake(&app), 2);
    tick(&mut app, 64);
    assert!(height(&app, falling) > 0.01 + 0.6 * SPACING);
}

#[test]
fn parts_that_are_torn_off_touch_the_rest() {
    // The upper half of a cloth is cut off and falls on the lower one, which is held.
    let mut app = app();
    let cloth = Cloth::grid(UVec2::new(10, 10), SPACING)
        .with_thickness(SPACING)
        .pinned(ClothPins::Indices((50..100).collect()));
    let place = Transform::default().with_rotation(Quat::from_rotation_x(0.3));
    let body = app.world_mut().spawn((cloth, touching(), place)).id();
    tick(&mut app, 1);
    let members = particles(&app, body);
    let mut links = app.world_mut().query::<(Entity, &DistanceConstraint)>();
    let across: Vec<Entity> = links
        .iter(app.world())
        .filter(|(_, link)| {
            let row = |e: Entity| members.iter().position(|m| *m == e).unwrap() / 10;
            link.particles.map(row).contains(&4) && link.particles.map(row).contains(&5)
        })
        .map(|(entity, _)| entity)
        .collect();
    assert_eq!(across.len(), 28);
    across.into_iter().for_each(|entity| {
        app.world_mut().despawn(entity);
    });
    tick(&mut app, 32);
    let least =
        nearest(&positions(&app, body), |i, j| grid_neighbours(10)(i, j) && (i < 50) == (j < 50));
    assert!(least > 0.7 * SPACING, "{least}");
    assert!(all_finite(&mut app));
}

// The same bits

fn crowd(max_tasks: usize) -> App {
    pool();
    let mut app = common::bare_app();
    let settings = SolverSettings { max_tasks, ..default() };
    app.add_plugins(WorldSerializationPlugin)
        .add_plugins(PliantPlugins::default().with_settings(settings));
    app.update();
    app
}

fn fill(app: &mut App) {
    let world = app.world_mut();
    world.spawn((Obstacle::HALF_SPACE, Transform::from_xyz(0.0, 299.0, 0.0)));
    for i in 0..6 {
        let cloth = Cloth::grid(UVec2::new(24, 20), SPACING).with_thickness(SPACING);
        let place = lying(Vec3::new(3.3 + 0.03 * i as f32, 299.1 + 0.08 * i as f32, -2.1))
            * Transform::from_rotation(Quat::from_rotation_x(0.1 * i as f32));
        world.spawn((cloth, touching(), place));
        let rope = Rope::new(0.8, 41).with_thickness(SPACING);
        let place = Transform::from_xyz(3.2 + 0.05 * i as f32, 300.5, -2.1 + 0.02 * i as f32);
        world.spawn((rope, touching(), place));
    }
    // One alone, carried through its ticks.
    let alone = Cloth::grid(UVec2::new(40, 40), SPACING);
    let place = Transform::from_xyz(9.0, 300.0, 0.0).with_rotation(Quat::from_rotation_x(0.2));
    world.spawn((alone, touching(), place));
}

#[test]
fn contact_gives_the_same_bits_for_every_number_of_tasks() {
    let run = |max_tasks| {
        let mut app = crowd(max_tasks);
        fill(&mut app);
        (0..4)
            .map(|_| {
                tick(&mut app, 24);
                (
                    state_hash(app.world_mut()),
                    app.world().resource::<SolverDiagnostics>().soft_contacts,
                )
            })
            .collect::<Vec<_>>()
    };
    let one = run(1);
    assert!(one.iter().all(|(_, contacts)| *contacts > 50), "{one:?}");
    assert_eq!(one, run(1));
    assert_eq!(one, run(2));
    assert_eq!(one, run(4));
}

#[test]
fn a_crowd_that_is_saved_goes_on_with_the_same_bits() {
    let mut original = crowd(2);
    fill(&mut original);
    tick(&mut original, 50);
    let mut query =
        original.world_mut().query_filtered::<Entity, Or<(With<BuildOrder>, With<Transform>)>>();
    let entities: Vec<Entity> = query.iter(original.world()).collect();
    let registry = original.world().resource::<AppTypeRegistry>().clone();
    let saved = {
        let registry = registry.read();
        DynamicWorldBuilder::from_world(original.world(), &registry)
            .allow_all_components()
            .deny_component::<Mesh3d>()
            .extract_entities(entities.into_iter())
            .build()
    };
    let mut loaded = crowd(4);
    loaded.world_mut().spawn_batch((0..33).map(|i| Name::new(format!("other {i}"))));
    saved.write_to_world(loaded.world_mut(), &mut EntityHashMap::default()).expect("loads");
    common::assert_same_bits(&mut original, &mut loaded, 40, "as saved");
    assert!(original.world().resource::<SolverDiagnostics>().soft_contacts > 50);
}

// Nonsense

#[test]
fn no_radius_is_too_odd() {
    for radius in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e30, 1e10, 1e-30, f32::MAX] {
        let mut app = app();
        let world = app.world_mut();
        world.spawn((Obstacle::HALF_SPACE, Transform::default()));
        for i in 0..3 {
            let settings = BodySettings { radius: Some(radius), ..touching() };
            let cloth = Cloth::grid(UVec2::splat(12), SPACING);
            world.spawn((cloth, settings, lying(Vec3::Y * (0.1 + 0.01 * i as f32))));
        }
        tick(&mut app, 20);
        let faulty = app.world_mut().query::<&bevy_pliant::solver::Faulty>();
        let frozen = { faulty }.iter(app.world()).count();
        assert!(all_finite(&mut app), "radius {radius}: {frozen} frozen");
    }
}

#[test]
fn thousands_of_particles_at_one_place_are_not_quadratic() {
    let mut app = weightless();
    let world = app.world_mut();
    let body = world.spawn(touching()).id();
    for _ in 0..2_000 {
        world.spawn((Particle::at(Vec3::ONE), ParticleOf(body)));
    }
    let hub = world.spawn(touching()).id();
    let first = world.spawn((Particle::at(Vec3::ONE), ParticleOf(hub))).id();
    for _ in 0..2_000 {
        let particle = world.spawn((Particle::at(Vec3::ONE), ParticleOf(hub))).id();
        world.spawn(DistanceConstraint::new([first, particle], 0.3));
    }
    let started = std::time::Instant::now();
    tick(&mut app, 2);
    assert!(started.elapsed().as_secs_f32() < 60.0, "{:?}", started.elapsed());
    assert!(all_finite(&mut app));
}

#[test]
fn a_cloth_pressed_onto_a_line_comes_apart_and_stays_finite() {
    let fastest = |settings: BodySettings| {
        let mut app = app();
        let cloth = Cloth::grid(UVec2::splat(20), SPACING).pinned(ClothPins::TopLeft);
        let body = app.world_mut().spawn((cloth, settings, Transform::default())).id();
        tick(&mut app, 1);
        for particle in particles(&app, body) {
            let rest = app.world().get::<RestPose>(particle).unwrap().position;
            app.world_mut().get_mut::<Particle>(particle).unwrap().position = rest.with_y(0.0);
        }
        tick(&mut app, 64 * 3);
        assert!(all_finite(&mut app));
        let particles = common::all_particles(&mut app);
        particles.iter().map(|(_, p)| p.velocity.length()).fold(0.0, f32::max)
    };
    let (with, without) = (fastest(touching()), fastest(BodySettings::default()));
    assert!(with < 1.5 * without + 1.0, "{with} {without}");
}
