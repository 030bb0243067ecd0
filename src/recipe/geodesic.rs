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

/// Distances along the plan's links from each particle to the nearest pin of each group of pins that
/// are linked to one another, at most [`MAX_TETHERS`] of them (Dijkstra from all pins of a group).
pub(super) fn distances_to_pins(plan: &BodyPlan) -> Vec<([u32; 2], f32)> {
    let mut neighbours: Vec<Vec<(u32, f32)>> = vec![Vec::new(); plan.rest.len()];
    for &([a, b], length) in &plan.distances {
        neighbours[a as usize].push((b, length));
        neighbours[b as usize].push((a, length));
    }
    let mut best: Vec<Vec<(u32, f32)>> = vec![Vec::new(); plan.rest.len()];
    for group in pin_groups(plan, &neighbours) {
        let mut distance = vec![f32::INFINITY; plan.rest.len()];
        let mut heap: BinaryHeap<Reverse<Reached>> = group
            .iter()
            .map(|&pin| Reverse(Reached { distance: 0.0, particle: pin, pin }))
            .collect();
        while let Some(Reverse(reached)) = heap.pop() {
            let particle = reached.particle as usize;
            if reached.distance >= distance[particle] {
                continue;
            }
            distance[particle] = reached.distance;
            best[particle].push((reached.pin, reached.distance));
            for &(next, length) in &neighbours[particle] {
                let further = reached.distance + length;
                if further < distance[next as usize] {
                    heap.push(Reverse(Reached {
                        distance: further,
                        particle: next,
                        pin: reached.pin,
                    }));
                }
            }
        }
    }
    let is_pin = |i: usize| plan.pins.binary_search(&(i as u32)).is_ok();
    let mut tethers = Vec::new();
    for (particle, mut reached) in best.into_iter().enumerate().filter(|(i, _)| !is_pin(*i)) {
        reached.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        reached.truncate(MAX_TETHERS);
        tethers.extend(reached.into_iter().map(|(pin, d)| ([particle as u32, pin], d)));
    }
    tethers
}

/// Pins that are linked to one another, directly.
fn pin_groups(plan: &BodyPlan, neighbours: &[Vec<(u32, f32)>]) -> Vec<Vec<u32>> {
    let mut left: Vec<u32> = plan.pins.clone();
    let mut groups = Vec::new();
    while let Some(first) = left.pop() {
        let mut group = vec![first];
        let mut next = 0;
        while next < group.len() {
            for &(neighbour, _) in &neighbours[group[next] as usize] {
                if let Ok(place) = left.binary_search(&neighbour) {
                    group.push(left.remove(place));
                }
            }
            next += 1;
        }
        group.sort_unstable();
        groups.push(group);
    }
    groups.sort_unstable();
    groups
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
