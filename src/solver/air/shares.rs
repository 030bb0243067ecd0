//! Once a tick: the wind at each triangle and segment, and its share of its particles' masses.

use super::surface::{FacePack, IslandAir, bounds};
use crate::{
    math::lane::{Vec3x4, sqrt},
    solver::{
        air::field::Nearby,
        mirror::{IslandView, MirrorBody},
        settings::StepTime,
    },
};
use bevy::{math::Vec4, prelude::*};

/// A part of u is never more than all of it, so that greater factors say nothing more.
const MOST_FACTOR: f32 = 1e30;

/// Prepares an island for the substeps of a tick; sets whether it meets air at all.
pub(super) fn prepare(view: &mut IslandView<'_>, time: &StepTime) {
    view.air.active = false;
    view.air.restless = false;
    let field = view.shared.air;
    let coefficients = |body: u32| {
        let MirrorBody { drag, lift, .. } = view.shared.bodies[body as usize];
        drag > 0.0 || lift > 0.0
    };
    if field.is_empty()
        || view.air.is_empty()
        || !view.island.bodies.iter().any(|b| coefficients(*b))
    {
        return;
    }
    let [low, high] = bounds(&view.position[..view.len()], view.island.origin);
    let mut near = field.near(low, high);
    if near.is_empty() {
        return;
    }
    let mut meets = core::mem::take(view.air);
    let measures = Measures::new(view, &meets);
    let mut tick = Tick {
        view,
        near: &mut near,
        measures: &measures,
        h: time.h,
        noticeable: field.noticeable,
        gusts: 0.0,
        blown: false,
        restless: false,
    };
    tick.gusts = tick.near.turbulence();
    meets.faces.iter_mut().for_each(FacePack::calm);
    // Neighbours are in the same lane, and in the same gust.
    for lane in 0..4 {
        for (number, pack) in meets.faces.iter_mut().enumerate() {
            tick.face(number, pack, lane);
        }
    }
    tick.lines(&mut meets);
    (meets.active, meets.restless) = (tick.blown, tick.restless);
    *view.air = meets;
    // What the wind gave, momentum restoration must not take.
    view.island.touched |= view.air.active;
}

/// How much of the air each part meets: by that, its particles' masses are shared among parts.
struct Measures {
    /// Area of each triangle (m²).
    faces: Vec<Vec4>,
    /// Length times diameter of each segment (m²).
    lines: Vec<f32>,
    /// Mass of each particle by the sum of the measures of its parts (kg/m²); infinite if it is held.
    densities: Vec<f32>,
}

impl Measures {
    fn new(view: &IslandView<'_>, meets: &IslandAir) -> Self {
        let mut sums = vec![0.0; view.position.len()];
        let mut faces = Vec::with_capacity(meets.faces.len());
        for pack in &meets.faces {
            let place = |slots: [u32; 4]| slots.map(|i| view.position[i as usize]);
            let [a, b, c] = pack.slots.map(|slots| Vec3x4::from_rows(place(slots)));
            let area = 0.5 * sqrt((b - a).cross(c - a).length_squared());
            for slots in pack.slots {
                (0..4).for_each(|lane| sums[slots[lane] as usize] += area[lane]);
            }
            faces.push(area);
        }
        let mut lines = Vec::with_capacity(meets.lines.len());
        for line in &meets.lines {
            let [a, b] = line.slots.map(|i| view.position[i as usize]);
            let measure = (b - a).length() * 2.0 * view.shared.bodies[line.body as usize].radius;
            line.slots.iter().for_each(|i| sums[*i as usize] += measure);
            lines.push(measure);
        }
        let weights = view.mass.iter().zip(view.inverse_mass);
        let densities = sums.into_iter().zip(weights).map(|(sum, (mass, inverse))| {
            let density = mass / sum;
            if *inverse > 0.0 && density.is_finite() { density } else { f32::INFINITY }
        });
        Self { faces, lines, densities: densities.collect() }
    }

    /// The mass of a part that measures so much (kg): as many times the least share of a free
    /// corner as it has corners; 0 where it has none.
    fn mass<const N: usize>(&self, slots: [u32; N], measure: f32) -> f32 {
        let densities = slots.map(|slot| self.densities[slot as usize]);
        let mass = N as f32 * (measure * densities.into_iter().fold(f32::INFINITY, f32::min));
        if mass.is_finite() { mass } else { 0.0 }
    }
}

struct Tick<'a, 'v, 'n> {
    view: &'a IslandView<'v>,
    near: &'a mut Nearby<'n>,
    measures: &'a Measures,
    h: f32,
    noticeable: f32,
    /// Strength of the gusts (m/s).
    gusts: f32,
    blown: bool,
    restless: bool,
}

impl Tick<'_, '_, '_> {
    fn face(&mut self, number: usize, pack: &mut FacePack, lane: usize) {
        let slots = pack.slots.map(|s| s[lane]);
        let body = &self.view.shared.bodies[pack.body as usize];
        let area = self.measures.faces[number][lane];
        let meets = body.drag > 0.0 || body.lift > 0.0;
        // Those that pad a pack have no area.
        if !(area > 0.0 && meets) {
            return;
        }
        let mass = self.measures.mass(slots, area);
        let (wind, density) = self.wind(slots, pack.planar);
        if !(mass > 0.0 && density > 0.0) {
            return;
        }
        let factor = self.h * density / (4.0 * mass);
        pack.drag[lane] = (factor * body.drag).min(MOST_FACTOR);
        pack.lift[lane] = (factor * body.lift).min(MOST_FACTOR);
        pack.share[lane] = mass / 3.0;
        (pack.wind.x[lane], pack.wind.y[lane], pack.wind.z[lane]) = (wind.x, wind.y, wind.z);
        let push = 0.5 * density * (body.drag + body.lift) * area / mass;
        self.note(push, wind);
    }

    fn lines(&mut self, meets: &mut IslandAir) {
        for (number, line) in meets.lines.iter_mut().enumerate() {
            (line.drag, line.share) = (0.0, 0.0);
            let body = &self.view.shared.bodies[line.body as usize];
            let measure = self.measures.lines[number];
            let mass = self.measures.mass(line.slots, measure);
            let (wind, density) = self.wind(line.slots, body.planar);
            if !(mass > 0.0 && density > 0.0 && body.drag > 0.0) {
                continue;
            }
            line.wind = wind;
            line.drag = (self.h * density * body.drag * body.radius / mass).min(MOST_FACTOR);
            line.share = 0.5 * mass;
            self.note(0.5 * density * body.drag * measure / mass, wind);
        }
    }

    /// Wind and density at the centre of some particles.
    fn wind<const N: usize>(&mut self, slots: [u32; N], planar: bool) -> (Vec3, f32) {
        let sum: Vec4 = slots.iter().map(|slot| self.view.position[*slot as usize]).sum();
        let centre = (sum / N as f32).truncate().as_dvec3() + self.view.island.origin;
        let wind = self.near.at(centre);
        let along = if planar { wind.with_z(0.0) } else { wind };
        (along.truncate(), wind.w)
    }

    /// Notes that air acts, with what acceleration at 1 m/s, and whether its gusts are felt.
    fn note(&mut self, push: f32, wind: Vec3) {
        self.blown = true;
        let change = push * self.gusts * (2.0 * wind.length() + self.gusts);
        self.restless |= change > self.noticeable;
    }
}
