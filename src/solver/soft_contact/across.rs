//! Contact between islands: who may meet whom in this tick, and the lists of pairs.
//!
//! At the start of a tick the islands' swept boxes are sorted along x; where two overlap, and particles
//! of both are near one another there, the islands are *neighbours* for this tick. They are then one wake
//! group and not carried; their pairs are projected in order of slots, on one thread. Positions are
//! relative to each island's own origin, so the difference of origins is added.
//!
//! Each island's drift is followed once a substep, whatever number of neighbours it has; two neighbours'
//! list lasts while the box of both drifts is smaller than its margin, so what moves together stays listed.

use super::super::{
    mirror::{Activity, Island, KinematicPath, Mirror},
    settings::StepTime,
};
use super::{
    SoftContacts,
    hash_grid::HashGrid,
    pairs::{Moving, NONE, Pair, PairList, along, closest, contact_distance},
    plan::{Plan, plan},
    structure::at_rest,
    within::MOST_PARTNERS,
};
use crate::{constraint::OldPositions, math::bounds::Bounds};
use bevy::{
    math::{DVec3, Vec3A, Vec4},
    prelude::*,
};

/// An island has no more neighbours behind it along x than this many and one for each of its particles:
/// thousands of loose particles at one place must not be quadratic.
const MOST_NEIGHBOURS: usize = 32;

/// Up to this many pairs of particles are tried one by one.
const FEW: usize = 2_048;

/// How far an island has drifted since its neighbours' lists were made.
#[derive(Debug, Default)]
pub(super) struct Tracked {
    reference: Vec<Vec4>,
    drift: Bounds,
    /// Counts how often the reference was taken.
    epoch: u32,
    /// The last call that followed it.
    seen: u32,
    used_up: bool,
}

/// Two islands that may touch in this tick.
#[derive(Debug, Default)]
pub(super) struct Neighbours {
    /// The islands, the lesser number first.
    pub islands: [u32; 2],
    pub list: PairList,
    /// Greatest contact distance between the two (m).
    distance: f32,
    plan: Plan,
    /// Epochs of both islands, and the substep, that the list was made in.
    made: Option<([u32; 2], u32)>,
}

/// An island's box over this tick.
struct Swept {
    island: u32,
    /// Whether it has particles that turn, and others.
    bones: bool,
    plain: bool,
    min: DVec3,
    max: DVec3,
    speeds: Bounds,
}

/// Finds the neighbours of this tick, and marks their islands.
pub(super) fn find(mirror: &mut Mirror, time: &StepTime) {
    let mut soft = core::mem::take(&mut mirror.soft);
    let mut spare: Vec<Neighbours> = core::mem::take(&mut soft.neighbours);
    spare.iter_mut().for_each(|n| {
        n.list.clear_pairs();
        n.list.begin_substep();
        n.made = None;
    });
    soft.crowd.begin_tick(mirror, time);
    let mut boxes: Vec<Swept> = (0..mirror.islands.len())
        .filter_map(|i| swept_box(mirror, i, soft.crowd.reach(i as u32), time.tick))
        .collect();
    boxes.sort_unstable_by(|a, b| a.min.x.total_cmp(&b.min.x).then(a.island.cmp(&b.island)));
    let mut found: Vec<([u32; 2], f32)> = Vec::new();
    let mut bones: Vec<[u32; 2]> = Vec::new();
    for (n, first) in boxes.iter().enumerate() {
        let particles = mirror.islands[first.island as usize].particles().len();
        let most = found.len() + bones.len() + MOST_NEIGHBOURS + particles;
        for second in boxes[n + 1..].iter().take_while(|second| second.min.x <= first.max.x) {
            if found.len() + bones.len() >= most {
                break;
            }
            let islands = [first.island.min(second.island), first.island.max(second.island)];
            let along = along_of(mirror, islands).truncate().as_dvec3();
            let gap = (first.min - second.max).max(second.min - first.max) * along;
            if gap.max_element() > 0.0 {
                continue;
            }
            if (first.bones || second.bones) && soft.crowd.meet(mirror, islands, time) {
                bones.push(islands);
            }
            let plain = first.plain && second.plain;
            let distance = if plain { widest(mirror, islands) } else { 0.0 };
            if distance > 0.0 {
                let speed = first.speeds.union(second.speeds).diagonal();
                let reach = 1.5 * distance + 1.25 * time.tick * speed;
                if near(mirror, islands, reach, &mut soft.grid) {
                    found.push((islands, distance));
                }
            }
        }
    }
    found.sort_unstable_by_key(|(islands, _)| *islands);
    let joined = found.iter().map(|(islands, _)| islands).chain(&bones).flatten();
    for island in joined {
        let island = &mut mirror.islands[*island as usize];
        island.touched = true;
        island.joined = true;
    }
    soft.crowd.joined = bones;
    for (islands, distance) in found {
        let reused = spare.pop().unwrap_or_default();
        soft.neighbours.push(Neighbours { islands, distance, ..reused });
    }
    mirror.soft = soft;
}

