//! Learns a game by self-play, from nothing: `learn VARIANT`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use trainer::run::{Run, RunConfig};
use trainer::store::Store;
use trainer::variants::{find_variant, read_sections};

/// Learns a game by self-play, from nothing. A run that was stopped goes on.
#[derive(Debug, Parser)]
struct Arguments {
    /// The game, as the catalogue calls it.
    variant: String,
    /// A file of your own games, in the syntax of variants.ini.
    #[arg(long)]
    variants: Option<PathBuf>,
    /// The folder of the run, or s3://bucket/folder; runs/VARIANT if not given.
    #[arg(long)]
    run: Option<String>,
    /// A network whose weights a new run starts from, with a fresh window and optimizer; a smaller one
    /// grows to the sizes asked for.
    #[arg(long)]
    from: Option<PathBuf>,
    /// A config.toml to begin a new run with, instead of the settings for the game.
    #[arg(long)]
    config: Option<PathBuf>,
    /// The seed of a new run.
    #[arg(long)]
    seed: Option<u64>,
    /// The iterations of a new run.
    #[arg(long)]
    iterations: Option<u64>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let read = |path: &PathBuf| std::fs::read(path).with_context(|| path.display().to_string());
    let sections = read_sections(arguments.variants.as_deref())?;
    let variant = find_variant(&arguments.variant, &sections)?;
    let mut config = match &arguments.config {
        Some(path) => RunConfig::read(path)?,
        None => RunConfig::for_variant(&variant),
    };
    if arguments.variants.is_some() {
        config.variants = sections;
    }
    config.seed = arguments.seed.unwrap_or(config.seed);
    config.iterations = arguments.iterations.unwrap_or(config.iterations);
    let place = arguments.run.unwrap_or_else(|| format!("runs/{}", arguments.variant));
    let from = arguments.from.as_ref().map(read).transpose()?;
    let mut run = Run::open(Store::open(&place)?, config, from.as_deref())?;
    let (done, all) = (run.iterations(), run.config().iterations);
    println!("{place}: {done} of {all} iterations done");
    run.learn()?;
    println!("{} after {:.1} CPU minutes", run.network(), run.cpu().as_secs_f64() / 60.0);
    Ok(())
}
