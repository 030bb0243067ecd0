//! Shape-matching groups and joints.
//!
//! ```text
//!                       limit: from min to max, about the axis,
//!   x₁ ──────── • ╲     seen from where x₂ is at rest
//!              ╱ ╲ )
//!            x₂   ╲
//! ```

use super::{
    dots::{Cameras, Dots},
    pen::{Circle, Pen, arc, positive},
    plugin::ViewGroup,
    points::{Drawn, Points},
};
use crate::{
    constraint::{GroupKind, JointConstraint, JointLimits, ShapeMatchingConstraint},
    particle::{ParticleOf, Planar},
};
use bevy::{math::ops, prelude::*};
use core::f32::consts::{FRAC_PI_2, PI, TAU};

/// Shape-matching groups as lines from their centre to their members, and joints: from the centres of both
/// particles to the joint's point, with its axis and limits where it has any.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct GroupGizmos {
    /// Colour of a group's lines, which fade towards the members. Default: teal.
    pub group_color: Color,
    /// Colour of joints. Default: yellow.
    pub joint_color: Color,
    /// Colour of axes and limits. Default: orange, half opaque.
    pub limit_color: Color,
    /// Radius of a joint's point (m). Default: 0.008.
    pub radius: f32,
    /// Radius of the arcs and cones that show limits (m). Default: 0.06.
    pub limit_radius: f32,
}

impl Default for GroupGizmos {
    fn default() -> Self {
        Self {
            group_color: Color::srgb(0.05, 0.55, 0.60),
            joint_color: Color::srgb(1.0, 0.8, 0.1),
            limit_color: Color::srgba(1.0, 0.5, 0.1, 0.5),
            radius: 0.008,
            limit_radius: 0.06,
        }
    }
}

impl ViewGroup for GroupGizmos {
    // Bones are inside of what they move.
    const DEPTH_BIAS: f32 = -1.0;
    const WIDTH: f32 = 1.5;

    fn scale_lengths(&mut self, unit: f32) {
        self.radius *= unit;
        self.limit_radius *= unit;
    }
}

/// Opacity of a group's line at the member, of that at the centre.
const FADED: f32 = 0.2;

/// Draws groups.
pub(super) fn draw_groups(
    groups: Query<&ShapeMatchingConstraint>,
    points: Res<Points>,
    mut gizmos: Gizmos<GroupGizmos>,
) {
    let color = gizmos.config_ext.group_color.to_linear();
    let faded = color.with_alpha(FADED * color.alpha);
    let mut pen = Pen::new(&mut gizmos);
    for group in &groups {
        let members = group.members.iter().filter_map(|member| points.get(member.particle));
        // A neighbourhood is its first member's; a rigid part has its centre between the members.
        let (centre, skipped) = match group.kind {
            GroupKind::Implicit => {
                (group.members.first().and_then(|first| points.get(first.particle)), 1)
            }
            GroupKind::Explicit => {
                let (sum, count) =
                    members.clone().fold((Vec3::ZERO, 0.0), |(sum, n), at| (sum + at, n + 1.0));
                ((count > 0.0).then(|| sum / count), 0)
            }
        };
        let Some(centre) = centre else { continue };
        for member in members.skip(skipped) {
            pen.gradient(centre, member, color, faded);
        }
    }
}

/// Draws joints, with their limits.
pub(super) fn draw_joints(
    joints: Query<&JointConstraint>,
    drawn: Drawn,
    bodies: Query<&ParticleOf>,
    planar: Query<(), With<Planar>>,
    cameras: Cameras,
    mut gizmos: Gizmos<GroupGizmos>,
) {
    let settings = gizmos.config_ext;
    let color = settings.joint_color.to_linear();
    let limits = settings.limit_color.to_linear();
    let (radius, limit_radius) = (positive(settings.radius), positive(settings.limit_radius));
    let dots = cameras.dots(gizmos.config);
    let mut pen = Pen::new(&mut gizmos);
    for joint in &joints {
        let Some(at) = draw_joint(joint, &drawn, color, radius, &dots, &mut pen) else { continue };
        let flat = bodies.get(joint.particles[0]).is_ok_and(|body| planar.contains(body.0));
        let (Some(rotation), Some(radius)) = (drawn.rotation(joint.particles[0]), limit_radius)
        else {
            continue;
        };
        let rest = rotation * joint.rest_rotation * -joint.anchors[1];
        let limit = Limit { at, rest, radius, color: limits };
        match joint.limits {
            JointLimits::Free => {}
            JointLimits::Hinge { axis, min, max } => {
                limit.draw_hinge(rotation * axis, min, max, flat, &mut pen);
            }
            JointLimits::ConeTwist { cone, .. } if flat => {
                limit.draw_hinge(Vec3::Z, -cone, cone, true, &mut pen);
            }
            JointLimits::ConeTwist { axis, cone, twist } => {
                limit.draw_cone(rotation * axis, cone, twist, &mut pen);
                let now = drawn
                    .rotation(joint.particles[1])
                    .map_or(Vec3::ZERO, |second| second * joint.rest_rotation.inverse() * axis);
                let tip = at + radius_along(now, limit.radius);
                if tip.is_finite() {
                    pen.line(at, tip, color);
                }
            }
        }
    }
}