/// Whether an island takes no part in this tick.
pub(super) fn rests(island: &Island) -> bool {
    island.disabled || island.bad_input || island.activity == Activity::Faulty
}

/// The box of an island's soft particles over a tick, and of what its oriented particles reach; `None` if it
/// takes no part.
fn swept_box(mirror: &Mirror, number: usize, bones: Bounds, tick: f32) -> Option<Swept> {
    let island = &mirror.islands[number];
    let members = &island.soft.as_ref()?.structure.soft;
    let turning = bones != Bounds::EMPTY;
    if (members.is_empty() && !turning) || rests(island) {
        return None;
    }
    if members.is_empty() {
        return swept(island, number, [bones.min, bones.max], Bounds::EMPTY, [true, false]);
    }
    let start = island.slots.start;
    let (mut places, mut speeds) = (Bounds::EMPTY, Bounds::EMPTY);
    for &member in members {
        let slot = start + member as usize;
        places = places.with(Vec3A::from_vec4(mirror.position[slot]));
        speeds = speeds.with(Vec3A::from_vec4(mirror.velocity[slot]));
    }
    let from = mirror.kinematic.partition_point(|k| (k.slot as usize) < start);
    let held = mirror.kinematic[from..].iter().take_while(|k| (k.slot as usize) < island.slots.end);
    for held in held {
        let [first, last] = match held.path {
            KinematicPath::Line { start, end } => [start, end],
            KinematicPath::Anchor { target, offset } => {
                let motion = &mirror.targets[target as usize];
                [motion.start, motion.end]
                    .map(|pose| (pose.transform_point(offset) - island.origin).as_vec3())
            }
        };
        places = places.with(first.into()).with(last.into());
        speeds = speeds.with(((last - first) / tick.max(f32::MIN_POSITIVE)).into());
    }
    let radius = island.bodies.iter().map(|b| mirror.bodies[*b as usize].contact_radius);
    let slack = 1.5 * radius.fold(0.0, f32::max);
    let min = places.min + 1.25 * tick * speeds.min.min(Vec3A::ZERO) - slack;
    let max = places.max + 1.25 * tick * speeds.max.max(Vec3A::ZERO) + slack;
    swept(island, number, [min.min(bones.min), max.max(bones.max)], speeds, [turning, true])
}

fn swept(
    island: &Island,
    number: usize,
    corners: [Vec3A; 2],
    speeds: Bounds,
    [bones, plain]: [bool; 2],
) -> Option<Swept> {
    let [min, max] = corners.map(|corner| corner.as_dvec3() + island.origin);
    let finite = min.is_finite() && max.is_finite();
    finite.then_some(Swept { island: number as u32, bones, plain, min, max, speeds })
}

