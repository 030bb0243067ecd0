//! The mesh of a character: a grid over its picture's rectangle, of which what is not transparent is kept.
//!
//! ```text
//! ┌──┬──┬──┬──┐     Each cell is two triangles; a triangle is left out if no pixel in it, or so
//! │  │ ╱│╲ │  │     near that a sampler blends it in, can be seen. Of a cell's two diagonals that
//! ├──┼╱─┼─╲┼──┤     is taken which leaves out more.
//! │ ╱│  │  │╲ │
//! ├╱─┼──┼──┼─╲┤
//! ```

use bevy::prelude::*;

/// Pixels of more alpha than this are drawn; what is left out changes no colour by more than 1/255.
const VISIBLE: u8 = 1;
/// Pixels of at least this alpha are flesh; others are glow, shadow or a smooth border.
const SOLID: u8 = 128;
/// How far a sampler that blends pixels reaches beyond a pixel's centre, and half a pixel to be safe.
const REACH: f32 = 1.5;
/// At most so many cells along a side.
const MOST_CELLS: u32 = 512;

/// How opaque a picture is, row by row from the top, as it is drawn: region cut out, mirrored.
#[derive(Clone, Debug)]
pub struct Silhouette {
    /// Width and height (pixels); the last column and row may be cut.
    pub size: Vec2,
    /// Pixels in a row.
    pub columns: usize,
    /// Alpha of each pixel, 255 where it is opaque.
    pub alpha: Vec<u8>,
}

impl Silhouette {
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
    /// Corners (m, body's frame), by row from the top.
    pub nodes: Vec<Vec2>,
    /// Where they are on the picture (pixels from its upper left corner, y down).
    pub pixels: Vec<Vec2>,
    /// Triangles by corner, counter-clockwise.
    pub triangles: Vec<[u32; 3]>,
    /// Triangles that join what hardly hangs together: glow, or two sides of a gap.
    pub rough: Vec<bool>,
    /// Distance of corners (m).
    pub spacing: f32,
}

impl Grid {
    /// Covers what can be seen of a picture `height` m high with triangles of about `spacing` m.
    pub fn new(picture: &Silhouette, height: f32, spacing: f32) -> Self {
        let cells = cell_counts(picture.size, height, spacing);
        let cell = picture.size / cells.as_vec2();
        let mut grid =
            Self { spacing: cell.max_element() * height / picture.size.y, ..Self::default() };
        let columns = cells.x as usize + 1;
        let mut index = vec![u32::MAX; columns * (cells.y as usize + 1)];
        let mut node = |grid: &mut Self, at: UVec2| {
            let slot = &mut index[at.y as usize * columns + at.x as usize];
            if *slot == u32::MAX {
                *slot = grid.nodes.len() as u32;
                let pixel = at.as_vec2() * cell;
                grid.pixels.push(pixel);
                grid.nodes.push(picture.place(pixel, height));
            }
            *slot
        };
        for row in 0..cells.y {
            for column in 0..cells.x {
                let at = UVec2::new(column, row);
                let window = Window::new(picture, at.as_vec2() * cell, cell);
                let Some(kept) = window.triangles((row + column) % 2 == 0) else { continue };
                for corners in kept.into_iter().flatten() {
                    let triangle = corners.map(|corner| node(&mut grid, at + corner));
                    grid.triangles.push(triangle);
                    grid.rough.push(window.rough);
                }
            }
        }
        grid
    }

