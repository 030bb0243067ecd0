//! Materials that a recipe can be made of, with values that were measured.

mod fabric;
mod soft;

pub use fabric::Fabric;
pub use soft::SoftMaterial;
