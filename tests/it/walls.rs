//! Games with walls against pyffish 0.0.90, the Python package of Fairy-Stockfish: every walling rule,
//! after a move and instead of a move, with castling, drops, blasts, en passant and promotion.
//!
//! A row of `golden/walls.tsv` is a variant, `960` for Chess960, a FEN, the number of legal moves, and
//! a hash (64-bit FNV-1a) of their texts, sorted and joined by spaces. A row of
//! `golden/walls_perft.tsv` is a variant, a FEN, a depth and a count by `go perft` of Fairy-Stockfish.
//! Positions in which that program contradicts its own rules are left out. Each kind of them has a test
//! below, which describes the difference.

use crate::support::golden;

use std::sync::Arc;

use menagerie::rules::{MoveList, Position, perft};
use menagerie::variant::{Catalogue, Variant};

fn catalogue() -> Catalogue {
    let (catalogue, errors) = Catalogue::shipped().extended(include_str!("../golden/walls.ini"));
    assert!(errors.is_empty(), "{errors:?}");
    catalogue
}

fn game(name: &str) -> Arc<Variant> {
    catalogue().get(name).unwrap_or_else(|| panic!("{name} is missing"))
}

/// Returns the texts of all legal turns, sorted.
fn turns(position: &Position) -> Vec<String> {
    let mut texts = Vec::new();
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    for first in legal {
        let mut next = position.clone();
        next.play_unchecked(first);
        if next.mid_turn() {
            let mut walls = MoveList::new();
            next.legal_moves(&mut walls);
            texts.extend(walls.into_iter().map(|wall| position.turn_text(&[first, wall])));
        } else {
            texts.push(position.turn_text(&[first]));
        }
    }
    texts.sort();
    texts
}

/// Returns the 64-bit FNV-1a hash.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[test]
fn walls_move_lists_match_pyffish() {
    let catalogue = catalogue();
    let mut wrong = Vec::new();
    let mut compared = 0;
    for [name, mode, fen, count, wanted] in golden::rows::<5>(include_str!("../golden/walls.tsv")) {
        let variant = catalogue.get(name).unwrap_or_else(|| panic!("{name} is missing"));
        let position = variant.position(fen, mode == "960");
        let position = position.unwrap_or_else(|error| panic!("{error}"));
        let turns = turns(&position);
        compared += 1;
        let found = format!("{:016x}", hash(&turns.join(" ")));
        if (turns.len().to_string().as_str(), found.as_str()) != (count, wanted) {
            wrong.push(format!("{name} \"{fen}\": {} moves, expected {count}", turns.len()));
        }
        // Texts are parsed as the turns from which they were written.
        for text in turns.iter().step_by(7) {
            let plies = position.parse_turn(text).unwrap_or_else(|| panic!("{name} {fen} {text}"));
            assert_eq!(position.turn_text(&plies), *text, "{name} {fen}");
        }
    }
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(compared, 940);
}

#[test]
fn walls_perft_matches_fairy_stockfish() {
    let catalogue = catalogue();
    let mut compared = 0;
    for [name, fen, depth, nodes] in golden::rows::<4>(include_str!("../golden/walls_perft.tsv")) {
        let variant = catalogue.get(name).unwrap_or_else(|| panic!("{name} is missing"));
        let position = variant.position(fen, false).unwrap_or_else(|error| panic!("{error}"));
        let depth = depth.parse().expect("a depth");
        assert_eq!(perft(&position, depth).to_string(), nodes, "{name} \"{fen}\" {depth}");
        compared += 1;
    }
    assert_eq!(compared, 185);
}

/// Checks which turns are legal in a position.
fn check(variant: &str, fen: &str, chess960: bool, turns: &[(&str, bool)]) {
    let position = game(variant).position(fen, chess960);
    let position = position.unwrap_or_else(|error| panic!("{error}"));
    for &(turn, legal) in turns {
        assert_eq!(position.parse_turn(turn).is_some(), legal, "{variant} {fen} {turn}");
    }
}

