//! What the panel costs a frame: its widgets laid out, its shapes made into triangles; every view is off.

mod common;

use bevy::{
    diagnostic::{DiagnosticMeasurement, DiagnosticsStore},
    platform::time::Instant,
    prelude::*,
};
use bevy_egui::egui::{self, Event, Pos2, RawInput, Rect, pos2, vec2};
use bevy_pliant::{
    interact::{Inspector, InspectorTab, inspector_ui},
    prelude::*,
    solver::PliantDiagnosticsPlugin,
};
use common::{WARM_UP, app, seed_cloth};
use core::{hint::black_box, time::Duration};
use criterion::{Criterion, criterion_group, criterion_main};

/// The seed's cloth, the larger one, and twenty figures of eight bones.
fn world() -> App {
    let mut app = app(1);
    let cloth = app.world_mut().spawn((seed_cloth(UVec2::splat(100)), Name::new("Cloth"))).id();
    for i in 0..20 {
        let bone = |k: i32| {
            let center = Vec2::new(0.12 * k as f32 - 0.42, 0.0);
            Bone::new(center, Vec2::new(0.06, 0.03))
        };
        let figure = SpriteRagdoll::of_bones((0..8).map(bone).collect());
        let place = Transform::from_xyz(2.0 * i as f32, 3.0, 0.0);
        app.world_mut().spawn((figure, place, Name::new(format!("Figure {i}"))));
    }
    app.world_mut().resource_mut::<SolverDiagnostics>().detailed = true;
    for _ in 0..WARM_UP {
        app.update();
    }
    let diagnostics = app.world().resource::<SolverDiagnostics>();
    assert_eq!(diagnostics.bodies, 21);
    app.insert_resource(Inspector { selected: Some(cloth), ..default() });
    fill_history(app.world_mut());
    app
}

/// Ten seconds of measurements, 64 a second, in every diagnostic of the solver.
fn fill_history(world: &mut World) {
    let now = Instant::now();
    let mut store = world.resource_mut::<DiagnosticsStore>();
    for diagnostic in store.iter_mut() {
        diagnostic.clear_history();
        for i in (0..640u32).rev() {
            let Some(time) = now.checked_sub(Duration::from_micros(15_625) * i) else { continue };
            let value = 0.4 + 0.1 * f64::from(i % 7);
            diagnostic.add_measurement(DiagnosticMeasurement { time, value });
        }
    }
    assert!(store.get(&PliantDiagnosticsPlugin::TICK).is_some());
}

/// A frame of the panel, 300 points wide, with the pointer over it.
fn frame(context: &egui::Context, world: &mut World, at: Pos2) -> usize {
    let input = RawInput {
        screen_rect: Some(Rect::from_min_size(Pos2::ZERO, vec2(1280.0, 720.0))),
        events: vec![Event::PointerMoved(at)],
        ..default()
    };
    let output = context.run_ui(input, |ui| {
        let place = Rect::from_min_size(pos2(970.0, 10.0), vec2(300.0, 700.0));
        ui.scope_builder(egui::UiBuilder::new().max_rect(place), |ui| inspector_ui(ui, world));
    });
    context.tessellate(output.shapes, output.pixels_per_point).len()
}

fn panel(c: &mut Criterion) {
    let mut app = world();
    let mut group = c.benchmark_group("inspector");
    for tab in [InspectorTab::Simulation, InspectorTab::Bodies, InspectorTab::View] {
        let context = egui::Context::default();
        app.world_mut().resource_mut::<Inspector>().tab = tab;
        let mut number = 0u32;
        group.bench_function(format!("{tab:?}"), |b| {
            b.iter(|| {
                number = number.wrapping_add(1);
                let at = pos2(1000.0 + (number % 200) as f32, 400.0);
                // A tick ran since the last frame.
                let measured = DiagnosticMeasurement { time: Instant::now(), value: 0.7 };
                let world = app.world_mut();
                for diagnostic in world.resource_mut::<DiagnosticsStore>().iter_mut() {
                    diagnostic.add_measurement(DiagnosticMeasurement { ..measured });
                }
                black_box(frame(&context, world, at))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, panel);
criterion_main!(benches);
