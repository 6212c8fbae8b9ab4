//! The rules of a variant, from the keys of its section. Missing keys have the default of Fairy-Stockfish.

use std::sync::Arc;

use super::section::Section;
use super::values::{
    ValueError, castling_sides, draw_odds, end_value, file, flag, has_piece, limits, number,
    number_in, optional_end_value, piece_or_any, pieces, pieces_and_all, rank, rank_index, region,
    size, turn_order, walling,
};
use crate::rules::{
    Bitboard, Bughouse, ByColor, ByRole, Castling, CastlingHome, Checks, Color, ConnectN, Drops,
    EndValue, Ends, Extinction, Flag, MAX_SIDES, MustDrop, Promotion, Role, TurnOrder,
    VariantRules, Walls,
};

/// Takes the keys of a game of n in a row.
pub(super) fn take_connect_n(section: &mut Section<'_>) -> ConnectN {
    let rules = ConnectN {
        files: section.take("maxFile", size).unwrap_or(8),
        ranks: section.take("maxRank", size).unwrap_or(8),
        sides: section.take("sides", |value| number_in(value, 2, MAX_SIDES)).unwrap_or(2),
        length: section.take("connectN", |value| number_in(value, 2, 8)).unwrap_or(3),
        gravity: section.take("gravity", flag).unwrap_or(false),
    };
    if rules.length > rules.files.max(rules.ranks) {
        section.add_conflict("connectN is larger than the board");
    }
    rules
}

/// Takes the keys of bughouse with the given rules of each board.
pub(super) fn take_bughouse(section: &mut Section<'_>, board: Arc<VariantRules>) -> Bughouse {
    let passes_captures = board.drops.is_some_and(|drops| {
        drops.two_boards && !drops.captures_to_hand && !drops.keeps_promoted && drops.must.is_none()
    });
    if !passes_captures {
        section.add_conflict(
            "bughouse requires pieceDrops and twoBoards, without capturesToHand, dropLoop and mustDrop",
        );
    }
    // Boards of bughouse end by mate, stalemate, repetition and the move counter only.
    let castling_wins = board.castling.is_some_and(|castling| {
        [castling.wins.white, castling.wins.black].concat().contains(&true)
    });
    let ends_as_chess = board.royal
        && board.kings.white == 1
        && board.kings.black == 1
        && board.extinction.is_none()
        && board.flag.is_none()
        && board.checks.counted.is_none()
        && !castling_wins
        && !board.ends.full_board;
    if !ends_as_chess {
        section.add_conflict("bughouse requires games that end by mate or stalemate only");
    }
    let ends = &board.ends;
    let has_default_values = ends.checkmate == EndValue::Loss
        && ends.n_fold_value == EndValue::Draw
        && ends.n_fold_rule == 3
        && ends.draw_odds.is_none()
        && !ends.stalemate_piece_count;
    if !has_default_values {
        section.add_conflict(
            "bughouse requires that checkmate loses and threefold repetition is a draw",
        );
    }
    if board.walls.is_some() || board.barriers || board.blast.is_some() {
        section.add_conflict("bughouse does not support walls and blasts");
    }
    if board.promotions().contains(&Role::King) || board.promotions().contains(&Role::Pawn) {
        section.add_conflict("bughouse does not support promotion to king or pawn");
    }
    Bughouse {
        board,
        order: section.take("tableOrder", turn_order).unwrap_or(TurnOrder::Timed),
        mate_blockable: section.take("mateBlockable", flag).unwrap_or(false),
    }
}

