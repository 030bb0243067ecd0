//! Blocks: neighbouring particles that look for obstacles together.
//!
//! ```text
//!   ●●●●┊●●●●┊●●●●
//!   ●●●●┊●●●●┊●●●●     each block knows the pieces that its box, and some room around it for this
//!   ●●●●┊●●●●┊●●●●     tick, may meet
//!   ●●●●┊●●●●┊●●●●
//! ```
//!
//! Whoever leaves the room in the middle of a tick looks again, so no contact is missed at any speed.

use super::near::NearPiece;
use crate::{
    math::bounds::Bounds,
    obstacle::{Frame, Near, Solid, Triangle},
};
use bevy::math::{Vec3A, Vec4, ops};

/// Particles a block.
pub(super) const BLOCK: usize = 16;

/// A block of particles.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// The box, with room, that its candidates were looked up for.
    pub room: Bounds,
    /// The box around it at the end of the last substep.
    pub last: Bounds,
    pub candidates: Vec<Candidate>,
}

impl Block {
    pub fn new(room: Bounds) -> Self {
        Self { room, last: room, candidates: Vec::new() }
    }
}

/// A piece that a block may meet.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Place in the island's list of near pieces.
    pub near: u32,
    /// Of a mesh: its triangles in the block's room.
    pub patch: Option<Patch>,
}

/// The triangles of a mesh near a block, and which of them are near each particle.
///
/// They are relative to the island's origin where the mesh stands still, else in the mesh's own frame
/// about a point near the block.
#[derive(Clone, Debug)]
pub(super) struct Patch {
    triangles: Vec<Triangle>,
    boxes: Vec<Bounds>,
    /// The point about which they are, in the mesh's frame; `None` where it stands still.
    anchor: Option<Vec3A>,
    particles: [Reach; BLOCK],
    lists: Vec<u32>,
}

/// What one particle of a block can reach.
#[derive(Clone, Copy, Debug)]
struct Reach {
    /// Where it was when its list was made.
    place: Vec3A,
    /// How far from there the list holds (m); negative before there is one.
    room: f32,
    start: u32,
    end: u32,
    /// For a particle of this radius, and smaller ones (m).
    radius: f32,
    /// The triangle of the list that the particle is over and that none of the others rises over, on the
    /// particle's side: while it stays over it, the others are no nearer.
    only: u32,
    /// The sign of its height over that triangle.
    side: f32,
}

/// No triangle.
const NONE: u32 = u32::MAX;
const UNKNOWN: Reach =
    Reach { place: Vec3A::ZERO, room: -1.0, start: 0, end: 0, radius: 0.0, only: NONE, side: 1.0 };
/// Entries in a patch's lists after which they are made anew.
const MOST_LISTED: usize = 1 << 10;

impl Patch {
    fn new(near: &NearPiece, room: &Bounds) -> Option<Self> {
        let Some(Solid::Mesh(mesh)) = &near.solid else { return None };
        let mut patch = Self {
            triangles: Vec::new(),
            boxes: Vec::new(),
            anchor: None,
            particles: [UNKNOWN; BLOCK],
            lists: Vec::new(),
        };
        let [then, now] = &near.frames;
        let room = &at_plane(room, [then, &near.last_frame]);
        // An odd number of negative scales turns triangles inside out.
        let mirrored = now.scale.x * now.scale.y * now.scale.z < 0.0;
        if near.shift.is_some() {
            let half = 0.5 * (room.max - room.min);
            let asked = own_box(then, room).union(own_box(&near.last_frame, room));
            // What a turning mesh brings near in between: an arc rises over its chord.
            let angle = then.rotation.angle_between(near.last_frame.rotation);
            let arm = (room.centre() - then.centre).length() + half.length();
            let bulge = arm * (1.0 - ops::cos(0.5 * angle));
            let least = now.scale.abs().min_element().max(1e-6);
            let asked = asked.inflate(bulge / least + 0.25 * half.max_element());
            let anchor = asked.centre();
            let scale = Vec3A::from(now.scale);
            let place = |corner| scale * (corner - anchor);
            mesh.within(&asked, mirrored, place, &mut patch.triangles);
            patch.anchor = Some(anchor);
        } else {
            mesh.within(
                &own_box(now, room),
                mirrored,
                |corner| now.point(corner),
                &mut patch.triangles,
            );
        }
        patch.boxes = patch.triangles.iter().map(Triangle::bounds).collect();
        (!patch.triangles.is_empty()).then_some(patch)
    }

