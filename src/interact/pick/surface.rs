//! The surfaces of bodies under a ray, as they are drawn.
//!
//! Bodies with a derived mesh are met where that mesh is; characters that the GPU draws where
//! [`CharacterSkin::deform`] says that it draws them.

use super::{
    SurfaceHit,
    sight::{DrawnBy, Sight},
    triangles::{FlatRay, Met, blend, positions, uv},
};
use crate::{
    constraint::SurfacePart,
    particle::RestPose,
    skin::{CharacterSkin, ClothSkin, DerivedMesh, MeshSkin, RopeSkin},
    solver::DrawnPose,
};
use bevy::{
    camera::{primitives::Aabb, visibility::RenderLayers},
    ecs::system::SystemParam,
    prelude::*,
};

type Skins = (
    Option<&'static ClothSkin>,
    Option<&'static RopeSkin>,
    Option<&'static MeshSkin>,
    Option<&'static CharacterSkin>,
);

type Drawn = (
    Entity,
    Skins,
    (Option<&'static Mesh2d>, Option<&'static Mesh3d>, Option<&'static DerivedMesh>),
    &'static GlobalTransform,
    Option<&'static Aabb>,
    Option<&'static InheritedVisibility>,
    Option<&'static RenderLayers>,
    Option<&'static Pickable>,
);

/// What these surfaces are on.
pub type IsDrawn = (
    Or<(With<Mesh2d>, With<Mesh3d>)>,
    Or<(With<ClothSkin>, With<RopeSkin>, With<MeshSkin>, With<CharacterSkin>)>,
);

/// Finds the surfaces of bodies under pointers.
#[derive(SystemParam)]
pub struct Surfaces<'w, 's> {
    meshes: Option<Res<'w, Assets<Mesh>>>,
    drawn: Query<'w, 's, Drawn, IsDrawn>,
    bodies: Query<'w, 's, (&'static DrawnPose, Option<&'static Pickable>)>,
    rest: Query<'w, 's, &'static RestPose>,
    sides: Local<'s, Vec<u8>>,
    deformed: Local<'s, Vec<[f32; 3]>>,
}

/// A surface under a pointer.
#[derive(Clone, Debug)]
pub struct Struck {
    /// The entity that has the mesh.
    pub entity: Entity,
    /// Its body.
    pub body: Entity,
    /// How far it is from the near plane, along the ray (m).
    pub depth: f32,
    /// Where (m, world).
    pub position: Vec3,
    /// Unit normal of the triangle, towards the pointer.
    pub normal: Vec3,
    /// What more is known.
    pub hit: SurfaceHit,
}

/// How a surface hangs on its particles.
#[derive(Clone, Copy)]
enum Carrier<'a> {
    Cloth,
    Rope(&'a RopeSkin),
    Mesh(&'a MeshSkin),
    Character(&'a CharacterSkin),
}

impl<'a> Carrier<'a> {
    fn of(
        (cloth, rope, mesh, character): (
            Option<&'a ClothSkin>,
            Option<&'a RopeSkin>,
            Option<&'a MeshSkin>,
            Option<&'a CharacterSkin>,
        ),
    ) -> Option<Self> {
        mesh.map(Self::Mesh)
            .or(character.map(Self::Character))
            .or(rope.map(Self::Rope))
            .or(cloth.map(|_| Self::Cloth))
    }

    fn body(self, entity: Entity) -> Entity {
        match self {
            Self::Mesh(skin) => skin.body(),
            _ => entity,
        }
    }

    /// The index of the particle that a vertex follows.
    fn particle_of(self, vertex: u32) -> Option<u32> {
        match self {
            Self::Cloth => Some(vertex),
            Self::Rope(skin) => Some(skin.particle_of(vertex)),
            Self::Mesh(skin) => skin.particle_of(vertex),
            Self::Character(_) => None,
        }
    }
}

impl Surfaces<'_, '_> {
    /// All surfaces under the pointer that the camera draws, of each entity the nearest point.
    pub fn under(&mut self, sight: &Sight) -> Vec<Struck> {
        let Some(meshes) = self.meshes.as_deref() else { return Vec::new() };
        let mut found = Vec::new();
        for (entity, skins, mesh, frame, aabb, visible, layers, pickable) in &self.drawn {
            let Some(carrier) = Carrier::of(skins) else { continue };
            let drawn = if mesh.0.is_some() { DrawnBy::Flat } else { DrawnBy::Solid };
            if visible.is_some_and(|visible| !visible.get()) || !sight.sees(layers, drawn) {
                continue;
            }
            let body = carrier.body(entity);
            let Ok((pose, of_body)) = self.bodies.get(body) else { continue };
            if pickable.or(of_body).is_some_and(|pickable| !pickable.is_hoverable) {
                continue;
            }
            let Some(handle) = mesh.0.map(|m| &m.0).or(mesh.1.map(|m| &m.0)) else { continue };
            let affine = frame.affine();
            let Some(local) = FlatRay::within(sight.ray, &affine.inverse()) else { continue };
            let passes =
                |a: &Aabb| local.meets_box(Vec3::from(a.center), Vec3::from(a.half_extents));
            if aabb.is_some_and(|aabb| !passes(aabb)) {
                continue;
            }
            let struck = if mesh.2.is_some_and(|derived| derived.0 == *handle) {
                meshes.get(handle).and_then(|mesh| {
                    let met = local.nearest_of_mesh(mesh, &mut self.sides)?;
                    let corners = positions(mesh)?;
                    let corners = met.corners.map(|v| corners.get(v as usize).copied());
                    let [a, b, c] = [corners[0]?, corners[1]?, corners[2]?]
                        .map(|p| affine.transform_point3(Vec3::from(p)));
                    Some((met, [a, b, c], uv(mesh, &met)))
                })
            } else if let Carrier::Character(skin) = carrier
                && skin.drawn_by_gpu().is_some_and(|(mesh, _)| mesh == handle)
            {
                let height = frame.translation().z;
                self.deformed.clear();
                self.deformed.extend(skin.deform().map(|at| at.extend(height).to_array()));
                FlatRay::new(sight.ray.origin, *sight.ray.direction).and_then(|ray| {
                    let binding = skin.binding();
                    let met = ray.nearest(&self.deformed, &binding.triangles, &mut self.sides)?;
                    let corners = met.corners.map(|v| Vec3::from(self.deformed[v as usize]));
                    let uv = blend(&met, |v| binding.uvs.get(v as usize).copied());
                    Some((met, corners, uv))
                })
            } else {
                // The user has given it another mesh.
                None
            };
            let Some((met, corners, uv)) = struck else { continue };
            let position = met.weights.x * corners[0]
                + met.weights.y * corners[1]
                + met.weights.z * corners[2];
            let parts = match carrier {
                Carrier::Character(skin) => bones_that_move(skin, &met, pose, &self.rest),
                _ => particles_that_move(carrier, &met, pose, position),
            };
            let Some(parts) = parts.filter(|_| position.is_finite()) else { continue };
            let particle = match carrier {
                Carrier::Character(_) => most_of(&parts),
                _ => nearest_corner(carrier, &met, pose, position),
            };
            let Some(particle) = particle else { continue };
            let barycentric = met.weights;
            found.push(Struck {
                entity,
                body,
                depth: met.distance,
                position,
                normal: normal(corners, *sight.ray.direction),
                hit: SurfaceHit { particle, triangle: met.triangle, barycentric, uv, parts },
            });
        }
        found
    }
}

/// The unit normal of a triangle, against the ray.
fn normal([a, b, c]: [Vec3; 3], along: Vec3) -> Vec3 {
    let normal = (b - a).cross(c - a).normalize_or(-along);
    if normal.dot(along) > 0.0 { -normal } else { normal }
}

/// The nearest of the particles at the corners of a triangle.
fn nearest_corner(
    carrier: Carrier<'_>,
    met: &Met,
    pose: &DrawnPose,
    position: Vec3,
) -> Option<Entity> {
    let corners = met.corners.iter().filter_map(|vertex| {
        let index = carrier.particle_of(*vertex)? as usize;
        let apart = pose.positions.get(index)?.distance_squared(position);
        Some((apart, (*pose.particles.get(index)?)?))
    });
    Some(corners.min_by(|a, b| a.0.total_cmp(&b.0))?.1)
}

/// The particle that moves a point most.
fn most_of(parts: &[SurfacePart]) -> Option<Entity> {
    let most = parts.iter().max_by(|a, b| a.weight.total_cmp(&b.weight))?;
    Some(most.particle)
}

/// Adds a share to the part of a particle.
fn add(parts: &mut Vec<SurfacePart>, particle: Entity, weight: f32, point: Vec3) {
    match parts.iter_mut().find(|part| part.particle == particle) {
        Some(part) => {
            part.weight += weight;
            part.point += weight * point;
        }
        None => parts.push(SurfacePart { particle, point: weight * point, weight }),
    }
}

/// Divides the sums of points by the weights they were summed with.
fn finished(mut parts: Vec<SurfacePart>) -> Option<Vec<SurfacePart>> {
    parts.retain(|part| part.weight > 1e-6);
    let sum: f32 = parts.iter().map(|part| part.weight).sum();
    if !(sum > 1e-6 && sum.is_finite()) {
        return None;
    }
    for part in &mut parts {
        part.point /= part.weight;
        part.weight /= sum;
    }
    parts.iter().all(|part| part.point.is_finite()).then_some(parts)
}

/// The particles at the corners of a triangle. What lies off the plane through them, as the skin of a rope
/// does, keeps its distance in world axes.
fn particles_that_move(
    carrier: Carrier<'_>,
    met: &Met,
    pose: &DrawnPose,
    position: Vec3,
) -> Option<Vec<SurfacePart>> {
    let mut parts = Vec::with_capacity(3);
    let mut mean = Vec3::ZERO;
    for (vertex, weight) in met.corners.into_iter().zip(met.weights.to_array()) {
        let index = carrier.particle_of(vertex)? as usize;
        let particle = (*pose.particles.get(index)?)?;
        mean += weight * *pose.positions.get(index)?;
        add(&mut parts, particle, weight, Vec3::ZERO);
    }
    let mut parts = finished(parts)?;
    if let Carrier::Rope(_) = carrier {
        parts.iter_mut().for_each(|part| part.point = position - mean);
    }
    Some(parts)
}

/// The bones that move the corners of a triangle, each with its own mean of them in its frame.
fn bones_that_move(
    skin: &CharacterSkin,
    met: &Met,
    pose: &DrawnPose,
    rest: &Query<&RestPose>,
) -> Option<Vec<SurfacePart>> {
    let (binding, scale) = (skin.binding(), skin.scale());
    let mut parts = Vec::with_capacity(4);
    for (vertex, share) in met.corners.into_iter().zip(met.weights.to_array()) {
        let vertex = vertex as usize;
        let at = *binding.positions.get(vertex)?;
        let influences = binding.joints.get(vertex)?.iter().zip(binding.weights.get(vertex)?);
        for (bone, weight) in influences.filter(|(_, weight)| **weight > 0.0) {
            let particle = (*pose.particles.get(*bone as usize)?)?;
            let rest = rest.get(particle).ok()?;
            let from = ((at - rest.position.truncate()) * scale).extend(0.0);
            add(&mut parts, particle, share * weight, rest.rotation.inverse() * from);
        }
    }
    finished(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_particle_come_together() {
        let mut world = World::new();
        let [a, b] = [(); 2].map(|()| world.spawn_empty().id());
        let mut parts = Vec::new();
        add(&mut parts, a, 0.25, Vec3::X);
        add(&mut parts, b, 0.5, Vec3::Z);
        add(&mut parts, a, 0.25, Vec3::Y);
        let parts = finished(parts).unwrap();
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0].point, Vec3::new(0.5, 0.5, 0.0));
        assert_eq!((parts[0].weight, parts[1].weight), (0.5, 0.5));
        assert_eq!(finished(Vec::new()), None);
        assert_eq!(
            finished(vec![SurfacePart { particle: a, point: Vec3::NAN, weight: 1.0 }]),
            None
        );
    }

    #[test]
    fn normals_face_the_pointer() {
        let corners = [Vec3::ZERO, Vec3::X, Vec3::Y];
        assert_eq!(normal(corners, -Vec3::Z), Vec3::Z);
        assert_eq!(normal(corners, Vec3::Z), -Vec3::Z);
        assert_eq!(normal([Vec3::ONE; 3], Vec3::Z), -Vec3::Z, "without area");
    }
}
