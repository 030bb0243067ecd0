//! The second tab's fields: those of the selected body.

use super::{
    Inspector, Panel, Troubles,
    bodies::{self, State},
    body_settings, constraints,
    field::{self, Number},
    number, pins, recipe, theme,
};
use crate::{recipe::Rebuild, solver::Teleport};
use bevy::{ecs::entity_disabling::Disabled, prelude::*};
use bevy_egui::egui::{Align2, Rect, RichText, Sense, Ui, WidgetInfo, WidgetType, pos2, vec2};

/// The fields of the selected body.
pub(super) fn show(ui: &mut Ui, world: &mut World, panel: &mut Panel) {
    let Some(body) = world.resource::<Inspector>().selected else {
        field::note(ui, "Choose a body: in the list, or by a click in the scene.");
        return;
    };
    if world.get_entity(body).is_err() {
        return;
    }
    let state = panel.bodies.state(world, body);
    heading(ui, world, body, state);
    if !actions(ui, world, body) {
        return;
    }
    // Fields of two bodies are not the same fields: what is typed into one must not reach the other.
    ui.push_id(body, |ui| {
        recipe::show(ui, world, body);
        pins::show(ui, world, body, &mut panel.pins);
        body_settings::show(ui, world, body);
        constraints::show(ui, world, body, &mut panel.constraints);
        place(ui, world, body);
    });
}

/// Name, kind, and state with its reason.
fn heading(ui: &mut Ui, world: &World, body: Entity, state: State) {
    let title = bodies::title(world, body);
    let (particles, constraints) = bodies::counts(world, body);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 38.0), Sense::hover());
    let counts = format!(
        "{} particles, {} constraints",
        number::grouped(particles),
        number::grouped(constraints)
    );
    let told = format!("{title}, {}, {counts}", state.word());
    response.widget_info(|| WidgetInfo::labeled(WidgetType::Label, true, &told));
    let painter = ui.painter();
    let top = rect.top() + 11.0;
    let word = painter.text(
        pos2(rect.right(), top),
        Align2::RIGHT_CENTER,
        state.word(),
        theme::font(12.0),
        state.color(),
    );
    state.draw(ui, pos2(word.left() - 9.0, top));
    let room = Rect::from_min_max(rect.min, pos2(word.left() - 18.0, rect.bottom()));
    let at = pos2(rect.left() + 4.0, top);
    let left = painter.with_clip_rect(room.intersect(ui.clip_rect()));
    left.text(at, Align2::LEFT_CENTER, &title, theme::font(16.0), theme::STRONG);
    let kind = bodies::kind(world, body);
    let at = pos2(rect.left() + 4.0, rect.top() + 29.0);
    let text = format!("{kind} · {counts}");
    painter.text(at, Align2::LEFT_CENTER, text, theme::font(12.0), theme::WEAK);
    let trouble = world.get_resource::<Troubles>().and_then(|troubles| troubles.0.get(&body));
    if let Some(trouble) = trouble {
        ui.label(RichText::new(trouble).color(theme::DANGER).size(12.5));
    }
}

/// What can be done to the whole body; whether it is still there.
fn actions(ui: &mut Ui, world: &mut World, body: Entity) -> bool {
    let disabled = world.get::<Disabled>(body).is_some();
    let (word, name, tooltip) = if disabled {
        ("Enable", "Enable body", "Lets it go on.")
    } else {
        ("Disable", "Disable body", "Stops it and hides it; its particles stay.")
    };
    let clicked = field::buttons(
        ui,
        &[
            (
                RichText::new("Restart"),
                "Restart body",
                "Builds it anew where its Transform is, and revives it after a fault.",
                true,
            ),
            (RichText::new(word), name, tooltip, true),
            (
                RichText::new("Despawn").color(theme::DANGER),
                "Despawn body",
                "Removes it, its particles and its constraints. There is no way back.",
                true,
            ),
        ],
    );
    match clicked {
        Some(0) => world.trigger(Rebuild { entity: body }),
        Some(1) => {
            let Ok(mut entity) = world.get_entity_mut(body) else { return false };
            if disabled {
                entity.remove::<Disabled>();
            } else {
                entity.insert(Disabled);
            }
        }
        Some(_) => {
            if let Ok(entity) = world.get_entity_mut(body) {
                entity.despawn();
            }
            world.resource_mut::<Inspector>().selected = None;
            return false;
        }
        None => {}
    }
    true
}

/// Where it is: an edit teleports it.
fn place(ui: &mut Ui, world: &mut World, body: Entity) {
    let Some(transform) = world.get::<Transform>(body).copied() else { return };
    field::section(ui, "Place", false, |ui| {
        let mut edited = transform;
        let at = Number::new("m", -1e6..=1e6, 0.02).row_vec3(
            ui,
            "Position",
            "Of its Transform. It is teleported there: nothing is swept or blended on the way.",
            &mut edited.translation,
        );
        let (axis, angle) = transform.rotation.to_axis_angle();
        let still = angle.abs() < 1e-4;
        let about_z = still || axis.z.abs() > 0.999;
        let before = if still { 0.0 } else { axis.z.signum() * angle.to_degrees() };
        let before = (10.0 * before).round() / 10.0;
        let mut degrees = if before > 180.0 { before - 360.0 } else { before };
        let mut turned = false;
        if about_z {
            let tooltip = "About z. It is teleported, turned.";
            turned = Number::new("°", -180.0..=180.0, 0.5).row(ui, "Turn", tooltip, &mut degrees);
        } else {
            field::note(ui, "It is turned about another axis than z.");
        }
        if turned {
            edited.rotation = Quat::from_rotation_z(degrees.to_radians());
        }
        if at || turned {
            // It takes a place in the world.
            let parent = world.get::<ChildOf>(body).map(ChildOf::parent);
            let parent = parent.and_then(|parent| world.get::<GlobalTransform>(parent).copied());
            let to = parent.map_or(edited, |parent| (parent * edited).compute_transform());
            world.trigger(Teleport { entity: body, to });
        }
    });
}
