//! Training of a convolution network: gradient steps on batches of samples, and checkpoints.
//!
//! A [`Learner`] holds the weights, their moving average and the moments of the optimizer as flat slices.
//! burn differentiates the network only. The losses and their gradients (`loss`) and the optimizer
//! (`optimizer`) are closed forms in plain Rust, so that the policy loss reads legal moves only and a
//! checkpoint is a few slices (`checkpoint`).

mod adamw;
mod checkpoint;
mod loss;
mod muon;
mod optimizer;
mod sample;

pub use checkpoint::CheckpointError;
pub use optimizer::Optimizer;
pub use sample::{SampleError, TrainingSample};

use std::borrow::Borrow;

use menagerie::encoding::Shape;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::network::graph_ir::GraphIr;
use crate::network::{Architecture, NamedTensor, Network, NetworkError, graph};
use crate::store::{Store, StoreError};
use loss::LossSums;
use optimizer::{Moments, ParameterGroup};

/// The configuration of a [`Learner`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LearnerConfig {
    /// The optimizer.
    pub optimizer: Optimizer,
    /// Learning rate after the warm-up.
    pub learning_rate: f32,
    /// Steps over which the learning rate rises linearly from 0.
    pub warm_up_steps: u64,
    /// Decoupled weight decay. Each step multiplies weights, but not biases, by 1 minus this times the learning
    /// rate.
    pub weight_decay: f32,
    /// Greatest Euclidean norm of the gradient over all weights. Larger gradients are scaled to it; it may be
    /// infinite.
    pub gradient_clip: f32,
    /// Weight of the policy's cross-entropy in the loss.
    pub policy_weight: f32,
    /// Weight of the outcome's cross-entropy in the loss.
    pub outcome_weight: f32,
    /// Weight of the moves-left loss.
    pub moves_left_weight: f32,
    /// Weight of the auxiliary soft policy's cross-entropy; 0 for none. It is KataGo's soft policy target, and
    /// has a last layer of its own, which is in checkpoints but not in exported networks.
    pub soft_policy_weight: f32,
    /// Decay per step of the moving average of the weights. It is lower in the first steps, so that the average
    /// soon forgets the initial weights.
    pub average_decay: f32,
    /// Threads that share a batch. The last bits of a gradient depend on it.
    pub threads: usize,
}

impl Default for LearnerConfig {
    fn default() -> Self {
        Self {
            optimizer: Optimizer::AdamW,
            learning_rate: 1e-3,
            warm_up_steps: 100,
            weight_decay: 1e-2,
            gradient_clip: 5.0,
            policy_weight: 1.0,
            outcome_weight: 1.0,
            moves_left_weight: 0.2,
            soft_policy_weight: 0.0,
            average_decay: 0.999,
            threads: 1,
        }
    }
}

impl LearnerConfig {
    /// Checks that all values are in their ranges.
    fn check(&self) -> Result<(), LearnerError> {
        let not_negative = [
            ("learning_rate", self.learning_rate),
            ("weight_decay", self.weight_decay),
            ("policy_weight", self.policy_weight),
            ("outcome_weight", self.outcome_weight),
            ("moves_left_weight", self.moves_left_weight),
            ("soft_policy_weight", self.soft_policy_weight),
            ("average_decay", self.average_decay),
        ];
        for (name, value) in not_negative {
            if !(value.is_finite() && value >= 0.0) {
                let reason = format!("{name} must be a number of at least 0, got {value}");
                return Err(LearnerError::Config(reason));
            }
        }
        if self.gradient_clip.is_nan() || self.gradient_clip <= 0.0 {
            let reason = format!("gradient_clip must be above 0, got {}", self.gradient_clip);
            return Err(LearnerError::Config(reason));
        }
        if self.average_decay >= 1.0 {
            let reason = format!("average_decay must be below 1, got {}", self.average_decay);
            return Err(LearnerError::Config(reason));
        }
        if self.threads == 0 {
            return Err(LearnerError::Config("threads must be above 0".into()));
        }
        Ok(())
    }
}

