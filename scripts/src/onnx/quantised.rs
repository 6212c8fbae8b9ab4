//! A plan as an ONNX graph that computes in integers of eight bits.
//!
//! The graph is that of floats in which each value is rounded to an unsigned byte and taken back
//! (`QuantizeLinear`, `DequantizeLinear`), and each weight is a signed byte that is taken back: so
//! ONNX Runtime knows what to fuse into operations on bytes. A value has one scale and one zero
//! point, from its range over real positions; weights have a scale for each output; biases are
//! integers of 32 bits in the product of both scales, and take back what rounding the weights adds
//! on average.
//!
//! What makes the outputs stays exact: a dense layer there gives floats, and the convolution that
//! gives the policy is not quantised at all. Its share of the work is small, and 256 steps over the
//! whole range of logits would be coarse among the likely moves.

use super::nodes::Names;
use super::proto::{Attribute, Node, Tensor, TensorKind};
use crate::network::activation_ranges::{ActivationRanges, Range};
use crate::network::graph_ir::{GraphIr, INPUT, Layer, Op, Value};

/// No weight is larger. The CPUs that have no instruction for it multiply bytes in pairs and add
/// the two products in 16 bits, with saturation: `2 * 255 * 64 = 32640` still fits.
pub(super) const LARGEST_WEIGHT: i8 = 64;

/// No bias is larger, so that the sum that it joins stays within 32 bits.
const LARGEST_BIAS: f32 = (1 << 30) as f32;

/// No scale of weights is smaller: products of scales stay normal numbers.
const LEAST_SCALE: f32 = 1e-12;

/// How a value is rounded: `round(x / scale) + zero`.
#[derive(Clone, Copy, Debug)]
struct Rounding {
    scale: f32,
    zero: u8,
}

impl Rounding {
    fn of(range: Range) -> Rounding {
        let scale = (range.most - range.least) / f32::from(u8::MAX);
        if scale < f32::MIN_POSITIVE {
            return Rounding { scale: 1.0, zero: 0 };
        }
        Rounding { scale, zero: (-range.least / scale).round() as u8 }
    }
}

/// The nodes and the initializers of a plan's graph in bytes, for boards of this height and width;
/// `spreads` has one for each value.
pub(super) fn graph(
    plan: &GraphIr,
    board: [usize; 2],
    weights: &[f32],
    spreads: &[ActivationRanges],
) -> (Vec<Node>, Vec<Tensor>) {
    let names = Names::new(plan);
    let exact = exact(&names);
    let roundings = roundings(&names, spreads, &exact);
    let mut writer =
        Writer { names, weights, roundings, nodes: Vec::new(), initializers: Vec::new() };
    let means = |value: Value| &spreads[value.0].means;
    writer.round(INPUT);
    for (index, op) in plan.ops.iter().enumerate() {
        match op {
            Op::Conv { layer, .. } if exact[index + 1] => writer.keep(layer),
            Op::Dense { layer, .. }
                if writer.names.meets_at(index) || writer.names.is_beyond(Value(index + 1)) =>
            {
                writer.keep(layer);
            }
            Op::Conv { input, layer, kernel } => {
                let (taps, means) = (taps(*kernel, board), means(*input));
                let mean = |_, nth: usize| means[nth / taps.len()] * taps[nth % taps.len()];
                writer.quantise(layer, *input, Outputs::First, mean);
            }
            Op::Dense { input, layer } => {
                let means = means(*input);
                writer.quantise(layer, *input, Outputs::Last, |_, nth| means[nth]);
            }
            Op::Relu(_) | Op::Add(..) | Op::Flatten(_) => {}
            Op::Board { .. } | Op::Pool(_) | Op::Sigmoid(_) | Op::Scale(..) => {}
            Op::Deal { .. } | Op::Join { .. } => {}
        }
        let nodes = writer.names.nodes(index, op, |value| writer.rounded(value));
        let made = !nodes.is_empty();
        writer.nodes.extend(nodes);
        if made {
            writer.round(Value(index + 1));
        }
    }
    (writer.nodes, writer.initializers)
}

/// For each weight of a square kernel the share of the squares on which it meets another one, not
/// the edge.
fn taps(kernel: usize, [height, width]: [usize; 2]) -> Vec<f32> {
    let met = |length: usize, tap: usize| {
        let beyond = tap.abs_diff(kernel / 2).min(length);
        (length - beyond) as f32 / length as f32
    };
    let taps = (0..kernel).flat_map(|row| (0..kernel).map(move |column| (row, column)));
    taps.map(|(row, column)| met(height, row) * met(width, column)).collect()
}

/// Which values stay floats: the outputs, what is only laid out anew to make one, and what the layer reads
/// at which two tables meet, which makes an output, too.
fn exact(names: &Names<'_>) -> Vec<bool> {
    let plan = names.plan;
    let mut exact = vec![false; plan.ops.len() + 1];
    for head in [plan.policy, plan.outcome, plan.moves_left] {
        exact[head.0] = true;
    }
    for (index, op) in plan.ops.iter().enumerate().rev() {
        if let (true, Op::Flatten(input) | Op::Join { input, .. }) = (exact[index + 1], op) {
            exact[input.0] = true;
        }
    }
    for (index, op) in plan.ops.iter().enumerate().filter(|(index, _)| names.meets_at(*index)) {
        exact[index + 1] = true;
        op.inputs().for_each(|input| exact[input.0] = true);
    }
    exact
}

