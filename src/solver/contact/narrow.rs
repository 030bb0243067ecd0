//! Narrow phase: which particles of a block touch a piece in this substep.

use super::{
    Hit, IslandContacts,
    blocks::{Candidate, nearer},
    flatten, members,
    near::{NearPiece, body_place},
    reach,
};
use crate::{
    math::bounds::Bounds,
    obstacle::{Distance, Near, Solid},
    solver::{mirror::IslandView, settings::StepTime},
};
use bevy::{math::Vec3A, prelude::*};

/// Steps along a path toward a surface.
const MARCH: usize = 32;
/// A particle that moves less than this part of its radius is checked where it ends up.
const SLOW: f32 = 0.7;
/// Surfaces of a mesh that one particle touches at once.
const CORNERS: usize = 4;

/// One block, one piece.
struct Meeting<'a> {
    near: &'a NearPiece,
    /// Place of the piece in the island's list.
    number: u32,
    /// Whether some particle moves far.
    fast: bool,
    allowance: f32,
    h: f32,
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
        let mut bounds = Bounds::EMPTY;
        for x in &view.position[members(view, number)] {
            bounds = bounds.with(Vec3A::from_vec4(*x));
        }
        let (radius, planar) = reach(view, number);
        let here = flatten(bounds.inflate(radius), planar);
        if !self.blocks[number].room.contains(&here) {
            self.look_again(view, number, time);
        }
        let path = here.union(self.blocks[number].last);
        self.blocks[number].last = here;
        if self.blocks[number].candidates.is_empty() {
            return;
        }
        let mut candidates = core::mem::take(&mut self.blocks[number].candidates);
        let near = core::mem::take(&mut self.near);
        let mut farthest = None;
        for candidate in &mut candidates {
            let piece = &near[candidate.near as usize];
            if !piece.bounds.overlaps(&path) {
                continue;
            }
            let moved = *farthest.get_or_insert_with(|| farthest_move(view, number, time.h));
            let along = piece.shift.map_or(0.0, |shift| shift.most_within(&bounds));
            let meeting = Meeting {
                near: piece,
                number: candidate.near,
                fast: moved + along > SLOW * radius,
                allowance,
                h: time.h,
            };
            self.meet(view, number, &meeting, candidate);
        }
        self.near = near;
        self.blocks[number].candidates = candidates;
    }

    fn meet(
        &mut self,
        view: &mut IslandView<'_>,
        block: usize,
        meeting: &Meeting<'_>,
        candidate: &mut Candidate,
    ) {
        match &meeting.near.solid {
            None => {}
            Some(Solid::Plane(solid)) => self.meet_solid(view, block, meeting, solid),
            Some(Solid::Ball(solid)) => self.meet_solid(view, block, meeting, solid),
            Some(Solid::Ellipsoid(solid)) => self.meet_solid(view, block, meeting, solid),
            Some(Solid::Capsule(solid)) => self.meet_solid(view, block, meeting, solid),
            Some(Solid::Cuboid(solid)) => self.meet_solid(view, block, meeting, solid),
            Some(Solid::Cylinder(solid)) => self.meet_solid(view, block, meeting, solid),
            Some(Solid::Cone(solid)) => self.meet_solid(view, block, meeting, solid),
            Some(Solid::Prism(solid)) => self.meet_solid(view, block, meeting, solid),
            Some(Solid::Mesh(_)) => self.meet_mesh(view, block, meeting, candidate),
        }
    }

    fn meet_solid<S: Distance>(
        &mut self,
        view: &mut IslandView<'_>,
        block: usize,
        meeting: &Meeting<'_>,
        solid: &S,
    ) {
        for i in members(view, block) {
            let Some((radius, planar)) = self.meets(view, i, meeting) else { continue };
            let level = planar.then_some(meeting.near.frames[1].centre.z);
            let distance = |x: Vec3A, reach: f32| in_plane(solid, x, reach, level);
            if S::PASSABLE && meeting.fast {
                let (old, x) = path(view, i, meeting);
                if (x - old).length_squared() > (SLOW * radius) * (SLOW * radius)
                    && let Some((near, gap_before)) = march(old, x, radius, distance)
                {
                    self.touch(view, i, meeting, near, radius, || gap_before);
                }
            }
            let x = Vec3A::from_vec4(view.position[i]);
            if let Some(near) = distance(x, radius) {
                let old = || path(view, i, meeting).0;
                let gap_before =
                    distance(old(), f32::INFINITY).map_or(0.0, |n| n.distance - radius);
                self.touch(view, i, meeting, near, radius, || gap_before);
            }
        }
    }

    fn meet_mesh(
        &mut self,
        view: &mut IslandView<'_>,
        block: usize,
        meeting: &Meeting<'_>,
        candidate: &mut Candidate,
    ) {
        let Some(patch) = &mut candidate.patch else { return };
        let first = members(view, block).start;
        for i in members(view, block) {
            let Some((radius, planar)) = self.meets(view, i, meeting) else { continue };
            let (mut old, mut x) = raw_path(view, i, meeting.h);
            if planar {
                (old.z, x.z) = (meeting.near.frames[0].centre.z, meeting.near.frames[1].centre.z);
            }
            let (old, mut x) = patch.local(meeting.near, old, x);
            let moved = (x - old).length();
            let (triangles, list) = patch.around(i - first, x, radius, 2.0 * radius + 2.0 * moved);
            if list.is_empty() {
                continue;
            }
            let listed = |n: &u32| &triangles[*n as usize];
            let mut found: [Option<(Near, f32)>; CORNERS] = [None; CORNERS];
            let mut count = 0;
            let before = |x: Vec3A| {
                let near = list.iter().filter_map(|n| listed(n).near(x, f32::INFINITY));
                near.fold(None, nearer).map_or(0.0, |near: Near| near.distance - radius)
            };
            if meeting.fast && moved > 0.0 {
                let crossed = list.iter().filter_map(|n| listed(n).crossed(old, x));
                // The first that the path crosses is the one that its end is furthest behind.
                let first = crossed.fold(None, nearer);
                if let Some(near) = first {
                    found[count] = Some((near, before(old)));
                    count += 1;
                    x += (radius - near.distance) * near.normal;
                }
            }
            // The nearest first: what is beside it then no longer overlaps.
            while count < CORNERS {
                let near = list.iter().filter_map(|n| listed(n).near(x, radius));
                let Some(near) = near.fold(None, nearer) else { break };
                if near.distance >= radius * (1.0 - 1e-6) {
                    break;
                }
                found[count] = Some((near, before(old)));
                count += 1;
                x += (radius - near.distance) * near.normal;
            }
            let outward =
                |near: Near| Near { normal: patch.outward(meeting.near, near.normal), ..near };
            for (near, gap_before) in found.into_iter().flatten() {
                let mut near = outward(near);
                if planar {
                    let Some(flat) = flat(near) else { continue };
                    near = flat;
                }
                self.touch(view, i, meeting, near, radius, || gap_before);
            }
        }
    }

    /// The radius of a particle that the piece acts on, and whether it is planar.
    fn meets(&self, view: &IslandView<'_>, i: usize, meeting: &Meeting<'_>) -> Option<(f32, bool)> {
        if view.inverse_mass[i] == 0.0 {
            return None;
        }
        let place = body_place(view, i);
        let pair = &self.pairs[meeting.number as usize * view.island.bodies.len() + place];
        if !pair.meets {
            return None;
        }
        let body = &view.shared.bodies[view.body[i] as usize];
        Some((body.radius, body.planar))
    }

    /// Moves a particle out of a surface, and notes the contact.
    fn touch(
        &mut self,
        view: &mut IslandView<'_>,
        i: usize,
        meeting: &Meeting<'_>,
        near: Near,
        radius: f32,
        gap_before: impl FnOnce() -> f32,
    ) {
        let gap = near.distance - radius;
        if gap >= 0.0 {
            return;
        }
        let pair = meeting.number as usize * view.island.bodies.len() + body_place(view, i);
        let pair = &mut self.pairs[pair];
        pair.touched.get_or_insert(i as u32);
        if pair.sensor {
            return;
        }
        let mut correction = -gap;
        // A small correction is never more than the allowance, whatever was there before.
        if correction > meeting.allowance {
            correction = (gap_before() + meeting.allowance).min(0.0) - gap;
        }
        if correction > 0.0 && correction.is_finite() {
            view.position[i] += Vec3::from(correction * near.normal).extend(0.0);
            self.hits.push(Hit {
                normal: near.normal,
                particle: i as u32,
                near: meeting.number,
                correction,
                approach: 0.0,
            });
        }
    }
}

