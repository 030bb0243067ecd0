//! What the examples of this crate share about bodies: readiness, measures, keys, the text on screen.

use bevy::{prelude::*, ui::IsDefaultUiCamera};
use bevy_egui::PrimaryEguiContext;
use bevy_pliant::{
    interact::{ConstraintGizmos, Inspector, ParticleGizmos},
    prelude::*,
    solver::{PliantSchedule, state_hash},
};

use super::{Args, Held, Measures, Ready, panel};

/// Builds bodies while the clock is held; keys. Without the panel, time and counts as text; with it, a line that
/// lists the keys.
///
/// | key | does |
/// |---|---|
/// | `R` | restarts every body |
/// | space | pauses, and goes on |
/// | `.` | runs one tick |
/// | `L` | shows or hides lines and dots |
pub struct BodiesPlugin {
    /// How many bodies must be built before the run begins.
    pub bodies: usize,
    /// Colour of the text.
    pub text_color: Color,
}

impl Plugin for BodiesPlugin {
    fn build(&self, app: &mut App) {
        let color = self.text_color;
        app.add_plugins(BuildPlugin { bodies: self.bodies })
            .add_systems(Startup, move |mut commands: Commands| spawn_text(&mut commands, color))
            .add_systems(PostStartup, move |args: Res<Args>, mut commands: Commands| {
                if args.panel {
                    panel::spawn_help(&mut commands, &args, KEYS, color.with_alpha(0.75));
                }
            })
            .add_systems(Update, (keys.run_if(panel::keys_are_free), write_text));
    }
}

/// The keys in a line.
const KEYS: &str = "drag, throw   Space pause   . step   R restart   L lines";

/// Builds bodies while the clock is held; a camera for what is written on the screen.
pub struct BuildPlugin {
    /// How many bodies must be built before the run begins.
    pub bodies: usize,
}

impl Plugin for BuildPlugin {
    fn build(&self, app: &mut App) {
        let wanted = self.bodies;
        app.init_resource::<BuiltBodies>()
            .add_observer(|_: On<BodyBuilt>, mut built: ResMut<BuiltBodies>| built.0 += 1)
            .add_observer(|failed: On<BodyFailed>, mut exit: MessageWriter<AppExit>| {
                super::say(&format!("{} cannot be built: {}", failed.entity, failed.error));
                exit.write(AppExit::from_code(1));
            })
            // The clock stands, so that this builds and compiles without a tick.
            .add_systems(Held, |world: &mut World| world.run_schedule(PliantSchedule))
            .add_systems(
                Update,
                (
                    move |built: Res<BuiltBodies>, mut ready: ResMut<Ready>| {
                        ready.0 = built.0 >= wanted;
                    },
                    choose_ui_camera,
                ),
            );
    }
}

#[derive(Resource, Default)]
struct BuiltBodies(usize);

#[derive(Component)]
struct Readout;

fn spawn_text(commands: &mut Commands, color: Color) {
    commands.spawn((
        Readout,
        Text::default(),
        TextColor(color),
        TextFont { font_size: FontSize::Px(16.0), ..default() },
        Node {
            position_type: PositionType::Absolute,
            left: Val::Px(18.0),
            top: Val::Px(14.0),
            ..default()
        },
        Pickable::IGNORE,
    ));
}

fn choose_ui_camera(
    cameras: Query<Entity, (Added<Camera>, Without<PrimaryEguiContext>)>,
    mut commands: Commands,
) {
    for camera in cameras.iter().take(1) {
        commands.entity(camera).insert(IsDefaultUiCamera);
    }
}

fn write_text(
    clock: Res<SolverClock>,
    diagnostics: Res<SolverDiagnostics>,
    control: Res<SolverControl>,
    inspector: Option<Res<Inspector>>,
    mut texts: Query<(&mut Text, &mut Visibility), With<Readout>>,
) {
    // The panel shows the same.
    let hidden = inspector.is_some_and(|inspector| inspector.open);
    for (mut text, mut visibility) in &mut texts {
        *visibility = if hidden { Visibility::Hidden } else { Visibility::Inherited };
        let state = if control.paused { "paused" } else { "" };
        text.0 = format!(
            "time         {:.2} s  {state}\ntick         {:.2} ms\nparticles    {}\nconstraints  {}",
            clock.elapsed,
            diagnostics.smooth_tick_ms,
            diagnostics.particles,
            diagnostics.constraints,
        );
    }
}

