//! `trainer gauntlet FILE.toml`

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use trainer::gauntlet::{GauntletConfig, table};

use super::threads;
use trainer::print_line;

/// Plays the matches of a file and prints a single table of their results. The same command continues a
/// gauntlet that was stopped.
#[derive(Debug, Args)]
pub(crate) struct GauntletArguments {
    /// The file of the matches (TOML).
    file: PathBuf,
    /// Prints the results so far and plays no games.
    #[arg(long)]
    results: bool,
    /// Document in which the lines between "<!-- gauntlet -->" and "<!-- end of gauntlet -->" are replaced by the
    /// table.
    #[arg(long, value_name = "FILE")]
    document: Option<PathBuf>,
    /// Games at a time; one for each core if not given.
    #[arg(long)]
    concurrency: Option<usize>,
}

pub(crate) fn run(arguments: GauntletArguments) -> anyhow::Result<()> {
    let config = GauntletConfig::read(&arguments.file)?;
    if !arguments.results {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&stop))?;
        }
        let style = ProgressStyle::with_template("{msg} {bar:40} {pos}/{len} {elapsed}")?;
        let bar = ProgressBar::new(0).with_style(style);
        config.play(threads(arguments.concurrency), &stop, &mut |variant, done, games| {
            bar.set_message(variant.to_owned());
            bar.set_length(games);
            bar.set_position(done);
        })?;
        bar.finish_and_clear();
    }
    print_line!("{}", table(&config.rows()?).trim_end());
    if let Some(document) = &arguments.document {
        config.write_table(document)?;
    }
    Ok(())
}
