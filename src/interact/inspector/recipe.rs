//! The fields of a body's recipe. A change of shape builds it anew, a change of material is felt at once.

use super::{
    field::{self, Number},
    number,
};
use crate::{
    obstacle::Friction,
    recipe::{
        Cloth, ClothMass, ClothPins, ClothShape, ClothTopology, Fabric, RagdollStyle, Rope,
        RopePins, SoftMaterial, SpriteRagdoll,
    },
    solver::SolverSettings,
};
use bevy::{ecs::component::Mutable, prelude::*};
use bevy_egui::egui::Ui;

const COMPLIANCE: Number = Number::wide("m/N", 0.0..=1e6, 1e-6);
const BENDING: Number = Number::wide("rad²/J", 0.0..=1e12, 1.0);
const DAMPING: Number = Number::new("/s", 0.0..=100.0, 0.01);
const LENGTH: Number = Number::wide("m", 1e-3..=1e4, 1e-3);
const PARTICLES: Number = Number::whole("particles", 2.0..=1000.0);

const SOFTNESS: &str = "How far it gives way to a force: 0 is rigid, more is softer.";
const DECAY: &str = "Velocities decay as e^(−ct): 0 never, 10 as in honey.";

/// The fields of whichever recipe it has.
pub(super) fn show(ui: &mut Ui, world: &mut World, body: Entity) {
    let of_world = world.get_resource::<SolverSettings>().cloned().unwrap_or_default();
    edit(ui, world, body, |ui, recipe| cloth(ui, recipe, &of_world));
    edit(ui, world, body, |ui, recipe| rope(ui, recipe, &of_world));
    edit(ui, world, body, |ui, recipe| ragdoll(ui, recipe, &of_world));
}

/// Shows the fields of one recipe, and writes it if any was changed.
fn edit<R: Component<Mutability = Mutable> + Clone + PartialEq>(
    ui: &mut Ui,
    world: &mut World,
    body: Entity,
    fields: impl FnOnce(&mut Ui, &mut R),
) {
    let Some(recipe) = world.get::<R>(body).cloned() else { return };
    let mut edited = recipe.clone();
    fields(ui, &mut edited);
    if edited != recipe
        && let Some(mut recipe) = world.get_mut::<R>(body)
    {
        *recipe = edited;
    }
}

/// A menu of materials: the one that was chosen.
fn presets<T: Copy>(
    ui: &mut Ui,
    label: &str,
    tooltip: &str,
    materials: &[T],
    name: impl Fn(&T) -> &'static str,
    is: impl Fn(&T) -> bool,
) -> Option<T> {
    let known = materials.iter().position(is);
    let names: Vec<&str> = materials.iter().map(name).collect();
    let chosen = field::row(ui, label, tooltip, |ui| {
        field::menu(ui, label, tooltip, known, &names, "Own values")
    });
    materials.get(chosen?).copied()
}

fn cloth(ui: &mut Ui, cloth: &mut Cloth, world: &SolverSettings) {
    field::section(ui, "Cloth", true, |ui| {
        cloth_shape(ui, cloth);
        tethers(ui, &mut cloth.tethers, &mut cloth.tether_slack);
    });
    field::section(ui, "Material", true, |ui| {
        let tooltip = "Sets mass, compliance, bending, damping and friction to those of a fabric.";
        let made_of = cloth.clone();
        let is = |fabric: &Fabric| made_of.clone().with_fabric(fabric) == made_of;
        if let Some(fabric) = presets(ui, "Fabric", tooltip, &Fabric::ALL, |f| f.name, is) {
            fabric.apply(cloth);
        }
        mass(ui, &mut cloth.mass);
        COMPLIANCE.row(ui, "Compliance", SOFTNESS, &mut cloth.compliance);
        let tooltip = "How easily it bends: 0 is stiff, 10⁴ like denim, 5·10⁴ like cotton, more like silk. A grid needs threads with bending.";
        BENDING.row(ui, "Bending", tooltip, &mut cloth.bending_compliance);
        damping(ui, &mut cloth.damping, world.damping);
        friction(ui, &mut cloth.friction);
        thickness(ui, &mut cloth.thickness, world);
    });
}

