//! The palette: what characters have of their own, in one texture that all of them share.
//!
//! ```text
//! texel of a character   r         g        b        a
//!   0                    tint, linear, with alpha
//!   1                    origin x, y (m)    scale x, y
//!   2 + bone             cos, sin           x, y (m)
//! ```
//!
//! A bone takes a point p of the scaled rest mesh to Rp + (x, y), relative to the origin. Each character has
//! a run of texels, row after row; its `MeshTag` is the first of them. The texture has a fixed size, so
//! that writing it is a copy; where it is too small, one of twice the size takes its place.

use alloc::sync::Arc;
use bevy::{
    asset::RenderAssetUsages,
    prelude::*,
    render::render_resource::{Extent3d, TextureDimension, TextureFormat},
};
use std::sync::Mutex;

/// Texels in a row.
const COLUMNS: u32 = 1024;
/// Rows at first.
const FIRST_ROWS: u32 = 4;
/// Rows at most: what WebGL2 is sure to have.
const MOST_ROWS: u32 = 2048;
/// Texels of a character beside its bones.
const HEADER: u32 = 2;

/// Tints and poses of characters, as the GPU reads them.
#[derive(Resource, Clone, Debug, Default)]
pub(in crate::skin) struct Palette {
    /// The texture, once there is a character.
    pub(super) image: Handle<Image>,
    rows: u32,
    /// Runs of texels that nobody has, in order, none touching the next.
    free: Vec<Run>,
    /// Runs whose characters are gone since a run was last taken.
    returned: Arc<Mutex<Vec<Run>>>,
}

/// A run that a character has, until this is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    pub run: Run,
    returned: Arc<Mutex<Vec<Run>>>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Ok(mut returned) = self.returned.lock() {
            returned.push(self.run);
        }
    }
}

/// Texels of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The first.
    pub first: u32,
    /// How many.
    pub count: u32,
}

/// What the GPU must know of a character.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub tint: LinearRgba,
    pub origin: Vec2,
    pub scale: Vec2,
    pub bones: &'a [Isometry2d],
}

impl Palette {
    /// Lends a run to a character of so many bones. `None` if there are too many characters.
    pub(super) fn lend(&mut self, bones: usize) -> Option<Lease> {
        let returned = self.returned.lock().map(|mut runs| core::mem::take(&mut *runs));
        returned.unwrap_or_default().into_iter().for_each(|run| self.give_back(run));
        Some(Lease { run: self.take(bones)?, returned: self.returned.clone() })
    }

    fn take(&mut self, bones: usize) -> Option<Run> {
        let count = u32::try_from(bones).ok()?.checked_add(HEADER)?;
        if count > COLUMNS * MOST_ROWS {
            return None;
        }
        loop {
            if let Some(index) = self.free.iter().position(|run| run.count >= count) {
                let run = &mut self.free[index];
                let taken = Run { first: run.first, count };
                run.first += count;
                run.count -= count;
                if run.count == 0 {
                    self.free.remove(index);
                }
                return Some(taken);
            }
            let rows = (self.rows * 2).max(FIRST_ROWS);
            if rows > MOST_ROWS {
                return None;
            }
            let old = core::mem::replace(&mut self.rows, rows);
            self.give_back(Run { first: old * COLUMNS, count: (rows - old) * COLUMNS });
        }
    }

    fn give_back(&mut self, run: Run) {
        let index = self.free.partition_point(|free| free.first < run.first);
        self.free.insert(index, run);
        let touch = |free: &[Run], i: usize| {
            free.get(i + 1).is_some_and(|next| free[i].first + free[i].count == next.first)
        };
        if touch(&self.free, index) {
            self.free[index].count += self.free.remove(index + 1).count;
        }
        if index > 0 && touch(&self.free, index - 1) {
            self.free[index - 1].count += self.free.remove(index).count;
        }
    }

    /// Makes the texture of the size that it must have; whether it is another than before.
    pub(super) fn fit(&mut self, images: &mut Assets<Image>) -> bool {
        if self.rows == 0 || images.get(&self.image).is_some_and(|i| i.height() == self.rows) {
            return false;
        }
        let mut image = Image::new_fill(
            Extent3d { width: COLUMNS, height: self.rows, depth_or_array_layers: 1 },
            TextureDimension::D2,
            &[0; 16],
            TextureFormat::Rgba32Float,
            RenderAssetUsages::default(),
        );
        let old = images.get(&self.image).and_then(|image| image.data.as_ref());
        if let (Some(old), Some(new)) = (old, &mut image.data)
            && let Some(start) = new.get_mut(..old.len())
        {
            start.copy_from_slice(old);
        }
        // A texture that changes its size would go on being read by its old view.
        self.image = images.add(image);
        true
    }
}

