//! A flag in gusty wind, on a pole that walks and sways.

use bevy::{
    asset::RenderAssetUsages,
    camera::visibility::NoFrustumCulling,
    core_pipeline::tonemapping::Tonemapping,
    light::{
        CascadeShadowConfigBuilder, DirectionalLightShadowMap, NotShadowCaster, NotShadowReceiver,
    },
    mesh::VertexAttributeValues,
    prelude::*,
    render::render_resource::{Extent3d, TextureDimension, TextureFormat},
};
use bevy_pliant::prelude::*;
use core::f32::consts::{FRAC_PI_2, TAU};

use super::common::{
    OrbitCamera, bodies,
    texture::{PendingMipmaps, Texels, add_tiled},
};

/// Particles along and down the flag, and their distance (m).
const SIZE: UVec2 = UVec2::new(61, 41);
const SPACING: f32 = 0.08;
/// Height of the pole, and of the flag's upper edge (m).
const POLE: f32 = 7.4;
const TOP: f32 = 7.1;
const POLE_RADIUS: f32 = 0.055;

const HORIZON: Color = Color::srgb(0.80, 0.87, 0.93);

/// The scene, with its own light and sky.
pub struct FlagScene;

impl Plugin for FlagScene {
    fn build(&self, app: &mut App) {
        let gusts = Turbulence::new(3.4, 1.1, 3.0).with_seed(4);
        app.insert_resource(Air::wind(Vec3::new(5.5, 0.0, -1.4)).with_turbulence(gusts))
            .insert_resource(DirectionalLightShadowMap { size: 4096 })
            .insert_resource(ClearColor(HORIZON))
            .add_plugins(bodies::BodiesPlugin {
                bodies: 1,
                text_color: Color::srgb(0.1, 0.15, 0.2),
            })
            .add_systems(Startup, (spawn_flag, spawn_ground_and_sky, spawn_camera_and_sun))
            .add_systems(Update, walk);
    }
}

/// Marks the pole: its foot stands at its origin.
#[derive(Component)]
struct Pole;

/// Where the pole stands after `t` seconds: it walks slowly to and fro, turns and leans.
fn pole_at(t: f32) -> Transform {
    let wave = |period: f32, phase: f32| (TAU * (t / period + phase)).sin();
    let x = -1.9 + 0.8 * wave(15.0, 0.0);
    let z = 0.8 * wave(11.0, 0.15);
    let lean = Quat::from_rotation_z(-0.05 + 0.05 * wave(6.0, 0.4))
        * Quat::from_rotation_x(0.06 * wave(7.5, 0.1));
    Transform::from_xyz(x, 0.0, z)
        .with_rotation(lean * Quat::from_rotation_y(0.25 * wave(13.0, 0.3)))
}

fn walk(clock: Res<SolverClock>, mut poles: Query<&mut Transform, With<Pole>>) {
    for mut pole in &mut poles {
        *pole = pole_at(clock.elapsed as f32);
    }
}

