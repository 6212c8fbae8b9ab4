//! A search job by alpha-beta: its end, its reports, and its result.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::search_info::{EvalStats, Event, Score, SearchInfo, SearchResult, Wdl};
use super::search_job::{REPEAT_INTERVAL, SearchJob};
use crate::alphabeta::{AlphaBeta, Iteration, Request, RootLine, Verdict, expected_score};
use crate::nn::{DirectNetwork, EvalError};
use crate::rules::{Move, PerSide, Position};
use crate::search::{Budget, Proof, RootMove};

/// The part of the soft limit after which no other iteration is begun, by the number of iterations that have had the
/// same best move. The next one takes about as long as all before.
const SOFT_FACTORS: [f64; 5] = [1.0, 0.8, 0.65, 0.55, 0.45];
/// If the expected score has fallen by more since the iteration before, the best move counts as changed.
const FALL: f32 = 0.05;

/// The static evaluation of the root.
#[derive(Clone, Copy, Debug)]
pub(super) struct RootEval {
    /// The probability of a draw.
    draw: f32,
    /// The expected number of turns until the game ends.
    moves_left: f32,
}

impl RootEval {
    /// Evaluates the root by the network.
    ///
    /// # Errors
    /// If the network fails.
    pub(super) fn new(network: &mut DirectNetwork, root: &Position) -> Result<RootEval, EvalError> {
        let evaluation = network.evaluate(root, &[])?;
        let draw = evaluation.outcome.get(2).copied().unwrap_or_default();
        Ok(RootEval { draw, moves_left: evaluation.moves_left })
    }
}

/// How the best move has changed from iteration to iteration.
#[derive(Clone, Copy, Debug, Default)]
struct Stability {
    best: Option<Move>,
    score: f32,
    /// The iterations since the last change.
    unchanged: usize,
}

/// The last iteration that was completed.
#[derive(Debug)]
struct Latest {
    iteration: Iteration,
    stability: Stability,
    /// The search was pondering when the iteration ended, so that no verdict on it was given.
    pondered: bool,
    /// When it was reported last, and the nodes then.
    reported: (Duration, u64),
}

impl SearchJob {
    /// Searches `root` by alpha-beta until a stop condition is met, then sends [`Event::Best`].
    ///
    /// # Errors
    /// If the network fails. Then [`Event::Best`] is not sent.
    pub(super) fn run_alpha_beta(
        &self,
        root: &Position,
        search: &mut AlphaBeta<DirectNetwork>,
        eval: RootEval,
    ) -> Result<(), EvalError> {
        let limits = &self.conditions.limits;
        let mover = root.turn();
        let game_turns = Some(eval.moves_left / 2.0).filter(|&turns| turns > 0.0);
        let budget =
            limits.clocks[mover].map(|clock| clock.budget(self.conditions.overhead, game_turns));
        let probe = |position: &Position| self.tablebases.probe(position);
        let request = Request {
            root,
            moves: &limits.moves,
            lines: self.multi_pv,
            max_depth: limits.depth.map_or(u32::MAX, |depth| depth.try_into().unwrap_or(u32::MAX)),
            max_nodes: limits.nodes.unwrap_or(u64::MAX),
            probe: if self.tablebases.has_syzygy() { Some(&probe) } else { None },
        };
        let mut stability = Stability::default();
        let latest: Mutex<Option<Latest>> = Mutex::new(None);
        let should_stop = |nodes| {
            let mut latest = latest.lock().unwrap_or_else(PoisonError::into_inner);
            let is_enough = latest.as_mut().is_some_and(|latest| {
                self.repeat_report(root, latest, nodes, eval);
                self.is_enough_after_pondering(latest, budget)
            });
            is_enough || self.conditions.is_stopped() || self.is_time_up(budget)
        };
        let mut on_iteration = |iteration: &Iteration| {
            self.report_iteration(root, iteration, eval);
            stability.add(iteration);
            *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(Latest {
                iteration: iteration.clone(),
                stability,
                pondered: self.conditions.is_pondering(),
                reported: (self.conditions.begun.elapsed(), iteration.nodes),
            });
            self.verdict(iteration, budget, stability)
        };
        let last = search.search(request, &should_stop, &mut on_iteration)?;
        let latest = latest.into_inner().unwrap_or_else(PoisonError::into_inner);
        if latest.is_none_or(|latest| latest.reported.1 < last.nodes) {
            self.report_iteration(root, &last, eval);
        }
        while self.conditions.holds_best_move() {
            thread::park();
        }
        let mut result = SearchResult::without_turn(mover);
        result.eval_stats = EvalStats { positions: last.nodes, batches: last.nodes };
        if let Some(line) = last.lines.first() {
            let mut turns = turn_texts(root, line).into_iter();
            result.turn = turns.next();
            result.reply = turns.next();
        }
        result.root_moves = root_moves(root, &last, eval);
        (self.sink)(Event::Best(result));
        Ok(())
    }

