//! Convolutions over small boards, as one matrix product over many positions at a time.
//!
//! burn's own convolution on the CPU lays out one board at a time, and its gradients go through
//! layouts made for large pictures: on 8x8 boards they take twice as long. Here the shifted boards
//! of many positions stand side by side (`columns`), and the same columns of the output's gradient
//! give both the input's gradient and the weights'.
//!
//! The stride is 1 and the edges are padded with zeros, so that the board keeps its size; kernels
//! are square with an odd side.

mod columns;
mod depthwise;
mod padded;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::{Tensor, TensorData};

use columns::{Boards, turn};
pub(super) use depthwise::convolve_depthwise;

/// Numbers in the columns of the positions that are convolved at a time: what a core's second
/// cache holds.
const CHUNK: usize = 1 << 18;

/// Convolves boards `[batch, inputs, height, width]` with `[outputs, inputs, kernel, kernel]` and
/// adds a bias of `[outputs]`.
pub(super) fn convolve(input: Tensor<4>, weight: Tensor<4>, bias: Tensor<1>) -> Tensor<4> {
    let [input, weight] = [input.into_dispatch(), weight.into_dispatch()];
    Tensor::from_dispatch(Dispatch::convolve_boards(input, weight, bias.into_dispatch()))
}

/// Backends that convolve boards.
#[backend_extension(Autodiff, Flex)]
pub(crate) trait BoardConvolution: Backend {
    /// See [`convolve`].
    fn convolve_boards(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> FloatTensor<Self>;
}

impl BoardConvolution for Flex {
    fn convolve_boards(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let [input, weight, bias] = [input, weight, bias].map(|one| one.to_contiguous());
        let [batch, inputs, height, width] = input.layout().shape().dims();
        let [outputs, _, kernel, _] = weight.layout().shape().dims();
        let from = Boards { channels: inputs, height, width };
        let to = Boards { channels: outputs, ..from };
        let weight = tensor(numbers(&weight).to_vec(), &[outputs, inputs * kernel * kernel]);

        let mut output = vec![0.0; batch * to.position()];
        let chunk = chunk(from, kernel);
        let chunks = numbers(&input).chunks(chunk * from.position());
        for (input, output) in chunks.zip(output.chunks_mut(chunk * to.position())) {
            let product = Flex::float_matmul(weight.clone(), columns(from, input, kernel));
            to.scatter(numbers(&product), Some(numbers(&bias)), output);
        }
        tensor(output, &[batch, outputs, height, width])
    }
}

impl<C: CheckpointStrategy> BoardConvolution for Autodiff<Flex, C> {
    fn convolve_boards(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let nodes = [input.node(), weight.node(), bias.node()];
        let [input, weight, bias] = [input, weight, bias].map(|one| one.into_primitive());
        let output = Flex::convolve_boards(input.clone(), weight.clone(), bias);
        match BoardBackward.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish((input, weight), output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }
}

/// The backward pass; its state is the input and the weights.
#[derive(Debug)]
struct BoardBackward;

impl Backward<Flex, 3> for BoardBackward {
    type State = (FloatTensor<Flex>, FloatTensor<Flex>);

