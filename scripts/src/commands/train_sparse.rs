//! Trains a sparse network from labelled games and exports it.
//!
//! - `sparse VARIANT GAMES..`: a network for one variant.
//! - `sparse base --records VARIANT=GAMES[,GAMES..] --records ..`: one network for several variants.

use std::path::{Path, PathBuf};

use clap::Args;
use menagerie::nn::NetworkMetadata;
use trainer::print_line;
use trainer::sparse::export::{export_float, export_int8};
use trainer::sparse::{BASE, Sources, SparseConfig, SparseMetrics, SparseRun, SparseSizes};
use trainer::variants::{find_variant, read_sections};

use super::NEW_RUN;

/// Trains a sparse network from labelled games. The same command continues a run that was stopped.
#[derive(Debug, Args)]
pub(crate) struct SparseArguments {
    /// The variant, or `base` for one network for the variants of --records.
    variant: String,
    /// Labelled games (tsv, tsv.gz), games of self-play (games), and histories of RBC (json, json.gz).
    #[arg(required_unless_present = "records")]
    games: Vec<PathBuf>,
    /// Labelled games of one variant of a base; for each variant once or more often.
    #[arg(long, value_name = "VARIANT=GAMES[,GAMES..]", conflicts_with = "games")]
    records: Vec<String>,
    /// Weights that a new run starts from (weights.sparse of a run, or a sparse network): those of a base or of
    /// another variant.
    #[arg(long, value_name = "FILE", help_heading = NEW_RUN)]
    start: Option<PathBuf>,
    /// A file of your own variants, in the syntax of variants.ini.
    #[arg(long)]
    variants: Option<PathBuf>,
    /// Folder of the run; runs/sparse-VARIANT if not given.
    #[arg(long)]
    run: Option<PathBuf>,
    /// Configuration (config.toml) of a new run, instead of the variant's default.
    #[arg(long, help_heading = NEW_RUN)]
    config: Option<PathBuf>,
    /// Positions to train on in all, also of a run that continues.
    #[arg(long)]
    positions: Option<u64>,
    /// Positions of a step.
    #[arg(long, help_heading = NEW_RUN)]
    batch: Option<usize>,
    /// Highest learning rate.
    #[arg(long, help_heading = NEW_RUN)]
    learning_rate: Option<f32>,
    /// Width of the accumulator.
    #[arg(long, help_heading = NEW_RUN)]
    hidden_size: Option<usize>,
    /// Number of the trunk's outputs that the policy head reads.
    #[arg(long, help_heading = NEW_RUN)]
    policy_size: Option<usize>,
    /// Share of the searched score in the target of the value.
    #[arg(long, help_heading = NEW_RUN)]
    score_blend: Option<f32>,
    /// Share of the trunk's outputs that the value head does not see in a step.
    #[arg(long, help_heading = NEW_RUN)]
    value_dropout: Option<f32>,
    /// Centipawns of the logistic from scores to expected scores; fitted to the games if not given.
    #[arg(long, help_heading = NEW_RUN)]
    score_scale: Option<f32>,
    /// Seconds between checkpoints.
    #[arg(long, help_heading = NEW_RUN)]
    checkpoint_seconds: Option<f64>,
    /// Seed of a new run.
    #[arg(long, help_heading = NEW_RUN)]
    seed: Option<u64>,
    /// Threads; all cores if not given.
    #[arg(long)]
    threads: Option<usize>,
}

impl SparseArguments {
    fn config(&self) -> anyhow::Result<SparseConfig> {
        let mut config = match &self.config {
            Some(path) => SparseConfig::read(path)?,
            None => SparseConfig::for_variant(&self.variant),
        };
        set(&mut config.positions, self.positions);
        if self.positions.is_some() {
            config.epochs = None;
        }
        set(&mut config.batch, self.batch);
        set(&mut config.learning_rate, self.learning_rate);
        set(&mut config.network.hidden_size, self.hidden_size);
        set(&mut config.network.policy_size, self.policy_size);
        set(&mut config.training.score_blend, self.score_blend);
        set(&mut config.training.value_dropout, self.value_dropout);
        set(&mut config.checkpoint_seconds, self.checkpoint_seconds);
        set(&mut config.seed, self.seed);
        config.score_scale = self.score_scale.or(config.score_scale);
        config.start = self.start.clone().or(config.start);
        Ok(config)
    }

