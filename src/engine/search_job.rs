//! A search job: the threads that search one tree, the reports on the way, and the result.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::evaluators::EvaluatorPool;
use super::limits::depth_of_visits;
use super::search_info::{EvalStats, Event, Score, SearchInfo, SearchResult, Sink, Wdl};
use super::skill::Skill;
use super::stoppers::{StopConditions, Stoppers};
use super::tablebases::{TablebaseEvaluator, Tablebases};
use crate::nn::{EvalError, Evaluator, Uniform};
use crate::rules::{Move, PerSide};
use crate::search::{BatchStats, Gatherer, GumbelParams, Line, Proof, RootMove, Searcher, Tree};

/// A report is repeated after this time without a change.
pub(super) const REPEAT_INTERVAL: Duration = Duration::from_secs(1);

/// The longest time that a thread without work waits for another thread's change.
const MAX_IDLE_WAIT: Duration = Duration::from_millis(20);

/// One search: its limits and settings, and the receiver of its events.
pub(super) struct SearchJob {
    pub(super) conditions: StopConditions,
    /// The most leaves that a thread evaluates at once; `None` for what the evaluator prefers.
    pub(super) batch_size: Option<usize>,
    /// The strength limit, if there is one.
    pub(super) skill: Option<Skill>,
    /// The number of lines in a report.
    pub(super) multi_pv: usize,
    pub(super) sink: Sink,
    pub(super) tablebases: Tablebases,
}

/// How far a search has come, and what was reported last.
#[derive(Debug, Default)]
struct Progress {
    visits: u64,
    eval_stats: EvalStats,
    /// The depth of the last report.
    depth: usize,
    /// The best move of the last report.
    best: Option<(Move, Proof)>,
    /// The time of the last report, and the visits at that time.
    reported: Option<(Duration, u64)>,
}

impl SearchJob {
    /// Searches until a stop condition is met, then sends [`Event::Best`]. If the evaluator fails, the
    /// search continues with a uniform policy.
    pub(super) fn run(&self, tree: &mut Tree, pool: &mut EvaluatorPool) {
        tree.restrict(&self.conditions.limits.moves);
        if self.conditions.gumbel {
            tree.begin_halving(GumbelParams::default());
        }
        let mut stoppers = Stoppers::new(&self.conditions);
        let mut progress = Progress::default();
        loop {
            let evaluators = pool.evaluators.iter_mut();
            let mut evaluators: Vec<_> = evaluators
                .map(|evaluator| TablebaseEvaluator::new(&mut **evaluator, &self.tablebases))
                .collect();
            let result =
                self.search_with_threads(tree, &mut evaluators, &mut stoppers, &mut progress);
            let Err(error) = result else { break };
            self.note(&format!("{error}; the search continues without a network"));
            pool.replace_by_uniform();
        }
        if stoppers.fraction_done(tree, progress.visits).is_some() {
            tree.continue_halving(1.0);
        }
        self.report(tree, &mut progress, true);
        while self.conditions.holds_best_move() {
            thread::park();
        }
        let rank = self.skill.map_or(0, |skill| skill.pick(&tree.root_moves(), &mut rand::rng()));
        if rank > 0 {
            // The last line is that of the move which is played.
            self.report_line(tree, &progress, rank);
        }
        let result = self.result(tree, pool.first(), rank);
        (self.sink)(Event::Best(SearchResult { eval_stats: progress.eval_stats, ..result }));
    }

    /// Searches `tree` until a stop condition is met, with a thread for each of `evaluators`, this one
    /// included.
    ///
    /// # Errors
    /// If an evaluator fails. The visits of its last batch are taken back.
    fn search_with_threads(
        &self,
        tree: &mut Tree,
        evaluators: &mut [impl Evaluator],
        stoppers: &mut Stoppers<'_>,
        progress: &mut Progress,
    ) -> Result<(), EvalError> {
        let threads = evaluators.len() as u32;
        let shared = Shared {
            job: self,
            tree,
            stoppers,
            progress,
            threads,
            in_flight: 0,
            idle: 0,
            over: false,
            failed: None,
        };
        let team = Team { shared: Mutex::new(shared), changed: Condvar::new() };
        thread::scope(|scope| {
            let Some((first, others)) = evaluators.split_first_mut() else { return };
            for evaluator in others {
                let thread = thread::Builder::new().name("search".to_owned());
                // The search continues with the threads that could be started.
                if let Err(error) = thread.spawn_scoped(scope, || team.work(evaluator)) {
                    log::warn!("cannot start a search thread: {error}");
                }
            }
            team.work(first);
        });
        let shared = team.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        shared.failed.map_or(Ok(()), Err)
    }

