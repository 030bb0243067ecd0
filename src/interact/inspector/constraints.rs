//! The constraints of a body by type: how many, and what all of a type share.
//!
//! A field shows the value of the first of its type; an edit writes it into all of them. They are sorted by
//! type anew only when constraints came or went, and no more than four times a second.

use super::{
    field::{self, Number},
    number,
};
use crate::{
    constraint::{
        BendingConstraint, Constraints, DistanceConstraint, JointConstraint,
        ShapeMatchingConstraint, TetherConstraint, TorsionConstraint,
    },
    solver::SolverDiagnostics,
};
use alloc::collections::BTreeMap;
use bevy::{
    ecs::{change_detection::Tick, component::Mutable},
    platform::time::Instant,
    prelude::*,
};
use bevy_egui::egui::Ui;
use core::time::Duration;

const COMPLIANCE: Number = Number::wide("m/N", 0.0..=1e6, 1e-6);
const TURN: Number = Number::wide("rad²/J", 0.0..=1e12, 1e-3);
const DAMPING: Number = Number::wide("N s/m", 0.0..=1e6, 1e-3);
const TURN_DAMPING: Number = Number::wide("J s/rad²", 0.0..=1e6, 1e-6);
const SPIN: Number = Number::new("/s", 0.0..=1000.0, 0.2);

const SOFTNESS: &str = "How far it gives way to a force: 0 is rigid, more is softer.";
const TURNING: &str = "How easily it turns away from rest: 0 is rigid, more is softer.";
const LIMP: &str = "How easily it turns away from rest: 0 is rigid, ∞ is limp.";
const RAYLEIGH: &str = "Slows it as it gives way; it acts only where the compliance is above 0.";
const FRICTION: &str = "Slows the two as they turn against each other.";

/// How often constraints are sorted anew at most.
const EVERY: Duration = Duration::from_millis(250);

/// A number that constraints of a type have.
struct Shared<C> {
    label: &'static str,
    tooltip: &'static str,
    number: Number,
    field: fn(&mut C) -> &mut f32,
}

const fn shared<C>(
    label: &'static str,
    tooltip: &'static str,
    number: Number,
    field: fn(&mut C) -> &mut f32,
) -> Shared<C> {
    Shared { label, tooltip, number, field }
}

/// The constraints of one body, by type.
#[derive(Debug, Default)]
pub(super) struct Known {
    body: Option<Entity>,
    changed: Option<Tick>,
    sorted: Option<Instant>,
    /// By type, in the order of [`types`].
    members: [Vec<Entity>; 6],
    /// How many there are of other types, by name.
    others: BTreeMap<String, usize>,
}

pub(super) fn show(ui: &mut Ui, world: &mut World, body: Entity, known: &mut Known) {
    field::section(ui, "Constraints", false, |ui| {
        if !known.refresh(world, body) {
            return field::note(ui, "It has none.");
        }
        field::note(ui, "An edit is written into all of a type.");
        types(ui, world, &known.members);
        for (name, count) in &known.others {
            field::heading(ui, name, &number::grouped(*count));
        }
    });
}

impl Known {
    /// Sorts them anew where needed; whether there are any.
    fn refresh(&mut self, world: &World, body: Entity) -> bool {
        let Some(constraints) =
            world.get_entity(body).ok().and_then(|entity| entity.get_ref::<Constraints>())
        else {
            *self = Self::default();
            return false;
        };
        let changed = Some(constraints.last_changed());
        let now = Instant::now();
        let recent = self.sorted.is_some_and(|at| now.saturating_duration_since(at) < EVERY);
        if self.body != Some(body) || (self.changed != changed && !recent) {
            *self = Self { body: Some(body), changed, sorted: Some(now), ..default() };
            constraints.iter().for_each(|constraint| self.sort(world, constraint));
        }
        !constraints.is_empty()
    }

