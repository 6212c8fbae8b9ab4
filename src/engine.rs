//! A session: a game of a variant, the options, and a search that can be started and stopped.
//!
//! Knows the notation of games, and no text of a protocol: `protocol` puts into words what comes
//! out of here.

mod bench;
mod depth;
mod embedded_nets;
mod eval_command;
mod evaluators;
mod files;
mod flip;
mod game;
mod hands;
mod limits;
mod options;
mod search_info;
mod search_job;
mod seats;
mod skill;
mod stoppers;
mod syzygy;
mod tablebases;
mod team;
mod turns;
mod worker;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub use bench::{Searched, bench};
use depth::visits_of_depth;
use eval_command::assess;
pub use eval_command::{EvalOutput, Shown};
use evaluators::EvaluatorPool;
pub use evaluators::{VariantNetwork, open_network};
pub use files::{FileError, with_files};
use flip::flipped;
use game::Game;
pub use game::GameError;
pub use limits::Limits;
pub use options::{Kind, OptionError, OptionInfo, Options};
pub use search_info::{EvalStats, Event, Score, SearchInfo, SearchResult, Sink, Wdl};
use search_job::{Control, Search};
use skill::Skill;
use syzygy::SyzygyTables;
use tablebases::{SolvedTableFile, Tablebases};

use crate::nn::EvalError;
use crate::rules::{FenRepair, Move, Position};
use crate::search::{Params, Tree};
use crate::variant::{Catalogue, Variant};

/// One player's side of things: what is played, how, and the thoughts about it.
///
/// Everything but [`Session::stop`], [`Session::ponder_hit`] and reading waits for a search in
/// progress, which it ends if it would not end by itself.
pub struct Session {
    /// The games that come with the engine.
    shipped: &'static Catalogue,
    /// Those, and those of the user's files.
    catalogue: Catalogue,
    options: Options,
    variant: Arc<Variant>,
    game: Game,
    chosen: Option<EvaluatorPool>,
    /// What `TablePath` came to.
    lookup: SolvedTableFile,
    /// What `SyzygyPath` came to.
    endings: SyzygyTables,
    /// The tree, and the game at whose end its root stands.
    tree: Option<(Tree, Game)>,
    running: Option<Running>,
    /// Whether the last position was refused, and none was accepted since.
    position_refused: bool,
    /// What was last said about the evaluator.
    said: Vec<String>,
}

/// A search or a count in progress.
struct Running {
    /// Gives back what a search has borrowed; a count has borrowed nothing.
    thread: JoinHandle<Option<(Tree, Game, EvaluatorPool)>>,
    control: Arc<Control>,
    /// Whether it ends by itself once it is not pondering.
    ends: bool,
    /// Whether it began as pondering.
    ponder: bool,
    /// Who is told how it goes, if it is a search.
    sink: Option<Sink>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("options", &self.options)
            .field("position", &self.game.position().fen())
            .finish_non_exhaustive()
    }
}

impl Session {
    /// A session with the games of `shipped`, at the start of the first.
    ///
    /// # Panics
    /// If the catalogue is empty.
    pub fn new(shipped: &'static Catalogue) -> Session {
        let (catalogue, options) = (shipped.clone(), Options::new(shipped));
        let variant = catalogue.get(&options.variant);
        let variant = variant.unwrap_or_else(|| panic!("the catalogue has no game"));
        let game = Game::new(&variant, options.chess960);
        Session {
            shipped,
            catalogue,
            options,
            variant,
            game,
            chosen: None,
            lookup: SolvedTableFile::default(),
            endings: SyzygyTables::default(),
            tree: None,
            running: None,
            position_refused: false,
            said: Vec::new(),
        }
    }

    /// All options, in the order to show them.
    pub fn declarations(&self) -> Vec<OptionInfo> {
        Options::declarations(&self.catalogue)
    }

    /// What the options are set to.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The games that can be played.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Where the game stands.
    pub fn position(&self) -> &Position {
        self.game.position()
    }

