//! Sparse networks as ONNX files: of 32-bit floats, and with int8 tables, which is what is shipped.
//!
//! The graph has three nodes, whose operators the file defines as functions (`export/functions.rs`), so
//! that any ONNX Runtime runs it; inputs and outputs are those of
//! [`menagerie::nn::network::sparse`].
//!
//! In the int8 file the input table and its bias are in units of 1 / `one`, a power of two; an output
//! of the first layer is in units of 1 / 128; each hidden unit has a scale of its own, the move table
//! one. Weights beyond 127 units are cut.

mod functions;

use menagerie::encoding::SparseEncoding;
use menagerie::nn::NetworkMetadata;
use menagerie::nn::network::sparse::SPARSE_INPUTS;
use menagerie::nn::network::{OUTPUTS, append_checksum};
use prost::Message;

use super::weights::{SparseWeights, WeightsError};
use crate::onnx::proto::{
    Function, Graph, Metadata, Model, Node, OperatorSet, Size, Tensor, TensorKind, ValueInfo,
};
use crate::onnx::{IR_VERSION, OPSET};

/// The greatest int8 weight; -128 is not used, as products of pairs must fit 16 bits.
const GREATEST: f32 = 127.0;
/// What 1 may be in the sums of the int8 input table, the finest first.
const ONES: [f32; 4] = [128.0, 64.0, 32.0, 16.0];
/// What 1 is in the outputs of the first layer of an int8 network.
pub(super) const UNIT: f32 = 128.0;
/// A row of the int8 tables is whole cache lines.
const LINE: usize = 64;

/// Why a sparse network could not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SparseExportError {
    /// The weights do not fit one another.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The int8 kernels take only rows of whole cache lines.
    #[error(
        "an int8 network needs a hidden size that is a multiple of 128 and a policy size that is a \
         multiple of 64, not {hidden_size} and {policy_size}"
    )]
    Widths {
        /// Width of the first layer.
        hidden_size: usize,
        /// Numbers that the policy reads.
        policy_size: usize,
    },
    /// A bias of the first layer leaves no room for the sum of the inputs in 16 bits.
    #[error("the input bias {0} is too large for an int8 network")]
    Bias(String),
}

/// What int8 tables do to the weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantisation {
    /// What 1 is in the input table.
    pub one: f32,
    /// Weights of the input table that were cut to 127 units.
    pub cut_inputs: usize,
    /// The root of the mean squared error of the input table.
    pub input_error: f32,
    /// The root of the mean squared error of the move table.
    pub move_error: f32,
}

/// Writes the network as a file of 32-bit floats, with its checksum. `rows_per_move` is that of the
/// encoding; `metadata` are keys and values, in order.
///
/// # Errors
/// [`SparseExportError::Weights`] if the weights do not fit one another.
pub fn export_float(
    weights: &SparseWeights,
    rows_per_move: usize,
    metadata: &[(String, String)],
) -> Result<Vec<u8>, SparseExportError> {
    weights.check()?;
    let SparseWeights { inputs, move_rows, hidden_size, policy_size, value_hidden, .. } = *weights;
    let floats = |name: &str, axes: &[usize], data: &[f32]| Tensor::floats(name, axes, data);
    let mut initializer = vec![
        floats(
            "input_table",
            &[inputs + 1, hidden_size],
            &padded(&weights.input_table, hidden_size),
        ),
        floats("input_bias", &[hidden_size], &weights.input_bias),
        floats("hidden_weight", &[value_hidden, hidden_size / 2], &weights.value_w1),
        floats(
            "move_table",
            &[move_rows + 1, policy_size],
            &padded(&weights.move_table, policy_size),
        ),
    ];
    initializer.extend(last_layers(weights));
    let nodes = [
        call("Features", &[SPARSE_INPUTS[0], "input_table", "input_bias"], &["x"]),
        call("ValueHead", &[&["x", "hidden_weight"], &LAST_LAYERS[..]].concat(), &OUTPUTS[1..]),
        call("MoveScores", &["x", SPARSE_INPUTS[1], SPARSE_INPUTS[2], "move_table"], &OUTPUTS[..1]),
    ];
    let graph = graph(weights, rows_per_move, nodes, initializer);
    Ok(file(graph, functions::float_functions(), metadata))
}

