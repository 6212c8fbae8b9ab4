//! Games as they were played, with what the search thought: the data that networks learn from.
//!
//! Records know moves, not planes, so that networks of any encoding learn from them. What a record
//! does not know (a move that nobody thought about, a score that nobody told, a game that was broken
//! off) it does not make up: such a ply trains what is known of it.

mod fit;
mod sample;
pub(crate) mod surprise;

use std::fs;
use std::io::Write;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use sample::{Sampler, Targets};

/// A whole game.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct GameRecord {
    /// The FEN from which it began.
    pub start: String,
    /// Its plies, in order.
    pub plies: Vec<PlyRecord>,
    /// How it ended; `None` if nobody knows.
    pub end: Option<End>,
    /// The clocks before each ply of a game of two tables, in milliseconds: White's and Black's at
    /// the first, then at the second. Empty if nobody knows.
    pub clocks: Vec<[u32; 4]>,
    /// The checksum of the game of which this is a part, if it is one. It is not written down.
    #[serde(skip)]
    pub part_of: Option<u32>,
}

/// One ply: what was played, and what the search of its position found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlyRecord {
    /// The move played, packed ([`PackedMove`](menagerie::rules::PackedMove)), or [`NO_MOVE`].
    pub played: u16,
    /// The search's policy: packed moves with their shares of 65,535; what is missing has none.
    /// Empty if there is none to learn.
    pub policy: Vec<(u16, u16)>,
    /// The score that the search expected for the mover, -1 to 1; `None` if it told none.
    pub score: Option<f32>,
    /// The end of the game, if the search proved it from here.
    pub proven: Option<End>,
    /// How much the search surprised the network: the Kullback-Leibler divergence from the bare
    /// network's policy to the search's, in nats; `None` where there is no policy to learn, or it
    /// is not the network's search.
    pub surprise: Option<f32>,
}

/// What stands for the move at the end of a record whose last position is known and was not played
/// on: a step from a1 to a1, which no game has.
pub const NO_MOVE: u16 = 0;

/// The share of a move that is the whole policy.
pub const WHOLE: u16 = u16::MAX;

/// How a game ends from some position on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct End {
    /// The number of the side that wins; `None` if nobody does.
    pub winner: Option<u8>,
    /// The turns until then.
    pub turns: u16,
}

/// Why a file of records was refused, or could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is none of records, of another version, or damaged.
    #[error("{path}: {reason}")]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong.
        reason: String,
    },
}

const GAMES: &[u8; 8] = b"MNGRGAME";
const PART: &[u8; 8] = b"MNGRPART";
const VERSION: u32 = 4;
const HEADER: usize = 16;

/// The bytes of some games: a header of magic, version and checksum, then the records.
///
/// # Errors
/// In words, if there is no form for them.
pub fn encode(games: &[GameRecord]) -> Result<Vec<u8>, postcard::Error> {
    pack(GAMES, games)
}

/// Reads what [`encode`] made; `name` is for errors.
///
/// # Errors
/// [`RecordError::Damaged`], which names the file.
pub fn decode(name: &str, bytes: &[u8]) -> Result<Vec<GameRecord>, RecordError> {
    unpack(name, open(GAMES, name, bytes)?)
}

/// As [`encode`], for games of self-play with their numbers.
pub(crate) fn encode_part(games: &[(u64, GameRecord)]) -> Result<Vec<u8>, postcard::Error> {
    pack(PART, games)
}

/// Reads what [`encode_part`] made.
pub(crate) fn decode_part(name: &str, bytes: &[u8]) -> Result<Vec<(u64, GameRecord)>, RecordError> {
    unpack(name, open(PART, name, bytes)?)
}

fn pack<T: Serialize>(magic: &[u8; 8], content: &[T]) -> Result<Vec<u8>, postcard::Error> {
    let body = postcard::to_stdvec(content)?;
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend_from_slice(magic);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// Checks the header and returns the bytes of the records.
fn open<'a>(magic: &[u8; 8], name: &str, bytes: &'a [u8]) -> Result<&'a [u8], RecordError> {
    let damaged = |reason: &str| damaged(name, reason);
    let (header, body) =
        bytes.split_at_checked(HEADER).ok_or_else(|| damaged("it is cut short"))?;
    let number = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    if &header[..8] != magic {
        return Err(damaged("it holds no game records"));
    }
    let version = number(8);
    if version != VERSION {
        return Err(damaged(&format!(
            "it is of version {version}; this trainer reads version {VERSION}"
        )));
    }
    if number(12) != crc32fast::hash(body) {
        return Err(damaged("its checksum is wrong"));
    }
    Ok(body)
}

fn unpack<T: DeserializeOwned>(name: &str, body: &[u8]) -> Result<Vec<T>, RecordError> {
    postcard::from_bytes(body).map_err(|error| damaged(name, &error.to_string()))
}

fn damaged(name: &str, reason: &str) -> RecordError {
    RecordError::Damaged { path: name.to_owned(), reason: reason.to_owned() }
}

/// Writes games into a new file, which is there whole or not at all.
///
/// # Errors
/// [`RecordError::Io`].
pub fn write(path: &Path, games: &[GameRecord]) -> Result<(), RecordError> {
    let io = |source| RecordError::Io { path: path.display().to_string(), source };
    let bytes = encode(games).map_err(|error| io(std::io::Error::other(error)))?;
    replace(path, &bytes).map_err(io)
}

/// Reads a file of games.
///
/// # Errors
/// [`RecordError`], which names the file.
pub fn read(path: &Path) -> Result<Vec<GameRecord>, RecordError> {
    let name = path.display().to_string();
    let io = |source| RecordError::Io { path: name.clone(), source };
    decode(&name, &fs::read(path).map_err(io)?)
}

/// Puts a file in the place of another in one step: written beside it, synced and renamed.
///
/// # Errors
/// What the system says.
pub fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let beside = Path::new(&name);
    let mut file = fs::File::create(beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(beside, path)
}
