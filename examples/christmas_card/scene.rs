//! The picture behind, and the message.

use bevy::prelude::*;

use super::common::stage2d::Room;

/// Spawns the card's picture and its message.
pub struct ScenePlugin {
    /// What the card says.
    pub message: String,
}

impl Plugin for ScenePlugin {
    fn build(&self, app: &mut App) {
        let message = self.message.clone();
        app.insert_resource(ClearColor(Color::srgb(0.05, 0.09, 0.2))).add_systems(
            Startup,
            (backdrop, move |mut commands: Commands| write(&message, &mut commands)),
        );
    }
}

fn backdrop(room: Res<Room>, server: Res<AssetServer>, mut commands: Commands) {
    commands.spawn((
        Sprite {
            custom_size: Some(room.least.size()),
            ..Sprite::from_image(server.load("card/background.png"))
        },
        Transform::from_translation(room.least.center().extend(-9.0)),
    ));
}

fn write(message: &str, commands: &mut Commands) {
    commands.spawn((
        Text2d::new(message),
        TextColor(Color::srgb(1.0, 0.9, 0.65)),
        TextFont { font_size: FontSize::Px(90.0), ..default() },
        Transform::from_xyz(0.0, 1.75, -5.0).with_scale(Vec3::splat(0.003)),
    ));
}
