//! The log of a training run by self-play: a row of `metrics.csv` for each iteration.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::State;
use crate::csv_log;
use crate::learner::Losses;
use crate::selfplay::SelfPlayStats;
use crate::store::Store;
use crate::tensorboard::{Scalar, events};

/// The metrics of an iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunMetrics {
    /// The iteration, from 1.
    pub iteration: u64,
    /// CPU time of the run so far, in minutes.
    pub cpu_minutes: f64,
    /// Games of the run so far.
    pub games: u64,
    /// Positions of the run so far.
    pub positions: u64,
    /// Gradient steps of the run so far.
    pub steps: u64,
    /// Positions in the replay buffer.
    pub window: u64,
    /// Mean number of plies of a game in this iteration.
    pub plies: f64,
    /// Share of this iteration's games that have a winner.
    pub decided: f64,
    /// Evaluations of this iteration.
    pub evaluations: u64,
    /// Visits of this iteration.
    pub visits: u64,
    /// Games of this iteration that a side resigned.
    pub resigned: u64,
    /// Games of this iteration that a side would have resigned, but which were played out.
    pub played_out: u64,
    /// Games among them that this side did not lose.
    pub false_resignations: u64,
    /// CPU seconds of this iteration's self-play.
    pub selfplay_seconds: f64,
    /// Mean of the total loss.
    pub loss: f32,
    /// Mean cross-entropy of the policy minus its floor, in nats.
    pub policy_excess: f32,
    /// Mean cross-entropy of the outcome, in nats.
    pub outcome_loss: f32,
    /// Mean loss of the moves-left head.
    pub moves_left_loss: f32,
    /// Share of samples in which the move of highest probability is that of the target.
    pub policy_accuracy: f32,
    /// Share of samples in which the outcome of highest probability is that of the target.
    pub outcome_accuracy: f32,
    /// The learning rate.
    pub learning_rate: f32,
}

const CSV_FILE: &str = "metrics.csv";
const EVENT_FILE: &str = "events.out.tfevents.0.menagerie";

impl RunMetrics {
    /// Returns the metrics of self-play.
    pub(super) fn of_games(
        games: usize,
        positions: u64,
        decided: usize,
        stats: SelfPlayStats,
    ) -> RunMetrics {
        let games = games.max(1) as f64;
        RunMetrics {
            plies: positions as f64 / games,
            decided: decided as f64 / games,
            evaluations: stats.evaluations,
            visits: stats.visits,
            resigned: stats.resigned,
            played_out: stats.played_out,
            false_resignations: stats.false_resignations,
            ..RunMetrics::default()
        }
    }

    /// Adds the progress of the run and the metrics of training.
    pub(super) fn finish(
        self,
        state: &State,
        losses: &Losses,
        selfplay_time: Duration,
        steps: u64,
        window: u64,
    ) -> RunMetrics {
        RunMetrics {
            iteration: state.iterations,
            cpu_minutes: state.cpu_seconds / 60.0,
            games: state.games,
            positions: state.positions,
            steps,
            window,
            selfplay_seconds: selfplay_time.as_secs_f64(),
            loss: losses.total,
            policy_excess: losses.policy - losses.policy_floor,
            outcome_loss: losses.outcome,
            moves_left_loss: losses.moves_left,
            policy_accuracy: losses.policy_accuracy,
            outcome_accuracy: losses.outcome_accuracy,
            learning_rate: losses.learning_rate,
            ..self
        }
    }

    /// Reads the log of the run in `store`; empty if there is none.
    ///
    /// # Errors
    /// If the log is damaged or cannot be read.
    pub fn read(store: &Store) -> anyhow::Result<Vec<RunMetrics>> {
        csv_log::read_rows(store, CSV_FILE)
    }

    /// Writes the log, also for TensorBoard, with gradient steps as its steps and CPU time as its time.
    pub(super) fn write(store: &Store, log: &[RunMetrics]) -> anyhow::Result<()> {
        csv_log::write_rows(store, CSV_FILE, log)?;
        let scalars: Vec<Scalar> = log.iter().flat_map(RunMetrics::scalars).collect();
        Ok(store.write(EVENT_FILE, events(&scalars))?)
    }

    fn scalars(&self) -> Vec<Scalar> {
        let curves = [
            ("loss/total", self.loss),
            ("loss/policy_excess", self.policy_excess),
            ("loss/outcome", self.outcome_loss),
            ("loss/moves_left", self.moves_left_loss),
            ("accuracy/policy", self.policy_accuracy),
            ("accuracy/outcome", self.outcome_accuracy),
            ("games/plies", self.plies as f32),
            ("games/decided", self.decided as f32),
            ("run/window", self.window as f32),
            ("run/learning_rate", self.learning_rate),
        ];
        let scalar = |(tag, value): (&str, f32)| Scalar {
            tag: tag.to_owned(),
            step: self.steps as i64,
            seconds: self.cpu_minutes * 60.0,
            value,
        };
        curves.into_iter().map(scalar).collect()
    }
}
