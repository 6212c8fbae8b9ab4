//! Exported networks say under ONNX Runtime what they say here.
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

/// The most that two answers to one position may differ.
const TOLERANCE: f32 = 1e-4;

const CHESS: Shape = Shape { planes: 24, height: 8, width: 8, policy_planes: 78, outcomes: 3 };
const SMALL: Shape = Shape { planes: 12, height: 3, width: 5, policy_planes: 1, outcomes: 4 };

/// Numbers from -1 to 1 that look like noise, so that no weight and no output is zero.
fn noise(seed: usize, len: usize) -> Vec<f32> {
    let wave = |at: usize| ((at * 7919 + seed * 104_729) as f32 * 0.618_034).sin();
    (0..len).map(wave).collect()
}

/// A network with no layer left at zero, as if it had been trained.
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

/// The environment of ONNX Runtime, of which a process has one.
fn environment() -> &'static Environment {
    let named = std::env::var_os("ORT_DYLIB_PATH").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime");
    Runtime::load(if named { None } else { Some(&folder) })
        .unwrap_or_else(|error| panic!("{error}"))
        .environment()
}

fn by_runtime(bytes: &[u8], shape: Shape, planes: &[f32]) -> Outputs {
    let mut session = Session::builder(environment()).unwrap().commit_from_memory(bytes).unwrap();
    let twin = session.outputs().iter().any(|output| output.name() == TWO_BOARD_OUTPUTS[1]);
    let (shape, planes) =
        if twin { (shape.of_table(), dealt(shape, planes)) } else { (shape, planes.to_vec()) };
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
    if twin {
        let head = Head::new(HEAD.map(|name| numbers(name).1)).unwrap();
        let halves = read(TWO_BOARD_OUTPUTS[1], 2 * head.units());
        let (mut outcome, mut moves_left) = (Vec::new(), Vec::new());
        // A row for each table: of the first the first half, of the other the other.
        for pair in halves.chunks_exact(4 * head.units()) {
            let half = |at: usize| pair[at * head.units()..][..head.units()].iter().copied();
            let mut logits = Vec::new();
            moves_left.push(head.join([half(0), half(3)], &mut logits));
            outcome.extend(logits);
        }
        // Rows of two tables are those of a position one after another.
        return Outputs { policy: read("policy", shape.policy()), outcome, moves_left };
    }
    Outputs {
        policy: read("policy", shape.policy()),
        outcome: read("outcome", shape.outcomes),
        moves_left: read("moves_left", 1),
    }
}

/// The planes of positions at two tables as rows of one: the first plane of all, and the table's own.
fn dealt(shape: Shape, planes: &[f32]) -> Vec<f32> {
    let (squares, own) = (shape.squares(), (shape.of_table().planes - 1) * shape.squares());
    let rows = planes.chunks_exact(shape.input()).flat_map(|planes| {
        let (shared, tables) = planes.split_at(2 * squares);
        tables.chunks_exact(own).flat_map(|table| [&shared[..squares], table])
    });
    rows.flatten().copied().collect()
}

fn architectures() -> Vec<(Shape, Architecture)> {
    vec![
        (CHESS, Architecture::Residual { blocks: 3, channels: 32, squeeze: 0 }),
        (CHESS, Architecture::Residual { blocks: 3, channels: 32, squeeze: 8 }),
        (SMALL, Architecture::Residual { blocks: 1, channels: 8, squeeze: 0 }),
        (SMALL, Architecture::Residual { blocks: 1, channels: 8, squeeze: 3 }),
        (CHESS, Architecture::Twin { blocks: 3, channels: 16, squeeze: 8 }),
        (CHESS, Architecture::Twin { blocks: 1, channels: 8, squeeze: 0 }),
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

/// Self-play that goes on after a kill has other games beside one another than it had before.
#[test]
fn a_row_is_the_same_to_the_last_bit_in_any_batch() {
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
                let told = format!("{architecture:?} in batches of {rows}");
                assert_eq!(all(|outputs| &outputs.policy), together.policy, "{told}");
                assert_eq!(all(|outputs| &outputs.outcome), together.outcome, "{told}");
                assert_eq!(all(|outputs| &outputs.moves_left), together.moves_left, "{told}");
            }
        }
    }
}

