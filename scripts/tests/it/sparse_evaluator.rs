//! Sparse networks as evaluators: what they give is what the network gives, unfit ones are refused, and
//! the engine plays with one.

use crate::support::talk;

use std::path::Path;
use std::sync::Arc;

use menagerie::encoding::{Encoding, SparseEncoding, SparseInput};
use menagerie::nn::network::sparse::{SparseRequest, SparseSession};
use menagerie::nn::network::{Backend, Kernels};
use menagerie::nn::runtime::Runtime;
use menagerie::nn::{
    Cached, CachedEval, Evaluator, NetworkFile, NetworkMetadata, Onnx, Query, UnfitNetwork, Weights,
};
use menagerie::rules::{MoveList, Position};
use menagerie::search::{Params, Searcher, Tree};
use menagerie::variant::{Catalogue, Variant};
use trainer::calibration::from_random_play;
use trainer::sparse::SparseWeights;
use trainer::sparse::export::{export_float, export_int8};

use self::talk::talk;

fn variant(name: &str) -> Arc<Variant> {
    Catalogue::shipped().require(name).expect("it is shipped")
}

fn encoding(name: &str) -> Encoding {
    Encoding::of(&variant(name).start())
}

fn sparse(name: &str) -> SparseEncoding {
    encoding(name).sparse().expect("a sparse encoding")
}

/// The folder of ONNX Runtime.
fn runtime() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime")
}

fn load_runtime() {
    let named = std::env::var_os("ORT_DYLIB_PATH").is_some();
    let folder = if named { None } else { Some(runtime()) };
    Runtime::load(folder.as_deref()).unwrap_or_else(|error| panic!("{error}"));
}

/// The int8 file of random weights for an encoding.
fn int8_file(encoding: &SparseEncoding, metadata: &NetworkMetadata, sizes: [usize; 3]) -> Vec<u8> {
    let shape = encoding.shape();
    let weights = SparseWeights::random(shape, sizes, 1);
    export_int8(&weights, shape.rows_per_move, &metadata.entries()).expect("weights that fit").0
}

fn small_file(name: &str) -> Vec<u8> {
    let encoding = sparse(name);
    int8_file(&encoding, &NetworkMetadata::sparse(&encoding, name, "random"), [256, 64, 16])
}

fn open(file: &[u8], name: &str) -> Result<Onnx, UnfitNetwork> {
    load_runtime();
    Onnx::open(file, &encoding(name), name, Backend::Cpu, 1)
}

fn legal_moves(position: &Position) -> MoveList {
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    legal
}

/// The logits, the probabilities of the outcomes and the moves left of one position, from the session
/// itself.
fn run_session(
    session: &mut SparseSession,
    encoding: &SparseEncoding,
    position: &Position,
    legal: &MoveList,
) -> (Vec<f32>, Vec<f32>, f32) {
    let mut input = SparseInput::default();
    encoding.write(position, legal, &mut input);
    let owners = vec![0; legal.len()];
    let request = SparseRequest {
        positions: 1,
        inputs: &input.inputs,
        move_rows: &input.move_rows,
        owners: &owners,
    };
    let mut logits = vec![0.0; legal.len()];
    let mut outcome = vec![0.0; 3];
    let mut moves_left = [0.0];
    session.run(request, &mut logits, &mut outcome, &mut moves_left).expect("a result");
    let total: f32 = outcome.iter().map(|logit| logit.exp()).sum();
    (logits, outcome.iter().map(|logit| logit.exp() / total).collect(), moves_left[0])
}

#[test]
fn evaluator_agrees_with_session() {
    for name in ["crazyhouse", "duck", "3check", "bughouse2"] {
        let file = small_file(name);
        let mut network = open(&file, name).expect("a network that fits");
        assert!(network.is_sparse() && network.unseen().is_none());
        assert_eq!(network.network_metadata().run, "random");
        assert_eq!(network.preferred_batch(), 8);
        let mut session =
            SparseSession::open(&file, Backend::Cpu, 1, Kernels::Own).expect("a session");
        let (encoding, sparse) = (encoding(name), sparse(name));
        let positions = from_random_play(&variant(name), 60, 3);
        let mut batch = network.new_batch();
        for positions in positions.chunks(7) {
            batch.clear();
            for position in positions {
                let legal = legal_moves(position);
                let query = Query { encoding: &encoding, position, legal: &legal };
                let row = batch.push(query);
                assert!(batch.planes_of(row).is_none() && batch.legal(row).is_empty());
            }
            network.evaluate(&mut batch).expect("evaluated");
            for (row, position) in positions.iter().enumerate() {
                let legal = legal_moves(position);
                let (logits, outcome, moves_left) =
                    run_session(&mut session, &sparse, position, &legal);
                let found = batch.evaluation(row);
                assert_eq!((found.logits, found.moves_left), (&logits[..], moves_left), "{name}");
                for (found, expected) in found.outcome.iter().zip(&outcome) {
                    assert!((found - expected).abs() < 1e-5, "{name}: {found} {expected}");
                }
            }
        }
    }
}

#[test]
fn cache_returns_sparse_evaluations() {
    let network = open(&small_file("crazyhouse"), "crazyhouse").expect("a network that fits");
    let mut cached = Cached::new(network, 1 << 20);
    let encoding = encoding("crazyhouse");
    let mut batch = cached.new_batch();
    let mut probed = CachedEval::default();
    for position in from_random_play(&variant("crazyhouse"), 30, 4) {
        let legal = legal_moves(&position);
        let query = Query { encoding: &encoding, position: &position, legal: &legal };
        batch.clear();
        batch.push(query);
        cached.evaluate(&mut batch).expect("evaluated");
        assert!(cached.probe(query, &mut probed));
        assert_eq!(probed.evaluation(), batch.evaluation(0));
    }
}

