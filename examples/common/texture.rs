//! Tiled textures with mip levels.
//!
//! Bevy loads a PNG as it is. Repeated many times over a cloth, it would shimmer without smaller
//! levels to sample from; here they are made when the picture arrives.

use bevy::{
    image::{
        ImageAddressMode, ImageFilterMode, ImageLoaderSettings, ImageSampler,
        ImageSamplerDescriptor,
    },
    platform::collections::HashMap,
    prelude::*,
    render::renderer::RenderAdapterInfo,
};

use super::headless::draws_in_software;

/// What the texels of a texture are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texels {
    /// sRGB colour.
    Color,
    /// Unit vectors, or other linear data.
    Linear,
}

/// Textures that await their mip levels.
#[derive(Resource, Default, Deref)]
pub struct PendingMipmaps(HashMap<AssetId<Image>, (Handle<Image>, Texels)>);

/// Makes mip levels for what [`load_tiled`] loads, in `Update`.
pub struct MipmapPlugin;

impl Plugin for MipmapPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<PendingMipmaps>().add_systems(Update, make_mipmaps);
    }
}

/// Loads an 8-bit picture as a texture that repeats, with mip levels and anisotropic filtering.
pub fn load_tiled(
    server: &AssetServer,
    pending: &mut PendingMipmaps,
    path: &'static str,
    texels: Texels,
) -> Handle<Image> {
    let handle = server
        .load_builder()
        .with_settings(move |settings: &mut ImageLoaderSettings| {
            settings.is_srgb = texels == Texels::Color;
        })
        .load(path);
    pending.0.insert(handle.id(), (handle.clone(), texels));
    handle
}

/// Adds a picture made in code, like one that [`load_tiled`] loads.
pub fn add_tiled(
    images: &mut Assets<Image>,
    pending: &mut PendingMipmaps,
    image: Image,
    texels: Texels,
) -> Handle<Image> {
    let handle = images.add(image);
    pending.0.insert(handle.id(), (handle.clone(), texels));
    handle
}

fn make_mipmaps(
    mut pending: ResMut<PendingMipmaps>,
    mut images: ResMut<Assets<Image>>,
    server: Res<AssetServer>,
    adapter: Option<Res<RenderAdapterInfo>>,
) {
    if pending.is_empty() {
        return;
    }
    // Mesa's software renderer scatters stray texels where it filters anisotropically (seen in 22.3).
    let in_software = adapter.is_some_and(|adapter| draws_in_software(&adapter));
    let sampler = ImageSampler::Descriptor(ImageSamplerDescriptor {
        address_mode_u: ImageAddressMode::Repeat,
        address_mode_v: ImageAddressMode::Repeat,
        mag_filter: ImageFilterMode::Linear,
        min_filter: ImageFilterMode::Linear,
        mipmap_filter: ImageFilterMode::Linear,
        anisotropy_clamp: if in_software { 1 } else { 16 },
        ..default()
    });
    pending.0.retain(|id, (_, texels)| {
        if let Some(mut image) = images.get_mut(*id) {
            add_levels(&mut image, *texels);
            image.sampler = sampler.clone();
            return false;
        }
        !server.load_state(*id).is_failed()
    });
}

/// Appends halved levels, down to one texel, to an RGBA image of 8 bits a channel.
fn add_levels(image: &mut Image, texels: Texels) {
    let (mut width, mut height) = (image.width() as usize, image.height() as usize);
    let Some(data) = &mut image.data else { return };
    if data.len() != width * height * 4 {
        return;
    }
    let mut level: Vec<[f32; 4]> =
        data.chunks_exact(4).map(|t| core::array::from_fn(|c| decode(t[c], c, texels))).collect();
    let mut levels = 1;
    while width > 1 || height > 1 {
        level = halve(&level, width, height);
        (width, height) = ((width / 2).max(1), (height / 2).max(1));
        levels += 1;
        for texel in &level {
            data.extend((0..4).map(|c| encode(texel[c], c, texels)));
        }
    }
    image.texture_descriptor.mip_level_count = levels;
}

/// The mean of each two by two texels.
fn halve(level: &[[f32; 4]], width: usize, height: usize) -> Vec<[f32; 4]> {
    let (w, h) = ((width / 2).max(1), (height / 2).max(1));
    let at = |x: usize, y: usize| level[y.min(height - 1) * width + x.min(width - 1)];
    let mut half = Vec::with_capacity(w * h);
    for y in 0..h {
        for x in 0..w {
            let (x, y) = (2 * x, 2 * y);
            let corners = [at(x, y), at(x + 1, y), at(x, y + 1), at(x + 1, y + 1)];
            half.push(core::array::from_fn(|c| {
                corners.iter().map(|texel| texel[c]).sum::<f32>() / 4.0
            }));
        }
    }
    half
}

fn decode(byte: u8, channel: usize, texels: Texels) -> f32 {
    let x = f32::from(byte) / 255.0;
    if texels == Texels::Color && channel < 3 { x.powf(2.2) } else { x }
}

fn encode(x: f32, channel: usize, texels: Texels) -> u8 {
    let x = if texels == Texels::Color && channel < 3 { x.powf(1.0 / 2.2) } else { x };
    (x * 255.0 + 0.5) as u8
}