/// Takes the keys of a chess variant with the given start position.
pub(super) fn take_chess(section: &mut Section<'_>, start: &str) -> VariantRules {
    let files = section.take("maxFile", size).unwrap_or(8);
    let ranks = section.take("maxRank", size).unwrap_or(8);
    let (roles, royal) = take_roles(section);
    let has_pawns = roles.contains(&Role::Pawn);
    let promotion = take_promotion(section, ranks, royal, &roles);
    let drops = take_drops(section, ranks, promotion.area, start);
    let walls = take_walls(section);
    let board = start.split(['[', ' ']).next().unwrap_or_default();
    let board_and_pocket = start.split(' ').next().unwrap_or_default();
    let kings = |letter| board_and_pocket.matches(letter).count().min(1);
    let rules = VariantRules {
        files,
        ranks,
        royal,
        kings: ByColor { white: kings('K'), black: kings('k') },
        checks: take_checks(section, start),
        extinction: take_extinction(section),
        flag: take_flag(section),
        promotion,
        double_step: take_double_step(section, ranks, has_pawns),
        en_passant: take_regions(section, "enPassantRegion", EVERYWHERE),
        castling: take_castling(section, [files, ranks], royal, &roles, board),
        ends: take_ends(section),
        must_capture: section.take("mustCapture", flag).unwrap_or(false),
        blast: take_blast(section, royal),
        mutually_immune: section.take("mutuallyImmuneTypes", pieces).unwrap_or_default(),
        drops,
        walls,
        barriers: walls.is_some() || board.contains('*'),
        roles,
    };
    if Color::ALL.into_iter().any(|color| promotes_by_both_steps(&rules, color)) {
        section.add_conflict("pawns could promote by a single and a double step from one square");
    }
    rules
}

/// Returns `true` if a pawn could promote by a single and by a double step from the same square.
fn promotes_by_both_steps(rules: &VariantRules, color: Color) -> bool {
    let behind = |squares: Bitboard| squares.shift(color.fold_wb(-8, 8));
    let single = behind(rules.promotion.area[color]);
    (rules.double_step[color] & single & behind(single)).any()
}

const EVERYWHERE: ByColor<Bitboard> = ByColor { white: Bitboard::FULL, black: Bitboard::FULL };

/// Takes the pieces of the game, and whether kings are royal. A `commoner` moves like a king and is not
/// royal.
fn take_roles(section: &mut Section<'_>) -> (Vec<Role>, bool) {
    let mut roles = Vec::new();
    for role in Role::ALL.into_iter().filter(|role| *role != Role::King) {
        if section.take(key(role), |value| has_piece(value, role)) == Some(true) {
            roles.push(role);
        }
    }
    let royal = section.take("king", |value| has_piece(value, Role::King)).unwrap_or(false);
    let commoner = section.take("commoner", |value| match has_piece(value, Role::King) {
        Ok(true) if royal => Err(ValueError::KingLetter),
        result => result,
    });
    if royal || commoner == Some(true) {
        roles.push(Role::King);
    }
    (roles, royal)
}

fn take_promotion(
    section: &mut Section<'_>,
    ranks: usize,
    royal: bool,
    roles: &[Role],
) -> Promotion {
    // A section without a parent has no default pieces.
    let default = if section.is_child {
        vec![Role::Queen, Role::Rook, Role::Bishop, Role::Knight]
    } else {
        Vec::new()
    };
    let both = section.take("promotionPieceTypes", pieces).unwrap_or(default);
    let mut take_kinds = |color: &str| {
        let kinds = section.take(&format!("promotionPieceTypes{color}"), pieces);
        let mut kinds = kinds.unwrap_or_else(|| both.clone());
        let may = |role: &Role| roles.contains(role) && !(royal && *role == Role::King);
        kinds.retain(|role| may(role) && *role != Role::Pawn && roles.contains(&Role::Pawn));
        kinds
    };
    let kinds = ByColor { white: take_kinds("White"), black: take_kinds("Black") };
    let default_area = match section.take("promotionRank", rank_index) {
        None => ByColor { white: rank(8), black: rank(1) },
        Some(first) => ByColor {
            white: union((first..ranks).map(|index| rank(index + 1))),
            black: union((first..ranks).map(|index| rank(ranks - index))),
        },
    };
    let area = take_regions(section, "promotionRegion", default_area);
    let mut by_role = ByRole::default();
    for (role, limit) in section.take("promotionLimit", limits).unwrap_or_default() {
        by_role[role] = limit;
    }
    Promotion { kinds, area, limits: by_role }
}

