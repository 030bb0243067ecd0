//! Characters are drawn as their bones are: by the GPU, and by derived meshes.
#![cfg(feature = "render")]

mod common;
#[path = "common/offscreen.rs"]
mod offscreen;

use bevy::{
    asset::RenderAssetUsages,
    camera::primitives::Aabb,
    core_pipeline::core_2d::Transparent2d,
    mesh::{Indices, MeshTag, PrimitiveTopology, VertexAttributeValues},
    prelude::*,
    render::{
        RenderApp,
        render_phase::ViewSortedRenderPhases,
        render_resource::{Extent3d, TextureDimension, TextureFormat},
    },
    sprite_render::AlphaMode2d,
};
use bevy_pliant::{
    prelude::*,
    recipe::{Bone, BuiltFrom},
    skin::{CharacterMaterial, CharacterSkin, SkinSource},
};
use common::{all_finite, app_with, particles, tick, undamped};
use offscreen::{Limits, Picture, Stage};

/// Size of the test character's picture (pixels).
const PIXELS: UVec2 = UVec2::new(150, 240);

/// A figure with one arm hanging beside its hip, in body units.
fn figure() -> Vec<Bone> {
    let bone = |x: f32, y: f32, a: f32, b: f32| Bone::new(Vec2::new(x, y), Vec2::new(a, b));
    vec![
        bone(0.0, 0.08, 0.1, 0.15),
        bone(0.0, 0.36, 0.09, 0.11),
        bone(-0.08, -0.16, 0.05, 0.1),
        bone(-0.08, -0.36, 0.045, 0.1),
        bone(0.08, -0.16, 0.05, 0.1),
        bone(0.08, -0.36, 0.045, 0.1),
        // An arm held out in two parts, and one that hangs.
        bone(-0.14, 0.16, 0.06, 0.035),
        bone(-0.24, 0.16, 0.05, 0.035),
        bone(0.135, 0.13, 0.035, 0.08).turned(0.4),
        bone(0.185, -0.03, 0.035, 0.09),
    ]
}

/// Its picture: checked, so that every tear and slip is seen, each bone in a colour of its own.
fn picture() -> Image {
    let bones = figure();
    let size = Extent3d { width: PIXELS.x, height: PIXELS.y, depth_or_array_layers: 1 };
    let mut data = Vec::new();
    for y in 0..PIXELS.y {
        for x in 0..PIXELS.x {
            let pixel = UVec2::new(x, y).as_vec2() + 0.5 - 0.5 * PIXELS.as_vec2();
            let at = Vec2::new(pixel.x, -pixel.y) / PIXELS.y as f32;
            let depth = |bone: &Bone| {
                let local = Vec2::from_angle(-bone.angle).rotate(at - bone.center);
                1.12 - (local / bone.radii).length()
            };
            let (index, depth) = bones
                .iter()
                .map(depth)
                .enumerate()
                .max_by(|a, b| a.1.total_cmp(&b.1))
                .expect("has bones");
            let check = if (x / 6 + y / 6) % 2 == 0 { 255 } else { 150 };
            let hue = [[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]][index % 5];
            let colour = hue.map(|on| if on == 1 { check } else { check / 3 });
            // A soft border, as pictures have.
            let alpha = (255.0 * (depth * 12.0).clamp(0.0, 1.0)) as u8;
            data.extend([colour[0], colour[1], colour[2], alpha]);
        }
    }
    Image::new(
        size,
        TextureDimension::D2,
        data,
        TextureFormat::Rgba8UnormSrgb,
        RenderAssetUsages::default(),
    )
}

fn ragdoll(texture: &Handle<Image>) -> SpriteRagdoll {
    SpriteRagdoll::of_bones(figure()).with_texture(texture.clone())
}

/// No gravity, nothing held back.
fn afloat() -> SolverSettings {
    SolverSettings { gravity: Vec3::ZERO, ..undamped() }
}

/// Throws a body: each bone at another speed, so that all joints bend.
fn throw(app: &mut App, body: Entity) {
    for (i, particle) in particles(app, body).into_iter().enumerate() {
        let turn = 2.4 * i as f32;
        app.world_mut().get_mut::<Particle>(particle).expect("a bone").velocity =
            Vec3::new(2.0 * turn.cos(), 2.0 * turn.sin(), 0.0);
        app.world_mut().get_mut::<OrientedParticle>(particle).expect("a bone").angular_velocity =
            Vec3::Z * 6.0 * (1.7 * i as f32).sin();
    }
}

