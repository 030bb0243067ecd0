//! Building: from a recipe to entities.

use super::{
    error::BuildError,
    live::{apply_settings, follow},
    plan::{BodyPlan, Material},
};
use crate::{
    constraint::{
        BendingConstraint, ConstraintOf, Constraints, DistanceConstraint, GroupMember,
        JointConstraint, ShapeMatchingConstraint, TetherConstraint,
    },
    math::pose::Pose,
    particle::{
        BodyLine, BodySurface, BuildOrder, BuiltScale, OrientedParticle, Particle, ParticleIndex,
        ParticleOf, Particles, PinnedTo, RestPose, SolverState, TopologyChanges,
    },
    solver::{DrawnPose, Faulty, TargetPose, current_pose},
};
use bevy::{
    ecs::{
        bundle::NoBundleEffect, component::Mutable, entity_disabling::Disabled, query::Allow,
        system::SystemState,
    },
    prelude::*,
    transform::helper::TransformHelper,
};

/// What a recipe must tell the builder.
pub(crate) trait Recipe: Component<Mutability = Mutable> + Clone + PartialEq {
    /// What it needs from the world beside its own fields: meshes, pictures.
    type Input: Default;
    /// Takes that from the world; `None` while it is not there yet.
    fn input(&self, world: &World, body: Entity) -> Result<Option<Self::Input>, BuildError>;
    /// The same for a live body, as far as its masses need it; `None` while it is not known.
    fn live_input(&self, _world: &World, _body: Entity) -> Option<Self::Input> {
        Some(Self::Input::default())
    }
    /// Remembers on a body what it was built from.
    fn attach(_world: &mut World, _body: Entity, _input: Self::Input) {}
    /// Everything to spawn, for a body of this scale.
    fn plan_from(&self, scale: Vec3, input: &Self::Input) -> Result<BodyPlan, BuildError>;
    /// As much of it as says what the particles weigh.
    fn masses_from(&self, scale: Vec3, input: &Self::Input) -> Result<BodyPlan, BuildError> {
        self.plan_from(scale, input)
    }
    /// The plan of a recipe that needs nothing from the world.
    #[cfg(test)]
    fn plan(&self, scale: Vec3) -> Result<BodyPlan, BuildError> {
        self.plan_from(scale, &Self::Input::default())
    }
    /// Whether the plan is that of `built`, masses apart.
    fn same_shape(&self, built: &Self) -> bool;
    /// Whether the masses are those of `built`.
    fn same_mass(&self, built: &Self) -> bool;
    /// What can change on a live body.
    fn material(&self) -> Material;
    /// Checks where the body stands.
    fn check_pose(&self, _pose: &Pose) -> Result<(), BuildError> {
        Ok(())
    }
    /// Changes on a live body what only this recipe knows of, where the values of `built` still stand.
    fn follow(&self, _built: &Self, _world: &mut World, _body: Entity, _input: Self::Input) {}
    /// Checks the fields.
    fn check(&self) -> Result<(), BuildError>;
}

/// The recipe as the body was built from it. Where it is present (after loading a saved world, say),
/// the body is taken as it is.
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq)]
#[reflect(Component, Default)]
pub struct BuiltFrom<R: Clone + PartialEq + Default + Reflect + TypePath>(pub R);

/// Marks a constraint that a recipe made, as opposed to a user.
#[derive(Component, Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[reflect(Component, Default, Debug, PartialEq, Clone)]
pub struct RecipeMade;

/// A body was built, or built anew.
#[derive(EntityEvent, Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyBuilt {
    /// The body.
    pub entity: Entity,
}

/// A body could not be built, or not changed as its recipe was.
#[derive(EntityEvent, Clone, Debug, PartialEq)]
pub struct BodyFailed {
    /// The body.
    pub entity: Entity,
    /// What is wrong.
    pub error: BuildError,
}

/// Builds a body anew from its recipe at the next tick, at its transform. Trigger it to restart a body,
/// or to revive one after a fault. Particles that exist before and after, by index, stay the same
/// entities: their children, attachments and the user's pins are kept.
#[derive(EntityEvent, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebuild {
    /// The body.
    pub entity: Entity,
}

/// Marks a body that must be built anew.
#[derive(Component, Clone, Copy, Debug, Default)]
pub(crate) struct MustRebuild;

/// Marks a disabled body whose recipe changed: it is looked at again when enabled.
#[derive(Component, Clone, Copy, Debug, Default)]
pub(super) struct ChangedWhileDisabled;

