//! A session: a game of a variant, the options, and a search that can be started and stopped.
//!
//! Moves and positions are texts here, but nothing is formatted for a protocol: that is done in
//! `protocol`.

mod alpha_beta_job;
mod bench;
mod bughouse;
mod debug;
mod embedded_nets;
mod evaluators;
mod game;
mod limits;
mod options;
mod search_info;
mod search_job;
mod skill;
mod stoppers;
mod syzygy;
mod tablebases;
mod variant_files;
mod version_report;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use alpha_beta_job::RootEval;
pub use bench::{BenchPosition, bench};
pub use bughouse::SeatClocks;
pub use debug::{EvalOutput, NetworkInput};
use debug::{count_paths, eval, flipped_fen, whole_turns};
pub use embedded_nets::ships_network;
use evaluators::EvaluatorPool;
pub use evaluators::{VariantNetwork, network_fit, open_direct_substitute, open_network};
pub use game::GameError;
use game::PlayedGame;
pub use limits::Limits;
pub use options::{OptionError, OptionInfo, OptionKind, Options};
pub use search_info::{EvalStats, Event, Score, SearchInfo, SearchResult, Sink, Wdl};
use search_job::SearchJob;
use skill::Skill;
use stoppers::{SearchControl, StopConditions};
use syzygy::SyzygyTables;
use tablebases::{SolvedTableFile, Tablebases};
pub use variant_files::{VariantFileError, add_variant_files};
pub use version_report::{COMMIT, VersionReport};

use crate::alphabeta;
use crate::nn::EvalError;
use crate::rules::{FenRepair, Move, Position};
use crate::search::{Params, Tree};
use crate::variant::{Catalogue, Variant};

/// A game of a variant with its options, evaluators and search tree.
///
/// All methods but [`Session::stop`], [`Session::ponder_hit`] and those that only read wait for the
/// search in progress. A search that would not end by itself is stopped first.
pub struct Session {
    /// The variants that are compiled in.
    shipped: &'static Catalogue,
    /// The shipped variants and those of the user's files.
    catalogue: Catalogue,
    options: Options,
    variant: Arc<Variant>,
    game: PlayedGame,
    evaluators: Option<EvaluatorPool>,
    /// The table of `TablePath`.
    solved_table: SolvedTableFile,
    /// The tables of `SyzygyPath`.
    syzygy: SyzygyTables,
    /// The tree, and the game whose last position is its root.
    tree: Option<(Tree, PlayedGame)>,
    running: Option<Running>,
    /// Whether the last position was refused, and none was accepted since.
    position_refused: bool,
    /// The clocks of the next search, in bughouse on two boards.
    seat_clocks: Option<SeatClocks>,
    /// The notes on the evaluator that were returned last.
    last_notes: Vec<String>,
}

/// What a search borrows from its session.
struct Borrowed {
    /// The tree, and the game whose last position is its root; an alpha-beta search has none.
    tree: Option<(Tree, PlayedGame)>,
    pool: EvaluatorPool,
}

/// A search or a perft in progress.
struct Running {
    /// Returns what a search has borrowed; a perft borrows nothing.
    thread: JoinHandle<Option<Borrowed>>,
    control: Arc<SearchControl>,
    /// Whether it ends by itself once it is not pondering.
    ends: bool,
    /// Whether it began as pondering.
    ponder: bool,
    /// The receiver of its events, if it is a search.
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
    /// Creates a session with the variants of `shipped`, at the start of the first.
    ///
    /// # Panics
    /// If the catalogue is empty.
    pub fn new(shipped: &'static Catalogue) -> Session {
        let catalogue = shipped.clone();
        let options = Options::new(shipped);
        let variant = catalogue.get(&options.variant);
        let variant = variant.unwrap_or_else(|| panic!("the catalogue has no variant"));
        let game = PlayedGame::new(&variant, options.chess960);
        Session {
            shipped,
            catalogue,
            options,
            variant,
            game,
            evaluators: None,
            solved_table: SolvedTableFile::default(),
            syzygy: SyzygyTables::default(),
            tree: None,
            running: None,
            position_refused: false,
            seat_clocks: None,
            last_notes: Vec::new(),
        }
    }

