//! One constraint of each form, added from outside the crate with the public API alone.

mod common;

use bevy::{math::Vec4, prelude::*};
use bevy_pliant::{
    constraint::{
        Constraint, DynamicConstraint, DynamicForm, DynamicParticles, Evaluation, GroupConstraint,
        GroupForm, GroupParticles, LaneConstraint, LaneForm, LaneSettings, Outcome, Sides,
    },
    math::lane::{Vec3x4, divide_or_zero, sqrt},
    prelude::*,
    solver::state_hash,
};
use common::{app_with, particle, tick, undamped};

/// Lane form: keeps the area of a triangle.
#[derive(Component, Clone)]
struct Area {
    particles: [Entity; 3],
    area: f32,
    compliance: f32,
}

impl Constraint for Area {
    type Form = LaneForm<3>;
}

impl LaneConstraint<3> for Area {
    type Lanes = Vec4;

    fn particles(&self) -> [Entity; 3] {
        self.particles
    }

    fn settings(&self) -> LaneSettings {
        LaneSettings { compliance: self.compliance, damping: 0.0, sides: Sides::Both }
    }

    fn is_valid(&self) -> bool {
        self.area >= 0.0 && self.area.is_finite()
    }

    fn pack(four: [Option<&Self>; 4]) -> Vec4 {
        Vec4::from_array(four.map(|c| c.map_or(0.0, |c| c.area)))
    }

    fn evaluate(area: &Vec4, x: &[Vec3x4; 3]) -> Evaluation<3> {
        let (a, b) = (x[1] - x[0], x[2] - x[0]);
        let normal = a.cross(b);
        let length = sqrt(normal.length_squared());
        let half = Vec4::splat(0.5);
        let unit = normal * divide_or_zero(half, length);
        let (g1, g2) = (b.cross(unit), unit.cross(a));
        Evaluation { value: half * length - *area, gradients: [-(g1 + g2), g1, g2] }
    }
}

/// Group form: draws its members toward their mean.
#[derive(Component, Clone)]
struct Flock {
    members: Vec<Entity>,
    strength: f32,
    projections: u32,
}

struct CompiledFlock {
    strength: f32,
    projections: u32,
}

impl Constraint for Flock {
    type Form = GroupForm;
}

impl GroupConstraint for Flock {
    type Compiled = CompiledFlock;

    fn particles(&self) -> Vec<Entity> {
        self.members.clone()
    }

    fn is_valid(&self) -> bool {
        self.strength.is_finite()
    }

    fn compile(&self) -> CompiledFlock {
        CompiledFlock { strength: self.strength, projections: self.projections }
    }

    fn project(compiled: &mut CompiledFlock, particles: &mut GroupParticles<'_>) {
        compiled.projections += 1;
        let count = particles.len() as f32;
        let mean = (0..particles.len()).map(|i| particles.position(i)).sum::<Vec3>() / count;
        for i in 0..particles.len() {
            if particles.weight(i) > 0.0 {
                particles.shift(i, compiled.strength * (mean - particles.position(i)));
            }
        }
    }

    fn store(&mut self, compiled: &CompiledFlock) {
        self.projections = compiled.projections;
    }
}

/// Dynamic form: keeps a particle on a ring about an entity, and snaps when told.
#[derive(Component)]
struct Ring {
    particle: Entity,
    centre: Entity,
    radius: f32,
    snap: bool,
}

#[derive(Event)]
struct Snapped(Entity);

#[derive(Resource, Default)]
struct Snaps(Vec<Entity>);

impl Constraint for Ring {
    type Form = DynamicForm;
}

impl DynamicConstraint for Ring {
    type Compiled = f32;

    fn participants(&self) -> Vec<Entity> {
        vec![self.particle]
    }

    fn anchor(&self) -> Option<Entity> {
        Some(self.centre)
    }

    fn prepare(&mut self, particles: &DynamicParticles<'_>) -> Option<f32> {
        particles.anchor().map(|_| self.radius)
    }

