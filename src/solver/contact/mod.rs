//! Contacts between particles and obstacles: C = d(x) − r ≥ 0, with d the distance from the surface, and
//! Coulomb friction.
//!
//! ```text
//!            ● x       r  radius of the particle
//!        n ↑ ┊ d       n  outward normal where the surface is nearest
//!   ─────────┴──────
//!   ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒
//! ```
//!
//! Which pieces of obstacles a run of particles may meet is looked up once a tick ([`blocks`]); the
//! distance is asked in every substep ([`narrow`]). A particle that moves more than most of its radius in a
//! substep, relative to the piece, is followed along its path, so that it passes through nothing.
//!
//! A substep corrects the approach of that substep in full, and overlap that was there before at most
//! at 3 m/s: so a particle that starts inside is pushed out, not shot out. In the velocity pass a
//! contact's normal speed becomes −e times the approach speed, or no more than it was, and friction
//! acts on the tangential velocity relative to the surface.
//!
//! Particles that turn meet obstacles with their ellipsoids ([`ellipsoid`], [`growth`], [`triangles`]), and
//! take impulses where they touch ([`turning`]).

mod blocks;
mod ellipsoid;
mod events;
mod growth;
mod narrow;
mod near;
mod pieces;
mod triangles;
mod turning;

pub use events::{ContactBegan, ContactEnded};
pub(crate) use events::{Touching, report_contacts};
pub(crate) use pieces::{Found, Obstacles, wake_beside};

use super::{
    diagnostics::{SolverDiagnostics, Stage},
    mirror::{Island, IslandView, Mirror, MirrorBody},
    momentum::Momentum,
    settings::{SolverSettings, StepTime},
    soft_contact,
    tasks::for_each_island,
};
use crate::{math::bounds::Bounds, obstacle::ContactLayers};
use bevy::{
    math::{DVec3, Vec3A, Vec4},
    prelude::*,
};
use blocks::{BLOCK, Block, look_up, look_up_all, neighbourly_order};
use near::{NearPiece, Pair, body_place};
use turning::{TurningHit, turning_velocities};

/// Greatest speed at which overlap that was there before a substep is corrected (m/s).
const MAX_DEPENETRATION_SPEED: f32 = 3.0;

/// A contact of one particle in this substep.
#[derive(Clone, Copy, Debug)]
struct Hit {
    normal: Vec3A,
    /// Slot in the island.
    particle: u32,
    /// Place in the list of near pieces.
    near: u32,
    /// Normal correction (m).
    correction: f32,
    /// Normal speed relative to the surface before velocities were updated (m/s).
    approach: f32,
}

/// What must stay the same for what was looked up to hold.
#[derive(Debug, PartialEq)]
struct Known {
    origin: DVec3,
    /// Radius and layers of each body.
    bodies: Vec<(f32, ContactLayers)>,
}

/// Where a particle touches a piece of an obstacle.
pub(crate) struct TouchingPoint {
    /// Slot in the island.
    pub particle: u32,
    /// Place in the obstacles' list of pieces.
    pub piece: u32,
    pub normal: Vec3,
    /// From the particle to where it touches (m), for one that turns.
    pub lever: Option<Vec3>,
}

/// What an island's particles touch.
#[derive(Default)]
pub(crate) struct IslandContacts {
    near: Vec<NearPiece>,
    /// Slots, block by block; made once after a compilation.
    order: Vec<u32>,
    /// Where each particle, in that order, was at the end of the last substep.
    last: Vec<Vec3A>,
    blocks: Vec<Block>,
    /// The box within which the near pieces were looked up.
    room: Bounds,
    /// By near piece, then body of the island.
    pairs: Vec<Pair>,
    hits: Vec<Hit>,
    /// Those of particles that turn.
    turning: Vec<TurningHit>,
    /// Whether a later iteration may have found the same contacts again.
    repeated: bool,
    /// What the near pieces and the blocks were looked up for.
    known: Option<Known>,
    /// How many blocks looked again in this tick.
    looked: usize,
    /// Contacts of the last substep.
    pub count: usize,
    /// Momentum after prediction, where it is to be given back.
    pub momentum: Option<Momentum>,
}

impl IslandContacts {
    pub fn begin_substep(&mut self) {
        self.hits.clear();
        self.turning.clear();
        self.repeated = false;
        self.count = 0;
    }

    /// Whether anything touches in this substep.
    pub fn touching(&self) -> bool {
        !(self.hits.is_empty() && self.turning.is_empty())
    }

