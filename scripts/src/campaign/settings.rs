//! Settings of a campaign: the file as it is written, and what it asks for each variant.
//!
//! The sections `[engine]`, `[self_play]`, `[datagen]`, `[train]`, `[fine_tune]` and `[match]` stand for all variants;
//! the same sections of a variant replace single keys of them. Paths are relative to the file's folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use menagerie::alphabeta;
use menagerie::encoding::SparseEncoding;
use menagerie::variant::Variant;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::arena::statistics::Sprt;
use crate::datagen::DatagenConfig;
use crate::selfplay::SelfPlayConfig;
use crate::sparse::SparseConfig;
use crate::variants::find_variant_in;

/// Why the settings of a campaign are invalid.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file, or one that it names, cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is not TOML, or has a key or a value that no campaign has.
    #[error("{path}: {source}")]
    Syntax {
        /// The file.
        path: String,
        /// The error, with the line.
        source: toml::de::Error,
    },
    /// A section has a key or a value that it cannot have.
    #[error("{path}: [{section}] of {variant}: {reason}")]
    Section {
        /// The file.
        path: String,
        /// The section.
        section: &'static str,
        /// The variant for which it was read.
        variant: String,
        /// The reason.
        reason: String,
    },
    /// A setting makes no sense.
    #[error("{path}: {reason}")]
    Unfit {
        /// The file.
        path: String,
        /// The reason, with the setting.
        reason: String,
    },
}

/// The file of a campaign as users write it; [`CampaignSettings::read`] reads it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CampaignFile {
    /// Folder of games, runs, matches, state and log.
    folder: PathBuf,
    /// Folder of the shipped networks. Promoted ones are copied to it.
    nets: PathBuf,
    /// Engines, concurrent games and training threads; all cores if not set.
    threads: Option<usize>,
    /// Nice value of the process and its children, 0 to 19.
    #[serde(default = "default_nice")]
    nice: i32,
    /// The random seed.
    #[serde(default = "default_seed")]
    seed: u64,
    /// File of custom variants, in the syntax of `variants.ini`.
    variants_file: Option<PathBuf>,
    /// The reference engine.
    #[serde(default)]
    #[schemars(with = "EngineSettings")]
    engine: Table,
    /// Self-play of the best network; keys of `[selfplay]` of a run.
    #[serde(default)]
    #[schemars(with = "SelfPlayConfig")]
    self_play: Table,
    /// Games of a round.
    #[serde(default)]
    #[schemars(with = "DatagenSettings")]
    datagen: Table,
    /// Training of a round; keys of a sparse network's `config.toml`.
    #[serde(default)]
    #[schemars(with = "SparseConfig")]
    train: Table,
    /// Training of a round of self-play. Replaces keys of `[train]`.
    #[serde(default)]
    #[schemars(with = "SparseConfig")]
    fine_tune: Table,
    /// Match of a round.
    #[serde(default, rename = "match")]
    #[schemars(with = "ContestSettings")]
    contest: Table,
    /// The variants.
    #[serde(default)]
    variants: Vec<VariantEntry>,
}

/// A variant of a [`CampaignFile`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VariantEntry {
    /// The variant.
    name: String,
    /// Labelled games that exist already.
    #[serde(default)]
    records: Vec<PathBuf>,
    /// Rounds.
    #[serde(default = "default_rounds")]
    rounds: usize,
    /// Replaces keys of `[engine]`.
    #[serde(default)]
    #[schemars(with = "EngineSettings")]
    engine: Table,
    /// Replaces keys of `[self_play]`.
    #[serde(default)]
    #[schemars(with = "SelfPlayConfig")]
    self_play: Table,
    /// Replaces keys of `[datagen]`.
    #[serde(default)]
    #[schemars(with = "DatagenSettings")]
    datagen: Table,
    /// Replaces keys of `[train]`.
    #[serde(default)]
    #[schemars(with = "SparseConfig")]
    train: Table,
    /// Replaces keys of `[fine_tune]`.
    #[serde(default)]
    #[schemars(with = "SparseConfig")]
    fine_tune: Table,
    /// Replaces keys of `[match]`.
    #[serde(default, rename = "match")]
    #[schemars(with = "ContestSettings")]
    contest: Table,
}

