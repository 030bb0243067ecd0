//! Compile: from entities to islands, colours and lanes.
//!
//! Runs only when the structure changed. Particles and constraints are sorted by [`BuildOrder`], union-
//! find joins particles that constraints couple into islands, slots are given island by island, and
//! each type of constraint packs its batches. A changed parameter only refreshes its lane; a despawned
//! constraint only empties its lane, until a tenth of a batch is empty.

use super::{
    diagnostics::{SolverDiagnostics, Stage},
    mirror::{
        BodyInputs, EntityTable, Island, Mirror, MirrorBody, NOT_ORIENTED, Oriented, exact_position,
    },
    settings::{ProjectionOrder, SolverSettings},
    types::ConstraintTypes,
};
use crate::particle::{
    BuildOrder, OrientedParticle, Particle, ParticleOf, Particles, PinnedTo, Planar, SolverState,
    TopologyChanges,
};
use bevy::{
    ecs::{entity_disabling::Disabled, query::Allow},
    math::{DVec3, Vec4},
    platform::collections::HashMap,
    prelude::*,
};

/// Follows what changed since the last tick, and compiles anew where the structure did.
pub(super) fn compile(
    world: &mut World,
    mut particles: Local<
        Option<
            QueryState<(
                Entity,
                &'static BuildOrder,
                &'static Particle,
                &'static mut SolverState,
                Option<&'static ParticleOf>,
                Has<OrientedParticle>,
            )>,
        >,
    >,
    mut last_order: Local<Option<ProjectionOrder>>,
    mut moved: Local<Option<QueryState<(), Changed<Particles>>>>,
    mut repinned: Local<Option<QueryState<(), Changed<PinnedTo>>>>,
) {
    let started = SolverDiagnostics::start();
    let order = world.resource::<SolverSettings>().order;
    let mut orphans = Vec::new();
    world.resource_scope(|world, mut types: Mut<ConstraintTypes>| {
        world.resource_scope(|world, mut mirror: Mut<Mirror>| {
            let mut again = last_order.replace(order) != Some(order);
            let mut newly_added = Vec::new();
            again |=
                moved.get_or_insert_with(|| world.query_filtered()).iter(world).next().is_some();
            mirror.weights_changed |=
                repinned.get_or_insert_with(|| world.query_filtered()).iter(world).next().is_some();
            again |= follow_changes(world, &mut types, &mut mirror, &mut newly_added);
            if !again {
                return;
            }
            let query = particles.get_or_insert_with(|| world.query());
            let restless = restless_particles(world, &mirror);
            orphans = compile_anew(world, &mut types, &mut mirror, query, order);
            world.resource_mut::<SolverDiagnostics>().compilations += 1;
            restless.into_iter().for_each(|particle| mirror.wake(particle));
            for entity in core::mem::take(&mut newly_added) {
                types.compiled.iter().for_each(|kind| kind.wake(entity, &mut mirror));
            }
        });
    });
    // Only now, since observers of it may want what was taken out of the world.
    for orphan in orphans {
        if let Ok(entity) = world.get_entity_mut(orphan) {
            entity.despawn();
        }
    }
    world.resource_mut::<SolverDiagnostics>().stop(Stage::Compile, started);
}

/// Parameters and removals; whether a new compilation is needed.
fn follow_changes(
    world: &mut World,
    types: &mut ConstraintTypes,
    mirror: &mut Mirror,
    newly_added: &mut Vec<Entity>,
) -> bool {
    let mut again = false;
    for (index, kind) in types.compiled.iter_mut().enumerate() {
        again |= kind.note_changes(world, mirror, index);
    }
    let mut changes = world.resource_mut::<TopologyChanges>();
    again |= core::mem::take(&mut changes.recompile);
    mirror.weights_changed |= core::mem::take(&mut changes.weights);
    let unordered = core::mem::take(&mut changes.unordered);
    let removed = core::mem::take(&mut changes.removed_constraints);
    *newly_added = give_build_orders(world, unordered);
    mirror.added.extend(newly_added.iter().copied());
    let any_removed = !removed.is_empty();
    for entity in removed {
        for (index, kind) in types.compiled.iter_mut().enumerate() {
            if kind.kill(entity, mirror, index) {
                break;
            }
        }
    }
    if again {
        return true;
    }
    if any_removed {
        count_constraints(types, mirror);
    }
    mirror.islands.iter().flat_map(|i| &i.batches).flatten().any(|b| b.dead() * 10 > b.len())
}

/// The particles of islands that must wake: something of them is gone, or was changed.
fn restless_particles(world: &World, mirror: &Mirror) -> Vec<Entity> {
    let gone = |slot: usize| world.get::<Particle>(mirror.entities[slot]).is_none();
    mirror
        .islands
        .iter()
        .filter(|island| island.wake || island.particles().any(gone))
        .flat_map(|island| mirror.entities[island.particles()].iter().copied())
        .collect()
}

