//! Input lines, of any bytes.

use std::io::{BufRead, Read, Result};

/// The maximum length of a line.
const MAX_LINE_BYTES: usize = 1 << 20;

/// A received line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum InputLine {
    /// The text without the line end. Bytes that are not UTF-8 are replaced.
    Text(String),
    /// The line was longer than [`MAX_LINE_BYTES`].
    TooLong,
}

impl InputLine {
    /// Returns the words.
    pub(super) fn words(&self) -> Vec<&str> {
        match self {
            InputLine::Text(text) => text.split_whitespace().collect(),
            InputLine::TooLong => Vec::new(),
        }
    }

    /// Returns `true` if the line is empty or all spaces.
    pub(super) fn is_blank(&self) -> bool {
        matches!(self, InputLine::Text(text) if text.trim().is_empty())
    }

    /// Returns the memory that the line takes, approximately.
    pub(super) fn bytes(&self) -> usize {
        match self {
            InputLine::Text(text) => size_of::<InputLine>() + text.len(),
            InputLine::TooLong => size_of::<InputLine>(),
        }
    }
}

/// Reads the next line, which ends with LF, CR LF or the end of `input`; `None` at the end.
pub(super) fn read_line(input: &mut impl BufRead) -> Result<Option<InputLine>> {
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
