//! What a short look at a position tells, so that no network need be asked.

use super::{CachedEval, Query};
use crate::rules::{Mate, Move, Position};

/// Limits of the mate search of one position.
#[derive(Clone, Copy, Debug)]
pub(super) struct MateLimits {
    /// Turns of the mover.
    turns: u8,
    /// Positions visited.
    positions: u32,
}

impl MateLimits {
    /// For networks whose evaluation takes 50 microseconds and more.
    pub(super) const DEEP: MateLimits = MateLimits { turns: 3, positions: 100 };
    /// For sparse networks, whose evaluation takes 3 microseconds.
    pub(super) const QUICK: MateLimits = MateLimits { turns: 1, positions: 100 };
}

/// The chance that who is found to mate wins: all but sure, as a proof is the search's affair.
const SURE: f32 = 0.99;
/// How much likelier a mating move is than the likeliest of a policy, as a logit.
const LIKELIER: f32 = 5.0;

/// A mate of the mover: its first move among the legal ones, and the turns that it takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Found {
    pub(super) nth: usize,
    pub(super) turns: u8,
}

impl Found {
    /// Where its first move stands; `None` if that is nowhere.
    pub(super) fn among(legal: &[Move], mate: Mate) -> Option<Found> {
        let nth = legal.iter().position(|&other| other == mate.m)?;
        Some(Found { nth, turns: mate.turns })
    }

    /// Puts it before all else that a policy has.
    pub(super) fn prefer(self, logits: &mut [f32]) {
        let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        logits[self.nth] = highest + LIKELIER;
    }
}

/// The mate that a short look at `position` finds.
pub(super) fn find_mate(position: &Position, limits: MateLimits) -> Option<Mate> {
    position.find_mate(limits.turns, limits.positions)
}

/// Makes the outcome what it is for whoever mates, by the seat from the mover's on.
pub(super) fn decide(outcome: &mut [f32], seat: usize) {
    let others = (outcome.len() - 1).max(1) as f32;
    outcome.fill((1.0 - SURE) / others);
    outcome[seat] = SURE;
}

/// Writes over `into` what a short look tells, if it tells who wins; says whether it does.
pub(super) fn probe_mate(query: Query<'_>, limits: MateLimits, into: &mut CachedEval) -> bool {
    let Query { encoding, position, legal } = query;
    let mate = find_mate(position, limits).and_then(|mate| Found::among(legal, mate));
    let (seat, turns) = match mate {
        Some(found) => (0, found.turns),
        None if position.is_king_lost(limits.positions) => (1, 1),
        None => return false,
    };
    into.outcome.resize(encoding.shape().outcomes, 0.0);
    decide(&mut into.outcome, seat);
    into.moves_left = turns.into();
    into.logits.clear();
    into.logits.resize(legal.len(), 0.0);
    if let Some(found) = mate {
        found.prefer(&mut into.logits);
    }
    true
}
