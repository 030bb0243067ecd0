//! A live body: what a changed recipe changes on it without building it anew.

use super::{
    build::{Outcome, Recipe, RecipeMade},
    error::BuildError,
    plan::Material,
};
use crate::{
    constraint::{BendingConstraint, Constraints, DistanceConstraint},
    particle::{BodySurface, BuiltScale, Particle, ParticleIndex, Particles},
    solver::BodySettings,
};
use bevy::prelude::*;

/// Applies a changed material to the live body, where the recipe's own value still stands. A body that
/// was loaded is bound to what it was built from, once that is there.
pub(super) fn follow<R: Recipe>(
    world: &mut World,
    body: Entity,
    recipe: &R,
    built: &R,
) -> Result<Outcome, BuildError> {
    recipe.check()?;
    let Some(input) = recipe.live_input(world, body) else {
        return adopt(world, body, recipe, built);
    };
    if recipe == built {
        recipe.follow(built, world, body, input);
        return Ok(Outcome::Followed);
    }
    let (new, old) = (recipe.material(), built.material());
    if !recipe.same_mass(built) {
        change_masses(world, body, recipe, built, &input)?;
    }
    if new.compliance != old.compliance || new.bending_compliance != old.bending_compliance {
        change_compliances(world, body, &new, &old);
    }
    apply_settings(world, body, &new, Some(&old));
    recipe.follow(built, world, body, input);
    Ok(Outcome::Followed)
}

/// Binds a loaded body to what it was built from. Until that is there the body moves, and its recipe's
/// changes wait.
fn adopt<R: Recipe>(
    world: &mut World,
    body: Entity,
    recipe: &R,
    built: &R,
) -> Result<Outcome, BuildError> {
    let Some(input) = built.input(world, body)? else {
        let outcome = if recipe == built { Outcome::FollowedAndWaits } else { Outcome::Waits };
        return Ok(outcome);
    };
    let scale = world.get::<BuiltScale>(body).map_or(Vec3::ONE, |scale| scale.0);
    let plan = built.masses_from(scale, &input)?;
    if world.get::<BodySurface>(body).is_none_or(|surface| surface.triangles != plan.triangles) {
        return Err(BuildError::OtherMesh);
    }
    R::attach(world, body, input);
    follow(world, body, recipe, built)
}

/// Masses that differ by this part only are the recipe's own: computed from a saved body again.
const SAME_MASS: f32 = 1e-5;

fn change_masses<R: Recipe>(
    world: &mut World,
    body: Entity,
    recipe: &R,
    built: &R,
    input: &R::Input,
) -> Result<(), BuildError> {
    let scale = world.get::<BuiltScale>(body).map_or(Vec3::ONE, |scale| scale.0);
    let (new, old) = (recipe.masses_from(scale, input)?, built.masses_from(scale, input)?);
    let members: Vec<Entity> =
        world.get::<Particles>(body).map_or_else(Vec::new, |p| p.iter().collect());
    for member in members {
        let Some(&ParticleIndex(index)) = world.get::<ParticleIndex>(member) else { continue };
        let index = index as usize;
        let (Some(new), Some(old)) = (new.mass.get(index), old.mass.get(index)) else { continue };
        if let Some(mut particle) = world.get_mut::<Particle>(member)
            && (particle.mass - *old).abs() <= SAME_MASS * *old
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
pub(super) fn apply_settings(
    world: &mut World,
    body: Entity,
    new: &Material,
    old: Option<&Material>,
) {
    let Ok(mut body) = world.get_entity_mut(body) else { return };
    let defaults = BodySettings::default();
    let old_damping = old.map_or(defaults.damping, |m| m.damping);
    let old_friction = old.map_or(defaults.friction, |m| m.friction);
    let old_radius = old.map_or(defaults.radius, |m| m.radius);
    let old_self_contact = old.map_or(defaults.self_contact, |m| m.self_contact);
    let old_soft_contact = old.map_or(defaults.soft_contact, |m| m.soft_contact);
    let Some(mut settings) = body.get_mut::<BodySettings>() else {
        body.insert(BodySettings {
            damping: new.damping,
            friction: new.friction,
            radius: new.radius,
            self_contact: new.self_contact,
            soft_contact: new.soft_contact,
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
    // What a recipe says nothing of stays the user's.
    if settings.self_contact == old_self_contact && new.self_contact != old_self_contact {
        settings.self_contact = new.self_contact;
    }
    if settings.soft_contact == old_soft_contact && new.soft_contact != old_soft_contact {
        settings.soft_contact = new.soft_contact;
    }
}
