//! Files of sparse networks through the real ONNX Runtime: run by the kernels of the engine and by the
//! functions in the file, and refused if they are damaged or hostile.

use std::path::Path;

use menagerie::encoding::{SparseEncoding, SparseLayout, SparseShape};
use menagerie::nn::NetworkMetadata;
use menagerie::nn::network::sparse::{SparseRequest, SparseSession};
use menagerie::nn::network::{Backend, Kernels, NetworkError, PlaneSession, append_checksum};
use menagerie::nn::runtime::Runtime;
use menagerie::variant::Catalogue;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use trainer::sparse::SparseWeights;
use trainer::sparse::export::{SparseExportError, export_float, export_int8};
use trainer::sparse::import::read_weights;

const SHAPE: SparseShape =
    SparseShape { inputs: 300, move_rows: 500, rows_per_move: 4, outcomes: 3 };
/// The length of the checksum entry at a file's end.
const SEAL_BYTES: usize = 86;

fn load_runtime() {
    let laid = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime");
    let named = std::env::var_os("ORT_DYLIB_PATH").is_some();
    Runtime::load(if named { None } else { Some(&laid) }).unwrap_or_else(|error| panic!("{error}"));
}

fn open(file: &[u8], kernels: Kernels) -> Result<SparseSession, NetworkError> {
    load_runtime();
    SparseSession::open(file, Backend::Cpu, 1, kernels)
}

fn random_weights(seed: u64) -> SparseWeights {
    SparseWeights::random(SHAPE, [256, 64, 16], seed)
}

/// The files of floats and of int8 tables.
fn files(weights: &SparseWeights) -> [Vec<u8>; 2] {
    let metadata = [("run".to_owned(), "random".to_owned())];
    let float = export_float(weights, 4, &metadata).expect("weights that fit");
    [float, export_int8(weights, 4, &metadata).expect("weights that fit").0]
}

/// Lists of a request.
struct Lists {
    positions: usize,
    inputs: Vec<u16>,
    move_rows: Vec<u16>,
    owners: Vec<u16>,
}

impl Lists {
    fn random(positions: usize, seed: u64) -> Lists {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut lists = Lists { positions, inputs: vec![], move_rows: vec![], owners: vec![] };
        for position in 0..positions {
            let active = rng.random_range(0..40);
            lists.inputs.extend(
                (0..40).map(|nth| if nth < active { rng.random_range(0..300) } else { 300 }),
            );
            for _ in 0..rng.random_range(0..50) {
                lists.owners.push(position as u16);
                lists.move_rows.extend((0..4).map(|_| rng.random_range(0..=500)));
            }
        }
        lists
    }

    fn run(&self, session: &mut SparseSession) -> Result<[Vec<f32>; 3], NetworkError> {
        let Lists { positions, inputs, move_rows, owners } = self;
        let request = SparseRequest { positions: *positions, inputs, move_rows, owners };
        let mut policy = vec![0.0; owners.len()];
        let mut outcome = vec![0.0; positions * 3];
        let mut moves_left = vec![0.0; *positions];
        session.run(request, &mut policy, &mut outcome, &mut moves_left)?;
        Ok([policy, outcome, moves_left])
    }
}

#[test]
fn kernels_and_functions_agree() {
    for (seed, file) in files(&random_weights(1)).iter().enumerate() {
        let mut own = open(file, Kernels::Own).expect("a network");
        let mut functions = open(file, Kernels::Functions).expect("a network");
        assert_eq!(own.get("run").as_deref(), Some("random"));
        assert_eq!((own.outcomes(), own.rows_per_move()), (3, 4));
        for positions in [1, 8, 3, 33] {
            let lists = Lists::random(positions, seed as u64 + 10 * positions as u64);
            let found = lists.run(&mut own).expect("a result");
            let expected = lists.run(&mut functions).expect("a result");
            for (name, (found, expected)) in
                ["policy", "outcome", "moves_left"].iter().zip(found.iter().zip(&expected))
            {
                assert_eq!(found.len(), expected.len());
                for (found, expected) in found.iter().zip(expected) {
                    let gap = (found - expected).abs();
                    assert!(gap < 1e-4 * (1.0 + expected.abs()), "{name} {found} {expected}");
                }
                let spread = expected.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
                assert!(spread > 0.0, "{name} is all zeros");
            }
            // Whole numbers up to one multiplication: the same bits.
            if seed == 1 {
                assert_eq!(found[0], expected[0]);
            }
        }
    }
}

