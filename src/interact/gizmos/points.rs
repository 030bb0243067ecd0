//! Where particles are drawn in this frame: one dense list for all views, found by entity without hashing.

use crate::{
    particle::{OrientedParticle, Particle, ParticleIndex, ParticleOf},
    solver::DrawnPose,
};
use bevy::{ecs::system::SystemParam, prelude::*};

/// A particle that is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// The particle.
    pub entity: Entity,
    /// Where it is drawn (m, world); finite.
    pub position: Vec3,
}

/// All particles that are drawn: those of disabled bodies, and those that are nowhere, are not.
#[derive(Resource, Debug, Default)]
pub(super) struct Points {
    points: Vec<Point>,
    /// Places in `points` by the index of the entity. Never cleared: the entity found there must be the one
    /// that was looked for.
    places: Vec<u32>,
}

impl Points {
    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Point> {
        self.points.iter()
    }

    /// Where the particle at a place is drawn (m, world); the origin, if there is none.
    #[inline]
    pub fn at(&self, place: usize) -> Vec3 {
        self.points.get(place).map_or(Vec3::ZERO, |point| point.position)
    }

    /// The place of a particle among all.
    #[inline]
    pub fn place(&self, particle: Entity) -> Option<usize> {
        let place = *self.places.get(particle.index_u32() as usize)? as usize;
        (self.points.get(place)?.entity == particle).then_some(place)
    }

    /// A particle, if it is drawn.
    #[inline]
    pub fn find(&self, particle: Entity) -> Option<&Point> {
        let place = *self.places.get(particle.index_u32() as usize)?;
        self.points.get(place as usize).filter(|point| point.entity == particle)
    }

    /// Where a particle is drawn (m, world).
    #[inline]
    pub fn get(&self, particle: Entity) -> Option<Vec3> {
        self.find(particle).map(|point| point.position)
    }

    /// Where two particles are drawn (m, world), if both are.
    #[inline]
    pub fn pair(&self, particles: [Entity; 2]) -> Option<[Vec3; 2]> {
        Some([self.get(particles[0])?, self.get(particles[1])?])
    }

    fn push(&mut self, entity: Entity, position: Vec3) {
        let index = entity.index_u32() as usize;
        if !position.is_finite() || entity == Entity::PLACEHOLDER {
            return;
        }
        if index >= self.places.len() {
            self.places.resize(index + 1, 0);
        }
        self.places[index] = self.points.len() as u32;
        self.points.push(Point { entity, position });
    }
}

/// The drawn pose: where particles are drawn, and how those that turn are turned.
#[derive(SystemParam)]
pub(super) struct Drawn<'w, 's> {
    /// Where.
    pub points: Res<'w, Points>,
    oriented: Query<'w, 's, &'static Transform, With<OrientedParticle>>,
}

impl Drawn<'_, '_> {
    /// How a particle is turned; not at all, if it does not turn.
    pub fn rotation(&self, particle: Entity) -> Option<Quat> {
        let rotation = self.oriented.get(particle).ok()?.rotation;
        rotation.is_finite().then_some(rotation)
    }

    /// Where a point of a particle's frame (m) is drawn; the centre of one that does not turn.
    pub fn point(&self, particle: Entity, offset: Vec3) -> Option<Vec3> {
        let arm = self.rotation(particle).map_or(Vec3::ZERO, |rotation| rotation * offset);
        let at = self.points.get(particle)? + arm;
        at.is_finite().then_some(at)
    }
}

type Placed = (
    Entity,
    &'static Particle,
    Option<&'static ParticleOf>,
    Option<&'static ParticleIndex>,
    Option<&'static Transform>,
    Has<OrientedParticle>,
);

/// Reads the drawn pose of all particles.
pub(super) fn place_points(
    particles: Query<Placed>,
    // Default query filters leave out disabled ones.
    bodies: Query<Option<&DrawnPose>>,
    mut points: ResMut<Points>,
) {
    let points = points.bypass_change_detection();
    points.points.clear();
    points.points.reserve(particles.iter().len());
    // Particles of a body mostly come one after the other.
    let mut last: Option<(Entity, Option<Option<&DrawnPose>>)> = None;
    for (entity, particle, body, index, transform, turns) in &particles {
        let pose = match (body, last) {
            (None, _) => None,
            (Some(body), Some((known, pose))) if known == body.0 => Some(pose),
            (Some(body), _) => {
                let pose = bodies.get(body.0).ok();
                last = Some((body.0, pose));
                Some(pose)
            }
        };
        let drawn = match pose {
            // The body is not there for queries.
            Some(None) => continue,
            Some(Some(pose)) => pose
                .zip(index)
                .and_then(|(pose, index)| pose.positions.get(index.0 as usize).copied()),
            None => None,
        };
        let own = if turns { transform.map(|transform| transform.translation) } else { None };
        points.push(entity, drawn.or(own).unwrap_or(particle.position));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy::ecs::{entity_disabling::Disabled, system::RunSystemOnce};

    fn place(world: &mut World) {
        world.run_system_once(place_points).expect("it runs");
    }

    #[test]
    fn particles_are_found_where_their_body_draws_them_and_not_at_all_if_it_is_disabled() {
        let mut world = World::new();
        world.init_resource::<Points>();
        let loose = world.spawn(Particle::at(Vec3::X)).id();
        let nowhere = world.spawn(Particle::at(Vec3::NAN)).id();
        let pose = DrawnPose { positions: vec![Vec3::Y], present: vec![true], ..default() };
        let body = world.spawn(pose).id();
        let drawn = world.spawn((Particle::at(Vec3::Z), ParticleOf(body), ParticleIndex(0))).id();
        let extra = world.spawn((Particle::at(Vec3::Z), ParticleOf(body))).id();
        place(&mut world);
        let points = world.resource::<Points>();
        assert_eq!(points.get(loose), Some(Vec3::X));
        assert_eq!(points.get(nowhere), None);
        assert_eq!(points.get(drawn), Some(Vec3::Y));
        assert_eq!(points.pair([drawn, extra]), Some([Vec3::Y, Vec3::Z]));
        assert_eq!(points.iter().len(), 3);

        world.entity_mut(body).insert(Disabled);
        place(&mut world);
        assert_eq!(world.resource::<Points>().get(drawn), None);
        assert_eq!(world.resource::<Points>().iter().len(), 1);
    }

    #[test]
    fn a_despawned_particle_is_not_mistaken_for_the_one_in_its_place() {
        let mut world = World::new();
        world.init_resource::<Points>();
        let old = world.spawn(Particle::at(Vec3::X)).id();
        place(&mut world);
        world.despawn(old);
        let new = world.spawn(Particle::at(Vec3::Y)).id();
        place(&mut world);
        let points = world.resource::<Points>();
        assert_eq!((points.get(old), points.place(old)), (None, None));
        assert_eq!(points.get(new), Some(Vec3::Y));
    }
}
