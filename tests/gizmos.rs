//! Views: the lines that each gizmo group hands to Bevy, against the components that they show.
#![cfg(all(feature = "gizmos", feature = "render"))]

extern crate alloc;

mod common;
#[path = "common/offscreen.rs"]
mod offscreen;

use alloc::collections::{BTreeMap, BTreeSet};
use bevy::{
    ecs::{entity_disabling::Disabled, system::SystemState},
    gizmos::GizmoHandles,
    mesh::skinning::SkinnedMeshInverseBindposes,
    prelude::*,
    time::TimeUpdateStrategy,
};
use bevy_pliant::{
    interact::{
        AxisGizmos, ColorGizmos, ConstraintGizmos, ContactGizmos, EllipsoidGizmos, GroupGizmos,
        IslandGizmos, ParticleGizmos, SleepGizmos, StrainGizmos, SurfaceGizmos, VIEWS,
        VelocityGizmos,
    },
    prelude::*,
    recipe::grid_triangles,
    skin::CharacterSkin,
    solver::{DrawnPose, SolverView},
};
use common::{bare_app, particles, tick, undamped};
use core::{any::TypeId, f32::consts::FRAC_PI_2, time::Duration};

fn app_with(settings: SolverSettings) -> App {
    let mut app = bare_app();
    app.init_asset::<Image>()
        .init_asset::<SkinnedMeshInverseBindposes>()
        .add_plugins(bevy::gizmos::GizmoPlugin)
        .add_plugins(PliantPlugins::default().with_settings(settings));
    app.finish();
    app.cleanup();
    app
}

/// What a group drew in the last frame.
#[derive(Debug, Default)]
struct Drawing {
    /// Both ends of each line, with their colours.
    lines: Vec<[(Vec3, LinearRgba); 2]>,
    /// Points of each strip, with its colour.
    strips: Vec<(Vec<Vec3>, LinearRgba)>,
}

impl Drawing {
    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.strips.is_empty()
    }

    /// The ends of the lines.
    fn ends(&self) -> Vec<[Vec3; 2]> {
        self.lines.iter().map(|line| line.map(|(at, _)| at)).collect()
    }
}

fn drawing_of(app: &App, group: TypeId) -> Drawing {
    let handles = app.world().resource::<GizmoHandles>().handles();
    let Some(Some(handle)) = handles.get(&group) else { return Drawing::default() };
    let assets = app.world().resource::<Assets<GizmoAsset>>();
    let buffer = assets.get(handle).expect("is there").buffer();
    assert_eq!(buffer.list_positions.len(), buffer.list_colors.len());
    assert_eq!(buffer.strip_positions.len(), buffer.strip_colors.len());
    let ends: Vec<(Vec3, LinearRgba)> =
        buffer.list_positions.iter().copied().zip(buffer.list_colors.iter().copied()).collect();
    let strips: Vec<(Vec3, LinearRgba)> =
        buffer.strip_positions.iter().copied().zip(buffer.strip_colors.iter().copied()).collect();
    let mut drawing = Drawing { lines: ends.as_chunks::<2>().0.to_vec(), ..default() };
    for strip in strips.split(|(at, _)| at.is_nan()).filter(|strip| !strip.is_empty()) {
        let color = strip[0].1;
        assert!(strip.iter().all(|(_, other)| *other == color));
        drawing.strips.push((strip.iter().map(|(at, _)| *at).collect(), color));
    }
    let lines = drawing.lines.as_flattened().iter();
    assert!(lines.clone().all(|(at, color)| at.is_finite() && color.to_vec4().is_finite()));
    drawing
}

fn drawing<G: GizmoConfigGroup>(app: &App) -> Drawing {
    drawing_of(app, TypeId::of::<G>())
}

/// Turns a view on, with its settings.
fn show<G: GizmoConfigGroup>(app: &mut App, set: impl FnOnce(&mut G)) {
    let mut store = app.world_mut().resource_mut::<GizmoConfigStore>();
    let (config, group) = store.config_mut::<G>();
    config.enabled = true;
    set(group);
}

fn show_all(app: &mut App, on: bool) {
    let mut store = app.world_mut().resource_mut::<GizmoConfigStore>();
    VIEWS.iter().for_each(|view| view.set(&mut store, on));
}

/// Draws the world as it is, without a tick.
fn draw(app: &mut App) {
    app.insert_resource(TimeUpdateStrategy::FixedTimesteps(0));
    app.update();
    app.insert_resource(TimeUpdateStrategy::FixedTimesteps(1));
}

fn pinned(app: &mut App, position: Vec3) -> Entity {
    app.world_mut().spawn((Particle::at(position), Pinned)).id()
}

fn near(a: LinearRgba, b: LinearRgba) -> bool {
    a.to_vec4().distance(b.to_vec4()) < 0.01
}

fn linear(color: Color) -> LinearRgba {
    color.to_linear()
}

fn cloth() -> Cloth {
    Cloth::grid(UVec2::new(5, 4), 0.1).pinned(ClothPins::TopCorners)
}

fn bones() -> Vec<Bone> {
    (0..3).map(|i| Bone::new(Vec2::new(0.2 * i as f32, 0.0), Vec2::new(0.1, 0.05))).collect()
}

