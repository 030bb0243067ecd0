//! The second tab: what is alive, and the fields of the selected body.

use super::{
    Inspector, Troubles, body_settings, constraints,
    field::{self, BAD, GOOD, IDLE, Number, WARNING},
    pins, recipe,
    simulation::grouped,
};
use crate::{
    constraint::Constraints,
    particle::Particles,
    recipe::{Cloth, ClothShape, Rebuild, Rope, SpriteRagdoll},
    solver::{Activity, Faulty, SolverView, Teleport},
};
use bevy::{
    ecs::{entity_disabling::Disabled, query::Allow, system::SystemState},
    platform::collections::HashMap,
    prelude::*,
};
use bevy_egui::egui::{self, Color32, RichText, Ui};

/// How a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Awake,
    Asleep,
    Disabled,
    /// Its recipe waits for assets.
    Waiting,
    /// Its recipe cannot be built.
    Failed,
    Faulty,
}

impl State {
    const fn word(self) -> &'static str {
        match self {
            Self::Awake => "awake",
            Self::Asleep => "asleep",
            Self::Disabled => "disabled",
            Self::Waiting => "waiting for assets",
            Self::Failed => "cannot be built",
            Self::Faulty => "faulty",
        }
    }

    const fn color(self) -> Color32 {
        match self {
            Self::Awake => GOOD,
            Self::Asleep => IDLE,
            Self::Disabled | Self::Waiting => WARNING,
            Self::Failed | Self::Faulty => BAD,
        }
    }
}

type BodyFilter =
    (Or<(With<Particles>, With<Cloth>, With<Rope>, With<SpriteRagdoll>)>, Allow<Disabled>);

/// What a name is made of, where a body has none.
fn kind(world: &World, body: Entity) -> &'static str {
    if let Some(cloth) = world.get::<Cloth>(body) {
        match cloth.shape {
            ClothShape::Grid { .. } => "Cloth",
            ClothShape::Mesh { .. } => "Mesh cloth",
        }
    } else if world.get::<Rope>(body).is_some() {
        "Rope"
    } else if world.get::<SpriteRagdoll>(body).is_some() {
        "Ragdoll"
    } else {
        "Body"
    }
}

fn title(world: &World, body: Entity) -> String {
    match world.get::<Name>(body) {
        Some(name) => name.to_string(),
        None => format!("{} {body}", kind(world, body)),
    }
}

/// What each body of the last tick does.
fn activities(world: &mut World) -> HashMap<Entity, Activity> {
    let mut state = SystemState::<SolverView>::new(world);
    state.get(world).map(|view| view.bodies().collect()).unwrap_or_default()
}

fn state(world: &World, body: Entity, activities: &HashMap<Entity, Activity>) -> State {
    let troubled = world.get_resource::<Troubles>().is_some_and(|t| t.0.contains_key(&body));
    if world.get::<Disabled>(body).is_some() {
        State::Disabled
    } else if world.get::<Faulty>(body).is_some() {
        State::Faulty
    } else if world.get::<Particles>(body).is_none() {
        if troubled { State::Failed } else { State::Waiting }
    } else {
        match activities.get(&body) {
            Some(Activity::Faulty) => State::Faulty,
            Some(Activity::Asleep | Activity::Waiting) => State::Asleep,
            Some(Activity::Disabled) => State::Disabled,
            Some(Activity::Awake) | None => State::Awake,
        }
    }
}

fn particle_count(world: &World, body: Entity) -> usize {
    world.get::<Particles>(body).map_or(0, |particles| particles.len())
}

/// Rows of the list that are seen without scrolling.
const ROWS: usize = 6;

/// The list of bodies; only the rows in sight are laid out.
pub(super) fn list(ui: &mut Ui, world: &mut World) {
    let mut query = world.query_filtered::<Entity, BodyFilter>();
    let mut bodies: Vec<Entity> = query.iter(world).collect();
    bodies.sort_unstable();
    forget_what_is_gone(world, &bodies);
    if bodies.is_empty() {
        field::note(ui, "No bodies. Spawn a recipe, such as Cloth or SpriteRagdoll.");
        return;
    }
    let activities = activities(world);
    let height = ui.spacing().interact_size.y;
    let step = height + ui.spacing().item_spacing.y;
    let mut chosen = None;
    egui::ScrollArea::vertical()
        .id_salt("pliant bodies")
        .max_height(step * ROWS.min(bodies.len()) as f32)
        .auto_shrink([false, true])
        .show_rows(ui, height, bodies.len(), |ui, rows| {
            for &body in &bodies[rows] {
                if entry(ui, world, body, &activities) {
                    chosen = Some(body);
                }
            }
        });
    if chosen.is_some() {
        world.resource_mut::<Inspector>().selected = chosen;
    }
    ui.separator();
}

