//! What a player is told by a network that sees both sides.

use std::fmt::Debug;
use std::sync::Arc;

use parking_lot::FairMutex;

use crate::rules::blind::Request;

/// The requests of a board's mover, each with its probability.
pub type Likely = Vec<(Request, f32)>;

/// Tells what is likely to be played, and what is best, on boards that may be.
pub trait Network: Debug + Send {
    /// What the mover is likely to play on each of the boards, which are FENs.
    ///
    /// # Errors
    /// In words, if it cannot tell.
    fn ask(&mut self, boards: &[String]) -> Result<Vec<Likely>, String>;

    /// What is best for the mover on a board, which is a FEN, by so many simulations of a tree search;
    /// `None` if there is nothing to request.
    ///
    /// # Errors
    /// In words, if it cannot tell.
    fn best(&mut self, board: &str, simulations: u32) -> Result<Option<Request>, String>;
}

/// One that several players ask, in turns: whoever waits is next.
pub type SharedNetwork = Arc<FairMutex<dyn Network>>;
