//! Interaction: pointers that grab particles, and views of what the solver works on.

#[cfg(feature = "gizmos")]
mod gizmos;
#[cfg(feature = "picking")]
mod grab;

#[cfg(feature = "gizmos")]
pub use gizmos::{
    AxisGizmos, ColorGizmos, ConstraintGizmos, ContactGizmos, EllipsoidGizmos, GizmoPlugin,
    GroupGizmos, IslandGizmos, ParticleGizmos, SleepGizmos, StrainGizmos, SurfaceGizmos, VIEWS,
    VelocityGizmos, View,
};
#[cfg(feature = "picking")]
pub use grab::{GrabPlugin, GrabSettings, Grabbed, HeldBy, Released};
