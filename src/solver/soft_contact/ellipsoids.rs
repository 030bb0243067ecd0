//! Pairs of ellipsoids, or of one and a particle, that may touch: projection and velocities.
//!
//! ```text
//!     ___              C = gap + o ≥ 0          o: how far the two overlap at rest
//!    ╱ i ╲__   n       w = n·Wn + (r×n)·I⁻¹(r×n)     each, with r the arm from its centre to ×
//!    ╲___×→ ╲          λ = Δ/(wᵢ + wⱼ),   Δ = min(−C, C_before − C + allowance)
//!        ╲_j_╱         Δx = ± λ Wn,   Δθ = ± λ I⁻¹(r×n)
//! ```
//!
//! Normal, arms and gap are worked out once a substep, for the centres as they were at its start, and C is
//! linear from there: `C = C_before + n·(Δxⱼ + Δθⱼ×rⱼ − Δxᵢ − Δθᵢ×rᵢ)`. The velocity that a substep ends with
//! is the way since its start, so what acts on both at one point, in opposite senses, must be balanced about
//! the centres as they were then: so angular momentum is kept, to rounding, as linear momentum is. What the
//! positions' last bits lose of a push is given to the velocities.
//!
//! Where both are planar, distances along z do not count and everything happens in the plane; W leaves a planar
//! particle in its plane beside one of space too. A pair that may pass by half of one another in a substep is
//! followed on its way, and has the normal of the moment in which it first touches.
//!
//! In the velocity pass the point of contact separates no faster than it did before the substep (there is no
//! restitution between soft bodies), and Coulomb friction acts on the tangential velocity there, spin
//! included: by the impulse that stops it, or by at most μ times the normal one, λ/h.

use super::super::mirror::Oriented;
use super::pairs::{NONE, any_direction, closest};
use crate::{
    constraint::OldPositions,
    math::{
        ellipsoid_pair::{EllipseMatrix, EllipsoidMatrix, Meeting, first_share, meet},
        rotation::turned,
    },
    obstacle::Friction,
};
use bevy::{math::Vec4, prelude::*};

/// One of two that may touch.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub slot: u32,
    /// Its place among the particles that turn, or [`NONE`].
    pub turning: u32,
    /// Its greatest semi-axis (m): where it does not turn, the radius that it touches others at.
    pub radius: f32,
    /// Its least one (m).
    pub least: f32,
    /// Whether what touches it turns it.
    pub levered: bool,
    /// Whether it keeps its z.
    pub planar: bool,
}

/// Two that may touch, one of them an ellipsoid at least.
#[derive(Clone, Copy, Debug)]
pub(super) struct EllipsoidPair {
    pub ends: [End; 2],
    /// What is added to the second's position to compare it with the first's (m).
    pub shift: Vec3,
    /// Whether z does not count.
    pub flat: bool,
    /// Whether the two may pass by half of one another in a substep.
    pub fast: bool,
    /// How far they overlap at rest (m).
    pub allowed: f32,
    pub friction: Friction,
    /// λ of Perram and Wertheim.
    share: f32,
    /// Place of its touch in this substep, [`NONE`], or [`CLEAR`].
    touch: u32,
    /// For how many substeps more it need not be looked at.
    wait: u32,
}

/// Instead of the place of a touch: the two are out of reach in this substep.
const CLEAR: u32 = NONE - 1;

impl EllipsoidPair {
    pub fn new(ends: [End; 2], flat: bool) -> Self {
        let means = ends.map(|end| (end.radius * end.least).max(0.0).sqrt());
        Self {
            ends,
            flat,
            shift: Vec3::ZERO,
            fast: false,
            allowed: 0.0,
            friction: Friction::NONE,
            share: first_share(means),
            touch: NONE,
            wait: 0,
        }
    }
}

