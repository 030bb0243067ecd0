//! Lists of dynamic constraints, gathered anew each tick.

use super::{
    mirror::{Activity, EntityTable, Mirror},
    settings::StepTime,
    types::short_name,
};
use crate::{
    constraint::{DynamicConstraint, DynamicParticles, Outcome},
    particle::{BuildOrder, Particle},
};
use bevy::{
    ecs::{query::QueryState, system::Commands, world::CommandQueue},
    math::DVec3,
    prelude::*,
};
use core::{any::Any, marker::PhantomData};

/// The dynamic constraints of one type in this tick.
pub(crate) trait DynamicSet: Any + Send + Sync {
    fn len(&self) -> usize;
    /// Slots of each constraint's participants.
    fn participants(&self) -> Box<dyn Iterator<Item = (&[Option<u32>], Option<u32>)> + '_>;
    fn begin_substep(&mut self);
    /// Projects all of them once, in order of creation.
    fn project(&mut self, mirror: &mut Mirror, time: &StepTime);
    fn as_any(&mut self) -> &mut dyn Any;
}

/// A type of dynamic constraint: how it is gathered and written back.
pub(crate) trait DynamicType: Send + Sync {
    /// Short name, for diagnostics.
    fn name(&self) -> &'static str;
    /// The anchors of all constraints.
    fn anchors(&mut self, world: &mut World, anchors: &mut Vec<Entity>);
    /// Fills the type's set in the mirror; `doomed` gets those whose particle or anchor is gone.
    fn gather(
        &mut self,
        world: &mut World,
        mirror: &mut Mirror,
        targets: &EntityTable<u32>,
        time: &StepTime,
        index: usize,
        doomed: &mut Vec<Entity>,
    );
    /// Takes back what the tick found; `queue` gets what becomes of what broke.
    fn finish(
        &mut self,
        world: &mut World,
        mirror: &mut Mirror,
        index: usize,
        queue: &mut CommandQueue,
    );
}

struct Item<C: DynamicConstraint> {
    entity: Entity,
    participants: Vec<Entity>,
    slots: Vec<Option<u32>>,
    /// Each participant's place among the oriented particles.
    turning: Vec<Option<u32>>,
    /// Whether each participant's island is simulated.
    awake: Vec<bool>,
    origins: Vec<DVec3>,
    target: Option<u32>,
    compiled: C::Compiled,
}

/// The list of one type.
pub(crate) struct DynamicList<C: DynamicConstraint>(Vec<Item<C>>);

impl<C: DynamicConstraint> DynamicList<C> {
    pub fn new_set() -> Box<dyn DynamicSet> {
        Box::new(Self(Vec::new()))
    }

    pub fn new_type() -> Box<dyn DynamicType> {
        Box::new(TypeOf::<C> { query: None, marker: PhantomData })
    }
}

struct TypeOf<C: DynamicConstraint> {
    query: Option<QueryState<(Entity, &'static BuildOrder, Ref<'static, C>)>>,
    marker: PhantomData<C>,
}

fn view<'a>(
    mirror: &'a mut Mirror,
    slots: &'a [Option<u32>],
    turning: &'a [Option<u32>],
    awake: &'a [bool],
    origins: &'a [DVec3],
    target: Option<u32>,
    time: &StepTime,
) -> DynamicParticles<'a> {
    DynamicParticles {
        position: &mut mirror.position,
        predicted: &mirror.predicted,
        velocity: &mirror.velocity,
        velocity_change: &mirror.velocity_change,
        inverse_mass: &mirror.inverse_mass,
        oriented: &mut mirror.oriented,
        turning,
        slots,
        awake,
        origins,
        target: target.map(|t| mirror.targets[t as usize]),
        sweep: time.sweep(),
        h: time.h,
    }
}

