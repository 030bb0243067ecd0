//! The second tab's list: what is alive, and how it is.

use super::{Inspector, Panel, Troubles, field, number, theme};
use crate::{
    constraint::Constraints,
    particle::Particles,
    recipe::{Cloth, ClothShape, Rope, SpriteRagdoll},
    solver::{Activity, Faulty, SolverView},
};
use bevy::{
    ecs::{entity::EntityHashMap, entity_disabling::Disabled, query::Allow, system::SystemState},
    prelude::*,
};
use bevy_egui::egui::{
    self, Align2, Color32, Pos2, Rect, Response, Sense, Stroke, Ui, WidgetInfo, WidgetType, pos2,
    vec2,
};

/// How a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Awake,
    Asleep,
    /// Another body is being settled.
    Held,
    Disabled,
    /// Its recipe waits for assets.
    Waiting,
    /// Its recipe cannot be built.
    Failed,
    Faulty,
}

impl State {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Awake => "awake",
            Self::Asleep => "asleep",
            Self::Held => "held while another settles",
            Self::Disabled => "disabled",
            Self::Waiting => "waiting for assets",
            Self::Failed => "cannot be built",
            Self::Faulty => "faulty",
        }
    }

    pub(super) const fn color(self) -> Color32 {
        match self {
            Self::Awake => theme::GOOD,
            Self::Asleep | Self::Disabled => theme::IDLE,
            Self::Held | Self::Waiting => theme::WARNING,
            Self::Failed | Self::Faulty => theme::DANGER,
        }
    }

    /// Its sign, which can be told without its colour: a disc, a ring, a dash, a cross.
    pub(super) fn draw(self, ui: &Ui, at: Pos2) {
        let (painter, color) = (ui.painter(), self.color());
        match self {
            Self::Awake => {
                painter.circle_filled(at, 4.0, color);
            }
            Self::Asleep | Self::Waiting => {
                painter.circle_stroke(at, 3.5, Stroke::new(1.5, color));
            }
            Self::Held | Self::Disabled => {
                let (from, to) = (at - vec2(4.0, 0.0), at + vec2(4.0, 0.0));
                painter.line_segment([from, to], Stroke::new(2.0, color));
            }
            Self::Failed | Self::Faulty => {
                for flip in [-1.0, 1.0] {
                    let arm = vec2(3.5, 3.5 * flip);
                    painter.line_segment([at - arm, at + arm], Stroke::new(2.0, color));
                }
            }
        }
    }
}

type Filter =
    (Or<(With<Particles>, With<Cloth>, With<Rope>, With<SpriteRagdoll>)>, Allow<Disabled>);

/// The bodies of this frame, and what reads them.
#[derive(Default)]
pub(super) struct Known {
    query: Option<QueryState<Entity, Filter>>,
    view: Option<SystemState<SolverView<'static>>>,
    all: Vec<Entity>,
    activities: EntityHashMap<Activity>,
    /// What names are searched for.
    find: String,
    /// Those of `all` whose names contain it.
    found: Vec<Entity>,
}

impl Known {
    fn read(&mut self, world: &mut World) {
        let query = self.query.get_or_insert_with(|| world.query_filtered());
        self.all.clear();
        self.all.extend(query.iter(world));
        self.all.sort_unstable_by_key(|body| order(*body));
        self.activities.clear();
        let view = self.view.get_or_insert_with(|| SystemState::new(world));
        if let Ok(view) = view.get(world) {
            self.activities.extend(view.bodies());
        }
    }

    fn search(&mut self, world: &World) {
        self.found.clear();
        let wanted = self.find.trim().to_lowercase();
        if wanted.is_empty() {
            self.found.extend_from_slice(&self.all);
        } else {
            let fits = |body: &&Entity| title(world, **body).to_lowercase().contains(&wanted);
            self.found.extend(self.all.iter().filter(fits));
        }
    }

