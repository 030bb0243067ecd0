//! Wake groups: islands that dynamic constraints or contact join sleep, wake and fail as one.
//!
//! A group sleeps when for half a second no particle has moved more than a fifth of its radius from
//! where it was, and no particle that turns is above 0.05 m/s or 0.5 rad/s. Speeds alone would not do:
//! a drape keeps a noise of centimetres a second for ever.

use super::{
    diagnostics::{SolverDiagnostics, Stage},
    events::{BodyFault, Faulty},
    mirror::{Activity, Mirror, Oriented, split_position},
    settings::{SolverSettings, StepTime},
};
use bevy::{
    ecs::{entity_disabling::Disabled, query::Allow},
    math::Vec4,
    platform::collections::HashMap,
    prelude::*,
};

const STILL_TIME: f32 = 0.5;
const STILL_SPEED: f32 = 0.05;
const STILL_SPIN: f32 = 0.5;

/// When a group sleeps.
pub(super) struct SleepRule {
    enabled: bool,
    ticks: u32,
}

impl SleepRule {
    pub fn new(settings: &SolverSettings, tick: f32) -> Self {
        let ticks = if tick > 0.0 { (STILL_TIME / tick).ceil().max(1.0) } else { 1.0 };
        Self { enabled: settings.sleeping, ticks: ticks as u32 }
    }
}

/// Joins islands into groups and decides which are simulated in this tick.
pub(super) fn join_wake_groups(mirror: &mut Mirror, rule: &SleepRule) {
    let Mirror { islands, dynamics, island_of, still, soft, .. } = mirror;
    for (number, island) in islands.iter_mut().enumerate() {
        island.group = number as u32;
    }
    fn root(islands: &[super::mirror::Island], mut island: u32) -> u32 {
        while islands[island as usize].group != island {
            island = islands[island as usize].group;
        }
        island
    }
    for (slots, _) in dynamics.iter().flat_map(|set| set.participants()) {
        let mut joined = slots.iter().flatten().map(|slot| island_of[*slot as usize]);
        let Some(first) = joined.next() else { continue };
        for other in joined {
            let (a, b) = (root(islands, first), root(islands, other));
            islands[a.max(b) as usize].group = a.min(b);
        }
    }
    for [first, second] in soft.neighbours() {
        let (a, b) = (root(islands, first), root(islands, second));
        islands[a.max(b) as usize].group = a.min(b);
    }
    for island in 0..islands.len() {
        islands[island].group = root(islands, island as u32);
    }
    // By group: whether anyone is awake, and whether anyone failed.
    let (mut awake, mut failed) = (vec![false; islands.len()], vec![false; islands.len()]);
    for island in islands.iter() {
        let group = island.group as usize;
        let restless = |slot: usize| still[slot].1 < rule.ticks;
        awake[group] |= island.wake || !rule.enabled || island.particles().any(restless);
        failed[group] |= island.activity == Activity::Faulty || island.bad_input;
    }
    for island in islands.iter_mut() {
        let group = island.group as usize;
        if island.wake || (island.activity == Activity::Asleep && awake[group]) {
            island.particles().for_each(|slot| still[slot].1 = 0);
        }
        island.wake = false;
        island.activity = if failed[group] {
            Activity::Faulty
        } else if island.disabled {
            Activity::Disabled
        } else if awake[group] {
            Activity::Awake
        } else {
            Activity::Asleep
        };
    }
}

/// What is frozen and was told of.
type Told<'w, 's> = Query<'w, 's, (), (With<Faulty>, Allow<Disabled>)>;

/// Freezes what stopped being finite, and counts how long each particle has been still.
pub(super) fn sleep(
    mut mirror: ResMut<Mirror>,
    settings: Res<SolverSettings>,
    time: Res<StepTime>,
    told: Told,
    mut commands: Commands,
    mut diagnostics: ResMut<SolverDiagnostics>,
) {
    let started = SolverDiagnostics::start();
    let mirror = &mut *mirror;
    freeze_faults(mirror, &told, &mut commands);
    let rule = SleepRule::new(&settings, time.tick);
    if rule.enabled {
        count_still_ticks(mirror, STILL_SPEED * settings.length_unit(), rule.ticks);
        let mut restless = vec![false; mirror.islands.len()];
        for island in &mirror.islands {
            restless[island.group as usize] |= island.activity == Activity::Awake
                && island.particles().any(|slot| mirror.still[slot].1 < rule.ticks);
        }
        for island in &mirror.islands {
            if island.activity == Activity::Awake && !restless[island.group as usize] {
                mirror.velocity[island.slots.clone()].fill(Vec4::ZERO);
                mirror.velocity_change[island.slots.clone()].fill(Vec4::ZERO);
                for oriented in &mut mirror.oriented[island.oriented.clone()] {
                    oriented.angular_velocity = Vec3::ZERO;
                }
            }
        }
    }
    diagnostics.stop(Stage::Sleep, started);
}

