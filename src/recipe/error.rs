//! Why a body cannot be built, and what to do about it.

use bevy::math::Vec3;
use thiserror::Error;

/// What is wrong with a recipe.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// Fewer particles than the shape needs.
    #[error("{what} has {count} particles, but needs at least {least}: raise its size")]
    TooSmall {
        /// The recipe.
        what: &'static str,
        /// Particles that it asks for.
        count: u64,
        /// Particles that it needs.
        least: u64,
    },
    /// More particles than fit.
    #[error(
        "{what} has {count} particles, more than the {most} that a body may have: lower its size"
    )]
    TooLarge {
        /// The recipe.
        what: &'static str,
        /// Particles that it asks for.
        count: u64,
        /// Particles that a body may have.
        most: u64,
    },
    /// A value that must be a positive number is not.
    #[error("{field} is {value}, but must be a positive finite number")]
    NotPositive {
        /// The field.
        field: &'static str,
        /// Its value.
        value: f32,
    },
    /// A value that must not be negative is, or is no number.
    #[error("{field} is {value}, but must be a number that is 0 or more")]
    Negative {
        /// The field.
        field: &'static str,
        /// Its value.
        value: f32,
    },
    /// A pin names a particle that there is not.
    #[error("pin {index} is outside the body's {count} particles: pins are counted from 0")]
    NoSuchPin {
        /// The pin.
        index: u32,
        /// Particles of the body.
        count: u64,
    },
    /// The body's transform cannot be used.
    #[error(
        "the body's Transform (or a parent's) is missing or not finite: give it a finite translation, \
         rotation and scale"
    )]
    BadTransform,
    /// The body's scale has no inverse.
    #[error("the body's scale is {0}, which has no inverse: every axis must be other than 0")]
    FlatScale(Vec3),
    /// A mesh or mask could not be loaded.
    #[error("the {what} could not be loaded ({reason}): check its path and format")]
    LoadFailed {
        /// What was to be loaded.
        what: &'static str,
        /// What the asset server says.
        reason: String,
    },
    /// The mesh has gone to the render world.
    #[error(
        "the mesh is kept in the render world only, where it cannot be read: load it with \
         RenderAssetUsages::MAIN_WORLD | RenderAssetUsages::RENDER_WORLD (glTF: \
         GltfLoaderSettings::load_meshes)"
    )]
    RenderWorldMesh,
    /// The mesh has no positions.
    #[error("the mesh has no Mesh::ATTRIBUTE_POSITION: give its vertices positions")]
    NoPositions,
    /// The mesh stores its positions in a way that is not read.
    #[error("the mesh has positions of format {0}, but they must be Float32x3: convert them")]
    PositionFormat(String),
    /// The mesh is made of points or lines.
    #[error(
        "the mesh is a {0}, but cloth needs a surface: use a TriangleList or TriangleStrip mesh"
    )]
    NotTriangles(String),
    /// No face of the mesh can be used.
    #[error(
        "the mesh has no usable triangle ({faces} left out: their vertices are missing, not finite, \
         or enclose no area): export it with faces"
    )]
    NoTriangles {
        /// Faces that cannot be used.
        faces: u32,
    },
    /// The transform of one of the body's mesh entities cannot be used.
    #[error("a mesh below the body has a Transform (or a parent's) that is not finite: repair it")]
    BadPartTransform,
    /// The mesh cannot be an obstacle.
    #[error("{0}")]
    Shape(crate::obstacle::ShapeError),
    /// A saved body is loaded with another mesh than it was saved with.
    #[error(
        "the mesh is not that from which the body was built: give it the mesh it was saved with, or \
         trigger Rebuild to build it anew"
    )]
    OtherMesh,
    /// Pins by the corners of a grid, on a mesh.
    #[error(
        "ClothPins::{0} is for grids, and a mesh has no corners: pin it by Indices, Top, where_, \
         VertexColor or mask"
    )]
    PinsOfGrid(&'static str),
    /// Pins by colours that are not there.
    #[error(
        "ClothPins::VertexColor needs colours, but {0}: paint the mesh (Mesh::ATTRIBUTE_COLOR as \
         Float32x4 or Unorm8x4), or pin it another way"
    )]
    NoColors(&'static str),
    /// Pins by a mask, without texture coordinates to look it up by.
    #[error(
        "ClothPins::Mask needs texture coordinates, but the mesh has none: unwrap it \
         (Mesh::ATTRIBUTE_UV_0 as Float32x2), or pin it another way"
    )]
    NoUvs,
    /// The picture of a mask cannot be read.
    #[error(
        "the mask's picture cannot be read ({0}): use an uncompressed 2D picture that is kept in \
         RenderAssetUsages::MAIN_WORLD"
    )]
    BadMask(String),
    /// What is wrong with the bones of a ragdoll.
    #[error("{0}")]
    Bones(#[from] super::bones::BonesError),
    /// A ragdoll that is turned out of its plane.
    #[error(
        "a SpriteRagdoll moves in a plane of constant z, but its body (or a parent) is turned out of it, or has \
         a negative scale along z: turn it about z only, and mirror it by its scale along x or y, or by flip_x"
    )]
    OutOfPlane,
    /// Cloth from a mesh in a build of this crate that knows no meshes.
    #[error("cloth from a mesh needs the feature `render` of bevy_pliant: enable it")]
    NeedsRender,
}

/// Checks that `value` is a positive finite number.
pub(super) fn positive(field: &'static str, value: f32) -> Result<(), BuildError> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(BuildError::NotPositive { field, value })
    }
}

/// Checks that `value` is 0 or more; infinite is accepted.
pub(super) fn not_negative(field: &'static str, value: f32) -> Result<(), BuildError> {
    if value >= 0.0 { Ok(()) } else { Err(BuildError::Negative { field, value }) }
}
