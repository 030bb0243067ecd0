//! The first tab: time, the solver's settings, and where the time goes.

use super::{
    Panel,
    field::{self, Number},
    number, theme,
};
use crate::{
    particle::Particles,
    recipe::{Cloth, Rebuild, Rope, SpriteRagdoll},
    solver::{Air, ProjectionOrder, SolverClock, SolverControl, SolverDiagnostics, SolverSettings},
};
use bevy::{
    ecs::{entity_disabling::Disabled, query::Allow},
    prelude::*,
    tasks::ComputeTaskPool,
};
use bevy_egui::egui::{self, Align2, Rect, Sense, Ui, WidgetInfo, WidgetType, vec2};

/// What stands above all tabs: pause, step, restart, and the simulated time.
pub(super) fn transport(ui: &mut Ui, world: &mut World) {
    let control = *world.resource::<SolverControl>();
    let clock = *world.resource::<SolverClock>();
    ui.horizontal(|ui| {
        let (icon, name, tooltip) = if control.paused {
            (Icon::Run, "Run", "Lets the simulation go on.")
        } else {
            (Icon::Pause, "Pause", "Stops the simulation. Bodies can still be edited and dragged.")
        };
        if key(ui, icon, name, tooltip, 78.0, control.paused) {
            let mut control = world.resource_mut::<SolverControl>();
            control.paused = !control.paused;
            control.steps = 0;
        }
        let tooltip = "Runs one tick, and stays paused.";
        if key(ui, Icon::Step, "Step", tooltip, 66.0, false) {
            world.resource_mut::<SolverControl>().step();
        }
        let tooltip = "Builds every body anew, and sets the simulated time back to 0.";
        if key(ui, Icon::Restart, "Restart", tooltip, 82.0, false) {
            restart(world);
        }
        let size = vec2(ui.available_width(), 28.0);
        let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
        let text = time_text(clock.elapsed);
        response.widget_info(|| {
            WidgetInfo::labeled(WidgetType::Label, true, format!("Simulated time: {text}"))
        });
        let font = egui::FontId::new(13.0, egui::FontFamily::Monospace);
        ui.painter().text(rect.right_center(), Align2::RIGHT_CENTER, text, font, theme::TEXT);
        field::hint(response, "Simulated time", &format!("{} ticks.", clock.ticks));
    });
}

/// A time in seconds, or in minutes from ten on.
fn time_text(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "? s".into();
    }
    if seconds < 600.0 {
        return format!("{seconds:.2} s");
    }
    format!("{:.0}:{:02.0} min", (seconds / 60.0).floor(), (seconds % 60.0).floor())
}

#[derive(Clone, Copy)]
enum Icon {
    Run,
    Pause,
    Step,
    Restart,
}

/// A large button: an icon and a word. One that is `lit` is to be noticed.
fn key(ui: &mut Ui, icon: Icon, name: &str, tooltip: &str, width: f32, lit: bool) -> bool {
    let (rect, response) = ui.allocate_exact_size(vec2(width, 28.0), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(WidgetType::Button, true, name));
    let visuals = *ui.style().interact(&response);
    let fill = if lit { theme::ACCENT_FILL } else { visuals.bg_fill };
    let color = if lit { theme::STRONG } else { visuals.text_color() };
    let painter = ui.painter();
    painter.rect_filled(rect, 5.0, fill);
    let centre = rect.left_center() + vec2(16.0, 0.0);
    draw_icon(ui, icon, centre, color);
    let at = rect.left_center() + vec2(29.0, 0.0);
    painter.text(at, Align2::LEFT_CENTER, name, theme::font(13.0), color);
    field::focus_ring(ui, &response);
    field::hint(response, name, tooltip).clicked()
}