/// A pair that touches in this substep, or is near enough to.
#[derive(Clone, Copy, Debug)]
struct Touch {
    ends: [End; 2],
    normal: Vec3,
    arms: [Vec3; 2],
    /// r×n of each that turns by contact.
    levers: [Vec3; 2],
    shift: Vec3,
    /// C at the start of the substep (m).
    before: f32,
    /// How far the point of contact parts in the substep if nothing is pushed (m).
    drift: f32,
    /// How each moves by what acts along the normal.
    responses: [Response; 2],
    /// Separating speed of the point of contact that positions were predicted with (m/s).
    speed_before: f32,
    /// Sum of λ (kg m), and how much of it rotations know of.
    pushed: f32,
    turned: f32,
    /// What positions could not hold of the push (m): small ones are lost on one end and not on the other.
    lost: [Vec4; 2],
    friction: Friction,
}

/// Pairs that may touch, and those that did in this substep.
#[derive(Debug, Default)]
pub(super) struct EllipsoidList {
    pub pairs: Vec<EllipsoidPair>,
    touches: Vec<Touch>,
}

/// What projection works on.
pub(super) struct Turnable<'a> {
    pub position: &'a mut [Vec4],
    pub old: OldPositions<'a>,
    pub inverse_mass: &'a [f32],
    pub oriented: &'a mut [Oriented],
    /// How much of the overlap that was there before a substep is undone (m).
    pub allowance: f32,
}

/// What the velocity pass works on.
pub(super) struct Spinning<'a> {
    pub position: &'a [Vec4],
    pub velocity: &'a [Vec4],
    pub velocity_change: &'a mut [Vec4],
    pub inverse_mass: &'a [f32],
    pub oriented: &'a mut [Oriented],
}

/// A correction above this part of the lesser least semi-axis calls for another sweep.
const MUCH: f32 = 0.05;

/// Most sweeps over the pairs in one iteration.
const MOST_SWEEPS: usize = 4;

/// No contact turns a particle further in one go (rad).
const MOST_TURN: f32 = 0.25;

/// A pair that moved further than this part of its least semi-axes in a substep is followed on its way.
pub(super) const FAST: f32 = 0.4;

/// A pair whose gap is that many times what it may lose in a substep is not looked at for as many less one.
const FAR: f32 = 4.0;

/// What may be lost of a gap in a substep whatever the speeds say, as a part of the least semi-axes.
const SLACK: f32 = 0.02;

/// Steps by which the first moment of touching is found on such a way.
const HALVINGS: usize = 8;

/// How a push along some direction moves an end, per unit of it.
#[derive(Clone, Copy, Debug)]
struct Response {
    linear: Vec3,
    turn: Vec3,
    /// Generalised inverse mass (1/kg).
    weight: f32,
}

#[inline]
fn respond(
    end: &End,
    lever: Vec3,
    n: Vec3,
    inverse_mass: &[f32],
    oriented: &[Oriented],
) -> Response {
    let mut linear = inverse_mass[end.slot as usize] * n;
    if end.planar {
        linear.z = 0.0;
    }
    let mut response = Response { linear, turn: Vec3::ZERO, weight: linear.dot(n) };
    if end.levered
        && let Some(oriented) = oriented.get(end.turning as usize)
    {
        response.turn = oriented.inverse_inertia_times(lever);
        response.weight += response.turn.dot(lever);
    }
    response
}

/// The spin (rad/s) of an end that what touches it can turn.
#[inline]
fn spin(end: &End, oriented: &[Oriented]) -> Vec3 {
    match oriented.get(end.turning as usize) {
        Some(oriented) if end.levered => oriented.angular_velocity,
        _ => Vec3::ZERO,
    }
}

/// How far an end that what touches it can turn was turned by constraints in this substep (rad).
#[inline]
fn turn(end: &End, oriented: &[Oriented]) -> Vec3 {
    match oriented.get(end.turning as usize) {
        Some(oriented) if end.levered => oriented.turn,
        _ => Vec3::ZERO,
    }
}

impl EllipsoidList {
    /// Forgets all pairs, but not what touched in this substep.
    pub fn clear_pairs(&mut self) {
        self.pairs.clear();
    }

