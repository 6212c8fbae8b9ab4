//! Games that an engine from outside plays against itself, to start networks from.
//!
//! Each game begins with random turns (from [`starts`]), so that games differ although the teacher
//! may always answer the same; each opening is played once, as the teacher would only repeat itself.
//! In the opening a few moves are played at random, to see what is right after a mistake; what is
//! learnt there is the teacher's move, not the random one. Games end by our rules, claims included,
//! or are drawn after many plies; nothing is adjudicated.
//!
//! - `at_tables`: games at two tables; `seats`: their clocks.
//!
//! A game is a line of text, as `readers/teacher.rs` reads it, with a fifth field: the seed and the
//! game's number. Whole lines only are added to the file, so that a kill loses the games in flight
//! and no other: they are played again, from the same openings.

mod at_tables;
mod seats;

use std::collections::HashSet;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use menagerie::rules::{Move, MoveList, Position, Side};
use menagerie::variant::Variant;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use crate::eval_scale::Score;
use crate::random_starts::{self, Opening};
use crate::uci_engine::{Answer, EngineError, UciEngine};

/// How a teacher plays.
#[derive(Clone, Debug, PartialEq)]
pub struct DatagenConfig {
    /// The engine's executable.
    pub engine: PathBuf,
    /// Options to set, in order, besides those that `teach` sets itself.
    pub options: Vec<(String, String)>,
    /// What follows `go` in UCI: `nodes 4000`.
    pub limits: String,
    /// How many best moves to ask for.
    pub multipv: usize,
    /// Random plies at the start: 1 to so many.
    pub opening: usize,
    /// The chance that a turn is random ..
    pub random: f64,
    /// .. in the first so many turns.
    pub random_turns: usize,
    /// Turns after which a game is drawn.
    pub longest: usize,
    /// The seed of all that is random.
    pub seed: u64,
    /// How long a move may take before the engine counts as dead.
    pub patience: Duration,
}

impl DatagenConfig {
    /// 4,000 nodes a move, 1 to 9 random plies, 6% random moves in the first 60 turns, at most 400.
    pub fn of(engine: PathBuf) -> DatagenConfig {
        DatagenConfig {
            engine,
            options: Vec::new(),
            limits: "nodes 4000".to_owned(),
            multipv: 1,
            opening: 9,
            random: 0.06,
            random_turns: 60,
            longest: 400,
            seed: 1,
            patience: Duration::from_secs(60),
        }
    }
}

/// Why there are no more games.
#[derive(Debug, thiserror::Error)]
pub enum DatagenError {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine played what our rules do not allow.
    #[error("{engine} played \"{text}\", which is no legal move in \"{fen}\"")]
    Illegal {
        /// The executable.
        engine: String,
        /// What it said.
        text: String,
        /// The position.
        fen: String,
    },
    /// A game of other than two sides, or whose start cannot be told in a FEN.
    #[error("{0}")]
    Unfit(String),
    /// The file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
}

/// Plays games until `file` has those numbered 0 to `games`, with `engines` of the teacher at once.
/// `done` is told each game's number. Gives how many were played now.
///
/// # Errors
/// What stopped it; the games in the file are whole.
pub fn generate(
    variant: &Variant,
    config: &DatagenConfig,
    games: u64,
    engines: usize,
    file: &Path,
    done: &(dyn Fn(u64) + Sync),
) -> Result<u64, DatagenError> {
    teach_until(variant, config, games, engines, file, &AtomicBool::new(false), done)
}

/// Does what [`teach`] does until `stop` is set: the games in flight are then abandoned.
///
/// # Errors
/// Those of [`teach`].
pub fn teach_until(
    variant: &Variant,
    config: &DatagenConfig,
    games: u64,
    engines: usize,
    file: &Path,
    stop: &AtomicBool,
    done: &(dyn Fn(u64) + Sync),
) -> Result<u64, DatagenError> {
    let io = |source| DatagenError::Io { path: file.display().to_string(), source };
    if variant.start().game_spec().sides != 2 {
        return Err(DatagenError::Unfit(format!("{} is not for two sides", variant.name())));
    }
    if variant.has_tables() && !variant.start().ask(Side::BLACK) {
        let name = variant.name();
        return Err(DatagenError::Unfit(format!("{name} has an order of moves, not clocks")));
    }
    if variant.has_tables() && config.multipv > 1 {
        return Err(DatagenError::Unfit("of two tables one best move is written down".to_owned()));
    }
    let there = whole_lines(file, config.seed).map_err(io)?;
    let out = Mutex::new(OpenOptions::new().create(true).append(true).open(file).map_err(io)?);
    let (next, played, failed) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let work = || -> Result<(), DatagenError> {
        let mut teacher = Teacher::start(variant, config, stop)?;
        while !failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= games {
                break;
            }
            if there.contains(&number) {
                continue;
            }
            let Some(line) = teacher.game(number)? else { break };
            // A thread that panicked wrote its line whole or not at all.
            let mut out = out.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            out.write_all(line.as_bytes()).and_then(|()| out.sync_data()).map_err(io)?;
            played.fetch_add(1, Ordering::Relaxed);
            done(number);
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
        // All are waited for, whichever failed.
        let results: Vec<Result<(), DatagenError>> = workers.into_iter().map(join).collect();
        results.into_iter().collect::<Result<(), _>>()
    })?;
    Ok(played.into_inner())
}

