//! What kernels see of particles that turn.

use crate::math::rotation::{turned, turned_in_plane};
use bevy::{
    math::{Mat3, Quat, Vec3},
    prelude::Entity,
};

/// In a table of places: a particle that does not turn.
pub(crate) const NOT_ORIENTED: u32 = u32::MAX;

/// An oriented particle in the solver: a solid ellipsoid, or a flat ellipse where its body is planar.
#[derive(Clone, Copy, Debug)]
pub struct Oriented {
    pub(crate) slot: u32,
    pub(crate) entity: Entity,
    pub(crate) rotation: Quat,
    pub(crate) previous_rotation: Quat,
    pub(crate) angular_velocity: Vec3,
    /// Turns of this substep by constraints, summed (rad).
    pub(crate) turn: Vec3,
    /// Semi-axes (m), none below 0.
    pub(crate) radii: Vec3,
    /// Principal moments (kg m²); the same for all axes where the body is planar.
    pub(crate) inertia: Vec3,
    /// Their inverses; 0 where it is held or has no extent.
    pub(crate) inverse_inertia: Vec3,
    /// Whether the principal moments are equal.
    pub(crate) isotropic: bool,
    pub(crate) planar: bool,
    /// Whether it is held in place.
    pub(crate) held: bool,
}

impl Oriented {
    /// One that does not turn, yet.
    pub(crate) fn new(slot: u32, entity: Entity, planar: bool) -> Self {
        Self {
            slot,
            entity,
            rotation: Quat::IDENTITY,
            previous_rotation: Quat::IDENTITY,
            angular_velocity: Vec3::ZERO,
            turn: Vec3::ZERO,
            radii: Vec3::ZERO,
            inertia: Vec3::ZERO,
            inverse_inertia: Vec3::ZERO,
            isotropic: true,
            planar,
            held: false,
        }
    }

    /// Its orientation (world).
    pub fn rotation(&self) -> Quat {
        self.rotation
    }

    /// Its semi-axes (m).
    pub fn radii(&self) -> Vec3 {
        self.radii
    }

    /// Whether it stays in its plane and turns about z only.
    pub fn is_planar(&self) -> bool {
        self.planar
    }

    /// I⁻¹ `v` (world axes): the turn (rad) by an angular impulse of position-based dynamics.
    #[inline]
    pub fn inverse_inertia_times(&self, v: Vec3) -> Vec3 {
        if self.planar {
            Vec3::new(0.0, 0.0, v.z * self.inverse_inertia.z)
        } else if self.isotropic {
            self.inverse_inertia.x * v
        } else {
            self.rotation * (self.inverse_inertia * (self.rotation.conjugate() * v))
        }
    }

    /// The least of its semi-axes that count (m).
    pub(crate) fn least_radius(&self) -> f32 {
        if self.planar { self.radii.x.min(self.radii.y) } else { self.radii.min_element() }
    }

    /// The greatest of its semi-axes that count (m).
    pub(crate) fn greatest_radius(&self) -> f32 {
        if self.planar { self.radii.x.max(self.radii.y) } else { self.radii.max_element() }
    }

    /// I⁻¹ in world axes.
    pub(crate) fn inverse_inertia_tensor(&self) -> Mat3 {
        if self.planar {
            Mat3::from_diagonal(Vec3::new(0.0, 0.0, self.inverse_inertia.z))
        } else if self.isotropic {
            Mat3::from_diagonal(self.inverse_inertia)
        } else {
            let axes = Mat3::from_quat(self.rotation);
            axes * Mat3::from_diagonal(self.inverse_inertia) * axes.transpose()
        }
    }

    /// Turns it by the vector `angle` (rad, world axes), and counts that as a constraint's work.
    #[inline]
    pub fn turn_by(&mut self, angle: Vec3) {
        if self.planar {
            self.turn_in_plane(angle.z);
        } else {
            self.rotation = turned(self.rotation, angle);
            self.turn += angle;
        }
    }

    /// The same by `angle` (rad) about z, for one whose body is planar.
    #[inline]
    pub(crate) fn turn_in_plane(&mut self, angle: f32) {
        self.rotation = turned_in_plane(self.rotation, angle);
        self.turn.z += angle;
    }

    /// How far it has turned since the start of the substep (rad): its own spin and what constraints added.
    #[inline]
    pub(crate) fn turned_so_far(&self, h: f32) -> Vec3 {
        self.turn + h * self.angular_velocity
    }
}

/// The oriented particles of an island, by the particles' slots in it.
pub(crate) struct Turning<'a> {
    pub oriented: &'a mut [Oriented],
    /// Place in `oriented` of each slot, or [`NOT_ORIENTED`]; empty where nothing turns.
    pub places: &'a [u32],
}

impl Turning<'_> {
    #[inline]
    pub fn get(&self, slot: u32) -> Option<&Oriented> {
        self.oriented.get(*self.places.get(slot as usize)? as usize)
    }

    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut Oriented> {
        self.oriented.get_mut(*self.places.get(slot as usize)? as usize)
    }
}
