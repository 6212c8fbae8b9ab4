//! A UCI engine as a child process.

mod answer;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

pub use answer::{Answer, Line};

pub use crate::engine_process::EngineError;
use crate::engine_process::{EngineProcess, PATIENCE};

/// A running engine.
#[derive(Debug)]
pub struct UciEngine {
    process: EngineProcess,
    /// The options it told, each with the values it may have, if it told those.
    options: BTreeMap<String, Vec<String>>,
    patience: Duration,
}

impl UciEngine {
    /// Starts an engine and shakes hands. An answer to anything but a search may take 15 seconds.
    ///
    /// # Errors
    /// If it cannot be started or does not answer.
    pub fn start(executable: &Path) -> Result<UciEngine, EngineError> {
        UciEngine::start_with(executable, PATIENCE)
    }

    /// [`UciEngine::start`] with another patience.
    ///
    /// # Errors
    /// If it cannot be started or does not answer.
    pub fn start_with(executable: &Path, patience: Duration) -> Result<UciEngine, EngineError> {
        UciEngine::shaken(EngineProcess::start(executable, [""; 0])?, patience)
    }

    /// Shakes hands with an engine that has been started.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn shaken(process: EngineProcess, patience: Duration) -> Result<UciEngine, EngineError> {
        let mut engine = UciEngine { process, options: BTreeMap::new(), patience };
        engine.shake_hands()?;
        Ok(engine)
    }

    /// Says `uci` and notes the options that the engine tells. An engine may have other values to
    /// offer once some are set (a file of variants), so that it may be asked again.
    ///
    /// # Errors
    /// If the engine ends or is silent.
    pub fn shake_hands(&mut self) -> Result<(), EngineError> {
        self.say("uci")?;
        let mut options = BTreeMap::new();
        self.await_line("uciok", self.patience, |line| options.extend(answer::option(line)))?;
        self.options = options;
        Ok(())
    }

    /// The executable's path.
    pub fn executable(&self) -> &str {
        self.process.executable()
    }

    /// Whether the engine told that it has this option.
    pub fn has(&self, name: &str) -> bool {
        self.options.keys().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Whether the engine told that it has this option and that it takes this value.
    pub fn takes(&self, name: &str, value: &str) -> bool {
        let same = |(known, _): &(&String, _)| known.eq_ignore_ascii_case(name);
        let values = self.options.iter().find(same).map(|(_, values)| values);
        values.is_some_and(|values| values.is_empty() || values.iter().any(|known| known == value))
    }

    /// Sends a line.
    ///
    /// # Errors
    /// If the pipe is broken.
    pub fn say(&mut self, line: &str) -> Result<(), EngineError> {
        self.process.say(line)
    }

    /// Reads lines until one begins with `word`, and gives it.
    ///
    /// # Errors
    /// If the engine ends before, or is silent.
    pub fn answer(&mut self, word: &str) -> Result<String, EngineError> {
        self.await_line(word, self.patience, |_| ())
    }

    /// Reads lines until one begins with `word` and gives it; `see` is shown those before it.
    fn await_line(
        &mut self,
        word: &str,
        patience: Duration,
        mut see: impl FnMut(&str),
    ) -> Result<String, EngineError> {
        self.process.await_line(word, patience, |line| {
            let found = line.split_whitespace().next() == Some(word);
            if !found {
                see(line);
            }
            found.then(|| line.to_owned())
        })
    }

    /// Sets an option and waits until the engine is ready.
    ///
    /// # Errors
    /// If the engine told no such option or value, ends, or is silent.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        if !self.takes(name, value) {
            let (name, value) = (name.to_owned(), value.to_owned());
            return Err(EngineError::Option { engine: self.executable().to_owned(), name, value });
        }
        self.say(&format!("setoption name {name} value {value}"))?;
        self.ready()
    }

    /// Lets the engine forget what it knew, and waits until it is ready.
    ///
    /// # Errors
    /// If the engine ends or is silent.
    pub fn new_game(&mut self) -> Result<(), EngineError> {
        self.say("ucinewgame")?;
        self.ready()
    }

    fn ready(&mut self) -> Result<(), EngineError> {
        self.say("isready")?;
        self.answer("readyok").map(drop)
    }

    /// Begins what [`UciEngine::go`] does, and does not wait for the answer: that is a line of
    /// [`UciEngine::poll`].
    ///
    /// # Errors
    /// If the pipe is broken.
    pub fn begin(&mut self, position: &str, limits: &str) -> Result<(), EngineError> {
        self.say(&format!("position {position}"))?;
        self.say(&format!("go {limits}"))
    }

    /// The next line that the engine has written already, and when it came.
    ///
    /// # Errors
    /// If it has ended.
    pub fn poll(&mut self) -> Result<Option<(Instant, String)>, EngineError> {
        self.process.poll("bestmove")
    }

    /// Lets the engine search: `position` is what follows that word in UCI (`startpos`, or `fen ..`,
    /// and `moves ..`), `limits` what follows `go` (`nodes 4000`), `patience` how long the answer
    /// may take.
    ///
    /// # Errors
    /// If the engine ends, is silent, or its answer names no move.
    pub fn go(
        &mut self,
        position: &str,
        limits: &str,
        patience: Duration,
    ) -> Result<Answer, EngineError> {
        self.begin(position, limits)?;
        let mut lines = BTreeMap::new();
        let best = self.await_line("bestmove", patience, |line| {
            if let Some(found) = Line::read(line) {
                found.put_into(&mut lines);
            }
        })?;
        Answer::new(&best, lines).ok_or(EngineError::Line { line: best })
    }

    /// The best move in the position of `fen` after `go nodes`, as the engine writes it.
    ///
    /// # Errors
    /// If the engine ends, is silent, or names no move.
    pub fn best_move(&mut self, fen: &str, nodes: u32) -> Result<String, EngineError> {
        self.new_game()?;
        let answer = self.go(&format!("fen {fen}"), &format!("nodes {nodes}"), self.patience)?;
        Ok(answer.best)
    }
}

/// An engine's option as a command line has it, `name=value`.
///
/// # Errors
/// In words, if it is none.
pub fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it is not name=value")?;
    Ok((name.to_owned(), value.to_owned()))
}
