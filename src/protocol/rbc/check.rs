//! Replays what the reference program wrote down, and tells where our rules differ.

use std::fs;

use serde_json::{Deserializer, Value};

use super::history::{BadHistory, GameHistory, SideHistory, quoted};
use crate::rules::blind::{End, Request, Truth, WinReason};
use crate::rules::{Color, Square};

/// What came of replaying files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Checked {
    /// What differs and what could not be read, a line each, and the sums.
    pub lines: Vec<String>,
    /// Whether all could be read and nothing differs.
    pub same: bool,
}

/// What was found so far.
#[derive(Default)]
struct Tally {
    games: usize,
    moves: usize,
    cases: usize,
    differences: usize,
    unreadable: usize,
    lines: Vec<String>,
    /// File, number of moves and end of each game.
    played: Vec<(String, usize, Option<Color>, Option<WinReason>)>,
    /// Lists of files: who lists them, and what is said of each.
    lists: Vec<(String, Vec<Value>)>,
}

/// Replays files of reconchess: histories of games, and lines of `{"fen", "actions", "cases"}` where
/// a case is what was requested, what was taken, where a man was captured, and the FEN afterwards.
/// A file that lists others (`[{"file", "moves", "winner", "reason"}]`) is compared with what the
/// games among these files gave. The last line has the sums.
pub fn check(files: &[String]) -> Checked {
    let mut tally = Tally::default();
    for file in files {
        match fs::read_to_string(file) {
            Ok(text) => tally.text(file, &text),
            Err(error) => tally.unreadable(file, &error.to_string()),
        }
    }
    tally.sum()
}

/// [`check`] of one text, which is called `name`.
pub fn check_text(name: &str, text: &str) -> Checked {
    let mut tally = Tally::default();
    tally.text(name, text);
    tally.sum()
}

fn or_none(value: Option<impl ToString>) -> String {
    value.map_or("none".to_owned(), |value| value.to_string())
}

/// The last part of a path, however it is written.
fn name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

impl Tally {
    /// Takes the text of a file.
    fn text(&mut self, file: &str, text: &str) {
        let mut values = 0;
        for value in Deserializer::from_str(text).into_iter::<Value>() {
            values += 1;
            match value {
                Ok(Value::Array(entries)) => self.lists.push((file.to_owned(), entries)),
                Ok(value) if value.get("cases").is_some() => self.cases(file, values, &value),
                Ok(value) => self.game(file, &value),
                Err(error) => self.unreadable(file, &error.to_string()),
            }
        }
        if values == 0 {
            self.unreadable(file, "there is nothing in it");
        }
    }

    /// All that was found.
    fn sum(mut self) -> Checked {
        for (file, entries) in std::mem::take(&mut self.lists) {
            entries.iter().for_each(|entry| self.listed(&file, entry));
        }
        let Tally { games, moves, cases, differences, unreadable, mut lines, .. } = self;
        lines.push(format!("games {games} moves {moves} cases {cases} differences {differences}"));
        Checked { lines, same: differences == 0 && unreadable == 0 }
    }

    fn unreadable(&mut self, file: &str, reason: &str) {
        self.unreadable += 1;
        self.lines.push(format!("{file}: cannot be read: {reason}"));
    }

    /// Notes a difference if there is one.
    fn compare(&mut self, place: &str, what: &str, ours: &str, theirs: &str) {
        if ours != theirs {
            self.differences += 1;
            self.lines.push(format!("{place}: {what}: ours {ours}, theirs {theirs}"));
        }
    }

    /// Takes a line of cases.
    fn cases(&mut self, file: &str, line: usize, value: &Value) {
        let place = format!("{file}: line {line}");
        if let Err(error) = self.try_cases(&place, value) {
            self.unreadable(&place, &error.to_string());
        }
    }

    fn try_cases(&mut self, place: &str, value: &Value) -> Result<(), BadHistory> {
        let wrong = |key: &str, value: &Value| {
            BadHistory::new(key, format!("{} cannot stand here", quoted(value)))
        };
        let fen = value.get("fen").unwrap_or(&Value::Null);
        let fen = fen.as_str().ok_or_else(|| wrong("fen", fen))?;
        let truth =
            Truth::from_fen(fen).map_err(|error| BadHistory::new("fen", error.to_string()))?;
        if let Some(actions) = value.get("actions").filter(|actions| !actions.is_null()) {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            let theirs: Option<Vec<_>> =
                actions.as_array().and_then(|all| all.iter().map(text).collect());
            let mut theirs = theirs.ok_or_else(|| wrong("actions", actions))?;
            let mut ours: Vec<_> = truth.requests().iter().map(Request::to_string).collect();
            for list in [&mut ours, &mut theirs] {
                list.sort_unstable();
                list.dedup();
            }
            self.compare(place, "what may be requested", &ours.join(" "), &theirs.join(" "));
        }
        let cases = value.get("cases").unwrap_or(&Value::Null);
        for case in cases.as_array().ok_or_else(|| wrong("cases", cases))? {
            let texts = |value: &Value| {
                value
                    .is_null()
                    .then_some(None)
                    .or_else(|| value.as_str().map(|text| Some(text.to_owned())))
            };
            let parts: Option<Vec<_>> =
                case.as_array().and_then(|parts| parts.iter().map(texts).collect());
            let Some([requested, taken, capture, after]) =
                parts.and_then(|parts| <[Option<String>; 4]>::try_from(parts).ok())
            else {
                return Err(wrong("cases", case));
            };
            let request: Option<Request> = match &requested {
                Some(text) => Some(text.parse().map_err(|error| BadHistory::new("cases", error))?),
                None => None,
            };
            self.cases += 1;
            let place = format!("{place}: {fen}: {}", or_none(requested));
            let mut truth = truth.clone();
            match truth.play(request) {
                Ok(played) => {
                    self.compare(&place, "taken", &or_none(played.taken), &or_none(taken));
                    self.compare(&place, "captured", &or_none(played.capture), &or_none(capture));
                    self.compare(&place, "afterwards", &truth.fen(), &or_none(after));
                }
                Err(error) => self.compare(&place, "taken", &error.to_string(), &or_none(taken)),
            }
        }
        Ok(())
    }

