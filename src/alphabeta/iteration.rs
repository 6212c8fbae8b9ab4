//! The root: iterative deepening with aspiration windows, several lines, and threads.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use super::evaluation::StaticEvaluator;
use super::extensions::CHECK_DEPTH;
use super::policy::{Policy, reduction_by_policy};
use super::reduction::{Late, late_reduction, may_reduce};
use super::score::{INFINITE, MATE_BOUND, Score, mate_plies};
use super::table::TranspositionTable;
use super::task::{Kind, NodeTask};
use super::worker::{Frame, MAX_PLY, Probe, Shared, Worker};
use crate::nn::EvalError;
use crate::rules::{Move, MoveList, Position};

/// The greatest depth of an iteration.
const MAX_DEPTH: u32 = 100;
/// The depth from which on windows are narrow.
const WINDOW_DEPTH: i32 = 5;
/// Half of the first window.
const WINDOW: Score = 25;
/// What a window grows by when the score is outside, beyond half of itself.
const WINDOW_GROWTH: Score = 5;
/// A window that has grown to this is opened.
const MAX_WINDOW: Score = 1500;
/// The plies by which an iteration is searched less after scores above the window, at most.
const MAX_FAIL_HIGH_PLIES: i32 = 2;

/// What is to be searched.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The position.
    pub root: &'a Position,
    /// The legal moves to choose from; all if empty.
    pub moves: &'a [Move],
    /// The number of lines, at least one.
    pub lines: usize,
    /// The depth after which the search ends.
    pub max_depth: u32,
    /// The nodes of all threads after which the search ends. Several threads exceed it by a few hundred.
    pub max_nodes: u64,
    /// Endgame tables.
    pub probe: Option<&'a Probe<'a>>,
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("root", &self.root.fen())
            .field("moves", &self.moves)
            .field("lines", &self.lines)
            .field("max_depth", &self.max_depth)
            .field("max_nodes", &self.max_nodes)
            .finish_non_exhaustive()
    }
}

/// A move of the root, and what the search knows of it.
#[derive(Clone, PartialEq, Debug)]
pub struct RootLine {
    /// The principal variation, of at least a whole turn; its first move is that of the root. Other moves than the best
    /// ones stand alone.
    pub moves: Vec<Move>,
    /// The score for the side to move, of the last iteration in which it was best.
    pub score: Score,
    /// The nodes below it, of the first thread.
    pub nodes: u64,
    /// The probability that the policy gives to the move.
    pub prior: f32,
}

impl RootLine {
    /// Returns the number of plies to a forced mate, positive if the side to move mates; `None` if there is none.
    pub fn mate_plies(&self) -> Option<i32> {
        mate_plies(self.score)
    }
}

/// The state of a search after an iteration.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Iteration {
    /// The completed depth; 0 if not even the first iteration was.
    pub depth: u32,
    /// The plies of the longest line.
    pub longest: usize,
    /// The nodes of all threads.
    pub nodes: u64,
    /// The moves of the root that may be chosen, the best first. Empty if there are none.
    pub lines: Vec<RootLine>,
    /// The used part of the transposition table in permille.
    pub permille: usize,
}

/// Whether to search one ply deeper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Search deeper.
    Continue,
    /// The result is good enough.
    Stop,
}

/// An alpha-beta search with its threads and its table. What it has learned helps later searches of the same game.
pub struct AlphaBeta<E> {
    workers: Vec<Worker<E>>,
    table: TranspositionTable,
}

impl<E> fmt::Debug for AlphaBeta<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AlphaBeta").field("threads", &self.workers.len()).finish_non_exhaustive()
    }
}