    /// Sets an option; a button is pressed, whatever the value. Another variant begins a new
    /// game; another `VariantPath` leaves the game as it is, whether it is still there or not.
    /// Returns what there is to know about it, in words.
    ///
    /// # Errors
    /// If there is no such option or it does not take such a value; it stays as it was.
    pub fn set_option(&mut self, name: &str, value: &str) -> Result<Vec<String>, OptionError> {
        self.wait();
        let name = self.options.set(&self.catalogue, name, value)?;
        match name {
            "UCI_Variant" | "Team" | "BughouseMate" => {
                let chosen = self.catalogue.get(&self.options.variant);
                let alone = |game: &Arc<Variant>| !game.has_partner() && !game.has_tables();
                if name == "UCI_Variant" && chosen.as_ref().is_some_and(alone) {
                    self.options.team = "auto".to_owned();
                }
                if let Some(variant) = self.select(None).filter(|it| !it.is_same(&self.variant)) {
                    self.game = Game::new(&variant, self.options.chess960);
                    self.position_refused = false;
                    self.change_game(variant);
                }
            }
            "UCI_Chess960" => {
                self.game.write_chess960(&self.variant, self.options.chess960);
            }
            "Clear Hash" => self.forget(),
            "Hash" => self.tree = None,
            "SyzygyPath" => {
                let mut notes = Vec::new();
                self.look_for_endings(&mut notes);
                return Ok(notes);
            }
            "TablePath" => {
                self.lookup = SolvedTableFile::default();
                self.tree = None;
            }
            "VariantPath" => {
                let (catalogue, errors) = with_files(self.shipped, &self.options.files);
                self.catalogue = catalogue;
                return Ok(errors.iter().map(ToString::to_string).collect());
            }
            _ => {}
        }
        Ok(Vec::new())
    }

    /// The game to play, from the position `fen`: that of the options, or the first of two tables
    /// if it is one at one table and the FEN or the option `Team` is of two.
    fn select(&self, fen: Option<&str>) -> Option<Arc<Variant>> {
        let chosen = self.catalogue.get(&self.options.variant)?;
        let two = fen.is_some_and(|fen| fen.contains('|')) || seats::team(&self.options).is_some();
        let tables = || self.catalogue.iter().find(|variant| variant.has_tables()).cloned();
        let variant = match two && !chosen.has_tables() {
            true => tables().unwrap_or(chosen),
            false => chosen,
        };
        Some(variant.with_mate(self.options.mate == "blockable"))
    }

    /// The file to which all that is said goes, too, if there is one.
    pub fn log_file(&self) -> Option<PathBuf> {
        let name = &self.options.log;
        (!name.is_empty()).then(|| PathBuf::from(name))
    }

    /// Begins a new game: forgets all thoughts. The position stays.
    pub fn new_game(&mut self) {
        self.wait();
        self.forget();
    }

    fn forget(&mut self) {
        self.tree = None;
        if let Some(chosen) = &mut self.chosen {
            chosen.evaluators.iter_mut().for_each(|evaluator| evaluator.forget());
        }
    }

    /// Sets up the position `fen`, or the variant's start, and plays `turns` from it, each
    /// written as UCI has it. Returns what was left out of the FEN because it cannot be true.
    ///
    /// # Errors
    /// If the FEN is refused or a turn is not legal. The game then stays as it was, but
    /// [`Session::has_position`] returns `false` until a position is accepted.
    pub fn set_position(
        &mut self,
        fen: Option<&str>,
        turns: &[&str],
    ) -> Result<Vec<FenRepair>, GameError> {
        self.wait();
        self.position_refused = true;
        // A game of a file that is read no more stays what it was.
        let selected = self.select(fen).filter(|it| !it.is_same(&self.variant));
        let variant = selected.unwrap_or_else(|| Arc::clone(&self.variant));
        let (game, repairs) = Game::read(&variant, self.options.chess960, fen, turns)?;
        self.game = game;
        self.position_refused = false;
        if !Arc::ptr_eq(&variant, &self.variant) {
            self.change_game(variant);
        }
        Ok(repairs)
    }