fn skin(app: &App, body: Entity) -> &CharacterSkin {
    app.world().get::<CharacterSkin>(body).expect("is bound")
}

/// The character as it is now, as a mesh of its own that a plain material draws.
fn plain(stage: &mut Stage, body: Entity, texture: &Handle<Image>) -> Entity {
    let skin = skin(&stage.app, body);
    let binding = skin.binding();
    let positions: Vec<[f32; 3]> = skin.deform().map(|p| [p.x, p.y, 0.0]).collect();
    let uvs: Vec<[f32; 2]> = binding.uvs.iter().map(|uv| [uv.x, uv.y]).collect();
    let corners = binding.triangles.as_flattened().to_vec();
    let mesh = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default())
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, positions)
        .with_inserted_attribute(Mesh::ATTRIBUTE_UV_0, uvs)
        .with_inserted_indices(Indices::U32(corners));
    let world = stage.app.world_mut();
    let mesh = world.resource_mut::<Assets<Mesh>>().add(mesh);
    let material = world.resource_mut::<Assets<ColorMaterial>>().add(plain_material(texture));
    world.spawn((Mesh2d(mesh), MeshMaterial2d(material))).id()
}

fn plain_material(texture: &Handle<Image>) -> ColorMaterial {
    ColorMaterial { texture: Some(texture.clone()), alpha_mode: AlphaMode2d::Blend, ..default() }
}

/// The picture that is drawn with the mesh of the CPU in place of the character.
fn by_cpu(stage: &mut Stage, body: Entity, texture: &Handle<Image>) -> Picture {
    let plain = plain(stage, body, texture);
    stage.app.world_mut().entity_mut(body).insert(Visibility::Hidden);
    let picture = stage.draw();
    stage.app.world_mut().despawn(plain);
    stage.app.world_mut().entity_mut(body).insert(Visibility::Inherited);
    picture
}

fn look_at(stage: &mut Stage, body: Entity) {
    let (mut sum, mut count) = (Vec2::ZERO, 0.0);
    for at in skin(&stage.app, body).deform() {
        (sum, count) = (sum + at, count + 1.0);
    }
    let mut camera = stage.app.world_mut().get_mut::<Transform>(stage.camera).expect("a camera");
    camera.translation = (sum / count).extend(0.0);
}

#[test]
fn at_the_bind_pose_a_character_is_drawn_as_its_sprite() {
    let Some(mut stage) = Stage::new(1.6, afloat()) else { return };
    let texture = stage.image(picture());
    let turned = Transform::from_xyz(0.1, -0.05, 0.0)
        .with_rotation(Quat::from_rotation_z(0.4))
        .with_scale(Vec3::new(1.2, 1.2, 1.0));
    let mirrored = Transform::from_scale(Vec3::new(-1.1, 0.9, 1.0));
    let rect = Rect::new(10.0, 30.0, 140.0, 200.0);
    let tint = Color::srgba(1.0, 0.6, 0.2, 0.5);
    let plain = || ragdoll(&texture);
    let cases = [
        ("plain", plain(), Transform::default()),
        ("turned", plain(), turned),
        ("mirrored", plain(), mirrored),
        ("tinted", plain().with_color(tint), turned),
        ("part", plain().with_rect(rect).with_height(0.8), Transform::default()),
        ("flip_x", plain().flipped(true, false), turned),
        ("flip_y", plain().flipped(false, true).with_rect(rect), turned),
        ("fine", plain().with_skin_spacing(0.006), turned),
        ("coarse", plain().with_skin_spacing(0.1), turned),
    ];
    for (name, ragdoll, transform) in cases {
        let size = ragdoll.rect.map_or(PIXELS.as_vec2(), |rect| rect.size());
        let sprite = Sprite {
            image: texture.clone(),
            color: ragdoll.color,
            flip_x: ragdoll.flip_x,
            flip_y: ragdoll.flip_y,
            rect: ragdoll.rect,
            custom_size: Some(size * (ragdoll.height / size.y)),
            ..default()
        };
        let body = stage.app.world_mut().spawn((ragdoll, transform)).id();
        tick(&mut stage.app, 1);
        let by_bones = stage.draw();
        stage.app.world_mut().despawn(body);
        let sprite = stage.app.world_mut().spawn((sprite, transform)).id();
        let by_sprite = stage.draw();
        stage.app.world_mut().despawn(sprite);
        by_bones.save(&format!("bind_{name}.png"));
        by_sprite.save(&format!("bind_{name}_sprite.png"));
        assert!(by_sprite.drawn() > 3000, "{name}: {} pixels", by_sprite.drawn());
        // Texture coordinates that differ by a rounding may take the pixel beside at a sharp border.
        let differing = by_bones.differing(&by_sprite, 1);
        assert!(differing * 1000 < by_sprite.drawn(), "{name}: {differing} pixels");
        assert!(by_bones.is_within_a_pixel_of(&by_sprite), "{name}");
    }
}

