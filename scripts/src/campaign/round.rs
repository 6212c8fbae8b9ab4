//! A round of a variant: what its stages work with, and where its files are.
//!
//! ```text
//! VARIANT/round-1/
//!   games.partial.tsv      games as they are played
//!   games.tsv.gz           all games of the round, by number
//!   self-play.onnx         network that plays the games, if they are games of self-play
//!   self-play.games        those games
//!   self-play/             parts of them, until all are played
//!   scored.games           some of them with the scores of the reference engine, or all with those of alpha-beta
//!   scored/                parts of these, until all are scored
//!   train/                 SparseRun
//!   candidate.int8.onnx    the new network
//!   baseline.onnx          the network that was shipped when the match began
//!   match/                 Arena
//! ```

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use menagerie::encoding::SparseEncoding;

use super::settings::{CampaignSettings, VariantPlan};

/// Name of the file of the games of self-play.
pub(super) const SELF_PLAY_GAMES: &str = "self-play.games";

/// Name of the folder of their parts.
pub(super) const SELF_PLAY_PARTS: &str = "self-play";

/// Files of a round.
#[derive(Clone, Debug)]
pub struct RoundFolder(PathBuf);

impl RoundFolder {
    /// Returns the folder of a round, counted from 0, in the folder of a campaign.
    pub fn new(campaign: &Path, variant: &str, round: usize) -> RoundFolder {
        RoundFolder(campaign.join(variant).join(format!("round-{}", round + 1)))
    }

    /// Returns the folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the file of games that are still being played.
    pub fn partial_games(&self) -> PathBuf {
        self.0.join("games.partial.tsv")
    }

    /// Returns the file of the games of the reference engine.
    pub fn games(&self) -> PathBuf {
        self.0.join("games.tsv.gz")
    }

    /// Returns the network that plays games of self-play.
    pub fn self_play_network(&self) -> PathBuf {
        self.0.join("self-play.onnx")
    }

    /// Returns the file of the games of self-play.
    pub fn self_play_games(&self) -> PathBuf {
        self.0.join(SELF_PLAY_GAMES)
    }

    /// Returns the file of the games of self-play that the reference engine or alpha-beta scored.
    pub fn scored_games(&self) -> PathBuf {
        self.0.join("scored.games")
    }

    /// Returns the folder of parts of them.
    pub fn scored_parts(&self) -> PathBuf {
        self.0.join("scored")
    }

    /// Returns the folder of the training run.
    pub fn training(&self) -> PathBuf {
        self.0.join("train")
    }

    /// Returns the new network.
    pub fn candidate(&self) -> PathBuf {
        self.0.join("candidate.int8.onnx")
    }

    /// Returns the network that the new one plays against.
    pub fn baseline(&self) -> PathBuf {
        self.0.join("baseline.onnx")
    }

    /// Returns the folder of the match.
    pub fn contest(&self) -> PathBuf {
        self.0.join("match")
    }
}

/// What a stage works with.
#[derive(Clone, Copy)]
pub(super) struct RoundContext<'a> {
    pub(super) settings: &'a CampaignSettings,
    pub(super) plan: &'a VariantPlan,
    /// Counted from 0.
    pub(super) round: usize,
    pub(super) stop: &'a AtomicBool,
    /// To be called now and then, as after each game: keeps account of CPU time.
    pub(super) tick: &'a (dyn Fn() + Sync),
}

/// Returns the encoding of a variant's positions.
pub(super) fn sparse_encoding(plan: &VariantPlan) -> anyhow::Result<SparseEncoding> {
    let encoding = SparseEncoding::new(&plan.variant.start().game_spec());
    encoding.ok_or_else(|| anyhow::anyhow!("{} has no pieces that move", plan.name()))
}

impl RoundContext<'_> {
    pub(super) fn folder(&self) -> RoundFolder {
        self.folder_of(self.round)
    }

    /// Returns the folder of another round of the variant.
    pub(super) fn folder_of(&self, round: usize) -> RoundFolder {
        RoundFolder::new(&self.settings.folder, self.plan.name(), round)
    }

    /// Returns the seed of the round's games.
    pub(super) fn seed(&self) -> u64 {
        self.settings.seed.wrapping_add(1 + self.round as u64)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns a bar of games.
    pub(super) fn games_bar(&self, stage: &str, games: u64) -> anyhow::Result<ProgressBar> {
        let style = ProgressStyle::with_template(
            "{prefix} {bar:40} {pos}/{len} games, {elapsed} of {duration}",
        )?;
        let prefix = format!("{} round {}: {stage}", self.plan.name(), self.round + 1);
        Ok(ProgressBar::new(games).with_style(style).with_prefix(prefix))
    }
}
