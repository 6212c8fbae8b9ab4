//! A network that sees both sides of a board, and the vote of boards by its simulations.

use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::FairMutex;

use super::tactics::PossibleBoard;
use crate::rules::FenError;
use crate::rules::rbc::{Request, board_fen};

/// The requests on a board with their probabilities.
pub type RequestPolicy = Vec<(Request, f32)>;

/// Predicts and searches boards whose pieces are all visible.
pub trait PolicyNetwork: Debug + Send {
    /// Returns the policy of the side to move on each of the boards, which are FENs.
    ///
    /// # Errors
    /// `PolicyNetworkError` if a board is not valid or cannot be evaluated.
    fn predict(&mut self, fens: &[String]) -> Result<Vec<RequestPolicy>, PolicyNetworkError>;

    /// Returns a search that scores boards by alpha-beta, or `None` if there is no network for it.
    fn scorer(&self) -> Option<Box<dyn BoardScorer>>;

    /// Returns the best request of the side to move after a tree search of `simulations` visits, or `None` if
    /// there is no move.
    ///
    /// # Errors
    /// `PolicyNetworkError` if the board is not valid or cannot be evaluated.
    fn search(
        &mut self,
        fen: &str,
        simulations: u32,
    ) -> Result<Option<Request>, PolicyNetworkError>;
}

/// Scores boards whose pieces are all visible, one at a time. Each thread has its own.
pub trait BoardScorer: Debug + Send {
    /// Returns the expected score, from 0 to 1, of the side to move after a search of about `nodes` nodes, or `None` if
    /// `deadline` passes before. Only a captured king is worth 0 or 1.
    ///
    /// # Errors
    /// `PolicyNetworkError` if the board is not valid or cannot be evaluated.
    fn score(
        &mut self,
        fen: &str,
        nodes: u64,
        deadline: Instant,
    ) -> Result<Option<f32>, PolicyNetworkError>;
}

/// Why a network has no result for a board.
#[derive(Debug, thiserror::Error)]
pub enum PolicyNetworkError {
    /// The board is not a position.
    #[error("\"{fen}\": {error}")]
    Fen {
        /// The board.
        fen: String,
        /// What is wrong with it.
        error: FenError,
    },
    /// The evaluation failed.
    #[error(transparent)]
    Evaluation(Box<dyn Error + Send + Sync>),
}

/// A network that several players use in turn.
pub type SharedNetwork = Arc<FairMutex<dyn PolicyNetwork>>;

/// Returns the request that is best on most boards after `simulations` visits on each, the choice of the
/// agent of A. Krishnakumar and G. Gutow. Boards for which there is no time are left out, but not the first.
/// Of equal requests the one that occurred first is returned; `None` if there is no move on any board.
///
/// # Errors
/// `PolicyNetworkError` of the network.
pub(super) fn vote_by_simulations(
    network: &SharedNetwork,
    boards: &[PossibleBoard],
    simulations: u32,
    deadline: Instant,
) -> Result<Option<Request>, PolicyNetworkError> {
    let mut votes: Vec<(Request, u32)> = Vec::new();
    for (index, board) in boards.iter().enumerate() {
        // The time is read after waiting for the other players.
        let mut network = network.lock();
        if index > 0 && Instant::now() >= deadline {
            break;
        }
        let fen = board_fen(&board.armies, board.turn, 0, 1);
        let Some(request) = network.search(&fen, simulations)? else { continue };
        match votes.iter_mut().find(|(known, _)| *known == request) {
            Some((_, count)) => *count += 1,
            None => votes.push((request, 1)),
        }
    }
    let most = votes.iter().map(|&(_, count)| count).max();
    Ok(votes.into_iter().find(|&(_, count)| Some(count) == most).map(|(request, _)| request))
}
