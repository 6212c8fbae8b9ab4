//! Players as data: the kind of a player, its limits and its settings.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use menagerie::search::Params;
use menagerie_rbc::{OptionsError, PlayerOptions, Players};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlayerKind {
    /// Monte-Carlo tree search with a network.
    Net,
    /// Alpha-beta search with a sparse int8 network.
    AlphaBeta,
    /// Monte-Carlo tree search without a network: uniform policy, every position a draw.
    Uniform,
    /// Plain MCTS, the opponent of Multiplayer AlphaZero.
    Plain,
    /// Random legal moves.
    Random,
    /// A player that the program using this library creates
    /// ([`CreatePlayer`](super::player::CreatePlayer)). It cannot be named on the command line.
    #[schemars(skip)]
    Custom,
    /// An engine that speaks UCI.
    Uci,
    /// An engine that speaks the protocol of XBoard.
    Xboard,
    /// The player of reconnaissance blind chess of this project.
    Rbc,
    /// A player of reconnaissance blind chess that senses at random and follows one of four short plans, as the
    /// AttackerBot of reconchess.
    Attacker,
}

/// The name of reconnaissance blind chess in matches.
pub const RBC: &str = "rbc";

impl PlayerKind {
    /// The kinds that can be named on the command line.
    const NAMED: [(&str, PlayerKind); 9] = [
        ("net", PlayerKind::Net),
        ("alphabeta", PlayerKind::AlphaBeta),
        ("uniform", PlayerKind::Uniform),
        ("plain", PlayerKind::Plain),
        ("random", PlayerKind::Random),
        ("uci", PlayerKind::Uci),
        ("xboard", PlayerKind::Xboard),
        ("rbc", PlayerKind::Rbc),
        ("attacker", PlayerKind::Attacker),
    ];

    /// Returns `true` for engines, which are executables.
    pub fn is_external(self) -> bool {
        matches!(self, PlayerKind::Uci | PlayerKind::Xboard)
    }

    /// Returns `true` if the player plays reconnaissance blind chess.
    pub fn plays_rbc(self) -> bool {
        matches!(self, PlayerKind::Rbc | PlayerKind::Attacker | PlayerKind::Random)
    }

    /// Returns `true` if the player plays the variants of the catalogue.
    pub fn plays_variants(self) -> bool {
        !matches!(self, PlayerKind::Rbc | PlayerKind::Attacker)
    }

    fn has_network(self) -> bool {
        matches!(self, PlayerKind::Net | PlayerKind::AlphaBeta)
    }

    fn needs_file(self) -> bool {
        self.is_external() || self.has_network()
    }

    fn name(self) -> &'static str {
        PlayerKind::NAMED.iter().find(|(_, kind)| *kind == self).map_or("custom", |(name, _)| name)
    }
}

/// Why a player or a time control is invalid.
#[derive(Debug, thiserror::Error)]
pub enum PlayerSpecError {
    /// There is no such kind of player.
    #[error("unknown kind of player \"{0}\", expected one of {known}", known = known_kinds())]
    UnknownKind(String),
    /// A part of the text is not `NAME=VALUE`.
    #[error("\"{0}\" is not NAME=VALUE")]
    NotAPair(String),
    /// A setting has an invalid value.
    #[error("invalid value \"{value}\" of {key}")]
    Value {
        /// The name of the setting.
        key: String,
        /// The value.
        value: String,
    },
    /// The text is no time control.
    #[error("invalid time control \"{0}\", expected BASE+INCREMENT in seconds, such as 60+0.6")]
    TimeControl(String),
    /// The settings do not fit the kind of the player, or each other.
    #[error("{player}: {reason}")]
    Setting {
        /// The player.
        player: String,
        /// The reason.
        reason: &'static str,
    },
    /// A parameter of the search is unknown or out of range.
    #[error("{0}")]
    Parameter(String),
    /// An option of a player of reconnaissance blind chess is invalid.
    #[error(transparent)]
    RbcOptions(#[from] OptionsError),
}

/// Returns the kinds that can be named on the command line.
fn known_kinds() -> String {
    PlayerKind::NAMED.map(|(name, _)| name).join(", ")
}

/// A clock for a whole game, in milliseconds; written `base+increment` in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct TimeControl {
    /// The time at the start.
    pub base: u64,
    /// The time that each turn adds.
    pub increment: u64,
}