/// Why a learner could not be created, stepped, saved or loaded.
#[derive(Debug, thiserror::Error)]
pub enum LearnerError {
    /// The network cannot be built.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A setting out of its range.
    #[error("invalid learner configuration: {0}")]
    Config(String),
    /// A sample that does not fit the network.
    #[error("sample {index} of the batch does not fit the network: {source}")]
    Sample {
        /// Its index in the batch.
        index: usize,
        /// Why it does not fit.
        source: SampleError,
    },
    /// A batch without samples, or whose total weight is not positive.
    #[error("the batch is empty or has no weight")]
    Empty,
    /// The gradient is infinite or not a number. The weights are unchanged.
    #[error("the gradient of step {step} is not finite; the weights are unchanged")]
    Diverged {
        /// The step, counted from 0.
        step: u64,
    },
    /// A checkpoint that is damaged or of another network.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A checkpoint that could not be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The losses of a batch before the step: means over the samples, by their weights.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// The weighted sum that is minimised.
    pub total: f32,
    /// Cross-entropy of the policy over the legal moves, in nats.
    pub policy: f32,
    /// Entropy of the policy targets, in nats: the least possible value of `policy`.
    pub policy_floor: f32,
    /// Cross-entropy of the soft policy, in nats; 0 without this target.
    pub soft_policy: f32,
    /// Cross-entropy of the outcome, in nats.
    pub outcome: f32,
    /// Huber loss of the moves-left head, in units of
    /// [`MOVES_LEFT_SCALE`](crate::network::MOVES_LEFT_SCALE) turns, quadratic below one unit.
    pub moves_left: f32,
    /// Share of positions in which the legal move of highest probability is that of the target, 0 to 1.
    pub policy_accuracy: f32,
    /// Share of positions in which the outcome of highest probability is that of the target, 0 to 1.
    pub outcome_accuracy: f32,
    /// Mean squared difference between the expected score of the mover (-1 to 1) and that of the target.
    pub score_error: f32,
    /// Euclidean norm of the gradient before clipping.
    pub gradient_norm: f32,
    /// The learning rate of the step.
    pub learning_rate: f32,
}

impl Losses {
    /// Returns the means of the losses of several steps; the learning rate is that of the last one.
    pub fn mean(steps: &[Losses]) -> Losses {
        let mean = |part: fn(&Losses) -> f32| {
            steps.iter().map(|losses| f64::from(part(losses))).sum::<f64>() as f32
                / steps.len().max(1) as f32
        };
        Losses {
            total: mean(|losses| losses.total),
            policy: mean(|losses| losses.policy),
            policy_floor: mean(|losses| losses.policy_floor),
            soft_policy: mean(|losses| losses.soft_policy),
            outcome: mean(|losses| losses.outcome),
            moves_left: mean(|losses| losses.moves_left),
            policy_accuracy: mean(|losses| losses.policy_accuracy),
            outcome_accuracy: mean(|losses| losses.outcome_accuracy),
            score_error: mean(|losses| losses.score_error),
            gradient_norm: mean(|losses| losses.gradient_norm),
            learning_rate: steps.last().map_or(0.0, |losses| losses.learning_rate),
        }
    }
}

/// A network that is being trained.
#[derive(Clone, Debug)]
pub struct Learner {
    shape: Shape,
    architecture: Architecture,
    config: LearnerConfig,
    /// The graph of the network, with the layers of training only at its end.
    graph: GraphIr,
    /// The number of the tensors of the graph that belong to the network.
    tensors: usize,
    /// The weights of the graph as the optimizer groups them.
    groups: Vec<ParameterGroup>,
    state: State,
}

/// What changes from step to step: the content of a checkpoint.
#[derive(Clone, Debug)]
struct State {
    /// Steps taken.
    step: u64,
    weights: Vec<f32>,
    /// The exponential moving average of the weights.
    average: Vec<f32>,
    moments: Moments,
}

impl Learner {
    /// Returns a learner of a network with random weights drawn from `seed`.
    ///
    /// # Errors
    /// [`LearnerError::Network`] or [`LearnerError::Config`] if sizes or settings are invalid.
    pub fn new(
        shape: Shape,
        architecture: &Architecture,
        config: LearnerConfig,
        seed: u64,
    ) -> Result<Self, LearnerError> {
        Self::with_network(Network::new(shape, architecture, seed)?, config)
    }

