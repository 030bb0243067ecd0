//! Shape matching: pulls a group of particles toward its rest shape, moved and turned as a whole.
//!
//! ```text
//!      rest                  now               goals gᵢ = c + R r̄ᵢ
//!    ⬭────⬭            ⬭╲                  ⬭
//!    │     │              ╲  ⬯   →   s    │  ╲       xᵢ += s (gᵢ − xᵢ)
//!    ⬯────⬯             ⬯──⬭              ⬯──⬭
//! ```
//!
//! The rotation R maximises tr(RᵀA) for the moment matrix of the group \[MC11\] section 4,
//!
//! ```text
//! A = Σ (Aᵢ + mᵢ (xᵢ − c) r̄ᵢᵀ)       Aᵢ = m/5 Rᵢ diag(a², b², c²) R̄ᵢᵀ
//! z = Σ (Jᵢ e^{i(φᵢ − φ̄ᵢ)} + mᵢ (xᵢ − c) conj r̄ᵢ)       in the plane, Jᵢ = mᵢ(a² + b²)/4, R = z/|z|
//! ```
//!
//! with r̄ᵢ the rest position relative to the rest centre. (The order in Aᵢ differs from \[MC11\] eq. 9,
//! which holds only where the diagonal commutes with Rᵢ.) An oriented particle alone has a full A, so one
//! is enough for a group, and a line of them has a twist.
//!
//! *Stiffness.* Exact implicit Euler of a spring α from every member to its goal gives one fraction for
//! all, s = 1/(1 + M α/h²), M = Σm of the members that are free. A held member weighs a thousand times in
//! the sums and does not move.
//!
//! *Orientations.* Every member turns by the same fraction: by I⁻¹ s vee(R Aᵢᵀ), where vee(R Aᵢᵀ) is the
//! torque of the ellipsoid's own points toward their goals. With it the moved points and the turned
//! ellipsoids exchange their angular momentum exactly. \[MC11\] instead gives R R̄ to the group's centre
//! alone: [`OrientationUpdate::CentreOnly`].

use super::{
    Constraint, GroupConstraint, GroupForm, GroupMasses, GroupParticles, Oriented, clamp_compliance,
};
use crate::math::{
    rotation::{unit, vector_from_rotation},
    shape_matching::{fit_planar, fit_rotation, planar_rotation, resting_moment, torque},
};
use bevy::{
    ecs::entity::MapEntities,
    math::{Mat3A, Vec3A, Vec4, Vec4Swizzles, ops},
    prelude::*,
};

/// How much more than its mass a held member weighs in the sums.
const HELD_WEIGHT: f32 = 1000.0;

/// Pulls a group of particles, oriented or not, toward its rest shape.
///
/// Groups that share particles hold together: two *explicit* groups (rigid parts) are joined by one
/// shared particle as by a ball joint, by two as by a hinge, by three off one line as by a weld.
/// *Implicit* groups, one for each particle and its neighbours, make a soft body of the particles.
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component, Debug, PartialEq, Clone)]
#[component(on_add = super::note_added, on_remove = super::note_removed)]
pub struct ShapeMatchingConstraint {
    /// The members and their rest pose. The first is the centre of an implicit group.
    #[entities]
    pub members: Vec<GroupMember>,
    /// Whether the group is a neighbourhood or a rigid part. Default: implicit.
    pub kind: GroupKind,
    /// Compliance α between each member and its goal (m/N); 0 is rigid. Default: 0.
    pub compliance: f32,
    /// Who takes the group's rotation. Default: every member.
    pub orientation: OrientationUpdate,
    /// The rotation that fitted last; written by the solver, which starts from it. Default: none.
    pub rotation: Quat,
}

/// A member of a shape-matching group.
#[derive(Reflect, Clone, Copy, Debug, PartialEq, MapEntities)]
#[reflect(Debug, PartialEq, Clone)]
pub struct GroupMember {
    /// The particle.
    #[entities]
    pub particle: Entity,
    /// Rest position (m), in any frame that the group shares.
    pub position: Vec3,
    /// Rest orientation, in the same frame.
    pub rotation: Quat,
}

