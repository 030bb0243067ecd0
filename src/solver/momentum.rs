//! Momentum of an island: given back where projection took it, and kept while the rest is damped.
//!
//! Shape matching and position-based dynamics slow rotation (dω/dt ≈ −ω³h). What an island that nothing
//! touches has lost since `Predict` is given back as a rigid motion, and damping acts on what is left
//! beside the rigid motion. Both need the same sums, over the free particles, relative to the first one:
//!
//! ```text
//! M = Σm   c = Σm x/M   P = Σm v   L = Σ m (x − c) × v + Σ I ω   I = Σ m (|r|² 1 − r rᵀ) + Σ I
//! ```

use super::mirror::IslandView;
use bevy::{
    math::{Mat3, Mat3A, Vec3A, Vec4},
    prelude::*,
};

/// Linear (kg m/s) and angular momentum about the centre of mass (kg m²/s).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Momentum {
    linear: Vec3A,
    angular: Vec3A,
}

/// Mass (kg), centre of mass (m), inertia about it (kg m²), and momentum.
struct Rigid {
    mass: f32,
    centre: Vec3A,
    inertia: Inertia,
    momentum: Momentum,
}

enum Inertia {
    /// About z.
    Plane(f32),
    Space(Mat3),
}

/// Where sums start (m), so that nothing is lost to the distance from the origin.
fn reference(view: &IslandView<'_>) -> Vec3A {
    view.position.first().map_or(Vec3A::ZERO, |x| Vec3A::from_vec4(*x))
}

/// The sums; without `INERTIA` the tensor in space is left out.
fn rigid<const INERTIA: bool>(view: &IslandView<'_>) -> Rigid {
    if view.island.all_planar { rigid_in_plane(view) } else { rigid_in_space::<INERTIA>(view) }
}

/// Mass where a particle is free, 0 where it is held.
#[inline(always)]
fn free_mass(view: &IslandView<'_>, i: usize) -> f32 {
    if view.inverse_mass[i] > 0.0 { view.mass[i] } else { 0.0 }
}

fn rigid_in_plane(view: &IslandView<'_>) -> Rigid {
    let first = reference(view);
    let (mut mass, mut angular, mut inertia) = (0.0, 0.0, 0.0);
    let (mut place, mut linear) = (Vec2::ZERO, Vec2::ZERO);
    for i in 0..view.len() {
        let m = free_mass(view, i);
        let x = (Vec3A::from_vec4(view.position[i]) - first).truncate();
        let v = (view.velocity[i] + view.velocity_change[i]).truncate().truncate();
        mass += m;
        place += m * x;
        linear += m * v;
        angular += m * x.perp_dot(v);
        inertia += m * x.length_squared();
    }
    for oriented in view.oriented.iter().filter(|o| !o.held) {
        angular += oriented.inertia.z * oriented.angular_velocity.z;
        inertia += oriented.inertia.z;
    }
    let centre = if mass > 0.0 { place / mass } else { Vec2::ZERO };
    angular -= centre.perp_dot(linear);
    inertia -= mass * centre.length_squared();
    Rigid {
        mass,
        centre: first + Vec3A::new(centre.x, centre.y, 0.0),
        inertia: Inertia::Plane(inertia),
        momentum: Momentum {
            linear: Vec3A::new(linear.x, linear.y, 0.0),
            angular: Vec3A::new(0.0, 0.0, angular),
        },
    }
}