/// A chain of three bones in a row.
fn chain() -> SpriteRagdoll {
    SpriteRagdoll::of_bones(bones())
}

/// Ends as numbers of 10 µm, in order, to be compared as sets.
fn keys(ends: impl IntoIterator<Item = [Vec3; 2]>) -> BTreeMap<[[i32; 3]; 2], usize> {
    let mut counts = BTreeMap::new();
    for ends in ends {
        let mut key = ends.map(|end| (end * 1e5).round().as_ivec3().to_array());
        key.sort_unstable();
        *counts.entry(key).or_default() += 1;
    }
    counts
}

/// Where a particle is drawn, by the body's drawn pose.
fn drawn_at(app: &App, particle: Entity) -> Vec3 {
    let body = app.world().get::<ParticleOf>(particle).expect("has a body").0;
    let index = app.world().get::<ParticleIndex>(particle).expect("has an index").0;
    app.world().get::<DrawnPose>(body).expect("is drawn").positions[index as usize]
}

/// The drawn ends of all constraints of a kind.
fn constraint_ends<C: Component>(
    app: &mut App,
    particles: impl Fn(&C) -> [Entity; 2],
) -> Vec<[Vec3; 2]> {
    let mut query = app.world_mut().query::<&C>();
    let pairs: Vec<[Entity; 2]> = query.iter(app.world()).map(particles).collect();
    pairs.into_iter().map(|pair| pair.map(|particle| drawn_at(app, particle))).collect()
}

/// A scene with something to see in each view: a cloth on the floor, a chain of bones, groups, joints.
fn scene() -> (App, Vec<Entity>) {
    let mut app = app_with(SolverSettings { sleeping: false, ..default() });
    app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::default()));
    let on_floor = Cloth::grid(UVec2::new(5, 4), 0.1).with_bending(1.0);
    let lying = Transform::from_xyz(0.0, 0.02, 0.0).with_rotation(Quat::from_rotation_x(FRAC_PI_2));
    let mut bodies = vec![
        app.world_mut().spawn((on_floor, lying)).id(),
        app.world_mut().spawn((cloth(), Transform::from_xyz(2.0, 1.0, 0.0))).id(),
        app.world_mut().spawn((Rope::new(1.0, 6), Transform::from_xyz(-2.0, 2.0, 0.0))).id(),
    ];
    for style in [RagdollStyle::Jointed, RagdollStyle::Elastic] {
        let place = Transform::from_xyz(0.0, 3.0 + bodies.len() as f32, 0.0);
        bodies.push(app.world_mut().spawn((chain().with_style(style), place)).id());
    }
    tick(&mut app, 20);
    (app, bodies)
}

#[test]
fn every_view_has_a_name_is_off_at_first_and_draws_something_once_it_is_on() {
    let (mut app, _) = scene();
    let names: BTreeSet<&str> = VIEWS.iter().map(|view| view.name).collect();
    assert_eq!(names.len(), VIEWS.len());
    for view in VIEWS {
        assert!(!view.tooltip.is_empty());
        assert!(!view.is_on(app.world().resource::<GizmoConfigStore>()), "{}", view.name);
    }
    for shown in VIEWS {
        shown.set(&mut app.world_mut().resource_mut::<GizmoConfigStore>(), true);
        draw(&mut app);
        for view in VIEWS {
            let drawn = !drawing_of(&app, view.group()).is_empty();
            assert_eq!(drawn, view.name == shown.name, "{} while {} is on", view.name, shown.name);
        }
        shown.set(&mut app.world_mut().resource_mut::<GizmoConfigStore>(), false);
    }
}

#[test]
fn without_bevys_gizmos_nothing_happens_and_they_may_come_later() {
    let mut app = common::app_with(default());
    app.finish();
    app.world_mut().spawn(cloth());
    tick(&mut app, 2);
    assert!(app.world().get_resource::<GizmoConfigStore>().is_none());

    let mut app = bare_app();
    app.add_plugins(PliantPlugins::default())
        .init_asset::<SkinnedMeshInverseBindposes>()
        .add_plugins(bevy::gizmos::GizmoPlugin);
    app.finish();
    app.cleanup();
    app.world_mut().spawn(cloth());
    show::<ConstraintGizmos>(&mut app, |_| ());
    tick(&mut app, 2);
    assert_eq!(drawing::<ConstraintGizmos>(&app).lines.len(), 55);
}

