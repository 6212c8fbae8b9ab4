//! The tournament of the paper's Table III: every participant plays every other one.

use std::path::{Path, PathBuf};

use trainer::arena::Arena;
use trainer::arena::config::MatchConfig;
use trainer::arena::table::tallies;
use trainer::record::replace;

use crate::participants::Participant;
use crate::players;
use crate::score::Score;
use crate::tables::ResultTables;

/// The variant that is played.
pub const VARIANT: &str = "bughouse2fixed";

/// The file of the tables in the tournament's folder.
pub const TABLES_FILE: &str = "tables.md";

/// The settings of a tournament.
#[derive(Clone, Debug)]
pub struct TournamentSettings {
    /// Games per cell, an even number: the teams change sides after each game.
    pub games: u64,
    /// Random plies at the start of each pair of games. Most participants play deterministically, so
    /// without them all games of a cell would be the same.
    pub opening_plies: u32,
    /// The seed of these plies and of the random player.
    pub seed: u64,
    /// Turns after which a game is drawn.
    pub max_turns: u64,
    /// Games played in parallel.
    pub threads: usize,
    /// The folder of the matches. Games that are stored there are not played again.
    pub folder: PathBuf,
}

/// Errors of [`play_tournament`].
#[derive(Debug, thiserror::Error)]
pub enum TournamentError {
    /// The number of games per cell is 0.
    #[error("the number of games per cell must be at least 1")]
    NoGames,
    /// A match cannot be played.
    #[error(transparent)]
    Match(#[from] anyhow::Error),
    /// The tables cannot be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
}

/// Plays all cells. Row-only participants do not play each other.
///
/// After each cell the tables are written to [`TABLES_FILE`], after the text `preface`, and
/// `on_cell` is called with both participants and the score of the first.
///
/// # Errors
/// If a player cannot be created or a file cannot be written. Games that have been played are kept.
pub fn play_tournament(
    participants: &[Participant],
    settings: &TournamentSettings,
    preface: &str,
    on_cell: &mut dyn FnMut(&Participant, &Participant, Score),
) -> Result<ResultTables, TournamentError> {
    if settings.games == 0 {
        return Err(TournamentError::NoGames);
    }
    let mut tables = ResultTables::new(participants);
    for (row, column) in pairs(participants) {
        let first = &participants[row];
        let second = &participants[column];
        let score = play_cell(first, second, settings)?;
        tables.set(row, column, score);
        on_cell(first, second, score);
        let text = format!("{preface}\n{}", tables.markdown());
        let path = settings.folder.join(TABLES_FILE);
        if let Err(source) = replace(&path, text.as_bytes()) {
            return Err(TournamentError::Write { path, source });
        }
    }
    Ok(tables)
}

/// The pairs to play, in the order of the later participant: the slowest ones are listed last.
fn pairs(participants: &[Participant]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for second in 0..participants.len() {
        for first in 0..second {
            if !(participants[first].row_only && participants[second].row_only) {
                pairs.push((first, second));
            }
        }
    }
    pairs
}

/// Plays one cell, as far as its games are not stored yet, and returns the score of `first`.
fn play_cell(
    first: &Participant,
    second: &Participant,
    settings: &TournamentSettings,
) -> anyhow::Result<Score> {
    let config = MatchConfig {
        games: settings.games,
        seed: settings.seed,
        plies: Some(settings.opening_plies),
        max_turns: Some(settings.max_turns),
        ..MatchConfig::new(VARIANT, vec![first.player.clone(), second.player.clone()])
    };
    let folder = settings.folder.join(format!("{}-{}", first.short_name, second.short_name));
    let mut arena = Arena::open(&folder, config)?.with_custom_players(players::create);
    let played = arena.play(settings.threads, &mut |_| ());
    // The report is written for the games played before an error, too.
    arena.report()?;
    played?;
    let [won, drawn, lost] = tallies(arena.schedule(), arena.games())[0].total();
    Ok(Score { won, drawn, lost })
}

/// Returns the default folder of the regressions in the tournament's folder.
pub fn default_models_folder(folder: &Path) -> PathBuf {
    folder.join("models")
}
