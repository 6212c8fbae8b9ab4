//! The eight variants of Lichess against shakmaty, ply by ply.

use crate::support::golden;

use menagerie::rules::{MoveList, Position, Side};
use menagerie::variant::Catalogue;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::variant::{Variant, VariantPosition};
use shakmaty::{CastlingMode, Color, EnPassantMode, Position as _};

const LICHESS_VARIANTS: [&str; 8] = [
    "chess",
    "crazyhouse",
    "atomic",
    "antichess",
    "horde",
    "kingofthehill",
    "racingkings",
    "3check",
];

/// Returns the position in shakmaty, without its checks for positions that no game reaches.
#[allow(clippy::result_large_err, reason = "shakmaty's errors hold the position")]
fn theirs(game: Variant, fen: &str, mode: CastlingMode) -> VariantPosition {
    let fen: Fen = fen.parse().expect("a FEN");
    VariantPosition::from_setup(game, fen.into_setup(), mode)
        .or_else(|error| error.ignore_too_much_material())
        .or_else(|error| error.ignore_impossible_check())
        .or_else(|error| error.ignore_invalid_ep_square())
        .expect("a position")
}

/// Returns the fields of a FEN that both programs write in the same way: board, sorted pocket, side to
/// move and en passant square.
fn fields(fen: &str) -> (String, Vec<char>, String, String) {
    let fields: Vec<&str> = fen.split(' ').collect();
    let (board, pocket) = fields[0].split_once('[').unwrap_or((fields[0], ""));
    let mut pocket: Vec<_> = pocket.chars().collect();
    pocket.sort_unstable();
    (board.to_owned(), pocket, fields[1].to_owned(), fields[3].to_owned())
}

/// Compares a position with that of shakmaty. Returns the legal moves.
fn compare(mine: &Position, other: &VariantPosition, mode: CastlingMode) -> MoveList {
    let fen = mine.fen();
    let known = Fen::from_position(other, EnPassantMode::Legal).to_string();
    assert_eq!(fields(&fen), fields(&known));
    let mut legal = MoveList::new();
    mine.legal_moves(&mut legal);
    let mut texts: Vec<_> = legal.iter().map(|&m| mine.move_text(m)).collect();
    let moves = other.legal_moves();
    let mut expected: Vec<_> = moves.iter().map(|m| m.to_uci(mode).to_string()).collect();
    texts.sort();
    expected.sort();
    assert_eq!(texts, expected, "{fen}");
    let outcome = mine.outcome();
    assert_eq!(outcome.is_some(), other.is_variant_end() || moves.is_empty(), "{fen}");
    if let Some(outcome) = outcome {
        let winner = other.outcome().winner().map(|color| match color {
            Color::White => Side::WHITE,
            Color::Black => Side::BLACK,
        });
        assert_eq!(outcome.winner, winner, "{fen}");
    }
    legal
}

#[test]
fn agreement_with_shakmaty_in_random_games() {
    for name in LICHESS_VARIANTS {
        let variant = Catalogue::shipped().get(name).expect("shipped");
        let game = Variant::from_uci(name).expect("shakmaty knows it");
        let starts = golden::rows::<4>(include_str!("../golden/perft.tsv"))
            .map(|[name, fen, ..]| (golden::variant(name), fen))
            .filter(|((other, _), _)| *other == name);
        let mut ends = 0;
        for (seed, ((_, chess960), fen)) in starts.enumerate() {
            let mut rng = SmallRng::seed_from_u64(seed as u64);
            let mut mine = variant.position(fen, chess960).expect("a golden FEN is read");
            if mine.opponent_in_check() {
                continue;
            }
            let mode = CastlingMode::from_chess960(chess960);
            let mut other = theirs(game, fen, mode);
            for _ in 0..400 {
                let legal = compare(&mine, &other, mode);
                if legal.is_empty() {
                    ends += 1;
                    break;
                }
                let chosen = legal[rng.random_range(0..legal.len())];
                let text: UciMove = mine.move_text(chosen).parse().expect("a move");
                let known = text.to_move(&other).expect("a legal move");
                mine.play_unchecked(chosen);
                other.play_unchecked(known);
            }
        }
        assert!(ends >= 2, "{name}: {ends} games ended");
    }
}
