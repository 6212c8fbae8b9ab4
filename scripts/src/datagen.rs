//! Labelled games: a reference engine plays against itself, and its moves and scores are the labels.
//!
//! Each game begins with random turns ([`crate::random_starts`]), so that games differ even with a
//! deterministic engine; each opening is played once. In the first turns a few moves are random, so that the games
//! contain answers to mistakes; the label is always the move of the engine, not the random move. Games end by the
//! rules, including claimable outcomes, or are drawn after a number of turns.
//!
//! After random turns one side is often far ahead, and games that are played to the mate have most of their positions
//! there. [`DatagenConfig::max_opening_score`] and [`DatagenConfig::win_score`] leave out what is decided: in chess 53 % of
//! the positions without them had scores of more than 4 pawns.
//!
//! - `bughouse`: games of two boards.
//! - [`job`]: games of many processes in a store; [`gather`]: collects them in a file.
//!
//! A game is a line of text in the format of `readers/labelled.rs`, with a fifth field: the seed and the number of
//! the game. Only whole lines are added to the file, so that only the games in progress are lost when the process
//! is killed. They are played again from the same openings. The file is locked meanwhile.

mod bughouse;
pub mod gather;
pub mod job;

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use menagerie::rules::{Move, MoveList, Position, Side};
use menagerie::variant::Variant;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use crate::eval_scale::EngineScore;
use crate::file_lock::LockedFile;
use crate::random_starts::{self, Opening};
use crate::uci_engine::{Answer, EngineError, UciEngine};

/// The settings of the games.
#[derive(Clone, Debug, PartialEq)]
pub struct DatagenConfig {
    /// The executable of the engine.
    pub engine: PathBuf,
    /// Options of the engine, in order. `UCI_Variant` and `MultiPV` are set in addition.
    pub options: Vec<(String, String)>,
    /// The arguments of `go`: `nodes 4000`.
    pub limits: String,
    /// The number of best moves of each position.
    pub multipv: usize,
    /// The maximum number of random plies at the start; the minimum is 1.
    pub opening: usize,
    /// The probability of a random turn, in the first `random_turns` turns.
    pub random: f64,
    /// The number of turns that may be random.
    pub random_turns: usize,
    /// The number of turns after which a game is drawn.
    pub max_turns: usize,
    /// Openings with a greater score than this for either side, in centipawns, are not played.
    pub max_opening_score: Option<u32>,
    /// A game is won by a side whose score is at least this in four plies in a row, in centipawns.
    pub win_score: Option<u32>,
    /// The seed of the openings and the random turns.
    pub seed: u64,
    /// The time limit of a move; an engine that exceeds it has failed.
    pub patience: Duration,
}

impl DatagenConfig {
    /// The default of [`DatagenConfig::random`].
    pub const DEFAULT_RANDOM: f64 = 0.06;

    /// Returns the default settings: 4,000 nodes a move, 1 to 9 random plies at the start, 6 % random turns among the
    /// first 60, at most 400 turns.
    pub fn new(engine: PathBuf) -> DatagenConfig {
        DatagenConfig {
            engine,
            options: Vec::new(),
            limits: "nodes 4000".to_owned(),
            multipv: 1,
            opening: 9,
            random: DatagenConfig::DEFAULT_RANDOM,
            random_turns: 60,
            max_turns: 400,
            max_opening_score: None,
            win_score: None,
            seed: 1,
            patience: Duration::from_secs(60),
        }
    }
}

/// The number of plies in a row with a score of at least [`DatagenConfig::win_score`] after which a game is won. It is
/// greater than 2, so that both sides agree.
const WON_PLIES: usize = 4;

/// The number of openings that are tried for one with a score within [`DatagenConfig::max_opening_score`].
const OPENING_TRIES: usize = 100;

/// Why the generation of games ended.
#[derive(Debug, thiserror::Error)]
pub enum DatagenError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine played an illegal move.
    #[error("the engine {engine} played \"{text}\", which is not a legal move in \"{fen}\"")]
    Illegal {
        /// The executable.
        engine: String,
        /// The text of the move.
        text: String,
        /// The position.
        fen: String,
    },
    /// The variant does not have two sides, or the settings do not fit it.
    #[error("{0}")]
    Unfit(String),
    /// Another process writes the file.
    #[error("{path} is in use by another process that generates games")]
    InUse {
        /// The file.
        path: String,
    },
    /// The file has other content than the games of this function.
    #[error(
        "{path} has lines that are not games of {variant} by this command, choose another name"
    )]
    Foreign {
        /// The file.
        path: String,
        /// The variant.
        variant: String,
    },
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The error of the system.
        source: std::io::Error,
    },
}

