//! Which bones move each vertex, and how much.
//!
//! A vertex goes with the bone nearest to it, its *owner*. Where bones that are joined are about as near,
//! they share it: a bone that is further than the owner by x counts 1 − smoothstep(x/softness), the
//! softness being the bones' thickness there, so that a limb bends over about its own thickness.
//!
//! A bone that is not joined to the owner counts times the share of the bones between them. That makes
//! weights continuous wherever flesh hangs together, since where the owner changes both have full shares;
//! and an arm that lies on the hip, joined to it only by way of the shoulder, takes no part in moving it.
//! Where it touches the hip, nodes are split, so that flesh is cut there rather than drawn out.

use super::{
    grid::{Around, Grid, Silhouette},
    reach::{BoneShape, Near, near_bones},
};
use bevy::{math::FloatOrd, prelude::*};

/// At most so many bones move a vertex.
pub const INFLUENCES: usize = 4;
/// Bones that have at least this share by way of others hang together with the owner.
const JOINED: f32 = 0.25;
/// Shares below this are dropped.
const LEAST: f32 = 1e-3;
/// How often weights are averaged with their neighbours'.
const SMOOTHINGS: usize = 2;

/// A mesh and the bones that move it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Binding {
    /// Positions at rest (m, body's frame).
    pub positions: Vec<Vec2>,
    /// Places on the picture (pixels from its upper left corner, y down).
    pub pixels: Vec<Vec2>,
    /// Triangles by vertex, counter-clockwise.
    pub triangles: Vec<[u32; 3]>,
    /// The bones that move each vertex.
    pub joints: Vec<[u16; INFLUENCES]>,
    /// How much they do: falling, not negative, of sum 1.
    pub weights: Vec<[f32; INFLUENCES]>,
}

/// Bones and their shares in a vertex.
type Shares = Vec<(u32, f32)>;

/// Ties the grid of a picture `height` m high to bones, of which those in `joints` are joined. Without bones
/// nothing is drawn.
pub fn bind_picture(
    picture: &Silhouette,
    height: f32,
    spacing: f32,
    bones: &[BoneShape],
    joints: &[[u32; 2]],
) -> Binding {
    let coarse = Grid::new(picture, height, spacing, &[]);
    let Some(binder) = Binder::new(&coarse, bones, joints) else { return Binding::default() };
    let cut = binder.cut_cells();
    if cut.is_empty() {
        return binder.bind();
    }
    // Cut along finer triangles, hardly anything goes with the wrong side.
    let fine = Grid::new(picture, height, spacing, &cut);
    Binder::new(&fine, bones, joints).map_or_else(Binding::default, |binder| binder.bind())
}

/// For each bone those joined to it, sorted.
pub fn neighbours(bones: usize, joints: &[[u32; 2]]) -> Vec<Vec<u32>> {
    let mut neighbours = vec![Vec::new(); bones];
    for &[a, b] in joints {
        if a != b && (a.max(b) as usize) < bones {
            neighbours[a as usize].push(b);
            neighbours[b as usize].push(a);
        }
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    neighbours
}

struct Binder<'a> {
    grid: &'a Grid,
    bones: &'a [BoneShape],
    joined: Vec<Vec<u32>>,
    near: Vec<Vec<Near>>,
}

impl<'a> Binder<'a> {
    /// `None` without bones.
    fn new(grid: &'a Grid, bones: &'a [BoneShape], joints: &[[u32; 2]]) -> Option<Self> {
        // Influences are stored in 16 bits.
        let bones = &bones[..bones.len().min(1 << 16)];
        let thickness = bones.iter().map(BoneShape::thickness).filter(|t| t.is_finite());
        let reach = thickness.fold(grid.spacing, f32::max);
        let near = near_bones(grid, bones, reach);
        let joined = neighbours(bones.len(), joints);
        (!bones.is_empty()).then_some(Self { grid, bones, joined, near })
    }

    fn bind(&self) -> Binding {
        let (mut binding, shares) = self.split();
        for shares in smoothed(&binding.triangles, shares) {
            let (joints, weights) = strongest(shares);
            binding.joints.push(joints);
            binding.weights.push(weights);
        }
        binding
    }

