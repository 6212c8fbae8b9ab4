//! The options of the engine: each declared once, with its type, default and range.

use super::skill::{self, BEST, Skill};
use crate::nn::network::Backend;
use crate::variant::Catalogue;

/// What an option takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Yes or no.
    Check {
        /// Unless set.
        default: bool,
    },
    /// A number.
    Spin {
        /// Unless set.
        default: i64,
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
    },
    /// One of several words.
    Combo {
        /// Unless set.
        default: String,
        /// All of them.
        choices: Vec<String>,
    },
    /// Nothing: it does something.
    Button,
    /// Text, empty unless set.
    Text,
}

/// An option as it is declared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionInfo {
    /// Its name; case does not matter.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
}

/// Why an option was not set. Each quotes the text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OptionError {
    /// There is no such option.
    #[error("no option is called \"{0}\"")]
    Unknown(String),
    /// It does not take such a value.
    #[error("option {name} takes {wanted}, not \"{value}\"")]
    Value {
        /// The option.
        name: &'static str,
        /// What it takes.
        wanted: String,
        /// What it was given.
        value: String,
    },
}

/// What all options are set to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// `UCI_Variant`: the name of the game.
    pub variant: String,
    /// `UCI_Chess960`: castling is written as king takes rook.
    pub chess960: bool,
    /// `Threads`: how many evaluate side by side.
    pub threads: usize,
    /// `MinibatchSize`: the most positions that a thread has evaluated at once; 0 for what suits the
    /// network and what it runs on.
    pub batch: usize,
    /// `Gumbel`: whether visits to the root are spread by sequential halving, where it is known when
    /// the search ends.
    pub gumbel: bool,
    /// `Hash`: memory for the tree and the evaluations, in MB.
    pub hash: usize,
    /// `MultiPV`: how many lines are reported.
    pub lines: usize,
    /// `Move Overhead`: what is lost between the clock and the engine, in milliseconds.
    pub overhead: u64,
    /// `Skill Level`: how well to play, from 0 to 20.
    pub skill: u64,
    /// `UCI_LimitStrength`: whether `UCI_Elo` takes the place of `Skill Level`.
    pub limit_strength: bool,
    /// `UCI_Elo`: how well to play, in Elo above the lowest level, which is called 500.
    pub elo: u64,
    /// `UCI_ShowWDL`: reports tell the chances to win, draw and lose.
    pub show_wdl: bool,
    /// `WeightsFile`: the network's file; empty for the one that is shipped.
    pub weights: String,
    /// `Backend`: what the network runs on.
    pub backend: Backend,
    /// `RuntimeLibrary`: the library that runs networks; empty to search for it.
    pub library: String,
    /// `Team`: which team plays, of a game of two tables: `white` has White at the first, `black`
    /// at the second, and `auto` is whoever is to move.
    pub team: String,
    /// `Mode`: whether that team has more time (`sit`) or less (`go`), or as the clocks say.
    pub mode: String,
    /// `BughouseMate`: whether a mate that a man may block ends a game of two tables.
    pub mate: String,
    /// `VariantPath`: files of games beside those that are shipped.
    pub files: String,
    /// `SyzygyPath`: where tables of endings are.
    pub tables: String,
    /// `TablePath`: the file of a solved game's table; empty for none.
    pub table: String,
    /// `Debug Log File`: where all that is said goes, too; empty for nowhere.
    pub log: String,
}

/// What an option was set to, read by its kind.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Value<'a> {
    Flag(bool),
    Number(i64),
    Text(&'a str),
    Pressed,
}

