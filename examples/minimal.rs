//! The shortest useful app: a cloth that hangs from two corners.
//!
//! For a panel that shows and tunes it, add `bevy_pliant::interact::InspectorPlugin::default()` to the plugins.

use bevy::prelude::*;
use bevy_pliant::prelude::*;

fn main() {
    App::new()
        .add_plugins((DefaultPlugins, PliantPlugins::default()))
        .add_systems(Startup, setup)
        .run();
}

fn setup(mut commands: Commands, mut materials: ResMut<Assets<StandardMaterial>>) {
    commands.spawn((
        Cloth::grid(UVec2::new(40, 30), 0.1).pinned(ClothPins::TopCorners),
        MeshMaterial3d(materials.add(StandardMaterial {
            base_color: Color::srgb(0.8, 0.2, 0.2),
            double_sided: true,
            cull_mode: None,
            ..default()
        })),
        Transform::from_xyz(0.0, 4.0, 0.0),
    ));
    commands.spawn((
        Camera3d::default(),
        Transform::from_xyz(2.0, 3.0, 6.0).looking_at(Vec3::Y * 2.5, Vec3::Y),
    ));
    commands
        .spawn((DirectionalLight::default(), Transform::default().looking_to(-Vec3::ONE, Vec3::Y)));
}
