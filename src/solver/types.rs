//! The registered types of constraints, and how each is collected, compiled and followed.

use super::{
    batch::{Compiled, GroupBatch, LaneBatch},
    dynamic_set::{DynamicList, DynamicType},
    mirror::{EntityTable, Island, Mirror},
    settings::ProjectionOrder,
};
use crate::{
    constraint::{
        Constraint, DynamicConstraint, DynamicForm, GroupConstraint, GroupForm, LaneConstraint,
        LaneForm,
    },
    particle::{BuildOrder, TopologyChanges},
};
use bevy::{ecs::query::QueryState, prelude::*};
use core::any::{TypeId, type_name};

/// A type of constraint that is compiled into batches.
pub(crate) trait CompiledType: Send + Sync {
    /// Short name, for diagnostics.
    fn name(&self) -> &'static str;
    /// Takes changed parameters over into the batches; asks for a new compilation where a constraint
    /// names other particles than before.
    fn note_changes(&mut self, world: &mut World, mirror: &mut Mirror, index: usize) -> bool;
    /// Makes a despawned constraint do nothing; whether it was of this type.
    fn kill(&mut self, entity: Entity, mirror: &mut Mirror, index: usize) -> bool;
    /// Where a constraint is, if it is of this type.
    fn locate(&self, entity: Entity) -> Option<Location>;
    /// Wakes the island of a constraint, if it is of this type.
    fn wake(&self, entity: Entity, mirror: &mut Mirror);
    /// Reads all constraints, in order of creation, with particles as `places` numbers them; those
    /// whose particles are gone are added to `orphans`.
    fn collect(&mut self, world: &mut World, places: &EntityTable<u32>, orphans: &mut Vec<Entity>);
    /// Calls `link` with the particles of each collected constraint.
    fn links(&self, link: &mut dyn FnMut(&[u32]));
    /// Packs what was collected into the islands; `slots` tells the slot of each place.
    fn build(
        &mut self,
        world: &World,
        slots: &[u32],
        island_of: &[u32],
        islands: &mut [Island],
        order: ProjectionOrder,
    );
    /// Stores in the components what must be saved.
    fn store(&mut self, world: &mut World, mirror: &mut Mirror, index: usize);
}

/// All registered types, in order of registration.
#[derive(Resource, Default)]
pub(crate) struct ConstraintTypes {
    pub compiled: Vec<Box<dyn CompiledType>>,
    pub dynamic: Vec<Box<dyn DynamicType>>,
    known: Vec<TypeId>,
}

/// Registers types of constraints.
pub trait AddConstraint {
    /// Registers the constraint `C`. Constraints are projected type by type in the order of
    /// registration, after this crate's own; registering one twice does nothing more. Needs
    /// [`SolverPlugin`](super::SolverPlugin) to be added before.
    fn add_constraint<C: Constraint>(&mut self) -> &mut Self
    where
        C::Form: Register<C>;
}

/// How a form of constraint is registered.
pub trait Register<C: Constraint> {
    /// Whether adding one calls for a new compilation.
    #[doc(hidden)]
    const COMPILED: bool = true;

    #[doc(hidden)]
    fn register(types: &mut Types<'_>);
}

#[doc(hidden)]
pub struct Types<'a> {
    types: &'a mut ConstraintTypes,
    mirror: &'a mut Mirror,
}

impl<C: LaneConstraint<N>, const N: usize> Register<C> for LaneForm<N> {
    fn register(types: &mut Types<'_>) {
        types.types.compiled.push(Box::new(LaneType::<C, N>::default()));
    }
}

impl<C: GroupConstraint> Register<C> for GroupForm {
    fn register(types: &mut Types<'_>) {
        types.types.compiled.push(Box::new(GroupType::<C>::default()));
    }
}

impl<C: DynamicConstraint> Register<C> for DynamicForm {
    const COMPILED: bool = false;

    fn register(types: &mut Types<'_>) {
        types.types.dynamic.push(DynamicList::<C>::new_type());
        types.mirror.dynamics.push(DynamicList::<C>::new_set());
    }
}

/// Registers `C`; whether it was new.
pub(crate) fn register<C: Constraint>(world: &mut World) -> bool
where
    C::Form: Register<C>,
{
    world.init_resource::<ConstraintTypes>();
    world.init_resource::<Mirror>();
    world.init_resource::<TopologyChanges>();
    world.resource_scope(|world, mut types: Mut<ConstraintTypes>| {
        if types.known.contains(&TypeId::of::<C>()) {
            return false;
        }
        types.known.push(TypeId::of::<C>());
        let mut mirror = world.resource_mut::<Mirror>();
        C::Form::register(&mut Types { types: &mut types, mirror: &mut mirror });
        world.resource_mut::<TopologyChanges>().recompile = true;
        true
    })
}

