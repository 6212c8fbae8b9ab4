//! Lines of text: received from input that is not trusted, sent by several threads.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, Error, Read, Result, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The maximum length of a line.
const MAX_LINE_BYTES: usize = 1 << 20;

/// A received line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InputLine {
    /// The text without the line end. Bytes that are not UTF-8 are replaced.
    Text(String),
    /// The line was longer than 1 MiB.
    TooLong,
}

impl InputLine {
    /// Returns the words.
    pub fn words(&self) -> Vec<&str> {
        match self {
            InputLine::Text(text) => text.split_whitespace().collect(),
            InputLine::TooLong => Vec::new(),
        }
    }

    /// Returns `true` if the line is empty or all spaces.
    pub fn is_blank(&self) -> bool {
        matches!(self, InputLine::Text(text) if text.trim().is_empty())
    }

    /// Returns the memory that the line takes, approximately.
    pub fn bytes(&self) -> usize {
        match self {
            InputLine::Text(text) => size_of::<InputLine>() + text.len(),
            InputLine::TooLong => size_of::<InputLine>(),
        }
    }
}

/// Reads the next line, which ends with LF, CR LF or the end of `input`. Returns `None` at the end.
///
/// # Errors
/// If `input` cannot be read.
pub fn read_line(input: &mut impl BufRead) -> Result<Option<InputLine>> {
    let mut bytes = Vec::new();
    if input.by_ref().take(MAX_LINE_BYTES as u64 + 1).read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    if bytes.last() != Some(&b'\n') && bytes.len() > MAX_LINE_BYTES {
        input.skip_until(b'\n')?;
        return Ok(Some(InputLine::TooLong));
    }
    let text = String::from_utf8_lossy(&bytes);
    // Some shells send a byte order mark first.
    let text = text.trim_start_matches('\u{feff}').trim_end_matches(['\n', '\r']);
    Ok(Some(InputLine::Text(text.to_owned())))
}

/// The maximum length of a message, in characters. Longer ones are cut: what they quote may have any length.
const MAX_MESSAGE_CHARS: usize = 1000;

/// The writer of all output, and the log file of all input and output.
pub struct LineWriter {
    inner: Mutex<Inner>,
    closed: AtomicBool,
}

struct Inner {
    writer: Box<dyn Write + Send>,
    log: Option<File>,
}

impl fmt::Debug for LineWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineWriter").field("closed", &self.closed).finish_non_exhaustive()
    }
}

impl LineWriter {
    /// Returns a writer of lines to `writer`.
    pub fn new(writer: impl Write + Send + 'static) -> LineWriter {
        let inner = Mutex::new(Inner { writer: Box::new(writer), log: None });
        LineWriter { inner, closed: AtomicBool::new(false) }
    }

    /// Returns `true` if a write has failed.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Prints whole lines, with no lines of other threads between them.
    pub fn print(&self, lines: &str) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.log("<<", lines);
        let text = format!("{}\n", lines.trim_end_matches('\n'));
        let result = inner.writer.write_all(text.as_bytes()).and_then(|()| inner.writer.flush());
        if result.is_err() {
            self.closed.store(true, Ordering::Relaxed);
        }
    }

    /// Prints a message that may quote any input, as one line of limited length.
    pub fn print_message(&self, message: &str) {
        self.print(&one_line(message));
    }

    /// Logs a line of the input.
    pub fn log_input(&self, line: &str) {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).log(">>", line);
    }

    /// Logs all input and output from now on at the end of the file `path`, or nowhere.
    ///
    /// # Errors
    /// If the file cannot be opened, or is a pipe or a device. The log file then stays the same.
    pub fn log_to(&self, path: Option<&Path>) -> Result<()> {
        let log = path.map(open_log).transpose()?;
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).log = log;
        Ok(())
    }
}

impl Inner {
    fn log(&mut self, mark: &str, lines: &str) {
        log::debug!("{mark} {lines}");
        if let Some(file) = &mut self.log {
            let text: String = lines.lines().map(|line| format!("{mark} {line}\n")).collect();
            if let Err(error) = file.write_all(text.as_bytes()) {
                log::error!("the log file ends here: {error}");
                // The engine continues without a log.
                self.log = None;
            }
        }
    }
}

/// Opens a log file. Opening a named pipe would wait for its reader.
fn open_log(path: &Path) -> Result<File> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        return Err(Error::other("not a regular file"));
    }
    OpenOptions::new().create(true).append(true).open(path)
}

/// Returns a message that may quote any input, as one line of limited length.
pub fn one_line(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(mut bytes: &[u8]) -> Vec<InputLine> {
        let mut found = Vec::new();
        while let Some(line) = read_line(&mut bytes).expect("bytes can be read") {
            found.push(line);
        }
        found
    }

    #[test]
    fn one_line_is_single_and_short() {
        assert_eq!(one_line("a\nb\tc"), "a b c");
        let longest = "x".repeat(MAX_MESSAGE_CHARS);
        assert_eq!(one_line(&longest), longest);
        assert_eq!(one_line(&format!("{longest}x")), format!("{longest} ..."));
    }

    #[test]
    fn lines_are_read_from_any_bytes() {
        let text = |text: &str| InputLine::Text(text.to_owned());
        assert_eq!(lines(b""), []);
        assert_eq!(lines(b"uci\r\n\nd"), [text("uci"), text(""), text("d")]);
        assert_eq!(lines(b"\xef\xbb\xbfuci\n\xff\xfe\n"), [text("uci"), text("\u{fffd}\u{fffd}")]);
        let mut long = vec![b'x'; MAX_LINE_BYTES];
        long.push(b'\n');
        assert_eq!(lines(&long), [text(&"x".repeat(MAX_LINE_BYTES))]);
        let mut long = vec![b'x'; 3 * MAX_LINE_BYTES];
        long.extend(b"\nquit\n");
        assert_eq!(lines(&long), [InputLine::TooLong, text("quit")]);
    }
}
