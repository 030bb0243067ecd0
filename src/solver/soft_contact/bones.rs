//! Contact of oriented particles: of an island's own, and between islands.
//!
//! Lists are made once a tick, and again where something leaves the room that it was given. Between islands
//! all pairs are in one list, in the order of the islands; islands with a pair in it are neighbours for this
//! tick, as those whose plain particles are near.

use super::super::{
    mirror::{Activity, IslandView, Mirror},
    settings::StepTime,
};
use super::{
    SoftIsland,
    across::{both_awake, rests, shift},
    ellipsoids::{EllipsoidList, Spinning, Turnable, overlap_at_rest},
    members::{self, Member},
    structure::Structure,
};
use crate::{constraint::OldPositions, math::bounds::Bounds};
use bevy::{
    math::{Vec3A, Vec4},
    prelude::*,
};
use core::ops::Range;

/// Seconds that are left of a tick.
fn horizon(time: &StepTime) -> f32 {
    time.substeps.saturating_sub(time.substep) as f32 * time.h
}

fn stays(member: &Member, position: &[Vec4]) -> bool {
    let place = Vec3A::from_vec4(position[member.end.slot as usize]);
    member.room.contains(&Bounds { min: place, max: place })
}

/// An island's own pairs.
#[derive(Debug, Default)]
pub(super) struct BonesWithin {
    pub list: EllipsoidList,
    members: Vec<Member>,
    made: bool,
}

impl BonesWithin {
    /// A new tick: nothing of the last one is known.
    pub fn begin_tick(&mut self) {
        self.list.clear_pairs();
        self.made = false;
    }
}

/// Projects the contacts of an island's oriented particles with its others once.
pub(super) fn project_within(
    view: &mut IslandView<'_>,
    soft: &mut SoftIsland,
    time: &StepTime,
    allowance: f32,
) {
    let SoftIsland { structure, bones, .. } = soft;
    if !(bones.made && bones.members.iter().all(|member| stays(member, view.position))) {
        make_within(view, structure, bones, time);
    }
    bones.list.project(&mut Turnable {
        position: view.position,
        old: OldPositions {
            predicted: view.predicted,
            velocity: view.velocity,
            velocity_change: view.velocity_change,
            h: time.h,
        },
        inverse_mass: view.inverse_mass,
        oriented: view.oriented,
        allowance,
    });
}

fn make_within(
    view: &IslandView<'_>,
    structure: &Structure,
    bones: &mut BonesWithin,
    time: &StepTime,
) {
    let BonesWithin { list, members, made } = bones;
    *made = true;
    list.clear_pairs();
    members::of_view(view, horizon(time), members);
    let flat = view.island.all_planar;
    members::among(members, flat, |a, b| {
        let Some(mut pair) = members::pair(view.shared.bodies, [a, b], flat, time.h) else {
            return false;
        };
        let [i, j] = [a.end.slot, b.end.slot];
        let held = view.inverse_mass[i as usize] + view.inverse_mass[j as usize] == 0.0;
        if held || structure.near_in_graph(i, j) {
            return false;
        }
        if a.body == b.body {
            let [x, y] = [i, j].map(|slot| structure.rest_pose(slot));
            pair.allowed = overlap_at_rest(&pair, y.0 - x.0, [x.1, y.1], view.oriented);
        }
        list.pairs.push(pair);
        true
    });
}

/// Velocities of what touched within an island in this substep.
pub(super) fn velocities_within(view: &mut IslandView<'_>, bones: &BonesWithin, h: f32) {
    bones.list.velocities(
        &mut Spinning {
            position: view.position,
            velocity: view.velocity,
            velocity_change: view.velocity_change,
            inverse_mass: view.inverse_mass,
            oriented: view.oriented,
        },
        h,
    );
}

/// The oriented particles of one island, for contact with other islands.
#[derive(Clone, Debug)]
struct Troop {
    island: u32,
    /// In [`Crowd::members`].
    members: Range<usize>,
    /// Where they may touch something (m).
    reach: Bounds,
}

/// Pairs between islands.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    pub list: EllipsoidList,
    /// Islands with a pair in the list, in order.
    pub joined: Vec<[u32; 2]>,
    members: Vec<Member>,
    /// By island.
    troops: Vec<Troop>,
    plain: Vec<Member>,
    /// Whether the list names a particle that does not turn.
    any_plain: bool,
    /// Whether those that rest in this tick are still in the list.
    unsifted: bool,
}

