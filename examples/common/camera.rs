//! Cameras that the mouse moves: one that orbits a point and one for flat scenes.
//!
//! Middle or right button drags, the wheel zooms. The left button is the scene's.

use bevy::{
    input::mouse::{AccumulatedMouseMotion, AccumulatedMouseScroll, MouseScrollUnit},
    prelude::*,
    window::PrimaryWindow,
};

use bevy_pliant::interact::pointer_is_free;

/// Zoom for one notch of the wheel: the natural logarithm of the factor.
const ZOOM_PER_LINE: f32 = 0.12;
/// Pixels that a touchpad reports for one notch.
const PIXELS_PER_LINE: f32 = 60.0;
/// Orbit for one pixel of drag (rad).
const TURN_PER_PIXEL: f32 = 0.005;
/// Orbits stop short of the poles, where "up" is lost (rad).
const MAX_PITCH: f32 = 1.5;

/// Moves cameras by mouse, in `Update`: [`OrbitCamera`]s and [`FlatCamera`]s; while the panel or a held particle
/// has the pointer they rest.
pub struct CameraControlPlugin;

impl Plugin for CameraControlPlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(Update, (orbit, pan_and_zoom).run_if(pointer_is_free));
    }
}

/// A 3D camera that looks at a point and keeps its distance. It owns its `Transform`.
#[derive(Component, Debug, Clone)]
pub struct OrbitCamera {
    /// The point it looks at (m).
    pub target: Vec3,
    /// Angle about +y, 0 looks along −z (rad).
    pub yaw: f32,
    /// Angle above the horizon (rad).
    pub pitch: f32,
    /// Distance from the target (m).
    pub distance: f32,
    /// Nearest and farthest distance (m). Default: a tenth and four times of where it began.
    pub bounds: [f32; 2],
}

impl OrbitCamera {
    /// A camera at `eye` that looks at `target`.
    pub fn looking_at(eye: Vec3, target: Vec3) -> Self {
        let back = eye - target;
        let distance = back.length().max(1e-3);
        Self {
            target,
            yaw: back.x.atan2(back.z),
            pitch: (back.y / distance).clamp(-1.0, 1.0).asin(),
            distance,
            bounds: [distance * 0.1, distance * 4.0],
        }
    }

    /// Where it stands.
    pub fn transform(&self) -> Transform {
        let rotation = Quat::from_euler(EulerRot::YXZ, self.yaw, -self.pitch, 0.0);
        Transform::from_translation(self.target + rotation * (Vec3::Z * self.distance))
            .with_rotation(rotation)
    }
}

/// A 2D camera whose `Transform` and orthographic scale the mouse moves.
#[derive(Component, Debug, Clone)]
pub struct FlatCamera {
    /// Least and greatest scale of the projection (world units per px). Default: 1/20 and 20.
    pub bounds: [f32; 2],
}

impl Default for FlatCamera {
    fn default() -> Self {
        Self { bounds: [0.05, 20.0] }
    }
}

fn orbit(
    mut cameras: Query<(&mut OrbitCamera, &mut Transform)>,
    buttons: Res<ButtonInput<MouseButton>>,
    motion: Res<AccumulatedMouseMotion>,
    scroll: Res<AccumulatedMouseScroll>,
) {
    let drag = drag(&buttons, &motion) * TURN_PER_PIXEL;
    let zoom = zoom(&scroll);
    for (mut camera, mut transform) in &mut cameras {
        let moved = drag != Vec2::ZERO || zoom != 1.0;
        if moved {
            let [near, far] = camera.bounds;
            camera.yaw -= drag.x;
            camera.pitch = (camera.pitch + drag.y).clamp(-MAX_PITCH, MAX_PITCH);
            camera.distance = (camera.distance * zoom).min(far).max(near).max(1e-3);
        }
        if moved || camera.is_changed() {
            *transform = camera.transform();
        }
    }
}

fn pan_and_zoom(
    mut cameras: Query<(&FlatCamera, &Camera, &GlobalTransform, &mut Transform, &mut Projection)>,
    windows: Query<&Window, With<PrimaryWindow>>,
    buttons: Res<ButtonInput<MouseButton>>,
    motion: Res<AccumulatedMouseMotion>,
    scroll: Res<AccumulatedMouseScroll>,
) {
    let drag = drag(&buttons, &motion);
    let zoom = zoom(&scroll);
    if drag == Vec2::ZERO && zoom == 1.0 {
        return;
    }
    for (flat, camera, global, mut transform, mut projection) in &mut cameras {
        let Projection::Orthographic(view) = &mut *projection else {
            continue;
        };
        let Some(size) = camera.logical_viewport_size() else {
            continue;
        };
        let per_pixel = view.area.width() / size.x;
        transform.translation += Vec3::new(-drag.x, drag.y, 0.0) * per_pixel;

        // The world's point below the cursor stays there.
        let [least, greatest] = flat.bounds;
        let scale = (view.scale * zoom).min(greatest).max(least);
        let cursor = windows.single().ok().and_then(Window::cursor_position);
        let below = cursor.and_then(|at| camera.viewport_to_world_2d(global, at).ok());
        if let Some(below) = below {
            let away = below - global.translation().truncate();
            transform.translation += (away * (1.0 - scale / view.scale)).extend(0.0);
        }
        view.scale = scale;
    }
}

fn drag(buttons: &ButtonInput<MouseButton>, motion: &AccumulatedMouseMotion) -> Vec2 {
    if buttons.any_pressed([MouseButton::Right, MouseButton::Middle]) {
        motion.delta
    } else {
        Vec2::ZERO
    }
}

fn zoom(scroll: &AccumulatedMouseScroll) -> f32 {
    let lines = match scroll.unit {
        MouseScrollUnit::Line => scroll.delta.y,
        MouseScrollUnit::Pixel => scroll.delta.y / PIXELS_PER_LINE,
    };
    (-lines * ZOOM_PER_LINE).exp()
}
