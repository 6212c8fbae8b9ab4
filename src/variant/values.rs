//! The values of keys.

use crate::rules::{Bitboard, Color, DrawOdds, EndValue, Role, Square, TurnOrder, Walling};

/// Why the value of a key was rejected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ValueError {
    /// The value has another form.
    #[error("expected {0}")]
    Expected(&'static str),
    /// The number is out of range.
    #[error("expected a number from {min} to {max}")]
    Range {
        /// The smallest number.
        min: usize,
        /// The largest number.
        max: usize,
    },
    /// The piece cannot have this letter.
    #[error("expected \"{0}\" or \"-\"")]
    PieceLetter(char),
    /// The letter is not a piece.
    #[error("unknown piece '{0}'")]
    UnknownPiece(char),
    /// The letter of the commoner is that of the king.
    #[error("king already has the letter k")]
    KingLetter,
    /// The key requires a game without royal kings.
    #[error("requires commoner = k instead of king = k")]
    RoyalKing,
    /// The engine does not support the value.
    #[error("not supported: {0}")]
    Unsupported(&'static str),
    /// The key is unknown.
    #[error("unknown key")]
    UnknownKey,
}

type Parsed<T> = Result<T, ValueError>;

fn expected<T>(form: &'static str) -> Parsed<T> {
    Err(ValueError::Expected(form))
}

pub(super) fn text(value: &str) -> Parsed<String> {
    Ok(value.to_owned())
}

/// The value of the key `family`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FamilyName {
    /// `chess`.
    Chess,
    /// `lines`.
    ConnectN,
    /// `bughouse`.
    Bughouse,
}

pub(super) fn family(value: &str) -> Parsed<FamilyName> {
    match value {
        "chess" => Ok(FamilyName::Chess),
        "lines" => Ok(FamilyName::ConnectN),
        "bughouse" => Ok(FamilyName::Bughouse),
        _ => expected("chess, lines or bughouse"),
    }
}

/// Parses the value of the key `search`: whether it is `alphabeta`.
pub(super) fn is_alpha_beta(value: &str) -> Parsed<bool> {
    match value {
        "alphabeta" => Ok(true),
        "mcts" => Ok(false),
        _ => expected("alphabeta or mcts"),
    }
}

/// Parses a number from `min` to `max`.
pub(super) fn number_in(value: &str, min: usize, max: usize) -> Parsed<usize> {
    match value.parse() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => Err(ValueError::Range { min, max }),
    }
}

/// Parses the number of files or ranks of a board: a number, or the letter of the last file.
pub(super) fn size(value: &str) -> Parsed<usize> {
    match file(value) {
        Ok(file) => Ok(file + 1),
        Err(_) => number_in(value, 1, 8),
    }
}

/// Parses a rank from 1 to 8. Returns it counted from 0.
pub(super) fn rank_index(value: &str) -> Parsed<usize> {
    size(value).map(|rank| rank - 1)
}

pub(super) fn number(value: &str) -> Parsed<u32> {
    value.parse().or_else(|_| expected("a number"))
}

pub(super) fn flag(value: &str) -> Parsed<bool> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => expected("true or false"),
    }
}

/// Parses a file: its letter or number.
pub(super) fn file(value: &str) -> Parsed<usize> {
    match value.to_ascii_lowercase().as_bytes() {
        [letter @ b'a'..=b'h'] => Ok(usize::from(letter - b'a')),
        [digit @ b'1'..=b'8'] => Ok(usize::from(digit - b'1')),
        _ => expected("a file from a to h"),
    }
}

pub(super) fn walling(value: &str) -> Parsed<Option<Walling>> {
    match value {
        "none" => Ok(None),
        "duck" => Ok(Some(Walling::Duck)),
        "arrow" => Ok(Some(Walling::Arrow)),
        "past" => Ok(Some(Walling::Past)),
        "edge" => Ok(Some(Walling::Edge)),
        "static" => Ok(Some(Walling::Static)),
        _ => expected("duck, arrow, past, edge, static or none"),
    }
}

pub(super) fn end_value(value: &str) -> Parsed<EndValue> {
    match value {
        "win" => Ok(EndValue::Win),
        "draw" => Ok(EndValue::Draw),
        "loss" => Ok(EndValue::Loss),
        _ => expected("win, draw or loss"),
    }
}

pub(super) fn optional_end_value(value: &str) -> Parsed<Option<EndValue>> {
    if value == "none" { Ok(None) } else { end_value(value).map(Some) }
}

pub(super) fn draw_odds(value: &str) -> Parsed<Option<DrawOdds>> {
    match value {
        "none" => Ok(None),
        "whitedrawodds" => Ok(Some(DrawOdds::To(Color::White))),
        "blackdrawodds" => Ok(Some(DrawOdds::To(Color::Black))),
        "unweighted" => Ok(Some(DrawOdds::MorePieces)),
        _ => expected("unweighted, whitedrawodds, blackdrawodds or none"),
    }
}

