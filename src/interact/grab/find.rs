//! What a pointer takes when it is pressed.

use super::HeldBy;
use crate::{
    constraint::SurfacePart,
    interact::pick::{Cameras, IsDrawn, Shown, Sight, Surfaces, drawn_by},
    particle::{OrientedParticle, Particle, ParticleIndex, ParticleOf},
    recipe::ClothMesh,
    solver::DrawnPose,
};
use bevy::{
    camera::visibility::RenderLayers,
    ecs::system::SystemParam,
    picking::{
        backend::{HitData, PointerHits},
        pointer::{Location, PointerId},
    },
    prelude::*,
};

/// Something under a pointer.
pub struct Found {
    /// The particle; on a surface the nearest.
    pub particle: Entity,
    /// What makes the point that is held.
    pub parts: Vec<SurfacePart>,
    /// Where that is (m, world).
    pub position: Vec3,
    /// Where the pointer is in the plane through it that faces the camera (m, world).
    pub under: Vec3,
    /// The camera that shows it.
    pub camera: Entity,
    depth: f32,
}

type Candidate = (
    Entity,
    &'static Particle,
    Option<&'static Pickable>,
    Option<&'static ParticleOf>,
    Option<&'static ParticleIndex>,
    Option<(&'static OrientedParticle, &'static Transform)>,
);

type Body = (
    Option<&'static DrawnPose>,
    Has<Mesh2d>,
    Has<Mesh3d>,
    Option<&'static RenderLayers>,
    Option<&'static Pickable>,
);

/// Looks for what is under pointers.
#[derive(SystemParam)]
pub struct Finder<'w, 's> {
    pub cameras: Cameras<'w, 's>,
    surfaces: Surfaces<'w, 's>,
    // Kept apart from the transforms of holds, which are written.
    particles: Query<'w, 's, Candidate, Without<HeldBy>>,
    bodies: Query<'w, 's, Body>,
    skins: Query<'w, 's, (), IsDrawn>,
    meshes: Query<'w, 's, (), With<ClothMesh>>,
    pickable: Query<'w, 's, &'static Pickable>,
    visible: Shown<'w, 's>,
    windows: Query<'w, 's, (), With<Window>>,
    hits: MessageReader<'w, 's, PointerHits>,
}

/// Hits of this frame that other backends told of, on what hides what is behind.
pub struct Screens(Vec<(PointerId, f32, f32)>);

impl Screens {
    /// Whether one is before what a camera of this order sees at this depth.
    fn hide(&self, pointer: PointerId, order: f32, depth: f32) -> bool {
        let is_before = |(of, screen, at): &(PointerId, f32, f32)| {
            *of == pointer && (*screen > order || (*screen == order && *at < depth))
        };
        self.0.iter().any(is_before)
    }
}

impl Finder<'_, '_> {
    /// What hides things behind it in this frame.
    pub fn screens(&mut self) -> Screens {
        let (pickable, skins) = (&self.pickable, &self.skins);
        let (particles, windows) = (&self.particles, &self.windows);
        let hides = |entity: Entity| {
            let is_ours = skins.contains(entity) || particles.contains(entity);
            let blocks = pickable.get(entity).map_or(true, |pickable| pickable.should_block_lower);
            blocks && !is_ours && !windows.contains(entity)
        };
        let mut screens = Vec::new();
        for hits in self.hits.read() {
            let hits_of = hits.picks.iter().filter(|(entity, _)| hides(*entity));
            let screen = |(_, hit): &(Entity, HitData)| (hits.pointer, hits.order, hit.depth);
            screens.extend(hits_of.map(screen));
        }
        Screens(screens)
    }

    /// What a pointer there would take: the surface in front, or a particle within reach where there is none,
    /// or before it if no surface of its body is drawn.
    pub fn find(
        &mut self,
        pointer: PointerId,
        location: &Location,
        reach: f32,
        screens: &Screens,
    ) -> Option<Found> {
        for sight in self.cameras.under(location) {
            let struck = self.surfaces.under(&sight);
            let surface = struck.iter().min_by(|a, b| a.depth.total_cmp(&b.depth));
            let particle = self.nearest(&sight, reach, surface.is_some());
            let surface = surface.map(|surface| Found {
                particle: surface.hit.particle,
                parts: surface.hit.parts.clone(),
                position: surface.position,
                under: surface.position,
                camera: sight.entity,
                depth: surface.depth,
            });
            let in_front = match (surface, particle) {
                (Some(surface), Some(particle)) if particle.depth < surface.depth => Some(particle),
                (surface, particle) => surface.or(particle),
            };
            let order = sight.camera.order as f32;
            if let Some(found) = in_front {
                return (!screens.hide(pointer, order, found.depth)).then_some(found);
            }
        }
        None
    }

