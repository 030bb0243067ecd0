//! Narrow phase: which particles of a block touch a piece in this substep.

use super::{
    Extent, Hit, IslandContacts,
    blocks::{BLOCK, Candidate, Patch},
    flatten, members, members_place,
    near::{NearPiece, body_place},
    reach,
};
use crate::{
    math::bounds::Bounds,
    obstacle::{Distance, Near, Solid, Triangle},
    solver::{mirror::IslandView, settings::StepTime},
};
use bevy::math::{Vec3A, Vec4};

/// Steps along a path toward a surface.
const MARCH: usize = 32;
/// A particle that moves less than this part of its radius is checked where it ends up.
pub(super) const SLOW: f32 = 0.7;
/// A block of which no particle seems to move more than this part of the least radius is slow: what friction
/// put back since is no more than the rest.
const SLOW_BLOCK: f32 = 0.35;
/// Surfaces of a mesh that one particle touches at once.
const CORNERS: usize = 4;

/// One block, one piece.
#[derive(Clone, Copy)]
pub(super) struct Meeting<'a> {
    pub near: &'a NearPiece,
    /// Place of the piece in the island's list.
    pub number: u32,
    /// Whether some particle moves far.
    pub fast: bool,
    pub allowance: f32,
    pub h: f32,
    /// Place of the first particle in the order.
    pub first: usize,
    /// What all particles of the island have in common, where they are of one body.
    pub common: Option<Member>,
}

/// A particle as it meets a piece.
#[derive(Clone, Copy)]
pub(super) struct Member {
    radius: f32,
    planar: bool,
    /// Place in the island's list of pairs.
    pair: usize,
}

impl IslandContacts {
    /// Pushes one block out of what it meets.
    pub(super) fn push_block(
        &mut self,
        view: &mut IslandView<'_>,
        number: usize,
        time: &StepTime,
        allowance: f32,
    ) {
        let mut alone = self.blocks[number].candidates.is_empty();
        let (mut bounds, mut moved) = (Bounds::EMPTY, Vec3A::ZERO);
        if alone {
            for &i in members(&self.order, number) {
                bounds = bounds.with(Vec3A::from_vec4(view.position[i as usize]));
            }
        } else {
            (bounds, moved) = self.follow(view, number);
        }
        let Extent { least, radius, planar } = reach(view, members(&self.order, number));
        let here = flatten(bounds.inflate(radius), planar);
        if !self.blocks[number].room.contains(&here) {
            self.look_again(view, number, time);
            if alone && !self.blocks[number].candidates.is_empty() {
                self.recall(view, number, time.h);
                (_, moved) = self.follow(view, number);
                alone = false;
            }
        }
        let block = &mut self.blocks[number];
        let path = here.union(block.last);
        block.last = here;
        if alone || block.candidates.is_empty() {
            return;
        }
        let mut candidates = core::mem::take(&mut block.candidates);
        let near = core::mem::take(&mut self.near);
        let order = core::mem::take(&mut self.order);
        let particles = members(&order, number);
        let moved = moved.length();
        for candidate in &mut candidates {
            let piece = &near[candidate.near as usize];
            if !piece.bounds.overlaps(&path) {
                continue;
            }
            let along = piece.shift.map_or(0.0, |shift| shift.most_within(&bounds));
            let mut meeting = Meeting {
                near: piece,
                number: candidate.near,
                fast: moved + along > SLOW_BLOCK * least,
                allowance,
                h: time.h,
                first: number * BLOCK,
                common: None,
            };
            if view.island.bodies.len() == 1 {
                let Some(&first) = particles.first() else { continue };
                meeting.common = self.member(view, first as usize, &meeting);
            }
            if view.oriented_of.is_empty() {
                self.meet(view, particles, &meeting, candidate);
            } else {
                self.meet_turning(view, particles, &meeting, candidate);
            }
        }
        self.near = near;
        self.order = order;
        self.blocks[number].candidates = candidates;
    }

    /// The box around a block, and no less than how far its particles moved since they were followed last.
    #[inline]
    fn follow(&mut self, view: &IslandView<'_>, number: usize) -> (Bounds, Vec3A) {
        let (mut bounds, mut moved) = (Bounds::EMPTY, Vec3A::ZERO);
        let last = &mut self.last[number * BLOCK..];
        for (&i, last) in members(&self.order, number).iter().zip(last) {
            let x = Vec3A::from_vec4(view.position[i as usize]);
            bounds = bounds.with(x);
            moved = moved.max((x - *last).abs());
            *last = x;
        }
        (bounds, moved)
    }

