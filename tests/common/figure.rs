//! A figure of sixteen bones with its arms held out, as bones and as pictures.

use bevy::{
    asset::RenderAssetUsages,
    prelude::*,
    render::render_resource::{Extent3d, TextureDimension, TextureFormat},
};
use bevy_pliant::prelude::*;

/// Name, centre, semi-axes (picture heights).
const BONES: [(&str, [f32; 4]); 16] = [
    ("head", [0.0, 0.4, 0.08, 0.085]),
    ("chest", [0.0, 0.22, 0.11, 0.085]),
    ("belly", [0.0, 0.09, 0.09, 0.06]),
    ("pelvis", [0.0, -0.02, 0.1, 0.06]),
    ("upper arm l", [-0.19, 0.26, 0.085, 0.035]),
    ("forearm l", [-0.34, 0.26, 0.075, 0.03]),
    ("hand l", [-0.445, 0.26, 0.04, 0.035]),
    ("upper arm r", [0.19, 0.26, 0.085, 0.035]),
    ("forearm r", [0.34, 0.26, 0.075, 0.03]),
    ("hand r", [0.445, 0.26, 0.04, 0.035]),
    ("thigh l", [-0.055, -0.16, 0.045, 0.09]),
    ("shin l", [-0.06, -0.33, 0.04, 0.09]),
    ("foot l", [-0.08, -0.445, 0.055, 0.025]),
    ("thigh r", [0.055, -0.16, 0.045, 0.09]),
    ("shin r", [0.06, -0.33, 0.04, 0.09]),
    ("foot r", [0.08, -0.445, 0.055, 0.025]),
];

/// Which of them belong together: the fifteen joints of a tree.
pub const JOINTS: [[&str; 2]; 15] = [
    ["head", "chest"],
    ["chest", "belly"],
    ["belly", "pelvis"],
    ["chest", "upper arm l"],
    ["upper arm l", "forearm l"],
    ["forearm l", "hand l"],
    ["chest", "upper arm r"],
    ["upper arm r", "forearm r"],
    ["forearm r", "hand r"],
    ["pelvis", "thigh l"],
    ["thigh l", "shin l"],
    ["shin l", "foot l"],
    ["pelvis", "thigh r"],
    ["thigh r", "shin r"],
    ["shin r", "foot r"],
];

/// Side of the pictures (pixels).
pub const SIDE: u32 = 200;

/// The bones.
pub fn bones() -> Vec<Bone> {
    let bone = |(name, [x, y, a, b]): (&str, [f32; 4])| {
        Bone::new(Vec2::new(x, y), Vec2::new(a, b)).named(name)
    };
    BONES.map(bone).to_vec()
}

/// A picture of [`SIDE`] pixels a side, of what `color` says of each place (picture heights, y up).
pub fn picture(color: impl Fn(Vec2) -> [u8; 4]) -> Image {
    let place = |i: u32| {
        let pixel = Vec2::new((i % SIDE) as f32, (i / SIDE) as f32) + 0.5;
        (pixel / SIDE as f32 - 0.5) * Vec2::new(1.0, -1.0)
    };
    let data = (0..SIDE * SIDE).flat_map(|i| color(place(i))).collect();
    let size = Extent3d { width: SIDE, height: SIDE, depth_or_array_layers: 1 };
    let format = TextureFormat::Rgba8UnormSrgb;
    Image::new(size, TextureDimension::D2, data, format, RenderAssetUsages::default())
}

/// The last bone that a place is in, when each is drawn `grown` times as large.
pub fn bone_at(place: Vec2, grown: f32) -> Option<usize> {
    let inside = |(_, [x, y, a, b]): &(&str, [f32; 4])| {
        ((place - Vec2::new(*x, *y)) / (grown * Vec2::new(*a, *b))).length_squared() <= 1.0
    };
    BONES.iter().rposition(inside)
}

/// What is drawn of it: all bones and what is between them.
pub fn texture() -> Image {
    picture(|place| {
        let shade = |bone| [250 - 10 * bone as u8, 120, 40 + 12 * bone as u8, 255];
        bone_at(place, 1.2).map_or([0; 4], shade)
    })
}

/// The mask of its bones: each a blot of a colour of its own, smaller than what is drawn.
pub fn mask() -> Image {
    picture(|place| bone_at(place, 0.85).map_or([0; 4], |bone| [255, 15 * bone as u8, 100, 255]))
}