    fn sort(&mut self, world: &World, constraint: Entity) {
        let Ok(entity) = world.get_entity(constraint) else { return };
        let is = [
            entity.contains::<DistanceConstraint>(),
            entity.contains::<BendingConstraint>(),
            entity.contains::<TetherConstraint>(),
            entity.contains::<JointConstraint>(),
            entity.contains::<TorsionConstraint>(),
            entity.contains::<ShapeMatchingConstraint>(),
        ];
        match is.iter().position(|is| *is) {
            Some(kind) => self.members[kind].push(constraint),
            None => *self.others.entry(other_type(world, constraint)).or_default() += 1,
        }
    }
}

/// The name of a constraint's type, by the names that the solver knows.
fn other_type(world: &World, constraint: Entity) -> String {
    let known = world.get_resource::<SolverDiagnostics>().map(|d| &d.constraints_by_type);
    let name = world.inspect_entity(constraint).ok().and_then(|mut components| {
        components.find_map(|info| {
            let path = info.name().to_string();
            let name = path.rsplit("::").next()?;
            known?.contains_key(name).then(|| number::title(name))
        })
    });
    name.unwrap_or_else(|| "Other".into())
}

fn types(ui: &mut Ui, world: &mut World, members: &[Vec<Entity>; 6]) {
    let [distances, bendings, tethers, joints, torsions, groups] = members;
    fields::<DistanceConstraint>(
        ui,
        world,
        "Distance",
        distances,
        &[
            shared("Compliance", SOFTNESS, COMPLIANCE, |c| &mut c.compliance),
            shared("Damping", RAYLEIGH, DAMPING, |c| &mut c.damping),
        ],
    );
    fields::<BendingConstraint>(
        ui,
        world,
        "Bending",
        bendings,
        &[
            shared("Compliance", TURNING, TURN, |c| &mut c.compliance),
            shared("Damping", RAYLEIGH, TURN_DAMPING, |c| &mut c.damping),
        ],
    );
    let compliance =
        shared("Compliance", SOFTNESS, COMPLIANCE, |c: &mut TetherConstraint| &mut c.compliance);
    fields(ui, world, "Tether", tethers, &[compliance]);
    fields::<JointConstraint>(
        ui,
        world,
        "Joint",
        joints,
        &[
            shared("Compliance", SOFTNESS, COMPLIANCE, |c| &mut c.compliance),
            shared("Torsion", LIMP, TURN, |c| &mut c.torsion_compliance),
            shared("Damping", FRICTION, SPIN, |c| &mut c.spin_damping),
        ],
    );
    fields::<TorsionConstraint>(
        ui,
        world,
        "Torsion",
        torsions,
        &[
            shared("Compliance", TURNING, TURN, |c| &mut c.compliance),
            shared("Damping", FRICTION, SPIN, |c| &mut c.damping),
        ],
    );
    let compliance =
        shared("Compliance", SOFTNESS, COMPLIANCE, |c: &mut ShapeMatchingConstraint| {
            &mut c.compliance
        });
    fields(ui, world, "Shape matching", groups, &[compliance]);
}

/// Heading and fields of one type, where there are any.
fn fields<C: Component<Mutability = Mutable> + Clone>(
    ui: &mut Ui,
    world: &mut World,
    title: &str,
    members: &[Entity],
    all: &[Shared<C>],
) {
    let Some(mut first) = members.iter().find_map(|member| world.get::<C>(*member).cloned()) else {
        return;
    };
    field::heading(ui, title, &number::grouped(members.len()));
    for Shared { label, tooltip, number, field } in all {
        let value = field(&mut first);
        let name = format!("{title} {}", label.to_lowercase());
        ui.push_id(title, |ui| {
            if !number.row_named(ui, label, &name, tooltip, value) {
                return;
            }
            for member in members {
                if let Some(mut constraint) = world.get_mut::<C>(*member)
                    && *field(constraint.bypass_change_detection()) != *value
                {
                    *field(&mut constraint) = *value;
                }
            }
        });
    }
}
