//! What characters of one picture share: how its mesh hangs on the bones, the mesh, the material.

use super::{
    material::{ATTRIBUTE_BONE_WEIGHTS, ATTRIBUTE_BONES, CharacterMaterial},
    picture::Region,
    reach::BoneShape,
    weights::{self, Binding, INFLUENCES},
};
use crate::recipe::{RagdollBones, SpriteRagdoll};
use alloc::sync::{Arc, Weak};
use bevy::{
    asset::RenderAssetUsages,
    math::FloatOrd,
    mesh::{Indices, PrimitiveTopology, VertexAttributeValues},
    platform::collections::HashMap,
    prelude::*,
};
use core::cmp::Reverse;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

/// A mesh of so many vertices along the height of the picture, where its bones are not thinner than that
/// can show.
const FINENESS: f32 = 48.0;
/// And of so many at most, however thin they are, unless the recipe says so.
const FINEST: f32 = 128.0;

/// How a picture hangs on its bones.
///
/// Vertices lie on a grid over the picture, as far as that is not transparent; each has up to four bones
/// that move it, with weights of sum 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkinBinding {
    /// Positions at rest (m, in the body's frame before its scale).
    pub positions: Vec<Vec2>,
    /// Texture coordinates.
    pub uvs: Vec<Vec2>,
    /// Triangles by vertex, counter-clockwise; later ones are drawn over earlier ones. Those of a limb come
    /// together: first what goes with the first bone, then with those joined to it, each followed by its
    /// own.
    pub triangles: Vec<[u32; 3]>,
    /// The bones that move each vertex, by [`ParticleIndex`](crate::particle::ParticleIndex).
    pub joints: Vec<[u16; INFLUENCES]>,
    /// How much they do: strongest first, not negative, of sum 1.
    pub weights: Vec<[f32; INFLUENCES]>,
    /// For each bone the box around the vertices that it moves, in the frame of `positions`.
    boxes: Vec<Option<Rect>>,
}

