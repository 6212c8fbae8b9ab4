//! Training of sparse networks, on the CPU and in plain Rust.
//!
//! - `sources`: files of labelled games, with the layout of a network for all of them.
//! - `labels`: labelled games to labelled, encoded positions.
//! - `cache`: those positions on disk, in shards.
//! - `batch`, `loss`, `unit`, `network`, `optimizer`: a step.
//! - `export`, `import`: networks as ONNX files.
//! - `run`: a run in its folder.
//! - `accuracy`: how any networks do on the games held out.

mod accuracy;
mod batch;
mod cache;
mod config;
pub mod export;
pub mod import;
mod labels;
mod loss;
mod network;
mod optimizer;
mod random;
mod run;
mod sources;
mod unit;
mod weights;

pub use accuracy::HeldOut;
pub use cache::{PositionCache, VariantCounts};
pub use config::{DecaySchedule, SparseConfig, SparseSizes, Training};
pub use labels::{Labeler, Labelled, Outcome};
pub use loss::Measures;
pub use network::{SparseNetwork, StartError, Started, StepOptions};
pub use run::{SparseMetrics, SparseRun};
pub use sources::{BASE, Sources};
pub use weights::{SparseWeights, WeightsError};
