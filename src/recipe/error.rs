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
