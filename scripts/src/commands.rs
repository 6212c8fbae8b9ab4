//! The commands, each with its arguments and `run`.

pub(crate) mod accuracy;
pub(crate) mod campaign;
pub(crate) mod datagen;
pub(crate) mod gauntlet;
pub(crate) mod matches;
pub(crate) mod measure_speed;
pub(crate) mod plot;
pub(crate) mod quantize;
pub(crate) mod selfplay;
pub(crate) mod solve;
pub(crate) mod train;
pub(crate) mod train_sparse;
pub(crate) mod verify;

/// Returns `threads`, or the number of CPU cores.
pub(crate) fn threads(threads: Option<usize>) -> usize {
    threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}
