//! The thread that searches: it owns the tree and the evaluator until it ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::limits::Limits;
use super::network::Chosen;
use super::report::{Best, Chances, Event, Report, Score, Sink};
use super::tables::Tabled;
use crate::evaluation::{EvalError, Evaluator, Uniform};
use crate::rules::{Move, PerSide};
use crate::search::{Budget, Line, Proof, Thinking, Tree};
use crate::table::Table;

/// Between two looks at the state of a search for a report or for the clock.
const LOOK: Duration = Duration::from_millis(10);
/// After so long without news a report is repeated.
const REPEAT: Duration = Duration::from_secs(1);
/// The visits for each leaf that is gathered at once: a young tree is searched one by one.
const VISITS_A_LEAF: u32 = 32;
/// How much better than the favourite another move must be to cost more time.
const DOUBT: f32 = 0.01;

/// What is said to a search while it runs.
#[derive(Debug, Default)]
pub(super) struct Control {
    pub(super) stop: AtomicBool,
    /// When the opponent played as expected.
    pub(super) hit: OnceLock<Instant>,
}

/// A search: what it is to do, and who is told about it.
pub(super) struct Search {
    pub(super) limits: Limits,
    /// How many lines are reported.
    pub(super) lines: usize,
    /// What is lost between the clock and the engine.
    pub(super) overhead: Duration,
    pub(super) begun: Instant,
    pub(super) control: Arc<Control>,
    pub(super) sink: Sink,
    /// What perfect play makes of the game's positions.
    pub(super) table: Option<Arc<Table>>,
}

/// How far a search has come.
#[derive(Debug, Default)]
struct Progress {
    visits: u64,
    full: bool,
    depth: usize,
    favourite: Option<(Move, Proof)>,
    next_look: Duration,
    next_depth: u64,
    /// When there was a report, and after how many visits.
    reported: Option<(Duration, u64)>,
}

impl Search {
    /// Searches until a limit is reached, and tells the best turn when it may. If the evaluator
    /// fails, one that knows nothing takes its place.
    pub(super) fn run(&self, tree: &mut Tree, chosen: &mut Chosen) {
        tree.restrict(&self.limits.moves);
        let mut progress = Progress::default();
        loop {
            let mut tabled = Tabled::new(&mut *chosen.evaluator, self.table.as_deref());
            let Err(error) = self.think(tree, &mut tabled, &mut progress) else { break };
            (self.sink)(Event::Note(format!("{error}; the search goes on without a network")));
            chosen.give_up();
        }
        self.report(tree, &mut progress, true);
        while self.held() {
            thread::park();
        }
        (self.sink)(Event::Best(self.best(tree, &mut *chosen.evaluator)));
    }

    /// Whether the best turn may not be told yet.
    fn held(&self) -> bool {
        !self.control.stop.load(Ordering::Relaxed) && (self.limits.infinite || self.pondering())
    }

    fn pondering(&self) -> bool {
        self.limits.ponder && self.control.hit.get().is_none()
    }

    fn think(
        &self,
        tree: &mut Tree,
        evaluator: &mut dyn Evaluator,
        progress: &mut Progress,
    ) -> Result<(), EvalError> {
        let batch = evaluator.preferred_batch();
        let mut thinking = Thinking::new(tree, evaluator, batch);
        while !self.over(thinking.tree(), progress) {
            let nodes = self.limits.nodes.unwrap_or(u64::MAX);
            let left = nodes.saturating_sub(progress.visits).try_into().unwrap_or(u32::MAX);
            let ramp = 1 + thinking.tree().visits() / VISITS_A_LEAF;
            // Without one evaluation there is nothing to choose from.
            let step = thinking.step(ramp.min(left).max(1))?;
            progress.visits += u64::from(step.visits);
            if step.full && !progress.full {
                progress.full = true;
                let text = "the memory for the tree is full: option Hash gives it more";
                (self.sink)(Event::Note(text.to_owned()));
            }
        }
        Ok(())
    }

