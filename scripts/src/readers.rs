//! Readers of game files of other programs, one for each format.
//!
//! An invalid game is skipped with a [`GameError`], which quotes its line; the other games of the file are read.

pub mod bpgn;
mod clocks;
mod epd;
mod error;
mod labelled;
mod pgn;
mod rbc;
mod scored;
mod tokens;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use clocks::RecordedClocks;
use flate2::bufread::MultiGzDecoder;
use menagerie::rules::{BoardId, Color, FenError, Move, Position};
use menagerie::variant::Variant;

pub use error::{
    BpgnError, EpdError, GameError, GameErrorKind, LabelledError, LineError, PgnError, PlyError,
};
pub(crate) use labelled::{CLOCK_SECONDS, parse_game as parse_labelled_game};
pub use scored::SkipReport;
pub(crate) use scored::{ScoredGame, SkippedGame, stream_scored};
pub use tokens::SyntaxError;

use crate::record::{self, End, GamePlace, GameRecord, InvalidGame, PlyRecord, RecordError, WHOLE};
use menagerie::rules::san::SanError;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// The games of one or more files.
#[derive(Debug, Default)]
pub struct Games {
    /// The games that could be read.
    pub games: Vec<GameRecord>,
    /// The errors of the games that were skipped.
    pub errors: Vec<GameError>,
    /// Where each of the games is.
    places: Vec<GamePlace>,
}

impl Games {
    /// Returns the games, each with its place.
    pub fn into_placed(self) -> impl Iterator<Item = (GamePlace, GameRecord)> {
        self.places.into_iter().zip(self.games)
    }

    /// Returns what `check` makes of the games, and its errors, each in the order of the games.
    pub(crate) fn check_each<T: Send>(
        self,
        check: impl Fn(GamePlace, GameRecord) -> Result<T, InvalidGame> + Sync,
    ) -> (Vec<T>, Vec<InvalidGame>) {
        let placed: Vec<_> = self.into_placed().collect();
        let checked: Vec<_> =
            placed.into_par_iter().map(|(place, game)| check(place, game)).collect();
        let mut valid = Vec::new();
        let mut invalid = Vec::new();
        for game in checked {
            match game {
                Ok(game) => valid.push(game),
                Err(error) => invalid.push(error),
            }
        }
        (valid, invalid)
    }
}

/// Why a file could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read, or is no valid gzip.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// Records that are damaged.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The name has no known ending.
    #[error("{path}: unknown format, expected {KNOWN_FORMATS}")]
    Format {
        /// The file.
        path: String,
    },
}

const KNOWN_FORMATS: &str = "games, or tsv, pgn, bpgn, epd or json, also compressed (.gz)";

/// Reads several files; see [`read`].
///
/// # Errors
/// If one of them cannot be read.
pub fn read_all<P: AsRef<Path>>(paths: &[P], variant: &Variant) -> Result<Games, ReadError> {
    let mut found = Games::default();
    for path in paths {
        read(path.as_ref(), variant, &mut found)?;
    }
    Ok(found)
}

/// Adds the games of `variant` in a file to `found`. The ending of the name is the format: `games` for the
/// trainer's own records, `tsv` for labelled games, `pgn`, `bpgn` for bughouse, `epd` for positions with best
/// moves, `json` for a game of reconnaissance blind chess. All but `games` may be compressed by gzip (`.gz`).
///
/// # Errors
/// If the file cannot be read. Invalid games are skipped with one of [`Games::errors`], but what games of the trainer
/// record is not checked: see [`CheckedGame`](crate::record::CheckedGame).
pub fn read(path: &Path, variant: &Variant, found: &mut Games) -> Result<(), ReadError> {
    let before = found.games.len();
    let result = read_games(path, variant, found);
    let file: Arc<str> = path.display().to_string().into();
    let numbers = 1..=found.games.len() - before;
    found.places.extend(numbers.map(|number| GamePlace { file: Arc::clone(&file), number }));
    result
}

/// Adds the games of a file to those of `found`, but not their places.
fn read_games(path: &Path, variant: &Variant, found: &mut Games) -> Result<(), ReadError> {
    let name = path.display().to_string();
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    let format: fn(&mut Lines, &Variant, &mut Games) -> io::Result<()> =
        match plain.rsplit_once('.').map(|(_, ending)| ending) {
            Some("games") if plain == name => {
                found.games.extend(record::read(path)?);
                return Ok(());
            }
            Some("epd") => epd::read,
            Some("pgn") => pgn::read,
            Some("bpgn") => bpgn::records,
            Some("json") => rbc::read,
            Some("tsv") => labelled::read,
            _ => return Err(ReadError::Format { path: name }),
        };
    read_lines(path, |lines| format(lines, variant, found))
}

/// Opens a file, which may be compressed by gzip, and calls `read` with its lines.
fn read_lines<T>(
    path: &Path,
    read: impl FnOnce(&mut Lines) -> io::Result<T>,
) -> Result<T, ReadError> {
    let name = path.display().to_string();
    let io = |source| ReadError::Io { path: name.clone(), source };
    let file = BufReader::new(File::open(path).map_err(io)?);
    let source: Box<dyn Read> =
        if name.ends_with(".gz") { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    read(&mut Lines::new(&name, source)).map_err(io)
}

/// Reads games of one line each. Empty lines and lines that begin with `#` are skipped.
fn by_line(
    lines: &mut Lines,
    found: &mut Games,
    parse: impl Fn(&str) -> Result<GameRecord, GameErrorKind>,
) -> io::Result<()> {
    while let Some(line) = lines.next()? {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        match parse(&line) {
            Ok(game) => found.games.push(game),
            Err(reason) => {
                found.errors.push(GameError::new(lines.file, lines.number, &line, reason))
            }
        }
    }
    Ok(())
}

/// The lines of a file, with their numbers. Bytes that are not UTF-8 are replaced.
struct Lines<'a> {
    file: &'a str,
    source: BufReader<Box<dyn Read + 'a>>,
    number: usize,
    ended: bool,
}