#[test]
fn one_file_is_the_whole_network() {
    load_runtime();
    let (name, encoding) = ("crazyhouse", sparse("crazyhouse"));
    let shape = encoding.shape();
    let weights = SparseWeights::random(shape, [256, 64, 16], 2);
    let entries = NetworkMetadata::sparse(&encoding, "chess crazyhouse", "random").entries();
    let float = export_float(&weights, shape.rows_per_move, &entries).expect("weights that fit");
    let file = |bytes: Vec<u8>| NetworkFile { name: name.to_owned(), bytes: bytes.into() };
    // Even with another file where that of a quantised network would lie.
    let weights = Weights::new(file(float), Some(file(b"not a network".to_vec())));
    let planes = Encoding::of(&variant(name).start());
    let opened = weights.open(&planes, name, Backend::Cpu).expect("a network that fits");
    assert!(opened.network.is_sparse() && opened.notes.is_empty());
}

#[test]
fn unfit_networks_are_refused() {
    let crazyhouse = sparse("crazyhouse");
    let refusal = |metadata: &NetworkMetadata, encoding: &SparseEncoding, name: &str| {
        let error = open(&int8_file(encoding, metadata, [128, 64, 4]), name).expect_err("unfit");
        assert!(!error.to_string().contains('\n') && error.to_string().len() < 400, "{error}");
        error
    };
    let metadata = |encoding, names| NetworkMetadata::sparse(encoding, names, "random");
    let error = refusal(&metadata(&crazyhouse, "crazyhouse"), &crazyhouse, "chess");
    assert!(matches!(error, UnfitNetwork::Variant { .. }), "{error}");
    let duck = sparse("duck");
    let error = refusal(&metadata(&duck, "duck crazyhouse"), &duck, "crazyhouse");
    assert!(matches!(error, UnfitNetwork::SparseLayout { .. }), "{error}");
    let cut = NetworkMetadata { layout: String::new(), ..metadata(&crazyhouse, "crazyhouse") };
    let error = refusal(&cut, &crazyhouse, "crazyhouse");
    assert!(matches!(error, UnfitNetwork::SparseLayout { .. }), "{error}");
    for other in ["sparse/0", "family/1"] {
        let encoding = other.to_owned();
        let other = NetworkMetadata { encoding, ..metadata(&crazyhouse, "crazyhouse") };
        let error = refusal(&other, &crazyhouse, "crazyhouse");
        assert!(matches!(error, UnfitNetwork::Encoding { .. }), "{error}");
    }
    let error = refusal(&metadata(&crazyhouse, "connect4"), &crazyhouse, "connect4");
    assert!(matches!(error, UnfitNetwork::NoSparseEncoding(_)), "{error}");
    load_runtime();
    let shape = crazyhouse.shape();
    let weights = SparseWeights::random(shape, [128, 64, 4], 1);
    let entries = metadata(&crazyhouse, "crazyhouse").entries();
    let (file, _) = export_int8(&weights, 3, &entries).expect("weights that fit");
    let error = open(&file, "crazyhouse").expect_err("three rows a move");
    assert!(matches!(error, UnfitNetwork::SparseSizes { .. }), "{error}");
    let (file, _) = export_int8(&weights, shape.rows_per_move, &[]).expect("weights that fit");
    let error = open(&file, "crazyhouse").expect_err("no metadata");
    assert!(matches!(error, UnfitNetwork::MissingMetadata(_)), "{error}");
}

#[test]
fn search_runs_with_sparse_network() {
    let mut network = open(&small_file("crazyhouse"), "crazyhouse").expect("a network that fits");
    let start = variant("crazyhouse").start();
    let mut tree = Tree::new(start, Params::default(), 16 << 20);
    let mut searcher = Searcher::new(&mut tree, &mut network, 8);
    assert_eq!(searcher.visit(500, || true).expect("evaluated"), 500);
    assert_eq!(searcher.tree().lines(1).len(), 1);
}

#[test]
fn engine_plays_with_sparse_network() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("sparse-crazyhouse.onnx");
    let encoding = sparse("crazyhouse");
    let metadata = NetworkMetadata::sparse(&encoding, "crazyhouse", "random");
    std::fs::write(&path, int8_file(&encoding, &metadata, [1024, 256, 32])).expect("written");
    let weights = format!("setoption name WeightsFile value {}", path.display());
    let library = format!("setoption name RuntimeLibrary value {}", runtime().display());
    let output = talk(&[
        &library,
        "setoption name Backend value cpu",
        "setoption name UCI_Variant value crazyhouse",
        "setoption name Threads value 2",
        &weights,
        "isready",
        "position startpos moves e2e4 e7e5",
        "go nodes 2000",
        "eval",
        "eval planes",
        "setoption name UCI_Variant value chess",
        "isready",
    ]);
    let has = |part: &str| output.iter().any(|line| line.contains(part));
    assert!(has(&format!("network {} (random), ONNX Runtime cpu", path.display())), "{output:#?}");
    assert!(has("bestmove ") && has("WDL: "), "{output:#?}");
    assert!(has("A sparse network has no planes") && has("piece-square(King,own)["), "{output:#?}");
    assert!(has("is refused: the network was trained for \"crazyhouse\", not for chess"));
}
