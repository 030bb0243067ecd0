//! Pairs of particles that may touch: projection and velocities.
//!
//! ```text
//!      d                      C = n·(x_j − x_i) − d ≥ 0,   n = (x_j − x_i)/|x_j − x_i|
//!   o←───→o                   Δx_i = −w_i/(w_i + w_j) Δ n,  Δx_j = w_j/(w_i + w_j) Δ n
//!   i     j                   Δ = min(−C, C_before − C + allowance)
//! ```
//!
//! The approach of a substep is corrected in full, overlap that was there before it at most at the
//! allowance. A pair that moved by more than a part of d in the substep keeps the normal with which it
//! came to touch, at the first time t at which |r₀ + t (r₁ − r₀)| = d: a fast particle is not pushed out
//! on the far side.
//!
//! A way longer than d goes no further than to where the two met.
//!
//! In the velocity pass a touching pair separates no faster than it did before the substep, and Coulomb
//! friction slows its tangential velocity by at most μ_k Δ/h, or stops it where `h|v_t| ≤ μ_s Δ`. Only
//! velocities change: putting x back as well keeps a stack from settling. Both passes change the two
//! particles by opposite momenta.

use super::super::mirror::MirrorBody;
use crate::{constraint::OldPositions, obstacle::Friction};
use bevy::{
    math::{Vec4, ops},
    prelude::*,
};

/// Two particles that may touch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub particles: [u32; 2],
    /// Contact distance d (m).
    pub distance: f32,
    /// Place of its touch in this substep, or [`NONE`].
    pub touch: u32,
}

/// No touch.
pub(super) const NONE: u32 = u32::MAX;

/// A pair that touched in this substep.
#[derive(Clone, Copy, Debug)]
struct Touch {
    particles: [u32; 2],
    /// Its pair, or [`NONE`] where the list was made anew since.
    pair: u32,
    normal: Vec4,
    /// Normal correction of the substep (m).
    correction: f32,
    /// Separating speed that positions were predicted with (m/s).
    speed_before: f32,
}

/// Pairs that may touch, and those that did in this substep.
#[derive(Debug, Default)]
pub(super) struct PairList {
    pub pairs: Vec<Pair>,
    touches: Vec<Touch>,
}

/// What projection works on.
pub(super) struct Moving<'a> {
    pub position: &'a mut [Vec4],
    pub old: OldPositions<'a>,
    pub inverse_mass: &'a [f32],
    /// What is added to the second particle's position to compare it with the first's (m).
    pub shift: Vec4,
    /// What their distance is measured along; see [`along`].
    pub along: Vec4,
    /// How much of the overlap that was there before a substep is undone (m).
    pub allowance: f32,
}

impl Moving<'_> {
    /// From the first particle to the second at the start of the substep.
    #[inline(always)]
    pub fn before(&self, [i, j]: [usize; 2]) -> Vec4 {
        (self.old.get(j) + self.shift - self.old.get(i)) * self.along
    }

    /// From the first particle to the second.
    #[inline(always)]
    fn now(&self, [i, j]: [usize; 2]) -> Vec4 {
        (self.position[j] + self.shift - self.position[i]) * self.along
    }
}

/// What distances between particles of `bodies` are measured along, 1 or 0 by axis: all of space, or, where
/// every body is planar, their planes, whatever their z.
pub(super) fn along<'a>(mut bodies: impl Iterator<Item = &'a MirrorBody>) -> Vec4 {
    if bodies.all(|body| body.planar) { Vec4::new(1.0, 1.0, 0.0, 1.0) } else { Vec4::ONE }
}

/// A pair that moved further than this part of its distance in a substep keeps its first normal.
const FAST: f32 = 0.3;

/// A correction above this part of its distance calls for another sweep.
const MUCH: f32 = 0.05;

/// Most sweeps over the pairs in one iteration.
const MOST_SWEEPS: usize = 4;

impl PairList {
    /// Forgets all pairs, but not what touched in this substep.
    pub fn clear_pairs(&mut self) {
        self.pairs.clear();
        self.touches.iter_mut().for_each(|touch| touch.pair = NONE);
    }

