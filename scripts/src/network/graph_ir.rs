//! A network as a list of operations, and its weights end to end.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::{NamedTensor, NetworkError};

/// Name of the layer that gives the soft policy.
const SOFT_POLICY: &str = "soft_policy";
/// Greatest number of weights: a guard against typing errors in a configuration.
pub(super) const MAX_WEIGHTS: usize = 1 << 30;

/// The result of an operation, or the input: an index into the values computed so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value(pub(crate) usize);

/// The input planes, `[batch, planes, height, width]`.
pub(crate) const INPUT: Value = Value(0);

/// An operation. Operation `i` of a graph gives `Value(i + 1)`.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// A convolution over the board, its edges padded with zeros so that the board keeps its size.
    Conv { input: Value, layer: LayerWeights, kernel: usize },
    /// A matrix product and a bias, `[batch, inputs]` to `[batch, outputs]`.
    Dense { input: Value, layer: LayerWeights },
    /// `max(x, 0)`.
    Relu(Value),
    /// A sum of two values of one shape.
    Add(Value, Value),
    /// `[batch, channels, height, width]` to `[batch, channels * height * width]`.
    Flatten(Value),
    /// `[batch, channels * height * width]` to `[batch, channels, height, width]`.
    Board { input: Value, channels: usize },
    /// The mean of each channel over the board, `[batch, channels, 1, 1]`.
    Pool(Value),
    /// `1 / (1 + e^-x)`.
    Sigmoid(Value),
    /// A board, each channel of which is multiplied by a factor of `[batch, channels, 1, 1]`.
    Scale(Value, Value),
    /// Two rows for each bughouse position, `[batch, 2 + 2 n, ..]` to `[2 batch, 1 + n, ..]`: the first plane
    /// and the n planes of one board, then the first plane and the n planes of the other. The second plane,
    /// which marks the team, is left out, so that both boards look the same.
    SplitBoards { input: Value, planes: usize },
    /// Joins the rows of the two boards, `[2 batch, channels / 2, ..]` to `[batch, channels, ..]`.
    JoinBoards { input: Value, channels: usize },
}

impl Op {
    /// Its weights, if it has any.
    pub(crate) fn layer(&self) -> Option<&LayerWeights> {
        match self {
            Op::Conv { layer, .. } | Op::Dense { layer, .. } => Some(layer),
            _ => None,
        }
    }

    /// Returns the values that it reads.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = Value> {
        let (first, second) = match *self {
            Op::Conv { input, .. } | Op::Dense { input, .. } => (input, None),
            Op::Relu(input) | Op::Flatten(input) | Op::Pool(input) | Op::Sigmoid(input) => {
                (input, None)
            }
            Op::Board { input, .. }
            | Op::SplitBoards { input, .. }
            | Op::JoinBoards { input, .. } => (input, None),
            Op::Add(left, right) | Op::Scale(left, right) => (left, Some(right)),
        };
        std::iter::once(first).chain(second)
    }
}

/// The weights of a convolution or dense layer among all weights.
#[derive(Clone, Debug)]
pub(crate) struct LayerWeights {
    pub(crate) name: String,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    /// Index of the first of its weights, which its biases follow, among all weights.
    pub(crate) offset: usize,
    /// The number of weights without biases.
    pub(crate) len: usize,
}

impl LayerWeights {
    /// The range of the weights without the biases.
    pub(crate) fn weight(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.len
    }

    /// The range of the biases.
    pub(crate) fn bias(&self) -> std::ops::Range<usize> {
        self.offset + self.len..self.offset + self.len + self.outputs
    }
}

/// How the weights of a layer are initialised; biases are initialised to zero.
#[derive(Clone, Copy, Debug)]
pub(super) enum WeightInit {
    /// All zero.
    Zero,
    /// He initialisation (He et al., 2015), times this factor.
    Scaled(f32),
}

/// A tensor of weights: its name, its axes and its range among all weights.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) range: std::ops::Range<usize>,
    /// Whether it has weight decay: weights have, biases have not.
    pub(crate) decays: bool,
    init: WeightInit,
}

