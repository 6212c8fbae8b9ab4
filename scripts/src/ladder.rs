//! A ladder: ever stronger opponents, whose distances are measured, and players that climb it.
//!
//! The rungs are a random player, the library's search without a network, and an engine that nobody
//! here has trained, at ever more nodes and at last with the same time as the players. Each match is
//! one of the [arena](crate::arena) in a folder of its own within the ladder's: so it goes on after
//! a kill, and the next player finds the rungs measured.

use std::path::Path;

mod climb;
pub mod rating;
mod results;
mod standing;

pub use climb::{Ladder, Limits, Rung};
pub use results::{Ascent, Results, Steps};
pub use standing::{Climber, Standings};

/// What a ladder came to, from its folder or from a file of results that was kept of one.
///
/// # Errors
/// If neither is there, or what is there makes no sense.
pub fn results(path: &Path) -> anyhow::Result<Results> {
    if path.is_dir() { Ladder::read(path)?.results(path) } else { Results::read(path) }
}