    /// Returns all options, in the order of display.
    pub fn declarations(&self) -> Vec<OptionInfo> {
        Options::declarations(&self.catalogue)
    }

    /// Returns the values of the options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the variants that can be played.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Returns the current position.
    pub fn position(&self) -> &Position {
        self.game.position()
    }

    /// Returns the current variant.
    pub fn variant(&self) -> &Variant {
        &self.variant
    }

    /// Checks whether [`Session::set_option`] accepts a value. Does not wait for the search in progress.
    ///
    /// # Errors
    /// If there is no such option or the value is invalid.
    pub fn check_option(&self, name: &str, value: &str) -> Result<(), OptionError> {
        self.options.clone().set(&self.catalogue, name, value).map(drop)
    }

    /// Sets an option; the value of a button is ignored. Another variant starts a new game; another
    /// `VariantPath` leaves the game as it is, even if its variant is no longer there. Returns messages
    /// for the user.
    ///
    /// # Errors
    /// If there is no such option or the value is invalid. The option then keeps its value.
    pub fn set_option(&mut self, name: &str, value: &str) -> Result<Vec<String>, OptionError> {
        self.wait();
        let name = self.options.set(&self.catalogue, name, value)?;
        match name {
            "UCI_Variant" | "Team" | "BughouseMate" => {
                let named = self.catalogue.get(&self.options.variant);
                if name == "UCI_Variant"
                    && named
                        .is_some_and(|named| !named.is_bughouse_board() && !named.has_two_boards())
                {
                    self.options.team = "auto".to_owned();
                }
                if let Some(variant) = self.select(None)
                    && !variant.is_same(&self.variant)
                {
                    self.game = PlayedGame::new(&variant, self.options.chess960);
                    self.position_refused = false;
                    self.change_variant(variant);
                }
            }
            "UCI_Chess960" => {
                self.game.write_chess960(&self.variant, self.options.chess960);
            }
            "Clear Hash" => self.clear_hash(),
            "Hash" => self.tree = None,
            "Search" => {
                self.tree = None;
                if let Some(pool) = &mut self.evaluators {
                    pool.drop_alpha_beta();
                }
            }
            "SyzygyPath" => {
                let mut notes = Vec::new();
                self.load_syzygy(&mut notes);
                return Ok(notes);
            }
            "TablePath" => {
                self.solved_table = SolvedTableFile::default();
                self.tree = None;
            }
            "VariantPath" => {
                let (catalogue, errors) =
                    add_variant_files(self.shipped, &self.options.variant_path);
                self.catalogue = catalogue;
                return Ok(errors.iter().map(ToString::to_string).collect());
            }
            _ => {}
        }
        Ok(Vec::new())
    }

    /// Returns the variant of the position `fen`: that of the options, or the first with two boards if
    /// that has one board and the FEN or the option `Team` is for two.
    fn select(&self, fen: Option<&str>) -> Option<Arc<Variant>> {
        let named = self.catalogue.get(&self.options.variant)?;
        let two_boards =
            fen.is_some_and(|fen| fen.contains('|')) || bughouse::team(&self.options).is_some();
        let variant = if two_boards && !named.has_two_boards() {
            self.catalogue.iter().find(|variant| variant.has_two_boards()).cloned().unwrap_or(named)
        } else {
            named
        };
        Some(variant.with_blockable_mate(self.options.mate == "blockable"))
    }

    /// Returns the file to which all input and output is logged, if there is one.
    pub fn log_file(&self) -> Option<PathBuf> {
        let name = &self.options.log_file;
        if name.is_empty() { None } else { Some(PathBuf::from(name)) }
    }

    /// Starts a new game: clears the tree and the cache. The position stays.
    pub fn new_game(&mut self) {
        self.wait();
        self.clear_hash();
    }

