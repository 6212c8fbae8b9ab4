//! `trainer datagen VARIANT ENGINE`

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use trainer::datagen::job::DatagenJob;
use trainer::datagen::{DatagenConfig, generate};
use trainer::store::Store;
use trainer::uci_engine::parse_name_value;
use trainer::variants::find_variant_in;

use super::stop::{STOPPED, STORE_GRACE, stop_flag};
use super::{parse_probability, parse_seconds};
use trainer::print_line;

/// Generates labelled games by a UCI engine, as training data. The same command continues a file that is
/// incomplete.
///
/// With --store, any number of processes on any machines run the same command, until the store has all games; `trainer
/// gather` writes them to a file.
#[derive(Debug, Args)]
pub(crate) struct DatagenArguments {
    /// The variant, by its name in the catalogue and in the engine.
    variant: String,
    /// A file of your own variants, in the syntax of variants.ini.
    #[arg(long, value_name = "FILE")]
    variants: Option<PathBuf>,
    /// The executable of the engine.
    engine: PathBuf,
    /// Number of games in the complete file or store.
    #[arg(long, default_value_t = 100)]
    games: u64,
    /// Nodes of each move.
    #[arg(long, default_value_t = 4000)]
    nodes: u64,
    /// Milliseconds of each move, instead of nodes.
    #[arg(long)]
    movetime: Option<u64>,
    /// Number of best moves of each position.
    #[arg(long, default_value_t = 1)]
    multipv: usize,
    /// Leaves out openings with a greater score than this for either side, in centipawns.
    #[arg(long, value_name = "CENTIPAWNS")]
    max_opening_score: Option<u32>,
    /// Ends games, as won, in which a side has this score in four plies in a row, in centipawns.
    #[arg(long, value_name = "CENTIPAWNS")]
    win_score: Option<u32>,
    /// Probability of a random turn, in the first 60 turns.
    #[arg(long, value_name = "PROBABILITY", default_value_t = DatagenConfig::DEFAULT_RANDOM, value_parser = parse_probability)]
    random: f64,
    /// The file, which `trainer train` reads; VARIANT.tsv if not given.
    #[arg(long, conflicts_with = "store")]
    out: Option<PathBuf>,
    /// Folder, or s3://bucket/folder, that processes on any machines share.
    #[arg(long, value_name = "PLACE")]
    store: Option<String>,
    /// Least time between the starts of two uploads. Games that finish in between are uploaded together.
    #[arg(long, value_name = "SECONDS", requires = "store", default_value_t = 30.0, value_parser = parse_seconds)]
    upload_seconds: f64,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Games at a time, each with its own process of the engine.
    #[arg(long, default_value_t = 1)]
    concurrency: usize,
    /// Options of the engine.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_name_value, num_args = 1..)]
    options: Vec<(String, String)>,
}

pub(crate) fn run(arguments: DatagenArguments) -> anyhow::Result<ExitCode> {
    let variant = find_variant_in(&arguments.variant, arguments.variants.as_deref())?;
    let defaults = DatagenConfig::new(arguments.engine);
    let movetime = arguments.movetime.unwrap_or(0);
    let config = DatagenConfig {
        options: arguments.options,
        limits: match arguments.movetime {
            Some(milliseconds) => format!("movetime {milliseconds}"),
            None => format!("nodes {}", arguments.nodes),
        },
        multipv: arguments.multipv,
        random: arguments.random,
        max_opening_score: arguments.max_opening_score,
        win_score: arguments.win_score,
        seed: arguments.seed,
        patience: defaults.patience + 2 * Duration::from_millis(movetime),
        ..defaults
    };
    let bar = ProgressBar::new(arguments.games);
    if let Some(place) = &arguments.store {
        let job = DatagenJob {
            store: Store::open(place)?,
            config,
            games: arguments.games,
            engines: arguments.concurrency,
            upload_interval: Duration::from_secs_f64(arguments.upload_seconds),
            stop: stop_flag(STORE_GRACE)?,
        };
        let end = job.run(&variant, &|total| bar.set_position(total))?;
        bar.finish_and_clear();
        print_line!("{place}: {} games played now, {} in all", end.uploaded, end.total);
        let code = if end.is_finished { ExitCode::SUCCESS } else { ExitCode::from(STOPPED) };
        return Ok(code);
    }
    let file = arguments.out.unwrap_or_else(|| format!("{}.tsv", variant.name()).into());
    let done = |_| bar.inc(1);
    let played = generate(&variant, &config, arguments.games, arguments.concurrency, &file, &done)?;
    bar.finish_and_clear();
    print_line!("{}: {played} games played now, {} in all", file.display(), arguments.games);
    Ok(ExitCode::SUCCESS)
}
