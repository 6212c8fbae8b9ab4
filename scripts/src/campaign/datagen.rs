//! The first stage of a round: games to learn from.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use menagerie::encoding::SparseLayout;
use menagerie::nn::Weights;

use super::round::{RoundContext, RoundFolder, SELF_PLAY_GAMES, SELF_PLAY_PARTS, sparse_encoding};
use super::settings::EngineSettings;
use super::shipped::{ShippedNetwork, file_name};
use super::state::GamesResult;
use crate::datagen::{DatagenConfig, generate_until};
use crate::record::{self, GameRecord, replace};
use crate::rescore::{Evaluator, RescoreConfig, rescore};
use crate::run::SelfPlayWorker;
use crate::sparse::SparseNetwork;
use crate::sparse::export::export_for_play;
use crate::store::Store;

/// Plays the games of a round; `None` if it was stopped.
///
/// The result is a pure function of the settings if the engine's moves are: games are numbered, and stand in
/// that order however many engines or threads played them.
pub(super) fn play_games(context: &RoundContext<'_>) -> anyhow::Result<Option<GamesResult>> {
    let plan = context.plan;
    let folder = context.folder();
    if plan.datagen.games == 0 {
        return Ok(Some(GamesResult { games: 0, source: "records alone".to_owned() }));
    }
    fs::create_dir_all(folder.path())?;
    if plan.datagen.is_self_play(context.round) {
        return play_self(context, &folder);
    }
    let file = engine_file(&plan.engine)?;
    // Written in one step: if it is there, it is complete.
    if !folder.games().exists() {
        let partial = folder.partial_games();
        if !play(context, file, &partial)? {
            return Ok(None);
        }
        let sorted = sorted_games(&partial, plan.datagen.games)?;
        replace(&folder.games(), &sorted)?;
    }
    if folder.partial_games().exists() {
        fs::remove_file(folder.partial_games())?;
    }
    let games = BufReader::new(GzDecoder::new(fs::File::open(folder.games())?)).lines().count();
    let source = format!("{}, {} nodes", file_name(file), plan.engine.nodes);
    Ok(Some(GamesResult { games: games as u64, source }))
}

/// Plays games of self-play; `None` if it was stopped.
fn play_self(
    context: &RoundContext<'_>,
    folder: &RoundFolder,
) -> anyhow::Result<Option<GamesResult>> {
    let plan = context.plan;
    let settings = &plan.self_play;
    let store = Store::open(&folder.path().display().to_string())?;
    let worker = SelfPlayWorker {
        store: &store,
        variant: &plan.variant,
        settings,
        threads: context.settings.threads,
        seed: context.seed(),
    };
    let games = match store.find(SELF_PLAY_GAMES)? {
        Some(bytes) => record::decode(SELF_PLAY_GAMES, &bytes)?,
        None => {
            let network = self_play_network(context, folder)?;
            let weights = Weights::read(&network, &network.display().to_string())?;
            let bar = context.games_bar("self-play", plan.datagen.games)?;
            let numbers = 0..plan.datagen.games;
            let progress = |games| {
                bar.inc(games);
                (context.tick)();
            };
            let played = worker.play_shard(
                &weights,
                SELF_PLAY_GAMES,
                SELF_PLAY_PARTS,
                numbers,
                context.stop,
                &progress,
            )?;
            bar.finish_and_clear();
            let Some((games, _)) = played else { return Ok(None) };
            games
        }
    };
    worker.clear(SELF_PLAY_PARTS)?;
    let player =
        if plan.datagen.is_untrained(context.round) { " of an untrained network" } else { "" };
    let mut source = format!("self-play{player}, {} visits", settings.visits);
    let scored = (plan.datagen.scored_games as usize).min(games.len());
    if scored > 0 {
        let file = engine_file(&plan.engine)?;
        let EngineSettings { nodes, options, .. } = plan.engine.clone();
        let options = options.into_iter().collect();
        let evaluator = Evaluator::Engine { file: file.to_owned(), options, nodes };
        if !score(context, folder, evaluator, &games[..scored])? {
            return Ok(None);
        }
        source += &format!(", {scored} games scored by {}, {nodes} nodes", file_name(file));
    }
    let nodes = plan.datagen.alpha_beta_nodes;
    if nodes > 0 {
        let evaluator = Evaluator::Network { file: self_play_network(context, folder)?, nodes };
        if !score(context, folder, evaluator, &games)? {
            return Ok(None);
        }
        source += &format!(", scored by alpha-beta, {nodes} nodes");
    }
    Ok(Some(GamesResult { games: games.len() as u64, source }))
}

