//! Learning: samples in, gradient steps on a network out, and checkpoints that survive a kill.
//!
//! A [`Learner`] holds weights, their moving average, and the optimizer's moments as flat slices.
//! burn differentiates the network only; the losses and their gradients (`loss`) and the optimizer
//! (`optimizer`) are closed forms in plain Rust, so that the policy's loss touches legal moves alone
//! and a checkpoint is a handful of slices (`checkpoint`).

mod adamw;
mod checkpoint;
mod loss;
mod muon;
mod optimizer;
mod sample;

pub use checkpoint::CheckpointError;
pub use optimizer::Optimizer;
pub use sample::{Sample, SampleError};

use std::borrow::Borrow;

use menagerie::encoding::Shape;
use serde::{Deserialize, Serialize};

use crate::network::graph_ir::GraphIr;
use crate::network::{Architecture, NamedTensor, Network, NetworkError, graph};
use crate::store::{Store, StoreError};
use loss::Sums;
use optimizer::{Group, Moments};

/// How a [`Learner`] learns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LearnerConfig {
    /// How weights follow their gradient.
    pub optimizer: Optimizer,
    /// Step size of the optimizer once warmed up.
    pub learning_rate: f32,
    /// Steps over which the learning rate rises from zero, linearly.
    pub warm_up_steps: u64,
    /// Decoupled weight decay: each step shrinks weights (not biases) by this times the learning
    /// rate.
    pub weight_decay: f32,
    /// The gradient's Euclidean norm over all weights is cut to this; infinite for never.
    pub gradient_clip: f32,
    /// Factor of the policy's cross-entropy (nats) in the total loss.
    pub policy_weight: f32,
    /// Factor of the outcome's cross-entropy (nats) in the total loss.
    pub outcome_weight: f32,
    /// Factor of the moves-left loss in the total loss.
    pub moves_left_weight: f32,
    /// Factor of the softened policy's cross-entropy (nats) in the total loss, KataGo's auxiliary
    /// soft policy target; with 0 there is no such target. It has a last layer of its own, which
    /// is in checkpoints and not in exported networks.
    pub soft_policy_weight: f32,
    /// Decay of the weights' exponential moving average a step; lower in the first steps, so that
    /// the average soon forgets where the weights started.
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
    /// Says in words what is wrong with it, if anything.
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
                return Err(LearnerError::Config(format!("{name} is {value}")));
            }
        }
        if self.gradient_clip.is_nan() || self.gradient_clip <= 0.0 {
            return Err(LearnerError::Config(format!("gradient_clip is {}", self.gradient_clip)));
        }
        if self.average_decay >= 1.0 {
            return Err(LearnerError::Config(format!("average_decay is {}", self.average_decay)));
        }
        if self.threads == 0 {
            return Err(LearnerError::Config("threads is 0".into()));
        }
        Ok(())
    }
}

/// Why a learner could not be made, could not step, or could not be saved or loaded.
#[derive(Debug, thiserror::Error)]
pub enum LearnerError {
    /// The network cannot be built.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A setting out of its range.
    #[error("the learner's settings make no sense: {0}")]
    Config(String),
    /// A sample that does not fit the network.
    #[error("sample {index} of the batch does not fit: {source}")]
    Sample {
        /// Its place in the batch, from 0.
        index: usize,
        /// What is wrong with it.
        source: SampleError,
    },
    /// A batch that has no samples, or none of any weight.
    #[error("the batch is empty, or its samples weigh nothing")]
    Empty,
    /// The gradient is infinite or not a number. The weights are as before the step.
    #[error("the gradient of step {step} is not finite; the weights are left as they were")]
    Diverged {
        /// The step, from 0.
        step: u64,
    },
    /// A checkpoint that is damaged or of another network.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A checkpoint that could not be written or read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a step measured on its batch before it changed the weights: means over the samples by
/// their weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// The weighted sum that is minimised.
    pub total: f32,
    /// Cross-entropy of the policy over the legal moves, in nats.
    pub policy: f32,
    /// Entropy of the policy's targets, in nats: the least that `policy` can reach.
    pub policy_floor: f32,
    /// Cross-entropy of the softened policy, in nats; 0 if it is not learnt.
    pub soft_policy: f32,
    /// Cross-entropy of the outcome, in nats.
    pub outcome: f32,
    /// Huber loss of the moves left, in units of [`MOVES_LEFT_SCALE`](crate::network::MOVES_LEFT_SCALE)
    /// turns, quadratic below one unit.
    pub moves_left: f32,
    /// Share of positions whose likeliest legal move is the target's, 0 to 1.
    pub policy_accuracy: f32,
    /// Share of positions whose likeliest outcome is the target's, 0 to 1.
    pub outcome_accuracy: f32,
    /// Mean squared difference between the mover's expected score (-1 to 1) and the target's.
    pub score_error: f32,
    /// Euclidean norm of the gradient before it was cut.
    pub gradient_norm: f32,
    /// The learning rate that the step took.
    pub learning_rate: f32,
}

