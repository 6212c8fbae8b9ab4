//! A UCI engine as a child process.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running engine; it is told to quit when dropped.
#[derive(Debug)]
pub struct UciEngine {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
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
    #[error("the engine ended before \"{awaited}\"")]
    Ended {
        /// How the awaited line begins.
        awaited: String,
    },
    /// A line that makes no sense.
    #[error("the engine said \"{line}\"")]
    Line {
        /// The line.
        line: String,
    },
}

impl UciEngine {
    /// Starts an engine and shakes hands.
    ///
    /// # Errors
    /// If it cannot be started or does not answer.
    pub fn start(executable: &Path) -> Result<UciEngine, EngineError> {
        let io = |source| EngineError::Io { engine: executable.display().to_string(), source };
        let mut process = Command::new(executable)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(io)?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (input, output) = pipes.ok_or_else(|| io(std::io::Error::other("it has no pipes")))?;
        let mut engine = UciEngine { process, input, output: BufReader::new(output) };
        engine.say("uci")?;
        engine.answer("uciok")?;
        Ok(engine)
    }

    /// Sends a line.
    ///
    /// # Errors
    /// If the pipe is broken.
    pub fn say(&mut self, line: &str) -> Result<(), EngineError> {
        let io = |source| EngineError::Io { engine: "pipe".to_owned(), source };
        writeln!(self.input, "{line}").and_then(|()| self.input.flush()).map_err(io)
    }

    /// Reads lines until one begins with `word`, and gives it.
    ///
    /// # Errors
    /// If the engine ends before.
    pub fn answer(&mut self, word: &str) -> Result<String, EngineError> {
        loop {
            let mut line = String::new();
            let io = |source| EngineError::Io { engine: "pipe".to_owned(), source };
            if self.output.read_line(&mut line).map_err(io)? == 0 {
                return Err(EngineError::Ended { awaited: word.to_owned() });
            }
            if line.split_whitespace().next() == Some(word) {
                return Ok(line.trim_end().to_owned());
            }
        }
    }

    /// Sets an option and waits until the engine is ready.
    ///
    /// # Errors
    /// If the engine ends.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        self.say(&format!("setoption name {name} value {value}"))?;
        self.say("isready")?;
        self.answer("readyok").map(drop)
    }

    /// The best move in the position of `fen` after `go nodes`, as it writes it.
    ///
    /// # Errors
    /// If the engine ends or names no move.
    pub fn best_move(&mut self, fen: &str, nodes: u32) -> Result<String, EngineError> {
        self.say("ucinewgame")?;
        self.say(&format!("position fen {fen}"))?;
        self.say(&format!("go nodes {nodes}"))?;
        let line = self.answer("bestmove")?;
        let best = line.split_whitespace().nth(1).map(str::to_owned);
        best.ok_or(EngineError::Line { line })
    }
}

impl Drop for UciEngine {
    fn drop(&mut self) {
        // An engine that does not hear it any more has ended already.
        let _ = self.say("quit");
        let _ = self.process.wait();
    }
}
