//! A network as an int8 ONNX graph.
//!
//! It is the float graph in which each value is quantised to an unsigned byte and dequantised
//! (`QuantizeLinear`, `DequantizeLinear`), and each weight is a signed byte that is dequantised: ONNX
//! Runtime fuses these nodes into int8 operations. A value has one scale and one zero point, from its range
//! over real positions; weights have a scale for each output; biases are 32-bit integers with the product of
//! both scales, and compensate the mean error of the rounded weights.
//!
//! The outputs stay exact: dense layers give floats, and the convolution that gives the policy is not
//! quantised. It is a small part of the work, and 256 steps over the whole range of logits are coarse for the
//! likely moves.

use super::nodes::Names;
use super::proto::{Attribute, Node, Tensor, TensorKind};
use crate::network::activation_ranges::{ActivationRanges, Range};
use crate::network::graph_ir::{GraphIr, INPUT, LayerWeights, Op, Value};

/// Greatest quantised weight. CPUs without int8 dot products multiply bytes in pairs and add the two products
/// in 16 bits with saturation: `2 * 255 * 64 = 32640` still fits.
pub(super) const MAX_WEIGHT: i8 = 64;

/// Greatest quantised bias, so that sums stay within 32 bits.
const MAX_BIAS: f32 = (1 << 30) as f32;

/// Least scale of weights, so that products of scales stay normal numbers.
const MIN_SCALE: f32 = 1e-12;

/// How a value is quantised: `round(x / scale) + zero`.
#[derive(Clone, Copy, Debug)]
struct Quantiser {
    scale: f32,
    zero: u8,
}

impl Quantiser {
    fn from_range(range: Range) -> Quantiser {
        let scale = (range.max - range.min) / f32::from(u8::MAX);
        if scale < f32::MIN_POSITIVE {
            return Quantiser { scale: 1.0, zero: 0 };
        }
        Quantiser { scale, zero: (-range.min / scale).round() as u8 }
    }
}

/// Returns the nodes and the initializers of the int8 graph of a network, for boards of this height and width.
/// `ranges` has one entry for each value.
pub(super) fn graph(
    network: &GraphIr,
    board: [usize; 2],
    weights: &[f32],
    ranges: &[ActivationRanges],
) -> (Vec<Node>, Vec<Tensor>) {
    let names = Names::new(network);
    let exact = stays_float(&names);
    let quantisers = quantisers(&names, ranges, &exact);
    let mut writer =
        GraphWriter { names, weights, quantisers, nodes: Vec::new(), initializers: Vec::new() };
    let means = |value: Value| &ranges[value.0].means;
    writer.quantise_value(INPUT);
    for (index, op) in network.ops.iter().enumerate() {
        match op {
            Op::Conv { layer, .. } if exact[index + 1] => writer.keep_float(layer),
            Op::Dense { layer, .. }
                if writer.names.joins_at(index)
                    || writer.names.is_after_joining(Value(index + 1)) =>
            {
                writer.keep_float(layer);
            }
            Op::Conv { input, layer, kernel } => {
                let coverage = kernel_coverage(*kernel, board);
                let means = means(*input);
                let mean =
                    |nth: usize| means[nth / coverage.len()] * coverage[nth % coverage.len()];
                writer.quantise_layer(layer, *input, OutputAxis::First, mean);
            }
            Op::Dense { input, layer } => {
                let means = means(*input);
                writer.quantise_layer(layer, *input, OutputAxis::Last, |nth| means[nth]);
            }
            Op::Relu(_) | Op::Add(..) | Op::Flatten(_) => {}
            Op::Board { .. } | Op::Pool(_) | Op::Sigmoid(_) | Op::Scale(..) => {}
            Op::SplitBoards { .. } | Op::JoinBoards { .. } => {}
        }
        let nodes = writer.names.nodes(index, op, |value| writer.read_name(value));
        let has_nodes = !nodes.is_empty();
        writer.nodes.extend(nodes);
        if has_nodes {
            writer.quantise_value(Value(index + 1));
        }
    }
    (writer.nodes, writer.initializers)
}