    /// Returns a learner with the given weights (a warm start) and no steps taken.
    ///
    /// # Errors
    /// Those of [`Learner::new`], and if a tensor is missing, unknown, of another shape or not finite.
    pub fn with_tensors(
        shape: Shape,
        architecture: &Architecture,
        config: LearnerConfig,
        tensors: &[NamedTensor],
    ) -> Result<Self, LearnerError> {
        Self::with_network(Network::with_tensors(shape, architecture, tensors)?, config)
    }

    fn with_network(network: Network, config: LearnerConfig) -> Result<Self, LearnerError> {
        config.check()?;
        let shape = network.shape();
        let architecture = network.architecture().clone();
        let (mut graph, mut weights) = network.into_parts();
        let tensors = graph.parameters.len();
        if config.soft_policy_weight > 0.0 {
            graph = graph.with_soft_policy()?;
            weights.resize(graph.len(), 0.0);
        }
        let groups = ParameterGroup::all(&graph, config.optimizer);
        let moments = Moments::new(weights.len());
        let state = State { step: 0, average: weights.clone(), weights, moments };
        Ok(Self { shape, architecture, config, graph, tensors, groups, state })
    }

    /// The shape of the inputs and outputs of the network.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The architecture of the network.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The configuration.
    pub fn config(&self) -> &LearnerConfig {
        &self.config
    }

    /// The number of steps taken.
    pub fn steps(&self) -> u64 {
        self.state.step
    }

    /// Sets the learning rate of the next steps.
    ///
    /// # Errors
    /// [`LearnerError::Config`] if it is negative or not finite; the learning rate is then unchanged.
    pub fn set_learning_rate(&mut self, learning_rate: f32) -> Result<(), LearnerError> {
        let config = LearnerConfig { learning_rate, ..self.config.clone() };
        config.check()?;
        self.config = config;
        Ok(())
    }

    /// The weights of the network after the last step.
    pub fn tensors(&self) -> Vec<NamedTensor> {
        self.network_tensors(&self.state.weights)
    }

    /// The exponential moving average of the weights, which is exported and played with.
    pub fn averaged_tensors(&self) -> Vec<NamedTensor> {
        self.network_tensors(&self.state.average)
    }

    /// Returns the tensors of the network, without those of training only.
    fn network_tensors(&self, weights: &[f32]) -> Vec<NamedTensor> {
        let mut tensors = self.graph.name_tensors(weights);
        tensors.truncate(self.tensors);
        tensors
    }

    /// Takes a training step on a batch and returns the losses before it.
    ///
    /// # Errors
    /// If a sample does not fit the shape, the batch has no weight, or the gradient is not finite; the
    /// weights are then unchanged.
    pub fn step<S: Borrow<TrainingSample> + Sync>(
        &mut self,
        batch: &[S],
    ) -> Result<Losses, LearnerError> {
        let (mut losses, mut gradient) = self.gradient(batch)?;
        let norm = gradient.iter().map(|&g| f64::from(g) * f64::from(g)).sum::<f64>().sqrt() as f32;
        if !norm.is_finite() {
            return Err(LearnerError::Diverged { step: self.state.step });
        }
        if norm > self.config.gradient_clip {
            let factor = self.config.gradient_clip / norm;
            for slope in &mut gradient {
                *slope *= factor;
            }
        }
        let State { step, weights, average, moments } = &mut self.state;
        *step += 1;
        let warmth = (*step as f32 / self.config.warm_up_steps.max(1) as f32).min(1.0);
        let learning_rate = self.config.learning_rate * warmth;
        let weight_decay = self.config.weight_decay;
        for group in &self.groups {
            group.step(weights, moments, &gradient, *step, learning_rate, weight_decay);
        }
        let decay = self.config.average_decay.min((*step as f32 + 1.0) / (*step as f32 + 10.0));
        for (average, weight) in average.iter_mut().zip(weights.iter()) {
            *average += (1.0 - decay) * (weight - *average);
        }
        losses.gradient_norm = norm;
        losses.learning_rate = learning_rate;
        Ok(losses)
    }

