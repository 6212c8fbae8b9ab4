//! A UCI engine as a child process: whatever it does, the caller gets an answer or an error.
//!
//! A thread reads the engine's lines, so that waiting for one can end. The engine is told to quit
//! when dropped, and killed if it does not.

mod answer;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

pub use answer::{Answer, Line};

/// A running engine.
#[derive(Debug)]
pub struct UciEngine {
    /// The executable's path, for messages.
    executable: String,
    process: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    /// The options it told, each with the values it may have, if it told those.
    options: BTreeMap<String, Vec<String>>,
    patience: Duration,
}

/// Why an engine could not be used.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// It could not be started, or the pipe to it broke.
    #[error("the engine {engine}: {source}")]
    Io {
        /// The executable.
        engine: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// It ended while an answer was awaited.
    #[error("the engine {engine} ended before \"{awaited}\"")]
    Ended {
        /// The executable.
        engine: String,
        /// How the awaited line begins.
        awaited: String,
    },
    /// It lives, but did not answer in time.
    #[error("the engine {engine} did not say \"{awaited}\" within {seconds} s")]
    Silent {
        /// The executable.
        engine: String,
        /// How the awaited line begins.
        awaited: String,
        /// How long it was given.
        seconds: f64,
    },
    /// It has no such option, or the option no such value.
    #[error("the engine {engine} has no option \"{name}\" that takes \"{value}\"")]
    Option {
        /// The executable.
        engine: String,
        /// The option's name.
        name: String,
        /// The value.
        value: String,
    },
    /// A line that makes no sense.
    #[error("the engine said \"{line}\"")]
    Line {
        /// The line.
        line: String,
    },
}

/// How long an engine may take for all but a search: python-chess and cutechess give it as long.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long it may take to quit.
const PARTING: Duration = Duration::from_secs(2);

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
        let executable = executable.display().to_string();
        let io = |source| EngineError::Io { engine: executable.clone(), source };
        let mut process = Command::new(&executable)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(io)?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (input, output) = pipes.ok_or_else(|| io(std::io::Error::other("it has no pipes")))?;
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || forward(output, &sender));
        let options = BTreeMap::new();
        let mut engine = UciEngine { executable, process, input, lines, options, patience };
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
        &self.executable
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
        let sent = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
        sent.map_err(|source| EngineError::Io { engine: self.executable.clone(), source })
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
        let (engine, awaited) = (|| self.executable.clone(), || word.to_owned());
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).map_err(|error| match error {
                RecvTimeoutError::Timeout => EngineError::Silent {
                    engine: engine(),
                    awaited: awaited(),
                    seconds: patience.as_secs_f64(),
                },
                RecvTimeoutError::Disconnected => {
                    EngineError::Ended { engine: engine(), awaited: awaited() }
                }
            })?;
            if line.split_whitespace().next() == Some(word) {
                return Ok(line);
            }
            see(&line);
        }
    }

    /// Sets an option and waits until the engine is ready.
    ///
    /// # Errors
    /// If the engine told no such option or value, ends, or is silent.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        if !self.takes(name, value) {
            let (name, value) = (name.to_owned(), value.to_owned());
            return Err(EngineError::Option { engine: self.executable.clone(), name, value });
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
        self.say(&format!("position {position}"))?;
        self.say(&format!("go {limits}"))?;
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

/// Sends what an engine writes on, line by line, until it ends or nobody listens. What is no UTF-8
/// is shown as such and not an end.
fn forward(output: ChildStdout, listener: &mpsc::Sender<String>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if listener.send(text).is_err() {
            return;
        }
        line.clear();
    }
}

impl Drop for UciEngine {
    fn drop(&mut self) {
        // An engine that does not hear it any more has ended already.
        let _ = self.say("quit");
        let deadline = Instant::now() + PARTING;
        while Instant::now() < deadline {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
