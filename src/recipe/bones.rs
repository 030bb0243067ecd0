//! Bones: the ellipses that a ragdoll is made of, from a picture, a file or a list.
//!
//! ```text
//!       y
//!   ┌───┼───┐   A bone is an ellipse in the plane of the picture. Lengths are fractions of the
//!   │ ( │ ) │   picture's height, the origin is the picture's centre, y goes up, angles turn
//!   ├───o───┼ x counter-clockwise from x to the first semi-axis.
//!   │  ╱│╲  │
//!   └───┼───┘
//! ```

mod ellipse;
mod error;
mod file;
mod graph;
mod mask;
#[cfg(feature = "render")]
mod picture;

pub(super) use ellipse::Ellipse;
pub use error::BonesError;
#[cfg(feature = "render")]
pub(super) use file::BoneSetLoader;
pub(super) use graph::join;
pub(crate) use mask::Pixels;
#[cfg(feature = "render")]
pub(super) use mask::bones as of_pixels;
#[cfg(feature = "render")]
pub(super) use picture::{cut, pixels};

use bevy::prelude::*;
use serde::{Deserialize, Serialize};

/// An ellipse of a ragdoll. Lengths are fractions of the height of its picture (of the ragdoll's
/// [`height`](super::SpriteRagdoll::height) where it has none), the origin is the picture's centre, y goes
/// up.
#[derive(Reflect, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[reflect(Default, Debug, PartialEq, Clone)]
#[serde(deny_unknown_fields)]
pub struct Bone {
    /// Centre (picture heights).
    #[serde(with = "pair")]
    pub center: Vec2,
    /// Semi-axes (picture heights).
    #[serde(with = "pair")]
    pub radii: Vec2,
    /// Angle from x to the first semi-axis, counter-clockwise (rad). Default: 0.
    #[serde(default)]
    pub angle: f32,
    /// The name that its particle gets. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How far it may turn from the picture's pose against each bone that it is joined to and that comes
    /// before it in the list, least and greatest (rad). Default: the ragdoll's
    /// [`bend`](super::SpriteRagdoll::bend) either way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<[f32; 2]>,
}

impl Bone {
    /// An ellipse with these semi-axes, the first along x (picture heights).
    pub const fn new(center: Vec2, radii: Vec2) -> Self {
        Self { center, radii, angle: 0.0, name: None, limits: None }
    }

    /// Turned by this angle (rad, counter-clockwise).
    pub const fn turned(mut self, angle: f32) -> Self {
        self.angle = angle;
        self
    }

    /// With this name.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Turning at most so far (rad) against the bones before it that it is joined to.
    pub const fn limited(mut self, least: f32, greatest: f32) -> Self {
        self.limits = Some([least, greatest]);
        self
    }
}

/// A joint of a [`BoneSet`].
#[derive(Reflect, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[reflect(Default, Debug, PartialEq, Clone)]
#[serde(deny_unknown_fields)]
pub struct BoneJoint {
    /// The two bones, counted from 0.
    pub bones: [u32; 2],
    /// Where it is (picture heights). Default: midway between the surfaces of the two ellipses, on the
    /// line between their centres.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_pair")]
    pub anchor: Option<Vec2>,
    /// How far the second bone may turn against the first from the picture's pose, least and greatest
    /// (rad). Default: the limits of the later bone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<[f32; 2]>,
}

/// The bones of a character, and where wanted its joints: what a mask gives, to be saved as RON, edited
/// and loaded in its place (`walker.bones.ron`).
///
/// ```
/// # use bevy_pliant::prelude::*;
/// let set = BoneSet::from_ron("(bones: [(center: (0.0, 0.3), radii: (0.1, 0.2), name: \"head\")])");
/// assert_eq!(set.unwrap().bones[0].name.as_deref(), Some("head"));
/// ```
#[derive(Reflect, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[reflect(Default, Debug, PartialEq, Clone)]
#[cfg_attr(feature = "render", derive(Asset))]
#[serde(deny_unknown_fields)]
pub struct BoneSet {
    /// The bones, in the order of the particles.
    pub bones: Vec<Bone>,
    /// The joints. Default, if there are none: bones that touch, and bones that are near; see
    /// [`SpriteRagdoll`](super::SpriteRagdoll).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joints: Vec<BoneJoint>,
}

/// Where the bones of a ragdoll come from.
#[derive(Reflect, Clone, Debug, PartialEq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub enum BoneSource {
    /// A picture that shows each bone as a blot of its own; see [`MaskSettings`]. It is of the size of
    /// the texture. The handle is not saved.
    #[cfg(feature = "render")]
    Mask(#[reflect(ignore)] Handle<Image>),
    /// A file of bones. The handle is not saved.
    #[cfg(feature = "render")]
    Set(#[reflect(ignore)] Handle<BoneSet>),
    /// These.
    Bones(Vec<Bone>),
}

impl Default for BoneSource {
    fn default() -> Self {
        Self::Bones(Vec::new())
    }
}

/// How a mask is read.
#[derive(Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub struct MaskSettings {
    /// What tells a bone from the background. Default: [`MaskKind::Auto`].
    pub kind: MaskKind,
    /// Blots of fewer pixels are specks and left out. Default: 4.
    pub least_pixels: u32,
}

