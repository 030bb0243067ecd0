//! Air: wind, and the drag and lift of what it meets.
//!
//! # The law
//!
//! A triangle of area A and unit normal n moves with the mean v of its corners' velocities; w is the
//! wind at its centre. Of the relative wind u = w − v it feels (\[WGJ14\], \[KKTW04\], after the quadratic
//! law of drag; n is taken on the side that the wind comes from, so that the winding does not matter):
//!
//! ```text
//!            F = ½ ρ A |u|² c ( C_D û + C_L (n − c û) ),      c = n·û ≥ 0,  û = u/|u|
//!
//!    wind ───►  ╱       across the wind (c = 1):  ½ ρ C_D A |u|², along it
//!    ─────────►╱ ─► F   at an angle:              drag by the area that the wind sees, A c, and
//!    ────────►╱  ╲      lift ½ ρ C_L A |u|² c s   at right angles to the wind (s² = 1 − c²)
//!            ╱    n     edge-on (c = 0):          nothing
//! ```
//!
//! A third of it acts on each corner. The sum over a surface does not depend on how finely it is divided.
//!
//! A segment of a line of particles ([`BodyLine`](crate::particle::BodyLine): a rope) of length L is a
//! cylinder of the particles' diameter d, which feels the part u⊥ of the wind across it, half at each
//! end: `F = ½ ρ C_D d L |u⊥| u⊥`. It has no lift.
//!
//! A planar body has no face that a wind in its plane could meet; its triangles feel drag as if each
//! turned its whole area to the wind: `F = ½ ρ C_D A |u| u`, and no lift. Wind out of its plane does
//! nothing to it. Particles without surface or line (those of ragdolls, or free ones) feel no air.
//!
//! # How it is applied
//!
//! At the start of every substep, as impulses hF that change velocities before positions are predicted.
//! Explicitly, so that the force is the one above; but each triangle acts on its own share M of its
//! corners' masses only, and changes their relative wind by no more than that wind:
//!
//! ```text
//!    δ = min(1, h k C_D) u + b (|u| n − c u),   b = min(1, h k C_L),   k = ½ ρ A (n·u)/M
//!    with more drag where there is too little to make up for (b s)²;   vᵢ += (M/3mᵢ) δ
//! ```
//!
//! The shares of a particle's triangles sum up to its mass, so that its change of velocity is a mean of
//! such changes: air alone never turns a relative wind around nor gives it energy, however light
//! the cloth or strong the wind. (M is three times the least share of a corner that is not held.)
//!
//! Wind is asked for once a tick, at each triangle's and segment's centre.
//!
//! # Sleep
//!
//! A change of what blows wakes the islands that feel another wind by it. An island in turbulence
//! that pushes it noticeably (by 0.1 m/s² and more) does not sleep.
//!
//! \[KKTW04\] M. Keckeisen, S. Kimmerle, B. Thomaszewski, M. Wacker, "Modelling Effects of Wind Fields in
//! Cloth Animations", Journal of WSCG 12, 2004. \[WGJ14\] K. Wilson, A. `McAdams`, H. Leo, M. Simmons,
//! "Simulating Wind Effects on Cloth and Hair in Disney's Frozen", SIGGRAPH Talks 2014.

mod field;
mod force;
mod shares;
mod surface;

pub(crate) use field::AirField;
pub(super) use force::blow;
pub(super) use surface::gather_air;
pub(crate) use surface::{IslandAir, MirrorAir};

use crate::particle::TopologyChanges;
use bevy::{
    ecs::{lifecycle::HookContext, world::DeferredWorld},
    prelude::*,
};

/// The air that fills the world, with its wind. Without this resource everything outside of
/// [`WindZone`]s is a vacuum; with it, still air drags too.
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_pliant::prelude::*;
/// # let mut app = App::new();
/// app.insert_resource(
///     Air::wind(Vec3::X * 6.0).with_turbulence(Turbulence { strength: 2.0, ..default() }),
/// );
/// ```
///
/// A triangle of area A whose normal makes an angle with the relative wind u of which the cosine is c
/// feels a drag of `½ ρ C_D A c |u|²` along the wind and a lift of `½ ρ C_L A c √(1 − c²) |u|²` across
/// it; a rope feels `½ ρ C_D d |u⊥| u⊥` per length, d being its thickness.
/// Bodies feel it by their [`BodySettings::drag`](super::BodySettings::drag) and `lift`. Values that
/// make no sense are ignored with a warning, as each field says.
#[derive(Resource, Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Resource, Default, Debug, PartialEq, Clone)]
pub struct Air {
    /// Density ρ (kg/m³). One that is not finite or below 0 counts as 0. Default: 1.2. (In a world in
    /// which a metre is `u` long, and masses per area are as in metres, air is 1.2/`u`; what zones bring
    /// along is.)
    pub density: f32,
    /// Velocity of the wind (m/s, world). One that is not finite counts as 0. Default: 0.
    pub wind: Vec3,
    /// Its gusts. Default: none.
    pub turbulence: Turbulence,
}

impl Default for Air {
    fn default() -> Self {
        Self::STILL
    }
}

impl Air {
    /// Still air of 1.2 kg/m³.
    pub const STILL: Self = Self { density: 1.2, wind: Vec3::ZERO, turbulence: Turbulence::NONE };

