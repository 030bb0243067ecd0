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

use super::{IslandContacts, near::NearPiece};
use crate::{
    constraint::Oriented,
    obstacle::Friction,
    solver::{mirror::IslandView, settings::StepTime},
};
use bevy::math::{Vec2, Vec3A, Vec4};

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

/// Several iterations find the same contact again: their corrections add up, the approach is the first's.
pub(super) fn merge_turning(hits: &mut Vec<TurningHit>, near: &[NearPiece]) {
    hits.sort_by_key(|hit| (hit.particle, near[hit.near as usize].number));
    hits.dedup_by(|later, hit| {
        let same = later.particle == hit.particle
            && later.near == hit.near
            && later.normal.dot(hit.normal) > 0.99;
        if same {
            hit.push += later.push;
            (hit.normal, hit.lever) = (later.normal, later.lever);
        }
        same
    });
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
        if !(along_along > 0.0) {
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
        let pull = Vec3A::from_vec4(view.acceleration[i]).length();
        let wanted = wanted_speed(hit.approach, speed, pair.restitution, 2.0 * time.h * pull);
        let bounce = (wanted - speed) / body.along_normal;
        let bounced = relative + bounce * body.by_normal;
        let slip = bounced - bounced.dot(hit.normal) * hit.normal;
        let held = per_second * hit.push + bounce;
        let leaving = if hit.approach < 0.0 { wanted.max(0.0) } else { 0.0 };
        let rub = body.friction(pair.friction, slip, held, leaving);
        let impulse = bounce * hit.normal + rub;
        let (turn, put_back) = (body.turn(impulse), time.h * body.turn(rub));
        let weight = view.inverse_mass[i];
        if !(impulse.is_finite() && turn.is_finite()) {
            continue;
        }
        view.velocity_change[i] += Vec4::from((weight * impulse, 0.0));
        view.position[i] += Vec4::from((time.h * weight * rub, 0.0));
        let oriented = &mut view.oriented[hit.oriented as usize];
        oriented.angular_velocity += bevy::math::Vec3::from(turn);
        if put_back != Vec3A::ZERO {
            oriented.turn_by(put_back.into());
        }
        pair.impulse += (held + rub.dot(hit.normal)).max(0.0);
    }
    contacts.turning = hits;
}

/// The normal speed (m/s) that a contact leaves with; slower approaches than `rest` do not bounce.
pub(super) fn wanted_speed(approach: f32, speed: f32, restitution: f32, rest: f32) -> f32 {
    if approach >= 0.0 {
        speed.min(approach)
    } else if -approach > rest {
        -restitution * approach
    } else {
        0.0
    }
}
