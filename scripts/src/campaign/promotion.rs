//! The last stage of a round: a network that won takes the place of the shipped one.
//!
//! Two files are written, `VARIANT.int8.onnx` and `VARIANT.toml`, each in one step and always with the same
//! content, and `VARIANT.onnx`, the floats of a network that was replaced, is removed, so that a kill between
//! these steps is repaired by doing the stage again.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Serialize;

use super::log::now;
use super::round::RoundContext;
use super::shipped::{file_name, shipped_name};
use super::state::{CampaignState, ContestResult, PromotionResult, RoundState, Stage};
use crate::record::replace;

/// Where a shipped network comes from: `VARIANT.toml` next to it.
#[derive(Debug, Serialize)]
struct NetworkRecord {
    variant: String,
    file: String,
    checksum: String,
    date: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    round: usize,
    hidden_size: usize,
    policy_size: usize,
    value_hidden: usize,
    /// Where the weights at the start of the training come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<String>,
    /// Records that were there before the campaign.
    records: Vec<String>,
    /// Who played the games of each round, and how many.
    games_of_rounds: Vec<String>,
    games: u64,
    positions: u64,
    epochs: f64,
    held_out_top1: f64,
    held_out_sign: f64,
    /// Of the games of all rounds so far.
    datagen_cpu_hours: f64,
    /// Of this network.
    training_cpu_hours: f64,
    #[serde(rename = "match")]
    contest: ContestResult,
}

/// Promotes the network of a round if it won its match.
pub(super) fn promote(
    context: &RoundContext<'_>,
    state: &CampaignState,
) -> anyhow::Result<PromotionResult> {
    let rounds = state.variants.get(context.plan.name());
    let rounds = rounds.and_then(|rounds| rounds.get(..=context.round)).unwrap_or_default();
    let contest = rounds.last().and_then(|round| round.contest.clone());
    let contest = contest.ok_or_else(|| anyhow::anyhow!("no match was played"))?;
    if !contest.passed {
        return Ok(PromotionResult { promoted: false });
    }
    let nets = &context.settings.nets;
    fs::create_dir_all(nets)?;
    let candidate = fs::read(context.folder().candidate())?;
    let record = record(context, rounds, contest)?;
    replace(&nets.join(&record.file), &candidate)?;
    let text = toml::to_string(&record)?;
    replace(&nets.join(format!("{}.toml", record.variant)), text.as_bytes())?;
    let floats = nets.join(format!("{}.onnx", record.variant));
    if floats.exists() {
        fs::remove_file(floats)?;
    }
    Ok(PromotionResult { promoted: true })
}

fn record(
    context: &RoundContext<'_>,
    rounds: &[RoundState],
    contest: ContestResult,
) -> anyhow::Result<NetworkRecord> {
    let missing = || anyhow::anyhow!("a stage before has no result");
    let last = rounds.last().ok_or_else(missing)?;
    let (train, export) = last.train.as_ref().zip(last.export.as_ref()).ok_or_else(missing)?;
    let hours = |round: &RoundState, stage| {
        round.cpu_seconds.get(&stage).copied().unwrap_or_default() / 3600.0
    };
    let plan = context.plan;
    let network = plan.train.network;
    let played = rounds.iter().filter_map(|round| round.datagen.as_ref());
    Ok(NetworkRecord {
        variant: plan.name().to_owned(),
        file: shipped_name(plan.name()),
        checksum: export.checksum.clone(),
        date: now(),
        commit: commit(&context.settings.nets),
        round: context.round + 1,
        hidden_size: network.hidden_size,
        policy_size: network.policy_size,
        value_hidden: network.value_hidden,
        start: train.start.clone(),
        records: plan.records.iter().map(|path| file_name(path)).collect(),
        games_of_rounds: played
            .map(|result| format!("{} games: {}", result.games, result.source))
            .collect(),
        games: train.games,
        positions: train.positions,
        epochs: train.epochs,
        held_out_top1: train.held_top1,
        held_out_sign: train.held_sign,
        datagen_cpu_hours: rounds.iter().map(|round| hours(round, Stage::Datagen)).sum(),
        training_cpu_hours: hours(last, Stage::Train),
        contest,
    })
}

/// Returns the commit that is checked out in the folder of the networks, if it is in a repository.
fn commit(nets: &Path) -> Option<String> {
    let output =
        Command::new("git").arg("-C").arg(nets).args(["rev-parse", "HEAD"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    if output.status.success() { Some(text.trim().to_owned()) } else { None }
}