/// Marks a body that waits for what its recipe needs.
#[derive(Component, Clone, Copy, Debug, Default)]
pub(super) struct AwaitsAssets {
    /// How often it was looked at in vain.
    looks: u32,
}

/// After this many looks at a body that is not built yet it is told: 5 s at the default tick.
const PATIENCE: u32 = 320;

/// What came of looking at a body.
pub(super) enum Outcome {
    Built,
    Followed,
    /// The body is built, and `input` will say what draws it.
    FollowedAndWaits,
    Waits,
}

/// Carries out [`Rebuild`].
pub(super) fn on_rebuild(rebuild: On<Rebuild>, mut commands: Commands) {
    if let Ok(mut body) = commands.get_entity(rebuild.entity) {
        body.try_insert(MustRebuild);
    }
}

/// Bodies that `build` must look at.
type Noticed<R> = Or<(
    Changed<R>,
    (With<R>, Or<(With<MustRebuild>, With<ChangedWhileDisabled>, With<AwaitsAssets>)>),
)>;

/// Builds what was spawned, and follows what changed, of one type of recipe.
pub(super) fn build<R: Recipe + Default + Reflect + TypePath>(
    world: &mut World,
    mut queries: Local<
        Option<(
            QueryState<(Entity, Has<Disabled>), (Noticed<R>, Allow<Disabled>)>,
            SystemState<TransformHelper<'static, 'static>>,
        )>,
    >,
) {
    let started = crate::solver::SolverDiagnostics::start();
    let (query, helper) =
        queries.get_or_insert_with(|| (world.query_filtered(), SystemState::new(world)));
    let mut bodies: Vec<(Entity, bool)> = query.iter(world).collect();
    bodies.sort_unstable();
    for (body, disabled) in bodies {
        if disabled {
            if let Ok(mut body) = world.get_entity_mut(body) {
                body.insert(ChangedWhileDisabled);
            }
            continue;
        }
        let Some(recipe) = world.get::<R>(body).cloned() else { continue };
        let again = world.get::<MustRebuild>(body).is_some();
        let built = world.get::<BuiltFrom<R>>(body).map(|b| b.0.clone());
        let pose = match helper.get(world) {
            Ok(helper) => current_pose(&helper, body),
            Err(_) => None,
        };
        let done = match &built {
            Some(built) if !again && recipe.same_shape(built) => {
                follow(world, body, &recipe, built)
            }
            _ => construct(world, body, &recipe, built.as_ref(), pose),
        };
        // A user's observer may have despawned it meanwhile.
        let Ok(mut entity) = world.get_entity_mut(body) else { continue };
        entity.remove::<ChangedWhileDisabled>();
        match done {
            Ok(Outcome::Waits) => {
                await_assets(&mut entity, built.is_none());
                continue;
            }
            Ok(Outcome::FollowedAndWaits) => await_assets(&mut entity, false),
            _ => {
                entity.remove::<AwaitsAssets>();
            }
        }
        entity.remove::<MustRebuild>();
        match done {
            Ok(outcome) => {
                let anew = matches!(outcome, Outcome::Built);
                if anew || built.as_ref() != Some(&recipe) {
                    entity.insert(BuiltFrom(recipe));
                }
                if anew {
                    world.trigger(BodyBuilt { entity: body });
                }
            }
            Err(error) => {
                error!("{body} cannot be built: {error}");
                world.trigger(BodyFailed { entity: body, error });
            }
        }
    }
    world
        .resource_mut::<crate::solver::SolverDiagnostics>()
        .stop(crate::solver::Stage::Build, started);
}

/// Notes that a body waits, and tells so after a while.
fn await_assets(body: &mut EntityWorldMut, tell: bool) {
    let mut looks = body.get::<AwaitsAssets>().map_or(0, |a| a.looks);
    looks = looks.saturating_add(1);
    if looks == PATIENCE && tell {
        warn!(
            "{} is not built yet: a mesh, a picture or a file that it is made of is not there. Give a \
             cloth (or an entity below it) a Mesh3d whose asset gets loaded; the app needs Assets<Mesh> \
             for cloth, Assets<Image> and Assets<BoneSet> (an AssetPlugin before ours) for ragdolls",
            body.id()
        );
    }
    body.insert(AwaitsAssets { looks });
}

