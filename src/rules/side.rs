//! Sides: players that share a result. Chess has two sides, Tic-Tac-Mo three; in bughouse a team is a side.

use std::ops::{Index, IndexMut};

/// The maximum number of sides of a game.
pub const MAX_SIDES: usize = 4;

/// One side of a game, numbered from 0 in turn order. In chess 0 is white and 1 is black.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Side(u8);

impl Side {
    /// The side that moves first in chess.
    pub const WHITE: Side = Side(0);
    /// The side that moves second in chess.
    pub const BLACK: Side = Side(1);

    /// Returns the side with number `index`.
    ///
    /// # Panics
    /// Panics if `index` is not below [`MAX_SIDES`]. Sides come from the rules, never from input.
    pub const fn new(index: usize) -> Side {
        assert!(index < MAX_SIDES);
        Side(index as u8)
    }

    /// Returns its number, from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns its letter in games without chess pieces: a, b, c or d.
    pub const fn letter(self) -> char {
        (b'a' + self.0) as char
    }

    /// Returns the sides of a game of `sides` sides, in turn order.
    pub fn all(sides: usize) -> impl Iterator<Item = Side> {
        (0..sides.min(MAX_SIDES)).map(Side::new)
    }

    /// Returns the side `steps` places after this one in the turn order of `sides` sides.
    pub const fn after(self, steps: usize, sides: usize) -> Side {
        Side::new((self.index() + steps) % sides)
    }

    /// Returns the number of places that `self` is after `mover` in the turn order of `sides` sides.
    pub const fn seat_from(self, mover: Side, sides: usize) -> usize {
        (self.index() + sides - mover.index()) % sides
    }
}

impl From<shakmaty::Color> for Side {
    fn from(color: shakmaty::Color) -> Side {
        color.fold_wb(Side::WHITE, Side::BLACK)
    }
}

/// A value for each side, independent of the side to move.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PerSide<T>([T; MAX_SIDES]);

impl<T: Copy> PerSide<T> {
    /// Creates the same value for all sides.
    pub const fn all(value: T) -> PerSide<T> {
        PerSide([value; MAX_SIDES])
    }

    /// Creates the value of each side with a function.
    pub fn from_fn(mut value: impl FnMut(Side) -> T) -> PerSide<T> {
        PerSide(std::array::from_fn(|index| value(Side::new(index))))
    }
}

impl<T> Index<Side> for PerSide<T> {
    type Output = T;

    #[inline]
    fn index(&self, side: Side) -> &T {
        &self.0[side.index()]
    }
}

impl<T> IndexMut<Side> for PerSide<T> {
    #[inline]
    fn index_mut(&mut self, side: Side) -> &mut T {
        &mut self.0[side.index()]
    }
}