    pub fn begin_substep(&mut self) {
        for touch in self.touches.drain(..) {
            if let Some(pair) = self.pairs.get_mut(touch.pair as usize) {
                pair.touch = NONE;
            }
        }
    }

    /// The pairs that touched in this substep, and their normals from the first to the second.
    pub fn touches(&self) -> impl Iterator<Item = ([u32; 2], Vec3)> {
        self.touches.iter().map(|touch| (touch.particles, touch.normal.truncate()))
    }

    /// How many touched in this substep.
    pub fn touching(&self) -> usize {
        self.touches.len()
    }

    /// Projects every pair; `swept` ones by the way they went in the substep. Where that moved any by
    /// much, again: in a fast heap each pushes others into the next.
    pub fn project(&mut self, moving: &mut Moving<'_>, swept: bool) {
        for _ in 0..MOST_SWEEPS {
            let again =
                if swept { self.sweep::<true>(moving) } else { self.sweep::<false>(moving) };
            if !again {
                return;
            }
        }
    }

    /// Projects every pair once; whether any was moved by much.
    fn sweep<const SWEPT: bool>(&mut self, moving: &mut Moving<'_>) -> bool {
        let Self { pairs, touches } = self;
        let mut much = false;
        for (number, pair) in pairs.iter_mut().enumerate() {
            let [i, j] = pair.particles.map(|p| p as usize);
            let now = moving.now([i, j]);
            if now.dot(now) < pair.distance * pair.distance
                || (SWEPT && passes(moving.before([i, j]), now, pair.distance))
            {
                much |= touch(number, pair, now, moving, touches) > MUCH * pair.distance;
            }
        }
        much
    }

    /// Restitution (none) and friction of what touched, after velocities are updated.
    pub fn velocities(
        &self,
        velocity: &[Vec4],
        velocity_change: &mut [Vec4],
        inverse_mass: &[f32],
        friction: impl Fn(usize, usize) -> Friction,
        h: f32,
    ) {
        for touch in &self.touches {
            let [i, j] = touch.particles.map(|p| p as usize);
            let (wi, wj) = (inverse_mass[i], inverse_mass[j]);
            let relative = velocity[j] + velocity_change[j] - (velocity[i] + velocity_change[i]);
            let speed = relative.dot(touch.normal);
            let wanted = speed.min(touch.speed_before.max(0.0));
            let tangential = relative - speed * touch.normal;
            let kept = kept(friction(i, j), tangential.length_squared(), touch.correction, h);
            let change = (wanted - speed) * touch.normal + (kept - 1.0) * tangential;
            let change = change / (wi + wj);
            velocity_change[i] -= wi * change;
            velocity_change[j] += wj * change;
        }
    }
}

/// The part of a tangential velocity, of this square, that Coulomb friction leaves; see
/// [`Friction`]. No root is drawn where the pair sticks.
#[inline(always)]
fn kept(friction: Friction, squared: f32, correction: f32, h: f32) -> f32 {
    let grip = friction.fixed * correction;
    if h * h * squared <= grip * grip {
        return 0.0;
    }
    let speed = squared.sqrt();
    (speed - friction.sliding * correction / h).max(0.0) / speed
}

/// Whether a pair came nearer than `distance` on its way from `before` to `now`.
fn passes(before: Vec4, now: Vec4, distance: f32) -> bool {
    closest(before, now).length_squared() < distance * distance
}

/// The point nearest to the origin between `before` and `now`.
#[inline(always)]
pub(super) fn closest(before: Vec4, now: Vec4) -> Vec4 {
    let way = now - before;
    let squared = way.length_squared();
    let at = if squared > 0.0 { (-before.dot(way) / squared).clamp(0.0, 1.0) } else { 1.0 };
    before + at * way
}