/// Where the list names particles that do not turn, and so are not followed: it is made anew after so many
/// substeps.
const RENEWAL: u32 = 4;

impl Crowd {
    /// Forgets the last tick, and looks where the oriented particles of each island are now.
    pub fn begin_tick(&mut self, mirror: &Mirror, time: &StepTime) {
        self.list.clear_pairs();
        self.list.begin_substep();
        self.joined.clear();
        self.any_plain = false;
        self.unsifted = true;
        let turning = |number: &u32| !rests(&mirror.islands[*number as usize]);
        self.muster(mirror, (0..mirror.islands.len() as u32).filter(turning), time.tick);
    }

    /// Takes the oriented particles of some islands, for the next `horizon` seconds.
    fn muster(&mut self, mirror: &Mirror, islands: impl Iterator<Item = u32>, horizon: f32) {
        self.members.clear();
        self.troops.clear();
        for number in islands {
            let island = &mirror.islands[number as usize];
            let Some(soft) = island.soft.as_ref().filter(|s| !s.structure.bones.is_empty()) else {
                continue;
            };
            let from = self.members.len();
            let slots = soft.structure.bones.iter().map(|place| island.slots.start as u32 + place);
            self.members.extend(slots.filter_map(|slot| members::of_slot(mirror, slot, horizon)));
            let members = from..self.members.len();
            members::hold(mirror, island.slots.clone(), &mut self.members[members.clone()]);
            let reach = members::reach_of(&self.members[members.clone()]);
            self.troops.push(Troop { island: number, members, reach });
        }
    }

    fn troop(&self, island: u32) -> Option<&Troop> {
        let at = self.troops.binary_search_by_key(&island, |troop| troop.island).ok()?;
        Some(&self.troops[at])
    }

    /// Where the oriented particles of an island may touch something (m, relative to its origin).
    pub fn reach(&self, island: u32) -> Bounds {
        self.troop(island).map_or(Bounds::EMPTY, |troop| troop.reach)
    }

    /// Lists the pairs of two islands, the lesser number first; whether there are any.
    pub fn meet(&mut self, mirror: &Mirror, islands: [u32; 2], time: &StepTime) -> bool {
        let troops = islands.map(|island| self.troop(island).cloned());
        let before = self.list.pairs.len();
        let shift = shift(&mirror.islands, islands).truncate();
        let flat = islands.iter().all(|island| mirror.islands[*island as usize].all_planar);
        if let [Some(a), Some(b)] = &troops {
            let [first, second] = [&a.members, &b.members].map(|m| &self.members[m.clone()]);
            list_pairs(&mut self.list, mirror, [first, second], shift, flat, time);
        }
        let turned = [(&troops[0], islands[1], shift), (&troops[1], islands[0], -shift)];
        for (troop, other, shift) in turned {
            let Some(troop) = troop else { continue };
            gather_plain(
                &mut self.plain,
                mirror,
                other,
                troop.reach.shifted((-shift).into()),
                time,
            );
            let listed = self.list.pairs.len();
            let first = &self.members[troop.members.clone()];
            list_pairs(&mut self.list, mirror, [first, &self.plain], shift, flat, time);
            self.any_plain |= self.list.pairs.len() > listed;
        }
        self.list.pairs.len() > before
    }

    /// Projects the pairs once.
    pub fn project(&mut self, mirror: &mut Mirror, time: &StepTime, allowance: f32) {
        if self.joined.is_empty() {
            return;
        }
        if core::mem::take(&mut self.unsifted) {
            let awake = |slot: u32| {
                let island = mirror.island_of[slot as usize] as usize;
                mirror.islands[island].activity == Activity::Awake
            };
            self.list.pairs.retain(|pair| pair.ends.iter().all(|end| awake(end.slot)));
        }
        self.follow(mirror, time);
        self.list.project(&mut Turnable {
            position: &mut mirror.position,
            old: OldPositions {
                predicted: &mirror.predicted,
                velocity: &mirror.velocity,
                velocity_change: &mirror.velocity_change,
                h: time.h,
            },
            inverse_mass: &mirror.inverse_mass,
            oriented: &mut mirror.oriented,
            allowance,
        });
    }

