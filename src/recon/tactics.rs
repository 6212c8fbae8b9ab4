//! A board that may be, searched as if both sides saw all of it.
//!
//! Fail-soft alpha-beta over steps and passes, with king capture instead of check, then captures
//! alone. Men count by Michniewski's simplified evaluation function (Chess Programming Wiki): men
//! and the squares they stand on, in centipawns.

use crate::rules::blind::{Army, Request, Step, Taken, steps};
use crate::rules::{Bitboard, ByColor, Color, Role, Square};

/// Worth more than all men together; less the plies until the king is taken.
pub(super) const KING: i32 = 20_000;
/// What is worth so much ends in the capture of a king.
pub(super) const DECIDED: i32 = KING - 200;
/// Captures are followed so far at most, in plies.
const CAPTURES: u32 = 12;

/// The men of both sides, and who is to move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Imagined {
    pub(super) armies: ByColor<Army>,
    pub(super) turn: Color,
}

const fn worth(role: Role) -> i32 {
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
    fn value(&self) -> i32 {
        standing(&self.armies[self.turn], self.turn)
            - standing(&self.armies[!self.turn], !self.turn)
    }

    fn steps(&self, targets: Bitboard, out: &mut Vec<Step>) {
        let (mover, other) = (&self.armies[self.turn], &self.armies[!self.turn]);
        let passed = other.passed(!self.turn);
        steps(mover, self.turn, other.occupied(), passed, targets, out);
    }

    /// The board after a step.
    fn after(&self, step: Step) -> Imagined {
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
    fn prize(&self, step: Step) -> i32 {
        let taken = step.capture.and_then(|square| self.armies[!self.turn].role_at(square));
        taken.map_or(0, worth)
            + if step.becomes == step.role { 0 } else { worth(step.becomes) - 100 }
    }
}

/// A search with its memory.
#[derive(Debug, Default)]
pub(super) struct Tactics {
    /// Steps of each ply.
    lists: Vec<Vec<Step>>,
}

impl Tactics {
    /// What a board is worth to its mover, in centipawns, searched so many plies deep and on through
    /// captures.
    pub(super) fn value(&mut self, board: &Imagined, depth: u32) -> i32 {
        self.search(board, depth, -KING, KING, 0)
    }

    /// The same, but captures only.
    pub(super) fn calm_value(&mut self, board: &Imagined) -> i32 {
        self.captures(board, -KING, KING, 0, 0)
    }

    /// What a request of the mover's becomes on a board, and what that leaves it; `None` if it
    /// takes the king.
    pub(super) fn outcome(board: &Imagined, request: Option<Request>) -> Option<Imagined> {
        let (mover, other) = (&board.armies[board.turn], &board.armies[!board.turn]);
        let passed = other.passed(!board.turn);
        let taken = request.and_then(|step| mover.take(board.turn, step, other.occupied(), passed));
        let king = other.king();
        let takes = king.is_some() && taken.and_then(|taken| taken.capture) == king;
        (!takes).then(|| board.taken(taken))
    }

    fn list(&mut self, ply: usize) -> Vec<Step> {
        if self.lists.len() <= ply {
            self.lists.resize_with(ply + 1, Vec::new);
        }
        let mut list = std::mem::take(&mut self.lists[ply]);
        list.clear();
        list
    }

    fn search(
        &mut self,
        board: &Imagined,
        depth: u32,
        mut alpha: i32,
        beta: i32,
        ply: usize,
    ) -> i32 {
        if depth == 0 {
            return self.captures(board, alpha, beta, ply, 0);
        }
        let Some(king) = board.armies[!board.turn].king() else { return KING - ply as i32 };
        let mut list = self.list(ply);
        board.steps(Bitboard::FULL, &mut list);
        if list.iter().any(|step| step.capture == Some(king)) {
            self.lists[ply] = list;
            return KING - ply as i32 - 1;
        }
        list.sort_by_cached_key(|&step| {
            -(board.prize(step) * 16
                - if step.capture.is_some() { worth(step.role) / 8 } else { 0 })
        });
        let mut best = -KING;
        // Passing comes last: it is seldom best.
        for step in list.iter().copied().map(Some).chain([None]) {
            let next = step.map_or_else(|| board.taken(None), |step| board.after(step));
            let value = -self.search(&next, depth - 1, -beta, -alpha, ply + 1);
            best = best.max(value);
            alpha = alpha.max(value);
            if alpha >= beta {
                break;
            }
        }
        self.lists[ply] = list;
        best
    }

    fn captures(
        &mut self,
        board: &Imagined,
        mut alpha: i32,
        beta: i32,
        ply: usize,
        deep: u32,
    ) -> i32 {
        let theirs = &board.armies[!board.turn];
        let Some(king) = theirs.king() else { return KING - ply as i32 };
        let mut list = self.list(ply);
        let last = Bitboard::from(
            board.turn.fold_wb(crate::rules::Rank::Eighth, crate::rules::Rank::First),
        );
        board.steps(theirs.occupied() | last, &mut list);
        if list.iter().any(|step| step.capture == Some(king)) {
            self.lists[ply] = list;
            return KING - ply as i32 - 1;
        }
        let mut best = board.value();
        alpha = alpha.max(best);
        if best < beta && deep < CAPTURES {
            list.retain(|step| {
                step.capture.is_some() || step.becomes == Role::Queen && step.role == Role::Pawn
            });
            list.sort_by_cached_key(|&step| worth(step.role).min(1000) / 8 - board.prize(step));
            for &step in &list {
                // Not even this would bring it to alpha.
                if best + board.prize(step) + 200 < alpha {
                    continue;
                }
                let value = -self.captures(&board.after(step), -beta, -alpha, ply + 1, deep + 1);
                best = best.max(value);
                alpha = alpha.max(value);
                if alpha >= beta {
                    break;
                }
            }
        }
        self.lists[ply] = list;
        best
    }
}

/// Where a man of the mover's could take the king, if it could.
pub(super) fn king_hangs(board: &Imagined) -> bool {
    let (mover, other) = (&board.armies[board.turn], &board.armies[!board.turn]);
    let occupied = mover.occupied() | other.occupied();
    let attacked =
        |king: Square| crate::rules::blind::attackers(mover, board.turn, king, occupied).any();
    other.king().is_none_or(attacked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::blind::Truth;

    fn board(fen: &str) -> Imagined {
        let truth = Truth::from_fen(fen).expect("a FEN");
        let armies = ByColor::new_with(|color| *truth.army(color));
        Imagined { armies, turn: truth.turn() }
    }

    #[test]
    fn kings_are_taken_and_saved() {
        let mut tactics = Tactics::default();
        let taken = board("4k3/8/8/8/8/8/8/4R1K1 w - - 0 1");
        assert_eq!(tactics.value(&taken, 1), KING - 1);
        assert_eq!(tactics.calm_value(&taken), KING - 1);
        assert!(king_hangs(&taken));
        let mated = board("R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1");
        assert!(tactics.value(&mated, 2) <= -DECIDED);
        let not_yet = board("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1");
        assert!(tactics.value(&not_yet, 3) >= DECIDED);
    }

    #[test]
    fn captures_are_counted_out() {
        let mut tactics = Tactics::default();
        let guarded = board("4k3/8/3p4/4p3/8/8/8/K3R3 w - - 0 1");
        let value = tactics.value(&guarded, 1);
        assert!(value < 450, "the pawn is guarded: {value}");
        let loose = board("4k3/8/8/4p3/8/8/8/K3R3 w - - 0 1");
        assert!(tactics.value(&loose, 1) > 450);
        let start = board("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
        assert_eq!(start.value(), 0);
        let request = Some(Request::new(Square::E2, Square::E4));
        let after = Tactics::outcome(&start, request).expect("no king is taken");
        assert!(after.value() < 0);
    }
}
