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
    Constraint, GroupConstraint, GroupForm, GroupMasses, GroupParticles, clamp_compliance,
};
use crate::math::{
    rotation::vector_from_rotation,
    shape_matching::{axial, fit_planar, fit_rotation, planar_rotation, resting_moment},
};
use bevy::{
    ecs::entity::MapEntities,
    math::{Mat3, ops},
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

/// A member as the kernel has it.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// Rest position; after weighing, relative to the rest centre (m).
    rest: Vec3,
    rest_rotation: Quat,
    position: Vec3,
    /// Mass in the sums (kg).
    mass: f32,
    free: bool,
    turns: bool,
    /// Whether another explicit group has it too.
    shared: bool,
    /// m/5 diag(a², b², c²) R̄ᵀ, or J as its first entry in the plane; 0 where its orientation does not count.
    moment: Mat3,
}

/// A shape-matching group in the solver.
#[derive(Debug)]
pub struct CompiledShape {
    members: Vec<Member>,
    kind: GroupKind,
    orientation: OrientationUpdate,
    compliance: f32,
    rotation: Quat,
    /// Mass of the free members, and of all as the sums have it (kg).
    free_mass: f32,
    total_mass: f32,
    planar: bool,
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
        let usable = |q: Quat| q.is_finite() && q.length_squared() > 1e-6;
        !self.members.is_empty()
            && self.members.iter().all(|m| m.position.is_finite() && usable(m.rotation))
    }

    fn compile(&self) -> CompiledShape {
        let member = |m: &GroupMember| Member {
            position: m.position,
            rest_rotation: m.rotation.normalize(),
            ..default()
        };
        let usable = self.rotation.is_finite() && self.rotation.length_squared() > 1e-6;
        CompiledShape {
            members: self.members.iter().map(member).collect(),
            kind: self.kind,
            orientation: self.orientation,
            compliance: clamp_compliance(self.compliance),
            rotation: if !usable {
                Quat::IDENTITY
            } else if self.rotation.is_normalized() {
                self.rotation
            } else {
                self.rotation.normalize()
            },
            free_mass: 0.0,
            total_mass: 0.0,
            planar: false,
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
        (shape.free_mass, shape.total_mass) = (0.0, 0.0);
        let mut centre = Vec3::ZERO;
        for (i, member) in shape.members.iter_mut().enumerate() {
            let mass = masses.mass(i);
            member.free = masses.weight(i) > 0.0;
            member.mass = if member.free { mass } else { HELD_WEIGHT * mass };
            shape.total_mass += member.mass;
            shape.free_mass += if member.free { mass } else { 0.0 };
            centre += member.mass * member.position;
            member.moment = Mat3::ZERO;
            member.turns = false;
            if let Some(oriented) = masses.oriented(i) {
                member.turns = !oriented.held;
                if !member.shared && shape.planar {
                    let weight = if member.free { 1.0 } else { HELD_WEIGHT };
                    member.moment.x_axis.x = weight * oriented.inertia.z;
                } else if !member.shared {
                    let rest = member.rest_rotation;
                    member.moment = resting_moment(member.mass, oriented.radii, rest);
                }
            }
        }
        centre *= if shape.total_mass > 0.0 { shape.total_mass.recip() } else { 0.0 };
        shape.members.iter_mut().for_each(|m| m.rest = m.position - centre);
    }

    fn project(shape: &mut CompiledShape, particles: &mut GroupParticles<'_>) {
        if !(shape.free_mass > 0.0 && shape.total_mass.is_finite()) {
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
        self.rotation = shape.rotation;
    }
}

impl CompiledShape {
    /// Whether member `i` takes the whole rotation, as in the paper.
    fn takes_all(&self, i: usize) -> bool {
        self.orientation == OrientationUpdate::CentreOnly
            && (i == 0 || self.kind == GroupKind::Explicit)
    }

    fn project_planar(&mut self, particles: &mut GroupParticles<'_>, fraction: f32) {
        // Relative to the first member, so that nothing is lost to the distance from the origin.
        let first = particles.position(0);
        let (mut z, mut centre) = (Vec2::ZERO, Vec2::ZERO);
        for (i, member) in self.members.iter().enumerate() {
            let x = (particles.position(i) - first).truncate();
            let (m, r) = (member.mass, member.rest);
            centre += m * x;
            // x conj r̄; the centre drops out, since Σ m r̄ = 0.
            z += m * Vec2::new(x.x * r.x + x.y * r.y, x.y * r.x - x.x * r.y);
            let inertia = member.moment.x_axis.x;
            if inertia > 0.0
                && let Some(oriented) = particles.oriented(i)
            {
                z += inertia * planar_rotation(since_rest(oriented.rotation, member));
            }
        }
        centre /= self.total_mass;
        let turn = fit_planar(z, planar_rotation(self.rotation));
        self.rotation = half_turn(turn, self.rotation);
        let free_turn = self.orientation == OrientationUpdate::EveryMember;
        for i in 0..self.members.len() {
            let member = &self.members[i];
            if member.free {
                let goal = centre + turn.rotate(member.rest.truncate());
                let x = (particles.position(i) - first).truncate();
                particles.shift(i, (fraction * (goal - x)).extend(0.0));
            }
            if !member.turns {
                continue;
            }
            let Some(oriented) = particles.oriented(i) else { continue };
            let now = planar_rotation(since_rest(oriented.rotation, member));
            // sin and cos of what is left of the way to R R̄.
            let (sin, cos) = (turn.y * now.x - turn.x * now.y, turn.dot(now));
            let angle = if self.takes_all(i) {
                ops::atan2(sin, cos)
            } else if free_turn {
                fraction * sin
            } else {
                continue;
            };
            particles.turn(i, Vec3::Z * angle);
        }
    }

    fn project_spatial(&mut self, particles: &mut GroupParticles<'_>, fraction: f32) {
        let first = particles.position(0);
        let (mut a, mut centre) = (Mat3::ZERO, Vec3::ZERO);
        for (i, member) in self.members.iter().enumerate() {
            let x = particles.position(i) - first;
            let weighted = member.mass * x;
            centre += weighted;
            let r = member.rest;
            a += Mat3::from_cols(weighted * r.x, weighted * r.y, weighted * r.z);
            if !member.shared
                && let Some(oriented) = particles.oriented(i)
            {
                a += Mat3::from_quat(oriented.rotation) * member.moment;
            }
        }
        centre /= self.total_mass;
        self.rotation = fit_rotation(&a, self.rotation);
        let axes = Mat3::from_quat(self.rotation);
        for i in 0..self.members.len() {
            let member = &self.members[i];
            if member.free {
                let goal = centre + axes * member.rest;
                let x = particles.position(i) - first;
                particles.shift(i, fraction * (goal - x));
            }
            if !member.turns {
                continue;
            }
            let Some(oriented) = particles.oriented(i) else { continue };
            let angle = if self.takes_all(i) || (member.shared && self.free_turn()) {
                let goal = self.rotation * member.rest_rotation;
                let left = vector_from_rotation(goal * oriented.rotation.conjugate());
                if self.takes_all(i) { left } else { fraction * left }
            } else if self.free_turn() {
                let own = Mat3::from_quat(oriented.rotation) * member.moment;
                let torque = axial(&(axes * own.transpose()));
                fraction * oriented.inverse_inertia_times(torque)
            } else {
                continue;
            };
            particles.turn(i, angle);
        }
    }

    fn free_turn(&self) -> bool {
        self.orientation == OrientationUpdate::EveryMember
    }
}

/// How a member has turned since its rest pose.
#[inline]
fn since_rest(rotation: Quat, member: &Member) -> Quat {
    let (q, rest) = (rotation, member.rest_rotation);
    // Both turn about z.
    Quat::from_xyzw(0.0, 0.0, q.z * rest.w - q.w * rest.z, q.w * rest.w + q.z * rest.z)
}

/// The quaternion of a turn about z with these cosine and sine; `old` where that has no direction.
#[inline]
fn half_turn(turn: Vec2, old: Quat) -> Quat {
    // The half angle's (cos, sin) has the direction of (1 + cos, sin).
    let (w, z) = if turn.x > -0.5 {
        (1.0 + turn.x, turn.y)
    } else {
        // Better conditioned near half a turn: (sin, 1 − cos).
        (turn.y, 1.0 - turn.x)
    };
    let length = (w * w + z * z).sqrt();
    if length > 0.0 { Quat::from_xyzw(0.0, 0.0, z / length, w / length) } else { old }
}
