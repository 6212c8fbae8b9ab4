//! Which matches a ladder has, and their playing.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::rating::Pairing;
use super::results::{Ascent, Results, Steps};
use super::standing::Standings;
use crate::arena::Arena;
use crate::arena::config::MatchConfig;
use crate::arena::folder::Folder;
use crate::arena::schedule::Schedule;
use crate::arena::spec::{Kind, PlayerSpec};
use crate::arena::table::tallies;
use crate::record::replace;

/// Opponents, and where games against them begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// The game.
    pub variant: String,
    /// The rungs, from the weakest to the strongest.
    pub rungs: Vec<Rung>,
    /// The rung whose rating is 0, by number.
    pub anchor: usize,
    /// A book of openings; random plies if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub book: Option<PathBuf>,
    /// The seed of all that is random.
    pub seed: u64,
}

/// An opponent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rung {
    /// Who it is.
    pub opponent: PlayerSpec,
    /// Whether it is matched with the rung below it. One that thinks as long as the player is not: it
    /// would take more time than all the others.
    pub matched: bool,
}

/// How many games are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// At each rung.
    pub games: u64,
    /// At the first rung that is not beaten by nine points to one.
    pub close: u64,
    /// Between each rung and the one below it.
    pub rungs: u64,
    /// Games at a time.
    pub threads: usize,
}

/// The nodes of the engine's rungs.
const NODES: [u32; 4] = [100, 1_000, 10_000, 100_000];
/// Of these the one that ratings are relative to.
const ANCHOR: u32 = 10_000;
/// The visits of the search without a network.
const UNGUIDED: u32 = 10_000;
/// A rung is beaten with this share of the points.
const BEATEN: f64 = 0.9;

const CONFIG: &str = "ladder.toml";
/// What came of all matches.
const RESULTS: &str = "results.toml";
/// Where the rungs meet one another.
const RUNGS: &str = "rungs";
/// Where players climb, each in a folder of its own.
const PLAYERS: &str = "players";

impl Ladder {
    /// The usual rungs for players that have `movetime` milliseconds a turn. The rating of the engine
    /// at 10,000 nodes is 0, or without one that of the search without a network.
    pub fn new(variant: &str, engine: Option<&PlayerSpec>, movetime: u64) -> Ladder {
        let matched = |opponent| Rung { opponent, matched: true };
        let unguided = PlayerSpec { visits: Some(UNGUIDED), ..PlayerSpec::new(Kind::Uniform) };
        let mut rungs = vec![matched(PlayerSpec::new(Kind::Random)), matched(unguided)];
        if let Some(engine) = engine {
            rungs.extend(
                NODES.map(|nodes| matched(PlayerSpec { visits: Some(nodes), ..engine.clone() })),
            );
            let opponent = PlayerSpec { movetime: Some(movetime), ..engine.clone() };
            rungs.push(Rung { opponent, matched: false });
        }
        let anchor =
            rungs.iter().rposition(|rung| rung.opponent.visits == Some(ANCHOR)).unwrap_or_default();
        Ladder { variant: variant.to_owned(), rungs, anchor, book: None, seed: 1 }
    }

    /// Reads the ladder of a folder.
    ///
    /// # Errors
    /// If there is none, or it makes no sense.
    pub fn read(folder: &Path) -> anyhow::Result<Ladder> {
        let path = folder.join(CONFIG);
        let name = path.display();
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        let ladder: Ladder =
            toml::from_str(&text).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        anyhow::ensure!(
            ladder.anchor < ladder.rungs.len(),
            "{name}: there is no rung {} to be the anchor",
            ladder.anchor
        );
        Ok(ladder)
    }

    /// Lets a player climb in a folder, where others may have climbed before: first the rungs play one
    /// another, then the player plays each from the weakest on, then more games at the first that it
    /// did not beat. What has been played is not played again. `seen` hears of each match before it
    /// goes on and after each game: which one, how many of its games are over, and of how many.
    ///
    /// # Errors
    /// If a player cannot be started, or the folder is that of another ladder or cannot be written.
    pub fn climb(
        &self,
        folder: &Path,
        player: &PlayerSpec,
        limits: Limits,
        seen: &mut dyn FnMut(&str, usize, u64),
    ) -> anyhow::Result<Standings> {
        self.keep(folder)?;
        let mut play = |name: &Path, players: [&PlayerSpec; 2], games: u64| {
            let mut arena = Arena::open(&folder.join(name), self.config(players, games))?;
            let (mut done, name) = (arena.done(), name.to_string_lossy());
            seen(&name, done, games);
            arena.play(limits.threads, &mut |_| {
                done += 1;
                seen(&name, done, games);
            })?;
            arena.report()?;
            let total = tallies(arena.schedule(), arena.games())[0].total();
            anyhow::Ok(Pairing::of([0, 1], total))
        };
        for upper in 1..self.rungs.len() {
            if let Some((name, players)) = self.between(upper) {
                play(&name, players, limits.rungs)?;
            }
        }
        let own = Path::new(PLAYERS).join(folder_name(player));
        let place = |rung: usize| own.join(self.place(rung));
        let mut close = None;
        for (number, rung) in self.rungs.iter().enumerate() {
            let met = play(&place(number), [player, &rung.opponent], limits.games)?;
            if met.points < BEATEN * met.games {
                close = close.or(Some(number));
            }
        }
        if let Some(number) = close {
            let players = [player, &self.rungs[number].opponent];
            play(&place(number), players, limits.close.max(limits.games))?;
        }
        let results = self.results(folder)?;
        let path = folder.join(RESULTS);
        replace(&path, toml::to_string(&results)?.as_bytes())
            .map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
        Ok(Standings::of(&results))
    }

