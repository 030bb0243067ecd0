//! The inspector panel, driven as a user drives it: through its widgets, found by their accessible names.
#![cfg(feature = "inspector")]

mod common;

use bevy::{
    camera::{ComputedCameraValues, RenderTarget, RenderTargetInfo},
    ecs::entity_disabling::Disabled,
    mesh::skinning::SkinnedMeshInverseBindposes,
    picking::{
        InteractionPlugin, PickingPlugin,
        backend::PointerHits,
        input::PointerInputPlugin,
        pointer::{Location, PointerId, PointerLocation},
    },
    prelude::*,
    window::{CursorMoved, PrimaryWindow, WindowRef},
};
use bevy_egui::{
    EguiContext, EguiPlugin, PrimaryEguiContext,
    egui::{self, accesskit::Role},
};
use bevy_inspector_egui::quick::WorldInspectorPlugin;
use bevy_pliant::{
    constraint::{Constraint, GroupConstraint, GroupForm, GroupParticles},
    interact::{
        ConstraintGizmos, Inspector, InspectorPlugin, InspectorTab, StrainGizmos, VIEWS,
        inspector_ui,
    },
    particle::ParticleOf,
    prelude::*,
    solver::Faulty,
};
use common::{app, bare_app, particle, particles, tick};
use core::{cell::Cell, time::Duration};
use egui_kittest::{
    Harness,
    kittest::{NodeT, Queryable},
};

type Panel = Harness<'static, App>;

/// The panel at this tab, in a layout that is tall enough for all of it.
fn panel(mut app: App, tab: InspectorTab) -> Panel {
    if !app.is_plugin_added::<InspectorPlugin>() {
        app.add_plugins(InspectorPlugin::embedded());
    }
    app.world_mut().resource_mut::<Inspector>().tab = tab;
    let ui = |ui: &mut egui::Ui, app: &mut App| inspector_ui(ui, app.world_mut());
    let mut panel = Harness::builder().with_size([320.0, 3000.0]).build_ui_state(ui, app);
    panel.run_steps(3);
    panel
}

fn click(panel: &mut Panel, label: &str) {
    panel.get_by_label(label).click();
    panel.run_steps(3);
}

/// Types a value into a field, as a user does: a click, the text, Enter.
fn enter(panel: &mut Panel, label: &str, text: &str) {
    click(panel, label);
    panel.get_by_label(label).type_text(text);
    panel.run_steps(2);
    panel.key_press(egui::Key::Enter);
    panel.run_steps(3);
}

/// Opens a menu and chooses from it.
fn choose(panel: &mut Panel, menu: &str, item: &str) {
    click(panel, menu);
    let of_menu = |panel: &Panel| {
        let mut items = panel
            .get_all_by_label(item)
            .filter(|node| node.accesskit_node().label().as_deref() == Some(item));
        items.next_back().map(|node| node.click())
    };
    of_menu(panel).expect("the item is in the menu");
    panel.run_steps(3);
}

fn settings(panel: &Panel) -> SolverSettings {
    panel.state().world().resource::<SolverSettings>().clone()
}

fn ticks(panel: &Panel) -> u64 {
    panel.state().world().resource::<SolverClock>().ticks
}

/// An app that has views, though nothing draws them.
fn with_views() -> App {
    let mut app = bare_app();
    app.init_asset::<Image>()
        .init_asset::<SkinnedMeshInverseBindposes>()
        .add_plugins((bevy::gizmos::GizmoPlugin, PliantPlugins::default()))
        .add_plugins(InspectorPlugin::embedded());
    app.finish();
    app.cleanup();
    app
}

/// An app with a cloth on two pins, and that cloth.
fn with_cloth() -> (App, Entity) {
    let mut app = app();
    let cloth = Cloth::grid(UVec2::new(9, 7), 0.2).pinned(ClothPins::TopCorners).without_tethers();
    let body = app.world_mut().spawn((cloth, Name::new("Banner"))).id();
    tick(&mut app, 10);
    (app, body)
}

