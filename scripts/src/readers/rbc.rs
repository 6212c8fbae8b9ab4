//! Histories of RBC games in the JSON of reconchess (`GameHistory.save`), read as games of the variant
//! `blindboard`, in which all pieces are visible.
//!
//! The moves are those that the requests became. A pass is not a move of chess, so that a game is split at
//! each pass: the moves after it are another record with the same end.

use std::io;

use menagerie::rules::Color;
use menagerie::variant::Variant;
use menagerie_rbc::{GameHistory, format_request};

use super::{GameError, GameErrorKind, Games, Lines, Replay};
use crate::record::{End, GameRecord};

pub(super) fn read(lines: &mut Lines, variant: &Variant, found: &mut Games) -> io::Result<()> {
    let mut text = String::new();
    while let Some(line) = lines.next()? {
        text.push_str(&line);
        text.push('\n');
    }
    match parse_records(&text, variant) {
        Ok(records) => found.games.extend(records),
        Err((line, reason)) => {
            let quoted = text.lines().nth(line - 1).unwrap_or_default();
            found.errors.push(GameError::new(lines.file, line, quoted, reason));
        }
    }
    Ok(())
}

/// Returns the records of a history. An error has the number of its line; errors in the game have line 1.
fn parse_records(text: &str, variant: &Variant) -> Result<Vec<GameRecord>, (usize, GameErrorKind)> {
    let value = serde_json::from_str(text)
        .map_err(|error| (error.line().max(1), GameErrorKind::Json(error.to_string())))?;
    let history = GameHistory::from_json(&value).map_err(|error| (1, error.into()))?;
    let end = history.reason.map(|_| {
        let winner = history.winner.map(|winner| u8::from(winner.is_black()));
        End { winner, turns: 0 }
    });
    split_at_passes(&history, end, variant).map_err(|error| (1, error))
}

/// Splits a game at its passes. The end of each record has the number of turns that follow the record.
fn split_at_passes(
    history: &GameHistory,
    end: Option<End>,
    variant: &Variant,
) -> Result<Vec<GameRecord>, GameErrorKind> {
    let mut turns = Vec::new();
    for color in Color::ALL {
        let side = &history.sides[color];
        for (fen, played) in side.fens_before.iter().zip(&side.moves) {
            turns.push((fullmove_number(fen), color.is_black(), fen, played.taken));
        }
    }
    turns.sort_by_key(|&(number, is_black, ..)| (number, is_black));
    let mut hasher = crc32fast::Hasher::new();
    for (.., fen, taken) in &turns {
        hasher.update(fen.as_bytes());
        if let Some(step) = taken {
            hasher.update(step.to_string().as_bytes());
        }
    }
    let part_of = Some(hasher.finalize());
    let finish = |replay: Replay, turns_left: usize| {
        let turns = u16::try_from(turns_left).unwrap_or(u16::MAX);
        let end = end.map(|end| End { turns, ..end });
        GameRecord { part_of, ..replay.finish(end) }
    };
    let mut records = Vec::new();
    let mut current: Option<Replay> = None;
    let count = turns.len();
    for (index, (.., fen, taken)) in turns.into_iter().enumerate() {
        if taken.is_none() {
            records.extend(current.take().map(|replay| finish(replay, count - index)));
            continue;
        }
        let replay = match &mut current {
            Some(replay) => replay,
            None => current.insert(Replay::new(variant, fen, false)?),
        };
        let turn = replay.turn(&format_request(taken))?;
        replay.play(&turn, &[(turn.clone(), None)]);
    }
    records.extend(current.map(|replay| finish(replay, 0)));
    Ok(records)
}

/// Returns the last field of a FEN.
fn fullmove_number(fen: &str) -> Option<u64> {
    fen.rsplit(' ').next()?.parse().ok()
}