    fn sources(&self) -> anyhow::Result<Sources> {
        let sections = read_sections(self.variants.as_deref())?;
        if self.records.is_empty() {
            return Sources::of_variant(&find_variant(&self.variant, &sections)?, &self.games);
        }
        let name = &self.variant;
        anyhow::ensure!(name == BASE, "--records is for \"{BASE}\", not for \"{name}\"");
        let mut games = Vec::new();
        for records in &self.records {
            let (name, files) = records
                .split_once('=')
                .ok_or_else(|| anyhow::anyhow!("--records \"{records}\": no VARIANT=GAMES"))?;
            let files = files.split(',').map(PathBuf::from).collect();
            games.push((find_variant(name, &sections)?, files));
        }
        Sources::of_base(&games)
    }
}

fn set<T>(setting: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *setting = value;
    }
}

pub(crate) fn run(arguments: SparseArguments) -> anyhow::Result<()> {
    if let Some(threads) = arguments.threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    let sources = arguments.sources()?;
    let default = || PathBuf::from(format!("runs/sparse-{}", arguments.variant));
    let folder = arguments.run.clone().unwrap_or_else(default);
    let mut run = SparseRun::open(&folder, arguments.config()?, &sources)?;
    let cache = run.cache();
    for counts in cache.variants() {
        print_line!(
            "{}: {} games ({} unreadable), {} positions and {} held out, steepness {:.3}, \
             {:.0} % draws at score 0",
            counts.variant,
            counts.games,
            counts.bad_games,
            counts.positions,
            counts.held_out,
            counts.steepness,
            100.0 * counts.draws,
        );
    }
    print_line!(
        "{} positions and {} held out; {} of {} steps",
        cache.positions(),
        cache.held_out(),
        run.network().steps(),
        run.config().steps(),
    );
    if let Some(started) = run.started() {
        let known = if started.knows_variant { ", which includes the variant" } else { "" };
        print_line!("starts from another network{known}; new blocks: {:?}", started.new_blocks);
    }
    run.train(&|row| print_line!("{}", line(row)))?;
    if sources.layout().is_base() {
        for (variant, held) in run.measure_variants()? {
            print_line!(
                "{variant}: held out top-1 {:.2} % CE {:.4} value CE {:.4} sign {:.2} %",
                100.0 * held.top1,
                held.policy,
                held.value,
                100.0 * held.sign,
            );
        }
    }
    export(&run, &folder, &sources)
}

/// Writes the network into the folder of the run, with tables of 32-bit floats and of int8.
fn export(run: &SparseRun, folder: &Path, sources: &Sources) -> anyhow::Result<()> {
    let name = sources.name();
    let SparseSizes { hidden_size, policy_size, .. } = run.config().network;
    let description = format!(
        "{name}: {hidden_size}/{policy_size}, {:.1} M positions",
        (run.network().steps() * run.config().batch as u64) as f64 / 1e6
    );
    let weights = run.network().weights();
    let network_metadata = match sources.encoding() {
        Some(encoding) => NetworkMetadata::sparse(encoding, name, &description),
        None => NetworkMetadata::sparse_base(sources.layout(), &description),
    };
    let metadata = network_metadata.entries();
    let rows_per_move = sources.layout().shape().rows_per_move;
    let floats = export_float(&weights, rows_per_move, &metadata)?;
    std::fs::write(folder.join(format!("{name}.onnx")), floats)?;
    let (bytes, quantisation) = export_int8(&weights, rows_per_move, &metadata)?;
    let path = folder.join(format!("{name}.int8.onnx"));
    std::fs::write(&path, bytes)?;
    print_line!(
        "{}: 1 is {} in the input table, {} weights clipped, RMS error {:.5}, of the move table {:.5}",
        path.display(),
        quantisation.one,
        quantisation.cut_inputs,
        quantisation.input_error,
        quantisation.move_error,
    );
    Ok(())
}

fn line(row: &SparseMetrics) -> String {
    format!(
        "{:.2} M positions, {:.2} epochs, {:.1} CPU min, {:.0}/CPU s | training top-1 {:.2} % CE {:.4} \
         sign {:.2} % | held out top-1 {:.2} % CE {:.4} top-3 {:.2} % value CE {:.4} sign {:.2} % \
         error {:.4}",
        row.positions as f64 / 1e6,
        row.epochs,
        row.cpu_minutes,
        row.positions_per_cpu_second,
        100.0 * row.top1,
        row.policy,
        100.0 * row.sign,
        100.0 * row.held_top1,
        row.held_policy,
        100.0 * row.held_top3,
        row.held_value,
        100.0 * row.held_sign,
        row.held_error,
    )
}
