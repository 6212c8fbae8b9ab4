//! A move and what the search must know of it.

use super::histories::PieceSquare;
use crate::rules::{Move, MoveFacts, PackedMove, Position, Role};

/// A move with what the search must know of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) m: Move,
    pub(super) packed: PackedMove,
    pub(super) piece: PieceSquare,
    /// Captures, promotions to the best piece, and other moves that may win at once by a rule of the variant.
    pub(super) is_tactical: bool,
}

impl Candidate {
    /// Returns what is to be known of a legal move.
    pub(super) fn new(position: &Position, m: Move) -> Candidate {
        let facts = position.move_facts(m);
        Candidate {
            m,
            packed: m.pack(),
            piece: PieceSquare::new(position.turn(), facts, m),
            is_tactical: is_tactical(facts),
        }
    }
}

/// Returns `true` if a move changes the material or may end the game at once.
pub(super) fn is_tactical(facts: MoveFacts) -> bool {
    facts.captured.is_some()
        || facts.may_win
        || matches!(facts.promotion, Some(Role::Queen | Role::King))
}
