//! What draws a body follows it.
#![cfg(feature = "render")]

mod common;

use bevy::{camera::primitives::Aabb, mesh::VertexAttributeValues, prelude::*};
use bevy_pliant::{
    prelude::*,
    skin::{DerivedMesh, SkinSource},
};
use common::{app_with, particles, positions, tick, undamped};

fn vertices(app: &App, body: Entity) -> Vec<Vec3> {
    let handle = &app.world().get::<DerivedMesh>(body).expect("is bound").0;
    let mesh = app.world().resource::<Assets<Mesh>>().get(handle).expect("a mesh");
    match mesh.attribute(Mesh::ATTRIBUTE_POSITION) {
        Some(VertexAttributeValues::Float32x3(v)) => v.iter().map(|v| Vec3::from(*v)).collect(),
        other => panic!("{other:?}"),
    }
}

fn triangles(app: &App, body: Entity) -> usize {
    let handle = &app.world().get::<DerivedMesh>(body).expect("is bound").0;
    let mesh = app.world().resource::<Assets<Mesh>>().get(handle).expect("a mesh");
    mesh.indices().map_or(0, |i| i.len() / 3)
}

fn turned() -> Transform {
    Transform::from_xyz(3.0, 200.0, -1.0)
        .with_rotation(Quat::from_rotation_y(0.7))
        .with_scale(Vec3::splat(1.5))
}

#[test]
fn case_41_the_box_encloses_the_deformed_mesh() {
    let mut app = app_with(undamped());
    let cloth = app
        .world_mut()
        .spawn((Cloth::grid(UVec2::new(12, 9), 0.2).pinned(ClothPins::TopLeft), turned()))
        .id();
    let rope = app.world_mut().spawn((Rope::new(2.0, 15).pinned(RopePins::Start), turned())).id();
    for _ in 0..6 {
        tick(&mut app, 20);
        for body in [cloth, rope] {
            let aabb = *app.world().get::<Aabb>(body).expect("has a box");
            let (low, high) = (Vec3::from(aabb.min()), Vec3::from(aabb.max()));
            for v in vertices(&app, body) {
                assert!(v.cmpge(low - 1e-4).all() && v.cmple(high + 1e-4).all(), "{v} outside");
            }
        }
    }
}

#[test]
fn a_cloths_vertices_are_its_particles_in_its_own_frame() {
    let mut app = app_with(undamped());
    let body = app
        .world_mut()
        .spawn((Cloth::grid(UVec2::new(12, 9), 0.2).pinned(ClothPins::TopCorners), turned()))
        .id();
    tick(&mut app, 50);
    let frame = *app.world().get::<GlobalTransform>(body).expect("has a transform");
    for (vertex, position) in vertices(&app, body).into_iter().zip(positions(&app, body)) {
        assert!(frame.transform_point(vertex).distance(position) < 1e-3);
    }
}

#[test]
fn normals_and_tangents_of_a_draped_cloth_are_unit_and_at_right_angles() {
    let mut app = app_with(undamped());
    let body = app
        .world_mut()
        .spawn((Cloth::grid(UVec2::new(12, 9), 0.2).pinned(ClothPins::TopLeft), turned()))
        .id();
    tick(&mut app, 100);
    let handle = &app.world().get::<DerivedMesh>(body).expect("is bound").0;
    let mesh = app.world().resource::<Assets<Mesh>>().get(handle).expect("a mesh");
    let (
        Some(VertexAttributeValues::Float32x3(normals)),
        Some(VertexAttributeValues::Float32x4(tangents)),
    ) = (mesh.attribute(Mesh::ATTRIBUTE_NORMAL), mesh.attribute(Mesh::ATTRIBUTE_TANGENT))
    else {
        panic!("normals and tangents");
    };
    for (n, t) in normals.iter().zip(tangents) {
        let (n, t) = (Vec3::from(*n), Vec4::from(*t).truncate());
        assert!((n.length() - 1.0).abs() < 1e-4 && (t.length() - 1.0).abs() < 1e-4);
        assert!(n.dot(t).abs() < 1e-4);
    }
}

