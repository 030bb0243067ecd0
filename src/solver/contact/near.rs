//! Near pieces: the pieces of obstacles that an island may meet, placed anew in each substep.

use super::pieces::Piece;
use crate::{
    math::{bounds::Bounds, pose::TargetMotion},
    obstacle::{Frame, Friction, Obstacle, Solid},
    solver::mirror::{IslandView, MirrorBody},
};
use bevy::math::{DVec3, Mat3A, Vec3A};

/// A piece near an island, in this substep.
#[derive(Clone, Debug)]
pub(super) struct NearPiece {
    /// Place in the obstacles' list of pieces.
    pub number: u32,
    /// Where it is at the end of the substep; `None` where its pose leaves no usable shape.
    pub solid: Option<Solid>,
    /// Frames at the start and at the end of the substep.
    pub frames: [Frame; 2],
    /// Frame at the end of the tick.
    pub last_frame: Frame,
    /// How its material moved over the substep; `None` where it stands still.
    pub shift: Option<Shift>,
    /// The box around it over the substep.
    pub bounds: Bounds,
    /// The box around it over the tick.
    pub tick_bounds: Bounds,
}

/// How far the points of a moving obstacle move in a substep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shift {
    forward: Mat3A,
    back: Mat3A,
    then: Vec3A,
    now: Vec3A,
}

impl Shift {
    fn new([then, now]: &[Frame; 2]) -> Self {
        let rotation = Mat3A::from_quat(now.rotation) * Mat3A::from_quat(then.rotation).transpose();
        let mut forward = rotation;
        let mut back = rotation.transpose();
        if then.scale != now.scale {
            let (scaled, inverse) =
                (now.matrix() * then.matrix().inverse(), then.matrix() * now.matrix().inverse());
            if scaled.is_finite() && inverse.is_finite() {
                (forward, back) = (scaled, inverse);
            }
        }
        Self {
            forward: forward - Mat3A::IDENTITY,
            back: Mat3A::IDENTITY - back,
            then: then.centre,
            now: now.centre,
        }
    }

    /// Where a point that stood at `x` at the start is at the end, if it moves along.
    pub fn carry(&self, x: Vec3A) -> Vec3A {
        x + self.forward * (x - self.then) + (self.now - self.then)
    }

    /// How far the point that is at `x` at the end came (m).
    pub fn at(&self, x: Vec3A) -> Vec3A {
        self.back * (x - self.now) + (self.now - self.then)
    }

    /// How far it turned (rad); of a small turn.
    pub fn turn(&self) -> Vec3A {
        let Mat3A { x_axis, y_axis, z_axis } = self.back;
        0.5 * Vec3A::new(y_axis.z - z_axis.y, z_axis.x - x_axis.z, x_axis.y - y_axis.x)
    }

    /// No point within `bounds` came further than this (m).
    pub fn most_within(&self, bounds: &Bounds) -> f32 {
        let half = 0.5 * (bounds.max - bounds.min).length();
        let turning = self.back.x_axis.length_squared()
            + self.back.y_axis.length_squared()
            + self.back.z_axis.length_squared();
        self.at(bounds.centre()).length() + turning.sqrt() * half
    }
}

impl NearPiece {
    pub fn new(
        number: u32,
        piece: &Piece,
        motion: &TargetMotion,
        sweep: [f32; 2],
        origin: DVec3,
    ) -> Self {
        let frames = sweep.map(|t| Frame::of(motion, t, origin, piece.place.as_ref()));
        let mut near = Self {
            number,
            solid: None,
            frames,
            last_frame: Frame::of(motion, 1.0, origin, piece.place.as_ref()),
            shift: None,
            bounds: Bounds::EMPTY,
            tick_bounds: piece.bounds(origin),
        };
        near.place(piece, motion, sweep, origin);
        near
    }

    /// Puts it where it is in this substep.
    pub fn place(&mut self, piece: &Piece, motion: &TargetMotion, sweep: [f32; 2], origin: DVec3) {
        if motion.start == motion.end {
            if self.solid.is_none() {
                self.solid = Solid::new(&piece.shape, &self.frames[1]);
                self.bounds = self.tick_bounds;
            }
            return;
        }
        self.frames = sweep.map(|t| Frame::of(motion, t, origin, piece.place.as_ref()));
        self.solid = Solid::new(&piece.shape, &self.frames[1]);
        self.shift = Some(Shift::new(&self.frames));
        self.bounds =
            piece.shape.bounds(&self.frames[0]).union(piece.shape.bounds(&self.frames[1]));
    }
}

/// What a body of the island and a near piece have to do with one another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// Whether their layers meet.
    pub meets: bool,
    pub sensor: bool,
    pub friction: Friction,
    pub restitution: f32,
    /// Whether they touched in this tick, and which particle did first (slot in the island).
    pub touched: Option<u32>,
    /// Impulse along the normals in this tick (N s).
    pub impulse: f32,
}

impl Pair {
    pub fn new(body: &MirrorBody, obstacle: &Obstacle) -> Self {
        let e = obstacle.restitution;
        Self {
            meets: body.layers.meets(obstacle.layers),
            sensor: obstacle.sensor,
            friction: obstacle.friction.combine(body.friction),
            restitution: if e.is_nan() { 0.0 } else { e.clamp(0.0, 1.0) },
            touched: None,
            impulse: 0.0,
        }
    }
}

/// Which of the island's bodies a particle belongs to, as a place in the island's list.
pub(super) fn body_place(view: &IslandView<'_>, particle: usize) -> usize {
    if view.island.bodies.len() == 1 {
        return 0;
    }
    let body = view.body[particle];
    view.island.bodies.iter().position(|b| *b == body).unwrap_or(0)
}
