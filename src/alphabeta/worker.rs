//! One thread's part of a search: its positions along the current line, and what it has learned about moves.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::candidate::Candidate;
use super::evaluation::StaticEvaluator;
use super::histories::{CorrectionKeys, Histories};
use super::move_order::MoveOrder;
use super::score::{MAX_EVAL, Score, TABLE_WIN, decided, from_table, to_table};
use super::table::{Entry, TranspositionTable};
use crate::nn::EvalError;
use crate::rules::{BoardId, Key, Move, MoveList, PackedMove, Position, ProvenValue};

/// The longest line, in plies from the root.
pub(super) const MAX_PLY: usize = 120;
/// Nodes between two questions whether to stop.
const STOP_INTERVAL: u64 = 256;
/// Nodes between two questions whether the transposition table is crowded.
const GROWTH_INTERVAL: u64 = 1 << 13;

/// Looks up the value of a position in endgame tables.
pub type Probe<'a> = dyn Fn(&Position) -> Option<ProvenValue> + Sync + 'a;

/// What a search shares with all its threads.
pub(super) struct Shared<'a> {
    pub(super) table: &'a TranspositionTable,
    /// Set when all threads must stop.
    pub(super) over: &'a AtomicBool,
    /// Whether the search must stop after a number of nodes; asked by the first thread only.
    pub(super) should_stop: &'a (dyn Fn(u64) -> bool + Sync),
    pub(super) probe: Option<&'a Probe<'a>>,
    /// The nodes of all threads that they have reported.
    pub(super) nodes: &'a AtomicU64,
    /// The nodes that all threads may visit.
    pub(super) max_nodes: u64,
}

/// What a thread keeps for one position of the current line. Reused, so that nothing is allocated.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) position: Position,
    /// Its key.
    pub(super) key: Key,
    pub(super) legal: MoveList,
    /// The order of moves in `legal`.
    pub(super) order: MoveOrder,
    /// The logits of `legal`, if the policy was asked.
    pub(super) logits: Vec<f32>,
    /// Two quiet moves that refuted other moves here.
    pub(super) killers: [PackedMove; 2],
    /// The corrected evaluation; that of two plies before where `is_evaluated` says that there is none.
    pub(super) eval: Score,
    pub(super) is_evaluated: bool,
    /// The move that led from here to the next position; `None` for a passed turn.
    pub(super) moved: Option<Candidate>,
    /// The move that a search for alternatives leaves out.
    pub(super) excluded: Option<PackedMove>,
    /// The principal variation from here.
    pub(super) line: Vec<Move>,
}

impl Frame {
    fn new(position: &Position) -> Frame {
        Frame {
            position: position.clone(),
            key: position.key(),
            legal: MoveList::new(),
            order: MoveOrder::default(),
            logits: Vec::new(),
            killers: [PackedMove::default(); 2],
            eval: 0,
            is_evaluated: false,
            moved: None,
            excluded: None,
            line: Vec::new(),
        }
    }
}

/// One thread's state.
#[derive(Debug)]
pub(super) struct Worker<E> {
    pub(super) evaluator: E,
    pub(super) frames: Vec<Frame>,
    pub(super) histories: Histories,
    /// Whether checks are counted, so that each gains something.
    pub(super) counts_checks: bool,
    /// Nodes of this search.
    pub(super) nodes: u64,
    /// Those that have been added to the nodes of all threads.
    reported_nodes: u64,
    /// Nodes of the other threads, when this one last asked.
    other_nodes: u64,
    /// The longest line of this search, in plies.
    pub(super) deepest: usize,
    /// The depth of the current iteration.
    pub(super) root_depth: i32,
    /// Whether the search is to return at once; its results are void then.
    pub(super) stopped: bool,
    /// Whether this thread decides when the search is over.
    pub(super) is_first: bool,
    /// Why the evaluator failed.
    pub(super) failed: Option<EvalError>,
    next_question: u64,
    next_growth: u64,
}

