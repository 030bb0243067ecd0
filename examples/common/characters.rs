//! Ragdolls in the plane: what the examples do with them and how they show them.

use bevy::{math::Isometry2d, prelude::*};
use bevy_pliant::{prelude::*, skin::CharacterSkin};

use super::Args;

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
/// | `B` | shows or hides the bones, as ellipses, and their joints, as dots |
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
        app.insert_resource(self.views)
            .add_systems(Startup, |mut store: ResMut<GizmoConfigStore>| {
                store.config_mut::<DefaultGizmoConfigGroup>().0.line.width = 1.5;
            })
            .add_systems(Update, (keys, toss))
            .add_systems(PostUpdate, (draw_skins, draw_bones).chain().after(PliantSystems::Skin));
    }
}

/// What is shown over the pictures.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Views {
    /// The bones.
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

fn keys(
    keys: Res<ButtonInput<KeyCode>>,
    mut views: ResMut<Views>,
    bodies: Query<Entity, With<Particles>>,
    mut commands: Commands,
    mut exit: MessageWriter<AppExit>,
) {
    if keys.just_pressed(KeyCode::KeyB) {
        views.bones = !views.bones;
    }
    if keys.just_pressed(KeyCode::KeyM) {
        views.skin = !views.skin;
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

/// The triangles of the skins as lines.
fn draw_skins(views: Res<Views>, skins: Query<&CharacterSkin>, mut gizmos: Gizmos) {
    if !views.skin {
        return;
    }
    let color = Color::srgba(0.05, 0.12, 0.25, 0.3);
    for skin in &skins {
        let corners: Vec<Vec2> = skin.deform().collect();
        for &[a, b, c] in &skin.binding().triangles {
            // Each inner edge is met once in either direction.
            for [from, to] in [[a, b], [b, c], [c, a]].into_iter().filter(|[from, to]| from < to) {
                gizmos.line_2d(corners[from as usize], corners[to as usize], color);
            }
        }
    }
}

/// Bones as ellipses, joints as dots.
fn draw_bones(
    views: Res<Views>,
    bones: Query<(&Transform, &OrientedParticle)>,
    joints: Query<&JointConstraint>,
    mut gizmos: Gizmos,
) {
    if !views.bones {
        return;
    }
    for (transform, oriented) in &bones {
        let angle = transform.rotation.to_euler(EulerRot::ZYX).0;
        let at = Isometry2d::new(transform.translation.truncate(), Rot2::radians(angle));
        let radii = oriented.radii.truncate();
        gizmos.ellipse_2d(at, radii, Color::srgb(0.85, 0.1, 0.15)).resolution(40);
    }
    for joint in &joints {
        let Ok((first, _)) = bones.get(joint.particles[0]) else { continue };
        let at = (first.translation + first.rotation * joint.anchors[0]).truncate();
        gizmos.circle_2d(at, 0.008, Color::srgb(1.0, 0.8, 0.1)).resolution(12);
    }
}

/// Turns a character's picture white where anything is drawn, for its silhouette.
pub fn whiten(image: &mut Image) {
    let Some(data) = &mut image.data else { return };
    for texel in data.chunks_exact_mut(4) {
        texel[..3].fill(255);
    }
}
