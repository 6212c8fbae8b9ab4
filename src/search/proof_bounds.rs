//! What is proven of a node: how the game may still end, and how soon.

use crate::rules::{MAX_SIDES, Outcome, ProvenValue, Side};

/// The ways a game may end under best play, and bounds on the turns that a win takes.
///
/// The ways are a set: that side 0 wins, that side 1 wins, .., that nobody does. It holds every
/// end that some way of breaking ties among equally good moves can lead to, so that what it
/// excludes is excluded for good, also among three and more sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ProofBounds {
    /// Bit `n`: side `n` may win. Bit [`DRAW`]: nobody may.
    ends: u8,
    /// For each side: it cannot win sooner than in so many turns; [`NEVER`] if not at all, or not sooner
    /// than from a position before.
    shortest: [u8; MAX_SIDES],
    /// If one side is sure to win: it takes at most so many turns.
    longest: u8,
}

const DRAW: u8 = 1 << MAX_SIDES;
const NEVER: u8 = u8::MAX;
/// Distances stop counting here, so that no win looks like none.
const FAR: u8 = NEVER - 1;

/// A child as [`ProofBounds::of_parent`] sees it: its bounds, and the turns that the move to it ends.
pub(super) type Child = (ProofBounds, u8);

impl ProofBounds {
    /// Nothing is known of a position that nobody has looked at: the game may have ended in it.
    pub(super) fn unknown(sides: usize) -> ProofBounds {
        let ends = ((1 << sides) - 1) as u8 | DRAW;
        ProofBounds { ends, shortest: [0; MAX_SIDES], longest: NEVER }
    }

    /// The game has ended.
    pub(super) fn ended(outcome: Outcome) -> ProofBounds {
        ProofBounds::sure(outcome.winner, 0)
    }

    /// Something is known of a position of two sides, for `mover`, each of whose turns is one ply.
    pub(super) fn known(known: ProvenValue, mover: Side) -> ProofBounds {
        let winner = match known.score {
            0 => return ProofBounds::sure(None, 0),
            1.. => mover,
            _ => mover.after(1, 2),
        };
        match known.plies {
            Some(plies) => ProofBounds::sure(Some(winner), plies.min(FAR.into()) as u8),
            None => ProofBounds { longest: NEVER, ..ProofBounds::sure(Some(winner), 0) },
        }
    }

    /// The winner is sure, and in how many turns.
    fn sure(winner: Option<Side>, turns: u8) -> ProofBounds {
        let mut shortest = [NEVER; MAX_SIDES];
        let ends = match winner {
            None => DRAW,
            Some(winner) => {
                shortest[winner.index()] = turns;
                1 << winner.index()
            }
        };
        ProofBounds { ends, shortest, longest: turns }
    }

    /// What follows for a position in which `mover` chooses among `children`, and among moves
    /// nobody has looked at if `more`.
    pub(super) fn of_parent(
        sides: usize,
        mover: Side,
        children: impl Iterator<Item = Child> + Clone,
        more: bool,
    ) -> ProofBounds {
        // An unseen move may end the game, which takes the turn that it ends.
        let unseen = more.then(|| (ProofBounds::unknown(sides), 1));
        let children = children.chain(unseen);
        let sure = children.clone().map(|(child, _)| child.least(mover)).max().unwrap_or(-1);
        let allowed = ends_worth(mover, sure, sides);
        let mut ends = 0;
        let mut shortest = [NEVER; MAX_SIDES];
        // With two sides the loser delays; with more it may have reasons of its own.
        let mut delayed = [0; MAX_SIDES];
        let (mut quickest, mut slowest) = (NEVER, 0);
        for (child, turns) in children {
            let after = |distance: u8| match distance {
                NEVER => NEVER,
                _ => distance.saturating_add(turns).min(FAR),
            };
            if child.ends & allowed == 0 {
                continue;
            }
            ends |= child.ends & allowed;
            for side in Side::all(sides).map(Side::index) {
                let soonest = after(child.shortest[side]);
                shortest[side] = shortest[side].min(soonest);
                delayed[side] = delayed[side].max(soonest);
            }
            if child.ends == 1 << mover.index() {
                quickest = quickest.min(after(child.longest));
            }
            slowest = slowest.max(after(child.longest));
        }
        for side in Side::all(sides) {
            if ends & 1 << side.index() == 0 {
                shortest[side.index()] = NEVER;
            } else if sides == 2 && side != mover {
                shortest[side.index()] = delayed[side.index()];
            }
        }
        let longest = match ends {
            _ if ends & DRAW != 0 || !ends.is_power_of_two() => NEVER,
            _ if ends == 1 << mover.index() => quickest,
            _ => slowest,
        };
        ProofBounds { ends, shortest, longest }
    }

