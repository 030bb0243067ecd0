//! The seed's cloth against independent trajectories: with `Sequential` the solver replays them.

mod common;

use bevy::prelude::*;
use bevy_pliant::prelude::*;
use common::{app_with, classic, golden, numbers, set_tick, tick};

/// Greatest distance (m) from the golden snapshots, at each number of ticks.
fn deviations(name: &str, height: f32) -> Vec<(u64, f64)> {
    let data = golden(&format!("pbd_cloth_{name}_inverse_mass.json"));
    let number = |key: &str| data[key].as_f64().expect("a number");
    let (width, rows) = (number("width") as u32, number("height") as u32);
    let mut settings = classic(number("iters") as u32);
    settings.gravity = Vec3::Y * number("g") as f32;
    let mut app = app_with(settings);
    set_tick(&mut app, number("dt"));
    let pins = match number("fixed") as u32 {
        1 => ClothPins::TopLeft,
        2 => ClothPins::TopCorners,
        _ => ClothPins::Corners,
    };
    let spacing = number("spacing") as f32;
    let cloth = Cloth::grid(UVec2::new(width, rows), spacing)
        .pinned(pins)
        .with_mass(ClothMass::PerParticle(number("mass") as f32))
        .without_tethers();
    // The golden's first particle is at its origin.
    let left = 0.5 * spacing * (width - 1) as f32;
    let body = app.world_mut().spawn((cloth, Planar, Transform::from_xyz(left, height, 0.0))).id();
    let mut done = 0;
    let mut deviations = Vec::new();
    for snapshot in [1, 10, 100, 1000] {
        tick(&mut app, snapshot - done);
        done = snapshot;
        let expected = data["positions"][snapshot.to_string()].as_array().expect("a snapshot");
        let worst = common::exact_positions(&app, body)
            .iter()
            .zip(expected)
            .map(|(got, expected)| {
                let expected = numbers(expected);
                let (x, y) = (got.x - expected[0], got.y - f64::from(height) - expected[1]);
                x.hypot(y)
            })
            .fold(0.0, f64::max);
        deviations.push((snapshot, worst));
    }
    deviations
}

fn assert_within(name: &str, height: f32, tolerance: f64) {
    let deviations = deviations(name, height);
    for (ticks, worst) in &deviations {
        assert!(*worst < tolerance, "{name} at {height} m after {ticks} ticks: {deviations:?}");
    }
}

#[test]
fn the_seeds_cloth_of_1200_particles_is_met_to_a_hundredth_of_a_millimetre() {
    assert_within("40x30_fix2", 0.0, 1e-5);
}

#[test]
fn it_is_met_300_metres_up_as_well() {
    assert_within("40x30_fix2", 300.0, 1e-5);
    assert_within("8x6_fix1", 300.0, 1e-4);
}

#[test]
fn small_cloths_on_one_and_two_pins_are_met_to_a_tenth_of_a_millimetre() {
    assert_within("8x6_fix1", 0.0, 1e-4);
    assert_within("8x6_fix2", 0.0, 1e-4);
}