fn union(squares: impl Iterator<Item = Bitboard>) -> Bitboard {
    squares.fold(Bitboard::EMPTY, |all, some| all | some)
}

fn take_double_step(section: &mut Section<'_>, ranks: usize, has_pawns: bool) -> ByColor<Bitboard> {
    let enabled = section.take("doubleStep", flag).unwrap_or(true);
    let last = section.take("doubleStepRank", rank_index);
    let first = section.take("doubleStepRankMin", rank_index);
    let home = match (first, last) {
        (None, None) => ByColor { white: rank(2), black: rank(7) },
        (first, last) => {
            let indices = first.unwrap_or(1)..=last.unwrap_or(1);
            ByColor {
                white: union(indices.clone().map(|index| rank(index + 1))),
                black: union(indices.map(|index| rank(ranks.saturating_sub(index)))),
            }
        }
    };
    let area = take_regions(section, "doubleStepRegion", home);
    if enabled && has_pawns { area } else { ByColor::default() }
}

fn take_checks(section: &mut Section<'_>, start: &str) -> Checks {
    let counted = section.take("checkCounting", flag).unwrap_or(false);
    // The number of checks in the start position; the first check wins if it does not have one.
    let at_start = start.split_ascii_whitespace().find(|word| word.contains('+'));
    let count = at_start.and_then(|word| {
        // Checks that have been given, `+0+0`, are those of three-check chess.
        if word.starts_with('+') {
            return Some(3);
        }
        let (white, black) = word.split_once('+')?;
        let count = white.parse::<u8>().ok()?.max(black.parse::<u8>().ok()?);
        (1..=100).contains(&count).then_some(count)
    });
    Checks {
        allowed: section.take("checking", flag).unwrap_or(true),
        by_drops: section.take("dropChecks", flag).unwrap_or(true),
        counted: counted.then(|| count.unwrap_or(1)),
    }
}