/// Draws what a joint holds; its point, between those of its particles.
fn draw_joint(
    joint: &JointConstraint,
    drawn: &Drawn,
    color: LinearRgba,
    radius: Option<f32>,
    dots: &Dots,
    pen: &mut Pen,
) -> Option<Vec3> {
    let [a, b] = joint.particles;
    let [from, to] = drawn.points.pair(joint.particles)?;
    let (p, q) = (drawn.point(a, joint.anchors[0])?, drawn.point(b, joint.anchors[1])?);
    pen.line(from, p, color);
    pen.line(q, to, color);
    let at = p.midpoint(q);
    if let Some(radius) = radius {
        dots.draw(pen, at, radius, color);
    }
    Some(at)
}

/// A vector of this length along another; none along none.
fn radius_along(vector: Vec3, radius: f32) -> Vec3 {
    vector.normalize_or_zero() * radius
}

/// Where a joint's limits are drawn.
struct Limit {
    /// The joint's point (m).
    at: Vec3,
    /// Where the second particle is at rest, from there.
    rest: Vec3,
    /// Radius of what is drawn (m).
    radius: f32,
    color: LinearRgba,
}

impl Limit {
    /// Axes at right angles to an axis: the nearest to where the second particle is at rest, and the next.
    fn across(&self, axis: Vec3) -> Option<[Vec3; 3]> {
        let axis = axis.try_normalize()?;
        let rest = self.rest.reject_from_normalized(axis);
        let x = rest.try_normalize().unwrap_or_else(|| axis.any_orthonormal_vector());
        x.is_finite().then(|| [x, axis.cross(x), axis])
    }

    /// A sector from `min` to `max` (rad) about the axis, and, unless all is flat, the axis.
    fn draw_hinge(&self, axis: Vec3, min: f32, max: f32, flat: bool, pen: &mut Pen) {
        let Some([x, y, axis]) = self.across(axis) else { return };
        if !flat {
            let half = self.radius * axis;
            pen.line(self.at - half, self.at + half, self.color);
        }
        self.draw_sector([x, y], self.radius, min, max, pen);
    }

    fn draw_sector(&self, [x, y]: [Vec3; 2], radius: f32, min: f32, max: f32, pen: &mut Pen) {
        if min.is_nan() || max.is_nan() || min > max {
            return;
        }
        let (min, max) = (min.max(-PI), max.min(PI));
        let place = |at: Vec2| self.at + radius * (at.x * x + at.y * y);
        let edge = arc(min, max).map(place);
        if max - min < TAU - 1e-3 {
            pen.strip([self.at].into_iter().chain(edge).chain([self.at]), self.color);
        } else {
            pen.strip(edge, self.color);
        }
    }

    /// A cone about the axis with this half angle (rad), and a sector from −`twist` to `twist`.
    fn draw_cone(&self, axis: Vec3, cone: f32, twist: f32, pen: &mut Pen) {
        let Some([x, y, axis]) = self.across(axis) else { return };
        if !(cone >= 0.0 && twist >= 0.0) {
            return;
        }
        // A cone of half a turn or more is none.
        if cone < PI - 1e-3 {
            let (sin, cos) = ops::sin_cos(cone);
            let centre = self.at + self.radius * cos * axis;
            let [u, v] = [x, y].map(|across| self.radius * sin * across);
            pen.ring(centre, [u, v], &Circle::new(32), self.color);
            for part in 0..4 {
                let (sin, cos) = ops::sin_cos(FRAC_PI_2 * part as f32);
                pen.line(self.at, centre + cos * u + sin * v, self.color);
            }
        }
        self.draw_sector([x, y], 0.5 * self.radius, -twist, twist, pen);
    }
}
