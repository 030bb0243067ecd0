//! Which cameras see what is under a pointer, and along which ray.

use bevy::{
    camera::{NormalizedRenderTarget, RenderTarget, visibility::RenderLayers},
    ecs::system::SystemParam,
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
                let ray = is_seen.then(|| ray(camera, view, location.position)).flatten()?;
                let cursor = location.position;
                Some(Sight { entity, camera, view, ray, cursor, layers, flat, solid })
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

/// The ray of a pointer in the camera's viewport.
fn ray(camera: &Camera, view: &GlobalTransform, at: Vec2) -> Option<Ray3d> {
    let rect = camera.logical_viewport_rect()?;
    rect.contains(at).then(|| cast(camera, view, at)).flatten()
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
        if !point.is_finite() {
            return None;
        }
        let screen = self.camera.world_to_viewport(self.view, point).ok()?;
        let depth = (point - self.ray.origin).dot(*self.ray.direction);
        let apart = screen.distance(self.cursor);
        (apart.is_finite() && depth.is_finite()).then_some((depth, apart))
    }

    /// The point under the pointer in the plane through `through` that faces the camera.
    pub fn point_under(&self, through: Vec3) -> Option<Vec3> {
        point_on_ray(self.ray, self.view, through)
    }
}
