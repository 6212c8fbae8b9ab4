//! Text of moves and boards that is the same for every family of games.

use std::fmt::Write;

use shakmaty::{
    Bitboard, Board, ByColor, ByRole, CastlingMode, Color, File, Piece, Rank, Role, Square,
};

use super::{Anatomy, Move, Side, View};

/// Why a FEN was refused. Each quotes the text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FenError {
    /// A part of it cannot be read.
    #[error("bad FEN \"{fen}\": {reason}")]
    Syntax {
        /// The whole text.
        fen: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It can be read but is no position of the game.
    #[error("impossible position \"{fen}\": {reason}")]
    Illegal {
        /// The whole text.
        fen: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl FenError {
    pub(super) fn syntax(fen: &str, reason: impl ToString) -> FenError {
        FenError::Syntax { fen: fen.to_owned(), reason: reason.to_string() }
    }

    /// The same error of a text of which the one it quotes is a part.
    pub(super) fn within(self, fen: &str) -> FenError {
        match self {
            FenError::Syntax { reason, .. } => FenError::syntax(fen, reason),
            FenError::Illegal { reason, .. } => FenError::illegal(fen, reason),
        }
    }

    pub(super) fn illegal(fen: &str, reason: impl ToString) -> FenError {
        FenError::Illegal { fen: fen.to_owned(), reason: reason.to_string() }
    }
}

/// The move as UCI writes it, castling as king takes rook.
pub(super) fn uci(m: Move) -> String {
    match m {
        Move::Step { from, to, promotion: None } => format!("{from}{to}"),
        Move::Step { from, to, promotion: Some(role) } => format!("{from}{to}{}", role.char()),
        Move::Drop { role, to } => format!("{}@{to}", role.upper_char()),
        Move::Place(to) | Move::Wall(to) => to.to_string(),
        // These are written by the game of two tables.
        Move::Second(_) => format!("2{}", uci(m.split().1)),
        Move::Pass => "pass".to_owned(),
    }
}

/// Reads what [`uci`] writes; `None` for anything else.
pub(super) fn parse_uci(text: &str) -> Option<Move> {
    let square = |at: usize| Square::from_ascii(text.as_bytes().get(at..at + 2)?).ok();
    let role = |at: usize| Role::from_char(char::from(*text.as_bytes().get(at)?));
    Some(match text.len() {
        2 => Move::Place(square(0)?),
        4 if text.as_bytes()[1] == b'@' => Move::Drop { role: role(0)?, to: square(2)? },
        4 => Move::Step { from: square(0)?, to: square(2)?, promotion: None },
        5 => Move::Step { from: square(0)?, to: square(2)?, promotion: Some(role(4)?) },
        _ => return None,
    })
}

/// The board as text, ranks from the top, for people to read.
pub(super) fn diagram(view: View<'_>, anatomy: &Anatomy) -> String {
    let mut text = String::new();
    let line = format!(" +{}\n", "---+".repeat(anatomy.files));
    text.push_str(&line);
    for rank in (0..anatomy.ranks).rev() {
        for file in 0..anatomy.files {
            let piece = view.board.piece_at(square(file, rank));
            // Writing into a String cannot fail.
            let claimed = |side: &Side| view.cells[*side].contains(square(file, rank));
            let side = Side::all(anatomy.sides).find(claimed).map(Side::letter);
            let empty = if view.walls.contains(square(file, rank)) { '*' } else { ' ' };
            let _ = write!(text, " | {}", piece.map(Piece::char).or(side).unwrap_or(empty));
        }
        let _ = write!(text, " | {}\n{line}", rank + 1);
    }
    for file in 0..anatomy.files {
        let _ = write!(text, "   {}", char::from(b'a' + file as u8));
    }
    text.push('\n');
    if let Some(hands) = view.hands {
        let _ = writeln!(text, "\nIn hand: [{}]", self::hands(hands));
    }
    text
}

/// The men in hand, White's first, as they stand between brackets in a FEN.
pub(super) fn hands(hands: &ByColor<ByRole<u8>>) -> String {
    let mut text = String::new();
    for color in Color::ALL {
        for role in Role::ALL.into_iter().rev() {
            let count = usize::from(hands[color][role]);
            text.extend(std::iter::repeat_n(role.of(color).char(), count));
        }
    }
    text
}

/// The castling field of a FEN: `KQkq`, or the rooks' files where castling is that of Chess960;
/// `kings` are those that castle.
pub(super) fn castling(
    board: &Board,
    rights: Bitboard,
    kings: ByColor<Option<Square>>,
    mode: CastlingMode,
) -> String {
    let mut text = String::new();
    for color in Color::ALL {
        let rooks = rights & board.by_color(color);
        let king = kings[color];
        // From the h-file on, as the field writes them.
        for rook in rooks.into_iter().rev() {
            let letter = match mode {
                CastlingMode::Chess960 => rook.file().char(),
                CastlingMode::Standard if Some(rook) > king => 'k',
                CastlingMode::Standard => 'q',
            };
            text.push(color.fold_wb(letter.to_ascii_uppercase(), letter));
        }
    }
    if text.is_empty() { "-".to_owned() } else { text }
}

/// The square of a file and a rank, both below 8 and counted from 0.
pub(super) fn square(file: usize, rank: usize) -> Square {
    Square::from_coords(File::new(file as u32), Rank::new(rank as u32))
}

/// The squares of a board of `files x ranks` in the corner of a1.
pub(super) fn area(files: usize, ranks: usize) -> Bitboard {
    let squares = |rank| (0..files).map(move |file| square(file, rank));
    (0..ranks).flat_map(squares).collect()
}
