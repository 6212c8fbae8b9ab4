//! Recorded games with the scores of another evaluator.
//!
//! The static evaluation of a strong engine costs microseconds, a search of some hundred nodes less than a millisecond. So
//! games that are cheap to play, such as those of self-play with few visits, teach a network more if the evaluator scores
//! their positions, recorded side positions, and new ones a few random turns away: a search
//! meets all of these.
//!
//! The evaluator is a UCI engine, or a program that reads FENs, one a line, until the end of its input, and prints a line
//! for each: the score of the side to move in centipawns, `mN` or `m-N` for a mate as in labelled games, or `-` if it has
//! none. It need not flush its output, as its input ends after the positions of some ten games.
//!
//! A sparse network can be the evaluator, too, by alpha-beta. What a search of some thousand nodes with it finds is better
//! than what it says itself, above all where games are decided by long forced lines, which few visits of Monte-Carlo tree
//! search do not find (bootstrapping from searches; Veness et al. 2009).

mod parts;

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use menagerie::alphabeta::expected_score;
use menagerie::nn::Weights;
use menagerie::nn::network::Backend;
use menagerie::rules::{MoveList, PackedMove, Position};
use menagerie::variant::Variant;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use crate::alpha_beta::AlphaBetaSearch;
use crate::eval_scale::EngineScore;
use crate::playing_network::open_to_play;
use crate::readers::Games;
use crate::record::{self, GameRecord, InvalidGame, RecordError, SidePosition, Targets};
use crate::uci_engine::{EngineError, UciEngine};

