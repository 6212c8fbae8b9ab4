//! What a run is asked for.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use menagerie::encoding::Encoding;
use menagerie::variant::Variant;
use serde::{Deserialize, Serialize};

use crate::learner::LearnerConfig;
use crate::network::Architecture;
use crate::random_starts::Opening;
use crate::selfplay::{RootSearch, SelfPlayConfig};
use crate::store::{Store, StoreError};
use crate::variants::find_variant;

/// The settings of a run, as `config.toml` has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// The game.
    pub variant: String,
    /// Sections of the user's in the syntax of `variants.ini`, beside those that are shipped.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variants: String,
    /// The seed of all that is random.
    pub seed: u64,
    /// How often self-play and learning take turns.
    pub iterations: u64,
    /// Games of self-play in an iteration.
    pub games: u64,
    /// Positions that the window holds at first; it grows with what has been played.
    pub window: u64,
    /// How often a position is learned from, on average.
    pub reuse: f64,
    /// The share of a game's samples, 0 to 1, that are drawn by how much the search surprised the
    /// network, the others evenly (KataGo's policy surprise weighting, where it is 0.5).
    #[serde(default)]
    pub surprise: f64,
    /// Samples in a step.
    pub batch: usize,
    /// From this share of the iterations on, the learning rate falls linearly to a twentieth.
    pub decay_from: f64,
    /// Threads of self-play.
    pub threads: usize,
    /// Whether self-play on a CPU runs the network in integers of eight bits.
    #[serde(default)]
    pub quantised: bool,
    /// The network.
    pub network: Architecture,
    /// How it learns.
    pub learner: LearnerConfig,
    /// How games are played.
    pub selfplay: SelfPlayConfig,
}

/// Squares of a board on which dense layers know every square by heart.
const TINY_BOARD: usize = 16;

/// Entries of a policy that dense layers make at little cost.
const FEW_MOVES: usize = 64;

impl RunConfig {
    /// Settings for a game that fit its size: dense layers where squares or moves are few, a small
    /// residual tower for other boards, for two tables a twin.
    pub fn for_variant(variant: &Variant) -> RunConfig {
        let shape = Encoding::of(&variant.start()).shape();
        let squares = shape.squares();
        let dense = squares <= TINY_BOARD || shape.policy() <= FEW_MOVES;
        let network = match dense {
            true if squares <= TINY_BOARD => {
                Architecture::Mlp { widths: vec![256, 256, 256], policy_channels: 0 }
            }
            true => Architecture::Mlp { widths: vec![384, 256, 256], policy_channels: 0 },
            false if variant.has_tables() => {
                Architecture::Twin { blocks: 4, channels: 32, squeeze: 8 }
            }
            false => Architecture::Residual { blocks: 4, channels: 32, squeeze: 0 },
        };
        let placed = variant.self_play_men().is_some();
        // The less there is of a game, the more of it can be seen.
        let opening = match dense {
            _ if placed => Opening::default(),
            true => Opening { share: 0.9, plies: squares.saturating_sub(3).min(16) },
            false => Opening { share: 0.5, plies: 8 },
        };
        // Where all of a game's moves can be looked at, none is left to chance.
        let considered = if dense && !placed { 16 } else { 8 };
        let mut selfplay = SelfPlayConfig {
            root: RootSearch::Gumbel { considered, c_visit: 50.0, c_scale: 0.5 },
            opening,
            ..SelfPlayConfig::default()
        };
        if dense {
            // A solved game is to be won in the fewest turns, so the policy learns to hurry.
            selfplay.search.insert("moves_left_slope".to_owned(), 0.03);
            selfplay.search.insert("moves_left_cap".to_owned(), 0.3);
        }
        RunConfig {
            variant: variant.name().to_owned(),
            variants: String::new(),
            seed: 1,
            iterations: if dense { 160 } else { 200 },
            // Games from random men are short.
            games: if !dense {
                400
            } else if placed {
                4000
            } else {
                1000
            },
            window: 40_000,
            reuse: if dense { 8.0 } else { 6.0 },
            surprise: 0.0,
            batch: 256,
            decay_from: 0.5,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            // Small dense layers cost less than the search.
            quantised: !dense,
            network,
            learner: LearnerConfig::default(),
            selfplay,
        }
    }

    /// Reads a `config.toml`.
    ///
    /// # Errors
    /// What is wrong, with the file and the place.
    pub fn read(path: &Path) -> anyhow::Result<RunConfig> {
        let name = path.display();
        let text = fs::read_to_string(path).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        toml::from_str(&text).map_err(|error| anyhow::anyhow!("{name}: {error}"))
    }

    /// The configuration of the run in `store`, if there is one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_run(store: &Store) -> Result<Option<RunConfig>, StoreError> {
        store.find_toml(super::CONFIG)
    }

    /// Says in words what is wrong with it, if anything can be seen before it is used.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let share = self.surprise;
        anyhow::ensure!((0.0..=1.0).contains(&share), "surprise is {share}, no share of 1");
        Ok(())
    }

    /// The game among those that are shipped and the user's.
    ///
    /// # Errors
    /// If there is none of that name, with what is wrong with the user's sections.
    pub fn find_variant(&self) -> anyhow::Result<Arc<Variant>> {
        find_variant(&self.variant, &self.variants)
    }

    /// The learning rate of an iteration, counted from 1.
    pub fn learning_rate(&self, iteration: u64) -> f32 {
        let share = iteration as f64 / self.iterations.max(1) as f64;
        let falling =
            ((share - self.decay_from) / (1.0 - self.decay_from).max(1e-9)).clamp(0.0, 1.0);
        self.learner.learning_rate * (1.0 - 0.95 * falling) as f32
    }
}
