//! Pieces: the simple shapes that obstacles are made of, and where each is in this tick.
//!
//! Pieces that stand still are in a tree, made anew only when one of them changes; those that move are
//! listed. What was disturbed wakes the islands beside it.

use crate::{
    constraint::Oriented,
    math::{
        bounds::{Bounds, BoundsTree},
        pose::TargetMotion,
    },
    obstacle::{Frame, Obstacle, ObstacleShape},
    solver::mirror::{EntityTable, Mirror},
};
use bevy::{
    math::{DVec3, Vec3A},
    prelude::*,
};

/// An obstacle in this tick.
#[derive(Clone, Debug)]
pub(crate) struct MirrorObstacle {
    pub entity: Entity,
    pub obstacle: Obstacle,
    pub motion: TargetMotion,
    /// The box that it stays in during this tick (world).
    bounds: Bounds,
}

/// A simple shape of an obstacle.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Place in [`Obstacles::all`].
    pub obstacle: u32,
    pub shape: ObstacleShape,
    /// Its place in the obstacle; `None` for the obstacle's own frame.
    pub place: Option<Transform>,
    /// The box that it stays in during this tick (world).
    bounds: Bounds,
}

/// All obstacles of this tick, in order of creation.
#[derive(Default)]
pub(crate) struct Obstacles {
    pub all: Vec<MirrorObstacle>,
    pub pieces: Vec<Piece>,
    /// Pieces that stand still, and which they are.
    still: Vec<u32>,
    tree: BoundsTree,
    moving: Vec<u32>,
    /// Whether all stand as they stood in the last tick.
    pub unchanged: bool,
}

impl MirrorObstacle {
    fn moves(&self) -> bool {
        self.motion.start != self.motion.end
    }
}

impl Piece {
    /// The box that the piece stays in over a motion (world), a little larger for rounding.
    fn enclose(&mut self, motion: &TargetMotion) {
        let frame = |t: f32| Frame::of(motion, t, DVec3::ZERO, self.place.as_ref());
        let (start, end) = (frame(0.0), frame(1.0));
        let around = |frame: &Frame| self.shape.bounds(frame);
        self.bounds = around(&end);
        if motion.start != motion.end {
            self.bounds = self.bounds.union(around(&start));
        }
        if start.rotation != end.rotation {
            // While it turns it stays within its greatest distance from the obstacle's origin.
            let far = |frame: &Frame, pose: Vec3A| {
                let bounds = around(frame);
                (bounds.min - pose).abs().max((bounds.max - pose).abs()).length()
            };
            let (a, b) = (motion.start.translation.into(), motion.end.translation.into());
            let radius = far(&start, a).max(far(&end, b));
            self.bounds = Bounds::EMPTY.with(a).with(b).inflate(radius);
        }
        let largest = self.bounds.min.abs().max(self.bounds.max.abs()).max_element();
        if largest.is_finite() {
            self.bounds = self.bounds.inflate(1e-6 + 1e-6 * largest);
        }
    }

    /// The box relative to an island's origin, still a little larger.
    pub fn bounds(&self, origin: DVec3) -> Bounds {
        self.bounds.shifted(-origin.as_vec3a()).inflate(1e-7 * origin.abs().max_element() as f32)
    }
}

/// An obstacle as it was found in the world.
pub(crate) struct Found<'w> {
    pub entity: Entity,
    pub obstacle: &'w Obstacle,
    pub motion: TargetMotion,
    /// Whether it came with a loaded world.
    pub loaded: bool,
}

impl Obstacles {
    /// The obstacle that a piece is of.
    pub fn entity_of(&self, piece: u32) -> Option<Entity> {
        let piece = self.pieces.get(piece as usize)?;
        self.all.get(piece.obstacle as usize).map(|obstacle| obstacle.entity)
    }