    /// Air of 1.2 kg/m³ that moves at `velocity` (m/s).
    pub const fn wind(velocity: Vec3) -> Self {
        Self { wind: velocity, ..Self::STILL }
    }

    /// With these gusts.
    pub const fn with_turbulence(mut self, turbulence: Turbulence) -> Self {
        self.turbulence = turbulence;
        self
    }

    /// With this density (kg/m³).
    pub const fn with_density(mut self, density: f32) -> Self {
        self.density = density;
        self
    }
}

/// A part of space where a wind blows: a fan, a draught, an explosion.
///
/// It stands where its entity's `Transform` has it, parents included, read at every tick: position,
/// rotation and scale move, turn and stretch the shape, and the rotation turns the wind (the scale does
/// not change its speed). A zone so fast that it would leap over what is in its way is taken at several
/// places of the tick. Winds of several zones and of [`Air`] add up.
///
/// Where the app has no `Air`, a zone brings air of 1.2 kg/m³ along that thins out with the wind toward
/// the border. A zone whose shape, wind or transform makes no sense is ignored with a warning.
#[derive(Component, Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
#[require(Transform)]
#[component(on_add = note_zone)]
pub struct WindZone {
    /// Its shape, centred in the entity's frame.
    pub shape: WindShape,
    /// Velocity of the wind (m/s, in the entity's frame). Default: 5 m/s along −z, where a `Transform`
    /// looks.
    pub wind: Vec3,
    /// Over which part of the way from border to centre the wind rises, from nothing to all of it, as
    /// 3t² − 2t³ (for a cuboid along each axis, multiplied): 0, none, cuts it off at the border; 1
    /// reaches all of it in the centre alone. Clamped to 0..=1, and 0 where it is not a number. Default: 0.25.
    pub falloff: f32,
    /// Its gusts. Default: none.
    pub turbulence: Turbulence,
}

/// The shape of a [`WindZone`].
#[derive(Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Debug, PartialEq, Clone)]
pub enum WindShape {
    /// A box.
    Cuboid {
        /// Half its size along each axis (m).
        half_extents: Vec3,
    },
    /// A ball.
    Sphere {
        /// Radius (m).
        radius: f32,
    },
}

impl Default for WindShape {
    fn default() -> Self {
        Self::Cuboid { half_extents: Vec3::ONE }
    }
}

impl Default for WindZone {
    fn default() -> Self {
        Self::new(WindShape::default(), Vec3::NEG_Z * 5.0)
    }
}

impl WindZone {
    /// A zone of this shape, with this wind (m/s, in the entity's frame).
    pub const fn new(shape: WindShape, wind: Vec3) -> Self {
        Self { shape, wind, falloff: 0.25, turbulence: Turbulence::NONE }
    }

    /// A box with this wind (m/s, in the entity's frame).
    pub const fn cuboid(half_extents: Vec3, wind: Vec3) -> Self {
        Self::new(WindShape::Cuboid { half_extents }, wind)
    }

    /// A ball with this wind (m/s, in the entity's frame).
    pub const fn sphere(radius: f32, wind: Vec3) -> Self {
        Self::new(WindShape::Sphere { radius }, wind)
    }

    /// With this falloff, 0 to 1.
    pub const fn with_falloff(mut self, falloff: f32) -> Self {
        self.falloff = falloff;
        self
    }

    /// With these gusts.
    pub const fn with_turbulence(mut self, turbulence: Turbulence) -> Self {
        self.turbulence = turbulence;
        self
    }
}

/// Gusts: a random velocity, smooth in space and time and zero on average, that adds to a wind.
///
/// It is a function of place, simulated time ([`SolverClock::elapsed`](super::SolverClock::elapsed))
/// and seed alone. Changing `scale` or `rate` gives other gusts at once.
#[derive(Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub struct Turbulence {
    /// Root mean square of the gusts (m/s); they never exceed 3.2 times that. One that is not a positive
    /// number gives none. Default: 0.
    pub strength: f32,
    /// How far apart gusts differ (m). One that is not a positive number gives none. Default: 2.
    pub scale: f32,
    /// How often they change into others (1/s): wind speed over `scale` looks like gusts that are carried
    /// along. One that is not finite counts as 0. Default: 1.
    pub rate: f32,
    /// Which gusts of all.
    pub seed: u32,
}

impl Default for Turbulence {
    fn default() -> Self {
        Self::NONE
    }
}

impl Turbulence {
    /// None.
    pub const NONE: Self = Self { strength: 0.0, scale: 2.0, rate: 1.0, seed: 0 };

    /// Gusts of this strength (m/s), scale (m) and rate (1/s).
    pub const fn new(strength: f32, scale: f32, rate: f32) -> Self {
        Self { strength, scale, rate, seed: 0 }
    }

    /// With this seed.
    pub const fn with_seed(mut self, seed: u32) -> Self {
        self.seed = seed;
        self
    }
}

/// Winds add up in the order of creation, so zones need one.
fn note_zone(mut world: DeferredWorld, context: HookContext) {
    if let Some(mut changes) = world.get_resource_mut::<TopologyChanges>() {
        changes.note_dynamic_added(context.entity);
    }
}
