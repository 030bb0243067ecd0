//! The picture of a character: what part of its texture it is, and how opaque.

use super::{
    grid::{SMOOTH_REACH, Silhouette},
    reach::BoneShape,
};
use bevy::{
    image::TextureFormatPixelInfo,
    prelude::*,
    render::render_resource::{TextureDimension, TextureFormat},
};

/// How much larger than its bones a character is taken to be where its picture cannot be read.
const FLESH: f32 = 1.3;

/// A part of a texture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// Its rectangle (pixels, y down).
    pub rect: Rect,
    /// Size of the whole texture (pixels).
    pub texture: Vec2,
    /// Mirrored left to right, and top to bottom.
    pub flip: [bool; 2],
}

impl Region {
    /// All of a texture, or a part; `None` where that has no area.
    pub fn new(image: &Image, rect: Option<Rect>, flip: [bool; 2]) -> Option<Self> {
        let texture = image.size_f32();
        let whole = Rect::from_corners(Vec2::ZERO, texture);
        // What lies beside the texture has nothing to show.
        let rect = rect.unwrap_or(whole);
        if !(rect.min.is_finite() && rect.max.is_finite()) {
            return None;
        }
        let rect = rect.intersect(whole);
        let size = rect.size();
        // A grid over more than any texture would only take time.
        let is_sound = size.cmpgt(Vec2::ZERO).all() && size.max_element() < 1e5;
        is_sound.then_some(Self { rect, texture, flip })
    }

    /// From a place on the picture as drawn (pixels, y down) to one on the texture (pixels).
    pub fn on_texture(&self, pixel: Vec2) -> Vec2 {
        let size = self.rect.size();
        let [x, y] = self.flip;
        let mirrored = |at: f32, size: f32, flip: bool| if flip { size - at } else { at };
        self.rect.min + Vec2::new(mirrored(pixel.x, size.x, x), mirrored(pixel.y, size.y, y))
    }

    /// Texture coordinates of a place on the picture as drawn.
    pub fn uv(&self, pixel: Vec2) -> Vec2 {
        self.on_texture(pixel) / self.texture
    }

    /// How opaque it is. Where the image's pixels are not to be had (compressed, or kept by the render world
    /// alone) all of it counts as faintly there, and the ellipses of the bones, somewhat larger, as flesh.
    pub fn silhouette(&self, image: &Image, bones: &[BoneShape], height: f32) -> Silhouette {
        let size = self.rect.size();
        let [columns, rows] = size.ceil().to_array().map(|n| n as usize);
        // Smaller copies of a texture blend pixels further apart.
        let is_alone = image.texture_descriptor.mip_level_count < 2;
        let reach = if is_alone { SMOOTH_REACH } else { 2.0 * SMOOTH_REACH };
        let mut silhouette = Silhouette { size, columns, alpha: Vec::new(), reach };
        let alphas = Alphas::new(image);
        for row in 0..rows {
            for column in 0..columns {
                let low = Vec2::new(column as f32, row as f32);
                let alpha = match &alphas {
                    Some(alphas) => self.alpha(alphas, low),
                    None => {
                        let at = silhouette.place(low + 0.5, height);
                        let is_flesh = |bone: &BoneShape| {
                            BoneShape { radii: FLESH * bone.radii, ..*bone }.distance(at) == 0.0
                        };
                        if bones.iter().any(is_flesh) { 255 } else { 2 }
                    }
                };
                silhouette.alpha.push(alpha);
            }
        }
        silhouette
    }

    /// The greatest alpha under a pixel of the picture, which need not be one of the texture's.
    fn alpha(&self, alphas: &Alphas, low: Vec2) -> u8 {
        let (a, b) = (self.on_texture(low), self.on_texture(low + 1.0));
        let (low, high) = (a.min(b), a.max(b));
        // Beyond its border a texture goes on with its last pixels.
        let last = self.texture - 1.0;
        let from = (low + 1e-3).floor().clamp(Vec2::ZERO, last).as_uvec2();
        let to = (high - 1e-3).floor().clamp(Vec2::ZERO, last).as_uvec2();
        let mut greatest = 0;
        for y in from.y..=to.y {
            for x in from.x..=to.x {
                greatest = alphas.at(x, y).max(greatest);
            }
        }
        greatest
    }
}

/// Reads alpha off an image.
struct Alphas<'a> {
    image: &'a Image,
    /// The pixels, where alpha is the last of four bytes.
    bytes: Option<&'a [u8]>,
}

impl<'a> Alphas<'a> {
    fn new(image: &'a Image) -> Option<Self> {
        let descriptor = &image.texture_descriptor;
        let (format, size) = (descriptor.format, descriptor.size);
        let pixels = size.width as usize * size.height as usize;
        let data = image.data.as_deref()?;
        // Too little data would be a panic in Bevy.
        let is_whole = data.len() >= pixels.checked_mul(format.pixel_size().ok()?)?;
        let is_flat = descriptor.dimension == TextureDimension::D2 && pixels > 0;
        if !(is_whole && is_flat && image.get_color_at(0, 0).is_ok()) {
            return None;
        }
        let bytes = matches!(
            format,
            TextureFormat::Rgba8UnormSrgb
                | TextureFormat::Rgba8Unorm
                | TextureFormat::Bgra8UnormSrgb
                | TextureFormat::Bgra8Unorm
        );
        Some(Self { image, bytes: bytes.then_some(data) })
    }

