//! Coherent noise: a smooth random field of vectors in space and time.
//!
//! Value noise: a random vector at each corner of a lattice of unit cells, blended within a cell by
//! s(t) = 3t² − 2t³ along each axis, and in time between one set of corners and the next. A pure
//! function of place, time and seed: no state, the same bits on every machine.

use bevy::math::{DVec3, IVec3, Vec3, Vec3A};

/// What the mean square of the blended vectors is, over space and time, where each component of a
/// corner is uniform in −1 to 1: three components of 1/3, and for each of the four axes
/// ∫ s² + (1 − s)² = 26/35.
const MEAN_SQUARE: f32 = 0.304_534;

/// The field of one seed at one time, with the corners of the cell that was asked for last: points are
/// mostly asked for in an order that stays in a cell for a while.
#[derive(Clone, Debug)]
pub struct VectorNoise {
    key: u32,
    step: u32,
    blend: f32,
    cell: IVec3,
    corners: Option<[Vec3A; 8]>,
}

impl VectorNoise {
    /// The field of `seed` at `time`, counted in its own unit: after one of it the field is another.
    /// A time that is not finite counts as 0.
    pub fn new(seed: u32, time: f64) -> Self {
        let time = if time.is_finite() { time } else { 0.0 };
        let floor = time.floor();
        Self {
            key: scramble([seed, 0x9e37_79b9, 0x85eb_ca6b, 0xc2b2_ae35])[0],
            // Wraps around after 2³² units.
            step: floor.rem_euclid(4_294_967_296.0) as u32,
            blend: smooth((time - floor) as f32),
            cell: IVec3::ZERO,
            corners: None,
        }
    }

    /// The vector at `place`, counted in cells: of mean 0 and of root mean square 1, never longer than
    /// 3.2. A place that is not finite gives 0.
    pub fn at(&mut self, place: DVec3) -> Vec3 {
        let floor = place.floor();
        // Beyond, a cell is finer than f64 can tell; and i32 holds the cells.
        if floor.abs().max_element() >= 1e9 || !floor.is_finite() {
            return Vec3::ZERO;
        }
        let cell = floor.as_ivec3();
        let corners = match self.corners {
            Some(corners) if self.cell == cell => corners,
            _ => self.enter(cell),
        };
        let t = (place - floor).as_vec3();
        let [x, y, z] = [smooth(t.x), smooth(t.y), smooth(t.z)];
        let along_x: [Vec3A; 4] =
            core::array::from_fn(|i| corners[2 * i].lerp(corners[2 * i + 1], x));
        let (low, high) = (along_x[0].lerp(along_x[1], y), along_x[2].lerp(along_x[3], y));
        low.lerp(high, z).into()
    }

    fn enter(&mut self, cell: IVec3) -> [Vec3A; 8] {
        let scale = MEAN_SQUARE.sqrt().recip();
        let corners = core::array::from_fn(|i| {
            let corner = cell + IVec3::new(i as i32 & 1, i as i32 >> 1 & 1, i as i32 >> 2);
            let now = self.corner(corner, self.step);
            scale * now.lerp(self.corner(corner, self.step.wrapping_add(1)), self.blend)
        });
        (self.cell, self.corners) = (cell, Some(corners));
        corners
    }

    /// The random vector of a corner: each component in −1 to 1.
    fn corner(&self, corner: IVec3, step: u32) -> Vec3A {
        let [x, y, z] = corner.to_array().map(i32::cast_unsigned);
        let [a, b, c, _] = scramble([x, y, z, self.key.wrapping_add(step)]);
        let unit = |bits: u32| (bits >> 8) as f32 * (2.0 / 16_777_215.0) - 1.0;
        Vec3A::new(unit(a), unit(b), unit(c))
    }
}

fn smooth(t: f32) -> f32 {
    t * t * (3.0 - 2.0 * t)
}

/// Four random numbers of four: `pcg4d` of Jarzynski and Olano, "Hash Functions for GPU Rendering",
/// JCGT 9(3), 2020.
fn scramble(v: [u32; 4]) -> [u32; 4] {
    let mut v = v.map(|x| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    for round in 0..2 {
        v[0] = v[0].wrapping_add(v[1].wrapping_mul(v[3]));
        v[1] = v[1].wrapping_add(v[2].wrapping_mul(v[0]));
        v[2] = v[2].wrapping_add(v[0].wrapping_mul(v[1]));
        v[3] = v[3].wrapping_add(v[1].wrapping_mul(v[2]));
        if round == 0 {
            v = v.map(|x| x ^ (x >> 16));
        }
    }
    v
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points and times that have nothing to do with the lattice.
    fn samples(seed: u32) -> Vec<Vec3> {
        (0..20_000)
            .map(|i| {
                let i = f64::from(i);
                let place = DVec3::new(i * 0.754_877, i * 1.324_717, i * -2.220_744);
                VectorNoise::new(seed, i * 0.618_034).at(place)
            })
            .collect()
    }

    #[test]
    fn the_mean_is_zero_and_the_mean_square_one() {
        let samples = samples(7);
        let count = samples.len() as f32;
        let mean = samples.iter().sum::<Vec3>() / count;
        let square = samples.iter().map(|v| v.length_squared()).sum::<f32>() / count;
        assert!(mean.length() < 0.03, "{mean}");
        assert!((square - 1.0).abs() < 0.03, "{square}");
        assert!(samples.iter().all(|v| v.length() < 3.2));
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let (one, two) = (samples(1), samples(2));
        assert_eq!(one, samples(1));
        let together: f32 = one.iter().zip(&two).map(|(a, b)| a.dot(*b)).sum();
        assert!((together / one.len() as f32).abs() < 0.03, "correlated: {together}");
    }

    #[test]
    fn it_is_continuous_in_place_and_time_across_cells() {
        for far in [0.0, 1e6] {
            let value = |x: f64, t: f64| VectorNoise::new(3, t).at(DVec3::new(x, 0.3, far - 0.2));
            for i in 0..400 {
                let x = far + f64::from(i) * 0.01;
                let (here, there) = (value(x, 5.2), value(x + 0.01, 5.2));
                assert!(here.distance(there) < 0.1, "at {x}: {here} {there}");
                let (now, then) = (value(0.4, 0.01 * x), value(0.4, 0.01 * x + 0.01));
                assert!(now.distance(then) < 0.1, "at {x}: {now} {then}");
            }
        }
    }

    #[test]
    fn the_kept_cell_changes_nothing() {
        let mut kept = VectorNoise::new(11, 0.7);
        for i in 0..200 {
            let place = DVec3::new(f64::from(i) * 0.13, f64::from(i % 7), -0.4);
            assert_eq!(kept.at(place), VectorNoise::new(11, 0.7).at(place));
        }
    }

    #[test]
    fn nonsense_gives_no_wind() {
        for bad in [f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(VectorNoise::new(1, 0.0).at(DVec3::new(bad, 0.0, 0.0)), Vec3::ZERO);
            assert!(VectorNoise::new(1, bad).at(DVec3::ONE).is_finite());
        }
    }
}
