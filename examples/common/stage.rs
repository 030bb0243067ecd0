//! A studio for pictures of cloth: a seamless backdrop, a warm key light with shadows, cool fill.

use bevy::{
    asset::RenderAssetUsages,
    core_pipeline::tonemapping::Tonemapping,
    light::{CascadeShadowConfigBuilder, DirectionalLightShadowMap, NotShadowCaster},
    math::Affine2,
    mesh::{Indices, PrimitiveTopology},
    prelude::*,
    render::view::{ColorGrading, ColorGradingGlobal},
};

use super::{
    OrbitCamera,
    texture::{PendingMipmaps, Texels, load_tiled},
};

/// Half the width of the backdrop (m).
const HALF_WIDTH: f32 = 45.0;
/// Where the floor begins to turn up, and the radius of that turn (m).
const TURN_Z: f32 = -7.0;
const TURN_RADIUS: f32 = 9.0;
/// Where the floor begins, behind the camera, and where the wall ends (m).
const FRONT_Z: f32 = 40.0;
const TOP_Y: f32 = 40.0;

/// Spawns the stage and an [`OrbitCamera`] at `Startup`.
///
/// The floor is the plane y = 0 and only looks like one: for the solver it needs an obstacle. The
/// default view frames a cloth of 8 m by 6 m that hangs from y = 6.5 m in the plane z = 0.
#[derive(Clone, Debug)]
pub struct StagePlugin {
    /// Where the camera stands (m).
    pub eye: Vec3,
    /// What it looks at (m).
    pub target: Vec3,
}

impl Default for StagePlugin {
    fn default() -> Self {
        Self { eye: Vec3::new(4.6, 4.2, 15.2), target: Vec3::new(0.0, 3.25, 0.0) }
    }
}

impl Plugin for StagePlugin {
    fn build(&self, app: &mut App) {
        let camera = OrbitCamera::looking_at(self.eye, self.target);
        app.insert_resource(DirectionalLightShadowMap { size: 4096 }).add_systems(
            Startup,
            (
                move |mut commands: Commands, mut images: ResMut<Assets<Image>>| {
                    spawn_camera(&mut commands, &mut images, camera.clone());
                },
                spawn_lights,
                spawn_backdrop,
            ),
        );
    }
}

fn spawn_camera(commands: &mut Commands, images: &mut Assets<Image>, camera: OrbitCamera) {
    commands.spawn((
        Camera3d::default(),
        Projection::Perspective(PerspectiveProjection { fov: 30_f32.to_radians(), ..default() }),
        camera.transform(),
        camera,
        Tonemapping::TonyMcMapface,
        ColorGrading {
            global: ColorGradingGlobal { exposure: 0.25, post_saturation: 1.12, ..default() },
            ..default()
        },
        EnvironmentMapLight {
            intensity: 400.0,
            ..EnvironmentMapLight::hemispherical_gradient(
                images,
                Color::srgb(0.80, 0.88, 1.0),
                Color::srgb(0.55, 0.60, 0.66),
                Color::srgb(0.42, 0.34, 0.28),
            )
        },
    ));
}

fn spawn_lights(mut commands: Commands) {
    let toward_origin = |x, y, z| Transform::from_xyz(x, y, z).looking_at(Vec3::ZERO, Vec3::Y);
    commands.spawn((
        Name::new("key light"),
        DirectionalLight {
            color: Color::srgb(1.0, 0.91, 0.78),
            illuminance: 7600.0,
            shadow_maps_enabled: true,
            shadow_depth_bias: 0.06,
            shadow_normal_bias: 3.5,
            ..default()
        },
        CascadeShadowConfigBuilder {
            num_cascades: 1,
            minimum_distance: 1.0,
            maximum_distance: 32.0,
            ..default()
        }
        .build(),
        toward_origin(-8.5, 8.0, 7.5),
    ));
    commands.spawn((
        Name::new("fill light"),
        DirectionalLight { color: Color::srgb(0.72, 0.83, 1.0), illuminance: 700.0, ..default() },
        toward_origin(9.0, 4.0, 7.0),
    ));
    commands.spawn((
        Name::new("rim light"),
        DirectionalLight { color: Color::srgb(1.0, 0.85, 0.68), illuminance: 2600.0, ..default() },
        toward_origin(6.0, 7.0, -8.0),
    ));
}

