//! Base networks: one sparse network for several variants plays each of them, and variants of the user's.

use crate::support::talk;

use std::path::Path;
use std::sync::Arc;

use menagerie::encoding::{Encoding, SparseEncoding, SparseLayout};
use menagerie::nn::network::Backend;
use menagerie::nn::runtime::Runtime;
use menagerie::nn::{Evaluator, NetworkMetadata, Onnx, Query, UnfitNetwork};
use menagerie::rules::MoveList;
use menagerie::variant::{Catalogue, Variant};
use trainer::calibration::from_random_play;
use trainer::sparse::export::{export_float, export_for_play, export_int8};
use trainer::sparse::{SparseNetwork, SparseSizes, SparseWeights};

use self::talk::talk;

fn variant(name: &str) -> Arc<Variant> {
    Catalogue::shipped().require(name).expect("it is shipped")
}

fn sparse(variant: &Variant) -> SparseEncoding {
    SparseEncoding::new(&variant.start().game_spec()).expect("it has pieces")
}

fn base_layout(names: &[&str]) -> SparseLayout {
    let encodings: Vec<SparseEncoding> = names.iter().map(|name| sparse(&variant(name))).collect();
    let games: Vec<(&str, &SparseEncoding)> = names.iter().copied().zip(&encodings).collect();
    SparseLayout::union(&games).expect("the games have a union")
}

/// Random weights of a base, as a run would write them.
fn base_weights(layout: &SparseLayout) -> SparseWeights {
    let weights = SparseWeights::random(layout.shape(), [256, 64, 16], 1);
    SparseWeights { layout: layout.to_string(), ..weights }
}

fn runtime() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime")
}

fn load_runtime() {
    let named = std::env::var_os("ORT_DYLIB_PATH").is_some();
    let folder = if named { None } else { Some(runtime()) };
    Runtime::load(folder.as_deref()).unwrap_or_else(|error| panic!("{error}"));
}

fn open(file: &[u8], variant: &Variant) -> Result<Onnx, UnfitNetwork> {
    load_runtime();
    Onnx::open(file, &Encoding::of(&variant.start()), variant.name(), Backend::Cpu, 1)
}

/// The logits, outcomes and moves left of positions of random games.
fn evaluate(network: &mut Onnx, variant: &Variant) -> Vec<f32> {
    let encoding = Encoding::of(&variant.start());
    let mut numbers = Vec::new();
    let mut batch = network.new_batch();
    for positions in from_random_play(variant, 40, 3).chunks(7) {
        batch.clear();
        for position in positions {
            let mut legal = MoveList::new();
            position.legal_moves(&mut legal);
            batch.push(Query { encoding: &encoding, position, legal: &legal });
        }
        network.evaluate(&mut batch).expect("evaluated");
        for row in 0..positions.len() {
            let found = batch.evaluation(row);
            numbers.extend_from_slice(found.logits);
            numbers.extend_from_slice(found.outcome);
            numbers.push(found.moves_left);
        }
    }
    numbers
}