/// What scores positions.
#[derive(Clone, Debug, PartialEq)]
pub enum Evaluator {
    /// A program that reads FENs.
    Program {
        /// The executable.
        file: PathBuf,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// A UCI engine, which searches.
    Engine {
        /// The executable.
        file: PathBuf,
        /// Its options, in order. `UCI_Variant` is set in addition.
        options: Vec<(String, String)>,
        /// The nodes of a search.
        nodes: u64,
    },
    /// A sparse network for the variant, searched by alpha-beta.
    Network {
        /// The network.
        file: PathBuf,
        /// The nodes of a search.
        nodes: u64,
    },
}

/// The settings.
#[derive(Clone, Debug, PartialEq)]
pub struct RescoreConfig {
    /// The evaluator.
    pub evaluator: Evaluator,
    /// The number of new side positions for each position of a game, each one or two random turns after it. Recorded ones
    /// are scored unless [`only_games`](RescoreConfig::only_games) is set.
    pub side_positions: usize,
    /// Leaves out recorded side positions, of which self-play has several for each position of a game.
    pub only_games: bool,
    /// The seed of the random turns.
    pub seed: u64,
    /// Centipawns of the logistic function from scores to expected scores; fitted to the results if not set.
    pub score_scale: Option<f32>,
    /// A folder for the scores of some ten games each, from which the same rescoring goes on if it is stopped. It
    /// names the settings and games that they are of.
    pub parts: Option<PathBuf>,
}

/// Why games cannot be rescored.
#[derive(Debug, thiserror::Error)]
pub enum RescoreError {
    /// The evaluator cannot be started, or a pipe to it is broken.
    #[error("the evaluator {evaluator}: {source}")]
    Io {
        /// The executable.
        evaluator: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A line of the evaluator is no score.
    #[error(
        "the evaluator {evaluator} printed \"{line}\" for \"{fen}\", expected centipawns, mN or -"
    )]
    Line {
        /// The executable.
        evaluator: String,
        /// The line.
        line: String,
        /// The position.
        fen: String,
    },
    /// The evaluator printed too few lines, or more than it was given positions.
    #[error("the evaluator {evaluator} printed {found} lines for {expected} positions")]
    Count {
        /// The executable.
        evaluator: String,
        /// The lines that it printed, as far as they were read.
        found: usize,
        /// The positions that it was given.
        expected: usize,
    },
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The network cannot be read, or alpha-beta cannot search the variant by it.
    #[error("the network {file}: {reason}")]
    Network {
        /// The network.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// A file of [`RescoreConfig::parts`] cannot be read or written.
    #[error(transparent)]
    Part(#[from] RecordError),
    /// The folder of [`RescoreConfig::parts`] has scores of other settings or games.
    #[error("{folder} has scores of \"{found}\", not of \"{expected}\"; delete it to begin again")]
    OtherParts {
        /// The folder.
        folder: String,
        /// What its scores are of.
        found: String,
        /// What they should be of.
        expected: String,
    },
    /// The evaluator cannot be given positions of the variant.
    #[error("positions of {0} are no FENs of one board with two sides")]
    Unfit(String),
}

/// Games with new scores.
#[derive(Debug)]
pub struct Rescored {
    /// The games, with their side positions.
    pub games: Vec<GameRecord>,
    /// The number of games that do not replay, and were left out.
    pub bad_games: usize,
    /// Factor on the log odds of [`EngineScore::expected`] that the scores were made with.
    pub steepness: f32,
}

/// The number of games whose positions one process of the evaluator gets: few, as a part that is stopped is lost, and
/// searches of 8,000 nodes in 64 games take half a minute.
const GAMES_PER_PART: usize = 64;

/// The time limit of a search; an engine that exceeds it has failed.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(60);

/// The greatest number of random turns between a position and its side positions.
const SIDE_TURNS: usize = 2;

/// Checks games and their side positions. Returns those that are possible in the variant, and the errors of the others.
pub fn check_games(games: Games, variant: &Variant) -> (Vec<GameRecord>, Vec<InvalidGame>) {
    games.check_each(|place, game| match game.check(variant) {
        Ok(()) => Ok(game),
        Err(fault) => Err(InvalidGame { place, start: game.start, fault }),
    })
}

/// Replaces the scores of games by those of the evaluator. `done` is called with the number of games so far. Returns `None`
/// if `stop` was set before all were scored.
///
/// Policies and results stay. Where the evaluator has no score, and within a turn of several plies, there is none.
///
/// # Errors
/// [`RescoreError`].
pub fn rescore(
    variant: &Variant,
    config: &RescoreConfig,
    games: &[GameRecord],
    stop: &AtomicBool,
    done: &(dyn Fn(usize) + Sync),
) -> Result<Option<Rescored>, RescoreError> {
    let start = variant.start();
    if variant.has_two_boards() || start.game_spec().sides != 2 {
        return Err(RescoreError::Unfit(variant.name().to_owned()));
    }
    let total = AtomicUsize::new(0);
    if let Some(folder) = &config.parts {
        parts::open(folder, &parts::description(config, games)?)?;
    }
    let parts: Option<Vec<Vec<GameRecord>>> = games
        .par_chunks(GAMES_PER_PART)
        .enumerate()
        .map(|(nth, chunk)| {
            let part = config.parts.as_ref().map(|folder| folder.join(format!("{nth:06}.games")));
            let scored = match part {
                Some(part) if part.exists() => record::read(&part)?,
                part => {
                    let rng = ChaCha8Rng::seed_from_u64(config.seed ^ (nth as u64).rotate_left(32));
                    let Some(scored) = score_games(variant, config, chunk, stop, rng)? else {
                        return Ok(None);
                    };
                    if let Some(part) = part {
                        record::write(&part, &scored)?;
                    }
                    scored
                }
            };
            done(total.fetch_add(chunk.len(), Ordering::Relaxed) + chunk.len());
            Ok(Some(scored))
        })
        .collect::<Result<_, RescoreError>>()?;
    let Some(parts) = parts else { return Ok(None) };
    let mut scored = parts.concat();
    let bad_games = games.len() - scored.len();
    let targets = Targets::default();
    let steepness = match config.score_scale {
        Some(scale) => steepness_of_scale(scale),
        None => targets.fitted(scored.iter(), variant).steepness,
    };
    let targets = Targets { steepness, ..targets };
    for game in &mut scored {
        let of_plies = game.plies.iter_mut().filter_map(|ply| ply.score.as_mut());
        for score in of_plies.chain(game.side_positions.iter_mut().map(|side| &mut side.score)) {
            *score = targets.expected(*score);
        }
    }
    Ok(Some(Rescored { games: scored, bad_games, steepness }))
}

/// Returns the factor on the log odds of [`EngineScore::expected`] that stands for a logistic of `scale` centipawns.
pub(crate) fn steepness_of_scale(scale: f32) -> f32 {
    // Twice the inverse hyperbolic tangent of the score of one pawn are its log odds.
    let recorded = 2.0 * EngineScore::Centipawns(100).expected().atanh();
    100.0 / scale / recorded
}

/// Games, and the FENs of their positions.
#[derive(Default)]
struct Positions {
    games: Vec<GameRecord>,
    fens: Vec<String>,
    /// Where each FEN comes from.
    sources: Vec<Source>,
}

/// Where a position comes from: the number of the game, the ply, and the moves from there, if it is a side position.
struct Source {
    game: usize,
    ply: usize,
    side_moves: Option<Vec<u16>>,
}

impl Positions {
    /// Adds a game without scores and its side positions. Returns `None`, and adds nothing, if it does not replay.
    fn add(
        &mut self,
        variant: &Variant,
        game: &GameRecord,
        config: &RescoreConfig,
        rng: &mut ChaCha8Rng,
    ) -> Option<()> {
        let (games, fens) = (self.games.len(), self.fens.len());
        let added = self.add_plies(variant, game, config, rng);
        if added.is_none() {
            self.games.truncate(games);
            self.fens.truncate(fens);
            self.sources.truncate(fens);
        }
        added
    }

    fn add_plies(
        &mut self,
        variant: &Variant,
        game: &GameRecord,
        config: &RescoreConfig,
        rng: &mut ChaCha8Rng,
    ) -> Option<()> {
        let number = self.games.len();
        self.games.push(GameRecord { side_positions: vec![], ..game.clone() });
        let mut position = game.position(variant, 0)?;
        let recorded: &[_] = if config.only_games { &[] } else { &game.side_positions };
        let mut recorded = recorded.iter().peekable();
        for (nth, ply) in game.plies.iter().enumerate() {
            while let Some(side) = recorded.next_if(|side| side.ply as usize == nth) {
                let fen = fen_after(&position, &side.moves)?;
                let side_moves = Some(side.moves.clone());
                self.sources.push(Source { game: number, ply: nth, side_moves });
                self.fens.push(fen);
            }
            self.games[number].plies[nth].score = None;
            if !position.mid_turn() {
                self.sources.push(Source { game: number, ply: nth, side_moves: None });
                self.fens.push(position.fen());
                for _ in 0..config.side_positions {
                    let turns = rng.random_range(1..=SIDE_TURNS);
                    if let Some((moves, fen)) = random_continuation(&position, turns, rng) {
                        let side_moves = Some(moves);
                        self.sources.push(Source { game: number, ply: nth, side_moves });
                        self.fens.push(fen);
                    }
                }
            }
            position.play(PackedMove(ply.played).unpack()?).then_some(())?;
        }
        recorded.next().is_none().then_some(())
    }
}

/// Scores games by one process or search, and leaves out those that do not replay. The scores are [`EngineScore::expected`],
/// or those of a network. Returns `None` if it was stopped.
fn score_games(
    variant: &Variant,
    config: &RescoreConfig,
    games: &[GameRecord],
    stop: &AtomicBool,
    mut rng: ChaCha8Rng,
) -> Result<Option<Vec<GameRecord>>, RescoreError> {
    let mut positions = Positions::default();
    for game in games {
        // A game that does not replay is left out.
        let _ = positions.add(variant, game, config, &mut rng);
    }
    let Positions { mut games, fens, sources } = positions;
    let scores = match &config.evaluator {
        Evaluator::Program { file, arguments } => evaluate(file, arguments, &fens, stop)?,
        Evaluator::Engine { file, options, nodes } => {
            let engine = UciEngine::start_variant(file, options, variant)?;
            search_all(engine, *nodes, &fens, stop)?
        }
        Evaluator::Network { file, nodes } => {
            let failed = |error: anyhow::Error| {
                let (file, reason) = (file.display().to_string(), format!("{error:#}"));
                RescoreError::Network { file, reason }
            };
            search_by_network(variant, file, *nodes, &fens, stop).map_err(failed)?
        }
    };
    let Some(scores) = scores else { return Ok(None) };
    for (Source { game, ply, side_moves }, score) in sources.into_iter().zip(scores) {
        match (side_moves, score) {
            (None, score) => games[game].plies[ply].score = score,
            (Some(moves), Some(score)) => {
                let side = SidePosition { ply: ply as u32, moves, score };
                games[game].side_positions.push(side);
            }
            (Some(_), None) => {}
        }
    }
    Ok(Some(games))
}

/// Returns the scores of searches; `None` if they were stopped.
fn search_all(
    mut engine: UciEngine,
    nodes: u64,
    fens: &[String],
    stop: &AtomicBool,
) -> Result<Option<Vec<Option<f32>>>, RescoreError> {
    let limits = format!("nodes {nodes}");
    let mut scores = Vec::with_capacity(fens.len());
    for fen in fens {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let found = engine.go(&format!("fen {fen}"), &limits, SEARCH_TIMEOUT)?;
        scores.push(found.score().map(EngineScore::expected));
    }
    Ok(Some(scores))
}

/// Returns the expected scores for the side to move, from -1 to 1, by alpha-beta; `None` if it was stopped.
///
/// # Errors
/// If the file is no sparse int8 network for the variant, alpha-beta cannot search it, or the network fails.
fn search_by_network(
    variant: &Variant,
    file: &Path,
    nodes: u64,
    fens: &[String],
    stop: &AtomicBool,
) -> anyhow::Result<Option<Vec<Option<f32>>>> {
    let start = variant.start();
    let weights = Weights::read(file, &file.display().to_string())?;
    let network = open_to_play(&weights, variant, Backend::Cpu)?.network;
    let mut search = AlphaBetaSearch::new(&start, &network, nodes, None)?;
    let mut scores = Vec::with_capacity(fens.len());
    for fen in fens {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let line = search.best_line(&variant.position(fen, true)?)?;
        scores.push(line.map(|line| match line.mate_plies() {
            Some(plies) => plies.signum() as f32,
            None => expected_score(line.score),
        }));
    }
    Ok(Some(scores))
}

/// Returns the FEN after moves; `None` if they cannot be played.
fn fen_after(position: &Position, moves: &[u16]) -> Option<String> {
    let mut position = position.clone();
    for m in moves {
        position.play(PackedMove(*m).unpack()?).then_some(())?;
    }
    Some(position.fen())
}

/// Returns the moves of some random turns, and the FEN after them; `None` if the game ends before.
fn random_continuation(
    position: &Position,
    turns: usize,
    rng: &mut ChaCha8Rng,
) -> Option<(Vec<u16>, String)> {
    let mut position = position.clone();
    let mut legal = MoveList::new();
    let mut moves = Vec::new();
    let mut played = 0;
    while played < turns {
        if position.result().is_some() {
            return None;
        }
        position.legal_moves(&mut legal);
        let m = *legal.choose(rng)?;
        moves.push(m.pack().0);
        position.play_unchecked(m);
        played += usize::from(!position.mid_turn());
    }
    position.result().is_none().then(|| (moves, position.fen()))
}

/// Returns the scores of positions by one process of a program; `None` if it was stopped.
fn evaluate(
    file: &Path,
    arguments: &[String],
    fens: &[String],
    stop: &AtomicBool,
) -> Result<Option<Vec<Option<f32>>>, RescoreError> {
    let evaluator = || file.display().to_string();
    let io = |source| RescoreError::Io { evaluator: evaluator(), source };
    let mut process = Command::new(file)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(io)?;
    let pipes = process.stdin.take().zip(process.stdout.take());
    let (input, output) = pipes.ok_or_else(|| io(std::io::Error::other("it has no pipes")))?;
    let mut scores = Vec::with_capacity(fens.len());
    // Written by a thread of its own, as the evaluator prints before it has read all.
    let result = std::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            let mut input = BufWriter::new(input);
            fens.iter().try_for_each(|fen| writeln!(input, "{fen}")).and_then(|()| input.flush())
        });
        let read = read_scores(&evaluator, BufReader::new(output), fens, stop, &mut scores);
        // An evaluator that no longer prints, or is no longer read, might not read on either.
        if read.is_err() || stop.load(Ordering::Relaxed) {
            let _ = process.kill();
        }
        let written = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        // What the evaluator printed says more than that it stopped reading.
        read.and_then(|()| match written {
            Err(error) if scores.len() == fens.len() => Err(io(error)),
            _ => Ok(()),
        })
    });
    process.wait().map_err(io)?;
    result?;
    if scores.len() != fens.len() {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let (found, expected) = (scores.len(), fens.len());
        return Err(RescoreError::Count { evaluator: evaluator(), found, expected });
    }
    Ok(Some(scores.into_iter().map(|score| score.map(EngineScore::expected)).collect()))
}

/// Reads a score for each FEN, as far as there are lines, until it is stopped. Any other line, such as a greeting, is an
/// error.
fn read_scores(
    evaluator: &dyn Fn() -> String,
    output: impl BufRead,
    fens: &[String],
    stop: &AtomicBool,
    scores: &mut Vec<Option<EngineScore>>,
) -> Result<(), RescoreError> {
    for (nth, line) in output.lines().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let line = line.map_err(|source| RescoreError::Io { evaluator: evaluator(), source })?;
        let Some(fen) = fens.get(nth) else {
            let (found, expected) = (nth + 1, fens.len());
            return Err(RescoreError::Count { evaluator: evaluator(), found, expected });
        };
        let score = parse_line(line.trim()).ok_or_else(|| RescoreError::Line {
            evaluator: evaluator(),
            line: line.clone(),
            fen: fen.clone(),
        })?;
        scores.push(score);
    }
    Ok(())
}

/// Parses a line of the evaluator; `None` if it is none of a score, `Some(None)` for `-`.
fn parse_line(line: &str) -> Option<Option<EngineScore>> {
    if line == "-" { Some(None) } else { EngineScore::parse(line).map(Some) }
}
