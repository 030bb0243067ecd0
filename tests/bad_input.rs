//! Nonsense in every public constructor, field and event: an error or a documented clamp, never a
//! panic, a hang, or a state that is neither finite nor frozen with a fault.

mod common;

use bevy::prelude::*;
use bevy_pliant::{
    constraint::clamp_compliance,
    obstacle::{ObstacleShape, Part, TriangleMesh},
    particle::{BuildOrder, ParticleIndex, RestPose, SolverState},
    prelude::*,
    solver::{DrawnPose, Faulty},
};
use common::{app, app_with, tick};
use proptest::{collection::vec, prelude::*};

/// Values that break things, and some that do not.
fn number() -> impl Strategy<Value = f32> {
    prop_oneof![
        4 => -3.0f32..3.0,
        2 => 0.001f32..1.0,
        1 => Just(0.0),
        1 => Just(-0.0),
        1 => Just(f32::NAN),
        1 => Just(f32::INFINITY),
        1 => Just(f32::NEG_INFINITY),
        1 => Just(f32::MAX),
        1 => Just(f32::MIN),
        1 => Just(f32::MIN_POSITIVE),
        1 => Just(1e-44f32),
        1 => Just(1e20f32),
        1 => Just(-1e10f32),
        1 => Just(1e-20f32),
    ]
}

/// A number that makes sense three times out of four, so that recipes get as far as building.
fn mostly(good: f32) -> impl Strategy<Value = f32> {
    prop_oneof![3 => Just(good), 1 => number()]
}

fn vector() -> impl Strategy<Value = Vec3> {
    prop_oneof![
        1 => (number(), number(), number()).prop_map(Vec3::from),
        2 => (-3.0f32..3.0, -3.0f32..3.0, -3.0f32..3.0).prop_map(Vec3::from),
    ]
}

fn quaternion() -> impl Strategy<Value = Quat> {
    prop_oneof![
        1 => (vector(), number()).prop_map(|(v, w)| Quat::from_xyzw(v.x, v.y, v.z, w)),
        2 => Just(Quat::IDENTITY),
    ]
}

fn transform() -> impl Strategy<Value = Transform> {
    let scale = prop_oneof![3 => Just(Vec3::ONE), 1 => vector()];
    (vector(), quaternion(), scale).prop_map(|(translation, rotation, scale)| Transform {
        translation,
        rotation,
        scale,
    })
}

/// A number of particles: small, or more than a body may have.
fn count() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 2u32..6, 1 => Just(0), 1 => Just(1), 1 => Just(u32::MAX), 1 => Just(1 << 31)]
}

fn friction() -> impl Strategy<Value = Friction> {
    (mostly(0.5), mostly(0.5)).prop_map(|(fixed, sliding)| Friction { fixed, sliding })
}

fn option(value: impl Strategy<Value = f32>) -> impl Strategy<Value = Option<f32>> {
    (any::<bool>(), value).prop_map(|(some, value)| some.then_some(value))
}

fn cloth() -> impl Strategy<Value = Cloth> {
    let pins = prop_oneof![
        Just(ClothPins::None),
        Just(ClothPins::TopLeft),
        Just(ClothPins::TopCorners),
        Just(ClothPins::Corners),
        Just(ClothPins::TopEdge),
        vec(prop_oneof![0u32..20, Just(u32::MAX)], 0..4).prop_map(ClothPins::Indices),
        number().prop_map(ClothPins::Top),
        number().prop_map(ClothPins::VertexColor),
        number().prop_map(|least| ClothPins::where_(move |at| at.x > least)),
    ];
    let topology = prop_oneof![Just(ClothTopology::Diagonals), Just(ClothTopology::Bending)];
    let mass = (0..3, mostly(0.2)).prop_map(|(kind, value)| match kind {
        0 => ClothMass::PerArea(value),
        1 => ClothMass::Total(value),
        _ => ClothMass::PerParticle(value),
    });
    let numbers = (mostly(0.1), mostly(0.0), mostly(1e4), mostly(0.02), mostly(0.02));
    let rest = (option(mostly(0.1)), friction(), any::<bool>());
    (count(), count(), pins, topology, mass, numbers, rest).prop_map(
        |(x, y, pins, topology, mass, (spacing, compliance, bending, thick, slack), rest)| Cloth {
            pins,
            mass,
            compliance,
            bending_compliance: bending,
            thickness: Some(thick),
            tether_slack: slack,
            damping: rest.0,
            friction: rest.1,
            tethers: rest.2,
            ..Cloth::of(ClothShape::Grid { size: UVec2::new(x, y), spacing, topology })
        },
    )
}

