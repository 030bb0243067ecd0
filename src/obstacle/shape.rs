//! The shapes of obstacles.

use super::{mesh::TriangleMesh, polygon};
use bevy::prelude::*;
use thiserror::Error;

/// The shape of an obstacle, in its own frame (m).
///
/// The scale of its transform counts: a cuboid, a polygon and a mesh take it axis by axis, a sphere
/// becomes an ellipsoid, solids of revolution take the greater of x and z across their axis, a
/// capsule's radius the greatest. In a planar body's world a shape is taken where it stands in the
/// body's plane, whatever its z.
#[derive(Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub enum ObstacleShape {
    /// All points below the plane through the origin with normal +Y.
    #[default]
    HalfSpace,
    /// A ball about the origin.
    Sphere {
        /// Radius (m).
        radius: f32,
    },
    /// Everything within `radius` of a segment; of radius 0 it is a thin wall in a plane.
    Capsule {
        /// One end of the segment (m).
        start: Vec3,
        /// Its other end (m).
        end: Vec3,
        /// Radius (m); 0 is allowed.
        radius: f32,
    },
    /// A box about the origin.
    Cuboid {
        /// Half of each side (m).
        half_size: Vec3,
    },
    /// A cylinder along y about the origin.
    Cylinder {
        /// Radius (m).
        radius: f32,
        /// Half its height (m).
        half_height: f32,
    },
    /// A cone along y, its tip up, the origin halfway.
    Cone {
        /// Radius of its base (m).
        radius: f32,
        /// Height (m).
        height: f32,
    },
    /// A convex polygon of the xy plane, solid through all z.
    Polygon {
        /// Corners in order (m), either way round.
        corners: Vec<Vec2>,
    },
    /// Triangles, met from both sides.
    Mesh(TriangleMesh),
    /// Several shapes.
    Compound(Vec<Part>),
}

/// A shape in a compound.
#[derive(Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub struct Part {
    /// The shape; compounds inside compounds are flattened.
    pub shape: ObstacleShape,
    /// Its place in the obstacle's frame. Where the obstacle is scaled differently along its axes, the part is
    /// scaled along its own: turn a part only in an obstacle of even scale.
    pub place: Transform,
}

/// What is wrong with a shape.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ShapeError {
    /// No usable triangle.
    #[error(
        "none of the {given} triangles has three finite vertices and an area: check the indices \
         and the vertices"
    )]
    NoTriangles {
        /// Triangles that were given.
        given: usize,
    },
    /// The mesh cannot be read.
    #[error("the mesh cannot be an obstacle: {0}; keep it in the main world, with positions")]
    Mesh(String),
    /// A field makes no sense.
    #[error("{field} is {value}, but must be a positive finite number")]
    NotPositive {
        /// The field.
        field: &'static str,
        /// Its value.
        value: f32,
    },
    /// A point is not finite, or a transform.
    #[error("{0} is not finite")]
    NotFinite(&'static str),
    /// The polygon is not convex, or has no area.
    #[error(
        "the corners of a polygon must be convex and enclose an area: split it into convex parts"
    )]
    NotConvex,
    /// A compound of nothing, or compounds within compounds without end.
    #[error("a compound needs one part at least, and at most 16 levels of compounds")]
    Compound,
    /// A shape of another library that has no equivalent.
    #[error("{0} cannot be an obstacle: use a triangle mesh or a compound of convex shapes")]
    Unsupported(String),
}

/// Deepest compound.
const MAX_DEPTH: u32 = 16;

impl ObstacleShape {
    /// Checks every field.
    ///
    /// # Errors
    ///
    /// What is wrong with the first that makes no sense. An obstacle of such a shape is ignored.
    pub fn validate(&self) -> Result<(), ShapeError> {
        self.check(0)
    }