fn cloth_shape(ui: &mut Ui, cloth: &mut Cloth) {
    match &mut cloth.shape {
        ClothShape::Grid { size, spacing, topology } => {
            let tooltip = "Particles along the top edge. A change builds the cloth anew.";
            PARTICLES.row_u32(ui, "Width", tooltip, &mut size.x);
            let tooltip = "Particles down the side. A change builds the cloth anew.";
            PARTICLES.row_u32(ui, "Height", tooltip, &mut size.y);
            let tooltip = "Distance of neighbours. A change builds the cloth anew.";
            LENGTH.row(ui, "Spacing", tooltip, spacing);
            field::choose(
                ui,
                "Fixed particles",
                "Which particles are pinned to the body. A change builds the cloth anew.",
                &mut cloth.pins,
                &[
                    (ClothPins::None, "None"),
                    (ClothPins::TopLeft, "1, top left"),
                    (ClothPins::TopCorners, "2, top corners"),
                    (ClothPins::Corners, "4, corners"),
                    (ClothPins::TopEdge, "Top edge"),
                ],
                "As the code says",
            );
            field::choose(
                ui,
                "Threads",
                "What joins the particles: both diagonals of each cell, or one of them and bending across \
                 the edges. A change builds the cloth anew.",
                topology,
                &[(ClothTopology::Diagonals, "Diagonals"), (ClothTopology::Bending, "Bending")],
                "",
            );
        }
        ClothShape::Mesh { weld } => {
            let tooltip = "Vertices nearer than this part of the mesh's size are one particle.";
            Number::wide("", 0.0..=0.1, 1e-6).row(ui, "Weld", tooltip, weld);
            field::choose(
                ui,
                "Fixed particles",
                "Which particles are pinned to the body. A change builds the cloth anew.",
                &mut cloth.pins,
                &[(ClothPins::None, "None"), (ClothPins::Top(0.05), "Top 5 %")],
                "As the code says",
            );
        }
    }
}

fn mass(ui: &mut Ui, mass: &mut ClothMass) {
    let (ClothMass::PerArea(value) | ClothMass::Total(value) | ClothMass::PerParticle(value)) =
        *mass;
    let mut value = value;
    // All are alike but for what the number stands for.
    let mut kind = core::mem::discriminant(mass);
    let of = core::mem::discriminant::<ClothMass>;
    let per_area = kind == of(&ClothMass::PerArea(0.0));
    let unit = if per_area { "kg/m²" } else { "kg" };
    let tooltip = "How heavy it is. More mass pulls harder on what it hangs from.";
    Number::wide(unit, 1e-6..=1e6, 1e-4).row(ui, "Mass", tooltip, &mut value);
    field::choose(
        ui,
        "Mass of",
        "What that mass is of: a square metre, the whole cloth, or each particle.",
        &mut kind,
        &[
            (of(&ClothMass::PerArea(0.0)), "1 m²"),
            (of(&ClothMass::Total(0.0)), "all"),
            (of(&ClothMass::PerParticle(0.0)), "particle"),
        ],
        "",
    );
    *mass = if kind == of(&ClothMass::PerArea(0.0)) {
        ClothMass::PerArea(value)
    } else if kind == of(&ClothMass::Total(0.0)) {
        ClothMass::Total(value)
    } else {
        ClothMass::PerParticle(value)
    };
}

fn damping(ui: &mut Ui, damping: &mut Option<f32>, world: f32) {
    let otherwise =
        format!("as the world: {} /s", number::format(number::exact(world), false, true));
    DAMPING.optional_row(ui, "Damping", DECAY, damping, world.max(0.0), &otherwise);
}

fn thickness(ui: &mut Ui, thickness: &mut Option<f32>, world: &SolverSettings) {
    let own = (2.0 * world.particle_radius).max(1e-3);
    let otherwise = format!("as the world: {} m", number::format(number::exact(own), false, true));
    let tooltip = "Twice the radius of its particles: how far it keeps from what it touches.";
    LENGTH.optional_row(ui, "Thickness", tooltip, thickness, own, &otherwise);
}

/// Coefficients of friction.
pub(super) fn friction(ui: &mut Ui, friction: &mut Friction) {
    let number = Number::new("", 0.0..=10.0, 0.01);
    let tooltip = "Static coefficient: from which push on it begins to slide. 0 is ice, 1 rubber.";
    number.row(ui, "Friction at rest", tooltip, &mut friction.fixed);
    let tooltip = "Dynamic coefficient: what slows it while it slides. 0 is ice, 1 rubber.";
    number.row(ui, "Friction sliding", tooltip, &mut friction.sliding);
}