    pub fn begin_substep(&mut self) {
        self.touches.clear();
        self.pairs.iter_mut().for_each(|pair| pair.touch = NONE);
    }

    /// The pairs that touched in this substep, their normals from the first to the second, and the arms from
    /// the first to where they touch (m).
    pub fn touches(&self) -> impl Iterator<Item = ([u32; 2], Vec3, Vec3)> {
        let pushed = self.touches.iter().filter(|touch| touch.pushed > 0.0);
        pushed.map(|touch| (touch.ends.map(|end| end.slot), touch.normal, touch.arms[0]))
    }

    /// How many touched in this substep.
    pub fn touching(&self) -> usize {
        self.touches.iter().filter(|touch| touch.pushed > 0.0).count()
    }

    /// Projects every pair; where that moved any by much, again.
    pub fn project(&mut self, moving: &mut Turnable<'_>) {
        let Self { pairs, touches } = self;
        for pair in pairs.iter_mut().filter(|pair| pair.touch == NONE) {
            if pair.wait > 0 {
                pair.wait -= 1;
                pair.touch = CLEAR;
            } else {
                look(pair, touches, moving);
            }
        }
        for _ in 0..MOST_SWEEPS {
            let mut much = false;
            for touch in touches.iter_mut() {
                much |= moving.push(touch);
            }
            if !much {
                break;
            }
        }
        touches.iter_mut().for_each(|touch| moving.turn(touch));
    }

    /// Restitution (none) and friction of what touched, after velocities are updated.
    pub fn velocities(&self, spinning: &mut Spinning<'_>, h: f32) {
        for touch in self.touches.iter().filter(|touch| touch.pushed > 0.0) {
            for (end, lost) in touch.ends.iter().zip(touch.lost) {
                spinning.velocity_change[end.slot as usize] += lost / h;
            }
            let (n, normal_impulse) = (touch.normal, touch.pushed / h);
            let arms = spinning.arms(touch);
            let mut relative = spinning.relative(touch, arms);
            let speed = relative.dot(n);
            let wanted = touch.speed_before.max(0.0);
            if wanted < speed {
                spinning.push(touch, arms, n, |weight| (wanted - speed) / weight);
                relative = spinning.relative(touch, arms);
            }
            let tangential = relative - relative.dot(n) * n;
            let slip = tangential.length();
            let along = tangential / slip;
            // Not above 0 includes what is not a number.
            if slip > 0.0 && along.is_finite() {
                spinning.push(touch, arms, along, |weight| {
                    let stopping = slip / weight;
                    let Friction { fixed, sliding } = touch.friction;
                    if stopping <= fixed * normal_impulse {
                        -stopping
                    } else {
                        -stopping.min(sliding * normal_impulse)
                    }
                });
            }
        }
    }
}

/// Works out how a pair is placed that is within reach, and notes it where it may touch in this substep.
#[inline]
fn look(pair: &mut EllipsoidPair, touches: &mut Vec<Touch>, moving: &Turnable<'_>) {
    let [i, j] = pair.ends.map(|end| end.slot as usize);
    let mut now = (moving.position[j] - moving.position[i]).truncate() + pair.shift;
    if pair.flat {
        now.z = 0.0;
    }
    let reach = pair.ends[0].radius + pair.ends[1].radius;
    // Others may push them into one another yet.
    let reach = reach + MUCH * (pair.ends[0].least + pair.ends[1].least);
    if !pair.fast && now.length_squared() >= reach * reach {
        return;
    }
    let mut start = (moving.old.get(j) - moving.old.get(i)).truncate() + pair.shift;
    if pair.flat {
        start.z = 0.0;
    }
    let met = place(pair, start, now, moving);
    let Some(Meeting { gap, normal, arms }) = met else {
        pair.touch = CLEAR;
        return;
    };
    let (weights, turning) = (moving.inverse_mass, &*moving.oriented);
    let levers = [0, 1].map(|end| arms[end].cross(normal));
    let respond = |end: usize| respond(&pair.ends[end], levers[end], normal, weights, turning);
    let mut touch = Touch {
        ends: pair.ends,
        normal,
        arms,
        levers,
        shift: pair.shift,
        before: 0.0,
        drift: 0.0,
        responses: [respond(0), respond(1)],
        speed_before: 0.0,
        pushed: 0.0,
        turned: 0.0,
        lost: [Vec4::ZERO; 2],
        friction: pair.friction,
    };
    let h = moving.old.h;
    let spun = touch.apart(|end| spin(end, turning));
    let turned = touch.apart(|end| turn(end, turning));
    touch.before = gap + pair.allowed - turned - h * spun;
    let OldPositions { velocity, velocity_change, .. } = moving.old;
    let velocity = |slot: usize| (velocity[slot] + velocity_change[slot]).truncate();
    touch.speed_before = normal.dot(velocity(j) - velocity(i)) + spun;
    touch.drift = h * touch.speed_before;
    pair.touch = touches.len() as u32;
    touches.push(touch);
}