    fn clear_hash(&mut self) {
        self.tree = None;
        if let Some(pool) = &mut self.evaluators {
            pool.clear();
        }
    }

    /// Sets up the position `fen`, or the variant's start, and plays `turns` from it, in UCI notation.
    /// Returns what was left out of the FEN because it is impossible.
    ///
    /// # Errors
    /// If the FEN is refused or a turn is illegal. The game then stays as it was, but
    /// [`Session::has_position`] returns `false` until a position is accepted.
    pub fn set_position(
        &mut self,
        fen: Option<&str>,
        turns: &[&str],
    ) -> Result<Vec<FenRepair>, GameError> {
        self.wait();
        self.position_refused = true;
        // A variant whose file is no longer read stays the current one.
        let selected = self.select(fen).filter(|it| !it.is_same(&self.variant));
        let variant = selected.unwrap_or_else(|| Arc::clone(&self.variant));
        let (game, repairs) = PlayedGame::parse(&variant, self.options.chess960, fen, turns)?;
        self.game = game;
        self.position_refused = false;
        if !Arc::ptr_eq(&variant, &self.variant) {
            self.change_variant(variant);
        }
        Ok(repairs)
    }

    /// Returns `false` if the last position was refused and none was accepted since. A protocol must
    /// not search the position before it then.
    pub fn has_position(&self) -> bool {
        !self.position_refused
    }

    /// Makes [`Session::has_position`] return `false`, for a position that could not be parsed.
    pub fn discard_position(&mut self) {
        self.position_refused = true;
    }

    /// Changes the variant, perhaps to one of the same name. Clears what belongs to the old one.
    fn change_variant(&mut self, variant: Arc<Variant>) {
        self.variant = variant;
        self.tree = None;
        self.solved_table = SolvedTableFile::default();
    }

    /// Plays one turn, in UCI notation. Castling may also be `O-O` and `O-O-O`.
    ///
    /// # Errors
    /// If the turn is illegal. The game then stays as it was.
    pub fn play(&mut self, turn: &str) -> Result<(), GameError> {
        self.wait();
        self.game.play(turn)
    }

    /// Takes back the last `turns` turns. Returns `false` if fewer were played since the position was set
    /// up.
    pub fn take_back(&mut self, turns: usize) -> bool {
        self.wait();
        let Some(game) = self.game.before(turns) else { return false };
        self.game = game;
        true
    }

    /// Sets up the position with the colors changed.
    ///
    /// # Errors
    /// If the variant has no such position. The position then stays as it was.
    pub fn flip(&mut self) -> Result<(), GameError> {
        let fen = flipped_fen(self.position());
        let result = self.set_position(Some(&fen), &[]);
        // If it failed, the position before is still there.
        self.position_refused = false;
        result.map(drop)
    }

    /// Loads the evaluator and the tables that the options ask for. Returns messages for the user. Does
    /// nothing during a search.
    pub fn ready(&mut self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.running.is_none() {
            let mut pool = self.take_evaluators(&mut notes);
            self.load_tables(&mut notes);
            let limits = Limits::default();
            if self.prefers_alpha_beta(&limits, self.options.skill().is_some(), &pool).is_ok() {
                // Its memory is cleared now, not on the clock.
                pool.alpha_beta(&self.options);
            }
            self.evaluators = Some(pool);
        }
        notes
    }

    /// Takes the evaluators that the options ask for.
    fn take_evaluators(&mut self, notes: &mut Vec<String>) -> EvaluatorPool {
        match self.evaluators.take() {
            Some(pool) if pool.serves(&self.variant, &self.options) => pool,
            previous => {
                self.tree = None;
                let pool = EvaluatorPool::new(&self.variant, &self.options, previous, notes);
                if *notes == self.last_notes {
                    notes.clear();
                } else {
                    self.last_notes.clone_from(notes);
                }
                pool
            }
        }
    }

