//! Obstacles: what particles collide with, and the friction between the two.
//!
//! An obstacle is an entity with a `Transform`; moving it moves what it touches. The solver sweeps its
//! pose over each tick's substeps.

mod friction;
mod half_space;
mod layers;

pub use friction::Friction;
pub use layers::ContactLayers;

use crate::{math::pose::Pose, particle::TopologyChanges};
use bevy::{
    ecs::{lifecycle::HookContext, world::DeferredWorld},
    math::DVec3,
    prelude::*,
};

/// A solid that particles cannot enter.
#[derive(Component, Reflect, Clone, Copy, Debug, Default, PartialEq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
#[require(Transform)]
#[component(on_add = note_obstacle)]
pub struct Obstacle {
    /// Its shape, in its own frame.
    pub shape: ObstacleShape,
    /// Friction with what touches it; combined with the body's, see [`Friction::combine`].
    pub friction: Friction,
    /// Restitution e, 0 to 1: the part of the approach speed that a particle leaves with. Default: 0.
    pub restitution: f32,
}

/// The shape of an obstacle.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub enum ObstacleShape {
    /// All points below the plane through the origin with normal +Y.
    #[default]
    HalfSpace,
}

/// Obstacles act in the order of creation, so they need one.
fn note_obstacle(mut world: DeferredWorld, context: HookContext) {
    if let Some(mut changes) = world.get_resource_mut::<TopologyChanges>() {
        changes.note_dynamic_added(context.entity);
    }
}

impl Obstacle {
    /// Solid below its local XZ plane: a floor, or, turned, a wall or a slope.
    pub const HALF_SPACE: Self =
        Self { shape: ObstacleShape::HalfSpace, friction: Friction::DEFAULT, restitution: 0.0 };

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
}

/// An obstacle's surface near some particles, relative to their island's origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Surface {
    /// Outward unit normal.
    pub normal: Vec3,
    /// n·x on the surface.
    pub level: f32,
}

impl ObstacleShape {
    /// The surface of the shape at `pose`, seen from an island at `origin`; `None` where the pose gives
    /// no usable shape.
    pub(crate) fn surface(&self, pose: &Pose, origin: DVec3) -> Option<Surface> {
        match self {
            Self::HalfSpace => half_space::surface(pose, origin),
        }
    }
}
