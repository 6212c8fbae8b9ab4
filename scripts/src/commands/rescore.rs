//! `trainer rescore VARIANT GAMES.. --engine FILE --out FILE`, or `--evaluator PROGRAM`

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;
use trainer::readers::{self, GameError, SkipReport};
use trainer::record::{self, InvalidGame};
use trainer::rescore::{Evaluator, RescoreConfig, Rescored, check_games, rescore};
use trainer::uci_engine::parse_name_value;
use trainer::variants::find_variant_in;

use super::stop::{STOPPED, stop_flag};
use super::threads;
use trainer::print_line;

/// Replaces the scores of recorded games by those of another evaluator, and adds side positions. The same
/// command continues if it was stopped.
///
/// The evaluator is a UCI engine, a sparse network that is searched by alpha-beta, or a program that reads FENs, one a line,
/// and prints for each the centipawns of the side to move, mN for a mate, or - for no score.
#[derive(Debug, Args)]
pub(crate) struct RescoreArguments {
    /// The variant.
    variant: String,
    /// Games of self-play (games), labelled games (tsv, tsv.gz), or histories of RBC (json, json.gz).
    #[arg(required = true)]
    games: Vec<PathBuf>,
    /// A file of your own variants, in the syntax of variants.ini.
    #[arg(long, value_name = "FILE")]
    variants: Option<PathBuf>,
    /// The executable of a UCI engine.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["evaluator", "network"],
        required_unless_present_any = ["evaluator", "network"]
    )]
    engine: Option<PathBuf>,
    /// A sparse network for the variant, searched by alpha-beta.
    #[arg(long, value_name = "FILE", conflicts_with = "evaluator")]
    network: Option<PathBuf>,
    /// Nodes of the search of a position by the engine or the network.
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u64).range(1..))]
    nodes: u64,
    /// Options of the engine.
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = parse_name_value)]
    options: Vec<(String, String)>,
    /// The executable of a program that reads FENs.
    #[arg(long, value_name = "PROGRAM")]
    evaluator: Option<PathBuf>,
    /// Its arguments.
    #[arg(long, value_name = "ARGUMENT", num_args = 1..)]
    arguments: Vec<String>,
    /// New side positions for each position, one or two random turns after it. Recorded ones are scored, too.
    #[arg(long, default_value_t = 1)]
    side_positions: usize,
    /// Leaves out recorded side positions, of which self-play has several for each position of a game.
    #[arg(long)]
    only_games: bool,
    /// Centipawns of the logistic function from scores to expected scores; fitted to the results of the games if not given.
    #[arg(long)]
    score_scale: Option<f32>,
    /// The file of the result (.games), which `trainer sparse` reads.
    #[arg(long)]
    out: PathBuf,
    /// Seed of the random turns.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Processes of the evaluator; all cores if not given.
    #[arg(long)]
    threads: Option<usize>,
}

/// Time limit of searches to stop after a signal.
const SEARCH_GRACE: Duration = Duration::from_secs(10);

pub(crate) fn run(arguments: RescoreArguments) -> anyhow::Result<ExitCode> {
    let variant = find_variant_in(&arguments.variant, arguments.variants.as_deref())?;
    if let Some(scale) = arguments.score_scale {
        anyhow::ensure!(
            scale.is_finite() && scale > 0.0,
            "--score-scale must be above 0, got {scale}"
        );
    }
    let mut found = readers::read_all(&arguments.games, &variant)?;
    let errors = std::mem::take(&mut found.errors);
    let (games, invalid) = check_games(found, &variant);
    report_skipped(&arguments.games, &errors, &invalid);
    let RescoreArguments { engine, network, nodes, options, evaluator, .. } = arguments;
    let evaluator = match (engine, network, evaluator) {
        (Some(file), _, _) => Evaluator::Engine { file, options, nodes },
        (_, Some(file), _) => Evaluator::Network { file, nodes },
        (_, _, Some(file)) => Evaluator::Program { file, arguments: arguments.arguments },
        _ => anyhow::bail!("neither --engine nor --network nor --evaluator is given"),
    };
    let mut parts = arguments.out.clone().into_os_string();
    parts.push(".parts");
    let parts = PathBuf::from(parts);
    let config = RescoreConfig {
        evaluator,
        side_positions: arguments.side_positions,
        only_games: arguments.only_games,
        seed: arguments.seed,
        score_scale: arguments.score_scale,
        parts: Some(parts.clone()),
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads(arguments.threads)).build()?;
    let bar = ProgressBar::new(games.len() as u64);
    let done = |games: usize| bar.set_position(games as u64);
    let stop = stop_flag(SEARCH_GRACE)?;
    let rescored = pool.install(|| rescore(&variant, &config, &games, &stop, &done));
    bar.finish_and_clear();
    // A signal may have ended the engines, too.
    if stop.load(Ordering::Relaxed) {
        return Ok(ExitCode::from(STOPPED));
    }
    let Some(Rescored { games, bad_games, steepness }) = rescored? else {
        return Ok(ExitCode::from(STOPPED));
    };
    record::write(&arguments.out, &games)?;
    std::fs::remove_dir_all(&parts)?;
    let positions: usize = games.iter().map(|game| game.plies.len()).sum();
    print_line!(
        "{}: {positions} positions of {} games, {} skipped; factor on log odds {steepness:.3}",
        arguments.out.display(),
        games.len(),
        errors.len() + invalid.len() + bad_games,
    );
    Ok(ExitCode::SUCCESS)
}

/// Prints the errors of the games of each file that are skipped.
fn report_skipped(files: &[PathBuf], errors: &[GameError], invalid: &[InvalidGame]) {
    for path in files {
        let mut report = SkipReport::new(path);
        let name = path.display().to_string();
        errors.iter().filter(|error| error.file == name).for_each(|error| report.add(error));
        let invalid = invalid.iter().filter(|error| *error.place.file == *name);
        invalid.for_each(|error| report.add(error));
        report.finish();
    }
}
