//! Interaction: pointers that grab particles, and views of what the solver works on.

#[cfg(feature = "gizmos")]
mod gizmos;
#[cfg(feature = "picking")]
mod grab;

#[cfg(feature = "gizmos")]
pub use gizmos::{AxisGizmos, ConstraintGizmos, GizmoPlugin, ParticleGizmos};
#[cfg(feature = "picking")]
pub use grab::{GrabPlugin, GrabSettings, Grabbed, HeldBy, Released};
