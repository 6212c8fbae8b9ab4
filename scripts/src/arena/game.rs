//! One game of a match, from its opening to its end.

use std::sync::atomic::{AtomicBool, Ordering};

use menagerie::rules::{Move, Position, Side};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::player::{Fault, NoTurn, Player, Situation};

/// A game that has been played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// Its number in the match, from 0.
    pub number: u64,
    /// For each side the entry of the configuration that had it.
    pub seats: Vec<usize>,
    /// What each side got: 1, 0 or -1. A side that loses by its own fault leaves the others with 1
    /// if there is one of them, else with 0.
    pub scores: Vec<i8>,
    /// Why it ended: the rules' reason, or `illegal move`, `crash`, `time`, `resignation`, or `length`
    /// if it was drawn because it was long.
    pub end: String,
    /// More of that, in words; may be empty.
    pub detail: String,
    /// The FEN of the opening.
    pub start: String,
    /// The turns since then, as UCI writes them.
    pub turns: Vec<String>,
    /// The milliseconds that the mover had left after each, in games by real clocks at two tables.
    pub left: Vec<u64>,
}

/// A result as PGN writes it; `*` where more than two play and somebody lost.
pub fn result(scores: &[i8]) -> &'static str {
    match scores {
        [1, -1] => "1-0",
        [-1, 1] => "0-1",
        _ if scores.iter().all(|&score| score == 0) => "1/2-1/2",
        _ => "*",
    }
}

/// The chance of player `side` in a game of that number; openings have the numbers below.
fn chance(seed: u64, number: u64, side: Side) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(1 << 63 | number << 2 | side.index() as u64);
    rng
}

/// Plays game `number` from `start`. `players` are all entries of the match, of which `seats` tells
/// who has which side. A game that is not over after `longest` turns is drawn. `None` if it was broken
/// off by `stop`.
///
/// # Errors
/// If the match cannot go on: a player of this process fails, or one outside cannot be started.
pub fn play(
    players: &mut [Box<dyn Player>],
    seats: &[usize],
    start: &Position,
    number: u64,
    seed: u64,
    longest: Option<u64>,
    stop: &AtomicBool,
) -> anyhow::Result<Option<Played>> {
    for side in Side::all(seats.len()) {
        players[seats[side.index()]].begin(start, chance(seed, number, side))?;
    }
    let mut position = start.clone();
    let (mut turns, mut plies): (Vec<String>, Vec<Vec<Move>>) = Default::default();
    let (scores, end, detail) = loop {
        if let Some(outcome) = position.result() {
            let scores: Vec<i8> = Side::all(seats.len()).map(|side| outcome.score(side)).collect();
            break (scores, outcome.reason.to_string(), String::new());
        }
        if longest.is_some_and(|longest| turns.len() as u64 >= longest) {
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
            Ok(turn) => match after(&position, &turn) {
                Some(next) => {
                    turns.push(position.turn_text(&turn));
                    plies.push(turn);
                    position = next;
                    continue;
                }
                None => Fault::Illegal(format!("{turn:?}")),
            },
            Err(NoTurn::Fault(fault)) => fault,
            Err(NoTurn::Fatal(error)) => return Err(error),
        };
        let (end, detail) = words(&fault, &position);
        // Who else is there wins if alone; else nobody does.
        let others = i8::from(seats.len() == 2);
        let scores: Vec<i8> =
            Side::all(seats.len()).map(|side| if side == mover { -1 } else { others }).collect();
        break (scores, end, detail);
    };
    for &seat in seats {
        players[seat].end(result(&scores), &end);
    }
    let (seats, start) = (seats.to_vec(), start.fen());
    let left = Vec::new();
    Ok(Some(Played { number, seats, scores, end, detail, start, turns, left }))
}

/// The position after a whole turn, if it is a legal one.
fn after(position: &Position, turn: &[Move]) -> Option<Position> {
    let mut next = position.clone();
    let legal = !turn.is_empty() && turn.iter().all(|&m| next.play(m));
    (legal && (!next.mid_turn() || next.outcome().is_some())).then_some(next)
}

fn words(fault: &Fault, position: &Position) -> (String, String) {
    let fen = position.fen();
    let (end, detail) = match fault {
        Fault::Illegal(text) => ("illegal move", format!("\"{text}\" in {fen}")),
        Fault::Broken(text) => ("crash", format!("{text} in {fen}")),
        Fault::Slow(milliseconds) => ("time", format!("{milliseconds} ms in {fen}")),
        Fault::Resigned => ("resignation", format!("in {fen}")),
    };
    // It may quote what a broken engine said: one line it shall be.
    let detail = detail.replace(|letter: char| letter.is_control(), " ");
    (end.to_owned(), detail)
}