fn spawn_flag(
    mut pending: ResMut<PendingMipmaps>,
    mut images: ResMut<Assets<Image>>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    mut commands: Commands,
) {
    let width = (SIZE.x - 1) as f32 * SPACING;
    let hoist = (0..SIZE.y).map(|row| row * SIZE.x).collect();
    let nylon = StandardMaterial {
        base_color_texture: Some(add_tiled(&mut images, &mut pending, picture(), Texels::Color)),
        perceptual_roughness: 0.75,
        reflectance: 0.3,
        diffuse_transmission: 0.3,
        double_sided: true,
        cull_mode: None,
        ..default()
    };
    let wood = materials.add(StandardMaterial {
        base_color: Color::srgb(0.87, 0.85, 0.80),
        perceptual_roughness: 0.5,
        ..default()
    });
    let brass = materials.add(StandardMaterial {
        base_color: Color::srgb(0.85, 0.62, 0.25),
        metallic: 0.7,
        perceptual_roughness: 0.3,
        ..default()
    });
    let stone = materials.add(StandardMaterial {
        base_color: Color::srgb(0.42, 0.40, 0.38),
        perceptual_roughness: 0.9,
        ..default()
    });
    commands.spawn((Pole, pole_at(0.0), Visibility::default())).with_children(|pole| {
        pole.spawn((
            Name::new("Flag"),
            Cloth::grid(SIZE, SPACING)
                .pinned(ClothPins::Indices(hoist))
                .with_mass(ClothMass::PerArea(0.11))
                .with_bending(250.0),
            BodySettings::default(),
            MeshMaterial3d(materials.add(nylon)),
            Transform::from_xyz(POLE_RADIUS + 0.5 * width, TOP, 0.0),
        ));
        pole.spawn((
            Mesh3d(meshes.add(Cylinder::new(POLE_RADIUS, POLE))),
            MeshMaterial3d(wood),
            Transform::from_xyz(0.0, 0.5 * POLE, 0.0),
        ));
        pole.spawn((
            Mesh3d(meshes.add(Sphere::new(0.13).mesh().uv(32, 18))),
            MeshMaterial3d(brass),
            Transform::from_xyz(0.0, POLE + 0.1, 0.0),
        ));
        pole.spawn((
            Mesh3d(meshes.add(ConicalFrustum {
                radius_top: 0.28,
                radius_bottom: 0.5,
                height: 0.3,
            })),
            MeshMaterial3d(stone),
            Transform::from_xyz(0.0, 0.13, 0.0),
        ));
    });
    commands.spawn((Obstacle::HALF_SPACE, Transform::default()));
}

fn spawn_ground_and_sky(
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    mut commands: Commands,
) {
    commands.spawn((
        Mesh3d(meshes.add(Circle::new(400.0))),
        MeshMaterial3d(materials.add(StandardMaterial {
            base_color: Color::srgb(0.40, 0.47, 0.27),
            perceptual_roughness: 1.0,
            reflectance: 0.1,
            ..default()
        })),
        Transform::from_rotation(Quat::from_rotation_x(-FRAC_PI_2)),
    ));
    // A dome, pale at the horizon.
    let mut dome = Sphere::new(300.0).mesh().uv(48, 64);
    if let Some(VertexAttributeValues::Float32x3(places)) = dome.attribute(Mesh::ATTRIBUTE_POSITION)
    {
        let (low, high) = (LinearRgba::from(HORIZON), LinearRgba::rgb(0.10, 0.27, 0.62));
        let color = |p: &[f32; 3]| {
            let up = (p[1] / 300.0).clamp(0.0, 1.0);
            low.mix(&high, 1.0 - (1.0 - up).powi(3)).to_f32_array()
        };
        let colors: Vec<[f32; 4]> = places.iter().map(color).collect();
        dome.insert_attribute(Mesh::ATTRIBUTE_COLOR, colors);
    }
    commands.spawn((
        Mesh3d(meshes.add(dome)),
        MeshMaterial3d(materials.add(StandardMaterial {
            unlit: true,
            fog_enabled: false,
            cull_mode: None,
            ..default()
        })),
        NotShadowCaster,
        NotShadowReceiver,
        NoFrustumCulling,
    ));
}

fn spawn_camera_and_sun(mut images: ResMut<Assets<Image>>, mut commands: Commands) {
    let camera = OrbitCamera::looking_at(Vec3::new(1.6, 2.4, 13.8), Vec3::new(0.2, 3.95, 0.0));
    commands.spawn((
        Camera3d::default(),
        Projection::Perspective(PerspectiveProjection { fov: 35_f32.to_radians(), ..default() }),
        camera.transform(),
        camera,
        Tonemapping::TonyMcMapface,
        DistanceFog {
            color: HORIZON,
            falloff: FogFalloff::Linear { start: 25.0, end: 140.0 },
            ..default()
        },
        EnvironmentMapLight {
            intensity: 900.0,
            ..EnvironmentMapLight::hemispherical_gradient(
                &mut images,
                Color::srgb(0.62, 0.76, 0.98),
                Color::srgb(0.80, 0.85, 0.90),
                Color::srgb(0.36, 0.40, 0.26),
            )
        },
    ));
    commands.spawn((
        DirectionalLight {
            color: Color::srgb(1.0, 0.94, 0.84),
            illuminance: 9000.0,
            shadow_maps_enabled: true,
            shadow_depth_bias: 0.05,
            shadow_normal_bias: 2.5,
            ..default()
        },
        CascadeShadowConfigBuilder {
            num_cascades: 1,
            minimum_distance: 1.0,
            maximum_distance: 40.0,
            ..default()
        }
        .build(),
        Transform::from_xyz(-7.0, 9.5, 4.6).looking_at(Vec3::ZERO, Vec3::Y),
    ));
}