/// The greatest contact distance of bodies of two islands (m); 0 where none meet.
fn widest(mirror: &Mirror, [a, b]: [u32; 2]) -> f32 {
    let bodies = |island: u32| mirror.islands[island as usize].bodies.iter();
    let across = bodies(a).flat_map(|a| bodies(b).map(move |b| (*a, *b)));
    across.map(|(a, b)| contact_distance(&mirror.bodies, a, b)).fold(0.0, f32::max)
}

/// What is added to positions of the second island to compare them with the first's (m).
pub(super) fn shift(islands: &[Island], [a, b]: [u32; 2]) -> Vec4 {
    (islands[b as usize].origin - islands[a as usize].origin).as_vec3().extend(0.0)
}

/// What distances between two islands are measured along.
fn along_of(mirror: &Mirror, islands: [u32; 2]) -> Vec4 {
    let bodies = |island: u32| mirror.islands[island as usize].bodies.iter();
    along(islands.into_iter().flat_map(bodies).map(|body| &mirror.bodies[*body as usize]))
}

fn members(island: &Island) -> impl Iterator<Item = usize> + Clone + '_ {
    let start = island.slots.start;
    let soft = island.soft.as_ref().map_or(&[][..], |soft| &soft.structure.soft);
    soft.iter().map(move |member| start + *member as usize)
}

/// Slots of the soft particles of two islands that are within `reach` of the other's box.
fn in_common(mirror: &Mirror, islands: [u32; 2], reach: f32, along: Vec4) -> [Vec<u32>; 2] {
    let shift = shift(&mirror.islands, islands) * along;
    let place = |slot: usize| Vec3A::from_vec4(mirror.position[slot] * along);
    let [a, b] = islands.map(|island| &mirror.islands[island as usize]);
    let pick = |island: &Island, other: Bounds, shift: Vec4| {
        let near = other.inflate(reach).shifted(-Vec3A::from_vec4(shift));
        members(island)
            .filter(|slot| near.contains(&Bounds::EMPTY.with(place(*slot))))
            .map(|slot| slot as u32)
            .collect::<Vec<u32>>()
    };
    let all = members(b).fold(Bounds::EMPTY, |all, slot| all.with(place(slot)));
    let first = pick(a, all, -shift);
    if first.is_empty() {
        return [first, Vec::new()];
    }
    let common = first.iter().fold(Bounds::EMPTY, |all, slot| all.with(place(*slot as usize)));
    let second = pick(b, common, shift);
    [first, second]
}

/// Calls `visit` with slots of the first and second island that may be within `reach`, until it returns
/// false for the first one.
fn search(
    mirror: &Mirror,
    islands: [u32; 2],
    reach: f32,
    grid: &mut HashGrid,
    mut visit: impl FnMut(u32, u32, Vec4) -> bool,
) {
    if !(reach > 0.0 && reach.is_finite()) {
        return;
    }
    let along = along_of(mirror, islands);
    let [first, second] = in_common(mirror, islands, reach, along);
    let shift = shift(&mirror.islands, islands) * along;
    let place = |slot: u32| mirror.position[slot as usize] * along;
    if first.len() * second.len() <= FEW {
        for i in first {
            for &j in &second {
                if !visit(i, j, place(j) + shift - place(i)) {
                    break;
                }
            }
        }
        return;
    }
    grid.build(reach, second.into_iter().map(|j| (j, place(j) + shift)));
    for i in first {
        let x = place(i);
        grid.near(x, reach, |entry, way| visit(i, entry.index, way));
    }
}

/// Whether any two particles of two islands are within `reach` of one another.
fn near(mirror: &Mirror, islands: [u32; 2], reach: f32, grid: &mut HashGrid) -> bool {
    let mut near = false;
    search(mirror, islands, reach, grid, |_, _, between| {
        near |= between.length_squared() < reach * reach;
        !near
    });
    near
}