/// How a pair is placed whose centres were `start` apart at the start of the substep and are `now` apart, if
/// it may touch: as it was at the start, but turned as it is now.
///
/// Most pairs within reach are long ones side by side: those that are far apart for how they move are not looked
/// at again at once. What makes them faster meanwhile is noticed a few substeps later.
#[inline]
fn place(
    pair: &mut EllipsoidPair,
    start: Vec3,
    now: Vec3,
    moving: &Turnable<'_>,
) -> Option<Meeting<Vec3>> {
    let way = (now - start).length();
    let least = pair.ends[0].least + pair.ends[1].least;
    if pair.fast && way > FAST * least {
        return meet_on_way(pair, start, now, moving);
    }
    let turning = |end: &End| {
        let oriented = moving.oriented.get(end.turning as usize);
        oriented.map_or(0.0, |o| end.radius * o.angular_velocity.length())
    };
    let spun = moving.old.h * (turning(&pair.ends[0]) + turning(&pair.ends[1]));
    // How much nearer the two may come in a substep, about.
    let nearer = way + spun + SLACK * least;
    let met = meet_at(pair, start, FAR * nearer, moving);
    let gap = met.map_or(f32::INFINITY, |met| met.gap + pair.allowed);
    if gap > FAR * nearer {
        pair.wait = FAR as u32 - 1;
    } else if gap > 0.5 * FAR * nearer {
        pair.wait = FAR as u32 / 2 - 1;
    }
    met.filter(|_| gap < 1.5 * nearer)
}

impl Touch {
    /// How far, or how fast, the point of contact parts along the normal by what turns the ends.
    #[inline]
    fn apart(&self, turning: impl Fn(&End) -> Vec3) -> f32 {
        let [first, second] = &self.ends;
        self.levers[1].dot(turning(second)) - self.levers[0].dot(turning(first))
    }
}

impl Turnable<'_> {
    /// Pushes a pair apart if it overlaps; whether by much.
    #[inline]
    fn push(&mut self, touch: &mut Touch) -> bool {
        let [i, j] = touch.ends.map(|end| end.slot as usize);
        // Differences of what is near, so that nothing is lost on where the two are.
        let pushed = |slot: usize| self.position[slot] - self.old.predicted[slot];
        let between = (pushed(j) - pushed(i)).truncate();
        let turned = touch.apart(|end| turn(end, self.oriented));
        let parted = touch.normal.dot(between) + turned + touch.drift;
        let correction = (-touch.before).min(self.allowance) - parted;
        if correction <= 0.0 {
            return false;
        }
        let [first, second] = touch.responses;
        let weight = first.weight + second.weight;
        let mut push = correction / weight;
        // Not above 0 includes what is not a number.
        if !(weight > 0.0 && push > 0.0 && push < f32::MAX) {
            return false;
        }
        let turn = push * first.turn.abs().max(second.turn.abs()).max_element();
        if turn > MOST_TURN {
            push *= MOST_TURN / turn;
        }
        touch.pushed += push;
        let [lost_by_first, lost_by_second] = &mut touch.lost;
        for (end, response, push, lost) in [
            (&touch.ends[0], &first, -push, lost_by_first),
            (&touch.ends[1], &second, push, lost_by_second),
        ] {
            let change = (push * response.linear).extend(0.0);
            let position = &mut self.position[end.slot as usize];
            let before = *position;
            *position += change;
            *lost += change - (*position - before);
            if let Some(oriented) = self.oriented.get_mut(end.turning as usize) {
                oriented.turn += push * response.turn;
            }
        }
        push * weight > MUCH * touch.ends[0].least.min(touch.ends[1].least)
    }

    /// Turns a pair as it was pushed: once for all sweeps, for no sweep needs to know.
    #[inline]
    fn turn(&mut self, touch: &mut Touch) {
        let push = touch.pushed - touch.turned;
        if push > 0.0 {
            touch.turned = touch.pushed;
            for (end, angle) in
                [(0, -push * touch.responses[0].turn), (1, push * touch.responses[1].turn)]
            {
                if let Some(oriented) = self.oriented.get_mut(touch.ends[end].turning as usize) {
                    oriented.rotation = turned(oriented.rotation, angle);
                }
            }
        }
    }
}

