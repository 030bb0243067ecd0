//! Obstacles from Bevy meshes: a level that is loaded from a file, say.

use super::{build::BodyFailed, error::BuildError, ingest, source::loaded};
use crate::{
    obstacle::{Obstacle, ObstacleShape, ShapeError, TriangleMesh},
    solver::BodySettings,
};
use bevy::prelude::*;

/// Makes obstacles of the meshes (`Mesh3d`) of an entity and of all below it, once they are loaded.
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_pliant::prelude::*;
/// # fn spawn(mut commands: Commands, assets: Res<AssetServer>) {
/// let level = assets.load(GltfAssetLabel::Scene(0).from_asset("level.glb"));
/// commands.spawn((WorldAssetRoot(level), MeshObstacle::default()));
/// # }
/// ```
///
/// Each entity with a mesh gets an [`Obstacle`] of its own, at its own transform. A change of this
/// component, and a mesh that comes later, is followed; a mesh that cannot be an obstacle triggers
/// [`BodyFailed`] for this entity once. Soft bodies below it are left alone. Removing this component leaves
/// the obstacles.
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
#[require(Transform)]
pub struct MeshObstacle {
    /// What the triangles enclose.
    pub kind: MeshKind,
    /// Friction, restitution, layers and so on of the obstacles; its shape is not used.
    pub like: Obstacle,
}

/// What the triangles of a mesh enclose.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub enum MeshKind {
    /// Nothing: each triangle is met from both sides.
    #[default]
    Surface,
    /// A closed solid, its triangles counter-clockwise from outside.
    Solid,
    /// The convex hull of the vertices (feature `parry`).
    Hull,
}

impl MeshObstacle {
    /// Of this kind.
    pub fn new(kind: MeshKind) -> Self {
        Self { kind, ..default() }
    }

    /// With friction, restitution and so on of this obstacle.
    pub fn like(mut self, like: Obstacle) -> Self {
        self.like = like;
        self
    }
}

/// Marks an entity whose mesh was made an obstacle, or could not be.
#[derive(Component, Clone, Debug, PartialEq)]
pub(super) struct MadeObstacle {
    from: MeshObstacle,
    mesh: Handle<Mesh>,
}

/// Makes obstacles of meshes that are new, or newly loaded.
pub(super) fn make_mesh_obstacles(
    world: &mut World,
    mut query: Local<Option<QueryState<(Entity, &'static MeshObstacle)>>>,
) {
    let query = query.get_or_insert_with(|| world.query());
    let mut roots: Vec<(Entity, MeshObstacle)> =
        query.iter(world).map(|(entity, wanted)| (entity, wanted.clone())).collect();
    roots.sort_unstable_by_key(|(entity, _)| *entity);
    for (root, wanted) in roots {
        let mut left = vec![root];
        while let Some(entity) = left.pop() {
            // A soft body and its meshes are not solid.
            if world.get::<BodySettings>(entity).is_some() {
                continue;
            }
            let children = world.get::<Children>(entity).map_or(&[][..], |c| &**c);
            // What has its own wish is another's.
            let own = |child: &&Entity| world.get::<MeshObstacle>(**child).is_none();
            left.extend(children.iter().filter(own).copied());
            let Some(Mesh3d(mesh)) = world.get::<Mesh3d>(entity) else { continue };
            let as_wanted = |made: &MadeObstacle| made.from == wanted && made.mesh == *mesh;
            if !world.get::<MadeObstacle>(entity).is_some_and(as_wanted) {
                let made = MadeObstacle { from: wanted.clone(), mesh: mesh.clone() };
                make(world, root, entity, made);
            }
        }
    }
}

/// Makes an obstacle of one mesh, if it is loaded.
fn make(world: &mut World, root: Entity, entity: Entity, made: MadeObstacle) {
    let shape = match loaded(world, &made.mesh, "mesh") {
        Ok(None) => return,
        Ok(Some(mesh)) => shape(mesh, made.from.kind).map_err(BuildError::Shape),
        Err(error) => Err(error),
    };
    let obstacle = shape.map(|shape| Obstacle { shape, ..made.from.like.clone() });
    let Ok(mut target) = world.get_entity_mut(entity) else { return };
    target.insert(made);
    match obstacle {
        Ok(obstacle) => {
            target.insert(obstacle);
        }
        Err(error) => {
            target.remove::<Obstacle>();
            error!("the mesh of {entity} cannot be an obstacle: {error}");
            world.trigger(BodyFailed { entity: root, error });
        }
    }
}

fn shape(mesh: &Mesh, kind: MeshKind) -> Result<ObstacleShape, ShapeError> {
    let surface = || TriangleMesh::from_mesh(mesh);
    Ok(ObstacleShape::Mesh(match kind {
        MeshKind::Surface => surface()?,
        MeshKind::Solid => surface()?.solid(),
        MeshKind::Hull => hull(mesh)?,
    }))
}

#[cfg(feature = "parry")]
fn hull(mesh: &Mesh) -> Result<TriangleMesh, ShapeError> {
    let points: Vec<Vec3> =
        ingest::positions(mesh).map_err(unreadable)?.iter().copied().map(Vec3::from).collect();
    TriangleMesh::convex_hull(&points)
}

#[cfg(not(feature = "parry"))]
fn hull(_mesh: &Mesh) -> Result<TriangleMesh, ShapeError> {
    Err(ShapeError::Unsupported("a convex hull without the feature `parry`".into()))
}

fn unreadable(error: BuildError) -> ShapeError {
    ShapeError::Mesh(error.to_string())
}

impl TriangleMesh {
    /// The triangles of a Bevy mesh (a triangle list or strip).
    ///
    /// # Errors
    ///
    /// Where the mesh is kept in the render world only, has no positions, or no triangle.
    pub fn from_mesh(mesh: &Mesh) -> Result<Self, ShapeError> {
        let raw = ingest::read(mesh).map_err(unreadable)?;
        Self::new(&raw.positions, &raw.faces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bevy_mesh_becomes_an_obstacle() {
        let mesh = Mesh::from(Cuboid::new(1.0, 2.0, 3.0));
        assert_eq!(TriangleMesh::from_mesh(&mesh).unwrap().len(), 12);
    }
}