/// Returns for each weight of a square kernel the share of the squares at which it reads a square, not the
/// padding.
fn kernel_coverage(kernel: usize, [height, width]: [usize; 2]) -> Vec<f32> {
    let share = |length: usize, tap: usize| {
        let beyond = tap.abs_diff(kernel / 2).min(length);
        (length - beyond) as f32 / length as f32
    };
    let weights = (0..kernel).flat_map(|row| (0..kernel).map(move |column| (row, column)));
    weights.map(|(row, column)| share(height, row) * share(width, column)).collect()
}

/// Returns for each value whether it stays a float: the outputs, values that are only reshaped to an output, and
/// the inputs of the layer that reads both boards, which is an output of the ONNX graph.
fn stays_float(names: &Names<'_>) -> Vec<bool> {
    let network = names.graph;
    let mut exact = vec![false; network.ops.len() + 1];
    for head in [network.policy, network.outcome, network.moves_left] {
        exact[head.0] = true;
    }
    for (index, op) in network.ops.iter().enumerate().rev() {
        if let (true, Op::Flatten(input) | Op::JoinBoards { input, .. }) = (exact[index + 1], op) {
            exact[input.0] = true;
        }
    }
    for (index, op) in network.ops.iter().enumerate().filter(|(index, _)| names.joins_at(*index)) {
        exact[index + 1] = true;
        for input in op.inputs() {
            exact[input.0] = true;
        }
    }
    exact
}

/// Returns how each value is quantised; `None` if it stays a float, or is read by ReLU only, which ONNX Runtime
/// fuses with the quantisation.
fn quantisers(
    names: &Names<'_>,
    ranges: &[ActivationRanges],
    exact: &[bool],
) -> Vec<Option<Quantiser>> {
    let network = names.graph;
    let mut relu_only = vec![true; network.ops.len() + 1];
    let computed = |op: &&Op| !matches!(op, Op::SplitBoards { .. } | Op::JoinBoards { .. });
    for op in network.ops.iter().filter(computed) {
        for input in op.inputs() {
            relu_only[names.in_row(input).0] &= matches!(op, Op::Relu(_));
        }
    }
    let quantiser = |at: usize| {
        let quantised = !exact[at] && !relu_only[at];
        quantised.then(|| Quantiser::from_range(ranges[at].range))
    };
    (0..ranges.len()).map(quantiser).collect()
}

/// The axis of the outputs among the axes of the weights of a layer.
#[derive(Clone, Copy)]
enum OutputAxis {
    First,
    Last,
}

/// Writes a graph node by node.
struct GraphWriter<'a> {
    names: Names<'a>,
    weights: &'a [f32],
    quantisers: Vec<Option<Quantiser>>,
    nodes: Vec<Node>,
    initializers: Vec<Tensor>,
}