/// Lets an evaluator score the positions of games of self-play. Returns `false` if it was stopped.
fn score(
    context: &RoundContext<'_>,
    folder: &RoundFolder,
    evaluator: Evaluator,
    games: &[GameRecord],
) -> anyhow::Result<bool> {
    // Written in one step: if it is there, it is complete.
    if folder.scored_games().exists() {
        if folder.scored_parts().exists() {
            fs::remove_dir_all(folder.scored_parts())?;
        }
        return Ok(true);
    }
    let config = RescoreConfig {
        side_positions: 0,
        only_games: matches!(evaluator, Evaluator::Network { .. }),
        evaluator,
        seed: context.seed(),
        score_scale: None,
        parts: Some(folder.scored_parts()),
    };
    let bar = context.games_bar("scores", games.len() as u64)?;
    let done = |games| {
        bar.set_position(games as u64);
        (context.tick)();
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(context.settings.threads).build()?;
    let scored =
        pool.install(|| rescore(&context.plan.variant, &config, games, context.stop, &done));
    bar.finish_and_clear();
    // A signal that stops the campaign may have ended the engines, too.
    if context.is_stopped() {
        return Ok(false);
    }
    let Some(scored) = scored? else { return Ok(false) };
    record::write(&folder.scored_games(), &scored.games)?;
    fs::remove_dir_all(folder.scored_parts())?;
    Ok(true)
}

fn engine_file(engine: &EngineSettings) -> anyhow::Result<&Path> {
    engine.file.as_deref().ok_or_else(|| anyhow::anyhow!("no file in [engine]"))
}

/// Plays games of the reference engine `engine` into a file until all are there. Returns `false` if it was stopped.
fn play(context: &RoundContext<'_>, engine: &Path, file: &Path) -> anyhow::Result<bool> {
    let plan = context.plan;
    let EngineSettings { nodes, options, .. } = plan.engine.clone();
    let config = DatagenConfig {
        options: options.into_iter().collect(),
        limits: format!("nodes {nodes}"),
        opening: plan.datagen.opening,
        random: plan.datagen.random,
        max_opening_score: plan.datagen.max_opening_score,
        win_score: plan.datagen.win_score,
        seed: context.seed(),
        ..DatagenConfig::new(engine.to_owned())
    };
    let games = plan.datagen.games;
    let there = count_lines(file);
    let bar = context.games_bar("datagen", games)?.with_position(there);
    let done = |_| {
        bar.inc(1);
        (context.tick)();
    };
    let threads = context.settings.threads;
    let played = generate_until(&plan.variant, &config, games, threads, file, context.stop, &done);
    bar.finish_and_clear();
    // A signal that stops the campaign may have ended the engines, too.
    if context.is_stopped() {
        return Ok(false);
    }
    played?;
    Ok(true)
}

/// Returns the number of whole lines of a file; 0 if there is none.
pub(super) fn count_lines(file: &Path) -> u64 {
    let text = fs::read(file).unwrap_or_default();
    text.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// Returns the first `games` games of a file, sorted by number and packed.
fn sorted_games(file: &Path, games: u64) -> anyhow::Result<Vec<u8>> {
    let text = fs::read_to_string(file)?;
    let number = |line: &str| line.rsplit_once('/').and_then(|(_, number)| number.parse().ok());
    let numbered: BTreeMap<u64, &str> =
        text.lines().filter_map(|line| Some((number(line)?, line))).collect();
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    for line in numbered.range(..games).map(|(_, line)| line) {
        writeln!(packed, "{line}")?;
    }
    Ok(packed.finish()?)
}

/// Returns the network of self-play: a copy, made once, of the one that plays the variant, or of that of the round before
/// if there is none; or a network that has not learned anything, if the settings ask for it.
fn self_play_network(context: &RoundContext<'_>, folder: &RoundFolder) -> anyhow::Result<PathBuf> {
    let copy = folder.self_play_network();
    if !copy.exists() && context.plan.datagen.is_untrained(context.round) {
        replace(&copy, &untrained(context)?)?;
    }
    if !copy.exists() {
        let shipped = ShippedNetwork::find(&context.settings.nets, &context.plan.variant)?;
        let bytes = match shipped {
            Ok(network) => network.bytes,
            Err(refused) if context.round == 0 => {
                let nets = context.settings.nets.display();
                let name = context.plan.name();
                let reasons: String = refused.iter().map(|reason| format!("; {reason}")).collect();
                anyhow::bail!("{nets}: no network that plays {name}{reasons}")
            }
            Err(_) => fs::read(context.folder_of(context.round - 1).candidate())?,
        };
        replace(&copy, &bytes)?;
    }
    Ok(copy)
}

/// Returns the file of a network of random weights.
fn untrained(context: &RoundContext<'_>) -> anyhow::Result<Vec<u8>> {
    let plan = context.plan;
    let name = plan.name();
    let encoding = sparse_encoding(plan)?;
    let network =
        SparseNetwork::new(&SparseLayout::of(&encoding), plan.train.network, context.seed());
    let description = format!("{name}: untrained");
    Ok(export_for_play(&network.weights(), &encoding, name, &description)?.0)
}
