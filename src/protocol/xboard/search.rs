//! Searches: for the engine's turn, in the opponent's time, for analysis and for hints.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Mode, XBoard, info, legs};
use crate::engine::{Event, Limits, SearchInfo, SearchResult, Session, Sink};
use crate::protocol::lines::{LineWriter, one_line};
use crate::rules::{Key, Position};

/// The purpose of the search in progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SearchKind {
    /// There is no search.
    None,
    /// The engine's turn.
    Play,
    /// The engine's turn, but it sits.
    Sit,
    /// The engine's turn, but the result is not needed any more.
    Aborted,
    /// The opponent's turn.
    Ponder,
    /// An analysis.
    Analyze,
    /// A hint for the user.
    Hint,
}

impl SearchKind {
    /// Returns `true` if it is the engine's turn and a move is needed.
    pub(super) fn is_own_turn(self) -> bool {
        matches!(self, SearchKind::Play | SearchKind::Sit)
    }
}

/// The time of a search for a hint.
const HINT_TIME: Duration = Duration::from_millis(500);

/// The output of searches, which run on another thread.
#[derive(Debug, Default)]
pub(super) struct SearchOutput {
    inner: Mutex<LastOutput>,
    /// Whether reports are printed.
    posts: AtomicBool,
}

#[derive(Debug, Default)]
struct LastOutput {
    /// The last report of the best line.
    info: Option<SearchInfo>,
    result: Option<SearchResult>,
    /// The best turn of a position: the one that is searched, or the one expected after the last search.
    best: Option<(Key, String)>,
}

