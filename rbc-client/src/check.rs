//! Replays histories and test cases of reconchess, and compares them with our rules.

use std::fs;

use menagerie::rules::rbc::{End, Played, Request, Sensed, Truth, WinReason};
use menagerie::rules::{Color, FenError, Piece};
use serde_json::{Deserializer, Value};

use crate::history::{GameHistory, HistoryError, SideHistory};
use crate::json::{parse_nullable, parse_text, quote};

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CheckReport {
    /// A line for each difference and for each text that cannot be read. The last line has the totals.
    pub lines: Vec<String>,
    /// Whether everything was read and nothing differs.
    pub passed: bool,
}

/// Checks files of reconchess: histories, lines of `{"fen", "actions", "cases"}`, and lists of histories
/// (`[{"file", "moves", "winner", "reason"}]`), which are compared with the games among `files`.
///
/// A case is a requested move, the taken move, the square of the capture, and the FEN after the move.
pub fn check_files(files: &[String]) -> CheckReport {
    let mut checker = Checker::default();
    for file in files {
        match fs::read_to_string(file) {
            Ok(text) => checker.check_text(file, &text),
            Err(error) => checker.add_unreadable(file, error),
        }
    }
    checker.finish()
}

/// Checks one text as [`check_files`] does. `name` is its name in the report.
pub fn check_text(name: &str, text: &str) -> CheckReport {
    let mut checker = Checker::default();
    checker.check_text(name, text);
    checker.finish()
}

/// What was found so far.
#[derive(Default)]
struct Checker {
    games: Vec<GameSummary>,
    moves: usize,
    cases: usize,
    differences: usize,
    unreadable: usize,
    lines: Vec<String>,
    lists: Vec<GameList>,
}

/// A game, for comparison with lists.
struct GameSummary {
    file_name: String,
    moves: usize,
    winner: Option<Color>,
    reason: Option<WinReason>,
}

/// A list of games.
struct GameList {
    file: String,
    entries: Vec<Value>,
}

/// Why a line of cases cannot be read.
#[derive(Debug, thiserror::Error)]
enum CaseError {
    #[error(transparent)]
    Json(#[from] HistoryError),
    #[error("fen: {0}")]
    Fen(#[from] FenError),
}

/// One case of a line of cases.
struct Case {
    requested: Option<Request>,
    taken: Option<String>,
    capture: Option<String>,
    fen_after: Option<String>,
}

/// A turn of a history that is replayed.
struct Turn<'a> {
    place: String,
    color: Color,
    side: &'a SideHistory,
    index: usize,
}

impl Checker {
    fn check_text(&mut self, file: &str, text: &str) {
        let mut values = Deserializer::from_str(text).into_iter::<Value>();
        let mut line = 1;
        let mut end = 0;
        let mut is_empty = true;
        loop {
            // The next value begins after white space.
            let start = text.len() - text[end..].trim_ascii_start().len();
            line += count_lines(&text[end..start]);
            let Some(value) = values.next() else { break };
            is_empty = false;
            match value {
                Ok(Value::Array(entries)) => {
                    self.lists.push(GameList { file: file.to_owned(), entries });
                }
                Ok(value) if value.get("cases").is_some() => {
                    self.check_cases(&format!("{file}: line {line}"), &value);
                }
                Ok(value) => self.check_game(file, &value),
                // No values follow an error, whose message has the line.
                Err(error) => return self.add_unreadable(file, error),
            }
            end = values.byte_offset();
            line += count_lines(&text[start..end]);
        }
        if is_empty {
            self.add_unreadable(file, "empty");
        }
    }

    fn finish(mut self) -> CheckReport {
        for list in std::mem::take(&mut self.lists) {
            for entry in &list.entries {
                self.check_list_entry(&list.file, entry);
            }
        }
        self.lines.push(format!(
            "games {} moves {} cases {} differences {}",
            self.games.len(),
            self.moves,
            self.cases,
            self.differences
        ));
        CheckReport { lines: self.lines, passed: self.differences == 0 && self.unreadable == 0 }
    }

    fn add_unreadable(&mut self, place: &str, reason: impl ToString) {
        self.unreadable += 1;
        self.lines.push(format!("{place}: cannot be read: {}", reason.to_string()));
    }

