//! Recorded games: the moves that were played and the results of the searches, from which networks learn.
//!
//! Records hold moves, not planes, so that networks of any encoding learn from them. Unknown data (a move
//! without a search, a search without a score, an unfinished game) stays unknown: such a ply trains only
//! the heads of which it has a target.

mod checked;
mod checks;
mod one_board;
mod sample;
pub(crate) mod surprise;
mod targets;

use std::fs;
use std::io::Write;
use std::path::Path;

use menagerie::rules::{ByColor, Clocks, PackedMove, Position};
use menagerie::variant::Variant;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use checked::{CheckedGame, GamePlace, InvalidGame};
pub use checks::{GameFault, PlyFault, SidePositionFault};
pub use sample::Sampler;
pub use targets::{Targets, TargetsError};
pub(crate) use targets::{fitted_draws, wdl};

/// A whole game.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct GameRecord {
    /// The FEN from which it began.
    pub start: String,
    /// Its plies, in order.
    pub plies: Vec<PlyRecord>,
    /// How it ended; `None` if that is unknown.
    pub end: Option<End>,
    /// The clocks before each ply of a game of bughouse, in milliseconds: White's and Black's on the
    /// first board, then on the second. Empty if they are unknown.
    pub clocks: Vec<[u32; 4]>,
    /// Side positions, which were not played, by ascending ply.
    pub side_positions: Vec<SidePosition>,
    /// The checksum of the game of which this is a part, if it is one. It is not stored.
    #[serde(skip)]
    pub part_of: Option<u32>,
}

/// One ply: the move played, and what the search of its position found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlyRecord {
    /// The move played, packed ([`PackedMove`]), or [`NO_MOVE`].
    pub played: u16,
    /// Policy of the search: packed moves with their shares, of which the largest may be [`WHOLE`];
    /// moves that are missing have a share of 0. Empty if there is no policy to learn.
    pub policy: Vec<(u16, u16)>,
    /// Expected score of the mover by the search, -1 to 1; `None` if it is unknown.
    pub score: Option<f32>,
    /// The end of the game, if the search proved it from here.
    pub proven: Option<End>,
    /// Policy surprise: the Kullback-Leibler divergence from the policy of the network to that of the
    /// search, in nats; `None` if there is no policy to learn, or the search was not one of the network.
    pub surprise: Option<f32>,
}

/// A scored position that a search of the game met, or might have met, but that did not occur in the game.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SidePosition {
    /// The number of the ply before which the moves begin.
    pub ply: u32,
    /// The moves that lead to it, packed.
    pub moves: Vec<u16>,
    /// Expected score of the side to move, -1 to 1.
    pub score: f32,
}

/// The move of a last ply whose position is known but in which no move was played: a step from a1 to a1,
/// which is legal in no variant.
pub const NO_MOVE: u16 = 0;

/// The share of a move that is the whole policy.
pub const WHOLE: u16 = u16::MAX;

impl GameRecord {
    /// The number of the side that won; `None` if there is no winner or the end is unknown.
    pub fn winner(&self) -> Option<u8> {
        self.end.and_then(|end| end.winner)
    }

    /// Returns the checksum of start and moves; parts of one game have that of the whole game.
    pub(crate) fn fingerprint(&self) -> u32 {
        if let Some(whole) = self.part_of {
            return whole;
        }
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(self.start.as_bytes());
        for ply in &self.plies {
            hasher.update(&ply.played.to_le_bytes());
        }
        hasher.finalize()
    }

    /// Returns the position before ply `nth`; `None` if there is no such ply, or the record does not
    /// replay. Of several seats of bughouse that could move, it is the turn of the one that did.
    pub fn position(&self, variant: &Variant, nth: usize) -> Option<Position> {
        let mut position = variant.position(&self.start, true).ok()?;
        for ply in self.plies.get(..nth)? {
            position.play(PackedMove(ply.played).unpack()?).then_some(())?;
        }
        self.prepare(&mut position, nth);
        Some(position)
    }

    /// Sets the clocks before ply `nth` of bughouse, and lets the seat that moved be the one to move.
    fn prepare(&self, position: &mut Position, nth: usize) {
        if position.clocks().is_none() {
            return;
        }
        if let Some(&[white_a, black_a, white_b, black_b]) = self.clocks.get(nth) {
            let clock = |white, black| ByColor { white, black };
            position.set_clocks(Clocks([clock(white_a, black_a), clock(white_b, black_b)]));
        }
        let next = self.plies.get(nth).and_then(|ply| PackedMove(ply.played).unpack());
        next.map(|m| position.select_side_to_move(m));
    }
}

impl SidePosition {
    /// Returns the position, given that before its ply; `None` if a move is illegal.
    pub(crate) fn position(&self, before: &Position) -> Option<Position> {
        let mut position = before.clone();
        for &m in &self.moves {
            position.play(PackedMove(m).unpack()?).then_some(())?;
        }
        Some(position)
    }
}

impl PlyRecord {
    /// Returns `true` if the move played is not one that the reference engine chose, as in labelled games
    /// with random moves. Moves of self-play are always among those of the search.
    pub(crate) fn mistaken(&self) -> bool {
        self.surprise.is_none()
            && !self.policy.is_empty()
            && self.policy.iter().all(|(m, _)| *m != self.played)
    }
}

/// How a game ends, as seen from a position.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct End {
    /// The number of the side that wins; `None` for a draw.
    pub winner: Option<u8>,
    /// The number of turns until then.
    pub turns: u16,
}

/// Why a file of records could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file is not one of records, has another version, or is damaged.
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
const VERSION: u32 = 5;
/// The version of files of games without [`GameRecord::side_positions`].
const VERSION_WITHOUT_SIDE_POSITIONS: u32 = 4;
const HEADER_BYTES: usize = 16;

