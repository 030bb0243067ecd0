//! Colours: which constraints may be projected at once.
//!
//! Constraints that share a particle which one of them moves conflict. *Coloured*: block by block of
//! neighbouring particles, which stay in cache meanwhile, each constraint takes the first colour that
//! none of its particles has yet (first fit), and each colour is cut into packs of four. *Sequential*:
//! constraints are packed in order of creation, and a pack is closed as soon as the next constraint
//! conflicts with it, so that the packs replay a Gauss–Seidel sweep.

use super::settings::ProjectionOrder;

/// Up to four constraints that may be projected at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pack {
    /// By place in the list that was packed.
    pub members: [Option<u32>; 4],
    /// The colour that they have; `None` where they were packed in sequence.
    pub color: Option<u8>,
}

/// More colours than any sensible mesh needs; what finds none is packed in sequence after them.
const MAX_COLOURS: usize = 128;

/// Particles of a block: as many positions as stay in half of a small first-level cache.
const BLOCK: u32 = 1024;

/// Packs constraints between `particles` particles; each moves the first `moved` of its particles.
pub(crate) fn pack_constraints<const N: usize>(
    constraints: &[[u32; N]],
    moved: usize,
    particles: usize,
    order: ProjectionOrder,
) -> Vec<Pack> {
    match order {
        ProjectionOrder::Sequential => {
            let all: Vec<u32> = (0..constraints.len() as u32).collect();
            pack_sequence(constraints, &all, moved, particles)
        }
        ProjectionOrder::Colored => pack_colours(constraints, moved, particles),
    }
}

fn pack_colours<const N: usize>(
    constraints: &[[u32; N]],
    moved: usize,
    particles: usize,
) -> Vec<Pack> {
    let block = |number: u32| {
        let least = constraints[number as usize][..moved].iter().min();
        least.map_or(0, |particle| particle / BLOCK)
    };
    let mut order: Vec<u32> = (0..constraints.len() as u32).collect();
    order.sort_by_key(|number| block(*number));
    let mut used = vec![0u128; particles];
    let mut colours: Vec<Vec<u32>> = Vec::new();
    let mut rest = Vec::new();
    let mut packs = Vec::with_capacity(constraints.len() / 4 + constraints.len() / 64);
    for block in order.chunk_by(|a, b| block(*a) == block(*b)) {
        for &number in block {
            let moves = &constraints[number as usize][..moved];
            let taken = moves.iter().fold(0, |mask, &p| mask | used[p as usize]);
            let colour = taken.trailing_ones() as usize;
            if colour >= MAX_COLOURS {
                rest.push(number);
                continue;
            }
            moves.iter().for_each(|&p| used[p as usize] |= 1 << colour);
            if colour == colours.len() {
                colours.push(Vec::new());
            }
            colours[colour].push(number);
        }
        for (color, members) in colours.iter_mut().enumerate() {
            packs.extend(members.chunks(4).map(|four| Pack {
                members: core::array::from_fn(|lane| four.get(lane).copied()),
                color: Some(color as u8),
            }));
            members.clear();
        }
        for &number in block {
            constraints[number as usize][..moved].iter().for_each(|&p| used[p as usize] = 0);
        }
    }
    packs.extend(pack_sequence(constraints, &rest, moved, particles));
    packs
}

fn pack_sequence<const N: usize>(
    constraints: &[[u32; N]],
    order: &[u32],
    moved: usize,
    particles: usize,
) -> Vec<Pack> {
    let mut packs: Vec<Pack> = Vec::new();
    // The last pack that moves or reads a particle, plus one.
    let (mut moves, mut reads) = (vec![0u32; particles], vec![0u32; particles]);
    let mut filled = 4;
    for &number in order {
        let constraint = &constraints[number as usize];
        let current = packs.len() as u32;
        let conflict = constraint.iter().enumerate().any(|(i, &p)| {
            moves[p as usize] == current || (i < moved && reads[p as usize] == current)
        });
        if filled == 4 || conflict {
            packs.push(Pack::default());
            filled = 0;
        }
        let current = packs.len() as u32;
        for (i, &p) in constraint.iter().enumerate() {
            let table = if i < moved { &mut moves } else { &mut reads };
            table[p as usize] = current;
        }
        if let Some(pack) = packs.last_mut() {
            pack.members[filled] = Some(number);
            filled += 1;
        }
    }
    packs
}

#[cfg(test)]
mod tests {
    use super::*;
    use ProjectionOrder::{Colored, Sequential};

    fn members(packs: &[Pack]) -> Vec<u32> {
        packs.iter().flat_map(|pack| pack.members).flatten().collect()
    }

    fn assert_independent<const N: usize>(packs: &[Pack], constraints: &[[u32; N]], moved: usize) {
        for pack in packs {
            let mut seen = Vec::new();
            for &number in pack.members.iter().flatten() {
                for p in &constraints[number as usize][..moved] {
                    assert!(!seen.contains(p), "{pack:?}");
                    seen.push(*p);
                }
            }
        }
    }

    fn chain(n: u32) -> Vec<[u32; 2]> {
        (0..n).map(|i| [i, i + 1]).collect()
    }

    #[test]
    fn a_chain_needs_two_colours() {
        let constraints = chain(64);
        let packs = pack_constraints(&constraints, 2, 65, Colored);
        assert_eq!(packs.len(), 16);
        assert_independent(&packs, &constraints, 2);
        assert!(packs.iter().all(|pack| pack.color < Some(2) && pack.color.is_some()));
        let mut all = members(&packs);
        all.sort_unstable();
        assert_eq!(all, (0..64).collect::<Vec<_>>());
    }

    #[test]
    fn a_sequence_keeps_the_order_of_creation() {
        let constraints = [[0, 1], [2, 3], [1, 2], [4, 5], [6, 7], [8, 9], [10, 11]];
        let packs = pack_constraints(&constraints, 2, 12, Sequential);
        assert_eq!(members(&packs), (0..7).collect::<Vec<_>>());
        assert_eq!(packs[0].members, [Some(0), Some(1), None, None]);
        assert_eq!(packs[1].members, [Some(2), Some(3), Some(4), Some(5)]);
        assert!(packs.iter().all(|pack| pack.color.is_none()));
        assert_independent(&packs, &constraints, 2);
    }

    #[test]
    fn many_tethers_may_share_the_particle_they_only_read() {
        let constraints: Vec<[u32; 2]> = (1..=64).map(|i| [i, 0]).collect();
        assert_eq!(pack_constraints(&constraints, 1, 65, Colored).len(), 16);
        assert_eq!(pack_constraints(&constraints, 1, 65, Sequential).len(), 16);
    }

    #[test]
    fn a_hub_beyond_all_colours_is_still_packed_and_independent() {
        let constraints: Vec<[u32; 2]> = (1..=400).map(|i| [0, i]).collect();
        let packs = pack_constraints(&constraints, 2, 401, Colored);
        assert_independent(&packs, &constraints, 2);
        assert_eq!(members(&packs).len(), 400);
    }
}
