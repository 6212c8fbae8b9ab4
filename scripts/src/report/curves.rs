//! How much stronger than its first network each later one of a game is, over the CPU time spent.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::chart::{Panel, Series, draw_panels};
use crate::ladder::rating::{Pairing, Rating, ratings};

/// A network that was made of the one before it, or in its place.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// CPU minutes of learning from the network before to this one.
    cpu_minutes: f64,
    /// Its games won, drawn and lost against the network before.
    #[serde(default)]
    over: Option<[u64; 3]>,
}

/// A game's networks, from the first to the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The game.
    pub variant: String,
    /// For each network the CPU minutes of learning up to it, and its rating over the first one's.
    pub points: Vec<(f64, Rating)>,
}

/// Reads a file that has a list of networks for each game, such as
///
/// ```toml
/// duck = [{ cpu_minutes = 41 }, { cpu_minutes = 26, over = [22, 1, 7] }]
/// ```
///
/// where the second won 22, drew 1 and lost 7 of its games against the first.
///
/// # Errors
/// If the file cannot be read, or makes no sense.
pub fn read(path: &Path) -> anyhow::Result<Vec<Curve>> {
    let name = path.display();
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    let games: BTreeMap<String, Vec<Step>> =
        toml::from_str(&text).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    anyhow::ensure!(!games.is_empty(), "{name}: it tells of no game");
    let curve = |(variant, steps): (String, Vec<Step>)| {
        let points = points(&steps).map_err(|error| anyhow::anyhow!("{name}: {variant}: {error}"));
        Ok(Curve { points: points?, variant })
    };
    games.into_iter().map(curve).collect()
}

/// More learning than this, a million years, is no time, and no axis has room for it.
const MOST_MINUTES: f64 = 5e11;

fn points(steps: &[Step]) -> anyhow::Result<Vec<(f64, Rating)>> {
    anyhow::ensure!(!steps.is_empty(), "no network is told of");
    let mut minutes = 0.0;
    let mut times = Vec::new();
    let mut pairings = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let Step { cpu_minutes, over } = *step;
        minutes += cpu_minutes;
        anyhow::ensure!(
            cpu_minutes >= 0.0 && minutes <= MOST_MINUTES,
            "network {number} has learned for {cpu_minutes} minutes"
        );
        anyhow::ensure!(
            over.is_some() == (number > 0),
            "network {number} has {} network before it",
            if number > 0 { "no games against the" } else { "games, and no" }
        );
        times.push(minutes);
        pairings.extend(over.map(|games| Pairing::of([number, number - 1], games)));
    }
    let ratings: Option<Vec<Rating>> = ratings(steps.len(), 0, &pairings).into_iter().collect();
    let ratings = ratings.ok_or_else(|| anyhow::anyhow!("no ratings follow from its games"))?;
    Ok(times.into_iter().zip(ratings).collect())
}

/// Draws curves over one axis, with what is 95% sure.
///
/// # Errors
/// If the picture cannot be written.
pub fn draw(curves: &[Curve], picture: &Path) -> anyhow::Result<()> {
    let series = |Curve { variant, points }: &Curve| {
        let mut series =
            Series::new(variant, points.iter().map(|(minutes, rating)| (*minutes, rating.elo)));
        let ends = |(_, rating): &(f64, Rating)| {
            (rating.elo - rating.margin(), rating.elo + rating.margin())
        };
        series.errors = points.iter().map(ends).collect();
        series
    };
    let curves: Vec<Series> = curves.iter().map(series).collect();
    let highest = curves.iter().flat_map(|curve| &curve.errors).map(|(_, high)| *high);
    let panel = Panel {
        title: "Elo over the first network".to_owned(),
        x: "CPU minutes of learning".to_owned(),
        logarithmic: false,
        range: 0.0..highest.fold(100.0, f64::max) * 1.05,
        curves,
    };
    draw_panels(picture, &[panel])
}
