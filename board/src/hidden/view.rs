//! What a client may know of its game.

use std::collections::BTreeMap;

use menagerie::rules::rbc::{Request, WinReason};
use menagerie::rules::{Color, Square};
use serde::Serialize;

use super::game::{HiddenGame, Phase, TurnRecord};

/// The view of a side. Until the game is over it contains what the side has learned, and nothing else.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct HiddenView {
    /// `sense`, `move`, `wait` or `over`.
    phase: &'static str,
    color: &'static str,
    /// The own pieces, and those of the opponent where they were seen last.
    pieces: BTreeMap<String, char>,
    /// For each square that was sensed, the number of own turns since then.
    seen: BTreeMap<String, u32>,
    /// The moves that may be requested, without the pass.
    requests: Vec<String>,
    log: Vec<LogEntry>,
    /// The milliseconds left of White and Black; empty without clocks.
    clock: Vec<i64>,
    outcome: Option<HiddenOutcome>,
    /// After the end.
    truth: Option<TruthBody>,
}

/// A turn. Until the game is over, of the opponent's turns only `captured` is known.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct LogEntry {
    color: &'static str,
    sense: Option<String>,
    /// The move that was requested; `null` is a pass.
    request: Option<String>,
    /// The move that was made.
    taken: Option<String>,
    /// The square of the captured piece.
    captured: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct HiddenOutcome {
    /// The index of the side that wins.
    winner: Option<usize>,
    reason: &'static str,
    text: String,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct TruthBody {
    /// The position before each turn of `log`, and after the last.
    fens: Vec<String>,
}

impl HiddenGame {
    /// Returns the view of the client.
    pub(super) fn view(&mut self) -> HiddenView {
        self.check_clock();
        let is_over = self.is_over();
        let phase = self.phase();
        HiddenView {
            phase: phase_name(phase),
            color: color_name(self.color),
            pieces: self.known_pieces(),
            seen: self
                .seen
                .iter()
                .map(|(square, sighting)| {
                    (square.to_string(), self.turn.saturating_sub(sighting.turn))
                })
                .collect(),
            requests: if phase == Phase::Move { self.requests() } else { Vec::new() },
            log: self.turns.iter().map(|turn| self.log_entry(turn, is_over)).collect(),
            clock: Color::ALL.into_iter().filter_map(|color| self.time_left(color)).collect(),
            outcome: self.outcome(),
            truth: if is_over { Some(TruthBody { fens: self.fens.clone() }) } else { None },
        }
    }

    /// Returns the own pieces, and those of the opponent where they were seen last.
    fn known_pieces(&self) -> BTreeMap<String, char> {
        let mut pieces = BTreeMap::new();
        for (square, sighting) in &self.seen {
            if let Some(piece) = sighting.piece
                && piece.color != self.color
            {
                pieces.insert(square.to_string(), piece.char());
            }
        }
        let army = self.truth.army(self.color);
        for square in army.occupied() {
            if let Some(role) = army.role_at(square) {
                pieces.insert(square.to_string(), role.of(self.color).char());
            }
        }
        pieces
    }

    /// Returns the requests of the client, which depend on its own pieces only.
    fn requests(&self) -> Vec<String> {
        let requests = self.truth.army(self.color).requests(self.color);
        requests.iter().map(Request::to_string).collect()
    }

    fn log_entry(&self, turn: &TurnRecord, is_over: bool) -> LogEntry {
        let is_known = is_over || turn.color == self.color;
        let request_text = |request: Option<Request>| {
            if is_known { request.map(|request| request.to_string()) } else { None }
        };
        LogEntry {
            color: color_name(turn.color),
            sense: if is_known { turn.sense.map(|square| square.to_string()) } else { None },
            request: request_text(turn.played.requested),
            taken: request_text(turn.played.taken),
            captured: turn.played.capture.map(|square: Square| square.to_string()),
        }
    }

    fn outcome(&self) -> Option<HiddenOutcome> {
        let end = self.truth.end()?;
        let result = end.winner.map_or("1/2-1/2", |winner| winner.fold_wb("1-0", "0-1"));
        let reason = reason_text(end.reason);
        Some(HiddenOutcome {
            winner: end.winner.map(|winner| winner.fold_wb(0, 1)),
            reason,
            text: format!("{result} {reason}"),
        })
    }
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Sense => "sense",
        Phase::Move => "move",
        Phase::Wait => "wait",
        Phase::Over => "over",
    }
}

fn color_name(color: Color) -> &'static str {
    color.fold_wb("white", "black")
}

fn reason_text(reason: WinReason) -> &'static str {
    match reason {
        WinReason::KingCapture => "king captured",
        WinReason::Timeout => "time",
        WinReason::Resign => "resignation",
        WinReason::TurnLimit => "turn limit",
        WinReason::MoveLimit => "50move",
    }
}