fn grid(panel: &Panel, body: Entity) -> UVec2 {
    match panel.state().world().get::<Cloth>(body).expect("a cloth").shape {
        ClothShape::Grid { size, .. } => size,
        ClothShape::Mesh { .. } => panic!("a mesh"),
    }
}

#[test]
fn gravity_and_iterations_are_those_of_the_panel() {
    let (app, body) = with_cloth();
    let mut panel = panel(app, InspectorTab::Simulation);
    enter(&mut panel, "Iterations", "7");
    assert_eq!(settings(&panel).iterations, 7);
    enter(&mut panel, "Substeps", "3");
    assert_eq!(settings(&panel).substeps, 3);
    enter(&mut panel, "Gravity z", "20");
    assert_eq!(settings(&panel).gravity, Vec3::new(0.0, -9.81, 20.0));
    // The cloth swings out of its plane.
    tick(panel.state_mut(), 25);
    let lowest = particles(panel.state(), body)[9 * 6 + 4];
    let at = particle(panel.state(), lowest).position;
    assert!(at.z > 0.4, "{at}");
}

#[test]
fn pause_step_and_restart() {
    let (app, body) = with_cloth();
    let mut panel = panel(app, InspectorTab::Simulation);
    click(&mut panel, "Pause");
    let before = ticks(&panel);
    (0..5).for_each(|_| panel.state_mut().update());
    assert_eq!(ticks(&panel), before, "it is paused");
    click(&mut panel, "Step");
    (0..5).for_each(|_| panel.state_mut().update());
    assert_eq!(ticks(&panel), before + 1, "it does one tick");
    click(&mut panel, "Run");
    let low = particles(panel.state(), body)[9 * 6 + 4];
    let mut pushed = panel.state_mut().world_mut().get_mut::<Particle>(low).expect("a particle");
    pushed.velocity.z = 20.0;
    tick(panel.state_mut(), 5);
    assert!(particle(panel.state(), low).position.z > 0.05);
    click(&mut panel, "Restart");
    assert_eq!(panel.state().world().resource::<SolverClock>().elapsed, 0.0);
    tick(panel.state_mut(), 1);
    let low = particles(panel.state(), body)[9 * 6 + 4];
    let anew = particle(panel.state(), low).position;
    assert!(anew.distance(Vec3::Y * -1.2) < 0.01, "{anew}");
}

#[test]
fn slow_motion_makes_fewer_ticks() {
    let (app, _) = with_cloth();
    let mut panel = panel(app, InspectorTab::Simulation);
    click(&mut panel, "Slow motion: 0.25");
    let before = ticks(&panel);
    (0..40).for_each(|_| panel.state_mut().update());
    let slow = ticks(&panel) - before;
    assert!((9..=11).contains(&slow), "{slow} ticks in 40 frames");
    enter(&mut panel, "Game speed", "0.5");
    let before = ticks(&panel);
    (0..40).for_each(|_| panel.state_mut().update());
    let half = ticks(&panel) - before;
    assert!((19..=21).contains(&half), "{half} ticks in 40 frames");
    enter(&mut panel, "Tick rate", "100");
    let step = panel.state().world().resource::<Time<Fixed>>().timestep();
    assert_eq!(step, Duration::from_millis(10));
}

#[test]
fn order_and_tasks() {
    let (app, _) = with_cloth();
    let mut panel = panel(app, InspectorTab::Simulation);
    click(&mut panel, "Order: Sequential");
    assert_eq!(settings(&panel).order, ProjectionOrder::Sequential);
    let threads = bevy::tasks::ComputeTaskPool::get().thread_num() + 1;
    panel.state_mut().world_mut().resource_mut::<SolverSettings>().max_tasks = threads + 7;
    enter(&mut panel, "Tasks", "1");
    // As many as there are is all that there will be, also where there are more.
    let expected = if threads == 1 { usize::MAX } else { 1 };
    assert_eq!(settings(&panel).max_tasks, expected, "of {threads} threads");
}