/// Encodes games: a header of magic, version and checksum, then the records.
///
/// # Errors
/// [`postcard::Error`] if a record cannot be serialised.
pub fn encode(games: &[GameRecord]) -> Result<Vec<u8>, postcard::Error> {
    pack(GAMES, games)
}

/// Decodes games that [`encode`] encoded; error messages name them `name`.
///
/// # Errors
/// [`RecordError::Damaged`].
pub fn decode(name: &str, bytes: &[u8]) -> Result<Vec<GameRecord>, RecordError> {
    match open(GAMES, &[VERSION, VERSION_WITHOUT_SIDE_POSITIONS], name, bytes)? {
        (VERSION_WITHOUT_SIDE_POSITIONS, body) => {
            let games: Vec<GameRecordV4> = deserialize(name, body)?;
            Ok(games.into_iter().map(GameRecord::from).collect())
        }
        (_, body) => deserialize(name, body),
    }
}

/// A game of version 4.
#[cfg_attr(test, derive(Serialize))]
#[derive(Deserialize)]
struct GameRecordV4 {
    start: String,
    plies: Vec<PlyRecord>,
    end: Option<End>,
    clocks: Vec<[u32; 4]>,
}

impl From<GameRecordV4> for GameRecord {
    fn from(game: GameRecordV4) -> GameRecord {
        let GameRecordV4 { start, plies, end, clocks } = game;
        GameRecord { start, plies, end, clocks, ..GameRecord::default() }
    }
}

/// Encodes numbered games of self-play.
pub(crate) fn encode_part(games: &[(u64, GameRecord)]) -> Result<Vec<u8>, postcard::Error> {
    pack(PART, games)
}

/// Decodes games that [`encode_part`] encoded.
pub(crate) fn decode_part(name: &str, bytes: &[u8]) -> Result<Vec<(u64, GameRecord)>, RecordError> {
    unpack(PART, name, bytes)
}

/// Encodes anything: a header of magic, version and checksum, then the content.
pub(crate) fn pack<T: Serialize + ?Sized>(
    magic: &[u8; 8],
    content: &T,
) -> Result<Vec<u8>, postcard::Error> {
    let body = postcard::to_stdvec(content)?;
    let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
    bytes.extend_from_slice(magic);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// Checks the header and returns the version, which is one of `versions`, and the bytes of the records.
fn open<'a>(
    magic: &[u8; 8],
    versions: &[u32],
    name: &str,
    bytes: &'a [u8],
) -> Result<(u32, &'a [u8]), RecordError> {
    let damaged = |reason: &str| damaged(name, reason);
    let (header, body) =
        bytes.split_at_checked(HEADER_BYTES).ok_or_else(|| damaged("truncated header"))?;
    let number = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    if &header[..8] != magic {
        return Err(damaged("not a file of game records"));
    }
    let version = number(8);
    if !versions.contains(&version) {
        return Err(damaged(&format!(
            "unsupported version {version} (this trainer reads version {VERSION})"
        )));
    }
    if number(12) != crc32fast::hash(body) {
        return Err(damaged("wrong checksum"));
    }
    Ok((version, body))
}

/// Decodes what [`pack`] encoded; error messages name it `name`.
pub(crate) fn unpack<T: DeserializeOwned>(
    magic: &[u8; 8],
    name: &str,
    bytes: &[u8],
) -> Result<T, RecordError> {
    let (_, body) = open(magic, &[VERSION], name, bytes)?;
    deserialize(name, body)
}

fn deserialize<T: DeserializeOwned>(name: &str, body: &[u8]) -> Result<T, RecordError> {
    postcard::from_bytes(body).map_err(|error| damaged(name, &error.to_string()))
}

fn damaged(name: &str, reason: &str) -> RecordError {
    RecordError::Damaged { path: name.to_owned(), reason: reason.to_owned() }
}

/// Writes games to a file, which is replaced atomically.
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
/// [`RecordError`].
pub fn read(path: &Path) -> Result<Vec<GameRecord>, RecordError> {
    let name = path.display().to_string();
    let io = |source| RecordError::Io { path: name.clone(), source };
    decode(&name, &fs::read(path).map_err(io)?)
}

/// Replaces a file atomically: writes `PATH.new`, syncs it and renames it.
///
/// # Errors
/// The error of the system.
pub fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new_path = Path::new(&name);
    let mut file = fs::File::create(new_path)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(new_path, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_without_side_positions_are_still_read() {
        let ply = PlyRecord {
            played: 7,
            policy: vec![(7, 1)],
            score: Some(0.5),
            proven: None,
            surprise: None,
        };
        let game = GameRecord {
            start: "start".to_owned(),
            plies: vec![ply],
            end: Some(End { winner: Some(1), turns: 2 }),
            ..GameRecord::default()
        };
        let GameRecord { start, plies, end, clocks, .. } = game.clone();
        let old = vec![GameRecordV4 { start, plies, end, clocks }];
        let mut bytes = pack(GAMES, &old).expect("bytes");
        bytes[8] = VERSION_WITHOUT_SIDE_POSITIONS as u8;
        assert_eq!(decode("old.games", &bytes).expect("read"), std::slice::from_ref(&game));
        let error = decode_part("old.part", &bytes).expect_err("another magic").to_string();
        assert!(error.contains("old.part"), "{error}");
        let side = SidePosition { ply: 0, moves: vec![7, 9], score: -0.25 };
        let game = GameRecord { side_positions: vec![side], ..game };
        let bytes = encode(std::slice::from_ref(&game)).expect("bytes");
        assert_eq!(decode("new.games", &bytes).expect("read"), [game]);
    }
}
