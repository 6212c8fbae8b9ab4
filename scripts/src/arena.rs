//! Matches between players of this process and external engines, in any game, for two sides or more.
//!
//! - [`spec`]: players as data; [`config`]: a match as data.
//! - [`opening`], [`schedule`]: the positions that games begin with, and which player has which side.
//! - [`player`], [`plain_mcts`], [`external`]: the players.
//! - [`game`]: one game; [`rbc`]: one game of reconnaissance blind chess.
//! - [`bughouse`]: bughouse with four running clocks.
//! - [`folder`]: the files of a match, from which it continues after it was stopped; `shared`: a match of several
//!   processes in a store; `storage`, `stored_match`, `game_csv`: what both have in common.
//! - [`statistics`], [`table`], [`pgn`]: the results.

pub mod bughouse;
pub mod config;
pub mod external;
pub mod folder;
pub mod game;
mod game_csv;
pub mod opening;
pub mod pgn;
pub mod plain_mcts;
pub mod player;
pub mod rbc;
pub mod schedule;
mod shared;
pub mod spec;
pub mod statistics;
mod storage;
mod stored_match;
pub mod table;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use menagerie::variant::Variant;

use bughouse::Referee;
use config::MatchConfig;
use folder::Folder;
use game::Played;
use opening::Openings;
use player::{CreatePlayer, Player};
use schedule::MatchSchedule;
use shared::SharedMatch;
use spec::{PlayerKind, PlayerSpec};
use storage::MatchStorage;

use crate::store::Store;

/// The game of a match.
#[derive(Debug)]
enum MatchGame {
    /// A variant of the catalogue, and the openings.
    Variant(Arc<Variant>, Openings),
    /// Reconnaissance blind chess: the number of random requests at the start, and the players.
    Rbc(u32, Vec<rbc::Entrant>),
}

impl MatchGame {
    /// Checks the match and reads its files.
    fn open(config: &MatchConfig) -> anyhow::Result<MatchGame> {
        Ok(if config.is_rbc() {
            config.check_rbc()?;
            let entrants = config.players.iter().map(rbc::Entrant::new);
            MatchGame::Rbc(
                config.plies.unwrap_or(rbc::DEFAULT_RANDOM_PLIES),
                entrants.collect::<Result<_, _>>()?,
            )
        } else {
            let variant = config.find_variant()?;
            config.check(&variant)?;
            bughouse::check(&variant, &config.players)?;
            let openings = config.openings(&variant)?;
            MatchGame::Variant(variant, openings)
        })
    }
}

/// A match, with the games that have been played.
#[derive(Debug)]
pub struct Arena {
    config: MatchConfig,
    game: MatchGame,
    schedule: MatchSchedule,
    storage: Box<dyn MatchStorage>,
    /// The finished games, in the order of their numbers.
    games: Vec<Played>,
    create_custom: CreatePlayer,
}

impl Arena {
    /// Opens a match in its folder: a new one, or one that continues.
    ///
    /// # Errors
    /// If the configuration is invalid, one of its files cannot be read, or the folder belongs to another
    /// match.
    pub fn open(folder: &Path, config: MatchConfig) -> anyhow::Result<Arena> {
        let game = MatchGame::open(&config)?;
        let (folder, games) = Folder::open(folder, &config)?;
        Ok(Arena::new(config, game, Box::new(folder), games))
    }

    /// Opens a match in a store, in which any number of processes play it together. Failed requests to the store
    /// are repeated for hours while the match is played, until `stop` is set.
    ///
    /// # Errors
    /// As for [`Arena::open`].
    pub fn open_shared(
        store: &Store,
        config: MatchConfig,
        stop: &Arc<AtomicBool>,
    ) -> anyhow::Result<Arena> {
        let game = MatchGame::open(&config)?;
        let (shared, games) = SharedMatch::open(store, &config, stop)?;
        Ok(Arena::new(config, game, Box::new(shared), games))
    }