impl FromStr for TimeControl {
    type Err = PlayerSpecError;

    fn from_str(text: &str) -> Result<TimeControl, PlayerSpecError> {
        let (base, increment) = text.split_once('+').unwrap_or((text, "0"));
        let milliseconds = |part: &str| match part.parse::<f64>() {
            Ok(seconds) if (0.0..=MAX_CLOCK_SECONDS).contains(&seconds) => {
                Ok((seconds * 1e3).round() as u64)
            }
            _ => Err(PlayerSpecError::TimeControl(text.to_owned())),
        };
        Ok(TimeControl { base: milliseconds(base)?, increment: milliseconds(increment)? })
    }
}

impl fmt::Display for TimeControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.base as f64 / 1e3, self.increment as f64 / 1e3)
    }
}

impl TryFrom<String> for TimeControl {
    type Error = PlayerSpecError;

    fn try_from(text: String) -> Result<TimeControl, PlayerSpecError> {
        text.parse()
    }
}

impl From<TimeControl> for String {
    fn from(time: TimeControl) -> String {
        time.to_string()
    }
}

/// A player: its kind, its limits and its settings.
///
/// The form on the command line is `kind:FILE,key=value,...`: `net:nets/3x3.onnx,visits=50`,
/// `uniform:visits=100`, `random`, `uci:engine,nodes=1000,option.Hash=16`. Keys that are no field of this
/// type are parameters of the search. All keys of `rbc:sense=entropy,turn=200` except `name` are options of
/// `menagerie-rbc`. In bughouse `xboard:FILE` is one process for each of two boards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlayerSpec {
    /// The kind of player.
    pub kind: PlayerKind,
    /// The network or executable. For a custom player, the file that it reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The name, short for the other settings if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The variant for which the network was trained, if another one. It has most of the moves.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub trained_for: Option<String>,
    /// Visits of a turn; `nodes` of alpha-beta and of UCI engines.
    #[serde(default, alias = "nodes", skip_serializing_if = "Option::is_none")]
    pub visits: Option<u32>,
    /// Milliseconds of a turn. Many XBoard engines support whole seconds only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub movetime: Option<u64>,
    /// Depth of a turn's search, for engines. Also for custom players.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Clock of an engine, `BASE+INCREMENT` in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tc: Option<TimeControl>,
    /// Milliseconds by which an engine may exceed its time; 500 if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<u64>,
    /// Milliseconds after which an engine without time limit loses; 120,000 if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<u64>,
    /// Executable for the second board, for XBoard engines. It is given if the pair consists of two different
    /// ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partner: Option<PathBuf>,
    /// Arguments of the executable, separated by spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<String>,
    /// Starts each search with an empty tree. Otherwise the tree is kept as the engine does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// Search parameters, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub search: BTreeMap<String, f32>,
    /// Options of an engine or of an RBC player, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

/// Default of [`PlayerSpec::margin`].
const DEFAULT_MARGIN_MS: u64 = 500;
/// Default of [`PlayerSpec::patience`].
const DEFAULT_PATIENCE_MS: u64 = 120_000;
/// Longest time of a time control.
const MAX_CLOCK_SECONDS: f64 = 1e6;

impl PlayerSpec {
    /// Returns a player of a kind, without limits or settings.
    pub fn new(kind: PlayerKind) -> PlayerSpec {
        PlayerSpec {
            kind,
            file: None,
            name: None,
            trained_for: None,
            visits: None,
            movetime: None,
            depth: None,
            tc: None,
            margin: None,
            patience: None,
            partner: None,
            args: None,
            fresh: false,
            search: BTreeMap::new(),
            options: BTreeMap::new(),
        }
    }

