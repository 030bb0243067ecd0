//! Grabbing: a pointer that is pressed on a body or a particle holds it by a compliant
//! [`SurfaceAttachment`](crate::constraint::SurfaceAttachment) until it is released.
//!
//! On a surface it holds exactly the point under the pointer, by the weights of the particles that move
//! it; what stands in front is what is taken, and what other picking backends report in front of it, a
//! node of a user interface or a mesh, is in the way. Where no surface is drawn, or beside its edge, it
//! holds the particle drawn nearest on screen within reach; one that turns by its ellipsoid, at the
//! very point under the pointer.
//!
//! While held, the point is pulled towards the point under the pointer in the plane through it that
//! faces the camera. It is the solver that moves it, so its velocity is real, and kept on release.
//! While the solver rests nothing moves, and the gizmo group `GrabGizmos` shows where it will be pulled;
//! then it gets there within [`GrabSettings::catch_up`].
//!
//! A click with the secondary button, or `P` while holding, pins a particle where it is or unpins it; one
//! that is pinned is simply put where the pointer drags it, to another point of its anchor if it has one.

mod busy;
mod find;
mod hold;
#[cfg(feature = "gizmos")]
mod line;

pub use busy::{BusyPointers, pointer_is_free};
pub use hold::HeldBy;
#[cfg(feature = "gizmos")]
pub use line::GrabGizmos;

use crate::{
    constraint::{SurfaceAttachment, SurfacePart},
    particle::{Particle, ParticleOf, Pinned, PinnedTo},
    solver::Teleport,
};
use bevy::{
    picking::{
        PickingSystems,
        backend::PointerHits,
        pointer::{Location, PointerAction, PointerButton, PointerId, PointerInput},
    },
    prelude::*,
};
use busy::EguiAreas;
use find::{Finder, Found};
use hold::By;

/// A click moves no farther than this between press and release (logical pixels).
const CLICK: f32 = 5.0;

/// Lets pointers grab particles.
///
/// Systems in run order, in `PreUpdate` after [`PickingSystems::Hover`]: `find_busy`, `end_lost`, `grab`,
/// `pin_held`, `follow`, `tell_holding`. With the feature `gizmos` also `show_pull` in `PostUpdate`.
#[derive(Clone, Copy, Debug, Default)]
pub struct GrabPlugin;

impl Plugin for GrabPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<GrabSettings>()
            .init_resource::<BusyPointers>()
            .register_type::<GrabSettings>()
            .add_message::<PointerInput>()
            .add_message::<PointerHits>()
            .add_observer(end_teleported)
            .add_systems(
                PreUpdate,
                (busy::find_busy, end_lost, grab, pin_held, hold::follow, hold::tell_holding)
                    .chain()
                    .after(PickingSystems::Backend)
                    .after(PickingSystems::Hover),
            );
    }

    #[cfg(feature = "gizmos")]
    fn finish(&self, app: &mut App) {
        line::add(app);
    }
}

/// How pointers grab. Compliance, damping and force are those of when a hold begins.
#[derive(Resource, Reflect, Clone, Copy, Debug, PartialEq)]
#[reflect(Resource, Default, Debug, PartialEq, Clone)]
pub struct GrabSettings {
    /// Whether pointers grab and pin at all. Default: true.
    pub enabled: bool,
    /// How near to a particle the pointer must be where no surface is drawn (logical pixels). Default: 10.
    pub reach: f32,
    /// Compliance of the hold (m/N). Default: 10⁻⁵.
    pub compliance: f32,
    /// Damping of the hold, as a part of what is critical for the particle alone. Default: 1.
    pub damping_ratio: f32,
    /// The hold pulls no harder than this (N). Default: infinite.
    pub max_force: f32,
    /// How long what is held takes to get to the pointer after a pause (s, simulated). Default: 0.25.
    pub catch_up: f32,
    /// Whether the secondary button and `pin_key` pin particles. Default: true.
    pub pinning: bool,
    /// The key that pins what is held. Default: `P`.
    pub pin_key: KeyCode,
}

impl Default for GrabSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            reach: 10.0,
            compliance: 1e-5,
            damping_ratio: 1.0,
            max_force: f32::INFINITY,
            catch_up: 0.25,
            pinning: true,
            pin_key: KeyCode::KeyP,
        }
    }
}

