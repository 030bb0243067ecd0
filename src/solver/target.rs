//! Target poses: where anchors, obstacles and wind zones stand at each tick.
//!
//! A frame shows several ticks or none, so a pose that a game writes once a frame is sampled once a
//! frame, before the fixed loop; a tick takes the interpolation of the last two samples at its own
//! time, one frame late, swept over its substeps. A pose that changed between that sample and the tick
//! is driven by the fixed schedule and taken as it is. `GlobalTransform` is a frame old there, so
//! poses are always computed afresh.

use super::{
    air::WindZone,
    mirror::{EntityTable, Mirror},
    types::ConstraintTypes,
};
use crate::{
    math::pose::{Pose, TargetMotion},
    obstacle::Obstacle,
    particle::PinnedTo,
};
use bevy::{prelude::*, transform::helper::TransformHelper};

/// The sampled poses of an anchor, obstacle or wind zone: added by the solver, saved with the world.
#[derive(Component, Reflect, Clone, Copy, Debug, Default, PartialEq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
pub struct TargetPose {
    /// Where the last tick left it.
    pub tick: Pose,
    /// At the last frame but one.
    pub earlier: Pose,
    /// At the last frame.
    pub latest: Pose,
    /// Time between those two frames (s).
    pub interval: f32,
}

impl TargetPose {
    /// Standing still at `pose`.
    pub(crate) fn still(pose: Pose) -> Self {
        Self { tick: pose, earlier: pose, latest: pose, interval: 0.0 }
    }

    /// The pose `behind` seconds before the last frame.
    fn at(&self, behind: f32) -> Pose {
        if behind <= 0.0 || self.interval <= 0.0 {
            return self.latest;
        }
        let t = (1.0 - behind / self.interval).clamp(0.0, 1.0);
        self.earlier.interpolate(&self.latest, t)
    }
}

/// The motions of this tick, by entity: places in [`Mirror::targets`].
#[derive(Resource, Default)]
pub(crate) struct Targets(pub EntityTable<u32>);

/// Where `entity` stands now, by its transform and its ancestors'.
pub(crate) fn current_pose(helper: &TransformHelper, entity: Entity) -> Option<Pose> {
    let global = helper.compute_global_transform(entity).ok()?;
    Pose::new(global.compute_transform())
}

/// Samples all targets, once a frame, before the fixed loop.
pub(super) fn sample_frame(
    time: Res<Time<Virtual>>,
    helper: TransformHelper,
    mut targets: Query<(Entity, &mut TargetPose)>,
) {
    for (entity, mut target) in &mut targets {
        let Some(pose) = current_pose(&helper, entity) else { continue };
        let target = target.bypass_change_detection();
        target.earlier = target.latest;
        target.latest = pose;
        target.interval = time.delta_secs();
    }
}

/// Lists the anchors, obstacles and wind zones of this tick, and their motions over it.
pub(super) fn sample_targets(
    world: &mut World,
    mut state: Local<
        Option<(
            QueryState<&'static PinnedTo>,
            QueryState<Entity, Or<(With<Obstacle>, With<WindZone>)>>,
            QueryState<(Entity, &'static mut TargetPose)>,
            bevy::ecs::system::SystemState<TransformHelper<'static, 'static>>,
        )>,
    >,
) {
    let behind = ticks_behind_frame(world);
    let (pins, obstacles, poses, helper) = state.get_or_insert_with(|| {
        (
            world.query(),
            world.query_filtered(),
            world.query(),
            bevy::ecs::system::SystemState::new(world),
        )
    });
    let mut anchors: Vec<Entity> = pins.iter(world).map(|p| p.anchor).collect();
    anchors.extend(obstacles.iter(world));
    world.resource_scope(|world, mut types: Mut<ConstraintTypes>| {
        types.dynamic.iter_mut().for_each(|kind| kind.anchors(world, &mut anchors));
    });
    anchors.sort_unstable();
    anchors.dedup();

    let current: Vec<(Entity, Pose)> = {
        let Ok(helper) = helper.get(world) else { return };
        let pose = |e: Entity| {
            let pose = current_pose(&helper, e);
            if pose.is_none() {
                warn_once!(
                    "{e} is an anchor, obstacle or wind zone without a usable Transform: it is ignored"
                );
            }
            pose.map(|pose| (e, pose))
        };
        anchors.into_iter().filter_map(pose).collect()
    };
    let mut motions = Vec::with_capacity(current.len());
    let mut table = EntityTable::default();
    for (entity, pose) in current {
        let motion = match poses.get_mut(world, entity) {
            Ok((_, mut target)) => {
                let target = target.bypass_change_detection();
                let start = target.tick;
                target.tick = match behind {
                    Some(behind) if pose == target.latest => target.at(behind),
                    _ => {
                        target.earlier = pose;
                        target.latest = pose;
                        pose
                    }
                };
                TargetMotion { start, end: target.tick }
            }
            Err(_) => {
                world.entity_mut(entity).insert(TargetPose::still(pose));
                TargetMotion { start: pose, end: pose }
            }
        };
        table.insert(entity, motions.len() as u32);
        motions.push(motion);
    }
    // What is no anchor any more must not be swept from an old place when it becomes one again.
    let stale: Vec<Entity> =
        poses.iter(world).map(|(e, _)| e).filter(|e| table.get(*e).is_none()).collect();
    for entity in stale {
        world.entity_mut(entity).remove::<TargetPose>();
    }
    world.resource_mut::<Mirror>().targets = motions;
    world.resource_mut::<Targets>().0 = table;
}

/// How long before the last frame this tick is (s), or `None` outside the fixed loop.
fn ticks_behind_frame(world: &World) -> Option<f32> {
    let in_fixed = world.get_resource::<super::schedule::RunIn>()?.fixed;
    let (now, tick) =
        (world.get_resource::<Time<Virtual>>()?, world.get_resource::<Time<Fixed>>()?);
    in_fixed.then(|| (now.elapsed_secs_f64() - tick.elapsed_secs_f64()) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f32) -> Pose {
        Pose::new(Transform::from_xyz(x, 0.0, 0.0)).unwrap()
    }

    #[test]
    fn ticks_between_two_frames_lie_between_their_poses() {
        let target = TargetPose { tick: at(0.0), earlier: at(0.0), latest: at(1.0), interval: 0.1 };
        assert!((target.at(0.025).translation.x - 0.75).abs() < 1e-6);
        assert_eq!(target.at(0.0), at(1.0));
        assert_eq!(target.at(5.0), at(0.0));
    }

    #[test]
    fn without_an_interval_the_latest_pose_counts() {
        assert_eq!(TargetPose::still(at(2.0)).at(1.0), at(2.0));
    }
}
