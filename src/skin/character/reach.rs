//! How far each vertex is from each bone along the flesh.
//!
//! Distances from a bone's ellipse, measured inside the silhouette: a front runs through the triangles
//! from each bone (fast marching), all bones at once, nearest vertices first. A bone's front stops where
//! another bone is nearer by more than anyone asks for. Around a gap the way is long, and triangles that
//! bridge one are slow, so an arm that hangs beside the hip is far from it.

use super::grid::{Around, Grid};
use crate::math::ellipse;
use alloc::collections::BinaryHeap;
use bevy::{
    math::{FloatOrd, ops},
    prelude::*,
};
use core::cmp::Reverse;

/// How much longer a way is through rough triangles.
const ROUGH: f32 = 4.0;

/// An ellipse that carries flesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoneShape {
    /// Centre (m, body's frame).
    pub center: Vec2,
    /// Semi-axes (m).
    pub radii: Vec2,
    /// Angle of the first from x (rad).
    pub angle: f32,
}

impl BoneShape {
    /// Distance of a point (m, body's frame) in a straight line; 0 inside.
    pub fn distance(&self, point: Vec2) -> f32 {
        let (sin, cos) = ops::sin_cos(self.angle);
        ellipse::distance(Vec2::new(cos, -sin).rotate(point - self.center), self.radii)
    }

    /// The smaller semi-axis (m).
    pub fn thickness(&self) -> f32 {
        self.radii.min_element()
    }
}

/// A bone near a vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Near {
    /// The bone.
    pub bone: u32,
    /// Its distance (m).
    pub distance: f32,
}

/// A vertex that a front has come to, or is about to.
#[derive(Clone, Copy, Debug)]
struct Label {
    bone: u32,
    distance: f32,
    settled: bool,
}

/// For each node of the grid the bones near it, nearest first, and of two as near that of the lower
/// number: the nearest, and those that are no more than `reach` m further. Flesh that hangs together with
/// no bone goes with the one nearest in a straight line. Without bones the lists are empty.
pub fn near_bones(grid: &Grid, bones: &[BoneShape], reach: f32) -> Vec<Vec<Near>> {
    let around = grid.around();
    let mut fronts = Fronts {
        grid,
        around: &around,
        reach,
        labels: vec![Vec::new(); grid.nodes.len()],
        nearest: vec![f32::INFINITY; grid.nodes.len()],
        heap: BinaryHeap::new(),
    };
    for (index, bone) in bones.iter().enumerate() {
        for seed in seeds(grid, &around, bone) {
            fronts.offer(seed, index as u32, bone.distance(grid.nodes[seed as usize]));
        }
    }
    fronts.run();
    let near = |labels: Vec<Label>| {
        let settled = labels.into_iter().filter(|label| label.settled);
        let mut near: Vec<Near> =
            settled.map(|label| Near { bone: label.bone, distance: label.distance }).collect();
        near.sort_by_key(|near| (FloatOrd(near.distance), near.bone));
        near
    };
    let mut near: Vec<Vec<Near>> = fronts.labels.into_iter().map(near).collect();
    adopt_islands(grid, &around, bones, &mut near);
    near
}

/// The nodes in a bone's ellipse that hang together with its middle, and their neighbours; the node next
/// to its middle, if none is inside.
fn seeds(grid: &Grid, around: &Around, bone: &BoneShape) -> Vec<u32> {
    let to_centre = |node: u32| FloatOrd(grid.nodes[node as usize].distance(bone.center));
    let nodes = 0..grid.nodes.len() as u32;
    let is_inside = |node: u32| {
        let at = grid.nodes[node as usize];
        at.distance(bone.center) <= bone.radii.max_element() && bone.distance(at) == 0.0
    };
    let inside = nodes.clone().filter(|node| is_inside(*node));
    let Some(first) = inside.min_by_key(|n| to_centre(*n)).or(nodes.min_by_key(|n| to_centre(*n)))
    else {
        return Vec::new();
    };
    let mut found = vec![first];
    let mut known = vec![false; grid.nodes.len()];
    known[first as usize] = true;
    let mut next = 0;
    while let Some(&node) = found.get(next) {
        next += 1;
        if node != first && !is_inside(node) {
            continue;
        }
        for &triangle in around.of(node) {
            for corner in grid.triangles[triangle as usize] {
                if !core::mem::replace(&mut known[corner as usize], true) {
                    found.push(corner);
                }
            }
        }
    }
    found
}

