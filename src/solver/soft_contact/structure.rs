//! What contact must know of a body's build: who is joined to whom, where particles were at rest,
//! how far apart neighbours are.
//!
//! Worked out anew when constraints, inverse masses or the bodies' flags change, not each tick.

use super::super::mirror::{Island, Mirror, MirrorBody, NOT_ORIENTED};
use super::{
    SoftIsland,
    pairs::{contact_distance, meets},
};
use crate::{
    obstacle::Friction,
    particle::{BuiltScale, RestPose},
};
use bevy::{math::Vec4, prelude::*};

/// The greatest radius that contact works with (m): its square must be finite.
const MAX_RADIUS: f32 = 1e15;

/// Pairs that are this near at rest touch at a part of their rest distance, not at the thickness: a
/// body must be free to bend where its particles are nearer than it is thick.
const REST_PART: f32 = 0.8;

/// The build of one island.
#[derive(Debug, Default)]
pub(super) struct Structure {
    /// Rest positions (m, the body's scale in them); not a number where there is none.
    rest: Vec<Vec4>,
    /// Particles that constraints between two join each particle to.
    joined: Graph,
    /// Slots (of the island) of particles that may touch those of other islands and do not turn.
    pub soft: Vec<u32>,
    /// Those of particles that do.
    pub bones: Vec<u32>,
    /// Whether any two of its particles that do not turn may touch.
    pub within: bool,
    /// Whether one of its particles that turn may touch another of its particles.
    pub bones_within: bool,
    /// How many of its particles turn.
    turning: usize,
    /// Who is joined to whom by anything, groups included; empty where nothing turns.
    graph: Graph,
    /// Rotations at rest; empty where nothing turns.
    rest_rotation: Vec<Quat>,
}

/// For each particle a list of others.
#[derive(Debug, Default)]
struct Graph {
    starts: Vec<u32>,
    partners: Vec<u32>,
}

