//! Lines of text: read from input that is not trusted, written by several threads.

use std::fmt;
use std::io::{self, BufRead, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The maximum length of an input line.
const MAX_LINE_BYTES: usize = 1 << 20;
/// The maximum length of a message that quotes text from outside.
const MAX_MESSAGE_CHARS: usize = 1000;

/// A line of the input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum InputLine {
    /// The text without the line ending. Invalid UTF-8 is replaced.
    Text(String),
    /// The line was longer than [`MAX_LINE_BYTES`].
    TooLong,
}

/// Reads the next line, ended by LF, CR LF or the end of `input`. Returns `None` at the end of `input`.
pub(crate) fn read_line(input: &mut impl BufRead) -> io::Result<Option<InputLine>> {
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

/// Writes whole lines, from any thread.
pub struct LineWriter {
    writer: Mutex<Box<dyn Write + Send>>,
    closed: AtomicBool,
}

impl fmt::Debug for LineWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineWriter").field("closed", &self.closed).finish_non_exhaustive()
    }
}

impl LineWriter {
    /// Creates a writer of lines to `writer`.
    pub fn new(writer: impl Write + Send + 'static) -> LineWriter {
        LineWriter { writer: Mutex::new(Box::new(writer)), closed: AtomicBool::new(false) }
    }

    /// Writes a line and flushes. After an error the writer is closed.
    pub fn write_line(&self, line: &str) {
        log::debug!("<< {line}");
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writeln!(writer, "{line}").and_then(|()| writer.flush()).is_err() {
            self.closed.store(true, Ordering::Relaxed);
        }
    }

    /// Writes a message that may quote text from outside, as one line of limited length.
    pub fn write_message(&self, message: &str) {
        self.write_line(&single_line(message));
    }

    /// Returns `true` if a write has failed.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
}

/// Replaces control characters by spaces and cuts `text` to a limited length.
pub fn single_line(text: &str) -> String {
    let mut chars = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = chars.by_ref().take(MAX_MESSAGE_CHARS).collect();
    if chars.next().is_some() {
        line.push_str(" ...");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_lines(mut bytes: &[u8]) -> Vec<InputLine> {
        let mut lines = Vec::new();
        while let Some(line) = read_line(&mut bytes).expect("a slice can be read") {
            lines.push(line);
        }
        lines
    }

    fn text(text: &str) -> InputLine {
        InputLine::Text(text.to_owned())
    }

    #[test]
    fn lines_accept_any_bytes() {
        assert_eq!(read_lines(b""), []);
        assert_eq!(read_lines(b"rbc\r\n\nd"), [text("rbc"), text(""), text("d")]);
        assert_eq!(
            read_lines(b"\xef\xbb\xbfrbc\n\xff\xfe\n"),
            [text("rbc"), text("\u{fffd}\u{fffd}")]
        );
    }

    #[test]
    fn lines_that_are_too_long_are_skipped() {
        let mut longest = vec![b'x'; MAX_LINE_BYTES];
        longest.push(b'\n');
        assert_eq!(read_lines(&longest), [text(&"x".repeat(MAX_LINE_BYTES))]);
        let mut longer = vec![b'x'; 3 * MAX_LINE_BYTES];
        longer.extend(b"\nquit\n");
        assert_eq!(read_lines(&longer), [InputLine::TooLong, text("quit")]);
    }

    #[test]
    fn lines_of_messages_are_single_and_short() {
        assert_eq!(single_line("a\nb\tc"), "a b c");
        let longest = "x".repeat(MAX_MESSAGE_CHARS);
        assert_eq!(single_line(&longest), longest);
        assert_eq!(single_line(&format!("{longest}x")), format!("{longest} ..."));
    }
}