#[test]
fn int8_is_close_to_float() {
    let [float, int8] = files(&random_weights(2)).map(|file| open(&file, Kernels::Own).unwrap());
    let (mut float, mut int8) = (float, int8);
    let lists = Lists::random(20, 5);
    let (float, int8) = (lists.run(&mut float).unwrap(), lists.run(&mut int8).unwrap());
    for (float, int8) in float.iter().flatten().zip(int8.iter().flatten()) {
        assert!((float - int8).abs() < 0.05 * (1.0 + float.abs()), "{float} {int8}");
    }
}

#[test]
fn requests_outside_the_tables_are_refused() {
    for file in files(&random_weights(3)) {
        let mut session = open(&file, Kernels::Own).expect("a network");
        let mut refused = |change: fn(&mut Lists), part: &str| {
            let mut lists = Lists::random(4, 7);
            change(&mut lists);
            let error = lists.run(&mut session).expect_err(part).to_string();
            assert!(error.contains(part) && !error.contains('\n'), "{error}");
        };
        refused(|lists| lists.inputs[3] = 301, "the table has 301 rows");
        refused(|lists| lists.inputs[3] = u16::MAX, "index 65535");
        refused(|lists| lists.move_rows[3] = 501, "the table has 501 rows");
        refused(|lists| lists.owners[0] = 4, "owners holds the index 4");
        refused(|lists| lists.inputs.truncate(3), "needs 4 numbers, got 3");
        refused(|lists| lists.move_rows.truncate(3), "got 3");
        let whole = Lists::random(4, 7);
        assert!(whole.run(&mut session).is_ok(), "the session still works");
    }
}

#[test]
fn sums_that_could_overflow_are_refused() {
    let mut weights = random_weights(4);
    // 127 units of 1 / 64.
    weights.input_table[0] = 1.98;
    let [_, file] = files(&weights);
    let mut session = open(&file, Kernels::Own).expect("a network");
    let mut run = |active: usize| {
        let lists = Lists {
            positions: 1,
            inputs: vec![0; active],
            move_rows: vec![500; 4],
            owners: vec![0],
        };
        lists.run(&mut session)
    };
    assert!(run(250).is_ok());
    let error = run(260).unwrap_err().to_string();
    assert!(error.contains("a sum could overflow"), "{error}");
}

#[test]
fn weights_that_no_kernel_takes_are_refused() {
    let narrow = SparseWeights::random(SHAPE, [96, 32, 16], 1);
    let error = export_int8(&narrow, 4, &[]).unwrap_err();
    assert_eq!(error, SparseExportError::Widths { hidden_size: 96, policy_size: 32 });
    let biased = SparseWeights { input_bias: vec![1e3; 256], ..random_weights(1) };
    assert!(matches!(export_int8(&biased, 4, &[]), Err(SparseExportError::Bias(_))));
    let cut = SparseWeights { move_table: vec![0.0; 7], ..random_weights(1) };
    assert!(matches!(export_float(&cut, 4, &[]), Err(SparseExportError::Weights(_))));
}

/// Replaces `from` by `to`, of equal length, everywhere in a file, and makes another checksum.
fn replaced(file: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut model = file[..file.len() - SEAL_BYTES].to_vec();
    let places: Vec<usize> =
        (0..=model.len() - from.len()).filter(|&at| model[at..].starts_with(from)).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| model[at..][..from.len()].copy_from_slice(to));
    append_checksum(model)
}