    /// Takes the obstacles of this tick, in order; the boxes (world) around what changed since the last.
    pub fn replace(&mut self, found: &[Found<'_>]) -> Vec<Bounds> {
        let mut places = EntityTable::default();
        for (place, obstacle) in self.all.iter().enumerate() {
            places.insert(obstacle.entity, place as u32);
        }
        let mut before: Vec<Option<MirrorObstacle>> =
            core::mem::take(&mut self.all).into_iter().map(Some).collect();
        let mut remake = found.len() != before.len();
        let mut disturbed = Vec::new();
        let mut changed = Vec::new();
        for (place, &Found { entity, obstacle, motion, loaded }) in found.iter().enumerate() {
            let old_place = places.get(entity).map(|p| p as usize);
            let old = old_place.and_then(|p| before[p].take());
            let same = old.as_ref().is_some_and(|old| old.obstacle == *obstacle);
            let moves = motion.start != motion.end;
            let still =
                !moves && old.as_ref().map_or(loaded, |old| same && old.motion.end == motion.start);
            remake |= !same
                || old_place != Some(place)
                || old.as_ref().is_some_and(|old| {
                    old.moves() != moves || (!moves && old.motion.end != motion.end)
                });
            let now = match old {
                Some(old) if same => MirrorObstacle { motion, ..old },
                old => {
                    let bounds = old.map_or(Bounds::EMPTY, |old| old.bounds);
                    MirrorObstacle { entity, obstacle: obstacle.clone(), motion, bounds }
                }
            };
            if !still {
                changed.push(place);
                disturbed.push(now.bounds);
            }
            self.all.push(now);
        }
        disturbed.extend(before.into_iter().flatten().map(|gone| gone.bounds));
        if remake {
            self.remake();
        } else {
            for &piece in &self.moving {
                let piece = &mut self.pieces[piece as usize];
                piece.enclose(&self.all[piece.obstacle as usize].motion);
            }
            self.enclose_all();
        }
        disturbed.extend(changed.into_iter().map(|place| self.all[place].bounds));
        self.unchanged = !remake && disturbed.is_empty();
        disturbed
    }

    fn remake(&mut self) {
        self.pieces.clear();
        for (number, obstacle) in self.all.iter().enumerate() {
            if let Err(error) = obstacle.obstacle.shape.validate() {
                warn_once!("the obstacle {} is ignored: {error}", obstacle.entity);
                continue;
            }
            obstacle.obstacle.shape.flatten(None, &mut |shape, place| {
                let mut piece = Piece {
                    obstacle: number as u32,
                    shape: shape.clone(),
                    place,
                    bounds: Bounds::EMPTY,
                };
                piece.enclose(&obstacle.motion);
                self.pieces.push(piece);
            });
        }
        let moves = |piece: &u32| self.all[self.pieces[*piece as usize].obstacle as usize].moves();
        (self.moving, self.still) = (0..self.pieces.len() as u32).partition(moves);
        let boxes: Vec<Bounds> =
            self.still.iter().map(|piece| self.pieces[*piece as usize].bounds).collect();
        self.tree = BoundsTree::new(&boxes);
        self.enclose_all();
    }

    /// The boxes of whole obstacles.
    fn enclose_all(&mut self) {
        for obstacle in &mut self.all {
            obstacle.bounds = Bounds::EMPTY;
        }
        for piece in &self.pieces {
            let obstacle = &mut self.all[piece.obstacle as usize];
            obstacle.bounds = obstacle.bounds.union(piece.bounds);
        }
    }

    /// The pieces that `bounds`, relative to an island's `origin`, may meet in this tick, in order.
    pub fn within(&self, bounds: &Bounds, origin: DVec3) -> Vec<u32> {
        let mut found = Vec::new();
        let slack = 1e-6 * origin.abs().max_element() as f32;
        let world = bounds.shifted(origin.as_vec3a()).inflate(slack);
        let meets = |piece: u32| self.pieces[piece as usize].bounds.overlaps(&world);
        self.tree.query(&world, |item| {
            let piece = self.still[item as usize];
            if meets(piece) {
                found.push(piece);
            }
        });
        found.extend(self.moving.iter().copied().filter(|piece| meets(*piece)));
        found.sort_unstable();
        found
    }
}

/// Wakes the islands beside what was disturbed.
pub(crate) fn wake_beside(mirror: &mut Mirror, disturbed: &[Bounds]) {
    if disturbed.is_empty() {
        return;
    }
    let Mirror { islands, position, bodies, body, oriented, .. } = mirror;
    for island in islands.iter_mut().filter(|island| !island.wake) {
        let mut around = Bounds::EMPTY;
        let mut reach: f32 = 0.0;
        for slot in island.particles() {
            let body = &bodies[body[slot] as usize];
            reach = reach.max(body.radius);
            let mut here = Vec3A::from_vec4(position[slot]);
            around = around.with(here);
            if body.planar {
                // Whatever its z: a planar body meets what stands in its plane.
                here.z = f32::INFINITY;
                around = around.with(here);
                here.z = f32::NEG_INFINITY;
                around = around.with(here);
            }
        }
        let turning = &oriented[island.oriented.clone()];
        reach = turning.iter().map(Oriented::greatest_radius).fold(reach, f32::max);
        // Twice the radius: what rests lies within one.
        let slack = 2.0 * reach + 1e-6 * island.origin.abs().max_element() as f32;
        let around = around.inflate(slack).shifted(island.origin.as_vec3a());
        island.wake = disturbed.iter().any(|bounds| bounds.overlaps(&around));
    }
}
