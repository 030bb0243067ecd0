//! A hanging cloth: the classic experiment of position-based dynamics, in several scenes.
//!
//! ```text
//! cargo run --example cloth                     a cloth in 3D, pinned at two corners
//! cargo run --example cloth -- --scene seed     the same in a plane, as lines and dots
//! cargo run --example cloth -- --scene curtain  a curtain on a moving rail
//! cargo run --example cloth -- --scene ball     a cloth over a ball that spins
//! cargo run --example cloth -- --scene stairs   a blanket that falls down stairs, a mesh of triangles
//! cargo run --example cloth -- --scene flag     a flag in the wind, on a pole that moves
//! cargo run --example cloth -- --scene mesh     a skirt, made from a mesh
//! cargo run --example cloth -- --scene mesh FILE  any glTF or OBJ file as cloth
//! ```
//!
//! Drag any particle with the mouse; the wheel zooms, the right button turns the view. The panel shows and tunes
//! everything; in the scene `seed` it opens on what the seed's page lets one choose. `F1` hides it, `--no-panel`
//! leaves it out.

#[path = "cloth/ball.rs"]
mod ball;
mod common;
#[path = "cloth/flag.rs"]
mod flag;
#[path = "cloth/mesh.rs"]
mod mesh;
#[path = "cloth/stairs.rs"]
mod stairs;

use bevy::{camera::ScalingMode, prelude::*};
use bevy_pliant::{
    interact::{AxisGizmos, ConstraintGizmos, Inspector, ParticleGizmos},
    prelude::*,
};
use common::{Args, Example, FlatCamera, Opt, bodies, texture::PendingMipmaps};
use core::{f32::consts::TAU, time::Duration};

const OPTIONS: &[Opt] = &[
    Opt::choice(
        "scene",
        "hang",
        &["hang", "seed", "curtain", "flag", "ball", "stairs", "mesh"],
        "what to show",
    ),
    Opt::file("file", "a .glb, .gltf or .obj file for the scene mesh"),
    Opt::choice("pin", "top", &["top", "none"], "how a mesh is held"),
    Opt::real("bending", 1e4, 0.0..=1e12, "bending compliance of a mesh, rad²/J"),
    Opt::count("width", 40, 2..=1000, "particles along the top edge"),
    Opt::count("height", 30, 2..=1000, "particles down the side"),
    Opt::choice("fixed", "2", &["1", "2", "4"], "fixed particles (not for the curtain)"),
    Opt::real("time-step", 0.0, 0.0..=0.1, "length of a tick, s; 0 takes the scene's own"),
    Opt::count("substeps", 0, 0..=200, "substeps a tick; 0 takes the scene's own"),
    Opt::count("iterations", 0, 0..=200, "iterations a substep; 0 takes the scene's own"),
    Opt::real("gravity", -9.81, -100.0..=100.0, "acceleration along y, m/s²"),
    Opt::real("mass", 0.5, 1e-4..=1e4, "mass of a particle, kg"),
    Opt::real("gather", 0.82, 0.1..=1.0, "how far the pins of the 3D cloth come together"),
    common::pointer::OPTION,
];

/// Distance of neighbours (m).
const SPACING: f32 = 0.2;
/// Height of the top edge above the floor (m).
const TOP: f32 = 6.5;

