//! Every substep: impulses of the air. The module above has the law.

use super::{
    shares::prepare,
    surface::{Corner, FacePack, IslandAir, LineSegment},
};
use crate::{
    math::lane::{Vec3x4, divide_or_zero, sqrt},
    solver::{mirror::IslandView, settings::StepTime},
};
use bevy::math::{Vec3, Vec4};

/// Packs at a time: their roots and divisions overlap, which is half the time.
const CHUNK: usize = 8;

/// Changes the velocities of one island by what the air does to it in a substep.
pub(in crate::solver) fn blow(view: &mut IslandView<'_>, time: &StepTime) {
    if time.substep == 0 {
        prepare(view, time);
    }
    if !view.air.active {
        return;
    }
    let IslandAir { faces, lines, corners, .. } = &mut *view.air;
    let velocities = view.velocity.iter().zip(view.velocity_change.iter());
    corners.clear();
    corners.extend(view.position.iter().zip(velocities).map(|(x, (v, dv))| Corner {
        position: *x,
        velocity: *v + *dv,
        impulse: Vec4::ZERO,
    }));
    // All see the velocities of before, so that no order matters.
    for packs in faces.chunks(CHUNK) {
        blow_faces(packs, corners);
    }
    for line in lines.iter() {
        blow_line(line, corners);
    }
    let changes = view.velocity_change.iter_mut().zip(view.inverse_mass);
    for ((change, w), corner) in changes.zip(corners.iter()) {
        *change += *w * corner.impulse;
    }
}

fn blow_faces(packs: &[FacePack], corners: &mut [Corner]) {
    let mut changes = [Vec3x4::ZERO; CHUNK];
    let mut normals = [Vec3x4::ZERO; CHUNK];
    for ((pack, normal), wind) in packs.iter().zip(&mut normals).zip(&mut changes) {
        (*normal, *wind) = relative(pack, corners);
    }
    for ((pack, normal), change) in packs.iter().zip(&normals).zip(&mut changes) {
        *change = face_change(pack, *normal, *change) * pack.share;
    }
    for (pack, change) in packs.iter().zip(&changes) {
        // By value, so that the compiler sees that writing impulses changes no index.
        let (slots, rows) = (pack.slots, change.to_rows());
        for slots in slots {
            for lane in 0..4 {
                corners[slots[lane] as usize].impulse += rows[lane];
            }
        }
    }
}

/// Twice the area vectors of four triangles, and their relative winds.
#[inline(always)]
fn relative(pack: &FacePack, corners: &[Corner]) -> (Vec3x4, Vec3x4) {
    let (mut one, mut other, mut sum) = ([Vec4::ZERO; 4], [Vec4::ZERO; 4], [Vec4::ZERO; 4]);
    for lane in 0..4 {
        let [a, b, c] = pack.slots.map(|slots| &corners[slots[lane] as usize]);
        one[lane] = b.position - a.position;
        other[lane] = c.position - a.position;
        sum[lane] = a.velocity + b.velocity + c.velocity;
    }
    let normal = Vec3x4::from_rows(one).cross(Vec3x4::from_rows(other));
    let velocity = Vec3x4::from_rows(sum) * Vec4::splat(1.0 / 3.0);
    (normal, pack.wind - velocity)
}

/// δ of four triangles, from twice their area vectors and their relative winds.
#[inline(always)]
fn face_change(pack: &FacePack, normal: Vec3x4, wind: Vec3x4) -> Vec3x4 {
    let speed_squared = wind.length_squared();
    let area_squared = normal.length_squared();
    if pack.planar {
        let drag = (pack.drag * sqrt(area_squared * speed_squared)).min(Vec4::ONE);
        return finite(wind * drag);
    }
    let through = normal.dot(wind);
    let facing = through.abs();
    let lift = (pack.lift * facing).min(Vec4::ONE);
    let per_sizes = divide_or_zero(Vec4::ONE, sqrt(area_squared * speed_squared));
    let cosine = facing * per_sizes;
    // Lift turns the wind and must not add to it: (1 − a)² + t ≤ 1 for t = (b s)² ≤ 1.
    let turned = lift * lift * (Vec4::ONE - cosine * cosine).max(Vec4::ZERO);
    let least = 0.5 * (turned + turned * turned);
    let drag = (pack.drag * facing).min(Vec4::ONE).max(least);
    // |u| n − c u with n on the windward side = ± (N |u|² − (N·u) u) / (|N| |u|).
    let side = lift * per_sizes * through.signum();
    finite(wind * (drag - side * through) + normal * (side * speed_squared))
}

/// Zero where a vector is not finite.
#[inline(always)]
fn finite(v: Vec3x4) -> Vec3x4 {
    let usable = v.length_squared().cmple(Vec4::MAX);
    let keep = |c: Vec4| Vec4::select(usable, c, Vec4::ZERO);
    Vec3x4 { x: keep(v.x), y: keep(v.y), z: keep(v.z) }
}