/// How much of `found` is not `wanted`: the root of the mean square of the differences, in units of
/// that of `wanted` around its mean.
fn error(found: &[f32], wanted: &[f32]) -> f32 {
    assert_eq!(found.len(), wanted.len());
    let mean = wanted.iter().sum::<f32>() / wanted.len() as f32;
    let spread: f32 = wanted.iter().map(|wanted| (wanted - mean).powi(2)).sum();
    let differences = found.iter().zip(wanted).map(|(found, wanted)| (found - wanted).powi(2));
    (differences.sum::<f32>() / spread).sqrt()
}

#[test]
fn quantised_networks_say_nearly_the_same() {
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

/// Rounded weights make outputs greater or less on the whole, if what they are multiplied by has a
/// mean; the biases take that back.
#[test]
fn quantised_networks_are_right_on_average() {
    for (shape, architecture) in architectures() {
        let network = network(shape, &architecture);
        let floats =
            append_checksum(onnx::export(shape, &architecture, &network.tensors(), &[]).unwrap());
        // As planes are: nothing is below nought.
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

/// How far the mean of each output is off, beside how much the outputs differ from one another: the
/// root of mean squares.
fn mean_error(found: &[f32], wanted: &[f32], outputs: usize) -> f32 {
    let means = |rows: &[f32]| {
        let count = (rows.len() / outputs) as f32;
        let sum = |output: usize| rows.iter().skip(output).step_by(outputs).sum::<f32>();
        (0..outputs).map(|output| sum(output) / count).collect::<Vec<_>>()
    };
    error(&means(found), &means(wanted))
}

/// How many operations of a kind ONNX Runtime makes of a network.
fn operations(bytes: &[u8]) -> impl Fn(&str) -> usize + use<> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("optimised.onnx");
    let builder = Session::builder(environment()).unwrap();
    builder.with_optimized_model_path(&path).unwrap().commit_from_memory(bytes).unwrap();
    let optimised = std::fs::read(path).unwrap();
    move |kind| {
        // Field 4 of a node, its kind: a tag, a length, the text.
        let field = [b"\x22", &[kind.len() as u8][..], kind.as_bytes()].concat();
        optimised.windows(field.len()).filter(|window| *window == field).count()
    }
}

#[test]
fn quantised_networks_are_computed_in_bytes() {
    let floats = |shape, architecture: &Architecture| {
        let network = network(shape, architecture);
        let floats =
            append_checksum(onnx::export(shape, architecture, &network.tensors(), &[]).unwrap());
        operations(&onnx::quantise(&floats, &noise(5, 9 * shape.input())).unwrap())
    };
    let residual = floats(CHESS, &Architecture::Residual { blocks: 3, channels: 32, squeeze: 0 });
    // A stem, two a block, one for the policy and one for the value; and the policy's last.
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
    // What squeezes is computed in bytes, too: the mean, two layers, their sigmoid and the product.
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
    // Of two tables one is seen as in a tower of one; what it adds to both is in floats.
    let twin = floats(CHESS, &Architecture::Twin { blocks: 3, channels: 32, squeeze: 8 });
    for (kind, count) in
        [("QLinearConv", 15), ("Conv", 1), ("QGemm", 0), ("MatMul", 2), ("QuantizeLinear", 1)]
    {
        assert_eq!(twin(kind), count, "{kind} of a twin");
    }
    let mlp = floats(CHESS, &Architecture::Mlp { widths: vec![64, 32], policy_channels: 0 });
    for (kind, count) in
        [("QGemm", 5), ("Gemm", 0), ("Relu", 0), ("QuantizeLinear", 1), ("DequantizeLinear", 0)]
    {
        assert_eq!(mlp(kind), count, "{kind} of the dense layers");
    }
    // The policy's last layer is of floats here, as a tower's is.
    let factorised = floats(CHESS, &Architecture::Mlp { widths: vec![64, 32], policy_channels: 8 });
    for (kind, count) in
        [("QGemm", 5), ("Gemm", 0), ("Relu", 0), ("QuantizeLinear", 1), ("DequantizeLinear", 1)]
    {
        assert_eq!(factorised(kind), count, "{kind} of the dense layers before a board");
    }
}