fn count_still_ticks(mirror: &mut Mirror, still_speed: f32, enough: u32) {
    let Mirror {
        islands,
        still,
        position,
        body,
        bodies,
        oriented,
        oriented_of,
        velocity,
        velocity_change,
        ..
    } = mirror;
    for island in islands.iter().filter(|i| i.activity == Activity::Awake) {
        let turning = &oriented[island.oriented.clone()];
        for slot in island.particles() {
            let world = (position[slot].truncate().as_dvec3() + island.origin).as_vec3();
            let ellipsoid =
                turning.get(oriented_of[slot] as usize).filter(|o| o.radii != Vec3::ZERO);
            let radius =
                ellipsoid.map_or(bodies[body[slot] as usize].radius, Oriented::least_radius);
            let near = radius / 5.0;
            let (place, ticks) = &mut still[slot];
            // Not near includes a place that is not a number.
            let is_near = world.distance_squared(*place) <= near * near;
            if !is_near {
                *place = world;
                // One of many that creep leaves its place at any time: what took long enough to leave, twice
                // over, is still.
                *ticks = if *ticks >= 2 * enough { enough } else { 0 };
            } else {
                *ticks = ticks.saturating_add(1);
            }
        }
    }
    for oriented in oriented.iter() {
        let slot = oriented.slot as usize;
        let speed = (velocity[slot] + velocity_change[slot]).truncate().length();
        if speed > still_speed || oriented.angular_velocity.length() > STILL_SPIN {
            still[slot].1 = 0;
        }
    }
}

/// Marks groups with a state that is not finite, and tells of them. Their particles are not written
/// back, so they keep their last finite pose.
fn freeze_faults(mirror: &mut Mirror, told: &Told, commands: &mut Commands) {
    let mut failed = vec![false; mirror.islands.len()];
    for island in &mut mirror.islands {
        // So far out the world's coordinates may overflow where the island's do not.
        let far = island.origin.abs().max_element() > 1e30;
        let holds = |slot: usize| {
            let local = mirror.position[slot];
            local.is_finite()
                && (mirror.velocity[slot] + mirror.velocity_change[slot]).is_finite()
                && (!far || split_position(local.truncate(), island.origin).0.is_finite())
        };
        let awake = island.activity == Activity::Awake;
        let bad = island.bad_input || (awake && !island.particles().all(holds));
        island.bad_input = false;
        failed[island.group as usize] |= bad;
    }
    for oriented in &mirror.oriented {
        if !(oriented.rotation.is_finite() && oriented.angular_velocity.is_finite()) {
            failed[mirror.islands[mirror.island_of[oriented.slot as usize] as usize].group
                as usize] = true;
        }
    }
    let mut particles: HashMap<u32, Vec<Entity>> = HashMap::default();
    for island in &mut mirror.islands {
        if failed[island.group as usize] {
            island.activity = Activity::Faulty;
        }
        if island.activity == Activity::Faulty {
            for slot in island.particles() {
                let (body, particle) = (mirror.body[slot], mirror.entities[slot]);
                let marked = mirror.bodies[body as usize].entity.unwrap_or(particle);
                if !told.contains(marked) {
                    particles.entry(body).or_default().push(particle);
                }
            }
        }
    }
    let mut faults: Vec<(u32, Vec<Entity>)> = particles.into_iter().collect();
    faults.sort_unstable_by_key(|(body, _)| *body);
    for (body, particles) in faults {
        warn!(
            "the state of {} particles stopped being finite: they are frozen at their last finite \
             pose; trigger `Rebuild` or `Teleport` on their body to revive it",
            particles.len()
        );
        // What owns them may be gone since this tick was compiled.
        let mut tell = |entity: Entity, particles: Vec<Entity>| {
            if let Ok(mut owner) = commands.get_entity(entity) {
                owner.try_insert(Faulty);
                commands.trigger(BodyFault { entity, particles });
            }
        };
        match mirror.bodies[body as usize].entity {
            Some(entity) => tell(entity, particles),
            None => particles.into_iter().for_each(|particle| tell(particle, vec![particle])),
        }
    }
}