/// What a shape-matching group stands for.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub enum GroupKind {
    /// A particle and its neighbours; each neighbour has a group of its own.
    #[default]
    Implicit,
    /// A rigid part. A particle that several explicit groups share is a point in them: it turns along, but
    /// its orientation says nothing to them.
    Explicit,
}

/// Who takes the rotation of a shape-matching group.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub enum OrientationUpdate {
    /// Every member, by the fraction that positions take: keeps angular momentum.
    #[default]
    EveryMember,
    /// The centre of an implicit group or all members of an explicit one, at once and whole, as in the
    /// paper \[MC11\]: does not keep angular momentum.
    CentreOnly,
}

impl ShapeMatchingConstraint {
    /// A rigid implicit group of these members; the first is its centre.
    pub fn new(members: Vec<GroupMember>) -> Self {
        Self {
            members,
            kind: GroupKind::Implicit,
            compliance: 0.0,
            orientation: OrientationUpdate::EveryMember,
            rotation: Quat::IDENTITY,
        }
    }

    /// As a rigid part.
    pub fn explicit(mut self) -> Self {
        self.kind = GroupKind::Explicit;
        self
    }

    /// With this compliance (m/N).
    pub fn with_compliance(mut self, compliance: f32) -> Self {
        self.compliance = compliance;
        self
    }

    /// With this update of orientations.
    pub fn with_orientation(mut self, orientation: OrientationUpdate) -> Self {
        self.orientation = orientation;
        self
    }
}

/// A member as the user gave it.
#[derive(Clone, Copy, Debug)]
struct Member {
    position: Vec3,
    rotation: Quat,
    /// Whether another explicit group has it too.
    shared: bool,
}

/// A member in the plane.
#[derive(Clone, Copy, Debug)]
struct FlatMember {
    /// Relative to the rest centre (m).
    rest: Vec2,
    /// (w, z) of the rest orientation.
    rest_rotation: Vec2,
    /// Mass in the sums (kg).
    mass: f32,
    /// Moment of inertia in the sums (kg m²); 0 where its orientation does not count.
    inertia: f32,
    free: bool,
    turns: bool,
}

/// A member in space.
#[derive(Clone, Copy, Debug)]
struct SolidMember {
    /// Relative to the rest centre (m).
    rest: Vec3A,
    rest_rotation: Quat,
    /// m/5 diag(a², b², c²) R̄ᵀ (kg m²); 0 where its orientation does not count.
    moment: Mat3A,
    /// Aᵢ (kg m²), as this projection found it.
    now: Mat3A,
    /// Mass in the sums (kg).
    mass: f32,
    free: bool,
    turns: bool,
    shared: bool,
}

/// A shape-matching group in the solver.
#[derive(Debug)]
pub struct CompiledShape {
    members: Vec<Member>,
    kind: GroupKind,
    orientation: OrientationUpdate,
    compliance: f32,
    rotation: Quat,
    /// Mass of the free members (kg), and the inverse of that of all as the sums have it.
    free_mass: f32,
    per_mass: f32,
    planar: bool,
    flat: Vec<FlatMember>,
    /// Cosine and sine of the rotation in the plane.
    turn: Vec2,
    solid: Vec<SolidMember>,
}

impl Constraint for ShapeMatchingConstraint {
    type Form = GroupForm;
}

impl GroupConstraint for ShapeMatchingConstraint {
    type Compiled = CompiledShape;

    fn particles(&self) -> Vec<Entity> {
        self.members.iter().map(|m| m.particle).collect()
    }

    fn is_valid(&self) -> bool {
        let sound = |m: &GroupMember| m.position.is_finite() && unit(m.rotation).is_some();
        !self.members.is_empty() && self.members.iter().all(sound)
    }

    fn compile(&self) -> CompiledShape {
        let rotation = unit(self.rotation).unwrap_or(Quat::IDENTITY);
        let member = |m: &GroupMember| Member {
            position: m.position,
            rotation: m.rotation.normalize(),
            shared: false,
        };
        CompiledShape {
            members: self.members.iter().map(member).collect(),
            kind: self.kind,
            orientation: self.orientation,
            compliance: clamp_compliance(self.compliance),
            rotation,
            free_mass: 0.0,
            per_mass: 0.0,
            planar: false,
            flat: Vec::new(),
            turn: planar_rotation(rotation),
            solid: Vec::new(),
        }
    }

