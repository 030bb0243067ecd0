//! What the solver tells, and what it is told.

use super::{mirror::Mirror, target::TargetPose};
use crate::{
    math::pose::Pose,
    particle::{OrientedParticle, Particle, Particles, SolverState},
};
use bevy::{prelude::*, transform::helper::TransformHelper};

/// The state of a body (or of a particle without a body) stopped being finite. It is frozen at its
/// last finite pose; [`Teleport`] or `Rebuild` revives it.
#[derive(EntityEvent, Clone, Debug, PartialEq)]
pub struct BodyFault {
    /// The body, or the particle where it has none.
    pub entity: Entity,
    /// The particles that are frozen.
    pub particles: Vec<Entity>,
}

/// Marks a body that is frozen after a [`BodyFault`]. Removing it lets the body go on.
#[derive(Component, Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
pub struct Faulty;

/// Moves an entity, and all particles of it, to a new place in no time: nothing is swept or blended
/// in between, and held particles get no velocity from it.
///
/// Trigger it for a body, an anchor or an obstacle. The particles keep their shape; their velocities
/// turn with them. A transform that is not finite is refused with a warning.
#[derive(EntityEvent, Clone, Copy, Debug, PartialEq)]
pub struct Teleport {
    /// What is moved.
    pub entity: Entity,
    /// Where it is after that (world; its parents are taken into account).
    pub to: Transform,
}

/// Carries out [`Teleport`].
pub(super) fn on_teleport(
    teleport: On<Teleport>,
    mut sets: ParamSet<(TransformHelper, Query<&mut Transform>)>,
    parents: Query<&ChildOf>,
    bodies: Query<(&Particles, Has<Faulty>)>,
    lone: Query<(), (With<Faulty>, With<Particle>)>,
    mut particles: Query<(&mut Particle, &mut SolverState, Option<&mut OrientedParticle>)>,
    mut targets: Query<&mut TargetPose>,
    mut mirror: ResMut<Mirror>,
    mut commands: Commands,
) {
    let Teleport { entity, to } = *teleport;
    let Some(end) = Pose::new(to) else {
        warn!("Teleport of {entity}: the target transform is not finite, so nothing is moved");
        return;
    };
    let helper = sets.p0();
    // Where the last tick had it, since that is where its particles are.
    let start = targets.get(entity).ok().map(|target| target.tick);
    let Some(start) =
        start.or_else(|| super::target::current_pose(&helper, entity)).or_else(|| {
            let (particle, ..) = particles.get(entity).ok()?;
            Pose::new(Transform::from_translation(particle.position))
        })
    else {
        warn!("Teleport of {entity}: it is nowhere, having no usable Transform");
        return;
    };
    let parent = parents.get(entity).ok().and_then(|p| helper.compute_global_transform(p.0).ok());
    if let Ok(mut transform) = sets.p1().get_mut(entity) {
        *transform = match parent {
            None => to,
            Some(parent) => GlobalTransform::from(to).reparented_to(&parent),
        };
    }
    if let Ok(mut target) = targets.get_mut(entity) {
        *target = TargetPose::still(end);
    }
    let (members, faulty) = match bodies.get(entity) {
        Ok((members, faulty)) => (members.to_vec(), faulty),
        Err(_) => (vec![entity], lone.contains(entity)),
    };
    let turn = end.rotation * start.rotation.inverse();
    for member in members {
        let Ok((mut particle, mut state, oriented)) = particles.get_mut(member) else { continue };
        // The scale was baked when the body was built; only the rigid part moves it.
        let relative = particle.position.as_dvec3() - start.translation.as_dvec3();
        let turned = turn.as_dquat() * relative;
        particle.position = (end.translation.as_dvec3() + turned).as_vec3();
        particle.velocity = if faulty { Vec3::ZERO } else { turn * particle.velocity };
        state.remainder = Vec3::ZERO;
        state.still_ticks = 0;
        state.written = Some(particle.position);
        let mut rotation = Quat::IDENTITY;
        if let Some(mut oriented) = oriented {
            oriented.rotation = (turn * oriented.rotation).normalize();
            rotation = oriented.rotation;
            oriented.angular_velocity =
                if faulty { Vec3::ZERO } else { turn * oriented.angular_velocity };
        }
        if let Some(slot) = mirror.slots.get(member) {
            mirror.teleport(slot, particle.position, rotation);
        }
    }
    commands.entity(entity).try_remove::<Faulty>();
}
