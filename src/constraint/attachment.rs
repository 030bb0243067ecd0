//! Attachment: holds a particle at a point of another entity.
//!
//! ```text
//!   anchor ▣──offset──▪ p          C = x − p  (three rows, one vector λ)
//!                      ╲           Δλ = (−C − α̃λ − γ(ẋ − ṗ)h)/((1 + γ)(w + w_a) + α̃)
//!                       o x        Δx = w Δλ,  Δp = −w_a Δλ
//! ```
//!
//! \[MMC16\] eq. 18 and 26 with ∇C the identity. λ/h² is the force on the particle (N). An anchor that is
//! itself a particle is pulled back (w_a); any other anchor is moved by its transform alone (w_a = 0).

use super::{
    Constraint, DynamicConstraint, DynamicForm, DynamicParticles, Outcome, clamp_compliance,
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
    /// Where on the anchor: in its frame, before its scale; for a particle, from its position in world
    /// axes. `None` means where the particle is at the next tick. Default: `None`.
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
            offset: None,
            compliance: 0.0,
            damping: 0.0,
            max_force: f32::INFINITY,
            break_force: f32::INFINITY,
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

/// An attachment during one tick.
#[derive(Debug)]
pub struct HeldPoint {
    offset: Vec3,
    to_particle: bool,
    compliance: f32,
    damping: f32,
    max_force: f32,
    multiplier: Vec3,
    force_sum: Vec3,
    substeps: u32,
    h: f32,
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
        let position = particles.position(0)?;
        let anchor_position = particles.position(1);
        let offset = match (self.offset, anchor_position) {
            (Some(offset), _) => offset,
            (None, Some(anchor)) => position - anchor,
            (None, None) => particles.to_anchor(position)?,
        };
        if !offset.is_finite() || (anchor_position.is_none() && particles.anchor().is_none()) {
            return None;
        }
        self.offset = Some(offset);
        Some(HeldPoint {
            offset,
            to_particle: anchor_position.is_some(),
            compliance: clamp_compliance(self.compliance),
            damping: clamp_compliance(self.damping),
            max_force: if self.max_force.is_nan() {
                f32::INFINITY
            } else {
                self.max_force.max(0.0)
            },
            multiplier: Vec3::ZERO,
            force_sum: Vec3::ZERO,
            substeps: 0,
            h: particles.h(),
        })
    }

    fn begin_substep(held: &mut HeldPoint) {
        held.force_sum += held.multiplier / (held.h * held.h);
        held.multiplier = Vec3::ZERO;
        held.substeps += 1;
    }

    fn project(held: &mut HeldPoint, particles: &mut DynamicParticles<'_>) {
        let (Some(x), h) = (particles.position(0), held.h) else { return };
        let target = if held.to_particle {
            particles.position(1).map(|anchor| anchor + held.offset)
        } else {
            particles.anchor_point(held.offset)
        };
        let Some(target) = target else { return };
        let (w, wa) = (particles.weight(0), particles.weight(1));
        if w + wa <= 0.0 {
            return;
        }
        let alpha = (held.compliance / (h * h)).min(1e30);
        let gamma = if held.compliance > 0.0 { held.compliance * held.damping / h } else { 0.0 };
        let drift = if gamma > 0.0 {
            let anchor_movement = if held.to_particle {
                particles.movement(1)
            } else {
                particles.anchor_movement(held.offset)
            };
            particles.movement(0) - anchor_movement
        } else {
            Vec3::ZERO
        };
        let step = -(x - target + alpha * held.multiplier + gamma * drift)
            / ((1.0 + gamma) * (w + wa) + alpha);
        let next = (held.multiplier + step).clamp_length_max(held.max_force * h * h);
        let step = next - held.multiplier;
        if !step.is_finite() {
            return;
        }
        held.multiplier = next;
        particles.shift(0, w * step);
        particles.shift(1, -wa * step);
    }

    fn finish(&mut self, held: &HeldPoint) -> Outcome {
        let last = held.multiplier / (held.h * held.h);
        self.force = (held.force_sum + last) / held.substeps.max(1) as f32;
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
