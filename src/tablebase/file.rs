//! A table as a file: three lines of text, the entries packed by Deflate, and a checksum.
//!
//! ```text
//! menagerie table 1
//! 3x3full
//! 211896384
//! ```
//!
//! The lines are the version of the form, the variant, and how many numbers there are. The last 32
//! bytes of the file are the SHA-256 of all before. A checksum guards against accidents only; that
//! the entries are those of the rules at hand is tried on a sample.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use sha2::{Digest, Sha256};

use super::{Entry, Index, IndexError, SolvedTable};
use crate::variant::Variant;

/// The first line.
const VERSION: &str = "menagerie table 1";
/// The bytes of the checksum.
const CHECKSUM: usize = 32;
/// So many entries are tried by the rules.
const TRIED: u64 = 2000;

/// Why the bytes of a file are no table for a game.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TableError {
    /// It does not begin as tables do.
    #[error("it is no table: it begins with \"{0}\", not with \"{VERSION}\"")]
    Foreign(String),
    /// Its end is missing, or a byte was changed.
    #[error("it is damaged: its checksum is not that of its bytes")]
    Damaged,
    /// It is another game's.
    #[error("it is a table of \"{found}\", not of {wanted}")]
    Variant {
        /// The game of the table.
        found: String,
        /// The game that is wanted.
        wanted: String,
    },
    /// It has not as many entries as the game has numbers.
    #[error("it has \"{found}\" entries, not {wanted}")]
    Length {
        /// What it says.
        found: String,
        /// How many there must be.
        wanted: u64,
    },
    /// The game's positions have no numbers.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// An entry is not what the rules make of the entries after it.
    #[error("it was made by other rules: it is wrong about \"{fen}\"")]
    Rules {
        /// The position of the entry.
        fen: String,
    },
}

impl SolvedTable {
    /// Writes the table of `variant` as a file.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&self, variant: &Variant, out: impl Write) -> io::Result<()> {
        let mut out = Summed { inner: out, hash: Sha256::new() };
        write!(out, "{VERSION}\n{}\n{}\n", variant.name(), self.entries.len())?;
        let mut packed = DeflateEncoder::new(&mut out, Compression::default());
        let mut bytes = Vec::with_capacity(CHUNK);
        for chunk in self.entries.chunks(CHUNK) {
            bytes.clear();
            bytes.extend(chunk.iter().map(|entry| entry.0));
            packed.write_all(&bytes)?;
        }
        packed.finish()?;
        let sum = out.hash.finalize();
        out.inner.write_all(&sum)?;
        out.inner.flush()
    }

    /// Reads the bytes of a file as a table of `variant`.
    ///
    /// # Errors
    /// If they are none, are damaged, or are not of this game; each quotes what they say.
    pub fn read(variant: &Variant, bytes: &[u8]) -> Result<SolvedTable, TableError> {
        let (line, rest) = first_line(bytes);
        if line != VERSION {
            return Err(TableError::Foreign(line));
        }
        let (found, rest) = first_line(rest);
        let wanted = variant.name().to_owned();
        if found != wanted {
            return Err(TableError::Variant { found, wanted });
        }
        let split = rest.len().checked_sub(CHECKSUM).ok_or(TableError::Damaged)?;
        let (rest, sum) = rest.split_at(split);
        if Sha256::digest(&bytes[..bytes.len() - CHECKSUM])[..] != *sum {
            return Err(TableError::Damaged);
        }
        let index = Index::new(variant)?;
        let wanted = index.len();
        let (found, packed) = first_line(rest);
        let length = |found: String| TableError::Length { found, wanted };
        if found != wanted.to_string() {
            return Err(length(found));
        }
        let entries = unpack(packed, wanted).ok_or_else(|| length("more or fewer".to_owned()))?;
        let table = SolvedTable::new(variant, index, entries);
        match table.disagrees(TRIED) {
            Some(fen) => Err(TableError::Rules { fen }),
            None => Ok(table),
        }
    }

    /// The variant that the first bytes of a file name, if it is a table.
    pub fn variant_of(bytes: &[u8]) -> Option<String> {
        let (version, rest) = first_line(bytes);
        (version == VERSION).then(|| first_line(rest).0)
    }
}

/// Entries are written and read so many at a time.
const CHUNK: usize = 1 << 16;

/// The first line, if it is not long, and what follows.
fn first_line(bytes: &[u8]) -> (String, &[u8]) {
    const LONGEST: usize = 80;
    let head = &bytes[..bytes.len().min(LONGEST)];
    let end = head.iter().position(|&byte| byte == b'\n').unwrap_or(head.len());
    let line = match str::from_utf8(&head[..end]) {
        Ok(text) => text.escape_debug().to_string(),
        Err(_) => head[..end].escape_ascii().to_string(),
    };
    (line, bytes.get(end + 1..).unwrap_or_default())
}

/// The entries; `None` if there are more or fewer than `count`.
fn unpack(packed: &[u8], count: u64) -> Option<Vec<Entry>> {
    let mut entries = Vec::with_capacity(count as usize);
    let mut decoder = DeflateDecoder::new(packed).take(count + 1);
    let mut bytes = vec![0; CHUNK];
    loop {
        match decoder.read(&mut bytes).ok()? {
            0 => return (entries.len() as u64 == count).then_some(entries),
            read => entries.extend(bytes[..read].iter().map(|&byte| Entry(byte))),
        }
    }
}

/// Writes on, and sums up what was written.
struct Summed<W> {
    inner: W,
    hash: Sha256,
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
