//! Soft materials: density and modulus of real ones, and the compliances of a flat figure that follow.
//!
//! A figure is taken as a plate of thickness t cut from the material, of the mean width w = A/h of its
//! bones (area A, height h). Held at its top, an elastic bar of this kind grows longer under its own weight
//! by m g/(2 E t w) of its height. Shape-matching groups of compliance α, one of each bone and its
//! neighbours, do the same with α = 1/(E t), whatever the height: to a tenth for a figure of sixteen bones,
//! as a test measures, after the 0.02 % that the solver itself gives at the default 16 substeps.

use crate::{obstacle::Friction, recipe::SpriteRagdoll};
use bevy::prelude::*;

/// What a body that gives way is made of: a [`SpriteRagdoll`], best of the style
/// [`Elastic`](super::super::RagdollStyle::Elastic). Of a jointed one it softens the joints.
///
/// ```
/// # use bevy_pliant::prelude::*;
/// # let bones = vec![];
/// let pudding = SpriteRagdoll::of_bones(bones)
///     .with_style(RagdollStyle::Elastic)
///     .with_material(&SoftMaterial::JELLY);
/// ```
///
/// It writes mass, compliance, damping and friction; the torsion of joints and their limits stay. Measured
/// on a figure a metre tall that is held by its head from one moment to the next:
///
/// | material | weighs | hangs longer by | wobble down to a tenth in |
/// |---|---|---|---|
/// | jelly | 4 kg | 25 % | 3.8 s |
/// | rubber | 4.4 kg | 0.33 % | 0.6 s |
/// | foam | 120 g | 0.31 % | 0.4 s |
///
/// Rubber and foam keep their shape under their own weight; a hand that pulls on either sees the difference:
/// foam gives 34 times as much.
#[derive(Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Debug, PartialEq, Clone)]
pub struct SoftMaterial {
    /// What it is called.
    pub name: &'static str,
    /// Density (kg/m³).
    pub density: f32,
    /// Young's modulus E (Pa).
    pub youngs_modulus: f32,
    /// Damping relative to the body's rigid motion (1/s).
    pub damping: f32,
    /// Friction with itself; with an obstacle, the geometric mean of both counts.
    pub friction: Friction,
}

impl SoftMaterial {
    /// Firm gelatine: 4 to 277 kPa are measured from twenty to two parts of water (J. E. Bonavia et al.,
    /// "Viscoelastic Material Properties of Gelatin", 2025). Damping: chosen, for a wobble of a few seconds.
    pub const JELLY: Self = Self {
        name: "Jelly",
        density: 1000.0,
        youngs_modulus: 2e4,
        damping: 4.0,
        friction: Friction::new(0.2),
    };

    /// Soft rubber, as [`Fabric::RUBBER_SHEET`](super::Fabric::RUBBER_SHEET). Damping: chosen, a tenth lost
    /// each cycle or so.
    pub const RUBBER: Self = Self {
        name: "Rubber",
        density: 1100.0,
        youngs_modulus: 1.7e6,
        damping: 4.0,
        friction: Friction { fixed: 1.0, sliding: 0.8 },
    };

    /// Flexible polyurethane foam of 30 kg/m³, as in upholstery, at the small strains before its cells
    /// buckle. Damping: chosen, it hardly wobbles.
    pub const FOAM: Self = Self {
        name: "Foam",
        density: 30.0,
        youngs_modulus: 5e4,
        damping: 20.0,
        friction: Friction::new(0.6),
    };

    /// All of them.
    pub const ALL: [Self; 3] = [Self::JELLY, Self::RUBBER, Self::FOAM];

    /// Thickness of the plate that a flat figure is cut from (m).
    pub const THICKNESS: f32 = 0.02;

    /// Which part of the square of its height a figure fills.
    const FILLED: f32 = 0.2;

    /// Compliance of a flat figure's groups and joints, 1/(E t) (m/N).
    pub const fn compliance(&self) -> f32 {
        let stiffness = self.youngs_modulus * Self::THICKNESS;
        let compliance = 1.0 / stiffness;
        if stiffness <= 0.0 || compliance > f32::MAX { f32::MAX } else { compliance }
    }

    /// Mass of a flat figure of this height (m), which fills a fifth of the square of it (kg).
    pub const fn mass(&self, height: f32) -> f32 {
        self.density * Self::THICKNESS * Self::FILLED * height * height
    }

    /// Makes a ragdoll of it.
    pub const fn apply(&self, ragdoll: &mut SpriteRagdoll) {
        ragdoll.mass = self.mass(ragdoll.height);
        ragdoll.compliance = self.compliance();
        ragdoll.damping = Some(self.damping);
        ragdoll.friction = self.friction;
    }
}

impl SpriteRagdoll {
    /// Made of this, with the height that it has by now.
    pub fn with_material(mut self, material: &SoftMaterial) -> Self {
        material.apply(&mut self);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Bone;

    fn ball() -> SpriteRagdoll {
        SpriteRagdoll::of_bones(vec![Bone::new(Vec2::ZERO, Vec2::splat(0.1))])
    }

    #[test]
    fn a_ragdoll_takes_the_material_and_keeps_the_rest() {
        let plain = SpriteRagdoll { height: 2.0, spin_damping: 3.0, near: 0.1, ..ball() };
        for material in SoftMaterial::ALL {
            let mut made = plain.clone().with_material(&material);
            made.validate().unwrap();
            // As heavy as a plate of it.
            let plate = material.density * SoftMaterial::THICKNESS * 0.2 * 4.0;
            assert!((made.mass / plate - 1.0).abs() < 1e-5);
            assert_eq!((made.damping, made.friction), (Some(material.damping), material.friction));
            made.mass = plain.mass;
            made.compliance = plain.compliance;
            made.damping = plain.damping;
            made.friction = plain.friction;
            assert_eq!(made, plain);
        }
    }

    #[test]
    fn nonsense_is_finite_or_refused() {
        for youngs_modulus in [0.0, -1.0, 1e-45, f32::MAX, f32::INFINITY] {
            let material = SoftMaterial { youngs_modulus, ..SoftMaterial::JELLY };
            assert!(material.compliance() >= 0.0 && material.compliance().is_finite());
        }
        let material = SoftMaterial { youngs_modulus: f32::NAN, ..SoftMaterial::JELLY };
        assert!(ball().with_material(&material).validate().is_err());
    }
}
