//! What a campaign has done: `state.toml`, written after what it counts.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::record::replace;

const STATE: &str = "state.toml";

/// A stage of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Games are played.
    Datagen,
    /// A network learns from them.
    Train,
    /// It is written as an int8 file.
    Export,
    /// It plays against the shipped network.
    Match,
    /// It takes the place of that if it won.
    Promote,
}

impl Stage {
    /// Returns the stage's name.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Datagen => "datagen",
            Stage::Train => "train",
            Stage::Export => "export",
            Stage::Match => "match",
            Stage::Promote => "promote",
        }
    }
}

/// Result of [`Stage::Datagen`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GamesResult {
    /// Games of the round.
    pub games: u64,
    /// Who played them.
    pub source: String,
}

/// Result of [`Stage::Train`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingResult {
    /// Where the weights at the start come from: a file, or a round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// Games learned from.
    pub games: u64,
    /// Games that could not be read.
    pub bad_games: u64,
    /// Positions learned from, each counted once.
    pub positions: u64,
    /// How often each was learned from.
    pub epochs: f64,
    /// Share of the held-out positions whose move is the network's first choice.
    pub held_top1: f64,
    /// Share of the held-out positions whose outcome has the sign of the network's value.
    pub held_sign: f64,
}

/// Result of [`Stage::Export`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportResult {
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Its checksum.
    pub checksum: String,
}

/// Result of [`Stage::Match`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContestResult {
    /// The opponent.
    pub against: String,
    /// How long a move was, and where games began.
    pub conditions: String,
    /// Games won.
    pub won: u64,
    /// Games drawn.
    pub drawn: u64,
    /// Games lost.
    pub lost: u64,
    /// Difference of Elo; infinite if all points went to one.
    pub elo: f64,
    /// Lower end of its interval of 95 %.
    pub elo_low: f64,
    /// Upper end of its interval of 95 %.
    pub elo_high: f64,
    /// Whether the new network won.
    pub passed: bool,
}

/// Result of [`Stage::Promote`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromotionResult {
    /// Whether the network took the place of the shipped one.
    pub promoted: bool,
}

/// Result of a stage.
#[derive(Clone, Debug, PartialEq)]
pub enum StageResult {
    /// Of [`Stage::Datagen`].
    Datagen(GamesResult),
    /// Of [`Stage::Train`].
    Train(TrainingResult),
    /// Of [`Stage::Export`].
    Export(ExportResult),
    /// Of [`Stage::Match`].
    Match(ContestResult),
    /// Of [`Stage::Promote`].
    Promote(PromotionResult),
}

impl StageResult {
    /// Puts it into its round.
    pub fn put_into(self, round: &mut RoundState) {
        match self {
            StageResult::Datagen(result) => round.datagen = Some(result),
            StageResult::Train(result) => round.train = Some(result),
            StageResult::Export(result) => round.export = Some(result),
            StageResult::Match(result) => round.contest = Some(result),
            StageResult::Promote(result) => round.promote = Some(result),
        }
    }
}

/// A line for the log.
impl fmt::Display for StageResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StageResult::Datagen(GamesResult { games, source }) => {
                write!(f, "{games} games, {source}")
            }
            StageResult::Train(result) => write!(
                f,
                "{} positions of {} games ({} unreadable), {:.2} epochs, held-out top-1 {:.2} %",
                result.positions,
                result.games,
                result.bad_games,
                result.epochs,
                100.0 * result.held_top1
            ),
            StageResult::Export(ExportResult { bytes, checksum }) => {
                write!(f, "{bytes} bytes, checksum {checksum}")
            }
            StageResult::Match(result) => {
                let verdict = if result.passed { "won" } else { "not won" };
                write!(f, "{verdict}, {result} against {}", result.against)
            }
            StageResult::Promote(PromotionResult { promoted: true }) => write!(f, "promoted"),
            StageResult::Promote(PromotionResult { promoted: false }) => write!(f, "not promoted"),
        }
    }
}

/// W-D-L and Elo with its interval.
impl fmt::Display for ContestResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ContestResult { won, drawn, lost, .. } = self;
        // Zero is added as the logarithm of 1 may be a negative one.
        let [elo, low, high] = [self.elo, self.elo_low, self.elo_high].map(|elo| elo.round() + 0.0);
        write!(f, "{won}-{drawn}-{lost}, Elo {elo:+.0} [{low:+.0}, {high:+.0}]")
    }
}

/// A round of a variant. A stage that has a result is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundState {
    /// CPU seconds of each stage, with those of its engines.
    #[serde(default)]
    pub cpu_seconds: BTreeMap<Stage, f64>,
    /// See [`GamesResult`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagen: Option<GamesResult>,
    /// See [`TrainingResult`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train: Option<TrainingResult>,
    /// See [`ExportResult`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub export: Option<ExportResult>,
    /// See [`ContestResult`].
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub contest: Option<ContestResult>,
    /// See [`PromotionResult`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promote: Option<PromotionResult>,
}

