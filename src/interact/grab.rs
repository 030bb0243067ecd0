//! Grabbing: a pointer that is pressed near a particle holds it by a compliant [`Attachment`] until it
//! is released.
//!
//! Pressing finds, in the topmost camera under the pointer, the particle drawn nearest to it on screen; one
//! that turns by its ellipsoid, which is then held at the very point under the pointer.
//! While held, the particle is pulled towards the point under the pointer in the plane through it that
//! faces the camera. It is the solver that moves it, so its velocity is real, and kept on release.

use crate::{
    constraint::Attachment,
    particle::{OrientedParticle, Particle, ParticleIndex, ParticleOf},
    solver::DrawnPose,
};
use bevy::{
    camera::{NormalizedRenderTarget, RenderTarget},
    picking::pointer::{Location, PointerAction, PointerButton, PointerId, PointerInput},
    prelude::*,
    window::PrimaryWindow,
};

/// Lets pointers grab particles. Its one system, `grab`, runs in `PreUpdate`.
#[derive(Clone, Copy, Debug, Default)]
pub struct GrabPlugin;

impl Plugin for GrabPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<GrabSettings>()
            .init_resource::<BusyPointers>()
            .register_type::<GrabSettings>()
            .add_message::<PointerInput>()
            .add_systems(PreUpdate, grab.after(bevy::picking::PickingSystems::Input));
    }
}

/// How pointers grab.
#[derive(Resource, Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Resource, Default, Debug, PartialEq, Clone)]
pub struct GrabSettings {
    /// Whether pointers grab at all. Default: true.
    pub enabled: bool,
    /// How near to a particle the pointer must be (logical pixels). Default: 10.
    pub reach: f32,
    /// Compliance of the hold (m/N). Default: 10⁻⁵.
    pub compliance: f32,
    /// Damping of the hold, as a part of what is critical for the particle alone. Default: 1.
    pub damping_ratio: f32,
    /// The hold pulls no harder than this (N). Default: infinite.
    pub max_force: f32,
}

impl Default for GrabSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            reach: 10.0,
            compliance: 1e-5,
            damping_ratio: 1.0,
            max_force: f32::INFINITY,
        }
    }
}

/// The hold of a pointer on a particle: on the entity that the particle is attached to.
#[derive(Component, Clone, Debug)]
pub struct HeldBy {
    /// The pointer.
    pub pointer: PointerId,
    /// The particle.
    pub particle: Entity,
    attachment: Entity,
    camera: Entity,
    /// From the point under the pointer to the particle (m), when it was grabbed.
    offset: Vec3,
}

/// A pointer took hold of a particle.
#[derive(EntityEvent, Clone, Debug)]
pub struct Grabbed {
    /// The particle.
    #[event_target]
    pub particle: Entity,
    /// The pointer.
    pub pointer: PointerId,
}

/// A pointer let go of a particle.
#[derive(EntityEvent, Clone, Debug)]
pub struct Released {
    /// The particle.
    #[event_target]
    pub particle: Entity,
    /// The pointer.
    pub pointer: PointerId,
}

/// A pointer pinned a particle where it is.
#[derive(EntityEvent, Clone, Debug)]
pub struct PointerPinned {
    /// The particle.
    #[event_target]
    pub particle: Entity,
    /// The pointer.
    pub pointer: PointerId,
}

/// A pointer unpinned a particle.
#[derive(EntityEvent, Clone, Debug)]
pub struct PointerUnpinned {
    /// The particle.
    #[event_target]
    pub particle: Entity,
    /// The pointer.
    pub pointer: PointerId,
}

/// Which pointers something else is to leave alone, a camera controller for one: those over a panel or
/// a user interface, and those that hold a particle.
#[derive(Resource, Clone, Debug, Default, PartialEq)]
pub struct BusyPointers {
    /// Pointers over an egui area, or one that egui uses, and over nodes of a user interface that block.
    pub over_ui: Vec<PointerId>,
    /// Pointers that hold something.
    pub holding: Vec<PointerId>,
}

impl BusyPointers {
    /// Whether this pointer is over no panel and holds nothing.
    pub fn is_free(&self, pointer: PointerId) -> bool {
        !self.over_ui.contains(&pointer) && !self.holding.contains(&pointer)
    }
}

