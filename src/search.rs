//! One move's searcher: batched PUCT over any game, with values per side and proofs.
//!
//! The [`Tree`] asks and never evaluates: [`Tree::select`] gives a leaf that needs an evaluation,
//! [`Tree::backup`] takes it. No I/O, and no game is named here. See docs/search.md.

mod backup;
mod batching;
mod gumbel;
mod halving;
mod huge_pages;
mod node;
mod node_pool;
mod params;
mod plan;
mod proof_bounds;
mod proof_number;
mod puct;
mod root_move;
mod searcher;
mod select;
mod time_manager;
mod tree;

pub use batching::{Gatherer, Step};
pub use gumbel::{Gumbel, improved_policy};
pub use params::{GumbelParams, ParamInfo, Params};
pub use root_move::{Line, Proof, RootMove};
pub use searcher::Searcher;
pub use select::{Leaf, Selection};
pub use time_manager::{Budget, Clock};
pub use tree::{Memory, Tree};