    /// Returns `false` if the last position was refused and none was accepted since. A protocol
    /// that does not ask again must not search the position before it.
    pub fn has_position(&self) -> bool {
        !self.position_refused
    }

    /// Makes [`Session::has_position`] return `false`, for a position that could not even be read.
    pub fn discard_position(&mut self) {
        self.position_refused = true;
    }

    /// Another game, perhaps of the same name: what was thought and known of the one before is no use.
    fn change_game(&mut self, variant: Arc<Variant>) {
        self.variant = variant;
        self.tree = None;
        self.lookup = SolvedTableFile::default();
    }

    /// Plays one turn on, written as UCI has it, castling also as `O-O` and `O-O-O`.
    ///
    /// # Errors
    /// If the turn is not legal; the game then stays as it was.
    pub fn play(&mut self, turn: &str) -> Result<(), GameError> {
        self.wait();
        self.game.play(turn)
    }

    /// Takes the last `turns` turns back; says whether there were so many since the position was
    /// set up.
    pub fn take_back(&mut self, turns: usize) -> bool {
        self.wait();
        let before = self.game.before(turns);
        before.map(|game| self.game = game).is_some()
    }

    /// Sets up the position in which the players have changed sides.
    ///
    /// # Errors
    /// If the game has no such position; it then stays as it was.
    pub fn flip(&mut self) -> Result<(), GameError> {
        let fen = flipped(self.position());
        let flipped = self.set_position(Some(&fen), &[]);
        // The position before is still there.
        self.position_refused = false;
        flipped.map(drop)
    }

    /// The game that is played.
    pub fn variant(&self) -> &Variant {
        &self.variant
    }

    /// Sees to it that the evaluator is what the options ask for; returns what there is to know
    /// about it, a line each. Does nothing in the middle of a search.
    pub fn ready(&mut self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.running.is_none() {
            let chosen = self.choose(&mut notes);
            self.chosen = Some(chosen);
            self.look_for_tables(&mut notes);
        }
        notes
    }

    /// Takes the evaluator that the options ask for.
    fn choose(&mut self, notes: &mut Vec<String>) -> EvaluatorPool {
        let chosen = self.chosen.take();
        match chosen {
            Some(chosen) if chosen.serves(&self.variant, &self.options) => chosen,
            before => {
                self.tree = None;
                let chosen = EvaluatorPool::new(&self.variant, &self.options, before, notes);
                if *notes == self.said {
                    notes.clear();
                } else {
                    self.said.clone_from(notes);
                }
                chosen
            }
        }
    }

    /// Sees to it that the tables are those that the options name; notes what there is to know
    /// about them.
    fn look_for_tables(&mut self, notes: &mut Vec<String>) {
        if !self.lookup.serves(&self.variant, &self.options.table) {
            self.tree = None;
            // The old table's memory is given back before the new one takes its own.
            self.lookup = SolvedTableFile::default();
            let (lookup, note) = SolvedTableFile::new(&self.variant, &self.options.table);
            self.lookup = lookup;
            notes.extend(note);
        }
        if !self.endings.serves(&self.variant, &self.options.tables) {
            self.look_for_endings(notes);
        }
    }

    fn look_for_endings(&mut self, notes: &mut Vec<String>) {
        self.tree = None;
        let (endings, more) = SyzygyTables::new(&self.variant, &self.options.tables);
        self.endings = endings;
        notes.extend(more);
    }

    /// Takes the tree, with its root where the game stands. What is known of it is kept if the
    /// game went on from where it stood, unless it is to be `fresh`.
    fn take_tree(&mut self, params: Params, bytes: usize, fresh: bool) -> Tree {
        let position = self.game.position();
        let Some((mut tree, game)) = self.tree.take() else {
            return Tree::new(position.clone(), params, bytes);
        };
        match self.game.since(&game).filter(|_| !fresh && !tree.is_empty()) {
            Some(plies) => plies.iter().for_each(|&ply| tree.advance(ply)),
            None => tree.restart(position.clone()),
        }
        // At two tables another team may be asked now, and other clocks let it sit.
        if position.clocks().is_some() && tree.root().fen() != position.fen() {
            tree.restart(position.clone());
        }
        tree
    }