    pub(super) fn note(&self, text: &str) {
        (self.sink)(Event::Note(text.to_owned()));
    }

    /// Reports the best lines if they have changed, if the last report is [`REPEAT_INTERVAL`] old, or at
    /// the end of the search.
    fn report(&self, tree: &Tree, progress: &mut Progress, is_end: bool) {
        let lines = tree.lines(self.multi_pv);
        let time = self.conditions.begun.elapsed();
        let best = lines.first().map(|line| (line.choice.m, line.choice.proof));
        let depth = depth_of_visits(progress.visits);
        let changed = depth > progress.depth || best != progress.best;
        let is_redundant = match progress.reported {
            Some((_, visits)) if is_end => visits == progress.visits,
            Some((then, _)) => !changed && time < then + REPEAT_INTERVAL,
            None => false,
        };
        if is_redundant || !is_end && lines.first().is_some_and(|line| !is_searched(line)) {
            return;
        }
        progress.depth = depth;
        progress.best = best;
        progress.reported = Some((time, progress.visits));
        if lines.is_empty() {
            let mut info = self.root_info(tree, progress);
            info.time = time;
            (self.sink)(Event::SearchInfo(info));
        }
        for (index, line) in lines.iter().enumerate() {
            if index > 0 && !is_searched(line) {
                continue;
            }
            let mut info = self.line_info(tree, progress, line);
            info.rank = index + 1;
            info.time = time;
            (self.sink)(Event::SearchInfo(info));
        }
        (self.sink)(Event::RootMoves { mover: tree.root().turn(), moves: root_moves(tree) });
    }

    /// Reports the line of this rank, from 0, as if it were the best.
    fn report_line(&self, tree: &Tree, progress: &Progress, rank: usize) {
        if let Some(line) = tree.lines(rank + 1).get(rank) {
            (self.sink)(Event::SearchInfo(self.line_info(tree, progress, line)));
        }
    }

    /// Returns the report of a position without legal moves.
    fn root_info(&self, tree: &Tree, progress: &Progress) -> SearchInfo {
        let mover = tree.root().turn();
        let sides = tree.root().game_spec().sides;
        let values = tree.value();
        let draw = f32::from(u8::from(tree.proof() == Proof::Drawn));
        SearchInfo {
            rank: 1,
            depth: progress.depth,
            seldepth: tree.deepest(),
            score: Score::new(tree.proof(), values[mover], sides),
            values,
            sides,
            wdl: Wdl::new(values[mover], draw),
            moves_left: tree.moves_left(),
            nodes: progress.visits,
            tb_hits: self.tablebases.hits(),
            hashfull: tree.permille(),
            time: self.conditions.begun.elapsed(),
            pv: Vec::new(),
        }
    }

    fn line_info(&self, tree: &Tree, progress: &Progress, line: &Line) -> SearchInfo {
        let mover = tree.root().turn();
        let sides = tree.root().game_spec().sides;
        let choice = &line.choice;
        let mut values = choice.value;
        let mut draw = choice.draw;
        if let Some(score) = self.tablebases.root_score(choice.m) {
            // Games that have tablebases are of two sides.
            values = PerSide::all(-f32::from(score));
            values[mover] = f32::from(score);
            draw = f32::from(u8::from(score == 0));
        }
        SearchInfo {
            // The last turn of a line may not have been searched yet.
            seldepth: tree.deepest().max(tree.root().split_turns(&line.moves).len()),
            score: Score::new(choice.proof, values[mover], sides),
            values,
            wdl: Wdl::new(values[mover], draw),
            moves_left: choice.moves_left,
            pv: self.turn_texts(tree, line),
            ..self.root_info(tree, progress)
        }
    }