    fn project(radius: &mut f32, particles: &mut DynamicParticles<'_>) {
        let (Some(x), Some(centre)) = (particles.position(0), particles.anchor_point(Vec3::ZERO))
        else {
            return;
        };
        if particles.weight(0) > 0.0 {
            let wanted = centre + (x - centre).normalize_or(Vec3::Y) * *radius;
            particles.shift(0, wanted - x);
        }
    }

    fn finish(&mut self, _: &f32) -> Outcome {
        if self.snap { Outcome::Broken } else { Outcome::Keep }
    }

    fn broken(&self, entity: Entity, commands: &mut Commands) {
        commands.trigger(Snapped(entity));
    }
}

/// No gravity, all three forms registered.
fn app() -> App {
    let mut app = app_with(SolverSettings { gravity: Vec3::ZERO, ..undamped() });
    app.add_constraint::<Area>().add_constraint::<Flock>().add_constraint::<Ring>();
    app
}

fn triangle(app: &mut App) -> [Entity; 3] {
    [Vec3::ZERO, Vec3::X, Vec3::Y].map(|x| app.world_mut().spawn(Particle::at(x)).id())
}

fn area(app: &App, particles: [Entity; 3]) -> f32 {
    let [a, b, c] = particles.map(|e| particle(app, e).position);
    0.5 * (b - a).cross(c - a).length()
}

fn assert_gone(app: &App, entity: Entity) {
    assert!(app.world().get_entity(entity).is_err(), "{entity} is still there");
}

fn count(app: &App, name: &str) -> usize {
    let diagnostics = app.world().resource::<SolverDiagnostics>();
    diagnostics.constraints_by_type.get(name).copied().unwrap_or(0)
}

#[test]
fn a_lane_constraint_from_outside_has_the_gradients_of_the_table() {
    let data = common::golden("constraint_gradients.json");
    let mut checked = 0;
    for case in data["cases"].as_array().unwrap().iter().filter(|c| c["type"] == "triangle_area") {
        let read = |key: &str| -> Vec<Vec3> {
            let rows = case[key].as_array().unwrap().iter().map(common::numbers);
            rows.map(|r| Vec3::new(r[0] as f32, r[1] as f32, r[2] as f32)).collect()
        };
        let (points, gradients) = (read("points"), read("grad"));
        let unused = [Entity::PLACEHOLDER; 3];
        let constraint = Area { particles: unused, area: 0.0, compliance: 0.0 };
        let lanes = Area::pack([Some(&constraint), None, None, None]);
        let x = core::array::from_fn(|i| Vec3x4::new([points[i]; 4]));
        let evaluation = Area::evaluate(&lanes, &x);
        assert!((evaluation.value.x - case["value"].as_f64().unwrap() as f32).abs() < 2e-6);
        for (got, expected) in evaluation.gradients.iter().zip(gradients) {
            assert!(got.lane(0).distance(expected) < 2e-6);
        }
        checked += 1;
    }
    assert!(checked >= 3);
}

#[test]
fn a_lane_constraint_from_outside_acts_follows_changes_and_goes_with_its_particles() {
    let mut app = app();
    let particles = triangle(&mut app);
    let constraint = app.world_mut().spawn(Area { particles, area: 0.8, compliance: 0.0 }).id();
    tick(&mut app, 2);
    assert!((area(&app, particles) - 0.8).abs() < 1e-3, "{}", area(&app, particles));
    assert_eq!(count(&app, "Area"), 1);
    // Velocities left over from the snap would go on: stop them, then change the parameter.
    let stop = |app: &mut App| {
        for e in particles {
            app.world_mut().get_mut::<Particle>(e).unwrap().velocity = Vec3::ZERO;
        }
    };
    stop(&mut app);
    app.world_mut().get_mut::<Area>(constraint).unwrap().area = 0.3;
    tick(&mut app, 2);
    assert!((area(&app, particles) - 0.3).abs() < 1e-3, "{}", area(&app, particles));
    // An invalid parameter rests.
    stop(&mut app);
    app.world_mut().get_mut::<Area>(constraint).unwrap().area = f32::NAN;
    tick(&mut app, 5);
    assert!((area(&app, particles) - 0.3).abs() < 1e-3);
    assert!(common::all_finite(&mut app));
    app.world_mut().get_mut::<Area>(constraint).unwrap().area = 0.5;
    tick(&mut app, 2);
    assert!((area(&app, particles) - 0.5).abs() < 1e-3, "does not come back after a bad value");

    app.world_mut().despawn(particles[1]);
    tick(&mut app, 1);
    assert_gone(&app, constraint);
    assert_eq!(count(&app, "Area"), 0);
}

