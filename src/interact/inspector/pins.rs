//! The pins of a body: which particles are held, and by what.

use super::field::{self, Number};
use crate::particle::{ParticleIndex, Particles, Pinned, PinnedTo};
use bevy::{platform::time::Instant, prelude::*};
use bevy_egui::egui::{self, RichText, Ui};
use core::time::Duration;

/// How often pins are looked for anew.
const EVERY: Duration = Duration::from_millis(250);

/// A held particle.
#[derive(Clone, Copy, Debug)]
struct Pin {
    index: u32,
    particle: Entity,
    anchor: Option<Entity>,
}

/// The pins of one body, kept between frames.
#[derive(Resource, Default)]
struct Cache {
    body: Option<Entity>,
    found: Option<Instant>,
    pins: Vec<Pin>,
    /// The index in the field.
    chosen: u32,
}

fn find(world: &World, body: Entity) -> Vec<Pin> {
    let members = world.get::<Particles>(body).map_or(&[][..], |members| members);
    let mut pins: Vec<Pin> = members
        .iter()
        .filter_map(|&particle| {
            let entity = world.get_entity(particle).ok()?;
            let anchor = entity.get::<PinnedTo>().map(|pin| pin.anchor);
            if anchor.is_none() && !entity.contains::<Pinned>() {
                return None;
            }
            Some(Pin { index: entity.get::<ParticleIndex>()?.0, particle, anchor })
        })
        .collect();
    pins.sort_unstable_by_key(|pin| pin.index);
    pins
}

/// What is to be done to particles.
enum Act {
    Pin(u32),
    Unpin(Vec<Entity>),
}

pub(super) fn show(ui: &mut Ui, world: &mut World, body: Entity) {
    let count = world.get::<Particles>(body).map_or(0, |members| members.len());
    if count == 0 {
        return;
    }
    let mut cache = world.remove_resource::<Cache>().unwrap_or_default();
    let now = Instant::now();
    let fresh = |at: Instant| now.saturating_duration_since(at) < EVERY;
    if cache.body != Some(body) || !cache.found.is_some_and(fresh) {
        let pins = find(world, body);
        cache = Cache { body: Some(body), found: Some(now), pins, chosen: cache.chosen };
    }
    let mut act = None;
    field::section(ui, "Pins", false, |ui| {
        act = rows(ui, body, &cache.pins, &mut cache.chosen, count);
    });
    match &act {
        Some(Act::Pin(index)) => pin(world, body, *index),
        Some(Act::Unpin(particles)) => unpin(world, particles),
        None => {}
    }
    if act.is_some() {
        cache.found = None;
    }
    world.insert_resource(cache);
}

fn rows(ui: &mut Ui, body: Entity, pins: &[Pin], chosen: &mut u32, count: usize) -> Option<Act> {
    let mut act = None;
    let last = count.saturating_sub(1) as f64;
    Number::whole("", 0.0..=last).row_u32(ui, "Particle", "Its index in the body.", chosen);
    ui.horizontal(|ui| {
        let tooltip = "Holds this particle where it is. Scene: right-click a particle.";
        if ui.button("Pin").on_hover_text(tooltip).clicked() {
            act = Some(Act::Pin(*chosen));
        }
        if ui.button("Unpin").on_hover_text("Lets this particle go").clicked() {
            let found = pins.iter().filter(|pin| pin.index == *chosen);
            act = Some(Act::Unpin(found.map(|pin| pin.particle).collect()));
        }
        let all = egui::Button::new("Unpin all");
        let response = ui.add_enabled(!pins.is_empty(), all);
        if response.on_hover_text("Lets all particles of the body go").clicked() {
            act = Some(Act::Unpin(pins.iter().map(|pin| pin.particle).collect()));
        }
    });
    let height = ui.spacing().interact_size.y;
    egui::ScrollArea::vertical()
        .id_salt("pliant pins")
        .max_height(5.0 * (height + ui.spacing().item_spacing.y))
        .auto_shrink([false, true])
        .show_rows(ui, height, pins.len(), |ui, shown| {
            for pin in &pins[shown] {
                ui.horizontal(|ui| {
                    let held = match pin.anchor {
                        Some(anchor) if anchor == body => "to its body".to_owned(),
                        Some(anchor) => format!("to {anchor}"),
                        None => "in place".to_owned(),
                    };
                    ui.label(RichText::new(format!("{} {held}", pin.index)).weak());
                    ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                        let response = ui.small_button("✕");
                        field::name(ui, &response, &format!("Unpin particle {}", pin.index));
                        if response.on_hover_text("Lets it go").clicked() {
                            act = Some(Act::Unpin(vec![pin.particle]));
                        }
                    });
                });
            }
        });
    if pins.is_empty() {
        field::note(ui, "None.");
    }
    act
}

fn pin(world: &mut World, body: Entity, index: u32) {
    let members: Vec<Entity> =
        world.get::<Particles>(body).map_or_else(Vec::new, |members| members.to_vec());
    let found = members
        .into_iter()
        .find(|member| world.get::<ParticleIndex>(*member).is_some_and(|i| i.0 == index));
    if let Some(mut particle) = found.and_then(|member| world.get_entity_mut(member).ok())
        && !particle.contains::<PinnedTo>()
    {
        particle.insert(Pinned);
    }
}

fn unpin(world: &mut World, particles: &[Entity]) {
    for particle in particles {
        if let Ok(mut particle) = world.get_entity_mut(*particle) {
            particle.remove::<(Pinned, PinnedTo)>();
        }
    }
}
