//! Inner nodes: pruning, extensions, reductions, and the loop over the moves.

use arrayvec::ArrayVec;

use super::candidate::Candidate;
use super::evaluation::StaticEvaluator;
use super::ordering::piece_value;
use super::score::{INFINITE, MATE, MATE_BOUND, Score, to_table};
use super::table::{Bound, Entry};
use super::worker::{MAX_PLY, Shared, Worker};
use crate::rules::{Key, PackedMove};

// Margins and reductions come from an SPSA run (Spall 1992) over seven variants, see docs/history/search.md; depths were
// set by hand. The reduction at positions of former principal variations and the bonuses for changes of the evaluation and
// after fail lows follow Stockfish, in rounded numbers.

/// A ply, in the units of reductions.
const PLY: i32 = 1024;
/// The depth from which on the policy orders the moves.
const POLICY_DEPTH: i32 = 3;
/// The greatest depth of reverse futility pruning, and its margin for each ply of depth.
const REVERSE_FUTILITY: (i32, Score) = (7, 118);
/// The greatest depth of razoring, and its margin for each ply of depth.
const RAZORING: (i32, Score) = (3, 265);
/// The least depth of the null-move test.
const NULL_MOVE_DEPTH: i32 = 3;
/// By how much the evaluation may be below beta for the null-move test.
const NULL_MOVE_MARGIN: Score = 20;
/// By how much less a passed turn is searched, in 1,024ths of a ply: always, and for each ply of depth.
const NULL_MOVE_REDUCTION: (i32, i32) = (2890, 326);
/// The score above beta that is worth a ply more of it, up to a number of plies.
const NULL_MOVE_SCORE: Score = 112;
const MAX_NULL_MOVE_SCORE_PLIES: i32 = 3;
/// The least depth at which a node without a move of the table is searched a ply less.
const NO_TABLE_MOVE_DEPTH: i32 = 4;
/// The least depth of the search for alternatives to the table's move (singular extensions).
const SINGULAR_DEPTH: i32 = 7;
/// How many plies shallower than the node the table's entry may be for it.
const SINGULAR_ENTRY_DEPTH: i32 = 3;
/// By how much all others must be worse, for each two plies of depth.
const SINGULAR_MARGIN: Score = 5;
/// The greatest depth at which late quiet moves are left out.
const LATE_MOVE_DEPTH: i32 = 6;
/// The number of quiet moves after which they are left out: this and the square of the depth, divided by the first
/// divisor where the evaluation has improved, else by the second.
const LATE_MOVE_COUNT: i32 = 12;
const LATE_MOVE_DIVISORS: (i32, i32) = (3, 6);
/// The greatest reduced depth of futility pruning, its margin, and that for each ply of depth.
const FUTILITY: (i32, Score, Score) = (5, 76, 68);
/// What a quiet move may gain beyond that where checks are counted.
const COUNTED_CHECK: Score = 120;
/// The greatest depth at which quiet moves of bad history are left out, and how bad, for each ply of depth.
const HISTORY_PRUNING: (i32, i32) = (4, -3200);
/// The greatest depth at which moves that lose an exchange are left out, and what they may lose for each ply of
/// depth: tactical moves, others.
const LOSING_EXCHANGES: (i32, i32, i32) = (6, 100, 70);
/// The greatest depth at which checks are extended.
const CHECK_DEPTH: i32 = 6;
/// The least depth of late move reductions.
pub(super) const REDUCTION_DEPTH: i32 = 3;
/// Moves of a principal variation that are never left out.
const KEPT_MOVES: usize = 4;
/// Moves of a greater probability are reduced a ply less, moves of a smaller one a ply more.
const EXPECTED: f32 = 0.175;
const UNEXPECTED: f32 = 0.005;
/// The least reduction of late moves, and what the product of the logarithms of depth and number adds, in 1,024ths of
/// a ply.
const REDUCTION: (i32, i32) = (1035, 563);
/// The reduction of tactical moves is this part of that of others, of 1,024.
const TACTICAL_PART: i32 = 593;
/// Further reductions, in 1,024ths of a ply: at nodes that a move is expected to refute, and at nodes that are not better
/// than two plies before.
const CUT_REDUCTION: i32 = 592;
const WORSE_REDUCTION: i32 = 1318;
/// A history of this much is worth a ply of reductions, up to a number of plies.
const HISTORY_PER_PLY: i32 = 4800;
const MAX_HISTORY_PLIES: i32 = 2;
/// The reduction is smaller by this at nodes that are or were on a principal variation.
const PRINCIPAL_REDUCTION: i32 = 1024;
/// What a cutoff adds to the history of its move and takes from those of the moves before it, for each ply of depth and
/// at most.
const CUTOFF_BONUS: (i32, i32) = (150, 1600);
/// The greatest change of a quiet move's history by its change of the evaluation.
const EVALUATION_BONUS: Score = 600;
/// What a fail low adds to the history of the quiet move before it, for each ply of depth, and up to which depth.
const FAIL_LOW_BONUS: (i32, i32) = (40, 10);
/// Tried moves whose histories are lowered by a cutoff.
const TRIED: usize = 64;

