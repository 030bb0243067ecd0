//! Building: from a recipe to entities, and from a changed recipe to a changed body.

use super::{
    error::BuildError,
    plan::{BodyPlan, Material},
};
use crate::{
    constraint::{
        BendingConstraint, ConstraintOf, Constraints, DistanceConstraint, TetherConstraint,
    },
    math::pose::Pose,
    particle::{
        BodySurface, BuildOrder, BuiltScale, Particle, ParticleIndex, ParticleOf, Particles,
        PinnedTo, RestPose, SolverState, TopologyChanges,
    },
    solver::{BodySettings, DrawnPose, Faulty, TargetPose, current_pose},
};
use bevy::{
    ecs::{component::Mutable, entity_disabling::Disabled, query::Allow, system::SystemState},
    prelude::*,
    transform::helper::TransformHelper,
};

/// What a recipe must tell the builder.
pub(crate) trait Recipe: Component<Mutability = Mutable> + Clone + PartialEq {
    /// Everything to spawn, for a body of this scale.
    fn plan(&self, scale: Vec3) -> Result<BodyPlan, BuildError>;
    /// Whether the plan is that of `built`, masses apart.
    fn same_shape(&self, built: &Self) -> bool;
    /// Whether the masses are those of `built`.
    fn same_mass(&self, built: &Self) -> bool;
    /// What can change on a live body.
    fn material(&self) -> Material;
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

/// Carries out [`Rebuild`].
pub(super) fn on_rebuild(rebuild: On<Rebuild>, mut commands: Commands) {
    if let Ok(mut body) = commands.get_entity(rebuild.entity) {
        body.try_insert(MustRebuild);
    }
}

/// Bodies that `build` must look at.
type Noticed<R> = Or<(Changed<R>, (With<R>, Or<(With<MustRebuild>, With<ChangedWhileDisabled>)>))>;

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
                follow(world, body, &recipe, built).map(|()| false)
            }
            _ => construct(world, body, &recipe, built.as_ref(), pose).map(|()| true),
        };
        // A user's observer may have despawned it meanwhile.
        let Ok(mut entity) = world.get_entity_mut(body) else { continue };
        entity.remove::<(MustRebuild, ChangedWhileDisabled)>();
        match done {
            Ok(anew) => {
                entity.insert(BuiltFrom(recipe));
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

/// Builds a body, or builds it anew.
fn construct<R: Recipe>(
    world: &mut World,
    body: Entity,
    recipe: &R,
    built: Option<&R>,
    pose: Option<Pose>,
) -> Result<(), BuildError> {
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
    let plan = recipe.plan(pose.scale)?;
    let far = |rest: &Vec3| !pose.transform_point(*rest).as_vec3().is_finite();
    if plan.rest.iter().any(far) {
        return Err(BuildError::BadTransform);
    }
    let material = recipe.material();
    clear_constraints(world, body);
    let particles = place_particles(world, body, &plan, &pose);
    spawn_constraints(world, body, &plan, &particles, &material);
    apply_settings(world, body, &material, built.map(R::material).as_ref());
    let Ok(mut body) = world.get_entity_mut(body) else { return Ok(()) };
    body.remove::<Faulty>();
    body.insert(BuiltScale(pose.scale));
    if plan.triangles.is_empty() {
        body.remove::<BodySurface>();
    } else {
        body.insert(BodySurface { triangles: plan.triangles });
    }
    // Pins start here, and are not swept from where the body was.
    if let Some(mut target) = body.get_mut::<TargetPose>() {
        *target = TargetPose::still(pose);
    }
    if let Some(mut drawn) = body.get_mut::<DrawnPose>() {
        *drawn = DrawnPose::default();
    }
    Ok(())
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
            RestPose { position: rest, rotation: Quat::IDENTITY },
            BuildOrder(first + index as u64),
        )
    };
    let particles: Vec<Entity> = if old.iter().all(Option::is_none) {
        let new = (0..count).map(|i| (parts(i), ParticleIndex(i as u32), ParticleOf(body)));
        world.spawn_batch(new).collect()
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

fn spawn_constraints(
    world: &mut World,
    body: Entity,
    plan: &BodyPlan,
    particles: &[Entity],
    material: &Material,
) {
    let of = |i: u32| particles[i as usize];
    let count = plan.distances.len() + plan.bendings.len() + plan.tethers.len();
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
    world.spawn_batch(distances).for_each(drop);
    let bendings: Vec<_> = plan
        .bendings
        .iter()
        .map(|(corners, angle)| {
            let constraint = BendingConstraint::new(corners.map(of), *angle)
                .with_compliance(material.bending_compliance);
            (constraint, next(), ConstraintOf(body), RecipeMade)
        })
        .collect();
    world.spawn_batch(bendings).for_each(drop);
    let tethers: Vec<_> = plan
        .tethers
        .iter()
        .map(|([particle, pin], length)| {
            let constraint = TetherConstraint::new(of(*particle), of(*pin), *length);
            (constraint, next(), ConstraintOf(body), RecipeMade)
        })
        .collect();
    world.spawn_batch(tethers).for_each(drop);
}

/// Applies a changed material to the live body, where the recipe's own value still stands.
fn follow<R: Recipe>(
    world: &mut World,
    body: Entity,
    recipe: &R,
    built: &R,
) -> Result<(), BuildError> {
    recipe.check()?;
    if recipe == built {
        return Ok(());
    }
    let (new, old) = (recipe.material(), built.material());
    if !recipe.same_mass(built) {
        change_masses(world, body, recipe, built)?;
    }
    if new.compliance != old.compliance || new.bending_compliance != old.bending_compliance {
        change_compliances(world, body, &new, &old);
    }
    apply_settings(world, body, &new, Some(&old));
    Ok(())
}

fn change_masses<R: Recipe>(
    world: &mut World,
    body: Entity,
    recipe: &R,
    built: &R,
) -> Result<(), BuildError> {
    let scale = world.get::<BuiltScale>(body).map_or(Vec3::ONE, |scale| scale.0);
    let (new, old) = (recipe.plan(scale)?, built.plan(scale)?);
    let members: Vec<Entity> =
        world.get::<Particles>(body).map_or_else(Vec::new, |p| p.iter().collect());
    for member in members {
        let Some(&ParticleIndex(index)) = world.get::<ParticleIndex>(member) else { continue };
        let index = index as usize;
        let (Some(new), Some(old)) = (new.mass.get(index), old.mass.get(index)) else { continue };
        if let Some(mut particle) = world.get_mut::<Particle>(member)
            && particle.mass == *old
        {
            particle.mass = *new;
        }
    }
    Ok(())
}

fn change_compliances(world: &mut World, body: Entity, new: &Material, old: &Material) {
    let constraints: Vec<Entity> =
        world.get::<Constraints>(body).map_or_else(Vec::new, |c| c.iter().collect());
    for entity in constraints {
        let Ok(mut entity) = world.get_entity_mut(entity) else { continue };
        if !entity.contains::<RecipeMade>() {
            continue;
        }
        if let Some(mut distance) = entity.get_mut::<DistanceConstraint>()
            && distance.compliance == old.compliance
        {
            distance.compliance = new.compliance;
        }
        if let Some(mut bending) = entity.get_mut::<BendingConstraint>()
            && bending.compliance == old.bending_compliance
        {
            bending.compliance = new.bending_compliance;
        }
    }
}

/// Writes damping, friction and radius into the body's settings.
fn apply_settings(world: &mut World, body: Entity, new: &Material, old: Option<&Material>) {
    let Ok(mut body) = world.get_entity_mut(body) else { return };
    let defaults = BodySettings::default();
    let old_damping = old.map_or(defaults.damping, |m| m.damping);
    let old_friction = old.map_or(defaults.friction, |m| m.friction);
    let old_radius = old.map_or(defaults.radius, |m| m.radius);
    let Some(mut settings) = body.get_mut::<BodySettings>() else {
        body.insert(BodySettings {
            damping: new.damping,
            friction: new.friction,
            radius: new.radius,
            ..defaults
        });
        return;
    };
    if settings.damping == old_damping {
        settings.damping = new.damping;
    }
    if settings.friction == old_friction {
        settings.friction = new.friction;
    }
    if settings.radius == old_radius {
        settings.radius = new.radius;
    }
}
