//! What a pointer does to a body, line by line on the standard error stream: for a script that moves a
//! real pointer and must know where to press and what came of it.
//!
//! ```text
//! pointer: target X Y                where a particle is that may be dragged (logical pixels)
//! pointer: held X Y cursor X Y       where the particle is that the pointer holds, and the pointer
//! pointer: grabbed X Y
//! pointer: released SPEED            in m/s
//! pointer: pinned X Y
//! pointer: unpinned X Y
//! ```

use bevy::{prelude::*, window::PrimaryWindow};
use bevy_pliant::{
    interact::{Grabbed, HeldBy, PointerPinned, PointerUnpinned, Released},
    prelude::*,
};

use super::{Opt, say};

/// Asks for the lines.
pub const OPTION: Opt = Opt::flag("pointer-log", "say what the pointer does, for scripts");

/// Writes the lines. The particle that may be dragged is the middle one of a body's last row, for a body of
/// rows of `columns` particles.
pub struct PointerLogPlugin {
    /// Particles in a row.
    pub columns: u32,
}

/// Particles in a row of the body.
#[derive(Resource)]
struct Columns(u32);

impl Plugin for PointerLogPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(Columns(self.columns))
            .add_systems(Last, tell)
            .add_observer(|grabbed: On<Grabbed>, places: Places| {
                places.say("grabbed", grabbed.particle);
            })
            .add_observer(|pinned: On<PointerPinned>, places: Places| {
                places.say("pinned", pinned.particle);
            })
            .add_observer(|unpinned: On<PointerUnpinned>, places: Places| {
                places.say("unpinned", unpinned.particle);
            })
            .add_observer(|released: On<Released>, particles: Query<&Particle>| {
                if let Ok(particle) = particles.get(released.particle) {
                    say(&format!("pointer: released {:.3}", particle.velocity.length()));
                }
            });
    }
}

/// Where particles are on the screen.
#[derive(bevy::ecs::system::SystemParam)]
struct Places<'w, 's> {
    particles: Query<'w, 's, &'static Particle>,
    cameras: Query<'w, 's, (&'static Camera, &'static GlobalTransform)>,
}

impl Places<'_, '_> {
    /// As the camera below all others sees it (logical pixels).
    fn on_screen(&self, particle: Entity) -> Option<Vec2> {
        let at = self.particles.get(particle).ok()?.position;
        let (camera, view) = self.cameras.iter().min_by_key(|(camera, _)| camera.order)?;
        camera.world_to_viewport(view, at).ok()
    }

    fn say(&self, what: &str, particle: Entity) {
        if let Some(at) = self.on_screen(particle) {
            say(&format!("pointer: {what} {:.2} {:.2}", at.x, at.y));
        }
    }
}

/// Once a frame: where what is held is, or else where something to take hold of is.
fn tell(
    columns: Res<Columns>,
    places: Places,
    holds: Query<&HeldBy>,
    bodies: Query<&Particles>,
    indices: Query<&ParticleIndex>,
    windows: Query<&Window, With<PrimaryWindow>>,
) {
    if let Some(held) = holds.iter().next() {
        let cursor = windows.single().ok().and_then(Window::cursor_position);
        if let (Some(at), Some(cursor)) = (places.on_screen(held.particle), cursor) {
            let Vec2 { x, y } = at;
            say(&format!("pointer: held {x:.2} {y:.2} cursor {:.2} {:.2}", cursor.x, cursor.y));
        }
        return;
    }
    let Some(members) = bodies.iter().next() else { return };
    let wanted = (members.len() as u32).saturating_sub(columns.0 / 2 + 1);
    let is_wanted = |member: &Entity| indices.get(*member).is_ok_and(|index| index.0 == wanted);
    if let Some(particle) = members.iter().find(is_wanted) {
        places.say("target", particle);
    }
}
