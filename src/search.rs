//! One move's thinking: batched PUCT over any game, with values per side and proofs.
//!
//! The [`Tree`] asks and never evaluates: [`Tree::select`] gives a leaf that needs an evaluation,
//! [`Tree::backup`] takes it. No I/O, and no game is named here. See docs/search.md.

mod arena;
mod backup;
mod bounds;
mod choice;
mod clock;
mod effort;
mod gather;
mod gumbel;
mod halving;
mod node;
mod pages;
mod params;
mod plan;
mod puct;
mod select;
mod thinking;
mod tree;

pub use choice::{Choice, Line, Proof};
pub use clock::{Budget, Clock};
pub use gather::{Gatherer, Step};
pub use gumbel::{Gumbel, improved_policy};
pub use params::{GumbelParams, ParamInfo, Params};
pub use select::{Leaf, Selection};
pub use thinking::Thinking;
pub use tree::{Memory, Tree};
