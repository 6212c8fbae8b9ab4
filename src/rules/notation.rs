//! Text of moves and boards that is the same for every family of games.

use std::fmt::{self, Write};

use shakmaty::{Bitboard, ByColor, ByRole, Color, File, Piece, Rank, Role, Square};

use super::{GameSpec, Move, Side, Table, View};

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

/// A part of a FEN that cannot be true and was left out, so that the rest could be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FenRepair {
    /// The board of bughouse in whose FEN it stood; `None` in games of one board.
    pub board: Option<Table>,
    /// The part that was left out.
    pub dropped: DroppedPart,
}

/// A part of the FEN of one board that a [`FenRepair`] leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DroppedPart {
    /// A castling right without its king or rook.
    CastlingRight {
        /// The letter in the castling field.
        right: char,
        /// What is wrong with it.
        fault: CastlingFault,
    },
    /// An en passant square over which no pawn can just have gone.
    EnPassant {
        /// The square.
        square: Square,
    },
}

/// What is wrong with a castling right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CastlingFault {
    /// The king is not on its home square.
    NoKing {
        /// The square.
        at: Square,
    },
    /// There is no king on the rank of castling, or more than one and none of them at home.
    NoKingOnRank {
        /// The rank.
        rank: Rank,
    },
    /// There is no rook on the square that the right names.
    NoRook {
        /// The square.
        at: Square,
    },
    /// In Chess960, there is no rook on that side of the king.
    NoRookBeside {
        /// The square of the king.
        king: Square,
        /// Whether the side is that of the h-file.
        king_side: bool,
    },
    /// Another rook has the right to castle to the same side.
    OtherRook {
        /// Its square.
        at: Square,
    },
}

impl fmt::Display for FenRepair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.board {
            Some(board) => write!(f, "board {board:?}: {}", self.dropped),
            None => self.dropped.fmt(f),
        }
    }
}

impl fmt::Display for DroppedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DroppedPart::CastlingRight { right, fault } => {
                write!(f, "castling right \"{right}\" dropped: {fault}")
            }
            DroppedPart::EnPassant { square } => {
                write!(f, "en passant square \"{square}\" dropped: no pawn has just passed it")
            }
        }
    }
}

impl fmt::Display for CastlingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CastlingFault::NoKing { at } => write!(f, "no king on {at}"),
            CastlingFault::NoKingOnRank { rank } => {
                write!(f, "no king that castles on rank {}", rank.char())
            }
            CastlingFault::NoRook { at } => write!(f, "no rook on {at}"),
            CastlingFault::NoRookBeside { king, king_side } => {
                let file = if *king_side { 'h' } else { 'a' };
                write!(f, "no rook on the {file}-file side of the king on {king}")
            }
            CastlingFault::OtherRook { at } => write!(f, "the rook on {at} castles to this side"),
        }
    }
}

/// The number of fields that stand before EPD operations, at least.
const EPD_FIELDS: usize = 4;

/// Returns the FEN without the EPD operations after it, such as `bm Nf3; id "1";`, and without a `;`
/// at its end. The last `;` may be missing if the first operation is one that the standard defines.
///
/// # Errors
/// `FenError::Syntax` if a quoted string of the operations has no end.
pub(super) fn without_operations(whole: &str) -> Result<&str, FenError> {
    let bytes = whole.as_bytes();
    let begins_field = |&at: &usize| {
        !bytes[at].is_ascii_whitespace() && (at == 0 || bytes[at - 1].is_ascii_whitespace())
    };
    let mut later = (0..bytes.len()).filter(begins_field).skip(EPD_FIELDS);
    let operations = later.find(|&at| bytes[at].is_ascii_alphabetic());
    let (fen, operations) = whole.split_at(operations.unwrap_or(whole.len()));
    let name = operations.split([';', ' ', '\t']).next().unwrap_or_default();
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let known = operations.trim_end().ends_with(';') || is_epd_operation(name);
    let fen = if is_name && known { fen } else { whole };
    if operations.matches('"').count() % 2 == 1 {
        return Err(FenError::syntax(whole, "a quoted string has no end"));
    }
    Ok(fen.trim_end_matches(|c: char| c == ';' || c.is_ascii_whitespace()))
}

/// Returns `true` if the EPD standard defines an operation of that name.
fn is_epd_operation(name: &str) -> bool {
    match name.as_bytes() {
        [b'c' | b'v', digit] => digit.is_ascii_digit(),
        _ => [
            "acd",
            "acn",
            "acs",
            "am",
            "bm",
            "ce",
            "dm",
            "draw_accept",
            "draw_claim",
            "draw_offer",
            "draw_reject",
            "eco",
            "fmvn",
            "hmvc",
            "id",
            "nic",
            "noop",
            "pm",
            "pv",
            "rc",
            "resign",
            "sm",
            "tcgs",
            "tcri",
            "tcsi",
        ]
        .contains(&name),
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

/// Returns `O-O` or `O-O-O` for a castling that is written so, also with zeros or small letters.
pub(super) fn castling(text: &str) -> Option<&'static str> {
    match text.replace(['0', 'o'], "O").as_str() {
        "O-O" => Some("O-O"),
        "O-O-O" => Some("O-O-O"),
        _ => None,
    }
}

/// The board as text, ranks from the top, for people to read.
pub(super) fn diagram(view: View<'_>, game_spec: &GameSpec) -> String {
    let mut text = String::new();
    let line = format!(" +{}\n", "---+".repeat(game_spec.files));
    text.push_str(&line);
    for rank in (0..game_spec.ranks).rev() {
        for file in 0..game_spec.files {
            let piece = view.board.piece_at(square(file, rank));
            // Writing into a String cannot fail.
            let claimed = |side: &Side| view.cells[*side].contains(square(file, rank));
            let side = Side::all(game_spec.sides).find(claimed).map(Side::letter);
            let empty = if view.walls.contains(square(file, rank)) { '*' } else { ' ' };
            let _ = write!(text, " | {}", piece.map(Piece::char).or(side).unwrap_or(empty));
        }
        let _ = write!(text, " | {}\n{line}", rank + 1);
    }
    for file in 0..game_spec.files {
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

/// The square of a file and a rank, both below 8 and counted from 0.
pub(super) fn square(file: usize, rank: usize) -> Square {
    Square::from_coords(File::new(file as u32), Rank::new(rank as u32))
}

/// The squares of a board of `files x ranks` in the corner of a1.
pub(super) fn area(files: usize, ranks: usize) -> Bitboard {
    let squares = |rank| (0..files).map(move |file| square(file, rank));
    (0..ranks).flat_map(squares).collect()
}
