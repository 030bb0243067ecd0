//! Cloth, from a rectangular grid of particles or from any mesh.
//!
//! ```text
//!   0 ── 1 ── 2 ── 3   row 0 lies along the body's x axis, centred; rows go down −y
//!   │ ╲╱ │ ╲╱ │ ╲╱ │   index = row × columns + column
//!   4 ── 5 ── 6 ── 7
//! ```
//!
//! From a mesh, the vertices that lie in one place become one particle, every edge of a triangle a
//! distance constraint, and every edge between two triangles a bending constraint whose rest angle is
//! the mesh's own. Tethers are as long as the way over the surface. A particle weighs a third of the
//! triangles around it, and at least a thousandth of the mean, so that slivers stay calm.

#[cfg(feature = "render")]
use super::source::{self, ClothInput};
use super::{
    build::Recipe,
    error::{BuildError, not_negative, positive},
    geodesic,
    pins::ClothPins,
    plan::{self, BodyPlan, MAX_PARTICLES, Material, check_count, check_pins},
};
use crate::{constraint::BendingConstraint, obstacle::Friction};
use bevy::prelude::*;

/// A cloth. See the [module of recipes](super) for what happens when it is spawned.
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_pliant::prelude::*;
/// # fn spawn(mut commands: Commands) {
/// commands.spawn((
///     Cloth::grid(UVec2::new(40, 30), 0.2).pinned(ClothPins::TopCorners),
///     Transform::from_xyz(0.0, 4.0, 0.0),
/// ));
/// # }
/// # #[cfg(feature = "render")]
/// # fn spawn_mesh(mut commands: Commands, shirt: Handle<Mesh>) {
/// commands.spawn((
///     Cloth::mesh().pinned(ClothPins::where_(|at| at.y > 1.4)),
///     Mesh3d(shirt),
///     Transform::from_xyz(0.0, 4.0, 0.0),
/// ));
/// # }
/// ```
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
#[require(Transform, crate::solver::DrawnPose, crate::solver::BodySettings)]
#[cfg_attr(feature = "render", require(Visibility))]
pub struct Cloth {
    /// A grid or a mesh.
    pub shape: ClothShape,
    /// Which particles are pinned to the body.
    pub pins: ClothPins,
    /// Its mass. Default: 0.2 kg/m².
    pub mass: ClothMass,
    /// Compliance of its threads (m/N); 0 is rigid. Default: 0.
    pub compliance: f32,
    /// Compliance of its bending (rad²/J): of a mesh, and of a grid whose topology has any. Default:
    /// 10⁴, a little stiffer than denim; see [`Fabric`](super::Fabric).
    pub bending_compliance: f32,
    /// Velocity damping (1/s). Default (`None`): the world's.
    pub damping: Option<f32>,
    /// Friction with obstacles.
    pub friction: Friction,
    /// Thickness: twice the radius of its particles (m). Default (`None`): twice
    /// the world's particle radius, 2 cm.
    pub thickness: Option<f32>,
    /// Whether particles are tethered to the nearest pins. Default: true.
    pub tethers: bool,
    /// By which part of its length a tether may be exceeded. Default: 0.02.
    pub tether_slack: f32,
}

/// What a cloth is made from.
#[derive(Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub enum ClothShape {
    /// A rectangle in the body's x–y plane.
    Grid {
        /// Particles along x and down y, at least 2 each.
        size: UVec2,
        /// Distance of neighbours (m).
        spacing: f32,
        /// What joins the particles.
        topology: ClothTopology,
    },
    /// The body's own `Mesh3d` or `Mesh2d`; if it has none, the `Mesh3d` of its descendants (what a
    /// glTF scene spawns), each placed by its transform relative to the body, welded into one.
    ///
    /// It waits for them; needs the feature `render`. A mesh that is skinned or morphed is taken from
    /// its bind pose, without the weights; the first of its joints says where that stands. Descendants that are bodies themselves stay out of it.
    Mesh {
        /// Vertices nearer to one another than this part of the longest side of the bounding box are
        /// one particle. Default: 10⁻⁵.
        weld: f32,
    },
}

impl ClothShape {
    /// Which vertices of a mesh are welded, unless told otherwise.
    pub const DEFAULT_WELD: f32 = 1e-5;
}