#[test]
fn lines_end_where_the_particles_of_constraints_are_drawn() {
    let mut app = app_with(default());
    app.world_mut().spawn(cloth().with_bending(1.0));
    show::<ConstraintGizmos>(&mut app, |_| ());
    tick(&mut app, 10);
    let expected = constraint_ends::<DistanceConstraint>(&mut app, |c| c.particles);
    let drawn = drawing::<ConstraintGizmos>(&app);
    // Rows, columns, and a diagonal of each square.
    assert_eq!(drawn.lines.len(), 4 * 4 + 5 * 3 + 4 * 3);
    assert_eq!(keys(drawn.ends()), keys(expected.clone()));

    show::<ConstraintGizmos>(&mut app, |gizmos| (gizmos.tethers, gizmos.bending) = (true, true));
    draw(&mut app);
    let tethers = constraint_ends::<TetherConstraint>(&mut app, |c| c.particles);
    let wings =
        constraint_ends::<BendingConstraint>(&mut app, |c| [c.particles[2], c.particles[3]]);
    assert!(!tethers.is_empty() && !wings.is_empty());
    let drawn = drawing::<ConstraintGizmos>(&app);
    let of = |color: Color| {
        let lines = drawn.lines.iter().filter(move |[(_, drawn), _]| *drawn == linear(color));
        keys(lines.map(|line| line.map(|(at, _)| at)))
    };
    let settings = ConstraintGizmos::default();
    assert_eq!(of(settings.color), keys(expected));
    assert_eq!(of(settings.tether_color), keys(tethers));
    assert_eq!(of(settings.bending_color), keys(wings));
}

#[test]
fn between_two_ticks_lines_are_where_the_body_is_drawn() {
    let mut app = app_with(undamped());
    let body = app.world_mut().spawn(Cloth::grid(UVec2::new(5, 4), 0.1)).id();
    show::<ConstraintGizmos>(&mut app, |_| ());
    tick(&mut app, 30);
    // Half a tick further.
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_secs_f64(1.5 / 64.0)));
    app.update();
    app.update();
    let first = particles(&app, body)[0];
    let behind = drawn_at(&app, first).y - common::particle(&app, first).position.y;
    assert!(behind > 0.005, "the drawn pose is {behind} m behind");
    let expected = constraint_ends::<DistanceConstraint>(&mut app, |c| c.particles);
    assert_eq!(keys(drawing::<ConstraintGizmos>(&app).ends()), keys(expected));
}

#[test]
fn strain_has_the_colour_of_its_legend() {
    let mut app = app_with(default());
    show::<StrainGizmos>(&mut app, |gizmos| gizmos.range = 0.1);
    let legend = StrainGizmos { range: 0.1, ..default() };
    let cases = [-0.3, -0.1, -0.04, 0.0, 0.02, 0.05, 0.1, 2.0];
    for (i, strain) in cases.into_iter().enumerate() {
        let at = Vec3::Y * i as f32;
        let a = pinned(&mut app, at);
        let b = pinned(&mut app, at + Vec3::X * 2.0 * (1.0 + strain));
        app.world_mut().spawn(DistanceConstraint::new([a, b], 2.0));
    }
    tick(&mut app, 2);
    let drawn = drawing::<StrainGizmos>(&app);
    assert_eq!(drawn.lines.len(), cases.len());
    for [(from, start), (to, end)] in drawn.lines {
        let strain = cases[from.y.max(to.y).round() as usize];
        assert!((from.distance(to) - 2.0 * (1.0 + strain)).abs() < 1e-5);
        assert_eq!(start, end);
        assert!(near(start, legend.color(strain)), "{strain}: {start:?}");
    }
    // Red and blue are where they belong.
    let [blue, red] = [-1.0, 1.0].map(|strain| legend.color(strain));
    assert!(blue.blue > blue.red && red.red > red.blue);
    assert!(near(legend.color(0.0), linear(legend.rest)));
}

#[test]
fn on_screen_strain_has_its_colour_and_a_view_that_is_off_draws_nothing() {
    let Some(mut stage) = offscreen::Stage::new(2.0, undamped()) else { return };
    let [a, b] = [-0.5, 0.5].map(|x| pinned(&mut stage.app, Vec3::X * x));
    stage.app.world_mut().spawn(DistanceConstraint::new([a, b], 0.5));
    tick(&mut stage.app, 2);
    let bare = stage.draw();
    assert_eq!(bare.drawn(), 0);
    show::<StrainGizmos>(&mut stage.app, |_| ());
    let mut store = stage.app.world_mut().resource_mut::<GizmoConfigStore>();
    store.config_mut::<StrainGizmos>().0.line.width = 6.0;
    let picture = stage.draw();
    picture.save("gizmos_strain.png");
    // A metre long and six pixels wide, where 240 pixels are two metres.
    assert!(picture.drawn().abs_diff(120 * 6) < 60, "{} pixels", picture.drawn());
    let middle =
        picture.0[(offscreen::SIZE.y / 2 * offscreen::SIZE.x + offscreen::SIZE.x / 2) as usize];
    let color = Srgba::from(StrainGizmos::default().color(1.0)).to_u8_array_no_alpha();
    assert!((0..3).all(|i| middle[i].abs_diff(color[i]) <= 2), "{middle:?} {color:?}");
}

#[test]
fn a_slack_thread_is_at_rest_and_a_length_that_is_no_number_is_not_drawn() {
    let mut app = app_with(default());
    show::<StrainGizmos>(&mut app, |_| ());
    let [a, b] = [Vec3::ZERO, Vec3::X].map(|at| pinned(&mut app, at));
    app.world_mut().spawn(DistanceConstraint::new([a, b], 2.0).tension_only());
    for rest in [f32::NAN, f32::INFINITY, -1.0] {
        app.world_mut().spawn(DistanceConstraint::new([a, b], rest));
    }
    tick(&mut app, 2);
    let drawn = drawing::<StrainGizmos>(&app);
    assert_eq!(drawn.lines.len(), 1);
    assert!(near(drawn.lines[0][0].1, linear(StrainGizmos::default().rest)));
}

