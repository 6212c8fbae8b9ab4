//! The forward and the backward pass of a graph, on burn.
//!
//! Weights come in as one slice and gradients go out as one vector, in the order of the graph. burn only
//! differentiates the network.

use burn::tensor::{Device, Tensor, TensorData, activation};
use menagerie::encoding::Shape;

use super::convolution::convolve;
use super::graph_ir::{GraphIr, LayerWeights, Op};
use super::{MOVES_LEFT_SCALE, Outputs, softplus};

/// The heads for a batch, before softplus and scale of the moves-left head.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heads {
    /// `[batch, policy]`.
    pub(crate) policy: Vec<f32>,
    /// `[batch, outcomes]`.
    pub(crate) outcome: Vec<f32>,
    /// `[batch]`.
    pub(crate) moves_left: Vec<f32>,
    /// `[batch, policy]`; empty if the graph has no such head.
    pub(crate) soft_policy: Vec<f32>,
}

impl Heads {
    /// Returns heads with the given numbers, in the order of [`GraphIr::heads`].
    fn from_parts(heads: impl IntoIterator<Item = Vec<f32>>) -> Heads {
        let mut heads = heads.into_iter();
        let mut next = || heads.next().unwrap_or_default();
        Heads { policy: next(), outcome: next(), moves_left: next(), soft_policy: next() }
    }

    /// Returns the numbers of each head, in the order of [`GraphIr::heads`].
    fn into_parts(self) -> [Vec<f32>; 4] {
        [self.policy, self.outcome, self.moves_left, self.soft_policy]
    }
}

/// Returns the heads for a batch. `planes` holds at least one position, and whole positions only.
pub(crate) fn heads(graph: &GraphIr, shape: Shape, weights: &[f32], planes: Vec<f32>) -> Heads {
    let pass = Pass::new(graph, shape, weights, planes, &Device::flex());
    Heads::from_parts(pass.heads(graph).map(to_vec))
}

/// Returns the numbers of each value of a graph for a batch, the input first. `planes` is as for [`heads`].
pub(crate) fn values(
    graph: &GraphIr,
    shape: Shape,
    weights: &[f32],
    planes: Vec<f32>,
) -> impl Iterator<Item = Vec<f32>> {
    let pass = Pass::new(graph, shape, weights, planes, &Device::flex());
    pass.values.into_iter().map(|value| to_vec(value.row()))
}

/// Returns the outputs for a batch: [`heads`] with the moves left in turns.
pub(crate) fn evaluate(
    graph: &GraphIr,
    shape: Shape,
    weights: &[f32],
    planes: Vec<f32>,
) -> Outputs {
    let Heads { policy, outcome, mut moves_left, .. } = heads(graph, shape, weights, planes);
    for turns in &mut moves_left {
        *turns = MOVES_LEFT_SCALE * softplus(*turns);
    }
    Outputs { policy, outcome, moves_left }
}

/// Evaluates a batch and calls `loss`, which returns the losses and their gradient with respect to the heads.
/// Returns these losses and the gradient with respect to the weights.
pub(crate) fn differentiate<L>(
    graph: &GraphIr,
    shape: Shape,
    weights: &[f32],
    planes: Vec<f32>,
    loss: impl FnOnce(&Heads) -> (L, Heads),
) -> (L, Vec<f32>) {
    let device = Device::flex().autodiff();
    let pass = Pass::new(graph, shape, weights, planes, &device);
    let (losses, gradient) =
        loss(&Heads::from_parts(pass.heads(graph).map(|head| to_vec(head.inner()))));

    // The derivative of sum(head * g) with respect to the head is g.
    let weighted_sum = |(head, gradient): (Tensor<2>, Vec<f32>)| {
        let gradient = TensorData::new(gradient, head.dims());
        (head * Tensor::from_data(gradient, &device)).sum()
    };
    let sums = pass.heads(graph).zip(gradient.into_parts()).map(weighted_sum);
    let total = sums.fold(Tensor::<1>::zeros([1], &device), |all, one| all + one);
    let mut gradients = total.backward();

    let mut flat = Vec::with_capacity(weights.len());
    for (leaf, parameter) in pass.leaves.into_iter().zip(&graph.parameters) {
        match leaf.grad_remove(&mut gradients) {
            Some(gradient) => flat.extend_from_slice(&to_vec(gradient)),
            None => flat.resize(flat.len() + parameter.range.len(), 0.0),
        }
    }
    (losses, flat)
}

/// The forward pass of a batch.
struct Pass {
    /// The values of the graph.
    values: Vec<BatchValue>,
    /// The parameters of the graph, each with one axis.
    leaves: Vec<Tensor<1>>,
}

/// A value of the graph for a batch.
#[derive(Clone)]
enum BatchValue {
    /// `[batch, height, width, channels]`, as convolutions read it.
    Board(Tensor<4>),
    /// `[batch, units]`; the units of a flattened board are in the order channel, rank, file.
    Row(Tensor<2>),
}

impl BatchValue {
    fn board(self) -> Tensor<4> {
        match self {
            BatchValue::Board(board) => board,
            BatchValue::Row(row) => {
                let [batch, units] = row.dims();
                row.reshape([batch, 1, 1, units])
            }
        }
    }

