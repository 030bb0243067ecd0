//! The third tab: what is drawn.

use super::field::{self, Number};
use crate::{
    interact::gizmos::{StrainGizmos, VIEWS},
    particle::Particles,
};
use bevy::{
    camera::visibility::Visibility,
    ecs::{entity_disabling::Disabled, query::Allow},
    gizmos::config::GizmoConfigStore,
    prelude::*,
};
use bevy_egui::egui::{self, Color32, Ui};

pub(super) fn show(ui: &mut Ui, world: &mut World) {
    skins(ui, world);
    if !world.contains_resource::<GizmoConfigStore>() {
        field::note(ui, "No Bevy GizmoPlugin in the app: there are no other views.");
        return;
    }
    ui.separator();
    world.resource_scope(|_, mut store: Mut<GizmoConfigStore>| {
        for view in VIEWS {
            let mut on = view.is_on(&store);
            if field::tick(ui, view.name, view.tooltip, &mut on) {
                view.set(&mut store, on);
            }
            if on && view.group() == core::any::TypeId::of::<StrainGizmos>() {
                strain(ui, &mut store);
            }
        }
        ui.separator();
        lines(ui, &mut store);
    });
}

/// Whether the bodies themselves are drawn.
fn skins(ui: &mut Ui, world: &mut World) {
    let mut bodies = world.query_filtered::<&mut Visibility, (With<Particles>, Allow<Disabled>)>();
    let mut shown = bodies.iter(world).any(|visibility| *visibility != Visibility::Hidden);
    let tooltip = "The bodies as they are drawn. Hide them to see lines and dots alone.";
    if field::tick(ui, "Skin", tooltip, &mut shown) {
        let new = if shown { Visibility::Inherited } else { Visibility::Hidden };
        for mut visibility in bodies.iter_mut(world) {
            visibility.set_if_neq(new);
        }
    }
}

/// The range of the colours of strain, and what they stand for.
fn strain(ui: &mut Ui, store: &mut GizmoConfigStore) {
    let mut settings = store.config::<StrainGizmos>().1.clone();
    let mut percent = 100.0 * settings.range;
    let tooltip = "The strain at which the colours end.";
    if Number::wide("%", 0.001..=1000.0, 0.01).row(ui, "Strain range", tooltip, &mut percent) {
        settings.range = percent / 100.0;
        store.config_mut::<StrainGizmos>().1.range = settings.range;
    }
    legend(ui, &settings);
}

/// Steps of the legend.
const STEPS: usize = 64;

/// A bar with the colours of strain from −range to range.
fn legend(ui: &mut Ui, settings: &StrainGizmos) {
    let size = egui::vec2(ui.available_width(), 12.0);
    let (rect, response) = ui.allocate_exact_size(size, egui::Sense::hover());
    let color = |part: f32| {
        let color = Srgba::from(settings.color(part * settings.range)).to_u8_array_no_alpha();
        Color32::from_rgb(color[0], color[1], color[2])
    };
    let mut mesh = egui::Mesh::default();
    for i in 0..=STEPS {
        let t = i as f32 / STEPS as f32;
        let x = egui::lerp(rect.x_range(), t);
        let color = color(2.0 * t - 1.0);
        mesh.colored_vertex(egui::pos2(x, rect.top()), color);
        mesh.colored_vertex(egui::pos2(x, rect.bottom()), color);
        if i > 0 {
            let n = 2 * i as u32;
            mesh.add_triangle(n - 2, n - 1, n);
            mesh.add_triangle(n - 1, n + 1, n);
        }
    }
    ui.painter().add(mesh);
    field::name(ui, &response, "Legend of strain: compressed, at rest, stretched");
    response.on_hover_text("Length over rest length, less one");
    let end = field::format(f64::from(100.0 * settings.range));
    ui.horizontal(|ui| {
        field::note(ui, format!("−{end} %"));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            field::note(ui, format!("+{end} %"));
            ui.with_layout(
                egui::Layout::centered_and_justified(egui::Direction::LeftToRight),
                |ui| field::note(ui, "rest"),
            );
        });
    });
}

/// Width of the lines of all views.
fn lines(ui: &mut Ui, store: &mut GizmoConfigStore) {
    let first = VIEWS.iter().find_map(|view| store.get_config_dyn(&view.group()));
    let Some(mut width) = first.map(|(config, _)| config.line.width) else {
        field::note(ui, "No GizmoPlugin of bevy_pliant in the app: there are no views.");
        return;
    };
    let tooltip = "Of the lines of all views.";
    if Number::new("px", 0.5..=20.0, 0.05).row(ui, "Line width", tooltip, &mut width) {
        for view in VIEWS {
            if let Some((config, _)) = store.get_config_mut_dyn(&view.group()) {
                config.line.width = width;
            }
        }
    }
}