    /// What touches in this substep.
    pub fn points(&self) -> impl Iterator<Item = TouchingPoint> {
        let piece = |near: u32| self.near[near as usize].number;
        let plain = self.hits.iter().map(move |hit| TouchingPoint {
            particle: hit.particle,
            piece: piece(hit.near),
            normal: hit.normal.into(),
            lever: None,
        });
        plain.chain(self.turning.iter().map(move |hit| TouchingPoint {
            particle: hit.particle,
            piece: piece(hit.near),
            normal: hit.normal.into(),
            lever: Some(hit.lever.into()),
        }))
    }

    /// Forgets the last tick, but for what was looked up where that still holds.
    pub fn begin_tick(&mut self, island: &Island, bodies: &[MirrorBody], obstacles: &Obstacles) {
        let body = |b: &u32| &bodies[*b as usize];
        let known = Known {
            origin: island.origin,
            bodies: island.bodies.iter().map(|b| (body(b).radius, body(b).layers)).collect(),
        };
        // What travels looks around anew rather than block by block.
        let travels = self.looked * 4 > self.blocks.len();
        self.looked = 0;
        if !obstacles.unchanged || travels || self.known.as_ref() != Some(&known) {
            self.near.clear();
            self.blocks.clear();
            self.room = Bounds::EMPTY;
            self.known = Some(known);
        }
        self.pairs.clear();
        for near in &self.near {
            let obstacle = obstacles.pieces[near.number as usize].obstacle as usize;
            let obstacle = &obstacles.all[obstacle].obstacle;
            self.pairs.extend(island.bodies.iter().map(|b| Pair::new(body(b), obstacle)));
        }
    }
}

/// Pushes particles apart, then out of obstacles.
pub(super) fn contacts(
    mut mirror: ResMut<Mirror>,
    settings: Res<SolverSettings>,
    time: Res<StepTime>,
    mut diagnostics: ResMut<SolverDiagnostics>,
) {
    let started = SolverDiagnostics::start();
    let allowance = allowance(&settings, &time);
    soft_contact::project(&mut mirror, settings.max_tasks, &time, allowance);
    for_each_island(&mut mirror.awake(), settings.max_tasks, |view| {
        push_out(view, &time, allowance);
    });
    diagnostics.stop(Stage::Contacts, started);
}

/// How much of the overlap that was there before a substep is undone in it (m).
pub(super) fn allowance(settings: &SolverSettings, time: &StepTime) -> f32 {
    MAX_DEPENETRATION_SPEED * settings.length_unit() * time.h
}

/// Pushes the particles of one island out of obstacles; `allowance` is how much of the overlap that was
/// there before is undone (m).
pub(super) fn push_out(view: &mut IslandView<'_>, time: &StepTime, allowance: f32) {
    if view.shared.obstacles.pieces.is_empty() {
        return;
    }
    let mut contacts = core::mem::take(view.contacts);
    if contacts.blocks.is_empty() {
        contacts.look_around(view, time);
    } else if time.iteration == 0 {
        contacts.place_pieces(view, time);
    }
    if time.substep == 0 && time.iteration == 0 {
        contacts.last.resize(contacts.order.len(), Vec3A::ZERO);
        for number in 0..contacts.blocks.len() {
            if !contacts.blocks[number].candidates.is_empty() {
                contacts.recall(view, number, time.h);
            }
        }
    }
    contacts.repeated |= time.iteration > 0;
    for number in 0..contacts.blocks.len() {
        contacts.push_block(view, number, time, allowance);
    }
    if contacts.touching() {
        view.island.touched = true;
    }
    *view.contacts = contacts;
}

impl IslandContacts {
    /// Finds what each block may meet in the rest of this tick.
    fn look_around(&mut self, view: &IslandView<'_>, time: &StepTime) {
        if self.order.len() != view.len() {
            self.order = neighbourly_order(&view.position[..view.len()]);
        }
        let rooms = (0..view.len().div_ceil(BLOCK))
            .map(|number| room(view, members(&self.order, number), time));
        self.blocks.extend(rooms.map(Block::new));
        self.room = self.blocks.iter().fold(Bounds::EMPTY, |all, block| all.union(block.room));
        let found = view.shared.obstacles.within(&self.room, view.island.origin);
        found.into_iter().for_each(|piece| self.add_near(view, piece, time));
        let all: Vec<u32> = (0..self.near.len() as u32).collect();
        look_up_all(&mut self.blocks, &self.near, &all);
    }

