//! What the air is at a point, in one tick.

use super::{Air, Turbulence, WindShape, WindZone};
use crate::math::{
    noise::VectorNoise,
    pose::{Pose, TargetMotion},
};
use bevy::{
    math::{DVec3, Vec4},
    prelude::*,
};

/// Faster winds count as this fast (m/s), and denser air as this dense (kg/m³): far above anything
/// that makes sense, far below what f32 can square.
const MOST: f32 = 1e6;

/// At most this many places of a fast zone are looked at in a tick.
const MOST_PLACES: u32 = 8;

/// The air of one tick.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AirField {
    /// The world's, if it has any.
    pub world: Option<Air>,
    pub zones: Vec<ZoneMotion>,
    /// Density of the air that zones bring along (kg/m³).
    pub zone_density: f32,
    /// Simulated time (s).
    pub time: f64,
    /// Acceleration by gusts that keeps an island awake (m/s²).
    pub noticeable: f32,
}

/// A zone, and how it moves over the tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ZoneMotion {
    pub entity: Entity,
    pub zone: WindZone,
    pub motion: TargetMotion,
}

impl Air {
    /// With all numbers fit for use; `None` where there is nothing left.
    pub(super) fn usable(&self) -> Option<Self> {
        if !(self.density.is_finite() && self.density >= 0.0) {
            warn_once!("the air's density {} makes no sense: there is no air", self.density);
        }
        let dense = self.density > 0.0 && self.density.is_finite();
        dense.then(|| Self {
            density: self.density.min(MOST),
            wind: usable_wind(self.wind),
            turbulence: self.turbulence.usable(),
        })
    }
}

impl Turbulence {
    fn usable(self) -> Self {
        let positive = |v: f32| v > 0.0 && v.is_finite();
        if self.strength == 0.0 {
            return Self::NONE;
        }
        if !(positive(self.strength) && positive(self.scale) && self.rate.is_finite()) {
            warn_once!("turbulence with {self:?} makes no sense: it is ignored");
        }
        if !(positive(self.strength) && positive(self.scale)) {
            return Self::NONE;
        }
        let rate = if self.rate.is_finite() { self.rate } else { 0.0 };
        Self { strength: self.strength.min(MOST), rate, ..self }
    }
}

fn usable_wind(wind: Vec3) -> Vec3 {
    if !wind.is_finite() {
        warn_once!("the wind {wind} is not finite: it is ignored");
        return Vec3::ZERO;
    }
    wind.clamp(Vec3::splat(-MOST), Vec3::splat(MOST))
}

impl WindZone {
    /// With all numbers fit for use; `None` where it has no volume.
    pub(super) fn usable(&self) -> Option<Self> {
        let half = self.half_extents();
        if !(half.is_finite() && half.min_element() > 0.0) {
            warn_once!("a wind zone of {:?} has no volume: it is ignored", self.shape);
            return None;
        }
        let falloff = if self.falloff.is_nan() { 0.0 } else { self.falloff.clamp(0.0, 1.0) };
        Some(Self {
            wind: usable_wind(self.wind),
            falloff,
            turbulence: self.turbulence.usable(),
            ..*self
        })
    }

    /// Half the size of the box that it fits in (m, its own frame).
    fn half_extents(&self) -> Vec3 {
        match self.shape {
            WindShape::Cuboid { half_extents } => half_extents,
            WindShape::Sphere { radius } => Vec3::splat(radius),
        }
    }

    /// How much of it acts at `point` (its own frame): 0 outside, up to 1.
    fn weight(&self, point: Vec3) -> f32 {
        let rise = |way: f32| {
            // Where there is no falloff, way/falloff is no number on the border itself.
            let t = if way >= self.falloff { 1.0 } else { (way / self.falloff).max(0.0) };
            if way > 0.0 { t * t * (3.0 - 2.0 * t) } else { 0.0 }
        };
        match self.shape {
            WindShape::Cuboid { half_extents } => {
                let way = Vec3::ONE - point.abs() / half_extents;
                rise(way.x) * rise(way.y) * rise(way.z)
            }
            WindShape::Sphere { radius } => rise(1.0 - (point / radius).length()),
        }
    }
}

