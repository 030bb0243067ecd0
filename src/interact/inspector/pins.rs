//! The pins of a body: which particles are held, and by what.

use super::{
    field::{self, Number},
    number, theme,
};
use crate::particle::{Particle, ParticleIndex, Particles, Pinned, PinnedTo};
use bevy::{platform::time::Instant, prelude::*};
use bevy_egui::egui::{
    self, Align2, Rect, RichText, Sense, Stroke, Ui, WidgetInfo, WidgetType, pos2, vec2,
};
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
#[derive(Debug, Default)]
pub(super) struct Known {
    body: Option<Entity>,
    found: Option<Instant>,
    pins: Vec<Pin>,
    /// The index in the field.
    chosen: u32,
}

impl Known {
    fn refresh(&mut self, world: &World, body: Entity) {
        let now = Instant::now();
        let recent = self.found.is_some_and(|at| now.saturating_duration_since(at) < EVERY);
        if self.body != Some(body) || !recent {
            let pins = find(world, body);
            *self = Self { body: Some(body), found: Some(now), pins, chosen: self.chosen };
        }
    }
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

pub(super) fn show(ui: &mut Ui, world: &mut World, body: Entity, known: &mut Known) {
    let count = world.get::<Particles>(body).map_or(0, RelationshipTarget::len);
    if count == 0 {
        return;
    }
    let mut act = None;
    field::section(ui, "Pins", false, |ui| {
        known.refresh(world, body);
        act = rows(ui, world, body, &known.pins, &mut known.chosen, count);
    });
    match &act {
        Some(Act::Pin(index)) => pin(world, body, *index),
        Some(Act::Unpin(particles)) => unpin(world, particles),
        None => {}
    }
    if act.is_some() {
        known.found = None;
    }
}

fn rows(
    ui: &mut Ui,
    world: &World,
    body: Entity,
    pins: &[Pin],
    chosen: &mut u32,
    count: usize,
) -> Option<Act> {
    let mut act = None;
    let last = count.saturating_sub(1) as f64;
    let tooltip =
        "Its index in the body: by rows from the upper left, along a rope, or a bone's number.";
    *chosen = (*chosen).min(last as u32);
    Number::whole("", 0.0..=last).row_u32(ui, "Particle", tooltip, chosen);
    let is_pinned = pins.iter().any(|pin| pin.index == *chosen);
    let clicked = field::buttons(
        ui,
        &[
            (
                RichText::new("Pin"),
                "Pin particle",
                "Holds it where it is. In the scene: right-click it.",
                !is_pinned,
            ),
            (RichText::new("Unpin"), "Unpin particle", "Lets it go.", is_pinned),
            (
                RichText::new("Unpin all"),
                "Unpin all",
                "Lets all particles of the body go.",
                !pins.is_empty(),
            ),
        ],
    );
    let of = |fits: &dyn Fn(&Pin) -> bool| {
        Act::Unpin(pins.iter().filter(|pin| fits(pin)).map(|pin| pin.particle).collect())
    };
    match clicked {
        Some(0) => act = Some(Act::Pin(*chosen)),
        Some(1) => act = Some(of(&|pin| pin.index == *chosen)),
        Some(_) => act = Some(of(&|_| true)),
        None => {}
    }
    field::heading(ui, "Held particles", &number::grouped(pins.len()));
    if pins.is_empty() {
        return act;
    }
    egui::Frame::new().fill(theme::WELL).corner_radius(5.0).inner_margin(2.0).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        egui::ScrollArea::vertical()
            .id_salt("pliant pins")
            .max_height(5.0 * theme::ROW)
            .auto_shrink([false, true])
            .show_rows(ui, theme::ROW, pins.len(), |ui, shown| {
                for pin in pins.get(shown).unwrap_or_default() {
                    if entry(ui, world, body, pin) {
                        act = Some(Act::Unpin(vec![pin.particle]));
                    }
                }
            });
    });
    act
}

/// One pin; whether it shall go.
fn entry(ui: &mut Ui, world: &World, body: Entity, pin: &Pin) -> bool {
    let size = vec2(ui.available_width(), theme::ROW);
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let held = match pin.anchor {
        Some(anchor) if anchor == body => "by its body".to_owned(),
        Some(anchor) => match world.get::<Name>(anchor) {
            Some(name) => format!("by {name}"),
            None => format!("by {anchor}"),
        },
        None => "in place".to_owned(),
    };
    let painter = ui.painter();
    let at = rect.left_center() + vec2(10.0, 0.0);
    painter.circle_filled(at, 3.0, theme::ACCENT);
    let text = match world.get::<Name>(pin.particle) {
        Some(name) => format!("{}  {name}", pin.index),
        None => pin.index.to_string(),
    };
    let left = rect.left_center() + vec2(20.0, 0.0);
    painter.text(left, Align2::LEFT_CENTER, text, theme::font(13.0), theme::TEXT);
    let right = rect.right_center() - vec2(30.0, 0.0);
    painter.text(right, Align2::RIGHT_CENTER, held, theme::font(12.0), theme::WEAK);
    let place =
        Rect::from_center_size(pos2(rect.right() - 14.0, rect.center().y), vec2(20.0, 20.0));
    let response = ui.interact(place, ui.id().with(pin.particle), Sense::click());
    response.widget_info(|| {
        WidgetInfo::labeled(WidgetType::Button, true, format!("Unpin particle {}", pin.index))
    });
    if response.hovered() {
        ui.painter().rect_filled(place, 4.0, theme::FIELD);
    }
    for flip in [-1.0, 1.0] {
        let arm = vec2(3.5, 3.5 * flip);
        let line = [place.center() - arm, place.center() + arm];
        ui.painter().line_segment(line, Stroke::new(1.5, theme::WEAK));
    }
    field::focus_ring(ui, &response);
    field::hint(response, "Unpin", "Lets this particle go.").clicked()
}

fn pin(world: &mut World, body: Entity, index: u32) {
    let members: Vec<Entity> =
        world.get::<Particles>(body).map_or_else(Vec::new, |members| members.to_vec());
    let is_it = |member: &Entity| world.get::<ParticleIndex>(*member).is_some_and(|i| i.0 == index);
    let found = members.into_iter().find(is_it);
    if let Some(mut particle) = found.and_then(|member| world.get_entity_mut(member).ok())
        && particle.contains::<Particle>()
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