#[test]
fn what_is_no_finite_number_is_refused() {
    let (app, body) = with_cloth();
    let mut panel = panel(app, InspectorTab::Simulation);
    let before = settings(&panel);
    for text in ["NaN", "inf", "-inf", "1e999", "", "abc", "∞"] {
        for label in ["Gravity y", "Substeps", "Iterations"] {
            enter(&mut panel, label, text);
            assert_eq!(settings(&panel), before, "{label}: {text:?}");
        }
    }
    // Out of range: clamped.
    enter(&mut panel, "Substeps", "-5");
    assert_eq!(settings(&panel).substeps, 1);
    enter(&mut panel, "Substeps", "1e9");
    assert_eq!(settings(&panel).substeps, 200);
    // What assistive technology sends.
    let node = panel.get_by_label("Gravity y").accesskit_node().locate();
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
        panel.event(egui::Event::AccessKitActionRequest(egui::accesskit::ActionRequest {
            action: egui::accesskit::Action::SetValue,
            target_node: node.0,
            target_tree: node.1,
            data: Some(egui::accesskit::ActionData::NumericValue(value)),
        }));
        panel.run_steps(3);
        assert!(settings(&panel).gravity.is_finite(), "{value}");
    }
    panel.state_mut().world_mut().resource_mut::<Inspector>().tab = InspectorTab::Bodies;
    panel.run_steps(3);
    let cloth = panel.state().world().get::<Cloth>(body).cloned();
    for label in ["Width", "Spacing", "Mass", "Compliance"] {
        enter(&mut panel, label, "NaN");
        assert_eq!(panel.state().world().get::<Cloth>(body).cloned(), cloth, "{label}");
    }
}

#[test]
fn a_cloth_is_resized_and_pinned_otherwise() {
    let (app, body) = with_cloth();
    let mut panel = panel(app, InspectorTab::Bodies);
    // The only body is selected.
    assert_eq!(panel.state().world().resource::<Inspector>().selected, Some(body));
    enter(&mut panel, "Width", "12");
    assert_eq!(grid(&panel, body), UVec2::new(12, 7));
    tick(panel.state_mut(), 1);
    assert_eq!(particles(panel.state(), body).len(), 12 * 7);
    choose(&mut panel, "Fixed particles", "Top edge");
    tick(panel.state_mut(), 1);
    let held = |panel: &Panel| {
        let world = panel.state().world();
        particles(panel.state(), body)
            .into_iter()
            .filter(|e| world.get::<PinnedTo>(*e).is_some() || world.get::<Pinned>(*e).is_some())
            .count()
    };
    assert_eq!(held(&panel), 12);
    click(&mut panel, "Pins");
    click(&mut panel, "Unpin particle 3");
    assert_eq!(held(&panel), 11);
    enter(&mut panel, "Particle", "40");
    click(&mut panel, "Pin particle");
    assert_eq!(held(&panel), 12);
    let at = particle(panel.state(), particles(panel.state(), body)[40]).position;
    tick(panel.state_mut(), 20);
    assert_eq!(particle(panel.state(), particles(panel.state(), body)[40]).position, at);
    click(&mut panel, "Unpin all");
    assert_eq!(held(&panel), 0);
}

#[test]
fn a_preset_applies() {
    let (app, body) = with_cloth();
    let mut panel = panel(app, InspectorTab::Bodies);
    for fabric in [Fabric::DENIM, Fabric::SILK] {
        choose(&mut panel, "Fabric", fabric.name);
        let cloth = panel.state().world().get::<Cloth>(body).expect("a cloth").clone();
        assert_eq!(cloth, cloth.clone().with_fabric(&fabric), "{}", fabric.name);
        tick(panel.state_mut(), 2);
        let mass: f32 = particles(panel.state(), body)
            .into_iter()
            .map(|e| particle(panel.state(), e).mass)
            .sum();
        let meant = fabric.mass_per_area * (8.0 * 0.2) * (6.0 * 0.2);
        assert!((mass - meant).abs() < 1e-4 * meant, "{}: {mass} kg, not {meant}", fabric.name);
    }
}

