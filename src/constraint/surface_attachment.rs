//! Attachment of a surface: holds a point that several particles share, by their weights.
//!
//! ```text
//!      o x₂
//!     ╱ ╲            x = Σ wᵢ (xᵢ + Rᵢ pointᵢ),  Σ wᵢ = 1
//!    ╱ ▪x╲           C = x − p
//!   o─────o          the kernel is in `held_point`
//!  x₀     x₁
//! ```
//!
//! On a triangle of a cloth the weights are barycentric coordinates; on a skin they are those of its bones.

use super::{
    Constraint, DynamicConstraint, DynamicForm, DynamicParticles, Outcome,
    held_point::{HeldPart, HeldPoint, Hold},
};
use bevy::{ecs::entity::MapEntities, prelude::*};

/// A particle's share in a point of a surface.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, MapEntities)]
#[reflect(Debug, PartialEq, Clone)]
pub struct SurfacePart {
    /// The particle.
    #[entities]
    pub particle: Entity,
    /// Which point moves with it (m): in its frame for one that turns; else from its position, in world axes.
    pub point: Vec3,
    /// Its weight; those of all parts are taken relative to their sum.
    pub weight: f32,
}

/// Holds a point of a surface at a point of any entity that has a `Transform`, or of a particle.
///
/// Despawn it to let go. It is despawned by itself when one of its particles or the anchor is.
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component, Debug, PartialEq, Clone)]
#[component(on_add = super::note_dynamic_added, on_remove = super::note_removed)]
pub struct SurfaceAttachment {
    /// What makes the point.
    #[entities]
    pub parts: Vec<SurfacePart>,
    /// What holds it.
    #[entities]
    pub anchor: Entity,
    /// Where on the anchor: in its frame, before its scale; for a particle that does not turn, from its
    /// position in world axes. `None` means where the point is at the next tick. Default: `None`.
    pub offset: Option<Vec3>,
    /// Compliance α (m/N); 0 is rigid. Default: 0.
    pub compliance: f32,
    /// Rayleigh damping β (N s/m); it acts only where the compliance is above 0. Default: 0.
    pub damping: f32,
    /// It pulls no harder than this (N). Default: infinite.
    pub max_force: f32,
    /// Mean force on the point over the last tick (N); written by the solver.
    pub force: Vec3,
}

impl SurfaceAttachment {
    /// A rigid attachment of the point of `parts` to `anchor` where the two are now.
    pub const fn new(parts: Vec<SurfacePart>, anchor: Entity) -> Self {
        Self {
            parts,
            anchor,
            offset: None,
            compliance: 0.0,
            damping: 0.0,
            max_force: f32::INFINITY,
            force: Vec3::ZERO,
        }
    }

    /// At this point of the anchor's frame.
    pub const fn at(mut self, offset: Vec3) -> Self {
        self.offset = Some(offset);
        self
    }

    /// With this compliance (m/N).
    pub const fn with_compliance(mut self, compliance: f32) -> Self {
        self.compliance = compliance;
        self
    }

    /// With this Rayleigh damping (N s/m).
    pub const fn with_damping(mut self, damping: f32) -> Self {
        self.damping = damping;
        self
    }

    /// Pulls no harder than `force` (N).
    pub const fn with_max_force(mut self, force: f32) -> Self {
        self.max_force = force;
        self
    }
}

impl Constraint for SurfaceAttachment {
    type Form = DynamicForm;
}

impl DynamicConstraint for SurfaceAttachment {
    type Compiled = HeldPoint;

    fn participants(&self) -> Vec<Entity> {
        self.parts.iter().map(|part| part.particle).chain([self.anchor]).collect()
    }

    fn anchor(&self) -> Option<Entity> {
        Some(self.anchor)
    }

    fn prepare(&mut self, particles: &DynamicParticles<'_>) -> Option<HeldPoint> {
        let sum: f32 = self.parts.iter().map(|part| part.weight).sum();
        if !(sum.is_finite() && sum.abs() > 1e-6) {
            return None;
        }
        let part = |(participant, part): (usize, &SurfacePart)| HeldPart {
            participant,
            point: part.point,
            weight: part.weight / sum,
        };
        let parts = self.parts.iter().enumerate().map(part).collect();
        let Self { compliance, damping, max_force, .. } = *self;
        let hold = Hold { compliance, damping, max_force };
        HeldPoint::new(parts, self.parts.len(), &mut self.offset, hold, particles)
    }

    fn begin_substep(held: &mut HeldPoint) {
        held.begin_substep();
    }

    fn project(held: &mut HeldPoint, particles: &mut DynamicParticles<'_>) {
        held.project(particles);
    }

    fn finish(&mut self, held: &HeldPoint) -> Outcome {
        self.force = held.force();
        Outcome::Keep
    }
}
