//! The progress of a run of a solved game, as a table and a picture.

use std::path::Path;

use menagerie::nn::Onnx;
use menagerie::nn::network::Backend;
use menagerie::nn::{Cache, EvalError, Evaluator};
use menagerie::rules::{Position, Side};
use menagerie::search::Params;
use menagerie::variant::Variant;
use serde::Serialize;

use super::chart::{Panel, Series, draw_panels};
use crate::ground_truth::{measure_search, raw_evaluation};
use crate::retrograde::{Solution, Value};
use crate::run::{RunMetrics, net};
use crate::store::Store;

/// Measurements of the network of an iteration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SolvedRow {
    /// The iteration.
    pub iteration: u64,
    /// CPU minutes of the run up to the iteration.
    pub cpu_minutes: f64,
    /// Share of positions in which the likeliest move of the network keeps the result.
    pub bare_kept: f64,
    /// Share of positions in which the move of a search keeps the result.
    pub search_kept: f64,
    /// Share of won positions in which the move of the search wins in the fewest plies.
    pub search_quickest: f64,
    /// The expected score of White without a search, in each of the sample positions.
    pub values: Vec<f32>,
    /// The probability of winning moves without a search, in each won sample position; the last entry is the
    /// probability of the mate in one.
    pub winning: Vec<f32>,
}

/// A position whose evaluation is measured for each network.
#[derive(Clone, Debug)]
pub struct SamplePosition {
    /// The name.
    pub name: String,
    /// The position.
    pub position: Position,
    /// The value by perfect play, for the side to move.
    pub value: Value,
}

/// Returns the four sample positions of the paper: the two drawn start positions with all pieces, a slow win for
/// White, and a win for Black with a mate in one and other winning moves.
pub fn samples(variant: &Variant, solution: &Solution) -> Vec<SamplePosition> {
    let pieces = |position: &Position| position.board().pieces.occupied().count();
    let all_pieces = solution.iter().map(|(position, _)| pieces(&position)).max().unwrap_or(0);
    let find = |side: Side, is_wanted: &dyn Fn(&Position, Value) -> bool| {
        let mut positions = solution.iter();
        let found = positions.find(|(position, value)| {
            position.turn() == side && pieces(position) == all_pieces && is_wanted(position, *value)
        });
        found.map(|(position, _)| position)
    };
    let slow = find(Side::WHITE, &|_, value| matches!(value, Value::Win(plies) if plies >= 7));
    let mate = find(Side::BLACK, &|position, value| {
        let wins = replies(solution, position).filter(|reply| *reply != Value::Win(1));
        value == Value::Win(1) && wins.filter(|reply| reply.score() == 1).count() >= 2
    });
    let drawn = |fen: &str| variant.position(fen, false).ok();
    let named = [
        ("drawn start, White to move", drawn("kqr/3/KQR w - - 0 1")),
        ("drawn start, Black to move", drawn("rqk/3/RQK b - - 0 1")),
        ("won by White", slow),
        ("won by Black, mate in one", mate),
    ];
    let known = named.into_iter().filter_map(|(name, position)| {
        let position = position?;
        let value = solution.value(&position)?;
        Some(SamplePosition { name: format!("{name}: {}", position.fen()), position, value })
    });
    known.collect()
}

/// Returns the value of each legal move of a position, for the side to move.
fn replies<'a>(solution: &'a Solution, position: &'a Position) -> impl Iterator<Item = Value> + 'a {
    let mut legal = Vec::new();
    position.legal_moves(&mut legal);
    legal.into_iter().filter_map(|m| {
        let mut next = position.clone();
        next.play_unchecked(m);
        solution.value(&next).map(Value::before)
    })
}

