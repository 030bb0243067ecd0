//! `--scene mesh`: any glTF or OBJ file as cloth, or a skirt.
//!
//! The mesh is scaled to fit the stage, and hangs by its top or drops to the floor.

use core::f32::consts::TAU;
use std::path::Path;

use bevy::{
    asset::{AssetPath, LoadState, RenderAssetUsages},
    gltf::Gltf,
    math::{Affine3A, Vec3A},
    mesh::{Indices, PrimitiveTopology, VertexAttributeValues},
    prelude::*,
    world_serialization::WorldInstanceReady,
};
use bevy_pliant::{math::bounds::Bounds, prelude::*};

use crate::common::{Args, say, stage, texture::PendingMipmaps};

/// The longest side of what is shown (m).
const SIZE: f32 = 3.0;
/// How high above the floor it begins (m).
const CLEARANCE: f32 = 0.6;
/// Side of a tile of linen on the skirt (m).
const TILE: f32 = 0.4;
/// The part of its height by which it hangs.
const PINNED: f32 = 0.04;

/// Shows the file that the command line names, or a skirt.
pub struct MeshScenePlugin;

impl Plugin for MeshScenePlugin {
    fn build(&self, app: &mut App) {
        app.add_plugins(bevy_obj::ObjPlugin)
            .add_systems(Startup, load)
            .add_systems(Update, (follow_gltf, follow_mesh))
            .add_observer(place_scene);
    }
}

/// A stage that frames a file's mesh, or the skirt, which is slimmer.
pub fn stage(args: &Args) -> stage::StagePlugin {
    if args.text("file").is_empty() {
        stage::StagePlugin { eye: Vec3::new(2.0, 2.5, 6.0), target: Vec3::new(0.0, 1.75, 0.0) }
    } else {
        stage::StagePlugin { eye: Vec3::new(3.2, 2.9, 9.2), target: Vec3::new(0.0, 1.9, 0.0) }
    }
}

/// The file, until it is here.
#[derive(Component)]
enum Loading {
    Scene(Handle<Gltf>),
    Mesh(Handle<Mesh>),
}

/// Ends the run with a line that says why.
fn fail(exit: &mut MessageWriter<AppExit>, why: &str) {
    say(&format!("cloth: {why}"));
    exit.write(AppExit::from_code(1));
}

fn load(
    args: Res<Args>,
    server: Res<AssetServer>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut exit: MessageWriter<AppExit>,
    mut commands: Commands,
) {
    commands.spawn((Obstacle::HALF_SPACE, Transform::default()));
    let file = args.text("file");
    if file.is_empty() {
        commands.spawn(Loading::Mesh(meshes.add(skirt())));
        return;
    }
    // What the asset server would look for in its own folder is meant from here.
    let path = match Path::new(file).canonicalize() {
        Ok(path) if path.is_file() => path,
        Ok(_) => return fail(&mut exit, &format!("{file} is not a file")),
        Err(error) => return fail(&mut exit, &format!("{file}: {error}")),
    };
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let path = AssetPath::from_path_buf(path);
    match extension.as_str() {
        "glb" | "gltf" => {
            commands.spawn(Loading::Scene(server.load(path)));
        }
        "obj" => {
            commands.spawn(Loading::Mesh(server.load(path)));
        }
        _ => fail(&mut exit, &format!("{file}: expected a .glb, .gltf or .obj file")),
    };
}

/// Spawns the scene of a glTF once it is here.
fn follow_gltf(
    loading: Query<(Entity, &Loading)>,
    server: Res<AssetServer>,
    files: Res<Assets<Gltf>>,
    mut exit: MessageWriter<AppExit>,
    mut commands: Commands,
) {
    for (entity, loading) in &loading {
        let Loading::Scene(handle) = loading else { continue };
        if let LoadState::Failed(error) = server.load_state(handle) {
            commands.entity(entity).despawn();
            fail(&mut exit, &error.to_string());
            continue;
        }
        let Some(file) = files.get(handle).filter(|_| server.is_loaded_with_dependencies(handle))
        else {
            continue;
        };
        let Some(scene) = file.default_scene.as_ref().or(file.scenes.first()) else {
            commands.entity(entity).despawn();
            fail(&mut exit, "the file has no scene");
            continue;
        };
        commands.entity(entity).remove::<Loading>().insert((
            WorldAssetRoot(scene.clone()),
            Transform::default(),
            Visibility::default(),
        ));
    }
}

/// Makes cloth of a scene, all of its meshes together.
fn place_scene(
    ready: On<WorldInstanceReady>,
    args: Res<Args>,
    meshes: Res<Assets<Mesh>>,
    entities: Query<(Option<&Mesh3d>, Option<&Transform>, Option<&Children>)>,
    mut exit: MessageWriter<AppExit>,
    mut commands: Commands,
) {
    let mut bounds = Bounds::EMPTY;
    let mut left = vec![(ready.entity, Affine3A::IDENTITY)];
    while let Some((entity, to_root)) = left.pop() {
        let Ok((mesh, _, children)) = entities.get(entity) else { continue };
        if let Some(mesh) = mesh.and_then(|mesh| meshes.get(mesh)) {
            bounds = enclose(bounds, mesh, &to_root);
        }
        for &child in children.into_iter().flatten() {
            let local = entities.get(child).ok().and_then(|(_, transform, _)| transform);
            let local = local.map_or(Affine3A::IDENTITY, Transform::compute_affine);
            left.push((child, to_root * local));
        }
    }
    let Some(place) = place(&bounds) else {
        return fail(&mut exit, "the file has no mesh with extent");
    };
    commands.entity(ready.entity).insert((cloth(&args), place));
}