/// The shape of an end as it is now.
fn ellipse(end: &End, oriented: &[Oriented]) -> EllipseMatrix {
    match oriented.get(end.turning as usize) {
        Some(oriented) => EllipseMatrix::new(oriented.radii, oriented.rotation),
        None => EllipseMatrix::disc(end.radius),
    }
}

fn ellipsoid(end: &End, oriented: &[Oriented]) -> EllipsoidMatrix {
    match oriented.get(end.turning as usize) {
        Some(oriented) => EllipsoidMatrix::new(oriented.radii, oriented.rotation),
        None => EllipsoidMatrix::ball(end.radius),
    }
}

/// How two meet whose centres are `r` apart, with a gap of at most `most` (m).
#[inline]
fn meet_at(
    pair: &mut EllipsoidPair,
    r: Vec3,
    most: f32,
    moving: &Turnable<'_>,
) -> Option<Meeting<Vec3>> {
    let EllipsoidPair { ends: [a, b], flat, .. } = *pair;
    let r = parted(pair, r);
    let turning = &*moving.oriented;
    if flat {
        let shapes = [&ellipse(&a, turning), &ellipse(&b, turning)];
        meet(shapes, r.truncate(), &mut pair.share, most).map(in_space)
    } else {
        let shapes = [&ellipsoid(&a, turning), &ellipsoid(&b, turning)];
        meet(shapes, r, &mut pair.share, most)
    }
}

fn in_space(flat: Meeting<Vec2>) -> Meeting<Vec3> {
    let Meeting { gap, normal, arms } = flat;
    Meeting { gap, normal: normal.extend(0.0), arms: arms.map(|arm| arm.extend(0.0)) }
}

/// Centres at one place are taken for a little apart, in a direction of the plane.
#[inline]
fn parted(pair: &EllipsoidPair, r: Vec3) -> Vec3 {
    let [a, b] = pair.ends;
    let tiny = 1e-4 * (a.radius + b.radius);
    if r.length_squared() < tiny * tiny {
        tiny * any_direction([a.slot, b.slot]).truncate()
    } else {
        r
    }
}

/// How two meet that went from `before` apart to `now` apart in this substep: if they passed one another, with
/// the normal of the moment in which they first touched, and the gap that they had along it before.
fn meet_on_way(
    pair: &mut EllipsoidPair,
    before: Vec3,
    now: Vec3,
    moving: &Turnable<'_>,
) -> Option<Meeting<Vec3>> {
    let way = now - before;
    let at = |t: f32| before + t * way;
    let reach = pair.ends[0].radius + pair.ends[1].radius;
    let nearest = closest(before.extend(0.0), now.extend(0.0)).truncate();
    // Not nearer includes what is not a number.
    let near = nearest.length_squared() < reach * reach;
    if !near {
        return None;
    }
    if let Some(overlap) = meet_at(pair, before, 0.0, moving) {
        return Some(overlap);
    }
    // They first touch before they are nearest, if at all.
    let (mut first, mut last) = (0.0, (nearest - before).dot(way) / way.length_squared());
    let mut met = meet_at(pair, nearest, 0.0, moving)?;
    for _ in 0..HALVINGS {
        let middle = 0.5 * (first + last);
        match meet_at(pair, at(middle), 0.0, moving) {
            Some(earlier) => (last, met) = (middle, earlier),
            None => first = middle,
        }
    }
    met.gap -= met.normal.dot(at(last) - before);
    Some(met)
}