/// Plays games until `file` has those with the numbers 0 to `games`, with `engines` processes in parallel. Calls
/// `done` with the number of each game, and returns the number of games that were played now.
///
/// # Errors
/// The first error of a process or the file. The games in the file are complete.
pub fn generate(
    variant: &Variant,
    config: &DatagenConfig,
    games: u64,
    engines: usize,
    file: &Path,
    done: &(dyn Fn(u64) + Sync),
) -> Result<u64, DatagenError> {
    generate_until(variant, config, games, engines, file, &AtomicBool::new(false), done)
}

/// Does what [`generate`] does until `stop` is set: the games in progress are then abandoned.
///
/// # Errors
/// As for [`generate`].
pub fn generate_until(
    variant: &Variant,
    config: &DatagenConfig,
    games: u64,
    engines: usize,
    file: &Path,
    stop: &AtomicBool,
    done: &(dyn Fn(u64) + Sync),
) -> Result<u64, DatagenError> {
    let io = |source| DatagenError::Io { path: file.display().to_string(), source };
    check(variant, config)?;
    let opened = OpenOptions::new().read(true).append(true).create(true).open(file).map_err(io)?;
    let locked = LockedFile::lock(opened)
        .ok_or_else(|| DatagenError::InUse { path: file.display().to_string() })?;
    let existing = existing_games(locked.file(), variant.name(), config.seed);
    let existing = existing.map_err(io)?.ok_or_else(|| DatagenError::Foreign {
        path: file.display().to_string(),
        variant: variant.name().to_owned(),
    })?;
    let out = Mutex::new(locked.file());
    let next = AtomicU64::new(0);
    let played = AtomicU64::new(0);
    let next_game = || {
        let mut numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let number = numbers.find(|number| !existing.contains(number))?;
        if number < games { Some(number) } else { None }
    };
    let store_line = |number: u64, line: String| {
        // A thread that panicked while it held the lock wrote a whole line or none.
        let mut out = out.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        out.write_all(line.as_bytes()).and_then(|()| out.sync_data()).map_err(io)?;
        played.fetch_add(1, Ordering::Relaxed);
        done(number);
        Ok(())
    };
    run_engines(variant, config, engines, stop, &next_game, &store_line)?;
    Ok(played.into_inner())
}

/// Plays games with `engines` processes in parallel until `next_game` returns no number or `stop` is set. Calls
/// `receive` with the number and the line of each game.
fn run_engines(
    variant: &Variant,
    config: &DatagenConfig,
    engines: usize,
    stop: &AtomicBool,
    next_game: &(dyn Fn() -> Option<u64> + Sync),
    receive: &(dyn Fn(u64, String) -> Result<(), DatagenError> + Sync),
) -> Result<(), DatagenError> {
    let failed = AtomicBool::new(false);
    let work = || -> Result<(), DatagenError> {
        let mut generator = GameGenerator::start(variant, config, stop)?;
        while !failed.load(Ordering::Relaxed) {
            let Some(number) = next_game() else { break };
            let Some(line) = generator.play_game(number)? else { break };
            receive(number, line)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let one = || work().inspect_err(|_| failed.store(true, Ordering::Relaxed));
        let workers: Vec<_> = (0..engines.max(1)).map(|_| scope.spawn(one)).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, _>| match worker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        // Waits for all threads, also after an error.
        let results: Vec<Result<(), DatagenError>> = workers.into_iter().map(join).collect();
        results.into_iter().collect()
    })
}

/// Checks that games of a variant can be generated.
fn check(variant: &Variant, config: &DatagenConfig) -> Result<(), DatagenError> {
    let name = variant.name();
    if variant.start().game_spec().sides != 2 {
        return Err(DatagenError::Unfit(format!("{name} does not have two sides")));
    }
    if variant.has_two_boards() && !variant.start().set_side_to_move(Side::BLACK) {
        return Err(DatagenError::Unfit(format!("{name} has a fixed order of moves, not clocks")));
    }
    if variant.has_two_boards()
        && (config.win_score.is_some() || config.max_opening_score.is_some())
    {
        let reason = format!("games of {name} have no scores of both boards that could end them");
        return Err(DatagenError::Unfit(reason));
    }
    if variant.has_two_boards() && config.multipv > 1 {
        let reason =
            format!("games of {name} have one best move of each position, not {}", config.multipv);
        return Err(DatagenError::Unfit(reason));
    }
    Ok(())
}

