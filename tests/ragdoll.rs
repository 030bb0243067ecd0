//! Ragdolls: how they are built from pictures, files and lists, what changes on a live one, how they move.
#![cfg(feature = "render")]

mod common;

use bevy::{
    asset::{AssetPlugin, RenderAssetUsages},
    ecs::entity::EntityHashMap,
    prelude::*,
    render::render_resource::TextureFormat,
    time::TimeUpdateStrategy,
    world_serialization::DynamicWorldBuilder,
};
use bevy_pliant::{particle::RestPose, prelude::*, recipe::RagdollBones, solver::state_hash};
use common::{
    figure, particle, particles, positions,
    ragdoll::{
        Random, Seen, angle, bone, centre, drawn_figure, figure, joints, oriented, ragdoll_app,
        spawn, top_speed, worst_gap,
    },
    tick,
};

/// Which of the figure's bones each bone of a mask is, by its place.
fn names(app: &App, body: Entity) -> Vec<String> {
    let known = figure::bones();
    let nearest = |bone: &Bone| {
        let distance = |other: &&Bone| (other.center.distance(bone.center) * 1e6) as u32;
        known.iter().min_by_key(distance).unwrap().name.clone().unwrap()
    };
    app.world().get::<RagdollBones>(body).expect("is built").bones.iter().map(nearest).collect()
}

fn failure(app: &mut App, ragdoll: SpriteRagdoll) -> BuildError {
    let body = spawn(app, ragdoll, Transform::IDENTITY);
    for _ in 0..2000 {
        app.update();
        let seen = app.world().resource::<Seen>();
        assert!(!seen.built.contains(&body), "is built");
        if let Some((_, error)) = seen.failed.iter().find(|(failed, _)| *failed == body) {
            let error = error.clone();
            assert!(app.world().get::<Particles>(body).is_none());
            tick(app, 5);
            let seen = app.world().resource::<Seen>();
            assert_eq!(seen.failed.iter().filter(|f| f.0 == body).count(), 1, "is told again");
            return error;
        }
        std::thread::sleep(core::time::Duration::from_millis(1));
    }
    panic!("no failure is told");
}

#[test]
fn a_figure_is_built_from_its_pictures() {
    let mut app = ragdoll_app(default());
    let ragdoll = drawn_figure(&mut app).with_height(2.0).with_mass(3.0);
    let at = Transform::from_xyz(5.0, 3.0, -1.0).with_rotation(Quat::from_rotation_z(0.5));
    let body = spawn(&mut app, ragdoll, at);
    app.update();
    app.update();
    let names = names(&app, body);
    assert_eq!(names.len(), 16);
    assert_eq!(app.world().resource::<Seen>().built, [body]);
    assert!(app.world().get::<Planar>(body).is_some());
    let mut pairs: Vec<[&str; 2]> = app
        .world()
        .get::<RagdollBones>(body)
        .unwrap()
        .pairs()
        .map(|pair| pair.map(|i| &*names[i as usize]))
        .collect();
    pairs.iter_mut().for_each(|pair| pair.sort_unstable());
    pairs.sort_unstable();
    let mut expected = figure::JOINTS.to_vec();
    expected.iter_mut().for_each(|pair| pair.sort_unstable());
    expected.sort_unstable();
    assert_eq!(pairs, expected);
    let set = app.world().get::<RagdollBones>(body).unwrap().set();
    assert_eq!(BoneSet::from_ron(&set.to_ron().unwrap()).unwrap(), set, "can be saved");
    let bones = figure::bones();
    let mut mass = 0.0;
    for (name, entity) in names.iter().zip(particles(&app, body)) {
        let wanted = bones.iter().find(|b| b.name.as_deref() == Some(name)).unwrap();
        let (p, o) = (particle(&app, entity), oriented(&app, entity));
        let place = at.transform_point(2.0 * wanted.center.extend(0.0));
        // Half a pixel, a tick of free fall; where another bone is drawn over it, some more.
        assert!(p.position.distance(place) < 0.08, "{name}: {} {place}", p.position);
        assert_eq!(p.position.z, -1.0);
        mass += p.mass;
        if ["head", "forearm l", "hand r", "shin l"].contains(&&**name) {
            let radii = 0.85 * 2.0 * wanted.radii;
            let (long, short) =
                (o.radii.truncate().max_element(), o.radii.truncate().min_element());
            assert!((long - radii.max_element()).abs() < 0.01, "{name} {o:?}");
            assert!((short - radii.min_element()).abs() < 0.01, "{name} {o:?}");
            assert_eq!(o.radii.z, short);
        }
    }
    assert!((mass - 3.0).abs() < 1e-5);
    for joint in joints(&app, body) {
        assert_eq!(joint.limits, JointLimits::planar(-1.2, 1.2));
        let wanted = 100.0 / (3.0 * 9.81 * 2.0);
        assert!((joint.torsion_compliance / wanted - 1.0).abs() < 1e-5, "{joint:?}");
        assert_eq!((joint.spin_damping, joint.compliance), (25.0, 0.0));
    }
}

