//! The folder of a match: its settings, and a line for each finished game.
//!
//! `match.toml` is written once. `games.csv` only grows, by a whole line for each game. A line that was cut
//! short when the process was killed is dropped when the match continues, and its game is played again.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::iter::repeat;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::config::MatchConfig;
use super::game::Played;
use crate::record::replace;

/// The content of `match.toml`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct StoredMatch {
    #[serde(flatten)]
    config: MatchConfig,
    /// Checksums of the files that the match depends on.
    #[serde(default)]
    files: BTreeMap<String, String>,
}

/// A line of `games.csv`.
#[derive(Serialize, Deserialize)]
struct GameRow {
    game: u64,
    seats: String,
    scores: String,
    end: String,
    detail: String,
    start: String,
    turns: String,
}

/// The open folder of a match, locked against other processes.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    games: File,
}

const CONFIG: &str = "match.toml";
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
        match games.try_lock() {
            Err(TryLockError::WouldBlock) => anyhow::bail!("{name} is in use by another arena"),
            // File systems without locks are used without one.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        // From here on the lock is released with the folder, also if its content is refused.
        let mut folder = Folder { path: path.to_owned(), games };
        let stored = StoredMatch { config: config.clone(), files: config.checksums()? };
        check_same_match(&path.join(CONFIG), &stored)?;
        let mut text = Vec::new();
        folder.games.rewind()?;
        folder.games.read_to_end(&mut text)?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        if whole < text.len() {
            folder.games.set_len(whole as u64)?;
        }
        if whole == 0 {
            folder.games.write_all(b"game,seats,scores,end,detail,start,turns\n")?;
        }
        let played = parse(&text[..whole], config.players.len())
            .map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        Ok((folder, played))
    }

    /// Returns the settings and the finished games of a match without locking its folder. A line that is being
    /// written is left out.
    ///
    /// # Errors
    /// If the folder holds no match, or a file cannot be read.
    pub fn read(path: &Path) -> anyhow::Result<(MatchConfig, Vec<Played>)> {
        let (name, config) = read_file(&path.join(CONFIG))?;
        let config =
            String::from_utf8(config).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        let stored: StoredMatch =
            toml::from_str(&config).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        let (name, games) = read_file(&path.join(GAMES))?;
        let whole = games.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let played = parse(&games[..whole], stored.config.players.len());
        let played = played.map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        Ok((stored.config, played))
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a finished game.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(&mut self, game: &Played) -> anyhow::Result<()> {
        let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
        writer.serialize(GameRow {
            game: game.number,
            seats: join(&game.seats),
            scores: join(&game.scores),
            end: game.end.clone(),
            detail: game.detail.clone(),
            start: game.start.clone(),
            turns: write_turns(game).join(" "),
        })?;
        let line = writer.into_inner().map_err(|error| anyhow::anyhow!("{error}"))?;
        // One call, so that a killed process leaves at most one partial line.
        self.games.write_all(&line)?;
        Ok(())
    }

    /// Writes a file, or replaces it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.path.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let named = |error| anyhow::anyhow!("{}: {error}", path.display());
        replace(&path, text.as_bytes()).map_err(named)
    }
}

impl Drop for Folder {
    /// Releases the lock at once. Closing the file is not enough: a process that another thread has just forked
    /// holds the lock, too, until it executes the engine.
    fn drop(&mut self) {
        // A lock that was not taken need not be released.
        let _ = self.games.unlock();
    }
}

/// Returns the name of a file and its content.
fn read_file(path: &Path) -> anyhow::Result<(String, Vec<u8>)> {
    let name = path.display().to_string();
    let bytes = fs::read(path).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    Ok((name, bytes))
}

fn join(numbers: &[impl ToString]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Checks that the match of a folder is this one. In a new folder, writes the match.
fn check_same_match(path: &Path, wanted: &StoredMatch) -> anyhow::Result<()> {
    let name = path.display();
    let written = toml::to_string(wanted)?;
    let found = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return replace(path, written.as_bytes())
                .map_err(|error| anyhow::anyhow!("{name}: {error}"));
        }
        Err(error) => anyhow::bail!("{name}: {error}"),
    };
    let mut stored: StoredMatch =
        toml::from_str(&found).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    stored.config.games = wanted.config.games;
    if stored == *wanted {
        return Ok(());
    }
    let found = toml::to_string(&stored)?;
    let differing = found.lines().zip(written.lines()).find(|(a, b)| a != b);
    let (old, new) = differing.unwrap_or(("fewer lines", "more lines"));
    anyhow::bail!(
        "{name} belongs to another match: it has \"{old}\", this match has \"{new}\"; \
         choose another folder, or remove this one"
    )
}

/// Returns the turns of a game, each with the milliseconds left to its mover if they are known:
/// `1e2e4{59512}`.
fn write_turns(game: &Played) -> Vec<String> {
    let clocks = game.left.iter().map(|left| format!("{{{left}}}")).chain(repeat(String::new()));
    game.turns.iter().zip(clocks).map(|(turn, clock)| format!("{turn}{clock}")).collect()
}

/// Reads the text of [`write_turns`]: the turns and the clocks. Returns `None` if a clock is invalid.
fn parse_turns(text: &str) -> Option<(Vec<String>, Vec<u64>)> {
    let mut turns = Vec::new();
    let mut left = Vec::new();
    for word in text.split_whitespace() {
        let (turn, clock) = word.split_once('{').map_or((word, None), |(a, b)| (a, Some(b)));
        turns.push(turn.to_owned());
        if let Some(clock) = clock {
            left.push(clock.strip_suffix('}')?.parse().ok()?);
        }
    }
    Some((turns, left))
}

/// Reads the lines of `games.csv`, sorted by the numbers of the games.
fn parse(text: &[u8], sides: usize) -> anyhow::Result<Vec<Played>> {
    let mut games = BTreeMap::new();
    for row in csv::Reader::from_reader(text).deserialize::<GameRow>() {
        let row = row?;
        let damaged = || anyhow::anyhow!("game {} is damaged", row.game);
        let seats: Option<Vec<usize>> = row
            .seats
            .split(' ')
            .map(|seat| seat.parse().ok().filter(|&seat| seat < sides))
            .collect();
        let scores: Option<Vec<i8>> =
            row.scores.split(' ').map(|score| score.parse().ok()).collect();
        let seats = seats.filter(|seats| seats.len() == sides).ok_or_else(damaged)?;
        let scores = scores.filter(|scores| scores.len() == sides).ok_or_else(damaged)?;
        let (turns, left) = parse_turns(&row.turns).ok_or_else(damaged)?;
        games.insert(
            row.game,
            Played {
                number: row.game,
                seats,
                scores,
                end: row.end,
                detail: row.detail,
                start: row.start,
                turns,
                left,
            },
        );
    }
    Ok(games.into_values().collect())
}
