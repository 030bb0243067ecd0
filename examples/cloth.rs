//! Stub.
use bevy as _;
use criterion as _;
use proptest as _;
use serde_json as _;
fn main() {}