    /// The cells in which flesh touches that does not hang together.
    fn cut_cells(&self) -> Vec<u32> {
        let triangles = self.all_strangers().into_iter().zip(&self.grid.cells);
        let cut = triangles.filter(|(strangers, _)| strangers.contains(&true));
        let mut cells: Vec<u32> = cut.map(|(_, cell)| *cell).collect();
        cells.dedup();
        cells
    }

    /// For each triangle which corners do not hang together with the others.
    fn all_strangers(&self) -> Vec<[bool; 3]> {
        let groups: Vec<Vec<u32>> =
            (0..self.grid.nodes.len() as u32).map(|node| self.group(node)).collect();
        self.grid.triangles.iter().map(|t| self.strangers(*t, &groups)).collect()
    }

    fn owner(&self, node: u32) -> u32 {
        self.near[node as usize].first().map_or(0, |near| near.bone)
    }

    fn are_joined(&self, a: u32, b: u32) -> bool {
        self.joined[a as usize].binary_search(&b).is_ok()
    }

    fn distance(&self, node: u32, bone: u32) -> f32 {
        let known = self.near[node as usize].iter().find(|near| near.bone == bone);
        known.map_or_else(
            || self.bones[bone as usize].distance(self.grid.nodes[node as usize]),
            |near| near.distance,
        )
    }

    /// Over how much difference in distance bones share a node (m): the harmonic mean of the thickness of
    /// those near, the nearest first of all.
    fn softness(&self, distances: &[(u32, f32)]) -> f32 {
        let spacing = self.grid.spacing;
        let (mut sum, mut inverse) = (0.0, 0.0);
        for (bone, distance) in distances {
            let nearness = (distance + spacing).powi(-2);
            let thickness = self.bones[*bone as usize].thickness();
            sum += nearness;
            inverse += nearness / if thickness > spacing { thickness } else { spacing };
        }
        let softness = sum / inverse;
        if softness.is_finite() { softness } else { spacing }
    }

    /// The bones that hang together with `owner` at a node, each with how much of its share reaches there,
    /// and its share.
    fn together(&self, node: u32, owner: u32) -> Vec<(u32, f32, f32)> {
        let mut distances: Shares =
            self.near[node as usize].iter().map(|near| (near.bone, near.distance)).collect();
        // Bones that another bone keeps away from here are still its neighbours.
        for bone in core::iter::once(owner).chain(self.joined[owner as usize].iter().copied()) {
            if !distances.iter().any(|(known, _)| *known == bone) {
                distances.push((bone, self.distance(node, bone)));
            }
        }
        let softness = self.softness(&distances);
        let from = self.distance(node, owner);
        let share = |distance: f32| 1.0 - smoothstep((distance - from) / softness);
        // Bone, the greatest product of the shares of bones on a way to it, its own share.
        let mut found = vec![(owner, 1.0, 1.0)];
        let mut open: Shares =
            distances.into_iter().map(|(b, d)| (b, share(d))).filter(|(_, s)| *s > LEAST).collect();
        open.retain(|(bone, _)| *bone != owner);
        // The best of those left is the best there is, as shares are at most 1.
        loop {
            let way = |bone: u32| {
                let by = found.iter().filter(|(b, ..)| self.are_joined(*b, bone));
                by.map(|(_, way, share)| way * share).fold(0.0, f32::max)
            };
            let best = open
                .iter()
                .enumerate()
                .map(|(i, (bone, share))| (i, way(*bone), *share))
                .max_by_key(|(i, way, share)| (FloatOrd(way * share), core::cmp::Reverse(*i)));
            match best {
                Some((i, way, share)) if way * share > LEAST => {
                    found.push((open.swap_remove(i).0, way, share));
                }
                _ => return found,
            }
        }
    }

    /// Shares in a node that goes with `owner`, of sum 1.
    fn shares(&self, node: u32, owner: u32) -> Shares {
        let together = self.together(node, owner);
        let shares = together.into_iter().map(|(bone, way, share)| (bone, way * share));
        normalized(shares.collect())
    }

