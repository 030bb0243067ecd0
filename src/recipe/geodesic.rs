//! Geodesic distances to the nearest pins, along the links of a body.

use super::plan::BodyPlan;
use alloc::collections::BinaryHeap;
use core::cmp::{Ordering, Reverse};

/// Most tethers that a particle gets.
const MAX_TETHERS: usize = 4;

#[derive(Clone, Copy, PartialEq)]
struct Reached {
    distance: f32,
    particle: u32,
    pin: u32,
}

impl Eq for Reached {}

impl Ord for Reached {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance
            .total_cmp(&other.distance)
            .then(self.particle.cmp(&other.particle))
            .then(self.pin.cmp(&other.pin))
    }
}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Distances along the plan's links and shortcuts from each particle to the nearest pin of each group
/// of pins that are linked to one another, the [`MAX_TETHERS`] nearest of them.
///
/// Dijkstra from all pins at once: a particle is reached at most once from each group and by no more
/// than the nearest few, so that the cost does not grow with the number of groups. A way along edges
/// is longer than the true geodesic; shortcuts across them leave a few per cent.
pub(super) fn distances_to_pins(plan: &BodyPlan) -> Vec<([u32; 2], f32)> {
    if plan.pins.is_empty() {
        return Vec::new();
    }
    let links = Neighbours::new(plan.rest.len(), plan.distances.iter());
    let group_of = pin_groups(plan, &links);
    let ways = Neighbours::new(plan.rest.len(), plan.distances.iter().chain(&plan.shortcuts));
    // With few groups, ways that are longer than one already found are left out at once.
    let mut groups: Vec<u32> = plan.pins.iter().map(|pin| group_of[*pin as usize]).collect();
    groups.sort_unstable();
    groups.dedup();
    let few = if groups.len() <= MAX_TETHERS { groups.len() } else { 0 };
    let mut shortest = vec![f32::INFINITY; few * plan.rest.len()];
    let place_of: Vec<u32> = if few == 0 {
        Vec::new()
    } else {
        let place = |group: &u32| groups.binary_search(group).unwrap_or(0) as u32;
        group_of.iter().map(place).collect()
    };
    // Pin and distance of each group that has reached a particle, nearest first.
    let mut reached: Vec<Vec<(u32, f32)>> = vec![Vec::new(); plan.rest.len()];
    let mut heap: BinaryHeap<Reverse<Reached>> = plan
        .pins
        .iter()
        .map(|&pin| Reverse(Reached { distance: 0.0, particle: pin, pin }))
        .collect();
    let group = |pin: u32| group_of[pin as usize];
    let is_new = |at: &[(u32, f32)], pin: u32| {
        at.len() < MAX_TETHERS && at.iter().all(|(other, _)| group(*other) != group(pin))
    };
    while let Some(Reverse(Reached { distance, particle, pin })) = heap.pop() {
        let here = &mut reached[particle as usize];
        if !is_new(here, pin) {
            continue;
        }
        here.push((pin, distance));
        for &(next, length) in ways.of(particle) {
            if is_new(&reached[next as usize], pin) {
                let distance = distance + length;
                if few > 0 {
                    let place = next as usize * few + place_of[pin as usize] as usize;
                    if distance > shortest[place] {
                        continue;
                    }
                    shortest[place] = distance;
                }
                heap.push(Reverse(Reached { distance, particle: next, pin }));
            }
        }
    }
    let mut tethers = Vec::new();
    for (particle, pins) in reached.into_iter().enumerate() {
        if group_of[particle] == NO_GROUP {
            tethers.extend(pins.into_iter().map(|(pin, d)| ([particle as u32, pin], d)));
        }
    }
    tethers
}

/// The neighbours of each particle, in one list.
struct Neighbours {
    first: Vec<u32>,
    list: Vec<(u32, f32)>,
}