#[test]
fn compliance_by_type_reaches_every_constraint() {
    let (app, _) = with_cloth();
    let mut panel = panel(app, InspectorTab::Bodies);
    click(&mut panel, "Constraints");
    enter(&mut panel, "Distance compliance", "2e-3 m/N");
    let world = panel.state_mut().world_mut();
    let mut all = world.query::<&DistanceConstraint>();
    assert!(all.iter(world).count() > 100);
    assert!(all.iter(world).all(|constraint| constraint.compliance == 2e-3));
}

#[test]
fn wind_response_place_and_other_settings_of_a_body() {
    let (app, body) = with_cloth();
    let mut panel = panel(app, InspectorTab::Bodies);
    click(&mut panel, "Wind");
    enter(&mut panel, "Drag", "0.4");
    click(&mut panel, "Motion");
    click(&mut panel, "Own gravity");
    enter(&mut panel, "Gravity x", "3");
    click(&mut panel, "Contact");
    click(&mut panel, "Self-contact");
    click(&mut panel, "In layers 2");
    let settings = panel.state().world().get::<BodySettings>(body).expect("settings").clone();
    assert_eq!(settings.drag, 0.4);
    assert_eq!(settings.gravity, Some(Vec3::new(3.0, -9.81, 0.0)));
    assert!(settings.self_contact);
    assert_eq!(settings.layers.memberships, !(1 << 2));
    click(&mut panel, "Place");
    enter(&mut panel, "Position x", "5");
    let corner = particles(panel.state(), body)[0];
    tick(panel.state_mut(), 1);
    let at = particle(panel.state(), corner).position;
    assert!((at.x - (5.0 - 0.8)).abs() < 1e-3, "{at}");
    let speed = particle(panel.state(), corner).velocity.length();
    assert!(speed < 1.0, "nothing is swept: {speed} m/s");
}

#[test]
fn edits_alone_are_changes() {
    #[derive(Resource, Default)]
    struct Changes(usize);
    fn count(
        mut changes: ResMut<Changes>,
        cloths: Query<(), Or<(Changed<Cloth>, Changed<BodySettings>, Changed<Transform>)>>,
        settings: Res<SolverSettings>,
        control: Res<SolverControl>,
        distances: Query<(), Changed<DistanceConstraint>>,
    ) {
        changes.0 += cloths.iter().count() + distances.iter().count();
        changes.0 += usize::from(settings.is_changed()) + usize::from(control.is_changed());
    }
    let (mut app, body) = with_cloth();
    app.init_resource::<Changes>().add_systems(PreUpdate, count);
    app.update();
    let mut panel = panel(app, InspectorTab::Simulation);
    for section in ["Air", "Damping and sleep", "Counts"] {
        click(&mut panel, section);
    }
    let changes = |panel: &mut Panel, tab: InspectorTab| {
        panel.state_mut().world_mut().resource_mut::<Inspector>().tab = tab;
        panel.state_mut().update();
        panel.state_mut().world_mut().resource_mut::<Changes>().0 = 0;
        panel.run_steps(3);
        panel.state_mut().update();
        panel.state().world().resource::<Changes>().0
    };
    for tab in [InspectorTab::Simulation, InspectorTab::Bodies, InspectorTab::View] {
        assert_eq!(changes(&mut panel, tab), 0, "{tab:?}");
        if tab == InspectorTab::Bodies {
            for section in ["Pins", "Motion", "Contact", "Wind", "Constraints", "Place"] {
                click(&mut panel, section);
            }
            // A field that is entered and left again is not edited, though it shows rounded values.
            let odd = 0.123_456_79;
            panel.state_mut().world_mut().get_mut::<BodySettings>(body).expect("settings").drag =
                odd;
            panel.run_steps(3);
            panel.state_mut().update();
            panel.state_mut().world_mut().resource_mut::<Changes>().0 = 0;
            click(&mut panel, "Drag");
            click(&mut panel, "Lift");
            panel.key_press(egui::Key::Enter);
            panel.run_steps(3);
            panel.state_mut().update();
            assert_eq!(panel.state().world().resource::<Changes>().0, 0);
            assert_eq!(
                panel.state().world().get::<BodySettings>(body).expect("settings").drag,
                odd
            );
            assert_eq!(changes(&mut panel, tab), 0, "{tab:?}");
        }
    }
}

