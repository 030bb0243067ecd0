//! Interaction: pointers that grab particles, views of what the solver works on, and the inspector.

#[cfg(feature = "gizmos")]
mod gizmos;
#[cfg(feature = "picking")]
mod grab;
#[cfg(feature = "inspector")]
mod inspector;
#[cfg(feature = "picking")]
mod pick;

#[cfg(feature = "gizmos")]
pub use gizmos::{
    AxisGizmos, ColorGizmos, ConstraintGizmos, ContactGizmos, EllipsoidGizmos, GizmoPlugin,
    GroupGizmos, IslandGizmos, ParticleGizmos, SleepGizmos, StrainGizmos, SurfaceGizmos, VIEWS,
    VelocityGizmos, View,
};
#[cfg(all(feature = "picking", feature = "gizmos"))]
pub use grab::GrabGizmos;
#[cfg(feature = "picking")]
pub use grab::{
    BusyPointers, GrabPlugin, GrabSettings, Grabbed, HeldBy, PointerPinned, PointerUnpinned,
    Released, pointer_is_free,
};
#[cfg(feature = "inspector")]
pub use inspector::{Inspector, InspectorPlugin, InspectorSide, InspectorTab, inspector_ui};
#[cfg(feature = "picking")]
pub use pick::{PickSettings, PickingPlugin, SurfaceHit};
