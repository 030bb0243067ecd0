//! Group constraints: any number of particles, a scalar kernel.

use super::{Constraint, GroupForm, Oriented, Turning, lane::OldPositions};
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

    /// Tells the kernel what its particles weigh; called after [`compile`](Self::compile), and whenever a
    /// mass, a pin, or the extent of an oriented particle changes.
    fn weigh(_compiled: &mut Self::Compiled, _masses: &GroupMasses<'_>) {}

    /// Lets the groups of an island know of one another, by the slots of their particles; called before
    /// [`weigh`](Self::weigh).
    fn link(_groups: &mut [(&[u32], &mut Self::Compiled)]) {}

    /// Projects the group once.
    fn project(compiled: &mut Self::Compiled, particles: &mut GroupParticles<'_>);

    /// Takes back what must be saved with the world, such as warm starts; called after each tick.
    fn store(&mut self, _compiled: &Self::Compiled) {}
}

/// What the particles of a group weigh, by their place in [`GroupConstraint::particles`].
pub struct GroupMasses<'a> {
    pub(crate) mass: &'a [f32],
    pub(crate) inverse_mass: &'a [f32],
    pub(crate) oriented: &'a [Oriented],
    pub(crate) places: &'a [u32],
    pub(crate) planar: bool,
    pub(crate) slots: &'a [u32],
}

impl GroupMasses<'_> {
    /// How many particles there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Mass (kg), of a held particle too; one that is not a positive number counts as 0.
    pub fn mass(&self, i: usize) -> f32 {
        let mass = self.mass[self.slots[i] as usize];
        if mass > 0.0 && mass.is_finite() { mass } else { 0.0 }
    }

    /// Inverse mass (1/kg); 0 where it is held.
    pub fn weight(&self, i: usize) -> f32 {
        self.inverse_mass[self.slots[i] as usize]
    }

    /// The particle as one that turns, or `None` where it does not.
    pub fn oriented(&self, i: usize) -> Option<&Oriented> {
        self.oriented.get(*self.places.get(self.slots[i] as usize)? as usize)
    }

    /// Whether all bodies of the island are planar.
    pub fn is_planar(&self) -> bool {
        self.planar
    }
}

/// The particles of a group, by their place in [`GroupConstraint::particles`].
pub struct GroupParticles<'a> {
    pub(crate) position: &'a mut [Vec4],
    pub(crate) inverse_mass: &'a [f32],
    pub(crate) old: OldPositions<'a>,
    pub(crate) turning: Turning<'a>,
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

    /// The particle as one that turns, or `None` where it does not.
    pub fn oriented(&self, i: usize) -> Option<&Oriented> {
        self.turning.get(self.slots[i])
    }

    /// Turns a particle by the vector `angle` (rad, world axes), if it turns at all.
    pub fn turn(&mut self, i: usize, angle: Vec3) {
        if let Some(oriented) = self.turning.get_mut(self.slots[i]) {
            oriented.turn_by(angle);
        }
    }
}