/// Pushes a pair apart that is too near, or came too near on its way; by how much (m).
fn touch(
    number: usize,
    pair: &mut Pair,
    now: Vec4,
    moving: &mut Moving<'_>,
    touches: &mut Vec<Touch>,
) -> f32 {
    let [i, j] = pair.particles.map(|p| p as usize);
    let (wi, wj) = (moving.inverse_mass[i], moving.inverse_mass[j]);
    let length = now.length();
    let overlap = pair.distance - length;
    // So little may be undone in full, whatever was there before.
    let Meeting { normal, push } =
        if overlap > 0.0 && overlap <= moving.allowance.min(FAST * pair.distance) {
            let normal = now / length;
            Meeting { normal, push: overlap * normal }
        } else {
            let before = moving.before([i, j]);
            let Some(meeting) = meet(before, now, pair, moving.allowance) else { return 0.0 };
            meeting
        };
    let correction = push.dot(normal);
    // Not above 0 includes what is not a number.
    if !(correction > 0.0 && correction < f32::MAX) {
        return 0.0;
    }
    let push = push / (wi + wj);
    moving.position[i] -= wi * push;
    moving.position[j] += wj * push;
    if let Some(touch) = touches.get_mut(pair.touch as usize) {
        touch.correction += correction;
        touch.normal = normal;
        return correction;
    }
    let OldPositions { velocity, velocity_change, .. } = moving.old;
    let relative = velocity[j] + velocity_change[j] - (velocity[i] + velocity_change[i]);
    pair.touch = touches.len() as u32;
    touches.push(Touch {
        particles: pair.particles,
        pair: number as u32,
        normal,
        correction,
        speed_before: relative.dot(normal),
    });
    correction
}

/// How a pair met.
struct Meeting {
    /// Seen from its first particle.
    normal: Vec4,
    /// What must be added to the way between the two (m).
    push: Vec4,
}

/// How a pair met that moved from `before` to `now`, if it did.
fn meet(before: Vec4, now: Vec4, pair: &Pair, allowance: f32) -> Option<Meeting> {
    let d = pair.distance;
    let tiny = 1e-6 * d;
    let way = now - before;
    let moved = way.length_squared();
    let towards = |place: Vec4| {
        let length = place.length();
        if length > tiny { place / length } else { any_direction(pair.particles) }
    };
    let along = |normal: Vec4| {
        let gap = normal.dot(now);
        let least = (d - gap).min(normal.dot(before) - gap + allowance);
        Meeting { normal, push: least * normal }
    };
    if moved <= (FAST * d) * (FAST * d) {
        return Some(along(towards(now)));
    }
    if before.length_squared() < d * d {
        return Some(along(towards(before)));
    }
    // |before + t way| = d for the first time.
    let b = before.dot(way);
    let inside = b * b - moved * (before.length_squared() - d * d);
    if b >= 0.0 || inside < 0.0 {
        return None;
    }
    let rest = 1.0 - ((-b - inside.sqrt()) / moved).clamp(0.0, 1.0);
    let normal = towards(now - rest * way);
    // A way longer than d goes no further than where they met: pushed along the normal, particles
    // would be strewn about.
    Some(if moved <= d * d { along(normal) } else { Meeting { normal, push: -rest * way } })
}

/// A direction for particles at the same place: another for each pair, along x and y, so that it suits
/// planar bodies too.
pub(super) fn any_direction([i, j]: [u32; 2]) -> Vec4 {
    const GOLDEN: f32 = 2.399_963;
    let turn = GOLDEN * (i.wrapping_mul(31).wrapping_add(j) % 4096) as f32;
    let (sin, cos) = ops::sin_cos(turn);
    Vec4::new(cos, sin, 0.0, 0.0)
}

/// Contact distance (m) of particles of two bodies; 0 where they do not touch.
pub(super) fn contact_distance(bodies: &[MirrorBody], a: u32, b: u32) -> f32 {
    let radius = |body: u32| bodies[body as usize].contact_radius;
    if meets(bodies, a, b) { radius(a) + radius(b) } else { 0.0 }
}

