//! Labelled games of a reference engine, one a line: `variant, start FEN, result, plies`, separated by tabs.
//!
//! The plies are separated by spaces: `best:score`, or `best:score/played` if another move than the best one was
//! played; with several best moves, `best:score|next:score|..`. Further fields are ignored. Moves have the notation
//! of UCI, with castling as two steps of the king. Scores are centipawns for the side to move, or `mN`: it mates
//! in N moves, `m-N`: it is mated. A ply may have no score (`best:`), or no label at all (`:/played`). The result
//! is that of White: `1-0`, `0-1`, `1/2-1/2`, or `*` if it is unknown; a game with another result than that of the
//! rules at its end is invalid. Lines that begin with `#` are ignored.
//!
//! Games of bughouse have a FEN of two boards, `A|B`, and the result of the team that has White on board A. The
//! plies are those of all four players in the order of time, `1e2e4:score:clock` or `1e2e4:score:clock/played`: the
//! number of the board, and the seconds left to the mover of 180. Plies after a mate on either board are ignored.

use std::io;

use menagerie::rules::{BoardId, Color};
use menagerie::variant::Variant;

use super::clocks::RecordedClocks;
use super::{GameErrorKind, Games, LabelledError, Lines, PlyError, Replay, by_line, parse_result};
use crate::eval_scale::EngineScore;
use crate::record::GameRecord;

pub(super) fn read(lines: &mut Lines, variant: &Variant, found: &mut Games) -> io::Result<()> {
    by_line(lines, found, |line| parse_game(line, variant))
}

/// Seconds of each player at the start of a game of bughouse.
pub(crate) const CLOCK_SECONDS: f64 = 180.0;

/// Parses one line.
pub(crate) fn parse_game(line: &str, variant: &Variant) -> Result<GameRecord, GameErrorKind> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [name, start, ended, plies, ..] = fields[..] else {
        return Err(LabelledError::Fields(fields.len()).into());
    };
    // Games of two boards have the variant of a single board.
    let two_boards = start.contains('|');
    if name != variant.name() && !(two_boards && variant.has_two_boards()) {
        let found = name.to_owned();
        return Err(GameErrorKind::OtherVariant { found, expected: variant.name().to_owned() });
    }
    if two_boards && !variant.has_two_boards() {
        return Err(LabelledError::TwoBoards.into());
    }
    let mut replay = Replay::new(variant, start, false)?;
    replay.clocks = if two_boards { Some(RecordedClocks::new(CLOCK_SECONDS)) } else { None };
    let end = parse_result(ended)?;
    for text in plies.split_ascii_whitespace() {
        // On a server, players move on until they learn of a mate on the other board.
        if two_boards && replay.position.outcome().is_some() {
            break;
        }
        let played = if two_boards {
            play_board_ply(&mut replay, text)
        } else {
            play_ply(&mut replay, text)
        };
        played.map_err(|source| LabelledError::Ply { text: text.to_owned(), source })?;
    }
    if replay.record.plies.is_empty() {
        return Err(GameErrorKind::NoMoves);
    }
    replay.check_result(end)?;
    Ok(replay.finish(end))
}

/// Splits a ply into its label and the played move, if it differs from the best one.
fn split_ply(text: &str) -> (&str, Option<&str>) {
    match text.split_once('/') {
        Some((label, played)) => (label, Some(played)),
        None => (text, None),
    }
}

fn play_ply(replay: &mut Replay, text: &str) -> Result<(), PlyError> {
    let (label, played) = split_ply(text);
    let mut best = Vec::new();
    for part in label.split('|') {
        let (turn, score) = part.split_once(':').ok_or(PlyError::NoScore)?;
        let score = parse_score(score)?;
        match (turn.is_empty(), score) {
            (false, score) => best.push((replay.turn(turn)?, score)),
            (true, Some(_)) => return Err(PlyError::ScoreWithoutMove),
            (true, None) => {}
        }
    }
    let turn = match (played, best.first()) {
        (Some(played), _) => replay.turn(played)?,
        (None, Some((turn, _))) => turn.clone(),
        (None, None) => return Err(PlyError::NoMove),
    };
    replay.play(&turn, &best);
    Ok(())
}

/// Plays a ply on one of two boards.
fn play_board_ply(replay: &mut Replay, text: &str) -> Result<(), PlyError> {
    let (label, played) = split_ply(text);
    let [turn, score, clock] = label.split(':').collect::<Vec<_>>()[..] else {
        return Err(PlyError::Parts);
    };
    let board = match turn.chars().next() {
        Some('1') => BoardId::A,
        Some('2') => BoardId::B,
        _ => return Err(PlyError::Board(turn.to_owned())),
    };
    let best = replay.turn(turn)?;
    let score = parse_score(score)?;
    let turn = match played {
        Some(played) => replay.turn(&format!("{}{played}", board as usize + 1))?,
        None => best.clone(),
    };
    let seconds = clock.parse::<f64>().ok().filter(|it| it.is_finite());
    let seconds = seconds.ok_or_else(|| PlyError::Clock(clock.to_owned()))?;
    let mover = replay.position.board_position(board).map(|board| board.board().turn);
    replay.play(&turn, &[(best, score)]);
    replay.set_clock(board, mover.unwrap_or(Color::White), Some(seconds));
    Ok(())
}

/// Parses a score: the expected score of the side to move; `None` for an empty text.
fn parse_score(text: &str) -> Result<Option<f32>, PlyError> {
    if text.is_empty() {
        return Ok(None);
    }
    let score = EngineScore::parse(text).ok_or_else(|| PlyError::Score(text.to_owned()))?;
    Ok(Some(score.expected()))
}
