//! Views: what the solver works on, as lines.
//!
//! Each view is a gizmo configuration group, off until it is turned on; its fields are colours and sizes, its
//! [`GizmoConfig`](bevy::gizmos::config::GizmoConfig) the width of the lines and which cameras see them.
//!
//! ```
//! # use bevy::prelude::*;
//! # use bevy_pliant::interact::StrainGizmos;
//! fn show_strain(mut store: ResMut<GizmoConfigStore>) {
//!     let (config, strain) = store.config_mut::<StrainGizmos>();
//!     config.enabled = true;
//!     strain.range = 0.02;
//! }
//! ```
//!
//! | group | shows |
//! |---|---|
//! | [`SurfaceGizmos`] | the wireframe of what is drawn |
//! | [`ConstraintGizmos`] | distance constraints; on demand tethers and bending |
//! | [`ParticleGizmos`] | particles as dots, held ones red and larger |
//! | [`EllipsoidGizmos`] | particles that turn, as ellipsoids |
//! | [`GroupGizmos`] | shape-matching groups; joints with their limits |
//! | [`StrainGizmos`] | constraints by strain |
//! | [`ContactGizmos`] | where particles touch, and the normals |
//! | [`IslandGizmos`] | islands |
//! | [`ColorGizmos`] | colours of the constraint graph |
//! | [`VelocityGizmos`] | velocities as arrows |
//! | [`SleepGizmos`] | what is awake, asleep or faulty |
//! | [`AxisGizmos`] | the world's axes |
//!
//! [`VIEWS`] lists them with names and tooltips. All show the drawn pose, in 2D and in 3D and to every camera
//! whose layers meet those of the group, and leave out bodies that are `Disabled`. Their lengths are in
//! metres, and scaled by [`SolverSettings::length_unit`](crate::solver::SolverSettings::length_unit) at the
//! start. A view that is off costs nothing.
//!
//! A view writes its lines into the gizmos' buffer as they are (`pen`), and finds particles in one list that
//! is filled anew each frame (`points`): on a cloth of 100×100 particles strain takes less time than it takes
//! Bevy to draw the lines.

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
