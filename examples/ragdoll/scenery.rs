//! A small post office: a wall and a floor, and a few obstacles.

use bevy::prelude::*;
use bevy_pliant::prelude::*;

use super::common::{
    Args, panel,
    stage2d::{Room, cover},
};

/// Spawns the scenery at `Startup`.
pub struct SceneryPlugin {
    /// Whether it is drawn; the obstacles are there in any case.
    pub visible: bool,
}

impl Plugin for SceneryPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(Drawn(self.visible)).add_systems(Startup, obstacles);
        if self.visible {
            app.insert_resource(ClearColor(Color::srgb_u8(193, 204, 194)))
                .add_systems(Startup, (backdrop, help));
        }
    }
}

#[derive(Resource)]
struct Drawn(bool);

/// The colour of outlines, as in the postman's picture.
const OUTLINE: Color = Color::srgb(0.21, 0.09, 0.06);
/// Their width (m).
const LINE: f32 = 0.012;
/// How far behind the postmen obstacles are drawn (m).
const BEHIND: f32 = -2.0;

/// A shelf that has come down, a ball and a parcel.
const SHELF: Vec2 = Vec2::new(1.3, 0.08);
const BALL: f32 = 0.21;
const PARCEL: Vec2 = Vec2::new(0.62, 0.26);

/// Meshes and materials of flat things.
#[derive(bevy::ecs::system::SystemParam)]
struct Paint<'w> {
    meshes: ResMut<'w, Assets<Mesh>>,
    materials: ResMut<'w, Assets<ColorMaterial>>,
}

impl Paint<'_> {
    /// A thing at a place in its parent's frame; the later of `layer`, the nearer.
    fn part(&mut self, mesh: impl Into<Mesh>, color: Color, at: Vec2, layer: u8) -> impl Bundle {
        (
            Mesh2d(self.meshes.add(mesh)),
            MeshMaterial2d(self.materials.add(color)),
            Transform::from_translation(at.extend(0.01 * f32::from(layer))),
        )
    }
}

fn obstacles(
    drawn: Res<Drawn>,
    server: Res<AssetServer>,
    mut paint: Paint,
    mut commands: Commands,
) {
    let friction = Friction::new(0.6);
    let mut add = |obstacle: Obstacle, x: f32, y: f32, angle: f32| {
        let place = Transform::from_xyz(x, y, BEHIND).with_rotation(Quat::from_rotation_z(angle));
        let obstacle = obstacle.with_friction(friction);
        commands.spawn((obstacle, place, Visibility::default())).id()
    };
    let shelf = add(Obstacle::rectangle(SHELF), 1.35, 0.42, 0.5);
    let ball = add(Obstacle::circle(BALL), -0.3, BALL, 0.3);
    let parcel = add(Obstacle::rectangle(PARCEL), -1.75, 0.5 * PARCEL.y, 0.0);
    if !drawn.0 {
        return;
    }
    let inner = Vec2::splat(2.0 * LINE);
    let wood = Sprite {
        custom_size: Some(SHELF - inner),
        image_mode: SpriteImageMode::Tiled { tile_x: true, tile_y: false, stretch_value: 0.0012 },
        ..Sprite::from_image(server.load("stage/plank.png"))
    };
    let red = Color::srgb_u8(0xc8, 0x3a, 0x33);
    let gold = Color::srgb_u8(0xf2, 0xc1, 0x4a);
    let shine = Color::srgba(1.0, 1.0, 1.0, 0.55);
    let disc = |radius: f32| Circle::new(radius).mesh().resolution(64).build();
    let card = PARCEL - inner;
    let cord = Color::srgb_u8(0xb8, 0x32, 0x2f);
    commands
        .entity(shelf)
        .with_child(paint.part(Rectangle::from_size(SHELF), OUTLINE, Vec2::ZERO, 0))
        .with_child((wood, Transform::from_xyz(0.0, 0.0, 0.01)));
    commands
        .entity(ball)
        .with_child(paint.part(disc(BALL), OUTLINE, Vec2::ZERO, 0))
        .with_child(paint.part(disc(BALL - LINE), red, Vec2::ZERO, 1))
        .with_child(paint.part(Rectangle::new(1.93 * (BALL - LINE), 0.1), gold, Vec2::ZERO, 2))
        .with_child(paint.part(disc(0.075), gold, Vec2::ZERO, 3))
        .with_child(paint.part(disc(0.05), red, Vec2::ZERO, 4))
        .with_child(paint.part(disc(0.03), shine, Vec2::new(-0.075, 0.115), 5));
    commands
        .entity(parcel)
        .with_child(paint.part(Rectangle::from_size(PARCEL), OUTLINE, Vec2::ZERO, 0))
        .with_child(paint.part(
            Rectangle::from_size(card),
            Color::srgb_u8(0xc9, 0x9a, 0x66),
            Vec2::ZERO,
            1,
        ))
        .with_child(paint.part(Rectangle::new(0.03, card.y), cord, Vec2::ZERO, 2))
        .with_child(paint.part(Rectangle::new(card.x, 0.03), cord, Vec2::ZERO, 2))
        .with_child(paint.part(
            Rectangle::new(0.13, 0.085),
            Color::srgb_u8(0xff, 0xfa, 0xf0),
            Vec2::new(0.18, 0.06),
            3,
        ));
}

fn backdrop(room: Res<Room>, server: Res<AssetServer>, mut commands: Commands) {
    commands.spawn(cover(server.load("stage/backdrop.png"), 16.0 / 9.0, &room));
}

fn help(args: Res<Args>, mut commands: Commands) {
    let keys = "drag, throw   Space bag   T toss   B bones   M mesh   R restart";
    panel::spawn_help(&mut commands, &args, keys, OUTLINE.with_alpha(0.8));
}
