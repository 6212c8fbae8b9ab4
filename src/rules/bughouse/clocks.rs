//! The four clocks, as a part of the position: a player with more time may sit.

use shakmaty::{ByColor, Color};

use crate::rules::BoardId;

/// The remaining time of each player in milliseconds, by board and color. All are 0 if unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Clocks(pub [ByColor<u32>; 2]);

/// Clocks that differ by no more than this count as equal.
const CLOCK_MARGIN_MS: i64 = 1000;
/// In a search, a ply takes the remaining time of the player divided by this: roughly the number of
/// plies left in a game.
const PLIES_LEFT: u32 = 64;

/// How two clocks compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lead {
    /// Significantly more time.
    Ahead,
    /// About the same time, or unknown clocks.
    Level,
    /// Significantly less time.
    Behind,
}

impl Clocks {
    /// Returns `true` if the clocks are unknown.
    pub fn unknown(&self) -> bool {
        *self == Clocks::default()
    }

    /// Returns the remaining time of a player in milliseconds.
    pub fn at(&self, board: BoardId, color: Color) -> u32 {
        self.0[board as usize][color]
    }

    /// Returns the time of the player of `color` at `board` minus that of the player of the same color
    /// at the other board, in milliseconds. The two are opponents, and wait for each other if both sit.
    pub(super) fn lead(&self, board: BoardId, color: Color) -> i64 {
        i64::from(self.at(board, color)) - i64::from(self.at(board.other(), color))
    }

    /// Compares the two clocks of [`Clocks::lead`].
    pub(super) fn compare(&self, board: BoardId, color: Color) -> Lead {
        match self.lead(board, color) {
            lead if lead > CLOCK_MARGIN_MS => Lead::Ahead,
            lead if lead < -CLOCK_MARGIN_MS => Lead::Behind,
            _ => Lead::Level,
        }
    }

    /// Takes the time of a ply of `mover` at `board`, and the same time from the player `waiting` who
    /// is on turn at the other board.
    pub(super) fn run(&mut self, board: BoardId, mover: Color, waiting: Option<Color>) {
        let taken = self.at(board, mover) / PLIES_LEFT;
        self.subtract(board, mover, taken);
        if let Some(color) = waiting {
            self.subtract(board.other(), color, taken);
        }
    }

    fn subtract(&mut self, board: BoardId, color: Color, time: u32) {
        let left = &mut self.0[board as usize][color];
        *left = left.saturating_sub(time);
    }
}
