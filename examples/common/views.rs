//! Views that the command line turns on.

use bevy::prelude::*;
use bevy_pliant::interact::{VIEWS, View};

use super::Args;

/// Turns the views of `--view` on at `Startup`.
pub struct ViewsPlugin;

impl Plugin for ViewsPlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(Startup, |args: Res<Args>, store: Option<ResMut<GizmoConfigStore>>| {
            let Some(mut store) = store else { return };
            args.views.iter().for_each(|view| VIEWS[*view].set(&mut store, true));
        });
    }
}

/// The places of views in [`VIEWS`], by name: in small letters, with dashes for spaces.
pub fn parse(text: &str) -> Result<Vec<usize>, String> {
    let place = |name: &str| VIEWS.iter().position(|view| word(view) == name);
    text.split(',')
        .map(|name| {
            place(name).ok_or_else(|| {
                let known: Vec<String> = VIEWS.iter().map(word).collect();
                format!("--view {name}: expected one or more of {}", known.join(", "))
            })
        })
        .collect()
}

fn word(view: &View) -> String {
    view.name.to_lowercase().replace(' ', "-")
}
