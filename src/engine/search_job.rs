//! A search as it was asked for, how far it has come, and what is told about it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::depth::depth_of_visits;
use super::limits::Limits;
use super::search_info::{EvalStats, Event, Score, SearchInfo, Sink, Wdl};
use super::skill::Skill;
use super::tablebases::Tablebases;
use crate::rules::{Move, PerSide};
use crate::search::{Line, Proof, Tree};

/// After so long without news a report is repeated.
const REPEAT: Duration = Duration::from_secs(1);

/// What is said to a search while it runs.
#[derive(Debug, Default)]
pub(super) struct Control {
    pub(super) stop: AtomicBool,
    /// Whether commands wait for the end of the search, or no more will come.
    pub(super) unattended: AtomicBool,
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
    pub(super) tablebases: Tablebases,
}

/// How far a search has come.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) visits: u64,
    pub(super) asked: EvalStats,
    /// The depth of the last report.
    depth: usize,
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
        let lines = tree.lines(self.lines);
        let time = self.begun.elapsed();
        let favourite = lines.first().map(|line| (line.choice.m, line.choice.proof));
        let depth = depth_of_visits(progress.visits);
        let news = depth > progress.depth || favourite != progress.favourite;
        let silent = match progress.reported {
            Some((_, visits)) if end => visits == progress.visits,
            Some((then, _)) => !news && time < then + REPEAT,
            None => false,
        };
        // Until a move has been searched its score is that of the root, which may be an old one.
        let searched = |line: &Line| line.choice.visits > 0 || line.choice.proof != Proof::Open;
        if silent || !end && lines.first().is_some_and(|line| !searched(line)) {
            return;
        }
        progress.depth = depth;
        progress.favourite = favourite;
        progress.reported = Some((time, progress.visits));
        if lines.is_empty() {
            let mut report = self.report_of_root(tree, progress);
            report.time = time;
            (self.sink)(Event::SearchInfo(report));
        }
        for (nth, line) in lines.iter().enumerate() {
            if nth > 0 && !searched(line) {
                continue;
            }
            let mut report = self.report_of_line(tree, progress, line);
            (report.rank, report.time) = (nth + 1, time);
            (self.sink)(Event::SearchInfo(report));
        }
    }

    /// Reports the line that ranks `nth`-th, from 0, as if it were the best.
    pub(super) fn report_line(&self, tree: &Tree, progress: &Progress, nth: usize) {
        if let Some(line) = tree.lines(nth + 1).get(nth) {
            (self.sink)(Event::SearchInfo(self.report_of_line(tree, progress, line)));
        }
    }

    /// The report of a position without legal moves.
    fn report_of_root(&self, tree: &Tree, progress: &Progress) -> SearchInfo {
        let (mover, sides) = (tree.root().turn(), tree.root().game_spec().sides);
        let values = tree.value();
        let draw = f32::from(u8::from(tree.proof() == Proof::Drawn));
        SearchInfo {
            rank: 1,
            depth: progress.depth,
            deepest: tree.deepest(),
            score: Score::new(tree.proof(), values[mover], sides),
            values,
            sides,
            chances: Wdl::new(values[mover], draw),
            moves_left: tree.moves_left(),
            nodes: progress.visits,
            hits: self.tablebases.hits(),
            full: tree.permille(),
            time: self.begun.elapsed(),
            line: Vec::new(),
        }
    }

    fn report_of_line(&self, tree: &Tree, progress: &Progress, line: &Line) -> SearchInfo {
        let (mover, sides) = (tree.root().turn(), tree.root().game_spec().sides);
        let choice = &line.choice;
        let turns = self.texts(tree, line);
        let (mut values, mut draw) = (choice.value, choice.draw);
        if let Some(score) = self.tablebases.root_score(choice.m) {
            // Games that have tables are of two sides.
            values = PerSide::all(-f32::from(score));
            values[mover] = f32::from(score);
            draw = f32::from(u8::from(score == 0));
        }
        SearchInfo {
            // The last turn of a line need not have been searched yet.
            deepest: tree.deepest().max(line.turns(tree.root()).len()),
            score: Score::new(choice.proof, values[mover], sides),
            values,
            chances: Wdl::new(values[mover], draw),
            moves_left: choice.moves_left,
            line: turns,
            ..self.report_of_root(tree, progress)
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
        if let Some(table) = self.tablebases.table.as_deref().filter(|_| !texts.is_empty()) {
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
