//! Recipes: components that say how to build a body.
//!
//! Spawn a recipe ([`Cloth`], [`Rope`]) with a `Transform`; at the next tick it is built into particle and
//! constraint entities and [`BodyBuilt`] is triggered, or [`BodyFailed`] with a [`BuildError`] that says
//! what is wrong. Change a field of the recipe later: what is only material (compliance, mass,
//! damping, friction, thickness) is applied to the live body, and only where the recipe's own value
//! still stands; a change of shape builds the body anew, and so does [`Rebuild`].

mod build;
mod cloth;
mod error;
mod geodesic;
mod plan;
mod rope;

pub use crate::particle::BuiltScale;
pub use build::{BodyBuilt, BodyFailed, BuiltFrom, Rebuild, RecipeMade};
pub use cloth::{Cloth, ClothMass, ClothPins, ClothTopology, grid_triangles};
pub use error::BuildError;
pub use rope::{Rope, RopePins};

use crate::solver::PliantSystems;
use bevy::prelude::*;

/// Builds bodies. Systems in run order, in [`PliantSystems::Build`]: `build::<Cloth>`, `build::<Rope>`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecipePlugin;

impl Plugin for RecipePlugin {
    fn build(&self, app: &mut App) {
        app.register_type::<Cloth>()
            .register_type::<BuiltFrom<Cloth>>()
            .register_type::<Rope>()
            .register_type::<BuiltFrom<Rope>>()
            .register_type::<BuiltScale>()
            .register_type::<RecipeMade>()
            .add_observer(build::on_rebuild)
            .add_systems(
                crate::solver::PliantSchedule,
                (build::build::<Cloth>, build::build::<Rope>).chain().in_set(PliantSystems::Build),
            );
    }
}
