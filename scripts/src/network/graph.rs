//! The forward and the backward pass of a plan, on burn.
//!
//! Weights come in as one slice and gradients go out as one vector, in the plan's order: burn
//! differentiates the network, and whatever is done with a gradient is done outside.

use burn::tensor::{Device, Tensor, TensorData, activation};
use menagerie::encoding::Shape;

use super::convolution::convolve;
use super::graph_ir::{GraphIr, Layer, Op};
use super::{MOVES_LEFT_SCALE, Outputs, softplus};

/// The heads of one batch, before the moves-left head's softplus and scale.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heads {
    /// `[batch, policy]`.
    pub(crate) policy: Vec<f32>,
    /// `[batch, outcomes]`.
    pub(crate) outcome: Vec<f32>,
    /// `[batch]`.
    pub(crate) moves_left: Vec<f32>,
    /// `[batch, policy]`; empty if the plan has no such head.
    pub(crate) soft_policy: Vec<f32>,
}

impl Heads {
    /// From the numbers of each head, in the plan's order.
    fn of(heads: impl IntoIterator<Item = Vec<f32>>) -> Heads {
        let mut heads = heads.into_iter();
        let mut next = || heads.next().unwrap_or_default();
        Heads { policy: next(), outcome: next(), moves_left: next(), soft_policy: next() }
    }

    /// The numbers of each head, in the plan's order.
    fn into_parts(self) -> [Vec<f32>; 4] {
        [self.policy, self.outcome, self.moves_left, self.soft_policy]
    }
}

/// The heads of a batch. `planes` holds at least one position, and whole positions only.
pub(crate) fn heads(plan: &GraphIr, shape: Shape, weights: &[f32], planes: Vec<f32>) -> Heads {
    let pass = Pass::new(plan, shape, weights, planes, &Device::flex());
    Heads::of(pass.heads(plan).map(to_vec))
}

/// The numbers of each of a plan's values for a batch, in the order of the plan, the input first.
/// `planes` is as for [`heads`].
pub(crate) fn values(
    plan: &GraphIr,
    shape: Shape,
    weights: &[f32],
    planes: Vec<f32>,
) -> impl Iterator<Item = Vec<f32>> {
    let pass = Pass::new(plan, shape, weights, planes, &Device::flex());
    pass.flows.into_iter().map(|flow| to_vec(flow.row()))
}

/// Evaluates a batch; as [`heads`], with the moves left in turns.
pub(crate) fn evaluate(plan: &GraphIr, shape: Shape, weights: &[f32], planes: Vec<f32>) -> Outputs {
    let Heads { policy, outcome, mut moves_left, .. } = heads(plan, shape, weights, planes);
    for turns in &mut moves_left {
        *turns = MOVES_LEFT_SCALE * softplus(*turns);
    }
    Outputs { policy, outcome, moves_left }
}

/// Evaluates a batch, asks `loss` for the loss and its gradient with respect to the heads, and
/// gives what `loss` says and the gradient with respect to the weights.
pub(crate) fn differentiate<L>(
    plan: &GraphIr,
    shape: Shape,
    weights: &[f32],
    planes: Vec<f32>,
    loss: impl FnOnce(&Heads) -> (L, Heads),
) -> (L, Vec<f32>) {
    let device = Device::flex().autodiff();
    let pass = Pass::new(plan, shape, weights, planes, &device);
    let (losses, gradient) = loss(&Heads::of(pass.heads(plan).map(|head| to_vec(head.inner()))));

    // The derivative of sum(head * g) with respect to the head is g: so burn starts from there.
    let pull = |(head, gradient): (Tensor<2>, Vec<f32>)| {
        let gradient = TensorData::new(gradient, head.dims());
        (head * Tensor::from_data(gradient, &device)).sum()
    };
    let pulls = pass.heads(plan).zip(gradient.into_parts()).map(pull);
    let total = pulls.fold(Tensor::<1>::zeros([1], &device), |all, one| all + one);
    let mut gradients = total.backward();

    let mut flat = Vec::with_capacity(weights.len());
    for (leaf, parameter) in pass.leaves.into_iter().zip(&plan.parameters) {
        match leaf.grad_remove(&mut gradients) {
            Some(gradient) => flat.extend_from_slice(&to_vec(gradient)),
            None => flat.resize(flat.len() + parameter.range.len(), 0.0),
        }
    }
    (losses, flat)
}

/// One batch on its way through a plan.
struct Pass {
    /// The plan's values.
    flows: Vec<Flow>,
    /// The plan's parameters, each as one axis.
    leaves: Vec<Tensor<1>>,
}

/// A value under way: over the board, or without one.
#[derive(Clone)]
enum Flow {
    /// `[batch, height, width, channels]`: channels last is how convolutions take it.
    Board(Tensor<4>),
    /// `[batch, units]`; what was over a board, by channels first.
    Row(Tensor<2>),
}

impl Flow {
    fn board(self) -> Tensor<4> {
        match self {
            Flow::Board(board) => board,
            Flow::Row(row) => {
                let [batch, units] = row.dims();
                row.reshape([batch, 1, 1, units])
            }
        }
    }