/// Two bones of 0.5 m that stand still, joined at their ends by a joint that is this far open (m).
fn two_bones(app: &mut App, gap: f32) -> [Entity; 2] {
    let bone = |app: &mut App, at: Vec3| {
        let shape = OrientedParticle::with_radii(Vec3::new(0.5, 0.1, 0.2));
        app.world_mut().spawn((Particle::at(at), shape, Pinned)).id()
    };
    [bone(app, Vec3::ZERO), bone(app, Vec3::X * (1.0 + gap))]
}

#[test]
fn the_strain_of_a_joint_is_its_gap_and_that_of_a_group_how_far_its_members_are() {
    let mut app = app_with(default());
    show::<StrainGizmos>(&mut app, |_| ());
    let particles = two_bones(&mut app, 0.03);
    let ends = [Vec3::X * 0.5, Vec3::X * -0.5];
    let joint = app.world_mut().spawn(JointConstraint::new(particles, ends)).id();
    tick(&mut app, 2);
    let drawn = drawing::<StrainGizmos>(&app);
    let expected = [[Vec3::ZERO, Vec3::X * 0.5], [Vec3::X * 0.53, Vec3::X * 1.03]];
    assert_eq!(keys(drawn.ends()), keys(expected));
    let color = StrainGizmos::default().color(0.03);
    assert!(drawn.lines.as_flattened().iter().all(|(_, drawn)| near(*drawn, color)));

    app.world_mut().despawn(joint);
    let member = |particle, position| GroupMember { particle, position, rotation: Quat::IDENTITY };
    let members = vec![member(particles[0], Vec3::ZERO), member(particles[1], Vec3::Y * 1.05)];
    app.world_mut().spawn(ShapeMatchingConstraint::new(members));
    tick(&mut app, 1);
    let drawn = drawing::<StrainGizmos>(&app);
    assert_eq!(keys(drawn.ends()), keys([[Vec3::ZERO, Vec3::X * 1.03]]));
    assert!(near(drawn.lines[0][0].1, StrainGizmos::default().color(1.03 / 1.05 - 1.0)));
}

#[test]
fn dots_are_rings_about_particles_and_held_ones_are_red_and_three_times_as_large() {
    let mut app = app_with(default());
    show::<ParticleGizmos>(&mut app, |gizmos| gizmos.radius = 0.1);
    let [a, b] = [Vec3::ZERO, Vec3::X].map(|at| pinned(&mut app, at));
    let hook = app.world_mut().spawn(Transform::from_translation(Vec3::X)).id();
    app.world_mut().spawn(Attachment::new(b, hook).at(Vec3::ZERO));
    tick(&mut app, 2);
    let settings = ParticleGizmos::default();
    let check = |app: &App, rings: usize, smallest: f32| {
        let drawn = drawing::<ParticleGizmos>(app);
        assert_eq!(drawn.strips.len(), 2 * rings);
        for (particle, radius, color) in [(a, 0.1, settings.color), (b, 0.3, settings.held_color)] {
            let centre = common::particle(app, particle).position;
            let of: Vec<_> = drawn.strips.iter().filter(|s| s.1 == linear(color)).collect();
            assert_eq!(of.len(), rings);
            for (ring, _) in of {
                let size = ring[0].distance(centre);
                assert!(ring.iter().all(|at| (at.distance(centre) - size).abs() < 1e-5));
                assert!((smallest * radius - 1e-5..=radius + 1e-5).contains(&size));
                assert!(ring[0].distance(ring[ring.len() - 1]) < 1e-6, "it closes");
            }
        }
    };
    // Two rings that face the only way in which anyone looks.
    check(&app, 2, 0.5);
    let view = |app: &mut App, turn: f32| {
        let place = Transform::from_rotation(Quat::from_rotation_y(turn));
        app.world_mut().spawn((Camera::default(), place)).id()
    };
    view(&mut app, 0.7);
    draw(&mut app);
    let forward = Quat::from_rotation_y(0.7) * Vec3::Z;
    for (ring, _) in drawing::<ParticleGizmos>(&app).strips {
        let across = (ring[1] - ring[0]).cross(ring[3] - ring[0]).normalize();
        assert!(across.dot(forward).abs() > 0.999, "faces the camera");
    }
    // Three that are round from everywhere, when another camera looks from elsewhere.
    view(&mut app, -0.9);
    draw(&mut app);
    check(&app, 3, 1.0);
}

