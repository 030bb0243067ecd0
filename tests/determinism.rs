//! The same bits: for every number of tasks, twice in a row, and across saving and loading.

mod common;

use bevy::{
    ecs::entity::EntityHashMap,
    prelude::*,
    tasks::{ComputeTaskPool, TaskPoolBuilder},
    time::TimeUpdateStrategy,
    world_serialization::{DynamicWorld, DynamicWorldBuilder, WorldSerializationPlugin},
};
use bevy_pliant::{
    obstacle::{Obstacle, TriangleMesh},
    particle::BuildOrder,
    prelude::*,
    solver::{SolverClock, state_hash},
};
use common::tick;
use core::sync::atomic::{AtomicU32, Ordering};

/// A pole that moves along a curve; by the fixed schedule or once a frame.
#[derive(Component, Reflect, Clone, Copy, Default)]
#[reflect(Component, Default)]
struct Pole {
    base: Vec3,
    in_update: bool,
}

fn place(pole: &Pole, ticks: u64) -> Transform {
    let t = ticks as f32 / 64.0;
    Transform::from_translation(pole.base + Vec3::new(0.4 * t, 0.1 * t * t, -0.2 * t))
        .with_rotation(Quat::from_rotation_y(0.5 * t))
}

fn move_poles<const IN_UPDATE: bool>(
    clock: Res<SolverClock>,
    mut poles: Query<(&Pole, &mut Transform)>,
) {
    for (pole, mut transform) in &mut poles {
        if pole.in_update == IN_UPDATE {
            *transform = place(pole, clock.ticks);
        }
    }
}

/// An app with a compute pool of four threads; `max_tasks` of them are used.
fn app(max_tasks: usize, assets: Option<String>) -> App {
    let pool = ComputeTaskPool::get_or_init(|| TaskPoolBuilder::new().num_threads(4).build());
    assert!(pool.thread_num() >= 4, "tasks would not split");
    let mut app = App::new();
    let mut asset_plugin = AssetPlugin::default();
    if let Some(path) = assets {
        asset_plugin.file_path = path;
    }
    app.add_plugins((MinimalPlugins, TransformPlugin, asset_plugin, WorldSerializationPlugin))
        .init_asset::<Mesh>()
        .insert_resource(TimeUpdateStrategy::FixedTimesteps(1))
        .add_plugins(
            PliantPlugins::default().with_settings(SolverSettings { max_tasks, ..default() }),
        )
        .register_type::<Pole>()
        .add_systems(FixedUpdate, move_poles::<false>)
        .add_systems(Update, move_poles::<true>);
    // The first update has no length.
    app.update();
    app
}

/// Cloths, ropes on moving poles, a tumbling ellipsoid, attachments, a floor.
fn spawn_scene(app: &mut App) {
    let world = app.world_mut();
    world.spawn((Obstacle::HALF_SPACE, Transform::from_xyz(0.0, 298.9, 0.0)));
    let slope = Transform::from_xyz(0.0, 290.0, 0.0).with_rotation(Quat::from_rotation_z(0.3));
    world.spawn((Obstacle::HALF_SPACE.with_friction(Friction::new(0.1)), slope));
    for i in 0..16 {
        let pins = [ClothPins::TopCorners, ClothPins::TopEdge, ClothPins::TopLeft, ClothPins::None];
        let mut cloth = Cloth::grid(UVec2::new(20, 15), 0.1).pinned(pins[i % 4].clone());
        if i % 3 == 0 {
            cloth = cloth.with_bending(1e4);
        }
        if i % 2 == 0 {
            cloth = cloth.with_compliance(1e-3);
        }
        let pole = Pole {
            base: Vec3::new(3.3 + 4.0 * i as f32, 300.7 + 0.1 * i as f32, -2.1),
            in_update: i % 5 == 0,
        };
        world.spawn((cloth, place(&pole, 0), pole));
    }
    let still = Transform::from_xyz(-3.3, 301.7, 2.1);
    world.spawn((Rope::new(1.0, 8).pinned(RopePins::Start), still));
    let rope = world.spawn((Rope::new(1.5, 16), Transform::from_xyz(-5.1, 303.3, 0.7))).id();
    let pole = Pole { base: Vec3::new(-5.2, 303.9, 0.7), in_update: false };
    let pole = world.spawn((pole, place(&pole, 0))).id();
    let ellipsoid = world
        .spawn((
            Particle::at(Vec3::new(-4.7, 301.3, 0.3)).with_velocity(Vec3::new(0.3, 2.0, -0.4)),
            OrientedParticle {
                angular_velocity: Vec3::new(0.3, 4.0, 0.2),
                ..OrientedParticle::with_radii(Vec3::new(0.3, 0.2, 0.1))
            },
        ))
        .id();
    tick(app, 1);
    let members = common::particles(app, rope);
    let world = app.world_mut();
    world.spawn(Attachment::new(members[0], pole).with_compliance(1e-4).with_damping(2.0));
    world.spawn(Attachment::new(ellipsoid, members[15]).with_compliance(1e-3));
}