    /// Adds a difference if `ours` and `theirs` are not equal.
    fn compare(&mut self, place: &str, what: &str, ours: &str, theirs: &str) {
        if ours != theirs {
            self.differences += 1;
            self.lines.push(format!("{place}: {what}: ours {ours}, theirs {theirs}"));
        }
    }

    fn check_cases(&mut self, place: &str, line: &Value) {
        if let Err(error) = self.try_check_cases(place, line) {
            self.add_unreadable(place, error);
        }
    }

    fn try_check_cases(&mut self, place: &str, line: &Value) -> Result<(), CaseError> {
        let fen_value = &line["fen"];
        let fen = fen_value.as_str().ok_or_else(|| HistoryError::invalid("fen", fen_value))?;
        let truth = Truth::from_fen(fen)?;
        let actions = &line["actions"];
        if !actions.is_null() {
            let ours = truth.requests().iter().map(Request::to_string).collect();
            let theirs = parse_texts(actions);
            let theirs = theirs.ok_or_else(|| HistoryError::invalid("actions", actions))?;
            self.compare(place, "actions", &sorted_words(ours), &sorted_words(theirs));
        }
        let cases = &line["cases"];
        for value in cases.as_array().ok_or_else(|| HistoryError::invalid("cases", cases))? {
            let case = Case::parse(value).ok_or_else(|| HistoryError::invalid("cases", value))?;
            self.check_case(place, fen, truth.clone(), &case);
        }
        Ok(())
    }

    fn check_case(&mut self, place: &str, fen: &str, mut truth: Truth, case: &Case) {
        self.cases += 1;
        let place = format!("{place}: {fen}: {}", or_none(case.requested));
        let taken = or_none(case.taken.as_ref());
        match truth.play(case.requested) {
            Ok(ours) => {
                let capture = or_none(case.capture.as_ref());
                let fen_after = or_none(case.fen_after.as_ref());
                self.compare(&place, "taken", &or_none(ours.taken), &taken);
                self.compare(&place, "captured", &or_none(ours.capture), &capture);
                self.compare(&place, "after the move", &truth.fen(), &fen_after);
            }
            Err(error) => self.compare(&place, "taken", &error.to_string(), &taken),
        }
    }

    fn check_game(&mut self, file: &str, value: &Value) {
        let history = match GameHistory::from_json(value) {
            Ok(history) => history,
            Err(error) => return self.add_unreadable(file, error),
        };
        let start = history.sides.white.fens_before.first();
        let mut truth = match start.map(|fen| Truth::from_fen(fen)).transpose() {
            Ok(start) => start.unwrap_or_default(),
            Err(error) => return self.add_unreadable(file, error),
        };
        let moves = self.replay(file, &history, &mut truth);
        self.compare_end(file, &history, &truth);
        self.moves += moves;
        self.games.push(GameSummary {
            file_name: file_name(file).to_owned(),
            moves,
            winner: history.winner,
            reason: history.reason,
        });
    }

    /// Replays a game as far as it can be followed. Returns the number of moves.
    fn replay(&mut self, file: &str, history: &GameHistory, truth: &mut Truth) -> usize {
        let sides = &history.sides;
        let turns = sides.white.senses.len().max(sides.black.senses.len());
        let mut moves = 0;
        for index in 0..turns {
            for color in Color::ALL {
                let side = &sides[color];
                if index >= side.senses.len() {
                    continue;
                }
                let place = format!("{file}: turn {} of {color}", index + 1);
                if let Some(end) = truth.end() {
                    self.compare(&place, "the game", &format_end(Some(end)), &format_end(None));
                }
                moves += usize::from(index < side.moves.len());
                if !self.check_turn(&Turn { place, color, side, index }, truth) {
                    return moves;
                }
            }
        }
        moves
    }

    /// Checks a turn. Returns `false` if the game cannot be followed any further.
    fn check_turn(&mut self, turn: &Turn<'_>, truth: &mut Truth) -> bool {
        let &Turn { ref place, color, side, index } = turn;
        self.compare(place, "to move", &truth.turn().to_string(), &color.to_string());
        let seen = format_seen(&truth.sense(side.senses[index]));
        self.compare(place, "sensed", &seen, &format_seen(&side.sense_results[index]));
        let Some(theirs) = side.moves.get(index) else { return false };
        self.compare(place, "before the move", &truth.fen(), &side.fens_before[index]);
        let fen_after = &side.fens_after[index];
        self.check_move(place, theirs, fen_after, truth);
        if truth.fen() == *fen_after {
            return true;
        }
        // Continue from their position: each difference is reported once.
        match Truth::from_fen(fen_after) {
            Ok(theirs) => {
                *truth = theirs;
                true
            }
            Err(_) => false,
        }
    }

