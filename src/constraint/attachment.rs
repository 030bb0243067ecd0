//! Attachment: holds a particle at a point of another entity.
//!
//! ```text
//!   anchor ▣──offset──▪ p          C = x − p, or x + R point − p for a particle that turns
//!                      ╲
//!                       o x        the kernel is in `held_point`
//! ```
//!
//! An anchor that is itself a particle is pulled back; any other anchor is moved by its transform alone.

use super::{
    Constraint, DynamicConstraint, DynamicForm, DynamicParticles, Outcome,
    held_point::{HeldPart, HeldPoint, Hold},
};
use bevy::prelude::*;

/// Holds a particle at a point of any entity that has a `Transform`, or of another particle.
///
/// Despawn it to let go. It is despawned by itself when the particle or the anchor is, and when it
/// breaks.
#[derive(Component, Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Component, Debug, PartialEq, Clone)]
#[component(on_add = super::note_dynamic_added, on_remove = super::note_removed)]
pub struct Attachment {
    /// The particle that is held.
    #[entities]
    pub particle: Entity,
    /// What holds it.
    #[entities]
    pub anchor: Entity,
    /// Where on the particle (m, in its frame), for one that turns. Default: its centre.
    pub point: Vec3,
    /// Where on the anchor: in its frame, before its scale; for a particle that does not turn, from its
    /// position in world axes. `None` means where the particle is at the next tick. Default: `None`.
    pub offset: Option<Vec3>,
    /// Compliance α (m/N); 0 is rigid. Default: 0.
    pub compliance: f32,
    /// Rayleigh damping β (N s/m); it acts only where the compliance is above 0. Default: 0.
    pub damping: f32,
    /// It pulls no harder than this (N). Default: infinite.
    pub max_force: f32,
    /// It breaks when the mean force over a tick is above this (N). Default: infinite.
    pub break_force: f32,
    /// Mean force on the particle over the last tick (N); written by the solver.
    pub force: Vec3,
}

impl Attachment {
    /// A rigid, unbreakable attachment of `particle` to `anchor` where the two are now.
    pub const fn new(particle: Entity, anchor: Entity) -> Self {
        Self {
            particle,
            anchor,
            point: Vec3::ZERO,
            offset: None,
            compliance: 0.0,
            damping: 0.0,
            max_force: f32::INFINITY,
            break_force: f32::INFINITY,
            force: Vec3::ZERO,
        }
    }

    /// Holding this point of the particle's frame (m), for one that turns.
    pub const fn holding(mut self, point: Vec3) -> Self {
        self.point = point;
        self
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

    /// Breaks above a mean force of `force` (N).
    pub const fn with_break_force(mut self, force: f32) -> Self {
        self.break_force = force;
        self
    }
}

/// An [`Attachment`] broke; its entity is despawned right after.
#[derive(EntityEvent, Clone, Copy, Debug, PartialEq)]
pub struct AttachmentBroken {
    /// The attachment.
    #[event_target]
    pub attachment: Entity,
    /// The particle that is free now.
    pub particle: Entity,
    /// What held it.
    pub anchor: Entity,
    /// The mean force of the last tick (N).
    pub force: Vec3,
}

impl Constraint for Attachment {
    type Form = DynamicForm;
}

impl DynamicConstraint for Attachment {
    type Compiled = HeldPoint;

    fn participants(&self) -> Vec<Entity> {
        vec![self.particle, self.anchor]
    }

    fn anchor(&self) -> Option<Entity> {
        Some(self.anchor)
    }

    fn prepare(&mut self, particles: &DynamicParticles<'_>) -> Option<HeldPoint> {
        let point = if particles.oriented(0).is_some() { self.point } else { Vec3::ZERO };
        let part = HeldPart { participant: 0, point, weight: 1.0 };
        let Self { compliance, damping, max_force, .. } = *self;
        let hold = Hold { compliance, damping, max_force };
        HeldPoint::new(vec![part], 1, &mut self.offset, hold, particles)
    }

    fn begin_substep(held: &mut HeldPoint) {
        held.begin_substep();
    }

    fn project(held: &mut HeldPoint, particles: &mut DynamicParticles<'_>) {
        held.project(particles);
    }

    fn finish(&mut self, held: &HeldPoint) -> Outcome {
        self.force = held.force();
        if self.force.length() > self.break_force { Outcome::Broken } else { Outcome::Keep }
    }

    fn broken(&self, entity: Entity, commands: &mut Commands) {
        commands.trigger(AttachmentBroken {
            attachment: entity,
            particle: self.particle,
            anchor: self.anchor,
            force: self.force,
        });
    }
}
