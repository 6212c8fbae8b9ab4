//! Evaluation: what a network says of positions.

pub mod network;
pub mod runtime;
