//! Proven bounds of a node: the outcomes that are still possible, and the lengths of wins (MCTS-Solver, for
//! any number of sides).

use crate::rules::{MAX_SIDES, Outcome, ProvenValue, Side};

/// The possible outcomes of a game under best play, and bounds on the number of turns that a win takes.
///
/// The set of outcomes holds every one that some way of breaking ties among equally good moves can lead to.
/// An excluded outcome is therefore excluded for good, also with three and more sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ProofBounds {
    /// Bit `n`: side `n` may win. [`DRAW`]: the game may be drawn.
    outcomes: u8,
    /// For each side, the least number of turns to its win. [`NEVER`] if it cannot win, or not sooner than
    /// from an earlier position of the path.
    shortest: [u8; MAX_SIDES],
    /// If one side is proven to win, the greatest number of turns that it takes.
    longest: u8,
}

const DRAW: u8 = 1 << MAX_SIDES;
const NEVER: u8 = u8::MAX;
/// The greatest number of turns that is counted.
const MAX_TURNS: u8 = NEVER - 1;

/// A child for [`ProofBounds::of_parent`]: its bounds, and the number of turns that the move to it ends.
pub(super) type Child = (ProofBounds, u8);

impl ProofBounds {
    /// Returns the bounds of a position that has not been visited. The game may have ended in it.
    pub(super) fn unknown(sides: usize) -> ProofBounds {
        let outcomes = ((1 << sides) - 1) as u8 | DRAW;
        ProofBounds { outcomes, shortest: [0; MAX_SIDES], longest: NEVER }
    }

    /// Returns the bounds of a finished game.
    pub(super) fn ended(outcome: Outcome) -> ProofBounds {
        ProofBounds::exact(outcome.winner, 0)
    }

    /// Returns the bounds that follow from a proven value for `mover`, the side to move of a game of two
    /// sides with one ply a turn.
    pub(super) fn from_value(value: ProvenValue, mover: Side) -> ProofBounds {
        let winner = match value.score {
            0 => return ProofBounds::exact(None, 0),
            1.. => mover,
            _ => mover.after(1, 2),
        };
        match value.plies {
            Some(plies) => ProofBounds::exact(Some(winner), plies.min(MAX_TURNS.into()) as u8),
            None => ProofBounds { longest: NEVER, ..ProofBounds::exact(Some(winner), 0) },
        }
    }

    /// Returns the bounds of a position with this winner, in this number of turns.
    fn exact(winner: Option<Side>, turns: u8) -> ProofBounds {
        let mut shortest = [NEVER; MAX_SIDES];
        let outcomes = match winner {
            None => DRAW,
            Some(winner) => {
                shortest[winner.index()] = turns;
                1 << winner.index()
            }
        };
        ProofBounds { outcomes, shortest, longest: turns }
    }

    /// Returns the bounds of a position in which `mover` chooses among `children`, and among unvisited moves
    /// if `has_unvisited`.
    pub(super) fn of_parent(
        sides: usize,
        mover: Side,
        children: impl Iterator<Item = Child> + Clone,
        has_unvisited: bool,
    ) -> ProofBounds {
        // An unvisited move may end the game, and then ends a turn.
        let unvisited = has_unvisited.then(|| (ProofBounds::unknown(sides), 1));
        let children = children.chain(unvisited);
        let best = children.clone().map(|(child, _)| child.least(mover)).max().unwrap_or(-1);
        let allowed = outcomes_worth(mover, best, sides);
        let mut outcomes = 0;
        let mut shortest = [NEVER; MAX_SIDES];
        // With two sides the loser delays the end. With more it may prefer otherwise.
        let mut delayed = [0; MAX_SIDES];
        let mut quickest = NEVER;
        let mut slowest = 0;
        for (child, turns) in children {
            if child.outcomes & allowed == 0 {
                continue;
            }
            outcomes |= child.outcomes & allowed;
            for side in Side::all(sides).map(Side::index) {
                let distance = add_turns(child.shortest[side], turns);
                shortest[side] = shortest[side].min(distance);
                delayed[side] = delayed[side].max(distance);
            }
            let longest = add_turns(child.longest, turns);
            if child.outcomes == 1 << mover.index() {
                quickest = quickest.min(longest);
            }
            slowest = slowest.max(longest);
        }
        for side in Side::all(sides) {
            if outcomes & 1 << side.index() == 0 {
                shortest[side.index()] = NEVER;
            } else if sides == 2 && side != mover {
                shortest[side.index()] = delayed[side.index()];
            }
        }
        let longest = if outcomes & DRAW != 0 || !outcomes.is_power_of_two() {
            NEVER
        } else if outcomes == 1 << mover.index() {
            quickest
        } else {
            slowest
        };
        ProofBounds { outcomes, shortest, longest }
    }