fn blow_line(line: &LineSegment, corners: &mut [Corner]) {
    let ends = line.slots.map(|slot| slot as usize);
    let [start, end] = ends.map(|i| corners[i]);
    let along = (end.position - start.position).truncate();
    let wind = line.wind - (0.5 * (start.velocity + end.velocity)).truncate();
    let change = (line.share * line_change(line.drag, along, wind)).extend(0.0);
    ends.into_iter().for_each(|i| corners[i].impulse += change);
}

/// δ of a segment.
fn line_change(drag: f32, along: Vec3, wind: Vec3) -> Vec3 {
    let length_squared = along.length_squared();
    if length_squared <= f32::MIN_POSITIVE {
        return Vec3::ZERO;
    }
    let across = wind - along * (along.dot(wind) / length_squared);
    let change = across * (drag * (length_squared.sqrt() * across.length())).min(1.0);
    if change.is_finite() { change } else { Vec3::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pack of four triangles with these factors.
    fn pack(drag: f32, lift: f32, planar: bool) -> FacePack {
        FacePack {
            slots: [[0; 4]; 3],
            body: 0,
            wind: Vec3x4::ZERO,
            drag: Vec4::splat(drag),
            lift: Vec4::splat(lift),
            share: Vec4::ONE,
            planar,
        }
    }

    fn change(drag: f32, lift: f32, normal: Vec3, wind: Vec3) -> Vec3 {
        face_change(&pack(drag, lift, false), Vec3x4::new([normal; 4]), Vec3x4::new([wind; 4]))
            .lane(2)
    }

    /// The law of the module above, times h/M.
    fn law(drag: f32, lift: f32, normal: Vec3, wind: Vec3) -> Vec3 {
        let mut n = normal.normalize();
        if n.dot(wind) < 0.0 {
            n = -n;
        }
        let (speed, c) = (wind.length(), n.dot(wind.normalize()));
        let area = normal.length();
        area * speed * speed * c * (drag * wind / speed + lift * (n - c * wind / speed))
    }

    #[test]
    fn the_kernel_is_the_law() {
        for (normal, wind) in [
            (Vec3::Z, Vec3::Z * 3.0),
            (Vec3::new(0.2, -0.3, 0.9), Vec3::new(1.0, 2.0, -3.0)),
            (Vec3::new(-0.01, 0.02, 0.004), Vec3::new(8.0, 0.1, 0.3)),
        ] {
            let (drag, lift) = (3e-3, 2e-3);
            let expected = law(drag, lift, normal, wind);
            for normal in [normal, -normal] {
                let found = change(drag, lift, normal, wind);
                assert!(found.distance(expected) < 1e-5 * expected.length(), "{found} {expected}");
            }
        }
    }

    #[test]
    fn edge_on_there_is_nothing() {
        assert_eq!(change(1.0, 1.0, Vec3::Y, Vec3::X * 9.0), Vec3::ZERO);
    }

    #[test]
    fn a_relative_wind_is_never_turned_around_nor_made_faster() {
        let mut state = 1u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        for _ in 0..10_000 {
            let mut vector = || Vec3::new(random(), random(), random());
            let (normal, wind, factors) = (vector(), 100.0 * vector(), vector().abs() * 10.0);
            // Any mixture, lift alone too.
            let drag = if factors.z > 7.0 { 0.0 } else { factors.x };
            let change = change(drag, factors.y, normal, wind);
            let left = wind - change;
            assert!(left.length() <= wind.length() * 1.000_01, "{left} {wind}");
            assert!(left.dot(wind) >= -1e-3 * wind.length_squared(), "{left} {wind}");
        }
    }

    #[test]
    fn extremes_stay_finite() {
        for size in [0.0, 1e-30, 1e-10, 1e10, 1e19, f32::MAX] {
            for speed in [0.0, 1e-30, 1.0, 1e10, 1e19, f32::MAX] {
                for factor in [0.0, 1e-30, 1.0, 1e30] {
                    let (normal, wind) = (Vec3::new(0.6, 0.8, 0.0) * size, Vec3::X * speed);
                    assert!(change(factor, factor, normal, wind).is_finite());
                    assert!(line_change(factor, normal, wind).is_finite());
                    let flat = pack(factor, factor, true);
                    let four = [Vec3x4::new([normal; 4]), Vec3x4::new([wind; 4])];
                    assert!(face_change(&flat, four[0], four[1]).lane(0).is_finite());
                }
            }
        }
    }

    #[test]
    fn a_segment_feels_what_blows_across_it() {
        let change = line_change(0.01, Vec3::X * 2.0, Vec3::new(5.0, 3.0, 0.0));
        assert!(change.distance(Vec3::Y * (0.01 * 2.0 * 3.0 * 3.0)) < 1e-6, "{change}");
    }
}