fn default_nice() -> i32 {
    19
}

/// Not the default seed of `datagen`, whose games would be generated again.
fn default_seed() -> u64 {
    1000
}

fn default_rounds() -> usize {
    1
}

/// A UCI engine that plays games to learn from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EngineSettings {
    /// The executable. A bare name that is not a file next to the settings is looked for in `PATH`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Nodes of a move.
    pub nodes: u64,
    /// UCI options.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

impl EngineSettings {
    /// Returns the defaults of the reference engine.
    pub fn reference() -> EngineSettings {
        EngineSettings { file: None, nodes: 500, options: BTreeMap::new() }
    }
}

/// Who plays the games of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GameSource {
    /// The reference engine. The network learns from `records` and the games of all rounds so far, as `[train]` says.
    Engine,
    /// Self-play of the best network so far. The next one begins with its weights and learns from games of self-play
    /// only, as `[fine_tune]` says.
    #[serde(rename = "self")]
    SelfPlay,
    /// In round 1, self-play of a network of random weights. The first network is new, too, and learns from it as
    /// `[train]` says.
    Untrained,
}

/// Games to learn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatagenSettings {
    /// Games of a round; 0 to train from `records` alone.
    pub games: u64,
    /// Who plays the games of round 1. `"self"` needs a network in `nets`; `"untrained"` begins with nothing but the rules.
    pub first: GameSource,
    /// Who plays the games from round 2 on; not `"untrained"`.
    pub later: GameSource,
    /// Rounds of self-play from whose games a network learns: its own and those before.
    pub window: usize,
    /// Games of a round of self-play whose positions the reference engine scores. The value learns from its scores, too.
    pub scored_games: u64,
    /// Nodes of a search by alpha-beta, by the network that plays, of each position of the games of self-play. Its scores
    /// replace those of the games, and side positions are left out; 0 keeps them all.
    pub alpha_beta_nodes: u64,
    /// Greatest number of random plies at the start of games of the reference engine.
    pub opening: usize,
    /// Share of random turns, 0 to 1, in the first 60 of games of the reference engine.
    pub random: f64,
    /// Greatest score, in centipawns, for either side after the random plies at the start of games of the reference
    /// engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_opening_score: Option<u32>,
    /// Score in centipawns at which games of the reference engine end as won, if it is reached in four plies in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub win_score: Option<u32>,
}

impl Default for DatagenSettings {
    fn default() -> DatagenSettings {
        DatagenSettings {
            games: 20_000,
            first: GameSource::Engine,
            later: GameSource::Engine,
            window: 2,
            scored_games: 0,
            alpha_beta_nodes: 0,
            opening: 9,
            random: DatagenConfig::DEFAULT_RANDOM,
            max_opening_score: None,
            win_score: None,
        }
    }
}

impl DatagenSettings {
    /// Returns whether the games of a round, counted from 0, are of self-play.
    pub fn is_self_play(&self, round: usize) -> bool {
        let source = if round == 0 { self.first } else { self.later };
        source != GameSource::Engine
    }

    /// Returns whether the games of a round, counted from 0, are played by a network that has not learned anything.
    pub fn is_untrained(&self, round: usize) -> bool {
        round == 0 && self.first == GameSource::Untrained
    }
}

/// The match of a new network against the shipped one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContestSettings {
    /// Greatest number of games.
    pub games: u64,
    /// Sequential test that ends the match: `"ELO0,ELO1"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sprt: Option<String>,
    /// Visits of a move by Monte-Carlo tree search.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "nodes")]
    pub visits: Option<u32>,
    /// Nodes of a move by alpha-beta, in variants that are played by it; ten times the visits if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha_beta_nodes: Option<u32>,
    /// Milliseconds of a move; 100 if nothing limits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub movetime: Option<u64>,
    /// Folder of opening books `VARIANT.epd`. A variant without one starts with random plies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub books: Option<PathBuf>,
    /// Turns after which a game is drawn.
    #[serde(alias = "longest")]
    pub max_turns: u64,
}

impl Default for ContestSettings {
    fn default() -> ContestSettings {
        ContestSettings {
            games: 400,
            sprt: None,
            visits: None,
            alpha_beta_nodes: None,
            movetime: None,
            books: None,
            max_turns: 600,
        }
    }
}