    /// Returns the name of the player.
    pub fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| {
            let stem = self.file.as_deref().and_then(|file| file.file_stem());
            let stem = stem.map(|stem| stem.to_string_lossy().into_owned());
            let limits = [
                self.visits.map(|visits| visits.to_string()),
                self.movetime.map(|time| format!("{time}ms")),
                self.depth.map(|depth| format!("d{depth}")),
                self.tc.map(|time| time.to_string()),
            ];
            let first = stem.unwrap_or_else(|| self.kind.name().to_owned());
            let settings = self.search.iter().map(|(key, value)| format!("{key}={value}"));
            let parts = limits.into_iter().flatten().chain(settings);
            let options = if self.kind == PlayerKind::Rbc { Some(&self.options) } else { None };
            let options = options.into_iter().flatten();
            let parts = parts.chain(options.map(|(key, value)| format!("{key}={value}")));
            std::iter::once(first).chain(parts).collect::<Vec<_>>().join("-")
        })
    }

    /// Returns the milliseconds by which an external engine may exceed its time.
    pub fn margin(&self) -> u64 {
        self.margin.unwrap_or(DEFAULT_MARGIN_MS)
    }

    /// Returns the milliseconds that an external engine may use for a turn without a time limit.
    pub fn patience(&self) -> u64 {
        self.patience.unwrap_or(DEFAULT_PATIENCE_MS)
    }

    /// Returns the commands of XBoard's protocol that limit the search.
    pub(super) fn xboard_limits(&self) -> Vec<String> {
        let depth = self.depth.map(|depth| format!("sd {depth}"));
        let time = self.movetime.map(|time| format!("st {}", time / 1000));
        let clock = self.tc.map(|time| {
            let base = time.base.div_ceil(1000);
            let increment = time.increment as f64 / 1e3;
            format!("level 0 {}:{:02} {increment}", base / 60, base % 60)
        });
        [clock, time, depth].into_iter().flatten().collect()
    }

    /// Returns the parameters of the search: `defaults`, with those of the player.
    ///
    /// # Errors
    /// [`PlayerSpecError::Parameter`] if a name is unknown or a value is out of range.
    pub fn params(&self, defaults: Params) -> Result<Params, PlayerSpecError> {
        let mut params = defaults;
        for (name, value) in &self.search {
            let set = params.set(name, *value);
            set.map_err(|error| PlayerSpecError::Parameter(error.to_string()))?;
        }
        Ok(params)
    }

    /// Creates players of RBC with these options.
    ///
    /// # Errors
    /// If an option is unknown or has an invalid value.
    pub fn rbc_players(&self) -> Result<Players, OptionsError> {
        let pairs = self.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        Ok(PlayerOptions::from_pairs(pairs)?.players())
    }

    /// Returns a parameter of the search, or `default` if it is not set.
    pub fn parameter(&self, name: &str, default: f32) -> f32 {
        self.search.get(name).copied().unwrap_or(default)
    }

    fn error(&self, reason: &'static str) -> PlayerSpecError {
        PlayerSpecError::Setting { player: self.to_string(), reason }
    }

    /// Checks that the settings fit the kind of the player and each other.
    ///
    /// # Errors
    /// If they do not.
    pub fn check(&self) -> Result<(), PlayerSpecError> {
        if self.kind != PlayerKind::Custom && self.kind.needs_file() != self.file.is_some() {
            let needs_file = self.kind.needs_file();
            return Err(self.error(if needs_file { "needs a file" } else { "takes no file" }));
        }
        self.check_keys()?;
        self.check_limits()?;
        match self.kind {
            PlayerKind::Rbc => self.rbc_players().map(drop).map_err(PlayerSpecError::RbcOptions),
            PlayerKind::Net | PlayerKind::Uniform => self.params(Params::default()).map(drop),
            PlayerKind::Plain => {
                let is_known = |key: &String| PLAIN_PARAMETERS.contains(&key.as_str());
                match self.search.keys().find(|&key| !is_known(key)) {
                    Some(key) => Err(PlayerSpecError::Parameter(format!(
                        "plain has no parameter \"{key}\", only {}",
                        PLAIN_PARAMETERS.join(" and ")
                    ))),
                    None => Ok(()),
                }
            }
            _ if self.search.is_empty() => Ok(()),
            _ => Err(self.error("only Monte-Carlo tree searches have search parameters")),
        }
    }

    /// Checks that the kind of the player has the keys that are set.
    fn check_keys(&self) -> Result<(), PlayerSpecError> {
        let kind = self.kind;
        let engine_keys = [
            self.depth.is_some() && kind != PlayerKind::Custom,
            self.tc.is_some(),
            self.margin.is_some(),
            self.patience.is_some(),
            self.args.is_some(),
            !self.options.is_empty() && kind != PlayerKind::Rbc,
        ];
        if !kind.is_external() && engine_keys.contains(&true) {
            return Err(self.error(
                "depth, tc, margin, patience, args and options are for external engines only",
            ));
        }
        if self.trained_for.is_some() && !kind.has_network() {
            return Err(self.error("as is for networks only"));
        }
        if self.partner.is_some() && kind != PlayerKind::Xboard {
            return Err(self.error("partner is for pairs of XBoard engines only"));
        }
        Ok(())
    }

    /// Checks the limits of the search.
    fn check_limits(&self) -> Result<(), PlayerSpecError> {
        let is_limited = self.visits.is_some()
            || self.movetime.is_some()
            || self.depth.is_some()
            || self.tc.is_some();
        match self.kind {
            PlayerKind::Random | PlayerKind::Attacker if is_limited || !self.search.is_empty() => {
                return Err(self.error("this player does not search"));
            }
            PlayerKind::Rbc if is_limited || !self.search.is_empty() => {
                return Err(self.error("the limits of rbc are options of menagerie-rbc"));
            }
            // The limits of a custom player are checked where it is created.
            PlayerKind::Random | PlayerKind::Attacker | PlayerKind::Custom | PlayerKind::Rbc => {}
            _ if !is_limited => {
                return Err(self.error("no limit, set for example visits=100"));
            }
            PlayerKind::Plain if self.movetime.is_some() => {
                return Err(self.error("plain is limited by visits only"));
            }
            PlayerKind::AlphaBeta if self.fresh => {
                return Err(self.error("alpha-beta has no tree that could be empty"));
            }
            PlayerKind::Xboard if self.visits.is_some() => {
                return Err(self.error("XBoard's protocol has no nodes, set movetime, depth or tc"));
            }
            _ => {}
        }
        if self.kind == PlayerKind::Xboard && self.movetime.is_some_and(|time| time % 1000 != 0) {
            return Err(self.error(
                "st of XBoard's protocol has whole seconds, set movetime to a multiple of 1000",
            ));
        }
        if self.visits == Some(0) || self.movetime == Some(0) {
            return Err(self.error("visits and movetime must be above 0"));
        }
        Ok(())
    }
}

