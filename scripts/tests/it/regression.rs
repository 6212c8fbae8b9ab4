//! Regressions: what they are given, that they learn it, and that no file of theirs can do harm.

use menagerie::rules::{MoveList, Table};
use menagerie::variant::{Catalogue, Variant};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use std::fs;
use std::sync::Arc;
use tempfile::TempDir;
use trainer::record::{End, GameRecord, PlyRecord};
use trainer::regression::Greedy;
use trainer::regression::fit::{Kind, Learning, Settings};
use trainer::regression::model::{Model, Node, Tree};
use trainer::regression::planes::{NUMBERS, Next, Numbers};
use trainer::regression::principal::{ActivationRanges, Principal};
use trainer::regression::states::{States, draw, value};

fn variant() -> Arc<Variant> {
    Catalogue::shipped().require("bughouse2fixed").expect("a variant")
}

fn settings(states: usize, components: usize) -> Settings {
    Settings { states, components, penalty: 0.01, trees: 10, seed: 3 }
}

#[test]
fn values_fall_by_a_hundredth_a_move() {
    assert_eq!(value(0, 10, 0), 0.0);
    assert_eq!(value(10, 10, 0), 1.0);
    assert_eq!(value(10, 10, 1), -1.0);
    assert_eq!(value(9, 10, 1), -0.99);
    assert!((value(1, 101, 0) - 0.366_032_34).abs() < 1e-6);
}

#[test]
fn planes_are_the_papers() {
    assert_eq!(NUMBERS, 1824);
    let start = variant().start();
    let next = Next::of(&start);
    assert_eq!(next.table, Table::A);
    let Numbers(numbers) = Numbers::of(&start, next);
    // Side 0 is to move; 32 men and four rights of castling at each table.
    assert_eq!(numbers.len(), 1 + 2 * (32 + 4));
    assert!(numbers.is_sorted_by(|a, b| a.0 < b.0));
    // As many ones as there are in the 60 planes.
    let ones: f32 = numbers.iter().map(|(_, it)| it * it).sum();
    assert_eq!(ones, (64 + 2 * (32 + 4 * 64)) as f32);
    let fen = "7k/8/8/8/8/8/8/K7[QQp] w - - 6 9|rnbqkbnr/pppp1ppp/8/8/3Pp3/8/PPP1PPPP/RNBQKBNR[] \
               b Kq d3 0 3|B";
    let position = variant().position(fen, false).expect("a position");
    let Numbers(numbers) = Numbers::of(&position, Next::of(&position));
    let at = |place: usize| {
        numbers.iter().find(|(found, _)| usize::from(*found) == place).map_or(0.0, |it| it.1)
    };
    let second = 2 + 911;
    // Black at B plays for side 0.
    assert_eq!((at(0), at(1)), (8.0, 8.0));
    // The white king of a1 at A, two queens and a black pawn in hand, six half-moves.
    assert_eq!((at(2), at(2 + 768), at(2 + 768 + 9), at(2 + 906)), (1.0, 16.0, 8.0, 48.0));
    // At B castling of White on the king's side and of Black on the queen's.
    let rights = [907, 908, 909, 910].map(|place| at(second + place));
    assert_eq!(rights, [8.0, 0.0, 0.0, 8.0]);
    // White's pawn on d4 at B.
    assert_eq!(at(second + 5 * 64 + 27), 1.0);
}

/// Random rows, and a function of them.
fn synthetic(count: usize, seed: u64, function: impl Fn(&[f32]) -> f32) -> States {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut states = States::default();
    for _ in 0..count {
        let row: Vec<f32> = (0..WIDTH)
            .map(|nth| if rng.random_bool(0.4) { 1.0 + (nth % 3) as f32 } else { 0.0 })
            .collect();
        let numbers = row.iter().enumerate().filter(|(_, it)| **it != 0.0);
        states.rows.push(Numbers(numbers.map(|(place, it)| (place as u16, *it)).collect()));
        states.values.push(function(&row));
    }
    states
}

const WIDTH: usize = 24;

