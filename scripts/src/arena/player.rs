//! Players, which are asked for turns.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use menagerie::encoding::Encoding;
use menagerie::nn::network::Backend;
use menagerie::nn::{Cache, Evaluator, Fit, Onnx, Uniform};
use menagerie::rules::{Move, MoveList, Position};
use menagerie::search::{Params, Searcher, Tree};
use menagerie::variant::Variant;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::plain_mcts::PlainMcts;
use super::spec::{PlayerKind, PlayerSpec};
use crate::alpha_beta::AlphaBetaSearch;

/// A game from the view of the player to move.
#[derive(Debug)]
pub struct Situation<'a> {
    /// The opening.
    pub start: &'a Position,
    /// The turns after the opening, in the notation of UCI.
    pub turns: &'a [String],
    /// The position, in which the game is not over.
    pub position: &'a Position,
    /// The plies of each of `turns`.
    pub plies: &'a [Vec<Move>],
    /// The milliseconds on the clock of each side, if it has one.
    pub clocks: &'a [Option<u64>],
}

/// A fault by which a player loses a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlayerFault {
    /// The text is no legal turn.
    IllegalTurn(String),
    /// The engine ended, or its answer is invalid.
    EngineFailure(String),
    /// The turn took this number of milliseconds, which is too long.
    Timeout(u64),
    /// The player resigned.
    Resignation,
}

