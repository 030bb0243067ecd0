//! Bones from a picture: blots and moments against the reference's data and against `imageproc`, errors,
//! the text of a set of bones.

mod common;

use bevy::prelude::*;
use bevy_pliant::{prelude::*, recipe::BonesError};
use common::{golden, numbers};
use core::f64::consts::PI;
use image::{GrayImage, Luma};
use imageproc::region_labelling::{Connectivity, connected_components};

/// An ellipse in pixels, y down.
#[derive(Clone, Copy, Debug)]
struct InPixels {
    center: [f64; 2],
    radii: [f64; 2],
    angle: f64,
}

fn in_pixels(bone: &Bone, size: UVec2) -> InPixels {
    let (w, h) = (f64::from(size.x), f64::from(size.y));
    InPixels {
        center: [
            f64::from(bone.center.x) * h + 0.5 * w - 0.5,
            -f64::from(bone.center.y) * h + 0.5 * h - 0.5,
        ],
        radii: [f64::from(bone.radii.x) * h, f64::from(bone.radii.y) * h],
        angle: -f64::from(bone.angle),
    }
}

/// How far two axes are turned against each other (rad).
fn between(a: f64, b: f64) -> f64 {
    let turn = (a - b).rem_euclid(PI);
    turn.min(PI - turn)
}

/// White where `holds`, else transparent.
fn drawn(size: UVec2, holds: impl Fn(u32, u32) -> bool) -> Vec<[u8; 4]> {
    let places = (0..size.y).flat_map(|y| (0..size.x).map(move |x| (x, y)));
    places.map(|(x, y)| if holds(x, y) { [255; 4] } else { [0; 4] }).collect()
}

fn find(size: UVec2, rgba: &[[u8; 4]]) -> Result<Vec<Bone>, BonesError> {
    BoneSet::from_pixels(size, rgba, &MaskSettings::default()).map(|set| set.bones)
}

#[test]
fn the_ellipses_of_the_reference_mask() {
    let golden = golden("bone_mask.json");
    let rows: Vec<&str> =
        golden["rows"].as_array().unwrap().iter().map(|r| r.as_str().unwrap()).collect();
    let size = UVec2::new(rows[0].len() as u32, rows.len() as u32);
    let rgba = drawn(size, |x, y| rows[y as usize].as_bytes()[x as usize] == b'1');
    let bones = find(size, &rgba).unwrap();
    assert_eq!(bones.len() as u64, golden["components_8"].as_u64().unwrap());
    let found: Vec<InPixels> = bones.iter().map(|bone| in_pixels(bone, size)).collect();
    for (found, fit) in found.iter().zip(golden["fit"].as_array().unwrap()) {
        let expected = &fit["pixel_corrected"];
        let [a, b, angle] = ["a", "b", "angle"].map(|k| expected[k].as_f64().unwrap());
        let center = numbers(&fit["centre"]);
        assert!((found.center[0] - center[0]).abs() < 1e-4, "{found:?} {fit}");
        assert!((found.center[1] - center[1]).abs() < 1e-4, "{found:?} {fit}");
        assert!((found.radii[0] - a).abs() < 1e-4 && (found.radii[1] - b).abs() < 1e-4);
        assert!(between(found.angle, angle) < 1e-5, "{found:?} {fit}");
    }
    // What was drawn, before it was made of pixels.
    for (found, truth) in found.iter().zip(golden["true"].as_array().unwrap()) {
        let of = |key: &str| truth[key].as_f64().unwrap();
        assert!((found.radii[0] - of("a")).abs() < 0.32, "{found:?} {truth}");
        assert!((found.radii[1] - of("b")).abs() < 0.32, "{found:?} {truth}");
        assert!(between(found.angle, of("angle")) < 0.02, "{found:?} {truth}");
    }
}

/// Moments of a labelled region, by the book.
fn by_the_book(pixels: &[(f64, f64)]) -> InPixels {
    let n = pixels.len() as f64;
    let mean = |f: &dyn Fn(&(f64, f64)) -> f64| pixels.iter().map(f).sum::<f64>() / n;
    let (cx, cy) = (mean(&|p| p.0), mean(&|p| p.1));
    let m20 = mean(&|p| (p.0 - cx).powi(2)) + 1.0 / 12.0;
    let m02 = mean(&|p| (p.1 - cy).powi(2)) + 1.0 / 12.0;
    let m11 = mean(&|p| (p.0 - cx) * (p.1 - cy));
    let swing = (m20 - m02).hypot(2.0 * m11);
    InPixels {
        center: [cx, cy],
        radii: [1.0, -1.0].map(|sign| 2.0 * (0.5 * (m20 + m02 + sign * swing)).sqrt()),
        angle: 0.5 * (2.0 * m11).atan2(m20 - m02),
    }
}

