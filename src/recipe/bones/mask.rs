//! From a picture to ellipses: blots of pixels, and their moments.
//!
//! A blot is a set of bone pixels that hang together by their sides or corners (8-connected). With n its
//! number of pixels and x, y their centres, the ellipse of the same second moments is
//!
//! ```text
//! μ20 = Σx²/n − x̄² + 1/12   μ02 likewise   μ11 = Σxy/n − x̄ȳ      1/12: a pixel has an extent
//! λ±  = (μ20 + μ02 ± √((μ20 − μ02)² + 4μ11²))/2
//! a = 2√λ₊   b = 2√λ₋   angle = ½ atan2(2μ11, μ20 − μ02)
//! ```

use super::{Bone, BonesError, MAX_BONES, MaskKind, MaskSettings};
use bevy::math::{UVec2, Vec2, ops};

/// More specks than this are an error.
pub(super) const MAX_SPECKS: u32 = 64;

/// Colours of neighbouring pixels that differ by no more than this, of 255, are one colour.
const SAME_COLOUR: u8 = 8;

/// A picture: sRGB colours and alpha, row by row from the top.
#[derive(Clone, Debug)]
pub(crate) struct Pixels {
    pub size: UVec2,
    pub rgba: Vec<[u8; 4]>,
}

/// Whether a pixel of this alpha counts as drawn.
pub(crate) const fn is_opaque(pixel: [u8; 4]) -> bool {
    pixel[3] > 127
}

/// Luma (0 to 255).
fn luma([r, g, b, _]: [u8; 4]) -> f32 {
    0.2126 * f32::from(r) + 0.7152 * f32::from(g) + 0.0722 * f32::from(b)
}

fn is_black([r, g, b, _]: [u8; 4]) -> bool {
    r.max(g).max(b) <= SAME_COLOUR
}

fn is_grey([r, g, b, _]: [u8; 4]) -> bool {
    r.max(g).max(b) - r.min(g).min(b) <= SAME_COLOUR
}

fn is_same_colour(p: [u8; 4], q: [u8; 4]) -> bool {
    (0..3).all(|i| p[i].abs_diff(q[i]) <= SAME_COLOUR)
}

/// What `Auto` means for this picture.
fn resolve(kind: MaskKind, pixels: &Pixels) -> MaskKind {
    if kind != MaskKind::Auto {
        return kind;
    }
    let (mut dark, mut bright) = (false, false);
    for &pixel in pixels.rgba.iter().filter(|p| is_opaque(**p)) {
        if !is_grey(pixel) {
            return MaskKind::Color;
        }
        dark |= luma(pixel) <= 127.5;
        bright |= luma(pixel) > 127.5;
    }
    if dark && bright { MaskKind::Bright } else { MaskKind::Alpha }
}

/// Exact sums over the pixels of a blot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Blot {
    pub count: i128,
    pub x: i128,
    pub y: i128,
    pub xx: i128,
    pub yy: i128,
    pub xy: i128,
}

impl Blot {
    fn add(&mut self, x: u32, y: u32) {
        let (x, y) = (i128::from(x), i128::from(y));
        self.count += 1;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.yy += y * y;
        self.xy += x * y;
    }

    /// The ellipse of the same moments, in pixels, y down: centre, semi-axes, angle.
    pub fn ellipse(&self) -> (Vec2, Vec2, f32) {
        let n = (self.count as f64).max(1.0);
        // n²μ is a whole number: exact where a difference of squares would lose digits.
        let moment = |ab: i128, a: i128, b: i128| (self.count * ab - a * b) as f64 / (n * n);
        let pixel = 1.0 / 12.0;
        let m20 = moment(self.xx, self.x, self.x) + pixel;
        let m02 = moment(self.yy, self.y, self.y) + pixel;
        let m11 = moment(self.xy, self.x, self.y);
        let swing = ((m20 - m02) * (m20 - m02) + 4.0 * m11 * m11).sqrt();
        let axis = |sign: f64| 2.0 * (0.5 * (m20 + m02 + sign * swing)).max(pixel).sqrt();
        let center = Vec2::new((self.x as f64 / n) as f32, (self.y as f64 / n) as f32);
        let angle = 0.5 * ops::atan2((2.0 * m11) as f32, (m20 - m02) as f32);
        (center, Vec2::new(axis(1.0) as f32, axis(-1.0) as f32), angle)
    }
}