/// Cloths on a level of triangles: one that arrives at 30 m/s, others that lie on it; a ball, and boxes
/// that move and turn below and between them.
fn spawn_level(app: &mut App) {
    let n = 16;
    let height = |x: u32, z: u32| 0.05 * ((x * 7 + z * 5) % 3) as f32;
    let corner =
        |x: u32, z: u32| Vec3::new(x as f32 * 0.5 - 4.0, height(x, z), z as f32 * 0.5 - 4.0);
    let vertices: Vec<Vec3> = (0..=n).flat_map(|z| (0..=n).map(move |x| corner(x, z))).collect();
    let mut triangles = Vec::new();
    for z in 0..n {
        for x in 0..n {
            let a = z * (n + 1) + x;
            let (b, c) = (a + 1, a + n + 1);
            triangles.extend([[a, c, b], [b, c, c + 1]]);
        }
    }
    let level = TriangleMesh::new(&vertices, &triangles).unwrap();
    let at = Vec3::new(11.3, 299.1, -3.7);
    let world = app.world_mut();
    world.spawn((Obstacle::mesh(level), Transform::from_translation(at)));
    world
        .spawn((Obstacle::sphere(0.4), Transform::from_translation(at + Vec3::new(2.0, 0.3, 2.0))));
    for (place, in_update) in
        [(Vec3::new(-2.2, 0.2, -1.9), false), (Vec3::new(1.1, 0.3, 1.7), true)]
    {
        let pole = Pole { base: at + place, in_update };
        let size = Vec3::new(0.8, 0.3, 0.2);
        world.spawn((Obstacle::cuboid(size).with_restitution(0.2), self::place(&pole, 0), pole));
    }
    let lying = |x: f32, y: f32, z: f32| {
        Transform::from_translation(at + Vec3::new(x, y, z))
            .with_rotation(Quat::from_rotation_x(1.5))
    };
    for (x, z) in [(-1.9, -1.2), (2.1, 2.3), (-2.0, 2.5)] {
        world.spawn((Cloth::grid(UVec2::new(16, 12), 0.1), lying(x, 0.3, z)));
    }
    let fast = world.spawn((Cloth::grid(UVec2::new(20, 15), 0.1), lying(1.0, 1.5, -1.5))).id();
    tick(app, 1);
    for entity in common::particles(app, fast) {
        app.world_mut().get_mut::<Particle>(entity).unwrap().velocity = Vec3::new(-9.0, -28.6, 0.7);
    }
}

#[test]
fn one_two_and_four_tasks_give_the_same_bits_twice_in_a_row() {
    assert_same_bits_for_all_tasks(spawn_scene);
}

#[test]
fn one_two_and_four_tasks_give_the_same_bits_among_obstacles() {
    assert_same_bits_for_all_tasks(spawn_level);
}

fn assert_same_bits_for_all_tasks(spawn: fn(&mut App)) {
    let run = |max_tasks| {
        let mut app = app(max_tasks, None);
        spawn(&mut app);
        let mut hashes = Vec::new();
        for _ in 0..4 {
            tick(&mut app, 30);
            hashes.push(state_hash(app.world_mut()));
        }
        assert!(common::all_finite(&mut app));
        hashes
    };
    let one = run(1);
    assert_ne!(one[0], one[1], "nothing moves");
    assert_eq!(one, run(1));
    assert_eq!(one, run(2));
    assert_eq!(one, run(4));
    assert_eq!(one, run(4));
}

/// What a game would save: all that has to do with bodies, poles and obstacles; nothing that draws.
fn save(app: &mut App) -> DynamicWorld {
    let mut query = app
        .world_mut()
        .query_filtered::<Entity, Or<(With<BuildOrder>, With<Transform>, With<Attachment>)>>();
    let entities: Vec<Entity> = query.iter(app.world()).collect();
    let registry = app.world().resource::<AppTypeRegistry>().clone();
    let registry = registry.read();
    DynamicWorldBuilder::from_world(app.world(), &registry)
        .allow_all_components()
        .deny_component::<Mesh3d>()
        .deny_component::<Mesh2d>()
        .extract_entities(entities.into_iter())
        .build()
}

