//! A network as a list of operations, and its weights laid end to end.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::{NamedTensor, NetworkError};

/// The layer that gives the softened policy.
const SOFT_POLICY: &str = "soft_policy";
/// More weights than any network meant here: a guard against sizes mistyped in a configuration.
pub(super) const MOST_WEIGHTS: usize = 1 << 30;

/// The result of an operation, or the input: an index into the values computed so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value(pub(crate) usize);

/// The input planes, `[batch, planes, height, width]`.
pub(crate) const INPUT: Value = Value(0);

/// What an operation does. Operation `i` of a plan makes `Value(i + 1)`.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// A convolution over the board, its edges padded with zeros so that the board keeps its size.
    Conv { input: Value, layer: Layer, kernel: usize },
    /// A matrix product and a bias, `[batch, inputs]` to `[batch, outputs]`.
    Dense { input: Value, layer: Layer },
    /// `max(x, 0)`.
    Relu(Value),
    /// A sum of two values of one shape.
    Add(Value, Value),
    /// `[batch, channels, height, width]` to `[batch, channels * height * width]`.
    Flatten(Value),
    /// The other way round, to so many channels.
    Board { input: Value, channels: usize },
    /// The mean of each channel over the board, `[batch, channels, 1, 1]`.
    Pool(Value),
    /// `1 / (1 + e^-x)`.
    Sigmoid(Value),
    /// A board, each channel of it times a factor of `[batch, channels, 1, 1]`.
    Scale(Value, Value),
    /// Of each position at two tables two rows, `[batch, 2 + 2 n, ..]` to `[2 batch, 1 + n, ..]`: the
    /// first plane and the n of one table, the first plane and the n of the other. The second plane,
    /// which tells the teams apart, is left out: to both a table is the same.
    Deal { input: Value, planes: usize },
    /// The rows of two tables as one again, `[2 batch, channels / 2, ..]` to `[batch, channels, ..]`.
    Join { input: Value, channels: usize },
}

impl Op {
    /// Its weights, if it has any.
    pub(crate) fn layer(&self) -> Option<&Layer> {
        match self {
            Op::Conv { layer, .. } | Op::Dense { layer, .. } => Some(layer),
            _ => None,
        }
    }

    /// The values that it reads.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = Value> {
        let (first, second) = match *self {
            Op::Conv { input, .. } | Op::Dense { input, .. } => (input, None),
            Op::Relu(input) | Op::Flatten(input) | Op::Pool(input) | Op::Sigmoid(input) => {
                (input, None)
            }
            Op::Board { input, .. } | Op::Deal { input, .. } | Op::Join { input, .. } => {
                (input, None)
            }
            Op::Add(left, right) | Op::Scale(left, right) => (left, Some(right)),
        };
        std::iter::once(first).chain(second)
    }
}

/// The weights of a convolution or dense layer.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) name: String,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    /// Where its weights, and then its biases, start among all weights.
    pub(crate) offset: usize,
    /// Numbers in `weight`.
    pub(crate) len: usize,
}

impl Layer {
    /// Where the weights lie, without the biases.
    pub(crate) fn weight(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.len
    }

    /// Where the biases lie.
    pub(crate) fn bias(&self) -> std::ops::Range<usize> {
        self.offset + self.len..self.offset + self.len + self.outputs
    }
}

/// How a layer's weights start; biases start at zero.
#[derive(Clone, Copy, Debug)]
pub(super) enum Start {
    /// All zero.
    Zero,
    /// Drawn so that a ReLU after it keeps the variance (He et al., 2015), times this factor.
    Scaled(f32),
}

/// A tensor of weights: what it is called, its axes and where it lies among all weights.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) range: std::ops::Range<usize>,
    /// Weight decay pulls at it: weights, but not biases.
    pub(crate) decays: bool,
    start: Start,
}

/// An architecture as operations.
#[derive(Clone, Debug)]
pub(crate) struct GraphIr {
    pub(crate) ops: Vec<Op>,
    /// Policy logits, `[batch, policy]`.
    pub(crate) policy: Value,
    /// Outcome logits, `[batch, outcomes]`.
    pub(crate) outcome: Value,
    /// Moves left before softplus and scale, `[batch, 1]`.
    pub(crate) moves_left: Value,
    /// Logits of the softened policy, `[batch, policy]`, where that is learnt as well.
    pub(crate) soft_policy: Option<Value>,
    pub(crate) parameters: Vec<Parameter>,
}

impl GraphIr {
    /// The plan that `builder` has written, with its policy, outcome and moves left.
    pub(super) fn of(builder: Builder, [policy, outcome, moves_left]: [Value; 3]) -> Self {
        let Builder { ops, parameters, .. } = builder;
        Self { ops, policy, outcome, moves_left, soft_policy: None, parameters }
    }

