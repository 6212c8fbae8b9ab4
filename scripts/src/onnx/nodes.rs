//! The operations of a plan as nodes of an ONNX graph.

use menagerie::encoding::Shape;
use menagerie::nn::network::TWO_BOARD_OUTPUTS;

use super::proto::{Attribute, Node, Tensor, TensorKind};
use crate::network::graph_ir::{GraphIr, INPUT, Layer, Op, Value};

/// The names of a plan's values in the graph. Of a plan that sees two tables with a row for each, the graph
/// is that of one row, up to the layer at which they meet.
pub(super) struct Names<'a> {
    pub(super) plan: &'a GraphIr,
    meeting: Option<usize>,
    after_meeting: Vec<bool>,
}

impl<'a> Names<'a> {
    pub(super) fn new(plan: &'a GraphIr) -> Self {
        Self { plan, meeting: plan.meeting(), after_meeting: plan.after_meeting() }
    }

    /// Whether the rows of two tables meet at the plan's `index`th operation.
    pub(super) fn meets_at(&self, index: usize) -> bool {
        self.meeting == Some(index)
    }

    /// Whether a value is not in the graph, as it is made of two rows.
    pub(super) fn is_beyond(&self, value: Value) -> bool {
        self.after_meeting[value.0]
    }

    /// The value that is the same in a graph of one row.
    pub(super) fn in_row(&self, value: Value) -> Value {
        match value.0.checked_sub(1).map(|index| &self.plan.ops[index]) {
            Some(Op::Deal { .. }) => INPUT,
            Some(Op::Join { input, .. }) => self.in_row(*input),
            _ => value,
        }
    }
}

impl Names<'_> {
    /// A value's name: the layer that makes it, or the operation on what it is made of.
    pub(super) fn of(&self, value: Value) -> String {
        let value = self.in_row(value);
        if value == self.plan.policy {
            return "policy".into();
        }
        if value == self.plan.outcome {
            return "outcome".into();
        }
        let Some(index) = value.0.checked_sub(1) else {
            return "planes".into();
        };
        match &self.plan.ops[index] {
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
            Op::Deal { input, .. } | Op::Join { input, .. } => self.of(*input),
        }
    }

    /// The nodes of an operation, which is the plan's `index`th; `read` names what is read of a value.
    pub(super) fn nodes(&self, index: usize, op: &Op, read: impl Fn(Value) -> String) -> Vec<Node> {
        let output = self.of(Value(index + 1));
        if self.is_beyond(Value(index + 1)) {
            return Vec::new();
        }
        let reads = |input: Value, layer: &Layer| {
            [read(input), format!("{}.weight", layer.name), format!("{}.bias", layer.name)]
        };
        let axes = axes_of(&output);
        let node = match op {
            Op::Conv { input, layer, kernel } => {
                let [input, weight, bias] = reads(*input, layer);
                let (kernel, pad) = (*kernel as i64, *kernel as i64 / 2);
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
            Op::Dense { input, layer } if self.meets_at(index) => {
                return halves(&read(*input), &format!("{}.weight", layer.name));
            }
            Op::Dense { input, layer } => {
                let [input, weight, bias] = reads(*input, layer);
                Node::new("Gemm", &[&input, &weight, &bias], &output)
            }
            Op::Relu(input) => Node::new("Relu", &[&read(*input)], &output),
            Op::Add(left, right) => Node::new("Add", &[&read(*left), &read(*right)], &output),
            // ONNX flattens from axis 1 on unless told otherwise.
            Op::Flatten(input) => Node::new("Flatten", &[&read(*input)], &output),
            Op::Board { input, .. } => Node::new("Reshape", &[&read(*input), &axes], &output),
            Op::Pool(input) => Node::new("GlobalAveragePool", &[&read(*input)], &output),
            Op::Sigmoid(input) => Node::new("Sigmoid", &[&read(*input)], &output),
            Op::Scale(board, factors) => {
                Node::new("Mul", &[&read(*board), &read(*factors)], &output)
            }
            Op::Deal { .. } | Op::Join { .. } => return Vec::new(),
        };
        vec![node]
    }

    /// The constants that the nodes need beside weights.
    pub(super) fn constants(&self, shape: Shape) -> impl Iterator<Item = Tensor> {
        let [height, width] = [shape.height as i64, shape.width as i64];
        self.plan.ops.iter().enumerate().filter_map(move |(index, op)| {
            let &Op::Board { channels, .. } = op else { return None };
            let name = axes_of(&self.of(Value(index + 1)));
            // The batch is whatever is left.
            Some(integers(&name, &[-1, channels as i64, height, width]))
        })
    }
}

/// The nodes that give what a row adds to a layer as the first of two tables, and as the other.
fn halves(input: &str, weight: &str) -> Vec<Node> {
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

/// The node with this axis.
pub(super) fn along(axis: i64, node: Node) -> Node {
    Node { attribute: vec![Attribute::number("axis", axis)], ..node }
}

/// A constant of whole numbers.
fn integers(name: &str, numbers: &[i64]) -> Tensor {
    let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    Tensor::new(name, TensorKind::Int64, &[numbers.len()], bytes)
}

/// The name of the axes of a value that is laid out over the board.
fn axes_of(value: &str) -> String {
    format!("{value}.axes")
}
