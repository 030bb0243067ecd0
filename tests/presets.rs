//! Materials against closed forms and textile tests: the energies that define bending rigidity and
//! membrane stiffness, Peirce's cantilever, a strip that is pulled, a swing, soft figures under their own
//! weight.

mod common;

use bevy::prelude::*;
use bevy_pliant::{
    constraint::{BendingConstraint, Constraints, DistanceConstraint},
    particle::RestPose,
    prelude::*,
};
use common::{app_with, particle, particles, positions, tick, undamped};

const GRAVITY: f32 = 9.81;

/// A sheet of n by n cells of this size, of this fabric, in a world without gravity.
fn sheet(n: u32, spacing: f32, topology: ClothTopology, fabric: &Fabric) -> (App, Entity) {
    let mut app = app_with(SolverSettings { gravity: Vec3::ZERO, ..undamped() });
    let shape = ClothShape::Grid { size: UVec2::splat(n + 1), spacing, topology };
    let body = app.world_mut().spawn(Cloth::of(shape).with_fabric(fabric)).id();
    tick(&mut app, 1);
    (app, body)
}

/// The elastic energies of a body (J), of stretching and of bending, if its particles were moved so from
/// rest.
fn energies(app: &App, body: Entity, moved: impl Fn(Vec3) -> Vec3) -> [f32; 2] {
    let world = app.world();
    let place = |e: Entity| moved(world.get::<RestPose>(e).expect("has a rest pose").position);
    let mut sums = [0.0f64; 2];
    for constraint in world.get::<Constraints>(body).expect("is built").iter() {
        if let Some(edge) = world.get::<DistanceConstraint>(constraint) {
            let [a, b] = edge.particles.map(place);
            let longer = a.as_dvec3().distance(b.as_dvec3()) - f64::from(edge.rest_length);
            sums[0] += 0.5 * longer * longer / f64::from(edge.compliance);
        } else if let Some(hinge) = world.get::<BendingConstraint>(constraint) {
            let angle = f64::from(BendingConstraint::angle(hinge.particles.map(place)));
            sums[1] += 0.5 * angle * angle / f64::from(hinge.compliance);
        }
    }
    sums.map(|sum| sum as f32)
}

#[test]
fn a_bent_sheet_has_the_energy_of_its_bending_rigidity() {
    // Over a cylinder whose axis lies at this angle to the threads, at two resolutions.
    for fabric in Fabric::ALL {
        for (cells, spacing) in [(40, 0.05), (80, 0.01)] {
            let (app, body) = sheet(cells, spacing, ClothTopology::Bending, &fabric);
            let area = (cells as f32 * spacing).powi(2);
            let curvature = 0.02 / spacing;
            let expected = 0.5 * fabric.bending_rigidity * curvature * curvature * area;
            for angle in [0.0f32, 0.4, core::f32::consts::FRAC_PI_4, 1.2] {
                let across = Vec3::new(angle.cos(), angle.sin(), 0.0);
                let bent = |at: Vec3| {
                    let along = at.dot(across);
                    let turned = curvature * along;
                    let shorter = along - turned.sin() / curvature;
                    at - across * shorter + Vec3::Z * (1.0 - turned.cos()) / curvature
                };
                // Every other corner rises above its neighbours, as a sheet at rest would: that energy
                // is a parabola of how far.
                let rise = 0.1 * curvature * spacing * spacing;
                let energy = |rise: f32| {
                    let parity =
                        |at: Vec3| (at.x / spacing + 0.5).floor() + (at.y / spacing).round();
                    let up = |at: Vec3| if parity(at).rem_euclid(2.0) < 0.5 { rise } else { -rise };
                    energies(&app, body, |at| bent(at) + Vec3::Z * up(at))[1]
                };
                let [below, flat, above] = [-rise, 0.0, rise].map(energy);
                let slope = 0.5 * (above - below);
                let least = flat - 0.5 * slope * slope / (above + below - 2.0 * flat);
                let ratio = least / expected;
                assert!((ratio - 1.0).abs() < 0.07, "{}, {angle}: {ratio}", fabric.name);
            }
        }
    }
}