/// What is selected, and what there is to tell of bodies, may be gone.
fn forget_what_is_gone(world: &mut World, bodies: &[Entity]) {
    let gone = |body: &Entity| bodies.binary_search(body).is_err();
    if world.resource::<Inspector>().selected.as_ref().is_some_and(gone) {
        world.resource_mut::<Inspector>().selected = None;
    }
    if let [only] = bodies
        && world.resource::<Inspector>().selected.is_none()
    {
        world.resource_mut::<Inspector>().selected = Some(*only);
    }
    if world.resource::<Troubles>().0.keys().any(gone) {
        world.resource_mut::<Troubles>().0.retain(|body, _| !gone(body));
    }
}

/// One row; whether it was clicked.
fn entry(ui: &mut Ui, world: &World, body: Entity, activities: &HashMap<Entity, Activity>) -> bool {
    let state = state(world, body, activities);
    let selected = world.resource::<Inspector>().selected == Some(body);
    let title = title(world, body);
    let constraints = world.get::<Constraints>(body).map_or(0, |constraints| constraints.len());
    let particles = particle_count(world, body);
    let counts = format!("{} · {}", grouped(particles), grouped(constraints));
    let size = egui::vec2(ui.available_width(), ui.spacing().interact_size.y);
    let dot = RichText::new("●").color(state.color()).size(11.0);
    let weak = RichText::new(counts).weak().small();
    let button =
        egui::Button::selectable(selected, (dot, title.as_str(), egui::Atom::grow(), weak))
            .min_size(size)
            .truncate();
    let response = ui.add(button);
    field::name(ui, &response, &title);
    let text = format!(
        "{title}: {}, {}\n{} particles, {} constraints",
        kind(world, body).to_lowercase(),
        state.word(),
        grouped(particles),
        grouped(constraints)
    );
    response.on_hover_text(text).clicked()
}

/// The fields of the selected body.
pub(super) fn show(ui: &mut Ui, world: &mut World) {
    let Some(body) = world.resource::<Inspector>().selected else {
        field::note(ui, "Click a body, here or in the scene.");
        return;
    };
    heading(ui, world, body);
    ui.push_id(body, |ui| {
        recipe::show(ui, world, body);
        body_settings::show(ui, world, body);
        constraints::show(ui, world, body);
        pins::show(ui, world, body);
        place(ui, world, body);
    });
}

/// Name, kind, state with its reason, and what can be done to the whole body.
fn heading(ui: &mut Ui, world: &mut World, body: Entity) {
    let activities = activities(world);
    let state = state(world, body, &activities);
    ui.horizontal(|ui| {
        ui.label(RichText::new(title(world, body)).strong().size(15.0));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.label(RichText::new(state.word()).color(state.color()));
        });
    });
    let trouble = world.resource::<Troubles>().0.get(&body).cloned();
    if let Some(trouble) = trouble.filter(|_| matches!(state, State::Failed | State::Faulty)) {
        ui.label(RichText::new(trouble).color(BAD));
    }
    ui.horizontal(|ui| {
        let restart = "Builds it anew where its Transform is, or revives it after a fault";
        if ui.button("Restart body").on_hover_text(restart).clicked() {
            world.trigger(Rebuild { entity: body });
        }
        let disabled = world.get::<Disabled>(body).is_some();
        let (label, tooltip) = if disabled {
            ("Enable", "Lets it go on")
        } else {
            ("Disable", "Stops it and hides it; its particles stay")
        };
        if ui.button(label).on_hover_text(tooltip).clicked()
            && let Ok(mut entity) = world.get_entity_mut(body)
        {
            if disabled {
                entity.remove::<Disabled>();
            } else {
                entity.insert(Disabled);
            }
        }
        let despawn = egui::Button::new(RichText::new("Despawn").color(BAD));
        let response = ui.add(despawn).on_hover_text("Removes it, its particles and constraints");
        if response.clicked()
            && let Ok(entity) = world.get_entity_mut(body)
        {
            entity.despawn();
            world.resource_mut::<Inspector>().selected = None;
        }
    });
    ui.add_space(2.0);
}

/// Where it is: an edit teleports it.
fn place(ui: &mut Ui, world: &mut World, body: Entity) {
    let Some(transform) = world.get::<Transform>(body).copied() else { return };
    field::section(ui, "Place", false, |ui| {
        let mut edited = transform;
        let at = Number::new("m", -1e6..=1e6, 0.02).row_vec3(
            ui,
            "Position",
            "Teleports it: nothing is swept or blended on the way.",
            &mut edited.translation,
        );
        let (axis, angle) = transform.rotation.to_axis_angle();
        let mut degrees =
            if axis.z.abs() > 0.999 { axis.z.signum() * angle.to_degrees() } else { 0.0 };
        let about_z = transform.rotation.is_near_identity() || axis.z.abs() > 0.999;
        let tooltip = "Teleports it, turned about z.";
        let turned =
            about_z && Number::new("°", -180.0..=180.0, 0.5).row(ui, "Turn", tooltip, &mut degrees);
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