impl Default for ClothShape {
    fn default() -> Self {
        Self::Grid { size: UVec2::new(20, 20), spacing: 0.1, topology: ClothTopology::Diagonals }
    }
}

/// What joins the particles of a grid.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub enum ClothTopology {
    /// Rows, columns and both diagonals of each cell.
    #[default]
    Diagonals,
    /// Rows, columns and one diagonal of each cell (the edges of the triangles), and dihedral bending
    /// across every inner edge.
    Bending,
}

/// How the mass of a cloth is given; all but the last spread it by area.
#[derive(Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Debug, PartialEq, Clone)]
pub enum ClothMass {
    /// kg/m².
    PerArea(f32),
    /// kg in all.
    Total(f32),
    /// kg a particle, the same for each.
    PerParticle(f32),
}

impl Default for Cloth {
    fn default() -> Self {
        Self::of(ClothShape::default())
    }
}

impl Cloth {
    /// A grid of `size` particles, `spacing` metres apart, pinned nowhere.
    pub const fn grid(size: UVec2, spacing: f32) -> Self {
        Self::of(ClothShape::Grid { size, spacing, topology: ClothTopology::Diagonals })
    }

    /// The mesh of the body, or the meshes of its descendants, pinned nowhere; see
    /// [`ClothShape::Mesh`]. Needs the feature `render`: without it, building fails with an error that
    /// says so.
    pub const fn mesh() -> Self {
        Self::of(ClothShape::Mesh { weld: ClothShape::DEFAULT_WELD })
    }

    /// A cloth of this shape, pinned nowhere.
    pub const fn of(shape: ClothShape) -> Self {
        Self {
            shape,
            pins: ClothPins::None,
            mass: ClothMass::PerArea(0.2),
            compliance: 0.0,
            bending_compliance: BendingConstraint::DEFAULT_COMPLIANCE,
            damping: None,
            friction: Friction::DEFAULT,
            thickness: None,
            tethers: true,
            tether_slack: 0.02,
        }
    }

    /// Pinned so.
    pub fn pinned(mut self, pins: ClothPins) -> Self {
        self.pins = pins;
        self
    }

    /// With dihedral bending of this compliance (rad²/J); on a grid in place of the second diagonals.
    pub fn with_bending(mut self, compliance: f32) -> Self {
        if let ClothShape::Grid { topology, .. } = &mut self.shape {
            *topology = ClothTopology::Bending;
        }
        self.bending_compliance = compliance;
        self
    }

    /// With this mass.
    pub fn with_mass(mut self, mass: ClothMass) -> Self {
        self.mass = mass;
        self
    }

    /// With threads of this compliance (m/N).
    pub fn with_compliance(mut self, compliance: f32) -> Self {
        self.compliance = compliance;
        self
    }

    /// With this velocity damping (1/s).
    pub fn with_damping(mut self, damping: f32) -> Self {
        self.damping = Some(damping);
        self
    }

    /// With this friction.
    pub fn with_friction(mut self, friction: Friction) -> Self {
        self.friction = friction;
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
        let Self { compliance, bending_compliance, .. } = *self;
        match self.shape {
            ClothShape::Grid { size, spacing, .. } => check_grid(size, spacing)?,
            ClothShape::Mesh { weld } => {
                not_negative("weld", weld)?;
                if let Some(pins) = self.pins.of_grids_only() {
                    return Err(BuildError::PinsOfGrid(pins));
                }
            }
        }
        let is_grid = matches!(self.shape, ClothShape::Grid { .. });
        match &self.pins {
            ClothPins::VertexColor(_) if is_grid => {
                return Err(BuildError::NoColors("a grid has none"));
            }
            ClothPins::Top(part) => not_negative("the part of ClothPins::Top", *part)?,
            ClothPins::VertexColor(red) => not_negative("the red of ClothPins::VertexColor", *red)?,
            #[cfg(feature = "render")]
            ClothPins::Mask(mask) => not_negative("the mask's threshold", mask.threshold)?,
            _ => {}
        }
        match self.mass {
            ClothMass::PerArea(mass) => positive("mass per area", mass)?,
            ClothMass::Total(mass) => positive("total mass", mass)?,
            ClothMass::PerParticle(mass) => positive("mass per particle", mass)?,
        }
        not_negative("compliance", compliance)?;
        not_negative("bending_compliance", bending_compliance)?;
        not_negative("thickness", self.thickness.unwrap_or(0.0))?;
        not_negative("tether_slack", self.tether_slack)?;
        not_negative("damping", self.damping.unwrap_or(0.0))?;
        not_negative("friction.fixed", self.friction.fixed)?;
        not_negative("friction.sliding", self.friction.sliding)
    }
}