#[test]
fn bodies_go_while_they_are_selected() {
    let (mut app, body) = with_cloth();
    let other = app.world_mut().spawn(Rope::new(1.0, 11).pinned(RopePins::Start)).id();
    tick(&mut app, 2);
    let mut panel = panel(app, InspectorTab::Bodies);
    click(&mut panel, "Banner");
    assert_eq!(panel.state().world().resource::<Inspector>().selected, Some(body));
    panel.state_mut().world_mut().despawn(body);
    panel.run_steps(3);
    let selected = panel.state().world().resource::<Inspector>().selected;
    assert_eq!(selected, Some(other), "the only one that is left");
    assert!(panel.query_by_label("Banner").is_none());
    // One without a name has its kind and its number.
    click(&mut panel, &format!("Rope {other}"));
    click(&mut panel, "Disable body");
    assert!(panel.state().world().get::<Disabled>(other).is_some());
    click(&mut panel, "Enable body");
    click(&mut panel, "Despawn body");
    assert!(panel.state().world().get_entity(other).is_err());
    assert_eq!(panel.state().world().resource::<Inspector>().selected, None);
    panel.run_steps(2);
    tick(panel.state_mut(), 1);
}

#[test]
fn faults_are_told_and_mended() {
    let (mut app, body) = with_cloth();
    app.add_plugins(InspectorPlugin::embedded());
    let bad = particles(&app, body)[20];
    app.world_mut().get_mut::<Particle>(bad).expect("a particle").velocity = Vec3::NAN;
    tick(&mut app, 2);
    let failing = Cloth::grid(UVec2::new(1, 1), 0.2);
    app.world_mut().spawn((failing, Name::new("Stamp")));
    tick(&mut app, 2);
    let mut panel = panel(app, InspectorTab::Bodies);
    click(&mut panel, "Banner");
    assert!(panel.query_by_label_contains("stopped being finite").is_some());
    assert!(panel.query_by_label_contains("Banner, faulty").is_some());
    click(&mut panel, "Restart body");
    tick(panel.state_mut(), 2);
    panel.run_steps(3);
    assert!(panel.state().world().get::<Faulty>(body).is_none());
    assert!(panel.query_by_label_contains("Banner, awake").is_some());
    assert!(panel.query_by_label_contains("stopped being finite").is_none());
    click(&mut panel, "Stamp");
    assert!(panel.query_by_label_contains("Stamp, cannot be built").is_some());
    assert!(panel.query_by_label_contains("raise its size").is_some());
}

#[test]
fn a_thousand_bodies_are_listed_and_found() {
    let mut app = app();
    for i in 0..1000 {
        let rope = Rope::new(0.2, 2);
        app.world_mut().spawn((rope, Name::new(format!("Rope of {i}")), Transform::default()));
    }
    tick(&mut app, 2);
    let mut panel = panel(app, InspectorTab::Bodies);
    let rows = |panel: &Panel| panel.query_all_by_label_contains("Rope of").count();
    assert!((3..20).contains(&rows(&panel)), "{} rows are laid out", rows(&panel));
    click(&mut panel, "Find body");
    panel.get_by_label("Find body").type_text("of 777");
    panel.run_steps(3);
    assert_eq!(rows(&panel), 1);
    click(&mut panel, "Rope of 777");
    let selected = panel.state().world().resource::<Inspector>().selected.expect("one is selected");
    assert_eq!(panel.state().world().get::<Name>(selected).map(Name::as_str), Some("Rope of 777"));
}

