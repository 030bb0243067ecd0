//! Characters in the plane: a picture that bends with its bones.
mod grid;
mod reach;
mod weights;
