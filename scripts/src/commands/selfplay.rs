//! Plays games of a network with itself: `selfplay VARIANT NETWORK`.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use indicatif::ProgressBar;
use menagerie::nn::Weights;
use trainer::record;
use trainer::run::{RunConfig, SelfPlayWorker};
use trainer::store::Store;
use trainer::variants::{find_variant, read_sections};

/// Plays games of a network with itself, as `learn` does, and writes them down for `train`. The
/// same command goes on where it was stopped.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The game, as the catalogue calls it.
    variant: String,
    /// The network; on a CPU NAME.int8.onnx beside NAME.onnx is played with.
    network: PathBuf,
    /// How many games.
    #[arg(long, default_value_t = 1000)]
    games: u64,
    /// The seed of all that is random: another seed, other games.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder, or s3://bucket/folder, that gets SEED.games.
    #[arg(long, default_value = "games")]
    out: String,
    /// A file of your own games, in the syntax of variants.ini.
    #[arg(long)]
    variants: Option<PathBuf>,
    /// The config.toml of a run, to play as it does instead of as is usual for the game.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Threads; one for each core if not given.
    #[arg(long)]
    threads: Option<usize>,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<()> {
    let sections = read_sections(arguments.variants.as_deref())?;
    let variant = find_variant(&arguments.variant, &sections)?;
    let config = match &arguments.config {
        Some(path) => RunConfig::read(path)?,
        None => RunConfig::for_variant(&variant),
    };
    let name = arguments.network.display().to_string();
    let weights = Weights::read(&arguments.network, &name).with_context(|| name.clone())?;
    let store = Store::open(&arguments.out)?;
    let (shard, parts) = (format!("{}.games", arguments.seed), arguments.seed.to_string());
    let worker = SelfPlayWorker {
        store: &store,
        variant: &variant,
        settings: &config.selfplay,
        threads: arguments.threads.unwrap_or(config.threads),
        seed: arguments.seed,
    };
    match store.find(&shard)? {
        Some(bytes) => {
            let games = record::decode(&shard, &bytes)?.len();
            println!("{}/{shard}: {games} games are there", store.place());
        }
        None => {
            let bar = ProgressBar::new(arguments.games);
            let (games, spent) = worker.play(&weights, &shard, &parts, 0..arguments.games, &bar)?;
            let seconds = spent.cpu.as_secs_f64();
            println!(
                "{}/{shard}: {} games, {} evaluations and {} visits in {seconds:.1} CPU seconds",
                store.place(),
                games.len(),
                spent.evaluations,
                spent.visits
            );
        }
    }
    worker.clear(&parts)
}
