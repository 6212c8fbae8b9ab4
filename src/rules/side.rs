//! A side is whoever shares a result: chess has two, Tic-Tac-Mo three, a bughouse team is one.

use std::ops::{Index, IndexMut};

/// The most sides a game may have.
pub const MAX_SIDES: usize = 4;

/// One side of a game, counted from 0 in turn order. In chess 0 is White and 1 is Black.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Side(u8);

impl Side {
    /// The side that moves first in chess.
    pub const WHITE: Side = Side(0);
    /// The side that moves second in chess.
    pub const BLACK: Side = Side(1);

    /// The side numbered `index`, which must be below [`MAX_SIDES`].
    ///
    /// # Panics
    /// If `index` is not below [`MAX_SIDES`]: sides are made by the rules, never from text.
    pub const fn new(index: usize) -> Side {
        assert!(index < MAX_SIDES);
        Side(index as u8)
    }

    /// Its number, from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The letter of its men and its turns, in games without men of their own: a, b, c or d.
    pub const fn letter(self) -> char {
        (b'a' + self.0) as char
    }

    /// All sides of a game of `sides` sides, in turn order.
    pub fn all(sides: usize) -> impl Iterator<Item = Side> {
        (0..sides.min(MAX_SIDES)).map(Side::new)
    }

    /// The side `steps` places after this one in the turn order of `sides` sides.
    pub const fn after(self, steps: usize, sides: usize) -> Side {
        Side::new((self.index() + steps) % sides)
    }

    /// How many places `self` comes after `mover` in the turn order of `sides` sides.
    pub const fn seat_from(self, mover: Side, sides: usize) -> usize {
        (self.index() + sides - mover.index()) % sides
    }
}

impl From<shakmaty::Color> for Side {
    fn from(color: shakmaty::Color) -> Side {
        color.fold_wb(Side::WHITE, Side::BLACK)
    }
}

/// A value for each side, in absolute terms: no sign is ever flipped by whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PerSide<T>([T; MAX_SIDES]);

impl<T: Copy> PerSide<T> {
    /// The same value for all.
    pub const fn all(value: T) -> PerSide<T> {
        PerSide([value; MAX_SIDES])
    }

    /// The value of each side as `value` gives it.
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
