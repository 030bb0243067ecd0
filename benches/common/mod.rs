//! What benchmarks share: the seed's cloth in a headless app, as a game runs it.
#![allow(dead_code, reason = "each bench uses a part of it")]

pub mod scalar_aos;

use bevy::{prelude::*, time::TimeUpdateStrategy};
use bevy_pliant::prelude::*;
use core::time::Duration;

/// Distance of neighbours (m).
pub const SPACING: f32 = 0.1;

/// Substeps of a tick, at one iteration each.
pub const SUBSTEPS: u32 = 10;

/// Ticks before measuring starts, so that no cloth is still at its rest state.
pub const WARM_UP: u32 = 20;

/// A cloth of the seed's topology: rows, columns and both diagonals, held by the top corners.
pub fn seed_cloth(size: UVec2) -> Cloth {
    Cloth::grid(size, SPACING).pinned(ClothPins::TopCorners).without_tethers()
}

/// Its particles' positions (m), for those who build it without a recipe.
pub fn positions(size: UVec2) -> Vec<[f32; 3]> {
    (0..size.x * size.y)
        .map(|i| [(i % size.x) as f32 * SPACING, (i / size.x) as f32 * -SPACING, 0.0])
        .collect()
}

/// Its constraints, in the order in which the recipe makes them: rows, columns, diagonals.
pub fn edges(size: UVec2) -> Vec<[u32; 2]> {
    let (w, h) = (size.x, size.y);
    let corners = |rows: u32, columns: u32| {
        (0..rows).flat_map(move |row| (0..columns).map(move |column| row * w + column))
    };
    let mut edges: Vec<[u32; 2]> = corners(h, w - 1).map(|i| [i, i + 1]).collect();
    edges.extend(corners(h - 1, w).map(|i| [i, i + w]));
    edges.extend(corners(h - 1, w - 1).flat_map(|i| [[i, i + w + 1], [i + 1, i + w]]));
    edges
}

/// Its particles' mass (kg).
pub const MASS: f32 = 0.2 * SPACING * SPACING;

/// Its number of constraints.
pub fn constraint_count(size: UVec2) -> u64 {
    let (w, h) = (u64::from(size.x), u64::from(size.y));
    (w - 1) * h + w * (h - 1) + 2 * (w - 1) * (h - 1)
}

/// Whether a cloth hangs about where it must: no higher than its pins, nor torn away from them.
pub fn hangs(heights: impl IntoIterator<Item = f32>, size: UVec2) -> bool {
    let lowest = -1.5 * SPACING * size.y as f32;
    heights.into_iter().all(|y| y > lowest && y < 2.0 * SPACING)
}

/// Constraints times iterations of one tick.
pub fn projections(size: UVec2) -> u64 {
    constraint_count(size) * u64::from(SUBSTEPS)
}

/// The name of a size, as `100x100`.
pub fn name(size: UVec2) -> String {
    format!("{}x{}", size.x, size.y)
}

/// An app without window that runs one tick an update, on up to `max_tasks` tasks.
pub fn app(max_tasks: usize) -> App {
    let settings = SolverSettings {
        substeps: SUBSTEPS,
        iterations: 1,
        max_tasks,
        sleeping: false,
        ..default()
    };
    let mut app = App::new();
    app.add_plugins((MinimalPlugins, TransformPlugin))
        .insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
    #[cfg(feature = "render")]
    app.add_plugins(AssetPlugin::default()).init_asset::<Mesh>();
    app.add_plugins(PliantPlugins::default().with_settings(settings));
    app.finish();
    app.cleanup();
    // The first update has no length: nothing ticks yet.
    app.update();
    app
}

/// Runs `ticks` ticks and returns how long the solver took for them, without Bevy's own frame.
pub fn ticks(app: &mut App, ticks: u64) -> Duration {
    (0..ticks)
        .map(|_| {
            app.update();
            app.world().resource::<SolverDiagnostics>().tick
        })
        .sum()
}

/// Such an app with `count` cloths side by side, warmed up.
pub fn app_with_cloths(size: UVec2, count: u32, max_tasks: usize) -> App {
    let mut app = app(max_tasks);
    for i in 0..count {
        let place = Transform::from_xyz(i as f32 * SPACING * (size.x + 5) as f32, 0.0, 0.0);
        app.world_mut().spawn((seed_cloth(size), place));
    }
    for _ in 0..WARM_UP {
        app.update();
    }
    let diagnostics = app.world().resource::<SolverDiagnostics>();
    assert_eq!(diagnostics.constraints as u64, constraint_count(size) * u64::from(count));
    assert_eq!(diagnostics.awake_islands, count as usize);
    app
}

/// An app with one 100×100 cloth in self-contact, warmed up: hanging from two corners, or lying on a
/// floor in as many layers as `folds` says.
pub fn touching_cloth(folds: Option<u32>) -> App {
    const SIZE: UVec2 = UVec2::new(100, 100);
    let mut app = app(1);
    let settings = BodySettings { self_contact: true, ..default() };
    let Some(folds) = folds else {
        app.world_mut().spawn((seed_cloth(SIZE), settings));
        (0..WARM_UP).for_each(|_| app.update());
        return app;
    };
    app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::from_xyz(0.0, -SPACING, 0.0)));
    let cloth = seed_cloth(SIZE).pinned(ClothPins::None);
    let body = app.world_mut().spawn((cloth, settings)).id();
    app.update();
    let members: Vec<Entity> = app.world().get::<Particles>(body).unwrap().iter().collect();
    let rows = SIZE.y / folds;
    for (i, member) in members.into_iter().enumerate() {
        let (row, column) = (i as u32 / SIZE.x, i as u32 % SIZE.x);
        let (layer, place) = (row / rows, row % rows);
        let along = if layer % 2 == 0 { place } else { rows - 1 - place };
        let at = Vec3::new(column as f32, 1.0 + layer as f32, along as f32) * SPACING;
        app.world_mut().get_mut::<Particle>(member).unwrap().position = at;
    }
    // Until it lies still.
    (0..200).for_each(|_| app.update());
    let diagnostics = app.world().resource::<SolverDiagnostics>();
    assert!(diagnostics.soft_contacts as u32 > SIZE.x * SIZE.y / 2, "the layers do not touch");
    app
}
