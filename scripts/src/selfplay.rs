//! Self-play: each thread plays many games at once as state machines, and evaluates one leaf of each in
//! one batch.

mod game;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use cpu_time::ThreadTime;
use menagerie::nn::{EvalError, Evaluator};
use menagerie::search::{GumbelParams, Params};
use menagerie::variant::Variant;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::random_starts::{Opening, StartError};
use crate::record::GameRecord;
use game::{Progress, SelfPlayGame};

/// How games are played.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SelfPlayConfig {
    /// Visits of a ply.
    pub visits: usize,
    /// How the root is searched.
    pub root: RootSearch,
    /// Search parameters by name (docs/search.md). The others have the defaults of the engine.
    pub search: std::collections::BTreeMap<String, f32>,
    /// Concurrent games of a thread, and its batch size.
    pub parallel: usize,
    /// Games end as soon as their result is proven.
    pub stop_when_proven: bool,
    /// Plies after which a game is drawn.
    #[serde(alias = "longest")]
    pub max_plies: usize,
    /// The start of games.
    pub opening: Opening,
    /// When a side resigns; never if not set. Only in games of two sides.
    pub resignation: Option<Resignation>,
    /// Plies with fewer visits; none if not set. This is KataGo's playout cap randomization (Wu 2019, section
    /// 3.1).
    pub playout_cap: Option<PlayoutCap>,
    /// The positions of the searches with all visits that are recorded as side positions, for the value. Without a table
    /// there are none.
    pub side_positions: Option<SidePositions>,
}

/// When a side resigns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resignation {
    /// Greatest expected score, -1 to 1, at which a side resigns.
    pub score: f32,
    /// Consecutive plies of the side with such a score.
    pub plies: usize,
    /// Share of games, 0 to 1, that are played out. They count false resignations.
    pub played_out: f64,
}

/// Which plies are searched with all visits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlayoutCap {
    /// Share of plies, 0 to 1, with all visits. Only these have a policy target.
    pub full: f64,
    /// Visits of the other plies.
    pub visits: usize,
}

/// The positions of a search that are recorded as side positions.
///
/// Most positions that a search evaluates follow a mistake, of which games have few.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SidePositions {
    /// The greatest number of a search, drawn at random.
    pub count: usize,
    /// The least number of their visits.
    pub visits: u32,
}

/// How the root is explored in self-play.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RootSearch {
    /// Sequential halving with Gumbel noise. The policy target is the improved policy.
    Gumbel {
        /// Moves considered at first.
        considered: usize,
        /// Term added to the most visits of a move. This is `c_visit` of the transformation of scores.
        c_visit: f32,
        /// Factor of the transformed scores. This is `c_scale` of the transformation of scores.
        c_scale: f32,
    },
    /// PUCT with Dirichlet noise and temperature, as in AlphaZero. The policy target is the visits.
    Puct {
        /// Concentration of the noise, divided by the number of legal moves.
        dirichlet: f32,
        /// Share of the noise in the priors, 0 to 1.
        noise: f32,
        /// Plies whose moves are drawn in proportion to visits. Later the most visited move is played.
        temperature_plies: usize,
    },
}

/// The greatest number of visits, games at a time and plies.
const MAX_COUNT: usize = 10_000_000;

impl RootSearch {
    /// Returns the settings that are numbers from 0 on, by name.
    fn numbers(&self) -> [(&'static str, f32); 2] {
        match *self {
            RootSearch::Gumbel { c_visit, c_scale, .. } => {
                [("root.gumbel.c_visit", c_visit), ("root.gumbel.c_scale", c_scale)]
            }
            RootSearch::Puct { dirichlet, noise, .. } => {
                [("root.puct.dirichlet", dirichlet), ("root.puct.noise", noise)]
            }
        }
    }
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
            max_plies: 500,
            opening: Opening::default(),
            resignation: None,
            playout_cap: None,
            side_positions: None,
        }
    }
}