fn draw_icon(ui: &Ui, icon: Icon, at: egui::Pos2, color: egui::Color32) {
    let painter = ui.painter();
    let bar = |x: f32, width: f32| {
        let rect = Rect::from_center_size(at + vec2(x, 0.0), vec2(width, 11.0));
        painter.rect_filled(rect, 1.0, color);
    };
    let triangle = |x: f32| {
        let corners = [vec2(x - 4.0, -6.0), vec2(x + 5.0, 0.0), vec2(x - 4.0, 6.0)];
        let points = corners.map(|corner| at + corner).to_vec();
        painter.add(egui::Shape::convex_polygon(points, color, egui::Stroke::NONE));
    };
    match icon {
        Icon::Run => triangle(0.0),
        Icon::Pause => [-3.0, 3.0].into_iter().for_each(|x| bar(x, 3.5)),
        Icon::Step => {
            triangle(-2.0);
            bar(5.0, 2.5);
        }
        Icon::Restart => {
            let point = |i: i32| {
                let angle = core::f32::consts::TAU * (0.02 + 0.76 * i as f32 / 20.0);
                at + 5.0 * vec2(ops::cos(angle), ops::sin(angle))
            };
            let stroke = egui::Stroke::new(1.8, color);
            painter.add(egui::Shape::line((0..=20).map(point).collect(), stroke));
            let tip = point(20);
            let head = [vec2(-2.0, -4.2), vec2(4.6, 0.4), vec2(-2.6, 3.8)];
            let points = head.map(|corner| tip + corner).to_vec();
            painter.add(egui::Shape::convex_polygon(points, color, egui::Stroke::NONE));
        }
    }
}

type Bodies = Or<(With<Particles>, With<Cloth>, With<Rope>, With<SpriteRagdoll>)>;

fn restart(world: &mut World) {
    // What is disabled is built when it is enabled again.
    let mut bodies = world.query_filtered::<Entity, (Bodies, Allow<Disabled>)>();
    let bodies: Vec<Entity> = bodies.iter(world).collect();
    for entity in bodies {
        world.trigger(Rebuild { entity });
    }
    world.resource_mut::<SolverClock>().set_if_neq(SolverClock::default());
}

pub(super) fn show(ui: &mut Ui, world: &mut World, panel: &mut Panel) {
    field::section(ui, "Time of a tick", true, |ui| {
        panel.looks_at_times = true;
        let budget =
            world.get_resource::<Time<Fixed>>().map(|time| 1e3 * time.timestep().as_secs_f64());
        panel.timing.show(ui, world, budget);
    });
    field::section(ui, "Speed", true, |ui| speed(ui, world));
    field::section(ui, "Solver", true, |ui| solver(ui, world));
    field::section(ui, "Air", false, |ui| air(ui, world));
    field::section(ui, "Damping and sleep", false, |ui| rest(ui, world));
    field::section(ui, "Counts", false, |ui| counts(ui, world));
}

const SPEEDS: [f32; 4] = [0.1, 0.25, 0.5, 1.0];

