//! What a proof still takes: proof numbers (Allis 1994), one for each of two sides.
//!
//! How many positions must at least be found won for a side, that a node be won for it. Where
//! forced replies make it small, a search that looks there may prove the win (Kowalski et al. 2022,
//! "Proof number based Monte-Carlo tree search").

use super::proof_bounds::ProofBounds;
use crate::rules::Side;

/// The proof numbers of both sides; games of more sides have none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ProofNumbers([u16; 2]);

/// A win that cannot be.
const NEVER: u16 = u16::MAX;
/// Numbers stop here.
const MOST: u16 = NEVER - 1;

impl ProofNumbers {
    /// Of a position that nobody has looked at.
    pub(super) const UNSEEN: ProofNumbers = ProofNumbers([1, 1]);

    /// What is left for a win of `side`, at least 1; `None` if it cannot win or it is not known.
    pub(super) fn left(self, side: Side) -> Option<u16> {
        let left = self.0.get(side.index()).copied().filter(|&left| left < NEVER)?;
        Some(left.max(1))
    }

    /// The same with what `bounds` tell.
    pub(super) fn within(self, bounds: ProofBounds) -> ProofNumbers {
        let number =
            |side: usize| match (bounds.least(Side::new(side)), bounds.most(Side::new(side))) {
                (1, _) => 0,
                (_, 1) => self.0[side],
                _ => NEVER,
            };
        ProofNumbers([number(0), number(1)])
    }

    /// Of a node in which `mover` chooses among `children`, and among so many moves that nobody
    /// has looked at. The mover needs one of its moves, the other side all of them.
    pub(super) fn of_parent(
        mover: Side,
        unseen: u16,
        children: impl Iterator<Item = ProofNumbers>,
    ) -> ProofNumbers {
        let (mover, other) = (mover.index(), 1 - mover.index());
        let mut least = if unseen > 0 { 1 } else { NEVER };
        let mut sum = u32::from(unseen);
        let mut never = false;
        for ProofNumbers(child) in children {
            least = least.min(child[mover]);
            never |= child[other] == NEVER;
            sum += u32::from(child[other]);
        }
        let mut numbers = [0; 2];
        numbers[mover] = least;
        numbers[other] = if never { NEVER } else { sum.min(MOST.into()) as u16 };
        ProofNumbers(numbers)
    }

    /// What becomes of a parent's proof_number when a child's was `before` and is `now`; `None` if that
    /// cannot be told without its other children. `unseen` is whether it has moves that nobody has
    /// looked at.
    pub(super) fn step(
        self,
        mover: Side,
        unseen: bool,
        before: ProofNumbers,
        now: ProofNumbers,
    ) -> Option<ProofNumbers> {
        let (mover, other) = (mover.index(), 1 - mover.index());
        let mut numbers = self.0;
        // The least may have risen, and a sum that has reached the end is known no more.
        let least_rose = now.0[mover] > before.0[mover] && before.0[mover] <= numbers[mover];
        let ended = [numbers[other], now.0[other], before.0[other]].iter().any(|&n| n >= MOST);
        if least_rose && !unseen || ended {
            return None;
        }
        numbers[mover] = numbers[mover].min(now.0[mover]);
        let sum = i64::from(numbers[other]) + i64::from(now.0[other]) - i64::from(before.0[other]);
        numbers[other] = sum.clamp(0, MOST.into()) as u16;
        Some(ProofNumbers(numbers))
    }
}
