//! The axes of a game of chess, from the keys of its section. Where a key is missing, its value is
//! what Fairy-Stockfish would take.

use super::section::{IniError, Section};
use crate::rules::{
    Axes, Bitboard, ByColor, Castling, Color, Drops, Extinction, Role, Square, Verdict,
};

/// Takes the keys of a game from its section.
pub(super) fn read(section: &mut Section<'_>) -> Result<Axes, IniError> {
    let files = section.take("maxFile", size)?.unwrap_or(8);
    let ranks = section.take("maxRank", size)?.unwrap_or(8);
    let (roles, royal) = men(section)?;
    let has_pawns = roles.contains(&Role::Pawn);
    let last = ByColor { white: rank(8), black: rank(1) };
    let promotion_area = regions(section, "promotionRegion", last)?;
    let promotions = section.take("promotionPieceTypes", kinds)?;
    let mut promotions = promotions.unwrap_or_else(orthodox_promotions);
    promotions.retain(|role| has_pawns && roles.contains(role));
    let drops = drops(section, ranks, promotion_area)?;
    let blast = blast(section, royal, drops)?;
    Ok(Axes {
        files,
        ranks,
        royal,
        extinction: extinction(section)?,
        promotions,
        promotion_area,
        double_step: double_step(section, has_pawns)?,
        castling: castling(section, files, royal, &roles)?,
        checkmate: section.take("checkmateValue", verdict)?.unwrap_or(Verdict::Loss),
        stalemate_by_men: section.take("stalematePieceCount", flag)?.unwrap_or(false),
        must_capture: section.take("mustCapture", flag)?.unwrap_or(false),
        stalemate: section.take("stalemateValue", verdict)?.unwrap_or(Verdict::Draw),
        blast,
        mutually_immune: section.take("mutuallyImmuneTypes", kinds)?.unwrap_or_default(),
        drops,
        duck: section.take("wallingRule", duck)?.unwrap_or(false),
        roles,
    })
}

/// The men of the game, and whether kings are royal: a `commoner` goes as a king goes and is not.
fn men(section: &mut Section<'_>) -> Result<(Vec<Role>, bool), IniError> {
    let mut roles = Vec::new();
    for role in &Role::ALL[..5] {
        let there = section.take(name(*role), |value| is_there(value, *role))?;
        roles.extend(there.unwrap_or(true).then_some(*role));
    }
    let royal = section.take("king", |value| is_there(value, Role::King))?.unwrap_or(true);
    let commoner = section.take("commoner", |value| match is_there(value, Role::King) {
        Ok(true) if royal => Err("k is the king already".to_owned()),
        there => there,
    })?;
    roles.extend((royal || commoner == Some(true)).then_some(Role::King));
    Ok((roles, royal))
}

fn double_step(section: &mut Section<'_>, has_pawns: bool) -> Result<ByColor<Bitboard>, IniError> {
    let wanted = section.take("doubleStep", flag)?.unwrap_or(true);
    let home = ByColor { white: rank(2), black: rank(7) };
    let area = regions(section, "doubleStepRegion", home)?;
    Ok(if wanted && has_pawns { area } else { ByColor::default() })
}

fn castling(
    section: &mut Section<'_>,
    files: usize,
    royal: bool,
    roles: &[Role],
) -> Result<Option<Castling>, IniError> {
    let wanted = section.take("castling", flag)?.unwrap_or(true);
    let king = section.take("castlingKingFile", file)?.unwrap_or(4);
    let king_side = section.take("castlingKingsideFile", file)?.unwrap_or(6);
    let queen_side = section.take("castlingQueensideFile", file)?.unwrap_or(2);
    let commoner = section.take("castlingKingPiece", |value| is_there(value, Role::King))?;
    let men = roles.contains(&Role::Rook) && (royal || commoner.unwrap_or(false));
    // The rook needs a file on the inner side of each goal.
    let fits = (1..files).contains(&king_side) && queen_side + 1 < files;
    Ok((wanted && men && fits).then_some(Castling { king, king_side, queen_side }))
}

fn extinction(section: &mut Section<'_>) -> Result<Option<Extinction>, IniError> {
    let value = section.take("extinctionValue", maybe_verdict)?.flatten();
    let types = section.take("extinctionPieceTypes", kinds_or_all)?;
    let (roles, all) = types.unwrap_or_default();
    let count = section.take("extinctionPieceCount", number)?.unwrap_or(0);
    let opponents = section.take("extinctionOpponentPieceCount", number)?.unwrap_or(0);
    Ok(value.map(|value| Extinction { roles, all, count, opponents, value }))
}