    /// How a body is.
    pub(super) fn state(&self, world: &World, body: Entity) -> State {
        if world.get::<Disabled>(body).is_some() {
            State::Disabled
        } else if world.get::<Faulty>(body).is_some() {
            State::Faulty
        } else if world.get::<Particles>(body).is_none() {
            let failed = world.get_resource::<Troubles>().is_some_and(|t| t.0.contains_key(&body));
            if failed { State::Failed } else { State::Waiting }
        } else {
            match self.activities.get(&body) {
                Some(Activity::Faulty) => State::Faulty,
                Some(Activity::Asleep) => State::Asleep,
                Some(Activity::Waiting) => State::Held,
                Some(Activity::Disabled) => State::Disabled,
                Some(Activity::Awake) | None => State::Awake,
            }
        }
    }
}

/// Bodies are listed as they were spawned, as far as numbers tell.
fn order(body: Entity) -> (u32, u64) {
    (body.index_u32(), body.to_bits())
}

/// What a body is, by its recipe: one of ours, or the user's by the name of its component.
pub(super) fn kind(world: &World, body: Entity) -> String {
    if let Some(cloth) = world.get::<Cloth>(body) {
        return match cloth.shape {
            ClothShape::Grid { .. } => "Cloth".into(),
            ClothShape::Mesh { .. } => "Mesh cloth".into(),
        };
    }
    if world.get::<Rope>(body).is_some() {
        return "Rope".into();
    }
    if world.get::<SpriteRagdoll>(body).is_some() {
        return "Ragdoll".into();
    }
    foreign_component(world, body).map_or_else(|| "Particles".into(), |name| number::title(&name))
}

/// The name of the first component that is neither Bevy's nor ours.
fn foreign_component(world: &World, body: Entity) -> Option<String> {
    let components = world.inspect_entity(body).ok()?;
    let is_foreign = |path: &str| {
        let from = ["bevy", "core::", "alloc::", "std::"];
        path.contains("::") && !from.iter().any(|start| path.starts_with(start))
    };
    let path = components.map(|info| info.name().to_string()).find(|path| is_foreign(path))?;
    path.rsplit("::").next().map(str::to_owned)
}

/// The name of a body, or what it is and its number.
pub(super) fn title(world: &World, body: Entity) -> String {
    match world.get::<Name>(body) {
        Some(name) => name.to_string(),
        None => format!("{} {body}", kind(world, body)),
    }
}

pub(super) fn counts(world: &World, body: Entity) -> (usize, usize) {
    (
        world.get::<Particles>(body).map_or(0, RelationshipTarget::len),
        world.get::<Constraints>(body).map_or(0, RelationshipTarget::len),
    )
}

/// Rows of the list that are seen without scrolling.
const ROWS: usize = 6;
/// Height of a row (points).
const ROW: f32 = 22.0;
/// From so many bodies on they can be searched.
const MANY: usize = 9;
/// Where the columns of numbers end, from the right (points).
const PARTICLES: f32 = 74.0;
const CONSTRAINTS: f32 = 8.0;

/// The list of bodies; only the rows in sight are laid out.
pub(super) fn list(ui: &mut Ui, world: &mut World, panel: &mut Panel) {
    let Panel { bodies: known, marked, .. } = panel;
    known.read(world);
    forget_what_is_gone(world, &known.all);
    if known.all.is_empty() {
        field::note(ui, "No bodies yet. Spawn a recipe: Cloth, Rope or SpriteRagdoll.");
        return;
    }
    if known.all.len() >= MANY {
        let hint = format!("Find among {} bodies", number::grouped(known.all.len()));
        let edit = egui::TextEdit::singleline(&mut known.find)
            .hint_text(hint)
            .margin(vec2(8.0, 3.0))
            .desired_width(f32::INFINITY);
        let response = ui.add(edit);
        field::name(ui, &response, "Find body");
    } else {
        known.find.clear();
    }
    known.search(world);
    columns(ui);
    let mut chosen = None;
    egui::Frame::new().fill(theme::WELL).corner_radius(5.0).inner_margin(2.0).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        egui::ScrollArea::vertical()
            .id_salt("pliant bodies")
            .max_height(ROW * ROWS.min(known.found.len().max(1)) as f32)
            .auto_shrink([false, true])
            .show_rows(ui, ROW, known.found.len(), |ui, rows| {
                for &body in known.found.get(rows).unwrap_or_default() {
                    let response = entry(ui, world, body, known.state(world, body));
                    if response.clicked() {
                        chosen = Some(body);
                    }
                    if response.hovered() {
                        *marked = Some(body);
                    }
                }
            });
        if known.found.is_empty() {
            field::note(ui, "None of this name.");
        }
    });
    ui.add_space(2.0);
    if chosen.is_some() {
        world.resource_mut::<Inspector>().selected = chosen;
    }
}

