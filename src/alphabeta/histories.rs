//! Histories: how well moves did elsewhere in the search, for the order of moves.

use crate::memory::HugePages;
use crate::rules::MoveFacts;
use crate::rules::{Move, PackedMove, Side, Square};

/// The limit of a history value.
const LIMIT: i32 = 8192;
/// Pieces and walls.
const PIECES: usize = 7;
/// Pieces and squares: side, piece, square of arrival.
const PIECE_SQUARES: usize = 2 * PIECES * 64;
/// Packed moves.
const MOVES: usize = 1 << 16;

/// A moved piece and where it arrived, as an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PieceSquare(usize);

impl PieceSquare {
    pub(super) fn new(side: Side, facts: MoveFacts, m: Move) -> PieceSquare {
        let piece = facts.role.map_or(PIECES - 1, |role| role as usize - 1);
        let to = match m {
            Move::Step { to, .. } | Move::Drop { to, .. } | Move::Place(to) | Move::Wall(to) => to,
            Move::Pass => Square::A1,
        };
        PieceSquare((usize::from(side != Side::WHITE) * PIECES + piece) * 64 + usize::from(to))
    }
}

/// Entries of a table of corrections.
const CORRECTIONS: usize = 1 << 14;
/// The limit of a correction.
const CORRECTION_LIMIT: i32 = 1024;
/// The weights of corrections by pawns, by the pieces of either side, and by the move before, of 512.
const CORRECTION_WEIGHTS: [i32; 4] = [50, 38, 38, 38];

/// What the corrections of the static evaluation of a position go by.
#[derive(Clone, Copy, Debug)]
pub(super) struct CorrectionKeys {
    pub(super) side: Side,
    /// Of [`Position::structure_keys`](crate::rules::Position::structure_keys).
    pub(super) structure: [u64; 3],
    /// The move before.
    pub(super) before: Option<PieceSquare>,
}

impl CorrectionKeys {
    fn indices(self) -> [usize; 4] {
        let [pawns, white, black] =
            self.structure.map(|key| (key >> (u64::BITS - CORRECTIONS.ilog2())) as usize);
        let before = self.before.map_or(PIECE_SQUARES, |before| before.0);
        let parts = [pawns, white, black, before];
        let first = usize::from(self.side != Side::WHITE) * parts.len();
        std::array::from_fn(|nth| (first + nth) * CORRECTIONS + parts[nth])
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
    continuation: HugePages<i16>,
    /// The quiet refutation of each move.
    counter: Vec<PackedMove>,
    /// How much searches found more than the static evaluation, by side and what [`CorrectionKeys`] says.
    correction: Vec<i16>,
}

impl Histories {
    pub(super) fn new() -> Histories {
        Histories {
            quiet: vec![0; 2 * MOVES],
            capture: vec![0; MOVES],
            continuation: HugePages::copy_of(&vec![0; PIECE_SQUARES * PIECE_SQUARES]),
            counter: vec![PackedMove::default(); MOVES],
            correction: vec![0; 2 * CORRECTION_WEIGHTS.len() * CORRECTIONS],
        }
    }

    /// Begins another search, for which what moves did by themselves counts less. The answers to moves and the
    /// corrections of evaluations are kept.
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

    /// Returns what is to be added to a static evaluation.
    pub(super) fn correction(&self, keys: CorrectionKeys) -> i32 {
        let values = keys.indices().map(|index| i32::from(self.correction[index]));
        let weighted = values.iter().zip(CORRECTION_WEIGHTS).map(|(value, weight)| value * weight);
        weighted.sum::<i32>() / 512
    }

    /// Learns by how much a search of `depth` plies found more than the static evaluation.
    pub(super) fn add_correction(&mut self, keys: CorrectionKeys, difference: i32, depth: i32) {
        let bonus = (difference * depth / 8).clamp(-CORRECTION_LIMIT / 4, CORRECTION_LIMIT / 4);
        for index in keys.indices() {
            add(&mut self.correction[index], bonus, CORRECTION_LIMIT);
        }
    }

    /// Returns the quiet move that last refuted a move.
    pub(super) fn counter(&self, before: PackedMove) -> PackedMove {
        self.counter[usize::from(before.0)]
    }

    pub(super) fn set_counter(&mut self, before: PackedMove, m: PackedMove) {
        self.counter[usize::from(before.0)] = m;
    }

    /// Adds to the value of a quiet move by itself.
    pub(super) fn add_quiet_alone(&mut self, side: Side, m: PackedMove, bonus: i32) {
        add(&mut self.quiet[Histories::quiet_index(side, m)], bonus, LIMIT);
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
        self.add_quiet_alone(side, m, bonus);
        if let Some(before) = before {
            add(&mut self.continuation[before.0 * PIECE_SQUARES + piece.0], bonus, LIMIT);
        }
    }

    /// Adds to the value of a capture.
    pub(super) fn add_capture(&mut self, m: PackedMove, bonus: i32) {
        add(&mut self.capture[usize::from(m.0)], bonus, LIMIT);
    }
}

/// Adds a bonus, less the nearer the value is to its limit.
fn add(value: &mut i16, bonus: i32, limit: i32) {
    let old = i32::from(*value);
    *value = (old + bonus - old * bonus.abs() / limit).clamp(-limit, limit) as i16;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrections_tend_to_the_difference() {
        let mut histories = Histories::new();
        let before = Some(PieceSquare(PIECE_SQUARES - 1));
        let keys = CorrectionKeys { side: Side::BLACK, structure: [u64::MAX, 0, 1], before };
        for _ in 0..200 {
            let difference = 60 - histories.correction(keys);
            histories.add_correction(keys, difference, 8);
        }
        assert!((50..=60).contains(&histories.correction(keys)), "{}", histories.correction(keys));
        let other = CorrectionKeys { side: Side::WHITE, ..keys };
        assert_eq!(histories.correction(other), 0);
        for _ in 0..200 {
            histories.add_correction(keys, 3000, 8);
        }
        assert_eq!(histories.correction(keys), 1024 * CORRECTION_WEIGHTS.iter().sum::<i32>() / 512);
    }

    #[test]
    fn values_stay_within_the_limit() {
        let mut value = 0;
        for _ in 0..1000 {
            add(&mut value, 1600, LIMIT);
        }
        assert!(i32::from(value) <= LIMIT && i32::from(value) > LIMIT / 2);
        for _ in 0..1000 {
            add(&mut value, -1600, LIMIT);
        }
        assert!(i32::from(value) >= -LIMIT && i32::from(value) < -LIMIT / 2);
    }
}