/// A constraint of a user's, which does nothing.
#[derive(Component)]
struct MagnetConstraint(Vec<Entity>);

impl Constraint for MagnetConstraint {
    type Form = GroupForm;
}

impl GroupConstraint for MagnetConstraint {
    type Compiled = ();

    fn particles(&self) -> Vec<Entity> {
        self.0.clone()
    }

    fn compile(&self) {}

    fn project((): &mut (), _: &mut GroupParticles<'_>) {}
}

/// A recipe of a user's.
#[derive(Component)]
struct BalloonRecipe;

#[test]
fn types_of_users_are_told_by_name() {
    let mut app = app();
    let body = app.world_mut().spawn((BalloonRecipe, Transform::default())).id();
    app.add_constraint::<MagnetConstraint>();
    let particle = |x: f32| (Particle::at(Vec3::X * x), ParticleOf(body));
    let particles = [0.0, 1.0, 2.0].map(|x| app.world_mut().spawn(particle(x)).id());
    app.world_mut().spawn((MagnetConstraint(particles.to_vec()), ConstraintOf(body)));
    tick(&mut app, 2);
    let mut panel = panel(app, InspectorTab::Bodies);
    assert!(panel.query_by_label(&format!("Balloon recipe {body}")).is_some());
    click(&mut panel, "Constraints");
    assert!(panel.query_by_label("Magnet, 1").is_some());
    panel.state_mut().world_mut().resource_mut::<Inspector>().tab = InspectorTab::Simulation;
    panel.run_steps(3);
    click(&mut panel, "Counts");
    assert!(panel.query_by_label("Magnet: 1").is_some());
}

/// What a user acts on.
fn is_widget(role: Role) -> bool {
    matches!(
        role,
        Role::Button
            | Role::CheckBox
            | Role::ComboBox
            | Role::SpinButton
            | Role::TextInput
            | Role::Slider
            | Role::RadioButton
            | Role::Image
            | Role::ColorWell
    )
}

#[test]
fn every_widget_has_a_name_of_its_own() {
    for tab in [InspectorTab::Simulation, InspectorTab::Bodies, InspectorTab::View] {
        let mut app = with_views();
        app.insert_resource(Air::STILL);
        let cloth = Cloth::grid(UVec2::new(9, 7), 0.2).pinned(ClothPins::TopCorners);
        app.world_mut().spawn((cloth.with_bending(1e3), Name::new("Banner")));
        tick(&mut app, 10);
        let mut panel = panel(app, tab);
        let closed: &[&str] = match tab {
            InspectorTab::Simulation => &["Air", "Damping and sleep", "Counts"],
            InspectorTab::Bodies => &["Pins", "Motion", "Contact", "Wind", "Constraints", "Place"],
            InspectorTab::View => &["Strain", "Sleep"],
        };
        for section in closed {
            let first = panel.get_all_by_label(section).next();
            first.expect("the section is there").click();
            panel.run_steps(3);
        }
        let mut names = Vec::new();
        for node in panel.root().children_recursive() {
            let node = node.accesskit_node();
            if !is_widget(node.role()) {
                continue;
            }
            let name = node.label().unwrap_or_default();
            assert!(!name.trim().is_empty(), "{tab:?}: a {:?} without a name", node.role());
            names.push(format!("{:?} {name}", node.role()));
        }
        let least = match tab {
            InspectorTab::Simulation => 25,
            InspectorTab::Bodies => 40,
            InspectorTab::View => 16,
        };
        assert!(names.len() >= least, "{tab:?}: only {} widgets", names.len());
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{tab:?}: {twice:?}");
    }
}

#[test]
fn views_are_switched_in_the_store() {
    let mut app = with_views();
    tick(&mut app, 1);
    let mut panel = panel(app, InspectorTab::View);
    let is_on = |panel: &Panel, i: usize| {
        VIEWS[i].is_on(panel.state().world().resource::<GizmoConfigStore>())
    };
    for (i, view) in VIEWS.iter().enumerate() {
        assert!(!is_on(&panel, i), "{}", view.name);
        click(&mut panel, view.name);
        assert!(is_on(&panel, i), "{}", view.name);
    }
    enter(&mut panel, "Line width", "5");
    enter(&mut panel, "Strain range", "2");
    let store = panel.state().world().resource::<GizmoConfigStore>();
    assert_eq!(store.config::<ConstraintGizmos>().0.line.width, 5.0);
    assert!((store.config::<StrainGizmos>().1.range - 0.02).abs() < 1e-6);
    for (i, view) in VIEWS.iter().enumerate() {
        click(&mut panel, view.name);
        assert!(!is_on(&panel, i), "{}", view.name);
    }
}

#[test]
fn drawn_bodies_are_hidden_and_shown_as_they_were() {
    let (app, body) = with_cloth();
    let mut panel = panel(app, InspectorTab::View);
    let mesh = panel.state_mut().world_mut().resource_mut::<Assets<Mesh>>().add(Cuboid::default());
    let world = panel.state_mut().world_mut();
    world.entity_mut(body).insert((Mesh3d(mesh), Visibility::Visible));
    tick(panel.state_mut(), 3);
    let seen = |panel: &Panel| *panel.state().world().get::<Visibility>(body).expect("is drawn");
    assert_eq!(seen(&panel), Visibility::Visible);
    click(&mut panel, "Draw bodies");
    assert_eq!(seen(&panel), Visibility::Hidden);
    panel.run_steps(3);
    click(&mut panel, "Draw bodies");
    assert_eq!(seen(&panel), Visibility::Visible);
}

#[test]
fn worlds_that_lack_things_are_no_trouble() {
    // Nothing at all.
    let said = Cell::new(false);
    let mut bare = World::new();
    let mut harness = Harness::new_ui(|ui| {
        inspector_ui(ui, &mut bare);
        said.set(true);
    });
    harness.run_steps(3);
    assert!(harness.query_by_label_contains("no solver").is_some());
    assert!(said.get());
    drop(harness);
    // No diagnostics, no gizmos, no clocks.
    for tab in [InspectorTab::Simulation, InspectorTab::Bodies, InspectorTab::View] {
        let (mut app, _) = with_cloth();
        let world = app.world_mut();
        world.remove_resource::<bevy::diagnostic::DiagnosticsStore>();
        world.remove_resource::<Time<Fixed>>();
        world.remove_resource::<Time<Virtual>>();
        let panel = panel(app, tab);
        let told = match tab {
            InspectorTab::Simulation => "No Time<Fixed>",
            InspectorTab::Bodies => "Banner, awake",
            InspectorTab::View => "GizmoPlugin",
        };
        assert!(panel.query_by_label_contains(told).is_some(), "{tab:?}");
    }
}

/// How an app adds plugins.
#[derive(Clone, Copy, Debug)]
enum Plugins {
    Alone,
    First,
    Last,
}

/// An app with a window that nothing draws to.
fn windowed(order: Plugins) -> App {
    let mut app = bare_app();
    app.add_plugins((
        bevy::input::InputPlugin,
        WindowPlugin { primary_window: None, ..default() },
        PickingPlugin,
        InteractionPlugin,
        PointerInputPlugin,
    ))
    .init_asset::<Image>()
    .init_asset::<Shader>()
    .add_plugins(PliantPlugins::default());
    let ours = InspectorPlugin::default();
    match order {
        Plugins::Alone => app.add_plugins(ours),
        Plugins::First => {
            app.add_plugins((ours, EguiPlugin::default(), WorldInspectorPlugin::new()))
        }
        Plugins::Last => {
            app.add_plugins((EguiPlugin::default(), WorldInspectorPlugin::new(), ours))
        }
    };
    app.world_mut().spawn((Window::default(), PrimaryWindow));
    app.world_mut().spawn((
        Camera {
            computed: ComputedCameraValues {
                target_info: Some(RenderTargetInfo {
                    physical_size: UVec2::new(1280, 720),
                    scale_factor: 1.0,
                }),
                ..default()
            },
            ..default()
        },
        RenderTarget::Window(WindowRef::Primary),
        Transform::default(),
        PrimaryEguiContext,
    ));
    let cloth = Cloth::grid(UVec2::new(9, 7), 0.2).pinned(ClothPins::TopCorners);
    app.world_mut().spawn((cloth, Name::new("Banner")));
    app.finish();
    app.cleanup();
    for _ in 0..4 {
        app.update();
    }
    app
}

/// The place of an egui window.
fn area(app: &mut App, id: &str) -> Option<egui::Rect> {
    let mut contexts =
        app.world_mut().query_filtered::<&mut EguiContext, With<PrimaryEguiContext>>();
    let mut context = contexts.single_mut(app.world_mut()).ok()?;
    context.get_mut().memory(|memory| memory.area_rect(egui::Id::new(id)))
}

#[test]
fn it_shares_an_app_with_the_world_inspector_in_any_order() {
    for order in [Plugins::Alone, Plugins::First, Plugins::Last] {
        let mut app = windowed(order);
        let place = area(&mut app, "bevy_pliant inspector")
            .unwrap_or_else(|| panic!("{order:?}: no window"));
        let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, egui::vec2(1280.0, 720.0));
        assert!(screen.contains_rect(place), "{order:?}: {place:?}");
        assert!(place.left() > 900.0, "{order:?}: it stands at the right: {place:?}");
        let theirs = area(&mut app, "World Inspector").is_some();
        assert_eq!(theirs, !matches!(order, Plugins::Alone), "{order:?}");
    }
}

