//! A page with the metrics of a run and the strength of its networks over CPU hours.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::chart::{MAX_COORDINATE, Panel, Series, svg};
use crate::arena::folder::Folder;
use crate::arena::schedule::MatchSchedule;
use crate::arena::statistics::Pentanomial;
use crate::arena::table::pairs;
use crate::run::{RunConfig, RunMetrics};
use crate::store::Store;

/// A curve: its name and its value in a row of the metrics.
type Curve = (&'static str, fn(&RunMetrics) -> f64);

/// Elo differences are limited to this, since larger ones have no meaningful interval.
const MAX_ELO: f64 = 800.0;

/// Returns the page of a run in HTML, with its pictures. `matches` are folders of matches in which a network of
/// the run is the first player; they give the curves of Elo, one for each opponent.
///
/// # Errors
/// If the metrics, the configuration or a match cannot be read, or a first player is no network of the run.
pub fn page(store: &Store, matches: &[PathBuf]) -> anyhow::Result<String> {
    let mut log = RunMetrics::read(store)?;
    // What has no place on the axis of time.
    log.retain(|row| (0.0..=MAX_COORDINATE).contains(&row.cpu_minutes));
    let config = RunConfig::of_run(store)?;
    let config = config.ok_or_else(|| anyhow::anyhow!("{}: no run", store.place()))?;
    let last =
        log.last().ok_or_else(|| anyhow::anyhow!("{}: no iteration is complete", store.place()))?;
    let mut panels = vec![
        panel(
            &log,
            "Losses (nats)",
            &[
                ("policy, above its minimum", |row| f64::from(row.policy_excess)),
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
    let name = escape_html(&config.variant);
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
        escape_html(&toml::to_string(&config)?)
    ))
}

fn panel(log: &[RunMetrics], title: &str, curves: &[Curve]) -> Panel {
    let series = |(name, of): &Curve| {
        Series::new(name, log.iter().map(|row| (row.cpu_minutes / 60.0, of(row))))
    };
    let curves: Vec<Series> = curves.iter().map(series).collect();
    let all = curves.iter().flat_map(|curve| &curve.points).map(|(_, y)| *y);
    let highest = all.fold(0.1, f64::max);
    let x = "CPU hours".to_owned();
    Panel { title: title.to_owned(), x, logarithmic: false, range: 0.0..1.05 * highest, curves }
}

/// Returns Elo over CPU hours of the networks that are the first players of `matches`.
fn strength(log: &[RunMetrics], matches: &[PathBuf]) -> anyhow::Result<Panel> {
    let mut curves: BTreeMap<String, Vec<(f64, [f64; 3])>> = BTreeMap::new();
    for folder in matches {
        let (hours, opponent, elo) = read_match(log, folder)?;
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
        title: "Elo with 95 % confidence intervals".to_owned(),
        x: "CPU hours".to_owned(),
        logarithmic: false,
        range: low - 50.0..high + 50.0,
        curves,
    })
}

/// Returns the CPU hours of the network that is the first player, the name of the opponent, and the lower end,
/// value and upper end of the Elo difference.
fn read_match(log: &[RunMetrics], folder: &Path) -> anyhow::Result<(f64, String, [f64; 3])> {
    let name = folder.display();
    let (config, games) = Folder::read(folder)?;
    let file = config.players.first().and_then(|player| player.file.as_deref());
    // Networks are named by their iterations.
    let stem = file.and_then(Path::file_stem).and_then(|stem| stem.to_str());
    let iteration = stem.and_then(|stem| stem.parse().ok());
    let iteration: u64 = iteration
        .ok_or_else(|| anyhow::anyhow!("{name}: the first player is no network of a run"))?;
    // Network 0 is untrained.
    let row = log.iter().find(|row| row.iteration == iteration);
    anyhow::ensure!(iteration == 0 || row.is_some(), "{name}: the run has no network {iteration}");
    let mut counted = Pentanomial::default();
    for pair in pairs(&games) {
        counted.add(pair);
    }
    let elo =
        counted.elo().ok_or_else(|| anyhow::anyhow!("{name}: no pair of games is finished"))?;
    let elo = [elo.low, elo.value, elo.high].map(|elo| elo.clamp(-MAX_ELO, MAX_ELO));
    let opponent = MatchSchedule::new(&config).names.pop().unwrap_or_default();
    Ok((row.map_or(0.0, |row| row.cpu_minutes / 60.0), opponent, elo))
}

/// Escapes text for HTML.
fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
