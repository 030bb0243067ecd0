//! Bones as text.

use super::{BoneSet, BonesError};
use alloc::format;
use ron::{Options, extensions::Extensions, ser::PrettyConfig};

/// Names and limits are written bare, without `Some`.
fn options() -> Options {
    Options::default().with_default_extension(Extensions::IMPLICIT_SOME)
}

impl BoneSet {
    /// The set as RON, from which [`from_ron`](Self::from_ron) makes the same bits.
    ///
    /// # Errors
    ///
    /// Where a bone is not to be written, such as one that is no ellipse.
    pub fn to_ron(&self) -> Result<String, BonesError> {
        self.validate()?;
        let config = PrettyConfig::new().depth_limit(2).new_line("\n");
        let text = options().to_string_pretty(self, config);
        text.map(|text| text + "\n").map_err(|error| BonesError::Io(format!("{error}")))
    }

    /// Reads what [`to_ron`](Self::to_ron) wrote, or somebody by hand.
    ///
    /// # Errors
    ///
    /// Where the text is not of that form, with line and column; where a bone is no ellipse or a joint
    /// joins nothing.
    pub fn from_ron(text: &str) -> Result<Self, BonesError> {
        let set: Self = options().from_str(text).map_err(|error| BonesError::Ron {
            line: error.span.start.line,
            column: error.span.start.col,
            reason: format!("{}", error.code),
        })?;
        set.validate()?;
        Ok(set)
    }
}

/// Loads files of bones, `*.bones.ron`.
#[cfg(feature = "render")]
#[derive(Default, bevy::prelude::TypePath)]
pub(crate) struct BoneSetLoader;

#[cfg(feature = "render")]
impl bevy::asset::AssetLoader for BoneSetLoader {
    type Asset = BoneSet;
    type Settings = ();
    type Error = BonesError;

    async fn load(
        &self,
        reader: &mut dyn bevy::asset::io::Reader,
        (): &(),
        _: &mut bevy::asset::LoadContext<'_>,
    ) -> Result<BoneSet, BonesError> {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).await.map_err(|error| BonesError::Io(format!("{error}")))?;
        let text =
            core::str::from_utf8(&bytes).map_err(|error| BonesError::Io(format!("{error}")))?;
        BoneSet::from_ron(text)
    }

    fn extensions(&self) -> &[&str] {
        &["bones.ron"]
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;

    fn set() -> BoneSet {
        let head = Bone::new(Vec2::new(0.1, 1.0 / 3.0), Vec2::new(1e-7, 0.3e-7)).turned(-0.1);
        let body = Bone::new(Vec2::new(-0.0, -1e-20), Vec2::new(1.5e-7, 1e-7)).named("bo\"dy");
        let joint = BoneJoint { bones: [0, 1], anchor: Some(Vec2::new(0.1, 0.7)), limits: None };
        BoneSet { bones: vec![head.limited(-0.3, 1.1), body], joints: vec![joint] }
    }

    #[test]
    fn a_set_comes_back_with_the_same_bits() {
        let text = set().to_ron().unwrap();
        let back = BoneSet::from_ron(&text).unwrap();
        assert_eq!(back, set());
        assert!(back.bones[1].center.x.is_sign_negative());
        assert!(text.contains("name: \"bo\\\"dy\"") && !text.contains("Some"), "{text}");
    }

    #[test]
    fn errors_name_line_and_column() {
        let text = "(\n    bones: [\n        (center: (0.0, 0.1), radius: (0.1, 0.1)),\n    ],\n)";
        let error = BoneSet::from_ron(text).unwrap_err();
        let BonesError::Ron { line: 3, column, .. } = &error else { panic!("{error:?}") };
        assert!((29..=37).contains(column), "{column}");
        assert!(error.to_string().starts_with("line 3, column "), "{error}");
        assert!(error.to_string().contains("radius"), "{error}");
    }

    #[test]
    fn what_is_no_bone_is_not_read() {
        for bad in [
            "(bones: [])",
            "(bones: [(center: (NaN, 0.0), radii: (0.1, 0.1))])",
            "(bones: [(center: (0.0, 0.0), radii: (inf, 0.1))])",
            "(bones: [(center: (0.0, 0.0), radii: (0.1, -0.1))])",
            "(bones: [(center: (0.0, 0.0), radii: (0.1, 0.1), limits: (0.1, 0.2))])",
            "(bones: [(center: (0.0, 0.0), radii: (0.1, 0.1))], joints: [(bones: (0, 1))])",
            "",
            "bones",
        ] {
            assert!(BoneSet::from_ron(bad).is_err(), "{bad}");
        }
    }
}