/// The fronts of all bones.
struct Fronts<'a> {
    grid: &'a Grid,
    around: &'a Around,
    reach: f32,
    labels: Vec<Vec<Label>>,
    /// Distance of the bone nearest to each node.
    nearest: Vec<f32>,
    heap: BinaryHeap<Reverse<(FloatOrd, u32, u32)>>,
}

impl Fronts<'_> {
    /// Takes a distance of a bone from a node, if it is the least yet.
    fn offer(&mut self, node: u32, bone: u32, distance: f32) {
        let too_far = self.nearest[node as usize] + self.reach;
        if !distance.is_finite() || distance > too_far {
            return;
        }
        let labels = &mut self.labels[node as usize];
        match labels.iter_mut().find(|label| label.bone == bone) {
            Some(label) if label.settled || label.distance <= distance => return,
            Some(label) => label.distance = distance,
            None => labels.push(Label { bone, distance, settled: false }),
        }
        self.heap.push(Reverse((FloatOrd(distance), node, bone)));
    }

    fn run(&mut self) {
        while let Some(Reverse((FloatOrd(distance), node, bone))) = self.heap.pop() {
            let nearest = &mut self.nearest[node as usize];
            if distance > *nearest + self.reach {
                continue;
            }
            *nearest = nearest.min(distance);
            let label = self.labels[node as usize].iter_mut().find(|l| l.bone == bone);
            match label {
                Some(label) if !label.settled && label.distance == distance => label.settled = true,
                _ => continue,
            }
            let around = self.around;
            for &triangle in around.of(node) {
                let slowness = if self.grid.rough[triangle as usize] { ROUGH } else { 1.0 };
                let corners = self.grid.triangles[triangle as usize];
                for (i, &corner) in corners.iter().enumerate().filter(|(_, c)| **c != node) {
                    let other = corners[(i + 1) % 3];
                    let other = if other == node { corners[(i + 2) % 3] } else { other };
                    let distance = self.across([node, other], corner, bone, slowness);
                    self.offer(corner, bone, distance);
                }
            }
        }
    }

    fn settled(&self, node: u32, bone: u32) -> Option<f32> {
        let label = self.labels[node as usize].iter().find(|label| label.bone == bone)?;
        label.settled.then_some(label.distance)
    }

    /// The distance at `to` of a front that comes through a triangle from two nodes, the first of which is
    /// settled: that of a straight front through both, if it comes from between them; else along an edge.
    fn across(&self, from: [u32; 2], to: u32, bone: u32, slowness: f32) -> f32 {
        let Some(a) = self.settled(from[0], bone) else { return f32::INFINITY };
        let at = |node: u32| self.grid.nodes[node as usize];
        let (u, v) = (at(from[0]) - at(to), at(from[1]) - at(to));
        let along = a + slowness * u.length();
        let Some(b) = self.settled(from[1], bone) else { return along };
        let along = along.min(b + slowness * v.length());
        // With P = [u v] and Q = (PᵀP)⁻¹ the front's slope is that of slowness where
        // t² 1ᵀQ1 − 2t 1ᵀQd + dᵀQd = slowness², d = (a, b). [Kimmel & Sethian 1998]
        let q = Mat2::from_cols_array(&[u.dot(u), u.dot(v), u.dot(v), v.dot(v)]).inverse();
        let d = Vec2::new(a, b);
        let (one_one, one_d) = ((q * Vec2::ONE).element_sum(), (q * d).element_sum());
        let root = one_d * one_d - one_one * ((q * d).dot(d) - slowness * slowness);
        if !(root >= 0.0 && one_one > 0.0) {
            return along;
        }
        let t = (one_d + root.sqrt()) / one_one;
        let came_between = (q * (Vec2::splat(t) - d)).cmpge(Vec2::ZERO).all();
        if came_between && t.is_finite() { t.max(a).max(b).min(along) } else { along }
    }
}