impl Neighbours {
    fn new<'a>(count: usize, links: impl Iterator<Item = &'a ([u32; 2], f32)> + Clone) -> Self {
        let mut first = vec![0u32; count + 1];
        links.clone().flat_map(|(ends, _)| ends).for_each(|i| first[*i as usize] += 1);
        let mut sum = 0;
        for slot in &mut first {
            sum += *slot;
            *slot = sum;
        }
        // Filled from behind, so that `first` ends up pointing at each one's first neighbour.
        let mut list = vec![(0, 0.0); sum as usize];
        for &([a, b], length) in links {
            for [from, to] in [[a, b], [b, a]] {
                first[from as usize] -= 1;
                list[first[from as usize] as usize] = (to, length);
            }
        }
        Self { first, list }
    }

    fn of(&self, particle: u32) -> &[(u32, f32)] {
        let particle = particle as usize;
        &self.list[self.first[particle] as usize..self.first[particle + 1] as usize]
    }
}

/// The group of a particle that is no pin.
const NO_GROUP: u32 = u32::MAX;

/// For each particle the group of pins that it belongs to: pins linked to one another, directly.
fn pin_groups(plan: &BodyPlan, links: &Neighbours) -> Vec<u32> {
    const UNSEEN: u32 = u32::MAX - 1;
    let mut group_of = vec![NO_GROUP; plan.rest.len()];
    plan.pins.iter().for_each(|pin| group_of[*pin as usize] = UNSEEN);
    let mut left = Vec::new();
    for &first in &plan.pins {
        if group_of[first as usize] != UNSEEN {
            continue;
        }
        group_of[first as usize] = first;
        left.push(first);
        while let Some(pin) = left.pop() {
            for &(next, _) in links.of(pin) {
                if group_of[next as usize] == UNSEEN {
                    group_of[next as usize] = first;
                    left.push(next);
                }
            }
        }
    }
    group_of
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy::math::Vec3;

    #[test]
    fn a_line_is_as_long_as_its_links() {
        let mut plan = BodyPlan {
            rest: (0..5).map(|i| Vec3::X * i as f32).collect(),
            pins: vec![0, 4],
            ..Default::default()
        };
        (0..4).for_each(|i| plan.link(i, i + 1, Vec3::ONE));
        let tethers = distances_to_pins(&plan);
        assert_eq!(tethers.len(), 6);
        assert!(tethers.contains(&([1, 0], 1.0)) && tethers.contains(&([1, 4], 3.0)));
    }

    #[test]
    fn many_groups_of_pins_leave_the_nearest_few() {
        let mut plan = BodyPlan {
            rest: (0..21).map(|i| Vec3::X * i as f32).collect(),
            pins: (0..21).step_by(2).collect(),
            ..Default::default()
        };
        (0..20).for_each(|i| plan.link(i, i + 1, Vec3::ONE));
        let tethers = distances_to_pins(&plan);
        // Between two pins both are nearest, then the next on either side.
        let of_9: Vec<_> = tethers.iter().filter(|([p, _], _)| *p == 9).collect();
        let lengths: Vec<f32> = of_9.iter().map(|(_, length)| *length).collect();
        assert_eq!(lengths, [1.0, 1.0, 3.0, 3.0]);
        assert_eq!(tethers.len(), 10 * 4);
    }

    #[test]
    fn shortcuts_bring_ways_over_a_triangulated_square_close_to_straight_lines() {
        let n = 11;
        let place = |i: u32| Vec3::new((i % n) as f32, (i / n) as f32, 0.0);
        let mut plan =
            BodyPlan { rest: (0..n * n).map(place).collect(), pins: vec![0], ..Default::default() };
        let cells = (0..n * n).filter(|i| i % n + 1 < n && i / n + 1 < n);
        let triangles: Vec<[u32; 3]> =
            cells.flat_map(|a| [[a, a + 1, a + n], [a + 1, a + n + 1, a + n]]).collect();
        plan.link_and_bend(&triangles, Vec3::ONE);
        plan.shorten(Vec3::ONE);
        for ([particle, _], length) in distances_to_pins(&plan) {
            let straight = place(particle).length();
            assert!(length >= straight - 1e-4 && length < 1.09 * straight, "{particle} {length}");
        }
    }

    #[test]
    fn linked_pins_count_as_one_group() {
        let mut plan = BodyPlan {
            rest: (0..4).map(|i| Vec3::X * i as f32).collect(),
            pins: vec![0, 1],
            ..Default::default()
        };
        (0..3).for_each(|i| plan.link(i, i + 1, Vec3::ONE));
        assert_eq!(distances_to_pins(&plan), [([2, 1], 1.0), ([3, 1], 2.0)]);
    }
}