impl AddConstraint for App {
    fn add_constraint<C: Constraint>(&mut self) -> &mut Self
    where
        C::Form: Register<C>,
    {
        if register::<C>(self.world_mut()) {
            self.add_observer(|add: On<Add, C>, mut changes: ResMut<TopologyChanges>| {
                if <C::Form as Register<C>>::COMPILED {
                    changes.note_added(add.entity);
                } else {
                    changes.note_dynamic_added(add.entity);
                }
            });
            self.add_observer(|remove: On<Remove, C>, mut changes: ResMut<TopologyChanges>| {
                changes.note_constraint_removed(remove.entity);
            });
        }
        self
    }
}

/// The last part of a type's name.
pub(crate) fn short_name<C>() -> &'static str {
    let name = type_name::<C>();
    name.rsplit("::").next().unwrap_or(name)
}

/// Where a constraint is: island, and place in its batch.
pub(crate) type Location = (u32, u32);

/// A constraint that was read, with its particles as places.
struct Collected<P> {
    order: u64,
    entity: Entity,
    particles: P,
}

/// Whether a constraint that names a particle which is none lost it (so must go) or never had it.
fn resolve(
    world: &World,
    entity: Entity,
    particles: &[Entity],
    places: &EntityTable<u32>,
    orphans: &mut Vec<Entity>,
) -> Option<Vec<u32>> {
    let mut resolved = Vec::with_capacity(particles.len());
    for &particle in particles {
        match places.get(particle) {
            Some(place) => resolved.push(place),
            None if world.get_entity(particle).is_err() => {
                orphans.push(entity);
                return None;
            }
            None => {
                warn_once!("constraint {entity} names {particle}, which is no particle: it rests");
                return None;
            }
        }
    }
    for (i, place) in resolved.iter().enumerate() {
        if resolved[..i].contains(place) {
            warn_once!("constraint {entity} names the same particle twice: it rests");
            return None;
        }
    }
    Some(resolved)
}

/// The state that lane and group types share.
struct CompiledState<C: Constraint, P> {
    all: Option<QueryState<(Entity, &'static BuildOrder, &'static C)>>,
    changed: Option<QueryState<(Entity, &'static C), Changed<C>>>,
    collected: Vec<Collected<P>>,
    locations: EntityTable<Location>,
}

impl<C: Constraint, P> Default for CompiledState<C, P> {
    fn default() -> Self {
        Self { all: None, changed: None, collected: Vec::new(), locations: EntityTable::default() }
    }
}

impl<C: Constraint, P: AsRef<[u32]>> CompiledState<C, P> {
    /// Collected constraints by island, each list in order of creation.
    fn by_island(
        &self,
        slots: &[u32],
        island_of: &[u32],
        islands: usize,
    ) -> Vec<Vec<&Collected<P>>> {
        let mut lists: Vec<Vec<&Collected<P>>> = Vec::new();
        lists.resize_with(islands, Vec::new);
        for collected in &self.collected {
            if let Some(&place) = collected.particles.as_ref().first() {
                lists[island_of[slots[place as usize] as usize] as usize].push(collected);
            }
        }
        lists
    }

    fn links(&self, link: &mut dyn FnMut(&[u32])) {
        for collected in &self.collected {
            link(collected.particles.as_ref());
        }
    }
}

fn collect<C: Constraint, P>(
    state: &mut CompiledState<C, P>,
    world: &mut World,
    mut read: impl FnMut(&World, Entity, &C) -> Option<P>,
) {
    let query = state.all.get_or_insert_with(|| world.query());
    query.update_archetypes(world);
    state.collected.clear();
    for (entity, order, constraint) in query.iter_manual(world) {
        if let Some(particles) = read(world, entity, constraint) {
            state.collected.push(Collected { order: order.0, entity, particles });
        }
    }
    if !state.collected.is_sorted_by_key(|c| (c.order, c.entity)) {
        state.collected.sort_unstable_by_key(|c| (c.order, c.entity));
    }
}

struct LaneType<C: LaneConstraint<N>, const N: usize>(CompiledState<C, [u32; N]>);

impl<C: LaneConstraint<N>, const N: usize> Default for LaneType<C, N> {
    fn default() -> Self {
        Self(CompiledState::default())
    }
}

impl<C: LaneConstraint<N>, const N: usize> LaneType<C, N> {
    fn batch(mirror: &mut Mirror, island: u32, index: usize) -> Option<&mut LaneBatch<C, N>> {
        let batch = mirror.islands.get_mut(island as usize)?.batches.get_mut(index)?.as_mut()?;
        batch.as_any().downcast_mut()
    }
}

impl<C: LaneConstraint<N>, const N: usize> CompiledType for LaneType<C, N> {
    fn name(&self) -> &'static str {
        short_name::<C>()
    }

