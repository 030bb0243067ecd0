//! How far a list of candidates looks ahead.
//!
//! A list holds the pairs nearer than (d + m)·k: m is the *margin*, which follows the relative speeds, so
//! that a list lasts for the rest of the tick where it can; k = 1/(1 − s t) makes up for the flow's squeeze
//! (see [`drift`](super::drift)). As long as particles have drifted apart by no more than m, no pair that
//! is not in the list can be nearer than d.
//!
//! A pair that moves relative to one another by less than d in a substep is seen where it is, near the end
//! of its way; a list for faster ones is made for one substep, of all pairs that come near on their way.

/// What a list was made for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Plan {
    /// How far from a particle others are looked for (m).
    pub reach: f32,
    /// The drift after which the list is used up (m).
    pub margin: f32,
    /// k.
    pub stretch: f32,
    /// Whether pairs are looked for, and projected, by their way in the substep.
    pub swept: bool,
}

/// Least and greatest margin, as parts of the contact distance. The greatest is what a cloth that crumples in
/// a fall costs least with: half as much as at 1.
const MARGIN: [f32; 2] = [0.12, 0.6];

/// Relative motion in a substep above which ways are looked at, as a part of the contact distance.
const SWEPT: f32 = 0.9;

/// Further than this many contact distances no way is followed in one substep.
const FURTHEST: f32 = 12.0;

/// Plans a list for contact `distance` (m), relative speeds up to `speed` (m/s) and relative motion up to
/// `moved` (m) in this substep, beside a flow that squeezes by `squeeze` (1/s); for `horizon` seconds.
pub(super) fn plan(distance: f32, speed: f32, moved: f32, horizon: f32, squeeze: f32) -> Plan {
    if moved <= SWEPT * distance {
        let [least, most] = MARGIN.map(|part| part * distance);
        let margin = (1.25 * speed * horizon + 0.05 * distance).min(most).max(least);
        let stretch = 1.0 / (1.0 - (squeeze * horizon).clamp(0.0, 0.5));
        return Plan { reach: (distance + margin) * stretch, margin, stretch, swept: false };
    }
    // Also where the motion is not a number.
    let margin = 0.05 * distance;
    let way = moved.min(FURTHEST * distance);
    Plan { reach: distance + margin + way, margin, stretch: 1.0, swept: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_follows_speed_and_a_fast_list_its_way() {
        let slow = plan(0.02, 0.0, 0.0, 1.0 / 64.0, 0.0);
        assert!(!slow.swept && slow.margin < 0.007 && slow.reach < 0.027);
        let quick = plan(0.02, 1.0, 0.001, 1.0 / 64.0, 1.0);
        assert!(!quick.swept && quick.margin > slow.margin && quick.margin <= 0.02);
        assert!(quick.reach > 0.02 + quick.margin);
        let fast = plan(0.02, 40.0, 0.04, 1.0 / 64.0, 0.0);
        assert!(fast.swept && fast.reach > 0.06);
    }

    #[test]
    fn no_speed_makes_the_reach_endless() {
        for v in [f32::NAN, f32::INFINITY, f32::MAX] {
            let plan = plan(0.02, v, v, 0.01, v);
            assert!(plan.reach.is_finite() && plan.reach < 1.0, "{plan:?}");
        }
    }
}
