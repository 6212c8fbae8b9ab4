//! The rules of reconnaissance blind chess (RBC), as the reference program reconchess 1.6.9 plays it.
//!
//! Neither side sees the pieces of the other. In a turn a player learns where one of its pieces was
//! captured, senses nine squares and requests a move. The referee resolves the request: sliders and
//! double steps stop at the first piece in their way, and an impossible move becomes a pass. There is no
//! check; the player that captures the king wins.
//!
//! Two types separate the true position from what a player knows. [`Truth`] is the board of the referee.
//! It is not a `Position`, and no player may look at it. A player knows its own pieces and a set of
//! boards, each of which is an [`Army`] that the opponent may have.

mod army;
mod request;
mod steps;
mod truth;

pub use army::Army;
pub use request::{ParseRequestError, Request, Taken};
pub use steps::{RbcStep, attackers, generate_steps};
pub use truth::{
    End, NotRequestable, Played, RbcClocks, Sensed, Truth, WinReason, board_fen, sense_window,
};
