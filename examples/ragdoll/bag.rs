//! The postman's bag: it carries him about, shakes him, pours him out and flies away.

use bevy::prelude::*;
use bevy_pliant::{interact::HeldBy, prelude::*};
use core::f32::consts::TAU;

/// Size of the bag's picture (m).
const SIZE: Vec2 = Vec2::new(0.62, 0.775);
/// Where the bag begins (m).
const START: Vec3 = Vec3::new(-0.92, 1.08, 0.0);
/// From the bag's origin to that of the postman in it (m).
const POSTMAN: Vec3 = Vec3::new(0.0, 0.19, 0.0);
/// The bones that it holds, where (m, from the bag's origin), and how hard (N).
const HOLDS: [(&str, Vec2, f32); 5] = [
    ("pelvis", Vec2::new(0.0, 0.02), 150.0),
    ("left foot", Vec2::new(-0.1, -0.24), 60.0),
    ("right foot", Vec2::new(0.1, -0.24), 60.0),
    // Just enough to sit up again after a shake.
    ("chest", Vec2::new(0.0, 0.23), 30.0),
    ("head", Vec2::new(0.0, 0.55), 10.0),
];
/// How long it carries him, and when it shakes him (s).
const CARRY: f32 = 7.0;
const SHAKE: f32 = 4.5;
/// How long it pours, when he is let go in it, and how long it takes to fly away (s).
const POUR: f32 = 0.9;
const LET_GO: f32 = 0.35;
const LEAVE: f32 = 1.2;

/// Where the rope begins (m, from the bag's origin), and its length (m).
const STRAP: Vec3 = Vec3::new(0.0, 0.35, 0.0);
const ROPE: f32 = 5.0;

/// Spawns the bag and moves it.
pub struct BagPlugin;

impl Plugin for BagPlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(Startup, spawn)
            .add_systems(Update, (call, drive, hang).chain())
            .add_observer(begin);
    }
}

/// Where the postman is at the start.
pub fn start() -> Transform {
    Transform::from_translation(START + POSTMAN)
}

#[derive(Component)]
struct Bag {
    way: Way,
    /// How long it has been on this way (s), and where it began.
    time: f32,
    from: Vec2,
}

/// Marks what the bag hangs by.
#[derive(Component)]
struct Rope;

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Carrying,
    Pouring,
    Leaving,
    Away,
    Coming,
}

impl Bag {
    fn new(way: Way, from: Vec2) -> Self {
        Self { way, time: 0.0, from }
    }
}

/// Marks what holds the postman.
#[derive(Component)]
struct BagHold;

fn spawn(server: Res<AssetServer>, mut commands: Commands) {
    let picture = |name: &'static str| Sprite {
        custom_size: Some(SIZE),
        ..Sprite::from_image(server.load(name))
    };
    commands.spawn((
        Bag::new(Way::Away, START.truncate()),
        Transform::from_translation(START),
        Visibility::default(),
        children![
            (picture("characters/bag_back.png"), Transform::from_xyz(0.0, 0.0, -1.0)),
            (picture("characters/bag_front.png"), Transform::from_xyz(0.0, 0.0, 1.0)),
        ],
    ));
    let color = Color::srgb_u8(0x85, 0x50, 0x2a);
    commands.spawn((Rope, Sprite::from_color(color, Vec2::new(0.018, ROPE)), Transform::default()));
}

/// The postman begins in the bag, also where he is built anew.
fn begin(
    built: On<BodyBuilt>,
    bones: BoneFinder,
    mut bag: Single<(Entity, &mut Bag)>,
    holds: Query<Entity, With<BagHold>>,
    mut commands: Commands,
) {
    let (entity, bag) = &mut *bag;
    **bag = Bag::new(Way::Carrying, START.truncate());
    commands.trigger(Teleport { entity: *entity, to: Transform::from_translation(START) });
    holds.iter().for_each(|hold| commands.entity(hold).despawn());
    hold(built.entity, *entity, &bones, &mut commands);
}

/// Lets the bag hold the postman.
fn hold(body: Entity, bag: Entity, bones: &BoneFinder, commands: &mut Commands) {
    for (name, place, force) in HOLDS {
        let Some(bone) = bones.find(body, name) else { continue };
        let hold = Attachment::new(bone, bag).at(place.extend(0.0)).with_compliance(2e-4);
        // Soft enough that he is not torn in where the bag fetches him.
        commands.spawn((BagHold, hold.with_damping(20.0).with_max_force(force)));
    }
}

