//! The log of a run: a row of `metrics.csv` an iteration.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::State;
use crate::csv_log;
use crate::learner::Losses;
use crate::selfplay::SelfPlayStats;
use crate::store::Store;
use crate::tensorboard::{Scalar, events};

/// What an iteration did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
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
    /// Positions in the window.
    pub window: u64,
    /// Plies of a game, on average, in this iteration.
    pub plies: f64,
    /// Share of this iteration's games that somebody won.
    pub decided: f64,
    /// Evaluations of this iteration.
    pub evaluations: u64,
    /// Visits of this iteration.
    pub visits: u64,
    /// Games of this iteration that a side gave up.
    pub resigned: u64,
    /// Games of this iteration that a side would have given up, but which were played out ..
    pub played_out: u64,
    /// .. and those among them that it did not lose.
    pub false_resignations: u64,
    /// CPU seconds of this iteration's self-play.
    pub selfplay_seconds: f64,
    /// Mean of the total loss.
    pub loss: f32,
    /// Mean cross-entropy of the policy less its floor, in nats.
    pub policy_excess: f32,
    /// Mean cross-entropy of the outcome, in nats.
    pub outcome_loss: f32,
    /// Mean loss of the moves left.
    pub moves_left_loss: f32,
    /// Share of samples whose likeliest move is the target's.
    pub policy_accuracy: f32,
    /// Share of samples whose likeliest outcome is the target's.
    pub outcome_accuracy: f32,
    /// The learning rate.
    pub learning_rate: f32,
}

const FILE: &str = "metrics.csv";
const EVENTS: &str = "events.out.tfevents.0.menagerie";

impl Metrics {
    pub(super) fn of_games(
        games: usize,
        positions: u64,
        decided: usize,
        spent: SelfPlayStats,
    ) -> Metrics {
        let games = games.max(1) as f64;
        Metrics {
            plies: positions as f64 / games,
            decided: decided as f64 / games,
            evaluations: spent.evaluations,
            visits: spent.visits,
            resigned: spent.resigned,
            played_out: spent.played_out,
            false_resignations: spent.false_resignations,
            ..Metrics::default()
        }
    }

    pub(super) fn finish(
        self,
        state: &State,
        losses: &Losses,
        played: Duration,
        steps: u64,
        window: u64,
    ) -> Metrics {
        Metrics {
            iteration: state.iterations,
            cpu_minutes: state.cpu_seconds / 60.0,
            games: state.games,
            positions: state.positions,
            steps,
            window,
            selfplay_seconds: played.as_secs_f64(),
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
    /// What is wrong with it.
    pub fn read(store: &Store) -> anyhow::Result<Vec<Metrics>> {
        csv_log::read(store, FILE)
    }

    /// Writes the log, also for TensorBoard, whose steps are the gradient's and whose time is the
    /// CPU's.
    pub(super) fn write(store: &Store, log: &[Metrics]) -> anyhow::Result<()> {
        csv_log::write(store, FILE, log)?;
        let scalars: Vec<Scalar> = log.iter().flat_map(Metrics::scalars).collect();
        Ok(store.write(EVENTS, events(&scalars))?)
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
