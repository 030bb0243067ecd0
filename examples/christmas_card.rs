//! A Christmas card to play with: three postmen tumble in the snow.
//!
//! ```text
//! cargo run --example christmas_card
//! cargo run --example christmas_card -- --message "Merry Christmas, Ada!"
//! ```
//!
//! Drag the postmen with mouse or finger and throw them; the pointer sweeps the snow. `T` tosses them all,
//! `B` shows their bones, `M` the mesh of their skin, `R` restarts, `F1` hides the panel, `Esc` ends. `--no-panel`
//! leaves the panel out.

mod common;
#[path = "christmas_card/scene.rs"]
mod scene;
#[path = "christmas_card/snow.rs"]
mod snow;

use bevy::prelude::*;
use bevy_pliant::{
    interact::{GrabSettings, HeldBy},
    prelude::*,
};
use common::{
    Args, Example, Opt,
    bodies::{self, BuildPlugin},
    characters::{self, CharactersPlugin, Views},
    panel,
    stage2d::Stage2dPlugin,
};

const OPTIONS: &[Opt] = &[
    Opt::text("message", "", "what the card says in place of Merry Christmas"),
    Opt::count("flakes", 500, 0..=5000, "flakes of snow that fall and lie"),
    characters::SHOW,
];

/// Height of a postman's picture (m), and his mass (kg).
const HEIGHT: f32 = 1.05;
const MASS: f32 = 4.0;
/// Names, pictures, and where they begin: x, y (m), angle (rad), turning (rad/s).
const POSTMEN: [(&str, &str, [f32; 4]); 3] = [
    ("Blue postman", "characters/postman.png", [-1.35, 1.15, 0.25, -1.5]),
    ("Red postman", "characters/postman_red.png", [0.05, 1.5, -0.5, 2.5]),
    ("Green postman", "characters/postman_green.png", [1.4, 1.35, -0.3, 1.5]),
];
/// How often one of them is tossed while nobody plays (s).
const TOSS: f32 = 5.0;
/// The layers of contact: only the snow meets the pointer.
const SNOW: u32 = 1;
const POINTER: u32 = 2;
const POSTMAN: u32 = 4;

fn main() -> AppExit {
    let mut app = Example {
        name: "christmas_card",
        about: "A Christmas card to play with.",
        options: OPTIONS,
        measure: bodies::measure,
    }
    .app();
    let args = app.world().resource::<Args>().clone();
    app.add_plugins((
        PliantPlugins::default(),
        BuildPlugin { bodies: POSTMEN.len() },
        Stage2dPlugin { below: 0.3, ..default() },
        CharactersPlugin { views: Views::from_args(&args) },
        scene::ScenePlugin { message: args.text("message").to_owned() },
        snow::SnowPlugin { flakes: args.count("flakes") },
    ))
    .insert_resource(GrabSettings { reach: 20.0, ..default() })
    .add_systems(Startup, load)
    .add_systems(PostStartup, help.run_if(|args: Res<Args>| args.panel))
    .add_systems(Update, (spawn.run_if(resource_exists::<Parts>), tumble))
    .add_observer(begin)
    .run()
}

fn help(args: Res<Args>, mut commands: Commands) {
    let keys = "drag, throw, sweep   T toss   B bones   M mesh   R restart";
    panel::spawn_help(&mut commands, &args, keys, Color::srgba(0.1, 0.15, 0.3, 0.8));
}

/// Marks a postman, with how fast he turns at first (rad/s).
#[derive(Component)]
struct Postman(f32);

/// What postmen are made of.
#[derive(Resource)]
struct Parts {
    pictures: [Handle<Image>; 3],
    bones: Handle<BoneSet>,
}

fn load(server: Res<AssetServer>, mut commands: Commands) {
    commands.insert_resource(Parts {
        pictures: POSTMEN.map(|(_, picture, _)| server.load(picture)),
        bones: server.load("characters/postman.bones.ron"),
    });
}

/// Spawns the postmen when all their pictures are here: they are built together then, in the same order
/// always, and the same command ends in the same state.
fn spawn(parts: Res<Parts>, server: Res<AssetServer>, mut commands: Commands) {
    let all_here = parts.pictures.iter().all(|picture| server.is_loaded(picture));
    if !(all_here && server.is_loaded(&parts.bones)) {
        return;
    }
    commands.remove_resource::<Parts>();
    for (i, (name, _, [x, y, angle, turn])) in POSTMEN.into_iter().enumerate() {
        let postman = SpriteRagdoll::with_set(parts.pictures[i].clone(), parts.bones.clone())
            .with_height(HEIGHT)
            .with_mass(MASS)
            .flipped(i == 2, false);
        commands.spawn((
            Name::new(name),
            Postman(turn),
            postman,
            BodySettings { layers: ContactLayers::new(POSTMAN, !POINTER), ..default() },
            Transform::from_xyz(x, y, 1e-3 * i as f32).with_rotation(Quat::from_rotation_z(angle)),
        ));
    }
}

/// They begin turning.
fn begin(
    built: On<BodyBuilt>,
    postmen: Query<&Postman>,
    bodies: Query<&Particles>,
    mut bones: Query<(&mut Particle, &mut OrientedParticle)>,
) {
    if let Ok(Postman(turn)) = postmen.get(built.entity) {
        characters::throw(built.entity, Vec2::ZERO, *turn, &bodies, &mut bones);
    }
}

/// Tosses one after the other while nobody plays.
fn tumble(
    time: Res<Time>,
    postmen: Query<Entity, With<Postman>>,
    held: Query<(), With<HeldBy>>,
    bodies: Query<&Particles>,
    mut bones: Query<(&mut Particle, &mut OrientedParticle)>,
    mut since: Local<f32>,
    mut next: Local<usize>,
) {
    *since = if held.is_empty() { *since + time.delta_secs() } else { 0.0 };
    if *since < TOSS {
        return;
    }
    *since = 0.0;
    let Some(body) = postmen.iter().nth(*next % POSTMEN.len()) else { return };
    *next += 1;
    let centre = bodies.get(body).ok().and_then(|bones| bones.first().copied());
    let at = centre.and_then(|bone| bones.get(bone).ok()).map_or(0.0, |(p, _)| p.position.x);
    // Towards the middle.
    let way = if at > 0.0 { -1.0 } else { 1.0 };
    characters::throw(body, Vec2::new(1.2 * way, 3.9), -5.0 * way, &bodies, &mut bones);
}
