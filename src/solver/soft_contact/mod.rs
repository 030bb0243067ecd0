//! Contact of soft bodies: of a body's particles with one another, and of bodies with each other.
//!
//! ```text
//!    o───o───o───o       Particles are spheres that touch at the distance d of their centres: twice the
//!      ╲ ↕ d             radius within a body, r_a + r_b between two. Where a body's edges are longer
//!    o───o───o───o       than it is thick, their mean length takes the place of its thickness: spheres
//!     ← edge →           that do not meet along the edges let other edges through.
//! ```
//!
//! `C = |x_j − x_i| − d ≥ 0`, projected after the constraints and before obstacles; `pairs` has the maths.
//! Particles that a constraint joins never touch; those of a body that were nearer than d at rest touch at
//! a part of that distance. Where all bodies of the islands in question are planar, z does not count: it is
//! the order in which they are drawn.
//!
//! * `structure`: who is joined to whom, rest poses, edges; changes with the constraints.
//! * `hash_grid`: who is near whom.
//! * `plan`, `drift`: how far lists of pairs look ahead, and when they are used up.
//! * `ellipsoids`: oriented particles take part with their ellipsoids; `members`: who is near them; `bones`:
//!   their pairs, of an island and between islands.
//! * `within`: an island's own pairs. Islands without neighbours are carried through a tick as they are.
//! * `across`: islands that may meet in this tick, one wake group; their pairs.
//!
//! Lists begin anew each tick from what was gathered, so nothing of them need be saved. Pairs are projected
//! in an order that depends on the state alone, not on tasks.

mod across;
mod bones;
mod drift;
mod ellipsoids;
mod hash_grid;
mod members;
mod pairs;
mod plan;
mod structure;
mod within;

use super::{
    mirror::{IslandView, Mirror},
    settings::StepTime,
    tasks::for_each_island,
};
use bevy::prelude::*;

/// What an island keeps for its contacts.
#[derive(Debug, Default)]
pub(crate) struct SoftIsland {
    structure: structure::Structure,
    within: within::Within,
    bones: bones::BonesWithin,
    tracked: across::Tracked,
}

impl SoftIsland {
    /// Touching pairs within the island in the last substep.
    fn touching(&self) -> usize {
        self.within.list.touching() + self.bones.list.touching()
    }
}

/// What the mirror keeps for contacts between islands.
#[derive(Debug, Default)]
pub(crate) struct SoftContacts {
    /// Whether structures must be worked out anew.
    pub stale: bool,
    signature: structure::Signature,
    neighbours: Vec<across::Neighbours>,
    crowd: bones::Crowd,
    grid: hash_grid::HashGrid,
    calls: u32,
}

impl SoftContacts {
    /// Islands that may touch one another in this tick, some of them twice.
    pub fn neighbours(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        let plain = self.neighbours.iter().map(|neighbours| neighbours.islands);
        plain.chain(self.crowd.joined.iter().copied())
    }
}

/// Brings what contact knows of the bodies up to date, and finds who may touch whom in this tick.
pub(super) fn gather(world: &World, mirror: &mut Mirror, time: &StepTime) {
    structure::follow(world, mirror);
    find_neighbours(mirror, time);
}

/// Finds who may touch whom in this tick.
pub(super) fn find_neighbours(mirror: &mut Mirror, time: &StepTime) {
    across::find(mirror, time);
}

/// Prepares an island for a substep.
pub(super) fn begin_substep_within(view: &mut IslandView<'_>, time: &StepTime) {
    if let Some(soft) = &mut view.island.soft {
        soft.within.list.begin_substep();
        soft.bones.list.begin_substep();
        if time.substep == 0 {
            soft.within.begin_tick();
            soft.bones.begin_tick();
        }
    }
}

/// Prepares what lies between islands for a substep.
pub(super) fn begin_substep_across(mirror: &mut Mirror, time: &StepTime) {
    across::begin_substep(mirror, time);
}

/// Projects the contacts within an island once; `allowance` is how much of the overlap that was there
/// before the substep is undone (m).
pub(super) fn project_within(view: &mut IslandView<'_>, time: &StepTime, allowance: f32) {
    let Some(mut soft) = view.island.soft.take() else { return };
    if soft.structure.within {
        within::project(view, &mut soft, time, allowance);
    }
    if soft.structure.bones_within {
        bones::project_within(view, &mut soft, time, allowance);
    }
    view.island.soft = Some(soft);
}