/// The parameters of [`PlayerKind::Plain`].
const PLAIN_PARAMETERS: [&str; 2] = ["c_puct", "root_c_puct"];

impl FromStr for PlayerSpec {
    type Err = PlayerSpecError;

    fn from_str(text: &str) -> Result<PlayerSpec, PlayerSpecError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let found = PlayerKind::NAMED.iter().find(|(known, _)| *known == name);
        let (_, kind) = found.ok_or_else(|| PlayerSpecError::UnknownKind(name.to_owned()))?;
        let mut spec = PlayerSpec::new(*kind);
        let mut parts = rest.split(',');
        if kind.needs_file() {
            spec.file = parts.next().filter(|file| !file.is_empty()).map(PathBuf::from);
        }
        for part in parts.filter(|part| !part.is_empty()) {
            let pair = part.split_once('=');
            let (key, value) = pair.ok_or_else(|| PlayerSpecError::NotAPair(part.to_owned()))?;
            spec.set(key, value)?;
        }
        spec.check()?;
        Ok(spec)
    }
}

impl PlayerSpec {
    fn set(&mut self, key: &str, value: &str) -> Result<(), PlayerSpecError> {
        fn parse<T: FromStr>(key: &str, value: &str) -> Result<T, PlayerSpecError> {
            value.parse().map_err(|_| PlayerSpecError::Value {
                key: key.to_owned(),
                value: value.to_owned(),
            })
        }
        match key {
            _ if self.kind == PlayerKind::Rbc && key != "name" => {
                self.options.insert(key.to_owned(), value.to_owned());
            }
            "name" => self.name = Some(value.to_owned()),
            "as" => self.trained_for = Some(value.to_owned()),
            "visits" | "nodes" => self.visits = Some(parse(key, value)?),
            "movetime" => self.movetime = Some(parse(key, value)?),
            "depth" => self.depth = Some(parse(key, value)?),
            "tc" => self.tc = Some(value.parse()?),
            "margin" => self.margin = Some(parse(key, value)?),
            "patience" => self.patience = Some(parse(key, value)?),
            "partner" => self.partner = Some(PathBuf::from(value)),
            "args" => self.args = Some(value.to_owned()),
            "fresh" => self.fresh = parse(key, value)?,
            _ => match key.strip_prefix("option.") {
                Some(option) => drop(self.options.insert(option.to_owned(), value.to_owned())),
                None => drop(self.search.insert(key.to_owned(), parse(key, value)?)),
            },
        }
        Ok(())
    }
}