/// What is expected of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Its score is within the window.
    Principal,
    /// A move refutes the one before.
    Cut,
    /// No move does.
    All,
}

impl Kind {
    /// The kind of its successors in a null window.
    fn next(self) -> Kind {
        if self == Kind::Cut { Kind::All } else { Kind::Cut }
    }
}

/// By how much less late moves are searched, by depth and number of the move, in 1,024ths of a ply.
fn reduction(depth: i32, nth: usize) -> i32 {
    let log = |number: usize| LOGARITHMS[number.min(LOGARITHMS.len() - 1)];
    let product = log(depth.max(0) as usize) * log(nth) / 1024;
    REDUCTION.0 + product * REDUCTION.1 / 1024
}

/// Natural logarithms of 0 (as 0) to 63, times 1,024.
const LOGARITHMS: [i32; 64] = logarithms();

const fn logarithms() -> [i32; 64] {
    let mut logarithms = [0; 64];
    let mut sum = 0.0;
    let mut number = 2;
    while number < 64 {
        // ln n = ln (n - 1) + 2 artanh (1 / (2 n - 1)), of which three terms of the series are enough.
        let step = 1.0 / (2 * number - 1) as f64;
        let cube = step * step * step;
        sum += 2.0 * (step + cube / 3.0 + cube * step * step / 5.0);
        logarithms[number] = (sum * 1024.0 + 0.5) as i32;
        number += 1;
    }
    logarithms
}

/// The moves that were searched at a node before the one that refutes its predecessor. Of very many, the last ones are
/// left out.
#[derive(Default)]
struct Tried {
    quiet: ArrayVec<Candidate, TRIED>,
    captures: ArrayVec<PackedMove, TRIED>,
}

impl Tried {
    fn push(&mut self, candidate: Candidate) {
        if candidate.is_tactical {
            let _ = self.captures.try_push(candidate.packed);
        } else {
            let _ = self.quiet.try_push(candidate);
        }
    }
}

/// The window, depth and place of a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeTask {
    pub(super) ply: usize,
    pub(super) depth: i32,
    pub(super) alpha: Score,
    pub(super) beta: Score,
    pub(super) kind: Kind,
}

/// What is known of a node before its moves are searched.
#[derive(Clone, Copy, Debug)]
struct NodeFacts {
    /// The evaluation of the network; 0 in check or with tactical moves alone, where nothing depends on it.
    static_eval: Score,
    /// The same, corrected; where there is none, that of two plies before.
    eval: Score,
    in_check: bool,
    /// The evaluation is better than two plies before.
    improving: bool,
    /// There are only tactical moves: captures are compulsory, or nothing else is legal.
    forced: bool,
    /// There is one legal move.
    single: bool,
    /// The position is on a principal variation, or was on one before.
    was_principal: bool,
}