    fn check_move(&mut self, place: &str, theirs: &Played, fen_after: &str, truth: &mut Truth) {
        match truth.play(theirs.requested) {
            Ok(ours) => {
                self.compare(place, "taken", &or_none(ours.taken), &or_none(theirs.taken));
                self.compare(place, "captured", &or_none(ours.capture), &or_none(theirs.capture));
                self.compare(place, "after the move", &truth.fen(), fen_after);
            }
            Err(error) => self.compare(place, "taken", &error.to_string(), &or_none(theirs.taken)),
        }
    }

    fn compare_end(&mut self, file: &str, history: &GameHistory, truth: &Truth) {
        let theirs = history.reason.map(|reason| End { winner: history.winner, reason });
        let ours = if is_decided_off_board(theirs) { theirs } else { truth.end() };
        self.compare(&format!("{file}: end"), "the game", &format_end(ours), &format_end(theirs));
    }

    /// Compares an entry of a list with the game, if that is among the files.
    fn check_list_entry(&mut self, file: &str, entry: &Value) {
        let Some(listed) = entry["file"].as_str() else {
            return self.add_unreadable(file, format!("no file in {}", quote(entry)));
        };
        let mut games = self.games.iter().filter(|game| game.file_name == file_name(listed));
        let (Some(game), None) = (games.next(), games.next()) else { return };
        let winner = game.winner.map_or("null".to_owned(), |color| color.to_string());
        let reason = game.reason.map_or("null".to_owned(), |reason| reason.name().to_owned());
        let ours = [("moves", game.moves.to_string()), ("winner", winner), ("reason", reason)];
        let place = format!("{file}: {listed}");
        for (key, ours) in ours {
            if let Some(theirs) = entry.get(key) {
                let theirs = parse_text(theirs).unwrap_or_else(|| theirs.to_string());
                self.compare(&place, key, &ours, &theirs);
            }
        }
    }
}

impl Case {
    /// Parses `[requested, taken, capture, fen_after]`, each a text or `null`.
    fn parse(value: &Value) -> Option<Case> {
        let [requested, taken, capture, fen_after] = value.as_array()?.as_slice() else {
            return None;
        };
        let requested = match nullable_text(requested)? {
            Some(text) => Some(text.parse().ok()?),
            None => None,
        };
        Some(Case {
            requested,
            taken: nullable_text(taken)?,
            capture: nullable_text(capture)?,
            fen_after: nullable_text(fen_after)?,
        })
    }
}

/// Returns the number of ends of lines.
fn count_lines(text: &str) -> usize {
    text.matches('\n').count()
}

fn nullable_text(value: &Value) -> Option<Option<String>> {
    parse_nullable(value, parse_text)
}

fn parse_texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(parse_text).collect()
}

fn sorted_words(mut words: Vec<String>) -> String {
    words.sort_unstable();
    words.dedup();
    words.join(" ")
}

/// Returns `true` if a game ended by the clock or by agreement, which the board does not show. Time takes
/// precedence over the capture of a king.
fn is_decided_off_board(end: Option<End>) -> bool {
    let Some(End { winner, reason }) = end else { return false };
    match reason {
        WinReason::Timeout | WinReason::Resign => winner.is_some(),
        WinReason::TurnLimit => winner.is_none(),
        _ => false,
    }
}

fn format_seen(seen: &[Sensed]) -> String {
    let squares =
        seen.iter().map(|&(square, piece)| format!("{square}={}", piece.map_or('.', Piece::char)));
    squares.collect::<Vec<_>>().join(" ")
}

fn format_end(end: Option<End>) -> String {
    let Some(End { winner, reason }) = end else { return "goes on".to_owned() };
    match winner {
        Some(color) => format!("won by {color} ({})", reason.name()),
        None => format!("drawn ({})", reason.name()),
    }
}

fn or_none(value: Option<impl ToString>) -> String {
    value.map_or("none".to_owned(), |value| value.to_string())
}

/// Returns the last part of a path with either separator.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
