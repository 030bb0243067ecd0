//! Restitution and friction of particles that turn: impulses at the point that touches.
//!
//! ```text
//! u = v + ω × r − v_surface          K J = w J + (I⁻¹ (r × J)) × r       what an impulse J does to u
//!
//! normal:   J = (u_wanted − u_n)/(nᵀK n) n
//! friction: P = −K⁻¹ u_t             takes the tangential velocity and leaves the normal one as it is;
//!           |P_t| ≤ μ_s N            sticks, or rolls: else it slides with |P_t| = μ_k N
//! ```
//!
//! N is the normal impulse of the whole substep. The substep then moved as far as friction says: x and q
//! change by h times what P adds to v and ω. So what is stuck on a slope does not creep, and what rolls, of
//! which the point that touches stands still, is not held. The wanted normal velocity is that of
//! particles that do not turn. A bounce lets friction go no further than it takes energy: with
//! restitution and a lever arm, sticking could add some.
//!
//! A lone particle has no motion relative to its body's, so nothing would ever still an ellipsoid that
//! rocks. What touches is therefore damped relative to the surface, at the rate of the relative damping:
//! pivoting about the normal, and turning about an axis by 1 − (b/a)² of the radii across it. What is
//! round about its axis rolls on.

use super::{IslandContacts, Repeated, ellipsoid::LEAST_TURN};
use crate::{
    constraint::Oriented,
    obstacle::Friction,
    solver::{mirror::IslandView, settings::StepTime},
};
use bevy::math::{Vec2, Vec3, Vec3A, Vec4};

/// A contact of one particle that turns, in this substep.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurningHit {
    pub normal: Vec3A,
    /// From the centre to the point that touches (m); zero where a push acts on the centre.
    pub lever: Vec3A,
    /// Slot in the island.
    pub particle: u32,
    /// Place in the island's list of those that turn.
    pub oriented: u32,
    /// Place in the list of near pieces.
    pub near: u32,
    /// Place in the list of pairs.
    pub pair: u32,
    /// Normal correction by weight (kg m).
    pub push: f32,
    /// Normal speed relative to the surface before velocities were updated (m/s).
    pub approach: f32,
}

impl Repeated for TurningHit {
    fn place(&self) -> (u32, u32, Vec3A) {
        (self.particle, self.near, self.normal)
    }

    fn add(&mut self, later: &Self) {
        self.push += later.push;
        (self.normal, self.lever) = (later.normal, later.lever);
    }
}

/// How a particle answers to impulses at a point.
struct Body<'a> {
    inverse_mass: f32,
    oriented: &'a Oriented,
    lever: Vec3A,
    /// Unit normal, what an impulse along it does to the point's velocity, and how much along it.
    normal: Vec3A,
    by_normal: Vec3A,
    along_normal: f32,
}

impl<'a> Body<'a> {
    /// `None` where nothing moves it.
    fn new(inverse_mass: f32, oriented: &'a Oriented, hit: &TurningHit) -> Option<Self> {
        let normal = hit.normal;
        let mut body = Self {
            inverse_mass,
            oriented,
            lever: hit.lever,
            normal,
            by_normal: normal,
            along_normal: 1.0,
        };
        body.by_normal = body.respond(normal);
        body.along_normal = normal.dot(body.by_normal);
        (body.along_normal > 0.0 && body.along_normal.is_finite()).then_some(body)
    }

    /// The change of angular velocity by an impulse.
    fn turn(&self, impulse: Vec3A) -> Vec3A {
        self.oriented.inverse_inertia_times(self.lever.cross(impulse).into()).into()
    }

    /// The change of the point's velocity by an impulse.
    fn respond(&self, impulse: Vec3A) -> Vec3A {
        self.inverse_mass * impulse + self.turn(impulse).cross(self.lever)
    }

    /// An impulse along the tangent `direction`, with what along the normal keeps the normal velocity; how much
    /// that is; and the change of the point's velocity.
    fn tangent(&self, direction: Vec3A) -> (Vec3A, f32, Vec3A) {
        let response = self.respond(direction);
        let along = -self.normal.dot(response) / self.along_normal;
        (direction + along * self.normal, along, response + along * self.by_normal)
    }

