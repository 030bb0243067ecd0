//! Contact of an island's particles with one another.

use super::super::{
    mirror::{IslandView, NOT_ORIENTED},
    settings::StepTime,
};
use super::{
    SoftIsland,
    drift::Flow,
    hash_grid::HashGrid,
    pairs::{Moving, NONE, Pair, PairList, along, closest, contact_distance},
    plan::{Plan, plan},
};
use crate::math::bounds::Bounds;
use bevy::{
    math::{Vec3A, Vec4},
    prelude::*,
};

/// More partners than this a particle does not look for: thousands at one place must not be quadratic.
pub(super) const MOST_PARTNERS: usize = 96;

/// More particles within reach than this are not tried, those that can be no partners among them.
const MOST_TRIED: usize = 2_048;

/// The island's list of pairs, and what it was made for.
#[derive(Debug, Default)]
pub(super) struct Within {
    pub list: PairList,
    grid: HashGrid,
    /// Positions when the list was made (m).
    reference: Vec<Vec4>,
    /// The flow's velocity at each (m/s).
    flow: Vec<Vec4>,
    /// How far particles went with no part of the flow.
    drift: Bounds,
    plan: Plan,
    /// The substep in which the list was made; `None` before the tick's first.
    made: Option<u32>,
}

impl Within {
    /// A new tick: nothing of the last one is known.
    pub fn begin_tick(&mut self) {
        self.list.clear_pairs();
        self.made = None;
    }
}

/// Projects the contacts of an island's particles with one another once.
pub(super) fn project(
    view: &mut IslandView<'_>,
    soft: &mut SoftIsland,
    time: &StepTime,
    allowance: f32,
) {
    let within = &mut soft.within;
    if !follow(view, within, time) {
        make(view, soft, time);
    }
    let within = &mut soft.within;
    let mut moving = moving(view, time, allowance);
    within.list.project(&mut moving, within.plan.swept);
}

/// What distances within an island are measured along.
fn along_of(view: &IslandView<'_>) -> Vec4 {
    along(view.island.bodies.iter().map(|body| &view.shared.bodies[*body as usize]))
}

fn moving<'a>(view: &'a mut IslandView<'_>, time: &StepTime, allowance: f32) -> Moving<'a> {
    Moving {
        along: along_of(view),
        position: view.position,
        old: crate::constraint::OldPositions {
            predicted: view.predicted,
            velocity: view.velocity,
            velocity_change: view.velocity_change,
            h: time.h,
        },
        inverse_mass: view.inverse_mass,
        shift: Vec4::ZERO,
        allowance,
    }
}

/// Follows how far particles have gone; whether the list still holds all pairs that may touch.
fn follow(view: &IslandView<'_>, within: &mut Within, time: &StepTime) -> bool {
    let Some(made) = within.made else { return false };
    if within.plan.swept {
        return made == time.substep;
    }
    let elapsed = (time.substep.wrapping_sub(made)) as f32 * time.h;
    let mut drift = within.drift;
    let particles = view.position.iter().zip(&within.reference).zip(&within.flow);
    for ((x, reference), flow) in particles {
        drift = drift.with(Vec3A::from_vec4(*x - *reference - elapsed * *flow));
    }
    within.drift = drift;
    // Not within includes what is not a number.
    drift.diagonal() <= within.plan.margin
}

/// Makes the list anew.
fn make(view: &IslandView<'_>, soft: &mut SoftIsland, time: &StepTime) {
    let SoftIsland { structure, within, .. } = soft;
    within.list.clear_pairs();
    within.drift = Bounds::EMPTY;
    within.made = Some(time.substep);
    let bodies = view.shared.bodies;
    let distance = |a: u32, b: u32| contact_distance(bodies, a, b);
    let own = &view.island.bodies;
    // At least the greatest distance at which any two touch.
    let radii = own.iter().map(|b| &bodies[*b as usize]);
    let radii = radii.filter(|b| b.self_contact || b.soft_contact).map(|b| b.contact_radius);
    let widest = 2.0 * radii.fold(0.0, f32::max);

    let count = view.len();
    let horizon = time.substeps.saturating_sub(time.substep) as f32 * time.h;
    let along = along_of(view);
    let moving =
        (0..count).map(|i| (view.position[i] * along, view.velocity[i] + view.velocity_change[i]));
    let flow = Flow::fit(moving.clone(), count, horizon);
    within.reference.clear();
    within.reference.extend_from_slice(&view.position[..count]);
    within.flow.clear();
    let old = view.old(time.h);
    let (mut speeds, mut moved) = (Bounds::EMPTY, Bounds::EMPTY);
    for (i, (x, v)) in moving.enumerate() {
        let flow = flow.at(x);
        within.flow.push(flow);
        speeds = speeds.with(Vec3A::from_vec4(v - flow));
        moved = moved.with(Vec3A::from_vec4(view.position[i] - old.get(i) - time.h * flow));
    }
    within.plan = plan(widest, speeds.diagonal(), moved.diagonal(), horizon, flow.squeeze);
    let Plan { reach, margin, stretch, swept } = within.plan;
    if !(reach > 0.0 && reach.is_finite()) {
        return;
    }
    let points = view.position[..count].iter().enumerate().map(|(i, x)| (i as u32, *x * along));
    if view.oriented_of.is_empty() {
        within.grid.build(reach, points);
    } else {
        let plain = |(i, _): &(u32, Vec4)| view.oriented_of[*i as usize] == NOT_ORIENTED;
        within.grid.build(reach, points.filter(plain));
    }

    let single = own.len() == 1;
    let (mut of, mut found, mut tried) = (NONE, 0, 0);
    let list = &mut within.list.pairs;
    within.grid.pairs(reach, |first, second, squared| {
        let (i, j) = (first.index, second.index);
        if of != i {
            (of, found, tried) = (i, 0, 0);
        }
        tried += 1;
        let (a, b) =
            if single { (own[0], own[0]) } else { (view.body[i as usize], view.body[j as usize]) };
        let of_bodies = if single { widest } else { distance(a, b) };
        if of_bodies <= 0.0 {
            return tried < MOST_TRIED;
        }
        let distance = structure.distance(i, j, of_bodies, a == b);
        let near = (distance + margin) * stretch;
        let squared = if swept {
            let before = (old.get(j as usize) - old.get(i as usize)) * along;
            closest(before, second.position - first.position).length_squared()
        } else {
            squared
        };
        let held = view.inverse_mass[i as usize] + view.inverse_mass[j as usize] == 0.0;
        if distance > 0.0 && squared < near * near && !held {
            found += 1;
            list.push(Pair { particles: [i, j], distance, touch: NONE });
        }
        found < MOST_PARTNERS && tried < MOST_TRIED
    });
}
