//! Proofs of the search, compared with the solutions of other programs: 3x3 chess and Tic-Tac-Mo. Random game
//! trees are in tests/it/search.rs.

use crate::support::golden;

use std::collections::HashMap;

use menagerie::encoding::Encoding;
use menagerie::nn::Uniform;
use menagerie::rules::Position;
use menagerie::search::{Params, Proof, Searcher, Tree};
use menagerie::variant::Catalogue;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Returns the proof after a number of visits, with random memory, batch size and use of proof numbers.
fn proof(position: &Position, visits: u32, rng: &mut SmallRng) -> Proof {
    let params = if rng.random() { Params::default() } else { Params::without_network() };
    let memory = if rng.random() { 1 << 16 } else { 1 << 20 };
    let mut tree = Tree::new(position.clone(), params, memory);
    let mut evaluator = Uniform::new(Encoding::of(position).shape());
    let mut searcher = Searcher::new(&mut tree, &mut evaluator, rng.random_range(1..5));
    let mut spent = 0;
    while spent < visits && !searcher.tree().is_proven() {
        spent += searcher.step(visits - spent).expect("Uniform never fails").visits.max(1);
    }
    tree.proof()
}

#[test]
fn proofs_of_3x3_chess_are_true() {
    let variant = Catalogue::shipped().require("3x3").expect("shipped");
    let mut rng = SmallRng::seed_from_u64(3);
    let mut proven = [0; 3];
    let rows = golden::rows(include_str!("../golden/mini3x3_solved.tsv")).skip(1);
    for [fen, score, plies] in rows {
        let position = variant.position(&format!("{fen} - - 0 1"), false).expect(fen);
        if position.outcome().is_some() {
            continue;
        }
        let visits = 1 << rng.random_range(0..12);
        let (score, plies): (i8, i32) = (score.parse().expect(fen), plies.parse().expect(fen));
        match proof(&position, visits, &mut rng) {
            Proof::Open => continue,
            Proof::Won(turns) => assert!(score == 1 && i32::from(turns) >= plies, "{fen}"),
            Proof::Drawn => assert_eq!(score, 0, "{fen}"),
            Proof::Lost(turns) => {
                assert!(
                    score == -1 && turns.is_none_or(|turns| i32::from(turns) >= plies),
                    "{fen}"
                );
            }
        }
        proven[(score + 1) as usize] += 1;
    }
    println!("lost, drawn, won: {proven:?}");
    assert!(proven[0] > 1200 && proven[1] > 80 && proven[2] > 3200, "{proven:?}");
}

#[test]
fn proofs_of_3x3_chess_have_exact_lengths_when_solved() {
    let variant = Catalogue::shipped().require("3x3").expect("shipped");
    let rows = golden::rows(include_str!("../golden/mini3x3_solved.tsv")).skip(1);
    let solved: HashMap<&str, (&str, i16)> =
        rows.map(|[fen, score, plies]| (fen, (score, plies.parse().expect(fen)))).collect();
    let mut rng = SmallRng::seed_from_u64(5);
    let rows = golden::rows(include_str!("../golden/mini3x3_solved.tsv")).skip(1).step_by(10);
    let mut exact = 0;
    let mut open = 0;
    for [fen, _, _] in rows {
        let position = variant.position(&format!("{fen} - - 0 1"), false).expect(fen);
        let mut evaluator = Uniform::new(Encoding::of(&position).shape());
        let mut tree = Tree::new(position, Params::default(), 1 << 22);
        // The tree is reused: a repetition in one search may not be one in the next.
        for _ in 0..4 {
            if tree.root().outcome().is_some() {
                break;
            }
            let mut searcher = Searcher::new(&mut tree, &mut evaluator, rng.random_range(1..5));
            searcher.visit(4000, || true).expect("Uniform never fails");
            let fen = tree.root().fen();
            let fen = fen.split(" - ").next().expect("two fields");
            // The table has about two thirds of all positions.
            match (solved.get(fen), tree.proof()) {
                (None, _) => {}
                (Some(_), _) if !tree.is_proven() => open += 1,
                (Some(&solved), proof) => {
                    let (score, plies) = match proof {
                        Proof::Won(turns) => ("1", turns.into()),
                        Proof::Lost(turns) => ("-1", turns.map_or(-1, i16::from)),
                        Proof::Drawn | Proof::Open => ("0", -1),
                    };
                    assert_eq!((score, plies), solved, "{fen}");
                    exact += 1;
                }
            }
            let choices = tree.root_moves();
            tree.advance(choices[rng.random_range(0..choices.len().min(3))].m);
        }
    }
    println!("exact, open: {exact}, {open}");
    assert!(exact > 2000 && open < 300, "{exact} {open}");
}

#[test]
fn proofs_of_tic_tac_mo_are_true() {
    let variant = Catalogue::shipped().require("tictacmo").expect("shipped");
    let mut rng = SmallRng::seed_from_u64(4);
    let mut proven = 0;
    for [board, player, ends] in golden::rows(include_str!("../golden/tictacmo_solved.tsv")) {
        let position = variant.position(&golden::tictacmo_fen(board, player), false).expect(board);
        let player: usize = player.parse().expect(board);
        // The possible results, depending on how ties are broken: 0 for a draw, or the winner.
        let ends: Vec<usize> = ends.split(',').map(|end| end.parse().expect(board)).collect();
        for _ in 0..4 {
            let visits = 1 << rng.random_range(0..12);
            match proof(&position, visits, &mut rng) {
                Proof::Open => continue,
                Proof::Won(_) => assert_eq!(ends, [player], "{board}"),
                Proof::Drawn => assert_eq!(ends, [0], "{board}"),
                Proof::Lost(_) => assert!(!ends.contains(&0) && !ends.contains(&player), "{board}"),
            }
            proven += 1;
        }
    }
    assert!(proven > 1000, "{proven}");
}