impl SkinBinding {
    fn new(region: &Region, binding: Binding, bones: usize, joints_of_bones: &[[u32; 2]]) -> Self {
        let Binding { positions, pixels, mut triangles, joints, weights } = binding;
        // Where parts come to lie over one another, all of one is over all of the other.
        let layers = layers(bones, joints_of_bones);
        triangles.sort_by_key(|corners| {
            let bone = strongest(&corners.map(|v| v as usize), &joints, &weights);
            layers.get(bone as usize).copied()
        });
        let uvs = pixels.into_iter().map(|pixel| region.uv(pixel)).collect();
        let mut boxes = vec![None; bones];
        for (at, (joints, weights)) in positions.iter().zip(joints.iter().zip(&weights)) {
            let point = Rect { min: *at, max: *at };
            for (joint, _) in joints.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
                if let Some(around) = boxes.get_mut(*joint as usize) {
                    *around = Some(around.map_or(point, |around: Rect| around.union(point)));
                }
            }
        }
        Self { positions, uvs, triangles, joints, weights, boxes }
    }

    /// How many bones there are.
    pub fn bone_count(&self) -> usize {
        self.boxes.len()
    }

    /// Where the vertices are when each bone has moved so since it was at rest, in a body of this scale.
    pub fn deform(&self, motions: &[Isometry2d], scale: Vec2) -> impl Iterator<Item = Vec2> {
        let influences = self.joints.iter().zip(&self.weights);
        self.positions.iter().zip(influences).map(move |(position, (joints, weights))| {
            let point = position * scale;
            let moved = joints.iter().zip(weights).filter_map(|(joint, weight)| {
                let Isometry2d { rotation, translation } = *motions.get(*joint as usize)?;
                Some(weight * (Vec2::new(rotation.cos, rotation.sin).rotate(point) + translation))
            });
            moved.sum()
        })
    }

    /// Points of which the least convex outline encloses all vertices, wherever the bones are: corners of
    /// the boxes around what each moves.
    pub(super) fn outline(
        &self,
        motions: &[Isometry2d],
        scale: Vec2,
    ) -> impl Iterator<Item = Vec2> {
        let boxes = self.boxes.iter().zip(motions);
        boxes.filter_map(|(around, motion)| Some(((*around)?, *motion))).flat_map(
            move |(Rect { min, max }, motion)| {
                [min, Vec2::new(max.x, min.y), max, Vec2::new(min.x, max.y)].map(|corner| {
                    let Rot2 { cos, sin } = motion.rotation;
                    Vec2::new(cos, sin).rotate(corner * scale) + motion.translation
                })
            },
        )
    }

    /// The same without bones that are gone: triangles that go with one are left out, and others shared
    /// with one go with the rest.
    pub(super) fn without(&self, is_there: impl Fn(usize) -> bool) -> Self {
        let strongest = |vertex: u32| self.joints[vertex as usize][0] as usize;
        let mut rest = self.clone();
        for (bone, around) in rest.boxes.iter_mut().enumerate() {
            *around = around.filter(|_| is_there(bone));
        }
        rest.triangles.retain(|corners| corners.iter().all(|v| is_there(strongest(*v))));
        for (joints, weights) in rest.joints.iter().zip(&mut rest.weights) {
            let gone = |slot: usize| !is_there(joints[slot] as usize);
            if !gone(0) {
                (1..INFLUENCES).filter(|slot| gone(*slot)).for_each(|slot| weights[slot] = 0.0);
                let sum: f32 = weights.iter().sum();
                weights.iter_mut().for_each(|weight| *weight /= sum);
            }
        }
        rest
    }

    /// The mesh at rest, for any material: positions, normals, texture coordinates.
    pub(super) fn plain_mesh(&self) -> Mesh {
        let position = |p: &Vec2| [p.x, p.y, 0.0];
        let mut positions: Vec<[f32; 3]> = self.positions.iter().map(position).collect();
        let mut uvs: Vec<[f32; 2]> = self.uvs.iter().map(Vec2::to_array).collect();
        let mut corners = self.triangles.as_flattened().to_vec();
        // A renderer may not expect a mesh without vertices or triangles.
        if positions.is_empty() {
            (positions, uvs) = (vec![[0.0; 3]], vec![[0.0; 2]]);
        }
        if corners.is_empty() {
            corners = vec![0; 3];
        }
        Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default())
            .with_inserted_attribute(
                Mesh::ATTRIBUTE_NORMAL,
                vec![[0.0, 0.0, 1.0f32]; positions.len()],
            )
            .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, positions)
            .with_inserted_attribute(Mesh::ATTRIBUTE_UV_0, uvs)
            .with_inserted_indices(Indices::U32(corners))
    }

    /// The mesh that [`CharacterMaterial`] draws: bones and their weights beside those.
    pub(super) fn mesh(&self) -> Mesh {
        let joints = VertexAttributeValues::Uint16x4(self.joints.clone());
        self.plain_mesh()
            .with_inserted_attribute(ATTRIBUTE_BONES, joints)
            .with_inserted_attribute(ATTRIBUTE_BONE_WEIGHTS, self.weights.clone())
    }
}

/// The place of each bone when limbs are followed to their ends, from the first bone on.
fn layers(bones: usize, joints: &[[u32; 2]]) -> Vec<u32> {
    let joined = weights::neighbours(bones, joints);
    let mut layers = vec![u32::MAX; bones];
    let mut next = 0;
    for first in 0..bones as u32 {
        let mut open = vec![first];
        while let Some(bone) = open.pop() {
            if layers[bone as usize] == u32::MAX {
                layers[bone as usize] = next;
                next += 1;
                // The last is taken first.
                open.extend(joined[bone as usize].iter().rev());
            }
        }
    }
    layers
}

/// The bone that moves these vertices most; of two that do as much the first.
fn strongest(
    vertices: &[usize],
    joints: &[[u16; INFLUENCES]],
    weights: &[[f32; INFLUENCES]],
) -> u16 {
    let pairs = || vertices.iter().flat_map(|v| joints[*v].iter().zip(&weights[*v]));
    let sum = |bone: u16| -> f32 { pairs().filter(|(b, _)| **b == bone).map(|(_, w)| w).sum() };
    let of_all = pairs().map(|(bone, _)| (FloatOrd(sum(*bone)), Reverse(*bone)));
    of_all.max().map_or(0, |(_, Reverse(bone))| bone)
}