impl<E: StaticEvaluator> Worker<E> {
    /// Returns the score of the position at a node, or a bound outside its window. If the search is stopped the
    /// result means nothing.
    pub(super) fn node(&mut self, shared: &Shared<'_>, mut task: NodeTask) -> Score {
        let NodeTask { ply, kind, .. } = task;
        if kind == Kind::Principal {
            self.frames[ply].line.clear();
        }
        if task.depth <= 0 {
            return self.quiescence(shared, ply, 0, task.alpha, task.beta);
        }
        if self.is_over(shared) {
            return 0;
        }
        if let Some(score) = self.known_score(shared, ply) {
            return score;
        }
        // No line is better than a mate that is nearer to the root.
        task.alpha = task.alpha.max(-MATE + ply as Score);
        task.beta = task.beta.min(MATE - ply as Score - 1);
        if task.alpha >= task.beta {
            return task.alpha;
        }
        let excluded = self.frames[ply].excluded;
        let key = keyed(self.frames[ply].key, excluded);
        let found = self.probe(shared, key, ply);
        if let Some((entry, score)) = found
            && kind != Kind::Principal
            && entry.depth >= task.depth
            && entry.decides(score, task.alpha, task.beta)
        {
            return score;
        }
        let in_check = self.in_check(ply);
        // A node that may stand pat is pruned before its moves are generated.
        let may_stand_pat = !in_check && self.frames[ply].position.may_stand_pat();
        if !may_stand_pat && let Some(score) = self.generate(ply) {
            return score;
        }
        if ply >= MAX_PLY {
            return self.evaluate(ply);
        }
        let forced = !may_stand_pat && self.has_only_tactical(ply);
        let is_quiet = !in_check && !forced;
        let static_eval = match found {
            Some((entry, _)) => entry.eval,
            None if is_quiet => self.evaluate(ply),
            None => 0,
        };
        let eval_before = self.eval_before(ply);
        let eval = match is_quiet {
            true => self.corrected(ply, static_eval),
            false => eval_before.unwrap_or(0),
        };
        let mut facts = NodeFacts {
            static_eval,
            eval,
            in_check,
            improving: eval_before.is_some_and(|before| eval > before),
            forced,
            single: !may_stand_pat && self.frames[ply].legal.len() == 1,
            was_principal: kind == Kind::Principal
                || found.is_some_and(|(entry, _)| entry.was_principal),
        };
        self.frames[ply].eval = eval;
        self.frames[ply].is_evaluated = is_quiet;
        if is_quiet && excluded.is_none() {
            self.learn_from_evaluation(ply);
        }
        self.frames[ply + 1].excluded = None;
        // The score of the table is the better evaluation, if its bound allows.
        let guess = match found {
            Some((entry, score)) if entry.improves(score, eval) => score,
            _ => eval,
        };
        if excluded.is_none()
            && let Some(score) = self.prune(shared, task, facts, guess)
        {
            return score;
        }
        if self.stopped {
            return 0;
        }
        if may_stand_pat {
            if let Some(score) = self.generate(ply) {
                return score;
            }
            facts.forced = self.has_only_tactical(ply);
            facts.single = self.frames[ply].legal.len() == 1;
        }
        let table_move = found.and_then(|(entry, _)| entry.best);
        if task.depth >= NO_TABLE_MOVE_DEPTH && table_move.is_none() && kind != Kind::All {
            task.depth -= 1;
        }
        self.search_moves(shared, task, facts, key, found)
    }

    /// Searches the position after the move that was made at `task.ply`, to the depth of `task`, and returns its score for
    /// the side that made it, whose window `task` has. `kind` is what is expected of it as a position of the opponent;
    /// one in which the same side completes its turn is expected to confirm its move where an opponent would not refute it.
    pub(super) fn successor(&mut self, shared: &Shared<'_>, task: NodeTask, kind: Kind) -> Score {
        let NodeTask { ply, depth, alpha, beta, .. } = task;
        if self.continues(ply) {
            let kind = if kind == Kind::Principal { kind } else { kind.next() };
            return self.node(shared, NodeTask { ply: ply + 1, depth, alpha, beta, kind });
        }
        let (alpha, beta) = (-beta, -alpha);
        -self.node(shared, NodeTask { ply: ply + 1, depth, alpha, beta, kind })
    }

    /// Returns `true` if all legal moves at `ply` are tactical.
    fn has_only_tactical(&self, ply: usize) -> bool {
        self.frames[ply].legal.iter().all(|&m| self.candidate(ply, m).is_tactical)
    }

