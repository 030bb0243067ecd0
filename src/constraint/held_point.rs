//! The kernel of what holds a point: of one particle, or of a surface between several.
//!
//! ```text
//!   anchor ▣──offset──▪ p          x = Σ wᵢ (xᵢ + rᵢ),  rᵢ the arm to a point of the particle's frame
//!                      ╲           C = x − p  (three rows, one vector λ)
//!      o───────x───────o           K = Σ wᵢ² (mᵢ⁻¹ 1 − [rᵢ] Iᵢ⁻¹ [rᵢ])
//!                                  Δλ = ((1 + γ) K + α̃)⁻¹ (−C − α̃λ − γ(ẋ − ṗ)h)
//!                                  Δxᵢ = wᵢ mᵢ⁻¹ Δλ,  turned by Iᵢ⁻¹ (rᵢ × wᵢ Δλ)
//! ```
//!
//! \[MMC16\] eq. 18 and 26, with ∇C the weights. λ/h² is the force on the point (N). Where the anchor is a
//! particle it is one more part, of weight −1.

use super::{DynamicParticles, Oriented, clamp_compliance, joint::lever};
use bevy::{math::Mat3, prelude::*};

/// A participant's share in what is held.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldPart {
    /// Place among the participants.
    pub participant: usize,
    /// Where on it (m): in its frame for one that turns; else from its position, in world axes.
    pub point: Vec3,
    pub weight: f32,
}

/// How a point is held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    /// Compliance α (m/N).
    pub compliance: f32,
    /// Rayleigh damping β (N s/m).
    pub damping: f32,
    /// Greatest force (N).
    pub max_force: f32,
}

/// A held point during one tick.
#[derive(Debug)]
pub struct HeldPoint {
    parts: Vec<HeldPart>,
    /// Where on the anchor's frame, if that is no particle.
    offset: Option<Vec3>,
    hold: Hold,
    multiplier: Vec3,
    force_sum: Vec3,
    substeps: u32,
    h: f32,
}

/// From a participant's position to the point of a part.
fn arm(particles: &DynamicParticles<'_>, part: &HeldPart) -> Vec3 {
    match particles.oriented(part.participant) {
        Some(oriented) => oriented.rotation() * part.point,
        None => part.point,
    }
}

/// Where the point of a part is (m); `None` where that is no particle.
fn place(particles: &DynamicParticles<'_>, part: &HeldPart) -> Option<Vec3> {
    Some(particles.position(part.participant)? + arm(particles, part))
}

/// How far the point of a part has moved in this substep (m).
fn movement(particles: &DynamicParticles<'_>, part: &HeldPart, arm: Vec3) -> Vec3 {
    let i = part.participant;
    let turn = particles.oriented(i).map(|oriented| oriented.turned_so_far(particles.h()));
    particles.movement(i) + turn.map_or(Vec3::ZERO, |turn| turn.cross(arm))
}

/// The arm of one that turns.
fn turning_arm(oriented: &Oriented, part: &HeldPart) -> Vec3 {
    oriented.rotation() * part.point
}

impl HeldPoint {
    /// The sum of `parts`, held at `offset` of the anchor, which is the participant `anchor`; where `offset` is
    /// `None` it becomes where the two are now. `None` where that makes no sense.
    pub(super) fn new(
        mut parts: Vec<HeldPart>,
        anchor: usize,
        offset: &mut Option<Vec3>,
        hold: Hold,
        particles: &DynamicParticles<'_>,
    ) -> Option<Self> {
        let mut position = Vec3::ZERO;
        for part in &parts {
            position += part.weight * place(particles, part)?;
        }
        let on_particle = particles.position(anchor);
        let at = match (*offset, on_particle) {
            (Some(offset), _) => offset,
            (None, Some(anchor_position)) => {
                let turn = particles.oriented(anchor).map_or(Quat::IDENTITY, Oriented::rotation);
                turn.inverse() * (position - anchor_position)
            }
            (None, None) => particles.to_anchor(position)?,
        };
        if on_particle.is_some() {
            parts.push(HeldPart { participant: anchor, point: at, weight: -1.0 });
        }
        let usable = parts.iter().all(|part| part.point.is_finite() && part.weight.is_finite());
        if !(usable && at.is_finite() && (on_particle.is_some() || particles.anchor().is_some())) {
            return None;
        }
        *offset = Some(at);
        Some(Self {
            parts,
            offset: on_particle.is_none().then_some(at),
            hold: Hold {
                compliance: clamp_compliance(hold.compliance),
                damping: clamp_compliance(hold.damping),
                max_force: if hold.max_force.is_nan() {
                    f32::INFINITY
                } else {
                    hold.max_force.max(0.0)
                },
            },
            multiplier: Vec3::ZERO,
            force_sum: Vec3::ZERO,
            substeps: 0,
            h: particles.h(),
        })
    }

