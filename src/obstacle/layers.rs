//! Layers: who meets whom.

use bevy::prelude::*;

/// Two things touch where each is in a layer that the other meets. Default: everything meets
/// everything.
///
/// ```
/// # use bevy_pliant::prelude::*;
/// const LEVEL: u32 = 1 << 0;
/// const CLOTHES: u32 = 1 << 1;
/// let cape = ContactLayers::new(CLOTHES, LEVEL);
/// assert!(cape.meets(ContactLayers::new(LEVEL, !0)));
/// assert!(!cape.meets(cape));
/// ```
#[derive(Reflect, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[reflect(Default, Debug, PartialEq, Clone)]
pub struct ContactLayers {
    /// The layers that it is in, one a bit.
    pub memberships: u32,
    /// The layers that it meets.
    pub filters: u32,
}

impl Default for ContactLayers {
    fn default() -> Self {
        Self::ALL
    }
}

impl ContactLayers {
    /// In every layer, and meets all.
    pub const ALL: Self = Self::new(!0, !0);
    /// Touches nothing.
    pub const NONE: Self = Self::new(0, 0);

    /// In the layers `memberships`, meeting those of `filters`.
    pub const fn new(memberships: u32, filters: u32) -> Self {
        Self { memberships, filters }
    }

    /// Whether the two touch.
    pub const fn meets(self, other: Self) -> bool {
        self.memberships & other.filters != 0 && other.memberships & self.filters != 0
    }
}
