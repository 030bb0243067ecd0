//! Solids: shapes placed at a pose, and how far a point is from their surface.

use super::{
    cuboid::Cuboid,
    mesh::TriangleMesh,
    plane::Plane,
    polygon::Prism,
    revolution::{Cone, Cylinder},
    round::{Ball, Capsule, Ellipsoid},
    shape::ObstacleShape,
};
use crate::math::{bounds::Bounds, pose::TargetMotion};
use bevy::{
    math::{DVec3, Mat3A, Vec3A},
    prelude::*,
};

/// Where a shape stands relative to an island's origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    /// Its origin (m).
    pub centre: Vec3A,
    pub rotation: Quat,
    pub scale: Vec3,
}

impl Frame {
    /// At fraction `t` of a tick, seen from `origin`; `part` places the shape in its obstacle.
    pub fn of(motion: &TargetMotion, t: f32, origin: DVec3, part: Option<&Transform>) -> Self {
        let pose = motion.at(t);
        // In f64, so that steps are even far from the origin.
        let (start, end) = (motion.start.translation, motion.end.translation);
        let centre = if start == end || t >= 1.0 {
            end.as_dvec3()
        } else {
            start.as_dvec3().lerp(end.as_dvec3(), f64::from(t))
        };
        let whole = Self {
            centre: (centre - origin).as_vec3a(),
            rotation: pose.rotation,
            scale: pose.scale,
        };
        part.map_or(whole, |part| Self {
            centre: whole.point(part.translation.into()),
            rotation: whole.rotation * part.rotation,
            scale: whole.scale * part.scale,
        })
    }

    /// A point of the shape's own frame, relative to the island's origin.
    pub fn point(&self, own: Vec3A) -> Vec3A {
        self.centre + self.rotation * (Vec3A::from(self.scale) * own)
    }

    /// A direction of the frame.
    pub fn axis(&self, own: Vec3) -> Vec3A {
        (self.rotation * own).into()
    }

    /// Rotation and scale.
    pub fn matrix(&self) -> Mat3A {
        Mat3A::from_quat(self.rotation) * Mat3A::from_diagonal(self.scale)
    }
}

/// The surface near a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Near {
    /// How far outside of the surface the point is (m); negative inside.
    pub distance: f32,
    /// Outward unit normal.
    pub normal: Vec3A,
}

impl Near {
    /// At `distance` along `away`, which need not be a unit vector; `or` where it has no length.
    pub fn along(away: Vec3A, length: f32, radius: f32, or: Vec3A) -> Self {
        let normal = if length > 1e-12 { away / length } else { or };
        Self { distance: length - radius, normal }
    }
}

/// How far points are from a solid.
pub(crate) trait Distance {
    /// Whether a path may lead through it and out again.
    const PASSABLE: bool = true;

    /// The surface nearest to `x`, or `None` where it is further away than `reach` (m).
    fn near(&self, x: Vec3A, reach: f32) -> Option<Near>;

    /// The same, with a plane that all of the solid lies behind where `x` is outside: for those of which
    /// `near` is no more than an approximation.
    #[inline]
    fn plane(&self, x: Vec3A, reach: f32) -> Option<Near> {
        self.near(x, reach)
    }
}

/// A shape at a place.
#[derive(Clone, Debug)]
pub(crate) enum Solid {
    Plane(Plane),
    Ball(Ball),
    Ellipsoid(Ellipsoid),
    Capsule(Capsule),
    Cuboid(Cuboid),
    Cylinder(Cylinder),
    Cone(Cone),
    Prism(Prism),
    /// Triangles are looked up by the block, so here is only the mesh.
    Mesh(TriangleMesh),
}

