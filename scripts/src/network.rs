//! A policy and value network: its architecture, its named weights and its forward pass.
//!
//! An [`Architecture`] is data. It is spelled out once (`forms`), as a list of operations (`plan`); the
//! weights' names and shapes, the forward pass on burn (`graph`) and the exported ONNX graph are
//! all read off that one list, so they cannot disagree.
//!
//! There is no batch normalisation: the last convolution of a residual block and the last layer of
//! each head start at zero, so a new network is the identity under a uniform policy, and what is
//! trained is exactly what is exported.

pub(crate) mod activation_ranges;
mod architecture;
mod architectures;
mod convolution;
pub(crate) mod graph;
pub(crate) mod graph_ir;
mod net2net;
mod transfer;

pub use architecture::Architecture;

use graph_ir::GraphIr;
use menagerie::encoding::Shape;

pub use menagerie::nn::network::MOVES_LEFT_SCALE;

/// A named tensor of 32-bit floats: all that training, checkpoints and exporters exchange.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedTensor {
    /// The tensor's name, such as `block0.first.weight`.
    pub name: String,
    /// The tensor's axes, outermost first. Convolutions are `[out, in, height, width]`, dense
    /// layers `[in, out]`, biases `[out]`.
    pub shape: Vec<usize>,
    /// The numbers, row by row; as many as the product of `shape`.
    pub data: Vec<f32>,
}

/// Why an architecture, a set of weights or an input was refused.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// A size that is zero, or too large to be meant.
    #[error("the architecture cannot be built: {0}")]
    Architecture(String),
    /// A tensor that the architecture needs is not there.
    #[error("the tensor \"{0}\" is missing")]
    Missing(String),
    /// A tensor that the architecture does not know, or one given twice.
    #[error("the tensor \"{0}\" does not belong to this architecture, or is given twice")]
    Unexpected(String),
    /// A tensor of another shape than the architecture needs.
    #[error("the tensor \"{name}\" has shape {found:?}, but the architecture needs {expected:?}")]
    TensorShape {
        /// The tensor's name.
        name: String,
        /// The shape that the architecture needs.
        expected: Vec<usize>,
        /// The shape that was given.
        found: Vec<usize>,
    },
    /// A tensor with more or fewer numbers than its shape says.
    #[error("the tensor \"{name}\" holds {found} numbers, but its shape asks for {expected}")]
    TensorLength {
        /// The tensor's name.
        name: String,
        /// Numbers that the shape asks for.
        expected: usize,
        /// Numbers that are there.
        found: usize,
    },
    /// A weight that is infinite or not a number.
    #[error("the tensor \"{0}\" holds a number that is not finite")]
    NotFinite(String),
    /// An input that is not a whole number of positions.
    #[error("the input holds {found} numbers, which is no multiple of a position's {expected}")]
    Input {
        /// Numbers in one position.
        expected: usize,
        /// Numbers given.
        found: usize,
    },
}

/// What a network says about a batch of positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs {
    /// Policy logits, `[positions, policy]`.
    pub policy: Vec<f32>,
    /// Outcome logits, `[positions, outcomes]`.
    pub outcome: Vec<f32>,
    /// Turns left in the game, `[positions]`, never negative.
    pub moves_left: Vec<f32>,
}

/// A network: a shape, an architecture and its weights.
#[derive(Clone, Debug)]
pub struct Network {
    shape: Shape,
    architecture: Architecture,
    plan: GraphIr,
    weights: Vec<f32>,
}

impl Network {
    /// A fresh network whose weights are drawn from `seed`; the same seed gives the same weights.
    ///
    /// # Errors
    /// [`NetworkError::Architecture`] if the sizes make no network.
    pub fn new(shape: Shape, architecture: &Architecture, seed: u64) -> Result<Self, NetworkError> {
        let plan = GraphIr::new(shape, architecture)?;
        let weights = plan.draw(seed);
        Ok(Self { shape, architecture: architecture.clone(), plan, weights })
    }

    /// A network with the given weights, in any order.
    ///
    /// # Errors
    /// If the sizes make no network, or if a tensor is missing, unknown, misshapen or not finite.
    pub fn with_tensors(
        shape: Shape,
        architecture: &Architecture,
        tensors: &[NamedTensor],
    ) -> Result<Self, NetworkError> {
        let plan = GraphIr::new(shape, architecture)?;
        let weights = plan.flatten(tensors)?;
        Ok(Self { shape, architecture: architecture.clone(), plan, weights })
    }

    /// The shape of its inputs and outputs.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Its architecture.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// How many weights it has.
    pub fn parameters(&self) -> usize {
        self.weights.len()
    }

    /// A copy of its weights, by name, in the architecture's order.
    pub fn tensors(&self) -> Vec<NamedTensor> {
        self.plan.name(&self.weights)
    }

