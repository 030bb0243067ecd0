//! The constraints of a body by type: how many, and what all of a type share.
//!
//! A field shows the value of the first of its type; an edit writes it into all of them. Counting is done
//! anew only when constraints come or go.

use super::{
    field::{self, Number},
    simulation::grouped,
    timing,
};
use crate::constraint::{
    BendingConstraint, Constraints, DistanceConstraint, JointConstraint, ShapeMatchingConstraint,
    TetherConstraint, TorsionConstraint,
};
use bevy::{
    ecs::{change_detection::Tick, component::Mutable},
    prelude::*,
};
use bevy_egui::egui::Ui;

const COMPLIANCE: Number = Number::wide("m/N", 0.0..=1e6, 1e-6);
const TURN: Number = Number::wide("rad²/J", 0.0..=1e12, 1e-3);
const DAMPING: Number = Number::wide("N s/m", 0.0..=1e6, 1e-3);
const SPIN: Number = Number::new("1/s", 0.0..=1000.0, 0.2);

/// A number that constraints of a type have.
struct Shared<C> {
    label: &'static str,
    tooltip: &'static str,
    number: Number,
    field: fn(&mut C) -> &mut f32,
}

/// The constraints of one body, by type.
#[derive(Clone, Debug, Default)]
struct Known {
    body: Option<Entity>,
    changed: Option<Tick>,
    /// By type, in the order of [`show`]; the last are those of no type of ours.
    members: [Vec<Entity>; 7],
}

/// Kept between frames.
#[derive(Resource, Default)]
struct Cache(Known);

pub(super) fn show(ui: &mut Ui, world: &mut World, body: Entity) {
    let Some(constraints) = world.get_entity(body).ok().and_then(|e| e.get_ref::<Constraints>())
    else {
        return;
    };
    let changed = constraints.last_changed();
    let stale = |cache: &Cache| (cache.0.body, cache.0.changed) != (Some(body), Some(changed));
    if world.get_resource::<Cache>().is_none_or(stale) {
        let all: Vec<Entity> = constraints.to_vec();
        let known = sort(world, body, changed, &all);
        world.insert_resource(Cache(known));
    }
    field::section(ui, "Constraints", false, |ui| {
        world.resource_scope(|world, cache: Mut<Cache>| types(ui, world, &cache.0.members));
    });
}

fn sort(world: &World, body: Entity, changed: Tick, all: &[Entity]) -> Known {
    let mut known = Known { body: Some(body), changed: Some(changed), ..default() };
    for &constraint in all {
        let Ok(entity) = world.get_entity(constraint) else { continue };
        let kind = [
            entity.contains::<DistanceConstraint>(),
            entity.contains::<BendingConstraint>(),
            entity.contains::<TetherConstraint>(),
            entity.contains::<JointConstraint>(),
            entity.contains::<TorsionConstraint>(),
            entity.contains::<ShapeMatchingConstraint>(),
        ];
        let kind = kind.iter().position(|is| *is).unwrap_or(6);
        known.members[kind].push(constraint);
    }
    known
}

fn types(ui: &mut Ui, world: &mut World, members: &[Vec<Entity>; 7]) {
    let [distances, bendings, tethers, joints, torsions, groups, others] = members;
    let softness = "How far it gives way to a force: 0 is rigid.";
    let turning = "How easily it turns away from rest: 0 is rigid.";
    let rayleigh = "Slows it as it gives way; it acts only where the compliance is above 0.";
    let spin = "Slows the two as they turn against each other.";
    shared::<DistanceConstraint>(
        ui,
        world,
        "DistanceConstraint",
        distances,
        &[
            Shared {
                label: "compliance",
                tooltip: softness,
                number: COMPLIANCE,
                field: |c| &mut c.compliance,
            },
            Shared {
                label: "damping",
                tooltip: rayleigh,
                number: DAMPING,
                field: |c| &mut c.damping,
            },
        ],
    );
    shared::<BendingConstraint>(
        ui,
        world,
        "BendingConstraint",
        bendings,
        &[
            Shared {
                label: "compliance",
                tooltip: turning,
                number: TURN,
                field: |c| &mut c.compliance,
            },
            Shared {
                label: "damping",
                tooltip: rayleigh,
                number: Number::wide("J s/rad²", 0.0..=1e6, 1e-6),
                field: |c| &mut c.damping,
            },
        ],
    );
    shared::<TetherConstraint>(
        ui,
        world,
        "TetherConstraint",
        tethers,
        &[Shared {
            label: "compliance",
            tooltip: softness,
            number: COMPLIANCE,
            field: |c| &mut c.compliance,
        }],
    );
    shared::<JointConstraint>(
        ui,
        world,
        "JointConstraint",
        joints,
        &[
            Shared {
                label: "compliance",
                tooltip: softness,
                number: COMPLIANCE,
                field: |c| &mut c.compliance,
            },
            Shared {
                label: "torsion",
                tooltip: "How easily it turns away from rest: ∞ is limp.",
                number: TURN,
                field: |c| &mut c.torsion_compliance,
            },
            Shared {
                label: "damping",
                tooltip: spin,
                number: SPIN,
                field: |c| &mut c.spin_damping,
            },
        ],
    );
    shared::<TorsionConstraint>(
        ui,
        world,
        "TorsionConstraint",
        torsions,
        &[
            Shared {
                label: "compliance",
                tooltip: turning,
                number: TURN,
                field: |c| &mut c.compliance,
            },
            Shared { label: "damping", tooltip: spin, number: SPIN, field: |c| &mut c.damping },
        ],
    );
    shared::<ShapeMatchingConstraint>(
        ui,
        world,
        "ShapeMatchingConstraint",
        groups,
        &[Shared {
            label: "compliance",
            tooltip: softness,
            number: COMPLIANCE,
            field: |c| &mut c.compliance,
        }],
    );
    if !others.is_empty() {
        field::note(ui, format!("{} of other types", grouped(others.len())));
    }
}

/// Heading and fields of one type, where there are any.
fn shared<C: Component<Mutability = Mutable> + Clone>(
    ui: &mut Ui,
    world: &mut World,
    name: &str,
    members: &[Entity],
    fields: &[Shared<C>],
) {
    let Some(mut first) = members.iter().find_map(|member| world.get::<C>(*member).cloned()) else {
        return;
    };
    let title = timing::title(name);
    field::note(ui, format!("{title}, {}", grouped(members.len())));
    for Shared { label, tooltip, number, field } in fields {
        let value = field(&mut first);
        let label = format!("{title} {label}");
        if number.row(ui, &label, tooltip, value) {
            let value = *value;
            for member in members {
                if let Some(mut constraint) = world.get_mut::<C>(*member)
                    && *field(constraint.bypass_change_detection()) != value
                {
                    *field(&mut constraint) = value;
                }
            }
        }
    }
}