#[test]
fn other_functions_are_refused() {
    let [float, int8] = files(&random_weights(5));
    let other_body = replaced(&float, b"Softplus", b"Softsign");
    assert_eq!(
        open(&other_body, Kernels::Own).unwrap_err(),
        NetworkError::Function("ValueHead".into())
    );
    let renamed = replaced(&int8, b"MoveScoresInt8", b"MoveScoresInt9");
    assert!(matches!(open(&renamed, Kernels::Own), Err(NetworkError::Function(_))));
    // A file of planes does not run as one of lists, and the other way round.
    assert!(PlaneSession::open(&int8, Backend::Cpu, 1).is_err());
}

#[test]
fn damaged_files_are_refused() {
    let [_, file] = files(&random_weights(6));
    let mut rng = StdRng::seed_from_u64(9);
    for _ in 0..200 {
        let mut damaged = file.clone();
        let at = rng.random_range(0..file.len());
        if rng.random_bool(0.5) {
            damaged.truncate(at);
        } else {
            damaged[at] ^= 1 << rng.random_range(0..8);
        }
        let error = open(&damaged, Kernels::Own).expect_err("damage");
        assert!(
            matches!(error, NetworkError::MissingChecksum | NetworkError::Damaged { .. }),
            "{error}"
        );
    }
}

fn small_weights() -> SparseWeights {
    let shape = SparseShape { inputs: 5, move_rows: 6, rows_per_move: 4, outcomes: 3 };
    SparseWeights::random(shape, [128, 64, 2], 1)
}

/// The fuzz target `network` starts from what the exporter writes. `UPDATE=1` rewrites the seeds.
#[test]
fn fuzz_seeds_are_current() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/network");
    for (name, file) in ["float", "int8"].iter().zip(files(&small_weights())) {
        let model = &file[..file.len() - SEAL_BYTES];
        let path = seeds.join(name);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, model).expect("a seed is written");
        }
        assert!(std::fs::read(&path).is_ok_and(|seed| seed == model), "{}", path.display());
    }
}

#[test]
fn weights_are_read_back_from_both_files() {
    let variant = Catalogue::shipped().get("crazyhouse").expect("shipped");
    let encoding = SparseEncoding::new(&variant.start().game_spec()).expect("it has pieces");
    let mut weights = SparseWeights::random(encoding.shape(), [256, 64, 16], 6);
    weights.layout = SparseLayout::of(&encoding).to_string();
    let metadata = NetworkMetadata::sparse(&encoding, "crazyhouse", "random").entries();
    let rows = encoding.shape().rows_per_move;
    let float = export_float(&weights, rows, &metadata).expect("weights that fit");
    assert_eq!(read_weights(&float).expect("weights"), weights);
    let (int8, quantisation) = export_int8(&weights, rows, &metadata).expect("weights that fit");
    let found = read_weights(&int8).expect("weights");
    let greatest = |row: &[f32]| row.iter().fold(0.0_f32, |most, weight| most.max(weight.abs()));
    let close = |found: &[f32], wanted: &[f32], gap: f32| {
        let gaps = found.iter().zip(wanted).map(|(found, wanted)| (found - wanted).abs());
        found.len() == wanted.len() && gaps.fold(0.0, f32::max) <= gap * 1.01
    };
    let half_unit = 0.5 / quantisation.one;
    assert!(close(&found.input_table, &weights.input_table, half_unit));
    assert!(close(&found.input_bias, &weights.input_bias, half_unit));
    for (found, wanted) in found.value_w1.chunks(128).zip(weights.value_w1.chunks(128)) {
        assert!(close(found, wanted, 0.5 * greatest(wanted) / 127.0));
    }
    // The greatest weights may be cut.
    let error: f32 =
        found.move_table.iter().zip(&weights.move_table).map(|(a, b)| (a - b).powi(2)).sum();
    let error = (error / found.move_table.len() as f32).sqrt();
    assert!((error / quantisation.move_error - 1.0).abs() < 0.01, "{error} {quantisation:?}");
    let exact = SparseWeights {
        input_table: weights.input_table.clone(),
        input_bias: weights.input_bias.clone(),
        value_w1: weights.value_w1.clone(),
        move_table: weights.move_table.clone(),
        ..found
    };
    assert_eq!(exact, weights);
}

