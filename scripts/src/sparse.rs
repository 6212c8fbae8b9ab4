//! Training of sparse networks, on the CPU and in plain Rust.

mod random;
mod weights;

pub use weights::{SparseWeights, WeightsError};
