//! Obstacles: what particles collide with, and the friction between the two.
//!
//! An obstacle is an entity with a `Transform`; moving, turning or scaling it moves what it touches. The
//! solver sweeps its pose over each tick's substeps. One file a shape: each tells how far a point is from
//! its surface, and which way is out.

mod cuboid;
mod friction;
mod layers;
mod mesh;
#[cfg(feature = "parry")]
mod parry;
mod plane;
mod polygon;
mod revolution;
mod round;
mod shape;
mod solid;
mod triangle;

pub use friction::Friction;
pub use layers::ContactLayers;
pub use mesh::TriangleMesh;
pub use shape::{ObstacleShape, Part, ShapeError};

pub(crate) use solid::{Distance, Frame, Near, Solid};
pub(crate) use triangle::Triangle;

use crate::particle::TopologyChanges;
use bevy::{
    ecs::{lifecycle::HookContext, world::DeferredWorld},
    prelude::*,
};

/// A solid that particles cannot enter, or a sensor that tells who does.
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_pliant::prelude::*;
/// # fn spawn(mut commands: Commands) {
/// commands.spawn(Obstacle::HALF_SPACE);
/// commands.spawn((
///     Obstacle::sphere(0.5).with_friction(Friction::new(0.8)),
///     Transform::from_xyz(0.0, 0.5, 0.0),
/// ));
/// # }
/// ```
///
/// Particles are spheres of their body's radius (half its thickness), and those that turn the ellipsoids of
/// their own radii: they are pushed, and rubbed, at the point that touches (see
/// `EllipsoidContact`). A particle that moves less than 70 % of
/// its (least) radius in a substep relative to an obstacle is checked where it ends up (7 m/s for each centimetre of
/// radius at 16 substeps of 64 ticks a second); a faster one along its whole path, so that it passes
/// through nothing, however thin.
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
#[require(Transform)]
#[component(on_add = note_obstacle)]
pub struct Obstacle {
    /// Its shape, in its own frame. One that makes no sense (see [`ObstacleShape::validate`]) is ignored
    /// with a warning.
    pub shape: ObstacleShape,
    /// Friction with what touches it; combined with the body's, see [`Friction::combine`]. Default: 0.5.
    pub friction: Friction,
    /// Restitution e, 0 to 1: the part of the approach speed that a particle leaves with. Default: 0.
    pub restitution: f32,
    /// Whom it touches. Default: everyone.
    pub layers: ContactLayers,
    /// Whether it only reports contacts. Default: false.
    pub sensor: bool,
}

/// Obstacles act in the order of creation, so they need one.
fn note_obstacle(mut world: DeferredWorld, context: HookContext) {
    if let Some(mut changes) = world.get_resource_mut::<TopologyChanges>() {
        changes.note_dynamic_added(context.entity);
    }
}

impl Obstacle {
    /// Solid below its local XZ plane: a floor, or, turned, a wall or a slope.
    pub const HALF_SPACE: Self = Self::new(ObstacleShape::HalfSpace);

    /// Of this shape.
    pub const fn new(shape: ObstacleShape) -> Self {
        Self {
            shape,
            friction: Friction::DEFAULT,
            restitution: 0.0,
            layers: ContactLayers::ALL,
            sensor: false,
        }
    }

    /// A ball of `radius` m.
    pub const fn sphere(radius: f32) -> Self {
        Self::new(ObstacleShape::Sphere { radius })
    }

    /// A capsule along y: everything within `radius` of a segment of `length` m (Bevy's `Capsule3d`).
    pub const fn capsule(radius: f32, length: f32) -> Self {
        let end = Vec3::new(0.0, 0.5 * length, 0.0);
        Self::new(ObstacleShape::Capsule { start: Vec3::new(0.0, -0.5 * length, 0.0), end, radius })
    }

    /// A box with sides of `size` m.
    pub const fn cuboid(size: Vec3) -> Self {
        let half_size = Vec3::new(0.5 * size.x, 0.5 * size.y, 0.5 * size.z);
        Self::new(ObstacleShape::Cuboid { half_size })
    }

    /// A cylinder along y, of `radius` and `height` m.
    pub const fn cylinder(radius: f32, height: f32) -> Self {
        Self::new(ObstacleShape::Cylinder { radius, half_height: 0.5 * height })
    }

    /// A cone along y with its tip up, of `radius` and `height` m, the origin halfway.
    pub const fn cone(radius: f32, height: f32) -> Self {
        Self::new(ObstacleShape::Cone { radius, height })
    }

    /// In a plane: a disc of `radius` m.
    pub const fn circle(radius: f32) -> Self {
        Self::sphere(radius)
    }

    /// In a plane: a rectangle of `size` m.
    pub const fn rectangle(size: Vec2) -> Self {
        let deep = if size.x > size.y { size.x } else { size.y };
        Self::cuboid(Vec3::new(size.x, size.y, deep))
    }

    /// In a plane: a thin wall from `start` to `end` (m); in space, a thread.
    pub const fn segment(start: Vec2, end: Vec2) -> Self {
        Self::new(ObstacleShape::Capsule {
            start: Vec3::new(start.x, start.y, 0.0),
            end: Vec3::new(end.x, end.y, 0.0),
            radius: 0.0,
        })
    }

    /// In a plane: a convex polygon (m), corners in order; in space, a prism through all z.
    pub fn polygon(corners: impl Into<Vec<Vec2>>) -> Self {
        Self::new(ObstacleShape::Polygon { corners: corners.into() })
    }

    /// Triangles, met from both sides.
    pub const fn mesh(mesh: TriangleMesh) -> Self {
        Self::new(ObstacleShape::Mesh(mesh))
    }

    /// With this friction.
    pub const fn with_friction(mut self, friction: Friction) -> Self {
        self.friction = friction;
        self
    }

    /// With this restitution (0 to 1).
    pub const fn with_restitution(mut self, restitution: f32) -> Self {
        self.restitution = restitution;
        self
    }

    /// In these layers.
    pub const fn with_layers(mut self, layers: ContactLayers) -> Self {
        self.layers = layers;
        self
    }

    /// As a sensor: it pushes nothing, and only reports contacts.
    pub const fn as_sensor(mut self) -> Self {
        self.sensor = true;
        self
    }
}
