//! Players as data: what one is and how long it may think.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use menagerie::search::Params;
use menagerie_rbc::{OptionsError, PlayerOptions, Players};
use serde::{Deserialize, Serialize};

/// What a player is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The library's search with a network.
    Net,
    /// The library's search without one: every move equally likely, every position a draw.
    Uniform,
    /// Plain MCTS, as the opponent of Multiplayer AlphaZero.
    Plain,
    /// Any legal move.
    Random,
    /// A player that the program using this library creates
    /// ([`CreatePlayer`](super::player::CreatePlayer)). It cannot be named on the command line.
    Custom,
    /// An engine that speaks UCI.
    Uci,
    /// An engine that speaks the protocol of XBoard.
    Xboard,
    /// The library's player of blind chess.
    Rbc,
    /// A player of blind chess that looks anywhere and follows one of four short plans, as the
    /// AttackerBot of reconchess.
    Attacker,
}

/// What blind chess is called among the games.
pub const BLIND: &str = "rbc";

impl Kind {
    /// The kinds that can be named on the command line.
    const NAMED: [(&str, Kind); 8] = [
        ("net", Kind::Net),
        ("uniform", Kind::Uniform),
        ("plain", Kind::Plain),
        ("random", Kind::Random),
        ("uci", Kind::Uci),
        ("xboard", Kind::Xboard),
        ("rbc", Kind::Rbc),
        ("attacker", Kind::Attacker),
    ];

    /// Whether it is an executable of its own.
    pub fn outside(self) -> bool {
        matches!(self, Kind::Uci | Kind::Xboard)
    }

    /// Whether it plays blind chess.
    pub fn blind(self) -> bool {
        matches!(self, Kind::Rbc | Kind::Attacker | Kind::Random)
    }

    /// Whether it plays games in which everything is seen.
    pub fn seeing(self) -> bool {
        !matches!(self, Kind::Rbc | Kind::Attacker)
    }

    fn needs_file(self) -> bool {
        self.outside() || self == Kind::Net
    }

    fn name(self) -> &'static str {
        Kind::NAMED.iter().find(|(_, kind)| *kind == self).map_or("custom", |(name, _)| name)
    }
}

/// A clock that runs through a game, in milliseconds; written `base+increment` in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeControl {
    /// What the clock has at the start.
    pub base: u64,
    /// What each turn adds.
    pub increment: u64,
}

impl FromStr for TimeControl {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeControl, String> {
        let (base, increment) = text.split_once('+').unwrap_or((text, "0"));
        let milliseconds = |part: &str| match part.parse::<f64>() {
            Ok(seconds) if (0.0..=1e6).contains(&seconds) => Ok((seconds * 1e3).round() as u64),
            _ => Err(format!("\"{text}\" is no time as 60+0.6, in seconds")),
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
    type Error = String;

    fn try_from(text: String) -> Result<TimeControl, String> {
        text.parse()
    }
}

impl From<TimeControl> for String {
    fn from(time: TimeControl) -> String {
        time.to_string()
    }
}

/// A player: what it is, how long it may think, and its settings.
///
/// On the command line it is `kind:FILE,key=value,...`: `net:nets/3x3.onnx,visits=50`,
/// `uniform:visits=100`, `random`, `uci:engine,nodes=1000,option.Hash=16`. A key
/// that is none of the fields here is a parameter of the search; of `rbc:sense=entropy,turn=200` all
/// keys but the name are options of `menagerie-rbc`. At two tables `xboard:FILE` is a process at each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayerSpec {
    /// What it is.
    pub kind: Kind,
    /// The network, the file of a custom player, or the executable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// What it is called; if not given, a short form of the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The game that a network was trained for, if it is not the one that is played: one of the
    /// same planes and moves.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub asked_as: Option<String>,
    /// New visits to the root in each turn; to engines outside, `nodes`.
    #[serde(default, alias = "nodes", skip_serializing_if = "Option::is_none")]
    pub visits: Option<u32>,
    /// Milliseconds for each turn. Many engines of XBoard's protocol know whole seconds only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub movetime: Option<u64>,
    /// Depth of each turn's search; engines outside and custom players only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// A clock; engines outside only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tc: Option<TimeControl>,
    /// Milliseconds by which an engine outside may overstep its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<u64>,
    /// Milliseconds after which a turn without any limit of time is lost; engines outside only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<u64>,
    /// The executable at the second table, of a pair of XBoard engines that are not the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partner: Option<PathBuf>,
    /// Arguments of an executable, separated by blanks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<String>,
    /// Whether each turn's search begins anew; else it keeps what it knows, as the engine does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// Parameters of the search, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub search: BTreeMap<String, f32>,
    /// Options of an engine outside, or of a player of blind chess, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

/// What an engine outside may overstep its time by, in milliseconds, unless it is said.
const MARGIN: u64 = 500;
/// How long an engine outside that is not limited in time may think, unless it is said.
const PATIENCE: u64 = 120_000;

impl PlayerSpec {
    /// A player of that kind without a limit.
    pub fn new(kind: Kind) -> PlayerSpec {
        PlayerSpec {
            kind,
            file: None,
            name: None,
            asked_as: None,
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

    /// What it is called.
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
            let options = self.options.iter().filter(|_| self.kind == Kind::Rbc);
            let parts = parts.chain(options.map(|(key, value)| format!("{key}={value}")));
            std::iter::once(first).chain(parts).collect::<Vec<_>>().join("-")
        })
    }