    fn link(groups: &mut [(&[u32], &mut CompiledShape)]) {
        let explicit = |shape: &CompiledShape| shape.kind == GroupKind::Explicit;
        let mut slots: Vec<u32> = groups
            .iter()
            .filter(|(_, shape)| explicit(shape))
            .flat_map(|(slots, _)| slots.iter().copied())
            .collect();
        slots.sort_unstable();
        for (own, shape) in groups.iter_mut() {
            let counts = explicit(shape);
            for (member, slot) in shape.members.iter_mut().zip(*own) {
                let first = slots.partition_point(|s| s < slot);
                member.shared = counts && slots.get(first + 1) == Some(slot);
            }
        }
    }

    fn weigh(shape: &mut CompiledShape, masses: &GroupMasses<'_>) {
        shape.planar = masses.is_planar();
        let free = |i: usize| masses.weight(i) > 0.0;
        let weight = |i: usize| if free(i) { 1.0 } else { HELD_WEIGHT };
        let mut total = 0.0;
        shape.free_mass = 0.0;
        let mut centre = Vec3::ZERO;
        for (i, member) in shape.members.iter().enumerate() {
            let mass = masses.mass(i);
            total += weight(i) * mass;
            shape.free_mass += if free(i) { mass } else { 0.0 };
            centre += weight(i) * mass * member.position;
        }
        shape.per_mass = if total.is_normal() { total.recip() } else { 0.0 };
        centre *= shape.per_mass;
        (shape.flat, shape.solid) = (Vec::new(), Vec::new());
        for (i, member) in shape.members.iter().enumerate() {
            let oriented = masses.oriented(i);
            let counts = oriented.filter(|_| !member.shared);
            let (mass, free) = (weight(i) * masses.mass(i), free(i));
            let turns = oriented.is_some_and(|o| !o.held);
            if shape.planar {
                shape.flat.push(FlatMember {
                    rest: (member.position - centre).truncate(),
                    rest_rotation: Vec2::new(member.rotation.w, member.rotation.z),
                    mass,
                    inertia: counts.map_or(0.0, |o| weight(i) * o.inertia.z),
                    free,
                    turns,
                });
            } else {
                let moment = |o: &Oriented| resting_moment(mass, o.radii, member.rotation);
                shape.solid.push(SolidMember {
                    rest: (member.position - centre).into(),
                    rest_rotation: member.rotation,
                    moment: counts.map_or(Mat3A::ZERO, |o| moment(o).into()),
                    now: Mat3A::ZERO,
                    mass,
                    free,
                    turns,
                    shared: member.shared,
                });
            }
        }
    }

    fn project(shape: &mut CompiledShape, particles: &mut GroupParticles<'_>) {
        if !(shape.free_mass > 0.0 && shape.per_mass > 0.0) {
            return;
        }
        let h = particles.h();
        let fraction = 1.0 / (1.0 + shape.free_mass * (shape.compliance / (h * h)).min(1e30));
        if shape.planar {
            shape.project_planar(particles, fraction);
        } else {
            shape.project_spatial(particles, fraction);
        }
    }

    fn store(&mut self, shape: &CompiledShape) {
        self.rotation = if shape.planar { quat_of(shape.turn) } else { shape.rotation };
    }
}

impl CompiledShape {
    /// Whether member `i` takes the whole rotation, as in the paper.
    fn takes_all(&self, i: usize) -> bool {
        self.orientation == OrientationUpdate::CentreOnly
            && (i == 0 || self.kind == GroupKind::Explicit)
    }