/// Whether the bytes of the palette's texture are other than an entry.
pub(super) fn differs(bytes: &[u8], run: Run, entry: Entry<'_>) -> bool {
    let texels = bytes.as_chunks::<16>().0.iter().skip(run.first as usize);
    texels.zip(entry.texels()).any(|(old, new)| *old != to_bytes(new))
}

/// Writes an entry into the bytes of the palette's texture.
pub(super) fn write(bytes: &mut [u8], run: Run, entry: Entry<'_>) {
    let texels = bytes.as_chunks_mut::<16>().0.iter_mut().skip(run.first as usize);
    for (old, new) in texels.zip(entry.texels().take(run.count as usize)) {
        *old = to_bytes(new);
    }
}

impl<'a> Entry<'a> {
    fn texels(self) -> impl Iterator<Item = [f32; 4]> + use<'a> {
        let place = [self.origin.x, self.origin.y, self.scale.x, self.scale.y];
        let bone = |motion: &Isometry2d| {
            let Isometry2d { rotation: Rot2 { cos, sin }, translation } = *motion;
            [cos, sin, translation.x, translation.y]
        };
        [self.tint.to_f32_array(), place].into_iter().chain(self.bones.iter().map(bone))
    }
}

fn to_bytes(texel: [f32; 4]) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (four, value) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(texel) {
        *four = value.to_le_bytes();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_never_overlap_and_all_comes_back() {
        let mut palette = Palette::default();
        let mut taken: Vec<Run> = (0..700).filter_map(|i| palette.take(i % 37)).collect();
        assert_eq!(taken.len(), 700);
        let mut sorted = taken.clone();
        sorted.sort_by_key(|run| run.first);
        assert!(sorted.windows(2).all(|w| w[0].first + w[0].count <= w[1].first));
        // In an order of no order.
        for i in 0..taken.len() {
            let run = taken.swap_remove(i * 7919 % taken.len());
            palette.give_back(run);
            if i % 3 == 0 {
                taken.push(palette.take(5).unwrap());
                taken.swap(0, i % 5);
            }
        }
        taken.into_iter().for_each(|run| palette.give_back(run));
        let all = Run { first: 0, count: palette.rows * COLUMNS };
        assert_eq!(palette.free, [all]);
    }

    #[test]
    fn the_run_of_a_character_that_is_gone_is_lent_again() {
        let mut palette = Palette::default();
        let kept = palette.lend(3).unwrap();
        let run = palette.lend(7).unwrap().run;
        assert_ne!(kept.run.first, run.first);
        assert_eq!(palette.lend(7).unwrap().run, run);
        drop(kept);
        assert_eq!(palette.lend(1).unwrap().run.first, 0);
        assert_eq!(palette.rows, FIRST_ROWS);
    }

    #[test]
    fn too_many_bones_are_refused() {
        let mut palette = Palette::default();
        assert_eq!(palette.take((COLUMNS * MOST_ROWS) as usize), None);
        assert_eq!(palette.take(usize::MAX), None);
        assert_eq!(palette.rows, 0);
        assert!(palette.take(300).is_some());
    }

    #[test]
    fn growing_keeps_what_was_written() {
        let (mut palette, mut images) = (Palette::default(), Assets::<Image>::default());
        assert!(!palette.fit(&mut images));
        let bones = [Isometry2d::new(Vec2::new(3.0, 4.0), Rot2::FRAC_PI_2)];
        let entry = Entry {
            tint: LinearRgba::RED,
            origin: Vec2::ONE,
            scale: Vec2::splat(2.0),
            bones: &bones,
        };
        let first = palette.take(5).unwrap();
        let run = palette.take(1).unwrap();
        assert!(palette.fit(&mut images));
        assert!(!palette.fit(&mut images));
        let small = palette.image.clone();
        let mut image = images.get_mut(&small).unwrap();
        let bytes = image.data.as_deref_mut().unwrap();
        assert!(differs(bytes, run, entry));
        write(bytes, run, entry);
        assert!(!differs(bytes, run, entry));
        drop(image);
        assert!(palette.take(5000).is_some());
        assert!(palette.fit(&mut images));
        assert_ne!(palette.image, small);
        let bytes = images.get(&palette.image).unwrap().data.as_ref().unwrap();
        assert_eq!(bytes.len() as u32, palette.rows * COLUMNS * 16);
        assert!(!differs(bytes, run, entry));
        assert_eq!(first, Run { first: 0, count: 7 });
        let texel = &bytes[run.first as usize * 16 + 32..][..16];
        let floats: Vec<f32> =
            texel.as_chunks::<4>().0.iter().map(|f| f32::from_le_bytes(*f)).collect();
        assert!(floats[0].abs() < 1e-6);
        assert_eq!(floats[1..], [1.0, 3.0, 4.0]);
    }
}
