//! A hash grid: particles sorted by cell, to find who is near whom.
//!
//! ```text
//!   cell (x, row)  →  bucket (x + hash(row)) mod 2ⁿ        row = (y, z)
//!
//!   ┌───┬───┬───┐     Cells that follow one another along x are buckets that follow one another,
//!   │   │ i │   │     so what is near a particle lies in nine runs of sorted entries, three
//!   └───┴───┴───┘     cells each.
//! ```
//!
//! Rows that share buckets are told apart by their names, so nothing is found twice. Entries of one
//! bucket keep the order in which they came: the order of what is found depends on the input alone.

use bevy::math::Vec4;
use core::ops::Range;

/// A particle in the grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub position: Vec4,
    row: u64,
    x: i32,
    /// As the caller numbers it.
    pub index: u32,
}

/// Particles sorted by cell.
#[derive(Debug, Default)]
pub(super) struct HashGrid {
    per_cell: f32,
    mask: u32,
    /// First entry of each bucket, and the number of entries.
    starts: Vec<u32>,
    entries: Vec<Entry>,
    unsorted: Vec<Entry>,
}

/// Rows of cells above a row, or beside it on one side: each pair of rows is met once.
const HALF_OF_THE_ROWS: [[i32; 2]; 4] = [[1, 0], [-1, 1], [0, 1], [1, 1]];

fn row(y: i32, z: i32) -> u64 {
    u64::from(y as u32) | (u64::from(z as u32) << 32)
}

fn shifted(row_of: u64, [dy, dz]: [i32; 2]) -> u64 {
    row((row_of as i32).wrapping_add(dy), ((row_of >> 32) as i32).wrapping_add(dz))
}

impl HashGrid {
    /// Sorts `points` (index and position, m) into cells of edge `cell` (m, above 0).
    pub fn build(&mut self, cell: f32, points: impl Iterator<Item = (u32, Vec4)>) {
        self.per_cell = cell.recip();
        self.unsorted.clear();
        for (index, position) in points {
            let (x, row) = self.cell(position);
            self.unsorted.push(Entry { position, row, x, index });
        }
        let buckets = self.unsorted.len().next_power_of_two().max(16);
        self.mask = buckets as u32 - 1;
        self.starts.clear();
        self.starts.resize(buckets + 1, 0);
        for entry in &self.unsorted {
            self.starts[bucket(entry.x, entry.row, self.mask)] += 1;
        }
        let mut total = 0;
        for start in &mut self.starts {
            total += core::mem::replace(start, total);
        }
        self.entries.clear();
        self.entries.extend_from_slice(&self.unsorted);
        for entry in &self.unsorted {
            let next = &mut self.starts[bucket(entry.x, entry.row, self.mask)];
            self.entries[*next as usize] = *entry;
            *next += 1;
        }
        // Each start has become the next bucket's.
        self.starts.rotate_right(1);
        self.starts[0] = 0;
    }

    fn cell(&self, position: Vec4) -> (i32, u64) {
        let cell = (position * self.per_cell).floor();
        // Casts saturate, so that no position is out of the grid.
        (cell.x as i32, row(cell.y as i32, cell.z as i32))
    }

    /// Entries of `count` (1 to 3) cells of a row from `x` on; others may be among them.
    fn run(&self, x: i32, count: usize, row: u64) -> [Range<usize>; 2] {
        let first = bucket(x, row, self.mask);
        let (last, buckets) = (first + count, self.starts.len() - 1);
        let start = |bucket: usize| self.starts[bucket] as usize;
        if last <= buckets {
            [start(first)..start(last), 0..0]
        } else {
            [start(first)..start(buckets), 0..start(last - buckets)]
        }
    }

