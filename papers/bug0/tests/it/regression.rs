//! The regressions: their features and samples, the fits, the files of models, and the greedy player.

use std::fs;
use std::sync::Arc;

use bug0::regression::components::{ComponentAnalysis, PrincipalComponents};
use bug0::regression::features::{FEATURE_COUNT, Features, ToMove};
use bug0::regression::fit::{FitSettings, Fitter, RegressionKind};
use bug0::regression::greedy::Greedy;
use bug0::regression::model::{Model, Node, Tree};
use bug0::regression::samples::{SampleError, Samples, discounted_value, draw_samples};
use menagerie::rules::{BoardId, MoveList};
use menagerie::variant::{Catalogue, Variant};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use tempfile::TempDir;
use trainer::record::{End, GameRecord, PlyRecord};

/// The features of board A come after the team and the board to move, those of board B after them.
const BOARD_A: usize = 2;
const BOARD_B: usize = BOARD_A + 911;

fn variant(name: &str) -> Arc<Variant> {
    Catalogue::shipped().require(name).expect("a variant")
}

fn settings(positions: usize, components: usize) -> FitSettings {
    FitSettings { positions, components, penalty: 0.01, trees: 10, seed: 3 }
}

#[test]
fn samples_values_are_discounted_by_a_hundredth_a_move() {
    assert_eq!(discounted_value(0, 10, 0), 0.0);
    assert_eq!(discounted_value(10, 10, 0), 1.0);
    assert_eq!(discounted_value(10, 10, 1), -1.0);
    assert_eq!(discounted_value(9, 10, 1), -0.99);
    assert!((discounted_value(1, 101, 0) - 0.366_032_34).abs() < 1e-6);
}

#[test]
fn features_of_the_start_have_the_norm_of_the_planes() {
    assert_eq!(FEATURE_COUNT, 1824);
    let start = variant("bughouse2fixed").start();
    let to_move = ToMove::in_position(&start);
    assert_eq!(to_move.board, BoardId::A);
    let Features(features) = Features::from_position(&start, to_move);
    // Side 0 is to move; each board has 32 pieces and four castling rights.
    assert_eq!(features.len(), 1 + 2 * (32 + 4));
    assert!(features.is_sorted_by(|a, b| a.0 < b.0));
    // The number of ones in the 60 planes.
    let squared_norm: f32 = features.iter().map(|(_, value)| value * value).sum();
    assert_eq!(squared_norm, (64 + 2 * (32 + 4 * 64)) as f32);
}

#[test]
fn features_have_the_order_of_the_planes() {
    let fen = "7k/8/8/8/8/8/8/K7[QQp] w - - 6 9|rnbqkbnr/pppp1ppp/8/8/3Pp3/8/PPP1PPPP/RNBQKBNR[] \
               b Kq d3 0 3|B";
    let position = variant("bughouse2fixed").position(fen, false).expect("a position");
    let Features(features) = Features::from_position(&position, ToMove::in_position(&position));
    let value = |index: usize| {
        let found = features.iter().find(|(feature, _)| usize::from(*feature) == index);
        found.map_or(0.0, |(_, value)| *value)
    };
    // Black at board B plays for side 0.
    assert_eq!([value(0), value(1)], [8.0, 8.0]);
    // Board A: the white king on a1, two queens and a black pawn in the pockets, six half-moves.
    assert_eq!(value(BOARD_A), 1.0);
    assert_eq!(value(BOARD_A + 768), 16.0);
    assert_eq!(value(BOARD_A + 768 + 9), 8.0);
    assert_eq!(value(BOARD_A + 906), 48.0);
    // Board B: White may castle on the king's side and Black on the queen's side.
    let rights = [907, 908, 909, 910].map(|index| value(BOARD_B + index));
    assert_eq!(rights, [8.0, 0.0, 0.0, 8.0]);
    // Board B: the white pawn on d4.
    assert_eq!(value(BOARD_B + 5 * 64 + 27), 1.0);
}

const WIDTH: usize = 24;

