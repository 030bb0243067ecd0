//! Particles that turn: damping relative to the rigid motion, and saving of their state.

mod common;

use bevy::prelude::*;
use bevy_pliant::prelude::*;
use common::{all_particles, app_with, tick};

/// A square of four balls joined by soft links, spinning about z and flying along x.
fn square(app: &mut App, stretch: f32) -> Vec<Entity> {
    let corners = [Vec3::X, Vec3::Y, Vec3::NEG_X, Vec3::NEG_Y];
    let balls: Vec<Entity> = corners
        .into_iter()
        .map(|corner| {
            let position = corner * stretch;
            let velocity = Vec3::X * 0.5 + Vec3::Z.cross(position);
            app.world_mut()
                .spawn((
                    Particle::at(position).with_velocity(velocity),
                    OrientedParticle {
                        angular_velocity: Vec3::Z,
                        ..OrientedParticle::with_radii(Vec3::splat(0.1))
                    },
                ))
                .id()
        })
        .collect();
    for i in 0..4 {
        for j in i + 1..4 {
            let rest = corners[i].distance(corners[j]);
            let link = DistanceConstraint::new([balls[i], balls[j]], rest).with_compliance(0.05);
            app.world_mut().spawn(link);
        }
    }
    balls
}

fn momenta(app: &mut App) -> (Vec3, Vec3) {
    let all = all_particles(app);
    let mass: f32 = all.iter().map(|(_, p)| p.mass).sum();
    let centre = all.iter().map(|(_, p)| p.mass * p.position).sum::<Vec3>() / mass;
    let linear = all.iter().map(|(_, p)| p.mass * p.velocity).sum();
    let orbital: Vec3 =
        all.iter().map(|(_, p)| (p.position - centre).cross(p.mass * p.velocity)).sum();
    let spin: Vec3 = all
        .iter()
        .map(|(e, p)| {
            let o = app.world().get::<OrientedParticle>(*e).expect("turns");
            o.rotation * (o.inertia(p.mass) * (o.rotation.inverse() * o.angular_velocity))
        })
        .sum();
    (linear, orbital + spin)
}

/// Greatest difference of a link from its mean length, over the last second (m).
fn ringing(app: &mut App) -> f32 {
    let (mut low, mut high) = (f32::INFINITY, 0.0f32);
    for _ in 0..64 {
        tick(app, 1);
        let all = all_particles(app);
        let length = all[0].1.position.distance(all[2].1.position);
        (low, high) = (low.min(length), high.max(length));
    }
    high - low
}

#[test]
fn relative_damping_stills_a_body_and_keeps_its_momentum() {
    let settings = SolverSettings { gravity: Vec3::ZERO, sleeping: false, ..default() };
    let mut app = app_with(settings.clone());
    square(&mut app, 1.1);
    tick(&mut app, 1);
    let before = momenta(&mut app);
    let at_first = ringing(&mut app);
    tick(&mut app, 64 * 8);
    let after = momenta(&mut app);
    assert!(after.0.distance(before.0) < 1e-3 * before.0.length(), "{before:?} {after:?}");
    assert!(after.1.distance(before.1) < 1e-3 * before.1.length(), "{before:?} {after:?}");
    let at_last = ringing(&mut app);
    assert!(at_last < 0.05 * at_first, "{at_first} {at_last}");

    let mut undamped = app_with(SolverSettings { relative_damping: 0.0, ..settings });
    square(&mut undamped, 1.1);
    tick(&mut undamped, 64 * 9);
    assert!(ringing(&mut undamped) > 5.0 * at_last, "without it the square rings on");
}

#[test]
fn a_lone_particle_is_not_slowed() {
    let mut app = app_with(SolverSettings { gravity: Vec3::ZERO, sleeping: false, ..default() });
    let ball = app
        .world_mut()
        .spawn((
            Particle::default().with_velocity(Vec3::X),
            OrientedParticle { angular_velocity: Vec3::Y * 2.0, ..default() },
        ))
        .id();
    tick(&mut app, 640);
    let particle = common::particle(&app, ball);
    assert!(particle.velocity.distance(Vec3::X) < 1e-5, "{particle:?}");
    let oriented = app.world().get::<OrientedParticle>(ball).expect("turns");
    assert!(oriented.angular_velocity.distance(Vec3::Y * 2.0) < 1e-4, "{oriented:?}");
}
