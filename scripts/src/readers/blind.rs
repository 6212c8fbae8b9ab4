//! Games of blind chess in the JSON of reconchess (`GameHistory.save`), as boards that both sides see.
//!
//! What a request became is what was played. A pass is no move of chess, so a game is cut there: what
//! follows is a record of its own, with the same end.

use std::io;

use menagerie::rules::Color;
use menagerie::variant::Variant;
use menagerie_rbc::GameHistory;

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
        let winner = history.winner.map(|winner| u8::from(winner.is_black()));
        End { winner, turns: 0 }
    });
    cut(&history, end, variant).map_err(|reason| (1, reason))
}

/// Cuts a game where somebody passed. Each part tells how many turns came behind it.
fn cut(
    history: &GameHistory,
    end: Option<End>,
    variant: &Variant,
) -> Result<Vec<GameRecord>, String> {
    let number = |fen: &str| fen.rsplit(' ').next().and_then(|word| word.parse::<u64>().ok());
    let mut turns = Vec::new();
    for color in Color::ALL {
        let side = &history.sides[color];
        let moves = side.fens_before.iter().zip(&side.moves);
        turns.extend(moves.map(|(fen, played)| (number(fen), color.is_black(), fen, played.taken)));
    }
    // As the FENs number them; of the same number White's is the first.
    turns.sort_by_key(|&(number, black, ..)| (number, black));
    let mut hasher = crc32fast::Hasher::new();
    for (.., fen, taken) in &turns {
        hasher.update(fen.as_bytes());
        taken.iter().for_each(|step| hasher.update(step.to_string().as_bytes()));
    }
    let part_of = Some(hasher.finalize());
    let part = |replay: Replay, left: usize| {
        let turns = u16::try_from(left).unwrap_or(u16::MAX);
        let end = end.map(|end| End { turns, ..end });
        GameRecord { part_of, ..replay.finish(end) }
    };
    let mut all = Vec::new();
    let mut open: Option<Replay> = None;
    let count = turns.len();
    for (nth, (.., fen, taken)) in turns.into_iter().enumerate() {
        let Some(step) = taken else {
            all.extend(open.take().map(|replay| part(replay, count - nth)));
            continue;
        };
        let replay = match &mut open {
            Some(replay) => replay,
            None => open.insert(Replay::new(variant, fen, false)?),
        };
        let turn = replay.turn(&step.to_string())?;
        replay.play(&turn, &[(turn.clone(), None)]);
    }
    all.extend(open.map(|replay| part(replay, 0)));
    Ok(all)
}
