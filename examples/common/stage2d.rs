//! A flat scene in metres: a camera that shows a room of it, and walls where the picture ends.

use bevy::{camera::ScalingMode, prelude::*, window::WindowResized};
use bevy_pliant::prelude::*;

use super::{Args, panel::PanelShare};

/// Spawns at `Startup` a camera, the floor y = 0, walls, and a ceiling out of sight.
///
/// At least `size` is seen, whatever the shape of the window; the walls stand at its edges.
#[derive(Clone, Debug)]
pub struct Stage2dPlugin {
    /// What is seen at least (m).
    pub size: Vec2,
    /// How much of it is below the floor (m).
    pub below: f32,
    /// Friction of floor and walls.
    pub friction: Friction,
    /// Where the ceiling is above the floor (m).
    pub ceiling: f32,
}

impl Default for Stage2dPlugin {
    fn default() -> Self {
        Self {
            size: Vec2::new(4.5, 4.5 * 9.0 / 16.0),
            below: 0.25,
            friction: Friction::new(0.6),
            ceiling: 4.0,
        }
    }
}

/// What of a flat scene is seen.
#[derive(Resource, Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// The part that is seen at least, whatever the window's shape (m).
    pub least: Rect,
    /// All that is seen beside the panel (m): from wall to wall.
    pub seen: Rect,
    /// All that is drawn (m), also what lies under the panel and above that.
    pub drawn: Rect,
}

impl Room {
    fn new(least: Rect, window: Vec2, share: PanelShare) -> Self {
        let window = window.max(Vec2::ONE);
        let scale = (least.size() / window).max_element();
        // The floor stays where it is at the lower edge.
        let size = window * scale;
        let corner = Vec2::new(-0.5 * size.x, least.min.y);
        let seen = Rect::from_corners(corner, corner + size);
        Self { least, seen, drawn: seen }.beside(share)
    }

    /// The same beside a panel that takes this share of the picture.
    fn beside(self, share: PanelShare) -> Self {
        let all = self.seen.size() / (1.0 - share.0).max(0.1);
        Self { drawn: Rect::from_corners(self.seen.min, self.seen.min + all), ..self }
    }
}

/// A wall at the left (−1) or right (1) edge of the picture.
#[derive(Component)]
struct Wall(f32);

impl Plugin for Stage2dPlugin {
    fn build(&self, app: &mut App) {
        let corner = Vec2::new(-0.5 * self.size.x, -self.below);
        let least = Rect::from_corners(corner, corner + self.size);
        let window = app.world().resource::<Args>().size.as_vec2();
        let share = *app.world().resource::<PanelShare>();
        let stage = self.clone();
        app.insert_resource(Room::new(least, window, share))
            .add_systems(Startup, move |room: Res<Room>, mut commands: Commands| {
                spawn(&stage, &room, &mut commands);
            })
            .add_systems(
                Update,
                (fit, (frame, cover_room).run_if(resource_exists_and_changed::<Room>)).chain(),
            );
    }
}

/// Marks the camera that shows the room.
#[derive(Component)]
pub struct RoomCamera;

/// What of a room is drawn, as a camera has it.
fn view(room: &Room) -> (Projection, Transform) {
    let size = room.drawn.size();
    let projection = OrthographicProjection {
        scaling_mode: ScalingMode::Fixed { width: size.x, height: size.y },
        ..OrthographicProjection::default_2d()
    };
    let at = Transform::from_translation(room.drawn.center().extend(0.0));
    (Projection::Orthographic(projection), at)
}

fn spawn(stage: &Stage2dPlugin, room: &Room, commands: &mut Commands) {
    commands.spawn((RoomCamera, Camera2d, view(room)));
    let surface = Obstacle::HALF_SPACE.with_friction(stage.friction);
    commands.spawn((Name::new("floor"), surface.clone(), Transform::default()));
    commands.spawn((
        Name::new("ceiling"),
        surface.clone(),
        Transform::from_xyz(0.0, stage.ceiling, 0.0)
            .with_rotation(Quat::from_rotation_z(core::f32::consts::PI)),
    ));
    for side in [-1.0, 1.0] {
        commands.spawn((Name::new("wall"), Wall(side), surface.clone(), wall(side, room)));
    }
}

fn wall(side: f32, room: &Room) -> Transform {
    Transform::from_xyz(side * 0.5 * room.seen.width(), 0.0, 0.0)
        .with_rotation(Quat::from_rotation_z(side * core::f32::consts::FRAC_PI_2))
}

/// Follows the shape of the window, and the panel.
fn fit(
    mut resized: MessageReader<WindowResized>,
    share: Res<PanelShare>,
    mut room: ResMut<Room>,
    mut walls: Query<(&Wall, &mut Transform)>,
) {
    let size = resized.read().last().map(|to| Vec2::new(to.width, to.height));
    if size.is_none() && !share.is_changed() {
        return;
    }
    let now = match size {
        Some(size) => Room::new(room.least, size, *share),
        None => room.beside(*share),
    };
    if !room.set_if_neq(now) {
        return;
    }
    for (side, mut transform) in &mut walls {
        let to = wall(side.0, &room);
        if *transform != to {
            *transform = to;
        }
    }
}

fn frame(room: Res<Room>, mut cameras: Query<(&mut Projection, &mut Transform), With<RoomCamera>>) {
    for mut camera in &mut cameras {
        (*camera.0, *camera.1) = view(&room);
    }
}

/// A picture that covers what is seen, and follows the window.
#[derive(Component)]
pub struct Cover {
    /// Width over height of the picture.
    aspect: f32,
}

/// A picture of this aspect (width over height) behind all else. As large as the least of the room its lower
/// edge lies at the lower edge of that; it grows about the floor.
pub fn cover(picture: Handle<Image>, aspect: f32, room: &Room) -> impl Bundle {
    let (size, at) = covering(aspect, room);
    let sprite = Sprite { custom_size: Some(size), ..Sprite::from_image(picture) };
    (Cover { aspect }, sprite, Transform::from_translation(at.extend(-9.0)))
}

/// Size and centre of a picture of this aspect that covers the room.
fn covering(aspect: f32, room: &Room) -> (Vec2, Vec2) {
    let Room { least, drawn, .. } = room;
    let by_height = drawn.max.y / least.max.y.max(1e-3);
    let by_width = drawn.width() / (aspect * least.height()).max(1e-3);
    let grown = by_height.max(by_width).max(1.0);
    let size = grown * least.height() * Vec2::new(aspect, 1.0);
    (size, Vec2::new(drawn.center().x, grown * least.min.y + 0.5 * size.y))
}

fn cover_room(room: Res<Room>, mut covers: Query<(&Cover, &mut Sprite, &mut Transform)>) {
    for (cover, mut sprite, mut transform) in &mut covers {
        let (size, at) = covering(cover.aspect, &room);
        sprite.custom_size = Some(size);
        transform.translation = at.extend(transform.translation.z);
    }
}
