//! What is kept of the games in progress, so that a client that was killed can continue them: the server
//! sends the results of senses and moves only once.
//!
//! The journal of a game is a text file. Most of its lines are those of the line protocol. Each is written
//! before the client relies on it. The last line is dropped if it was cut short.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context;
use menagerie::rules::rbc::Request;
use menagerie::rules::{Color, Square};
use menagerie_rbc::{TurnMessage, format_request, parse_request, parse_start};
use serde_json::Value;

const JOURNAL_EXTENSION: &str = "journal";
const DAMAGED_EXTENSION: &str = "journal.damaged";
const INVITATION_EXTENSION: &str = "invitation";

/// A line of a journal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    /// `invitation NUMBER`: the invitation that led to the game.
    Invitation(u64),
    /// `newgame COLOR FEN`: our side and the start.
    NewGame(Color, String),
    /// `requests REQUEST ..`: the possible requests after a lost move result.
    Requests(Vec<Request>),
    /// A message of the line protocol.
    Message(TurnMessage),
    /// `sense SQUARE`: the sense that will be requested.
    Sense(Square),
    /// `move REQUEST|0000`: the move that will be requested.
    Move(Option<Request>),
    /// `lost`: the result of the last sense or move was lost.
    Lost,
    /// `endturn`: the turn is over.
    EndTurn,
}

/// A line of a journal is invalid.
#[derive(Debug, thiserror::Error)]
#[error("invalid journal line \"{0}\"")]
pub(super) struct EntryError(String);

/// Why a journal cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum JournalError {
    /// The file cannot be read or written.
    #[error("{path}: {error}")]
    Io { path: String, error: io::Error },
    /// A line is invalid.
    #[error("{path}: line {number}: {error}")]
    Line { path: String, number: usize, error: EntryError },
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Entry::Invitation(number) => write!(f, "invitation {number}"),
            Entry::NewGame(color, fen) => write!(f, "newgame {color} {fen}"),
            Entry::Requests(requests) => {
                write!(f, "requests")?;
                for request in requests {
                    write!(f, " {request}")?;
                }
                Ok(())
            }
            Entry::Message(message) => write!(f, "{message}"),
            Entry::Sense(square) => write!(f, "sense {square}"),
            Entry::Move(request) => write!(f, "move {}", format_request(*request)),
            Entry::Lost => write!(f, "lost"),
            Entry::EndTurn => write!(f, "endturn"),
        }
    }
}

impl FromStr for Entry {
    type Err = EntryError;

    fn from_str(line: &str) -> Result<Entry, EntryError> {
        parse_entry(line).ok_or_else(|| EntryError(line.to_owned()))
    }
}

fn parse_entry(line: &str) -> Option<Entry> {
    let words: Vec<&str> = line.split_whitespace().collect();
    Some(match words[..] {
        ["invitation", number] => Entry::Invitation(number.parse().ok()?),
        ["newgame", "white", ref fen @ ..] => parse_new_game(Color::White, fen)?,
        ["newgame", "black", ref fen @ ..] => parse_new_game(Color::Black, fen)?,
        ["requests", ref requests @ ..] => {
            let requests = requests.iter().map(|word| word.parse().ok());
            Entry::Requests(requests.collect::<Option<_>>()?)
        }
        ["sense", square] => Entry::Sense(square.parse().ok()?),
        ["move", request] => Entry::Move(parse_request(request).ok()?),
        ["lost"] => Entry::Lost,
        ["endturn"] => Entry::EndTurn,
        _ => Entry::Message(line.parse().ok()?),
    })
}

fn parse_new_game(color: Color, fen: &[&str]) -> Option<Entry> {
    let fen = fen.join(" ");
    parse_start(&fen).ok()?;
    Some(Entry::NewGame(color, fen))
}

/// The journal of one game, open for writing.
#[derive(Debug)]
pub(super) struct Journal {
    /// `None` after an error: a full disk does not end the game.
    file: Option<File>,
    /// What an earlier client has written.
    pub(super) entries: Vec<Entry>,
}

