//! The third tab: what is drawn.

use super::{
    field::{self, Number},
    number, theme,
};
use crate::{
    interact::gizmos::{SleepGizmos, StrainGizmos, VIEWS, View},
    recipe::{ClothMesh, DerivedMesh},
    skin::CharacterSkin,
    solver::Activity,
};
use bevy::{
    camera::visibility::Visibility,
    ecs::{entity_disabling::Disabled, query::Allow},
    gizmos::config::GizmoConfigStore,
    prelude::*,
};
use bevy_egui::egui::{
    self, Align2, Color32, Rect, Sense, StrokeKind, Ui, WidgetInfo, WidgetType, pos2, vec2,
};
use core::any::TypeId;

pub(super) fn show(ui: &mut Ui, world: &mut World) {
    let Some(store) = world.get_resource::<GizmoConfigStore>() else {
        skins(ui, world);
        return field::note(ui, "No Bevy GizmoPlugin in the app: there are no other views.");
    };
    if VIEWS.iter().all(|view| store.get_config_dyn(&view.group()).is_none()) {
        skins(ui, world);
        let text = "No GizmoPlugin of bevy_pliant in the app: there are no other views.";
        return field::note(ui, text);
    }
    world.resource_scope(|world, mut store: Mut<GizmoConfigStore>| {
        let [shape, state] = groups();
        field::section(ui, "Shape", true, |ui| {
            skins(ui, world);
            shape.iter().for_each(|view| entry(ui, view, &mut store));
        });
        field::section(ui, "State", true, |ui| {
            state.iter().for_each(|view| entry(ui, view, &mut store));
        });
        ui.add_space(2.0);
        lines(ui, &mut store);
    });
}

/// The views by what they tell: the first five of the shape of bodies, the others of what the solver does.
fn groups() -> [&'static [View]; 2] {
    let (shape, state) = VIEWS.split_at(VIEWS.len().min(5));
    [shape, state]
}

/// A body's mesh or picture that the panel hid, and how it was seen before.
#[derive(Component, Clone, Copy, Debug)]
struct HiddenByPanel(Visibility);

type Skins = (Or<(With<DerivedMesh>, With<CharacterSkin>, With<ClothMesh>)>, Allow<Disabled>);

/// Whether the bodies themselves are drawn.
fn skins(ui: &mut Ui, world: &mut World) {
    let mut hidden = world.query_filtered::<(), (With<HiddenByPanel>, Allow<Disabled>)>();
    let mut shown = hidden.iter(world).next().is_none();
    let tooltip = "The meshes and pictures of the bodies. Hide them to see lines and dots alone.";
    let changed = field::toggle(ui, "Draw bodies", tooltip, &mut shown);
    if changed && shown {
        let mut all =
            world.query_filtered::<(Entity, &HiddenByPanel, &mut Visibility), Allow<Disabled>>();
        let back: Vec<Entity> = all
            .iter_mut(world)
            .map(|(entity, before, mut visibility)| {
                visibility.set_if_neq(before.0);
                entity
            })
            .collect();
        for entity in back {
            world.entity_mut(entity).remove::<HiddenByPanel>();
        }
    } else if !shown {
        // Also what was spawned since.
        let mut all =
            world.query_filtered::<(Entity, &mut Visibility), (Skins, Without<HiddenByPanel>)>();
        let new: Vec<(Entity, Visibility)> = all
            .iter_mut(world)
            .map(|(entity, mut visibility)| {
                let before = *visibility;
                visibility.set_if_neq(Visibility::Hidden);
                (entity, before)
            })
            .collect();
        for (entity, before) in new {
            world.entity_mut(entity).insert(HiddenByPanel(before));
        }
    }
}

/// One view: a switch, and where it is on what its colours mean.
fn entry(ui: &mut Ui, view: &View, store: &mut Mut<GizmoConfigStore>) {
    let mut on = view.is_on(store);
    let is = |group: TypeId| view.group() == group;
    if field::toggle(ui, view.name, view.tooltip, &mut on) {
        view.set(store, on);
    }
    if !on {
        return;
    }
    if is(TypeId::of::<StrainGizmos>()) {
        strain(ui, store);
    } else if is(TypeId::of::<SleepGizmos>()) {
        sleep(ui, store);
    }
}

fn color_of(color: impl Into<Srgba>) -> Color32 {
    let [r, g, b] = color.into().to_u8_array_no_alpha();
    Color32::from_rgb(r, g, b)
}

