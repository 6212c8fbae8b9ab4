//! The variant_rules of a game of chess, from the keys of its section. Where a key is missing, its value is
//! what Fairy-Stockfish would take.

use super::section::Section;
use super::values::{
    castlings, file, flag, is_there, kind_or_all, kinds, kinds_or_all, limits, maybe_verdict,
    number, odds, rank, rank_index, region, size, verdict, walling,
};
use crate::rules::{
    Bitboard, ByColor, ByRole, Castling, CastlingHome, Checks, Color, Drops, Ends, Extinction,
    Flag, Must, Promotion, Role, VariantRules, Verdict, Walls,
};

/// Takes the keys of a game that begins at `start` from its section.
pub(super) fn read(section: &mut Section<'_>, start: &str) -> VariantRules {
    let files = section.take("maxFile", size).unwrap_or(8);
    let ranks = section.take("maxRank", size).unwrap_or(8);
    let (roles, royal) = men(section);
    let has_pawns = roles.contains(&Role::Pawn);
    let promotion = promotion(section, ranks, royal, &roles);
    let drops = drops(section, ranks, promotion.area, start);
    let walls = walls(section);
    let board = start.split(['[', ' ']).next().unwrap_or_default();
    let men = start.split(' ').next().unwrap_or_default();
    let kings = |letter| men.matches(letter).count().min(1);
    let variant_rules = VariantRules {
        files,
        ranks,
        royal,
        kings: ByColor { white: kings('K'), black: kings('k') },
        checks: checks(section, start),
        extinction: extinction(section),
        flag: flags(section),
        promotion,
        double_step: double_step(section, ranks, has_pawns),
        en_passant: regions(section, "enPassantRegion", EVERYWHERE),
        castling: castling(section, [files, ranks], royal, &roles, board),
        ends: ends(section),
        must_capture: section.take("mustCapture", flag).unwrap_or(false),
        blast: blast(section, royal),
        mutually_immune: section.take("mutuallyImmuneTypes", kinds).unwrap_or_default(),
        drops,
        walls,
        barriers: walls.is_some() || board.contains('*'),
        roles,
    };
    let both = |color: Color| {
        let behind = |squares: Bitboard| squares.shift(color.fold_wb(-8, 8));
        let one = behind(variant_rules.promotion.area[color]);
        (variant_rules.double_step[color] & one & behind(one)).any()
    };
    if Color::ALL.into_iter().any(both) {
        section.fault("a pawn could promote by one step and by two from the same square");
    }
    variant_rules
}

const EVERYWHERE: ByColor<Bitboard> = ByColor { white: Bitboard::FULL, black: Bitboard::FULL };

/// The men of the game, and whether kings are royal: a `commoner` goes as a king goes and is not.
fn men(section: &mut Section<'_>) -> (Vec<Role>, bool) {
    let mut roles = Vec::new();
    for role in &Role::ALL[..5] {
        let there = section.take(name(*role), |value| is_there(value, *role));
        roles.extend(there.unwrap_or(false).then_some(*role));
    }
    let royal = section.take("king", |value| is_there(value, Role::King)).unwrap_or(false);
    let commoner = section.take("commoner", |value| match is_there(value, Role::King) {
        Ok(true) if royal => Err("k is the king already".to_owned()),
        there => there,
    });
    roles.extend((royal || commoner == Some(true)).then_some(Role::King));
    (roles, royal)
}