#[test]
fn bones_are_built_at_their_place_turned_scaled_and_mirrored() {
    let bones = vec![
        Bone::new(Vec2::new(0.1, 0.2), Vec2::new(0.2, 0.05)).turned(0.3).named("a"),
        Bone::new(Vec2::new(-0.1, -0.1), Vec2::new(0.05, 0.06)).limited(-0.2, 0.7),
    ];
    let surface = |bone: &Bone, t: f32| {
        let local = Vec2::new(t.cos(), t.sin()) * bone.radii;
        bone.center + Vec2::from_angle(bone.angle).rotate(local)
    };
    for (flip, scale) in [
        ([false, false], Vec3::ONE),
        ([true, false], Vec3::splat(2.0)),
        ([true, true], Vec3::new(1.0, 3.0, 1.0)),
        ([false, false], Vec3::new(-1.5, 0.5, 1.0)),
    ] {
        let mut app = ragdoll_app(SolverSettings { gravity: Vec3::ZERO, ..default() });
        let ragdoll = SpriteRagdoll::of_bones(bones.clone()).with_height(1.5);
        let ragdoll = SpriteRagdoll { near: 1.0, ..ragdoll.flipped(flip[0], flip[1]) };
        let at = Transform::from_xyz(1.0, 2.0, 3.0)
            .with_rotation(Quat::from_rotation_z(-1.0))
            .with_scale(scale);
        let body = spawn(&mut app, ragdoll, at);
        tick(&mut app, 1);
        let sign = Vec2::new(if flip[0] { -1.0 } else { 1.0 }, if flip[1] { -1.0 } else { 1.0 });
        for (bone, entity) in bones.iter().zip(particles(&app, body)) {
            let (p, o) = (particle(&app, entity), oriented(&app, entity));
            assert!((o.rotation.x, o.rotation.y) == (0.0, 0.0), "out of the plane: {o:?}");
            for t in 0..12 {
                let point = at.transform_point((1.5 * sign * surface(bone, t as f32)).extend(0.0));
                let local = (o.rotation.inverse() * (point - p.position)).truncate();
                let norm = (local / o.radii.truncate()).length();
                assert!((norm - 1.0).abs() < 1e-3, "{flip:?} {scale}: {norm}");
            }
            let rest = app.world().get::<RestPose>(entity).unwrap();
            let turned = at.rotation * rest.rotation;
            assert!(turned.angle_between(o.rotation) < 1e-3, "the rest pose is not as built");
        }
        let JointLimits::Hinge { min, max, .. } = joints(&app, body)[0].limits else { panic!() };
        let mirrored = (flip[0] != flip[1]) != (scale.x < 0.0);
        assert_eq!([min, max], if mirrored { [-0.7, 0.2] } else { [-0.2, 0.7] });
    }
}