/// A pointer took hold of a particle, or of a surface next to it.
#[derive(EntityEvent, Clone, Debug)]
pub struct Grabbed {
    /// The particle.
    #[event_target]
    pub particle: Entity,
    /// The pointer.
    pub pointer: PointerId,
}

/// A pointer let go of a particle, or of a surface next to it; not told of a particle that is gone.
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

type Pins<'w, 's> = Query<'w, 's, (Has<Pinned>, Has<PinnedTo>), With<Particle>>;

fn is_pinned((in_place, to_anchor): (bool, bool)) -> bool {
    in_place || to_anchor
}

/// Ends holds whose particle, camera or window is gone, or all where grabbing is off.
fn end_lost(
    settings: Res<GrabSettings>,
    finder: Finder,
    holds: Query<(Entity, &HeldBy)>,
    attachments: Query<(), With<SurfaceAttachment>>,
    pins: Pins,
    mut commands: Commands,
) {
    for (hold, held) in &holds {
        let holds_on = match held.by {
            By::Attachment(attachment) => attachments.contains(attachment),
            By::Pin => pins.get(held.particle).is_ok_and(is_pinned),
        };
        let can_see = || hold::can_see(held, &finder.cameras, finder.windows());
        if !settings.enabled || !holds_on || !can_see() {
            let_go(&mut commands, hold, held, finder.exists(held.particle));
        }
    }
}

/// What is teleported is not pulled back.
fn end_teleported(
    teleport: On<Teleport>,
    holds: Query<(Entity, &HeldBy)>,
    bodies: Query<&ParticleOf>,
    mut commands: Commands,
) {
    for (hold, held) in &holds {
        let of = bodies.get(held.particle).map_or(held.particle, |of| of.0);
        if of == teleport.entity || held.particle == teleport.entity {
            let_go(&mut commands, hold, held, true);
        }
    }
}

/// A secondary button that is down on something.
struct Pressed {
    pointer: PointerId,
    location: Location,
    particle: Entity,
}

/// Takes hold, drags and lets go; pins what is clicked.
fn grab(
    mut inputs: MessageReader<PointerInput>,
    settings: Res<GrabSettings>,
    mut finder: Finder,
    mut egui: EguiAreas,
    busy: Res<BusyPointers>,
    mut holds: Query<(Entity, &mut HeldBy)>,
    pins: Pins,
    mut clicks: Local<Vec<Pressed>>,
    mut commands: Commands,
) {
    let screens = finder.screens();
    if !settings.enabled {
        inputs.clear();
        clicks.clear();
        return;
    }
    // What was taken in this very call is not in `holds` yet.
    let mut taken: Vec<(Entity, HeldBy)> = Vec::new();
    for PointerInput { pointer_id: pointer, location, action } in inputs.read() {
        let pointer = *pointer;
        let mut find = || {
            let is_free = !busy.over_ui.contains(&pointer) && !egui.cover(location);
            is_free.then(|| finder.find(pointer, location, settings.reach, &screens)).flatten()
        };
        match action {
            PointerAction::Press(PointerButton::Primary)
                if !holds.iter().any(|(_, held)| held.pointer == pointer)
                    && !taken.iter().any(|(_, held)| held.pointer == pointer) =>
            {
                if let Some(found) = find() {
                    let by = (pointer, location);
                    taken.push(take_hold(&mut commands, by, found, &settings, &finder, &pins));
                }
            }
            PointerAction::Press(PointerButton::Secondary) if settings.pinning => {
                clicks.retain(|click| click.pointer != pointer);
                if let Some(Found { particle, .. }) = find() {
                    clicks.push(Pressed { pointer, location: location.clone(), particle });
                }
            }
            PointerAction::Release(PointerButton::Secondary) => {
                for click in clicks.extract_if(.., |click| click.pointer == pointer) {
                    let moved = click.location.position.distance(location.position);
                    if moved <= CLICK && click.location.target == location.target {
                        toggle_pin(&mut commands, pointer, click.particle, &pins);
                    }
                }
            }
            PointerAction::Move { .. } => {
                let of_holds = holds.iter_mut().map(|(_, held)| held.into_inner());
                let all = of_holds.chain(taken.iter_mut().map(|(_, held)| held));
                for held in all.filter(|held| held.pointer == pointer) {
                    held.location = location.clone();
                }
            }
            PointerAction::Release(PointerButton::Primary) | PointerAction::Cancel => {
                if matches!(action, PointerAction::Cancel) {
                    clicks.retain(|click| click.pointer != pointer);
                }
                for (hold, held) in holds.iter().filter(|(_, held)| held.pointer == pointer) {
                    let_go(&mut commands, hold, held, finder.exists(held.particle));
                }
                for (hold, held) in taken.extract_if(.., |(_, held)| held.pointer == pointer) {
                    let_go(&mut commands, hold, &held, finder.exists(held.particle));
                }
            }
            _ => {}
        }
    }
    for (hold, held) in taken {
        commands.entity(hold).try_insert(held);
    }
}