#[test]
fn a_users_mesh_is_remembered_and_never_written() {
    let mut app = app_with(undamped());
    let own = app.world_mut().resource_mut::<Assets<Mesh>>().add(Cuboid::default());
    let cloth = || Cloth::grid(UVec2::new(4, 4), 0.2);
    let a = app.world_mut().spawn((cloth(), Mesh3d(own.clone()))).id();
    let b = app.world_mut().spawn((cloth(), Planar, Mesh2d(own.clone()))).id();
    let untouched =
        app.world().resource::<Assets<Mesh>>().get(&own).expect("a mesh").count_vertices();
    tick(&mut app, 5);
    assert_eq!(app.world().get::<SkinSource>(a).expect("bound").0, Some(own.clone()));
    assert_ne!(app.world().get::<Mesh3d>(a).expect("drawn").0, own);
    assert_ne!(app.world().get::<Mesh2d>(b).expect("drawn").0, own);
    assert!(app.world().get::<Mesh3d>(b).is_none());
    let mesh = app.world().resource::<Assets<Mesh>>().get(&own).expect("a mesh");
    assert_eq!(mesh.count_vertices(), untouched);
}

#[test]
fn triangles_of_a_despawned_particle_are_no_longer_drawn() {
    let mut app = app_with(undamped());
    let body = app.world_mut().spawn(Cloth::grid(UVec2::new(4, 4), 0.2)).id();
    tick(&mut app, 3);
    assert_eq!(triangles(&app, body), 18);
    let corner = particles(&app, body)[0];
    app.world_mut().despawn(corner);
    tick(&mut app, 3);
    assert!(triangles(&app, body) < 18);
    assert!(vertices(&app, body).iter().all(|v| v.is_finite()));
}

#[test]
fn a_cloth_of_another_size_is_drawn_by_the_same_entity() {
    let mut app = app_with(undamped());
    let body = app.world_mut().spawn(Cloth::grid(UVec2::new(4, 4), 0.2)).id();
    tick(&mut app, 3);
    common::resize(&mut app, body, UVec2::new(6, 3));
    tick(&mut app, 3);
    assert_eq!(vertices(&app, body).len(), 18);
    assert_eq!(triangles(&app, body), 20);
    common::resize(&mut app, body, UVec2::new(2, 2));
    tick(&mut app, 3);
    assert_eq!(vertices(&app, body).len(), 4);
}

fn assert_drawn_where_it_is(app: &App, body: Entity) {
    let frame = *app.world().get::<GlobalTransform>(body).expect("has a transform");
    for (vertex, position) in vertices(app, body).into_iter().zip(positions(app, body)) {
        assert!(frame.transform_point(vertex).distance(position) < 1e-3, "{vertex} {position}");
    }
}

#[test]
fn a_restarted_cloth_goes_on_being_drawn() {
    let mut app = app_with(undamped());
    let cloth = Cloth::grid(UVec2::new(5, 4), 0.2).pinned(ClothPins::TopLeft);
    let body = app.world_mut().spawn(cloth).id();
    tick(&mut app, 30);
    app.world_mut().trigger(Rebuild { entity: body });
    tick(&mut app, 40);
    assert_drawn_where_it_is(&app, body);
}

#[test]
fn a_sleeping_cloth_whose_material_changes_is_drawn_as_it_lies() {
    let mut app = app_with(SolverSettings { gravity: Vec3::ZERO, ..default() });
    let body = app.world_mut().spawn(Cloth::grid(UVec2::new(4, 4), 0.2)).id();
    tick(&mut app, 2);
    let corner = particles(&app, body)[0];
    app.world_mut().get_mut::<Particle>(corner).expect("a particle").position.z += 0.1;
    tick(&mut app, 300);
    app.world_mut().get_mut::<Cloth>(body).expect("a cloth").damping = Some(0.3);
    tick(&mut app, 3);
    assert_drawn_where_it_is(&app, body);
}