/// Space calls the bag, or lets it pour.
fn call(
    keys: Res<ButtonInput<KeyCode>>,
    held: Query<(), With<HeldBy>>,
    mut bag: Single<(&mut Bag, &Transform)>,
) {
    if !keys.just_pressed(KeyCode::Space) {
        return;
    }
    let (bag, transform) = &mut *bag;
    let at = transform.translation.truncate();
    match bag.way {
        Way::Carrying => **bag = Bag::new(Way::Pouring, at),
        Way::Away | Way::Leaving if held.is_empty() => **bag = Bag::new(Way::Coming, at),
        _ => {}
    }
}

fn drive(
    time: Res<Time>,
    postman: Option<Single<Entity, With<SpriteRagdoll>>>,
    bones: BoneFinder,
    particles: Query<&Particle>,
    mut bag: Single<(Entity, &mut Bag, &mut Transform)>,
    holds: Query<Entity, With<BagHold>>,
    mut commands: Commands,
) {
    let (entity, bag, transform) = &mut *bag;
    let before = bag.time;
    bag.time += time.delta_secs();
    let t = bag.time;
    let mut at = transform.translation.truncate();
    let mut angle = 0.0;
    let mut next = bag.way;
    match bag.way {
        Way::Carrying => {
            at = bag.from.lerp(round(t), smooth(t / 1.5));
            at += shake(t - SHAKE);
            angle = 0.3 * (1.9 * t).sin() * smooth(t);
            if t > CARRY {
                next = Way::Pouring;
            }
        }
        Way::Pouring => {
            // Towards the middle of the stage.
            angle = 2.5 * smooth(t / POUR) * bag.from.x.signum();
            at = bag.from + Vec2::Y * 0.3 * smooth(t / POUR);
            if before < LET_GO && t >= LET_GO {
                holds.iter().for_each(|hold| commands.entity(hold).despawn());
            }
            if t > POUR {
                next = Way::Leaving;
            }
        }
        Way::Leaving => {
            angle = 2.5 * (1.0 - smooth(t / LEAVE)) * bag.from.x.signum();
            at = bag.from + Vec2::new(0.0, 2.5 * (t / LEAVE) * (t / LEAVE));
            if t > LEAVE {
                next = Way::Away;
            }
        }
        Way::Away => {}
        Way::Coming => {
            let Some(postman) = postman else { return };
            let (name, place, _) = HOLDS[0];
            let pelvis = bones.find(*postman, name).and_then(|bone| particles.get(bone).ok());
            let Some(pelvis) = pelvis else { return };
            // Never into the floor.
            let mut target = pelvis.position.truncate() - place;
            target.y = target.y.max(0.5 * SIZE.y);
            at = at.lerp(target, 1.0 - (-4.0 * time.delta_secs()).exp());
            if at.distance(target) < 0.1 || t > 3.0 {
                hold(*postman, *entity, &bones, &mut commands);
                next = Way::Carrying;
            }
        }
    }
    transform.translation = at.extend(0.0);
    transform.rotation = Quat::from_rotation_z(angle);
    if next != bag.way {
        **bag = Bag::new(next, at);
    }
}

/// The bag hangs by its rope.
fn hang(
    bag: Single<&Transform, (With<Bag>, Without<Rope>)>,
    mut rope: Single<&mut Transform, With<Rope>>,
) {
    let top = bag.transform_point(STRAP);
    rope.translation = top.with_z(-1.5) + Vec3::Y * (0.5 * ROPE);
}

/// The way about the stage (m), t s after the start.
fn round(t: f32) -> Vec2 {
    Vec2::new(-1.2 * (0.9 * t + 0.7).cos(), 1.08 + 0.16 * (1.8 * t).sin())
}

/// Up and down for a second and a half.
fn shake(t: f32) -> Vec2 {
    let strength = smooth(t / 0.3) * smooth((1.8 - t) / 0.3);
    strength * Vec2::new(0.03 * (TAU * 1.7 * t).sin(), 0.11 * (TAU * 2.6 * t).sin())
}

/// From 0 to 1 with soft ends.
fn smooth(t: f32) -> f32 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
