//! The eight games of Lichess against shakmaty, which knows nothing of keys and variant_rules.

use crate::support::golden;

use menagerie::rules::{MoveList, Position, Side};
use menagerie::variant::Catalogue;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::variant::{Variant, VariantPosition};
use shakmaty::{CastlingMode, Color, EnPassantMode, Position as _};

const EIGHT: [&str; 8] = [
    "chess",
    "crazyhouse",
    "atomic",
    "antichess",
    "horde",
    "kingofthehill",
    "racingkings",
    "3check",
];

/// shakmaty's position, which is as strict as a game could be.
#[allow(clippy::result_large_err, reason = "shakmaty's errors hold the position")]
fn theirs(game: Variant, fen: &str, mode: CastlingMode) -> VariantPosition {
    let fen: Fen = fen.parse().expect("a FEN");
    let read = VariantPosition::from_setup(game, fen.into_setup(), mode);
    let read = read.or_else(|error| error.ignore_too_much_material());
    let read = read.or_else(|error| error.ignore_impossible_check());
    read.or_else(|error| error.ignore_invalid_ep_square()).expect("a position")
}

/// Board, men in hand in some order, side to move and the square of en passant: the rest is written
/// in more than one way.
fn fields(fen: &str) -> (String, Vec<char>, String, String) {
    let mut words = fen.split(' ').map(str::to_owned);
    let mut next = || words.next().expect("a field");
    let (men, turn, _, en_passant) = (next(), next(), next(), next());
    let (board, hands) = men.split_once('[').unwrap_or((&men, ""));
    let mut hands: Vec<_> = hands.chars().collect();
    hands.sort_unstable();
    (board.to_owned(), hands, turn, en_passant)
}

/// Holds a position to shakmaty's, and gives the legal moves.
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
    let (outcome, ended) = (mine.outcome(), other.is_variant_end() || moves.is_empty());
    assert_eq!(outcome.is_some(), ended, "{fen}");
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
fn random_games_are_equal_ply_by_ply() {
    for name in EIGHT {
        let variant = Catalogue::shipped().get(name).expect("it is shipped");
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