impl Losses {
    /// The means of some steps' losses; the learning rate is the last step's.
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
    /// The network's plan, with what is there in training only at its end.
    plan: GraphIr,
    /// How many of the plan's tensors are the network's.
    tensors: usize,
    /// The plan's weights as the optimizer moves them.
    groups: Vec<Group>,
    state: State,
}

/// All that changes from step to step: what a checkpoint keeps.
#[derive(Clone, Debug)]
struct State {
    /// Steps taken.
    step: u64,
    weights: Vec<f32>,
    /// The weights' exponential moving average.
    average: Vec<f32>,
    moments: Moments,
}

impl Learner {
    /// A learner of a fresh network drawn from `seed`.
    ///
    /// # Errors
    /// [`LearnerError::Network`] or [`LearnerError::Config`] if the sizes or settings make no sense.
    pub fn new(
        shape: Shape,
        architecture: &Architecture,
        config: LearnerConfig,
        seed: u64,
    ) -> Result<Self, LearnerError> {
        Self::of(Network::new(shape, architecture, seed)?, config)
    }

    /// A learner that starts from given weights (a warm start), with no steps taken.
    ///
    /// # Errors
    /// As [`Learner::new`], and if a tensor is missing, unknown, misshapen or not finite.
    pub fn with_tensors(
        shape: Shape,
        architecture: &Architecture,
        config: LearnerConfig,
        tensors: &[NamedTensor],
    ) -> Result<Self, LearnerError> {
        Self::of(Network::with_tensors(shape, architecture, tensors)?, config)
    }

    fn of(network: Network, config: LearnerConfig) -> Result<Self, LearnerError> {
        config.check()?;
        let (shape, architecture) = (network.shape(), network.architecture().clone());
        let (mut plan, mut weights) = network.into_parts();
        let tensors = plan.parameters.len();
        if config.soft_policy_weight > 0.0 {
            plan = plan.with_soft_policy()?;
            weights.resize(plan.len(), 0.0);
        }
        let groups = Group::all(&plan, config.optimizer);
        let moments = Moments::new(weights.len());
        let state = State { step: 0, average: weights.clone(), weights, moments };
        Ok(Self { shape, architecture, config, plan, tensors, groups, state })
    }

    /// The shape of the network's inputs and outputs.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The network's architecture.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The settings.
    pub fn config(&self) -> &LearnerConfig {
        &self.config
    }

    /// Steps taken so far.
    pub fn steps(&self) -> u64 {
        self.state.step
    }

    /// Changes the learning rate from the next step on.
    ///
    /// # Errors
    /// [`LearnerError::Config`] if it is negative or not finite; the old one stays.
    pub fn set_learning_rate(&mut self, learning_rate: f32) -> Result<(), LearnerError> {
        let config = LearnerConfig { learning_rate, ..self.config.clone() };
        config.check()?;
        self.config = config;
        Ok(())
    }

    /// The network's weights as the last step left them.
    pub fn tensors(&self) -> Vec<NamedTensor> {
        self.network(&self.state.weights)
    }

    /// The weights' exponential moving average: what to export and to play with.
    pub fn averaged_tensors(&self) -> Vec<NamedTensor> {
        self.network(&self.state.average)
    }

    /// The network's tensors, without those of training only.
    fn network(&self, weights: &[f32]) -> Vec<NamedTensor> {
        let mut tensors = self.plan.name(weights);
        tensors.truncate(self.tensors);
        tensors
    }

