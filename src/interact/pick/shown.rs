//! Whether the particles of a body can be seen.

use bevy::{ecs::system::SystemParam, prelude::*};

#[cfg(feature = "gizmos")]
use crate::interact::gizmos::{AxisGizmos, VIEWS};

/// Tells whether a body is shown: it, or its particles and constraints by a view.
#[derive(SystemParam)]
pub struct Shown<'w, 's> {
    visibilities: Query<'w, 's, (Option<&'static Visibility>, Option<&'static ChildOf>)>,
    #[cfg(feature = "gizmos")]
    views: Option<Res<'w, GizmoConfigStore>>,
    #[cfg(not(feature = "gizmos"))]
    nothing: core::marker::PhantomData<&'w ()>,
}

impl Shown<'_, '_> {
    /// Whether particles of the body can be seen: it is not hidden, or views draw them all the same.
    pub fn shows_particles_of(&self, body: Entity) -> bool {
        !self.is_hidden(body) || self.any_view()
    }

    /// Whether it is hidden, by itself or by what it is a child of.
    fn is_hidden(&self, body: Entity) -> bool {
        let mut next = Some(body);
        // Asked step by step, since an app without windows need not propagate visibility.
        while let Some(Ok((visibility, parent))) = next.map(|entity| self.visibilities.get(entity))
        {
            match visibility {
                Some(Visibility::Hidden) => return true,
                Some(Visibility::Visible) => return false,
                Some(Visibility::Inherited) | None => next = parent.map(ChildOf::parent),
            }
        }
        false
    }

    #[cfg(feature = "gizmos")]
    fn any_view(&self) -> bool {
        let axes = core::any::TypeId::of::<AxisGizmos>();
        let of_bodies = || VIEWS.iter().filter(|view| view.group() != axes);
        self.views.as_deref().is_some_and(|store| of_bodies().any(|view| view.is_on(store)))
    }

    #[cfg(not(feature = "gizmos"))]
    #[expect(clippy::unused_self, reason = "the same as with views")]
    fn any_view(&self) -> bool {
        false
    }
}
