//! Lines of whatever bytes come in.

use std::io::{BufRead, Read, Result};

/// A longer line is not kept, in bytes.
const LONGEST: usize = 1 << 20;

/// A line that came in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Line {
    /// Its text without its end; what is not UTF-8 is replaced.
    Text(String),
    /// It was longer than any line needs to be.
    TooLong,
}

impl Line {
    /// Its words.
    pub(super) fn words(&self) -> Vec<&str> {
        match self {
            Line::Text(text) => text.split_whitespace().collect(),
            Line::TooLong => Vec::new(),
        }
    }

    /// Whether there is nothing in it.
    pub(super) fn is_blank(&self) -> bool {
        matches!(self, Line::Text(text) if text.trim().is_empty())
    }

    /// The memory that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Line::Text(text) => size_of::<Line>() + text.len(),
            Line::TooLong => size_of::<Line>(),
        }
    }
}

/// Reads the next line, ended by LF or CR LF or by the end of `input`; `None` at its end.
pub(super) fn read_line(input: &mut impl BufRead) -> Result<Option<Line>> {
    let mut bytes = Vec::new();
    if input.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    if bytes.last() != Some(&b'\n') && bytes.len() > LONGEST {
        input.skip_until(b'\n')?;
        return Ok(Some(Line::TooLong));
    }
    let text = String::from_utf8_lossy(&bytes);
    // Some shells put a byte order mark before what they send.
    let text = text.trim_start_matches('\u{feff}').trim_end_matches(['\n', '\r']);
    Ok(Some(Line::Text(text.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(mut bytes: &[u8]) -> Vec<Line> {
        let mut found = Vec::new();
        while let Some(line) = read_line(&mut bytes).expect("bytes can be read") {
            found.push(line);
        }
        found
    }

    #[test]
    fn any_bytes_are_lines() {
        let text = |text: &str| Line::Text(text.to_owned());
        assert_eq!(lines(b""), []);
        assert_eq!(lines(b"uci\r\n\nd"), [text("uci"), text(""), text("d")]);
        assert_eq!(lines(b"\xef\xbb\xbfuci\n\xff\xfe\n"), [text("uci"), text("\u{fffd}\u{fffd}")]);
        let mut long = vec![b'x'; LONGEST];
        long.push(b'\n');
        assert_eq!(lines(&long), [text(&"x".repeat(LONGEST))]);
        let mut long = vec![b'x'; 3 * LONGEST];
        long.extend(b"\nquit\n");
        assert_eq!(lines(&long), [Line::TooLong, text("quit")]);
    }
}
