//! The log of a run: a row of `metrics.csv` an iteration.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::State;
use crate::learner::Losses;
use crate::rows;
use crate::selfplay::Spent;

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
    pub regretted: u64,
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

impl Metrics {
    pub(super) fn of_games(games: usize, positions: u64, decided: usize, spent: Spent) -> Metrics {
        let games = games.max(1) as f64;
        Metrics {
            plies: positions as f64 / games,
            decided: decided as f64 / games,
            evaluations: spent.evaluations,
            visits: spent.visits,
            resigned: spent.resigned,
            played_out: spent.played_out,
            regretted: spent.regretted,
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

    /// Reads the log of the run in `folder`; empty if there is none.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn read(folder: &Path) -> anyhow::Result<Vec<Metrics>> {
        rows::read(&folder.join(FILE))
    }

    /// Leaves out the rows after `iterations`, and one that a kill cut short.
    pub(super) fn cut(folder: &Path, iterations: u64) -> anyhow::Result<()> {
        rows::cut(&folder.join(FILE), |row: &Metrics| row.iteration <= iterations)
    }

    pub(super) fn append(&self, folder: &Path) -> anyhow::Result<()> {
        rows::append(&folder.join(FILE), self)
    }
}
