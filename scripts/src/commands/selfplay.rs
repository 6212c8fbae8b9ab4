//! `trainer selfplay VARIANT NETWORK` and `trainer selfplay --store PLACE`

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use cpu_time::ProcessTime;
use indicatif::ProgressBar;
use menagerie::nn::Weights;
use menagerie::nn::network::{Backend, verify};
use serde::{Deserialize, Serialize};
use trainer::playing_network::open_to_play;
use trainer::record;
use trainer::run::{RemoteWorker, RunConfig, SelfPlayWorker};
use trainer::selfplay::SelfPlayConfig;
use trainer::store::Store;
use trainer::variants::{find_variant, read_sections};

use super::stop::{STOPPED, STORE_GRACE, stop_flag};
use super::{parse_seconds, threads};
use trainer::print_line;

/// Plays self-play games of a network, as `trainer train` does, and stores them for `trainer train --records`. The
/// same command continues games that were stopped.
///
/// With --store, plays games for `trainer train --workers --run PLACE`, with the newest network of the run until the
/// run is finished. Any number of processes on any machines may do so.
#[derive(Debug, Args)]
pub(crate) struct SelfplayArguments {
    /// The variant.
    #[arg(required_unless_present = "store", conflicts_with = "store")]
    variant: Option<String>,
    /// A network of the variant, or the one of another variant that plays it. On a CPU NAME.int8.onnx is used if it is in
    /// the folder of NAME.onnx.
    #[arg(required_unless_present = "store", conflicts_with = "store")]
    network: Option<PathBuf>,
    /// Folder, or s3://bucket/folder, of a run with --workers.
    #[arg(long, value_name = "PLACE", conflicts_with_all = ["games", "seed", "out", "variants", "config"])]
    store: Option<String>,
    /// Least time between the starts of two uploads. Games that finish in between are uploaded together.
    #[arg(long, value_name = "SECONDS", requires = "store", default_value_t = 5.0, value_parser = parse_seconds)]
    upload_seconds: f64,
    /// Interval at which newer networks are looked for.
    #[arg(long, value_name = "SECONDS", requires = "store", default_value_t = 10.0, value_parser = parse_seconds)]
    poll_seconds: f64,
    /// Number of games of SEED.games.
    #[arg(long, default_value_t = 1000)]
    games: u64,
    /// Seed of everything random; different seeds give different games.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder, or s3://bucket/folder, in which SEED.games is written, and SEED.toml with its variant, network and settings.
    #[arg(long, default_value = "games")]
    out: String,
    /// A file of your own variants, in the syntax of variants.ini.
    #[arg(long)]
    variants: Option<PathBuf>,
    /// The config.toml of a run whose settings are used, instead of the default of the variant and network.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Threads; those of the configuration if not given, with --store the CPU cores.
    #[arg(long)]
    threads: Option<usize>,
}

pub(crate) fn run(arguments: SelfplayArguments) -> anyhow::Result<ExitCode> {
    match (&arguments.store, &arguments.variant, &arguments.network) {
        (Some(place), ..) => play_for_run(place, &arguments),
        (None, Some(variant), Some(network)) => play_shard(variant, network, &arguments),
        (None, ..) => anyhow::bail!("expected VARIANT and NETWORK, or --store PLACE"),
    }
}

/// Plays games for a run until it is finished.
fn play_for_run(place: &str, arguments: &SelfplayArguments) -> anyhow::Result<ExitCode> {
    let store = Store::open(place)?;
    let worker = RemoteWorker {
        store: store.clone(),
        threads: threads(arguments.threads),
        upload_interval: Duration::from_secs_f64(arguments.upload_seconds),
        poll_interval: Duration::from_secs_f64(arguments.poll_seconds),
        stop: stop_flag(STORE_GRACE)?,
    };
    let end = worker.run(&|name| print_line!("{name}"))?;
    let seconds = ProcessTime::now().as_duration().as_secs_f64();
    print_line!(
        "{place}: {} games, {} evaluations and {} visits in {seconds:.1} CPU seconds; {}",
        end.games,
        end.stats.evaluations,
        end.stats.visits,
        store.traffic()
    );
    Ok(if end.is_finished { ExitCode::SUCCESS } else { ExitCode::from(STOPPED) })
}