fn tethers(ui: &mut Ui, tethers: &mut bool, slack: &mut f32) {
    let tooltip = "Whether particles are kept within reach of the nearest pin, so that it never looks \
                   like rubber. A change builds it anew.";
    field::tick(ui, "Tethers", tooltip, tethers);
    if *tethers {
        let mut percent = 100.0 * *slack;
        let tooltip = "By how much their length may be exceeded. A change builds it anew.";
        if Number::new("%", 0.0..=100.0, 0.1).row(ui, "Tether slack", tooltip, &mut percent) {
            *slack = percent / 100.0;
        }
    }
}

fn rope(ui: &mut Ui, rope: &mut Rope, world: &SolverSettings) {
    field::section(ui, "Rope", true, |ui| {
        LENGTH.row(ui, "Length", "A change builds the rope anew.", &mut rope.length);
        Number::whole("", 2.0..=10_000.0).row_u32(
            ui,
            "Particles",
            "Along the rope; more of them bend more smoothly. A change builds it anew.",
            &mut rope.particles,
        );
        field::choose(
            ui,
            "Fixed particles",
            "Which particles are pinned to the body. A change builds the rope anew.",
            &mut rope.pins,
            &[
                (RopePins::None, "None"),
                (RopePins::Start, "1, the start"),
                (RopePins::Ends, "2, both ends"),
            ],
            "As the code says",
        );
        tethers(ui, &mut rope.tethers, &mut rope.tether_slack);
    });
    field::section(ui, "Material", true, |ui| {
        let number = Number::wide("kg/m", 1e-6..=1e6, 1e-4);
        number.row(ui, "Mass", "How heavy a metre of it is.", &mut rope.mass_per_length);
        COMPLIANCE.row(ui, "Compliance", SOFTNESS, &mut rope.compliance);
        damping(ui, &mut rope.damping, world.damping);
        friction(ui, &mut rope.friction);
        thickness(ui, &mut rope.thickness, world);
    });
}

fn ragdoll(ui: &mut Ui, ragdoll: &mut SpriteRagdoll, world: &SolverSettings) {
    field::section(ui, "Ragdoll", true, |ui| {
        let tooltip = "Of the picture; its width follows. A change builds it anew.";
        LENGTH.row(ui, "Height", tooltip, &mut ragdoll.height);
        field::choose(
            ui,
            "Style",
            "What holds the bones together: joints with limits, or rubber. A change builds it anew.",
            &mut ragdoll.style,
            &[(RagdollStyle::Jointed, "Jointed"), (RagdollStyle::Elastic, "Elastic")],
            "",
        );
        let tooltip = "How far joined bones may turn either way. A change builds it anew.";
        let mut degrees = (10.0 * ragdoll.bend.to_degrees()).round() / 10.0;
        if Number::new("°", 0.0..=180.0, 0.5).row(ui, "Bend", tooltip, &mut degrees) {
            ragdoll.bend = degrees.to_radians();
        }
        let tooltip = "Whether its bones touch one another.";
        field::tick(ui, "Self-contact", tooltip, &mut ragdoll.self_contact);
        let tooltip = "Whether its bones touch other bodies that have this too.";
        field::tick(ui, "Meets bodies", tooltip, &mut ragdoll.soft_contact);
    });
    field::section(ui, "Material", true, |ui| ragdoll_material(ui, ragdoll, world));
}

fn ragdoll_material(ui: &mut Ui, ragdoll: &mut SpriteRagdoll, world: &SolverSettings) {
    let tooltip = "Sets mass, compliance, damping and friction to those of a material.";
    let made_of = ragdoll.clone();
    let is = |material: &SoftMaterial| made_of.clone().with_material(material) == made_of;
    let name = |material: &SoftMaterial| material.name;
    if let Some(material) = presets(ui, "Made of", tooltip, &SoftMaterial::ALL, name, is) {
        material.apply(ragdoll);
    }
    Number::wide("kg", 1e-6..=1e6, 1e-3).row(ui, "Mass", "In all.", &mut ragdoll.mass);
    COMPLIANCE.row(ui, "Compliance", SOFTNESS, &mut ragdoll.compliance);
    let tooltip = "How easily joints turn away from the picture's pose; more is floppier.";
    let number = Number::wide("rad²/J", 0.0..=1e6, 1e-3);
    let own = &mut ragdoll.torsion_compliance;
    number.optional_row(ui, "Torsion", tooltip, own, 1.0, "by weight");
    let tooltip = "Slows joined bones that turn against each other.";
    let number = Number::new("/s", 0.0..=1000.0, 0.2);
    number.row(ui, "Joint damping", tooltip, &mut ragdoll.spin_damping);
    damping(ui, &mut ragdoll.damping, world.relative_damping);
    friction(ui, &mut ragdoll.friction);
}
