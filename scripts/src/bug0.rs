//! The tables of Bug0 (Ardeshna, Selwyn and Singhal), played anew: everybody against everybody in
//! `bughouse2fixed`, the paper's order of play, and what came of it beside what was printed.
//!
//! - [`models`]: its four regressions in a folder.
//! - [`entrants`]: who plays.
//! - [`printed`]: the paper's own figures.
//! - [`tables`]: Tables III and IV in words.

pub mod entrants;
pub mod models;
pub mod printed;
pub mod tables;

use std::path::{Path, PathBuf};

use crate::arena::Arena;
use crate::arena::config::MatchConfig;
use crate::arena::table::tallies;
use crate::record::replace;
use entrants::Entrant;
use tables::{Cell, Tables};

/// The game.
pub const GAME: &str = "bughouse2fixed";

/// How the games are played.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Games in each cell; an even number, colours changed after each.
    pub games: u64,
    /// Random plies that each pair of games begins with: nobody here plays by chance but one, and
    /// so all games would be the same.
    pub plies: u32,
    /// The seed of these plies and of the random player.
    pub seed: u64,
    /// Turns after which a game is drawn.
    pub longest: u64,
    /// Games at a time.
    pub threads: usize,
    /// Where the matches are kept; what was played there is not played again.
    pub folder: PathBuf,
}

/// What has been written after each cell.
pub const FILE: &str = "tables.md";

/// Plays all cells and writes the tables into `tables.md` after each. `told` gets both names and the
/// result of each cell. Those among `entrants` that are ours play everybody but one another.
///
/// # Errors
/// If a player cannot be made or a file not be written; what was played is kept.
pub fn play(
    entrants: &[Entrant],
    conditions: &Conditions,
    about: &str,
    told: &mut dyn FnMut(&Entrant, &Entrant, Cell),
) -> anyhow::Result<Tables> {
    anyhow::ensure!(conditions.games > 0, "no games at all");
    let mut tables = Tables::new(entrants);
    for (row, column) in pairs(entrants) {
        let (first, second) = (&entrants[row], &entrants[column]);
        let cell = cell(first, second, conditions)?;
        tables.add(row, column, cell);
        told(first, second, cell);
        let text = format!("{about}\n{}", tables.markdown());
        let path = conditions.folder.join(FILE);
        replace(&path, text.as_bytes())
            .map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
    }
    Ok(tables)
}

/// Who plays whom, in the order of the later one of the two: whoever is listed last is slowest.
fn pairs(entrants: &[Entrant]) -> Vec<(usize, usize)> {
    let all = (0..entrants.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
    all.filter(|&(first, second)| !(entrants[first].ours && entrants[second].ours)).collect()
}

fn cell(first: &Entrant, second: &Entrant, conditions: &Conditions) -> anyhow::Result<Cell> {
    let config = MatchConfig {
        games: conditions.games,
        seed: conditions.seed,
        plies: Some(conditions.plies),
        longest: Some(conditions.longest),
        ..MatchConfig::new(GAME, vec![first.player.clone(), second.player.clone()])
    };
    let folder = conditions.folder.join(format!("{}-{}", first.short, second.short));
    let mut arena = Arena::open(&folder, config)?;
    let played = arena.play(conditions.threads, &mut |_| ());
    arena.report()?;
    played?;
    let [won, drawn, lost] = tallies(arena.schedule(), arena.games())[0].total();
    Ok(Cell { won, drawn, lost })
}

/// The folder of the regressions beside the matches.
pub fn models_beside(folder: &Path) -> PathBuf {
    folder.join("models")
}
