//! From bones to particles, joints and groups.

use super::{
    bones::{Bone, BoneJoint, Ellipse},
    build::{Recipe, RecipeMade},
    error::{BuildError, not_negative, positive},
    plan::{BodyPlan, LEAST_SHARE, Material, PlannedJoint, PlannedTurn},
    ragdoll_input,
    sprite_ragdoll::{RagdollBones, RagdollStyle, SpriteRagdoll},
};
use crate::{
    constraint::{Constraints, JointConstraint, JointLimits, ShapeMatchingConstraint},
    math::pose::Pose,
    particle::{BuiltScale, OrientedParticle, ParticleIndex, Particles, RestPose},
    solver::SolverSettings,
};
use alloc::sync::Arc;
use bevy::{math::ops, prelude::*};

/// Gravity for which the default torsion is made (m/s², in metres of the world's length unit).
const GRAVITY: f32 = 9.81;

/// The default torsion's compliance times mass, gravity and height (rad²).
const TORSION: f32 = 100.0;

/// What a ragdoll is made of, mirrored as it is.
#[derive(Clone, Debug)]
pub(crate) struct RagdollInput {
    pub bones: Arc<[Bone]>,
    pub joints: Arc<[BoneJoint]>,
    /// How long a metre is in the world.
    pub unit: f32,
    /// What was read of a picture for it.
    #[cfg(feature = "render")]
    pub found: Option<(ragdoll_input::Key, Arc<ragdoll_input::Found>)>,
}

impl Default for RagdollInput {
    fn default() -> Self {
        Self::of(Arc::new([]), Arc::new([]), 1.0)
    }
}

impl RagdollInput {
    /// Bones and joints mirrored as the ragdoll says. The first bone of a joint comes before the second.
    pub fn new(
        ragdoll: &SpriteRagdoll,
        world: &World,
        mut bones: Vec<Bone>,
        mut joints: Vec<BoneJoint>,
    ) -> Self {
        let [x, y] = [ragdoll.flip_x, ragdoll.flip_y].map(|flip| if flip { -1.0 } else { 1.0 });
        let (flip, mirrored) = (Vec2::new(x, y), x * y < 0.0);
        let turn = |limits: &mut Option<[f32; 2]>| {
            *limits = limits.map(|[least, greatest]| [-greatest, -least]);
        };
        for bone in &mut bones {
            bone.center *= flip;
            if mirrored {
                bone.angle = -bone.angle;
                turn(&mut bone.limits);
            }
        }
        for joint in &mut joints {
            joint.anchor = joint.anchor.map(|anchor| anchor * flip);
            let swapped = joint.bones[0] > joint.bones[1];
            if swapped {
                joint.bones.reverse();
            }
            if swapped != mirrored {
                turn(&mut joint.limits);
            }
        }
        Self::of(bones.into(), joints.into(), length_unit(world))
    }

    fn of(bones: Arc<[Bone]>, joints: Arc<[BoneJoint]>, unit: f32) -> Self {
        Self {
            bones,
            joints,
            unit,
            #[cfg(feature = "render")]
            found: None,
        }
    }
}

fn length_unit(world: &World) -> f32 {
    world.get_resource::<SolverSettings>().map_or(1.0, SolverSettings::length_unit)
}