    /// How much an engine outside may overstep its time by, in milliseconds.
    pub fn margin(&self) -> u64 {
        self.margin.unwrap_or(MARGIN)
    }

    /// How long an engine outside may think if nothing else limits its time, in milliseconds.
    pub fn patience(&self) -> u64 {
        self.patience.unwrap_or(PATIENCE)
    }

    /// What limits the search of an XBoard engine, in its protocol's words.
    pub(super) fn xboard_limits(&self) -> Vec<String> {
        let depth = self.depth.map(|depth| format!("sd {depth}"));
        let time = self.movetime.map(|time| format!("st {}", time as f64 / 1e3));
        let clock = self.tc.map(|time| {
            let (base, increment) = (time.base.div_ceil(1000), time.increment as f64 / 1e3);
            format!("level 0 {}:{:02} {increment}", base / 60, base % 60)
        });
        [clock, time, depth].into_iter().flatten().collect()
    }

    /// Returns the parameters of the library's search: `defaults`, with what was set besides.
    ///
    /// # Errors
    /// In words, if one of the names or values is none.
    pub fn params(&self, defaults: Params) -> Result<Params, String> {
        let mut params = defaults;
        for (name, value) in &self.search {
            params.set(name, *value)?;
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

    /// One parameter of the search, or what it is unless set.
    pub fn parameter(&self, name: &str, default: f32) -> f32 {
        self.search.get(name).copied().unwrap_or(default)
    }

    /// Whether all of it makes sense together.
    ///
    /// # Errors
    /// In words, what does not.
    pub fn check(&self) -> Result<(), String> {
        let (kind, name) = (self.kind, self.kind.name());
        if kind != Kind::Custom && kind.needs_file() != self.file.is_some() {
            let need = if kind.needs_file() { "needs a file" } else { "has no file" };
            return Err(format!("a player \"{name}\" {need}: {self}"));
        }
        let limits = [self.visits.is_some(), self.movetime.is_some(), self.depth.is_some()];
        let depth = self.depth.is_some() && kind != Kind::Custom;
        let options = !self.options.is_empty() && kind != Kind::Rbc;
        let outside = [depth, self.tc.is_some(), self.margin.is_some()].into_iter().chain([
            self.patience.is_some(),
            self.args.is_some(),
            options,
        ]);
        if !kind.outside() && outside.into_iter().any(|said| said) {
            let keys = "depth, tc, margin, patience, args and options";
            return Err(format!("{keys} are for engines outside, not for {self}"));
        }
        if self.asked_as.is_some() && kind != Kind::Net {
            return Err(format!("only a network is asked as if in another game, not {self}"));
        }
        if self.partner.is_some() && kind != Kind::Xboard {
            return Err(format!("partner is for pairs of XBoard engines, not for {self}"));
        }
        let limited = limits.contains(&true) || self.tc.is_some();
        match kind {
            Kind::Random | Kind::Attacker if limited || !self.search.is_empty() => {
                return Err(format!("{name} does not search: {self}"));
            }
            Kind::Rbc if limited || !self.search.is_empty() => {
                return Err(format!("rbc has options of its own: {self}"));
            }
            // What limits a custom player is checked where it is created.
            Kind::Random | Kind::Attacker | Kind::Custom => {}
            Kind::Rbc => {
                return self.rbc_players().map(drop).map_err(|error| error.to_string());
            }
            _ if !limited => return Err(format!("how long may {self} think? say visits=100")),
            Kind::Plain if self.movetime.is_some() => {
                return Err(format!("plain counts visits only: {self}"));
            }
            Kind::Xboard if self.visits.is_some() => {
                let instead = "movetime, depth or tc";
                return Err(format!("XBoard's protocol has no nodes, say {instead}: {self}"));
            }
            _ => {}
        }
        if self.visits == Some(0) || self.movetime == Some(0) {
            return Err(format!("a limit of 0: {self}"));
        }
        match kind {
            Kind::Net | Kind::Uniform => self.params(Params::default()).map(drop),
            Kind::Plain => {
                let unknown = self.search.keys().find(|key| !PLAIN.contains(&key.as_str()));
                unknown.map_or(Ok(()), |key| {
                    Err(format!("plain has no \"{key}\", but {}", PLAIN.join(" and ")))
                })
            }
            _ if self.search.is_empty() => Ok(()),
            _ => Err(format!("parameters are for searches in process, not for {self}")),
        }
    }
}

/// The parameters of [`Kind::Plain`].
const PLAIN: [&str; 2] = ["c_puct", "root_c_puct"];

impl FromStr for PlayerSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<PlayerSpec, String> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let found = Kind::NAMED.iter().find(|(name, _)| *name == kind);
        let (_, kind) = found.ok_or_else(|| {
            let known: Vec<_> = Kind::NAMED.iter().map(|(name, _)| *name).collect();
            format!("no player is a \"{kind}\"; there are {}", known.join(", "))
        })?;
        let mut spec = PlayerSpec::new(*kind);
        let mut parts = rest.split(',');
        if kind.needs_file() {
            spec.file = parts.next().filter(|file| !file.is_empty()).map(PathBuf::from);
        }
        for part in parts.filter(|part| !part.is_empty()) {
            let pair = part.split_once('=');
            let (key, value) = pair.ok_or_else(|| format!("\"{part}\" is not name=value"))?;
            spec.set(key, value)?;
        }
        spec.check()?;
        Ok(spec)
    }
}

impl PlayerSpec {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        fn number<T: FromStr>(key: &str, value: &str) -> Result<T, String> {
            value.parse().map_err(|_| format!("{key}=\"{value}\" is no such number"))
        }
        match key {
            _ if self.kind == Kind::Rbc && key != "name" => {
                self.options.insert(key.to_owned(), value.to_owned());
            }
            "name" => self.name = Some(value.to_owned()),
            "as" => self.asked_as = Some(value.to_owned()),
            "visits" | "nodes" => self.visits = Some(number(key, value)?),
            "movetime" => self.movetime = Some(number(key, value)?),
            "depth" => self.depth = Some(number(key, value)?),
            "tc" => self.tc = Some(value.parse()?),
            "margin" => self.margin = Some(number(key, value)?),
            "patience" => self.patience = Some(number(key, value)?),
            "partner" => self.partner = Some(PathBuf::from(value)),
            "args" => self.args = Some(value.to_owned()),
            "fresh" => {
                self.fresh = value
                    .parse()
                    .map_err(|_| format!("fresh is true or false, not \"{value}\""))?;
            }
            _ => match key.strip_prefix("option.") {
                Some(option) => drop(self.options.insert(option.to_owned(), value.to_owned())),
                None => drop(self.search.insert(key.to_owned(), number(key, value)?)),
            },
        }
        Ok(())
    }
}

