//! The story of a run of a solved game, as a table and a picture.

use std::path::Path;

use menagerie::nn::Onnx;
use menagerie::nn::network::Backend;
use menagerie::nn::{Cached, EvalError, Evaluator};
use menagerie::rules::{Position, Side};
use menagerie::search::Params;
use menagerie::variant::Variant;
use serde::Serialize;

use super::chart::{Panel, Series, draw_panels};
use crate::ground_truth::{mark, opinion};
use crate::retrograde::{Solution, Value};
use crate::run::{Metrics, net};
use crate::store::Store;

/// What the network of an iteration knew.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moment {
    /// The iteration.
    pub iteration: u64,
    /// CPU minutes of the run until then.
    pub cpu_minutes: f64,
    /// Share of positions in which the network's first choice keeps the result.
    pub bare_kept: f64,
    /// Share of positions in which a search keeps the result.
    pub search_kept: f64,
    /// Share of wins that the search takes the quickest way.
    pub search_quickest: f64,
    /// White's expected score, by the network alone, in each of the sample positions.
    pub values: Vec<f32>,
    /// Probability that the network gives to winning moves in the won sample positions, in
    /// their order, and last to the mate in one.
    pub winning: Vec<f32>,
}

/// A position whose evaluation is followed through the run.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What it is.
    pub name: String,
    /// Where.
    pub position: Position,
    /// What perfect play makes of it, for the side to move.
    pub value: Value,
}

/// The paper's four boards: the two drawn starts with all men; a win for White that takes time;
/// and a win for Black that is a mate in one, though other moves win too.
pub fn samples(variant: &Variant, solution: &Solution) -> Vec<Sample> {
    let men = |position: &Position| position.view().board.occupied().count();
    let most = solution.iter().map(|(position, _)| men(&position)).max().unwrap_or(0);
    let fitting = |side: Side, fits: &dyn Fn(&Position, Value) -> bool| {
        solution
            .iter()
            .find(|(p, value)| p.turn() == side && men(p) == most && fits(p, *value))
            .map(|(position, _)| position)
    };
    let slow = fitting(Side::WHITE, &|_, value| matches!(value, Value::Win(plies) if plies >= 7));
    let mate = fitting(Side::BLACK, &|position, value| {
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
        Some(Sample { name: format!("{name}: {}", position.fen()), position, value })
    });
    known.collect()
}

/// The value of each legal move of a position, for its mover.
fn replies<'a>(solution: &'a Solution, position: &'a Position) -> impl Iterator<Item = Value> + 'a {
    let mut legal = Vec::new();
    position.legal_moves(&mut legal);
    legal.into_iter().filter_map(|m| {
        let mut next = position.clone();
        next.play_unchecked(m);
        solution.value(&next).map(Value::before)
    })
}

/// Marks the networks of the run in `store`, every `step`th and the last.
///
/// # Errors
/// If the log or a network cannot be read.
pub fn moments(
    store: &Store,
    variant: &Variant,
    solution: &Solution,
    step: u64,
    visits: u32,
) -> anyhow::Result<Vec<Moment>> {
    let log = Metrics::read(store)?;
    let last = log.last().map_or(0, |row| row.iteration);
    let times =
        std::iter::once((0, 0.0)).chain(log.iter().map(|row| (row.iteration, row.cpu_minutes)));
    let chosen = times.filter(|(n, _)| *n <= 8 || n.is_multiple_of(step.max(1)) || *n == last);
    let encoding = menagerie::encoding::Encoding::of(&variant.start());
    let samples = samples(variant, solution);
    let mut moments = Vec::new();
    for (iteration, cpu_minutes) in chosen {
        let file = store.read(&net(iteration))?;
        let network = Onnx::open(&file, &encoding, variant.name(), Backend::Cpu, 1)?;
        let mut evaluator = Cached::new(network, 64 << 20);
        let bare = mark(solution, solution.iter(), &mut evaluator, Params::default(), 1)?;
        let searched = mark(solution, solution.iter(), &mut evaluator, Params::default(), visits)?;
        let (values, winning) = followed(&samples, solution, &mut evaluator)?;
        moments.push(Moment {
            iteration,
            cpu_minutes,
            bare_kept: bare.kept_share(),
            search_kept: searched.kept_share(),
            search_quickest: searched.quickest_share(),
            values,
            winning,
        });
    }
    Ok(moments)
}

fn followed(
    samples: &[Sample],
    solution: &Solution,
    evaluator: &mut dyn Evaluator,
) -> Result<(Vec<f32>, Vec<f32>), EvalError> {
    let (mut values, mut winning, mut mates) = (Vec::new(), Vec::new(), 0.0);
    for sample in samples {
        let (score, policy) = opinion(&sample.position, evaluator)?;
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

/// Draws three panels over CPU minutes: positions whose result is kept, White's score in the
/// sample positions, and what the network gives to winning moves.
///
/// # Errors
/// If the picture cannot be written.
pub fn draw(
    path: &Path,
    samples: &[Sample],
    moments: &[Moment],
    visits: u32,
) -> anyhow::Result<()> {
    let series = |name: &str, of: &dyn Fn(&Moment) -> f64| {
        Series::new(name, moments.iter().map(|moment| (moment.cpu_minutes, of(moment))))
    };
    let searched = format!("{visits} visits");
    let kept = vec![
        series("bare network", &|moment| 100.0 * moment.bare_kept),
        series(&searched, &|moment| 100.0 * moment.search_kept),
        series(&format!("{searched}, wins taken the quickest way"), &|moment| {
            100.0 * moment.search_quickest
        }),
    ];
    let values = samples
        .iter()
        .enumerate()
        .map(|(nth, sample)| series(&sample.name, &|moment| f64::from(moment.values[nth])));
    let won = samples.iter().filter(|sample| sample.value.score() == 1);
    let names = won.map(|sample| format!("winning moves, {}", sample.name));
    let winning = names
        .chain(["the mate in one".to_owned()])
        .enumerate()
        .map(|(nth, name)| series(&name, &|moment| 100.0 * f64::from(moment.winning[nth])));
    let panel = |title: &str, range, curves| Panel {
        title: title.to_owned(),
        x: "CPU minutes, self-play and learning".to_owned(),
        logarithmic: false,
        range,
        curves,
    };
    draw_panels(
        path,
        &[
            panel("Positions whose result is kept (%)", 40.0..101.0, kept),
            panel("White's score by the bare network", -1.1..1.1, values.collect()),
            panel("Policy of the bare network (%)", 0.0..101.0, winning.collect()),
        ],
    )
}
