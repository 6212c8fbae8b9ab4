//! Minimax: it sees mates, and its shortcuts change no value.

use menagerie::rules::{Move, MoveList, Position, Reason, Side, Table};
use menagerie::variant::Catalogue;
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use trainer::minimax::{MATE, Minimax, standing};

fn position(variant: &str, fen: &str) -> Position {
    let variant = Catalogue::shipped().require(variant).expect("a variant");
    variant.position(fen, false).expect("a position")
}

fn best(position: &Position, depth: u32) -> Move {
    Minimax::new(depth).best_move(position).expect("a move")
}

#[test]
fn it_mates_and_does_not_walk_into_mates() {
    let back_rank = position("chess", "6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1");
    for depth in 0..3 {
        assert_eq!(back_rank.move_text(best(&back_rank, depth)), "a1a8");
    }
    // A pawn to take, and a rook that would no longer guard the back rank.
    let greed = position("chess", "4r1k1/5ppp/8/3p4/8/8/5PPP/3R2K1 w - - 0 1");
    assert_eq!(greed.move_text(best(&greed, 0)), "d1d5");
    assert_ne!(greed.move_text(best(&greed, 1)), "d1d5");
    assert_eq!(Minimax::new(1).value(&greed, 0), standing(&greed));
    // Mate in two, by Black.
    let two = position("chess", "6k1/5ppp/8/8/8/8/1r3PPP/r5K1 b - - 0 1");
    assert_eq!(Minimax::new(1).value(&two, 2), MATE + 1);
}

#[test]
fn at_two_tables_it_sees_the_one_where_it_is_asked() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[] w KQkq - 0 1";
    let mate = "6k1/5ppp/8/8/8/8/8/4K3[R] w - - 0 1";
    for (fen, winner) in [(format!("{mate}|{start}|A"), 0), (format!("{start}|{mate}|B"), 1)] {
        let mut position = position("bughouse2fixed", &fen);
        let m = best(&position, 1);
        assert!(position.move_text(m).contains("R@"), "{}", position.move_text(m));
        assert!(position.play(m));
        let end = position.result().expect("mate");
        assert_eq!((end.winner, end.reason), (Some(Side::new(winner)), Reason::Checkmate));
    }
}

/// Minimax by its definition.
fn plain(position: &Position, depth: u32, waits: bool) -> i32 {
    let mut moves = MoveList::new();
    position.legal_moves(&mut moves);
    if let Some(end) = position.outcome_given(&moves) {
        return match end.winner {
            Some(winner) if winner == position.turn() => MATE + depth as i32,
            Some(_) => -MATE - depth as i32,
            None if waits && end.reason == Reason::Stalemate => standing(position),
            None => 0,
        };
    }
    if depth == 0 {
        return standing(position);
    }
    let after = |m: Move| {
        let mut next = position.clone();
        next.play_unchecked(m);
        let value = plain(&next, depth - 1, waits);
        if next.turn() == position.turn() { value } else { -value }
    };
    moves.into_iter().map(after).max().expect("a move")
}

fn wander(variant: &str, plies: usize, seed: u64) -> Position {
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
    fn alpha_beta_and_the_table_change_no_value(seed: u64) {
        for (variant, depth) in
            [("3x3", 5), ("chess", 2), ("crazyhouse", 2), ("atomic", 2), ("giveaway", 3)]
        {
            let position = wander(variant, 60, seed);
            for depth in 0..=depth {
                let found = Minimax::new(1).value(&position, depth);
                prop_assert_eq!(found, plain(&position, depth, false), "{} {}", variant, position.fen());
            }
        }
        let tables = wander("bughouse2fixed", 120, seed);
        if tables.result().is_none() {
            let table = if tables.view().seat.asked { Table::A } else { Table::B };
            let board = tables.at_table(table).expect("a table");
            let found = Minimax::new(1).value(&tables, 2);
            prop_assert_eq!(found, plain(&board, 2, true), "{}", tables.fen());
        }
    }

    #[test]
    fn the_best_move_leads_to_the_best_value(seed: u64) {
        let position = wander("chess", 60, seed);
        if position.outcome().is_none() {
            let mut next = position.clone();
            next.play_unchecked(best(&position, 1));
            let value = Minimax::new(1).value(&position, 2);
            let after = -Minimax::new(1).value(&next, 1);
            // A move that ends the game has one ply of depth more behind it when it is looked at.
            prop_assert!(after == value || after.abs() >= MATE && value.abs() >= MATE);
        }
    }
}
