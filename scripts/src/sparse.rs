//! Training of sparse networks, on the CPU and in plain Rust.

mod weights;

pub use weights::{SparseWeights, WeightsError};
