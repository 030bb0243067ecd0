//! Strain as colours: blue is compressed, grey at rest, red stretched.
//!
//! ```text
//!   −range            0             +range
//!    blue ─────────  grey ─────────  red       even steps of Oklab, both ends as light as each other
//! ```
//!
//! Colours are looked up in a table of the ramp: 512 steps are more than anyone can tell apart.

use super::{
    pen::Pen,
    plugin::ViewGroup,
    points::{Drawn, Points},
};
use crate::constraint::{DistanceConstraint, JointConstraint, ShapeMatchingConstraint};
use bevy::prelude::*;

/// Constraints coloured by strain, (length − rest length) / rest length.
#[derive(GizmoConfigGroup, Reflect, Clone, Debug)]
#[reflect(Default)]
pub struct StrainGizmos {
    /// The strain at which the colours end, to either side. Default: 0.05, that is ±5 %.
    pub range: f32,
    /// Colour at `-range` and below. Default: blue.
    pub compressed: Color,
    /// Colour at rest. Default: light grey, a third opaque, so that strain stands out.
    pub rest: Color,
    /// Colour at `range` and above. Default: red.
    pub stretched: Color,
}

impl Default for StrainGizmos {
    fn default() -> Self {
        Self {
            range: 0.05,
            compressed: Color::srgb(0.16, 0.41, 0.90),
            rest: Color::srgba(0.87, 0.87, 0.86, 0.3),
            stretched: Color::srgb(0.82, 0.13, 0.13),
        }
    }
}

impl ViewGroup for StrainGizmos {
    const DEPTH_BIAS: f32 = -0.0015;
    const WIDTH: f32 = 1.5;
}

/// The least range that is told apart.
const LEAST_RANGE: f32 = 1e-9;

impl StrainGizmos {
    /// The colour of this strain; what is not a number counts as 0.
    pub fn color(&self, strain: f32) -> LinearRgba {
        let part = if strain.is_nan() { 0.0 } else { (strain / self.range()).clamp(-1.0, 1.0) };
        self.color_at(part)
    }

    /// The range as it is used.
    fn range(&self) -> f32 {
        if self.range > LEAST_RANGE { self.range.min(f32::MAX) } else { LEAST_RANGE }
    }

    /// The colour of this part of the range, −1 to 1.
    fn color_at(&self, part: f32) -> LinearRgba {
        let end = if part < 0.0 { self.compressed } else { self.stretched };
        Oklaba::from(self.rest).mix(&Oklaba::from(end), part.abs()).into()
    }
}

/// The colours of a range of strains.
#[derive(Debug, Default)]
pub(super) struct Ramp {
    /// What it was made from.
    ends: Option<[Color; 3]>,
    colors: Vec<LinearRgba>,
    scale: f32,
}

/// Colours of a ramp to either side of rest.
const STEPS: usize = 256;

impl Ramp {
    /// Takes on the colours and the range of these settings.
    fn follow(&mut self, settings: &StrainGizmos) {
        self.scale = STEPS as f32 / settings.range();
        let ends = Some([settings.compressed, settings.rest, settings.stretched]);
        if self.ends != ends {
            self.ends = ends;
            let part = |i: usize| i as f32 / STEPS as f32 - 1.0;
            self.colors.clear();
            self.colors.extend((0..=2 * STEPS).map(|i| settings.color_at(part(i))));
        }
    }

    /// The colour of a strain.
    #[inline]
    fn color(&self, strain: f32) -> &LinearRgba {
        let step = strain * self.scale + (STEPS as f32 + 0.5);
        // What is beyond the numbers of 32 bits is cut off there.
        let step = (step as i32).clamp(0, 2 * STEPS as i32) as usize;
        self.colors.get(step).unwrap_or(&LinearRgba::WHITE)
    }
}

/// Strain of a length against that at rest (both m); where nothing is left at rest, as good as endless.
#[inline]
fn strain(length: f32, rest: f32) -> f32 {
    (length - rest) / rest.max(1e-12)
}

/// Draws constraints by strain.
///
/// Distances; of joints the gap between their points, against the distance of the particles' centres at
/// rest; of shape-matching groups how far members are from the first. What only resists stretch is at rest
/// while it is slack.
pub(super) fn draw_strain(
    distances: Query<&DistanceConstraint>,
    joints: Query<&JointConstraint>,
    groups: Query<&ShapeMatchingConstraint>,
    drawn: Drawn,
    mut ramp: Local<Ramp>,
    mut gizmos: Gizmos<StrainGizmos>,
) {
    ramp.follow(gizmos.config_ext);
    let ramp = &*ramp;
    let mut pen = Pen::new(&mut gizmos);
    pen.reserve_lines(distances.iter().len());
    let points = &*drawn.points;
    for distance in &distances {
        draw_distance(distance, points, ramp, &mut pen);
    }
    for joint in &joints {
        draw_joint(joint, &drawn, ramp, &mut pen);
    }
    for group in &groups {
        draw_group(group, points, ramp, &mut pen);
    }
}