    fn row(self) -> Tensor<2> {
        match self {
            BatchValue::Board(board) => board.permute([0, 3, 1, 2]).flatten(1, 3),
            BatchValue::Row(row) => row,
        }
    }
}

impl Pass {
    fn new(
        graph: &GraphIr,
        shape: Shape,
        weights: &[f32],
        planes: Vec<f32>,
        device: &Device,
    ) -> Self {
        let batch = planes.len() / shape.input();
        let input = TensorData::new(planes, [batch, shape.planes, shape.height, shape.width]);
        let mut values = vec![BatchValue::Board(channels_last(Tensor::from_data(input, device)))];
        let mut leaves = Vec::with_capacity(graph.parameters.len());
        for op in &graph.ops {
            let value = match op {
                Op::Conv { input, layer, kernel } => {
                    let [weight, bias] = layer_tensors(layer, weights, device);
                    leaves.extend([weight.clone(), bias.clone()]);
                    let weight = weight.reshape([layer.outputs, layer.inputs, *kernel, *kernel]);
                    let board = values[input.0].clone().board();
                    BatchValue::Board(convolve(board, weight, bias))
                }
                Op::Dense { input, layer } => {
                    let [weight, bias] = layer_tensors(layer, weights, device);
                    leaves.extend([weight.clone(), bias.clone()]);
                    let weight = weight.reshape([layer.inputs, layer.outputs]);
                    let row = values[input.0].clone().row().matmul(weight);
                    BatchValue::Row(row + bias.unsqueeze())
                }
                Op::Relu(input) => match values[input.0].clone() {
                    BatchValue::Board(board) => BatchValue::Board(activation::relu(board)),
                    BatchValue::Row(row) => BatchValue::Row(activation::relu(row)),
                },
                Op::Add(left, right) => match (values[left.0].clone(), values[right.0].clone()) {
                    (BatchValue::Board(left), BatchValue::Board(right)) => {
                        BatchValue::Board(left + right)
                    }
                    (left, right) => BatchValue::Row(left.row() + right.row()),
                },
                Op::Flatten(input) => BatchValue::Row(values[input.0].clone().row()),
                Op::Board { input, channels } => {
                    let row = values[input.0].clone().row();
                    let board = row.reshape([batch, *channels, shape.height, shape.width]);
                    BatchValue::Board(channels_last(board))
                }
                Op::Pool(input) => {
                    let board = values[input.0].clone().board();
                    let [rows, _, _, channels] = board.dims();
                    let means = board.flatten::<3>(1, 2).mean_dim(1);
                    BatchValue::Board(means.reshape([rows, 1, 1, channels]))
                }
                Op::Sigmoid(input) => {
                    BatchValue::Board(activation::sigmoid(values[input.0].clone().board()))
                }
                Op::SplitBoards { input, planes } => {
                    let board = values[input.0].clone().board();
                    let Shape { height, width, .. } = shape;
                    // The planes of the first board come before those of the second.
                    let own = board.clone().narrow(3, 2, 2 * (planes - 1));
                    let own = own.reshape([batch, height, width, 2, planes - 1]);
                    let own = own.permute([0, 3, 1, 2, 4]);
                    let first = board.narrow(3, 0, 1).unsqueeze_dim::<5>(1).repeat_dim(1, 2);
                    let split = Tensor::cat(vec![first, own], 4);
                    BatchValue::Board(split.reshape([2 * batch, height, width, *planes]))
                }
                Op::JoinBoards { input, channels } => {
                    let board = values[input.0].clone().board();
                    let [_, height, width, each] = board.dims();
                    let boards = board.reshape([batch, 2, height, width, each]);
                    let joined = boards.permute([0, 2, 3, 1, 4]);
                    BatchValue::Board(joined.reshape([batch, height, width, *channels]))
                }
                Op::Scale(board, factors) => {
                    let [board, factors] =
                        [board, factors].map(|value| values[value.0].clone().board());
                    BatchValue::Board(board * factors)
                }
            };
            values.push(value);
        }
        Self { values, leaves }
    }

    /// The heads in the order of [`GraphIr::heads`], each `[batch, ..]`.
    fn heads(&self, graph: &GraphIr) -> impl Iterator<Item = Tensor<2>> {
        graph.heads().map(|head| self.values[head.0].clone().row())
    }
}

/// Returns boards `[batch, channels, height, width]` as `[batch, height, width, channels]`.
fn channels_last(board: Tensor<4>) -> Tensor<4> {
    board.permute([0, 2, 3, 1])
}

/// Returns the weights and biases of a layer as tensors, with gradients on a device that differentiates.
fn layer_tensors(layer: &LayerWeights, weights: &[f32], device: &Device) -> [Tensor<1>; 2] {
    [layer.weight(), layer.bias()].map(|range| {
        let data = TensorData::new(weights[range.clone()].to_vec(), [range.len()]);
        let leaf = Tensor::from_data(data, device);
        if device.is_autodiff() { leaf.require_grad() } else { leaf }
    })
}

/// Returns the numbers of a tensor. All tensors here have 32-bit floats, so that this cannot fail.
fn to_vec<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec().expect("a tensor of 32-bit floats")
}