    fn check(&self, depth: u32) -> Result<(), ShapeError> {
        let positive = |field: &'static str, value: f32| {
            if value > 0.0 && value < 1e18 {
                Ok(())
            } else {
                Err(ShapeError::NotPositive { field, value })
            }
        };
        match self {
            Self::Mesh(mesh) if mesh.is_empty() => Err(ShapeError::NoTriangles { given: 0 }),
            Self::HalfSpace | Self::Mesh(_) => Ok(()),
            Self::Sphere { radius } => positive("radius", *radius),
            Self::Capsule { start, end, radius } => {
                // The greatest element leaves out what is no number.
                let usable = |point: &Vec3| point.is_finite() && point.abs().max_element() < 1e18;
                if !(usable(start) && usable(end)) {
                    return Err(ShapeError::NotFinite("the capsule's segment"));
                }
                if *radius == 0.0 { Ok(()) } else { positive("radius", *radius) }
            }
            Self::Cuboid { half_size } => {
                half_size.to_array().into_iter().try_for_each(|half| positive("half_size", half))
            }
            Self::Cylinder { radius, half_height } => {
                positive("radius", *radius)?;
                positive("half_height", *half_height)
            }
            Self::Cone { radius, height } => {
                positive("radius", *radius)?;
                positive("height", *height)
            }
            Self::Polygon { corners } => check_polygon(corners),
            Self::Compound(parts) => {
                if parts.is_empty() || depth >= MAX_DEPTH {
                    return Err(ShapeError::Compound);
                }
                parts.iter().try_for_each(|part| {
                    if !part.place.is_finite() {
                        return Err(ShapeError::NotFinite("a part's place"));
                    }
                    part.shape.check(depth + 1)
                })
            }
        }
    }

    /// Calls `visit` with each shape that is no compound, and its place in the whole.
    pub(crate) fn flatten(
        &self,
        place: Option<Transform>,
        visit: &mut dyn FnMut(&Self, Option<Transform>),
    ) {
        match self {
            Self::Compound(parts) => {
                for part in parts {
                    let place = place.map_or(part.place, |outer| outer * part.place);
                    part.shape.flatten(Some(place), visit);
                }
            }
            shape => visit(shape, place),
        }
    }
}

fn check_polygon(corners: &[Vec2]) -> Result<(), ShapeError> {
    if !corners.iter().all(|c| c.is_finite() && c.abs().max_element() < 1e18) {
        return Err(ShapeError::NotFinite("a corner of the polygon"));
    }
    let area = polygon::area(corners);
    let count = corners.len();
    let scale = corners.iter().fold(0.0f32, |most, c| most.max(c.length_squared()));
    let turns_back = |i: usize| {
        let (a, b, c) = (corners[i], corners[(i + 1) % count], corners[(i + 2) % count]);
        (b - a).perp_dot(c - b) * area.signum() < -1e-6 * scale
    };
    // An area that is no number is not greater.
    let convex = count >= 3 && area.abs() > 1e-12 * scale && !(0..count).any(turns_back);
    if convex { Ok(()) } else { Err(ShapeError::NotConvex) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_an_error() {
        let part = |shape| Part { shape, place: Transform::IDENTITY };
        let square = vec![Vec2::ZERO, Vec2::X, Vec2::ONE, Vec2::Y];
        let dent = vec![Vec2::ZERO, Vec2::X, Vec2::new(0.1, 0.1), Vec2::Y];
        assert!(ObstacleShape::Polygon { corners: square }.validate().is_ok());
        let bad = [
            ObstacleShape::Sphere { radius: f32::NAN },
            ObstacleShape::Sphere { radius: -1.0 },
            ObstacleShape::Cuboid { half_size: Vec3::new(1.0, 0.0, 1.0) },
            ObstacleShape::Cone { radius: 1.0, height: f32::INFINITY },
            ObstacleShape::Capsule { start: Vec3::NAN, end: Vec3::X, radius: 0.0 },
            ObstacleShape::Capsule { start: Vec3::X.with_y(f32::NAN), end: Vec3::X, radius: 1.0 },
            ObstacleShape::Polygon { corners: vec![Vec2::ZERO, Vec2::X, Vec2::new(1.0, f32::NAN)] },
            ObstacleShape::Polygon { corners: dent },
            ObstacleShape::Polygon { corners: vec![Vec2::ONE; 5] },
            ObstacleShape::Mesh(TriangleMesh::default()),
            ObstacleShape::Compound(Vec::new()),
            ObstacleShape::Compound(vec![part(ObstacleShape::Sphere { radius: 0.0 })]),
        ];
        for shape in bad {
            assert!(!shape.validate().unwrap_err().to_string().is_empty(), "{shape:?}");
        }
    }

    #[test]
    fn compounds_are_flattened_in_place() {
        let ball = Part {
            shape: ObstacleShape::Sphere { radius: 1.0 },
            place: Transform::from_xyz(1.0, 0.0, 0.0),
        };
        let inner = Part {
            shape: ObstacleShape::Compound(vec![ball.clone()]),
            place: Transform::from_xyz(0.0, 2.0, 0.0),
        };
        let whole = ObstacleShape::Compound(vec![ball, inner]);
        let mut places = Vec::new();
        whole.flatten(None, &mut |_, place| places.push(place.unwrap().translation));
        assert_eq!(places, [Vec3::X, Vec3::new(1.0, 2.0, 0.0)]);
    }
}
