//! Lane constraints: a fixed number of particles, projected four constraints at a time.

use super::{Constraint, LaneForm, Oriented, Turning};
use crate::math::lane::{Vec3x4, divide_or_zero};
use bevy::{
    math::{Vec3, Vec4},
    prelude::Entity,
};

/// Which deviations a constraint corrects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sides {
    /// Keeps C = 0.
    #[default]
    Both,
    /// Keeps C ≤ 0: corrects only C > 0, as a rope that may go slack (λ ≤ 0).
    AtMost,
    /// Keeps C ≥ 0: corrects only C < 0, as a contact (λ ≥ 0).
    AtLeast,
}

/// How softly, and on which sides, one lane constraint is projected.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LaneSettings {
    /// Compliance α (the square of C's unit per joule: m/N for a length); 0 is rigid.
    pub compliance: f32,
    /// Rayleigh damping β (N s/m for a length); it acts only where α is above 0.
    pub damping: f32,
    /// Which deviations are corrected.
    pub sides: Sides,
}

/// C and its gradients for four constraints.
#[derive(Clone, Copy, Debug)]
pub struct Evaluation<const N: usize> {
    /// C, the residual.
    pub value: Vec4,
    /// ∇ᵢC for each particle; zero where it is not defined.
    pub gradients: [Vec3x4; N],
}

/// Constraints between exactly `N` particles.
///
/// [`evaluate`](Self::evaluate) is all that a simple constraint needs; [`project`](Self::project) may
/// be replaced by a faster kernel that does the same.
pub trait LaneConstraint<const N: usize>: Constraint<Form = LaneForm<N>> + Clone {
    /// Parameters of four constraints, one a lane.
    type Lanes: Copy + Send + Sync + 'static;

    /// How many of the particles, from the first on, the constraint moves; the others it only reads,
    /// so that many constraints may share them without waiting for one another.
    const MOVED: usize = N;

    /// Whether [`Lanes`](Self::Lanes) remember anything during a substep.
    const REMEMBERS: bool = false;

    /// Whether the constraint rests unless all particles that it only reads are held in place.
    const RESTS_UNLESS_ANCHORED: bool = false;

    /// The particles, which must differ.
    fn particles(&self) -> [Entity; N];

    /// Softness and sides. Values that make no sense are clamped, see [`clamp_compliance`](super::clamp_compliance).
    /// Default: rigid and two-sided, or the kernel's own matter.
    fn settings(&self) -> LaneSettings {
        LaneSettings::default()
    }

    /// Whether the parameters make sense; a constraint for which this is false rests, with one warning.
    fn is_valid(&self) -> bool {
        true
    }

    /// Packs the parameters of four constraints; `None` pads a lane that must do nothing.
    fn pack(four: [Option<&Self>; 4]) -> Self::Lanes;

    /// C and its gradients at positions `x` (m, relative to the island's origin). A constraint with a
    /// [`project`](Self::project) of its own, for which C is more than a function of positions, leaves it
    /// out: C = 0.
    fn evaluate(_lanes: &Self::Lanes, _x: &[Vec3x4; N]) -> Evaluation<N> {
        Evaluation { value: Vec4::ZERO, gradients: [Vec3x4::ZERO; N] }
    }

    /// Forgets what `lanes` remember, at the start of a substep; called where [`REMEMBERS`](Self::REMEMBERS).
    fn begin_substep(_lanes: &mut Self::Lanes) {}

    /// Projects four constraints. `soft` is `None` when all four are rigid, undamped and two-sided.
    #[inline(always)]
    fn project(
        lanes: &mut Self::Lanes,
        soft: Option<&mut Soft>,
        particles: &mut LaneParticles<'_, N>,
    ) {
        project_lanes::<Self, N>(lanes, soft, particles);
    }
}

/// Softness of four constraints, and their multipliers in this substep.
#[derive(Clone, Copy, Debug)]
pub struct Soft {
    /// α̃ = α/h².
    pub compliance: Vec4,
    /// γ = αβ/h.
    pub damping: Vec4,
    /// Least λ.
    pub min: Vec4,
    /// Greatest λ.
    pub max: Vec4,
    /// λ, accumulated over the substep; λ/h² is the force.
    pub multiplier: Vec4,
}

