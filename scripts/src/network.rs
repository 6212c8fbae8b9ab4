//! Convolution networks: architecture, named weights and forward pass.
//!
//! An [`Architecture`] is data. `build` makes one list of operations of it (`graph_ir`), from which the names
//! and shapes of the weights, the forward pass on burn (`graph`) and the exported ONNX graph are derived.
//!
//! There is no batch normalisation: the last convolution of a residual block and the last layer of each head
//! are initialised to zero, so that the blocks of a new network are the identity and its policy is uniform,
//! and the trained network is exactly the exported one.

pub(crate) mod activation_ranges;
mod architecture;
mod build;
mod convolution;
pub(crate) mod graph;
pub(crate) mod graph_ir;
mod net2net;
mod transfer;

pub use architecture::Architecture;

use graph_ir::GraphIr;
use menagerie::encoding::Shape;

pub use menagerie::nn::network::MOVES_LEFT_SCALE;

/// A named tensor of 32-bit floats.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedTensor {
    /// The tensor's name, such as `block0.first.weight`.
    pub name: String,
    /// The tensor's axes, outermost first. Convolutions are `[out, in, height, width]`, dense
    /// layers `[in, out]`, biases `[out]`.
    pub shape: Vec<usize>,
    /// The numbers, row by row.
    pub data: Vec<f32>,
}

/// Why an architecture, a set of weights or an input is invalid.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// A size that is zero or too large.
    #[error("invalid architecture: {0}")]
    Architecture(String),
    /// A tensor of the architecture is missing.
    #[error("missing tensor \"{0}\"")]
    Missing(String),
    /// A tensor that is not one of the architecture, or occurs twice.
    #[error("tensor \"{0}\" is not one of this architecture or occurs twice")]
    Unexpected(String),
    /// A tensor with another shape than that of the architecture.
    #[error("tensor \"{name}\" has shape {found:?}, expected {expected:?}")]
    TensorShape {
        /// The tensor's name.
        name: String,
        /// The shape of the architecture.
        expected: Vec<usize>,
        /// The shape of the tensor.
        found: Vec<usize>,
    },
    /// A tensor whose number of numbers does not fit its shape.
    #[error("tensor \"{name}\" has {found} numbers, expected {expected}")]
    TensorLength {
        /// The tensor's name.
        name: String,
        /// The product of its shape.
        expected: usize,
        /// The number of its numbers.
        found: usize,
    },
    /// A weight that is infinite or not a number.
    #[error("tensor \"{0}\" has a number that is not finite")]
    NotFinite(String),
    /// An input that is not a whole number of positions.
    #[error("the input has {found} numbers, expected a multiple of {expected} (one position)")]
    Input {
        /// The number of numbers of a position.
        expected: usize,
        /// The number of numbers of the input.
        found: usize,
    },
}

/// The outputs of a network for a batch of positions.
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
    graph: GraphIr,
    weights: Vec<f32>,
}

impl Network {
    /// Returns a network with random weights drawn from `seed`; the same seed gives the same weights.
    ///
    /// # Errors
    /// [`NetworkError::Architecture`] if a size is zero or too large.
    pub fn new(shape: Shape, architecture: &Architecture, seed: u64) -> Result<Self, NetworkError> {
        let graph = GraphIr::new(shape, architecture)?;
        let weights = graph.draw_weights(seed);
        Ok(Self { shape, architecture: architecture.clone(), graph, weights })
    }

    /// Returns a network with the given weights, in any order.
    ///
    /// # Errors
    /// If a size is zero or too large, or a tensor is missing, unknown, of another shape or not finite.
    pub fn with_tensors(
        shape: Shape,
        architecture: &Architecture,
        tensors: &[NamedTensor],
    ) -> Result<Self, NetworkError> {
        let graph = GraphIr::new(shape, architecture)?;
        let weights = graph.concat_tensors(tensors)?;
        Ok(Self { shape, architecture: architecture.clone(), graph, weights })
    }

    /// The shape of its inputs and outputs.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Its architecture.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The number of its weights.
    pub fn parameters(&self) -> usize {
        self.weights.len()
    }

