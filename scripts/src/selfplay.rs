//! Self-play: many games as state machines on each thread, one leaf a game, one network call
//! for all.

mod game;

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use cpu_time::ThreadTime;
use menagerie::nn::{EvalError, Evaluator};
use menagerie::rules::Position;
use menagerie::search::{GumbelParams, Params};
use menagerie::variant::Variant;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::random_starts::{self, Opening};
use crate::record::GameRecord;
use game::{Ask, Game};

/// How games are played.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelfPlayConfig {
    /// Visits of the root for each ply.
    pub visits: usize,
    /// How the root is searched.
    pub root: RootSearch,
    /// Parameters of the tree's search by name, where they differ from the engine's.
    pub search: std::collections::BTreeMap<String, f32>,
    /// Games at once on a thread: the size of its batches.
    pub parallel: usize,
    /// A game ends as soon as its end is proven.
    pub stop_when_proven: bool,
    /// A game of so many plies is broken off as a draw.
    pub longest: usize,
    /// How games begin.
    pub opening: Opening,
    /// When a side gives up, in games of two sides; never if not given.
    pub resignation: Option<Resignation>,
    /// Few visits for most plies (KataGo's playout cap randomization, Wu 2019, section 3.1); all
    /// plies alike if not given.
    pub playout_cap: Option<PlayoutCap>,
}

/// When a side gives its game up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resignation {
    /// It expects a score of at most this, from -1 to 1 ..
    pub score: f32,
    /// .. in so many of its plies on end.
    pub plies: usize,
    /// This share of games is played out all the same, to see how often giving up was wrong.
    pub played_out: f64,
}

/// Which plies are searched in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayoutCap {
    /// The share of plies that are; only they teach a policy.
    pub full: f64,
    /// Visits of the other plies, which bring the game on.
    pub visits: usize,
}

/// How the root of a search in self-play is explored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RootSearch {
    /// Sequential halving with Gumbel noise; the policy learns completed scores.
    Gumbel {
        /// Moves considered at first.
        considered: usize,
        /// Weight of a score in logits, beside the most visits.
        c_visit: f32,
        /// Weight of a score in logits, in all.
        c_scale: f32,
    },
    /// AlphaZero's: PUCT with Dirichlet noise and temperature; the policy learns visits.
    Puct {
        /// Concentration of the noise, divided among the legal moves.
        dirichlet: f32,
        /// Share of the noise in the priors.
        noise: f32,
        /// Plies played in proportion to visits; after them the most visited move is played.
        temperature_plies: usize,
    },
}

impl Default for SelfPlayConfig {
    fn default() -> SelfPlayConfig {
        let GumbelParams { considered, c_visit, c_scale, .. } = GumbelParams::default();
        SelfPlayConfig {
            visits: 32,
            root: RootSearch::Gumbel { considered, c_visit, c_scale },
            search: Default::default(),
            parallel: 64,
            stop_when_proven: true,
            longest: 500,
            opening: Opening::default(),
            resignation: None,
            playout_cap: None,
        }
    }
}

impl SelfPlayConfig {
    /// The parameters of the search.
    ///
    /// # Errors
    /// In words, if a name or a value of the settings makes no sense.
    pub fn params(&self) -> Result<Params, String> {
        let share = |name: &str, share: f64| match share {
            0.0..=1.0 => Ok(()),
            _ => Err(format!("{name} is {share}, no share of 1")),
        };
        share("opening.share", self.opening.share)?;
        share("resignation.played_out", self.resignation.as_ref().map_or(0.0, |r| r.played_out))?;
        share("playout_cap.full", self.playout_cap.as_ref().map_or(0.0, |cap| cap.full))?;
        let mut params = Params::default();
        self.search.iter().try_for_each(|(name, value)| params.set(name, *value))?;
        Ok(params)
    }
}

/// What some self-play cost.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct SelfPlayStats {
    /// Visits of all trees.
    pub visits: u64,
    /// Positions that the network was asked for.
    pub evaluations: u64,
    /// CPU time of the threads.
    pub cpu: Duration,
    /// Games that a side gave up.
    pub resigned: u64,
    /// Games that a side would have given up, but which were played out.
    pub played_out: u64,
    /// How many of these it did not lose.
    pub false_resignations: u64,
}

