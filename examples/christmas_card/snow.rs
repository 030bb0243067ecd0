//! Snow: flakes that fall in the wind, lie, and are swept, by postmen and by the pointer.
//!
//! Each flake is a particle of a body without constraints; those touch one another and all else. A
//! flake that has lain for a while melts and falls anew. More of it, far and near, is only painted.

use bevy::{
    asset::RenderAssetUsages,
    input::touch::Touch,
    prelude::*,
    render::render_resource::{Extent3d, TextureDimension, TextureFormat},
    window::PrimaryWindow,
};
use bevy_pliant::{
    interact::{BusyPointers, pointer_is_free},
    prelude::*,
    solver::DrawnPose,
};
use core::f32::consts::TAU;

use super::{
    POINTER, SNOW,
    common::stage2d::{Room, RoomCamera},
};

/// Radius of a flake (m), and its mass (kg).
const RADIUS: f32 = 0.013;
const MASS: f32 = 0.002;
/// Gravity and damping of the snow: it falls at their ratio (m/s², 1/s).
const GRAVITY: f32 = 1.5;
const DAMPING: f32 = 2.4;
/// How long a flake lies before it melts, at least, and how long that takes (s).
const LIE: f32 = 8.0;
const MELT: f32 = 1.5;
/// Radius of what sweeps the snow under the pointer (m).
const BROOM: f32 = 0.09;
/// Flakes that are only painted.
const PAINTED: u32 = 110;

/// Spawns snow and lets it fall.
pub struct SnowPlugin {
    /// How many flakes fall and lie.
    pub flakes: u32,
}

impl Plugin for SnowPlugin {
    fn build(&self, app: &mut App) {
        let flakes = self.flakes;
        app.add_systems(
            Startup,
            move |room: Res<Room>,
                  server: Res<AssetServer>,
                  mut images: ResMut<Assets<Image>>,
                  mut commands: Commands| {
                let picture = images.add(disc());
                spawn_flakes(flakes, &room, &picture, &mut commands);
                spawn_painted(&room, &server.load("card/snowflake.png"), &mut commands);
            },
        )
        .add_systems(Startup, spawn_broom)
        .add_systems(FixedUpdate, (blow, melt).chain())
        .add_systems(Update, (sweep, paint))
        .add_systems(
            PostUpdate,
            place.after(PliantSystems::PlacePins).before(TransformSystems::Propagate),
        );
    }
}

/// Numbers that look random and are always the same.
struct Random(u32);

impl Random {
    fn between(&mut self, low: f32, high: f32) -> f32 {
        self.0 = self.0.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        let word = ((self.0 >> ((self.0 >> 28) + 4)) ^ self.0).wrapping_mul(277_803_737);
        let unit = ((word >> 22) ^ word) as f32 / u32::MAX as f32;
        low + (high - low) * unit
    }
}

/// A soft white disc.
fn disc() -> Image {
    const SIDE: u32 = 32;
    let mut data = Vec::new();
    for y in 0..SIDE {
        for x in 0..SIDE {
            let at = (Vec2::new(x as f32, y as f32) + 0.5) / SIDE as f32 * 2.0 - 1.0;
            let alpha = ((1.0 - at.length()) * 2.2).clamp(0.0, 1.0);
            data.extend([255, 255, 255, (255.0 * alpha * alpha * (3.0 - 2.0 * alpha)) as u8]);
        }
    }
    Image::new(
        Extent3d { width: SIDE, height: SIDE, depth_or_array_layers: 1 },
        TextureDimension::D2,
        data,
        TextureFormat::Rgba8UnormSrgb,
        RenderAssetUsages::RENDER_WORLD,
    )
}

/// The body of all flakes.
#[derive(Component)]
struct Snow;

/// A flake that falls.
#[derive(Component)]
struct Flake {
    /// What is its own of its sway (rad).
    phase: f32,
    /// How long it has lain since it fell (s), and how long it will.
    lain: f32,
    patience: f32,
}

fn spawn_flakes(count: u32, room: &Room, picture: &Handle<Image>, commands: &mut Commands) {
    let mut random = Random(7);
    let body = commands
        .spawn((
            Snow,
            Planar,
            BodySettings {
                gravity: Some(Vec3::NEG_Y * GRAVITY),
                damping: Some(DAMPING),
                radius: Some(RADIUS),
                friction: Friction::new(0.7),
                layers: ContactLayers::new(SNOW, !0),
                self_contact: true,
                soft_contact: true,
                ..default()
            },
            DrawnPose::default(),
            Transform::default(),
            Visibility::default(),
        ))
        .id();
    let (low, high) = (room.seen.min, room.seen.max);
    for i in 0..count {
        // Some lie already, or nearly; others are to come.
        let lies = i % 2 == 0;
        let y = if lies { random.between(0.13, 0.22) } else { random.between(0.3, high.y + 1.5) };
        let at = Vec3::new(random.between(low.x + 0.03, high.x - 0.03), y, 0.0);
        let size = random.between(0.042, 0.066);
        let patience = random.between(LIE, 3.0 * LIE);
        commands.spawn((
            Flake {
                phase: random.between(0.0, TAU),
                lain: if lies { random.between(0.0, patience) } else { 0.0 },
                patience,
            },
            Particle::at(at).with_mass(MASS),
            ParticleOf(body),
            ParticleIndex(i),
            Sprite { image: picture.clone(), custom_size: Some(Vec2::splat(size)), ..default() },
            // Before and behind the postmen.
            Transform::from_translation(at.with_z(random.between(-1.0, 1.5))),
        ));
    }
}