    /// Returns the score of a node that need not be searched.
    fn prune(
        &mut self,
        shared: &Shared<'_>,
        task: NodeTask,
        facts: NodeFacts,
        guess: Score,
    ) -> Option<Score> {
        let NodeTask { ply, depth, alpha, beta, kind } = task;
        if kind == Kind::Principal || facts.in_check || facts.forced {
            return None;
        }
        let (max_depth, margin) = REVERSE_FUTILITY;
        let margin = margin * (depth - i32::from(facts.improving));
        let is_decided = guess >= MATE_BOUND || beta <= -MATE_BOUND;
        if depth <= max_depth && guess - margin >= beta && !is_decided {
            return Some(guess);
        }
        let (max_depth, margin) = RAZORING;
        if depth <= max_depth && guess + margin * depth < alpha {
            let score = self.quiescence(shared, ply, 0, alpha, alpha + 1);
            if score <= alpha || self.stopped {
                return Some(score);
            }
        }
        let after_pass = ply > 0 && self.before(ply).is_none();
        if depth >= NULL_MOVE_DEPTH
            && guess >= beta
            && facts.eval >= beta - NULL_MOVE_MARGIN
            && !after_pass
            && beta.abs() < MATE_BOUND
            && self.pass(ply)
        {
            let (always, per_ply) = NULL_MOVE_REDUCTION;
            let by_score = (guess - beta) * PLY / NULL_MOVE_SCORE;
            let by_score = by_score.min(MAX_NULL_MOVE_SCORE_PLIES * PLY);
            let reduced = depth - (always + depth * per_ply + by_score + PLY / 2) / PLY;
            let window = NodeTask { depth: reduced, alpha: beta - 1, beta, ..task };
            let score = self.successor(shared, window, kind.next());
            if score >= beta && !self.stopped {
                return Some(if score > MATE_BOUND { beta } else { score });
            }
        }
        None
    }

