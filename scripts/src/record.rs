//! Games as they were played, with what the search thought: the data that networks learn from.
//!
//! Records know moves, not planes, so that networks of any encoding learn from them.

use std::fs;
use std::io::Write;
use std::path::Path;

use menagerie::encoding::Encoding;
use menagerie::rules::{PackedMove, Position, Side};
use menagerie::variant::Variant;
use serde::{Deserialize, Serialize};

use crate::learner::Sample;

/// A whole game.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GameRecord {
    /// The FEN from which it began.
    pub start: String,
    /// Its plies, in order.
    pub plies: Vec<PlyRecord>,
    /// How it ended.
    pub end: End,
}

/// One ply: what was played, and what the search of its position found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlyRecord {
    /// The move played, packed ([`PackedMove`]).
    pub played: u16,
    /// The search's policy: packed moves with their shares of 65,535; what is missing has none.
    /// Empty where no policy is to be learned.
    pub policy: Vec<(u16, u16)>,
    /// The score that the search expected for the mover, -1 to 1.
    pub score: f32,
    /// The end of the game, if the search proved it from here.
    pub proven: Option<End>,
}

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

const MAGIC: &[u8; 8] = b"MNGRGAME";
const VERSION: u32 = 1;
const HEADER: usize = 16;

/// Writes games into a new file: a header of magic, version and checksum, then the records. The
/// file is there whole or not at all.
///
/// # Errors
/// [`RecordError::Io`].
pub fn write(path: &Path, games: &[GameRecord]) -> Result<(), RecordError> {
    let io = |source| RecordError::Io { path: path.display().to_string(), source };
    let body = postcard::to_stdvec(games).map_err(|error| io(std::io::Error::other(error)))?;
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    bytes.extend_from_slice(&body);
    replace(path, &bytes).map_err(io)
}

/// Reads what [`write()`] wrote.
///
/// # Errors
/// [`RecordError`], which names the file.
pub fn read(path: &Path) -> Result<Vec<GameRecord>, RecordError> {
    let name = path.display().to_string();
    let damaged =
        |reason: &str| RecordError::Damaged { path: name.clone(), reason: reason.to_owned() };
    let bytes = fs::read(path).map_err(|source| RecordError::Io { path: name.clone(), source })?;
    let (header, body) =
        bytes.split_at_checked(HEADER).ok_or_else(|| damaged("it is cut short"))?;
    let number = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    if &header[..8] != MAGIC {
        return Err(damaged("it holds no game records"));
    }
    if number(8) != VERSION {
        return Err(damaged(&format!("it is of version {}, not {VERSION}", number(8))));
    }
    if number(12) != crc32fast::hash(body) {
        return Err(damaged("its checksum is wrong"));
    }
    postcard::from_bytes(body).map_err(|error| damaged(&error.to_string()))
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

impl GameRecord {
    /// What a network should learn at ply `nth`; `None` if there is no such ply, or the record
    /// does not replay in `variant`.
    ///
    /// The outcome is the proven one where the search proved it, else that of the game.
    pub fn sample(&self, variant: &Variant, encoding: &Encoding, nth: usize) -> Option<Sample> {
        let mut position = variant.position(&self.start, true).ok()?;
        for ply in &self.plies[..nth] {
            position.play(PackedMove(ply.played).unpack()?).then_some(())?;
        }
        let ply = self.plies.get(nth)?;
        let mut legal = Vec::new();
        position.legal_moves(&mut legal);
        let mut planes = vec![0.0; encoding.shape().input()];
        encoding.write_planes(position.view(), &mut planes);
        let share = |m: PackedMove| ply.policy.iter().find(|(packed, _)| *packed == m.0);
        let mut policy: Vec<f32> = legal
            .iter()
            .map(|m| share(m.pack()).map_or(0.0, |(_, share)| f32::from(*share)))
            .collect();
        if ply.policy.is_empty() {
            legal.clear();
            policy.clear();
        } else {
            let total: f32 = policy.iter().sum();
            policy.iter_mut().for_each(|share| *share /= total);
            (total > 0.0).then_some(())?;
        }
        let end = ply.proven.or_else(|| self.end_from(position.clone(), nth))?;
        let sides = encoding.shape().outcomes - 1;
        let class = match end.winner.map(usize::from) {
            None => sides,
            Some(winner) if winner < sides => Side::new(winner).seat_from(position.turn(), sides),
            Some(_) => return None,
        };
        let mut outcome = vec![0.0; sides + 1];
        outcome[class] = 1.0;
        Some(Sample {
            planes,
            legal: legal.iter().map(|&m| encoding.index(&position, m).0).collect(),
            policy,
            outcome,
            moves_left: f32::from(end.turns),
            weight: 1.0,
        })
    }

    /// The end of the game as seen from `position`, before ply `nth`.
    fn end_from(&self, mut position: Position, nth: usize) -> Option<End> {
        let mut turns = self.end.turns;
        for ply in &self.plies[nth..] {
            position.play(PackedMove(ply.played).unpack()?).then_some(())?;
            turns = turns.saturating_add(u16::from(!position.mid_turn()));
        }
        Some(End { turns, ..self.end })
    }
}