    fn new(
        config: MatchConfig,
        game: MatchGame,
        storage: Box<dyn MatchStorage>,
        mut games: Vec<Played>,
    ) -> Arena {
        games.sort_by_key(|game| game.number);
        let schedule = MatchSchedule::new(&config);
        Arena { config, game, schedule, storage, games, create_custom: no_custom_player }
    }

    /// Sets the function that creates players of [`PlayerKind::Custom`]. Without it such players are
    /// errors of [`Arena::play`].
    pub fn with_custom_players(self, create_custom: CreatePlayer) -> Arena {
        Arena { create_custom, ..self }
    }

    /// Returns the players, their seatings and the number of games.
    pub fn schedule(&self) -> &MatchSchedule {
        &self.schedule
    }

    /// Returns the number of openings of the book; `None` without a book.
    pub fn openings(&self) -> Option<u64> {
        match &self.game {
            MatchGame::Variant(_, openings) => openings.count(),
            MatchGame::Rbc(..) => None,
        }
    }

    /// Returns the number of finished games.
    pub fn done(&self) -> usize {
        self.games.len()
    }

    /// Plays the remaining games, `threads` at a time, and calls `progress` after each of them. The match ends
    /// early if its sequential test is decided.
    ///
    /// # Errors
    /// If a player of this process fails, an external engine cannot be started, or the folder cannot be
    /// written. The games that were finished before are kept.
    pub fn play(
        &mut self,
        threads: usize,
        progress: &mut dyn FnMut(&Played),
    ) -> anyhow::Result<()> {
        self.play_until(threads, &AtomicBool::new(false), progress)
    }

    /// Does what [`Arena::play`] does until `stop_requested` is set: the games in progress are then abandoned.
    ///
    /// # Errors
    /// As for [`Arena::play`].
    pub fn play_until(
        &mut self,
        threads: usize,
        stop_requested: &AtomicBool,
        progress: &mut dyn FnMut(&Played),
    ) -> anyhow::Result<()> {
        if is_decided(&self.config, &self.games) || self.is_complete() {
            return Ok(());
        }
        let threads = threads.clamp(1, self.schedule.games as usize);
        self.storage.begin(self.schedule.games);
        let stop = AtomicBool::new(false);
        let context = MatchContext {
            config: &self.config,
            game: &self.game,
            schedule: &self.schedule,
            create_custom: self.create_custom,
            storage: self.storage.as_ref(),
        };
        let games = &mut self.games;
        thread::scope(|scope| {
            let (sender, results) = mpsc::channel();
            for _ in 0..threads {
                let sender = sender.clone();
                let stop = &stop;
                scope.spawn(move || context.work(stop, &sender));
            }
            drop(sender);
            let mut failure = Ok(());
            let mut last_look = Instant::now();
            loop {
                stop.fetch_or(stop_requested.load(Ordering::Relaxed), Ordering::Relaxed);
                let received = match results.recv_timeout(STOP_POLL) {
                    Ok(Ok(finished)) => context.store(finished, stop_requested),
                    Ok(Err(error)) => Err(error),
                    Err(RecvTimeoutError::Timeout) => Ok(None),
                    Err(RecvTimeoutError::Disconnected) => return failure,
                };
                let others = if last_look.elapsed() < OTHERS_INTERVAL {
                    Ok(Vec::new())
                } else {
                    last_look = Instant::now();
                    context.storage.new_games()
                };
                match received.and_then(|own| Ok((own, others?))) {
                    Ok((own, others)) => {
                        for game in own.into_iter().chain(others) {
                            add_game(games, game, progress);
                        }
                        let decided = is_decided(context.config, games);
                        let complete = context.schedule.is_complete(games);
                        stop.fetch_or(decided || complete, Ordering::Relaxed);
                    }
                    Err(error) => {
                        stop.store(true, Ordering::Relaxed);
                        // Later errors follow from the first one, or from a signal that has ended engines, too.
                        let is_signal = stop_requested.load(Ordering::Relaxed);
                        failure = failure.and(if is_signal { Ok(()) } else { Err(error) });
                    }
                }
            }
        })
    }

