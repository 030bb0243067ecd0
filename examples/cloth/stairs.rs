//! A blanket that falls down a flight of stairs: a level of triangles.

use bevy::{
    asset::RenderAssetUsages,
    mesh::{Indices, PrimitiveTopology},
    prelude::*,
};
use bevy_pliant::{obstacle::TriangleMesh, prelude::*};
use core::f32::consts::FRAC_PI_2;

use super::common::{
    bodies,
    stage::{StagePlugin, linen},
    texture::PendingMipmaps,
};

/// Steps, their depth and height, and the width of the stairs (m).
const STEPS: usize = 8;
const DEPTH: f32 = 0.62;
const RISE: f32 = 0.36;
const WIDTH: f32 = 3.6;
/// Where the lowest step begins (m).
const FRONT: f32 = 2.2;

/// Particles along and down the blanket, and their distance (m).
const SIZE: UVec2 = UVec2::new(57, 61);
const SPACING: f32 = 0.05;

/// The scene.
pub struct StairsScene;

impl Plugin for StairsScene {
    fn build(&self, app: &mut App) {
        app.add_plugins((
            StagePlugin { eye: Vec3::new(6.2, 4.7, 9.8), target: Vec3::new(0.0, 0.95, 0.6) },
            bodies::BodiesPlugin { bodies: 1, text_color: Color::WHITE },
        ))
        .add_systems(Startup, spawn);
    }
}

/// The profile of the stairs, from the front of the lowest step to the back of the highest: (z, y).
fn profile() -> Vec<Vec2> {
    let mut corners = vec![Vec2::new(FRONT, 0.0)];
    for step in 0..STEPS {
        let (z, y) = (FRONT - step as f32 * DEPTH, (step + 1) as f32 * RISE);
        corners.push(Vec2::new(z, y));
        let depth = if step + 1 == STEPS { 2.5 * DEPTH } else { DEPTH };
        corners.push(Vec2::new(z - depth, y));
    }
    let back = corners.last().map_or(0.0, |last| last.x);
    corners.push(Vec2::new(back, 0.0));
    corners
}

/// Treads and risers as strips of quads, and a side on each end; flat normals.
fn stairs() -> Mesh {
    let half = 0.5 * WIDTH;
    let corners = profile();
    let mut positions: Vec<[f32; 3]> = Vec::new();
    for pair in corners.windows(2) {
        let [a, b] = [pair[0], pair[1]];
        let quad = [(-half, a), (half, a), (half, b), (-half, b)].map(|(x, c)| [x, c.y, c.x]);
        positions.extend([quad[0], quad[1], quad[2], quad[0], quad[2], quad[3]]);
    }
    for side in [-half, half] {
        for pair in corners.windows(2).filter(|pair| pair[0].y == pair[1].y && pair[0].y > 0.0) {
            let [a, b] = [pair[0], pair[1]];
            let quad = [(a.x, 0.0), (b.x, 0.0), (b.x, b.y), (a.x, a.y)].map(|(z, y)| [side, y, z]);
            let order = if side > 0.0 { [0, 1, 2, 0, 2, 3] } else { [0, 2, 1, 0, 3, 2] };
            positions.extend(order.map(|i| quad[i]));
        }
    }
    let count = positions.len() as u32;
    Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default())
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, positions)
        .with_inserted_indices(Indices::U32((0..count).collect()))
        .with_duplicated_vertices()
        .with_computed_flat_normals()
}

fn spawn(
    server: Res<AssetServer>,
    mut pending: ResMut<PendingMipmaps>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    mut commands: Commands,
) -> Result {
    let mesh = stairs();
    let friction = Friction::new(0.25);
    commands.spawn((
        Obstacle::mesh(TriangleMesh::from_mesh(&mesh)?).with_friction(friction),
        Mesh3d(meshes.add(mesh)),
        MeshMaterial3d(materials.add(StandardMaterial {
            base_color: Color::srgb(0.52, 0.47, 0.42),
            perceptual_roughness: 0.85,
            ..default()
        })),
        Transform::default(),
    ));
    commands.spawn((Obstacle::HALF_SPACE.with_friction(friction), Transform::default()));
    let side = SPACING * (SIZE - UVec2::ONE).as_vec2();
    let cloth = linen(&server, &mut pending, side);
    let top = RISE * STEPS as f32;
    commands.spawn((
        Name::new("Blanket"),
        Cloth::grid(SIZE, SPACING).with_friction(friction).with_bending(100.0),
        BodySettings { self_contact: true, ..default() },
        MeshMaterial3d(materials.add(cloth)),
        Transform::from_xyz(0.0, top + 0.9, -1.9)
            .with_rotation(Quat::from_rotation_x(-FRAC_PI_2 + 0.35) * Quat::from_rotation_z(0.15)),
    ));
    Ok(())
}
