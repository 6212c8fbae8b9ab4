//! `trainer selfplay VARIANT NETWORK`

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use indicatif::ProgressBar;
use menagerie::nn::Weights;
use trainer::record;
use trainer::run::{RunConfig, SelfPlayWorker};
use trainer::store::Store;
use trainer::variants::{find_variant, read_sections};

/// Plays self-play games of a network, as `trainer train` does, and stores them for `trainer train --records`. The
/// same command continues games that were stopped.
#[derive(Debug, Args)]
pub(crate) struct SelfplayArguments {
    /// The variant.
    variant: String,
    /// The network. On a CPU NAME.int8.onnx is used if it is in the folder of NAME.onnx.
    network: PathBuf,
    /// Number of games.
    #[arg(long, default_value_t = 1000)]
    games: u64,
    /// Seed of everything random; different seeds give different games.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder, or s3://bucket/folder, in which SEED.games is written.
    #[arg(long, default_value = "games")]
    out: String,
    /// A file of your own variants, in the syntax of variants.ini.
    #[arg(long)]
    variants: Option<PathBuf>,
    /// The config.toml of a run whose settings are used, instead of the variant's default.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Threads; those of the configuration if not given.
    #[arg(long)]
    threads: Option<usize>,
}

pub(crate) fn run(arguments: SelfplayArguments) -> anyhow::Result<()> {
    let sections = read_sections(arguments.variants.as_deref())?;
    let variant = find_variant(&arguments.variant, &sections)?;
    let config = match &arguments.config {
        Some(path) => RunConfig::read(path)?,
        None => RunConfig::for_variant(&variant),
    };
    let name = arguments.network.display().to_string();
    let weights = Weights::read(&arguments.network, &name).with_context(|| name.clone())?;
    let store = Store::open(&arguments.out)?;
    let shard = format!("{}.games", arguments.seed);
    let parts = arguments.seed.to_string();
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
            println!("{}/{shard}: {games} games exist already", store.place());
        }
        None => {
            let bar = ProgressBar::new(arguments.games);
            let (games, spent) =
                worker.play_shard(&weights, &shard, &parts, 0..arguments.games, &bar)?;
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
