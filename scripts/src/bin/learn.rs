//! Learns a game by self-play, from nothing: `learn VARIANT`.

use std::path::PathBuf;

use clap::Parser;
use menagerie::variant::Catalogue;
use trainer::run::{Run, RunConfig};

/// Learns a game by self-play, from nothing. A run that was stopped goes on.
#[derive(Debug, Parser)]
struct Arguments {
    /// The game, as the catalogue calls it.
    variant: String,
    /// The folder of the run; runs/VARIANT if not given.
    #[arg(long)]
    run: Option<PathBuf>,
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
    let variant = Catalogue::shipped().require(&arguments.variant)?;
    let mut config = match &arguments.config {
        Some(path) => RunConfig::read(path)?,
        None => RunConfig::for_variant(&variant),
    };
    config.seed = arguments.seed.unwrap_or(config.seed);
    config.iterations = arguments.iterations.unwrap_or(config.iterations);
    let folder = arguments.run.unwrap_or_else(|| PathBuf::from("runs").join(&arguments.variant));
    let mut run = Run::open(&folder, config)?;
    println!(
        "{}: {} of {} iterations done",
        folder.display(),
        run.iterations(),
        run.config().iterations
    );
    run.learn()?;
    println!("{} after {:.1} CPU minutes", run.network().display(), run.cpu().as_secs_f64() / 60.0);
    Ok(())
}