#[test]
fn thrown_about_the_gpu_draws_what_the_cpu_deforms() {
    let Some(mut stage) = Stage::new(1.4, undamped()) else { return };
    let texture = stage.image(picture());
    let body = stage.app.world_mut().spawn(ragdoll(&texture)).id();
    tick(&mut stage.app, 1);
    throw(&mut stage.app, body);
    let mut last = stage.draw();
    for moment in [4, 8, 12, 20, 30, 60] {
        tick(&mut stage.app, moment);
        look_at(&mut stage, body);
        let by_gpu = stage.draw();
        let by_cpu = by_cpu(&mut stage, body, &texture);
        by_gpu.save(&format!("throw_{moment}.png"));
        assert!(by_gpu.is_within_a_pixel_of(&by_cpu), "after {moment}");
        assert!(by_cpu.is_within_a_pixel_of(&by_gpu), "after {moment}");
        let differing = by_gpu.differing(&by_cpu, 2);
        assert!(differing * 200 < by_gpu.drawn(), "after {moment}: {differing} pixels");
        assert!(by_gpu.differing(&last, 20) > 1000, "nothing moved");
        last = by_gpu;
    }
}

#[test]
fn far_from_the_origin_a_character_keeps_its_shape() {
    let Some(mut stage) = Stage::new(1.4, undamped()) else { return };
    let texture = stage.image(picture());
    let mut pictures = Vec::new();
    for origin in [Vec3::ZERO, Vec3::new(2048.0, -1024.0, 0.0)] {
        let transform = Transform::from_translation(origin);
        let body = stage.app.world_mut().spawn((ragdoll(&texture), transform)).id();
        stage.app.world_mut().get_mut::<Transform>(stage.camera).expect("a camera").translation =
            origin;
        tick(&mut stage.app, 1);
        pictures.push(stage.draw());
        stage.app.world_mut().despawn(body);
    }
    // 2 km away a step of the world's coordinates is a 24th of a pixel: a step of colour at sharp borders.
    assert!(pictures[0].is_near(&pictures[1], 8));
    assert!(pictures[1].is_near(&pictures[0], 8));
}

#[test]
fn case_45_within_webgl2s_limits_the_same_is_drawn() {
    let thrown = |limits: Limits| {
        let mut stage = Stage::within(limits, 2.0, undamped())?;
        let texture = stage.image(picture());
        let body = stage.app.world_mut().spawn(ragdoll(&texture)).id();
        tick(&mut stage.app, 1);
        throw(&mut stage.app, body);
        tick(&mut stage.app, 10);
        Some(stage.draw())
    };
    let (Some(native), Some(web)) = (thrown(Limits::OfAdapter), thrown(Limits::WebGl2)) else {
        return;
    };
    assert!(native.drawn() > 2000);
    assert_eq!(native.difference(&web), 0);
}