fn promotion(section: &mut Section<'_>, ranks: usize, royal: bool, roles: &[Role]) -> Promotion {
    // Of a game without a parent no men are known, thus none to become either.
    let usual = match section.is_child {
        true => vec![Role::Queen, Role::Rook, Role::Bishop, Role::Knight],
        false => Vec::new(),
    };
    let both = section.take("promotionPieceTypes", kinds).unwrap_or(usual);
    let mut of = |color: &str| {
        let kinds = section.take(&format!("promotionPieceTypes{color}"), kinds);
        let mut kinds = kinds.unwrap_or_else(|| both.clone());
        let may = |role: &Role| roles.contains(role) && !(royal && *role == Role::King);
        kinds.retain(|role| may(role) && *role != Role::Pawn && roles.contains(&Role::Pawn));
        kinds
    };
    let kinds = ByColor { white: of("White"), black: of("Black") };
    let first = section.take("promotionRank", rank_index);
    let last = match first {
        None => ByColor { white: rank(8), black: rank(1) },
        Some(first) => ByColor {
            white: (first..ranks)
                .map(|index| rank(index + 1))
                .collect::<Vec<_>>()
                .into_iter()
                .fold(Bitboard::EMPTY, |all, some| all | some),
            black: (first..ranks)
                .map(|index| rank(ranks - index))
                .fold(Bitboard::EMPTY, |all, some| all | some),
        },
    };
    let area = regions(section, "promotionRegion", last);
    let mut most = ByRole::default();
    for (role, limit) in section.take("promotionLimit", limits).unwrap_or_default() {
        most[role] = limit;
    }
    Promotion { kinds, area, limits: most }
}

fn double_step(section: &mut Section<'_>, ranks: usize, has_pawns: bool) -> ByColor<Bitboard> {
    let wanted = section.take("doubleStep", flag).unwrap_or(true);
    let last = section.take("doubleStepRank", rank_index);
    let first = section.take("doubleStepRankMin", rank_index);
    let home = match (first, last) {
        (None, None) => ByColor { white: rank(2), black: rank(7) },
        (first, last) => {
            let span = first.unwrap_or(1)..=last.unwrap_or(1);
            let all = |rank_of: &dyn Fn(usize) -> usize| {
                span.clone().map(|index| rank(rank_of(index))).fold(Bitboard::EMPTY, |a, b| a | b)
            };
            ByColor {
                white: all(&|index| index + 1),
                black: all(&|index| ranks.saturating_sub(index)),
            }
        }
    };
    let area = regions(section, "doubleStepRegion", home);
    if wanted && has_pawns { area } else { ByColor::default() }
}

fn checks(section: &mut Section<'_>, start: &str) -> Checks {
    let counted = section.take("checkCounting", flag).unwrap_or(false);
    // As many as the start has left; without a word of them the next one wins.
    let at_start = start.split_ascii_whitespace().find_map(|word| word.split_once('+'));
    let most = at_start.and_then(|(white, black)| {
        let (white, black) = (white.parse::<u8>().ok()?, black.parse::<u8>().ok()?);
        Some(white.max(black)).filter(|most| (1..=100).contains(most))
    });
    Checks {
        allowed: section.take("checking", flag).unwrap_or(true),
        by_drops: section.take("dropChecks", flag).unwrap_or(true),
        counted: counted.then(|| most.unwrap_or(1)),
    }
}

fn castling(
    section: &mut Section<'_>,
    [files, ranks]: [usize; 2],
    royal: bool,
    roles: &[Role],
    board: &str,
) -> Option<Castling> {
    let wanted = section.take("castling", flag).unwrap_or(true);
    let king = section.take("castlingKingFile", file).unwrap_or(4);
    let king_side = section.take("castlingKingsideFile", file).unwrap_or(6);
    let queen_side = section.take("castlingQueensideFile", file).unwrap_or(2);
    let king_rook = section.take("castlingRookKingsideFile", file).unwrap_or(7);
    let queen_rook = section.take("castlingRookQueensideFile", file).unwrap_or(0);
    let rank = section.take("castlingRank", rank_index).unwrap_or(0);
    let [white, black] = section.take("castlingWins", castlings).unwrap_or_default();
    let opposite = section.take("oppositeCastling", flag).unwrap_or(false);
    let dropped = section.take("castlingDroppedPiece", flag).unwrap_or(false);
    let mut castles = section.take("castlingKingPiece", |value| is_there(value, Role::King));
    for color in ["White", "Black"] {
        let one =
            section.take(&format!("castlingKingPiece{color}"), |value| is_there(value, Role::King));
        castles = castles.max(one);
    }
    if rank >= ranks {
        section.fault("castlingRank is beyond maxRank");
    }
    let men = roles.contains(&Role::Rook) && (royal || castles.unwrap_or(false));
    // The rook needs a file on the inner side of each goal.
    let fits = (1..files).contains(&king_side) && queen_side + 1 < files && rank < ranks;
    let wins = ByColor { white, black };
    let usual = CastlingHome { king, king_rook: king_rook.min(files - 1), queen_rook };
    let home = |row, letters| castling_home(row, letters, usual);
    let home = ByColor {
        white: home(board.rsplit('/').nth(rank).unwrap_or_default(), ['K', 'R']),
        black: home(board.split('/').nth(rank).unwrap_or_default(), ['k', 'r']),
    };
    (wanted && men && fits).then_some(Castling {
        rank,
        king,
        home,
        king_side,
        queen_side,
        king_rook,
        queen_rook,
        opposite,
        dropped,
        wins,
    })
}