/// How far two overlap at rest whose centres are `r` apart there (m), with these rotations; 0 where they
/// do not, or where one of them has no place at rest.
pub(super) fn overlap_at_rest(
    pair: &EllipsoidPair,
    r: Vec3,
    rotations: [Quat; 2],
    oriented: &[Oriented],
) -> f32 {
    let mut r = r;
    if pair.flat {
        r.z = 0.0;
    }
    let reach = pair.ends[0].radius + pair.ends[1].radius;
    // Not nearer includes what is not a number.
    let near = r.length_squared() < reach * reach;
    if !near {
        return 0.0;
    }
    let r = parted(pair, r);
    let radii = pair
        .ends
        .map(|end| oriented.get(end.turning as usize).map_or(Vec3::splat(end.radius), |o| o.radii));
    let mut share = pair.share;
    let gap = if pair.flat {
        let [a, b] = [0, 1].map(|end| EllipseMatrix::new(radii[end], rotations[end]));
        meet([&a, &b], r.truncate(), &mut share, 0.0).map(|met| met.gap)
    } else {
        let [a, b] = [0, 1].map(|end| EllipsoidMatrix::new(radii[end], rotations[end]));
        meet([&a, &b], r, &mut share, 0.0).map(|met| met.gap)
    };
    gap.map_or(0.0, |gap| (-gap).max(0.0))
}

impl Spinning<'_> {
    /// The arms of a touch, led to one point again after both centres have moved on.
    #[inline]
    fn arms(&self, touch: &Touch) -> [Vec3; 2] {
        let [i, j] = [touch.ends[0].slot as usize, touch.ends[1].slot as usize];
        let between = (self.position[j] - self.position[i]).truncate() + touch.shift;
        let moved = 0.5 * (between - (touch.arms[0] - touch.arms[1]));
        [touch.arms[0] + moved, touch.arms[1] - moved]
    }

    /// Velocity of the second at the point of contact, seen from the first (m/s).
    #[inline]
    fn relative(&self, touch: &Touch, arms: [Vec3; 2]) -> Vec3 {
        let [first, second] = &touch.ends;
        let velocity = |end: &End, arm: Vec3| {
            let slot = end.slot as usize;
            let centre = (self.velocity[slot] + self.velocity_change[slot]).truncate();
            centre + spin(end, self.oriented).cross(arm)
        };
        velocity(second, arms[1]) - velocity(first, arms[0])
    }

    /// Pushes both ends apart along `n` by the impulse (N s) that `impulse` says, given their weight (1/kg).
    #[inline]
    fn push(&mut self, touch: &Touch, arms: [Vec3; 2], n: Vec3, impulse: impl Fn(f32) -> f32) {
        let respond = |end: usize| {
            let lever = arms[end].cross(n);
            respond(&touch.ends[end], lever, n, self.inverse_mass, self.oriented)
        };
        let (first, second) = (respond(0), respond(1));
        let impulse = impulse(first.weight + second.weight);
        // Nor what is not a number.
        let usable = impulse.abs() < f32::MAX;
        if !usable {
            return;
        }
        for (end, response, push) in
            [(&touch.ends[0], &first, -impulse), (&touch.ends[1], &second, impulse)]
        {
            self.velocity_change[end.slot as usize] += (push * response.linear).extend(0.0);
            if let Some(oriented) = self.oriented.get_mut(end.turning as usize) {
                oriented.angular_velocity += push * response.turn;
            }
        }
    }
}
