//! Attachments of surfaces: points that several particles share.

mod common;

use bevy::prelude::*;
use bevy_pliant::prelude::*;
use common::{app_with, particle, tick, undamped};

const WEIGHTS: [f32; 3] = [0.5, 0.3, 0.2];

/// A triangle of three particles of 0.2 kg, joined rigidly, and a point of it held at where that is.
fn held_triangle(app: &mut App, tune: impl Fn(SurfaceAttachment) -> SurfaceAttachment) -> Held {
    let corners = [Vec3::ZERO, Vec3::X, Vec3::new(0.3, 0.8, 0.2)];
    let world = app.world_mut();
    let particles = corners.map(|at| world.spawn(Particle::at(at).with_mass(0.2)).id());
    for [a, b] in [[0, 1], [1, 2], [2, 0]] {
        let rest = corners[a].distance(corners[b]);
        world.spawn(DistanceConstraint::new([particles[a], particles[b]], rest));
    }
    let point: Vec3 = corners.iter().zip(WEIGHTS).map(|(at, w)| *at * w).sum();
    let anchor = world.spawn(Transform::from_translation(point)).id();
    let parts = core::array::from_fn::<_, 3, _>(|i| SurfacePart {
        particle: particles[i],
        point: Vec3::ZERO,
        // Only their ratios count.
        weight: 4.0 * WEIGHTS[i],
    });
    let attachment = world.spawn(tune(SurfaceAttachment::new(parts.to_vec(), anchor))).id();
    Held { particles, anchor, attachment, point }
}

struct Held {
    particles: [Entity; 3],
    anchor: Entity,
    attachment: Entity,
    point: Vec3,
}

impl Held {
    fn now(&self, app: &App) -> Vec3 {
        self.particles.iter().zip(WEIGHTS).map(|(p, w)| particle(app, *p).position * w).sum()
    }

    fn force(&self, app: &App) -> Vec3 {
        app.world().get::<SurfaceAttachment>(self.attachment).expect("holds").force
    }
}

#[test]
fn the_held_point_stays_and_carries_the_whole_weight() {
    let mut app = app_with(SolverSettings { damping: 4.0, ..undamped() });
    let held = held_triangle(&mut app, |hold| hold);
    tick(&mut app, 1500);
    assert!(held.now(&app).distance(held.point) < 1e-3, "{}", held.now(&app));
    let weight = Vec3::Y * 0.6 * 9.81;
    assert!(held.force(&app).distance(weight) < 0.02 * weight.length(), "{}", held.force(&app));
    // It hangs with its centre below the point.
    let centre: Vec3 = held.particles.map(|p| particle(&app, p).position).iter().sum();
    let aside = (centre / 3.0 - held.point).reject_from(Vec3::Y).length();
    assert!(aside < 0.02, "{aside}");
}

#[test]
fn a_moved_anchor_carries_the_point_with_it() {
    let mut app = app_with(undamped());
    let held = held_triangle(&mut app, |hold| hold);
    tick(&mut app, 1);
    let mut to = held.point;
    for _ in 0..60 {
        to += Vec3::new(0.02, 0.01, -0.01);
        let mut anchors = app.world_mut().query::<&mut Transform>();
        anchors.get_mut(app.world_mut(), held.anchor).expect("an anchor").translation = to;
        tick(&mut app, 1);
    }
    tick(&mut app, 1);
    assert!(held.now(&app).distance(to) < 1e-3, "{} {to}", held.now(&app));
}

#[test]
fn it_gives_way_by_force_times_compliance() {
    let mut app = app_with(SolverSettings { damping: 6.0, ..undamped() });
    let held = held_triangle(&mut app, |hold| hold.with_compliance(0.02).with_damping(5.0));
    tick(&mut app, 1500);
    let sag = held.point.y - held.now(&app).y;
    let expected = 0.02 * 0.6 * 9.81;
    assert!((sag - expected).abs() < 0.02 * expected, "{sag} {expected}");
}

#[test]
fn a_greatest_force_below_the_weight_lets_it_sink() {
    let mut app = app_with(undamped());
    // Through the centre, so that nothing turns.
    let held = held_triangle(&mut app, |hold| {
        let even = |part: SurfacePart| SurfacePart { weight: 1.0, ..part };
        let parts = hold.parts.iter().copied().map(even).collect();
        SurfaceAttachment { parts, ..hold }.with_max_force(2.0)
    });
    tick(&mut app, 64);
    let speeds = held.particles.map(|p| particle(&app, p).velocity.y);
    let expected = -(9.81 - 2.0 / 0.6);
    for speed in speeds {
        assert!((speed - expected).abs() < 0.03 * -expected, "{speed} {expected}");
    }
}