/// How each value is rounded; `None` where it is not, be it exact, or cut by a ReLU first, which ONNX
/// Runtime then makes part of the rounding.
fn roundings(
    names: &Names<'_>,
    spreads: &[ActivationRanges],
    exact: &[bool],
) -> Vec<Option<Rounding>> {
    let plan = names.plan;
    let mut cut = vec![true; plan.ops.len() + 1];
    let computed = |op: &&Op| !matches!(op, Op::Deal { .. } | Op::Join { .. });
    for op in plan.ops.iter().filter(computed) {
        for input in op.inputs() {
            cut[names.in_row(input).0] &= matches!(op, Op::Relu(_));
        }
    }
    let rounding = |at: usize| (!exact[at] && !cut[at]).then(|| Rounding::of(spreads[at].range));
    (0..spreads.len()).map(rounding).collect()
}

/// Where a layer's weights have their outputs.
#[derive(Clone, Copy)]
enum Outputs {
    First,
    Last,
}

/// A graph being written.
struct Writer<'a> {
    names: Names<'a>,
    weights: &'a [f32],
    roundings: Vec<Option<Rounding>>,
    nodes: Vec<Node>,
    initializers: Vec<Tensor>,
}

impl Writer<'_> {
    /// What readers of a value read.
    fn rounded(&self, value: Value) -> String {
        let value = self.names.in_row(value);
        let name = self.names.of(value);
        if self.roundings[value.0].is_some() { format!("{name}.rounded") } else { name }
    }

    /// Rounds a value, unless it stays as it is.
    fn round(&mut self, value: Value) {
        let Some(Rounding { scale, zero }) = self.roundings[value.0] else { return };
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

    /// Keeps a layer's weights as floats.
    fn keep(&mut self, layer: &Layer) {
        for (name, range) in [("weight", layer.weight()), ("bias", layer.bias())] {
            let name = format!("{}.{name}", layer.name);
            let axes = self.names.plan.axes(&range);
            self.initializers.push(Tensor::floats(&name, axes, &self.weights[range]));
        }
    }

    /// Makes a layer's weights bytes and its biases integers, and takes both back. What rounding the
    /// weights adds on average is taken from the biases (Nagel et al., 2019, section 4.2): `mean` is
    /// what a weight is multiplied by on average, given its output and its place among the weights of
    /// that output.
    fn quantise(
        &mut self,
        layer: &Layer,
        input: Value,
        outputs: Outputs,
        mean: impl Fn(usize, usize) -> f32,
    ) {
        let (weights, biases) = (&self.weights[layer.weight()], &self.weights[layer.bias()]);
        let rounding = self.roundings[self.names.in_row(input).0];
        let step = rounding.map_or(1.0, |rounding| rounding.scale);
        let (axis, each) = match outputs {
            Outputs::First => (0, weights.len() / layer.outputs),
            Outputs::Last => (1, 1),
        };
        let output = |at: usize| at / each % layer.outputs;
        let nth = |at: usize| match outputs {
            Outputs::First => at % each,
            Outputs::Last => at / layer.outputs,
        };

        // An output without weights has a scale, too, and one in which its bias fits.
        let least = |bias: &f32| (bias.abs() / LARGEST_BIAS / step).max(LEAST_SCALE);
        let mut scales: Vec<f32> = biases.iter().map(least).collect();
        for (at, weight) in weights.iter().enumerate() {
            let scale = &mut scales[output(at)];
            *scale = scale.max(weight.abs() / f32::from(LARGEST_WEIGHT));
        }
        let most = f32::from(LARGEST_WEIGHT);
        let steps = |(at, weight): (usize, &f32)| {
            (weight / scales[output(at)]).round_ties_even().clamp(-most, most)
        };
        let steps: Vec<f32> = weights.iter().enumerate().map(steps).collect();
        let mut biases = biases.to_vec();
        for (at, (weight, steps)) in weights.iter().zip(&steps).enumerate() {
            let output = output(at);
            biases[output] += (weight - steps * scales[output]) * mean(output, nth(at));
        }
        let bytes = steps.iter().map(|&steps| steps as i8 as u8).collect();
        self.take_back(layer, "weight", TensorKind::Int8, bytes, &scales, axis);

        scales.iter_mut().for_each(|scale| *scale *= step);
        let integer = |(bias, scale): (&f32, &f32)| (bias / scale).round_ties_even() as i32;
        let bytes = biases.iter().zip(&scales).map(integer).flat_map(i32::to_le_bytes).collect();
        self.take_back(layer, "bias", TensorKind::Int32, bytes, &scales, 0);
    }

    /// Writes numbers of a layer as integers, with what makes floats of them again: a scale for
    /// each output, which lie along `axis`.
    fn take_back(
        &mut self,
        layer: &Layer,
        parameter: &str,
        kind: TensorKind,
        bytes: Vec<u8>,
        scales: &[f32],
        axis: i64,
    ) {
        let range = if parameter == "weight" { layer.weight() } else { layer.bias() };
        let axes = self.names.plan.axes(&range);
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
    fn outer_weights_of_a_kernel_meet_fewer_squares() {
        assert_eq!(taps(1, [3, 3]), [1.0]);
        let edge = 7.0 / 8.0;
        let corner = edge * edge;
        let all = [corner, edge, corner, edge, 1.0, edge, corner, edge, corner];
        assert_eq!(taps(3, [8, 8]), all);
        assert_eq!(taps(3, [8, 1]), [0.0, edge, 0.0, 0.0, 1.0, 0.0, 0.0, edge, 0.0]);
    }
}