#[test]
fn weights_of_shipped_networks_are_read() {
    let nets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../nets");
    let read = |name: &str| {
        let file = std::fs::read(nets.join(format!("{name}.int8.onnx"))).expect("a network");
        read_weights(&file).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    for name in ["chess", "crazyhouse", "giveaway", "horde", "racingkings"] {
        let variant = Catalogue::shipped().get(name).expect("shipped");
        let layout = read(name).layout;
        let encoding = SparseEncoding::for_layout(&variant.start().game_spec(), &layout);
        let encoding = encoding.expect("it has pieces");
        assert_eq!(layout, SparseLayout::of(&encoding).to_string());
    }
    assert!(read("base").layout.parse::<SparseLayout>().expect("a layout").is_base());
    let planes = std::fs::read(nets.join("bughouse2.onnx")).expect("a network");
    let error = read_weights(&planes).expect_err("a network of planes").to_string();
    assert!(error.contains("not a sparse network: no \"input_table\""), "{error}");
}

#[test]
fn weights_of_damaged_files_are_refused() {
    let weights = small_weights();
    let metadata = [("menagerie.layout".to_owned(), "unknown".to_owned())];
    let (file, _) = export_int8(&weights, 4, &metadata).expect("weights that fit");
    assert!(read_weights(&file).is_ok());
    let error = read_weights(&file[..file.len() - 7]).expect_err("cut off").to_string();
    assert!(!error.is_empty());
    let model = &file[..file.len() - SEAL_BYTES];
    let mut rng = StdRng::seed_from_u64(12);
    let mut refused = 0;
    for _ in 0..2000 {
        let mut changed = model.to_vec();
        let at = rng.random_range(0..model.len());
        match rng.random_range(0..3) {
            0 => changed[at] ^= 1 << rng.random_range(0..8),
            1 => changed[at] = rng.random(),
            _ => changed.truncate(at),
        }
        if let Err(error) = read_weights(&append_checksum(changed)) {
            refused += 1;
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
    assert!(refused > 200, "{refused}");
}

#[test]
fn hostile_files_never_end_the_process() {
    let small = small_weights();
    let lists = Lists {
        positions: 2,
        inputs: vec![1, 5, 2, 3],
        move_rows: vec![0, 1, 2, 6],
        owners: vec![1],
    };
    let [_, file] = files(&small);
    assert!(lists.run(&mut open(&file, Kernels::Own).unwrap()).is_ok());
    let model = &file[..file.len() - SEAL_BYTES];
    let mut rng = StdRng::seed_from_u64(11);
    let mut outcomes = [0; 3];
    for _ in 0..600 {
        let mut hostile = model.to_vec();
        let at = rng.random_range(0..model.len());
        match rng.random_range(0..3) {
            0 => hostile[at] ^= 1 << rng.random_range(0..8),
            1 => hostile[at] = rng.random(),
            _ => hostile.truncate(at),
        }
        // Some changes are harmless: a weight or a name. The others are errors, when the file is opened
        // or when it runs.
        match open(&append_checksum(hostile), Kernels::Own) {
            Err(error) => {
                outcomes[0] += 1;
                assert!(!error.to_string().contains('\n'), "{error}");
            }
            Ok(mut session) => outcomes[1 + usize::from(lists.run(&mut session).is_ok())] += 1,
        }
    }
    assert!(outcomes[0] > 50 && outcomes[2] > 50, "{outcomes:?}");
}
