//! The output: whole lines, from any thread.

use std::fs::{File, OpenOptions};
use std::io::{Result, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The maximum length of a message, in characters. Longer ones are cut: what they quote may have any length.
const MAX_MESSAGE_CHARS: usize = 1000;

/// The writer of all output, and the log file of all input and output.
pub(super) struct Output {
    inner: Mutex<Inner>,
    closed: AtomicBool,
}

struct Inner {
    writer: Box<dyn Write + Send>,
    log: Option<File>,
}

impl Output {
    pub(super) fn new(writer: impl Write + Send + 'static) -> Output {
        let inner = Mutex::new(Inner { writer: Box::new(writer), log: None });
        Output { inner, closed: AtomicBool::new(false) }
    }

    /// Returns `true` if a write has failed.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Prints whole lines, with no lines of other threads between them.
    pub(super) fn print(&self, lines: &str) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.log("<<", lines);
        let text = format!("{}\n", lines.trim_end_matches('\n'));
        let result = inner.writer.write_all(text.as_bytes()).and_then(|()| inner.writer.flush());
        if result.is_err() {
            self.closed.store(true, Ordering::Relaxed);
        }
    }

    /// Logs a line of the input.
    pub(super) fn log_input(&self, line: &str) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).log(">>", line);
    }

    /// Logs all input and output from now on at the end of the file `path`, or nowhere.
    ///
    /// # Errors
    /// If the file cannot be opened. The log file then stays the same.
    pub(super) fn log_to(&self, path: Option<&Path>) -> Result<()> {
        let open = |path| OpenOptions::new().create(true).append(true).open(path);
        let log = path.map(open).transpose()?;
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).log = log;
        Ok(())
    }
}

impl Inner {
    fn log(&mut self, mark: &str, lines: &str) {
        log::debug!("{mark} {lines}");
        if let Some(file) = &mut self.log {
            let text: String = lines.lines().map(|line| format!("{mark} {line}\n")).collect();
            if file.write_all(text.as_bytes()).is_err() {
                // The engine continues without a log.
                self.log = None;
            }
        }
    }
}

/// Returns a message that may quote any input, as one line of limited length.
pub(super) fn one_line(text: &str) -> String {
    let mut line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_MESSAGE_CHARS + 1)
        .collect();
    if let Some((end, _)) = line.char_indices().nth(MAX_MESSAGE_CHARS) {
        line.truncate(end);
        line.push_str(" ...");
    }
    line
}