/// Returns the file with int8 tables and its checksum, and the effect on the weights; otherwise as
/// [`export_float`].
///
/// # Errors
/// Those of [`export_float`], and [`SparseExportError::Widths`] and [`SparseExportError::Bias`].
pub fn export_int8(
    weights: &SparseWeights,
    rows_per_move: usize,
    metadata: &[(String, String)],
) -> Result<(Vec<u8>, Quantisation), SparseExportError> {
    weights.check()?;
    let SparseWeights { inputs, move_rows, hidden_size, policy_size, value_hidden, .. } = *weights;
    if !hidden_size.is_multiple_of(2 * LINE) || !policy_size.is_multiple_of(LINE) {
        return Err(SparseExportError::Widths { hidden_size, policy_size });
    }
    let one = input_scale(&weights.input_table);
    let move_scale = best_scale(&weights.move_table);
    let bias = weights.input_bias.iter().map(|&number| {
        let scaled = (number * one).round();
        // It must leave room for the sum of at least two hundred weights of 127.
        if scaled.abs() <= 7000.0 {
            Ok(scaled as i16)
        } else {
            Err(SparseExportError::Bias(number.to_string()))
        }
    });
    let bias: Vec<i16> = bias.collect::<Result<_, _>>()?;
    let bias_bytes = bias.iter().flat_map(|number| number.to_le_bytes()).collect();
    let (hidden_weight, hidden_scale) = hidden_rows(&weights.value_w1, hidden_size / 2);
    let int8 =
        |name: &str, axes: &[usize], data: Vec<u8>| Tensor::new(name, TensorKind::Int8, axes, data);
    let input_table = bytes(&padded(&weights.input_table, hidden_size), one);
    let move_table = bytes(&padded(&weights.move_table, policy_size), move_scale);
    let mut initializer = vec![
        int8("input_table", &[inputs + 1, hidden_size], input_table),
        Tensor::new("input_bias", TensorKind::Int16, &[hidden_size], bias_bytes),
        Tensor::floats("one", &[], &[one]),
        int8("hidden_weight", &[value_hidden, hidden_size / 2], hidden_weight),
        Tensor::floats("hidden_scale", &[value_hidden], &hidden_scale),
        int8("move_table", &[move_rows + 1, policy_size], move_table),
        Tensor::floats("score_scale", &[], &[1.0 / (UNIT * move_scale)]),
    ];
    initializer.extend(last_layers(weights));
    let value_inputs = [&["x", "hidden_weight", "hidden_scale"], &LAST_LAYERS[..]].concat();
    let nodes = [
        call("FeaturesInt8", &[SPARSE_INPUTS[0], "input_table", "input_bias", "one"], &["x"]),
        call("ValueHeadInt8", &value_inputs, &OUTPUTS[1..]),
        call(
            "MoveScoresInt8",
            &["x", SPARSE_INPUTS[1], SPARSE_INPUTS[2], "move_table", "score_scale"],
            &OUTPUTS[..1],
        ),
    ];
    let graph = graph(weights, rows_per_move, nodes, initializer);
    let beyond = |weight: &&f32| (**weight * one).round().abs() > GREATEST;
    let quantisation = Quantisation {
        one,
        cut_inputs: weights.input_table.iter().filter(beyond).count(),
        input_error: squared_error(&weights.input_table, one).sqrt() as f32,
        move_error: squared_error(&weights.move_table, move_scale).sqrt() as f32,
    };
    Ok((file(graph, functions::int8_functions(), metadata), quantisation))
}

/// Writes the network of the variants `variants`, separated by spaces, as [`export_int8`] does, with the
/// metadata that the engine needs. `run` describes the origin of the weights.
///
/// # Errors
/// Those of [`export_int8`].
pub fn export_for_play(
    weights: &SparseWeights,
    encoding: &SparseEncoding,
    variants: &str,
    run: &str,
) -> Result<(Vec<u8>, Quantisation), SparseExportError> {
    let metadata = NetworkMetadata::sparse(encoding, variants, run).entries();
    export_int8(weights, encoding.shape().rows_per_move, &metadata)
}

/// The weights of the value head that both files hold as floats, in the order of the operator's inputs.
const LAST_LAYERS: [&str; 5] =
    ["hidden_bias", "outcome_weight", "outcome_bias", "moves_left_weight", "moves_left_bias"];

fn last_layers(weights: &SparseWeights) -> [Tensor; 5] {
    let SparseWeights { value_hidden, outcomes, .. } = *weights;
    let axes: [&[usize]; 5] =
        [&[value_hidden], &[outcomes, value_hidden], &[outcomes], &[1, value_hidden], &[1]];
    let data: [&[f32]; 5] = [
        &weights.value_b1,
        &weights.outcome_w,
        &weights.outcome_b,
        &weights.moves_left_w,
        &[weights.moves_left_b],
    ];
    std::array::from_fn(|nth| Tensor::floats(LAST_LAYERS[nth], axes[nth], data[nth]))
}

