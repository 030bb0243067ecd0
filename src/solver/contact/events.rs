//! Events: who began to touch what in a tick, and who stopped.

use super::{IslandContacts, pieces::Obstacles};
use crate::solver::mirror::{Activity, Mirror};
use bevy::prelude::*;

/// A body began to touch an obstacle, or to be within a sensor. Triggered for both, once each, at the end
/// of the tick.
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_pliant::prelude::*;
/// # fn spawn(mut commands: Commands) {
/// commands.spawn(Obstacle::sphere(1.0).as_sensor()).observe(|contact: On<ContactBegan>| {
///     info!("{} came in", contact.other);
/// });
/// # }
/// ```
#[derive(EntityEvent, Clone, Copy, Debug, PartialEq)]
pub struct ContactBegan {
    /// The one of the two that the event is for.
    pub entity: Entity,
    /// The other. The body's side is the particle itself where that has no body.
    pub other: Entity,
    /// The particle that touched first.
    pub particle: Entity,
    /// Impulse along the normals in this tick (N s); 0 for a sensor.
    pub impulse: f32,
}

/// A body stopped touching an obstacle, or left a sensor; also where either is gone. Triggered for both,
/// where they still exist.
#[derive(EntityEvent, Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContactEnded {
    /// The one of the two that the event is for.
    pub entity: Entity,
    /// The other; it may be despawned.
    pub other: Entity,
}

/// A body and an obstacle that touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Touching {
    body: Entity,
    obstacle: Entity,
    particle: Entity,
    impulse: f32,
}

impl Touching {
    fn key(&self) -> (Entity, Entity) {
        (self.body, self.obstacle)
    }
}

impl IslandContacts {
    /// What touched in this tick: body (a place in the island's list), obstacle, particle, impulse.
    fn touched(
        &self,
        bodies: usize,
        obstacles: &Obstacles,
    ) -> impl Iterator<Item = (usize, Entity, u32, f32)> {
        self.pairs.iter().enumerate().filter_map(move |(place, pair)| {
            let piece = &obstacles.pieces[self.near[place / bodies].number as usize];
            let obstacle = obstacles.all[piece.obstacle as usize].entity;
            Some((place % bodies, obstacle, pair.touched?, pair.impulse))
        })
    }
}

/// Compares this tick's contacts with the last tick's, and queues events.
pub(crate) fn report_contacts(mirror: &mut Mirror, commands: &mut Commands) {
    let mut now: Vec<Touching> = Vec::new();
    for (island, contacts) in mirror.islands.iter().zip(&mirror.contacts) {
        if island.activity != Activity::Awake {
            continue;
        }
        let touched = contacts.touched(island.bodies.len(), &mirror.obstacles);
        now.extend(touched.map(|(body, obstacle, slot, impulse)| {
            let particle = mirror.entities[island.slots.start + slot as usize];
            let body = mirror.bodies[island.bodies[body] as usize].entity.unwrap_or(particle);
            Touching { body, obstacle, particle, impulse }
        }));
    }
    // What lies still goes on touching.
    let resting = |touching: &&Touching| {
        let slot = mirror.slots.get(touching.particle);
        let island = slot.map(|slot| &mirror.islands[mirror.island_of[slot as usize] as usize]);
        island.is_some_and(|island| island.activity != Activity::Awake)
            && mirror.obstacles.all.iter().any(|o| o.entity == touching.obstacle)
    };
    now.extend(mirror.touching.iter().filter(resting));
    now.sort_by_key(Touching::key);
    now.dedup_by(|later, first| {
        let same = later.key() == first.key();
        if same {
            first.impulse += later.impulse;
        }
        same
    });
    let missing = |touching: &&Touching, among: &[Touching]| {
        among.binary_search_by_key(&touching.key(), Touching::key).is_err()
    };
    for began in now.iter().filter(|t| missing(t, &mirror.touching)) {
        let Touching { body, obstacle, particle, impulse } = *began;
        for (entity, other) in [(body, obstacle), (obstacle, body)] {
            trigger(commands, entity, ContactBegan { entity, other, particle, impulse });
        }
    }
    for ended in mirror.touching.iter().filter(|t| missing(t, &now)) {
        let Touching { body, obstacle, .. } = *ended;
        for (entity, other) in [(body, obstacle), (obstacle, body)] {
            trigger(commands, entity, ContactEnded { entity, other });
        }
    }
    mirror.touching = now;
}

/// Triggers `event` where its entity still exists then.
fn trigger<E: for<'a> EntityEvent<Trigger<'a>: Default>>(
    commands: &mut Commands,
    entity: Entity,
    event: E,
) {
    commands.queue(move |world: &mut World| {
        if world.get_entity(entity).is_ok() {
            world.trigger(event);
        }
    });
}