/// Whether particles of two bodies, or of one, touch at all.
pub(super) fn meets(bodies: &[MirrorBody], a: u32, b: u32) -> bool {
    let (first, second) = (&bodies[a as usize], &bodies[b as usize]);
    if a == b {
        first.self_contact
    } else {
        first.soft_contact && second.soft_contact && first.layers.meets(second.layers)
    }
}

/// Friction between particles of two bodies: the geometric mean, from roots taken once a tick.
#[inline(always)]
pub(super) fn pair_friction(bodies: &[MirrorBody], a: u32, b: u32) -> Friction {
    let (a, b) = (bodies[a as usize].root_friction, bodies[b as usize].root_friction);
    Friction { fixed: a.fixed * b.fixed, sliding: a.sliding * b.sliding }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H: f32 = 1e-3;

    struct Two {
        position: Vec<Vec4>,
        predicted: Vec<Vec4>,
        velocity: Vec<Vec4>,
        change: Vec<Vec4>,
        inverse_mass: Vec<f32>,
    }

    /// Two particles that were at `before` and moved at `velocity` for a substep.
    fn two(before: [Vec3; 2], velocity: [Vec3; 2], inverse_mass: [f32; 2]) -> Two {
        let at = |i: usize| (before[i] + H * velocity[i]).extend(0.0);
        Two {
            position: vec![at(0), at(1)],
            predicted: vec![at(0), at(1)],
            velocity: velocity.iter().map(|v| v.extend(0.0)).collect(),
            change: vec![Vec4::ZERO; 2],
            inverse_mass: inverse_mass.to_vec(),
        }
    }

    /// One substep of contact at distance 1, with an allowance of 0.1.
    fn step(two: &mut Two, friction: Friction, swept: bool) -> usize {
        let mut list = PairList {
            pairs: vec![Pair { particles: [0, 1], distance: 1.0, touch: NONE }],
            ..default()
        };
        let mut moving = Moving {
            position: &mut two.position,
            old: OldPositions {
                predicted: &two.predicted,
                velocity: &two.velocity,
                velocity_change: &two.change,
                h: H,
            },
            inverse_mass: &two.inverse_mass,
            shift: Vec4::ZERO,
            along: Vec4::ONE,
            allowance: 0.1,
        };
        list.project(&mut moving, swept);
        for i in 0..2 {
            two.change[i] += (two.position[i] - two.predicted[i]) / H;
        }
        list.velocities(&two.velocity, &mut two.change, &two.inverse_mass, |_, _| friction, H);
        list.touching()
    }

    fn velocities(two: &Two) -> [Vec3; 2] {
        [0, 1].map(|i| (two.velocity[i] + two.change[i]).truncate())
    }

    fn momentum(two: &Two) -> Vec3 {
        let [a, b] = velocities(two);
        a / two.inverse_mass[0] + b / two.inverse_mass[1]
    }

    #[test]
    fn an_approach_is_stopped_in_full_and_momentum_is_kept() {
        let (v, w) = ([Vec3::X * 100.0, Vec3::new(-50.0, 3.0, 0.0)], [1.0, 0.25]);
        let mut pair = two([Vec3::ZERO, Vec3::X * 1.1], v, w);
        let before = v[0] / w[0] + v[1] / w[1];
        assert_eq!(step(&mut pair, Friction::NONE, false), 1);
        let gap = pair.position[1].distance(pair.position[0]);
        assert!((gap - 1.0).abs() < 1e-5, "{gap}");
        assert!(momentum(&pair).distance(before) < 1e-3);
        let [a, b] = velocities(&pair);
        // They went on until they touched, and no restitution sends them apart.
        assert!((0.0..101.0).contains(&(a - b).x), "{a} {b}");
        assert!((b - a).y > 2.9);
    }

    #[test]
    fn old_overlap_is_undone_slowly_and_gives_no_speed() {
        let mut pair = two([Vec3::ZERO, Vec3::X * 0.5], [Vec3::ZERO; 2], [1.0, 1.0]);
        step(&mut pair, Friction::NONE, false);
        let gap = pair.position[1].distance(pair.position[0]);
        assert!((gap - 0.6).abs() < 1e-6, "{gap}");
        velocities(&pair).iter().for_each(|v| assert!(v.length() < 1e-3, "{v}"));
    }

    #[test]
    fn what_is_apart_or_separates_is_left_alone() {
        let mut pair = two([Vec3::ZERO, Vec3::X * 1.01], [Vec3::ZERO; 2], [1.0, 1.0]);
        assert_eq!(step(&mut pair, Friction::NONE, false), 0);
        let apart = [Vec3::ZERO, Vec3::X * 200.0];
        let mut pair = two([Vec3::ZERO, Vec3::X * 0.95], apart, [1.0, 1.0]);
        step(&mut pair, Friction::new(1.0), false);
        assert_eq!(velocities(&pair), apart);
    }

    #[test]
    fn held_particles_stay() {
        let mut pair = two([Vec3::ZERO, Vec3::X * 1.1], [Vec3::X * 300.0, Vec3::ZERO], [1.0, 0.0]);
        step(&mut pair, Friction::new(1.0), false);
        assert_eq!(pair.position[1].truncate(), Vec3::X * 1.1);
        assert!((pair.position[0].x - 0.1).abs() < 1e-5);
        assert_eq!(velocities(&pair)[1], Vec3::ZERO);
    }

    #[test]
    fn a_fast_particle_does_not_pass_through_another() {
        // Ten times its distance in one substep, and a half where it was seen beyond the centre.
        for (speed, swept) in [(10_000.0, true), (1500.0, false)] {
            let v = [Vec3::ZERO, Vec3::X * -speed];
            let mut pair = two([Vec3::ZERO, Vec3::new(1.2, 0.1, 0.0)], v, [1.0, 1.0]);
            assert_eq!(step(&mut pair, Friction::NONE, swept), 1);
            let between = pair.position[1] - pair.position[0];
            assert!(between.x > 0.5 && between.length() > 0.999, "{between}");
        }
        let v = [Vec3::ZERO, Vec3::X * -10_000.0];
        let mut missed = two([Vec3::ZERO, Vec3::new(1.2, 1.1, 0.0)], v, [1.0, 1.0]);
        assert_eq!(step(&mut missed, Friction::NONE, true), 0);
    }

    #[test]
    fn friction_slows_sliding_by_the_pressure_and_stops_what_is_slow() {
        // The correction is 0.05, so friction takes up to μ 0.05/h = 50 μ m/s off.
        let v = [Vec3::ZERO, Vec3::new(-150.0, 30.0, 0.0)];
        let relative = |friction| {
            let mut pair = two([Vec3::ZERO, Vec3::X * 1.1], v, [1.0, 1.0]);
            step(&mut pair, friction, false);
            let [a, b] = velocities(&pair);
            assert!(momentum(&pair).distance(v[0] + v[1]) < 1e-3);
            let along = (pair.position[1] - pair.position[0]).truncate().normalize();
            ((b - a) - along * (b - a).dot(along)).length()
        };
        let free = relative(Friction::NONE);
        assert!((28.0..36.0).contains(&free), "{free}");
        assert!((free - relative(Friction::new(0.1)) - 5.0).abs() < 0.5);
        assert!(relative(Friction::new(0.9)) < 1e-3);
    }

    #[test]
    fn coincident_particles_part() {
        let mut pair = two([Vec3::ONE; 2], [Vec3::X; 2], [1.0, 3.0]);
        step(&mut pair, Friction::new(1.0), false);
        let gap = pair.position[1].distance(pair.position[0]);
        assert!((gap - 0.1).abs() < 1e-5, "{gap}");
    }

    #[test]
    fn nonsense_does_nothing() {
        for bad in [f32::NAN, f32::INFINITY, 1e30] {
            let mut pair = two([Vec3::ZERO, Vec3::splat(bad)], [Vec3::ZERO; 2], [1.0, 1.0]);
            step(&mut pair, Friction::new(1.0), true);
            assert_eq!(pair.position[0], Vec4::ZERO);
        }
    }
}
