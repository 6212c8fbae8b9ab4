//! The choice of A. Krishnakumar and G. Gutow's agent: a vote of boards.

use std::time::Instant;

use super::imagined::Imagined;
use super::network::SharedNetwork;
use crate::rules::blind::{Request, board_fen};

/// The request that is best on most of the boards, each of them counted once, by so many simulations on
/// each with a network that sees both sides; on as many boards as there is time for. `None` if nothing was
/// found on any.
///
/// # Errors
/// In words, if the network fails.
pub(super) fn vote(
    network: &SharedNetwork,
    boards: &[Imagined],
    simulations: u32,
    until: Instant,
) -> Result<Option<Request>, String> {
    // In the order in which they were first voted for, which decides between equals.
    let mut votes: Vec<(Request, u32)> = Vec::new();
    for (nth, board) in boards.iter().enumerate() {
        // Others may ask it meanwhile, and time passes until it is free.
        let mut network = network.lock();
        if nth > 0 && Instant::now() >= until {
            break;
        }
        let fen = board_fen(&board.armies, board.turn, 0, 1);
        let Some(request) = network.best(&fen, simulations)? else { continue };
        match votes.iter_mut().find(|(known, _)| *known == request) {
            Some((_, count)) => *count += 1,
            None => votes.push((request, 1)),
        }
    }
    let most = votes.iter().map(|&(_, count)| count).max();
    Ok(votes.into_iter().find(|&(_, count)| Some(count) == most).map(|(request, _)| request))
}
