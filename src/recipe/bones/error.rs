//! What is wrong with bones, and what to do about it.

use bevy::math::UVec2;
use thiserror::Error;

/// What is wrong with the bones of a ragdoll, or with the picture they come from.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum BonesError {
    /// The mask shows nothing.
    #[error(
        "the mask shows no bone (its {width} x {height} pixels are background): draw each bone as an opaque \
         blot, black ones only where nothing else is drawn"
    )]
    EmptyMask {
        /// Width (pixels).
        width: u32,
        /// Height (pixels).
        height: u32,
    },
    /// Each blot of the mask is too small.
    #[error(
        "the largest of the mask's {count} blots has {pixels} pixels, but a bone needs {least}: draw bones \
         larger, or lower MaskSettings::least_pixels"
    )]
    TooSmall {
        /// Number of blots.
        count: u32,
        /// Pixels of the largest.
        pixels: u64,
        /// Pixels that a bone needs.
        least: u32,
    },
    /// The mask is full of specks.
    #[error(
        "the mask has {specks} specks of fewer than {least} pixels, more than {most}: draw it without \
         anti-aliasing, dithering or lossy compression, or tell by MaskSettings::kind how it is meant"
    )]
    Specks {
        /// How many.
        specks: u32,
        /// Pixels that a bone needs.
        least: u32,
        /// How many are left out without an error.
        most: u32,
    },
    /// More bones than a ragdoll may have.
    #[error("there are {count} bones, more than the {most} that a ragdoll may have: draw fewer")]
    TooMany {
        /// How many.
        count: u64,
        /// How many there may be.
        most: u64,
    },
    /// No bone at all.
    #[error("the ragdoll has no bones: give it a mask, a file of bones, or BoneSource::Bones")]
    None,
    /// The mask is not as large as the texture.
    #[error(
        "the mask has {mask} pixels, but the texture {texture}: draw the mask over the texture, in its size"
    )]
    OtherSize {
        /// Size of the mask (pixels).
        mask: UVec2,
        /// Size of the texture (pixels).
        texture: UVec2,
    },
    /// The rectangle is not part of the texture.
    #[error(
        "SpriteRagdoll::rect is not part of the texture of {0} pixels: it must have a size, and lie inside"
    )]
    BadRect(UVec2),
    /// A picture cannot be read.
    #[error(
        "the {what} cannot be read ({reason}): use an uncompressed 2D picture that is kept in \
         RenderAssetUsages::MAIN_WORLD"
    )]
    Unreadable {
        /// The picture.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// A bone is no ellipse.
    #[error(
        "bone {index} is no ellipse (its {what} is {value}): centre and angle must be finite numbers, both \
         semi-axes positive ones, no smaller than a thousandth of the greatest bone's"
    )]
    BadBone {
        /// The bone.
        index: usize,
        /// What is wrong.
        what: &'static str,
        /// Its value.
        value: f32,
    },
    /// The limits of a bone or a joint are none.
    #[error(
        "the limits of {what} {index} are {least} to {greatest} rad: they must enclose the picture's pose, 0, and \
         be numbers of at most half a turn either way"
    )]
    BadLimits {
        /// Bone or joint.
        what: &'static str,
        /// Which.
        index: usize,
        /// Least angle (rad).
        least: f32,
        /// Greatest angle (rad).
        greatest: f32,
    },
    /// A joint names a bone that there is not, or one twice, or its anchor is not finite.
    #[error(
        "joint {index} joins bones {first} and {second} of {count}: it must join two different bones, \
         counted from 0, at a finite anchor"
    )]
    BadJoint {
        /// The joint.
        index: usize,
        /// One bone.
        first: u32,
        /// The other.
        second: u32,
        /// How many there are.
        count: usize,
    },
    /// The text is not a set of bones.
    #[error(
        "line {line}, column {column}: {reason} (bones are written as \
         (bones: [(center: (0.0, 0.3), radii: (0.1, 0.2), angle: 0.5, name: \"head\")]))"
    )]
    Ron {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// The file cannot be read, or the set not be written.
    #[error("the bones cannot be read or written: {0}")]
    Io(String),
}
