//! `trainer train VARIANT`: by self-play, or from recorded games with `--records`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use cpu_time::ProcessTime;
use trainer::readers;
use trainer::record::Targets;
use trainer::run::{GameSource, LeaseTiming, Run, RunConfig, RunEnd, RunLock};
use trainer::store::Store;
use trainer::supervised::{Supervised, SupervisedConfig, check_games};
use trainer::variants::{find_variant, read_sections};

use super::stop::{STOPPED, STORE_GRACE, stop_flag};
use super::{NEW_RUN, parse_seconds};
use trainer::print_line;

/// Trains a network by self-play, or from recorded games with --records. The same command continues a run
/// that was stopped.
#[derive(Debug, Args)]
pub(crate) struct TrainArguments {
    /// The variant.
    variant: String,
    /// A file of your own variants, in the syntax of variants.ini.
    #[arg(long, value_name = "FILE")]
    variants: Option<PathBuf>,
    /// Files of games to train from instead of self-play: the trainer's own (.games) and others (.tsv,
    /// .pgn, .bpgn, .epd, histories of reconnaissance blind chess as .json; also as .gz).
    #[arg(long, value_name = "FILE", num_args = 1..)]
    records: Vec<PathBuf>,
    /// Folder of the run, or s3://bucket/folder; runs/VARIANT, or runs/VARIANT-supervised with --records, if not
    /// given.
    #[arg(long, value_name = "PLACE")]
    run: Option<String>,
    /// Plays no games, but trains on those of `trainer selfplay --store PLACE`, of any number of processes on any
    /// machines.
    #[arg(long, conflicts_with = "records")]
    workers: bool,
    /// Interval at which --workers looks for games of workers.
    #[arg(long, value_name = "SECONDS", requires = "workers", default_value_t = 3.0, value_parser = parse_seconds)]
    poll_seconds: f64,
    /// Time for which the heartbeat of a learner must stand still before another one takes over.
    #[arg(long, value_name = "SECONDS", hide = true, default_value_t = 35.0, value_parser = parse_seconds)]
    lease_seconds: f64,
    /// A network whose weights a new run starts from; a smaller one grows to the sizes of the
    /// configuration.
    #[arg(long, value_name = "FILE", help_heading = NEW_RUN)]
    from: Option<PathBuf>,
    /// Configuration (config.toml) of a new run, instead of the variant's default.
    #[arg(long, value_name = "FILE", help_heading = NEW_RUN)]
    config: Option<PathBuf>,
    /// Seed of a new run.
    #[arg(long, help_heading = NEW_RUN)]
    seed: Option<u64>,
    /// Iterations of a new run by self-play.
    #[arg(long, conflicts_with = "records", help_heading = NEW_RUN)]
    iterations: Option<u64>,
    /// Positions to train on in all, also of a run that continues.
    #[arg(long, requires = "records")]
    positions: Option<u64>,
    /// Fails if a game cannot be read or is illegal, instead of skipping it.
    #[arg(long, requires = "records")]
    strict: bool,
}

pub(crate) fn run(arguments: TrainArguments) -> anyhow::Result<ExitCode> {
    if arguments.records.is_empty() {
        train_by_self_play(arguments)
    } else {
        train_from_records(arguments).map(|()| ExitCode::SUCCESS)
    }
}

