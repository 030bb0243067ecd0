//! Narrow phase of particles that turn: each meets a piece with its own ellipsoid.
//!
//! ```text
//!      ______          λ = depth/(w + (r × n)ᵀ I⁻¹ (r × n))
//!    ／  ·x  ＼
//!   (    ╲ r  )        x += w λ n       q turns by I⁻¹ (r × n) λ
//!    ＼___●__／
//!   ──────┴──────      the push acts where it touches, so a tilted ellipse falls flat
//! ```
//!
//! A particle without extent counts as a ball of its body's radius, as those that do not turn.

use super::{
    IslandContacts,
    blocks::{Candidate, Patch},
    growth::{Touch, meet},
    members_place,
    narrow::{Meeting, SLOW, flat, march, path},
    near::body_place,
    turning::TurningHit,
};
use crate::{
    constraint::Oriented,
    math::{bounds::Bounds, ellipsoid::Ellipsoid},
    obstacle::{Distance, Solid},
    solver::{
        mirror::{IslandView, MirrorBody, NOT_ORIENTED},
        settings::EllipsoidContact,
    },
};
use bevy::math::{Vec3A, Vec4};

/// Surfaces of a mesh that one particle touches at once.
const CORNERS: usize = 4;

/// Square of a turn (rad²) that is lost in a rotation, and of which products are slow to calculate with.
pub(super) const LEAST_TURN: f32 = 1e-24;

/// A particle that turns as it meets a piece.
pub(super) struct Turning {
    pub shape: Ellipsoid,
    /// Its place in the island's list of those that turn.
    oriented: usize,
    /// Its place in the block's order, and its slot.
    at: (usize, usize),
    /// Least radius (m).
    least: f32,
    /// The plane in which a particle of a planar body meets the piece.
    level: Option<f32>,
    /// Whether a push acts where it touches.
    lever: bool,
    /// Place in the island's list of pairs.
    pair: usize,
}

/// The least and the greatest radius (m) with which a particle meets obstacles.
pub(super) fn radii(oriented: &Oriented, body: &MirrorBody) -> [f32; 2] {
    let greatest = oriented.greatest_radius();
    if greatest > 0.0 { [oriented.least_radius(), greatest] } else { [body.radius; 2] }
}

#[inline]
fn shape(oriented: &Oriented, body: &MirrorBody) -> Ellipsoid {
    if oriented.greatest_radius() <= 0.0 {
        Ellipsoid::ball(body.radius)
    } else if oriented.planar {
        Ellipsoid::flat(oriented.rotation, oriented.radii)
    } else {
        Ellipsoid::new(oriented.rotation, oriented.radii)
    }
}

impl IslandContacts {
    /// A block of which some particles turn meets a piece.
    pub(super) fn meet_turning(
        &mut self,
        view: &mut IslandView<'_>,
        particles: &[u32],
        meeting: &Meeting<'_>,
        candidate: &mut Candidate,
    ) {
        for (place, &i) in particles.iter().enumerate() {
            let oriented = view.oriented_of[i as usize];
            if oriented == NOT_ORIENTED {
                let alone = Meeting { first: meeting.first + place, ..*meeting };
                self.meet(view, &particles[place..=place], &alone, candidate);
                continue;
            }
            let at = (meeting.first + place, i as usize);
            if let Some(turning) = self.turning(view, at, meeting, oriented as usize) {
                self.meet_one(view, meeting, &turning, candidate);
            }
        }
    }

