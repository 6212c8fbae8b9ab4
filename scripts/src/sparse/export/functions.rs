//! The operators of sparse networks as functions: bodies of ONNX's standard operators.
//!
//! The engine knows each by its SHA-256 ([`FUNCTIONS`](menagerie::nn::network::FUNCTIONS)) and
//! has kernels that compute the same; a change here is a new version of all three.

use crate::network::MOVES_LEFT_SCALE;
use crate::onnx::OPSET;
use crate::onnx::proto::{Attribute, Function, Node, OperatorSet, TensorKind};

/// The domain of the functions.
pub(super) const DOMAIN: &str = "menagerie.sparse";
/// The version of the domain.
pub(super) const VERSION: i64 = 1;

/// What an output of 1 of the first layer is in an int8 network.
const UNIT: f32 = 128.0;

/// A node of a function's body that has one output.
fn node(op: &str, input: &[&str], output: &str) -> Node {
    Node::new(op, input, output)
}

/// The node with these settings.
fn with(attributes: &[Attribute], node: Node) -> Node {
    Node { attribute: attributes.to_vec(), ..node }
}

fn cast(input: &str, output: &str, kind: TensorKind) -> Node {
    with(&[Attribute::number("to", kind as i64)], node("Cast", &[input], output))
}

fn float(value: f32, output: &str) -> Node {
    with(&[Attribute::decimal("value_float", value)], node("Constant", &[], output))
}

fn integers(values: &[i64], output: &str) -> Node {
    with(&[Attribute::numbers("value_ints", values)], node("Constant", &[], output))
}

/// The sum over axis 1, which goes away; `axis` names a constant that holds it.
fn sum(input: &str, axis: &str, output: &str) -> Node {
    with(&[Attribute::number("keepdims", 0)], node("ReduceSum", &[input, axis], output))
}

/// The product with a transposed matrix, and a bias.
fn dense(input: &str, weight: &str, bias: &str, output: &str) -> Node {
    with(&[Attribute::number("transB", 1)], node("Gemm", &[input, weight, bias], output))
}

/// The halves of the columns.
fn split(input: &str, first: &str, second: &str) -> Node {
    let split = node("Split", &[input], first);
    let output = vec![first.into(), second.into()];
    with(&[Attribute::number("axis", 1)], Node { output, ..split })
}

fn function(name: &str, input: &[&str], output: &[&str], node: Vec<Node>) -> Function {
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    Function {
        name: name.into(),
        input: names(input),
        output: names(output),
        node,
        opset_import: vec![OperatorSet { domain: String::new(), version: OPSET }],
        domain: DOMAIN.into(),
    }
}

/// Returns the functions of a network of floats.
pub(super) fn float_functions() -> [Function; 3] {
    let features = vec![
        cast("inputs", "indices", TensorKind::Int32),
        node("Gather", &["table", "indices"], "rows"),
        integers(&[1], "axis"),
        sum("rows", "axis", "sum"),
        node("Add", &["sum", "bias"], "biased"),
        float(0.0, "zero"),
        float(1.0, "one"),
        node("Clip", &["biased", "zero", "one"], "clipped"),
        split("clipped", "first", "second"),
        node("Mul", &["first", "second"], "x"),
    ];
    let value_head = [
        vec![
            dense("x", "hidden_weight", "hidden_bias", "hidden"),
            node("Relu", &["hidden"], "units"),
        ],
        last_layers(),
    ];
    let move_scores = [
        vec![
            cast("rows", "indices", TensorKind::Int32),
            node("Gather", &["table", "indices"], "gathered"),
        ],
        scores("x", "gathered", "scores"),
    ];
    [
        function("Features", &["inputs", "table", "bias"], &["x"], features),
        function(
            "ValueHead",
            &[
                "x",
                "hidden_weight",
                "hidden_bias",
                "outcome_weight",
                "outcome_bias",
                "moves_left_weight",
                "moves_left_bias",
            ],
            &["outcome", "moves_left"],
            value_head.concat(),
        ),
        function(
            "MoveScores",
            &["x", "rows", "owners", "table"],
            &["scores"],
            move_scores.concat(),
        ),
    ]
}

