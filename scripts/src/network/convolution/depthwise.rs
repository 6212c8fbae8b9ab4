//! Convolutions of each channel with a kernel of its own.
//!
//! burn's own grouped convolution lays out every channel as a picture of its own; here each tap of
//! a kernel is one pass over a board, all channels of a square at once.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;

use super::{numbers, sums, tensor};

/// Convolves each channel of boards `[batch, height, width, channels]` with its own of the kernels
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
        let kernels = Kernels::new(axes, &weight);
        let weights = kernels.by_tap(numbers(&weight));
        let mut output = numbers(&bias).repeat(axes[..3].iter().product());
        let positions = numbers(&input).chunks_exact(kernels.position());
        for (input, output) in positions.zip(output.chunks_exact_mut(kernels.position())) {
            for (tap, weights) in weights.chunks_exact(kernels.channels).enumerate() {
                for (from, to) in kernels.seen(tap) {
                    let sums = output[to..][..kernels.channels].iter_mut();
                    let products = input[from..].iter().zip(weights);
                    sums.zip(products).for_each(|(sum, (number, weight))| *sum += number * weight);
                }
            }
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
        let kernels = Kernels::new(axes, &weight);
        let (channels, weights) = (kernels.channels, kernels.by_tap(numbers(&weight)));
        let mut input_slope = vec![0.0; numbers(&input).len()];
        let mut by_tap = vec![0.0; weights.len()];
        let inputs = numbers(&input).chunks_exact(kernels.position());
        let slopes = numbers(&slope).chunks_exact(kernels.position());
        let input_slopes = input_slope.chunks_exact_mut(kernels.position());
        for ((input, slope), input_slope) in inputs.zip(slopes).zip(input_slopes) {
            let taps = weights.chunks_exact(channels).zip(by_tap.chunks_exact_mut(channels));
            for (tap, (weights, weight_slope)) in taps.enumerate() {
                for (from, to) in kernels.seen(tap) {
                    let slope = &slope[to..][..channels];
                    let sums = input_slope[from..].iter_mut().zip(slope).zip(weights);
                    sums.for_each(|((sum, slope), weight)| *sum += slope * weight);
                    let sums = weight_slope.iter_mut().zip(slope).zip(&input[from..]);
                    sums.for_each(|((sum, slope), number)| *sum += slope * number);
                }
            }
        }
        let [of_input, of_weight, of_bias] = ops.parents;
        if let Some(node) = of_input {
            gradients.register::<Flex>(node.id, tensor(input_slope, &axes));
        }
        if let Some(node) = of_weight {
            let weight_slope = kernels.by_channel(&by_tap);
            let axes: [usize; 4] = weight.layout().shape().dims();
            gradients.register::<Flex>(node.id, tensor(weight_slope, &axes));
        }
        if let Some(node) = of_bias {
            let bias_slope = sums(numbers(&slope), channels);
            gradients.register::<Flex>(node.id, tensor(bias_slope, &[channels]));
        }
    }
}

/// Kernels that go over boards, a channel each.
#[derive(Clone, Copy, Debug)]
struct Kernels {
    height: usize,
    width: usize,
    channels: usize,
    side: usize,
}

impl Kernels {
    fn new([_, height, width, channels]: [usize; 4], weight: &FloatTensor<Flex>) -> Kernels {
        let [_, _, side, _] = weight.layout().shape().dims();
        Kernels { height, width, channels, side }
    }

    /// Numbers of a position.
    fn position(self) -> usize {
        self.height * self.width * self.channels
    }

    /// Weights `[channels, taps]` as `[taps, channels]`.
    fn by_tap(self, weights: &[f32]) -> Vec<f32> {
        let taps = self.side * self.side;
        let one = |tap: usize| weights.iter().skip(tap).step_by(taps);
        (0..taps).flat_map(one).copied().collect()
    }

    /// The reverse of [`Kernels::by_tap`].
    fn by_channel(self, weights: &[f32]) -> Vec<f32> {
        let one = |channel: usize| weights.iter().skip(channel).step_by(self.channels);
        (0..self.channels).flat_map(one).copied().collect()
    }

    /// Where the channels begin of each square that a tap sees from another, and those of the other.
    fn seen(self, tap: usize) -> impl Iterator<Item = (usize, usize)> {
        let Kernels { height, width, channels, side } = self;
        let along = move |to: usize, by: usize, length: usize| {
            (to + by).checked_sub(side / 2).filter(|&from| from < length)
        };
        let squares = (0..height).flat_map(move |rank| (0..width).map(move |file| (rank, file)));
        squares.filter_map(move |(rank, file)| {
            let from = along(rank, tap / side, height)? * width + along(file, tap % side, width)?;
            Some((from * channels, (rank * width + file) * channels))
        })
    }
}
