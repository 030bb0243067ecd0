//! Welding: from vertices, which textures and hard edges split, to particles.
//!
//! Vertices are taken in order. One that lies where an earlier one does, exactly or within the
//! tolerance of the *first* vertex of a particle, belongs to that particle. So a chain of vertices each
//! near the next does not collapse into a point: a particle is never wider than twice the tolerance.

use bevy::{
    math::{DVec3, I64Vec3},
    platform::{
        collections::{HashMap, HashSet},
        hash::FixedHasher,
    },
    prelude::*,
};

/// The particle of a vertex that has none.
pub(crate) const NO_PARTICLE: u32 = u32::MAX;

/// A triangle whose height is less than this part of its longest edge has no area.
const FLAT: f64 = 1e-6;

/// Size of a cell of the spatial hash, in tolerances: large, so that few vertices lie near a border.
const CELL: f64 = 16.0;

/// A mesh to weld, in the body's frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeldInput<'a> {
    /// One a vertex (m).
    pub positions: &'a [Vec3],
    /// Triangles by vertex; every index has a position.
    pub faces: &'a [[u32; 3]],
}

/// Particles and the triangles between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Welded {
    /// Rest positions (m, in the body's frame).
    pub rest: Vec<Vec3>,
    /// Triangles by particle; the second of two with the same corners is left out.
    pub triangles: Vec<[u32; 3]>,
}

/// How one of the welded meshes hangs on the particles.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WeldedPart {
    /// For each vertex its particle, or [`NO_PARTICLE`].
    pub particle_of: Vec<u32>,
    /// The triangles to draw, by vertex: each corner has a particle.
    pub faces: Vec<[u32; 3]>,
}

/// What was left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Skipped {
    /// Faces with an index that has no vertex.
    pub out_of_range: u32,
    /// Faces with a corner that is not finite.
    pub not_finite: u32,
    /// Faces without area.
    pub degenerate: u32,
    /// Vertices of no face.
    pub unreferenced: u32,
}