impl Default for MaskSettings {
    fn default() -> Self {
        Self { kind: MaskKind::Auto, least_pixels: 4 }
    }
}

/// What tells a bone of a mask from the background. A pixel counts as opaque if its alpha is over half.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub enum MaskKind {
    /// [`Color`](Self::Color) if an opaque pixel is other than grey; else [`Bright`](Self::Bright) if there
    /// are dark and bright opaque pixels; else [`Alpha`](Self::Alpha).
    #[default]
    Auto,
    /// Opaque pixels that touch one another, at corners too, are a bone, whatever their colour.
    Alpha,
    /// Opaque pixels that are brighter than half, likewise: white bones on black, with soft edges.
    Bright,
    /// Opaque pixels of one colour that touch one another are a bone, even where bones of two colours
    /// touch. Black is background. Draw it without soft edges.
    Color,
}

/// More bones than this in one ragdoll are refused.
pub(super) const MAX_BONES: u64 = 1024;

/// A semi-axis shorter than this part of the longest of all bones is refused: its inertia would be no number
/// beside the others'.
const LEAST_RADIUS: f32 = 1e-3;

impl BoneSet {
    /// These bones, joined where they touch or are near.
    pub fn new(bones: Vec<Bone>) -> Self {
        Self { bones, joints: Vec::new() }
    }

    /// The bones that a mask of `size` pixels shows, given as sRGB colours and alpha, row by row from the
    /// top: in the order of their highest pixels, and from left to right.
    ///
    /// # Errors
    ///
    /// Where it shows none, only small ones, hundreds of specks or too many bones, or where there are not
    /// as many pixels as `size` says.
    pub fn from_pixels(
        size: UVec2,
        rgba: &[[u8; 4]],
        settings: &MaskSettings,
    ) -> Result<Self, BonesError> {
        let wanted = u64::from(size.x) * u64::from(size.y);
        if wanted != rgba.len() as u64 || wanted > u64::from(u32::MAX) {
            let reason = format!("it has {} pixels, not {} x {}", rgba.len(), size.x, size.y);
            return Err(BonesError::Unreadable { what: "mask of the bones", reason });
        }
        let pixels = Pixels { size, rgba: rgba.to_vec() };
        Ok(Self::new(mask::bones(&pixels, settings)?.0))
    }

    /// Checks every bone and joint.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), BonesError> {
        validate_bones(&self.bones)?;
        let count = self.bones.len();
        for (index, joint) in self.joints.iter().enumerate() {
            let [first, second] = joint.bones;
            let known = |bone: u32| (bone as usize) < count;
            let placed = joint.anchor.is_none_or(Vec2::is_finite);
            if !known(first) || !known(second) || first == second || !placed {
                return Err(BonesError::BadJoint { index, first, second, count });
            }
            validate_limits("joint", index, joint.limits)?;
        }
        Ok(())
    }
}

/// Checks bones, and that there are any.
pub(super) fn validate_bones(bones: &[Bone]) -> Result<(), BonesError> {
    if bones.is_empty() {
        return Err(BonesError::None);
    }
    if bones.len() as u64 > MAX_BONES {
        return Err(BonesError::TooMany { count: bones.len() as u64, most: MAX_BONES });
    }
    let longest = bones.iter().map(|bone| bone.radii.max_element()).fold(0.0f32, f32::max);
    for (index, bone) in bones.iter().enumerate() {
        let bad = |what, value| Err(BonesError::BadBone { index, what, value });
        // A coordinate of a million picture heights cannot be meant, and would leave no digits.
        for (what, value) in
            [("center.x", bone.center.x), ("center.y", bone.center.y), ("angle", bone.angle)]
        {
            let usable = value.abs() < 1e6;
            if !usable {
                return bad(what, value);
            }
        }
        for (what, value) in [("radii.x", bone.radii.x), ("radii.y", bone.radii.y)] {
            if !(value > 1e-9 && value < 1e6 && value >= LEAST_RADIUS * longest) {
                return bad(what, value);
            }
        }
        validate_limits("bone", index, bone.limits)?;
    }
    Ok(())
}

fn validate_limits(
    what: &'static str,
    index: usize,
    limits: Option<[f32; 2]>,
) -> Result<(), BonesError> {
    let Some([least, greatest]) = limits else { return Ok(()) };
    let half = core::f32::consts::PI;
    if (-half..=0.0).contains(&least) && (0.0..=half).contains(&greatest) {
        Ok(())
    } else {
        Err(BonesError::BadLimits { what, index, least, greatest })
    }
}

/// Two numbers as `(x, y)`.
mod pair {
    use bevy::math::Vec2;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &Vec2, serializer: S) -> Result<S::Ok, S::Error> {
        (value.x, value.y).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec2, D::Error> {
        <(f32, f32)>::deserialize(deserializer).map(Vec2::from)
    }
}

/// Two numbers, or none.
mod optional_pair {
    use bevy::math::Vec2;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(
        value: &Option<Vec2>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.map(|v| (v.x, v.y)).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec2>, D::Error> {
        Ok(<Option<(f32, f32)>>::deserialize(deserializer)?.map(Vec2::from))
    }
}