    /// Puts the particles of a block that were not followed where they were at the start of the substep.
    pub(super) fn recall(&mut self, view: &IslandView<'_>, number: usize, h: f32) {
        let last = &mut self.last[number * BLOCK..];
        for (&i, last) in members(&self.order, number).iter().zip(last) {
            *last = Vec3A::from_vec4(old_place(view, i as usize, h));
        }
    }

    pub(super) fn meet(
        &mut self,
        view: &mut IslandView<'_>,
        particles: &[u32],
        meeting: &Meeting<'_>,
        candidate: &mut Candidate,
    ) {
        match &meeting.near.solid {
            None => {}
            Some(Solid::Plane(solid)) => self.meet_solid(view, particles, meeting, solid),
            Some(Solid::Ball(solid)) => self.meet_solid(view, particles, meeting, solid),
            Some(Solid::Ellipsoid(solid)) => self.meet_solid(view, particles, meeting, solid),
            Some(Solid::Capsule(solid)) => self.meet_solid(view, particles, meeting, solid),
            Some(Solid::Cuboid(solid)) => self.meet_solid(view, particles, meeting, solid),
            Some(Solid::Cylinder(solid)) => self.meet_solid(view, particles, meeting, solid),
            Some(Solid::Cone(solid)) => self.meet_solid(view, particles, meeting, solid),
            Some(Solid::Prism(solid)) => self.meet_solid(view, particles, meeting, solid),
            Some(Solid::Mesh(_)) => self.meet_mesh(view, particles, meeting, candidate),
        }
    }

    fn meet_solid<S: Distance>(
        &mut self,
        view: &mut IslandView<'_>,
        particles: &[u32],
        meeting: &Meeting<'_>,
        solid: &S,
    ) {
        for (place, &i) in particles.iter().enumerate() {
            let i = i as usize;
            let Some(member) = self.free_member(view, i, meeting) else { continue };
            let at = (meeting.first + place, i);
            let level = member.planar.then_some(meeting.near.frames[1].centre.z);
            if S::PASSABLE && meeting.fast {
                self.meet_path(view, at, meeting, member, solid, level);
            }
            let x = Vec3A::from_vec4(view.position[i]);
            let Some(near) = in_plane(solid, x, member.radius, level) else { continue };
            let gap = near.distance - member.radius;
            if gap >= 0.0 {
                continue;
            }
            // A small correction is never more than the allowance, whatever was there before.
            let mut correction = -gap;
            if correction > meeting.allowance {
                let old = path(view, i, meeting).0;
                let before = in_plane(solid, old, f32::INFINITY, level);
                let gap_before = before.map_or(0.0, |near| near.distance - member.radius);
                correction = (gap_before + meeting.allowance).min(0.0) - gap;
            }
            self.touch(view, at, meeting, member, near.normal, correction);
        }
    }

    /// Stops a particle that moves far where its path meets the solid.
    #[cold]
    fn meet_path<S: Distance>(
        &mut self,
        view: &mut IslandView<'_>,
        at: (usize, usize),
        meeting: &Meeting<'_>,
        member: Member,
        solid: &S,
        level: Option<f32>,
    ) {
        let (old, x) = path(view, at.1, meeting);
        let slow = SLOW * member.radius;
        if (x - old).length_squared() <= slow * slow {
            return;
        }
        let distance = |x: Vec3A| in_plane(solid, x, f32::INFINITY, level);
        let Some((near, gap_before)) = march(old, x, member.radius, distance) else { return };
        let gap = near.distance - member.radius;
        if gap < 0.0 {
            let correction = (gap_before + meeting.allowance).min(0.0) - gap;
            self.touch(view, at, meeting, member, near.normal, correction);
        }
    }

