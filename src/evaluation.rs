//! Evaluation: what a network says of positions.

pub mod runtime;
