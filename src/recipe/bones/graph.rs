//! Which bones are joined.
//!
//! Two bones can only be joined where the picture hangs together between them: each opaque pixel belongs to
//! the bone whose core it is nearest to *through opaque pixels*, and two bones are neighbours where their
//! pixels meet. A hand beside the hip, with nothing drawn between them, is no neighbour of it, however
//! near. Without a picture all bones are neighbours.
//!
//! 1. Neighbours whose ellipses touch are joined, unless they lie side by side (neither meets the other
//!    near one of its ends, as two thighs do).
//! 2. Neighbours no further apart than `near`, side by side or not, are joined in order of their distance, those
//!    side by side last, as long as they join parts that are not joined yet.
//! 3. With a picture, all other neighbours likewise, in order of the way between them. So one figure is in
//!    one piece.

use super::{
    Bone,
    ellipse::Ellipse,
    mask::{Pixels, is_opaque},
};
use alloc::collections::BTreeMap;
use bevy::math::{IVec2, UVec2, Vec2};

/// Pixels within this part of an ellipse's axes are its bone's core.
const CORE: f32 = 0.5;

/// Ellipses that are no further apart than this touch (picture heights).
const TOUCH: f32 = 1e-3;

/// Bones that meet with less than this product of distances from their ends, 0 to 1, do not lie side by side.
const SIDE_BY_SIDE: f32 = 0.25;

/// A way through the picture this many times as long as the straight one does not count as near.
const DETOUR: f32 = 2.0;

/// The longer side of the grid on which ways are measured has at most as many cells.
const MOST_CELLS: u32 = 512;

/// What is joined.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in super::super) struct Joined {
    /// Pairs of bones, in order.
    pub pairs: Vec<[u32; 2]>,
    /// Number of parts that hang together.
    pub parts: usize,
}

/// A way between two neighbours (picture heights).
#[derive(Clone, Copy, Debug)]
struct Neighbours {
    pair: [u32; 2],
    /// From core to core through the picture.
    way: f32,
    /// Between the ellipses, straight.
    gap: f32,
    /// How much they lie side by side, 0 to 1.
    sideways: f32,
    /// Whether the way through the picture is about as long as the straight one.
    direct: bool,
}

/// Joins bones; `picture` is where they are drawn, if that is known, and `near` is in picture heights.
pub(in super::super) fn join(bones: &[Bone], picture: Option<&Pixels>, near: f32) -> Joined {
    let ellipses: Vec<Ellipse> = bones.iter().map(Ellipse::of).collect();
    let neighbours = match picture {
        Some(pixels) => through_picture(&ellipses, &Cells::new(pixels)),
        None => all_near(&ellipses, near),
    };
    let mut parts = Parts::new(bones.len());
    let mut pairs = Vec::new();
    let at_once = |n: &Neighbours| n.direct && n.gap <= TOUCH && n.sideways < SIDE_BY_SIDE;
    for n in neighbours.iter().filter(|n| at_once(n)) {
        parts.join(n.pair);
        pairs.push(n.pair);
    }
    let mut then = |mut left: Vec<(f32, [u32; 2])>| {
        left.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (_, pair) in left {
            if parts.join(pair) {
                pairs.push(pair);
            }
        }
    };
    let is_near = |n: &&Neighbours| n.direct && n.gap <= near;
    // Those side by side come last: none of the others is further than `near`.
    let cost = |n: &Neighbours| {
        let last = if n.sideways < SIDE_BY_SIDE { 0.0 } else { near };
        (n.gap + near * n.sideways + last, n.pair)
    };
    then(neighbours.iter().filter(is_near).map(cost).collect());
    if picture.is_some() {
        then(neighbours.iter().map(|n| (n.way, n.pair)).collect());
    }
    pairs.sort_unstable();
    Joined { pairs, parts: parts.count }
}

/// Sets of bones that hang together.
struct Parts {
    parent: Vec<u32>,
    count: usize,
}

impl Parts {
    fn new(bones: usize) -> Self {
        Self { parent: (0..bones as u32).collect(), count: bones }
    }

    fn root(&self, mut bone: u32) -> u32 {
        while self.parent[bone as usize] != bone {
            bone = self.parent[bone as usize];
        }
        bone
    }

    /// Joins the parts of two bones; `false` if they were one.
    fn join(&mut self, [a, b]: [u32; 2]) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return false;
        }
        self.parent[a.max(b) as usize] = a.min(b);
        self.count -= 1;
        true
    }
}