/// Writes the form of the command line.
impl fmt::Display for PlayerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pair = |key: &str, value: Option<String>| value.map(|value| format!("{key}={value}"));
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.file.as_ref().map(|file| file.display().to_string()));
        parts.extend(pair("as", self.trained_for.clone()));
        parts.extend(pair("visits", self.visits.map(|number| number.to_string())));
        parts.extend(pair("movetime", self.movetime.map(|number| number.to_string())));
        parts.extend(pair("depth", self.depth.map(|number| number.to_string())));
        parts.extend(pair("tc", self.tc.map(|time| time.to_string())));
        parts.extend(pair("margin", self.margin.map(|number| number.to_string())));
        parts.extend(pair("patience", self.patience.map(|number| number.to_string())));
        let partner = self.partner.as_ref().map(|file| file.display().to_string());
        parts.extend(pair("partner", partner));
        parts.extend(pair("args", self.args.clone()));
        parts.extend(self.fresh.then(|| "fresh=true".to_owned()));
        parts.extend(self.search.iter().map(|(key, value)| format!("{key}={value}")));
        let option = if self.kind == PlayerKind::Rbc { "" } else { "option." };
        parts.extend(self.options.iter().map(|(key, value)| format!("{option}{key}={value}")));
        parts.extend(pair("name", self.name.clone()));
        let colon = if parts.is_empty() { "" } else { ":" };
        write!(f, "{}{colon}{}", self.kind.name(), parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn player_texts_are_written_and_read() {
        let texts = [
            "random",
            "net:nets/3x3.onnx,as=3x3full,visits=50",
            "uniform:visits=100",
            "uniform:movetime=50,fresh=true,c_puct=2.5,name=deep",
            "plain:visits=1000,root_c_puct=3",
            "net:nets/3x3.onnx,visits=50",
            "alphabeta:nets/base.int8.onnx,as=base,visits=5000",
            "uci:/bin/engine,visits=10000,option.Use NNUE=false",
            "xboard:engine,tc=60+0.6,margin=20,args=-q -x",
            "rbc:boards=1000,preset=paper,name=theirs",
            "attacker",
            "xboard:engine,tc=60+0,partner=other",
        ];
        for text in texts {
            let spec: PlayerSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), text);
            let written = toml::to_string(&spec).unwrap();
            assert_eq!(toml::from_str::<PlayerSpec>(&written).unwrap(), spec, "{written}");
        }
        let nodes: PlayerSpec = "uci:engine,nodes=5".parse().unwrap();
        assert_eq!(nodes.visits, Some(5));
        assert_eq!(nodes.name(), "engine-5");
    }

    #[test]
    fn player_errors_quote_the_text() {
        for (text, words) in [
            ("nonsense", "\"nonsense\""),
            ("net:visits=50", "no limit"),
            ("net:", "needs a file"),
            ("alphabeta:visits=9", "no limit"),
            ("alphabeta:net.int8.onnx,visits=9,fresh=true", "no tree"),
            ("alphabeta:net.int8.onnx,visits=9,c_puct=1", "search parameters"),
            ("uniform", "visits=100"),
            ("uniform:visits=0", "above 0"),
            ("uniform:visits=many", "\"many\""),
            ("uniform:visits=9,depth=3", "external engines"),
            ("uniform:visits=9,c_puct", "\"c_puct\""),
            ("uniform:visits=9,speed=3", "\"speed\""),
            ("plain:visits=9,fpu_reduction=0", "\"fpu_reduction\""),
            ("random:visits=9", "does not search"),
            ("custom:depth=1", "\"custom\""),
            ("uniform:visits=9,as=chess", "networks only"),
            ("xboard:engine,nodes=9", "no nodes"),
            ("uci:engine,tc=fast", "\"fast\""),
            ("rbc:sense=smell", "'smell'"),
            ("rbc:visits=100", "visits"),
            ("attacker:visits=9", "does not search"),
            ("uci:engine,tc=5+0,partner=other", "pairs of XBoard"),
        ] {
            let error = text.parse::<PlayerSpec>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
