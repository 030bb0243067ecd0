//! The picture behind, the hills of snow in front, and the message.

use bevy::prelude::*;
use bevy_pliant::prelude::*;

use super::common::stage2d::{Room, cover};

/// Size of the picture of the hills (pixels), the height of their crest in it (pixels from its top, every 40
/// pixels), and the row that is at the height of the floor.
const HILLS: Vec2 = Vec2::new(1280.0, 160.0);
const CREST: [u8; 33] = [
    44, 35, 29, 25, 26, 29, 35, 42, 47, 48, 46, 40, 32, 24, 19, 18, 21, 29, 38, 46, 50, 50, 45, 37,
    29, 24, 23, 26, 33, 41, 47, 49, 44,
];
const FLOOR: f32 = 50.0;
/// Width of a metre of hills (pixels).
const PIXELS: f32 = 1280.0 / 4.5;

/// Spawns the card's picture and its message.
pub struct ScenePlugin {
    /// What the card says; empty for Merry Christmas.
    pub message: String,
}

impl Plugin for ScenePlugin {
    fn build(&self, app: &mut App) {
        let message = self.message.clone();
        app.insert_resource(ClearColor(Color::srgb_u8(11, 21, 56))).add_systems(
            Startup,
            (scenery, move |server: Res<AssetServer>, mut commands: Commands| {
                write(&message, &server, &mut commands);
            }),
        );
    }
}

fn scenery(room: Res<Room>, server: Res<AssetServer>, mut commands: Commands) {
    commands.spawn(cover(server.load("card/background.png"), 16.0 / 9.0, &room));
    // The ends of the hills meet: there are some beside, for wide windows.
    let size = HILLS / PIXELS;
    for side in [-1.0, 0.0, 1.0] {
        let middle = side * size.x;
        commands.spawn((
            Sprite {
                custom_size: Some(size),
                ..Sprite::from_image(server.load("card/ground.png"))
            },
            Transform::from_xyz(middle, FLOOR / PIXELS - 0.5 * size.y, 3.0),
        ));
        for (i, pair) in CREST.windows(2).enumerate() {
            let step = HILLS.x / (CREST.len() - 1) as f32;
            let corner = |i: usize, row: u8| {
                let x = middle + (i as f32 * step - 0.5 * HILLS.x) / PIXELS;
                Vec2::new(x, (FLOOR - f32::from(row)) / PIXELS)
            };
            let (left, right) = (corner(i, pair[0]), corner(i + 1, pair[1]));
            let deep = |at: Vec2| Vec2::new(at.x, -0.5);
            let hill = Obstacle::polygon(vec![left, deep(left), deep(right), right]);
            commands.spawn((hill.with_friction(Friction::new(0.6)), Transform::default()));
        }
    }
}

fn write(message: &str, server: &AssetServer, commands: &mut Commands) {
    let at = Transform::from_xyz(0.1, 1.66, -5.0);
    if message.is_empty() {
        let picture = Sprite::from_image(server.load("card/message.png"));
        commands.spawn((Sprite { custom_size: Some(Vec2::new(1.62, 0.846)), ..picture }, at));
        return;
    }
    commands.spawn((
        Text2d::new(message),
        TextLayout::justify(Justify::Center),
        TextColor(Color::srgb(1.0, 0.92, 0.72)),
        TextFont { font_size: FontSize::Px(72.0), ..default() },
        at.with_scale(Vec3::splat(0.003)),
    ));
}