impl SelfPlayConfig {
    /// Returns the default of self-play with sparse networks. Half of the plies have few visits, as the value learns from
    /// games, the policy from visits. For the same CPU time 256 and 64 visits made the networks no better, side positions
    /// did (docs/history/networks.md).
    pub fn for_sparse() -> SelfPlayConfig {
        SelfPlayConfig {
            visits: 96,
            root: RootSearch::Gumbel { considered: 16, c_visit: 50.0, c_scale: 1.0 },
            search: Params::sparse()
                .changed()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            max_plies: 300,
            opening: Opening { share: 1.0, plies: 8, ..Opening::default() },
            playout_cap: Some(PlayoutCap { full: 0.5, visits: 24 }),
            side_positions: Some(SidePositions { count: 8, visits: 8 }),
            ..SelfPlayConfig::default()
        }
    }

    /// Checks the settings and returns the search parameters.
    ///
    /// # Errors
    /// [`SelfPlayError::Share`] and [`SelfPlayError::Search`].
    pub fn params(&self) -> Result<Params, SelfPlayError> {
        let played_out = self.resignation.as_ref().map_or(0.0, |rule| rule.played_out);
        let full = self.playout_cap.as_ref().map_or(0.0, |cap| cap.full);
        for (name, value) in [
            ("opening.share", self.opening.share),
            ("resignation.played_out", played_out),
            ("playout_cap.full", full),
            ("opening.max_score", f64::from(self.opening.max_score.unwrap_or(1.0))),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return Err(SelfPlayError::Share { name, value });
            }
        }
        let cap_visits = self.playout_cap.as_ref().map_or(1, |cap| cap.visits);
        for (name, value) in [
            ("visits", self.visits),
            ("parallel", self.parallel),
            ("max_plies", self.max_plies),
            ("playout_cap.visits", cap_visits),
        ] {
            if !(1..=MAX_COUNT).contains(&value) {
                return Err(SelfPlayError::Count { name, value });
            }
        }
        for (name, value) in self.root.numbers() {
            if !(value.is_finite() && value >= 0.0) {
                return Err(SelfPlayError::Number { name, value });
            }
        }
        let mut params = Params::default();
        for (name, value) in &self.search {
            params.set(name, *value).map_err(|error| SelfPlayError::Search(error.to_string()))?;
        }
        Ok(params)
    }

    /// Checks the settings for games of a variant.
    ///
    /// # Errors
    /// The first invalid setting.
    pub fn check(&self, variant: &Variant) -> Result<(), SelfPlayError> {
        self.params()?;
        self.opening.positions(variant)?;
        Ok(())
    }
}

/// Statistics of self-play.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SelfPlayStats {
    /// Visits of all trees.
    pub visits: u64,
    /// Positions that the network evaluated.
    pub evaluations: u64,
    /// CPU time of the threads.
    pub cpu: Duration,
    /// Games that a side resigned.
    pub resigned: u64,
    /// Games that a side would have resigned, but which were played out.
    pub played_out: u64,
    /// Games among these that this side did not lose.
    pub false_resignations: u64,
}

impl std::ops::AddAssign for SelfPlayStats {
    fn add_assign(&mut self, other: SelfPlayStats) {
        self.visits = self.visits.saturating_add(other.visits);
        self.evaluations = self.evaluations.saturating_add(other.evaluations);
        self.cpu = self.cpu.saturating_add(other.cpu);
        self.resigned = self.resigned.saturating_add(other.resigned);
        self.played_out = self.played_out.saturating_add(other.played_out);
        self.false_resignations = self.false_resignations.saturating_add(other.false_resignations);
    }
}

/// Greatest CPU time of the games of one upload: 30 years.
const MAX_STATS_CPU: Duration = Duration::from_secs(1_000_000_000);

/// Greatest number of visits, evaluations or games of one upload.
const MAX_STATS_COUNT: u64 = 1_000_000_000_000;

