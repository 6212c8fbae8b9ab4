//! The trainer of Menagerie: training data, training, export and matches, over the public API of the library.
//!
//! Data and training:
//!
//! - [`run`]: a training run by self-play; [`supervised`]: one from recorded games; [`sparse`]: one of a sparse
//!   network from labelled games. [`campaign`]: sparse networks of many variants, unattended.
//! - [`selfplay`]: self-play games; [`datagen`]: labelled games of a reference engine; [`random_starts`]: start
//!   positions of self-play; [`readers`]: games of other programs.
//! - [`playing_network`]: the networks that play a variant, those of other variants among them.
//! - [`rescore`]: games with the scores of another evaluator.
//! - [`record`]: games with search results, and training samples; [`replay_buffer`]: the games from which
//!   training by self-play draws samples.
//! - [`store`]: folders and buckets; [`uploader`], [`identity`]: of processes that share one.
//! - [`network`]: convolution networks; [`learner`]: their loss, gradients, optimizers and checkpoints;
//!   [`warm_start`]: their start weights; [`onnx`]: ONNX files; [`calibration`] and [`quantization_check`]: int8.
//! - [`tensorboard`], [`csv_log`]: metrics. [`console`]: messages.
//!
//! Matches and measurement:
//!
//! - [`arena`]: matches; [`gauntlet`]: matches of many variants with a results file; [`plot`]: plots.
//! - [`engine_process`], [`uci_engine`], [`xboard_engine`]: engines as child processes; [`eval_scale`]: their
//!   scores as expected scores; [`boards`]: bughouse as two boards.
//! - [`retrograde`]: small games solved exactly; [`ground_truth`] and [`puzzles`]: players measured against
//!   solutions; [`network_speed`]: evaluations per CPU second.

#![warn(clippy::print_stdout)]

mod alpha_beta;
pub mod arena;
pub mod boards;
pub mod calibration;
pub mod campaign;
pub mod console;
mod cpu_seconds;
pub mod csv_log;
pub mod datagen;
pub mod engine_process;
pub mod eval_scale;
mod file_lock;
pub mod gauntlet;
pub mod ground_truth;
pub mod identity;
pub mod learner;
pub mod network;
pub mod network_speed;
pub mod onnx;
mod pause;
pub mod playing_network;
pub mod plot;
pub mod puzzles;
pub mod quantization_check;
pub mod random_starts;
pub mod readers;
pub mod record;
pub mod replay_buffer;
pub mod rescore;
pub mod retrograde;
pub mod run;
pub mod selfplay;
pub mod sparse;
pub mod store;
pub mod supervised;
pub mod tensorboard;
pub mod uci_engine;
pub mod uploader;
pub mod variants;
pub mod warm_start;
pub mod xboard_engine;

/// glibc requests the memory of each large tensor from the system and returns it, page by page: a quarter of
/// the CPU time of training.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
