//! Mate search at leaves: positions with a short forced mate need no evaluation by the network.

use super::{CachedEval, Query};
use crate::rules::{Mate, Move, Position};

/// Limits of the mate search of one position.
#[derive(Clone, Copy, Debug)]
pub(super) struct MateLimits {
    /// The number of turns of the side to move.
    turns: u8,
    /// The number of positions visited.
    positions: u32,
}

impl MateLimits {
    /// For networks whose evaluation takes 50 microseconds and more.
    pub(super) const DEEP: MateLimits = MateLimits { turns: 3, positions: 100 };
    /// For sparse networks, whose evaluation takes 3 microseconds.
    pub(super) const QUICK: MateLimits = MateLimits { turns: 1, positions: 100 };
}

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
    pub(super) turns: u8,
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

/// Searches for a mate within limits.
pub(super) fn find_mate(position: &Position, limits: MateLimits) -> Option<Mate> {
    position.find_mate(limits.turns, limits.positions)
}

/// Sets the outcome to a win of one side: 0 for the side to move, 1 for the next, and so on.
pub(super) fn set_winner(outcome: &mut [f32], winner: usize) {
    let others = (outcome.len() - 1).max(1) as f32;
    outcome.fill((1.0 - MATE_PROBABILITY) / others);
    outcome[winner] = MATE_PROBABILITY;
}

/// Writes the evaluation of a position to `into` if a mate search finds its winner. Returns `true` if it
/// does.
pub(super) fn probe_mate(query: Query<'_>, limits: MateLimits, into: &mut CachedEval) -> bool {
    let Query { encoding, position, legal } = query;
    let mate = find_mate(position, limits).and_then(|mate| FoundMate::among(legal, mate));
    let (winner, turns) = match mate {
        Some(found) => (0, found.turns),
        None if position.is_king_lost(limits.positions) => (1, 1),
        None => return false,
    };
    into.outcome.resize(encoding.shape().outcomes, 0.0);
    set_winner(&mut into.outcome, winner);
    into.moves_left = turns.into();
    into.logits.clear();
    into.logits.resize(legal.len(), 0.0);
    if let Some(found) = mate {
        found.prefer(&mut into.logits);
    }
    true
}