#[test]
fn a_stretched_sheet_has_the_energy_of_its_membrane_stiffness() {
    // Pulled along a direction, and narrower across as Poisson's ratio says.
    let strain = 1e-3;
    let directions = [0.0f32, 0.4, core::f32::consts::FRAC_PI_4];
    for (topology, poisson, directions) in [
        (ClothTopology::Bending, 1.0 / 3.0, &directions[..]),
        // Stiffer along its diagonals.
        (ClothTopology::Diagonals, 0.5, &directions[..1]),
    ] {
        for (cells, spacing) in [(40, 0.05), (80, 0.01)] {
            let (app, body) = sheet(cells, spacing, topology, &Fabric::COTTON);
            let area = (cells as f32 * spacing).powi(2);
            let expected = 0.5 * Fabric::COTTON.stretch_modulus * strain * strain * area;
            for angle in directions {
                let along = Vec3::new(angle.cos(), angle.sin(), 0.0);
                let across = Vec3::Z.cross(along);
                let pulled = |at: Vec3| {
                    at + strain * (at.dot(along) * along - poisson * at.dot(across) * across)
                };
                let [energy, _] = energies(&app, body, pulled);
                let ratio = energy / expected;
                assert!((ratio - 1.0).abs() < 0.05, "{topology:?}, {angle}: {ratio}");
            }
        }
    }
}

/// The angle below the horizontal (rad) of the chord of a heavy strip of length `overhang` whose bending
/// length is `c`, clamped level at one end: θ'' = −(L − s) cos θ/c³, θ(0) = 0, θ'(L) = 0.
fn chord_angle(overhang: f64, c: f64) -> f64 {
    const STEPS: u32 = 2000;
    let step = overhang / f64::from(STEPS);
    // Where the end is, and its slope, for this curvature at the clamp.
    let shoot = |curvature: f64| {
        let (mut angle, mut slope, mut x, mut y) = (0.0f64, curvature, 0.0, 0.0);
        for i in 0..STEPS {
            let bend = |at: f64, angle: f64| -(overhang - at) * angle.cos() / (c * c * c);
            let at = f64::from(i) * step;
            // Midpoint rule.
            let middle = angle + 0.5 * step * slope;
            let slope_middle = slope + 0.5 * step * bend(at, angle);
            slope += step * bend(at + 0.5 * step, middle);
            x += step * middle.cos();
            y += step * middle.sin();
            angle += step * slope_middle;
        }
        (slope, y.atan2(x))
    };
    let (mut low, mut high) = (0.0, 0.5 * overhang * overhang / (c * c * c));
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if shoot(middle).0 < 0.0 { low = middle } else { high = middle }
    }
    shoot(low).1
}

/// The bending length of a strip whose chord is at this angle.
fn bending_length(overhang: f64, angle: f64) -> f64 {
    let (mut low, mut high) = (0.1 * overhang, 3.0 * overhang);
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if chord_angle(overhang, middle) > angle { low = middle } else { high = middle }
    }
    low
}

/// The angle of the chord (rad) of strips of these fabrics that hang over an edge by `overhang` in so
/// many cells, at rest. Half of the clamped cell bends too: the strip begins in its middle.
fn cantilevers(fabrics: &[Fabric], overhang: &[f32], cells: u32, substeps: u32) -> Vec<f64> {
    let mut app = app_with(SolverSettings { substeps, ..undamped() });
    let bodies: Vec<Entity> = fabrics
        .iter()
        .zip(overhang)
        .enumerate()
        .map(|(i, (fabric, overhang))| {
            let spacing = overhang / (cells as f32 + 0.5);
            let cloth = Cloth::grid(UVec2::new(4, cells + 2), spacing)
                .with_bending(0.0)
                .with_fabric(fabric)
                .pinned(ClothPins::Indices((0..8).collect()))
                .without_tethers()
                .with_damping(40.0);
            let level = Quat::from_rotation_x(-core::f32::consts::FRAC_PI_2);
            let at = Transform::from_xyz(i as f32, 0.0, 0.0).with_rotation(level);
            app.world_mut().spawn((cloth, at)).id()
        })
        .collect();
    tick(&mut app, 128);
    bodies
        .into_iter()
        .map(|body| {
            let at = positions(&app, body);
            let spacing = (at[0] - at[4]).length();
            let start = at[5] - Vec3::Z * 0.5 * spacing;
            let chord = at[at.len() - 2] - start;
            f64::from(-chord.y).atan2(f64::from(chord.z))
        })
        .collect()
}