impl<E: StaticEvaluator> AlphaBeta<E> {
    /// Returns a search with one thread for each evaluator and a table of `table_bytes` bytes. All searches must be of
    /// the same game.
    ///
    /// # Panics
    /// If there is no evaluator.
    pub fn new(evaluators: Vec<E>, table_bytes: usize) -> AlphaBeta<E> {
        assert!(!evaluators.is_empty(), "a search needs an evaluator");
        let workers = evaluators.into_iter().enumerate();
        AlphaBeta {
            workers: workers.map(|(nth, evaluator)| Worker::new(evaluator, nth == 0)).collect(),
            table: TranspositionTable::new(table_bytes),
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.table.clear();
        self.workers.iter_mut().for_each(Worker::clear);
    }

    /// Searches until the depth, the nodes, `should_stop` (asked every few hundred nodes, with the nodes of all threads) or the
    /// verdict on an iteration ends it. A search that ends before its first iteration has the moves in the order of the
    /// policy.
    ///
    /// # Errors
    /// If the evaluator fails.
    pub fn search(
        &mut self,
        request: Request<'_>,
        should_stop: &(dyn Fn(u64) -> bool + Sync),
        on_iteration: &mut dyn FnMut(&Iteration) -> Verdict,
    ) -> Result<Iteration, EvalError> {
        let AlphaBeta { workers, table } = self;
        table.begin_search();
        let over = AtomicBool::new(false);
        let nodes = AtomicU64::new(0);
        let shared = Shared {
            table,
            over: &over,
            should_stop,
            probe: request.probe,
            nodes: &nodes,
            max_nodes: request.max_nodes.max(1),
        };
        let Some((first, others)) = workers.split_first_mut() else {
            return Ok(Iteration::default());
        };
        let mut iteration = thread::scope(|scope| {
            let mut helpers = Vec::new();
            for (nth, worker) in others.iter_mut().enumerate() {
                let shared = &shared;
                let run = move || {
                    // Every second thread is a ply ahead, so that not all do the same.
                    worker.deepen(shared, request, 1 + (nth as u32 + 1) % 2, &mut |_| {
                        Verdict::Continue
                    });
                    worker.nodes
                };
                match thread::Builder::new().name("search".to_owned()).spawn_scoped(scope, run) {
                    Ok(helper) => helpers.push(helper),
                    // The others search on.
                    Err(error) => log::warn!("cannot start a search thread: {error}"),
                }
            }
            let mut iteration = first.deepen(&shared, request, 1, on_iteration);
            over.store(true, Ordering::Relaxed);
            let others = helpers.into_iter().map(|helper| helper.join().unwrap_or(0));
            iteration.nodes = first.nodes + others.sum::<u64>();
            iteration
        });
        iteration.permille = table.permille();
        match first.failed.take() {
            Some(error) => Err(error),
            None => Ok(iteration),
        }
    }
}

impl<E: StaticEvaluator> Worker<E> {
    /// Searches the root deeper and deeper.
    fn deepen(
        &mut self,
        shared: &Shared<'_>,
        request: Request<'_>,
        first_depth: u32,
        on_iteration: &mut dyn FnMut(&Iteration) -> Verdict,
    ) -> Iteration {
        self.begin(request.root);
        let mut state =
            Iteration { lines: self.root_lines(shared, request), ..Iteration::default() };
        if state.lines.is_empty() {
            return state;
        }
        let count = request.lines.clamp(1, state.lines.len());
        for depth in first_depth..=request.max_depth.clamp(1, MAX_DEPTH) {
            for first in 0..count {
                self.root_depth = depth as i32;
                self.search_window(shared, &mut state.lines, first);
                if self.stopped {
                    break;
                }
                // A later line may turn out to be better than an earlier one.
                state.lines[..=first].sort_by_key(|line| std::cmp::Reverse(line.score));
            }
            self.report_nodes(shared);
            state.nodes = self.all_nodes();
            state.longest = self.deepest.max(1);
            if self.stopped {
                break;
            }
            state.depth = depth;
            if self.is_first {
                state.permille = shared.table.permille();
            }
            self.complete_turns(shared, &mut state.lines[..count]);
            if on_iteration(&state) == Verdict::Stop {
                break;
            }
        }
        self.complete_turns(shared, &mut state.lines[..count]);
        state
    }

    /// Completes the first turn of lines that end within it, by the move of the table or else by the policy.
    fn complete_turns(&mut self, shared: &Shared<'_>, lines: &mut [RootLine]) {
        for line in lines.iter_mut().filter(|line| line.moves.len() == 1) {
            let candidate = self.candidate(0, line.moves[0]);
            self.make(shared, 0, candidate);
            self.nodes -= 1;
            if !self.frames[1].position.mid_turn() || self.generate(1).is_some() {
                continue;
            }
            let entry = shared.table.probe(self.frames[1].key);
            self.ask_policy(1);
            self.order_all(1, entry.and_then(|entry| entry.best));
            let Frame { legal, order, .. } = &mut self.frames[1];
            line.moves.push(legal[order.index(0)]);
        }
    }