#[test]
fn case_43_more_than_256_bones_are_drawn_right() {
    let Some(mut stage) = Stage::new(1.2, afloat()) else { return };
    let bones: Vec<Bone> = (0..300)
        .map(|i| {
            let at = Vec2::new((i % 20) as f32 - 9.5, 7.0 - (i / 20) as f32) * 0.06;
            Bone::new(at, Vec2::splat(0.03))
        })
        .collect();
    let mut image = picture();
    for pixel in image.data.as_deref_mut().expect("has data").as_chunks_mut::<4>().0 {
        pixel[3] = 255;
    }
    let texture = stage.image(image);
    let ragdoll = SpriteRagdoll { near: 0.01, ..SpriteRagdoll::of_bones(bones) };
    let body = stage.app.world_mut().spawn(ragdoll.with_texture(texture.clone())).id();
    tick(&mut stage.app, 1);
    let at_rest = stage.draw();
    // One of the last is pulled out.
    let moved = particles(&stage.app, body)[290];
    let mut particle = stage.app.world_mut().get_mut::<Particle>(moved).expect("a bone");
    particle.velocity = Vec3::new(0.0, -12.0, 0.0);
    tick(&mut stage.app, 3);
    let by_gpu = stage.draw();
    by_gpu.save("bones_300.png");
    assert!(by_gpu.differing(&at_rest, 20) > 20);
    let by_cpu = by_cpu(&mut stage, body, &texture);
    assert!(by_gpu.is_within_a_pixel_of(&by_cpu) && by_cpu.is_within_a_pixel_of(&by_gpu));
    assert!(skin(&stage.app, body).binding().joints.iter().any(|joints| joints[0] > 280));
}

/// How many draws the transparent phase makes of how many things.
fn draws(stage: &Stage) -> (usize, usize) {
    let render = stage.app.sub_app(RenderApp).world();
    let phases = render.resource::<ViewSortedRenderPhases<Transparent2d>>();
    let items: Vec<_> = phases.values().flat_map(|phase| phase.items.values()).collect();
    let mut draws = 0;
    let mut next = 0;
    while let Some(item) = items.get(next) {
        draws += 1;
        next += item.batch_range.len().max(1);
    }
    (draws, items.len())
}

#[test]
fn characters_of_one_picture_are_drawn_at_once() {
    let Some(mut stage) = Stage::new(8.0, afloat()) else { return };
    let texture = stage.image(picture());
    let count = 300;
    let bodies: Vec<Entity> = (0..count)
        .map(|i| {
            let at = Vec3::new((i % 20) as f32 * 0.5 - 5.0, (i / 20) as f32 * 0.5 - 4.0, 0.0);
            let color = Color::hsl(i as f32, 1.0, 0.6);
            let transform = Transform::from_translation(at);
            stage.app.world_mut().spawn((ragdoll(&texture).with_color(color), transform)).id()
        })
        .collect();
    tick(&mut stage.app, 2);
    stage.draw().save("crowd.png");
    // More texels than the palette had at first, and each of them its own.
    let mut tags: Vec<u32> = bodies
        .iter()
        .map(|body| stage.app.world().get::<MeshTag>(*body).expect("is drawn").0)
        .collect();
    tags.sort_unstable();
    assert!(tags.windows(2).all(|pair| pair[1] - pair[0] >= figure().len() as u32 + 2));
    assert!(tags[count - 1] > 3000);
    let world = stage.app.world();
    for body in &bodies {
        assert_eq!(world.get::<Mesh2d>(*body), world.get::<Mesh2d>(bodies[0]));
        let material = world.get::<MeshMaterial2d<CharacterMaterial>>(*body);
        assert!(material.is_some());
        assert_eq!(material, world.get::<MeshMaterial2d<CharacterMaterial>>(bodies[0]));
    }
    let (draws, items) = draws(&stage);
    assert!(items > 200, "{items}");
    assert!(draws <= 4, "{draws}");
}

#[test]
fn a_crowd_that_outgrows_the_palette_goes_on_being_drawn() {
    let Some(mut stage) = Stage::new(1.6, afloat()) else { return };
    let texture = stage.image(picture());
    let body = stage.app.world_mut().spawn(ragdoll(&texture)).id();
    tick(&mut stage.app, 1);
    let before = stage.draw();
    let far = Transform::from_xyz(100.0, 0.0, 0.0);
    let others: Vec<Entity> =
        (0..400).map(|_| stage.app.world_mut().spawn((ragdoll(&texture), far)).id()).collect();
    tick(&mut stage.app, 1);
    assert!(before.difference(&stage.draw()) <= 1);
    others.into_iter().for_each(|other| {
        stage.app.world_mut().despawn(other);
    });
    tick(&mut stage.app, 1);
    assert!(before.difference(&stage.draw()) <= 1);
    // Another gets texels that one had who is gone.
    let other = stage.app.world_mut().spawn((ragdoll(&texture), far)).id();
    tick(&mut stage.app, 1);
    let tag = |body: Entity| stage.app.world().get::<MeshTag>(body).expect("is drawn").0;
    assert_ne!(tag(other), tag(body));
    assert!(tag(other) < 4096);
}