/// Projects the contacts between islands once.
pub(super) fn project(mirror: &mut Mirror, time: &StepTime, allowance: f32) {
    let mut soft = core::mem::take(&mut mirror.soft);
    follow(mirror, &mut soft, time);
    for neighbours in &mut soft.neighbours {
        if !both_awake(&mirror.islands, neighbours.islands) {
            continue;
        }
        let mut moving = Moving {
            shift: shift(&mirror.islands, neighbours.islands),
            along: along_of(mirror, neighbours.islands),
            old: OldPositions {
                predicted: &mirror.predicted,
                velocity: &mirror.velocity,
                velocity_change: &mirror.velocity_change,
                h: time.h,
            },
            position: &mut mirror.position,
            inverse_mass: &mirror.inverse_mass,
            allowance,
        };
        neighbours.list.project(&mut moving, neighbours.plan.swept);
    }
    mirror.soft = soft;
}

pub(super) fn both_awake(islands: &[Island], both: [u32; 2]) -> bool {
    both.iter().all(|island| islands[*island as usize].activity == Activity::Awake)
}

/// Follows the drift of all islands with neighbours, and makes lists anew that are used up.
fn follow(mirror: &mut Mirror, soft: &mut SoftContacts, time: &StepTime) {
    soft.calls = soft.calls.wrapping_add(1);
    let calls = soft.calls;
    let awake = |mirror: &Mirror, n: &Neighbours| both_awake(&mirror.islands, n.islands);
    for neighbours in &soft.neighbours {
        for island in neighbours.islands {
            track(mirror, island, calls);
        }
    }
    let mut used_up = Vec::new();
    for n in soft.neighbours.iter().filter(|n| awake(mirror, n)) {
        let [(first, a), (second, b)] = n.islands.map(|island| tracked(&mirror.islands, island));
        let lasts = match n.made {
            None => true,
            Some(made) if n.plan.swept => made == ([first, second], time.substep),
            Some(_) => a.union(b).diagonal() <= n.plan.margin,
        };
        if !lasts {
            used_up.push(n.islands);
        }
    }
    used_up.into_iter().for_each(|both| use_up(&mut mirror.islands, both));
    for island in soft.neighbours.iter().flat_map(|n| n.islands) {
        take_reference(mirror, island);
    }
    for neighbours in soft.neighbours.iter_mut().filter(|n| awake(mirror, n)) {
        let epochs = neighbours.islands.map(|i| tracked(&mirror.islands, i).0);
        if neighbours.made.is_none_or(|(made, _)| made != epochs) {
            make(mirror, neighbours, &mut soft.grid, time);
            neighbours.made = Some((epochs, time.substep));
        }
    }
}

/// Epoch and drift of an island.
fn tracked(islands: &[Island], island: u32) -> (u32, Bounds) {
    let soft = islands[island as usize].soft.as_ref();
    soft.map_or_else(default, |soft| (soft.tracked.epoch, soft.tracked.drift))
}

/// Adds where an island's particles are now to its drift, once a call.
fn track(mirror: &mut Mirror, island: u32, calls: u32) {
    let Mirror { islands, position, .. } = mirror;
    let island = &mut islands[island as usize];
    let start = island.slots.start;
    let Some(soft) = &mut island.soft else { return };
    let tracked = &mut soft.tracked;
    if core::mem::replace(&mut tracked.seen, calls) == calls {
        return;
    }
    for (member, reference) in soft.structure.soft.iter().zip(&tracked.reference) {
        let moved = Vec3A::from_vec4(position[start + *member as usize] - *reference);
        tracked.drift = tracked.drift.with(moved);
    }
}