    /// Calls `visit` once with each two entries that are nearer than `reach` (m, at most a cell's edge), and
    /// with the square of their distance. Where it returns false, nothing more is looked for near the first.
    #[inline(always)]
    pub fn pairs(&self, reach: f32, mut visit: impl FnMut(&Entry, &Entry, f32) -> bool) {
        let squared_reach = reach * reach;
        for (at, entry) in self.entries.iter().enumerate() {
            let mut meet = |row: u64, others: &[Entry]| {
                for other in others {
                    let squared = entry.position.distance_squared(other.position);
                    if squared < squared_reach && other.row == row && !visit(entry, other, squared)
                    {
                        return false;
                    }
                }
                true
            };
            // The rest of its own cell and the next one, then the rows on one side.
            let own = at + 1..self.starts[bucket(entry.x, entry.row, self.mask) + 1] as usize;
            let [next, _] = self.run(entry.x.wrapping_add(1), 1, entry.row);
            let mut go_on = meet(entry.row, &self.entries[own]);
            go_on = go_on && meet(entry.row, &self.entries[next]);
            for side in HALF_OF_THE_ROWS {
                let row = shifted(entry.row, side);
                for run in self.run(entry.x.wrapping_sub(1), 3, row) {
                    go_on = go_on && (run.is_empty() || meet(row, &self.entries[run]));
                }
            }
        }
    }

    /// Calls `visit` with each entry nearer than `reach` (m, at most a cell's edge) to `position`, and with
    /// the way to it, until it returns false.
    #[inline(always)]
    pub fn near(&self, position: Vec4, reach: f32, mut visit: impl FnMut(&Entry, Vec4) -> bool) {
        let (x, middle) = self.cell(position);
        for dz in -1..=1 {
            for dy in -1..=1 {
                let row = shifted(middle, [dy, dz]);
                for run in self.run(x.wrapping_sub(1), 3, row) {
                    for other in &self.entries[run] {
                        let way = other.position - position;
                        if way.length_squared() < reach * reach
                            && other.row == row
                            && !visit(other, way)
                        {
                            return;
                        }
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn bucket(x: i32, row: u64, mask: u32) -> usize {
    let mixed = row.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((x as u32).wrapping_add((mixed >> 32) as u32) & mask) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cloud of points that repeats itself, in a box of edge `size`.
    fn cloud(count: u32, size: f32) -> Vec<Vec4> {
        let mut state = 0x1234_5678_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 16_777_216.0 - 0.5
        };
        (0..count).map(|_| Vec4::new(next() * size, next() * size, next() * size, 0.0)).collect()
    }

    fn numbered(points: &[Vec4]) -> impl Iterator<Item = (u32, Vec4)> {
        points.iter().enumerate().map(|(i, p)| (i as u32, *p))
    }

    #[test]
    fn every_pair_within_a_cell_is_found_once() {
        for (count, size) in [(2, 0.5), (300, 3.0), (300, 30.0), (1000, 8.0)] {
            let points = cloud(count, size);
            let mut expected = Vec::new();
            for (j, b) in points.iter().enumerate() {
                for (i, a) in points[..j].iter().enumerate() {
                    if a.distance_squared(*b) < 1.0 {
                        expected.push((i as u32, j as u32));
                    }
                }
            }
            let mut grid = HashGrid::default();
            grid.build(1.0, numbered(&points));
            let mut found = Vec::new();
            grid.pairs(1.0, |a, b, squared| {
                assert_eq!(squared, a.position.distance_squared(b.position));
                found.push((a.index.min(b.index), a.index.max(b.index)));
                true
            });
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected);
            assert!(count < 300 || !found.is_empty());
        }
    }

    #[test]
    fn what_is_near_a_point_is_found_once() {
        let points = cloud(500, 6.0);
        let mut grid = HashGrid::default();
        grid.build(1.0, numbered(&points));
        for place in cloud(40, 7.0) {
            let near = |p: &Vec4| p.distance_squared(place) < 1.0;
            let expected: Vec<u32> =
                numbered(&points).filter(|(_, p)| near(p)).map(|(i, _)| i).collect();
            let mut found = Vec::new();
            grid.near(place, 1.0, |entry, way| {
                assert_eq!(way, entry.position - place);
                found.push(entry.index);
                true
            });
            found.sort_unstable();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn places_that_no_cell_can_name_are_harmless() {
        let far = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30, f32::MAX];
        let points: Vec<Vec4> = far.iter().map(|v| Vec4::new(*v, -*v, *v, 0.0)).collect();
        let mut grid = HashGrid::default();
        for cell in [1e-3, 1.0, 1e20] {
            grid.build(cell, numbered(&points));
            let mut seen = 0;
            grid.pairs(cell, |_, _, _| {
                seen += 1;
                true
            });
            assert!(seen <= 15);
            points.iter().for_each(|p| grid.near(*p, cell, |_, _| true));
        }
        grid.build(1.0, core::iter::empty());
        grid.pairs(1.0, |_, _, _| unreachable!());
    }
}