fn keys(
    keys: Res<ButtonInput<KeyCode>>,
    mut control: ResMut<SolverControl>,
    mut store: ResMut<GizmoConfigStore>,
    bodies: Query<Entity, With<Particles>>,
    mut commands: Commands,
) {
    if keys.just_pressed(KeyCode::Space) {
        control.paused = !control.paused;
    }
    if keys.just_pressed(KeyCode::Period) {
        control.step();
    }
    if keys.just_pressed(KeyCode::KeyR) {
        bodies.iter().for_each(|entity| commands.trigger(Rebuild { entity }));
    }
    if keys.just_pressed(KeyCode::KeyL) {
        let shown = store.config::<ConstraintGizmos>().0.enabled;
        store.config_mut::<ConstraintGizmos>().0.enabled = !shown;
        store.config_mut::<ParticleGizmos>().0.enabled = !shown;
    }
}

/// Reads the report's numbers off the solver.
pub fn measure(world: &mut World) -> Measures {
    let hash = state_hash(world);
    let mut particles = world.query::<&Particle>();
    let energy = |p: &Particle| 0.5 * f64::from(p.mass) * f64::from(p.velocity.length_squared());
    let kinetic_energy_j = particles.iter(world).map(energy).sum();
    let finite = particles.iter(world).all(|p| p.position.is_finite() && p.velocity.is_finite());
    let max_stretch = max_stretch(world);
    let diagnostics = world.resource::<SolverDiagnostics>();
    Measures {
        ticks: world.resource::<SolverClock>().ticks,
        particles: diagnostics.particles,
        constraints: diagnostics.constraints,
        islands: diagnostics.islands,
        ms_per_tick: f64::from(diagnostics.smooth_tick_ms),
        max_stretch,
        kinetic_energy_j,
        hash,
        finite,
    }
}

/// The largest stretch: of a distance, length over rest length; of a joint, 1 + the gap between its anchors
/// over the distance of its bones' centres at rest; of a group, the distance of a member from the first over
/// that at rest.
fn max_stretch(world: &mut World) -> f64 {
    let mut distances = world.query::<&DistanceConstraint>();
    let mut joints = world.query::<&JointConstraint>();
    let mut groups = world.query::<&ShapeMatchingConstraint>();
    let world = &*world;
    let at = |entity| Some(world.get::<Particle>(entity)?.position);
    let place = |entity, anchor: Vec3| {
        Some(at(entity)? + world.get::<OrientedParticle>(entity)?.rotation * anchor)
    };
    let of_distance = |c: &DistanceConstraint| {
        Some(at(c.particles[0])?.distance(at(c.particles[1])?) / c.rest_length)
    };
    let of_joint = |c: &JointConstraint| {
        let [a, b] = c.particles;
        let gap = place(a, c.anchors[0])?.distance(place(b, c.anchors[1])?);
        let rest = (c.anchors[0] - c.rest_rotation * c.anchors[1]).length();
        Some(1.0 + gap / rest.max(1e-3))
    };
    let of_group = |c: &ShapeMatchingConstraint| {
        let (first, others) = c.members.split_first()?;
        let stretch = |member: &GroupMember| {
            let rest = member.position.distance(first.position).max(1e-3);
            Some(at(member.particle)?.distance(at(first.particle)?) / rest)
        };
        others.iter().filter_map(stretch).reduce(f32::max)
    };
    let stretches = distances.iter(world).filter_map(of_distance);
    let stretches = stretches.chain(joints.iter(world).filter_map(of_joint));
    let stretches = stretches.chain(groups.iter(world).filter_map(of_group));
    f64::from(stretches.fold(0.0, f32::max))
}