    /// Returns `true` if all games have been played.
    fn is_complete(&self) -> bool {
        self.schedule.is_complete(&self.games)
    }

    /// Returns the games that count: all of them, or those up to the decision of the sequential test.
    pub fn games(&self) -> &[Played] {
        counted_games(&self.config, &self.schedule, &self.games)
    }

    /// Returns `true` if bughouse is played with running clocks, so that more than one engine thinks in each
    /// game.
    pub fn timed(&self) -> bool {
        match &self.game {
            MatchGame::Variant(variant, _) => bughouse::timed(variant, &self.config.players),
            MatchGame::Rbc(..) => false,
        }
    }

    /// Writes the results to `table.txt` and the games to `games.pgn` (`games.bpgn` for bughouse with clocks), and
    /// returns the results. The games of rbc have no PGN.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn report(&self) -> anyhow::Result<String> {
        let games = self.games();
        if let MatchGame::Variant(variant, _) = &self.game {
            if self.timed() {
                let players = &self.config.players;
                let text = bughouse::bpgn::games(variant, &self.schedule, players, games);
                self.storage.write("games.bpgn", &text)?;
            } else {
                self.storage.write("games.pgn", &pgn::games(variant, &self.schedule, games))?;
            }
        }
        let table = table::table(&self.schedule, self.config.sprt.as_ref(), games);
        self.storage.write("table.txt", &table)?;
        Ok(table)
    }
}

/// Returns the results of the match in a folder, without playing.
///
/// # Errors
/// If the folder holds no match, or a file cannot be read.
pub fn folder_results(folder: &Path) -> anyhow::Result<String> {
    let (config, games) = Folder::read(folder)?;
    Ok(results(config, &games))
}

/// Returns the results of the match in a store, without playing.
///
/// # Errors
/// If the store holds no match, or an object cannot be read.
pub fn shared_results(store: &Store) -> anyhow::Result<String> {
    let (config, games) = SharedMatch::read(store)?;
    Ok(results(config, &games))
}

fn results(mut config: MatchConfig, games: &[Played]) -> String {
    // The number of games is that of the first command; a later one may have extended the match.
    config.games = games.last().map_or(config.games, |game| config.games.max(game.number + 1));
    let schedule = MatchSchedule::new(&config);
    table::table(&schedule, config.sprt.as_ref(), counted_games(&config, &schedule, games))
}

/// Returns the games that count: all that are scheduled, or those up to the decision of the sequential test.
pub(crate) fn counted_games<'a>(
    config: &MatchConfig,
    schedule: &MatchSchedule,
    games: &'a [Played],
) -> &'a [Played] {
    let end = config.sprt.as_ref().and_then(|sprt| table::decision(sprt, games));
    let count = end.map_or(games.len(), |(count, _)| count as usize);
    let scheduled = games.partition_point(|game| game.number < schedule.games);
    &games[..count.min(scheduled)]
}

/// Adds a game in the order of the numbers, unless it is there.
fn add_game(games: &mut Vec<Played>, game: Played, progress: &mut dyn FnMut(&Played)) {
    if let Err(index) = games.binary_search_by_key(&game.number, |other| other.number) {
        progress(&game);
        games.insert(index, game);
    }
}

fn no_custom_player(_variant: &Arc<Variant>, spec: &PlayerSpec) -> anyhow::Result<Box<dyn Player>> {
    anyhow::bail!("this program has no custom player {}", spec.name())
}

fn is_decided(config: &MatchConfig, games: &[Played]) -> bool {
    config.sprt.is_some_and(|sprt| table::decision(&sprt, games).is_some())
}

/// Interval at which a match checks whether it has to stop, while no game ends.
const STOP_POLL: Duration = Duration::from_millis(100);

