//! The mesh of a character: a grid over its picture's rectangle, of which what is not transparent is kept.
//!
//! ```text
//! ┌───┬───┬─┬─┐     Each cell is two triangles; a triangle is left out if no pixel in it, or so
//! │   │ ╱ ├─┼─┤     near that a sampler blends it in, can be seen. Of a cell's two diagonals that
//! ├───┼╱──┼─┴─┤     is taken which leaves out more.
//! │ ╱ │   │╲╱ │     A cell with a gap in it, or a cut, is split into finer ones. Its neighbours are
//! ├╱──┼───┼╱─╲┤     fans around their middle, so that all nodes on their sides are theirs too.
//! ```

use bevy::{platform::collections::HashMap, prelude::*};

/// Pixels of more alpha than this are drawn; what is left out changes no colour by more than 1/255.
const VISIBLE: u8 = 1;
/// At most so many cells along a side.
const MOST_CELLS: u32 = 512;
/// Pixels in a side of a cell that is split; gaps that are narrower stay bridged.
const SPLIT_PIXELS: f32 = 2.5;
/// A side is split into so many at most.
const MOST_SPLIT: u32 = 8;

/// How opaque a picture is, row by row from the top, as it is drawn: region cut out, mirrored.
#[derive(Clone, Debug)]
pub struct Silhouette {
    /// Width and height (pixels); the last column and row may be cut.
    pub size: Vec2,
    /// Pixels in a row.
    pub columns: usize,
    /// Alpha of each pixel, 255 where it is opaque.
    pub alpha: Vec<u8>,
    /// How far from a pixel's centre a sampler blends it in (pixels).
    pub reach: f32,
}

/// The reach of a sampler that blends the pixels around a point, and a little more for rounding.
pub const SMOOTH_REACH: f32 = 1.05;

impl Silhouette {
    /// Pixels of at least this alpha are flesh; others are glow, shadow or a smooth border.
    fn solid(&self) -> u8 {
        (self.alpha.iter().copied().max().unwrap_or(0) / 2).max(VISIBLE)
    }

    /// Where a point of the picture (pixels, y down) is in the body's frame, for a picture `height` m high.
    pub fn place(&self, pixel: Vec2, height: f32) -> Vec2 {
        let from_centre = pixel - 0.5 * self.size;
        Vec2::new(from_centre.x, -from_centre.y) * (height / self.size.y)
    }

    fn rows(&self) -> usize {
        self.alpha.len().checked_div(self.columns).unwrap_or(0)
    }
}

/// Triangles in the plane.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// Corners (m, body's frame).
    pub nodes: Vec<Vec2>,
    /// Where they are on the picture (pixels from its upper left corner, y down).
    pub pixels: Vec<Vec2>,
    /// Triangles by corner, counter-clockwise.
    pub triangles: Vec<[u32; 3]>,
    /// Triangles that join what hardly hangs together: glow, or two sides of a gap.
    pub rough: Vec<bool>,
    /// The cell that each triangle is part of.
    pub cells: Vec<u32>,
    /// Distance of corners where no cell is split (m).
    pub spacing: f32,
}

