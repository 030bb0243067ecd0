//! Where the bones of a ragdoll come from: a list, a file, a mask; and which of them are joined.
//!
//! What a picture gives is remembered as long as somebody holds the picture, so that a hundred ragdolls of one
//! picture do not read it a hundred times.

use super::{
    bones::{self, Bone, BoneJoint, BoneSource, Pixels},
    error::BuildError,
    ragdoll_plan::RagdollInput,
    sprite_ragdoll::SpriteRagdoll,
};
use bevy::prelude::*;
#[cfg(feature = "render")]
use {
    super::{
        bones::{BoneSet, BonesError, MaskSettings},
        source::loaded,
        sprite_ragdoll::RagdollBones,
    },
    alloc::sync::Arc,
    bevy::asset::UntypedAssetId,
};

#[cfg(not(feature = "render"))]
pub(super) fn input(
    ragdoll: &SpriteRagdoll,
    world: &World,
    _: Entity,
) -> Result<Option<RagdollInput>, BuildError> {
    let BoneSource::Bones(bones) = &ragdoll.bones;
    let joints = joined(bones, None, ragdoll.near);
    Ok(Some(RagdollInput::new(ragdoll, world, bones.clone(), joints)))
}

/// Everything that `ragdoll` needs; `None` while a picture or a file is not there yet.
#[cfg(feature = "render")]
pub(super) fn input(
    ragdoll: &SpriteRagdoll,
    world: &World,
    body: Entity,
) -> Result<Option<RagdollInput>, BuildError> {
    // A loaded body has lost its handles; Rebuild then makes it of the bones that it had.
    let lost = match &ragdoll.bones {
        BoneSource::Mask(mask) => *mask == Handle::default(),
        BoneSource::Set(set) => *set == Handle::default(),
        BoneSource::Bones(_) => false,
    };
    if lost {
        let built = world.get::<RagdollBones>(body).ok_or(BuildError::Bones(BonesError::None))?;
        bones::validate_bones(&built.bones)?;
        return Ok(ragdoll.live(world, body));
    }
    let key = Key::new(ragdoll);
    let known = world.get_resource::<KnownPictures>().and_then(|known| known.get(&key));
    let (found, is_new) = match known {
        Some(found) => (found, false),
        None => match find(ragdoll, world)? {
            Some(found) => (Arc::new(found), true),
            None => return Ok(None),
        },
    };
    let mut input = RagdollInput::new(ragdoll, world, found.bones.clone(), found.joints.clone());
    if is_new && key.has_picture() {
        input.found = Some((key, found));
    }
    Ok(Some(input))
}

/// Reads the pictures.
#[cfg(feature = "render")]
fn find(ragdoll: &SpriteRagdoll, world: &World) -> Result<Option<Found>, BuildError> {
    let texture = if ragdoll.texture == Handle::default() {
        None
    } else {
        match loaded(world, &ragdoll.texture, "texture")? {
            Some(image) => Some(image),
            None => return Ok(None),
        }
    };
    let set = match &ragdoll.bones {
        BoneSource::Bones(bones) => BoneSet::new(bones.clone()),
        BoneSource::Set(set) => match loaded(world, set, "file of bones")? {
            Some(set) => set.clone(),
            None => return Ok(None),
        },
        BoneSource::Mask(mask) => match loaded(world, mask, "mask of the bones")? {
            Some(image) => {
                let mask = bones::pixels(image, "mask of the bones")?;
                BoneSet::new(of_mask(mask, texture.map(Image::size), ragdoll)?)
            }
            None => return Ok(None),
        },
    };
    set.validate()?;
    let joints = if set.joints.is_empty() {
        // Where joints are listed, nothing is read from the picture: any format will do.
        let texture = texture.map(|texture| bones::pixels(texture, "texture")).transpose()?;
        let texture = texture.map(|texture| bones::cut(texture, ragdoll.rect)).transpose()?;
        joined(&set.bones, texture.as_ref(), ragdoll.near)
    } else {
        set.joints
    };
    Ok(Some(Found { bones: set.bones, joints }))
}

