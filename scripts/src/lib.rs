//! The trainer of Menagerie: self-play, learning and export, over the library's public API only.
//!
//! - [`calibration`]: positions by which a network is quantised.
//! - [`campaign`]: networks of many variants, trained unattended.
//! - [`network`]: what a network is made of, its named weights, and its forward pass.
//! - [`learner`]: samples in, gradient steps and checkpoints out.
//! - [`onnx`]: weights to ONNX bytes and back.
//! - [`sparse`]: training of sparse networks.
//! - [`starts`]: where self-play games begin.
//! - [`plot`]: runs and matches as tables and pictures.
//! - [`retrograde`]: small games solved exactly.
//! - [`minimax`]: alpha-beta over men and squares.
//! - [`regression`]: what a position of bughouse is worth, by regression.
//! - [`bug0`]: the tables of Bug0, played anew.
//! - [`oracle`]: how well a network plays a solved game.
//! - [`puzzles`]: positions of which the right moves are known, and how well a player does there.
//! - [`readers`]: games of others, read into records.
//! - [`record`]: games with what the search thought, in files and as samples.
//! - [`rows`]: logs of runs.
//! - [`san`]: turns as people write them.
//! - [`selfplay`]: many games at once, one network call for all.
//! - [`score`]: what engines say a position is worth.
//! - [`supervised`]: a network from recorded games, in a folder that goes on after a kill.
//! - [`store`]: where a run lives, a folder or a bucket.
//! - [`tables`]: a game at two tables, seen as two boards.
//! - [`tensorboard`]: event files of TensorBoard.
//! - [`teach`]: games that another engine plays, to start networks from.
//! - [`warm_start`]: weights to learn on from.
//! - [`engine_process`], [`uci_engine`], [`xboard_engine`]: engines as child processes.
//! - [`window`]: the games that are learned from at a time.
//! - [`agreement`]: how much two networks agree.
//! - [`arena`]: matches between players of this process and engines outside.
//! - [`gauntlet`]: matches of many variants, and one table of their results.
//! - [`run`]: a training run, a folder that goes on after a kill.

pub mod arena;
pub mod bug0;
pub mod calibration;
pub mod campaign;
pub mod csv_log;
pub mod datagen;
pub mod engine_process;
pub mod eval_scale;
pub mod gauntlet;
pub mod ground_truth;
pub mod learner;
pub mod minimax;
pub mod network;
pub mod network_speed;
pub mod onnx;
pub mod plot;
pub mod puzzles;
pub mod quantization_check;
pub mod random_starts;
pub mod readers;
pub mod record;
pub mod regression;
pub mod replay_buffer;
pub mod retrograde;
pub mod run;
pub mod san;
pub mod selfplay;
pub mod sparse;
pub mod store;
pub mod supervised;
pub mod tables;
pub mod tensorboard;
pub mod uci_engine;
pub mod variants;
pub mod warm_start;
pub mod xboard_engine;

/// glibc asks the system for the room of each large tensor and gives it back, page by page: a quarter of the
/// CPU time of learning.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
