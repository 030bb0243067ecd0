//! Shapes of `parry3d` as obstacles.
//!
//! Simple shapes are taken as ours; the others as their triangles. Asking `parry3d` for a projection costs
//! 300 ns a particle; triangles near a block of particles are looked up once a tick instead.

use super::{Obstacle, ObstacleShape, Part, ShapeError, TriangleMesh};
use bevy::prelude::*;
use parry3d::{
    shape::{RoundShape, Shape, SharedShape, TypedShape},
    transformation::try_convex_hull,
};

/// Subdivisions of round edges.
const SUBDIVISIONS: u32 = 8;

pub(super) fn convex_hull(points: &[Vec3]) -> Result<TriangleMesh, ShapeError> {
    if !points.iter().all(|p| p.is_finite()) {
        return Err(ShapeError::NotFinite("a point of the hull"));
    }
    let points = distinct(points);
    if points.len() < 4 {
        return Err(ShapeError::NoTriangles { given: 0 });
    }
    let (vertices, triangles) = try_convex_hull(&points)
        .map_err(|error| ShapeError::Unsupported(format!("the convex hull ({error})")))?;
    Ok(TriangleMesh::new(&vertices, &triangles)?.solid())
}

/// The points without repetitions.
fn distinct(points: &[Vec3]) -> Vec<Vec3> {
    let mut points = points.to_vec();
    points.sort_unstable_by_key(|p| p.to_array().map(|v| (v + 0.0).to_bits()));
    points.dedup();
    points
}

impl Obstacle {
    /// Any shape of `parry3d`: simple shapes, triangle mesh, convex polyhedron, heightfield, voxels,
    /// polyline, compound.
    ///
    /// # Errors
    ///
    /// [`ShapeError::Unsupported`] for custom shapes, and whatever makes no sense.
    pub fn parry(shape: &SharedShape) -> Result<Self, ShapeError> {
        let shape = ObstacleShape::try_from(shape)?;
        shape.validate()?;
        Ok(Self::new(shape))
    }
}

impl TryFrom<&SharedShape> for ObstacleShape {
    type Error = ShapeError;

    fn try_from(shape: &SharedShape) -> Result<Self, ShapeError> {
        convert(&**shape)
    }
}

fn triangles(
    (vertices, triangles): (Vec<Vec3>, Vec<[u32; 3]>),
) -> Result<ObstacleShape, ShapeError> {
    TriangleMesh::new(&vertices, &triangles).map(ObstacleShape::Mesh)
}

/// A shape with a rounded border, as the hull of balls at its corners.
fn rounded<S>(
    shape: &RoundShape<S>,
    corners: (Vec<Vec3>, Vec<[u32; 3]>),
) -> Result<ObstacleShape, ShapeError> {
    let ball = parry3d::shape::Ball::new(shape.border_radius);
    let directions = ball.to_trimesh(SUBDIVISIONS, SUBDIVISIONS).0;
    let points: Vec<Vec3> =
        corners.0.iter().flat_map(|c| directions.iter().map(move |d| *c + *d)).collect();
    convex_hull(&points).map(ObstacleShape::Mesh)
}