impl Soft {
    /// Δλ for residual `c`, generalised inverse mass `weight` = Σw|∇C|² and `drift` = Σ∇C·(x − x_old);
    /// adds it to the multiplier.
    #[inline(always)]
    pub fn advance(&mut self, c: Vec4, weight: Vec4, drift: Vec4) -> Vec4 {
        let numerator = -c - self.compliance * self.multiplier - self.damping * drift;
        let denominator = (Vec4::ONE + self.damping) * weight + self.compliance;
        // A constraint between held particles has weight 0 and must not build up a multiplier.
        let step = Vec4::select(
            weight.cmpgt(Vec4::splat(f32::MIN_POSITIVE)),
            divide_or_zero(numerator, denominator),
            Vec4::ZERO,
        );
        let next = (self.multiplier + step).max(self.min).min(self.max);
        let step = next - self.multiplier;
        self.multiplier = next;
        step
    }
}

/// The particles of four constraints. Indices are held by value: so the compiler sees that writing
/// positions does not change them, and checks their bounds once.
pub struct LaneParticles<'a, const N: usize> {
    pub(crate) position: &'a mut [Vec4],
    pub(crate) old: OldPositions<'a>,
    pub(crate) indices: [[u32; 4]; N],
    pub(crate) weights: &'a [Vec4; N],
    pub(crate) turning: Turning<'a>,
}

/// Positions at the start of the substep, as x* − h v.
#[derive(Clone, Copy)]
pub(crate) struct OldPositions<'a> {
    pub predicted: &'a [Vec4],
    pub velocity: &'a [Vec4],
    pub velocity_change: &'a [Vec4],
    pub h: f32,
}

impl OldPositions<'_> {
    #[inline(always)]
    pub fn get(&self, index: usize) -> Vec4 {
        self.predicted[index] - self.h * (self.velocity[index] + self.velocity_change[index])
    }
}

impl<const N: usize> LaneParticles<'_, N> {
    /// Inverse masses (1/kg) of particle `i` of each constraint; 0 where it is held.
    #[inline(always)]
    pub fn weight(&self, i: usize) -> Vec4 {
        self.weights[i]
    }

    /// Substep (s).
    pub fn h(&self) -> f32 {
        self.old.h
    }

    /// Particle `i` of constraint `lane` as one that turns, or `None` where it does not.
    pub fn oriented(&self, i: usize, lane: usize) -> Option<&Oriented> {
        self.turning.get(self.indices[i][lane])
    }

    /// Turns particle `i` of constraint `lane` by the vector `angle` (rad, world axes).
    pub fn turn(&mut self, i: usize, lane: usize, angle: Vec3) {
        if let Some(oriented) = self.turning.get_mut(self.indices[i][lane]) {
            oriented.turn_by(angle);
        }
    }

    /// Position of particle `i` of constraint `lane` (m, fourth component 0).
    #[inline(always)]
    pub fn position(&self, i: usize, lane: usize) -> Vec4 {
        self.position[self.indices[i][lane] as usize]
    }

    /// Turns particle `i` of constraint `lane`, whose body is planar, by `angle` (rad).
    #[inline]
    pub(crate) fn turn_in_plane(&mut self, i: usize, lane: usize, angle: f32) {
        if let Some(oriented) = self.turning.get_mut(self.indices[i][lane]) {
            oriented.turn_in_plane(angle);
        }
    }

    /// Takes over particle `i` of constraint `lane` as a kernel turned it.
    #[inline]
    pub(crate) fn put_turned(&mut self, i: usize, lane: usize, turned: Oriented) {
        if let Some(oriented) = self.turning.get_mut(self.indices[i][lane]) {
            *oriented = turned;
        }
    }

    /// Positions of particle `i` as four rows (x, y, z, 0).
    #[inline(always)]
    pub fn rows(&self, i: usize) -> [Vec4; 4] {
        self.indices[i].map(|index| self.position[index as usize])
    }

    /// Positions of particle `i`, transposed.
    #[inline(always)]
    pub fn positions(&self, i: usize) -> Vec3x4 {
        Vec3x4::from_rows(self.rows(i))
    }

    /// Movement of particle `i` since the start of the substep.
    #[inline(always)]
    pub fn movement(&self, i: usize) -> Vec3x4 {
        let moved = self.indices[i]
            .map(|index| self.position[index as usize] - self.old.get(index as usize));
        Vec3x4::from_rows(moved)
    }

    /// Puts particle `i` of constraint `lane` at `position` (m, fourth component 0).
    #[inline(always)]
    pub fn put(&mut self, i: usize, lane: usize, position: Vec4) {
        self.position[self.indices[i][lane] as usize] = position;
    }

    /// Moves particle `i` of constraint `lane` by `change` (m, fourth component 0).
    #[inline(always)]
    pub fn shift(&mut self, i: usize, lane: usize, change: Vec4) {
        self.position[self.indices[i][lane] as usize] += change;
    }
}