#[test]
fn a_bone_that_is_gone_takes_its_part_of_the_picture_with_it() {
    let Some(mut stage) = Stage::new(1.6, afloat()) else { return };
    let texture = stage.image(picture());
    let body = stage.app.world_mut().spawn(ragdoll(&texture)).id();
    let other = Transform::from_xyz(-0.5, 0.0, 0.0);
    stage.app.world_mut().spawn((ragdoll(&texture), other));
    tick(&mut stage.app, 1);
    let whole = stage.draw();
    let head = particles(&stage.app, body)[1];
    stage.app.world_mut().despawn(head);
    tick(&mut stage.app, 1);
    let headless = stage.draw();
    headless.save("headless.png");
    let lost = whole.drawn() - headless.drawn();
    // The head's ellipse, in pixels of the picture drawn.
    let head = core::f32::consts::PI * 0.09 * 0.11 * (240.0f32 / 1.6).powi(2);
    assert!((lost as f32 - 1.25 * head).abs() < 0.35 * head, "{lost} of {head}");
    assert!(headless.differing(&whole, 2) as f32 <= 1.1 * lost as f32);
}

#[test]
fn later_z_order_is_followed() {
    let Some(mut stage) = Stage::new(1.6, afloat()) else { return };
    let texture = stage.image(picture());
    let spawn = |stage: &mut Stage, color: Color, x: f32, z: f32| {
        let at = Transform::from_xyz(x, 0.0, z);
        stage.app.world_mut().spawn((ragdoll(&texture).with_color(color), at)).id()
    };
    let red = spawn(&mut stage, Color::srgb(1.0, 0.0, 0.0), 0.0, 1.0);
    spawn(&mut stage, Color::srgb(0.0, 0.0, 1.0), 0.05, 2.0);
    tick(&mut stage.app, 1);
    let below = stage.draw();
    stage.app.world_mut().get_mut::<Transform>(red).expect("a body").translation.z = 3.0;
    let above = stage.draw();
    let reds = |picture: &Picture| picture.0.iter().filter(|p| p[0] > 60 && p[2] < 20).count();
    assert!(reds(&above) > reds(&below) + 500, "{} {}", reds(&above), reds(&below));
}

#[test]
fn a_picture_that_changes_is_bound_and_drawn_anew() {
    let Some(mut stage) = Stage::new(1.6, afloat()) else { return };
    let texture = stage.image(picture());
    let body = stage.app.world_mut().spawn(ragdoll(&texture)).id();
    tick(&mut stage.app, 1);
    stage.draw();
    let vertices = skin(&stage.app, body).binding().positions.len();
    let mut images = stage.app.world_mut().resource_mut::<Assets<Image>>();
    let mut image = images.get_mut(&texture).expect("is there");
    for pixel in image.data.as_deref_mut().expect("has data").as_chunks_mut::<4>().0 {
        *pixel = [255, 255, 255, 255];
    }
    drop(image);
    tick(&mut stage.app, 1);
    let white = stage.draw();
    assert!(skin(&stage.app, body).binding().positions.len() > vertices);
    let expected = (240.0 / 1.6) * (240.0 / 1.6) * 150.0 / 240.0;
    assert!((white.drawn() as f32 - expected).abs() < 0.03 * expected, "{}", white.drawn());
}

/// An app without a renderer, but with what characters are made of.
fn headless_app() -> App {
    let mut app = app_with(afloat());
    app.init_asset::<Image>().init_asset::<CharacterMaterial>();
    app
}

fn add_picture(app: &mut App) -> Handle<Image> {
    app.world_mut().resource_mut::<Assets<Image>>().add(picture())
}