fn convert(shape: &dyn Shape) -> Result<ObstacleShape, ShapeError> {
    Ok(match shape.as_typed_shape() {
        TypedShape::Ball(ball) => ObstacleShape::Sphere { radius: ball.radius },
        TypedShape::Cuboid(cuboid) => ObstacleShape::Cuboid { half_size: cuboid.half_extents },
        TypedShape::Capsule(capsule) => ObstacleShape::Capsule {
            start: capsule.segment.a,
            end: capsule.segment.b,
            radius: capsule.radius,
        },
        TypedShape::Segment(segment) => {
            ObstacleShape::Capsule { start: segment.a, end: segment.b, radius: 0.0 }
        }
        TypedShape::Triangle(t) => triangles((vec![t.a, t.b, t.c], vec![[0, 1, 2]]))?,
        TypedShape::Voxels(voxels) => triangles(voxels.to_trimesh())?,
        TypedShape::TriMesh(mesh) => {
            triangles((mesh.vertices().to_vec(), mesh.indices().to_vec()))?
        }
        TypedShape::Polyline(line) => ObstacleShape::Compound(
            line.segments()
                .map(|segment| Part {
                    shape: ObstacleShape::Capsule { start: segment.a, end: segment.b, radius: 0.0 },
                    place: Transform::IDENTITY,
                })
                .collect(),
        ),
        TypedShape::HalfSpace(half) => ObstacleShape::Compound(vec![Part {
            shape: ObstacleShape::HalfSpace,
            place: Transform::from_rotation(Quat::from_rotation_arc(Vec3::Y, half.normal)),
        }]),
        TypedShape::HeightField(field) => triangles(field.to_trimesh())?,
        TypedShape::Compound(compound) => {
            let part = |(pose, shape): &(parry3d::math::Pose, SharedShape)| {
                let place =
                    Transform::from_translation(pose.translation).with_rotation(pose.rotation);
                Ok(Part { shape: convert(&**shape)?, place })
            };
            ObstacleShape::Compound(
                compound.shapes().iter().map(part).collect::<Result<_, ShapeError>>()?,
            )
        }
        TypedShape::ConvexPolyhedron(hull) => {
            let (vertices, indices) = hull.to_trimesh();
            ObstacleShape::Mesh(TriangleMesh::new(&vertices, &indices)?.solid())
        }
        TypedShape::Cylinder(cylinder) => {
            ObstacleShape::Cylinder { radius: cylinder.radius, half_height: cylinder.half_height }
        }
        TypedShape::Cone(cone) => {
            ObstacleShape::Cone { radius: cone.radius, height: 2.0 * cone.half_height }
        }
        TypedShape::RoundCuboid(round) => rounded(round, round.inner_shape.to_trimesh())?,
        TypedShape::RoundTriangle(round) => {
            let t = round.inner_shape;
            rounded(round, (vec![t.a, t.b, t.c], Vec::new()))?
        }
        TypedShape::RoundCylinder(round) => {
            rounded(round, round.inner_shape.to_trimesh(4 * SUBDIVISIONS))?
        }
        TypedShape::RoundCone(round) => {
            rounded(round, round.inner_shape.to_trimesh(4 * SUBDIVISIONS))?
        }
        TypedShape::RoundConvexPolyhedron(round) => rounded(round, round.inner_shape.to_trimesh())?,
        TypedShape::Custom(_) => return Err(ShapeError::Unsupported("a custom shape".into())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use parry3d::math::Pose;

    #[test]
    fn every_kind_of_shape_becomes_an_obstacle() {
        let points = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z, Vec3::splat(0.2)];
        let heights = parry3d::utils::Array2::new(3, 3, vec![0.0; 9]);
        let shapes = [
            SharedShape::ball(1.0),
            SharedShape::cuboid(1.0, 2.0, 3.0),
            SharedShape::round_cuboid(1.0, 2.0, 3.0, 0.2),
            SharedShape::capsule(Vec3::ZERO, Vec3::X, 0.3),
            SharedShape::segment(Vec3::ZERO, Vec3::X),
            SharedShape::triangle(Vec3::ZERO, Vec3::X, Vec3::Y),
            SharedShape::cylinder(1.0, 0.3),
            SharedShape::round_cylinder(1.0, 0.3, 0.1),
            SharedShape::cone(1.0, 0.3),
            SharedShape::halfspace(Vec3::Z),
            SharedShape::polyline(points.to_vec(), None),
            SharedShape::trimesh(points.to_vec(), vec![[0, 1, 2], [0, 2, 3]]).unwrap(),
            SharedShape::convex_hull(&points).unwrap(),
            SharedShape::heightfield(heights, Vec3::ONE),
            SharedShape::compound(vec![(Pose::IDENTITY, SharedShape::ball(0.5))]),
        ];
        for shape in shapes {
            let obstacle = Obstacle::parry(&shape);
            assert!(obstacle.is_ok(), "{:?}: {obstacle:?}", shape.shape_type());
        }
    }

    #[test]
    fn a_hull_of_a_plane_is_an_error() {
        let flat = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::ONE.with_z(0.0)];
        let hull = TriangleMesh::convex_hull(&flat);
        assert!(hull.is_err() || hull.is_ok_and(|hull| hull.len() >= 2));
        assert!(TriangleMesh::convex_hull(&[Vec3::NAN; 9]).is_err());
        assert!(TriangleMesh::convex_hull(&[Vec3::ONE; 9]).is_err());
        let cube: Vec<Vec3> = (0..8)
            .map(|i| Vec3::new((i & 1) as f32, (i >> 1 & 1) as f32, (i >> 2) as f32))
            .collect();
        assert_eq!(TriangleMesh::convex_hull(&cube).unwrap().len(), 12);
    }
}
