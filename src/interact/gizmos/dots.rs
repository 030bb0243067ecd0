//! Dots: how a point is drawn so that every camera sees it.

use super::pen::{Circle, Pen};
use bevy::{camera::visibility::RenderLayers, ecs::system::SystemParam, prelude::*};

/// Lines of a dot's ring.
const LINES: u32 = 8;

/// The cameras, for dots that face them.
#[derive(SystemParam)]
pub(super) struct Cameras<'w, 's> {
    cameras:
        Query<'w, 's, (&'static Camera, &'static GlobalTransform, Option<&'static RenderLayers>)>,
}

impl Cameras<'_, '_> {
    /// How dots are drawn for the active cameras that draw gizmos of this configuration.
    pub fn dots(&self, config: &GizmoConfig) -> Dots {
        let (facing, one_way) = self.facing(config);
        // A dot cannot face two ways.
        Dots::new(one_way.then_some(facing))
    }

    /// The axis that the first of them looks along, backwards.
    pub fn axis(&self, config: &GizmoConfig) -> Vec3 {
        self.facing(config).0 * Vec3::Z
    }

    /// How the first of them is turned, and whether all are turned so.
    fn facing(&self, config: &GizmoConfig) -> (Quat, bool) {
        let seen = |layers: Option<&RenderLayers>| {
            config.render_layers.intersects(layers.unwrap_or(&RenderLayers::default()))
        };
        let mut views =
            self.cameras.iter().filter(|(camera, _, layers)| camera.is_active && seen(*layers));
        let first = views.next().map_or(Quat::IDENTITY, |(_, view, _)| view.rotation());
        let first = if first.is_finite() { first } else { Quat::IDENTITY };
        let one_way = views.all(|(_, view, _)| view.rotation().dot(first).abs() > 0.9999);
        (first, one_way)
    }
}

/// How dots are drawn: facing one way, or, where cameras look from several sides, as balls of three rings.
#[derive(Clone, Debug)]
pub(super) struct Dots {
    circle: Circle,
    facing: Option<[Vec3; 2]>,
}

impl Dots {
    fn new(facing: Option<Quat>) -> Self {
        let facing = facing.map(|facing| [facing * Vec3::X, facing * Vec3::Y]);
        Self { circle: Circle::new(LINES), facing }
    }

    /// A dot of this radius (m).
    pub fn draw(&self, pen: &mut Pen, at: Vec3, radius: f32, color: LinearRgba) {
        match self.facing {
            // Two rings a line apart look filled.
            Some(axes) => {
                for part in [1.0, 0.5] {
                    let axes = axes.map(|axis| part * radius * axis);
                    pen.ring(at, axes, &self.circle, color);
                }
            }
            None => {
                for axes in [[Vec3::X, Vec3::Y], [Vec3::Y, Vec3::Z], [Vec3::Z, Vec3::X]] {
                    pen.ring(at, axes.map(|axis| radius * axis), &self.circle, color);
                }
            }
        }
    }
}