/// What is selected, and what there is to tell of bodies, may be gone.
fn forget_what_is_gone(world: &mut World, bodies: &[Entity]) {
    let gone = |body: &Entity| bodies.binary_search_by_key(&order(*body), |b| order(*b)).is_err();
    let selected = world.resource::<Inspector>().selected;
    if selected.as_ref().is_some_and(gone) {
        world.resource_mut::<Inspector>().selected = None;
    }
    if let ([only], None) = (bodies, world.resource::<Inspector>().selected) {
        world.resource_mut::<Inspector>().selected = Some(*only);
    }
    if world.resource::<Troubles>().0.keys().any(gone) {
        world.resource_mut::<Troubles>().0.retain(|body, _| !gone(body));
    }
}

/// The heads of the columns.
fn columns(ui: &mut Ui) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 15.0), Sense::hover());
    let head = |x: f32, align: Align2, text: &str| {
        let at = pos2(x, rect.center().y);
        ui.painter().text(at, align, text, theme::font(11.0), theme::WEAK);
    };
    head(rect.left() + 24.0, Align2::LEFT_CENTER, "Body");
    head(rect.right() - PARTICLES - 2.0, Align2::RIGHT_CENTER, "particles");
    head(rect.right() - CONSTRAINTS - 2.0, Align2::RIGHT_CENTER, "constraints");
}

/// One row.
fn entry(ui: &mut Ui, world: &World, body: Entity, state: State) -> Response {
    let selected = world.resource::<Inspector>().selected == Some(body);
    let title = title(world, body);
    let (particles, constraints) = counts(world, body);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW), Sense::click());
    response
        .widget_info(|| WidgetInfo::selected(WidgetType::SelectableLabel, true, selected, &title));
    if selected || response.hovered() {
        let fill = if selected { theme::ACCENT_FILL } else { theme::SECTION };
        ui.painter().rect_filled(rect, 4.0, fill);
    }
    state.draw(ui, rect.left_center() + vec2(12.0, 0.0));
    let weak = if selected { theme::TEXT } else { theme::WEAK };
    let right = |inset: f32, count: usize| {
        let at = rect.right_center() - vec2(inset, 0.0);
        let text = if count == 0 { "–".to_owned() } else { number::grouped(count) };
        ui.painter().text(at, Align2::RIGHT_CENTER, text, theme::font(12.0), weak)
    };
    let first = right(PARTICLES, particles);
    right(CONSTRAINTS, constraints);
    let color = if selected { theme::STRONG } else { theme::TEXT };
    let room = Rect::from_min_max(rect.min, pos2(first.left() - 6.0, rect.bottom()));
    ui.painter().with_clip_rect(room.intersect(ui.clip_rect())).text(
        rect.left_center() + vec2(22.0, 0.0),
        Align2::LEFT_CENTER,
        &title,
        theme::font(13.0),
        color,
    );
    field::focus_ring(ui, &response);
    let text = || {
        let (particles, constraints) = (number::grouped(particles), number::grouped(constraints));
        let kind = kind(world, body);
        format!("{kind}, {}. {particles} particles, {constraints} constraints.", state.word())
    };
    response.on_hover_ui(|ui| field::explain(ui, &title, &text(), ""))
}
