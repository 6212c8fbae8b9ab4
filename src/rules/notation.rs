//! Notation that all families of games share: FEN errors, UCI moves, diagrams.

use std::fmt::{self, Write};

use shakmaty::{Bitboard, ByColor, ByRole, Color, File, Piece, Rank, Role, Square};

use super::{BoardId, GameSpec, Move, Side, View};

/// Why a FEN was rejected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FenError {
    /// The text cannot be parsed.
    #[error("bad FEN \"{fen}\": {fault}")]
    Syntax {
        /// The whole text.
        fen: String,
        /// What is wrong with it.
        fault: FenFault,
    },
    /// The text can be parsed, but is not a position of the game.
    #[error("impossible position \"{fen}\": {fault}")]
    Illegal {
        /// The whole text.
        fen: String,
        /// What is wrong with it.
        fault: FenFault,
    },
}

impl FenError {
    pub(super) fn syntax(fen: &str, fault: impl Into<FenFault>) -> FenError {
        FenError::Syntax { fen: fen.to_owned(), fault: fault.into() }
    }

    pub(super) fn illegal(fen: &str, fault: impl Into<FenFault>) -> FenError {
        FenError::Illegal { fen: fen.to_owned(), fault: fault.into() }
    }

    /// Replaces the quoted text by `fen`, of which it is a part.
    pub(super) fn within(self, fen: &str) -> FenError {
        match self {
            FenError::Syntax { fault, .. } => FenError::syntax(fen, fault),
            FenError::Illegal { fault, .. } => FenError::illegal(fen, fault),
        }
    }
}

/// What is wrong with a FEN.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FenFault {
    /// The board has another number of ranks.
    #[error("expected {expected} ranks, found {found}")]
    RankCount {
        /// The number of ranks of the game.
        expected: usize,
        /// The number of ranks in the text.
        found: usize,
    },
    /// A rank has another number of files.
    #[error("expected {expected} files in rank \"{rank}\", found {found}")]
    FileCount {
        /// The text of the rank.
        rank: String,
        /// The number of files of the game.
        expected: usize,
        /// The number of files in the text.
        found: usize,
    },
    /// The letter is not a piece of the game.
    #[error("invalid piece '{0}'")]
    Piece(char),
    /// A `~` does not follow a piece.
    #[error("'~' does not follow a piece")]
    PromotedMark,
    /// There is more than one duck.
    #[error("more than one duck")]
    DuckCount,
    /// The list of pieces in hand has no `]`.
    #[error("missing ']' after the pieces in hand")]
    UnclosedPocket,
    /// The letter is not a piece that can be in hand.
    #[error("invalid piece in hand '{0}'")]
    PocketPiece(char),
    /// Too many pieces of one kind are in hand.
    #[error("too many pieces in hand")]
    PocketCount,
    /// The side to move is unknown.
    #[error("invalid side to move \"{0}\"")]
    SideToMove(String),
    /// The castling field has other letters than those of castling rights.
    #[error("invalid castling rights \"{0}\", expected KQkq or the files of the rooks")]
    Castling(String),
    /// The en passant field is not a square of the board.
    #[error("invalid en passant square \"{0}\"")]
    EnPassant(String),
    /// The en passant field has a square in a game without en passant.
    #[error("invalid en passant square \"{0}\", expected \"-\" in a game without en passant")]
    NoEnPassant(String),
    /// The remaining or given checks cannot be parsed.
    #[error("invalid checks \"{0}\", expected for example \"3+3\" or \"+0+0\"")]
    Checks(String),
    /// A counter is not a number.
    #[error("invalid {name} \"{text}\"")]
    Counter {
        /// The name of the counter.
        name: &'static str,
        /// The text of the field.
        text: String,
    },
    /// There is a field after the last one.
    #[error("unexpected \"{0}\" after the last field")]
    TrailingText(String),
    /// A quoted string of an EPD operation is not closed.
    #[error("missing '\"' at the end of a quoted string")]
    UnclosedQuote,
    /// A FEN of bughouse does not have two boards.
    #[error("expected the FENs of two boards as \"A|B\"")]
    BoardCount,
    /// A word after the two boards of bughouse is unknown.
    #[error("unexpected \"{0}\" after the boards")]
    BoardSuffix(String),
    /// A FEN of bughouse has another number of clocks than 4.
    #[error("expected 4 clocks, found {0}")]
    ClockCount(usize),
    /// A side has another number of kings than at the start of a game.
    #[error("{color} has {count} kings")]
    KingCount {
        /// The side.
        color: Color,
        /// The number of its kings, pieces in hand included.
        count: usize,
    },
    /// A pawn is on a square on which it must have been promoted.
    #[error("a {0} pawn is on a promotion square")]
    PawnOnPromotionSquare(Color),
    /// With gravity, a piece is above an empty cell.
    #[error("a piece is above an empty cell")]
    FloatingPiece,
    /// More than one side has a winning row.
    #[error("more than one side has won")]
    TwoWinners,
    /// Another parser rejected the text.
    #[error("{0}")]
    Other(String),
}

impl From<shakmaty::fen::ParseFenError> for FenFault {
    fn from(error: shakmaty::fen::ParseFenError) -> FenFault {
        FenFault::Other(error.to_string())
    }
}

impl From<&str> for FenFault {
    fn from(text: &str) -> FenFault {
        FenFault::Other(text.to_owned())
    }
}

/// An impossible part of a FEN that was dropped, so that the rest could be parsed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FenRepair {
    /// The board of bughouse; `None` in games of one board.
    pub board: Option<BoardId>,
    /// The dropped part.
    pub dropped: DroppedPart,
}