/// Gives new entities their order, and returns them: what was loaded has its own.
fn give_build_orders(world: &mut World, unordered: Vec<Entity>) -> Vec<Entity> {
    let missing: Vec<Entity> = unordered
        .into_iter()
        .filter(|e| world.get_entity(*e).is_ok_and(|e| !e.contains::<BuildOrder>()))
        .collect();
    if missing.is_empty() {
        return missing;
    }
    let first = world.resource_mut::<TopologyChanges>().take_build_orders(missing.len() as u64);
    world.insert_batch(
        missing
            .iter()
            .enumerate()
            .map(|(i, e)| (*e, BuildOrder(first + i as u64)))
            .collect::<Vec<_>>(),
    );
    missing
}

fn count_constraints(types: &ConstraintTypes, mirror: &mut Mirror) {
    let mut counts: HashMap<&'static str, usize> = HashMap::default();
    for (index, kind) in types.compiled.iter().enumerate() {
        let batches = mirror.islands.iter().filter_map(|i| i.batches.get(index)?.as_ref());
        counts.insert(kind.name(), batches.map(|b| b.len()).sum());
    }
    mirror.constraints = counts.values().sum();
    mirror.constraint_counts = counts;
}

/// A particle on its way into the mirror.
struct Found {
    order: u64,
    entity: Entity,
    body: Option<Entity>,
    position: DVec3,
    oriented: bool,
}

fn compile_anew(
    world: &mut World,
    types: &mut ConstraintTypes,
    mirror: &mut Mirror,
    query: &mut QueryState<(
        Entity,
        &BuildOrder,
        &Particle,
        &mut SolverState,
        Option<&ParticleOf>,
        Has<OrientedParticle>,
    )>,
    order: ProjectionOrder,
) -> Vec<Entity> {
    let mut found: Vec<Found> = query
        .iter(world)
        .map(|(entity, order, particle, state, body, oriented)| Found {
            order: order.0,
            entity,
            body: body.map(|b| b.0),
            position: exact_position(particle.position, state.remainder),
            oriented,
        })
        .collect();
    found.sort_unstable_by_key(|f| (f.order, f.entity));

    let mut places = EntityTable::default();
    for (place, particle) in found.iter().enumerate() {
        places.insert(particle.entity, place as u32);
    }
    let mut orphans = Vec::new();
    let mut sets = DisjointSets::new(found.len());
    for kind in &mut types.compiled {
        kind.collect(world, &places, &mut orphans);
        kind.links(&mut |link| {
            link.windows(2).for_each(|pair| sets.join(pair[0], pair[1]));
        });
    }

    mirror.old_weights.clear();
    for (entity, weight) in mirror.entities.iter().zip(&mirror.inverse_mass) {
        mirror.old_weights.insert(*entity, *weight);
    }
    let slots = layout(mirror, &found, &mut sets);
    // Whoever is not found must not keep a slot that is another's now.
    let mut states = world.query_filtered::<&mut SolverState, Allow<Disabled>>();
    for mut state in states.iter_mut(world) {
        state.bypass_change_detection().slot_plus_one = 0;
    }
    bodies(world, mirror, &found, &slots);
    for kind in &mut types.compiled {
        let Mirror { islands, island_of, .. } = mirror;
        kind.build(world, &slots, island_of, islands, order);
    }
    for (particle, slot) in found.iter().zip(&slots) {
        if let Ok((_, _, _, mut state, ..)) = query.get_mut(world, particle.entity) {
            state.bypass_change_detection().slot_plus_one = slot + 1;
        }
    }
    list_oriented(mirror, &found, &slots);
    count_constraints(types, mirror);
    mirror.weights_changed = true;
    mirror.fresh = true;
    orphans
}

/// Lists the particles that turn, by slot, and says of each slot and island where they are.
fn list_oriented(mirror: &mut Mirror, found: &[Found], slots: &[u32]) {
    mirror.oriented.clear();
    for (particle, slot) in found.iter().zip(slots).filter(|(p, _)| p.oriented) {
        let body = mirror.body[*slot as usize] as usize;
        let planar = mirror.bodies[body].planar;
        mirror.oriented.push(Oriented::new(*slot, particle.entity, planar));
    }
    mirror.oriented.sort_unstable_by_key(|o| o.slot);
    mirror.oriented_of.clear();
    mirror.oriented_of.resize(mirror.entities.len(), NOT_ORIENTED);
    let mut next = 0;
    for island in &mut mirror.islands {
        let first = next;
        while let Some(o) =
            mirror.oriented.get(next).filter(|o| (o.slot as usize) < island.slots.end)
        {
            mirror.oriented_of[o.slot as usize] = (next - first) as u32;
            next += 1;
        }
        island.oriented = first..next;
    }
}