impl<E: StaticEvaluator> Worker<E> {
    pub(super) fn new(evaluator: E, is_first: bool) -> Worker<E> {
        Worker {
            evaluator,
            frames: Vec::new(),
            histories: Histories::new(),
            counts_checks: false,
            nodes: 0,
            reported_nodes: 0,
            other_nodes: 0,
            deepest: 0,
            root_depth: 0,
            stopped: false,
            is_first,
            failed: None,
            next_question: 0,
            next_growth: 0,
        }
    }

    /// Forgets what earlier searches have learned.
    pub(super) fn clear(&mut self) {
        self.histories = Histories::new();
    }

    /// Begins a search of `root`.
    pub(super) fn begin(&mut self, root: &Position) {
        if self.frames.is_empty() {
            self.frames = (0..MAX_PLY + 2).map(|_| Frame::new(root)).collect();
        }
        for frame in &mut self.frames {
            frame.killers = [PackedMove::default(); 2];
            frame.excluded = None;
        }
        self.frames[0].position.clone_from(root);
        self.frames[0].position.begin_search();
        self.frames[0].key = root.key();
        self.histories.age();
        self.counts_checks = root.counts_checks();
        self.nodes = 0;
        self.reported_nodes = 0;
        self.other_nodes = 0;
        self.deepest = 0;
        self.stopped = false;
        self.failed = None;
        self.next_question = STOP_INTERVAL;
        self.next_growth = GROWTH_INTERVAL;
    }

    /// Adds its nodes to those of all threads, and asks for those of the others.
    pub(super) fn report_nodes(&mut self, shared: &Shared<'_>) {
        // A node that is not searched after all may have been counted.
        let new = self.nodes.saturating_sub(self.reported_nodes);
        self.reported_nodes += new;
        let all = shared.nodes.fetch_add(new, Ordering::Relaxed) + new;
        self.other_nodes = all - self.reported_nodes;
    }

    /// Returns the nodes of all threads, as far as this one knows.
    pub(super) fn all_nodes(&self) -> u64 {
        self.nodes + self.other_nodes
    }

    /// Returns `true` if the search is over.
    pub(super) fn is_over(&mut self, shared: &Shared<'_>) -> bool {
        if self.stopped {
            return true;
        }
        if self.is_first && self.all_nodes() >= shared.max_nodes {
            self.stopped = true;
        } else if self.nodes >= self.next_question {
            self.next_question = self.nodes + STOP_INTERVAL;
            self.report_nodes(shared);
            let asked = self.is_first && (shared.should_stop)(self.all_nodes());
            self.stopped = asked || shared.over.load(Ordering::Relaxed);
            if self.is_first && self.nodes >= self.next_growth {
                self.next_growth = self.nodes + GROWTH_INTERVAL;
                shared.table.grow_if_crowded();
            }
        }
        self.stopped
    }

    /// Returns the static evaluation of the position at `ply`, without correction.
    pub(super) fn evaluate(&mut self, ply: usize) -> Score {
        match self.evaluator.score(ply, &self.frames[ply].position) {
            Ok(score) => score,
            Err(error) => {
                self.fail(error);
                0
            }
        }
    }

    fn correction_keys(&self, ply: usize) -> CorrectionKeys {
        let position = &self.frames[ply].position;
        CorrectionKeys {
            side: position.turn(),
            structure: position.structure_keys(),
            before: self.before(ply).map(|before| before.piece),
        }
    }

    /// Returns a static evaluation with what searches of similar positions found beyond it, within the range of evaluations.
    pub(super) fn corrected(&self, ply: usize, static_eval: Score) -> Score {
        let corrected = static_eval + self.histories.correction(self.correction_keys(ply));
        corrected.clamp(-MAX_EVAL, MAX_EVAL)
    }

    /// Learns from what a search found at `ply` beyond the corrected evaluation.
    pub(super) fn correct(&mut self, ply: usize, difference: Score, depth: i32) {
        let keys = self.correction_keys(ply);
        self.histories.add_correction(keys, difference, depth);
    }

    /// Fills in the logits of the legal moves at `ply`.
    pub(super) fn ask_policy(&mut self, ply: usize) {
        let Frame { position, legal, logits, .. } = &mut self.frames[ply];
        if let Err(error) = self.evaluator.policy(ply, position, legal, logits) {
            logits.clear();
            self.fail(error);
        }
    }