/// Builds a body, or builds it anew.
fn construct<R: Recipe>(
    world: &mut World,
    body: Entity,
    recipe: &R,
    built: Option<&R>,
    pose: Option<Pose>,
) -> Result<Outcome, BuildError> {
    let flat = |scale: Vec3| scale.abs().min_element() < 1e-12;
    let Some(pose) = pose else {
        // A flat scale leaves no rotation in a global transform.
        return Err(match world.get::<Transform>(body) {
            Some(t) if t.is_finite() && flat(t.scale) => BuildError::FlatScale(t.scale),
            _ => BuildError::BadTransform,
        });
    };
    if flat(pose.scale) {
        return Err(BuildError::FlatScale(pose.scale));
    }
    recipe.check()?;
    recipe.check_pose(&pose)?;
    let Some(input) = recipe.input(world, body)? else { return Ok(Outcome::Waits) };
    let plan = recipe.plan_from(pose.scale, &input)?;
    let far = |rest: &Vec3| !pose.transform_point(*rest).as_vec3().is_finite();
    if plan.rest.iter().any(far) {
        return Err(BuildError::BadTransform);
    }
    let material = recipe.material();
    clear_constraints(world, body);
    let particles = place_particles(world, body, &plan, &pose);
    spawn_constraints(world, body, &plan, &particles, &material, pose.scale);
    apply_settings(world, body, &material, built.map(R::material).as_ref());
    R::attach(world, body, input);
    let Ok(mut body) = world.get_entity_mut(body) else { return Ok(Outcome::Built) };
    body.remove::<Faulty>();
    body.insert(BuiltScale(pose.scale));
    if plan.triangles.is_empty() {
        body.remove::<BodySurface>();
    } else {
        body.insert(BodySurface { triangles: plan.triangles });
    }
    if plan.segments.is_empty() {
        body.remove::<BodyLine>();
    } else {
        body.insert(BodyLine { segments: plan.segments });
    }
    // Pins start here, and are not swept from where the body was.
    if let Some(mut target) = body.get_mut::<TargetPose>() {
        *target = TargetPose::still(pose);
    }
    if let Some(mut drawn) = body.get_mut::<DrawnPose>() {
        *drawn = DrawnPose::default();
    }
    Ok(Outcome::Built)
}

/// Despawns the constraints that the recipe made before.
fn clear_constraints(world: &mut World, body: Entity) {
    let Some(constraints) = world.get::<Constraints>(body) else { return };
    let constraints: Vec<Entity> = constraints.iter().collect();
    for constraint in constraints {
        if world.get::<RecipeMade>(constraint).is_some() {
            world.despawn(constraint);
        }
    }
}

/// Puts the particles of the plan in place, in entities that were there before where there are any.
fn place_particles(world: &mut World, body: Entity, plan: &BodyPlan, pose: &Pose) -> Vec<Entity> {
    let count = plan.rest.len();
    let mut old: Vec<Option<Entity>> = vec![None; count];
    let members: Vec<Entity> =
        world.get::<Particles>(body).map_or_else(Vec::new, |p| p.iter().collect());
    for member in members {
        let Some(&ParticleIndex(index)) = world.get::<ParticleIndex>(member) else { continue };
        match old.get_mut(index as usize) {
            Some(slot) if slot.is_none() => *slot = Some(member),
            _ => {
                world.despawn(member);
            }
        }
    }
    let first = world.resource_mut::<TopologyChanges>().take_build_orders(count as u64);
    let parts = |index: usize| {
        let rest = plan.rest[index];
        let exact = pose.transform_point(rest);
        let position = exact.as_vec3();
        (
            Particle { position, velocity: Vec3::ZERO, mass: plan.mass[index] },
            SolverState { remainder: (exact - position.as_dvec3()).as_vec3(), ..default() },
            RestPose {
                position: rest,
                rotation: plan.turns.get(index).map_or(Quat::IDENTITY, |turn| turn.rotation),
            },
            BuildOrder(first + index as u64),
        )
    };
    let particles: Vec<Entity> = if old.iter().all(Option::is_none) {
        let new = (0..count).map(|i| (parts(i), ParticleIndex(i as u32), ParticleOf(body)));
        spawn_all(world, new)
    } else {
        let mut particles = Vec::with_capacity(count);
        for (index, entity) in old.into_iter().enumerate() {
            let entity = match entity {
                Some(entity) => {
                    let was = world.get::<RestPose>(entity).map(|r| r.position);
                    let Ok(mut entity) = world.get_entity_mut(entity) else {
                        particles.push(entity);
                        continue;
                    };
                    // The recipe's own pin goes; the user's stays.
                    if entity
                        .get::<PinnedTo>()
                        .is_some_and(|p| p.anchor == body && Some(p.offset) == was)
                    {
                        entity.remove::<PinnedTo>();
                    }
                    entity.insert(parts(index));
                    entity.id()
                }
                None => {
                    world.spawn((parts(index), ParticleIndex(index as u32), ParticleOf(body))).id()
                }
            };
            particles.push(entity);
        }
        particles
    };
    orient_particles(world, plan, pose, &particles);
    for &pin in &plan.pins {
        let Ok(mut particle) = world.get_entity_mut(particles[pin as usize]) else { continue };
        if particle.get::<PinnedTo>().is_none() {
            particle.insert(PinnedTo { anchor: body, offset: plan.rest[pin as usize] });
        }
    }
    let mut changes = world.resource_mut::<TopologyChanges>();
    changes.recompile = true;
    particles
}