    /// Makes the list anew where it may not hold any more.
    fn follow(&mut self, mirror: &Mirror, time: &StepTime) {
        let old = self.any_plain
            && time.iteration == 0
            && time.substep > 0
            && time.substep.is_multiple_of(RENEWAL);
        let awake = |island: u32| mirror.islands[island as usize].activity == Activity::Awake;
        let in_room = |troop: &Troop| {
            let members = &self.members[troop.members.clone()];
            members.iter().all(|member| stays(member, &mirror.position))
        };
        let met = |island: u32| self.joined.iter().any(|both| both.contains(&island));
        let left = |troop: &Troop| awake(troop.island) && !in_room(troop) && met(troop.island);
        if !old && !self.troops.iter().any(left) {
            return;
        }
        let joined = core::mem::take(&mut self.joined);
        let mut islands: Vec<u32> =
            joined.iter().flatten().copied().filter(|i| awake(*i)).collect();
        islands.sort_unstable();
        islands.dedup();
        self.list.clear_pairs();
        self.any_plain = false;
        self.muster(mirror, islands.into_iter(), horizon(time));
        for both in &joined {
            if both_awake(&mirror.islands, *both) {
                self.meet(mirror, *both, time);
            }
        }
        // Where none is near now, one may be by the time that it is looked again.
        self.any_plain |= old;
        self.joined = joined;
    }

    /// Velocities of what touched between islands in this substep.
    pub fn velocities(&self, mirror: &mut Mirror, h: f32) {
        self.list.velocities(
            &mut Spinning {
                position: &mirror.position,
                velocity: &mirror.velocity,
                velocity_change: &mut mirror.velocity_change,
                inverse_mass: &mirror.inverse_mass,
                oriented: &mut mirror.oriented,
            },
            h,
        );
    }
}

/// Lists the pairs of the members of two islands.
fn list_pairs(
    list: &mut EllipsoidList,
    mirror: &Mirror,
    [first, second]: [&[Member]; 2],
    shift: Vec3,
    flat: bool,
    time: &StepTime,
) {
    members::between(first, second, shift, flat, |a, b| {
        let Some(mut pair) = members::pair(&mirror.bodies, [a, b], flat, time.h) else {
            return false;
        };
        let [i, j] = [a.end.slot, b.end.slot];
        if mirror.inverse_mass[i as usize] + mirror.inverse_mass[j as usize] == 0.0 {
            return false;
        }
        pair.shift = shift;
        // Parts of one body that no constraint joins any more.
        if a.body == b.body {
            let [x, y] = [i, j].map(|slot| rest_pose(mirror, slot));
            pair.allowed = overlap_at_rest(&pair, y.0 - x.0, [x.1, y.1], &mirror.oriented);
        }
        list.pairs.push(pair);
        true
    });
}

fn rest_pose(mirror: &Mirror, slot: u32) -> (Vec3, Quat) {
    let island = &mirror.islands[mirror.island_of[slot as usize] as usize];
    let place = slot - island.slots.start as u32;
    island.soft.as_ref().map_or((Vec3::NAN, Quat::IDENTITY), |s| s.structure.rest_pose(place))
}

/// The particles of an island that do not turn and may come into `reach` (m, relative to its origin).
fn gather_plain(
    plain: &mut Vec<Member>,
    mirror: &Mirror,
    island: u32,
    reach: Bounds,
    time: &StepTime,
) {
    plain.clear();
    let island = &mirror.islands[island as usize];
    let Some(soft) = island.soft.as_ref().filter(|_| !rests(island)) else { return };
    let radius = island.bodies.iter().map(|b| mirror.bodies[*b as usize].contact_radius);
    let near = reach.inflate(1.5 * radius.fold(0.0, f32::max));
    let (z, flat) = (Vec3A::new(1.0, 1.0, 0.0), island.all_planar);
    let along = if flat { z } else { Vec3A::ONE };
    let near = Bounds { min: near.min * along, max: near.max * along };
    let horizon = horizon(time);
    for place in &soft.structure.soft {
        let slot = island.slots.start + *place as usize;
        let here = Vec3A::from_vec4(mirror.position[slot]) * along;
        let velocity = Vec3A::from_vec4(mirror.velocity[slot] + mirror.velocity_change[slot]);
        let fall = horizon * horizon * Vec3A::from_vec4(mirror.acceleration[slot]);
        let there = here + (1.5 * horizon * velocity + fall) * along;
        if Bounds::EMPTY.with(here).with(there).overlaps(&near) {
            plain.extend(members::of_slot(mirror, slot as u32, horizon));
        }
    }
    members::hold(mirror, island.slots.clone(), plain);
}