    fn meet_mesh(
        &mut self,
        view: &mut IslandView<'_>,
        particles: &[u32],
        meeting: &Meeting<'_>,
        candidate: &mut Candidate,
    ) {
        let Some(patch) = &mut candidate.patch else { return };
        for (place, &i) in particles.iter().enumerate() {
            let i = i as usize;
            let Some(member) = self.free_member(view, i, meeting) else { continue };
            let at = (meeting.first + place, i);
            let radius = member.radius;
            let level = |frame: usize| member.planar.then_some(meeting.near.frames[frame].centre.z);
            let old = |view: &IslandView<'_>, patch: &Patch| {
                let old = at_level(Vec3A::from_vec4(old_place(view, i, meeting.h)), level(0));
                patch.local(meeting.near, old, false)
            };
            let x = at_level(Vec3A::from_vec4(view.position[i]), level(1));
            let mut x = patch.local(meeting.near, x, true);
            let start = if meeting.fast { old(view, patch) } else { x };
            let moved = (x - start).length();
            let fast = moved > SLOW * radius;
            let place = members_place(at.0);
            patch.refresh(place, x, radius, radius + 2.0 * moved);
            let (triangles, list) = patch.listed(place);
            if list.is_empty() {
                continue;
            }
            let surface = Listed { triangles, list };
            let only = if fast { None } else { patch.only(place, x) };
            let mut used = u32::MAX;
            for count in 0..CORNERS {
                let next = if let Some(near) = only {
                    (count == 0 && near.distance < radius).then_some((near, 0))
                } else {
                    let crossed = if fast { surface.crossed(start, x) } else { None };
                    // The nearest first: what is beside it then no longer overlaps.
                    crossed.or_else(|| surface.nearest(x, radius * (1.0 - 1e-5), used))
                };
                let Some((near, number)) = next else { break };
                used = number;
                let gap = near.distance - radius;
                let mut correction = -gap;
                if correction > meeting.allowance {
                    let gap_before = surface.distance(old(view, patch)) - radius;
                    correction = (gap_before + meeting.allowance).min(0.0) - gap;
                }
                x += -gap * near.normal;
                let mut out =
                    Near { distance: correction, normal: patch.outward(meeting.near, near.normal) };
                if member.planar {
                    let Some(flat) = flat(out) else { break };
                    out = flat;
                }
                self.touch(view, at, meeting, member, out.normal, out.distance);
                if list.len() == 1 {
                    break;
                }
            }
        }
    }

    /// A particle as the piece meets it; `None` also where it is held in place.
    #[inline]
    fn free_member(
        &self,
        view: &IslandView<'_>,
        i: usize,
        meeting: &Meeting<'_>,
    ) -> Option<Member> {
        if view.inverse_mass[i] == 0.0 {
            return None;
        }
        meeting.common.or_else(|| self.member(view, i, meeting))
    }

    /// A particle as the piece meets it; `None` where their layers do not meet.
    fn member(&self, view: &IslandView<'_>, i: usize, meeting: &Meeting<'_>) -> Option<Member> {
        let pair = meeting.number as usize * view.island.bodies.len() + body_place(view, i);
        let body = &view.shared.bodies[view.body[i] as usize];
        self.pairs[pair].meets.then_some(Member { radius: body.radius, planar: body.planar, pair })
    }

    /// Moves a particle, given by its place in the order and its slot, out of a surface by `correction` (m),
    /// and notes the contact.
    #[inline]
    fn touch(
        &mut self,
        view: &mut IslandView<'_>,
        (place, i): (usize, usize),
        meeting: &Meeting<'_>,
        member: Member,
        normal: Vec3A,
        correction: f32,
    ) {
        let pair = &mut self.pairs[member.pair];
        if pair.touched.is_none() {
            pair.touched = Some(i as u32);
        }
        if pair.sensor || !(correction > 0.0 && correction.is_finite()) {
            return;
        }
        view.position[i] += Vec4::from((correction * normal, 0.0));
        self.last[place] += correction * normal;
        let particle = i as u32;
        // What stopped its path may overlap still.
        if let Some(last) = self.hits.last_mut()
            && (last.particle, last.near) == (particle, meeting.number)
            && last.normal.dot(normal) > 0.99
        {
            last.correction += correction;
            return;
        }
        self.hits.push(Hit { normal, particle, near: meeting.number, correction, approach: 0.0 });
    }
}

/// The triangles that one particle may meet.
pub(super) struct Listed<'a> {
    pub triangles: &'a [Triangle],
    pub list: &'a [u32],
}