    /// The time for the turn is used up.
    fn is_time_up(&self, budget: Option<Budget>) -> bool {
        let conditions = &self.conditions;
        if conditions.limits.infinite || conditions.is_pondering() {
            return false;
        }
        let elapsed = conditions.elapsed();
        conditions.is_move_time_up(elapsed) || budget.is_some_and(|budget| elapsed >= budget.hard)
    }

    /// Decides whether another iteration is worth its time.
    fn verdict(
        &self,
        iteration: &Iteration,
        budget: Option<Budget>,
        stability: Stability,
    ) -> Verdict {
        let conditions = &self.conditions;
        if conditions.limits.infinite || conditions.is_pondering() {
            return Verdict::Continue;
        }
        let [best, others @ ..] = &iteration.lines[..] else { return Verdict::Stop };
        let depth = iteration.depth as i32;
        let is_decided = best.mate_plies().is_some_and(|plies| plies.abs() <= depth);
        let is_timed = budget.is_some() || conditions.limits.time.is_some();
        if is_timed && is_decided {
            return Verdict::Stop;
        }
        let Some(Budget { soft, .. }) = budget else { return Verdict::Continue };
        let enough = soft.mul_f64(stability.factor());
        if others.is_empty() || conditions.elapsed() >= enough {
            Verdict::Stop
        } else {
            Verdict::Continue
        }
    }

    /// After the expected move was played, decides whether the iteration in progress is worth its time: one that began while
    /// pondering may take long.
    fn is_enough_after_pondering(&self, latest: &Latest, budget: Option<Budget>) -> bool {
        latest.pondered
            && !self.conditions.is_pondering()
            && self.verdict(&latest.iteration, budget, latest.stability) == Verdict::Stop
    }

    /// Repeats the report of the last iteration, with the nodes and the time of now, if it is [`REPEAT_INTERVAL`] old.
    fn repeat_report(&self, root: &Position, latest: &mut Latest, nodes: u64, eval: RootEval) {
        let time = self.conditions.begun.elapsed();
        if time >= latest.reported.0 + REPEAT_INTERVAL {
            latest.reported = (time, nodes);
            latest.iteration.nodes = nodes;
            self.report_iteration(root, &latest.iteration, eval);
        }
    }

    fn report_iteration(&self, root: &Position, iteration: &Iteration, eval: RootEval) {
        let time = self.conditions.begun.elapsed();
        if iteration.lines.is_empty() {
            let info = self.iteration_info(root, iteration, None, eval, time);
            (self.sink)(Event::SearchInfo(info));
        }
        for (index, line) in iteration.lines.iter().take(self.multi_pv.max(1)).enumerate() {
            let mut info = self.iteration_info(root, iteration, Some(line), eval, time);
            info.rank = index + 1;
            (self.sink)(Event::SearchInfo(info));
        }
        let moves = root_moves(root, iteration, eval);
        (self.sink)(Event::RootMoves { mover: root.turn(), moves });
    }

