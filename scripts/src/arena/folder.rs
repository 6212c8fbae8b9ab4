//! The folder of a match: its settings, and a line for each finished game.
//!
//! `match.toml` is written once. `games.csv` only grows, by a whole line for each game. A line that was cut
//! short when the process was killed is dropped when the match continues, and its game is played again.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::config::MatchConfig;
use super::game::Played;
use super::game_csv::{HEADER, parse_games, write_row};
use super::storage::{MatchStorage, history_name};
use super::stored_match::{NAME as CONFIG, StoredMatch};
use crate::file_lock::LockedFile;
use crate::record::replace;

/// The open folder of a match, locked against other processes.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    games: LockedFile,
    remaining: Mutex<Remaining>,
}

/// Which games are to be played.
#[derive(Debug, Default)]
struct Remaining {
    finished: BTreeSet<u64>,
    /// The games below this number have been handed out.
    next: u64,
    /// The number of games of the match.
    games: u64,
}

const GAMES: &str = "games.csv";

/// Returns the default folder of a match: `matches/VARIANT-CHECKSUM`, so that different matches have
/// different folders.
///
/// # Errors
/// If the configuration cannot be written as TOML.
pub fn default_folder(config: &MatchConfig) -> anyhow::Result<PathBuf> {
    // The number of games is left out: a match may be extended.
    let text = toml::to_string(&MatchConfig { games: 0, ..config.clone() })?;
    let name = format!("{}-{:08x}", config.variant, crc32fast::hash(text.as_bytes()));
    Ok(PathBuf::from("matches").join(name))
}

impl Folder {
    /// Opens or creates the folder of a match, and returns the games that were played before.
    ///
    /// # Errors
    /// If the folder belongs to another match or one of its files has changed (the number of games may differ),
    /// another process plays in it, or a file cannot be read or written.
    pub fn open(path: &Path, config: &MatchConfig) -> anyhow::Result<(Folder, Vec<Played>)> {
        fs::create_dir_all(path).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
        let file = path.join(GAMES);
        let options = || OpenOptions::new().read(true).append(true).create(true).open(&file);
        let name = file.display();
        let games = options().map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        let games = LockedFile::lock(games)
            .ok_or_else(|| anyhow::anyhow!("{name} is in use by another arena"))?;
        check_same_match(&path.join(CONFIG), &StoredMatch::new(config)?)?;
        let mut text = Vec::new();
        games.file().rewind()?;
        games.file().read_to_end(&mut text)?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let rest = &text[whole..];
        // The incomplete line of a process that was killed; the first is the header.
        anyhow::ensure!(
            whole > 0 || HEADER.starts_with(rest),
            "{name} is not the file of a match, choose another folder"
        );
        if !rest.is_empty() {
            games.file().set_len(whole as u64)?;
        }
        if whole == 0 {
            games.file().write_all(HEADER)?;
        }
        let played = parse_games(&text[..whole], config.players.len())
            .map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        let finished = played.iter().map(|game| game.number).collect();
        let remaining = Mutex::new(Remaining { finished, ..Remaining::default() });
        Ok((Folder { path: path.to_owned(), games, remaining }, played))
    }

    /// Returns `true` if there is a match in `path`.
    pub fn has_match(path: &Path) -> bool {
        path.join(CONFIG).exists()
    }

    /// Returns the settings and the finished games of a match without locking its folder. A line that is being
    /// written is left out.
    ///
    /// # Errors
    /// If the folder holds no match, or a file cannot be read.
    pub fn read(path: &Path) -> anyhow::Result<(MatchConfig, Vec<Played>)> {
        let (name, config) = read_file(&path.join(CONFIG))?;
        let stored = StoredMatch::parse(&name, &config)?;
        let (name, games) = read_file(&path.join(GAMES))?;
        let whole = games.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let played = parse_games(&games[..whole], stored.config.players.len());
        let played = played.map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        Ok((stored.config, played))
    }

    fn remaining(&self) -> MutexGuard<'_, Remaining> {
        // A thread that panicked while it held the lock left it intact.
        self.remaining.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MatchStorage for Folder {
    fn begin(&self, games: u64) {
        let mut remaining = self.remaining();
        remaining.next = 0;
        remaining.games = games;
    }

    fn next_game(&self) -> anyhow::Result<Option<u64>> {
        let mut remaining = self.remaining();
        let Remaining { ref finished, next, games } = *remaining;
        let number = (next..games).find(|number| !finished.contains(number));
        remaining.next = number.map_or(games, |number| number + 1);
        Ok(number)
    }

    fn add(&self, game: Played, history: Option<&str>) -> anyhow::Result<Played> {
        if let Some(history) = history {
            self.write(&history_name(game.number), history)?;
        }
        // One call, so that a killed process leaves at most one partial line.
        self.games.file().write_all(&write_row(&game)?)?;
        self.remaining().finished.insert(game.number);
        Ok(game)
    }

    fn new_games(&self) -> anyhow::Result<Vec<Played>> {
        // The folder is locked.
        Ok(Vec::new())
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.path.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let named = |error| anyhow::anyhow!("{}: {error}", path.display());
        replace(&path, text.as_bytes()).map_err(named)
    }
}

/// Returns the name of a file and its content.
fn read_file(path: &Path) -> anyhow::Result<(String, Vec<u8>)> {
    let name = path.display().to_string();
    let bytes = fs::read(path).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    Ok((name, bytes))
}

/// Checks that the match of a folder is this one. In a new folder, writes the match.
fn check_same_match(path: &Path, wanted: &StoredMatch) -> anyhow::Result<()> {
    let name = path.display().to_string();
    match fs::read(path) {
        Ok(text) => wanted.check_same(&name, StoredMatch::parse(&name, &text)?),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            replace(path, wanted.text()?.as_bytes())
                .map_err(|error| anyhow::anyhow!("{name}: {error}"))
        }
        Err(error) => anyhow::bail!("{name}: {error}"),
    }
}