fn main() -> AppExit {
    let mut app = Example {
        name: "cloth",
        about: "A hanging cloth by position-based dynamics.",
        options: OPTIONS,
        measure: bodies::measure,
    }
    .app();
    let args = app.world().resource::<Args>().clone();
    let scene = args.text("scene").to_owned();
    // The seed's page takes long steps with a few iterations; ours are short steps with one.
    let (step, substeps, iterations) = match scene.as_str() {
        "seed" => (0.01, 1, 5),
        _ => (1.0 / 64.0, 16, 1),
    };
    let or = |own: u32, chosen: u32| if chosen == 0 { own } else { chosen };
    let step = if args.real("time-step") > 0.0 { args.real("time-step") } else { step };
    let settings = SolverSettings {
        substeps: or(substeps, args.count("substeps")),
        iterations: or(iterations, args.count("iterations")),
        gravity: Vec3::Y * args.real("gravity"),
        ..default()
    };
    app.insert_resource(Time::<Fixed>::from_duration(Duration::from_secs_f32(step)))
        .add_plugins(PliantPlugins::default().with_settings(settings));
    if scene == "seed" {
        app.insert_resource(ClearColor(Color::srgb_u8(0xee, 0xee, 0xee)))
            .add_plugins(bodies::BodiesPlugin { bodies: 1, text_color: Color::BLACK })
            .add_systems(Startup, seed);
    } else if scene == "ball" {
        app.add_plugins(ball::BallScene);
    } else if scene == "stairs" {
        app.add_plugins(stairs::StairsScene);
    } else if scene == "flag" {
        app.add_plugins(flag::FlagScene);
    } else if scene == "mesh" {
        app.add_plugins((
            mesh::stage(&args),
            bodies::BodiesPlugin { bodies: 1, text_color: Color::WHITE },
            mesh::MeshScenePlugin,
        ));
    } else {
        app.add_plugins((
            common::stage::StagePlugin::default(),
            bodies::BodiesPlugin { bodies: 1, text_color: Color::WHITE },
        ));
        if scene == "curtain" {
            app.add_systems(Startup, curtain).add_systems(Update, move_rail).add_observer(pleat);
        } else {
            app.add_systems(Startup, hang).add_systems(Update, gather).add_observer(ripple);
        }
    }
    if args.flag("pointer-log") {
        app.add_plugins(common::pointer::PointerLogPlugin { columns: args.count("width") });
    }
    app.add_observer(restart).run()
}

/// A restart begins with the cloth as wide as it is built, and with the clock at 0.
fn restart(
    rebuild: On<Rebuild>,
    args: Res<Args>,
    mut cloths: Query<&mut Transform, With<Cloth>>,
    mut clock: ResMut<SolverClock>,
) {
    if let Ok(mut transform) = cloths.get_mut(rebuild.entity) {
        if args.text("scene") != "mesh" {
            transform.scale = Vec3::ONE;
        }
        *clock = SolverClock::default();
    }
}

/// The cloth that the command line describes, unpinned.
fn grid(args: &Args) -> Cloth {
    Cloth::grid(UVec2::new(args.count("width"), args.count("height")), SPACING)
        .with_mass(ClothMass::PerParticle(args.real("mass")))
}

fn pins(args: &Args) -> ClothPins {
    match args.text("fixed") {
        "1" => ClothPins::TopLeft,
        "4" => ClothPins::Corners,
        _ => ClothPins::TopCorners,
    }
}

/// Linen for the cloth of the command line.
fn linen(args: &Args, server: &AssetServer, pending: &mut PendingMipmaps) -> StandardMaterial {
    let size = UVec2::new(args.count("width"), args.count("height")) - UVec2::ONE;
    common::stage::linen(server, pending, size.as_vec2() * SPACING)
}

/// The default scene: a cloth in 3D.
fn hang(
    args: Res<Args>,
    server: Res<AssetServer>,
    mut pending: ResMut<PendingMipmaps>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    mut commands: Commands,
) {
    commands.spawn((
        Name::new("Cloth"),
        grid(&args).pinned(pins(&args)),
        MeshMaterial3d(materials.add(linen(&args, &server, &mut pending))),
        Transform::from_xyz(0.0, TOP, 0.0),
    ));
    commands.spawn((Obstacle::HALF_SPACE, Transform::default()));
}

/// Brings the pins together over the first seconds, so that the cloth drapes: they follow the scale of
/// its body.
fn gather(
    args: Res<Args>,
    clock: Res<SolverClock>,
    mut cloths: Query<&mut Transform, With<Cloth>>,
) {
    let done = (clock.elapsed as f32 / 2.0).clamp(0.0, 1.0);
    for mut transform in &mut cloths {
        transform.scale.x = 1.0.lerp(args.real("gather"), done * done * (3.0 - 2.0 * done));
    }
}

/// Moves the particles of a new cloth out of its plane by up to 1 cm, so that it can fold.
fn ripple(built: On<BodyBuilt>, bodies: Query<&Particles>, particles: Query<&mut Particle>) {
    bend(built.entity, &bodies, particles, |x, y| {
        0.01 * (TAU * x / 2.6).sin() * (TAU * y / 3.1).cos()
    });
}

