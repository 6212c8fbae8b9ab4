//! `trainer gather PLACE FILE`

use std::path::PathBuf;

use clap::Args;
use trainer::datagen::gather::gather;
use trainer::print_line;
use trainer::store::Store;

/// Collects the games of `trainer datagen --store PLACE` in a file, each once. The same command continues if it was
/// stopped, and adds games that were played since.
#[derive(Debug, Args)]
pub(crate) struct GatherArguments {
    /// Folder, or s3://bucket/folder, of the games.
    #[arg(value_name = "PLACE")]
    store: String,
    /// The file (.tsv), which `trainer sparse` and `trainer train --records` read.
    file: PathBuf,
}

pub(crate) fn run(arguments: GatherArguments) -> anyhow::Result<()> {
    let gathered = gather(&Store::open(&arguments.store)?, &arguments.file)?;
    for error in &gathered.errors {
        eprintln!("{error}");
    }
    let file = arguments.file.display();
    print_line!("{file}: {} games added, {} in all", gathered.added, gathered.games);
    let damaged = gathered.errors.len();
    anyhow::ensure!(damaged == 0, "{damaged} uploads are damaged and left out");
    Ok(())
}