/// An architecture as a list of operations.
#[derive(Clone, Debug)]
pub(crate) struct GraphIr {
    pub(crate) ops: Vec<Op>,
    /// Policy logits, `[batch, policy]`.
    pub(crate) policy: Value,
    /// Outcome logits, `[batch, outcomes]`.
    pub(crate) outcome: Value,
    /// Moves left before softplus and scale, `[batch, 1]`.
    pub(crate) moves_left: Value,
    /// Logits of the soft policy, `[batch, policy]`, if it is a target.
    pub(crate) soft_policy: Option<Value>,
    pub(crate) parameters: Vec<Parameter>,
}

impl GraphIr {
    /// Returns the graph that `builder` has built, with its policy, outcome and moves left.
    pub(super) fn from_builder(
        builder: Builder,
        [policy, outcome, moves_left]: [Value; 3],
    ) -> Self {
        let Builder { ops, parameters, .. } = builder;
        Self { ops, policy, outcome, moves_left, soft_policy: None, parameters }
    }

    /// Returns the number of squares of each value, the input first: all squares of the board, or one.
    pub(crate) fn squares_of_values(&self, squares: usize) -> Vec<usize> {
        let mut squares_of = vec![squares];
        for op in &self.ops {
            let input = op.inputs().next().map_or(1, |value| squares_of[value.0]);
            squares_of.push(match op {
                Op::Pool(_) | Op::Flatten(_) | Op::Dense { .. } => 1,
                Op::Board { .. } => squares,
                _ => input,
            });
        }
        squares_of
    }

    /// Returns the number of rows of each value for a position, the input first: one, or one for each of two
    /// boards.
    pub(crate) fn rows(&self) -> Vec<usize> {
        let mut rows = vec![1];
        for op in &self.ops {
            let input = op.inputs().next().map_or(1, |value| rows[value.0]);
            rows.push(match op {
                Op::SplitBoards { .. } => 2,
                Op::JoinBoards { .. } => 1,
                _ => input,
            });
        }
        rows
    }

    /// Returns the index in `ops` of the dense layer that reads both boards; the operations before it are of one
    /// board. `None` if there is one row for each position.
    pub(crate) fn joining_layer(&self) -> Option<usize> {
        let joined = |value: Value| {
            let made_by = |value: Value| value.0.checked_sub(1).map(|index| &self.ops[index]);
            match made_by(value) {
                Some(Op::Flatten(input)) => matches!(made_by(*input), Some(Op::JoinBoards { .. })),
                _ => false,
            }
        };
        self.ops.iter().position(|op| matches!(op, Op::Dense { input, .. } if joined(*input)))
    }

    /// Returns for each value, the input first, whether it depends on [`GraphIr::joining_layer`].
    pub(crate) fn after_joining(&self) -> Vec<bool> {
        let joining = self.joining_layer().map(|index| index + 1);
        let mut after = vec![false];
        for op in &self.ops {
            after.push(op.inputs().any(|value| Some(value.0) == joining || after[value.0]));
        }
        after
    }

    /// Returns this graph with a head for the soft policy, which exists in training only: another last layer
    /// with the sizes of that of the policy. Its parameters come after all others and are initialised to zero.
    pub(crate) fn with_soft_policy(self) -> Result<Self, NetworkError> {
        let last_layer = self.last_layer().clone();
        let shape_ops: Vec<Op> = self.shape_ops().cloned().collect();
        let weights = self.len();
        let mut builder = Builder { ops: self.ops, parameters: self.parameters, weights };
        let mut soft_policy = match last_layer {
            Op::Conv { input, layer: LayerWeights { inputs, outputs, .. }, kernel } => {
                builder.conv(input, SOFT_POLICY, [inputs, outputs], kernel, WeightInit::Zero)?
            }
            Op::Dense { input, layer: LayerWeights { inputs, outputs, .. } } => {
                builder.dense(input, SOFT_POLICY, [inputs, outputs], WeightInit::Zero)?
            }
            other => return Err(architecture_error(format!("its policy comes from {other:?}"))),
        };
        for op in shape_ops {
            soft_policy = builder.push(match op {
                Op::JoinBoards { channels, .. } => Op::JoinBoards { input: soft_policy, channels },
                _ => Op::Flatten(soft_policy),
            });
        }
        let Builder { ops, parameters, .. } = builder;
        Ok(Self { ops, parameters, soft_policy: Some(soft_policy), ..self })
    }

