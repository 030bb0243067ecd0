//! The plugin of the views.

use super::{
    AxisGizmos, ColorGizmos, ConstraintGizmos, ContactGizmos, EllipsoidGizmos, GroupGizmos,
    IslandGizmos, ParticleGizmos, SleepGizmos, StrainGizmos, SurfaceGizmos, VIEWS, VelocityGizmos,
    axis, color, constraint, contact, ellipsoid, group, island, particle,
    points::{Points, place_points},
    sleep, strain, surface, velocity,
};
use crate::solver::{PliantSystems, SolverSettings};
use bevy::{prelude::*, reflect::GetTypeRegistration};

/// What all views have.
pub(super) trait ViewGroup: GizmoConfigGroup {
    /// How much nearer to the camera than it is this is drawn, −1 to 1.
    const DEPTH_BIAS: f32 = 0.0;
    /// Width of its lines (px).
    const WIDTH: f32 = 2.0;

    /// Scales its lengths for a world in which a metre is `unit` long.
    fn scale_lengths(&mut self, _unit: f32) {}
}

/// Draws views: what the solver works on, as lines. Does nothing without Bevy's `GizmoPlugin`.
///
/// Each view is a gizmo configuration group, off until it is turned on; its fields are colours and sizes, its
/// [`GizmoConfig`](bevy::gizmos::config::GizmoConfig) the width of the lines and which cameras see them.
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_pliant::interact::StrainGizmos;
/// fn show_strain(mut store: ResMut<GizmoConfigStore>) {
///     let (config, strain) = store.config_mut::<StrainGizmos>();
///     config.enabled = true;
///     strain.range = 0.02;
/// }
/// ```
///
/// | group | shows |
/// |---|---|
/// | [`SurfaceGizmos`] | the wireframe of what is drawn |
/// | [`ConstraintGizmos`] | distance constraints; on demand tethers and bending |
/// | [`ParticleGizmos`] | particles as dots, held ones red and larger |
/// | [`EllipsoidGizmos`] | particles that turn, as ellipsoids |
/// | [`GroupGizmos`] | shape-matching groups; joints with their limits |
/// | [`StrainGizmos`] | constraints by strain |
/// | [`ContactGizmos`] | where particles touch, and the normals |
/// | [`IslandGizmos`] | islands |
/// | [`ColorGizmos`] | colours of the constraint graph |
/// | [`VelocityGizmos`] | velocities as arrows |
/// | [`SleepGizmos`] | what is awake, asleep or faulty |
/// | [`AxisGizmos`] | the world's axes |
///
/// [`VIEWS`] lists them with names and tooltips. All show the drawn pose, in 2D and in 3D and to every camera
/// whose layers meet those of the group, and leave out bodies that are `Disabled`. Their lengths are in
/// metres, and scaled by the length unit of [`SolverSettings`] at the start. A view that is off costs nothing.
///
/// Systems in run order, in `PostUpdate` after [`PliantSystems::Skin`]: `place_points`; then, each only
/// while its group is on and in no order, `draw_surfaces`, `draw_constraints`, `draw_particles`,
/// `draw_ellipsoids`, `draw_groups`, `draw_joints`, `draw_strain`, `draw_contacts`, `draw_islands`,
/// `draw_colors`, `draw_velocities`, `draw_sleep`, `draw_axes`.
#[derive(Clone, Copy, Debug, Default)]
pub struct GizmoPlugin;

/// Marks apps that draw views.
#[derive(Resource)]
struct Drawing;

impl Plugin for GizmoPlugin {
    fn build(&self, app: &mut App) {
        add_views(app);
    }

    fn finish(&self, app: &mut App) {
        // Bevy's plugin may have been added after this one.
        add_views(app);
    }
}

fn add_views(app: &mut App) {
    let can_draw = app.is_plugin_added::<bevy::gizmos::GizmoPlugin>();
    if !can_draw || app.world().contains_resource::<Drawing>() {
        return;
    }
    app.insert_resource(Drawing).init_resource::<Points>();
    add_group::<SurfaceGizmos>(app);
    add_group::<ConstraintGizmos>(app);
    add_group::<ParticleGizmos>(app);
    add_group::<EllipsoidGizmos>(app);
    add_group::<GroupGizmos>(app);
    add_group::<StrainGizmos>(app);
    add_group::<ContactGizmos>(app);
    add_group::<IslandGizmos>(app);
    add_group::<ColorGizmos>(app);
    add_group::<VelocityGizmos>(app);
    add_group::<SleepGizmos>(app);
    add_group::<AxisGizmos>(app);
    let draw = (
        surface::draw_surfaces.run_if(is_on::<SurfaceGizmos>),
        constraint::draw_constraints.run_if(is_on::<ConstraintGizmos>),
        particle::draw_particles.run_if(is_on::<ParticleGizmos>),
        ellipsoid::draw_ellipsoids.run_if(is_on::<EllipsoidGizmos>),
        (group::draw_groups, group::draw_joints).chain().run_if(is_on::<GroupGizmos>),
        strain::draw_strain.run_if(is_on::<StrainGizmos>),
        contact::draw_contacts.run_if(is_on::<ContactGizmos>),
        island::draw_islands.run_if(is_on::<IslandGizmos>),
        color::draw_colors.run_if(is_on::<ColorGizmos>),
        velocity::draw_velocities.run_if(is_on::<VelocityGizmos>),
        sleep::draw_sleep.run_if(is_on::<SleepGizmos>),
        axis::draw_axes.run_if(is_on::<AxisGizmos>),
    );
    app.add_systems(
        PostUpdate,
        (place_points.run_if(is_any_on), draw)
            .chain()
            .after(PliantSystems::PlacePins)
            .after(PliantSystems::Skin)
            .after(TransformSystems::Propagate),
    );
}

fn add_group<G: ViewGroup + GetTypeRegistration>(app: &mut App) {
    let unit =
        app.world().get_resource::<SolverSettings>().map_or(1.0, SolverSettings::length_unit);
    let mut group = G::default();
    group.scale_lengths(unit);
    let line = GizmoLineConfig { width: G::WIDTH, ..default() };
    let config = GizmoConfig { enabled: false, line, depth_bias: G::DEPTH_BIAS, ..default() };
    app.register_type::<G>().insert_gizmo_config(group, config);
}

fn is_on<G: GizmoConfigGroup>(store: Res<GizmoConfigStore>) -> bool {
    store.get_config::<G>().is_some_and(|(config, _)| config.enabled)
}

fn is_any_on(store: Res<GizmoConfigStore>) -> bool {
    VIEWS.iter().any(|view| view.is_on(&store))
}