/// Measures the networks of the run in `store`: the first 8, every `step`th, and the last.
///
/// # Errors
/// If the log or a network cannot be read.
pub fn measure_run(
    store: &Store,
    variant: &Variant,
    solution: &Solution,
    step: u64,
    visits: u32,
) -> anyhow::Result<Vec<SolvedRow>> {
    let log = RunMetrics::read(store)?;
    let last = log.last().map_or(0, |row| row.iteration);
    let times =
        std::iter::once((0, 0.0)).chain(log.iter().map(|row| (row.iteration, row.cpu_minutes)));
    let chosen = times.filter(|(n, _)| *n <= 8 || n.is_multiple_of(step.max(1)) || *n == last);
    let encoding = menagerie::encoding::Encoding::of(&variant.start());
    let samples = samples(variant, solution);
    let mut rows = Vec::new();
    for (iteration, cpu_minutes) in chosen {
        let file = store.read(&net(iteration))?;
        let network = Onnx::open(&file, &encoding, variant.name(), Backend::Cpu, 1)?;
        let mut evaluator = network.with_cache(Cache::shared(64 << 20));
        let bare = measure_search(solution, solution.iter(), &mut evaluator, Params::default(), 1)?;
        let searched =
            measure_search(solution, solution.iter(), &mut evaluator, Params::default(), visits)?;
        let (values, winning) = evaluate_samples(&samples, solution, &mut evaluator)?;
        rows.push(SolvedRow {
            iteration,
            cpu_minutes,
            bare_kept: bare.kept_share(),
            search_kept: searched.kept_share(),
            search_quickest: searched.quickest_share(),
            values,
            winning,
        });
    }
    Ok(rows)
}

/// Returns [`SolvedRow::values`] and [`SolvedRow::winning`].
fn evaluate_samples(
    samples: &[SamplePosition],
    solution: &Solution,
    evaluator: &mut dyn Evaluator,
) -> Result<(Vec<f32>, Vec<f32>), EvalError> {
    let mut values = Vec::new();
    let mut winning = Vec::new();
    let mut mates = 0.0;
    for sample in samples {
        let (score, policy) = raw_evaluation(&sample.position, evaluator)?;
        let white = sample.position.turn() == Side::WHITE;
        values.push(if white { score } else { -score });
        if sample.value.score() != 1 {
            continue;
        }
        let share = |counts: &dyn Fn(Value) -> bool| -> f32 {
            let moves = policy.iter().zip(replies(solution, &sample.position));
            moves.filter(|(_, value)| counts(*value)).map(|((_, share), _)| *share).sum()
        };
        winning.push(share(&|value| value.score() == 1));
        mates = share(&|value| value == Value::Win(1));
    }
    winning.push(mates);
    Ok((values, winning))
}

/// Draws three panels over CPU minutes: positions whose result is kept, the score of White in the sample
/// positions, and the probability of winning moves.
///
/// # Errors
/// If the picture cannot be written.
pub fn draw(
    path: &Path,
    samples: &[SamplePosition],
    rows: &[SolvedRow],
    visits: u32,
) -> anyhow::Result<()> {
    let series = |name: &str, value: &dyn Fn(&SolvedRow) -> f64| {
        Series::new(name, rows.iter().map(|row| (row.cpu_minutes, value(row))))
    };
    let searched = format!("{visits} visits");
    let kept = vec![
        series("network without search", &|row| 100.0 * row.bare_kept),
        series(&searched, &|row| 100.0 * row.search_kept),
        series(&format!("{searched}, wins in the fewest plies"), &|row| {
            100.0 * row.search_quickest
        }),
    ];
    let values = samples
        .iter()
        .enumerate()
        .map(|(nth, sample)| series(&sample.name, &|row| f64::from(row.values[nth])));
    let won = samples.iter().filter(|sample| sample.value.score() == 1);
    let names = won.map(|sample| format!("winning moves, {}", sample.name));
    let winning = names
        .chain(["the mate in one".to_owned()])
        .enumerate()
        .map(|(nth, name)| series(&name, &|row| 100.0 * f64::from(row.winning[nth])));
    let panel = |title: &str, range, curves| Panel {
        title: title.to_owned(),
        x: "CPU minutes of self-play and training".to_owned(),
        logarithmic: false,
        range,
        curves,
    };
    draw_panels(
        path,
        &[
            panel("Positions whose result is kept (%)", 40.0..101.0, kept),
            panel("Score of White without search", -1.1..1.1, values.collect()),
            panel("Policy of winning moves (%)", 0.0..101.0, winning.collect()),
        ],
    )
}