#[test]
fn it_waits_for_its_pictures_and_reads_them_once() {
    let mut app = ragdoll_app(default());
    let images = app.world().resource::<Assets<Image>>();
    let (texture, mask) = (images.reserve_handle(), images.reserve_handle());
    let ragdoll = SpriteRagdoll::new(texture.clone(), mask.clone());
    let mut bodies =
        [0.0, 4.0].map(|x| spawn(&mut app, ragdoll.clone(), Transform::from_xyz(x, 0.0, 0.0)));
    let add = |app: &mut App, handle: &Handle<Image>, image: Image| {
        let mut images = app.world_mut().resource_mut::<Assets<Image>>();
        images.insert(handle, image).expect("is reserved");
    };
    tick(&mut app, 20);
    add(&mut app, &texture, figure::texture());
    tick(&mut app, 20);
    assert!(app.world().resource::<Seen>().built.is_empty());
    add(&mut app, &mask, figure::mask());
    tick(&mut app, 1);
    let mut built = app.world().resource::<Seen>().built.clone();
    built.sort_unstable();
    bodies.sort_unstable();
    assert_eq!(built, bodies);
    assert!(app.world().resource::<Seen>().failed.is_empty());
    let joined = bodies.map(|body| app.world().get::<RagdollBones>(body).unwrap().clone());
    assert_eq!(joined[0], joined[1]);
    // Another mask in the same place is read anew.
    let only_head = figure::picture(|p| match figure::bone_at(p, 0.85) {
        Some(0) => [255; 4],
        _ => [0; 4],
    });
    add(&mut app, &mask, only_head);
    app.update();
    app.update();
    app.world_mut().trigger(Rebuild { entity: bodies[0] });
    tick(&mut app, 2);
    assert_eq!(particles(&app, bodies[0]).len(), 1);
    assert_eq!(particles(&app, bodies[1]).len(), 16);
}

#[test]
fn pictures_that_cannot_be_used_are_told_once() {
    let mut app = ragdoll_app(default());
    let mut add = |image: Image| app.world_mut().resource_mut::<Assets<Image>>().add(image);
    let good = add(figure::mask());
    let small = add(Image::default());
    let empty = add(figure::picture(|_| [0; 4]));
    let mut compressed = figure::mask();
    compressed.texture_descriptor.format = TextureFormat::Bc1RgbaUnormSrgb;
    let compressed = add(compressed);
    let mut gone = figure::mask();
    gone.asset_usage = RenderAssetUsages::RENDER_WORLD;
    let gone = add(gone);
    let of = |texture: &Handle<Image>, mask: &Handle<Image>| {
        SpriteRagdoll::new(texture.clone(), mask.clone())
    };
    let rect = |x: f32| Rect { min: Vec2::ZERO, max: Vec2::splat(x) };
    for (ragdoll, says) in [
        (of(&good, &small), "1, 1"),
        (of(&good, &empty), "no bone"),
        (of(&good, &compressed), "Bc1"),
        (of(&compressed, &good), "texture cannot be read"),
        (of(&good, &gone), "render world"),
        (of(&good, &Handle::default()), "no bones"),
        (of(&good, &good).with_rect(rect(900.0)), "rect"),
        (of(&good, &good).with_rect(rect(f32::NAN)), "rect"),
        (SpriteRagdoll::of_bones(Vec::new()), "no bones"),
        (figure().with_height(f32::NAN), "height"),
        (figure().with_mass(-1.0), "mass"),
        (figure().with_mass(1e-44), "mass"),
        (figure().with_height(1e-30), "bone"),
        (SpriteRagdoll { bend: f32::NAN, ..figure() }, "bend"),
        (SpriteRagdoll { torsion_compliance: Some(-1.0), ..figure() }, "torsion"),
    ] {
        let error = failure(&mut app, ragdoll).to_string();
        assert!(error.contains(says), "{says}: {error}");
    }
}