    /// The particle that is drawn nearest to the pointer, and within reach of it; only of bodies without a
    /// surface if there is one under the pointer.
    fn nearest(&self, sight: &Sight, reach: f32, beside_surface: bool) -> Option<Found> {
        let mut best: Option<(f32, Found)> = None;
        for (entity, particle, pickable, of, index, turning) in &self.particles {
            let mut position = particle.position;
            let mut pickable = pickable;
            if let Some(ParticleOf(body)) = of {
                // Not of a body that is disabled.
                let Ok((pose, flat, solid, layers, of_body)) = self.bodies.get(*body) else {
                    continue;
                };
                let is_drawn = self.skins.contains(*body) || self.meshes.contains(*body);
                if beside_surface && is_drawn
                    || !self.visible.shows_particles_of(*body)
                    || !sight.sees(layers, drawn_by(flat, solid))
                {
                    continue;
                }
                pickable = pickable.or(of_body);
                let drawn = pose.zip(index).and_then(|(p, i)| p.positions.get(i.0 as usize));
                position = drawn.copied().unwrap_or(position);
            }
            if pickable.is_some_and(|pickable| !pickable.is_hoverable) {
                continue;
            }
            let Some((depth, mut apart)) = sight.locate(position) else { continue };
            let mut point = Vec3::ZERO;
            if let Some((oriented, transform)) = turning
                && let Some((at, from_edge)) =
                    on_ellipsoid(sight, position, transform.rotation, oriented.radii, apart, reach)
            {
                (point, apart) = (at, from_edge);
                position += transform.rotation * point;
            }
            let is_nearer = |(of_best, best): &(f32, Found)| {
                // Among those that are as good as equally near, the one in front.
                if (of_best - apart).abs() > 1.0 { apart < *of_best } else { depth < best.depth }
            };
            if apart <= reach && best.as_ref().is_none_or(is_nearer) {
                let Some(under) = sight.point_under(position) else { continue };
                let parts = vec![SurfacePart { particle: entity, point, weight: 1.0 }];
                let camera = sight.entity;
                let found = Found { particle: entity, parts, position, under, camera, depth };
                best = Some((apart, found));
            }
        }
        Some(best?.1)
    }

    /// The mass of a particle (kg).
    pub fn mass(&self, particle: Entity) -> Option<f32> {
        Some(self.particles.get(particle).ok()?.1.mass)
    }

    /// Where a particle is drawn (m, world).
    pub fn drawn(&self, particle: Entity) -> Option<Vec3> {
        let (_, state, _, of, index, _) = self.particles.get(particle).ok()?;
        let drawn = of.zip(index).and_then(|(of, index)| {
            self.bodies.get(of.0).ok()?.0?.positions.get(index.0 as usize).copied()
        });
        Some(drawn.unwrap_or(state.position))
    }

    /// How far a particle is drawn from a pointer (logical pixels).
    pub fn apart(&self, camera: Entity, location: &Location, particle: Entity) -> Option<f32> {
        let sights = self.cameras.under(location);
        let sight = sights.iter().find(|sight| sight.entity == camera)?;
        Some(sight.locate(self.drawn(particle)?)?.1)
    }

    /// Whether it is a particle still.
    pub fn exists(&self, particle: Entity) -> bool {
        self.particles.contains(particle)
    }

    /// The windows that there are.
    pub fn windows(&self) -> &Query<'_, '_, (), With<Window>> {
        &self.windows
    }
}

/// The point of an ellipsoid under the pointer, in its frame (m), and how far the pointer is from its edge
/// (logical pixels): below 0 inside, least at the centre.
fn on_ellipsoid(
    sight: &Sight,
    position: Vec3,
    rotation: Quat,
    radii: Vec3,
    apart: f32,
    reach: f32,
) -> Option<(Vec3, f32)> {
    let local = rotation.inverse() * (sight.point_under(position)? - position);
    // How many times its size the ellipsoid would have to be to reach the pointer.
    let times = (local / radii.max(Vec3::splat(f32::MIN_POSITIVE))).length();
    let from_edge = if times > 1.0 { apart * (1.0 - times.recip()) } else { (times - 1.0) * reach };
    times.is_finite().then_some((local / times.max(1.0), from_edge))
}