    /// Returns the whole turns of a line as text. A line that the solved table proves to be won or lost is
    /// continued to the end of the game.
    fn turn_texts(&self, tree: &Tree, line: &Line) -> Vec<String> {
        let mut position = tree.root().clone();
        let mut texts = Vec::new();
        for turn in tree.root().split_turns(&line.moves) {
            texts.push(position.turn_text(&turn));
            for ply in turn {
                position.play_unchecked(ply);
            }
        }
        if let Some(table) = self.tablebases.solved_table()
            && !texts.is_empty()
        {
            for ply in table.decided_line(&position) {
                texts.push(position.turn_text(&[ply]));
                position.play_unchecked(ply);
            }
        }
        texts
    }

    /// Returns the turn of the line of this rank, from 0, and the reply to it.
    fn result(&self, tree: &mut Tree, evaluator: &mut dyn Evaluator, rank: usize) -> SearchResult {
        let root = tree.root().clone();
        let mut result = SearchResult {
            root_moves: root_moves(tree),
            ..SearchResult::without_turn(root.turn())
        };
        let Some(line) = tree.lines(rank + 1).pop() else { return result };
        let mut turns = self.turn_texts(tree, &line).into_iter();
        result.turn = turns.next();
        result.reply = turns.next();
        if result.turn.is_none() {
            result.turn = complete_turn(tree, evaluator, &line);
        }
        result
    }
}

/// Returns the root moves, best first, with their texts.
fn root_moves(tree: &Tree) -> Vec<(String, RootMove)> {
    let root = tree.root();
    tree.root_moves().into_iter().map(|choice| (root.move_text(choice.m), choice)).collect()
}

/// Returns `true` if a line has a score of its own. Until its move has been searched, its score is that of
/// the root, which may be an old one.
fn is_searched(line: &Line) -> bool {
    line.choice.visits > 0 || line.choice.proof != Proof::Open
}

/// Returns the whole turn that begins with `line`, of which the search saw only a part.
fn complete_turn(tree: &mut Tree, evaluator: &mut dyn Evaluator, line: &Line) -> Option<String> {
    let root = tree.root().clone();
    let turn = Searcher::new(tree, evaluator, 1).whole_turn(line).or_else(|_| {
        let mut uniform = Uniform::new(evaluator.shape());
        Searcher::new(tree, &mut uniform, 1).whole_turn(line)
    });
    turn.ok().map(|turn| root.turn_text(&turn))
}

/// What the threads of a search share. A thread that gathers or backs up has it alone; while a thread
/// waits for its network, the others take their turn.
struct Shared<'a, 'b> {
    job: &'a SearchJob,
    tree: &'a mut Tree,
    stoppers: &'a mut Stoppers<'b>,
    progress: &'a mut Progress,
    /// The number of threads.
    threads: u32,
    /// Leaves whose evaluations are in flight, in all threads.
    in_flight: u32,
    /// Threads that have no work until another thread's evaluations are done.
    idle: u32,
    over: bool,
    failed: Option<EvalError>,
}

/// The shared state, and a signal that it has changed.
struct Team<'a, 'b> {
    shared: Mutex<Shared<'a, 'b>>,
    changed: Condvar,
}

impl<'a, 'b> Team<'a, 'b> {
    fn lock(&self) -> MutexGuard<'_, Shared<'a, 'b>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The loop of one thread.
    fn work(&self, evaluator: &mut impl Evaluator) {
        let mut shared = self.lock();
        let batch_size = shared.job.batch_size.unwrap_or_else(|| evaluator.preferred_batch());
        let mut gatherer = Gatherer::new(shared.tree, evaluator, batch_size);
        while !shared.is_over() {
            let step = match shared.room() {
                0 => BatchStats::default(),
                room => shared.gather(&mut gatherer, evaluator, room),
            };
            if gatherer.is_empty() {
                if step.visits == 0 && shared.in_flight > 0 {
                    shared.idle += 1;
                    let waited = self.changed.wait_timeout(shared, MAX_IDLE_WAIT);
                    shared = waited.unwrap_or_else(PoisonError::into_inner).0;
                    shared.idle -= 1;
                }
                continue;
            }
            drop(shared);
            let result = gatherer.evaluate(evaluator);
            shared = self.lock();
            shared.backup(&mut gatherer, evaluator, result);
            if shared.idle > 0 {
                self.changed.notify_all();
            }
        }
        self.changed.notify_all();
    }
}