#[test]
fn ellipsoids_have_the_axes_and_the_turn_of_their_particle() {
    let mut app = app_with(default());
    show::<EllipsoidGizmos>(&mut app, |gizmos| gizmos.resolution = 24);
    let turn = Quat::from_euler(EulerRot::XYZ, 0.4, 1.1, -0.3);
    let radii = Vec3::new(0.5, 0.2, 0.1);
    let at = Vec3::new(1.0, 2.0, 3.0);
    let oriented = OrientedParticle { rotation: turn, ..OrientedParticle::with_radii(radii) };
    app.world_mut().spawn((Particle::at(at), oriented, Pinned));
    tick(&mut app, 2);
    let drawn = drawing::<EllipsoidGizmos>(&app);
    assert_eq!(drawn.strips.len(), 3);
    let mut reach = Vec3::ZERO;
    for (ring, color) in &drawn.strips {
        assert_eq!(*color, linear(EllipsoidGizmos::default().color));
        assert_eq!(ring.len(), 25);
        for point in ring {
            let local = turn.inverse() * (point - at);
            assert!(((local / radii).length() - 1.0).abs() < 1e-4, "{local} is on the ellipsoid");
            reach = reach.max(local.abs());
        }
    }
    assert!(reach.distance(radii) < 1e-4, "the rings reach {reach}");
}

#[test]
fn in_the_plane_an_ellipsoid_is_one_ellipse() {
    let mut app = app_with(undamped());
    show::<EllipsoidGizmos>(&mut app, |_| ());
    let place = Transform::from_rotation(Quat::from_rotation_z(0.8));
    let body = app.world_mut().spawn((chain(), place)).id();
    tick(&mut app, 5);
    let drawn = drawing::<EllipsoidGizmos>(&app);
    assert_eq!(drawn.strips.len(), 3);
    for (member, (ring, _)) in particles(&app, body).into_iter().zip(&drawn.strips) {
        let at = drawn_at(&app, member);
        let turn = app.world().get::<Transform>(member).expect("has one").rotation;
        let radii = app.world().get::<OrientedParticle>(member).expect("turns").radii;
        assert!(ring.iter().all(|point| (point.z - at.z).abs() < 1e-5));
        for point in ring {
            let local = (turn.inverse() * (point - at)).truncate() / radii.truncate();
            assert!((local.length() - 1.0).abs() < 1e-3);
        }
    }
}

#[test]
fn groups_are_lines_from_their_centre_to_their_members() {
    let mut app = app_with(default());
    show::<GroupGizmos>(&mut app, |_| ());
    let places = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::X + Vec3::Y];
    let members: Vec<GroupMember> = places
        .map(|position| {
            let particle = pinned(&mut app, position);
            GroupMember { particle, position, rotation: Quat::IDENTITY }
        })
        .to_vec();
    let group = ShapeMatchingConstraint::new(members);
    let part = app.world_mut().spawn(group.clone()).id();
    tick(&mut app, 2);
    let drawn = drawing::<GroupGizmos>(&app);
    assert_eq!(keys(drawn.ends()), keys(places[1..].iter().map(|at| [Vec3::ZERO, *at])));

    app.world_mut().entity_mut(part).insert(group.explicit());
    tick(&mut app, 1);
    let centre = Vec3::new(0.5, 0.5, 0.0);
    assert_eq!(keys(drawing::<GroupGizmos>(&app).ends()), keys(places.map(|at| [centre, at])));
}

#[test]
fn joints_show_their_point_axis_and_limits() {
    let mut app = app_with(default());
    show::<GroupGizmos>(&mut app, |gizmos| gizmos.limit_radius = 0.2);
    let settings = GroupGizmos::default();
    let pair = two_bones(&mut app, 0.0);
    let ends = [Vec3::X * 0.5, Vec3::X * -0.5];
    let point = Vec3::X * 0.5;
    let bare = JointConstraint::new(pair, ends);
    let joint = app.world_mut().spawn(bare).id();
    tick(&mut app, 2);
    let drawn = drawing::<GroupGizmos>(&app);
    assert_eq!(keys(drawn.ends()), keys([[Vec3::ZERO, point], [point, Vec3::X]]));
    assert_eq!(drawn.strips.len(), 2, "a dot");
    let round = |ring: &[Vec3]| ring.iter().all(|at| at.distance(point) <= settings.radius + 1e-6);
    assert!(drawn.strips.iter().all(|(ring, _)| round(ring)));

    let limits = JointLimits::Hinge { axis: Vec3::Y * 3.0, min: -0.5, max: 1.0 };
    app.world_mut().entity_mut(joint).insert(bare.with_limits(limits));
    tick(&mut app, 1);
    let drawn = drawing::<GroupGizmos>(&app);
    let limit_color = linear(settings.limit_color);
    let axis = [point - Vec3::Y * 0.2, point + Vec3::Y * 0.2];
    let of_limits = drawn.lines.iter().filter(|[(_, color), _]| *color == limit_color);
    assert_eq!(keys(of_limits.map(|line| line.map(|(at, _)| at))), keys([axis]));
    let (sector, _) = drawn.strips.iter().find(|s| s.1 == limit_color).expect("a sector");
    let edge = &sector[1..sector.len() - 1];
    // About y, x turns towards −z.
    let at = |angle: f32| point + 0.2 * Vec3::new(angle.cos(), 0.0, -angle.sin());
    assert!(sector[0].distance(point) < 1e-6 && sector[sector.len() - 1].distance(point) < 1e-6);
    assert!(edge[0].distance(at(-0.5)) < 1e-5 && edge[edge.len() - 1].distance(at(1.0)) < 1e-5);

    let limits = JointLimits::ConeTwist { axis: Vec3::X, cone: 0.6, twist: 0.4 };
    app.world_mut().entity_mut(joint).insert(bare.with_limits(limits));
    tick(&mut app, 1);
    let drawn = drawing::<GroupGizmos>(&app);
    let mut strips = drawn.strips.iter().filter(|s| s.1 == limit_color);
    let (ring, _) = strips.next().expect("a cone");
    for at in ring {
        let out = at - point;
        assert!(
            (out.length() - 0.2).abs() < 1e-5 && (out.angle_between(Vec3::X) - 0.6).abs() < 1e-4
        );
    }
    assert!(strips.next().is_some(), "a twist");
}