    /// A particle that turns as the piece meets it; `None` where it is held, or the two surely do not meet.
    fn turning(
        &self,
        view: &IslandView<'_>,
        at: (usize, usize),
        meeting: &Meeting<'_>,
        oriented: usize,
    ) -> Option<Turning> {
        let i = at.1;
        if view.inverse_mass[i] == 0.0 {
            return None;
        }
        let pair = meeting.number as usize * view.island.bodies.len() + body_place(view, i);
        if !self.pairs[pair].meets {
            return None;
        }
        let o = &view.oriented[oriented];
        let body = &view.shared.bodies[view.body[i] as usize];
        let [least, greatest] = radii(o, body);
        let x = Vec3A::from_vec4(view.position[i]);
        let mut around = Bounds::EMPTY.with(x).inflate(greatest);
        if meeting.fast {
            around = around.union(Bounds::EMPTY.with(path(view, i, meeting).0).inflate(greatest));
        }
        if o.planar {
            (around.min.z, around.max.z) = (f32::NEG_INFINITY, f32::INFINITY);
        }
        if !meeting.near.bounds.overlaps(&around) {
            return None;
        }
        Some(Turning {
            shape: shape(o, body),
            oriented,
            at,
            least,
            level: o.planar.then_some(meeting.near.frames[1].centre.z),
            lever: body.ellipsoid_contact == EllipsoidContact::LeverArm,
            pair,
        })
    }

    fn meet_one(
        &mut self,
        view: &mut IslandView<'_>,
        meeting: &Meeting<'_>,
        turning: &Turning,
        candidate: &mut Candidate,
    ) {
        match &meeting.near.solid {
            None => {}
            Some(Solid::Plane(solid)) => self.turn_on(view, meeting, turning, solid),
            Some(Solid::Ball(solid)) => self.turn_on(view, meeting, turning, solid),
            Some(Solid::Ellipsoid(solid)) => self.turn_on(view, meeting, turning, solid),
            Some(Solid::Capsule(solid)) => self.turn_on(view, meeting, turning, solid),
            Some(Solid::Cuboid(solid)) => self.turn_on(view, meeting, turning, solid),
            Some(Solid::Cylinder(solid)) => self.turn_on(view, meeting, turning, solid),
            Some(Solid::Cone(solid)) => self.turn_on(view, meeting, turning, solid),
            Some(Solid::Prism(solid)) => self.turn_on(view, meeting, turning, solid),
            Some(Solid::Mesh(_)) => {
                if let Some(patch) = &mut candidate.patch {
                    self.turn_on_mesh(view, meeting, turning, patch);
                }
            }
        }
    }

    /// An ellipsoid meets something convex.
    fn turn_on<S: Distance>(
        &mut self,
        view: &mut IslandView<'_>,
        meeting: &Meeting<'_>,
        turning: &Turning,
        solid: &S,
    ) {
        // All points asked for are in the plane of a planar particle.
        let surface = |x: Vec3A, reach: f32| {
            let near = solid.plane(x, reach)?;
            if turning.level.is_some() && near.normal.z != 0.0 { flat(near) } else { Some(near) }
        };
        let i = turning.at.1;
        if S::PASSABLE && meeting.fast {
            let (mut old, mut x) = path(view, i, meeting);
            if let Some(level) = turning.level {
                (old.z, x.z) = (level, level);
            }
            let slow = SLOW * turning.least;
            if (x - old).length_squared() > slow * slow
                && let Some((near, _)) = march(old, x, turning.least, |x| surface(x, f32::INFINITY))
            {
                self.touch_turning(view, meeting, turning, Touch::on(&turning.shape, near));
            }
        }
        let mut x = Vec3A::from_vec4(view.position[i]);
        if let Some(level) = turning.level {
            x.z = level;
        }
        // What stopped its path has turned it a little: that much is left to the next substep.
        if let Some(touch) = meet(&turning.shape, x, !S::PASSABLE, surface) {
            self.touch_turning(view, meeting, turning, touch);
        }
    }

