//! One move's thinking: batched PUCT over any game, with values per side and proofs.
//!
//! The [`Tree`] asks and never evaluates: [`Tree::select`] gives a leaf that needs an evaluation,
//! [`Tree::backup`] takes it. No I/O, and no game is named here. See docs/search.md.

mod backup;
mod bounds;
mod choice;
mod clock;
mod gumbel;
mod node;
mod params;
mod select;
mod thinking;
mod tree;

pub use choice::{Choice, Line, Proof};
pub use clock::{Budget, Clock};
pub use gumbel::{Gumbel, GumbelParams, improved_policy};
pub use params::{ParamInfo, Params};
pub use select::{Leaf, Selection};
pub use thinking::{Step, Thinking};
pub use tree::Tree;