/// What games depend on besides their seed and numbers. It is stored next to them, so that they are not taken for others.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GamesOrigin {
    variant: String,
    /// CRC-32 of the file of the user's variants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    variants_crc: Option<u32>,
    /// Checksum of the network.
    network: String,
    selfplay: SelfPlayConfig,
}

impl GamesOrigin {
    /// Checks that the origin `name` of `store` is this one; writes it if there are no games yet.
    fn check_or_write(&self, store: &Store, name: &str, has_games: bool) -> anyhow::Result<()> {
        if !has_games {
            return Ok(store.write_toml(name, self)?);
        }
        let place = format!("{}/{name}", store.place());
        let hint = "choose another --seed or --out, or remove the games";
        let Some(found) = store.find_toml::<GamesOrigin>(name)? else {
            anyhow::bail!("{place} is missing: the existing games may be of others; {hint}")
        };
        match self.difference(&found) {
            Some(difference) => {
                anyhow::bail!("{place}: the existing games are {difference}; {hint}")
            }
            None => Ok(()),
        }
    }

    /// Returns how games of origin `found` differ from those of this one.
    fn difference(&self, found: &GamesOrigin) -> Option<String> {
        if found.variant != self.variant {
            Some(format!("of \"{}\", not of \"{}\"", found.variant, self.variant))
        } else if found.variants_crc != self.variants_crc {
            Some("of another --variants file".to_owned())
        } else if found.network != self.network {
            Some(format!("of the network {}, not of {}", found.network, self.network))
        } else if found.selfplay != self.selfplay {
            Some("of other settings of self-play".to_owned())
        } else {
            None
        }
    }
}

/// Plays a number of games of a network.
fn play_shard(
    variant: &str,
    network: &Path,
    arguments: &SelfplayArguments,
) -> anyhow::Result<ExitCode> {
    let sections = read_sections(arguments.variants.as_deref())?;
    let variant = find_variant(variant, &sections)?;
    let name = network.display().to_string();
    let weights = Weights::read(network, &name).with_context(|| name.clone())?;
    let opened = open_to_play(&weights, &variant, Backend::Auto)?;
    let config = match &arguments.config {
        Some(path) => RunConfig::read(path)?,
        None if opened.network.is_sparse() => {
            RunConfig { selfplay: SelfPlayConfig::for_sparse(), ..RunConfig::for_variant(&variant) }
        }
        None => RunConfig::for_variant(&variant),
    };
    let origin = GamesOrigin {
        variant: variant.name().to_owned(),
        variants_crc: arguments.variants.as_ref().map(|_| crc32fast::hash(sections.as_bytes())),
        network: verify(&opened.file.bytes)?.to_owned(),
        selfplay: config.selfplay.clone(),
    };
    drop(opened);
    let store = Store::open(&arguments.out)?;
    let shard = format!("{}.games", arguments.seed);
    let parts = arguments.seed.to_string();
    let existing = store.find(&shard)?;
    let has_games = existing.is_some() || !store.list(&parts)?.is_empty();
    origin.check_or_write(&store, &format!("{}.toml", arguments.seed), has_games)?;
    let worker = SelfPlayWorker {
        store: &store,
        variant: &variant,
        settings: &config.selfplay,
        threads: arguments.threads.unwrap_or(config.threads),
        seed: arguments.seed,
    };
    match existing {
        Some(bytes) => {
            let games = record::decode(&shard, &bytes)?.len();
            anyhow::ensure!(
                games as u64 >= arguments.games,
                "{}/{shard}: {games} games exist already, not {}; choose another --seed for more",
                store.place(),
                arguments.games
            );
            print_line!("{}/{shard}: {games} games exist already", store.place());
        }
        None => {
            let bar = ProgressBar::new(arguments.games);
            let stop = stop_flag(STORE_GRACE)?;
            let numbers = 0..arguments.games;
            let progress = |games| bar.inc(games);
            let played = worker.play_shard(&weights, &shard, &parts, numbers, &stop, &progress)?;
            bar.finish_and_clear();
            let Some((games, spent)) = played else { return Ok(ExitCode::from(STOPPED)) };
            let seconds = spent.cpu.as_secs_f64();
            print_line!(
                "{}/{shard}: {} games, {} evaluations and {} visits in {seconds:.1} CPU seconds",
                store.place(),
                games.len(),
                spent.evaluations,
                spent.visits
            );
        }
    }
    worker.clear(&parts)?;
    Ok(ExitCode::SUCCESS)
}
