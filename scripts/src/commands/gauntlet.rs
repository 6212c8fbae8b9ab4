//! `trainer gauntlet FILE.toml`

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use trainer::gauntlet::{GauntletConfig, table};

use super::stop::{STOPPED, STORE_GRACE, stop_flag};
use super::threads;
use trainer::print_line;

/// Plays the matches of a file and prints a single table of their results. The same command continues a
/// gauntlet that was stopped.
#[derive(Debug, Args)]
pub(crate) struct GauntletArguments {
    /// The file of the matches (TOML).
    file: PathBuf,
    /// Prints the results so far and plays no games. Another process may play them meanwhile.
    #[arg(long)]
    results: bool,
    /// Document in which the lines between "<!-- gauntlet -->" and "<!-- end of gauntlet -->" are replaced by the
    /// table, once all games are played or with --results.
    #[arg(long, value_name = "FILE")]
    document: Option<PathBuf>,
    /// Games at a time; one for each core if not given.
    #[arg(long)]
    concurrency: Option<usize>,
}

pub(crate) fn run(arguments: GauntletArguments) -> anyhow::Result<ExitCode> {
    let config = GauntletConfig::read(&arguments.file)?;
    let mut is_stopped = false;
    if !arguments.results {
        let stop = stop_flag(STORE_GRACE)?;
        let style = ProgressStyle::with_template("{msg} {bar:40} {pos}/{len} {elapsed}")?;
        let bar = ProgressBar::new(0).with_style(style);
        config.play(threads(arguments.concurrency), &stop, &mut |variant, done, games| {
            bar.set_message(variant.to_owned());
            bar.set_length(games);
            bar.set_position(done);
        })?;
        bar.finish_and_clear();
        is_stopped = stop.load(Ordering::Relaxed);
    }
    print_line!("{}", table(&config.rows()?).trim_end());
    if is_stopped {
        return Ok(ExitCode::from(STOPPED));
    }
    if let Some(document) = &arguments.document {
        config.write_table(document)?;
    }
    Ok(ExitCode::SUCCESS)
}