/// The triangles of a grid, counter-clockwise seen from +z, with diagonals that alternate; none for a
/// grid of more particles than a body may have.
pub fn grid_triangles(size: UVec2) -> Vec<[u32; 3]> {
    let cells = size.saturating_sub(UVec2::ONE);
    if u64::from(size.x) * u64::from(size.y) > MAX_PARTICLES {
        return Vec::new();
    }
    let mut triangles = Vec::with_capacity(2 * (cells.x * cells.y) as usize);
    for row in 0..cells.y {
        for column in 0..cells.x {
            let a = row * size.x + column;
            let (b, d) = (a + 1, a + size.x);
            let e = d + 1;
            if (row + column) % 2 == 0 {
                triangles.extend([[a, d, b], [b, d, e]]);
            } else {
                triangles.extend([[a, d, e], [a, e, b]]);
            }
        }
    }
    triangles
}

/// Checks what spans a grid.
fn check_grid(size: UVec2, spacing: f32) -> Result<(), BuildError> {
    let count = u64::from(size.x) * u64::from(size.y);
    if size.min_element() < 2 {
        return Err(BuildError::TooSmall { what: "a cloth of 2 by 2 at least", count, least: 4 });
    }
    check_count("the cloth", count, 4)?;
    positive("spacing", spacing)?;
    positive("the cloth's width", spacing * size.x as f32)?;
    positive("the cloth's height", spacing * size.y as f32)
}

/// What a cloth without feature `render` is made from beside its recipe: nothing.
#[cfg(not(feature = "render"))]
#[derive(Clone, Debug, Default)]
pub(crate) struct ClothInput;

#[cfg(not(feature = "render"))]
impl ClothInput {
    fn welded(&self) -> Option<(&[Vec3], &[[u32; 3]])> {
        None
    }

    fn marked(&self) -> Option<&[u32]> {
        None
    }
}

impl Recipe for Cloth {
    type Input = ClothInput;

    #[cfg(feature = "render")]
    fn input(&self, world: &World, body: Entity) -> Result<Option<ClothInput>, BuildError> {
        source::input(self, world, body)
    }

    #[cfg(not(feature = "render"))]
    fn input(&self, _: &World, _: Entity) -> Result<Option<ClothInput>, BuildError> {
        match self.shape {
            ClothShape::Grid { .. } => Ok(Some(ClothInput)),
            ClothShape::Mesh { .. } => Err(BuildError::NeedsRender),
        }
    }

    #[cfg(feature = "render")]
    fn live_input(&self, world: &World, body: Entity) -> Option<ClothInput> {
        source::live_input(self, world, body)
    }

    #[cfg(feature = "render")]
    fn attach(world: &mut World, body: Entity, input: ClothInput) {
        source::attach(world, body, input);
    }

    fn plan_from(&self, scale: Vec3, input: &ClothInput) -> Result<BodyPlan, BuildError> {
        self.validate()?;
        let mut plan = self.masses_from(scale, input)?;
        let triangles = core::mem::take(&mut plan.triangles);
        let chosen = match input.marked() {
            Some(marked) => marked.to_vec(),
            None => self.pins.by_position(&plan.rest).unwrap_or_else(|| match self.shape {
                ClothShape::Grid { size, .. } => self.pins.indices(size),
                ClothShape::Mesh { .. } => self.pins.indices(UVec2::ZERO),
            }),
        };
        plan.pins = check_pins(chosen, plan.rest.len() as u64)?;
        match self.shape {
            ClothShape::Grid { size, topology, .. } => {
                link_grid(&mut plan, size, topology, scale);
                if topology == ClothTopology::Bending {
                    plan.bend(&triangles, scale);
                }
            }
            ClothShape::Mesh { .. } => {
                plan.link_and_bend(&triangles, scale);
                if self.tethers && !plan.pins.is_empty() {
                    plan.shorten(scale);
                }
            }
        }
        if let Some((_, length)) = plan.distances.iter().find(|(_, length)| !length.is_finite()) {
            return Err(BuildError::NotPositive { field: "the length of an edge", value: *length });
        }
        if self.tethers {
            self.tether(&mut plan, scale);
        }
        plan.triangles = triangles;
        Ok(plan)
    }