/// Returns the numbers of the games of `seed` in a file of `variant`. An incomplete line at the end is removed.
/// Returns `None`, and leaves the file as it is, if another line is in it.
fn existing_games(
    mut file: &File,
    variant: &str,
    seed: u64,
) -> std::io::Result<Option<HashSet<u64>>> {
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let lines = String::from_utf8_lossy(&text[..whole]);
    let first_field = format!("{variant}\t");
    let game = |line: &str| -> Option<(u64, u64)> {
        let (_, game) = line.strip_prefix(&first_field)?.rsplit_once('\t')?;
        let (seed, number) = game.split_once('/')?;
        Some((seed.parse().ok()?, number.parse().ok()?))
    };
    let Some(games) = lines.lines().map(game).collect::<Option<Vec<_>>>() else { return Ok(None) };
    let rest = &text[whole..];
    if !rest.iter().zip(first_field.as_bytes()).all(|(a, b)| a == b) {
        return Ok(None);
    }
    if !rest.is_empty() {
        file.set_len(whole as u64)?;
    }
    let own = games.into_iter().filter(|(game_seed, _)| *game_seed == seed);
    Ok(Some(own.map(|(_, number)| number).collect()))
}

/// The fields of a line.
struct LabelledGame {
    /// The FEN.
    start: String,
    winner: Option<Side>,
    plies: Vec<String>,
}

/// A process of the engine that plays games.
struct GameGenerator<'a> {
    variant: &'a Variant,
    config: &'a DatagenConfig,
    engine: UciEngine,
    stop: &'a AtomicBool,
}

impl<'a> GameGenerator<'a> {
    fn start(
        variant: &'a Variant,
        config: &'a DatagenConfig,
        stop: &'a AtomicBool,
    ) -> Result<GameGenerator<'a>, DatagenError> {
        let mut engine = UciEngine::start_variant(&config.engine, &config.options, variant)?;
        if config.multipv > 1 {
            engine.set_option("MultiPV", &config.multipv.to_string())?;
        }
        Ok(GameGenerator { variant, config, engine, stop })
    }

    /// Plays a game and returns its line, with the line end; `None` if it was stopped.
    fn play_game(&mut self, number: u64) -> Result<Option<String>, DatagenError> {
        let variant = self.variant;
        let seed = self.config.seed;
        let rng = ChaCha8Rng::seed_from_u64(seed ^ number.rotate_left(32));
        let game =
            if variant.has_two_boards() { self.play_bughouse(rng)? } else { self.play_board(rng)? };
        let Some(LabelledGame { start, winner, plies }) = game else { return Ok(None) };
        let result = match winner {
            None => "1/2-1/2",
            Some(Side::WHITE) => "1-0",
            Some(_) => "0-1",
        };
        let name = variant.name();
        let plies = plies.join(" ");
        Ok(Some(format!("{name}\t{start}\t{result}\t{plies}\t{seed}/{number}\n")))
    }

    /// Plays a game of one board; `None` if it was stopped.
    fn play_board(&mut self, mut rng: ChaCha8Rng) -> Result<Option<LabelledGame>, DatagenError> {
        let Some(start) = self.opening(&mut rng)? else { return Ok(None) };
        // From the FEN, as in the engine, so that castling is two steps of the king.
        let unfit = |error: menagerie::rules::FenError| DatagenError::Unfit(error.to_string());
        let mut position = self.variant.position(&start, false).map_err(unfit)?;
        self.engine.new_game()?;
        let mut plies = Vec::new();
        let mut moves = String::new();
        let mut lead = Lead::default();
        let mut winner = None;
        while position.result().is_none() && plies.len() < self.config.max_turns {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let position_text = format!("fen {start}{moves}");
            let DatagenConfig { limits, patience, .. } = self.config;
            let answer = self.engine.go(&position_text, limits, *patience)?;
            if let Some(win_score) = self.config.win_score {
                lead.add(position.turn(), answer.score(), win_score);
                winner = lead.winner();
                if winner.is_some() {
                    break;
                }
            }
            let best = position.parse_turn(&answer.best);
            let best = best.ok_or_else(|| self.illegal_move(&answer.best, &position.fen()))?;
            let is_random = self.is_random(plies.len(), &mut rng);
            let turn = if is_random { random_turn(&position, &mut rng) } else { best.clone() };
            let played = position.turn_text(&turn);
            let label = label(&position, &best, &answer);
            plies.push(if turn == best { label } else { format!("{label}/{played}") });
            moves.push_str(if moves.is_empty() { " moves " } else { " " });
            moves.push_str(&played);
            for m in turn {
                position.play_unchecked(m);
            }
        }
        let winner = winner.or_else(|| position.result().and_then(|outcome| outcome.winner));
        Ok(Some(LabelledGame { start, winner, plies }))
    }

    /// Returns the FEN of a random opening; `None` if the generation was stopped.
    fn opening(&mut self, rng: &mut ChaCha8Rng) -> Result<Option<String>, DatagenError> {
        let opening = Opening { share: 1.0, plies: self.config.opening, ..Opening::default() };
        let Some(greatest) = self.config.max_opening_score else {
            return Ok(Some(random_starts::start(self.variant, &opening, &[], rng).fen()));
        };
        let DatagenConfig { limits, patience, .. } = self.config;
        for _ in 0..OPENING_TRIES {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let start = random_starts::start(self.variant, &opening, &[], rng).fen();
            self.engine.new_game()?;
            let score = self.engine.go(&format!("fen {start}"), limits, *patience)?.score();
            if matches!(score, Some(EngineScore::Centipawns(cp)) if cp.unsigned_abs() <= greatest) {
                return Ok(Some(start));
            }
        }
        let reason = format!(
            "none of {OPENING_TRIES} openings of {} has a score of at most {greatest} centipawns",
            self.variant.name()
        );
        Err(DatagenError::Unfit(reason))
    }

    /// Returns `true` if the turn after `turns` turns is random.
    fn is_random(&self, turns: usize, rng: &mut ChaCha8Rng) -> bool {
        let DatagenConfig { random, random_turns, .. } = *self.config;
        turns < random_turns && rng.random_bool(random.clamp(0.0, 1.0))
    }

    fn illegal_move(&self, text: &str, fen: &str) -> DatagenError {
        let engine = self.engine.executable().to_owned();
        DatagenError::Illegal { engine, text: text.to_owned(), fen: fen.to_owned() }
    }
}