impl Solid {
    /// Places `shape`, which is no compound; `None` where the frame leaves no usable shape.
    pub fn new(shape: &ObstacleShape, frame: &Frame) -> Option<Self> {
        let size = frame.scale.abs();
        if !shape.is_measurable(frame) {
            warn_once!("an obstacle is scaled or placed beyond {LARGEST} m: it is ignored");
            return None;
        }
        let across = size.x.max(size.z);
        let solid = match shape {
            ObstacleShape::HalfSpace => Self::Plane(Plane::new(frame)?),
            ObstacleShape::Sphere { radius } => {
                if size.x == size.y && size.y == size.z {
                    Self::Ball(Ball { centre: frame.centre, radius: radius * size.x })
                } else {
                    Self::Ellipsoid(Ellipsoid::new(frame, *radius * size))
                }
            }
            ObstacleShape::Capsule { start, end, radius } => Self::Capsule(Capsule::new(
                frame.point((*start).into()),
                frame.point((*end).into()),
                radius * size.max_element(),
            )),
            ObstacleShape::Cuboid { half_size } => {
                Self::Cuboid(Cuboid::new(frame, *half_size * size))
            }
            ObstacleShape::Cylinder { radius, half_height } => {
                Self::Cylinder(Cylinder::new(frame, radius * across, half_height * size.y))
            }
            ObstacleShape::Cone { radius, height } => {
                Self::Cone(Cone::new(frame, radius * across, height * frame.scale.y))
            }
            ObstacleShape::Polygon { corners } => Self::Prism(Prism::new(frame, corners)?),
            ObstacleShape::Mesh(mesh) => Self::Mesh(mesh.clone()),
            ObstacleShape::Compound(_) => return None,
        };
        Some(solid)
    }
}

/// Squares of lengths up to this (m) are numbers, and so are their products with others.
const LARGEST: f32 = 1e9;

impl ObstacleShape {
    /// Whether its sizes in the frame can be calculated with.
    fn is_measurable(&self, frame: &Frame) -> bool {
        let own = self.own_bounds();
        let half = own.min.abs().max(own.max.abs());
        let radius = match self {
            Self::Capsule { radius, .. } => *radius,
            Self::Polygon { corners } => corners.iter().map(|c| c.length()).fold(0.0, f32::max),
            _ => 0.0,
        };
        let size = Vec3A::from(frame.scale.abs());
        let reach = if half.is_finite() { half + radius } else { Vec3A::splat(radius) };
        frame.centre.abs().max_element() < LARGEST
            && (size * reach).max_element() < LARGEST
            && size.max_element() < LARGEST
    }

    /// The box around the shape (no compound) in the frame, relative to the island's origin.
    pub(crate) fn bounds(&self, frame: &Frame) -> Bounds {
        let own = self.own_bounds();
        if !(own.min.is_finite() && own.max.is_finite()) {
            return match self {
                Self::Polygon { corners } => polygon_bounds(corners, frame),
                // Only below its plane, where that is level.
                Self::HalfSpace => Plane::new(frame).map_or(Bounds::EMPTY, |plane| plane.bounds()),
                _ => Bounds::ALL,
            };
        }
        let matrix = frame.matrix();
        let half = 0.5 * (own.max - own.min);
        let extent = matrix.x_axis.abs() * half.x
            + matrix.y_axis.abs() * half.y
            + matrix.z_axis.abs() * half.z;
        let centre = frame.point(own.centre());
        // A capsule's radius takes the greatest scale.
        let extra = match self {
            Self::Capsule { radius, .. } => radius * frame.scale.abs().max_element(),
            _ => 0.0,
        };
        Bounds { min: centre - extent - extra, max: centre + extent + extra }
    }

    /// The box around the shape in its own frame; around the line of a capsule.
    fn own_bounds(&self) -> Bounds {
        let symmetric = |half: Vec3| Bounds { min: (-half).into(), max: half.into() };
        match self {
            Self::HalfSpace | Self::Polygon { .. } | Self::Compound(_) => Bounds::ALL,
            Self::Sphere { radius } => symmetric(Vec3::splat(*radius)),
            Self::Capsule { start, end, .. } => Bounds::around([*start, *end]),
            Self::Cuboid { half_size } => symmetric(*half_size),
            // Turned bodies take the greater of the scales across their axis, so are as wide.
            Self::Cylinder { radius, half_height } => {
                symmetric(Vec3::new(*radius, *half_height, *radius))
            }
            Self::Cone { radius, height } => symmetric(Vec3::new(*radius, 0.5 * height, *radius)),
            Self::Mesh(mesh) => mesh.bounds(),
        }
    }
}

/// The box around a prism that stands along z; one that leans is everywhere.
fn polygon_bounds(corners: &[Vec2], frame: &Frame) -> Bounds {
    let along = Vec3::from(frame.axis(Vec3::Z));
    if along.truncate().abs().max_element() > 1e-6 {
        return Bounds::ALL;
    }
    let place = |corner: &Vec2| Vec3::from(frame.point(corner.extend(0.0).into()));
    let mut bounds = Bounds::around(corners.iter().map(place));
    (bounds.min.z, bounds.max.z) = (f32::NEG_INFINITY, f32::INFINITY);
    bounds
}
