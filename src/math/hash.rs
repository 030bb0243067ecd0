//! A 64-bit hash whose value depends on the bits alone, on every platform and release.

use bevy::math::{Quat, Vec3};

/// Fowler–Noll–Vo 1a over the bits of floating-point state.
#[derive(Clone, Copy, Debug)]
pub struct StateHasher(u64);

impl Default for StateHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl StateHasher {
    /// Adds the bits of one number.
    pub fn write_f32(&mut self, value: f32) {
        for byte in value.to_bits().to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Adds the bits of a vector.
    pub fn write_vec3(&mut self, value: Vec3) {
        value.to_array().into_iter().for_each(|v| self.write_f32(v));
    }

    /// Adds the bits of a rotation.
    pub fn write_quat(&mut self, value: Quat) {
        value.to_array().into_iter().for_each(|v| self.write_f32(v));
    }

    /// The hash of all that was written.
    pub fn finish(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bit_changes_the_hash() {
        let hash = |v: f32| {
            let mut h = StateHasher::default();
            h.write_f32(v);
            h.finish()
        };
        assert_ne!(hash(0.0), hash(-0.0));
        assert_ne!(hash(1.0), hash(f32::from_bits(1.0f32.to_bits() + 1)));
        assert_eq!(hash(2.5), hash(2.5));
    }
}