fn spawn_backdrop(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    commands.spawn((
        Name::new("backdrop"),
        Mesh3d(meshes.add(backdrop())),
        MeshMaterial3d(materials.add(StandardMaterial {
            perceptual_roughness: 0.95,
            reflectance: 0.25,
            ..default()
        })),
        NotShadowCaster,
    ));
}

/// A floor that turns up into a wall without a seam, brightest where the scene is.
fn backdrop() -> Mesh {
    let centre = LinearRgba::from(Srgba::hex("3b535e").unwrap_or_default());
    let edge = LinearRgba::from(Srgba::hex("14212a").unwrap_or_default());
    let profile = profile();
    let columns = 64;
    let (mut positions, mut normals, mut colors) = (Vec::new(), Vec::new(), Vec::new());
    for &(point, normal) in &profile {
        for column in 0..=columns {
            let x = (column as f32 / columns as f32 * 2.0 - 1.0) * HALF_WIDTH;
            let position = Vec3::new(x, point.y, point.x);
            // Distance from the middle of the scene, along the surface as good as.
            let away = Vec3::new(x, point.y - 2.0, (point.x + 3.0) * 0.8).length() / 24.0;
            let fade = away.clamp(0.0, 1.0);
            let color = centre.mix(&edge, fade * fade * (3.0 - 2.0 * fade));
            positions.push(position);
            normals.push(Vec3::new(0.0, normal.y, normal.x));
            colors.push(color.to_f32_array());
        }
    }
    let mut indices = Vec::new();
    for row in 0..profile.len() as u32 - 1 {
        for column in 0..columns as u32 {
            let a = row * (columns as u32 + 1) + column;
            let b = a + columns as u32 + 1;
            indices.extend([a, a + 1, b, b, a + 1, b + 1]);
        }
    }
    Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::RENDER_WORLD)
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, positions)
        .with_inserted_attribute(Mesh::ATTRIBUTE_NORMAL, normals)
        .with_inserted_attribute(Mesh::ATTRIBUTE_COLOR, colors)
        .with_inserted_indices(Indices::U32(indices))
}

/// Points (z, y) and normals of the backdrop's section, from front to top.
fn profile() -> Vec<(Vec2, Vec2)> {
    let line = |from: Vec2, to: Vec2, n: u32, normal: Vec2| {
        (0..n).map(move |i| (from.lerp(to, i as f32 / n as f32), normal))
    };
    let middle = Vec2::new(TURN_Z, TURN_RADIUS);
    let floor = line(Vec2::new(FRONT_Z, 0.0), Vec2::new(TURN_Z, 0.0), 32, Vec2::Y);
    let turn = (0..24).map(|i| {
        let angle = i as f32 / 24.0 * core::f32::consts::FRAC_PI_2;
        let normal = Vec2::new(angle.sin(), angle.cos());
        (middle - normal * TURN_RADIUS, normal)
    });
    let wall_z = TURN_Z - TURN_RADIUS;
    let wall = line(Vec2::new(wall_z, TURN_RADIUS), Vec2::new(wall_z, TOP_Y), 24, Vec2::X);
    floor.chain(turn).chain(wall).collect()
}

/// A linen check, woven like `assets/textures/weave.py` says, that lets a little light through.
///
/// Its texture coordinates run from 0 to 1 over `size` (m): it is 32 threads a tile, and one tile for each
/// 0.4 m of cloth.
pub fn linen(server: &AssetServer, pending: &mut PendingMipmaps, size: Vec2) -> StandardMaterial {
    let mut load = |path, texels| Some(load_tiled(server, pending, path, texels));
    StandardMaterial {
        uv_transform: Affine2::from_scale(size / 0.4),
        base_color_texture: load("textures/weave_color.png", Texels::Color),
        normal_map_texture: load("textures/weave_normal.png", Texels::Linear),
        perceptual_roughness: 0.9,
        reflectance: 0.25,
        diffuse_transmission: 0.12,
        double_sided: true,
        cull_mode: None,
        ..default()
    }
}