/// What a campaign does for one variant.
#[derive(Clone, Debug)]
pub struct VariantPlan {
    /// The variant.
    pub variant: Arc<Variant>,
    /// Games that were there before the campaign.
    pub records: Vec<PathBuf>,
    /// Rounds to do.
    pub rounds: usize,
    /// The reference engine.
    pub engine: EngineSettings,
    /// Self-play of our own network.
    pub self_play: SelfPlayConfig,
    /// Games of a round.
    pub datagen: DatagenSettings,
    /// Training of a round with games of the reference engine, or of an untrained network.
    pub train: SparseConfig,
    /// Training of a round of self-play.
    pub fine_tune: SparseConfig,
    /// The match of a round.
    pub contest: ContestSettings,
    /// The test of that match.
    pub sprt: Option<Sprt>,
}

impl VariantPlan {
    /// Returns the name of the variant.
    pub fn name(&self) -> &str {
        self.variant.name()
    }

    /// Returns the settings of the training of a round, counted from 0.
    pub fn training(&self, round: usize) -> &SparseConfig {
        let has_start = self.datagen.is_self_play(round) && !self.datagen.is_untrained(round);
        if has_start { &self.fine_tune } else { &self.train }
    }
}

/// A campaign as its file asks for it.
#[derive(Clone, Debug)]
pub struct CampaignSettings {
    /// Folder of the campaign.
    pub folder: PathBuf,
    /// Folder of the shipped networks, to which promoted ones go.
    pub nets: PathBuf,
    /// Threads, games at a time and engines at a time.
    pub threads: usize,
    /// Nice value of the process and its children.
    pub nice: i32,
    /// Seed of all that is random.
    pub seed: u64,
    /// The user's own variants.
    pub variants_file: Option<PathBuf>,
    /// The variants, in their order.
    pub plans: Vec<VariantPlan>,
}

impl CampaignSettings {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`SettingsError`], for the first thing that is wrong.
    pub fn read(path: &Path) -> Result<CampaignSettings, SettingsError> {
        let name = path.display().to_string();
        let file: CampaignFile = toml::from_str(&read_text(path)?)
            .map_err(|source| SettingsError::Syntax { path: name.clone(), source })?;
        let base = path.parent().unwrap_or(Path::new(""));
        let base = std::path::absolute(base.join("."))
            .map_err(|source| SettingsError::Io { path: name.clone(), source })?;
        let reader = Reader { name, base };
        let variants_file = file.variants_file.as_deref().map(|path| reader.resolve(path));
        let mut names = BTreeSet::new();
        let mut plans = Vec::new();
        for entry in &file.variants {
            if !names.insert(entry.name.as_str()) {
                return Err(reader.unfit(format!("variant \"{}\" stands twice", entry.name)));
            }
            plans.push(reader.plan(&file, entry, variants_file.as_deref())?);
        }
        if plans.is_empty() {
            return Err(reader.unfit("no [[variants]]".to_owned()));
        }
        if !(0..20).contains(&file.nice) {
            return Err(reader.unfit(format!("nice is {}, not 0 to 19", file.nice)));
        }
        if file.threads == Some(0) {
            return Err(reader.unfit("threads is 0".to_owned()));
        }
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        Ok(CampaignSettings {
            folder: reader.resolve(&file.folder),
            nets: reader.resolve(&file.nets),
            threads: file.threads.unwrap_or_else(cores),
            nice: file.nice,
            seed: file.seed,
            variants_file,
            plans,
        })
    }
}

fn read_text(path: &Path) -> Result<String, SettingsError> {
    std::fs::read_to_string(path)
        .map_err(|source| SettingsError::Io { path: path.display().to_string(), source })
}

/// Makes plans of the file's sections.
struct Reader {
    name: String,
    /// The file's folder.
    base: PathBuf,
}

impl Reader {
    fn unfit(&self, reason: String) -> SettingsError {
        SettingsError::Unfit { path: self.name.clone(), reason }
    }

    fn resolve(&self, path: &Path) -> PathBuf {
        // Without "." and "..", as far as the text goes: the path stands in messages.
        let mut resolved = PathBuf::new();
        for component in self.base.join(path).components() {
            match component {
                std::path::Component::CurDir => {}
                std::path::Component::ParentDir => {
                    resolved.pop();
                }
                other => resolved.push(other),
            }
        }
        resolved
    }

