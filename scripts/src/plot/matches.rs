//! Results of matches over the visits of the opponents, as a table and a picture.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::chart::{Panel, Series, draw_panels};
use crate::arena::folder::Folder;
use crate::arena::schedule::MatchSchedule;
use crate::arena::table::{mean, tallies};

/// The result of the first player of a match.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchResult {
    /// The variant.
    pub variant: String,
    /// The name of the first player.
    pub player: String,
    /// The name of the second player.
    pub opponent: String,
    /// The visits of the second player.
    pub visits: u32,
    /// Games won, drawn and lost.
    pub games: [u64; 3],
}

impl MatchResult {
    /// Reads the folder of a match in which the visits of the second player are limited.
    ///
    /// # Errors
    /// If the match cannot be read, or the second player has no limit of visits.
    pub fn read(folder: &Path) -> anyhow::Result<MatchResult> {
        let name = folder.display();
        let (config, games) = Folder::read(folder)?;
        let schedule = MatchSchedule::new(&config);
        let second = config.players.get(1).and_then(|player| player.visits);
        let visits = second
            .ok_or_else(|| anyhow::anyhow!("{name}: the second player has no limit of visits"))?;
        let all = tallies(&schedule, &games);
        let ([player, opponent, ..], [first, ..]) = (&schedule.names[..], &all[..]) else {
            anyhow::bail!("{name}: the match has fewer than 2 players");
        };
        Ok(MatchResult {
            player: player.clone(),
            opponent: opponent.clone(),
            games: first.total(),
            variant: config.variant,
            visits,
        })
    }

    /// Returns the mean score, from -1 to 1, and the half-width of its 95 % confidence interval.
    pub fn score(&self) -> (f64, f64) {
        let (mean, error) = mean(self.games);
        (mean, 1.96 * error)
    }
}

/// Reads matches and draws the mean scores of their first players over the visits of the second players.
///
/// # Errors
/// If a match cannot be read, or the picture cannot be written.
pub fn draw(folders: &[PathBuf], picture: &Path) -> anyhow::Result<Vec<MatchResult>> {
    let results = folders.iter().map(|folder| MatchResult::read(folder));
    let mut results = results.collect::<anyhow::Result<Vec<_>>>()?;
    results
        .sort_by(|a, b| (&a.variant, &a.player, a.visits).cmp(&(&b.variant, &b.player, b.visits)));
    let mut panels: BTreeMap<&str, BTreeMap<&str, Series>> = BTreeMap::new();
    for result in &results {
        let curves = panels.entry(&result.variant).or_default();
        let curve = curves
            .entry(&result.player)
            .or_insert_with(|| Series::new(&result.player, std::iter::empty()));
        let (score, error) = result.score();
        curve.points.push((f64::from(result.visits), score));
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
    Ok(results)
}
