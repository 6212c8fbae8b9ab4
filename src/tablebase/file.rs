//! The file format of tables: three lines of text, the entries compressed by Deflate, and a checksum.
//!
//! ```text
//! menagerie table 1
//! 3x3full
//! 211896384
//! ```
//!
//! The lines are the version of the format, the variant, and the number of entries. The last 32 bytes of the
//! file are the SHA-256 of all bytes before. The checksum detects damage; a sample of entries is compared
//! with the rules.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use sha2::{Digest, Sha256};

use super::{Index, IndexError, SolvedTable, TableEntry};
use crate::variant::Variant;

/// The first line.
const VERSION: &str = "menagerie table 1";
/// The length of the checksum.
const CHECKSUM_BYTES: usize = 32;
/// The number of entries that are compared with the rules.
const CHECKED_ENTRIES: u64 = 2000;

/// Why a file is not a table of a variant.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TableError {
    /// The first line is not that of a table.
    #[error("not a table: the first line is \"{0}\", expected \"{VERSION}\"")]
    Foreign(String),
    /// The file is truncated, or a byte was changed.
    #[error("damaged table: the checksum does not match")]
    Damaged,
    /// The table is of another variant.
    #[error("table of \"{found}\", expected {wanted}")]
    Variant {
        /// The variant of the table.
        found: String,
        /// The expected variant.
        wanted: String,
    },
    /// The number of entries is not that of the variant's positions.
    #[error("table of \"{found}\" entries, expected {wanted}")]
    Length {
        /// The number of entries as the file gives it.
        found: String,
        /// The expected number.
        wanted: u64,
    },
    /// The positions of the variant cannot be numbered.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// An entry contradicts the rules.
    #[error("table of other rules: wrong value of \"{fen}\"")]
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
        let mut out = HashingWriter { inner: out, hash: Sha256::new() };
        write!(out, "{VERSION}\n{}\n{}\n", variant.name(), self.entries.len())?;
        let mut encoder = DeflateEncoder::new(&mut out, Compression::default());
        let mut bytes = Vec::with_capacity(CHUNK_ENTRIES);
        for chunk in self.entries.chunks(CHUNK_ENTRIES) {
            bytes.clear();
            bytes.extend(chunk.iter().map(|entry| entry.0));
            encoder.write_all(&bytes)?;
        }
        encoder.finish()?;
        let sum = out.hash.finalize();
        out.inner.write_all(&sum)?;
        out.inner.flush()
    }

    /// Reads the bytes of a file as a table of `variant`.
    ///
    /// # Errors
    /// [`TableError`] if they are not a table of this variant.
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
        let split = rest.len().checked_sub(CHECKSUM_BYTES).ok_or(TableError::Damaged)?;
        let (rest, sum) = rest.split_at(split);
        if Sha256::digest(&bytes[..bytes.len() - CHECKSUM_BYTES])[..] != *sum {
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
        match table.find_wrong_entry(CHECKED_ENTRIES) {
            Some(fen) => Err(TableError::Rules { fen }),
            None => Ok(table),
        }
    }

    /// Returns the name of the variant in the first bytes of a file, if it is a table.
    pub fn variant_of(bytes: &[u8]) -> Option<String> {
        let (version, rest) = first_line(bytes);
        (version == VERSION).then(|| first_line(rest).0)
    }
}

/// The number of entries that are written and read at a time.
const CHUNK_ENTRIES: usize = 1 << 16;

/// Returns the first line, shortened, and the bytes after it.
fn first_line(bytes: &[u8]) -> (String, &[u8]) {
    const MAX_LINE_BYTES: usize = 80;
    let head = &bytes[..bytes.len().min(MAX_LINE_BYTES)];
    let end = head.iter().position(|&byte| byte == b'\n').unwrap_or(head.len());
    let line = match str::from_utf8(&head[..end]) {
        Ok(text) => text.escape_debug().to_string(),
        Err(_) => head[..end].escape_ascii().to_string(),
    };
    (line, bytes.get(end + 1..).unwrap_or_default())
}

/// Decompresses the entries. Returns `None` if their number is not `count`.
fn unpack(packed: &[u8], count: u64) -> Option<Vec<TableEntry>> {
    let mut entries = Vec::with_capacity(count as usize);
    let mut decoder = DeflateDecoder::new(packed).take(count + 1);
    let mut bytes = vec![0; CHUNK_ENTRIES];
    loop {
        match decoder.read(&mut bytes).ok()? {
            0 => return (entries.len() as u64 == count).then_some(entries),
            read => entries.extend(bytes[..read].iter().map(|&byte| TableEntry(byte))),
        }
    }
}

/// A writer that hashes what it writes.
struct HashingWriter<W> {
    inner: W,
    hash: Sha256,
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