/// The numbers of the games of `seed` in a file; a line that a kill cut short is taken off it.
fn whole_lines(file: &Path, seed: u64) -> std::io::Result<HashSet<u64>> {
    let text = match fs::read(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(HashSet::new()),
        text => text?,
    };
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    if whole < text.len() {
        OpenOptions::new().write(true).open(file)?.set_len(whole as u64)?;
    }
    let lines = String::from_utf8_lossy(&text[..whole]).into_owned();
    let number = |line: &str| {
        let (of, number) = line.rsplit('\t').next()?.split_once('/')?;
        (of.parse() == Ok(seed)).then(|| number.parse().ok())?
    };
    Ok(lines.lines().filter_map(number).collect())
}

/// A game as its line has it.
struct Game {
    /// The FEN.
    start: String,
    winner: Option<Side>,
    plies: Vec<String>,
}

/// An engine at work.
struct Teacher<'a> {
    variant: &'a Variant,
    config: &'a DatagenConfig,
    engine: UciEngine,
    stop: &'a AtomicBool,
}

impl<'a> Teacher<'a> {
    fn start(
        variant: &'a Variant,
        config: &'a DatagenConfig,
        stop: &'a AtomicBool,
    ) -> Result<Teacher<'a>, DatagenError> {
        let mut engine = UciEngine::start(&config.engine)?;
        for (name, value) in &config.options {
            engine.set(name, value)?;
        }
        // A file of variants may have brought more.
        engine.shake_hands()?;
        // Engines know the game of one of two tables.
        let name = if variant.has_tables() { &variant.look().template } else { variant.name() };
        if name != "chess" || engine.takes("UCI_Variant", "chess") {
            engine.set("UCI_Variant", name)?;
        }
        if config.multipv > 1 {
            engine.set("MultiPV", &config.multipv.to_string())?;
        }
        Ok(Teacher { variant, config, engine, stop })
    }

    /// Plays a game and returns its line, with the line's end; `None` if it was stopped.
    fn game(&mut self, number: u64) -> Result<Option<String>, DatagenError> {
        let (variant, seed) = (self.variant, self.config.seed);
        let rng = ChaCha8Rng::seed_from_u64(seed ^ number.rotate_left(32));
        let game = match variant.has_tables() {
            true => self.game_at_tables(rng)?,
            false => self.game_of_one(rng)?,
        };
        let Some(Game { start, winner, plies }) = game else { return Ok(None) };
        let result = match winner {
            None => "1/2-1/2",
            Some(Side::WHITE) => "1-0",
            Some(_) => "0-1",
        };
        let (name, plies) = (variant.name(), plies.join(" "));
        Ok(Some(format!("{name}\t{start}\t{result}\t{plies}\t{seed}/{number}\n")))
    }

    /// Plays a game of one board; `None` if it was stopped.
    fn game_of_one(&mut self, mut rng: ChaCha8Rng) -> Result<Option<Game>, DatagenError> {
        let opening = Opening { share: 1.0, plies: self.config.opening };
        let start = random_starts::start(self.variant, &opening, &mut rng).fen();
        // From the FEN, as the engine has it: castling is told as the king's two steps.
        let unfit = |error: menagerie::rules::FenError| DatagenError::Unfit(error.to_string());
        let mut position = self.variant.position(&start, false).map_err(unfit)?;
        self.engine.new_game()?;
        let (mut plies, mut moves) = (Vec::new(), String::new());
        while position.result().is_none() && plies.len() < self.config.longest {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let asked = format!("fen {start}{moves}");
            let answer = self.engine.go(&asked, &self.config.limits, self.config.patience)?;
            let best = position.parse_turn(&answer.best);
            let best = best.ok_or_else(|| self.illegal(&answer.best, &position.fen()))?;
            let random = self.is_random(plies.len(), &mut rng);
            let turn = if random { any_turn(&position, &mut rng) } else { best.clone() };
            let played = position.turn_text(&turn);
            let told = told(&position, &best, &answer);
            plies.push(if turn == best { told } else { format!("{told}/{played}") });
            moves.push_str(if moves.is_empty() { " moves " } else { " " });
            moves.push_str(&played);
            turn.into_iter().for_each(|m| position.play_unchecked(m));
        }
        let winner = position.result().and_then(|outcome| outcome.winner);
        Ok(Some(Game { start, winner, plies }))
    }

    /// Whether a turn is random, after so many.
    fn is_random(&self, turns: usize, rng: &mut ChaCha8Rng) -> bool {
        let DatagenConfig { random, random_turns, .. } = *self.config;
        turns < random_turns && rng.random_bool(random.clamp(0.0, 1.0))
    }

    fn illegal(&self, text: &str, fen: &str) -> DatagenError {
        let engine = self.engine.executable().to_owned();
        DatagenError::Illegal { engine, text: text.to_owned(), fen: fen.to_owned() }
    }
}

/// The teacher's best moves with their scores, the best first: `e2e4:31|d2d4:28`.
fn told(position: &Position, best: &[Move], answer: &Answer) -> String {
    let mut text = format!("{}:{}", position.turn_text(best), score(answer.score()));
    if answer.score().is_some() {
        for line in &answer.lines {
            let turn = line.pv.first().and_then(|text| position.parse_turn(text));
            if let Some(turn) = turn.filter(|turn| turn != best && line.score.is_some()) {
                text += &format!("|{}:{}", position.turn_text(&turn), score(line.score));
            }
        }
    }
    text
}

/// A score as records have it: `31`, `m3`, or nothing.
fn score(score: Option<Score>) -> String {
    match score {
        Some(Score::Centipawns(cp)) => cp.to_string(),
        Some(Score::Mate(moves)) => format!("m{moves}"),
        None => String::new(),
    }
}

/// A random turn, in a game that is not over.
fn any_turn(position: &Position, rng: &mut ChaCha8Rng) -> Vec<Move> {
    let (mut position, mut turn, mut legal) = (position.clone(), Vec::new(), MoveList::new());
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
