//! Convolutions of each channel with a kernel of its own.
//!
//! burn's own grouped convolution lays out every channel as a picture of its own; here each tap of
//! a kernel is one pass over a board with noughts around it (`padded`).

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;

use super::padded::Padded;
use super::{numbers, tensor};

/// Convolves each channel of boards `[batch, channels, height, width]` with its own of the kernels
/// `[channels, 1, kernel, kernel]` and adds a bias of `[channels]`.
pub(in crate::network) fn convolve_depthwise(
    input: Tensor<4>,
    weight: Tensor<4>,
    bias: Tensor<1>,
) -> Tensor<4> {
    let [input, weight] = [input.into_dispatch(), weight.into_dispatch()];
    Tensor::from_dispatch(Dispatch::convolve_channels(input, weight, bias.into_dispatch()))
}

/// Backends that convolve channels one by one.
#[backend_extension(Autodiff, Flex)]
pub(crate) trait ChannelConvolution: Backend {
    /// See [`convolve_depthwise`].
    fn convolve_channels(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> FloatTensor<Self>;
}

impl ChannelConvolution for Flex {
    fn convolve_channels(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let [input, weight, bias] = [input, weight, bias].map(|one| one.to_contiguous());
        let axes: [usize; 4] = input.layout().shape().dims();
        let [_, channels, height, width] = axes;
        let [_, _, kernel, _] = weight.layout().shape().dims();
        let board = Padded { height, width, kernel };
        let mut output = vec![0.0; numbers(&input).len()];
        let (mut padded, mut run) = (vec![0.0; board.len()], Vec::new());
        let boards = numbers(&input).chunks_exact(height * width);
        for (index, (from, to)) in boards.zip(output.chunks_exact_mut(height * width)).enumerate() {
            let channel = index % channels;
            let taps = &numbers(&weight)[channel * kernel * kernel..][..kernel * kernel];
            board.lay(from, &mut padded);
            board.convolve(&padded, taps, numbers(&bias)[channel], &mut run, to);
        }
        tensor(output, &axes)
    }
}

impl<C: CheckpointStrategy> ChannelConvolution for Autodiff<Flex, C> {
    fn convolve_channels(
        input: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let nodes = [input.node(), weight.node(), bias.node()];
        let [input, weight, bias] = [input, weight, bias].map(|one| one.into_primitive());
        let output = Flex::convolve_channels(input.clone(), weight.clone(), bias);
        match ChannelBackward.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish((input, weight), output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }
}

/// The backward pass; its state is the input and the weights.
#[derive(Debug)]
struct ChannelBackward;

impl Backward<Flex, 3> for ChannelBackward {
    type State = (FloatTensor<Flex>, FloatTensor<Flex>);

    fn backward(self, ops: Ops<Self::State, 3>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let slope = gradients.consume::<Flex>(&ops.node).to_contiguous();
        let (input, weight) = (ops.state.0.to_contiguous(), ops.state.1.to_contiguous());
        let axes: [usize; 4] = input.layout().shape().dims();
        let [_, channels, height, width] = axes;
        let weight_axes: [usize; 4] = weight.layout().shape().dims();
        let (squares, taps) = (height * width, weight_axes[2] * weight_axes[3]);
        let board = Padded { height, width, kernel: weight_axes[2] };

        let mut input_slope = vec![0.0; numbers(&input).len()];
        let mut weight_slope = vec![0.0; numbers(&weight).len()];
        let mut bias_slope = vec![0.0; channels];
        let (mut padded, mut padded_slope) = (vec![0.0; board.len()], vec![0.0; board.len()]);
        let mut run = Vec::new();
        let boards = numbers(&input).chunks_exact(squares).zip(input_slope.chunks_mut(squares));
        let slopes = numbers(&slope).chunks_exact(squares);
        for (index, ((input, input_slope), slope)) in boards.zip(slopes).enumerate() {
            let channel = index % channels;
            let own = channel * taps..(channel + 1) * taps;
            // What came of a square went to where the kernel, turned about, sees it from.
            let turned: Vec<f32> = numbers(&weight)[own.clone()].iter().rev().copied().collect();
            board.lay(slope, &mut padded_slope);
            board.convolve(&padded_slope, &turned, 0.0, &mut run, input_slope);
            board.lay(input, &mut padded);
            board.gather(&padded, &padded_slope, &mut weight_slope[own]);
            bias_slope[channel] += slope.iter().sum::<f32>();
        }
        let [of_input, of_weight, of_bias] = ops.parents;
        if let Some(node) = of_input {
            gradients.register::<Flex>(node.id, tensor(input_slope, &axes));
        }
        if let Some(node) = of_weight {
            gradients.register::<Flex>(node.id, tensor(weight_slope, &weight_axes));
        }
        if let Some(node) = of_bias {
            gradients.register::<Flex>(node.id, tensor(bias_slope, &[channels]));
        }
    }
}