fn train_by_self_play(arguments: TrainArguments) -> anyhow::Result<ExitCode> {
    let sections = read_sections(arguments.variants.as_deref())?;
    let variant = find_variant(&arguments.variant, &sections)?;
    let mut config = match &arguments.config {
        Some(path) => {
            let config = RunConfig::read(path)?;
            check_variant(path, &config.variant, variant.name())?;
            config
        }
        None => RunConfig::for_variant(&variant),
    };
    if arguments.variants.is_some() {
        config.variants = sections;
    }
    config.seed = arguments.seed.unwrap_or(config.seed);
    config.iterations = arguments.iterations.unwrap_or(config.iterations);
    let folder = arguments.run.unwrap_or_else(|| format!("runs/{}", arguments.variant));
    let from = match &arguments.from {
        Some(path) => Some(std::fs::read(path).with_context(|| path.display().to_string())?),
        None => None,
    };
    let stop = stop_flag(STORE_GRACE)?;
    let store = Store::open(&folder)?;
    let timing = LeaseTiming::with_observation(Duration::from_secs_f64(arguments.lease_seconds));
    let (source, lock) = if arguments.workers {
        let poll = Duration::from_secs_f64(arguments.poll_seconds);
        (GameSource::Workers { poll }, RunLock::acquire_lease(&store, timing, &stop)?)
    } else {
        (GameSource::SelfPlay, RunLock::acquire(&store, timing, &stop)?)
    };
    let mut run = Run::open_locked(lock, store.clone(), config, from.as_deref())?;
    print_line!("{folder}: {} of {} iterations done", run.iterations(), run.config().iterations);
    let end = run.train_until(source, &stop)?;
    print_line!("{} after {:.1} CPU minutes", run.network(), run.cpu().as_secs_f64() / 60.0);
    if arguments.workers {
        let seconds = ProcessTime::now().as_duration().as_secs_f64();
        print_line!("{seconds:.1} CPU seconds of this process; {}", store.traffic());
    }
    Ok(match end {
        RunEnd::Finished => ExitCode::SUCCESS,
        RunEnd::Stopped => ExitCode::from(STOPPED),
    })
}

/// Checks that a configuration is for the variant that is asked for.
fn check_variant(path: &Path, found: &str, expected: &str) -> anyhow::Result<()> {
    let path = path.display();
    anyhow::ensure!(found == expected, "{path}: the settings of {found}, not of {expected}");
    Ok(())
}

fn train_from_records(arguments: TrainArguments) -> anyhow::Result<()> {
    let sections = read_sections(arguments.variants.as_deref())?;
    let variant = find_variant(&arguments.variant, &sections)?;
    let folder = arguments.run.unwrap_or_else(|| format!("runs/{}-supervised", variant.name()));
    let store = Store::open(&folder)?;
    let mut config = match (SupervisedConfig::of_run(&store)?, &arguments.config) {
        (Some(own), _) => own,
        (None, Some(path)) => {
            let config = SupervisedConfig::read(path)?;
            check_variant(path, &config.variant, variant.name())?;
            config
        }
        (None, None) => SupervisedConfig::for_variant(&variant),
    };
    config.positions = arguments.positions.unwrap_or(config.positions);
    config.seed = arguments.seed.unwrap_or(config.seed);
    let found = readers::read_all(&arguments.records, &variant)?;
    for error in &found.errors {
        eprintln!("{error}");
    }
    let unreadable = found.errors.len();
    let (games, invalid) = check_games(found, &variant);
    for error in &invalid {
        eprintln!("{error}");
    }
    let skipped = unreadable + invalid.len();
    print_line!("{} games, {skipped} skipped", games.len());
    anyhow::ensure!(!arguments.strict || skipped == 0, "not all games could be read");
    let from = arguments.from.as_deref();
    let mut run = Supervised::open(store, config, &variant, games, from)?;
    let (training, held_out) = run.positions();
    print_line!("{training} positions to train on, {held_out} held out");
    let Targets { steepness, draws, .. } = run.targets();
    print_line!(
        "expected scores: steepness {steepness:.2}, {:.0} % draws at score 0",
        100.0 * draws
    );
    print_line!("{folder}: {} of {} steps done", run.steps(), run.config().steps());
    run.train(&|row| {
        print_line!(
            "{} positions, {:.1} CPU minutes: policy top-1 {:.3}, held out {:.3}; outcome {:.3}, \
             held out {:.3}",
            row.positions,
            row.cpu_minutes,
            row.policy_accuracy,
            row.held_policy_accuracy,
            row.outcome_accuracy,
            row.held_outcome_accuracy
        );
    })?;
    print_line!("{}", run.network());
    Ok(())
}