/// What characters that look the same share.
#[derive(Debug)]
pub(in crate::skin) struct SharedSkin {
    pub binding: Arc<SkinBinding>,
    pub texture: Handle<Image>,
    /// The mesh and the material that the GPU draws it with, once one is drawn so.
    pub drawn: OnceLock<(Handle<Mesh>, Handle<CharacterMaterial>)>,
    /// Made of a picture that has changed since.
    stale: AtomicBool,
}

impl SharedSkin {
    pub fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Relaxed)
    }
}

/// All that a skin follows from, floats by their bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    texture: AssetId<Image>,
    flip: [bool; 2],
    numbers: Vec<u32>,
    joints: Arc<[[u32; 2]]>,
}

/// The skins of all characters that there are.
#[derive(Resource, Debug, Default)]
pub(in crate::skin) struct SharedSkins(HashMap<Key, Weak<SharedSkin>>);

impl SharedSkins {
    /// The skin of a character, made if there is none yet; `None` if its picture has no area.
    pub fn get(
        &mut self,
        ragdoll: &SpriteRagdoll,
        bones: &RagdollBones,
        image: &Image,
    ) -> Option<Arc<SharedSkin>> {
        let height = ragdoll.height;
        let flip = [ragdoll.flip_x, ragdoll.flip_y];
        let region = Region::new(image, ragdoll.rect, flip)?;
        let shapes: Vec<BoneShape> = bones
            .bones
            .iter()
            .map(|bone| BoneShape {
                center: height * bone.center,
                radii: height * bone.radii,
                angle: bone.angle,
            })
            .collect();
        let spacing = ragdoll.skin_spacing.unwrap_or_else(|| default_spacing(height, &shapes));
        let Rect { min, max } = region.rect;
        let of_picture = [min.x, min.y, max.x, max.y, region.texture.x, region.texture.y];
        let of_bone = |bone: &BoneShape| {
            let BoneShape { center, radii, angle } = *bone;
            [center.x, center.y, radii.x, radii.y, angle]
        };
        let numbers = of_picture.into_iter().chain([height, spacing]);
        let numbers = numbers.chain(shapes.iter().flat_map(of_bone)).map(f32::to_bits).collect();
        let joints: Arc<[[u32; 2]]> = bones.pairs().collect();
        let key = Key { texture: ragdoll.texture.id(), flip, numbers, joints: joints.clone() };
        if let Some(known) = self.0.get(&key).and_then(Weak::upgrade) {
            return Some(known);
        }
        let silhouette = region.silhouette(image, &shapes, height);
        let binding = weights::bind_picture(&silhouette, height, spacing, &shapes, &joints);
        let skin = Arc::new(SharedSkin {
            binding: Arc::new(SkinBinding::new(&region, binding, shapes.len(), &joints)),
            texture: ragdoll.texture.clone(),
            drawn: OnceLock::new(),
            stale: AtomicBool::new(false),
        });
        self.0.retain(|_, skin| skin.strong_count() > 0);
        self.0.insert(key, Arc::downgrade(&skin));
        Some(skin)
    }

    /// Forgets what was made of a picture that has changed; whether anything was.
    pub fn forget(&mut self, texture: AssetId<Image>) -> bool {
        let before = self.0.len();
        self.0.retain(|key, skin| {
            if key.texture == texture
                && let Some(skin) = skin.upgrade()
            {
                skin.stale.store(true, Ordering::Relaxed);
            }
            key.texture != texture
        });
        self.0.len() < before
    }
}