/// Why a player returned no turn.
#[derive(Debug)]
pub enum TurnError {
    /// The player loses the game.
    Fault(PlayerFault),
    /// The match cannot continue.
    Fatal(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for TurnError {
    fn from(error: E) -> TurnError {
        TurnError::Fatal(error.into())
    }
}

/// A player. It lives on one thread and plays one game at a time.
pub trait Player {
    /// Starts a game at `start`. All randomness comes from `rng`.
    ///
    /// # Errors
    /// If the player cannot play at all.
    fn begin(&mut self, start: &Position, rng: ChaCha8Rng) -> anyhow::Result<()>;

    /// Returns the plies of a whole turn.
    ///
    /// # Errors
    /// [`TurnError::Fault`] if the player loses by its own fault, [`TurnError::Fatal`] if the match cannot
    /// continue.
    fn turn(&mut self, game: &Situation<'_>) -> Result<Vec<Move>, TurnError>;

    /// Returns the milliseconds on the clock of the player, if it has one.
    fn clock(&self) -> Option<u64> {
        None
    }

    /// Ends the game. `result` has the form of PGN.
    fn end(&mut self, _result: &str, _reason: &str) {}
}

/// Creates a player of this process.
///
/// # Errors
/// If the network does not fit the game or cannot be run, or the player is not one of this process.
pub fn create_player(variant: &Arc<Variant>, spec: &PlayerSpec) -> anyhow::Result<Box<dyn Player>> {
    spec.check()?;
    let encoding = Encoding::of(&variant.start());
    let visits = spec.visits.unwrap_or(u32::MAX);
    let mut defaults = Params::default();
    let evaluator: Box<dyn Evaluator> = match (spec.kind, &spec.file) {
        (PlayerKind::Random, _) => return Ok(Box::new(RandomPlayer { rng: None })),
        (PlayerKind::Plain, _) => {
            let root_c_puct = spec.parameter("root_c_puct", 1.0);
            let c_puct = spec.parameter("c_puct", 1.0);
            return Ok(Box::new(PlainMctsPlayer {
                root_c_puct,
                c_puct,
                fresh: spec.fresh,
                visits,
                search: PlainMcts::new(root_c_puct, c_puct),
                rng: None,
            }));
        }
        (PlayerKind::AlphaBeta, Some(path)) => {
            let network = open_network(path, variant, spec.trained_for.as_deref(), &encoding)?;
            let time = spec.movetime.map(Duration::from_millis);
            let nodes = spec.visits.map_or(u64::MAX, u64::from);
            let search = AlphaBetaSearch::new(&variant.start(), &network, nodes, time)
                .map_err(|error| anyhow::anyhow!("{spec}: {error}"))?;
            return Ok(Box::new(AlphaBetaPlayer(search)));
        }
        (PlayerKind::Uniform, _) => {
            defaults = Params::without_network();
            Box::new(Uniform::new(encoding.shape()))
        }
        (PlayerKind::Net, Some(path)) => {
            let network = open_network(path, variant, spec.trained_for.as_deref(), &encoding)?;
            if network.is_sparse() {
                defaults = Params::sparse();
            }
            network.with_cache(Cache::shared(CACHE_BYTES))
        }
        _ => anyhow::bail!("{spec} is not a player of this process"),
    };
    let params = spec.params(defaults)?;
    Ok(Box::new(SearchPlayer {
        tree: Tree::new(variant.start(), params, TREE_BYTES),
        evaluator,
        visits,
        time: spec.movetime.map(Duration::from_millis),
        fresh: spec.fresh,
        advanced_turns: 0,
    }))
}

/// Memory of a search tree.
const TREE_BYTES: usize = 128 << 20;
/// Memory of the evaluation cache, which is not counted in [`TREE_BYTES`].
const CACHE_BYTES: usize = 64 << 20;

fn open_network(
    path: &Path,
    variant: &Variant,
    trained_for: Option<&str>,
    encoding: &Encoding,
) -> anyhow::Result<Onnx> {
    let name = path.display();
    let file = std::fs::read(path).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    let (game, fit) = match trained_for {
        Some(other) => (other, Fit::Partial),
        None => (variant.name(), Fit::Exact),
    };
    Onnx::open_related(&file, encoding, game, fit, Backend::Cpu, 1)
        .map_err(|error| anyhow::anyhow!("{name}: {error}"))
}

/// The Monte-Carlo tree search of the engine.
struct SearchPlayer {
    tree: Tree,
    evaluator: Box<dyn Evaluator>,
    visits: u32,
    time: Option<Duration>,
    fresh: bool,
    /// The number of turns of the game up to the root of the tree.
    advanced_turns: usize,
}

impl Player for SearchPlayer {
    fn begin(&mut self, start: &Position, _rng: ChaCha8Rng) -> anyhow::Result<()> {
        // Cached evaluations of other games would change the search, and games would not be repeatable.
        self.evaluator.clear_caches();
        self.tree.restart(start.clone());
        self.advanced_turns = 0;
        Ok(())
    }

    fn turn(&mut self, game: &Situation<'_>) -> Result<Vec<Move>, TurnError> {
        let begun = Instant::now();
        if self.fresh {
            self.tree.restart(game.position.clone());
        } else {
            for &m in game.plies[self.advanced_turns..].iter().flatten() {
                self.tree.advance(m);
            }
        }
        self.advanced_turns = game.plies.len();
        let batch = self.evaluator.preferred_batch();
        let mut searcher = Searcher::new(&mut self.tree, &mut self.evaluator, batch);
        let has_time = || self.time.is_none_or(|time| begun.elapsed() < time);
        searcher.visit(self.visits, has_time)?;
        let line = searcher.tree().lines(1).into_iter().next();
        let line = line.ok_or_else(|| anyhow::anyhow!("no move in {}", game.position.fen()))?;
        Ok(searcher.whole_turn(&line)?)
    }
}

/// A player by alpha-beta, with what the search has learned in the game so far.
struct AlphaBetaPlayer(AlphaBetaSearch);

impl Player for AlphaBetaPlayer {
    fn begin(&mut self, _start: &Position, _rng: ChaCha8Rng) -> anyhow::Result<()> {
        // Otherwise games would not be repeatable.
        self.0.clear();
        Ok(())
    }

    fn turn(&mut self, game: &Situation<'_>) -> Result<Vec<Move>, TurnError> {
        let line = self.0.best_line(game.position)?;
        let turn = line.and_then(|line| game.position.split_turns(&line.moves).into_iter().next());
        let turn = turn.ok_or_else(|| anyhow::anyhow!("no move in {}", game.position.fen()))?;
        Ok(turn.to_vec())
    }
}

/// A player by [`PlainMcts`].
struct PlainMctsPlayer {
    root_c_puct: f32,
    c_puct: f32,
    fresh: bool,
    visits: u32,
    search: PlainMcts,
    rng: Option<ChaCha8Rng>,
}

impl Player for PlainMctsPlayer {
    fn begin(&mut self, _start: &Position, rng: ChaCha8Rng) -> anyhow::Result<()> {
        self.search = PlainMcts::new(self.root_c_puct, self.c_puct);
        self.rng = Some(rng);
        Ok(())
    }

    fn turn(&mut self, game: &Situation<'_>) -> Result<Vec<Move>, TurnError> {
        let rng = self.rng.as_mut().ok_or_else(|| anyhow::anyhow!("no game has been started"))?;
        if self.fresh {
            self.search = PlainMcts::new(self.root_c_puct, self.c_puct);
        }
        whole_turn(game.position, |position| self.search.best_move(position, self.visits, rng))
    }
}

/// A player of random legal moves.
struct RandomPlayer {
    rng: Option<ChaCha8Rng>,
}

impl Player for RandomPlayer {
    fn begin(&mut self, _start: &Position, rng: ChaCha8Rng) -> anyhow::Result<()> {
        self.rng = Some(rng);
        Ok(())
    }

    fn turn(&mut self, game: &Situation<'_>) -> Result<Vec<Move>, TurnError> {
        let rng = self.rng.as_mut().ok_or_else(|| anyhow::anyhow!("no game has been started"))?;
        let mut legal = MoveList::new();
        whole_turn(game.position, |position| {
            position.legal_moves(&mut legal);
            if legal.is_empty() {
                return None;
            }
            Some(legal[rng.random_range(0..legal.len())])
        })
    }
}

/// Creates a player of [`PlayerKind::Custom`] for the games of a variant.
pub type CreatePlayer = fn(&Arc<Variant>, &PlayerSpec) -> anyhow::Result<Box<dyn Player>>;

/// A player that chooses each ply by a function of the position, without randomness. The function
/// returns `None` if there is no legal move.
#[derive(Clone, Copy, Debug)]
pub struct PlyChooser<F>(pub F);

impl<F: FnMut(&Position) -> Option<Move>> Player for PlyChooser<F> {
    fn begin(&mut self, _start: &Position, _rng: ChaCha8Rng) -> anyhow::Result<()> {
        Ok(())
    }

    fn turn(&mut self, game: &Situation<'_>) -> Result<Vec<Move>, TurnError> {
        whole_turn(game.position, &mut self.0)
    }
}

/// Returns the plies of a turn, which `choose` chooses one by one.
fn whole_turn(
    position: &Position,
    mut choose: impl FnMut(&Position) -> Option<Move>,
) -> Result<Vec<Move>, TurnError> {
    let mut position = position.clone();
    let mut plies = Vec::new();
    loop {
        let ply = choose(&position);
        let ply = ply.ok_or_else(|| anyhow::anyhow!("no move in {}", position.fen()))?;
        plies.push(ply);
        position.play_unchecked(ply);
        // The game may end before the turn is complete.
        if !position.mid_turn() || position.outcome().is_some() {
            return Ok(plies);
        }
    }
}
