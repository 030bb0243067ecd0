//! Joints and torsion against closed forms and conservation laws.

mod common;

use bevy::prelude::*;
use bevy_pliant::prelude::*;
use common::{app_with, particle, tick, undamped};
use core::f32::consts::TAU;

fn free() -> SolverSettings {
    SolverSettings { relative_damping: 0.0, ..undamped() }
}

fn weightless() -> SolverSettings {
    SolverSettings { gravity: Vec3::ZERO, ..free() }
}

fn oriented(app: &App, entity: Entity) -> OrientedParticle {
    *app.world().get::<OrientedParticle>(entity).expect("turns")
}

fn spin(app: &mut App, entity: Entity, angular_velocity: Vec3) {
    let mut oriented = app.world_mut().get_mut::<OrientedParticle>(entity).expect("turns");
    oriented.angular_velocity = angular_velocity;
}

/// Spawns an ellipsoid of a body.
fn bone(app: &mut App, body: Entity, at: Vec3, mass: f32, radii: Vec3) -> Entity {
    let particle = Particle::at(at).with_mass(mass);
    app.world_mut().spawn((particle, OrientedParticle::with_radii(radii), ParticleOf(body))).id()
}

fn body(app: &mut App, planar: bool) -> Entity {
    let body = app.world_mut().spawn_empty().id();
    if planar {
        app.world_mut().entity_mut(body).insert(Planar);
    }
    body
}

const RADII: Vec3 = Vec3::new(0.3, 0.1, 0.08);

/// A held bone at the origin and a bar of 0.5 kg that is joined to it `arm` m left of its own centre.
fn pendulum(app: &mut App, planar: bool, arm: f32) -> (Entity, JointConstraint) {
    let body = body(app, planar);
    let post = bone(app, body, Vec3::ZERO, 1.0, Vec3::splat(0.1));
    app.world_mut().entity_mut(post).insert(Pinned);
    let bar = bone(app, body, Vec3::X * arm, 0.5, RADII);
    let poses = [(Vec3::ZERO, Quat::IDENTITY), (Vec3::X * arm, Quat::IDENTITY)];
    (bar, JointConstraint::at([post, bar], poses, Vec3::ZERO))
}

/// The moment of inertia of the pendulum's bar about z (kg m²).
fn inertia(planar: bool) -> f32 {
    let squares = RADII.x * RADII.x + RADII.y * RADII.y;
    0.5 * squares * if planar { 0.25 } else { 0.2 }
}

#[test]
fn a_bar_on_a_joint_swings_as_a_physical_pendulum() {
    for planar in [true, false] {
        let mut app = app_with(free());
        let arm = 0.25f32;
        let (bar, joint) = pendulum(&mut app, planar, arm);
        app.world_mut().spawn(joint);
        // Hanging, and pushed a little.
        let tilt = 0.05;
        let down = Quat::from_rotation_z(-0.25 * TAU + tilt);
        app.world_mut().get_mut::<Particle>(bar).expect("lives").position = down * Vec3::X * arm;
        app.world_mut().get_mut::<OrientedParticle>(bar).expect("turns").rotation = down;
        let (mut crossings, mut last) = (Vec::new(), tilt);
        for step in 0..64 * 12 {
            tick(&mut app, 1);
            let x = particle(&app, bar).position.x;
            if last < 0.0 && x >= 0.0 {
                crossings.push(step as f32 + last / (last - x));
            }
            last = x;
        }
        let swings = (crossings.len() - 1) as f32;
        let period = (crossings[crossings.len() - 1] - crossings[0]) / swings / 64.0;
        let stiffness = 0.5 * 9.81 * arm / (inertia(planar) + 0.5 * arm * arm);
        let expected = TAU / stiffness.sqrt();
        assert!((period / expected - 1.0).abs() < 2e-3, "{period} s, theory {expected} s");
        let gap = (particle(&app, bar).position.length() - arm).abs();
        assert!(gap < 1e-4, "{gap}");
    }
}

#[test]
fn torsion_sags_by_its_compliance_for_any_number_of_iterations() {
    for planar in [true, false] {
        for iterations in [1, 2, 8] {
            let mut app = app_with(SolverSettings { iterations, ..free() });
            let arm = 0.25;
            let (bar, joint) = pendulum(&mut app, planar, arm);
            let alpha = 0.1f32;
            app.world_mut().spawn(joint.with_torsion(alpha).with_spin_damping(30.0));
            tick(&mut app, 64 * 8);
            let angle = oriented(&app, bar).rotation.to_scaled_axis().z;
            // θ = α m g l cos θ.
            let mut expected = 0.0f32;
            for _ in 0..50 {
                expected = -alpha * 0.5 * 9.81 * arm * expected.cos();
            }
            assert!((angle / expected - 1.0).abs() < 0.01, "{iterations}: {angle} {expected}");
        }
    }
}