    /// Returns the moves of the root, in the order of the policy. Their scores are the static evaluation.
    fn root_lines(&mut self, shared: &Shared<'_>, request: Request<'_>) -> Vec<RootLine> {
        let mut legal = MoveList::new();
        request.root.legal_moves(&mut legal);
        if legal.is_empty() {
            return Vec::new();
        }
        let score = self.evaluate(0);
        self.frames[0].eval = self.corrected(0, score);
        self.frames[0].is_evaluated = !self.in_check(0);
        self.frames[0].legal.clone_from(&legal);
        self.ask_policy(0);
        let entry = shared.table.probe(request.root.key());
        self.order_all(0, entry.and_then(|entry| entry.best));
        let Frame { order, logits, .. } = &mut self.frames[0];
        let policy = Policy::new(logits);
        let ordered = (0..order.len()).map(|nth| order.index(nth));
        ordered
            .map(|index| (index, legal[index]))
            .filter(|(_, m)| request.moves.is_empty() || request.moves.contains(m))
            .map(|(index, m)| RootLine {
                moves: vec![m],
                score,
                nodes: 0,
                prior: policy.probability(logits, index).unwrap_or(0.0),
            })
            .collect()
    }

    /// Searches the lines from number `first` on, in windows around the score of the last iteration.
    fn search_window(&mut self, shared: &Shared<'_>, lines: &mut [RootLine], first: usize) {
        let before = lines[first].score;
        let is_narrow = self.root_depth >= WINDOW_DEPTH && before.abs() < MATE_BOUND;
        let mut width = WINDOW;
        let (mut alpha, mut beta) =
            if is_narrow { (before - width, before + width) } else { (-INFINITE, INFINITE) };
        let mut depth = self.root_depth;
        loop {
            let score = self.search_root(shared, lines, first, depth, alpha, beta);
            if self.stopped {
                return;
            }
            if score <= alpha && alpha > -INFINITE {
                beta = (alpha + beta) / 2;
                alpha = (score - width).max(-INFINITE);
                depth = self.root_depth;
            } else if score >= beta && beta < INFINITE {
                beta = (score + width).min(INFINITE);
                depth = (depth - 1).max(self.root_depth - MAX_FAIL_HIGH_PLIES).max(1);
            } else {
                return;
            }
            width += width / 2 + WINDOW_GROWTH;
            if width > MAX_WINDOW {
                (alpha, beta) = (-INFINITE, INFINITE);
            }
        }
    }

    /// Searches the moves from number `first` on, and puts the best one first. If the search is stopped, the first
    /// one is the best so far.
    fn search_root(
        &mut self,
        shared: &Shared<'_>,
        lines: &mut [RootLine],
        first: usize,
        depth: i32,
        mut alpha: Score,
        beta: Score,
    ) -> Score {
        let mut best = -INFINITE;
        let in_check = self.in_check(0);
        self.frames[0].excluded = None;
        self.frames[1].excluded = None;
        for nth in first..lines.len() {
            let m = lines[nth].moves[0];
            let nodes_before = self.nodes;
            let candidate = self.candidate(0, m);
            self.make(shared, 0, candidate);
            let gives_check = self.in_check(1);
            let kind = Kind::Principal;
            let reduction = if may_reduce(depth, nth - first) {
                let late = Late {
                    depth,
                    nth: nth - first,
                    kind,
                    is_forcing: gives_check || in_check,
                    was_principal: true,
                };
                let history = self.history_of(0, candidate);
                let by_policy = reduction_by_policy(lines[nth].prior);
                Some(late_reduction(late, candidate, history, by_policy, false))
            } else {
                None
            };
            let is_extended = lines.len() == 1 || gives_check && depth <= CHECK_DEPTH;
            let depth_after = depth - 1 + i32::from(is_extended);
            let task = NodeTask { ply: 0, depth: depth_after, alpha, beta, kind };
            let score = self.search_reduced(shared, task, reduction, nth == first);
            if self.stopped {
                return best;
            }
            let line = &mut lines[nth];
            line.nodes += self.nodes - nodes_before;
            if nth == first || score > alpha {
                line.score = score;
                line.moves.truncate(1);
                let after = &self.frames[1].line;
                line.moves.extend_from_slice(after);
            }
            best = best.max(score);
            if score > alpha {
                alpha = score;
                lines[first..=nth].rotate_right(1);
                if score >= beta {
                    break;
                }
            }
        }
        best
    }
}

const _: () = assert!(MAX_DEPTH as usize <= MAX_PLY);