/// An app that loads from a folder of its own.
fn app_of_folder(files: &[(&str, &str)]) -> (App, std::path::PathBuf) {
    use core::sync::atomic::{AtomicU32, Ordering};
    static FOLDERS: AtomicU32 = AtomicU32::new(0);
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let name = format!("bevy_pliant_bones_{}_{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let mut app = App::new();
    let file_path = folder.to_string_lossy().into_owned();
    app.add_plugins((MinimalPlugins, TransformPlugin))
        .add_plugins(AssetPlugin { file_path, ..default() })
        .init_asset::<Image>()
        .init_asset::<Mesh>()
        .insert_resource(TimeUpdateStrategy::FixedTimesteps(1))
        .add_plugins(PliantPlugins::default())
        .init_resource::<Seen>()
        .add_observer(|e: On<BodyBuilt>, mut seen: ResMut<Seen>| seen.built.push(e.entity))
        .add_observer(|e: On<BodyFailed>, mut seen: ResMut<Seen>| {
            seen.failed.push((e.entity, e.error.clone()));
        });
    (app, folder)
}

#[test]
fn a_file_of_bones_is_loaded_and_a_broken_one_is_told() {
    let mut set = BoneSet::new(figure::bones());
    let pair = |a: u32, b: u32| BoneJoint { bones: [a, b], ..default() };
    set.joints = vec![pair(0, 1), BoneJoint { limits: Some([-0.1, 0.4]), ..pair(2, 1) }];
    set.joints[0].anchor = Some(Vec2::new(0.01, 0.31));
    let text = set.to_ron().unwrap();
    let broken = text.replace("radii", "size");
    let files = [("figure.bones.ron", &*text), ("broken.bones.ron", &*broken)];
    let (mut app, folder) = app_of_folder(&files);
    let server = app.world().resource::<AssetServer>().clone();
    let of = |file: &'static str| SpriteRagdoll::with_set(Handle::default(), server.load(file));
    let body = spawn(&mut app, of("figure.bones.ron"), Transform::IDENTITY);
    let started = std::time::Instant::now();
    while app.world().resource::<Seen>().built.is_empty() {
        assert!(started.elapsed().as_secs() < 60, "does not load");
        app.update();
    }
    assert_eq!(particles(&app, body).len(), 16);
    let joints = joints(&app, body);
    assert_eq!(joints.len(), 2, "those of the file and no others");
    assert_eq!(joints[0].anchors[0], Vec3::new(0.01, 0.31 - 0.4, 0.0));
    // Bone 1 against 2 is 2 against 1 the other way round.
    assert_eq!(joints[1].limits, JointLimits::planar(-0.4, 0.1));
    assert_eq!(joints[1].particles[0], bone(&app, body, "chest"));

    let error = failure(&mut app, of("broken.bones.ron")).to_string();
    assert!(error.contains("line 3") && error.contains("size"), "{error}");
    let error = failure(&mut app, of("missing.bones.ron")).to_string();
    assert!(error.contains("file of bones"), "{error}");
    let texture = server.load("missing.png");
    let error = failure(&mut app, figure().with_texture(texture)).to_string();
    assert!(error.contains("texture"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_hand_on_the_hip_is_joined_only_across_what_is_drawn() {
    let mut app = ragdoll_app(default());
    let hip = Bone::new(Vec2::ZERO, Vec2::new(0.1, 0.3)).named("trunk");
    let arm = Bone::new(Vec2::new(0.15, 0.22), Vec2::new(0.09, 0.03)).named("arm");
    let hand = Bone::new(Vec2::new(0.145, 0.06), Vec2::new(0.04, 0.12)).named("hand");
    let bones = [hip, arm, hand];
    let drawn =
        |p: Vec2| bones.iter().any(|b| ((p - b.center) / (1.25 * b.radii)).length_squared() < 1.0);
    let cut = |p: Vec2| p.y < 0.19 && (p.x - 0.102).abs() < 0.012;
    let paint = |opaque: bool| if opaque { [255; 4] } else { [0; 4] };
    let apart = figure::picture(|p| paint(drawn(p) && !cut(p)));
    let texture = app.world_mut().resource_mut::<Assets<Image>>().add(apart);
    let ragdoll = SpriteRagdoll::of_bones(bones.to_vec()).with_texture(texture);
    let body = spawn(&mut app, ragdoll, Transform::IDENTITY);
    tick(&mut app, 1);
    let joined = app.world().get::<RagdollBones>(body).unwrap().pairs().collect::<Vec<_>>();
    assert_eq!(joined, [[0, 1], [1, 2]]);
}

#[test]
fn what_is_material_changes_live_where_the_recipes_own_value_stands() {
    let mut app = ragdoll_app(default());
    let body = spawn(&mut app, figure(), Transform::from_xyz(0.0, 5.0, 0.0));
    tick(&mut app, 20);
    let before = particles(&app, body);
    let places = positions(&app, body);
    let head = bone(&app, body, "head");
    app.world_mut().get_mut::<Particle>(head).unwrap().mass = 7.0;
    let own = {
        let world = app.world_mut();
        let constraint = world.get::<Constraints>(body).unwrap()[0];
        let mut joint = world.get_mut::<JointConstraint>(constraint).unwrap();
        joint.spin_damping = 3.0;
        joint.limits = JointLimits::Free;
        constraint
    };
    let mut ragdoll = app.world_mut().get_mut::<SpriteRagdoll>(body).unwrap();
    let before_mass = ragdoll.mass;
    ragdoll.mass = 2.0;
    ragdoll.compliance = 1e-4;
    ragdoll.torsion_compliance = Some(5.0);
    ragdoll.spin_damping = 11.0;
    ragdoll.bend = 0.5;
    ragdoll.friction = Friction::NONE;
    ragdoll.damping = Some(0.7);
    ragdoll.self_contact = false;
    ragdoll.color = Color::BLACK;
    tick(&mut app, 1);
    assert_eq!(particles(&app, body), before);
    assert_eq!(app.world().resource::<Seen>().built, [body], "is not built anew");
    for (a, b) in places.iter().zip(positions(&app, body)) {
        assert!(a.distance(b) < 0.15, "jumps");
    }
    let settings = app.world().get::<BodySettings>(body).unwrap();
    assert_eq!((settings.friction, settings.damping), (Friction::NONE, Some(0.7)));
    assert!(!settings.self_contact && settings.soft_contact);
    assert_eq!(particle(&app, head).mass, 7.0, "the user's own stays");
    let chest = particle(&app, bone(&app, body, "chest")).mass;
    let areas: f32 = figure::bones().iter().map(|b| b.radii.x * b.radii.y).sum();
    assert!((chest - 2.0 * 0.11 * 0.085 / areas).abs() < 1e-5 && before_mass == 1.0);
    for constraint in app.world().get::<Constraints>(body).unwrap().iter() {
        let joint = app.world().get::<JointConstraint>(constraint).unwrap();
        assert_eq!((joint.compliance, joint.torsion_compliance), (1e-4, 5.0));
        if constraint == own {
            assert_eq!((joint.spin_damping, joint.limits), (3.0, JointLimits::Free));
        } else {
            assert_eq!(joint.spin_damping, 11.0);
            assert_eq!(joint.limits, JointLimits::planar(-0.5, 0.5));
        }
    }
}

#[test]
fn a_change_of_shape_and_rebuild_keep_bones_and_what_hangs_on_them() {
    let mut app = ragdoll_app(default());
    let body = spawn(&mut app, figure(), Transform::from_xyz(0.0, 5.0, 0.0));
    tick(&mut app, 30);
    let (bones, hand) = (particles(&app, body), bone(&app, body, "hand l"));
    let sword = app.world_mut().spawn((ChildOf(hand), Transform::default())).id();
    let constraints = app.world().get::<Constraints>(body).unwrap().len();
    app.world_mut().get_mut::<SpriteRagdoll>(body).unwrap().style = RagdollStyle::Elastic;
    tick(&mut app, 1);
    assert_eq!(particles(&app, body), bones);
    assert_eq!(joints(&app, body).len(), 0);
    assert_eq!(app.world().get::<Constraints>(body).unwrap().len(), 16, "groups");
    app.world_mut().get_mut::<SpriteRagdoll>(body).unwrap().style = RagdollStyle::Jointed;
    app.world_mut().get_mut::<SpriteRagdoll>(body).unwrap().height = 2.0;
    tick(&mut app, 1);
    assert_eq!(particles(&app, body), bones);
    assert_eq!(app.world().get::<Constraints>(body).unwrap().len(), constraints);
    assert_eq!(app.world().get::<ChildOf>(sword).unwrap().parent(), hand);
    let built = app.world().resource::<Seen>().built.len();
    tick(&mut app, 40);
    app.world_mut().trigger(Rebuild { entity: body });
    tick(&mut app, 1);
    assert_eq!(app.world().resource::<Seen>().built.len(), built + 1);
    assert_eq!(particles(&app, body), bones);
    let rest = app.world().get::<RestPose>(hand).unwrap().position;
    let place = Vec3::new(0.0, 5.0, 0.0) + rest;
    assert!(particle(&app, hand).position.distance(place) < 0.01, "is where it was built");
    assert_eq!(app.world().get::<ChildOf>(sword).unwrap().parent(), hand);
}

#[test]
fn a_saved_ragdoll_is_taken_as_it_is() {
    for style in [RagdollStyle::Jointed, RagdollStyle::Elastic] {
        let mut original = ragdoll_app(default());
        let ragdoll = drawn_figure(&mut original).with_style(style);
        let body = spawn(&mut original, ragdoll, Transform::from_xyz(0.0, 5.0, 0.0));
        tick(&mut original, 40);
        let saved = {
            let world = original.world();
            let bones = particles(&original, body);
            let constraints = world.get::<Constraints>(body).unwrap().to_vec();
            let all = core::iter::once(body).chain(bones).chain(constraints);
            let registry = world.resource::<AppTypeRegistry>().read();
            DynamicWorldBuilder::from_world(world, &registry)
                .allow_all_components()
                .extract_entities(all)
                .build()
        };
        let mut loaded = ragdoll_app(default());
        tick(&mut loaded, 40);
        loaded.world_mut().spawn_batch((0..9).map(|i| Name::new(format!("{i}"))));
        let mut map = EntityHashMap::default();
        saved.write_to_world(loaded.world_mut(), &mut map).expect("loads");
        let copy = map[&body];
        let clock = *original.world().resource::<SolverClock>();
        loaded.insert_resource(clock);
        common::assert_same_bits(&mut original, &mut loaded, 60, "a ragdoll");
        assert!(loaded.world().resource::<Seen>().built.is_empty());
        assert!(loaded.world().resource::<Seen>().failed.is_empty());
        let bones = [(&original, body), (&loaded, copy)]
            .map(|(app, body)| app.world().get::<RagdollBones>(body).unwrap().clone());
        assert_eq!(bones[0].joints, bones[1].joints);
        for (a, b) in bones[0].bones.iter().zip(&*bones[1].bones) {
            assert!(a.center.distance(b.center) < 1e-6 && a.radii.distance(b.radii) < 1e-6);
        }
        // Its mass still changes live, and it can be built anew although its pictures are lost.
        loaded.world_mut().get_mut::<SpriteRagdoll>(copy).unwrap().mass = 2.0;
        tick(&mut loaded, 1);
        let mass = |app: &App| -> f32 {
            particles(app, copy).iter().map(|e| particle(app, *e).mass).sum()
        };
        assert!((mass(&loaded) - 2.0).abs() < 1e-4, "{}", mass(&loaded));
        loaded.world_mut().trigger(Rebuild { entity: copy });
        tick(&mut loaded, 1);
        assert_eq!(loaded.world().resource::<Seen>().built, [copy]);
        assert!(loaded.world().resource::<Seen>().failed.is_empty());
    }
}

#[test]
fn nonsense_in_any_field_is_refused_or_clamped() {
    let mut random = Random(99);
    let mut nasty = move || {
        let values = [
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            0.0,
            -1.0,
            1e-40,
            1e-12,
            1e12,
            f32::MAX,
            1.0,
        ];
        values[random.below(values.len())]
    };
    let mut random = Random(5);
    let mut app = ragdoll_app(default());
    let drawn = drawn_figure(&mut app);
    app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::default()));
    for round in 0..150 {
        let mut ragdoll = match round % 3 {
            0 => figure(),
            1 => drawn.clone(),
            _ => figure().with_style(RagdollStyle::Elastic),
        };
        for _ in 0..1 + random.below(2) {
            match random.below(16) {
                0 => ragdoll.height = nasty(),
                1 => ragdoll.mass = nasty(),
                2 => ragdoll.near = nasty(),
                3 => ragdoll.compliance = nasty(),
                4 => ragdoll.torsion_compliance = Some(nasty()),
                5 => ragdoll.spin_damping = nasty(),
                6 => ragdoll.bend = nasty(),
                7 => ragdoll.damping = Some(nasty()),
                8 => ragdoll.friction = Friction::new(nasty()),
                9 => ragdoll.skin_spacing = Some(nasty()),
                10 => {
                    let corners = [Vec2::splat(nasty()), Vec2::splat(nasty())];
                    ragdoll.rect = Some(Rect { min: corners[0], max: corners[1] });
                }
                11 => ragdoll.mask.least_pixels = nasty() as u32,
                _ => {
                    if let BoneSource::Bones(bones) = &mut ragdoll.bones {
                        let bone = &mut bones[random.below(16)];
                        match random.below(5) {
                            0 => bone.center.x = nasty(),
                            1 => bone.radii.y = nasty(),
                            2 => bone.angle = nasty(),
                            3 => bone.limits = Some([nasty(), nasty()]),
                            _ => bone.radii = Vec2::splat(nasty()),
                        }
                    }
                }
            }
        }
        let body = spawn(&mut app, ragdoll.clone(), Transform::from_xyz(0.0, 3.0, 0.0));
        tick(&mut app, 3);
        // The same on a live one.
        let good = SpriteRagdoll { bones: ragdoll.bones.clone(), ..figure() };
        app.world_mut().entity_mut(body).insert(good);
        tick(&mut app, 2);
        app.world_mut().entity_mut(body).insert(ragdoll);
        tick(&mut app, 3);
        assert!(common::all_finite(&mut app), "round {round}");
        let seen = app.world().resource::<Seen>();
        let known = seen.built.contains(&body) || seen.failed.iter().any(|f| f.0 == body);
        assert!(known, "round {round}: nothing is told");
        app.world_mut().despawn(body);
    }
}

#[test]
fn the_same_bits_for_every_number_of_tasks() {
    let run = |max_tasks: usize| {
        let mut app = ragdoll_app(SolverSettings { max_tasks, ..default() });
        app.world_mut().spawn((Obstacle::HALF_SPACE, Transform::default()));
        let mut random = Random(3);
        for i in 0..6 {
            let style = if i % 3 == 0 { RagdollStyle::Elastic } else { RagdollStyle::Jointed };
            let at = Transform::from_xyz(0.7 * i as f32, 1.0 + random.unit(), 0.0)
                .with_rotation(Quat::from_rotation_z(3.0 * random.signed()));
            spawn(&mut app, figure().with_style(style), at);
        }
        tick(&mut app, 150);
        assert!(common::all_finite(&mut app));
        state_hash(app.world_mut())
    };
    let one = run(1);
    assert_eq!(one, run(1), "twice");
    assert_eq!(one, run(4), "in four tasks");
}

/// The figure held by its chest, its arms out.
fn held(app: &mut App, ragdoll: SpriteRagdoll) -> Entity {
    let body = spawn(app, ragdoll, Transform::from_xyz(0.0, 5.0, 0.0));
    tick(app, 1);
    let chest = bone(app, body, "chest");
    app.world_mut().entity_mut(chest).insert(Pinned);
    body
}

/// How far below the level the arm points, from shoulder to hand (degrees).
fn droop(app: &App, body: Entity) -> f32 {
    let is_shoulder = |j: &&JointConstraint| j.particles[1] == bone(app, body, "upper arm r");
    let chest = bone(app, body, "chest");
    let shoulder = joints(app, body).iter().find(is_shoulder).map_or(Vec3::ZERO, |joint| {
        particle(app, chest).position + oriented(app, chest).rotation * joint.anchors[0]
    });
    let arm = particle(app, bone(app, body, "hand r")).position - shoulder;
    (-arm.y).atan2(arm.x).to_degrees()
}

#[test]
fn an_arm_held_out_droops_and_a_stiff_one_stands() {
    let droop_at = |ragdoll: SpriteRagdoll| {
        let mut app = ragdoll_app(default());
        let body = held(&mut app, ragdoll);
        tick(&mut app, 64 * 12);
        assert!(top_speed(&app, body) < 0.05, "still moves");
        assert!(worst_gap(&app, body) < 0.02, "{}", worst_gap(&app, body));
        droop(&app, body)
    };
    let floppy = droop_at(figure());
    assert!((58.0..80.0).contains(&floppy), "{floppy} degrees");
    // The default does not depend on mass and size.
    let large = droop_at(figure().with_mass(70.0).with_height(1.8));
    assert!((large - floppy).abs() < 1.0, "{large} {floppy}");
    let stiff = SpriteRagdoll { torsion_compliance: Some(10.0 / 9.81), ..figure() };
    let stiff = droop_at(stiff);
    assert!((10.0..35.0).contains(&stiff), "{stiff} degrees");
}

#[test]
fn limits_hold_an_arm_that_would_go_further() {
    let mut app = ragdoll_app(default());
    let limp = SpriteRagdoll { torsion_compliance: Some(f32::INFINITY), bend: 0.3, ..figure() };
    let body = held(&mut app, limp);
    tick(&mut app, 64 * 12);
    let (chest, arm) = (bone(&app, body, "chest"), bone(&app, body, "upper arm r"));
    let turned = angle(oriented(&app, chest).rotation.inverse() * oriented(&app, arm).rotation);
    assert!((turned + 0.3).abs() < 0.02, "{turned} rad");
}

#[test]
fn rubber_keeps_its_shape_where_joints_let_go() {
    let mut app = ragdoll_app(default());
    let body = held(&mut app, figure().with_style(RagdollStyle::Elastic));
    let before = positions(&app, body);
    tick(&mut app, 64 * 8);
    let hand = particles(&app, body).iter().position(|e| *e == bone(&app, body, "hand r")).unwrap();
    let moved = positions(&app, body)[hand].distance(before[hand]);
    assert!(moved < 0.05, "{moved} m");
    assert!(centre(&app, body).is_finite());
}
