//! The yardstick: a textbook position-based dynamics loop, scalar, over an array of structs.

use super::{MASS, SUBSTEPS, edges, positions};
use bevy::prelude::UVec2;

struct Particle {
    x: [f32; 3],
    old: [f32; 3],
    v: [f32; 3],
    w: f32,
}

struct Distance {
    i: u32,
    j: u32,
    d: f32,
}

/// The seed's cloth, as plain arrays.
pub struct ScalarCloth {
    particles: Vec<Particle>,
    distances: Vec<Distance>,
}

impl ScalarCloth {
    /// Hangs by its top corners.
    pub fn new(size: UVec2) -> Self {
        let mut particles: Vec<Particle> = positions(size)
            .into_iter()
            .map(|x| Particle { x, old: x, v: [0.0; 3], w: 1.0 / MASS })
            .collect();
        particles[0].w = 0.0;
        particles[size.x as usize - 1].w = 0.0;
        let length = |[i, j]: [u32; 2]| {
            let (a, b) = (&particles[i as usize].x, &particles[j as usize].x);
            (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>().sqrt()
        };
        let distances =
            edges(size).into_iter().map(|[i, j]| Distance { i, j, d: length([i, j]) }).collect();
        Self { particles, distances }
    }

    /// Number of constraints.
    pub fn constraint_count(&self) -> u64 {
        self.distances.len() as u64
    }

    /// One tick of `dt` seconds.
    pub fn tick(&mut self, dt: f32) {
        let h = dt / SUBSTEPS as f32;
        let kept = (-0.1 * h).exp();
        for _ in 0..SUBSTEPS {
            for p in &mut self.particles {
                p.old = p.x;
                if p.w > 0.0 {
                    p.v[1] -= 9.81 * h;
                    for k in 0..3 {
                        p.x[k] += h * p.v[k];
                    }
                }
            }
            for c in &self.distances {
                let (i, j) = (c.i as usize, c.j as usize);
                let (a, b) = (&self.particles[i], &self.particles[j]);
                let n = [a.x[0] - b.x[0], a.x[1] - b.x[1], a.x[2] - b.x[2]];
                let length = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
                let (wi, wj) = (a.w, b.w);
                if length == 0.0 || wi + wj == 0.0 {
                    continue;
                }
                let s = (c.d - length) / ((wi + wj) * length);
                for (k, n) in n.into_iter().enumerate() {
                    self.particles[i].x[k] += wi * s * n;
                    self.particles[j].x[k] -= wj * s * n;
                }
            }
            for p in &mut self.particles {
                for k in 0..3 {
                    p.v[k] = (p.x[k] - p.old[k]) / h * kept;
                }
            }
        }
    }

    /// Heights of all particles (m).
    pub fn heights(&self) -> impl Iterator<Item = f32> + '_ {
        self.particles.iter().map(|p| p.x[1])
    }
}
