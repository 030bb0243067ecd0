//! Presets of materials, with values that were measured on the real ones or whose effect is.
//!
//! [`Fabric`] is for [`Cloth`](super::Cloth), [`SoftMaterial`] for figures that give way. Both say what the
//! real material is like in its own units, and convert it into the compliances of constraints: those do
//! not depend on how finely a body is divided.

mod fabric;
mod soft;

pub use fabric::Fabric;
pub use soft::SoftMaterial;