/// Random rows of `WIDTH` features, and the values of a function of them.
fn synthetic_samples(count: usize, seed: u64, function: impl Fn(&[f32]) -> f32) -> Samples {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut samples = Samples::default();
    for _ in 0..count {
        let row: Vec<f32> = (0..WIDTH)
            .map(|feature| if rng.random_bool(0.4) { 1.0 + (feature % 3) as f32 } else { 0.0 })
            .collect();
        let nonzero = row.iter().enumerate().filter(|(_, value)| **value != 0.0);
        let features = nonzero.map(|(feature, value)| (feature as u16, *value)).collect();
        samples.features.push(Features(features));
        samples.values.push(function(&row));
    }
    samples
}

fn linear_function(row: &[f32]) -> f32 {
    0.3 - 0.2 * row[1] + 0.7 * row[20] + 0.01 * row[5]
}

#[test]
fn fit_finds_a_linear_function_exactly() {
    let train = synthetic_samples(500, 1, linear_function);
    let test = synthetic_samples(200, 2, linear_function);
    let fitter = Fitter::new(&train, WIDTH, settings(500, WIDTH)).expect("a fitter");
    assert!((fitter.explained_variance() - 1.0).abs() < 1e-9);
    let linear = fitter.fit(RegressionKind::Linear, &test).expect("fitted");
    assert!(linear.test_r_squared > 0.999_99, "{linear:?}");
    let Model::Linear { weights, bias } = &linear.model else { panic!("{linear:?}") };
    for (feature, weight) in [(1, -0.2), (20, 0.7), (5, 0.01), (7, 0.0)] {
        assert!((weights[feature] - weight).abs() < 1e-4, "{weights:?}");
    }
    assert!((bias - 0.3).abs() < 1e-4);
}

#[test]
fn fit_penalties_shrink_the_weights() {
    let train = synthetic_samples(500, 1, linear_function);
    let test = synthetic_samples(200, 2, linear_function);
    let fitter = Fitter::new(&train, WIDTH, settings(500, WIDTH)).expect("a fitter");
    let linear = fitter.fit(RegressionKind::Linear, &test).expect("fitted");
    let elastic = fitter.fit(RegressionKind::ElasticNet, &test).expect("fitted");
    assert!(elastic.test_r_squared > 0.9, "{elastic:?}");
    assert!(elastic.test_r_squared < linear.test_r_squared, "{elastic:?}");
    // A large penalty leaves only the mean.
    let strict = FitSettings { penalty: 100.0, ..settings(500, WIDTH) };
    let fitter = Fitter::new(&train, WIDTH, strict).expect("a fitter");
    let constant = fitter.fit(RegressionKind::ElasticNet, &test).expect("fitted");
    assert!(constant.train_r_squared.abs() < 1e-6, "{constant:?}");
    assert!(constant.test_r_squared <= 0.0, "{constant:?}");
}

#[test]
fn fit_trees_find_a_nonlinear_function() {
    let function = |row: &[f32]| if row[3] > 0.0 && row[4] > 0.0 { 1.0 } else { -1.0 };
    let train = synthetic_samples(2000, 3, function);
    let test = synthetic_samples(400, 4, function);
    let fitter = Fitter::new(&train, WIDTH, settings(2000, WIDTH)).expect("a fitter");
    let kinds = [RegressionKind::Linear, RegressionKind::Tree, RegressionKind::Forest];
    let [linear, tree, forest] = kinds.map(|kind| fitter.fit(kind, &test).expect("fitted"));
    // A tree of unlimited depth overfits.
    assert!(tree.train_r_squared > 0.999, "{}", tree.train_r_squared);
    assert!(forest.train_r_squared > linear.train_r_squared);
    assert!(forest.test_r_squared > tree.test_r_squared);
    let Model::Trees { trees, .. } = &forest.model else { panic!("no trees") };
    assert_eq!(trees.len(), 10);
    assert_ne!(trees[0], trees[1]);
    // The same seed gives the same forest.
    let again = fitter.fit(RegressionKind::Forest, &test).expect("fitted");
    assert_eq!(again.model, forest.model);
}

