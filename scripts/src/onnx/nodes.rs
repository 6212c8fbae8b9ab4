//! The operations of a plan as nodes of an ONNX graph.

use menagerie::encoding::Shape;

use super::proto::{Attribute, Node, Tensor, TensorKind};
use crate::network::plan::{Layer, Op, Plan, Value};

/// The names of a plan's values in the graph.
pub(super) struct Names<'a> {
    pub(super) plan: &'a Plan,
}

impl Names<'_> {
    /// A value's name: the layer that makes it, or the operation on what it is made of.
    pub(super) fn of(&self, value: Value) -> String {
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
            Op::Conv { layer, .. } | Op::Depthwise { layer, .. } | Op::Dense { layer, .. } => {
                format!("{}.sum", layer.name)
            }
            Op::Relu(input) => format!("{}.relu", self.of(*input)),
            Op::Add(_, branch) => format!("{}.add", self.of(*branch)),
            Op::Flatten(input) => format!("{}.flat", self.of(*input)),
            Op::Board { input, .. } => format!("{}.board", self.of(*input)),
            Op::Pool(input) => format!("{}.mean", self.of(*input)),
            Op::Sigmoid(input) => format!("{}.sigmoid", self.of(*input)),
            Op::Scale(board, _) => format!("{}.scaled", self.of(*board)),
            Op::Deal { input, .. } => format!("{}.tables", self.of(*input)),
            Op::Join { input, .. } => format!("{}.joined", self.of(*input)),
        }
    }

    /// The nodes of an operation, which is the plan's `index`th; `read` names what is read of a value.
    pub(super) fn nodes(&self, index: usize, op: &Op, read: impl Fn(Value) -> String) -> Vec<Node> {
        let output = self.of(Value(index + 1));
        let reads = |input: Value, layer: &Layer| {
            [read(input), format!("{}.weight", layer.name), format!("{}.bias", layer.name)]
        };
        let axes = axes_of(&output);
        let node = match op {
            Op::Conv { input, layer, kernel } | Op::Depthwise { input, layer, kernel } => {
                let [input, weight, bias] = reads(*input, layer);
                let groups = if let Op::Conv { .. } = op { 1 } else { layer.outputs as i64 };
                let (kernel, pad) = (*kernel as i64, *kernel as i64 / 2);
                Node {
                    attribute: vec![
                        Attribute::number("group", groups),
                        Attribute::numbers("kernel_shape", &[kernel; 2]),
                        Attribute::numbers("pads", &[pad; 4]),
                        Attribute::numbers("strides", &[1; 2]),
                    ],
                    ..Node::new("Conv", &[&input, &weight, &bias], &output)
                }
            }
            Op::Dense { input, layer } => {
                let [input, weight, bias] = reads(*input, layer);
                Node::new("Gemm", &[&input, &weight, &bias], &output)
            }
            Op::Relu(input) => Node::new("Relu", &[&read(*input)], &output),
            Op::Add(left, right) => Node::new("Add", &[&read(*left), &read(*right)], &output),
            // ONNX flattens from axis 1 on unless told otherwise.
            Op::Flatten(input) => Node::new("Flatten", &[&read(*input)], &output),
            Op::Board { input, .. } | Op::Join { input, .. } => {
                Node::new("Reshape", &[&read(*input), &axes], &output)
            }
            Op::Pool(input) => Node::new("GlobalAveragePool", &[&read(*input)], &output),
            Op::Sigmoid(input) => Node::new("Sigmoid", &[&read(*input)], &output),
            Op::Scale(board, factors) => {
                Node::new("Mul", &[&read(*board), &read(*factors)], &output)
            }
            Op::Deal { input, .. } => return deal(&read(*input), &output),
        };
        vec![node]
    }

    /// The constants that the nodes need beside weights.
    pub(super) fn constants(&self, shape: Shape) -> impl Iterator<Item = Tensor> {
        let [height, width] = [shape.height as i64, shape.width as i64];
        // The batch is whatever is left.
        let board = move |channels: usize| vec![-1, channels as i64, height, width];
        self.plan.ops.iter().enumerate().flat_map(move |(index, op)| {
            let output = self.of(Value(index + 1));
            let constants = match *op {
                Op::Board { channels, .. } | Op::Join { channels, .. } => {
                    vec![(axes_of(&output), board(channels))]
                }
                Op::Deal { planes, .. } => {
                    let [parts, _, _, first, own] = dealt(&output);
                    let each = planes - 1;
                    vec![
                        (parts, vec![1, 1, 2 * each as i64]),
                        (axes_of(&first), board(1)),
                        (axes_of(&own), board(each)),
                    ]
                }
                _ => Vec::new(),
            };
            constants.into_iter().map(|(name, numbers)| integers(&name, &numbers))
        })
    }
}

/// The names of what a position at two tables is taken apart into: how many planes there are of each
/// part, the first plane, the planes of tables, and both with a row for each table.
fn dealt(output: &str) -> [String; 5] {
    ["parts", "first", "own", "first.rows", "own.rows"].map(|part| format!("{output}.{part}"))
}

/// The nodes that deal the planes of two tables out.
fn deal(input: &str, output: &str) -> Vec<Node> {
    let [parts, first, own, first_rows, own_rows] = dealt(output);
    let [twice, second] = ["twice", "second"].map(|part| format!("{output}.{part}"));
    let along_channels = |node| Node { attribute: vec![Attribute::number("axis", 1)], ..node };
    let split = Node::new("Split", &[input, &parts], &first);
    let split = Node { output: vec![first.clone(), second, own.clone()], ..split };
    vec![
        along_channels(split),
        along_channels(Node::new("Concat", &[&first, &first], &twice)),
        Node::new("Reshape", &[&twice, &axes_of(&first_rows)], &first_rows),
        Node::new("Reshape", &[&own, &axes_of(&own_rows)], &own_rows),
        along_channels(Node::new("Concat", &[&first_rows, &own_rows], output)),
    ]
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
