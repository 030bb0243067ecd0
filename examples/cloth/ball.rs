//! A cloth that falls over a ball, which then spins and wanders: friction takes the cloth along.

use bevy::prelude::*;
use bevy_pliant::prelude::*;
use core::f32::consts::{FRAC_PI_2, TAU};

use super::common::{
    bodies,
    stage::{StagePlugin, linen},
    texture::PendingMipmaps,
};

/// Particles along each side of the cloth, and their distance (m).
const SIZE: u32 = 71;
const SPACING: f32 = 0.07;
/// The ball's radius, and its height (m).
const RADIUS: f32 = 1.1;
const HEIGHT: f32 = 1.9;
/// When the ball begins to move (s).
const START: f32 = 2.5;

/// The scene.
pub struct BallScene;

impl Plugin for BallScene {
    fn build(&self, app: &mut App) {
        app.add_plugins((
            StagePlugin { eye: Vec3::new(3.6, 3.7, 7.6), target: Vec3::new(0.0, 1.55, 0.0) },
            bodies::BodiesPlugin { bodies: 1, text_color: Color::WHITE },
        ))
        .add_systems(Startup, spawn)
        .add_systems(Update, spin);
    }
}

/// Marks the ball.
#[derive(Component)]
struct Ball;

fn spawn(
    server: Res<AssetServer>,
    mut pending: ResMut<PendingMipmaps>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    mut commands: Commands,
) {
    let side = SPACING * (SIZE - 1) as f32;
    let friction = Friction::new(1.0);
    let cloth = linen(&server, &mut pending, Vec2::splat(side));
    commands.spawn((
        Name::new("Cloth"),
        Cloth::grid(UVec2::splat(SIZE), SPACING).with_friction(friction).with_bending(300.0),
        BodySettings { self_contact: true, ..default() },
        MeshMaterial3d(materials.add(cloth)),
        Transform::from_xyz(0.0, HEIGHT + RADIUS + 0.6, -0.5 * side)
            .with_rotation(Quat::from_rotation_x(-FRAC_PI_2)),
    ));
    commands.spawn((
        Ball,
        Obstacle::sphere(RADIUS).with_friction(friction),
        Mesh3d(
            meshes.add(
                Sphere::new(RADIUS)
                    .mesh()
                    .ico(24)
                    .unwrap_or_else(|_| Sphere::new(RADIUS).mesh().uv(64, 32)),
            ),
        ),
        MeshMaterial3d(materials.add(StandardMaterial {
            base_color: Color::srgb(0.16, 0.20, 0.26),
            perceptual_roughness: 0.35,
            ..default()
        })),
        Transform::from_xyz(0.0, HEIGHT, 0.0),
    ));
    commands.spawn((Obstacle::HALF_SPACE.with_friction(friction), Transform::default()));
}

/// The ball spins up, turns the other way, and wanders in a circle.
fn spin(clock: Res<SolverClock>, mut balls: Query<&mut Transform, With<Ball>>) {
    let t = (clock.elapsed as f32 - START).max(0.0);
    let eased = t.min(2.0) / 2.0;
    let eased = eased * eased * (3.0 - 2.0 * eased);
    for mut ball in &mut balls {
        let around = TAU * t / 9.0;
        ball.translation.x = 0.5 * eased * around.sin();
        ball.translation.z = 0.5 * eased * (1.0 - around.cos());
        ball.rotation = Quat::from_rotation_y(4.0 * (1.0 - (TAU * t / 12.0).cos()));
    }
}