    fn fail(&mut self, error: EvalError) {
        self.failed = Some(error);
        self.stopped = true;
    }

    /// Plays a legal move at `ply`.
    pub(super) fn make(&mut self, shared: &Shared<'_>, ply: usize, candidate: Candidate) {
        let (before, after) = self.frames.split_at_mut(ply + 1);
        let frame = &mut before[ply];
        frame.moved = Some(candidate);
        let next = &mut after[0];
        next.position.clone_from(&frame.position);
        next.position.play_unchecked(candidate.m);
        next.key = next.position.key();
        shared.table.prefetch(next.key);
        self.nodes += 1;
        self.deepest = self.deepest.max(ply + 1);
    }

    /// Passes the turn at `ply`. Returns `false` if that is not possible.
    pub(super) fn pass(&mut self, ply: usize) -> bool {
        let (before, after) = self.frames.split_at_mut(ply + 1);
        let frame = &mut before[ply];
        let next = &mut after[0];
        next.position.clone_from(&frame.position);
        if !next.position.pass_turn() {
            return false;
        }
        next.key = next.position.key();
        frame.moved = None;
        self.nodes += 1;
        true
    }

    pub(super) fn in_check(&self, ply: usize) -> bool {
        self.frames[ply].position.checked_king(BoardId::A).is_some()
    }

    /// Generates the legal moves at `ply`. Returns the score if the game has ended.
    pub(super) fn generate(&mut self, ply: usize) -> Option<Score> {
        let Frame { position, legal, .. } = &mut self.frames[ply];
        position.legal_moves(legal);
        if !legal.is_empty() {
            return None;
        }
        let outcome = position.outcome_given(legal);
        Some(outcome.map_or(0, |outcome| decided(outcome.score(position.turn()), ply)))
    }

    /// Returns the score of a position in which a player can claim the end of the game, or whose end is evident, or that
    /// is in endgame tables.
    pub(super) fn known_score(&self, shared: &Shared<'_>, ply: usize) -> Option<Score> {
        let position = &self.frames[ply].position;
        if let Some(claimed) = position.claimable_outcome_in_search() {
            // A game that has ended leaves nothing to claim: a mate by the last move that the counter allows counts.
            let outcome = position.outcome().unwrap_or(claimed);
            return Some(decided(outcome.score(position.turn()), ply));
        }
        if let Some((score, plies)) = position.evident_end() {
            return Some(decided(score, ply + plies));
        }
        let value = shared.probe?(position)?;
        Some(Score::from(value.score) * (TABLE_WIN - ply as Score))
    }

    /// Returns `true` if the side to move at `ply` is also to move after its move there, because it has not completed its
    /// turn.
    pub(super) fn continues(&self, ply: usize) -> bool {
        self.frames[ply].position.turn() == self.frames[ply + 1].position.turn()
    }

    /// Returns the evaluation of the last position before `ply` at which the same side was at the same part of its turn.
    pub(super) fn eval_before(&self, ply: usize) -> Option<Score> {
        let part = |ply: usize| {
            let position = &self.frames[ply].position;
            (position.turn(), position.mid_turn())
        };
        let mut before = [2, 4].iter().filter_map(|plies| ply.checked_sub(*plies));
        before.find(|&before| part(before) == part(ply)).map(|before| self.frames[before].eval)
    }

    /// Returns the move before `ply`; `None` at the root and after a passed turn.
    pub(super) fn before(&self, ply: usize) -> Option<Candidate> {
        self.frames[ply.checked_sub(1)?].moved
    }

    /// Returns the table's entry of the position at `ply`, and its score as seen from the root.
    pub(super) fn probe(
        &self,
        shared: &Shared<'_>,
        key: Key,
        ply: usize,
    ) -> Option<(Entry, Score)> {
        let entry = shared.table.probe(key)?;
        Some((entry, from_table(entry.score, ply)))
    }

    /// Stores an entry of the position at `ply`, whose score is given as seen from the root.
    pub(super) fn store(&self, shared: &Shared<'_>, key: Key, ply: usize, entry: Entry) {
        let score = to_table(entry.score, ply);
        shared.table.store(key, Entry { score, ..entry });
    }
}