#[test]
fn what_is_linear_is_found_exactly() {
    let function = |row: &[f32]| 0.3 - 0.2 * row[1] + 0.7 * row[20] + 0.01 * row[5];
    let (learnt, unseen) = (synthetic(500, 1, function), synthetic(200, 2, function));
    let learning = Learning::new(&learnt, WIDTH, settings(500, WIDTH)).expect("learnt");
    assert!((learning.explained() - 1.0).abs() < 1e-9);
    let linear = learning.fit(Kind::Linear, &unseen).expect("learnt");
    assert!(linear.held_back > 0.999_99, "{linear:?}");
    let Model::Linear { weights, bias } = &linear.model else { panic!("{linear:?}") };
    for (place, wanted) in [(1, -0.2), (20, 0.7), (5, 0.01), (7, 0.0)] {
        assert!((weights[place] - wanted).abs() < 1e-4, "{weights:?}");
    }
    assert!((bias - 0.3).abs() < 1e-4);
    // Penalties take a little off, and great ones take all.
    let net = learning.fit(Kind::ElasticNet, &unseen).expect("learnt");
    assert!(net.held_back > 0.9 && net.held_back < linear.held_back, "{net:?}");
    let strict = Settings { penalty: 100.0, ..settings(500, WIDTH) };
    let learning = Learning::new(&learnt, WIDTH, strict).expect("learnt");
    let nothing = learning.fit(Kind::ElasticNet, &unseen).expect("learnt");
    assert!(nothing.learnt.abs() < 1e-6 && nothing.held_back <= 0.0, "{nothing:?}");
}

#[test]
fn trees_find_what_is_not_linear() {
    let function = |row: &[f32]| if row[3] > 0.0 && row[4] > 0.0 { 1.0 } else { -1.0 };
    let (learnt, unseen) = (synthetic(2000, 3, function), synthetic(400, 4, function));
    let learning = Learning::new(&learnt, WIDTH, settings(2000, WIDTH)).expect("learnt");
    let marks = [Kind::Linear, Kind::Tree, Kind::Forest]
        .map(|kind| learning.fit(kind, &unseen).expect("learnt"));
    let [linear, tree, forest] = &marks;
    // As deep as it grows, a tree knows all that it has seen.
    assert!(tree.learnt > 0.999, "{}", tree.learnt);
    assert!(forest.learnt > linear.learnt && forest.held_back > tree.held_back);
    let Model::Trees { trees, .. } = &forest.model else { panic!("no trees") };
    assert_eq!(trees.len(), 10);
    assert_ne!(trees[0], trees[1]);
    // The same seed gives the same forest.
    assert_eq!(learning.fit(Kind::Forest, &unseen).expect("learnt").model, forest.model);
}

#[test]
fn components_keep_what_varies_most() {
    // Two numbers that go together, and one that hardly varies.
    let rows: Vec<Numbers> = (0..100)
        .map(|nth| {
            let it = (nth % 10) as f32;
            Numbers(vec![(0, it), (1, 2.0 * it), (2, 0.01 * (nth % 2) as f32)])
        })
        .collect();
    let spread = ActivationRanges::of(&rows, 3, 1);
    assert!(spread.explained > 0.999_99, "{spread:?}");
    // 8.25 is the variance of 0 to 9; along (1, 2) it is five times as much.
    assert!((spread.variances[0] - 41.25).abs() < 1e-3, "{spread:?}");
    let size: f32 = spread.principal.axes.iter().map(|it| it * it).sum();
    assert!((size - 1.0).abs() < 1e-5);
    let mean = (0..10).map(|nth| spread.principal.project(&rows[nth])[0]).sum::<f32>();
    assert!(mean.abs() < 1e-4, "{mean}");
}

/// Random games, which somebody is said to have won.
fn games(count: u64) -> Vec<GameRecord> {
    let variant = Catalogue::shipped().require("bughouse2").expect("a variant");
    let game = |seed: u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (mut position, mut moves) = (variant.start(), MoveList::new());
        let mut plies = Vec::new();
        for _ in 0..12 {
            position.legal_moves(&mut moves);
            let Some(&m) = moves.choose(&mut rng) else { break };
            position.play_unchecked(m);
            plies.push(PlyRecord {
                played: m.pack().0,
                policy: Vec::new(),
                score: None,
                proven: None,
                surprise: None,
            });
        }
        let end = Some(End { winner: Some((seed % 2) as u8), turns: 0 });
        GameRecord { start: variant.start_fen().to_owned(), plies, end, ..GameRecord::default() }
    };
    (0..count).map(game).collect()
}

