//! A match's folder: what is played, and a line for each game that is over.
//!
//! `match.toml` is written once. `games.csv` only grows, by a whole line for each game; a line that
//! a kill cut short is dropped when the match goes on, and its game is played again.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::iter::repeat;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::config::MatchConfig;
use super::game::Played;
use crate::record::replace;

/// What `match.toml` holds.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    config: MatchConfig,
    /// Checksums of the files that it names.
    #[serde(default)]
    files: BTreeMap<String, String>,
}

/// A line of `games.csv`.
#[derive(Serialize, Deserialize)]
struct Row {
    game: u64,
    seats: String,
    scores: String,
    end: String,
    detail: String,
    start: String,
    turns: String,
}

/// The open folder of a match; nobody else writes into it meanwhile.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    games: File,
}

const CONFIG: &str = "match.toml";
const GAMES: &str = "games.csv";

/// Where a match is kept unless it is said: in `matches`, by its game and a checksum of the rest, so
/// that another match has another folder.
pub fn usual(config: &MatchConfig) -> anyhow::Result<PathBuf> {
    // More games are the same match going on.
    let text = toml::to_string(&MatchConfig { games: 0, ..config.clone() })?;
    let name = format!("{}-{:08x}", config.variant, crc32fast::hash(text.as_bytes()));
    Ok(PathBuf::from("matches").join(name))
}

impl Folder {
    /// Opens or makes a folder for this match; gives what has been played there.
    ///
    /// # Errors
    /// If another match or a changed file of this one was played there (the number of games may
    /// differ), somebody else is playing, or a file cannot be read or written.
    pub fn open(path: &Path, config: &MatchConfig) -> anyhow::Result<(Folder, Vec<Played>)> {
        fs::create_dir_all(path).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
        let file = path.join(GAMES);
        let options = || OpenOptions::new().read(true).append(true).create(true).open(&file);
        let name = file.display();
        let games = options().map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        match games.try_lock() {
            Err(TryLockError::WouldBlock) => anyhow::bail!("{name}: another arena plays there"),
            // Where there are no locks, none is kept.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        // From here on the lock goes with it, also if what is there is refused.
        let mut folder = Folder { path: path.to_owned(), games };
        let stored = Stored { config: config.clone(), files: config.checksums()? };
        same_match(&path.join(CONFIG), &stored)?;
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

    /// What was asked for and what has been played in a folder, without a hand in it; a line that
    /// is being written is left out.
    ///
    /// # Errors
    /// If there is no match there, or it cannot be read.
    pub fn read(path: &Path) -> anyhow::Result<(MatchConfig, Vec<Played>)> {
        let file = |name: &str| {
            let path = path.join(name);
            let bytes = fs::read(&path);
            let bytes = bytes.map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
            Ok::<_, anyhow::Error>((path.display().to_string(), bytes))
        };
        let (name, config) = file(CONFIG)?;
        let fault = |error: String| anyhow::anyhow!("{name}: {error}");
        let config = String::from_utf8(config).map_err(|error| fault(error.to_string()))?;
        let stored: Stored = toml::from_str(&config).map_err(|error| fault(error.to_string()))?;
        let (name, games) = file(GAMES)?;
        let whole = games.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let played = parse(&games[..whole], stored.config.players.len());
        let played = played.map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        Ok((stored.config, played))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps a game that is over.
    ///
    /// # Errors
    /// What the system says.
    pub fn add(&mut self, game: &Played) -> anyhow::Result<()> {
        let list = |numbers: Vec<String>| numbers.join(" ");
        let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
        writer.serialize(Row {
            game: game.number,
            seats: list(game.seats.iter().map(usize::to_string).collect()),
            scores: list(game.scores.iter().map(i8::to_string).collect()),
            end: game.end.clone(),
            detail: game.detail.clone(),
            start: game.start.clone(),
            turns: with_clocks(game).join(" "),
        })?;
        let line = writer.into_inner().map_err(|error| anyhow::anyhow!("{error}"))?;
        // In one call, so that a kill leaves the line or a part of it, and no other after it.
        self.games.write_all(&line)?;
        Ok(())
    }

    /// Writes a file that follows from the games, in the place of an earlier one.
    ///
    /// # Errors
    /// What the system says.
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
    /// Lets go of the lock at once. To close the file is not enough: a process that another thread
    /// has just forked holds it, too, until it has become an engine.
    fn drop(&mut self) {
        // What could not be locked need not be unlocked.
        let _ = self.games.unlock();
    }
}

/// Whether a folder's match is this one; if there is none yet, it is written down.
fn same_match(path: &Path, wanted: &Stored) -> anyhow::Result<()> {
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
    let mut stored: Stored =
        toml::from_str(&found).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    stored.config.games = wanted.config.games;
    if stored == *wanted {
        return Ok(());
    }
    let again = toml::to_string(&stored)?;
    let differs = again.lines().zip(written.lines()).find(|(a, b)| a != b);
    let (old, new) = differs.unwrap_or(("less than is asked for", "more"));
    anyhow::bail!(
        "{name} is of another match: it says \"{old}\" where now there is \"{new}\"; \
         choose another folder, or remove this one"
    )
}

/// The turns of a game, each with what its mover had left if that is known: `1e2e4{59512}`.
fn with_clocks(game: &Played) -> Vec<String> {
    let clocks = game.left.iter().map(|left| format!("{{{left}}}")).chain(repeat(String::new()));
    game.turns.iter().zip(clocks).map(|(turn, clock)| format!("{turn}{clock}")).collect()
}

/// What [`with_clocks`] wrote; `None` if a clock is none.
fn without_clocks(text: &str) -> Option<(Vec<String>, Vec<u64>)> {
    let (mut turns, mut left) = (Vec::new(), Vec::new());
    for word in text.split_whitespace() {
        let (turn, clock) = word.split_once('{').map_or((word, None), |(a, b)| (a, Some(b)));
        turns.push(turn.to_owned());
        if let Some(clock) = clock {
            left.push(clock.strip_suffix('}')?.parse().ok()?);
        }
    }
    Some((turns, left))
}

fn parse(text: &[u8], sides: usize) -> anyhow::Result<Vec<Played>> {
    let mut games = BTreeMap::new();
    for row in csv::Reader::from_reader(text).deserialize::<Row>() {
        let row = row?;
        let bad = || anyhow::anyhow!("game {} is damaged", row.game);
        let seats: Option<Vec<usize>> = row
            .seats
            .split(' ')
            .map(|seat| seat.parse().ok().filter(|&seat| seat < sides))
            .collect();
        let scores: Option<Vec<i8>> =
            row.scores.split(' ').map(|score| score.parse().ok()).collect();
        let seats = seats.filter(|seats| seats.len() == sides).ok_or_else(bad)?;
        let scores = scores.filter(|scores| scores.len() == sides).ok_or_else(bad)?;
        let (turns, left) = without_clocks(&row.turns).ok_or_else(bad)?;
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