    /// An ellipsoid meets triangles.
    fn turn_on_mesh(
        &mut self,
        view: &mut IslandView<'_>,
        meeting: &Meeting<'_>,
        turning: &Turning,
        patch: &mut Patch,
    ) {
        let Turning { shape, at: (order, i), level, .. } = turning;
        let mut x = Vec3A::from_vec4(view.position[*i]);
        let mut seen = x;
        if let Some(level) = level {
            (x.z, seen.z) = (*level, *level);
        }
        let mut start = seen;
        if meeting.fast {
            start = path(view, *i, meeting).0;
            start.z = level.unwrap_or(start.z);
        }
        let moved = (seen - start).length();
        let place = members_place(*order);
        let local = patch.local(meeting.near, seen, true);
        patch.refresh_for(place, local, shape.greatest(), shape.greatest() + 2.0 * moved);
        if patch.listed(place).1.is_empty() {
            return;
        }
        let mut used = u32::MAX;
        for _ in 0..CORNERS {
            let crossed = if moved > SLOW * turning.least {
                patch.crossed(place, meeting.near, start, x).and_then(|(near, number)| {
                    let near = if level.is_some() { flat(near)? } else { near };
                    Some((Touch::on(shape, near), number))
                })
            } else {
                None
            };
            let next = crossed.or_else(|| patch.met(place, meeting.near, shape, x, *level, used));
            let Some((touch, number)) = next else { break };
            used = number;
            x += -touch.gap * touch.normal;
            self.touch_turning(view, meeting, turning, touch);
            if patch.listed(place).1.len() == 1 {
                break;
            }
        }
    }

    /// Moves and turns a particle out of what it touches, and notes the contact.
    fn touch_turning(
        &mut self,
        view: &mut IslandView<'_>,
        meeting: &Meeting<'_>,
        turning: &Turning,
        Touch { gap, normal, offset }: Touch,
    ) {
        // Not what is no number either.
        let overlaps = gap < 0.0;
        if !overlaps {
            return;
        }
        let (place, i) = turning.at;
        let pair = &mut self.pairs[turning.pair];
        if pair.touched.is_none() {
            pair.touched = Some(i as u32);
        }
        if pair.sensor {
            return;
        }
        let lever = if turning.lever { offset } else { Vec3A::ZERO };
        let point = Vec3A::from_vec4(view.position[i]) + offset;
        let shift = meeting.near.shift.map_or(Vec3A::ZERO, |shift| shift.at(point));
        let o = &mut view.oriented[turning.oriented];
        let velocity = Vec3A::from_vec4(view.velocity[i] + view.velocity_change[i]);
        let across = lever.cross(normal);
        let spin = Vec3A::from(o.angular_velocity);
        let approach = normal.dot(velocity) + spin.dot(across) - normal.dot(shift) / meeting.h;
        let mut correction = -gap;
        if correction > meeting.allowance {
            // How far the point that touches came in this substep, by prediction and by constraints.
            let pushed = Vec3A::from_vec4(view.position[i] - view.predicted[i]);
            let came = meeting.h * approach + normal.dot(pushed) + Vec3A::from(o.turn).dot(across);
            let gap_before = gap - came;
            correction = (gap_before + meeting.allowance).min(0.0) - gap;
        }
        if !(correction > 0.0 && correction.is_finite()) {
            return;
        }
        let turned = Vec3A::from(o.inverse_inertia_times(across.into()));
        let weight = view.inverse_mass[i] + across.dot(turned);
        let push = correction / weight;
        let moved = view.inverse_mass[i] * push * normal;
        if !(push > 0.0 && push.is_finite() && moved.is_finite()) {
            return;
        }
        let turn = push * turned;
        if turn.length_squared() > LEAST_TURN {
            o.turn_by(turn.into());
        }
        view.position[i] += Vec4::from((moved, 0.0));
        self.last[place] += moved;
        let particle = i as u32;
        // What stopped its path may overlap still.
        if let Some(last) = self.turning.last_mut()
            && (last.particle, last.near) == (particle, meeting.number)
            && last.normal.dot(normal) > 0.99
        {
            last.push += push;
            return;
        }
        self.turning.push(TurningHit {
            normal,
            lever,
            particle,
            oriented: turning.oriented as u32,
            near: meeting.number,
            pair: turning.pair as u32,
            push,
            approach,
        });
    }
}