#[test]
fn what_is_held_by_a_particle_keeps_the_momentum_of_both() {
    let mut app = app_with(SolverSettings { gravity: Vec3::ZERO, ..undamped() });
    let held = held_triangle(&mut app, |hold| hold);
    let other = Particle { velocity: Vec3::new(1.0, 2.0, -0.5), mass: 0.7, ..default() };
    let other = app.world_mut().spawn(other).id();
    app.world_mut().get_mut::<SurfaceAttachment>(held.attachment).expect("holds").anchor = other;
    let all = [held.particles.as_slice(), &[other]].concat();
    let momentum = |app: &App| -> Vec3 {
        all.iter().map(|p| particle(app, *p)).map(|p| p.mass * p.velocity).sum()
    };
    let before = momentum(&app);
    tick(&mut app, 64);
    // A thousand substeps, each of which rounds positions by 6e-8 m, so velocities by 6e-5 m/s.
    assert!(momentum(&app).distance(before) < 5e-3, "{} {before}", momentum(&app));
    // It drags the triangle along.
    assert!(held.particles.iter().all(|p| particle(&app, *p).position.length() > 1.0));
}

#[test]
fn a_single_part_is_an_attachment() {
    let run = |surface: bool| {
        let mut app = app_with(undamped());
        let world = app.world_mut();
        let bone = OrientedParticle::with_radii(Vec3::new(0.5, 0.2, 0.3));
        let bone = world.spawn((Particle::default().with_mass(2.0), bone)).id();
        let anchor = world.spawn(Transform::from_xyz(0.3, 0.1, 0.0)).id();
        let point = Vec3::new(0.4, 0.1, -0.1);
        if surface {
            let part = SurfacePart { particle: bone, point, weight: 1.0 };
            world.spawn(SurfaceAttachment::new(vec![part], anchor).with_compliance(1e-3));
        } else {
            world.spawn(Attachment::new(bone, anchor).holding(point).with_compliance(1e-3));
        }
        tick(&mut app, 100);
        let turned = app.world().get::<OrientedParticle>(bone).expect("turns").rotation;
        (particle(&app, bone).position, turned)
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn a_point_between_two_bones_is_held_and_turns_both() {
    let mut app = app_with(undamped());
    let world = app.world_mut();
    let radii = Vec3::new(0.5, 0.15, 0.15);
    let bones = [-0.5, 0.5].map(|x| {
        let place = Particle::at(Vec3::X * x).with_mass(1.0);
        world.spawn((place, OrientedParticle::with_radii(radii))).id()
    });
    let at = Vec3::new(0.1, 0.15, 0.0);
    let anchor = world.spawn(Transform::from_translation(at)).id();
    let parts = [(bones[0], at + Vec3::X * 0.5, 0.4), (bones[1], at - Vec3::X * 0.5, 0.6)];
    let parts = parts.map(|(particle, point, weight)| SurfacePart { particle, point, weight });
    world.spawn(SurfaceAttachment::new(parts.to_vec(), anchor));
    let middle = JointConstraint::new(bones, [Vec3::X * 0.5, Vec3::X * -0.5]);
    world.spawn(middle);
    tick(&mut app, 40);
    let now: Vec3 = parts
        .iter()
        .map(|part| {
            let turned = app.world().get::<OrientedParticle>(part.particle).expect("turns");
            part.weight * (particle(&app, part.particle).position + turned.rotation * part.point)
        })
        .sum();
    assert!(now.distance(at) < 2e-3, "{now}");
    let turns = bones.map(|bone| {
        app.world().get::<OrientedParticle>(bone).expect("turns").rotation.to_scaled_axis().z
    });
    assert!(turns[0] > 0.1 && turns[1] < -0.1, "they fold up: {turns:?}");
}

#[test]
fn nonsense_rests_and_what_is_gone_takes_it_along() {
    let mut app = app_with(undamped());
    let bad: [fn(SurfaceAttachment) -> SurfaceAttachment; 5] = [
        |hold| SurfaceAttachment { parts: Vec::new(), ..hold },
        |mut hold| {
            hold.parts[0].weight = f32::NAN;
            hold
        },
        |mut hold| {
            hold.parts.iter_mut().for_each(|part| part.weight = 0.0);
            hold
        },
        |mut hold| {
            hold.parts[1].point = Vec3::INFINITY;
            hold
        },
        |hold| hold.with_compliance(f32::NAN).with_damping(-1.0).with_max_force(f32::NAN),
    ];
    let all = bad.map(|tune| held_triangle(&mut app, tune));
    tick(&mut app, 20);
    assert!(common::all_finite(&mut app));
    for held in &all[..4] {
        // It falls freely: 20 ticks from rest.
        let t = 20.0 / 64.0;
        let fallen = held.point.y - held.now(&app).y;
        assert!((fallen - 0.5 * 9.81 * t * t).abs() < 0.02, "{fallen}");
    }
    let held = &all[4];
    app.world_mut().despawn(held.particles[0]);
    tick(&mut app, 2);
    assert!(app.world().get_entity(held.attachment).is_err(), "it goes with its particle");
    app.world_mut().despawn(all[0].anchor);
    tick(&mut app, 2);
    assert!(app.world().get_entity(all[0].attachment).is_err(), "and with its anchor");
}