/// Welds meshes into one. `tolerance` is relative to the longest side of their common bounding box.
pub(super) fn weld(parts: &[WeldInput<'_>], tolerance: f32) -> (Welded, Vec<WeldedPart>, Skipped) {
    let mut skipped = Skipped::default();
    let mut welded_parts: Vec<WeldedPart> = Vec::with_capacity(parts.len());
    // Which vertices belong to a usable face; NO_PARTICLE for the others.
    for part in parts {
        let finite =
            |face: &&[u32; 3]| face.iter().all(|i| part.positions[*i as usize].is_finite());
        let faces: Vec<[u32; 3]> = part.faces.iter().filter(finite).copied().collect();
        skipped.not_finite += (part.faces.len() - faces.len()) as u32;
        let mut particle_of = vec![NO_PARTICLE; part.positions.len()];
        faces.iter().flatten().for_each(|i| particle_of[*i as usize] = 0);
        welded_parts.push(WeldedPart { particle_of, faces });
    }
    let mut rest = place(parts, &mut welded_parts, tolerance);
    let mut triangles = Vec::new();
    for part in &mut welded_parts {
        let all = part.faces.len();
        part.faces.retain(|face| {
            let corners = face.map(|i| part.particle_of[i as usize]);
            let has_area = has_area(corners.map(|i| rest[i as usize]));
            if has_area {
                triangles.push(corners);
            }
            has_area
        });
        skipped.degenerate += (all - part.faces.len()) as u32;
    }
    drop_unused(&mut rest, &mut triangles, &mut welded_parts);
    let orphans =
        |part: &WeldedPart| part.particle_of.iter().filter(|p| **p == NO_PARTICLE).count();
    skipped.unreferenced = welded_parts.iter().map(orphans).sum::<usize>() as u32;
    let mut seen = HashSet::<[u32; 3]>::with_capacity_and_hasher(triangles.len(), FixedHasher);
    triangles.retain(|corners| {
        let mut sorted = *corners;
        sorted.sort_unstable();
        seen.insert(sorted)
    });
    (Welded { rest, triangles }, welded_parts, skipped)
}

/// Gives every marked vertex its particle; the rest positions of the particles.
fn place(parts: &[WeldInput<'_>], welded: &mut [WeldedPart], tolerance: f32) -> Vec<Vec3> {
    let marked = |part: &WeldedPart, i: usize| part.particle_of[i] != NO_PARTICLE;
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for (input, part) in parts.iter().zip(welded.iter()) {
        for (i, p) in input.positions.iter().enumerate().filter(|(i, _)| marked(part, *i)) {
            debug_assert!(p.is_finite(), "vertex {i} belongs to a finite face");
            (low, high) = (low.min(p.as_dvec3()), high.max(p.as_dvec3()));
        }
    }
    let near = f64::from(tolerance) * (high - low).max_element().max(0.0);
    let count = parts.iter().map(|part| part.positions.len()).sum();
    let mut cells = Cells {
        low,
        near,
        exact: HashMap::with_capacity_and_hasher(count, FixedHasher),
        cells: HashMap::with_capacity_and_hasher(count, FixedHasher),
        next: Vec::with_capacity(count),
    };
    let mut rest = Vec::with_capacity(count);
    for (input, part) in parts.iter().zip(welded) {
        for (i, p) in input.positions.iter().enumerate() {
            if part.particle_of[i] != NO_PARTICLE {
                part.particle_of[i] = cells.particle(*p, &mut rest);
            }
        }
    }
    rest
}

/// Particles by place.
struct Cells {
    low: DVec3,
    near: f64,
    /// Equal positions go together, whichever particle is nearest by then.
    exact: HashMap<[u32; 3], u32>,
    /// The last particle whose first vertex lies in the cell.
    cells: HashMap<I64Vec3, u32>,
    /// For each particle the one before it in its cell, or [`NO_PARTICLE`].
    next: Vec<u32>,
}

impl Cells {
    /// The particle at `position`, made if there is none.
    fn particle(&mut self, position: Vec3, rest: &mut Vec<Vec3>) -> u32 {
        // −0 is 0.
        let bits = (position + 0.0).to_array().map(f32::to_bits);
        if let Some(&particle) = self.exact.get(&bits) {
            return particle;
        }
        let particle = self.nearest(position, rest).unwrap_or_else(|| {
            rest.push(position);
            let particle = (rest.len() - 1) as u32;
            let before = if self.near > 0.0 {
                let cell = self.cell(position.as_dvec3());
                self.cells.insert(cell, particle)
            } else {
                None
            };
            self.next.push(before.unwrap_or(NO_PARTICLE));
            particle
        });
        self.exact.insert(bits, particle);
        particle
    }

    fn cell(&self, position: DVec3) -> I64Vec3 {
        ((position - self.low) / (CELL * self.near)).floor().as_i64vec3()
    }

    /// The nearest particle within the tolerance, of equally near ones the first.
    fn nearest(&self, position: Vec3, rest: &[Vec3]) -> Option<u32> {
        if self.near <= 0.0 {
            return None;
        }
        let position = position.as_dvec3();
        let (from, to) = (self.cell(position - self.near), self.cell(position + self.near));
        let mut best: Option<(f64, u32)> = None;
        for x in from.x..=to.x {
            for y in from.y..=to.y {
                for z in from.z..=to.z {
                    let mut at = self.cells.get(&I64Vec3::new(x, y, z)).copied();
                    while let Some(i) = at.filter(|i| *i != NO_PARTICLE) {
                        let away = rest[i as usize].as_dvec3().distance(position);
                        if away <= self.near && best.is_none_or(|nearest| (away, i) < nearest) {
                            best = Some((away, i));
                        }
                        at = self.next.get(i as usize).copied();
                    }
                }
            }
        }
        best.map(|(_, i)| i)
    }
}

/// Whether a triangle has area, as far as its edges' length lets one tell.
fn has_area(corners: [Vec3; 3]) -> bool {
    let [a, b, c] = corners.map(Vec3::as_dvec3);
    let longest =
        (b - a).length_squared().max((c - a).length_squared()).max((c - b).length_squared());
    (b - a).cross(c - a).length() > FLAT * longest
}

/// Drops the particles of no triangle, and renumbers the others.
fn drop_unused(rest: &mut Vec<Vec3>, triangles: &mut [[u32; 3]], parts: &mut [WeldedPart]) {
    let mut new = vec![NO_PARTICLE; rest.len()];
    triangles.iter().flatten().for_each(|i| new[*i as usize] = 0);
    let mut count = 0;
    for (i, slot) in new.iter_mut().enumerate().filter(|(_, slot)| **slot == 0) {
        *slot = count as u32;
        rest[count] = rest[i];
        count += 1;
    }
    rest.truncate(count);
    let renumber = |i: &mut u32| *i = new.get(*i as usize).copied().unwrap_or(NO_PARTICLE);
    triangles.iter_mut().flatten().for_each(renumber);
    for part in parts {
        part.particle_of.iter_mut().for_each(renumber);
        // A vertex of faces without area alone may sit on the particle of another.
        let mut used = vec![false; part.particle_of.len()];
        part.faces.iter().flatten().for_each(|i| used[*i as usize] = true);
        let unused = part.particle_of.iter_mut().zip(used).filter(|(_, used)| !used);
        unused.for_each(|(particle, _)| *particle = NO_PARTICLE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(positions: &[Vec3], faces: &[[u32; 3]]) -> (Welded, WeldedPart, Skipped) {
        let (welded, mut parts, skipped) = weld(&[WeldInput { positions, faces }], 1e-5);
        (welded, parts.remove(0), skipped)
    }

    #[test]
    fn two_triangles_with_split_vertices_become_four_particles() {
        let p = [
            Vec3::ZERO,
            Vec3::X,
            Vec3::Y,
            Vec3::Y,
            Vec3::X * (1.0 + 5e-6),
            Vec3::new(1.0, 1.0, 0.0),
        ];
        let (welded, part, skipped) = one(&p, &[[0, 1, 2], [3, 4, 5]]);
        assert_eq!(welded.rest, [p[0], p[1], p[2], p[5]]);
        assert_eq!(welded.triangles, [[0, 1, 2], [2, 1, 3]]);
        assert_eq!(part.particle_of, [0, 1, 2, 2, 1, 3]);
        assert_eq!(skipped, Skipped::default());
    }

    #[test]
    fn a_chain_of_near_vertices_does_not_collapse() {
        // Each is 0.8 of the tolerance from the next.
        let mut p: Vec<Vec3> = (0..50).map(|i| Vec3::X * (i as f32 * 0.8e-5)).collect();
        p.extend([Vec3::X, Vec3::Y]);
        let faces: Vec<[u32; 3]> = (0..50).map(|i| [i, 50, 51]).collect();
        let (welded, part, _) = one(&p, &faces);
        assert!(welded.rest.len() > 20, "{}", welded.rest.len());
        for (at, particle) in p.iter().zip(part.particle_of) {
            assert!(at.distance(welded.rest[particle as usize]) <= 1.01e-5);
        }
    }

    #[test]
    fn equal_vertices_share_a_particle_even_between_two_others() {
        // The middle one, seen before and after the right one, is nearer to the right one.
        let e = 0.9e-5;
        let p =
            [Vec3::ZERO, Vec3::X * 0.9 * e, Vec3::X * 1.5 * e, Vec3::X * 0.9 * e, Vec3::X, Vec3::Y];
        let (_, part, _) = one(&p, &[[0, 4, 5], [1, 4, 5], [2, 4, 5], [3, 4, 5]]);
        assert_eq!(part.particle_of[1], part.particle_of[3]);
    }

    #[test]
    fn what_cannot_be_used_is_left_out_and_counted() {
        let nan = Vec3::new(f32::NAN, 0.0, 0.0);
        let line = Vec3::X * 0.5;
        let p = [Vec3::ZERO, Vec3::X, Vec3::Y, nan, Vec3::Z * 7.0, line];
        let (welded, part, skipped) = one(&p, &[[0, 1, 2], [0, 1, 3], [0, 1, 1], [0, 5, 1]]);
        assert_eq!(welded.rest, [Vec3::ZERO, Vec3::X, Vec3::Y]);
        assert_eq!(part.particle_of, [0, 1, 2, NO_PARTICLE, NO_PARTICLE, NO_PARTICLE]);
        assert_eq!(part.faces, [[0, 1, 2]]);
        assert_eq!(
            skipped,
            Skipped { out_of_range: 0, not_finite: 1, degenerate: 2, unreferenced: 3 }
        );
    }

    #[test]
    fn both_sides_of_a_sheet_are_drawn_and_one_is_simulated() {
        let p = [Vec3::ZERO, Vec3::X, Vec3::Y];
        let (welded, part, _) = one(&p, &[[0, 1, 2], [0, 2, 1]]);
        assert_eq!(welded.triangles, [[0, 1, 2]]);
        assert_eq!(part.faces.len(), 2);
    }

    #[test]
    fn parts_are_welded_to_one_another() {
        let a = [Vec3::ZERO, Vec3::X, Vec3::Y];
        let b = [Vec3::X, Vec3::new(1.0, 1.0, 0.0), Vec3::Y];
        let face = [[0, 1, 2]];
        let parts = [a, b];
        let input = parts.each_ref().map(|p| WeldInput { positions: p, faces: &face });
        let (welded, parts, _) = weld(&input, 1e-5);
        assert_eq!(welded.rest.len(), 4);
        assert_eq!(parts[1].particle_of, [1, 3, 2]);
    }

    #[test]
    fn huge_and_empty_meshes_are_no_trouble() {
        let p = [Vec3::splat(f32::MAX), Vec3::splat(f32::MIN), Vec3::X];
        let (welded, ..) = one(&p, &[[0, 1, 2]]);
        assert!(welded.rest.len() <= 3);
        assert!(one(&[], &[]).0.rest.is_empty());
        assert!(weld(&[], 1e-5).0.rest.is_empty());
    }
}