    /// Returns the intersection of two bounds that both hold.
    pub(super) fn and(self, other: ProofBounds) -> ProofBounds {
        let later = |side: usize| self.shortest[side].max(other.shortest[side]);
        ProofBounds {
            outcomes: self.outcomes & other.outcomes,
            shortest: std::array::from_fn(later),
            longest: self.longest.min(other.longest),
        }
    }

    /// Returns the bounds of a position that repeats an earlier one of the path: a side that wins from here
    /// could have won sooner from there.
    pub(super) fn repeated(self) -> ProofBounds {
        ProofBounds { shortest: [NEVER; MAX_SIDES], ..self }
    }

    /// Returns the bounds without their shortest lengths.
    pub(super) fn without_lengths(self) -> ProofBounds {
        let possible = |side: usize| if self.outcomes & 1 << side == 0 { NEVER } else { 0 };
        ProofBounds { shortest: std::array::from_fn(possible), ..self }
    }

    /// Returns `true` if both have the same outcomes and the same longest length.
    pub(super) fn same_outcomes(self, other: ProofBounds) -> bool {
        (self.outcomes, self.longest) == (other.outcomes, other.longest)
    }

    /// Returns the least score of `side`.
    pub(super) fn least(self, side: Side) -> i8 {
        let win = 1 << side.index();
        if self.outcomes == win {
            1
        } else if self.outcomes & !(win | DRAW) == 0 {
            0
        } else {
            -1
        }
    }

    /// Returns the greatest score of `side`.
    pub(super) fn most(self, side: Side) -> i8 {
        if self.outcomes & 1 << side.index() != 0 {
            1
        } else if self.outcomes & DRAW != 0 {
            0
        } else {
            -1
        }
    }

    /// Returns `true` if only one outcome is possible.
    pub(super) fn is_decided(self) -> bool {
        self.outcomes.is_power_of_two()
    }

    /// Returns `true` if a draw is proven.
    pub(super) fn is_draw(self) -> bool {
        self.outcomes == DRAW
    }

    /// Returns the side that is proven to win.
    pub(super) fn winner(self) -> Option<Side> {
        (self.is_decided() && self.outcomes != DRAW)
            .then(|| Side::new(self.outcomes.trailing_zeros() as usize))
    }

    /// Returns the least number of turns to a win of `side`, or `None` if it cannot win.
    pub(super) fn shortest(self, side: Side) -> Option<u8> {
        let turns = self.shortest[side.index()];
        (turns != NEVER).then_some(turns)
    }

    /// Returns the greatest number of turns to the proven win, if there is one and its length is bounded.
    pub(super) fn longest(self) -> Option<u8> {
        (self.winner().is_some() && self.longest != NEVER).then_some(self.longest)
    }

    /// Returns `true` if the outcome is proven and, if it is a win, its exact length.
    pub(super) fn is_solved(self) -> bool {
        match self.winner().map(|winner| (self.shortest(winner), self.longest())) {
            Some((Some(shortest), Some(longest))) => shortest >= longest,
            _ => self.is_decided(),
        }
    }
}

/// Returns a distance after further turns.
fn add_turns(distance: u8, turns: u8) -> u8 {
    match distance {
        NEVER => NEVER,
        _ => distance.saturating_add(turns).min(MAX_TURNS),
    }
}

/// Returns the outcomes that are worth at least `score` to `side`.
fn outcomes_worth(side: Side, score: i8, sides: usize) -> u8 {
    let win = 1 << side.index();
    match score {
        1 => win,
        0 => win | DRAW,
        _ => ProofBounds::unknown(sides).outcomes,
    }
}