impl SpriteRagdoll {
    /// Checks every field, and the bones where it names them.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), BuildError> {
        match &self.bones {
            super::bones::BoneSource::Bones(bones) => super::bones::validate_bones(bones)?,
            #[cfg(feature = "render")]
            _ => {}
        }
        positive("height", self.height)?;
        positive("mass", self.mass)?;
        positive("skin_spacing", self.skin_spacing.unwrap_or(1.0))?;
        not_negative("near", self.near)?;
        not_negative("compliance", self.compliance)?;
        not_negative("torsion_compliance", self.torsion_compliance.unwrap_or(0.0))?;
        not_negative("spin_damping", self.spin_damping)?;
        not_negative("bend", self.bend)?;
        not_negative("damping", self.damping.unwrap_or(0.0))?;
        not_negative("friction.fixed", self.friction.fixed)?;
        not_negative("friction.sliding", self.friction.sliding)
    }

    /// What a body was built from, or, of a loaded one, what its particles tell.
    pub(super) fn live(&self, world: &World, body: Entity) -> Option<RagdollInput> {
        let known = world.get::<RagdollBones>(body).cloned();
        let known = known.unwrap_or_else(|| recall(self, world, body));
        Some(RagdollInput::of(known.bones, known.joints, length_unit(world)))
    }

    /// The torsion of its joints (rad²/J) at this scale, in a world where a metre is `unit` long.
    fn torsion(&self, scale: Vec3, unit: f32) -> f32 {
        self.torsion_compliance.unwrap_or_else(|| {
            let height = self.height * scale.y.abs();
            (TORSION / (self.mass * GRAVITY * unit * height)).min(f32::MAX)
        })
    }

    /// How far joined bones may turn either way (rad).
    fn greatest_bend(&self) -> f32 {
        self.bend.min(core::f32::consts::PI)
    }
}

impl Recipe for SpriteRagdoll {
    type Input = RagdollInput;

    fn input(&self, world: &World, body: Entity) -> Result<Option<RagdollInput>, BuildError> {
        ragdoll_input::input(self, world, body)
    }

    fn live_input(&self, world: &World, body: Entity) -> Option<RagdollInput> {
        self.live(world, body)
    }

    fn attach(world: &mut World, body: Entity, input: RagdollInput) {
        #[cfg(feature = "render")]
        if let Some((key, found)) = input.found.clone()
            && let Some(mut known) = world.get_resource_mut::<ragdoll_input::KnownPictures>()
        {
            known.add(key, found);
        }
        if let Ok(mut body) = world.get_entity_mut(body) {
            body.insert(RagdollBones { bones: input.bones, joints: input.joints });
        }
    }

    fn check_pose(&self, pose: &Pose) -> Result<(), BuildError> {
        let out = pose.rotation.x.abs().max(pose.rotation.y.abs());
        if out < 1e-3 { Ok(()) } else { Err(BuildError::OutOfPlane) }
    }

    fn plan_from(&self, scale: Vec3, input: &RagdollInput) -> Result<BodyPlan, BuildError> {
        self.validate()?;
        let mut plan = self.masses_from(scale, input)?;
        // In metres as built: scaled.
        let ellipses: Vec<Ellipse> = input
            .bones
            .iter()
            .map(|bone| Ellipse::of(bone).scaled(self.height * scale.truncate()))
            .collect();
        for (bone, ellipse) in input.bones.iter().zip(&ellipses) {
            let Vec2 { x: a, y: b } = ellipse.radii;
            positive("the size of a bone", a.min(b))?;
            positive("the inertia of a bone", (a * a + b * b).recip())?;
            plan.rest.push((self.height * bone.center).extend(0.0));
            plan.turns.push(PlannedTurn {
                rotation: Quat::from_rotation_z(ellipse.angle),
                radii: Vec3::new(a, b, a.min(b)),
            });
            plan.names.push(bone.name.clone());
        }
        match self.style {
            RagdollStyle::Jointed => {
                plan.joints = self.joints(scale, input, &ellipses);
            }
            RagdollStyle::Elastic => {
                plan.groups = groups(ellipses.len(), &input.joints);
                plan.group_compliance = self.compliance;
            }
        }
        Ok(plan)
    }

    fn masses_from(&self, _: Vec3, input: &RagdollInput) -> Result<BodyPlan, BuildError> {
        let areas: Vec<f64> = input
            .bones
            .iter()
            .map(|bone| f64::from(bone.radii.x) * f64::from(bone.radii.y))
            .collect();
        let sum: f64 = areas.iter().sum();
        positive("the area of the bones", sum as f32)?;
        // A bone beside a thousand times heavier one would only be thrown about by it.
        let least = LEAST_SHARE * sum / areas.len() as f64;
        let shares: Vec<f64> = areas.into_iter().map(|area| area.max(least)).collect();
        let sum: f64 = shares.iter().sum();
        let mass: Vec<f32> =
            shares.iter().map(|share| (share / sum * f64::from(self.mass)) as f32).collect();
        for mass in &mass {
            positive("the mass of a bone", *mass)?;
            positive("the mass of a bone", mass.recip())?;
        }
        Ok(BodyPlan { mass, ..default() })
    }