fn neighbours(ellipses: &[Ellipse], pair: [u32; 2], way: Option<f32>) -> Neighbours {
    let [a, b] = pair.map(|i| ellipses[i as usize]);
    let (gap, [p, q]) = a.gap(&b);
    let sideways = (1.0 - a.at_end(p)) * (1.0 - b.at_end(q));
    let core = |e: Ellipse| Ellipse { radii: CORE * e.radii, ..e };
    let straight = core(a).gap(&core(b)).0;
    let way = way.unwrap_or(straight);
    // A few hundredths for the steps of the grid.
    let direct = way <= DETOUR * straight + 0.03;
    Neighbours { pair, way, gap, sideways, direct }
}

/// All pairs that are near or touch.
fn all_near(ellipses: &[Ellipse], near: f32) -> Vec<Neighbours> {
    let mut all = Vec::new();
    for (i, a) in ellipses.iter().enumerate() {
        for (j, b) in ellipses.iter().enumerate().skip(i + 1) {
            let reach = a.radii.max_element() + b.radii.max_element() + near.max(TOUCH);
            if a.center.distance(b.center) <= reach {
                all.push(neighbours(ellipses, [i as u32, j as u32], None));
            }
        }
    }
    all
}

/// Where a picture is opaque, on a grid of at most [`MOST_CELLS`] a side.
struct Cells {
    size: UVec2,
    opaque: Vec<bool>,
    /// Cells a picture height.
    scale: f32,
    /// Size of the picture (picture heights).
    extent: Vec2,
}

impl Cells {
    fn new(pixels: &Pixels) -> Self {
        let size = pixels.size;
        let step = size.max_element().div_ceil(MOST_CELLS).max(1);
        let cells = UVec2::new(size.x.div_ceil(step), size.y.div_ceil(step));
        let mut opaque = Vec::with_capacity((cells.x * cells.y) as usize);
        for cell in (0..cells.y).flat_map(|y| (0..cells.x).map(move |x| UVec2::new(x, y))) {
            let (from, to) = (cell * step, ((cell + 1) * step).min(size));
            let (mut drawn, mut all) = (0, 0);
            for y in from.y..to.y {
                for x in from.x..to.x {
                    all += 1;
                    drawn += u32::from(is_opaque(pixels.rgba[(y * size.x + x) as usize]));
                }
            }
            opaque.push(2 * drawn >= all.max(1));
        }
        let scale = size.y as f32 / step as f32;
        Self { size: cells, opaque, scale, extent: size.as_vec2() / size.y as f32 }
    }

    /// The middle of a cell (picture heights, y up).
    fn place(&self, cell: IVec2) -> Vec2 {
        let at = (cell.as_vec2() + 0.5) / self.scale - 0.5 * self.extent;
        Vec2::new(at.x, -at.y)
    }

    /// The cell that a point lies in, or the nearest.
    fn cell(&self, point: Vec2) -> IVec2 {
        let at = (Vec2::new(point.x, -point.y) + 0.5 * self.extent) * self.scale;
        at.floor().clamp(Vec2::ZERO, self.size.as_vec2() - 1.0).as_ivec2()
    }

    fn index(&self, cell: IVec2) -> Option<usize> {
        let inside = cell.cmpge(IVec2::ZERO).all() && cell.cmplt(self.size.as_ivec2()).all();
        inside.then(|| cell.y as usize * self.size.x as usize + cell.x as usize)
    }
}

/// Steps to half of the cells around one, and their lengths in fifths: each pair of cells once.
const HALF: [(IVec2, u32); 4] =
    [(IVec2::new(1, 0), 5), (IVec2::new(0, 1), 5), (IVec2::new(1, 1), 7), (IVec2::new(-1, 1), 7)];