/// Projects all contacts of soft bodies once: within islands, then between them.
pub(super) fn project(mirror: &mut Mirror, max_tasks: usize, time: &StepTime, allowance: f32) {
    if mirror.islands.iter().all(|island| island.soft.is_none()) {
        return;
    }
    for_each_island(&mut mirror.awake(), max_tasks, |view| project_within(view, time, allowance));
    if !mirror.soft.neighbours.is_empty() {
        across::project(mirror, time, allowance);
    }
    let mut crowd = core::mem::take(&mut mirror.soft.crowd);
    crowd.project(mirror, time, allowance);
    mirror.soft.crowd = crowd;
}

/// Velocities of what touched within an island in this substep.
pub(super) fn velocities_within(view: &mut IslandView<'_>, time: &StepTime) {
    let Some(soft) = &view.island.soft else { return };
    let (bodies, body) = (view.shared.bodies, view.body);
    let list = &soft.within.list;
    let (velocity, change) = (&*view.velocity, &mut *view.velocity_change);
    if let [own] = view.island.bodies[..] {
        let same = pairs::pair_friction(bodies, own, own);
        list.velocities(velocity, change, view.inverse_mass, |_, _| same, time.h);
    } else {
        let of = |i: usize, j: usize| pairs::pair_friction(bodies, body[i], body[j]);
        list.velocities(velocity, change, view.inverse_mass, of, time.h);
    }
    if soft.structure.bones_within {
        let soft = view.island.soft.take();
        if let Some(soft) = &soft {
            bones::velocities_within(view, &soft.bones, time.h);
        }
        view.island.soft = soft;
    }
}

/// Velocities of what touched between islands in this substep.
pub(super) fn velocities_across(mirror: &mut Mirror, time: &StepTime) {
    let Mirror { soft, islands, velocity, velocity_change, inverse_mass, bodies, body, .. } =
        mirror;
    for neighbours in &soft.neighbours {
        if across::both_awake(islands, neighbours.islands) {
            neighbours.list.velocities(
                velocity,
                velocity_change,
                inverse_mass,
                |i, j| pairs::pair_friction(bodies, body[i], body[j]),
                time.h,
            );
        }
    }
    let crowd = core::mem::take(&mut mirror.soft.crowd);
    crowd.velocities(mirror, time.h);
    mirror.soft.crowd = crowd;
}

/// Two particles that touched in the last substep.
pub(super) struct SoftTouch {
    /// Slots in the mirror.
    pub slots: [u32; 2],
    /// From the first to the second.
    pub normal: Vec3,
    /// From the first to where they touch (m), where it is not midway.
    pub arm: Option<Vec3>,
}

/// All of them.
pub(super) fn touches(mirror: &Mirror) -> impl Iterator<Item = SoftTouch> + '_ {
    let plain = |first: u32| {
        move |(slots, normal): ([u32; 2], Vec3)| SoftTouch {
            slots: slots.map(|slot| first + slot),
            normal,
            arm: None,
        }
    };
    let turning = |first: u32| {
        move |(slots, normal, arm): ([u32; 2], Vec3, Vec3)| SoftTouch {
            slots: slots.map(|slot| first + slot),
            normal,
            arm: Some(arm),
        }
    };
    let within = mirror.islands.iter().filter_map(|island| Some((island, island.soft.as_ref()?)));
    let within = within.flat_map(move |(island, soft)| {
        let first = island.slots.start as u32;
        let bones = soft.bones.list.touches().map(turning(first));
        soft.within.list.touches().map(plain(first)).chain(bones)
    });
    let across = mirror.soft.neighbours.iter().flat_map(move |n| n.list.touches().map(plain(0)));
    within.chain(across).chain(mirror.soft.crowd.list.touches().map(turning(0)))
}

/// Touching pairs in the last substep.
pub(super) fn touching(mirror: &Mirror) -> usize {
    let within = mirror.islands.iter().filter_map(|island| island.soft.as_ref());
    let within: usize = within.map(|soft| soft.touching()).sum();
    let across: usize = mirror.soft.neighbours.iter().map(|n| n.list.touching()).sum();
    within + across + mirror.soft.crowd.list.touching()
}