#[test]
fn peirces_cantilever_measures_the_bending_length_at_every_resolution() {
    let lengths = Fabric::ALL.map(|fabric| fabric.bending_length(GRAVITY));
    let overhangs = lengths.map(|length| 2.0 * length);
    for (cells, substeps) in [(4, 16), (8, 64), (16, 256)] {
        let angles = cantilevers(&Fabric::ALL, &overhangs, cells, substeps);
        for (i, fabric) in Fabric::ALL.iter().enumerate() {
            let (length, overhang) = (f64::from(lengths[i]), f64::from(overhangs[i]));
            let what = format!("{} in {cells} cells", fabric.name);
            let degrees = angles[i].to_degrees();
            assert!((degrees - 41.5).abs() < 5.0, "{what}: hangs by {degrees}°");
            let exact = bending_length(overhang, angles[i]) / length;
            assert!((exact - 1.0).abs() < 0.08, "{what}: {exact} of the elastica's");
            // His own formula.
            let chord = (0.5 * angles[i]).cos() / (8.0 * angles[i].tan());
            let peirce = overhang * chord.cbrt() / length;
            assert!((peirce - 1.0).abs() < 0.1, "{what}: {peirce} of Peirce's");
        }
    }
}

#[test]
fn silk_drapes_more_than_cotton_than_denim_than_leather() {
    let fabrics = [Fabric::SILK, Fabric::COTTON, Fabric::DENIM, Fabric::LEATHER];
    let angles = cantilevers(&fabrics, &[0.05; 4], 8, 64);
    assert!(angles.windows(2).all(|pair| pair[0] > pair[1] + 0.05), "{angles:?}");
    assert!(angles[0].to_degrees() > 55.0 && angles[3].to_degrees() < 35.0, "{angles:?}");
}

#[test]
fn a_pulled_sheet_grows_longer_by_force_over_width_and_membrane_stiffness() {
    const CELLS: u32 = 10;
    const STRAIN: f32 = 0.02;
    let mut app = app_with(SolverSettings {
        substeps: 128,
        iterations: 4,
        gravity: Vec3::ZERO,
        ..undamped()
    });
    let spawn = |(i, fabric): (usize, &Fabric)| {
        let cloth = Cloth::grid(UVec2::splat(CELLS + 1), 0.1)
            .with_bending(0.0)
            .with_fabric(fabric)
            .pinned(ClothPins::TopEdge)
            .without_tethers()
            .with_damping(60.0);
        app.world_mut().spawn((cloth, Transform::from_xyz(2.0 * i as f32, 0.0, 0.0))).id()
    };
    let bodies: Vec<Entity> = Fabric::ALL.iter().enumerate().map(spawn).collect();
    tick(&mut app, 1);
    for (fabric, body) in Fabric::ALL.iter().zip(&bodies) {
        // A metre wide.
        let force = STRAIN * fabric.stretch_modulus;
        let row = particles(&app, *body).split_off((CELLS * (CELLS + 1)) as usize);
        for (i, particle) in row.into_iter().enumerate() {
            let share = if i == 0 || i == CELLS as usize { 0.5 } else { 1.0 };
            let force = Vec3::NEG_Y * force * share / CELLS as f32;
            let push = AppliedForce { force, ..default() };
            app.world_mut().entity_mut(particle).insert(push);
        }
    }
    tick(&mut app, 32);
    for (fabric, body) in Fabric::ALL.iter().zip(bodies) {
        let at = positions(&app, body);
        let row = |row: u32| {
            let first = (row * (CELLS + 1)) as usize;
            let across = &at[first..first + CELLS as usize + 1];
            across.iter().map(|p| -p.y).sum::<f32>() / across.len() as f32
        };
        // Away from the edge that is held, where it cannot grow narrower.
        let strain = (row(CELLS) - row(CELLS / 2)) / 0.5 - 1.0;
        // The two borders count as half a cell more.
        let expected = STRAIN / (1.0 + 0.75 / CELLS as f32);
        let ratio = strain / expected;
        assert!((ratio - 1.0).abs() < 0.03, "{}: {ratio}", fabric.name);
    }
}

#[test]
fn the_swing_of_a_fabric_halves_as_its_damping_says() {
    let mut app = app_with(SolverSettings { sleeping: false, ..default() });
    let spawn = |(i, fabric): (usize, &Fabric)| {
        let cloth =
            Cloth::grid(UVec2::new(3, 6), 0.1).with_fabric(fabric).pinned(ClothPins::TopEdge);
        let at = Transform::from_xyz(i as f32, 0.0, 0.0);
        app.world_mut().spawn((cloth, at.with_rotation(Quat::from_rotation_x(0.2)))).id()
    };
    let bodies: Vec<Entity> = Fabric::ALL.iter().enumerate().map(spawn).collect();
    tick(&mut app, 1);
    let mut swings = vec![Vec::new(); bodies.len()];
    for _ in 0..640 {
        tick(&mut app, 1);
        for (swing, body) in swings.iter_mut().zip(&bodies) {
            swing.push(positions(&app, *body)[16].z.abs());
        }
    }
    for (fabric, swing) in Fabric::ALL.iter().zip(swings) {
        let halved = 2.0 * core::f32::consts::LN_2 / fabric.damping;
        let widest = |from: f32| {
            let first = (64.0 * from) as usize;
            swing[first..first + 128].iter().copied().fold(0.0, f32::max)
        };
        let ratio = widest(halved) / widest(0.0);
        assert!((ratio - 0.5).abs() < 0.08, "{}: {ratio} after {halved} s", fabric.name);
    }
}