fn drops(
    section: &mut Section<'_>,
    ranks: usize,
    promotion_area: ByColor<Bitboard>,
) -> Result<Option<Drops>, IniError> {
    let wanted = section.take("pieceDrops", flag)?.unwrap_or(false);
    let captures_to_hand = section.take("capturesToHand", flag)?.unwrap_or(false);
    let keeps_promoted = section.take("dropLoop", flag)?.unwrap_or(false);
    let two_boards = section.take("twoBoards", flag)?.unwrap_or(false);
    let first_rank = section.take("firstRankPawnDrops", flag)?.unwrap_or(false);
    let last_rank = section.take("promotionZonePawnDrops", flag)?.unwrap_or(false);
    let everywhere = ByColor { white: Bitboard::FULL, black: Bitboard::FULL };
    let area = regions(section, "dropRegion", everywhere)?;
    let first = ByColor { white: rank(1), black: rank(ranks) };
    let pawns = |color: Color| {
        let first = if first_rank { Bitboard::EMPTY } else { first[color] };
        let last = if last_rank { Bitboard::EMPTY } else { promotion_area[color] };
        area[color] & !first & !last
    };
    let pawn_area = ByColor { white: pawns(Color::White), black: pawns(Color::Black) };
    let drops = Drops { captures_to_hand, keeps_promoted, two_boards, area, pawn_area };
    Ok(wanted.then_some(drops))
}

/// The men that no blast harms, if captures blow up others.
fn blast(
    section: &mut Section<'_>,
    royal: bool,
    drops: Option<Drops>,
) -> Result<Option<Vec<Role>>, IniError> {
    let to_hand = drops.is_some_and(|drops| drops.captures_to_hand);
    let wanted = section.take("blastOnCapture", |value| match flag(value)? {
        true if royal => Err("the king must be a commoner for this".into()),
        true if to_hand => Err("not known together with capturesToHand".into()),
        wanted => Ok(wanted),
    })?;
    let immune = section.take("blastImmuneTypes", kinds)?.unwrap_or_default();
    Ok((wanted == Some(true)).then_some(immune))
}

/// A region of each colour, by two keys.
fn regions(
    section: &mut Section<'_>,
    key: &str,
    default: ByColor<Bitboard>,
) -> Result<ByColor<Bitboard>, IniError> {
    let white = section.take(&format!("{key}White"), region)?.unwrap_or(default.white);
    let black = section.take(&format!("{key}Black"), region)?.unwrap_or(default.black);
    Ok(ByColor { white, black })
}

fn orthodox_promotions() -> Vec<Role> {
    vec![Role::Queen, Role::Rook, Role::Bishop, Role::Knight]
}

fn name(role: Role) -> &'static str {
    match role {
        Role::Pawn => "pawn",
        Role::Knight => "knight",
        Role::Bishop => "bishop",
        Role::Rook => "rook",
        Role::Queen => "queen",
        Role::King => "king",
    }
}

/// The squares of a rank, counted from 1 to 8.
fn rank(rank: usize) -> Bitboard {
    let in_rank = |square: &Square| usize::from(square.rank()) + 1 == rank;
    Square::ALL.into_iter().filter(in_rank).collect()
}

fn size(value: &str) -> Result<usize, String> {
    value.parse().ok().filter(|size| (1..=8).contains(size)).ok_or_else(|| "not from 1 to 8".into())
}

fn number(value: &str) -> Result<u32, String> {
    value.parse().map_err(|_| "not a number".to_owned())
}

fn flag(value: &str) -> Result<bool, String> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("neither true nor false".into()),
    }
}

fn file(value: &str) -> Result<usize, String> {
    let file = match value.as_bytes() {
        [letter @ b'a'..=b'h'] => Some(usize::from(letter - b'a')),
        _ => None,
    };
    file.ok_or_else(|| "no file from a to h".into())
}

fn duck(value: &str) -> Result<bool, String> {
    match value {
        "duck" => Ok(true),
        "none" => Ok(false),
        _ => Err("of the walls only the duck is known".into()),
    }
}

fn verdict(value: &str) -> Result<Verdict, String> {
    match value {
        "win" => Ok(Verdict::Win),
        "draw" => Ok(Verdict::Draw),
        "loss" => Ok(Verdict::Loss),
        _ => Err("neither win, draw nor loss".into()),
    }
}

fn maybe_verdict(value: &str) -> Result<Option<Verdict>, String> {
    if value == "none" { Ok(None) } else { verdict(value).map(Some) }
}

fn is_there(value: &str, role: Role) -> Result<bool, String> {
    match value {
        "-" => Ok(false),
        _ if value.chars().eq([role.char()]) => Ok(true),
        _ => Err(format!("only \"{}\" and \"-\" are known", role.char())),
    }
}

fn kinds(value: &str) -> Result<Vec<Role>, String> {
    if value == "-" {
        return Ok(Vec::new());
    }
    let role = |letter| Role::from_char(letter).ok_or_else(|| format!("'{letter}' is no man"));
    value.chars().filter(|letter| *letter != ' ').map(role).collect()
}

/// Some kinds of men, and whether all of them together are meant as well: `*`.
fn kinds_or_all(value: &str) -> Result<(Vec<Role>, bool), String> {
    let some = value.replace('*', "");
    Ok((kinds(&some)?, some != value))
}

/// Squares and whole ranks, as `e4 *8`.
fn region(value: &str) -> Result<Bitboard, String> {
    let mut squares = Bitboard::EMPTY;
    for word in value.split_ascii_whitespace().filter(|word| *word != "-") {
        squares |= match (word.strip_prefix('*'), Square::from_ascii(word.as_bytes())) {
            (Some(digits), _) => rank(size(digits)?),
            (None, Ok(square)) => Bitboard::from_square(square),
            (None, Err(_)) => return Err("squares and ranks are said as \"e4 *8\"".into()),
        };
    }
    Ok(squares)
}
