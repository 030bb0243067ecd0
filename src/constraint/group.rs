//! Group constraints: any number of particles, a scalar kernel.

use super::{Constraint, GroupForm, lane::OldPositions};
use bevy::{math::Vec4, prelude::*};

/// Constraints among any number of particles.
pub trait GroupConstraint: Constraint<Form = GroupForm> {
    /// What the kernel needs: parameters, and what it keeps warm between substeps.
    type Compiled: Send + Sync + 'static;

    /// The particles, which must differ; those of the kernel's slots, in order.
    fn particles(&self) -> Vec<Entity>;

    /// Whether the parameters make sense; a constraint for which this is false rests, with one warning.
    fn is_valid(&self) -> bool {
        true
    }

    /// Prepares the kernel; called when the constraint is compiled and whenever it changes.
    fn compile(&self) -> Self::Compiled;

    /// Projects the group once.
    fn project(compiled: &mut Self::Compiled, particles: &mut GroupParticles<'_>);

    /// Takes back what must be saved with the world, such as warm starts; called after each tick.
    fn store(&mut self, _compiled: &Self::Compiled) {}
}

/// The particles of a group, by their place in [`GroupConstraint::particles`].
pub struct GroupParticles<'a> {
    pub(crate) position: &'a mut [Vec4],
    pub(crate) inverse_mass: &'a [f32],
    pub(crate) old: OldPositions<'a>,
    pub(crate) slots: &'a [u32],
}

impl GroupParticles<'_> {
    /// How many particles there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Substep (s).
    pub fn h(&self) -> f32 {
        self.old.h
    }

    /// Position (m, relative to the island's origin).
    pub fn position(&self, i: usize) -> Vec3 {
        self.position[self.slots[i] as usize].truncate()
    }

    /// Movement since the start of the substep (m).
    pub fn movement(&self, i: usize) -> Vec3 {
        let slot = self.slots[i] as usize;
        (self.position[slot] - self.old.get(slot)).truncate()
    }

    /// Inverse mass (1/kg); 0 where it is held.
    pub fn weight(&self, i: usize) -> f32 {
        self.inverse_mass[self.slots[i] as usize]
    }

    /// Moves a particle by `change` (m).
    pub fn shift(&mut self, i: usize, change: Vec3) {
        self.position[self.slots[i] as usize] += change.extend(0.0);
    }
}