    fn backward(self, ops: Ops<Self::State, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let slope = gradients.consume::<Flex>(&ops.node).to_contiguous();
        let (input, weight) = (ops.state.0.to_contiguous(), ops.state.1.to_contiguous());
        let [of_input, of_weight, of_bias] = ops.parents;
        let [batch, inputs, height, width] = input.layout().shape().dims();
        let [outputs, _, kernel, _] = weight.layout().shape().dims();
        let to = Boards { channels: inputs, height, width };
        let from = Boards { channels: outputs, ..to };

        // With the input x, the output y and a shift d: x' at s is the sum of W[d] y' at s - d, and
        // W'[d] the sum over s of x at s times y' at s - d. Both read y' through the turned kernel.
        let turned = turn(numbers(&weight), outputs, inputs);
        let turned = tensor(turned, &[inputs, outputs * kernel * kernel]);
        let mut input_slope = of_input.is_some().then(|| vec![0.0; batch * to.position()]);
        let mut turned_slope = vec![0.0; numbers(&weight).len()];
        if of_input.is_some() || of_weight.is_some() {
            let chunk = chunk(from, kernel);
            let inputs = numbers(&input).chunks(chunk * to.position());
            let slopes = numbers(&slope).chunks(chunk * from.position());
            for (index, (input, slope)) in inputs.zip(slopes).enumerate() {
                let columns = columns(from, slope, kernel);
                if let Some(input_slope) = &mut input_slope {
                    let product = Flex::float_matmul(turned.clone(), columns.clone());
                    let start = index * chunk * to.position();
                    let input_slope = &mut input_slope[start..start + input.len()];
                    to.scatter(numbers(&product), None, input_slope);
                }
                if of_weight.is_some() {
                    let across = input.len() / to.channels;
                    let matrix = tensor(to.gather(input), &[to.channels, across]);
                    let product = Flex::float_matmul(matrix, Flex::float_transpose(columns));
                    let sums = turned_slope.iter_mut().zip(numbers(&product));
                    sums.for_each(|(sum, one)| *sum += one);
                }
            }
        }
        if let (Some(node), Some(input_slope)) = (of_input, input_slope) {
            let input_slope = tensor(input_slope, &[batch, inputs, height, width]);
            gradients.register::<Flex>(node.id, input_slope);
        }
        if let Some(node) = of_weight {
            let weight_slope = turn(&turned_slope, inputs, outputs);
            let weight_slope = tensor(weight_slope, &[outputs, inputs, kernel, kernel]);
            gradients.register::<Flex>(node.id, weight_slope);
        }
        if let Some(node) = of_bias {
            let mut sums = vec![0.0; outputs];
            let boards = numbers(&slope).chunks_exact(from.squares());
            for (index, board) in boards.enumerate() {
                sums[index % outputs] += board.iter().sum::<f32>();
            }
            gradients.register::<Flex>(node.id, tensor(sums, &[outputs]));
        }
    }
}

/// How many positions' columns make a chunk.
fn chunk(from: Boards, kernel: usize) -> usize {
    (CHUNK / (from.position() * kernel * kernel)).max(1)
}

/// The columns of some positions as a matrix, `[channels * kernel * kernel, positions * squares]`.
fn columns(from: Boards, positions: &[f32], kernel: usize) -> FloatTensor<Flex> {
    let across = positions.len() / from.channels;
    let rows = from.channels * kernel * kernel;
    tensor(from.columns(positions, kernel), &[rows, across])
}

/// A tensor of the given axes.
fn tensor(numbers: Vec<f32>, axes: &[usize]) -> FloatTensor<Flex> {
    Flex::float_from_data(TensorData::new(numbers, axes.to_vec()), &Default::default())
}

/// The numbers of a contiguous tensor. All tensors here are made of 32-bit floats and were made
/// contiguous, so this cannot fail.
fn numbers(tensor: &FloatTensor<Flex>) -> &[f32] {
    tensor.as_slice().expect("a contiguous tensor of 32-bit floats")
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::ops::ConvOptions;
    use burn::tensor::{Device, module};

    /// Numbers that look like noise.
    fn noise<const D: usize>(axes: [usize; D], seed: usize, device: &Device) -> Tensor<D> {
        let wave = |at: usize| ((at * 7919 + seed * 104_729) as f32 * 0.618_034).sin();
        let numbers: Vec<f32> = (0..axes.iter().product()).map(wave).collect();
        Tensor::from_data(TensorData::new(numbers, axes), device)
    }

    fn close<const D: usize>(here: Tensor<D>, there: Tensor<D>, what: &str) {
        let gap = (here - there).abs().max().into_scalar::<f32>();
        assert!(gap < 1e-3, "{what} differs by {gap}");
    }

    #[test]
    fn boards_are_convolved_as_pictures_are() {
        let device = Device::flex().autodiff();
        // Batch, inputs, outputs, height, width, kernel; the last is more than one chunk.
        for [batch, inputs, outputs, height, width, kernel] in [
            [1, 1, 1, 1, 1, 1],
            [1, 1, 1, 1, 1, 3],
            [2, 3, 4, 3, 5, 3],
            [3, 2, 5, 2, 1, 5],
            [2, 4, 3, 4, 4, 1],
            [70, 24, 8, 8, 8, 3],
        ] {
            let input = noise([batch, inputs, height, width], 1, &device).require_grad();
            let weight = noise([outputs, inputs, kernel, kernel], 2, &device).require_grad();
            let bias = noise([outputs], 3, &device).require_grad();
            let pull = noise([batch, outputs, height, width], 4, &device);

            let here = convolve(input.clone(), weight.clone(), bias.clone());
            let options = ConvOptions::new([1, 1], [kernel / 2; 2], [1, 1], 1);
            let there = module::conv2d(input.clone(), weight.clone(), Some(bias.clone()), options);
            close(here.clone().inner(), there.clone().inner(), "output");
            let here = (here * pull.clone()).sum().backward();
            let there = (there * pull).sum().backward();
            let of = |tensor: &Tensor<4>| [&here, &there].map(|all| tensor.grad(all).unwrap());
            let [one, other] = of(&input);
            close(one, other, "input's gradient");
            let [one, other] = of(&weight);
            close(one, other, "weights' gradient");
            close(bias.grad(&here).unwrap(), bias.grad(&there).unwrap(), "bias' gradient");
        }
    }

    #[test]
    fn channels_are_convolved_as_groups_are() {
        let device = Device::flex().autodiff();
        // Batch, channels, height, width, kernel.
        for [batch, channels, height, width, kernel] in
            [[1, 1, 1, 1, 1], [1, 1, 1, 1, 3], [2, 3, 3, 5, 3], [3, 2, 2, 1, 5], [5, 24, 8, 8, 3]]
        {
            let input = noise([batch, channels, height, width], 1, &device).require_grad();
            let weight = noise([channels, 1, kernel, kernel], 2, &device).require_grad();
            let bias = noise([channels], 3, &device).require_grad();
            let pull = noise([batch, channels, height, width], 4, &device);

            let here = convolve_depthwise(input.clone(), weight.clone(), bias.clone());
            let options = ConvOptions::new([1, 1], [kernel / 2; 2], [1, 1], channels);
            let there = module::conv2d(input.clone(), weight.clone(), Some(bias.clone()), options);
            close(here.clone().inner(), there.clone().inner(), "output");
            let here = (here * pull.clone()).sum().backward();
            let there = (there * pull).sum().backward();
            let of = |tensor: &Tensor<4>| [&here, &there].map(|all| tensor.grad(all).unwrap());
            let [one, other] = of(&input);
            close(one, other, "input's gradient");
            let [one, other] = of(&weight);
            close(one, other, "weights' gradient");
            close(bias.grad(&here).unwrap(), bias.grad(&there).unwrap(), "bias' gradient");
        }
    }
}
