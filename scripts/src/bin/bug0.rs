//! Plays the tables of Bug0 anew: `bug0 tables --records FILE... --network FILE --out FOLDER`; or
//! learns its regressions alone, `bug0 fit`.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};
use trainer::bug0::entrants::{self, Search};
use trainer::bug0::models::{self, Marks, Report};
use trainer::bug0::{self, Conditions};
use trainer::regression::fit::Settings;

/// The opponents of Bug0 and its tables. The same command goes on where it was stopped.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Learns the regressions from recorded games.
    Fit {
        #[command(flatten)]
        learning: Learning,
        /// Where the models go.
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
    },
    /// Plays everybody against everybody and prints Tables III and IV beside the paper's figures.
    Tables {
        #[command(flatten)]
        learning: Learning,
        /// Models that were learnt before; else they are learnt into OUT/models.
        #[arg(long, value_name = "FOLDER")]
        models: Option<PathBuf>,
        /// A network that plays, too.
        #[arg(long, value_name = "FILE")]
        network: Option<PathBuf>,
        /// The game that the network was trained for.
        #[arg(long = "as", value_name = "GAME", default_value = "bughouse2")]
        trained_for: String,
        /// Simulations of a move, with a network and without.
        #[arg(long, value_delimiter = ',', default_value = "25")]
        visits: Vec<u32>,
        /// Depths of minimax beside 1, the paper's.
        #[arg(long, value_delimiter = ',', default_value = "2,3")]
        depths: Vec<u32>,
        /// Games in each cell.
        #[arg(long, default_value_t = 20)]
        games: u64,
        /// Random plies that each pair of games begins with.
        #[arg(long, default_value_t = 4)]
        plies: u32,
        /// Moves after which a game is drawn: men may be passed to and fro for ever.
        #[arg(long, default_value_t = 1000)]
        longest: u64,
        /// Games at a time; one for each core if not given.
        #[arg(long)]
        concurrency: Option<usize>,
        /// The folder of the matches and of tables.md.
        #[arg(long, value_name = "FOLDER", default_value = "matches/bug0")]
        out: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Learning {
    /// Files of recorded games to learn from (.tsv, .bpgn, .games, also as .gz).
    #[arg(long, num_args = 1.., value_name = "FILE")]
    records: Vec<PathBuf>,
    /// Positions to learn from.
    #[arg(long, default_value_t = 50_000)]
    states: usize,
    /// Principal components that are kept.
    #[arg(long, default_value_t = 512)]
    components: usize,
    /// The weight of the elastic net's penalties; that of the paper, 1, leaves no weight but 0.
    #[arg(long, default_value_t = 0.01)]
    penalty: f64,
    /// Trees of the forest.
    #[arg(long, default_value_t = 10)]
    trees: usize,
    /// The seed of all that is random.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Learning {
    fn fit(&self, folder: &Path) -> anyhow::Result<Report> {
        anyhow::ensure!(
            !self.records.is_empty(),
            "{} has no models: say --records FILE to learn them from",
            folder.display()
        );
        let settings = Settings {
            states: self.states,
            components: self.components,
            penalty: self.penalty,
            trees: self.trees,
            seed: self.seed,
        };
        models::fit(&self.records, settings, folder, &mut |marks| eprintln!("{}", words(marks)))
    }
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Fit { learning, out } => {
            println!("{}", about_models(&learning.fit(&out)?));
            Ok(())
        }
        Command::Tables {
            learning,
            models,
            network,
            trained_for,
            visits,
            depths,
            games,
            plies,
            longest,
            concurrency,
            out,
        } => {
            let folder = models.unwrap_or_else(|| bug0::models_beside(&out));
            let report = match models::find(&folder)? {
                Some(report) => report,
                None => learning.fit(&folder)?,
            };
            let search = Search { visits, network, trained_for };
            let entrants = entrants::all(&folder, &search, &depths);
            let cores = || std::thread::available_parallelism().map_or(1, usize::from);
            let conditions = Conditions {
                games,
                plies,
                longest,
                seed: learning.seed,
                threads: concurrency.unwrap_or_else(cores),
                folder: out,
            };
            let about = format!(
                "{games} games a cell of {}, in pairs from {plies} random plies, seed {}; a draw after {longest} \
                 moves.\n{}",
                bug0::GAME,
                learning.seed,
                about_models(&report)
            );
            let tables = bug0::play(&entrants, &conditions, &about, &mut |first, second, cell| {
                let (won, drawn, lost) = (cell.won, cell.drawn, cell.lost);
                eprintln!("{} against {}: {won}-{drawn}-{lost}", first.short, second.short);
            })?;
            print!("{about}\n{}", tables.markdown());
            Ok(())
        }
    }
}

fn about_models(report: &Report) -> String {
    let Report { settings, games, positions, held_back, explained, left_out, .. } = report;
    let marks: String = report.models.iter().map(|marks| words(marks) + "\n").collect();
    format!(
        "{positions} positions of {games} games ({left_out} left out), {} components that explain \
         {:.2}% of the planes' variance; R squared on these and on {held_back} of other games:\n\n\
         {marks}",
        settings.components,
        100.0 * explained,
    )
}

fn words(marks: &Marks) -> String {
    let Marks { name, learnt, held_back, seconds, bytes } = marks;
    format!("- {name}: {learnt:.3}, {held_back:.3}; {seconds:.1} s, {bytes} bytes")
}