/// Makes cloth of a single mesh once it is here.
fn follow_mesh(
    loading: Query<(Entity, &Loading)>,
    args: Res<Args>,
    server: Res<AssetServer>,
    meshes: Res<Assets<Mesh>>,
    mut pending: ResMut<PendingMipmaps>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    mut exit: MessageWriter<AppExit>,
    mut commands: Commands,
) {
    for (entity, loading) in &loading {
        let Loading::Mesh(handle) = loading else { continue };
        if let Some(LoadState::Failed(error)) = server.get_load_state(handle) {
            commands.entity(entity).despawn();
            fail(&mut exit, &error.to_string());
            continue;
        }
        let Some(mesh) = meshes.get(handle) else { continue };
        let bounds = enclose(Bounds::EMPTY, mesh, &Affine3A::IDENTITY);
        let Some(place) = place(&bounds) else {
            commands.entity(entity).despawn();
            fail(&mut exit, "the file has no mesh with extent");
            continue;
        };
        // The skirt's texture coordinates are tiles.
        let material = if args.text("file").is_empty() {
            stage::linen(&server, &mut pending, Vec2::splat(TILE))
        } else {
            StandardMaterial {
                base_color: Color::srgb(0.72, 0.33, 0.24),
                perceptual_roughness: 0.85,
                reflectance: 0.25,
                double_sided: true,
                cull_mode: None,
                ..default()
            }
        };
        let drawn = (Mesh3d(handle.clone()), MeshMaterial3d(materials.add(material)));
        commands.entity(entity).remove::<Loading>().insert((cloth(&args), drawn, place));
    }
}

/// The cloth, by the name of its file.
fn cloth(args: &Args) -> (Name, Cloth) {
    let pins = match args.text("pin") {
        "none" => ClothPins::None,
        _ => ClothPins::Top(PINNED),
    };
    let file = Path::new(args.text("file")).file_stem();
    let name = file.map_or("Skirt".into(), |stem| stem.to_string_lossy().into_owned());
    (Name::new(name), Cloth::mesh().pinned(pins).with_bending(args.real("bending")))
}

/// Encloses a mesh too.
fn enclose(mut bounds: Bounds, mesh: &Mesh, to_root: &Affine3A) -> Bounds {
    if let Ok(VertexAttributeValues::Float32x3(positions)) =
        mesh.try_attribute(Mesh::ATTRIBUTE_POSITION)
    {
        let places = positions.iter().map(|p| to_root.transform_point3a(Vec3A::from(*p)));
        bounds = places.filter(|p| p.is_finite()).fold(bounds, Bounds::with);
    }
    bounds
}

/// Scaled to fit the stage, its middle above the origin.
fn place(bounds: &Bounds) -> Option<Transform> {
    let extent = (bounds.max - bounds.min).max_element();
    if !(extent > 0.0 && extent.is_finite()) {
        return None;
    }
    let scale = SIZE / extent;
    let middle = bounds.centre() * scale;
    let up = CLEARANCE - bounds.min.y * scale;
    Some(Transform::from_xyz(-middle.x, up, -middle.z).with_scale(Vec3::splat(scale)))
}

/// A skirt: a flared tube that begins in gentle pleats. Its texture coordinates count tiles of linen.
fn skirt() -> Mesh {
    const ROUND: u32 = 120;
    const DOWN: u32 = 40;
    let (waist, hem, length) = (0.4f32, 1.25f32, 2.0f32);
    let (mut positions, mut uvs, mut indices) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..=DOWN {
        let down = row as f32 / DOWN as f32;
        for column in 0..=ROUND {
            let round = column as f32 / ROUND as f32;
            let pleat = 1.0 + 0.05 * down * (TAU * 11.0 * round).cos();
            let radius = waist.lerp(hem, down) * pleat;
            // The seam's two columns must be the same place.
            let (sin, cos) = (TAU * (column % ROUND) as f32 / ROUND as f32).sin_cos();
            positions.push([radius * sin, -length * down, radius * cos]);
            uvs.push([round * 13.0, down * length / TILE]);
        }
    }
    for row in 0..DOWN {
        for column in 0..ROUND {
            let a = row * (ROUND + 1) + column;
            let (b, d) = (a + 1, a + ROUND + 1);
            if (row + column) % 2 == 0 {
                indices.extend([a, d, b, b, d, d + 1]);
            } else {
                indices.extend([a, d, d + 1, a, d + 1, b]);
            }
        }
    }
    Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default())
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, positions)
        .with_inserted_attribute(Mesh::ATTRIBUTE_UV_0, uvs)
        .with_inserted_indices(Indices::U32(indices))
        .with_computed_smooth_normals()
}