/// A part of the FEN of one board that can be dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DroppedPart {
    /// A castling right without its king or rook.
    CastlingRight {
        /// The letter in the castling field.
        right: char,
        /// What is wrong with it.
        fault: CastlingFault,
    },
    /// An en passant square that no pawn can just have passed.
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
    /// There is no king on the castling rank, or there are several and none on its home square.
    NoKingOnRank {
        /// The rank.
        rank: Rank,
    },
    /// There is no rook on the named square.
    NoRook {
        /// The square.
        at: Square,
    },
    /// In Chess960, there is no rook on that side of the king.
    NoRookOnSide {
        /// The square of the king.
        king: Square,
        /// Whether the side is that of the h-file.
        king_side: bool,
    },
    /// Another rook already has the right to castle on this side.
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
                write!(f, "no castling king on rank {}", rank.char())
            }
            CastlingFault::NoRook { at } => write!(f, "no rook on {at}"),
            CastlingFault::NoRookOnSide { king, king_side } => {
                let file = if *king_side { 'h' } else { 'a' };
                write!(f, "no rook on the {file}-file side of the king on {king}")
            }
            CastlingFault::OtherRook { at } => {
                write!(f, "the rook on {at} already has the right on this side")
            }
        }
    }
}

/// The minimum number of fields before the operations of an EPD record.
const MIN_EPD_FIELDS: usize = 4;

/// Removes the EPD operations after a FEN, such as `bm Nf3; id "1";`, and a `;` at its end. The last
/// `;` may be missing if the EPD standard defines the first operation.
///
/// # Errors
/// `FenError::Syntax` if a quoted string is not closed.
pub(super) fn without_operations(whole: &str) -> Result<&str, FenError> {
    let bytes = whole.as_bytes();
    let begins_field = |&at: &usize| {
        !bytes[at].is_ascii_whitespace() && (at == 0 || bytes[at - 1].is_ascii_whitespace())
    };
    let mut later = (0..bytes.len()).filter(begins_field).skip(MIN_EPD_FIELDS);
    let operations = later.find(|&at| bytes[at].is_ascii_alphabetic());
    let (fen, operations) = whole.split_at(operations.unwrap_or(whole.len()));
    let name = operations.split([';', ' ', '\t']).next().unwrap_or_default();
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let known = operations.trim_end().ends_with(';') || is_epd_operation(name);
    let fen = if is_name && known { fen } else { whole };
    if operations.matches('"').count() % 2 == 1 {
        return Err(FenError::syntax(whole, FenFault::UnclosedQuote));
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

/// Returns a move in UCI notation, with castling as king takes rook and without the board.
pub(super) fn uci(m: Move) -> String {
    match m {
        Move::Step { from, to, promotion: None, .. } => format!("{from}{to}"),
        Move::Step { from, to, promotion: Some(role), .. } => format!("{from}{to}{}", role.char()),
        Move::Drop { role, to, .. } => format!("{}@{to}", role.upper_char()),
        Move::Place(to) | Move::Wall(to) => to.to_string(),
        Move::Pass => "pass".to_owned(),
    }
}

/// Parses the notation of [`uci`]. Returns `None` for other text.
pub(super) fn parse_uci(text: &str) -> Option<Move> {
    let square = |at: usize| Square::from_ascii(text.as_bytes().get(at..at + 2)?).ok();
    let role = |at: usize| Role::from_char(char::from(*text.as_bytes().get(at)?));
    Some(match text.len() {
        2 => Move::Place(square(0)?),
        4 if text.as_bytes()[1] == b'@' => Move::drop(role(0)?, square(2)?),
        4 => Move::step(square(0)?, square(2)?, None),
        5 => Move::step(square(0)?, square(2)?, Some(role(4)?)),
        _ => return None,
    })
}

/// Normalises castling in SAN, also with zeros or small letters. Returns `None` for other text.
pub(super) fn castling(text: &str) -> Option<&'static str> {
    match text.replace(['0', 'o'], "O").as_str() {
        "O-O" => Some("O-O"),
        "O-O-O" => Some("O-O-O"),
        _ => None,
    }
}

/// Returns a diagram of the board, ranks from the top.
pub(super) fn diagram(view: &View<'_>, game_spec: &GameSpec) -> String {
    let board = &view.boards[0];
    let mut text = String::new();
    let line = format!(" +{}\n", "---+".repeat(game_spec.files));
    text.push_str(&line);
    for rank in (0..game_spec.ranks).rev() {
        for file in 0..game_spec.files {
            let piece = board.pieces.piece_at(square(file, rank));
            // Writing into a String cannot fail.
            let here = square(file, rank);
            let owner = Side::all(game_spec.sides).find(|side| view.cells[*side].contains(here));
            let side = owner.map(Side::letter);
            let empty = if board.walls.contains(here) { '*' } else { ' ' };
            let _ = write!(text, " | {}", piece.map(Piece::char).or(side).unwrap_or(empty));
        }
        let _ = write!(text, " | {}\n{line}", rank + 1);
    }
    for file in 0..game_spec.files {
        let _ = write!(text, "   {}", char::from(b'a' + file as u8));
    }
    text.push('\n');
    if let Some(hands) = board.hands {
        let _ = writeln!(text, "\nIn hand: [{}]", self::hands(hands));
    }
    text
}

/// Returns the pieces in hand as they are written between brackets in a FEN, White's first.
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

/// Returns the square of a file and a rank, both counted from 0 and below 8.
pub(super) fn square(file: usize, rank: usize) -> Square {
    Square::from_coords(File::new(file as u32), Rank::new(rank as u32))
}

/// Returns the squares of a board of `files` x `ranks` squares in the corner of a1.
pub(super) fn area(files: usize, ranks: usize) -> Bitboard {
    let squares = |rank| (0..files).map(move |file| square(file, rank));
    (0..ranks).flat_map(squares).collect()
}