#[test]
fn positions_are_drawn_from_games() {
    let variant = Catalogue::shipped().require("bughouse2").expect("a variant");
    let games = games(40);
    let [learnt, held_back] = draw(&games, &variant, 200, 1).expect("drawn");
    assert_eq!((learnt.rows.len(), held_back.rows.len()), (200, 20));
    assert_eq!(draw(&games, &variant, 200, 1).expect("drawn"), [learnt, held_back]);
    // All of them: 36 games of 13 positions, and each first one is worth nothing.
    let [all, _] = draw(&games, &variant, 1_000_000, 1).expect("drawn");
    assert_eq!(all.rows.len(), 36 * 13);
    assert_eq!(all.values.iter().filter(|&&it| it == 0.0).count(), 36);
    assert_eq!(all.values.iter().filter(|&&it| it.abs() == 1.0).count(), 36);
    let drawn = vec![GameRecord { end: None, ..games[0].clone() }; 20];
    assert!(draw(&drawn, &variant, 200, 1).is_err());
}

fn constant(value: f32) -> Model {
    Model::Linear { weights: vec![0.0; NUMBERS], bias: value }
}

#[test]
fn the_greedy_player_plays_for_its_team() {
    let folder = TempDir::new().expect("a folder");
    let variant = variant();
    // Side 0 likes a white pawn on e4 at A, and a black one on e5 at B.
    let mut weights = vec![0.0; NUMBERS];
    (weights[2 + 5 * 64 + 28], weights[2 + 911 + 11 * 64 + 36]) = (1.0, 1.0);
    let file = folder.path().join("pawns.regression");
    fs::write(&file, Model::Linear { weights, bias: 0.0 }.bytes().expect("bytes"))
        .expect("written");
    let player = Greedy::open(&file, &variant).expect("opened");
    let mut position = variant.start();
    let mut played = Vec::new();
    for _ in 0..4 {
        let m = player.best_move(&position).expect("a move");
        played.push(position.move_text(m));
        position.play_unchecked(m);
    }
    // Side 1 can change nothing of it, and plays the first move of all.
    assert_eq!((played[0].as_str(), played[2].as_str()), ("1e2e4", "2e7e5"));
    let chess = Catalogue::shipped().require("chess").expect("a variant");
    assert!(Greedy::open(&file, &chess).expect_err("refused").to_string().contains("two tables"));
}

fn small_trees(nodes: Vec<Node>) -> Model {
    let principal =
        Principal { width: NUMBERS, components: 1, axes: vec![0.5; NUMBERS], mean: vec![0.0] };
    Model::Trees { principal, trees: vec![Tree(nodes)] }
}

#[test]
fn files_are_checked() {
    let split = |below, above| Node::Split { component: 0, at: 0.0, below, above };
    let good = small_trees(vec![split(1, 2), Node::Leaf(-1.0), Node::Leaf(1.0)]);
    let bytes = good.bytes().expect("bytes");
    assert_eq!(Model::read("file", &bytes).expect("read"), good);
    let refused = |bytes: &[u8], words: &str| {
        let error = Model::read("file", bytes).expect_err("refused").to_string();
        assert!(error.starts_with("file: ") && error.contains(words), "{error}");
    };
    for cut in [0, 15, 16, bytes.len() - 1] {
        refused(&bytes[..cut], if cut < 16 { "cut short" } else { "checksum" });
    }
    refused(b"MNGRGAME........", "no regression");
    let component = Node::Split { component: 1, at: 0.0, below: 1, above: 1 };
    for nodes in [
        vec![],
        vec![split(0, 1), Node::Leaf(0.0)],
        vec![split(1, 2), Node::Leaf(0.0)],
        vec![component, Node::Leaf(0.0)],
        vec![Node::Leaf(f32::NAN)],
    ] {
        refused(&small_trees(nodes).bytes().expect("bytes"), "lead nowhere");
    }
    refused(&Model::Linear { weights: vec![0.0], bias: 0.0 }.bytes().expect("bytes"), "1824");
}

proptest! {
    #[test]
    fn no_file_can_do_harm(place: prop::sample::Index, byte: u8, tree: bool) {
        let split = Node::Split { component: 0, at: 0.0, below: 1, above: 2 };
        let trees = || small_trees(vec![split, Node::Leaf(-1.0), Node::Leaf(1.0)]);
        let model = if tree { trees() } else { constant(0.5) };
        let mut bytes = model.bytes().expect("bytes");
        // The last bytes are the trees; else it would nearly always be a weight.
        let from = if tree { bytes.len() - 24 } else { 16 };
        let place = from + place.index(bytes.len() - from);
        bytes[place] = byte;
        let checksum = crc32fast::hash(&bytes[16..]).to_le_bytes();
        bytes[12..16].copy_from_slice(&checksum);
        if let Ok(model) = Model::read("file", &bytes) {
            let start = variant().start();
            model.predict(&Numbers::of(&start, Next::of(&start)));
        }
    }
}