/// Makes bones of particles that turn.
fn orient_particles(world: &mut World, plan: &BodyPlan, pose: &Pose, particles: &[Entity]) {
    for (index, (turn, &particle)) in plan.turns.iter().zip(particles).enumerate() {
        let Ok(mut particle) = world.get_entity_mut(particle) else { continue };
        let rotation = (pose.rotation * turn.rotation).normalize();
        let oriented =
            OrientedParticle { rotation, angular_velocity: Vec3::ZERO, radii: turn.radii };
        let translation = pose.transform_point(plan.rest[index]).as_vec3();
        particle.insert((oriented, Transform { translation, rotation, ..default() }));
        if let Some(Some(name)) = plan.names.get(index) {
            particle.insert(Name::new(name.clone()));
        }
    }
}

fn spawn_constraints(
    world: &mut World,
    body: Entity,
    plan: &BodyPlan,
    particles: &[Entity],
    material: &Material,
    scale: Vec3,
) {
    let of = |i: u32| particles[i as usize];
    let count = plan.distances.len()
        + plan.bendings.len()
        + plan.tethers.len()
        + plan.joints.len()
        + plan.groups.len();
    let mut order = world.resource_mut::<TopologyChanges>().take_build_orders(count as u64);
    let mut next = || {
        order += 1;
        BuildOrder(order - 1)
    };
    let distances: Vec<_> = plan
        .distances
        .iter()
        .map(|(ends, length)| {
            let constraint =
                DistanceConstraint::new(ends.map(of), *length).with_compliance(material.compliance);
            (constraint, next(), ConstraintOf(body), RecipeMade)
        })
        .collect();
    spawn_all(world, distances);
    let bendings: Vec<_> = plan
        .bendings
        .iter()
        .map(|(corners, angle)| {
            let constraint = BendingConstraint::new(corners.map(of), *angle)
                .with_compliance(material.bending_compliance);
            (constraint, next(), ConstraintOf(body), RecipeMade)
        })
        .collect();
    spawn_all(world, bendings);
    let tethers: Vec<_> = plan
        .tethers
        .iter()
        .map(|([particle, pin], length)| {
            let constraint = TetherConstraint::new(of(*particle), of(*pin), *length);
            (constraint, next(), ConstraintOf(body), RecipeMade)
        })
        .collect();
    spawn_all(world, tethers);
    let joints: Vec<_> = plan
        .joints
        .iter()
        .map(|joint| {
            let poses = joint.particles.map(|i| plan.built_pose(i, scale));
            let constraint = JointConstraint::at(joint.particles.map(of), poses, joint.point)
                .with_compliance(joint.compliance)
                .with_torsion(joint.torsion_compliance)
                .with_spin_damping(joint.spin_damping)
                .with_limits(joint.limits);
            (constraint, next(), ConstraintOf(body), RecipeMade)
        })
        .collect();
    spawn_all(world, joints);
    let groups: Vec<_> = plan
        .groups
        .iter()
        .map(|group| {
            let member = |&i: &u32| {
                let (position, rotation) = plan.built_pose(i, scale);
                GroupMember { particle: of(i), position, rotation }
            };
            let constraint = ShapeMatchingConstraint::new(group.iter().map(member).collect())
                .with_compliance(plan.group_compliance);
            (constraint, next(), ConstraintOf(body), RecipeMade)
        })
        .collect();
    spawn_all(world, groups);
}

/// Spawns a batch of bundles that are related to one body. The first goes ahead, so that the body has the
/// other side of the relationship: without it each of the others would queue a command to make it.
fn spawn_all<B: Bundle<Effect: NoBundleEffect>>(
    world: &mut World,
    bundles: impl IntoIterator<Item = B>,
) -> Vec<Entity> {
    let mut bundles = bundles.into_iter();
    let Some(first) = bundles.next() else { return Vec::new() };
    let mut entities = Vec::with_capacity(bundles.size_hint().0 + 1);
    entities.push(world.spawn(first).id());
    entities.extend(world.spawn_batch(bundles));
    entities
}