#[test]
fn a_key_hides_and_shows_the_window() {
    let mut app = windowed(Plugins::Alone);
    let press = |app: &mut App| {
        let mut keys = app.world_mut().resource_mut::<ButtonInput<KeyCode>>();
        keys.release_all();
        keys.press(KeyCode::F1);
        app.world_mut().run_schedule(Update);
    };
    press(&mut app);
    assert!(!app.world().resource::<Inspector>().open);
    press(&mut app);
    assert!(app.world().resource::<Inspector>().open);
}

#[test]
fn case_44_a_pointer_over_the_panel_is_the_panels() {
    let mut app = windowed(Plugins::Alone);
    let place = area(&mut app, "bevy_pliant inspector").expect("a window");
    let mut windows = app.world_mut().query_filtered::<Entity, With<PrimaryWindow>>();
    let window = windows.single(app.world()).expect("one window");
    let hits_at = |app: &mut App, at: Vec2| {
        app.world_mut().write_message(CursorMoved { window, position: at, delta: None });
        let target = RenderTarget::Window(WindowRef::Primary).normalize(Some(window));
        let location = Location { target: target.expect("a target"), position: at };
        let mut pointers = app.world_mut().query::<(&PointerId, &mut PointerLocation)>();
        for (id, mut pointer) in pointers.iter_mut(app.world_mut()) {
            if *id == PointerId::Mouse {
                pointer.location = Some(location.clone());
            }
        }
        app.update();
        app.update();
        let mut panels = app.world_mut().query_filtered::<Entity, With<PrimaryEguiContext>>();
        let panel = panels.single(app.world()).expect("one context");
        let hits = app.world().resource::<Messages<PointerHits>>();
        let of_panel = |hits: &&PointerHits| hits.picks.iter().any(|(entity, _)| *entity == panel);
        hits.iter_current_update_messages().filter(of_panel).count()
    };
    let centre = place.center();
    assert!(hits_at(&mut app, Vec2::new(centre.x, centre.y)) > 0, "the panel takes the pointer");
    (0..3).for_each(|_| app.update());
    assert_eq!(hits_at(&mut app, Vec2::new(200.0, 600.0)), 0, "beside it the scene has it");
}
