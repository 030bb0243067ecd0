//! Links: what joins particles, as pairs of them.

use super::{
    dots::Dots,
    pen::{Pen, positive},
    points::Points,
};
use crate::constraint::{
    DistanceConstraint, JointConstraint, ShapeMatchingConstraint, TorsionConstraint,
};
use bevy::{ecs::system::SystemParam, prelude::*};

/// Everything that joins particles.
#[derive(SystemParam)]
pub(super) struct Links<'w, 's> {
    distances: Query<'w, 's, &'static DistanceConstraint>,
    joints: Query<'w, 's, &'static JointConstraint>,
    torsions: Query<'w, 's, &'static TorsionConstraint>,
    groups: Query<'w, 's, &'static ShapeMatchingConstraint>,
}

impl Links<'_, '_> {
    /// Calls `draw` with the places of each two particles that distances, joints, torsions or groups join: a
    /// group its first member and each other.
    pub fn for_each(&self, points: &Points, mut draw: impl FnMut(usize, usize)) {
        let mut link = |[a, b]: [Entity; 2]| {
            if let (Some(a), Some(b)) = (points.place(a), points.place(b)) {
                draw(a, b);
            }
        };
        self.distances.iter().for_each(|distance| link(distance.particles));
        self.joints.iter().for_each(|joint| link(joint.particles));
        self.torsions.iter().for_each(|torsion| link(torsion.particles));
        for group in &self.groups {
            let Some((first, others)) = group.members.split_first() else { continue };
            others.iter().for_each(|member| link([first.particle, member.particle]));
        }
    }

    /// Draws links from the one particle's colour, by place, to the other's; particles without a link as dots
    /// of this radius (m). What has no colour is left out.
    pub fn draw(
        &self,
        points: &Points,
        colors: &[Option<LinearRgba>],
        dots: &Dots,
        radius: f32,
        pen: &mut Pen,
    ) {
        let mut linked = vec![false; colors.len()];
        self.for_each(points, |a, b| {
            if let (Some(start), Some(end)) = (colors[a], colors[b]) {
                pen.gradient(points.at(a), points.at(b), start, end);
            }
            (linked[a], linked[b]) = (true, true);
        });
        let Some(radius) = positive(radius) else { return };
        for ((point, color), linked) in points.iter().zip(colors).zip(linked) {
            if let Some(color) = color.filter(|_| !linked) {
                dots.draw(pen, point.position, radius, color);
            }
        }
    }
}
