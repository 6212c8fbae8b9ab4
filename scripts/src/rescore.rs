//! Recorded games with the scores of another evaluator.
//!
//! The static evaluation of a strong engine costs microseconds, a search of the same accuracy milliseconds. So games that
//! are cheap to play, such as those of self-play with few visits, teach a network more if the evaluator scores their
//! positions, and positions a few random turns beside them, which a search meets as well.
//!
//! The evaluator is a program that reads FENs, one a line, until the end of its input, and prints a line for each: the
//! score of the side to move in centipawns, `mN` or `m-N` for a mate as in labelled games, or `-` if it has none. It need not
//! flush its output, as its input ends after the positions of some hundred games.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use menagerie::rules::{MoveList, PackedMove, Position};
use menagerie::variant::Variant;
use rand::rngs::ChaCha8Rng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use crate::eval_scale::EngineScore;
use crate::record::{GameRecord, SidePosition, Targets};

/// The settings.
#[derive(Clone, Debug, PartialEq)]
pub struct RescoreConfig {
    /// The executable of the evaluator.
    pub evaluator: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The number of positions beside each position of a game, each one or two random turns after it.
    pub side_positions: usize,
    /// The seed of the random turns.
    pub seed: u64,
    /// Centipawns of the logistic function from scores to expected scores; fitted to the results if not set.
    pub score_scale: Option<f32>,
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
    /// The evaluator cannot be given positions of the variant.
    #[error("positions of {0} are no FENs of one board with two sides")]
    Unfit(String),
}

/// Games with new scores.
#[derive(Debug)]
pub struct Rescored {
    /// The games, with the positions beside them.
    pub games: Vec<GameRecord>,
    /// The number of games that do not replay, and were left out.
    pub bad_games: usize,
    /// Factor on the log odds of [`EngineScore::expected`] that the scores were made with.
    pub steepness: f32,
}

/// The number of games whose positions one process of the evaluator gets.
const GAMES_PER_PROCESS: usize = 512;

/// The greatest number of random turns between a position and one beside it.
const SIDE_TURNS: usize = 2;

/// Replaces the scores of games by those of the evaluator. `done` is called with the number of games so far.
///
/// Policies and results stay. Where the evaluator has no score, and within a turn of several plies, there is none.
///
/// # Errors
/// [`RescoreError`].
pub fn rescore(
    variant: &Variant,
    config: &RescoreConfig,
    games: &[GameRecord],
    done: &(dyn Fn(usize) + Sync),
) -> Result<Rescored, RescoreError> {
    let start = variant.start();
    if variant.has_two_boards() || start.game_spec().sides != 2 {
        return Err(RescoreError::Unfit(variant.name().to_owned()));
    }
    let total = AtomicUsize::new(0);
    let parts: Vec<(Vec<GameRecord>, usize)> = games
        .par_chunks(GAMES_PER_PROCESS)
        .enumerate()
        .map(|(nth, chunk)| {
            let rng = ChaCha8Rng::seed_from_u64(config.seed ^ (nth as u64).rotate_left(32));
            let scored = score_games(variant, config, chunk, rng)?;
            done(total.fetch_add(chunk.len(), Ordering::Relaxed) + chunk.len());
            Ok(scored)
        })
        .collect::<Result<_, _>>()?;
    let bad_games = parts.iter().map(|(_, bad_games)| bad_games).sum();
    let mut scored: Vec<GameRecord> = parts.into_iter().flat_map(|(games, _)| games).collect();
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
    Ok(Rescored { games: scored, bad_games, steepness })
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

/// Where a position comes from: the number of the game, the ply, and the moves from there, if it is beside the game.
struct Source {
    game: usize,
    ply: usize,
    beside: Option<Vec<u16>>,
}

impl Positions {
    /// Adds a game without scores and the positions beside it. Returns `None`, and adds nothing, if it does not replay.
    fn add(
        &mut self,
        variant: &Variant,
        game: &GameRecord,
        side_positions: usize,
        rng: &mut ChaCha8Rng,
    ) -> Option<()> {
        let (games, fens) = (self.games.len(), self.fens.len());
        let added = self.add_plies(variant, game, side_positions, rng);
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
        side_positions: usize,
        rng: &mut ChaCha8Rng,
    ) -> Option<()> {
        let number = self.games.len();
        self.games.push(GameRecord { side_positions: vec![], ..game.clone() });
        let mut position = game.position(variant, 0)?;
        for (nth, ply) in game.plies.iter().enumerate() {
            self.games[number].plies[nth].score = None;
            if !position.mid_turn() {
                self.sources.push(Source { game: number, ply: nth, beside: None });
                self.fens.push(position.fen());
                for _ in 0..side_positions {
                    let turns = rng.random_range(1..=SIDE_TURNS);
                    if let Some((moves, fen)) = random_continuation(&position, turns, rng) {
                        let beside = Some(moves);
                        self.sources.push(Source { game: number, ply: nth, beside });
                        self.fens.push(fen);
                    }
                }
            }
            position.play(PackedMove(ply.played).unpack()?).then_some(())?;
        }
        Some(())
    }
}

/// Scores games by one process, and counts those that do not replay. The scores are [`EngineScore::expected`].
fn score_games(
    variant: &Variant,
    config: &RescoreConfig,
    games: &[GameRecord],
    mut rng: ChaCha8Rng,
) -> Result<(Vec<GameRecord>, usize), RescoreError> {
    let mut positions = Positions::default();
    let mut bad_games = 0;
    for game in games {
        let added = positions.add(variant, game, config.side_positions, &mut rng);
        bad_games += usize::from(added.is_none());
    }
    let Positions { mut games, fens, sources } = positions;
    for (Source { game, ply, beside }, score) in sources.into_iter().zip(evaluate(config, &fens)?) {
        let score = score.map(EngineScore::expected);
        match (beside, score) {
            (None, score) => games[game].plies[ply].score = score,
            (Some(moves), Some(score)) => {
                let side = SidePosition { ply: ply as u32, moves, score };
                games[game].side_positions.push(side);
            }
            (Some(_), None) => {}
        }
    }
    Ok((games, bad_games))
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

/// Returns the scores of positions by one process of the evaluator.
fn evaluate(
    config: &RescoreConfig,
    fens: &[String],
) -> Result<Vec<Option<EngineScore>>, RescoreError> {
    let evaluator = || config.evaluator.display().to_string();
    let io = |source| RescoreError::Io { evaluator: evaluator(), source };
    let mut process = Command::new(&config.evaluator)
        .args(&config.arguments)
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
        let read = read_scores(config, BufReader::new(output), fens, &mut scores);
        // An evaluator that no longer prints might not read on either.
        if read.is_err() {
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
        let (found, expected) = (scores.len(), fens.len());
        return Err(RescoreError::Count { evaluator: evaluator(), found, expected });
    }
    Ok(scores)
}

/// Reads a score for each FEN, as far as there are lines. Any other line, such as a greeting, is an error.
fn read_scores(
    config: &RescoreConfig,
    output: impl BufRead,
    fens: &[String],
    scores: &mut Vec<Option<EngineScore>>,
) -> Result<(), RescoreError> {
    let evaluator = || config.evaluator.display().to_string();
    for (nth, line) in output.lines().enumerate() {
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
