//! What picking costs on the CPU: the systems of `PreUpdate`, with Bevy's picking plugins, on one thread.

mod common;

use bevy::{
    camera::{ComputedCameraValues, ImageRenderTarget, RenderTarget, RenderTargetInfo},
    ecs::schedule::SingleThreadedExecutor,
    picking::{
        InteractionPlugin, PickingPlugin,
        hover::HoverMap,
        pointer::{Location, PointerId, PointerLocation},
    },
    prelude::*,
    time::TimeUpdateStrategy,
};
use bevy_pliant::{interact::SurfaceHit, prelude::*, skin::ClothSkin};
use common::{SUBSTEPS, WARM_UP, name, seed_cloth};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Width and height of what the camera draws to (px).
const SCREEN: UVec2 = UVec2::new(1280, 720);

/// An app with a cloth that fills half of the screen, and a pointer.
fn app_with_pointer(size: UVec2) -> (App, Entity) {
    let settings = SolverSettings { substeps: SUBSTEPS, sleeping: false, ..default() };
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, TransformPlugin, AssetPlugin::default()))
        .insert_resource(TimeUpdateStrategy::FixedTimesteps(1))
        .init_asset::<Mesh>()
        .add_plugins((PickingPlugin, InteractionPlugin))
        .add_plugins(PliantPlugins::default().with_settings(settings));
    app.finish();
    app.cleanup();
    app.update();
    app.world_mut().spawn(seed_cloth(size));
    for _ in 0..WARM_UP {
        app.update();
    }
    let mut bodies = app.world_mut().query_filtered::<Entity, With<ClothSkin>>();
    let body = bodies.single(app.world()).expect("the cloth is bound");
    // Nothing propagates visibility here.
    app.world_mut().entity_mut(body).insert(InheritedVisibility::VISIBLE);
    let target = RenderTarget::Image(ImageRenderTarget { handle: default(), scale_factor: 1.0 });
    let aspect = SCREEN.x as f32 / SCREEN.y as f32;
    let height = common::SPACING * size.y as f32;
    let at = Transform::from_xyz(0.0, -0.5 * height, 2.4 * height);
    app.world_mut().spawn((
        Camera {
            computed: ComputedCameraValues {
                clip_from_view: Mat4::perspective_infinite_reverse_rh(0.8, aspect, 0.1),
                target_info: Some(RenderTargetInfo { physical_size: SCREEN, scale_factor: 1.0 }),
                ..default()
            },
            ..default()
        },
        target,
        at,
        GlobalTransform::from(at),
    ));
    let pointer = app.world_mut().spawn(PointerId::Mouse).id();
    app.edit_schedule(PreUpdate, |schedule| {
        schedule.set_executor(SingleThreadedExecutor::new());
    });
    (app, pointer)
}

/// Puts the pointer there (px), or nowhere.
fn point(app: &mut App, pointer: Entity, at: Option<Vec2>) {
    let handle = ImageRenderTarget { handle: default(), scale_factor: 1.0 };
    let target = RenderTarget::Image(handle).normalize(None).expect("an image");
    let location = at.map(|position| Location { target, position });
    app.world_mut().entity_mut(pointer).insert(PointerLocation { location });
}

/// Whether the pointer is over the surface of a body.
fn is_hit(app: &App) -> bool {
    let hovered = &app.world().resource::<HoverMap>().0;
    let mut hits = hovered.values().flat_map(|hits| hits.values());
    hits.any(|hit| hit.extra_as::<SurfaceHit>().is_some())
}

/// Forgets the last frame's messages, and looks what is under the pointer.
fn frame(app: &mut App) {
    app.world_mut().run_schedule(First);
    app.world_mut().run_schedule(PreUpdate);
}

/// `nowhere` is without a pointer, `beside` with one that is over no body. Elements: vertices.
fn picking(c: &mut Criterion) {
    let size = UVec2::splat(100);
    let (mut app, pointer) = app_with_pointer(size);
    let mut group = c.benchmark_group(format!("picking_{}", name(size)));
    group.throughput(Throughput::Elements(u64::from(size.element_product())));
    let middle = SCREEN.as_vec2() * 0.5;
    for (what, at) in
        [("nowhere", None), ("beside", Some(Vec2::new(4.0, 356.0))), ("surface", Some(middle))]
    {
        point(&mut app, pointer, at);
        frame(&mut app);
        assert_eq!(is_hit(&app), what == "surface", "{what}");
        group.bench_function(what, |b| b.iter(|| frame(&mut app)));
    }
    let mut particles = app.world_mut().query_filtered::<Entity, With<Particle>>();
    let all: Vec<Entity> = particles.iter(app.world()).collect();
    for particle in all {
        app.world_mut().entity_mut(particle).insert(Pickable::default());
    }
    // Each particle is a target of its own now.
    frame(&mut app);
    assert!(is_hit(&app), "a particle does not hide its body");
    group.bench_function("surface_and_particles", |b| b.iter(|| frame(&mut app)));
    group.finish();
}

criterion_group!(benches, picking);
criterion_main!(benches);
