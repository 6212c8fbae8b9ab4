//! The commands, each with its arguments and `run`.

use std::ops::RangeInclusive;

pub(crate) mod accuracy;
pub(crate) mod campaign;
pub(crate) mod datagen;
pub(crate) mod gather;
pub(crate) mod gauntlet;
pub(crate) mod matches;
pub(crate) mod measure_speed;
pub(crate) mod plot;
pub(crate) mod quantize;
pub(crate) mod rescore;
pub(crate) mod selfplay;
pub(crate) mod solve;
pub(crate) mod stop;
pub(crate) mod train;
pub(crate) mod train_sparse;
pub(crate) mod verify;

/// The intervals that an argument may have: up to a day.
const ARGUMENT_SECONDS: RangeInclusive<f64> = 0.05..=86_400.0;

/// The heading of options that a run which continues ignores.
pub(crate) const NEW_RUN: &str = "Options of a new run (one that continues keeps its own)";

/// Returns `threads`, or the number of CPU cores.
pub(crate) fn threads(threads: Option<usize>) -> usize {
    threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Parses a probability of an argument.
pub(crate) fn parse_probability(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(probability) if (0.0..=1.0).contains(&probability) => Ok(probability),
        _ => Err("expected a number from 0 to 1".to_owned()),
    }
}

/// Parses a number of seconds of an argument.
pub(crate) fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if ARGUMENT_SECONDS.contains(&seconds) => Ok(seconds),
        _ => {
            let [least, most] = [ARGUMENT_SECONDS.start(), ARGUMENT_SECONDS.end()];
            Err(format!("expected seconds from {least} to {most}"))
        }
    }
}
