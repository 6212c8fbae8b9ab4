//! Histories: how well moves did elsewhere in the search, for the order of moves.

use crate::rules::{Move, PackedMove, Side, Square};
use crate::rules::{MoveFacts, Role};

/// The limit of a history value.
const LIMIT: i32 = 8192;
/// Pieces and squares: side, role, square of arrival.
const PIECE_SQUARES: usize = 2 * 6 * 64;
/// Packed moves.
const MOVES: usize = 1 << 16;

/// A moved piece and where it arrived, as an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PieceSquare(usize);

impl PieceSquare {
    pub(super) fn new(side: Side, facts: MoveFacts, m: Move) -> PieceSquare {
        let role = facts.role.unwrap_or(Role::Pawn) as usize - 1;
        let to = match m {
            Move::Step { to, .. } | Move::Drop { to, .. } | Move::Place(to) | Move::Wall(to) => to,
            Move::Pass => Square::A1,
        };
        PieceSquare((usize::from(side != Side::WHITE) * 6 + role) * 64 + usize::from(to))
    }
}

/// The histories of one thread.
#[derive(Debug)]
pub(super) struct Histories {
    /// Quiet moves, by side and move.
    quiet: Vec<i16>,
    /// Captures, by move.
    capture: Vec<i16>,
    /// Quiet moves, by the move before and by piece and square.
    continuation: Vec<i16>,
    /// The quiet refutation of each move.
    counter: Vec<PackedMove>,
}

impl Histories {
    pub(super) fn new() -> Histories {
        Histories {
            quiet: vec![0; 2 * MOVES],
            capture: vec![0; MOVES],
            continuation: vec![0; PIECE_SQUARES * PIECE_SQUARES],
            counter: vec![PackedMove::default(); MOVES],
        }
    }

    /// Begins another search, for which the values count less.
    pub(super) fn age(&mut self) {
        for value in self.quiet.iter_mut().chain(&mut self.capture) {
            *value /= 2;
        }
    }

    fn quiet_index(side: Side, m: PackedMove) -> usize {
        usize::from(side != Side::WHITE) * MOVES + usize::from(m.0)
    }

    /// Returns the value of a quiet move by itself.
    pub(super) fn quiet(&self, side: Side, m: PackedMove) -> i32 {
        self.quiet[Histories::quiet_index(side, m)].into()
    }

    /// Returns the value of a quiet move after another one.
    pub(super) fn continuation(&self, before: Option<PieceSquare>, piece: PieceSquare) -> i32 {
        let value = |before: PieceSquare| self.continuation[before.0 * PIECE_SQUARES + piece.0];
        before.map_or(0, value).into()
    }

    /// Returns the value of a capture.
    pub(super) fn capture(&self, m: PackedMove) -> i32 {
        self.capture[usize::from(m.0)].into()
    }

    /// Returns the quiet move that last refuted a move.
    pub(super) fn counter(&self, before: PackedMove) -> PackedMove {
        self.counter[usize::from(before.0)]
    }

    pub(super) fn set_counter(&mut self, before: PackedMove, m: PackedMove) {
        self.counter[usize::from(before.0)] = m;
    }

    /// Adds to the value of a quiet move, also after the move before it.
    pub(super) fn add_quiet(
        &mut self,
        side: Side,
        m: PackedMove,
        before: Option<PieceSquare>,
        piece: PieceSquare,
        bonus: i32,
    ) {
        add(&mut self.quiet[Histories::quiet_index(side, m)], bonus);
        if let Some(before) = before {
            add(&mut self.continuation[before.0 * PIECE_SQUARES + piece.0], bonus);
        }
    }

    /// Adds to the value of a capture.
    pub(super) fn add_capture(&mut self, m: PackedMove, bonus: i32) {
        add(&mut self.capture[usize::from(m.0)], bonus);
    }
}

/// Adds a bonus, less the nearer the value is to its limit.
fn add(value: &mut i16, bonus: i32) {
    let old = i32::from(*value);
    *value = (old + bonus - old * bonus.abs() / LIMIT).clamp(-LIMIT, LIMIT) as i16;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_within_the_limit() {
        let mut value = 0;
        for _ in 0..1000 {
            add(&mut value, 1600);
        }
        assert!(i32::from(value) <= LIMIT && i32::from(value) > LIMIT / 2);
        for _ in 0..1000 {
            add(&mut value, -1600);
        }
        assert!(i32::from(value) >= -LIMIT && i32::from(value) < -LIMIT / 2);
    }
}