fn rope() -> impl Strategy<Value = Rope> {
    let pins = prop_oneof![
        Just(RopePins::None),
        Just(RopePins::Start),
        Just(RopePins::Ends),
        vec(prop_oneof![0u32..8, Just(u32::MAX)], 0..4).prop_map(RopePins::Indices),
    ];
    let numbers = (mostly(1.0), mostly(0.1), mostly(0.0), mostly(0.02), mostly(0.02));
    (count(), pins, numbers, (option(mostly(0.1)), friction(), any::<bool>())).prop_map(
        |(count, pins, (length, mass, compliance, thickness, slack), rest)| Rope {
            pins,
            mass_per_length: mass,
            compliance,
            thickness: Some(thickness),
            tether_slack: slack,
            damping: rest.0,
            friction: rest.1,
            tethers: rest.2,
            ..Rope::new(length, count)
        },
    )
}

fn particle() -> impl Strategy<Value = Particle> {
    (vector(), vector(), mostly(1.0)).prop_map(|(position, velocity, mass)| Particle {
        position,
        velocity,
        mass,
    })
}

fn oriented() -> impl Strategy<Value = OrientedParticle> {
    (quaternion(), vector(), vector()).prop_map(|(rotation, angular_velocity, radii)| {
        OrientedParticle { rotation, angular_velocity, radii }
    })
}

fn settings() -> impl Strategy<Value = SolverSettings> {
    let counts = (
        prop_oneof![4 => 1u32..20, 1 => Just(0), 1 => Just(u32::MAX)],
        prop_oneof![6 => 1u32..3, 1 => Just(0)],
        prop_oneof![3 => Just(usize::MAX), 1 => Just(0), 1 => Just(2)],
        prop_oneof![6 => Just(8u32), 1 => Just(0), 1 => Just(u32::MAX)],
    );
    let damping = (mostly(0.1), mostly(1.0));
    (counts, vector(), damping, [mostly(0.01), mostly(1.0)], any::<[bool; 2]>()).prop_map(
        |(
            (substeps, iterations, max_tasks, ticks),
            gravity,
            (damping, relative),
            [radius, unit],
            flags,
        )| {
            SolverSettings {
                substeps,
                iterations,
                gravity,
                damping,
                relative_damping: relative,
                order: if flags[0] {
                    ProjectionOrder::Sequential
                } else {
                    ProjectionOrder::Colored
                },
                max_tasks,
                max_ticks_per_frame: ticks,
                sleeping: flags[1],
                particle_radius: radius,
                length_unit: unit,
            }
        },
    )
}

