//! What drawing costs on the CPU.

mod common;

use bevy::{
    asset::RenderAssetUsages,
    ecs::schedule::SingleThreadedExecutor,
    prelude::*,
    render::render_resource::{Extent3d, TextureDimension, TextureFormat},
};
use bevy_pliant::{
    prelude::*,
    recipe::Bone,
    skin::{CharacterMaterial, CharacterSkin, DerivedMesh},
    solver::DrawnPose,
};
use common::{app, app_with_cloths, name};
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

/// Bones of the characters: five limbs of four, in a row of discs each.
const BONES: u32 = 20;

/// A picture of 256×256 pixels with a limb in each of five rows.
fn picture() -> Image {
    let pixels = (0..256u32 * 256).flat_map(|i| {
        let in_row = (i / 256) % 51;
        let is_limb = (8..43).contains(&in_row) || i % 256 < 20;
        [255, 200, 100, if is_limb { 255 } else { 0 }]
    });
    Image::new(
        Extent3d { width: 256, height: 256, depth_or_array_layers: 1 },
        TextureDimension::D2,
        pixels.collect(),
        TextureFormat::Rgba8UnormSrgb,
        RenderAssetUsages::default(),
    )
}

/// An app with so many characters, bound.
fn app_with_characters(count: u32) -> (App, Vec<Entity>) {
    let mut app = app(1);
    app.init_asset::<Image>().init_asset::<CharacterMaterial>();
    let texture = app.world_mut().resource_mut::<Assets<Image>>().add(picture());
    let bones = (0..BONES).map(|i| {
        let at = Vec2::new((i % 4) as f32 * 0.24 - 0.36, 0.4 - (i / 4) as f32 * 0.2);
        Bone::new(at, Vec2::new(0.12, 0.065))
    });
    let ragdoll = SpriteRagdoll {
        self_contact: false,
        soft_contact: false,
        ..SpriteRagdoll::of_bones(bones.collect()).with_texture(texture)
    };
    let bodies: Vec<Entity> =
        (0..count).map(|_| app.world_mut().spawn(ragdoll.clone()).id()).collect();
    for _ in 0..common::WARM_UP {
        app.update();
    }
    app.edit_schedule(PostUpdate, |schedule| {
        schedule.set_executor(SingleThreadedExecutor::new());
    });
    (app, bodies)
}

/// Where the CPU puts a character's vertices. Elements: vertices.
fn character_deform(c: &mut Criterion) {
    let (app, bodies) = app_with_characters(1);
    let skin = app.world().get::<CharacterSkin>(bodies[0]).expect("the character is bound");
    let vertices = skin.binding().positions.len();
    let mut group = c.benchmark_group("character_deform");
    group.throughput(Throughput::Elements(vertices as u64));
    group.bench_function(format!("{vertices}"), |b| {
        b.iter(|| skin.deform().fold(Vec2::ZERO, |sum, at| sum + at));
    });
    group.finish();
}

/// One run of `PostUpdate` after a tick in which all characters moved: poses, boxes, palette. Elements:
/// characters.
fn character_palette(c: &mut Criterion) {
    let count = 100;
    let (mut app, bodies) = app_with_characters(count);
    let mut group = c.benchmark_group("character_palette");
    group.throughput(Throughput::Elements(u64::from(count)));
    group.bench_function(format!("{count}x{BONES}"), |b| {
        b.iter(|| {
            for body in &bodies {
                if let Some(mut pose) = app.world_mut().get_mut::<DrawnPose>(*body) {
                    pose.positions.iter_mut().for_each(|position| position.x += 1e-3);
                }
            }
            app.world_mut().run_schedule(PostUpdate);
        });
    });
    group.finish();
}

/// What the first character of a picture costs: its mesh and weights.
fn character_bind(c: &mut Criterion) {
    let (mut app, bodies) = app_with_characters(1);
    let mut spacing = 0.02;
    c.bench_function("character_bind", |b| {
        b.iter(|| {
            // Another mesh each time.
            spacing *= 1.000_001;
            let mut body = app.world_mut().entity_mut(bodies[0]);
            let built = &mut body.get_mut::<bevy_pliant::recipe::BuiltFrom<SpriteRagdoll>>();
            built.as_mut().expect("is built").0.skin_spacing = Some(spacing);
            app.world_mut().run_schedule(PostUpdate);
        });
    });
}

criterion_group!(benches, cloth_mesh, character_deform, character_palette, character_bind);
criterion_main!(benches);
