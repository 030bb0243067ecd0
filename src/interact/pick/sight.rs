//! Which cameras see what is under a pointer, and along which ray.

use bevy::{
    camera::{NormalizedRenderTarget, RenderTarget, visibility::RenderLayers},
    ecs::system::SystemParam,
    math::Affine3A,
    picking::pointer::Location,
    prelude::*,
    window::PrimaryWindow,
};

type CameraData = (
    Entity,
    &'static Camera,
    &'static RenderTarget,
    &'static GlobalTransform,
    Option<&'static RenderLayers>,
    Has<Camera2d>,
    Has<Camera3d>,
);

/// All cameras.
#[derive(SystemParam)]
pub struct Cameras<'w, 's> {
    cameras: Query<'w, 's, CameraData>,
    window: Query<'w, 's, Entity, With<PrimaryWindow>>,
}

/// What a camera sees under a pointer.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// The camera's entity.
    pub entity: Entity,
    /// The camera.
    pub camera: &'a Camera,
    /// Where it stands.
    pub view: &'a GlobalTransform,
    /// From its near plane through the pointer.
    pub ray: Ray3d,
    /// Where the pointer is on what the camera draws to (logical pixels).
    pub cursor: Vec2,
    /// Of the viewport, likewise.
    viewport: Rect,
    /// Kept, as it is asked for with every particle.
    view_from_world: Affine3A,
    layers: Option<&'a RenderLayers>,
    flat: bool,
    solid: bool,
}

/// Whether something is drawn by 2D cameras, 3D cameras, or any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawnBy {
    /// By those in 2D.
    Flat,
    /// By those in 3D.
    Solid,
    /// By any that there is.
    Any,
}

impl Cameras<'_, '_> {
    /// What the cameras see under a pointer there, topmost first.
    pub fn under<'a>(&'a self, location: &Location) -> Vec<Sight<'a>> {
        let window = self.window.single().ok();
        let mut sights: Vec<Sight> = self
            .cameras
            .iter()
            .filter_map(|(entity, camera, target, view, layers, flat, solid)| {
                let normalized: Option<NormalizedRenderTarget> = target.normalize(window);
                let is_seen = camera.is_active && normalized.as_ref() == Some(&location.target);
                let viewport = camera.logical_viewport_rect()?;
                let cursor = location.position;
                let is_seen = is_seen && viewport.contains(cursor);
                let ray = is_seen.then(|| cast(camera, view, cursor)).flatten()?;
                let view_from_world = view.affine().inverse();
                Some(Sight {
                    entity,
                    camera,
                    view,
                    ray,
                    cursor,
                    viewport,
                    view_from_world,
                    layers,
                    flat,
                    solid,
                })
            })
            .collect();
        // Of the same order the later is on top.
        sights.sort_by_key(|sight| core::cmp::Reverse((sight.camera.order, sight.entity)));
        sights
    }

    /// The point under a pointer in the plane through `through` that faces the camera.
    pub fn point_under(&self, camera: Entity, location: &Location, through: Vec3) -> Option<Vec3> {
        let (_, camera, _, view, ..) = self.cameras.get(camera).ok()?;
        point_on_ray(cast(camera, view, location.position)?, view, through)
    }

    /// Whether the camera exists still, draws, and draws there.
    pub fn is_alive(&self, camera: Entity, location: &Location) -> bool {
        self.cameras.get(camera).is_ok_and(|(_, camera, target, ..)| {
            camera.is_active
                && target.normalize(self.window.single().ok()).as_ref() == Some(&location.target)
        })
    }

    /// The order of a camera.
    pub fn order(&self, camera: Entity) -> Option<isize> {
        Some(self.cameras.get(camera).ok()?.1.order)
    }
}

/// Where a ray comes through the plane through `through` that faces the camera.
fn point_on_ray(ray: Ray3d, view: &GlobalTransform, through: Vec3) -> Option<Vec3> {
    let distance = ray.intersect_plane(through, InfinitePlane3d::new(view.back()))?;
    let point = ray.get_point(distance);
    point.is_finite().then_some(point)
}

fn cast(camera: &Camera, view: &GlobalTransform, at: Vec2) -> Option<Ray3d> {
    // Bevy's own asserts do not expect what is not a number.
    if !(at.is_finite() && view.affine().is_finite()) {
        return None;
    }
    let ray = camera.viewport_to_world(view, at).ok()?;
    ray.origin.is_finite().then_some(ray)
}

