//! The systems of the picking backend.

use super::{
    PickSettings, SurfaceHit,
    shown::Shown,
    sight::{Cameras, DrawnBy, Sight},
    surface::{IsDrawn, Struck, Surfaces},
};
use crate::{
    particle::{Particle, ParticleIndex, ParticleOf},
    skin::CharacterSkin,
    solver::DrawnPose,
};
use bevy::{
    asset::RenderAssetUsages,
    camera::visibility::RenderLayers,
    ecs::message::MessageMutator,
    mesh::PrimitiveTopology,
    picking::{
        backend::{HitData, PointerHits},
        hover::HoverMap,
        mesh_picking::ray_cast::SimplifiedMesh,
        pointer::{PointerId, PointerLocation},
    },
    prelude::*,
};

/// Hits on bodies just behind a particle of theirs that is hit too.
#[derive(Resource, Default)]
pub struct Shared(Vec<ShareOf>);

struct ShareOf {
    pointer: PointerId,
    particle: Entity,
    surface: Entity,
    hit: HitData,
}

/// Particles that are targets of their own.
type Targets<'w, 's> = Query<
    'w,
    's,
    (
        Entity,
        &'static Particle,
        &'static Pickable,
        Option<&'static ParticleOf>,
        Option<&'static ParticleIndex>,
    ),
>;

type Bodies<'w, 's> =
    Query<'w, 's, (&'static DrawnPose, Has<Mesh2d>, Has<Mesh3d>, Option<&'static RenderLayers>)>;

/// Writes what is under each pointer.
pub fn pick(
    settings: Res<PickSettings>,
    pointers: Query<(&PointerId, &PointerLocation)>,
    cameras: Cameras,
    mut surfaces: Surfaces,
    targets: Targets,
    bodies: Bodies,
    shown: Shown,
    mut shared: ResMut<Shared>,
    mut hits: MessageWriter<PointerHits>,
) {
    shared.0.clear();
    if !settings.enabled {
        return;
    }
    for (pointer, location) in &pointers {
        let Some(location) = &location.location else { continue };
        for sight in cameras.under(location) {
            let struck = surfaces.under(&sight);
            let mut picks: Vec<(Entity, HitData)> =
                struck.iter().map(|struck| (struck.entity, hit_data(&sight, struck))).collect();
            if let Some(target) = nearest_target(&sight, settings.reach, &targets, &bodies, &shown)
            {
                let mut depth = target.depth;
                if let Some(own) = struck.iter().find(|struck| target.is_on(struck)) {
                    depth = depth.min(own.depth).next_down();
                    shared.0.push(ShareOf {
                        pointer: *pointer,
                        particle: target.entity,
                        surface: own.entity,
                        hit: hit_data(&sight, own),
                    });
                }
                let hit = HitData::new(sight.entity, depth, Some(target.position), None);
                picks.push((target.entity, hit));
            }
            if !picks.is_empty() {
                hits.write(PointerHits::new(*pointer, picks, sight.camera.order as f32));
            }
        }
    }
}

fn hit_data(sight: &Sight, struck: &Struck) -> HitData {
    let Struck { depth, position, normal, hit, .. } = struck;
    HitData::new_with_extra(sight.entity, *depth, Some(*position), Some(*normal), hit.clone())
}

/// A particle near a pointer.
struct Target {
    entity: Entity,
    body: Option<Entity>,
    position: Vec3,
    depth: f32,
    /// How far it is from the pointer, in the plane through it that faces the camera (m).
    aside: f32,
}

impl Target {
    /// Whether it lies on this surface where the pointer meets it, not on another fold.
    fn is_on(&self, struck: &Struck) -> bool {
        let near = || struck.position.distance(self.position) <= 3.0 * self.aside;
        let moves = || struck.hit.parts.iter().any(|part| part.particle == self.entity);
        self.body == Some(struck.body) && (moves() || near())
    }
}