    /// Searches the ordered moves of a node.
    fn search_moves(
        &mut self,
        shared: &Shared<'_>,
        task: NodeTask,
        facts: NodeFacts,
        key: Key,
        found: Option<(Entry, Score)>,
    ) -> Score {
        let NodeTask { ply, depth, mut alpha, beta, kind } = task;
        let excluded = self.frames[ply].excluded;
        // The move of the table is searched before the others are ordered: often it is enough.
        let table_move = found.and_then(|(entry, _)| entry.best);
        let first = table_move.and_then(|m| self.legal_index(ply, m));
        let gain = if self.counts_checks { COUNTED_CHECK } else { 0 };
        let mut policy = Policy::default();
        let mut tried = Tried::default();
        let mut best = -INFINITE;
        let mut best_move = None;
        let mut best_is_tactical = false;
        let mut refuted = None;
        for nth in 0..self.frames[ply].legal.len() {
            let index = match first {
                Some(index) if nth == 0 => index,
                _ => {
                    if nth == usize::from(first.is_some()) {
                        policy = self.order_moves(ply, depth, facts.single, table_move);
                        if first.is_some() {
                            // It has been searched.
                            self.frames[ply].order.index(0);
                        }
                        if self.stopped {
                            break;
                        }
                    }
                    self.frames[ply].order.index(nth)
                }
            };
            let candidate = self.candidate(ply, self.frames[ply].legal[index]);
            if Some(candidate.packed) == excluded {
                continue;
            }
            let mut extension = 0;
            if let Some((entry, score)) = found
                && entry.best == Some(candidate.packed)
                && excluded.is_none()
                && self.may_extend(ply)
            {
                // It uses the frame as well, which is not ordered yet, and has the same moves after it.
                let singular = self.singular(shared, task, candidate, entry, score);
                match singular {
                    _ if self.stopped => break,
                    Singular::Extension(plies) => extension = plies,
                    Singular::Refuted(score) => {
                        refuted = Some(score);
                        break;
                    }
                }
            }
            let may_skip = !facts.in_check
                && !facts.forced
                && best > -MATE_BOUND
                && (kind != Kind::Principal || nth >= KEPT_MOVES);
            let is_late = may_skip
                && !candidate.is_tactical
                && (skips_by_count(task, facts, tried.quiet.len())
                    || skips_by_score(task, facts, alpha - gain, nth)
                    || skips_by_history(depth, self.history_of(ply, candidate)));
            // Most late moves surely force nothing, which is known without making them.
            let before = &self.frames[ply].position;
            if is_late
                && !before.may_give_check(candidate.m)
                && !before.may_compel_capture(candidate.m)
            {
                continue;
            }
            let (max_depth, margin, quiet_margin) = LOSING_EXCHANGES;
            let least = -depth * if candidate.is_tactical { margin } else { quiet_margin };
            if may_skip
                && depth <= max_depth
                && !(self.counts_checks && self.frames[ply].position.may_give_check(candidate.m))
                && !self.frames[ply].position.exchange_wins(candidate.m, least, piece_value)
            {
                continue;
            }
            self.make(shared, ply, candidate);
            let gives_check = self.in_check(ply + 1);
            // A quiet move compels a capture: it sacrifices a piece, or uncovers an attack.
            let compels = !candidate.is_tactical && self.frames[ply + 1].position.must_capture();
            if is_late && !gives_check && !compels {
                self.nodes -= 1;
                continue;
            }
            if extension == 0
                && self.may_extend(ply)
                && (facts.single || gives_check && depth <= CHECK_DEPTH)
            {
                extension = 1;
            }
            let depth_after = depth - 1 + extension;
            let is_first = best == -INFINITE;
            let null_window = NodeTask { depth: depth_after, alpha, beta: alpha + 1, ..task };
            let mut score = alpha + 1;
            if depth >= REDUCTION_DEPTH && nth >= 2 && !facts.single {
                let plies = late_reduction(
                    Late {
                        depth,
                        nth,
                        kind,
                        is_forcing: gives_check || facts.in_check || compels,
                        was_principal: facts.was_principal,
                    },
                    candidate,
                    self.history_of(ply, candidate),
                    policy.reduction(&self.frames[ply].logits, index),
                    facts.improving,
                );
                let reduced = (depth_after - plies).max(1).min(depth_after);
                let window = NodeTask { depth: reduced, ..null_window };
                score = self.successor(shared, window, Kind::Cut);
                if score > alpha && reduced < depth_after {
                    score = self.successor(shared, null_window, kind.next());
                }
            } else if kind != Kind::Principal || !is_first {
                score = self.successor(shared, null_window, kind.next());
            }
            if kind == Kind::Principal && (is_first || score > alpha) {
                let window = NodeTask { beta, ..null_window };
                score = self.successor(shared, window, Kind::Principal);
            }
            if self.stopped {
                break;
            }
            if score > best {
                best = score;
                if score > alpha {
                    alpha = score;
                    best_move = Some(candidate.packed);
                    best_is_tactical = candidate.is_tactical;
                    if kind == Kind::Principal {
                        self.extend_line(ply, candidate.m);
                    }
                    if score >= beta {
                        self.learn(ply, depth, candidate, &tried);
                        break;
                    }
                }
            }
            tried.push(candidate);
        }
        if self.stopped {
            return 0;
        }
        if let Some(score) = refuted {
            return score;
        }
        if best == -INFINITE {
            // The only move is left out.
            return task.alpha;
        }
        if excluded.is_none() {
            let bound = if best >= beta {
                Bound::Lower
            } else if best > task.alpha {
                Bound::Exact
            } else {
                Bound::Upper
            };
            let says_more = match bound {
                Bound::Lower => best > facts.eval,
                Bound::Upper => best < facts.eval,
                Bound::Exact => true,
            };
            if says_more
                && !facts.in_check
                && !facts.forced
                && !best_is_tactical
                && best.abs() < MATE_BOUND
            {
                self.correct(ply, best - facts.eval, depth);
            }
            if bound == Bound::Upper {
                self.learn_from_fail_low(ply, depth);
            }
            let entry = Entry {
                score: to_table(best, ply),
                eval: facts.static_eval,
                best: best_move,
                depth,
                bound,
                was_principal: facts.was_principal,
            };
            shared.table.store(key, entry);
        }
        best
    }

    /// Orders the legal moves at `ply`, from some depth on by the policy, which is returned.
    fn order_moves(
        &mut self,
        ply: usize,
        depth: i32,
        single: bool,
        table_move: Option<PackedMove>,
    ) -> Policy {
        self.frames[ply].logits.clear();
        // A turn is completed in many ways, of which no history says much.
        let completes = self.frames[ply].position.mid_turn();
        if (depth >= POLICY_DEPTH || completes) && !single {
            self.ask_policy(ply);
        }
        self.order_all(ply, table_move);
        Policy::new(&self.frames[ply].logits)
    }

    /// Returns the number of a move among the legal ones at `ply`.
    fn legal_index(&self, ply: usize, m: PackedMove) -> Option<usize> {
        self.frames[ply].legal.iter().position(|legal| legal.pack() == m)
    }

    /// Returns `true` if a line is still short enough for extensions.
    fn may_extend(&self, ply: usize) -> bool {
        (ply as i32) < 2 * self.root_depth
    }