    /// Particles, triangles and masses.
    fn masses_from(&self, scale: Vec3, input: &ClothInput) -> Result<BodyPlan, BuildError> {
        let (rest, triangles) = match self.shape {
            ClothShape::Grid { size, spacing, .. } => {
                check_grid(size, spacing)?;
                (grid_places(size, spacing), grid_triangles(size))
            }
            ClothShape::Mesh { .. } => {
                let (rest, triangles) = input.welded().ok_or(BuildError::NeedsRender)?;
                check_count("the mesh", rest.len() as u64, 3)?;
                (rest.to_vec(), triangles.to_vec())
            }
        };
        let count = rest.len();
        let mut plan = BodyPlan { rest, ..default() };
        match self.mass {
            ClothMass::PerParticle(mass) => {
                positive("mass per particle", mass.recip())?;
                plan.mass = vec![mass; count];
            }
            ClothMass::Total(total) => plan.mass_by_area(&triangles, scale, total)?,
            ClothMass::PerArea(density) => {
                let area = self.area(&plan.rest, &triangles, scale);
                positive("the cloth's mass", density * area)?;
                plan.mass_by_area(&triangles, scale, density * area)?;
            }
        }
        plan.triangles = triangles;
        Ok(plan)
    }

    fn same_shape(&self, built: &Self) -> bool {
        self.shape == built.shape
            && self.pins == built.pins
            && self.tethers == built.tethers
            && self.tether_slack == built.tether_slack
    }

    fn same_mass(&self, built: &Self) -> bool {
        self.mass == built.mass
    }

