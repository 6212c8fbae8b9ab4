//! Algebraic notation of turns, also on two boards, where the library writes one board at a time.

use menagerie::rules::san::SanError;
use menagerie::rules::{BoardId, Color, Move, Position, san};

use crate::limits::MAX_TURN_BYTES;

/// Why a text in algebraic notation is refused.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotationError {
    #[error("text of {0} bytes is no move")]
    TooLong(usize),
    #[error(transparent)]
    San(#[from] SanError),
    #[error("board must be 0 or 1, not {0}")]
    Board(usize),
    #[error("board is missing, expected 0 or 1")]
    NoBoard,
}

/// Returns the algebraic notation of a legal turn. With two boards the plies are separated by a comma and a
/// space.
pub(crate) fn turn_san(position: &Position, turn: &[Move]) -> String {
    if !position.game_spec().two_boards {
        return san::write(position, turn);
    }
    let mut position = position.clone();
    let mut texts = Vec::with_capacity(turn.len());
    for &ply in turn {
        texts.push(ply_san(&position, ply));
        position.play_unchecked(ply);
    }
    texts.join(", ")
}

fn ply_san(position: &Position, ply: Move) -> String {
    match position.board_position(ply.board()) {
        Some(board) if ply != Move::Pass => san::write(&board, &[ply.on(BoardId::A)]),
        _ => "pass".to_owned(),
    }
}

/// Returns the players of a turn on two boards, a letter each, as in BPGN: `A` and `a` are White and Black on
/// the first board, `B` and `b` on the second, `-` is a pass. Empty with one board.
pub(crate) fn seats(position: &Position, turn: &[Move]) -> String {
    if !position.game_spec().two_boards {
        return String::new();
    }
    let mut position = position.clone();
    let mut letters = String::new();
    for &ply in turn {
        letters.push(seat(&position, ply));
        position.play_unchecked(ply);
    }
    letters
}

fn seat(position: &Position, ply: Move) -> char {
    if ply == Move::Pass {
        return '-';
    }
    match (ply.board(), color_on_turn(position, ply.board())) {
        (BoardId::A, Color::White) => 'A',
        (BoardId::A, Color::Black) => 'a',
        (BoardId::B, Color::White) => 'B',
        (BoardId::B, Color::Black) => 'b',
    }
}

/// Returns the text in UCI notation of the turn that `text` names in algebraic notation, with two boards on
/// `board`.
///
/// # Errors
/// If it names none, or more than one.
pub(crate) fn read_san(
    position: &Position,
    text: &str,
    board: Option<usize>,
) -> Result<String, NotationError> {
    if text.len() > MAX_TURN_BYTES {
        return Err(NotationError::TooLong(text.len()));
    }
    if !position.game_spec().two_boards {
        return Ok(position.turn_text(&san::read(position, text)?));
    }
    let index = board.ok_or(NotationError::NoBoard)?;
    let board = *BoardId::ALL.get(index).ok_or(NotationError::Board(index))?;
    let illegal = || SanError::Illegal { text: text.to_owned(), fen: position.fen() };
    let single = position.board_position(board).ok_or_else(illegal)?;
    let plies = san::read(&single, text)?;
    let [ply] = plies[..] else { return Err(illegal().into()) };
    let mut position = position.clone();
    if !position.select_side_to_move(ply.on(board)) {
        return Err(illegal().into());
    }
    Ok(position.move_text(ply.on(board)))
}

/// Returns the color on turn at a board, also if the team to move is not on turn there.
pub(crate) fn color_on_turn(position: &Position, board: BoardId) -> Color {
    let view = position.view();
    let board = view.on(board);
    if view.boards.len() == 2 && !board.team.on_turn { !board.turn } else { board.turn }
}
