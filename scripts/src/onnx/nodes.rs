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
        }
    }

    /// The node of an operation, which is the plan's `index`th.
    pub(super) fn node(&self, index: usize, op: &Op) -> Node {
        let output = self.of(Value(index + 1));
        let of = |layer: &Layer, input: Value| {
            [self.of(input), format!("{}.weight", layer.name), format!("{}.bias", layer.name)]
        };
        match op {
            Op::Conv { input, layer, kernel } | Op::Depthwise { input, layer, kernel } => {
                let [input, weight, bias] = of(layer, *input);
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
                let [input, weight, bias] = of(layer, *input);
                Node::new("Gemm", &[&input, &weight, &bias], &output)
            }
            Op::Relu(input) => Node::new("Relu", &[&self.of(*input)], &output),
            Op::Add(left, right) => Node::new("Add", &[&self.of(*left), &self.of(*right)], &output),
            // ONNX flattens from axis 1 on unless told otherwise.
            Op::Flatten(input) => Node::new("Flatten", &[&self.of(*input)], &output),
            Op::Board { input, .. } => {
                Node::new("Reshape", &[&self.of(*input), &axes_of(&output)], &output)
            }
            Op::Pool(input) => Node::new("GlobalAveragePool", &[&self.of(*input)], &output),
            Op::Sigmoid(input) => Node::new("Sigmoid", &[&self.of(*input)], &output),
            Op::Scale(board, factors) => {
                Node::new("Mul", &[&self.of(*board), &self.of(*factors)], &output)
            }
        }
    }

    /// The constants that the nodes need beside weights.
    pub(super) fn constants(&self, shape: Shape) -> impl Iterator<Item = Tensor> {
        self.plan.ops.iter().enumerate().filter_map(move |(index, op)| {
            let Op::Board { channels, .. } = op else { return None };
            // 0 stands for the batch as it is.
            let axes = [0, *channels as i64, shape.height as i64, shape.width as i64];
            let bytes = axes.into_iter().flat_map(i64::to_le_bytes).collect();
            let name = axes_of(&self.of(Value(index + 1)));
            Some(Tensor::new(&name, TensorKind::Int64, &[axes.len()], bytes))
        })
    }
}

/// The name of the axes of a value that is laid out over the board.
fn axes_of(value: &str) -> String {
    format!("{value}.axes")
}
