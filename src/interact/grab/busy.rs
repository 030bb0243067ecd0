//! Pointers that are over a panel or a user interface, or hold something.

use crate::interact::pick::Cameras;
use bevy::{
    ecs::system::SystemParam,
    picking::{
        backend::PointerHits,
        pointer::{Location, PointerId, PointerLocation, PointerPress},
    },
    prelude::*,
};

/// Which pointers something else is to leave alone, a camera controller for one: those over a panel or
/// a user interface, and those that hold a particle.
///
/// While a pointer is pressed it stays what it was when it was pressed: a camera that is dragged does
/// not stop at a panel, and a slider that is dragged out of the panel moves no camera.
#[derive(Resource, Clone, Debug, Default, PartialEq)]
pub struct BusyPointers {
    /// Pointers over an egui area, or one that egui uses, and over nodes of a user interface that block.
    pub over_ui: Vec<PointerId>,
    /// Pointers that hold something.
    pub holding: Vec<PointerId>,
}

impl BusyPointers {
    /// Whether this pointer is over no panel and holds nothing.
    pub fn is_free(&self, pointer: PointerId) -> bool {
        !self.over_ui.contains(&pointer) && !self.holding.contains(&pointer)
    }
}

/// A run condition: whether all pointers are over no panel and hold nothing. For camera controllers.
///
/// ```
/// # use bevy::prelude::*;
/// # use bevy_pliant::interact::pointer_is_free;
/// # fn orbit() {}
/// # let mut app = App::new();
/// app.add_systems(Update, orbit.run_if(pointer_is_free));
/// ```
pub fn pointer_is_free(busy: Option<Res<BusyPointers>>) -> bool {
    busy.is_none_or(|busy| busy.over_ui.is_empty() && busy.holding.is_empty())
}

/// The areas that egui covers; none without the feature `inspector`.
#[derive(SystemParam)]
pub struct EguiAreas<'w, 's> {
    #[cfg(feature = "inspector")]
    contexts: Query<
        'w,
        's,
        (&'static mut bevy_egui::EguiContext, &'static Camera, &'static bevy::camera::RenderTarget),
    >,
    #[cfg(feature = "inspector")]
    window: Query<'w, 's, Entity, With<bevy::window::PrimaryWindow>>,
    #[cfg(not(feature = "inspector"))]
    nothing: core::marker::PhantomData<(&'w (), &'s ())>,
}

#[cfg(feature = "inspector")]
impl EguiAreas<'_, '_> {
    /// Whether an area lies there.
    pub fn cover(&mut self, location: &Location) -> bool {
        use bevy_egui::egui::{self, LayerId, Order, Pos2};
        let window = self.window.single().ok();
        self.contexts.iter_mut().any(|(mut context, camera, target)| {
            let scale = camera.target_scaling_factor();
            let (Some(scale), true) =
                (scale, target.normalize(window).as_ref() == Some(&location.target))
            else {
                return false;
            };
            let context = context.get_mut();
            let Vec2 { x, y } = location.position * scale / context.pixels_per_point();
            match context.layer_id_at(Pos2::new(x, y)) {
                // Panels and the space between them are one layer, and egui itself knows them apart only
                // where they were put into the `Ui` that `bevy_egui` keeps to itself. What is a part of
                // the screen and not all of it belongs to a panel.
                Some(layer) if layer.order == Order::Background => {
                    let (at, screen) = (Pos2::new(x, y), context.content_rect());
                    let is_part =
                        |rect: egui::Rect| rect.contains(at) && !rect.contains_rect(screen);
                    context.is_pointer_over_egui()
                        || context.viewport(|viewport| {
                            let widgets = &viewport.this_pass.widgets;
                            widgets.get_layer(LayerId::background()).any(|w| is_part(w.rect))
                        })
                }
                Some(_) => true,
                None => false,
            }
        })
    }

    /// Whether the mouse drags something of egui's, wherever it is.
    pub fn hold_mouse(&mut self) -> bool {
        self.contexts.iter_mut().any(|(mut context, ..)| context.get_mut().egui_is_using_pointer())
    }

    /// Whether keys are typed into a field.
    pub fn want_keys(&mut self) -> bool {
        let mut contexts = self.contexts.iter_mut();
        contexts.any(|(mut context, ..)| context.get_mut().egui_wants_keyboard_input())
    }
}

#[cfg(not(feature = "inspector"))]
#[expect(clippy::unused_self, reason = "the same as with egui")]
impl EguiAreas<'_, '_> {
    pub fn cover(&mut self, _location: &Location) -> bool {
        false
    }

    pub fn hold_mouse(&mut self) -> bool {
        false
    }

    pub fn want_keys(&mut self) -> bool {
        false
    }
}

/// Tells which pointers are over a panel or a user interface.
pub fn find_busy(
    pointers: Query<(&PointerId, &PointerLocation, &PointerPress)>,
    mut hits: MessageReader<PointerHits>,
    pickable: Query<&Pickable>,
    cameras: Cameras,
    mut egui: EguiAreas,
    mut pressed: Local<Vec<PointerId>>,
    mut busy: ResMut<BusyPointers>,
) {
    let mut over: Vec<PointerId> = Vec::new();
    // A backend of a user interface puts it a little above what its camera draws.
    for hits in hits.read() {
        let is_above = hits.picks.iter().any(|(entity, hit)| {
            let order = cameras.order(hit.camera);
            let blocks = pickable.get(*entity).map_or(true, |p| p.should_block_lower);
            blocks && order.is_some_and(|order| hits.order > order as f32)
        });
        if is_above {
            over.push(hits.pointer);
        }
    }
    if egui.hold_mouse() {
        over.push(PointerId::Mouse);
    }
    let covered = pointers.iter().filter(|(_, location, _)| {
        location.location.as_ref().is_some_and(|location| egui.cover(location))
    });
    over.extend(covered.map(|(pointer, ..)| *pointer));
    let was_over = |pointer: &PointerId| busy.over_ui.contains(pointer);
    let is_held = |pointer: &PointerId| pressed.contains(pointer);
    let now: Vec<PointerId> = pointers
        .iter()
        .map(|(pointer, ..)| *pointer)
        .filter(|p| if is_held(p) { was_over(p) } else { over.contains(p) })
        .collect();
    pressed.clear();
    pressed.extend(pointers.iter().filter(|(.., press)| press.is_any_pressed()).map(|p| *p.0));
    if busy.over_ui != now {
        busy.over_ui = now;
    }
}