pub(super) fn turn_order(value: &str) -> Parsed<TurnOrder> {
    match value {
        "timed" => Ok(TurnOrder::Timed),
        "fixed" => Ok(TurnOrder::Fixed),
        _ => expected("timed or fixed"),
    }
}

/// Parses whether a piece is in the game: its letter or "-".
pub(super) fn has_piece(value: &str, role: Role) -> Parsed<bool> {
    let letter = role.char();
    match value {
        "-" => Ok(false),
        _ if value.chars().eq([letter]) => Ok(true),
        _ => Err(ValueError::PieceLetter(letter)),
    }
}

/// Parses the letters of pieces, with or without spaces; "-" for none.
pub(super) fn pieces(value: &str) -> Parsed<Vec<Role>> {
    if value == "-" {
        return Ok(Vec::new());
    }
    value.chars().filter(|letter| *letter != ' ').map(piece).collect()
}

fn piece(letter: char) -> Parsed<Role> {
    Role::from_char(letter.to_ascii_lowercase()).ok_or(ValueError::UnknownPiece(letter))
}

/// Checks that the letters are those of pieces, as in the board of a FEN.
pub(super) fn fen_pieces(value: &str) -> Parsed<String> {
    value.chars().try_for_each(|letter| piece(letter).map(drop))?;
    Ok(value.to_owned())
}

/// Parses the letter of one piece, or "*" for any piece, which is `None`.
pub(super) fn piece_or_any(value: &str) -> Parsed<Option<Role>> {
    let mut letters = value.chars();
    match (letters.next(), letters.next()) {
        (Some('*'), None) => Ok(None),
        (Some(letter), None) => piece(letter).map(Some),
        _ => expected("the letter of one piece or \"*\""),
    }
}

/// Parses the letters of pieces, and whether "*" is among them.
pub(super) fn pieces_and_all(value: &str) -> Parsed<(Vec<Role>, bool)> {
    let letters = value.replace('*', "");
    Ok((pieces(&letters)?, letters != value))
}

/// Parses limits of pieces: "q:1 r:2".
pub(super) fn limits(value: &str) -> Parsed<Vec<(Role, u8)>> {
    let spaced = value.replace(':', " ");
    let words = spaced.split_ascii_whitespace().collect::<Vec<_>>();
    let limit = |pair: &[&str]| match *pair {
        [letter, count] => {
            let role = piece_or_any(letter).ok().flatten();
            role.zip(count.parse().ok())
        }
        _ => None,
    };
    match words.chunks(2).map(limit).collect() {
        Some(limits) => Ok(limits),
        None => expected("limits such as \"q:1 r:2\""),
    }
}

/// Parses castling rights as in a FEN. Returns king side and queen side for white and black.
pub(super) fn castling_sides(value: &str) -> Parsed<[[bool; 2]; 2]> {
    let mut sides = [[false; 2]; 2];
    for letter in value.chars().filter(|letter| *letter != '-') {
        match "KQkq".find(letter) {
            Some(index) => sides[index / 2][index % 2] = true,
            None => return expected("castling rights such as \"KQkq\""),
        }
    }
    Ok(sides)
}

/// The greatest rank of a region: that of Fairy-Stockfish's boards, so that sections for either size are read.
const MAX_REGION_RANK: usize = 10;
/// The form of a region.
const REGION: &str = "squares, ranks and files such as \"e4 *8 a*\"";

/// Parses squares, ranks and files: "e4 *8 a*".
pub(super) fn region(value: &str) -> Parsed<Bitboard> {
    let mut squares = Bitboard::EMPTY;
    for word in value.split_ascii_whitespace().take_while(|word| *word != "-") {
        let lower = word.to_ascii_lowercase();
        squares |= match (lower.strip_prefix('*'), lower.strip_suffix('*')) {
            (Some(digits), _) => match number_in(digits, 1, MAX_REGION_RANK) {
                Ok(number) => rank(number),
                Err(_) => return expected(REGION),
            },
            (None, Some(letter)) => {
                let wanted = file(letter)?;
                let is_on_file = |square: &Square| usize::from(square.file()) == wanted;
                Square::ALL.into_iter().filter(is_on_file).collect()
            }
            (None, None) => match Square::from_ascii(lower.as_bytes()) {
                Ok(square) => Bitboard::from_square(square),
                Err(_) => return expected(REGION),
            },
        };
    }
    Ok(squares)
}

/// Returns the squares of a rank, counted from 1, on 8 files.
pub(super) fn rank(rank: usize) -> Bitboard {
    let is_on_rank = |square: &Square| usize::from(square.rank()) + 1 == rank;
    Square::ALL.into_iter().filter(is_on_rank).collect()
}
