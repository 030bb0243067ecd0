//! Views: what the solver works on, as lines.
//!
//! A view writes its lines into the gizmos' buffer as they are (`pen`), and finds particles in one list that
//! is filled anew each frame (`points`): on a cloth of 100×100 particles strain takes less time than it takes
//! Bevy to draw the lines. [`GizmoPlugin`] tells of them all.

mod axis;
mod color;
mod constraint;
mod contact;
mod dots;
mod ellipsoid;
mod group;
mod island;
mod links;
mod particle;
mod pen;
mod plugin;
mod points;
mod sleep;
mod strain;
mod surface;
mod velocity;
mod view;

pub use axis::AxisGizmos;
pub use color::ColorGizmos;
pub use constraint::ConstraintGizmos;
pub use contact::ContactGizmos;
pub use ellipsoid::EllipsoidGizmos;
pub use group::GroupGizmos;
pub use island::IslandGizmos;
pub use particle::ParticleGizmos;
pub use plugin::GizmoPlugin;
pub use sleep::SleepGizmos;
pub use strain::StrainGizmos;
pub use surface::SurfaceGizmos;
pub use velocity::VelocityGizmos;
pub use view::{VIEWS, View};
