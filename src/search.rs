//! The search: batched PUCT (MCTS) over any game, with a value for each side, and an MCTS solver.
//!
//! The [`Tree`] never evaluates: [`Tree::select`] returns a leaf that needs an evaluation, and
//! [`Tree::backup`] takes the evaluation. The search does no I/O and names no game. See docs/search.md.

mod backup;
mod batching;
mod gumbel;
mod mate_search;
mod node;
mod node_pool;
mod params;
mod proof_bounds;
mod proof_number;
mod puct;
mod root_move;
mod searcher;
mod select;
mod time_manager;
mod tree;
mod win_length;

pub use batching::{BatchStats, Gatherer};
pub use gumbel::{Gumbel, improved_policy};
pub use mate_search::MateSearch;
pub use params::{GumbelParams, ParamError, ParamInfo, Params};
pub use root_move::{Line, Proof, RootMove};
pub use searcher::Searcher;
pub use select::{Leaf, Selection};
pub use time_manager::{Budget, Clock};
pub use tree::{Memory, SearchedPosition, Tree};