    fn same_shape(&self, built: &Self) -> bool {
        self.same_sources(built)
            && self.mask == built.mask
            && self.rect == built.rect
            && self.height == built.height
            && self.flip_x == built.flip_x
            && self.flip_y == built.flip_y
            && self.style == built.style
            && self.near == built.near
    }

    fn same_mass(&self, built: &Self) -> bool {
        self.mass == built.mass
    }

    fn material(&self) -> Material {
        Material {
            damping: self.damping,
            friction: self.friction,
            self_contact: self.self_contact,
            soft_contact: self.soft_contact,
            ..default()
        }
    }

    fn check(&self) -> Result<(), BuildError> {
        self.validate()
    }

    fn follow(&self, built: &Self, world: &mut World, body: Entity, input: RagdollInput) {
        if world.get::<RagdollBones>(body).is_none() {
            Self::attach(world, body, input);
        }
        if self != built {
            self.change_constraints(built, world, body);
        }
    }
}

impl SpriteRagdoll {
    /// The joints between scaled ellipses.
    fn joints(&self, scale: Vec3, input: &RagdollInput, ellipses: &[Ellipse]) -> Vec<PlannedJoint> {
        let (bend, torsion) = (self.greatest_bend(), self.torsion(scale, input.unit));
        let mirrored = scale.x * scale.y < 0.0;
        let joint = |joint: &BoneJoint| {
            let [a, b] = joint.bones.map(|i| &ellipses[i as usize]);
            let point = match joint.anchor {
                Some(anchor) => self.height * anchor * scale.truncate(),
                None => a.midway(b),
            };
            let own = joint.limits.or(input.bones[joint.bones[1] as usize].limits);
            let [min, max] = match own {
                Some([least, greatest]) if mirrored => [-greatest, -least],
                Some(limits) => limits,
                None => [-bend, bend],
            };
            PlannedJoint {
                particles: joint.bones,
                point: point.extend(0.0),
                limits: JointLimits::planar(min, max),
                compliance: self.compliance,
                torsion_compliance: torsion,
                spin_damping: self.spin_damping,
            }
        };
        input.joints.iter().map(joint).collect()
    }

    /// Whether pictures and bones are those of `built`. What a loaded body was built from is not known.
    fn same_sources(&self, built: &Self) -> bool {
        #[cfg(feature = "render")]
        {
            use super::bones::BoneSource::{Mask, Set};
            let unknown = built.texture == Handle::default();
            let same_bones = match (&self.bones, &built.bones) {
                (Mask(_), Mask(old)) if *old == Handle::default() => true,
                (Set(_), Set(old)) if *old == Handle::default() => true,
                (new, old) => new == old,
            };
            same_bones && (unknown || self.texture == built.texture)
        }
        #[cfg(not(feature = "render"))]
        {
            self.bones == built.bones
        }
    }

    /// Changes joints and groups where the recipe's own values still stand.
    fn change_constraints(&self, built: &Self, world: &mut World, body: Entity) {
        let scale = world.get::<BuiltScale>(body).map_or(Vec3::ONE, |scale| scale.0);
        let unit = length_unit(world);
        let (new, old) = (self.torsion(scale, unit), built.torsion(scale, unit));
        let planar = |bend: f32| JointLimits::planar(-bend, bend);
        for entity in constraints(world, body) {
            let Ok(mut entity) = world.get_entity_mut(entity) else { continue };
            if !entity.contains::<RecipeMade>() {
                continue;
            }
            if let Some(joint) = entity.get::<JointConstraint>().copied() {
                let mut changed = joint;
                replace(&mut changed.compliance, built.compliance, self.compliance);
                replace(&mut changed.torsion_compliance, old, new);
                replace(&mut changed.spin_damping, built.spin_damping, self.spin_damping);
                replace(
                    &mut changed.limits,
                    planar(built.greatest_bend()),
                    planar(self.greatest_bend()),
                );
                if changed != joint {
                    entity.insert(changed);
                }
            } else if self.compliance != built.compliance
                && let Some(mut group) = entity.get_mut::<ShapeMatchingConstraint>()
            {
                replace(&mut group.compliance, built.compliance, self.compliance);
            }
        }
    }
}