    /// Resolves an executable: a bare name may also be one in `PATH`.
    fn executable(&self, path: &Path) -> Result<PathBuf, SettingsError> {
        let resolved = self.resolve(path);
        let bare = path.components().count() == 1;
        if resolved.is_file() {
            Ok(resolved)
        } else if bare {
            Ok(path.to_owned())
        } else {
            Err(self.unfit(format!("no engine \"{}\"", resolved.display())))
        }
    }

    fn plan(
        &self,
        file: &CampaignFile,
        entry: &VariantEntry,
        variants_file: Option<&Path>,
    ) -> Result<VariantPlan, SettingsError> {
        let name = entry.name.as_str();
        let variant =
            find_variant_in(name, variants_file).map_err(|error| self.unfit(error.to_string()))?;
        let engine = EngineSettings::reference();
        let self_play = SelfPlayConfig::for_sparse();
        let datagen = DatagenSettings::default();
        let contest = ContestSettings::default();
        let layers = [&file.train, &entry.train];
        let train = self.section("train", name, &SparseConfig::for_variant(name), layers)?;
        let fine_tune = SparseConfig {
            learning_rate: 4e-4,
            batch: train.batch.min(1024),
            epochs: Some(3.0),
            start: None,
            ..train.clone()
        };
        let mut plan = VariantPlan {
            variant,
            records: entry.records.iter().map(|path| self.resolve(path)).collect(),
            rounds: entry.rounds,
            engine: self.section("engine", name, &engine, [&file.engine, &entry.engine])?,
            self_play: self.section(
                "self_play",
                name,
                &self_play,
                [&file.self_play, &entry.self_play],
            )?,
            datagen: self.section("datagen", name, &datagen, [&file.datagen, &entry.datagen])?,
            train,
            fine_tune: self.section(
                "fine_tune",
                name,
                &fine_tune,
                [&file.fine_tune, &entry.fine_tune],
            )?,
            contest: self.section("match", name, &contest, [&file.contest, &entry.contest])?,
            sprt: None,
        };
        for training in [&mut plan.train, &mut plan.fine_tune] {
            training.variant = name.to_owned();
            training.start = training.start.as_deref().map(|path| self.resolve(path));
        }
        let engine = plan.engine.file.as_deref();
        plan.engine.file = engine.map(|path| self.executable(path)).transpose()?;
        let contest = &mut plan.contest;
        if contest.visits.is_none() && contest.movetime.is_none() {
            contest.movetime = Some(100);
        }
        contest.books = contest.books.as_deref().map(|path| self.resolve(path));
        let in_match = |reason| self.wrong("match", name, reason);
        plan.sprt = contest
            .sprt
            .as_deref()
            .map(str::parse::<Sprt>)
            .transpose()
            .map_err(|error| in_match(error.to_string()))?;
        self.check(&plan)?;
        Ok(plan)
    }

