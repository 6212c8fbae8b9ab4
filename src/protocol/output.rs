//! The way out: whole lines, one after another, from whatever thread.

use std::fs::{File, OpenOptions};
use std::io::{Result, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Longer lines of words are cut, in bytes: what they quote may be of any length.
const LONGEST: usize = 1000;

/// Where lines go, and the file that keeps a copy of all that is said.
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

    /// Whether nobody listens any more.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Says some whole lines, with nothing of another thread's between them.
    pub(super) fn say(&self, lines: &str) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.log("<<", lines);
        let text = format!("{}\n", lines.trim_end_matches('\n'));
        let said = inner.writer.write_all(text.as_bytes()).and_then(|()| inner.writer.flush());
        if said.is_err() {
            self.closed.store(true, Ordering::Relaxed);
        }
    }

    /// Keeps what came in.
    pub(super) fn on_line(&self, line: &str) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).log(">>", line);
    }

    /// Keeps a copy of all that is said from now on at the end of the file `path`, or nowhere.
    pub(super) fn keep(&self, path: Option<&Path>) -> Result<()> {
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
                // A full disk is no reason not to play.
                self.log = None;
            }
        }
    }
}

/// Words that quote what came from outside, made fit for one line that is not too long.
pub(super) fn one_line(text: &str) -> String {
    let mut line: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST + 1).collect();
    if let Some((end, _)) = line.char_indices().nth(LONGEST) {
        line.truncate(end);
        line.push_str(" ...");
    }
    line
}