/// Returns the functions of a network of int8 tables. Their sums are whole numbers below 2^24, so that
/// floats hold them exactly.
pub(super) fn int8_functions() -> [Function; 3] {
    let features = vec![
        cast("inputs", "indices", TensorKind::Int32),
        node("Gather", &["table", "indices"], "bytes"),
        cast("bytes", "rows", TensorKind::Float),
        integers(&[1], "axis"),
        sum("rows", "axis", "sum"),
        cast("bias", "wide_bias", TensorKind::Float),
        node("Add", &["sum", "wide_bias"], "biased"),
        float(0.0, "zero"),
        node("Clip", &["biased", "zero", "one"], "clipped"),
        split("clipped", "first", "second"),
        node("Mul", &["first", "second"], "product"),
        node("Mul", &["one", "one"], "square"),
        float(UNIT, "unit"),
        node("Div", &["unit", "square"], "factor"),
        node("Mul", &["product", "factor"], "scaled"),
        float(0.5, "half"),
        node("Add", &["scaled", "half"], "raised"),
        node("Floor", &["raised"], "rounded"),
        cast("rounded", "x", TensorKind::Uint8),
    ];
    let value_head = [
        vec![
            cast("x", "wide_x", TensorKind::Float),
            cast("hidden_weight", "wide_weight", TensorKind::Float),
            with(
                &[Attribute::numbers("perm", &[1, 0])],
                node("Transpose", &["wide_weight"], "columns"),
            ),
            node("MatMul", &["wide_x", "columns"], "sums"),
            node("Mul", &["sums", "hidden_scale"], "scaled"),
            node("Add", &["scaled", "hidden_bias"], "hidden"),
            node("Relu", &["hidden"], "units"),
        ],
        last_layers(),
    ];
    let move_scores = [
        vec![
            cast("rows", "indices", TensorKind::Int32),
            node("Gather", &["table", "indices"], "bytes"),
            cast("bytes", "gathered", TensorKind::Float),
            cast("x", "wide_x", TensorKind::Float),
        ],
        scores("wide_x", "gathered", "sums"),
        vec![node("Mul", &["sums", "scale"], "scores")],
    ];
    [
        function("FeaturesInt8", &["inputs", "table", "bias", "one"], &["x"], features),
        function(
            "ValueHeadInt8",
            &[
                "x",
                "hidden_weight",
                "hidden_scale",
                "hidden_bias",
                "outcome_weight",
                "outcome_bias",
                "moves_left_weight",
                "moves_left_bias",
            ],
            &["outcome", "moves_left"],
            value_head.concat(),
        ),
        function(
            "MoveScoresInt8",
            &["x", "rows", "owners", "table", "scale"],
            &["scores"],
            move_scores.concat(),
        ),
    ]
}

/// From the hidden units to both outputs.
fn last_layers() -> Vec<Node> {
    vec![
        dense("units", "outcome_weight", "outcome_bias", "outcome"),
        dense("units", "moves_left_weight", "moves_left_bias", "raw"),
        node("Softplus", &["raw"], "softplus"),
        float(MOVES_LEFT_SCALE, "turns"),
        node("Mul", &["softplus", "turns"], "moves_left"),
    ]
}

/// The dot products of the sums of the gathered rows of each move with the first numbers of its owner's
/// `x`.
fn scores(x: &str, gathered: &str, output: &str) -> Vec<Node> {
    vec![
        integers(&[1], "axis"),
        sum(gathered, "axis", "move_rows"),
        integers(&[0], "start"),
        with(&[Attribute::number("start", 1)], node("Shape", &["table"], "width")),
        node("Slice", &[x, "start", "width", "axis"], "read"),
        cast("owners", "positions", TensorKind::Int32),
        node("Gather", &["read", "positions"], "owned"),
        node("Mul", &["move_rows", "owned"], "products"),
        sum("products", "axis", output),
    ]
}

#[cfg(test)]
mod tests {
    use menagerie::nn::network::FUNCTIONS;
    use prost::Message;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn engine_knows_these_functions() {
        let mut functions = [float_functions(), int8_functions()].concat();
        functions.sort_by(|a, b| a.name.cmp(&b.name));
        let digest = |function: &Function| {
            let bytes = Sha256::digest(function.encode_to_vec());
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        let found: Vec<(&str, String)> =
            functions.iter().map(|function| (function.name.as_str(), digest(function))).collect();
        let known: Vec<(&str, String)> =
            FUNCTIONS.iter().map(|&(name, digest)| (name, digest.to_owned())).collect();
        assert_eq!(found, known);
    }
}