/// Interval at which a match looks for games of other processes.
const OTHERS_INTERVAL: Duration = Duration::from_secs(3);

/// A signal that ends this process may end its engines first: the time to wait for it after an engine has ended.
const SIGNAL_DELAY: Duration = Duration::from_millis(200);

/// A finished game, and its history if histories are kept.
type FinishedGame = (Played, Option<String>);

/// The players of one thread.
enum ThreadPlayers {
    /// Players that move in turn.
    Players(Vec<Box<dyn Player>>),
    /// Bughouse teams with running clocks.
    Teams(Referee),
}

/// What all threads of a match share.
#[derive(Clone, Copy)]
struct MatchContext<'a> {
    config: &'a MatchConfig,
    game: &'a MatchGame,
    schedule: &'a MatchSchedule,
    create_custom: CreatePlayer,
    storage: &'a dyn MatchStorage,
}

impl MatchContext<'_> {
    /// Plays games with the players of this thread until no game is left.
    fn work(self, stop: &AtomicBool, results: &mpsc::Sender<anyhow::Result<FinishedGame>>) {
        let mut players: Option<ThreadPlayers> = None;
        while !stop.load(Ordering::Relaxed) {
            let result = match self.storage.next_game() {
                Ok(Some(number)) => self.play_game(&mut players, number, stop).transpose(),
                Ok(None) => None,
                Err(error) => Some(Err(error)),
            };
            let Some(result) = result else { return };
            if results.send(result).is_err() {
                return;
            }
        }
    }

    /// Stores a finished game; returns the one that counts. A game that a signal has ended is not stored.
    fn store(
        self,
        (game, history): FinishedGame,
        stop_requested: &AtomicBool,
    ) -> anyhow::Result<Option<Played>> {
        if game.end == game::CRASH {
            thread::sleep(SIGNAL_DELAY);
            if stop_requested.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
        self.storage.add(game, history.as_deref()).map(Some)
    }

    fn play_game(
        self,
        players: &mut Option<ThreadPlayers>,
        number: u64,
        stop: &AtomicBool,
    ) -> anyhow::Result<Option<FinishedGame>> {
        let (opening, seats) = self.schedule.game(number);
        let MatchConfig { seed, max_turns, .. } = *self.config;
        let (variant, openings) = match self.game {
            MatchGame::Variant(variant, openings) => (variant, openings),
            &MatchGame::Rbc(plies, ref entrants) => {
                let names = seats.iter().map(|&seat| self.schedule.names[seat].clone()).collect();
                let start = rbc::GameStart { number, opening, plies, seed };
                let played = rbc::play_game(entrants, seats, names, start, stop)?;
                let Some((game, history)) = played else { return Ok(None) };
                let history = self.config.histories.then(|| history.to_json().to_string());
                return Ok(Some((game, history)));
            }
        };
        let players = match players {
            Some(players) => players,
            None => players.insert(self.create_players(variant)?),
        };
        let start = openings.get(opening, variant)?;
        let played = match players {
            ThreadPlayers::Players(players) => {
                game::play(players, seats, &start, number, seed, max_turns, stop)
            }
            ThreadPlayers::Teams(referee) => referee.play(seats, &start, number, stop),
        };
        Ok(played?.map(|game| (game, None)))
    }

    fn create_players(self, variant: &Arc<Variant>) -> anyhow::Result<ThreadPlayers> {
        if bughouse::timed(variant, &self.config.players) {
            return Ok(ThreadPlayers::Teams(Referee::new(variant, &self.config.players)));
        }
        let specs = self.config.players.iter();
        let players: anyhow::Result<_> = specs
            .map(|spec| match spec.kind {
                PlayerKind::Uci | PlayerKind::Xboard => {
                    external::open_engine(variant, self.config.chess960, spec)
                }
                PlayerKind::Custom => (self.create_custom)(variant, spec),
                _ => player::create_player(variant, spec),
            })
            .collect();
        players.map(ThreadPlayers::Players)
    }
}