    /// What follows from both: each holds.
    pub(super) fn and(self, other: ProofBounds) -> ProofBounds {
        let later = |side: usize| self.shortest[side].max(other.shortest[side]);
        ProofBounds {
            ends: self.ends & other.ends,
            shortest: std::array::from_fn(later),
            longest: self.longest.min(other.longest),
        }
    }

    /// The same for a position that repeats one on the way to it: whoever wins on from here could have
    /// done so sooner from there.
    pub(super) fn repeated(self) -> ProofBounds {
        ProofBounds { shortest: [NEVER; MAX_SIDES], ..self }
    }

    /// The same as long as nothing is known of how soon a win may be.
    pub(super) fn unmeasured(self) -> ProofBounds {
        let possible = |side: usize| if self.ends & 1 << side == 0 { NEVER } else { 0 };
        ProofBounds { shortest: std::array::from_fn(possible), ..self }
    }

    /// Whether both leave the same ends, and the same length at most.
    pub(super) fn ends_as(self, other: ProofBounds) -> bool {
        (self.ends, self.longest) == (other.ends, other.longest)
    }

    /// The score that `side` gets at least.
    pub(super) fn least(self, side: Side) -> i8 {
        let win = 1 << side.index();
        if self.ends == win {
            1
        } else if self.ends & !(win | DRAW) == 0 {
            0
        } else {
            -1
        }
    }

    /// The score that `side` gets at most.
    pub(super) fn most(self, side: Side) -> i8 {
        if self.ends & 1 << side.index() != 0 {
            1
        } else if self.ends & DRAW != 0 {
            0
        } else {
            -1
        }
    }

    /// Whether only one end is left.
    pub(super) fn decided(self) -> bool {
        self.ends.is_power_of_two()
    }

    /// The side that is sure to win.
    pub(super) fn winner(self) -> Option<Side> {
        (self.decided() && self.ends != DRAW)
            .then(|| Side::new(self.ends.trailing_zeros() as usize))
    }

    /// The turns that a win of `side` takes at least; `None` if it cannot win.
    pub(super) fn shortest(self, side: Side) -> Option<u8> {
        let turns = self.shortest[side.index()];
        (turns != NEVER).then_some(turns)
    }

    /// The turns that the win of the side which is sure to win takes at most.
    pub(super) fn longest(self) -> Option<u8> {
        (self.winner().is_some() && self.longest != NEVER).then_some(self.longest)
    }

    /// Whether nothing is left to find out: one end, and if it is a win its length.
    pub(super) fn settled(self) -> bool {
        match self.winner().map(|winner| (self.shortest(winner), self.longest())) {
            Some((Some(shortest), Some(longest))) => shortest >= longest,
            _ => self.decided(),
        }
    }
}

/// The ends that are worth at least `score` to `side`.
fn ends_worth(side: Side, score: i8, sides: usize) -> u8 {
    let win = 1 << side.index();
    match score {
        1 => win,
        0 => win | DRAW,
        _ => ProofBounds::unknown(sides).ends,
    }
}