#[test]
fn contacts_are_on_the_floor_with_normals_up() {
    let mut app = app_with(default());
    show::<ContactGizmos>(&mut app, |gizmos| gizmos.length = 0.5);
    app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::from_xyz(0.0, 0.25, 0.0)));
    let places = [-1.0, 0.0, 1.0];
    for x in places {
        app.world_mut().spawn(Particle::at(Vec3::new(x, 0.26, 0.0)));
    }
    let high = app.world_mut().spawn((Particle::at(Vec3::Y * 9.0), Pinned)).id();
    tick(&mut app, 10);
    let settings = ContactGizmos::default();
    let drawn = drawing::<ContactGizmos>(&app);
    let normals: Vec<[Vec3; 2]> = drawn
        .lines
        .iter()
        .filter(|[(_, color), _]| *color == linear(settings.normal_color))
        .map(|line| line.map(|(at, _)| at))
        .collect();
    assert_eq!(normals.len(), places.len());
    for [from, to] in &normals {
        assert!((from.y - 0.25).abs() < 2e-3, "{from} is on the floor");
        assert!((to - from).distance(Vec3::Y * 0.5) < 1e-4, "{to} is above");
        assert!(places.iter().any(|x| (x - from.x).abs() < 1e-3));
    }
    let crosses = drawn.lines.iter().filter(|[(_, color), _]| *color == linear(settings.color));
    assert_eq!(crosses.count(), 3 * places.len());
    assert!(app.world().get_entity(high).is_ok());
}

/// The colours of a view's lines, as many as there are.
fn colors(drawing: &Drawing) -> BTreeSet<[u32; 3]> {
    let ends = drawing.lines.as_flattened().iter();
    ends.map(|(_, color)| color.to_f32_array_no_alpha().map(f32::to_bits)).collect()
}

#[test]
fn islands_have_colours_of_their_own_until_they_are_joined() {
    let mut app = app_with(default());
    show::<IslandGizmos>(&mut app, |_| ());
    let ropes = [0.0, 1.0].map(|x| {
        let rope = Rope::new(1.0, 5).pinned(RopePins::Start);
        app.world_mut().spawn((rope, Transform::from_xyz(x, 0.0, 0.0))).id()
    });
    pinned(&mut app, Vec3::Y);
    tick(&mut app, 3);
    let drawn = drawing::<IslandGizmos>(&app);
    assert_eq!(drawn.lines.len(), 2 * 4);
    // Two rings of a particle that is alone.
    assert_eq!(drawn.strips.len(), 2);
    assert_eq!(colors(&drawn).len(), 2);
    for [(a, first), (b, second)] in &drawn.lines {
        assert!(first == second && (a.x - b.x).abs() < 0.5);
    }
    let [a, b] = ropes.map(|rope| particles(&app, rope)[4]);
    app.world_mut().spawn(DistanceConstraint::new([a, b], 1.0));
    tick(&mut app, 2);
    let drawn = drawing::<IslandGizmos>(&app);
    assert_eq!((drawn.lines.len(), colors(&drawn).len()), (9, 1));
}

#[test]
fn sleep_shows_who_is_awake_asleep_faulty_or_waits() {
    let mut app = app_with(default());
    show::<SleepGizmos>(&mut app, |_| ());
    let settings = SleepGizmos::default();
    app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::default()));
    let rope = Rope::new(1.0, 5);
    let lying =
        Transform::from_xyz(0.0, 0.011, 0.0).with_rotation(Quat::from_rotation_z(FRAC_PI_2));
    app.world_mut().spawn((rope.clone(), lying));
    let only = |app: &App, color: Color| {
        let drawn = drawing::<SleepGizmos>(app);
        let rings = drawn.strips.iter().map(|(_, color)| *color);
        let ends = drawn.lines.as_flattened().iter().map(|(_, color)| *color);
        let all: Vec<LinearRgba> = rings.chain(ends).collect();
        assert_eq!(all.len(), 2 * 4);
        all.iter().all(|drawn| *drawn == linear(color))
    };
    tick(&mut app, 5);
    assert!(only(&app, settings.awake));
    tick(&mut app, 200);
    assert!(only(&app, settings.asleep));

    let mut app = app_with(default());
    show::<SleepGizmos>(&mut app, |_| ());
    app.world_mut().resource_mut::<SolverControl>().paused = true;
    let body = app.world_mut().spawn(rope).id();
    app.update();
    app.update();
    let members = particles(&app, body);
    app.world_mut().resource_mut::<SolverControl>().paused = false;
    tick(&mut app, 3);
    assert!(only(&app, settings.awake));
    app.world_mut().get_mut::<Particle>(members[2]).expect("is there").velocity = Vec3::NAN;
    tick(&mut app, 3);
    assert!(only(&app, settings.faulty));
}