/// The files of king and rooks on `row`, a rank of the start position; `usual` for a king that is not
/// there or has company, and for a rook that is missing.
fn castling_home(row: &str, [king, rook]: [char; 2], usual: CastlingHome) -> CastlingHome {
    let mut file = 0;
    let mut kings = Vec::new();
    let mut rooks = Vec::new();
    for letter in row.chars() {
        if letter == king {
            kings.push(file);
        } else if letter == rook {
            rooks.push(file);
        }
        file += match letter {
            // It belongs to the piece before it.
            '~' => 0,
            _ => letter.to_digit(10).unwrap_or(1) as usize,
        };
    }
    let king = if let [king] = kings[..] { king } else { usual.king };
    let outer = usual.queen_rook..=usual.king_rook;
    rooks.retain(|rook| outer.contains(rook));
    let king_rook = rooks.iter().rev().find(|&&rook| rook > king);
    let queen_rook = rooks.iter().find(|&&rook| rook < king);
    CastlingHome {
        king,
        king_rook: *king_rook.unwrap_or(&usual.king_rook),
        queen_rook: *queen_rook.unwrap_or(&usual.queen_rook),
    }
}

fn extinction(section: &mut Section<'_>) -> Option<Extinction> {
    let value = section.take("extinctionValue", maybe_verdict).flatten();
    let types = section.take("extinctionPieceTypes", kinds_or_all);
    let (roles, all) = types.unwrap_or_default();
    let count = section.take("extinctionPieceCount", number).unwrap_or(0);
    let opponents = section.take("extinctionOpponentPieceCount", number).unwrap_or(0);
    let claim = section.take("extinctionClaim", flag).unwrap_or(false);
    let pseudo_royal = section.take("extinctionPseudoRoyal", flag).unwrap_or(false);
    if pseudo_royal && value.is_none() {
        section.fault("extinctionPseudoRoyal is for games with an extinctionValue");
    }
    value.map(|value| Extinction { roles, all, count, opponents, claim, pseudo_royal, value })
}

fn flags(section: &mut Section<'_>) -> Option<Flag> {
    let man = section.take("flagPiece", kind_or_all).flatten();
    let white = section.take("flagPieceWhite", kind_or_all).unwrap_or(man);
    let black = section.take("flagPieceBlack", kind_or_all).unwrap_or(man);
    let region = regions(section, "flagRegion", ByColor::default());
    let flag_of_all = Flag {
        man: ByColor { white, black },
        region,
        count: section.take("flagPieceCount", number).unwrap_or(1),
        blocked: section.take("flagPieceBlockedWin", flag).unwrap_or(false),
        reply: section.take("flagMove", flag).unwrap_or(false),
        safe: section.take("flagPieceSafe", flag).unwrap_or(false),
    };
    (region.white | region.black).any().then_some(flag_of_all)
}