    fn check(&self, plan: &VariantPlan) -> Result<(), SettingsError> {
        let name = plan.name();
        let game_spec = plan.variant.start().game_spec();
        let unfit = |reason: String| Err(self.unfit(format!("variant \"{name}\": {reason}")));
        if game_spec.sides != 2 || SparseEncoding::new(&game_spec).is_none() {
            return unfit("no sparse network plays it".to_owned());
        }
        // The name becomes that of a folder and of a file.
        if Path::new(name).file_name() != Some(name.as_ref()) {
            return unfit("the name is none for a folder".to_owned());
        }
        if plan.rounds == 0 {
            return unfit("rounds is 0".to_owned());
        }
        if let Some(missing) = plan.records.iter().find(|path| !path.is_file()) {
            return unfit(format!("no records \"{}\"", missing.display()));
        }
        let DatagenSettings { games, random, .. } = plan.datagen;
        if games == 0 && plan.records.is_empty() {
            return unfit("neither games nor records to learn from".to_owned());
        }
        let needs_engine = (0..plan.rounds.min(2)).any(|round| !plan.datagen.is_self_play(round));
        if games > 0 && needs_engine && plan.engine.file.is_none() {
            return unfit("games to play, and no file in [engine]".to_owned());
        }
        if plan.datagen.scored_games > 0 {
            if plan.engine.file.is_none() {
                return unfit("games to score, and no file in [engine]".to_owned());
            }
            if plan.variant.has_two_boards() {
                return unfit("no engine scores positions of two boards".to_owned());
            }
        }
        if plan.datagen.alpha_beta_nodes > 0 {
            if plan.datagen.scored_games > 0 {
                return unfit("either scored_games or alpha_beta_nodes, not both".to_owned());
            }
            if !alphabeta::supports(&plan.variant.start()) {
                return unfit("alpha_beta_nodes need two sides and one board".to_owned());
            }
        }
        if plan.datagen.later == GameSource::Untrained {
            let reason = "later is \"untrained\", which only first can be".to_owned();
            return Err(self.wrong("datagen", name, reason));
        }
        if !(0.0..=1.0).contains(&random) {
            return Err(self.wrong("datagen", name, format!("random is {random}, not 0 to 1")));
        }
        if plan.datagen.window == 0 {
            return Err(self.wrong("datagen", name, "window is 0".to_owned()));
        }
        if plan.engine.nodes == 0 {
            return Err(self.wrong("engine", name, "nodes are 0".to_owned()));
        }
        if let Err(error) = plan.self_play.params() {
            return Err(self.wrong("self_play", name, error.to_string()));
        }
        if let Err(error) = plan.self_play.opening.positions(&plan.variant) {
            return Err(self.wrong("self_play", name, format!("opening.starts: {error}")));
        }
        if plan.self_play.visits == 0 {
            return Err(self.wrong("self_play", name, "visits are 0".to_owned()));
        }
        let ContestSettings { games, visits, alpha_beta_nodes, movetime, max_turns, .. } =
            plan.contest;
        let limits = [visits, alpha_beta_nodes].map(|limit| limit.map(u64::from));
        if games == 0 || max_turns == 0 || limits.contains(&Some(0)) || movetime == Some(0) {
            let reason = "games, max_turns, visits, alpha_beta_nodes and movetime must be above 0";
            let reason = reason.to_owned();
            return Err(self.wrong("match", name, reason));
        }
        for (section, training) in [("train", &plan.train), ("fine_tune", &plan.fine_tune)] {
            let unfit = |reason| Err(self.wrong(section, name, reason));
            if let Err(error) = training.check() {
                return unfit(error.to_string());
            }
            if let Some(start) = &training.start
                && !start.is_file()
            {
                return unfit(format!("no start \"{}\"", start.display()));
            }
        }
        if plan.fine_tune.network != plan.train.network {
            let reason = "the network must have the sizes of [train]".to_owned();
            return Err(self.wrong("fine_tune", name, reason));
        }
        Ok(())
    }

    fn wrong(&self, section: &'static str, variant: &str, reason: String) -> SettingsError {
        let path = self.name.clone();
        let variant = variant.to_owned();
        SettingsError::Section { path, section, variant, reason }
    }

    /// Reads a section: the defaults, of which the later layers replace keys.
    fn section<T: Serialize + DeserializeOwned>(
        &self,
        section: &'static str,
        variant: &str,
        defaults: &T,
        layers: [&Table; 2],
    ) -> Result<T, SettingsError> {
        let read = || {
            let mut merged = Table::try_from(defaults).map_err(|error| error.to_string())?;
            for layer in layers {
                merge(&mut merged, layer);
            }
            merged.try_into().map_err(|error: toml::de::Error| error.to_string().trim().to_owned())
        };
        read().map_err(|reason| self.wrong(section, variant, reason))
    }
}

/// Keys of earlier versions, which replace the defaults of the new ones.
const RENAMED_KEYS: [(&str, &str); 1] = [("longest", "max_turns")];

/// Puts the values of `layer` into `table`, in tables key by key.
fn merge(table: &mut Table, layer: &Table) {
    for (key, value) in layer {
        let renamed = RENAMED_KEYS.iter().find(|(old, _)| old == key);
        let key = renamed.map_or(key.as_str(), |(_, new)| new);
        match (table.get_mut(key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => merge(below, above),
            _ => {
                table.insert(key.to_owned(), value.clone());
            }
        }
    }
}
