//! The first tab: time, the solver's settings, and where the time goes.

use super::{
    field::{self, Number},
    timing,
};
use crate::{
    particle::Particles,
    recipe::Rebuild,
    solver::{Air, ProjectionOrder, SolverClock, SolverControl, SolverDiagnostics, SolverSettings},
};
use bevy::{prelude::*, tasks::ComputeTaskPool};
use bevy_egui::egui::{self, RichText, Ui};

/// What stands above all tabs: pause, step, restart, and how it goes.
pub(super) fn transport(ui: &mut Ui, world: &mut World) {
    let control = *world.resource::<SolverControl>();
    let clock = *world.resource::<SolverClock>();
    let diagnostics = world.resource::<SolverDiagnostics>();
    let ms = diagnostics.smooth_tick_ms;
    ui.horizontal(|ui| {
        let size = egui::vec2(30.0, 24.0);
        let (icon, label, tooltip) = if control.paused {
            ("▶", "Continue", "Lets the simulation go on")
        } else {
            ("⏸", "Pause", "Stops the simulation; bodies can still be edited and dragged")
        };
        if button(ui, size, icon, label, tooltip) {
            let mut control = world.resource_mut::<SolverControl>();
            control.paused = !control.paused;
            control.steps = 0;
        }
        if button(ui, size, "⏭", "Step", "Runs one tick, and stays paused") {
            world.resource_mut::<SolverControl>().step();
        }
        if button(ui, size, "⟲", "Restart", "Builds every body anew, and sets the time back to 0")
        {
            restart(world);
        }
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let time = RichText::new(format!("{:.2} s", clock.elapsed)).monospace();
            ui.label(time).on_hover_text(format!("Simulated time, {} ticks", clock.ticks));
            let text = RichText::new(format!("{ms:.2} ms")).monospace().weak();
            ui.label(text).on_hover_text("Time that a tick takes, smoothed over half a second");
        });
    });
}

fn button(ui: &mut Ui, size: egui::Vec2, icon: &str, label: &str, tooltip: &str) -> bool {
    let response = ui.add(egui::Button::new(RichText::new(icon).size(15.0)).min_size(size));
    field::name(ui, &response, label);
    response.on_hover_text(format!("{label}. {tooltip}.")).clicked()
}

fn restart(world: &mut World) {
    let mut bodies = world.query_filtered::<Entity, With<Particles>>();
    let bodies: Vec<Entity> = bodies.iter(world).collect();
    *world.resource_mut::<SolverClock>() = SolverClock::default();
    for entity in bodies {
        world.trigger(Rebuild { entity });
    }
}

pub(super) fn show(ui: &mut Ui, world: &mut World) {
    field::section(ui, "Time", true, |ui| time(ui, world));
    field::section(ui, "Solver", true, |ui| solver(ui, world));
    field::section(ui, "Air", false, |ui| air(ui, world));
    field::section(ui, "Time of a tick", true, |ui| timing::show(ui, world));
    field::section(ui, "Counts", false, |ui| counts(ui, world));
}

fn time(ui: &mut Ui, world: &mut World) {
    match world.get_resource::<Time<Virtual>>().map(Time::<Virtual>::relative_speed) {
        Some(speed) => {
            let mut edited = speed;
            let tooltip = "How fast the game's time goes: 1 is as it is, 0.1 slow motion.";
            let number = Number::new("×", 0.01..=4.0, 0.01);
            if number.row(ui, "Speed", tooltip, &mut edited) {
                world.resource_mut::<Time<Virtual>>().set_relative_speed(edited);
            }
        }
        None => field::note(ui, "No Time<Virtual> in the app."),
    }
    match world.get_resource::<Time<Fixed>>().map(Time::<Fixed>::timestep) {
        Some(step) => {
            let rate = step.as_secs_f32().max(1e-9).recip();
            let mut edited = (1e3 * rate).round() / 1e3;
            let tooltip = "Ticks a second. More of them follow fast motion more closely; the work \
                           grows with them.";
            let number = Number::new("Hz", 1.0..=1000.0, 0.25);
            if number.row(ui, "Tick rate", tooltip, &mut edited) {
                world.resource_mut::<Time<Fixed>>().set_timestep_hz(f64::from(edited));
            }
        }
        None => field::note(ui, "No Time<Fixed> in the app."),
    }
}

