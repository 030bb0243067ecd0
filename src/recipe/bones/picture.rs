//! Reading pictures.

use super::{BoneSet, BonesError, MaskSettings, Pixels, mask};
use bevy::{
    asset::RenderAssetUsages,
    image::TextureFormatPixelInfo,
    prelude::*,
    render::render_resource::{TextureDimension, TextureFormat},
};

/// A picture has no more pixels than this.
const MOST_PIXELS: u64 = 1 << 28;

/// The pixels of a picture; `what` names it in errors.
pub(in super::super) fn pixels(image: &Image, what: &'static str) -> Result<Pixels, BonesError> {
    let unreadable = |reason: String| BonesError::Unreadable { what, reason };
    // What is kept for the render world only is refused at once, not just after it has gone there.
    if !image.asset_usage.contains(RenderAssetUsages::MAIN_WORLD) {
        return Err(unreadable("it is kept in the render world only".into()));
    }
    let descriptor = &image.texture_descriptor;
    if descriptor.dimension != TextureDimension::D2 || descriptor.size.depth_or_array_layers != 1 {
        return Err(unreadable("it is not a single 2D picture".into()));
    }
    let size = image.size();
    let count = u64::from(size.x) * u64::from(size.y);
    if count == 0 || count > MOST_PIXELS {
        return Err(unreadable(format!("its size is {} x {}", size.x, size.y)));
    }
    let Some(data) = &image.data else { return Err(unreadable("its data is gone".into())) };
    let wanted = descriptor.format.pixel_size().map_or(0, |bytes| bytes as u64 * count);
    if wanted == 0 {
        return Err(unreadable(format!("its format is {:?}", descriptor.format)));
    }
    if (data.len() as u64) < wanted {
        return Err(unreadable(format!("it has {} bytes of {wanted}", data.len())));
    }
    let bytes = data.as_chunks::<4>().0.iter().take(count as usize);
    let rgba = match descriptor.format {
        TextureFormat::Rgba8Unorm | TextureFormat::Rgba8UnormSrgb => bytes.copied().collect(),
        TextureFormat::Bgra8Unorm | TextureFormat::Bgra8UnormSrgb => {
            bytes.map(|[b, g, r, a]| [*r, *g, *b, *a]).collect()
        }
        _ => {
            let at = |i: u64| {
                let color = image.get_color_at(i as u32 % size.x, i as u32 / size.x);
                color.map(|color| color.to_srgba().to_u8_array())
            };
            let read: Result<Vec<[u8; 4]>, _> = (0..count).map(at).collect();
            read.map_err(|error| unreadable(error.to_string()))?
        }
    };
    Ok(Pixels { size, rgba })
}

/// The part of a picture that `rect` names (pixels, y down), cut to whole pixels.
pub(in super::super) fn cut(pixels: Pixels, rect: Option<Rect>) -> Result<Pixels, BonesError> {
    let Some(rect) = rect else { return Ok(pixels) };
    let size = pixels.size;
    let inside = rect.min.cmpge(Vec2::ZERO).all() && rect.max.cmple(size.as_vec2()).all();
    let (min, max) = (rect.min.round().as_uvec2(), rect.max.round().as_uvec2());
    if !inside || !max.cmpgt(min).all() {
        return Err(BonesError::BadRect(size));
    }
    let rows = (min.y..max.y).flat_map(|y| {
        let row = (y * size.x) as usize;
        &pixels.rgba[row + min.x as usize..row + max.x as usize]
    });
    Ok(Pixels { size: max - min, rgba: rows.copied().collect() })
}

impl BoneSet {
    /// The bones that a mask shows; see [`from_pixels`](Self::from_pixels).
    ///
    /// # Errors
    ///
    /// As there, and where the picture is compressed, has layers, or is not kept in the main world.
    pub fn from_mask(image: &Image, settings: &MaskSettings) -> Result<Self, BonesError> {
        Ok(Self::new(mask::bones(&pixels(image, "mask of the bones")?, settings)?.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy::render::render_resource::Extent3d;

    fn image(format: TextureFormat, data: Vec<u8>) -> Image {
        let size = Extent3d { width: 2, height: 1, depth_or_array_layers: 1 };
        Image::new(size, TextureDimension::D2, data, format, RenderAssetUsages::default())
    }

    #[test]
    fn formats_give_the_same_pixels() {
        let rgba = vec![255, 0, 51, 255, 0, 0, 0, 0];
        let expected = vec![[255, 0, 51, 255], [0; 4]];
        let read = pixels(&image(TextureFormat::Rgba8UnormSrgb, rgba), "mask").unwrap();
        assert_eq!(read.rgba, expected);
        let bgra = image(TextureFormat::Bgra8UnormSrgb, vec![51, 0, 255, 255, 0, 0, 0, 0]);
        assert_eq!(pixels(&bgra, "mask").unwrap().rgba, expected);
        let grey = image(TextureFormat::R8Unorm, vec![255, 0]);
        assert_eq!(pixels(&grey, "mask").unwrap().rgba[0][0], 255);
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let good = image(TextureFormat::Rgba8UnormSrgb, vec![0; 8]);
        let mut gone = good.clone();
        gone.data = None;
        let mut render = good.clone();
        render.asset_usage = RenderAssetUsages::RENDER_WORLD;
        let mut compressed = good.clone();
        compressed.texture_descriptor.format = TextureFormat::Bc7RgbaUnormSrgb;
        let mut short = good.clone();
        short.data = Some(vec![0; 7]);
        let mut solid = good.clone();
        solid.texture_descriptor.dimension = TextureDimension::D3;
        for (bad, says) in [
            (gone, "gone"),
            (render, "render world"),
            (compressed, "Bc7"),
            (short, "7 bytes of 8"),
            (solid, "2D"),
        ] {
            let error = pixels(&bad, "mask").unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("MAIN_WORLD"), "{error}");
        }
    }

    #[test]
    fn a_rectangle_is_cut_out_if_it_is_inside() {
        let whole =
            Pixels { size: UVec2::new(3, 2), rgba: (0..6).map(|i| [i, 0, 0, 255]).collect() };
        let rect = Rect { min: Vec2::new(1.0, 0.0), max: Vec2::new(3.0, 1.0) };
        let part = cut(whole.clone(), Some(rect)).unwrap();
        assert_eq!((part.size, part.rgba[0][0], part.rgba[1][0]), (UVec2::new(2, 1), 1, 2));
        for (min, max) in [
            (Vec2::new(-1.0, 0.0), Vec2::ONE),
            (Vec2::ZERO, Vec2::new(4.0, 1.0)),
            (Vec2::ONE, Vec2::ONE),
            (Vec2::NAN, Vec2::ONE),
        ] {
            assert!(cut(whole.clone(), Some(Rect { min, max })).is_err(), "{min} {max}");
        }
    }
}
