//! Players at work: whoever can be asked for a turn.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use menagerie::encoding::Encoding;
use menagerie::nn::network::Backend;
use menagerie::nn::{Cached, Evaluator, Onnx, Uniform};
use menagerie::rules::{Move, MoveList, Position};
use menagerie::search::{Params, Searcher, Tree};
use menagerie::variant::Variant;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::plain_mcts::PlainMcts;
use super::spec::{Kind, PlayerSpec};

/// A game as a player sees it when it is to move.
#[derive(Debug)]
pub struct Situation<'a> {
    /// Where the game began.
    pub start: &'a Position,
    /// The turns since then, as UCI writes them.
    pub turns: &'a [String],
    /// The position now, which has not ended.
    pub position: &'a Position,
    /// The plies of each of `turns`.
    pub plies: &'a [Vec<Move>],
    /// Milliseconds on the clock of each side, if it has one.
    pub clocks: &'a [Option<u64>],
}

/// How a player lost a game but by the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It said what is no legal turn, and this is what.
    Illegal(String),
    /// It ended, or said what nobody understands.
    Broken(String),
    /// It took too long: so many milliseconds.
    Slow(u64),
    /// It gave up.
    Resigned,
}

/// Why no turn came.
#[derive(Debug)]
pub enum NoTurn {
    /// The player's own fault, by which it loses the game.
    Fault(Fault),
    /// The match cannot go on.
    Fatal(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for NoTurn {
    fn from(error: E) -> NoTurn {
        NoTurn::Fatal(error.into())
    }
}

/// Whoever plays a seat. A player lives on one thread and plays one game at a time.
pub trait Player {
    /// A game begins at `start`; all chance comes from `rng`.
    ///
    /// # Errors
    /// If it cannot play at all.
    fn begin(&mut self, start: &Position, rng: ChaCha8Rng) -> anyhow::Result<()>;

    /// The plies of the whole turn it plays now.
    ///
    /// # Errors
    /// If it does not play one.
    fn turn(&mut self, game: &Situation<'_>) -> Result<Vec<Move>, NoTurn>;

    /// Milliseconds on its clock, if it has one.
    fn clock(&self) -> Option<u64> {
        None
    }

    /// How the game ended, for those who want to know: PGN's result and why.
    fn end(&mut self, _result: &str, _why: &str) {}
}

/// A player of this process.
///
/// # Errors
/// If its network does not fit the game or cannot be run, or the player is an engine outside.
pub fn inside(variant: &Arc<Variant>, spec: &PlayerSpec) -> anyhow::Result<Box<dyn Player>> {
    spec.check().map_err(anyhow::Error::msg)?;
    let encoding = Encoding::of(&variant.start());
    let visits = spec.visits.unwrap_or(u32::MAX);
    let mut defaults = Params::default();
    let evaluator: Box<dyn Evaluator> = match (spec.kind, &spec.file) {
        (Kind::Random, _) => return Ok(Box::new(Random { rng: None })),
        (Kind::Plain, _) => {
            let (root, below) = (parameter(spec, "root_c_puct"), parameter(spec, "c_puct"));
            let search = PlainMcts::new(root, below);
            return Ok(Box::new(Plain {
                root,
                below,
                fresh: spec.fresh,
                visits,
                search,
                rng: None,
            }));
        }
        (Kind::Uniform, _) => {
            defaults = Params::blind();
            Box::new(Uniform::new(encoding.shape()))
        }
        (Kind::Net, Some(path)) => {
            let game = spec.asked_as.as_deref().unwrap_or(variant.name());
            let network = network(path, game, &encoding)?;
            if network.is_sparse() {
                defaults = Params::sparse();
            }
            Box::new(Cached::new(network, CACHE_BYTES))
        }
        _ => anyhow::bail!("{spec} is no player of this process"),
    };
    let params = spec.params(defaults).map_err(anyhow::Error::msg)?;
    Ok(Box::new(Thinker {
        tree: Tree::new(variant.start(), params, TREE_BYTES),
        evaluator,
        visits,
        time: spec.movetime.map(Duration::from_millis),
        fresh: spec.fresh,
        known: 0,
    }))
}

fn parameter(spec: &PlayerSpec, name: &str) -> f32 {
    spec.parameter(name, 1.0)
}

/// Memory of a tree, and of the evaluations that are remembered beside it.
const TREE_BYTES: usize = 128 << 20;
const CACHE_BYTES: usize = 64 << 20;

fn network(path: &Path, game: &str, encoding: &Encoding) -> anyhow::Result<Onnx> {
    let name = path.display();
    let file = std::fs::read(path).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    Onnx::open(&file, encoding, game, Backend::Cpu, 1)
        .map_err(|error| anyhow::anyhow!("{name}: {error}"))
}

/// The library's search, as the engine lets it play.
struct Thinker {
    tree: Tree,
    evaluator: Box<dyn Evaluator>,
    visits: u32,
    time: Option<Duration>,
    fresh: bool,
    /// How many turns of the game the tree's root has behind it.
    known: usize,
}

impl Player for Thinker {
    fn begin(&mut self, start: &Position, _rng: ChaCha8Rng) -> anyhow::Result<()> {
        // What was remembered of other games would change what is searched, and no game would repeat.
        self.evaluator.forget();
        self.tree.restart(start.clone());
        self.known = 0;
        Ok(())
    }

    fn turn(&mut self, game: &Situation<'_>) -> Result<Vec<Move>, NoTurn> {
        let begun = Instant::now();
        if self.fresh {
            self.tree.restart(game.position.clone());
        } else {
            game.plies[self.known..].iter().flatten().for_each(|&m| self.tree.advance(m));
        }
        self.known = game.plies.len();
        let batch = self.evaluator.preferred_batch();
        let mut searcher = Searcher::new(&mut self.tree, &mut self.evaluator, batch);
        let timely = || self.time.is_none_or(|time| begun.elapsed() < time);
        searcher.visit(self.visits, timely)?;
        let line = searcher.tree().lines(1).into_iter().next();
        let line =
            line.ok_or_else(|| anyhow::anyhow!("nothing to play in {}", game.position.fen()))?;
        Ok(searcher.whole_turn(&line)?)
    }
}

/// Plain MCTS.
struct Plain {
    root: f32,
    below: f32,
    fresh: bool,
    visits: u32,
    search: PlainMcts,
    rng: Option<ChaCha8Rng>,
}

impl Player for Plain {
    fn begin(&mut self, _start: &Position, rng: ChaCha8Rng) -> anyhow::Result<()> {
        self.search = PlainMcts::new(self.root, self.below);
        self.rng = Some(rng);
        Ok(())
    }

    fn turn(&mut self, game: &Situation<'_>) -> Result<Vec<Move>, NoTurn> {
        let rng = self.rng.as_mut().ok_or_else(|| anyhow::anyhow!("no game has begun"))?;
        if self.fresh {
            self.search = PlainMcts::new(self.root, self.below);
        }
        whole_turn(game.position, |position| self.search.best_move(position, self.visits, rng))
    }
}

/// Plays any legal move, each as likely as any other.
struct Random {
    rng: Option<ChaCha8Rng>,
}

impl Player for Random {
    fn begin(&mut self, _start: &Position, rng: ChaCha8Rng) -> anyhow::Result<()> {
        self.rng = Some(rng);
        Ok(())
    }

    fn turn(&mut self, game: &Situation<'_>) -> Result<Vec<Move>, NoTurn> {
        let rng = self.rng.as_mut().ok_or_else(|| anyhow::anyhow!("no game has begun"))?;
        let mut legal = MoveList::new();
        whole_turn(game.position, |position| {
            position.legal_moves(&mut legal);
            let some = !legal.is_empty();
            some.then(|| legal[rng.random_range(0..legal.len())])
        })
    }
}

/// Creates a player of [`Kind::Custom`] for the games of a variant.
pub type CreatePlayer = fn(&Arc<Variant>, &PlayerSpec) -> anyhow::Result<Box<dyn Player>>;

/// A player that chooses each ply by a function of the position, without randomness. The function
/// returns `None` if there is no legal move.
#[derive(Clone, Copy, Debug)]
pub struct PlyChooser<F>(pub F);

impl<F: FnMut(&Position) -> Option<Move>> Player for PlyChooser<F> {
    fn begin(&mut self, _start: &Position, _rng: ChaCha8Rng) -> anyhow::Result<()> {
        Ok(())
    }

    fn turn(&mut self, game: &Situation<'_>) -> Result<Vec<Move>, NoTurn> {
        whole_turn(game.position, &mut self.0)
    }
}

/// The plies of a turn, chosen one by one.
fn whole_turn(
    position: &Position,
    mut choose: impl FnMut(&Position) -> Option<Move>,
) -> Result<Vec<Move>, NoTurn> {
    let mut position = position.clone();
    let mut plies = Vec::new();
    loop {
        let ply = choose(&position);
        let ply = ply.ok_or_else(|| anyhow::anyhow!("nothing to play in {}", position.fen()))?;
        plies.push(ply);
        position.play_unchecked(ply);
        // A turn that is owed may end with the game, as a king does.
        if !position.mid_turn() || position.outcome().is_some() {
            return Ok(plies);
        }
    }
}
