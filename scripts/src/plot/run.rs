//! The story of a run as a page: curves of its log and of its strength over CPU hours.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::chart::{Panel, Series, svg};
use crate::arena::folder::Folder;
use crate::arena::schedule::Schedule;
use crate::arena::statistics::Pentanomial;
use crate::arena::table::pairs;
use crate::run::{Metrics, RunConfig};
use crate::store::Store;

/// A number of a row.
type Curve = (&'static str, fn(&Metrics) -> f64);

/// Elo beyond which a match says no more than that one side is much stronger.
const MOST_ELO: f64 = 800.0;

/// The page of a run, in HTML, with its pictures inside. `matches` are folders of the arena's, in
/// each of which a network of the run plays first; they give the curves of Elo, one an opponent.
///
/// # Errors
/// If the run's log or configuration or a match cannot be read, or is of no network of the run.
pub fn page(store: &Store, matches: &[PathBuf]) -> anyhow::Result<String> {
    let log = Metrics::read(store)?;
    let config = RunConfig::of_run(store)?;
    let config = config.ok_or_else(|| anyhow::anyhow!("{}: there is no run", store.place()))?;
    let last = log.last().ok_or_else(|| anyhow::anyhow!("{}: nothing is done", store.place()))?;
    let mut panels = vec![
        panel(
            &log,
            "Losses (nats)",
            &[
                ("policy, less its floor", |row| f64::from(row.policy_excess)),
                ("outcome", |row| f64::from(row.outcome_loss)),
                ("moves left", |row| f64::from(row.moves_left_loss)),
            ],
        ),
        panel(
            &log,
            "Agreement with the targets (%)",
            &[
                ("likeliest move", |row| 100.0 * f64::from(row.policy_accuracy)),
                ("likeliest outcome", |row| 100.0 * f64::from(row.outcome_accuracy)),
            ],
        ),
        panel(
            &log,
            "Games",
            &[
                ("plies of a game", |row| row.plies),
                ("decided games (%)", |row| 100.0 * row.decided),
            ],
        ),
    ];
    if !matches.is_empty() {
        panels.push(strength(&log, matches)?);
    }
    let name = escaped(&config.variant);
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{name}</title>\n\
         <style>body {{ font-family: sans-serif; max-width: 920px; margin: auto }}</style>\n\
         <h1>{name}</h1>\n<p>{} iterations, {} games, {} positions, {} steps, {:.2} CPU hours.</p>\n\
         {}\n<h2>config.toml</h2>\n<pre>{}</pre>\n</html>\n",
        last.iteration,
        last.games,
        last.positions,
        last.steps,
        last.cpu_minutes / 60.0,
        svg(&panels)?,
        escaped(&toml::to_string(&config)?)
    ))
}

fn panel(log: &[Metrics], title: &str, curves: &[Curve]) -> Panel {
    let series = |(name, of): &Curve| {
        Series::new(name, log.iter().map(|row| (row.cpu_minutes / 60.0, of(row))))
    };
    let curves: Vec<Series> = curves.iter().map(series).collect();
    let all = curves.iter().flat_map(|curve| &curve.points).map(|(_, y)| *y);
    let most = all.fold(0.1, f64::max);
    let x = "CPU hours".to_owned();
    Panel { title: title.to_owned(), x, logarithmic: false, range: 0.0..1.05 * most, curves }
}

/// Elo over CPU hours of the run's networks that played first in `matches`.
fn strength(log: &[Metrics], matches: &[PathBuf]) -> anyhow::Result<Panel> {
    let mut curves: BTreeMap<String, Vec<(f64, [f64; 3])>> = BTreeMap::new();
    for folder in matches {
        let (hours, opponent, elo) = match_of(log, folder)?;
        curves.entry(opponent).or_default().push((hours, elo));
    }
    let series = |(opponent, mut points): (String, Vec<(f64, [f64; 3])>)| {
        points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let line = points.iter().map(|&(hours, [_, value, _])| (hours, value));
        let errors = points.iter().map(|&(_, [low, _, high])| (low, high)).collect();
        Series { errors, ..Series::new(&format!("against {opponent}"), line) }
    };
    let curves: Vec<Series> = curves.into_iter().map(series).collect();
    let bars = || curves.iter().flat_map(|curve| &curve.errors);
    let low = bars().map(|&(low, _)| low).fold(0.0, f64::min);
    let high = bars().map(|&(_, high)| high).fold(0.0, f64::max);
    Ok(Panel {
        title: "Elo, 95% sure within the bars".to_owned(),
        x: "CPU hours".to_owned(),
        logarithmic: false,
        range: low - 50.0..high + 50.0,
        curves,
    })
}

/// CPU hours of the network that plays first, the opponent, and the least, likeliest and greatest
/// Elo.
fn match_of(log: &[Metrics], folder: &Path) -> anyhow::Result<(f64, String, [f64; 3])> {
    let name = folder.display();
    let (config, games) = Folder::read(folder)?;
    let file = config.players.first().and_then(|player| player.file.as_deref());
    // Networks are called by their iterations.
    let stem = file.and_then(Path::file_stem).and_then(|stem| stem.to_str());
    let iteration = stem.and_then(|stem| stem.parse().ok());
    let iteration: u64 = iteration
        .ok_or_else(|| anyhow::anyhow!("{name}: the first player is no network of a run"))?;
    // What is called 0 has learned nothing yet.
    let row = log.iter().find(|row| row.iteration == iteration);
    anyhow::ensure!(iteration == 0 || row.is_some(), "{name}: the run has no network {iteration}");
    let mut counted = Pentanomial::default();
    pairs(&games).into_iter().for_each(|pair| counted.add(pair));
    let elo = counted.elo().ok_or_else(|| anyhow::anyhow!("{name}: no pair of games is over"))?;
    let elo = [elo.low, elo.value, elo.high].map(|elo| elo.clamp(-MOST_ELO, MOST_ELO));
    let opponent = Schedule::new(&config).names.pop().unwrap_or_default();
    Ok((row.map_or(0.0, |row| row.cpu_minutes / 60.0), opponent, elo))
}

/// A text that HTML takes for nothing else.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
