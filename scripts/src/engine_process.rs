//! An engine as a child process that speaks in lines: whatever it does, the caller gets a line or an
//! error.
//!
//! A thread reads the engine's lines, so that waiting for one can end. The engine is told to quit
//! when dropped, and killed if it does not.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

/// A running engine, of any protocol in which `quit` ends it.
#[derive(Debug)]
pub struct EngineProcess {
    /// The executable's path, for messages.
    executable: String,
    process: Child,
    input: ChildStdin,
    /// What it has written, and when each line came.
    lines: Receiver<(Instant, String)>,
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
pub const PATIENCE: Duration = Duration::from_secs(15);
/// How long it may take to quit.
const PARTING: Duration = Duration::from_secs(2);

impl EngineProcess {
    /// Starts an executable.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(
        executable: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>,
    ) -> Result<EngineProcess, EngineError> {
        EngineProcess::start_heard(executable, arguments, || ())
    }

    /// [`EngineProcess::start`], but `heard` is called, on a thread of its own, whenever the engine
    /// has written a line, and when it has ended: for whoever listens to several.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_heard(
        executable: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>,
        heard: impl Fn() + Send + 'static,
    ) -> Result<EngineProcess, EngineError> {
        let executable = executable.display().to_string();
        let io = |source| EngineError::Io { engine: executable.clone(), source };
        let mut process = Command::new(&executable)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(io)?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (input, output) = pipes.ok_or_else(|| io(std::io::Error::other("it has no pipes")))?;
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            forward(output, &sender, &heard);
            drop(sender);
            heard();
        });
        Ok(EngineProcess { executable, process, input, lines })
    }

    /// The executable's path.
    pub fn executable(&self) -> &str {
        &self.executable
    }

    /// Sends a line.
    ///
    /// # Errors
    /// If the pipe is broken.
    pub fn say(&mut self, line: &str) -> Result<(), EngineError> {
        let sent = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
        sent.map_err(|source| EngineError::Io { engine: self.executable.clone(), source })
    }

    /// The next line that it has written already, and when it came; `None` if there is none yet.
    /// `awaited` is how the line that is hoped for is called in errors.
    ///
    /// # Errors
    /// If the engine has ended, and all that it wrote has been read.
    pub fn poll(&mut self, awaited: &str) -> Result<Option<(Instant, String)>, EngineError> {
        match self.lines.try_recv() {
            Ok(line) => Ok(Some(line)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => {
                let (engine, awaited) = (self.executable.clone(), awaited.to_owned());
                Err(EngineError::Ended { engine, awaited })
            }
        }
    }

    /// Reads lines until `wanted` makes something of one, and gives that; `awaited` is how such a
    /// line is called in errors.
    ///
    /// # Errors
    /// If the engine ends before, or is silent for longer than `patience`.
    pub fn await_line<T>(
        &mut self,
        awaited: &str,
        patience: Duration,
        mut wanted: impl FnMut(&str) -> Option<T>,
    ) -> Result<T, EngineError> {
        let (engine, awaited) = (|| self.executable.clone(), || awaited.to_owned());
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let (_, line) = self.lines.recv_timeout(left).map_err(|error| match error {
                RecvTimeoutError::Timeout => EngineError::Silent {
                    engine: engine(),
                    awaited: awaited(),
                    seconds: patience.as_secs_f64(),
                },
                RecvTimeoutError::Disconnected => {
                    EngineError::Ended { engine: engine(), awaited: awaited() }
                }
            })?;
            if let Some(found) = wanted(&line) {
                return Ok(found);
            }
        }
    }
}

/// Sends what an engine writes on, line by line, until it ends or nobody listens. What is no UTF-8
/// is shown as such and not an end.
fn forward(output: ChildStdout, listener: &mpsc::Sender<(Instant, String)>, heard: &impl Fn()) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if listener.send((Instant::now(), text)).is_err() {
            return;
        }
        heard();
        line.clear();
    }
}

impl Drop for EngineProcess {
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