/// Something that a game might do to the world. Numbers stand for entities, taken modulo how many
/// there are, dead ones included.
#[derive(Debug, Clone)]
enum Act {
    Cloth(Cloth, Transform),
    Rope(Rope, Transform),
    ChangeCloth(usize, Cloth),
    ChangeRope(usize, Rope),
    Particle(Particle),
    Oriented(Particle, OrientedParticle),
    WriteParticle(usize, Particle),
    WriteOriented(usize, OrientedParticle),
    Adopt(usize, usize, u32),
    Distance([usize; 2], [f32; 3], bool),
    Bending([usize; 4], [f32; 3]),
    Tether([usize; 2], [f32; 2]),
    Attach([usize; 2], Option<Vec3>, [f32; 4]),
    Obstacle(Transform, Friction, f32),
    Place(usize, Transform),
    Pin(usize, Option<(usize, Vec3)>),
    Unpin(usize),
    Planar(usize),
    Despawn(usize),
    Rebuild(usize),
    Teleport(usize, Transform),
    Impulse(usize, Vec3),
    AngularImpulse(usize, Vec3),
    Explosion(Vec3, f32, f32),
    Force(usize, Vec3, Vec3),
    Body(usize, Option<Vec3>, [Option<f32>; 2], Friction),
    Settings(SolverSettings),
    Settle(usize),
    Order(usize, u64),
    State(usize, Vec3, Vec3, u32),
    Revive(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let thing = || 0usize..64;
    let three = || [mostly(0.1), mostly(0.0), mostly(0.0)];
    let bodies = prop_oneof![
        (cloth(), transform()).prop_map(|(c, t)| Act::Cloth(c, t)),
        (rope(), transform()).prop_map(|(r, t)| Act::Rope(r, t)),
        (thing(), cloth()).prop_map(|(e, c)| Act::ChangeCloth(e, c)),
        (thing(), rope()).prop_map(|(e, r)| Act::ChangeRope(e, r)),
        (thing(), transform()).prop_map(|(e, t)| Act::Place(e, t)),
        thing().prop_map(Act::Rebuild),
        (thing(), transform()).prop_map(|(e, t)| Act::Teleport(e, t)),
        thing().prop_map(Act::Planar),
        thing().prop_map(Act::Settle),
        thing().prop_map(Act::Revive),
        thing().prop_map(Act::Despawn),
        settings().prop_map(Act::Settings),
    ];
    let particles = prop_oneof![
        particle().prop_map(Act::Particle),
        (particle(), oriented()).prop_map(|(p, o)| Act::Oriented(p, o)),
        (thing(), particle()).prop_map(|(e, p)| Act::WriteParticle(e, p)),
        (thing(), oriented()).prop_map(|(e, o)| Act::WriteOriented(e, o)),
        (thing(), thing(), prop_oneof![0u32..30, Just(u32::MAX)])
            .prop_map(|(e, b, i)| Act::Adopt(e, b, i)),
        (thing(), prop_oneof![0u64..9, Just(u64::MAX)]).prop_map(|(e, o)| Act::Order(e, o)),
        (thing(), vector(), vector(), any::<u32>()).prop_map(|(e, a, b, n)| Act::State(e, a, b, n)),
        (thing(), (any::<bool>(), thing(), vector()))
            .prop_map(|(e, (to, a, v))| Act::Pin(e, to.then_some((a, v)))),
        thing().prop_map(Act::Unpin),
    ];
    let constraints = prop_oneof![
        ([thing(), thing()], three(), any::<bool>()).prop_map(|(e, v, t)| Act::Distance(e, v, t)),
        ([thing(), thing(), thing(), thing()], three()).prop_map(|(e, v)| Act::Bending(e, v)),
        ([thing(), thing()], [mostly(0.5), mostly(0.0)]).prop_map(|(e, v)| Act::Tether(e, v)),
        (
            [thing(), thing()],
            (any::<bool>(), vector()),
            [mostly(0.0), mostly(0.0), mostly(f32::INFINITY), mostly(f32::INFINITY)]
        )
            .prop_map(|(e, (at, v), n)| Act::Attach(e, at.then_some(v), n)),
        (transform(), friction(), mostly(0.0)).prop_map(|(t, f, r)| Act::Obstacle(t, f, r)),
    ];
    let forces = prop_oneof![
        (thing(), vector()).prop_map(|(e, v)| Act::Impulse(e, v)),
        (thing(), vector()).prop_map(|(e, v)| Act::AngularImpulse(e, v)),
        (vector(), number(), number()).prop_map(|(c, r, i)| Act::Explosion(c, r, i)),
        (thing(), vector(), vector()).prop_map(|(e, f, a)| Act::Force(e, f, a)),
        (thing(), any::<bool>(), vector(), [option(number()), option(number())], friction())
            .prop_map(|(e, g, v, o, f)| Act::Body(e, g.then_some(v), o, f)),
    ];
    prop_oneof![3 => bodies, 3 => particles, 3 => constraints, 2 => forces]
}

/// Does it, and lists what was spawned.
fn perform(app: &mut App, act: Act, things: &mut Vec<Entity>) {
    let world = app.world_mut();
    let at = |index: usize, things: &[Entity]| things[index % things.len()];
    let spawned = match act {
        Act::Cloth(cloth, at) => Some(world.spawn((cloth, at)).id()),
        Act::Rope(rope, at) => Some(world.spawn((rope, at)).id()),
        Act::Particle(particle) => Some(world.spawn(particle).id()),
        Act::Oriented(particle, oriented) => Some(world.spawn((particle, oriented)).id()),
        Act::Obstacle(at, friction, restitution) => {
            let obstacle = Obstacle::HALF_SPACE.with_friction(friction);
            Some(world.spawn((obstacle.with_restitution(restitution), at)).id())
        }
        Act::Distance(e, [rest, compliance, damping], tension) => {
            let constraint = DistanceConstraint::new(e.map(|e| at(e, things)), rest)
                .with_compliance(compliance)
                .with_damping(damping);
            let constraint = if tension { constraint.tension_only() } else { constraint };
            Some(world.spawn(constraint).id())
        }
        Act::Bending(e, [angle, compliance, damping]) => {
            let particles = e.map(|e| at(e, things));
            let constraint =
                BendingConstraint { damping, ..BendingConstraint::new(particles, angle) };
            Some(world.spawn(constraint.with_compliance(compliance)).id())
        }
        Act::Tether(e, [length, compliance]) => {
            let [x, a] = e.map(|e| at(e, things));
            Some(
                world
                    .spawn(TetherConstraint { compliance, ..TetherConstraint::new(x, a, length) })
                    .id(),
            )
        }
        Act::Attach(e, offset, [compliance, damping, most, breaks]) => {
            let [x, a] = e.map(|e| at(e, things));
            let attachment = Attachment::new(x, a)
                .with_compliance(compliance)
                .with_damping(damping)
                .with_max_force(most)
                .with_break_force(breaks);
            Some(world.spawn(Attachment { offset, ..attachment }).id())
        }
        Act::Settings(settings) => {
            world.insert_resource(settings);
            None
        }
        Act::Explosion(centre, radius, impulse) => {
            world.trigger(ApplyRadialImpulse { centre, radius, impulse });
            None
        }
        Act::Rebuild(e) => {
            world.trigger(Rebuild { entity: at(e, things) });
            None
        }
        Act::Teleport(e, to) => {
            world.trigger(Teleport { entity: at(e, things), to });
            None
        }
        Act::Impulse(e, impulse) => {
            world.trigger(ApplyImpulse { entity: at(e, things), impulse });
            None
        }
        Act::AngularImpulse(e, impulse) => {
            world.trigger(ApplyAngularImpulse { entity: at(e, things), impulse });
            None
        }
        Act::Despawn(e) => {
            if let Ok(entity) = world.get_entity_mut(at(e, things)) {
                entity.despawn();
            }
            None
        }
        other => {
            change(world, other, things);
            None
        }
    };
    things.extend(spawned);
}

/// Changes one entity, where it is alive.
fn change(world: &mut World, act: Act, things: &[Entity]) {
    let at = |index: usize| things[index % things.len()];
    let (target, insert): (Entity, Box<dyn FnOnce(&mut EntityWorldMut)>) = match act {
        Act::ChangeCloth(e, cloth) => (
            at(e),
            Box::new(move |t| {
                if let Some(mut old) = t.get_mut::<Cloth>() {
                    *old = cloth;
                }
            }),
        ),
        Act::ChangeRope(e, rope) => (
            at(e),
            Box::new(move |t| {
                if let Some(mut old) = t.get_mut::<Rope>() {
                    *old = rope;
                }
            }),
        ),
        Act::WriteParticle(e, particle) => (
            at(e),
            Box::new(move |t| {
                if let Some(mut old) = t.get_mut::<Particle>() {
                    *old = particle;
                }
            }),
        ),
        Act::WriteOriented(e, oriented) => (
            at(e),
            Box::new(move |t| {
                if let Some(mut old) = t.get_mut::<OrientedParticle>() {
                    *old = oriented;
                }
            }),
        ),
        Act::Adopt(e, body, index) => {
            let body = at(body);
            (
                at(e),
                Box::new(move |t| {
                    if t.id() != body {
                        t.insert((ParticleOf(body), ParticleIndex(index)));
                    }
                }),
            )
        }
        Act::Place(e, to) => (
            at(e),
            Box::new(move |t| {
                t.insert(to);
            }),
        ),
        Act::Pin(e, None) => (
            at(e),
            Box::new(|t| {
                t.insert(Pinned);
            }),
        ),
        Act::Pin(e, Some((a, offset))) => {
            let anchor = at(a);
            (
                at(e),
                Box::new(move |t| {
                    t.insert(PinnedTo { anchor, offset });
                }),
            )
        }
        Act::Unpin(e) => (
            at(e),
            Box::new(|t| {
                t.remove::<(Pinned, PinnedTo)>();
            }),
        ),
        Act::Planar(e) => (
            at(e),
            Box::new(|t| {
                t.insert(Planar);
            }),
        ),
        Act::Settle(e) => (
            at(e),
            Box::new(|t| {
                t.insert(Settle(20));
            }),
        ),
        Act::Revive(e) => (
            at(e),
            Box::new(|t| {
                t.remove::<Faulty>();
            }),
        ),
        Act::Force(e, force, acceleration) => (
            at(e),
            Box::new(move |t| {
                t.insert(AppliedForce { force, acceleration });
            }),
        ),
        Act::Body(e, gravity, [damping, radius], friction) => {
            // Contact comes with a radius or a damping of its own, so that it is drawn as often as they are.
            let (self_contact, soft_contact) = (radius.is_some(), damping.is_some());
            let settings = BodySettings {
                gravity,
                damping,
                radius,
                friction,
                self_contact,
                soft_contact,
                ..default()
            };
            (
                at(e),
                Box::new(move |t| {
                    t.insert(settings);
                }),
            )
        }
        Act::Order(e, order) => (
            at(e),
            Box::new(move |t| {
                t.insert(BuildOrder(order));
            }),
        ),
        Act::State(e, remainder, still, ticks) => (
            at(e),
            Box::new(move |t| {
                if let Some(mut state) = t.get_mut::<SolverState>() {
                    state.remainder = remainder;
                    state.still_position = still;
                    state.still_ticks = ticks;
                }
                t.insert(RestPose { position: still, ..default() });
            }),
        ),
        _ => return,
    };
    if let Ok(mut target) = world.get_entity_mut(target) {
        insert(&mut target);
    }
}

/// Every particle is finite, or told of as faulty.
fn check(app: &mut App) -> Result<(), TestCaseError> {
    let mut query = app.world_mut().query::<(
        Entity,
        &Particle,
        Option<&OrientedParticle>,
        Option<&ParticleOf>,
        Has<Faulty>,
    )>();
    let world = app.world();
    for (entity, particle, oriented, body, faulty) in query.iter(world) {
        let finite = particle.position.is_finite()
            && particle.velocity.is_finite()
            && oriented.is_none_or(|o| o.rotation.is_finite() && o.angular_velocity.is_finite());
        let told = faulty || body.is_some_and(|b| world.get::<Faulty>(b.0).is_some());
        prop_assert!(finite || told, "{entity} {particle:?} {oriented:?}");
    }
    let mut drawn = app.world_mut().query::<&DrawnPose>();
    for pose in drawn.iter(app.world()) {
        for (position, present) in pose.positions.iter().zip(&pose.present) {
            prop_assert!(!present || position.is_finite(), "drawn at {position}");
        }
    }
    Ok(())
}

/// Any triangles: slivers, faces on one another, missing and infinite vertices.
fn triangles() -> impl Strategy<Value = ObstacleShape> {
    let vertex = prop_oneof![
        6 => (-2.0f32..2.0, -0.3f32..0.3, -2.0f32..2.0).prop_map(Vec3::from),
        1 => (-2.0f32..2.0, 1e-30f32..1e-3).prop_map(|(x, thin)| Vec3::new(x, thin, thin)),
        1 => vector(),
    ];
    let corner = || prop_oneof![12 => 0u32..12, 1 => any::<u32>()];
    let triangle = [corner(), corner(), corner()];
    (vec(vertex, 3..12), vec(triangle, 1..16), any::<bool>()).prop_map(
        |(vertices, triangles, solid)| {
            let mesh = TriangleMesh::new(&vertices, &triangles).unwrap_or_default();
            ObstacleShape::Mesh(if solid { mesh.solid() } else { mesh })
        },
    )
}

/// Every shape, its numbers good or bad, compounds within compounds.
fn shape() -> impl Strategy<Value = ObstacleShape> {
    let size = || mostly(0.5);
    let corner = prop_oneof![
        4 => (-1.0f32..1.0, -1.0f32..1.0).prop_map(Vec2::from),
        1 => (number(), number()).prop_map(Vec2::from),
    ];
    let corners = prop_oneof![
        1 => vec(corner, 0..8),
        1 => Just([[-1.0, -0.2], [1.0, -0.2], [0.8, 0.3]].map(Vec2::from).to_vec()),
    ];
    let simple = prop_oneof![
        1 => Just(ObstacleShape::HalfSpace),
        1 => size().prop_map(|radius| ObstacleShape::Sphere { radius }),
        1 => (vector(), vector(), size())
            .prop_map(|(start, end, radius)| ObstacleShape::Capsule { start, end, radius }),
        1 => (size(), mostly(0.01), size())
            .prop_map(|half| ObstacleShape::Cuboid { half_size: half.into() }),
        1 => (size(), size())
            .prop_map(|(radius, half_height)| ObstacleShape::Cylinder { radius, half_height }),
        1 => (size(), size()).prop_map(|(radius, height)| ObstacleShape::Cone { radius, height }),
        1 => corners.prop_map(|corners| ObstacleShape::Polygon { corners }),
        3 => triangles(),
    ];
    simple.prop_recursive(3, 12, 4, |inner| {
        let part = (inner, transform()).prop_map(|(shape, place)| Part { shape, place });
        vec(part, 0..4).prop_map(ObstacleShape::Compound)
    })
}

fn layers() -> impl Strategy<Value = ContactLayers> {
    prop_oneof![
        5 => Just(ContactLayers::ALL),
        1 => (any::<u32>(), any::<u32>()).prop_map(|(a, b)| ContactLayers::new(a, b)),
    ]
}

/// Where an obstacle is: near the origin, or anywhere; of any scale.
fn place() -> impl Strategy<Value = Transform> {
    let scale = prop_oneof![
        4 => Just(Vec3::ONE),
        1 => Just(Vec3::new(-1.0, 1.0, 1.0)),
        1 => Just(Vec3::new(1.0, 0.0, 1.0)),
        1 => vector(),
    ];
    let near = (-0.5f32..0.5, -0.5f32..0.5, -0.5f32..0.5).prop_map(Vec3::from);
    let at = prop_oneof![4 => near, 1 => vector()];
    (at, quaternion(), scale).prop_map(|(translation, rotation, scale)| Transform {
        translation,
        rotation,
        scale,
    })
}

fn obstacle() -> impl Strategy<Value = Obstacle> {
    let sensor = prop_oneof![4 => Just(false), 1 => Just(true)];
    (shape(), friction(), mostly(0.3), layers(), sensor).prop_map(
        |(shape, friction, restitution, layers, sensor)| Obstacle {
            shape,
            friction,
            restitution,
            layers,
            sensor,
        },
    )
}

/// What happens to an obstacle before a tick.
#[derive(Debug, Clone)]
enum Change {
    Move(Transform),
    Turn(Quat),
    Reshape(Obstacle),
    Despawn,
}

fn change_of_obstacle() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => place().prop_map(Change::Move),
        2 => quaternion().prop_map(Change::Turn),
        1 => obstacle().prop_map(Change::Reshape),
        1 => Just(Change::Despawn),
    ]
}

