mod common;
use bevy::prelude::*;
use bevy_pliant::{prelude::*, solver::Stage};
use common::{app_with, tick};
#[test]
fn speed() {
    for substeps in [16u32, 64] {
    for (name, air) in [
        ("none", None),
        ("still", Some(Air::STILL)),
        ("wind", Some(Air::wind(Vec3::Z * 4.0))),
        ("gusts", Some(Air::wind(Vec3::Z * 4.0).with_turbulence(Turbulence::new(2.0, 1.0, 1.0)))),
    ] {
        let mut app = app_with(SolverSettings { max_tasks: 1, substeps, sleeping: false, ..default() });
        if let Some(air) = air {
            app.insert_resource(air);
        }
        let cloth = Cloth::grid(UVec2::splat(100), 0.1).pinned(ClothPins::TopCorners);
        app.world_mut().spawn(cloth);
        tick(&mut app, 20);
        let mut best = [f64::MAX; 3];
        for _ in 0..60 {
            tick(&mut app, 1);
            let d = app.world().resource::<SolverDiagnostics>();
            for (b, v) in
                best.iter_mut().zip([d.stage(Stage::Predict), d.stage(Stage::Gather), d.tick])
            {
                *b = b.min(v.as_secs_f64() * 1e9);
            }
        }
        println!(
            "{name}: predict {:.2} ns/tri/substep, gather {:.3} ms, tick {:.3} ms",
            best[0] / f64::from(substeps) / 19602.0,
            best[1] * 1e-6,
            best[2] * 1e-6
        );
    }
}
}
