//! The log of a supervised run: a row of `metrics.csv` for each checkpoint.

use serde::{Deserialize, Serialize};

use crate::csv_log;
use crate::store::Store;

/// The metrics of a checkpoint. Training metrics are means over the steps since the previous checkpoint,
/// with smoothed policies and mixed scores as targets; those of `held_` are of the averaged weights on
/// held-out games, with the recorded moves and results as targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SupervisedMetrics {
    /// Gradient steps so far.
    pub steps: u64,
    /// Positions seen so far.
    pub positions: u64,
    /// Passes over the records so far.
    pub epochs: f64,
    /// CPU time so far in minutes, including sampling and measuring.
    pub cpu_minutes: f64,
    /// The learning rate.
    pub learning_rate: f32,
    /// The total loss.
    pub loss: f32,
    /// Cross-entropy of the policy minus its floor, in nats.
    pub policy_excess: f32,
    /// Share of positions in which the move of highest probability is that of the target.
    pub policy_accuracy: f32,
    /// Cross-entropy of the outcome, in nats.
    pub outcome_loss: f32,
    /// Share of positions in which the outcome of highest probability is that of the target.
    pub outcome_accuracy: f32,
    /// Mean squared error of the expected score (-1 to 1).
    pub score_error: f32,
    /// Loss of the moves-left head.
    pub moves_left_loss: f32,
    /// Cross-entropy of the policy minus its floor, in nats, on held-out games.
    pub held_policy_excess: f32,
    /// Share of held-out positions in which the move of highest probability is the recorded one.
    pub held_policy_accuracy: f32,
    /// Cross-entropy of the outcome with the result of the game, in nats, on held-out games.
    pub held_outcome_loss: f32,
    /// Share of held-out positions in which the outcome of highest probability is that of the game.
    pub held_outcome_accuracy: f32,
    /// Mean squared error of the expected score against the result of the game on held-out games.
    pub held_score_error: f32,
    /// Loss of the moves-left head on held-out games.
    pub held_moves_left_loss: f32,
}

impl SupervisedMetrics {
    /// Reads the log of the run in `store`; empty if there is none.
    ///
    /// # Errors
    /// If the log is damaged or cannot be read.
    pub fn read(store: &Store) -> anyhow::Result<Vec<SupervisedMetrics>> {
        csv_log::read_rows(store, super::METRICS)
    }
}
