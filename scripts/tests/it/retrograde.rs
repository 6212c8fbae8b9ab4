//! Solutions of small games, compared with the counts of the literature, a golden table and a naive solver.

use crate::support::naive;

use std::collections::{HashMap, HashSet};

use menagerie::rules::{MoveList, Side};
use menagerie::variant::Catalogue;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use tempfile::TempDir;
use trainer::retrograde::{Solution, UnsolvableGame, Value};

#[test]
fn retrograde_3x3_equals_the_golden_table() {
    let variant = Catalogue::shipped().get("3x3").expect("3x3 is shipped");
    let solution = Solution::of(&variant).expect("3x3 can be solved");
    let count = |wanted: fn(Value) -> bool| solution.iter().filter(|(_, v)| wanted(*v)).count();
    assert_eq!(solution.len(), 32_152);
    assert_eq!(solution.iter().count(), 32_152);
    assert_eq!(count(|value| value.score() == 1), 11_720);
    assert_eq!(count(|value| value.score() == 0), 7_640);
    assert_eq!(count(|value| value.score() == -1), 12_792);
    assert_eq!(count(|value| value == Value::Loss(0)), 6_768);
    let stalemates = solution
        .iter()
        .filter(|(position, value)| *value == Value::Draw && position.outcome().is_some());
    assert_eq!(stalemates.count(), 424);

    let table = include_str!("../../../tests/golden/mini3x3_solved.tsv").lines().skip(1);
    let values: HashMap<_, _> = solution
        .iter()
        .map(|(position, value)| (position.fen().replace(" - - 0 1", ""), value))
        .collect();
    let mut rows = 0;
    for row in table {
        let columns: Vec<&str> = row.split('\t').collect();
        let plies: i64 = columns[2].parse().expect("a distance");
        let expected = match columns[1] {
            "1" => Value::Win(plies as u32),
            "0" => Value::Draw,
            _ => Value::Loss(plies as u32),
        };
        assert_eq!(values.get(columns[0]), Some(&expected), "{row}");
        rows += 1;
    }
    assert_eq!(rows, 16_076);
}

/// Games with all pieces, including pawns and promotions, on boards that a naive solver can solve, with and
/// without each symmetry.
const SMALL: &str = "\
[slim:3x3full]
maxFile = 2
startFen = k1/1p/PK w - - 0 1

[flat:slim]
maxFile = 3
maxRank = 2
promotionRegionWhite = *2
startFen = k1p/P1K w - - 0 1

[uneven:slim]
promotionPieceTypesWhite = q
promotionPieceTypesBlack = nr

[lopsided:slim]
promotionRegionWhite = a3
stalemateValue = loss

[backwards:flat]
checkmateValue = win

[unequal:3x3]
selfPlayMen = KRRkq

[open:3x3]
pawn = p
promotionRegionWhite = *3
selfPlayMen = KPkq
";

fn small() -> Catalogue {
    let (catalogue, faults) = Catalogue::shipped().extended(SMALL);
    assert!(faults.is_empty(), "{faults:?}");
    catalogue
}

#[test]
fn retrograde_equals_the_naive_solver() {
    let catalogue = small();
    for name in ["3x3", "slim", "flat", "uneven", "lopsided", "backwards", "unequal"] {
        let variant = catalogue.get(name).expect("a game");
        let naive = naive::table(&variant);
        let mut layers = 0;
        let solution = Solution::with_threads(&variant, 2, |_, _| layers += 1).expect("solved");
        assert_eq!(layers, solution.table().index().layers().count());
        assert_eq!(solution.table().counts(), naive.counts(), "{name}");
        let mut compared = 0;
        for number in 0..naive.index().len() {
            assert_eq!(
                solution.table().value_of(number),
                naive.value_of(number),
                "{name} {number}"
            );
            compared += usize::from(naive.value_of(number).is_some());
        }
        assert!(compared > 200, "{name}: {compared}");
    }
}

#[test]
fn retrograde_rejects_games_that_cannot_be_solved() {
    let catalogue = small();
    let solve = |name: &str| Solution::of(&catalogue.get(name).expect("a game"));
    let open = solve("open").expect_err("a pawn becomes a piece that is not in the set");
    assert!(matches!(&open, UnsolvableGame::Open { fen } if fen.contains('P')), "{open}");
    for name in ["chess", "tictactoe", "antichess"] {
        let refused = solve(name).expect_err(name).to_string();
        assert!(refused.contains(&format!("[{name}]")), "{refused}");
    }
}

#[test]
fn retrograde_solution_is_saved_and_read() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("slim.table");
    let slim = small().get("slim").expect("a game");
    let solution = Solution::of(&slim).expect("solved");
    let bytes = solution.save(&slim, &path).expect("saved");
    assert_eq!(std::fs::metadata(&path).expect("a file").len(), bytes as u64);
    let read = Solution::read(&slim, &path).expect("a table");
    assert_eq!(read.len(), solution.len());
    assert_eq!(read.table().counts(), solution.table().counts());
    let missing = folder.path().join("missing");
    let refused = Solution::read(&slim, &missing).expect_err("no such file").to_string();
    assert!(refused.contains("missing"), "{refused}");
}

#[test]
fn retrograde_samples_are_different_open_positions() {
    let slim = small().get("slim").expect("a game");
    let solution = Solution::of(&slim).expect("solved");
    let drawn = |seed| solution.sample(1000, &mut ChaCha8Rng::seed_from_u64(seed));
    let texts = |seed| drawn(seed).iter().map(|(p, _)| p.fen()).collect::<Vec<_>>();
    let sample = drawn(1);
    assert_eq!(sample.iter().map(|(p, _)| p.fen()).collect::<HashSet<_>>().len(), 1000);
    assert_eq!(texts(1), texts(1));
    assert_ne!(texts(1), texts(2));
    let mut legal = MoveList::new();
    for (position, value) in &sample {
        position.legal_moves(&mut legal);
        assert!(!legal.is_empty() && solution.value(position) == Some(*value));
    }
    let white = sample.iter().filter(|(position, _)| position.turn() == Side::WHITE).count();
    assert!((400..600).contains(&white), "{white}");
    let all = solution.iter().filter(|(position, _)| position.outcome().is_none()).count();
    assert_eq!(solution.sample(solution.len(), &mut ChaCha8Rng::seed_from_u64(3)).len(), all);
}
