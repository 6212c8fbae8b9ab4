//! The alpha-beta search of one possible board, as if both sides saw all pieces.
//!
//! Fail-soft alpha-beta over steps and the pass, with the capture of the king instead of check, followed by
//! a quiescence search of captures. Boards are evaluated by Michniewski's simplified evaluation function
//! (Chess Programming Wiki): material and piece-square tables, in centipawns.

use std::time::Instant;

use crate::rules::rbc::{Army, RbcStep, Request, Taken, attackers, generate_steps};
use crate::rules::{Bitboard, ByColor, Color, Rank, Role, Square};

/// The value of a king, which is more than that of all other pieces. The value of a board on which a king is
/// captured is this less the number of plies until then.
const KING_VALUE: i32 = 20_000;
/// From this value on a king is captured.
pub(super) const DECIDED: i32 = KING_VALUE - 200;
/// The maximum number of plies of the quiescence search.
const MAX_CAPTURE_PLIES: u32 = 12;
/// Captures that leave the value this far below alpha are pruned (delta pruning), in centipawns.
const DELTA_MARGIN: i32 = 200;
/// The number of boards between two checks of the time, a power of two.
const BOARDS_PER_TIME_CHECK: u64 = 1 << 10;

/// Returns the value of a piece in centipawns.
const fn piece_value(role: Role) -> i32 {
    match role {
        Role::Pawn => 100,
        Role::Knight => 320,
        Role::Bishop => 330,
        Role::Rook => 500,
        Role::Queen => 900,
        Role::King => KING_VALUE,
    }
}