    fn note_changes(&mut self, world: &mut World, mirror: &mut Mirror, index: usize) -> bool {
        let query = self.0.changed.get_or_insert_with(|| world.query_filtered());
        let mut recompile = false;
        let mut touched = Vec::new();
        for (entity, constraint) in query.iter(world) {
            let Some((island, place)) = self.0.locations.get(entity) else {
                // It rested for want of particles, and may have found them.
                recompile = true;
                continue;
            };
            let named = constraint.particles().map(|p| mirror.slots.get(p));
            let first = mirror.islands.get(island as usize).map_or(0, |i| i.slots.start as u32);
            let Some(batch) = Self::batch(mirror, island, index) else { continue };
            if batch.indices(place).map(|i| Some(i + first)) == named {
                batch.refresh(place, constraint);
                touched.push(island);
            } else {
                recompile = true;
            }
        }
        touched.dedup();
        for island in touched {
            if let Some(batch) = Self::batch(mirror, island, index) {
                batch.end_refresh();
            }
            mirror.islands[island as usize].wake = true;
            mirror.weights_changed = true;
        }
        recompile
    }

    fn kill(&mut self, entity: Entity, mirror: &mut Mirror, index: usize) -> bool {
        let Some((island, place)) = self.0.locations.get(entity) else { return false };
        if let Some(batch) = Self::batch(mirror, island, index) {
            batch.kill(place);
            mirror.islands[island as usize].wake = true;
        }
        true
    }

    fn locate(&self, entity: Entity) -> Option<Location> {
        self.0.locations.get(entity)
    }

    fn wake(&self, entity: Entity, mirror: &mut Mirror) {
        if let Some((island, _)) = self.0.locations.get(entity) {
            mirror.islands[island as usize].wake = true;
        }
    }

    fn collect(&mut self, world: &mut World, places: &EntityTable<u32>, orphans: &mut Vec<Entity>) {
        collect(&mut self.0, world, |world, entity, constraint: &C| {
            let named = constraint.particles();
            // The common case without an allocation.
            let found = named.map(|p| places.get(p));
            let distinct = (1..N).all(|i| !named[..i].contains(&named[i]));
            if !constraint.is_valid() {
                warn_once!(
                    "{} {entity} has parameters that make no sense: it rests",
                    short_name::<C>()
                );
            }
            if distinct && found.iter().all(Option::is_some) {
                Some(found.map(Option::unwrap_or_default))
            } else {
                resolve(world, entity, &named, places, orphans).and_then(|p| p.try_into().ok())
            }
        });
    }

    fn links(&self, link: &mut dyn FnMut(&[u32])) {
        self.0.links(link);
    }

    fn build(
        &mut self,
        world: &World,
        slots: &[u32],
        island_of: &[u32],
        islands: &mut [Island],
        order: ProjectionOrder,
    ) {
        let Some(query) = &mut self.0.all else { return };
        let lists = {
            let mut constraints: Vec<Vec<(Entity, Compiled<C, N>)>> = Vec::new();
            constraints.resize_with(islands.len(), Vec::new);
            for collected in &self.0.collected {
                let Ok((_, _, constraint)) = query.get_manual(world, collected.entity) else {
                    continue;
                };
                let island = island_of[slots[collected.particles[0] as usize] as usize] as usize;
                let first = islands[island].slots.start as u32;
                let indices = collected.particles.map(|place| slots[place as usize] - first);
                constraints[island]
                    .push((collected.entity, Compiled { constraint: constraint.clone(), indices }));
            }
            constraints
        };
        self.0.locations.clear();
        for (number, (island, list)) in islands.iter_mut().zip(lists).enumerate() {
            if list.is_empty() {
                island.batches.push(None);
                continue;
            }
            let (entities, constraints): (Vec<Entity>, Vec<_>) = list.into_iter().unzip();
            let (batch, places) = LaneBatch::new(constraints, island.particles().len(), order);
            for (entity, place) in entities.into_iter().zip(places) {
                self.0.locations.insert(entity, (number as u32, place));
            }
            island.batches.push(Some(Box::new(batch)));
        }
    }

    fn store(&mut self, _world: &mut World, _mirror: &mut Mirror, _index: usize) {}
}

/// Puts a list in an order that runs nowhere.
///
/// A sweep P along a row of overlapping groups carries errors along. Then P has complex eigenvalues p, and
/// those of the step that velocities make of it, λ² = p (2λ − 1), may be above 1: a stiff ring of groups
/// swept round and round explodes. Without a common direction the eigenvalues are nearly real and |λ|² = p.
fn scatter<T>(list: &mut Vec<T>) {
    let place = |i: usize| (i as u32).wrapping_mul(2_654_435_761);
    let mut placed: Vec<(u32, T)> =
        core::mem::take(list).into_iter().enumerate().map(|(i, t)| (place(i), t)).collect();
    placed.sort_unstable_by_key(|(place, _)| *place);
    list.extend(placed.into_iter().map(|(_, t)| t));
}