    /// Whether the search has come to an end.
    fn over(&self, tree: &Tree, progress: &mut Progress) -> bool {
        if tree.is_empty() {
            return false;
        }
        let nodes = self.limits.nodes.is_some_and(|nodes| progress.visits >= nodes);
        let ended = nodes || progress.full || tree.settled();
        if ended || self.control.stop.load(Ordering::Relaxed) || self.goal(tree, progress) {
            return true;
        }
        let elapsed = self.begun.elapsed();
        if elapsed < progress.next_look {
            return self.out_of_time(tree, progress, false);
        }
        progress.next_look = elapsed + LOOK;
        self.report(tree, progress, false);
        self.out_of_time(tree, progress, true)
    }

    /// Whether the depth or the mate that was asked for is found.
    fn goal(&self, tree: &Tree, progress: &mut Progress) -> bool {
        let Limits { depth, mate, .. } = self.limits;
        let mated = mate.is_some_and(|mate| {
            let score = Score::new(tree.proof(), 0.0, tree.root().anatomy().sides);
            matches!(score, Score::Won(turns) if u64::from(turns) <= mate)
        });
        // Lines are looked for less often the longer they take to change.
        if mated || (depth.is_none() && mate.is_none()) || progress.visits < progress.next_depth {
            return mated;
        }
        progress.next_depth = progress.visits + 1 + progress.visits / 16;
        let Some(line) = tree.lines(1).pop() else { return true };
        progress.depth = progress.depth.max(line.turns(tree.root()).len());
        // Where the choice is restricted, the root itself is never settled.
        let proven = line.choice.proof != Proof::Open && !self.limits.moves.is_empty();
        proven || depth.is_some_and(|depth| progress.depth as u64 >= depth)
    }

    /// Whether the time is up; with `closely`, also whether the rest of it would be wasted.
    fn out_of_time(&self, tree: &Tree, progress: &Progress, closely: bool) -> bool {
        if self.limits.infinite || self.pondering() {
            return false;
        }
        let elapsed = self.control.hit.get().unwrap_or(&self.begun).elapsed();
        if let Some(time) = self.limits.time
            && elapsed + self.overhead.min(time / 2) >= time
        {
            return true;
        }
        let Some(clock) = self.limits.clocks[tree.root().turn()] else { return false };
        let Budget { soft, hard } = clock.budget(self.overhead);
        if elapsed >= hard {
            return true;
        }
        if !closely {
            return false;
        }
        let choices = tree.choices();
        let Some((first, others)) = choices.split_first() else { return true };
        if others.is_empty() {
            return true;
        }
        let mover = tree.root().turn();
        if elapsed >= soft {
            let better = first.value[mover] + DOUBT;
            return others.iter().all(|other| other.visits == 0 || other.value[mover] <= better);
        }
        // The others cannot catch up in the time that is left.
        let second = others.iter().map(|other| other.visits).max().unwrap_or(0);
        let speed = progress.visits as f64 / self.begun.elapsed().as_secs_f64().max(1e-3);
        let coming = speed * (soft - elapsed).as_secs_f64();
        first.proof == Proof::Open
            && elapsed > soft / 8
            && f64::from(first.visits) - f64::from(second) > coming
    }

    /// Reports the best lines, if there is news in them, if it is long ago, or at the `end`.
    fn report(&self, tree: &Tree, progress: &mut Progress, end: bool) {
        let root = tree.root();
        let lines = tree.lines(self.lines);
        let (time, mover) = (self.begun.elapsed(), root.turn());
        let sides = root.anatomy().sides;
        let favourite = lines.first().map(|line| (line.choice.m, line.choice.proof));
        let depth = lines.first().map_or(0, |line| line.turns(root).len());
        let news = depth > progress.depth || favourite != progress.favourite;
        let silent = match progress.reported {
            Some((_, visits)) if end => visits == progress.visits,
            Some((then, _)) => !news && time < then + REPEAT,
            None => false,
        };
        if silent {
            return;
        }
        progress.depth = progress.depth.max(depth);
        progress.favourite = favourite;
        progress.reported = Some((time, progress.visits));
        let about = |rank, proof, values: PerSide<f32>, draw, moves_left| Report {
            rank,
            depth: progress.depth,
            deepest: tree.deepest().max(progress.depth),
            score: Score::new(proof, values[mover], sides),
            values,
            sides,
            chances: Chances::new(values[mover], draw),
            moves_left,
            nodes: progress.visits,
            full: tree.permille(),
            time,
            line: Vec::new(),
        };
        if lines.is_empty() {
            let draw = f32::from(u8::from(tree.proof() == Proof::Drawn));
            let report = about(1, tree.proof(), tree.value(), draw, tree.moves_left());
            (self.sink)(Event::Report(report));
        }
        for (nth, line) in lines.iter().enumerate() {
            let choice = &line.choice;
            // What was never visited has nothing to tell.
            if nth > 0 && choice.visits == 0 && choice.proof == Proof::Open {
                continue;
            }
            let mut report =
                about(nth + 1, choice.proof, choice.value, choice.draw, choice.moves_left);
            report.line = self.texts(tree, line);
            (self.sink)(Event::Report(report));
        }
    }

