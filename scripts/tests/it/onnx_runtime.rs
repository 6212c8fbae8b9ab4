//! Exported networks have the same outputs under ONNX Runtime.
//!
//! The library is the one that `ORT_DYLIB_PATH` names, or that in `runtime/`.

use std::path::Path;

use menagerie::encoding::Shape;
use menagerie::nn::network::{HEAD, Head, TWO_BOARD_OUTPUTS, append_checksum};
use menagerie::nn::runtime::Runtime;
use ort::environment::Environment;
use ort::session::Session;
use ort::value::Tensor;
use trainer::network::{Architecture, NamedTensor, Network, Outputs};
use trainer::onnx;

/// Greatest difference of two outputs for one position.
const TOLERANCE: f32 = 1e-4;

const CHESS: Shape = Shape { planes: 24, height: 8, width: 8, policy_planes: 78, outcomes: 3 };
const SMALL: Shape = Shape { planes: 12, height: 3, width: 5, policy_planes: 1, outcomes: 4 };

/// Returns pseudo-random numbers from -1 to 1, so that no weight and no output is zero.
fn noise(seed: usize, len: usize) -> Vec<f32> {
    let wave = |at: usize| ((at * 7919 + seed * 104_729) as f32 * 0.618_034).sin();
    (0..len).map(wave).collect()
}

/// A network without layers of zeros, like a trained one.
fn network(shape: Shape, architecture: &Architecture) -> Network {
    let mut tensors = Network::new(shape, architecture, 11).unwrap().tensors();
    for (seed, NamedTensor { shape, data, .. }) in tensors.iter_mut().enumerate() {
        let fan_in = if shape.len() == 2 { shape[0] } else { shape[1..].iter().product() };
        for (weight, noise) in data.iter_mut().zip(noise(seed, shape.iter().product())) {
            *weight += 0.5 * noise / (fan_in as f32).sqrt();
        }
    }
    Network::with_tensors(shape, architecture, &tensors).unwrap()
}

/// The environment of ONNX Runtime, one for the process.
fn environment() -> &'static Environment {
    let named = std::env::var_os("ORT_DYLIB_PATH").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime");
    Runtime::load(if named { None } else { Some(&folder) })
        .unwrap_or_else(|error| panic!("{error}"))
        .environment()
}

fn by_runtime(bytes: &[u8], shape: Shape, planes: &[f32]) -> Outputs {
    let mut session = Session::builder(environment()).unwrap().commit_from_memory(bytes).unwrap();
    let two_boards = session.outputs().iter().any(|output| output.name() == TWO_BOARD_OUTPUTS[1]);
    let (shape, planes) = if two_boards {
        (shape.of_board(), split_boards(shape, planes))
    } else {
        (shape, planes.to_vec())
    };
    let batch = planes.len() / shape.input();
    let axes = [batch, shape.planes, shape.height, shape.width];
    let input = Tensor::from_array((axes, planes)).unwrap();
    let outputs = session.run(ort::inputs!["planes" => input]).unwrap();
    let numbers = |name: &str| {
        let output = outputs.get(name).unwrap_or_else(|| panic!("no output \"{name}\""));
        let (axes, numbers) = output.try_extract_tensor::<f32>().unwrap();
        (axes.to_vec(), numbers.to_vec())
    };
    let read = |name: &str, width: usize| {
        let (axes, numbers) = numbers(name);
        assert_eq!(axes, [batch as i64, width as i64], "axes of \"{name}\"");
        numbers
    };
    if two_boards {
        let head = Head::new(HEAD.map(|name| numbers(name).1)).unwrap();
        let halves = read(TWO_BOARD_OUTPUTS[1], 2 * head.units());
        let mut outcome = Vec::new();
        let mut moves_left = Vec::new();
        // There is a row for each board: of the first board the first half counts, of the second the second.
        for pair in halves.chunks_exact(4 * head.units()) {
            let half = |at: usize| pair[at * head.units()..][..head.units()].iter().copied();
            let mut logits = Vec::new();
            moves_left.push(head.join([half(0), half(3)], &mut logits));
            outcome.extend(logits);
        }
        // The policies of the two boards of a position are adjacent.
        return Outputs { policy: read("policy", shape.policy()), outcome, moves_left };
    }
    Outputs {
        policy: read("policy", shape.policy()),
        outcome: read("outcome", shape.outcomes),
        moves_left: read("moves_left", 1),
    }
}

/// Returns the planes of two-board positions as a row for each board: the first plane of all, and those of the board.
fn split_boards(shape: Shape, planes: &[f32]) -> Vec<f32> {
    let squares = shape.squares();
    let own = (shape.of_board().planes - 1) * squares;
    let rows = planes.chunks_exact(shape.input()).flat_map(|planes| {
        let (shared, boards) = planes.split_at(2 * squares);
        boards.chunks_exact(own).flat_map(|board| [&shared[..squares], board])
    });
    rows.flatten().copied().collect()
}