/// A statistic that no worker can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StatsError {
    /// The CPU time is too long.
    #[error("its CPU time is {} seconds, more than {}", .0.as_secs(), MAX_STATS_CPU.as_secs())]
    Cpu(Duration),
    /// A number is too large.
    #[error("its number of {name} is {value}, more than {MAX_STATS_COUNT}")]
    Count {
        /// What is counted.
        name: &'static str,
        /// The number.
        value: u64,
    },
}

impl SelfPlayStats {
    /// Checks that these can be the statistics of the games that a worker uploads at once.
    ///
    /// # Errors
    /// [`StatsError`].
    pub fn check(&self) -> Result<(), StatsError> {
        if self.cpu > MAX_STATS_CPU {
            return Err(StatsError::Cpu(self.cpu));
        }
        for (name, value) in [
            ("visits", self.visits),
            ("evaluations", self.evaluations),
            ("resigned games", self.resigned),
            ("games played out", self.played_out),
            ("false resignations", self.false_resignations),
        ] {
            if value > MAX_STATS_COUNT {
                return Err(StatsError::Count { name, value });
            }
        }
        Ok(())
    }
}

/// Games with their numbers.
pub type NumberedGames = Vec<(u64, GameRecord)>;

/// Why self-play failed.
#[derive(Debug, thiserror::Error)]
pub enum SelfPlayError {
    /// A setting that is a share is not one.
    #[error("invalid self-play configuration: {name} must be between 0 and 1, got {value}")]
    Share {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// A setting that counts something is out of range.
    #[error("invalid self-play configuration: {name} is {value}, not 1 to {MAX_COUNT}")]
    Count {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: usize,
    },
    /// A setting of the root is negative or no number.
    #[error("invalid self-play configuration: {name} is {value}, not a number from 0 on")]
    Number {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: f32,
    },
    /// An unknown search parameter, or an invalid value of one.
    #[error("invalid self-play configuration: {0}")]
    Search(String),
    /// A start position that is none.
    #[error("invalid self-play configuration: opening.starts: {0}")]
    Start(#[from] StartError),
    /// The network failed.
    #[error(transparent)]
    Evaluation(#[from] EvalError),
}

/// The caller of self-play: decides which games the threads play, and receives them.
pub trait SelfPlayHost<E>: Sync {
    /// Returns the number of the next game of a thread; `None` if it begins no other game. A game depends on its
    /// number and the seed only, provided that evaluations do not depend on the rest of the batch: on a CPU those
    /// of networks of [`export`](crate::onnx::export) do not.
    fn next_game(&self, thread: usize) -> Option<u64>;

    /// Called by each thread before each batch, and may replace its evaluator. Returns `false` to abandon the
    /// games in progress.
    fn may_continue(&self, thread: usize, evaluator: &mut E) -> bool;

    /// Receives a finished game and its statistics, which include no CPU time.
    fn receive_game(&self, number: u64, game: GameRecord, stats: SelfPlayStats);
}

/// Plays the games that `host` asks for, with one thread for each evaluator. Returns the statistics of the finished
/// games with the CPU time of the threads.
///
/// # Errors
/// [`SelfPlayError`] if the settings are invalid or a network fails; the games in progress are then lost.
pub fn play<E: Evaluator>(
    variant: &Variant,
    evaluators: &mut [E],
    config: &SelfPlayConfig,
    seed: u64,
    host: &impl SelfPlayHost<E>,
) -> Result<SelfPlayStats, SelfPlayError> {
    let params = config.params()?;
    let starts = config.opening.positions(variant)?;
    let new_game = |number: u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(number);
        SelfPlayGame::new(number, variant, &starts, params, config, rng)
    };
    thread::scope(|scope| {
        let run = |(thread, evaluator): (usize, &mut E)| {
            let new_games = std::iter::from_fn(|| host.next_game(thread)).map(new_game);
            run_thread(evaluator, config, new_games, thread, host)
        };
        let threads: Vec<_> =
            evaluators.iter_mut().enumerate().map(|work| scope.spawn(move || run(work))).collect();
        let mut total = SelfPlayStats::default();
        for thread in threads {
            match thread.join() {
                Ok(stats) => total += stats?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(total)
    })
}

/// Plays the games of the given numbers with one thread for each evaluator, and returns them in the order of
/// their numbers. `done` is called for every finished game, by any thread.
///
/// # Errors
/// [`SelfPlayError`] if the settings are invalid or a network fails; all games are then lost.
pub fn play_games<E: Evaluator>(
    variant: &Variant,
    evaluators: &mut [E],
    config: &SelfPlayConfig,
    games: &[u64],
    seed: u64,
    done: &(dyn Fn(u64, &GameRecord) + Sync),
) -> Result<(NumberedGames, SelfPlayStats), SelfPlayError> {
    play_games_until(variant, evaluators, config, games, seed, &AtomicBool::new(false), done)
}

/// Does what [`play_games`] does until `stop` is set: the games in progress are then abandoned.
///
/// # Errors
/// As for [`play_games`].
pub fn play_games_until<E: Evaluator>(
    variant: &Variant,
    evaluators: &mut [E],
    config: &SelfPlayConfig,
    games: &[u64],
    seed: u64,
    stop: &AtomicBool,
    done: &(dyn Fn(u64, &GameRecord) + Sync),
) -> Result<(NumberedGames, SelfPlayStats), SelfPlayError> {
    let threads = evaluators.len();
    let shares = (0..threads).map(|thread| games.iter().copied().skip(thread).step_by(threads));
    let host = FixedGames {
        remaining: shares.map(|numbers| Mutex::new(numbers.collect())).collect(),
        finished: Mutex::default(),
        stop,
        done,
    };
    let stats = play(variant, evaluators, config, seed, &host)?;
    let mut records = host.finished.into_inner().unwrap_or_else(PoisonError::into_inner);
    records.sort_by_key(|(number, _)| *number);
    Ok((records, stats))
}

/// Games of given numbers.
struct FixedGames<'a> {
    /// The numbers of each thread that have not begun.
    remaining: Vec<Mutex<VecDeque<u64>>>,
    finished: Mutex<NumberedGames>,
    stop: &'a AtomicBool,
    done: &'a (dyn Fn(u64, &GameRecord) + Sync),
}

impl<E> SelfPlayHost<E> for FixedGames<'_> {
    fn next_game(&self, thread: usize) -> Option<u64> {
        let remaining = self.remaining.get(thread)?;
        remaining.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    fn may_continue(&self, _thread: usize, _evaluator: &mut E) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn receive_game(&self, number: u64, game: GameRecord, _stats: SelfPlayStats) {
        (self.done)(number, &game);
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        finished.push((number, game));
    }
}

/// Plays the games of one thread.
fn run_thread<'a, E: Evaluator>(
    evaluator: &mut E,
    config: &SelfPlayConfig,
    mut new_games: impl Iterator<Item = SelfPlayGame<'a>>,
    thread: usize,
    host: &impl SelfPlayHost<E>,
) -> Result<SelfPlayStats, SelfPlayError> {
    let clock = ThreadTime::now();
    let mut batch = evaluator.new_batch();
    let mut playing: Vec<SelfPlayGame<'a>> = Vec::new();
    let mut stats = SelfPlayStats::default();
    while host.may_continue(thread, evaluator) {
        playing.extend(new_games.by_ref().take(config.parallel.max(1) - playing.len()));
        batch.clear();
        let mut at = 0;
        while let Some(game) = playing.get_mut(at) {
            match game.advance(evaluator, &mut batch) {
                Progress::NeedsEvaluation => at += 1,
                Progress::Finished => {
                    let game = playing.swap_remove(at);
                    let game_stats = game.stats();
                    let (number, record) = game.into_record();
                    host.receive_game(number, record, game_stats);
                    stats += game_stats;
                    playing.extend(new_games.next());
                }
            }
        }
        if playing.is_empty() {
            break;
        }
        evaluator.evaluate(&mut batch)?;
        for (row, game) in playing.iter_mut().enumerate() {
            game.receive_evaluation(batch.evaluation(row));
        }
    }
    stats.cpu = clock.elapsed();
    Ok(stats)
}