#[test]
fn random_masks_have_the_components_that_imageproc_finds() {
    let mut state = 7u32;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    };
    let mut most = 0;
    for round in 0..60 {
        let size = UVec2::new(40 + random(60), 30 + random(60));
        let mut image = GrayImage::new(size.x, size.y);
        for _ in 0..=round % 15 {
            let (x, y) = (random(size.x), random(size.y));
            let (w, h) = (1 + random(20), 1 + random(20));
            // Slanted, so that regions touch at corners.
            let lean = random(3) as i32 - 1;
            for dy in 0..h {
                for dx in 0..w {
                    let at = (x as i32 + dx as i32 + lean * dy as i32, y as i32 + dy as i32);
                    if (0..size.x as i32).contains(&at.0) && (0..size.y as i32).contains(&at.1) {
                        image.put_pixel(at.0 as u32, at.1 as u32, Luma([255]));
                    }
                }
            }
        }
        let labels = connected_components(&image, Connectivity::Eight, Luma([0u8]));
        let mut regions: Vec<Vec<(f64, f64)>> = Vec::new();
        for (x, y, Luma([label])) in labels.enumerate_pixels() {
            let label = *label as usize;
            regions.resize(regions.len().max(label), Vec::new());
            if label > 0 {
                regions[label - 1].push((f64::from(x), f64::from(y)));
            }
        }
        regions.retain(|region| region.len() >= 4);
        regions.sort_by(|a, b| {
            let first = |r: &[(f64, f64)]| (r[0].1, r[0].0);
            first(a).partial_cmp(&first(b)).unwrap()
        });
        most = most.max(regions.len());
        let rgba = drawn(size, |x, y| image.get_pixel(x, y)[0] > 0);
        let bones = find(size, &rgba).unwrap();
        assert_eq!(bones.len(), regions.len(), "round {round}");
        for (bone, region) in bones.iter().zip(&regions) {
            let (found, expected) = (in_pixels(bone, size), by_the_book(region));
            for i in 0..2 {
                assert!((found.center[i] - expected.center[i]).abs() < 1e-4, "round {round}");
                assert!((found.radii[i] - expected.radii[i]).abs() < 1e-4, "round {round}");
            }
            if found.radii[0] > 1.01 * found.radii[1] {
                assert!(between(found.angle, expected.angle) < 1e-3, "round {round}");
            }
        }
    }
    assert!(most > 5, "the masks are too simple: {most} regions at most");
}

#[test]
fn bones_come_from_top_to_bottom_and_left_to_right() {
    let size = UVec2::new(40, 40);
    let blocks = [(20, 2), (2, 10), (30, 10), (4, 30)];
    let rgba = drawn(size, |x, y| {
        blocks.iter().any(|(bx, by)| (*bx..bx + 6).contains(&x) && (*by..by + 4).contains(&y))
    });
    let bones = find(size, &rgba).unwrap();
    let corners: Vec<(u32, u32)> = bones
        .iter()
        .map(|bone| {
            let [x, y] = in_pixels(bone, size).center;
            ((x - 2.5).round() as u32, (y - 1.5).round() as u32)
        })
        .collect();
    assert_eq!(corners, blocks);
}

