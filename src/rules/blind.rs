//! Reconnaissance blind chess, as the reference program reconchess 1.6.9 plays it.
//!
//! Neither side sees the other's men. A turn is: one is told where a man of one's own was taken,
//! senses nine squares, and requests a move. What is requested becomes what can be: sliders and
//! double steps stop short, what cannot be is nothing. There is no check; who takes the king wins.
//!
//! Two types keep what is so and what is known apart. [`Truth`] is the referee's board: it is no
//! `Position`, and nobody who plays may look at it. What a side knows is a set of boards, each made
//! of its own men, which it knows, and an [`Army`] that the other side may have.

mod army;
mod request;
mod steps;
mod truth;

pub use army::Army;
pub use request::{Request, Taken};
pub use steps::{Step, attackers, steps};
pub use truth::{Clocks, End, NotRequestable, Played, Sensed, Truth, WinReason, board_fen};

use shakmaty::{Bitboard, Square};

/// The squares that are seen if `center` is sensed: three by three, clipped at the edges.
pub fn window(center: Square) -> Bitboard {
    shakmaty::attacks::king_attacks(center).with(center)
}
