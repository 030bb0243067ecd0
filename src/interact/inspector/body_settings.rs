//! A body's own settings, where it has others than the world: motion, contact, wind.

use super::{
    field::{self, Number},
    recipe, theme,
};
use crate::{
    recipe::{Cloth, Rope, SpriteRagdoll},
    solver::{BodySettings, EllipsoidContact, SolverSettings},
};
use bevy::prelude::*;
use bevy_egui::egui::{self, Ui};

pub(super) fn show(ui: &mut Ui, world: &mut World, body: Entity) {
    let Some(settings) = world.get::<BodySettings>(body).cloned() else { return };
    let of_world = world.resource::<SolverSettings>().clone();
    // What its recipe says of these stands there.
    let plain = world.get::<Cloth>(body).is_some() || world.get::<Rope>(body).is_some();
    let has_recipe = plain || world.get::<SpriteRagdoll>(body).is_some();
    let mut edited = settings.clone();
    field::section(ui, "Motion", false, |ui| motion(ui, &mut edited, &of_world, has_recipe));
    field::section(ui, "Contact", false, |ui| contact(ui, &mut edited, has_recipe, plain));
    field::section(ui, "Wind", false, |ui| wind(ui, &mut edited));
    if edited != settings
        && let Some(mut settings) = world.get_mut::<BodySettings>(body)
    {
        *settings = edited;
    }
}

fn motion(ui: &mut Ui, settings: &mut BodySettings, world: &SolverSettings, has_recipe: bool) {
    let mut own = settings.gravity.is_some();
    let tooltip = "Whether it falls otherwise than the world says.";
    if field::tick(ui, "Own gravity", tooltip, &mut own) {
        settings.gravity = own.then_some(world.gravity);
    }
    if let Some(gravity) = &mut settings.gravity {
        let number = Number::new("m/s²", -1e4..=1e4, 0.05);
        number.row_vec3(ui, "Gravity", "Acceleration of this body.", gravity);
    }
    if !has_recipe {
        let number = Number::new("/s", 0.0..=100.0, 0.01);
        let tooltip = "Velocities decay as e^(−ct).";
        number.optional_row(ui, "Damping", tooltip, &mut settings.damping, 0.1, "the world's");
        let number = Number::wide("m", 1e-4..=1e4, 1e-3);
        let tooltip = "Of its particles.";
        let start = world.particle_radius;
        number.optional_row(ui, "Radius", tooltip, &mut settings.radius, start, "the world's");
    }
    field::choose(
        ui,
        "Momentum",
        "Whether what projection takes from a body that touches nothing is given back.",
        &mut settings.restore_momentum,
        &[(None, "If particles turn"), (Some(true), "Restored"), (Some(false), "Not restored")],
        "",
    );
}

fn contact(ui: &mut Ui, settings: &mut BodySettings, has_recipe: bool, plain: bool) {
    if !has_recipe {
        recipe::friction(ui, &mut settings.friction);
    }
    if plain || !has_recipe {
        let tooltip = "Whether its particles touch one another, as folds do.";
        field::tick(ui, "Self-contact", tooltip, &mut settings.self_contact);
        let tooltip = "Whether its particles touch those of other bodies that have this too.";
        field::tick(ui, "Meets bodies", tooltip, &mut settings.soft_contact);
    }
    if !plain {
        field::choose(
            ui,
            "Ellipsoids",
            "Where particles that turn are pushed: at the point that touches, or at their centre.",
            &mut settings.ellipsoid_contact,
            &[
                (EllipsoidContact::LeverArm, "With lever arms"),
                (EllipsoidContact::CentreOnly, "At the centre"),
            ],
            "",
        );
    }
    layers(ui, "In layers", "The layers that it is in.", &mut settings.layers.memberships);
    layers(ui, "Meets layers", "The layers that it meets.", &mut settings.layers.filters);
}

/// Layers that have a box each; the others stay as they are.
const LAYERS: u32 = 8;

fn layers(ui: &mut Ui, label: &str, tooltip: &str, bits: &mut u32) {
    field::row(ui, label, tooltip, |ui| {
        let (gap, all) = (2.0, ui.available_rect_before_wrap());
        let width = (all.width() - gap * (LAYERS - 1) as f32) / LAYERS as f32;
        for layer in 0..LAYERS {
            let bit = 1 << layer;
            let on = *bits & bit != 0;
            let left = all.left() + layer as f32 * (width + gap);
            let size = egui::vec2(width, all.height());
            let rect = egui::Rect::from_min_size(egui::pos2(left, all.top()), size);
            let response = ui.interact(rect, ui.id().with(layer), egui::Sense::click());
            response.widget_info(|| {
                let name = format!("{label} {layer}");
                egui::WidgetInfo::selected(egui::WidgetType::Checkbox, true, on, name)
            });
            let color = if on { theme::STRONG } else { theme::WEAK };
            let fill = if on { theme::ACCENT_FILL } else { theme::FIELD };
            ui.painter().rect_filled(rect, 3.0, fill);
            let (at, text) = (rect.center(), layer.to_string());
            ui.painter().text(at, egui::Align2::CENTER_CENTER, text, theme::font(11.5), color);
            field::focus_ring(ui, &response);
            let title = format!("Layer {layer}");
            if field::hint(response, &title, tooltip).clicked() {
                *bits ^= bit;
            }
        }
    });
}

fn wind(ui: &mut Ui, settings: &mut BodySettings) {
    let number = Number::new("", 0.0..=10.0, 0.01);
    let tooltip =
        "Drag coefficient: how much the air takes it along. 1.2 is a plate across the wind.";
    number.row(ui, "Drag", tooltip, &mut settings.drag);
    let tooltip = "Lift coefficient: how much wind along it lifts it, and makes it flutter.";
    number.row(ui, "Lift", tooltip, &mut settings.lift);
}