#[test]
fn a_live_cloth_takes_another_fabric_without_being_built_anew() {
    let mut app = app_with(SolverSettings::default());
    let cloth = Cloth::grid(UVec2::new(6, 5), 0.05).with_bending(0.0).pinned(ClothPins::TopEdge);
    let body = app.world_mut().spawn(cloth.with_fabric(&Fabric::SILK)).id();
    tick(&mut app, 2);
    let before = particles(&app, body);
    let mut cloth = app.world_mut().get_mut::<Cloth>(body).expect("a cloth");
    Fabric::LEATHER.apply(&mut cloth);
    let (compliance, bending) = (cloth.compliance, cloth.bending_compliance);
    tick(&mut app, 1);
    assert_eq!(particles(&app, body), before);
    let world = app.world();
    let mass: f32 = before.iter().map(|e| particle(&app, *e).mass).sum();
    assert!((mass - 0.05 * Fabric::LEATHER.mass_per_area).abs() < 1e-5, "{mass}");
    for constraint in world.get::<Constraints>(body).expect("is built").iter() {
        if let Some(edge) = world.get::<DistanceConstraint>(constraint) {
            assert_eq!(edge.compliance, compliance);
        }
        if let Some(hinge) = world.get::<BendingConstraint>(constraint) {
            assert_eq!(hinge.compliance, bending);
        }
    }
    let settings = world.get::<BodySettings>(body).expect("has settings");
    assert_eq!(settings.damping, Some(Fabric::LEATHER.damping));
    assert_eq!(settings.friction, Fabric::LEATHER.friction);
}

/// A figure a metre tall that is held by its head for so many seconds: how much longer it gets in each
/// tick, in parts of the length from there to its feet.
#[cfg(feature = "render")]
fn hang(material: Option<&SoftMaterial>, seconds: u32) -> Vec<f32> {
    use common::ragdoll::{bone, figure, ragdoll_app};
    let mut app = ragdoll_app(SolverSettings { sleeping: false, ..default() });
    let mut ragdoll = figure().with_style(RagdollStyle::Elastic);
    if let Some(material) = material {
        material.apply(&mut ragdoll);
    }
    let body = app.world_mut().spawn(ragdoll).id();
    tick(&mut app, 1);
    let [head, foot] = ["head", "foot l"].map(|name| bone(&app, body, name));
    app.world_mut().entity_mut(head).insert(Pinned);
    let length = |app: &App| particle(app, head).position.y - particle(app, foot).position.y;
    let rest = length(&app);
    let longer = |_| {
        tick(&mut app, 1);
        length(&app) / rest - 1.0
    };
    (0..64 * seconds).map(longer).collect()
}

#[cfg(feature = "render")]
#[test]
fn a_soft_figure_hangs_as_an_elastic_bar_and_stops_wobbling() {
    /// Area of the figure's bones over the square of its height.
    const FILLED: f32 = 0.185;
    let solver = *hang(None, 1).last().expect("ticks ran");
    assert!(solver < 2e-3, "{solver}");
    // Measured: how long it takes until the wobble is a tenth of what it was (s).
    for (material, stops) in SoftMaterial::ALL.iter().zip([4.0f32, 0.6, 0.4]) {
        let longer = hang(Some(material), 12);
        let settled = *longer.last().expect("ticks ran");
        let stiffness = material.youngs_modulus * SoftMaterial::THICKNESS;
        let bar = material.mass(1.0) * GRAVITY / (2.0 * stiffness * FILLED);
        let ratio = settled / (bar + solver);
        assert!((ratio - 1.0).abs() < 0.15, "{}: {ratio} of a bar's", material.name);
        let off = |longer: &f32| (longer - settled).abs();
        let widest = longer.iter().map(off).fold(0.0, f32::max);
        let last = longer.iter().rposition(|longer| off(longer) > 0.1 * widest);
        let wobbles = last.unwrap_or(0) as f32 / 64.0;
        assert!((wobbles / stops - 1.0).abs() < 0.25, "{}: wobbles for {wobbles} s", material.name);
    }
}
