//! The second and third stage of a round: a network learns from games, and becomes a file.

use std::fs;
use std::path::PathBuf;

use menagerie::nn::network::verify;

use super::round::{RoundContext, sparse_encoding};
use super::shipped::file_name;
use super::state::{CampaignState, ExportResult, TrainingResult};
use crate::csv_log;
use crate::record::replace;
use crate::sparse::export::export_for_play;
use crate::sparse::import::read_weights;
use crate::sparse::{Sources, SparseMetrics, SparseRun, SparseSizes, SparseWeights};
use crate::store::Store;

const WEIGHTS: &str = "weights.sparse";
const METRICS: &str = "metrics.csv";

/// Trains the network of a round; `None` if it was stopped. `state` is that of the campaign.
pub(super) fn train(
    context: &RoundContext<'_>,
    state: &CampaignState,
) -> anyhow::Result<Option<TrainingResult>> {
    let plan = context.plan;
    let folder = context.folder().training();
    let mut config = plan.training(context.round).clone();
    let untrained = plan.datagen.is_untrained(context.round);
    let start = if plan.datagen.is_self_play(context.round) && !untrained {
        first_weights(context, state, config.start.take())
    } else {
        config.start.take().map(StartWeights::of_file)
    };
    config.start = start.as_ref().map(|start| start.file.clone());
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
        start: start.map(|start| start.origin),
        games,
        bad_games,
        positions: cache.positions(),
        epochs: last.epochs,
        held_top1: last.held_top1,
        held_sign: last.held_sign,
    }))
}

/// The weights with which the training of a round begins.
struct StartWeights {
    file: PathBuf,
    /// Where they come from, for the record of the network.
    origin: String,
}

impl StartWeights {
    /// Returns the weights of a file that the settings name.
    fn of_file(file: PathBuf) -> StartWeights {
        StartWeights { origin: file_name(&file), file }
    }
}

/// Returns the weights with which the training of a round of self-play begins: those of the last network that was
/// promoted, those that the settings ask for, those of the first round, or the network that played the games, if it is
/// a sparse one.
fn first_weights(
    context: &RoundContext<'_>,
    state: &CampaignState,
    wanted: Option<PathBuf>,
) -> Option<StartWeights> {
    let promoted = |round: &usize| {
        let state = state.round(context.plan.name(), *round);
        state.is_some_and(|state| state.is_promoted())
    };
    let weights = |round: usize| StartWeights {
        file: context.folder_of(round).training().join(WEIGHTS),
        origin: format!("round {}", round + 1),
    };
    let best = (0..context.round).rev().find(promoted).map(weights);
    let first = || (context.round > 0).then(|| weights(0));
    best.or(wanted.map(StartWeights::of_file)).or_else(first).or_else(|| {
        let file = context.folder().self_play_network();
        let sparse = fs::read(&file).is_ok_and(|bytes| read_weights(&bytes).is_ok());
        sparse.then(|| StartWeights { file, origin: "the network before".to_owned() })
    })
}

/// Returns the games that a round learns from: of self-play those of the last rounds, otherwise the records of the
/// variant and the games of all rounds so far.
fn game_files(context: &RoundContext<'_>) -> Vec<PathBuf> {
    let round = context.round;
    let datagen = &context.plan.datagen;
    let existing = |file: &PathBuf| file.exists();
    if datagen.is_self_play(round) {
        let first = (round + 1).saturating_sub(datagen.window);
        let of_round = |round| {
            let folder = context.folder_of(round);
            let (games, scored) = (folder.self_play_games(), folder.scored_games());
            // Scores by alpha-beta replace those of self-play.
            if datagen.alpha_beta_nodes > 0 && scored.exists() {
                return vec![scored];
            }
            vec![games, scored]
        };
        return (first..=round).flat_map(of_round).filter(existing).collect();
    }
    let games = (0..=round).map(|round| context.folder_of(round).games());
    context.plan.records.iter().cloned().chain(games.filter(existing)).collect()
}

/// Writes the network of a round with int8 tables. The encoded positions and checkpoints of its training
/// are removed.
pub(super) fn export(
    context: &RoundContext<'_>,
    state: &CampaignState,
) -> anyhow::Result<ExportResult> {
    let plan = context.plan;
    let trained = state.round(plan.name(), context.round).and_then(|round| round.train.as_ref());
    let positions = trained.map_or(0.0, |train| train.positions as f64 * train.epochs);
    let folder = context.folder();
    let name = plan.name();
    let weights = folder.training().join(WEIGHTS);
    let bytes =
        fs::read(&weights).map_err(|error| anyhow::anyhow!("{}: {error}", weights.display()))?;
    let weights = SparseWeights::from_bytes(&bytes)?;
    let encoding = sparse_encoding(plan)?;
    let SparseSizes { hidden_size, policy_size, .. } = plan.train.network;
    let description = format!(
        "{name}: {hidden_size}/{policy_size}, {:.1} M positions, round {} of a campaign",
        positions / 1e6,
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
