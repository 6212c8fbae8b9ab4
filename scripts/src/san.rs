//! Turns as people write them: `Nbd2`, `exd6`, `e8=Q`, `O-O`, `N@f3` (standard algebraic notation).
//!
//! The text of a single ply is read and written by shakmaty, what it means is found among the legal
//! moves of any game of the family of chess. A turn of two plies has the wall's square behind a
//! comma, as Fairy-Stockfish writes it: `Nf3,d5`. Turns that have no such text (cells that are
//! claimed, walls that are a turn of their own) are written as UCI writes them, and every turn is
//! read in UCI, too.
//!
//! Signs of check and mate, and of how good a move is thought to be, are read past and not written.

use menagerie::rules::{Move, MoveList, Position, Role};
use shakmaty::CastlingSide;
use shakmaty::san::San;

/// Why a text names no turn. Each quotes it, and the position.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SanError {
    /// No legal turn is written so.
    #[error("\"{text}\" is no legal move in \"{fen}\",")]
    Illegal {
        /// The text.
        text: String,
        /// The position.
        fen: String,
    },
    /// More than one legal turn is.
    #[error("\"{text}\" may be more than one move in \"{fen}\",")]
    Ambiguous {
        /// The text.
        text: String,
        /// The position.
        fen: String,
    },
}

/// The plies of one legal turn as text that [`read`] understands in this position.
pub fn write(position: &Position, turn: &[Move]) -> String {
    let [first, rest @ ..] = turn else { return String::new() };
    let Some(mut text) = ply_text(position, *first) else { return in_plies(position, turn) };
    for ply in rest {
        let Move::Wall(square) = ply else { return in_plies(position, turn) };
        text += &format!(",{square}");
    }
    text
}

/// The plies of a turn as UCI has each, without the brackets that the turns of two tables have: in
/// PGN they begin a variation.
fn in_plies(position: &Position, turn: &[Move]) -> String {
    let mut position = position.clone();
    let texts = turn.iter().map(|&ply| {
        let text = position.move_text(ply);
        position.play_unchecked(ply);
        text
    });
    texts.collect::<Vec<_>>().join(",")
}

/// The legal turn that `text` names, in this notation or in UCI's.
///
/// # Errors
/// If it names none, or more than one.
pub fn read(position: &Position, text: &str) -> Result<Vec<Move>, SanError> {
    let bare = text.trim_end_matches(['+', '#', '!', '?']);
    let mut parts = bare.split(',');
    let mut fitting = parts.next().map_or_else(Vec::new, |part| plies(position, part));
    if fitting.len() > 1 {
        return Err(SanError::Ambiguous { text: text.to_owned(), fen: position.fen() });
    }
    let turn = fitting.pop().and_then(|first| {
        let (mut position, mut turn) = (position.clone(), vec![first]);
        position.play_unchecked(first);
        for part in parts {
            let wall = wall(&position, part)?;
            position.play_unchecked(wall);
            turn.push(wall);
        }
        (!position.mid_turn()).then_some(turn)
    });
    turn.or_else(|| position.parse_turn(bare))
        .ok_or_else(|| SanError::Illegal { text: text.to_owned(), fen: position.fen() })
}

fn legal(position: &Position) -> MoveList {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    legal
}

/// The legal plies that a text without a comma may mean.
fn plies(position: &Position, text: &str) -> Vec<Move> {
    let text = text.trim_end_matches(['+', '#']);
    let san = match text {
        "0-0" => Some(San::Castle(CastlingSide::KingSide)),
        "0-0-0" => Some(San::Castle(CastlingSide::QueenSide)),
        _ => San::from_ascii(text.as_bytes()).ok(),
    };
    let mut plies = san.map_or_else(MoveList::new, |_| legal(position));
    plies.retain(|&m| san.is_some_and(|san| fits(position, san, m)));
    plies
}

/// The wall that a text names: its square, or as UCI writes the second part of a turn.
fn wall(position: &Position, text: &str) -> Option<Move> {
    let named = |m: &Move| match m {
        Move::Wall(square) => square.to_string() == text || position.move_text(*m) == text,
        _ => false,
    };
    legal(position).into_iter().find(named)
}

/// The shortest text of a legal ply that means no other one.
fn ply_text(position: &Position, m: Move) -> Option<String> {
    let Move::Step { from, to, promotion } = m else {
        let Move::Drop { role, to } = m else { return None };
        return Some(San::Put { role, to }.to_string());
    };
    if let Some(side) = castling(position, m) {
        return Some(San::Castle(side).to_string());
    }
    let role = position.view().board.role_at(from)?;
    let capture = takes(position, m);
    let legal = legal(position);
    let (file, rank) = (Some(from.file()), Some(from.rank()));
    let forms = [(None, None), (file, None), (None, rank), (file, rank)].into_iter();
    // A pawn that takes is always named by its file.
    let forms = forms.filter(|(file, _)| file.is_some() || !(capture && role == Role::Pawn));
    let mut sans =
        forms.map(|(file, rank)| San::Normal { role, file, rank, capture, to, promotion });
    let alone = |san: &San| legal.iter().all(|&other| (other == m) == fits(position, *san, other));
    sans.find(alone).map(|san| san.to_string())
}

/// Whether a legal ply may be meant. What takes may be written without the `x`, but not the other
/// way round.
fn fits(position: &Position, san: San, m: Move) -> bool {
    match (san, m) {
        (San::Castle(side), m) => castling(position, m) == Some(side),
        (San::Put { role, to }, m) => m == Move::Drop { role, to },
        (
            San::Normal { role, file, rank, capture, to, promotion },
            Move::Step { from, to: goal, promotion: becomes },
        ) => {
            to == goal
                && promotion == becomes
                && position.view().board.role_at(from) == Some(role)
                && file
                    .map_or(role != Role::Pawn || from.file() == to.file(), |it| it == from.file())
                && rank.is_none_or(|rank| rank == from.rank())
                && (!capture || takes(position, m))
                && castling(position, m).is_none()
        }
        _ => false,
    }
}

/// To which side a legal ply castles: a king that goes to its own rook.
fn castling(position: &Position, m: Move) -> Option<CastlingSide> {
    let view = position.view();
    let Move::Step { from, to, promotion: None } = m else { return None };
    let king = view.board.role_at(from) == Some(Role::King);
    (king && view.board.by_color(view.turn).contains(to))
        .then(|| CastlingSide::from_king_side(from < to))
}

/// Whether a legal ply takes a man, be it in passing.
fn takes(position: &Position, m: Move) -> bool {
    let board = position.view().board;
    matches!(m, Move::Step { from, to, .. } if board.occupied().contains(to)
        || board.role_at(from) == Some(Role::Pawn) && from.file() != to.file())
}
