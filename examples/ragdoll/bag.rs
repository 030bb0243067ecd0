//! The bag.

use bevy::prelude::*;

/// The bag and its ways.
pub struct BagPlugin;

impl Plugin for BagPlugin {
    fn build(&self, _app: &mut App) {}
}

/// Where the postman is at the start.
pub fn start() -> Transform {
    Transform::from_xyz(0.0, 1.3, 0.0)
}