    /// Asks whether all other moves are worse than the table's by a margin; then that one is extended.
    fn singular(
        &mut self,
        shared: &Shared<'_>,
        task: NodeTask,
        candidate: Candidate,
        entry: Entry,
        score: Score,
    ) -> Singular {
        let NodeTask { ply, depth, beta, .. } = task;
        let applies = depth >= SINGULAR_DEPTH
            && entry.bound != Bound::Upper
            && entry.depth >= depth - SINGULAR_ENTRY_DEPTH
            && score.abs() < MATE_BOUND;
        if !applies {
            return Singular::Extension(0);
        }
        let target = score - SINGULAR_MARGIN * depth / 2;
        self.frames[ply].excluded = Some(candidate.packed);
        let others = self.node(
            shared,
            NodeTask {
                depth: (depth - 1) / 2,
                alpha: target - 1,
                beta: target,
                kind: if task.kind == Kind::Principal { Kind::Cut } else { task.kind },
                ..task
            },
        );
        self.frames[ply].excluded = None;
        if others < target {
            Singular::Extension(1)
        } else if target >= beta {
            // Several moves refute the one before.
            Singular::Refuted(target)
        } else {
            Singular::Extension(-i32::from(score >= beta))
        }
    }

    /// Sets the principal variation at `ply` to a move and the variation after it.
    pub(super) fn extend_line(&mut self, ply: usize, m: crate::rules::Move) {
        let (before, after) = self.frames.split_at_mut(ply + 1);
        let line = &mut before[ply].line;
        line.clear();
        line.push(m);
        line.extend_from_slice(&after[0].line);
    }

    /// Learns from a move that refutes the one before it.
    fn learn(&mut self, ply: usize, depth: i32, best: Candidate, tried: &Tried) {
        let (per_ply, max_bonus) = CUTOFF_BONUS;
        let bonus = (per_ply * depth).min(max_bonus);
        let side = self.frames[ply].position.turn();
        let before = self.before(ply);
        let piece_before = before.map(|before| before.piece);
        if best.is_tactical {
            self.histories.add_capture(best.packed, bonus);
        } else {
            let killers = &mut self.frames[ply].killers;
            if killers[0] != best.packed {
                *killers = [best.packed, killers[0]];
            }
            if let Some(before) = before {
                self.histories.set_counter(before.packed, best.packed);
            }
            self.histories.add_quiet(side, best.packed, piece_before, best.piece, bonus);
            for other in &tried.quiet {
                self.histories.add_quiet(side, other.packed, piece_before, other.piece, -bonus);
            }
        }
        for &capture in &tried.captures {
            self.histories.add_capture(capture, -bonus);
        }
    }

    /// Returns the quiet move before `ply`, if the opponent made it.
    fn quiet_before(&self, ply: usize) -> Option<Candidate> {
        self.before(ply).filter(|before| !before.is_tactical && !self.continues(ply - 1))
    }

    /// Learns by how much the quiet move before `ply` changed the evaluation.
    fn learn_from_evaluation(&mut self, ply: usize) {
        let Some(m) = self.quiet_before(ply) else { return };
        let frame = &self.frames[ply - 1];
        if frame.is_evaluated {
            let gain = -self.frames[ply].eval - frame.eval;
            let side = frame.position.turn();
            let bonus = gain.clamp(-EVALUATION_BONUS, EVALUATION_BONUS);
            self.histories.add_quiet_alone(side, m.packed, bonus);
        }
    }

    /// Learns from a fail low at `ply`: no move there refutes the quiet move before it.
    fn learn_from_fail_low(&mut self, ply: usize, depth: i32) {
        let Some(m) = self.quiet_before(ply) else { return };
        let (per_ply, max_depth) = FAIL_LOW_BONUS;
        let side = self.frames[ply - 1].position.turn();
        let before = self.before(ply - 1).map(|before| before.piece);
        let bonus = per_ply * depth.min(max_depth);
        self.histories.add_quiet(side, m.packed, before, m.piece, bonus);
    }
}

/// The result of a search for alternatives.
enum Singular {
    /// The table's move is searched this number of plies more.
    Extension(i32),
    /// The node has at least this score, without the table's move.
    Refuted(Score),
}

/// What turns logits of the moves of a node into probabilities.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policy {
    greatest: f32,
    sum: f32,
}