    fn project_planar(&mut self, particles: &mut GroupParticles<'_>, fraction: f32) {
        let GroupParticles { position, turning, slots, .. } = particles;
        let slots = *slots;
        // Relative to the first member, so that nothing is lost to the distance from the origin.
        let first = position[slots[0] as usize].xy();
        let (mut z, mut centre) = (Vec2::ZERO, Vec2::ZERO);
        for (member, &slot) in self.flat.iter().zip(slots) {
            let x = position[slot as usize].xy() - first;
            let (weighted, r) = (member.mass * x, member.rest);
            centre += weighted;
            // m x conj r̄; the centre drops out, since Σ m r̄ = 0.
            z += Vec2::new(weighted.dot(r), weighted.y * r.x - weighted.x * r.y);
            if member.inertia > 0.0
                && let Some(oriented) = turning.get(slot)
            {
                z += member.inertia * member.since_rest(oriented.rotation);
            }
        }
        centre *= self.per_mass;
        self.turn = fit_planar(z, self.turn);
        let (turn, middle) = (self.turn, first + centre);
        let every = self.orientation == OrientationUpdate::EveryMember;
        for (i, (member, &slot)) in self.flat.iter().zip(slots).enumerate() {
            if member.free {
                let at = &mut position[slot as usize];
                let x = at.xy() - middle;
                let change = fraction * (turn.rotate(member.rest) - x);
                *at += Vec4::new(change.x, change.y, 0.0, 0.0);
            }
            if !(member.turns && (every || self.takes_all(i))) {
                continue;
            }
            let Some(oriented) = turning.get_mut(slot) else { continue };
            let now = member.since_rest(oriented.rotation);
            // sin and cos of what is left of the way to R R̄.
            let sin = now.perp_dot(turn);
            let angle = if every { fraction * sin } else { ops::atan2(sin, now.dot(turn)) };
            oriented.turn_in_plane(angle);
        }
    }

    fn project_spatial(&mut self, particles: &mut GroupParticles<'_>, fraction: f32) {
        let GroupParticles { position, turning, slots, .. } = particles;
        let slots = *slots;
        let first = Vec3A::from_vec4(position[slots[0] as usize]);
        let (mut a, mut centre) = (Mat3A::ZERO, Vec3A::ZERO);
        for (member, &slot) in self.solid.iter_mut().zip(slots) {
            let x = Vec3A::from_vec4(position[slot as usize]) - first;
            let weighted = member.mass * x;
            centre += weighted;
            let r = member.rest;
            a += Mat3A::from_cols(weighted * r.x, weighted * r.y, weighted * r.z);
            if !member.shared
                && let Some(oriented) = turning.get(slot)
            {
                member.now = Mat3A::from_quat(oriented.rotation) * member.moment;
                a += member.now;
            }
        }
        centre *= self.per_mass;
        self.rotation = fit_rotation(&a, self.rotation);
        let (axes, middle) = (Mat3A::from_quat(self.rotation), first + centre);
        let every = self.orientation == OrientationUpdate::EveryMember;
        for (i, (member, &slot)) in self.solid.iter().zip(slots).enumerate() {
            if member.free {
                let at = &mut position[slot as usize];
                let x = Vec3A::from_vec4(*at) - middle;
                *at += Vec4::from((fraction * (axes * member.rest - x), 0.0));
            }
            if !(member.turns && (every || self.takes_all(i))) {
                continue;
            }
            let Some(oriented) = turning.get_mut(slot) else { continue };
            let angle = if every && !member.shared {
                fraction * oriented.inverse_inertia_times(torque(&axes, &member.now).into())
            } else {
                let goal = self.rotation * member.rest_rotation;
                let left = vector_from_rotation(goal * oriented.rotation.conjugate());
                if every { fraction * left } else { left }
            };
            oriented.turn_by(angle);
        }
    }
}

impl FlatMember {
    /// Cosine and sine of its turn since its rest pose.
    #[inline]
    fn since_rest(&self, rotation: Quat) -> Vec2 {
        let (w, z, rest) = (rotation.w, rotation.z, self.rest_rotation);
        let (w, z) = (w * rest.x + z * rest.y, z * rest.x - w * rest.y);
        // A quaternion of unit length turns by twice its angle.
        Vec2::new(w * w - z * z, 2.0 * w * z)
    }
}

/// The quaternion of a turn about z with these cosine and sine.
fn quat_of(turn: Vec2) -> Quat {
    Quat::from_rotation_z(ops::atan2(turn.y, turn.x))
}
