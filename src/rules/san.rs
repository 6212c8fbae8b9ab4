//! Standard algebraic notation: `Nbd2`, `exd6`, `e8=Q`, `O-O`, `N@f3`.
//!
//! shakmaty parses and writes the text of a single ply; the move is found among the legal moves of the position,
//! in any variant of chess. A turn of two plies has the square of the wall after a comma, as in Fairy-Stockfish:
//! `Nf3,d5`. Turns without such a text (the cells of connection games, walls that are turns of their own) are
//! written in the notation of UCI, which is accepted for every turn.
//!
//! Marks of check, mate and annotation are ignored when reading, and not written.

use super::{BoardId, Move, MoveList, Position, Role};
use shakmaty::CastlingSide;
use shakmaty::san::San;

/// Why a text names no turn.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SanError {
    /// The text is no legal turn.
    #[error("\"{text}\" is not a legal move in \"{fen}\"")]
    Illegal {
        /// The text.
        text: String,
        /// The position.
        fen: String,
    },
    /// The text fits more than one legal turn.
    #[error("\"{text}\" is ambiguous in \"{fen}\"")]
    Ambiguous {
        /// The text.
        text: String,
        /// The position.
        fen: String,
    },
}

/// Returns the text of a legal turn, which [`read`] understands in this position.
pub fn write(position: &Position, turn: &[Move]) -> String {
    let [first, rest @ ..] = turn else { return String::new() };
    let Some(mut text) = ply_text(position, *first) else { return uci_text(position, turn) };
    for ply in rest {
        let Move::Wall(square) = ply else { return uci_text(position, turn) };
        text += &format!(",{square}");
    }
    text
}

/// Returns the plies of a turn in the notation of UCI, without the parentheses of bughouse turns: in PGN they
/// begin a variation.
fn uci_text(position: &Position, turn: &[Move]) -> String {
    let mut position = position.clone();
    let texts = turn.iter().map(|&ply| {
        let text = position.move_text(ply);
        position.play_unchecked(ply);
        text
    });
    texts.collect::<Vec<_>>().join(",")
}

/// Returns the legal turn that `text` names, in algebraic notation or in the notation of UCI.
///
/// # Errors
/// [`SanError::Illegal`] or [`SanError::Ambiguous`].
pub fn read(position: &Position, text: &str) -> Result<Vec<Move>, SanError> {
    let bare = text.trim_end_matches(['+', '#', '!', '?']);
    let mut parts = bare.split(',');
    let mut matching = parts.next().map_or_else(Vec::new, |part| matching_plies(position, part));
    if matching.len() > 1 {
        return Err(SanError::Ambiguous { text: text.to_owned(), fen: position.fen() });
    }
    let turn = matching.pop().and_then(|first| {
        let mut position = position.clone();
        let mut turn = vec![first];
        position.play_unchecked(first);
        for part in parts {
            let wall = parse_wall(&position, part)?;
            position.play_unchecked(wall);
            turn.push(wall);
        }
        if position.mid_turn() { None } else { Some(turn) }
    });
    turn.or_else(|| position.parse_turn(bare))
        .ok_or_else(|| SanError::Illegal { text: text.to_owned(), fen: position.fen() })
}

fn legal_moves(position: &Position) -> MoveList {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    legal
}

/// Returns the legal plies that match a text without a comma.
fn matching_plies(position: &Position, text: &str) -> Vec<Move> {
    let text = text.trim_end_matches(['+', '#']);
    let san = match text {
        "0-0" => Some(San::Castle(CastlingSide::KingSide)),
        "0-0-0" => Some(San::Castle(CastlingSide::QueenSide)),
        _ => San::from_ascii(text.as_bytes()).ok(),
    };
    let Some(san) = san else { return MoveList::new() };
    let mut plies = legal_moves(position);
    plies.retain(|&m| matches_san(position, san, m));
    plies
}

/// Returns the wall move that a text names: by its square, or in the notation of UCI.
fn parse_wall(position: &Position, text: &str) -> Option<Move> {
    let named = |m: &Move| match m {
        Move::Wall(square) => square.to_string() == text || position.move_text(*m) == text,
        _ => false,
    };
    legal_moves(position).into_iter().find(named)
}

/// Returns the shortest unambiguous text of a legal ply; `None` if it has none, as on the second of two boards.
fn ply_text(position: &Position, m: Move) -> Option<String> {
    if m.board() != BoardId::A {
        return None;
    }
    let Move::Step { from, to, promotion, .. } = m else {
        let Move::Drop { role, to, .. } = m else { return None };
        return Some(San::Put { role, to }.to_string());
    };
    if let Some(side) = castling(position, m) {
        return Some(San::Castle(side).to_string());
    }
    let role = position.board().pieces.role_at(from)?;
    let capture = is_capture(position, m);
    let legal = legal_moves(position);
    let file = Some(from.file());
    let rank = Some(from.rank());
    let forms = [(None, None), (file, None), (None, rank), (file, rank)].into_iter();
    // A capture by a pawn always has its file.
    let forms = forms.filter(|(file, _)| file.is_some() || !(capture && role == Role::Pawn));
    let mut sans =
        forms.map(|(file, rank)| San::Normal { role, file, rank, capture, to, promotion });
    let is_unambiguous =
        |san: &San| legal.iter().all(|&other| (other == m) == matches_san(position, *san, other));
    sans.find(is_unambiguous).map(|san| san.to_string())
}

/// Returns `true` if `san` matches a legal ply. The `x` of a capture is optional.
fn matches_san(position: &Position, san: San, m: Move) -> bool {
    if m.board() != BoardId::A {
        return false;
    }
    match (san, m) {
        (San::Castle(side), m) => castling(position, m) == Some(side),
        (San::Put { role, to }, m) => m == Move::drop(role, to),
        (
            San::Normal { role, file, rank, capture, to, promotion },
            Move::Step { from, to: target, promotion: promoted_role, .. },
        ) => {
            to == target
                && promotion == promoted_role
                && position.board().pieces.role_at(from) == Some(role)
                && file
                    .map_or(role != Role::Pawn || from.file() == to.file(), |it| it == from.file())
                && rank.is_none_or(|rank| rank == from.rank())
                && (!capture || is_capture(position, m))
                && castling(position, m).is_none()
        }
        _ => false,
    }
}

/// Returns the side to which a legal ply castles: a king that moves to its own rook.
fn castling(position: &Position, m: Move) -> Option<CastlingSide> {
    let board = position.board();
    let Move::Step { from, to, promotion: None, .. } = m else { return None };
    let king = board.pieces.role_at(from) == Some(Role::King);
    (king && board.pieces.by_color(board.turn).contains(to))
        .then(|| CastlingSide::from_king_side(from < to))
}

/// Returns `true` if a legal ply is a capture, also en passant.
fn is_capture(position: &Position, m: Move) -> bool {
    let pieces = position.board().pieces;
    matches!(m, Move::Step { from, to, .. } if pieces.occupied().contains(to)
        || pieces.role_at(from) == Some(Role::Pawn) && from.file() != to.file())
}