fn ends(section: &mut Section<'_>) -> Ends {
    let clocks = section.take("nMoveRuleTypes", kinds).unwrap_or_else(|| vec![Role::Pawn]);
    let white = section.take("nMoveRuleTypesWhite", kinds).unwrap_or_else(|| clocks.clone());
    let black = section.take("nMoveRuleTypesBlack", kinds).unwrap_or(clocks);
    Ends {
        checkmate: section.take("checkmateValue", verdict).unwrap_or(Verdict::Loss),
        stalemate: section.take("stalemateValue", verdict).unwrap_or(Verdict::Draw),
        stalemate_by_men: section.take("stalematePieceCount", flag).unwrap_or(false),
        moves: section.take("nMoveRule", number).unwrap_or(50),
        clocks: ByColor { white, black },
        folds: section.take("nFoldRule", number).unwrap_or(3),
        fold: section.take("nFoldValue", verdict).unwrap_or(Verdict::Draw),
        fold_is_whites: section.take("nFoldValueAbsolute", flag).unwrap_or(false),
        full_board: section.take("adjudicateFullBoard", flag).unwrap_or(false),
        odds: section.take("materialCounting", odds).flatten(),
    }
}

fn drops(
    section: &mut Section<'_>,
    ranks: usize,
    promotion_area: ByColor<Bitboard>,
    start: &str,
) -> Option<Drops> {
    let wanted = section.take("pieceDrops", flag).unwrap_or(false);
    let captures_to_hand = section.take("capturesToHand", flag).unwrap_or(false);
    let keeps_promoted = section.take("dropLoop", flag).unwrap_or(false);
    let two_boards = section.take("twoBoards", flag).unwrap_or(false);
    let first_rank = section.take("firstRankPawnDrops", flag).unwrap_or(false);
    let last_rank = section.take("promotionZonePawnDrops", flag).unwrap_or(false);
    let area = regions(section, "dropRegion", EVERYWHERE);
    let first = ByColor { white: rank(1), black: rank(ranks) };
    let pawns = |color: Color| {
        let first = if first_rank { Bitboard::EMPTY } else { first[color] };
        let last = if last_rank { Bitboard::EMPTY } else { promotion_area[color] };
        area[color] & !first & !last
    };
    let pawn_area = ByColor { white: pawns(Color::White), black: pawns(Color::Black) };
    let must = section.take("mustDrop", flag).unwrap_or(false);
    let only = section.take("mustDropType", kind_or_all).flatten();
    let doubled = section.take("dropNoDoubled", kinds).and_then(|roles| roles.first().copied());
    let most = section.take("dropNoDoubledCount", number).unwrap_or(1);
    let opposite_bishops = section.take("dropOppositeColoredBishop", flag).unwrap_or(false);
    let hand = start.split_once('[').and_then(|(_, rest)| rest.split(']').next());
    let drops = Drops {
        captures_to_hand,
        keeps_promoted,
        two_boards,
        kings: hand.is_some_and(|hand| hand.contains(['K', 'k'])),
        area,
        pawn_area,
        must: must.then(|| only.map_or(Must::Any, Must::Only)),
        no_doubled: doubled.map(|role| (role, most)),
        opposite_bishops,
    };
    wanted.then_some(drops)
}

fn walls(section: &mut Section<'_>) -> Option<Walls> {
    let rule = section.take("wallingRule", walling).flatten();
    let area = regions(section, "wallingRegion", EVERYWHERE);
    let instead = section.take("wallOrMove", flag).unwrap_or(false);
    rule.map(|rule| Walls { rule, area, instead })
}

/// The men that no blast harms, if captures blow up others.
fn blast(section: &mut Section<'_>, royal: bool) -> Option<Vec<Role>> {
    let wanted = section.take("blastOnCapture", |value| match flag(value)? {
        true if royal => Err("the king must be a commoner for this".into()),
        wanted => Ok(wanted),
    });
    let immune = section.take("blastImmuneTypes", kinds).unwrap_or_default();
    (wanted == Some(true)).then_some(immune)
}

/// A region of each colour, by a key for both or by two keys.
fn regions(section: &mut Section<'_>, key: &str, default: ByColor<Bitboard>) -> ByColor<Bitboard> {
    let both = section.take(key, region);
    let white = section.take(&format!("{key}White"), region);
    let black = section.take(&format!("{key}Black"), region);
    ByColor {
        white: white.or(both).unwrap_or(default.white),
        black: black.or(both).unwrap_or(default.black),
    }
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