#[test]
fn fit_refuses_invalid_settings() {
    let train = synthetic_samples(10, 1, linear_function);
    let valid = settings(10, 3);
    for (settings, message) in [
        (FitSettings { components: 0, ..valid }, "from 1 to 24, not 0"),
        (FitSettings { components: 25, ..valid }, "from 1 to 24, not 25"),
        (FitSettings { penalty: -1.0, ..valid }, "penalty -1"),
        (FitSettings { penalty: f64::NAN, ..valid }, "penalty NaN"),
        (FitSettings { trees: 0, ..valid }, "number of trees"),
    ] {
        let error = Fitter::new(&train, WIDTH, settings).expect_err("refused").to_string();
        assert!(error.contains(message), "{error}");
    }
    let error = Fitter::new(&Samples::default(), WIDTH, valid).expect_err("refused").to_string();
    assert!(error.contains("no positions"), "{error}");
}

#[test]
fn components_have_the_greatest_variance() {
    // Two features in proportion, and one that hardly varies.
    let rows: Vec<Features> = (0..100)
        .map(|row| {
            let value = (row % 10) as f32;
            Features(vec![(0, value), (1, 2.0 * value), (2, 0.01 * (row % 2) as f32)])
        })
        .collect();
    let analysis = ComponentAnalysis::new(&rows, 3, 1);
    assert!(analysis.explained > 0.999_99, "{analysis:?}");
    // 8.25 is the variance of 0 to 9; along (1, 2) it is five times as great.
    assert!((analysis.variances[0] - 41.25).abs() < 1e-3, "{analysis:?}");
    let squared_norm: f32 = analysis.components.axes.iter().map(|entry| entry * entry).sum();
    assert!((squared_norm - 1.0).abs() < 1e-5);
    let sum: f32 = rows[..10].iter().map(|row| analysis.components.project(row)[0]).sum();
    assert!(sum.abs() < 1e-4, "{sum}");
}

/// A random game of 12 plies with an arbitrary winner.
fn random_game(variant: &Variant, seed: u64) -> GameRecord {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut position = variant.start();
    let mut moves = MoveList::new();
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
}

#[test]
fn samples_are_drawn_from_games_with_a_winner() {
    let variant = variant("bughouse2");
    let games: Vec<GameRecord> = (0..40).map(|seed| random_game(&variant, seed)).collect();
    let samples = draw_samples(&games, &variant, 200, 1).expect("drawn");
    assert_eq!((samples.train.len(), samples.test.len()), (200, 20));
    assert_eq!(draw_samples(&games, &variant, 200, 1), Ok(samples));
    // All positions: 36 games of 13 positions, the first of which has the value 0.
    let all = draw_samples(&games, &variant, 1_000_000, 1).expect("drawn").train;
    assert_eq!(all.features.len(), 36 * 13);
    assert_eq!(all.values.iter().filter(|&&value| value == 0.0).count(), 36);
    assert_eq!(all.values.iter().filter(|&&value| value.abs() == 1.0).count(), 36);
    let unfinished = vec![GameRecord { end: None, ..games[0].clone() }; 20];
    assert_eq!(draw_samples(&unfinished, &variant, 200, 1), Err(SampleError::TooFewGames(0)));
}

#[test]
fn samples_refuse_illegal_moves() {
    let variant = variant("bughouse2");
    let mut games: Vec<GameRecord> = (0..20).map(|seed| random_game(&variant, seed)).collect();
    for game in &mut games {
        game.plies[1] = game.plies[0].clone();
    }
    let error = draw_samples(&games, &variant, 1000, 1).expect_err("refused");
    assert!(matches!(error, SampleError::IllegalMove { .. }), "{error}");
}

#[test]
fn greedy_player_plays_for_its_team() {
    let folder = TempDir::new().expect("a folder");
    let variant = variant("bughouse2fixed");
    // Good for side 0: a white pawn on e4 at board A, and a black pawn on e5 at board B.
    let mut weights = vec![0.0; FEATURE_COUNT];
    weights[BOARD_A + 5 * 64 + 28] = 1.0;
    weights[BOARD_B + 11 * 64 + 36] = 1.0;
    let file = folder.path().join("pawns.regression");
    let bytes = Model::Linear { weights, bias: 0.0 }.to_bytes().expect("bytes");
    fs::write(&file, &bytes).expect("written");
    let player = Greedy::open(&file, &variant).expect("opened");
    let mut position = variant.start();
    let mut played = Vec::new();
    for _ in 0..4 {
        let m = player.best_move(&position).expect("a move");
        played.push(position.move_text(m));
        position.play_unchecked(m);
    }
    // Side 1 cannot prevent either and plays the first legal moves.
    assert_eq!((played[0].as_str(), played[2].as_str()), ("1e2e4", "2e7e5"));
}

