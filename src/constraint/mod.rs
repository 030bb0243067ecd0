//! Constraints: what holds particles together.
//!
//! A constraint is an entity with one constraint component. It may belong to a body
//! ([`ConstraintOf`]) and its particles may belong to different bodies. Despawn it to tear; when one
//! of its particles is despawned, so is the constraint.
//!
//! # Projection
//!
//! Every constraint is a function C of its particles' positions x with gradients ∇ᵢC. The solver
//! projects it by extended position-based dynamics: with inverse masses wᵢ, compliance α, damping β,
//! substep h and the multiplier λ accumulated in this substep,
//!
//! ```text
//! α̃ = α/h²   γ = αβ/h
//! Δλ  = (−C − α̃λ − γ Σ∇ᵢC·(xᵢ − xᵢ_old)) / ((1 + γ) Σwᵢ|∇ᵢC|² + α̃)        [MMC16] eq. 18, 26
//! Δxᵢ = wᵢ ∇ᵢC Δλ                                                      [MMC16] eq. 17
//! ```
//!
//! λ/h² is the force along the gradient (N where C is a length). With α = 0 this is classic
//! position-based dynamics \[MHHR06\]; with one iteration a substep, the method of small steps \[MSL+19\].
//!
//! # Three forms
//!
//! | form | trait | storage | for |
//! |---|---|---|---|
//! | [`LaneForm<N>`] | [`LaneConstraint<N>`] | packed four at a time, SoA | a fixed number of particles |
//! | [`GroupForm`] | [`GroupConstraint`] | a slice of slots, scalar kernel | any number of particles |
//! | [`DynamicForm`] | [`DynamicConstraint`] | a short list, never compiled | what comes and goes |
//!
//! Implement [`Constraint`] and the trait of its form, and register it with
//! [`AddConstraint::add_constraint`](crate::solver::AddConstraint::add_constraint).
//!
//! # References
//!
//! * \[MHHR06\] Müller, Heidelberger, Hennix, Ratcliff: Position Based Dynamics
//! * \[MMC16\] Macklin, Müller, Chentanez: XPBD
//! * \[MSL+19\] Macklin et al.: Small Steps in Physics Simulation
//! * \[BMM17\] Bender, Müller, Macklin: A Survey on Position Based Dynamics
//! * \[KCM12\] Kim, Chentanez, Müller: Long Range Attachments
//! * \[MC11\] Müller, Chentanez: Solid Simulation with Oriented Particles
//! * \[MHTG05\] Müller, Heidelberger, Teschner, Gross: Meshless Deformations Based on Shape Matching
//! * \[H87\] Horn: Closed-form Solution of Absolute Orientation Using Unit Quaternions
//! * \[BMF03\] Bridson, Marino, Fedkiw: Simulation of Clothing with Folds and Wrinkles

mod attachment;
mod bending;
mod distance;
mod dynamic;
mod group;
mod held_point;
mod joint;
mod lane;
mod shape_matching;
mod surface_attachment;
mod tether;
mod torsion;
mod turning;

pub use attachment::{Attachment, AttachmentBroken};
pub use bending::BendingConstraint;
pub use distance::DistanceConstraint;
pub use dynamic::{DynamicConstraint, DynamicParticles, Outcome, TargetMotion};
pub use group::{GroupConstraint, GroupMasses, GroupParticles};
pub use joint::{JointConstraint, JointLimits};
pub(crate) use lane::OldPositions;
pub use lane::{
    Evaluation, LaneConstraint, LaneParticles, LaneSettings, Sides, Soft, project_lanes,
};
pub use shape_matching::{GroupKind, GroupMember, OrientationUpdate, ShapeMatchingConstraint};
pub use surface_attachment::{SurfaceAttachment, SurfacePart};
pub use tether::TetherConstraint;
pub use torsion::TorsionConstraint;
pub use turning::Oriented;
pub(crate) use turning::{NOT_ORIENTED, Turning};

use crate::particle::TopologyChanges;
use bevy::{
    ecs::{component::Mutable, lifecycle::HookContext, world::DeferredWorld},
    prelude::*,
};

/// A component that constrains particles; its form says how the solver stores and projects it.
pub trait Constraint: Component<Mutability = Mutable> + Sized {
    /// [`LaneForm<N>`], [`GroupForm`] or [`DynamicForm`].
    type Form;
}

/// The form of a constraint between exactly `N` particles: implement [`LaneConstraint<N>`].
#[derive(Debug)]
pub struct LaneForm<const N: usize>;

/// The form of a constraint among any number of particles: implement [`GroupConstraint`].
#[derive(Debug)]
pub struct GroupForm;

/// The form of a constraint that comes and goes: implement [`DynamicConstraint`].
#[derive(Debug)]
pub struct DynamicForm;

/// The body that a constraint belongs to. Despawning the body despawns the constraint.
#[derive(Component, Reflect, Clone, Copy, Debug, PartialEq, Eq)]
#[reflect(Component, Debug, PartialEq, Clone)]
#[relationship(relationship_target = Constraints)]
pub struct ConstraintOf(#[entities] pub Entity);

/// The constraints of a body, in the order in which they were added.
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq, Eq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
#[relationship_target(relationship = ConstraintOf, linked_spawn)]
pub struct Constraints(Vec<Entity>);

impl core::ops::Deref for Constraints {
    type Target = [Entity];

    fn deref(&self) -> &[Entity] {
        &self.0
    }
}

/// Largest compliance that a kernel uses (m/N); beyond it a constraint does nothing that f32 can show.
pub const MAX_COMPLIANCE: f32 = 1e20;

/// A compliance or damping coefficient as the kernels use it: not a number and negative values count
/// as 0, values above [`MAX_COMPLIANCE`] as that.
pub fn clamp_compliance(value: f32) -> f32 {
    if value.is_nan() { 0.0 } else { value.clamp(0.0, MAX_COMPLIANCE) }
}

/// Hook of the constraints of this crate: on add.
pub(crate) fn note_added(mut world: DeferredWorld, context: HookContext) {
    if let Some(mut changes) = world.get_resource_mut::<TopologyChanges>() {
        changes.note_added(context.entity);
    }
}

/// Hook of the dynamic constraints of this crate: on add.
pub(crate) fn note_dynamic_added(mut world: DeferredWorld, context: HookContext) {
    if let Some(mut changes) = world.get_resource_mut::<TopologyChanges>() {
        changes.note_dynamic_added(context.entity);
    }
}

/// Hook of the constraints of this crate: on removal.
pub(crate) fn note_removed(mut world: DeferredWorld, context: HookContext) {
    if let Some(mut changes) = world.get_resource_mut::<TopologyChanges>() {
        changes.note_constraint_removed(context.entity);
    }
}