fn assert_goes_on_as_saved(spawn: fn(&mut App), ticks_before: u64) {
    static FOLDERS: AtomicU32 = AtomicU32::new(0);
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("bevy_pliant_{}_{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut original = app(2, None);
    spawn(&mut original);
    tick(&mut original, ticks_before);
    let saved = save(&mut original);
    let registry = original.world().resource::<AppTypeRegistry>().clone();
    let text = saved.serialize(&registry.read()).expect("can be written");
    std::fs::write(folder.join("saved.scn.ron"), &text).unwrap();

    let mut loaded = app(4, Some(folder.to_string_lossy().into_owned()));
    // Other entities are about, so that none keeps its number.
    loaded.world_mut().spawn_batch((0..77).map(|i| Name::new(format!("other {i}"))));
    let handle: Handle<DynamicWorld> =
        loaded.world().resource::<AssetServer>().load("saved.scn.ron");
    let started = std::time::Instant::now();
    while loaded.world().resource::<Assets<DynamicWorld>>().get(&handle).is_none() {
        assert!(started.elapsed().as_secs() < 60, "the saved world does not load");
        loaded.update();
    }
    let clock = *original.world().resource::<SolverClock>();
    loaded.insert_resource(clock);
    let saved = loaded.world_mut().resource_mut::<Assets<DynamicWorld>>().remove(&handle).unwrap();
    saved.write_to_world(loaded.world_mut(), &mut EntityHashMap::default()).expect("loads");
    std::fs::remove_dir_all(&folder).unwrap();

    assert_eq!(state_hash(original.world_mut()), state_hash(loaded.world_mut()), "as loaded");
    let what = format!("after a save at {ticks_before}");
    common::assert_same_bits(&mut original, &mut loaded, 60, &what);
    let count = |app: &mut App| {
        let mut cloths = app.world_mut().query::<(&Cloth, &Particles)>();
        let cloths = cloths.iter(app.world()).count();
        let mut links = app.world_mut().query::<&DistanceConstraint>();
        (cloths, links.iter(app.world()).count(), common::all_particles(app).len())
    };
    assert_eq!(count(&mut original), count(&mut loaded), "a body was built again");
    // What is spawned after a load comes after what was loaded.
    let orders = |app: &mut App| {
        let late = app.world_mut().spawn(Particle::default()).id();
        tick(app, 1);
        app.world().get::<BuildOrder>(late).unwrap().0
    };
    let late = orders(&mut loaded);
    let mut all = loaded.world_mut().query::<&BuildOrder>();
    assert!(all.iter(loaded.world()).filter(|o| o.0 >= late).count() == 1);
}

#[test]
fn a_world_saved_in_mid_motion_goes_on_with_the_same_bits() {
    assert_goes_on_as_saved(spawn_scene, 45);
}

#[test]
fn a_world_saved_when_part_of_it_sleeps_goes_on_with_the_same_bits() {
    assert_goes_on_as_saved(spawn_scene, 200);
}

#[test]
fn a_world_saved_right_after_it_was_built_goes_on_with_the_same_bits() {
    assert_goes_on_as_saved(spawn_scene, 0);
}

#[test]
fn a_world_of_obstacles_that_is_saved_goes_on_with_the_same_bits() {
    // As the fast cloth arrives, and when some lie on the level.
    for ticks_before in [1, 3, 6, 12, 70] {
        assert_goes_on_as_saved(spawn_level, ticks_before);
    }
}

#[test]
fn a_saved_user_pin_and_a_torn_cloth_stay_so() {
    let mut original = app(1, None);
    let cloth = Cloth::grid(UVec2::new(6, 5), 0.1).pinned(ClothPins::TopEdge);
    let body = original.world_mut().spawn((cloth, Transform::from_xyz(3.3, 300.7, -2.1))).id();
    tick(&mut original, 20);
    let pinned = common::particles(&original, body)[22];
    original.world_mut().entity_mut(pinned).insert(Pinned);
    let torn = common::particles(&original, body)[13];
    original.world_mut().despawn(torn);
    tick(&mut original, 20);
    let saved = save(&mut original);
    let mut loaded = app(1, None);
    saved.write_to_world(loaded.world_mut(), &mut EntityHashMap::default()).expect("loads");
    for _ in 0..30 {
        tick(&mut original, 1);
        tick(&mut loaded, 1);
    }
    assert_eq!(common::all_particles(&mut loaded).len(), 29, "the hole was filled");
    let place = |app: &mut App| -> Vec<Vec3> {
        common::all_particles(app).iter().map(|(_, p)| p.position).collect()
    };
    // Lanes are packed anew on load, which may change the order after a tear, but little else.
    for (a, b) in place(&mut original).into_iter().zip(place(&mut loaded)) {
        assert!(a.distance(b) < 1e-3, "{a} {b}");
    }
}

#[test]
fn no_system_of_ours_is_ambiguous_with_another_of_ours() {
    use bevy::ecs::schedule::{LogLevel, ScheduleBuildSettings};
    use bevy_pliant::solver::{PliantSchedule, ProjectionSchedule, SubstepSchedule};
    let mut app = app(1, None);
    let strict = ScheduleBuildSettings { ambiguity_detection: LogLevel::Error, ..default() };
    let mut schedules = app.world_mut().resource_mut::<Schedules>();
    let labels = schedules.iter().count();
    assert!(labels > 3);
    for (label, schedule) in schedules.iter_mut() {
        let ours = [
            format!("{PliantSchedule:?}"),
            format!("{SubstepSchedule:?}"),
            format!("{ProjectionSchedule:?}"),
        ];
        if ours.contains(&format!("{label:?}")) {
            schedule.set_build_settings(strict.clone());
        }
    }
    spawn_scene(&mut app);
    tick(&mut app, 3);
}