impl ZoneMotion {
    /// In how many places it is looked at in a tick, so that it leaps over nothing.
    fn places(&self) -> u32 {
        let TargetMotion { start, end } = &self.motion;
        if start == end {
            return 1;
        }
        let half = (self.zone.half_extents() * end.scale).abs();
        let turned = start.rotation.angle_between(end.rotation) * half.max_element();
        let way = start.translation.distance(end.translation) + turned;
        let steps = (way / half.min_element()).ceil();
        // NaN becomes 1.
        if steps > 1.0 { (steps.min(MOST_PLACES as f32)) as u32 } else { 1 }
    }

    /// The smallest ball around it over the whole tick: centre (m, world), radius.
    fn bounds(&self) -> (DVec3, f32) {
        let TargetMotion { start, end } = &self.motion;
        let reach = |pose: &Pose| (self.zone.half_extents() * pose.scale).length();
        let (a, b) = (start.translation.as_dvec3(), end.translation.as_dvec3());
        (0.5 * (a + b), 0.5 * a.distance(b) as f32 + reach(start).max(reach(end)))
    }
}

impl AirField {
    /// Whether there is no air anywhere.
    pub fn is_empty(&self) -> bool {
        self.world.is_none() && self.zones.is_empty()
    }

    /// Whether the wind at some place changes with time.
    pub fn is_turbulent(&self) -> bool {
        self.world.is_some_and(|air| air.turbulence.strength > 0.0)
            || self.zones.iter().any(|zone| zone.zone.turbulence.strength > 0.0)
    }

    /// What the field is near particles in the box `low` to `high` (m, world).
    pub(super) fn near(&self, low: DVec3, high: DVec3) -> Nearby<'_> {
        let time = self.time;
        let touches = |zone: &&ZoneMotion| {
            let (centre, radius) = zone.bounds();
            centre.distance(centre.clamp(low, high)) <= f64::from(radius)
        };
        let zones = self.zones.iter().filter(touches).map(|zone| {
            let places = zone.places();
            let place = |i: u32| zone.motion.at((i + 1) as f32 / places as f32);
            NearZone {
                zone: &zone.zone,
                poses: (0..places).map(place).collect(),
                gusts: Gusts::new(&zone.zone.turbulence, time),
            }
        });
        Nearby {
            world: self.world.map(|air| (air, Gusts::new(&air.turbulence, time))),
            zones: zones.collect(),
            zone_density: self.zone_density,
        }
    }
}

/// Turbulence at one time.
struct Gusts {
    noise: VectorNoise,
    strength: f32,
    cells_per_metre: f64,
}

impl Gusts {
    fn new(turbulence: &Turbulence, time: f64) -> Option<Self> {
        (turbulence.strength > 0.0).then(|| Self {
            noise: VectorNoise::new(turbulence.seed, time * f64::from(turbulence.rate)),
            strength: turbulence.strength,
            cells_per_metre: f64::from(turbulence.scale).recip(),
        })
    }

    fn at(&mut self, place: DVec3) -> Vec3 {
        self.strength * self.noise.at(place * self.cells_per_metre)
    }
}

struct NearZone<'a> {
    zone: &'a WindZone,
    /// Where it is during the tick.
    poses: Vec<Pose>,
    gusts: Option<Gusts>,
}

impl NearZone<'_> {
    /// Its wind at `place` over the tick, and how much of it acts (0 to 1).
    fn at(&mut self, place: DVec3) -> (Vec3, f32) {
        let share = (self.poses.len() as f32).recip();
        let (mut wind, mut weight) = (Vec3::ZERO, 0.0);
        for pose in &self.poses {
            let here = share * self.zone.weight(pose.inverse_transform_point(place));
            if here > 0.0 {
                wind += here * (pose.rotation * self.zone.wind);
                weight += here;
            }
        }
        if weight > 0.0
            && let Some(gusts) = &mut self.gusts
        {
            wind += weight * gusts.at(place);
        }
        (wind, weight)
    }
}

/// The part of an [`AirField`] that can reach some particles.
pub(super) struct Nearby<'a> {
    world: Option<(Air, Option<Gusts>)>,
    zones: Vec<NearZone<'a>>,
    zone_density: f32,
}