#[test]
fn greedy_open_names_the_file_in_errors() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("cut.regression");
    fs::write(&file, b"MNGR").expect("written");
    let error_for = |name: &str| {
        let error = Greedy::open(&file, &variant(name)).expect_err("refused").to_string();
        assert!(error.starts_with(&format!("{}: ", file.display())), "{error}");
        error
    };
    assert!(error_for("bughouse2fixed").ends_with("the file is truncated"));
    assert!(error_for("chess").ends_with("two boards, not for chess"));
}

fn model_of_one_tree(nodes: Vec<Node>) -> Model {
    let components = PrincipalComponents {
        width: FEATURE_COUNT,
        count: 1,
        axes: vec![0.5; FEATURE_COUNT],
        mean: vec![0.0],
    };
    Model::Trees { components, trees: vec![Tree(nodes)] }
}

fn split(component: u16, below: u32, above: u32) -> Node {
    Node::Split { component, threshold: 0.0, below, above }
}

fn assert_refused(bytes: &[u8], message: &str) {
    let error = Model::from_bytes(bytes).expect_err("refused").to_string();
    assert!(error.contains(message), "{error}");
}

#[test]
fn model_files_are_checked() {
    let model = model_of_one_tree(vec![split(0, 1, 2), Node::Leaf(-1.0), Node::Leaf(1.0)]);
    let bytes = model.to_bytes().expect("bytes");
    assert_eq!(Model::from_bytes(&bytes), Ok(model));
    for length in [0, 15] {
        assert_refused(&bytes[..length], "truncated");
    }
    for length in [16, bytes.len() - 1] {
        assert_refused(&bytes[..length], "checksum");
    }
    assert_refused(b"MNGRGAME........", "not a regression file");
    let mut newer = bytes.clone();
    newer[8] = 2;
    assert_refused(&newer, "version 2 is not supported (expected 1)");
    for nodes in [
        vec![],
        vec![split(0, 0, 1), Node::Leaf(0.0)],
        vec![split(0, 1, 2), Node::Leaf(0.0)],
        vec![split(1, 1, 1), Node::Leaf(0.0)],
        vec![Node::Leaf(f32::NAN)],
    ] {
        assert_refused(&model_of_one_tree(nodes).to_bytes().expect("bytes"), "invalid trees");
    }
    let too_short = Model::Linear { weights: vec![0.0], bias: 0.0 };
    assert_refused(&too_short.to_bytes().expect("bytes"), "1824");
}

proptest! {
    #[test]
    fn model_files_with_changed_bytes_are_safe(
        place: prop::sample::Index,
        byte: u8,
        is_tree: bool,
    ) {
        let model = if is_tree {
            model_of_one_tree(vec![split(0, 1, 2), Node::Leaf(-1.0), Node::Leaf(1.0)])
        } else {
            Model::Linear { weights: vec![0.0; FEATURE_COUNT], bias: 0.5 }
        };
        let mut bytes = model.to_bytes().expect("bytes");
        // The last 24 bytes are the tree; elsewhere the byte would nearly always be in a weight.
        let first = if is_tree { bytes.len() - 24 } else { 16 };
        let changed = first + place.index(bytes.len() - first);
        bytes[changed] = byte;
        let checksum = crc32fast::hash(&bytes[16..]).to_le_bytes();
        bytes[12..16].copy_from_slice(&checksum);
        if let Ok(model) = Model::from_bytes(&bytes) {
            let start = variant("bughouse2fixed").start();
            model.predict(&Features::from_position(&start, ToMove::in_position(&start)));
        }
    }
}
