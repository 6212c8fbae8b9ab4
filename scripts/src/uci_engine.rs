//! A UCI engine as a child process.

mod answer;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use menagerie::variant::Variant;

use answer::OptionValues;
pub use answer::{Answer, InfoLine};

pub use crate::engine_process::EngineError;
use crate::engine_process::{EngineProcess, REPLY_TIMEOUT};

/// A running engine.
#[derive(Debug)]
pub struct UciEngine {
    process: EngineProcess,
    /// The options of the engine, each with the values that it accepts.
    options: BTreeMap<String, OptionValues>,
    timeout: Duration,
}

impl UciEngine {
    /// Starts an engine and reads its options. Answers to anything but a search may take [`REPLY_TIMEOUT`].
    ///
    /// # Errors
    /// If it cannot be started or does not answer.
    pub fn start(executable: &Path) -> Result<UciEngine, EngineError> {
        UciEngine::start_with_timeout(executable, REPLY_TIMEOUT)
    }

    /// Starts an engine, sets its options in their order, and lets it play `variant`, or of two boards the game of one.
    ///
    /// # Errors
    /// If it cannot be started, does not answer, or does not accept an option or the variant.
    pub fn start_variant(
        executable: &Path,
        options: &[(String, String)],
        variant: &Variant,
    ) -> Result<UciEngine, EngineError> {
        let mut engine = UciEngine::start(executable)?;
        for (name, value) in options {
            engine.set_option(name, value)?;
        }
        // Options such as a file of variants change the values of other options.
        engine.read_options()?;
        let name =
            if variant.has_two_boards() { &variant.display().template } else { variant.name() };
        if name != "chess" || engine.accepts("UCI_Variant", "chess") {
            engine.set_option("UCI_Variant", name)?;
        }
        Ok(engine)
    }

    /// [`UciEngine::start`] with another time limit.
    ///
    /// # Errors
    /// If it cannot be started or does not answer.
    pub fn start_with_timeout(
        executable: &Path,
        timeout: Duration,
    ) -> Result<UciEngine, EngineError> {
        UciEngine::connect(EngineProcess::start(executable, [""; 0])?, timeout)
    }

    /// Reads the options of a process that has been started.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn connect(process: EngineProcess, timeout: Duration) -> Result<UciEngine, EngineError> {
        let mut engine = UciEngine { process, options: BTreeMap::new(), timeout };
        engine.read_options()?;
        Ok(engine)
    }

    /// Sends `uci` and reads the options. Options such as a file of variants change the values of other options,
    /// so this may be repeated.
    ///
    /// # Errors
    /// If the engine ends or does not answer.
    pub fn read_options(&mut self) -> Result<(), EngineError> {
        self.send("uci")?;
        let mut options = BTreeMap::new();
        self.await_line("uciok", self.timeout, |line| options.extend(answer::parse_option(line)))?;
        self.options = options;
        Ok(())
    }

    /// Returns the path of the executable.
    pub fn executable(&self) -> &str {
        self.process.executable()
    }

    /// Returns `true` if the engine has an option.
    pub fn has_option(&self, name: &str) -> bool {
        self.options.keys().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Returns `true` if the engine has an option that accepts a value.
    pub fn accepts(&self, name: &str, value: &str) -> bool {
        let same = |(known, _): &(&String, _)| known.eq_ignore_ascii_case(name);
        let values = self.options.iter().find(same).map(|(_, values)| values);
        values.is_some_and(|values| values.contain(value))
    }

    /// Sends a line.
    ///
    /// # Errors
    /// If the pipe is broken.
    pub fn send(&mut self, line: &str) -> Result<(), EngineError> {
        self.process.send(line)
    }

    /// Reads lines until one begins with `word`, and returns it.
    ///
    /// # Errors
    /// If the engine ends or does not print such a line.
    pub fn read_until(&mut self, word: &str) -> Result<String, EngineError> {
        self.await_line(word, self.timeout, |_| ())
    }

    /// Reads lines until one begins with `word`, and returns it. Calls `on_other` with the lines before it.
    fn await_line(
        &mut self,
        word: &str,
        timeout: Duration,
        mut on_other: impl FnMut(&str),
    ) -> Result<String, EngineError> {
        self.process.await_line(word, timeout, |line| {
            if line.split_whitespace().next() == Some(word) {
                return Some(line.to_owned());
            }
            on_other(line);
            None
        })
    }

    /// Sets an option and waits until the engine is ready.
    ///
    /// # Errors
    /// [`EngineError::Option`], or if the engine ends or does not answer.
    pub fn set_option(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        if !self.accepts(name, value) {
            return Err(EngineError::Option {
                engine: self.executable().to_owned(),
                name: name.to_owned(),
                value: value.to_owned(),
            });
        }
        self.send(&format!("setoption name {name} value {value}"))?;
        self.ready()
    }

    /// Starts a new game and waits until the engine is ready.
    ///
    /// # Errors
    /// If the engine ends or does not answer.
    pub fn new_game(&mut self) -> Result<(), EngineError> {
        self.send("ucinewgame")?;
        self.ready()
    }

    fn ready(&mut self) -> Result<(), EngineError> {
        self.send("isready")?;
        self.read_until("readyok").map(drop)
    }

    /// Starts a search as [`UciEngine::go`] does, without waiting for its end: a line of [`UciEngine::poll`].
    ///
    /// # Errors
    /// If the pipe is broken.
    pub fn start_search(&mut self, position: &str, limits: &str) -> Result<(), EngineError> {
        self.send(&format!("position {position}"))?;
        self.send(&format!("go {limits}"))
    }

    /// Returns the next line that the engine has printed, and its time; `None` if there is none.
    ///
    /// # Errors
    /// If the engine has ended.
    pub fn poll(&mut self) -> Result<Option<(Instant, String)>, EngineError> {
        self.process.poll("bestmove")
    }

    /// Lets the engine search. `position` are the arguments of that command (`startpos`, or `fen ..`, and
    /// `moves ..`), `limits` those of `go` (`nodes 4000`), and `timeout` is the time limit of the answer.
    ///
    /// # Errors
    /// If the engine ends, does not answer, or its answer has no move.
    pub fn go(
        &mut self,
        position: &str,
        limits: &str,
        timeout: Duration,
    ) -> Result<Answer, EngineError> {
        self.start_search(position, limits)?;
        let mut lines = BTreeMap::new();
        let best = self.await_line("bestmove", timeout, |line| {
            if let Some(info) = InfoLine::parse(line) {
                info.store_in(&mut lines);
            }
        })?;
        Answer::new(&best, lines).ok_or(EngineError::Line { line: best })
    }

    /// Returns the best move of `go nodes` in the position of `fen`, as the engine prints it.
    ///
    /// # Errors
    /// If the engine ends, does not answer, or its answer has no move.
    pub fn best_move(&mut self, fen: &str, nodes: u32) -> Result<String, EngineError> {
        self.new_game()?;
        let answer = self.go(&format!("fen {fen}"), &format!("nodes {nodes}"), self.timeout)?;
        Ok(answer.best)
    }
}

/// A text that is not `NAME=VALUE`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("\"{0}\" is not NAME=VALUE")]
pub struct NotNameValue(String);

/// Parses `NAME=VALUE`, the form of an engine's option on the command line.
///
/// # Errors
/// [`NotNameValue`] if there is no `=`.
pub fn parse_name_value(text: &str) -> Result<(String, String), NotNameValue> {
    let (name, value) = text.split_once('=').ok_or_else(|| NotNameValue(text.to_owned()))?;
    Ok((name.to_owned(), value.to_owned()))
}