/// Gives flesh that no front came to the bone that is nearest to any of it.
fn adopt_islands(grid: &Grid, around: &Around, bones: &[BoneShape], near: &mut [Vec<Near>]) {
    for start in 0..near.len() {
        if !near[start].is_empty() {
            continue;
        }
        let mut island = vec![start as u32];
        let mut known = vec![false; near.len()];
        known[start] = true;
        let mut next = 0;
        while let Some(&node) = island.get(next) {
            next += 1;
            for &triangle in around.of(node) {
                for corner in grid.triangles[triangle as usize] {
                    if !core::mem::replace(&mut known[corner as usize], true) {
                        island.push(corner);
                    }
                }
            }
        }
        let distance = |bone: &BoneShape| {
            let from = |node: &u32| bone.distance(grid.nodes[*node as usize]);
            FloatOrd(island.iter().map(from).fold(f32::INFINITY, f32::min))
        };
        let Some((bone, _)) = bones.iter().enumerate().min_by_key(|(_, bone)| distance(bone))
        else {
            return;
        };
        for node in island {
            near[node as usize] = vec![Near { bone: bone as u32, distance: 0.0 }];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::grid::tests::picture, *};

    fn round(x: f32, y: f32, radius: f32) -> BoneShape {
        BoneShape { center: Vec2::new(x, y), radii: Vec2::splat(radius), angle: 0.0 }
    }

    fn distance(near: &[Near], bone: u32) -> Option<f32> {
        near.iter().find(|near| near.bone == bone).map(|near| near.distance)
    }

    #[test]
    fn in_the_open_distances_are_straight() {
        let grid = Grid::new(&picture(UVec2::splat(60), |_| true), 2.0, 0.05, &[]);
        let bone =
            BoneShape { center: Vec2::new(-0.2, 0.1), radii: Vec2::new(0.3, 0.1), angle: 0.7 };
        let near = near_bones(&grid, &[bone], 10.0);
        for (node, near) in grid.nodes.iter().zip(&near) {
            let expected = bone.distance(*node);
            let own = distance(near, 0).expect("is reached");
            assert!((own - expected).abs() < 0.02 + 0.02 * expected, "{node}: {own} {expected}");
        }
    }

    #[test]
    fn around_a_gap_the_way_is_long() {
        // A horseshoe: two legs, joined at the top, a gap of two pixels between them.
        let shape = |p: Vec2| !((29.0..31.0).contains(&p.x) && p.y > 10.0);
        let grid = Grid::new(&picture(UVec2::splat(60), shape), 2.0, 0.08, &[]);
        let bones = [round(-0.3, -0.9, 0.1), round(0.3, -0.9, 0.1)];
        let near = near_bones(&grid, &bones, 0.2);
        let lower = |n: &Vec2| n.y < -0.5;
        for (node, near) in grid.nodes.iter().zip(&near).filter(|(n, _)| lower(n)) {
            let own = u32::from(node.x > 0.0);
            if node.x.abs() > 0.09 {
                assert_eq!(near[0].bone, own, "{node}");
                assert_eq!(distance(near, 1 - own), None, "{node}");
            }
        }
    }

    #[test]
    fn what_hangs_on_nothing_goes_with_the_nearest_bone() {
        let hat = |p: Vec2| p.y < 8.0 || p.y > 20.0;
        let grid = Grid::new(&picture(UVec2::splat(60), hat), 1.0, 0.05, &[]);
        let bones = [round(0.0, -0.3, 0.1), round(0.3, 0.1, 0.02)];
        let near = near_bones(&grid, &bones, 0.1);
        for (node, near) in grid.nodes.iter().zip(&near) {
            assert!(!near.is_empty());
            if node.y > 0.36 {
                assert_eq!(*near, [Near { bone: 1, distance: 0.0 }]);
            }
        }
    }

    #[test]
    fn a_bone_smaller_than_a_cell_has_flesh_and_nonsense_is_finite() {
        let grid = Grid::new(&picture(UVec2::splat(20), |_| true), 1.0, 0.25, &[]);
        let bones = [
            round(0.13, 0.12, 1e-3),
            round(f32::NAN, 0.0, 0.1),
            round(0.0, 0.0, f32::NAN),
            round(-0.4, 0.0, -1.0),
        ];
        let near = near_bones(&grid, &bones, 1.0);
        assert!(near.iter().all(|near| distance(near, 0).is_some()));
        assert!(near.iter().flatten().all(|near| near.distance.is_finite()));
        assert!(near_bones(&grid, &[], 1.0).iter().all(Vec::is_empty));
        assert!(near_bones(&Grid::default(), &bones, 1.0).is_empty());
    }
}