proptest! {
    #![proptest_config(common::draws(300))]

    /// Worlds of up to 40 acts each.
    #[test]
    fn no_act_of_a_game_panics_hangs_or_leaves_nonsense_untold(
        acts in vec(act(), 20..40),
        rests in vec(0u32..3, 40),
    ) {
        let started = std::time::Instant::now();
        let mut app = app();
        // The first update has no length.
        app.update();
        let mut things = vec![app.world_mut().spawn(Transform::IDENTITY).id()];
        for (act, rest) in acts.into_iter().zip(rests) {
            perform(&mut app, act, &mut things);
            for _ in 0..rest {
                app.update();
            }
            // What the recipes made are things too.
            if things.len() < 64 {
                let mut query = app.world_mut().query_filtered::<Entity, With<BuildOrder>>();
                let new: Vec<Entity> =
                    query.iter(app.world()).filter(|e| !things.contains(e)).take(4).collect();
                things.extend(new);
            }
            if rest > 0 {
                check(&mut app)?;
            }
        }
        for _ in 0..3 {
            app.update();
        }
        check(&mut app)?;
        prop_assert!(started.elapsed().as_secs() < 20, "hangs");
    }

    /// Any obstacles below and within what falls on them.
    #[test]
    fn no_obstacle_makes_what_falls_on_it_panic_or_not_finite(
        obstacles in vec((obstacle(), place()), 1..6),
        changes in vec((0usize..6, change_of_obstacle()), 10),
        height in 0.0f32..0.6,
        speed in mostly(3.0),
    ) {
        let mut app = app();
        let world = app.world_mut();
        let obstacles: Vec<Entity> = obstacles.into_iter().map(|of| world.spawn(of).id()).collect();
        let lying = Transform::from_xyz(0.0, height, 0.2)
            .with_rotation(Quat::from_rotation_x(core::f32::consts::FRAC_PI_2));
        world.spawn((Cloth::grid(UVec2::splat(6), 0.1), lying));
        world.spawn((Rope::new(1.0, 6), Transform::from_xyz(0.3, height + 0.3, 0.0)));
        tick(&mut app, 1);
        let speed = if speed.is_finite() { speed.clamp(0.0, 1e3) } else { 30.0 };
        for (entity, _) in common::all_particles(&mut app) {
            app.world_mut().get_mut::<Particle>(entity).unwrap().velocity = Vec3::NEG_Y * speed;
        }
        for (which, change) in changes {
            if let Ok(mut obstacle) = app.world_mut().get_entity_mut(obstacles[which % obstacles.len()]) {
                match change {
                    Change::Move(to) => { obstacle.insert(to); }
                    Change::Turn(by) => obstacle.get_mut::<Transform>().unwrap().rotation = by,
                    Change::Reshape(to) => { obstacle.insert(to); }
                    Change::Despawn => obstacle.despawn(),
                }
            }
            tick(&mut app, 1);
            prop_assert!(common::all_finite(&mut app));
            check(&mut app)?;
        }
    }

    /// Recipes alone, more of them: built or refused, and what is built weighs something.
    #[test]
    fn a_recipe_is_built_or_refused(cloths in vec((cloth(), transform()), 10), ropes in vec((rope(), transform()), 10)) {
        #[derive(Resource, Default)]
        struct Told(Vec<Entity>, Vec<Entity>);
        let mut app = app();
        app.init_resource::<Told>()
            .add_observer(|e: On<BodyBuilt>, mut told: ResMut<Told>| told.0.push(e.entity))
            .add_observer(|e: On<BodyFailed>, mut told: ResMut<Told>| {
                assert!(e.error.to_string().len() > 20, "says what is wrong");
                told.1.push(e.entity);
            });
        let mut bodies = Vec::new();
        for (cloth, at) in cloths {
            let valid = cloth.validate().is_ok();
            bodies.push((app.world_mut().spawn((cloth, at)).id(), valid));
        }
        for (rope, at) in ropes {
            let valid = rope.validate().is_ok();
            bodies.push((app.world_mut().spawn((rope, at)).id(), valid));
        }
        tick(&mut app, 2);
        check(&mut app)?;
        let told = app.world().resource::<Told>();
        for (body, valid) in bodies {
            let (built, failed) = (told.0.contains(&body), told.1.contains(&body));
            prop_assert!(built != failed, "{body} neither built nor refused, or both");
            prop_assert!(valid || failed, "invalid and yet built");
            if built {
                for e in common::particles(&app, body) {
                    let p = common::particle(&app, e);
                    prop_assert!(p.inverse_mass() > 0.0, "built with {p:?}");
                }
            }
        }
    }

    /// Small functions that take any number.
    #[test]
    fn clamps_give_numbers(value in number(), at in vector(), unit in number()) {
        prop_assert!(clamp_compliance(value).is_finite() && clamp_compliance(value) >= 0.0);
        let particle = Particle::at(at).with_mass(value);
        prop_assert!(particle.inverse_mass().is_finite() && particle.inverse_mass() >= 0.0);
        let settings = SolverSettings::with_length_unit(unit);
        prop_assert!(settings.gravity.is_finite());
        prop_assert!(settings.particle_radius >= 0.0);
        let friction = Friction::new(value).combine(Friction::new(unit));
        prop_assert!(friction.fixed.is_finite() && friction.fixed >= 0.0);
    }
}

