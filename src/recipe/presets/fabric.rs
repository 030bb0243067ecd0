//! Fabrics: mass, bending rigidity and stiffness of real sheets, and the compliances that follow.
//!
//! # Bending
//!
//! A sheet bent to the curvature κ holds ½ B κ² per area; B is its bending rigidity. A hinge of compliance
//! α holds ½ θ²/α. Bent over a cylinder, the cells of a grid (squares of side s, diagonals that alternate)
//!
//! ```text
//!   ●──●──●   have θ = κ s at the edges along the axis and 0 elsewhere, but the corners where four
//!   │╲ │ ╱│   diagonals meet, a checkerboard, can rise a little (4u = v s) and trade these angles for
//!   ●──●──●   some at the other edges. Per area, with k = 1/α:
//!   │ ╱│╲ │
//!   ●──●──●       ½ k [(κ − v/s)² + (v/s)² + 2 (v/s)²],  least at v = κ s/4:  ½ · ¾ k κ²
//! ```
//!
//! So B = ¾/α whatever s is, and the same in every direction: for curvatures κ₁, κ₂, τ the sum is
//! ½ k (κ₁² + κ₂² + 2τ² − ¼(κ₁ + κ₂)²), an isotropic plate of Poisson's ratio −⅓. (A narrow strip, free to
//! curl across, is softer by that: B₁ = 8/9 B.) A mesh of equilateral triangles has B = (√3/2)/α and the
//! same ratio \[SN88\]. Both are α = (A₁ + A₂)/(|e|² B), the weight of discrete shells, up to the mean over
//! a cell; a mesh of other triangles has a rigidity in between or somewhat off it.
//!
//! # Stretching
//!
//! Edges of compliance α on such a grid are a sheet of membrane stiffness E t = (4/3)/α and Poisson's
//! ratio ⅓, the same in every direction; with both diagonals E t = (3/2)/α along the threads, ratio ½; a
//! mesh of equilateral triangles has (2/√3)/α and ⅓. At a border of a sheet n cells wide the edges
//! count whole: it is stiffer by about 3/(4n).
//!
//! # What a solver adds
//!
//! One projection in a substep h leaves a constraint softer than its α by h² times the inverse masses that
//! it moves, about. For bending that grows with the fourth power of the fineness: a cantilever of these
//! fabrics has its [bending length](Fabric::bending_length) to 8 % with 16 substeps (the default) in
//! cells of a cm, with 64 in cells of half a cm, with 256 in cells of a quarter; coarser cells need no more
//! than 16. Stretch that small needs far more; at the default a cloth stretches by what the
//! solver leaves, and tethers bound it.
//!
//! # References
//!
//! * \[FHXW22\] X. Feng, W. Huang, W. Xu, H. Wang, "Learning-Based Bending Stiffness Parameter Estimation
//!   by a Drape Tester", ACM TOG 41(6), 2022, with a table of the measured fabrics' mass and rigidity
//!   along warp, weft and bias.
//! * \[JT16\] "Regenerated Cellulose-Based Denim Fabric for Tropical Regions", Journal of Textiles 2016,
//!   4614168, table 5: denims in Kawabata's tests (KES-F), where a fabric is pulled with 500 gf/cm, 490 N/m.
//! * \[MCYZ21\] H. Memon, E. B. Chaklie, H. M. Yesuf, C. Zhu, "Study on Effect of Leather Rigidity and
//!   Thickness on Drapability of Sheep Garment Leather", Materials 14(16), 2021, 4553.
//! * \[PSK14\] Ž. Penava, D. Šimić Penava, Ž. Knezić, "Determination of the Elastic Constants of Plain Woven
//!   Fabrics by a Tensile Test in Various Directions", Fibres & Textiles in Eastern Europe 22(2), 2014.
//! * \[Pei30\] F. T. Peirce, "The 'Handle' of Cloth as a Measurable Quantity", Journal of the Textile
//!   Institute 21, 1930.
//! * \[SN88\] H. S. Seung, D. R. Nelson, "Defects in flexible membranes with crystalline order", Physical
//!   Review A 38, 1988.

use crate::{
    obstacle::Friction,
    recipe::{Cloth, ClothMass, ClothShape, ClothTopology},
};
use bevy::{math::ops, prelude::*};