/// Pairs whose pixels meet, with the shortest way between their cores through opaque pixels.
fn through_picture(ellipses: &[Ellipse], cells: &Cells) -> Vec<Neighbours> {
    let owner = owners(ellipses, cells);
    let mut ways = BTreeMap::<[u32; 2], u32>::new();
    for y in 0..cells.size.y as i32 {
        for x in 0..cells.size.x as i32 {
            let cell = IVec2::new(x, y);
            let Some((a, from_a)) = cells.index(cell).and_then(|i| owner[i]) else { continue };
            for (step, length) in HALF {
                let other = cells.index(cell + step).and_then(|i| owner[i]);
                if let Some((b, from_b)) = other.filter(|(b, _)| *b != a) {
                    let way = from_a + from_b + length;
                    let least = ways.entry([a.min(b), a.max(b)]).or_insert(way);
                    *least = way.min(*least);
                }
            }
        }
    }
    let fifths = 5.0 * cells.scale;
    let all = ways.into_iter();
    all.map(|(pair, way)| neighbours(ellipses, pair, Some(way as f32 / fifths))).collect()
}

/// The bone that each opaque cell is nearest to through opaque cells, and how far it is from that bone's
/// core in fifths of a cell. Equal ways go to the bone that comes first.
fn owners(ellipses: &[Ellipse], cells: &Cells) -> Vec<Option<(u32, u32)>> {
    let mut owner: Vec<Option<(u32, u32)>> = vec![None; cells.opaque.len()];
    // By length modulo the longest step and one more: all that is open lies within that range.
    let mut open: [Vec<(IVec2, u32)>; 8] = core::array::from_fn(|_| Vec::new());
    for (cell, bone) in cores(ellipses, cells) {
        if let Some(index) = cells.index(cell) {
            owner[index] = Some((bone, 0));
            open[0].push((cell, 0));
        }
    }
    let mut length = 0;
    while open.iter().any(|bucket| !bucket.is_empty()) {
        for (cell, reached) in core::mem::take(&mut open[length as usize % 8]) {
            let Some(here) = cells.index(cell) else { continue };
            let Some((bone, known)) = owner[here] else { continue };
            if known != reached {
                continue;
            }
            for (step, cost) in HALF.into_iter().flat_map(|(s, c)| [(s, c), (-s, c)]) {
                let Some(index) = cells.index(cell + step) else { continue };
                let then = length + cost;
                let better = owner[index].is_none_or(|old| (then, bone) < (old.1, old.0));
                if cells.opaque[index] && better {
                    owner[index] = Some((bone, then));
                    open[then as usize % 8].push((cell + step, then));
                }
            }
        }
        length += 1;
    }
    owner
}

