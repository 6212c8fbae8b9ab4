//! The mate search at new leaves: a position with a short forced mate needs no evaluation by the network.

use super::params::Params;
use crate::nn::{CachedEval, Query};
use crate::rules::{Mate, MateFinder, Position, ProvenValue};

/// Searches for short mates within the limits of [`Params::mate_turns`] and [`Params::mate_positions`].
///
/// Where there are repetitions or counters, which are ignored, a mate is an evaluation and no proof: only the tree
/// search proves the win.
#[derive(Debug)]
pub struct MateSearch {
    finder: MateFinder,
    turns: u8,
    positions: u32,
}

impl MateSearch {
    /// Returns a mate search with the limits of `params`.
    pub fn new(params: &Params) -> MateSearch {
        MateSearch {
            finder: MateFinder::default(),
            turns: params.mate_turns as u8,
            positions: params.mate_positions as u32,
        }
    }

    /// Returns the value of a position in which the search finds a win that no repetition and no counter can change,
    /// as in games of n in a row; `None` in other games.
    pub fn proven_value(&self, position: &Position) -> Option<ProvenValue> {
        let Mate { turns, .. } = self.finder.find_exact(position, self.turns, self.positions)?;
        // A longer win may take fewer turns than the search has found.
        Some(ProvenValue { score: 1, plies: (turns == 1).then_some(1) })
    }

    /// Writes the evaluation of a position to `into` if a short mate decides it: one by the side to move, or
    /// in games in which kings are captured one by the opponent. Returns `true` if one does.
    pub fn evaluate(&mut self, query: Query<'_>, into: &mut CachedEval) -> bool {
        if self.turns == 0 {
            return false;
        }
        let Query { encoding, position, legal } = query;
        let outcomes = encoding.shape().outcomes;
        if let Some(mate) = self.finder.find(position, self.turns, self.positions)
            && into.set_mate(legal, outcomes, mate)
        {
            return true;
        }
        let is_lost = position.is_king_lost(self.positions);
        if is_lost {
            into.set_lost(legal, outcomes);
        }
        is_lost
    }
}