    /// The best turn and the reply to it.
    fn best(&self, tree: &mut Tree, evaluator: &mut dyn Evaluator) -> Best {
        let root = tree.root().clone();
        let choices = tree.choices().into_iter();
        let choices = choices.map(|choice| (root.move_text(choice.m), choice)).collect();
        let mut best = Best { turn: None, reply: None, choices, mover: root.turn() };
        let Some(line) = tree.lines(1).pop() else { return best };
        let mut turns = self.texts(tree, &line).into_iter();
        (best.turn, best.reply) = (turns.next(), turns.next());
        if best.turn.is_none() {
            best.turn = whole_turn(tree, evaluator, &line);
        }
        best
    }

    /// The whole turns of a line as text; of a line that the table knows to be won or lost, all
    /// until the end.
    fn texts(&self, tree: &Tree, line: &Line) -> Vec<String> {
        let mut position = tree.root().clone();
        let mut text = |turn: Vec<Move>| {
            let text = position.turn_text(&turn);
            turn.into_iter().for_each(|ply| position.play_unchecked(ply));
            text
        };
        let mut texts: Vec<_> = line.turns(tree.root()).into_iter().map(&mut text).collect();
        if let Some(table) = self.table.as_deref().filter(|_| !texts.is_empty()) {
            let rest = table.decided_line(&position);
            texts.extend(rest.into_iter().map(|ply| {
                let text = position.turn_text(&[ply]);
                position.play_unchecked(ply);
                text
            }));
        }
        texts
    }
}

/// The whole turn that begins as `line` does, of which the search saw no more than a part.
fn whole_turn(tree: &mut Tree, evaluator: &mut dyn Evaluator, line: &Line) -> Option<String> {
    let root = tree.root().clone();
    let turn = Thinking::new(tree, evaluator, 1).whole_turn(line).or_else(|_| {
        let mut uniform = Uniform::new(evaluator.shape());
        Thinking::new(tree, &mut uniform, 1).whole_turn(line)
    });
    turn.ok().map(|turn| root.turn_text(&turn))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::Encoding;
    use crate::rules::Position;

    #[test]
    fn the_best_turn_is_whole() {
        // The first ply of either turn is only half of it.
        let toy = Position::toy("a(+a(b(ab)=)+a(=b(ab)))", 2).expect("a game tree");
        let mut uniform = Uniform::new(Encoding::of(&toy).shape());
        let search = Search {
            limits: Limits::default(),
            lines: 1,
            overhead: Duration::ZERO,
            begun: Instant::now(),
            control: Arc::default(),
            sink: Arc::new(|_| ()),
            table: None,
        };
        for visits in [1, 2, 3, 20] {
            let mut tree = Tree::new(toy.clone(), Default::default(), 1 << 20);
            let mut thinking = Thinking::new(&mut tree, &mut uniform, 1);
            for _ in 0..visits {
                thinking.step(1).expect("Uniform never fails");
            }
            let turn = search.best(&mut tree, &mut uniform).turn.expect("a turn");
            assert_eq!(turn.split(',').count(), 2, "{turn} after {visits}");
            assert!(toy.parse_turn(&turn).is_some());
        }
    }
}