impl GraphWriter<'_> {
    /// Returns the name under which a value is read.
    fn read_name(&self, value: Value) -> String {
        let value = self.names.in_row(value);
        let name = self.names.of(value);
        if self.quantisers[value.0].is_some() { format!("{name}.rounded") } else { name }
    }

    /// Quantises and dequantises a value, unless it stays a float.
    fn quantise_value(&mut self, value: Value) {
        let Some(Quantiser { scale, zero }) = self.quantisers[value.0] else { return };
        let name = self.names.of(value);
        let [scale_name, zero_name] = [format!("{name}.scale"), format!("{name}.zero")];
        let byte = format!("{name}.byte");
        self.initializers.push(Tensor::floats(&scale_name, &[], &[scale]));
        self.initializers.push(Tensor::new(&zero_name, TensorKind::Uint8, &[], vec![zero]));
        self.nodes.push(Node::new("QuantizeLinear", &[&name, &scale_name, &zero_name], &byte));
        let output = format!("{name}.rounded");
        let input = [byte.as_str(), &scale_name, &zero_name];
        self.nodes.push(Node::new("DequantizeLinear", &input, &output));
    }

    /// Writes the weights of a layer as floats.
    fn keep_float(&mut self, layer: &LayerWeights) {
        for (name, range) in [("weight", layer.weight()), ("bias", layer.bias())] {
            let name = format!("{}.{name}", layer.name);
            let axes = self.names.graph.axes(&range);
            self.initializers.push(Tensor::floats(&name, axes, &self.weights[range]));
        }
    }

    /// Quantises the weights and biases of a layer and dequantises both. The mean error of the rounded weights is
    /// subtracted from the biases (Nagel et al., 2019, section 4.2): `mean` returns the mean input of a weight,
    /// given its index among the weights of its output.
    fn quantise_layer(
        &mut self,
        layer: &LayerWeights,
        input: Value,
        outputs: OutputAxis,
        mean: impl Fn(usize) -> f32,
    ) {
        let weights = &self.weights[layer.weight()];
        let biases = &self.weights[layer.bias()];
        let quantiser = self.quantisers[self.names.in_row(input).0];
        let step = quantiser.map_or(1.0, |quantiser| quantiser.scale);
        let (axis, each) = match outputs {
            OutputAxis::First => (0, weights.len() / layer.outputs),
            OutputAxis::Last => (1, 1),
        };
        let output = |at: usize| at / each % layer.outputs;
        let nth = |at: usize| match outputs {
            OutputAxis::First => at % each,
            OutputAxis::Last => at / layer.outputs,
        };

        // The scale is large enough for the bias, also of an output without weights.
        let least = |bias: &f32| (bias.abs() / MAX_BIAS / step).max(MIN_SCALE);
        let mut scales: Vec<f32> = biases.iter().map(least).collect();
        for (at, weight) in weights.iter().enumerate() {
            let scale = &mut scales[output(at)];
            *scale = scale.max(weight.abs() / f32::from(MAX_WEIGHT));
        }
        let most = f32::from(MAX_WEIGHT);
        let steps = |(at, weight): (usize, &f32)| {
            (weight / scales[output(at)]).round_ties_even().clamp(-most, most)
        };
        let steps: Vec<f32> = weights.iter().enumerate().map(steps).collect();
        let mut biases = biases.to_vec();
        for (at, (weight, steps)) in weights.iter().zip(&steps).enumerate() {
            let output = output(at);
            biases[output] += (weight - steps * scales[output]) * mean(nth(at));
        }
        let bytes = steps.iter().map(|&steps| steps as i8 as u8).collect();
        self.dequantise(layer, "weight", TensorKind::Int8, bytes, &scales, axis);

        for scale in &mut scales {
            *scale *= step;
        }
        let integer = |(bias, scale): (&f32, &f32)| (bias / scale).round_ties_even() as i32;
        let bytes = biases.iter().zip(&scales).map(integer).flat_map(i32::to_le_bytes).collect();
        self.dequantise(layer, "bias", TensorKind::Int32, bytes, &scales, 0);
    }

    /// Writes weights or biases of a layer as integers, and the node that dequantises them with a scale for each
    /// output, along `axis`.
    fn dequantise(
        &mut self,
        layer: &LayerWeights,
        parameter: &str,
        kind: TensorKind,
        bytes: Vec<u8>,
        scales: &[f32],
        axis: i64,
    ) {
        let range = if parameter == "weight" { layer.weight() } else { layer.bias() };
        let axes = self.names.graph.axes(&range);
        let name = format!("{}.{parameter}", layer.name);
        let parts = ["integer", "scale", "zero"].map(|part| format!("{name}.{part}"));
        let zero = vec![0; bytes.len() / range.len() * layer.outputs];
        let [integer, scale, zero_name] = &parts;
        self.initializers.extend([
            Tensor::new(integer, kind, axes, bytes),
            Tensor::floats(scale, &[layer.outputs], scales),
            Tensor::new(zero_name, kind, &[layer.outputs], zero),
        ]);
        self.nodes.push(Node {
            attribute: vec![Attribute::number("axis", axis)],
            ..Node::new("DequantizeLinear", &[integer, scale, zero_name], &name)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_coverage_is_less_at_edges() {
        assert_eq!(kernel_coverage(1, [3, 3]), [1.0]);
        let edge = 7.0 / 8.0;
        let corner = edge * edge;
        let all = [corner, edge, corner, edge, 1.0, edge, corner, edge, corner];
        assert_eq!(kernel_coverage(3, [8, 8]), all);
        assert_eq!(kernel_coverage(3, [8, 1]), [0.0, edge, 0.0, 0.0, 1.0, 0.0, 0.0, edge, 0.0]);
    }
}
