//! A match as data.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use menagerie::variant::Variant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::opening::Openings;
use super::spec::{PlayerKind, PlayerSpec, RBC};
use super::statistics::Sprt;
use crate::variants::find_variant_in;

/// A match: everything that decides which games are played. The same match has the same games, unless time
/// limits decide about moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MatchConfig {
    /// The variant.
    pub variant: String,
    /// File of custom variants, in the syntax of `variants.ini`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variants: Option<PathBuf>,
    /// Games, rounded up to whole rounds of seatings.
    #[serde(default = "default_games")]
    pub games: u64,
    /// Seed of openings and players.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Opening book, one FEN or EPD a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub book: Option<PathBuf>,
    /// Random plies at the start without a book. The default is 4 for two players, and 0 for more players or
    /// for a variant whose self-play starts from random positions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plies: Option<u32>,
    /// Turns after which a game is drawn. Two boards may pass the same pieces to and fro for ever: no
    /// repetition rule applies across captures and drops.
    #[serde(default, alias = "longest", skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u64>,
    /// Plays Chess960.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chess960: bool,
    /// Sequential test that ends the match, for two players.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sprt: Option<Sprt>,
    /// Keeps games of RBC in the JSON of reconchess.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub histories: bool,
    /// The players, as many as the variant has sides.
    pub players: Vec<PlayerSpec>,
}

fn default_games() -> u64 {
    100
}

fn default_seed() -> u64 {
    1
}

impl MatchConfig {
    /// Returns a match of a variant with the default settings.
    pub fn new(variant: &str, players: Vec<PlayerSpec>) -> MatchConfig {
        MatchConfig {
            variant: variant.to_owned(),
            variants: None,
            games: default_games(),
            seed: default_seed(),
            book: None,
            plies: None,
            max_turns: None,
            chess960: false,
            sprt: None,
            histories: false,
            players,
        }
    }

    /// Reads a match from a TOML file.
    ///
    /// # Errors
    /// If the file cannot be read or is no match; the message names the file and the line.
    pub fn read(path: &Path) -> anyhow::Result<MatchConfig> {
        let name = path.display();
        toml::from_str(&read(path)?).map_err(|error| anyhow::anyhow!("{name}: {error}"))
    }

    /// Checks the settings of a match of `variant`.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub fn check(&self, variant: &Variant) -> anyhow::Result<()> {
        let sides = variant.start().game_spec().sides;
        let players = self.players.len();
        anyhow::ensure!(sides == players, "{} is for {sides} players, not {players}", self.variant);
        anyhow::ensure!(!self.histories, "histories are for {RBC} only, not for {}", self.variant);
        self.check_players(PlayerKind::plays_variants)?;
        anyhow::ensure!(
            self.book.is_none() || self.plies.is_none(),
            "book and plies are mutually exclusive"
        );
        if let Some(sprt) = &self.sprt {
            anyhow::ensure!(sides == 2, "sprt is for two players, not for {sides}");
            sprt.check()?;
        }
        anyhow::ensure!(self.games > 0, "games must be above 0");
        anyhow::ensure!(self.max_turns != Some(0), "max_turns must be above 0");
        Ok(())
    }

    /// Checks the settings of a match of reconnaissance blind chess.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub fn check_rbc(&self) -> anyhow::Result<()> {
        let players = self.players.len();
        anyhow::ensure!(players == 2, "{RBC} is for 2 players, not {players}");
        self.check_players(PlayerKind::plays_rbc)?;
        for (key, is_set) in [
            ("book", self.book.is_some()),
            ("chess960", self.chess960),
            ("variants", self.variants.is_some()),
            ("max_turns", self.max_turns.is_some()),
        ] {
            anyhow::ensure!(!is_set, "{RBC} has no setting {key}");
        }
        if let Some(sprt) = &self.sprt {
            sprt.check()?;
        }
        anyhow::ensure!(self.games > 0, "games must be above 0");
        Ok(())
    }

    /// Returns `true` for reconnaissance blind chess.
    pub fn is_rbc(&self) -> bool {
        self.variant == RBC
    }

    fn check_players(&self, plays: impl Fn(PlayerKind) -> bool) -> anyhow::Result<()> {
        for player in &self.players {
            player.check()?;
            anyhow::ensure!(plays(player.kind), "{player} does not play {}", self.variant);
        }
        Ok(())
    }

    /// Returns the variant: a shipped one, or one of the match's own file.
    ///
    /// # Errors
    /// If the file cannot be read, or neither has the variant.
    pub fn find_variant(&self) -> anyhow::Result<Arc<Variant>> {
        find_variant_in(&self.variant, self.variants.as_deref())
    }

    /// Returns the openings.
    ///
    /// # Errors
    /// If the book cannot be read.
    pub fn openings(&self, variant: &Variant) -> anyhow::Result<Openings> {
        let seed = self.seed;
        let Some(path) = &self.book else {
            let random_starts = variant.self_play_pieces().is_some();
            let is_varied = random_starts || self.players.len() > 2;
            let plies = self.plies.unwrap_or(if is_varied { 0 } else { 4 });
            return Ok(Openings::Random { plies, seed, chess960: self.chess960 });
        };
        Openings::book(&read(path)?, path, variant, self.chess960, seed)
    }

    /// Returns the checksums of the files on which the games depend, by file name. Executables are left out,
    /// since the files that they load are unknown.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn checksums(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let networks = self.players.iter().filter(|player| !player.kind.is_external());
        let files = networks.filter_map(|player| player.file.as_ref());
        files.chain(&self.book).chain(&self.variants).map(|path| checksum(path)).collect()
    }
}

/// Returns the name of a file and its checksum.
fn checksum(path: &Path) -> anyhow::Result<(String, String)> {
    let name = path.display().to_string();
    let bytes = fs::read(path).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    Ok((name, format!("{:08x}", crc32fast::hash(&bytes))))
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))
}