/// A node of one of the functions.
fn call(function: &str, input: &[&str], output: &[&str]) -> Node {
    Node {
        output: output.iter().map(|name| name.to_string()).collect(),
        name: function.into(),
        domain: functions::DOMAIN.into(),
        ..Node::new(function, input, output[0])
    }
}

fn graph(
    weights: &SparseWeights,
    rows_per_move: usize,
    nodes: [Node; 3],
    initializer: Vec<Tensor>,
) -> Graph {
    let open = |name: &str| Size::Open(name.into());
    let fixed = |size: usize| Size::Fixed(size as i64);
    let indices = |name, sizes| ValueInfo::tensor(name, TensorKind::Uint16, sizes);
    let floats = |name, sizes| ValueInfo::tensor(name, TensorKind::Float, sizes);
    let [inputs, move_rows, owners] = SPARSE_INPUTS;
    let [policy, outcome, moves_left] = OUTPUTS;
    Graph {
        node: nodes.into(),
        name: "menagerie".into(),
        initializer,
        input: vec![
            indices(inputs, vec![open("positions"), open("active")]),
            indices(move_rows, vec![open("moves"), fixed(rows_per_move)]),
            indices(owners, vec![open("moves")]),
        ],
        output: vec![
            floats(policy, vec![open("moves")]),
            floats(outcome, vec![open("positions"), fixed(weights.outcomes)]),
            floats(moves_left, vec![open("positions"), fixed(1)]),
        ],
    }
}

fn file(graph: Graph, functions: [Function; 3], metadata: &[(String, String)]) -> Vec<u8> {
    let entry =
        |(key, value): &(String, String)| Metadata { key: key.clone(), value: value.clone() };
    let model = Model {
        ir_version: IR_VERSION,
        producer_name: "menagerie".into(),
        producer_version: env!("CARGO_PKG_VERSION").into(),
        graph: Some(graph),
        opset_import: vec![
            OperatorSet { domain: String::new(), version: OPSET },
            OperatorSet { domain: functions::DOMAIN.into(), version: functions::VERSION },
        ],
        metadata_props: metadata.iter().map(entry).collect(),
        functions: functions.into(),
    };
    append_checksum(model.encode_to_vec())
}

/// The table with a row of zeros after it.
fn padded(table: &[f32], columns: usize) -> Vec<f32> {
    let mut padded = table.to_vec();
    padded.resize(table.len() + columns, 0.0);
    padded
}

/// The finest scale of the input table that cuts no weight; the coarsest if all do.
fn input_scale(table: &[f32]) -> f32 {
    let greatest = table.iter().fold(0.0_f32, |greatest, weight| greatest.max(weight.abs()));
    let fits = |one: &f32| (greatest * one).round() <= GREATEST;
    ONES.into_iter().find(fits).unwrap_or(ONES[ONES.len() - 1])
}

/// The scale of the move table with the least squared error: cutting the greatest weights makes all
/// others finer.
fn best_scale(table: &[f32]) -> f32 {
    let greatest = table.iter().fold(0.0_f32, |greatest, weight| greatest.max(weight.abs()));
    let finest = GREATEST / greatest.max(1e-6);
    let scales = (0..8).map(|nth| finest * 1.25_f32.powi(nth));
    let errors = scales.map(|scale| (squared_error(table, scale), scale));
    errors.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(finest, |(_, scale)| scale)
}

/// The mean squared error of weights in int8 of this scale.
fn squared_error(table: &[f32], scale: f32) -> f64 {
    let error = |&weight: &f32| {
        let gap = f64::from(unit(weight, scale) / scale - weight);
        gap * gap
    };
    table.iter().map(error).sum::<f64>() / table.len().max(1) as f64
}

/// A weight in whole units.
fn unit(weight: f32, scale: f32) -> f32 {
    (weight * scale).round().clamp(-GREATEST, GREATEST)
}

fn bytes(table: &[f32], scale: f32) -> Vec<u8> {
    table.iter().map(|&weight| unit(weight, scale) as i8 as u8).collect()
}

/// The rows of the hidden layer as int8, and what a unit of each is worth.
fn hidden_rows(table: &[f32], columns: usize) -> (Vec<u8>, Vec<f32>) {
    let mut all = Vec::with_capacity(table.len());
    let mut scales = Vec::new();
    for row in table.chunks_exact(columns) {
        let greatest = row.iter().fold(0.0_f32, |greatest, weight| greatest.max(weight.abs()));
        let scale = GREATEST / greatest.max(1e-6);
        all.extend(bytes(row, scale));
        scales.push(1.0 / (UNIT * scale));
    }
    (all, scales)
}
