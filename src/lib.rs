#![doc = include_str!("../README.md")]

extern crate alloc;

pub mod constraint;
#[cfg(any(feature = "picking", feature = "gizmos"))]
pub mod interact;
pub mod math;
pub mod obstacle;
pub mod particle;
pub mod recipe;
#[cfg(feature = "render")]
pub mod skin;
pub mod solver;

use bevy::{
    app::{PluginGroup, PluginGroupBuilder},
    ecs::schedule::ScheduleLabel,
};
use solver::{SolverPlugin, SolverSettings};

/// What an app needs.
pub mod prelude {
    #[cfg(feature = "render")]
    pub use crate::recipe::{MeshKind, MeshObstacle};
    pub use crate::{
        PliantPlugins,
        constraint::{
            Attachment, AttachmentBroken, BendingConstraint, ConstraintOf, Constraints,
            DistanceConstraint, GroupKind, GroupMember, JointConstraint, JointLimits,
            OrientationUpdate, ShapeMatchingConstraint, SurfaceAttachment, SurfacePart,
            TetherConstraint, TorsionConstraint,
        },
        obstacle::{ContactLayers, Friction, Obstacle, ObstacleShape, TriangleMesh},
        particle::{
            BodyLine, BodySurface, OrientedParticle, Particle, ParticleIndex, ParticleOf,
            Particles, Pinned, PinnedTo, Planar,
        },
        recipe::{
            BodyBuilt, BodyFailed, Bone, BoneFinder, BoneJoint, BoneSet, BoneSource, BuildError,
            Cloth, ClothMass, ClothPins, ClothShape, ClothTopology, Fabric, MaskKind, MaskSettings,
            RagdollStyle, Rebuild, Rope, RopePins, SoftMaterial, SpriteRagdoll,
        },
        solver::{
            Activity, AddConstraint, Air, AppliedForce, ApplyAngularImpulse, ApplyImpulse,
            ApplyRadialImpulse, BodyFault, BodySettings, ContactBegan, ContactEnded,
            EllipsoidContact, ParticleFinder, PliantSystems, ProjectionOrder, Settle, SolverClock,
            SolverControl, SolverDiagnostics, SolverSettings, SolverView, Stage, Teleport,
            Turbulence, WindShape, WindZone,
        },
    };
}

/// All of this crate's plugins.
///
/// | plugin | feature | does |
/// |---|---|---|
/// | [`SolverPlugin`] | | moves particles |
/// | [`PliantDiagnosticsPlugin`](solver::PliantDiagnosticsPlugin) | | tells Bevy's `DiagnosticsStore` |
/// | [`RecipePlugin`](recipe::RecipePlugin) | | builds bodies |
/// | `SkinPlugin` | `render` | draws bodies |
/// | `PickingPlugin` | `picking` | tells Bevy's picking which bodies and particles pointers are over |
/// | `GrabPlugin` | `picking` | lets pointers grab particles |
/// | `GizmoPlugin` | `gizmos` | lines and dots |
///
/// Outside Bevy's `DefaultPlugins`, the app needs `TimePlugin` and, for anchors with parents,
/// `TransformPlugin` (both are in `MinimalPlugins` plus `TransformPlugin`).
#[derive(Clone, Debug, Default)]
pub struct PliantPlugins {
    solver: SolverPlugin,
}

impl PliantPlugins {
    /// Ticks in this schedule instead of `FixedPostUpdate`.
    pub fn in_schedule(mut self, label: impl ScheduleLabel) -> Self {
        self.solver = self.solver.in_schedule(label);
        self
    }

    /// Starts with these settings.
    pub fn with_settings(mut self, settings: SolverSettings) -> Self {
        self.solver = self.solver.with_settings(settings);
        self
    }

    /// For a world in which a metre is `unit` long, in pixels say; see
    /// [`SolverSettings::with_length_unit`].
    pub fn with_length_unit(self, unit: f32) -> Self {
        self.with_settings(SolverSettings::with_length_unit(unit))
    }
}

impl PluginGroup for PliantPlugins {
    fn build(self) -> PluginGroupBuilder {
        let group = PluginGroupBuilder::start::<Self>()
            .add(self.solver)
            .add(solver::PliantDiagnosticsPlugin)
            .add(recipe::RecipePlugin);
        #[cfg(feature = "render")]
        let group = group.add(skin::SkinPlugin);
        #[cfg(feature = "picking")]
        let group = group.add(interact::PickingPlugin).add(interact::GrabPlugin);
        #[cfg(feature = "gizmos")]
        let group = group.add(interact::GizmoPlugin);
        group
    }
}
