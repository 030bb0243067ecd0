//! What a cloth is made of.

use crate::{
    obstacle::Friction,
    recipe::{Cloth, ClothMass, ClothShape, ClothTopology},
};
use bevy::prelude::*;

/// What a cloth is made of.
#[derive(Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Debug, PartialEq, Clone)]
pub struct Fabric {
    /// What it is called.
    pub name: &'static str,
    /// Mass per area (kg/m²).
    pub mass_per_area: f32,
    /// Thickness (m).
    pub thickness: f32,
    /// Bending rigidity B, moment per width and curvature (N m).
    pub bending_rigidity: f32,
    /// Membrane stiffness E t, tension per width and strain (N/m).
    pub stretch_modulus: f32,
    /// Velocity damping (1/s).
    pub damping: f32,
    /// Friction with itself.
    pub friction: Friction,
}

impl Fabric {
    /// Silk.
    pub const SILK: Self = Self {
        name: "Silk",
        mass_per_area: 0.06,
        thickness: 2e-4,
        bending_rigidity: 3e-6,
        stretch_modulus: 1e4,
        damping: 0.1,
        friction: Friction::new(0.3),
    };
    /// Cotton.
    pub const COTTON: Self = Self {
        name: "Cotton",
        mass_per_area: 0.13,
        thickness: 4e-4,
        bending_rigidity: 8e-6,
        stretch_modulus: 1e4,
        damping: 0.2,
        friction: Friction::new(0.5),
    };
    /// Denim.
    pub const DENIM: Self = Self {
        name: "Denim",
        mass_per_area: 0.45,
        thickness: 9e-4,
        bending_rigidity: 8e-5,
        stretch_modulus: 2e4,
        damping: 0.3,
        friction: Friction::new(0.6),
    };
    /// Leather.
    pub const LEATHER: Self = Self {
        name: "Leather",
        mass_per_area: 0.9,
        thickness: 1.2e-3,
        bending_rigidity: 1e-3,
        stretch_modulus: 3e4,
        damping: 0.5,
        friction: Friction::new(0.6),
    };
    /// A sheet of rubber.
    pub const RUBBER_SHEET: Self = Self {
        name: "Rubber sheet",
        mass_per_area: 1.1,
        thickness: 1e-3,
        bending_rigidity: 1.7e-4,
        stretch_modulus: 1.5e3,
        damping: 0.5,
        friction: Friction::new(1.0),
    };
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::SILK, Self::COTTON, Self::DENIM, Self::LEATHER, Self::RUBBER_SHEET];

    /// Compliance of the edges of a cloth of this shape (m/N).
    pub const fn compliance(&self, shape: &ClothShape) -> f32 {
        let factor = match shape {
            ClothShape::Grid { topology: ClothTopology::Bending, .. } => 4.0 / 3.0,
            ClothShape::Grid { topology: ClothTopology::Diagonals, .. } => 1.5,
            ClothShape::Mesh { .. } => 1.154_700_5,
        };
        factor / self.stretch_modulus.max(f32::MIN_POSITIVE)
    }

    /// Compliance of its bending in a cloth of this shape (rad²/J).
    pub const fn bending_compliance(&self, shape: &ClothShape) -> f32 {
        let factor = match shape {
            ClothShape::Grid { .. } => 1.0,
            ClothShape::Mesh { .. } => 0.866_025_4,
        };
        factor / self.bending_rigidity.max(f32::MIN_POSITIVE)
    }

    /// Makes a cloth of it.
    pub fn apply(&self, cloth: &mut Cloth) {
        cloth.mass = ClothMass::PerArea(self.mass_per_area);
        cloth.compliance = self.compliance(&cloth.shape);
        cloth.bending_compliance = self.bending_compliance(&cloth.shape);
        cloth.damping = Some(self.damping);
        cloth.friction = self.friction;
    }
}

impl Cloth {
    /// Made of this.
    pub fn with_fabric(mut self, fabric: &Fabric) -> Self {
        fabric.apply(&mut self);
        self
    }
}
