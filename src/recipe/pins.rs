//! Which particles of a cloth its recipe pins.

use alloc::sync::Arc;
use bevy::prelude::*;
use core::fmt;

/// Which particles of a cloth are pinned to its body.
///
/// The first rows of this table are for grids: a mesh has no corners, and asking for them is an error.
///
/// | pins | grid | mesh |
/// |---|---|---|
/// | `TopLeft`, `TopCorners`, `Corners`, `TopEdge` | yes | |
/// | `Indices`, `Top`, `Where` | yes | yes |
/// | `Mask` (feature `render`) | yes | by its first texture coordinates |
/// | `VertexColor` | | yes |
#[derive(Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub enum ClothPins {
    /// None.
    #[default]
    None,
    /// The first particle of row 0.
    TopLeft,
    /// Both ends of row 0.
    TopCorners,
    /// All four corners.
    Corners,
    /// Row 0.
    TopEdge,
    /// These, by [`ParticleIndex`](crate::particle::ParticleIndex). For a mesh: its vertices in order
    /// without those that are not used or lie where an earlier one does.
    Indices(Vec<u32>),
    /// Those within this part of the cloth's height from its top, 0 to 1, along the body's y axis.
    Top(f32),
    /// Those whose rest position satisfies a predicate; see [`ClothPins::where_`].
    Where(PinPredicate),
    /// Those of which a vertex has a colour (`Mesh::ATTRIBUTE_COLOR`) with more red than this, 0 to 1.
    VertexColor(f32),
    /// Those of which a vertex lies, by its texture coordinates, on a bright pixel of a picture.
    #[cfg(feature = "render")]
    Mask(PinMask),
}

impl ClothPins {
    /// The particles for whose rest position (m, in the body's frame, before its scale) `holds` is
    /// true.
    ///
    /// ```
    /// # use bevy_pliant::prelude::*;
    /// let collar = ClothPins::where_(|at| at.y > 1.4);
    /// ```
    pub fn where_(holds: impl Fn(Vec3) -> bool + Send + Sync + 'static) -> Self {
        Self::Where(PinPredicate::new(holds))
    }

    /// The particles that lie on a pixel of `image` that is brighter than one half.
    #[cfg(feature = "render")]
    pub fn mask(image: Handle<Image>) -> Self {
        Self::Mask(PinMask { image, ..default() })
    }

    /// Indices of the pinned particles of a grid of this size, where they follow from the size alone.
    pub fn indices(&self, size: UVec2) -> Vec<u32> {
        let (right, count) = (size.x.saturating_sub(1), size.x.saturating_mul(size.y));
        match self {
            Self::TopLeft => vec![0],
            Self::TopCorners => vec![0, right],
            Self::Corners => {
                let last = count.saturating_sub(1);
                vec![0, right, last.saturating_sub(right), last]
            }
            Self::TopEdge => (0..size.x).collect(),
            Self::Indices(indices) => indices.clone(),
            _ => Vec::new(),
        }
    }

    /// The particles that these pins choose by their rest positions, if they choose so.
    pub(super) fn by_position(&self, rest: &[Vec3]) -> Option<Vec<u32>> {
        let chosen = |holds: &dyn Fn(Vec3) -> bool| {
            (0..rest.len() as u32).filter(|i| holds(rest[*i as usize])).collect()
        };
        match self {
            Self::Where(predicate) => Some(chosen(&|at| predicate.holds(at))),
            Self::Top(part) => {
                let low = rest.iter().fold(f32::INFINITY, |low, p| low.min(p.y));
                let high = rest.iter().fold(f32::NEG_INFINITY, |high, p| high.max(p.y));
                let least = high - part * (high - low);
                Some(chosen(&|at| at.y >= least))
            }
            _ => None,
        }
    }

    /// The name of pins that only a grid has.
    pub(super) fn of_grids_only(&self) -> Option<&'static str> {
        match self {
            Self::TopLeft => Some("TopLeft"),
            Self::TopCorners => Some("TopCorners"),
            Self::Corners => Some("Corners"),
            Self::TopEdge => Some("TopEdge"),
            _ => None,
        }
    }
}

/// A predicate on rest positions. Cheap to clone; equal to its clones only.
///
/// Code is not saved: in a loaded world the predicate holds for no particle. The body keeps the pins
/// that it was saved with, for as long as its recipe keeps this empty predicate.
#[derive(Reflect, Clone, Default)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub struct PinPredicate {
    #[reflect(ignore)]
    holds: Option<Arc<dyn Fn(Vec3) -> bool + Send + Sync>>,
}

impl PinPredicate {
    /// From a function of the rest position (m, in the body's frame, before its scale).
    pub fn new(holds: impl Fn(Vec3) -> bool + Send + Sync + 'static) -> Self {
        Self { holds: Some(Arc::new(holds)) }
    }

    /// Whether it holds at `rest` (m).
    pub fn holds(&self, rest: Vec3) -> bool {
        self.holds.as_ref().is_some_and(|holds| holds(rest))
    }
}

impl PartialEq for PinPredicate {
    fn eq(&self, other: &Self) -> bool {
        match (&self.holds, &other.holds) {
            (None, None) => true,
            // Addresses alone: the same function behind two vtables is the same.
            (Some(a), Some(b)) => core::ptr::addr_eq(Arc::as_ptr(a), Arc::as_ptr(b)),
            _ => false,
        }
    }
}

impl fmt::Debug for PinPredicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.holds.is_some() { "PinPredicate(..)" } else { "PinPredicate(none)" })
    }
}

/// A picture that says where a cloth is pinned: bright pins, dark does not. The picture must be kept in
/// the main world (`RenderAssetUsages::MAIN_WORLD`), uncompressed.
///
/// The handle is not saved: a loaded body keeps the pins that it was saved with.
#[cfg(feature = "render")]
#[derive(Reflect, Clone, Debug, PartialEq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub struct PinMask {
    /// The picture.
    #[reflect(ignore)]
    pub image: Handle<Image>,
    /// Brighter than this pins: luma of the sRGB values times alpha, 0 to 1. Default: 0.5.
    pub threshold: f32,
}

#[cfg(feature = "render")]
impl Default for PinMask {
    fn default() -> Self {
        Self { image: Handle::default(), threshold: 0.5 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_predicate_equals_its_clones_only() {
        let a = ClothPins::where_(|p| p.y > 0.0);
        let b = ClothPins::where_(|p| p.y > 0.0);
        assert_eq!(a, a.clone());
        assert_ne!(a, b);
        assert_eq!(PinPredicate::default(), PinPredicate::default());
        assert_ne!(a, ClothPins::Where(PinPredicate::default()));
    }

    #[test]
    fn the_top_is_a_part_of_the_height() {
        let rest: Vec<Vec3> = (0..11).map(|i| Vec3::Y * i as f32).collect();
        assert_eq!(ClothPins::Top(0.25).by_position(&rest).unwrap(), [8, 9, 10]);
        assert_eq!(ClothPins::Top(0.0).by_position(&rest).unwrap(), [10]);
        assert!(ClothPins::Top(0.5).by_position(&[]).unwrap().is_empty());
    }
}