    fn at(&self, x: u32, y: u32) -> u8 {
        if let Some(bytes) = self.bytes {
            let index = y as usize * self.image.width() as usize + x as usize;
            return bytes.get(4 * index + 3).copied().unwrap_or(0);
        }
        let color = self.image.get_color_at(x, y);
        color.map_or(0, |color| (color.alpha().clamp(0.0, 1.0) * 255.0).round() as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy::{asset::RenderAssetUsages, render::render_resource::Extent3d};

    /// An image whose alpha is 10 times column plus row.
    fn image(format: TextureFormat) -> Image {
        let size = Extent3d { width: 8, height: 6, depth_or_array_layers: 1 };
        let mut image = Image::new_fill(
            size,
            TextureDimension::D2,
            &vec![0; format.pixel_size().unwrap()],
            format,
            RenderAssetUsages::default(),
        );
        for y in 0..6 {
            for x in 0..8 {
                let alpha = f32::from((10 * x + y) as u8) / 255.0;
                image.set_color_at(x, y, Color::WHITE.with_alpha(alpha)).unwrap();
            }
        }
        image
    }

    fn read(image: &Image, rect: Option<Rect>, flip: [bool; 2]) -> Silhouette {
        Region::new(image, rect, flip).unwrap().silhouette(image, &[], 1.0)
    }

    #[test]
    fn alpha_is_read_from_all_formats_that_bevy_reads() {
        for format in [TextureFormat::Rgba8UnormSrgb, TextureFormat::Rgba32Float] {
            let whole = read(&image(format), None, [false; 2]);
            assert_eq!(whole.columns, 8);
            assert!(whole.alpha.iter().enumerate().all(|(i, a)| *a as usize == i % 8 * 10 + i / 8));
        }
        let opaque = read(&image(TextureFormat::R8Unorm), None, [false; 2]);
        assert!(opaque.alpha.iter().all(|alpha| *alpha == 255));
    }

    #[test]
    fn a_region_is_cut_out_and_mirrored() {
        let image = image(TextureFormat::Rgba8UnormSrgb);
        let rect = Some(Rect::new(2.0, 1.0, 5.0, 3.0));
        assert_eq!(read(&image, rect, [false, false]).alpha, [21, 31, 41, 22, 32, 42]);
        assert_eq!(read(&image, rect, [true, false]).alpha, [41, 31, 21, 42, 32, 22]);
        assert_eq!(read(&image, rect, [false, true]).alpha, [22, 32, 42, 21, 31, 41]);
        // Between pixels the more opaque counts, and beyond the border the last.
        let between = Some(Rect::new(5.5, 4.0, 8.5, 5.0));
        assert_eq!(read(&image, between, [false, false]).alpha, [64, 74, 74]);
        let region = Region::new(&image, rect, [true, true]).unwrap();
        assert_eq!(region.uv(Vec2::ZERO), Vec2::new(5.0 / 8.0, 3.0 / 6.0));
        assert_eq!(region.uv(Vec2::new(3.0, 2.0)), Vec2::new(2.0 / 8.0, 1.0 / 6.0));
    }

    #[test]
    fn an_image_that_cannot_be_read_is_kept_whole_with_the_bones_as_flesh() {
        let mut image = image(TextureFormat::Rgba8UnormSrgb);
        for data in [None, Some(vec![255; 7])] {
            image.data = data;
            let bone =
                BoneShape { center: Vec2::ZERO, radii: Vec2::splat(0.2), angle: f32::default() };
            let region = Region::new(&image, None, [false; 2]).unwrap();
            let silhouette = region.silhouette(&image, &[bone], 1.0);
            assert_eq!((silhouette.alpha[0], silhouette.alpha[3 * 8 + 4]), (2, 255));
        }
    }

    #[test]
    fn regions_without_area_are_none() {
        let image = image(TextureFormat::Rgba8UnormSrgb);
        let nan = Rect { min: Vec2::ZERO, max: Vec2::splat(f32::NAN) };
        let huge = Rect { min: Vec2::ZERO, max: Vec2::splat(1e30) };
        let beside = Rect { min: Vec2::splat(100.0), max: Vec2::splat(200.0) };
        for rect in [nan, beside, Rect { min: Vec2::ONE, max: Vec2::ONE }] {
            assert_eq!(Region::new(&image, Some(rect), [false; 2]), None);
        }
        let whole = Region::new(&image, None, [false; 2]);
        assert_eq!(Region::new(&image, Some(huge), [false; 2]), whole);
    }
}