/// The cells of the bones' cores. Where two overlap, a cell is of the bone whose middle is nearer, by its own
/// measure. Each bone has the cell of its centre at least.
fn cores(ellipses: &[Ellipse], cells: &Cells) -> Vec<(IVec2, u32)> {
    let mut nearest = BTreeMap::<(i32, i32), (f32, u32)>::new();
    for (bone, ellipse) in ellipses.iter().enumerate() {
        let reach = Vec2::splat(CORE * ellipse.radii.max_element());
        let corners = [-reach, reach].map(|r| cells.cell(ellipse.center + r));
        let (min, max) = (corners[0].min(corners[1]), corners[0].max(corners[1]));
        let middle = cells.cell(ellipse.center);
        for y in min.y..=max.y {
            for x in min.x..=max.x {
                let cell = IVec2::new(x, y);
                let norm = ellipse.norm(cells.place(cell));
                let drawn = cells.index(cell).is_some_and(|i| cells.opaque[i]);
                if cell == middle || (drawn && norm <= CORE) {
                    let norm = if cell == middle { 0.0 } else { norm };
                    let entry = nearest.entry((y, x)).or_insert((norm, bone as u32));
                    if norm < entry.0 {
                        *entry = (norm, bone as u32);
                    }
                }
            }
        }
    }
    nearest.into_iter().map(|((y, x), (_, bone))| (IVec2::new(x, y), bone)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture of 100 × 100 pixels that is opaque where `holds` says so of picture coordinates.
    fn picture(holds: impl Fn(Vec2) -> bool) -> Pixels {
        let at = |i: u32| Vec2::new((i % 100) as f32 - 49.5, 49.5 - (i / 100) as f32) / 100.0;
        let pixel = |i| if holds(at(i)) { [255; 4] } else { [0; 4] };
        Pixels { size: UVec2::splat(100), rgba: (0..10_000).map(pixel).collect() }
    }

    fn bone(x: f32, y: f32, a: f32, b: f32) -> Bone {
        Bone::new(Vec2::new(x, y), Vec2::new(a, b))
    }

    /// Torso, an arm of two bones that hangs beside it, and a hand near the hip.
    fn figure() -> Vec<Bone> {
        vec![
            bone(0.0, 0.0, 0.1, 0.3),
            bone(0.16, 0.25, 0.08, 0.04),
            bone(0.2, 0.08, 0.04, 0.12),
            bone(0.14, -0.08, 0.035, 0.035),
        ]
    }

    #[test]
    fn a_hand_beside_the_hip_is_not_glued_to_it() {
        let bones = figure();
        let ellipses: Vec<Ellipse> = bones.iter().map(Ellipse::of).collect();
        let near_hip = ellipses[0].gap(&ellipses[3]).0;
        assert!(near_hip < 0.02, "{near_hip}");
        // A cut of three pixels between trunk and arm, open below the shoulder.
        let drawn = |p: Vec2| {
            let covered = ellipses.iter().any(|e| e.norm(p) < 1.3);
            covered && !(p.y < 0.2 && (p.x - 0.105).abs() < 0.02)
        };
        let joined = join(&bones, Some(&picture(drawn)), 0.04);
        assert_eq!((joined.pairs, joined.parts), (vec![[0, 1], [1, 2], [2, 3]], 1));
    }

    #[test]
    fn without_a_picture_what_touches_and_what_is_near_is_joined() {
        let bones = [
            bone(0.0, 0.0, 0.1, 0.1),
            bone(0.15, 0.0, 0.1, 0.1),
            bone(0.28, 0.0, 0.02, 0.02),
            bone(0.9, 0.0, 0.02, 0.02),
        ];
        let joined = join(&bones, None, 0.04);
        assert_eq!((joined.pairs, joined.parts), (vec![[0, 1], [1, 2]], 2));
    }

    #[test]
    fn thighs_side_by_side_are_joined_to_the_pelvis_alone() {
        let bones = [
            bone(0.0, 0.1, 0.12, 0.06),
            bone(-0.06, -0.12, 0.055, 0.14),
            bone(0.06, -0.12, 0.055, 0.14),
        ];
        let opaque = picture(|p| p.x.abs() < 0.2 && p.y.abs() < 0.3);
        for picture in [None, Some(&opaque)] {
            assert_eq!(join(&bones, picture, 0.04).pairs, [[0, 1], [0, 2]]);
        }
    }

    #[test]
    fn a_far_bone_is_joined_where_the_picture_leads_to_it() {
        let bones = [bone(-0.3, 0.0, 0.05, 0.05), bone(0.3, 0.0, 0.05, 0.05)];
        let blots = |p: Vec2| (p.x.abs() - 0.3).abs() < 0.06 && p.y.abs() < 0.06;
        let thread = |p: Vec2| blots(p) || (p.y.abs() < 0.03 && p.x.abs() < 0.3);
        assert_eq!(join(&bones, Some(&picture(thread)), 0.04).pairs, [[0, 1]]);
        assert_eq!(join(&bones, Some(&picture(blots)), 0.04).parts, 2);
        assert_eq!(join(&bones, None, 0.04).parts, 2);
    }

    #[test]
    fn a_large_picture_is_joined_as_a_small_one() {
        let bones = figure();
        let ellipses: Vec<Ellipse> = bones.iter().map(Ellipse::of).collect();
        let size = UVec2::new(1300, 1300);
        let at = |i: u32| Vec2::new((i % 1300) as f32 - 649.5, 649.5 - (i / 1300) as f32) / 1300.0;
        let pixel = |i: u32| {
            let p = at(i);
            let covered = ellipses.iter().any(|e| e.norm(p) < 1.3);
            let cut = p.y < 0.2 && (p.x - 0.105).abs() < 0.02;
            if covered && !cut { [255; 4] } else { [0; 4] }
        };
        let pixels = Pixels { size, rgba: (0..1300 * 1300).map(pixel).collect() };
        assert_eq!(join(&bones, Some(&pixels), 0.04).pairs, [[0, 1], [1, 2], [2, 3]]);
    }

    #[test]
    fn bones_outside_the_picture_are_safe() {
        let bones = [bone(5.0, 5.0, 0.1, 0.1), bone(-7.0, 0.0, 3.0, 0.1), bone(0.0, 0.0, 0.1, 0.1)];
        let joined = join(&bones, Some(&picture(|_| true)), 0.04);
        assert!(joined.parts >= 1);
        assert_eq!(join(&bones, Some(&picture(|_| false)), 0.04).parts, 3);
    }
}
