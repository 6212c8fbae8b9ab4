//! The configuration of a training run by self-play.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use menagerie::encoding::Encoding;
use menagerie::variant::Variant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::learner::LearnerConfig;
use crate::network::Architecture;
use crate::random_starts::Opening;
use crate::selfplay::{RootSearch, SelfPlayConfig};
use crate::store::{Store, StoreError};
use crate::variants::find_variant;

/// The settings of a run, as `config.toml` has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// The variant.
    pub variant: String,
    /// Sections of custom variants, in the syntax of `variants.ini`. They are added to the shipped ones.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variants: String,
    /// The random seed.
    pub seed: u64,
    /// Iterations of self-play and training.
    pub iterations: u64,
    /// Games of an iteration.
    pub games: u64,
    /// Initial size of the replay buffer, in positions. It grows with the number of positions played.
    pub window: u64,
    /// Average number of samples drawn from a position.
    pub reuse: f64,
    /// Share of a game's samples, 0 to 1, drawn by policy surprise. The others are drawn evenly (KataGo's
    /// policy surprise weighting, where it is 0.5).
    #[serde(default)]
    pub surprise: f64,
    /// Samples of a training step.
    pub batch: usize,
    /// Share of the iterations, 0 to 1, before the learning rate falls. It falls linearly to a twentieth.
    pub decay_from: f64,
    /// Self-play threads.
    pub threads: usize,
    /// Self-play on a CPU uses int8 networks.
    #[serde(default)]
    pub quantised: bool,
    /// The architecture.
    pub network: Architecture,
    /// Optimizer and losses.
    pub learner: LearnerConfig,
    /// How games are played.
    pub selfplay: SelfPlayConfig,
}

/// The greatest games of an iteration, samples of a step, and threads: beyond what any machine holds.
const MAX_GAMES: u64 = 100_000_000;
const MAX_BATCH: u64 = 1 << 20;
const MAX_THREADS: u64 = 4096;

/// Dense layers are used for boards of at most this number of squares.
const TINY_BOARD_SQUARES: usize = 16;

/// Dense layers are used for policies of at most this number of moves.
const SMALL_POLICY_MOVES: usize = 64;

impl RunConfig {
    /// Returns a configuration that fits the size of a variant: dense layers for few squares or moves, a
    /// two-board network for bughouse, and a small residual tower for the others.
    pub fn for_variant(variant: &Variant) -> RunConfig {
        let shape = Encoding::of(&variant.start()).shape();
        let squares = shape.squares();
        let dense = squares <= TINY_BOARD_SQUARES || shape.policy() <= SMALL_POLICY_MOVES;
        let network = if squares <= TINY_BOARD_SQUARES {
            Architecture::Mlp { widths: vec![256, 256, 256], policy_channels: 0 }
        } else if dense {
            Architecture::Mlp { widths: vec![384, 256, 256], policy_channels: 0 }
        } else if variant.has_two_boards() {
            Architecture::TwoBoards { blocks: 4, channels: 32, squeeze: 8 }
        } else {
            Architecture::Residual { blocks: 4, channels: 32, squeeze: 0 }
        };
        let placed = variant.self_play_pieces().is_some();
        // The smaller a game, the more of its positions can be visited.
        let opening = if placed {
            Opening::default()
        } else if dense {
            Opening { share: 0.9, plies: squares.saturating_sub(3).min(16), ..Opening::default() }
        } else {
            Opening { share: 0.5, plies: 8, ..Opening::default() }
        };
        // In small games the root search considers all moves.
        let considered = if dense && !placed { 16 } else { 8 };
        let mut selfplay = SelfPlayConfig {
            root: RootSearch::Gumbel { considered, c_visit: 50.0, c_scale: 0.5 },
            opening,
            ..SelfPlayConfig::default()
        };
        if dense {
            // Small games are compared with their solutions: the policy should win in the fewest turns.
            selfplay.search.insert("moves_left_slope".to_owned(), 0.03);
            selfplay.search.insert("moves_left_cap".to_owned(), 0.3);
        }
        RunConfig {
            variant: variant.name().to_owned(),
            variants: String::new(),
            seed: 1,
            iterations: if dense { 160 } else { 200 },
            // Games from randomly placed pieces are short.
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
            // Small dense layers are cheaper than the search.
            quantised: !dense,
            network,
            learner: LearnerConfig::default(),
            selfplay,
        }
    }

    /// Reads a `config.toml`.
    ///
    /// # Errors
    /// The file and what is wrong with it.
    pub fn read(path: &Path) -> anyhow::Result<RunConfig> {
        let name = path.display();
        let text = fs::read_to_string(path).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        let config: RunConfig =
            toml::from_str(&text).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        config.check().map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        Ok(config)
    }

    /// Returns the configuration of the run in `store`, if there is one.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be read.
    pub fn of_run(store: &Store) -> Result<Option<RunConfig>, StoreError> {
        store.find_toml(super::CONFIG)
    }

    /// Checks the values, but for those that depend on the variant, and those of the learner.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        for (name, share) in [("surprise", self.surprise), ("decay_from", self.decay_from)] {
            anyhow::ensure!((0.0..=1.0).contains(&share), "{name} is {share}, not 0 to 1");
        }
        for (name, number, most) in [
            ("games", self.games, MAX_GAMES),
            ("batch", self.batch as u64, MAX_BATCH),
            ("threads", self.threads as u64, MAX_THREADS),
        ] {
            anyhow::ensure!((1..=most).contains(&number), "{name} is {number}, not 1 to {most}");
        }
        let reuse = self.reuse;
        let is_number = reuse.is_finite() && reuse >= 0.0;
        anyhow::ensure!(is_number, "reuse is {reuse}, not a number from 0 on");
        self.selfplay.params()?;
        Ok(())
    }

    /// Returns the variant, a shipped one or one of [`RunConfig::variants`].
    ///
    /// # Errors
    /// If there is no variant of that name; the message includes the errors of the sections.
    pub fn find_variant(&self) -> anyhow::Result<Arc<Variant>> {
        find_variant(&self.variant, &self.variants)
    }

    /// Returns the learning rate of an iteration, counted from 1.
    pub fn learning_rate(&self, iteration: u64) -> f32 {
        let share = iteration as f64 / self.iterations.max(1) as f64;
        let falling =
            ((share - self.decay_from) / (1.0 - self.decay_from).max(1e-9)).clamp(0.0, 1.0);
        self.learner.learning_rate * (1.0 - 0.95 * falling) as f32
    }
}
