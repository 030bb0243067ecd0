//! A ragdoll in the plane: a picture cut into bones.

use super::bones::{Bone, BoneJoint, BoneSet, BoneSource, MaskSettings};
use crate::{
    obstacle::Friction,
    particle::{Particles, Planar},
};
use alloc::sync::Arc;
use bevy::{ecs::system::SystemParam, prelude::*};

/// A flat character: a picture, and the ellipses (bones) that it moves with.
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_pliant::prelude::*;
/// # #[cfg(feature = "render")]
/// # fn spawn(mut commands: Commands, assets: Res<AssetServer>) {
/// commands.spawn((
///     SpriteRagdoll::new(assets.load("walker.png"), assets.load("walker_bones.png")),
///     Transform::from_xyz(0.0, 2.0, 0.0),
/// ));
/// # }
/// ```
///
/// The picture's rectangle is centred on the body's origin, in its x–y plane, y up. Each bone becomes an
/// oriented particle, in the order of the bones, with the bone's name as its `Name` ([`BoneFinder`] finds
/// it); the body is [`Planar`] and may be turned about z only. It waits for its pictures, and for its file of
/// bones; a picture that is painted on later is read again at the next [`Rebuild`](super::Rebuild).
///
/// # Joints
///
/// A file of bones may list them. Otherwise bones whose ellipses touch are joined, and then those that are
/// [`near`](Self::near), in order of their distance, as far as they join parts that are not joined yet. Where
/// there is a picture, it must be opaque between two bones, so that a hand beside the hip is not glued to it;
/// and bones that are further apart are joined where the picture leads from one to the other. Bones side by
/// side, as two thighs are, come last. What nothing joins falls apart.
#[derive(Component, Reflect, Clone, Debug, PartialEq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
#[require(Transform, Planar, crate::solver::DrawnPose, crate::solver::BodySettings)]
#[cfg_attr(feature = "render", require(Visibility))]
pub struct SpriteRagdoll {
    /// The picture. None is drawn for the default handle. The handle is not saved.
    #[cfg(feature = "render")]
    #[reflect(ignore)]
    pub texture: Handle<Image>,
    /// Where its bones come from.
    pub bones: BoneSource,
    /// How a mask of bones is read.
    pub mask: MaskSettings,
    /// The part of the texture, and of a mask of the texture's size, that is the picture (pixels, y
    /// down). Default (`None`): all.
    pub rect: Option<Rect>,
    /// Height of the picture (m); its width follows. Default: 1.
    pub height: f32,
    /// What the picture's colours and alpha are multiplied with. Default: white. Changes live.
    #[cfg(feature = "render")]
    pub color: Color,
    /// Mirrors the picture and its bones left to right. Default: false.
    pub flip_x: bool,
    /// Mirrors the picture and its bones top to bottom. Default: false.
    pub flip_y: bool,
    /// What holds the bones together.
    pub style: RagdollStyle,
    /// Mass in all (kg), shared by the area of the bones. Default: 1.
    pub mass: f32,
    /// Distance of the vertices of the mesh that is drawn (m). Default (`None`): chosen from the size of
    /// the bones.
    pub skin_spacing: Option<f32>,
    /// Bones whose ellipses are no further apart than this are joined, if the picture is opaque between
    /// them (picture heights). Default: 0.04.
    pub near: f32,
    /// Compliance of joints (m/N) or of groups (m/N); 0 is rigid. Default: 0.
    pub compliance: f32,
    /// Compliance of joints toward the picture's pose (rad²/J); infinite is limp. Default (`None`):
    /// 100/(m·9.81·height), with which an arm held out droops 58 to 80 degrees.
    pub torsion_compliance: Option<f32>,
    /// Damping of the turning of joined bones against each other (1/s). Default: 25.
    pub spin_damping: f32,
    /// How far joined bones may turn against each other either way, where bones and joints say nothing
    /// else (rad). Default: 1.2.
    pub bend: f32,
    /// Damping relative to the body's rigid motion (1/s). Default (`None`): the world's.
    pub damping: Option<f32>,
    /// Friction with obstacles and with other bodies. Default: 0.5.
    pub friction: Friction,
    /// Whether its bones touch one another, except those that share a joint or a neighbour. Default:
    /// true.
    pub self_contact: bool,
    /// Whether its bones touch other bodies that have this too. Default: true.
    pub soft_contact: bool,
}

/// What holds the bones of a ragdoll together.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub enum RagdollStyle {
    /// Joints with limits: floppy and tight.
    #[default]
    Jointed,
    /// Shape-matching groups, one of each bone and those it is joined to: rubber.
    Elastic,
}