fn solver(ui: &mut Ui, world: &mut World) {
    let mut settings = world.resource::<SolverSettings>().clone();
    Number::whole("", 1.0..=200.0).row_u32(
        ui,
        "Substeps",
        "Parts of a tick. More of them make everything stiffer and keep more energy; the work grows \
         with them.",
        &mut settings.substeps,
    );
    Number::whole("", 1.0..=200.0).row_u32(
        ui,
        "Iterations",
        "Sweeps over all constraints in a substep. Substeps do more for the same work.",
        &mut settings.iterations,
    );
    let unit = f64::from(settings.length_unit.max(f32::MIN_POSITIVE));
    Number::new("m/s²", -100.0 * unit..=100.0 * unit, 0.05 * unit).row_vec3(
        ui,
        "Gravity",
        "Acceleration of everything.",
        &mut settings.gravity,
    );
    let tooltip = "Velocities decay as e^(−ct): 0 never, 10 like honey.";
    Number::new("1/s", 0.0..=100.0, 0.01).row(ui, "Damping", tooltip, &mut settings.damping);
    let tooltip = "The same for bodies whose particles turn, relative to their rigid motion: they \
                   stop to wobble, but go on to fly and spin.";
    let label = "Wobble damping";
    Number::new("1/s", 0.0..=100.0, 0.02).row(ui, label, tooltip, &mut settings.relative_damping);
    field::choose(
        ui,
        "Order",
        "In which order constraints are projected. Coloured: four at a time. Sequential: one by one as \
         they were made, as in a textbook; slower.",
        &mut settings.order,
        &[(ProjectionOrder::Colored, "Coloured"), (ProjectionOrder::Sequential, "Sequential")],
        "",
    );
    let threads = ComputeTaskPool::try_get().map_or(1, |pool| pool.thread_num() + 1);
    let mut tasks = settings.max_tasks.clamp(1, threads) as u32;
    let tooltip = "Over how many threads islands are spread, at most. The result is the same.";
    if Number::whole("", 1.0..=threads as f64).row_u32(ui, "Tasks", tooltip, &mut tasks) {
        // All that there are, also where the app runs on more.
        settings.max_tasks = if tasks as usize >= threads { usize::MAX } else { tasks as usize };
    }
    let tooltip = "Whether what lies still is put to sleep until something touches it.";
    field::tick(ui, "Sleep", tooltip, &mut settings.sleeping);
    world.resource_mut::<SolverSettings>().set_if_neq(settings);
}

fn air(ui: &mut Ui, world: &mut World) {
    let mut on = world.contains_resource::<Air>();
    let tooltip = "Air slows cloth and carries it along. Without it there is a vacuum outside of wind \
                   zones.";
    if field::tick(ui, "Air", tooltip, &mut on) {
        if on {
            world.insert_resource(Air::STILL);
        } else {
            world.remove_resource::<Air>();
        }
    }
    let Some(mut air) = world.get_resource::<Air>().copied() else { return };
    let tooltip = "1.2 is air at sea level.";
    Number::wide("kg/m³", 0.0..=1000.0, 0.005).row(ui, "Density", tooltip, &mut air.density);
    Number::new("m/s", -100.0..=100.0, 0.05).row_vec3(
        ui,
        "Wind",
        "Velocity of the air.",
        &mut air.wind,
    );
    let tooltip = "Root mean square of the gusts.";
    let number = Number::new("m/s", 0.0..=100.0, 0.02);
    number.row(ui, "Gusts", tooltip, &mut air.turbulence.strength);
    world.resource_mut::<Air>().set_if_neq(air);
}

fn counts(ui: &mut Ui, world: &World) {
    let d = world.resource::<SolverDiagnostics>();
    let mut types: Vec<(&str, usize)> =
        d.constraints_by_type.iter().map(|(name, count)| (*name, *count)).collect();
    types.sort_unstable();
    let line = |ui: &mut Ui, label: &str, tooltip: &str, value: String| {
        field::row(ui, label, tooltip, |ui| {
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                ui.label(RichText::new(value).monospace());
            });
        });
    };
    let bodies = format!("{} of {}", d.awake_bodies, d.bodies);
    line(ui, "Bodies awake", "Those that are simulated", bodies);
    let islands = format!("{} of {}", d.awake_islands, d.islands);
    line(ui, "Islands awake", "What constraints hold together", islands);
    line(ui, "Particles", "", grouped(d.particles));
    line(ui, "Contacts", "In the last substep", grouped(d.contacts + d.soft_contacts));
    line(ui, "Constraints", "", grouped(d.constraints));
    for (name, count) in types.into_iter().filter(|(_, count)| *count > 0) {
        let label = format!("  {}", timing::title(name));
        line(ui, &label, name, grouped(count));
    }
}

/// A count with its thousands apart.
pub(super) fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push('\u{2009}');
        }
        text.push(digit);
    }
    text
}