type Setter = fn(&mut Options, Value<'_>);

/// Sets a field from the kind of value that its option takes.
macro_rules! set {
    ($field:ident, Number) => {
        |options, value| {
            if let Value::Number(value) = value {
                options.$field = value.try_into().unwrap_or_default();
            }
        }
    };
    ($field:ident, $kind:ident) => {
        |options, value| {
            if let Value::$kind(value) = value {
                options.$field = value.into();
            }
        }
    };
}

/// All options, in the order to show them.
fn table(catalogue: &Catalogue) -> Vec<(OptionInfo, Setter)> {
    let option = |name, kind, set: Setter| (OptionInfo { name, kind }, set);
    let check = |default| Kind::Check { default };
    let spin = |default, min, max| Kind::Spin { default, min, max };
    let combo = |choices: Vec<String>| {
        let default = choices.first().cloned().unwrap_or_default();
        Kind::Combo { default, choices }
    };
    fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
        words.map(str::to_owned).into()
    }
    let variants = catalogue.iter().map(|variant| variant.name().to_owned());
    let backends = Backend::ALL.map(|backend| backend.to_string());
    vec![
        option("UCI_Variant", combo(variants.collect()), set!(variant, Text)),
        option("UCI_Chess960", check(false), set!(chess960, Flag)),
        option("Threads", spin(1, 1, 256), set!(threads, Number)),
        option("MinibatchSize", spin(0, 0, 1024), set!(batch, Number)),
        option("Gumbel", check(false), set!(gumbel, Flag)),
        option("Hash", spin(256, 1, 32768), set!(hash, Number)),
        option("Clear Hash", Kind::Button, |_, _| {}),
        option("MultiPV", spin(1, 1, 500), set!(lines, Number)),
        option("Ponder", check(false), |_, _| {}),
        option("Move Overhead", spin(30, 0, 10_000), set!(overhead, Number)),
        option("Skill Level", spin(BEST as i64, 0, BEST as i64), set!(skill, Number)),
        option("UCI_LimitStrength", check(false), set!(limit_strength, Flag)),
        option(
            "UCI_Elo",
            spin(1350, skill::RANGE[0] as i64, skill::RANGE[1] as i64),
            set!(elo, Number),
        ),
        option("UCI_ShowWDL", check(false), set!(show_wdl, Flag)),
        option("UCI_AnalyseMode", check(false), |_, _| {}),
        option("Team", combo(words(["auto", "white", "black"])), set!(team, Text)),
        option("Mode", combo(words(["clock", "sit", "go"])), set!(mode, Text)),
        option("BughouseMate", combo(words(["atonce", "blockable"])), set!(mate, Text)),
        option("VariantPath", Kind::Text, set!(files, Text)),
        option("WeightsFile", Kind::Text, set!(weights, Text)),
        option("Backend", combo(backends.into()), |options, value| {
            if let Value::Text(name) = value {
                options.backend = name.parse().unwrap_or_default();
            }
        }),
        option("RuntimeLibrary", Kind::Text, set!(library, Text)),
        option("SyzygyPath", Kind::Text, set!(tables, Text)),
        option("TablePath", Kind::Text, set!(table, Text)),
        option("Debug Log File", Kind::Text, set!(log, Text)),
    ]
}

impl Options {
    /// What is set before anybody sets anything.
    pub(super) fn new(catalogue: &Catalogue) -> Options {
        let mut options = Options {
            variant: String::new(),
            chess960: false,
            threads: 1,
            batch: 0,
            gumbel: false,
            hash: 1,
            lines: 1,
            overhead: 0,
            skill: BEST,
            limit_strength: false,
            elo: skill::RANGE[1],
            show_wdl: false,
            team: String::new(),
            mode: String::new(),
            mate: String::new(),
            weights: String::new(),
            backend: Backend::Auto,
            library: String::new(),
            files: String::new(),
            tables: String::new(),
            table: String::new(),
            log: String::new(),
        };
        for (OptionInfo { kind, .. }, set) in table(catalogue) {
            let default = match &kind {
                Kind::Check { default } => Value::Flag(*default),
                Kind::Spin { default, .. } => Value::Number(*default),
                Kind::Combo { default, .. } => Value::Text(default),
                Kind::Text => Value::Text(""),
                Kind::Button => Value::Pressed,
            };
            set(&mut options, default);
        }
        options
    }

    /// All options, in the order to show them.
    pub(super) fn declarations(catalogue: &Catalogue) -> Vec<OptionInfo> {
        table(catalogue).into_iter().map(|(declaration, _)| declaration).collect()
    }

    /// The strength that is asked for; `None` without limit.
    pub(super) fn skill(&self) -> Option<Skill> {
        Skill::new(match self.limit_strength {
            true => skill::level(self.elo as f64),
            false => self.skill as f64,
        })
    }

