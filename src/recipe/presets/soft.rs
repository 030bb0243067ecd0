//! What a soft body is made of.

use crate::{obstacle::Friction, recipe::SpriteRagdoll};
use bevy::prelude::*;

/// What a soft body is made of.
#[derive(Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Debug, PartialEq, Clone)]
pub struct SoftMaterial {
    /// What it is called.
    pub name: &'static str,
    /// Mass of a figure by the square of its height (kg/m²).
    pub density: f32,
    /// Compliance of joints and groups (m/N).
    pub compliance: f32,
    /// Damping relative to the body's rigid motion (1/s).
    pub damping: f32,
    /// Friction with itself.
    pub friction: Friction,
}

impl SoftMaterial {
    /// Jelly.
    pub const JELLY: Self = Self {
        name: "Jelly",
        density: 3.0,
        compliance: 5e-3,
        damping: 1.0,
        friction: Friction::new(0.2),
    };
    /// Rubber.
    pub const RUBBER: Self = Self {
        name: "Rubber",
        density: 3.0,
        compliance: 2e-4,
        damping: 3.0,
        friction: Friction::new(1.0),
    };
    /// Foam.
    pub const FOAM: Self = Self {
        name: "Foam",
        density: 0.3,
        compliance: 1e-2,
        damping: 10.0,
        friction: Friction::new(0.6),
    };
    /// All of them.
    pub const ALL: [Self; 3] = [Self::JELLY, Self::RUBBER, Self::FOAM];

    /// Makes a ragdoll of it.
    pub fn apply(&self, ragdoll: &mut SpriteRagdoll) {
        ragdoll.mass = self.density * ragdoll.height * ragdoll.height;
        ragdoll.compliance = self.compliance;
        ragdoll.damping = Some(self.damping);
        ragdoll.friction = self.friction;
    }
}

impl SpriteRagdoll {
    /// Made of this.
    pub fn with_material(mut self, material: &SoftMaterial) -> Self {
        material.apply(&mut self);
        self
    }
}
