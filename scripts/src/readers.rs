//! Games of others, read into records: each format of files a reader.
//!
//! A game that cannot be read is a [`Fault`] with its line, quoted; those around it are read all the
//! same. Nothing is left out in silence.

mod blind;
pub mod bpgn;
mod clocks;
mod epd;
mod pgn;
mod teacher;
mod words;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use clocks::Times;
use flate2::bufread::MultiGzDecoder;
use menagerie::rules::{Color, Move, Position, Table};
use menagerie::variant::Variant;

pub(crate) use teacher::{CLOCK as TEACHERS_CLOCK, game as labelled_game};

use crate::record::{self, End, GameRecord, PlyRecord, RecordError, WHOLE};

/// What was found in a file, or in several.
#[derive(Debug, Default)]
pub struct Games {
    /// The games that could be read.
    pub games: Vec<GameRecord>,
    /// Those that could not.
    pub faults: Vec<Fault>,
}

/// Why a game was left out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}, line {line}: {reason} in \"{text}\"")]
pub struct Fault {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The line's text, its beginning, or the word in it that is meant.
    pub text: String,
    /// What is wrong.
    pub reason: String,
}

/// Why a file could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system does not give it, or it is no proper gzip.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// Records that are damaged.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A name that tells of no known format.
    #[error("{path}: of no known format; known are {KNOWN}")]
    Format {
        /// The file.
        path: String,
    },
}

const KNOWN: &str = "games, and tsv, pgn, bpgn, epd and json, which may be packed (.gz)";

/// Reads several files; see [`read`].
///
/// # Errors
/// If one of them cannot be read.
pub fn read_all<P: AsRef<Path>>(paths: &[P], variant: &Variant) -> Result<Games, ReadError> {
    let mut found = Games::default();
    paths.iter().try_for_each(|path| read(path.as_ref(), variant, &mut found))?;
    Ok(found)
}

/// Adds the games of `variant` in a file to `found`. The format is known by the name: our own
/// records `games`; teachers' games `tsv`; games as people write them `pgn`, those of two tables
/// `bpgn`; positions with their best moves `epd`; a game of blind chess `json`. All but records may be
/// packed by gzip, as `.gz`.
///
/// # Errors
/// If the file cannot be read; what is wrong with single games is told in `found`.
pub fn read(path: &Path, variant: &Variant, found: &mut Games) -> Result<(), ReadError> {
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
            Some("json") => blind::read,
            Some("tsv") => teacher::read,
            _ => return Err(ReadError::Format { path: name }),
        };
    lines(path, |lines| format(lines, variant, found))
}

/// Reads labelled games (`tsv`, `tsv.gz`) line by line and calls `each` with at most `most` lines at a time
/// that hold games, without their line ends. Memory does not depend on the size of the file.
///
/// # Errors
/// If the file cannot be read, or what `each` returns.
pub(crate) fn stream_labelled(
    path: &Path,
    most: usize,
    mut each: impl FnMut(Vec<String>) -> io::Result<()>,
) -> Result<(), ReadError> {
    lines(path, |lines| {
        let mut chunk = Vec::with_capacity(most);
        while let Some(line) = lines.next()? {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            chunk.push(line);
            if chunk.len() == most {
                each(std::mem::take(&mut chunk))?;
            }
        }
        if chunk.is_empty() { Ok(()) } else { each(chunk) }
    })
}

/// Reads the lines of a file, which may be packed by gzip.
fn lines<T>(path: &Path, read: impl FnOnce(&mut Lines) -> io::Result<T>) -> Result<T, ReadError> {
    let name = path.display().to_string();
    let io = |source| ReadError::Io { path: name.clone(), source };
    let file = BufReader::new(File::open(path).map_err(io)?);
    let source: Box<dyn Read> =
        if name.ends_with(".gz") { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    read(&mut Lines::new(&name, source)).map_err(io)
}

/// Reads games of a line each. Empty lines and those that begin with `#` are passed over.
fn by_line(
    lines: &mut Lines,
    found: &mut Games,
    parse: impl Fn(&str) -> Result<GameRecord, String>,
) -> io::Result<()> {
    while let Some(line) = lines.next()? {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        match parse(&line) {
            Ok(game) => found.games.push(game),
            Err(reason) => found.faults.push(lines.fault(&line, reason)),
        }
    }
    Ok(())
}

/// The lines of a file, counted. What is no UTF-8 is shown as such.
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

    /// The next line without its end; `None` after the last.
    fn next(&mut self) -> io::Result<Option<String>> {
        let mut bytes = Vec::new();
        let read = self.source.read_until(b'\n', &mut bytes)?;
        self.number += 1;
        self.ended = read == 0;
        let text = String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned();
        Ok((read > 0).then_some(text))
    }

    /// A fault in the line read last.
    fn fault(&self, text: &str, reason: impl Into<String>) -> Fault {
        fault(self.file, self.number, text, reason)
    }
}