impl RoundState {
    /// Returns the first stage that is not done; `None` if all are.
    pub fn next_stage(&self) -> Option<Stage> {
        let done = [
            (Stage::Datagen, self.datagen.is_some()),
            (Stage::Train, self.train.is_some()),
            (Stage::Export, self.export.is_some()),
            (Stage::Match, self.contest.is_some()),
            (Stage::Promote, self.promote.is_some()),
        ];
        done.into_iter().find(|(_, done)| !done).map(|(stage, _)| stage)
    }

    /// Returns the CPU seconds of all stages.
    pub fn total_cpu_seconds(&self) -> f64 {
        self.cpu_seconds.values().sum()
    }

    /// Returns whether the network of this round was promoted.
    pub fn is_promoted(&self) -> bool {
        self.promote.as_ref().is_some_and(|result| result.promoted)
    }
}

/// All rounds that have begun, by variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CampaignState {
    /// The rounds of each variant, in order.
    #[serde(default)]
    pub variants: BTreeMap<String, Vec<RoundState>>,
}

impl CampaignState {
    /// Reads the state of the campaign in a folder; that of one that has not begun if there is none.
    ///
    /// # Errors
    /// If it cannot be read, with the file.
    pub fn read(folder: &Path) -> anyhow::Result<CampaignState> {
        let path = folder.join(STATE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(CampaignState::default());
            }
            text => text.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?,
        };
        toml::from_str(&text).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))
    }

    /// Returns the number of the first round, counted from 0, that is not done, and its stage; `None` if
    /// `rounds` are.
    pub fn next_stage(&self, variant: &str, rounds: usize) -> Option<(usize, Stage)> {
        (0..rounds).find_map(|round| {
            let stage = match self.round(variant, round) {
                Some(state) => state.next_stage()?,
                None => Stage::Datagen,
            };
            Some((round, stage))
        })
    }

    /// Returns a round, counted from 0; `None` if it has not begun.
    pub fn round(&self, variant: &str, round: usize) -> Option<&RoundState> {
        self.variants.get(variant)?.get(round)
    }
}

/// The state of a campaign that is running, and its file.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    state: Mutex<CampaignState>,
}

impl Ledger {
    /// Opens the state of the campaign in a folder.
    ///
    /// # Errors
    /// Those of [`CampaignState::read`].
    pub fn open(folder: &Path) -> anyhow::Result<Ledger> {
        let state = Mutex::new(CampaignState::read(folder)?);
        Ok(Ledger { path: folder.join(STATE), state })
    }

    /// Returns a copy of the state.
    pub fn state(&self) -> CampaignState {
        self.lock().clone()
    }

    /// Changes a round, counted from 0, and writes the state.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn change(
        &self,
        variant: &str,
        round: usize,
        change: impl FnOnce(&mut RoundState),
    ) -> anyhow::Result<()> {
        let mut state = self.lock();
        let rounds = state.variants.entry(variant.to_owned()).or_default();
        if rounds.len() <= round {
            rounds.resize_with(round + 1, RoundState::default);
        }
        change(&mut rounds[round]);
        let text = toml::to_string(&*state)?;
        replace(&self.path, text.as_bytes())
            .map_err(|error| anyhow::anyhow!("{}: {error}", self.path.display()))
    }

    fn lock(&self) -> MutexGuard<'_, CampaignState> {
        // A change is made whole before anything else can fail.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_is_read_as_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = Ledger::open(folder.path()).expect("no state yet");
        assert_eq!(ledger.state().next_stage("atomic", 2), Some((0, Stage::Datagen)));
        let games = GamesResult { games: 7, source: "an engine".to_owned() };
        let contest = ContestResult {
            against: "no network".to_owned(),
            conditions: "100 ms a move".to_owned(),
            won: 4,
            drawn: 0,
            lost: 0,
            elo: f64::INFINITY,
            elo_low: f64::INFINITY,
            elo_high: f64::INFINITY,
            passed: true,
        };
        ledger
            .change("atomic", 0, |round| {
                round.datagen = Some(games.clone());
                round.contest = Some(contest);
                round.cpu_seconds.insert(Stage::Match, 1.5);
                round.cpu_seconds.insert(Stage::Datagen, 2.25);
            })
            .expect("written");
        let state = CampaignState::read(folder.path()).expect("read");
        assert_eq!(state, ledger.state());
        assert_eq!(state.next_stage("atomic", 2), Some((0, Stage::Train)));
        assert_eq!(state.next_stage("atomic", 0), None);
        assert_eq!(state.round("atomic", 0).expect("begun").total_cpu_seconds(), 3.75);
        fs::write(folder.path().join(STATE), "variants = 3").expect("written");
        let error = CampaignState::read(folder.path()).expect_err("damaged").to_string();
        assert!(error.contains("state.toml") && error.contains("variants = 3"), "{error}");
    }
}