#[test]
fn what_a_mask_lacks_is_an_error_that_says_what_to_do() {
    let size = UVec2::new(64, 64);
    let settings = MaskSettings::default();
    let error = |rgba: &[[u8; 4]], settings: &MaskSettings| {
        let error = BoneSet::from_pixels(size, rgba, settings).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(": ") && text.len() > 60, "does not say what to do: {text}");
        error
    };
    let empty = error(&drawn(size, |_, _| false), &settings);
    assert_eq!(empty, BonesError::EmptyMask { width: 64, height: 64 });
    let one = error(&drawn(size, |x, y| (x, y) == (9, 9)), &settings);
    assert_eq!(one, BonesError::TooSmall { count: 1, pixels: 1, least: 4 });
    let specks = error(&drawn(size, |x, y| x % 4 == 0 && y % 4 == 0), &settings);
    assert_eq!(specks, BonesError::Specks { specks: 256, least: 4, most: 64 });
    let short = error(&[[255; 4]; 9], &settings);
    assert!(matches!(short, BonesError::Unreadable { .. }), "{short}");
    let large = UVec2::new(256, 256);
    let many = drawn(large, |x, y| x % 4 < 2 && y % 4 < 2);
    let many = BoneSet::from_pixels(large, &many, &settings).unwrap_err();
    assert_eq!(many, BonesError::TooMany { count: 4096, most: 1024 });
    // A few specks beside a bone are left out.
    let dusty = drawn(size, |x, y| (x < 20 && y < 20) || (x > 30 && x % 9 == 0 && y % 9 == 0));
    assert_eq!(find(size, &dusty).unwrap().len(), 1);
    let all = MaskSettings { least_pixels: 0, ..settings };
    assert!(BoneSet::from_pixels(size, &dusty, &all).unwrap().bones.len() > 20);
}

#[test]
fn explicit_bones_that_are_no_ellipses_are_errors() {
    let good = Bone::new(Vec2::ZERO, Vec2::splat(0.1));
    let bad = [
        Bone { center: Vec2::new(f32::NAN, 0.0), ..good.clone() },
        Bone { center: Vec2::new(0.0, f32::INFINITY), ..good.clone() },
        Bone { center: Vec2::new(1e30, 0.0), ..good.clone() },
        Bone { radii: Vec2::new(0.0, 0.1), ..good.clone() },
        Bone { radii: Vec2::new(0.1, -0.1), ..good.clone() },
        Bone { radii: Vec2::new(f32::NAN, 0.1), ..good.clone() },
        Bone { radii: Vec2::new(0.1, 1e-5), ..good.clone() },
        Bone { angle: f32::NAN, ..good.clone() },
        good.clone().limited(f32::NAN, 1.0),
        good.clone().limited(0.5, 1.0),
        good.clone().limited(-9.0, 1.0),
    ];
    for bone in bad {
        let error = BoneSet::new(vec![good.clone(), bone.clone()]).validate().unwrap_err();
        assert!(error.to_string().contains("bone 1"), "{bone:?}: {error}");
    }
    let many = BoneSet::new(vec![good.clone(); 1025]).validate().unwrap_err();
    assert!(matches!(many, BonesError::TooMany { count: 1025, .. }));
    assert_eq!(BoneSet::default().validate(), Err(BonesError::None));
    for joint in [[0, 0], [0, 2], [u32::MAX, 0]] {
        let joints = vec![BoneJoint { bones: joint, ..default() }];
        let set = BoneSet { bones: vec![good.clone(); 2], joints };
        assert!(matches!(set.validate(), Err(BonesError::BadJoint { index: 0, .. })), "{joint:?}");
    }
}

#[test]
fn a_mask_goes_through_its_text_unchanged() {
    let size = UVec2::new(97, 61);
    let rgba = drawn(size, |x, y| (x / 13 + y / 11) % 3 == 0 && x % 13 > 2 && y % 11 > 2);
    let mut set = BoneSet::new(find(size, &rgba).unwrap());
    assert!(set.bones.len() > 9);
    set.bones[0] = set.bones[0].clone().named("head ✓").limited(-0.3, core::f32::consts::PI);
    set.joints = vec![BoneJoint {
        bones: [1, 0],
        anchor: Some(Vec2::new(1.0 / 3.0, -0.0)),
        limits: Some([-1.0e-7, 0.1]),
    }];
    let text = set.to_ron().unwrap();
    let back = BoneSet::from_ron(&text).unwrap();
    assert_eq!(back.to_ron().unwrap(), text);
    for (bone, back) in set.bones.iter().zip(&back.bones) {
        let bits =
            |b: &Bone| [b.center.x, b.center.y, b.radii.x, b.radii.y, b.angle].map(f32::to_bits);
        assert_eq!(bits(bone), bits(back));
    }
    assert_eq!(back, set);
    let broken = text.replacen("radii", "radius", 1);
    let line = broken.lines().position(|l| l.contains("radius")).unwrap() + 1;
    let Err(BonesError::Ron { line: told, .. }) = BoneSet::from_ron(&broken) else {
        panic!("is read")
    };
    assert_eq!(told, line);
}
