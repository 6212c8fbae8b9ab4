//! Games of blind chess in the JSON of reconchess (`GameHistory.save`), as boards that both sides see.
//!
//! What a request became is what was played. A pass is no move of chess, so a game is cut there: what
//! follows is a record of its own, with the same end.

use std::collections::VecDeque;
use std::io;

use menagerie::protocol::rbc::GameHistory;
use menagerie::rules::Color;
use menagerie::variant::Variant;

use super::{Games, Lines, Replay};
use crate::record::{End, GameRecord};

pub(super) fn read(lines: &mut Lines, variant: &Variant, found: &mut Games) -> io::Result<()> {
    let mut text = String::new();
    while let Some(line) = lines.next()? {
        text.push_str(&line);
        text.push('\n');
    }
    match records(&text, variant) {
        Ok(records) => found.games.extend(records),
        Err((line, reason)) => {
            let quoted = text.lines().nth(line - 1).unwrap_or_default();
            found.faults.push(super::fault(lines.file, line, quoted, reason));
        }
    }
    Ok(())
}

/// What is wrong, and in which line.
type Wrong = (usize, String);

/// The records of a history.
fn records(text: &str, variant: &Variant) -> Result<Vec<GameRecord>, Wrong> {
    let value = serde_json::from_str(text)
        .map_err(|error| (error.line().max(1), format!("{error}: no JSON")))?;
    let history = GameHistory::from_json(&value).map_err(|error| (1, error.to_string()))?;
    let end = history.reason.map(|_| {
        let winner = history.winner.map(|winner| usize::from(winner.is_black()) as u8);
        End { winner, turns: 0 }
    });
    cut(&history, end, variant).map_err(|reason| (1, reason))
}

/// Cuts a game where somebody passed.
fn cut(
    history: &GameHistory,
    end: Option<End>,
    variant: &Variant,
) -> Result<Vec<GameRecord>, String> {
    let turns = |color: Color| {
        let side = &history.sides[color];
        side.fens_before.iter().zip(&side.moves).collect::<VecDeque<_>>()
    };
    let (mut white, mut black) = (turns(Color::White), turns(Color::Black));
    let mut all = Vec::new();
    let mut open: Option<Replay> = None;
    let mut close = |open: &mut Option<Replay>| all.extend(open.take().map(|it| it.finish(end)));
    while let Some((fen, played)) = match open_turn(&white, &black) {
        Some(Color::White) => white.pop_front(),
        Some(Color::Black) => black.pop_front(),
        None => None,
    } {
        let Some(step) = played.taken else {
            close(&mut open);
            continue;
        };
        let mut replay = match open.take() {
            Some(replay) => replay,
            None => Replay::new(variant, fen, false)?,
        };
        let turn = replay.turn(&step.to_string())?;
        replay.play(&turn, &[(turn.clone(), None)]);
        open = Some(replay);
    }
    close(&mut open);
    Ok(all)
}

/// Whose turn is next: of that side whose first FEN has the lower number of the move; White's if
/// both have the same.
fn open_turn<T>(white: &VecDeque<(&String, T)>, black: &VecDeque<(&String, T)>) -> Option<Color> {
    let number = |turns: &VecDeque<(&String, T)>| {
        turns.front().map(|(fen, _)| {
            fen.rsplit(' ').next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0)
        })
    };
    match (number(white), number(black)) {
        (Some(white), Some(black)) => Some(Color::from_white(white <= black)),
        (Some(_), None) => Some(Color::White),
        (None, Some(_)) => Some(Color::Black),
        (None, None) => None,
    }
}