impl Policy {
    pub(super) fn new(logits: &[f32]) -> Policy {
        let greatest = logits.iter().copied().fold(f32::MIN, f32::max);
        let sum = logits.iter().map(|logit| libm::expf(logit - greatest)).sum();
        Policy { greatest, sum }
    }

    /// Returns the probability of a move; `None` if the policy was not asked.
    pub(super) fn probability(&self, logits: &[f32], index: usize) -> Option<f32> {
        let logit = logits.get(index)?;
        Some(libm::expf(logit - self.greatest) / self.sum)
    }

    /// Returns by how many plies more a move is reduced because the policy expects it hardly at all, or much.
    fn reduction(&self, logits: &[f32], index: usize) -> i32 {
        self.probability(logits, index).map_or(0, reduction_by_policy)
    }
}

/// Returns by how many plies more a move of this probability is reduced.
pub(super) fn reduction_by_policy(probability: f32) -> i32 {
    i32::from(probability < UNEXPECTED) - i32::from(probability > EXPECTED)
}

/// Returns `true` if a quiet move need not be searched because many were.
fn skips_by_count(task: NodeTask, facts: NodeFacts, quiet_count: usize) -> bool {
    let depth = task.depth;
    let (improving, worse) = LATE_MOVE_DIVISORS;
    let divisor = if facts.improving { improving } else { worse };
    let many = (LATE_MOVE_COUNT + depth * depth) / divisor;
    depth <= LATE_MOVE_DEPTH && quiet_count as i32 > many
}

/// Returns `true` if a quiet move need not be searched because it can hardly reach alpha.
fn skips_by_score(task: NodeTask, facts: NodeFacts, alpha: Score, nth: usize) -> bool {
    let (max_depth, margin, margin_per_ply) = FUTILITY;
    let reduced = (task.depth - reduction(task.depth, nth) / PLY).max(0);
    reduced <= max_depth && facts.eval + margin + margin_per_ply * reduced <= alpha
}

/// Returns `true` if a quiet move need not be searched because it did badly elsewhere.
fn skips_by_history(depth: i32, history: i32) -> bool {
    let (max_depth, least) = HISTORY_PRUNING;
    depth <= max_depth && history < least * depth
}

/// A move that comes late in its node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Late {
    pub(super) depth: i32,
    /// The number of the move.
    pub(super) nth: usize,
    pub(super) kind: Kind,
    /// The move gives or answers a check, or compels a capture.
    pub(super) is_forcing: bool,
    /// The node is on a principal variation, or was on one before.
    pub(super) was_principal: bool,
}

/// Returns the plies by which a late move is searched less at first.
pub(super) fn late_reduction(
    late: Late,
    candidate: Candidate,
    history: i32,
    by_policy: i32,
    improving: bool,
) -> i32 {
    let by_number = reduction(late.depth, late.nth);
    let by_move = if candidate.is_tactical {
        by_number * TACTICAL_PART / 1024
    } else {
        let max = MAX_HISTORY_PLIES * PLY;
        by_number - (history * PLY / HISTORY_PER_PLY).clamp(-max, max)
    };
    let by_kind = match late.kind {
        Kind::Principal => -PLY,
        Kind::Cut => CUT_REDUCTION,
        Kind::All => 0,
    };
    let by_line = if late.was_principal { -PRINCIPAL_REDUCTION } else { 0 };
    let by_node = by_kind + by_line + if improving { 0 } else { WORSE_REDUCTION };
    let by_plies = by_policy - i32::from(late.is_forcing);
    (by_move + by_node + by_plies * PLY).max(0) / PLY
}

/// The key of a position, or of its alternatives to a move.
fn keyed(key: Key, excluded: Option<PackedMove>) -> Key {
    excluded.map_or(key, |m| Key(key.0 ^ (u64::from(m.0) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reductions_grow_with_depth_and_number() {
        for depth in 1..64 {
            for nth in 1..64 {
                let [least, factor] = [REDUCTION.0, REDUCTION.1].map(|x| f64::from(x) / 1024.0);
                let exact = least + f64::from(depth).ln() * (nth as f64).ln() * factor;
                let found = f64::from(reduction(depth, nth)) / 1024.0;
                assert!((found - exact).abs() < 0.01, "{depth} {nth} {found} {exact}");
            }
        }
        assert_eq!(reduction(200, 500), reduction(63, 63));
    }
}
