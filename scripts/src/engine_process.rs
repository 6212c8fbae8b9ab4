//! An engine as a child process with a line-based protocol. Whatever the engine does, the caller gets a line or
//! an error.
//!
//! A thread reads the lines of the engine, so that waiting for a line can time out. A dropped engine receives
//! `quit`, and is killed if it does not end.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

/// A running engine, of any protocol in which `quit` ends it.
#[derive(Debug)]
pub struct EngineProcess {
    /// The path of the executable, for messages.
    executable: String,
    process: Child,
    input: ChildStdin,
    /// The lines that the engine has printed, with their times.
    lines: Receiver<(Instant, String)>,
}

/// Why an engine cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The engine could not be started, or the pipe to it is broken.
    #[error("the engine {engine}: {source}")]
    Io {
        /// The executable.
        engine: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The engine ended before it printed the expected line.
    #[error("the engine {engine} ended before it printed \"{expected}\"")]
    Ended {
        /// The executable.
        engine: String,
        /// The begin of the expected line.
        expected: String,
    },
    /// The engine did not print the expected line in time.
    #[error("the engine {engine} did not print \"{expected}\" within {seconds} s")]
    Timeout {
        /// The executable.
        engine: String,
        /// The begin of the expected line.
        expected: String,
        /// The time limit.
        seconds: f64,
    },
    /// The engine does not have the option, or the option does not accept the value.
    #[error("the engine {engine} has no option \"{name}\" with the value \"{value}\"")]
    Option {
        /// The executable.
        engine: String,
        /// The name of the option.
        name: String,
        /// The value.
        value: String,
    },
    /// A line of the engine is invalid.
    #[error("invalid line of the engine: \"{line}\"")]
    Line {
        /// The line.
        line: String,
    },
}

/// Time limit of an engine's answer to anything but a search; the same as that of python-chess and cutechess.
pub const REPLY_TIMEOUT: Duration = Duration::from_secs(15);
/// Time limit of `quit`.
const QUIT_TIMEOUT: Duration = Duration::from_secs(2);

impl EngineProcess {
    /// Starts an executable.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(
        executable: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>,
    ) -> Result<EngineProcess, EngineError> {
        EngineProcess::start_with_callback(executable, arguments, || ())
    }

    /// Starts an executable. `on_line` is called, on a thread of its own, after every line of the engine and after
    /// its end, so that one thread can wait for several engines.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_with_callback(
        executable: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>,
        on_line: impl Fn() + Send + 'static,
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
            forward(output, &sender, &on_line);
            drop(sender);
            on_line();
        });
        Ok(EngineProcess { executable, process, input, lines })
    }

    /// Returns the path of the executable.
    pub fn executable(&self) -> &str {
        &self.executable
    }

    /// Sends a line.
    ///
    /// # Errors
    /// If the pipe is broken.
    pub fn send(&mut self, line: &str) -> Result<(), EngineError> {
        let sent = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
        sent.map_err(|source| EngineError::Io { engine: self.executable.clone(), source })
    }

    /// Returns the next line that the engine has printed, and its time; `None` if there is none. `expected` names
    /// the expected line in errors.
    ///
    /// # Errors
    /// [`EngineError::Ended`] if the engine has ended and all of its lines have been read.
    pub fn poll(&mut self, expected: &str) -> Result<Option<(Instant, String)>, EngineError> {
        match self.lines.try_recv() {
            Ok(line) => Ok(Some(line)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => {
                let engine = self.executable.clone();
                Err(EngineError::Ended { engine, expected: expected.to_owned() })
            }
        }
    }

    /// Reads lines until `parse` returns a value, and returns that. `expected` names the expected line in errors.
    ///
    /// # Errors
    /// [`EngineError::Ended`] or [`EngineError::Timeout`].
    pub fn await_line<T>(
        &mut self,
        expected: &str,
        timeout: Duration,
        mut parse: impl FnMut(&str) -> Option<T>,
    ) -> Result<T, EngineError> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let (_, line) = self.lines.recv_timeout(left).map_err(|error| {
                let engine = self.executable.clone();
                let expected = expected.to_owned();
                match error {
                    RecvTimeoutError::Timeout => {
                        EngineError::Timeout { engine, expected, seconds: timeout.as_secs_f64() }
                    }
                    RecvTimeoutError::Disconnected => EngineError::Ended { engine, expected },
                }
            })?;
            if let Some(found) = parse(&line) {
                return Ok(found);
            }
        }
    }
}

/// Forwards the lines of an engine until it ends or the receiver is gone. Bytes that are not UTF-8 are
/// replaced.
fn forward(output: ChildStdout, lines: &mpsc::Sender<(Instant, String)>, on_line: &impl Fn()) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if lines.send((Instant::now(), text)).is_err() {
            return;
        }
        on_line();
        line.clear();
    }
}

impl Drop for EngineProcess {
    fn drop(&mut self) {
        // This fails if the engine has ended.
        let _ = self.send("quit");
        let deadline = Instant::now() + QUIT_TIMEOUT;
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