fn rigid_in_space<const INERTIA: bool>(view: &IslandView<'_>) -> Rigid {
    let first = reference(view);
    let mut mass = 0.0;
    let (mut place, mut linear, mut angular) = (Vec3A::ZERO, Vec3A::ZERO, Vec3A::ZERO);
    // Σ m r rᵀ: its diagonal, and (yz, zx, xy).
    let (mut squares, mut products) = (Vec3A::ZERO, Vec3A::ZERO);
    for i in 0..view.len() {
        let m = free_mass(view, i);
        let x = Vec3A::from_vec4(view.position[i]) - first;
        let v = Vec3A::from_vec4(view.velocity[i] + view.velocity_change[i]);
        mass += m;
        place += m * x;
        linear += m * v;
        angular += m * x.cross(v);
        if INERTIA {
            squares += m * x * x;
            products += m * Vec3A::new(x.y * x.z, x.z * x.x, x.x * x.y);
        }
    }
    let centre = if mass > 0.0 { place / mass } else { Vec3A::ZERO };
    angular -= centre.cross(linear);
    squares -= mass * centre * centre;
    products -= mass * Vec3A::new(centre.y * centre.z, centre.z * centre.x, centre.x * centre.y);
    let (s, p) = (squares, products);
    let mut tensor = Mat3::from_cols(
        Vec3::new(s.y + s.z, -p.z, -p.y),
        Vec3::new(-p.z, s.z + s.x, -p.x),
        Vec3::new(-p.y, -p.x, s.x + s.y),
    );
    for oriented in view.oriented.iter().filter(|o| !o.held) {
        let spin = Vec3A::from(oriented.angular_velocity);
        if oriented.isotropic {
            angular += oriented.inertia.x * spin;
            tensor += Mat3::from_diagonal(oriented.inertia);
            continue;
        }
        let axes = Mat3A::from_quat(oriented.rotation);
        angular += axes * (Vec3A::from(oriented.inertia) * (axes.transpose() * spin));
        if INERTIA {
            let own = axes * Mat3A::from_diagonal(oriented.inertia) * axes.transpose();
            tensor += Mat3::from(own);
        }
    }
    Rigid {
        mass,
        centre: first + centre,
        inertia: Inertia::Space(tensor),
        momentum: Momentum { linear, angular },
    }
}

impl Momentum {
    /// Of the island as it is now.
    pub fn of(view: &IslandView<'_>) -> Self {
        rigid::<false>(view).momentum
    }
}

impl Inertia {
    /// I⁻¹ `v`.
    fn solve(&self, v: Vec3A) -> Vec3A {
        match self {
            Self::Plane(inertia) if *inertia > 0.0 => Vec3A::new(0.0, 0.0, v.z / inertia),
            Self::Plane(_) => Vec3A::ZERO,
            Self::Space(tensor) => solve(*tensor, v.into()).into(),
        }
    }
}

/// Gives back, as a rigid motion, what the island lost since it had the momentum `before`, if that is told;
/// then keeps the part `kept` of its velocity beside the rigid motion. Linear and angular momentum stay.
pub(super) fn restore_and_damp(view: &mut IslandView<'_>, before: Option<Momentum>, kept: f32) {
    let Rigid { mass, centre, inertia, momentum: now } = rigid::<true>(view);
    if mass <= 0.0 {
        return;
    }
    let Momentum { linear, angular } = before.unwrap_or(now);
    let (velocity, spin) = (linear / mass, inertia.solve(angular));
    let push = (linear - now.linear) / mass;
    let turn = inertia.solve(angular - now.angular);
    if !(velocity.is_finite() && spin.is_finite() && push.is_finite() && turn.is_finite()) {
        return;
    }
    for i in 0..view.len() {
        if view.inverse_mass[i] <= 0.0 {
            continue;
        }
        let r = Vec3A::from_vec4(view.position[i]) - centre;
        let own = Vec3A::from_vec4(view.velocity[i] + view.velocity_change[i]);
        let given = push + turn.cross(r);
        let relative = own + given - velocity - spin.cross(r);
        view.velocity_change[i] += Vec4::from((given + (kept - 1.0) * relative, 0.0));
    }
    let (spin, turn) = (Vec3::from(spin), Vec3::from(turn));
    for oriented in view.oriented.iter_mut().filter(|o| !o.held) {
        let relative = oriented.angular_velocity + turn - spin;
        oriented.angular_velocity += turn + (kept - 1.0) * relative;
    }
}

/// `tensor`⁻¹ `v`, regularised where the tensor has no inverse (particles on a line, say).
fn solve(tensor: Mat3, v: Vec3) -> Vec3 {
    let trace = tensor.x_axis.x + tensor.y_axis.y + tensor.z_axis.z;
    if trace <= 0.0 {
        return Vec3::ZERO;
    }
    let regular = tensor + Mat3::from_diagonal(Vec3::splat(1e-6 * trace));
    let solution = regular.inverse() * v;
    if solution.is_finite() { solution } else { Vec3::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_particles_spins_about_other_axes_only() {
        let rod = Mat3::from_diagonal(Vec3::new(0.0, 2.0, 2.0));
        let spin = solve(rod, Vec3::new(0.0, 2.0, 4.0));
        assert!(spin.distance(Vec3::new(0.0, 1.0, 2.0)) < 1e-4);
        assert_eq!(solve(Mat3::ZERO, Vec3::ONE), Vec3::ZERO);
    }
}
