//! Learns a game from recorded games: `train VARIANT --records FILE... --run FOLDER`.

use std::path::PathBuf;

use clap::Parser;
use trainer::readers;
use trainer::record::Targets;
use trainer::store::Store;
use trainer::supervised::{Supervised, SupervisedConfig};
use trainer::variants::{find_variant, read_sections};

/// Learns a game from recorded games. A run that was stopped goes on.
#[derive(Debug, Parser)]
struct Arguments {
    /// The game, as the catalogue calls it.
    variant: String,
    /// A file of your own games, in the syntax of variants.ini.
    #[arg(long)]
    variants: Option<PathBuf>,
    /// Files of games: records of the trainer's (.games), and those of others (.tsv, .pgn, .epd,
    /// histories of blind chess as .json, also as .gz).
    #[arg(long, required = true, num_args = 1..)]
    records: Vec<PathBuf>,
    /// The folder of the run, or s3://bucket/folder; runs/VARIANT-supervised if not given.
    #[arg(long)]
    run: Option<String>,
    /// A config.toml to begin a new run with, instead of the settings for the game.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Positions to learn from in all, also for a run that goes on.
    #[arg(long)]
    positions: Option<u64>,
    /// The seed of a new run.
    #[arg(long)]
    seed: Option<u64>,
    /// A network whose weights a new run starts from; a smaller one grows to the sizes asked for.
    #[arg(long)]
    from: Option<PathBuf>,
    /// Stops if a game in the files cannot be read, instead of leaving it out.
    #[arg(long)]
    strict: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let sections = read_sections(arguments.variants.as_deref())?;
    let variant = find_variant(&arguments.variant, &sections)?;
    let place = arguments.run.unwrap_or_else(|| format!("runs/{}-supervised", variant.name()));
    let store = Store::open(&place)?;
    let mut config = match (SupervisedConfig::of_run(&store)?, &arguments.config) {
        (Some(own), _) => own,
        (None, Some(path)) => SupervisedConfig::read(path)?,
        (None, None) => SupervisedConfig::for_variant(&variant),
    };
    config.positions = arguments.positions.unwrap_or(config.positions);
    config.seed = arguments.seed.unwrap_or(config.seed);
    let found = readers::read_all(&arguments.records, &variant)?;
    found.faults.iter().for_each(|fault| eprintln!("{fault}"));
    println!("{} games, {} left out", found.games.len(), found.faults.len());
    anyhow::ensure!(!arguments.strict || found.faults.is_empty(), "not all games could be read");
    let from = arguments.from.as_deref();
    let mut run = Supervised::open(store, config, &variant, found.games, from)?;
    let (learnt, held_back) = run.positions();
    println!("{learnt} positions to learn from, {held_back} held back");
    let Targets { steepness, draws, .. } = run.targets();
    println!(
        "a score's log odds count {steepness:.2} times, an even one draws {:.0}%",
        100.0 * draws
    );
    println!("{place}: {} of {} steps done", run.steps(), run.config().steps());
    run.learn(&|row| {
        println!(
            "{} positions, {:.1} CPU minutes: policy {:.3}, held back {:.3}; outcome {:.3}, held \
             back {:.3}",
            row.positions,
            row.cpu_minutes,
            row.policy_accuracy,
            row.held_policy_accuracy,
            row.outcome_accuracy,
            row.held_outcome_accuracy
        );
    })?;
    println!("{}", run.network());
    Ok(())
}
