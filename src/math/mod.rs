//! Mathematics without ECS: vectors of four lanes, rotations, shape matching, inertia, boxes, coherent
//! noise, a state hash.
//!
//! Nothing here knows of particles or constraints; everything is plain data and pure functions.

pub mod bounds;
pub mod ellipse;
pub mod ellipsoid;
pub mod ellipsoid_pair;
pub mod hash;
pub mod lane;
pub mod noise;
pub mod pose;
pub mod rotation;
pub mod shape_matching;