impl SearchOutput {
    fn with<T>(&self, f: impl FnOnce(&mut LastOutput) -> T) -> T {
        f(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the last report of the best line.
    pub(super) fn info(&self) -> Option<SearchInfo> {
        self.with(|last| last.info.clone())
    }

    /// Returns the best turn of the position `key`, if it is known.
    fn best_turn(&self, key: Key) -> Option<String> {
        let (position, turn) = self.with(|last| last.best.clone())?;
        if position == key { Some(turn) } else { None }
    }

    /// Stores and prints a report of a search from `root`.
    fn report(
        &self,
        output: &LineWriter,
        kind: SearchKind,
        root: &Position,
        search_info: SearchInfo,
    ) {
        // Reports of the opponent's turn are not scores of the engine.
        let is_printed = self.posts.load(Ordering::Relaxed)
            && !matches!(kind, SearchKind::Ponder | SearchKind::Hint | SearchKind::Sit)
            && !search_info.pv.is_empty();
        let line = is_printed.then(|| info::thinking_line(&search_info, root));
        // Stored first: the GUI may ask for it (`.`, `hint`) as soon as it has read the line.
        if search_info.rank == 1 {
            self.with(|last| {
                last.best = search_info.pv.first().map(|turn| (root.key(), turn.clone()));
                if matches!(kind, SearchKind::Play | SearchKind::Analyze) {
                    last.info = Some(search_info);
                }
            });
        }
        if let Some(line) = line {
            output.print(&line);
        }
    }

    pub(super) fn clear(&self) {
        self.with(|last| *last = LastOutput::default());
    }
}

impl XBoard {
    /// Sets whether reports are printed while the engine plays.
    pub(super) fn set_posts(&mut self, posts: bool) {
        self.posts = posts;
        self.search_output
            .posts
            .store(posts || self.search_kind == SearchKind::Analyze, Ordering::Relaxed);
    }

    /// Returns the receiver of the next search's events.
    fn sink(&mut self, kind: SearchKind) -> Sink {
        self.searches += 1;
        let number = self.searches;
        let output = Arc::clone(&self.output);
        let on_search_end = Arc::clone(&self.on_search_end);
        let search_output = Arc::clone(&self.search_output);
        let root = self.searching_session().position().clone();
        search_output.posts.store(self.posts || kind == SearchKind::Analyze, Ordering::Relaxed);
        Arc::new(move |event| match event {
            Event::Note(text) => output.print(&one_line(&format!("# {text}"))),
            Event::SearchInfo(search_info) => {
                search_output.report(&output, kind, &root, search_info);
            }
            Event::Best(result) => {
                search_output.with(|last| last.result = Some(result));
                on_search_end(number);
            }
            Event::RootMoves { .. } | Event::PerftTurn { .. } | Event::PerftTotal(_) => {}
        })
    }

    /// Returns the session whose search is in progress, or would be started.
    pub(super) fn searching_session(&self) -> &Session {
        match &self.team_session {
            Some(team_session) if self.searches_team => team_session,
            _ => &self.session,
        }
    }

    /// Returns the session of [`XBoard::searching_session`], to change it.
    pub(super) fn searching_session_mut(&mut self) -> &mut Session {
        match &mut self.team_session {
            Some(team_session) if self.searches_team => team_session,
            _ => &mut self.session,
        }
    }

    pub(super) fn start_search(&mut self, kind: SearchKind, limits: Limits, begun: Instant) {
        self.search_output.with(|last| last.result = None);
        let sink = self.sink(kind);
        match self.searching_session_mut().go(limits, begun, sink) {
            Ok(()) => {
                self.search_kind = kind;
                self.search_begun = Instant::now();
            }
            Err(error) => self.error("cannot start the search", &error.to_string()),
        }
    }

    /// Starts the search for the engine's turn.
    pub(super) fn search_turn(&mut self) {
        let overhead = Duration::from_millis(self.session.options().overhead);
        self.searches_team = false;
        if self.is_bughouse_board() {
            let (mut limits, begun) = self.bughouse_limits(overhead);
            self.searches_team = self.set_up_team(&mut limits);
            if !self.searches_team {
                limits.moves.clear();
            }
            return self.start_search(SearchKind::Play, limits, begun);
        }
        let limits = self.clocks.limits(self.session.position().turn(), overhead);
        self.start_search(SearchKind::Play, limits, Instant::now());
    }

    /// Starts to analyse or to ponder, if there is nothing else to search.
    pub(super) fn search_in_background(&mut self) {
        let position = self.session.position();
        let mover = position.turn();
        let is_over = position.outcome().is_some();
        if self.searching_session().is_searching() || !self.may_search() || is_over {
            return;
        }
        self.searches_team = false;
        let mut limits = Limits { infinite: true, ..Limits::default() };
        match self.mode {
            Mode::Analyze => {
                if !self.excluded.is_empty() {
                    self.session.position().legal_moves(&mut limits.moves);
                    limits.moves.retain(|ply| !self.excluded.contains(ply));
                    if limits.moves.is_empty() {
                        return;
                    }
                }
                self.start_search(SearchKind::Analyze, limits, Instant::now());
            }
            Mode::Play(side) if self.ponders && !self.is_new_game && side != mover => {
                self.start_search(SearchKind::Ponder, limits, Instant::now());
            }
            Mode::Play(_) | Mode::Force => {}
        }
    }

    /// Prints a hint for the user, after a short search if the best turn is not known.
    pub(super) fn hint(&mut self) {
        let is_busy = self.search_kind.is_own_turn()
            || matches!(self.search_kind, SearchKind::Aborted | SearchKind::Hint);
        if is_busy {
            return;
        }
        let position = self.session.position();
        if let Some(turn) = self.search_output.best_turn(position.key()) {
            return self.print_hint(turn);
        }
        if position.outcome().is_none() && !self.position_refused {
            // A search in the background that has not reported yet starts again after the hint.
            self.cancel_search();
            self.searches_team = false;
            let limits = Limits { time: Some(HINT_TIME), ..Limits::default() };
            self.start_search(SearchKind::Hint, limits, Instant::now());
        }
    }

    fn print_hint(&self, turn: String) {
        if let Some(turn) = info::xboard_turns(self.session.position(), &[turn]).pop() {
            self.print(&format!("Hint: {turn}"));
        }
    }

    /// Stops the search for the engine's turn, which is then played.
    pub(super) fn move_now(&mut self) {
        if self.search_kind == SearchKind::Play {
            self.searching_session().stop();
        }
    }

    /// Stops the search for the engine's turn. Its result is ignored.
    pub(super) fn abort(&mut self) {
        self.search_kind = SearchKind::Aborted;
        self.searching_session().stop();
    }

    /// Handles the end of the search: plays the engine's turn, or prints the hint.
    pub(super) fn handle_search_end(&mut self) {
        let kind = std::mem::replace(&mut self.search_kind, SearchKind::None);
        let result = self.search_output.with(|last| last.result.take());
        let turn = result.as_ref().and_then(|result| result.turn.clone());
        if kind == SearchKind::Hint {
            if let Some(turn) = turn {
                self.print_hint(turn);
            }
            return self.search_in_background();
        }
        if kind != SearchKind::Play {
            return;
        }
        let (Some(result), Some(turn)) = (result, turn) else {
            self.claim_result();
            return;
        };
        if self.is_bughouse_board() {
            return self.play_bughouse_result(&turn, &result);
        }
        let text = self.xboard_turn(&turn);
        if let Err(error) = self.session.play(&turn) {
            return self.error("search failed", &error.to_string());
        }
        let key = self.session.position().key();
        self.search_output.with(|last| last.best = result.reply.map(|reply| (key, reply)));
        self.clocks.end_turn(self.search_begun.elapsed());
        self.after_own_turn(&text);
    }

    /// Plays the result of a search in bughouse, or sits.
    fn play_bughouse_result(&mut self, turn: &str, result: &SearchResult) {
        let turn = if self.searches_team {
            own_board_turn(turn)
        } else {
            self.send_prospects();
            let preferred = self.preferred_turn(result);
            if self.should_sit() {
                None
            } else {
                Some(preferred.unwrap_or_else(|| turn.to_owned()))
            }
        };
        let Some(turn) = turn else { return self.sit() };
        let text = self.xboard_turn(&turn);
        match self.session.play(&turn) {
            Ok(()) => self.after_bughouse_turn(&text),
            Err(error) => self.error("search failed", &error.to_string()),
        }
    }

    /// Converts a turn of the engine to the notation of XBoard.
    fn xboard_turn(&self, turn: &str) -> String {
        info::xboard_turns(self.session.position(), &[turn.to_owned()]).join(",")
    }

    /// Prints the turn that the engine has just played, and continues.
    pub(super) fn after_own_turn(&mut self, text: &str) {
        let position = self.session.position();
        let outcome = position.outcome();
        // A draw that can be claimed after the turn is offered before it.
        if outcome.is_none() && position.claimable_outcome().is_some() {
            self.print("offer draw");
        }
        self.output.print(&legs::move_lines(text));
        self.excluded.clear();
        self.is_new_game = false;
        if outcome.is_some() {
            self.claim_result();
        } else {
            self.search_in_background();
        }
    }
}

/// Returns the engine's part of a turn on two boards; `None` if the engine sits.
fn own_board_turn(turn: &str) -> Option<String> {
    let (own, _) = turn.strip_prefix('(')?.split_once(',')?;
    if own == "pass" { None } else { Some(own.to_owned()) }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use super::*;
    use crate::engine::{Score, Wdl};
    use crate::rules::PerSide;
    use crate::variant::Catalogue;

    /// A GUI that looks up the last report whenever it receives a line.
    struct Gui(Arc<SearchOutput>);

    impl Write for Gui {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            assert!(self.0.info().is_some(), "{}", String::from_utf8_lossy(line));
            Ok(line.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn report_is_known_before_it_is_printed() {
        let search_output = Arc::new(SearchOutput::default());
        search_output.posts.store(true, Ordering::Relaxed);
        let output = LineWriter::new(Gui(Arc::clone(&search_output)));
        let root = Catalogue::shipped().get("chess").expect("chess is shipped").start();
        let search_info = SearchInfo {
            rank: 1,
            depth: 1,
            seldepth: 1,
            score: Score::Expected(0.0),
            values: PerSide::all(0.0),
            sides: 2,
            wdl: Wdl { win: 0.0, draw: 1.0, loss: 0.0 },
            moves_left: 0.0,
            nodes: 1,
            tb_hits: 0,
            hashfull: 0,
            time: Duration::ZERO,
            pv: vec!["e2e4".to_owned()],
        };
        search_output.report(&output, SearchKind::Analyze, &root, search_info);
        assert!(!output.is_closed());
        assert_eq!(search_output.info().map(|info| info.nodes), Some(1));
    }
}
