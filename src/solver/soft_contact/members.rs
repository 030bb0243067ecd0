//! Who may meet whom: oriented particles and what is near them, each with the room that it stays in.
//!
//! ```text
//!    ┌───────────┐      a room: where the centre will be for a while if all goes on as it does, and a
//!    │ ● ───→    │─ r   margin; two may touch where their rooms, each wider by its radius, overlap
//!    └───────────┘      A list of pairs holds as long as each centre stays in its room.
//! ```
//!
//! Sizes differ: each has a box of its own, and no grid has cells of one size. A few are tried two by two,
//! many by a tree of boxes.

use super::super::mirror::{IslandView, KinematicPath, Mirror, MirrorBody};
use super::{
    ellipsoids::{EllipsoidPair, End, FAST},
    pairs::{NONE, meets, pair_friction},
};
use crate::math::bounds::{Bounds, BoundsTree};
use bevy::{
    math::{Vec3A, Vec4},
    prelude::*,
};
use core::ops::Range;

/// The greatest radius that contact of ellipsoids works with (m): its fourth power must be finite.
const MAX_RADIUS: f32 = 1e8;

/// Up to this many pairs of boxes are tried one by one.
const FEW: usize = 4_096;

/// More partners than this a particle does not look for: hundreds at one place must not be quadratic.
const MOST_PARTNERS: u32 = 96;

/// A particle that may meet an ellipsoid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub end: End,
    pub body: u32,
    /// Where its centre may be (m).
    pub room: Bounds,
    /// Its speed (m/s).
    speed: f32,
}

/// Where a particle is and how it moves.
#[derive(Clone, Copy, Debug)]
struct Motion {
    place: Vec4,
    velocity: Vec4,
    acceleration: Vec4,
}

impl Member {
    /// One that moves like this for `horizon` seconds.
    fn new(end: End, body: u32, motion: Motion, horizon: f32) -> Self {
        let Motion { place, velocity, acceleration } = motion;
        let way = Vec3A::from_vec4(horizon * velocity);
        let place = Vec3A::from_vec4(place);
        let fall = 0.5 * horizon * horizon * Vec3A::from_vec4(acceleration).length();
        let margin = 0.25 * way.length() + fall + 0.15 * end.radius;
        let room = Bounds::EMPTY.with(place).with(place + way).inflate(margin);
        Self { end, body, room, speed: Vec3A::from_vec4(velocity).length() }
    }

    /// Where it may touch something.
    fn reach(&self) -> Bounds {
        self.room.inflate(self.end.radius)
    }
}

/// A place without a z, where that does not count.
fn seen(mut bounds: Bounds, flat: bool) -> Bounds {
    if flat {
        (bounds.min.z, bounds.max.z) = (0.0, 0.0);
    }
    bounds
}

/// An end for a particle of this body; `None` where it has no extent.
fn end(
    slot: u32,
    body: &MirrorBody,
    turning: Option<(u32, &super::super::mirror::Oriented)>,
) -> Option<End> {
    let levered = body.ellipsoid_contact == super::super::settings::EllipsoidContact::LeverArm;
    let (turning, radius, least) = match turning {
        Some((place, oriented)) => (place, oriented.greatest_radius(), oriented.least_radius()),
        None => (NONE, body.contact_radius, body.contact_radius),
    };
    let usable = radius > 0.0 && radius < MAX_RADIUS;
    let least = least.max(0.02 * radius);
    usable.then_some(End { slot, turning, radius, least, levered, planar: body.planar })
}

/// The members of an island for contact with itself, for the rest of a tick of `horizon` seconds.
pub(super) fn of_view(view: &IslandView<'_>, horizon: f32, members: &mut Vec<Member>) {
    members.clear();
    for slot in 0..view.len() {
        let number = view.body[slot];
        let body = &view.shared.bodies[number as usize];
        if !(body.self_contact || body.soft_contact) {
            continue;
        }
        let place = view.oriented_of.get(slot).copied().unwrap_or(NONE);
        let turning = view.oriented.get(place as usize).map(|oriented| (place, oriented));
        let Some(end) = end(slot as u32, body, turning) else { continue };
        let motion = Motion {
            place: view.position[slot],
            velocity: view.velocity[slot] + view.velocity_change[slot],
            acceleration: view.acceleration[slot],
        };
        members.push(Member::new(end, number, motion, horizon));
    }
}