/// A run condition: whether all pointers are over no panel and hold nothing. For camera controllers.
pub fn pointer_is_free(busy: Option<Res<BusyPointers>>) -> bool {
    busy.is_none_or(|busy| busy.over_ui.is_empty() && busy.holding.is_empty())
}

type Cameras<'w, 's> =
    Query<'w, 's, (Entity, &'static Camera, &'static RenderTarget, &'static GlobalTransform)>;

/// Particles as drawn. `Without` keeps their transforms apart from those of the holds, which `grab` writes.
type Drawn<'w, 's> = Query<
    'w,
    's,
    (
        Entity,
        &'static Particle,
        Option<&'static ParticleOf>,
        Option<&'static ParticleIndex>,
        Option<(&'static OrientedParticle, &'static Transform)>,
    ),
    Without<HeldBy>,
>;

/// Takes hold, drags and lets go.
fn grab(
    mut inputs: MessageReader<PointerInput>,
    settings: Res<GrabSettings>,
    cameras: Cameras,
    window: Query<Entity, With<PrimaryWindow>>,
    particles: Drawn,
    bodies: Query<&DrawnPose>,
    mut holds: Query<(Entity, &HeldBy, &mut Transform)>,
    attachments: Query<(), With<Attachment>>,
    mut commands: Commands,
) {
    for (hold, held, _) in &holds {
        if !settings.enabled || !attachments.contains(held.attachment) {
            let_go(&mut commands, hold, held, particles.contains(held.particle));
        }
    }
    if !settings.enabled {
        inputs.clear();
        return;
    }
    let window = window.single().ok();
    // What was taken in this very call is not in `holds` yet.
    let mut taken: Vec<(Entity, HeldBy)> = Vec::new();
    for input in inputs.read() {
        let pointer = input.pointer_id;
        match input.action {
            PointerAction::Press(PointerButton::Primary)
                if !holds.iter().any(|(_, held, _)| held.pointer == pointer)
                    && !taken.iter().any(|(_, held)| held.pointer == pointer) =>
            {
                if let Some(found) =
                    find(&input.location, &settings, &cameras, window, &particles, &bodies)
                {
                    taken.push(take_hold(&mut commands, pointer, &found, &settings));
                }
            }
            PointerAction::Move { .. } => {
                for (_, held, mut transform) in
                    holds.iter_mut().filter(|(_, h, _)| h.pointer == pointer)
                {
                    let Ok((_, camera, _, view)) = cameras.get(held.camera) else { continue };
                    let through = transform.translation - held.offset;
                    if let Some(point) = point_under(&input.location, camera, view, through) {
                        transform.translation = point + held.offset;
                    }
                }
            }
            PointerAction::Release(PointerButton::Primary) | PointerAction::Cancel => {
                for (hold, held, _) in holds.iter().filter(|(_, h, _)| h.pointer == pointer) {
                    let_go(&mut commands, hold, held, particles.contains(held.particle));
                }
                for (hold, held) in taken.extract_if(.., |(_, held)| held.pointer == pointer) {
                    let_go(&mut commands, hold, &held, particles.contains(held.particle));
                }
            }
            _ => {}
        }
    }
}

fn let_go(commands: &mut Commands, hold: Entity, held: &HeldBy, exists: bool) {
    commands.entity(hold).try_despawn();
    if let Ok(mut attachment) = commands.get_entity(held.attachment) {
        attachment.try_despawn();
    }
    if exists {
        commands.trigger(Released { particle: held.particle, pointer: held.pointer });
    }
}

/// A particle under a pointer.
struct Found {
    particle: Entity,
    mass: f32,
    /// Where it is held (m, world), and which point of its frame that is.
    position: Vec3,
    point: Vec3,
    camera: Entity,
    under: Vec3,
}

/// The particle that is drawn nearest to the pointer, and within reach of it.
fn find(
    location: &Location,
    settings: &GrabSettings,
    cameras: &Cameras,
    window: Option<Entity>,
    particles: &Drawn,
    bodies: &Query<&DrawnPose>,
) -> Option<Found> {
    let (camera_entity, camera, _, view) = cameras
        .iter()
        .filter(|(_, camera, target, _)| {
            camera.is_active && is_under(location, camera, target, window)
        })
        .max_by_key(|(entity, camera, ..)| (camera.order, *entity))?;
    let cursor = in_viewport(location, camera)?;
    let mut best: Option<(f32, f32, Found)> = None;
    for (entity, particle, body, index, oriented) in particles {
        let drawn = body.zip(index).and_then(|(body, index)| {
            bodies.get(body.0).ok()?.positions.get(index.0 as usize).copied()
        });
        let mut position = drawn.unwrap_or(particle.position);
        let Ok(screen) = camera.world_to_viewport_with_depth(view, position) else { continue };
        let mut distance = screen.truncate().distance(cursor);
        let mut point = Vec3::ZERO;
        if let Some((oriented, transform)) = oriented
            && let Some(under) = point_under(location, camera, view, position)
        {
            let local = transform.rotation.inverse() * (under - position);
            // How many times its size the ellipsoid would have to be to reach the pointer.
            let reach = (local / oriented.radii.max(Vec3::splat(f32::MIN_POSITIVE))).length();
            if reach.is_finite() {
                // From its edge; below 0 inside, least at the centre.
                distance = if reach > 1.0 {
                    distance * (1.0 - reach.recip())
                } else {
                    (reach - 1.0) * settings.reach
                };
                point = local / reach.max(1.0);
                position += transform.rotation * point;
            }
        }
        let nearer = |(d, depth, _): &(f32, f32, Found)| {
            // Among those that are as good as equally near, the one in front.
            if (d - distance).abs() > 1.0 { distance < *d } else { screen.z < *depth }
        };
        if distance <= settings.reach && best.as_ref().is_none_or(nearer) {
            let under = point_under(location, camera, view, position)?;
            let found = Found {
                particle: entity,
                mass: particle.mass,
                position,
                point,
                camera: camera_entity,
                under,
            };
            best = Some((distance, screen.z, found));
        }
    }
    best.map(|(.., found)| found)
}

fn is_under(
    location: &Location,
    camera: &Camera,
    target: &RenderTarget,
    window: Option<Entity>,
) -> bool {
    let same: Option<NormalizedRenderTarget> = target.normalize(window);
    same.as_ref() == Some(&location.target)
        && camera.logical_viewport_rect().is_some_and(|rect| rect.contains(location.position))
}

fn in_viewport(location: &Location, camera: &Camera) -> Option<Vec2> {
    Some(location.position - camera.logical_viewport_rect()?.min)
}

/// The point under the pointer in the plane through `through` that faces the camera.
fn point_under(
    location: &Location,
    camera: &Camera,
    view: &GlobalTransform,
    through: Vec3,
) -> Option<Vec3> {
    let ray = camera.viewport_to_world(view, in_viewport(location, camera)?).ok()?;
    let plane = InfinitePlane3d::new(view.back());
    let distance = ray.intersect_plane(through, plane)?;
    let point = ray.get_point(distance);
    point.is_finite().then_some(point)
}

fn take_hold(
    commands: &mut Commands,
    pointer: PointerId,
    found: &Found,
    settings: &GrabSettings,
) -> (Entity, HeldBy) {
    let Found { particle, mass, position, point, camera, under } = *found;
    let anchor = commands.spawn(Transform::from_translation(position)).id();
    let compliance = if settings.compliance >= 0.0 { settings.compliance } else { 0.0 };
    let critical = if compliance > 0.0 { 2.0 * (mass.max(0.0) / compliance).sqrt() } else { 0.0 };
    let attachment = Attachment::new(particle, anchor)
        .holding(point)
        .at(Vec3::ZERO)
        .with_compliance(compliance)
        .with_damping(settings.damping_ratio * critical)
        .with_max_force(settings.max_force);
    let attachment = commands.spawn(attachment).id();
    let offset = position - under;
    let held = HeldBy { pointer, particle, attachment, camera, offset };
    commands.entity(anchor).insert(held.clone());
    commands.trigger(Grabbed { particle, pointer });
    (anchor, held)
}