impl Graph {
    /// Of `count` particles, given pairs in both orders.
    fn new(count: usize, mut joined: Vec<[u32; 2]>) -> Self {
        joined.sort_unstable();
        joined.dedup();
        let mut starts = vec![0; count + 1];
        for [i, _] in &joined {
            starts[*i as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        Self { starts, partners: joined.into_iter().map(|[_, j]| j).collect() }
    }

    #[inline(always)]
    fn of(&self, i: u32) -> &[u32] {
        &self.partners[self.starts[i as usize] as usize..self.starts[i as usize + 1] as usize]
    }
}

impl Structure {
    #[inline(always)]
    fn joined(&self, i: u32, j: u32) -> bool {
        self.joined.of(i).contains(&j)
    }

    /// Whether two particles are joined, or both to a third: bones that meet there overlap as they bend.
    pub fn near_in_graph(&self, i: u32, j: u32) -> bool {
        let of_i = self.graph.of(i);
        of_i.contains(&j) || of_i.iter().any(|k| self.graph.of(*k).contains(&j))
    }

    /// Whether it has particles that do not turn.
    pub fn any_plain(&self) -> bool {
        self.turning < self.rest.len()
    }

    /// Where a particle was at rest (m), and how it was turned; not a number where it has no such place.
    pub fn rest_pose(&self, place: u32) -> (Vec3, Quat) {
        let place = place as usize;
        let position = self.rest.get(place).map_or(Vec3::NAN, |rest| rest.truncate());
        (position, self.rest_rotation.get(place).copied().unwrap_or(Quat::IDENTITY))
    }

    /// The distance (m) at which two particles of the island touch, given that of their bodies; 0 where
    /// they do not.
    #[inline(always)]
    pub fn distance(&self, i: u32, j: u32, of_bodies: f32, same_body: bool) -> f32 {
        if self.joined(i, j) {
            return 0.0;
        }
        if !same_body {
            return of_bodies;
        }
        at_rest(of_bodies, [self.rest[i as usize], self.rest[j as usize]])
    }

    /// Where a particle was at rest (m).
    pub fn rest(&self, place: usize) -> Option<Vec4> {
        self.rest.get(place).copied()
    }
}

/// The contact distance of two particles of a body (m), given the body's and where they were at rest; the
/// body's where they have no rest pose.
#[inline(always)]
pub(super) fn at_rest(of_body: f32, [a, b]: [Vec4; 2]) -> f32 {
    of_body.min(REST_PART * (a - b).length())
}

/// What structures were worked out for.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Signature {
    constraints: usize,
    flags: Vec<(bool, bool)>,
}

/// Brings structures, contact radii and roots of friction up to date, at the start of a tick.
pub(super) fn follow(world: &World, mirror: &mut Mirror) {
    let flags: Vec<(bool, bool)> =
        mirror.bodies.iter().map(|b| (b.self_contact, b.soft_contact)).collect();
    if !flags.iter().any(|(within, across)| *within || *across) {
        mirror.islands.iter_mut().for_each(|island| island.soft = None);
        mirror.soft.signature = Signature::default();
        return;
    }
    let signature = Signature { constraints: mirror.constraints, flags };
    if core::mem::take(&mut mirror.soft.stale) || signature != mirror.soft.signature {
        mirror.soft.signature = signature;
        work_out(world, mirror);
    }
    for body in &mut mirror.bodies {
        body.contact_radius = body.radius.max(0.5 * body.edge).min(MAX_RADIUS);
        let root = |coefficient: f32| {
            // Nor what is not a number.
            if coefficient > 0.0 { coefficient.min(1e12).sqrt() } else { 0.0 }
        };
        let Friction { fixed, sliding } = body.friction;
        body.root_friction = Friction { fixed: root(fixed), sliding: root(sliding) };
    }
    let Mirror { islands, bodies, .. } = mirror;
    for island in islands {
        let Some(soft) = &mut island.soft else { continue };
        let own = &island.bodies;
        let any = |touch: &dyn Fn(u32, u32) -> bool| {
            own.iter().enumerate().any(|(n, a)| own[n..].iter().any(|b| touch(*a, *b)))
        };
        let structure = &mut soft.structure;
        structure.within =
            structure.any_plain() && any(&|a, b| contact_distance(bodies, a, b) > 0.0);
        structure.bones_within = structure.turning > 0 && any(&|a, b| meets(bodies, a, b));
    }
}

/// Edges that constraints make, summed up body by body.
#[derive(Clone, Copy, Debug, Default)]
struct Edges {
    sum: f64,
    count: u32,
}

fn work_out(world: &World, mirror: &mut Mirror) {
    let mut edges = vec![Edges::default(); mirror.bodies.len()];
    let mut parts = vec![0u32; mirror.bodies.len()];
    for body in mirror.islands.iter().flat_map(|island| &island.bodies) {
        parts[*body as usize] += 1;
    }
    for number in 0..mirror.islands.len() {
        let island = &mirror.islands[number];
        let flagged = |b: &u32| {
            let MirrorBody { self_contact, soft_contact, .. } = mirror.bodies[*b as usize];
            self_contact || soft_contact
        };
        if !island.bodies.iter().any(flagged) {
            mirror.islands[number].soft = None;
            continue;
        }
        let start = island.slots.start;
        let mut structure = join(island, |particle, length| {
            let edges = &mut edges[mirror.body[start + particle as usize] as usize];
            edges.sum += f64::from(length);
            edges.count += 1;
        });
        structure.turning = island.oriented.len();
        for (place, slot) in island.particles().enumerate() {
            let body = mirror.body[slot];
            let MirrorBody { soft_contact, self_contact, entity, .. } =
                mirror.bodies[body as usize];
            // A body in several islands touches itself across them.
            if soft_contact || (self_contact && parts[body as usize] > 1) {
                let turns = mirror.oriented_of[slot] != NOT_ORIENTED;
                let list = if turns { &mut structure.bones } else { &mut structure.soft };
                list.push(place as u32);
            }
            let scale = entity.and_then(|e| world.get::<BuiltScale>(e)).map_or(Vec3::ONE, |s| s.0);
            let pose = world.get::<RestPose>(mirror.entities[slot]);
            let rest = pose.map(|r| scale * r.position);
            structure.rest.push(rest.unwrap_or(Vec3::NAN).extend(0.0));
            if island.turning() {
                structure.rest_rotation.push(pose.map_or(Quat::IDENTITY, |r| r.rotation));
            }
        }
        let soft = mirror.islands[number].soft.get_or_insert_with(Box::<SoftIsland>::default);
        soft.structure = structure;
    }
    for (body, edges) in mirror.bodies.iter_mut().zip(edges) {
        let mean = (edges.sum / f64::from(edges.count.max(1))) as f32;
        body.edge = if mean.is_finite() { mean } else { 0.0 };
    }
}

/// Who is joined to whom; calls `edge` with each end of each distance constraint and its length (m).
fn join(island: &Island, mut edge: impl FnMut(u32, f32)) -> Structure {
    let mut joined: Vec<[u32; 2]> = Vec::new();
    for batch in island.batches.iter().flatten() {
        batch.joined(&mut |[i, j], length| {
            joined.extend([[i, j], [j, i]]);
            if let Some(length) = length.filter(|l| l.is_finite() && *l > 0.0) {
                edge(i, length);
                edge(j, length);
            }
        });
    }
    let count = island.particles().len();
    let graph = if island.turning() {
        let mut all = joined.clone();
        for batch in island.batches.iter().flatten() {
            batch.grouped(&mut |group| join_group(&mut all, group));
        }
        Graph::new(count, all)
    } else {
        Graph::default()
    };
    Structure { joined: Graph::new(count, joined), graph, ..default() }
}

/// Groups up to this size join each two of their particles; greater ones join all to their first, which comes
/// to the same for those who look for a common neighbour.
const SMALL_GROUP: usize = 32;

fn join_group(joined: &mut Vec<[u32; 2]>, group: &[u32]) {
    let centres = if group.len() <= SMALL_GROUP { group.len() } else { 1 };
    for (n, &i) in group[..centres].iter().enumerate() {
        for &j in &group[n + 1..] {
            joined.extend([[i, j], [j, i]]);
        }
    }
}
