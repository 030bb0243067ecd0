//! Ragdolls in the plane: what the examples do with them and how they show them.

use bevy::prelude::*;
use bevy_pliant::{
    interact::{EllipsoidGizmos, GroupGizmos, SurfaceGizmos},
    prelude::*,
};

use super::{Args, panel};

/// What is shown over the pictures of characters, from the start: an option of the command line.
pub const SHOW: super::Opt = super::Opt::choice(
    "show",
    "picture",
    &["picture", "bones", "skin", "both"],
    "what is drawn over the picture",
);

/// Views of ragdolls, and keys; where the command line has the option `--show`, its views from the start.
///
/// | key | does |
/// |---|---|
/// | `B` | shows or hides the bones, as ellipses, and what joins them |
/// | `M` | shows or hides the mesh of the skin |
/// | `R` | restarts every body |
/// | `T` | tosses every ragdoll |
/// | `Esc` | ends |
pub struct CharactersPlugin {
    /// What is shown from the start.
    pub views: Views,
}

impl Plugin for CharactersPlugin {
    fn build(&self, app: &mut App) {
        let Views { bones, skin } = self.views;
        app.add_systems(Startup, move |mut store: ResMut<GizmoConfigStore>| {
            show_bones(&mut store, bones);
            show_skin(&mut store, skin);
        })
        .add_systems(Update, (keys, toss).run_if(panel::keys_are_free));
    }
}

/// What is shown over the pictures from the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Views {
    /// The bones and what joins them.
    pub bones: bool,
    /// The mesh of the skin.
    pub skin: bool,
}

impl Views {
    /// As the option [`SHOW`] says.
    pub fn from_args(args: &Args) -> Self {
        let show = args.text("show");
        Self { bones: matches!(show, "bones" | "both"), skin: matches!(show, "skin" | "both") }
    }
}

fn show_bones(store: &mut GizmoConfigStore, shown: bool) {
    store.config_mut::<EllipsoidGizmos>().0.enabled = shown;
    store.config_mut::<GroupGizmos>().0.enabled = shown;
}

fn show_skin(store: &mut GizmoConfigStore, shown: bool) {
    store.config_mut::<SurfaceGizmos>().0.enabled = shown;
}

fn keys(
    keys: Res<ButtonInput<KeyCode>>,
    mut store: ResMut<GizmoConfigStore>,
    bodies: Query<Entity, With<Particles>>,
    mut commands: Commands,
    mut exit: MessageWriter<AppExit>,
) {
    if keys.just_pressed(KeyCode::KeyB) {
        let shown = store.config::<EllipsoidGizmos>().0.enabled;
        show_bones(&mut store, !shown);
    }
    if keys.just_pressed(KeyCode::KeyM) {
        let shown = store.config::<SurfaceGizmos>().0.enabled;
        show_skin(&mut store, !shown);
    }
    if keys.just_pressed(KeyCode::KeyR) {
        bodies.iter().for_each(|entity| commands.trigger(Rebuild { entity }));
    }
    if keys.just_pressed(KeyCode::Escape) {
        exit.write(AppExit::Success);
    }
}

/// Throws every ragdoll up, each time another way.
fn toss(
    keys: Res<ButtonInput<KeyCode>>,
    ragdolls: Query<Entity, With<SpriteRagdoll>>,
    bodies: Query<&Particles>,
    mut bones: Query<(&mut Particle, &mut OrientedParticle)>,
    mut tosses: Local<u32>,
) {
    if !keys.just_pressed(KeyCode::KeyT) {
        return;
    }
    for body in &ragdolls {
        *tosses = tosses.wrapping_add(1);
        let way = (*tosses as f32 * 2.4).sin();
        throw(body, Vec2::new(2.2 * way, 5.5), -7.0 * way, &bodies, &mut bones);
    }
}

/// Gives a body the motion of one rigid thing about its centre of mass.
pub fn throw(
    body: Entity,
    velocity: Vec2,
    turn: f32,
    bodies: &Query<&Particles>,
    bones: &mut Query<(&mut Particle, &mut OrientedParticle)>,
) {
    let Ok(members) = bodies.get(body) else { return };
    let (mut mass, mut moment) = (0.0, Vec3::ZERO);
    for &member in &**members {
        if let Ok((particle, _)) = bones.get(member) {
            mass += particle.mass;
            moment += particle.mass * particle.position;
        }
    }
    let centre = moment / f32::max(mass, f32::MIN_POSITIVE);
    for &member in &**members {
        if let Ok((mut particle, mut oriented)) = bones.get_mut(member) {
            let arm = particle.position - centre;
            particle.velocity = velocity.extend(0.0) + turn * Vec3::new(-arm.y, arm.x, 0.0);
            oriented.angular_velocity = Vec3::Z * turn;
        }
    }
}

/// Turns a character's picture white where anything is drawn, for its silhouette.
pub fn whiten(image: &mut Image) {
    let Some(data) = &mut image.data else { return };
    for texel in data.chunks_exact_mut(4) {
        texel[..3].fill(255);
    }
}
