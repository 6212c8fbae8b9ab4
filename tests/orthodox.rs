//! Chess of the family `chess8` against that of Lichess's: the same game, made twice.

mod golden;

use std::sync::Arc;

use menagerie::rules::{Move, MoveList, Position, perft};
use menagerie::variant::{Catalogue, Variant};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Chess with no key but its name: all axes are orthodox.
fn ours() -> Arc<Variant> {
    let catalogue = Catalogue::parse("[orthodox]\n").expect("a section without keys is chess");
    catalogue.get("orthodox").expect("it has been read")
}

fn theirs() -> Arc<Variant> {
    Catalogue::shipped().get("chess").expect("chess is shipped")
}

#[test]
fn every_row_of_chess_and_chess960_is_equal() {
    let ours = ours();
    let mut rows = 0;
    for [name, fen, depth, nodes] in golden::rows(include_str!("golden/perft.tsv")) {
        let ("chess", chess960) = golden::variant(name) else { continue };
        rows += 1;
        let position = ours.position(fen, chess960).expect("a golden FEN is read");
        let depth = depth.parse().expect("a depth");
        assert_eq!(perft(&position, depth).to_string(), nodes, "{name} \"{fen}\" {depth}");
    }
    assert_eq!(rows, 82);
}

/// The legal moves as text, in an order of their own.
fn texts(position: &Position) -> Vec<(String, Move)> {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    let mut texts: Vec<_> = legal.into_iter().map(|m| (position.move_text(m), m)).collect();
    texts.sort();
    texts
}

#[test]
fn random_games_are_equal_ply_by_ply() {
    let starts = golden::rows::<4>(include_str!("golden/perft.tsv"))
        .map(|[name, fen, ..]| (golden::variant(name), fen))
        .filter(|((name, _), _)| *name == "chess");
    let (ours, theirs) = (ours(), theirs());
    let mut ends = 0;
    for (seed, ((_, chess960), fen)) in starts.enumerate() {
        let mut rng = SmallRng::seed_from_u64(seed as u64);
        let mut mine = ours.position(fen, chess960).expect("a golden FEN is read");
        let mut other = theirs.position(fen, chess960).expect("a golden FEN is read");
        for _ in 0..400 {
            assert_eq!(mine.fen(), other.fen());
            let legal = texts(&mine);
            assert_eq!(legal, texts(&other), "{}", mine.fen());
            assert_eq!(mine.outcome(), other.outcome(), "{}", mine.fen());
            assert_eq!(mine.claim(), other.claim(), "{}", mine.fen());
            let (view, known) = (mine.view(), other.view());
            assert_eq!(view.castling, known.castling, "{}", mine.fen());
            assert_eq!(view.en_passant, known.en_passant, "{}", mine.fen());
            assert_eq!(mine.diagram(), other.diagram());
            if legal.is_empty() {
                ends += 1;
                break;
            }
            let (_, m) = legal[rng.random_range(0..legal.len())];
            mine.play_unchecked(m);
            other.play_unchecked(m);
        }
    }
    assert!(ends > 5, "only {ends} games came to an end");
}