/// Lets an island's drift start here, where a list needs it.
fn take_reference(mirror: &mut Mirror, island: u32) {
    let Mirror { islands, position, .. } = mirror;
    let island = &mut islands[island as usize];
    let start = island.slots.start;
    let Some(soft) = &mut island.soft else { return };
    let tracked = &mut soft.tracked;
    if !core::mem::take(&mut tracked.used_up) {
        return;
    }
    tracked.epoch = tracked.epoch.wrapping_add(1);
    tracked.drift = Bounds::EMPTY;
    tracked.reference.clear();
    let members = soft.structure.soft.iter();
    tracked.reference.extend(members.map(|member| position[start + *member as usize]));
}

fn use_up(islands: &mut [Island], both: [u32; 2]) {
    for island in both {
        if let Some(soft) = &mut islands[island as usize].soft {
            soft.tracked.used_up = true;
        }
    }
}

/// Prepares for a substep; the first of a tick knows nothing of the last tick.
pub(super) fn begin_substep(mirror: &mut Mirror, time: &StepTime) {
    let Mirror { islands, soft, .. } = mirror;
    soft.crowd.list.begin_substep();
    for neighbours in &mut soft.neighbours {
        neighbours.list.begin_substep();
        if time.substep == 0 {
            neighbours.made = None;
            use_up(islands, neighbours.islands);
        }
    }
}

/// Makes the list of two neighbours anew.
fn make(mirror: &Mirror, neighbours: &mut Neighbours, grid: &mut HashGrid, time: &StepTime) {
    let Neighbours { islands, list, distance, plan: planned, .. } = neighbours;
    list.clear_pairs();
    let old = OldPositions {
        predicted: &mirror.predicted,
        velocity: &mirror.velocity,
        velocity_change: &mirror.velocity_change,
        h: time.h,
    };
    let (mut speeds, mut moved) = (Bounds::EMPTY, Bounds::EMPTY);
    for slot in islands.iter().flat_map(|island| members(&mirror.islands[*island as usize])) {
        let velocity = mirror.velocity[slot] + mirror.velocity_change[slot];
        speeds = speeds.with(Vec3A::from_vec4(velocity));
        moved = moved.with(Vec3A::from_vec4(mirror.position[slot] - old.get(slot)));
    }
    let horizon = time.substeps.saturating_sub(time.substep) as f32 * time.h;
    *planned = plan(*distance, speeds.diagonal(), moved.diagonal(), horizon, 0.0);
    let Plan { reach, margin, swept, .. } = *planned;
    let (shift, along) = (shift(&mirror.islands, *islands), along_of(mirror, *islands));
    let (mut of, mut found) = (NONE, 0);
    search(mirror, *islands, reach, grid, |i, j, between| {
        let squared = between.length_squared();
        // What is not a number is not near.
        let near = squared < reach * reach;
        if !near {
            return true;
        }
        let distance = pair_distance(mirror, i, j);
        let squared = if swept {
            let before = (old.get(j as usize) + shift - old.get(i as usize)) * along;
            closest(before, between).length_squared()
        } else {
            squared
        };
        let near = distance + margin;
        let weight = mirror.inverse_mass[i as usize] + mirror.inverse_mass[j as usize];
        if distance > 0.0 && squared < near * near && weight > 0.0 {
            if of != i {
                (of, found) = (i, 0);
            }
            found += 1;
            list.pairs.push(Pair { particles: [i, j], distance, touch: NONE });
        }
        of != i || found < MOST_PARTNERS
    });
}

/// The distance (m) at which particles of two islands touch; 0 where they do not.
fn pair_distance(mirror: &Mirror, i: u32, j: u32) -> f32 {
    let [a, b] = [i, j].map(|slot| mirror.body[slot as usize]);
    let distance = contact_distance(&mirror.bodies, a, b);
    if a != b {
        return distance;
    }
    let rest = [i, j].map(|slot| {
        let island = &mirror.islands[mirror.island_of[slot as usize] as usize];
        let place = slot as usize - island.slots.start;
        island.soft.as_ref().and_then(|soft| soft.structure.rest(place)).unwrap_or(Vec4::NAN)
    });
    at_rest(distance, rest)
}
