//! The events of a search, as the page receives them.

use std::cmp::Reverse;
use std::sync::Arc;

use menagerie::engine::{Event, Score, SearchInfo, SearchResult, Sink, Wdl};
use menagerie::rules::{Position, Side};
use menagerie::search::RootMove;
use serde::Serialize;
use serde_json::Number;
use tokio::sync::mpsc::Sender;

use crate::limits::{MAX_ROOT_MOVES, MAX_SAN_TURNS, RESERVED_REPLIES};
use crate::messages::message;
use crate::notation::turn_san;

/// The maximum of a score that is not proven.
const MAX_CENTIPAWNS: f32 = 12_780.0;

/// A report of one line.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct InfoBody {
    /// The rank among the lines, from 1.
    rank: usize,
    depth: usize,
    seldepth: usize,
    /// For the side to move.
    score: ScoreBody,
    /// Win, draw and loss of the side to move, in permille.
    wdl: [u32; 3],
    /// The expected score of each side, from -1 to 1.
    values: Vec<f32>,
    nodes: u64,
    /// Nodes per second.
    nps: u64,
    /// Milliseconds.
    time: u64,
    /// The used memory of the tree, in permille.
    hashfull: usize,
    pv: Vec<String>,
    /// The first turns of `pv` in algebraic notation.
    pv_san: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum ScoreBody {
    Cp(i32),
    /// A win in this number of turns, or a loss if it is negative. Zero is a loss now.
    Mate(i64),
}

#[derive(Debug, Serialize)]
struct MovesBody {
    moves: Vec<MoveBody>,
}

/// A root move: the first ply of a turn.
#[derive(Debug, Serialize)]
struct MoveBody {
    #[serde(rename = "move")]
    text: String,
    visits: u32,
    /// The part of the visits of all root moves.
    share: f32,
    /// The expected score of the side to move, from -1 to 1.
    value: f32,
    /// The policy of the network.
    prior: f32,
}

#[derive(Debug, Serialize)]
struct NoteBody {
    text: String,
}

#[derive(Debug, Serialize)]
struct BestBody {
    #[serde(rename = "move")]
    turn: Option<String>,
    ponder: Option<String>,
}

/// Returns the receiver of the events of the search `id` at `root`. It writes them to `replies`, and leaves
/// reports out while the client is slow.
pub(crate) fn search_sink(id: Number, root: Position, replies: Sender<String>) -> Sink {
    Arc::new(move |event| {
        let is_slow = replies.capacity() < RESERVED_REPLIES;
        match event {
            Event::Best(result) => {
                // The last event must arrive, so that this waits. It fails if the client has left.
                let moves = message("moves", &id, moves_body(result.mover, &result.root_moves));
                let _ = replies.blocking_send(moves);
                let _ = replies.blocking_send(message("bestmove", &id, best_body(result)));
            }
            Event::Note(text) => {
                let _ = replies.try_send(note(&id, text));
            }
            Event::SearchInfo(info) if !is_slow => {
                let _ = replies.try_send(message("info", &id, info_body(&root, info)));
            }
            Event::RootMoves { mover, moves } if !is_slow => {
                let _ = replies.try_send(message("moves", &id, moves_body(mover, &moves)));
            }
            _ => {}
        }
    })
}

/// Returns a message for the user.
pub(crate) fn note(id: &Number, text: String) -> String {
    message("note", id, NoteBody { text })
}

fn best_body(result: SearchResult) -> BestBody {
    BestBody { turn: result.turn, ponder: result.reply }
}

fn info_body(root: &Position, info: SearchInfo) -> InfoBody {
    InfoBody {
        rank: info.rank,
        depth: info.depth,
        seldepth: info.seldepth,
        score: score_body(info.score),
        wdl: Wdl::permille(info.wdl),
        values: Side::all(info.sides).map(|side| info.values[side]).collect(),
        nodes: info.nodes,
        nps: info.nps(),
        time: info.time.as_millis() as u64,
        hashfull: info.hashfull,
        pv_san: line_sans(root, &info.pv),
        pv: info.pv,
    }
}

/// Returns the score in centipawns, as in UCI: 90 tan(1.5637541897 score).
fn score_body(score: Score) -> ScoreBody {
    match score {
        Score::Expected(score) => {
            let centipawns = 90.0 * (1.563_754_2 * score.clamp(-1.0, 1.0)).tan();
            ScoreBody::Cp(centipawns.clamp(-MAX_CENTIPAWNS, MAX_CENTIPAWNS).round() as i32)
        }
        Score::Won(turns) => ScoreBody::Mate(i64::from(turns)),
        Score::Lost(turns) => ScoreBody::Mate(-i64::from(turns)),
    }
}

fn line_sans(root: &Position, turns: &[String]) -> Vec<String> {
    let mut position = root.clone();
    let mut sans = Vec::new();
    for turn in turns.iter().take(MAX_SAN_TURNS) {
        let Some(plies) = position.parse_turn(turn) else { break };
        sans.push(turn_san(&position, &plies));
        for ply in plies {
            position.play_unchecked(ply);
        }
    }
    sans
}

fn moves_body(mover: Side, root_moves: &[(String, RootMove)]) -> MovesBody {
    let all: u64 = root_moves.iter().map(|(_, choice)| u64::from(choice.visits)).sum();
    let mut moves: Vec<MoveBody> = root_moves
        .iter()
        .map(|(text, choice)| MoveBody {
            text: text.clone(),
            visits: choice.visits,
            share: choice.visits as f32 / all.max(1) as f32,
            value: choice.value[mover],
            prior: choice.prior,
        })
        .collect();
    moves.sort_by_key(|body| Reverse(body.visits));
    moves.truncate(MAX_ROOT_MOVES);
    MovesBody { moves }
}
