//! Evaluations of positions whose winner a mate search has found.

use super::CachedEval;
use crate::rules::{Mate, Move};

/// The win probability of the side that mates. It is below 1 because only the search proves wins.
const MATE_PROBABILITY: f32 = 0.99;
/// The logit of a mating move minus the greatest logit of the policy.
const MATE_LOGIT_MARGIN: f32 = 5.0;

/// A mate by the side to move.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct FoundMate {
    /// The index of its first move in the list of legal moves.
    pub(super) nth: usize,
    /// The number of turns that it takes.
    turns: u8,
}

impl FoundMate {
    /// Returns a mate by its index in `legal`, or `None` if its first move is not in the list.
    pub(super) fn among(legal: &[Move], mate: Mate) -> Option<FoundMate> {
        let nth = legal.iter().position(|&other| other == mate.m)?;
        Some(FoundMate { nth, turns: mate.turns })
    }

    /// Makes its first move the most probable of the policy.
    pub(super) fn prefer(self, logits: &mut [f32]) {
        let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        logits[self.nth] = highest + MATE_LOGIT_MARGIN;
    }
}

/// Sets the outcome to a win of one side: 0 for the side to move, 1 for the next, and so on.
pub(super) fn set_winner(outcome: &mut [f32], winner: usize) {
    let others = (outcome.len() - 1).max(1) as f32;
    outcome.fill((1.0 - MATE_PROBABILITY) / others);
    outcome[winner] = MATE_PROBABILITY;
}

impl CachedEval {
    /// Becomes the evaluation of a position with the moves `legal` in which the side to move mates, for
    /// `outcomes` outcomes. Returns `false`, without a change, if the mate does not begin with a legal move.
    pub(crate) fn set_mate(&mut self, legal: &[Move], outcomes: usize, mate: Mate) -> bool {
        let Some(found) = FoundMate::among(legal, mate) else { return false };
        self.set_decided(legal, outcomes, 0, found.turns);
        found.prefer(&mut self.logits);
        true
    }

    /// Becomes the evaluation of a position in which the next side wins by its next move.
    pub(crate) fn set_lost(&mut self, legal: &[Move], outcomes: usize) {
        self.set_decided(legal, outcomes, 1, 1);
    }

    fn set_decided(&mut self, legal: &[Move], outcomes: usize, winner: usize, turns: u8) {
        self.outcome.resize(outcomes, 0.0);
        set_winner(&mut self.outcome, winner);
        self.moves_left = turns.into();
        self.logits.clear();
        self.logits.resize(legal.len(), 0.0);
    }
}
