//! The drawn pose: a blend of the last two ticks, so that drawing is smooth at any frame rate.
//!
//! Written here alone; read by skinning, gizmos and picking. There is no blending outside fixed
//! schedules, across a [`Teleport`](super::Teleport), or in runs of exact ticks.

use super::{
    diagnostics::{SolverDiagnostics, Stage},
    mirror::Mirror,
    schedule::{RunIn, TicksThisFrame},
    target::current_pose,
};
use crate::particle::{OrientedParticle, Particle, ParticleIndex, ParticleOf, Particles, PinnedTo};
use bevy::{prelude::*, time::TimeUpdateStrategy, transform::helper::TransformHelper};

/// Where a body's particles are drawn, by [`ParticleIndex`]. Added by the recipe; never saved.
#[derive(Component, Clone, Debug, Default, PartialEq)]
pub struct DrawnPose {
    /// Positions (m, world); a particle that is gone keeps its last.
    pub positions: Vec<Vec3>,
    /// Whether the particle exists.
    pub present: Vec<bool>,
    /// The particles, by index.
    pub(crate) particles: Vec<Option<Entity>>,
}

/// How far between the last two ticks the drawn pose is, 0 to 1.
#[derive(Resource, Clone, Copy, Debug, PartialEq)]
pub struct Blend(pub f32);

impl Default for Blend {
    fn default() -> Self {
        Self(1.0)
    }
}

/// Finds which particle has which index, after the structure changed.
pub(super) fn index_particles(
    mut bodies: Query<(Ref<Particles>, &mut DrawnPose)>,
    indices: Query<(&ParticleIndex, &Particle)>,
) {
    for (members, mut pose) in &mut bodies {
        // A pose that was made anew is empty.
        let stale = members.is_changed() || (pose.particles.is_empty() && !members.is_empty());
        if !stale {
            continue;
        }
        pose.particles.fill(None);
        pose.present.fill(false);
        for &member in &**members {
            let Ok((index, particle)) = indices.get(member) else { continue };
            let index = index.0 as usize;
            // An index no recipe gives would only waste memory.
            if index >= members.len().max(pose.particles.len()).saturating_add(1 << 20) {
                continue;
            }
            if index >= pose.positions.len() {
                pose.positions.resize(index + 1, particle.position);
                pose.present.resize(index + 1, false);
                pose.particles.resize(index + 1, None);
            }
            pose.particles[index] = Some(member);
            pose.present[index] = true;
            pose.positions[index] = particle.position;
        }
    }
}

/// Blends the last two ticks.
pub(super) fn interpolate(
    fixed: Res<Time<Fixed>>,
    strategy: Option<Res<TimeUpdateStrategy>>,
    run_in: Res<RunIn>,
    ticks: Res<TicksThisFrame>,
    mirror: Res<Mirror>,
    mut blend: ResMut<Blend>,
    mut diagnostics: ResMut<SolverDiagnostics>,
    mut bodies: Query<&mut DrawnPose>,
    // Pins are placed by `place_pins`.
    particles: Query<&Particle, Without<PinnedTo>>,
    mut oriented: Query<(&OrientedParticle, &Particle, &mut Transform)>,
) {
    let started = SolverDiagnostics::start();
    let exact = matches!(strategy.as_deref(), Some(TimeUpdateStrategy::FixedTimesteps(_)));
    // While ticks are skipped the last pose stands still.
    let blended = run_in.fixed && !exact && !ticks.skipped;
    let t = if blended { fixed.overstep_fraction() } else { 1.0 };
    blend.0 = t;
    for mut pose in &mut bodies {
        let mut moved = false;
        let DrawnPose { positions, particles: members, .. } = pose.bypass_change_detection();
        for (drawn, member) in positions.iter_mut().zip(members) {
            let Some(member) = *member else { continue };
            let Ok(particle) = particles.get(member) else { continue };
            let now = match mirror.slots.get(member) {
                Some(slot) if t < 1.0 && !mirror.fresh => {
                    mirror.previous[slot as usize].lerp(particle.position, t)
                }
                _ => particle.position,
            };
            moved |= *drawn != now;
            *drawn = now;
        }
        if moved {
            pose.set_changed();
        }
    }
    for state in &mirror.oriented {
        let Ok((rotating, particle, mut transform)) = oriented.get_mut(state.entity) else {
            continue;
        };
        let previous = mirror.previous[state.slot as usize];
        let t = if mirror.fresh { 1.0 } else { t };
        let translation = previous.lerp(particle.position, t);
        let rotation = state.previous_rotation.slerp(rotating.rotation, t);
        if transform.translation != translation || transform.rotation != rotation {
            transform.translation = translation;
            transform.rotation = rotation;
        }
    }
    diagnostics.set(Stage::Interpolate, started.elapsed());
}

/// Puts pins where their anchors are now, so that a pin never seems to lag behind.
pub(super) fn place_pins(
    pins: Query<(&PinnedTo, &ParticleOf, &ParticleIndex)>,
    mut bodies: Query<&mut DrawnPose>,
    helper: TransformHelper,
) {
    let mut last: Option<(Entity, Option<crate::math::pose::Pose>)> = None;
    for (pin, body, index) in &pins {
        let anchor = match last {
            Some((anchor, pose)) if anchor == pin.anchor => pose,
            _ => current_pose(&helper, pin.anchor),
        };
        last = Some((pin.anchor, anchor));
        let (Some(anchor), Ok(mut pose)) = (anchor, bodies.get_mut(body.0)) else { continue };
        let place = anchor.transform_point(pin.offset).as_vec3();
        if !place.is_finite() {
            continue;
        }
        let pose = pose.reborrow();
        if pose.positions.get(index.0 as usize).is_some_and(|drawn| *drawn != place) {
            pose.into_inner().positions[index.0 as usize] = place;
        }
    }
}