impl Nearby<'_> {
    /// Whether there is no air.
    pub fn is_empty(&self) -> bool {
        self.world.is_none() && self.zones.is_empty()
    }

    /// The wind at `place` (m/s), and in the fourth component the density of the air (kg/m³).
    pub fn at(&mut self, place: DVec3) -> Vec4 {
        let (mut wind, mut density) = (Vec3::ZERO, 0.0);
        let mut within = 0.0;
        if let Some((air, gusts)) = &mut self.world {
            wind = air.wind + gusts.as_mut().map_or(Vec3::ZERO, |gusts| gusts.at(place));
            density = air.density;
        }
        for zone in &mut self.zones {
            let (more, weight) = zone.at(place);
            wind += more;
            within += weight;
        }
        if self.world.is_none() {
            density = self.zone_density * within.min(1.0);
        }
        wind.clamp(Vec3::splat(-MOST), Vec3::splat(MOST)).extend(density)
    }

    /// The strength of all gusts that may act here (m/s).
    pub fn turbulence(&self) -> f32 {
        let world = self.world.as_ref().and_then(|(_, gusts)| Some(gusts.as_ref()?.strength));
        let zones = self.zones.iter().filter_map(|z| Some(z.gusts.as_ref()?.strength));
        zones.chain(world).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(zone: WindZone, transform: Transform) -> AirField {
        let pose = Pose::new(transform).unwrap();
        let motion = TargetMotion { start: pose, end: pose };
        let zones = vec![ZoneMotion { entity: Entity::PLACEHOLDER, zone, motion }];
        AirField { zones, zone_density: 1.2, ..default() }
    }

    fn at(field: &AirField, place: Vec3) -> Vec4 {
        let place = place.as_dvec3();
        field.near(place, place).at(place)
    }

    #[test]
    fn a_zone_turns_and_stretches_with_its_transform() {
        let wind = WindZone::cuboid(Vec3::new(1.0, 2.0, 3.0), Vec3::NEG_Z * 4.0).with_falloff(0.0);
        let turn = Quat::from_rotation_y(core::f32::consts::FRAC_PI_2);
        let field = zone(
            wind,
            Transform::from_xyz(10.0, 0.0, 0.0).with_rotation(turn).with_scale(Vec3::splat(2.0)),
        );
        // Its z axis lies along x now, 6 m to either side.
        let inside = at(&field, Vec3::new(15.9, 3.9, 1.9));
        assert!(inside.truncate().distance(Vec3::NEG_X * 4.0) < 1e-5, "{inside}");
        assert_eq!(inside.w, 1.2);
        for outside in [Vec3::new(16.1, 0.0, 0.0), Vec3::new(10.0, 4.1, 0.0), Vec3::Z * 2.1] {
            assert_eq!(at(&field, outside), Vec4::ZERO);
        }
    }

    #[test]
    fn falloff_rises_smoothly_from_the_border() {
        let ball = zone(WindZone::sphere(2.0, Vec3::X).with_falloff(0.5), Transform::IDENTITY);
        let speed = |r: f32| at(&ball, Vec3::new(0.0, r, 0.0)).x;
        assert_eq!(speed(0.0), 1.0);
        assert_eq!(speed(1.0), 1.0);
        assert!((speed(1.5) - 0.5).abs() < 1e-6);
        assert!((speed(1.75) - 0.15625).abs() < 1e-6);
        assert_eq!(speed(2.0), 0.0);
        let sharp = zone(WindZone::sphere(2.0, Vec3::X).with_falloff(0.0), Transform::IDENTITY);
        assert_eq!(at(&sharp, Vec3::Y * 1.999).x, 1.0);
        assert_eq!(at(&sharp, Vec3::Y * 2.001).x, 0.0);
    }

    #[test]
    fn a_zone_that_leaps_blows_on_its_way() {
        let mut field = zone(WindZone::sphere(1.0, Vec3::X).with_falloff(0.0), Transform::IDENTITY);
        field.zones[0].motion.start.translation = Vec3::X * -3.0;
        field.zones[0].motion.end.translation = Vec3::X * 3.0;
        let passed = at(&field, Vec3::ZERO).x;
        // A third of the way it is within 1 m.
        assert!((passed - 1.0 / 3.0).abs() < 0.17, "{passed}");
        assert_eq!(at(&field, Vec3::Y * 1.5).x, 0.0);
    }
}