impl std::ops::AddAssign for SelfPlayStats {
    fn add_assign(&mut self, other: SelfPlayStats) {
        self.visits += other.visits;
        self.evaluations += other.evaluations;
        self.cpu += other.cpu;
        self.resigned += other.resigned;
        self.played_out += other.played_out;
        self.false_resignations += other.false_resignations;
    }
}

/// Games with their numbers.
pub type Numbered = Vec<(u64, GameRecord)>;

/// Why self-play stopped.
#[derive(Debug, thiserror::Error)]
pub enum SelfPlayError {
    /// The settings make no sense.
    #[error("the self-play settings make no sense: {0}")]
    Config(String),
    /// The network failed.
    #[error(transparent)]
    Evaluation(#[from] EvalError),
}

/// Plays the games of the given numbers, one evaluator a thread, and gives them by number. Each game
/// depends on its own number and `seed` alone, if the network's numbers do not depend on its batch: on a
/// CPU those of [`export`](crate::onnx::export) do not. `done` is called for every game that ends, from any
/// thread.
///
/// # Errors
/// If the settings make no sense or a network fails; all games are then lost.
pub fn play<E: Evaluator>(
    variant: &Variant,
    evaluators: &mut [E],
    config: &SelfPlayConfig,
    games: &[u64],
    seed: u64,
    done: &(dyn Fn(u64, &GameRecord) + Sync),
) -> Result<(Numbered, SelfPlayStats), SelfPlayError> {
    let params = config.params().map_err(SelfPlayError::Config)?;
    let threads = evaluators.len();
    let finished = Mutex::new((Numbered::new(), SelfPlayStats::default()));
    thread::scope(|scope| {
        let run = |(thread, evaluator): (usize, &mut E)| {
            let numbers = games.iter().copied().skip(thread).step_by(threads);
            let fresh = |number: u64| {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                rng.set_stream(number);
                let start: Position = random_starts::start(variant, &config.opening, &mut rng);
                Game::new(number, start, params, config, rng)
            };
            let (records, spent) = worker(evaluator, config, numbers.map(fresh), done)?;
            let mut finished = finished.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            finished.0.extend(records);
            finished.1 += spent;
            Ok::<_, SelfPlayError>(())
        };
        let workers: Vec<_> =
            (0..).zip(evaluators.iter_mut()).map(|work| scope.spawn(move || run(work))).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    let (mut records, spent) =
        finished.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    records.sort_by_key(|(number, _)| *number);
    Ok((records, spent))
}

/// The games of one thread.
fn worker<'a, E: Evaluator>(
    evaluator: &mut E,
    config: &SelfPlayConfig,
    mut fresh: impl Iterator<Item = Game<'a>>,
    done: &(dyn Fn(u64, &GameRecord) + Sync),
) -> Result<(Numbered, SelfPlayStats), SelfPlayError> {
    let clock = ThreadTime::now();
    let mut batch = evaluator.new_batch();
    let mut playing: Vec<Game<'a>> = Vec::new();
    let mut records = Vec::new();
    let mut spent = SelfPlayStats::default();
    loop {
        playing.extend(fresh.by_ref().take(config.parallel.max(1) - playing.len()));
        batch.clear();
        let mut at = 0;
        while let Some(game) = playing.get_mut(at) {
            match game.advance(evaluator, &mut batch) {
                Ask::Evaluation => at += 1,
                Ask::Over => {
                    let game = playing.swap_remove(at);
                    spent += game.spent();
                    let (number, record) = game.into_record();
                    done(number, &record);
                    records.push((number, record));
                    playing.extend(fresh.next());
                }
            }
        }
        if playing.is_empty() {
            spent.cpu = clock.elapsed();
            return Ok((records, spent));
        }
        evaluator.evaluate(&mut batch)?;
        spent.evaluations += batch.len() as u64;
        for (row, game) in playing.iter_mut().enumerate() {
            game.take(batch.evaluation(row));
        }
    }
}
