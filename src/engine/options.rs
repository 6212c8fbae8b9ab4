//! The options of the engine. Each is declared once, with its kind, default and range.

use super::skill::{self, MAX_LEVEL, Skill};
use crate::nn::network::Backend;
use crate::variant::Catalogue;

/// The kind of an option, with its default and range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OptionKind {
    /// True or false.
    Check {
        /// The default.
        default: bool,
    },
    /// A number.
    Spin {
        /// The default.
        default: i64,
        /// The minimum.
        min: i64,
        /// The maximum.
        max: i64,
    },
    /// One of several words.
    Combo {
        /// The default.
        default: String,
        /// All of them.
        choices: Vec<String>,
    },
    /// No value: a command.
    Button,
    /// Text, empty by default.
    Text,
}

/// The declaration of an option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionInfo {
    /// The name; case does not matter.
    pub name: &'static str,
    /// The kind.
    pub kind: OptionKind,
    /// The description in docs/options.md: one line.
    pub help: &'static str,
}

/// Why an option was not set. The messages quote the text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OptionError {
    /// There is no option of this name.
    #[error("unknown option \"{0}\"")]
    Unknown(String),
    /// The value is invalid.
    #[error("option {name} must be {expected}, not \"{value}\"")]
    Value {
        /// The option.
        name: &'static str,
        /// The valid values.
        expected: String,
        /// The invalid value.
        value: String,
    },
}

/// The values of all options.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// `UCI_Variant`: the name of the variant.
    pub variant: String,
    /// `UCI_Chess960`: castling is written as king takes rook.
    pub chess960: bool,
    /// `Threads`: the number of threads that evaluate.
    pub threads: usize,
    /// `MinibatchSize`: the most positions that a thread evaluates at once; 0 for the best size for the
    /// network and its backend.
    pub minibatch_size: usize,
    /// `Search`: the kind of search: `auto`, `mcts` or `alphabeta`.
    pub search: String,
    /// `Gumbel`: whether visits to the root are distributed by sequential halving, if the end of the search
    /// is known.
    pub gumbel: bool,
    /// `Hash`: memory for the tree and the cache of evaluations, or for the transposition table, in MB.
    pub hash: usize,
    /// `MultiPV`: the number of lines in a report.
    pub multi_pv: usize,
    /// `Move Overhead`: time lost between the clock and the engine in each turn, in milliseconds.
    pub overhead: u64,
    /// `Skill Level`: the strength, from 0 to 20.
    pub skill: u64,
    /// `UCI_LimitStrength`: whether `UCI_Elo` replaces `Skill Level`.
    pub limit_strength: bool,
    /// `UCI_Elo`: the strength in Elo, of which the lowest level has 500.
    pub elo: u64,
    /// `UCI_ShowWDL`: whether reports contain the WDL.
    pub show_wdl: bool,
    /// `WeightsFile`: the network file; empty for the shipped network.
    pub weights: String,
    /// `Backend`: what the network runs on.
    pub backend: Backend,
    /// `RuntimeLibrary`: the ONNX Runtime library; empty to search for it.
    pub runtime_library: String,
    /// `Team`: the team that the engine plays in bughouse on two boards: `white` has White on the first board,
    /// `black` on the second, and `auto` is the team to move.
    pub team: String,
    /// `Mode`: whether that team has more time (`sit`), less (`go`), or what its clocks show.
    pub mode: String,
    /// `BughouseMate`: whether a mate ends a game on two boards even if a piece in hand could block it.
    pub mate: String,
    /// `VariantPath`: files of variants in addition to the shipped ones.
    pub variant_path: String,
    /// `SyzygyPath`: the folders of Syzygy tables.
    pub syzygy_path: String,
    /// `TablePath`: the file of a solved game's table; empty for none.
    pub table_path: String,
    /// `Debug Log File`: the file to which all input and output is logged; empty for none.
    pub log_file: String,
}

/// A value, parsed by the kind of its option.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Value<'a> {
    Flag(bool),
    Number(i64),
    Text(&'a str),
    Pressed,
}

