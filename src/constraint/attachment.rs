//! Attachment: holds a particle at a point of another entity.
//!
//! ```text
//!   anchor ▣──offset──▪ p          C = x − p  (three rows, one vector λ)
//!                      ╲           Δλ = (−C − α̃λ − γ(ẋ − ṗ)h)/((1 + γ)(w + w_a) + α̃)
//!                       o x        Δx = w Δλ,  Δp = −w_a Δλ
//! ```
//!
//! A particle that turns is held at any of its points: then w is the block w 1 − [r] I⁻¹ [r] of the arm r,
//! and it turns by I⁻¹ (r × Δλ).
//!
//! \[MMC16\] eq. 18 and 26 with ∇C the identity. λ/h² is the force on the particle (N). An anchor that is
//! itself a particle is pulled back (w_a); any other anchor is moved by its transform alone (w_a = 0).

use super::{
    Constraint, DynamicConstraint, DynamicForm, DynamicParticles, Oriented, Outcome,
    clamp_compliance, joint::lever,
};
use bevy::{math::Mat3, prelude::*};

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

/// An attachment during one tick.
#[derive(Debug)]
pub struct HeldPoint {
    point: Vec3,
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

/// From a participant's position to the point `point` of its frame; 0 where it does not turn.
fn arm(particles: &DynamicParticles<'_>, i: usize, point: Vec3) -> Vec3 {
    particles.oriented(i).map_or(Vec3::ZERO, |oriented| oriented.rotation() * point)
}

/// How far the end of an arm has moved in this substep by the turn alone.
fn swing(particles: &DynamicParticles<'_>, i: usize, arm: Vec3) -> Vec3 {
    let turn = particles.oriented(i).map(|oriented| oriented.turned_so_far(particles.h()));
    turn.map_or(Vec3::ZERO, |turn| turn.cross(arm))
}

/// The part of the generalised inverse mass that turns make, or `None` where nothing turns.
fn levers(particles: &DynamicParticles<'_>, arms: [Vec3; 2]) -> Option<Mat3> {
    let mut sum = None;
    for (i, arm) in arms.into_iter().enumerate() {
        // What is asleep is as good as held.
        if let Some(oriented) = particles.oriented(i)
            && particles.weight(i) > 0.0
        {
            *sum.get_or_insert(Mat3::ZERO) += lever(arm, &oriented.inverse_inertia_tensor());
        }
    }
    sum
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
        let position = particles.position(0)? + arm(particles, 0, self.point);
        let anchor_position = particles.position(1);
        let offset = match (self.offset, anchor_position) {
            (Some(offset), _) => offset,
            (None, Some(anchor)) => {
                let turn = particles.oriented(1).map_or(Quat::IDENTITY, Oriented::rotation);
                turn.inverse() * (position - anchor)
            }
            (None, None) => particles.to_anchor(position)?,
        };
        if !(offset.is_finite() && self.point.is_finite())
            || (anchor_position.is_none() && particles.anchor().is_none())
        {
            return None;
        }
        self.offset = Some(offset);
        Some(HeldPoint {
            point: self.point,
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
        let arms = if held.to_particle {
            let offset = held.offset;
            let fixed = particles.oriented(1).is_none();
            let second = if fixed { offset } else { arm(particles, 1, offset) };
            [arm(particles, 0, held.point), second]
        } else {
            [arm(particles, 0, held.point), Vec3::ZERO]
        };
        let x = x + arms[0];
        let target = if held.to_particle {
            particles.position(1).map(|anchor| anchor + arms[1])
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
                particles.movement(1) + swing(particles, 1, arms[1])
            } else {
                particles.anchor_movement(held.offset)
            };
            particles.movement(0) + swing(particles, 0, arms[0]) - anchor_movement
        } else {
            Vec3::ZERO
        };
        let wanted = x - target + alpha * held.multiplier + gamma * drift;
        let levers = levers(particles, arms);
        let step = match levers {
            None => -wanted / ((1.0 + gamma) * (w + wa) + alpha),
            Some(levers) => {
                let round = Mat3::from_diagonal(Vec3::splat((1.0 + gamma) * (w + wa) + alpha));
                -((round + levers * (1.0 + gamma)).inverse() * wanted)
            }
        };
        let next = (held.multiplier + step).clamp_length_max(held.max_force * h * h);
        let step = next - held.multiplier;
        if !step.is_finite() {
            return;
        }
        held.multiplier = next;
        particles.shift(0, w * step);
        particles.shift(1, -wa * step);
        if levers.is_some() {
            for (i, (arm, push)) in arms.into_iter().zip([step, -step]).enumerate() {
                let turn = particles.oriented(i).map(|o| o.inverse_inertia_times(arm.cross(push)));
                particles.turn(i, turn.unwrap_or(Vec3::ZERO));
            }
        }
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
