//! Searches: for the engine's turn, in the opponent's time, and to analyse.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{XBoard, legs, report};
use crate::engine::{Event, Limits, SearchInfo, SearchResult, Sink};
use crate::protocol::output::one_line;
use crate::rules::Key;

/// What a search is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// There is none.
    None,
    /// The engine's turn.
    Play,
    /// The engine's turn, but it leaves its table to the clock.
    Sit,
    /// The engine's turn, but nobody wants to know it any more.
    Aborted,
    /// The opponent's turn, in its own time.
    Ponder,
    /// The truth.
    Analyze,
    /// Something to suggest to the user.
    Hint,
}

impl Kind {
    /// Whether it is the engine's turn, and it is awaited.
    pub(super) fn is_own(self) -> bool {
        matches!(self, Kind::Play | Kind::Sit)
    }
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
    report: Option<SearchInfo>,
    best: Option<SearchResult>,
    /// The turn that is thought best in a position: the one that is searched, or the one that
    /// followed from the last search.
    likely: Option<(Key, String)>,
}

impl Told {
    fn with<T>(&self, f: impl FnOnce(&mut Inner) -> T) -> T {
        f(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How the best line stands.
    pub(super) fn report(&self) -> Option<SearchInfo> {
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
        let (told, root) = (Arc::clone(&self.told), self.thinker().position().clone());
        told.posts.store(self.posts || kind == Kind::Analyze, Ordering::Relaxed);
        Arc::new(move |event| match event {
            Event::Note(text) => output.say(&one_line(&format!("# {text}"))),
            Event::SearchInfo(report) => {
                // What the opponent may think is not what the engine expects.
                if told.posts.load(Ordering::Relaxed)
                    && !matches!(kind, Kind::Ponder | Kind::Hint | Kind::Sit)
                    && !report.line.is_empty()
                {
                    output.say(&report::searcher(&report, &root));
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

    pub(super) fn search(&mut self, kind: Kind, limits: Limits, begun: Instant) {
        self.told.with(|inner| inner.best = None);
        let sink = self.sink(kind);
        let session = self.team.as_mut().filter(|_| self.teamed).unwrap_or(&mut self.session);
        match session.go(limits, begun, sink) {
            Ok(()) => (self.kind, self.begun) = (kind, Instant::now()),
            Err(error) => self.error("no thread can be started", &error.to_string()),
        }
    }

    /// Begins to think about the engine's turn.
    pub(super) fn think(&mut self) {
        let overhead = Duration::from_millis(self.session.options().overhead);
        self.teamed = false;
        if self.has_partner() {
            let (mut limits, begun) = self.limits_at_table(overhead);
            self.teamed = self.set_up_team(&mut limits);
            if !self.teamed {
                limits.moves.clear();
            }
            return self.search(Kind::Play, limits, begun);
        }
        let limits = self.clocks.limits(self.session.position().turn(), overhead);
        self.search(Kind::Play, limits, Instant::now());
    }

    /// Goes on with what is to be thought about when nothing else is, as long as it takes.
    pub(super) fn think_on(&mut self) {
        let position = self.session.position();
        let (mover, over) = (position.turn(), position.outcome().is_some());
        if self.thinker().is_thinking() || self.rests() || over {
            return;
        }
        self.teamed = false;
        let mut limits = Limits { infinite: true, ..Limits::default() };
        if self.analyzing {
            if !self.excluded.is_empty() {
                self.session.position().legal_moves(&mut limits.moves);
                limits.moves.retain(|ply| !self.excluded.contains(ply));
                if limits.moves.is_empty() {
                    return;
                }
            }
            self.search(Kind::Analyze, limits, Instant::now());
        } else if self.ponders && !self.fresh && self.side.is_some_and(|side| side != mover) {
            self.search(Kind::Ponder, limits, Instant::now());
        }
    }

    /// Suggests a turn to the user; it takes a short search if nothing is known.
    pub(super) fn hint(&mut self) {
        let position = self.session.position();
        match self.told.likely(position.key()) {
            _ if self.kind.is_own() || matches!(self.kind, Kind::Aborted | Kind::Hint) => {}
            Some(turn) => self.say_hint(turn),
            None if self.thinker().is_thinking()
                || position.outcome().is_some()
                || self.refused => {}
            None => {
                self.teamed = false;
                let limits = Limits { time: Some(HINT), ..Limits::default() };
                self.search(Kind::Hint, limits, Instant::now());
            }
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
            self.thinker().stop();
        }
    }

    /// Ends the search for the engine's turn; nothing comes of it.
    pub(super) fn abort(&mut self) {
        self.kind = Kind::Aborted;
        self.thinker().stop();
    }

    /// Does what follows from the end of the search: plays the engine's turn.
    pub(super) fn conclude(&mut self) {
        let kind = std::mem::replace(&mut self.kind, Kind::None);
        let best = self.told.with(|inner| inner.best.take());
        let (turn, reply) =
            best.as_ref().map_or((None, None), |best| (best.turn.clone(), best.reply.clone()));
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
        if self.has_partner() {
            return self.conclude_at_table(&turn, best);
        }
        let written = report::turns(self.session.position(), std::slice::from_ref(&turn));
        if let Err(error) = self.session.play(&turn) {
            return self.error("the search failed", &error.to_string());
        }
        let key = self.session.position().key();
        self.told.with(|inner| inner.likely = reply.map(|reply| (key, reply)));
        self.clocks.played(self.begun.elapsed());
        self.played(&written.join(","));
    }

    /// The same in bughouse, where the engine may sit.
    fn conclude_at_table(&mut self, turn: &str, best: Option<SearchResult>) {
        let turn = match self.teamed {
            true => own_part(turn),
            false => {
                self.tell_prospects();
                let chosen = best.as_ref().and_then(|best| self.choose_for_partner(best));
                Some(chosen.unwrap_or_else(|| turn.to_owned())).filter(|_| !self.should_sit())
            }
        };
        let Some(turn) = turn else { return self.sit() };
        let written = report::turns(self.session.position(), std::slice::from_ref(&turn));
        match self.session.play(&turn) {
            Ok(()) => self.played_at_table(&written.join(",")),
            Err(error) => self.error("the search failed", &error.to_string()),
        }
    }

    /// Tells the turn that was just played, and what follows.
    pub(super) fn played(&mut self, written: &str) {
        let position = self.session.position();
        let outcome = position.outcome();
        // A draw that may be claimed after the turn is offered before it.
        if outcome.is_none() && position.claim().is_some() {
            self.say("offer draw");
        }
        self.output.say(&legs::told(written));
        self.excluded.clear();
        self.fresh = false;
        match outcome {
            Some(_) => {
                self.claim();
            }
            None => self.think_on(),
        }
    }
}

/// The own part of what a search of both tables found; `None` if the engine sits.
fn own_part(turn: &str) -> Option<String> {
    let own = turn.strip_prefix('(')?.split_once(',')?.0;
    (own != "pass").then(|| own.to_owned())
}