#[test]
fn too_many_substeps_or_iterations_are_clamped() {
    for settings in [
        SolverSettings { substeps: u32::MAX, ..default() },
        SolverSettings { substeps: 1, iterations: u32::MAX, ..default() },
        SolverSettings { substeps: 0, iterations: 0, max_tasks: 0, ..default() },
    ] {
        let mut app = app_with(settings);
        let rope = app.world_mut().spawn(Rope::new(1.0, 5).pinned(RopePins::Start)).id();
        tick(&mut app, 3);
        assert!(common::all_finite(&mut app));
        assert!(common::positions(&app, rope)[4].y < -0.9);
    }
}

#[test]
fn a_very_fast_or_very_far_particle_is_finite_or_told() {
    for (position, velocity) in [
        (Vec3::splat(1e38), Vec3::ZERO),
        (Vec3::ZERO, Vec3::splat(f32::MAX)),
        (Vec3::splat(f32::MAX), Vec3::splat(f32::MAX)),
        (Vec3::splat(1e19), Vec3::splat(-1e19)),
    ] {
        let mut app = app();
        let world = app.world_mut();
        let [a, b] = [position, -position]
            .map(|p| world.spawn(Particle::at(p).with_velocity(velocity)).id());
        world.spawn(DistanceConstraint::new([a, b], 1.0));
        world.spawn((Obstacle::HALF_SPACE, Transform::default()));
        tick(&mut app, 20);
        for e in [a, b] {
            let p = common::particle(&app, e);
            let told = app.world().get::<Faulty>(e).is_some();
            assert!(told || (p.position.is_finite() && p.velocity.is_finite()), "{p:?}");
        }
    }
}
