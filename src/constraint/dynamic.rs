//! Dynamic constraints: a short list that is gathered anew each tick and projected one by one, in
//! the order of creation. Adding one costs nothing, since nothing is compiled.

use super::{Constraint, DynamicForm, Oriented};
use bevy::{
    math::{DVec3, Vec4},
    prelude::*,
};

pub use crate::math::pose::TargetMotion;

/// Constraints that come and go.
pub trait DynamicConstraint: Constraint<Form = DynamicForm> {
    /// What the kernel needs during one tick.
    type Compiled: Send + Sync + 'static;

    /// The entities that it acts on. Those that are particles become its participants, in order;
    /// while it exists they sleep and wake together.
    fn participants(&self) -> Vec<Entity>;

    /// An entity whose transform the kernel follows, swept over the substeps.
    fn anchor(&self) -> Option<Entity> {
        None
    }

    /// Prepares a tick, or says with `None` that the constraint rests in it.
    fn prepare(&mut self, particles: &DynamicParticles<'_>) -> Option<Self::Compiled>;

    /// Called at the start of each substep.
    fn begin_substep(_compiled: &mut Self::Compiled) {}

    /// Projects the constraint once.
    fn project(compiled: &mut Self::Compiled, particles: &mut DynamicParticles<'_>);

    /// Takes back what the tick found.
    fn finish(&mut self, _compiled: &Self::Compiled) -> Outcome {
        Outcome::Keep
    }

    /// Called when [`finish`](Self::finish) said [`Outcome::Broken`], just before `entity` is despawned.
    fn broken(&self, _entity: Entity, _commands: &mut Commands) {}
}

/// What becomes of a dynamic constraint after a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It stays.
    Keep,
    /// It is despawned.
    Broken,
}

/// The participants of a dynamic constraint, by their place in [`DynamicConstraint::participants`].
///
/// Positions are relative to the first participant's island.
pub struct DynamicParticles<'a> {
    pub(crate) position: &'a mut [Vec4],
    pub(crate) predicted: &'a [Vec4],
    pub(crate) velocity: &'a [Vec4],
    pub(crate) velocity_change: &'a [Vec4],
    pub(crate) inverse_mass: &'a [f32],
    pub(crate) oriented: &'a mut [Oriented],
    /// Each participant's place in `oriented`, if it turns.
    pub(crate) turning: &'a [Option<u32>],
    pub(crate) slots: &'a [Option<u32>],
    /// Whether each participant's island is simulated; if not, it is as good as held.
    pub(crate) awake: &'a [bool],
    /// Origin of each participant's island (m, world).
    pub(crate) origins: &'a [DVec3],
    pub(crate) target: Option<TargetMotion>,
    /// The anchor's pose at the start and at the end of this substep, as fractions of the tick.
    pub(crate) sweep: [f32; 2],
    pub(crate) h: f32,
}

impl DynamicParticles<'_> {
    fn slot(&self, i: usize) -> Option<usize> {
        self.slots.get(i).copied().flatten().map(|slot| slot as usize)
    }

    fn offset(&self, i: usize) -> Vec3 {
        (self.origins[i] - self.origins[0]).as_vec3()
    }

    /// Substep (s).
    pub fn h(&self) -> f32 {
        self.h
    }

    /// Position (m), or `None` where the participant is no particle.
    pub fn position(&self, i: usize) -> Option<Vec3> {
        self.slot(i).map(|slot| self.position[slot].truncate() + self.offset(i))
    }

    /// Movement since the start of the substep (m); 0 where the participant is no particle.
    pub fn movement(&self, i: usize) -> Vec3 {
        self.slot(i).map_or(Vec3::ZERO, |slot| {
            let velocity = self.velocity[slot] + self.velocity_change[slot];
            (self.position[slot] - self.predicted[slot] + self.h * velocity).truncate()
        })
    }

    /// Inverse mass (1/kg); 0 where it is held or no particle.
    pub fn weight(&self, i: usize) -> f32 {
        self.slot(i).filter(|_| self.awake[i]).map_or(0.0, |slot| self.inverse_mass[slot])
    }

    /// Moves a participant by `change` (m).
    pub fn shift(&mut self, i: usize, change: Vec3) {
        if let Some(slot) = self.slot(i).filter(|_| self.awake[i]) {
            self.position[slot] += change.extend(0.0);
        }
    }

    /// The participant as one that turns, or `None` where it does not.
    pub fn oriented(&self, i: usize) -> Option<&Oriented> {
        self.oriented.get(self.turning.get(i).copied().flatten()? as usize)
    }

    /// Turns a participant by the vector `angle` (rad, world axes), if it turns and is simulated.
    pub fn turn(&mut self, i: usize, angle: Vec3) {
        let place = self.turning.get(i).copied().flatten().filter(|_| self.awake[i]);
        if let Some(oriented) = place.and_then(|place| self.oriented.get_mut(place as usize)) {
            oriented.turn_by(angle);
        }
    }

    /// The motion of the anchor over this tick, or `None` where it has no usable transform.
    pub fn anchor(&self) -> Option<TargetMotion> {
        self.target
    }

    /// The point `offset` of the anchor's frame, where the anchor is in this substep.
    pub fn anchor_point(&self, offset: Vec3) -> Option<Vec3> {
        let pose = self.target?.at(self.sweep[1]);
        Some((pose.transform_point(offset) - self.origins[0]).as_vec3())
    }

    /// How far that point moves in this substep (m).
    pub fn anchor_movement(&self, offset: Vec3) -> Vec3 {
        let Some(target) = self.target else { return Vec3::ZERO };
        let [then, now] = self.sweep.map(|t| target.at(t).transform_point(offset));
        (now - then).as_vec3()
    }

    /// The point of the anchor's frame, at the start of the tick, where `position` is.
    pub fn to_anchor(&self, position: Vec3) -> Option<Vec3> {
        let world = self.origins[0] + position.as_dvec3();
        self.target.map(|target| target.start.inverse_transform_point(world))
    }
}
