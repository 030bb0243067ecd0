//! A pen: writes lines straight into a gizmo buffer, without a colour conversion for each.

use bevy::{math::ops, prelude::*};
use core::f32::consts::TAU;

/// Writes the lines of one view.
pub(super) struct Pen<'a> {
    lines: &'a mut Vec<Vec3>,
    line_colors: &'a mut Vec<LinearRgba>,
    strips: &'a mut Vec<Vec3>,
    strip_colors: &'a mut Vec<LinearRgba>,
}

impl<'a> Pen<'a> {
    /// Writes to these gizmos.
    pub fn new<G: GizmoConfigGroup>(gizmos: &'a mut Gizmos<'_, '_, G>) -> Self {
        let buffer = &mut **gizmos;
        Self {
            lines: &mut buffer.list_positions,
            line_colors: &mut buffer.list_colors,
            strips: &mut buffer.strip_positions,
            strip_colors: &mut buffer.strip_colors,
        }
    }

    /// Makes room for so many lines.
    pub fn reserve_lines(&mut self, count: usize) {
        self.lines.reserve(2 * count);
        self.line_colors.reserve(2 * count);
    }

    /// A straight line.
    #[inline]
    pub fn line(&mut self, from: Vec3, to: Vec3, color: LinearRgba) {
        self.gradient(from, to, color, color);
    }

    /// A straight line whose colour changes on the way.
    #[inline]
    pub fn gradient(&mut self, from: Vec3, to: Vec3, start: LinearRgba, end: LinearRgba) {
        // One by one: an array of both would be put together in memory, and read back while it is written.
        self.lines.push(from);
        self.lines.push(to);
        self.line_colors.push(start);
        self.line_colors.push(end);
    }

    /// Lines from each point to the next.
    pub fn strip(&mut self, points: impl IntoIterator<Item = Vec3>, color: LinearRgba) {
        self.strips.extend(points);
        self.strip_colors.resize(self.strips.len(), color);
        // Two strips are told apart by a point that is nowhere.
        self.strips.push(Vec3::NAN);
        self.strip_colors.push(LinearRgba::NAN);
    }

    /// An ellipse with these semi-axes.
    pub fn ring(&mut self, centre: Vec3, [u, v]: [Vec3; 2], circle: &Circle, color: LinearRgba) {
        self.strip(circle.points().map(|at| centre + at.x * u + at.y * v), color);
    }
}

/// Points of the unit circle, from x to y and around; the last is the first again.
#[derive(Clone, Debug, Default)]
pub(super) struct Circle(Vec<Vec2>);

impl Circle {
    /// Of so many lines, 3 to 256.
    pub fn new(lines: u32) -> Self {
        let lines = lines.clamp(3, 256);
        Self((0..=lines).map(|i| point(TAU * (i % lines) as f32 / lines as f32)).collect())
    }

    fn points(&self) -> impl Iterator<Item = Vec2> {
        self.0.iter().copied()
    }
}

/// Points of the unit circle from one angle to another (rad), no further than 10° apart.
pub(super) fn arc(from: f32, to: f32) -> impl Iterator<Item = Vec2> {
    let lines = ops::ceil((to - from).abs() * 36.0 / TAU).clamp(1.0, 72.0) as u32;
    (0..=lines).map(move |i| point(from + (to - from) * i as f32 / lines as f32))
}

fn point(angle: f32) -> Vec2 {
    let (sin, cos) = ops::sin_cos(angle);
    Vec2::new(cos, sin)
}

/// A length or radius as it is drawn: `None` for what is no positive number.
pub(super) fn positive(length: f32) -> Option<f32> {
    (length > 0.0 && length.is_finite()).then_some(length)
}

/// The colour of a number, far from those of its neighbours.
pub(super) fn dispersed(number: u32) -> LinearRgba {
    // Steps of the golden ratio never meet again; every other turn is darker, for those near each other.
    let hue = Oklcha::sequential_dispersed(number).hue;
    let lightness = if number.is_multiple_of(2) { 0.72 } else { 0.58 };
    let LinearRgba { red, green, blue, .. } = Oklcha::lch(lightness, 0.15, hue).into();
    // Some of these lie a little outside of what a screen can show.
    LinearRgba::rgb(red.clamp(0.0, 1.0), green.clamp(0.0, 1.0), blue.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_close_and_arcs_end_where_they_say() {
        let Circle(points) = Circle::new(0);
        assert_eq!(points.len(), 4);
        assert_eq!(points.first(), points.last());
        let Circle(points) = Circle::new(40);
        assert_eq!(points.len(), 41);
        assert!(points.iter().all(|p| (p.length() - 1.0).abs() < 1e-6));
        let half: Vec<Vec2> = arc(-0.5, 1.0).collect();
        assert!(half[0].distance(Vec2::new(0.5f32.cos(), -0.5f32.sin())) < 1e-6);
        assert!(half[half.len() - 1].distance(Vec2::new(1f32.cos(), 1f32.sin())) < 1e-6);
        assert_eq!(arc(0.0, 0.0).count(), 2);
    }

    #[test]
    fn neighbouring_numbers_have_colours_far_apart_that_a_screen_can_show() {
        let colors: Vec<Oklaba> = (0..64).map(|i| dispersed(i).into()).collect();
        for (i, a) in colors.iter().enumerate() {
            assert!(LinearRgba::from(*a).to_vec3().min_element() > -1e-3, "{i}");
            for b in &colors[i + 1..(i + 4).min(64)] {
                let apart = Vec3::new(a.lightness - b.lightness, a.a - b.a, a.b - b.b).length();
                assert!(apart > 0.1, "{i}: {apart}");
            }
        }
    }

    #[test]
    fn only_positive_numbers_are_lengths() {
        for none in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert_eq!(positive(none), None);
        }
        assert_eq!(positive(0.5), Some(0.5));
    }
}