    /// Sets an option to what `value` says; returns its name as it is declared.
    ///
    /// # Errors
    /// If there is no such option, or it does not take such a value.
    pub(super) fn set(
        &mut self,
        catalogue: &Catalogue,
        name: &str,
        value: &str,
    ) -> Result<&'static str, OptionError> {
        let found = table(catalogue).into_iter().find(|(o, _)| o.name.eq_ignore_ascii_case(name));
        let Some((OptionInfo { name, kind }, set)) = found else {
            return Err(OptionError::Unknown(name.to_owned()));
        };
        let (read, wanted) = match &kind {
            Kind::Check { .. } => {
                let flag = ["false", "true"].iter().position(|w| value.eq_ignore_ascii_case(w));
                (flag.map(|place| Value::Flag(place == 1)), "true or false".to_owned())
            }
            Kind::Spin { min, max, .. } => {
                let number = value.parse().ok().filter(|number| (min..=max).contains(&number));
                (number.map(Value::Number), format!("a number from {min} to {max}"))
            }
            Kind::Combo { choices, .. } => {
                let choice = choices.iter().find(|choice| choice.eq_ignore_ascii_case(value));
                (choice.map(|choice| Value::Text(choice)), format!("one of {}", choices.join(", ")))
            }
            Kind::Text => (Some(Value::Text(value)), String::new()),
            Kind::Button => (Some(Value::Pressed), String::new()),
        };
        let value = read.ok_or_else(|| OptionError::Value { name, wanted, value: value.into() })?;
        set(self, value);
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_take_what_they_declare() {
        let catalogue = Catalogue::shipped();
        let mut options = Options::new(catalogue);
        assert_eq!((options.variant.as_str(), options.threads, options.hash), ("chess", 1, 256));
        assert_eq!(options.set(catalogue, "hash", "16"), Ok("Hash"));
        assert_eq!(options.set(catalogue, "UCI_Variant", "3X3"), Ok("UCI_Variant"));
        assert_eq!(options.set(catalogue, "Backend", "CPU"), Ok("Backend"));
        assert_eq!(options.set(catalogue, "WeightsFile", "a b.onnx"), Ok("WeightsFile"));
        assert_eq!((options.hash, options.variant.as_str()), (16, "3x3"));
        assert_eq!((options.backend, options.weights.as_str()), (Backend::Cpu, "a b.onnx"));
        let before = options.clone();
        for (name, value) in [
            ("Nonsense", "1"),
            ("", ""),
            ("Hash", "0"),
            ("Hash", "99999999999999999999"),
            ("Hash", "many"),
            ("UCI_Variant", "draughts"),
            ("UCI_ShowWDL", "maybe"),
            ("Backend", ""),
        ] {
            let error = options.set(catalogue, name, value).expect_err(name).to_string();
            assert!(error.contains(&format!("\"{name}\"")) || error.contains(name), "{error}");
            assert!(name == "Nonsense" || error.contains(&format!("\"{value}\"")), "{error}");
        }
        assert_eq!(options, before);
    }

    #[test]
    fn strength_is_asked_for_by_level_or_by_elo() {
        let catalogue = Catalogue::shipped();
        let mut options = Options::new(catalogue);
        assert_eq!(options.skill(), None);
        for (name, value, level) in [
            ("Skill Level", "0", 0.0),
            ("Skill Level", "19", 19.0),
            ("UCI_Elo", "500", 19.0),
            ("UCI_LimitStrength", "true", 0.0),
            ("UCI_Elo", "2850", 20.0),
            ("UCI_LimitStrength", "false", 19.0),
            ("Skill Level", "20", 20.0),
        ] {
            assert!(options.set(catalogue, name, value).is_ok());
            assert_eq!(options.skill(), Skill::new(level), "{name} {value}");
        }
    }

    #[test]
    fn defaults_are_within_their_ranges() {
        for OptionInfo { name, kind } in Options::declarations(Catalogue::shipped()) {
            match kind {
                Kind::Spin { default, min, max } => {
                    assert!(min <= default && default <= max && max <= 1 << 31, "{name}");
                }
                Kind::Combo { default, choices } => assert!(choices.contains(&default), "{name}"),
                _ => {}
            }
        }
    }
}