    /// Learns from one batch, and gives what the network made of it before.
    ///
    /// # Errors
    /// If a sample does not fit the shape, if the batch weighs nothing, or if the gradient is not
    /// finite; the weights are then unchanged.
    pub fn step<S: Borrow<Sample> + Sync>(&mut self, batch: &[S]) -> Result<Losses, LearnerError> {
        let (mut losses, mut gradient) = self.gradient(batch)?;
        let norm = gradient.iter().map(|&g| f64::from(g) * f64::from(g)).sum::<f64>().sqrt() as f32;
        if !norm.is_finite() {
            return Err(LearnerError::Diverged { step: self.state.step });
        }
        if norm > self.config.gradient_clip {
            let factor = self.config.gradient_clip / norm;
            gradient.iter_mut().for_each(|g| *g *= factor);
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

    /// What the network makes of a batch, with the weights as they are; nothing is learnt.
    ///
    /// # Errors
    /// If a sample does not fit the shape, or if the batch weighs nothing.
    pub fn measure<S: Borrow<Sample>>(&self, batch: &[S]) -> Result<Losses, LearnerError> {
        let weight = self.check(batch)?;
        let heads = graph::heads(&self.plan, self.shape, &self.state.weights, gather(batch));
        let samples: Vec<&Sample> = batch.iter().map(Borrow::borrow).collect();
        let (sums, _) = loss::losses(&samples, self.shape, &heads, &self.config, weight);
        Ok(sums.losses(&self.config))
    }

    /// Checks a batch and gives its total weight.
    fn check<S: Borrow<Sample>>(&self, batch: &[S]) -> Result<f32, LearnerError> {
        for (index, sample) in batch.iter().enumerate() {
            let checked = sample.borrow().check(self.shape);
            checked.map_err(|source| LearnerError::Sample { index, source })?;
        }
        let weight = batch.iter().map(|sample| sample.borrow().weight).sum::<f32>();
        if weight > 0.0 && weight.is_finite() { Ok(weight) } else { Err(LearnerError::Empty) }
    }

    /// A batch's losses and the gradient of the total: the batch is cut among the threads.
    fn gradient<S: Borrow<Sample> + Sync>(
        &self,
        batch: &[S],
    ) -> Result<(Losses, Vec<f32>), LearnerError> {
        let weight = self.check(batch)?;
        let part = |part: &[S]| {
            let samples: Vec<&Sample> = part.iter().map(Borrow::borrow).collect();
            let (shape, config) = (self.shape, &self.config);
            graph::differentiate(&self.plan, shape, &self.state.weights, gather(part), |heads| {
                loss::losses(&samples, shape, heads, config, weight)
            })
        };
        let mut parts = batch.chunks(batch.len().div_ceil(self.config.threads));
        let first = parts.next().unwrap_or_default();
        let (sums, gradient): (Sums, Vec<f32>) = std::thread::scope(|scope| {
            let others: Vec<_> = parts.map(|other| scope.spawn(move || part(other))).collect();
            let mut all = part(first);
            for other in others {
                // A thread panics only on a bug, which is then this thread's as well.
                let (sums, gradient) = match other.join() {
                    Ok(result) => result,
                    Err(panic) => std::panic::resume_unwind(panic),
                };
                all.0 += sums;
                all.1.iter_mut().zip(&gradient).for_each(|(all, one)| *all += one);
            }
            all
        });
        Ok((sums.losses(&self.config), gradient))
    }

    /// Writes a checkpoint with weights, average, optimizer and step count.
    ///
    /// # Errors
    /// [`LearnerError::Store`], with the object, if it cannot be written.
    pub fn save(&self, store: &Store, name: &str) -> Result<(), LearnerError> {
        let bytes = checkpoint::encode(self.shape, &self.architecture, &self.plan, &self.state)
            .map_err(|error| LearnerError::Config(error.to_string()))?;
        Ok(store.write(name, bytes)?)
    }

    /// Reads a checkpoint back. Settings may differ from those it was trained with; the network
    /// may not, nor whether a softened policy is learnt.
    ///
    /// # Errors
    /// [`LearnerError::Store`] if there is no checkpoint; [`LearnerError::Checkpoint`] if it is
    /// damaged, or of another shape or architecture; [`LearnerError::Config`] if the settings make
    /// no sense.
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
        learner.state = checkpoint::decode(&name, &bytes, shape, architecture, &learner.plan)?;
        Ok(learner)
    }
}

/// The planes of a batch in one buffer.
fn gather<S: Borrow<Sample>>(batch: &[S]) -> Vec<f32> {
    let len = batch.iter().map(|sample| sample.borrow().planes.len()).sum();
    let mut planes = Vec::with_capacity(len);
    batch.iter().for_each(|sample| planes.extend_from_slice(&sample.borrow().planes));
    planes
}