/// The wind and the sway of each flake.
fn blow(time: Res<Time>, clock: Res<SolverClock>, mut flakes: Query<(&mut Flake, &mut Particle)>) {
    let (dt, t) = (time.delta_secs(), clock.elapsed as f32);
    let wind = 0.5 * (TAU * t / 11.0).sin() + 0.35 * (TAU * t / 4.7).sin();
    for (mut flake, mut particle) in &mut flakes {
        if particle.velocity.y < -0.25 {
            let sway = 1.6 * (flake.phase + 2.1 * t).sin();
            particle.velocity.x += (wind + sway) * dt;
        } else {
            flake.lain += dt;
        }
    }
}

/// What has lain long enough goes, and falls anew: flake by flake in their order, which is that of random
/// numbers.
fn melt(
    room: Res<Room>,
    mut flakes: Query<(&ParticleIndex, &mut Flake, &mut Particle, &mut Sprite)>,
    mut random: Local<Option<Random>>,
) {
    let random = random.get_or_insert(Random(99));
    let room = room.seen;
    let flakes = flakes.iter_mut().sort_unstable_by_key::<&ParticleIndex, _>(|index| index.0);
    for (_, mut flake, mut particle, mut sprite) in flakes {
        let left = (flake.patience + MELT - flake.lain) / MELT;
        let strayed = !room.inflate(1.0).contains(particle.position.truncate());
        if left <= 0.0 || strayed {
            flake.lain = 0.0;
            let x = random.between(room.min.x + 0.03, room.max.x - 0.03);
            particle.position = Vec3::new(x, room.max.y + random.between(0.03, 0.4), 0.0);
            particle.velocity = Vec3::NEG_Y * (GRAVITY / DAMPING);
        }
        let alpha = left.clamp(0.0, 1.0);
        if sprite.color.alpha() != alpha {
            sprite.color.set_alpha(alpha);
        }
    }
}

/// Puts the pictures of flakes where they are drawn.
fn place(
    snow: Query<&DrawnPose, With<Snow>>,
    mut flakes: Query<(&ParticleIndex, &mut Transform), With<Flake>>,
) {
    let Ok(pose) = snow.single() else { return };
    for (index, mut transform) in &mut flakes {
        if let Some(at) = pose.positions.get(index.0 as usize) {
            let at = at.truncate().extend(transform.translation.z);
            if transform.translation != at {
                transform.translation = at;
            }
        }
    }
}

/// What sweeps the snow where the pointer is.
#[derive(Component)]
struct Broom;

/// Where the broom is while nobody sweeps.
const ASIDE: Vec3 = Vec3::new(0.0, -9.0, 0.0);

fn spawn_broom(mut commands: Commands) {
    commands.spawn((
        Broom,
        Obstacle::circle(BROOM).with_layers(ContactLayers::new(POINTER, SNOW)),
        Transform::from_translation(ASIDE),
    ));
}

fn sweep(
    windows: Query<&Window, With<PrimaryWindow>>,
    touches: Res<Touches>,
    cameras: Query<(&Camera, &GlobalTransform), With<RoomCamera>>,
    busy: Option<Res<BusyPointers>>,
    mut broom: Single<(Entity, &mut Transform), With<Broom>>,
    mut commands: Commands,
) {
    let pointer = touches.iter().next().map(Touch::position);
    let pointer = pointer.or_else(|| windows.single().ok()?.cursor_position());
    let sweeps = pointer_is_free(busy);
    let world = pointer.filter(|_| sweeps).and_then(|pointer| {
        let (camera, view) = cameras.single().ok()?;
        camera.viewport_to_world_2d(view, pointer).ok()
    });
    let (entity, transform) = &mut *broom;
    let to = world.map_or(ASIDE, |at| at.extend(0.0));
    if transform.translation == to {
        return;
    }
    // It comes and goes in no time.
    if world.is_none() || transform.translation == ASIDE {
        commands.trigger(Teleport { entity: *entity, to: Transform::from_translation(to) });
    } else {
        transform.translation = to;
    }
}

/// A flake that is only painted: where it begins, how fast it falls (m/s), and its sway (rad).
#[derive(Component)]
struct Painted {
    from: Vec2,
    speed: f32,
    phase: f32,
}

fn spawn_painted(room: &Room, picture: &Handle<Image>, commands: &mut Commands) {
    let mut random = Random(21);
    let (low, high) = (room.seen.min, room.seen.max);
    for i in 0..PAINTED {
        // Far ones are small and slow; a few are very near.
        let near = if i % 12 == 0 { random.between(1.6, 2.6) } else { random.between(0.35, 0.8) };
        let alpha = if near > 1.0 { 0.35 } else { 0.75 };
        commands.spawn((
            Painted {
                from: Vec2::new(random.between(low.x, high.x), random.between(low.y, high.y)),
                speed: 0.55 * near,
                phase: random.between(0.0, TAU),
            },
            Sprite {
                image: picture.clone(),
                custom_size: Some(Vec2::splat(0.045 * near)),
                color: Color::srgba(1.0, 1.0, 1.0, alpha),
                ..default()
            },
            Transform::from_xyz(0.0, -9.0, if near > 1.0 { 5.0 } else { -6.0 }),
        ));
    }
}

/// Lets painted flakes fall around and around.
fn paint(time: Res<Time>, room: Res<Room>, mut flakes: Query<(&Painted, &mut Transform)>) {
    let t = time.elapsed_secs();
    let room = room.seen.inflate(0.1);
    for (flake, mut transform) in &mut flakes {
        let fallen = (flake.from.y - flake.speed * t - room.min.y).rem_euclid(room.height());
        transform.translation.y = room.min.y + fallen;
        transform.translation.x = flake.from.x + 0.08 * (flake.phase + t * flake.speed * 2.0).sin();
    }
}