#[test]
fn spin_damping_takes_relative_spin_and_leaves_the_common_one() {
    for planar in [true, false] {
        let mut app = app_with(weightless());
        let body = body(&mut app, planar);
        let pair = [Vec3::ZERO, Vec3::X].map(|x| bone(&mut app, body, x, 1.0, Vec3::splat(0.2)));
        let own = BodySettings { restore_momentum: Some(false), ..default() };
        app.world_mut().entity_mut(body).insert(own);
        let torsion = TorsionConstraint::new(pair, Quat::IDENTITY)
            .with_compliance(f32::INFINITY)
            .with_damping(2.0);
        app.world_mut().spawn(torsion);
        spin(&mut app, pair[0], Vec3::Z);
        spin(&mut app, pair[1], Vec3::Z * 3.0);
        tick(&mut app, 64);
        let spins = pair.map(|e| oriented(&app, e).angular_velocity.z);
        let expected = 2.0 * (-2.0f32).exp();
        assert!((spins[1] - spins[0] - expected).abs() < 0.01, "{spins:?}");
        assert!((spins[1] + spins[0] - 4.0).abs() < 1e-3, "{spins:?}");
    }
}

#[test]
fn limits_stop_an_arm_that_falls() {
    for planar in [true, false] {
        for (limits, least) in [
            (JointLimits::Hinge { axis: Vec3::Z, min: -0.4, max: 1.0 }, -0.4f32),
            (JointLimits::Hinge { axis: Vec3::NEG_Z, min: -1.0, max: 0.4 }, -0.4),
            (JointLimits::ConeTwist { axis: Vec3::X, cone: 0.3, twist: 0.1 }, -0.3),
        ] {
            let mut app = app_with(free());
            let (bar, joint) = pendulum(&mut app, planar, 0.25);
            app.world_mut().spawn(joint.with_limits(limits).with_spin_damping(5.0));
            tick(&mut app, 64 * 5);
            let turn = oriented(&app, bar).rotation.to_scaled_axis();
            assert!((turn.z - least).abs() < 0.01, "{limits:?}: {turn}");
            assert!(turn.truncate().length() < 0.01, "{limits:?}: {turn}");
        }
    }
}

/// A chain of bars joined at their ends, flying and tumbling.
fn chain(app: &mut App, planar: bool) -> Vec<Entity> {
    let body = body(app, planar);
    let at = |i: usize| Vec3::X * (0.6 * i as f32);
    let bones: Vec<Entity> =
        (0..5).map(|i| bone(app, body, at(i), 0.2 + 0.1 * i as f32, RADII)).collect();
    for i in 0..4 {
        let poses = [(at(i), Quat::IDENTITY), (at(i + 1), Quat::IDENTITY)];
        let joint = JointConstraint::at([bones[i], bones[i + 1]], poses, at(i) + Vec3::X * 0.3)
            .with_torsion(0.5)
            .with_spin_damping(1.0);
        app.world_mut().spawn(joint);
    }
    for (i, &bone) in bones.iter().enumerate() {
        let mut particle = app.world_mut().get_mut::<Particle>(bone).expect("lives");
        let across = if planar { Vec3::ZERO } else { Vec3::Z * (0.3 * i as f32 - 0.6) };
        particle.velocity = Vec3::new(1.0, 0.9 * (i as f32 - 2.0), 0.0) + across;
        spin(app, bone, Vec3::Z * (1.0 - i as f32));
    }
    bones
}

fn momenta(app: &App, bones: &[Entity]) -> (f32, Vec3, Vec3) {
    let mass: f32 = bones.iter().map(|e| particle(app, *e).mass).sum();
    let centre = bones.iter().map(|e| particle(app, *e)).map(|p| p.mass * p.position).sum::<Vec3>();
    let centre = centre / mass;
    let (mut linear, mut angular) = (Vec3::ZERO, Vec3::ZERO);
    for &e in bones {
        let (p, o) = (particle(app, e), oriented(app, e));
        linear += p.mass * p.velocity;
        angular += (p.position - centre).cross(p.mass * p.velocity);
        angular += o.rotation * (o.inertia(p.mass) * (o.rotation.inverse() * o.angular_velocity));
    }
    (mass, linear, angular)
}