/// The piece-square tables by role, from a8 to h1 as White sees the board.
const SQUARE_VALUES: [[i32; 64]; 6] = [
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

/// Returns the value of the pieces and their squares, without the value of the king itself.
fn army_value(army: &Army, color: Color) -> i32 {
    let mut sum = 0;
    for (role, square_values) in Role::ALL.into_iter().zip(&SQUARE_VALUES) {
        let pieces = army.by_role(role);
        let each = if role == Role::King { 0 } else { piece_value(role) };
        sum += pieces.count() as i32 * each;
        for square in pieces {
            sum += square_values[usize::from(square) ^ color.fold_wb(56, 0)];
        }
    }
    sum
}

/// A board that may be the true one.
#[derive(Clone, Copy, Debug)]
pub(super) struct PossibleBoard {
    pub(super) armies: ByColor<Army>,
    /// The side to move.
    pub(super) turn: Color,
}

impl PossibleBoard {
    fn mover(&self) -> &Army {
        &self.armies[self.turn]
    }

    fn other(&self) -> &Army {
        &self.armies[!self.turn]
    }

    /// Returns the static evaluation for the side to move.
    fn evaluate(&self) -> i32 {
        army_value(self.mover(), self.turn) - army_value(self.other(), !self.turn)
    }

    /// Appends the steps of the side to move to `targets`.
    fn generate_steps(&self, targets: Bitboard, steps: &mut Vec<RbcStep>) {
        let other = self.other();
        let en_passant = other.en_passant(!self.turn);
        generate_steps(self.mover(), self.turn, other.occupied(), en_passant, targets, steps);
    }

    /// Returns the board after a step.
    fn after(&self, step: RbcStep) -> PossibleBoard {
        let mut armies = self.armies;
        *armies.get_mut(self.turn) = step.after(self.mover(), self.turn);
        let other = armies.get_mut(!self.turn);
        *other = other.without_en_passant();
        if let Some(square) = step.capture {
            other.remove(!self.turn, square);
        }
        PossibleBoard { armies, turn: !self.turn }
    }

    fn after_taken(&self, taken: Option<Taken>) -> PossibleBoard {
        let mut armies = self.armies;
        let mut other = *self.other();
        armies.get_mut(self.turn).make_move(self.turn, taken, &mut other);
        *armies.get_mut(!self.turn) = other;
        PossibleBoard { armies, turn: !self.turn }
    }

    /// Returns the board after a pass.
    pub(super) fn after_pass(&self) -> PossibleBoard {
        self.after_taken(None)
    }

    /// Returns the board after a request, or `None` if it captures the king.
    pub(super) fn after_request(&self, request: Option<Request>) -> Option<PossibleBoard> {
        let other = self.other();
        let en_passant = other.en_passant(!self.turn);
        let taken = request.and_then(|request| {
            self.mover().resolve(self.turn, request, other.occupied(), en_passant)
        });
        let king = other.king();
        if king.is_some() && taken.and_then(|taken| taken.capture) == king {
            return None;
        }
        Some(self.after_taken(taken))
    }

    /// Returns `true` if the side to move can capture the king, or there is none.
    pub(super) fn can_capture_king(&self) -> bool {
        let occupied = self.mover().occupied() | self.other().occupied();
        self.other()
            .king()
            .is_none_or(|king: Square| attackers(self.mover(), self.turn, king, occupied).any())
    }

    /// Returns the material that a step wins by capture and promotion.
    fn material_gain(&self, step: RbcStep) -> i32 {
        let captured = step.capture.and_then(|square| self.other().role_at(square));
        let promotion = if step.becomes == step.role {
            0
        } else {
            piece_value(step.becomes) - piece_value(Role::Pawn)
        };
        captured.map_or(0, piece_value) + promotion
    }
}

/// When a search is stopped.
#[derive(Clone, Copy, Debug)]
pub(super) enum SearchLimit {
    /// At a time. A search that has not ended by then has no value.
    Time(Instant),
    /// After a number of boards, with the value of what was searched.
    Boards(u64),
}

/// An alpha-beta search with its buffers.
#[derive(Debug, Default)]
pub(super) struct Tactics {
    /// The steps of each ply.
    lists: Vec<Vec<RbcStep>>,
    deadline: Option<Instant>,
    /// The number of boards searched, also by earlier searches.
    boards: u64,
    /// The search is stopped at this value of `boards`.
    max_boards: u64,
    is_stopped: bool,
}

impl Tactics {
    /// Returns the value of a board for the side to move in centipawns, after a search of `depth` plies and
    /// captures, or `None` if the time is over before.
    pub(super) fn value(
        &mut self,
        board: &PossibleBoard,
        depth: u32,
        limit: SearchLimit,
    ) -> Option<i32> {
        self.is_stopped = false;
        (self.deadline, self.max_boards) = match limit {
            SearchLimit::Time(deadline) => (Some(deadline), u64::MAX),
            SearchLimit::Boards(boards) => (None, self.boards.saturating_add(boards)),
        };
        let value = self.search(board, depth, -KING_VALUE, KING_VALUE, 0);
        if self.is_stopped && self.deadline.is_some() { None } else { Some(value) }
    }

    /// Takes the empty step list of a ply. It is put back after use to keep its memory.
    fn take_list(&mut self, ply: usize) -> Vec<RbcStep> {
        if self.lists.len() <= ply {
            self.lists.resize_with(ply + 1, Vec::new);
        }
        let mut list = std::mem::take(&mut self.lists[ply]);
        list.clear();
        list
    }

    fn should_stop(&mut self) -> bool {
        self.boards += 1;
        let is_overdue = self.boards.is_multiple_of(BOARDS_PER_TIME_CHECK)
            && self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        self.is_stopped |= is_overdue || self.boards >= self.max_boards;
        self.is_stopped
    }

    fn search(
        &mut self,
        board: &PossibleBoard,
        depth: u32,
        mut alpha: i32,
        beta: i32,
        ply: usize,
    ) -> i32 {
        if depth == 0 {
            return self.search_captures(board, alpha, beta, ply, 0);
        }
        let Some(king) = board.other().king() else { return KING_VALUE - ply as i32 };
        if self.should_stop() {
            return board.evaluate();
        }
        let mut list = self.take_list(ply);
        board.generate_steps(Bitboard::FULL, &mut list);
        if list.iter().any(|step| step.capture == Some(king)) {
            self.lists[ply] = list;
            return KING_VALUE - ply as i32 - 1;
        }
        // Most valuable victim first, then least valuable attacker.
        list.sort_by_cached_key(|&step| {
            let attacker = if step.capture.is_some() { piece_value(step.role) / 8 } else { 0 };
            attacker - board.material_gain(step) * 16
        });
        let mut best = -KING_VALUE;
        // The pass comes last because it is seldom best.
        for step in list.iter().copied().map(Some).chain([None]) {
            let next = step.map_or_else(|| board.after_pass(), |step| board.after(step));
            let value = -self.search(&next, depth - 1, -beta, -alpha, ply + 1);
            best = best.max(value);
            alpha = alpha.max(value);
            if alpha >= beta || self.is_stopped {
                break;
            }
        }
        self.lists[ply] = list;
        best
    }

    fn search_captures(
        &mut self,
        board: &PossibleBoard,
        mut alpha: i32,
        beta: i32,
        ply: usize,
        capture_plies: u32,
    ) -> i32 {
        let other = board.other();
        let Some(king) = other.king() else { return KING_VALUE - ply as i32 };
        let mut list = self.take_list(ply);
        let last_rank = Bitboard::from(board.turn.fold_wb(Rank::Eighth, Rank::First));
        board.generate_steps(other.occupied() | last_rank, &mut list);
        if list.iter().any(|step| step.capture == Some(king)) {
            self.lists[ply] = list;
            return KING_VALUE - ply as i32 - 1;
        }
        let mut best = board.evaluate();
        if self.should_stop() {
            self.lists[ply] = list;
            return best;
        }
        alpha = alpha.max(best);
        if best < beta && capture_plies < MAX_CAPTURE_PLIES {
            list.retain(|step| {
                step.capture.is_some() || step.becomes == Role::Queen && step.role == Role::Pawn
            });
            list.sort_by_cached_key(|&step| {
                piece_value(step.role).min(1000) / 8 - board.material_gain(step)
            });
            for &step in &list {
                if best + board.material_gain(step) + DELTA_MARGIN < alpha {
                    continue;
                }
                let next = board.after(step);
                let value = -self.search_captures(&next, -beta, -alpha, ply + 1, capture_plies + 1);
                best = best.max(value);
                alpha = alpha.max(value);
                if alpha >= beta || self.is_stopped {
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
    use crate::rules::rbc::Truth;

    const NO_LIMIT: SearchLimit = SearchLimit::Boards(u64::MAX);

    fn parse_board(fen: &str) -> PossibleBoard {
        let truth = Truth::from_fen(fen).expect("a FEN");
        let armies = ByColor::new_with(|color| *truth.army(color));
        PossibleBoard { armies, turn: truth.turn() }
    }

    #[test]
    fn tactics_captures_and_saves_kings() {
        let mut tactics = Tactics::default();
        let can_capture = parse_board("4k3/8/8/8/8/8/8/4R1K1 w - - 0 1");
        assert_eq!(tactics.value(&can_capture, 1, NO_LIMIT), Some(KING_VALUE - 1));
        assert_eq!(tactics.value(&can_capture, 0, NO_LIMIT), Some(KING_VALUE - 1));
        assert!(can_capture.can_capture_king());
        let mated = parse_board("R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1");
        assert!(tactics.value(&mated, 2, NO_LIMIT).expect("time") <= -DECIDED);
        let mate_in_one = parse_board("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1");
        assert!(tactics.value(&mate_in_one, 3, NO_LIMIT).expect("time") >= DECIDED);
    }

    #[test]
    fn tactics_searches_exchanges() {
        let mut tactics = Tactics::default();
        let defended = parse_board("4k3/8/3p4/4p3/8/8/8/K3R3 w - - 0 1");
        let value = tactics.value(&defended, 1, NO_LIMIT).expect("time");
        assert!(value < 450, "the pawn is defended: {value}");
        let hanging = parse_board("4k3/8/8/4p3/8/8/8/K3R3 w - - 0 1");
        assert!(tactics.value(&hanging, 1, NO_LIMIT).expect("time") > 450);
        let start = parse_board("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
        assert_eq!(start.evaluate(), 0);
        let request = Some(Request::new(Square::E2, Square::E4));
        let after = start.after_request(request).expect("no king is captured");
        assert!(after.evaluate() < 0);
    }

    /// Returns the value by plain negamax over the same steps.
    fn negamax(tactics: &mut Tactics, board: &PossibleBoard, depth: u32, ply: usize) -> i32 {
        if depth == 0 {
            tactics.max_boards = u64::MAX;
            return tactics.search_captures(board, -KING_VALUE, KING_VALUE, ply, 0);
        }
        let Some(king) = board.other().king() else { return KING_VALUE - ply as i32 };
        let mut list = Vec::new();
        board.generate_steps(Bitboard::FULL, &mut list);
        if list.iter().any(|step| step.capture == Some(king)) {
            return KING_VALUE - ply as i32 - 1;
        }
        let successors = list.iter().map(|&step| board.after(step)).chain([board.after_pass()]);
        let values = successors.map(|next| -negamax(tactics, &next, depth - 1, ply + 1));
        values.max().expect("a pass")
    }

    #[test]
    fn tactics_windows_do_not_change_values() {
        let mut tactics = Tactics::default();
        for fen in [
            "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
            "8/P6k/8/8/8/8/p6K/8 b - - 0 1",
        ] {
            let board = parse_board(fen);
            for depth in [1, 2, 2] {
                let expected = negamax(&mut Tactics::default(), &board, depth, 0);
                assert_eq!(tactics.value(&board, depth, NO_LIMIT), Some(expected), "{fen}");
            }
        }
    }

    #[test]
    fn tactics_stops_at_deadline() {
        let fen = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
        let board = parse_board(fen);
        let mut tactics = Tactics::default();
        assert_eq!(tactics.value(&board, 60, SearchLimit::Time(Instant::now())), None);
        // The next search is not stopped.
        assert!(tactics.value(&board, 2, NO_LIMIT).is_some());
    }

    #[test]
    fn tactics_stops_in_captures() {
        // There are too many captures to search all.
        let fen = "kPpb2r1/r2Q1qQK/q1pRBN1N/1rB1NP2/1b2p1RN/1B2P1rB/1B1Qr1b1/4Q2r b - - 0 1";
        let board = parse_board(fen);
        let mut tactics = Tactics::default();
        let over = SearchLimit::Time(Instant::now());
        assert_eq!(tactics.value(&board, 0, over), None);
        assert_eq!(tactics.value(&board, 1, over), None);
        for boards in [1, 2, 1000] {
            let before = tactics.boards;
            assert!(tactics.value(&board, 1, SearchLimit::Boards(boards)).is_some());
            // Each ply may count one more board before it ends.
            assert!(tactics.boards - before <= boards + 20, "{boards}");
        }
    }
}