impl Grid {
    /// Covers what can be seen of a picture `height` m high with triangles of about `spacing` m. Cells with
    /// gaps are split, and those in `cut`.
    pub fn new(picture: &Silhouette, height: f32, spacing: f32, cut: &[u32]) -> Self {
        let cells = cell_counts(picture.size, height, spacing);
        let cell = picture.size / cells.as_vec2();
        let split = split_into(cell);
        let spacing = cell.max_element() * height / picture.size.y;
        let solid = picture.solid();
        let mut maker = Maker {
            picture,
            solid,
            height,
            step: cell / split as f32,
            split,
            index: HashMap::default(),
            grid: Self { spacing, ..Self::default() },
        };
        let windows: Vec<Window> = (0..cells.element_product())
            .map(|i| UVec2::new(i % cells.x, i / cells.x).as_vec2() * cell)
            .map(|low| Window::new(picture, solid, low, cell))
            .collect();
        let mut is_split: Vec<bool> = windows.iter().map(|window| window.blots > 1).collect();
        for cell in cut {
            if let Some(is_split) = is_split.get_mut(*cell as usize) {
                *is_split = true;
            }
        }
        for (i, window) in windows.iter().enumerate() {
            let (x, y) = (i as u32 % cells.x, i as u32 / cells.x);
            let low = UVec2::new(x, y) * split;
            let neighbour = |step: IVec2| {
                let at = UVec2::new(x, y).as_ivec2() + step;
                let inside = at.cmpge(IVec2::ZERO).all() && at.cmplt(cells.as_ivec2()).all();
                inside && is_split[(at.y as u32 * cells.x + at.x as u32) as usize]
            };
            // The sides above, right, below, left.
            let sides = [IVec2::NEG_Y, IVec2::X, IVec2::Y, IVec2::NEG_X].map(neighbour);
            if window.seen.is_empty() {
                continue;
            } else if is_split[i] {
                maker.split_cell(low);
            } else if sides.contains(&true) {
                maker.fan(window, low, sides);
            } else {
                maker.cell(window, low, split, (x + y) % 2 == 0);
            }
            maker.grid.cells.resize(maker.grid.triangles.len(), i as u32);
        }
        maker.grid
    }

    /// The triangles around each node.
    pub fn around(&self) -> Around {
        Around::new(self.nodes.len(), &self.triangles)
    }
}

/// How many parts the side of a cell is split into: an even number.
fn split_into(cell: Vec2) -> u32 {
    let parts = (cell.max_element() / SPLIT_PIXELS).ceil();
    if parts >= 2.0 { (parts as u32).next_power_of_two().min(MOST_SPLIT) } else { 2 }
}

/// A grid in the making. Nodes are named by their place on the lattice of cells that are split.
struct Maker<'a> {
    picture: &'a Silhouette,
    solid: u8,
    height: f32,
    /// Distance of the lattice's points (pixels).
    step: Vec2,
    split: u32,
    index: HashMap<UVec2, u32>,
    grid: Grid,
}

impl Maker<'_> {
    fn node(&mut self, at: UVec2) -> u32 {
        let next = self.grid.nodes.len() as u32;
        let index = *self.index.entry(at).or_insert(next);
        if index == next {
            let pixel = at.as_vec2() * self.step;
            self.grid.pixels.push(pixel);
            self.grid.nodes.push(self.picture.place(pixel, self.height));
        }
        index
    }

    fn triangle(&mut self, corners: [UVec2; 3], rough: bool) {
        let triangle = corners.map(|corner| self.node(corner));
        self.grid.triangles.push(triangle);
        self.grid.rough.push(rough);
    }

    /// A cell of `side` steps in two triangles.
    fn cell(&mut self, window: &Window, low: UVec2, side: u32, falling_first: bool) {
        let [a, b, c, d] = CORNERS.map(|corner| low + corner * side);
        // Counter-clockwise where y goes up.
        let falling = [[a, d, c], [a, c, b]];
        let rising = [[a, d, b], [b, d, c]];
        let (first, second) = if falling_first { (falling, rising) } else { (rising, falling) };
        let kept = |pair: [[UVec2; 3]; 2]| {
            pair.map(|t| Some(t).filter(|t| window.is_seen_in(t.map(|c| c.as_vec2() * self.step))))
        };
        let count = |pair: &[Option<_>; 2]| pair.iter().flatten().count();
        let mut best = kept(first);
        if !window.full {
            let second = kept(second);
            if count(&second) < count(&best) {
                best = second;
            }
        }
        for triangle in best.into_iter().flatten() {
            self.triangle(triangle, window.blots != 1);
        }
    }

    fn split_cell(&mut self, low: UVec2) {
        for y in 0..self.split {
            for x in 0..self.split {
                let low = low + UVec2::new(x, y);
                let at = low.as_vec2() * self.step;
                let window = Window::new(self.picture, self.solid, at, self.step);
                self.cell(&window, low, 1, (x + y) % 2 == 0);
            }
        }
    }

    /// A cell beside split ones.
    fn fan(&mut self, window: &Window, low: UVec2, sides: [bool; 4]) {
        let split = self.split;
        let middle = low + split / 2;
        for (i, is_split) in sides.into_iter().enumerate() {
            let (from, to) = (CORNERS[i], CORNERS[(i + 1) % 4]);
            let parts = if is_split { split } else { 1 };
            let at = |part: u32| low + (from * (parts - part) + to * part) * (split / parts);
            for part in 0..parts {
                let triangle = [middle, at(part + 1), at(part)];
                if window.is_seen_in(triangle.map(|corner| corner.as_vec2() * self.step)) {
                    self.triangle(triangle, window.blots != 1);
                }
            }
        }
    }
}

