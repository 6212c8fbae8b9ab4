//! Plays games with another engine as teacher, to learn from: `teach VARIANT ENGINE`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use trainer::datagen::{DatagenConfig, generate};
use trainer::uci_engine::name_and_value;
use trainer::variants::{find_variant, read_sections};

/// Plays games with a UCI engine as teacher. Games that are in the file already are not played
/// again.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The game, as the catalogue and the engine call it.
    variant: String,
    /// A file of your own games, in the syntax of variants.ini.
    #[arg(long)]
    variants: Option<PathBuf>,
    /// The engine's executable.
    engine: PathBuf,
    /// Games that the file shall have.
    #[arg(long, default_value_t = 100)]
    games: u64,
    /// Nodes of a move.
    #[arg(long, default_value_t = 4000)]
    nodes: u64,
    /// Milliseconds of a move, instead of nodes.
    #[arg(long)]
    movetime: Option<u64>,
    /// How many best moves to write down.
    #[arg(long, default_value_t = 1)]
    multipv: usize,
    /// The file; VARIANT.tsv if not given. `train` reads it.
    #[arg(long)]
    out: Option<PathBuf>,
    /// The seed of all that is random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Games at once, with an engine each.
    #[arg(long, default_value_t = 1)]
    concurrency: usize,
    /// Options of the engine, as name=value.
    #[arg(long, value_parser = name_and_value, num_args = 1..)]
    options: Vec<(String, String)>,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<()> {
    let sections = read_sections(arguments.variants.as_deref())?;
    let variant = find_variant(&arguments.variant, &sections)?;
    let file = arguments.out.unwrap_or_else(|| format!("{}.tsv", variant.name()).into());
    let plain = DatagenConfig::of(arguments.engine);
    let movetime = arguments.movetime.unwrap_or(0);
    let config = DatagenConfig {
        options: arguments.options,
        limits: match arguments.movetime {
            Some(milliseconds) => format!("movetime {milliseconds}"),
            None => format!("nodes {}", arguments.nodes),
        },
        multipv: arguments.multipv,
        seed: arguments.seed,
        patience: plain.patience + 2 * Duration::from_millis(movetime),
        ..plain
    };
    let bar = ProgressBar::new(arguments.games);
    let done = |_| bar.inc(1);
    let played = generate(&variant, &config, arguments.games, arguments.concurrency, &file, &done)?;
    bar.finish_and_clear();
    println!("{}: {played} games played, {} there", file.display(), arguments.games);
    Ok(())
}
