//! What the solver has compiled and found, for those who look on: views, panels, tests.

use super::{
    mirror::{Island, Mirror},
    soft_contact,
    types::ConstraintTypes,
};
use bevy::{ecs::system::SystemParam, math::DVec3, prelude::*};

pub use super::mirror::Activity;

/// Reads what the solver knows beyond components: who is awake, islands, colours, contacts. It shows the last
/// tick; what was spawned since is not in it.
#[derive(SystemParam)]
pub struct SolverView<'w> {
    mirror: Res<'w, Mirror>,
    types: Res<'w, ConstraintTypes>,
}

/// Where a particle touched something, in the last substep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// The particle.
    pub particle: Entity,
    /// The obstacle, or the other particle.
    pub other: Option<Entity>,
    /// Where they touch (m, world).
    pub position: Vec3,
    /// Unit normal, towards the particle.
    pub normal: Vec3,
}

impl SolverView<'_> {
    /// The bodies, and what each does: one of several islands does what the busiest of them does.
    pub fn bodies(&self) -> impl Iterator<Item = (Entity, Activity)> {
        let mut of_body: Vec<Option<Activity>> = vec![None; self.mirror.bodies.len()];
        for island in &self.mirror.islands {
            for body in &island.bodies {
                let known = &mut of_body[*body as usize];
                *known = (*known).max(Some(island.activity));
            }
        }
        let bodies = self.mirror.bodies.iter().zip(of_body);
        bodies.filter_map(|(body, activity)| Some((body.entity?, activity?)))
    }

    /// What the island of a particle does; `None` for what is no particle of the last tick.
    pub fn activity(&self, particle: Entity) -> Option<Activity> {
        let island = self.island_of(particle)?;
        Some(self.mirror.islands.get(island as usize)?.activity)
    }

    /// The number of a particle's island; numbers change when the structure does.
    pub fn island_of(&self, particle: Entity) -> Option<u32> {
        let slot = self.mirror.slots.get(particle)?;
        self.mirror.island_of.get(slot as usize).copied()
    }

    /// The colour of a lane constraint in the graph of its island: constraints of one type and colour (and
    /// of near particles) are projected four at a time. `None` for other constraints, and under
    /// [`ProjectionOrder::Sequential`](super::ProjectionOrder::Sequential).
    pub fn color_of(&self, constraint: Entity) -> Option<u32> {
        let (index, (island, place)) = self
            .types
            .compiled
            .iter()
            .enumerate()
            .find_map(|(index, kind)| Some((index, kind.locate(constraint)?)))?;
        self.mirror.islands.get(island as usize)?.batches.get(index)?.as_ref()?.color(place)
    }

    /// Where particles touched obstacles and one another in the last substep.
    pub fn contacts(&self) -> impl Iterator<Item = ContactPoint> {
        let Mirror { islands, contacts, obstacles, .. } = &*self.mirror;
        let with_obstacles = islands.iter().zip(contacts).flat_map(move |(island, contacts)| {
            contacts.points().map(move |point| {
                let slot = island.slots.start + point.particle as usize;
                let (particle, at) = self.place(island, slot);
                let body = &self.mirror.bodies[self.mirror.body[slot] as usize];
                let lever = point.lever.unwrap_or(-body.radius * point.normal);
                ContactPoint {
                    particle,
                    other: obstacles.entity_of(point.piece),
                    position: (at + lever.as_dvec3()).as_vec3(),
                    normal: point.normal,
                }
            })
        });
        with_obstacles.chain(soft_contact::touches(&self.mirror).map(|touch| {
            let [a, b] = touch.slots.map(|slot| {
                let island = self.mirror.island_of[slot as usize] as usize;
                self.place(&islands[island], slot as usize)
            });
            let at = match touch.arm {
                Some(arm) => a.1 + arm.as_dvec3(),
                None => a.1.midpoint(b.1),
            };
            // Theirs points from the first to the second.
            let normal = -touch.normal;
            ContactPoint { particle: a.0, other: Some(b.0), position: at.as_vec3(), normal }
        }))
    }

    /// The largest length of a distance constraint over its rest length; 1 where there is none.
    pub fn worst_stretch(&self) -> f32 {
        let mut worst: f32 = 1.0;
        for island in &self.mirror.islands {
            let position = &self.mirror.position[island.slots.clone()];
            for batch in island.batches.iter().flatten() {
                batch.joined(&mut |ends, rest| {
                    let Some(rest) = rest.filter(|rest| *rest > 0.0) else { return };
                    let [a, b] = ends.map(|end| position[end as usize]);
                    // What is not a number is told of as a fault.
                    worst = worst.max((b - a).truncate().length() / rest);
                });
            }
        }
        worst
    }

    /// A particle and its position (m, world).
    fn place(&self, island: &Island, slot: usize) -> (Entity, DVec3) {
        let at = self.mirror.position[slot].truncate().as_dvec3() + island.origin;
        (self.mirror.entities[slot], at)
    }
}