fn take_castling(
    section: &mut Section<'_>,
    [files, ranks]: [usize; 2],
    royal: bool,
    roles: &[Role],
    board: &str,
) -> Option<Castling> {
    let enabled = section.take("castling", flag).unwrap_or(true);
    let king = section.take("castlingKingFile", file).unwrap_or(4);
    let king_side = section.take("castlingKingsideFile", file).unwrap_or(6);
    let queen_side = section.take("castlingQueensideFile", file).unwrap_or(2);
    let king_rook = section.take("castlingRookKingsideFile", file).unwrap_or(7);
    let queen_rook = section.take("castlingRookQueensideFile", file).unwrap_or(0);
    let rank = section.take("castlingRank", rank_index).unwrap_or(0);
    let [white, black] = section.take("castlingWins", castling_sides).unwrap_or_default();
    let opposite = section.take("oppositeCastling", flag).unwrap_or(false);
    let dropped = section.take("castlingDroppedPiece", flag).unwrap_or(false);
    let both = section.take("castlingKingPiece", |value| has_piece(value, Role::King));
    let mut take_color = |color: &str| {
        let key = format!("castlingKingPiece{color}");
        let commoner = section.take(&key, |value| has_piece(value, Role::King)).or(both);
        royal || commoner.unwrap_or(false)
    };
    let colors = ByColor { white: take_color("White"), black: take_color("Black") };
    if rank >= ranks {
        section.add_conflict("castlingRank is larger than maxRank");
    }
    let has_pieces = roles.contains(&Role::Rook) && (colors.white || colors.black);
    // The rook needs a file next to each destination of the king.
    let fits = (1..files).contains(&king_side) && queen_side + 1 < files && rank < ranks;
    let wins = ByColor { white, black };
    let default = CastlingHome { king, king_rook: king_rook.min(files - 1), queen_rook };
    let home = |row, letters| castling_home(row, letters, default);
    let home = ByColor {
        white: home(board.rsplit('/').nth(rank).unwrap_or_default(), ['K', 'R']),
        black: home(board.split('/').nth(rank).unwrap_or_default(), ['k', 'r']),
    };
    (enabled && has_pieces && fits).then_some(Castling {
        colors,
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

/// Returns the files of king and rooks on `row`, a rank of the start position. The files of `default` are
/// used for a missing rook, and for the king unless there is exactly one.
fn castling_home(row: &str, [king, rook]: [char; 2], default: CastlingHome) -> CastlingHome {
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
            // The mark of a promoted piece.
            '~' => 0,
            _ => letter.to_digit(10).unwrap_or(1) as usize,
        };
    }
    let king = if let [king] = kings[..] { king } else { default.king };
    let outer = default.queen_rook..=default.king_rook;
    rooks.retain(|rook| outer.contains(rook));
    let king_rook = rooks.iter().rev().find(|&&rook| rook > king);
    let queen_rook = rooks.iter().find(|&&rook| rook < king);
    CastlingHome {
        king,
        king_rook: *king_rook.unwrap_or(&default.king_rook),
        queen_rook: *queen_rook.unwrap_or(&default.queen_rook),
    }
}

fn take_extinction(section: &mut Section<'_>) -> Option<Extinction> {
    let value = section.take("extinctionValue", optional_end_value).flatten();
    let types = section.take("extinctionPieceTypes", pieces_and_all);
    let (roles, all) = types.unwrap_or_default();
    let piece_count = section.take("extinctionPieceCount", number).unwrap_or(0);
    let opponent_piece_count = section.take("extinctionOpponentPieceCount", number).unwrap_or(0);
    let claim = section.take("extinctionClaim", flag).unwrap_or(false);
    let pseudo_royal = section.take("extinctionPseudoRoyal", flag).unwrap_or(false);
    if pseudo_royal && value.is_none() {
        section.add_conflict("extinctionPseudoRoyal requires an extinctionValue");
    }
    Some(Extinction {
        roles,
        all,
        piece_count,
        opponent_piece_count,
        claim,
        pseudo_royal,
        value: value?,
    })
}

fn take_flag(section: &mut Section<'_>) -> Option<Flag> {
    let both = section.take("flagPiece", piece_or_any).flatten();
    let white = section.take("flagPieceWhite", piece_or_any).unwrap_or(both);
    let black = section.take("flagPieceBlack", piece_or_any).unwrap_or(both);
    let region = take_regions(section, "flagRegion", ByColor::default());
    let rule = Flag {
        piece: ByColor { white, black },
        region,
        count: section.take("flagPieceCount", number).unwrap_or(1),
        blocked: section.take("flagPieceBlockedWin", flag).unwrap_or(false),
        reply: section.take("flagMove", flag).unwrap_or(false),
        safe: section.take("flagPieceSafe", flag).unwrap_or(false),
    };
    (region.white | region.black).any().then_some(rule)
}

fn take_ends(section: &mut Section<'_>) -> Ends {
    let both = section.take("nMoveRuleTypes", pieces).unwrap_or_else(|| vec![Role::Pawn]);
    let white = section.take("nMoveRuleTypesWhite", pieces).unwrap_or_else(|| both.clone());
    let black = section.take("nMoveRuleTypesBlack", pieces).unwrap_or(both);
    Ends {
        checkmate: section.take("checkmateValue", end_value).unwrap_or(EndValue::Loss),
        stalemate: section.take("stalemateValue", end_value).unwrap_or(EndValue::Draw),
        stalemate_piece_count: section.take("stalematePieceCount", flag).unwrap_or(false),
        n_move_rule: section.take("nMoveRule", number).unwrap_or(50),
        n_move_types: ByColor { white, black },
        n_fold_rule: section.take("nFoldRule", number).unwrap_or(3),
        n_fold_value: section.take("nFoldValue", end_value).unwrap_or(EndValue::Draw),
        n_fold_absolute: section.take("nFoldValueAbsolute", flag).unwrap_or(false),
        full_board: section.take("adjudicateFullBoard", flag).unwrap_or(false),
        draw_odds: section.take("materialCounting", draw_odds).flatten(),
    }
}

fn take_drops(
    section: &mut Section<'_>,
    ranks: usize,
    promotion_area: ByColor<Bitboard>,
    start: &str,
) -> Option<Drops> {
    let enabled = section.take("pieceDrops", flag).unwrap_or(false);
    let captures_to_hand = section.take("capturesToHand", flag).unwrap_or(false);
    let keeps_promoted = section.take("dropLoop", flag).unwrap_or(false);
    let two_boards = section.take("twoBoards", flag).unwrap_or(false);
    let first_rank = section.take("firstRankPawnDrops", flag).unwrap_or(false);
    let last_rank = section.take("promotionZonePawnDrops", flag).unwrap_or(false);
    let area = take_regions(section, "dropRegion", EVERYWHERE);
    let first = ByColor { white: rank(1), black: rank(ranks) };
    let pawns = |color: Color| {
        let first = if first_rank { Bitboard::EMPTY } else { first[color] };
        let last = if last_rank { Bitboard::EMPTY } else { promotion_area[color] };
        area[color] & !first & !last
    };
    let pawn_area = ByColor { white: pawns(Color::White), black: pawns(Color::Black) };
    let must = section.take("mustDrop", flag).unwrap_or(false);
    let only = section.take("mustDropType", piece_or_any).flatten();
    let doubled = section.take("dropNoDoubled", pieces).and_then(|roles| roles.first().copied());
    let limit = section.take("dropNoDoubledCount", number).unwrap_or(1);
    let opposite_bishops = section.take("dropOppositeColoredBishop", flag).unwrap_or(false);
    let pocket = start.split_once('[').and_then(|(_, rest)| rest.split(']').next());
    let drops = Drops {
        captures_to_hand,
        keeps_promoted,
        two_boards,
        kings: pocket.is_some_and(|pocket| pocket.contains(['K', 'k'])),
        area,
        pawn_area,
        must: must.then(|| only.map_or(MustDrop::Any, MustDrop::Only)),
        no_doubled: doubled.map(|role| (role, limit)),
        opposite_bishops,
    };
    enabled.then_some(drops)
}

fn take_walls(section: &mut Section<'_>) -> Option<Walls> {
    let rule = section.take("wallingRule", walling).flatten();
    let area = take_regions(section, "wallingRegion", EVERYWHERE);
    let wall_or_move = section.take("wallOrMove", flag).unwrap_or(false);
    Some(Walls { rule: rule?, area, wall_or_move })
}

/// Takes the keys of blasts. Returns the immune pieces if captures cause blasts.
fn take_blast(section: &mut Section<'_>, royal: bool) -> Option<Vec<Role>> {
    let enabled = section.take("blastOnCapture", |value| match flag(value)? {
        true if royal => Err(ValueError::RoyalKing),
        enabled => Ok(enabled),
    });
    let immune = section.take("blastImmuneTypes", pieces).unwrap_or_default();
    (enabled == Some(true)).then_some(immune)
}

/// Takes the regions of both colors, from one key for both or from two keys.
fn take_regions(
    section: &mut Section<'_>,
    key: &str,
    default: ByColor<Bitboard>,
) -> ByColor<Bitboard> {
    let both = section.take(key, region);
    let white = section.take(&format!("{key}White"), region);
    let black = section.take(&format!("{key}Black"), region);
    ByColor {
        white: white.or(both).unwrap_or(default.white),
        black: black.or(both).unwrap_or(default.black),
    }
}

/// Returns the key of a piece.
fn key(role: Role) -> &'static str {
    match role {
        Role::Pawn => "pawn",
        Role::Knight => "knight",
        Role::Bishop => "bishop",
        Role::Rook => "rook",
        Role::Queen => "queen",
        Role::King => "king",
    }
}