    /// A point that is at `x` at the end of the substep (`last`), or at its start, in the triangles' frame.
    #[inline]
    pub fn local(&self, near: &NearPiece, x: Vec3A, last: bool) -> Vec3A {
        let Some(anchor) = self.anchor else { return x };
        let frame = &near.frames[usize::from(last)];
        frame.rotation.inverse() * (x - frame.point(anchor))
    }

    /// A direction out of the frame of the triangles.
    #[inline]
    pub fn outward(&self, near: &NearPiece, normal: Vec3A) -> Vec3A {
        if self.anchor.is_some() { near.frames[1].rotation * normal } else { normal }
    }

    /// Where a point of the triangles' frame is at the end of the substep.
    #[inline]
    pub fn placed(&self, near: &NearPiece, point: Vec3A) -> Vec3A {
        let Some(anchor) = self.anchor else { return point };
        near.frames[1].point(anchor) + near.frames[1].rotation * point
    }

    /// Sees to it that the list of a particle at `x` (m, triangles' frame), `radius` large, holds; a new one
    /// is made to hold until it has moved `room` (m).
    #[inline]
    pub fn refresh(&mut self, particle: usize, x: Vec3A, radius: f32, room: f32) {
        let reach = self.particles[particle];
        let holds =
            reach.room > 0.0 && (x - reach.place).length_squared() <= reach.room * reach.room;
        if !holds {
            self.list(particle, x, radius, room);
        }
    }

    /// The same for a particle of which the radius may change.
    #[inline]
    pub fn refresh_for(&mut self, particle: usize, x: Vec3A, radius: f32, room: f32) {
        if radius > self.particles[particle].radius {
            self.particles[particle] = UNKNOWN;
        }
        self.refresh(particle, x, radius, room);
    }

    #[cold]
    fn list(&mut self, particle: usize, x: Vec3A, radius: f32, room: f32) {
        if self.lists.len() > MOST_LISTED {
            self.lists.clear();
            self.particles = [UNKNOWN; BLOCK];
        }
        let start = self.lists.len() as u32;
        // The start of the path lies within the room too, but for what contacts moved.
        let far = radius + 1.5 * room;
        let around = Bounds { min: x - far, max: x + far };
        for (number, (triangle, bounds)) in self.triangles.iter().zip(&self.boxes).enumerate() {
            if bounds.overlaps(&around) && triangle.near(x, far).is_some() {
                self.lists.push(number as u32);
            }
        }
        let end = self.lists.len() as u32;
        let list = &self.lists[start as usize..];
        let triangle = |n: &u32| &self.triangles[*n as usize];
        let is_only = |n: &&u32| {
            let this = triangle(n);
            let in_front = |height: f32| height > 0.0 || (height < 0.0 && !this.is_solid());
            let over = this.over(x).is_some_and(in_front);
            over && list.iter().all(|other| this.overlooks(triangle(other), x))
        };
        let only = list.iter().find(is_only).copied().unwrap_or(NONE);
        let height = self.triangles.get(only as usize).and_then(|only| only.over(x));
        let side = height.unwrap_or(1.0).signum();
        self.particles[particle] = Reach { place: x, room, start, end, radius, only, side };
    }

    /// The one triangle that matters to a particle at `x`, if there is one, and how far over it that is (m).
    #[inline]
    pub fn only(&self, particle: usize, x: Vec3A) -> Option<Near> {
        let Reach { only, side, .. } = self.particles[particle];
        let triangle = self.triangles.get(only as usize)?;
        let height = triangle.over(x)?;
        // From the other side others may rise over it.
        (side * height > 0.0).then(|| triangle.facing(height))
    }

    /// The triangles, and which of them are in a particle's list.
    #[inline]
    pub fn listed(&self, particle: usize) -> (&[Triangle], &[u32]) {
        let Reach { start, end, .. } = self.particles[particle];
        (&self.triangles, &self.lists[start as usize..end as usize])
    }
}

