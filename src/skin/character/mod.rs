//! Characters in the plane: a picture that bends with its bones.
//!
//! *Bind* lays a grid over what is opaque of a ragdoll's picture (`grid`), finds out how far its vertices
//! are from each bone along the flesh (`reach`), and shares them out among the bones near them (`weights`).
//! Ragdolls of one picture and the same bones share that (`shared`).
//!
//! Then a character is drawn in one of two ways. A body that has no mesh is drawn by the GPU: it gets a
//! `Mesh2d` and a [`CharacterMaterial`], both shared with its like, and what is its own is written into the
//! palette. The user decides otherwise by giving the body a mesh, `Mesh3d` or `Mesh2d` with the
//! material of their choice: a derived mesh takes its place, and is written each frame, as that of a
//! cloth is.

mod grid;
mod material;
mod palette;
mod picture;
mod reach;
mod shared;
mod systems;
mod weights;

pub use material::{ATTRIBUTE_BONE_WEIGHTS, ATTRIBUTE_BONES, CharacterMaterial};
pub use shared::SkinBinding;

pub(super) use material::add_material;
pub(super) use palette::Palette;
pub(super) use shared::SharedSkins;
pub(super) use systems::{bind_characters, draw_characters, write_palette};

use crate::{particle::RestPose, solver::DrawnPose};
use alloc::sync::Arc;
use bevy::{camera::primitives::Aabb, math::Affine3A, prelude::*};
use palette::{Entry, Lease};
use shared::SharedSkin;

/// Draws a [`SpriteRagdoll`](crate::recipe::SpriteRagdoll): its mesh, which bones move it, and where they
/// are now. On the body; derived, never saved.
#[derive(Component, Debug)]
pub struct CharacterSkin {
    shared: Arc<SharedSkin>,
    /// That of all like it, or without the bones that are gone.
    binding: Arc<SkinBinding>,
    way: Way,
    pose: CharacterPose,
    tint: LinearRgba,
    /// Not drawn yet.
    fresh: bool,
}

/// How a character is drawn.
#[derive(Debug)]
enum Way {
    /// By the GPU, if it has something to draw with.
    Gpu(Option<Gpu>),
    /// By a derived mesh; whether that is a `Mesh2d`.
    Mesh { flat: bool },
}

#[derive(Debug)]
struct Gpu {
    lease: Lease,
    /// The mesh that was given to the body.
    mesh: Handle<Mesh>,
    /// The z at which it is drawn (m, world), once it was.
    height: Option<f32>,
}

impl Gpu {
    fn tag(&self) -> u32 {
        self.lease.run.first
    }
}

/// Where the bones of a character are.
#[derive(Clone, Debug, Default, PartialEq)]
struct CharacterPose {
    /// What motions are relative to (m, world).
    origin: Vec3,
    /// The scale that the body was built with.
    scale: Vec2,
    /// How each bone has moved since it was at rest in a body at the world's origin.
    motions: Vec<Isometry2d>,
    /// Which bones are there.
    present: Vec<bool>,
}

impl CharacterSkin {
    fn new(shared: Arc<SharedSkin>, way: Way) -> Self {
        let bones = shared.binding.bone_count();
        let pose = CharacterPose {
            scale: Vec2::ONE,
            motions: vec![Isometry2d::IDENTITY; bones],
            present: vec![true; bones],
            ..default()
        };
        let binding = shared.binding.clone();
        Self { shared, binding, way, pose, tint: LinearRgba::WHITE, fresh: true }
    }

    /// How the picture hangs on its bones; without those that are gone.
    pub fn binding(&self) -> &SkinBinding {
        &self.binding
    }

    /// Where the vertices of [`binding`](Self::binding) are drawn (m, world).
    pub fn deform(&self) -> impl Iterator<Item = Vec2> {
        let CharacterPose { origin, scale, motions, .. } = &self.pose;
        self.binding.deform(motions, *scale).map(|at| at + origin.truncate())
    }

    /// The mesh that the GPU bends, if it is that which draws it, and the z at which it is drawn (m, world).
    #[cfg(feature = "picking")]
    pub(crate) fn drawn_by_gpu(&self) -> Option<(&Handle<Mesh>, Option<f32>)> {
        match &self.way {
            Way::Gpu(Some(gpu)) => Some((&gpu.mesh, gpu.height)),
            _ => None,
        }
    }

    /// The scale that the body was built with.
    #[cfg(feature = "picking")]
    pub(crate) fn scale(&self) -> Vec2 {
        self.pose.scale
    }

    fn entry(&self) -> Entry<'_> {
        let CharacterPose { origin, scale, motions, .. } = &self.pose;
        Entry { tint: self.tint, origin: origin.truncate(), scale: *scale, bones: motions }
    }

    /// The box around what is drawn, in the body's frame; `height` is the z at which it is drawn (m, world).
    /// `None` if that is nothing.
    fn bounds(&self, height: f32, to_body: &Affine3A) -> Option<Aabb> {
        let CharacterPose { origin, scale, motions, .. } = &self.pose;
        let corners = self
            .binding
            .outline(motions, *scale)
            .map(|corner| to_body.transform_point3((corner + origin.truncate()).extend(height)));
        let (low, high) = corners.fold((Vec3::INFINITY, Vec3::NEG_INFINITY), |(low, high), at| {
            (low.min(at), high.max(at))
        });
        (low.is_finite() && high.is_finite()).then(|| Aabb::from_min_max(low, high))
    }
}

impl CharacterPose {
    /// Reads the drawn pose; whether it is another than before. What is not finite stays as it was.
    fn read(
        &mut self,
        drawn: &DrawnPose,
        scale: Vec2,
        bones: &Query<(&Transform, &RestPose)>,
    ) -> bool {
        let there = |bone: usize| {
            let particle = (*drawn.particles.get(bone)?)?;
            let at = *drawn.positions.get(bone)?;
            let (transform, rest) = bones.get(particle).ok()?;
            Some((at, transform.rotation, rest))
        };
        let first = (0..self.motions.len()).find_map(|bone| there(bone).map(|(at, ..)| at));
        let Some(origin) = first.filter(|origin| origin.is_finite()) else {
            let changed = self.present.contains(&true);
            self.present.fill(false);
            return changed;
        };
        let mut changed = self.origin != origin || self.scale != scale;
        (self.origin, self.scale) = (origin, scale);
        for (bone, (motion, present)) in self.motions.iter_mut().zip(&mut self.present).enumerate()
        {
            let found = there(bone);
            changed |= *present != found.is_some();
            *present = found.is_some();
            let Some((at, rotation, rest)) = found else { continue };
            let rotation = planar(rotation * rest.rotation.inverse());
            let (turn, at) = (Vec2::new(rotation.cos, rotation.sin), (at - origin).truncate());
            let translation = at - turn.rotate(rest.position.truncate() * scale);
            let new = Isometry2d { rotation, translation };
            if *motion != new && translation.is_finite() {
                *motion = new;
                changed = true;
            }
        }
        changed
    }
}

/// A rotation about z, the nearest to this one; none where that is not told.
fn planar(rotation: Quat) -> Rot2 {
    let (z, w) = (rotation.z, rotation.w);
    let double = Vec2::new(w * w - z * z, 2.0 * w * z).try_normalize().unwrap_or(Vec2::X);
    Rot2 { cos: double.x, sin: double.y }
}