impl Sight<'_> {
    /// Whether the camera draws what is on these layers and drawn so.
    pub fn sees(&self, layers: Option<&RenderLayers>, drawn: DrawnBy) -> bool {
        let of_kind = match drawn {
            DrawnBy::Flat => self.flat || !self.solid,
            DrawnBy::Solid => self.solid || !self.flat,
            DrawnBy::Any => true,
        };
        of_kind && self.layers.unwrap_or_default().intersects(layers.unwrap_or_default())
    }

    /// How far a point is from the near plane, along the ray (m), and from the pointer (logical pixels);
    /// `None` if the camera does not draw it.
    pub fn locate(&self, point: Vec3) -> Option<(f32, f32)> {
        let depth = (point - self.ray.origin).dot(*self.ray.direction);
        let apart = self.on_screen(point)?.distance(self.cursor);
        (apart.is_finite() && depth.is_finite()).then_some((depth, apart))
    }

    /// `Camera::world_to_viewport`, for many points.
    fn on_screen(&self, point: Vec3) -> Option<Vec2> {
        let in_view = self.view_from_world.transform_point3a(point.into());
        let place = self.camera.clip_from_view().project_point3a(in_view);
        if !(place.z >= 0.0 && place.z <= 1.0) {
            return None;
        }
        let of_size = Vec2::new(0.5 + 0.5 * place.x, 0.5 - 0.5 * place.y);
        Some(self.viewport.min + of_size * self.viewport.size())
    }

    /// The point under the pointer in the plane through `through` that faces the camera.
    pub fn point_under(&self, through: Vec3) -> Option<Vec3> {
        point_on_ray(self.ray, self.view, through)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy::camera::{ComputedCameraValues, RenderTargetInfo, Viewport};

    #[test]
    fn points_are_on_screen_where_bevy_says() {
        let mut draws = 1u32;
        let mut unit = || {
            draws = draws.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (draws >> 8) as f32 / (1u32 << 24) as f32
        };
        let size = UVec2::new(1280, 720);
        let perspective = Mat4::perspective_infinite_reverse_rh(0.8, 1.7, 0.1);
        let flat = Mat4::orthographic_rh(-4.0, 4.0, -3.0, 3.0, 1000.0, -1000.0);
        let mut seen = 0;
        for clip_from_view in [perspective, flat] {
            let camera = Camera {
                viewport: Some(Viewport {
                    physical_position: UVec2::new(100, 60),
                    physical_size: UVec2::new(900, 600),
                    ..default()
                }),
                computed: ComputedCameraValues {
                    clip_from_view,
                    target_info: Some(RenderTargetInfo { physical_size: size, scale_factor: 2.0 }),
                    ..default()
                },
                ..default()
            };
            let eye = Transform::from_xyz(3.0, 2.0, 5.0).looking_at(Vec3::ZERO, Vec3::Y);
            let view = GlobalTransform::from(eye);
            let cursor = Vec2::new(300.0, 150.0);
            let sight = Sight {
                entity: Entity::PLACEHOLDER,
                camera: &camera,
                view: &view,
                ray: cast(&camera, &view, cursor).unwrap(),
                cursor,
                viewport: camera.logical_viewport_rect().unwrap(),
                view_from_world: view.affine().inverse(),
                layers: None,
                flat: false,
                solid: false,
            };
            for _ in 0..500 {
                let point = 12.0 * (Vec3::new(unit(), unit(), unit()) - 0.5);
                let (own, bevys) =
                    (sight.on_screen(point), camera.world_to_viewport(&view, point).ok());
                assert_eq!(own.is_some(), bevys.is_some(), "{point}");
                if let (Some(own), Some(bevys)) = (own, bevys) {
                    seen += 1;
                    assert!(own.distance(bevys) < 1e-3 * bevys.length().max(1.0), "{own} {bevys}");
                }
            }
            let (depth, apart) = sight.locate(sight.ray.get_point(4.0)).unwrap();
            assert!((depth - 4.0).abs() < 1e-3 && apart < 1e-2, "{depth} {apart}");
            assert_eq!(sight.locate(Vec3::NAN), None);
        }
        assert!(seen > 500, "{seen}");
    }
}