/// The blots of a picture, in the order of their first pixels: top to bottom, left to right.
pub(crate) fn blots(pixels: &Pixels, kind: MaskKind) -> Vec<Blot> {
    let kind = resolve(kind, pixels);
    let (width, height) = (pixels.size.x, pixels.size.y);
    let is_bone = |pixel: [u8; 4]| {
        is_opaque(pixel)
            && match kind {
                MaskKind::Color => !is_black(pixel),
                MaskKind::Bright => luma(pixel) > 127.5,
                MaskKind::Alpha | MaskKind::Auto => true,
            }
    };
    let mut left: Vec<bool> = pixels.rgba.iter().map(|p| is_bone(*p)).collect();
    let mut blots = Vec::new();
    let mut open: Vec<(u32, u32)> = Vec::new();
    for first in 0..left.len() {
        if !left[first] {
            continue;
        }
        left[first] = false;
        open.push((first as u32 % width, first as u32 / width));
        let mut blot = Blot::default();
        while let Some((x, y)) = open.pop() {
            blot.add(x, y);
            let here = pixels.rgba[(y * width + x) as usize];
            for ny in y.saturating_sub(1)..=(y + 1).min(height - 1) {
                for nx in x.saturating_sub(1)..=(x + 1).min(width - 1) {
                    let index = (ny * width + nx) as usize;
                    let joined =
                        kind != MaskKind::Color || is_same_colour(here, pixels.rgba[index]);
                    if left[index] && joined {
                        left[index] = false;
                        open.push((nx, ny));
                    }
                }
            }
        }
        blots.push(blot);
    }
    blots
}

/// The bones that a mask shows, and how many specks are left out.
pub(crate) fn bones(
    pixels: &Pixels,
    settings: &MaskSettings,
) -> Result<(Vec<Bone>, u32), BonesError> {
    let blots = blots(pixels, settings.kind);
    let least = settings.least_pixels.max(1);
    let is_speck = |blot: &&Blot| blot.count < i128::from(least);
    let specks = blots.iter().filter(is_speck).count() as u32;
    let Some(largest) = blots.iter().map(|blot| blot.count).max() else {
        let UVec2 { x: width, y: height } = pixels.size;
        return Err(BonesError::EmptyMask { width, height });
    };
    if specks > MAX_SPECKS {
        return Err(BonesError::Specks { specks, least, most: MAX_SPECKS });
    }
    if largest < i128::from(least) {
        let pixels = u64::try_from(largest).unwrap_or(u64::MAX);
        return Err(BonesError::TooSmall { count: specks, pixels, least });
    }
    let count = blots.len() as u64 - u64::from(specks);
    if count > MAX_BONES {
        return Err(BonesError::TooMany { count, most: MAX_BONES });
    }
    let size = pixels.size.as_vec2();
    let bones = blots.iter().filter(|blot| !is_speck(blot)).map(|blot| {
        let (center, radii, angle) = blot.ellipse();
        let center = (center + 0.5 - 0.5 * size) / size.y;
        Bone::new(Vec2::new(center.x, -center.y), radii / size.y).turned(-angle)
    });
    Ok((bones.collect(), specks))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(rows: &[&str]) -> Pixels {
        let of = |c| match c {
            'r' => [255, 0, 0, 255],
            'g' => [0, 255, 0, 255],
            'w' => [255; 4],
            'k' => [0, 0, 0, 255],
            'h' => [255, 255, 255, 127],
            _ => [0; 4],
        };
        Pixels {
            size: UVec2::new(rows[0].len() as u32, rows.len() as u32),
            rgba: rows.iter().flat_map(|row| row.chars().map(of)).collect(),
        }
    }

    fn counts(rows: &[&str], kind: MaskKind) -> Vec<i128> {
        blots(&pixels(rows), kind).iter().map(|b| b.count).collect()
    }

    #[test]
    fn corners_join_and_half_transparent_pixels_do_not() {
        let rows = ["w..w.", ".w.hw", "w...."];
        assert_eq!(counts(&rows, MaskKind::Auto), [3, 2]);
    }

    #[test]
    fn colours_that_touch_are_bones_of_their_own() {
        let rows = ["rrgg.", "rrggr"];
        assert_eq!(counts(&rows, MaskKind::Auto), [4, 4, 1]);
        assert_eq!(counts(&rows, MaskKind::Alpha), [9]);
    }

    #[test]
    fn black_is_background_beside_colours_and_white_and_a_bone_alone() {
        assert_eq!(counts(&["kkrkk", "kkkkg"], MaskKind::Auto), [1, 1]);
        assert_eq!(counts(&["kkwkk", "kkkkk"], MaskKind::Auto), [1]);
        assert_eq!(counts(&["..k..", "..k.."], MaskKind::Auto), [2]);
        assert_eq!(counts(&["..k..", "..k.."], MaskKind::Color), []);
    }

    #[test]
    fn a_rectangle_has_its_second_moments() {
        // A uniform rectangle w × h has variance w²/12: a = w/√3.
        let rows = vec!["wwwwww..".to_owned(); 3];
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        let (center, radii, angle) = blots(&pixels(&rows), MaskKind::Auto)[0].ellipse();
        assert_eq!((center, angle), (Vec2::new(2.5, 1.0), 0.0));
        assert!(radii.distance(Vec2::new(6.0, 3.0) / 3f32.sqrt()) < 1e-6);
    }
}
