//! Alpha-beta search with a sparse network: principal variation search with a transposition table.
//!
//! Where moves are few and tactics decide, a search that refutes bad moves by minimax scales better with time than one
//! that averages over them. Its leaves are evaluated one at a time by [`DirectNetwork`](crate::nn::DirectNetwork);
//! at nodes of some depth the policy of the network orders the moves.
//!
//! The methods are those of Stockfish and its relatives: iterative deepening with aspiration windows, null-move
//! pruning, late move reductions, futility pruning, singular extensions, histories, corrections of the evaluation, and a
//! quiescence search of captures and promotions. Several threads search the same root and share the table ("lazy SMP").
//!
//! It plays games of two sides on one board ([`supports`]). Where a turn has two plies, as in duck chess, the side to move
//! stays the same after the first one, and so do the score and the window. It shares neither tree nor
//! proofs with [`search`](crate::search); mates are exact only in that a mate score is a forced win.

// Margins and reductions come from an SPSA run (Spall 1992) over seven variants, see docs/history/search.md; depths were
// set by hand. The reduction at positions of former principal variations and the bonuses for changes of the evaluation and
// after fail lows follow Stockfish, in rounded numbers.

mod candidate;
mod evaluation;
mod extensions;
mod histories;
mod history_updates;
mod iteration;
mod lazy_order;
mod move_order;
mod move_pruning;
mod move_search;
mod node;
mod node_pruning;
mod ordering;
mod policy;
mod quiescence;
mod reduction;
mod score;
mod table;
mod task;
mod worker;

pub use evaluation::StaticEvaluator;
pub use iteration::{AlphaBeta, Iteration, Request, RootLine, Verdict};
pub use score::{Score, expected_score};
pub use worker::Probe;

use crate::rules::Position;

/// Returns `true` if the game of `position` can be searched: it has two sides, one board, and pieces that move.
pub fn supports(position: &Position) -> bool {
    let spec = position.game_spec();
    spec.sides == 2 && !spec.two_boards && !spec.roles.is_empty()
}