    fn material(&self) -> Material {
        Material {
            compliance: self.compliance,
            bending_compliance: self.bending_compliance,
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

impl Cloth {
    /// The area of the scaled cloth (m²).
    fn area(&self, rest: &[Vec3], triangles: &[[u32; 3]], scale: Vec3) -> f32 {
        match self.shape {
            ClothShape::Grid { size, spacing, .. } => {
                let side = spacing * spacing * (size.x - 1) as f32 * (size.y - 1) as f32;
                side * (scale.x * scale.y).abs()
            }
            ClothShape::Mesh { .. } => {
                let corners = |t: &[u32; 3]| t.map(|i| scale * rest[i as usize]);
                triangles.iter().map(|t| plan::area(corners(t))).sum::<f64>() as f32
            }
        }
    }

    /// Tethers to the nearest pins. A grid is flat and convex at rest, so that the geodesic to a pin is
    /// a straight line; the links only tell which pin is nearest.
    fn tether(&self, plan: &mut BodyPlan, scale: Vec3) {
        let stretch = 1.0 + self.tether_slack;
        let is_grid = matches!(self.shape, ClothShape::Grid { .. });
        plan.tethers = geodesic::distances_to_pins(plan)
            .into_iter()
            .map(|([particle, pin], way)| {
                let straight = plan.rest[particle as usize] - plan.rest[pin as usize];
                let length = if is_grid { (scale * straight).length() } else { way };
                ([particle, pin], length * stretch)
            })
            .collect();
    }
}

/// The rest positions of a grid (m).
fn grid_places(size: UVec2, spacing: f32) -> Vec<Vec3> {
    let left = -0.5 * spacing * (size.x - 1) as f32;
    let place = |row: u32, column: u32| {
        Vec3::new(left + spacing * column as f32, -spacing * row as f32, 0.0)
    };
    (0..size.y).flat_map(|r| (0..size.x).map(move |c| place(r, c))).collect()
}

/// Rows, columns, then the diagonals cell by cell.
fn link_grid(plan: &mut BodyPlan, size: UVec2, topology: ClothTopology, scale: Vec3) {
    let (w, h) = (size.x, size.y);
    for row in 0..h {
        for column in 0..w - 1 {
            plan.link(row * w + column, row * w + column + 1, scale);
        }
    }
    for row in 0..h - 1 {
        for column in 0..w {
            plan.link(row * w + column, (row + 1) * w + column, scale);
        }
    }
    for row in 0..h - 1 {
        for column in 0..w - 1 {
            let a = row * w + column;
            let even = (row + column) % 2 == 0;
            let both = topology == ClothTopology::Diagonals;
            if both || !even {
                plan.link(a, a + w + 1, scale);
            }
            if both || even {
                plan.link(a + 1, a + w, scale);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_topology_has_the_seeds_counts() {
        let plan = Cloth::grid(UVec2::new(100, 100), 0.1).plan(Vec3::ONE).unwrap();
        assert_eq!(plan.distances.len(), 39_402);
        assert_eq!(plan.rest.len(), 10_000);
        let small = Cloth::grid(UVec2::new(3, 2), 1.0).plan(Vec3::ONE).unwrap();
        let pairs: Vec<[u32; 2]> = small.distances.iter().map(|d| d.0).collect();
        assert_eq!(
            pairs,
            [
                [0, 1],
                [1, 2],
                [3, 4],
                [4, 5],
                [0, 3],
                [1, 4],
                [2, 5],
                [0, 4],
                [1, 3],
                [1, 5],
                [2, 4]
            ]
        );
    }

    #[test]
    fn mass_is_density_times_scaled_area() {
        let cloth = Cloth::grid(UVec2::new(11, 11), 0.1).with_mass(ClothMass::PerArea(0.5));
        let plan = cloth.plan(Vec3::new(2.0, 1.0, 1.0)).unwrap();
        assert!((plan.mass.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    }

    #[test]
    fn tethers_are_straight_lines_to_the_nearest_pins() {
        let cloth = Cloth::grid(UVec2::new(4, 4), 1.0).pinned(ClothPins::TopCorners);
        let plan = cloth.plan(Vec3::ONE).unwrap();
        assert_eq!(plan.tethers.len(), 2 * 14);
        for ([particle, pin], length) in plan.tethers {
            let straight = plan.rest[particle as usize].distance(plan.rest[pin as usize]);
            assert!((length - 1.02 * straight).abs() < 1e-5);
        }
    }

    #[test]
    fn bending_has_one_constraint_for_each_inner_edge() {
        let plan = Cloth::grid(UVec2::new(4, 3), 1.0).with_bending(1.0).plan(Vec3::ONE).unwrap();
        // Triangles 12, edges 3·3 + 2·4 + 6 = 23, border edges 10.
        assert_eq!(plan.distances.len(), 23);
        assert_eq!(plan.bendings.len(), 13);
        assert!(plan.bendings.iter().all(|(_, angle)| angle.abs() < 1e-6));
    }

    #[test]
    fn nonsense_is_an_error_that_names_the_field() {
        let good = Cloth::grid(UVec2::new(4, 4), 0.1);
        let bad = [
            Cloth::grid(UVec2::new(1, 9), 0.1),
            Cloth::grid(UVec2::splat(u32::MAX), 0.1),
            Cloth::grid(UVec2::new(4, 4), f32::NAN),
            Cloth::grid(UVec2::new(4, 4), 1e38),
            Cloth::of(ClothShape::Mesh { weld: -1.0 }),
            Cloth::mesh().pinned(ClothPins::TopCorners),
            good.clone().pinned(ClothPins::Top(f32::NAN)),
            Cloth { mass: ClothMass::Total(0.0), ..good.clone() },
            Cloth { compliance: -1.0, ..good.clone() },
            Cloth { thickness: Some(f32::NAN), ..good.clone() },
            Cloth { damping: Some(-0.1), ..good.clone() },
            good.pinned(ClothPins::Indices(vec![16])),
        ];
        for cloth in bad {
            let error = cloth.plan(Vec3::ONE).unwrap_err();
            assert!(!error.to_string().is_empty());
        }
    }
}