/// The range of the colours of strain, and what they stand for.
fn strain(ui: &mut Ui, store: &mut Mut<GizmoConfigStore>) {
    let mut settings = store.config::<StrainGizmos>().1.clone();
    legend(ui, &settings);
    let mut percent = 100.0 * settings.range;
    let tooltip = "The strain at which the colours end. A smaller range shows smaller strains.";
    if Number::wide("%", 0.001..=1000.0, 0.01).row(ui, "Strain range", tooltip, &mut percent) {
        settings.range = percent / 100.0;
        store.config_mut::<StrainGizmos>().1.range = settings.range;
    }
}

/// Steps of the legend.
const STEPS: usize = 48;

/// A bar with the colours of strain from −range to range.
fn legend(ui: &mut Ui, settings: &StrainGizmos) {
    let size = vec2(ui.available_width(), 30.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let bar = Rect::from_min_max(
        rect.left_top() + vec2(4.0, 2.0),
        pos2(rect.right() - 4.0, rect.top() + 13.0),
    );
    let mut mesh = egui::Mesh::default();
    for i in 0..=STEPS {
        let t = i as f32 / STEPS as f32;
        let x = egui::lerp(bar.x_range(), t);
        let color = color_of(settings.color((2.0 * t - 1.0) * settings.range));
        mesh.colored_vertex(pos2(x, bar.top()), color);
        mesh.colored_vertex(pos2(x, bar.bottom()), color);
        if i > 0 {
            let n = 2 * i as u32;
            mesh.add_triangle(n - 2, n - 1, n);
            mesh.add_triangle(n - 1, n + 1, n);
        }
    }
    ui.painter().add(mesh);
    ui.painter().rect_stroke(bar, 1.0, egui::Stroke::new(1.0, theme::LINE), StrokeKind::Outside);
    response.widget_info(|| {
        WidgetInfo::labeled(
            WidgetType::Image,
            true,
            "Legend of strain: compressed, at rest, stretched",
        )
    });
    let end = number::format(f64::from(100.0 * settings.range), false, true);
    let y = rect.bottom() - 7.0;
    for (x, align, text) in [
        (bar.left(), Align2::LEFT_CENTER, format!("−{end} % compressed")),
        (bar.center().x, Align2::CENTER_CENTER, "rest".to_owned()),
        (bar.right(), Align2::RIGHT_CENTER, format!("stretched +{end} %")),
    ] {
        ui.painter().text(pos2(x, y), align, text, theme::font(11.0), theme::WEAK);
    }
    field::hint(response, "Strain", "Length over rest length, less one.");
}

/// What the colours of sleep stand for.
fn sleep(ui: &mut Ui, store: &mut Mut<GizmoConfigStore>) {
    let settings = store.config::<SleepGizmos>().1;
    let size = vec2(ui.available_width(), 18.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let mut x = rect.left() + 8.0;
    for (activity, word) in [
        (Activity::Awake, "awake"),
        (Activity::Asleep, "asleep"),
        (Activity::Faulty, "faulty"),
        (Activity::Waiting, "waiting"),
    ] {
        let color = color_of(settings.color(Some(activity)));
        ui.painter().circle_filled(pos2(x, rect.center().y), 4.0, color);
        let at = pos2(x + 8.0, rect.center().y);
        let text = ui.painter().text(at, Align2::LEFT_CENTER, word, theme::font(11.5), theme::WEAK);
        x = text.right() + 14.0;
    }
    response.widget_info(|| {
        WidgetInfo::labeled(
            WidgetType::Image,
            true,
            "Legend of sleep: awake, asleep, faulty, waiting",
        )
    });
}

/// Width of the lines of all views.
fn lines(ui: &mut Ui, store: &mut Mut<GizmoConfigStore>) {
    // That of a view which is on, as it is what is seen.
    let of = |view: &View| store.get_config_dyn(&view.group()).map(|(config, _)| config.line.width);
    let shown = VIEWS.iter().find(|view| view.is_on(store)).and_then(of);
    let Some(mut width) = shown.or_else(|| VIEWS.iter().find_map(of)) else { return };
    let tooltip = "Of the lines of all views.";
    if Number::new("px", 0.5..=20.0, 0.05).row(ui, "Line width", tooltip, &mut width) {
        for view in VIEWS {
            if let Some((config, _)) = store.get_config_mut_dyn(&view.group()) {
                config.line.width = width;
            }
        }
    }
}