    /// The impulse of friction on a point that moves with `slip` along the surface, `held` (N s) being the
    /// normal impulse and `leaving` (m/s) the speed at which the two part.
    fn friction(&self, friction: Friction, slip: Vec3A, held: f32, leaving: f32) -> Vec3A {
        let speed = slip.length();
        if !(speed > 1e-12 && held > 0.0) {
            return Vec3A::ZERO;
        }
        let d = slip / speed;
        let (along, normal_part, by_along) = self.tangent(d);
        let along_along = d.dot(by_along);
        let slides = along_along > 0.0;
        if !slides {
            return Vec3A::ZERO;
        }
        // The velocity along the surface at which the energy of what leaves is least.
        let least = leaving / self.along_normal * self.by_normal;
        let mut stuck = -speed / along_along * along;
        let mut size = speed / along_along;
        let mut part = 1.0 - d.dot(least) / speed;
        if !(self.oriented.planar || self.oriented.isotropic) {
            let e = self.normal.cross(d);
            let (aside, _, by_aside) = self.tangent(e);
            let (along_aside, aside_aside) = (d.dot(by_aside), e.dot(by_aside));
            let det = along_along * aside_aside - along_aside * along_aside;
            if det > 1e-6 * along_along * aside_aside {
                let pushes = Vec2::new(-aside_aside, along_aside) * (speed / det);
                stuck = pushes.x * along + pushes.y * aside;
                size = pushes.length();
                part = 1.0 - pushes.dot(Vec2::new(d.dot(least), e.dot(least))) / (pushes.x * speed);
            }
        }
        let part = if leaving > 0.0 { part.clamp(0.0, 1.0) } else { 1.0 };
        let normal = held + part * self.normal.dot(stuck);
        if part * size <= friction.fixed * normal {
            return part * stuck;
        }
        // Sliding, the normal impulse is `held − pushed normal_part`. It may not jam.
        let pushed = friction.sliding * held / (1.0 + friction.sliding * normal_part).max(0.2);
        -pushed.min(part * speed / along_along) * along
    }
}

/// Restitution and friction of the contacts of particles that turn, after velocities are updated.
pub(super) fn turning_velocities(
    contacts: &mut IslandContacts,
    view: &mut IslandView<'_>,
    time: &StepTime,
) {
    let hits = core::mem::take(&mut contacts.turning);
    let per_second = time.h.recip();
    let kept = view.island.relative_damping;
    for hit in &hits {
        let i = hit.particle as usize;
        let pair = &mut contacts.pairs[hit.pair as usize];
        let oriented = &view.oriented[hit.oriented as usize];
        let Some(body) = Body::new(view.inverse_mass[i], oriented, hit) else { continue };
        let point = Vec3A::from_vec4(view.position[i]) + hit.lever;
        let shift = &contacts.near[hit.near as usize].shift;
        let moving = shift.map_or(Vec3A::ZERO, |shift| per_second * shift.at(point));
        let spin = Vec3A::from(oriented.angular_velocity);
        let velocity = Vec3A::from_vec4(view.velocity[i] + view.velocity_change[i]);
        let relative = velocity + spin.cross(hit.lever) - moving;
        let speed = relative.dot(hit.normal);
        // A resting contact must not bounce off the gravity of one substep.
        let pull = || 2.0 * time.h * Vec3A::from_vec4(view.acceleration[i]).length();
        let rest = if pair.restitution > 0.0 { pull() } else { 0.0 };
        let wanted = wanted_speed(hit.approach, speed, pair.restitution, rest);
        let bounce = (wanted - speed) / body.along_normal;
        let bounced = relative + bounce * body.by_normal;
        let slip = without_dust(bounced - bounced.dot(hit.normal) * hit.normal, LEAST_SLIP);
        let held = per_second * hit.push + bounce;
        let leaving = if hit.approach < 0.0 { wanted.max(0.0) } else { 0.0 };
        let rub = body.friction(pair.friction, slip, held, leaving);
        // What moves across its plane does not take it along.
        let rub = if oriented.planar { rub.with_z(0.0) } else { rub };
        let impulse = bounce * hit.normal + rub;
        let (turn, put_back) = (body.turn(impulse), time.h * body.turn(rub));
        let weight = view.inverse_mass[i];
        if !(impulse.is_finite() && turn.is_finite()) {
            continue;
        }
        view.velocity_change[i] += Vec4::from((weight * impulse, 0.0));
        view.position[i] += Vec4::from((time.h * weight * rub, 0.0));
        let oriented = &mut view.oriented[hit.oriented as usize];
        let spin = without_dust(Vec3A::from(oriented.angular_velocity) + turn, LEAST_SPIN);
        oriented.angular_velocity = spin.into();
        if put_back.length_squared() > LEAST_TURN {
            oriented.turn_by(put_back.into());
        }
        if kept != 1.0 && hit.lever != Vec3A::ZERO {
            let spin = shift.map_or(Vec3A::ZERO, |shift| per_second * shift.turn());
            let rocking =
                rocking(oriented, hit.normal, Vec3A::from(oriented.angular_velocity) - spin);
            oriented.angular_velocity += Vec3::from((kept - 1.0) * rocking);
        }
        pair.impulse += (held + rub.dot(hit.normal)).max(0.0);
    }
    contacts.turning = hits;
}

/// Slip (m/s) and spin (rad/s) of which no one sees anything. Friction and damping would divide them on and
/// on, into numbers that are slow to calculate with.
const LEAST_SLIP: f32 = 1e-12;
const LEAST_SPIN: f32 = 1e-15;

/// A vector without parts smaller than `least`.
fn without_dust(v: Vec3A, least: f32) -> Vec3A {
    Vec3A::select(v.abs().cmplt(Vec3A::splat(least)), Vec3A::ZERO, v)
}