/// Where a particle was at the start of the substep, and where it is.
fn raw_path(view: &IslandView<'_>, i: usize, h: f32) -> (Vec3A, Vec3A) {
    (Vec3A::from_vec4(view.old(h).get(i)), Vec3A::from_vec4(view.position[i]))
}

/// The same as seen by the piece, where it is now.
fn path(view: &IslandView<'_>, i: usize, meeting: &Meeting<'_>) -> (Vec3A, Vec3A) {
    let (old, x) = raw_path(view, i, meeting.h);
    (meeting.near.shift.map_or(old, |shift| shift.carry(old)), x)
}

/// No particle of the block moved further in this substep (m).
fn farthest_move(view: &IslandView<'_>, block: usize, h: f32) -> f32 {
    let mut most = Vec3A::ZERO;
    for i in members(view, block) {
        let (old, x) = raw_path(view, i, h);
        most = most.max((x - old).abs());
    }
    most.length()
}

/// The surface near `x`; for a planar particle in the plane of the piece at `level`.
fn in_plane(solid: &impl Distance, mut x: Vec3A, reach: f32, level: Option<f32>) -> Option<Near> {
    let Some(level) = level else { return solid.near(x, reach) };
    x.z = level;
    solid.near(x, reach).and_then(flat)
}

/// The surface as a planar particle meets it: along its plane, and as far as it is there.
fn flat(near: Near) -> Option<Near> {
    let aside = near.normal.with_z(0.0);
    let length = aside.length();
    (length > 1e-3).then(|| Near { distance: near.distance / length, normal: aside / length })
}

/// Follows a path from `old` to `x` until it meets the surface. The plane there, as seen from `x`, and
/// the gap to it at the start.
fn march(
    old: Vec3A,
    x: Vec3A,
    radius: f32,
    distance: impl Fn(Vec3A, f32) -> Option<Near>,
) -> Option<(Near, f32)> {
    let way = x - old;
    let length = way.length();
    let close = 1e-3 * radius + 1e-6 * length;
    let mut along = 0.0;
    let mut start = None;
    for _ in 0..MARCH {
        let near = distance(old + along * way, f32::INFINITY)?;
        let gap = near.distance - radius;
        let gap_at_start = *start.get_or_insert(gap);
        if gap <= close {
            // The plane through the surface here.
            let behind = near.normal.dot(way) * (1.0 - along);
            let plane = Near { distance: near.distance + behind, normal: near.normal };
            return (behind < 0.0).then_some((plane, gap_at_start));
        }
        along += gap / length;
        if !(along < 1.0) {
            return None;
        }
    }
    None
}
