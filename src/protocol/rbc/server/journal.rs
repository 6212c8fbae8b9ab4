//! What is kept of running games, so that a client that was killed takes them up again: the server
//! tells what was seen and what became of a request once, and never again.
//!
//! A journal is a file of lines, those of the line protocol as far as it has them, each written
//! before what it tells of is relied upon. A line that a kill cut short is dropped.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::Value;

use crate::protocol::rbc::told::{Told, read_step, step_or_none};
use crate::rules::blind::Request;
use crate::rules::{Color, Square};

/// A line of a journal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    /// The game came of this invitation: `invitation NUMBER`.
    Invitation(u64),
    /// It begins: `newgame COLOR FEN`.
    New(Color, String),
    /// What may be requested, where the last answer was lost: `requests REQUEST ..`.
    Requests(Vec<Request>),
    /// What was told.
    Told(Told),
    /// The sense that will be asked for: `sense SQUARE`.
    Sense(Square),
    /// The request that will be made: `move REQUEST|0000`.
    Request(Option<Request>),
    /// The answer to either was lost: `lost`.
    Lost,
    /// The turn is over: `endturn`.
    EndTurn,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Invitation(number) => write!(f, "invitation {number}"),
            Entry::New(color, fen) => write!(f, "newgame {color} {fen}"),
            Entry::Requests(all) => {
                write!(f, "requests")?;
                all.iter().try_for_each(|request| write!(f, " {request}"))
            }
            Entry::Told(told) => write!(f, "{told}"),
            Entry::Sense(center) => write!(f, "sense {center}"),
            Entry::Request(request) => write!(f, "move {}", step_or_none(*request)),
            Entry::Lost => write!(f, "lost"),
            Entry::EndTurn => write!(f, "endturn"),
        }
    }
}

impl FromStr for Entry {
    type Err = String;

    /// Reads a line; the error quotes it.
    fn from_str(line: &str) -> Result<Entry, String> {
        let bad = || format!("\"{line}\" is no line of a journal");
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["invitation", number] => number.parse().map(Entry::Invitation).map_err(|_| bad()),
            ["newgame", "white", ref fen @ ..] => Ok(Entry::New(Color::White, fen.join(" "))),
            ["newgame", "black", ref fen @ ..] => Ok(Entry::New(Color::Black, fen.join(" "))),
            ["requests", ref all @ ..] => {
                let all: Result<_, String> = all.iter().map(|word| word.parse()).collect();
                all.map(Entry::Requests)
            }
            ["sense", center] => center.parse().map(Entry::Sense).map_err(|_| bad()),
            ["move", request] => read_step(request).map(Entry::Request),
            ["lost"] => Ok(Entry::Lost),
            ["endturn"] => Ok(Entry::EndTurn),
            _ => line.parse().map(Entry::Told).map_err(|_| bad()),
        }
    }
}

/// The journal of one game, open for more.
#[derive(Debug)]
pub(super) struct Journal {
    /// None after a write that failed: a full disk is no reason not to play.
    file: Option<File>,
    /// What was written by an earlier client.
    pub(super) entries: Vec<Entry>,
}

impl Journal {
    fn open(path: &Path) -> Result<Journal, String> {
        let said = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| said(&error))?;
        let text = fs::read_to_string(path).map_err(|error| said(&error))?;
        let whole = text.rfind('\n').map_or(0, |last| last + 1);
        if whole < text.len() {
            file.set_len(whole as u64).map_err(|error| said(&error))?;
        }
        let entries = text[..whole].lines().map(str::parse).collect::<Result<_, String>>();
        Ok(Journal { file: Some(file), entries: entries.map_err(|error| said(&error))? })
    }

    /// None at all, where none can be had.
    pub(super) fn none() -> Journal {
        Journal { file: None, entries: Vec::new() }
    }

    /// Writes a line; says whether it has come to the disk.
    pub(super) fn add(&mut self, entry: &Entry) -> Result<(), std::io::Error> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let line = format!("{entry}\n");
        let written = file.write_all(line.as_bytes()).and_then(|()| file.sync_data());
        if written.is_err() {
            self.file = None;
        }
        written
    }
}

/// The folder of one player on one server; no other client uses it meanwhile.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Opens or makes the folder below `root`.
    ///
    /// # Errors
    /// If it cannot be made, or another client uses it.
    pub(super) fn open(root: &str, url: &str, user: &str) -> Result<Folder, String> {
        let plain = |c: char| if c.is_ascii_alphanumeric() || ".-".contains(c) { c } else { '_' };
        let server = url.split_once("://").map_or(url, |(_, server)| server);
        let name: String = format!("{}-{user}", server.trim_end_matches('/'));
        let path = Path::new(root).join(name.chars().map(plain).collect::<String>());
        let said = |error: std::io::Error| format!("{}: {error}", path.display());
        fs::create_dir_all(&path).map_err(said)?;
        let lock = File::create(path.join("lock")).map_err(said)?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => {
                return Err(format!("{}: another client plays there", path.display()));
            }
            // Where there are no locks, none is kept.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        Ok(Folder { path, _lock: lock })
    }

    fn file(&self, number: u64, kind: &str) -> PathBuf {
        self.path.join(format!("{number}.{kind}"))
    }

    /// The numbers of all files of a kind, from the least on.
    fn numbers(&self, kind: &str) -> Vec<u64> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let number = |name: String| name.strip_suffix(kind)?.strip_suffix('.')?.parse().ok();
        let mut numbers: Vec<u64> = entries
            .filter_map(|entry| entry.file_name().into_string().ok().and_then(number))
            .collect();
        numbers.sort_unstable();
        numbers
    }

    /// The games that were not over.
    pub(super) fn games(&self) -> Vec<u64> {
        self.numbers("journal")
    }

    /// The journal of a game.
    ///
    /// # Errors
    /// If it cannot be opened, or holds a line that none is.
    pub(super) fn journal(&self, game: u64) -> Result<Journal, String> {
        Journal::open(&self.file(game, "journal"))
    }

    /// The invitations that may have been accepted without an answer.
    pub(super) fn accepting(&self) -> Vec<u64> {
        self.numbers("invitation")
    }

    /// Notes that an invitation is about to be accepted, or that it is settled what became of it.
    pub(super) fn note_accepting(&self, invitation: u64, settled: bool) -> std::io::Result<()> {
        let path = self.file(invitation, "invitation");
        if settled { fs::remove_file(path) } else { File::create(path).map(drop) }
    }

    /// A game is over: its journal goes; its history, if there is one, stays as `NUMBER.json`.
    ///
    /// # Errors
    /// If the files cannot be written or removed.
    pub(super) fn finish(&self, game: u64, history: Option<&Value>) -> std::io::Result<()> {
        if let Some(history) = history {
            let (part, whole) = (self.file(game, "part"), self.file(game, "json"));
            fs::write(&part, history.to_string()).and_then(|()| fs::rename(part, whole))?;
        }
        match fs::remove_file(self.file(game, "journal")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}