    /// The triangles around each node.
    pub fn around(&self) -> Around {
        Around::new(self.nodes.len(), &self.triangles)
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

/// A cell and the pixels in and around it.
struct Window {
    low: Vec2,
    cell: Vec2,
    /// Centres of the pixels that are seen in it, and whether all are.
    seen: Vec<Vec2>,
    full: bool,
    rough: bool,
}

/// Corners of a cell, clockwise from the upper left as seen, y down.
const CORNERS: [UVec2; 4] = [UVec2::ZERO, UVec2::X, UVec2::ONE, UVec2::Y];

impl Window {
    fn new(picture: &Silhouette, low: Vec2, cell: Vec2) -> Self {
        let limit = |at: Vec2| {
            let at = at.clamp(Vec2::ZERO, Vec2::new(picture.columns as f32, picture.rows() as f32));
            at.as_uvec2()
        };
        let from = limit((low - REACH).floor());
        let to = limit((low + cell + REACH).ceil());
        let mut seen = Vec::new();
        let mut solid = Vec::new();
        for y in from.y..to.y {
            let row = &picture.alpha[y as usize * picture.columns..][..picture.columns];
            for x in from.x..to.x {
                let alpha = row[x as usize];
                if alpha > VISIBLE {
                    seen.push(UVec2::new(x, y).as_vec2() + 0.5);
                }
                solid.push(alpha >= SOLID);
            }
        }
        let full = seen.len() == solid.len() && !seen.is_empty();
        let rough = match blots(&solid, (to.x - from.x) as usize) {
            0 => !seen.is_empty(),
            blots => blots > 1,
        };
        Self { low, cell, seen, full, rough }
    }

    /// The triangles in which something is seen, if any, as steps from the upper left node.
    fn triangles(&self, falling_first: bool) -> Option<[Option<[UVec2; 3]>; 2]> {
        if self.seen.is_empty() {
            return None;
        }
        let [a, b, c, d] = CORNERS;
        // Counter-clockwise where y goes up.
        let falling = [[a, d, c], [a, c, b]];
        let rising = [[a, d, b], [b, d, c]];
        let (first, second) = if falling_first { (falling, rising) } else { (rising, falling) };
        if self.full {
            return Some(first.map(Some));
        }
        let kept = |pair: [[UVec2; 3]; 2]| pair.map(|t| Some(t).filter(|t| self.is_seen_in(*t)));
        let count = |pair: &[Option<_>; 2]| pair.iter().flatten().count();
        let (first, second) = (kept(first), kept(second));
        let best = if count(&second) < count(&first) { second } else { first };
        (count(&best) > 0).then_some(best)
    }

    fn is_seen_in(&self, triangle: [UVec2; 3]) -> bool {
        let corners = triangle.map(|corner| self.low + corner.as_vec2() * self.cell);
        let outside = |i: usize, pixel: Vec2| {
            let (from, to) = (corners[i], corners[(i + 1) % 3]);
            // The inside is on this side of each edge, as y goes down here.
            let across = (to - from).normalize_or_zero().perp();
            (pixel - from).dot(across) > REACH
        };
        self.seen.iter().any(|pixel| !(0..3).any(|i| outside(i, *pixel)))
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
        Silhouette { size: size.as_vec2(), columns: size.x as usize, alpha }
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
        let grid = Grid::new(&picture, 2.0, 0.21);
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
        let grid = Grid::new(&picture, 1.0, 1.0 / 16.0);
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
        assert!(Grid::new(&picture, 1.0, 0.1).triangles.is_empty());
        picture.alpha.fill(VISIBLE);
        assert!(Grid::new(&picture, 1.0, 0.1).triangles.is_empty());
        picture.alpha[20 * 40 + 20] = VISIBLE + 1;
        let grid = Grid::new(&picture, 1.0, 0.1);
        assert!((1..=8).contains(&grid.triangles.len()), "{}", grid.triangles.len());
        assert!(grid.rough.iter().all(|rough| *rough));
    }

    #[test]
    fn cells_across_a_gap_are_rough() {
        let picture = picture(UVec2::splat(64), |p| !(31.0..33.0).contains(&p.x));
        let grid = Grid::new(&picture, 1.0, 1.0 / 8.0);
        for (triangle, rough) in grid.triangles.iter().zip(&grid.rough) {
            let x = triangle.map(|i| grid.pixels[i as usize].x);
            let near = x.iter().any(|x| (x - 32.0).abs() < 3.5);
            assert_eq!(*rough, near, "{x:?}");
        }
    }

    #[test]
    fn nonsense_makes_a_coarse_grid() {
        let picture = picture(UVec2::splat(9), |_| true);
        for (height, spacing) in [(1.0, f32::NAN), (1.0, 1e9), (f32::NAN, 0.1), (1.0, -1.0)] {
            assert_eq!(Grid::new(&picture, height, spacing).triangles.len(), 2);
        }
        let finest = Grid::new(&picture, 1.0, 1e-30);
        assert!(finest.nodes.len() <= (MOST_CELLS as usize + 1).pow(2));
    }
}
