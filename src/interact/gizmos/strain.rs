//! Strain as colours.

use bevy::prelude::*;

/// Constraints coloured by strain, (length − rest length) / rest length.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct StrainGizmos {
    /// The strain at which the colours end, to either side. Default: 0.05, that is ±5 %.
    pub range: f32,
    /// Colour at `-range` and below. Default: blue.
    pub compressed: Color,
    /// Colour at rest. Default: light grey.
    pub rest: Color,
    /// Colour at `range` and above. Default: red.
    pub stretched: Color,
}

impl Default for StrainGizmos {
    fn default() -> Self {
        Self {
            range: 0.05,
            compressed: Color::srgb(0.15, 0.38, 0.85),
            rest: Color::srgb(0.87, 0.87, 0.86),
            stretched: Color::srgb(0.80, 0.13, 0.13),
        }
    }
}

impl StrainGizmos {
    /// The colour of this strain; what is not a number counts as 0.
    pub fn color(&self, strain: f32) -> LinearRgba {
        let range = if self.range > 0.0 { self.range } else { f32::MIN_POSITIVE };
        let part = if strain.is_nan() { 0.0 } else { (strain / range).clamp(-1.0, 1.0) };
        let end = if part < 0.0 { self.compressed } else { self.stretched };
        // Even steps of Oklab look like even steps.
        Oklaba::from(self.rest).mix(&Oklaba::from(end), part.abs()).into()
    }
}