/// The triangles at each vertex of a mesh.
#[derive(Clone, Debug)]
pub struct Around {
    first: Vec<u32>,
    triangles: Vec<u32>,
}

impl Around {
    pub(super) fn new(vertices: usize, triangles: &[[u32; 3]]) -> Self {
        let mut first = vec![0u32; vertices + 1];
        for corner in triangles.as_flattened() {
            first[*corner as usize + 1] += 1;
        }
        for i in 0..vertices {
            first[i + 1] += first[i];
        }
        let mut next = first.clone();
        let mut sorted = vec![0; triangles.len() * 3];
        for (triangle, corners) in triangles.iter().enumerate() {
            for corner in corners {
                let slot = &mut next[*corner as usize];
                sorted[*slot as usize] = triangle as u32;
                *slot += 1;
            }
        }
        Self { first, triangles: sorted }
    }

    /// The triangles at a vertex.
    pub fn of(&self, vertex: u32) -> &[u32] {
        let vertex = vertex as usize;
        &self.triangles[self.first[vertex] as usize..self.first[vertex + 1] as usize]
    }
}

fn cell_counts(size: Vec2, height: f32, spacing: f32) -> UVec2 {
    let pixels = spacing * size.y / height;
    let count = |length: f32| {
        let count = (length / pixels).ceil();
        // Not a number counts as the coarsest grid.
        if count >= 1.0 { (count.min(MOST_CELLS as f32)) as u32 } else { 1 }
    };
    UVec2::new(count(size.x), count(size.y))
}

/// The pixels in and around a cell.
struct Window {
    reach: f32,
    /// Centres of those that are seen, and whether all are.
    seen: Vec<Vec2>,
    full: bool,
    /// How many blots of flesh there are.
    blots: usize,
}

/// Corners of a cell, clockwise from the upper left as seen, y down.
const CORNERS: [UVec2; 4] = [UVec2::ZERO, UVec2::X, UVec2::ONE, UVec2::Y];

impl Window {
    fn new(picture: &Silhouette, solid_from: u8, low: Vec2, cell: Vec2) -> Self {
        let reach = picture.reach;
        let limit = |at: Vec2| {
            let at = at.clamp(Vec2::ZERO, Vec2::new(picture.columns as f32, picture.rows() as f32));
            at.as_uvec2()
        };
        let from = limit((low - reach).floor());
        let to = limit((low + cell + reach).ceil());
        let (least, most) = (low - reach, low + cell + reach);
        let mut seen = Vec::new();
        let mut solid = Vec::new();
        let mut full = from.cmplt(to).all();
        for y in from.y..to.y {
            let row = &picture.alpha[y as usize * picture.columns..][..picture.columns];
            for x in from.x..to.x {
                let alpha = row[x as usize];
                let centre = UVec2::new(x, y).as_vec2() + 0.5;
                full &= alpha > VISIBLE;
                if alpha > VISIBLE && centre.cmpge(least).all() && centre.cmple(most).all() {
                    seen.push(centre);
                }
                solid.push(alpha >= solid_from);
            }
        }
        Self { reach, full, seen, blots: blots(&solid, (to.x - from.x) as usize) }
    }

    /// Whether anything is seen in a triangle (pixels).
    fn is_seen_in(&self, corners: [Vec2; 3]) -> bool {
        let outside = |i: usize, pixel: Vec2| {
            let (from, to) = (corners[i], corners[(i + 1) % 3]);
            // The inside is on this side of each edge, as y goes down here.
            let across = (to - from).normalize_or_zero().perp();
            (pixel - from).dot(across) > self.reach
        };
        self.full || self.seen.iter().any(|pixel| !(0..3).any(|i| outside(i, *pixel)))
    }
}