type Setter = fn(&mut Options, Value<'_>);

/// Returns a setter of a field for values of a kind.
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

/// Returns all options and their setters, in the order of display.
fn option_table(catalogue: &Catalogue) -> Vec<(OptionInfo, Setter)> {
    let option = |name, kind, set: Setter, help| (OptionInfo { name, kind, help }, set);
    let check = |default| OptionKind::Check { default };
    let spin = |default, min, max| OptionKind::Spin { default, min, max };
    let combo = |choices: Vec<String>| {
        let default = choices.first().cloned().unwrap_or_default();
        OptionKind::Combo { default, choices }
    };
    fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
        words.map(str::to_owned).into()
    }
    let variants = catalogue.iter().map(|variant| variant.name().to_owned());
    let backends = Backend::ALL.map(|backend| backend.to_string());
    vec![
        option(
            "UCI_Variant",
            combo(variants.collect()),
            set!(variant, Text),
            "Name of the variant. A change starts a new game.",
        ),
        option(
            "UCI_Chess960",
            check(false),
            set!(chess960, Flag),
            "Castling moves are written as king takes rook, and KQkq in a FEN mean the \
             outermost rooks.",
        ),
        option(
            "Threads",
            spin(1, 1, 256),
            set!(threads, Number),
            "Search threads, each with its own network session: at least two on a GPU, always \
             one without a network.",
        ),
        option(
            "MinibatchSize",
            spin(0, 0, 1024),
            set!(minibatch_size, Number),
            "Positions that a thread evaluates in one batch; 0 selects 8 on a CPU and 64 on a GPU.",
        ),
        option(
            "Search",
            combo(words(["auto", "mcts", "alphabeta"])),
            set!(search, Text),
            "Kind of search. `alphabeta` needs a sparse int8 network on a CPU and one board; \
             else, and for `Gumbel`, limited strength, `go mate` and solved tables, the \
             search is `mcts`. `auto` is what the key `search` of the variant says.",
        ),
        option(
            "Gumbel",
            check(false),
            set!(gumbel, Flag),
            "Distributes the visits of the root by sequential halving, as in self-play. Only \
             for searches with a known end.",
        ),
        option(
            "Hash",
            spin(256, 1, 32768),
            set!(hash, Number),
            "Memory of the search tree and the evaluation cache, or of the transposition table, in \
             MB. A full tree drops its least visited subtrees.",
        ),
        option(
            "Clear Hash",
            OptionKind::Button,
            |_, _| {},
            "Clears the search tree, the evaluation cache and the transposition table.",
        ),
        option(
            "MultiPV",
            spin(1, 1, 500),
            set!(multi_pv, Number),
            "Number of lines in the output, by rank of the move.",
        ),
        option(
            "Ponder",
            check(false),
            |_, _| {},
            "Allows the GUI to let the engine search in the opponent's time.",
        ),
        option(
            "Move Overhead",
            spin(30, 0, 10_000),
            set!(overhead, Number),
            "Latency of the GUI and the network for each move, in ms.",
        ),
        option(
            "Skill Level",
            spin(MAX_LEVEL as i64, 0, MAX_LEVEL as i64),
            set!(skill, Number),
            "Playing strength. Each level below 20 limits the visits of a turn (2 at level 0, \
             115 at 10, 4,433 at 19) and adds randomness. Analysis is not limited.",
        ),
        option(
            "UCI_LimitStrength",
            check(false),
            set!(limit_strength, Flag),
            "Uses `UCI_Elo` instead of `Skill Level`.",
        ),
        option(
            "UCI_Elo",
            spin(1350, skill::MIN_ELO as i64, skill::MAX_ELO as i64),
            set!(elo, Number),
            "Playing strength in Elo, mapped to skill levels 0 to 20. Calibrated in crazyhouse \
             only; 500 is an arbitrary zero.",
        ),
        option(
            "UCI_ShowWDL",
            check(false),
            set!(show_wdl, Flag),
            "Adds win, draw and loss in per mille to info lines.",
        ),
        option(
            "UCI_AnalyseMode",
            check(false),
            |_, _| {},
            "Accepted for GUIs that set it; has no effect.",
        ),
        option(
            "Team",
            combo(words(["auto", "white", "black"])),
            set!(team, Text),
            "bughouse2: the team that the engine plays. `white` has White on board A, `auto` is \
             the side to move. `white` and `black` also select bughouse2.",
        ),
        option(
            "Mode",
            combo(words(["clock", "sit", "go"])),
            set!(mode, Text),
            "bughouse2: whether the team may sit (`sit`), must move (`go`), or follows the \
             clocks (`clock`).",
        ),
        option(
            "BughouseMate",
            combo(words(["atonce", "blockable"])),
            set!(mate, Text),
            "bughouse2: with `blockable` a checkmate does not end the game while the partner \
             may provide a piece to block it.",
        ),
        option(
            "VariantPath",
            OptionKind::Text,
            set!(variant_path, Text),
            "Files of custom variants, separated by `:` (`;` on Windows).",
        ),
        option(
            "WeightsFile",
            OptionKind::Text,
            set!(weights, Text),
            "Network file; empty for the shipped network of the variant.",
        ),
        option(
            "Backend",
            combo(backends.into()),
            |options, value| {
                if let Value::Text(name) = value {
                    options.backend = name.parse().unwrap_or_default();
                }
            },
            "Device of the network; `auto` uses a GPU if ONNX Runtime and the machine support it.",
        ),
        option(
            "RuntimeLibrary",
            OptionKind::Text,
            set!(runtime_library, Text),
            "ONNX Runtime library or its folder; empty for the default search path.",
        ),
        option(
            "SyzygyPath",
            OptionKind::Text,
            set!(syzygy_path, Text),
            "Folders with Syzygy tablebases (chess, atomic, antichess).",
        ),
        option(
            "TablePath",
            OptionKind::Text,
            set!(table_path, Text),
            "Tablebase file of a solved variant. Its memory is not counted in `Hash`.",
        ),
        option(
            "Debug Log File",
            OptionKind::Text,
            set!(log_file, Text),
            "File to which all input and output is appended.",
        ),
    ]
}