    /// What has been played in a folder, by all who climbed there.
    ///
    /// # Errors
    /// If a match cannot be read.
    pub(super) fn results(&self, folder: &Path) -> anyhow::Result<Results> {
        let step = |(upper, rung): (usize, &Rung)| {
            let path = self.between(upper).map(|(name, _)| folder.join(name));
            let over = path.map(|path| result(&path)).transpose()?.flatten();
            Ok(Steps { name: rung.opponent.name(), over: over.map(|(_, games)| games) })
        };
        let steps = self.rungs.iter().enumerate().map(step).collect::<anyhow::Result<Vec<_>>>()?;
        let mut climbers = Vec::new();
        for path in folders(&folder.join(PLAYERS))? {
            let games = (0..self.rungs.len()).map(|rung| result(&path.join(self.place(rung))));
            let games = games.collect::<anyhow::Result<Vec<_>>>()?;
            let Some(name) = games.iter().flatten().map(|(name, _)| name.clone()).next() else {
                continue;
            };
            let games = games.into_iter().map(|met| met.map_or([0; 3], |(_, games)| games));
            climbers.push(Ascent { name, games: games.collect() });
        }
        Ok(Results { variant: self.variant.clone(), anchor: self.anchor, rungs: steps, climbers })
    }

    /// The folder of a player's match at a rung, within the player's own.
    fn place(&self, rung: usize) -> String {
        format!("{:02}-{}", rung + 1, folder_name(&self.rungs[rung].opponent))
    }

    /// The match of a rung against the one below it, if there is one.
    fn between(&self, upper: usize) -> Option<(PathBuf, [&PlayerSpec; 2])> {
        let rung = self.rungs.get(upper).filter(|rung| rung.matched)?;
        let lower = &self.rungs.get(upper.checked_sub(1)?)?.opponent;
        let name = format!("{}-over-{}", folder_name(&rung.opponent), folder_name(lower));
        Some((Path::new(RUNGS).join(name), [&rung.opponent, lower]))
    }

    fn config(&self, players: [&PlayerSpec; 2], games: u64) -> MatchConfig {
        MatchConfig {
            games,
            seed: self.seed,
            book: self.book.clone(),
            ..MatchConfig::new(&self.variant, players.map(Clone::clone).to_vec())
        }
    }

    /// Writes the ladder down, unless it is there.
    fn keep(&self, folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(CONFIG);
        if path.exists() {
            anyhow::ensure!(
                Ladder::read(folder)? == *self,
                "{} is of another ladder; choose another folder, or remove it",
                path.display()
            );
            return Ok(());
        }
        let fault = |error: std::io::Error| anyhow::anyhow!("{}: {error}", path.display());
        std::fs::create_dir_all(folder).map_err(fault)?;
        replace(&path, toml::to_string(self)?.as_bytes()).map_err(fault)
    }
}

/// A player's name where no other characters of it can lead out of the folder.
fn folder_name(player: &PlayerSpec) -> String {
    let name = player.name();
    name.chars().map(|c| if c.is_alphanumeric() || "-_=".contains(c) { c } else { '_' }).collect()
}

/// The folders in a folder, by name.
fn folders(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let fault = |error: std::io::Error| anyhow::anyhow!("{}: {error}", path.display());
    let entries = std::fs::read_dir(path).map_err(fault)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()).map_err(fault));
    let mut paths = paths.collect::<anyhow::Result<Vec<_>>>()?;
    paths.retain(|path| path.is_dir());
    paths.sort();
    Ok(paths)
}

/// The first player of a match and its games won, drawn and lost, if there is such a match.
fn result(path: &Path) -> anyhow::Result<Option<(String, [u64; 3])>> {
    if !path.exists() {
        return Ok(None);
    }
    let (config, games) = Folder::read(path)?;
    let schedule = Schedule::new(&config);
    Ok(Some((schedule.names[0].clone(), tallies(&schedule, &games)[0].total())))
}
