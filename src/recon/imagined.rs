//! A board that may be: the men of both sides, and what they are worth.
//!
//! Men count by Michniewski's simplified evaluation function (Chess Programming Wiki): men and the
//! squares they stand on, in centipawns.

use crate::rules::blind::{Army, Step, Taken, attackers, steps};
use crate::rules::{Bitboard, ByColor, Color, Role, Square};

/// Worth more than all men together; less the plies until the king is taken.
pub(super) const KING: i32 = 20_000;
/// What is worth so much ends in the capture of a king.
pub(super) const DECIDED: i32 = KING - 200;
/// The men of both sides, and who is to move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Imagined {
    pub(super) armies: ByColor<Army>,
    pub(super) turn: Color,
}

pub(super) const fn worth(role: Role) -> i32 {
    match role {
        Role::Pawn => 100,
        Role::Knight => 320,
        Role::Bishop => 330,
        Role::Rook => 500,
        Role::Queen => 900,
        Role::King => KING,
    }
}

/// From a8 to h1, as White sees the board.
const SQUARES: [[i32; 64]; 6] = [
    [
        0, 0, 0, 0, 0, 0, 0, 0, 50, 50, 50, 50, 50, 50, 50, 50, 10, 10, 20, 30, 30, 20, 10, 10, 5,
        5, 10, 25, 25, 10, 5, 5, 0, 0, 0, 20, 20, 0, 0, 0, 5, -5, -10, 0, 0, -10, -5, 5, 5, 10, 10,
        -20, -20, 10, 10, 5, 0, 0, 0, 0, 0, 0, 0, 0,
    ],
    [
        -50, -40, -30, -30, -30, -30, -40, -50, -40, -20, 0, 0, 0, 0, -20, -40, -30, 0, 10, 15, 15,
        10, 0, -30, -30, 5, 15, 20, 20, 15, 5, -30, -30, 0, 15, 20, 20, 15, 0, -30, -30, 5, 10, 15,
        15, 10, 5, -30, -40, -20, 0, 5, 5, 0, -20, -40, -50, -40, -30, -30, -30, -30, -40, -50,
    ],
    [
        -20, -10, -10, -10, -10, -10, -10, -20, -10, 0, 0, 0, 0, 0, 0, -10, -10, 0, 5, 10, 10, 5,
        0, -10, -10, 5, 5, 10, 10, 5, 5, -10, -10, 0, 10, 10, 10, 10, 0, -10, -10, 10, 10, 10, 10,
        10, 10, -10, -10, 5, 0, 0, 0, 0, 5, -10, -20, -10, -10, -10, -10, -10, -10, -20,
    ],
    [
        0, 0, 0, 0, 0, 0, 0, 0, 5, 10, 10, 10, 10, 10, 10, 5, -5, 0, 0, 0, 0, 0, 0, -5, -5, 0, 0,
        0, 0, 0, 0, -5, -5, 0, 0, 0, 0, 0, 0, -5, -5, 0, 0, 0, 0, 0, 0, -5, -5, 0, 0, 0, 0, 0, 0,
        -5, 0, 0, 0, 5, 5, 0, 0, 0,
    ],
    [
        -20, -10, -10, -5, -5, -10, -10, -20, -10, 0, 0, 0, 0, 0, 0, -10, -10, 0, 5, 5, 5, 5, 0,
        -10, -5, 0, 5, 5, 5, 5, 0, -5, 0, 0, 5, 5, 5, 5, 0, -5, -10, 5, 5, 5, 5, 5, 0, -10, -10, 0,
        5, 0, 0, 0, 0, -10, -20, -10, -10, -5, -5, -10, -10, -20,
    ],
    [
        -30, -40, -40, -50, -50, -40, -40, -30, -30, -40, -40, -50, -50, -40, -40, -30, -30, -40,
        -40, -50, -50, -40, -40, -30, -30, -40, -40, -50, -50, -40, -40, -30, -20, -30, -30, -40,
        -40, -30, -30, -20, -10, -20, -20, -20, -20, -20, -20, -10, 20, 20, 0, 0, 0, 0, 20, 20, 20,
        30, 10, 0, 0, 10, 30, 20,
    ],
];

/// What an army is worth, its king's place included and the king not, in centipawns.
fn standing(army: &Army, color: Color) -> i32 {
    let mut sum = 0;
    for (role, table) in Role::ALL.into_iter().zip(&SQUARES) {
        let men = army.by_role(role);
        let each = if role == Role::King { 0 } else { worth(role) };
        sum += men.count() as i32 * each;
        for square in men {
            sum += table[usize::from(square) ^ color.fold_wb(56, 0)];
        }
    }
    sum
}

impl Imagined {
    /// What the mover's men are worth more than the others'.
    pub(super) fn value(&self) -> i32 {
        standing(&self.armies[self.turn], self.turn)
            - standing(&self.armies[!self.turn], !self.turn)
    }

    /// Appends the mover's steps to these squares.
    pub(super) fn steps(&self, targets: Bitboard, out: &mut Vec<Step>) {
        let (mover, other) = (&self.armies[self.turn], &self.armies[!self.turn]);
        let passed = other.passed(!self.turn);
        steps(mover, self.turn, other.occupied(), passed, targets, out);
    }

    /// The board after a step.
    pub(super) fn after(&self, step: Step) -> Imagined {
        let mut armies = self.armies;
        let mover = armies[self.turn];
        *armies.get_mut(self.turn) = step.after(&mover, self.turn);
        let other = armies.get_mut(!self.turn);
        *other = other.rested();
        if let Some(square) = step.capture {
            other.remove(!self.turn, square);
        }
        Imagined { armies, turn: !self.turn }
    }

    /// The board after what a request became; `None` is a pass.
    pub(super) fn taken(&self, taken: Option<Taken>) -> Imagined {
        let mut armies = self.armies;
        let mut other = armies[!self.turn];
        armies.get_mut(self.turn).make(self.turn, taken, &mut other);
        *armies.get_mut(!self.turn) = other;
        Imagined { armies, turn: !self.turn }
    }

    /// What the mover takes by a step: more than all else if it is the king.
    pub(super) fn prize(&self, step: Step) -> i32 {
        let taken = step.capture.and_then(|square| self.armies[!self.turn].role_at(square));
        taken.map_or(0, worth)
            + if step.becomes == step.role { 0 } else { worth(step.becomes) - 100 }
    }
}

/// Whether the mover could take the king.
pub(super) fn king_hangs(board: &Imagined) -> bool {
    let (mover, other) = (&board.armies[board.turn], &board.armies[!board.turn]);
    let occupied = mover.occupied() | other.occupied();
    let attacked = |king: Square| attackers(mover, board.turn, king, occupied).any();
    other.king().is_none_or(attacked)
}
