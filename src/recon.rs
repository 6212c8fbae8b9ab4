//! A player of reconnaissance blind chess: it keeps a [`Belief`], looks where that tells most, and
//! asks for what is best over the boards that may be.
//!
//! A board that may be is searched as if both sides saw it; what blind play adds is above: hard rules
//! about kings, values over many boards, and that the other side may not have noticed. docs/rbc.md
//! tells how it thinks.
//!
//! [`Belief`]: crate::belief::Belief

mod choice;
mod imagined;
mod network;
mod player;
mod sample;
mod tactics;
mod vote;

pub use choice::Combination;
pub use network::{Likely, Network, SharedNetwork};
pub use player::{Player, Preset, Settings, Weighing};