    /// Takes a history.
    fn game(&mut self, file: &str, value: &Value) {
        let history = match GameHistory::from_json(value) {
            Ok(history) => history,
            Err(error) => return self.unreadable(file, &error.to_string()),
        };
        let start = history.sides.white.fens_before.first().map(|fen| Truth::from_fen(fen));
        let mut truth = match start {
            Some(Err(error)) => return self.unreadable(file, &error.to_string()),
            Some(Ok(truth)) => truth,
            None => Truth::default(),
        };
        self.games += 1;
        let count = |color: Color| history.sides[color].senses.len();
        let turns = count(Color::White).max(count(Color::Black));
        let mut moves = 0;
        'game: for turn in 0..turns {
            for color in Color::ALL {
                let side = &history.sides[color];
                if turn >= side.senses.len() {
                    continue;
                }
                let place = format!("{file}: turn {} of {color}", turn + 1);
                if let Some(end) = truth.end() {
                    self.compare(&place, "the game", &ended(Some(end)), "goes on");
                }
                moves += usize::from(turn < side.moves.len());
                if self.turn(&place, side, turn, color, &mut truth).is_none() {
                    break 'game;
                }
            }
        }
        let theirs = history.reason.map(|reason| End { winner: history.winner, reason });
        // What the board does not tell: clocks, and what was agreed on. Time outranks a lost king.
        let outside = [WinReason::Timeout, WinReason::Resign, WinReason::TurnLimit];
        let ours = match theirs.filter(|end| outside.contains(&end.reason)) {
            Some(end) if end.winner.is_some() == (end.reason != WinReason::TurnLimit) => theirs,
            _ => truth.end(),
        };
        self.compare(&format!("{file}: its end"), "the game", &ended(ours), &ended(theirs));
        self.moves += moves;
        self.played.push((name(file).to_owned(), moves, history.winner, history.reason));
    }

    /// Takes a turn; `None` if the game cannot be followed any further.
    fn turn(
        &mut self,
        place: &str,
        side: &SideHistory,
        turn: usize,
        color: Color,
        truth: &mut Truth,
    ) -> Option<()> {
        self.compare(place, "to move", &truth.turn().to_string(), &color.to_string());
        let show = |seen: &[(Square, Option<crate::rules::Piece>)]| {
            let man = |piece: Option<crate::rules::Piece>| piece.map_or('.', |piece| piece.char());
            let all = seen.iter().map(|&(square, piece)| format!("{square}={}", man(piece)));
            all.collect::<Vec<_>>().join(" ")
        };
        let seen = truth.sense(side.senses[turn]);
        self.compare(place, "sensed", &show(&seen), &show(&side.sense_results[turn]));
        let theirs = side.moves.get(turn)?;
        self.compare(place, "before the move", &truth.fen(), &side.fens_before[turn]);
        let after = &side.fens_after[turn];
        match truth.play(theirs.requested) {
            Ok(ours) => {
                self.compare(place, "taken", &or_none(ours.taken), &or_none(theirs.taken));
                self.compare(place, "captured", &or_none(ours.capture), &or_none(theirs.capture));
                self.compare(place, "afterwards", &truth.fen(), after);
            }
            Err(error) => self.compare(place, "taken", &error.to_string(), &or_none(theirs.taken)),
        }
        if truth.fen() != *after {
            // One difference is told once: from here on as they have it.
            *truth = Truth::from_fen(after).ok()?;
        }
        Some(())
    }

    /// Takes an entry of a list of files.
    fn listed(&mut self, file: &str, entry: &Value) {
        let Some(listed) = entry.get("file").and_then(Value::as_str) else {
            return self.unreadable(file, &format!("{} names no file", quoted(entry)));
        };
        let games = self.played.iter().filter(|(played, ..)| played == name(listed));
        let [(_, moves, winner, reason)] = games.cloned().collect::<Vec<_>>()[..] else { return };
        let place = format!("{file}: {listed}");
        let text = |key: &str| {
            entry.get(key).map(|value| value.as_str().map_or(value.to_string(), str::to_owned))
        };
        let ours = [
            ("moves", moves.to_string()),
            ("winner", winner.map_or("null".to_owned(), |color| color.to_string())),
            ("reason", reason.map_or("null".to_owned(), |reason| reason.name().to_owned())),
        ];
        for (key, ours) in ours {
            if let Some(theirs) = text(key) {
                self.compare(&place, key, &ours, &theirs);
            }
        }
    }
}

fn ended(end: Option<End>) -> String {
    let Some(End { winner, reason }) = end else { return "goes on".to_owned() };
    match winner {
        Some(color) => format!("won by {color} ({})", reason.name()),
        None => format!("drawn ({})", reason.name()),
    }
}
