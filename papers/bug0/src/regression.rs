//! The regressions of the paper (section III.C): the value of a position of bughouse, fitted from
//! recorded games, and a player that uses it.
//!
//! - [`features`]: the paper's 60 planes.
//! - [`samples`]: positions of recorded games and their values.
//! - [`components`]: principal components of the planes.
//! - [`fit`]: linear regression, elastic net, decision tree and random forest.
//! - [`model`]: a fitted model and its file.
//! - [`smartcore_trees`]: reads the trees of smartcore.
//! - [`greedy`]: the player.

pub mod components;
pub mod features;
pub mod fit;
pub mod greedy;
pub mod model;
pub mod samples;
pub mod smartcore_trees;
