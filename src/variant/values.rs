//! How the values of keys are written.

use crate::rules::{Bitboard, Color, Odds, Role, Square, Verdict, Walling};

type Read<T> = Result<T, String>;

pub(super) fn text(value: &str) -> Read<String> {
    Ok(value.to_owned())
}

/// The family of a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Chess.
    Chess,
    /// Rows.
    ConnectN,
    /// Chess at two tables.
    Tables,
}

pub(super) fn family(value: &str) -> Read<Kind> {
    match value {
        "chess" => Ok(Kind::Chess),
        "lines" => Ok(Kind::ConnectN),
        "bughouse" => Ok(Kind::Tables),
        _ => Err("none of chess, lines, bughouse".into()),
    }
}

/// Files or ranks of a board: a number, or a file's letter.
pub(super) fn size(value: &str) -> Read<usize> {
    let letter = file(value).ok().map(|file| file + 1);
    let size = letter.or_else(|| value.parse().ok()).filter(|size| (1..=8).contains(size));
    size.ok_or_else(|| "not from 1 to 8".into())
}

/// A rank from 1 to 8, counted from 0.
pub(super) fn rank_index(value: &str) -> Read<usize> {
    size(value).map(|rank| rank - 1)
}

pub(super) fn number(value: &str) -> Read<u32> {
    value.parse().map_err(|_| "not a number".to_owned())
}

pub(super) fn flag(value: &str) -> Read<bool> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("neither true nor false".into()),
    }
}

/// A file: its letter, or its number.
pub(super) fn file(value: &str) -> Read<usize> {
    let file = match value.to_ascii_lowercase().as_bytes() {
        [letter @ b'a'..=b'h'] => Some(usize::from(letter - b'a')),
        [digit @ b'1'..=b'8'] => Some(usize::from(digit - b'1')),
        _ => None,
    };
    file.ok_or_else(|| "no file from a to h".into())
}

/// The rule of walls, if there is one.
pub(super) fn walling(value: &str) -> Read<Option<Walling>> {
    Ok(Some(match value {
        "none" => return Ok(None),
        "duck" => Walling::Duck,
        "arrow" => Walling::Arrow,
        "past" => Walling::Past,
        "edge" => Walling::Edge,
        "static" => Walling::Static,
        _ => return Err("none of duck, arrow, past, edge, static, none".into()),
    }))
}

pub(super) fn verdict(value: &str) -> Read<Verdict> {
    match value {
        "win" => Ok(Verdict::Win),
        "draw" => Ok(Verdict::Draw),
        "loss" => Ok(Verdict::Loss),
        _ => Err("neither win, draw nor loss".into()),
    }
}

pub(super) fn maybe_verdict(value: &str) -> Read<Option<Verdict>> {
    if value == "none" { Ok(None) } else { verdict(value).map(Some) }
}

/// Who wins draws, if anybody does.
pub(super) fn odds(value: &str) -> Read<Option<Odds>> {
    match value {
        "none" => Ok(None),
        "whitedrawodds" => Ok(Some(Odds::To(Color::White))),
        "blackdrawodds" => Ok(Some(Odds::To(Color::Black))),
        "unweighted" => Ok(Some(Odds::More)),
        _ => Err("none of unweighted, whitedrawodds, blackdrawodds, none".into()),
    }
}

/// Whether a man is in the game: its letter, or "-".
pub(super) fn is_there(value: &str, role: Role) -> Read<bool> {
    let letter = role.char();
    match value {
        "-" => Ok(false),
        _ if value.chars().eq([letter]) => Ok(true),
        _ => Err(format!("only \"{letter}\" and \"-\" are known, for the man that chess has")),
    }
}

/// The letters of men, with or without spaces; "-" for none.
pub(super) fn kinds(value: &str) -> Read<Vec<Role>> {
    if value == "-" {
        return Ok(Vec::new());
    }
    value.chars().filter(|letter| *letter != ' ').map(kind).collect()
}

fn kind(letter: char) -> Read<Role> {
    Role::from_char(letter.to_ascii_lowercase()).ok_or_else(|| format!("'{letter}' is no man"))
}

/// The letter of one man, or `None` for all men: "*".
pub(super) fn kind_or_all(value: &str) -> Read<Option<Role>> {
    let mut letters = value.chars();
    match (letters.next(), letters.next()) {
        (Some('*'), None) => Ok(None),
        (Some(letter), None) => kind(letter).map(Some),
        _ => Err("not the letter of one man, nor \"*\"".into()),
    }
}

/// Some kinds of men, and whether all of them together are meant as well: `*`.
pub(super) fn kinds_or_all(value: &str) -> Read<(Vec<Role>, bool)> {
    let some = value.replace('*', "");
    Ok((kinds(&some)?, some != value))
}

/// How many of some men: "q:1 r:2".
pub(super) fn limits(value: &str) -> Read<Vec<(Role, u8)>> {
    let spaced = value.replace(':', " ");
    let words = spaced.split_ascii_whitespace().collect::<Vec<_>>();
    let read = |pair: &[&str]| match *pair {
        [letter, count] => {
            let role = kinds(letter).ok().and_then(|roles| roles.first().copied());
            role.zip(count.parse().ok())
        }
        _ => None,
    };
    let limits = words.chunks(2).map(read).collect::<Option<_>>();
    limits.ok_or_else(|| "limits are said as \"q:1 r:2\"".into())
}

/// Sides of castling, as a FEN has them: for White and Black, the king's and the queen's.
pub(super) fn castlings(value: &str) -> Read<[[bool; 2]; 2]> {
    let mut sides = [[false; 2]; 2];
    for letter in value.chars().filter(|letter| *letter != '-') {
        let place = "KQkq".find(letter).ok_or("sides of castling are said as \"KQkq\"")?;
        sides[place / 2][place % 2] = true;
    }
    Ok(sides)
}

/// Squares, whole ranks and whole files, as `e4 *8 a*`.
pub(super) fn region(value: &str) -> Read<Bitboard> {
    let mut squares = Bitboard::EMPTY;
    for word in value.split_ascii_whitespace().take_while(|word| *word != "-") {
        let lower = word.to_ascii_lowercase();
        squares |= match (lower.strip_prefix('*'), lower.strip_suffix('*')) {
            (Some(digits), _) => rank(number(digits).map_or(0, |rank| rank as usize)),
            (None, Some(letter)) => {
                let wanted = file(letter)?;
                let on = |square: &Square| usize::from(square.file()) == wanted;
                Square::ALL.into_iter().filter(on).collect()
            }
            (None, None) => match Square::from_ascii(lower.as_bytes()) {
                Ok(square) => Bitboard::from_square(square),
                Err(_) => return Err("squares, ranks and files are said as \"e4 *8 a*\"".into()),
            },
        };
    }
    Ok(squares)
}

/// The squares of a rank of 8 files, counted from 1.
pub(super) fn rank(rank: usize) -> Bitboard {
    let in_rank = |square: &Square| usize::from(square.rank()) + 1 == rank;
    Square::ALL.into_iter().filter(in_rank).collect()
}
