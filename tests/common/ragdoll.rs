//! What tests of ragdolls share: an app, figures, joints seen from outside.

use super::{app_with, figure, particle, particles};
use bevy::prelude::*;
use bevy_pliant::prelude::*;

/// Events seen.
#[derive(Resource, Default)]
pub struct Seen {
    pub built: Vec<Entity>,
    pub failed: Vec<(Entity, BuildError)>,
    pub faults: Vec<BodyFault>,
}

/// An app that knows pictures and notes events.
pub fn ragdoll_app(settings: SolverSettings) -> App {
    let mut app = app_with(settings);
    app.init_asset::<Image>()
        .init_resource::<Seen>()
        .add_observer(|e: On<BodyBuilt>, mut seen: ResMut<Seen>| seen.built.push(e.entity))
        .add_observer(|e: On<BodyFailed>, mut seen: ResMut<Seen>| {
            seen.failed.push((e.entity, e.error.clone()));
        })
        .add_observer(|e: On<BodyFault>, mut seen: ResMut<Seen>| seen.faults.push(e.clone()));
    app
}

/// A figure of a metre and a kilogram, made of its bones.
pub fn figure() -> SpriteRagdoll {
    SpriteRagdoll::of_bones(figure::bones())
}

/// The same of its pictures.
pub fn drawn_figure(app: &mut App) -> SpriteRagdoll {
    let mut images = app.world_mut().resource_mut::<Assets<Image>>();
    SpriteRagdoll::new(images.add(figure::texture()), images.add(figure::mask()))
}

pub fn spawn(app: &mut App, ragdoll: SpriteRagdoll, at: Transform) -> Entity {
    app.world_mut().spawn((ragdoll, at)).id()
}

/// A particle by its bone's name.
pub fn bone(app: &App, body: Entity, name: &str) -> Entity {
    let is_named = |e: &Entity| app.world().get::<Name>(*e).is_some_and(|n| n.as_str() == name);
    particles(app, body).into_iter().find(is_named).expect("there is such a bone")
}

pub fn oriented(app: &App, bone: Entity) -> OrientedParticle {
    *app.world().get::<OrientedParticle>(bone).expect("turns")
}

/// The angle about z of an orientation (rad), from −π to π.
pub fn angle(rotation: Quat) -> f32 {
    let sign = if rotation.w < 0.0 { -1.0 } else { 1.0 };
    2.0 * (sign * rotation.z).atan2(sign * rotation.w)
}

/// How far a joint is bent from rest (rad).
pub fn bent(app: &App, joint: &JointConstraint) -> f32 {
    let [a, b] = joint.particles.map(|bone| oriented(app, bone).rotation);
    angle(joint.rest_rotation.inverse() * (a.inverse() * b))
}

/// The joints of a body.
pub fn joints(app: &App, body: Entity) -> Vec<JointConstraint> {
    let constraints = app.world().get::<Constraints>(body);
    let joint = |e: Entity| app.world().get::<JointConstraint>(e).copied();
    constraints.map_or_else(Vec::new, |c| c.iter().filter_map(joint).collect())
}

/// How far the two ends of a joint are apart, as a part of the distance of its bones at rest.
pub fn gap(app: &App, joint: &JointConstraint) -> f32 {
    let end = |i: usize| {
        let bone = joint.particles[i];
        particle(app, bone).position + oriented(app, bone).rotation * joint.anchors[i]
    };
    let arm = joint.rest_rotation * joint.anchors[1];
    let apart = end(0).distance(end(1));
    apart / (joint.anchors[0] - arm).length()
}

pub fn worst_gap(app: &App, body: Entity) -> f32 {
    joints(app, body).iter().map(|joint| gap(app, joint)).fold(0.0, f32::max)
}

/// The greatest speed of a body's bones (m/s).
pub fn top_speed(app: &App, body: Entity) -> f32 {
    let speed = |e: &Entity| particle(app, *e).velocity.length();
    particles(app, body).iter().map(speed).fold(0.0, f32::max)
}

/// Moves a body as one rigid thing: velocity of its centre (m/s), spin about z (rad/s).
pub fn throw(app: &mut App, body: Entity, velocity: Vec3, spin: f32) {
    let centre = centre(app, body);
    for bone in particles(app, body) {
        let mut bone = app.world_mut().entity_mut(bone);
        let mut particle = bone.get_mut::<Particle>().expect("a particle");
        let arm = particle.position - centre;
        particle.velocity = velocity + Vec3::Z.cross(arm) * spin;
        bone.get_mut::<OrientedParticle>().expect("turns").angular_velocity = Vec3::Z * spin;
    }
}

/// The centre of mass (m).
pub fn centre(app: &App, body: Entity) -> Vec3 {
    let (mut sum, mut mass) = (bevy::math::DVec3::ZERO, 0.0);
    for bone in particles(app, body) {
        let p = particle(app, bone);
        sum += f64::from(p.mass) * p.position.as_dvec3();
        mass += f64::from(p.mass);
    }
    (sum / mass).as_vec3()
}

/// Linear and angular momentum about the origin, in the plane.
pub fn momenta(app: &App, body: Entity) -> (bevy::math::DVec2, f64) {
    let (mut linear, mut angular) = (bevy::math::DVec2::ZERO, 0.0);
    for bone in particles(app, body) {
        let (p, o) = (particle(app, bone), oriented(app, bone));
        let m = f64::from(p.mass);
        let (x, v) = (p.position.as_dvec3().truncate(), p.velocity.as_dvec3().truncate());
        let radii = o.radii.as_dvec3();
        let inertia = 0.25 * m * (radii.x * radii.x + radii.y * radii.y);
        linear += m * v;
        angular += m * x.perp_dot(v) + inertia * f64::from(o.angular_velocity.z);
    }
    (linear, angular)
}

/// A small generator, the same each run.
pub struct Random(pub u32);

impl Random {
    /// From 0 to 1.
    pub fn unit(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as f32 / (1u32 << 24) as f32
    }

    /// From −1 to 1.
    pub fn signed(&mut self) -> f32 {
        2.0 * self.unit() - 1.0
    }

    /// Below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        ((self.unit() * end as f32) as usize).min(end - 1)
    }
}