    fn row(self) -> Tensor<2> {
        match self {
            Flow::Board(board) => board.permute([0, 3, 1, 2]).flatten(1, 3),
            Flow::Row(row) => row,
        }
    }
}

impl Pass {
    fn new(
        plan: &GraphIr,
        shape: Shape,
        weights: &[f32],
        planes: Vec<f32>,
        device: &Device,
    ) -> Self {
        let batch = planes.len() / shape.input();
        let input = TensorData::new(planes, [batch, shape.planes, shape.height, shape.width]);
        let mut flows = vec![Flow::Board(channels_last(Tensor::from_data(input, device)))];
        let mut leaves = Vec::with_capacity(plan.parameters.len());
        for op in &plan.ops {
            let flow = match op {
                Op::Conv { input, layer, kernel } => {
                    let [weight, bias] = leaves_of(layer, weights, device);
                    leaves.extend([weight.clone(), bias.clone()]);
                    let weight = weight.reshape([layer.outputs, layer.inputs, *kernel, *kernel]);
                    let board = flows[input.0].clone().board();
                    Flow::Board(convolve(board, weight, bias))
                }
                Op::Dense { input, layer } => {
                    let [weight, bias] = leaves_of(layer, weights, device);
                    leaves.extend([weight.clone(), bias.clone()]);
                    let weight = weight.reshape([layer.inputs, layer.outputs]);
                    let row = flows[input.0].clone().row().matmul(weight);
                    Flow::Row(row + bias.unsqueeze())
                }
                Op::Relu(input) => match flows[input.0].clone() {
                    Flow::Board(board) => Flow::Board(activation::relu(board)),
                    Flow::Row(row) => Flow::Row(activation::relu(row)),
                },
                Op::Add(left, right) => match (flows[left.0].clone(), flows[right.0].clone()) {
                    (Flow::Board(left), Flow::Board(right)) => Flow::Board(left + right),
                    (left, right) => Flow::Row(left.row() + right.row()),
                },
                Op::Flatten(input) => Flow::Row(flows[input.0].clone().row()),
                Op::Board { input, channels } => {
                    let row = flows[input.0].clone().row();
                    let board = row.reshape([batch, *channels, shape.height, shape.width]);
                    Flow::Board(channels_last(board))
                }
                Op::Pool(input) => {
                    let board = flows[input.0].clone().board();
                    let [rows, _, _, channels] = board.dims();
                    let means = board.flatten::<3>(1, 2).mean_dim(1);
                    Flow::Board(means.reshape([rows, 1, 1, channels]))
                }
                Op::Sigmoid(input) => {
                    Flow::Board(activation::sigmoid(flows[input.0].clone().board()))
                }
                Op::Deal { input, planes } => {
                    let board = flows[input.0].clone().board();
                    let Shape { height, width, .. } = shape;
                    // The planes of the first table stand before those of the other.
                    let own = board.clone().narrow(3, 2, 2 * (planes - 1));
                    let own = own.reshape([batch, height, width, 2, planes - 1]);
                    let own = own.permute([0, 3, 1, 2, 4]);
                    let first = board.narrow(3, 0, 1).unsqueeze_dim::<5>(1).repeat_dim(1, 2);
                    let dealt = Tensor::cat(vec![first, own], 4);
                    Flow::Board(dealt.reshape([2 * batch, height, width, *planes]))
                }
                Op::Join { input, channels } => {
                    let board = flows[input.0].clone().board();
                    let [_, height, width, each] = board.dims();
                    let tables = board.reshape([batch, 2, height, width, each]);
                    let joined = tables.permute([0, 2, 3, 1, 4]);
                    Flow::Board(joined.reshape([batch, height, width, *channels]))
                }
                Op::Scale(board, factors) => {
                    let [board, factors] =
                        [board, factors].map(|value| flows[value.0].clone().board());
                    Flow::Board(board * factors)
                }
            };
            flows.push(flow);
        }
        Self { flows, leaves }
    }

    /// The plan's heads in its order, each `[batch, ..]`.
    fn heads(&self, plan: &GraphIr) -> impl Iterator<Item = Tensor<2>> {
        plan.heads().map(|head| self.flows[head.0].clone().row())
    }
}

/// Boards `[batch, channels, height, width]` as `[batch, height, width, channels]`.
fn channels_last(board: Tensor<4>) -> Tensor<4> {
    board.permute([0, 2, 3, 1])
}

/// A layer's weights and biases as tensors; on a device that differentiates, as its variables.
fn leaves_of(layer: &Layer, weights: &[f32], device: &Device) -> [Tensor<1>; 2] {
    [layer.weight(), layer.bias()].map(|range| {
        let data = TensorData::new(weights[range.clone()].to_vec(), [range.len()]);
        let leaf = Tensor::from_data(data, device);
        if device.is_autodiff() { leaf.require_grad() } else { leaf }
    })
}

/// A tensor's numbers. All tensors here are made of 32-bit floats, so the conversion cannot fail.
fn to_vec<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec().expect("a tensor of 32-bit floats")
}