/// As on the command line.
impl fmt::Display for PlayerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |key: &str, value: Option<String>| value.map(|value| format!("{key}={value}"));
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.file.as_ref().map(|file| file.display().to_string()));
        parts.extend(said("as", self.asked_as.clone()));
        parts.extend(said("visits", self.visits.map(|number| number.to_string())));
        parts.extend(said("movetime", self.movetime.map(|number| number.to_string())));
        parts.extend(said("depth", self.depth.map(|number| number.to_string())));
        parts.extend(said("tc", self.tc.map(|time| time.to_string())));
        parts.extend(said("margin", self.margin.map(|number| number.to_string())));
        parts.extend(said("patience", self.patience.map(|number| number.to_string())));
        let partner = self.partner.as_ref().map(|file| file.display().to_string());
        parts.extend(said("partner", partner));
        parts.extend(said("args", self.args.clone()));
        parts.extend(self.fresh.then(|| "fresh=true".to_owned()));
        parts.extend(self.search.iter().map(|(key, value)| format!("{key}={value}")));
        let option = if self.kind == Kind::Rbc { "" } else { "option." };
        parts.extend(self.options.iter().map(|(key, value)| format!("{option}{key}={value}")));
        parts.extend(said("name", self.name.clone()));
        let colon = if parts.is_empty() { "" } else { ":" };
        write!(f, "{}{colon}{}", self.kind.name(), parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let texts = [
            "random",
            "net:nets/3x3.onnx,as=3x3full,visits=50",
            "uniform:visits=100",
            "uniform:movetime=50,fresh=true,c_puct=2.5,name=deep",
            "plain:visits=1000,root_c_puct=3",
            "net:nets/3x3.onnx,visits=50",
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
    fn what_makes_no_sense_is_refused_and_quoted() {
        for (text, words) in [
            ("nonsense", "\"nonsense\""),
            ("net:visits=50", "how long"),
            ("net:", "needs a file"),
            ("uniform", "say visits=100"),
            ("uniform:visits=0", "a limit of 0"),
            ("uniform:visits=many", "\"many\""),
            ("uniform:visits=9,depth=3", "engines outside"),
            ("uniform:visits=9,c_puct", "\"c_puct\""),
            ("uniform:visits=9,speed=3", "\"speed\""),
            ("plain:visits=9,fpu_reduction=0", "\"fpu_reduction\""),
            ("random:visits=9", "does not search"),
            ("custom:depth=1", "\"custom\""),
            ("uniform:visits=9,as=chess", "only a network"),
            ("xboard:engine,nodes=9", "no nodes"),
            ("uci:engine,tc=fast", "\"fast\""),
            ("rbc:sense=smell", "'smell'"),
            ("rbc:visits=100", "visits"),
            ("attacker:visits=9", "does not search"),
            ("uci:engine,tc=5+0,partner=other", "pairs of XBoard"),
        ] {
            let error = text.parse::<PlayerSpec>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
