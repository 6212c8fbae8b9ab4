//! Searches: for the engine's turn, in the opponent's time, and to analyse.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{XBoard, legs, report, result_text};
use crate::engine::{Best, Event, Limits, Report, Sink};
use crate::protocol::output::one_line;
use crate::rules::Key;

/// What a search is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// There is none.
    None,
    /// The engine's turn.
    Play,
    /// The engine's turn, but nobody wants to know it any more.
    Aborted,
    /// The opponent's turn, in its own time.
    Ponder,
    /// The truth.
    Analyze,
    /// Something to suggest to the user.
    Hint,
}

/// So long is a hint thought about.
const HINT: Duration = Duration::from_millis(500);

/// What searches have told; they are on another thread.
#[derive(Debug, Default)]
pub(super) struct Told {
    inner: Mutex<Inner>,
    posts: AtomicBool,
}

#[derive(Debug, Default)]
struct Inner {
    report: Option<Report>,
    best: Option<Best>,
    /// The turn that is thought best in a position: the one that is searched, or the one that
    /// followed from the last search.
    likely: Option<(Key, String)>,
}

impl Told {
    fn with<T>(&self, f: impl FnOnce(&mut Inner) -> T) -> T {
        f(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How the best line stands.
    pub(super) fn report(&self) -> Option<Report> {
        self.with(|inner| inner.report.clone())
    }

    /// The turn that is thought best in the position `key`.
    fn likely(&self, key: Key) -> Option<String> {
        let likely = self.with(|inner| inner.likely.clone());
        likely.filter(|(of, _)| *of == key).map(|(_, turn)| turn)
    }

    pub(super) fn forget(&self) {
        self.with(|inner| *inner = Inner::default());
    }
}

impl XBoard {
    /// Whether thoughts are shown while the engine plays.
    pub(super) fn post(&mut self, posts: bool) {
        self.posts = posts;
        self.told.posts.store(posts || self.kind == Kind::Analyze, Ordering::Relaxed);
    }

    fn sink(&mut self, kind: Kind) -> Sink {
        self.searches += 1;
        let number = self.searches;
        let (output, ended) = (Arc::clone(&self.output), Arc::clone(&self.ended));
        let (told, root) = (Arc::clone(&self.told), self.session.position().clone());
        told.posts.store(self.posts || kind == Kind::Analyze, Ordering::Relaxed);
        Arc::new(move |event| match event {
            Event::Note(text) => output.say(&one_line(&format!("# {text}"))),
            Event::Report(report) => {
                // What the opponent may think is not what the engine expects.
                if told.posts.load(Ordering::Relaxed)
                    && !matches!(kind, Kind::Ponder | Kind::Hint)
                    && !report.line.is_empty()
                {
                    output.say(&report::thinking(&report, &root));
                }
                if report.rank == 1 {
                    let turn = report.line.first().cloned();
                    told.with(|inner| inner.likely = turn.map(|turn| (root.key(), turn)));
                }
                if matches!(kind, Kind::Play | Kind::Analyze) && report.rank == 1 {
                    told.with(|inner| inner.report = Some(report));
                }
            }
            Event::Best(best) => {
                told.with(|inner| inner.best = Some(best));
                ended(number);
            }
            Event::Paths { .. } | Event::AllPaths(_) => {}
        })
    }

    fn search(&mut self, kind: Kind, limits: Limits) {
        let begun = Instant::now();
        self.told.with(|inner| inner.best = None);
        let sink = self.sink(kind);
        match self.session.go(limits, begun, sink) {
            Ok(()) => (self.kind, self.begun) = (kind, begun),
            Err(error) => self.error("no thread can be started", &error.to_string()),
        }
    }

    /// Begins to think about the engine's turn.
    pub(super) fn think(&mut self) {
        let overhead = Duration::from_millis(self.session.options().overhead);
        let limits = self.clocks.limits(self.session.position().turn(), overhead);
        self.search(Kind::Play, limits);
    }

    /// Goes on with what is to be thought about when nothing else is, as long as it takes.
    pub(super) fn think_on(&mut self) {
        let position = self.session.position();
        let (mover, over) = (position.turn(), position.outcome().is_some());
        if self.session.is_thinking() || self.paused || over {
            return;
        }
        let mut limits = Limits { infinite: true, ..Limits::default() };
        if self.analyzing {
            if !self.excluded.is_empty() {
                self.session.position().legal_moves(&mut limits.moves);
                limits.moves.retain(|ply| !self.excluded.contains(ply));
                if limits.moves.is_empty() {
                    return;
                }
            }
            self.search(Kind::Analyze, limits);
        } else if self.ponders && !self.fresh && self.side.is_some_and(|side| side != mover) {
            self.search(Kind::Ponder, limits);
        }
    }

    /// Suggests a turn to the user; it takes a short search if nothing is known.
    pub(super) fn hint(&mut self) {
        let position = self.session.position();
        match self.told.likely(position.key()) {
            _ if matches!(self.kind, Kind::Play | Kind::Aborted | Kind::Hint) => {}
            Some(turn) => self.say_hint(turn),
            None if self.session.is_thinking() || position.outcome().is_some() => {}
            None => self.search(Kind::Hint, Limits { time: Some(HINT), ..Limits::default() }),
        }
    }

    fn say_hint(&self, turn: String) {
        if let Some(turn) = report::turns(self.session.position(), &[turn]).pop() {
            self.say(&format!("Hint: {turn}"));
        }
    }

    /// Has the engine's turn be played at once.
    pub(super) fn move_now(&mut self) {
        if self.kind == Kind::Play {
            self.session.stop();
        }
    }

    /// Ends the search for the engine's turn; nothing comes of it.
    pub(super) fn abort(&mut self) {
        self.kind = Kind::Aborted;
        self.session.stop();
    }

    /// Does what follows from the end of the search: plays the engine's turn.
    pub(super) fn conclude(&mut self) {
        let kind = std::mem::replace(&mut self.kind, Kind::None);
        let best = self.told.with(|inner| inner.best.take());
        let (turn, reply) = best.map_or((None, None), |best| (best.turn, best.reply));
        if kind == Kind::Hint {
            turn.into_iter().for_each(|turn| self.say_hint(turn));
            return self.think_on();
        }
        if kind != Kind::Play {
            return;
        }
        let Some(turn) = turn else {
            self.claim();
            return;
        };
        let written = report::turns(self.session.position(), std::slice::from_ref(&turn));
        if let Err(error) = self.session.play(&turn) {
            return self.error("the search failed", &error.to_string());
        }
        let position = self.session.position();
        let (key, outcome) = (position.key(), position.outcome());
        self.told.with(|inner| inner.likely = reply.map(|reply| (key, reply)));
        // A draw that may be claimed after the turn is offered before it.
        if outcome.is_none() && position.claim().is_some() {
            self.say("offer draw");
        }
        self.output.say(&legs::told(&written.join(",")));
        self.clocks.played(self.begun.elapsed());
        self.excluded.clear();
        self.fresh = false;
        match outcome {
            Some(outcome) => self.say(&result_text(outcome)),
            None => self.think_on(),
        }
    }
}