    fn add_near(&mut self, view: &IslandView<'_>, number: u32, time: &StepTime) {
        let piece = &view.shared.obstacles.pieces[number as usize];
        let obstacle = &view.shared.obstacles.all[piece.obstacle as usize];
        let pairs = view
            .island
            .bodies
            .iter()
            .map(|body| Pair::new(&view.shared.bodies[*body as usize], &obstacle.obstacle));
        let pairs: Vec<Pair> = pairs.collect();
        if pairs.iter().any(|pair| pair.meets) {
            let origin = view.island.origin;
            self.near.push(NearPiece::new(number, piece, &obstacle.motion, time.sweep(), origin));
            self.pairs.extend(pairs);
        }
    }

    /// Puts the near pieces where they are in this substep.
    fn place_pieces(&mut self, view: &IslandView<'_>, time: &StepTime) {
        for near in &mut self.near {
            let piece = &view.shared.obstacles.pieces[near.number as usize];
            let motion = &view.shared.obstacles.all[piece.obstacle as usize].motion;
            near.place(piece, motion, time.sweep(), view.island.origin);
        }
    }

    /// Looks up the candidates of a block that left its room.
    fn look_again(&mut self, view: &IslandView<'_>, number: usize, time: &StepTime) {
        let room = room(view, members(&self.order, number), time).union(self.blocks[number].last);
        self.blocks[number].room = room;
        self.looked += 1;
        if !self.room.contains(&room) {
            self.room = self.room.union(room);
            let found = view.shared.obstacles.within(&self.room, view.island.origin);
            for piece in found {
                if !self.near.iter().any(|near| near.number == piece) {
                    self.add_near(view, piece, time);
                }
            }
        }
        look_up(&mut self.blocks[number], &self.near, 0..self.near.len() as u32);
    }
}

/// Particles of a block, as slots in the island.
fn members(order: &[u32], block: usize) -> &[u32] {
    &order[block * BLOCK..order.len().min((block + 1) * BLOCK)]
}

/// Place in its block of what is at `place` in the order.
fn members_place(place: usize) -> usize {
    place % BLOCK
}

/// The least and the greatest radius of some particles (m), and whether one of them is of a planar body.
struct Extent {
    least: f32,
    radius: f32,
    planar: bool,
}

fn reach(view: &IslandView<'_>, particles: &[u32]) -> Extent {
    if let [body] = view.island.bodies[..]
        && view.oriented_of.is_empty()
    {
        let body = &view.shared.bodies[body as usize];
        return Extent { least: body.radius, radius: body.radius, planar: body.planar };
    }
    let none = Extent { least: f32::INFINITY, radius: 0.0, planar: false };
    particles.iter().fold(none, |all, i| {
        let body = &view.shared.bodies[view.body[*i as usize] as usize];
        let [least, greatest] = match view.oriented_at(*i as usize) {
            Some(oriented) => ellipsoid::radii(oriented, body),
            None => [body.radius; 2],
        };
        Extent {
            least: all.least.min(least),
            radius: all.radius.max(greatest),
            planar: all.planar || body.planar,
        }
    })
}

/// The box that some particles, with their radius, will stay in for a tick if all goes on as it does, and
/// some room.
fn room(view: &IslandView<'_>, particles: &[u32], time: &StepTime) -> Bounds {
    let left = time.tick;
    let old = view.old(time.h);
    let mut bounds = Bounds::EMPTY;
    let mut fastest: f32 = 0.0;
    let mut pull: f32 = 0.0;
    for &i in particles {
        let i = i as usize;
        let x = Vec3A::from_vec4(view.position[i]);
        let v = Vec3A::from_vec4(view.velocity[i] + view.velocity_change[i]);
        bounds = bounds.with(x).with(x + left * v).with(Vec3A::from_vec4(old.get(i)));
        fastest = fastest.max(v.length_squared());
        pull = pull.max(Vec3A::from_vec4(view.acceleration[i]).length_squared());
    }
    let Extent { radius, planar, .. } = reach(view, particles);
    let margin = 2.0 * radius + left * (0.25 * fastest.sqrt() + 0.5 * left * pull.sqrt());
    flatten(bounds.inflate(margin), planar)
}

/// A planar body meets what stands in its plane, whatever its z.
fn flatten(mut bounds: Bounds, planar: bool) -> Bounds {
    if planar {
        (bounds.min.z, bounds.max.z) = (f32::NEG_INFINITY, f32::INFINITY);
    }
    bounds
}