impl<'a> Lines<'a> {
    fn new(file: &'a str, source: impl Read + 'a) -> Lines<'a> {
        Lines { file, source: BufReader::new(Box::new(source)), number: 0, ended: false }
    }

    /// Returns the next line without its end; `None` after the last.
    fn next(&mut self) -> io::Result<Option<String>> {
        let mut bytes = Vec::new();
        let read = self.source.read_until(b'\n', &mut bytes)?;
        self.number += 1;
        self.ended = read == 0;
        let text = String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned();
        Ok((read > 0).then_some(text))
    }
}

/// A game that is being read: its position and its record.
struct Replay {
    position: Position,
    record: GameRecord,
    /// The clocks of bughouse, if the file has them.
    clocks: Option<RecordedClocks>,
}

impl Replay {
    /// Starts a game at a FEN. With `chess960`, castling is a king that takes its own rook.
    fn new(variant: &Variant, start: &str, chess960: bool) -> Result<Replay, FenError> {
        let position = variant.position(start, chess960)?;
        // Records are replayed as Chess960, whose FEN has the rooks in any case.
        variant.position(start, true)?;
        let record = GameRecord { start: start.to_owned(), ..GameRecord::default() };
        Ok(Replay { position, record, clocks: None })
    }

    /// Sets the seconds left to a seat after its move.
    fn set_clock(&mut self, board: BoardId, color: Color, seconds: Option<f64>) {
        if let (Some(clocks), Some(seconds)) = (&mut self.clocks, seconds) {
            clocks.set(board, color, seconds);
        }
    }

    /// Plays a whole turn. `best` are the best turns of the reference engine, each with its expected score, the
    /// best first; empty if there are none.
    ///
    /// The second ply of a turn has the score and the policy of the best turns that begin with the played first
    /// ply.
    fn play(&mut self, turn: &[Move], best: &[(Vec<Move>, Option<f32>)]) {
        for (nth, &m) in turn.iter().enumerate() {
            let matching = best.iter().filter(|(best, _)| best.get(..nth) == turn.get(..nth));
            let matching: Vec<_> =
                matching.filter_map(|(best, score)| Some((*best.get(nth)?, *score))).collect();
            self.record.plies.push(PlyRecord {
                played: m.pack().0,
                policy: policy(&matching),
                score: matching.first().and_then(|(_, score)| *score),
                proven: None,
                surprise: None,
            });
            if let Some(clocks) = &self.clocks {
                let clocks = clocks.now().0.map(|clock| [clock.white, clock.black]);
                let [[white_a, black_a], [white_b, black_b]] = clocks;
                self.record.clocks.push([white_a, black_a, white_b, black_b]);
            }
            self.position.play_unchecked(m);
        }
    }

    /// Returns the legal turn that `text` names in the notation of UCI.
    fn turn(&self, text: &str) -> Result<Vec<Move>, SanError> {
        let turn = self.position.parse_turn(text);
        turn.ok_or_else(|| SanError::Illegal { text: text.to_owned(), fen: self.position.fen() })
    }

    /// Checks that the game is not over by the rules with another result than that of the file.
    fn check_result(&self, end: Option<End>) -> Result<(), GameErrorKind> {
        let (Some(outcome), Some(end)) = (self.position.outcome(), end) else {
            return Ok(());
        };
        if outcome.winner.map(|side| side.index() as u8) == end.winner {
            Ok(())
        } else {
            Err(GameErrorKind::OtherResult(self.position.outcome_text(outcome)))
        }
    }

    /// Returns the record, with the end of the game.
    fn finish(self, end: Option<End>) -> GameRecord {
        GameRecord { end, ..self.record }
    }
}

/// The difference of expected scores at which the share of a move falls to 1/e of the share of the best move:
/// about 27 centipawns near equality.
const TEMPERATURE: f32 = 0.05;

/// Returns a policy over the best moves of the reference engine: by their scores, or the first move alone if
/// there are no scores. A move that occurs more than once, as half of several turns, has the sum of the shares.
fn policy(best: &[(Move, Option<f32>)]) -> Vec<(u16, u16)> {
    let highest = best.iter().filter_map(|(_, score)| *score).fold(-1.0, f32::max);
    let mut shares: Vec<(u16, f32)> = Vec::new();
    for (nth, (m, score)) in best.iter().enumerate() {
        let share = match score {
            Some(score) => ((score - highest) / TEMPERATURE).exp(),
            None if nth == 0 => 1.0,
            None => continue,
        };
        match shares.iter_mut().find(|(packed, _)| *packed == m.pack().0) {
            Some((_, sum)) => *sum += share,
            None => shares.push((m.pack().0, share)),
        }
    }
    let largest = shares.iter().map(|(_, share)| *share).fold(0.0, f32::max);
    let scaled = |share: f32| (share / largest * f32::from(WHOLE)).round() as u16;
    shares.into_iter().map(|(m, share)| (m, scaled(share))).filter(|(_, it)| *it > 0).collect()
}

/// Parses a result in the form of PGN; `Ok(None)` for `*`.
fn parse_result(text: &str) -> Result<Option<End>, GameErrorKind> {
    let winner = match text {
        "1-0" => Some(0),
        "0-1" => Some(1),
        "1/2-1/2" => None,
        "*" => return Ok(None),
        _ => return Err(GameErrorKind::Result(text.to_owned())),
    };
    Ok(Some(End { winner, turns: 0 }))
}