/// The plies in a row in which a side was far ahead.
#[derive(Debug, Default)]
struct Lead {
    side: Option<Side>,
    plies: usize,
}

impl Lead {
    /// Adds the score of the next ply, for the side to move.
    fn add(&mut self, mover: Side, score: Option<EngineScore>, win_score: u32) {
        let (is_far, is_positive) = match score {
            Some(EngineScore::Centipawns(cp)) => (cp.unsigned_abs() >= win_score, cp > 0),
            Some(EngineScore::Mate(moves)) => (true, moves > 0),
            None => (false, false),
        };
        let leader = if is_positive { mover } else { Side::new(1 - mover.index()) };
        let side = is_far.then_some(leader);
        self.plies =
            if side.is_none() { 0 } else { 1 + if side == self.side { self.plies } else { 0 } };
        self.side = side;
    }

    /// Returns the side that wins by its lead.
    fn winner(&self) -> Option<Side> {
        self.side.filter(|_| self.plies >= WON_PLIES)
    }
}

/// Returns the label of a ply: the best moves with their scores, the best first: `e2e4:31|d2d4:28`.
fn label(position: &Position, best: &[Move], answer: &Answer) -> String {
    let mut text = format!("{}:{}", position.turn_text(best), score_text(answer.score()));
    if answer.score().is_some() {
        for line in &answer.lines {
            let turn = line.pv.first().and_then(|text| position.parse_turn(text));
            if let Some(turn) = turn.filter(|turn| turn != best && line.score.is_some()) {
                text += &format!("|{}:{}", position.turn_text(&turn), score_text(line.score));
            }
        }
    }
    text
}

/// Returns the text of a score: `31`, `m3`, or an empty text.
fn score_text(score: Option<EngineScore>) -> String {
    match score {
        Some(EngineScore::Centipawns(cp)) => cp.to_string(),
        Some(EngineScore::Mate(moves)) => format!("m{moves}"),
        None => String::new(),
    }
}

/// Returns a random turn of a position in which the game is not over.
fn random_turn(position: &Position, rng: &mut ChaCha8Rng) -> Vec<Move> {
    let mut position = position.clone();
    let mut turn = Vec::new();
    let mut legal = MoveList::new();
    loop {
        position.legal_moves(&mut legal);
        let Some(&m) = legal.choose(rng) else { return turn };
        position.play_unchecked(m);
        turn.push(m);
        if !position.mid_turn() {
            return turn;
        }
    }
}