#[test]
fn a_chain_in_flight_holds_together_and_keeps_its_momenta() {
    for restore in [true, false] {
        let mut app = app_with(weightless());
        let bones = chain(&mut app, false);
        let body = app.world().get::<ParticleOf>(bones[0]).expect("has a body").0;
        let own = BodySettings { restore_momentum: Some(restore), ..default() };
        app.world_mut().entity_mut(body).insert(own);
        tick(&mut app, 1);
        let (mass, linear, angular) = momenta(&app, &bones);
        tick(&mut app, 640);
        let (_, linear_after, angular_after) = momenta(&app, &bones);
        // Without, what is lost is the rounding of positions metres away.
        let drift = (linear_after - linear).length() / mass;
        assert!(drift < if restore { 1e-4 } else { 1e-2 }, "restored: {restore}: {drift}");
        let lost = (angular_after - angular).length() / angular.length();
        // Even what is not given back is little: joints pull along the gap.
        assert!(lost < if restore { 1e-3 } else { 0.05 }, "restored: {restore}: {lost}");
        assert!(angular.length() > 0.1);
        for pair in bones.windows(2) {
            let end = |e: Entity, x: f32| {
                particle(&app, e).position + oriented(&app, e).rotation * (Vec3::X * x)
            };
            let gap = end(pair[0], 0.3).distance(end(pair[1], -0.3));
            assert!(gap < 2e-3, "{gap}");
        }
    }
}

#[test]
fn a_joint_of_plain_particles_holds_their_centres_together() {
    let mut app = app_with(free());
    let spawn = |app: &mut App, x: Vec3| app.world_mut().spawn(Particle::at(x)).id();
    let (post, weight) = (spawn(&mut app, Vec3::ZERO), spawn(&mut app, Vec3::ZERO));
    app.world_mut().entity_mut(post).insert(Pinned);
    app.world_mut().spawn(JointConstraint::new([post, weight], [Vec3::X, Vec3::Y]));
    tick(&mut app, 64);
    assert!(particle(&app, weight).position.length() < 1e-4);
}

#[test]
fn a_soft_joint_stretches_by_its_compliance() {
    for iterations in [1, 4] {
        let mut app = app_with(SolverSettings { iterations, ..free() });
        let (bar, joint) = pendulum(&mut app, true, 0.25);
        app.world_mut().spawn(joint.with_compliance(0.01).with_spin_damping(20.0));
        let down = Quat::from_rotation_z(-0.25 * TAU);
        app.world_mut().get_mut::<Particle>(bar).expect("lives").position = Vec3::NEG_Y * 0.3;
        app.world_mut().get_mut::<OrientedParticle>(bar).expect("turns").rotation = down;
        app.world_mut().resource_mut::<SolverSettings>().relative_damping = 3.0;
        tick(&mut app, 64 * 12);
        let extension = -particle(&app, bar).position.y - 0.25;
        assert!((extension / (0.01 * 0.5 * 9.81) - 1.0).abs() < 0.02, "{extension}");
    }
}

#[test]
fn an_attachment_holds_any_point_of_a_bone() {
    for planar in [true, false] {
        let mut app = app_with(SolverSettings { relative_damping: 5.0, ..free() });
        let body = body(&mut app, planar);
        let bar = bone(&mut app, body, Vec3::ZERO, 0.5, RADII);
        let hook = app.world_mut().spawn(Transform::from_xyz(0.25, 0.0, 0.0)).id();
        app.world_mut().spawn(Attachment::new(bar, hook).holding(Vec3::X * 0.25).at(Vec3::ZERO));
        let mut lowest = 0.0f32;
        for _ in 0..64 * 5 {
            tick(&mut app, 1);
            let (state, turn) = (particle(&app, bar), oriented(&app, bar).rotation);
            let held = state.position + turn * (Vec3::X * 0.25);
            assert!(held.distance(Vec3::X * 0.25) < 1e-3, "{held}");
            lowest = lowest.min(state.position.y);
        }
        // It swings by that point.
        assert!((lowest + 0.25).abs() < 2e-3, "{lowest}");
    }
}

#[test]
fn a_bone_pinned_to_an_anchor_turns_with_it() {
    let mut app = app_with(weightless());
    let anchor = app.world_mut().spawn(Transform::from_xyz(1.0, 0.0, 0.0)).id();
    let body = body(&mut app, false);
    let bar = bone(&mut app, body, Vec3::X, 0.5, RADII);
    app.world_mut().entity_mut(bar).insert(PinnedTo { anchor, offset: Vec3::ZERO });
    tick(&mut app, 2);
    for step in 1..=32 {
        let turn = Quat::from_rotation_y(step as f32 / 64.0);
        app.world_mut().get_mut::<Transform>(anchor).expect("stands").rotation = turn;
        tick(&mut app, 1);
    }
    tick(&mut app, 2);
    let turn = oriented(&app, bar).rotation;
    assert!(turn.angle_between(Quat::from_rotation_y(0.5)) < 1e-3, "{turn}");
}