/// Distance of vertices (m) for a picture of this height: a 48th of it, or less where a fifth of the bones
/// or more are thin, so that they have two vertices from axis to border.
fn default_spacing(height: f32, bones: &[BoneShape]) -> f32 {
    let mut thickness: Vec<f32> = bones.iter().map(BoneShape::thickness).collect();
    thickness.sort_by_key(|thickness| FloatOrd(*thickness));
    let thin = thickness.get(thickness.len() / 5).map_or(height, |thickness| 0.5 * thickness);
    let finest = height / FINEST;
    let spacing = (height / FINENESS).min(thin);
    if spacing > finest { spacing } else { finest }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square() -> SkinBinding {
        let positions = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]].map(Vec2::from);
        let binding = Binding {
            positions: positions.to_vec(),
            pixels: positions.to_vec(),
            triangles: vec![[0, 1, 2], [0, 2, 3]],
            joints: vec![[0, 0, 0, 0], [1, 0, 0, 0], [1, 2, 0, 0], [0, 1, 0, 0]],
            weights: vec![
                [1.0, 0.0, 0.0, 0.0],
                [1.0, 0.0, 0.0, 0.0],
                [0.75, 0.25, 0.0, 0.0],
                [0.5, 0.5, 0.0, 0.0],
            ],
        };
        let region =
            Region { rect: Rect::new(0.0, 0.0, 1.0, 1.0), texture: Vec2::ONE, flip: [false; 2] };
        SkinBinding::new(&region, binding, 3, &[])
    }

    #[test]
    fn vertices_go_with_their_bones_and_stay_inside_the_outline() {
        let binding = square();
        let motions = [
            Isometry2d::IDENTITY,
            Isometry2d::new(Vec2::new(3.0, 0.0), Rot2::FRAC_PI_2),
            Isometry2d::from_translation(Vec2::new(0.0, 8.0)),
        ];
        let scale = Vec2::new(2.0, 1.0);
        let at: Vec<Vec2> = binding.deform(&motions, scale).collect();
        let expected =
            [[0.0, 0.0], [3.0, 2.0], [0.75 * 2.0 + 0.25 * 2.0, 1.5 + 2.25], [0.5 * 2.0, 0.5]];
        for (at, expected) in at.iter().zip(expected.map(Vec2::from)) {
            assert!(at.distance(expected) < 1e-6, "{at} {expected}");
        }
        let corners: Vec<Vec2> = binding.outline(&motions, scale).collect();
        let low = corners.iter().copied().fold(Vec2::INFINITY, Vec2::min);
        let high = corners.iter().copied().fold(Vec2::NEG_INFINITY, Vec2::max);
        assert!(at.iter().all(|at| at.cmpge(low).all() && at.cmple(high).all()));
        // Fewer motions than bones: no panic.
        assert_eq!(binding.deform(&motions[..1], scale).count(), 4);
    }

    #[test]
    fn without_a_bone_its_triangles_are_gone_and_weights_are_of_sum_1() {
        let rest = square().without(|bone| bone != 2);
        assert_eq!(rest.triangles.len(), 2);
        assert_eq!(rest.weights[2], [1.0, 0.0, 0.0, 0.0]);
        let rest = square().without(|bone| bone != 1);
        assert!(rest.triangles.is_empty());
        assert_eq!(rest.weights[3], [1.0, 0.0, 0.0, 0.0]);
        assert_eq!(rest.mesh().indices().map(Indices::len), Some(3));
        assert_eq!(square().without(|_| true), square());
    }

    #[test]
    fn limbs_are_layers() {
        // A head 0 on a body 1 with two legs: 2, 4 and 3, 5; and a bone on its own.
        let joints = [[1, 3], [0, 1], [2, 4], [1, 2], [3, 5], [9, 1], [5, 3]];
        assert_eq!(layers(7, &joints), [0, 1, 2, 4, 3, 5, 6]);
        assert!(layers(0, &joints).is_empty());
    }

    #[test]
    fn triangles_are_in_the_order_of_the_bones_that_move_them_most() {
        let joints = [[2, 0, 0, 0], [0, 1, 0, 0], [1, 2, 0, 0]];
        let weights = [[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.75, 0.25, 0.0, 0.0]];
        assert_eq!(strongest(&[0, 1, 2], &joints, &weights), 1);
        assert_eq!(strongest(&[0, 0, 2], &joints, &weights), 2);
        assert_eq!(strongest(&[1], &joints, &weights), 0);
        assert_eq!(square().triangles, [[0, 2, 3], [0, 1, 2]]);
    }

    #[test]
    fn thin_bones_make_a_finer_mesh() {
        let bones = |thickness: f32| {
            let bone = |i: u32| BoneShape {
                center: Vec2::splat(i as f32),
                radii: Vec2::new(1.0, thickness),
                angle: 0.0,
            };
            (0..4).map(bone).collect::<Vec<_>>()
        };
        assert_eq!(default_spacing(4.8, &bones(0.5)), 0.1);
        assert_eq!(default_spacing(4.8, &bones(0.1)), 0.05);
        assert_eq!(default_spacing(4.8, &bones(1e-9)), 4.8 / FINEST);
        assert_eq!(default_spacing(4.8, &bones(f32::NAN)), 0.1);
        assert_eq!(default_spacing(4.8, &[]), 0.1);
    }
}