impl Journal {
    /// Opens the file `path`. A file that does not exist is created if `may_create`.
    fn open(path: &Path, may_create: bool) -> Result<Journal, JournalError> {
        let name = path.display().to_string();
        let (file, bytes) = match open_and_read(path, may_create) {
            Ok(opened) => opened,
            Err(error) => return Err(JournalError::Io { path: name, error }),
        };
        let whole_lines_end =
            bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let text = String::from_utf8_lossy(&bytes[..whole_lines_end]);
        let mut entries = Vec::new();
        for (index, line) in text.lines().enumerate() {
            match line.parse() {
                Ok(entry) => entries.push(entry),
                Err(error) => {
                    return Err(JournalError::Line { path: name, number: index + 1, error });
                }
            }
        }
        if whole_lines_end < bytes.len()
            && let Err(error) = file.set_len(whole_lines_end as u64)
        {
            return Err(JournalError::Io { path: name, error });
        }
        Ok(Journal { file: Some(file), entries })
    }

    /// Returns a journal that is not written to disk.
    pub(super) fn unsaved() -> Journal {
        Journal { file: None, entries: Vec::new() }
    }

    /// Writes an entry to disk.
    ///
    /// # Errors
    /// If it cannot be written. Later entries are not written then.
    pub(super) fn add(&mut self, entry: &Entry) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let line = format!("{entry}\n");
        let result = file.write_all(line.as_bytes()).and_then(|()| file.sync_data());
        if result.is_err() {
            self.file = None;
        }
        result
    }
}

fn open_and_read(path: &Path, may_create: bool) -> io::Result<(File, Vec<u8>)> {
    let file = OpenOptions::new().create(may_create).append(true).open(path)?;
    Ok((file, fs::read(path)?))
}