/// Writes `new` where `old` stands.
fn replace<T: PartialEq>(value: &mut T, old: T, new: T) {
    if *value == old {
        *value = new;
    }
}

fn constraints(world: &World, body: Entity) -> Vec<Entity> {
    world.get::<Constraints>(body).map_or_else(Vec::new, |c| c.iter().collect())
}

/// A group of each bone and those it is joined to, the bone itself first. A bone alone has none.
fn groups(bones: usize, joints: &[BoneJoint]) -> Vec<Vec<u32>> {
    let mut groups: Vec<Vec<u32>> = (0..bones as u32).map(|bone| vec![bone]).collect();
    for joint in joints {
        let [a, b] = joint.bones;
        for (of, with) in [(a, b), (b, a)] {
            let group = &mut groups[of as usize];
            if !group.contains(&with) {
                group.push(with);
            }
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

/// The bones of a body as its particles and constraints tell: without the anchors and limits that joints
/// were given by hand. A bone whose particle is gone has no size.
fn recall(ragdoll: &SpriteRagdoll, world: &World, body: Entity) -> RagdollBones {
    let scale = world.get::<BuiltScale>(body).map_or(Vec3::ONE, |scale| scale.0).truncate();
    let index = |particle: Entity| world.get::<ParticleIndex>(particle).map(|index| index.0);
    let members: Vec<Entity> =
        world.get::<Particles>(body).map_or_else(Vec::new, |p| p.iter().collect());
    let mut bones = Vec::new();
    for member in members {
        let Some(place) = index(member).filter(|i| u64::from(*i) < super::bones::MAX_BONES) else {
            continue;
        };
        let (Some(rest), Some(oriented)) =
            (world.get::<RestPose>(member), world.get::<OrientedParticle>(member))
        else {
            continue;
        };
        let place = place as usize;
        if bones.len() <= place {
            bones.resize(place + 1, Bone::default());
        }
        let built = Ellipse {
            center: rest.position.truncate() * scale,
            radii: oriented.radii.truncate(),
            angle: 2.0 * ops::atan2(rest.rotation.z, rest.rotation.w),
        };
        let ellipse = built.scaled((ragdoll.height * scale).recip());
        let mut bone = Bone::new(ellipse.center, ellipse.radii).turned(ellipse.angle);
        bone.name = world.get::<Name>(member).map(|name| name.as_str().to_owned());
        bones[place] = bone;
    }
    let count = bones.len() as u32;
    let mut joints = Vec::new();
    for constraint in constraints(world, body) {
        if world.get::<RecipeMade>(constraint).is_none() {
            continue;
        }
        let mut note = |a: Entity, b: Entity| {
            if let (Some(a), Some(b)) = (index(a), index(b))
                && a.max(b) < count
            {
                joints.push([a.min(b), a.max(b)]);
            }
        };
        if let Some(joint) = world.get::<JointConstraint>(constraint) {
            note(joint.particles[0], joint.particles[1]);
        } else if let Some(group) = world.get::<ShapeMatchingConstraint>(constraint)
            && let Some((first, others)) = group.members.split_first()
        {
            others.iter().for_each(|other| note(first.particle, other.particle));
        }
    }
    joints.sort_unstable();
    joints.dedup();
    let joints = joints.into_iter().map(|pair| BoneJoint { bones: pair, ..default() }).collect();
    RagdollBones { bones: bones.into(), joints }
}
