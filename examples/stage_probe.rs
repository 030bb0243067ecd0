//! Temporary: a still, sine-draped cloth on the stage.

mod common;

use bevy::{asset::RenderAssetUsages, mesh::Indices, mesh::PrimitiveTopology, prelude::*};
use common::{Args, Example, Measures, Opt, Ready, texture};

fn main() -> AppExit {
    Example {
        name: "stage_probe",
        about: "A still cloth on the stage.",
        options: const { &[Opt::real("folds", 3.0, 0.0..=20.0, "folds across")] },
        measure: |world| Measures {
            ticks: world.resource::<Ticks>().0,
            ms_per_tick: f64::NAN,
            hash: 0x1234,
            finite: true,
            ..default()
        },
    }
    .app()
    .add_plugins(common::stage::StagePlugin::default())
    .init_resource::<Ticks>()
    .add_systems(Startup, scene)
    .add_systems(FixedUpdate, |mut ticks: ResMut<Ticks>| ticks.0 += 1)
    .add_systems(Update, |mut ready: ResMut<Ready>, mut n: Local<u32>| {
        *n += 1;
        ready.0 = *n > 5;
    })
    .run()
}

#[derive(Resource, Default)]
struct Ticks(u64);

fn scene(
    args: Res<Args>,
    server: Res<AssetServer>,
    mut pending: ResMut<texture::PendingMipmaps>,
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    let color = texture::load_tiled(
        &server,
        &mut pending,
        "textures/weave_color.png",
        texture::Texels::Color,
    );
    let normal = texture::load_tiled(
        &server,
        &mut pending,
        "textures/weave_normal.png",
        texture::Texels::Linear,
    );
    let folds = args.real("folds");
    let (nx, ny) = (160_u32, 120_u32);
    let (mut p, mut uv, mut idx) = (vec![], vec![], vec![]);
    for j in 0..=ny {
        for i in 0..=nx {
            let (u, v) = (i as f32 / nx as f32, j as f32 / ny as f32);
            let x = (u - 0.5) * 8.0;
            let sag = 0.9 * (1.0 - (2.0 * u - 1.0).powi(2)) * (1.0 - 0.3 * v);
            let depth = (folds * core::f32::consts::TAU * u + 0.8 * (3.0 * v).sin()).sin()
                * 0.45
                * (0.15 + v)
                + 0.5 * (v * 2.4 + u).sin() * v;
            p.push([x * (1.0 - 0.12 * v), 6.5 - 5.6 * v - sag, depth]);
            uv.push([u * 20.0, v * 15.0]);
        }
    }
    for j in 0..ny {
        for i in 0..nx {
            let a = j * (nx + 1) + i;
            let b = a + nx + 1;
            idx.extend([a, b, a + 1, a + 1, b, b + 1]);
        }
    }
    let mesh = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default())
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, p)
        .with_inserted_attribute(Mesh::ATTRIBUTE_UV_0, uv)
        .with_inserted_indices(Indices::U32(idx))
        .with_computed_smooth_normals()
        .with_generated_tangents()
        .unwrap();
    commands.spawn((
        Mesh3d(meshes.add(mesh)),
        MeshMaterial3d(materials.add(StandardMaterial {
            base_color_texture: Some(color),
            normal_map_texture: Some(normal),
            perceptual_roughness: 0.88,
            reflectance: 0.3,
            double_sided: true,
            cull_mode: None,
            ..default()
        })),
    ));
}