    /// Splits nodes where flesh touches that does not hang together: the mesh, but for influences, and the
    /// shares of its vertices.
    fn split(&self) -> (Binding, Vec<Shares>) {
        let nodes = self.grid.nodes.len() as u32;
        let mut binding = Binding {
            positions: self.grid.nodes.clone(),
            pixels: self.grid.pixels.clone(),
            triangles: self.grid.triangles.clone(),
            ..default()
        };
        let mut shares: Vec<Shares> =
            (0..nodes).map(|node| self.shares(node, self.owner(node))).collect();
        let mut strangers = Vec::new();
        let is_stranger = self.all_strangers();
        for (triangle, is_stranger) in is_stranger.iter().enumerate() {
            for corner in (0..3).filter(|c| is_stranger[*c]) {
                strangers.push((self.grid.triangles[triangle][corner], triangle as u32));
            }
        }
        strangers.sort_unstable();
        for at_node in strangers.chunk_by(|a, b| a.0 == b.0) {
            let node = at_node[0].0;
            let mut left: Vec<u32> = at_node.iter().map(|(_, triangle)| *triangle).collect();
            while let Some(fan) = self.take_fan(node, &mut left) {
                let hosts = fan.iter().flat_map(|triangle| {
                    let corners = self.grid.triangles[*triangle as usize];
                    let guests = is_stranger[*triangle as usize];
                    (0..3).filter(move |c| !guests[*c]).map(move |c| corners[c])
                });
                let owners = hosts.map(|host| self.owner(host));
                let owner = owners.min_by_key(|o| (FloatOrd(self.distance(node, *o)), *o));
                let vertex = binding.positions.len() as u32;
                binding.positions.push(self.grid.nodes[node as usize]);
                binding.pixels.push(self.grid.pixels[node as usize]);
                shares.push(self.shares(node, owner.unwrap_or(0)));
                for triangle in fan {
                    let corners = &mut binding.triangles[triangle as usize];
                    corners.iter_mut().filter(|c| **c == node).for_each(|c| *c = vertex);
                }
            }
        }
        drop_unused(&mut binding, &mut shares);
        (binding, shares)
    }

    /// The bones that hang together with the owner of a node, the owner first.
    fn group(&self, node: u32) -> Vec<u32> {
        let together = self.together(node, self.owner(node));
        together.into_iter().filter(|(_, way, _)| *way >= JOINED).map(|(bone, ..)| bone).collect()
    }

    /// Which corners of a triangle do not hang together with those that it goes with: the one with most
    /// friends, and its friends.
    fn strangers(&self, triangle: [u32; 3], groups: &[Vec<u32>]) -> [bool; 3] {
        let friends = |a: u32, b: u32| {
            let (owner_a, owner_b) = (self.owner(a), self.owner(b));
            owner_a == owner_b
                || self.are_joined(owner_a, owner_b)
                || groups[a as usize].contains(&owner_b)
                || groups[b as usize].contains(&owner_a)
        };
        let [a, b, c] = triangle;
        let pairs = [friends(a, b), friends(b, c), friends(c, a)];
        let count = |corner: usize| u32::from(pairs[corner]) + u32::from(pairs[(corner + 2) % 3]);
        let nearness = |corner: usize| {
            let node = triangle[corner];
            core::cmp::Reverse(FloatOrd(self.distance(node, self.owner(node))))
        };
        let host = (0..3).max_by_key(|corner| (count(*corner), nearness(*corner))).unwrap_or(0);
        core::array::from_fn(|corner| corner != host && !friends(triangle[corner], triangle[host]))
    }

    /// Takes those triangles at a node that hang together by edges.
    fn take_fan(&self, node: u32, left: &mut Vec<u32>) -> Option<Vec<u32>> {
        let corners = |triangle: u32| self.grid.triangles[triangle as usize];
        let mut fan = vec![left.pop()?];
        let mut next = 0;
        while let Some(&triangle) = fan.get(next) {
            next += 1;
            let shares_edge = |other: &u32| {
                let others = corners(*other);
                corners(triangle).iter().any(|c| *c != node && others.contains(c))
            };
            fan.extend(left.extract_if(.., |other| shares_edge(other)));
        }
        Some(fan)
    }
}