/// Union-find with path halving; the least member of a set represents it.
struct DisjointSets(Vec<u32>);

impl DisjointSets {
    fn new(len: usize) -> Self {
        Self((0..len as u32).collect())
    }

    fn find(&mut self, mut member: u32) -> u32 {
        while self.0[member as usize] != member {
            let parent = self.0[member as usize];
            self.0[member as usize] = self.0[parent as usize];
            member = self.0[member as usize];
        }
        member
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        let (least, greatest) = (a.min(b), a.max(b));
        self.0[greatest as usize] = least;
    }
}

/// Gives each particle its slot, and sizes the arrays. Returns the slot of each place.
fn layout(mirror: &mut Mirror, found: &[Found], sets: &mut DisjointSets) -> Vec<u32> {
    const UNSET: u32 = u32::MAX;
    let mut island_at = vec![UNSET; found.len()];
    let mut members: Vec<Vec<u32>> = Vec::new();
    for place in 0..found.len() as u32 {
        let root = sets.find(place) as usize;
        if island_at[root] == UNSET {
            island_at[root] = members.len() as u32;
            members.push(Vec::new());
        }
        members[island_at[root] as usize].push(place);
    }
    let total = found.len() + members.len();
    let mut slots = vec![0; found.len()];
    mirror.slots.clear();
    mirror.islands.clear();
    mirror.contacts.clear();
    mirror.air.clear();
    mirror.island_of.clear();
    mirror.entities.clear();
    for (number, members) in members.iter().enumerate() {
        let start = mirror.entities.len();
        for &place in members {
            let slot = mirror.entities.len() as u32;
            slots[place as usize] = slot;
            mirror.slots.insert(found[place as usize].entity, slot);
            mirror.entities.push(found[place as usize].entity);
        }
        mirror.entities.push(Entity::PLACEHOLDER);
        let end = mirror.entities.len();
        mirror.island_of.resize(end, number as u32);
        let origin = members.first().map_or(DVec3::ZERO, |m| found[*m as usize].position.round());
        mirror.islands.push(Island {
            slots: start..end,
            origin,
            relative_damping: 1.0,
            ..default()
        });
        mirror.contacts.push(default());
        mirror.air.islands.push(default());
    }
    for array in [
        &mut mirror.position,
        &mut mirror.predicted,
        &mut mirror.velocity,
        &mut mirror.velocity_change,
        &mut mirror.acceleration,
    ] {
        array.clear();
        array.resize(total, Vec4::ZERO);
    }
    for array in [&mut mirror.mass, &mut mirror.inverse_mass, &mut mirror.damping] {
        array.clear();
        array.resize(total, 0.0);
    }
    mirror.body.clear();
    mirror.body.resize(total, 0);
    mirror.previous.clear();
    mirror.previous.resize(total, Vec3::ZERO);
    mirror.still.clear();
    mirror.still.resize(total, (Vec3::ZERO, 0));
    mirror.kinematic.clear();
    mirror.pins.clear();
    slots
}

/// Lists bodies and their particles. Body 0 is that of the particles without one.
fn bodies(world: &World, mirror: &mut Mirror, found: &[Found], slots: &[u32]) {
    let settings = world.resource::<SolverSettings>();
    let old: HashMap<Option<Entity>, Option<BodyInputs>> =
        mirror.bodies.iter().map(|b| (b.entity, b.inputs)).collect();
    let known_body = |entity: Option<Entity>| {
        let mut body = MirrorBody::new(entity, settings.particle_radius);
        body.inputs = old.get(&entity).copied().flatten();
        body
    };
    mirror.bodies.clear();
    mirror.bodies.push(known_body(None));
    let mut known: HashMap<Entity, u32> = HashMap::default();
    for (particle, &slot) in found.iter().zip(slots) {
        let body = match particle.body {
            None => 0,
            Some(entity) => *known.entry(entity).or_insert_with(|| {
                let mut body = known_body(Some(entity));
                body.planar = world.get::<Planar>(entity).is_some();
                mirror.bodies.push(body);
                mirror.bodies.len() as u32 - 1
            }),
        };
        mirror.body[slot as usize] = body;
        mirror.bodies[body as usize].slots.push(slot);
        let island = &mut mirror.islands[mirror.island_of[slot as usize] as usize];
        if !island.bodies.contains(&body) {
            island.bodies.push(body);
        }
    }
    for island in &mut mirror.islands {
        let mut planar = island.bodies.iter().map(|b| mirror.bodies[*b as usize].planar);
        island.any_planar = planar.clone().any(|planar| planar);
        island.all_planar = planar.all(|planar| planar);
    }
}
