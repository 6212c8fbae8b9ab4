//! A search as it was asked for, how far it has come, and what is told about it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::limits::Limits;
use super::report::{Asked, Chances, Event, Report, Score, Sink};
use super::skill::Skill;
use super::tables::Knowledge;
use crate::rules::{Move, PerSide};
use crate::search::{Line, Proof, Tree};

/// After so long without news a report is repeated.
const REPEAT: Duration = Duration::from_secs(1);

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
    /// The most leaves that a thread has evaluated at once; what the evaluator prefers if 0.
    pub(super) batch: usize,
    /// Whether visits to the root are spread by sequential halving.
    pub(super) gumbel: bool,
    /// How well to play, if not as well as can be.
    pub(super) skill: Option<Skill>,
    /// How many lines are reported.
    pub(super) lines: usize,
    /// What is lost between the clock and the engine.
    pub(super) overhead: Duration,
    pub(super) begun: Instant,
    pub(super) control: Arc<Control>,
    pub(super) sink: Sink,
    /// What perfect play makes of the game's positions.
    pub(super) knowledge: Knowledge,
}

/// How far a search has come.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) visits: u64,
    pub(super) asked: Asked,
    pub(super) depth: usize,
    favourite: Option<(Move, Proof)>,
    /// When there was a report, and after how many visits.
    reported: Option<(Duration, u64)>,
}

impl Search {
    /// Whether it was told to end.
    pub(super) fn is_stopped(&self) -> bool {
        self.control.stop.load(Ordering::Relaxed)
    }

    /// The time that counts: since it began, or since the opponent played as expected.
    pub(super) fn elapsed(&self) -> Duration {
        self.control.hit.get().unwrap_or(&self.begun).elapsed()
    }

    /// Tells something about the search.
    pub(super) fn note(&self, text: &str) {
        (self.sink)(Event::Note(text.to_owned()));
    }

    /// Whether the opponent has not played yet.
    pub(super) fn pondering(&self) -> bool {
        self.limits.ponder && self.control.hit.get().is_none()
    }

    /// Reports the best lines, if there is news in them, if it is long ago, or at the `end`.
    pub(super) fn report(&self, tree: &Tree, progress: &mut Progress, end: bool) {
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
            hits: self.knowledge.hits(),
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

    /// The whole turns of a line as text; of a line that the table knows to be won or lost, all
    /// until the end.
    pub(super) fn texts(&self, tree: &Tree, line: &Line) -> Vec<String> {
        let mut position = tree.root().clone();
        let mut text = |turn: Vec<Move>| {
            let text = position.turn_text(&turn);
            turn.into_iter().for_each(|ply| position.play_unchecked(ply));
            text
        };
        let mut texts: Vec<_> = line.turns(tree.root()).into_iter().map(&mut text).collect();
        if let Some(table) = self.knowledge.table.as_deref().filter(|_| !texts.is_empty()) {
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
