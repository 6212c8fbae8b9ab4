//! The commands `bug0 tables`, which plays the tables of the paper again, and `bug0 fit`, which only
//! fits its regressions.

use std::path::{Path, PathBuf};

use bug0::models::{self, FitReport, ModelReport};
use bug0::participants::{SearchSettings, participants};
use bug0::regression::fit::FitSettings;
use bug0::tournament::{self, TournamentSettings, play_tournament};
use clap::{Args, Parser, Subcommand};

/// The opponents and the tables of the paper Bug0. A stopped command continues when it is repeated.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Fits the regressions from recorded games.
    Fit(FitArguments),
    /// Plays every pair and prints Tables III and IV next to the paper's results.
    Tables(TablesArguments),
}

#[derive(Debug, Args)]
struct FitArguments {
    #[command(flatten)]
    regression: RegressionArguments,
    /// Folder for the models.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

#[derive(Debug, Args)]
struct TablesArguments {
    #[command(flatten)]
    regression: RegressionArguments,
    /// Folder of fitted models [default: OUT/models, fitted if they are missing].
    #[arg(long, value_name = "FOLDER")]
    models: Option<PathBuf>,
    /// Network that participates.
    #[arg(long, value_name = "FILE")]
    network: Option<PathBuf>,
    /// Variant that the network was trained for.
    #[arg(long = "as", value_name = "VARIANT", default_value = "bughouse2")]
    trained_for: String,
    /// Simulations per move, with and without the network.
    #[arg(long, value_delimiter = ',', default_value = "25")]
    visits: Vec<u32>,
    /// Depths of minimax in addition to 1, the paper's.
    #[arg(long, value_delimiter = ',', default_value = "2,3")]
    depths: Vec<u32>,
    /// Games per cell.
    #[arg(long, default_value_t = 20)]
    games: u64,
    /// Random plies at the start of each pair of games.
    #[arg(long, default_value_t = 4)]
    plies: u32,
    /// Turns after which a game is drawn: pieces can be passed between the boards without end.
    #[arg(long, alias = "longest", default_value_t = 1000)]
    max_turns: u64,
    /// Games played in parallel [default: the number of CPU cores].
    #[arg(long)]
    concurrency: Option<usize>,
    /// Folder for the matches and tables.md.
    #[arg(long, value_name = "FOLDER", default_value = "matches/bug0")]
    out: PathBuf,
}

#[derive(Debug, Args)]
struct RegressionArguments {
    /// Files of recorded games to fit from (.tsv, .bpgn, .games; the first two also as .gz).
    #[arg(long, num_args = 1.., value_name = "FILE")]
    records: Vec<PathBuf>,
    /// Positions of the training set.
    #[arg(long, default_value_t = 50_000)]
    states: usize,
    /// Principal components.
    #[arg(long, default_value_t = 512)]
    components: usize,
    /// Weight of the elastic net's penalties. With the paper's, 1, all weights are 0.
    #[arg(long, default_value_t = 0.01)]
    penalty: f64,
    /// Trees of the forest.
    #[arg(long, default_value_t = 10)]
    trees: usize,
    /// Seed of the fit and the games.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl RegressionArguments {
    fn fit(&self, folder: &Path) -> anyhow::Result<FitReport> {
        anyhow::ensure!(
            !self.records.is_empty(),
            "no models in {} (specify --records FILE to fit them)",
            folder.display()
        );
        let settings = FitSettings {
            positions: self.states,
            components: self.components,
            penalty: self.penalty,
            trees: self.trees,
            seed: self.seed,
        };
        let report = models::fit_models(&self.records, settings, folder, &mut |model| {
            eprintln!("{}", model_text(model));
        })?;
        Ok(report)
    }
}

impl FitArguments {
    fn run(&self) -> anyhow::Result<()> {
        println!("{}", report_text(&self.regression.fit(&self.out)?));
        Ok(())
    }
}

impl TablesArguments {
    fn run(self) -> anyhow::Result<()> {
        let models_folder =
            self.models.unwrap_or_else(|| tournament::default_models_folder(&self.out));
        let report = match models::read_report(&models_folder)? {
            Some(report) => report,
            None => self.regression.fit(&models_folder)?,
        };
        let search = SearchSettings {
            visits: self.visits,
            network: self.network,
            trained_for: self.trained_for,
        };
        let participants = participants(&models_folder, &search, &self.depths);
        let settings = TournamentSettings {
            games: self.games,
            opening_plies: self.plies,
            seed: self.regression.seed,
            max_turns: self.max_turns,
            threads: self.concurrency.unwrap_or_else(cpu_cores),
            folder: self.out,
        };
        let preface = format!(
            "{} games per cell of {}, in pairs from {} random plies, seed {}; drawn after {} moves.\n{}",
            settings.games,
            tournament::VARIANT,
            settings.opening_plies,
            settings.seed,
            settings.max_turns,
            report_text(&report)
        );
        let tables =
            play_tournament(&participants, &settings, &preface, &mut |first, second, score| {
                eprintln!(
                    "{} against {}: {}-{}-{}",
                    first.short_name, second.short_name, score.won, score.drawn, score.lost
                );
            })?;
        print!("{preface}\n{}", tables.markdown());
        Ok(())
    }
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Fit(arguments) => arguments.run(),
        Command::Tables(arguments) => arguments.run(),
    }
}

fn cpu_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn report_text(report: &FitReport) -> String {
    let mut text = format!(
        "{} positions of {} games ({} skipped), {} components with {:.2}% of the planes' variance; R \
         squared on these positions and on {} positions of other games:\n\n",
        report.train_positions,
        report.games,
        report.skipped_games,
        report.settings.components,
        100.0 * report.explained_variance,
        report.test_positions,
    );
    for model in &report.models {
        text.push_str(&model_text(model));
        text.push('\n');
    }
    text
}

fn model_text(model: &ModelReport) -> String {
    format!(
        "- {}: {:.3}, {:.3}; {:.1} s, {} bytes",
        model.name, model.train_r_squared, model.test_r_squared, model.seconds, model.bytes
    )
}