    /// The layers that neither read the planes nor give a head.
    pub(crate) fn hidden_layers(&self) -> impl Iterator<Item = &LayerWeights> {
        let last: Vec<Value> = self.heads().map(|head| self.before_reshape(head)).collect();
        self.ops.iter().enumerate().filter_map(move |(index, op)| match op {
            Op::Conv { input, layer, .. } | Op::Dense { input, layer } => {
                let first = self.before_reshape(*input) == INPUT;
                (!first && !last.contains(&Value(index + 1))).then_some(layer)
            }
            _ => None,
        })
    }

    /// Returns the value of which this one is a reshaped copy.
    fn before_reshape(&self, value: Value) -> Value {
        let made_by = value.0.checked_sub(1).map(|index| &self.ops[index]);
        match made_by {
            Some(Op::Flatten(input) | Op::Board { input, .. }) => self.before_reshape(*input),
            Some(Op::SplitBoards { input, .. } | Op::JoinBoards { input, .. }) => {
                self.before_reshape(*input)
            }
            _ => value,
        }
    }

    /// The last layer of the policy.
    pub(crate) fn last_layer(&self) -> &Op {
        let shaped = self.shape_ops().count();
        &self.ops[self.policy.0 - 1 - shaped]
    }

    /// The operations that reshape the policy after its last layer, in order.
    fn shape_ops(&self) -> impl Iterator<Item = &Op> + use<'_> {
        let ops = &self.ops[..self.policy.0];
        let reshapes = |op: &&Op| matches!(op, Op::Flatten(_) | Op::JoinBoards { .. });
        let shaped = ops.iter().rev().take_while(reshapes).count();
        ops[ops.len() - shaped..].iter()
    }

    /// The heads: policy, outcome and moves left, and the soft policy if it is a target.
    pub(crate) fn heads(&self) -> impl Iterator<Item = Value> {
        [self.policy, self.outcome, self.moves_left].into_iter().chain(self.soft_policy)
    }

    /// The number of weights.
    pub(crate) fn len(&self) -> usize {
        self.parameters.last().map_or(0, |last| last.range.end)
    }

    /// Returns initial weights drawn from `seed`, end to end.
    pub(crate) fn draw_weights(&self, seed: u64) -> Vec<f32> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut weights = vec![0.0; self.len()];
        for parameter in &self.parameters {
            // A uniform distribution needs no transcendental function: it is the same on every machine.
            if let WeightInit::Scaled(scale) = parameter.init {
                let outputs = if parameter.shape.len() == 4 { 0 } else { 1 };
                let fan_in: usize = parameter.shape.iter().product::<usize>()
                    / parameter.shape.get(outputs).copied().unwrap_or(1);
                let bound = scale * (6.0 / fan_in as f32).sqrt();
                for weight in &mut weights[parameter.range.clone()] {
                    *weight = bound * (2.0 * random.random::<f32>() - 1.0);
                }
            }
        }
        weights
    }

    /// Returns the axes of the parameter of this range.
    pub(crate) fn axes(&self, range: &std::ops::Range<usize>) -> &[usize] {
        let found = self.parameters.iter().find(|parameter| parameter.range == *range);
        found.map_or(&[], |parameter| &parameter.shape)
    }

    /// Returns weights end to end as named tensors.
    pub(crate) fn name_tensors(&self, weights: &[f32]) -> Vec<NamedTensor> {
        let cut = |parameter: &Parameter| NamedTensor {
            name: parameter.name.clone(),
            shape: parameter.shape.clone(),
            data: weights[parameter.range.clone()].to_vec(),
        };
        self.parameters.iter().map(cut).collect()
    }

    /// Returns the weights of named tensors end to end, in the order of this graph.
    ///
    /// # Errors
    /// If a tensor is missing, unknown, of another shape or not finite.
    pub(crate) fn concat_tensors(&self, tensors: &[NamedTensor]) -> Result<Vec<f32>, NetworkError> {
        let mut left: std::collections::HashMap<&str, &NamedTensor> = Default::default();
        for tensor in tensors {
            if left.insert(&tensor.name, tensor).is_some() {
                return Err(NetworkError::Unexpected(tensor.name.clone()));
            }
        }
        let mut weights = Vec::with_capacity(self.len());
        for Parameter { name, shape, range, .. } in &self.parameters {
            let Some(tensor) = left.remove(name.as_str()) else {
                return Err(NetworkError::Missing(name.clone()));
            };
            let name = name.clone();
            if tensor.shape != *shape {
                let expected = shape.clone();
                let found = tensor.shape.clone();
                return Err(NetworkError::TensorShape { name, expected, found });
            }
            if tensor.data.len() != range.len() {
                let expected = range.len();
                let found = tensor.data.len();
                return Err(NetworkError::TensorLength { name, expected, found });
            }
            if tensor.data.iter().any(|number| !number.is_finite()) {
                return Err(NetworkError::NotFinite(name));
            }
            weights.extend_from_slice(&tensor.data);
        }
        // The first in the given order, so that the message does not depend on hashing.
        match tensors.iter().find(|tensor| left.contains_key(tensor.name.as_str())) {
            Some(tensor) => Err(NetworkError::Unexpected(tensor.name.clone())),
            None => Ok(weights),
        }
    }
}