fn largest_gap(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// A network for `variant` that starts from a base and takes no step.
fn started(variant: &Variant, base: &SparseWeights) -> SparseWeights {
    let sizes = SparseSizes {
        hidden_size: base.hidden_size,
        policy_size: base.policy_size,
        value_hidden: base.value_hidden,
    };
    let mut network = SparseNetwork::new(&SparseLayout::of(&sparse(variant)), sizes, 5);
    let started = network.start_from(base, variant.name()).expect("a base that fits");
    assert!(started.new_blocks.is_empty(), "{:?}", started.new_blocks);
    network.weights()
}

/// The int8 file of a base.
fn base_file(weights: &SparseWeights, layout: &SparseLayout) -> Vec<u8> {
    let metadata = NetworkMetadata::sparse_base(layout, "random").entries();
    export_int8(weights, layout.shape().rows_per_move, &metadata).expect("weights that fit").0
}

#[test]
fn base_plays_as_the_networks_that_start_from_it() {
    let names = ["crazyhouse", "duck", "3check", "racingkings", "gardner", "bughouse2"];
    let layout = base_layout(&names);
    let base = base_weights(&layout);
    let network_metadata = NetworkMetadata::sparse_base(&layout, "random");
    let rows = layout.shape().rows_per_move;
    let float = export_float(&base, rows, &network_metadata.entries()).expect("weights that fit");
    let int8 = base_file(&base, &layout);
    // The last two are not among the variants of the base, but have no other blocks.
    for name in names.into_iter().chain(["chess", "blindboard"]) {
        let game = variant(name);
        let own = started(&game, &base);
        let encoding = sparse(&game);
        let entries = NetworkMetadata::sparse(&encoding, name, "random").entries();
        let own_float = export_float(&own, rows, &entries).expect("weights that fit");
        let (own_int8, _) =
            export_for_play(&own, &encoding, name, "random").expect("weights that fit");
        let evaluations = [&float, &own_float, &int8, &own_int8].map(|file| {
            let mut network = open(file, &game).expect("a network that fits");
            assert_eq!(network.unseen(), None);
            evaluate(&mut network, &game)
        });
        let gap = largest_gap(&evaluations[0], &evaluations[1]);
        assert!(gap < 1e-4, "{name}: {gap}");
        let gap = largest_gap(&evaluations[2], &evaluations[3]);
        assert!(gap < 0.1, "{name}: {gap}");
    }
}

#[test]
fn start_refuses_weights_that_do_not_fit() {
    let layout = base_layout(&["chess"]);
    let base = base_weights(&layout);
    let chess = SparseLayout::of(&sparse(&variant("chess")));
    let sizes = SparseSizes { hidden_size: 256, policy_size: 64, value_hidden: 16 };
    let refusal = |base: &SparseWeights, sizes| {
        let mut network = SparseNetwork::new(&chess, sizes, 5);
        let before = network.weights();
        let error = network.start_from(base, "chess").expect_err("unfit").to_string();
        assert!(network.weights() == before && !error.contains('\n'), "{error}");
        error
    };
    let error = refusal(&base, SparseSizes { value_hidden: 32, ..sizes });
    assert!(error.contains("must be equal"), "{error}");
    let nameless = SparseWeights { layout: String::new(), ..base.clone() };
    assert!(refusal(&nameless, sizes).contains("not a layout"));
    let crazyhouse = SparseLayout::of(&sparse(&variant("crazyhouse")));
    let other = SparseWeights { layout: crazyhouse.to_string(), ..base };
    assert!(refusal(&other, sizes).contains("input and move rows"));
}

#[test]
fn larger_network_computes_what_its_start_does() {
    let layout = base_layout(&["chess", "crazyhouse"]);
    let base = base_weights(&layout);
    let game = variant("crazyhouse");
    let encoding = sparse(&game);
    let small = started(&game, &base);
    let sizes = SparseSizes { hidden_size: 512, policy_size: 192, value_hidden: 16 };
    let mut network = SparseNetwork::new(&SparseLayout::of(&encoding), sizes, 5);
    network.start_from(&base, "crazyhouse").expect("a base that fits");
    let large = network.weights();
    assert_eq!((large.hidden_size, large.policy_size), (512, 192));
    let entries = NetworkMetadata::sparse(&encoding, "crazyhouse", "random").entries();
    let rows = layout.shape().rows_per_move;
    let [small, large] = [&small, &large].map(|weights| {
        let file = export_float(weights, rows, &entries).expect("weights that fit");
        evaluate(&mut open(&file, &game).expect("a network that fits"), &game)
    });
    assert!(largest_gap(&small, &large) < 1e-4);
    // A start that is larger than the network is refused.
    let mut network = SparseNetwork::new(
        &SparseLayout::of(&encoding),
        SparseSizes { hidden_size: 128, ..sizes },
        5,
    );
    let error = network.start_from(&base, "crazyhouse").expect_err("unfit").to_string();
    assert!(error.contains("[256, 64, 16]") && error.contains("must not be greater"), "{error}");
}

#[test]
fn new_blocks_start_at_zero() {
    let base = base_weights(&base_layout(&["chess"]));
    let crazyhouse = SparseLayout::of(&sparse(&variant("crazyhouse")));
    let sizes = SparseSizes { hidden_size: 256, policy_size: 64, value_hidden: 16 };
    let mut network = SparseNetwork::new(&crazyhouse, sizes, 5);
    let started = network.start_from(&base, "crazyhouse").expect("a base that fits");
    assert!(!started.knows_variant && started.new_blocks.iter().any(|name| name == "drop(Pawn)"));
    let weights = network.weights();
    let is_zero = |rows: &[f32]| rows.iter().all(|&weight| weight == 0.0);
    for block in crazyhouse.input_blocks() {
        let rows = &weights.input_table[block.first * 256..(block.first + block.size) * 256];
        assert_eq!(is_zero(rows), started.new_blocks.contains(&block.name), "{}", block.name);
    }
    for block in crazyhouse.move_blocks() {
        let rows = &weights.move_table[block.first * 64..(block.first + block.size) * 64];
        assert_eq!(is_zero(rows), started.new_blocks.contains(&block.name), "{}", block.name);
    }
}

#[test]
fn base_is_refused_where_it_does_not_fit() {
    let layout = base_layout(&["chess", "crazyhouse"]);
    let weights = SparseWeights::random(layout.shape(), [128, 64, 4], 1);
    let network_metadata = NetworkMetadata::sparse_base(&layout, "random");
    let refusal = |network_metadata: &NetworkMetadata, name: &str| {
        let (file, _) =
            export_int8(&weights, 4, &network_metadata.entries()).expect("weights that fit");
        let error = open(&file, &variant(name)).expect_err("unfit");
        assert!(!error.to_string().contains('\n') && error.to_string().len() < 400, "{error}");
        error
    };
    let error = refusal(&network_metadata, "gardner");
    assert!(matches!(error, UnfitNetwork::Board { .. }), "{error}");
    let error = refusal(&network_metadata, "bughouse2");
    assert!(matches!(error, UnfitNetwork::MissingMoves { .. }), "{error}");
    let error = refusal(&network_metadata, "connect4");
    assert!(matches!(error, UnfitNetwork::NoSparseEncoding(_)), "{error}");
    for text in ["", "sparse 1", "sparse 1 boards: 8x8; variants: a; inputs: a:2; moves: b:65536"] {
        let damaged = NetworkMetadata { layout: text.to_owned(), ..network_metadata.clone() };
        let error = refusal(&damaged, "chess");
        assert!(matches!(error, UnfitNetwork::Layout(_)), "{error}");
    }
    // The first version has inputs for variants instead of rules.
    for version in [1, 3] {
        let encoding = format!("sparse-base/{version}");
        let other = NetworkMetadata { encoding, ..network_metadata.clone() };
        let error = refusal(&other, "chess");
        assert!(matches!(error, UnfitNetwork::Encoding { .. }), "{error}");
    }
    // Duck chess is played, but the base knows nothing of the duck.
    let (file, _) =
        export_int8(&weights, 4, &network_metadata.entries()).expect("weights that fit");
    let duck = open(&file, &variant("duck")).expect("a base that knows most moves");
    let unseen = duck.unseen().expect("blocks of the duck");
    assert!(unseen.contains("wall"), "{unseen}");
}

#[test]
fn engine_plays_a_variant_of_the_user_with_a_base() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let layout = base_layout(&["chess", "crazyhouse", "3check"]);
    let file = base_file(&base_weights(&layout), &layout);
    let path = folder.join("sparse-base.int8.onnx");
    std::fs::write(&path, file).expect("written");
    let sections = folder.join("sparse-base.ini");
    std::fs::write(&sections, "[mine:crazyhouse]\ncheckCounting = true\n").expect("written");
    let library = format!("setoption name RuntimeLibrary value {}", runtime().display());
    let weights = format!("setoption name WeightsFile value {}", path.display());
    let variants = format!("setoption name VariantPath value {}", sections.display());
    let lines = talk(&[
        &library,
        "setoption name Backend value cpu",
        "setoption name Threads value 2",
        &variants,
        &weights,
        "setoption name UCI_Variant value mine",
        "isready",
        "position startpos moves e2e4 e7e5",
        "go nodes 500",
        "eval planes",
        "setoption name UCI_Variant value crazyhouse",
        "isready",
    ]);
    let has = |part: &str| lines.iter().any(|line| line.contains(part));
    let name = path.display();
    assert!(has(&format!("mine: network {name} (random), ONNX Runtime cpu")), "{lines:#?}");
    assert!(has("mine: using a base network trained on other variants"), "{lines:#?}");
    assert!(has("bestmove ") && has("checks-left(own)["), "{lines:#?}");
    assert!(has(&format!("crazyhouse: network {name} (random)")), "{lines:#?}");
    assert!(
        has("crazyhouse: using a base network trained on this variant, among others"),
        "{lines:#?}"
    );
}

#[test]
fn example_combinations_of_rules_are_valid() {
    let sections = include_str!("../../examples/base-variants.ini");
    let (catalogue, faults) = Catalogue::shipped().extended(sections);
    assert!(faults.is_empty(), "{faults:?}");
    let shipped: Vec<&str> = Catalogue::shipped().iter().map(|variant| variant.name()).collect();
    let is_new = |variant: &&Arc<Variant>| !shipped.contains(&variant.name());
    for variant in catalogue.iter().filter(is_new) {
        assert_eq!(variant.network(), None, "{} is for the base network", variant.name());
        assert_eq!(sparse(variant).board(), [8, 8], "{}", variant.name());
    }
}