#[test]
fn a_lane_constraint_may_be_given_other_particles() {
    let mut app = app();
    let (first, second) = (triangle(&mut app), triangle(&mut app));
    let constraint =
        app.world_mut().spawn(Area { particles: first, area: 0.5, compliance: 0.0 }).id();
    tick(&mut app, 2);
    let mut component = app.world_mut().get_mut::<Area>(constraint).unwrap();
    component.particles = second;
    component.area = 0.8;
    tick(&mut app, 2);
    assert!((area(&app, first) - 0.5).abs() < 1e-5);
    assert!((area(&app, second) - 0.8).abs() < 1e-3);
}

#[test]
fn a_constraint_that_named_no_particle_acts_once_it_names_some() {
    let mut app = app();
    let particles = triangle(&mut app);
    let nobody = app.world_mut().spawn_empty().id();
    let [a, b, _] = particles;
    let lost = Area { particles: [a, b, nobody], area: 0.8, compliance: 0.0 };
    let constraint = app.world_mut().spawn(lost).id();
    tick(&mut app, 3);
    assert!((area(&app, particles) - 0.5).abs() < 1e-6, "it rests");
    app.world_mut().get_mut::<Area>(constraint).unwrap().particles = particles;
    tick(&mut app, 2);
    assert!((area(&app, particles) - 0.8).abs() < 1e-3);
}

#[test]
fn despawning_a_constraint_from_outside_ends_its_work() {
    let mut app = app();
    let particles = triangle(&mut app);
    let constraint = app.world_mut().spawn(Area { particles, area: 0.5, compliance: 0.0 }).id();
    let thrown = |app: &mut App| {
        app.world_mut().get_mut::<Particle>(particles[1]).unwrap().velocity = Vec3::X;
        tick(app, 10);
        area(app, particles)
    };
    assert!((thrown(&mut app) - 0.5).abs() < 1e-3);
    app.world_mut().despawn(constraint);
    assert!((thrown(&mut app) - 0.5).abs() > 0.01, "a dead constraint still acts");
}

#[test]
fn a_group_constraint_from_outside_acts_follows_changes_and_goes_with_its_particles() {
    let mut app = app();
    let members: Vec<Entity> = (0..5)
        .map(|i| {
            let x = Vec3::new(i as f32, (i * i) as f32 * 0.1, 300.0);
            app.world_mut().spawn(Particle::at(x)).id()
        })
        .collect();
    let centre = |app: &App| {
        members.iter().map(|e| particle(app, *e).position).sum::<Vec3>() / members.len() as f32
    };
    let spread = |app: &App| {
        let c = centre(app);
        members.iter().map(|e| particle(app, *e).position.distance(c)).fold(0.0, f32::max)
    };
    let flock = Flock { members: members.clone(), strength: 0.0, projections: 0 };
    let flock = app.world_mut().spawn(flock).id();
    let (before, wide) = (centre(&app), spread(&app));
    tick(&mut app, 1);
    assert!((spread(&app) - wide).abs() < 1e-5, "strength 0 must do nothing");
    assert_eq!(app.world().get::<Flock>(flock).unwrap().projections, 16, "store is called");
    app.world_mut().get_mut::<Flock>(flock).unwrap().strength = 1.0;
    tick(&mut app, 1);
    assert!(spread(&app) < 1e-3, "strength 1 gathers all: {}", spread(&app));
    assert!(centre(&app).distance(before) < 1e-3);
    assert_eq!(app.world().get::<Flock>(flock).unwrap().projections, 32, "warm state is kept");

    app.world_mut().despawn(members[4]);
    tick(&mut app, 1);
    assert_gone(&app, flock);
}

