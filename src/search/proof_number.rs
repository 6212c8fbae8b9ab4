//! Proof numbers (Allis 1994), one for each of two sides.
//!
//! The proof number of a side is the least number of positions that must be proven won for it to prove a node
//! won. Forced replies keep it small, and a search that prefers small numbers may prove the win (PN-MCTS,
//! Kowalski et al. 2022, "Proof number based Monte-Carlo tree search").

use super::proof_bounds::ProofBounds;
use crate::rules::Side;

/// The proof numbers of both sides. Games of more sides have none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ProofNumbers([u16; 2]);

/// The proof number of an impossible win.
const NEVER: u16 = u16::MAX;
/// The greatest number that is counted.
const MAX_NUMBER: u16 = NEVER - 1;

impl ProofNumbers {
    /// The proof numbers of an unvisited position.
    pub(super) const UNVISITED: ProofNumbers = ProofNumbers([1, 1]);

    /// Returns the proof number of `side`, at least 1, or `None` if `side` cannot win or has no number.
    pub(super) fn get(self, side: Side) -> Option<u16> {
        let number = self.0.get(side.index()).copied().filter(|&number| number < NEVER)?;
        Some(number.max(1))
    }

    /// Returns the proof numbers corrected by proven bounds.
    pub(super) fn within(self, bounds: ProofBounds) -> ProofNumbers {
        ProofNumbers([0, 1].map(|side| {
            match (bounds.least(Side::new(side)), bounds.most(Side::new(side))) {
                (1, _) => 0,
                (_, 1) => self.0[side],
                _ => NEVER,
            }
        }))
    }

    /// Returns the proof numbers of a node in which `mover` chooses among `children` and `unvisited` more
    /// moves. The mover needs one winning move, the other side needs all of them.
    pub(super) fn of_parent(
        mover: Side,
        unvisited: u16,
        children: impl Iterator<Item = ProofNumbers>,
    ) -> ProofNumbers {
        let mover = mover.index();
        let other = 1 - mover;
        let mut least = if unvisited > 0 { 1 } else { NEVER };
        let mut sum = u32::from(unvisited);
        let mut never = false;
        for ProofNumbers(child) in children {
            least = least.min(child[mover]);
            never |= child[other] == NEVER;
            sum += u32::from(child[other]);
        }
        let mut numbers = [0; 2];
        numbers[mover] = least;
        numbers[other] = if never { NEVER } else { sum.min(MAX_NUMBER.into()) as u16 };
        ProofNumbers(numbers)
    }

    /// Returns the proof numbers of a parent after those of a child changed from `before` to `now`, or `None`
    /// if they depend on its other children. `has_unvisited` is whether the parent has unvisited moves.
    pub(super) fn after_child_change(
        self,
        mover: Side,
        has_unvisited: bool,
        before: ProofNumbers,
        now: ProofNumbers,
    ) -> Option<ProofNumbers> {
        let mover = mover.index();
        let other = 1 - mover;
        let mut numbers = self.0;
        // The minimum may have risen, or a saturated sum may have fallen.
        let least_rose = now.0[mover] > before.0[mover] && before.0[mover] <= numbers[mover];
        let saturated =
            [numbers[other], now.0[other], before.0[other]].iter().any(|&n| n >= MAX_NUMBER);
        if least_rose && !has_unvisited || saturated {
            return None;
        }
        numbers[mover] = numbers[mover].min(now.0[mover]);
        let sum = i64::from(numbers[other]) + i64::from(now.0[other]) - i64::from(before.0[other]);
        numbers[other] = sum.clamp(0, MAX_NUMBER.into()) as u16;
        Some(ProofNumbers(numbers))
    }
}