/// The part of a room through all z, as planar bodies have it, that a piece can be met in: they meet it
/// in the plane of its own origin.
fn at_plane(room: &Bounds, frames: [&Frame; 2]) -> Bounds {
    let mut room = *room;
    if room.min.z == f32::NEG_INFINITY {
        let size = (room.max - room.min).with_z(0.0).max_element();
        let levels = frames.map(|frame| frame.centre.z);
        room.min.z = levels[0].min(levels[1]) - size;
        room.max.z = levels[0].max(levels[1]) + size;
    }
    room
}

/// The box in a frame's own unscaled coordinates around a box of the island's.
fn own_box(frame: &Frame, bounds: &Bounds) -> Bounds {
    let inverse = frame.matrix().inverse();
    if !inverse.is_finite() {
        return Bounds::EMPTY;
    }
    let half = 0.5 * (bounds.max - bounds.min);
    let middle = inverse * (bounds.centre() - frame.centre);
    let extent = inverse.x_axis.abs() * half.x
        + inverse.y_axis.abs() * half.y
        + inverse.z_axis.abs() * half.z;
    // Far from the frame's centre the coordinates are rounded.
    let slack = 1e-6 * middle.abs().max_element();
    Bounds { min: middle - extent - slack, max: middle + extent + slack }
}

/// Looks up the candidates of one block among the near pieces `among`.
pub(super) fn look_up(block: &mut Block, near: &[NearPiece], among: impl Iterator<Item = u32>) {
    block.candidates.clear();
    for number in among {
        let piece = &near[number as usize];
        if !piece.tick_bounds.overlaps(&block.room) {
            continue;
        }
        let patch = match &piece.solid {
            Some(Solid::Mesh(_)) => match Patch::new(piece, &block.room) {
                Some(patch) => Some(patch),
                None => continue,
            },
            _ => None,
        };
        block.candidates.push(Candidate { near: number, patch });
    }
    // In the order of pieces, whatever was found when.
    block.candidates.sort_unstable_by_key(|candidate| near[candidate.near as usize].number);
}

/// Slots of an island in an order in which neighbours in space are near one another: by the Morton code of
/// their cell in a box of 1024³ cells.
pub(super) fn neighbourly_order(positions: &[Vec4]) -> Vec<u32> {
    let place = |x: &Vec4| Vec3A::from_vec4(*x);
    let bounds = positions.iter().fold(Bounds::EMPTY, |all, x| all.with(place(x)));
    let side = (bounds.max - bounds.min).max_element();
    let scale = if side > 0.0 { 1023.0 / side } else { 0.0 };
    let code = |slot: &u32| {
        let cell = (place(&positions[*slot as usize]) - bounds.min) * scale;
        // A cast takes what is no number for 0.
        let [x, y, z] = cell.to_array().map(|v| spread(v as u32));
        x | y << 1 | z << 2
    };
    let mut order: Vec<u32> = (0..positions.len() as u32).collect();
    order.sort_by_cached_key(code);
    order
}

/// The lowest ten bits, with two between each.
fn spread(v: u32) -> u32 {
    let v = v & 0x3ff;
    let v = (v | v << 16) & 0x0300_00ff;
    let v = (v | v << 8) & 0x0300_f00f;
    let v = (v | v << 4) & 0x030c_30c3;
    (v | v << 2) & 0x0924_9249
}

/// Looks up the candidates of all blocks, halving them while many pieces are near.
pub(super) fn look_up_all(blocks: &mut [Block], near: &[NearPiece], among: &[u32]) {
    if blocks.len() > 1 && among.len() > 4 {
        let (left, right) = blocks.split_at_mut(blocks.len() / 2);
        for half in [left, right] {
            let room = half.iter().fold(Bounds::EMPTY, |all, block| all.union(block.room));
            let meets = |n: &u32| near[*n as usize].tick_bounds.overlaps(&room);
            let fewer: Vec<u32> = among.iter().copied().filter(meets).collect();
            look_up_all(half, near, &fewer);
        }
        return;
    }
    blocks.iter_mut().for_each(|block| look_up(block, near, among.iter().copied()));
}