impl Shared<'_, '_> {
    /// Returns `true` if the search is over. Halves the root moves and reports if it is time to.
    fn is_over(&mut self) -> bool {
        if let Some(fraction) = self.stoppers.fraction_done(self.tree, self.progress.visits) {
            self.tree.continue_halving(fraction);
        }
        self.over = self.over || self.stoppers.should_stop(self.tree, self.progress.visits);
        if self.stoppers.take_report_due() {
            self.job.report(self.tree, self.progress, false);
        }
        self.over
    }

    /// Returns how many more leaves one thread may have in flight now: its share of all, so that the
    /// others are not left without work in a young tree.
    fn room(&self) -> u32 {
        let remaining = self.stoppers.remaining_visits(self.progress.visits);
        // Without one evaluation there is nothing to choose from.
        let most = self.tree.breadth().min(remaining).max(1);
        most.saturating_sub(self.in_flight).min(most.div_ceil(self.threads))
    }

    fn count(&mut self, step: BatchStats) {
        self.progress.visits += u64::from(step.visits);
        self.progress.eval_stats.positions += u64::from(step.evaluations);
        self.progress.eval_stats.batches += u64::from(step.evaluations > 0);
        if step.full && self.stoppers.set_hash_full() {
            self.job.note("hash full, search stopped (increase Hash)");
        }
    }

    fn gather(
        &mut self,
        gatherer: &mut Gatherer,
        evaluator: &dyn Evaluator,
        room: u32,
    ) -> BatchStats {
        let step = gatherer.gather(self.tree, evaluator, room);
        self.count(step);
        self.in_flight += gatherer.len() as u32;
        step
    }

    fn backup(
        &mut self,
        gatherer: &mut Gatherer,
        evaluator: &dyn Evaluator,
        result: Result<(), EvalError>,
    ) {
        self.in_flight -= gatherer.len() as u32;
        match result {
            Ok(()) => {
                let visits = gatherer.backup(self.tree, evaluator);
                self.count(BatchStats { visits, evaluations: visits, full: false });
            }
            Err(error) => {
                gatherer.cancel(self.tree);
                self.over = true;
                self.failed = Some(error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::*;
    use crate::encoding::Encoding;
    use crate::engine::Limits;
    use crate::rules::Position;

    #[test]
    fn result_is_a_whole_turn() {
        // The first ply of either turn is only half of it.
        let test_tree = Position::test_tree("a(+a(b(ab)=)+a(=b(ab)))", 2).expect("a game tree");
        let mut uniform = Uniform::new(Encoding::of(&test_tree).shape());
        let job = SearchJob {
            conditions: StopConditions {
                limits: Limits::default(),
                overhead: Duration::ZERO,
                gumbel: false,
                begun: Instant::now(),
                control: Arc::default(),
            },
            batch_size: None,
            skill: None,
            multi_pv: 1,
            sink: Arc::new(|_| ()),
            tablebases: Tablebases::default(),
        };
        for visits in [1, 2, 3, 20] {
            let mut tree = Tree::new(test_tree.clone(), Default::default(), 1 << 20);
            let mut searcher = Searcher::new(&mut tree, &mut uniform, 1);
            for _ in 0..visits {
                searcher.step(1).expect("Uniform never fails");
            }
            let turn = job.result(&mut tree, &mut uniform, 0).turn.expect("a turn");
            assert_eq!(turn.split(',').count(), 2, "{turn} after {visits}");
            assert!(test_tree.parse_turn(&turn).is_some());
        }
    }
}
