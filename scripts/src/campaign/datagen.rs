//! The first stage of a round: games to learn from.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::round::{RoundContext, RoundFolder};
use super::settings::{EngineSettings, GameSource};
use super::shipped::{ShippedNetwork, file_name};
use super::state::GamesResult;
use crate::datagen::{DatagenConfig, generate_until};
use crate::record::replace;

/// Plays the games of a round; `None` if it was stopped.
///
/// The result is a pure function of the settings if the engine's moves are: games are numbered, and stand in
/// that order however many engines played them.
pub(super) fn play_games(context: &RoundContext<'_>) -> anyhow::Result<Option<GamesResult>> {
    let plan = context.plan;
    let folder = context.folder();
    if plan.datagen.games == 0 {
        return Ok(Some(GamesResult { games: 0, source: "records alone".to_owned() }));
    }
    fs::create_dir_all(folder.path())?;
    let player = player(context, &folder)?;
    // Written in one step: if it is there, it is complete.
    if !folder.games().exists() {
        let partial = folder.partial_games();
        if !play(context, &player, &partial)? {
            return Ok(None);
        }
        let sorted = sorted_games(&partial, plan.datagen.games)?;
        replace(&folder.games(), &sorted)?;
    }
    if folder.partial_games().exists() {
        fs::remove_file(folder.partial_games())?;
    }
    let games = BufReader::new(GzDecoder::new(fs::File::open(folder.games())?)).lines().count();
    Ok(Some(GamesResult { games: games as u64, source: player.description }))
}

/// An engine that plays the games.
struct GamePlayer {
    file: PathBuf,
    options: Vec<(String, String)>,
    nodes: u64,
    description: String,
}

/// Plays games into a file until all are there. Returns `false` if it was stopped.
fn play(context: &RoundContext<'_>, player: &GamePlayer, file: &Path) -> anyhow::Result<bool> {
    let plan = context.plan;
    let config = DatagenConfig {
        options: player.options.clone(),
        limits: format!("nodes {}", player.nodes),
        opening: plan.datagen.opening,
        random: plan.datagen.random,
        seed: context.seed(),
        ..DatagenConfig::new(player.file.clone())
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

fn player(context: &RoundContext<'_>, folder: &RoundFolder) -> anyhow::Result<GamePlayer> {
    let plan = context.plan;
    if context.round == 0 || plan.datagen.later == GameSource::Engine {
        let EngineSettings { file, nodes, options } = plan.engine.clone();
        let file = file.ok_or_else(|| anyhow::anyhow!("no file in [engine]"))?;
        let description = format!("{}, {nodes} nodes", file_name(&file));
        return Ok(GamePlayer { file, options: options.into_iter().collect(), nodes, description });
    }
    let EngineSettings { file, nodes, options } = plan.self_play.clone();
    let file = file.map_or_else(own_engine, Ok)?;
    let network = self_play_network(context, folder)?;
    let mut options: Vec<_> = options.into_iter().collect();
    // First, as the variant may be one of that file.
    if let Some(variants) = &context.settings.variants_file {
        options.insert(0, ("VariantPath".to_owned(), variants.display().to_string()));
    }
    options.push(("WeightsFile".to_owned(), network.display().to_string()));
    let description = format!("self-play, {nodes} nodes");
    Ok(GamePlayer { file, options, nodes, description })
}

/// Returns the network that our own engine plays with: a copy, made once, of the shipped one, or of that of
/// the round before if none is shipped.
fn self_play_network(context: &RoundContext<'_>, folder: &RoundFolder) -> anyhow::Result<PathBuf> {
    let copy = folder.self_play_network();
    if !copy.exists() {
        let shipped = ShippedNetwork::find(&context.settings.nets, &context.plan.variant)?;
        let bytes = match shipped {
            Some(network) if network.made_for.is_none() => network.bytes,
            _ => fs::read(context.folder_of(context.round.saturating_sub(1)).candidate())?,
        };
        replace(&copy, &bytes)?;
    }
    Ok(copy)
}

/// Returns the engine next to this executable.
fn own_engine() -> anyhow::Result<PathBuf> {
    let name = format!("menagerie{}", std::env::consts::EXE_SUFFIX);
    let file = std::env::current_exe()?.with_file_name(name);
    anyhow::ensure!(
        file.exists(),
        "no engine \"{}\": build it, or name one in [self_play]",
        file.display()
    );
    Ok(file)
}