impl Options {
    /// Returns the defaults.
    pub(super) fn new(catalogue: &Catalogue) -> Options {
        let mut options = Options {
            variant: String::new(),
            chess960: false,
            threads: 1,
            minibatch_size: 0,
            search: String::new(),
            gumbel: false,
            hash: 1,
            multi_pv: 1,
            overhead: 0,
            skill: MAX_LEVEL,
            limit_strength: false,
            elo: skill::MAX_ELO,
            show_wdl: false,
            team: String::new(),
            mode: String::new(),
            mate: String::new(),
            weights: String::new(),
            backend: Backend::Auto,
            runtime_library: String::new(),
            variant_path: String::new(),
            syzygy_path: String::new(),
            table_path: String::new(),
            log_file: String::new(),
        };
        for (OptionInfo { kind, .. }, set) in option_table(catalogue) {
            let default = match &kind {
                OptionKind::Check { default } => Value::Flag(*default),
                OptionKind::Spin { default, .. } => Value::Number(*default),
                OptionKind::Combo { default, .. } => Value::Text(default),
                OptionKind::Text => Value::Text(""),
                OptionKind::Button => Value::Pressed,
            };
            set(&mut options, default);
        }
        options
    }

    /// Returns all options, in the order of display.
    pub(super) fn declarations(catalogue: &Catalogue) -> Vec<OptionInfo> {
        option_table(catalogue).into_iter().map(|(declaration, _)| declaration).collect()
    }

    /// Returns the strength limit, if there is one.
    pub(super) fn skill(&self) -> Option<Skill> {
        Skill::new(if self.limit_strength {
            skill::level_of_elo(self.elo as f64)
        } else {
            self.skill as f64
        })
    }

    /// Sets an option. Returns its name as it is declared.
    ///
    /// # Errors
    /// [`OptionError::Unknown`] if there is no such option, [`OptionError::Value`] if the value is invalid.
    pub(super) fn set(
        &mut self,
        catalogue: &Catalogue,
        name: &str,
        value: &str,
    ) -> Result<&'static str, OptionError> {
        let found =
            option_table(catalogue).into_iter().find(|(o, _)| o.name.eq_ignore_ascii_case(name));
        let Some((OptionInfo { name, kind, .. }, set)) = found else {
            return Err(OptionError::Unknown(name.to_owned()));
        };
        let (parsed, expected) = match &kind {
            OptionKind::Check { .. } => {
                let flag = ["false", "true"].iter().position(|w| value.eq_ignore_ascii_case(w));
                (flag.map(|index| Value::Flag(index == 1)), "true or false".to_owned())
            }
            OptionKind::Spin { min, max, .. } => {
                let number = value.parse().ok().filter(|number| (min..=max).contains(&number));
                (number.map(Value::Number), format!("a number from {min} to {max}"))
            }
            OptionKind::Combo { choices, .. } => {
                let choice = choices.iter().find(|choice| choice.eq_ignore_ascii_case(value));
                (choice.map(|choice| Value::Text(choice)), format!("one of {}", choices.join(", ")))
            }
            OptionKind::Text => (Some(Value::Text(value)), String::new()),
            OptionKind::Button => (Some(Value::Pressed), String::new()),
        };
        let value =
            parsed.ok_or_else(|| OptionError::Value { name, expected, value: value.into() })?;
        set(self, value);
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_accept_declared_values_only() {
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
    fn strength_is_set_by_level_or_elo() {
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
        for OptionInfo { name, kind, .. } in Options::declarations(Catalogue::shipped()) {
            match kind {
                OptionKind::Spin { default, min, max } => {
                    assert!(min <= default && default <= max && max <= 1 << 31, "{name}");
                }
                OptionKind::Combo { default, choices } => {
                    assert!(choices.contains(&default), "{name}")
                }
                _ => {}
            }
        }
    }
}