    /// Evaluates a batch. `planes` is `[positions, planes, height, width]`, flattened.
    ///
    /// # Errors
    /// [`NetworkError::Input`] if `planes` is not a whole number of positions.
    pub fn forward(&self, planes: &[f32]) -> Result<Outputs, NetworkError> {
        let (expected, found) = (self.shape.input(), planes.len());
        if !found.is_multiple_of(expected) {
            return Err(NetworkError::Input { expected, found });
        }
        if planes.is_empty() {
            return Ok(Outputs { policy: vec![], outcome: vec![], moves_left: vec![] });
        }
        Ok(graph::evaluate(&self.plan, self.shape, &self.weights, planes.to_vec()))
    }

    /// The network's parts: its plan, and its weights in one piece in the plan's order.
    pub(crate) fn into_parts(self) -> (GraphIr, Vec<f32>) {
        (self.plan, self.weights)
    }
}

/// `ln(1 + e^x)`, without overflow.
pub(crate) fn softplus(x: f32) -> f32 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { planes: 6, height: 3, width: 4, policy_planes: 4, outcomes: 4 };

    #[test]
    fn a_seed_fixes_the_weights() {
        for architecture in Architecture::small_ones() {
            let of = |seed| Network::new(SHAPE, &architecture, seed).unwrap().tensors();
            assert_eq!(of(1), of(1));
            assert_ne!(of(1), of(2));
        }
    }

    #[test]
    fn a_fresh_network_is_uniform() {
        for architecture in Architecture::small_ones() {
            let network = Network::new(SHAPE, &architecture, 3).unwrap();
            let outputs = network.forward(&vec![0.5; 2 * SHAPE.input()]).unwrap();
            assert_eq!(outputs.policy, vec![0.0; 2 * SHAPE.policy()]);
            assert_eq!(outputs.outcome, vec![0.0; 2 * SHAPE.outcomes]);
            assert_eq!(outputs.moves_left, vec![MOVES_LEFT_SCALE * softplus(0.0); 2]);
        }
    }

    #[test]
    fn tensors_come_back_in_any_order_and_nothing_else_does() {
        for architecture in Architecture::small_ones() {
            let build = |tensors: &[NamedTensor]| {
                Network::with_tensors(SHAPE, &architecture, tensors).map(|n| n.tensors())
            };
            let tensors = Network::new(SHAPE, &architecture, 4).unwrap().tensors();
            let mut turned = tensors.clone();
            turned.reverse();
            assert_eq!(build(&turned).unwrap(), tensors);

            assert!(matches!(build(&tensors[1..]), Err(NetworkError::Missing(_))));
            let mut twice = tensors.clone();
            twice.push(tensors[0].clone());
            assert!(matches!(build(&twice), Err(NetworkError::Unexpected(_))));
            let mut misshapen = tensors.clone();
            misshapen[0].shape.reverse();
            assert!(matches!(build(&misshapen), Err(NetworkError::TensorShape { .. })));
            let mut short = tensors.clone();
            short[0].data.pop();
            assert!(matches!(build(&short), Err(NetworkError::TensorLength { .. })));
            let mut infinite = tensors;
            infinite[0].data[0] = f32::NAN;
            assert!(matches!(build(&infinite), Err(NetworkError::NotFinite(_))));
        }
    }

    #[test]
    fn sizes_that_make_no_network_are_refused() {
        for architecture in [
            Architecture::Residual { blocks: 1, channels: 0, squeeze: 0 },
            Architecture::Residual { blocks: usize::MAX, channels: 64, squeeze: 0 },
            Architecture::Residual { blocks: 1, channels: 64, squeeze: usize::MAX },
            Architecture::Twin { blocks: 1, channels: 0, squeeze: 0 },
            Architecture::Mlp { widths: vec![4, 0], policy_channels: 0 },
            Architecture::Mlp { widths: vec![usize::MAX, usize::MAX], policy_channels: 0 },
            Architecture::Mlp { widths: vec![4], policy_channels: usize::MAX },
        ] {
            let refused = Network::new(SHAPE, &architecture, 0);
            assert!(matches!(refused, Err(NetworkError::Architecture(_))), "{architecture:?}");
        }
    }

    #[test]
    fn twins_are_for_two_tables() {
        let twin = Architecture::Twin { blocks: 1, channels: 4, squeeze: 0 };
        for shape in [
            Shape { planes: 7, ..SHAPE },
            Shape { planes: 2, ..SHAPE },
            Shape { policy_planes: 5, ..SHAPE },
        ] {
            let refused = Network::new(shape, &twin, 0).unwrap_err();
            assert!(refused.to_string().contains("two tables"), "{refused}");
        }
    }

    #[test]
    fn half_a_position_is_refused() {
        let network = Network::new(SHAPE, &Architecture::small_ones()[1], 0).unwrap();
        assert!(matches!(network.forward(&[0.0; 5]), Err(NetworkError::Input { .. })));
        assert!(network.forward(&[]).unwrap().policy.is_empty());
    }
}