fn vertices(app: &App, mesh: &Handle<Mesh>) -> Vec<Vec3> {
    let mesh = app.world().resource::<Assets<Mesh>>().get(mesh).expect("a mesh");
    match mesh.attribute(Mesh::ATTRIBUTE_POSITION) {
        Some(VertexAttributeValues::Float32x3(v)) => v.iter().map(|v| Vec3::from(*v)).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn weights_are_of_sum_1_and_bones_that_are_not_joined_do_not_share() {
    let mut app = headless_app();
    let texture = add_picture(&mut app);
    let body = app.world_mut().spawn(ragdoll(&texture)).id();
    tick(&mut app, 2);
    let binding = skin(&app, body).binding();
    assert!(binding.positions.len() > 500, "{}", binding.positions.len());
    for (at, (joints, weights)) in
        binding.positions.iter().zip(binding.joints.iter().zip(&binding.weights))
    {
        assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!(weights.is_sorted_by(|a, b| a >= b) && weights.iter().all(|w| *w >= 0.0));
        // The hand hangs beside the thigh and the belly: neither pulls the other.
        let of = |bone: u16| {
            let pairs = joints.iter().zip(weights).filter(|(joint, _)| **joint == bone);
            pairs.map(|(_, weight)| weight).sum::<f32>()
        };
        assert!(of(9) * of(4) < 1e-4, "{at}: {joints:?} {weights:?}");
        assert!(of(9) < 0.5 || of(0) < 0.02, "{at}: {joints:?} {weights:?}");
    }
}

#[test]
fn case_41_the_box_encloses_the_deformed_character() {
    let mut app = headless_app();
    let texture = add_picture(&mut app);
    let turned = Transform::from_xyz(3.0, 200.0, -1.0)
        .with_rotation(Quat::from_rotation_z(0.7))
        .with_scale(Vec3::new(1.5, 0.8, 1.0));
    let flat = app.world_mut().spawn((ragdoll(&texture), turned)).id();
    let solid = app.world_mut().spawn((ragdoll(&texture), turned, Mesh3d::default())).id();
    tick(&mut app, 2);
    for body in [flat, solid] {
        throw(&mut app, body);
    }
    for _ in 0..8 {
        tick(&mut app, 10);
        for body in [flat, solid] {
            let aabb = *app.world().get::<Aabb>(body).expect("has a box");
            let (low, high) = (Vec3::from(aabb.min()), Vec3::from(aabb.max()));
            let to_body =
                app.world().get::<GlobalTransform>(body).expect("a frame").affine().inverse();
            let (mut least, mut greatest) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
            for at in skin(&app, body).deform() {
                let at = to_body.transform_point3(at.extend(-1.0));
                assert!(at.cmpge(low - 1e-4).all() && at.cmple(high + 1e-4).all(), "{at} outside");
                (least, greatest) = (least.min(at), greatest.max(at));
            }
            // And is not much larger.
            let (own, needed) = ((high - low).xy(), (greatest - least).xy());
            assert!(own.cmple(needed * 1.6).all(), "{own} {needed}");
        }
    }
}

#[test]
fn a_mesh_of_the_users_is_replaced_by_one_that_follows() {
    let mut app = headless_app();
    let texture = add_picture(&mut app);
    let own = app.world_mut().resource_mut::<Assets<Mesh>>().add(Rectangle::default());
    let turned = Transform::from_xyz(0.3, 2.0, 5.0).with_rotation(Quat::from_rotation_z(1.0));
    let solid = app.world_mut().spawn((ragdoll(&texture), turned, Mesh3d(own.clone()))).id();
    let flat = app.world_mut().spawn((ragdoll(&texture), turned, Mesh2d(own.clone()))).id();
    tick(&mut app, 2);
    for body in [solid, flat] {
        throw(&mut app, body);
        assert_eq!(app.world().get::<SkinSource>(body).expect("bound").0, Some(own.clone()));
        assert!(app.world().get::<MeshMaterial2d<CharacterMaterial>>(body).is_none());
    }
    assert!(app.world().get::<Mesh2d>(solid).is_none());
    tick(&mut app, 30);
    let meshes = [
        (solid, app.world().get::<Mesh3d>(solid).expect("drawn").0.clone()),
        (flat, app.world().get::<Mesh2d>(flat).expect("drawn").0.clone()),
    ];
    for (body, mesh) in meshes {
        assert_ne!(mesh, own);
        let frame = *app.world().get::<GlobalTransform>(body).expect("a frame");
        let drawn = vertices(&app, &mesh);
        assert_eq!(drawn.len(), skin(&app, body).binding().positions.len());
        for (vertex, at) in drawn.into_iter().zip(skin(&app, body).deform()) {
            assert!(frame.transform_point(vertex).distance(at.extend(5.0)) < 1e-4);
        }
    }
    assert_eq!(vertices(&app, &own).len(), 4);
}

#[test]
fn bones_carry_what_is_drawn_of_them() {
    let mut app = headless_app();
    let texture = add_picture(&mut app);
    let scale = Vec3::new(-1.3, 1.3, 1.0);
    let body = app.world_mut().spawn((ragdoll(&texture), Transform::from_scale(scale))).id();
    tick(&mut app, 2);
    let before: Vec<Vec2> = skin(&app, body).deform().collect();
    for (at, drawn) in skin(&app, body).binding().positions.iter().zip(&before) {
        assert!((at * scale.truncate()).distance(*drawn) < 1e-5);
    }
    throw(&mut app, body);
    tick(&mut app, 25);
    let bones = particles(&app, body);
    let place = |bone: Entity| {
        let at = common::particle(&app, bone).position.truncate();
        (at, app.world().get::<OrientedParticle>(bone).expect("a bone").rotation)
    };
    // A vertex that hangs on one bone alone keeps its place on it.
    let skin = skin(&app, body);
    let mut tried = 0;
    for (vertex, at) in skin.deform().enumerate() {
        let (joint, weight) = (skin.binding().joints[vertex][0], skin.binding().weights[vertex][0]);
        if weight < 0.9999 {
            continue;
        }
        let rest = *app
            .world()
            .get::<bevy_pliant::particle::RestPose>(bones[joint as usize])
            .expect("a bone");
        let on_bone = rest.rotation.inverse()
            * ((skin.binding().positions[vertex].extend(0.0) - rest.position) * scale);
        let (centre, rotation) = place(bones[joint as usize]);
        assert!(at.distance(centre + (rotation * on_bone).truncate()) < 1e-4);
        tried += 1;
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn a_texture_may_come_late_be_swapped_and_fail() {
    let mut app = headless_app();
    let late = app.world().resource::<Assets<Image>>().reserve_handle();
    let body = app.world_mut().spawn(ragdoll(&late)).id();
    tick(&mut app, 3);
    assert!(app.world().get::<CharacterSkin>(body).is_none());
    let _ = app.world_mut().resource_mut::<Assets<Image>>().insert(&late, picture());
    tick(&mut app, 3);
    assert!(app.world().get::<CharacterSkin>(body).is_some());
    assert!(app.world().get::<Mesh2d>(body).is_some());
    let first = app.world().get::<Mesh2d>(body).cloned();
    // Another spacing, another mesh; the same again, the same.
    let set = |app: &mut App, spacing: Option<f32>| {
        app.world_mut().get_mut::<SpriteRagdoll>(body).expect("a ragdoll").skin_spacing = spacing;
        tick(app, 3);
        app.world().get::<Mesh2d>(body).cloned()
    };
    let coarse = set(&mut app, Some(0.2));
    assert_ne!(coarse, first);
    let count = |app: &App| skin(app, body).binding().positions.len();
    let few = count(&app);
    set(&mut app, None);
    assert!(count(&app) > few + 200, "{} {few}", count(&app));
    app.world_mut().get_mut::<SpriteRagdoll>(body).expect("a ragdoll").texture = Handle::default();
    tick(&mut app, 3);
    app.world_mut().despawn(body);
    tick(&mut app, 3);
}

#[test]
fn rebuilding_disabling_swapping_and_despawning_are_safe() {
    let mut app = headless_app();
    let texture = add_picture(&mut app);
    let body = app.world_mut().spawn(ragdoll(&texture)).id();
    let other = app.world_mut().spawn(ragdoll(&texture)).id();
    tick(&mut app, 2);
    let shared = app.world().get::<Mesh2d>(body).cloned();
    assert!(shared.is_some());
    assert_eq!(shared, app.world().get::<Mesh2d>(other).cloned());
    app.world_mut().trigger(Rebuild { entity: body });
    tick(&mut app, 3);
    assert_eq!(shared, app.world().get::<Mesh2d>(body).cloned());
    let bone = |app: &App| particles(app, body)[3];
    let gone = bone(&app);
    app.world_mut().despawn(gone);
    tick(&mut app, 2);
    assert_ne!(shared, app.world().get::<Mesh2d>(body).cloned());
    app.world_mut().trigger(Rebuild { entity: body });
    tick(&mut app, 3);
    let whole = skin(&app, other).binding().triangles.len();
    assert_eq!(skin(&app, body).binding().triangles.len(), whole);
    app.world_mut().entity_mut(body).insert(bevy::ecs::entity_disabling::Disabled);
    tick(&mut app, 3);
    app.world_mut().entity_mut(body).remove::<bevy::ecs::entity_disabling::Disabled>();
    tick(&mut app, 3);
    // A mesh of the user's takes the place of ours, and goes again.
    let own = app.world_mut().resource_mut::<Assets<Mesh>>().add(Rectangle::default());
    app.world_mut().entity_mut(body).insert(Mesh2d(own.clone()));
    tick(&mut app, 4);
    assert!(app.world().get::<MeshMaterial2d<CharacterMaterial>>(body).is_none());
    assert!(app.world().get::<MeshTag>(body).is_none());
    assert_eq!(app.world().get::<SkinSource>(body).expect("bound").0, Some(own.clone()));
    app.world_mut().entity_mut(body).remove::<Mesh2d>().insert(Mesh3d(own));
    tick(&mut app, 4);
    app.world_mut().entity_mut(body).remove::<Mesh3d>();
    tick(&mut app, 4);
    assert_eq!(shared, app.world().get::<Mesh2d>(body).cloned());
    assert!(app.world().get::<MeshTag>(body).is_some());
    for _ in 0..particles(&app, body).len() {
        let particle = particles(&app, other)[0];
        app.world_mut().despawn(particle);
        tick(&mut app, 1);
    }
    app.world_mut().despawn(body);
    tick(&mut app, 2);
    assert!(all_finite(&mut app));
}

#[test]
fn what_a_saved_world_had_left_of_ours_is_drawn_anew() {
    let mut app = headless_app();
    let texture = add_picture(&mut app);
    // Handles of assets that were made do not survive saving.
    let left = (Mesh2d::default(), MeshMaterial2d::<CharacterMaterial>::default(), MeshTag(7));
    let body = app.world_mut().spawn((ragdoll(&texture), left)).id();
    let other = app.world_mut().spawn(ragdoll(&texture)).id();
    tick(&mut app, 3);
    assert_eq!(app.world().get::<Mesh2d>(body), app.world().get::<Mesh2d>(other));
    assert_ne!(app.world().get::<Mesh2d>(body), Some(&Mesh2d::default()));
    assert_ne!(app.world().get::<MeshTag>(body), app.world().get::<MeshTag>(other));
}

#[test]
fn without_a_material_or_images_nothing_is_drawn() {
    let mut app = app_with(afloat());
    let body = app.world_mut().spawn(SpriteRagdoll::of_bones(figure())).id();
    tick(&mut app, 3);
    assert!(app.world().get::<CharacterSkin>(body).is_none());
    app.init_asset::<Image>();
    let texture = add_picture(&mut app);
    let body = app.world_mut().spawn(ragdoll(&texture)).id();
    tick(&mut app, 3);
    assert!(app.world().get::<Mesh2d>(body).is_none());
    assert!(skin(&app, body).deform().count() > 500);
}

#[test]
fn nonsense_in_a_recipe_draws_nothing_and_does_no_harm() {
    let mut app = headless_app();
    let texture = add_picture(&mut app);
    let unreadable = {
        let mut image = picture();
        image.data = None;
        app.world_mut().resource_mut::<Assets<Image>>().add(image)
    };
    let nan = f32::NAN;
    let mut bodies = Vec::new();
    let rects = [
        Rect::new(0.0, 0.0, 0.0, 0.0),
        Rect { min: Vec2::splat(nan), max: Vec2::ONE },
        Rect::new(-50.0, -50.0, 900.0, 900.0),
        Rect::new(1e6, 1e6, 2e6, 2e6),
    ];
    for rect in rects {
        bodies.push(ragdoll(&texture).with_rect(rect));
    }
    for spacing in [0.0, -1.0, nan, 1e-20, 1e20] {
        bodies.push(ragdoll(&texture).with_skin_spacing(spacing));
    }
    bodies.push(ragdoll(&texture).with_color(Color::srgba(nan, nan, nan, nan)));
    bodies.push(ragdoll(&unreadable));
    bodies.push(SpriteRagdoll::of_bones(Vec::new()).with_texture(texture));
    for body in bodies {
        app.world_mut().spawn(body);
    }
    tick(&mut app, 5);
    let mut skins = app.world_mut().query::<(&CharacterSkin, &BuiltFrom<SpriteRagdoll>)>();
    let mut count = 0;
    for (skin, _) in skins.iter(app.world()) {
        assert!(skin.deform().all(Vec2::is_finite));
        count += 1;
    }
    assert!(count > 2, "{count}");
}