/// Pixels a metre of the flag's picture.
const RESOLUTION: f32 = 256.0;

/// The flag: a sun with twelve rays over waves, hemmed.
fn picture() -> Image {
    let size = (SIZE - UVec2::ONE).as_vec2() * SPACING;
    let (width, height) = ((size.x * RESOLUTION) as u32, (size.y * RESOLUTION) as u32);
    let mut data = Vec::with_capacity((width * height * 4) as usize);
    for y in 0..height {
        for x in 0..width {
            let place = (Vec2::new(x as f32, y as f32) + 0.5) / RESOLUTION;
            let color = Srgba::from(design(place, size)).to_u8_array_no_alpha();
            data.extend([color[0], color[1], color[2], 255]);
        }
    }
    Image::new(
        Extent3d { width, height, depth_or_array_layers: 1 },
        TextureDimension::D2,
        data,
        TextureFormat::Rgba8UnormSrgb,
        RenderAssetUsages::default(),
    )
}

/// The colour at `place` (m, from the upper left corner) of a flag of `size`.
fn design(place: Vec2, size: Vec2) -> LinearRgba {
    let rgb = |r, g, b| LinearRgba::from(Color::srgb_u8(r, g, b));
    let (sky, sun, foam) = (rgb(0xf3, 0xe9, 0xd2), rgb(0xe0, 0x4f, 0x2f), rgb(0xf3, 0xe9, 0xd2));
    let (sea, deep) = (rgb(0x2a, 0x7f, 0x9e), rgb(0x14, 0x3d, 0x66));
    // How much of a pixel lies where `distance` (m) is below 0.
    let within = |distance: f32| (0.5 - distance * RESOLUTION).clamp(0.0, 1.0);
    let mut color = sky;
    let from_sun = place - Vec2::new(0.5 * size.x, 0.36 * size.y);
    let radius = from_sun.length();
    color = color.mix(&sun, within(radius - 0.44));
    // Rays: wedges between two circles.
    let turn = (from_sun.to_angle() / TAU * 12.0).rem_euclid(1.0) - 0.5;
    let off_axis = turn.abs() / 12.0 * TAU * radius;
    let ray = (off_axis - 0.10 * (0.9 - radius).max(0.0) / 0.36).max(0.54 - radius);
    color = color.mix(&sun, within(ray.max(radius - 0.9)));
    // Three waves.
    for (i, band) in [sea, foam, deep].into_iter().enumerate() {
        let crest = (0.66 + 0.105 * i as f32) * size.y;
        let phase = place.x / size.x * 3.0 + 0.17 * i as f32;
        let level = crest + 0.07 * (TAU * phase).sin();
        color = color.mix(&band, within(level - place.y));
    }
    // Threads, the hem, and the canvas of the hoist with its seam.
    let thread = 1.0 + 0.02 * ((place.x * 900.0).sin() + (place.y * 900.0).sin());
    let edge = place.x.min(size.x - place.x).min(place.y).min(size.y - place.y);
    color = color.mix(&rgb(0xee, 0xe8, 0xdc), within(place.x - 0.13));
    let stitch = (edge - 0.06).abs().min((place.x - 0.13).abs()) - 0.006;
    let shade = thread * (1.0 - 0.25 * within(stitch)) * if edge < 0.06 { 0.93 } else { 1.0 };
    LinearRgba::rgb(color.red * shade, color.green * shade, color.blue * shade)
}