impl Default for SpriteRagdoll {
    fn default() -> Self {
        Self {
            #[cfg(feature = "render")]
            texture: Handle::default(),
            bones: BoneSource::default(),
            mask: MaskSettings::default(),
            rect: None,
            height: 1.0,
            #[cfg(feature = "render")]
            color: Color::WHITE,
            flip_x: false,
            flip_y: false,
            style: RagdollStyle::Jointed,
            mass: 1.0,
            skin_spacing: None,
            near: 0.04,
            compliance: 0.0,
            torsion_compliance: None,
            spin_damping: 25.0,
            bend: 1.2,
            damping: None,
            friction: Friction::DEFAULT,
            self_contact: true,
            soft_contact: true,
        }
    }
}

impl SpriteRagdoll {
    /// A picture, and a picture of the same size that shows each of its bones as a blot.
    #[cfg(feature = "render")]
    pub fn new(texture: Handle<Image>, mask: Handle<Image>) -> Self {
        Self { texture, bones: BoneSource::Mask(mask), ..default() }
    }

    /// A picture, and a file of its bones.
    #[cfg(feature = "render")]
    pub fn with_set(texture: Handle<Image>, bones: Handle<BoneSet>) -> Self {
        Self { texture, bones: BoneSource::Set(bones), ..default() }
    }

    /// These bones, without a picture.
    pub fn of_bones(bones: Vec<Bone>) -> Self {
        Self { bones: BoneSource::Bones(bones), ..default() }
    }

    /// With this picture.
    #[cfg(feature = "render")]
    pub fn with_texture(mut self, texture: Handle<Image>) -> Self {
        self.texture = texture;
        self
    }

    /// With this height (m).
    pub const fn with_height(mut self, height: f32) -> Self {
        self.height = height;
        self
    }

    /// With this mass in all (kg).
    pub const fn with_mass(mut self, mass: f32) -> Self {
        self.mass = mass;
        self
    }

    /// Held together so.
    pub const fn with_style(mut self, style: RagdollStyle) -> Self {
        self.style = style;
        self
    }

    /// With this part of the texture (pixels, y down).
    pub const fn with_rect(mut self, rect: Rect) -> Self {
        self.rect = Some(rect);
        self
    }

    /// Tinted so.
    #[cfg(feature = "render")]
    pub const fn with_color(mut self, color: Color) -> Self {
        self.color = color;
        self
    }

    /// Mirrored left to right, top to bottom.
    pub const fn flipped(mut self, x: bool, y: bool) -> Self {
        self.flip_x = x;
        self.flip_y = y;
        self
    }

    /// With this distance of the vertices that are drawn (m).
    pub const fn with_skin_spacing(mut self, spacing: f32) -> Self {
        self.skin_spacing = Some(spacing);
        self
    }
}

/// What a ragdoll was built from, for what draws it. On the body; derived, never saved.
#[derive(Component, Clone, Debug, PartialEq)]
pub struct RagdollBones {
    /// The bones as built, by [`ParticleIndex`](crate::particle::ParticleIndex): mirrored where the
    /// ragdoll is.
    pub bones: Arc<[Bone]>,
    /// Which of them are joined, by joints or by groups, with the anchors and limits that they were given.
    pub joints: Arc<[BoneJoint]>,
}

impl RagdollBones {
    /// The bones that are joined, two and two.
    pub fn pairs(&self) -> impl Iterator<Item = [u32; 2]> {
        self.joints.iter().map(|joint| joint.bones)
    }

    /// Bones and joints as a set, to be given names and limits, and saved.
    pub fn set(&self) -> BoneSet {
        BoneSet { bones: self.bones.to_vec(), joints: self.joints.to_vec() }
    }
}

/// Finds bones by their names.
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_pliant::prelude::*;
/// fn wave(
///     ragdolls: Query<Entity, With<SpriteRagdoll>>,
///     bones: BoneFinder,
///     mut particles: Query<&mut Particle>,
/// ) {
///     for hand in ragdolls.iter().filter_map(|ragdoll| bones.find(ragdoll, "hand")) {
///         particles.get_mut(hand).unwrap().velocity.y = 5.0;
///     }
/// }
/// ```
#[derive(SystemParam, Debug)]
pub struct BoneFinder<'w, 's> {
    bodies: Query<'w, 's, &'static Particles>,
    names: Query<'w, 's, &'static Name>,
}

impl BoneFinder<'_, '_> {
    /// The first particle of `body` with this name; `None` while it is not built.
    pub fn find(&self, body: Entity, name: &str) -> Option<Entity> {
        let particles = self.bodies.get(body).ok()?;
        let has_name = |e: &Entity| self.names.get(*e).is_ok_and(|found| found.as_str() == name);
        particles.iter().find(has_name)
    }
}