    /// On how many squares each value lies, the input first: on all of the board's, or on one.
    pub(crate) fn places(&self, squares: usize) -> Vec<usize> {
        let mut places = vec![squares];
        for op in &self.ops {
            let input = op.inputs().next().map_or(1, |value| places[value.0]);
            places.push(match op {
                Op::Pool(_) | Op::Flatten(_) | Op::Dense { .. } => 1,
                Op::Board { .. } => squares,
                _ => input,
            });
        }
        places
    }

    /// How many rows each value has of a position, the input first: one, or one for each of two
    /// tables.
    pub(crate) fn rows(&self) -> Vec<usize> {
        let mut rows = vec![1];
        for op in &self.ops {
            let input = op.inputs().next().map_or(1, |value| rows[value.0]);
            rows.push(match op {
                Op::Deal { .. } => 2,
                Op::Join { .. } => 1,
                _ => input,
            });
        }
        rows
    }

    /// The dense layer at which the rows of two tables meet, as an index of `ops`: what comes before it
    /// is of one table. `None` if there is one row for each position.
    pub(crate) fn meeting(&self) -> Option<usize> {
        let joined = |value: Value| {
            let made_by = |value: Value| value.0.checked_sub(1).map(|index| &self.ops[index]);
            match made_by(value) {
                Some(Op::Flatten(input)) => matches!(made_by(*input), Some(Op::Join { .. })),
                _ => false,
            }
        };
        self.ops.iter().position(|op| matches!(op, Op::Dense { input, .. } if joined(*input)))
    }

    /// Which values depend on what the layer of [`GraphIr::meeting`] gives, the input first.
    pub(crate) fn after_meeting(&self) -> Vec<bool> {
        let met = self.meeting().map(|index| index + 1);
        let mut after = vec![false];
        for op in &self.ops {
            after.push(op.inputs().any(|value| Some(value.0) == met || after[value.0]));
        }
        after
    }

    /// The same with a head for the softened policy, which is there in training only: a second
    /// last layer beside the policy's, of the same sizes. Its parameters come after all others and
    /// start at zero.
    pub(crate) fn with_soft_policy(self) -> Result<Self, NetworkError> {
        let made_by = self.last().clone();
        let laid_out: Vec<Op> = self.laid_out().cloned().collect();
        let weights = self.len();
        let mut builder = Builder { ops: self.ops, parameters: self.parameters, weights };
        let mut soft_policy = match made_by {
            Op::Conv { input, layer: Layer { inputs, outputs, .. }, kernel } => {
                builder.conv(input, SOFT_POLICY, [inputs, outputs], kernel, Start::Zero)?
            }
            Op::Dense { input, layer: Layer { inputs, outputs, .. } } => {
                builder.dense(input, SOFT_POLICY, [inputs, outputs], Start::Zero)?
            }
            other => return Err(refuse(format!("its policy comes of {other:?}"))),
        };
        for op in laid_out {
            soft_policy = builder.push(match op {
                Op::Join { channels, .. } => Op::Join { input: soft_policy, channels },
                _ => Op::Flatten(soft_policy),
            });
        }
        let Builder { ops, parameters, .. } = builder;
        Ok(Self { ops, parameters, soft_policy: Some(soft_policy), ..self })
    }

    /// The layers between the first ones, which read the planes, and the last ones, which make the
    /// heads; of these the ones whose weights are a matrix.
    pub(crate) fn hidden(&self) -> impl Iterator<Item = &Layer> {
        let last: Vec<Value> = self.heads().map(|head| self.reshaped(head)).collect();
        self.ops.iter().enumerate().filter_map(move |(index, op)| match op {
            Op::Conv { input, layer, .. } | Op::Dense { input, layer } => {
                let first = self.reshaped(*input) == INPUT;
                (!first && !last.contains(&Value(index + 1))).then_some(layer)
            }
            _ => None,
        })
    }

    /// The value of which this one is the same numbers in another shape.
    fn reshaped(&self, value: Value) -> Value {
        let made_by = value.0.checked_sub(1).map(|index| &self.ops[index]);
        match made_by {
            Some(Op::Flatten(input) | Op::Board { input, .. }) => self.reshaped(*input),
            Some(Op::Deal { input, .. } | Op::Join { input, .. }) => self.reshaped(*input),
            _ => value,
        }
    }

    /// What makes the policy, aside from giving it its shape: its last layer.
    pub(crate) fn last(&self) -> &Op {
        let shaped = self.laid_out().count();
        &self.ops[self.policy.0 - 1 - shaped]
    }

