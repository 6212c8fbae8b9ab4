//! The bench: a fixed workload whose result shows whether a search has changed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::alphabeta::{self, AlphaBeta, Request, StaticEvaluator, Verdict};
use crate::encoding::Encoding;
use crate::nn::{EvalError, Uniform};
use crate::rules::{Key, Move, MoveList, Position};
use crate::search::{Memory, Params, Searcher, Tree};
use crate::variant::Catalogue;

/// Visits per position.
const VISITS: u32 = 2000;
/// Positions per variant: its start, and others after random turns.
const POSITIONS: usize = 4;
/// Plies from one position to the next.
const PLIES: usize = 9;
/// Leaves per batch, whatever the number of threads.
const BATCH_SIZE: usize = 4;
/// The memory for a tree, more than it needs.
const TREE_BYTES: usize = 16 << 20;
/// Nodes of the alpha-beta search of a position, and the memory of its table, less than it could use.
const NODES: u64 = 2000;
const TABLE_BYTES: usize = 1 << 16;

/// A position of the bench, and the result of its search.
#[derive(Clone, PartialEq, Debug)]
pub struct BenchPosition {
    /// The name of the variant.
    pub variant: String,
    /// The position.
    pub fen: String,
    /// The best first ply; `None` if the game is over.
    pub best: Option<String>,
    /// The number of visits, and of the nodes of the alpha-beta search if there is one.
    pub nodes: u64,
    /// The memory that the tree used.
    pub memory: Memory,
    /// A hash of the moves of the root with their visits and proofs, and of the lines of the alpha-beta search.
    pub signature: u64,
}

/// Searches fixed positions of every variant of `catalogue` with a [`Uniform`] policy and the parameters of
/// sparse networks, mate search included, and by alpha-beta with a count of pieces where that is possible, in
/// `threads` threads that search a position each. The result is the same on every machine and for any number of
/// threads. It changes if a search or the rules of a variant change.
///
/// # Errors
/// If a search fails or a thread panics.
pub fn bench(catalogue: &Catalogue, threads: usize) -> Result<Vec<BenchPosition>, EvalError> {
    let starts = catalogue.iter().map(|variant| (variant.name(), variant.start()));
    let work: Vec<_> = starts
        .flat_map(|(name, start)| {
            positions(start).into_iter().map(move |position| (name, position))
        })
        .collect();
    let next = AtomicUsize::new(0);
    let search_remaining = || {
        std::iter::from_fn(|| work.get(next.fetch_add(1, Ordering::Relaxed)))
            .map(|(name, position)| search(name, position))
            .collect::<Result<Vec<_>, _>>()
    };
    let mut found = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(search_remaining)).collect();
        let mut found = search_remaining()?;
        for other in others {
            let joined = other.join().map_err(|_| EvalError("a bench thread panicked".to_owned()));
            found.extend(joined??);
        }
        Ok(found)
    })?;
    found.sort_by_key(|result| {
        work.iter()
            .position(|(name, position)| *name == result.variant && position.fen() == result.fen)
    });
    Ok(found)
}

fn search(variant: &str, position: &Position) -> Result<BenchPosition, EvalError> {
    let mut evaluator = Uniform::new(Encoding::of(position).shape());
    let mut tree = Tree::new(position.clone(), Params::sparse(), TREE_BYTES);
    let mut searcher = Searcher::new(&mut tree, &mut evaluator, BATCH_SIZE);
    let mut nodes = 0;
    while nodes < VISITS && !searcher.tree().is_proven() {
        nodes += searcher.step(VISITS - nodes)?.visits;
    }
    let alpha_beta = alpha_beta_numbers(position)?;
    let root_moves = tree.root_moves();
    let numbers = root_moves.iter().flat_map(|choice| {
        let text = format!("{} {:?}", position.move_text(choice.m), choice.proof);
        let bytes: Vec<_> = text.bytes().map(u64::from).collect();
        bytes.into_iter().chain([u64::from(choice.visits)])
    });
    Ok(BenchPosition {
        variant: variant.to_owned(),
        fen: position.fen(),
        best: root_moves.first().map(|choice| position.move_text(choice.m)),
        nodes: u64::from(nodes) + alpha_beta.first().copied().unwrap_or(0),
        memory: tree.memory(),
        signature: Key::of(numbers.chain(alpha_beta.iter().copied())).0,
    })
}

/// Counts the pieces of each side, and expects the moves in their order.
struct PieceCount;

impl StaticEvaluator for PieceCount {
    fn score(&mut self, _ply: usize, position: &Position) -> Result<alphabeta::Score, EvalError> {
        let view = position.board();
        let count = |color| view.pieces.by_color(color).count() as alphabeta::Score;
        Ok(100 * (count(view.turn) - count(!view.turn)))
    }

    fn policy(
        &mut self,
        _ply: usize,
        _position: &Position,
        legal: &[Move],
        logits: &mut Vec<f32>,
    ) -> Result<(), EvalError> {
        logits.clear();
        logits.extend((0..legal.len()).map(|nth| -(nth as f32) / 8.0));
        Ok(())
    }
}

/// Returns the nodes, the depth and the moves of an alpha-beta search; nothing if there is none for the game.
fn alpha_beta_numbers(position: &Position) -> Result<Vec<u64>, EvalError> {
    if !alphabeta::supports(position) {
        return Ok(Vec::new());
    }
    let request = Request {
        root: position,
        moves: &[],
        lines: 1,
        max_depth: u32::MAX,
        max_nodes: NODES,
        probe: None,
    };
    let mut search = AlphaBeta::new(vec![PieceCount], TABLE_BYTES);
    let found = search.search(request, &|_| false, &mut |_| Verdict::Continue)?;
    let mut numbers = vec![found.nodes, u64::from(found.depth)];
    for line in found.lines {
        numbers.push(line.score as u64);
        numbers.push(line.nodes);
        numbers.extend(line.moves.iter().map(|m| u64::from(m.pack().0)));
    }
    Ok(numbers)
}

/// Returns the start and positions of a random game from it. A game that ends starts again.
fn positions(start: Position) -> Vec<Position> {
    // SplitMix64, implemented here so that no crate can change its numbers.
    let mut seed = 0_u64;
    let mut random_below = |limit: usize| {
        seed += 1;
        ((u128::from(Key::of([seed]).0) * limit as u128) >> 64) as usize
    };
    let mut found = vec![start.clone()];
    let mut position = start.clone();
    let mut legal = MoveList::new();
    while found.len() < POSITIONS {
        let mut plies = 0;
        while plies < PLIES || position.mid_turn() {
            plies += 1;
            position.legal_moves(&mut legal);
            if legal.is_empty() || position.result().is_some() {
                position = start.clone();
                position.legal_moves(&mut legal);
            }
            let Some(&m) = legal.get(random_below(legal.len())) else { return found };
            position.play_unchecked(m);
        }
        found.push(position.clone());
    }
    found
}