#[test]
fn constraints_of_one_graph_colour_share_no_particle() {
    let mut app = app_with(default());
    app.world_mut().spawn(cloth());
    show::<ColorGizmos>(&mut app, |_| ());
    tick(&mut app, 3);
    let drawn = drawing::<ColorGizmos>(&app);
    let expected = constraint_ends::<DistanceConstraint>(&mut app, |c| c.particles);
    assert_eq!(keys(drawn.ends()), keys(expected));
    let mut of_color: BTreeMap<[u32; 4], Vec<Vec3>> = BTreeMap::new();
    for [(a, color), (b, _)] in &drawn.lines {
        of_color.entry(color.to_f32_array().map(f32::to_bits)).or_default().extend([a, b]);
    }
    assert!(of_color.len() >= 8, "an inner particle has 8 constraints");
    // Both pinned corners move nowhere, but no colour has any particle twice.
    for ends in of_color.values() {
        for (i, a) in ends.iter().enumerate() {
            assert!(ends[i + 1..].iter().all(|b| a.distance(*b) > 1e-4));
        }
    }
    let mut state =
        SystemState::<(SolverView, Query<Entity, With<DistanceConstraint>>)>::new(app.world_mut());
    let (view, constraints) = state.get(app.world()).expect("can be read");
    let numbers: BTreeSet<u32> = constraints.iter().filter_map(|c| view.color_of(c)).collect();
    assert_eq!(numbers.len(), of_color.len());

    app.world_mut().resource_mut::<SolverSettings>().order = ProjectionOrder::Sequential;
    tick(&mut app, 2);
    let none = linear(ColorGizmos::default().none);
    let drawn = drawing::<ColorGizmos>(&app);
    assert_eq!(drawn.lines.len(), 55);
    assert!(drawn.lines.as_flattened().iter().all(|(_, color)| *color == none));
}

#[test]
fn arrows_end_where_particles_go_and_the_tiny_are_left_out() {
    let mut app = app_with(SolverSettings { gravity: Vec3::ZERO, ..undamped() });
    show::<VelocityGizmos>(&mut app, |gizmos| (gizmos.time, gizmos.least_length) = (0.5, 0.1));
    let velocity = Vec3::new(1.0, 2.0, -0.5);
    let moving = app.world_mut().spawn(Particle::default().with_velocity(velocity)).id();
    app.world_mut().spawn(Particle::at(Vec3::Y).with_velocity(Vec3::X * 0.19));
    app.world_mut().spawn(Particle::at(Vec3::Z));
    tick(&mut app, 5);
    let drawn = drawing::<VelocityGizmos>(&app);
    // A shaft, and two lines of the head.
    assert_eq!(drawn.lines.len(), 3);
    let at = common::particle(&app, moving).position;
    let [(from, faint), (to, color)] = drawn.lines[0];
    assert!(from.distance(at) < 1e-5 && to.distance(at + 0.5 * velocity) < 1e-4);
    assert!(faint.alpha < color.alpha);
    for [(tip, _), (back, _)] in &drawn.lines[1..] {
        assert!(tip.distance(to) < 1e-6 && (back - tip).dot(velocity) < 0.0);
    }
    // Where a particle goes is not always a place.
    app.world_mut().get_mut::<Particle>(moving).expect("is there").velocity = Vec3::MAX;
    draw(&mut app);
    assert!(drawing::<VelocityGizmos>(&app).is_empty());
}

#[test]
fn a_surface_is_the_edges_of_its_mesh_where_it_is_drawn() {
    let mut app = app_with(default());
    let place = Transform::from_xyz(1.0, 2.0, 3.0).with_rotation(Quat::from_rotation_y(0.4));
    let body = app.world_mut().spawn((cloth(), place)).id();
    show::<SurfaceGizmos>(&mut app, |_| ());
    tick(&mut app, 10);
    let edges = |triangles: &[[u32; 3]]| -> BTreeSet<[u32; 2]> {
        let sides = triangles.iter().flat_map(|[a, b, c]| [[a, b], [b, c], [c, a]]);
        sides.map(|[a, b]| [*a.min(b), *a.max(b)]).collect()
    };
    let triangles = grid_triangles(UVec2::new(5, 4));
    let pose = app.world().get::<DrawnPose>(body).expect("is drawn").positions.clone();
    let place = |edge: [u32; 2]| edge.map(|i| pose[i as usize]);
    let expected = keys(edges(&triangles).into_iter().map(place));
    assert_eq!(expected.len(), 4 * 4 + 5 * 3 + 4 * 3);
    assert_eq!(keys(drawing::<SurfaceGizmos>(&app).ends()), expected);

    // What is torn off is not drawn.
    let corner = particles(&app, body)[19];
    app.world_mut().despawn(corner);
    tick(&mut app, 2);
    let left: Vec<[u32; 3]> = triangles.into_iter().filter(|t| !t.contains(&19)).collect();
    assert_eq!(drawing::<SurfaceGizmos>(&app).lines.len(), edges(&left).len());
}