/// What a cloth is made of.
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_pliant::prelude::*;
/// let skirt = Cloth::grid(UVec2::new(40, 30), 0.02).with_bending(0.0).with_fabric(&Fabric::SILK);
/// let heavier = Fabric { mass_per_area: 0.09, ..Fabric::SILK };
/// ```
///
/// It writes the material of a [`Cloth`]: mass per area, the compliances of stretching and bending,
/// damping and friction. Shape, pins and tethers stay, and so does [`Cloth::thickness`]: that is how far off
/// contact holds the cloth, and particles as thin as real fabric lie in whatever they lie on and hardly
/// come to rest. A live body follows without being built anew.
///
/// A grid without [`with_bending`](Cloth::with_bending) has no hinges: what keeps it from folding sharply is
/// its spacing alone, and fabrics differ in mass, damping and friction only. Tethers let a cloth
/// stretch by 2 %: hang weights on [`Fabric::RUBBER_SHEET`] [without them](Cloth::without_tethers).
///
/// | fabric | mass | bending length | E t | swing halved in |
/// |---|---|---|---|---|
/// | silk | 61 g/m² | 1.8 cm | 10 kN/m | 7 s |
/// | cotton | 150 g/m² | 2.1 cm | 12 kN/m | 4.6 s |
/// | denim | 440 g/m² | 2.4 cm | 10 kN/m | 2.8 s |
/// | leather | 500 g/m² | 3.1 cm | 5 kN/m | 2 s |
/// | rubber sheet | 1.1 kg/m² | 2.6 cm | 1.7 kN/m | 3.5 s |
///
/// A strip of twice the bending length, held level at one end, hangs down by 41.5°.
#[derive(Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Debug, PartialEq, Clone)]
pub struct Fabric {
    /// What it is called.
    pub name: &'static str,
    /// Mass per area (kg/m²).
    pub mass_per_area: f32,
    /// Thickness (m), for information: see above.
    pub thickness: f32,
    /// Bending rigidity B (N m): moment per width (N m/m) over curvature (1/m). Textile tables have
    /// gf cm²/cm, 9.81·10⁻⁵ N m, or µN m.
    pub bending_rigidity: f32,
    /// Membrane stiffness E t (N/m): tension per width (N/m) over strain.
    pub stretch_modulus: f32,
    /// Velocity damping (1/s): the swing of a cloth halves in 2 ln 2 / d. In [`Air`](crate::solver::Air)
    /// drag comes on top.
    pub damping: f32,
    /// Friction with itself; with an obstacle, the geometric mean of both counts.
    pub friction: Friction,
}

impl Fabric {
    /// Silk of 14 momme. Rigidity: the median of the ten fabrics of 55 to 70 g/m² in \[FHXW22\] (2 to 16
    /// µN m). Stiffness: 5 % under 490 N/m, as common for light wovens. Friction: of crossed silk fibres,
    /// 0.26 in textbooks, and a little for the weave. Damping: chosen.
    pub const SILK: Self = Self {
        name: "Silk",
        mass_per_area: 0.061,
        thickness: 1.5e-4,
        bending_rigidity: 3.5e-6,
        stretch_modulus: 1e4,
        damping: 0.2,
        friction: Friction::new(0.3),
    };

    /// Plain-woven cotton. Mass and thickness: \[PSK14\]. Rigidity: the median of the 17 fabrics of 140 to
    /// 160 g/m² in \[FHXW22\] (3 to 35 µN m). Stiffness: 4 % under 490 N/m. Friction: on itself, as in textile
    /// handbooks. Damping: chosen.
    pub const COTTON: Self = Self {
        name: "Cotton",
        mass_per_area: 0.15,
        thickness: 3.2e-4,
        bending_rigidity: 1.4e-5,
        stretch_modulus: 1.2e4,
        damping: 0.3,
        friction: Friction::new(0.5),
    };

    /// Denim of 13 oz/yd². Rigidity: the fabric of this mass in \[FHXW22\] whose warp is four times as stiff
    /// as its weft (109, 25 and on the bias 54 µN m), the mean; lighter denims have 14 to 22 µN m \[JT16\].
    /// Thickness and stiffness (5 % under 490 N/m): \[JT16\]. Friction: rougher than cotton. Damping: chosen.
    pub const DENIM: Self = Self {
        name: "Denim",
        mass_per_area: 0.44,
        thickness: 9e-4,
        bending_rigidity: 6.2e-5,
        stretch_modulus: 1e4,
        damping: 0.5,
        friction: Friction::new(0.6),
    };

    /// Garment leather of sheep. Thickness and rigidity: the middle of those in \[MCYZ21\] (0.64 to 0.96
    /// mm, 9.2 to 22, which fit their drape as mN cm). Mass: at 0.63 g/cm³. Stiffness: 10 % under 490
    /// N/m; such leather gives more than wovens. Friction: on wood, as in engineers' tables. Damping: chosen.
    pub const LEATHER: Self = Self {
        name: "Leather",
        mass_per_area: 0.5,
        thickness: 8e-4,
        bending_rigidity: 1.5e-4,
        stretch_modulus: 5e3,
        damping: 0.7,
        friction: Friction { fixed: 0.6, sliding: 0.5 },
    };

