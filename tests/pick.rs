//! Picking what the GPU bends, in an app that draws offscreen.
#![cfg(feature = "picking")]

mod common;
#[path = "common/offscreen.rs"]
mod offscreen;

use bevy::{
    camera::RenderTarget,
    picking::{
        PickingSystems,
        hover::HoverMap,
        mesh_picking::{MeshPickingSettings, ray_cast::SimplifiedMesh, update_hits},
        pointer::{Location, PointerAction, PointerId, PointerInput},
    },
    prelude::*,
    window::PrimaryWindow,
};
use bevy_pliant::{interact::SurfaceHit, prelude::*, skin::CharacterSkin};
use common::{particle, particles, ragdoll::drawn_figure, undamped};
use offscreen::{SIZE, Stage};

/// Moves the mouse to a place of the picture (m from its middle); what is hovered there.
fn hover(stage: &mut Stage, at: Vec2, height: f32) -> Vec<(Entity, Option<SurfaceHit>, Vec3)> {
    let target = stage.app.world().get::<RenderTarget>(stage.camera).expect("a target").clone();
    let target = target.normalize(None).expect("an image");
    let size = SIZE.as_vec2();
    let position = 0.5 * size + Vec2::new(at.x, -at.y) * size.y / height;
    let location = Location { target, position };
    let action = PointerAction::Move { delta: Vec2::ONE };
    stage.app.world_mut().write_message(PointerInput::new(PointerId::Mouse, location, action));
    stage.app.update();
    let hovered = stage.app.world().resource::<HoverMap>().get(&PointerId::Mouse);
    hovered.map_or_else(Vec::new, |hits| {
        hits.iter()
            .map(|(entity, hit)| {
                let told = hit.extra_as::<SurfaceHit>().cloned();
                (*entity, told, hit.position.unwrap_or(Vec3::NAN))
            })
            .collect()
    })
}

#[test]
fn case_42_picking_hits_a_character_where_the_gpu_draws_it_beside_bevys_mesh_picking() {
    const HEIGHT: f32 = 4.0;
    let settings = SolverSettings { gravity: Vec3::ZERO, ..undamped() };
    let Some(mut stage) = Stage::new(HEIGHT, settings) else { return };
    // What its plugin adds; it does nothing without a window.
    stage
        .app
        .init_resource::<MeshPickingSettings>()
        .add_systems(PreUpdate, update_hits.in_set(PickingSystems::Backend));
    stage.app.world_mut().spawn(PrimaryWindow);
    let figure = drawn_figure(&mut stage.app);
    let body = stage.app.world_mut().spawn((figure, Pickable::default())).id();
    // Something of the user's, behind it.
    let sheet = stage.app.world_mut().resource_mut::<Assets<Mesh>>().add(Rectangle::new(0.3, 0.3));
    let behind = Transform::from_xyz(0.0, 0.2, -1.0);
    let sheet = stage.app.world_mut().spawn((Mesh2d(sheet), behind)).id();
    for _ in 0..20 {
        stage.app.update();
    }
    assert!(stage.app.world().get::<CharacterSkin>(body).is_some());
    assert!(stage.app.world().get::<Mesh2d>(body).is_some(), "the GPU draws it");
    assert!(stage.app.world().get::<SimplifiedMesh>(body).is_some());
    let chest = Vec2::new(0.0, 0.2);
    let first = hover(&mut stage, chest, HEIGHT);
    assert!(first.iter().any(|hit| hit.0 == body && hit.1.is_some()), "{first:?}");
    assert!(first.iter().all(|hit| hit.0 != sheet), "the body is before it: {first:?}");
    // All of it to the right: its mesh and its body's transform stay where they were.
    for bone in particles(&stage.app, body) {
        let mut bone = stage.app.world_mut().get_mut::<Particle>(bone).expect("a particle");
        bone.position.x += 1.3;
    }
    for _ in 0..3 {
        stage.app.update();
    }
    let old = hover(&mut stage, chest, HEIGHT);
    assert!(old.iter().all(|hit| hit.0 != body), "at the bind pose: {old:?}");
    assert!(old.iter().any(|hit| hit.0 == sheet), "nothing is in its way now: {old:?}");
    let new = hover(&mut stage, chest + Vec2::X * 1.3, HEIGHT);
    let (_, told, at) = new.iter().find(|hit| hit.0 == body).expect("where it is drawn");
    let told = told.as_ref().expect("ours");
    assert!(at.truncate().distance(chest + Vec2::X * 1.3) < 0.02, "{at}");
    let mean: Vec3 = told
        .parts
        .iter()
        .map(|part| {
            let turn = stage.app.world().get::<OrientedParticle>(part.particle).expect("turns");
            let at = particle(&stage.app, part.particle).position;
            part.weight * (at + turn.rotation * part.point)
        })
        .sum();
    assert!(mean.truncate().distance(at.truncate()) < 1e-3, "{mean} {at}");
    assert!((told.parts.iter().map(|part| part.weight).sum::<f32>() - 1.0).abs() < 1e-4);
    assert!(told.uv.is_some());
}