#[test]
fn walls_arrows_start_from_the_king_that_castled() {
    // In pyffish they start from the square of the rook, as if the king were there.
    for chess960 in [false, true] {
        check(
            "chess-arrow",
            "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
            chess960,
            &[("e1c1,c1c2", true), ("e1c1,c1b1", true), ("e1c1,c1a2", false), ("O-O,g1h1", true)],
        );
    }
}

#[test]
fn walls_arrows_follow_the_promoted_piece() {
    // In pyffish they follow the pawn, which cannot move from the last rank, so that no pawn promotes.
    let fen = "4k3/P7/8/8/8/8/8/4K3 w - - 0 1";
    check("chess-arrow", fen, false, &[("a7a8n,a8b6", true), ("a7a8r,a8a2", true)]);
    check("chess-arrow", fen, false, &[("a7a8n,a8a7", false), ("a7a8b,a8a7", false)]);
}

#[test]
fn walls_after_a_drop_are_walls() {
    // pyffish places the wall by the number of the piece, for a knight on c1, without a choice.
    let (catalogue, errors) =
        Catalogue::shipped().extended("[made:crazyhouse]\nwallingRule = static\n");
    assert!(errors.is_empty(), "{errors:?}");
    let made = catalogue.get("made").expect("defined");
    let position = made.position("4k3/8/8/8/8/8/8/4K3[N] w - - 0 1", false).expect("a position");
    assert!(position.parse_turn("N@e4,e4h8").is_some() && position.parse_turn("N@e4").is_none());
}

#[test]
fn walls_stay_off_the_rook_of_a_king_that_castles_on_its_square() {
    // pyffish moves the rook to the other side of a king that is already on its destination.
    let fen = "2r3kr/pp1p2pp/8/8/8/8/PP1P2PP/2R3KR b HChc - 0 1";
    for rule in ["edge", "static"] {
        let turns = [("g8h8,h8f8", false), ("g8h8,h8h8", true), ("g8h8,h8e8", true)];
        check(&format!("chess-{rule}"), fen, true, &turns);
    }
}

#[test]
fn walls_the_duck_that_stays_protects_and_the_one_that_leaves_does_not() {
    // A turn is a move or a move of the duck. In pyffish the duck may expose a royal king to capture.
    let shielded = "4k3/4r3/8/8/4*3/8/8/4K3 w - - 0 1";
    for game in ["chess-duck-or-move", "house-duck-or-move"] {
        let turns = [("e1e1,e1e3", true), ("e1e1,e1e2", true), ("e1e1,e1h8", false)];
        check(game, shielded, false, &turns);
        check(game, shielded, false, &[("e1d1,d1a1", true), ("e1d1", true)]);
    }
    // It also ignores the duck after moves of pieces if the king is a pseudo-royal commoner.
    check("atomic-duck-or-move", shielded, false, &[("e1f1", true), ("e1e2", true)]);
    check("atomic-duck-or-move", shielded, false, &[("e1e1,e1h8", false), ("e1e1,e1e3", true)]);
    // The duck does not follow a move, so that the king must not move into check.
    let open = "4k3/8/8/3*4/8/8/6q1/K7 w - - 0 1";
    check("chess-duck-or-move", open, false, &[("a1b1", true), ("a1a2", false), ("a1b2", false)]);
}

#[test]
fn walls_the_duck_that_ends_a_turn_shields_a_royal_king() {
    // pyffish judges checks before the duck is placed.
    let fen = "4k3/4r3/8/8/7*/8/8/3RK3 w - - 0 1";
    check("chess-duck", fen, false, &[("d1d2,d2e3", true), ("d1d2,d2h1", false)]);
}

#[test]
fn walls_on_the_square_of_a_pawn_captured_en_passant_shield() {
    // pyffish allows such a wall, but sees attacks through it.
    let fen = "7k/8/8/r1pP3K/8/8/8/*7 w - c6 0 1";
    let turns = [("d5c6,c6c5", true), ("d5c6,c6d5", true), ("d5c6,c6b8", false)];
    check("royal-king-duck", fen, false, &turns);
}