    /// Begins to think about the position within `limits`, counted from `begun`. `sink` is told
    /// how it goes; the last that it is told is [`Event::Best`], after which [`Session::wait`]
    /// waits for next to nothing.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn go(&mut self, mut limits: Limits, begun: Instant, sink: Sink) -> std::io::Result<()> {
        self.wait();
        let team = seats::team(&self.options).filter(|_| self.variant.has_tables());
        if let Some(team) = team.filter(|&team| !self.game.position_mut().ask(team)) {
            // It is not on turn anywhere.
            let (turn, reply, choices, asked) = (None, None, Vec::new(), EvalStats::default());
            sink(Event::Best(SearchResult { turn, reply, choices, mover: team, asked }));
            return Ok(());
        }
        seats::take_clocks(self.game.position_mut(), &self.options, &mut limits);
        limits.assume_clock(self.position().turn());
        // An analysis is as good as can be.
        let skill = self.options.skill().filter(|_| !limits.infinite);
        if let Some(Skill { visits: most, .. }) = skill {
            limits.nodes = Some(limits.nodes.map_or(most, |nodes| nodes.min(most)));
        }
        if let Some(depth) = limits.depth {
            let visits = visits_of_depth(depth);
            limits.nodes = Some(limits.nodes.map_or(visits, |nodes| nodes.min(visits)));
        }
        let mut notes = Vec::new();
        let mut chosen = self.choose(&mut notes);
        self.look_for_tables(&mut notes);
        notes.into_iter().for_each(|note| sink(Event::Note(note)));
        // One visit is to tell what the network thinks, not what the tree has found out before.
        let fresh = limits.nodes == Some(1);
        let mut tree = self.take_tree(chosen.params(), chosen.tree_bytes(&self.options), fresh);
        let control = Arc::new(Control::default());
        let endings = self.endings.tables();
        let probe = endings.as_ref().and_then(|tables| tables.root(self.position()));
        // An analysis shows the other moves, too.
        if let Some(probe) = probe.as_ref().filter(|_| !limits.infinite) {
            limits.narrow(&probe.best);
        }
        let (ends, ponder) = (limits.end(self.position().turn()), limits.ponder);
        let search = Search {
            limits,
            batch: self.options.batch,
            gumbel: self.options.gumbel,
            skill,
            lines: self.options.lines,
            overhead: Duration::from_millis(self.options.overhead),
            begun,
            control: Arc::clone(&control),
            sink: Arc::clone(&sink),
            tablebases: Tablebases::new(self.lookup.table(), endings, probe),
        };
        let game = self.game.clone();
        let thread = thread::Builder::new().name("search".to_owned()).spawn(move || {
            search.run(&mut tree, &mut chosen);
            Some((tree, game, chosen))
        })?;
        self.running = Some(Running { thread, control, ends, ponder, sink: Some(sink) });
        Ok(())
    }

    /// Begins to count the paths of `depth` whole turns, for each first turn and in all. The last
    /// that `sink` is told is [`Event::AllPaths`].
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn perft(&mut self, depth: u32, sink: Sink) -> std::io::Result<()> {
        self.wait();
        let control = Arc::new(Control::default());
        let (position, stop) = (self.game.position().clone(), Arc::clone(&control));
        let thread = thread::Builder::new().name("perft".to_owned()).spawn(move || {
            let Some(below) = depth.checked_sub(1) else {
                sink(Event::AllPaths(Some(1)));
                return None;
            };
            let paths = turns::turns(&position).into_iter().map(|(turn, next)| {
                let count = turns::count(&next, below, &stop.stop)?;
                sink(Event::Paths { turn: position.turn_text(&turn), count });
                Some(count)
            });
            let all = paths.sum();
            sink(Event::AllPaths(all));
            None
        })?;
        self.running = Some(Running { thread, control, ends: true, ponder: false, sink: None });
        Ok(())
    }

    /// Whether a search or a count is in progress. It stays so until [`Session::wait`].
    pub fn is_thinking(&self) -> bool {
        self.running.is_some()
    }

    /// Whether the thread of the search or count in progress has ended.
    pub fn has_ended(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.thread.is_finished())
    }

    /// Whether a perft is in progress.
    pub fn is_counting(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.sink.is_none())
    }

    /// Tells the search in progress that commands wait for its end, or that there will be no more
    /// commands. A search for a mate, which may never find one, then ends after a number of visits.
    pub fn set_unattended(&self) {
        if let Some(running) = &self.running {
            running.control.unattended.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the search in progress ends only when it is told to.
    pub fn is_endless(&self) -> bool {
        self.running.as_ref().is_some_and(|running| {
            !running.ends || (running.ponder && running.control.hit.get().is_none())
        })
    }

    /// Tells the search in progress to end at once. Does not wait for it.
    pub fn stop(&self) {
        if let Some(running) = &self.running {
            running.control.stop.store(true, Ordering::Relaxed);
            running.thread.thread().unpark();
        }
    }

    /// Tells the search in progress that the opponent has just played as expected.
    pub fn ponder_hit(&self) {
        if let Some(running) = &self.running {
            // The first hit counts.
            let _ = running.control.hit.set(Instant::now());
            running.thread.thread().unpark();
        }
    }

    /// Waits for the search in progress, which is told to end if it would not end by itself.
    pub fn wait(&mut self) {
        if self.is_endless() {
            self.stop();
        }
        let Some(running) = self.running.take() else { return };
        match (running.thread.join(), running.sink) {
            (Ok(Some((tree, game, chosen))), _) => {
                self.tree = Some((tree, game));
                self.chosen = Some(chosen);
            }
            // Whatever went wrong, the next search starts afresh, and this one has an answer.
            (Err(_), Some(sink)) => {
                sink(Event::Note("the search failed: any turn is played".to_owned()));
                let (mut any, position) = (turns::turns(self.position()), self.position());
                any.truncate(1);
                let turn = any.pop().map(|(turn, _)| position.turn_text(&turn));
                let (reply, choices, mover) = (None, Vec::new(), position.turn());
                let asked = EvalStats::default();
                sink(Event::Best(SearchResult { turn, reply, choices, mover, asked }));
            }
            _ => {}
        }
    }

    /// What the evaluator alone says of the position, and `notes` about the evaluator.
    ///
    /// # Errors
    /// If it fails.
    pub fn assess(&mut self, notes: &mut Vec<String>) -> Result<EvalOutput, EvalError> {
        self.wait();
        let mut chosen = self.choose(notes);
        let assessment = assess(self.game.position(), chosen.first());
        self.chosen = Some(chosen);
        assessment
    }

    /// Every legal turn, written as UCI has it; one that can be written by `O-O` stands twice.
    pub fn turns(&self) -> Vec<String> {
        let position = self.position();
        let turns = turns::turns(position).into_iter().flat_map(|(turn, _)| {
            [position.turn_text(&turn), position.turn_text_with_castling(&turn)]
        });
        let mut turns: Vec<String> = turns.collect();
        turns.dedup();
        turns
    }

    /// The plies that `texts` name as first plies of a search, and those texts that name none.
    pub fn first_plies<'a>(&self, texts: &[&'a str]) -> (Vec<Move>, Vec<&'a str>) {
        let (mut plies, mut bad) = (Vec::new(), Vec::new());
        for text in texts {
            match self.position().parse_turn(text).and_then(|turn| turn.first().copied()) {
                Some(ply) if plies.contains(&ply) => {}
                Some(ply) => plies.push(ply),
                None => bad.push(*text),
            }
        }
        (plies, bad)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop();
        self.wait();
    }
}