/// The target nearest to the pointer on screen; of those within a pixel the one in front.
fn nearest_target(
    sight: &Sight,
    reach: f32,
    targets: &Targets,
    bodies: &Bodies,
    shown: &Shown,
) -> Option<Target> {
    let mut best: Option<(f32, Target)> = None;
    for (entity, particle, pickable, of, index) in targets {
        if !pickable.is_hoverable {
            continue;
        }
        let mut position = particle.position;
        if let Some(ParticleOf(body)) = of {
            // Also for a body that is disabled.
            let Ok((pose, flat, solid, layers)) = bodies.get(*body) else { continue };
            if !shown.shows_particles_of(*body) || !sight.sees(layers, drawn_by(flat, solid)) {
                continue;
            }
            let drawn = index.and_then(|index| pose.positions.get(index.0 as usize));
            position = drawn.copied().unwrap_or(position);
        }
        let Some((depth, apart)) = sight.locate(position) else { continue };
        if apart > reach {
            continue;
        }
        let is_nearer = best.as_ref().is_none_or(|(of_best, best)| {
            if (of_best - apart).abs() > 1.0 { apart < *of_best } else { depth < best.depth }
        });
        if is_nearer {
            let aside = sight.point_under(position).map_or(0.0, |under| under.distance(position));
            let body = of.map(|of| of.0);
            best = Some((apart, Target { entity, body, position, depth, aside }));
        }
    }
    Some(best?.1)
}

/// Which cameras draw a body that has these.
pub fn drawn_by(flat: bool, solid: bool) -> DrawnBy {
    match (flat, solid) {
        (true, _) => DrawnBy::Flat,
        (false, true) => DrawnBy::Solid,
        (false, false) => DrawnBy::Any,
    }
}

/// Leaves out what other backends tell of our bodies.
pub fn keep_own_hits(
    settings: Res<PickSettings>,
    mut hits: MessageMutator<PointerHits>,
    ours: Query<(), IsDrawn>,
) {
    for hits in hits.read().filter(|_| settings.enabled) {
        let is_foreign = |hit: &HitData| hit.extra_as::<SurfaceHit>().is_none();
        if hits.picks.iter().any(|(entity, hit)| is_foreign(hit) && ours.contains(*entity)) {
            hits.picks.retain(|(entity, hit)| !is_foreign(hit) || !ours.contains(*entity));
        }
    }
}

/// Lets a body be hovered where a particle of its own lies before it.
pub fn share_with_body(shared: Res<Shared>, mut hovered: ResMut<HoverMap>) {
    for ShareOf { pointer, particle, surface, hit } in &shared.0 {
        if let Some(hovered) = hovered.0.get_mut(pointer)
            && hovered.contains_key(particle)
        {
            hovered.entry(*surface).or_insert_with(|| hit.clone());
        }
    }
}

/// Marks an entity whose bind pose `MeshRayCast` does not see.
#[derive(Component)]
pub struct BindPoseHidden;

/// Has `MeshRayCast` see nothing where a mesh holds the bind pose of what the GPU bends.
pub fn hide_bind_pose(
    bent: Query<(Entity, &CharacterSkin), Without<SimplifiedMesh>>,
    hidden: Query<(Entity, Option<&CharacterSkin>), With<BindPoseHidden>>,
    meshes: Option<ResMut<Assets<Mesh>>>,
    mut empty: Local<Option<Handle<Mesh>>>,
    mut commands: Commands,
) {
    let is_bent = |skin: &CharacterSkin| skin.drawn_by_gpu().is_some();
    for (entity, _) in hidden.iter().filter(|(_, skin)| !skin.is_some_and(is_bent)) {
        commands.entity(entity).try_remove::<(SimplifiedMesh, BindPoseHidden)>();
    }
    let Some(mut meshes) = meshes else { return };
    for (entity, _) in bent.iter().filter(|(_, skin)| is_bent(skin)) {
        let empty = empty.get_or_insert_with(|| {
            meshes.add(Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::MAIN_WORLD))
        });
        commands.entity(entity).try_insert((SimplifiedMesh(empty.clone()), BindPoseHidden));
    }
}
