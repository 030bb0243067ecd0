//! What stands around: a sky, a floor, and a few obstacles.

use bevy::prelude::*;
use bevy_pliant::prelude::*;

/// Spawns the scenery at `Startup`.
pub struct SceneryPlugin {
    /// Whether it is drawn; the obstacles are there in any case.
    pub visible: bool,
}

impl Plugin for SceneryPlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(Startup, obstacles);
        if self.visible {
            app.insert_resource(ClearColor(Color::srgb(0.72, 0.82, 0.88)))
                .add_systems(Startup, (backdrop, help));
        }
        let visible = self.visible;
        app.insert_resource(Drawn(visible));
    }
}

#[derive(Resource)]
struct Drawn(bool);

fn obstacles(
    drawn: Res<Drawn>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<ColorMaterial>>,
    mut commands: Commands,
) {
    let friction = Friction::new(0.6);
    let mut add = |obstacle: Obstacle, mesh: Mesh, color: Color, place: Transform| {
        let mut entity = commands.spawn((obstacle.with_friction(friction), place));
        if drawn.0 {
            entity.insert((Mesh2d(meshes.add(mesh)), MeshMaterial2d(materials.add(color))));
        }
    };
    let plank = Vec2::new(1.25, 0.06);
    add(
        Obstacle::rectangle(plank),
        Rectangle::from_size(plank).into(),
        Color::srgb(0.55, 0.38, 0.24),
        Transform::from_xyz(1.3, 0.42, -2.0).with_rotation(Quat::from_rotation_z(0.5)),
    );
    add(
        Obstacle::circle(0.22),
        Circle::new(0.22).mesh().resolution(64).build(),
        Color::srgb(0.80, 0.27, 0.22),
        Transform::from_xyz(-0.35, 0.22, -2.0),
    );
    let step = Vec2::new(0.7, 0.2);
    add(
        Obstacle::rectangle(step),
        Rectangle::from_size(step).into(),
        Color::srgb(0.47, 0.47, 0.5),
        Transform::from_xyz(-1.9, 0.1, -2.0),
    );
}

fn backdrop(
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<ColorMaterial>>,
    mut commands: Commands,
) {
    commands.spawn((
        Mesh2d(meshes.add(Rectangle::new(40.0, 4.0))),
        MeshMaterial2d(materials.add(Color::srgb(0.36, 0.45, 0.36))),
        Transform::from_xyz(0.0, -2.0, -5.0),
    ));
}

fn help(mut commands: Commands) {
    commands.spawn((
        Text::new("drag and throw    space  bag    T  toss    B  bones    M  mesh    R  restart    Esc  end"),
        TextColor(Color::srgba(1.0, 1.0, 1.0, 0.75)),
        TextFont { font_size: FontSize::Px(14.0), ..default() },
        Node {
            position_type: PositionType::Absolute,
            left: Val::Px(16.0),
            bottom: Val::Px(10.0),
            ..default()
        },
    ));
}
