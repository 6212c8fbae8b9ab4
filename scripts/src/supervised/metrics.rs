//! The log of a supervised run: a row of `metrics.csv` a checkpoint.

use serde::{Deserialize, Serialize};

use crate::csv_log;
use crate::store::Store;

/// What a checkpoint found. What concerns learning are means over the steps since the checkpoint
/// before, against the targets with smoothing and mixed scores; what is `held` is measured with the
/// averaged weights on games that are never learnt from, against the teacher's moves and the games'
/// results as they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Gradient steps so far.
    pub steps: u64,
    /// Positions seen so far.
    pub positions: u64,
    /// How often the records have been seen so far.
    pub epochs: f64,
    /// CPU time so far, in minutes; measuring and samples are in it.
    pub cpu_minutes: f64,
    /// The learning rate.
    pub learning_rate: f32,
    /// The total loss.
    pub loss: f32,
    /// Cross-entropy of the policy less its floor, in nats.
    pub policy_excess: f32,
    /// Share of positions whose likeliest move is the target's.
    pub policy_accuracy: f32,
    /// Cross-entropy of the outcome, in nats.
    pub outcome_loss: f32,
    /// Share of positions whose likeliest outcome is the target's.
    pub outcome_accuracy: f32,
    /// Mean squared error of the expected score (-1 to 1).
    pub score_error: f32,
    /// Loss of the moves left.
    pub moves_left_loss: f32,
    /// Cross-entropy of the policy less its floor, in nats, on games held back.
    pub held_policy_excess: f32,
    /// Share of held-back positions whose likeliest move is the teacher's.
    pub held_policy_accuracy: f32,
    /// Cross-entropy of the outcome with the games' results, in nats, on games held back.
    pub held_outcome_loss: f32,
    /// Share of held-back positions whose likeliest outcome is the game's.
    pub held_outcome_accuracy: f32,
    /// Mean squared error of the expected score against the games' results on games held back.
    pub held_score_error: f32,
    /// Loss of the moves left on games held back.
    pub held_moves_left_loss: f32,
}

impl Metrics {
    /// Reads the log of the run in `store`; empty if there is none.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(store: &Store) -> anyhow::Result<Vec<Metrics>> {
        csv_log::read(store, super::METRICS)
    }
}