fn take_hold(
    commands: &mut Commands,
    (pointer, location): (PointerId, &Location),
    found: Found,
    settings: &GrabSettings,
    finder: &Finder,
    pins: &Pins,
) -> (Entity, HeldBy) {
    let Found { particle, parts, mut position, under, camera, .. } = found;
    let is_pin = pins.get(particle).is_ok_and(is_pinned)
        && finder.apart(camera, location, particle).is_some_and(|apart| apart <= settings.reach);
    if is_pin {
        position = finder.drawn(particle).unwrap_or(position);
    }
    let anchor = commands.spawn(Transform::from_translation(position)).id();
    let by = if is_pin {
        By::Pin
    } else {
        let attachment = hold::attachment(parts, anchor, settings, |p| finder.mass(p));
        By::Attachment(commands.spawn(attachment).id())
    };
    let (location, offset) = (location.clone(), position - under);
    let held =
        HeldBy { pointer, particle, by, camera, location, offset, target: position, late: None };
    commands.trigger(Grabbed { particle, pointer });
    (anchor, held)
}

fn let_go(commands: &mut Commands, hold: Entity, held: &HeldBy, exists: bool) {
    commands.entity(hold).try_despawn();
    if let By::Attachment(attachment) = held.by {
        commands.entity(attachment).try_despawn();
    }
    if exists {
        commands.trigger(Released { particle: held.particle, pointer: held.pointer });
    }
}

/// Pins a particle where it is, or unpins it; whether it is pinned now.
fn toggle_pin(
    commands: &mut Commands,
    pointer: PointerId,
    particle: Entity,
    pins: &Pins,
) -> Option<bool> {
    let (pinned, pinned_to) = pins.get(particle).ok()?;
    if pinned || pinned_to {
        commands.entity(particle).try_remove::<(Pinned, PinnedTo)>();
        commands.trigger(PointerUnpinned { particle, pointer });
    } else {
        commands.entity(particle).try_insert(Pinned);
        commands.trigger(PointerPinned { particle, pointer });
    }
    Some(!(pinned || pinned_to))
}

/// Pins what is held where it is, or unpins it, when the key is pressed.
fn pin_held(
    keys: Option<Res<ButtonInput<KeyCode>>>,
    settings: Res<GrabSettings>,
    finder: Finder,
    mut egui: EguiAreas,
    mut holds: Query<(Entity, &mut HeldBy, &mut Transform)>,
    pins: Pins,
    mut commands: Commands,
) {
    let is_pressed = keys.is_some_and(|keys| keys.just_pressed(settings.pin_key));
    if !(settings.enabled && settings.pinning && is_pressed) || egui.want_keys() {
        return;
    }
    for (hold, mut held, mut anchor) in &mut holds {
        let particle = held.particle;
        let Some(position) = finder.drawn(particle) else { continue };
        let Some(is_pinned) = toggle_pin(&mut commands, held.pointer, particle, &pins) else {
            continue;
        };
        if let By::Attachment(attachment) = held.by {
            commands.entity(attachment).try_despawn();
        }
        held.by = if is_pinned {
            By::Pin
        } else {
            let parts = vec![SurfacePart { particle, point: Vec3::ZERO, weight: 1.0 }];
            let attachment = hold::attachment(parts, hold, &settings, |p| finder.mass(p));
            By::Attachment(commands.spawn(attachment).id())
        };
        // From now on it is the particle itself that follows, from where it is.
        let under = held.target - held.offset;
        held.offset = position - under;
        held.target = position;
        anchor.translation = position;
    }
}