/// The member at a slot of the mirror.
pub(super) fn of_slot(mirror: &Mirror, slot: u32, horizon: f32) -> Option<Member> {
    let place = slot as usize;
    let number = mirror.body[place];
    let body = &mirror.bodies[number as usize];
    let turning = mirror.oriented_place(slot).map(|at| (at, &mirror.oriented[at as usize]));
    let end = end(slot, body, turning)?;
    let motion = Motion {
        place: mirror.position[place],
        velocity: mirror.velocity[place] + mirror.velocity_change[place],
        acceleration: mirror.acceleration[place],
    };
    Some(Member::new(end, number, motion, horizon))
}

/// Lets held particles among `members` (of one island, by slot) go where they are held in this tick.
pub(super) fn hold(mirror: &Mirror, slots: Range<usize>, members: &mut [Member]) {
    let from = mirror.kinematic.partition_point(|k| (k.slot as usize) < slots.start);
    let held = mirror.kinematic[from..].iter().take_while(|k| (k.slot as usize) < slots.end);
    for held in held {
        let Ok(at) = members.binary_search_by_key(&held.slot, |m| m.end.slot) else { continue };
        let origin = mirror.islands[mirror.island_of[held.slot as usize] as usize].origin;
        let way = match held.path {
            KinematicPath::Line { start, end } => [start, end],
            KinematicPath::Anchor { target, offset } => {
                let motion = &mirror.targets[target as usize];
                [motion.start, motion.end]
                    .map(|pose| (pose.transform_point(offset) - origin).as_vec3())
            }
        };
        let member = &mut members[at];
        let margin = 0.15 * member.end.radius + 0.25 * (way[1] - way[0]).length();
        member.room = member.room.union(Bounds::around(way).inflate(margin));
    }
}

/// The pair of two members, if their bodies touch.
pub(super) fn pair(
    bodies: &[MirrorBody],
    [a, b]: [&Member; 2],
    flat: bool,
    h: f32,
) -> Option<EllipsoidPair> {
    let turns = a.end.turning != NONE || b.end.turning != NONE;
    if !turns || !meets(bodies, a.body, b.body) {
        return None;
    }
    let mut pair = EllipsoidPair::new([a.end, b.end], flat);
    pair.friction = pair_friction(bodies, a.body, b.body);
    let way = 1.25 * h * (a.speed + b.speed);
    // Not below includes what is not a number.
    let slow = way < FAST * (a.end.least + b.end.least);
    pair.fast = !slow;
    Some(pair)
}

/// Calls `visit` with each two of `first` and `second` (moved by `shift`, m) that may touch, until it has
/// returned true for as many partners of one as that may have.
pub(super) fn between(
    first: &[Member],
    second: &[Member],
    shift: Vec3,
    flat: bool,
    mut visit: impl FnMut(&Member, &Member) -> bool,
) {
    let reach = |member: &Member| seen(member.reach(), flat);
    let moved = |member: &Member| seen(member.reach().shifted(shift.into()), flat);
    if first.len() * second.len() <= FEW {
        for a in first {
            let (here, mut partners) = (reach(a), 0);
            for b in second {
                if here.overlaps(&moved(b)) && visit(a, b) {
                    partners += 1;
                    if partners >= MOST_PARTNERS {
                        break;
                    }
                }
            }
        }
        return;
    }
    let boxes: Vec<Bounds> = second.iter().map(moved).collect();
    let tree = BoundsTree::new(&boxes);
    for a in first {
        let (here, mut partners) = (reach(a), 0);
        tree.query(&here, |number| {
            let number = number as usize;
            if partners < MOST_PARTNERS
                && here.overlaps(&boxes[number])
                && visit(a, &second[number])
            {
                partners += 1;
            }
        });
    }
}

/// The same for each two of `members`, once.
pub(super) fn among(
    members: &[Member],
    flat: bool,
    mut visit: impl FnMut(&Member, &Member) -> bool,
) {
    if members.len() * members.len() <= 2 * FEW {
        for (n, a) in members.iter().enumerate() {
            between(core::slice::from_ref(a), &members[n + 1..], Vec3::ZERO, flat, &mut visit);
        }
        return;
    }
    between(members, members, Vec3::ZERO, flat, |a, b| a.end.slot < b.end.slot && visit(a, b));
}

/// The box that holds all that `members` may reach (m).
pub(super) fn reach_of(members: &[Member]) -> Bounds {
    members.iter().fold(Bounds::EMPTY, |all, member| all.union(member.reach()))
}