fn architectures() -> Vec<(Shape, Architecture)> {
    vec![
        (CHESS, Architecture::Residual { blocks: 3, channels: 32, squeeze: 0 }),
        (CHESS, Architecture::Residual { blocks: 3, channels: 32, squeeze: 8 }),
        (SMALL, Architecture::Residual { blocks: 1, channels: 8, squeeze: 0 }),
        (SMALL, Architecture::Residual { blocks: 1, channels: 8, squeeze: 3 }),
        (CHESS, Architecture::TwoBoards { blocks: 3, channels: 16, squeeze: 8 }),
        (CHESS, Architecture::TwoBoards { blocks: 1, channels: 8, squeeze: 0 }),
        (SMALL, Architecture::Mlp { widths: vec![64, 32], policy_channels: 0 }),
        (CHESS, Architecture::Mlp { widths: vec![], policy_channels: 0 }),
        (CHESS, Architecture::Mlp { widths: vec![64, 32], policy_channels: 8 }),
        (SMALL, Architecture::Mlp { widths: vec![32], policy_channels: 2 }),
    ]
}

#[test]
fn exported_networks_agree_with_onnx_runtime() {
    for (shape, architecture) in architectures() {
        let network = network(shape, &architecture);
        let metadata = [("run".to_string(), "test".to_string())];
        let bytes = onnx::export(shape, &architecture, &network.tensors(), &metadata).unwrap();
        for batch in [1, 5] {
            let planes = noise(99, batch * shape.input());
            let (here, there) =
                (network.forward(&planes).unwrap(), by_runtime(&bytes, shape, &planes));
            for (here, there, head) in [
                (here.policy, there.policy, "policy"),
                (here.outcome, there.outcome, "outcome"),
                (here.moves_left, there.moves_left, "moves_left"),
            ] {
                assert_eq!(here.len(), there.len(), "{head} of {architecture:?}");
                assert!(here.iter().any(|number| number.abs() > 0.01), "{head} is idle");
                for (here, there) in here.iter().zip(&there) {
                    let gap = (here - there).abs();
                    assert!(gap <= TOLERANCE, "{head} of {architecture:?}: {here} against {there}");
                }
            }
        }
    }
}

/// Self-play that continues after a kill has other batches than before.
#[test]
fn outputs_do_not_depend_on_batch() {
    for (shape, architecture) in architectures() {
        let network = network(shape, &architecture);
        let floats =
            append_checksum(onnx::export(shape, &architecture, &network.tensors(), &[]).unwrap());
        let planes = noise(99, 7 * shape.input());
        for bytes in [onnx::quantise(&floats, &planes).unwrap(), floats] {
            let together = by_runtime(&bytes, shape, &planes);
            for rows in 1..7 {
                let parts = planes.chunks(rows * shape.input());
                let parts: Vec<_> = parts.map(|part| by_runtime(&bytes, shape, part)).collect();
                let all = |head: fn(&Outputs) -> &[f32]| -> Vec<f32> {
                    parts.iter().flat_map(head).copied().collect()
                };
                let case = format!("{architecture:?} in batches of {rows}");
                assert_eq!(all(|outputs| &outputs.policy), together.policy, "{case}");
                assert_eq!(all(|outputs| &outputs.outcome), together.outcome, "{case}");
                assert_eq!(all(|outputs| &outputs.moves_left), together.moves_left, "{case}");
            }
        }
    }
}

/// Returns the root mean square of the differences, in units of the standard deviation of `expected`.
fn error(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    let mean = expected.iter().sum::<f32>() / expected.len() as f32;
    let spread: f32 = expected.iter().map(|expected| (expected - mean).powi(2)).sum();
    let differences =
        found.iter().zip(expected).map(|(found, expected)| (found - expected).powi(2));
    (differences.sum::<f32>() / spread).sqrt()
}

#[test]
fn int8_networks_are_close_to_float() {
    for (shape, architecture) in architectures() {
        let network = network(shape, &architecture);
        let floats =
            append_checksum(onnx::export(shape, &architecture, &network.tensors(), &[]).unwrap());
        let planes = noise(99, 100 * shape.input());
        let bytes = onnx::quantise(&floats, &planes).unwrap();
        let (here, there) = (network.forward(&planes).unwrap(), by_runtime(&bytes, shape, &planes));
        for (here, there, head) in [
            (here.policy, there.policy, "policy"),
            (here.outcome, there.outcome, "outcome"),
            (here.moves_left, there.moves_left, "moves_left"),
        ] {
            let error = error(&there, &here);
            println!("{head} of {architecture:?}: {error}");
            assert!(error < 0.1, "{head} of {architecture:?} differs by {error}");
        }
    }
}

