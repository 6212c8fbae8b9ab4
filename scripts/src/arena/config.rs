//! A match as data.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use menagerie::variant::{Catalogue, Variant};
use serde::{Deserialize, Serialize};

use super::opening::Openings;
use super::spec::{BLIND, Kind, PlayerSpec};
use super::statistics::Sprt;

/// All that decides which games are played: the same match has the same games, as far as chance
/// and visits decide them and not the clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchConfig {
    /// The game.
    pub variant: String,
    /// A file of games beside those that are shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variants: Option<PathBuf>,
    /// How many games; whole rounds of seatings are played.
    #[serde(default = "games")]
    pub games: u64,
    /// The seed of all that is random.
    #[serde(default = "seed")]
    pub seed: u64,
    /// A book of openings: a FEN or EPD a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub book: Option<PathBuf>,
    /// Random plies that a game begins with, without a book. If not given, 4 where two play and 0
    /// where more do, or where self-play has random starts, from which the games then begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plies: Option<u32>,
    /// Turns after which a game is drawn. Two tables may pass the same men to and fro for ever: no
    /// repetition ends what captures and drops go through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<u64>,
    /// Whether castling is that of Chess960.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chess960: bool,
    /// A test after which the match ends; for two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sprt: Option<Sprt>,
    /// Whether histories of games are kept in the JSON of reconchess; blind chess only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub histories: bool,
    /// Who plays, as many as the game has sides.
    pub players: Vec<PlayerSpec>,
}

fn games() -> u64 {
    100
}

fn seed() -> u64 {
    1
}

impl MatchConfig {
    /// A match of a game between players, with all else as it is unless said.
    pub fn new(variant: &str, players: Vec<PlayerSpec>) -> MatchConfig {
        MatchConfig {
            variant: variant.to_owned(),
            variants: None,
            games: games(),
            seed: seed(),
            book: None,
            plies: None,
            longest: None,
            chess960: false,
            sprt: None,
            histories: false,
            players,
        }
    }

    /// Reads a match from a TOML file.
    ///
    /// # Errors
    /// What is wrong, with the file and the place.
    pub fn read(path: &Path) -> anyhow::Result<MatchConfig> {
        let name = path.display();
        toml::from_str(&read(path)?).map_err(|error| anyhow::anyhow!("{name}: {error}"))
    }

    /// Whether all of it makes sense for its game.
    ///
    /// # Errors
    /// In words, what does not.
    pub fn check(&self, variant: &Variant) -> anyhow::Result<()> {
        let (sides, players) = (variant.start().game_spec().sides, self.players.len());
        anyhow::ensure!(sides == players, "{} is for {sides} players, not {players}", self.variant);
        anyhow::ensure!(!self.histories, "histories are of blind chess");
        self.check_players(Kind::seeing)?;
        anyhow::ensure!(self.book.is_none() || self.plies.is_none(), "a book, or random plies?");
        if let Some(sprt) = &self.sprt {
            anyhow::ensure!(sides == 2, "a sequential test is for two players, not {sides}");
            sprt.check().map_err(anyhow::Error::msg)?;
        }
        anyhow::ensure!(self.games > 0, "no games at all");
        anyhow::ensure!(self.longest != Some(0), "no turns at all");
        Ok(())
    }

    /// Whether all of it makes sense for blind chess.
    ///
    /// # Errors
    /// In words, what does not.
    pub fn check_blind(&self) -> anyhow::Result<()> {
        let players = self.players.len();
        anyhow::ensure!(players == 2, "{BLIND} is for 2 players, not {players}");
        self.check_players(Kind::blind)?;
        let others = self.book.is_some() || self.chess960 || self.variants.is_some();
        let others = others || self.longest.is_some();
        anyhow::ensure!(!others, "{BLIND} has no book, no Chess960, no file of games, no longest");
        if let Some(sprt) = &self.sprt {
            sprt.check().map_err(anyhow::Error::msg)?;
        }
        anyhow::ensure!(self.games > 0, "no games at all");
        Ok(())
    }

    /// Whether it is blind chess.
    pub fn is_blind(&self) -> bool {
        self.variant == BLIND
    }

    fn check_players(&self, can: impl Fn(Kind) -> bool) -> anyhow::Result<()> {
        for player in &self.players {
            player.check().map_err(anyhow::Error::msg)?;
            anyhow::ensure!(can(player.kind), "{player} does not play {}", self.variant);
        }
        Ok(())
    }

    /// The shipped games and those of the match's own file.
    ///
    /// # Errors
    /// If the file cannot be read, or has a section that cannot be honoured.
    pub fn catalogue(&self) -> anyhow::Result<Catalogue> {
        let shipped = Catalogue::shipped();
        let Some(path) = &self.variants else { return Ok(shipped.clone()) };
        let (catalogue, faults) = shipped.extended(&read(path)?);
        if let Some(fault) = faults.first() {
            anyhow::bail!("{}, {fault}", path.display());
        }
        Ok(catalogue)
    }

    /// Where the games begin.
    ///
    /// # Errors
    /// If the book cannot be read.
    pub fn openings(&self, variant: &Variant) -> anyhow::Result<Openings> {
        let seed = self.seed;
        let Some(path) = &self.book else {
            let varied = variant.self_play_men().is_some() || self.players.len() > 2;
            let plies = self.plies.unwrap_or(if varied { 0 } else { 4 });
            return Ok(Openings::Random { plies, seed });
        };
        Openings::book(&read(path)?, path, variant, self.chess960, seed)
    }

    /// The checksums of the files on which the games depend, by their names. Executables are left
    /// out: what they load beside themselves is not known either.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn checksums(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let networks = self.players.iter().filter(|player| !player.kind.outside());
        let files = networks.filter_map(|player| player.file.as_ref());
        let files = files.chain(&self.book).chain(&self.variants);
        let checksum = |path: &PathBuf| {
            let name = path.display().to_string();
            let bytes = fs::read(path).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
            Ok((name, format!("{:08x}", crc32fast::hash(&bytes))))
        };
        files.map(checksum).collect()
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))
}
