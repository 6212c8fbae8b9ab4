//! A board that may be, searched as if both sides saw all of it.
//!
//! Fail-soft alpha-beta over steps and passes, with king capture instead of check, then captures
//! alone.

use std::time::Instant;

use super::imagined::{Imagined, KING, worth};
use crate::rules::blind::{Request, Step};
use crate::rules::{Bitboard, Role};

/// Captures are followed so far at most, in plies.
const CAPTURES: u32 = 12;
/// Boards between two looks at the clock, a power of two.
const BETWEEN_LOOKS: u64 = 1 << 10;

/// A search with its memory.
#[derive(Debug, Default)]
pub(super) struct Tactics {
    /// Steps of each ply.
    lists: Vec<Vec<Step>>,
    /// When time ends, if it does.
    until: Option<Instant>,
    /// Boards so far.
    boards: u64,
    over: bool,
}

impl Tactics {
    /// What a board is worth to its mover, in centipawns, searched so many plies deep and on through
    /// captures; `None` if there was no time for that.
    pub(super) fn value(
        &mut self,
        board: &Imagined,
        depth: u32,
        until: Option<Instant>,
    ) -> Option<i32> {
        (self.until, self.over) = (until, false);
        let value = self.search(board, depth, -KING, KING, 0);
        (!self.over).then_some(value)
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

    fn is_over(&mut self) -> bool {
        self.boards += 1;
        if self.boards.is_multiple_of(BETWEEN_LOOKS)
            && self.until.is_some_and(|end| Instant::now() >= end)
        {
            self.over = true;
        }
        self.over
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
        if self.is_over() {
            return 0;
        }
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
            if alpha >= beta || self.over {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recon::imagined::{DECIDED, king_hangs};
    use crate::rules::blind::Truth;
    use crate::rules::{ByColor, Square};

    fn board(fen: &str) -> Imagined {
        let truth = Truth::from_fen(fen).expect("a FEN");
        let armies = ByColor::new_with(|color| *truth.army(color));
        Imagined { armies, turn: truth.turn() }
    }

    #[test]
    fn kings_are_taken_and_saved() {
        let mut tactics = Tactics::default();
        let taken = board("4k3/8/8/8/8/8/8/4R1K1 w - - 0 1");
        assert_eq!(tactics.value(&taken, 1, None), Some(KING - 1));
        assert_eq!(tactics.calm_value(&taken), KING - 1);
        assert!(king_hangs(&taken));
        let mated = board("R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1");
        assert!(tactics.value(&mated, 2, None).expect("time") <= -DECIDED);
        let not_yet = board("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1");
        assert!(tactics.value(&not_yet, 3, None).expect("time") >= DECIDED);
    }

    #[test]
    fn captures_are_counted_out() {
        let mut tactics = Tactics::default();
        let guarded = board("4k3/8/3p4/4p3/8/8/8/K3R3 w - - 0 1");
        let value = tactics.value(&guarded, 1, None).expect("time");
        assert!(value < 450, "the pawn is guarded: {value}");
        let loose = board("4k3/8/8/4p3/8/8/8/K3R3 w - - 0 1");
        assert!(tactics.value(&loose, 1, None).expect("time") > 450);
        let start = board("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
        assert_eq!(start.value(), 0);
        let request = Some(Request::new(Square::E2, Square::E4));
        let after = Tactics::outcome(&start, request).expect("no king is taken");
        assert!(after.value() < 0);
    }

    /// Plain negamax over the same steps.
    fn plain(tactics: &mut Tactics, board: &Imagined, depth: u32, ply: usize) -> i32 {
        if depth == 0 {
            return tactics.captures(board, -KING, KING, ply, 0);
        }
        let Some(king) = board.armies[!board.turn].king() else { return KING - ply as i32 };
        let mut list = Vec::new();
        board.steps(Bitboard::FULL, &mut list);
        if list.iter().any(|step| step.capture == Some(king)) {
            return KING - ply as i32 - 1;
        }
        let nexts = list.iter().map(|&step| board.after(step)).chain([board.taken(None)]);
        nexts.map(|next| -plain(tactics, &next, depth - 1, ply + 1)).max().expect("a pass")
    }

    #[test]
    fn windows_change_no_value() {
        let mut tactics = Tactics::default();
        for fen in [
            "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
            "8/P6k/8/8/8/8/p6K/8 b - - 0 1",
        ] {
            for depth in [1, 2, 2] {
                let expected = plain(&mut Tactics::default(), &board(fen), depth, 0);
                assert_eq!(tactics.value(&board(fen), depth, None), Some(expected), "{fen}");
            }
        }
    }

    #[test]
    fn a_search_ends_with_its_time() {
        let fen = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
        let mut tactics = Tactics::default();
        assert_eq!(tactics.value(&board(fen), 60, Some(Instant::now())), None);
        // One that was broken off does not break off the next.
        assert!(tactics.value(&board(fen), 2, None).is_some());
    }
}