/// Notes how fast each contact approaches, before velocities are updated.
pub(super) fn note_approach(view: &mut IslandView<'_>, time: &StepTime) {
    if time.substeps == 0 {
        return;
    }
    let mut hits = core::mem::take(&mut view.contacts.hits);
    if view.contacts.repeated {
        merge(&mut hits, &view.contacts.near);
        let mut turning = core::mem::take(&mut view.contacts.turning);
        merge(&mut turning, &view.contacts.near);
        view.contacts.turning = turning;
    }
    for hit in &mut hits {
        let i = hit.particle as usize;
        let velocity = Vec3A::from_vec4(view.velocity[i] + view.velocity_change[i]);
        let moving = surface_velocity(&view.contacts.near[hit.near as usize], view, i, time);
        hit.approach = hit.normal.dot(velocity - moving);
    }
    view.contacts.hits = hits;
}

/// A contact that several iterations may find again.
trait Repeated {
    /// The particle, the near piece, and the normal.
    fn place(&self) -> (u32, u32, Vec3A);
    /// Takes over what a later iteration did there.
    fn add(&mut self, later: &Self);
}

impl Repeated for Hit {
    fn place(&self) -> (u32, u32, Vec3A) {
        (self.particle, self.near, self.normal)
    }

    fn add(&mut self, later: &Self) {
        self.correction += later.correction;
        self.normal = later.normal;
    }
}

/// Several iterations find the same contact again: their corrections add up, the approach is the first's.
fn merge<H: Repeated>(hits: &mut Vec<H>, near: &[NearPiece]) {
    hits.sort_by_key(|hit| {
        let (particle, piece, _) = hit.place();
        (particle, near[piece as usize].number)
    });
    hits.dedup_by(|later, hit| {
        let ((p, n, normal), (q, m, other)) = (later.place(), hit.place());
        let same = (p, n) == (q, m) && normal.dot(other) > 0.99;
        if same {
            hit.add(later);
        }
        same
    });
}

/// Velocity (m/s) of a piece's surface at a particle.
fn surface_velocity(
    near: &NearPiece,
    view: &IslandView<'_>,
    particle: usize,
    time: &StepTime,
) -> Vec3A {
    match &near.shift {
        Some(shift) => shift.at(Vec3A::from_vec4(view.position[particle])) / time.h,
        None => Vec3A::ZERO,
    }
}

/// Restitution and friction of the contacts of this substep, after velocities are updated.
pub(super) fn contact_velocities(view: &mut IslandView<'_>, time: &StepTime) {
    let hits = core::mem::take(&mut view.contacts.hits);
    let bodies = view.island.bodies.len();
    let per_second = time.h.recip();
    view.contacts.count = hits.len();
    for hit in &hits {
        let i = hit.particle as usize;
        let pair = hit.near as usize * bodies + body_place(view, i);
        let Pair { friction, restitution, .. } = view.contacts.pairs[pair];
        let moving = surface_velocity(&view.contacts.near[hit.near as usize], view, i, time);
        let relative = Vec3A::from_vec4(view.velocity[i] + view.velocity_change[i]) - moving;
        let speed = relative.dot(hit.normal);
        let wanted = if hit.approach < 0.0 && restitution == 0.0 {
            0.0
        } else if hit.approach < 0.0 {
            // A resting contact must not bounce off the gravity of one substep.
            let threshold = 2.0 * time.h * Vec3A::from_vec4(view.acceleration[i]).length();
            if -hit.approach > threshold { -restitution * hit.approach } else { 0.0 }
        } else {
            speed.min(hit.approach)
        };
        let tangential = relative - speed * hit.normal;
        let (slowed, put_back) = friction.apply(tangential, per_second * hit.correction, time.h);
        let change = (wanted - speed) * hit.normal + slowed - tangential;
        view.velocity_change[i] += Vec4::from((change, 0.0));
        view.position[i] += Vec4::from((put_back, 0.0));
        let impulse = view.mass[i] * (per_second * hit.correction + wanted - speed);
        view.contacts.pairs[pair].impulse += impulse.max(0.0);
    }
    view.contacts.hits = hits;
    if !view.contacts.turning.is_empty() {
        let mut contacts = core::mem::take(view.contacts);
        contacts.count += contacts.turning.len();
        turning_velocities(&mut contacts, view, time);
        *view.contacts = contacts;
    }
}