    /// Loads the tables that the options name, if they are not loaded yet.
    fn load_tables(&mut self, notes: &mut Vec<String>) {
        if !self.solved_table.serves(&self.variant, &self.options.table_path) {
            self.tree = None;
            // Frees the memory of the old table before the new one is read.
            self.solved_table = SolvedTableFile::default();
            let (table, note) = SolvedTableFile::open(&self.variant, &self.options.table_path);
            self.solved_table = table;
            notes.extend(note);
        }
        if !self.syzygy.serves(&self.variant, &self.options.syzygy_path) {
            self.load_syzygy(notes);
        }
    }

    fn load_syzygy(&mut self, notes: &mut Vec<String>) {
        self.tree = None;
        let (syzygy, more) = SyzygyTables::open(&self.variant, &self.options.syzygy_path);
        self.syzygy = syzygy;
        notes.extend(more);
    }

    /// Takes the tree, with the current position as its root. It is reused if the game has continued from
    /// its root, unless it is to be `fresh`.
    fn take_tree(&mut self, params: Params, bytes: usize, fresh: bool) -> Tree {
        let position = self.game.position();
        let Some((mut tree, game)) = self.tree.take() else {
            return Tree::new(position.clone(), params, bytes);
        };
        match self.game.since(&game) {
            Some(plies) if !fresh && !tree.is_empty() => {
                for &ply in plies {
                    tree.advance(ply);
                }
            }
            _ => tree.restart(position.clone()),
        }
        // With two boards, the other team may be to move now, and other clocks may allow it to sit.
        if position.clocks().is_some() && tree.root().fen() != position.fen() {
            tree.restart(position.clone());
        }
        tree
    }

    /// Returns `true` if the option `Search`, or the variant if the option leaves it open, is for alpha-beta. The
    /// network or the limits may not allow it.
    pub fn asks_for_alpha_beta(&self) -> bool {
        match self.options.search.as_str() {
            "alphabeta" => true,
            "mcts" => false,
            _ => self.variant.prefers_alpha_beta(),
        }
    }