struct GroupType<C: GroupConstraint>(CompiledState<C, Vec<u32>>);

impl<C: GroupConstraint> Default for GroupType<C> {
    fn default() -> Self {
        Self(CompiledState::default())
    }
}

impl<C: GroupConstraint> GroupType<C> {
    fn batch(mirror: &mut Mirror, island: u32, index: usize) -> Option<&mut GroupBatch<C>> {
        let batch = mirror.islands.get_mut(island as usize)?.batches.get_mut(index)?.as_mut()?;
        batch.as_any().downcast_mut()
    }
}

impl<C: GroupConstraint> CompiledType for GroupType<C> {
    fn name(&self) -> &'static str {
        short_name::<C>()
    }

    fn note_changes(&mut self, world: &mut World, mirror: &mut Mirror, index: usize) -> bool {
        let query = self.0.changed.get_or_insert_with(|| world.query_filtered());
        let mut recompile = false;
        for (entity, constraint) in query.iter(world) {
            let Some((island, place)) = self.0.locations.get(entity) else {
                // It rested for want of particles, and may have found them.
                recompile = true;
                continue;
            };
            let named: Vec<Option<u32>> =
                constraint.particles().into_iter().map(|p| mirror.slots.get(p)).collect();
            let first = mirror.islands.get(island as usize).map_or(0, |i| i.slots.start as u32);
            let Some(batch) = Self::batch(mirror, island, index) else { continue };
            if batch.slots(place).iter().map(|i| Some(i + first)).eq(named) {
                batch.refresh(place, constraint);
                mirror.islands[island as usize].wake = true;
                mirror.weights_changed = true;
            } else {
                recompile = true;
            }
        }
        recompile
    }

    fn kill(&mut self, entity: Entity, mirror: &mut Mirror, index: usize) -> bool {
        let Some((island, place)) = self.0.locations.get(entity) else { return false };
        if let Some(batch) = Self::batch(mirror, island, index) {
            batch.kill(place);
            mirror.islands[island as usize].wake = true;
            mirror.weights_changed = true;
        }
        true
    }

    fn locate(&self, entity: Entity) -> Option<Location> {
        self.0.locations.get(entity)
    }

    fn wake(&self, entity: Entity, mirror: &mut Mirror) {
        if let Some((island, _)) = self.0.locations.get(entity) {
            mirror.islands[island as usize].wake = true;
        }
    }

    fn collect(&mut self, world: &mut World, places: &EntityTable<u32>, orphans: &mut Vec<Entity>) {
        collect(&mut self.0, world, |world, entity, constraint: &C| {
            if !constraint.is_valid() {
                warn_once!(
                    "{} {entity} has parameters that make no sense: it rests",
                    short_name::<C>()
                );
            }
            resolve(world, entity, &constraint.particles(), places, orphans)
        });
    }

    fn links(&self, link: &mut dyn FnMut(&[u32])) {
        self.0.links(link);
    }

    fn build(
        &mut self,
        world: &World,
        slots: &[u32],
        island_of: &[u32],
        islands: &mut [Island],
        order: ProjectionOrder,
    ) {
        let mut lists = self.0.by_island(slots, island_of, islands.len());
        if order == ProjectionOrder::Colored {
            lists.iter_mut().for_each(scatter);
        }
        let mut locations = EntityTable::default();
        for (number, (island, list)) in islands.iter_mut().zip(lists).enumerate() {
            let first = island.slots.start as u32;
            let mut batch = GroupBatch::<C>::new();
            for collected in &list {
                let Some(constraint) = world.get::<C>(collected.entity) else { continue };
                let members = collected.particles.iter().map(|p| slots[*p as usize] - first);
                let place = batch.push(collected.entity, members.collect(), constraint);
                locations.insert(collected.entity, (number as u32, place));
            }
            island.batches.push((!list.is_empty()).then(|| Box::new(batch) as _));
        }
        self.0.locations = locations;
    }

    fn store(&mut self, world: &mut World, mirror: &mut Mirror, index: usize) {
        for island in &mut mirror.islands {
            let Some(Some(batch)) = island.batches.get_mut(index) else { continue };
            let Some(batch) = batch.as_any().downcast_mut::<GroupBatch<C>>() else { continue };
            for (entity, compiled) in batch.compiled() {
                if let Some(mut constraint) = world.get_mut::<C>(entity) {
                    constraint.bypass_change_detection().store(compiled);
                }
            }
        }
    }
}
