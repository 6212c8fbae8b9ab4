//! The minimax player: it finds mates, and alpha-beta and the transposition table change no value.

use bug0::minimax::static_eval::evaluate;
use bug0::minimax::{MATE_SCORE, Minimax};
use menagerie::rules::{BoardId, Move, MoveList, Position, Reason, Side};
use menagerie::variant::Catalogue;
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

fn parse_fen(variant: &str, fen: &str) -> Position {
    let variant = Catalogue::shipped().require(variant).expect("a variant");
    variant.position(fen, false).expect("a position")
}

fn best_move(position: &Position, depth: u32) -> Move {
    Minimax::new(depth).best_move(position).expect("a move")
}

#[test]
fn minimax_finds_and_avoids_mates() {
    let back_rank = parse_fen("chess", "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1");
    for depth in 0..3 {
        assert_eq!(back_rank.move_text(best_move(&back_rank, depth)), "a1a8");
    }
    // Taking the pawn leaves the back rank unguarded.
    let greed = parse_fen("chess", "4r1k1/5ppp/8/3p4/8/8/5PPP/3R2K1 w - - 0 1");
    assert_eq!(greed.move_text(best_move(&greed, 0)), "d1d5");
    assert_ne!(greed.move_text(best_move(&greed, 1)), "d1d5");
    assert_eq!(Minimax::new(1).value(&greed, 0), evaluate(&greed));
    // Mate in two, by Black.
    let mate_in_two = parse_fen("chess", "6k1/5ppp/8/8/8/8/1r3PPP/r5K1 b - - 0 1");
    assert_eq!(Minimax::new(1).value(&mate_in_two, 2), MATE_SCORE + 1);
}

#[test]
fn minimax_searches_the_board_to_move() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1";
    let mate = "6k1/5ppp/8/8/8/8/8/4K3[R] w - - 0 1";
    for (fen, winner) in [(format!("{mate}|{start}|A"), 0), (format!("{start}|{mate}|B"), 1)] {
        let mut position = parse_fen("bughouse2fixed", &fen);
        let m = best_move(&position, 1);
        assert!(position.move_text(m).contains("R@"), "{}", position.move_text(m));
        assert!(position.play(m));
        let end = position.result().expect("mate");
        assert_eq!((end.winner, end.reason), (Some(Side::new(winner)), Reason::Checkmate));
    }
}

/// Minimax without alpha-beta and without a transposition table.
fn plain_minimax(position: &Position, depth: u32, one_of_two_boards: bool) -> i32 {
    let mut moves = MoveList::new();
    position.legal_moves(&mut moves);
    if let Some(end) = position.outcome_given(&moves) {
        return match end.winner {
            Some(winner) if winner == position.turn() => MATE_SCORE + depth as i32,
            Some(_) => -MATE_SCORE - depth as i32,
            None if one_of_two_boards && end.reason == Reason::Stalemate => evaluate(position),
            None => 0,
        };
    }
    if depth == 0 {
        return evaluate(position);
    }
    let values = moves.into_iter().map(|m| {
        let mut next = position.clone();
        next.play_unchecked(m);
        let value = plain_minimax(&next, depth - 1, one_of_two_boards);
        if next.turn() == position.turn() { value } else { -value }
    });
    values.max().expect("a move")
}

/// A position after at most `plies` random plies.
fn random_position(variant: &str, plies: usize, seed: u64) -> Position {
    let mut position = Catalogue::shipped().require(variant).expect("a variant").start();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut moves = MoveList::new();
    for _ in 0..rng.random_range(0..=plies) {
        position.legal_moves(&mut moves);
        let Some(&m) = moves.choose(&mut rng) else { break };
        position.play_unchecked(m);
    }
    position
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn minimax_value_is_that_of_plain_minimax(seed: u64) {
        for (variant, depth) in
            [("3x3", 5), ("chess", 2), ("crazyhouse", 2), ("atomic", 2), ("giveaway", 3)]
        {
            let position = random_position(variant, 60, seed);
            for depth in 0..=depth {
                let value = Minimax::new(1).value(&position, depth);
                prop_assert_eq!(value, plain_minimax(&position, depth, false), "{} {}", variant, position.fen());
            }
        }
        let position = random_position("bughouse2fixed", 120, seed);
        if position.result().is_none() {
            let table = if position.board().team.may_move { BoardId::A } else { BoardId::B };
            let board = position.board_position(table).expect("a board");
            let value = Minimax::new(1).value(&position, 2);
            prop_assert_eq!(value, plain_minimax(&board, 2, true), "{}", position.fen());
        }
    }

    #[test]
    fn minimax_best_move_has_the_best_value(seed: u64) {
        let position = random_position("chess", 60, seed);
        if position.outcome().is_none() {
            let mut next = position.clone();
            next.play_unchecked(best_move(&position, 1));
            let value = Minimax::new(1).value(&position, 2);
            let after = -Minimax::new(1).value(&next, 1);
            // The scores of a mate differ by the ply that has been played.
            let both_mates = after.abs() >= MATE_SCORE && value.abs() >= MATE_SCORE;
            prop_assert!(after == value || both_mates);
        }
    }
}