    pub(super) fn begin_substep(&mut self) {
        self.force_sum += self.multiplier / (self.h * self.h);
        self.multiplier = Vec3::ZERO;
        self.substeps += 1;
    }

    /// C: from where it should be to where it is (m).
    fn violation(&self, particles: &DynamicParticles<'_>) -> Option<Vec3> {
        let mut sum = Vec3::ZERO;
        for part in &self.parts {
            sum += part.weight * place(particles, part)?;
        }
        match self.offset {
            Some(offset) => Some(sum - particles.anchor_point(offset)?),
            None => Some(sum),
        }
    }

    /// How far it has moved in this substep relative to what holds it (m).
    fn drift(&self, particles: &DynamicParticles<'_>) -> Vec3 {
        let mut sum = Vec3::ZERO;
        for part in &self.parts {
            let arm = arm(particles, part);
            sum += part.weight * movement(particles, part, arm);
        }
        match self.offset {
            Some(offset) => sum - particles.anchor_movement(offset),
            None => sum,
        }
    }

    /// Generalised inverse mass: what is the same in all directions, and what turns add.
    fn weights(&self, particles: &DynamicParticles<'_>) -> (f32, Option<Mat3>) {
        let (mut round, mut levers) = (0.0, None);
        for part in &self.parts {
            let weight = particles.weight(part.participant);
            let square = part.weight * part.weight;
            round += square * weight;
            // What is asleep is as good as held.
            if let Some(oriented) = particles.oriented(part.participant)
                && weight > 0.0
            {
                let arm = turning_arm(oriented, part);
                *levers.get_or_insert(Mat3::ZERO) +=
                    lever(arm, &oriented.inverse_inertia_tensor()) * square;
            }
        }
        (round, levers)
    }

    pub(super) fn project(&mut self, particles: &mut DynamicParticles<'_>) {
        let Some(violation) = self.violation(particles) else { return };
        let (round, levers) = self.weights(particles);
        if round <= 0.0 {
            return;
        }
        let Hold { compliance, damping, max_force } = self.hold;
        let h = self.h;
        let alpha = (compliance / (h * h)).min(1e30);
        let gamma = if compliance > 0.0 { compliance * damping / h } else { 0.0 };
        let drift = if gamma > 0.0 { self.drift(particles) } else { Vec3::ZERO };
        let wanted = violation + alpha * self.multiplier + gamma * drift;
        let diagonal = (1.0 + gamma) * round + alpha;
        let step = match levers {
            None => -wanted / diagonal,
            Some(levers) => {
                let round = Mat3::from_diagonal(Vec3::splat(diagonal));
                -((round + levers * (1.0 + gamma)).inverse() * wanted)
            }
        };
        let next = (self.multiplier + step).clamp_length_max(max_force * h * h);
        let step = next - self.multiplier;
        if !step.is_finite() {
            return;
        }
        self.multiplier = next;
        for part in &self.parts {
            let i = part.participant;
            let push = part.weight * step;
            let turn = particles.oriented(i).map(|oriented| {
                oriented.inverse_inertia_times(turning_arm(oriented, part).cross(push))
            });
            particles.shift(i, particles.weight(i) * push);
            if let Some(turn) = turn {
                particles.turn(i, turn);
            }
        }
    }

    /// Mean force on the point over the tick (N).
    pub(super) fn force(&self) -> Vec3 {
        let last = self.multiplier / (self.h * self.h);
        (self.force_sum + last) / self.substeps.max(1) as f32
    }
}