/// The folder of one user on one server, locked against other clients.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Opens or creates the folder below `root`.
    ///
    /// # Errors
    /// If it cannot be created, or another client uses it.
    pub(super) fn open(root: &str, url: &str, user: &str) -> anyhow::Result<Folder> {
        let server = url.split_once("://").map_or(url, |(_, server)| server);
        let name = format!("{}-{user}", server.trim_end_matches('/'));
        let path = Path::new(root).join(name.replace(is_unsafe_in_name, "_"));
        let lock = fs::create_dir_all(&path).and_then(|()| File::create(path.join("lock")));
        let lock = lock.with_context(|| path.display().to_string())?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => {
                anyhow::bail!("{}: another client uses this folder", path.display());
            }
            // Some file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        Ok(Folder { path, _lock: lock })
    }

    /// Returns the numbers of the games in progress, in ascending order.
    pub(super) fn games(&self) -> Vec<u64> {
        self.numbers_with(JOURNAL_EXTENSION)
    }

    /// Opens the journal of a game that an earlier client has begun.
    ///
    /// # Errors
    /// [`JournalError::Line`] if a line is invalid, [`JournalError::Io`] if the file cannot be opened or does not
    /// exist.
    pub(super) fn open_journal(&self, game: u64) -> Result<Journal, JournalError> {
        Journal::open(&self.file(game, JOURNAL_EXTENSION), false)
    }

    /// Opens the journal of a game, or creates it.
    ///
    /// # Errors
    /// As [`Folder::open_journal`], except that the file need not exist.
    pub(super) fn open_or_create_journal(&self, game: u64) -> Result<Journal, JournalError> {
        Journal::open(&self.file(game, JOURNAL_EXTENSION), true)
    }

    /// Returns `true` if there is a journal of a game, even if it cannot be opened.
    pub(super) fn has_journal(&self, game: u64) -> bool {
        self.file(game, JOURNAL_EXTENSION).exists()
    }

    /// Renames the journal of a game to `NUMBER.journal.damaged`, which no client opens. Returns its path.
    pub(super) fn set_journal_aside(&self, game: u64) -> io::Result<PathBuf> {
        let path = self.file(game, DAMAGED_EXTENSION);
        fs::rename(self.file(game, JOURNAL_EXTENSION), &path)?;
        Ok(path)
    }

    /// Returns the numbers of the invitations whose acceptance may have had no answer.
    pub(super) fn pending_invitations(&self) -> Vec<u64> {
        self.numbers_with(INVITATION_EXTENSION)
    }

    /// Records that an invitation will be accepted.
    pub(super) fn add_pending_invitation(&self, invitation: u64) -> io::Result<()> {
        File::create(self.file(invitation, INVITATION_EXTENSION)).map(drop)
    }

    /// Records that the acceptance of an invitation had an answer.
    pub(super) fn remove_pending_invitation(&self, invitation: u64) -> io::Result<()> {
        fs::remove_file(self.file(invitation, INVITATION_EXTENSION))
    }

    /// Replaces the journal of a game that is over by its history, `NUMBER.json`, if there is one.
    pub(super) fn finish_game(&self, game: u64, history: Option<&Value>) -> io::Result<()> {
        if let Some(history) = history {
            let part = self.file(game, "part");
            fs::write(&part, history.to_string())?;
            fs::rename(part, self.file(game, "json"))?;
        }
        match fs::remove_file(self.file(game, JOURNAL_EXTENSION)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn file(&self, number: u64, extension: &str) -> PathBuf {
        self.path.join(format!("{number}.{extension}"))
    }

    fn numbers_with(&self, extension: &str) -> Vec<u64> {
        let files = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut numbers: Vec<u64> =
            files.filter_map(|file| number_of_file(&file.path(), extension)).collect();
        numbers.sort_unstable();
        numbers
    }
}

fn is_unsafe_in_name(c: char) -> bool {
    !c.is_ascii_alphanumeric() && c != '.' && c != '-'
}

/// Returns N for the path `N.extension`.
fn number_of_file(path: &Path, extension: &str) -> Option<u64> {
    if path.extension()?.to_str()? != extension {
        return None;
    }
    path.file_stem()?.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journal_entries_are_parsed_as_they_are_written() {
        for line in [
            "invitation 7",
            "newgame black 4k3/8/8/8/8/8/8/4K3 w - - 0 1",
            "requests e2e4 a7a8q",
            "oppmove e5",
            "oppmove -",
            "senseresult e4=P e5=.",
            "senseresult -",
            "moveresult e2e4 e2e3 -",
            "sense d5",
            "move e2e4",
            "move 0000",
            "lost",
            "endturn",
        ] {
            let entry: Entry = line.parse().expect(line);
            assert_eq!(entry.to_string(), line);
        }
        for line in ["sense z9", "newgame white", "newgame white 8/8/8/8/8/8/8/8 w - - 0 1"] {
            let error = line.parse::<Entry>().expect_err(line);
            assert_eq!(error.to_string(), format!("invalid journal line \"{line}\""));
        }
    }

    #[test]
    fn journal_that_is_damaged_is_left_as_it_is() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let root = root.path().display().to_string();
        let folder = Folder::open(&root, "https://server", "user").expect("a new folder");
        let path = folder.file(3, JOURNAL_EXTENSION);
        assert!(matches!(folder.open_journal(3), Err(JournalError::Io { .. })));
        assert!(!folder.has_journal(3));
        for (damaged, line) in [
            (&b"oppmove -\nsense d5\nsenseresult c6=. XX\nlost"[..], 3),
            (&b"oppmove -\n\xff\nlost\n"[..], 2),
        ] {
            fs::write(&path, damaged).expect("it can be written");
            let error = folder.open_journal(3).expect_err("a damaged journal").to_string();
            assert!(error.contains(&format!("3.journal: line {line}: invalid")), "{error}");
            let aside = folder.set_journal_aside(3).expect("it can be renamed");
            assert!(aside.ends_with("3.journal.damaged"), "{}", aside.display());
            assert_eq!(fs::read(aside).expect("a file"), damaged);
            assert!(folder.games().is_empty());
        }
    }

    #[test]
    fn journal_line_that_was_cut_short_is_dropped() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let root = root.path().display().to_string();
        let folder = Folder::open(&root, "https://server", "user").expect("a new folder");
        let mut journal = folder.open_or_create_journal(3).expect("a new journal");
        journal.add(&Entry::Sense(Square::D5)).expect("it can be written");
        let path = folder.file(3, JOURNAL_EXTENSION);
        fs::write(&path, "sense d5\nsenseres").expect("it can be written");

        let mut journal = folder.open_journal(3).expect("a journal");
        assert_eq!(journal.entries, [Entry::Sense(Square::D5)]);
        journal.add(&Entry::Lost).expect("it can be written");
        assert_eq!(fs::read_to_string(path).expect("a file"), "sense d5\nlost\n");
        assert_eq!(folder.games(), [3]);
        assert!(Folder::open(&root, "https://server/", "user").is_err(), "it is locked");
    }
}
