//! The four clocks, as data of a position: who has more time may wait.

use shakmaty::{ByColor, Color};

use crate::rules::Table;

/// The time left at each seat in milliseconds, by table and colour. All are 0 where nobody knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Clocks(pub [ByColor<u32>; 2]);

/// Who has no more than this more than another, in milliseconds, cannot be sure to have more.
const LEVEL: i64 = 1000;
/// A ply in the tree takes its mover this part of its time: about what is left of a game.
const PLIES_LEFT: u32 = 64;

/// How two clocks compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lead {
    /// More time by so much that it counts.
    Ahead,
    /// As much, as far as can be told.
    Level,
    /// Less time.
    Behind,
}

impl Clocks {
    /// Whether nobody knows them.
    pub fn unknown(&self) -> bool {
        *self == Clocks::default()
    }

    /// The time left at a seat.
    pub fn at(&self, table: Table, color: Color) -> u32 {
        self.0[table as usize][color]
    }

    fn at_mut(&mut self, table: Table, color: Color) -> &mut u32 {
        &mut self.0[table as usize][color]
    }

    /// How much more time the seat of `color` at `table` has than the one of the same colour at
    /// the other table. These two are opponents, and each waits for the other if both sit.
    pub(super) fn lead(&self, table: Table, color: Color) -> i64 {
        i64::from(self.at(table, color)) - i64::from(self.at(table.other(), color))
    }

    /// [`Clocks::lead`], as far as it counts.
    pub(super) fn compare(&self, table: Table, color: Color) -> Lead {
        match self.lead(table, color) {
            lead if lead > LEVEL => Lead::Ahead,
            lead if lead < -LEVEL => Lead::Behind,
            _ => Lead::Level,
        }
    }

    /// Lets time pass for a ply of `mover` at `table`, while `waiting` is on turn at the other.
    pub(super) fn run(&mut self, table: Table, mover: Color, waiting: Option<Color>) {
        let taken = self.at(table, mover) / PLIES_LEFT;
        let mut pass = |table, color| {
            let left = self.at_mut(table, color);
            *left = left.saturating_sub(taken);
        };
        pass(table, mover);
        if let Some(color) = waiting {
            pass(table.other(), color);
        }
    }
}