#[test]
fn a_dynamic_constraint_from_outside_acts_follows_changes_breaks_and_goes_with_its_particle() {
    let mut app = app();
    app.init_resource::<Snaps>()
        .add_observer(|snapped: On<Snapped>, mut snaps: ResMut<Snaps>| snaps.0.push(snapped.0));
    let world = app.world_mut();
    let centre = world.spawn(Transform::from_xyz(1.0, 2.0, 3.0)).id();
    let at = Vec3::new(1.0, 2.5, 3.0);
    let [bead, other] = [0, 1].map(|_| world.spawn(Particle::at(at)).id());
    let ring = |particle| Ring { particle, centre, radius: 1.0, snap: false };
    let [first, second] = [bead, other].map(|e| world.spawn(ring(e)).id());
    tick(&mut app, 1);
    let distance = |app: &App, e| {
        let c = app.world().get::<Transform>(centre).unwrap().translation;
        particle(app, e).position.distance(c)
    };
    assert!((distance(&app, bead) - 1.0).abs() < 1e-4);
    // It follows its anchor, and its own parameters.
    app.world_mut().get_mut::<Transform>(centre).unwrap().translation += Vec3::X * 0.5;
    app.world_mut().get_mut::<Ring>(first).unwrap().radius = 2.0;
    tick(&mut app, 2);
    assert!((distance(&app, bead) - 2.0).abs() < 1e-4, "{}", distance(&app, bead));
    assert!((distance(&app, other) - 1.0).abs() < 1e-4);
    // It breaks: the event comes once, and the entity goes.
    app.world_mut().get_mut::<Ring>(first).unwrap().snap = true;
    tick(&mut app, 3);
    assert_eq!(app.world().resource::<Snaps>().0, [first]);
    assert_gone(&app, first);
    app.world_mut().despawn(other);
    tick(&mut app, 1);
    assert_gone(&app, second);
}

#[test]
fn a_dynamic_constraint_goes_with_its_anchor() {
    let mut app = app();
    let centre = app.world_mut().spawn(Transform::IDENTITY).id();
    let bead = app.world_mut().spawn(Particle::at(Vec3::Y)).id();
    let ring =
        app.world_mut().spawn(Ring { particle: bead, centre, radius: 1.0, snap: false }).id();
    tick(&mut app, 1);
    app.world_mut().despawn(centre);
    tick(&mut app, 1);
    assert_gone(&app, ring);
}

#[test]
fn registering_twice_changes_nothing() {
    let run = |twice: bool| {
        let mut app = app();
        if twice {
            app.add_constraint::<Area>().add_constraint::<Flock>().add_constraint::<Ring>();
            app.add_constraint::<DistanceConstraint>().add_constraint::<Attachment>();
        }
        let particles = triangle(&mut app);
        let world = app.world_mut();
        world.spawn(Area { particles, area: 0.7, compliance: 0.01 });
        world.spawn(Flock { members: particles.to_vec(), strength: 0.001, projections: 0 });
        let centre = world.spawn(Transform::from_xyz(0.0, 0.0, 1.0)).id();
        world.spawn(Ring { particle: particles[0], centre, radius: 1.5, snap: false });
        world.spawn(DistanceConstraint::new([particles[0], particles[1]], 1.2));
        tick(&mut app, 20);
        let diagnostics = app.world().resource::<SolverDiagnostics>();
        let counts = (count(&app, "Area"), count(&app, "Flock"), diagnostics.constraints);
        (state_hash(app.world_mut()), counts)
    };
    assert_eq!(run(false), run(true));
    assert_eq!(run(false).1, (1, 1, 4));
}