    /// Returns the losses of a batch without a training step.
    ///
    /// # Errors
    /// If a sample does not fit the shape, or the batch has no weight.
    pub fn measure<S: Borrow<TrainingSample>>(&self, batch: &[S]) -> Result<Losses, LearnerError> {
        let weight = self.check_batch(batch)?;
        let heads =
            graph::heads(&self.graph, self.shape, &self.state.weights, concat_planes(batch));
        let samples: Vec<&TrainingSample> = batch.iter().map(Borrow::borrow).collect();
        let (sums, _) = loss::losses(&samples, self.shape, &heads, &self.config, weight);
        Ok(sums.losses(&self.config))
    }

    /// Checks a batch and returns its total weight.
    fn check_batch<S: Borrow<TrainingSample>>(&self, batch: &[S]) -> Result<f32, LearnerError> {
        for (index, sample) in batch.iter().enumerate() {
            let checked = sample.borrow().check(self.shape);
            checked.map_err(|source| LearnerError::Sample { index, source })?;
        }
        let weight = batch.iter().map(|sample| sample.borrow().weight).sum::<f32>();
        if weight > 0.0 && weight.is_finite() { Ok(weight) } else { Err(LearnerError::Empty) }
    }

    /// Returns the losses of a batch and the gradient of the total loss. The batch is divided among threads.
    fn gradient<S: Borrow<TrainingSample> + Sync>(
        &self,
        batch: &[S],
    ) -> Result<(Losses, Vec<f32>), LearnerError> {
        let weight = self.check_batch(batch)?;
        let part = |part: &[S]| {
            let samples: Vec<&TrainingSample> = part.iter().map(Borrow::borrow).collect();
            let planes = concat_planes(part);
            graph::differentiate(&self.graph, self.shape, &self.state.weights, planes, |heads| {
                loss::losses(&samples, self.shape, heads, &self.config, weight)
            })
        };
        let mut parts = batch.chunks(batch.len().div_ceil(self.config.threads));
        let first = parts.next().unwrap_or_default();
        let (sums, gradient): (LossSums, Vec<f32>) = std::thread::scope(|scope| {
            let others: Vec<_> = parts.map(|other| scope.spawn(move || part(other))).collect();
            let (mut sums, mut gradient) = part(first);
            for other in others {
                // A panic is a bug: it continues in this thread.
                let (other_sums, other_gradient) = match other.join() {
                    Ok(result) => result,
                    Err(panic) => std::panic::resume_unwind(panic),
                };
                sums += other_sums;
                for (slope, other) in gradient.iter_mut().zip(&other_gradient) {
                    *slope += other;
                }
            }
            (sums, gradient)
        });
        Ok((sums.losses(&self.config), gradient))
    }

    /// Writes a checkpoint with weights, average, moments and number of steps.
    ///
    /// # Errors
    /// [`LearnerError::Store`] if it cannot be written.
    pub fn save(&self, store: &Store, name: &str) -> Result<(), LearnerError> {
        let bytes = checkpoint::encode(self.shape, &self.architecture, &self.graph, &self.state)
            .map_err(|error| LearnerError::Config(error.to_string()))?;
        Ok(store.write(name, bytes)?)
    }

    /// Reads a checkpoint. Settings may differ from those it was trained with, but not the network, nor
    /// whether it has a soft policy.
    ///
    /// # Errors
    /// [`LearnerError::Store`] if there is no checkpoint, [`LearnerError::Checkpoint`] if it is damaged
    /// or of another shape or architecture, [`LearnerError::Config`] if the settings are invalid.
    pub fn load(
        store: &Store,
        name: &str,
        shape: Shape,
        architecture: &Architecture,
        config: LearnerConfig,
    ) -> Result<Self, LearnerError> {
        let mut learner = Self::new(shape, architecture, config, 0)?;
        let bytes = store.read(name)?;
        let name = format!("{}/{name}", store.place());
        learner.state = checkpoint::decode(&name, &bytes, shape, architecture, &learner.graph)?;
        Ok(learner)
    }
}

/// Returns the planes of a batch, end to end.
fn concat_planes<S: Borrow<TrainingSample>>(batch: &[S]) -> Vec<f32> {
    let len = batch.iter().map(|sample| sample.borrow().planes.len()).sum();
    let mut planes = Vec::with_capacity(len);
    for sample in batch {
        planes.extend_from_slice(&sample.borrow().planes);
    }
    planes
}