    /// Returns a copy of its weights as named tensors, in the order of the graph.
    pub fn tensors(&self) -> Vec<NamedTensor> {
        self.graph.name_tensors(&self.weights)
    }

    /// Evaluates a batch. `planes` is `[positions, planes, height, width]`, flattened.
    ///
    /// # Errors
    /// [`NetworkError::Input`] if `planes` is not a whole number of positions.
    pub fn forward(&self, planes: &[f32]) -> Result<Outputs, NetworkError> {
        let expected = self.shape.input();
        let found = planes.len();
        if !found.is_multiple_of(expected) {
            return Err(NetworkError::Input { expected, found });
        }
        if planes.is_empty() {
            return Ok(Outputs { policy: vec![], outcome: vec![], moves_left: vec![] });
        }
        Ok(graph::evaluate(&self.graph, self.shape, &self.weights, planes.to_vec()))
    }

    /// Returns the graph, and the weights end to end in its order.
    pub(crate) fn into_parts(self) -> (GraphIr, Vec<f32>) {
        (self.graph, self.weights)
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
    fn new_depends_on_seed() {
        for architecture in Architecture::small_ones() {
            let tensors = |seed| Network::new(SHAPE, &architecture, seed).unwrap().tensors();
            assert_eq!(tensors(1), tensors(1));
            assert_ne!(tensors(1), tensors(2));
        }
    }

    #[test]
    fn new_network_is_uniform() {
        for architecture in Architecture::small_ones() {
            let network = Network::new(SHAPE, &architecture, 3).unwrap();
            let outputs = network.forward(&vec![0.5; 2 * SHAPE.input()]).unwrap();
            assert_eq!(outputs.policy, vec![0.0; 2 * SHAPE.policy()]);
            assert_eq!(outputs.outcome, vec![0.0; 2 * SHAPE.outcomes]);
            assert_eq!(outputs.moves_left, vec![MOVES_LEFT_SCALE * softplus(0.0); 2]);
        }
    }

    #[test]
    fn with_tensors_accepts_any_order_and_refuses_other_tensors() {
        for architecture in Architecture::small_ones() {
            let build = |tensors: &[NamedTensor]| {
                Network::with_tensors(SHAPE, &architecture, tensors).map(|n| n.tensors())
            };
            let tensors = Network::new(SHAPE, &architecture, 4).unwrap().tensors();
            let mut reversed = tensors.clone();
            reversed.reverse();
            assert_eq!(build(&reversed).unwrap(), tensors);

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
    fn new_refuses_invalid_sizes() {
        for architecture in [
            Architecture::Residual { blocks: 1, channels: 0, squeeze: 0 },
            Architecture::Residual { blocks: usize::MAX, channels: 64, squeeze: 0 },
            Architecture::Residual { blocks: 1, channels: 64, squeeze: usize::MAX },
            Architecture::TwoBoards { blocks: 1, channels: 0, squeeze: 0 },
            Architecture::Mlp { widths: vec![4, 0], policy_channels: 0 },
            Architecture::Mlp { widths: vec![usize::MAX, usize::MAX], policy_channels: 0 },
            Architecture::Mlp { widths: vec![4], policy_channels: usize::MAX },
        ] {
            let refused = Network::new(SHAPE, &architecture, 0);
            assert!(matches!(refused, Err(NetworkError::Architecture(_))), "{architecture:?}");
        }
    }

    #[test]
    fn two_board_networks_need_two_boards() {
        let architecture = Architecture::TwoBoards { blocks: 1, channels: 4, squeeze: 0 };
        for shape in [
            Shape { planes: 7, ..SHAPE },
            Shape { planes: 2, ..SHAPE },
            Shape { policy_planes: 5, ..SHAPE },
        ] {
            let refused = Network::new(shape, &architecture, 0).unwrap_err();
            assert!(refused.to_string().contains("two boards"), "{refused}");
        }
    }

    #[test]
    fn forward_refuses_incomplete_positions() {
        let network = Network::new(SHAPE, &Architecture::small_ones()[1], 0).unwrap();
        assert!(matches!(network.forward(&[0.0; 5]), Err(NetworkError::Input { .. })));
        assert!(network.forward(&[]).unwrap().policy.is_empty());
    }
}