    /// Returns `Ok` if the position is searched by alpha-beta, and else the reason if the options ask for that.
    fn prefers_alpha_beta(
        &self,
        limits: &Limits,
        is_limited: bool,
        pool: &EvaluatorPool,
    ) -> Result<(), Option<&'static str>> {
        if !self.asks_for_alpha_beta() {
            return Err(None);
        }
        let position = self.position();
        let is_wanted = self.options.search == "alphabeta";
        let reason = if !alphabeta::supports(position) {
            "the variant has other boards or sides than alphabeta can search"
        } else if pool.direct().is_none() {
            "alphabeta needs a sparse int8 network on a CPU"
        } else if self.options.gumbel {
            "alphabeta has no Gumbel root"
        } else if is_limited {
            "the strength is limited"
        } else if limits.mate.is_some() {
            "only mcts proves mates"
        } else if self.solved_table.table().is_some() {
            "the variant is solved"
        } else {
            return Ok(());
        };
        Err(is_wanted.then_some(reason))
    }

    /// Makes the alpha-beta search of a pool, and evaluates the position for it. `None` if the network cannot do it.
    fn prepare_alpha_beta(&mut self, pool: &mut EvaluatorPool) -> Option<RootEval> {
        self.tree = None;
        let eval = RootEval::new(&mut pool.direct()?, self.position()).ok()?;
        pool.alpha_beta(&self.options)?;
        Some(eval)
    }

    /// Starts a search of the position within `limits`, whose time counts from `begun`. `sink` receives
    /// its events, the last of which is [`Event::Best`]. [`Session::wait`] returns soon after that.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn go(&mut self, mut limits: Limits, begun: Instant, sink: Sink) -> std::io::Result<()> {
        self.wait();
        let seat_clocks = self.seat_clocks.take();
        if let Some(team) = bughouse::team(&self.options)
            && self.variant.has_two_boards()
            && !self.game.position_mut().set_side_to_move(team)
        {
            // The team is not to move on either board.
            sink(Event::Best(SearchResult::without_turn(team)));
            return Ok(());
        }
        let position = self.game.position_mut();
        bughouse::apply_clocks(position, &self.options, seat_clocks, &mut limits);
        limits.assume_clock(self.position().turn());
        // An analysis has full strength.
        let skill = if limits.infinite { None } else { self.options.skill() };
        if let Some(Skill { visits, .. }) = skill {
            limits.limit_nodes(visits);
        }
        let mut notes = Vec::new();
        let mut pool = self.take_evaluators(&mut notes);
        self.load_tables(&mut notes);
        let alpha_beta = self.prefers_alpha_beta(&limits, skill.is_some(), &pool);
        if let Err(Some(reason)) = alpha_beta {
            notes.push(format!("the search is mcts: {reason}"));
        }
        for note in notes {
            sink(Event::Note(note));
        }
        let root_eval = if alpha_beta.is_ok() {
            self.prepare_alpha_beta(&mut pool)
        } else {
            pool.drop_alpha_beta();
            None
        };
        if root_eval.is_none() {
            limits.limit_visits_by_depth();
        }
        let control = Arc::new(SearchControl::default());
        let syzygy = self.syzygy.tables();
        let root_probe = syzygy.as_ref().and_then(|tables| tables.probe_root(self.position()));
        // An analysis shows the other moves, too.
        if let Some(probe) = &root_probe
            && !limits.infinite
        {
            limits.narrow(&probe.best);
        }
        let ends = limits.can_end(self.position().turn());
        let ponder = limits.ponder;
        let mut job = SearchJob {
            conditions: StopConditions {
                limits,
                overhead: Duration::from_millis(self.options.overhead),
                gumbel: self.options.gumbel,
                begun,
                control: Arc::clone(&control),
            },
            batch_size: Some(self.options.minibatch_size).filter(|&size| size > 0),
            skill,
            multi_pv: self.options.multi_pv,
            sink: Arc::clone(&sink),
            tablebases: Tablebases::new(self.solved_table.table(), syzygy, root_probe),
        };
        let game = self.game.clone();
        let options = self.options.clone();
        // A search of one visit shows the network's evaluation, not what the tree has found before.
        let fresh = job.conditions.limits.nodes == Some(1);
        let bytes = pool.tree_bytes(&self.options);
        let tree = root_eval.is_none().then(|| self.take_tree(pool.params(), bytes, fresh));
        let thread = thread::Builder::new().name("search".to_owned()).spawn(move || {
            let root = game.position();
            if let Some(eval) = root_eval
                && let Some(search) = pool.alpha_beta(&options)
            {
                match job.run_alpha_beta(root, search, eval) {
                    Ok(()) => return Some(Borrowed { tree: None, pool }),
                    Err(error) => job.note(&format!("{error}; the search continues by mcts")),
                }
                job.conditions.limits.limit_visits_by_depth();
            }
            let mut tree = tree.unwrap_or_else(|| Tree::new(root.clone(), pool.params(), bytes));
            job.run(&mut tree, &mut pool);
            Some(Borrowed { tree: Some((tree, game)), pool })
        })?;
        self.running = Some(Running { thread, control, ends, ponder, sink: Some(sink) });
        Ok(())
    }

    /// Starts to count the paths of `depth` whole turns, for each first turn and in total. The last event
    /// is [`Event::PerftTotal`].
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn perft(&mut self, depth: u32, sink: Sink) -> std::io::Result<()> {
        self.wait();
        let control = Arc::new(SearchControl::default());
        let position = self.game.position().clone();
        let perft_control = Arc::clone(&control);
        let thread = thread::Builder::new().name("perft".to_owned()).spawn(move || {
            let Some(remaining) = depth.checked_sub(1) else {
                sink(Event::PerftTotal(Some(1)));
                return None;
            };
            let counts = whole_turns(&position).into_iter().map(|(turn, next)| {
                let count = count_paths(&next, remaining, &perft_control.stop)?;
                sink(Event::PerftTurn { turn: position.turn_text(&turn), count });
                Some(count)
            });
            let total = counts.sum();
            sink(Event::PerftTotal(total));
            None
        })?;
        self.running = Some(Running { thread, control, ends: true, ponder: false, sink: None });
        Ok(())
    }

    /// Returns `true` if a search or a perft is in progress. It remains so until [`Session::wait`].
    pub fn is_searching(&self) -> bool {
        self.running.is_some()
    }

    /// Returns `true` if the thread of the search or perft in progress has ended.
    pub fn has_ended(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.thread.is_finished())
    }

    /// Returns `true` if a perft is in progress.
    pub fn is_counting(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.sink.is_none())
    }

    /// Notifies the search in progress that commands wait for its end, or that there will be no more
    /// commands. A search for a mate, which may never find one, then ends after a number of visits.
    pub fn set_unattended(&self) {
        if let Some(running) = &self.running {
            running.control.unattended.store(true, Ordering::Relaxed);
        }
    }

    /// Returns `true` if the search in progress ends only when it is stopped.
    pub fn is_endless(&self) -> bool {
        self.running.as_ref().is_some_and(|running| {
            !running.ends || (running.ponder && running.control.ponder_hit.get().is_none())
        })
    }

    /// Stops the search in progress. Does not wait for its end.
    pub fn stop(&self) {
        if let Some(running) = &self.running {
            running.control.stop.store(true, Ordering::Relaxed);
            running.thread.thread().unpark();
        }
    }

    /// Notifies the search in progress that the opponent has just played the expected move.
    pub fn ponder_hit(&self) {
        if let Some(running) = &self.running {
            // The first hit counts.
            let _ = running.control.ponder_hit.set(Instant::now());
            running.thread.thread().unpark();
        }
    }

    /// Waits for the search in progress. It is stopped if it would not end by itself.
    pub fn wait(&mut self) {
        if self.is_endless() {
            self.stop();
        }
        let Some(running) = self.running.take() else { return };
        match (running.thread.join(), running.sink) {
            (Ok(Some(Borrowed { tree, pool })), _) => {
                self.tree = tree;
                self.evaluators = Some(pool);
            }
            // The thread panicked. The next search starts afresh, and this one must have an answer.
            (Err(_), Some(sink)) => {
                sink(Event::Note("search failed; playing the first legal move".to_owned()));
                let position = self.position();
                let first = whole_turns(position).into_iter().next();
                sink(Event::Best(SearchResult {
                    turn: first.map(|(turn, _)| position.turn_text(&turn)),
                    ..SearchResult::without_turn(position.turn())
                }));
            }
            _ => {}
        }
    }

    /// Evaluates the position without a search. Messages on the evaluator are appended to `notes`.
    ///
    /// # Errors
    /// If the evaluator fails.
    pub fn eval(&mut self, notes: &mut Vec<String>) -> Result<EvalOutput, EvalError> {
        self.wait();
        let mut pool = self.take_evaluators(notes);
        let output = eval(self.game.position(), pool.first());
        self.evaluators = Some(pool);
        output
    }

    /// Returns every legal turn in UCI notation. A turn that castles is also there as `O-O` or `O-O-O`.
    pub fn legal_turns(&self) -> Vec<String> {
        let position = self.position();
        let turns = whole_turns(position).into_iter().flat_map(|(turn, _)| {
            [position.turn_text(&turn), position.turn_text_with_castling(&turn)]
        });
        let mut turns: Vec<String> = turns.collect();
        turns.dedup();
        turns
    }

    /// Returns the first plies of the turns `texts`, and the texts that are not legal turns.
    pub fn first_plies<'a>(&self, texts: &[&'a str]) -> (Vec<Move>, Vec<&'a str>) {
        let mut plies = Vec::new();
        let mut illegal = Vec::new();
        for text in texts {
            match self.position().parse_turn(text).and_then(|turn| turn.first().copied()) {
                Some(ply) if plies.contains(&ply) => {}
                Some(ply) => plies.push(ply),
                None => illegal.push(*text),
            }
        }
        (plies, illegal)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop();
        self.wait();
    }
}
