//! A postman who is tossed around: a picture cut into bones, in the plane.
//!
//! ```text
//! cargo run --example ragdoll                     the postman hangs in his bag, which shakes him out
//! cargo run --example ragdoll -- --count 20       twenty of him, dropped
//! cargo run --example ragdoll -- --style elastic  made of rubber
//! cargo run --example ragdoll -- --script toss    a throw that is always the same
//! cargo run --example ragdoll -- --show both      with his bones and the mesh of his skin
//! ```
//!
//! Drag any part of him with the mouse, and throw him. Space lets the bag fetch him again, `T` tosses him,
//! `B` shows bones, `M` the mesh of the skin, `R` restarts, `F1` hides the panel, `Esc` ends. `--no-panel` leaves
//! the panel out.

#[path = "ragdoll/bag.rs"]
mod bag;
mod common;
#[path = "ragdoll/scenery.rs"]
mod scenery;

use bevy::prelude::*;
use bevy_pliant::{interact::GrabSettings, prelude::*};
use common::{
    Args, Example, Opt,
    bodies::{self, BuildPlugin},
    characters::{self, CharactersPlugin, Views},
    stage2d::Stage2dPlugin,
};

const OPTIONS: &[Opt] = &[
    Opt::count("count", 1, 1..=1000, "how many postmen; from 2 on they are dropped"),
    Opt::choice("style", "jointed", &["jointed", "elastic"], "what holds the bones together"),
    Opt::choice("script", "none", &["none", "toss"], "toss: a throw that is always the same"),
    Opt::flag("silhouette", "draw the postman alone, white on black"),
    characters::SHOW,
];

/// Height of the postman's picture (m), and his mass (kg).
const HEIGHT: f32 = 1.2;
const MASS: f32 = 4.0;

/// How tall each of many is (m): the room has space for six of full size.
fn height(count: u32) -> f32 {
    HEIGHT * (6.0 / count.max(6) as f32).sqrt()
}

fn main() -> AppExit {
    let mut app = Example {
        name: "ragdoll",
        about: "A postman who is tossed around.",
        options: OPTIONS,
        measure: bodies::measure,
    }
    .app();
    let args = app.world().resource::<Args>().clone();
    let count = args.count("count");
    let alone = args.flag("silhouette");
    app.add_plugins((
        PliantPlugins::default(),
        BuildPlugin { bodies: count as usize },
        Stage2dPlugin { ceiling: f32::max(4.0, 2.0 + top(count)), ..default() },
        CharactersPlugin { views: Views::from_args(&args) },
        scenery::SceneryPlugin { visible: !alone },
    ))
    .insert_resource(GrabSettings { reach: 20.0, ..default() });
    if alone {
        app.add_systems(Update, whiten).insert_resource(ClearColor(Color::BLACK));
    }
    if args.text("script") == "toss" {
        app.add_systems(Startup, spawn).add_observer(toss);
    } else if count == 1 && !alone {
        app.add_systems(Startup, spawn).add_plugins(bag::BagPlugin);
    } else {
        app.add_systems(Startup, spawn);
    }
    app.run()
}

fn spawn(args: Res<Args>, server: Res<AssetServer>, mut commands: Commands) {
    let style = match args.text("style") {
        "elastic" => RagdollStyle::Elastic,
        _ => RagdollStyle::Jointed,
    };
    let texture = server.load("characters/postman.png");
    let bones = server.load("characters/postman.bones.ron");
    let count = args.count("count");
    for i in 0..count {
        let postman = SpriteRagdoll::with_set(texture.clone(), bones.clone())
            .with_height(height(count))
            .with_mass(MASS * (height(count) / HEIGHT).powi(2))
            .with_style(style)
            .flipped(i % 2 == 1, false);
        let place = if args.text("script") == "toss" {
            Transform::from_xyz(-1.4, 1.0, 0.0)
        } else if count == 1 {
            bag::start()
        } else {
            drop_place(i, count)
        };
        // Each a hair nearer than the one before.
        let name = if count == 1 { "Postman".to_owned() } else { format!("Postman {}", i + 1) };
        commands.spawn((
            Name::new(name),
            postman,
            Transform::from_xyz(0.0, 0.0, 1e-5 * i as f32) * place,
        ));
    }
}

/// Space for each of many, however it is turned (of its height).
const SPACE: f32 = 1.06;

/// How many of so many begin side by side.
fn columns(count: u32) -> u32 {
    (4.2 / (SPACE * height(count))).max(1.0) as u32
}

/// Where the last of so many begins (m above the floor).
fn top(count: u32) -> f32 {
    1.2 + SPACE * height(count) * ((count - 1) / columns(count)) as f32
}

/// Where one of many begins: in rows above the stage, each turned another way.
fn drop_place(i: u32, count: u32) -> Transform {
    let (row, column) = (i / columns(count), i % columns(count));
    let scatter = (i as f32 * 2.4).sin();
    let x = column as f32 - 0.5 * (columns(count) - 1) as f32;
    let at = SPACE * height(count) * Vec2::new(x, row as f32);
    Transform::from_xyz(at.x, 1.2 + at.y, 0.0).with_rotation(Quat::from_rotation_z(1.3 * scatter))
}

/// The throw of the script.
fn toss(
    built: On<BodyBuilt>,
    bodies: Query<&Particles>,
    mut bones: Query<(&mut Particle, &mut OrientedParticle)>,
) {
    characters::throw(built.entity, Vec2::new(2.7, 3.1), -4.5, &bodies, &mut bones);
}

/// Makes the picture white, once it is there.
fn whiten(
    mut loaded: MessageReader<AssetEvent<Image>>,
    ragdolls: Query<&SpriteRagdoll>,
    mut images: ResMut<Assets<Image>>,
) {
    for event in loaded.read() {
        let AssetEvent::Added { id } = event else { continue };
        if ragdolls.iter().any(|ragdoll| ragdoll.texture.id() == *id)
            && let Some(mut image) = images.get_mut(*id)
        {
            characters::whiten(&mut image);
        }
    }
}