/// Starts a curtain's pleats.
fn pleat(built: On<BodyBuilt>, bodies: Query<&Particles>, particles: Query<&mut Particle>) {
    bend(built.entity, &bodies, particles, |x, _| 0.03 * (TAU * x / 0.8).sin());
}

/// Moves the particles of a body along z by `depth(x, y)`.
fn bend(
    body: Entity,
    bodies: &Query<&Particles>,
    mut particles: Query<&mut Particle>,
    depth: impl Fn(f32, f32) -> f32,
) {
    let Ok(members) = bodies.get(body) else { return };
    for &member in &**members {
        if let Ok(mut particle) = particles.get_mut(member) {
            particle.position.z += depth(particle.position.x, particle.position.y);
        }
    }
}

/// The page's scene: in a plane, as lines and dots, its origin at the first particle.
fn seed(
    args: Res<Args>,
    inspector: Option<ResMut<Inspector>>,
    mut store: ResMut<GizmoConfigStore>,
    mut commands: Commands,
) {
    let size = UVec2::new(args.count("width"), args.count("height")) - UVec2::ONE;
    let extent = size.as_vec2() * SPACING;
    let cloth = commands.spawn((
        Name::new("Cloth"),
        grid(&args).pinned(pins(&args)).without_tethers().with_damping(0.0),
        Planar,
        Transform::from_xyz(0.5 * extent.x, 0.0, 0.0),
    ));
    common::panel::select(inspector, &args, cloth.id());
    // The sagging cloth and some room around it.
    commands.spawn((
        Camera2d,
        FlatCamera::default(),
        Projection::Orthographic(OrthographicProjection {
            scaling_mode: ScalingMode::FixedVertical { viewport_height: 1.75 * extent.y },
            ..OrthographicProjection::default_2d()
        }),
        Transform::from_xyz(0.5 * extent.x, -0.62 * extent.y, 0.0),
    ));
    // The page's own look, unless other views are asked for.
    let own = args.views.is_empty();
    store.config_mut::<ConstraintGizmos>().0.line.width = 1.0;
    store.config_mut::<ConstraintGizmos>().0.enabled |= own;
    store.config_mut::<ParticleGizmos>().0.enabled |= own;
    store.config_mut::<AxisGizmos>().0.enabled |= own;
}

/// Marks the rail: the curtain's body, whose scale along x draws the pins together.
#[derive(Component)]
struct Rail;

/// Bending compliance of the curtain (rad²/J).
const BENDING: f32 = 2.0;

/// A curtain that hangs from a rail.
fn curtain(
    args: Res<Args>,
    server: Res<AssetServer>,
    mut pending: ResMut<PendingMipmaps>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    mut commands: Commands,
) {
    let width = (args.count("width") - 1) as f32 * SPACING;
    commands.spawn((
        Name::new("Curtain"),
        Rail,
        grid(&args).pinned(ClothPins::TopEdge).with_bending(BENDING),
        MeshMaterial3d(materials.add(linen(&args, &server, &mut pending))),
        Transform::from_xyz(0.0, TOP, 0.0),
    ));
    commands.spawn((
        Mesh3d(meshes.add(Cylinder::new(0.05, width + 0.8))),
        MeshMaterial3d(materials.add(StandardMaterial {
            base_color: Color::srgb(0.55, 0.42, 0.26),
            metallic: 0.8,
            perceptual_roughness: 0.35,
            ..default()
        })),
        Transform::from_xyz(0.0, TOP + 0.05, 0.0)
            .with_rotation(Quat::from_rotation_z(core::f32::consts::FRAC_PI_2)),
    ));
    commands.spawn((Obstacle::HALF_SPACE, Transform::default()));
}

/// Draws the curtain half open and shut again, every 12 s.
fn move_rail(clock: Res<SolverClock>, mut rails: Query<&mut Transform, With<Rail>>) {
    let t = clock.elapsed as f32;
    for mut rail in &mut rails {
        let open = 0.5 - 0.5 * (TAU * t / 12.0).cos();
        rail.scale.x = 1.0 - 0.45 * open;
        rail.translation.x = 0.6 * (TAU * t / 12.0).sin();
    }
}