    /// A millimetre of soft rubber (40 Shore A): E = 1.7·10⁶ Pa by Gent's relation, B = E t³/(12 (1 − ν²))
    /// with ν = ½. Friction: on dry concrete, as in engineers' tables. Damping: chosen.
    pub const RUBBER_SHEET: Self = Self {
        name: "Rubber sheet",
        mass_per_area: 1.1,
        thickness: 1e-3,
        bending_rigidity: 1.9e-4,
        stretch_modulus: 1.7e3,
        damping: 0.4,
        friction: Friction { fixed: 1.0, sliding: 0.8 },
    };

    /// All of them, light to heavy.
    pub const ALL: [Self; 5] =
        [Self::SILK, Self::COTTON, Self::DENIM, Self::LEATHER, Self::RUBBER_SHEET];

    /// Compliance of the edges of a cloth of this shape (m/N).
    pub const fn compliance(&self, shape: &ClothShape) -> f32 {
        let factor = match shape {
            ClothShape::Grid { topology: ClothTopology::Bending, .. } => 4.0 / 3.0,
            ClothShape::Grid { topology: ClothTopology::Diagonals, .. } => 1.5,
            // 2/√3.
            ClothShape::Mesh { .. } => 1.154_700_5,
        };
        over(factor, self.stretch_modulus)
    }

    /// Compliance of the bending of a cloth of this shape (rad²/J).
    pub const fn bending_compliance(&self, shape: &ClothShape) -> f32 {
        let factor = match shape {
            ClothShape::Grid { .. } => 0.75,
            // √3/2.
            ClothShape::Mesh { .. } => 0.866_025_4,
        };
        over(factor, self.bending_rigidity)
    }

    /// Peirce's bending length (m), (B/w)^⅓ of the weight per area w in this gravity (m/s²): how far a
    /// fabric stands out by itself \[Pei30\]. 0 without weight.
    pub fn bending_length(&self, gravity: f32) -> f32 {
        let weight = (self.mass_per_area * gravity).abs();
        let cubed = self.bending_rigidity.max(0.0) / weight;
        if cubed.is_finite() { ops::cbrt(cubed) } else { 0.0 }
    }

    /// Makes a cloth of it.
    pub fn apply(&self, cloth: &mut Cloth) {
        cloth.mass = ClothMass::PerArea(self.mass_per_area);
        cloth.compliance = self.compliance(&cloth.shape);
        cloth.bending_compliance = self.bending_compliance(&cloth.shape);
        cloth.damping = Some(self.damping);
        cloth.friction = self.friction;
    }
}

/// A compliance: the greatest that there is for a stiffness of 0 or below; what is not a number is refused
/// where the body is built.
const fn over(factor: f32, stiffness: f32) -> f32 {
    let compliance = factor / stiffness;
    if stiffness <= 0.0 || compliance > f32::MAX { f32::MAX } else { compliance }
}

impl Cloth {
    /// Made of this fabric, with the shape that it has by now: give a grid its
    /// [bending](Self::with_bending) first.
    pub fn with_fabric(mut self, fabric: &Fabric) -> Self {
        fabric.apply(&mut self);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cloth_takes_the_material_and_keeps_the_rest() {
        let plain = Cloth::grid(UVec2::new(5, 4), 0.1)
            .pinned(crate::recipe::ClothPins::TopEdge)
            .with_bending(3.0)
            .with_thickness(0.01)
            .without_tethers();
        for fabric in Fabric::ALL {
            let mut made = plain.clone().with_fabric(&fabric);
            made.validate().unwrap();
            assert_ne!(made, plain);
            assert_eq!(made.mass, ClothMass::PerArea(fabric.mass_per_area));
            assert_eq!((made.damping, made.friction), (Some(fabric.damping), fabric.friction));
            made.mass = plain.mass;
            made.compliance = plain.compliance;
            made.bending_compliance = plain.bending_compliance;
            made.damping = plain.damping;
            made.friction = plain.friction;
            assert_eq!(made, plain);
        }
    }

    #[test]
    fn nonsense_is_finite_or_refused() {
        let plain = Cloth::grid(UVec2::new(5, 4), 0.1);
        for nonsense in [0.0, -1.0, 1e-45, f32::MAX, f32::INFINITY] {
            let fabric =
                Fabric { bending_rigidity: nonsense, stretch_modulus: nonsense, ..Fabric::SILK };
            let made = plain.clone().with_fabric(&fabric);
            assert!(made.compliance >= 0.0 && made.compliance.is_finite());
            assert!(made.bending_compliance >= 0.0 && made.bending_compliance.is_finite());
            assert!(fabric.bending_length(9.81).is_finite());
        }
        let fabric = Fabric { bending_rigidity: f32::NAN, ..Fabric::SILK };
        assert!(plain.clone().with_fabric(&fabric).validate().is_err());
        let fabric = Fabric { mass_per_area: -1.0, ..Fabric::SILK };
        assert!(plain.with_fabric(&fabric).validate().is_err());
        assert!([0.0, f32::NAN].into_iter().all(|g| Fabric::SILK.bending_length(g) == 0.0));
    }
}