/// The part of the angular velocity `spin` (relative to the surface) that damping stills: about the normal, and
/// about axes across which the ellipsoid is not round.
fn rocking(oriented: &Oriented, normal: Vec3A, spin: Vec3A) -> Vec3A {
    let Vec3 { x, y, z } = oriented.radii;
    let oblong = |a: f32, b: f32| {
        let ratio = a.min(b) / a.max(b);
        if ratio <= 1.0 { 1.0 - ratio * ratio } else { 0.0 }
    };
    if oriented.planar {
        return oblong(x, y) * spin;
    }
    let own = oriented.rotation.conjugate() * Vec3::from(spin);
    let across = Vec3::new(oblong(y, z), oblong(z, x), oblong(x, y)) * own;
    let across = Vec3A::from(oriented.rotation * across);
    across + normal.dot(spin - across) * normal
}

/// The normal speed (m/s) that a contact leaves with; slower approaches than `rest` do not bounce.
fn wanted_speed(approach: f32, speed: f32, restitution: f32, rest: f32) -> f32 {
    if approach >= 0.0 {
        speed.min(approach)
    } else if -approach > rest {
        -restitution * approach
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy::prelude::Entity;

    /// A ball of 1 kg, `least` kg m² to turn.
    fn ball(inertia: f32) -> Oriented {
        Oriented {
            inertia: Vec3::splat(inertia),
            inverse_inertia: Vec3::splat(inertia.recip()),
            ..Oriented::new(0, Entity::PLACEHOLDER, false)
        }
    }

    fn hit(normal: Vec3A, lever: Vec3A) -> TurningHit {
        TurningHit {
            normal,
            lever,
            particle: 0,
            oriented: 0,
            near: 0,
            pair: 0,
            push: 0.0,
            approach: 0.0,
        }
    }

    #[test]
    fn what_turns_easily_spins_as_in_the_paper() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/oriented_particles.json");
        let text = std::fs::read_to_string(path).expect("golden data exists");
        let data: serde_json::Value = serde_json::from_str(&text).expect("golden data is JSON");
        for case in data["spin_friction"].as_array().expect("cases") {
            let vector = |key: &str| {
                let part = |i: usize| case[key][i].as_f64().expect("a number") as f32;
                Vec3A::new(part(0), part(1), part(2))
            };
            let (normal, lever) = (vector("n").normalize(), vector("r"));
            // So light to turn that friction only spins it.
            let oriented = ball(1e-9);
            let body = Body::new(1.0, &oriented, &hit(normal, lever)).expect("it moves");
            let omega = vector("omega");
            let relative = vector("v") + omega.cross(lever) - vector("v_solid");
            let slip = relative - relative.dot(normal) * normal;
            let rub = body.friction(Friction::new(1.0), slip, 1e3, 0.0);
            let turned = omega + body.turn(rub);
            let expected = vector("omega_new_srot1");
            assert!(turned.distance(expected) < 1e-4 * expected.length(), "{turned} {expected}");
        }
    }

    #[test]
    fn friction_stops_or_slows_the_point_and_leaves_the_normal_velocity() {
        for planar in [false, true] {
            for i in 1..100 {
                let at = |k: f32| (i as f32 * k).sin();
                let mut oriented = Oriented::new(0, Entity::PLACEHOLDER, planar);
                oriented.inverse_inertia = Vec3::new(90.0, 300.0, 140.0);
                oriented.isotropic = false;
                oriented.rotation = bevy::math::Quat::from_rotation_z(at(0.7));
                let flat = |v: Vec3A| if planar { v.with_z(0.0) } else { v };
                let normal = flat(Vec3A::new(at(1.1), at(2.3), at(0.9))).normalize_or(Vec3A::Y);
                let lever = flat(Vec3A::new(at(3.1), at(1.9), at(2.9))) * 0.1;
                let velocity = flat(Vec3A::new(at(5.3), at(4.7), at(3.7)));
                let slip = velocity - velocity.dot(normal) * normal;
                let body = Body::new(2.0, &oriented, &hit(normal, lever)).expect("it moves");
                let after =
                    |mu: f32| slip + body.respond(body.friction(Friction::new(mu), slip, 1.0, 0.0));
                assert!(after(100.0).length() < 1e-4, "it sticks: {}", after(100.0));
                let slowed = after(0.05);
                assert!(slowed.dot(normal).abs() < 1e-4, "{slowed}");
                assert!(slowed.dot(slip) >= -1e-5 && slowed.dot(slip) < slip.length_squared());
                let rub = body.friction(Friction::new(0.05), slip, 1.0, 0.0);
                let (n, t) = (1.0 + rub.dot(normal), rub - rub.dot(normal) * normal);
                assert!(t.length() <= 0.05 * n * 1.001 + 1e-6, "{} of {n}", t.length());
            }
        }
    }

    #[test]
    fn a_lever_makes_a_push_weigh_less() {
        let oriented = ball(0.01);
        let n = Vec3A::Y;
        let body = Body::new(1.0, &oriented, &hit(n, Vec3A::X * 0.1)).expect("it moves");
        assert!((body.along_normal - 2.0).abs() < 1e-6, "1/m + r²/I");
        let held = ball(f32::INFINITY);
        assert!(Body::new(0.0, &held, &hit(n, Vec3A::X)).is_none());
    }
}
