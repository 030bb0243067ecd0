//! Axis-aligned boxes, and a tree of them.
//!
//! ```text
//!            ┌───────┐
//!        ┌───┴───┐ ┌─┴─┐     leaves hold up to four boxes; a node splits its boxes at the median
//!       ▭▭▭▭   ▭▭▭▭  ▭▭▭     of their centres along the longest axis
//! ```

use bevy::math::{Vec3, Vec3A};

/// An axis-aligned box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Least corner (m).
    pub min: Vec3A,
    /// Greatest corner (m).
    pub max: Vec3A,
}

impl Default for Bounds {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Bounds {
    /// Encloses nothing.
    pub const EMPTY: Self = Self { min: Vec3A::INFINITY, max: Vec3A::NEG_INFINITY };
    /// Encloses everything.
    pub const ALL: Self = Self { min: Vec3A::NEG_INFINITY, max: Vec3A::INFINITY };

    /// The box around some points.
    pub fn around(points: impl IntoIterator<Item = Vec3>) -> Self {
        points.into_iter().fold(Self::EMPTY, |bounds, point| bounds.with(point.into()))
    }

    /// Encloses `point` too.
    #[inline]
    pub fn with(self, point: Vec3A) -> Self {
        Self { min: self.min.min(point), max: self.max.max(point) }
    }

    /// Encloses both.
    #[inline]
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Larger by `margin` (m) on each side.
    #[inline]
    pub fn inflate(self, margin: f32) -> Self {
        Self { min: self.min - margin, max: self.max + margin }
    }

    /// Moved by `shift` (m).
    #[inline]
    pub fn shifted(self, shift: Vec3A) -> Self {
        Self { min: self.min + shift, max: self.max + shift }
    }

    /// Whether the two have a point in common. Not for what is not a number.
    #[inline]
    pub fn overlaps(&self, other: &Self) -> bool {
        (self.min.cmple(other.max) & other.min.cmple(self.max)).all()
    }

    /// Whether `other` lies inside.
    #[inline]
    pub fn contains(&self, other: &Self) -> bool {
        (self.min.cmple(other.min) & other.max.cmple(self.max)).all()
    }

    /// No two points inside are further apart than this (m); 0 where it encloses nothing.
    #[inline]
    pub fn diagonal(&self) -> f32 {
        if self.min.x > self.max.x { 0.0 } else { (self.max - self.min).length() }
    }

    /// The middle.
    #[inline]
    pub fn centre(&self) -> Vec3A {
        0.5 * (self.min + self.max)
    }
}

/// Boxes a leaf.
const LEAF: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Node {
    bounds: Bounds,
    /// Items of a leaf; for an inner node its subtree's.
    start: u32,
    end: u32,
    /// The node after this one's subtree.
    skip: u32,
}

/// A bounding volume hierarchy over boxes, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct BoundsTree {
    nodes: Vec<Node>,
    items: Vec<u32>,
}

impl BoundsTree {
    /// A tree over `boxes`. Boxes that reach to infinity are kept where every query looks.
    pub fn new(boxes: &[Bounds]) -> Self {
        let mut tree = Self { nodes: Vec::new(), items: (0..boxes.len() as u32).collect() };
        if !boxes.is_empty() {
            tree.split(boxes, 0, boxes.len());
        }
        tree
    }

    fn split(&mut self, boxes: &[Bounds], start: usize, end: usize) {
        let mut bounds = Bounds::EMPTY;
        let mut centres = Bounds::EMPTY;
        for &item in &self.items[start..end] {
            bounds = bounds.union(boxes[item as usize]);
            let centre = boxes[item as usize].centre();
            centres = centres.with(if centre.is_finite() { centre } else { Vec3A::ZERO });
        }
        let node = self.nodes.len();
        self.nodes.push(Node { bounds, start: start as u32, end: end as u32, skip: 0 });
        if end - start > LEAF {
            let extent = centres.max - centres.min;
            let axis = if extent.x >= extent.y && extent.x >= extent.z {
                0
            } else if extent.y >= extent.z {
                1
            } else {
                2
            };
            let key = |item: u32| {
                let centre = boxes[item as usize].centre()[axis];
                if centre.is_finite() { centre } else { 0.0 }
            };
            let middle = (end - start) / 2;
            self.items[start..end]
                .select_nth_unstable_by(middle, |a, b| key(*a).total_cmp(&key(*b)).then(a.cmp(b)));
            self.split(boxes, start, start + middle);
            self.split(boxes, start + middle, end);
        }
        self.nodes[node].skip = self.nodes.len() as u32;
    }

    /// Calls `visit` with each box's number that may overlap `bounds`, in the tree's order.
    pub fn query(&self, bounds: &Bounds, mut visit: impl FnMut(u32)) {
        let mut place = 0;
        while let Some(node) = self.nodes.get(place) {
            if !node.bounds.overlaps(bounds) {
                place = node.skip as usize;
                continue;
            }
            place += 1;
            // A leaf is followed by what comes after it.
            if node.skip as usize == place {
                self.items[node.start as usize..node.end as usize]
                    .iter()
                    .for_each(|item| visit(*item));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_finds_what_a_plain_search_finds() {
        let boxes: Vec<Bounds> = (0..333u32)
            .map(|i| {
                let at = |k: f32| (i as f32 * k).sin() * 10.0;
                let centre = Vec3A::new(at(1.7), at(2.3), at(0.9));
                Bounds::EMPTY.with(centre).inflate(0.2 + 0.01 * (i % 9) as f32)
            })
            .chain([Bounds::ALL])
            .collect();
        let tree = BoundsTree::new(&boxes);
        for i in 0..50 {
            let asked = boxes[i * 6].inflate(0.7);
            let mut found = Vec::new();
            tree.query(&asked, |item| {
                if boxes[item as usize].overlaps(&asked) {
                    found.push(item);
                }
            });
            found.sort_unstable();
            let plain: Vec<u32> =
                (0..334).filter(|b| boxes[*b as usize].overlaps(&asked)).collect();
            assert_eq!(found, plain);
        }
        assert!(tree.nodes.len() < 334);
    }

    #[test]
    fn the_diagonal_bounds_all_differences() {
        assert_eq!(Bounds::EMPTY.diagonal(), 0.0);
        let one = Bounds::EMPTY.with(Vec3A::X);
        assert_eq!(one.diagonal(), 0.0);
        assert_eq!(one.with(-Vec3A::X).diagonal(), 2.0);
    }

    #[test]
    fn a_tree_of_nothing_finds_nothing() {
        let mut found = 0;
        BoundsTree::new(&[]).query(&Bounds::ALL, |_| found += 1);
        assert_eq!(found, 0);
    }
}