fn speed(ui: &mut Ui, world: &mut World) {
    match world.get_resource::<Time<Virtual>>().map(Time::<Virtual>::relative_speed) {
        Some(speed) => {
            let down = SPEEDS.iter().position(|known| (known - speed).abs() < 1e-4);
            let tooltip = "How fast the game's time goes: below 1 is slow motion.";
            let names = ["0.1", "0.25", "0.5", "1"];
            let chosen = field::row(ui, "Slow motion", tooltip, |ui| {
                field::segments(ui, "Slow motion", tooltip, down, &names)
            });
            let mut edited = chosen.map_or(speed, |chosen| SPEEDS[chosen]);
            Number::new("×", 0.01..=4.0, 0.01).row(ui, "Game speed", tooltip, &mut edited);
            if edited != speed {
                world.resource_mut::<Time<Virtual>>().set_relative_speed(edited);
            }
        }
        None => field::note(ui, "No Time<Virtual> in the app."),
    }
    match world.get_resource::<Time<Fixed>>().map(Time::<Fixed>::timestep) {
        Some(step) => {
            let rate = step.as_secs_f32().max(1e-9).recip();
            let mut edited = (1e3 * rate).round() / 1e3;
            let tooltip = "Ticks a second, for everything in the game's fixed schedules. More of them follow \
                           fast motion more closely; the work grows with them.";
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
    Number::whole("a tick", 1.0..=200.0).row_u32(
        ui,
        "Substeps",
        "Parts of a tick. More of them make everything stiffer and keep more energy; the work grows \
         with them.",
        &mut settings.substeps,
    );
    Number::whole("a substep", 1.0..=200.0).row_u32(
        ui,
        "Iterations",
        "Sweeps over all constraints in a substep. Substeps do more for the same work.",
        &mut settings.iterations,
    );
    let unit = f64::from(unit(&settings));
    Number::new(per_second_squared(&settings), -100.0 * unit..=100.0 * unit, 0.05 * unit).row_vec3(
        ui,
        "Gravity",
        "Acceleration of everything, m/s². −9.81 along y is the earth's.",
        &mut settings.gravity,
    );
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
    let tooltip = "Over how many threads islands are spread, at most. More of them are faster; the result is \
                   the same to the bit.";
    if Number::whole("", 1.0..=threads as f64).row_u32(ui, "Tasks", tooltip, &mut tasks) {
        // All that there are, also where the app runs on more.
        settings.max_tasks = if tasks as usize >= threads { usize::MAX } else { tasks as usize };
    }
    world.resource_mut::<SolverSettings>().set_if_neq(settings);
}

/// How long a metre is, as a divisor.
pub(super) fn unit(settings: &SolverSettings) -> f32 {
    let unit = settings.length_unit;
    if unit > 0.0 && unit.is_finite() { unit } else { 1.0 }
}

/// The unit of accelerations; in a world that is not in metres, units of length are `u`.
pub(super) fn per_second_squared(settings: &SolverSettings) -> &'static str {
    if unit(settings) == 1.0 { "m/s²" } else { "u/s²" }
}

fn rest(ui: &mut Ui, world: &mut World) {
    let mut settings = world.resource::<SolverSettings>().clone();
    let tooltip = "Velocities decay as e^(−ct): 0 never, 10 as in honey.";
    let label = "World damping";
    Number::new("/s", 0.0..=100.0, 0.01).row(ui, label, tooltip, &mut settings.damping);
    let tooltip = "The same for bodies whose particles turn, relative to their rigid motion: they \
                   stop wobbling, but go on flying and spinning.";
    let label = "Wobble damping";
    Number::new("/s", 0.0..=100.0, 0.02).row(ui, label, tooltip, &mut settings.relative_damping);
    let tooltip = "Whether what lies still is put to sleep until something touches it.";
    field::tick(ui, "Sleeping", tooltip, &mut settings.sleeping);
    let tooltip = "Ticks beyond this number in one frame are left out, so that a slow frame is not followed \
                   by slower ones.";
    let number = Number::whole("a frame", 0.0..=100.0);
    number.row_u32(ui, "Most ticks", tooltip, &mut settings.max_ticks_per_frame);
    world.resource_mut::<SolverSettings>().set_if_neq(settings);
}

fn air(ui: &mut Ui, world: &mut World) {
    let mut on = world.contains_resource::<Air>();
    let tooltip = "Air slows cloth and carries it along. Without it there is a vacuum outside of wind \
                   zones.";
    if field::tick(ui, "Has air", tooltip, &mut on) {
        if on {
            world.insert_resource(Air::STILL);
        } else {
            world.remove_resource::<Air>();
        }
    }
    let Some(mut air) = world.get_resource::<Air>().copied() else { return };
    let tooltip = "1.2 is air at sea level. Denser air pushes harder.";
    Number::wide("kg/m³", 0.0..=1000.0, 0.005).row(ui, "Density", tooltip, &mut air.density);
    Number::new("m/s", -100.0..=100.0, 0.05).row_vec3(
        ui,
        "Wind",
        "Velocity of the air, m/s. 6 moves branches, 20 is a storm.",
        &mut air.wind,
    );
    let tooltip = "Root mean square of the gusts, which add to the wind.";
    let number = Number::new("m/s", 0.0..=100.0, 0.02);
    number.row(ui, "Gusts", tooltip, &mut air.turbulence.strength);
    world.resource_mut::<Air>().set_if_neq(air);
}

fn counts(ui: &mut Ui, world: &World) {
    let d = world.resource::<SolverDiagnostics>();
    let bodies = format!("{} of {}", number::grouped(d.awake_bodies), number::grouped(d.bodies));
    field::told(ui, "Bodies awake", "Those that are simulated.", &bodies);
    let islands = format!("{} of {}", number::grouped(d.awake_islands), number::grouped(d.islands));
    field::told(ui, "Islands awake", "An island is what constraints hold together.", &islands);
    field::told(ui, "Particles", "In all bodies.", &number::grouped(d.particles));
    let contacts = number::grouped(d.contacts + d.soft_contacts);
    field::told(
        ui,
        "Contacts",
        "In the last substep, with obstacles and between particles.",
        &contacts,
    );
    field::heading(ui, "Constraints", &number::grouped(d.constraints));
    let mut types: Vec<(&str, usize)> =
        d.constraints_by_type.iter().map(|(name, count)| (*name, *count)).collect();
    types.sort_unstable();
    for (name, count) in types.into_iter().filter(|(_, count)| *count > 0) {
        field::told(ui, &number::title(name), name, &number::grouped(count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_times_are_told_in_minutes() {
        assert_eq!(time_text(12.345), "12.35 s");
        assert_eq!(time_text(754.0), "12:34 min");
        assert_eq!(time_text(f64::NAN), "? s");
    }
}
