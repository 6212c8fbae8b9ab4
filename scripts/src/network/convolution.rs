//! Convolutions over small boards, `[batch, height, width, channels]`.
//!
//! The convolution of burn on the CPU processes one board at a time, and its gradients use layouts for
//! large images. Here 3x3 kernels use `winograd`, and 1x1 kernels are matrix products.
//!
//! The stride is 1 and the edges are padded with zeros, so that the board keeps its size.

mod winograd;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::ops::FloatTensorOps;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::{Tensor, TensorData};
use pulp::Arch;

use winograd::Boards;

/// Convolves boards `[batch, height, width, inputs]` with kernels `[outputs, inputs, kernel, kernel]`, where
/// `kernel` is 1 or 3, and adds a bias of `[outputs]`.
pub(super) fn convolve(input: Tensor<4>, weight: Tensor<4>, bias: Tensor<1>) -> Tensor<4> {
    let [outputs, inputs, kernel, _] = weight.dims();
    if kernel == 1 {
        let [batch, height, width, _] = input.dims();
        let rows = input.reshape([batch * height * width, inputs]);
        let products = rows.matmul(weight.reshape([outputs, inputs]).transpose());
        return (products + bias.unsqueeze()).reshape([batch, height, width, outputs]);
    }
    assert_eq!(kernel, 3, "kernels are 1x1 or 3x3");
    let [input, weight] = [input.into_dispatch(), weight.into_dispatch()];
    Tensor::from_dispatch(Dispatch::convolve_boards(input, weight, bias.into_dispatch()))
}

/// Backends that convolve boards with 3x3 kernels.
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
        let (boards, batch) = boards(&input, &weight);
        let Boards { height, width, outputs, .. } = boards;
        let mut output = numbers(&bias).repeat(batch * height * width);
        Arch::new().dispatch(winograd::Forward {
            boards,
            kernels: numbers(&weight),
            input: numbers(&input),
            output: &mut output,
        });
        tensor(output, &[batch, height, width, outputs])
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
        let input = ops.state.0.to_contiguous();
        let weight = ops.state.1.to_contiguous();
        let [of_input, of_weight, of_bias] = ops.parents;
        let (boards, batch) = boards(&input, &weight);
        let Boards { height, width, inputs, outputs } = boards;
        let mut input_slope = of_input.is_some().then(|| vec![0.0; numbers(&input).len()]);
        let mut kernel_slope = vec![0.0; numbers(&weight).len()];
        Arch::new().dispatch(winograd::Backward {
            boards,
            kernels: numbers(&weight),
            input: numbers(&input),
            slope: numbers(&slope),
            input_slope: input_slope.as_deref_mut(),
            kernel_slope: &mut kernel_slope,
        });
        if let (Some(node), Some(input_slope)) = (of_input, input_slope) {
            let input_slope = tensor(input_slope, &[batch, height, width, inputs]);
            gradients.register::<Flex>(node.id, input_slope);
        }
        if let Some(node) = of_weight {
            gradients.register::<Flex>(node.id, tensor(kernel_slope, &[outputs, inputs, 3, 3]));
        }
        if let Some(node) = of_bias {
            gradients
                .register::<Flex>(node.id, tensor(sum_rows(numbers(&slope), outputs), &[outputs]));
        }
    }
}

/// Returns the sizes of the boards, and their number.
fn boards(input: &FloatTensor<Flex>, weight: &FloatTensor<Flex>) -> (Boards, usize) {
    let [batch, height, width, inputs] = input.layout().shape().dims();
    let [outputs, ..]: [usize; 4] = weight.layout().shape().dims();
    (Boards { height, width, inputs, outputs }, batch)
}

/// Returns the sum of rows of `columns` numbers.
fn sum_rows(rows: &[f32], columns: usize) -> Vec<f32> {
    let mut sums = vec![0.0; columns];
    for row in rows.chunks_exact(columns) {
        for (sum, number) in sums.iter_mut().zip(row) {
            *sum += number;
        }
    }
    sums
}

/// Returns a tensor with the given axes.
fn tensor(numbers: Vec<f32>, axes: &[usize]) -> FloatTensor<Flex> {
    Flex::float_from_data(TensorData::new(numbers, axes.to_vec()), &Default::default())
}

/// Returns the numbers of a contiguous tensor. All tensors here have 32-bit floats and are contiguous, so that
/// this cannot fail.
fn numbers(tensor: &FloatTensor<Flex>) -> &[f32] {
    tensor.as_slice().expect("a contiguous tensor of 32-bit floats")
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::ops::ConvOptions;
    use burn::tensor::{Device, module};

    /// Returns pseudo-random numbers.
    fn noise<const D: usize>(axes: [usize; D], seed: usize, device: &Device) -> Tensor<D> {
        let wave = |at: usize| ((at * 7919 + seed * 104_729) as f32 * 0.618_034).sin();
        let numbers: Vec<f32> = (0..axes.iter().product()).map(wave).collect();
        Tensor::from_data(TensorData::new(numbers, axes), device)
    }

    fn close<const D: usize>(here: Tensor<D>, there: Tensor<D>, what: &str) {
        let max = there.clone().abs().max().into_scalar::<f32>();
        let gap = (here - there).abs().max().into_scalar::<f32>();
        assert!(gap < 1e-4 * (1.0 + max), "{what} differs by {gap} of {max}");
    }

    #[test]
    fn convolve_agrees_with_burn() {
        let device = Device::flex().autodiff();
        // Batch, inputs, outputs, height, width, kernel; the last is more than one chunk.
        for [batch, inputs, outputs, height, width, kernel] in [
            [1, 1, 1, 1, 1, 1],
            [1, 1, 1, 1, 1, 3],
            [2, 3, 4, 3, 5, 3],
            [3, 17, 33, 7, 6, 3],
            [2, 4, 3, 4, 4, 1],
            [70, 24, 8, 8, 8, 3],
        ] {
            let input = noise([batch, height, width, inputs], 1, &device).require_grad();
            let weight = noise([outputs, inputs, kernel, kernel], 2, &device).require_grad();
            let bias = noise([outputs], 3, &device).require_grad();
            let pull = noise([batch, height, width, outputs], 4, &device);

            let here = convolve(input.clone(), weight.clone(), bias.clone());
            let options = ConvOptions::new([1, 1], [kernel / 2; 2], [1, 1], 1);
            let first = input.clone().permute([0, 3, 1, 2]);
            let there = module::conv2d(first, weight.clone(), Some(bias.clone()), options);
            let there = there.permute([0, 2, 3, 1]);
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