impl<C: DynamicConstraint> DynamicSet for DynamicList<C> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn participants(&self) -> Box<dyn Iterator<Item = (&[Option<u32>], Option<u32>)> + '_> {
        Box::new(self.0.iter().map(|item| (&item.slots[..], item.target)))
    }

    fn begin_substep(&mut self) {
        self.0.iter_mut().for_each(|item| C::begin_substep(&mut item.compiled));
    }

    fn project(&mut self, mirror: &mut Mirror, time: &StepTime) {
        for item in &mut self.0 {
            let Item { slots, turning, awake, origins, target, compiled, .. } = item;
            for (awake, slot) in awake.iter_mut().zip(slots.iter()) {
                let island = slot.map(|slot| mirror.island_of[slot as usize] as usize);
                *awake = island.is_some_and(|i| mirror.islands[i].activity == Activity::Awake);
            }
            if awake.first() == Some(&true) {
                let mut view = view(mirror, slots, turning, awake, origins, *target, time);
                C::project(compiled, &mut view);
            }
        }
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl<C: DynamicConstraint> DynamicType for TypeOf<C> {
    fn name(&self) -> &'static str {
        short_name::<C>()
    }

    fn anchors(&mut self, world: &mut World, anchors: &mut Vec<Entity>) {
        let query = self.query.get_or_insert_with(|| world.query());
        let found: Vec<Entity> = query.iter(world).filter_map(|(_, _, c)| c.anchor()).collect();
        // Particles are where the solver has them, not where their transform is.
        anchors.extend(found.into_iter().filter(|a| world.get::<Particle>(*a).is_none()));
    }

    fn gather(
        &mut self,
        world: &mut World,
        mirror: &mut Mirror,
        targets: &EntityTable<u32>,
        time: &StepTime,
        index: usize,
        doomed: &mut Vec<Entity>,
    ) {
        let query = self.query.get_or_insert_with(|| world.query());
        let mut found: Vec<(u64, Entity, Vec<Entity>, Option<Entity>)> = Vec::new();
        for (entity, order, c) in query.iter(world) {
            let participants = c.participants();
            // What was loaded counts as added, but is not new.
            if mirror.added.contains(&entity) || (c.is_changed() && !c.is_added()) {
                participants.iter().for_each(|p| mirror.wake(*p));
            }
            found.push((order.0, entity, participants, c.anchor()));
        }
        found.sort_unstable_by_key(|(order, entity, ..)| (*order, *entity));
        let mut items = Vec::with_capacity(found.len());
        for (_, entity, participants, anchor) in found {
            let gone = |e: &Entity| world.get_entity(*e).is_err();
            if participants.iter().any(gone) || anchor.iter().any(gone) {
                participants.iter().for_each(|p| mirror.wake(*p));
                doomed.push(entity);
                continue;
            }
            let slots: Vec<Option<u32>> =
                participants.iter().map(|p| mirror.slots.get(*p)).collect();
            if !matches!(slots.first(), Some(Some(_))) {
                warn_once!("{} {entity} acts on no particle: it rests", short_name::<C>());
                continue;
            }
            let home = slots[0].map_or(0, |s| mirror.island_of[s as usize]);
            let origin = |slot: &Option<u32>| {
                let island = slot.map_or(home, |s| mirror.island_of[s as usize]);
                mirror.islands[island as usize].origin
            };
            let origins: Vec<DVec3> = slots.iter().map(origin).collect();
            let target = anchor.and_then(|anchor| targets.get(anchor));
            let Some(mut constraint) = world.get_mut::<C>(entity) else { continue };
            let awake = vec![true; slots.len()];
            let turning: Vec<Option<u32>> =
                slots.iter().map(|slot| mirror.oriented_place((*slot)?)).collect();
            let particles = view(mirror, &slots, &turning, &awake, &origins, target, time);
            let prepared = constraint.bypass_change_detection().prepare(&particles);
            if let Some(compiled) = prepared {
                items.push(Item {
                    entity,
                    participants,
                    slots,
                    turning,
                    awake,
                    origins,
                    target,
                    compiled,
                });
            }
        }
        let Some(list) = mirror.dynamics[index].as_any().downcast_mut::<DynamicList<C>>() else {
            return;
        };
        let before = core::mem::replace(&mut list.0, items);
        for item in before.iter().filter(|item| world.get::<C>(item.entity).is_none()) {
            item.participants.iter().for_each(|p| mirror.wake(*p));
        }
    }

    fn finish(
        &mut self,
        world: &mut World,
        mirror: &mut Mirror,
        index: usize,
        queue: &mut CommandQueue,
    ) {
        let Some(list) = mirror.dynamics[index].as_any().downcast_mut::<DynamicList<C>>() else {
            return;
        };
        for item in &list.0 {
            let slot = item.slots.iter().flatten().next().copied().unwrap_or(0);
            let island = mirror.island_of.get(slot as usize).copied().unwrap_or(0);
            if mirror.islands.get(island as usize).is_none_or(|i| i.activity != Activity::Awake) {
                continue;
            }
            let Some(mut constraint) = world.get_mut::<C>(item.entity) else { continue };
            let constraint = constraint.bypass_change_detection();
            if constraint.finish(&item.compiled) == Outcome::Broken {
                queue.push(broken::<C>(item.entity));
            }
        }
    }
}

/// Tells of a broken constraint, then despawns it.
fn broken<C: DynamicConstraint>(entity: Entity) -> impl Command<Out = ()> {
    move |world: &mut World| {
        let mut queue = CommandQueue::default();
        if let Some(constraint) = world.get::<C>(entity) {
            constraint.broken(entity, &mut Commands::new(&mut queue, world));
        }
        queue.apply(world);
        if let Ok(entity) = world.get_entity_mut(entity) {
            entity.despawn();
        }
    }
}