/// Much longer lines are quoted by their beginning.
const QUOTED: usize = 160;

fn fault(file: &str, line: usize, text: &str, reason: impl Into<String>) -> Fault {
    let mut quoted: String = text.chars().take(QUOTED).collect();
    if quoted.len() < text.len() {
        quoted.push_str("...");
    }
    Fault { file: file.to_owned(), line, text: quoted, reason: reason.into() }
}

/// A game that is being read: its position, and what is recorded of it so far.
struct Replay {
    position: Position,
    record: GameRecord,
    /// The clocks of two tables, if they are told.
    times: Option<Times>,
}

impl Replay {
    /// From the FEN `start`; `chess960` says that moves have castling as king takes rook.
    fn new(variant: &Variant, start: &str, chess960: bool) -> Result<Replay, String> {
        let position = variant.position(start, chess960).map_err(|error| error.to_string())?;
        // Records are read back as of Chess960, whose FEN tells the rooks in any case.
        variant.position(start, true).map_err(|error| error.to_string())?;
        let record = GameRecord { start: start.to_owned(), ..GameRecord::default() };
        Ok(Replay { position, record, times: None })
    }

    /// What a seat has left after its move, in seconds.
    fn tell(&mut self, table: Table, color: Color, seconds: Option<f64>) {
        if let (Some(times), Some(seconds)) = (&mut self.times, seconds) {
            times.tell(table, color, seconds);
        }
    }

    /// Plays a whole turn. `best` are the turns that a teacher thought best, each with the score
    /// that it expected, the best first; none if it told nothing.
    ///
    /// The second ply of a turn has the score and the policy of the best turns that begin as the
    /// played one does.
    fn play(&mut self, turn: &[Move], best: &[(Vec<Move>, Option<f32>)]) {
        for (nth, &m) in turn.iter().enumerate() {
            let agreed = best.iter().filter(|(best, _)| best.get(..nth) == turn.get(..nth));
            let agreed: Vec<_> =
                agreed.filter_map(|(best, score)| Some((*best.get(nth)?, *score))).collect();
            self.record.plies.push(PlyRecord {
                played: m.pack().0,
                policy: policy(&agreed),
                score: agreed.first().and_then(|(_, score)| *score),
                proven: None,
                surprise: None,
            });
            if let Some(times) = &self.times {
                let clocks = times.now().0.map(|clock| [clock.white, clock.black]);
                let [[white_a, black_a], [white_b, black_b]] = clocks;
                self.record.clocks.push([white_a, black_a, white_b, black_b]);
            }
            self.position.play_unchecked(m);
        }
    }

    /// The turn that `text` names in UCI, without which the game cannot go on.
    fn turn(&self, text: &str) -> Result<Vec<Move>, String> {
        self.position
            .parse_turn(text)
            .ok_or_else(|| format!("\"{text}\" is no legal move in \"{}\",", self.position.fen()))
    }

    /// The record, with the game's end.
    fn finish(self, end: Option<End>) -> GameRecord {
        GameRecord { end, ..self.record }
    }
}

/// How much worse a move must be for its share to fall to 1/e of the best one's, in expected score:
/// about 27 centipawns near equality.
const TEMPERATURE: f32 = 0.05;

/// A policy over the moves that a teacher thought best: by their scores, and all to the first if
/// it told none. A move that stands there more than once (half of several turns) has the shares of
/// all.
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
    let whole = |share: f32| (share / largest * f32::from(WHOLE)).round() as u16;
    shares.into_iter().map(|(m, share)| (m, whole(share))).filter(|(_, it)| *it > 0).collect()
}

/// A result as PGN writes it; `Ok(None)` for an unknown one.
fn result(text: &str) -> Result<Option<End>, String> {
    let winner = match text {
        "1-0" => Some(0),
        "0-1" => Some(1),
        "1/2-1/2" => None,
        "*" => return Ok(None),
        _ => return Err(format!("\"{text}\" is no result")),
    };
    Ok(Some(End { winner, turns: 0 }))
}