/// The general kernel: \[MMC16\] eq. 17, 18 and 26 from [`LaneConstraint::evaluate`].
#[inline(always)]
pub fn project_lanes<C: LaneConstraint<N>, const N: usize>(
    lanes: &C::Lanes,
    soft: Option<&mut Soft>,
    particles: &mut LaneParticles<'_, N>,
) {
    let mut x = [Vec3x4::ZERO; N];
    for (i, x) in x.iter_mut().enumerate() {
        *x = particles.positions(i);
    }
    let Evaluation { value, gradients } = C::evaluate(lanes, &x);
    let mut weight = Vec4::ZERO;
    for (i, gradient) in gradients.iter().enumerate().take(C::MOVED) {
        weight += particles.weight(i) * gradient.length_squared();
    }
    let step = match soft {
        None => -divide_or_zero(value, weight),
        Some(soft) => {
            let mut drift = Vec4::ZERO;
            if soft.damping != Vec4::ZERO {
                for (i, gradient) in gradients.iter().enumerate() {
                    drift += gradient.dot(particles.movement(i));
                }
            }
            soft.advance(value, weight, drift)
        }
    };
    for (i, gradient) in gradients.iter().enumerate().take(C::MOVED) {
        let change = (*gradient * (particles.weight(i) * step)).to_rows();
        for (lane, change) in change.into_iter().enumerate() {
            particles.shift(i, lane, change);
        }
    }
}

/// Test helpers shared by the constraints' unit tests.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// C and ∇C of one constraint at `points`.
    pub fn evaluate_one<C: LaneConstraint<N>, const N: usize>(
        constraint: &C,
        points: [Vec3; N],
    ) -> (f32, [Vec3; N]) {
        let lanes = C::pack([Some(constraint), None, None, None]);
        let x = points.map(|p| Vec3x4::new([p; 4]));
        let evaluation = C::evaluate(&lanes, &x);
        (evaluation.value.x, evaluation.gradients.map(|g| g.lane(0)))
    }

    /// Projects one constraint once, at h = 1 s, and returns the new positions.
    pub fn project_one<C: LaneConstraint<N>, const N: usize>(
        constraint: &C,
        points: [Vec3; N],
        weights: [f32; N],
        soft: Option<&mut Soft>,
    ) -> [Vec3; N] {
        let mut position: Vec<Vec4> = points.iter().map(|p| p.extend(0.0)).collect();
        position.push(Vec4::ZERO);
        let zeros = vec![Vec4::ZERO; N + 1];
        let predicted = position.clone();
        let null = N as u32;
        let mut indices = [[null; 4]; N];
        let mut lane_weights = [Vec4::ZERO; N];
        for i in 0..N {
            indices[i][0] = i as u32;
            lane_weights[i].x = weights[i];
        }
        let mut lanes = C::pack([Some(constraint), None, None, None]);
        let mut particles = LaneParticles {
            position: &mut position,
            old: OldPositions {
                predicted: &predicted,
                velocity: &zeros,
                velocity_change: &zeros,
                h: 1.0,
            },
            indices,
            weights: &lane_weights,
            turning: Turning { oriented: &mut [], places: &[] },
        };
        C::project(&mut lanes, soft, &mut particles);
        assert_eq!(position[N], Vec4::ZERO, "the null particle moved");
        core::array::from_fn(|i| position[i].truncate())
    }

    /// A soft lane of compliance `alpha` at h = 1 s, two-sided.
    pub fn soft(alpha: f32) -> Soft {
        Soft {
            compliance: Vec4::splat(alpha),
            damping: Vec4::ZERO,
            min: Vec4::NEG_INFINITY,
            max: Vec4::INFINITY,
            multiplier: Vec4::ZERO,
        }
    }
}