/// 0 up to 0, 1 from 1 on, level at both.
fn smoothstep(x: f32) -> f32 {
    let x = x.clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

fn normalized(mut shares: Shares) -> Shares {
    let sum: f32 = shares.iter().map(|(_, share)| share).sum();
    if sum > 0.0 {
        shares.iter_mut().for_each(|(_, share)| *share /= sum);
    }
    shares
}

/// Leaves out vertices that no triangle has any more.
fn drop_unused(binding: &mut Binding, shares: &mut Vec<Shares>) {
    let mut new_index = vec![u32::MAX; binding.positions.len()];
    for corner in binding.triangles.as_flattened() {
        new_index[*corner as usize] = 0;
    }
    for (number, index) in new_index.iter_mut().filter(|index| **index == 0).enumerate() {
        *index = number as u32;
    }
    let is_used = |index: &mut usize| {
        *index += 1;
        new_index[*index - 1] != u32::MAX
    };
    let mut at = [0; 3];
    let [first, second, third] = &mut at;
    binding.positions.retain(|_| is_used(first));
    binding.pixels.retain(|_| is_used(second));
    shares.retain(|_| is_used(third));
    for corner in binding.triangles.as_flattened_mut() {
        *corner = new_index[*corner as usize];
    }
}

/// Shares averaged with those of the vertices beside, so that no crease follows the grid.
fn smoothed(triangles: &[[u32; 3]], mut shares: Vec<Shares>) -> Vec<Shares> {
    let around = Around::new(shares.len(), triangles);
    for _ in 0..SMOOTHINGS {
        let smoothed = |vertex: u32| {
            let mut sum: Shares = Vec::new();
            let mut add = |of: u32, weight: f32| {
                for (bone, share) in &shares[of as usize] {
                    match sum.iter_mut().find(|(known, _)| known == bone) {
                        Some((_, sum)) => *sum += weight * share,
                        None => sum.push((*bone, weight * share)),
                    }
                }
            };
            let beside = around.of(vertex);
            // A vertex beside is in two triangles, or in one at the border.
            add(vertex, (2 * beside.len()) as f32);
            for triangle in beside {
                for corner in triangles[*triangle as usize] {
                    if corner != vertex {
                        add(corner, 1.0);
                    }
                }
            }
            normalized(sum)
        };
        shares = (0..shares.len() as u32).map(smoothed).collect();
    }
    shares
}

/// The strongest influences, of sum 1. What the first one left out has is taken from each, so that
/// nothing jumps where two change places.
fn strongest(mut shares: Shares) -> ([u16; INFLUENCES], [f32; INFLUENCES]) {
    shares.sort_by_key(|(bone, share)| (core::cmp::Reverse(FloatOrd(*share)), *bone));
    let floor = shares.get(INFLUENCES).map_or(0.0, |(_, share)| *share).max(LEAST);
    let (mut joints, mut weights) = ([0; INFLUENCES], [0.0; INFLUENCES]);
    for (slot, (bone, share)) in shares.iter().take(INFLUENCES).enumerate() {
        weights[slot] = (share - floor).max(0.0);
        if weights[slot] > 0.0 || slot == 0 {
            joints[slot] = *bone as u16;
        }
    }
    let sum: f32 = weights.iter().sum();
    if sum > 0.0 {
        weights.iter_mut().for_each(|weight| *weight /= sum);
    } else {
        weights = [1.0, 0.0, 0.0, 0.0];
    }
    // What rounding leaves goes to the strongest.
    weights[0] = 1.0 - (weights[1] + weights[2] + weights[3]);
    (joints, weights)
}

#[cfg(test)]
mod tests {
    use super::{super::grid::tests::picture, *};

    fn bind(grid: &Grid, bones: &[BoneShape], joints: &[[u32; 2]]) -> Binding {
        Binder::new(grid, bones, joints).map_or_else(Binding::default, |binder| binder.bind())
    }

    fn ellipse(x: f32, y: f32, a: f32, b: f32, angle: f32) -> BoneShape {
        BoneShape { center: Vec2::new(x, y), radii: Vec2::new(a, b), angle }
    }

    /// A limb of three bones along x, 3 m by 1 m.
    fn limb(spacing: f32) -> (Grid, [BoneShape; 3], [[u32; 2]; 2]) {
        let grid = Grid::new(&picture(UVec2::new(120, 40), |_| true), 1.0, spacing, &[]);
        let bones = [-1.0, 0.0, 1.0].map(|x| ellipse(x, 0.0, 0.5, 0.35, 0.0));
        (grid, bones, [[0, 1], [1, 2]])
    }

    fn weight(binding: &Binding, vertex: usize, bone: u16) -> f32 {
        let pairs = binding.joints[vertex].iter().zip(binding.weights[vertex]);
        pairs.filter(|(joint, _)| **joint == bone).map(|(_, weight)| weight).sum()
    }

    fn assert_sound(binding: &Binding, bones: usize) {
        assert_eq!(binding.positions.len(), binding.weights.len());
        for (joints, weights) in binding.joints.iter().zip(&binding.weights) {
            assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-6, "{weights:?}");
            assert!(weights.iter().all(|w| (0.0..=1.0).contains(w)), "{weights:?}");
            assert!(joints.iter().all(|j| (*j as usize) < bones));
        }
        let vertices = binding.positions.len() as u32;
        assert!(binding.triangles.as_flattened().iter().all(|corner| *corner < vertices));
    }

    #[test]
    fn a_limb_follows_its_bones_and_bends_smoothly_between() {
        let (grid, bones, joints) = limb(0.05);
        let binding = bind(&grid, &bones, &joints);
        assert_sound(&binding, 3);
        assert_eq!(binding.positions.len(), grid.nodes.len());
        for (vertex, at) in binding.positions.iter().enumerate() {
            let expected = (at.x + 1.5).floor().clamp(0.0, 2.0) as u16;
            let to_joint = (at.x.abs() - 0.5).abs();
            if to_joint > 0.4 {
                assert!(weight(&binding, vertex, expected) > 0.99, "{at}");
            }
            if to_joint < 1e-3 {
                assert!((weight(&binding, vertex, 1) - 0.5).abs() < 0.05, "{at}");
            }
        }
        // Along each edge weights change by no more than a smooth step over the thickness would.
        let most = 1.5 * grid.spacing * core::f32::consts::SQRT_2 / 0.35 + 0.02;
        for [a, b, c] in &binding.triangles {
            for [a, b] in [[a, b], [b, c], [c, a]] {
                for bone in 0..3 {
                    let change =
                        weight(&binding, *a as usize, bone) - weight(&binding, *b as usize, bone);
                    assert!(change.abs() <= most, "{change} of {most}");
                }
            }
        }
    }

    #[test]
    fn where_flesh_touches_that_does_not_hang_together_it_is_cut() {
        // An arm of two bones, folded back on the body it hangs on: 0 is the body, 1 the upper arm and 2
        // the forearm, which lies against the body without a gap.
        let grid = Grid::new(&picture(UVec2::new(80, 80), |_| true), 4.0, 0.1, &[]);
        let bones = [
            ellipse(-1.0, 0.0, 0.9, 1.9, 0.0),
            ellipse(1.0, 1.2, 0.9, 0.6, 0.0),
            ellipse(1.0, -0.8, 0.9, 1.1, 0.0),
        ];
        let binding = bind(&grid, &bones, &[[0, 1], [1, 2]]);
        assert_sound(&binding, 3);
        assert!(binding.positions.len() > grid.nodes.len());
        for (vertex, at) in binding.positions.iter().enumerate() {
            if at.y < -0.5 {
                // No share of one in the other, though they touch.
                let both = weight(&binding, vertex, 0).min(weight(&binding, vertex, 2));
                assert_eq!(both, 0.0, "{at}");
            }
        }
        // And no triangle has corners on both sides, so none is drawn out.
        for triangle in &binding.triangles {
            let [body, arm] = [0, 2].map(|bone| {
                triangle.map(|v| weight(&binding, v as usize, bone)).into_iter().fold(0.0, f32::max)
            });
            let y = triangle.map(|v| binding.positions[v as usize].y);
            assert!(body * arm == 0.0 || y.iter().all(|y| *y > -0.5), "{y:?} {body} {arm}");
        }
    }

    #[test]
    fn joined_flesh_is_not_cut() {
        let (grid, bones, joints) = limb(0.1);
        assert_eq!(bind(&grid, &bones, &joints).positions.len(), grid.nodes.len());
        // Three limbs that meet in one bone.
        let grid = Grid::new(&picture(UVec2::new(60, 60), |_| true), 3.0, 0.1, &[]);
        let star = [
            ellipse(0.0, 0.0, 0.5, 0.5, 0.0),
            ellipse(0.0, 1.0, 0.3, 0.5, 0.0),
            ellipse(0.9, -0.6, 0.6, 0.3, -0.6),
            ellipse(-0.9, -0.6, 0.6, 0.3, 0.6),
        ];
        let binding = bind(&grid, &star, &[[0, 1], [0, 2], [3, 0]]);
        assert_sound(&binding, 4);
        let at_middle = |p: &&Vec2| p.length() < 0.5;
        let middle = binding.positions.iter().filter(at_middle).count();
        assert_eq!(middle, grid.nodes.iter().filter(at_middle).count());
    }

    #[test]
    fn four_influences_are_kept_and_none_jumps() {
        let before: Shares = (0..6).map(|i| (i, 1.0 / 6.0)).collect();
        let (joints, weights) = strongest(before);
        assert_eq!((joints[0], weights), (0, [1.0, 0.0, 0.0, 0.0]));
        let shares =
            |fourth: f32, fifth: f32| vec![(0, 0.3), (1, 0.25), (2, 0.2), (3, fourth), (4, fifth)];
        let (a, b) = (strongest(shares(0.1251, 0.1249)), strongest(shares(0.1249, 0.1251)));
        for (a, b) in a.1.into_iter().zip(b.1) {
            assert!((a - b).abs() < 2e-3);
        }
        assert!(a.1[3] < 2e-3);
    }

    #[test]
    fn more_than_256_bones_are_told_apart() {
        let grid = Grid::new(&picture(UVec2::new(900, 6), |_| true), 0.06, 0.02, &[]);
        let bones: Vec<BoneShape> =
            (0..300).map(|i| ellipse(0.03 * i as f32 - 4.485, 0.0, 0.015, 0.02, 0.0)).collect();
        let joints: Vec<[u32; 2]> = (1..300).map(|i| [i - 1, i]).collect();
        let binding = bind(&grid, &bones, &joints);
        assert_sound(&binding, 300);
        for (vertex, at) in binding.positions.iter().enumerate() {
            let nearest = ((at.x + 4.485) / 0.03).round().clamp(0.0, 299.0) as u16;
            let off = binding.joints[vertex][0].abs_diff(nearest);
            assert!(off <= 1, "{at}");
        }
    }

    #[test]
    fn nonsense_binds_to_something_finite() {
        let (grid, ..) = limb(0.2);
        let bones = [
            ellipse(f32::NAN, 0.0, 1.0, 1.0, 0.0),
            ellipse(0.0, 0.0, 0.0, 0.0, f32::NAN),
            ellipse(0.0, 0.0, f32::INFINITY, 1.0, 0.0),
            ellipse(0.2, 0.0, -1.0, f32::NAN, 0.0),
        ];
        for bones in [&bones[..], &bones[..1], &bones[1..2], &bones[2..]] {
            let binding = bind(&grid, bones, &[[0, 7], [0, 0], [0, 1], [1, 0]]);
            assert_sound(&binding, bones.len());
        }
        assert_eq!(bind(&grid, &[], &[]), Binding::default());
    }
}
