//! What PGN and BPGN are written in: tag pairs, comments, variations and words.

use std::io;

use super::Lines;

/// The smallest part of a file that means something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// `[Name "value"]`.
    Tag(String, String),
    /// What stands in braces; of several lines, joined by blanks.
    Comment(String),
    /// A variation begins.
    Open,
    /// .. and ends.
    Close,
    /// Anything else: a move, a number, a result.
    Word(String),
    /// What cannot be read, and why.
    Bad(String, &'static str),
}

impl Token {
    /// Whether it stands before a game's moves, a tag pair or what should be one.
    pub(super) fn is_of_tags(&self) -> bool {
        match self {
            Token::Tag(..) => true,
            Token::Bad(text, _) => text.starts_with('['),
            _ => false,
        }
    }
}

/// Cuts lines into tokens. What stands behind `;`, and lines that begin with `%`, are no part of the
/// game.
pub(super) struct Tokens<'l, 's> {
    lines: &'l mut Lines<'s>,
    /// The line read last.
    line: String,
    /// Where in it the next token is looked for.
    at: usize,
}

impl<'l, 's> Tokens<'l, 's> {
    pub(super) fn new(lines: &'l mut Lines<'s>) -> Tokens<'l, 's> {
        Tokens { lines, line: String::new(), at: 0 }
    }

    /// The name of the file, for faults.
    pub(super) fn file(&self) -> &str {
        self.lines.file
    }

    /// The next token with the line on which it begins; `None` at the end of the file.
    pub(super) fn next(&mut self) -> io::Result<Option<(usize, Token)>> {
        loop {
            self.at = self.line.len() - self.rest().trim_start().len();
            if !self.rest().is_empty() && !self.rest().starts_with(';') {
                break;
            }
            let Some(line) = self.lines.next()? else { return Ok(None) };
            self.begin(if line.starts_with('%') { String::new() } else { line });
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
            Some(b'}') => self.cut(1, |it| Token::Bad(it, "no comment is open")),
            _ => {
                let ends = |c: char| c.is_whitespace() || "{}()[;".contains(c);
                let end = self.rest().find(ends).unwrap_or(self.rest().len());
                self.cut(end, Token::Word)
            }
        };
        Ok(Some((line, token)))
    }

    /// What is left of the line read last.
    fn rest(&self) -> &str {
        &self.line[self.at..]
    }

    fn begin(&mut self, line: String) {
        (self.line, self.at) = (line, 0);
    }

    /// Takes the first `length` bytes of what is left.
    fn cut(&mut self, length: usize, make: impl Fn(String) -> Token) -> Token {
        let token = make(self.rest()[..length].to_owned());
        self.at += length;
        token
    }

    /// A comment may have several lines. Where a game begins in it, its end has been forgotten.
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
            self.begin(line);
            if self.rest().starts_with("[Event ") || self.lines.ended {
                return Ok(Token::Bad(text, "the comment has no end"));
            }
        }
    }

    /// A tag pair; of a bad one the line's rest is left out.
    fn tag(&mut self) -> Token {
        match tag(self.rest()) {
            Some((name, value, length)) => {
                self.at += length;
                Token::Tag(name, value)
            }
            None => {
                let text = self.rest().to_owned();
                self.at = self.line.len();
                Token::Bad(text, "it is no tag pair")
            }
        }
    }
}

/// The tag pair with which a text begins, and its length.
fn tag(text: &str) -> Option<(String, String, usize)> {
    let (name, value) = text.strip_prefix('[')?.split_once('"')?;
    let name = name.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(plain)).then_some(())?;
    let mut read = String::new();
    let mut letters = value.char_indices();
    let end = loop {
        match letters.next()? {
            (at, '"') => break at + 1,
            // Only these two are written so, and some write a `\` that means itself.
            (_, '\\') if letters.as_str().starts_with(['"', '\\']) => {
                read.extend(letters.next().map(|(_, c)| c))
            }
            (_, letter) => read.push(letter),
        }
    };
    let rest = value[end..].trim_start().strip_prefix(']')?;
    Some((name.to_owned(), read, text.len() - rest.len()))
}