#[inline]
fn draw_distance(distance: &DistanceConstraint, points: &Points, ramp: &Ramp, pen: &mut Pen) {
    let rest = distance.rest_length;
    let [Some(a), Some(b)] = distance.particles.map(|particle| points.find(particle)) else {
        return;
    };
    // The solver leaves out one without a usable length.
    if !(rest >= 0.0 && rest.is_finite()) {
        return;
    }
    let strain = strain(a.position.distance(b.position), rest);
    let strain = if distance.tension_only { strain.max(0.0) } else { strain };
    pen.line(a.position, b.position, *ramp.color(strain));
}

fn draw_joint(joint: &JointConstraint, drawn: &Drawn, ramp: &Ramp, pen: &mut Pen) {
    let [a, b] = joint.particles;
    let [r, s] = joint.anchors;
    let Some([from, to]) = drawn.points.pair(joint.particles) else { return };
    let (Some(p), Some(q)) = (drawn.point(a, r), drawn.point(b, s)) else { return };
    let rest = (r - joint.rest_rotation * s).length();
    if !rest.is_finite() {
        return;
    }
    let color = *ramp.color(strain(rest + p.distance(q), rest));
    pen.line(from, p, color);
    pen.line(q, to, color);
}

fn draw_group(group: &ShapeMatchingConstraint, points: &Points, ramp: &Ramp, pen: &mut Pen) {
    let Some((first, others)) = group.members.split_first() else { return };
    let Some(centre) = points.get(first.particle) else { return };
    for member in others {
        let rest = member.position.distance(first.position);
        if let Some(at) = points.get(member.particle).filter(|_| rest.is_finite()) {
            pen.line(centre, at, *ramp.color(strain(centre.distance(at), rest)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(settings: &StrainGizmos) -> Ramp {
        let mut ramp = Ramp::default();
        ramp.follow(settings);
        ramp
    }

    fn luma(color: LinearRgba) -> f32 {
        Oklaba::from(color).lightness
    }

    #[test]
    fn the_ramp_ends_and_rests_where_it_says_and_nothing_is_not_a_colour() {
        let gizmos = StrainGizmos::default();
        let near = |a: LinearRgba, b: Color| a.to_vec4().distance(b.to_linear().to_vec4()) < 1e-5;
        assert!(near(gizmos.color(0.0), gizmos.rest));
        assert!(near(gizmos.color(f32::NAN), gizmos.rest));
        for (strain, end) in [
            (0.05, gizmos.stretched),
            (7.0, gizmos.stretched),
            (f32::INFINITY, gizmos.stretched),
            (-0.05, gizmos.compressed),
            (f32::NEG_INFINITY, gizmos.compressed),
        ] {
            assert!(near(gizmos.color(strain), end), "{strain}");
        }
        for range in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let gizmos = StrainGizmos { range, ..default() };
            let ramp = ramp(&gizmos);
            for strain in [-1.0, 0.0, 1.0, f32::NAN, f32::INFINITY] {
                assert!(gizmos.color(strain).to_vec4().is_finite());
                assert!(ramp.color(strain).to_vec4().is_finite());
            }
            assert!(near(*ramp.color(0.0), gizmos.rest), "{range}");
        }
    }

    #[test]
    fn the_table_is_the_ramp() {
        let gizmos = StrainGizmos { range: 0.2, ..default() };
        let ramp = ramp(&gizmos);
        for i in -300..=300 {
            let strain = 0.2 * i as f32 / 250.0;
            let (a, b) = (ramp.color(strain).to_vec4(), gizmos.color(strain).to_vec4());
            assert!(a.distance(b) < 4e-3, "{strain}: {a} {b}");
        }
        assert_eq!(*ramp.color(0.2), gizmos.color(0.2));
        assert_eq!(*ramp.color(-0.2), gizmos.color(-0.2));
    }

    #[test]
    fn more_strain_is_darker_by_even_steps_as_much_to_either_side() {
        let gizmos = StrainGizmos::default();
        let end = luma(gizmos.color(0.05));
        assert!((end - luma(gizmos.color(-0.05))).abs() < 0.01, "both ends are as light");
        for sign in [-1.0, 1.0] {
            let steps: Vec<f32> =
                (0..=10).map(|i| luma(gizmos.color(sign * 0.005 * i as f32))).collect();
            for pair in steps.windows(2) {
                assert!((pair[0] - pair[1] - (steps[0] - steps[10]) / 10.0).abs() < 1e-3);
            }
            assert!(steps[0] - steps[10] > 0.25);
        }
    }

    #[test]
    fn strain_is_that_of_the_length_and_finite_without_one() {
        assert!((strain(1.05, 1.0) - 0.05).abs() < 1e-6);
        assert!((strain(0.9, 1.0) + 0.1).abs() < 1e-6);
        assert_eq!(strain(0.0, 0.0), 0.0);
        assert!(strain(1.0, 0.0).is_finite());
    }
}