/// The bones of a mask, of which the same rectangle is taken as of the texture, unless it is as large as
/// the rectangle.
#[cfg(feature = "render")]
fn of_mask(
    mask: Pixels,
    texture: Option<UVec2>,
    ragdoll: &SpriteRagdoll,
) -> Result<Vec<Bone>, BonesError> {
    let part = ragdoll.rect.map(|rect| (rect.max.round() - rect.min.round()).as_uvec2());
    let mask = match texture {
        Some(size) if mask.size != size && part != Some(mask.size) => {
            return Err(BonesError::OtherSize { mask: mask.size, texture: size });
        }
        Some(size) if mask.size != size => mask,
        None if part == Some(mask.size) => mask,
        _ => bones::cut(mask, ragdoll.rect)?,
    };
    let (bones, specks) = bones::of_pixels(&mask, &ragdoll.mask)?;
    if specks > 0 {
        warn_once!(
            "a mask of bones has {specks} specks of fewer than {} pixels, which are left out: \
             MaskSettings::least_pixels says what a speck is",
            ragdoll.mask.least_pixels
        );
    }
    Ok(bones)
}

/// The bones of a picture, not mirrored.
#[cfg(feature = "render")]
#[derive(Debug)]
pub(super) struct Found {
    bones: Vec<Bone>,
    joints: Vec<BoneJoint>,
}

/// What [`Found`] depends on.
#[cfg(feature = "render")]
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    texture: UntypedAssetId,
    bones: Option<UntypedAssetId>,
    mask: MaskSettings,
    rect: Option<Rect>,
    near: f32,
}

#[cfg(feature = "render")]
impl Key {
    fn new(ragdoll: &SpriteRagdoll) -> Self {
        Self {
            texture: ragdoll.texture.id().untyped(),
            bones: match &ragdoll.bones {
                BoneSource::Mask(mask) => Some(mask.id().untyped()),
                BoneSource::Set(set) => Some(set.id().untyped()),
                BoneSource::Bones(_) => None,
            },
            mask: ragdoll.mask,
            rect: ragdoll.rect,
            near: ragdoll.near,
        }
    }

    /// Bones that are listed are not worth remembering.
    fn has_picture(&self) -> bool {
        self.bones.is_some()
    }
}

/// What was read of pictures that have not changed since.
#[cfg(feature = "render")]
#[derive(Resource, Debug, Default)]
pub(super) struct KnownPictures(Vec<(Key, Arc<Found>)>);

#[cfg(feature = "render")]
impl KnownPictures {
    /// More are not remembered.
    const MOST: usize = 64;

    fn get(&self, key: &Key) -> Option<Arc<Found>> {
        let known = key.has_picture().then(|| self.0.iter().find(|(k, _)| k == key))?;
        known.map(|(_, found)| found.clone())
    }

    pub fn add(&mut self, key: Key, found: Arc<Found>) {
        if self.0.len() == Self::MOST {
            self.0.remove(0);
        }
        self.0.push((key, found));
    }

    fn forget(&mut self, id: UntypedAssetId) {
        self.0.retain(|(key, _)| key.texture != id && key.bones != Some(id));
    }
}

/// Forgets what was read of pictures and files that changed or are gone.
#[cfg(feature = "render")]
pub(super) fn forget_changed<A: Asset>(
    mut events: MessageReader<AssetEvent<A>>,
    mut known: ResMut<KnownPictures>,
) {
    for event in events.read() {
        if let AssetEvent::Modified { id } | AssetEvent::Removed { id } = event
            && !known.0.is_empty()
        {
            known.forget(id.untyped());
        }
    }
}

/// Joints between bones, found from their places.
fn joined(bones: &[Bone], picture: Option<&Pixels>, near: f32) -> Vec<BoneJoint> {
    let joined = bones::join(bones, picture, near);
    if joined.parts > 1 {
        warn_once!(
            "the bones of a ragdoll are in {} parts that nothing joins: draw them nearer to one another, \
             raise SpriteRagdoll::near, or list joints in a file of bones",
            joined.parts
        );
    }
    joined.pairs.into_iter().map(|pair| BoneJoint { bones: pair, ..default() }).collect()
}