pub(super) fn architecture_error(why: String) -> NetworkError {
    NetworkError::Architecture(why)
}

/// Builds a graph operation by operation.
#[derive(Default)]
pub(super) struct Builder {
    ops: Vec<Op>,
    parameters: Vec<Parameter>,
    weights: usize,
}

impl Builder {
    pub(super) fn conv(
        &mut self,
        input: Value,
        name: &str,
        [inputs, outputs]: [usize; 2],
        kernel: usize,
        init: WeightInit,
    ) -> Result<Value, NetworkError> {
        let layer = self.layer(name, &[outputs, inputs, kernel, kernel], inputs, outputs, init)?;
        Ok(self.push(Op::Conv { input, layer, kernel }))
    }

    pub(super) fn dense(
        &mut self,
        input: Value,
        name: &str,
        [inputs, outputs]: [usize; 2],
        init: WeightInit,
    ) -> Result<Value, NetworkError> {
        let layer = self.layer(name, &[inputs, outputs], inputs, outputs, init)?;
        Ok(self.push(Op::Dense { input, layer }))
    }

    fn layer(
        &mut self,
        name: &str,
        shape: &[usize],
        inputs: usize,
        outputs: usize,
        init: WeightInit,
    ) -> Result<LayerWeights, NetworkError> {
        let len = shape.iter().try_fold(1usize, |all, &size| all.checked_mul(size));
        let len = match len {
            Some(0) => {
                return Err(architecture_error(format!("the layer \"{name}\" has a size of zero")));
            }
            Some(len) if len <= MAX_WEIGHTS - self.weights.min(MAX_WEIGHTS) => len,
            _ => return Err(architecture_error(format!("the layer \"{name}\" is too large"))),
        };
        let layer = LayerWeights { name: name.into(), inputs, outputs, offset: self.weights, len };
        self.weights = layer.bias().end;
        self.parameters.push(Parameter {
            name: format!("{name}.weight"),
            shape: shape.to_vec(),
            range: layer.weight(),
            decays: true,
            init,
        });
        self.parameters.push(Parameter {
            name: format!("{name}.bias"),
            shape: vec![outputs],
            range: layer.bias(),
            decays: false,
            init: WeightInit::Zero,
        });
        Ok(layer)
    }

    pub(super) fn push(&mut self, op: Op) -> Value {
        self.ops.push(op);
        Value(self.ops.len())
    }
}
