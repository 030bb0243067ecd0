//! Holds: what a pointer has taken, and how it follows.

use super::{GrabSettings, busy::BusyPointers};
use crate::{
    constraint::{SurfaceAttachment, SurfacePart},
    interact::pick::Cameras,
    math::pose::Pose,
    particle::{Particle, Pinned, PinnedTo},
    solver::{SolverClock, SolverControl},
};
use bevy::{
    camera::NormalizedRenderTarget,
    picking::pointer::{Location, PointerId},
    prelude::*,
};

/// The hold of a pointer on a particle or on a point of a surface: on the entity that it is attached to,
/// whose `Transform` is where it pulls.
#[derive(Component, Clone, Debug)]
pub struct HeldBy {
    /// The pointer.
    pub pointer: PointerId,
    /// The particle; on a surface the nearest.
    pub particle: Entity,
    pub(super) by: By,
    pub(super) camera: Entity,
    /// Where the pointer is.
    pub(super) location: Location,
    /// From the point under the pointer to what is held (m), when it was taken.
    pub(super) offset: Vec3,
    /// Where it is to go (m).
    pub(super) target: Vec3,
    /// While it does not go there at once: how long until it is there (s, simulated).
    pub(super) late: Option<f32>,
}

/// How something is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// By this [`SurfaceAttachment`].
    Attachment(Entity),
    /// The particle is pinned: its position is written, or where it is on its anchor.
    Pin,
}

impl HeldBy {
    /// Where the pointer wants what is held (m).
    pub fn target(&self) -> Vec3 {
        self.target
    }

    /// Whether what is held waits, or catches up after a pause.
    pub fn is_late(&self) -> bool {
        self.late.is_some()
    }
}

/// A compliant attachment of these parts to `anchor`.
pub(super) fn attachment(
    parts: Vec<SurfacePart>,
    anchor: Entity,
    settings: &GrabSettings,
    mass: impl Fn(Entity) -> Option<f32>,
) -> SurfaceAttachment {
    let inverse: f32 = parts
        .iter()
        .filter_map(|part| Some(part.weight * part.weight / mass(part.particle)?.max(1e-12)))
        .sum();
    let compliance = if settings.compliance >= 0.0 { settings.compliance } else { 0.0 };
    let critical = 2.0 * (inverse * compliance).sqrt().recip();
    let damping = settings.damping_ratio * if critical.is_finite() { critical } else { 0.0 };
    SurfaceAttachment::new(parts, anchor)
        .at(Vec3::ZERO)
        .with_compliance(compliance)
        .with_damping(damping)
        .with_max_force(settings.max_force)
}

/// Moves what pointers hold to where they are now. While the solver rests nothing moves; then it catches up
/// within [`GrabSettings::catch_up`].
pub fn follow(
    settings: Res<GrabSettings>,
    control: Option<Res<SolverControl>>,
    clock: Option<Res<SolverClock>>,
    time: Res<Time<Virtual>>,
    cameras: Cameras,
    mut elapsed: Local<f64>,
    mut holds: Query<(&mut HeldBy, &mut Transform)>,
    mut pins: Query<(&mut Particle, Option<&mut PinnedTo>), Or<(With<Pinned>, With<PinnedTo>)>>,
    anchors: Query<&GlobalTransform>,
) {
    let rests = control.is_some_and(|control| control.paused) || time.effective_speed() == 0.0;
    let now = clock.map_or(*elapsed, |clock| clock.elapsed);
    let step = (now - *elapsed).max(0.0) as f32;
    *elapsed = now;
    let whole = if settings.catch_up > 0.0 { settings.catch_up } else { 0.0 };
    for (mut held, mut anchor) in &mut holds {
        let held = held.bypass_change_detection();
        let through = held.target - held.offset;
        let under = cameras.point_under(held.camera, &held.location, through);
        let target = under.map_or(held.target, |under| under + held.offset);
        let moved = target != held.target;
        held.target = target;
        if rests && moved {
            held.late = Some(whole);
        }
        let at = match held.late {
            None => target,
            Some(left) if step < left => {
                held.late = Some(left - step);
                anchor.translation.lerp(target, step / left)
            }
            // There, or about to be; while the solver rests nothing is.
            Some(_) if rests && step == 0.0 => anchor.translation,
            Some(_) => {
                held.late = None;
                target
            }
        };
        if at.is_finite() && anchor.translation != at {
            anchor.translation = at;
        }
        if held.by == By::Pin
            && let Ok((particle, pin)) = pins.get_mut(held.particle)
        {
            place_pin(anchor.translation, particle, pin, &anchors);
        }
    }
}

/// Puts a pinned particle there: by its position, or by where it is on its anchor.
fn place_pin(
    at: Vec3,
    mut particle: Mut<Particle>,
    pin: Option<Mut<PinnedTo>>,
    anchors: &Query<&GlobalTransform>,
) {
    let Some(mut pin) = pin else {
        if particle.position != at {
            particle.position = at;
        }
        return;
    };
    let Some(pose) =
        anchors.get(pin.anchor).ok().and_then(|frame| Pose::new(frame.compute_transform()))
    else {
        return;
    };
    let offset = pose.inverse_transform_point(at.as_dvec3());
    // Rounding alone is no move.
    let apart = (pose.transform_point(pin.offset) - at.as_dvec3()).length();
    if offset.is_finite() && apart > f64::from(1e-6 * at.length()) {
        pin.offset = offset;
    }
}

/// Tells which pointers hold something.
pub fn tell_holding(holds: Query<&HeldBy>, mut busy: ResMut<BusyPointers>) {
    let holding: Vec<PointerId> = holds.iter().map(|held| held.pointer).collect();
    if busy.holding != holding {
        busy.holding = holding;
    }
}

/// Whether the camera is there still, and the window.
pub(super) fn can_see(held: &HeldBy, cameras: &Cameras, windows: &Query<(), With<Window>>) -> bool {
    let has_window = match &held.location.target {
        NormalizedRenderTarget::Window(window) => windows.contains(window.entity()),
        _ => true,
    };
    has_window && cameras.is_alive(held.camera, &held.location)
}
