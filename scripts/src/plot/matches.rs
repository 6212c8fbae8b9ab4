//! Matches against ever stronger opponents, as a table and a picture.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::chart::{Panel, Series, draw_panels};
use crate::arena::config::MatchConfig;
use crate::arena::folder::Folder;
use crate::arena::schedule::Schedule;
use crate::arena::table::{mean, tallies};

/// What the first player of a match came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The game.
    pub variant: String,
    /// What the first player is called.
    pub player: String,
    /// What the second is called.
    pub opponent: String,
    /// The second's visits.
    pub visits: u32,
    /// Games won, drawn and lost.
    pub games: [u64; 3],
}

impl Standing {
    /// Reads the match in a folder of the arena's, in which the second player's visits are limited.
    ///
    /// # Errors
    /// If there is no such match.
    pub fn read(folder: &Path) -> anyhow::Result<Standing> {
        let name = folder.display();
        let (config, games) = Folder::read(folder)?;
        let schedule = Schedule::new(&config);
        let second = config.players.get(1).and_then(|player| player.visits);
        let visits =
            second.ok_or_else(|| anyhow::anyhow!("{name}: the second has no limit of visits"))?;
        let all = tallies(&schedule, &games);
        let ([player, opponent, ..], [first, ..]) = (&schedule.names[..], &all[..]) else {
            anyhow::bail!("{name}: a match of one player");
        };
        let (player, opponent) = (player.clone(), opponent.clone());
        let MatchConfig { variant, .. } = config;
        Ok(Standing { variant, player, opponent, visits, games: first.total() })
    }

    /// The mean score, -1 to 1, and what it may be off by (95%).
    pub fn score(&self) -> (f64, f64) {
        let (mean, error) = mean(self.games);
        (mean, 1.96 * error)
    }
}

/// Reads matches and draws the mean scores of their first players over the visits of the second.
///
/// # Errors
/// If a match cannot be read, or the picture not be written.
pub fn draw(folders: &[PathBuf], picture: &Path) -> anyhow::Result<Vec<Standing>> {
    let standings = folders.iter().map(|folder| Standing::read(folder));
    let mut standings = standings.collect::<anyhow::Result<Vec<_>>>()?;
    standings
        .sort_by(|a, b| (&a.variant, &a.player, a.visits).cmp(&(&b.variant, &b.player, b.visits)));
    let mut panels: BTreeMap<&str, BTreeMap<&str, Series>> = BTreeMap::new();
    for standing in &standings {
        let curves = panels.entry(&standing.variant).or_default();
        let curve = curves
            .entry(&standing.player)
            .or_insert_with(|| Series::new(&standing.player, std::iter::empty()));
        let (score, error) = standing.score();
        curve.points.push((f64::from(standing.visits), score));
        curve.errors.push((score - error, score + error));
    }
    let panels = panels.into_iter().map(|(variant, curves)| Panel {
        title: format!("{variant}: mean score, 1 for a win and -1 for a loss"),
        x: "visits of each opponent".to_owned(),
        logarithmic: true,
        range: -1.05..1.05,
        curves: curves.into_values().collect(),
    });
    draw_panels(picture, &panels.collect::<Vec<_>>())?;
    Ok(standings)
}