    /// Returns the report of a line, or of a position without legal moves.
    fn iteration_info(
        &self,
        root: &Position,
        iteration: &Iteration,
        line: Option<&RootLine>,
        eval: RootEval,
        time: Duration,
    ) -> SearchInfo {
        let score = line.map_or_else(|| ended_score(root), |line| score_of(root, line));
        let table_score = line.and_then(|line| self.tablebases.root_score(line.moves[0]));
        let (expected, draw) = match (table_score, score) {
            (Some(table), _) => (f32::from(table), f32::from(u8::from(table == 0))),
            (None, Score::Expected(expected)) => (expected, eval.draw),
            (None, Score::Won(_)) => (1.0, 0.0),
            (None, Score::Lost(_)) => (-1.0, 0.0),
        };
        let score = match score {
            Score::Expected(_) => Score::Expected(expected),
            mate => mate,
        };
        SearchInfo {
            rank: 1,
            // The first iteration may be incomplete.
            depth: iteration.depth.max(u32::from(line.is_some())) as usize,
            seldepth: iteration.longest,
            score,
            values: values(root, expected),
            sides: 2,
            wdl: Wdl::new(expected, draw),
            moves_left: eval.moves_left,
            nodes: iteration.nodes,
            tb_hits: self.tablebases.hits(),
            hashfull: iteration.permille,
            time,
            pv: line.map_or_else(Vec::new, |line| turn_texts(root, line)),
        }
    }
}

impl Stability {
    fn add(&mut self, iteration: &Iteration) {
        let Some(line) = iteration.lines.first() else { return };
        let best = line.moves.first().copied();
        let score = expected_score(line.score);
        self.unchanged = if self.best == best { self.unchanged + 1 } else { 0 };
        if score < self.score - FALL {
            self.unchanged = 0;
        }
        self.best = best;
        self.score = score;
    }

    fn factor(&self) -> f64 {
        SOFT_FACTORS[self.unchanged.min(SOFT_FACTORS.len() - 1)]
    }
}

/// Returns the score of each side if the side to move expects `expected`.
fn values(root: &Position, expected: f32) -> PerSide<f32> {
    let mut values = PerSide::all(-expected);
    values[root.turn()] = expected;
    values
}

/// Returns the score of a line for the side to move at the root.
fn score_of(root: &Position, line: &RootLine) -> Score {
    let Some(plies) = line.mate_plies() else {
        return Score::Expected(expected_score(line.score));
    };
    // The side to move begins, so that its share of the turns is rounded up.
    let turns = plies.unsigned_abs().div_ceil(2 * turn_plies(root, line));
    if plies > 0 { Score::Won(turns) } else { Score::Lost(turns) }
}

/// Returns the number of plies of a turn of the game, by the first move of a line.
fn turn_plies(root: &Position, line: &RootLine) -> u32 {
    let mut after = root.clone();
    after.play_unchecked(line.moves[0]);
    1 + u32::from(root.mid_turn() || after.mid_turn())
}

/// Returns the score of a game that is over.
fn ended_score(root: &Position) -> Score {
    match root.outcome().map_or(0, |outcome| outcome.score(root.turn())) {
        0 => Score::Expected(0.0),
        1 => Score::Won(0),
        _ => Score::Lost(0),
    }
}

/// Returns the whole turns of a line as text.
fn turn_texts(root: &Position, line: &RootLine) -> Vec<String> {
    let mut position = root.clone();
    let texts = root.split_turns(&line.moves).into_iter().map(|turn| {
        let text = position.turn_text(&turn);
        turn.into_iter().for_each(|m| position.play_unchecked(m));
        text
    });
    texts.collect()
}

/// Returns the moves of the root, the best first, with their texts. Their visits are nodes.
fn root_moves(root: &Position, iteration: &Iteration, eval: RootEval) -> Vec<(String, RootMove)> {
    let root_move = |line: &RootLine| {
        let proof = match line.mate_plies() {
            Some(plies @ 1..) => u8::try_from(plies).map_or(Proof::Open, Proof::Won),
            Some(plies) => Proof::Lost(u8::try_from(-plies).ok()),
            None => Proof::Open,
        };
        let expected = match proof {
            Proof::Won(_) => 1.0,
            Proof::Lost(_) => -1.0,
            _ => expected_score(line.score),
        };
        RootMove {
            m: line.moves[0],
            prior: line.prior,
            visits: line.nodes.try_into().unwrap_or(u32::MAX),
            value: values(root, expected),
            draw: if proof == Proof::Open { eval.draw } else { 0.0 },
            moves_left: eval.moves_left,
            proof,
        }
    };
    iteration.lines.iter().map(|line| (root.move_text(line.moves[0]), root_move(line))).collect()
}