    /// What gives the policy its shape after its last layer, in the order in which it is done.
    fn laid_out(&self) -> impl Iterator<Item = &Op> + use<'_> {
        let ops = &self.ops[..self.policy.0];
        let lays_out = |op: &&Op| matches!(op, Op::Flatten(_) | Op::Join { .. });
        let shaped = ops.iter().rev().take_while(lays_out).count();
        ops[ops.len() - shaped..].iter()
    }

    /// What comes out: policy, outcome and moves left, and the softened policy if it is learnt.
    pub(crate) fn heads(&self) -> impl Iterator<Item = Value> {
        [self.policy, self.outcome, self.moves_left].into_iter().chain(self.soft_policy)
    }

    /// How many weights there are.
    pub(crate) fn len(&self) -> usize {
        self.parameters.last().map_or(0, |last| last.range.end)
    }

    /// Fresh weights, end to end.
    pub(crate) fn draw(&self, seed: u64) -> Vec<f32> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut weights = vec![0.0; self.len()];
        for parameter in &self.parameters {
            // Uniform, and no transcendental function but a root: the same on every machine.
            if let Start::Scaled(scale) = parameter.start {
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

    /// The axes of the parameter that lies at `range`.
    pub(crate) fn axes(&self, range: &std::ops::Range<usize>) -> &[usize] {
        let found = self.parameters.iter().find(|parameter| parameter.range == *range);
        found.map_or(&[], |parameter| &parameter.shape)
    }

    /// Cuts weights laid end to end into named tensors.
    pub(crate) fn name(&self, weights: &[f32]) -> Vec<NamedTensor> {
        let cut = |parameter: &Parameter| NamedTensor {
            name: parameter.name.clone(),
            shape: parameter.shape.clone(),
            data: weights[parameter.range.clone()].to_vec(),
        };
        self.parameters.iter().map(cut).collect()
    }

    /// Lays named tensors end to end, in this plan's order.
    pub(crate) fn flatten(&self, tensors: &[NamedTensor]) -> Result<Vec<f32>, NetworkError> {
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
            let (name, found) = (name.clone(), tensor.data.len());
            if tensor.shape != *shape {
                let (expected, found) = (shape.clone(), tensor.shape.clone());
                return Err(NetworkError::TensorShape { name, expected, found });
            }
            if found != range.len() {
                return Err(NetworkError::TensorLength { name, expected: range.len(), found });
            }
            if tensor.data.iter().any(|number| !number.is_finite()) {
                return Err(NetworkError::NotFinite(name));
            }
            weights.extend_from_slice(&tensor.data);
        }
        // The first in the order given, so that the message does not depend on hashing.
        match tensors.iter().find(|tensor| left.contains_key(tensor.name.as_str())) {
            Some(tensor) => Err(NetworkError::Unexpected(tensor.name.clone())),
            None => Ok(weights),
        }
    }
}

pub(super) fn refuse(why: String) -> NetworkError {
    NetworkError::Architecture(why)
}

/// A plan being written.
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
        start: Start,
    ) -> Result<Value, NetworkError> {
        let layer = self.layer(name, &[outputs, inputs, kernel, kernel], inputs, outputs, start)?;
        Ok(self.push(Op::Conv { input, layer, kernel }))
    }

    pub(super) fn dense(
        &mut self,
        input: Value,
        name: &str,
        [inputs, outputs]: [usize; 2],
        start: Start,
    ) -> Result<Value, NetworkError> {
        let layer = self.layer(name, &[inputs, outputs], inputs, outputs, start)?;
        Ok(self.push(Op::Dense { input, layer }))
    }

    fn layer(
        &mut self,
        name: &str,
        shape: &[usize],
        inputs: usize,
        outputs: usize,
        start: Start,
    ) -> Result<Layer, NetworkError> {
        let len = shape.iter().try_fold(1usize, |all, &size| all.checked_mul(size));
        let len = match len {
            Some(0) => return Err(refuse(format!("the layer \"{name}\" has a size of zero"))),
            Some(len) if len <= MOST_WEIGHTS - self.weights.min(MOST_WEIGHTS) => len,
            _ => return Err(refuse(format!("the layer \"{name}\" is too large"))),
        };
        let layer = Layer { name: name.into(), inputs, outputs, offset: self.weights, len };
        self.weights = layer.bias().end;
        self.parameters.push(Parameter {
            name: format!("{name}.weight"),
            shape: shape.to_vec(),
            range: layer.weight(),
            decays: true,
            start,
        });
        self.parameters.push(Parameter {
            name: format!("{name}.bias"),
            shape: vec![outputs],
            range: layer.bias(),
            decays: false,
            start: Start::Zero,
        });
        Ok(layer)
    }

    pub(super) fn push(&mut self, op: Op) -> Value {
        self.ops.push(op);
        Value(self.ops.len())
    }
}