impl Listed<'_> {
    /// The surface nearest to `x` within `reach`, but for that of the triangle `except`.
    #[inline]
    fn nearest(&self, x: Vec3A, reach: f32, except: u32) -> Option<(Near, u32)> {
        let mut best: Option<(Near, u32)> = None;
        for &number in self.list {
            if number == except {
                continue;
            }
            if let Some(near) = self.triangles[number as usize].near(x, reach)
                && best.is_none_or(|(best, _)| nearer(near, best))
            {
                best = Some((near, number));
            }
        }
        best
    }

    /// The triangle that a path crosses first.
    #[cold]
    pub fn crossed(&self, start: Vec3A, x: Vec3A) -> Option<(Near, u32)> {
        let mut first: Option<(Near, u32)> = None;
        let mut earliest = f32::INFINITY;
        for &number in self.list {
            if let Some((near, along)) = self.triangles[number as usize].crossed(start, x)
                && along < earliest
            {
                (first, earliest) = (Some((near, number)), along);
            }
        }
        first
    }

    /// How far `x` is from the nearest of the triangles (m).
    #[cold]
    fn distance(&self, x: Vec3A) -> f32 {
        let near = |n: &u32| self.triangles[*n as usize].near(x, f32::INFINITY);
        let nears = self.list.iter().filter_map(near);
        let nearest = nears.reduce(|a, b| if nearer(b, a) { b } else { a });
        nearest.map_or(f32::INFINITY, |near| near.distance)
    }
}

/// Whether the surface `a` is nearer than `b`, from whichever side; of two as near, the one in front.
#[inline]
pub(super) fn nearer(a: Near, b: Near) -> bool {
    let (from_a, from_b) = (a.distance.abs(), b.distance.abs());
    from_a < from_b || (from_a == from_b && a.distance > b.distance)
}

/// Where a particle was at the start of the substep.
fn old_place(view: &IslandView<'_>, i: usize, h: f32) -> Vec4 {
    view.old(h).get(i)
}

/// Where a particle was at the start of the substep, as seen by the piece where it is now, and where it is.
pub(super) fn path(view: &IslandView<'_>, i: usize, meeting: &Meeting<'_>) -> (Vec3A, Vec3A) {
    let old = Vec3A::from_vec4(old_place(view, i, meeting.h));
    let seen = meeting.near.shift.map_or(old, |shift| shift.carry(old));
    (seen, Vec3A::from_vec4(view.position[i]))
}

/// In the plane z = `level`, for a planar particle.
#[inline]
fn at_level(mut x: Vec3A, level: Option<f32>) -> Vec3A {
    if let Some(level) = level {
        x.z = level;
    }
    x
}

/// The surface near `x`; for a planar particle in the plane of the piece at `level`.
#[inline(always)]
fn in_plane<S: Distance>(solid: &S, mut x: Vec3A, reach: f32, level: Option<f32>) -> Option<Near> {
    let Some(level) = level else { return solid.near(x, reach) };
    x.z = level;
    solid.near(x, reach).and_then(flat)
}

/// The surface as a planar particle meets it: along its plane, and as far as it is there.
pub(super) fn flat(near: Near) -> Option<Near> {
    let aside = near.normal.with_z(0.0);
    let length = aside.length();
    (length > 1e-3).then(|| Near { distance: near.distance / length, normal: aside / length })
}

/// Follows a path from `old` to `x` until it meets the surface of something convex. The plane there, as seen
/// from `x`, and the gap to it at the start.
///
/// The distance from something convex is convex along a line, so that Newton's steps never overshoot.
pub(super) fn march(
    old: Vec3A,
    x: Vec3A,
    radius: f32,
    distance: impl Fn(Vec3A) -> Option<Near>,
) -> Option<(Near, f32)> {
    let way = x - old;
    let close = 1e-3 * radius + 1e-6 * way.length();
    let mut along = 0.0;
    let mut start = None;
    let mut last = None;
    for _ in 0..MARCH {
        let near = distance(old + along * way)?;
        let gap = near.distance - radius;
        start.get_or_insert(gap);
        let approach = near.normal.dot(way);
        if approach >= 0.0 {
            return None;
        }
        // The plane through the surface here.
        let behind = approach * (1.0 - along);
        last = Some(Near { distance: near.distance + behind, normal: near.normal });
        if gap <= close {
            break;
        }
        along += gap / -approach;
        let ends = along >= 1.0 || along.is_nan();
        if ends {
            return None;
        }
    }
    Some((last?, start?))
}
