//! One game of a match.

use std::sync::atomic::{AtomicBool, Ordering};

use menagerie::rules::{Move, Position, Side};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::player::{Player, PlayerFault, Situation, TurnError};

/// A finished game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// The number of the game in the match, from 0.
    pub number: u64,
    /// For each side, the index of its player in the configuration.
    pub seats: Vec<usize>,
    /// The score of each side: 1, 0 or -1. If a side loses by its own fault, its only opponent gets 1;
    /// several opponents get 0.
    pub scores: Vec<i8>,
    /// The reason of the end: that of the rules, or `illegal move`, `crash`, `time`, `resignation`, or
    /// `length` for a draw by the maximum number of turns.
    pub end: String,
    /// Details of the end; may be empty.
    pub detail: String,
    /// The FEN of the opening.
    pub start: String,
    /// The turns after the opening, in the notation of UCI.
    pub turns: Vec<String>,
    /// The milliseconds left to the mover after each turn, with its increment, if all players have clocks.
    pub left: Vec<u64>,
}

/// The end of a game in which an engine has failed.
pub(super) const CRASH: &str = "crash";

/// Returns the result in the form of PGN; `*` if one of more than two players lost.
pub fn result(scores: &[i8]) -> &'static str {
    match scores {
        [1, -1] => "1-0",
        [-1, 1] => "0-1",
        _ if scores.iter().all(|&score| score == 0) => "1/2-1/2",
        _ => "*",
    }
}

/// Returns the random numbers of player `side` in game `number`. Openings use the streams below.
fn player_rng(seed: u64, number: u64, side: Side) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(1 << 63 | number << 2 | side.index() as u64);
    rng
}

/// Plays game `number` from `start`. `players` are all players of the match; `seats` has the index of the
/// player of each side. A game is drawn after `max_turns` turns. Returns `None` if `stop` was set before the
/// end.
///
/// # Errors
/// If the match cannot continue: a player of this process fails, or an external engine cannot be started.
pub fn play(
    players: &mut [Box<dyn Player>],
    seats: &[usize],
    start: &Position,
    number: u64,
    seed: u64,
    max_turns: Option<u64>,
    stop: &AtomicBool,
) -> anyhow::Result<Option<Played>> {
    for side in Side::all(seats.len()) {
        players[seats[side.index()]].begin(start, player_rng(seed, number, side))?;
    }
    let mut position = start.clone();
    let mut turns: Vec<String> = Vec::new();
    let mut plies: Vec<Vec<Move>> = Vec::new();
    let mut left = Vec::new();
    let (scores, end, detail) = loop {
        if let Some(outcome) = position.result() {
            let scores: Vec<i8> = Side::all(seats.len()).map(|side| outcome.score(side)).collect();
            break (scores, outcome.reason.to_string(), String::new());
        }
        if max_turns.is_some_and(|max_turns| turns.len() as u64 >= max_turns) {
            break (vec![0; seats.len()], "length".to_owned(), String::new());
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mover = position.turn();
        let clocks: Vec<_> = seats.iter().map(|&seat| players[seat].clock()).collect();
        let player = &mut players[seats[mover.index()]];
        let situation =
            Situation { start, turns: &turns, position: &position, plies: &plies, clocks: &clocks };
        let fault = match player.turn(&situation) {
            Ok(turn) => match play_turn(&position, &turn) {
                Some(next) => {
                    turns.push(position.turn_text(&turn));
                    plies.push(turn);
                    position = next;
                    if clocks.iter().all(Option::is_some) {
                        left.extend(player.clock());
                    }
                    continue;
                }
                None => PlayerFault::IllegalTurn(format!("{turn:?}")),
            },
            Err(TurnError::Fault(fault)) => fault,
            Err(TurnError::Fatal(error)) => return Err(error),
        };
        let (end, detail) = describe(&fault, &position);
        let others = i8::from(seats.len() == 2);
        let scores: Vec<i8> =
            Side::all(seats.len()).map(|side| if side == mover { -1 } else { others }).collect();
        break (scores, end, detail);
    };
    for &seat in seats {
        players[seat].end(result(&scores), &end);
    }
    Ok(Some(Played {
        number,
        seats: seats.to_vec(),
        scores,
        end,
        detail,
        start: start.fen(),
        turns,
        left,
    }))
}

/// Returns the position after a whole turn, or `None` if the turn is not legal.
fn play_turn(position: &Position, turn: &[Move]) -> Option<Position> {
    let mut next = position.clone();
    let legal = !turn.is_empty() && turn.iter().all(|&m| next.play(m));
    (legal && (!next.mid_turn() || next.outcome().is_some())).then_some(next)
}

/// Returns the reason of the end of a game, and its details.
fn describe(fault: &PlayerFault, position: &Position) -> (String, String) {
    let fen = position.fen();
    let (end, detail) = match fault {
        PlayerFault::IllegalTurn(text) => ("illegal move", format!("\"{text}\" in {fen}")),
        PlayerFault::EngineFailure(text) => (CRASH, format!("{text} in {fen}")),
        PlayerFault::Timeout(milliseconds) => ("time", format!("{milliseconds} ms in {fen}")),
        PlayerFault::Resignation => ("resignation", format!("in {fen}")),
    };
    // Text of a broken engine is kept on one line.
    let detail = detail.replace(|letter: char| letter.is_control(), " ");
    (end.to_owned(), detail)
}
