//! The operations of a graph as nodes of an ONNX graph.

use menagerie::encoding::Shape;
use menagerie::nn::network::TWO_BOARD_OUTPUTS;

use super::proto::{Attribute, Node, Tensor, TensorKind};
use crate::network::graph_ir::{GraphIr, INPUT, LayerWeights, Op, Value};

/// The names of the values of a network in the ONNX graph. The ONNX graph of a two-board network is that of one
/// board, up to the layer that reads both boards.
pub(super) struct Names<'a> {
    pub(super) graph: &'a GraphIr,
    joining_layer: Option<usize>,
    after_joining: Vec<bool>,
}

impl<'a> Names<'a> {
    pub(super) fn new(graph: &'a GraphIr) -> Self {
        Self { graph, joining_layer: graph.joining_layer(), after_joining: graph.after_joining() }
    }

    /// Returns `true` if operation `index` is the layer that reads both boards.
    pub(super) fn joins_at(&self, index: usize) -> bool {
        self.joining_layer == Some(index)
    }

    /// Returns `true` if a value depends on both boards and so is not in the ONNX graph.
    pub(super) fn is_after_joining(&self, value: Value) -> bool {
        self.after_joining[value.0]
    }

    /// Returns the corresponding value in the graph of one board.
    pub(super) fn in_row(&self, value: Value) -> Value {
        match value.0.checked_sub(1).map(|index| &self.graph.ops[index]) {
            Some(Op::SplitBoards { .. }) => INPUT,
            Some(Op::JoinBoards { input, .. }) => self.in_row(*input),
            _ => value,
        }
    }
}

impl Names<'_> {
    /// Returns the name of a value: that of its layer, or of its operation and inputs.
    pub(super) fn of(&self, value: Value) -> String {
        let value = self.in_row(value);
        if value == self.graph.policy {
            return "policy".into();
        }
        if value == self.graph.outcome {
            return "outcome".into();
        }
        let Some(index) = value.0.checked_sub(1) else {
            return "planes".into();
        };
        match &self.graph.ops[index] {
            Op::Conv { layer, .. } | Op::Dense { layer, .. } => {
                format!("{}.sum", layer.name)
            }
            Op::Relu(input) => format!("{}.relu", self.of(*input)),
            Op::Add(_, branch) => format!("{}.add", self.of(*branch)),
            Op::Flatten(input) => format!("{}.flat", self.of(*input)),
            Op::Board { input, .. } => format!("{}.board", self.of(*input)),
            Op::Pool(input) => format!("{}.mean", self.of(*input)),
            Op::Sigmoid(input) => format!("{}.sigmoid", self.of(*input)),
            Op::Scale(board, _) => format!("{}.scaled", self.of(*board)),
            Op::SplitBoards { input, .. } | Op::JoinBoards { input, .. } => self.of(*input),
        }
    }

    /// Returns the nodes of operation `index`. `read` returns the name under which a value is read.
    pub(super) fn nodes(&self, index: usize, op: &Op, read: impl Fn(Value) -> String) -> Vec<Node> {
        let output = self.of(Value(index + 1));
        if self.is_after_joining(Value(index + 1)) {
            return Vec::new();
        }
        let reads = |input: Value, layer: &LayerWeights| {
            [read(input), format!("{}.weight", layer.name), format!("{}.bias", layer.name)]
        };
        let axes = axes_of(&output);
        let node = match op {
            Op::Conv { input, layer, kernel } => {
                let [input, weight, bias] = reads(*input, layer);
                let kernel = *kernel as i64;
                let pad = kernel / 2;
                Node {
                    attribute: vec![
                        Attribute::number("group", 1),
                        Attribute::numbers("kernel_shape", &[kernel; 2]),
                        Attribute::numbers("pads", &[pad; 4]),
                        Attribute::numbers("strides", &[1; 2]),
                    ],
                    ..Node::new("Conv", &[&input, &weight, &bias], &output)
                }
            }
            Op::Dense { input, layer } if self.joins_at(index) => {
                return both_halves(&read(*input), &format!("{}.weight", layer.name));
            }
            Op::Dense { input, layer } => {
                let [input, weight, bias] = reads(*input, layer);
                Node::new("Gemm", &[&input, &weight, &bias], &output)
            }
            Op::Relu(input) => Node::new("Relu", &[&read(*input)], &output),
            Op::Add(left, right) => Node::new("Add", &[&read(*left), &read(*right)], &output),
            // ONNX flattens from axis 1 by default.
            Op::Flatten(input) => Node::new("Flatten", &[&read(*input)], &output),
            Op::Board { input, .. } => Node::new("Reshape", &[&read(*input), &axes], &output),
            Op::Pool(input) => Node::new("GlobalAveragePool", &[&read(*input)], &output),
            Op::Sigmoid(input) => Node::new("Sigmoid", &[&read(*input)], &output),
            Op::Scale(board, factors) => {
                Node::new("Mul", &[&read(*board), &read(*factors)], &output)
            }
            Op::SplitBoards { .. } | Op::JoinBoards { .. } => return Vec::new(),
        };
        vec![node]
    }

    /// Returns the constants of the nodes other than weights.
    pub(super) fn constants(&self, shape: Shape) -> impl Iterator<Item = Tensor> {
        let [height, width] = [shape.height as i64, shape.width as i64];
        self.graph.ops.iter().enumerate().filter_map(move |(index, op)| {
            let &Op::Board { channels, .. } = op else { return None };
            let name = axes_of(&self.of(Value(index + 1)));
            // -1 stands for the batch.
            Some(integers(&name, &[-1, channels as i64, height, width]))
        })
    }
}

/// Returns the nodes for what a board adds to a layer as the first of two boards, and as the second.
fn both_halves(input: &str, weight: &str) -> Vec<Node> {
    let [_, output] = TWO_BOARD_OUTPUTS;
    let parts = ["first", "other"].map(|part| format!("{output}.{part}"));
    let weights = parts.each_ref().map(|part| format!("{part}.weight"));
    let split = Node { output: weights.to_vec(), ..Node::new("Split", &[weight], output) };
    let [first, other] = parts.each_ref().map(String::as_str);
    vec![
        along(0, Node { name: format!("{output}.weights"), ..split }),
        Node::new("MatMul", &[input, &weights[0]], first),
        Node::new("MatMul", &[input, &weights[1]], other),
        along(1, Node::new("Concat", &[first, other], output)),
    ]
}

/// Returns the node with this axis.
pub(super) fn along(axis: i64, node: Node) -> Node {
    Node { attribute: vec![Attribute::number("axis", axis)], ..node }
}

/// Returns a constant of integers.
fn integers(name: &str, numbers: &[i64]) -> Tensor {
    let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    Tensor::new(name, TensorKind::Int64, &[numbers.len()], bytes)
}

/// The name of the axes of a value that is reshaped to a board.
fn axes_of(value: &str) -> String {
    format!("{value}.axes")
}
