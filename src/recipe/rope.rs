//! Rope: particles on a line.

use super::{
    build::Recipe,
    error::{BuildError, not_negative, positive},
    geodesic,
    plan::{BodyPlan, Material, check_count, check_pins},
};
use crate::obstacle::Friction;
use bevy::prelude::*;

/// A rope that hangs down the body's −y axis from its origin.
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_pliant::prelude::*;
/// # fn spawn(mut commands: Commands) {
/// commands.spawn((Rope::new(3.0, 31).pinned(RopePins::Start), Transform::from_xyz(0.0, 5.0, 0.0)));
/// # }
/// ```
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
#[require(Transform, crate::solver::DrawnPose, crate::solver::BodySettings)]
#[cfg_attr(feature = "render", require(Visibility))]
pub struct Rope {
    /// Length (m).
    pub length: f32,
    /// Number of particles, at least 2.
    pub particles: u32,
    /// Which particles are pinned to the body.
    pub pins: RopePins,
    /// Mass per length (kg/m). Default: 0.1.
    pub mass_per_length: f32,
    /// Compliance of each link (m/N); 0 is rigid. Default: 0.
    pub compliance: f32,
    /// Velocity damping (1/s). Default (`None`): the world's.
    pub damping: Option<f32>,
    /// Friction with obstacles.
    pub friction: Friction,
    /// Thickness: twice the radius of its particles, and of what is drawn (m). Default (`None`): twice
    /// the world's particle radius, 2 cm.
    pub thickness: Option<f32>,
    /// Whether particles are tethered to the nearest pins. Default: true.
    pub tethers: bool,
    /// By which part of its length a tether may be exceeded. Default: 0.02.
    pub tether_slack: f32,
}

/// Which particles of a rope are pinned.
#[derive(Reflect, Clone, Debug, Default, PartialEq, Eq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub enum RopePins {
    /// None.
    #[default]
    None,
    /// The first.
    Start,
    /// The first and the last.
    Ends,
    /// These, by index.
    Indices(Vec<u32>),
}

impl Default for Rope {
    fn default() -> Self {
        Self::new(2.0, 21)
    }
}

impl Rope {
    /// A rope of `length` metres and `particles` particles, pinned nowhere.
    pub const fn new(length: f32, particles: u32) -> Self {
        Self {
            length,
            particles,
            pins: RopePins::None,
            mass_per_length: 0.1,
            compliance: 0.0,
            damping: None,
            friction: Friction::DEFAULT,
            thickness: None,
            tethers: true,
            tether_slack: 0.02,
        }
    }

    /// Pinned so.
    pub fn pinned(mut self, pins: RopePins) -> Self {
        self.pins = pins;
        self
    }

    /// With this mass per length (kg/m).
    pub fn with_mass_per_length(mut self, mass: f32) -> Self {
        self.mass_per_length = mass;
        self
    }

    /// With links of this compliance (m/N).
    pub fn with_compliance(mut self, compliance: f32) -> Self {
        self.compliance = compliance;
        self
    }

    /// With this velocity damping (1/s).
    pub fn with_damping(mut self, damping: f32) -> Self {
        self.damping = Some(damping);
        self
    }

    /// With this thickness (m).
    pub fn with_thickness(mut self, thickness: f32) -> Self {
        self.thickness = Some(thickness);
        self
    }

    /// Without tethers.
    pub fn without_tethers(mut self) -> Self {
        self.tethers = false;
        self
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), BuildError> {
        check_count("the rope", u64::from(self.particles), 2)?;
        positive("length", self.length)?;
        positive("mass per length", self.mass_per_length)?;
        positive("the rope's mass", self.mass_per_length * self.length)?;
        not_negative("compliance", self.compliance)?;
        not_negative("damping", self.damping.unwrap_or(0.0))?;
        not_negative("friction.fixed", self.friction.fixed)?;
        not_negative("friction.sliding", self.friction.sliding)?;
        not_negative("thickness", self.thickness.unwrap_or(0.0))?;
        not_negative("tether_slack", self.tether_slack)
    }
}

impl Recipe for Rope {
    type Input = ();

    fn input(&self, _: &World, _: Entity) -> Result<Option<()>, BuildError> {
        Ok(Some(()))
    }

    fn plan_from(&self, scale: Vec3, (): &()) -> Result<BodyPlan, BuildError> {
        self.validate()?;
        let links = self.particles - 1;
        let spacing = self.length / links as f32;
        let pins = match &self.pins {
            RopePins::None => Vec::new(),
            RopePins::Start => vec![0],
            RopePins::Ends => vec![0, links],
            RopePins::Indices(indices) => indices.clone(),
        };
        let mut plan = BodyPlan {
            rest: (0..self.particles).map(|i| Vec3::NEG_Y * (spacing * i as f32)).collect(),
            pins: check_pins(pins, u64::from(self.particles))?,
            ..default()
        };
        (0..links).for_each(|i| plan.link(i, i + 1, scale));
        plan.segments = (0..links).map(|i| [i, i + 1]).collect();
        // The mass of half a link to each side.
        let link = self.mass_per_length * spacing * scale.y.abs();
        positive("the mass of a link", 0.5 * link)?;
        positive("the mass of a link", (0.5 * link).recip())?;
        plan.mass = vec![link; self.particles as usize];
        plan.mass[0] *= 0.5;
        plan.mass[links as usize] *= 0.5;
        if self.tethers {
            let stretch = 1.0 + self.tether_slack;
            plan.tethers = geodesic::distances_to_pins(&plan);
            plan.tethers.iter_mut().for_each(|(_, length)| *length *= stretch);
        }
        Ok(plan)
    }

    fn same_shape(&self, built: &Self) -> bool {
        self.length == built.length
            && self.particles == built.particles
            && self.pins == built.pins
            && self.tethers == built.tethers
            && self.tether_slack == built.tether_slack
    }

    fn same_mass(&self, built: &Self) -> bool {
        self.mass_per_length == built.mass_per_length
    }

    fn material(&self) -> Material {
        Material {
            compliance: self.compliance,
            damping: self.damping,
            friction: self.friction,
            radius: self.thickness.map(|thickness| 0.5 * thickness),
            ..default()
        }
    }

    fn check(&self) -> Result<(), BuildError> {
        self.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rope_weighs_its_length_and_hangs_down() {
        let plan = Rope::new(3.0, 31).pinned(RopePins::Start).plan(Vec3::ONE).unwrap();
        assert!((plan.mass.iter().sum::<f32>() - 0.3).abs() < 1e-6);
        assert!(plan.rest[30].distance(Vec3::NEG_Y * 3.0) < 1e-6);
        assert_eq!(plan.distances.len(), 30);
        assert_eq!(plan.tethers.len(), 30);
    }
}