/// Rounded weights shift outputs if their inputs have a mean; the biases compensate it.
#[test]
fn int8_networks_have_no_bias() {
    for (shape, architecture) in architectures() {
        let network = network(shape, &architecture);
        let floats =
            append_checksum(onnx::export(shape, &architecture, &network.tensors(), &[]).unwrap());
        // Planes are never negative.
        let planes: Vec<f32> = noise(7, 200 * shape.input()).into_iter().map(f32::abs).collect();
        let bytes = onnx::quantise(&floats, &planes).unwrap();
        let (here, there) = (network.forward(&planes).unwrap(), by_runtime(&bytes, shape, &planes));
        for (here, there, head) in
            [(here.policy, there.policy, "policy"), (here.outcome, there.outcome, "outcome")]
        {
            let error = mean_error(&there, &here, here.len() / 200);
            println!("{head} of {architecture:?} is off by {error}");
            assert!(error < 0.05, "{head} of {architecture:?} is off by {error}");
        }
    }
}

/// Returns the root mean square of the differences of the mean outputs, in units of the standard deviation of
/// the mean outputs.
fn mean_error(found: &[f32], expected: &[f32], outputs: usize) -> f32 {
    let means = |rows: &[f32]| {
        let count = (rows.len() / outputs) as f32;
        let sum = |output: usize| rows.iter().skip(output).step_by(outputs).sum::<f32>();
        (0..outputs).map(|output| sum(output) / count).collect::<Vec<_>>()
    };
    error(&means(found), &means(expected))
}

/// Returns a function that counts the operations of a kind in the optimised graph of ONNX Runtime.
fn operations(bytes: &[u8]) -> impl Fn(&str) -> usize + use<> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("optimised.onnx");
    let builder = Session::builder(environment()).unwrap();
    builder.with_optimized_model_path(&path).unwrap().commit_from_memory(bytes).unwrap();
    let optimised = std::fs::read(path).unwrap();
    move |kind| {
        // Field 4 of a node is its kind: a tag, a length, the text.
        let field = [b"\x22", &[kind.len() as u8][..], kind.as_bytes()].concat();
        optimised.windows(field.len()).filter(|window| *window == field).count()
    }
}

#[test]
fn int8_networks_are_computed_in_int8() {
    let floats = |shape, architecture: &Architecture| {
        let network = network(shape, architecture);
        let floats =
            append_checksum(onnx::export(shape, architecture, &network.tensors(), &[]).unwrap());
        operations(&onnx::quantise(&floats, &noise(5, 9 * shape.input())).unwrap())
    };
    let residual = floats(CHESS, &Architecture::Residual { blocks: 3, channels: 32, squeeze: 0 });
    // A stem, two for each block, one for the policy and one for the value; the last of the policy is a float.
    for (kind, count) in [
        ("QLinearConv", 9),
        ("Conv", 1),
        ("QLinearAdd", 3),
        ("Add", 0),
        ("Relu", 0),
        ("QGemm", 3),
        ("Gemm", 0),
        ("QuantizeLinear", 1),
        ("DequantizeLinear", 1),
    ] {
        assert_eq!(residual(kind), count, "{kind} of the residual tower");
    }
    // Squeeze-and-excitation is computed in int8: the mean, two layers, the sigmoid and the product.
    for (architecture, convolutions) in
        [(Architecture::Residual { blocks: 3, channels: 32, squeeze: 8 }, 15)]
    {
        let squeezed = floats(CHESS, &architecture);
        for (kind, count) in [
            ("QLinearConv", convolutions),
            ("Conv", 1),
            ("QLinearGlobalAveragePool", 3),
            ("GlobalAveragePool", 0),
            ("QLinearSigmoid", 3),
            ("QLinearMul", 3),
            ("Mul", 1),
            ("QLinearAdd", 3),
            ("QuantizeLinear", 1),
            ("DequantizeLinear", 1),
        ] {
            assert_eq!(squeezed(kind), count, "{kind} of {architecture:?}");
        }
    }
    // A board is computed as in a tower of one board; what it adds to the joining layer is a float.
    let two_boards =
        floats(CHESS, &Architecture::TwoBoards { blocks: 3, channels: 32, squeeze: 8 });
    for (kind, count) in
        [("QLinearConv", 15), ("Conv", 1), ("QGemm", 0), ("MatMul", 2), ("QuantizeLinear", 1)]
    {
        assert_eq!(two_boards(kind), count, "{kind} of a two-board network");
    }
    let mlp = floats(CHESS, &Architecture::Mlp { widths: vec![64, 32], policy_channels: 0 });
    for (kind, count) in
        [("QGemm", 5), ("Gemm", 0), ("Relu", 0), ("QuantizeLinear", 1), ("DequantizeLinear", 0)]
    {
        assert_eq!(mlp(kind), count, "{kind} of the dense layers");
    }
    // The last layer of the policy is a float, as that of a tower.
    let factorised = floats(CHESS, &Architecture::Mlp { widths: vec![64, 32], policy_channels: 8 });
    for (kind, count) in
        [("QGemm", 5), ("Gemm", 0), ("Relu", 0), ("QuantizeLinear", 1), ("DequantizeLinear", 1)]
    {
        assert_eq!(factorised(kind), count, "{kind} of the dense layers before a board");
    }
}