#[test]
fn the_surface_of_a_character_is_the_mesh_of_its_skin() {
    let mut app = app_with(default());
    let picture = app.world_mut().resource_mut::<Assets<Image>>().add(common::figure::texture());
    let ragdoll = SpriteRagdoll::of_bones(common::figure::bones()).with_texture(picture);
    let body = app.world_mut().spawn((ragdoll, Transform::from_xyz(0.0, 1.0, 0.5))).id();
    show::<SurfaceGizmos>(&mut app, |_| ());
    tick(&mut app, 10);
    let skin = app.world().get::<CharacterSkin>(body).expect("is bound");
    let corners: Vec<Vec2> = skin.deform().collect();
    let sides: BTreeSet<[u32; 2]> = skin
        .binding()
        .triangles
        .iter()
        .flat_map(|[a, b, c]| [[a, b], [b, c], [c, a]])
        .map(|[a, b]| [*a.min(b), *a.max(b)])
        .collect();
    assert!(sides.len() > 100);
    let place = |side: [u32; 2]| side.map(|i| corners[i as usize].extend(0.5));
    assert_eq!(keys(drawing::<SurfaceGizmos>(&app).ends()), keys(sides.into_iter().map(place)));
}

#[test]
fn axes_are_as_long_as_they_say() {
    let mut app = app_with(default());
    show::<AxisGizmos>(&mut app, |gizmos| gizmos.length = 2.0);
    draw(&mut app);
    let ends = drawing::<AxisGizmos>(&app).ends();
    assert_eq!(ends, [Vec3::X, Vec3::Y, Vec3::Z].map(|axis| [Vec3::ZERO, 2.0 * axis]));
    let mut pixels = app_with(SolverSettings::with_length_unit(100.0));
    show::<AxisGizmos>(&mut pixels, |_| ());
    draw(&mut pixels);
    assert_eq!(drawing::<AxisGizmos>(&pixels).ends()[0][1], Vec3::X * 100.0);
}

#[test]
fn disabled_bodies_are_not_drawn_until_they_are_back() {
    let (mut app, bodies) = scene();
    show_all(&mut app, true);
    draw(&mut app);
    let counts = |app: &App| {
        let of = |view: &bevy_pliant::interact::View| {
            let drawing = drawing_of(app, view.group());
            (drawing.lines.len(), drawing.strips.len())
        };
        VIEWS.iter().map(of).collect::<Vec<_>>()
    };
    let before = counts(&app);
    for body in &bodies {
        app.world_mut().entity_mut(*body).insert(Disabled);
    }
    for _ in 0..2 {
        app.update();
        for (view, (lines, strips)) in VIEWS.iter().zip(counts(&app)) {
            let nothing = if view.name == "Axes" { 3 } else { 0 };
            assert_eq!((lines, strips), (nothing, 0), "{}", view.name);
        }
    }
    for body in &bodies {
        app.world_mut().entity_mut(*body).remove::<Disabled>();
    }
    draw(&mut app);
    app.update();
    for ((view, before), (lines, strips)) in VIEWS.iter().zip(before).zip(counts(&app)) {
        // Contacts and velocities are those of another tick.
        if !matches!(view.name, "Contacts" | "Velocities") {
            assert_eq!((lines, strips), before, "{}", view.name);
        }
    }
}

#[test]
fn whatever_dies_or_is_no_number_nothing_panics() {
    let (mut app, bodies) = scene();
    show_all(&mut app, true);
    app.update();
    let member = particles(&app, bodies[1])[7];
    app.world_mut().get_mut::<Particle>(member).expect("is there").position = Vec3::NAN;
    app.update();
    // In one frame: a particle, a body, and what holds another together.
    app.world_mut().despawn(member);
    app.world_mut().despawn(bodies[2]);
    let mut constraints = app.world_mut().query_filtered::<Entity, With<JointConstraint>>();
    let joint = constraints.iter(app.world()).next().expect("a joint");
    app.world_mut().despawn(joint);
    draw(&mut app);
    app.update();
    for bad in [f32::NAN, f32::INFINITY, -1.0, 0.0] {
        show::<StrainGizmos>(&mut app, |gizmos| gizmos.range = bad);
        show::<ParticleGizmos>(&mut app, |gizmos| gizmos.radius = bad);
        show::<ContactGizmos>(&mut app, |g| (g.radius, g.length) = (bad, bad));
        show::<GroupGizmos>(&mut app, |g| (g.radius, g.limit_radius) = (bad, bad));
        show::<VelocityGizmos>(&mut app, |g| (g.time, g.least_length) = (bad, bad));
        show::<EllipsoidGizmos>(&mut app, |gizmos| gizmos.resolution = 0);
        show::<AxisGizmos>(&mut app, |gizmos| gizmos.length = bad);
        show::<SleepGizmos>(&mut app, |gizmos| gizmos.radius = bad);
        show::<IslandGizmos>(&mut app, |gizmos| gizmos.radius = bad);
        app.update();
        for view in VIEWS {
            drawing_of(&app, view.group());
        }
    }
    for body in bodies {
        let _ = app.world_mut().try_despawn(body);
    }
    app.update();
    app.update();
    assert!(drawing::<ConstraintGizmos>(&app).is_empty());
}
