//! Kernels against tables: C and ∇C by central differences in 60 digits, and the free motion of an
//! ellipsoid by an ODE solver.

mod common;

use bevy::{math::DQuat, math::DVec3, prelude::*};
use bevy_pliant::{constraint::LaneConstraint, math::lane::Vec3x4, prelude::*};
use common::{app_with, golden, numbers, set_tick, tick, undamped};
use serde_json::Value;

fn points<const N: usize>(value: &Value) -> [DVec3; N] {
    let list = value.as_array().expect("a list");
    core::array::from_fn(|i| DVec3::from_slice(&numbers(&list[i])))
}

/// Checks C and ∇C of one table entry in every lane.
fn assert_entry<C: LaneConstraint<N>, const N: usize>(constraint: &C, case: &Value) {
    let (x, expected) = (points::<N>(&case["points"]), points::<N>(&case["grad"]));
    let value = case["value"].as_f64().expect("a number");
    let largest = expected.iter().map(|g| g.abs().max_element()).fold(value.abs(), f64::max);
    for lane in 0..4 {
        let mut four = [None; 4];
        four[lane] = Some(constraint);
        let lanes = C::pack(four);
        let evaluation = C::evaluate(&lanes, &x.map(|p| Vec3x4::new([p.as_vec3(); 4])));
        let error = (f64::from(evaluation.value[lane]) - value).abs();
        assert!(error < 1e-6 * largest, "C is off by {error}: {case}");
        for (got, expected) in evaluation.gradients.iter().zip(expected) {
            let error = (got.lane(lane).as_dvec3() - expected).abs().max_element();
            assert!(error < 1e-6 * largest, "a gradient is off by {error}: {case}");
        }
    }
}

fn cases(kind: &str) -> Vec<Value> {
    let data = golden("constraint_gradients.json");
    let cases = data["cases"].as_array().expect("a list");
    cases.iter().filter(|case| case["type"] == kind).cloned().collect()
}

#[test]
fn the_distance_constraint_has_the_gradients_of_the_table() {
    let cases = cases("distance");
    assert!(cases.len() >= 3);
    for case in &cases {
        // At rest length 0, C is the distance itself.
        assert_entry(&DistanceConstraint::new([Entity::PLACEHOLDER; 2], 0.0), case);
    }
}

#[test]
fn the_bending_constraint_has_the_gradients_of_the_table() {
    let cases = cases("dihedral");
    assert!(cases.len() >= 6);
    for case in &cases {
        assert_entry(&BendingConstraint::new([Entity::PLACEHOLDER; 4], 0.0), case);
    }
}

#[test]
fn a_tether_pulls_its_first_particle_as_a_distance_does_and_leaves_the_second() {
    for case in &cases("distance") {
        let mut one_sided = case.clone();
        one_sided["grad"][1] = vec![0.0, 0.0, 0.0].into();
        let tether = TetherConstraint::new(Entity::PLACEHOLDER, Entity::PLACEHOLDER, 0.0);
        assert_entry(&tether, &one_sided);
    }
}

fn quaternion(value: &Value) -> DQuat {
    let [w, x, y, z] = numbers(value)[..] else { panic!("four numbers") };
    DQuat::from_xyzw(x, y, z, w)
}

#[test]
fn a_free_ellipsoid_tumbles_as_the_equations_of_euler_say() {
    let data = golden("oriented_particles.json");
    let cases = data["torque_free"].as_array().expect("a list");
    assert_eq!(cases.len(), 3);
    for case in cases {
        let mut app = app_with(undamped());
        let radii = DVec3::from_slice(&numbers(&case["radii"])).as_vec3();
        let mass = case["mass"].as_f64().unwrap() as f32;
        let reference = case["reference"].as_array().expect("a list");
        let start = &reference[0];
        // Thrown as well, high up: translation must not disturb the turning.
        let particle = app
            .world_mut()
            .spawn((
                Particle::at(Vec3::Y * 300.0).with_mass(mass).with_velocity(Vec3::X),
                OrientedParticle {
                    rotation: quaternion(&start["q_wxyz"]).as_quat(),
                    angular_velocity: DVec3::from_slice(&numbers(&start["omega_world"])).as_vec3(),
                    radii,
                },
            ))
            .id();
        let inertia = DVec3::from_slice(&numbers(&case["inertia_body"]));
        let mut done = 0;
        for moment in reference {
            let t = moment["t"].as_f64().unwrap();
            let ticks = (t * 64.0).round() as u64;
            tick(&mut app, ticks - done);
            done = ticks;
            let oriented = app.world().get::<OrientedParticle>(particle).unwrap();
            let rotation = oriented.rotation.as_dquat().normalize();
            let angle = rotation.angle_between(quaternion(&moment["q_wxyz"]).normalize());
            assert!(angle < 2e-3, "at {t} s the angle is off by {angle} rad: {radii}");
            let local = rotation.inverse() * oriented.angular_velocity.as_dvec3();
            let momentum = (inertia * local).length();
            let expected = DVec3::from_slice(&numbers(&moment["L_world"])).length();
            let drift = (momentum / expected - 1.0).abs();
            assert!(drift < 5e-5, "at {t} s |L| is off by {drift}: {radii}");
        }
    }
}

#[test]
fn a_ball_keeps_its_spin_for_ten_seconds() {
    // In closed form: a ball of constant ω turns by ω t about its axis.
    let spin = Vec3::new(0.6, -0.64, 0.48);
    let mut app = app_with(undamped());
    set_tick(&mut app, 1.0 / 64.0);
    let ball = app
        .world_mut()
        .spawn(OrientedParticle {
            angular_velocity: spin,
            ..OrientedParticle::with_radii(Vec3::splat(0.2))
        })
        .id();
    tick(&mut app, 640);
    let oriented = app.world().get::<OrientedParticle>(ball).unwrap();
    assert!(oriented.angular_velocity.distance(spin) < 1e-5 * spin.length());
    let expected = Quat::from_scaled_axis(10.0 * spin);
    let (got, expected) = (oriented.rotation.as_dquat(), expected.as_dquat());
    assert!(got.normalize().angle_between(expected.normalize()) < 2e-3);
}
