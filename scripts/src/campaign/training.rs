//! The second and third stage of a round: a network learns from all games so far, and becomes a file.

use std::fs;
use std::path::PathBuf;

use menagerie::encoding::SparseEncoding;
use menagerie::nn::network::verify;

use super::round::RoundContext;
use super::state::{ExportResult, TrainingResult};
use crate::csv_log;
use crate::onnx::sparse::export_for_play;
use crate::record::replace;
use crate::sparse::{Sources, SparseConfig, SparseMetrics, SparseRun, SparseSizes, SparseWeights};
use crate::store::Store;

const WEIGHTS: &str = "weights.sparse";
const METRICS: &str = "metrics.csv";

/// Trains the network of a round; `None` if it was stopped.
pub(super) fn train(context: &RoundContext<'_>) -> anyhow::Result<Option<TrainingResult>> {
    let plan = context.plan;
    let folder = context.folder().training();
    let config: SparseConfig = plan.train.clone();
    let sources = Sources::of_variant(&plan.variant, &game_files(context))?;
    let mut run = SparseRun::open(&folder, config, &sources)?;
    run.train_until(context.stop, &|_| (context.tick)())?;
    if run.network().steps() < run.config().steps() {
        return Ok(None);
    }
    let store = Store::open(&folder.display().to_string())?;
    let rows: Vec<SparseMetrics> = csv_log::read_rows(&store, METRICS)?;
    let last = rows.last().ok_or_else(|| anyhow::anyhow!("{METRICS} has no row"))?;
    let cache = run.cache();
    let games = cache.variants().iter().map(|counts| counts.games).sum();
    let bad_games = cache.variants().iter().map(|counts| counts.bad_games).sum();
    Ok(Some(TrainingResult {
        games,
        bad_games,
        positions: cache.positions(),
        epochs: last.epochs,
        held_top1: last.held_top1,
        held_sign: last.held_sign,
    }))
}

/// Returns the records of the variant and the games of all rounds so far.
fn game_files(context: &RoundContext<'_>) -> Vec<PathBuf> {
    let rounds = (0..=context.round).map(|round| context.folder_of(round));
    let games = rounds.flat_map(|folder| [folder.games(), folder.self_play_games()]);
    context.plan.records.iter().cloned().chain(games.filter(|file| file.exists())).collect()
}

/// Writes the network of a round with int8 tables. The encoded positions and checkpoints of its training
/// are removed.
pub(super) fn export(context: &RoundContext<'_>) -> anyhow::Result<ExportResult> {
    let plan = context.plan;
    let folder = context.folder();
    let name = plan.name();
    let weights = folder.training().join(WEIGHTS);
    let bytes =
        fs::read(&weights).map_err(|error| anyhow::anyhow!("{}: {error}", weights.display()))?;
    let weights = SparseWeights::from_bytes(&bytes)?;
    let encoding = SparseEncoding::new(&plan.variant.start().game_spec())
        .ok_or_else(|| anyhow::anyhow!("{name} has no pieces that move"))?;
    let SparseSizes { hidden_size, policy_size, .. } = plan.train.network;
    let description = format!(
        "{name}: {hidden_size}/{policy_size}, {:.1} M positions, round {} of a campaign",
        plan.train.positions as f64 / 1e6,
        context.round + 1
    );
    let (bytes, _) = export_for_play(&weights, &encoding, name, &description)?;
    replace(&folder.candidate(), &bytes)?;
    for name in ["positions", "checkpoints"] {
        let folder = folder.training().join(name);
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
    }
    Ok(ExportResult { bytes: bytes.len() as u64, checksum: verify(&bytes)?.to_owned() })
}