/// How many blots that do not touch one another there are, corners touching.
fn blots(solid: &[bool], columns: usize) -> usize {
    if columns == 0 || solid.iter().all(|s| *s) {
        return usize::from(!solid.is_empty());
    }
    let rows = solid.len() / columns;
    let mut left = solid.to_vec();
    let mut count = 0;
    let mut stack = Vec::new();
    for start in 0..left.len() {
        if !left[start] {
            continue;
        }
        count += 1;
        left[start] = false;
        stack.push(start);
        while let Some(pixel) = stack.pop() {
            let (x, y) = (pixel % columns, pixel / columns);
            for y in y.saturating_sub(1)..(y + 2).min(rows) {
                for x in x.saturating_sub(1)..(x + 2).min(columns) {
                    let next = y * columns + x;
                    if core::mem::take(&mut left[next]) {
                        stack.push(next);
                    }
                }
            }
        }
    }
    count
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A picture that is opaque where `inside` says so of a pixel's centre.
    pub fn picture(size: UVec2, inside: impl Fn(Vec2) -> bool) -> Silhouette {
        let alpha = (0..size.x * size.y)
            .map(|i| UVec2::new(i % size.x, i / size.x).as_vec2() + 0.5)
            .map(|centre| if inside(centre) { 255 } else { 0 })
            .collect();
        let size = size.as_vec2();
        Silhouette { size, columns: size.x as usize, alpha, reach: SMOOTH_REACH }
    }

    fn area(grid: &Grid) -> f32 {
        let doubled = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|i| grid.nodes[i as usize]);
            (b - a).perp_dot(c - a)
        };
        grid.triangles.iter().map(|t| 0.5 * doubled(t)).sum()
    }

    /// Whether a point of the picture lies in a triangle.
    fn covers(grid: &Grid, pixel: Vec2) -> bool {
        grid.triangles.iter().any(|t| {
            let [a, b, c] = t.map(|i| grid.pixels[i as usize]);
            let side = |from: Vec2, to: Vec2| (to - from).perp_dot(pixel - from) <= 1e-3;
            side(a, b) && side(b, c) && side(c, a)
        })
    }

    #[test]
    fn an_opaque_picture_is_covered_once_and_whole() {
        let picture = picture(UVec2::new(30, 40), |_| true);
        let grid = Grid::new(&picture, 2.0, 0.21, &[]);
        assert!((area(&grid) - 2.0 * 1.5).abs() < 1e-4);
        assert!(grid.nodes.iter().all(|n| n.x.abs() <= 0.7501 && n.y.abs() <= 1.0001));
        assert_eq!(grid.nodes[0], Vec2::new(-0.75, 1.0));
        assert!(grid.triangles.iter().all(|t| {
            let [a, b, c] = t.map(|i| grid.nodes[i as usize]);
            (b - a).perp_dot(c - a) > 0.0
        }));
        assert!(grid.rough.iter().all(|rough| !rough));
    }

    #[test]
    fn every_point_that_a_sampler_can_draw_is_covered_and_little_else() {
        let size = UVec2::new(64, 80);
        let disc = |p: Vec2| p.distance(Vec2::new(30.0, 41.0)) < 22.3;
        let picture = picture(size, disc);
        let grid = Grid::new(&picture, 1.0, 1.0 / 16.0, &[]);
        for y in 0..size.y * 2 {
            for x in 0..size.x * 2 {
                let at = UVec2::new(x, y).as_vec2() * 0.5 + 0.25;
                let near = (0..9).any(|i| {
                    let step = Vec2::new((i % 3) as f32 - 1.0, (i / 3) as f32 - 1.0);
                    let pixel = (at - 0.5 + step).floor() + 0.5;
                    (pixel - at).abs().max_element() < 1.0 && disc(pixel)
                });
                assert!(!near || covers(&grid, at), "{at}");
            }
        }
        // A ring of a cell's width around the disc at most.
        let most = core::f32::consts::PI * (22.3f32 + 2.0 + 5.0).powi(2) / (80.0 * 80.0);
        assert!(area(&grid) < most, "{} of {most}", area(&grid));
    }

    #[test]
    fn faint_pixels_count_and_invisible_ones_do_not() {
        let mut picture = picture(UVec2::splat(40), |_| false);
        assert!(Grid::new(&picture, 1.0, 0.1, &[]).triangles.is_empty());
        picture.alpha.fill(VISIBLE);
        assert!(Grid::new(&picture, 1.0, 0.1, &[]).triangles.is_empty());
        picture.alpha[20 * 40 + 20] = VISIBLE + 1;
        picture.alpha[0] = 255;
        let grid = Grid::new(&picture, 1.0, 0.1, &[]);
        assert!((2..=9).contains(&grid.triangles.len()), "{}", grid.triangles.len());
        for (triangle, rough) in grid.triangles.iter().zip(&grid.rough) {
            assert_eq!(*rough, grid.pixels[triangle[0] as usize].x > 10.0);
        }
    }

    /// The triangles that share an edge with each, none sharing one with more than one other.
    fn assert_conforms(grid: &Grid) {
        let mut edges = HashMap::new();
        for [a, b, c] in &grid.triangles {
            for edge in [(a, b), (b, c), (c, a)] {
                assert!(edges.insert(edge, ()).is_none(), "an edge is run along twice");
            }
        }
        // Where nothing is on the other side of an edge, no node lies on it: there is no crack.
        for (a, b) in edges.keys().filter(|(a, b)| !edges.contains_key(&(*b, *a))) {
            let [a, b] = [a, b].map(|i| grid.nodes[**i as usize]);
            let along = b - a;
            for node in &grid.nodes {
                let t = (*node - a).dot(along) / along.length_squared();
                let off = (*node - a - t * along).length();
                assert!(!(0.01..0.99).contains(&t) || off > 1e-4, "{node} between {a} and {b}");
            }
        }
    }

    #[test]
    fn a_gap_parts_the_mesh_without_cracks() {
        for gap in [3.0, 5.0] {
            let open = |p: Vec2| !((32.0..32.0 + gap).contains(&p.x) && p.y > 12.0);
            let picture = picture(UVec2::splat(64), open);
            let grid = Grid::new(&picture, 1.0, 1.0 / 8.0, &[]);
            assert_conforms(&grid);
            let sides = |t: &[u32; 3]| t.map(|i| grid.pixels[i as usize]);
            let bridges = grid.triangles.iter().map(sides).filter(|t| {
                let x = t.map(|p| p.x - 32.0 - 0.5 * gap);
                t.iter().all(|p| p.y > 18.0)
                    && x.iter().any(|x| *x < 0.0)
                    && x.iter().any(|x| *x > 0.0)
            });
            // Of a gap of three pixels samplers leave nothing over.
            assert_eq!(bridges.count() == 0, gap > 4.0, "{gap}");
        }
    }

    #[test]
    fn cells_that_are_cut_are_split_without_cracks() {
        let picture = picture(UVec2::splat(64), |_| true);
        let whole = Grid::new(&picture, 1.0, 1.0 / 8.0, &[]);
        let cut = Grid::new(&picture, 1.0, 1.0 / 8.0, &[0, 9, 10, 63, 1000]);
        assert!(cut.triangles.len() > whole.triangles.len() + 100);
        assert_conforms(&cut);
        assert!((area(&cut) - 1.0).abs() < 1e-5);
        assert!(cut.cells.iter().filter(|cell| **cell == 9).count() >= 32);
        assert_eq!(cut.cells.len(), cut.triangles.len());
    }

    #[test]
    fn nonsense_makes_a_coarse_grid() {
        let picture = picture(UVec2::splat(9), |_| true);
        for (height, spacing) in [(1.0, f32::NAN), (1.0, 1e9), (f32::NAN, 0.1), (1.0, -1.0)] {
            assert_eq!(Grid::new(&picture, height, spacing, &[]).triangles.len(), 2);
        }
        let finest = Grid::new(&picture, 1.0, 1e-30, &[]);
        assert!(finest.nodes.len() <= (MOST_CELLS as usize + 1).pow(2));
        assert_conforms(&Grid::new(&picture, 1.0, 0.25, &[5, 6]));
    }
}
