//! The tokens of PGN and BPGN: tag pairs, comments, variations and words.

use std::io;

use super::Lines;

/// A token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// `[Name "value"]`.
    Tag(String, String),
    /// A comment in braces; its lines are joined by spaces.
    Comment(String),
    /// The begin of a variation.
    Open,
    /// The end of a variation.
    Close,
    /// Any other word: a move, a number, a result.
    Word(String),
    /// Text that is no token, and the reason.
    Invalid(String, SyntaxError),
}

/// Why a text is no PGN or BPGN.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SyntaxError {
    /// A `}` without a `{`.
    #[error("no comment is open")]
    NoOpenComment,
    /// A `{` without a `}`.
    #[error("the comment is not closed")]
    OpenComment,
    /// A `[` that does not begin a tag pair `[Name "value"]`.
    #[error("invalid tag pair")]
    TagPair,
    /// A `)` without a `(`.
    #[error("no variation is open")]
    NoOpenVariation,
    /// A `(` without a `)`.
    #[error("a variation is not closed")]
    OpenVariation,
}

impl Token {
    /// Returns `true` for a tag pair, also an invalid one.
    pub(super) fn is_tag(&self) -> bool {
        match self {
            Token::Tag(..) => true,
            Token::Invalid(text, _) => text.starts_with('['),
            _ => false,
        }
    }
}

/// Splits lines into tokens. Text after `;`, and lines that begin with `%`, are ignored.
pub(super) struct Tokens<'l, 's> {
    lines: &'l mut Lines<'s>,
    /// The current line.
    line: String,
    /// The offset of the next token in the line.
    at: usize,
}

impl<'l, 's> Tokens<'l, 's> {
    pub(super) fn new(lines: &'l mut Lines<'s>) -> Tokens<'l, 's> {
        Tokens { lines, line: String::new(), at: 0 }
    }

    /// Returns the name of the file, for errors.
    pub(super) fn file(&self) -> &str {
        self.lines.file
    }

    /// Returns the next token and the number of the line on which it begins; `None` at the end of the file.
    pub(super) fn next(&mut self) -> io::Result<Option<(usize, Token)>> {
        loop {
            self.at = self.line.len() - self.rest().trim_start().len();
            if !self.rest().is_empty() && !self.rest().starts_with(';') {
                break;
            }
            let Some(line) = self.lines.next()? else { return Ok(None) };
            self.set_line(if line.starts_with('%') { String::new() } else { line });
            if self.lines.number == 1 && self.rest().starts_with('\u{feff}') {
                self.at = '\u{feff}'.len_utf8();
            }
        }
        let line = self.lines.number;
        let token = match self.rest().as_bytes().first() {
            Some(b'{') => self.comment()?,
            Some(b'[') => self.tag(),
            Some(b'(') => self.cut(1, |_| Token::Open),
            Some(b')') => self.cut(1, |_| Token::Close),
            Some(b'}') => self.cut(1, |it| Token::Invalid(it, SyntaxError::NoOpenComment)),
            _ => {
                let ends = |c: char| c.is_whitespace() || "{}()[;".contains(c);
                let end = self.rest().find(ends).unwrap_or(self.rest().len());
                self.cut(end, Token::Word)
            }
        };
        Ok(Some((line, token)))
    }

    /// Returns the rest of the current line.
    fn rest(&self) -> &str {
        &self.line[self.at..]
    }

    fn set_line(&mut self, line: String) {
        self.line = line;
        self.at = 0;
    }

    /// Takes the next `length` bytes of the line.
    fn cut(&mut self, length: usize, make: impl Fn(String) -> Token) -> Token {
        let token = make(self.rest()[..length].to_owned());
        self.at += length;
        token
    }

    /// Reads a comment, which may have several lines. A game that begins in a comment shows that its end is missing.
    fn comment(&mut self) -> io::Result<Token> {
        let mut text = String::new();
        self.at += 1;
        loop {
            if let Some(end) = self.rest().find('}') {
                text.push_str(&self.rest()[..end]);
                self.at += end + 1;
                return Ok(Token::Comment(text));
            }
            text.push_str(self.rest());
            text.push(' ');
            let line = self.lines.next()?.unwrap_or_default();
            self.set_line(line);
            if self.rest().starts_with("[Event ") || self.lines.ended {
                return Ok(Token::Invalid(text, SyntaxError::OpenComment));
            }
        }
    }

    /// Reads a tag pair. After an invalid one the rest of the line is skipped.
    fn tag(&mut self) -> Token {
        match parse_tag(self.rest()) {
            Some((name, value, length)) => {
                self.at += length;
                Token::Tag(name, value)
            }
            None => {
                let text = self.rest().to_owned();
                self.at = self.line.len();
                Token::Invalid(text, SyntaxError::TagPair)
            }
        }
    }
}

/// Returns the tag pair at the begin of a text, and its length.
fn parse_tag(text: &str) -> Option<(String, String, usize)> {
    let (name, value) = text.strip_prefix('[')?.split_once('"')?;
    let name = name.trim();
    let is_name_char = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name_char) {
        return None;
    }
    let mut read = String::new();
    let mut letters = value.char_indices();
    let end = loop {
        match letters.next()? {
            (at, '"') => break at + 1,
            // Only these two are escaped. Some programs write a single `\`.
            (_, '\\') if letters.as_str().starts_with(['"', '\\']) => {
                read.extend(letters.next().map(|(_, c)| c))
            }
            (_, letter) => read.push(letter),
        }
    };
    let rest = value[end..].trim_start().strip_prefix(']')?;
    Some((name.to_owned(), read, text.len() - rest.len()))
}
