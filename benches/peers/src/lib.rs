//! Nothing: this crate is here for its benchmarks.
